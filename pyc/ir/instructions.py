"""The scalar instructions: what one element of any pyc program is computed with.

Each entry gives an instruction's arity, its type rule and its exact meaning as a NumPy function
over arrays (the meaning both interpreters use). Every instruction but `scale` is total: no input is
undefined, so bits cannot depend on the target. `scale` has a domain on which targets agree, because
some have it as one instruction, and so has `fma_pairs`; both interpreters raise ValueError outside
of it. `narrow_sqrt` is the root to the bit once it is cast to float32. `fast_div` and `fast_sqrt`,
of programs with `fastmath`, are rounded exactly or nearly, as the target has it.
Backends hold one table from these names to machine code.

Arithmetic on half types does not exist here: ops widen to float32 and round back (`cast`).
Complex numbers are pairs of scalars by the time they reach instructions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType

Array = np.ndarray[Any, Any]


@frozen()
class Instruction:
    """One scalar instruction.

    result: (argument types) -> type, TypeError on a mistyped use; bare: (arrays, result type)
    -> array, exact and total, for callers that have NumPy's warnings off (`quietly`).
    """

    name: str
    arity: int
    result: Callable[[tuple[DType, ...]], DType]
    bare: Callable[[tuple[Array, ...], DType], Array]

    def evaluate(self, args: tuple[Array, ...], type: DType) -> Array:
        """The same, without warnings."""
        with quietly():
            return self.bare(args, type)


INSTRUCTIONS: dict[str, Instruction] = {}


def quietly() -> AbstractContextManager[Any]:
    """A block in which NumPy does not warn of overflow, NaN and the like. Entering one costs as
    much as an instruction over a few elements: interpreters have one around many."""
    return np.errstate(all="ignore")


def _define(
    name: str,
    arity: int,
    result: Callable[[tuple[DType, ...]], DType],
    evaluate: Callable[..., Array],
    *,
    typed: bool = False,
) -> None:
    """Register an instruction; `typed` evaluators also get the result type."""

    def untyped(args: tuple[Array, ...], type: DType) -> Array:
        return np.asarray(evaluate(*args), dtype=type.numpy)

    def with_type(args: tuple[Array, ...], type: DType) -> Array:
        return np.asarray(evaluate(*args, type), dtype=type.numpy)

    INSTRUCTIONS[name] = Instruction(name, arity, result, with_type if typed else untyped)


# --- type rules -----------------------------------------------------------------------------------


def _same(kinds: str) -> Callable[[tuple[DType, ...]], DType]:
    allowed = set(kinds.split())

    def rule(types: tuple[DType, ...]) -> DType:
        first = types[0]
        if first.kind not in allowed or first.is_half or any(t is not first for t in types):
            raise TypeError(f"needs equal {kinds} types, got {', '.join(map(repr, types))}")
        return first

    return rule


def _compare(types: tuple[DType, ...]) -> DType:
    _same("bool int uint float")(types)
    return dt.b1


def _double(types: tuple[DType, ...]) -> DType:
    if types != (dt.f64,):
        raise TypeError(f"needs f64, got {', '.join(map(repr, types))}")
    return dt.f64


def _fma_pairs_type(types: tuple[DType, ...]) -> DType:
    if types != (dt.u32, dt.u32, dt.f32):
        raise TypeError(f"needs (u32, u32, f32), got {', '.join(map(repr, types))}")
    return dt.f32


def _select(types: tuple[DType, ...]) -> DType:
    if types[0] is not dt.b1 or types[1] is not types[2]:
        raise TypeError(f"needs (b1, T, T), got {', '.join(map(repr, types))}")
    return types[1]


_NUMBER = _same("int uint float")
_FLOAT = _same("float")
_INTEGER = _same("int uint")
_BITS = _same("bool int uint")


# --- exact meanings -------------------------------------------------------------------------------

_libm = ctypes.CDLL("libm.so.6")
_libm.fma.restype = ctypes.c_double
_libm.fma.argtypes = [ctypes.c_double] * 3


def _round_to_odd_sum(x: Array, y: Array) -> Array:
    """x + y in float64, rounded to odd: rounding it once more to fewer bits is then exact."""
    s = x + y
    t = s - x
    error = (x - (s - t)) + (y - t)
    bits = s.view(np.int64)
    # An infinite or NaN sum has a NaN for its error, or its bits are even and it must not move.
    inexact = (error != 0) & (bits & 1 == 0) & np.isfinite(s)
    # To the neighbour on the side of the error: away from 0 where signs agree. No inexact sum is 0.
    away = np.where((error > 0) == (s > 0), 1, -1)
    moved: Array = bits + away * inexact
    return moved.view(np.float64)


def _fma(a: Array, b: Array, c: Array, type: DType) -> Array:
    """a * b + c with one rounding.

    float32: the product is exact in float64, the sum is rounded to odd there (Boldo, Melquiond,
    "Emulation of FMA and correctly rounded sums", IEEE TC 2008). float64: the same article's
    algorithm where neither overflow nor underflow is near, else the C library's fma, which is also
    the faster one for a few elements.
    """
    if type is dt.f32:
        wide = _round_to_odd_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))
        return wide.astype(np.float32)
    if not a.shape == b.shape == c.shape:
        shape = np.broadcast(a, b, c).shape
        a, b, c = (x if x.shape == shape else _filled(x, shape) for x in (a, b, c))
    if a.size <= FEW:
        rows = zip(a.ravel().tolist(), b.ravel().tolist(), c.ravel().tolist())
        # A zero factor makes the product exact (or, beside an infinity, the NaN that is due).
        found = [_libm.fma(*row) if row[0] and row[1] else row[0] * row[1] + row[2] for row in rows]
        return np.array(found, np.float64).reshape(a.shape)
    usual = _between(a, -450, 450) & _between(b, -450, 450) & (_between(c, -900, 900) | (c == 0))
    if usual.all():
        return _fma_of_usual(a, b, c)
    result = _fma_of_usual(*(np.where(usual, v, 1.0) for v in (a, b, c)))
    result = np.where((a == 0) | (b == 0), a * b + c, result)
    rest = ~(usual | (a == 0) | (b == 0))
    if rest.any():
        rows = zip(a[rest].tolist(), b[rest].tolist(), c[rest].tolist(), strict=True)
        result[rest] = [_libm.fma(*row) for row in rows]
    return result


def _filled(x: Array, shape: tuple[int, ...]) -> Array:
    """As `np.broadcast_to`, in a tenth of the time for few elements."""
    found = np.empty(shape, x.dtype)
    found[...] = x
    return found


FEW = 48
"""Elements for which calls of the C library cost less than the steps over arrays."""


def _between(x: Array, low: int, high: int) -> Array:
    """2**low <= |x| <= 2**high."""
    size = np.abs(x)
    return (size >= 2.0**low) & (size <= 2.0**high)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and its exact error (Knuth, TAOCP volume 2, 4.2.2)."""
    s = a + b
    moved = s - a
    return s, (a - (s - moved)) + (b - moved)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product and its exact error, by Veltkamp's splitting (Dekker, 1971)."""
    p = a * b
    a_scaled, b_scaled = a * 134217729.0, b * 134217729.0  # 2**27 + 1
    a_high, b_high = a_scaled - (a_scaled - a), b_scaled - (b_scaled - b)
    a_low, b_low = a - a_high, b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


