"""Inverse trigonometric functions of one f32 or f64 element."""

from __future__ import annotations

from pyc.ir.expr import Const, Expr, absolute, fma, select, sqrt
from pyc.ir.ops import math_tables as tables
from pyc.ir.ops.floating import INFINITY, bits_of, copysign, fast_two_sum, format_of, horner


def _asin_parts(x: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    """(near, a, q, w) with asin(|x|) = q + w near 0 and pi/2 - 2 (q + w) where not `near`.

    Not near, q = sqrt((1 - a) / 2); 1 - a is exact for a >= 1/2, and the argument NaN for a > 1.
    """
    t = x.dtype
    a = absolute(x)
    near = a < 0.5
    z = select(near, a * a, fma(a, -0.5, 0.5))
    q = select(near, a, sqrt(z))
    return near, a, q, horner(z, tables.ASIN_TAIL[t]) * (z * q)


def asin(x: Expr) -> Expr:
    """The arc sine in [-pi/2, pi/2]; NaN outside [-1, 1]."""
    near, _, q, w = _asin_parts(x)
    high, low = tables.HALF_PI[x.dtype][:2]
    doubled = q + q
    main, lost = fast_two_sum(Const(high, x.dtype), -doubled)
    far = main + (lost + fma(w, -2.0, low))
    return copysign(select(near, q + w, far), x)


def acos(x: Expr) -> Expr:
    """The arc cosine in [0, pi]; NaN outside [-1, 1].

    pi/2 - asin(x) near 0; 2 asin(sqrt((1 - |x|) / 2)) or pi minus that elsewhere.
    """
    t = x.dtype
    near, _, q, w = _asin_parts(x)
    half_high, half_low = tables.HALF_PI[t][:2]
    # One sum base - sign (q + w) for all three cases; doubled where not near.
    negative = x < 0.0
    base = select(near, Const(half_high, t), select(negative, Const(tables.PI[t][0], t), 0.0))
    base_low = select(near, Const(half_low, t), select(negative, Const(tables.PI[t][1], t), 0.0))
    scale = select(near, copysign(Const(1.0, t), x), select(negative, Const(2.0, t), -2.0))
    main, lost = fast_two_sum(base, -(scale * q))
    return main + (fma(-scale, w, base_low) + lost)


def _atan_unit(q: Expr) -> Expr:
    """atan(q) - q for |q| <= 1."""
    s = q * q
    return horner(s, tables.ATAN_TAIL[q.dtype]) * s * q


def atan(x: Expr) -> Expr:
    """The arc tangent: of |x| up to 1, pi/2 + atan(-1 / |x|) beyond, with the sign of x."""
    t = x.dtype
    a = absolute(x)
    large = a > 1.0
    q = select(large, -1.0 / a, a)
    high, low = tables.HALF_PI[t][:2]
    main, lost = fast_two_sum(select(large, Const(high, t), 0.0), q)
    rest = _atan_unit(q) + (lost + select(large, Const(low, t), 0.0))
    return copysign(main + rest, x)


def atan2(y: Expr, x: Expr) -> Expr:
    """The angle of the point (x, y) in [-pi, pi], with the sign of y; C99's special cases.

    q = min / max of |x| and |y|, 1 where they are equal (infinities too), 0 where both are 0; then
    base +- atan(q) with base 0, pi/2 or pi. What the quotient lacks comes from its exact remainder
    (both are scaled up where the remainder would underflow). A quotient that underflows matters
    only for base 0, where it is the result.
    """
    f, t = format_of(x), x.dtype
    a, b = absolute(y), absolute(x)
    steep = a > b
    least, most = select(steep, b, a), select(steep, a, b)
    scale = select(most < f.tiny * 2.0 ** (2 * f.mantissa), Const(2.0 ** (3 * f.mantissa), t), 1.0)
    least, most = least * scale, most * scale
    equal = select(most.equal(0.0), Const(0.0, t), 1.0)
    q = select(least.equal(most), equal, least / most)
    proper = (least < most) & (most < INFINITY)
    q_low = select(proper, fma(-q, most, least) / most, 0.0)
    sign = bits_of(x) & (1 << (t.bits - 1))
    behind = sign.differs(0)
    half_high, half_low = tables.HALF_PI[t][:2]
    whole_high, whole_low = tables.PI[t]
    base = select(steep, Const(half_high, t), select(behind, Const(whole_high, t), 0.0))
    base_low = select(steep, Const(half_low, t), select(behind, Const(whole_low, t), 0.0))
    # The angle falls with q where exactly one of `steep` and `behind` holds.
    flip = select(steep, sign ^ (1 << (t.bits - 1)), sign)
    q, q_low = ((bits_of(part) ^ flip).bitcast(t) for part in (q, q_low))
    main, lost = fast_two_sum(base, q)
    slope = fma(q * -0.5, q, 1.0)  # of atan, roughly
    return copysign(main + (_atan_unit(q) + (lost + fma(q_low, slope, base_low))), y)
