"""Operations outside of `jit` over many shapes: 200 calls of 40 kinds over 50 random shapes.

    python -m benchmarks.eager_shapes [--quick] [--json FILE]

Each library runs the same calls in a process of its own, twice over: the first pass meets every
shape for the first time, the second knows them all. pyc runs in one process with an empty cache
and in another that finds what the first has left; its arrays are `pyc.Array`s on the CPU, JAX's its
own. Given are the seconds of the passes, the microseconds of a call, and the programs compiled.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.runner import options, peers, publish

SHAPES, CALLS = 50, 200

Function = Callable[[Any, Any, Any, Any], Any]
OPERATIONS: dict[str, Function] = {
    "x + y": lambda m, x, y, v: x + y,
    "x - 1.5": lambda m, x, y, v: x - 1.5,
    "2 * x": lambda m, x, y, v: 2 * x,
    "x / y": lambda m, x, y, v: x / y,
    "x + v": lambda m, x, y, v: x + v,
    "x * v": lambda m, x, y, v: x * v,
    "-x": lambda m, x, y, v: -x,
    "x > y": lambda m, x, y, v: x > y,
    "x == y": lambda m, x, y, v: x == y,
    "x ** 2": lambda m, x, y, v: x**2,
    "sin": lambda m, x, y, v: m.sin(x),
    "exp": lambda m, x, y, v: m.exp(x),
    "tanh": lambda m, x, y, v: m.tanh(x),
    "sqrt abs": lambda m, x, y, v: m.sqrt(m.abs(x)),
    "log1p abs": lambda m, x, y, v: m.log1p(m.abs(x)),
    "floor": lambda m, x, y, v: m.floor(x),
    "maximum": lambda m, x, y, v: m.maximum(x, y),
    "minimum": lambda m, x, y, v: m.minimum(x, 0.0),
    "where": lambda m, x, y, v: m.where(x > y, x, y),
    "clip": lambda m, x, y, v: m.clip(x, -1.0, 1.0),
    "isnan": lambda m, x, y, v: m.isnan(x),
    "astype": lambda m, x, y, v: x.astype(np.int32),
    "sum": lambda m, x, y, v: x.sum(),
    "sum 0": lambda m, x, y, v: x.sum(axis=0),
    "sum 1": lambda m, x, y, v: x.sum(axis=1),
    "mean 0": lambda m, x, y, v: x.mean(axis=0),
    "max 1": lambda m, x, y, v: x.max(axis=1),
    "min": lambda m, x, y, v: x.min(),
    "argmax 1": lambda m, x, y, v: m.argmax(x, axis=1),
    "any": lambda m, x, y, v: (x > 2).any(),
    "var 0": lambda m, x, y, v: x.var(axis=0),
    "std": lambda m, x, y, v: x.std(),
    "transpose": lambda m, x, y, v: x.T + 0.0,
    "reshape": lambda m, x, y, v: x.reshape(-1),
    "row": lambda m, x, y, v: x[0],
    "part": lambda m, x, y, v: x[1:, ::-1],
    "concatenate": lambda m, x, y, v: m.concatenate([x, y]),
    "stack": lambda m, x, y, v: m.stack([x, y]),
    "outer": lambda m, x, y, v: m.outer(v, v),
    "norm": lambda m, x, y, v: m.linalg.norm(x),
}


def calls(count: int) -> list[tuple[str, int, int]]:
    """(operation, rows, columns) of each call: four to a shape."""
    rng = np.random.default_rng(2026)
    names = list(OPERATIONS)
    shapes = rng.integers(2, 200, (SHAPES, 2))
    found = []
    for k in range(count):
        rows, columns = shapes[k * SHAPES // count]
        found.append((names[int(rng.integers(len(names)))], int(rows), int(columns)))
    return found


def module(library: str) -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]:
    """The module whose functions are called, what makes an array of it, and what waits for one."""
    if library == "jax":
        import jax  # noqa: PLC0415 - one library a process
        import jax.numpy as jnp  # noqa: PLC0415

        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)
        return jnp, jnp.asarray, jax.block_until_ready
    if library == "pyc":
        import pyc  # noqa: PLC0415

        return np, lambda x: pyc.device_put(x, "cpu"), lambda x: x
    return np, np.asarray, lambda x: x


def measure(library: str, count: int) -> dict[str, Any]:
    """Seconds of both passes, and what pyc has compiled."""
    functions, made, wait = module(library)
    rng = np.random.default_rng(0)
    work = []
    for name, rows, columns in calls(count):
        arrays = [made(rng.normal(size=s)) for s in [(rows, columns), (rows, columns), (columns,)]]
        work.append((OPERATIONS[name], arrays))
    passes = []
    for _ in range(3):
        start = perf_counter()
        for function, arrays in work:
            wait(function(functions, *arrays))
        passes.append(perf_counter() - start)
    found: dict[str, Any] = {"first": passes[0], "again": min(passes[1:])}
    if library == "pyc":
        import pyc  # noqa: PLC0415

        found["compiled"] = pyc.cache.stats().total.stored
    return found


def run(library: str, count: int, environment: dict[str, str]) -> dict[str, Any]:
    """`measure` in a process of its own."""
    code = "import sys, json; from benchmarks.eager_shapes import measure; "
    code += "print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))"
    command = [sys.executable, "-c", code, library, str(count)]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Runs each library and shows the table."""
    given = options(__doc__)
    count = CALLS // 4 if given.quick else CALLS
    there = peers("jax")
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        where = {"PYC_CACHE_DIR": folder}
        rows["pyc, empty cache"] = run("pyc", count, where)
        rows["pyc, warm cache"] = run("pyc", count, where)
    rows["NumPy"] = run("numpy", count, {})
    if there["jax"]:
        rows["JAX"] = run("jax", count, {})
    print(f"{count} calls over {SHAPES} shapes   first pass        again")
    for name, row in rows.items():
        first, again = (row[k] / count * 1e6 for k in ("first", "again"))
        compiled = f"   {row['compiled']} compiled" if "compiled" in row else ""
        print(f"{name:20} {row['first']:8.3f} s  {first:9.1f} us  {again:7.1f} us{compiled}")
    publish(given, {"calls": count, "shapes": SHAPES, "rows": rows})


if __name__ == "__main__":
    main()
