"""Error functions, the normal distribution and the cube root of one f32 or f64 element."""

from __future__ import annotations

from pyc.ir.defined import defined
from pyc.ir.expr import Const, Expr, absolute, fma, select
from pyc.ir.ops import math_tables as tables
from pyc.ir.ops.floating import (
    bits_of,
    copysign,
    fast_two_sum,
    format_of,
    horner,
    not_above,
    power_of_two,
    scaled_twice,
    two_product,
)


@defined
def erf(x: Expr) -> Expr:
    """The error function: x + x P(x^2) up to 0.92, 1 - 2^(|x| U(|x|)) beyond, with the sign of x.

    U approximates log2(erfc(x)) / x. The power is at most 0.2: its relative error counts a fifth.
    """
    f, t = format_of(x), x.dtype
    a = absolute(x)
    s = a * a
    small = fma(horner(s, tables.ERF_SMALL[t]), a, a)
    limited = not_above(a, 4.0 if f.mantissa == 23 else 6.0)
    slope = horner(limited, tables.ERF_LARGE[t])
    offset = f.magic + f.bias
    rounded = fma(slope, limited, offset)
    r = fma(slope, limited, -(rounded - offset))
    power = horner(r, 1.0, tables.LN2[t][0], tables.EXP2_TAIL[t])
    large = fma(power, -power_of_two(rounded), 1.0)
    return copysign(select(a < 0.92, small, large), x)


@defined
def erfc(x: Expr) -> Expr:
    """1 - erf(x), accurate down to its underflow."""
    return _complement(x, None)


@defined
def ndtr(x: Expr) -> Expr:
    """The probability that a standard normal number is at most x: erfc(-x / sqrt(2)) / 2.

    The relative error of an argument of erfc counts 2 x^2 times: the quotient is a pair.
    """
    high, low = tables.ROOT_HALF[x.dtype]
    u = x * -high
    lost = fma(x, -low, fma(x, -high, -u))
    # Of infinities and of what is beyond the underflow nothing is lost that counts.
    return _complement(u, select(absolute(u) < 64.0, lost, 0.0)) * 0.5


def _complement(x: Expr, x_low: Expr | None) -> Expr:
    """1 - erf(x + x_low).

    1 - erf(x) for a = |x| up to 1/2. Beyond, erfc(a) = exp(-a^2) H(v) / (a + 2) with
    v = (a - 2) / (a + 2) and H smooth (after the substitution of Shepherd and Laframboise,
    "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x", Math. Comp. 36, 1981). a^2, the
    exponential, H and the quotient are pairs of a value and what it lacks; the lacks join to first
    order. 2 - erfc(a) for x < 0.
    """
    f, t = format_of(x), x.dtype
    a = not_above(absolute(x), 10.1 if f.mantissa == 23 else 27.3)
    # exp(-a^2) = 2^n (e + e_low)
    square, square_low = two_product(a, a)
    if x_low is not None:
        square_low = fma(a + a, select(x < 0.0, -x_low, x_low), square_low)
    high_part, low_part = tables.LN2[t]
    offset = f.magic + 2 * f.bias
    rounded = fma(square, -tables.LOG2_E[t][0], offset)
    n = rounded - offset
    r = -fma(n, high_part, square)
    r_rest = fma(n, -low_part, -square_low)
    r, r_low = fast_two_sum(r, r_rest)
    e, e_low = fast_two_sum(Const(1.0, t), fma(horner(r, tables.EXP_TAIL[t]), r * r, r))
    e_low = e_low + r_low
    # 1 / (a + 2) = q (1 + q_rest)
    d, d_low = fast_two_sum(Const(2.0, t), a)
    d_low = select(a > 2.0, 2.0 - (d - a), d_low)
    q = 1.0 / d
    q_rest = fma(-q, d, 1.0) - q * d_low
    # H(v) = h + h_low, with what v lacks times a rough slope of H
    v = fma(q, -4.0, 1.0)
    v_low = fma(q * q_rest, -4.0, fma(q, -4.0, 1.0 - v))
    first, first_low, *others = tables.ERFC_SCALED[t]
    h, h_low = fast_two_sum(Const(first, t), horner(v, others) * v)
    h_low = h_low + fma(v_low, horner(v, others[0], 2.0 * others[1]), first_low)
    product, product_low = two_product(e, h)
    product_low = product_low + fma(e, h_low, e_low * h)
    value, value_low = two_product(product, q)
    value = value + fma(fma(product, q_rest, product_low), q, value_low)
    positive = scaled_twice(value, rounded)
    far = select(x < 0.0, 2.0 - positive, positive)
    near = 1.0 - fma(horner(x * x, tables.ERF_SMALL[t]), x, x)
    return select(absolute(x) < 0.5, near, far)


def cbrt(x: Expr) -> Expr:
    """The cube root, with the sign of x.

    |x| = 2^(3k) M with 1 <= M < 8, r ~ M^(-1/3) from a polynomial and a power of the cube root of
    1/2, y = M r^2, and one Newton step whose residual M - y^3 is exact to first order: the error
    before the last rounding is about the square of y's.
    """
    f, t = format_of(x), x.dtype
    a = absolute(x)
    subnormal = a < f.tiny
    shift = f.mantissa + 1
    normal = select(subnormal, a * 2.0**shift, a)
    bits = bits_of(normal)
    mask = (1 << f.mantissa) - 1
    # With e = biased - base: e + 3 lift >= 0, and k + lift = (e + 3 lift) // 3.
    lift = f.bias
    base = f.bias - 3 * lift
    biased = (bits >> f.mantissa) - select(subnormal, Const(base + shift, f.unsigned), base)
    third = (biased * 21846) >> 16  # biased // 3 for biased < 32768
    remainder = biased - third * 3
    m = ((bits & mask) | f.one).bitcast(t)
    wide = (bits_of(m) + (remainder << f.mantissa)).bitcast(t)
    factor = select(
        remainder.equal(0),
        Const(1.0, t),
        select(remainder.equal(1), Const(tables.CBRT4[t][0] / 2, t), tables.CBRT2[t][0] / 2),
    )
    r = horner(m, tables.CBRT_INVERSE[t]) * factor
    if f.mantissa == 52:
        # One step of r + r (1 - M r^3) / 3 first: 8e-7 becomes 2e-12.
        lack = fma(-(wide * r), r * r, 1.0)
        r = fma(r * lack, 1.0 / 3.0, r)
    inverse_square = r * r
    y = wide * inverse_square
    square, square_low = two_product(y, y)
    residual = fma(-square, y, wide) - square_low * y
    y = fma(residual * inverse_square, 1.0 / 3.0, y)
    scale = ((third + (f.bias - lift)) << f.mantissa).bitcast(t)
    # Zero, infinity and NaN are their own roots.
    infinity = (2 * f.bias + 1) << f.mantissa
    ordinary = (bits_of(a) - 1) < infinity - 1
    return select(ordinary, copysign(y * scale, x), x)
