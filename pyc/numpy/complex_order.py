"""The order that NumPy gives complex numbers: by the real part, then by the imaginary part.

Loaded for the first complex numbers that are compared or sorted. Comparisons with NaN are false,
and extremes keep the first number that has one. In a sorted line come first the numbers without
NaN, then those with an imaginary one by their real parts, then those with a real one by their
imaginary parts.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from pyc.interpreter import bind1
from pyc.ir import dtype as dt
from pyc.numpy.core import broadcast, cast, dtype_of, literal, shape_of
from pyc.numpy.elementwise import add, imag, multiply, real
from pyc.numpy.indexing import gather, take_along_axis
from pyc.numpy.lax_scans import associative_scan
from pyc.numpy.logic import equal, isnan, less, logical_and, logical_not, logical_or, where
from pyc.numpy.manipulation import permute_dims, reshape

__all__ = ["argsort", "chosen", "compared", "extreme", "place", "running", "searchsorted", "sort"]

_TURNED = {"gt": "lt", "ge": "le"}


def compared(op: str, x: Any, y: Any) -> Any:
    """lt, le, gt or ge of two complex arrays of one shape and type."""
    if op in _TURNED:
        return compared(_TURNED[op], y, x)
    (a, b), (c, d) = ((real(v), imag(v)) for v in (x, y))
    whole = logical_not(logical_or(isnan(b), isnan(d)))
    below = logical_and(less(a, c), whole)
    return logical_or(below, logical_and(equal(a, c), bind1(op, b, d)))


def chosen(name: str, x: Any, y: Any) -> Any:
    """`maximum`, `minimum`, `fmax` or `fmin` of two complex arrays of one shape and type."""
    first = compared("ge" if name in ("maximum", "fmax") else "le", x, y)
    return where(logical_or(first, isnan(y if name.startswith("f") else x)), x, y)


def place(name: str, x: Any, missing: bool = False) -> Any:
    """Where the first greatest (argmax) or least (argmin) element of the last axis is, which is not
    empty: (..., n) -> (...), int64. missing: a number with NaN counts only where all have one."""
    most, end = ("reduce_max", -np.inf) if name == "argmax" else ("reduce_min", np.inf)
    last = (len(shape_of(x)) - 1,)
    nan = isnan(x)
    ends = literal(end, dtype_of(x).real)

    def found(part: Any, among: Any) -> Any:
        best = bind1(most, where(among, part, ends), axes=last)
        best = reshape(best, (*shape_of(best), 1))
        return logical_and(equal(part, best), among)

    held = found(imag(x), found(real(x), logical_not(nan)))
    if not missing:
        some = bind1("reduce_any", nan, axes=last)
        held = where(reshape(some, (*shape_of(some), 1)), nan, held)
    return bind1("argmax", cast(held, dt.u8), axes=last)


def extreme(name: str, x: Any, axes: tuple[int, ...], missing: bool = False) -> Any:
    """The greatest (max) or least (min) element over some axes, which are not empty; the first one
    with NaN if there is any, or with `missing` only where all have one."""
    shape = shape_of(x)
    kept = [k for k in range(len(shape)) if k not in axes]
    around = tuple(shape[k] for k in kept)
    rows = reshape(permute_dims(x, (*kept, *axes)), (*around, prod(shape[k] for k in axes)))
    at = place(f"arg{name}", rows, missing)
    return reshape(take_along_axis(rows, reshape(at, (*around, 1)), -1), around)


def running(name: str, x: Any, axis: int) -> Any:
    """Running maxima (cummax) or minima (cummin) along an axis."""
    if not shape_of(x)[axis]:
        return x
    function = "maximum" if name == "cummax" else "minimum"
    return associative_scan(lambda a, b: chosen(function, a, b), x, False, axis)


def _keys(x: Any) -> tuple[Any, Any, Any]:
    """Three arrays by which numbers are in NumPy's order, the first one deciding first: which parts
    are NaN, the real and the imaginary part, 0 for NaN."""
    parts = real(x), imag(x)
    first, second = (isnan(part) for part in parts)
    kind = add(multiply(cast(first, dt.i8), 2), cast(second, dt.i8))
    a, b = (where(nan, 0.0, p) for nan, p in zip((first, second), parts, strict=True))
    return kind, a, b


def argsort(x: Any, descending: bool) -> Any:
    """The indices that sort the last axis, int64; stable, with NaN last."""
    kind, a, b = _keys(x)
    order = bind1("argsort", b, descending=descending)
    for key, turned in ((a, descending), (kind, False)):
        again = bind1("argsort", take_along_axis(key, order, -1), descending=turned)
        order = take_along_axis(order, again, -1)
    return order


def sort(x: Any, descending: bool) -> Any:
    """The last axis in ascending, or descending, order; stable, with NaN last."""
    return take_along_axis(x, argsort(x, descending), -1)


def _before(x: Any, y: Any, tie: bool) -> Any:
    """Whether x comes before y in a sorted line, or with `tie` at the same place."""
    found: Any = None
    for k, (a, b) in enumerate(reversed(list(zip(_keys(x), _keys(y), strict=True)))):
        below = bind1("le" if tie and not k else "lt", a, b)
        same = bind1("eq", a, b)
        found = below if found is None else logical_or(below, logical_and(same, found))
    return found


def searchsorted(line: Any, values: Any, right: bool) -> Any:
    """Where each of `values` would go in a line in ascending order, int64, by bisection."""
    length = shape_of(line)[0]
    at = broadcast(literal(0, dt.i64), shape_of(values))
    step = 1 << length.bit_length() >> 1
    while step:
        further = add(at, step)
        there = gather(line, add(further, -1), mode="clip")
        goes = _before(there, values, right)
        at = where(logical_and(goes, less(further, length + 1)), further, at)
        step >>= 1
    return at
