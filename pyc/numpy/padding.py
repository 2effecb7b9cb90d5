"""`pad` by other ways than one constant: by elements at the edges, ramps, and statistics.

Axes are padded one after the other, as NumPy does: what is in a corner was made for the first axis
and continued along the second one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, ShapeError, UnsupportedOpError
from pyc.interpreter import bind1
from pyc.numpy import choices, statistics
from pyc.numpy.core import broadcast, cast, dtype_of, part, shape_of, structural, type_text
from pyc.numpy.creation import asarray, linspace
from pyc.numpy.elementwise import multiply, subtract
from pyc.numpy.manipulation import flip, moveaxis
from pyc.numpy.pieces import concat, pad_widths
from pyc.numpy.rounding import rint
from pyc.numpy.sorting import median

_OPTIONS: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",),
    "edge": (),
    "empty": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
}
"""What each mode takes."""

_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": statistics.max,
    "mean": statistics.mean,
    "median": median,
    "minimum": statistics.min,
}


def padded(x: Any, pad_width: Any, mode: Any, options: Mapping[str, Any]) -> Any:
    """`x` with more elements around it; see `pyc.numpy.pad`."""
    if callable(mode) and not isinstance(mode, type):
        raise UnsupportedOpError(
            "pad: a function as `mode` writes into the memory of the result",
            fix="Pad with zeros, and set the edges: `np.pad(x, width)`, `y[:width] = ...`.",
        )
    mode = choices.text("pad", "mode", mode, [*_OPTIONS])
    unknown = sorted({*options} - {*_OPTIONS[mode]})
    if unknown:
        raise ArgumentError(
            f"pad: mode {mode!r} does not take {', '.join(unknown)}",
            fix=f"It takes {', '.join(_OPTIONS[mode]) or 'nothing'}.",
        )
    widths = pad_widths(x, _of_axes(x, pad_width))
    for axis, (before, after) in enumerate(widths):
        if mode not in ("constant", "empty") and not shape_of(x)[axis] and (before or after):
            raise ShapeError(f"pad: nothing along axis {axis} of {type_text(x)} to pad it with")
    for axis, pair in enumerate(widths):
        if any(pair):
            x = _PADDED[mode](x, axis, pair, mode, options)
    return x


def _of_axes(x: Any, pad_width: Any) -> Any:
    """Pairs for each axis in place of a dict of them by axis."""
    if not isinstance(pad_width, dict):
        return pad_width
    pairs: list[Any] = [(0, 0)] * len(shape_of(x))
    for axis, width in pad_width.items():
        pairs[axis] = width if isinstance(width, (tuple, list)) else (width, width)
    return pairs


def _pair(x: Any, given: Any, axis: int) -> tuple[Any, Any]:
    """An option's values before and behind an axis of `x`: one for all, two for all, or by axis."""
    values = asarray(given)
    wide = broadcast(values, (len(shape_of(x)), 2))
    row = part(wide, 0, axis, 1)
    first, second = (bind1("reshape", part(row, 1, k, 1), shape=()) for k in (0, 1))
    return first, second


def _wide(x: Any, axis: int, size: int) -> tuple[int, ...]:
    return tuple(size if k == axis else n for k, n in enumerate(shape_of(x)))


def _with_values(x: Any, axis: int, widths: Any, mode: str, options: Mapping[str, Any]) -> Any:
    """Constants on either side; zeros where the elements do not matter."""
    del mode
    ends = _pair(x, options.get("constant_values", 0), axis)
    before, after = (
        broadcast(cast(end, dtype_of(x)), _wide(x, axis, size))
        for end, size in zip(ends, widths, strict=True)
    )
    return concat([before, x, after], axis)


