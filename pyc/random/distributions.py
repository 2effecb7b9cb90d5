"""Numbers of a distribution, each from bits of its own: `bits`, `uniform`, `normal` and their kin.

Types of 16 bits are computed in float32 and rounded once. A *word* is what an element is made of:
32 random bits, 64 for types of 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.compositions import public, run
from pyc.errors import ArgumentError
from pyc.interpreter import bind1
from pyc.ir import dtype as dt
from pyc.random.arguments import REAL, WHOLE, dtype_of, is_known, key_of, parameter, shape_of
from pyc.random.generator import blocks, blocks_of, drawn, pairs, together

DIGITS = {dt.f16: 11, dt.bf16: 8, dt.f32: 24, dt.f64: 53}
"""Types of real numbers, and the digits of their mantissas."""
PARTS = {dt.c64: dt.f32, dt.c128: dt.f64}
"""Types of complex numbers, and those of their parts."""
UNSIGNED = (dt.u8, dt.u16, dt.u32, dt.u64)
INTEGERS = (dt.i8, dt.i16, dt.i32, dt.i64, *UNSIGNED)

Shape = tuple[int, ...]
Sizes = int | Sequence[int]
"""What users give as a shape."""


@public
def bits(key: Any, shape: Sizes = (), dtype: Any = np.uint32) -> Any:
    """Random bits: unsigned integers, each value as likely as any other. NumPy:
    `Generator.integers` over the whole range of a type.

    key: (2,) uint32; shape: of the result; dtype: uint8, uint16, uint32 or uint64
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or a shape that is not of
    integers; ShapeError: a negative extent
    """
    kind = dtype_of("bits", dtype, dt.u32, UNSIGNED)
    return run("random.bits", _bits, key_of("bits", key), fixed=(shape_of("bits", shape), kind))


@public
def uniform(
    key: Any, shape: Sizes = (), dtype: Any = float, minval: Any = 0.0, maxval: Any = 1.0
) -> Any:
    """Real numbers from [minval, maxval): multiples of 2**-53 from [0, 1), scaled and rounded to
    values of the interval. Of 2**-24 for float32, 2**-11 for float16, 2**-8 for bfloat16. NumPy:
    `Generator.uniform`.

    key: (2,) uint32; shape: of the result; dtype: float16, bfloat16, float32 or float64
    minval, maxval: finite, broadcast to `shape`; where maxval <= minval the result is minval
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or bounds of complex numbers;
    ShapeError: what does not broadcast to `shape`, or a negative extent
    """
    kind = dtype_of("uniform", dtype, dt.f64, DIGITS)
    sizes = shape_of("uniform", shape)
    key = key_of("uniform", key)
    if _is_number(minval, 0) and _is_number(maxval, 1):
        return run("random.uniform", _uniform, key, fixed=(sizes, kind))
    low = parameter("uniform", "minval", minval, REAL, sizes)
    high = parameter("uniform", "maxval", maxval, REAL, sizes)
    return run("random.uniform", _between, key, low, high, fixed=(sizes, kind))


@public
def normal(key: Any, shape: Sizes = (), dtype: Any = float) -> Any:
    """Numbers of the standard normal distribution, by the polar form of Box and Muller ("A note on
    the generation of random normal deviates", 1958); none is beyond 9.5, or 6.8 for types other
    than float64. For complex types the two parts are independent, each with variance 1/2. NumPy:
    `Generator.standard_normal`.

    key: (2,) uint32; shape: of the result; dtype: float16, bfloat16, float32, float64, complex64 or
    complex128
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or a shape that is not of
    integers; ShapeError: a negative extent
    """
    kind = dtype_of("normal", dtype, dt.f64, {**DIGITS, **PARTS})
    return run(
        "random.normal",
        normal_numbers,
        key_of("normal", key),
        fixed=(shape_of("normal", shape), kind),
    )


@public
def exponential(key: Any, shape: Sizes = (), dtype: Any = float) -> Any:
    """Real numbers of the exponential distribution with mean 1, zero or greater, by inversion.
    NumPy: `Generator.standard_exponential`.

    key: (2,) uint32; shape: of the result; dtype: float16, bfloat16, float32 or float64
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or a shape that is not of
    integers; ShapeError: a negative extent
    """
    kind = dtype_of("exponential", dtype, dt.f64, DIGITS)
    fixed = shape_of("exponential", shape), kind
    return run("random.exponential", _exponential, key_of("exponential", key), fixed=fixed)


@public
def gumbel(key: Any, shape: Sizes = (), dtype: Any = float) -> Any:
    """Real numbers of the standard Gumbel distribution, finite, by inversion. NumPy:
    `Generator.gumbel`.

    key: (2,) uint32; shape: of the result; dtype: float16, bfloat16, float32 or float64
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or a shape that is not of
    integers; ShapeError: a negative extent
    """
    kind = dtype_of("gumbel", dtype, dt.f64, DIGITS)
    return run(
        "random.gumbel",
        gumbel_numbers,
        key_of("gumbel", key),
        fixed=(shape_of("gumbel", shape), kind),
    )


@public
def bernoulli(key: Any, p: Any = 0.5, shape: Sizes | None = None) -> Any:
    """Bools that are True with probability `p`: never for 0, always for 1.

    key: (2,) uint32; p: real, broadcasts to `shape`, which is the shape of `p` if it is None ->
    bool
    raises ArgumentError: `key` is no key; DTypeError: complex `p`; ShapeError: `p` does not
    broadcast to `shape`, or a negative extent
    """
    key = key_of("bernoulli", key)
    sizes = pnp.asarray(p).shape if shape is None else shape_of("bernoulli", shape)
    return run(
        "random.bernoulli",
        _bernoulli,
        key,
        parameter("bernoulli", "p", p, REAL, sizes),
        fixed=(sizes,),
    )


@public
def randint(key: Any, shape: Sizes, minval: Any, maxval: Any, dtype: Any = int) -> Any:
    """Integers from [minval, maxval). The probability of each is the same up to a factor of 1 +
    2**-64; of 1 + 2**-32 for types of 32 bits and less. NumPy: `Generator.integers`.

    key: (2,) uint32; shape: of the result; dtype: an integer type
    minval, maxval: integers, broadcast to `shape`. Numbers are values of the dtype, maxval also one
    more than the greatest; arrays of other types are limited to these. Where maxval <= minval the
    result is minval.
    raises ArgumentError: `key` is no key, or a number beyond the dtype; DTypeError: another dtype,
    or bounds that are no integers; ShapeError: bounds that do not broadcast, or a negative extent
    """
    kind = dtype_of("randint", dtype, dt.i64, INTEGERS)
    sizes = shape_of("randint", shape)
    low, _ = _end("minval", minval, kind, sizes)
    high, beyond = _end("maxval", maxval, kind, sizes)
    return run(
        "random.randint", _randint, key_of("randint", key), low, high, beyond, fixed=(sizes, kind)
    )


def _is_number(x: Any, value: int) -> bool:
    """Whether `x` is a number of Python's with that value, not a traced one."""
    return type(x) in (int, float) and x == value


def _end(argument: str, x: Any, kind: dt.DType, shape: Shape) -> tuple[Any, Any]:
    """An end of a range, and whether one more is meant: the number beyond the greatest of a type
    has no value of it."""
    if not is_known(x):
        return parameter("randint", argument, x, WHOLE, shape), np.bool_(False)
    limits = np.iinfo(kind.numpy)
    most = int(limits.max) + (argument == "maxval")
    if not limits.min <= x <= most:
        raise ArgumentError(
            f"random.randint: `{argument}` is {x}, beyond {kind.name}",
            fix=f"It can be from {limits.min} to {most}; or give another dtype.",
        )
    beyond = x > limits.max
    return kind.numpy.type(int(x) - beyond), np.bool_(beyond)


# --- programs -------------------------------------------------------------------------------------


def _bits(key: Any, shape: Shape, kind: dt.DType) -> Any:
    return drawn(key, shape, kind is dt.u64, lambda word: word.astype(kind.numpy))


def _real(kind: dt.DType) -> Any:
    """The type that numbers are computed in."""
    return np.float64 if kind is dt.f64 else np.float32


def _steps(word: Any, kind: dt.DType) -> Any:
    """A number from [0, 1): the leading bits of a word."""
    digits, wide = DIGITS[kind], 64 if kind is dt.f64 else 32
    real = _real(kind)
    return (word >> word.dtype.type(wide - digits)).astype(real) * real(2.0**-digits)


def fraction(word: Any, real: Any) -> Any:
    """A number from (0, 1], as fine near zero as there are bits: what is greater is rounded."""
    bits = 64 if real is np.float64 else 32
    return (word.astype(real) + real(0.5)) * real(2.0**-bits)


def _uniform(key: Any, shape: Shape, kind: dt.DType) -> Any:
    return drawn(key, shape, kind is dt.f64, lambda w: _steps(w, kind).astype(kind.numpy))


def _between(key: Any, low: Any, high: Any, shape: Shape, kind: dt.DType) -> Any:
    real = _real(kind)
    part = drawn(key, shape, kind is dt.f64, lambda word: _steps(word, kind))
    low, high = low.astype(kind.numpy), high.astype(kind.numpy)
    # The difference of the two may be too large for the type, their shares are not.
    found = low.astype(real) * (real(1) - part) + high.astype(real) * part
    # Rounding may have reached the upper end.
    inside = pnp.minimum(found.astype(kind.numpy), pnp.nextafter(high, low))
    return pnp.maximum(inside, low)


def normal_numbers(key: Any, shape: Shape, kind: dt.DType) -> Any:
    """What `normal` gives."""
    part = PARTS.get(kind, kind)
    wide, split = part is dt.f64, kind is part
    words: Any = blocks(key, blocks_of(shape, (1 if wide else 2) * (1 + split)))
    words = pairs(words) if wide else words
    lanes: list[Any] = []
    for first, second in zip(words[::2], words[1::2], strict=True):
        x, y = _polar(first, second, _real(part), 1 + split)
        lanes += (x.astype(part.numpy), y.astype(part.numpy)) if split else [bind1("complex", x, y)]
    return together(lanes, shape)


def _polar(first: Any, second: Any, real: Any, factor: int) -> tuple[Any, Any]:
    """Two independent normal numbers, of variance factor / 2."""
    radius = pnp.sqrt(real(-factor) * pnp.log(fraction(first, real)))
    turn = fraction(second, real) * real(2 * pi)
    return radius * pnp.cos(turn), radius * pnp.sin(turn)


def _exponential(key: Any, shape: Shape, kind: dt.DType) -> Any:
    def made(word: Any) -> Any:
        return pnp.abs(pnp.log(fraction(word, _real(kind)))).astype(kind.numpy)

    return drawn(key, shape, kind is dt.f64, made)


def gumbel_numbers(key: Any, shape: Shape, kind: dt.DType) -> Any:
    """The negative logarithm of exponential numbers. These are as fine near zero as there are bits,
    so that the greatest results, which decide in `categorical`, are as rare as they should be."""
    real = _real(kind)
    below_one = np.nextafter(real(1), real(0))

    def made(word: Any) -> Any:
        exponential = pnp.abs(pnp.log1p(-pnp.minimum(fraction(word, real), below_one)))
        return (-pnp.log(exponential)).astype(kind.numpy)

    return drawn(key, shape, kind is dt.f64, made)


def _bernoulli(key: Any, p: Any, shape: Shape) -> Any:
    return _uniform(key, shape, dt.f64) < p.astype(np.float64)


def _randint(key: Any, low: Any, high: Any, beyond: Any, shape: Shape, kind: dt.DType) -> Any:
    limits = np.iinfo(kind.numpy)
    least, most = (kind.numpy.type(x) for x in (limits.min, limits.max))

    def limited(x: Any) -> Any:
        inside = pnp.where(x > limits.max, most, x.astype(kind.numpy))
        return pnp.where(x < limits.min, least, inside)

    # An end beyond the type is its least value, modulo 2**bits; so is the whole range 0.
    beyond = beyond | (high > limits.max)
    low, high = limited(low), pnp.where(beyond, least, limited(high))
    empty = ~beyond & (high <= low)
    span = (high - low).astype(f"u{kind.itemsize}").astype(np.uint64)
    if kind.bits == 64:
        found = _scaled(key, shape, pnp.where(empty, np.uint64(1), span))
    else:
        whole = np.uint64(1 << kind.bits)
        span = pnp.where(empty, np.uint64(1), pnp.where(span == 0, whole, span))
        found = below(key, shape, span)
    return (low.astype(np.uint64) + found).astype(kind.numpy)


def below(key: Any, shape: Shape, span: Any) -> Any:
    """Integers from [0, span), `uint64`: the upper word of 64 bits times the span (Lemire, "Fast
    random integer generation in an interval", 2019, without its rejection). The probability of each
    is the same up to a factor of 1 + span / 2**64."""
    return _upper(drawn(key, shape, True), span)


def _scaled(key: Any, shape: Shape, span: Any) -> Any:
    """As `below`, with 128 bits for each number. A span of 0 stands for 2**64."""
    first, second = (x.reshape(shape) for x in pairs(blocks(key, blocks_of(shape, 1))))
    lower = first * span
    carry = lower + _upper(second, span) < lower
    found = _upper(first, span) + carry.astype(np.uint64)
    return pnp.where(span == 0, first, found)


def _upper(a: Any, b: Any) -> Any:
    """The upper 64 bits of the product of two `uint64`."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a0, a1, b0, b1 = a & mask, a >> half, b & mask, b >> half
    middle = a1 * b0 + (a0 * b0 >> half)
    other = a0 * b1 + (middle & mask)
    return a1 * b1 + (middle >> half) + (other >> half)
