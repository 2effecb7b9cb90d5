"""Factorisations and solvers beside NumPy, in one process.

    python -m benchmarks.linear_algebra [--quick] [--json FILE]

Jitted functions and NumPy's own in turn, of float64: one matrix of each order, and batches of small
ones. Ratios are NumPy's time over pyc's. NumPy's OpenBLAS has its own threads; pyc's works in one
for each matrix, and shares a batch between 1 or 2 workers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import pyc
from benchmarks.runner import in_turn, options, publish

Array = np.ndarray[Any, Any]

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cholesky": lambda h, a, b: np.linalg.cholesky(h),
    "solve": lambda h, a, b: np.linalg.solve(a, b),
    "inv": lambda h, a, b: np.linalg.inv(a),
    "det": lambda h, a, b: np.linalg.det(a),
    "qr": lambda h, a, b: np.linalg.qr(a),
    "svd": lambda h, a, b: np.linalg.svd(a, full_matrices=False),
    "eigh": lambda h, a, b: np.linalg.eigh(h),
    "eigvals": lambda h, a, b: np.linalg.eigvals(a),
}
SHAPES = [(4, 4), (32, 32), (128, 128), (256, 256), (512, 512), (1000, 4, 4), (200, 32, 32)]
QUICK = [(4, 4), (64, 64), (100, 8, 8)]


def matrices(shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Positive definite and other matrices, and right sides."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal(shape) + np.eye(shape[-1])
    h = a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])
    return h, a, rng.standard_normal((*shape[:-1], 3))


def main() -> None:
    given = options(__doc__)
    rounds = given.rounds or (3 if given.quick else 7)
    print(f"{'function':10}{'shape':>16}   numpy, pyc 1, pyc 2 in us; ratios of medians")
    records = []
    for shape in QUICK if given.quick else SHAPES:
        arrays = matrices(shape)
        for name, function in FUNCTIONS.items():
            jitted = pyc.jit(function)
            rows: dict[str, Callable[[], Any]] = {
                "numpy": partial(function, *arrays),
                "pyc 1": partial(jitted, *arrays),
                "pyc 2": partial(jitted, *arrays),
            }
            found = in_turn(rows, rounds, threads={"pyc 2": 2})
            medians = {row: times["median"] for row, times in found.items()}
            ratios = {row: medians["numpy"] / medians[row] for row in ("pyc 1", "pyc 2")}
            print(
                f"{name:10}{shape!s:>16}"
                + "".join(f"{medians[row] * 1e6:11.1f}" for row in rows)
                + "".join(f"{ratio:7.2f}" for ratio in ratios.values()),
                flush=True,
            )
            records.append(
                {"function": name, "shape": list(shape), "seconds": found, "ratios": ratios}
            )
    publish(given, records)


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        main()
