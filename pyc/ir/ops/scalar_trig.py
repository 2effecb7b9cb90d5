"""Trigonometric functions of one f32 or f64 element, for arguments of any size.

x = n pi/2 + r with |r| <= 0.8, r = `high` - `low` as an unevaluated difference; then polynomials in
r^2 and the quadrant n mod 4 (Cody and Waite, 1980). Up to `_USUAL` n comes from one multiplication
and pi/2 in three parts of full precision, each product being exact inside an fma. Larger arguments
take the rare operand of `rare_select`: a product with the digits of 2/pi that matter (Payne and
Hanek, "Radian reduction for trigonometric functions", SIGNUM 1983) in exact float64 arithmetic.
Both paths end in the same polynomials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.defined import defined
from pyc.ir.expr import Const, Expr, absolute, apply, fma, rare_select, select
from pyc.ir.ops import math_tables as tables
from pyc.ir.ops.floating import bits_of, fast_two_sum, format_of, horner, two_product, two_sum

# The largest |x| for the three-part reduction. The rounding of 2/pi then shifts n by at most 0.007
# (f32), so |r| <= 0.797; the parts hold pi/2 to 2^-75 (f32) and 2^-163 (f64), n times that is far
# below the last bit of the smallest r that a float of this size leaves.
_USUAL = {dt.f32: 2.0**18, dt.f64: 2.0**28}


@frozen()
class Reduced:
    """n pi/2 + high - low = x: `quadrant` holds n mod 4 in its two low bits."""

    high: Expr
    low: Expr
    quadrant: Expr


def _reduce(x: Expr) -> Reduced:
    """The three-part reduction of a usual x.

    x - n P1 is exact: both are multiples of half an ulp of P1 and the difference is below 1. Then
    n P2 is taken off as an exact pair. What that subtraction rounds away is found exactly, in
    either order of magnitude: where n P2 is the larger, x - n P1 is a multiple of its ulp. It is
    kept in `low` together with n P3. The signs are arranged for -0: high = -0 and low = +0 (the
    parts are positive for that).
    """
    f, t = format_of(x), x.dtype
    first, second, third = tables.REDUCTION[t]
    rounded = fma(x, tables.TWO_OVER_PI[t][0], f.magic)
    n = rounded - f.magic
    exact = fma(n, -first, x)
    product, rest = two_product(n, Const(second, t))
    high = exact - product
    low = fma(n, third, rest) - ((exact - high) - product)
    return Reduced(high, low, bits_of(rounded))


# --- large arguments ------------------------------------------------------------------------------


def _digits(count: int, width: int) -> list[int]:
    """`count` groups of `width` bits of 2/pi after the binary point.

    pi by Machin's formula in integers: 16 atan(1/5) - 4 atan(1/239), with 64 guard bits.
    """
    bits = count * width
    scale = 1 << (bits + 64)

    def inverse_atan(k: int) -> int:
        term, total, divisor, sign = scale // k, 0, 1, 1
        while term:
            total += sign * (term // divisor)
            term, divisor, sign = term // (k * k), divisor + 2, -sign
        return total

    pi = 16 * inverse_atan(5) - 4 * inverse_atan(239)
    value = (2 * scale << bits) // pi
    mask = (1 << width) - 1
    return [(value >> (bits - width * (k + 1))) & mask for k in range(count)]


def _modulo_four(x: Expr) -> Expr:
    """x minus the nearest multiple of 4, exactly (0 where x is large and even)."""
    return fma(apply("rint", x * 0.25), -4.0, x)


def _quadrant(n: Expr) -> Expr:
    """The low bits of an integer-valued f64 of modest size."""
    return bits_of(n + format_of(n).magic)


def _reduce_large_f32(x: Expr) -> Reduced:
    """The reduction of any finite f32 in f64; NaN for infinities.

    2/pi is cut into 29-bit groups: each of the seven products with x (24 bits) is exact, so is its
    remainder modulo 4, and a two-sum chain adds them with an error of 2^-100. The first group left
    out is worth x 2^-203 <= 2^-75 and the smallest remainder of a float32 is about 2^-30.
    """
    wide = x.cast(dt.f64)
    high: Expr | None = None
    low: Expr = Const(0.0, dt.f64)
    for k, group in enumerate(_digits(7, 29)):
        term = _modulo_four(wide * (group * 2.0 ** (-29 * (k + 1))))
        if high is None:
            high = term
            continue
        high, error = two_sum(high, term)
        low = low + error
    assert high is not None
    n = apply("rint", high)
    r = ((high - n) + low) * tables.HALF_PI[dt.f64][0]
    narrow = r.cast(dt.f32)
    rest = (narrow.cast(dt.f64) - r).cast(dt.f32)
    return Reduced(narrow, rest, _quadrant(n).cast(dt.u32))


def _window(words: Sequence[float], index: Expr, count: int) -> list[Expr]:
    """words[index : index + count] by a network of selects, one level per bit of `index`."""
    level: list[Expr | float] = list(words)
    zero = Const(0, index.dtype)
    bit = 1 << (len(words) - count).bit_length() - 1
    while bit:
        taken = (index & bit).differs(zero)
        need = min(count + bit - 1, len(level))
        level = [
            select(taken, level[k + bit] if k + bit < len(level) else 0.0, level[k], dt.f64)
            for k in range(need)
        ]
        bit >>= 1
    return [e if isinstance(e, Expr) else Const(e, dt.f64) for e in level[:count]]


def _reduce_large_f64(x: Expr) -> Reduced:
    """The reduction of any finite f64 of at least 2^28; NaN for infinities.

    |x| = X 2^(48 k) with 1 <= X < 2^48, and 2/pi in 48-bit groups w_j: the products
    X w_j 2^(48 (k - j - 1)) are multiples of 4 for j < k - 2 and below 2^-144 in sum for
    j > k + 3, where 2^-119 suffices (no double is nearer to a multiple of pi/2 than 2^-61). The six
    products between are exact pairs. Those of 1 or more are first reduced to fractions: their
    bits end at 2^-52, so fractions below 1/2 add exactly; the rest goes through two-sums.
    """
    f = format_of(x)
    bits = bits_of(absolute(x))
    exponent = (bits >> 52) - f.bias
    k = (exponent * 1366) >> 16  # exponent // 48, checked for 0 .. 1023
    scaled = (bits - ((k * 48) << 52)).bitcast(dt.f64)
    words = [0.0, 0.0, *(w * 2.0**-48 for w in _digits(25, 48))]
    window = _window(words, k, 6)
    pairs = [two_product(scaled * 2.0 ** (48 * (2 - j)), word) for j, word in enumerate(window)]
    # Quarters count quadrants, so whole multiples of 4 vanish before integers are split off.
    integers: Expr = Const(0.0, dt.f64)

    def without_integer(value: Expr) -> Expr:
        nonlocal integers
        n = apply("rint", value)
        integers = integers + n
        return value - n

    coarse = without_integer(_modulo_four(pairs[0][0]) + _modulo_four(pairs[0][1]))
    fine = without_integer(
        without_integer(_modulo_four(pairs[1][0])) + without_integer(_modulo_four(pairs[1][1]))
    )
    total, e1 = two_sum(without_integer(coarse + fine), without_integer(_modulo_four(pairs[2][0])))
    total, e2 = two_sum(total, pairs[3][0])
    total, e3 = two_sum(total, pairs[2][1])
    total = without_integer(total)
    small, e4 = two_sum(pairs[4][0], pairs[3][1])
    small, e5 = two_sum(small, e1)
    small, e6 = two_sum(small, e2)
    small, e7 = two_sum(small, e3)
    high, low = two_sum(total, small)
    low = low + (e4 + e5 + e6 + e7 + pairs[4][1] + pairs[5][0])
    high, low = fast_two_sum(high, low)
    first, second, _ = tables.HALF_PI[dt.f64]
    r, rest = two_product(high, Const(first, dt.f64))
    rest = rest + fma(high, second, low * first)
    r, rest = fast_two_sum(r + (x - x), rest)  # x - x: NaN for infinities
    negative = x < 0.0
    return Reduced(
        select(negative, -r, r),
        select(negative, rest, -rest),
        _quadrant(select(negative, -integers, integers)),
    )


def _for_any_size(x: Expr, function: Callable[[Reduced], Expr]) -> Expr:
    """`function` of the reduced argument, by the long reduction where x is large or infinite."""
    t = x.dtype
    large = _reduce_large_f32(x) if t is dt.f32 else _reduce_large_f64(x)
    return rare_select(absolute(x) > _USUAL[t], function(large), function(_reduce(x)))


# --- the functions --------------------------------------------------------------------------------


def _sine_or_cosine(reduced: Reduced, shift: int) -> Expr:
    """The sine of (n + shift) pi/2 + high - low.

    sin(h - l) = h - (h^3 P(h^2) + l); cos(h - l) = 1 - h^2/2 + (h^4 Q(h^2) + h l).
    """
    h, low, t = reduced.high, reduced.low, reduced.high.dtype
    s = h * h
    sine = h - fma(horner(s, tables.SIN_TAIL[t]), h * s, low)
    # 1 - h^2/2 rounds; what it loses, and l, are worth a quarter of an ULP each.
    half = s * 0.5
    main = 1.0 - half
    lost = (1.0 - main) - half
    cosine = main + (lost + fma(horner(s, tables.COS_TAIL[t]), s * s, h * low))
    quadrant = reduced.quadrant + shift if shift else reduced.quadrant
    value = select((quadrant & 1).equal(0), sine, cosine)
    sign = (quadrant & 2) << (t.bits - 2)
    return (bits_of(value) ^ sign).bitcast(t)


@defined
def sin(x: Expr) -> Expr:
    """The sine; NaN for infinities, sin(-0) = -0."""
    return _for_any_size(x, lambda reduced: _sine_or_cosine(reduced, 0))


@defined
def cos(x: Expr) -> Expr:
    """The cosine; NaN for infinities."""
    return _for_any_size(x, lambda reduced: _sine_or_cosine(reduced, 1))


def _tangent(reduced: Reduced) -> Expr:
    """tan(h - l) = h + (h^3 T(h^2) - l (1 + h^2)) in even quadrants, -1 over it in odd ones.

    The tangent is kept as a pair there, and one Newton step with its residual makes the quotient
    right to its last rounding.
    """
    h, low, t = reduced.high, reduced.low, reduced.high.dtype
    s = h * h
    correction = fma(horner(s, tables.TAN_TAIL[t]), h * s, -fma(low, s, low))
    tangent, rest = fast_two_sum(h, correction)
    quotient = -1.0 / tangent
    residual = fma(quotient, rest, fma(quotient, tangent, 1.0))
    inverse = fma(quotient, residual, quotient)
    return select((reduced.quadrant & 1).equal(0), tangent, inverse)


@defined
def tan(x: Expr) -> Expr:
    """The tangent; NaN for infinities, tan(-0) = -0."""
    return _for_any_size(x, _tangent)
