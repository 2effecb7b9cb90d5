"""Prints the coefficients of `pyc/ir/ops/scalar_bfloat16.py`.

    python -m benchmarks.fit_bfloat16          (needs scipy; seconds)

A result must lie between the points half way to its neighbours, for each argument: conditions that
are linear in the coefficients. The linear program takes those that leave the most room, relative to
the result. The definitions for float32 say what the results are.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from scipy.optimize import linprog  # type: ignore[import-untyped]

import pyc
from pyc.ir.ops.scalar_bfloat16 import EXP_TAIL, TANH, TANH_END

Array = np.ndarray[Any, Any]


def half_way(results: Array) -> tuple[Array, Array]:
    """The points half way from positive results to those below and above."""
    codes = results.view(np.uint16).astype(np.int64)
    below, here, above = (
        (codes + step).astype(np.uint16).view(ml_dtypes.bfloat16).astype(np.float64)
        for step in (-1, 0, 1)
    )
    return (below + here) / 2, (here + above) / 2


def fitted(results: Array, basis: Array, scale: Array, known: float = 0.0) -> tuple[Array, float]:
    """Coefficients c with `scale * (known + basis @ c)` farthest from where the results would be
    others, and the room that they leave."""
    low, high = (bound / scale - known for bound in half_way(results))
    size = (results.astype(np.float64) / scale)[:, None]
    room = np.ones_like(size)
    above, below = np.hstack([-basis / size, room]), np.hstack([basis / size, room])
    bounds = np.concatenate([-low, high]) / np.concatenate([size, size])[:, 0]
    goal = np.zeros(basis.shape[1] + 1)
    goal[-1] = -1
    found = linprog(goal, np.vstack([above, below]), bounds, bounds=(None, None), method="highs")
    return found.x[:-1], found.x[-1]


def numbers() -> Array:
    return np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)


def exp_tail() -> tuple[Array, float]:
    """Of e^r / 2^n = 1 + c[0] r + ..."""
    x = numbers()
    x = x[(np.abs(x.astype(np.float32)) > 2.0**-11) & (np.abs(x.astype(np.float32)) < 87)]
    results, wide = pyc.jit(np.exp)(x.astype(np.float32)).astype(x.dtype), x.astype(np.float64)
    n = np.rint(wide / np.log(2))
    r = wide - n * np.log(2)
    basis = np.polynomial.polynomial.polyvander(r, len(EXP_TAIL))[:, 1:]
    return fitted(results, basis, 2**n, known=1.0)


def tanh() -> tuple[Array, float]:
    x = numbers()
    x = x[(x.astype(np.float32) > 2.0**-9) & (x.astype(np.float32) <= TANH_END)]
    results, wide = pyc.jit(np.tanh)(x.astype(np.float32)).astype(x.dtype), x.astype(np.float64)
    u = 2 * wide**2 / TANH_END**2 - 1
    c, room = fitted(results, np.polynomial.chebyshev.chebvander(u, len(TANH) - 1), wide)
    return np.polynomial.chebyshev.cheb2poly(c), room


if __name__ == "__main__":
    for name, (coefficients, room) in {"EXP_TAIL": exp_tail(), "TANH": tanh()}.items():
        print(name, [float(f"{c:.9g}") for c in coefficients], f"room {room:.1e}")
