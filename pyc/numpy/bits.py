"""Numbers taken apart into their bits, and bits packed into bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.errors import DTypeError, ShapeError
from pyc.interpreter import bind1
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.numpy import choices
from pyc.numpy.core import (
    as_lines,
    broadcast,
    cast,
    constant,
    dtype_of,
    floating,
    literal,
    operands,
    part,
    shape_of,
    type_text,
    value,
)
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import (
    absolute,
    add,
    clip,
    copysign,
    imag,
    left_shift,
    multiply,
    nextafter,
    real,
    right_shift,
    subtract,
)
from pyc.numpy.logic import (
    bitwise_and,
    bitwise_or,
    equal,
    isfinite,
    less,
    logical_and,
    not_equal,
    where,
)
from pyc.numpy.manipulation import moveaxis, reshape
from pyc.numpy.pieces import pad, stack
from pyc.numpy.statistics import sum as total

__all__ = ["frexp", "ldexp", "packbits", "spacing", "unpackbits"]


def _real(name: str, x: Any) -> Any:
    x = value(x)
    if dtype_of(x).is_complex:
        raise DTypeError(f"{name}: complex numbers are not supported, got {type_text(x)}")
    return cast(x, floating(x))


def _layout(kind: DType) -> tuple[DType, int]:
    """The unsigned type of the bits of a float, and how many of them are its fraction."""
    return (dt.u64, 52) if kind is dt.f64 else (dt.u32, 23)


def _wide(x: Any) -> Any:
    """Smaller floats as float32, which holds each of them, and its fraction and exponent."""
    return x if dtype_of(x) in (dt.f32, dt.f64) else cast(x, dt.f32)


def frexp(x: Any) -> tuple[Any, Any]:
    """(fraction, exponent) with x = fraction * 2^exponent and 0.5 <= |fraction| < 1; zeros,
    infinities and NaN are their own fraction, with the exponent 0.

    x: real numbers of any shape -> two arrays of that shape
    dtype: the exponent int32, the fraction that of floats; integers and bools of 8 bits give
    float16, of 16 float32, else float64
    raises DTypeError: complex or no numbers

    NumPy: `numpy.frexp`, which leaves the exponent of infinities and NaN open.

    >>> [float(v) for v in frexp(6.0)]
    [0.75, 3.0]
    """
    x = _real("frexp", x)
    wide = _wide(x)
    kind = dtype_of(wide)
    bits, fraction = _layout(kind)
    bias = (1 << (bits.bits - fraction - 2)) - 1
    # A subnormal number is scaled into the normal range first.
    small = less(absolute(wide), float(kind.limits.smallest_normal))
    scaled = where(small, multiply(wide, 2.0 ** (fraction + 1)), wide)
    pattern = bind1("bitcast", scaled, dtype=bits)
    field = (1 << (bits.bits - fraction - 1)) - 1
    exponent = cast(bitwise_and(right_shift(pattern, fraction), field), dt.i32)
    scale = where(small, literal(fraction + 1, dt.i32), 0)
    exponent = subtract(subtract(exponent, bias - 1), scale)
    half = left_shift(literal(bias - 1, bits), fraction)
    kept = bitwise_and(pattern, ~(field << fraction) & ((1 << bits.bits) - 1))
    found = bind1("bitcast", bitwise_or(kept, half), dtype=kind)
    plain = logical_and(isfinite(wide), not_equal(wide, 0))
    return cast(where(plain, found, wide), dtype_of(x)), where(plain, exponent, literal(0, dt.i32))


def _power_of_two(n: Any, kind: DType) -> Any:
    """2^n for exponents of normal numbers."""
    bits, fraction = _layout(kind)
    bias = (1 << (bits.bits - fraction - 2)) - 1
    field = cast(add(n, bias), bits)
    return bind1("bitcast", left_shift(field, fraction), dtype=kind)


def ldexp(x1: Any, x2: Any) -> Any:
    """x1 * 2^x2, rounded once.

    x1: real numbers, x2: integers or bools, broadcast together
    dtype: that of x1 if it is of floats; integers and bools of 8 bits give float16, of 16 float32,
    else float64
    raises DTypeError: complex or no numbers, or exponents that are no integers; ShapeError: they do
    not broadcast; IntegerRangeError: an exponent beyond int64

    NumPy: `numpy.ldexp`.

    >>> float(ldexp(0.75, 3))
    6.0
    """
    x, n = _real("ldexp", x1), value(x2)
    if not dtype_of(n).is_integer and dtype_of(n) is not dt.b1:
        raise DTypeError(f"ldexp: the exponents must be integers, got {type_text(n)}")
    wide = _wide(x)
    kind = dtype_of(wide)
    limits = kind.limits
    top, digits = int(limits.maxexp) - 1, int(limits.nmant) + 1
    bottom = 1 - top
    # Beyond, every number is infinite or zero.
    n = cast(clip(n, -4 * top, 4 * top) if dtype_of(n).bits > 8 else n, dt.i64)
    shape = shape_of(operands("ldexp", cast(wide, dt.f64), cast(n, dt.f64))[0])
    wide, n = broadcast(wide, shape), broadcast(n, shape)
    # In steps of powers that are normal numbers. On the way down each step but the last keeps the
    # number clear of the subnormal ones, so that only one of them rounds.
    for _ in range(2):
        low, high = less(n, bottom), less(top, n)
        step = where(low, bottom + digits, where(high, top, 0))
        wide = multiply(wide, _power_of_two(step, kind))
        n = subtract(n, step)
    return cast(multiply(wide, _power_of_two(clip(n, bottom, top), kind)), dtype_of(x))


def spacing(x: Any) -> Any:
    """The distance from x to the next number away from 0, with the sign of x; NaN of infinities.

    x: real numbers of any shape -> the same shape
    dtype: floats keep theirs; integers and bools of 8 bits give float16, of 16 float32, else
    float64
    raises DTypeError: complex or no numbers

    NumPy: `numpy.spacing`.

    >>> float(spacing(1.0))
    2.220446049250313e-16
    """
    x = _real("spacing", x)
    found = subtract(nextafter(x, copysign(cast(np.inf, dtype_of(x)), x)), x)
    return where(equal(x, 0), absolute(found), found)


# --- bytes ----------------------------------------------------------------------------------------


def _weights(name: str, order: str) -> Any:
    """The number of each bit of a byte."""
    order = choices.text(name, "bitorder", order, ("big", "little"))
    places = np.arange(8, dtype=np.uint8)
    return constant(places[::-1].copy() if order == "big" else places)


def packbits(a: Any, /, axis: int | None = None, bitorder: str = "big") -> Any:
    """Eight elements each along an axis (of the flattened array if None), non-zero or not, as the
    bits of a uint8; zeros are added at the end.

    a: bools or integers, n along the axis -> ceil(n / 8) there; bitorder: the first one is the
    highest bit ("big") or the lowest ("little")
    raises DTypeError: neither bools nor integers, or an axis that is no integer; ArgumentError:
    another order; AxisError: no such axis

    NumPy: `numpy.packbits`.

    >>> packbits([1, 0, 0, 0, 0, 0, 0, 1, 1]).tolist()
    [129, 128]
    """
    x = asarray(a)
    if not (dtype_of(x).is_integer or dtype_of(x) is dt.b1):
        raise DTypeError(f"packbits: needs bools or integers, got {type_text(x)}")
    x, place = as_lines("packbits", x, axis)
    rows = moveaxis(cast(cast(x, dt.b1), dt.u8), place, -1)
    *around, count = shape_of(rows)
    rows = pad(rows, [(0, 0)] * len(around) + [(0, -count % 8)])
    bits = reshape(rows, (*around, -(-count // 8), 8))
    packed = cast(total(left_shift(bits, _weights("packbits", bitorder)), -1), dt.u8)
    return moveaxis(packed, -1, place)


def unpackbits(
    a: Any, /, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Any:
    """The bits of uint8 elements along an axis (of the flattened array if None), as uint8.

    a: uint8, n along the axis -> 8 n there, or `count`, zeros added where there are less; a
    negative one is how many are left out; bitorder: the highest first ("big") or the lowest
    ("little")
    raises DTypeError: no uint8, or an axis or a count that is no integer; ArgumentError: another
    order; AxisError: no such axis; ShapeError: less bits than are left out

    NumPy: `numpy.unpackbits`.

    >>> unpackbits(np.array([129], np.uint8)).tolist()
    [1, 0, 0, 0, 0, 0, 0, 1]
    """
    x = asarray(a)
    if dtype_of(x) is not dt.u8:
        raise DTypeError(f"unpackbits: needs uint8, got {type_text(x)}")
    x, place = as_lines("unpackbits", x, axis)
    rows = moveaxis(x, place, -1)
    *around, size = shape_of(rows)
    apart = right_shift(reshape(rows, (*around, size, 1)), _weights("unpackbits", bitorder))
    bits = reshape(bitwise_and(apart, literal(1, dt.u8)), (*around, size * 8))
    if count is not None:
        wanted = choices.integer("unpackbits", "`count`", count)
        wanted += 0 if wanted >= 0 else size * 8
        if wanted < 0:
            raise ShapeError(f"unpackbits: {count} leaves out more than the {size * 8} bits")
        last = len(around)
        bits = part(bits, last, 0, min(wanted, size * 8))
        bits = pad(bits, [(0, 0)] * last + [(0, max(wanted - size * 8, 0))])
    return moveaxis(bits, -1, place)


def reread(x: Any, kind: DType) -> Any:
    """The bits of the last axis as numbers of another size, the lowest first: (..., n) ->
    (..., n * size // other size).

    raises ShapeError: no axis, or one that does not divide; DTypeError: bools
    """
    own = dtype_of(x)
    shape = shape_of(x)
    if dt.b1 in (own, kind):
        raise DTypeError(f"view: bools are not read as other types, {type_text(x)} as {kind}")
    if not shape:
        raise ShapeError(f"view: {type_text(x)} has no axis for numbers of another size, {kind}")
    if own.is_complex:
        pairs = stack([real(x), imag(x)], len(shape))
        whole = reshape(pairs, (*shape[:-1], 2 * shape[-1]))
        return whole if own.real is kind else reread(whole, kind)
    if kind.is_complex:
        halves = x if own is kind.real else reread(x, kind.real)
        count = shape_of(halves)[-1]
        if count % 2:
            raise ShapeError(f"view: {count} numbers are not pairs, {type_text(x)} as {kind}")
        pairs = reshape(halves, (*shape[:-1], count // 2, 2))
        first, second = (
            reshape(part(pairs, len(shape), k, 1), (*shape[:-1], count // 2)) for k in (0, 1)
        )
        return bind1("complex", first, second)
    bits = bind1("bitcast", x, dtype=dt.unsigned_of(own.bits))
    if own.bits == kind.bits:
        return bind1("bitcast", bits, dtype=kind)
    if own.bits > kind.bits:
        return _taken_apart(bits, kind)
    return _put_together(bits, kind)


def _taken_apart(bits: Any, kind: DType) -> Any:
    """Each number as several smaller ones."""
    shape, own = shape_of(bits), dtype_of(bits)
    narrow = dt.unsigned_of(kind.bits)
    parts = [
        cast(bitwise_and(right_shift(bits, k), literal((1 << kind.bits) - 1, own)), narrow)
        for k in range(0, own.bits, kind.bits)
    ]
    found = reshape(stack(parts, len(shape)), (*shape[:-1], shape[-1] * len(parts)))
    return bind1("bitcast", found, dtype=kind)


def _put_together(bits: Any, kind: DType) -> Any:
    """Several numbers as one larger one."""
    shape, own = shape_of(bits), dtype_of(bits)
    count = kind.bits // own.bits
    if shape[-1] % count:
        raise ShapeError(
            f"view: the last axis of {type_text(bits)} does not divide into numbers of {kind}"
        )
    wide = dt.unsigned_of(kind.bits)
    groups = reshape(bits, (*shape[:-1], shape[-1] // count, count))
    found: Any = None
    for k in range(count):
        each = cast(reshape(part(groups, len(shape), k, 1), shape_of(groups)[:-1]), wide)
        moved = left_shift(each, k * own.bits)
        found = moved if found is None else bitwise_or(found, moved)
    return bind1("bitcast", found, dtype=kind)
