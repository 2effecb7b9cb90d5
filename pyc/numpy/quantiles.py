"""Quantiles by other rules than the linear one, at traced fractions, and of weighted elements.

Each rule of NumPy's says at which place of the sorted elements a fraction lies: a whole one, or one
between two elements.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, DTypeError, ShapeError
from pyc.forks import load
from pyc.ir import dtype as dt
from pyc.numpy import choices
from pyc.numpy.core import (
    axes_of,
    broadcast,
    cast,
    dtype_of,
    known_elements,
    literal,
    part,
    shape_of,
    type_text,
    value,
)
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import add, divide, maximum, minimum, multiply, remainder, subtract
from pyc.numpy.indexing import take_along_axis
from pyc.numpy.logic import (
    equal,
    greater_equal,
    isfinite,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    where,
)
from pyc.numpy.manipulation import expand_dims, moveaxis, permute_dims, reshape
from pyc.numpy.rounding import ceil, floor, rint
from pyc.numpy.sorting import argsort
from pyc.numpy.statistics import any as any_true
from pyc.numpy.statistics import count_nonzero, cumsum, weights_of
from pyc.numpy.statistics import sum as total

Place = Callable[[Any, Any], Any]


def _last(n: Any, q: Any) -> Any:
    return multiply(subtract(n, 1), q)


def _by_shares(alpha: float, beta: float) -> Place:
    """The place n q + alpha + q (1 - alpha - beta) - 1."""

    def place(n: Any, q: Any) -> Any:
        return subtract(add(multiply(n, q), add(alpha, multiply(q, 1 - alpha - beta))), 1)

    return place


def _inverted(n: Any, q: Any) -> Any:
    at = subtract(multiply(n, q), 1)
    return where(equal(at, floor(at)), at, add(floor(at), 1))


def _closest(n: Any, q: Any) -> Any:
    at = subtract(multiply(n, q), 1.5)
    even = logical_and(equal(at, floor(at)), equal(remainder(floor(at), 2), 1))
    return where(even, at, add(floor(at), 1))


_WHOLE: dict[str, Place] = {
    "inverted_cdf": _inverted,
    "closest_observation": _closest,
    "lower": lambda n, q: floor(_last(n, q)),
    "higher": lambda n, q: ceil(_last(n, q)),
    "nearest": lambda n, q: rint(_last(n, q)),
}
"""Rules that choose an element: its place in a sorted line of n."""

_BETWEEN: dict[str, Place] = {
    "linear": _last,
    "averaged_inverted_cdf": lambda n, q: subtract(multiply(n, q), 1),
    "interpolated_inverted_cdf": _by_shares(0, 1),
    "hazen": _by_shares(0.5, 0.5),
    "weibull": _by_shares(0, 0),
    "median_unbiased": _by_shares(1 / 3, 1 / 3),
    "normal_unbiased": _by_shares(3 / 8, 3 / 8),
    "midpoint": lambda n, q: multiply(0.5, add(floor(_last(n, q)), ceil(_last(n, q)))),
}
"""Rules that may choose a place between two elements."""

METHODS = (*_BETWEEN, *_WHOLE)


def quantiles(
    name: str,
    x: Any,
    q: Any,
    whole: int,
    axis: Any,
    keepdims: bool,
    method: Any,
    weights: Any,
    missing: bool,
) -> Any:
    """The elements at fractions q / whole of some axes (all if None); see `pyc.numpy.quantile`.

    missing: NaN is left out, else it makes the result NaN
    """
    method = choices.text(name, "method", method, [*METHODS])
    if weights is not None and method != "inverted_cdf":
        raise ArgumentError(
            f"{name}: method {method!r} does not take weights",
            fix="Write `method='inverted_cdf'`.",
        )
    fractions, shape, weak = _fractions(name, x, q, whole)
    if dtype_of(x) is dt.b1 and method in _BETWEEN:
        raise DTypeError(
            f"{name}: method {method!r} subtracts elements, which bools are not for",
            fix="Write `x.astype(float)`, or a method that chooses an element.",
        )
    rows, wide = _rows(x, axes_of(name, axis, len(shape_of(x))))
    if not shape_of(rows)[-1]:
        raise ShapeError(f"{name}: no elements along axis {axis} of {type_text(x)}")
    order = argsort(rows)
    ordered = take_along_axis(rows, order, -1)
    floats = dtype_of(x).is_float
    there = logical_not(isnan(ordered)) if floats else broadcast(value(True), shape_of(ordered))
    counts = expand_dims(cast(count_nonzero(there, -1), dtype_of(fractions)), -1)
    if weights is None:
        found = _at_places(ordered, counts, fractions, method, weak)
    else:
        w = _checked(name, weights_of(name, x, axis, asarray(weights)))
        w = take_along_axis(_rows(w, axes_of(name, axis, len(shape_of(x))))[0], order, -1)
        found = _by_weight(ordered, where(there, cast(w, dt.f64), 0.0), counts, fractions)
    inside = logical_and(less_equal(0, fractions), less_equal(fractions, 1))
    if floats and not missing:
        length = literal(shape_of(rows)[-1], dtype_of(counts))
        inside = logical_and(inside, equal(counts, length))
    elif floats:
        inside = logical_and(inside, less(0, counts))
    if dtype_of(found).is_float:
        found = where(inside, found, np.nan)
    found = moveaxis(found, -1, 0)
    around = wide if keepdims else shape_of(found)[1:]
    return reshape(found, (*shape, *around))


def _fractions(name: str, x: Any, q: Any, whole: int) -> tuple[Any, tuple[int, ...], bool]:
    """Fractions as a line, in NumPy's type, their shape, and whether they are one Python number,
    which does not decide the type of the result."""
    weak = type(q) in (int, float)
    given = asarray(q)
    known = known_elements(given)
    if known is not None and not ((known >= 0) & (known <= whole)).all():
        raise ArgumentError(f"{name}: fractions must lie in [0, {whole}], got {q}")
    kind = dtype_of(given) if dtype_of(given).is_float else dt.f64
    shape = shape_of(given)
    line = cast(reshape(given, (prod(shape),)), kind)
    return (line if whole == 1 else divide(line, float(whole))), shape, weak


def _rows(x: Any, axes: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """Some axes as one last axis, and the shape with each as 1."""
    shape = shape_of(x)
    kept = [k for k in range(len(shape)) if k not in axes]
    count = prod(shape[k] for k in axes)
    rows = reshape(permute_dims(x, (*kept, *axes)), (*(shape[k] for k in kept), count))
    return rows, tuple(1 if k in axes else n for k, n in enumerate(shape))


def _taken(ordered: Any, place: Any, last: Any) -> Any:
    """The elements at places, whole numbers as floats, of the last axis, no further than its
    ends."""
    inside = cast(maximum(minimum(place, last), 0.0), dt.i64)
    wide = broadcast(inside, (*shape_of(ordered)[:-1], shape_of(inside)[-1]))
    return take_along_axis(ordered, wide, -1)


def _at_places(ordered: Any, counts: Any, fractions: Any, method: str, weak: bool) -> Any:
    last = subtract(counts, 1)
    if method in _WHOLE:
        return _taken(ordered, _WHOLE[method](counts, fractions), last)
    at = _BETWEEN[method](counts, fractions)
    # Beyond the ends both neighbours are the element there.
    low = floor(at)
    share = subtract(at, low)
    if method == "averaged_inverted_cdf":
        share = _either(equal(share, 0), 0.5, 1.0, dtype_of(share))
    elif method == "midpoint":
        share = _either(equal(share, 0), 0.0, 0.5, dtype_of(share))
    beyond = logical_or(less(at, 0), greater_equal(at, last))
    low = where(less(at, 0), 0.0, minimum(low, last))
    high = where(beyond, low, add(low, 1))
    a, b = _taken(ordered, low, last), _taken(ordered, high, last)
    kind = dtype_of(ordered)
    kind = dt.promote_weak(float, kind) if weak else dt.promote(kind, dtype_of(share))
    a, b, share = cast(a, kind), cast(b, kind), cast(share, kind)
    apart = subtract(b, a)
    # From the nearer end, as NumPy does: exact at both ends.
    near = where(
        less(share, 0.5),
        add(a, multiply(apart, share)),
        subtract(b, multiply(apart, subtract(1, share))),
    )
    return where(equal(a, b), cast(a, dtype_of(near)), near)


def _either(test: Any, yes: float, no: float, kind: dt.DType) -> Any:
    return where(test, literal(yes, kind), literal(no, kind))


def _checked(name: str, w: Any) -> Any:
    known = known_elements(w)
    if known is None:
        return w
    if (known < 0).any():
        raise ArgumentError(
            f"{name}: weights must not be negative", fix="Give 0 for what does not count."
        )
    if not np.isfinite(known).all() or not known.any():
        raise ArgumentError(
            f"{name}: weights must be finite, and not all 0", fix="Give 1 for what counts."
        )
    return w


def _by_weight(ordered: Any, w: Any, counts: Any, fractions: Any) -> Any:
    """The first elements up to which the share of the weights is no less than fractions;
    ArgumentError when the program runs: weights whose sum is not finite, or 0."""
    length = shape_of(ordered)[-1]
    sums = cumsum(w, -1)
    whole = part(sums, len(shape_of(sums)) - 1, length - 1, 1)
    shares = cast(divide(sums, whole), dtype_of(fractions))
    shares = where(equal(shares, 0), -1.0, shares)
    below = less(expand_dims(shares, -2), expand_dims(fractions, -1))
    # Of no elements at all the result is NaN, whatever they weigh.
    wrong = logical_or(logical_not(isfinite(whole)), equal(whole, 0))
    wrong = logical_and(wrong, less(0, counts))
    error = ArgumentError(
        "quantile: weights must have a finite sum that is not 0", fix="Give 1 for what counts."
    )
    load("pyc.trace.raising").check(logical_not(any_true(wrong)), error)
    place = minimum(total(below, -1), length - 1)
    return _taken(ordered, cast(place, dtype_of(counts)), subtract(counts, 1))


__all__ = ["METHODS", "quantiles"]
