"""asinh, acosh and atanh of one f32 or f64 element, by log1p: no cancellation near their zeros."""

from __future__ import annotations

import math

from pyc.ir.defined import defined
from pyc.ir.expr import Const, Expr, absolute, apply, select, sqrt
from pyc.ir.ops.scalar_log import log, log1p

LN2 = math.log(2)
LARGE = 1e9
"""Beyond this the square in the formulas swamps the 1 added to it: the result is log(2 x)."""


@defined
def asinh(x: Expr) -> Expr:
    """log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))) with the sign of x."""
    size = absolute(x)
    large = size > LARGE
    bounded = select(large, Const(1, x.dtype), size)
    squared = bounded * bounded
    near = log1p(bounded + squared / (sqrt(squared + 1.0) + 1.0))
    return apply("copysign", select(large, log(size) + LN2, near), x)


@defined
def acosh(x: Expr) -> Expr:
    """log1p(t + sqrt(t (x + 1))) with t = x - 1; NaN below 1."""
    large = x > LARGE
    bounded = select(large, Const(1, x.dtype), x)
    t = bounded - 1.0
    near = log1p(t + sqrt(t * (bounded + 1.0)))
    found = select(large, log(x) + LN2, near)
    return select(x < 1, Const(math.nan, x.dtype), found)


@defined
def atanh(x: Expr) -> Expr:
    """log1p(2 |x| / (1 - |x|)) / 2 with the sign of x; NaN beyond 1."""
    size = absolute(x)
    return apply("copysign", log1p((size + size) / (1.0 - size)) * 0.5, x)
