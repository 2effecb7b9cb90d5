"""The math functions of one f32 or f64 element, by name: the front of the `scalar_*` files."""

from __future__ import annotations

from pyc.ir.ops.scalar_exp import cosh, exp, exp2, expm1, sinh, tanh
from pyc.ir.ops.scalar_inverse_trig import acos, asin, atan, atan2
from pyc.ir.ops.scalar_log import log, log1p, log2, log10
from pyc.ir.ops.scalar_trig import cos, sin, tan
from pyc.ir.ops.scalar_pow import hypot, pow
from pyc.ir.ops.scalar_special import cbrt, erf, erfc
