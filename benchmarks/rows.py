"""Row programs beside a copy: sums, log-sum-exp, softmax and layer norm over a square array.

    python -m benchmarks.rows [--quick] [--json FILE]

Over (4096, 4096) float32 along the last axis, the first axis and all: steps of the Plan, and times
over `np.copyto` of the same array into a warm one, in the same run; also over pyc's own compiled
copy. pyc with 1 and 2 threads; NumPy; JAX with its own threads; Numba as hand-written loops with
fastmath along the last axis, 1 thread.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import pyc
from benchmarks.runner import in_turn, options, peers, publish

Array = np.ndarray[Any, Any]
Axis = int | None
AXES: dict[str, Axis] = {"last": -1, "first": 0, "all": None}


def total(np: Any, axis: Axis) -> Callable[[Any], Any]:
    return lambda x: np.sum(x, axis=axis)


def log_sum_exp(np: Any, axis: Axis) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        top = np.max(x, axis=axis, keepdims=True)
        return np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top

    return function


def softmax(np: Any, axis: Axis) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        e = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return e / np.sum(e, axis=axis, keepdims=True)

    return function


def layer_norm(np: Any, axis: Axis) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        away = x - np.mean(x, axis=axis, keepdims=True)
        return away / np.sqrt(np.mean(away * away, axis=axis, keepdims=True) + 1e-5)

    return function


PROGRAMS = {
    "sum": total,
    "log-sum-exp": log_sum_exp,
    "softmax": softmax,
    "layer norm": layer_norm,
}


def numba_loops(x: Array) -> dict[str, Callable[[], Any]]:
    """Loops over rows as one writes them for Numba."""
    njit = importlib.import_module("numba").njit
    out, short = np.empty_like(x), np.empty(x.shape[0], x.dtype)

    @njit(fastmath=True)
    def sums(x, short):  # type: ignore[no-untyped-def]
        for i in range(x.shape[0]):
            total = x.dtype.type(0)
            for j in range(x.shape[1]):
                total += x[i, j]
            short[i] = total

    @njit(fastmath=True)
    def log_sums(x, short):  # type: ignore[no-untyped-def]
        for i in range(x.shape[0]):
            top = x[i, 0]
            for j in range(x.shape[1]):
                top = max(top, x[i, j])
            total = x.dtype.type(0)
            for j in range(x.shape[1]):
                total += np.exp(x[i, j] - top)
            short[i] = np.log(total) + top

    @njit(fastmath=True)
    def softmaxes(x, out):  # type: ignore[no-untyped-def]
        for i in range(x.shape[0]):
            top = x[i, 0]
            for j in range(x.shape[1]):
                top = max(top, x[i, j])
            total = x.dtype.type(0)
            for j in range(x.shape[1]):
                out[i, j] = np.exp(x[i, j] - top)
                total += out[i, j]
            for j in range(x.shape[1]):
                out[i, j] /= total

    @njit(fastmath=True)
    def norms(x, out):  # type: ignore[no-untyped-def]
        for i in range(x.shape[0]):
            total = x.dtype.type(0)
            for j in range(x.shape[1]):
                total += x[i, j]
            mean = total / x.dtype.type(x.shape[1])
            total = x.dtype.type(0)
            for j in range(x.shape[1]):
                total += (x[i, j] - mean) ** 2
            scale = x.dtype.type(1) / np.sqrt(total / x.dtype.type(x.shape[1]) + 1e-5)
            for j in range(x.shape[1]):
                out[i, j] = (x[i, j] - mean) * scale

    return {
        "sum": lambda: sums(x, short),
        "log-sum-exp": lambda: log_sums(x, short),
        "softmax": lambda: softmaxes(x, out),
        "layer norm": lambda: norms(x, out),
    }


def main() -> None:
    given = options(__doc__)
    rounds = given.rounds or (3 if given.quick else 9)
    side = 1024 if given.quick else 4096
    there = peers("numba", "jax")
    x = np.random.default_rng(0).standard_normal((side, side)).astype(np.float32)
    warm = np.zeros_like(x)
    jax = importlib.import_module("jax") if there["jax"] else None
    device = None if jax is None else jax.device_put(x)
    loops = numba_loops(x) if there["numba"] else {}
    copy = pyc.jit(lambda x: +x)
    columns = ("pyc 1", "pyc 2", "numpy", "numba", "jax")
    print(f"({side}, {side}) float32; milliseconds, and in brackets over np.copyto")
    print(f"{'program':18}{'steps':>5}{'copyto':>8}{'pyc copy':>9}", end="")
    print("".join(f"{c:>16}" for c in columns))
    records = []
    for name, program in PROGRAMS.items():
        for place, axis in AXES.items():
            jitted = pyc.jit(program(np, axis))
            steps = len(jitted.lower(x).plan.steps)
            rows: dict[str, Callable[[], Any]] = {
                "copyto": partial(np.copyto, warm, x),
                "pyc copy": partial(copy, x),
                "pyc 1": partial(jitted, x),
                "pyc 2": partial(jitted, x),
                "numpy": partial(program(np, axis), x),
            }
            if place == "last" and loops:
                rows["numba"] = loops[name]
            if jax is not None:
                compiled = jax.jit(program(jax.numpy, axis))
                rows["jax"] = lambda f=compiled: f(device).block_until_ready()
            found = in_turn(rows, rounds, threads={"pyc 2": 2})
            base = found["copyto"]["median"]
            cells = [
                f"{found[c]['median'] * 1e3:8.2f} ({found[c]['median'] / base:4.2f})"
                if c in found
                else ""
                for c in columns
            ]
            print(
                f"{name + ' ' + place:18}{steps:5}{base * 1e3:8.2f}"
                f"{found['pyc copy']['median'] * 1e3:9.2f}" + "".join(f"{c:>16}" for c in cells),
                flush=True,
            )
            ratios = {c: found[c]["median"] / base for c in found}
            records.append(
                {
                    "program": name,
                    "axis": place,
                    "shape": [side, side],
                    "steps": steps,
                    "seconds": found,
                    "over_copyto": ratios,
                }
            )
    publish(given, records)


if __name__ == "__main__":
    main()
