"""Quantiles by other methods than linear interpolation, and with weights.

A method says where among n ordered elements a fraction lies: at one of them, or between two. The
first nine are those of Hyndman and Fan, "Sample quantiles in statistical packages" (1996), under
NumPy's names. Where n is the number of elements that are not NaN, it is traced, like the place.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from pyc.errors import ArgumentError
from pyc.interpreter import bind1
from pyc.ir import dtype as dt
from pyc.numpy.core import (
    cast,
    dtype_of,
    known_elements,
    literal,
    shape_of,
    structural,
)
from pyc.numpy.elementwise import (
    add,
    ceil,
    clip,
    divide,
    floor,
    maximum,
    minimum,
    multiply,
    remainder,
    rint,
    subtract,
)
from pyc.numpy.indexing import gather, take_along_axis
from pyc.numpy.logic import (
    equal,
    isfinite,
    isnan,
    less,
    logical_and,
    logical_not,
    not_equal,
    where,
)
from pyc.numpy.manipulation import expand_dims, reshape
from pyc.numpy.sorting import argsort, lines_of, quantiles_of
from pyc.numpy.statistics import all as all_true
from pyc.numpy.statistics import count_nonzero, cumsum, weights_of

__all__ = ["by_method"]

_CONTINUOUS: dict[str, tuple[float, float]] = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
"""Method -> alpha and beta of the place n q + alpha + q (1 - alpha - beta), from 1."""
_DISCRETE = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
"""Methods that give one of the elements."""
METHODS = (*_DISCRETE, *_CONTINUOUS, "linear", "averaged_inverted_cdf", "midpoint")

_TRACED = SimpleNamespace(
    floor=floor,
    ceil=ceil,
    rint=rint,
    where=where,
    equal=equal,
    remainder=remainder,
    logical_and=logical_and,
)


def _place(at: Any, method: str, n: Any, q: float) -> tuple[Any, Any, Any]:
    """The numbers of the two elements between which a fraction lies, as floats, and how far it is
    from the first to the second. at: NumPy for a known n, functions of traced values else."""
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        place = n * q + (alpha + q * (1 - alpha - beta)) - 1
        low = at.floor(place)
        return low, low + 1, place - low
    if method == "averaged_inverted_cdf":
        place = n * q - 1
        low = at.floor(place)
        return low, low + 1, at.where(at.equal(low, place), 0.5, 1.0)
    place = (n - 1) * q
    if method == "linear":
        low = at.floor(place)
        return low, low + 1, place - low
    if method == "midpoint":
        low, high = at.floor(place), at.ceil(place)
        return low, high, at.where(at.equal(low, high), 0.0, 0.5)
    if method in ("inverted_cdf", "closest_observation"):
        place = n * q - (1 if method == "inverted_cdf" else 1.5)
        low = at.floor(place)
        stays = at.equal(low, place)
        if method == "closest_observation":
            stays = at.logical_and(stays, at.equal(at.remainder(low, 2.0), 1.0))
        found = at.where(stays, low, low + 1)
    else:
        found = {"lower": at.floor, "higher": at.ceil, "nearest": at.rint}[method](place)
    return found, found, 0.0


def _between(below: Any, above: Any, part: Any) -> Any:
    """From the nearer end, as NumPy does: exact at both ends."""
    kind = dtype_of(below)
    part = cast(part, kind)
    apart = subtract(above, below)
    near = where(
        less(part, 0.5),
        add(below, multiply(apart, part)),
        subtract(above, multiply(apart, subtract(literal(1, kind), part))),
    )
    # Beside an infinity the element itself, where the fraction falls on it.
    return where(equal(part, 0), below, where(equal(part, 1), above, near))


def _of_all(method: str) -> Callable[[Any, float], Any]:
    """The element at a fraction of the sorted last axis; NaN if any is."""

    def found(ordered: Any, fraction: float) -> Any:
        count = shape_of(ordered)[-1]
        low, high, part = _place(np, method, count, fraction)
        below, above = (gather(ordered, (..., int(np.clip(k, 0, count - 1)))) for k in (low, high))
        last = gather(ordered, (..., count - 1))
        part = 0.0 if low < 0 or low >= count - 1 else float(part)
        each = below if not part else above if part == 1 else _between(below, above, part)
        return where(equal(last, last), each, last)

    return found


def _of_numbers(method: str) -> Callable[[Any, float], Any]:
    """The element at a fraction of those of each line that are not NaN."""

    def found(ordered: Any, fraction: float) -> Any:
        count = cast(count_nonzero(logical_not(isnan(ordered)), -1), dt.f64)
        last = maximum(subtract(count, 1.0), 0.0)
        low, high, part = _place(_TRACED, method, count, fraction)
        below, above = (_at(ordered, cast(clip(k, 0.0, last), dt.i64)) for k in (low, high))
        return below if method in _DISCRETE else _between(below, above, part)

    return found


def _at(ordered: Any, place: Any) -> Any:
    """The elements at a place of the last axis, one for each line."""
    found = take_along_axis(ordered, expand_dims(place, -1), -1)
    return reshape(found, shape_of(place))


def _weighted(
    name: str, x: Any, weights: Any, axis: Any, missing: bool
) -> Callable[[Any, float], Any]:
    """The first element of each line up to which the sum of weights is at least a fraction.

    raises ArgumentError: known weights of a line have no sum to divide by; for traced ones it is an
    IndexOutOfRangeError when the program runs
    """
    lines, _ = lines_of(name, x, axis)
    heavy = cast(lines_of(name, weights_of(name, x, weights, axis), axis)[0], dt.f64)
    numbers = dtype_of(x).is_float
    if missing and numbers:
        heavy = where(isnan(lines), 0.0, heavy)
    shares = cumsum(take_along_axis(heavy, argsort(lines, -1), -1), -1)
    count = shape_of(lines)[-1]
    whole = gather(shares, (..., count - 1))
    wrong = logical_not(logical_and(isfinite(whole), not_equal(whole, 0.0)))
    if missing and numbers:
        wrong = logical_and(wrong, logical_not(all_true(isnan(lines), -1)))
    known = known_elements(wrong)
    if known is not None and known.any():
        raise ArgumentError(
            f"{name}: weights that are NaN, infinite or all zero",
            fix="Give weights with a finite sum other than zero.",
        )
    shares = divide(shares, expand_dims(whole, -1))
    # Elements before the first that weighs anything are never found.
    shares = where(equal(shares, 0.0), -1.0, shares)

    def found(ordered: Any, fraction: float) -> Any:
        place = where(wrong, count, minimum(count_nonzero(less(shares, fraction), -1), count - 1))
        each = _at(ordered, bind1("index_check", cast(place, dt.u64), bound=count, axis=0))
        if not numbers:
            return each
        end = gather(ordered, (..., 0 if missing else count - 1))
        return where(equal(end, end), each, end)

    return found


def _as_floats(q: Any, known: Any) -> Any:
    """Fractions that are integers as floats."""
    return np.asarray(known, np.float64) if np.asarray(known).dtype.kind in "biu" else q


def by_method(
    name: str,
    x: Any,
    q: Any,
    whole: int,
    axis: Any,
    keepdims: bool,
    method: str,
    weights: Any,
    *,
    missing: bool,
) -> Any:
    """Quantiles at fractions q / whole. missing: of the elements that are not NaN.

    raises ArgumentError: no such method, or weights with another than "inverted_cdf"
    """
    if method not in METHODS:
        raise ArgumentError(
            f"{name}: method {method!r} is not known", fix=f"Use one of {', '.join(METHODS)}."
        )
    if weights is not None:
        if method != "inverted_cdf":
            raise ArgumentError(
                f"{name}: method {method!r} does not take weights",
                fix='Use `method="inverted_cdf"`.',
            )
        between = _weighted(name, x, weights, axis, missing)
    else:
        counts = missing and dtype_of(x).is_float
        between = _of_numbers(method) if counts else _of_all(method)
    if method not in _DISCRETE and method != "linear" and whole == 1:
        known = structural(q)  # 0 and 1 are no places of elements
        if not hasattr(known, "type"):
            q = float(known) if type(q) is int else _as_floats(q, known)
    return quantiles_of(name, x, q, whole, axis, keepdims, between, as_they_are=method in _DISCRETE)
