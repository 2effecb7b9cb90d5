"""Orders by several keys, partial orders, and lines without the zeros at their ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.errors import ArgumentError, ConcretizationError, DTypeError, ShapeError
from pyc.ir import dtype as dt
from pyc.numpy.core import (
    as_lines,
    axes_of,
    axis_of,
    cast,
    constant,
    dtype_of,
    integer,
    is_axis_of_number,
    known_elements,
    several,
    shape_of,
    structural,
)
from pyc.numpy.creation import asarray
from pyc.numpy.indexing import take_along_axis
from pyc.numpy.manipulation import ravel
from pyc.numpy.sorting import argsort, sort

__all__ = ["argpartition", "lexsort", "partition", "sort_complex", "trim_zeros"]


def lexsort(keys: Any, axis: int = -1) -> Any:
    """The indices that sort by several keys along an axis, the last key first. Equal elements keep
    their order.

    keys: an array of keys, or a list of them, of one shape -> that shape; dtype: int64
    raises ShapeError: no keys, or keys of several shapes; AxisError: no such axis; DTypeError: no
    list, no numbers, or an axis that is no integer

    NumPy: `numpy.lexsort`.

    >>> lexsort(([2, 1, 3], [1, 0, 0])).tolist()
    [1, 2, 0]
    """
    rows = [asarray(key) for key in several("lexsort", keys)]
    if not rows:
        raise ShapeError("lexsort: needs at least one key")
    shapes = {shape_of(row) for row in rows}
    if len(shapes) > 1:
        raise ShapeError(f"lexsort: the keys have several shapes, {sorted(shapes)}")
    rank = len(shapes.pop())
    if not rank:
        if not is_axis_of_number(axis, rank):
            axis_of("lexsort", axis, rank)
        return constant(np.int64(0))
    place = axis_of("lexsort", axis, rank)
    order = argsort(rows[0], place)
    for row in rows[1:]:
        order = take_along_axis(order, argsort(take_along_axis(row, order, place), place), place)
    return order


def _check(name: str, x: Any, axis: int, kth: Any) -> None:
    """ArgumentError for a place that the axis does not have; of an array without elements any may
    be asked for, as in NumPy."""
    known = structural(kth)
    places = known if isinstance(known, (list, tuple)) else [known]
    if any(hasattr(k, "type") for k in places):
        raise ConcretizationError(
            f"{name}: `kth` is known while tracing, as integers",
            fix="Pass Python integers, or make it a static argument.",
        )
    if any(type(k) is bool for k in places):
        raise DTypeError(f"{name}: `kth` must be an integer, got {known!r}")
    places = [integer(name, "`kth`", k) for k in places]
    length = shape_of(x)[axis]
    for k in places if 0 not in shape_of(x) else ():
        if not -length <= k < length:
            raise ArgumentError(f"{name}: kth = {k} is out of bounds for {length} elements")


def partition(a: Any, kth: Any, axis: int | None = -1) -> Any:
    """`a` with the elements at the places `kth` of an axis (flattened if None) those that sorting
    puts there, smaller ones before and greater ones behind: all of them are sorted.

    a: any shape -> the same, or (n,) if the axis is None; dtype: that of a
    kth: a known integer, or several
    raises ArgumentError: no such place; AxisError: no such axis; DTypeError: no numbers, or a kth
    or an axis that is no integer; ConcretizationError: a traced kth

    NumPy: `numpy.partition`.

    >>> partition([3, 1, 2], 1).tolist()
    [1, 2, 3]
    """
    x = asarray(a)
    x, place = (ravel(x), 0) if axis is None else (x, axis_of("partition", axis, len(shape_of(x))))
    _check("partition", x, place, kth)
    return sort(x, place)


def argpartition(a: Any, kth: Any, axis: int | None = -1) -> Any:
    """The indices that `partition` an array along an axis (flattened if None): those that sort it.

    a: any shape -> the same, or (n,) if the axis is None; dtype: int64
    kth: a known integer, or several
    raises ArgumentError: no such place; AxisError: no such axis; DTypeError: no numbers, or a kth
    or an axis that is no integer; ConcretizationError: a traced kth

    NumPy: `numpy.argpartition`.

    >>> argpartition([3, 1, 2], 1).tolist()
    [1, 2, 0]
    """
    x, place = as_lines("argpartition", asarray(a), axis)
    _check("argpartition", x, place, kth)
    return argsort(x, place)


def sort_complex(a: Any) -> Any:
    """The last axis in ascending order as complex numbers: by the real part, then by the imaginary
    one.

    a: (..., n) -> (..., n); dtype: complex64 of complex64 and of integers of 8 and 16 bits, else
    complex128
    raises AxisError: an array of rank 0; DTypeError: no numbers

    NumPy: `numpy.sort_complex`.

    >>> sort_complex([3, 1, 2]).tolist()
    [(1+0j), (2+0j), (3+0j)]
    """
    found = sort(a)
    kind = dtype_of(found)
    if kind.is_complex:
        return found
    return cast(found, dt.c64 if kind.is_integer and kind.bits <= 16 else dt.c128)


def trim_zeros(filt: Any, trim: Any = "fb", axis: Any = None) -> Any:
    """`filt` without the zeros at the front ("f") and at the back ("b") of some axes.

    filt: any shape -> what is left; trim: "f", "b" or "fb"; axis: one or several (all if None);
    dtype: that of filt
    raises ConcretizationError: traced elements, which would decide the shape; ArgumentError:
    another `trim`; AxisError: no such axis; ShapeError: an axis twice; DTypeError: no numbers, or
    an axis that is no integer

    NumPy: `numpy.trim_zeros`.

    >>> trim_zeros([0, 1, 0, 2, 0]).tolist()
    [1, 0, 2]
    """
    known = known_elements(asarray(filt))
    if known is None:
        raise ConcretizationError(
            "trim_zeros: how many zeros there are depends on data",
            fix="Keep them, or trim outside of the jitted function.",
        )
    if not isinstance(trim, str) or not {*trim.lower()} <= {*"fb"}:
        raise ArgumentError(f"trim_zeros: `trim` is made of 'f' and 'b', got {trim!r}")
    axes = axes_of("trim_zeros", structural(axis), known.ndim)
    ends: Any = trim
    return constant(np.trim_zeros(known, ends, axes))
