"""Running sums and maxima on the CPU: pyc beside NumPy, Numba and JAX.

    python -m benchmarks.running [--quick] [--json FILE]

Nanoseconds an element. pyc with 1 and 2 threads, in jitted functions; NumPy into an array that is
there; Numba as a hand-written loop, compiled for the row or the columns; JAX with its own threads.
`copy` is `np.copyto`, what memory allows.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import pyc
from benchmarks.runner import in_turn, options, peers, publish

COLUMNS = ("pyc 1", "pyc 2", "numpy", "numba", "jax", "copy")
CASES = (
    ("cumsum", "float32", (1 << 10,), 0),
    ("cumsum", "float32", (1 << 20,), 0),
    ("cumsum", "float32", (1 << 24,), 0),
    ("cumsum", "float64", (1 << 20,), 0),
    ("cumsum", "float64", (1 << 24,), 0),
    ("cumsum", "int64", (1 << 20,), 0),
    ("cumsum", "int64", (1 << 24,), 0),
    ("cumprod", "float64", (1 << 20,), 0),
    ("cummax", "float32", (1 << 20,), 0),
    ("cumsum", "float32", (2048, 2048), 0),
    ("cumsum", "float32", (2048, 2048), 1),
    ("cumsum", "float32", (1 << 17, 16), 1),
)
UFUNCS = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum}


def loops(numba: Any) -> dict[str, Callable[..., Any]]:
    """A user's loops with Numba: a row, rows, columns."""

    def row(x: Any, out: Any) -> None:
        total = x[0]
        out[0] = total
        for k in range(1, x.shape[0]):
            total += x[k]
            out[k] = total

    def rows(x: Any, out: Any) -> None:
        for i in range(x.shape[0]):
            total = x[i, 0]
            out[i, 0] = total
            for k in range(1, x.shape[1]):
                total += x[i, k]
                out[i, k] = total

    def columns(x: Any, out: Any) -> None:
        out[0] = x[0]
        for i in range(1, x.shape[0]):
            for k in range(x.shape[1]):
                out[i, k] = out[i - 1, k] + x[i, k]

    return {f.__name__: numba.njit(f) for f in (row, rows, columns)}


def main() -> None:
    given = options(__doc__)
    rounds = given.rounds or (3 if given.quick else 15)
    there = peers("numba", "jax")
    jitted = loops(importlib.import_module("numba")) if there["numba"] else {}
    jax: Any = None
    if there["jax"]:
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
    print(f"{'':38}" + "".join(f"{c:>9}" for c in COLUMNS))
    records = []
    for name, dtype, shape, axis in CASES:
        size = int(np.prod(shape))
        if given.quick and size > 1 << 20:
            continue
        x = np.random.default_rng(0).standard_normal(size).reshape(shape)
        x = (x * 0.001 + 1 if name == "cumprod" else x * 10).astype(dtype)
        out = np.empty_like(x)
        by_pyc = partial(pyc.jit(partial(getattr(pyc.lax, name), axis=axis)), x)
        rows: dict[str, Callable[[], Any]] = {"pyc 1": by_pyc, "pyc 2": by_pyc}
        rows["numpy"] = partial(UFUNCS[name].accumulate, x, axis=axis, out=out)
        if jitted and name == "cumsum":
            kind = "row" if x.ndim == 1 else ("columns", "rows")[axis]
            rows["numba"] = partial(jitted[kind], x, out)
        if jax is not None and size < 1 << 24:
            compiled, theirs = (
                jax.jit(partial(getattr(jax.lax, name), axis=axis)),
                jax.device_put(x),
            )
            rows["jax"] = lambda run=compiled, x=theirs: run(x).block_until_ready()
        rows["copy"] = partial(np.copyto, out, x)
        times = in_turn(rows, rounds, threads={"pyc 2": 2})
        fields = [
            f"{1e9 * times[c]['least'] / size:9.3f}" if c in times else " " * 9 for c in COLUMNS
        ]
        where = f"{name} of {dtype} {shape} along {axis}"
        print(f"{where:38}" + "".join(fields), flush=True)
        records.append({"case": where, "elements": size, "seconds": times})
    publish(given, records)


if __name__ == "__main__":
    main()
