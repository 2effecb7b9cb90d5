"""Places in arrays: index tables of a shape, numbers of places, places of elements, counts in bins.

Tables of a shape are constants. What has a length that depends on data needs `size=` for
traced elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, ConcretizationError, DTypeError, OptionError, ShapeError
from pyc.forks import load
from pyc.interpreter import bind1, is_number
from pyc.ir import dtype as dt
from pyc.numpy import choices
from pyc.numpy.core import (
    as_lines,
    broadcast,
    cast,
    constant,
    dtype_of,
    integer,
    known_elements,
    part,
    possible,
    result_dtype,
    reverse,
    several,
    shape_of,
    structural,
    to_shape,
    type_text,
    value,
)
from pyc.numpy.creation import asarray, linspace
from pyc.numpy.elementwise import (
    add,
    clip,
    conj,
    divide,
    floor_divide,
    multiply,
    remainder,
    subtract,
)
from pyc.numpy.indexing import gather
from pyc.numpy.logic import (
    equal,
    greater_equal,
    isfinite,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    where,
)
from pyc.numpy.manipulation import ravel, reshape
from pyc.numpy.numerical import convolve
from pyc.numpy.pieces import stack
from pyc.numpy.sorting import nonzero, searchsorted
from pyc.numpy.statistics import all as all_true
from pyc.numpy.statistics import any as any_true
from pyc.numpy.statistics import argmax, argmin
from pyc.numpy.statistics import max as greatest
from pyc.numpy.statistics import min as least
from pyc.numpy.statistics import sum as total

# --- index tables of a shape ----------------------------------------------------------------------


def _tables(found: Any) -> tuple[Any, ...]:
    return tuple(map(constant, found))


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """The places of the main diagonal of an array whose axes are all of one length.

    arr: (n, ..., n), two axes or more -> a line (n,) for each axis; dtype: int64
    raises ShapeError: fewer axes, or several lengths; DTypeError: no numbers

    NumPy: `numpy.diag_indices_from`.

    >>> diag_indices_from([[1, 2], [3, 4]])
    (array([0, 1]), array([0, 1]))
    """
    shape = shape_of(asarray(arr))
    if len(shape) < 2 or len(set(shape)) != 1:
        raise ShapeError(f"diag_indices_from: needs axes of one length, got shape {shape}")
    return _tables(np.diag_indices(shape[0], len(shape)))


def _triangle(name: str, table: Callable[..., Any], arr: Any, k: Any) -> tuple[Any, ...]:
    shape = shape_of(asarray(arr))
    if len(shape) != 2:
        raise ShapeError(f"{name}: needs a matrix, got shape {shape}")
    return _tables(table(shape[0], k=integer(name, "the diagonal", k), m=shape[1]))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """The places of a matrix on and below its diagonal `k`, row by row.

    arr: (m, n) -> two lines, of rows and of columns; dtype: int64
    raises ShapeError: no matrix; DTypeError: no numbers, or a diagonal that is no integer

    NumPy: `numpy.tril_indices_from`.

    >>> tril_indices_from([[1, 2], [3, 4]])
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    return _triangle("tril_indices_from", np.tril_indices, arr, k)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """The places of a matrix on and above its diagonal `k`, row by row.

    arr: (m, n) -> two lines, of rows and of columns; dtype: int64
    raises ShapeError: no matrix; DTypeError: no numbers, or a diagonal that is no integer

    NumPy: `numpy.triu_indices_from`.

    >>> triu_indices_from([[1, 2], [3, 4]])
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    return _triangle("triu_indices_from", np.triu_indices, arr, k)


# --- numbers of places ----------------------------------------------------------------------------


def _checked(name: str, x: Any, bound: int) -> Any:
    """Integers as int64; ArgumentError, at once for known ones, for those not in [0, bound)."""
    if not dtype_of(x).is_integer:
        raise DTypeError(f"places are integers, got {type_text(x)}")
    found = known_elements(x)
    wrong = None if found is None else np.extract((found < 0) | (found >= bound), found)
    if wrong is not None and wrong.size:
        raise ArgumentError(f"{name}: index {wrong[0]} is not in [0, {bound})")
    return bind1("number_check", x, bound=bound, asked=name)


def _steps(name: str, sizes: tuple[int, ...], order: str) -> list[int]:
    """How many elements are between neighbours along each axis."""
    order = choices.text(name, "order", order, ("C", "F"))
    turned = sizes[::-1] if order == "C" else sizes
    found = [int(np.prod(turned[:k], dtype=int)) for k in range(len(sizes))]
    return found[::-1] if order == "C" else found


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """The places, axis by axis, of numbers of elements in row-major order (column-major for "F") of
    an array of `shape`.

    indices: integers of any shape -> an array of that shape for each axis; dtype: int64
    raises ArgumentError: a number that there is not, of traced ones when the program runs, or
    another order; ShapeError: a negative size; DTypeError: no integers

    NumPy: `numpy.unravel_index`.

    >>> unravel_index(6, (3, 4))
    (np.int64(1), np.int64(2))
    """
    sizes = to_shape("unravel_index", shape)
    count, numbers = int(np.prod(sizes, dtype=int)), asarray(indices)
    if not sizes and shape_of(numbers):
        raise ShapeError(f"unravel_index: {type_text(numbers)} for a shape without axes")
    number = _checked("unravel_index", numbers, count)
    steps = _steps("unravel_index", sizes, order)
    return tuple(
        remainder(floor_divide(number, max(step, 1)), max(n, 1))
        for step, n in zip(steps, sizes, strict=True)
    )


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """The numbers in row-major order (column-major for "F") of elements at places given axis by
    axis.

    multi_index: a list of integers, or arrays of them whose shapes broadcast, one for each axis of
    an array of shape `dims` -> that shape; dtype: int64
    mode: "raise", "wrap" or "clip", one for all axes or one for each: what is done with a place
    that there is not; order: "C" or "F"
    raises ArgumentError: a place that there is not, with mode "raise", of traced ones when the
    program runs, another mode, or another order; ShapeError: not a place for each axis, or a
    negative size; DTypeError: no integers, or no list

    NumPy: `numpy.ravel_multi_index`.

    >>> ravel_multi_index((1, 2), (3, 4))
    np.int64(6)
    """
    sizes = to_shape("ravel_multi_index", dims)
    places = several("ravel_multi_index", multi_index)
    if len(places) != len(sizes):
        raise ShapeError(f"ravel_multi_index: {len(places)} places for {len(sizes)} axes")
    modes = list(mode) if isinstance(mode, (tuple, list)) else [mode] * len(sizes)
    if len(modes) != len(sizes):
        raise ArgumentError(f"ravel_multi_index: {len(modes)} modes for {len(sizes)} axes")
    steps = _steps("ravel_multi_index", sizes, order)
    number: Any = None
    for place, n, step, mode in zip(places, sizes, steps, modes, strict=True):
        term = multiply(_fitting(asarray(place), n, mode), step)
        number = term if number is None else add(number, term)
    return number


def _fitting(place: Any, n: int, mode: str) -> Any:
    """Places along an axis of length `n`, as int64."""
    mode = choices.text("ravel_multi_index", "mode", mode, ("raise", "wrap", "clip"))
    if mode == "raise":
        return _checked("ravel_multi_index", place, n)
    place = cast(place, dt.i64)
    return remainder(place, n) if mode == "wrap" else clip(place, 0, n - 1)


# --- places of elements ---------------------------------------------------------------------------


def _nan_place(name: str, find: Any, x: Any, axis: int | None, keepdims: bool, rest: float) -> Any:
    x = asarray(x)
    if not (dtype_of(x).is_float or dtype_of(x).is_complex):
        return find(x, axis, keepdims)
    missing = isnan(x)
    found = find(where(missing, rest, x), axis, keepdims)
    error = ArgumentError(
        f"{name}: all elements are NaN",
        fix="Replace them before: `np.where(np.isnan(x), 0, x)`.",
    )
    ok = logical_not(any_true(all_true(missing, axis, keepdims)))
    load("pyc.trace.raising").check(ok, error)
    return found


def nanargmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The place of the first greatest element that is not NaN (of the flattened array if axis is
    None).

    x: any shape -> without the axis, or with it as 1 if keepdims; dtype: int64 of any
    raises ArgumentError: all elements of a line are NaN, when the program runs if they are traced;
    ShapeError: no elements; AxisError: no such axis; DTypeError: no numbers, or an axis that is no
    integer

    NumPy: `numpy.nanargmax`.

    >>> nanargmax([1.0, float("nan"), 3.0])
    np.int64(2)
    """
    return _nan_place("nanargmax", argmax, x, axis, keepdims, -np.inf)


