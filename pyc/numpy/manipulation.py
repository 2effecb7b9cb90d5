"""Changing shape and order: reshaping, transposing, joining, splitting, repeating.

All of these move data by index maps that fuse into what reads the result: none costs a copy by
itself.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from math import isfinite, prod
from typing import Any

import numpy as np

from pyc.array import Array
from pyc.errors import (
    ArgumentError,
    ConcretizationError,
    DTypeError,
    ShapeError,
    UnsupportedOpError,
)
from pyc.forks import load
from pyc.interpreter import bind1, current, is_tracing, type_of
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.numpy.core import (
    as_lines,
    axes_of,
    axis_of,
    broadcast,
    broadcast_shape,
    cast,
    constant,
    converted,
    dtype_of,
    integer,
    literal,
    operands,
    part,
    possible,
    reduced_axes,
    result_dtype,
    reverse,
    shape_of,
    strong,
    structural,
    to_dtype,
    to_shape,
    type_text,
    value,
)
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import remainder


def reshape(
    x: Any,
    shape: Any = None,
    order: str | None = "C",
    *,
    newshape: Any = None,
    copy: bool | None = None,
) -> Any:
    """`x` under another shape; one dimension may be -1.

    order: elements are read and placed with the last axis running fastest ("C") or the first one
    ("F"); "A" is "F" for NumPy's arrays outside of a trace that lie so in memory
    copy: True for an array of its own, False for an error where a NumPy array needs a copy
    raises ShapeError: the shape is of another number of elements; ArgumentError: no copy may be
    made, and one is needed, or another order; UnsupportedOpError: "A" of a traced array of several
    axes

    NumPy: `numpy.reshape`.

    >>> reshape([1, 2, 3, 4], (2, 2))
    array([[1, 2],
           [3, 4]])
    """
    x = asarray(x)
    if by_columns("reshape", x, order):
        turned = permute_dims(x, None)
        found = permute_dims(_reshaped(turned, _sizes(x, shape, newshape)[::-1], None), None)
    else:
        found = _reshaped(x, shape, newshape)
    if copy:
        return current().copy(found)
    if copy is False and type(x) is np.ndarray and not is_tracing():
        try:
            layout: Any = order or "C"
            return np.reshape(x, shape_of(found), layout, copy=False)
        except ValueError:
            raise ArgumentError("reshape: `copy=False`, and this array needs a copy") from None
    return found


def by_columns(name: str, x: Any, order: Any) -> bool:
    """Whether an order of elements is that of columns. Where arrays lie is known of NumPy's outside
    of a trace only.

    raises ArgumentError: no order of NumPy's; UnsupportedOpError: one that depends on memory
    """
    if order in ("C", "c", None) or order in ("F", "f"):
        return order in ("F", "f")
    if order not in ("A", "a", "K", "k"):
        raise ArgumentError(f"{name}: order must be one of 'C', 'F', 'A' and 'K', got {order!r}")
    if type(x) is np.ndarray and not is_tracing():
        if x.flags.c_contiguous or x.flags.f_contiguous or order in ("A", "a"):
            return x.flags.fnc
    elif sum(n != 1 for n in shape_of(x)) < 2 or type(x) is Array:
        return False
    raise UnsupportedOpError(
        f"{name}: order={order!r} is the order of memory, which the values do not tell",
        fix="Write `order='C'` for rows, `order='F'` for columns.",
    )


def _reshaped(x: Any, shape: Any, newshape: Any) -> Any:
    return bind1("reshape", x, shape=_sizes(x, shape, newshape))


def _sizes(x: Any, shape: Any, newshape: Any) -> tuple[int, ...]:
    """The shape that is asked for, with no -1."""
    wanted = shape if shape is not None else newshape
    wanted = structural(wanted) if getattr(wanted, "ndim", 0) else wanted
    items = list(wanted) if isinstance(wanted, (tuple, list)) else [wanted]
    sizes = [integer("reshape", "a size", n) for n in items]
    total = prod(shape_of(x))
    if sizes.count(-1) > 1:
        raise ShapeError(f"reshape: only one dimension may be -1, got {tuple(sizes)}")
    if -1 in sizes:
        known = prod(n for n in sizes if n != -1)
        if known == 0 or total % known:
            raise ShapeError(f"reshape: {type_text(x)} does not fit shape {tuple(sizes)}")
        sizes[sizes.index(-1)] = total // known
    if prod(sizes) != total or any(n < 0 for n in sizes):
        raise ShapeError(
            f"reshape: {type_text(x)} has {total} elements, not those of {tuple(sizes)}"
        )
    return possible("reshape", tuple(sizes))


def ravel(x: Any, order: str | None = "C") -> Any:
    """`x` as one line. order: see `reshape`; "K" as "A".

    NumPy: `numpy.ravel`.

    >>> ravel([[1, 2], [3, 4]])
    array([1, 2, 3, 4])
    """
    return reshape(x, (-1,), order)


def permute_dims(x: Any, axes: Any = None) -> Any:
    """`x` with its axes in the order `axes` (reversed if None).

    NumPy: `numpy.permute_dims`.

    >>> permute_dims([[[1, 2]]], (2, 0, 1)).shape
    (2, 1, 1)
    """
    x = asarray(x)
    rank = len(shape_of(x))
    order = (
        tuple(range(rank))[::-1]
        if axes is None
        else tuple(axis_of("transpose", a, rank) for a in axes)
    )
    if sorted(order) != list(range(rank)):
        raise ShapeError(f"transpose: {axes} is not a permutation of the axes of {type_text(x)}")
    return bind1("transpose", x, axes=order)


transpose = permute_dims


def matrix_transpose(x: Any) -> Any:
    """`x` with its last two axes swapped.

    NumPy: `numpy.matrix_transpose`.

    >>> matrix_transpose([[1, 2], [3, 4]])
    array([[1, 3],
           [2, 4]])
    """
    x = asarray(x)
    if len(shape_of(x)) < 2:
        raise ShapeError(f"matrix_transpose: needs rank 2 or more, got {type_text(x)}")
    return swapaxes(x, -1, -2)


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """`x` with two axes exchanged.

    NumPy: `numpy.swapaxes`.

    >>> swapaxes([[[1, 2]]], 0, 2).shape
    (2, 1, 1)
    """
    x = asarray(x)
    order = list(range(len(shape_of(x))))
    a, b = (axis_of("swapaxes", k, len(order)) for k in (axis1, axis2))
    order[a], order[b] = order[b], order[a]
    return permute_dims(x, order)


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """`x` with some axes at new places, the others in order.

    NumPy: `numpy.moveaxis`.

    >>> moveaxis([[[1, 2]]], 0, -1).shape
    (1, 2, 1)
    """
    x = asarray(x)
    rank = len(shape_of(x))
    start = source if isinstance(source, (tuple, list)) else (source,)
    end = destination if isinstance(destination, (tuple, list)) else (destination,)
    froms = [axis_of("moveaxis", a, rank) for a in start]
    tos = [axis_of("moveaxis", a, rank) for a in end]
    if len(froms) != len(tos) or len(set(froms)) != len(froms) or len(set(tos)) != len(tos):
        raise ShapeError(f"moveaxis: {source} and {destination} must be as many distinct axes")
    order = [k for k in range(rank) if k not in froms]
    for to, axis in sorted(zip(tos, froms, strict=True)):
        order.insert(to, axis)
    return permute_dims(x, order)


def squeeze(x: Any, axis: Any = None) -> Any:
    """`x` without axes of extent 1 (all of them, or those given).

    NumPy: `numpy.squeeze`.

    >>> squeeze([[1, 2]])
    array([1, 2])
    """
    x = asarray(x)
    shape = shape_of(x)
    gone = (
        tuple(k for k, n in enumerate(shape) if n == 1)
        if axis is None
        else reduced_axes("squeeze", axis, len(shape))
    )
    if any(shape[k] != 1 for k in gone):
        raise ShapeError(f"squeeze: axis {axis} of {type_text(x)} is not of extent 1")
    return reshape(x, tuple(n for k, n in enumerate(shape) if k not in gone))


def rollaxis(x: Any, axis: int, start: int = 0) -> Any:
    """`x` with an axis moved to stand before axis `start`.

    NumPy: `numpy.rollaxis`.

    >>> rollaxis([[[1, 2]]], 2).shape
    (2, 1, 1)
    """
    rank = len(shape_of(asarray(x)))
    place = axis_of("rollaxis", axis, rank)
    before = rank if start == rank else axis_of("rollaxis", start, rank)
    return moveaxis(x, place, before - (place < before))


def expand_dims(x: Any, axis: Any = 0) -> Any:
    """`x` with new axes of extent 1 at the places `axis` of the result.

    NumPy: `numpy.expand_dims`.

    >>> expand_dims([1, 2], axis=1)
    array([[1],
           [2]])
    """
    x = asarray(x)
    shape = shape_of(x)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = axes_of("expand_dims", tuple(given), len(shape) + len(given))
    rest = iter(shape)
    wide = [1 if k in places else next(rest) for k in range(len(shape) + len(given))]
    return reshape(x, tuple(wide))


def atleast_1d(*xs: Any) -> Any:
    """Arguments of rank 1 or more; a tuple if there are several.

    NumPy: `numpy.atleast_1d`.

    >>> atleast_1d(5)
    array([5])
    """
    found = tuple(reshape(x, (1,)) if shape_of(asarray(x)) == () else asarray(x) for x in xs)
    return found[0] if len(found) == 1 else found


def atleast_2d(*xs: Any) -> Any:
    """Arguments of rank 2 or more, new axes in front; a tuple if there are several.

    NumPy: `numpy.atleast_2d`.

    >>> atleast_2d([1, 2])
    array([[1, 2]])
    """
    found = []
    for x in map(asarray, xs):
        shape = shape_of(x)
        found.append(reshape(x, (1,) * (2 - len(shape)) + shape) if len(shape) < 2 else x)
    return found[0] if len(found) == 1 else tuple(found)


def atleast_3d(*xs: Any) -> Any:
    """Arguments of rank 3 or more: a line is (1, n, 1), a matrix (m, n, 1); a tuple if there are
    several.

    NumPy: `numpy.atleast_3d`.

    >>> atleast_3d([1, 2]).shape
    (1, 2, 1)
    """
    found = []
    for x in map(asarray, xs):
        shape = shape_of(x)
        wide = {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}.get(len(shape), shape)
        found.append(reshape(x, wide))
    return found[0] if len(found) == 1 else tuple(found)


def concat(
    arrays: Sequence[Any], axis: int | None = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """Arrays one after the other along an axis (each flattened first if it is None), in their
    common type or `dtype`. DTypeError: a conversion that `casting` rules out.

    NumPy: `numpy.concat`.

    >>> concat(([1, 2], [3]))
    array([1, 2, 3])
    """
    if not arrays:
        raise ShapeError("concatenate: needs at least one array")
    items = [asarray(x) for x in arrays]
    if axis is None:
        items, axis = [ravel(x) for x in items], 0
    kind = result_dtype(*items) if dtype is None else _allowed(items, dtype, casting)
    rank = len(shape_of(items[0]))
    if rank == 0:
        raise ShapeError("concatenate: arrays of rank 0 have no axis; use stack")
    place = axis_of("concatenate", axis, rank)
    first = shape_of(items[0])
    for x in items[1:]:
        shape = shape_of(x)
        fits = len(shape) == rank and all(
            a == b for k, (a, b) in enumerate(zip(shape, first, strict=True)) if k != place
        )
        if not fits:
            found = ", ".join(map(type_text, items))
            raise ShapeError(f"concatenate: shapes must agree but along axis {place}: {found}")
    same = [converted(x, kind) for x in items]
    return same[0] if len(same) == 1 else bind1("concatenate", *same, axis=place)


concatenate = concat


def _allowed(items: Sequence[Any], dtype: Any, casting: Any) -> DType:
    """A type that all items may be converted to."""
    kind = to_dtype(dtype)
    for x in items:
        if not np.can_cast(dtype_of(x).numpy, kind.numpy, casting):
            raise DTypeError(
                f"concatenate: casting={casting!r} does not allow {dtype_of(x)} to {kind}",
                fix="Write `casting='unsafe'` if that is meant.",
            )
    return kind


def stack(
    arrays: Sequence[Any], axis: int = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """Arrays of one shape along a new axis. dtype, casting: as in `concat`.

    NumPy: `numpy.stack`.

    >>> stack(([1, 2], [3, 4]), axis=1)
    array([[1, 3],
           [2, 4]])
    """
    items = [asarray(x) for x in arrays]
    if not items:
        raise ShapeError("stack: needs at least one array")
    if len({shape_of(x) for x in items}) > 1:
        raise ShapeError(f"stack: shapes differ: {', '.join(map(type_text, items))}")
    return concat([expand_dims(x, axis) for x in items], axis, dtype=dtype, casting=casting)


def hstack(arrays: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays side by side: along axis 1, or 0 for lines. dtype, casting: as in `concat`.

    NumPy: `numpy.hstack`.

    >>> hstack(([1, 2], [3]))
    array([1, 2, 3])
    """
    items = [atleast_1d(x) for x in arrays]
    axis = 0 if not items or len(shape_of(items[0])) == 1 else 1
    return concat(items, axis, dtype=dtype, casting=casting)


