"""Modified Bessel functions of the first kind, orders 0 and 1, of one f32 or f64 element.

Up to 7.75 their power series, whose terms all have one sign, as a polynomial in x^2 / 4 (Blair,
"Rational Chebyshev approximations for the modified Bessel functions I0(x) and I1(x)", Math. Comp.
28, 1974, for the division of the axis); beyond, exp(x) / sqrt(x) and a polynomial in 1 / x. All in
float64, for f32 too.
"""

from __future__ import annotations

from math import exp as e_to

from pyc.ir import dtype as dt
from pyc.ir.defined import defined
from pyc.ir.expr import Const, Expr, absolute, fma, select, sqrt
from pyc.ir.ops import special_tables as tables
from pyc.ir.ops.floating import INFINITY, copysign, horner
from pyc.ir.ops.scalar_exp import exp

BORDER = 7.75
_MARGIN = 8.0
"""exp(x) overflows before the result does: this much is taken off x and given back."""


def _parts(a: Expr, t: dt.DType, order: int) -> tuple[Expr, Expr]:
    """I_n(a), for a up to the border, and sqrt(a) exp(-a) I_n(a), for larger ones; a >= 0."""
    near, far = (
        (tables.I0_NEAR[t], tables.I0_FAR[t])
        if order == 0
        else (tables.I1_NEAR[t], tables.I1_FAR[t])
    )
    half = a * 0.5
    s = half * half
    series = fma(s, horner(s, near), 1.0)
    return series * half if order else series, horner(1.0 / a - 0.0625, far)


def _plain(x: Expr, order: int) -> Expr:
    wide = x.cast(dt.f64)
    a = absolute(wide)
    close, scaled = _parts(a, x.dtype, order)
    far = (scaled * e_to(_MARGIN) / sqrt(a)) * exp(a - _MARGIN)
    found = select(a < BORDER, close, select(a.equal(INFINITY), a, far))
    return (copysign(found, wide) if order else found).cast(x.dtype)


def _decaying(x: Expr, order: int) -> Expr:
    wide = x.cast(dt.f64)
    a = absolute(wide)
    close, scaled = _parts(a, x.dtype, order)
    zero = Const(0.0, dt.f64)
    far = select(a.equal(INFINITY), zero, scaled / sqrt(a))
    found = select(a < BORDER, close * exp(-a), far)
    return (copysign(found, wide) if order else found).cast(x.dtype)


@defined
def i0(x: Expr) -> Expr:
    """I_0(x)."""
    return _plain(x, 0)


@defined
def i1(x: Expr) -> Expr:
    """I_1(x), with the sign of x."""
    return _plain(x, 1)


@defined
def i0e(x: Expr) -> Expr:
    """exp(-|x|) I_0(x)."""
    return _decaying(x, 0)


@defined
def i1e(x: Expr) -> Expr:
    """exp(-|x|) I_1(x), with the sign of x."""
    return _decaying(x, 1)
