"""Arrays put together and taken apart: joining, splitting, repeating, moving round, padding.

All of these move data by index maps that fuse into what reads the result: none costs a copy by
itself.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np

from pyc.errors import (
    ArgumentError,
    ConcretizationError,
    DTypeError,
    ShapeError,
)
from pyc.forks import load
from pyc.interpreter import bind1
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.numpy import choices
from pyc.numpy.core import (
    as_lines,
    axis_of,
    broadcast,
    broadcast_shape,
    cast,
    constant,
    converted,
    dtype_of,
    integer,
    no_bool,
    part,
    possible,
    result_dtype,
    separated,
    several,
    shape_of,
    structural,
    to_dtype,
    to_shape,
    type_text,
    value,
)
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import remainder
from pyc.numpy.manipulation import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    expand_dims,
    moveaxis,
    ravel,
    reshape,
)


def concat(
    arrays: Sequence[Any], axis: int | None = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """Arrays one after the other along an axis (each flattened first if it is None).

    arrays: a list or tuple of arrays, or one that is taken apart along its first axis, whose shapes
    differ along `axis` only -> the sum of their lengths there
    dtype: of the result, their common type by default; casting: which conversions may be made,
    "no", "equiv", "safe", "same_kind" or "unsafe"
    raises ShapeError: no arrays, or other shapes; AxisError: no such axis; DTypeError: no list, no
    numbers, or a conversion that `casting` rules out; ArgumentError: another casting

    NumPy: `numpy.concat`.

    >>> concat(([1, 2], [3]))
    array([1, 2, 3])
    """
    items = [asarray(x) for x in several("concatenate", arrays)]
    if not items:
        raise ShapeError("concatenate: needs at least one array")
    if axis is None:
        items, axis = [ravel(x) for x in items], 0
    kind = _allowed(items, dtype, casting)
    rank = len(shape_of(items[0]))
    if rank == 0:
        raise ShapeError("concatenate: arrays of rank 0 have no axis; use stack")
    no_bool("concatenate", axis)
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
    """A type that all items may be converted to: their common one, or that which is asked for."""
    casting = choices.casting("concatenate", casting)
    kind = result_dtype(*items) if dtype is None else to_dtype(dtype)
    if dtype is None and casting in ("same_kind", "unsafe"):
        return kind
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
    """Arrays of one shape along a new axis.

    arrays: a list or tuple of k arrays, or one that is taken apart along its first axis -> their
    shape with k at place `axis`
    dtype, casting: as in `concat`
    raises ShapeError: no arrays, or several shapes; AxisError: no such axis; DTypeError: no list,
    no numbers, or a conversion that `casting` rules out; ArgumentError: another casting

    NumPy: `numpy.stack`.

    >>> stack(([1, 2], [3, 4]), axis=1)
    array([[1, 3],
           [2, 4]])
    """
    items = [asarray(x) for x in several("stack", arrays)]
    if not items:
        raise ShapeError("stack: needs at least one array")
    if len({shape_of(x) for x in items}) > 1:
        raise ShapeError(f"stack: shapes differ: {', '.join(map(type_text, items))}")
    return concat([expand_dims(x, axis) for x in items], axis, dtype=dtype, casting=casting)


def hstack(arrays: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays side by side: along axis 1, or 0 for lines.

    arrays: as in `concat`, each (n,) or (m, n, ...) -> (sum of n,) or (m, sum of n, ...)
    dtype, casting: as in `concat`
    raises ShapeError: no arrays, or other shapes; DTypeError: no list, no numbers, or a conversion
    that `casting` rules out; ArgumentError: another casting

    NumPy: `numpy.hstack`.

    >>> hstack(([1, 2], [3]))
    array([1, 2, 3])
    """
    items = [atleast_1d(x) for x in several("hstack", arrays)]
    axis = 0 if not items or len(shape_of(items[0])) == 1 else 1
    return concat(items, axis, dtype=dtype, casting=casting)


