"""Statistics of the elements that are not NaN: middles, quantiles, running products."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.ir import dtype as dt
from pyc.numpy.core import broadcast, cast, dtype_of, literal, shape_of
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import add, clip, floor_divide, maximum, minimum, multiply, subtract
from pyc.numpy.indexing import take_along_axis
from pyc.numpy.logic import equal, isnan, less, logical_not, where
from pyc.numpy.manipulation import expand_dims, reshape, stack
from pyc.numpy.rounding import floor
from pyc.numpy.sorting import median, ordered_axes, percentile, quantile, quantiles_of
from pyc.numpy.statistics import count_nonzero, cumprod, mean, nanmean

__all__ = ["nancumprod", "nanmedian", "nanpercentile", "nanquantile"]


def nancumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running products along an axis (of the flattened array if None) with NaN as 1.

    NumPy: `numpy.nancumprod`.

    >>> nancumprod([2.0, np.nan, 3.0]).tolist()
    [2.0, 2.0, 6.0]
    """
    x = asarray(x)
    return cumprod(where(isnan(x), literal(1, dtype_of(x)), x), axis, dtype)


def _at(ordered: Any, place: Any) -> Any:
    """The elements at a place of the last axis, one for each line."""
    found = take_along_axis(ordered, expand_dims(place, -1), -1)
    return reshape(found, shape_of(place))


def _half(x: Any) -> Any:
    return floor_divide(x, 2)


def _count(ordered: Any) -> Any:
    """How many elements of each line are not NaN: these come first."""
    return count_nonzero(logical_not(isnan(ordered)), -1)


def nanmedian(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The middle of the sorted elements along some axes (all if None) that are not NaN, the mean of
    two where there are two; NaN where there is none.

    NumPy: `numpy.nanmedian`.

    >>> float(nanmedian([1.0, np.nan, 4.0, 3.0]))
    3.0
    """
    x = asarray(x)
    if not (dtype_of(x).is_float or dtype_of(x).is_complex):
        return median(x, axis, keepdims=keepdims)
    ordered, wide = ordered_axes("nanmedian", x, axis)
    if not shape_of(ordered)[-1]:
        found = broadcast(literal(np.nan, dtype_of(x)), shape_of(ordered)[:-1])
    else:
        count = _count(ordered)
        # Of no elements all are NaN, the first one too.
        low, high = _half(maximum(subtract(count, 1), 0)), _half(count)
        below, above = _at(ordered, low), _at(ordered, minimum(high, shape_of(ordered)[-1] - 1))
        found = where(equal(low, high), below, mean(stack([below, above]), 0))
    return reshape(found, wide) if keepdims else found


def nanquantile(
    x: Any,
    q: Any,
    axis: Any = None,
    *,
    keepdims: bool = False,
    method: str = "linear",
    weights: Any = None,
) -> Any:
    """As `quantile`, of the elements that are not NaN; NaN where there is none. Of an array without
    elements one NaN for all fractions, as in NumPy.

    NumPy: `numpy.nanquantile`.

    >>> float(nanquantile([1.0, np.nan, 3.0], 0.5))
    2.0
    """
    x = asarray(x)
    if 0 in shape_of(x):
        return nanmean(x, axis, keepdims=keepdims)
    if not dtype_of(x).is_float:
        return quantile(x, q, axis, keepdims=keepdims, method=method, weights=weights)
    given = (x, q, 1, axis, keepdims, _between)
    return quantiles_of("nanquantile", *given, method=method, weights=weights)


def nanpercentile(
    x: Any,
    q: Any,
    axis: Any = None,
    *,
    keepdims: bool = False,
    method: str = "linear",
    weights: Any = None,
) -> Any:
    """As `percentile`, of the elements that are not NaN; NaN where there is none. Of an array
    without elements one NaN for all fractions, as in NumPy.

    NumPy: `numpy.nanpercentile`.

    >>> float(nanpercentile([1.0, np.nan, 3.0], 50))
    2.0
    """
    x = asarray(x)
    if 0 in shape_of(x):
        return nanmean(x, axis, keepdims=keepdims)
    if not dtype_of(x).is_float:
        return percentile(x, q, axis, keepdims=keepdims, method=method, weights=weights)
    given = (x, q, 100, axis, keepdims, _between)
    return quantiles_of("nanpercentile", *given, method=method, weights=weights)


def _between(ordered: Any, fraction: float) -> Any:
    """The element at a fraction of those of each line that are not NaN."""
    last = maximum(subtract(_count(ordered), 1), 0)
    at = multiply(cast(last, dt.f64), fraction)
    low = floor(at)
    place = cast(low, dt.i64)
    below, above = _at(ordered, place), _at(ordered, clip(add(place, 1), 0, last))
    kind = dtype_of(ordered)
    rest = cast(subtract(at, low), kind)
    apart = subtract(above, below)
    # From the nearer end, as NumPy does: exact at both ends.
    near = where(
        less(rest, 0.5),
        add(below, multiply(apart, rest)),
        subtract(above, multiply(apart, subtract(literal(1, kind), rest))),
    )
    return where(equal(rest, 0), below, near)
