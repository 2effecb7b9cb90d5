"""Elements put in, taken out and chosen; blocks, and windows that slide over an array.

What decides a shape (where elements go and how many) must be known while tracing; one integer place
may be traced, since the result's shape does not depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.errors import (
    DTypeError,
    IndexOutOfRangeError,
    IndexTypeError,
    ShapeError,
    UnsupportedOpError,
)
from pyc.interpreter import bind1, current
from pyc.ir import dtype as dt
from pyc.numpy.choices import text
from pyc.numpy.core import (
    axis_of,
    broadcast,
    broadcast_shape,
    cast,
    constant,
    dtype_of,
    literal,
    operands,
    part,
    several,
    shape_of,
    structural,
    to_shape,
    type_text,
)
from pyc.numpy.creation import asarray, iota
from pyc.numpy.elementwise import add, clip, remainder, subtract
from pyc.numpy.indexing import gather
from pyc.numpy.logic import equal, less, where
from pyc.numpy.manipulation import atleast_1d, diag, moveaxis, ravel, reshape
from pyc.numpy.pieces import concat, diff, split, tile


def _along(name: str, x: Any, axis: int | None) -> tuple[Any, int, int]:
    """(array, axis, length): the flattened array if the axis is None."""
    x = asarray(x)
    if axis is None:
        x, axis = ravel(x), 0
    place = axis_of(name, axis, len(shape_of(x)))
    return x, place, shape_of(x)[place]


def _place(name: str, obj: Any, length: int, bound: int) -> Any:
    """One integer place in [0, bound) of an axis as a traced value, a negative one counted from the
    end; IndexOutOfRangeError when the program runs."""
    place = asarray(obj)
    if not dtype_of(place).is_integer:
        raise DTypeError(f"{name}: places are integers, got {type_text(place)}")
    wide = cast(place, dt.i64)
    from_start = where(less(wide, 0), add(wide, length), wide)
    # As unsigned, what is still negative fails the check.
    return bind1("index_check", cast(from_start, dt.u64), bound=bound, axis=0)


def _known_places(name: str, obj: Any, length: int) -> Any:
    """Places that are known as a NumPy array of integers or bools; None for a traced one."""
    if isinstance(obj, slice):
        bounds = (obj.start, obj.stop, obj.step)
        return np.arange(length)[slice(*(b if b is None else structural(b) for b in bounds))]
    kind = obj.dtype if hasattr(obj, "dtype") else np.dtype(np.int64)
    if kind.kind not in "biu":
        raise IndexTypeError(f"{name}: places are integers, got {kind}")
    known = structural(obj)
    if hasattr(known, "type"):
        if shape_of(known):
            raise ShapeError(
                f"{name}: the places are known only when the program runs",
                fix="Give them as a list of integers, or as one integer.",
            )
        return None
    places = np.asarray(known, None if np.size(known) else np.int64)
    if places.dtype.kind not in "biu":
        raise IndexTypeError(f"{name}: places are integers, got {places.dtype}")
    return places


def _from_start(name: str, places: Any, length: int, bound: int) -> Any:
    wrong = (places < -length) | (places >= bound)
    if wrong.any():
        raise IndexOutOfRangeError(
            f"{name}: place {places[wrong].flat[0]} is out of bounds for an axis of size {length}"
        )
    return np.where(places < 0, places + length, places)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """`arr` (flattened if axis is None) with `values`, cast to its dtype, before the places `obj`:
    one integer, which may be traced, or a known slice or list of them.

    arr: (..., n, ...), values: what broadcasts to the new elements -> (..., n + their number, ...)
    dtype: that of arr
    raises ShapeError: values that do not broadcast, or several traced places; AxisError: no such
    axis; IndexOutOfRangeError: no such place, when the program runs for a traced one;
    IndexTypeError: known places that are no integers; DTypeError: no numbers, or a traced place
    that is no integer

    NumPy: `numpy.insert`.

    >>> insert([1, 3], 1, 2)
    array([1, 2, 3])
    """
    x, axis, length = _along("insert", arr, axis)
    rank, shape = len(shape_of(x)), shape_of(x)
    new = asarray(values, dtype_of(x))
    new = reshape(new, (1,) * max(rank - len(shape_of(new)), 0) + shape_of(new))
    places = _known_places("insert", obj, length)
    if places is not None and places.dtype == bool:
        places = np.flatnonzero(places)
    single = places is None or places.size == 1
    if places is None or not places.ndim:
        new = moveaxis(new, 0, axis)
    count = shape_of(new)[axis] if single else places.size
    new = broadcast(new, tuple(count if k == axis else n for k, n in enumerate(shape)))
    if places is None:
        at = _place("insert", obj, length, length + 1)
        target = iota((length + count,), 0, dt.i64)
        inside = subtract(target, at)
        taken = where(
            less(inside, 0),
            target,
            where(less(inside, count), add(inside, length), subtract(target, count)),
        )
    else:
        starts = np.ravel(_from_start("insert", places, length, length + 1))
        starts = np.repeat(starts, count) if single else starts
        old = np.arange(length, length + count)
        taken = constant(np.insert(np.arange(length), starts, old))
    return gather(concat([x, new], axis), (*[slice(None)] * axis, taken))


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """`arr` (flattened if axis is None) without the places `obj`: one integer, which may be traced,
    or a known slice, list or mask.

    arr: (..., n, ...) -> (..., n less their number, ...); dtype: that of arr
    raises ShapeError: a mask of another length, or several traced places; AxisError: no such axis;
    IndexOutOfRangeError: no such place, when the program runs for a traced one; IndexTypeError:
    known places that are no integers; DTypeError: no numbers, or a traced place that is no integer

    NumPy: `numpy.delete`.

    >>> delete([1, 2, 3], 1)
    array([1, 3])
    """
    x, axis, length = _along("delete", arr, axis)
    places = _known_places("delete", obj, length)
    if places is None:
        at = _place("delete", obj, length, length)
        target = iota((length - 1,), 0, dt.i64)
        taken = where(less(target, at), target, add(target, 1))
    else:
        keep = np.ones(length, bool)
        if places.dtype == bool:
            if places.shape != keep.shape:
                raise ShapeError(f"delete: {places.size} bools for an axis of size {length}")
            keep = ~places
        else:
            keep[_from_start("delete", places, length, length)] = False
        taken = constant(np.flatnonzero(keep))
    return gather(x, (*[slice(None)] * axis, taken))


def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """From each place the element of that one of `choices` whose number `a` gives.

    a: integers, choices: a list of arrays, or one that is taken apart along its first axis, shapes
    that broadcast -> that shape; dtype: the common one of the choices
    mode: what numbers out of range do, "raise", "wrap" or "clip"
    raises ShapeError: no choices, or shapes that do not broadcast; DTypeError: numbers that are no
    integers, or no list; ArgumentError: another mode, or no such choice, when the program runs

    NumPy: `numpy.choose`.

    >>> choose([0, 1, 0], [[1, 2, 3], [10, 20, 30]])
    array([ 1, 20,  3])
    """
    mode = text("choose", "mode", mode, ("raise", "wrap", "clip"))
    number = asarray(a)
    number = cast(number, dt.i64) if dtype_of(number) is dt.b1 else number
    if not dtype_of(number).is_integer:
        raise DTypeError(f"choose: the numbers must be integers, got {type_text(number)}")
    given = several("choose", choices)
    if not given:
        raise ShapeError("choose: there is nothing to choose from")
    options = operands("choose", *given)
    if mode == "raise":
        number = bind1("number_check", number, bound=len(options), asked="choose")
    elif mode == "wrap":
        number = remainder(number, len(options))
    else:
        number = clip(number, 0, len(options) - 1)
    found = options[0]
    for k, option in enumerate(options[1:], 1):
        found = where(equal(number, k), option, found)
    return broadcast(found, broadcast_shape("choose", [shape_of(found), shape_of(number)]))


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """The first choice whose condition is true, else the default.

    condlist: a list of arrays of bools, choicelist: as many arrays, default: a number or an array,
    shapes that broadcast -> that shape; dtype: the common one of choices and default
    raises ShapeError: none, not as many, or shapes that do not broadcast; DTypeError: no list, no
    numbers, or conditions that are no bools

    NumPy: `numpy.select`.

    >>> select([[True, False], [True, True]], [[1, 2], [10, 20]])
    array([ 1, 20])
    """
    condlist, choicelist = several("select", condlist), several("select", choicelist)
    if len(condlist) != len(choicelist):
        raise ShapeError(f"select: {len(condlist)} conditions for {len(choicelist)} choices")
    if not condlist:
        raise ShapeError("select: needs at least one condition")
    for condition in condlist:
        if dtype_of(asarray(condition)) is not dt.b1:
            raise DTypeError(
                f"select: a condition is {type_text(asarray(condition))}, not of bools",
                fix="Compare it: `condition != 0`.",
            )
    *choices, found = operands("select", *choicelist, default)
    for condition, choice in zip(condlist[::-1], choices[::-1], strict=True):
        found = where(condition, choice, found)
    return found


def diagflat(v: Any, k: int = 0) -> Any:
    """A matrix with the elements of `v`, flattened, on its diagonal `k`.

    v: n elements -> (n + |k|, n + |k|); dtype: that of v
    raises ShapeError: a matrix larger than any memory; DTypeError: no numbers, or a diagonal that
    is no integer

    NumPy: `numpy.diagflat`.

    >>> diagflat([1, 2])
    array([[1, 0],
           [0, 2]])
    """
    return diag(ravel(v), k)


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """The windows of a shape that slide along some axes (all if None), in new last axes.

    x: (..., n, ...), window_shape: a size for each of the axes `axis` -> (..., n - size + 1, ...,
    size)
    dtype: that of x; subok: changes nothing; writeable: False, as windows share elements
    raises ShapeError: windows larger than x, or not as many sizes as axes; AxisError: no such axis;
    DTypeError: no numbers, or sizes that are no integers; UnsupportedOpError: windows that are to
    be `writeable`

    >>> sliding_window_view([1, 2, 3], 2)
    array([[1, 2],
           [2, 3]])
    """
    if writeable:
        raise UnsupportedOpError(
            "sliding_window_view: windows share elements, and a change of one would change others",
            fix="Leave `writeable` out, and change what the windows are of.",
        )
    x = asarray(x)
    rank = len(shape_of(x))
    sizes = to_shape("sliding_window_view", window_shape)
    given = tuple(range(rank)) if axis is None else structural(axis)
    axes = [axis_of("sliding_window_view", a, rank) for a in np.atleast_1d(given).tolist()]
    if len(sizes) != len(axes):
        raise ShapeError(f"sliding_window_view: {len(sizes)} sizes for {len(axes)} axes")
    found = x
    for place, size in zip(axes, sizes, strict=True):
        count = shape_of(found)[place] - size + 1
        if count < 1:
            raise ShapeError(f"sliding_window_view: {type_text(x)} is smaller than a window")
        shape = (count, size)
        places = add(iota(shape, 0, dt.i64), iota(shape, 1, dt.i64))
        found = moveaxis(gather(found, (*[slice(None)] * place, places)), place + 1, -1)
    return current().alias(found, x)


def _parts(name: str, ary: Any, cuts: Any, axis: int, least: int) -> Any:
    x = asarray(ary)
    if len(shape_of(x)) < least:
        raise ShapeError(f"{name}: needs rank {least} or more, got {type_text(x)}")
    return split(x, cuts, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """`split` along axis 1, or 0 for lines: a list of parts of the shape of `ary` but there.

    indices_or_sections: as in `split`; dtype: that of ary
    raises ShapeError: an array of rank 0, or parts into which it does not divide; DTypeError: no
    numbers, or places that are no integers

    NumPy: `numpy.hsplit`.

    >>> hsplit([[1, 2], [3, 4]], 2)
    [array([[1],
           [3]]), array([[2],
           [4]])]
    """
    axis = 1 if len(shape_of(asarray(ary))) > 1 else 0
    return _parts("hsplit", ary, indices_or_sections, axis, 1)


def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """`split` along axis 0: a list of parts of the shape of `ary` but there.

    indices_or_sections: as in `split`; dtype: that of ary
    raises ShapeError: fewer than two axes, or parts into which it does not divide; DTypeError: no
    numbers, or places that are no integers

    NumPy: `numpy.vsplit`.

    >>> vsplit([[1, 2], [3, 4]], 2)
    [array([[1, 2]]), array([[3, 4]])]
    """
    return _parts("vsplit", ary, indices_or_sections, 0, 2)


def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """`split` along axis 2: a list of parts of the shape of `ary` but there.

    indices_or_sections: as in `split`; dtype: that of ary
    raises ShapeError: fewer than three axes, or parts into which it does not divide; DTypeError: no
    numbers, or places that are no integers

    NumPy: `numpy.dsplit`.

    >>> [part.shape for part in dsplit([[[1, 2]]], 2)]
    [(1, 1, 1), (1, 1, 1)]
    """
    return _parts("dsplit", ary, indices_or_sections, 2, 3)


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """`a` with one axis or more, of `dtype` if it is given; it may share the memory of `a`.

    a: () -> (1,), other shapes as they are
    raises DTypeError: no numbers, or a type that pyc does not have

    NumPy: `numpy.ascontiguousarray`.

    >>> ascontiguousarray([1, 2])
    array([1, 2])
    """
    x = asarray(a)
    found = atleast_1d(asarray(x, dtype))
    return current().alias(found, x)


def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours of the flattened array, with the numbers `to_begin` before and
    `to_end` behind them, which must fit its type.

    x: n elements -> (n - 1 and the number of ends,); dtype: that of x
    raises DTypeError: no numbers, bools, or ends that do not fit

    NumPy: `numpy.ediff1d`.

    >>> ediff1d([1, 4, 9], to_end=0)
    array([3, 5, 0])
    """
    line = ravel(x)
    if dtype_of(line) is dt.b1:
        raise DTypeError("ediff1d: bools cannot be subtracted; use logical_xor")
    parts = [diff(line)]
    for end, at_front in ((to_begin, True), (to_end, False)):
        if end is None:
            continue
        given, kind = asarray(end), dtype_of(line)
        if not np.can_cast(dtype_of(given).numpy, kind.numpy, "same_kind"):
            raise DTypeError(f"ediff1d: {type_text(given)} does not fit {type_text(line)}")
        parts.insert(0 if at_front else len(parts), cast(ravel(given), kind))
    return concat(parts, 0)


