"""Changing shape and order: reshaping, transposing, flipping, diagonals, types.

All of these move data by index maps that fuse into what reads the result: none costs a copy by
itself.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from pyc.array import Array
from pyc.errors import ArgumentError, OptionError, ShapeError, UnsupportedOpError
from pyc.interpreter import bind1, current, is_tracing, type_of
from pyc.numpy import choices
from pyc.numpy.core import (
    axes_of,
    axis_of,
    broadcast,
    converted,
    dtype_of,
    integer,
    literal,
    operands,
    possible,
    reduced_axes,
    reverse,
    shape_of,
    strong,
    structural,
    to_dtype,
    type_text,
)
from pyc.numpy.creation import asarray


def reshape(
    x: Any,
    shape: Any = None,
    order: str | None = "C",
    *,
    newshape: Any = None,
    copy: bool | None = None,
) -> Any:
    """`x` under another shape; one dimension may be -1.

    x: any shape -> `shape` (or `newshape`, its old name); dtype: that of x
    order: elements are read and placed with the last axis running fastest ("C") or the first one
    ("F"); "A" is "F" for NumPy's arrays outside of a trace that lie so in memory
    copy: True for an array of its own, False for an error where a NumPy array needs a copy
    raises ShapeError: the shape is of another number of elements; DTypeError: no numbers, or sizes
    that are no integers; ArgumentError: no copy may be made, and one is needed, another order, or
    two shapes; UnsupportedOpError: "A" of a traced array of several axes

    NumPy: `numpy.reshape`.

    >>> reshape([1, 2, 3, 4], (2, 2))
    array([[1, 2],
           [3, 4]])
    """
    x = asarray(x)
    if shape is not None and newshape is not None:
        raise ArgumentError("reshape: both `shape` and `newshape`", fix="Give `shape` only.")
    copy = choices.copy("reshape", copy)
    if choices.order("reshape", order) == "K":
        raise ArgumentError(f"reshape: order must be one of 'C', 'F' and 'A', got {order!r}")
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
    asked = choices.order(name, order)
    if asked in ("C", "F", None):
        return asked == "F"
    if type(x) is np.ndarray and not is_tracing():
        if x.flags.c_contiguous or x.flags.f_contiguous or asked == "A":
            return bool(x.flags.fnc)
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
    """`x` as one line: any shape -> (n,). dtype: that of x.

    order: see `reshape`; "K" as "A"
    raises ArgumentError: another order; DTypeError: no numbers; UnsupportedOpError: "A" or "K" of a
    traced array of several axes

    NumPy: `numpy.ravel`.

    >>> ravel([[1, 2], [3, 4]])
    array([1, 2, 3, 4])
    """
    x = asarray(x)
    return _reshaped(permute_dims(x) if by_columns("ravel", x, order) else x, (-1,), None)


def permute_dims(x: Any, axes: Any = None) -> Any:
    """`x` with its axes in the order `axes` (reversed if None).

    x: any shape -> its sizes in that order; dtype: that of x
    raises ShapeError: no permutation; AxisError: no such axis; DTypeError: no numbers, or an axis
    that is no integer

    NumPy: `numpy.permute_dims`.

    >>> permute_dims([[[1, 2]]], (2, 0, 1)).shape
    (2, 1, 1)
    """
    x, given = asarray(x), structural(axes)
    rank = len(shape_of(x))
    if isinstance(given, bool):
        raise OptionError(f"transpose: axes are integers, got {axes!r}")
    given = range(rank)[::-1] if axes is None else given
    given = given if isinstance(given, (tuple, list, range)) else (given,)
    order = tuple(axis_of("transpose", a, rank) for a in given)
    if sorted(order) != list(range(rank)):
        raise ShapeError(f"transpose: {axes} is not a permutation of the axes of {type_text(x)}")
    return bind1("transpose", x, axes=order)


transpose = permute_dims


def matrix_transpose(x: Any) -> Any:
    """`x` with its last two axes swapped: (..., m, n) -> (..., n, m).

    dtype: that of x
    raises ShapeError: fewer than two axes; DTypeError: no numbers

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
    """`x` with the axes `axis1` and `axis2` exchanged.

    x: one axis or more -> its shape with these two sizes exchanged; dtype: that of x
    raises AxisError: no such axis; DTypeError: no numbers, or an axis that is no integer

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

    source, destination: an axis, or as many axes; destination: their places in the result
    x: one axis or more -> its sizes in the new order; dtype: that of x
    raises ShapeError: an axis twice, or not as many; AxisError: no such axis; DTypeError: no
    numbers, or an axis that is no integer

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
    """`x` without axes of extent 1: all of them, or those in `axis`.

    x: any shape -> the other sizes; dtype: that of x
    raises ShapeError: an axis of another extent, or twice; AxisError: no such axis; DTypeError: no
    numbers, or an axis that is no integer

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

    x: one axis or more -> its sizes in the new order; dtype: that of x
    raises AxisError: no such axis; DTypeError: no numbers, or an axis that is no integer

    NumPy: `numpy.rollaxis`.

    >>> rollaxis([[[1, 2]]], 2).shape
    (2, 1, 1)
    """
    rank = len(shape_of(asarray(x)))
    place = axis_of("rollaxis", axis, rank)
    before = rank if start == rank else axis_of("rollaxis", start, rank)
    return moveaxis(x, place, before - (place < before))


def expand_dims(x: Any, axis: Any = 0) -> Any:
    """`x` with new axes of extent 1 at the places `axis` of the result, one or several.

    x: any shape -> as many axes more; dtype: that of x
    raises AxisError: no such axis; ShapeError: an axis twice; DTypeError: no numbers, or an axis
    that is no integer

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

    xs: each () -> (1,), others as they are; dtype: theirs
    raises DTypeError: no numbers

    NumPy: `numpy.atleast_1d`.

    >>> atleast_1d(5)
    array([5])
    """
    found = tuple(reshape(x, (1,)) if shape_of(asarray(x)) == () else asarray(x) for x in xs)
    return found[0] if len(found) == 1 else found


def atleast_2d(*xs: Any) -> Any:
    """Arguments of rank 2 or more, new axes in front; a tuple if there are several.

    xs: each () -> (1, 1), (n,) -> (1, n), others as they are; dtype: theirs
    raises DTypeError: no numbers

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
    """Arguments of rank 3 or more; a tuple if there are several.

    xs: each () -> (1, 1, 1), (n,) -> (1, n, 1), (m, n) -> (m, n, 1), others as they are; dtype:
    theirs
    raises DTypeError: no numbers

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


def flip(x: Any, axis: Any = None) -> Any:
    """`x` in reverse order along the axes `axis`, one or several (all if None).

    x: any shape -> the same; dtype: that of x
    raises AxisError: no such axis; ShapeError: an axis twice; DTypeError: no numbers, or an axis
    that is no integer

    NumPy: `numpy.flip`.

    >>> flip([1, 2, 3])
    array([3, 2, 1])
    """
    x = asarray(x)
    shape = shape_of(x)
    axes = axes_of("flip", axis, len(shape))
    if not shape:
        return current().separate(x, (x,))  # `x[()]`, a scalar
    return x if 0 in shape else reverse(x, axes)


def flipud(x: Any) -> Any:
    """`flip` of `x` along axis 0: (n, ...) -> (n, ...). dtype: that of x.

    raises AxisError: an array of rank 0; DTypeError: no numbers

    NumPy: `numpy.flipud`.

    >>> flipud([[1, 2], [3, 4]])
    array([[3, 4],
           [1, 2]])
    """
    return flip(x, 0)


def fliplr(x: Any) -> Any:
    """`flip` of `x` along axis 1: (m, n, ...) -> (m, n, ...). dtype: that of x.

    raises AxisError: fewer than two axes; DTypeError: no numbers

    NumPy: `numpy.fliplr`.

    >>> fliplr([[1, 2], [3, 4]])
    array([[2, 1],
           [4, 3]])
    """
    return flip(x, 1)


def rot90(x: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """`x` turned by 90 degrees k times, from the first of `axes` towards the second.

    x: two axes or more -> the same, these two exchanged for odd k; dtype: that of x
    raises ShapeError: not two different axes; AxisError: no such axis; DTypeError: no numbers, or
    an axis or a number of turns that is no integer

    NumPy: `numpy.rot90`.

    >>> rot90([[1, 2], [3, 4]])
    array([[2, 4],
           [1, 3]])
    """
    x, k = asarray(x), integer("rot90", "the number of turns", k)
    given = structural(axes)
    if not isinstance(given, (tuple, list)):
        raise OptionError(f"rot90: axes are a pair, got {axes!r}")
    places = [axis_of("rot90", a, len(shape_of(x))) for a in given]
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


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonal of `x` between two axes, as a new last axis.

    offset: how far above the main diagonal, below for negative ones; axis1, axis2: of rows and
    columns
    x: (..., m, n) -> (..., length of the diagonal); dtype: that of x
    raises ShapeError: the two axes are one; AxisError: no such axis; DTypeError: no numbers, or an
    axis or an offset that is no integer

    NumPy: `numpy.diagonal`.

    >>> diagonal([[1, 2], [3, 4]], offset=1)
    array([2])
    """
    x = moveaxis(asarray(x), (axis1, axis2), (-2, -1))
    offset = integer("diagonal", "the offset", offset)
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
    """The diagonal `k` of a matrix, or a matrix with a line on its diagonal `k`.

    x: (m, n) -> (length of the diagonal,), or (n,) -> (n + |k|, n + |k|); dtype: that of x
    raises ShapeError: another rank, or a matrix larger than any memory; DTypeError: no numbers, or
    a diagonal that is no integer

    NumPy: `numpy.diag`.

    >>> diag([[1, 2], [3, 4]])
    array([1, 4])
    """
    x, k = asarray(x), integer("diag", "the diagonal", k)
    shape = shape_of(x)
    if len(shape) == 2:
        return diagonal(x, k)
    if len(shape) != 1:
        raise ShapeError(f"diag: needs rank 1 or 2, got {type_text(x)}")
    n = shape[0]
    size = possible("diag", (n + (k if k >= 0 else -k),) * 2)[0]
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
    """`x` in another `dtype`: any shape -> the same.

    Floats to integers truncate and saturate, NaN gives 0; complex numbers to real ones lose their
    imaginary parts, with NumPy's `ComplexWarning`.
    copy: False to give `x` itself where it is of that type; device: see `asarray`
    raises DTypeError: no numbers, or a type that pyc does not have

    NumPy: `numpy.astype`.

    >>> astype(asarray([1.7, -1.7]), "int64")
    array([ 1, -1])
    """
    (x,) = operands("astype", x)
    x = strong(x)
    found = converted(x, to_dtype(dtype))
    return current().copy(found) if copy and found is x else found
