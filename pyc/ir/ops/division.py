"""Scalar definitions of division with a remainder: `//`, `%` and fmod, as NumPy gives them.

Integers: `x // 0` and `x % 0` are 0, the most negative // -1 wraps. Floats: fmod is exact for all
arguments; floor division and remainder are NumPy's formulas on top of it.
"""

from __future__ import annotations

from pyc.ir import dtype as dt
from pyc.ir.expr import Const, Expr, absolute, apply, const, fma, rare_select, select


def floor_divide(x: Expr, y: Expr) -> Expr:
    """x // y, rounded towards minus infinity."""
    if x.dtype.is_integer:
        power = _power_of_two(y)
        if power is not None:
            return apply("shr", x, Const(power.bit_length() - 1, x.dtype))
        quotient, rest = apply("quotient", x, y), apply("remainder", x, y)
        return select(_signs_differ(rest, y), quotient - 1, quotient)
    rest = fmod(x, y)
    quotient = (x - rest) / y
    quotient = select(_signs_differ(rest, y), quotient - 1, quotient)
    floor = apply("floor", quotient)
    floor = select(quotient - floor > 0.5, floor + 1, floor)
    whole = select(quotient.differs(0), floor, apply("copysign", Const(0, x.dtype), x / y))
    return select(y.equal(0), x / y, whole)


def remainder(x: Expr, y: Expr) -> Expr:
    """x % y, with the sign of y."""
    if x.dtype.is_integer:
        power = _power_of_two(y)
        if power is not None:
            return x & (power - 1)
        rest = apply("remainder", x, y)
        return select(_signs_differ(rest, y), rest + y, rest)
    rest = fmod(x, y)
    moved = select(_signs_differ(rest, y), rest + y, rest)
    return select(rest.equal(0), apply("copysign", rest, y), moved)


def fmod(x: Expr, y: Expr) -> Expr:
    """The remainder of the division that truncates, with the sign of x; exact."""
    if x.dtype.is_integer:
        return apply("remainder", x, y)
    rest = _fmod_magnitude(absolute(x).cast(dt.f64), absolute(y).cast(dt.f64)).cast(x.dtype)
    return apply("copysign", rest, x)


def _signs_differ(rest: Expr, y: Expr) -> Expr:
    """Whether the truncated result must move by one step: rest is not 0 and lies on the other
    side of 0 than y."""
    if rest.dtype.kind == "uint":
        return Const(False, dt.b1)
    return rest.differs(0) & ((rest < 0) ^ (y < 0))


def _fmod_magnitude(x: Expr, y: Expr) -> Expr:
    """x mod y for float64 x, y >= 0; NaN for infinite x, zero y and NaN."""
    quotient = apply("trunc", x / y)
    # Below 2**53 the quotient is right or one too large, so that the remainder is exact.
    near = fma(-quotient, y, x)
    near = select(near < 0, near + y, near)
    near = select(y.equal(float("inf")), x, near)
    far = _fmod_far(x, y)
    finite = (x < float("inf")) & (y > 0)
    near = select(finite | x.differs(x) | y.differs(y), near, Const(float("nan"), dt.f64))
    return rare_select((quotient >= 2.0**53) & finite, far, near)


def _fmod_far(x: Expr, y: Expr) -> Expr:
    """x mod y where x / y >= 2**53: with x = m 2**n and y scaled to integers m, y below 2**53,
    the powers of 2 are taken modulo y by squaring."""
    x_exponent, x_digits = _split(x)
    y_exponent, y_digits = _split(y)
    n = x_exponent - y_exponent
    # 2**(n >> 6) <= 2**32 < y: the first power is exact, six squarings double it up to 2**n.
    power = ((n >> 6) + 1023 << 52).bitcast(dt.f64)
    for k in range(5, -1, -1):
        power = _multiply_modulo(power, power, y_digits)
        bit = ((n >> k) & 1).differs(0)
        # 2 power mod y; the doubled power itself would not fit 53 bits.
        doubled = power - (y_digits - power)
        doubled = select(doubled < 0, doubled + y_digits, doubled)
        power = select(bit, doubled, power)
    x_digits = select(x_digits >= y_digits, x_digits - y_digits, x_digits)
    rest = _multiply_modulo(x_digits, power, y_digits)
    return _scale(rest, y_exponent)


def _split(x: Expr) -> tuple[Expr, Expr]:
    """(e, m) with x = m 2**e and m a whole number in [2**52, 2**53), for finite x > 0."""
    subnormal = x < 2.0**-1022
    normal = select(subnormal, x * 2.0**54, x)
    bits = normal.bitcast(dt.i64)
    exponent = (bits >> 52) - 1075 - select(subnormal, const(54), const(0))
    digits = ((bits & (2**52 - 1)) | (1075 << 52)).bitcast(dt.f64)
    return exponent, digits


def _scale(m: Expr, exponent: Expr) -> Expr:
    """m 2**exponent, exact when the result is representable; exponent in [-1128, 971]."""
    half = exponent >> 1
    first = (half + 1023 << 52).bitcast(dt.f64)
    second = (exponent - half + 1023 << 52).bitcast(dt.f64)
    return m * first * second


def _multiply_modulo(a: Expr, b: Expr, modulus: Expr) -> Expr:
    """a b mod modulus for whole numbers a, b < modulus in [2**52, 2**53)."""
    high = a * b
    low = fma(a, b, -high)
    quotient = apply("trunc", high / modulus)
    rest = fma(-quotient, modulus, high)
    rest = select(rest < 0, rest + modulus, rest)
    # |low| <= 2**52 <= modulus; subtracting what is missing keeps every step below 2**53.
    rest = select(low > 0, rest - (modulus - low), rest + low)
    return select(rest < 0, rest + modulus, rest)


def _power_of_two(y: Expr) -> int | None:
    """The number that y is, if that is a power of two: rounding down is then what shifts and masks
    do, a sixth of the instructions or less."""
    number = int(y.value) if isinstance(y, Const) else 0
    return number if number > 0 and number & (number - 1) == 0 else None
