"""Counts in bins of several dimensions, and the edges of bins."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from pyc.errors import OptionError, ShapeError
from pyc.interpreter import bind1, is_number
from pyc.ir import dtype as dt
from pyc.numpy.core import (
    broadcast,
    cast,
    part,
    result_dtype,
    shape_of,
    structural,
    type_text,
    value,
)
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import add, divide, multiply, subtract
from pyc.numpy.logic import equal, greater_equal, less_equal, logical_and, where
from pyc.numpy.manipulation import ravel, reshape
from pyc.numpy.pieces import unstack
from pyc.numpy.places import edges_of_bins
from pyc.numpy.sorting import searchsorted
from pyc.numpy.statistics import sum as total

__all__ = ["histogram2d", "histogram_bin_edges", "histogramdd"]


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins that `histogram` would count in.

    a: any shape, real  ->  (bins + 1,), float of the type of `a`, float64 for integers; bins: how
    many, or their edges, which are given back, or a text, by which known elements decide how many
    there are; range: (least, greatest), by default of the elements; weights: of the shape of `a`,
    change nothing
    raises ArgumentError: known edges that are not ascending, fewer than 1 bin, a range that is not
    finite and ascending, or no such text; ConcretizationError: a text as `bins` and traced
    elements; ShapeError: edges that are no line, or weights of another shape; DTypeError: complex
    numbers, or bins that are no integer

    NumPy: `numpy.histogram_bin_edges`.

    >>> histogram_bin_edges([0, 4], 2).tolist()
    [0.0, 2.0, 4.0]
    """
    x = asarray(a)
    if weights is not None and shape_of(asarray(weights)) != shape_of(x):
        raise ShapeError(
            f"histogram_bin_edges: weights {type_text(asarray(weights))} for {type_text(x)}"
        )
    return edges_of_bins(ravel(x), bins, range)


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Any, list[Any]]:
    """(counts, edges): how many points, or the sums of weights, lie in each bin, the last ones
    closed, float64; with `density` as a density.

    sample: (points, dimensions), or a sequence of coordinates, one line for each dimension; bins:
    the number of bins, or one number or line of edges for each dimension; range: (least, greatest)
    for each dimension, or None for those of the points; weights: (points,)  ->  (bins, bins, ...),
    and a line (bins + 1,) for each dimension
    raises ShapeError: bins or ranges of another number, lines of other lengths; ArgumentError:
    edges that are not ascending, fewer than 1 bin, a range that is not finite and ascending;
    DTypeError: complex numbers, or bins that are no integers

    NumPy: `numpy.histogramdd`.

    >>> histogramdd(np.array([[0.0, 0.0], [1.0, 1.0]]), bins=2)[0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    several = isinstance(sample, (list, tuple)) and len(sample) > 0
    if several and all(shape_of(value(x)) for x in sample):
        lines = [asarray(x) for x in sample]
    else:
        x = asarray(sample)
        if len(shape_of(x)) < 2:
            x = reshape(x, (-1, 1))
        if len(shape_of(x)) != 2:
            raise ShapeError(f"histogramdd: needs (points, dimensions), got {type_text(x)}")
        lines = list(unstack(x, 1))
    return _counted("histogramdd", lines, bins, range, density, weights)


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Any, Any, Any]:
    """(counts, edges of x, edges of y): as `histogramdd` of the points (x, y).

    x, y: (n,), real; bins: one number or line of edges for both, or a pair of them; range: a pair
    of (least, greatest), or None; weights: (n,); density: as a density  ->  (bins, bins) float64,
    (bins + 1,), (bins + 1,)
    raises ShapeError: x, y and weights of different lengths, or bins and ranges of another number;
    ArgumentError: edges that are not ascending, fewer than 1 bin, a range that is not finite and
    ascending; DTypeError: complex numbers, or bins that are no integers

    NumPy: `numpy.histogram2d`.

    >>> histogram2d([0.0, 1.0], [0.0, 1.0], bins=2)[0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    named = isinstance(bins, (list, tuple, str))
    length = (len(bins),) if named else shape_of(asarray(bins))[:1]
    if length and length != (2,):
        bins = [bins, bins]
    lines = [asarray(x), asarray(y)]
    counts, (first, second) = _counted("histogram2d", lines, bins, range, density, weights)
    return counts, first, second


def _counted(
    name: str, lines: Sequence[Any], bins: Any, range: Any, density: Any, weights: Any
) -> tuple[Any, list[Any]]:
    rank = len(lines)
    if len({shape_of(x) for x in lines}) > 1 or len(shape_of(lines[0])) != 1:
        raise ShapeError(f"{name}: the coordinates are {', '.join(map(type_text, lines))}")
    whole = result_dtype(*lines)
    lines = [cast(x, whole) for x in lines]
    if weights is not None and shape_of(asarray(weights)) != shape_of(lines[0]):
        raise ShapeError(f"{name}: weights {type_text(asarray(weights))} for {type_text(lines[0])}")
    number = is_number(structural(bins))
    if not number and not hasattr(bins, "__iter__"):
        raise OptionError(f"{name}: bins are numbers or edges, got {bins!r}")
    each = [bins] * rank if number else list(bins)
    if any(isinstance(b, str) for b in each):
        raise OptionError(
            f"{name}: bins are numbers or edges, got {bins!r}",
            fix="Find them beforehand: `np.histogram_bin_edges(x, bins)`.",
        )
    if range is not None and (not hasattr(range, "__len__") or getattr(range, "ndim", 1) == 0):
        raise OptionError(f"{name}: a range is (low, high) for each dimension, got {range!r}")
    ranges = [None] * rank if range is None else list(range)
    if len(each) != rank or len(ranges) != rank:
        raise ShapeError(f"{name}: {len(each)} bins and {len(ranges)} ranges for {rank} dimensions")
    given = zip(lines, each, ranges, strict=True)
    edges = [edges_of_bins(x, b, r, of_range=True) for x, b, r in given]
    sizes = tuple(shape_of(e)[0] - 1 for e in edges)
    place: Any = 0
    inside: Any = True
    for x, line, size in zip(lines, edges, sizes, strict=True):
        common = result_dtype(x, line)
        values, borders = cast(x, common), cast(line, common)
        first, last = (reshape(part(borders, 0, k, 1), ()) for k in (0, size))
        at = subtract(searchsorted(borders, values, "right"), 1)
        at = where(equal(values, last), size - 1, at)
        here = logical_and(greater_equal(values, first), less_equal(values, last))
        inside = logical_and(inside, here)
        place = add(multiply(place, size), at)
    count = prod(sizes)
    # What lies in no bin is counted in one more, which is left out.
    place = where(inside, place, count)
    amounts = cast(1.0, dt.f64) if weights is None else cast(asarray(weights), dt.f64)
    found = bind1(
        "scatter",
        broadcast(cast(0.0, dt.f64), (count + 1,)),
        broadcast(amounts, shape_of(lines[0])),
        bind1("index_check", cast(place, dt.u64), bound=count + 1, axis=0),
        axes=(0,),
        position=0,
        mode="add",
    )
    counts = reshape(part(found, 0, 0, count), sizes)
    if density:
        whole = total(counts)
        for k, (line, size) in enumerate(zip(edges, sizes, strict=True)):
            widths = subtract(part(line, 0, 1, size), part(line, 0, 0, size))
            ones = [1] * rank
            ones[k] = size
            counts = divide(counts, reshape(widths, tuple(ones)))
        counts = divide(counts, whole)
    return counts, edges
