"""Indexing by what depends on data: masks, slices with traced bounds, places that are not zero.

What a mask takes is a `Selection`, and what is stored there changes the array under the mask.
Slices with traced bounds are views: of so many elements (`spans`), or boxes (`boxes`). Places of
what is not zero are selections of a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.interpreter import current
from pyc.numpy import indexing
from pyc.trace import boxes, inner_masks, location, spans
from pyc.trace.masks import check_shape, stored_under
from pyc.trace.parts import Selected
from pyc.trace.selection import Selection, first_of, is_integer
from pyc.trace.tracer import Tracer

# --- masks ----------------------------------------------------------------------------------------


def selects(key: Any) -> bool:
    """Whether an index selects elements by a traced mask, or by the elements of a selection."""
    _, parts = _taken_apart(key)
    return any(isinstance(k, Selected) for k in parts) or (
        (bool(parts) and inner_masks.is_mask(parts[0]) and inner_masks.is_open(parts[0]))
        or inner_masks.place_of(parts) is not None
    )


def _taken_apart(key: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """(integers that come first, the rest) of an index."""
    parts = key if type(key) is tuple else (key,)
    first = 0
    while first < len(parts) and is_integer(parts[first]):
        first += 1
    return parts[:first], parts[first:]


def taken(array: Tracer, key: Any) -> Any:
    """`array[key]` for a key that `selects`."""
    before, parts = _taken_apart(key)
    if inner_masks.place_of(parts) is not None:
        inner_masks.refuse()
    if inner_masks.is_mask(parts[0]) and not inner_masks.is_open(parts[0]):
        return indexing.getitem(array, key)
    if inner_masks.is_mask(parts[0]):
        part = indexing.getitem(array, before) if before else array
        check_shape(part, parts[0])
        found = Selection(_own(part), _own(parts[0]))
        return found[(slice(None), *parts[1:])] if len(parts) > 1 else found
    first = _only_selections(parts)
    places = [first.aligned(k).filled(0) if isinstance(k, Selection) else k for k in parts]
    found = indexing.getitem(array, (*before, *places))
    return Selection(found, first.mask, first.made)


def _own(x: Tracer) -> Tracer:
    """A copy of an array within the trace that is current."""
    copied: Tracer = current().copy(current().lift(x))
    return copied


def stored(array: Tracer, key: Any, new: Any) -> Any:
    """`array` after `array[key] = new` where the key `selects`, or `new` is a selection."""
    before, parts = _taken_apart(key)
    if inner_masks.place_of(parts) is not None:
        part = indexing.getitem(array, before) if before else array
        changed = inner_masks.stored(part, parts, new)
        return indexing.update(array, before, changed) if before else changed
    if parts and inner_masks.is_mask(parts[0]):
        part = indexing.getitem(array, before) if before else array
        changed = stored_under(part, parts[0], parts[1:], new)
        return indexing.update(array, before, changed) if before else changed
    if not selects(key):
        new.refuse("an assignment to other places than those under its mask")
    return _scattered(array, before, parts, new, "set")


def combined(array: Tracer, key: Any, new: Any, how: str) -> Any:
    """`array` after `np.add.at(array, key, new)` and its kin, for a selection of places."""
    before, parts = _taken_apart(key)
    if not any(isinstance(k, Selection) for k in parts):
        first_of((key, new), {}).refuse(f"`{how}.at` of places that are not a selection")
    return _scattered(array, before, parts, new, how)


def _scattered(array: Tracer, before: Any, parts: Any, new: Any, how: str) -> Any:
    """Places that are not selected lie behind the end, where updates are dropped."""
    first = _only_selections(parts)
    lengths = array.shape[len(before) :]
    places = [
        first.aligned(k).scattered(n) if isinstance(k, Selection) else k
        for k, n in zip(parts, lengths, strict=False)
    ]
    new = first.operand(new, "an assignment")
    return indexing.update(array, (*before, *places), new, how=how, mode="drop")


def _only_selections(parts: Any) -> Selection:
    """The first selection of an index that holds but integers and slices behind it: then the axes
    of the mask are the first ones of what it takes."""
    first: Selection = next(k for k in parts if isinstance(k, Selection))
    for place, k in enumerate(parts):
        plain = is_integer(k) or (place and (isinstance(k, slice) or k is Ellipsis))
        if not (plain or isinstance(k, Selection)):
            first.refuse("an index of this form")
        if isinstance(k, Selection) and (k.rest or not k.values.type.dtype.is_integer):
            first.refuse("an index that is not a line of integers")
    return first


# --- slices --------------------------------------------------------------------------------------


def narrowed(array: Tracer, key: Any) -> tuple[Any, Any]:
    """(a view of `array`, the index of it) in place of `array[key]`: slices with traced bounds are
    gone from the index where their length is known."""
    return spans.narrowed(array, key)


def slices(key: Any) -> bool:
    """Whether there is a slice with traced bounds in an index."""
    return any(map(spans.is_traced, key if type(key) is tuple else (key,)))


def part(array: Tracer, key: Any) -> Any:
    """The view `array[key]` of an index with traced slices."""
    return boxes.taken(array, key)


# --- places of what is not zero -------------------------------------------------------------------


def _nonzero(x: Any) -> tuple[Any, ...]:
    mask = pnp.not_equal(x, 0) if x.dtype != np.bool_ else x
    made = location.here()
    grid = pnp.indices(mask.shape)
    return tuple(Selection(grid[k], mask, made) for k in range(mask.ndim))


def _flatnonzero(x: Any) -> Any:
    return _nonzero(pnp.reshape(x, -1))[0]


def _argwhere(x: Any) -> Any:
    places = _nonzero(x)
    values = pnp.stack([p.values for p in places], axis=-1)
    return Selection(values, places[0].mask, places[0].made)


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
