"""Sets: the distinct elements of arrays, and what several arrays have in common.

How many elements a result has depends on data. Where the elements are known (outside of a trace,
and constants inside) NumPy finds them; of traced ones the first `size` are found, in ascending
order, and `fill_value` stands behind the last: by default the first one again, 0 where there is
none. NaN comes last, as in sorting, and every NaN is an element of its own unless `equal_nan`.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple, NoReturn

import numpy as np

from pyc.errors import ConcretizationError
from pyc.forks import load
from pyc.ir import dtype as dt
from pyc.numpy.core import (
    axis_of,
    broadcast,
    cast,
    constant,
    dtype_of,
    known_elements,
    literal,
    part,
    result_dtype,
    shape_of,
    value,
)
from pyc.numpy.creation import asarray, iota
from pyc.numpy.elementwise import subtract
from pyc.numpy.indexing import gather
from pyc.numpy.logic import equal, isnan, less, logical_and, logical_not, logical_or, where
from pyc.numpy.manipulation import matrix_transpose, moveaxis, ravel, reshape
from pyc.numpy.pieces import concat
from pyc.numpy.sorting import argsort, nonzero, searchsorted, size_of, sort
from pyc.numpy.statistics import all as all_true
from pyc.numpy.statistics import cumsum

__all__ = [
    "intersect1d",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueAllResult(NamedTuple):
    """What `unique_all` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` gives."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` gives."""

    values: Any
    inverse_indices: Any


def _refuse(name: str, arguments: str) -> NoReturn:
    raise ConcretizationError(
        f"{name}: the number of elements found depends on data",
        fix=f"Give the most there can be: `pyc.numpy.{name}({arguments}, size=n)`.",
    )


class _Groups:
    """The elements of a line, or the rows of a table, in order, in groups of equal ones. order:
    their places; first: whether each is the first of its group; starts: the places in `values` of
    the first `size` groups that `wanted` keeps, the number of elements for none; there: whether
    there is one."""

    def __init__(self, x: Any, size: int, equal_nan: bool) -> None:
        self.length = shape_of(x)[0]
        self.size = size
        self.order = argsort(x) if len(shape_of(x)) == 1 else _order_of_rows(x)
        self.values = gather(x, self.order)
        rest = max(self.length - 1, 0)
        later = part(self.values, 0, min(1, self.length), rest)
        before = part(self.values, 0, 0, rest)
        same = equal(later, before)
        if len(shape_of(x)) == 2:
            same = all_true(same, 1)
        elif equal_nan and (dtype_of(x).is_float or dtype_of(x).is_complex):
            same = logical_or(same, logical_and(isnan(later), isnan(before)))
        one = broadcast(literal(True, dt.b1), (min(1, self.length),))
        self.first = concat([one, logical_not(same)], 0)
        self.keep(self.first)

    def keep(self, wanted: Any) -> None:
        """Takes the groups whose first elements are `wanted`."""
        (self.starts,) = nonzero(wanted, size=self.size)
        self.there = less(self.starts, self.length)

    def found(self, fill_value: Any) -> Any:
        """The elements of the groups."""
        kind, row = dtype_of(self.values), shape_of(self.values)[1:]
        if not self.length:
            fill = literal(0, kind) if fill_value is None else cast(value(fill_value), kind)
            return broadcast(fill, (self.size, *row))
        taken = gather(self.values, self.starts, mode="clip")
        there = reshape(self.there, (self.size, *(1 for _ in row)))
        if fill_value is None and self.size:
            none = literal(0, kind)
            fill = where(part(there, 0, 0, 1), part(taken, 0, 0, 1), none)
        else:
            fill = cast(value(0 if fill_value is None else fill_value), kind)
        return where(there, taken, fill)

    def indices(self) -> Any:
        """The place of the first element of each group in the line; the length for none."""
        if not self.length:
            return self.starts
        return where(self.there, gather(self.order, self.starts, mode="clip"), self.length)

    def inverse(self) -> Any:
        """The number of the group of each element of the line."""
        number = subtract(cumsum(cast(self.first, dt.i64)), 1)
        return gather(number, argsort(self.order)) if self.length else number

    def counts(self) -> Any:
        """The number of elements of each group, 0 for none."""
        # A group behind the last that was found begins where this one ends.
        (beyond,) = nonzero(self.first, size=self.size + 1)
        ends = part(beyond, 0, 1, self.size)
        return where(self.there, subtract(ends, self.starts), 0)


def _order_of_rows(x: Any) -> Any:
    """The indices that sort the rows of a table by the first column, then the second one, ..."""
    rows, columns = shape_of(x)
    order = iota((rows,), 0, dt.i64)
    if not rows or not columns:
        return order
    if columns <= _FEW:
        for k in reversed(range(columns)):
            order = gather(order, argsort(gather(gather(x, (..., k)), order)))
        return order

    def step(done: Any, column: Any) -> tuple[Any, None]:
        return gather(done, argsort(gather(column, done))), None

    found, _ = load("pyc.trace.control").scan(step, order, matrix_transpose(x), reverse=True)
    return found


_FEW = 8
"""Columns by which rows are sorted without a loop."""


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The distinct elements of `ar` in ascending order, or its distinct slices along `axis`, by
    their first elements, then by the second ones, and so on; with any of `return_index`,
    `return_inverse` and `return_counts` a tuple: where each occurs first, which of them each
    element of `ar` is (of the shape of `ar`; a line for slices), how often each occurs; int64.
    Slices with NaN differ from all others.

    ar: any shape and dtype, which the result has  ->  (k,), or (..., k, ...) for slices; equal_nan:
    whether NaN is one element; sorted: they always are
    size: how many there are at most, which traced elements need, and k then; fill_value: what
    stands behind the last, see the module. Indices behind the last are the number of elements of
    `ar`, counts 0.
    raises ConcretizationError: traced elements without `size`; AxisError: there is no such axis;
    ShapeError: a negative size, or several fill values; DTypeError: no numbers, or a size or axis
    that is no integer

    NumPy: `numpy.unique`, which has no `size`.

    >>> unique([3, 1, 3]).tolist()
    [1, 3]
    """
    x = asarray(ar)
    place = None if axis is None else axis_of("unique", axis, len(shape_of(x)))
    known = known_elements(x) if size is None else None
    wanted = (return_index, return_inverse, return_counts)
    if known is not None:
        found: Any = np.unique(known, *wanted, axis=place, equal_nan=equal_nan)  # type: ignore[call-overload]
        return tuple(map(constant, found)) if isinstance(found, tuple) else constant(found)
    if size is None:
        _refuse("unique", "x")
    rows, rest = ravel(x), None
    if place is not None:
        moved = moveaxis(x, place, 0)
        count, *rest = shape_of(moved)
        rows = reshape(moved, (count, prod(rest)))
    groups = _Groups(rows, size_of("unique", size), equal_nan)
    values = groups.found(fill_value)
    if place is not None and rest is not None:
        values = moveaxis(reshape(values, (groups.size, *rest)), 0, place)
    parts = [values]
    if return_index:
        parts.append(groups.indices())
    if return_inverse:
        inverse = groups.inverse()
        parts.append(reshape(inverse, shape_of(x)) if place is None else inverse)
    if return_counts:
        parts.append(groups.counts())
    return tuple(parts) if len(parts) > 1 else parts[0]


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAllResult:
    """(values, indices, inverse_indices, counts): as `unique`, every NaN an element of its own.

    x: any shape and dtype, which the values have  ->  (k,), (k,) int64, x.shape int64, (k,) int64
    size, fill_value: for traced elements, see the module; k is then the size
    raises ConcretizationError: traced elements without `size`; ShapeError: a negative size, or
    several fill values; DTypeError: no numbers, or a size that is no integer

    NumPy: `numpy.unique_all`.

    >>> unique_all([3, 1, 3]).counts.tolist()
    [1, 2]
    """
    options: dict[str, Any] = {"equal_nan": False, "size": size, "fill_value": fill_value}
    return UniqueAllResult(*unique(x, True, True, True, **options))


