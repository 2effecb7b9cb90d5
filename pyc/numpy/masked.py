"""Reductions with NumPy's `where=` and `initial=`: of the elements where a mask holds, and from a
value on.

An element under no mask becomes what the reduction does not notice; means and variances divide by
the number of those that count.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, OptionError, ShapeError
from pyc.ir import dtype as dt
from pyc.numpy import statistics
from pyc.numpy.core import (
    broadcast,
    cast,
    dtype_of,
    literal,
    reduced_axes,
    shape_of,
    start_of,
    to_dtype,
    type_text,
)
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import (
    add,
    divide,
    imag,
    maximum,
    minimum,
    multiply,
    real,
    sqrt,
    square,
    subtract,
)
from pyc.numpy.logic import isnan, logical_and, logical_not
from pyc.numpy.logic import where as choose

_SUMS: dict[str, tuple[int, Callable[[Any, Any], Any]]] = {"sum": (0, add), "prod": (1, multiply)}
_EXTREMES: dict[str, Callable[[Any, Any], Any]] = {"max": maximum, "min": minimum}
_TESTS = {"any": False, "all": True}
_SPREADS = ("mean", "var", "std")


def reduced(
    name: str,
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    initial: Any = None,
    ddof: float = 0,
    correction: float = np._NoValue,  # type: ignore[assignment]
    mean: Any = None,
) -> Any:
    """The reduction `name` of the elements of `x` where `where` holds, `initial` included.

    where: broadcasts to `x`; dtype: of sums, means and variances; ddof, correction, mean: of
    variances
    raises ShapeError: `where` does not fit; ArgumentError: an extreme under a mask has no `initial`
    """
    x, name = asarray(x), name.removeprefix("a") if name in ("amax", "amin") else name
    mask = None if where is True else mask_of(name, where, x)
    without_nan = name.startswith("nan")
    if without_nan:
        name = name.removeprefix("nan")
        if dtype_of(x).is_float or dtype_of(x).is_complex:
            counts = logical_not(isnan(x))
            mask = counts if mask is None else logical_and(mask, counts)
            if name in _SPREADS:
                statistics.check_fractions(f"nan{name}", dtype)
    if name in _SPREADS:
        less = statistics.degrees_less(name, ddof, correction)
        return _spread(name, x, axis, dtype, keepdims, mask, less, mean)
    if name in _TESTS:
        kept = x if mask is None else choose(mask, cast(x, dt.b1), _TESTS[name])
        return getattr(statistics, name)(kept, axis, keepdims)
    if name in _EXTREMES:
        return _extreme(name, x, axis, keepdims, mask, initial, without_nan)
    unit, join = _SUMS[name]
    kept = x if mask is None else choose(mask, x, literal(unit, dtype_of(x)))
    found = getattr(statistics, name)(kept, axis, dtype, keepdims)
    return found if initial is None else join(start_of(initial, dtype_of(found)), found)


def check_first(name: str, where: Any, x: Any, axis: Any = None, **_: Any) -> None:
    """Checks a reduction with `initial=None`, which begins with its first element: a sum or a
    product of no elements is not its identity then.

    raises ArgumentError: there is no first element, or there may be none under a mask
    """
    plain = name.removeprefix("nan")
    if plain not in _SUMS:
        return  # an extreme has no identity
    shape = shape_of(asarray(x))
    is_empty = any(not shape[k] for k in reduced_axes(name, axis, len(shape)))
    if where is not True or is_empty:
        why = "no elements" if where is True else "under a mask there may be no element"
        raise ArgumentError(
            f"{name}: {why}, and `initial=None` is for those that begin with an element",
            fix=f"Leave `initial` out: of no elements it is {_SUMS[plain][0]} then.",
        )


def mask_of(name: str, where: Any, x: Any) -> Any:
    """The mask `where=` of a reduction of `x`, of its shape. ShapeError: it does not fit."""
    if where is None or isinstance(where, (str, type)):
        raise OptionError(f"{name}: `where` is an array of bools, this is {where!r}")
    mask, shape = asarray(where), shape_of(x)
    if dtype_of(mask) is not dt.b1 and not isinstance(where, (list, tuple)):
        raise OptionError(
            f"{name}: `where` is an array of bools, this is {type_text(mask)}",
            fix="Compare it: `where=mask != 0`.",
        )
    mask, given = cast(mask, dt.b1), shape_of(mask)
    fits = len(given) <= len(shape) and all(
        n in (1, m) for n, m in zip(given[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise ShapeError(
            f"{name}: `where` of shape {given} does not broadcast to the array's, {shape}"
        )
    return broadcast(mask, shape)


def _extreme(
    name: str, x: Any, axis: Any, keepdims: bool, mask: Any, initial: Any, without_nan: bool
) -> Any:
    if initial is None:
        raise ArgumentError(
            f"{name}: under a mask there may be no element, and then it has no value",
            fix="Say which: `initial=-np.inf` for `max`, `initial=np.inf` for `min`.",
        )
    start = start_of(initial, dtype_of(x))
    missing = isnan(start) if without_nan and dtype_of(x).is_float else None
    if missing is not None:  # a start of NaN counts as none
        start = choose(missing, -inf if name == "max" else inf, start)
    kept = x if mask is None else choose(mask, x, start)
    shape = shape_of(x)
    axes = reduced_axes(name, axis, len(shape))
    if any(not shape[k] for k in axes):
        ones = tuple(1 if k in axes else n for k, n in enumerate(shape))
        kept = broadcast(start, ones)
    found = _EXTREMES[name](getattr(statistics, name)(kept, axis, keepdims), start)
    if missing is None:
        return found
    nothing = logical_and(missing, logical_not(statistics.any(mask, axis, keepdims)))
    return choose(nothing, nan, found)


def _spread(
    name: str,
    x: Any,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    mask: Any,
    correction: float,
    mean: Any,
) -> Any:
    """A mean, a variance or a standard deviation."""
    kind = dtype_of(x)
    counted = broadcast(literal(True, dt.b1), shape_of(x)) if mask is None else mask
    lossy = statistics.lossy(x, dtype)
    if lossy is not None:
        return _lossy_spread(name, x, axis, lossy, keepdims, counted, correction, mean)
    if dtype is not None:
        kind = to_dtype(dtype)
    elif not (kind.is_float or kind.is_complex):
        kind = dt.f64
    wide = cast(x, dt.f32 if kind.is_half else kind)
    zero = literal(0, dtype_of(wide))

    def total(values: Any, keep: bool) -> Any:
        return statistics.sum(choose(counted, values, zero), axis, keepdims=keep)

    def count(keep: bool, of: Any) -> Any:
        return cast(statistics.count_nonzero(counted, axis, keep), dtype_of(of))

    if name == "mean":
        out = divide(total(wide, keepdims), count(keepdims, wide))
        return cast(out, kind)
    middle = divide(total(wide, True), count(True, wide)) if mean is None else asarray(mean)
    away = subtract(wide, middle)
    if kind.is_complex:
        squares = add(square(real(away)), square(imag(away)))
        zero = literal(0, dtype_of(squares))
    else:
        squares = square(away)
    left = maximum(subtract(count(keepdims, squares), float(correction)), 0.0)
    found = divide(total(squares, keepdims), left)
    found = sqrt(found) if name == "std" else found
    return cast(found, kind) if kind.is_half or dtype is not None else found


def _lossy_spread(
    name: str,
    x: Any,
    axis: Any,
    kind: dt.DType,
    keepdims: bool,
    counted: Any,
    correction: float,
    mean: Any,
) -> Any:
    """As `_spread`, in a type that holds no fractions, or no imaginary parts: sums and quotients
    are of it, as in NumPy."""

    def shared(values: Any, keep: bool, less: float) -> Any:
        kept = choose(counted, values, literal(0, dtype_of(values)))
        total = cast(statistics.sum(kept, axis, kind, keep), dt.f64)
        count = cast(statistics.count_nonzero(counted, axis, keep), dt.f64)
        return cast(divide(total, maximum(subtract(count, less), 0.0)), kind)

    if name == "mean":
        return shared(x, keepdims, 0.0)
    middle = shared(x, True, 0.0) if mean is None else asarray(mean)
    found = shared(statistics.squares(subtract(x, middle)), keepdims, float(correction))
    return cast(sqrt(found), kind) if name == "std" else found


__all__ = ["check_first", "mask_of", "reduced"]
