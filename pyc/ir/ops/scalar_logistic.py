"""The logistic function, its inverse, and products with logarithms, of one f32 or f64 element.

Such a product is 0 where its factor is 0.
"""

from __future__ import annotations

from pyc.ir.defined import defined
from pyc.ir.expr import Const, Expr, absolute, fma, select
from pyc.ir.ops.floating import INFINITY, NAN, fast_two_sum
from pyc.ir.ops.scalar_exp import exp
from pyc.ir.ops.scalar_log import log, log1p


def expit(x: Expr) -> Expr:
    """1 / (1 + exp(-x)), and exp(x) / (1 + exp(x)) below zero: nothing overflows.

    What the sum rounds away goes into the quotient to first order.
    """
    t = exp(-absolute(x))
    total, lost = fast_two_sum(Const(1.0, x.dtype), t)
    q = 1.0 / total
    q = fma(-lost * q, q, q)
    return select(x < 0.0, t * q, q)


@defined
def logit(x: Expr) -> Expr:
    """log(x / (1 - x)); infinite at 0 and 1, NaN beyond.

    Of y = min(x, 1 - x), exact where it is used: log(y / (1 - y)) up to 0.3; near 1/2, where that
    is close to 0, log1p((2 y - 1) / (1 - y)), whose numerator is exact.
    """
    upper = x > 0.5
    y = select(upper, 1.0 - x, x)
    other = 1.0 - y
    near = y > 0.3
    ratio = select(near, (y + y) - 1.0, y) / other
    value = select(near, log1p(ratio), log(ratio))
    value = select(upper, -value, value)
    return select((x >= 0.0) & (x <= 1.0), value, Const(NAN, x.dtype))


def entr(x: Expr) -> Expr:
    """-x log(x); 0 at 0, -inf below."""
    value = select(x.equal(0.0), Const(0.0, x.dtype), -x * log(x))
    return select(x < 0.0, Const(-INFINITY, x.dtype), value)


def xlogy(x: Expr, y: Expr) -> Expr:
    """x log(y); 0 where x is 0 and y is not NaN."""
    zero = x.equal(0.0) & y.equal(y)
    return select(zero, Const(0.0, x.dtype), x * log(y))


def xlog1py(x: Expr, y: Expr) -> Expr:
    """x log1p(y); 0 where x is 0 and y is not NaN."""
    zero = x.equal(0.0) & y.equal(y)
    return select(zero, Const(0.0, x.dtype), x * log1p(y))
