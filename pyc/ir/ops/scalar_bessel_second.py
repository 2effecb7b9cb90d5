"""Bessel functions J and Y of orders 0 and 1, and modified ones of the second kind, K, of one f32
or f64 element.

J and Y: polynomials up to 8, beyond it Hankel's expansions (DLMF 10.17.3, 10.17.4); near their
zeros the error is that of the terms which cancel there. All in float64, for f32 too.
"""

from __future__ import annotations

from pyc.ir import dtype as dt
from pyc.ir.defined import defined
from pyc.ir.expr import Const, Expr, absolute, fma, select, sqrt
from pyc.ir.ops import bessel_tables as tables
from pyc.ir.ops import special_tables as special
from pyc.ir.ops.floating import INFINITY, NAN, copysign, horner, not_above, not_below
from pyc.ir.ops.scalar_exp import exp
from pyc.ir.ops.scalar_log import log
from pyc.ir.ops.scalar_trig import cos, sin

_BORDER = 8.0


def _table(name: str, t: dt.DType) -> tuple[float, ...]:
    found: tuple[float, ...] = getattr(tables, name)[t]
    return found


def _waves(a: Expr, order: int, t: dt.DType) -> tuple[Expr, Expr]:
    """J_n(a) and Y_n(a) for a >= 8."""
    w = 1.0 / a
    z = w * w
    p, q = horner(z, _table(f"P{order}", t)), horner(z, _table(f"Q{order}", t)) * w
    s, c = sin(a), cos(a)
    # cos and sin of a - pi / 4 - n pi / 2, times the root of 2
    if order == 0:
        cosine, sine = c + s, s - c
    else:
        cosine, sine = s - c, -(c + s)
    size = tables.ROOT_OF_PI[0] / sqrt(a)
    return size * fma(p, cosine, -(q * sine)), size * fma(p, sine, q * cosine)


def _regular(a: Expr, order: int, t: dt.DType) -> Expr:
    """J_n(a) for 0 <= a <= 4."""
    found = horner(a * a, _table(f"J{order}_NEAR", t))
    return found * a if order else found


def _first(x: Expr, order: int) -> Expr:
    t, wide = x.dtype, x.cast(dt.f64)
    a = absolute(wide)
    near = _regular(not_above(a, 4.0), order, t)
    middle = horner(not_above(a, _BORDER) - 6.0, _table(f"J{order}_MIDDLE", t))
    far, _ = _waves(not_below(a, _BORDER), order, t)
    far = select(a.equal(INFINITY), Const(0.0, dt.f64), far)
    found = select(a < 4.0, near, select(a < _BORDER, middle, far))
    return (found * copysign(Const(1.0, dt.f64), wide) if order else found).cast(t)


def _second(x: Expr, order: int) -> Expr:
    t, wide = x.dtype, x.cast(dt.f64)
    a = select(wide > 0.0, wide, 1.0)
    low = not_above(a, 4.0)
    singular = log(low) * _regular(low, order, t)
    rest = horner(low * low, _table(f"Y{order}_NEAR", t))
    scale = tables.TWO_OVER_PI[0]
    if order:
        near = fma(singular - 1.0 / low, scale, rest * low)
    else:
        near = fma(singular, scale, rest)
    middle = horner(not_above(a, _BORDER) - 6.0, _table(f"Y{order}_MIDDLE", t))
    _, far = _waves(not_below(a, _BORDER), order, t)
    far = select(a.equal(INFINITY), Const(0.0, dt.f64), far)
    found = select(a < 4.0, near, select(a < _BORDER, middle, far))
    ends = select(wide.equal(0.0), Const(-INFINITY, dt.f64), NAN)
    return select(wide > 0.0, found, ends).cast(t)


@defined
def j0(x: Expr) -> Expr:
    """J_0(x)."""
    return _first(x, 0)


@defined
def j1(x: Expr) -> Expr:
    """J_1(x), odd."""
    return _first(x, 1)


@defined
def y0(x: Expr) -> Expr:
    """Y_0(x); -inf at 0, NaN below."""
    return _second(x, 0)


@defined
def y1(x: Expr) -> Expr:
    """Y_1(x); -inf at 0, NaN below."""
    return _second(x, 1)


def _modified(x: Expr, order: int, scaled: bool) -> Expr:
    t, wide = x.dtype, x.cast(dt.f64)
    usual = (wide > 0.0) & (wide < INFINITY)
    a = select(usual, wide, 1.0)
    low = not_above(a, 1.0)
    rest = horner(low * low, _table(f"K{order}_NEAR", t))
    half = low * 0.5
    s = half * half
    if order:
        regular = fma(s, horner(s, special.I1_NEAR[t]), 1.0) * half
        near = fma(log(low), regular, fma(rest, low, 1.0 / low))
    else:
        near = fma(-log(low), fma(s, horner(s, special.I0_NEAR[t]), 1.0), rest)
    middle = horner(1.0 - 4.0 / (a + 2.0), _table(f"K{order}_MIDDLE", t))
    far = horner(1.0 / a - 0.125, _table(f"K{order}_FAR", t))
    decaying = select(a < 4.0, middle, far) / sqrt(a)
    if scaled:
        near = near * exp(low)
    else:
        decaying = decaying * exp(-a)
    found = select(a <= 1.0, near, decaying)
    found = select(usual, found, select(wide.equal(INFINITY), Const(0.0, dt.f64), NAN))
    return select(wide.equal(0.0), Const(INFINITY, dt.f64), found).cast(t)


@defined
def k0(x: Expr) -> Expr:
    """K_0(x); infinite at 0, NaN below."""
    return _modified(x, 0, False)


@defined
def k0e(x: Expr) -> Expr:
    """exp(x) K_0(x)."""
    return _modified(x, 0, True)


@defined
def k1(x: Expr) -> Expr:
    """K_1(x); infinite at 0, NaN below."""
    return _modified(x, 1, False)


@defined
def k1e(x: Expr) -> Expr:
    """exp(x) K_1(x)."""
    return _modified(x, 1, True)


__all__ = ["j0", "j1", "k0", "k0e", "k1", "k1e", "y0", "y1"]
