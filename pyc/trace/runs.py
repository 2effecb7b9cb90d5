"""Slices with traced bounds as runs of an axis: those of one length meet element by element.

`a[i:]` takes the elements under a mask of its axis. Beside it another one, `b[: n - i]`, has
another mask; where the lengths are the same sum of numbers of the program its elements are moved to
those of the first. A slice that an end of the axis cuts short has another length than it says: the
program checks that both are as long, and raises NumPy's class of error.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.frozen import frozen
from pyc.interpreter import current
from pyc.trace import location, raising
from pyc.trace.affine import Sum, difference, sum_of, total
from pyc.trace.telling import Told, telling
from pyc.trace.tracer import Tracer


@frozen(eq=False)
class Run:
    """mask: of the axis; start: where it begins, within the axis; count: how many elements there
    are, `step` apart; lengths: how many the slice says, as sums of numbers of the program, with
    bounds that may be below zero counted from either end."""

    mask: Any
    start: Any
    count: Any
    step: Any
    lengths: tuple[Sum, ...]


def run_of_slice(k: slice, extent: int) -> Run:
    """The run of the elements that a slice takes of an axis, the same one for the same bounds. Its
    step is above zero."""
    first, last = (0 if k.start is None else k.start), (extent if k.stop is None else k.stop)
    step = 1 if k.step is None else k.step
    known: dict[Any, Run] = current().slices  # type: ignore[attr-defined]
    key = (*map(_key, (first, last, step)), extent)
    if key not in known:
        pairs = [(a, b) for a in _places(first, extent) for b in _places(last, extent)]
        start, stop = _from_start(first, extent), _from_start(last, extent)
        known[key] = _between(start, stop, step, extent, pairs)
    return known[key]


def _key(bound: Any) -> Any:
    found = sum_of(bound)
    assert found is not None
    return found.number, frozenset(found.parts.items())


def _between(
    start: Any, stop: Any, step: Any, extent: int, pairs: Sequence[tuple[Sum, Sum]]
) -> Run:
    """pairs: what the bounds may be, as sums."""
    first, last = pnp.clip(start, 0, extent), pnp.clip(stop, 0, extent)
    at = pnp.arange(extent)
    masks = [] if _is(start, 0) else [at >= start]
    masks += [] if _is(stop, extent) else [at < stop]
    count = pnp.maximum(last - first, 0)
    if not _is(step, 1):
        masks.append((at - first) % step == 0)
        count = (count + (step - 1)) // step
    mask = reduce(pnp.logical_and, masks)
    lengths = tuple(difference(b, a) for a, b in pairs) if _is(step, 1) else ()
    return Run(mask, first, count, step, lengths)


def _is(bound: Any, number: int) -> bool:
    return type(bound) is not Tracer and bool(bound == number)


def within(run: Run, k: slice) -> Run:
    """The run of the elements that a slice without a step takes of a run."""
    first, last = (0 if k.start is None else k.start), (run.count if k.stop is None else k.stop)
    start, stop = _inside(first, run.count), _inside(last, run.count)
    pairs = [
        (a, b)
        for said in run.lengths
        for a in ([Sum(0, {})] if k.start is None else _places(first, said))
        for b in ([said] if k.stop is None else _places(last, said))
    ]
    bounds = run.start + start * run.step, run.start + stop * run.step
    return _between(*bounds, run.step, run.mask.shape[0], pairs)


def _inside(bound: Any, count: Any) -> Any:
    """A bound of a slice of `count` elements, from the start of these."""
    return pnp.minimum(pnp.maximum(_from_start(bound, count), 0), count)


def _places(bound: Any, extent: int | Sum) -> list[Sum]:
    """What a bound may be, counted from the start of an axis."""
    found = sum_of(bound)
    if found is None:
        return []
    from_end = found.plus(extent) if isinstance(extent, int) else total(found, extent)
    if not found.parts:
        return [from_end if found.number < 0 else found]
    return [found, from_end] if found.falls() else [found]


def _from_start(bound: Any, extent: Any) -> Any:
    if type(bound) is not Tracer:
        return int(bound) + extent if bound < 0 else int(bound)
    wide = pnp.astype(bound, np.int64)
    return pnp.where(wide < 0, wide + extent, wide)


# --- runs beside others ---------------------------------------------------------------------------


def same(a: Run, b: Run) -> bool:
    """Whether two runs are the same elements of the axes."""
    lift = current().lift
    return a is b or lift(a.mask).value is lift(b.mask).value


def same_length(a: Run, b: Run) -> bool:
    """Whether the slices of two runs say that they are as long."""
    return any(difference(m, n).is_zero() for m in a.lengths for n in b.lengths)


def moved(values: Any, run: Run, to: Run, axis: int) -> Any:
    """The elements of a run along an axis at the places of another of its length; what is beside
    them is anything."""
    _check_as_long(run.count, to.count)
    number = (pnp.arange(to.mask.shape[0]) - to.start) // to.step
    at = number * run.step + run.start
    return pnp.take(values, at, axis=axis, mode="clip")


def says(run: Run, length: int) -> bool:
    """Whether the slice of a run says that it is so long."""
    return any(difference(n, Sum(length, {})).is_zero() for n in run.lengths)


def of_length(values: Any, run: Run, length: int, axis: int) -> Any:
    """The elements of a run along an axis as an array of the length that its slice says. The
    program checks that the slice is not cut short."""
    _check_as_long(run.count, length)
    return pnp.take(values, pnp.arange(length) * run.step + run.start, axis=axis, mode="clip")


def spread(values: Any, run: Run, axis: int) -> Any:
    """All elements along an axis at the places of a run, of which the program checks that it is as
    long."""
    length = values.shape[axis]
    _check_as_long(run.count, length)
    at = (pnp.arange(run.mask.shape[0]) - run.start) // run.step
    return pnp.take(values, at, axis=axis, mode="clip")


def reversed_within(values: Any, run: Run, axis: int) -> Any:
    """The elements of a run along an axis in reverse, at its places."""
    at = (run.start * 2 + (run.count - 1) * run.step) - pnp.arange(values.shape[axis])
    return pnp.take(values, at, axis=axis, mode="clip")


def place(k: Any, run: Run) -> Any:
    """Where element number `k` of a run is along its axis; the program raises IndexError if there
    are not so many."""
    number = pnp.where(pnp.less(k, 0), pnp.add(k, run.count), k)
    inside = pnp.logical_and(number >= 0, number < run.count)
    told: list[Told] = []
    with telling(told):
        shown = f"{k}" if type(k) is int else "given"
        size = f" with size {run.count}" if type(k) is int else ""
        error = IndexError(f"index {shown} is out of bounds for axis 0{size}")
    found = raising.raised(error, told, location.here())
    raising.bind_check(inside, found.bits(), found)
    return pnp.clip(run.start + number * run.step, 0, run.mask.shape[0] - 1)


def _check_as_long(count: Any, other: Any) -> None:
    error = ValueError(
        "operands could not be broadcast together: a slice with a traced bound takes another "
        "number of elements"
    )
    found = raising.raised(error, [], location.here())
    raising.bind_check(pnp.equal(count, other), found.bits(), found)


__all__ = [
    "Run",
    "moved",
    "of_length",
    "place",
    "reversed_within",
    "run_of_slice",
    "same",
    "same_length",
    "says",
    "spread",
    "within",
]