def vstack(arrays: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays one below the other; lines become rows. dtype, casting: as in `concat`.

    NumPy: `numpy.vstack`.

    >>> vstack(([1, 2], [3, 4]))
    array([[1, 2],
           [3, 4]])
    """
    return concat([atleast_2d(x) for x in arrays], 0, dtype=dtype, casting=casting)


def dstack(arrays: Sequence[Any]) -> Any:
    """Arrays one behind the other: along axis 2; lines and matrices get the axes they lack.

    NumPy: `numpy.dstack`.

    >>> dstack(([1, 2], [3, 4]))
    array([[[1, 3],
            [2, 4]]])
    """
    return concat([atleast_3d(x) for x in arrays], 2)


def append(x: Any, values: Any, axis: int | None = None) -> Any:
    """`concat` of two arrays.

    NumPy: `numpy.append`.

    >>> append([1, 2], [3, 4])
    array([1, 2, 3, 4])
    """
    return concat([x, values], axis)


def column_stack(arrays: Sequence[Any]) -> Any:
    """Lines as the columns of a matrix.

    NumPy: `numpy.column_stack`.

    >>> column_stack(([1, 2], [3, 4]))
    array([[1, 3],
           [2, 4]])
    """
    items = [asarray(x) for x in arrays]
    columns = [reshape(x, (-1, 1)) if len(shape_of(x)) < 2 else x for x in items]
    return concat(columns, 1)


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices of `x` along an axis.

    NumPy: `numpy.unstack`.

    >>> unstack([[1, 2], [3, 4]])
    (array([1, 2]), array([3, 4]))
    """
    x = moveaxis(x, axis, 0)
    shape = shape_of(x)
    return tuple(reshape(part(x, 0, k, 1), shape[1:]) for k in range(shape[0]))


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """`x` in equal parts, or cut before the given places.

    NumPy: `numpy.split`.

    >>> split([1, 2, 3, 4], 2)
    [array([1, 2]), array([3, 4])]
    """
    x = asarray(x)
    shape = shape_of(x)
    place = axis_of("split", axis, len(shape))
    indices_or_sections = structural(indices_or_sections)
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1 or shape[place] % indices_or_sections:
            raise ShapeError(
                f"split: axis {place} of {type_text(x)} does not divide into {indices_or_sections}"
            )
        size = shape[place] // indices_or_sections
        cuts = [size * k for k in range(1, indices_or_sections)]
    else:
        cuts = _places_to_cut("split", indices_or_sections)
    return _cut(x, place, cuts)


def _places_to_cut(name: str, places: Any) -> list[int]:
    try:
        return [operator.index(c) for c in places]
    except TypeError:
        raise DTypeError(
            f"{name}: an array is cut before integers, or into a number of parts, got {places!r}"
        ) from None


def _cut(x: Any, axis: int, cuts: list[int]) -> list[Any]:
    n = shape_of(x)[axis]
    bounds = [0, *(min(max(c if c >= 0 else c + n, 0), n) for c in cuts), n]
    return [part(x, axis, a, max(b - a, 0)) for a, b in pairwise(bounds)]


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """`x` in parts as equal as possible, the longer ones first; or cut before the given places.

    NumPy: `numpy.array_split`.

    >>> array_split([1, 2, 3, 4, 5], 2)
    [array([1, 2, 3]), array([4, 5])]
    """
    x = asarray(x)
    place = axis_of("array_split", axis, len(shape_of(x)))
    indices_or_sections = structural(indices_or_sections)
    if not isinstance(indices_or_sections, int):
        return _cut(x, place, _places_to_cut("array_split", indices_or_sections))
    sections = indices_or_sections
    if sections < 1:
        raise ShapeError(f"array_split: the number of parts must be positive, got {sections}")
    size, longer = divmod(shape_of(x)[place], sections)
    sizes = [size + (k < longer) for k in range(sections)]
    return _cut(x, place, [int(c) for c in np.cumsum(sizes)[:-1]])


def flip(x: Any, axis: Any = None) -> Any:
    """`x` in reverse order along some axes (all if None).

    NumPy: `numpy.flip`.

    >>> flip([1, 2, 3])
    array([3, 2, 1])
    """
    x = asarray(x)
    shape = shape_of(x)
    axes = axes_of("flip", axis, len(shape))
    return x if 0 in shape else reverse(x, axes)


def flipud(x: Any) -> Any:
    """`flip` along axis 0.

    NumPy: `numpy.flipud`.

    >>> flipud([[1, 2], [3, 4]])
    array([[3, 4],
           [1, 2]])
    """
    return flip(x, 0)


def fliplr(x: Any) -> Any:
    """`flip` along axis 1.

    NumPy: `numpy.fliplr`.

    >>> fliplr([[1, 2], [3, 4]])
    array([[2, 1],
           [4, 3]])
    """
    return flip(x, 1)


def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """`x` moved by `shift` places along an axis, what falls off coming in at the other end.

    shift: an integer, or one for each axis; floats are truncated, as in NumPy. It may be traced

    NumPy: `numpy.roll`.

    >>> roll([1, 2, 3], 1)
    array([3, 1, 2])
    """
    x, shift = asarray(x), structural(shift)
    if getattr(shift, "ndim", 0) == 1:
        shift = unstack(shift)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), shape_of(x))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,)
    count = broadcast_shape("roll", [(len(axes),), (len(shifts),)])[0]
    pairs = zip(
        axes if len(axes) == count else (*axes,) * count,
        shifts if len(shifts) == count else (*shifts,) * count,
        strict=True,
    )
    for a, s in pairs:
        place = axis_of("roll", a, len(shape_of(x)))
        n = shape_of(x)[place]
        if dtype_of(value(s)).is_complex or shape_of(value(s)):
            raise DTypeError(f"roll: a shift must be an integer, got {s!r}")
        if hasattr(s, "needed"):
            x = _rolled(x, s, place) if n else x
            continue
        by = _whole_shift(s) % n if n else 0
        if by:
            x = concat([part(x, place, n - by, by), part(x, place, 0, n - by)], place)
    return x


