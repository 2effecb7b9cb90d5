"""Slices with traced bounds as runs of an axis: those of one length meet element by element.

`a[i:]` is a selection by a mask. Beside it another one, `b[: n - i]`, has another mask; where the
lengths are the same sum of numbers of the program its elements are moved to those of the first. A
slice that an end of the axis cuts short has another length than it says: the program checks that
both are as long, and raises NumPy's class of error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.frozen import frozen
from pyc.ir.graph import Value
from pyc.trace import location, raising
from pyc.trace.affine import Sum, difference, sum_of
from pyc.trace.tracer import Tracer


@frozen(eq=False)
class Run:
    """start: where it begins, within the axis; count: how many elements there are; lengths: how
    many the slice says, as sums of numbers of the program, with bounds that may be below zero
    counted from either end."""

    start: Any
    count: Any
    lengths: tuple[Sum, ...]


def run_of_slice(k: slice, extent: int) -> tuple[Run, Any]:
    """The run of the elements that a slice without a step takes of an axis, and their mask."""
    first, last = (0 if k.start is None else k.start), (extent if k.stop is None else k.stop)
    start, stop = _from_start(first, extent), _from_start(last, extent)
    at = pnp.arange(extent)
    mask = pnp.full((extent,), True)
    if k.start is not None:
        mask = pnp.logical_and(mask, at >= start)
    if k.stop is not None:
        mask = pnp.logical_and(mask, at < stop)
    start, stop = pnp.clip(start, 0, extent), pnp.clip(stop, 0, extent)
    lengths = (difference(b, a) for a in _places(first, extent) for b in _places(last, extent))
    return Run(start, pnp.maximum(stop - start, 0), tuple(lengths)), mask


def _places(bound: Any, extent: int) -> list[Sum]:
    """What a bound may be, counted from the start."""
    found = sum_of(bound)
    if found is None:
        return []
    return [found, found.plus(extent)] if found.falls() else [found]


def _from_start(bound: Any, extent: int) -> Any:
    wide = pnp.astype(pnp.asarray(bound), np.int64)
    return pnp.where(wide < 0, wide + extent, wide)


def same_length(a: Run | None, b: Run | None) -> bool:
    """Whether the slices of two runs say that they are as long."""
    if a is None or b is None:
        return False
    return any(difference(m, n).is_zero() for m in a.lengths for n in b.lengths)


def moved(values: Any, run: Run, to: Run, extent: int) -> Any:
    """The elements of a run at the places of another of its length, of an axis of an extent; what
    is beside them is anything."""
    _check_as_long(run.count, to.count)
    at = pnp.arange(extent) + (run.start - to.start)
    return pnp.take(values, at, axis=0, mode="clip")


def of_length(values: Any, run: Run | None, length: int) -> Any:
    """The elements of a run as an array of a length that its slice says; None if it says another.
    The program checks that the slice is not cut short."""
    said = () if run is None else run.lengths
    if run is None or not any(difference(n, Sum(length, {})).is_zero() for n in said):
        return None
    _check_as_long(run.count, length)
    return pnp.take(values, pnp.arange(length) + run.start, axis=0, mode="clip")


def reversed_within(values: Any, run: Run) -> Any:
    """The elements of a run in reverse, at its places."""
    at = (run.start * 2 + run.count - 1) - pnp.arange(values.shape[0])
    return pnp.take(values, at, axis=0, mode="clip")


def _check_as_long(count: Any, other: Any) -> None:
    error = ValueError(
        "operands could not be broadcast together: a slice with a traced bound takes another "
        "number of elements"
    )
    found = raising.raised(error, [], location.here())
    raising.bind_check(pnp.equal(count, other), found.bits(), found)


def remember(mask: Tracer, run: Run) -> None:
    """Notes the run that a mask is."""
    known: dict[Value, Any] = mask.owner.runs
    known[mask.value] = run


def known_run(mask: Any) -> Run | None:
    """The run that a mask is, if it is one."""
    found: Run | None = mask.owner.runs.get(mask.value) if type(mask) is Tracer else None
    return found


__all__ = [
    "Run",
    "known_run",
    "moved",
    "remember",
    "reversed_within",
    "run_of_slice",
    "same_length",
]
