"""The exponential integrals E1 and Ei, the sine and cosine integrals, and the dilogarithm, of one
f32 or f64 element.

Polynomials by ranges, of the functions less their singular parts; all in float64, for f32 too.
Zeros are kept where the tables have their place (Ei, and the first of Ci); near others the error is
that of the terms which cancel there.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial

from pyc.ir import dtype as dt
from pyc.ir.defined import defined
from pyc.ir.expr import Const, Expr, absolute, fma, select
from pyc.ir.ops import integral_tables as tables
from pyc.ir.ops.floating import INFINITY, NAN, copysign, horner, not_above, not_below
from pyc.ir.ops.scalar_exp import exp
from pyc.ir.ops.scalar_log import log, log1p
from pyc.ir.ops.scalar_trig import cos, sin

_MARGIN = 8.0
"""exp(x) overflows before exp(x) / x does: this much is taken off x and given back."""
_E_TO_MARGIN = 2980.9579870417283
_EI_PIECES = ((12.0, "EI_6", 0.125), (24.0, "EI_12", 0.0625), (48.0, "EI_24", 0.03125))


def _e1_of_positive(x: Expr, t: dt.DType) -> Expr:
    near = horner(x, tables.E1_NEAR[t]) - log(x)
    v = 1.0 - 4.5 / (x + 2.25)
    w = 1.0 / x
    scaled = select(x < 5.0, horner(v, tables.E1_MIDDLE[t]), horner(w - 0.1, tables.E1_FAR[t]))
    # exp(-x) is subnormal before the integral is.
    return select(x <= 1.0, near, exp(-x) * (scaled / x))


def _near_its_root(x: Expr, root: tuple[float, ...], logarithm: tuple[float, ...]) -> Expr:
    """log(x / root), to its last places near the root too."""
    high, low = root
    distance = (x - high) - low
    close = absolute(distance) < 0.25 * high
    return select(close, log1p(distance / high), log(x) - logarithm[0])


def _ei_of_positive(x: Expr, t: dt.DType) -> Expr:
    high, low = tables.ROOT_OF_EI
    regular = ((x - high) - low) * horner(x - 3.0, tables.EI_NEAR[t])
    near = _near_its_root(x, tables.ROOT_OF_EI, tables.LOG_ROOT_OF_EI) + regular
    w = 1.0 / x
    scaled = horner(w - 0.010416666666666666, tables.EI_48[t])
    for below, name, middle in reversed(_EI_PIECES):
        scaled = select(x < below, horner(w - middle, getattr(tables, name)[t]), scaled)
    far = (scaled * _E_TO_MARGIN / x) * exp(x - _MARGIN)
    return select(x < 6.0, near, select(x.equal(INFINITY), x, far))


@defined
def exp1(x: Expr) -> Expr:
    """The integral of exp(-t) / t from x; infinite at 0, NaN below."""
    wide = x.cast(dt.f64)
    usual = (wide > 0.0) & (wide < INFINITY)
    found = _e1_of_positive(select(usual, wide, 1.0), x.dtype)
    found = select(usual, found, select(wide.equal(INFINITY), Const(0.0, dt.f64), NAN))
    return select(wide.equal(0.0), Const(INFINITY, dt.f64), found).cast(x.dtype)


@defined
def expi(x: Expr) -> Expr:
    """The principal value of the integral of exp(t) / t up to x; -inf at 0."""
    wide = x.cast(dt.f64)
    a = absolute(wide)
    usual = (a > 0.0) & (a < INFINITY)
    size = select(usual, a, 1.0)
    found = select(wide < 0.0, -_e1_of_positive(size, x.dtype), _ei_of_positive(size, x.dtype))
    ends = select(wide.equal(-INFINITY), Const(-0.0, dt.f64), wide)
    found = select(usual, found, ends)
    return select(wide.equal(0.0), Const(-INFINITY, dt.f64), found).cast(x.dtype)


def _auxiliary(a: Expr, t: dt.DType) -> tuple[Expr, Expr]:
    """f and g of DLMF 6.2.17 and 6.2.18, for a >= 8."""
    w = 1.0 / a
    z = w * w
    close = a < 16.0
    v = z - 5 / 512
    f = select(close, horner(v, tables.SI_F[t]), horner(z, tables.SI_F_FAR[t]))
    g = select(close, horner(v, tables.SI_G[t]), horner(z, tables.SI_G_FAR[t]))
    return f * w, g * z


@defined
def sine_integral(x: Expr) -> Expr:
    """The integral of sin(t) / t from 0, odd."""
    t, wide = x.dtype, x.cast(dt.f64)
    a = absolute(wide)
    near = a * horner(not_above(a * a, 16.0), tables.SI_NEAR[t])
    middle = horner(not_above(a, 8.0) - 6.0, tables.SI_MIDDLE[t])
    phase = not_below(a, 8.0)
    f, g = _auxiliary(phase, t)
    high, low = tables.HALF_PI
    far = high - (fma(f, cos(phase), g * sin(phase)) - low)
    far = select(a.equal(INFINITY), Const(high, dt.f64), far)
    found = select(a < 4.0, near, select(a < 8.0, middle, far))
    found = select(wide.differs(wide), wide, found)
    return copysign(found, wide).cast(t)


@defined
def cosine_integral(x: Expr) -> Expr:
    """Euler's constant + log(x) + the integral of (cos(t) - 1) / t from 0, of |x|; -inf at
    0, NaN at -inf."""
    t, wide = x.dtype, x.cast(dt.f64)
    a = absolute(wide)
    usual = a > 0.0
    a = select(usual, a, 1.0)
    s = not_above(a * a, 16.0)
    place, lack = tables.ROOT_OF_CI
    distance = ((a - place) - lack) * (a + place)
    regular = distance * horner(s, tables.CI_NEAR[t])
    near = _near_its_root(a, tables.ROOT_OF_CI, tables.LOG_ROOT_OF_CI) + regular
    middle = horner(not_above(a, 8.0) - 6.0, tables.CI_MIDDLE[t])
    phase = not_below(a, 8.0)
    f, g = _auxiliary(phase, t)
    far = fma(f, sin(phase), -(g * cos(phase)))
    far = select(a.equal(INFINITY), Const(0.0, dt.f64), far)
    found = select(a < 4.0, near, select(a < 8.0, middle, far))
    ends = select(wide.equal(0.0), Const(-INFINITY, dt.f64), NAN)
    return select(usual & wide.differs(-INFINITY), found, ends).cast(t)


def _debye() -> tuple[float, ...]:
    """B_2k / (2k + 1)! for k = 1, 2, ...: of the dilogarithm of 1 - exp(-t)."""
    known = [Fraction(1)]
    for n in range(1, 23):
        terms = (
            known[k] * Fraction(factorial(n + 1), factorial(k) * factorial(n + 1 - k))
            for k in range(n)
        )
        known.append(-sum(terms, Fraction(0)) / (n + 1))
    return tuple(float(known[k] / factorial(k + 1)) for k in range(2, 23, 2))


_DEBYE = _debye()


def _dilogarithm(z: Expr) -> Expr:
    """Li2(1 - z) for z from 1/2 to 2: a series in its logarithm (DLMF 25.12.6's integral)."""
    u = 0.0 - log(z)
    square = u * u
    return fma(u * square, horner(square, _DEBYE), fma(square, -0.25, u))


@defined
def spence(x: Expr) -> Expr:
    """Li2(1 - x), the integral of log(t) / (1 - t) from 1 to x; NaN below 0."""
    t, z = x.dtype, x.cast(dt.f64)
    large = z > 2.0
    inner = select(large, 1.0 / z, z)  # at most 2
    low = inner < 0.5
    base = _dilogarithm(select(low, 1.0 - inner, inner))
    high, rest = tables.DILOGARITHM_OF_1
    logarithm = log(inner)
    # 1 - inner is 1 where inner is too small to count, and its logarithm 0.
    product = select(inner > 0.0, logarithm * log1p(-not_above(inner, 0.5)), 0.0)
    mirrored = high - (product - rest) - base
    found = select(low, mirrored, base)
    half = logarithm * -0.5
    found = select(large, fma(half, logarithm, -found), found)
    found = select(z.equal(INFINITY), Const(-INFINITY, dt.f64), found)
    return select(z >= 0.0, found, NAN).cast(t)


__all__ = ["cosine_integral", "exp1", "expi", "sine_integral", "spence"]