def _whole_shift(shift: Any) -> int:
    """A shift, truncated."""
    if not isfinite(shift):
        raise ArgumentError(
            f"roll: a shift must be a number of places, got {shift!r}", fix="Give an integer."
        )
    return int(shift)


def _rolled(x: Any, shift: Any, axis: int) -> Any:
    """`roll` by a traced number, along an axis that has elements."""
    n = shape_of(x)[axis]
    places = constant(np.arange(n))
    return bind1(
        "gather", x, remainder(places - cast(shift, dt.i64), n), axes=(axis,), position=axis
    )


def rot90(x: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """`x` turned by 90 degrees k times, from the first of `axes` towards the second.

    NumPy: `numpy.rot90`.

    >>> rot90([[1, 2], [3, 4]])
    array([[2, 4],
           [1, 3]])
    """
    x = asarray(x)
    places = [axis_of("rot90", a, len(shape_of(x))) for a in axes]
    if len(places) != 2 or places[0] == places[1]:
        raise ShapeError(f"rot90: needs two different axes, got {axes}")
    turns = k % 4
    if turns == 2:
        return flip(x, axes)
    if turns == 0:
        return x
    if turns == 1:
        return swapaxes(flip(x, axes[1]), axes[0], axes[1])
    return flip(swapaxes(x, axes[0], axes[1]), axes[1])


def repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element `repeats` times along an axis (of the flattened array if None). repeats: one
    number, or a concrete number for each element: it decides the shape.

    NumPy: `numpy.repeat`.

    >>> repeat([1, 2], 2)
    array([1, 1, 2, 2])
    """
    x, place = as_lines("repeat", asarray(x), axis)
    shape = shape_of(x)
    kind = getattr(repeats, "dtype", np.dtype(np.float64))
    repeats = structural(repeats)
    if hasattr(repeats, "type"):
        raise ConcretizationError(
            "repeat: a traced number of repeats would make the shape depend on data",
            fix="Pass `repeats` as a Python number or a list, or make it a static argument.",
        )
    counts = np.asarray(repeats, None if np.size(repeats) else kind)
    if counts.dtype.kind not in "biu" or counts.ndim > 1:
        raise DTypeError(f"repeat: needs integers, got {repeats!r}")
    if counts.size and counts.min() < 0:
        raise ShapeError(f"repeat: the number of repeats must not be negative, got {repeats!r}")
    if counts.size == 1:
        times = int(counts.reshape(-1)[0])
        wide = (*shape[: place + 1], times, *shape[place + 1 :])
        apart = broadcast(expand_dims(x, place + 1), wide)
        return reshape(apart, (*shape[:place], shape[place] * times, *shape[place + 1 :]))
    if counts.size != shape[place]:
        raise ShapeError(
            f"repeat: {counts.size} numbers of repeats for the {shape[place]} elements along axis "
            f"{place} of {type_text(x)}"
        )
    places = constant(np.repeat(np.arange(shape[place]), counts))
    return bind1("gather", x, places, axes=(place,), position=place)


def tile(x: Any, reps: Any) -> Any:
    """`x` laid out `reps` times along each axis.

    NumPy: `numpy.tile`.

    >>> tile([1, 2], 2)
    array([1, 2, 1, 2])
    """
    x = asarray(x)
    times = to_shape("tile", reps)
    shape = shape_of(x)
    rank = max(len(shape), len(times))
    shape = (1,) * (rank - len(shape)) + shape
    times = (1,) * (rank - len(times)) + times
    possible("tile", tuple(t * s for t, s in zip(times, shape, strict=True)))
    apart = reshape(x, tuple(n for s in shape for n in (1, s)))
    wide = broadcast(apart, tuple(n for t, s in zip(times, shape, strict=True) for n in (t, s)))
    return reshape(wide, tuple(t * s for t, s in zip(times, shape, strict=True)))


def pad(x: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """`x` with more elements before and after along each axis.

    pad_width: one number, (before, after), a pair for each axis, or a dict of these by axis
    mode: "constant" (`constant_values`, 0), "edge", "wrap", "reflect", "symmetric" (`reflect_type`,
    "even" or "odd"), "linear_ramp" (to `end_values`, 0), "maximum", "mean", "median", "minimum" (of
    `stat_length` elements, all), or "empty" (zeros); options: those that the mode has, one value,
    or values by axis like `pad_width`
    raises ShapeError: negative widths, or nothing to repeat; ArgumentError: another mode, or an
    option that it does not have

    NumPy: `numpy.pad`.

    >>> pad([1, 2], 1)
    array([0, 1, 2, 0])
    """
    x = asarray(x)
    plain = mode == "constant" and options.keys() <= {"constant_values"}
    if not plain or isinstance(pad_width, dict):
        return load("pyc.numpy.padding").padded(x, pad_width, mode, options)
    widths = pad_widths(x, pad_width)
    fill = cast(value(options.get("constant_values", 0)), dtype_of(x))
    if shape_of(fill) != ():
        return load("pyc.numpy.padding").padded(x, pad_width, mode, options)
    low, high = (tuple(pair[side] for pair in widths) for side in (0, 1))
    return bind1("pad", x, fill, low=low, high=high)


def pad_widths(x: Any, pad_width: Any) -> list[list[int]]:
    """The numbers of elements before and after each axis; ShapeError for negative ones."""
    given = np.asarray(structural(pad_width))
    if given.dtype.kind not in "iu":
        raise DTypeError(f"pad: widths are integers, got {pad_width!r}")
    try:
        widths: list[list[int]] = np.broadcast_to(given, (len(shape_of(x)), 2)).tolist()
    except ValueError:
        raise ShapeError(f"pad: widths {pad_width} do not fit {type_text(x)}") from None
    if any(w < 0 for pair in widths for w in pair):
        raise ShapeError(f"pad: widths must not be negative, got {pad_width}")
    return widths


def diff(
    x: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue
) -> Any:
    """Differences of neighbours along an axis, n times, after `prepend` and `append` (numbers, or
    arrays that fit along the axis) were put before and behind it.

    NumPy: `numpy.diff`.

    >>> diff([1, 4, 9])
    array([3, 5])
    """
    x = asarray(x)
    place = axis_of("diff", axis, len(shape_of(x)))
    if n < 0:
        raise ShapeError(f"diff: the number of differences must not be negative, got {n}")
    if n == 0:
        return x
    ends = [_edge_of(x, place, end) for end in (prepend, append)]
    x = concat([*ends[0], x, *ends[1]], place)
    for _ in range(n):
        size = shape_of(x)[place]
        later, earlier = part(x, place, 1, max(size - 1, 0)), part(x, place, 0, max(size - 1, 0))
        boolean = dtype_of(x).kind == "bool"
        x = bind1("logical_xor" if boolean else "sub", later, earlier)
    return x


def _edge_of(x: Any, axis: int, end: Any) -> list[Any]:
    """What goes before or behind `x`: nothing, or one array; a number once along the other axes."""
    if end is np._NoValue:
        return []
    found = asarray(end)
    if shape_of(found):
        return [found]
    return [broadcast(found, tuple(1 if k == axis else m for k, m in enumerate(shape_of(x))))]


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonal of two axes, as a new last axis.

    NumPy: `numpy.diagonal`.

    >>> diagonal([[1, 2], [3, 4]], offset=1)
    array([2])
    """
    x = moveaxis(asarray(x), (axis1, axis2), (-2, -1))
    offset = operator.index(offset)
    *rest, m, n = shape_of(x)
    start = (max(-offset, 0), max(offset, 0))
    size = max(min(m - start[0], n - start[1]), 0)
    line = reshape(x, (*rest, m * n))
    first = start[0] * n + start[1]
    found = bind1(
        "slice",
        line,
        start=(*[0] * len(rest), first if size else 0),
        size=(*rest, size),
        step=(*[1] * len(rest), n + 1),
    )
    return current().alias(found, x)


def diag(x: Any, k: int = 0) -> Any:
    """The diagonal k of a matrix, or a matrix with a line on its diagonal k.

    NumPy: `numpy.diag`.

    >>> diag([[1, 2], [3, 4]])
    array([1, 4])
    """
    x, k = asarray(x), operator.index(k)
    shape = shape_of(x)
    if len(shape) == 2:
        return diagonal(x, k)
    if len(shape) != 1:
        raise ShapeError(f"diag: needs rank 1 or 2, got {type_text(x)}")
    n = shape[0]
    size = n + (k if k >= 0 else -k)
    if not n:
        return broadcast(literal(0, dtype_of(x)), (size, size))
    low, high = (max(k, 0), size - n - max(k, 0))
    row = bind1("pad", x, literal(0, dtype_of(x)), low=(low,), high=(high,))
    place = np.arange(size)
    on = (place[:, None] + k == place[None, :]) if size <= 64 else None
    if on is not None:
        mask = asarray(np.asarray(on).tolist())
    else:
        i, j = (bind1("iota", shape=(size, size), axis=a, dtype=_I64) for a in (0, 1))
        moved = bind1("add", i, broadcast(literal(k, _I64), (size, size)))
        mask = bind1("eq", moved, j)
    zero = broadcast(literal(0, dtype_of(x)), (size, size))
    return bind1("select", mask, broadcast(row, (size, size)), zero)


_I64 = type_of(0).dtype


def astype(x: Any, dtype: Any, copy: bool = True) -> Any:
    """`x` in another dtype: floats to integers truncate and saturate, NaN gives 0; complex numbers
    to real ones lose their imaginary parts, with NumPy's `ComplexWarning`.

    NumPy: `numpy.astype`.

    >>> astype(asarray([1.7, -1.7]), "int64")
    array([ 1, -1])
    """
    (x,) = operands("astype", x)
    x = strong(x)
    found = converted(x, to_dtype(dtype))
    return current().copy(found) if copy and found is x else found
