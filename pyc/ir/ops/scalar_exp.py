"""Exponential and hyperbolic functions of one f32 or f64 element.

All rest on x = n ln(2) + r with |r| <= ln(2)/2 and a polynomial in r (Cody and Waite, "Software
Manual for the Elementary Functions", 1980). Rounding to n and reading it as an integer are one
addition of 1.5 * 2^mantissa. The product n * LN2_HI is exact inside the fma and the difference
with x is exact too (both are multiples of half an ulp of ln(2), and it is below 1/2), so r carries
one rounding.
"""

from __future__ import annotations

from pyc.ir.expr import Const, Expr, absolute, fma, select
from pyc.ir.ops import math_tables as tables
from pyc.ir.ops.floating import (
    copysign,
    fast_two_sum,
    format_of,
    horner,
    not_above,
    not_below,
    power_of_two,
    scale,
)


def exp(x: Expr) -> Expr:
    """e^x; overflows to inf, underflows through subnormals."""
    f, t = format_of(x), x.dtype
    # One past both ends: 2^n stays in reach of `scale`, the result is inf or 0 already.
    low, high = (-104.5, 89.0) if f.mantissa == 23 else (-746.0, 710.0)
    within = not_below(not_above(x, high), low)
    high_part, low_part = tables.LN2[t]
    offset = f.magic + 2 * f.bias
    rounded = fma(within, tables.LOG2_E[t][0], offset)
    n = rounded - offset
    r = fma(n, -low_part, fma(n, -high_part, within))
    power = horner(r, 1.0, 1.0, tables.EXP_TAIL[t])
    return scale(zero_below(x, low, power), rounded)


def zero_below(x: Expr, low: float, power: Expr) -> Expr:
    """0 where x is below `low`, where 2^n times the power is 0: Intel's processors take some 150
    cycles for a product that underflows, and a row under a mask is full of them."""
    return select(x < low, Const(0.0, x.dtype), power)


def exp2(x: Expr) -> Expr:
    """2^x, exact for integers. The reduction x - n is exact."""
    f, t = format_of(x), x.dtype
    low, high = (-150.5, 129.0) if f.mantissa == 23 else (-1076.0, 1025.0)
    within = not_below(not_above(x, high), low)
    offset = f.magic + 2 * f.bias
    rounded = within + offset
    r = within - (rounded - offset)
    power = horner(r, 1.0, tables.LN2[t][0], tables.EXP2_TAIL[t])
    return scale(zero_below(x, low, power), rounded)


def expm1(x: Expr) -> Expr:
    """e^x - 1, accurate near 0 and with its sign of zero.

    e^x - 1 = 2^n (e^r - 1) + (2^n - 1). The reduction is not centred: n is rounded so that
    e^r lies in [3/4, 3/2]. For n = 1 then e^r - 1 >= -1/4 (less cancellation against 2^n - 1 = 1),
    and for n = -1 e^r - 1 <= 1/2 (against -1/2), which keeps their roundings below half an ULP of
    the result. Everything is halved and doubled again, so that 2^n may be 2^bias+1.
    """
    f, t = format_of(x), x.dtype
    low, high = (-18.0, 89.0) if f.mantissa == 23 else (-38.0, 710.0)
    clamped = not_below(not_above(x, high), low)
    high_part, low_part = tables.LN2[t]
    # log2(3/2) - 1/2 of a step further up, in units of x.
    shifted = clamped - 0.0588915178281917
    offset = f.magic + f.bias - 1
    rounded = fma(shifted, tables.LOG2_E[t][0], offset)
    n = rounded - offset
    r = fma(n, -low_part, fma(n, -high_part, clamped))
    p = fma(horner(r, tables.EXPM1_TAIL[t]), r * r, r)
    half_scale = power_of_two(rounded)
    half = fma(half_scale, p, half_scale - 0.5)
    small = absolute(x) < 2.0 ** -(f.mantissa + 2)
    return select(small, x, half + half)


def _half_exp_pair(a: Expr) -> tuple[Expr, Expr]:
    """(h, l) with h + l = e^a / 4 to about 0.5 ULP before the sum, for a >= 0 up to overflow / 2.

    l only keeps what the last addition 1 + (e^r - 1) rounds away.
    """
    f, t = format_of(a), a.dtype
    high_part, low_part = tables.LN2[t]
    offset = f.magic + f.bias - 2
    rounded = fma(a, tables.LOG2_E[t][0], offset)
    n = rounded - offset
    r = fma(n, -low_part, fma(n, -high_part, a))
    tail = fma(horner(r, tables.EXP_TAIL[t]), r * r, r)
    h, low = fast_two_sum(Const(1.0, t), tail)
    scale = power_of_two(rounded)
    return h * scale, low * scale


def _hyperbolic_bound(mantissa: int) -> float:
    """Past the overflow of sinh and cosh, within reach of one scaling."""
    return 89.5 if mantissa == 23 else 710.6


def cosh(x: Expr) -> Expr:
    """(e^|x| + e^-|x|) / 2."""
    f = format_of(x)
    h, low = _half_exp_pair(not_above(absolute(x), _hyperbolic_bound(f.mantissa)))
    quarter = h + (low + 0.0625 / h)
    return quarter + quarter


def sinh(x: Expr) -> Expr:
    """x + x^3 P(x^2) up to 1, (e^|x| - e^-|x|) / 2 beyond, with the sign of x."""
    f, t = format_of(x), x.dtype
    a = absolute(x)
    h, low = _half_exp_pair(not_above(a, _hyperbolic_bound(f.mantissa)))
    quarter = h + (low - 0.0625 / h)
    s = a * a
    small = fma(horner(s, tables.SINH_TAIL[t]) * s, a, a)
    return copysign(select(a < 1.0, small, quarter + quarter), x)


def tanh(x: Expr) -> Expr:
    """x + x^3 P(x^2) up to 0.8, 1 - 2 / (e^2|x| + 1) beyond, with the sign of x.

    The exponential is computed from half its argument: r = |x| - n ln(2)/2 with the coefficients
    of e^(2r). Its relative error enters by 4 e^2x / (e^2x + 1)^2 <= 0.56, which falls with n: the
    low part of ln(2) is not needed.
    """
    f, t = format_of(x), x.dtype
    a = absolute(x)
    limited = not_above(a, 10.0 if f.mantissa == 23 else 20.0)
    offset = f.magic + f.bias
    rounded = fma(limited, 2 * tables.LOG2_E[t][0], offset)
    n = rounded - offset
    r = fma(n, -tables.LN2[t][0] / 2, limited)
    doubled = [c * 2.0 ** (k + 2) for k, c in enumerate(tables.EXP_TAIL[t])]
    large = 1.0 - 2.0 / fma(horner(r, 1.0, 2.0, doubled), power_of_two(rounded), 1.0)
    s = a * a
    small = fma(horner(s, tables.TANH_TAIL[t]) * s, a, a)
    return copysign(select(a < 0.8, small, large), x)
