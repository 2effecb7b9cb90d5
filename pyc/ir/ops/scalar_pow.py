"""pow and hypot of one f32 or f64 element.

pow is exp(y log|x|) with the logarithm to about 40 bits in f64 (f32), or as a pair of floats with
68 bits (f64), because the relative error of the result is the absolute error of y log|x|.
"""

from __future__ import annotations

from pyc.ir import dtype as dt
from pyc.ir.defined import defined
from pyc.ir.expr import Const, Expr, absolute, apply, fma, select, sqrt
from pyc.ir.ops import math_tables as tables
from pyc.ir.ops.floating import (
    INFINITY,
    NAN,
    bits_of,
    fast_two_sum,
    format_of,
    horner,
    not_above,
    not_below,
    scale,
    two_product,
)
from pyc.ir.ops.scalar_log import split, split_normal


@defined
def pow(x: Expr, y: Expr) -> Expr:
    """x to the power y, with the special cases of C99 (F.10.4.4)."""
    t = x.dtype
    a = absolute(x)
    size = pow_of_positive(a, y)
    # y is odd where half of it is not whole but it is.
    half = y * 0.5
    whole = apply("rint", y).equal(y)
    odd = whole & apply("rint", half).differs(half)
    sign = select(odd, bits_of(x) & (1 << (t.bits - 1)), 0)
    size = (bits_of(size) ^ sign).bitcast(t)
    # A negative finite base needs a whole exponent; |y| = inf is whole.
    undefined = (x < 0.0) & ~whole & (a < INFINITY)
    size = select(undefined | x.differs(x) | y.differs(y), Const(NAN, t), size)
    one = y.equal(0.0) | x.equal(1.0) | (a.equal(1.0) & absolute(y).equal(INFINITY))
    return select(one, Const(1.0, t), size)


@defined
def pow_of_positive(a: Expr, y: Expr) -> Expr:
    """a to the power y for a >= 0 and y other than 0; garbage where one is NaN."""
    t = a.dtype
    usual = _power_f32(a, y) if t is dt.f32 else _power_f64(a, y)
    # a = 0 or inf: the result is 0 or inf; the logarithm of these is finite garbage.
    extreme = a.equal(0.0) | a.equal(INFINITY)
    vanishes = (a < 1.0) ^ (y < 0.0)
    return select(extreme, select(vanishes, Const(0.0, t), INFINITY), usual)


def _power_f32(a: Expr, y: Expr) -> Expr:
    """a^y for positive finite a, through f64 with one rounding at the end: 0.51 ULP.

    |y log2(a)| < 160 where it matters and the logarithm is right to 2^-38 of itself.
    """
    wide, t = a.cast(dt.f64), dt.f64
    # Every f32 is a normal f64, so no subnormals here.
    parts = split_normal(wide, False)
    f = parts.fraction
    tail = f * horner(f, tables.POW_F32_LOG2_TAIL)
    logarithm = fma(f, tail + tables.LOG2_E[t][0], parts.exponent)
    exponent = not_below(not_above(y.cast(t) * logarithm, 160.0), -160.0)
    offset = format_of(wide).magic + format_of(wide).bias
    rounded = exponent + offset
    r = exponent - (rounded - offset)
    power = horner(r, 1.0, tables.LN2[t][0], tables.EXP2_TAIL[dt.f32])
    scale = (bits_of(rounded) << 52).bitcast(t)
    return (power * scale).cast(dt.f32)


def log_pair(a: Expr) -> tuple[Expr, Expr]:
    """log(a) as high + low for positive finite a; relative error about 2^-64.

    m = a 2^-e is multiplied by c, a number of four bits near 1/m, found by comparisons: f = m c - 1
    is exact in an fma and at most 0.045. log(a) = (e ln(2) - log(c)) + f - f^2/2 + f^3 P(f): the
    first sum is exact (all parts end 42 bits after the point), f^2 is an exact pair.
    """
    parts, t = split(a), a.dtype
    m = parts.fraction + 1.0
    centers = tables.POW_CENTERS
    c: Expr = Const(centers[-1][1], t)
    high: Expr = Const(centers[-1][2], t)
    low: Expr = Const(centers[-1][3], t)
    for bound, multiplier, log_high, log_low in reversed(centers[:-1]):
        below = m < bound
        c = select(below, Const(multiplier, t), c)
        high = select(below, Const(log_high, t), high)
        low = select(below, Const(log_low, t), low)
    f = fma(m, c, -1.0)
    high = fma(parts.exponent, tables.POW_LN2[0], high)
    low = fma(parts.exponent, tables.POW_LN2[1], low)
    half = f * -0.5
    square, square_low = two_product(f, half)
    high, lost = fast_two_sum(high, f)
    low = low + lost
    high, lost = fast_two_sum(high, square)
    low = low + (lost + square_low)
    low = fma(horner(f, tables.POW_LOG_TAIL) * f, f * f, low)
    return fast_two_sum(high, low)


def _power_f64(a: Expr, y: Expr) -> Expr:
    """a^y for positive finite a."""
    t = a.dtype
    f = format_of(a)
    log_high, log_low = log_pair(a)
    product, rest = two_product(y, log_high)
    rest = fma(y, log_low, rest)
    clamped = not_below(not_above(product, 710.0), -746.0)
    # Beyond the clamp the remainder means nothing, and may be NaN.
    rest = select(clamped.equal(product), rest, 0.0)
    high_part, low_part = tables.LN2[t]
    offset = f.magic + 2 * f.bias
    rounded = fma(clamped, tables.LOG2_E[t][0], offset)
    n = rounded - offset
    r = fma(n, -high_part, clamped) + fma(n, -low_part, rest)
    return scale(horner(r, 1.0, 1.0, tables.EXP_TAIL[t]), rounded)


@defined
def hypot(x: Expr, y: Expr) -> Expr:
    """sqrt(x^2 + y^2) without needless overflow; infinite if either is, even beside a NaN.

    f32 goes through f64, where the squares are exact. f64 scales by 2^+-600 where the larger
    argument is outside [2^-400, 2^500]; the sum then has a relative error of 0.75 ULP at most,
    which the root halves.
    """
    t = x.dtype
    a, b = absolute(x), absolute(y)
    infinite = a.equal(INFINITY) | b.equal(INFINITY)
    if t is dt.f32:
        wide, other = a.cast(dt.f64), b.cast(dt.f64)
        result = apply("narrow_sqrt", fma(wide, wide, other * other)).cast(dt.f32)
        return select(infinite, Const(INFINITY, t), result)
    swap = a < b
    most, least = select(swap, b, a), select(swap, a, b)
    big, small = most > 2.0**500, most < 2.0**-400
    scale = select(big, Const(2.0**-600, t), select(small, Const(2.0**600, t), 1.0))
    back = select(big, Const(2.0**600, t), select(small, Const(2.0**-600, t), 1.0))
    most, least = most * scale, least * scale
    result = sqrt(fma(most, most, least * least)) * back
    return select(infinite, Const(INFINITY, t), result)
