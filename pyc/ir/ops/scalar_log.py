"""Logarithms of one f32 or f64 element.

x = 2^e m with sqrt(1/2) <= m < sqrt(2) by integer arithmetic on the bits, f = m - 1 exactly, and
log(1 + f) = f + f^2 P(f). The large parts are added last, smallest first.
"""

from __future__ import annotations

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Const, Expr, fma, minimum, select
from pyc.ir.ops import math_tables as tables
from pyc.ir.ops.floating import INFINITY, NAN, bits_of, copysign, format_of, horner

# The bits of sqrt(1/2), rounded down: the lower end of the range of m.
_ROOT_HALF = {dt.f32: 0x3F3504F3, dt.f64: 0x3FE6A09E667F3BCC}


@frozen()
class Split:
    """x = 2^e (1 + f): `exponent` holds e / unit as a float, unit being a power of two."""

    exponent: Expr
    fraction: Expr
    unit: float


def split(x: Expr) -> Split:
    """The parts of a positive finite x, subnormals included; anything else gives finite garbage."""
    f = format_of(x)
    subnormal = x < f.tiny
    # 2^(mantissa + 1) makes every subnormal normal; the exponent is put right in `base`.
    return split_normal(select(subnormal, x * 2.0 ** (f.mantissa + 1), x), subnormal)


def split_normal(x: Expr, scaled: Expr | bool) -> Split:
    """The parts of a positive normal x; where `scaled`, those of x / 2^(mantissa + 1)."""
    f, t = format_of(x), x.dtype
    shift = f.mantissa + 1
    root = _ROOT_HALF[t]
    mask = (1 << f.mantissa) - 1
    bits = bits_of(x)
    exponent: Expr
    if t is dt.f32:
        # e * 2^23 as a signed integer converts exactly: no shift is needed.
        difference = bits - _either(scaled, root + (shift << 23), root, f.unsigned)
        exponent = (difference & ~mask).bitcast(dt.i32).cast(dt.f32)
        unit = 2.0**-23
    else:
        # e + bias is not negative: OR-ed into the bits of 2^52 it reads as 2^52 + e + bias
        # (processors without AVX-512 do not convert 64-bit integers).
        difference = bits - (root - f.one)
        raised = ((difference >> 52) | 0x4330000000000000).bitcast(dt.f64)
        base = 2.0**52 + f.bias
        exponent = raised - _either(scaled, base + shift, base, t)
        unit = 1.0
    m = ((difference & mask) + root).bitcast(t)
    return Split(exponent, m - 1.0, unit)


def _either(condition: Expr | bool, then: float, otherwise: float, dtype: DType) -> Expr:
    """One of two literals; a plain literal where the condition is known."""
    if isinstance(condition, Expr):
        return select(condition, Const(then, dtype), otherwise)
    return Const(then if condition else otherwise, dtype)


def _with_special_values(x: Expr, result: Expr, pole: float) -> Expr:
    """`result`, with -inf where x = pole, NaN below, and x itself where it is inf or NaN."""
    result = select(x < INFINITY, result, x)
    outside = select(x.equal(pole), Const(-INFINITY, x.dtype), NAN)
    return select(x > pole, result, outside)


def natural(parts: Split, rest: Expr | None = None) -> Expr:
    """e ln(2) + log(1 + f), and + `rest` where f is known to more than its precision."""
    f, t = parts.fraction, parts.fraction.dtype
    high, low = (part * parts.unit for part in tables.LN2[t])
    square = f * f
    tail = fma(square, horner(f, tables.LOG_TAIL[t]), parts.exponent * Const(low, t))
    if rest is not None:
        tail = tail + rest
    return fma(parts.exponent, high, f + tail)


def log(x: Expr) -> Expr:
    """The natural logarithm; log(0) = -inf, NaN below."""
    return _with_special_values(x, natural(split(x)), 0.0)


def log2(x: Expr) -> Expr:
    """The binary logarithm, exact for powers of two."""
    parts, t = split(x), x.dtype
    f = parts.fraction
    high, low = tables.LOG2_E[t]
    tail = fma(f, low, f * f * horner(f, tables.LOG2_TAIL[t]))
    result = fma(parts.exponent, parts.unit, fma(f, high, tail))
    return _with_special_values(x, result, 0.0)


def log10(x: Expr) -> Expr:
    """The decimal logarithm."""
    parts, t = split(x), x.dtype
    f = parts.fraction
    high, low = tables.LOG10_E[t]
    step_high, step_low = (part * parts.unit for part in tables.LOG10_2[t])
    tail = fma(f * f, horner(f, tables.LOG10_TAIL[t]), parts.exponent * Const(step_low, t))
    result = fma(parts.exponent, step_high, fma(f, high, fma(f, low, tail)))
    return _with_special_values(x, result, 0.0)


def log1p(x: Expr) -> Expr:
    """log(1 + x), accurate near 0 and with its sign of zero.

    u = fl(1 + x) is split like the argument of log; what its rounding lost, c = x - (u - 1), joins
    f scaled by the same power of two: f = (m - 1) + c 2^-e, exact for e = 0; its rounding error is
    kept (to first order).
    c is exact while |x| < 2^mantissa; beyond, its error is far below the last bit of the result.
    """
    f, t = format_of(x), x.dtype
    u = x + 1.0
    lost = x - (u - 1.0)
    parts = split_normal(u, False)
    # 2^-e from its bits; the two largest e have no normal inverse, but `lost` is 0 there.
    signed = dt.signed_of(t.bits)
    mask = (1 << f.mantissa) - 1
    step = ((bits_of(u) - _ROOT_HALF[t]) & ~mask).bitcast(signed)
    inverse = (f.one - minimum(step, (f.bias - 1) << f.mantissa)).bitcast(t)
    fraction = fma(lost, inverse, parts.fraction)
    rest = fma(lost, inverse, parts.fraction - fraction)
    result = natural(Split(parts.exponent, fraction, parts.unit), rest)
    return copysign(_with_special_values(x, result, -1.0), x)