def _fma_of_usual(a: Array, b: Array, c: Array) -> Array:
    """a * b + c in float64, the lower halves rounded to odd (Boldo, Melquiond, algorithm 5)."""
    product, product_error = _two_product(a, b)
    low, low_error = _two_sum(c, product_error)
    high, high_error = _two_sum(product, low)
    return np.asarray(high + _round_to_odd_sum(low_error, high_error))


_LAYOUT = {dt.f32: (23, 127, np.uint32), dt.f64: (52, 1023, np.uint64)}
"""Mantissa bits, exponent bias and bit type."""
SCALED = 2.0**32
"""What `scale` takes is 0 or NaN, or lies between this and its reciprocal."""


def _scale(x: Array, rounded: Array, type: DType) -> Array:
    """x * 2^n, rounded once, for `rounded` = n + 2 bias + 1.5 * 2^mantissa and an integer n with
    |n| <= 2 bias - 2. Two factors near 2^(n/2) do it: the first product is exact, or so small or
    large that the second gives 0 or infinity whatever it is."""
    mantissa, bias, bits_type = _LAYOUT[type]
    x, rounded = np.broadcast_arrays(x, rounded)
    n = rounded.astype(np.float64) - (1.5 * 2.0**mantissa + 2 * bias)
    size = np.abs(x)
    known = (size == 0) | ((size >= 1 / SCALED) & (size <= SCALED))
    if not (np.isnan(x) | (known & (n == np.rint(n)) & (np.abs(n) <= 2 * bias - 2))).all():
        raise ValueError("scale: an operand outside of its domain")
    bits = np.ascontiguousarray(rounded).view(bits_type)
    half = bits >> bits_type(1)
    first = (half << bits_type(mantissa)).view(type.numpy)
    second = ((bits - half) << bits_type(mantissa)).view(type.numpy)
    return np.asarray(x * first * second)


PAIRS_LEAST = 2.0**-56
"""The least size of a number in a pair that `fma_pairs` takes, but 0."""