def resize(x: Any, new_shape: Any) -> Any:
    """The elements of `x` in row-major order, repeated or cut to fill another shape; zeros, if
    there are none.

    x: any shape -> `new_shape`, a number or several; dtype: that of x
    raises ShapeError: a negative size; DTypeError: no numbers, or sizes that are no integers

    NumPy: `numpy.resize`.

    >>> resize([1, 2], (5,))
    array([1, 2, 1, 2, 1])
    """
    line, wanted = ravel(x), to_shape("resize", new_shape)
    have, need = shape_of(line)[0], int(np.prod(wanted, dtype=int))
    if have == 0:
        return broadcast(literal(0, dtype_of(line)), wanted)
    if need > have:
        line = tile(line, -(-need // have))
    return reshape(part(line, 0, 0, need), wanted)


def block(arrays: Any) -> Any:
    """A matrix of blocks: lists of arrays side by side, inside a list of rows.

    arrays: an array, or lists of them of one depth, joined along the last axis, the lists of these
    along the one before, and so on -> that shape; dtype: their common type
    raises ShapeError: an empty list, or shapes that do not fit; DTypeError: no numbers

    NumPy: `numpy.block`.

    >>> block([[[1], [2]]])
    array([[[1],
            [2]]])
    """
    depth = _depth(arrays)
    leaves = _leaves(arrays)
    rank = max([depth, *(len(shape_of(x)) for x in leaves)])
    return _assembled(arrays, depth, rank)


def _depth(x: Any) -> int:
    return 1 + max(map(_depth, x), default=0) if isinstance(x, list) else 0


def _leaves(x: Any) -> list[Any]:
    if not isinstance(x, list):
        return [asarray(x)]
    if not x:
        raise ShapeError("block: a list is empty")
    return [leaf for item in x for leaf in _leaves(item)]


def _assembled(x: Any, depth: int, rank: int) -> Any:
    if depth == 0:
        shape = shape_of(asarray(x))
        return reshape(x, (1,) * (rank - len(shape)) + shape)
    return concat([_assembled(item, depth - 1, rank) for item in x], -depth)


__all__ = [
    *("ascontiguousarray", "block", "choose", "delete", "diagflat", "dsplit", "ediff1d", "hsplit"),
    *("insert", "resize", "select", "sliding_window_view", "vsplit"),
]
