"""Arrays with more elements around them: modes of `pad` that compute what they add, and constants
that differ from end to end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyc.errors import ArgumentError, ShapeError
from pyc.ir import dtype as dt
from pyc.numpy.core import broadcast, cast, dtype_of, part, shape_of, structural, value
from pyc.numpy.creation import linspace
from pyc.numpy.elementwise import floor, rint
from pyc.numpy.manipulation import concat, flip, moveaxis, reshape
from pyc.numpy.sorting import median
from pyc.numpy.statistics import max as greatest
from pyc.numpy.statistics import mean
from pyc.numpy.statistics import min as least

__all__ = ["MODES", "padded"]

_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": greatest,
    "minimum": least,
    "mean": mean,
    "median": median,
}
MODES = ("constant", "empty", "linear_ramp", *_STATISTICS)


def _pairs(name: str, given: Any, rank: int) -> list[list[Any]]:
    """What is given for both ends of each axis: one thing, a pair, or a pair for each axis."""
    items = given
    if isinstance(items, (tuple, list)):
        if len(items) == 1:
            return _pairs(name, items[0], rank)
        if all(isinstance(v, (tuple, list)) for v in items) and len(items) == rank:
            return [list(v) * 2 if len(v) == 1 else list(v) for v in items]
        if len(items) == 2 and not any(isinstance(v, (tuple, list)) for v in items):
            return [list(items) for _ in range(rank)]
        raise ShapeError(f"pad: {name} {given!r} does not fit {rank} axes")
    return [[items, items] for _ in range(rank)]


def _constant(x: Any, axis: int, size: int, number: Any) -> Any:
    shape = tuple(size if k == axis else n for k, n in enumerate(shape_of(x)))
    return broadcast(cast(value(number), dtype_of(x)), shape)


def _ramp(x: Any, axis: int, size: int, end: Any, at_front: bool) -> Any:
    """From `end` to the element at one end of `x`, which is left out."""
    kind = dtype_of(x)
    edge = part(x, axis, 0 if at_front else shape_of(x)[axis] - 1, 1)
    wide = edge if kind.is_float or kind.is_complex else cast(edge, dt.f64)
    line = linspace(cast(value(end), dtype_of(wide)), wide, size, endpoint=False)
    shape = tuple(size if k == axis else n for k, n in enumerate(shape_of(x)))
    line = reshape(moveaxis(line, 0, axis), shape)
    line = floor(line) if kind.is_integer else line
    line = cast(line, kind)
    return line if at_front else flip(line, axis)


def _statistic(x: Any, mode: str, axis: int, size: int, count: int | None, at_front: bool) -> Any:
    """What stands for the first or last elements of each line."""
    length, kind = shape_of(x)[axis], dtype_of(x)
    taken = length if count is None else min(count, length)
    if not taken and mode in ("maximum", "minimum"):
        raise ArgumentError("pad: of no elements there is no greatest or least: `stat_length=0`")
    lines = part(x, axis, 0 if at_front else length - taken, taken)
    found = _STATISTICS[mode](lines, axis=axis, keepdims=True)
    if kind.is_integer and mode in ("mean", "median"):
        found = rint(found)
    shape = tuple(size if k == axis else n for k, n in enumerate(shape_of(x)))
    return broadcast(cast(found, kind), shape)


def padded(
    x: Any,
    widths: Sequence[Sequence[int]],
    mode: str,
    *,
    constant_values: Any = 0,
    end_values: Any = 0,
    stat_length: Any = None,
) -> Any:
    """`x` with more elements before and after, axis by axis.

    mode: one of `MODES`; constant_values, end_values: a number, a pair, or a pair for each axis;
    stat_length: how many elements at each end a statistic is of, all if None
    raises ArgumentError: a negative `stat_length`
    """
    rank = len(shape_of(x))
    lengths = _pairs("stat_length", structural(stat_length), rank)
    if any(n is not None and n < 0 for pair in lengths for n in pair):
        raise ArgumentError(f"pad: stat_length {stat_length} is negative")
    constants = _pairs("constant_values", _listed(constant_values), rank)
    ends = _pairs("end_values", _listed(end_values), rank)
    for axis, pair in enumerate(widths):
        if not shape_of(x)[axis] and any(pair) and mode not in ("constant", "empty"):
            raise ArgumentError(f"pad: mode {mode!r} has no element to go by along axis {axis}")
        parts = [x]
        for side, size in enumerate(pair):
            if not size:
                continue
            if mode == "linear_ramp":
                more = _ramp(x, axis, size, ends[axis][side], side == 0)
            elif mode in _STATISTICS:
                more = _statistic(x, mode, axis, size, lengths[axis][side], side == 0)
            else:
                number = constants[axis][side] if mode == "constant" else 0
                more = _constant(x, axis, size, number)
            parts = [more, *parts] if side == 0 else [*parts, more]
        x = concat(parts, axis) if len(parts) > 1 else x
    return x


def _listed(x: Any) -> Any:
    """A known array of several numbers as a list."""
    if isinstance(x, (tuple, list)) or not getattr(x, "ndim", 0):
        return x
    return structural(x)