def _fma_pairs(x: Array, y: Array, total: Array, type: DType) -> Array:
    """total + x.high * y.high + x.low * y.low for pairs of bfloat16 in 32 bits, a rounding for each
    product. Products of what it takes are multiples of 2^-126, and so are their sums: no result is
    subnormal, of which processors make 0."""
    small = (total != 0) & (np.abs(total) < np.finfo(np.float32).tiny)
    for bits, halves in ((x, "x"), (y, "y")):
        for half in (bits & np.uint32(0xFFFF0000), bits << np.uint32(16)):
            size = np.abs(np.ascontiguousarray(half).view(np.float32))
            if (small | ((size != 0) & (size < PAIRS_LEAST))).any():
                raise ValueError(f"fma_pairs: {halves} or the total is outside of its domain")
    for high in (True, False):
        factors = [v & np.uint32(0xFFFF0000) if high else v << np.uint32(16) for v in (x, y)]
        a, b = (np.ascontiguousarray(v).view(np.float32) for v in factors)
        total = _fma(a, b, total, type)
    return total


def multiply_tiles(sums: Array, a: Array, b: Array) -> Array:
    """The sums of `loops.PairsMultiply`: f32 [rows, columns, 16, 16], from a, bf16 [rows, steps,
    16, 32], and b, u32 [columns, 16 steps, 16]; ValueError outside of its domain."""
    b = b.reshape(b.shape[0], a.shape[1], 16, 16)
    halves = [np.ascontiguousarray(h).view(np.float32) for h in (b << 16, b & 0xFFFF0000)]
    wide = a.astype(np.float32)
    least = [_least_exponent(wide), min(_least_exponent(h) for h in halves)]
    whole = np.ldexp(np.where(np.isfinite(sums), sums, 0).astype(np.float64), 126)
    if min(least) < -126 or sum(least) < -112 or (whole != np.rint(whole)).any():
        raise ValueError("multiply_pairs: numbers outside of its domain")
    with quietly():
        for step in range(a.shape[1]):
            both = []
            for parity, half in enumerate(halves):
                part = np.zeros_like(sums)
                for pair in range(16):
                    x = wide[:, None, step, :, 2 * pair + parity, None]
                    y = half[None, :, step, pair, None, :]
                    part = _fma(x, y, part, dt.f32)
                both.append(part)
            sums = sums + (both[0] + both[1])
    return sums


def _least_exponent(x: Array) -> int:
    """The least binary exponent of the numbers that are not 0; 128 where there are none."""
    size = np.abs(x[(x != 0) & np.isfinite(x)])
    return int(np.frexp(size.min())[1]) - 1 if size.size else 128


def _minimum(a: Array, b: Array) -> Array:
    """IEEE 754-2019 minimum: NaN if either is NaN, -0 below +0."""
    if a.dtype.kind != "f":
        return np.minimum(a, b)
    least = np.where((a < b) | ((a == b) & np.signbit(a)), a, b)
    return np.where(np.isnan(a) | np.isnan(b), a + b, least)


def _maximum(a: Array, b: Array) -> Array:
    """IEEE 754-2019 maximum: NaN if either is NaN, +0 above -0."""
    if a.dtype.kind != "f":
        return np.maximum(a, b)
    most = np.where((a > b) | ((a == b) & ~np.signbit(a)), a, b)
    return np.where(np.isnan(a) | np.isnan(b), a + b, most)


def _quotient(a: Array, b: Array, type: DType) -> Array:
    """Integer division that truncates; x / 0 is 0 and the most negative / -1 wraps."""
    zero = b == 0
    minus_one = (b == -1) if type.kind == "int" else np.zeros_like(zero)
    safe = np.where(zero | minus_one, np.ones_like(b), b)
    floor = a // safe
    inexact = (floor * safe != a) & ((a < 0) != (safe < 0))
    truncated = np.where(inexact, floor + np.ones_like(floor), floor)
    return np.where(zero, np.zeros_like(a), np.where(minus_one, np.negative(a), truncated))


def _remainder(a: Array, b: Array, type: DType) -> Array:
    """Remainder of the truncating division; x rem 0 is 0."""
    return np.where(b == 0, np.zeros_like(a), a - _quotient(a, b, type) * b)


def _shift(a: Array, n: Array, type: DType, left: bool) -> Array:
    """Shift by n taken as unsigned; a count of `bits` or more gives 0 (or the sign)."""
    count = n.astype(dt.unsigned_of(type.bits).numpy)
    inside = count < type.bits
    safe = np.where(inside, count, 0).astype(a.dtype)
    if left:
        return np.where(inside, np.left_shift(a, safe), 0)
    fill = np.where(a < 0, -1, 0) if type.kind == "int" else np.zeros_like(a)
    return np.where(inside, np.right_shift(a, safe), fill)