def unique_counts(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> UniqueCountsResult:
    """(values, counts): as `unique`, every NaN an element of its own.

    x: any shape and dtype, which the values have  ->  (k,) and (k,) int64
    size, fill_value: for traced elements, see the module; k is then the size
    raises ConcretizationError: traced elements without `size`; ShapeError: a negative size, or
    several fill values; DTypeError: no numbers, or a size that is no integer

    NumPy: `numpy.unique_counts`.

    >>> unique_counts([3, 1, 3]).values.tolist()
    [1, 3]
    """
    options: dict[str, Any] = {"equal_nan": False, "size": size, "fill_value": fill_value}
    return UniqueCountsResult(*unique(x, return_counts=True, **options))


def unique_inverse(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> UniqueInverseResult:
    """(values, inverse_indices): as `unique`, every NaN an element of its own.

    x: any shape and dtype, which the values have  ->  (k,) and x.shape int64
    size, fill_value: for traced elements, see the module; k is then the size
    raises ConcretizationError: traced elements without `size`; ShapeError: a negative size, or
    several fill values; DTypeError: no numbers, or a size that is no integer

    NumPy: `numpy.unique_inverse`.

    >>> unique_inverse([3, 1, 3]).inverse_indices.tolist()
    [1, 0, 1]
    """
    options: dict[str, Any] = {"equal_nan": False, "size": size, "fill_value": fill_value}
    return UniqueInverseResult(*unique(x, return_inverse=True, **options))


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """As `unique`, every NaN an element of its own; in ascending order, which NumPy does not
    promise.

    x: any shape and dtype, which the values have  ->  (k,)
    size, fill_value: for traced elements, see the module; k is then the size
    raises ConcretizationError: traced elements without `size`; ShapeError: a negative size, or
    several fill values; DTypeError: no numbers, or a size that is no integer

    NumPy: `numpy.unique_values`.

    >>> unique_values([3, 1, 3]).tolist()
    [1, 3]
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# --- two sets -------------------------------------------------------------------------------------


def _known(name: str, a: Any, b: Any, size: Any) -> tuple[Any, Any] | None:
    """The elements of both, where they are known and NumPy is to find the result."""
    if size is not None:
        return None
    first, second = known_elements(a), known_elements(b)
    if first is None or second is None:
        _refuse(name, "a, b")
    return first, second


def _lines(a: Any, b: Any) -> tuple[Any, Any]:
    """Two arrays as lines of one type."""
    a, b = ravel(asarray(a)), ravel(asarray(b))
    common = result_dtype(a, b)
    return cast(a, common), cast(b, common)


def _is_among(x: Any, line: Any) -> Any:
    """Whether each of `x` occurs in a line; NaN does not."""
    length = shape_of(line)[0]
    if not length:
        return broadcast(literal(False, dt.b1), shape_of(x))
    ordered = sort(line)
    return equal(gather(ordered, searchsorted(ordered, x), mode="clip"), x)


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The distinct elements of both arrays in ascending order.

    ar1, ar2: any shapes  ->  (k,), or (size,), of the promoted dtype; size, fill_value: for traced
    elements, see the module
    raises ConcretizationError: traced elements without `size`; ShapeError: a negative size, or
    several fill values; DTypeError: no numbers, or a size that is no integer

    NumPy: `numpy.union1d`.

    >>> union1d([3, 1], [1, 2]).tolist()
    [1, 2, 3]
    """
    a, b = asarray(ar1), asarray(ar2)
    known = _known("union1d", a, b, size)
    if known is not None:
        return constant(np.union1d(*known))
    return unique(concat(_lines(a, b), 0), size=size, fill_value=fill_value)


def setdiff1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The distinct elements of `ar1` that `ar2` does not have, in ascending order; with
    `assume_unique` and known elements in the order of `ar1`.

    ar1, ar2: any shapes  ->  (k,), or (size,), of the dtype of ar1; size, fill_value: for traced
    elements, see the module
    raises ConcretizationError: traced elements without `size`; ShapeError: a negative size, or
    several fill values; DTypeError: no numbers, or a size that is no integer

    NumPy: `numpy.setdiff1d`.

    >>> setdiff1d([3, 1, 3, 2], [1]).tolist()
    [2, 3]
    """
    a, b = asarray(ar1), asarray(ar2)
    known = _known("setdiff1d", a, b, size)
    if known is not None:
        return constant(np.setdiff1d(*known, assume_unique))
    a, b = ravel(a), ravel(b)
    groups = _Groups(a, size_of("setdiff1d", size), True)
    common = result_dtype(a, b)
    among = _is_among(cast(groups.values, common), cast(b, common))
    groups.keep(logical_and(groups.first, logical_not(among)))
    return groups.found(fill_value)


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The distinct elements that both arrays have, in ascending order; with `return_indices` also
    where each occurs first in `ar1` and in `ar2` (flattened), int64, their lengths for none.

    ar1, ar2: any shapes  ->  (k,), or (size,), of the promoted dtype; assume_unique: neither has an
    element twice, which saves known ones a search; size, fill_value: for traced elements, see the
    module
    raises ConcretizationError: traced elements without `size`; ShapeError: a negative size, or
    several fill values; DTypeError: no numbers, or a size that is no integer

    NumPy: `numpy.intersect1d`.

    >>> intersect1d([3, 1, 3, 2], [3, 2]).tolist()
    [2, 3]
    """
    a, b = asarray(ar1), asarray(ar2)
    known = _known("intersect1d", a, b, size)
    if known is not None:
        found: Any = np.intersect1d(*known, assume_unique, return_indices)  # type: ignore[call-overload]
        return tuple(map(constant, found)) if return_indices else constant(found)
    a, b = _lines(a, b)
    groups = _Groups(a, size_of("intersect1d", size), True)
    groups.keep(logical_and(groups.first, _is_among(groups.values, b)))
    values = groups.found(fill_value)
    if not return_indices:
        return values
    length = shape_of(b)[0]
    if not length:
        return values, groups.indices(), groups.indices()
    order = argsort(b)
    at = searchsorted(gather(b, order), values)
    second = where(groups.there, gather(order, at, mode="clip"), length)
    return values, groups.indices(), second


def setxor1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The distinct elements that one of the arrays has, in ascending order.

    ar1, ar2: any shapes  ->  (k,), or (size,), of the promoted dtype; assume_unique: neither has an
    element twice, which saves known ones a search; size, fill_value: for traced elements, see the
    module
    raises ConcretizationError: traced elements without `size`; ShapeError: a negative size, or
    several fill values; DTypeError: no numbers, or a size that is no integer

    NumPy: `numpy.setxor1d`.

    >>> setxor1d([3, 1], [1, 2]).tolist()
    [2, 3]
    """
    a, b = asarray(ar1), asarray(ar2)
    known = _known("setxor1d", a, b, size)
    if known is not None:
        return constant(np.setxor1d(*known, assume_unique))
    a, b = _lines(a, b)
    count = size_of("setxor1d", size)
    each = [(_Groups(line, count, True), other) for line, other in ((a, b), (b, a))]
    alone = [logical_and(g.first, logical_not(_is_among(g.values, other))) for g, other in each]
    groups = _Groups(concat([g.values for g, _ in each], 0), count, False)
    groups.keep(gather(concat(alone, 0), groups.order))
    return groups.found(fill_value)
