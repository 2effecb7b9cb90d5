"""erfc without its exponential, and what is made of it, of one f32 or f64 element.

That is the logarithm of the normal distribution function, and parts of the incomplete gamma
functions of large parameters. All in float64, for f32 too.
"""

from __future__ import annotations

from math import pi
from math import sqrt as root_of

from pyc.ir import dtype as dt
from pyc.ir.defined import defined
from pyc.ir.expr import Const, Expr, absolute, fma, select, sqrt
from pyc.ir.ops import integral_tables as integrals
from pyc.ir.ops import math_tables as tables
from pyc.ir.ops import special_tables as special
from pyc.ir.ops.floating import INFINITY, NAN, horner, not_above, two_product
from pyc.ir.ops.scalar_gamma import exponential
from pyc.ir.ops.scalar_log import log, log1p
from pyc.ir.ops.scalar_special import ndtr

_FAR = 27.0
"""The table of `erfc` ends here; beyond, some terms of the asymptotic series (DLMF 7.12.1)."""

_ATANH = tuple(1.0 / (2 * k + 3) for k in range(15))
UNIFORM_FROM = 20.0
UNIFORM_WITHIN = 0.4
UNIFORM = tuple(getattr(integrals, f"UNIFORM_{k}") for k in range(10))


def _of_positive(a: Expr) -> Expr:
    """exp(a^2) erfc(a) for an f64 a >= 0."""
    t = dt.f64
    first, _, *others = tables.ERFC_SCALED[t]
    v = fma(1.0 / (a + 2.0), -4.0, 1.0)
    middle = fma(v, horner(v, others), first) / (a + 2.0)
    low = not_above(a, 0.5)
    s = low * low
    near = exponential(s, Const(0.0, t)) * (1.0 - fma(horner(s, tables.ERF_SMALL[t]), low, low))
    h = 0.5 / (a * a)
    series = horner(h, 1.0, -1.0, 3.0, -15.0, 105.0, -945.0, 10395.0, -135135.0)
    far = series / a * (1 / root_of(pi))
    return select(a < 0.5, near, select(a < _FAR, middle, far))


@defined
def erfcx(x: Expr) -> Expr:
    """exp(x^2) erfc(x)."""
    wide = x.cast(dt.f64)
    a = absolute(wide)
    positive = _of_positive(a)
    clamped = not_above(a, 30.0)
    whole = exponential(*two_product(clamped, clamped), Const(2.0, dt.f64))
    found = select(wide < 0.0, whole - positive, positive)
    return found.cast(x.dtype)


@defined
def log_ndtr(x: Expr) -> Expr:
    """The logarithm of the probability that a standard normal number is at most x."""
    wide = x.cast(dt.f64)
    a = absolute(wide)
    below = fma(wide * -0.5, wide, log(_of_positive(a * root_of(0.5)) * 0.5))
    found = select(wide < -1.0, below, log1p(-ndtr(-wide)))
    return select(wide.equal(-INFINITY), wide, found).cast(x.dtype)


@defined
def gamma_tail(a: Expr, x: Expr) -> Expr:
    """The smaller of the regularised incomplete gamma functions, over x^a exp(-x) / gamma(a + 1).

    Temme's uniform expansion (DLMF 8.12.3, 8.12.7), for a >= 20 and x from 0.6 a to 1.4 a: NaN
    elsewhere. With eta^2 / 2 = mu - log(1 + mu), mu = (x - a) / a.
    """
    at, p = x.cast(dt.f64), a.cast(dt.f64)
    d = at - p
    inside = (p >= UNIFORM_FROM) & (p < INFINITY) & (absolute(d) <= p * UNIFORM_WITHIN)
    at, p = select(inside, at, 20.0), select(inside, p, 20.0)
    d = at - p
    mu = d / p
    s = d / (at + p)
    square = s * s
    half = s * (mu - (square + square) * horner(square, _ATANH))
    root = sqrt(p * half)
    eta = sqrt(half + half)
    eta = select(d < 0.0, -eta, eta)
    w = 1.0 / p
    total: Expr = horner(eta, UNIFORM[-1][dt.f64])
    for row in reversed(UNIFORM[:-1]):
        total = fma(total, w, horner(eta, row[dt.f64]))
    r = w * horner(w * w, special.STIRLING[dt.f64])
    stirling = horner(r, 1.0, 1.0, 1 / 2, 1 / 6, 1 / 24, 1 / 120)
    main = _of_positive(root) * sqrt(p) * root_of(pi / 2)
    found = stirling * (main + select(d < 0.0, -total, total))
    return select(inside, found, NAN).cast(a.dtype)


__all__ = ["UNIFORM_FROM", "UNIFORM_WITHIN", "erfcx", "gamma_tail", "log_ndtr"]