def _mul_high(a: Array, b: Array, type: DType) -> Array:
    """The upper half of the full product."""
    if type.bits < 64:
        wide = np.int64 if type.kind == "int" else np.uint64
        return ((a.astype(wide) * b.astype(wide)) >> wide(type.bits)).astype(type.numpy)
    a, b = np.broadcast_arrays(a, b)
    pairs = zip(a.flat, b.flat, strict=True)
    high = [((int(x) * int(y)) >> 64) & (2**64 - 1) for x, y in pairs]
    return np.array(high, dtype=np.uint64).reshape(a.shape).view(type.numpy)


def _count_leading_zeros(a: Array, type: DType) -> Array:
    """Leading zero bits; `bits` for 0."""
    u = a.view(dt.unsigned_of(type.bits).numpy)
    flat = [type.bits - int(x).bit_length() for x in u.flat]
    return np.array(flat, dtype=type.numpy).reshape(a.shape)


def cast(a: Array, type: DType) -> Array:
    """Value conversion: integers wrap, floats round to nearest even, float to integer truncates
    and saturates with NaN giving 0, anything to bool tests for non-zero."""
    with quietly():
        return bare_cast(a, type)


def bare_cast(a: Array, type: DType) -> Array:
    """The same, for callers that have NumPy's warnings off."""
    source = dt.of(a.dtype)
    assert source is not None
    if type is dt.b1:
        return np.asarray(a != 0)
    if not (source.is_float and type.is_integer):
        return a.astype(type.numpy)
    wide = a.astype(np.float64)
    info = np.iinfo(type.numpy)
    low, high = float(info.min), float(info.max)  # float(2**63 - 1) is 2**63: saturates too
    inside = (wide > low) & (wide < high)
    out = np.where(inside, wide, 0).astype(type.numpy)
    out = np.where(wide >= high, type.numpy.type(info.max), out)
    return np.where(wide <= low, type.numpy.type(info.min), out).astype(type.numpy)


def bitcast(a: Array, type: DType) -> Array:
    """The same bits read as another type of the same size."""
    return np.ascontiguousarray(a).view(type.numpy).reshape(a.shape)


# --- the table ------------------------------------------------------------------------------------

_define("add", 2, _NUMBER, np.add)
_define("sub", 2, _NUMBER, np.subtract)
_define("mul", 2, _NUMBER, np.multiply)
_define("neg", 1, _NUMBER, np.negative)
_define("abs", 1, _NUMBER, np.abs)
_define("div", 2, _FLOAT, np.true_divide)
_define("sqrt", 1, _FLOAT, np.sqrt)
_define("fma", 3, _FLOAT, _fma, typed=True)
# Of a number that is then cast to float32. A target may give another neighbour of the root where
# that cast cannot tell; the domain is 0, NaN and numbers in [2^-300, 2^300].
_define("narrow_sqrt", 1, _double, np.sqrt)
# A target may have an approximate instruction for these: within 2 and 1 units in the last place.
_define("fast_div", 2, _FLOAT, np.true_divide)
_define("fast_sqrt", 1, _FLOAT, np.sqrt)
_define("scale", 2, _FLOAT, _scale, typed=True)
_define("fma_pairs", 3, _fma_pairs_type, _fma_pairs, typed=True)
_define("floor", 1, _FLOAT, np.floor)
_define("ceil", 1, _FLOAT, np.ceil)
_define("trunc", 1, _FLOAT, np.trunc)
_define("rint", 1, _FLOAT, np.rint)
_define("copysign", 2, _FLOAT, np.copysign)
_define("minimum", 2, _NUMBER, _minimum)
_define("maximum", 2, _NUMBER, _maximum)
_define("quotient", 2, _INTEGER, _quotient, typed=True)
_define("remainder", 2, _INTEGER, _remainder, typed=True)
_define("mul_high", 2, _INTEGER, _mul_high, typed=True)
_define("and", 2, _BITS, np.bitwise_and)
_define("or", 2, _BITS, np.bitwise_or)
_define("xor", 2, _BITS, np.bitwise_xor)
_define("not", 1, _BITS, np.invert)
_define("shl", 2, _INTEGER, lambda a, n, t: _shift(a, n, t, left=True), typed=True)
_define("shr", 2, _INTEGER, lambda a, n, t: _shift(a, n, t, left=False), typed=True)
_define("popcount", 1, _INTEGER, np.bitwise_count)
_define("clz", 1, _INTEGER, _count_leading_zeros, typed=True)
_define("eq", 2, _compare, np.equal)
_define("ne", 2, _compare, np.not_equal)
_define("lt", 2, _compare, np.less)
_define("le", 2, _compare, np.less_equal)
_define("gt", 2, _compare, np.greater)
_define("ge", 2, _compare, np.greater_equal)
_define("select", 3, _select, np.where)
# The value of `select`; a backend computes the second operand only when some lane needs it.
_define("rare_select", 3, _select, np.where)
