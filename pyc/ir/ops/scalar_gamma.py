"""gamma, the logarithm of its absolute value, and digamma, of one f32 or f64 element.

All is computed in float64. For f32 that leaves one rounding; for f64 sums that cancel and products
are kept as a value and what it lacks.

Below 8.5 the argument is moved to 2 + z, |z| <= 1/2, by gamma(x + 1) = x gamma(x), with a
polynomial there; beyond, Stirling's series. Arguments below zero are reflected (DLMF 5.5.3, 5.5.4),
in a block of their own. Zeros of log|gamma| and digamma below zero are not represented: near them
the error is that of the largest term.
"""

from __future__ import annotations

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.defined import defined
from pyc.ir.expr import Const, Expr, absolute, apply, fma, rare_select, select
from pyc.ir.ops import math_tables as tables
from pyc.ir.ops import special_tables as special
from pyc.ir.ops.floating import (
    INFINITY,
    NAN,
    copysign,
    fast_two_sum,
    format_of,
    horner,
    not_above,
    not_below,
    scaled_twice,
    two_product,
    two_sum,
)
from pyc.ir.ops.scalar_log import log, log1p, natural, split, split_normal
from pyc.ir.ops.scalar_pow import log_pair

STIRLING_FROM = 8.5
_FACTORS = 6
"""By which arguments from 2.5 to 8.5 differ from the middle."""


@frozen()
class Moved:
    """gamma(a) = gamma(2 + z) (product + lost), or 1 / (product + lost) instead if `below`."""

    z: Expr
    below: Expr
    product: Expr
    lost: Expr


def moved_to_two(a: Expr, exact: bool) -> Moved:
    """For 0 < a < 8.5; anything else gives garbage. exact: `lost` is wanted."""
    near = apply("rint", a)
    one = Const(1.0, dt.f64)
    rising = fma(a, a, a)
    lost = fma(a, a, a - rising) if exact else Const(0.0, dt.f64)
    least = near < 0.5
    product = select(least, rising, select(near < 1.5, a, one))
    lost = select(least, lost, 0.0)
    for k in range(1, _FACTORS + 1):
        factor = select(near > k + 1.5, a - float(k), one)
        if exact:
            product, rest = two_product(product, factor)
            lost = fma(lost, factor, rest)
        else:
            product = product * factor
    return Moved(a - near, near < 1.5, product, lost)


def _logarithm(a: Expr, exact: bool) -> tuple[Expr, Expr]:
    """log(a) of a positive finite float64 and what it lacks; good for one rounding to f32, and 0,
    unless `exact`."""
    if exact:
        return log_pair(a)
    parts = split_normal(a, False)  # every f32, and a product of a few, is a normal f64
    f = parts.fraction
    tail = f * horner(f, tables.POW_F32_LOG2_TAIL)
    binary = fma(f, tail + tables.LOG2_E[dt.f64][0], parts.exponent)
    return binary * tables.LN2[dt.f64][0], Const(0.0, dt.f64)


def _sine(r: Expr, t: dt.DType) -> Expr:
    """sin(pi r) for |r| <= 1/2."""
    return horner(r * r, special.SIN_PI[t]) * r


def _stirling(a: Expr, log_high: Expr, log_low: Expr, t: dt.DType) -> tuple[Expr, Expr]:
    """log(gamma(a)) for a >= 8.5 as a value and what it lacks.

    (a - 1/2) (log(a) - 1) + (log(2 pi) - 1) / 2 + S(1 / a^2) / a; log(a) - 1 is exact, as log(a) is
    above 2.
    """
    w = 1.0 / a
    tail = w * horner(w * w, special.STIRLING[t])
    m = a - 0.5
    value, rest = two_product(m, log_high - 1.0)
    value, lost = fast_two_sum(value, Const(special.STIRLING_CONSTANT[0], dt.f64))
    return value, (rest + lost) + fma(m, log_low, tail + special.STIRLING_CONSTANT[1])


def _log_of_positive(a: Expr, t: dt.DType) -> Expr:
    """log(gamma(a)) for finite a > 0, good for one rounding to t."""
    exact = t is dt.f64
    moved = moved_to_two(a, exact)
    large = a >= STIRLING_FROM
    high, low = _logarithm(select(large, a, moved.product), exact)
    value, rest = _stirling(a, high, low, t)
    far = value + select(value < INFINITY, rest, 0.0)
    # log(gamma(2 + z)) = z (1 - Euler's constant + z P(z)), and the logarithm of the product.
    z, (first, more) = moved.z, special.FIRST_OF_LGAMMA
    slope, slope_low = fast_two_sum(Const(first, dt.f64), z * horner(z, special.LGAMMA[t]))
    if not exact:
        return select(large, far, fma(z, slope, select(moved.below, -high, high)))
    low = low + moved.lost / moved.product
    middle, middle_low = two_product(z, slope)
    middle_low = fma(z, slope_low + more, middle_low)
    total, lost = two_sum(select(moved.below, -high, high), middle)
    close = total + (lost + (middle_low + select(moved.below, -low, low)))
    return select(large, far, close)


@defined
def lgamma(x: Expr) -> Expr:
    """log|gamma(x)|; inf at the poles, the infinities themselves there."""
    wide = x.cast(dt.f64)
    a = absolute(wide)
    near = apply("rint", a)
    # What cancels below zero is float64 for f32 too.
    sine = absolute(_sine(a - near, dt.f64))
    opposite = _log_of_positive(a, dt.f64)
    reflected = (special.LOG_PI[0] - log(a * sine)) - opposite
    reflected = select(a < 2.0**-60, opposite, reflected)
    found = rare_select(wide < 0.0, reflected, _log_of_positive(a, x.dtype))
    found = select((wide <= 0.0) & near.equal(a), Const(INFINITY, dt.f64), found)
    return select(a.equal(INFINITY), wide, found).cast(x.dtype)


