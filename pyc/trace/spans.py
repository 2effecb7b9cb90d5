"""Slices with traced bounds that are of a known length: views of so many elements, not masks.

`x[:, i : i + 3]` is one where `i + 3` is surely within the axis: the counter of a loop is between
known numbers. NumPy cuts a slice that reaches out of an axis short, so any other is a run of
unknown length (`runs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.frozen import frozen
from pyc.interpreter import bind1, type_of
from pyc.ir import dtype as dt
from pyc.numpy import indexing
from pyc.numpy.core import cast
from pyc.trace.affine import Sum, difference, sum_of
from pyc.trace.parts import Selected
from pyc.trace.ranges import range_of
from pyc.trace.tracer import Tracer


@frozen()
class Span:
    """start: where it begins, traced or not; length: how many elements; step: how far apart those
    are that it takes of them, below zero from the last one on."""

    start: Any
    length: int
    step: int


@frozen()
class _Bound:
    """A bound counted from the start of its axis: what it is, as a sum, and between which
    numbers."""

    place: Any
    sum: Sum
    low: int
    high: int

    def plus(self, more: int) -> _Bound:
        """It with a number added."""
        moved = self.place + more if more else self.place
        return _Bound(moved, self.sum.plus(more), self.low + more, self.high + more)


def is_traced(k: Any) -> bool:
    """Whether `k` is a slice some bound of which is known when the program runs only."""
    if type(k) is not slice:
        return False
    bounds = [b for b in (k.start, k.stop, k.step) if type(b) is Tracer]
    whole = all(b.type.dtype.is_integer and not b.type.shape for b in bounds)
    return whole and any(not b.is_at_hand for b in bounds)


def span_of(k: slice, extent: int) -> Span | None:
    """What a traced slice takes of an axis, if that is so many elements whatever its bounds are."""
    step = 1 if k.step is None else k.step
    if type(step) is Tracer or not step or (k.start is None and k.stop is None):
        return None
    if step < 0 and (k.start is None or k.stop is None):
        return None
    start, stop = (0 if k.start is None else k.start), (extent if k.stop is None else k.stop)
    first, last = _bound(start, extent), _bound(stop, extent)
    if first is None or last is None:
        return None
    if step < 0:
        first, last = last.plus(1), first.plus(1)
    length = difference(last.sum, first.sum)
    if length.parts:
        return None
    if length.number <= 0:
        return Span(0, 0, int(step))
    inside = first.low >= 0 and first.high + length.number <= extent
    return Span(first.place, length.number, int(step)) if inside else None


def _bound(given: Any, extent: int) -> _Bound | None:
    """None if it may be on both sides of zero."""
    found = sum_of(given)
    if found is None:
        return None
    reach = range_of(given)
    if type(given) is not Tracer:
        place = min(max(int(given) + extent if given < 0 else int(given), 0), extent)
        return _Bound(place, Sum(place, {}), place, place)
    here = _Bound(cast(given, dt.i64), found, reach.low, reach.high)
    if reach.low >= 0:
        return here
    return here.plus(extent) if reach.high < 0 and reach.low >= -extent else None


def narrowed(array: Any, key: Any) -> tuple[Any, Any]:
    """(a view of `array`, the index of it) in place of `array[key]`: traced slices of known lengths
    are gone from the index."""
    parts = key if type(key) is tuple else (key,)
    if not any(map(is_traced, parts)) or any(isinstance(k, Selected) for k in parts):
        return array, key
    axes = axes_of_entries(parts, len(array.shape))
    if axes is None:
        return array, key
    spans = {n: span_of(k, array.shape[axes[n]]) for n, k in enumerate(parts) if is_traced(k)}
    if not any(spans.values()):
        return array, key
    plain = all(k is None or k is Ellipsis or isinstance(k, slice) or _is_number(k) for k in parts)
    starts: list[Any] = [0] * len(array.shape)
    sizes = list(array.shape)
    rest: list[Any] = list(parts)
    for n, k in enumerate(parts):
        axis = axes[n]
        span = spans.get(n)
        if span is not None:
            starts[axis], sizes[axis] = span.start, span.length
            rest[n] = slice(None, None, span.step)
        elif plain and _is_number(k):
            starts[axis], sizes[axis] = _place(k, array, axis), 1
            rest[n] = 0
    return _view(array, starts, sizes), tuple(rest)


def _view(array: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
    fixed = tuple(None if type(s) is Tracer else s for s in starts)
    moving = [cast(s, dt.i64) for s in starts if type(s) is Tracer]
    return bind1("dynamic_slice", array, *moving, starts=fixed, sizes=tuple(sizes))


def _is_number(k: Any) -> bool:
    if type(k) is Tracer:
        return not k.type.shape and k.type.dtype.is_integer
    return isinstance(k, (int, np.integer)) and not isinstance(k, bool)


def _place(k: Any, array: Any, axis: int) -> Any:
    """An index within its axis, from the start."""
    extent = array.shape[axis]
    if type(k) is Tracer:
        return bind1("index_check", k, bound=extent, axis=axis)
    indexing.check(array, (*[slice(None)] * axis, k))
    return int(k) % extent


def axes_of_entries(parts: Sequence[Any], rank: int) -> list[int] | None:
    """Which axis each entry of an index begins at; None if there are too many."""
    taken = [0 if k is None or k is Ellipsis else _rank(k) for k in parts]
    if sum(taken) > rank or sum(k is Ellipsis for k in parts) > 1:
        return None
    found, axis = [], 0
    for k, count in zip(parts, taken, strict=True):
        found.append(axis)
        axis += rank - sum(taken) if k is Ellipsis else count
    return found


def _rank(k: Any) -> int:
    """How many axes an entry of an index takes."""
    if isinstance(k, slice) or _is_number(k):
        return 1
    kind = type_of(pnp.asarray(k))
    return kind.rank if kind.dtype is dt.b1 else 1


__all__ = ["Span", "axes_of_entries", "is_traced", "narrowed", "span_of"]