def _with_places(x: Any, axis: int, widths: Any, mode: str, options: Mapping[str, Any]) -> Any:
    """Elements of the axis, as runs of slices."""
    kind = structural(options.get("reflect_type", "even"))
    kind = choices.text("pad", "reflect_type", kind, ("even", "odd"))
    length = shape_of(x)[axis]
    if kind == "odd" and length > 1:
        return _turned(x, axis, widths, mode == "symmetric")
    places = np.pad(np.arange(length), widths, mode=mode)  # type: ignore[call-overload]
    parts: list[Any] = []
    start = 0
    steps = np.diff(places)
    while start < len(places):
        end = start + 1
        while end < len(places) and steps[end - 1] == 1:
            end += 1
        parts.append(part(x, axis, int(places[start]), end - start))
        start = end
    return concat(parts, axis)


def _turned(x: Any, axis: int, widths: Any, with_edge: bool) -> Any:
    """The axis turned around its ends by half a circle, as often as it takes; with the elements at
    the ends twice or not."""
    period = shape_of(x)[axis]
    left, right = widths
    while left or right:
        length = shape_of(x)[axis]
        if with_edge:
            most, first = length // period * period, 0
        else:
            most, first = (length - 1) // (period - 1) * (period - 1), 1
        sizes = min(most, left), min(most, right)
        before = flip(part(x, axis, first, sizes[0]), axis)
        after = flip(part(x, axis, length - first - sizes[1], sizes[1]), axis)
        ends = part(x, axis, 0, 1), part(x, axis, length - 1, 1)
        before, after = (
            cast(subtract(multiply(2, end), each), dtype_of(x))
            for end, each in zip(ends, (before, after), strict=True)
        )
        x = concat([before, x, after], axis)
        left, right = left - sizes[0], right - sizes[1]
    return x


def _with_ramps(x: Any, axis: int, widths: Any, mode: str, options: Mapping[str, Any]) -> Any:
    """Numbers evenly spaced from the ends that are asked for to the edges of the axis."""
    del mode
    length, kind = shape_of(x)[axis], dtype_of(x).numpy
    ends = _pair(x, options.get("end_values", 0), axis)
    edges = (part(x, axis, 0, 1), part(x, axis, length - 1, 1))
    around = tuple(n for k, n in enumerate(shape_of(x)) if k != axis)
    ramps = [
        moveaxis(linspace(end, bind1("reshape", e, shape=around), size, False, dtype=kind), 0, axis)
        for end, e, size in zip(ends, edges, widths, strict=True)
    ]
    return concat([ramps[0], x, flip(ramps[1], axis)], axis)


def _with_statistics(x: Any, axis: int, widths: Any, mode: str, options: Mapping[str, Any]) -> Any:
    """The greatest, least, mean or middle of elements at either end."""
    length, kind = shape_of(x)[axis], dtype_of(x)
    given = structural(options.get("stat_length"))
    pairs = np.broadcast_to(np.array(given, object), (len(shape_of(x)), 2))[axis]
    counts = [length if n is None else min(int(n), length) for n in pairs]
    if min(counts) < 0:
        raise ArgumentError(
            f"pad: stat_length must not be negative, got {given!r}",
            fix="Give 1 or more, or leave it out for all elements.",
        )
    if 0 in counts and mode in ("maximum", "minimum"):
        raise ArgumentError(
            "pad: a stat_length of 0 has no greatest and no least element",
            fix="Give 1 or more, or leave it out for all elements.",
        )
    sides = []
    for start, count, size in zip((0, length - counts[1]), counts, widths, strict=True):
        found = _STATISTICS[mode](part(x, axis, start, count), axis, keepdims=True)
        if kind.is_integer and mode in ("mean", "median"):
            found = rint(found)
        sides.append(broadcast(cast(found, kind), _wide(x, axis, size)))
    return concat([sides[0], x, sides[1]], axis)


_PADDED: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("constant", "empty"), _with_values),
    **dict.fromkeys(("edge", "reflect", "symmetric", "wrap"), _with_places),
    **dict.fromkeys(_STATISTICS, _with_statistics),
    "linear_ramp": _with_ramps,
}

__all__ = ["padded"]