def exponential(value: Expr, rest: Expr, factor: Expr | None = None) -> Expr:
    """exp(value + rest), times a factor from 2^-60 to 2^60 if there is one."""
    f, t = format_of(value), dt.f64
    clamped = not_below(not_above(value, 712.0), -800.0)
    rest = select(clamped.equal(value), rest, 0.0)
    high, low = tables.LN2[t]
    rounded = fma(clamped, tables.LOG2_E[t][0], f.magic + 2 * f.bias)
    n = rounded - (f.magic + 2 * f.bias)
    r = fma(n, -high, clamped) + fma(n, -low, rest)
    power = horner(r, 1.0, 1.0, tables.EXP_TAIL[t])
    return scaled_twice(power if factor is None else power * factor, rounded)


@defined
def gamma(x: Expr) -> Expr:
    """The gamma function; infinite at 0 with its sign, NaN at the other poles and at -inf."""
    t, exact = x.dtype, x.dtype is dt.f64
    wide = x.cast(dt.f64)
    a = absolute(wide)
    moved = moved_to_two(a, exact)
    high, low = _logarithm(not_above(not_below(a, 2.0), 200.0), exact)
    value, rest = _stirling(not_above(a, 200.0), high, low, t)
    middle = horner(moved.z, 1.0, special.GAMMA[t])
    quotient = middle / moved.product
    product = middle * moved.product
    if exact:
        share = moved.lost / moved.product
        quotient = select(a < 2.0**-60, quotient, fma(-quotient, share, quotient))
        product = fma(middle, moved.lost, product)
    close = select(moved.below, quotient, product)
    large = a >= STIRLING_FROM
    positive = select(large, exponential(value, rest), close)
    # gamma(-a) = -pi / (sin(pi a) a gamma(a)); a gamma(a) is 1 near 0.
    sine = absolute(_sine(moved.z, t))
    near = special.PI[0] / (sine * select(a < 2.0**-60, Const(1.0, dt.f64), a * close))
    far = exponential(-value, -rest, special.PI[0] / (a * sine))
    size = select(large, far, near)
    odd = apply("floor", a * 0.5).equal(apply("floor", a) * 0.5)
    reflected = select(odd, -size, size)
    found = rare_select(wide < 0.0, reflected, positive)
    pole = (wide < 0.0) & apply("rint", a).equal(a)
    found = select(pole, Const(NAN, dt.f64), found)
    found = select(a.equal(0.0), copysign(Const(INFINITY, dt.f64), wide), found)
    return select(wide.equal(INFINITY), wide, found).cast(t)


@frozen()
class _Digamma:
    """digamma(a) for a > 0, and digamma(1 + a) for 0 < a < 1."""

    value: Expr
    after: Expr


def _of_positive(a: Expr, t: dt.DType) -> _Digamma:
    # From 1 to 2 by its root; up to 1 by digamma(a + 1) - 1 / a, up to 3 by the reverse.
    root, root_low = special.ROOT_OF_DIGAMMA
    first, last = a < 1.0, a >= 2.0
    y = select(last, a - 1.0, a)
    distance = select(first, a - (root - 1.0), y - root) - root_low
    z = select(first, a - 0.5, y - 1.5)
    middle = distance * horner(z, special.DIGAMMA[t])
    inverse = 1.0 / y
    lost = select(inverse < INFINITY, fma(-inverse, y, 1.0) * inverse, 0.0)
    none = Const(0.0, dt.f64)
    moved = select(first, -inverse, select(last, inverse, none))
    moved_low = select(first, -lost, select(last, lost, none))
    close = moved + (middle + moved_low)
    w = 1.0 / a
    s = w * w
    rest = -fma(s, horner(s, special.DIGAMMA_FAR[t]), w * 0.5)
    far = natural(split(a), rest) if t is dt.f64 else _logarithm(a, False)[0] + rest
    return _Digamma(select(a >= 3.0, far, close), middle)


@defined
def digamma(x: Expr) -> Expr:
    """The derivative of log(gamma(x)); infinite at 0 with the other sign, NaN at the other poles
    and at -inf."""
    wide = x.cast(dt.f64)
    a = absolute(wide)
    near = apply("rint", a)
    # digamma(-a) = digamma(1 + a) + pi cot(pi a); what cancels is float64 for f32 too.
    r = a - near
    cotangent = _sine(0.5 - absolute(r), dt.f64) / _sine(r, dt.f64) * special.PI[0]
    opposite = _of_positive(a, dt.f64)
    after = select(a < 1.0, opposite.after, opposite.value + 1.0 / a)
    reflected = after + copysign(cotangent, r)
    found = rare_select(wide < 0.0, reflected, _of_positive(a, x.dtype).value)
    found = select((wide < 0.0) & near.equal(a), Const(NAN, dt.f64), found)
    found = select(a.equal(0.0), copysign(Const(INFINITY, dt.f64), -wide), found)
    return select(wide.equal(INFINITY), wide, found).cast(x.dtype)


@defined
def lgamma1p(x: Expr) -> Expr:
    """log(gamma(1 + x)), to the last places also where x is small, for -1/2 <= x <= 1/2: NaN
    elsewhere."""
    wide = x.cast(dt.f64)
    slope = wide * horner(wide, special.LGAMMA[dt.f64]) + special.FIRST_OF_LGAMMA[0]
    found = wide * slope - log1p(wide)
    return select(absolute(wide) <= 0.5, found, NAN).cast(x.dtype)


__all__ = ["digamma", "exponential", "gamma", "lgamma", "lgamma1p", "moved_to_two"]