def vstack(arrays: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays one below the other; lines become rows.

    arrays: as in `concat`, each (n,) or (m, n, ...) -> (sum of m, n, ...)
    dtype, casting: as in `concat`
    raises ShapeError: no arrays, or other shapes; DTypeError: no list, no numbers, or a conversion
    that `casting` rules out; ArgumentError: another casting

    NumPy: `numpy.vstack`.

    >>> vstack(([1, 2], [3, 4]))
    array([[1, 2],
           [3, 4]])
    """
    return concat(
        [atleast_2d(x) for x in several("vstack", arrays)], 0, dtype=dtype, casting=casting
    )


def dstack(arrays: Sequence[Any]) -> Any:
    """Arrays one behind the other: along axis 2; lines and matrices get the axes they lack.

    arrays: as in `concat`, each (m, n, k) after `atleast_3d` -> (m, n, sum of k); dtype: their
    common type
    raises ShapeError: no arrays, or other shapes; DTypeError: no list, or no numbers

    NumPy: `numpy.dstack`.

    >>> dstack(([1, 2], [3, 4]))
    array([[[1, 3],
            [2, 4]]])
    """
    return concat([atleast_3d(x) for x in several("dstack", arrays)], 2)


def append(x: Any, values: Any, axis: int | None = None) -> Any:
    """`concat` of two arrays, `x` and `values`, along an axis (flattened if None).

    x, values: shapes that differ along `axis` only -> the sum of their lengths there; dtype: their
    common type
    raises ShapeError: other shapes; AxisError: no such axis; DTypeError: no numbers, or an axis
    that is no integer

    NumPy: `numpy.append`.

    >>> append([1, 2], [3, 4])
    array([1, 2, 3, 4])
    """
    return concat([x, values], axis)


def column_stack(arrays: Sequence[Any]) -> Any:
    """Lines as the columns of a matrix, beside matrices.

    arrays: as in `concat`, each (m,) or (m, n) -> (m, sum of n); dtype: their common type
    raises ShapeError: no arrays, or other shapes; DTypeError: no list, or no numbers

    NumPy: `numpy.column_stack`.

    >>> column_stack(([1, 2], [3, 4]))
    array([[1, 3],
           [2, 4]])
    """
    items = [asarray(x) for x in several("column_stack", arrays)]
    columns = [reshape(x, (-1, 1)) if len(shape_of(x)) < 2 else x for x in items]
    return concat(columns, 1)


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices of `x` along an axis, a tuple.

    x: (..., n, ...) -> n arrays of the other axes; dtype: that of x
    raises AxisError: no such axis; ShapeError: several axes; DTypeError: no numbers, or an axis
    that is no integer

    NumPy: `numpy.unstack`.

    >>> unstack([[1, 2], [3, 4]])
    (array([1, 2]), array([3, 4]))
    """
    x = moveaxis(x, axis, 0)
    shape = shape_of(x)
    found = tuple(reshape(part(x, 0, k, 1), shape[1:]) for k in range(shape[0]))
    return found if shape[1:] else separated(found, ())  # elements of a line are scalars


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """`x` in equal parts along an axis, a list; or cut before the given places.

    indices_or_sections: the number of parts, or a line of places, negative ones from the end
    x: (..., n, ...) -> parts whose lengths along the axis add up to n; dtype: that of x
    raises ShapeError: the axis does not divide into so many parts; AxisError: no such axis;
    DTypeError: no numbers, or an axis or places that are no integers

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
    """`x` in parts as equal as possible along an axis, a list, the longer ones first; or cut before
    the given places.

    indices_or_sections: the number of parts, or a line of places, negative ones from the end
    x: (..., n, ...) -> parts whose lengths along the axis add up to n; dtype: that of x
    raises ShapeError: no positive number of parts; AxisError: no such axis; DTypeError: no numbers,
    or an axis or places that are no integers

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
    possible("array_split", (sections,))
    size, longer = divmod(shape_of(x)[place], sections)
    sizes = [size + 1] * longer + [size] * (sections - longer)
    return _cut(x, place, [int(c) for c in np.cumsum(sizes)[:-1]])


def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """`x` moved by `shift` places along an axis (flattened meanwhile if None), what falls off
    coming in at the other end.

    x: any shape -> the same; dtype: that of x
    shift: an integer, or one for each axis; floats are truncated, as in NumPy. It may be traced
    raises AxisError: no such axis; ShapeError: not as many shifts as axes; DTypeError: no numbers,
    or a complex shift; ArgumentError: a shift that is not finite

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


def repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element of `x` `repeats` times along an axis (of the flattened array if None).

    x: (..., n, ...) -> (..., sum of repeats, ...); dtype: that of x
    repeats: one number, or a concrete number for each element: it decides the shape
    raises ShapeError: a negative number, or not one for each element; AxisError: no such axis;
    DTypeError: no numbers, or repeats that are no integers; ConcretizationError: traced repeats

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
    """`x` laid out `reps` times along each axis, one number or one for each of the last axes.

    x: (n, ...) -> (reps n, ...), with axes in front where there are more reps; dtype: that of x
    raises ShapeError: a negative number; DTypeError: no numbers, or reps that are no integers

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

    x: (n, ...) -> (before + n + after, ...); dtype: that of x
    pad_width: one number, (before, after), a pair for each axis, or a dict of these by axis
    mode: "constant" (`constant_values`, 0), "edge", "wrap", "reflect", "symmetric" (`reflect_type`,
    "even" or "odd"), "linear_ramp" (to `end_values`, 0), "maximum", "mean", "median", "minimum" (of
    `stat_length` elements, all), or "empty" (zeros); options: those that the mode has, one value,
    or values by axis like `pad_width`
    raises ShapeError: negative widths, or nothing to repeat; ArgumentError: another mode, or an
    option that it does not have; DTypeError: no numbers, or widths that are no integers

    NumPy: `numpy.pad`.

    >>> pad([1, 2], 1)
    array([0, 1, 2, 0])
    """
    x = asarray(x)
    plain = isinstance(mode, str) and mode == "constant" and options.keys() <= {"constant_values"}
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

    x: (..., m, ...) -> (..., max(m - n, 0), ...); dtype: that of x, of bools whether neighbours
    differ
    raises ShapeError: negative n, or ends of another shape; AxisError: no such axis; DTypeError: no
    numbers, or an axis or n that is no integer

    NumPy: `numpy.diff`.

    >>> diff([1, 4, 9])
    array([3, 5])
    """
    x, n = asarray(x), integer("diff", "the number of differences", n)
    place = axis_of("diff", axis, len(shape_of(x)))
    if n < 0:
        raise ShapeError(f"diff: the number of differences must not be negative, got {n}")
    if n == 0:
        return x
    ends = [_edge_of(x, place, end) for end in (prepend, append)]
    x = concat([*ends[0], x, *ends[1]], place)
    for _ in range(min(n, max(shape_of(x)[place], 1))):  # after which no elements are left
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
