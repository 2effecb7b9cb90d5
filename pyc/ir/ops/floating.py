"""Binary formats of f32 and f64 and the bit tricks that pyc's math functions share.

Takes and returns expressions of f32 or f64; every helper is branch-free and total.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Const, Expr, apply, fma, select

INFINITY = float("inf")
NAN = float("nan")


@frozen()
class Format:
    """One IEEE 754 format.

    mantissa: stored fraction bits; bias: of the exponent; unsigned: the integer type of its size;
    magic: 1.5 * 2^mantissa: adding it rounds |x| < 2^(mantissa-1) to an integer, which then
    stands in the low bits; tiny: the smallest normal number.
    """

    dtype: DType
    unsigned: DType
    mantissa: int
    bias: int

    @property
    def magic(self) -> float:
        """1.5 * 2^mantissa."""
        return 1.5 * 2.0**self.mantissa

    @property
    def tiny(self) -> float:
        """The smallest normal number."""
        return 2.0 ** (1 - self.bias)

    @property
    def one(self) -> int:
        """The bits of 1.0."""
        return self.bias << self.mantissa


FORMATS = {dt.f32: Format(dt.f32, dt.u32, 23, 127), dt.f64: Format(dt.f64, dt.u64, 52, 1023)}


def format_of(x: Expr) -> Format:
    """The format of a f32 or f64 expression."""
    return FORMATS[x.dtype]


def bits_of(x: Expr) -> Expr:
    """The bits of a float as an unsigned integer."""
    return x.bitcast(format_of(x).unsigned)


def not_above(x: Expr, bound: float) -> Expr:
    """min(x, bound), NaN where x is NaN: one machine instruction in this operand order."""
    limit = Const(bound, x.dtype)
    return select(limit < x, limit, x)


def not_below(x: Expr, bound: float) -> Expr:
    """max(x, bound), NaN where x is NaN."""
    limit = Const(bound, x.dtype)
    return select(limit > x, limit, x)


def copysign(x: Expr, sign: Expr) -> Expr:
    """|x| with the sign of `sign`."""
    return apply("copysign", x, sign)


def horner(x: Expr, *coefficients: float | Sequence[float]) -> Expr:
    """c[0] + c[1] x + ...; sequences are spliced in."""
    flat: list[float] = []
    for c in coefficients:
        flat.extend([c] if isinstance(c, (int, float)) else c)
    result: Expr = Const(flat[-1], x.dtype)
    for value in reversed(flat[:-1]):
        result = fma(result, x, value)
    return result


def power_of_two(rounded: Expr) -> Expr:
    """2^n, for `rounded` = n + bias + magic as a float and n in the normal range."""
    return (bits_of(rounded) << format_of(rounded).mantissa).bitcast(rounded.dtype)


def scaled_twice(x: Expr, rounded: Expr) -> Expr:
    """x * 2^n in two exact steps and one rounding, for `rounded` = n + 2 bias + magic.

    The steps are 2^floor(n/2) and 2^ceil(n/2), so neither overflows for |n| <= 2 bias - 2, and
    only the last product can round (to a subnormal) or overflow. The magic's bits are even and
    zero in the low exponent-width bits: halving the bits halves the biased n.
    """
    f = format_of(x)
    bits = bits_of(rounded)
    half = bits >> 1
    first = (half << f.mantissa).bitcast(x.dtype)
    second = ((bits - half) << f.mantissa).bitcast(x.dtype)
    return x * first * second


def scale(x: Expr, rounded: Expr) -> Expr:
    """The same for 2^-32 <= |x| <= 2^32, where it is one instruction of some processors."""
    return apply("scale", x, rounded)


def fast_two_sum(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """(s, e) with s = fl(a + b) and s + e = a + b, for |a| >= |b| or a = 0 (Dekker, 1971)."""
    s = a + b
    return s, b - (s - a)


def two_sum(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """(s, e) with s = fl(a + b) and s + e = a + b (Knuth, TAOCP volume 2, 4.2.2)."""
    s = a + b
    moved = s - a
    return s, (a - (s - moved)) + (b - moved)


def two_product(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """(p, e) with p = fl(a * b) and p + e = a * b, barring underflow."""
    p = a * b
    return p, fma(a, b, -p)