def nanargmin(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The place of the first least element that is not NaN (of the flattened array if axis is
    None).

    x: any shape -> without the axis, or with it as 1 if keepdims; dtype: int64 of any
    raises ArgumentError: all elements of a line are NaN, when the program runs if they are traced;
    ShapeError: no elements; AxisError: no such axis; DTypeError: no numbers, or an axis that is no
    integer

    NumPy: `numpy.nanargmin`.

    >>> nanargmin([1.0, float("nan"), 3.0])
    np.int64(0)
    """
    return _nan_place("nanargmin", argmin, x, axis, keepdims, np.inf)


def _found(name: str, x: Any, size: int | None, fix: str) -> tuple[Any, ...]:
    """The places of what is not zero, the first `size` if there is one."""
    if size is None and known_elements(x) is None:
        raise ConcretizationError(
            f"{name}: the number of elements found depends on data",
            fix=f"Give the most there can be: {fix}; or work with `where(mask, x, other)`, which "
            "keeps the shape.",
        )
    if size is not None:
        (size,) = to_shape(name, (size,))
    places: tuple[Any, ...] = nonzero(x, size=size)
    return places


def flatnonzero(a: Any, *, size: int | None = None) -> Any:
    """The places of what is not zero in the flattened array.

    a: any shape -> (number,) int64; size: how many at most, which traced elements need; places
    beyond the number found are the number of elements
    raises ConcretizationError: traced elements without `size`; ShapeError: a negative size;
    DTypeError: no numbers, or a size that is no integer

    NumPy: `numpy.flatnonzero`.

    >>> flatnonzero([0, 5, 7])
    array([1, 2])
    """
    x = ravel(asarray(a))
    return _found("flatnonzero", x, size, "`pyc.numpy.flatnonzero(x, size=n)`")[0]


def argwhere(a: Any, *, size: int | None = None) -> Any:
    """The places of what is not zero as the rows of a matrix.

    a: any shape -> (number, rank) int64; size: how many at most, which traced elements need; rows
    beyond the number found are the shape of `a`
    raises ConcretizationError: traced elements without `size`; ShapeError: a negative size;
    DTypeError: no numbers, or a size that is no integer

    NumPy: `numpy.argwhere`.

    >>> argwhere([[0, 5], [7, 0]])
    array([[0, 1],
           [1, 0]])
    """
    x = asarray(a)
    if not shape_of(x):
        found = argwhere(reshape(x, (1,)), size=size)
        return part(found, 1, 0, 0)
    return stack(_found("argwhere", x, size, "`pyc.numpy.argwhere(x, size=n)`"), 1)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """The elements of `arr`, flattened, where `condition`, flattened, is not zero.

    condition, arr: any shapes -> (number,), or (size,); dtype: that of arr
    size: how many at most, which a traced condition needs; `fill_value` stands behind the last
    raises ConcretizationError: a traced condition without `size`; ShapeError: a negative size, or
    several fill values; IndexOutOfRangeError: `arr` has no such element; DTypeError: no numbers, or
    a size that is no integer

    NumPy: `numpy.extract`.

    >>> extract([True, False, True], [1, 2, 3])
    array([1, 3])
    """
    mask, x = ravel(asarray(condition)), ravel(asarray(arr))
    places = _found("extract", mask, size, "`pyc.numpy.extract(mask, x, size=n)`")
    return _taken(x, mask, 0, places, size, fill_value)


def compress(
    condition: Any,
    a: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
) -> Any:
    """The slices of `a` along an axis (the elements of the flattened array if None) where a line of
    conditions is not zero.

    condition: (m,), a: (..., n, ...) -> (..., number, ...), or (..., size, ...); dtype: that of a
    size: how many at most, which a traced condition needs; `fill_value` stands behind the last
    raises ConcretizationError: a traced condition without `size`; ShapeError: the condition is no
    line, a negative size, or several fill values; AxisError: no such axis; IndexOutOfRangeError:
    `a` has no such slice; DTypeError: no numbers, or a size or an axis that is no integer

    NumPy: `numpy.compress`.

    >>> compress([True, False, True], [1, 2, 3])
    array([1, 3])
    """
    mask, x = asarray(condition), asarray(a)
    if len(shape_of(mask)) != 1:
        raise ShapeError(f"compress: the condition must be a line, got {type_text(mask)}")
    x, place = as_lines("compress", x, axis)
    fix = "`pyc.numpy.compress(mask, x, size=n)`"
    return _taken(x, mask, place, _found("compress", mask, size, fix), size, fill_value)


def _taken(
    x: Any, mask: Any, axis: int, places: tuple[Any, ...], size: int | None, fill_value: Any
) -> Any:
    """The slices of `x` at places of an axis; `fill_value` for those beyond the mask."""
    (at,) = places
    before = (slice(None),) * axis
    if size is None:
        return gather(x, (*before, at))
    at = where(less(at, shape_of(mask)[0]), at, shape_of(x)[axis])
    return gather(x, (*before, at), mode="fill", fill_value=fill_value)


# --- counts in bins -------------------------------------------------------------------------------


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any]:
    """(counts, edges): how many elements, or the sums of weights, lie in each bin, the last one
    closed; with `density` as a density.

    a: any shape, weights: the same -> counts (n,), edges (n + 1,)
    bins: a known number n of bins of one width over `range` (by default from the least element to
    the greatest), or the n + 1 ascending edges, or the name of a rule of NumPy's for known elements
    dtype: counts int64, or that of the weights; float64 with density; edges the common float type
    of a and range, or that of the given ones
    raises ArgumentError: known edges that are not ascending, no positive number of bins, an unknown
    rule, or a range that is not (low, high); a least or greatest element that is not finite, when
    the program runs; ShapeError: edges that are no line, or weights of another shape; DTypeError:
    no real numbers; ConcretizationError: a rule for traced elements

    NumPy: `numpy.histogram`.

    >>> histogram([1, 2, 1], bins=2)
    (array([2, 1]), array([1. , 1.5, 2. ]))
    """
    x = ravel(asarray(a))
    if isinstance(bins, str) and weights is not None:
        raise DTypeError(
            f"histogram: bins={bins!r} and weights", fix="Give the number of bins, or their edges."
        )
    if weights is not None and shape_of(asarray(weights)) != shape_of(asarray(a)):
        raise ShapeError(
            f"histogram: weights {type_text(asarray(weights))} for {type_text(asarray(a))}",
            fix="Give a weight for each element: `np.broadcast_to(weights, a.shape)`.",
        )
    edges = edges_of_bins(x, bins, range)
    count = shape_of(edges)[0] - 1
    common = result_dtype(x, edges)
    values, borders = cast(x, common), cast(edges, common)
    first, last = (reshape(part(borders, 0, k, 1), ()) for k in (0, count))
    at = subtract(searchsorted(borders, values, "right"), 1)
    at = where(equal(values, last), count - 1, at)
    inside = logical_and(greater_equal(values, first), less_equal(values, last))
    # What lies in no bin is counted in one more, which is left out.
    at = _checked("histogram", where(inside, at, count), count + 1)
    kind = dt.i64 if weights is None else _weight_type(weights)
    each = cast(1, kind) if weights is None else cast(ravel(asarray(weights)), kind)
    found = bind1(
        "scatter",
        broadcast(cast(0, kind), (count + 1,)),
        broadcast(each, shape_of(x)),
        at,
        axes=(0,),
        position=0,
        mode="add",
    )
    counts = part(found, 0, 0, count)
    if density:
        widths = subtract(part(edges, 0, 1, count), part(edges, 0, 0, count))
        counts = divide(divide(counts, widths), total(counts))
    return counts, edges


def _weight_type(weights: Any) -> Any:
    kind = dtype_of(asarray(weights))
    return dt.i64 if kind is dt.b1 else kind


def edges_of_bins(x: Any, bins: Any, range: Any, *, of_range: bool = False) -> Any:
    """The edges of bins for a line; see `histogram`. of_range: in the type of `range`, without that
    of the elements."""
    if dtype_of(x).is_complex:
        raise DTypeError(f"histogram: needs real numbers, got {type_text(x)}")
    if isinstance(bins, str):
        known = known_elements(x)
        if known is not None:
            try:
                return constant(np.histogram_bin_edges(known, bins, structural(range)))
            except (TypeError, ValueError) as error:
                raise ArgumentError(f"histogram: {error}") from None
        raise ConcretizationError(
            f"histogram: bins={bins!r} makes a number of bins that depends on data",
            fix="Give the number of bins, or their edges.",
        )
    known = structural(bins)
    if is_number(known) and not isinstance(known, int):
        raise DTypeError(f"histogram: bins must be an integer or edges, got {bins!r}")
    if not isinstance(known, int):
        edges = asarray(bins)
        if len(shape_of(edges)) != 1 or shape_of(edges)[0] < 2:
            raise ShapeError(f"histogram: edges are a line of two or more, got {type_text(edges)}")
        values = known_elements(edges)
        if values is not None and (values[:-1] > values[1:]).any():
            raise ArgumentError("`bins` must increase monotonically, when an array")
        return edges
    if known < 1:
        raise ArgumentError("`bins` must be positive, when an integer")
    possible("histogram", (known,))
    if range is not None:
        try:
            first, last = range
        except (TypeError, ValueError):
            raise OptionError(f"histogram: a range is (low, high), got {range!r}") from None
        limits = structural((first, last))
        if any(shape_of(value(limit)) for limit in limits):
            raise OptionError(f"histogram: a range is (low, high), got {range!r}")
        if any(dtype_of(value(limit)).is_complex for limit in limits):
            raise DTypeError(f"histogram: a range is of real numbers, got {range!r}")
        if all(map(is_number, limits)) and not (np.isfinite(limits).all() and first <= last):
            raise ArgumentError(f"histogram: range ({first}, {last}) is not finite and ascending")
    elif shape_of(x)[0]:
        first, last = least(x), greatest(x)
        if dtype_of(x).is_float:
            _check_finite(first, last)
    else:
        first, last = 0.0, 1.0
    kind = result_dtype(first, last, value(1.0) if of_range else x)
    kind = kind if kind.is_float else dt.f64
    first, last = cast(first, kind), cast(last, kind)
    same = equal(first, last)
    first, last = where(same, subtract(first, 0.5), first), where(same, add(last, 0.5), last)
    return linspace(first, last, known + 1, dtype=kind.numpy)


def _check_finite(first: Any, last: Any) -> None:
    """ArgumentError, when the program runs if they are traced, unless both ends are finite."""
    error = ArgumentError(
        "histogram: the range from the least element to the greatest is not finite",
        fix="Say which: `range=(low, high)`; or leave out what is not finite: `x[np.isfinite(x)]`.",
    )
    load("pyc.trace.raising").check(logical_and(isfinite(first), isfinite(last)), error)


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The sums over k of a[n + k] conj(v[k]) of two lines.

    a: (n,), v: (m,) -> as in `convolve` of this mode; dtype: their common type
    raises ShapeError: no lines, or an empty one; ArgumentError: another mode; DTypeError: no
    numbers

    NumPy: `numpy.correlate`.

    >>> correlate([1, 2, 3], [0, 1])
    array([2, 3])
    """
    a, v = asarray(a), asarray(v)
    if len(shape_of(a)) != 1 or len(shape_of(v)) != 1:
        raise ShapeError(f"correlate: needs two lines, got {type_text(a)} and {type_text(v)}")
    if shape_of(v)[0] > shape_of(a)[0]:
        return _turned(correlate(v, a, mode))
    return convolve(a, _turned(v), mode)


def _turned(x: Any) -> Any:
    """A line backwards, conjugated."""
    found = reverse(x, (0,)) if shape_of(x)[0] else x
    return conj(found) if dtype_of(found).is_complex else found


__all__ = [
    *("argwhere", "compress", "correlate", "diag_indices_from", "extract", "flatnonzero"),
    *("histogram", "nanargmax", "nanargmin", "ravel_multi_index", "tril_indices_from"),
    *("triu_indices_from", "unravel_index"),
]
