"""The inverses of erf, erfc and of the normal distribution function, of one f32 or f64 element.

With w = -log(1 - x^2), erfinv(x) / x is smooth in w for small w and in sqrt(w) beyond (Giles,
"Approximating the erfinv function", GPU Computing Gems, 2011). What is far out is computed in a
block of its own. All in float64, for f32 too.
"""

from __future__ import annotations

from math import sqrt as root_of

from pyc.ir import dtype as dt
from pyc.ir.defined import defined
from pyc.ir.expr import Const, Expr, absolute, rare_select, select, sqrt
from pyc.ir.ops import special_tables as tables
from pyc.ir.ops.floating import INFINITY, NAN, copysign, horner
from pyc.ir.ops.scalar_log import log


def _ratio(product: Expr, t: dt.DType, farthest: bool) -> Expr:
    """erfinv(x) / x for 1 - x^2 = product. farthest: 1 - x may be below 2^-53."""
    w = -log(product)
    usual = horner(w - 3.125, tables.ERFINV[t])
    root = sqrt(w)
    far = select(
        w < 20.25,
        horner(root - 3.5, tables.ERFINV_FAR[t]),
        horner(root - 7.25, tables.ERFINV_FARTHER[t]),
    )
    if farthest:
        far = select(w < 100.0, far, horner(root - 19.0, tables.ERFINV_FARTHEST[t]))
    return rare_select(w > 6.25, far, usual)


@defined
def erfinv(x: Expr) -> Expr:
    """The number whose erf is x; infinite at -1 and 1, NaN beyond."""
    wide = x.cast(dt.f64)
    found = wide * _ratio((1.0 - wide) * (1.0 + wide), x.dtype, False)
    a = absolute(wide)
    outside = select(a.equal(1.0), copysign(Const(INFINITY, dt.f64), wide), NAN)
    return select(a < 1.0, found, outside).cast(x.dtype)


def _of_tail(y: Expr, scale: float, t: dt.DType) -> Expr:
    """scale times the number whose erfc is y, a float64."""
    found = (y - 1.0) * _ratio(y * (2.0 - y), t, True) * -scale
    end = Const(scale * INFINITY, dt.f64)
    ends = select(y.equal(0.0), end, select(y.equal(2.0), -end, NAN))
    return select((y > 0.0) & (y < 2.0), found, ends)


@defined
def erfcinv(y: Expr) -> Expr:
    """The number whose erfc is y; infinite at 0 and 2, NaN beyond."""
    return _of_tail(y.cast(dt.f64), 1.0, y.dtype).cast(y.dtype)


@defined
def ndtri(p: Expr) -> Expr:
    """The number that a standard normal one stays below with probability p; infinite at 0 and 1,
    NaN beyond."""
    wide = p.cast(dt.f64)
    return _of_tail(wide + wide, -root_of(2.0), p.dtype).cast(p.dtype)
