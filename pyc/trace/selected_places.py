"""Places and ranges that depend on data: `np.nonzero` and its kin, slices with traced bounds,
single elements of what is selected.

All are selections, or masks for them: see `selection`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.interpreter import type_of
from pyc.ir import dtype as dt
from pyc.numpy import indexing
from pyc.trace import location, raising, selections
from pyc.trace.telling import Told, telling
from pyc.trace.tracer import Tracer

# --- places of what is not zero -------------------------------------------------------------------


def _nonzero(x: Any) -> tuple[Any, ...]:
    mask = pnp.not_equal(x, 0) if x.dtype != np.bool_ else x
    made = location.here()
    grid = pnp.indices(mask.shape)
    return tuple(selections().Selection(grid[k], mask, made) for k in range(mask.ndim))


def _flatnonzero(x: Any) -> Any:
    return _nonzero(pnp.reshape(x, -1))[0]


def _argwhere(x: Any) -> Any:
    places = _nonzero(x)
    values = pnp.stack([p.values for p in places], axis=-1)
    return selections().Selection(values, places[0].mask, places[0].made)


_FUNCTIONS: dict[Any, Callable[[Any], Any]] = {
    np.nonzero: _nonzero,
    np.where: _nonzero,
    np.flatnonzero: _flatnonzero,
    np.argwhere: _argwhere,
}


def places(function: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """What `function` gives for a traced array, None if it is none of these."""
    if function not in _FUNCTIONS or len(args) != 1 or kwargs:
        return None
    x = pnp.asarray(args[0])
    return _FUNCTIONS[function](x) if x.ndim else None


# --- slices ---------------------------------------------------------------------------------------


def is_traced_slice(k: Any) -> bool:
    """Whether `k` is a slice, without a step, some bound of which is known when the program runs
    only."""
    if type(k) is not slice or k.step not in (None, 1):
        return False
    bounds = [b for b in (k.start, k.stop) if type(b) is Tracer]
    whole = all(b.type.dtype.is_integer and not b.type.shape for b in bounds)
    return whole and any(not b.is_at_hand for b in bounds)


def by_masks(array: Tracer, key: Any) -> Any:
    """An index with masks in place of slices with traced bounds."""
    parts = key if type(key) is tuple else (key,)
    if not any(map(is_traced_slice, parts)):
        return key
    found: list[Any] = []
    axis = 0
    for k in parts:
        if k is Ellipsis or axis >= array.ndim:
            return key
        if is_traced_slice(k):
            found.append(_range_mask(k, array.shape[axis]))
        else:
            found.append(k)
        axis += 0 if k is None else type_of(k).rank if _is_mask(k) else 1
    return tuple(found) if type(key) is tuple else found[0]


def _is_mask(k: Any) -> bool:
    return type(k) is Tracer and k.type.dtype is dt.b1


def _range_mask(k: slice, extent: int) -> Any:
    """The mask of the elements that a slice takes of an axis."""
    at = pnp.arange(extent)
    inside = pnp.full((extent,), True)
    if k.start is not None:
        inside = pnp.logical_and(inside, at >= _from_start(k.start, extent))
    if k.stop is not None:
        inside = pnp.logical_and(inside, at < _from_start(k.stop, extent))
    return inside


def _from_start(bound: Any, extent: int) -> Any:
    wide = pnp.astype(bound, np.int64)
    return pnp.where(wide < 0, wide + extent, wide)


# --- elements -------------------------------------------------------------------------------------


def element(selection: Any, k: Any) -> Any:
    """The element, or row, number `k` of what is selected; the program raises IndexError if there
    are not so many."""
    mask = selection.mask
    if mask.ndim != 1:
        selection.refuse("an index of the elements under a mask of several axes")
    count = pnp.sum(mask)
    number = pnp.where(pnp.less(k, 0), pnp.add(k, count), k)
    hit = pnp.logical_and(mask, pnp.cumulative_sum(pnp.astype(mask, np.int64)) == number + 1)
    told: list[Told] = []
    with telling(told):
        shown = f"{k}" if type(k) is int else "given"
        size = f" with size {count}" if type(k) is int else ""
        error = IndexError(f"index {shown} is out of bounds for axis 0{size}")
    found = raising.raised(error, told, location.here())
    raising.bind_check(pnp.any(hit), found.bits(), found)
    return indexing.getitem(selection.values, pnp.argmax(hit))


def argextreme(selection: Any, name: str) -> Any:
    """The number of the least or greatest element among those selected, the first of several."""
    mask, values = selection.mask, selection.values
    if mask.ndim != 1 or selection.rest:
        selection.refuse(f"`np.arg{name}` of rows")
    best = selection.reduced(name)
    hit = values == best
    if values.dtype.kind == "f":
        hit = pnp.logical_or(hit, pnp.logical_and(pnp.isnan(values), pnp.isnan(best)))
    first = pnp.argmax(pnp.logical_and(mask, hit))
    before = pnp.arange(mask.shape[0]) < first
    return pnp.sum(pnp.logical_and(mask, before))


__all__ = ["argextreme", "by_masks", "element", "is_traced_slice", "places"]
