"""Statistics of the elements that are not NaN: sums, extremes, means, middles, quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.errors import OptionError
from pyc.ir import dtype as dt
from pyc.numpy.core import broadcast, cast, dtype_of, literal, shape_of
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import (
    add,
    clip,
    divide,
    floor_divide,
    maximum,
    minimum,
    multiply,
    real,
    sqrt,
    subtract,
)
from pyc.numpy.indexing import take_along_axis
from pyc.numpy.logic import equal, greater, isnan, less, logical_not, where
from pyc.numpy.manipulation import expand_dims, reshape
from pyc.numpy.pieces import stack
from pyc.numpy.rounding import floor
from pyc.numpy.sorting import median, ordered_axes, percentile, quantile, quantiles_of
from pyc.numpy.statistics import (
    accumulated,
    complex_extreme,
    count_nonzero,
    cumprod,
    cumsum,
    degrees_less,
    in_floats,
    lossy,
    mean,
    prod,
    squares,
    var,
)
from pyc.numpy.statistics import all as all_true
from pyc.numpy.statistics import max as greatest
from pyc.numpy.statistics import min as least
from pyc.numpy.statistics import sum as total_of

__all__ = [
    *("nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile"),
    *("nanprod", "nanquantile", "nanstd", "nansum", "nanvar"),
]


def nansum(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum with NaN as 0, over some axes.

    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims
    dtype: of the result; None: that of x, of bools and smaller integers int64 or uint64
    where: bools that broadcast to x, which elements count; initial: a number that it begins with
    raises AxisError: no such axis; ShapeError: an axis twice, several starts, or a mask that does
    not fit; DTypeError: no numbers, an axis that is no integer, or a mask that is not of bools

    NumPy: `numpy.nansum`.

    >>> nansum([1.0, float("nan"), 3.0])
    np.float64(4.0)
    """
    x = asarray(x)
    return total_of(where(isnan(x), 0, x), axis, dtype, keepdims)


