"""The math functions of one f32 or f64 element, by name: the front of the `scalar_*` files.

Each takes and returns expressions of one type, f32 or f64 (half types are widened by the caller),
is total and branch-free, and gives the same bits on every target. `docs/numerics.md` has the error
of each, from exhaustive runs; coefficients are in `math_tables`. fmod is in `division`.
"""

from __future__ import annotations

from pyc.ir.ops.scalar_exp import cosh, exp, exp2, expm1, sinh, tanh
from pyc.ir.ops.scalar_inverse_hyperbolic import acosh, asinh, atanh
from pyc.ir.ops.scalar_inverse_trig import acos, asin, atan, atan2
from pyc.ir.ops.scalar_log import log, log1p, log2, log10
from pyc.ir.ops.scalar_pow import hypot, pow
from pyc.ir.ops.scalar_special import cbrt, erf, erfc
from pyc.ir.ops.scalar_trig import cos, sin, tan

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "hypot",
    "log",
    "log10",
    "log1p",
    "log2",
    "pow",
    "sin",
    "sinh",
    "tan",
    "tanh",
]