def nanmean(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The mean of the elements that are not NaN, over some axes; NaN where there is none.

    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims
    dtype: of the result; None: that of x, of integers and bools float64
    where: bools that broadcast to x, which elements count
    raises AxisError: no such axis; ShapeError: an axis twice, or a mask that does not fit;
    DTypeError: no numbers, an axis that is no integer, or a mask that is not of bools

    NumPy: `numpy.nanmean`.

    >>> nanmean([1.0, float("nan"), 3.0])
    np.float64(2.0)
    """
    x = asarray(x)
    if dtype is not None and not (dtype_of(x).is_float or dtype_of(x).is_complex):
        return mean(x, axis, dtype, keepdims)
    x = in_floats("nanmean", x, dtype)
    count = total_of(logical_not(isnan(x)), axis, keepdims=keepdims)
    total = nansum(accumulated(x), axis, None, keepdims)
    return cast(divide(total, cast(count, dtype_of(total))), dtype_of(x))


def nanvar(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    mean: Any = np._NoValue,
    correction: float = np._NoValue,  # type: ignore[assignment]
) -> Any:
    """The mean squared distance from the mean of the elements that are not NaN, over n - ddof; NaN
    where n is not greater.

    dtype: of the result; None: the real type of x, of integers and bools float64
    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims
    ddof, correction: what is taken from the number of elements, two names of one argument
    mean: the mean, with the reduced axes as 1, if it is known
    where: bools that broadcast to x, which elements count
    raises AxisError: no such axis; ShapeError: an axis twice, or a mean or a mask that does not
    fit; ArgumentError: ddof and correction; DTypeError: no numbers, an axis that is no integer, a
    ddof that is no real number, or a mask that is not of bools

    NumPy: `numpy.nanvar`.

    >>> nanvar([1.0, float("nan"), 3.0])
    np.float64(1.0)
    """
    ddof = degrees_less("nanvar", ddof, correction)
    if mean is None:
        raise OptionError("nanvar: `mean` is an array, got None", fix="Leave it out.")
    mean = None if mean is np._NoValue else asarray(mean)
    x = asarray(x)
    if dtype_of(x).kind not in ("float", "complex"):
        return var(x, axis, dtype, ddof, keepdims, mean=mean)
    kind = lossy(x, dtype)
    if kind is None or not kind.is_float:
        x, kind = in_floats("nanvar", x, dtype), None
    wide, there = accumulated(x), logical_not(isnan(x))
    count = cast(total_of(there, axis, keepdims=keepdims), dtype_of(wide).real)
    middle = nanmean(wide, axis, kind, True) if mean is None else mean
    if not dtype_of(wide).is_complex:
        middle = real(middle)  # as NumPy, which writes the differences into `x`
    apart = where(there, subtract(wide, middle), 0)
    total = total_of(squares(apart), axis, keepdims=keepdims)
    found = divide(total, where(greater(count, ddof), subtract(count, float(ddof)), 0.0))
    found = where(greater(count, ddof), found, np.nan)
    return cast(found, kind or (dtype_of(x).real if dtype is None else dtype_of(x)))


def nanstd(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    mean: Any = np._NoValue,
    correction: float = np._NoValue,  # type: ignore[assignment]
) -> Any:
    """The square root of `nanvar`.

    dtype: of the result; None: the real type of x, of integers and bools float64
    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims
    ddof, correction: what is taken from the number of elements, two names of one argument
    mean: the mean, with the reduced axes as 1, if it is known
    where: bools that broadcast to x, which elements count
    raises AxisError: no such axis; ShapeError: an axis twice, or a mean or a mask that does not
    fit; ArgumentError: ddof and correction; DTypeError: no numbers, an axis that is no integer, a
    ddof that is no real number, or a mask that is not of bools

    NumPy: `numpy.nanstd`.

    >>> nanstd([1.0, float("nan"), 3.0])
    np.float64(1.0)
    """
    found = nanvar(x, axis, dtype, ddof, keepdims, mean=mean, correction=correction)
    return cast(sqrt(found), dtype_of(found))


def nanprod(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product with NaN as 1, over some axes.

    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims
    dtype: of the result; None: that of x, of bools and smaller integers int64 or uint64
    where: bools that broadcast to x, which elements count; initial: a number that it begins with
    raises AxisError: no such axis; ShapeError: an axis twice, several starts, or a mask that does
    not fit; DTypeError: no numbers, an axis that is no integer, or a mask that is not of bools

    NumPy: `numpy.nanprod`.

    >>> nanprod([2.0, float("nan"), 3.0])
    np.float64(6.0)
    """
    x = asarray(x)
    return prod(where(isnan(x), 1, x), axis, dtype, keepdims)


def nancumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running sums with NaN as 0, along an axis (of the flattened array if None), first to last.

    x: any shape -> the same, or (n,) if the axis is None
    dtype: of the result; None: that of x, of bools and smaller integers int64 or uint64
    raises AxisError: no such axis; DTypeError: no numbers, or an axis that is no integer

    NumPy: `numpy.nancumsum`.

    >>> nancumsum([1.0, float("nan"), 3.0])
    array([1., 1., 4.])
    """
    x = asarray(x)
    return cumsum(where(isnan(x), 0, x), axis, dtype)


def nanmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The greatest element that is not NaN, over some axes; NaN if all are.

    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims; dtype: that of x
    where: bools that broadcast to x, which elements count; initial: a number that it begins with,
    which a mask needs
    raises ShapeError: no elements, an axis twice, several starts, or a mask that does not fit;
    AxisError: no such axis; ArgumentError: a mask without `initial`; DTypeError: no numbers, an
    axis that is no integer, or a mask that is not of bools

    NumPy: `numpy.nanmax`.

    >>> nanmax([1.0, float("nan"), 3.0])
    np.float64(3.0)
    """
    x = asarray(x)
    if dtype_of(x).is_complex:
        return complex_extreme("max", x, axis, keepdims, "nanmax", missing=True)
    if not dtype_of(x).is_float:
        return greatest(x, axis, keepdims)
    found = greatest(where(isnan(x), -np.inf, x), axis, keepdims)
    return where(all_true(isnan(x), axis, keepdims), np.nan, found)


def nanmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The least element that is not NaN, over some axes; NaN if all are.

    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims; dtype: that of x
    where: bools that broadcast to x, which elements count; initial: a number that it begins with,
    which a mask needs
    raises ShapeError: no elements, an axis twice, several starts, or a mask that does not fit;
    AxisError: no such axis; ArgumentError: a mask without `initial`; DTypeError: no numbers, an
    axis that is no integer, or a mask that is not of bools

    NumPy: `numpy.nanmin`.

    >>> nanmin([1.0, float("nan"), 3.0])
    np.float64(1.0)
    """
    x = asarray(x)
    if dtype_of(x).is_complex:
        return complex_extreme("min", x, axis, keepdims, "nanmin", missing=True)
    if not dtype_of(x).is_float:
        return least(x, axis, keepdims)
    found = least(where(isnan(x), np.inf, x), axis, keepdims)
    return where(all_true(isnan(x), axis, keepdims), np.nan, found)


def nancumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running products with NaN as 1, along an axis (of the flattened array if None), first to
    last.

    x: any shape -> the same, or (n,) if the axis is None
    dtype: of the result; None: that of x, of bools and smaller integers int64 or uint64
    raises AxisError: no such axis; DTypeError: no numbers, or an axis that is no integer

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

    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims
    dtype: that of x, float64 for integers and bools
    raises AxisError: no such axis; ShapeError: an axis twice; DTypeError: no numbers, or an axis
    that is no integer

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

    x: any shape -> that of q, then that of x without the axes `axis` (None: all), or with them as 1
    if keepdims
    q: fractions in [0, 1]; method: a rule of NumPy's by name; weights: of x, for "inverted_cdf"
    dtype: the float type of x and q, float64 for integers
    raises ArgumentError: fractions out of range, no such method, or weights for another one;
    AxisError: no such axis; ShapeError: an axis twice; DTypeError: no real numbers, or an axis that
    is no integer

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

    x: any shape -> that of q, then that of x without the axes `axis` (None: all), or with them as 1
    if keepdims
    q: fractions in [0, 100]; method: a rule of NumPy's by name; weights: of x, for "inverted_cdf"
    dtype: the float type of x and q, float64 for integers
    raises ArgumentError: fractions out of range, no such method, or weights for another one;
    AxisError: no such axis; ShapeError: an axis twice; DTypeError: no real numbers, or an axis that
    is no integer

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


def _between(ordered: Any, fraction: np.floating[Any]) -> Any:
    """The element at a fraction of those of each line that are not NaN."""
    last = maximum(subtract(_count(ordered), 1), 0)
    at = cast(multiply(cast(last, dtype_of(fraction)), fraction), dt.f64)
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
