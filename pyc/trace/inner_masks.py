"""Traced masks behind slices, `a[:, mask]`: they can be assigned to, not read.

What such an index takes has the axis of the mask in the middle, where a `Selection` has it first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import pyc.numpy as pnp
from pyc.errors import ConcretizationError, IndexOutOfRangeError, ShapeError
from pyc.interpreter import type_of
from pyc.ir import dtype as dt
from pyc.numpy import indexing
from pyc.numpy.core import cast, value
from pyc.trace import location
from pyc.trace.parts import Selected
from pyc.trace.trace import CONSTANT_BYTES
from pyc.trace.tracer import Tracer
from pyc.trace.updating import fits

_FIX = (
    "Move its axis to the front: `a.T[mask]` for `a[:, mask]`; or write `np.where(mask, new, a)`, "
    "which keeps the shape."
)


def place_of(parts: Sequence[Any]) -> int | None:
    """Where in an index of slices the one traced mask is; None if it is first, or of another
    form."""
    masks = [n for n, k in enumerate(parts) if is_mask(k) and is_open(k)]
    others = [k for n, k in enumerate(parts) if n not in masks]
    if len(masks) != 1 or not masks[0]:
        return None
    return masks[0] if all(isinstance(k, slice) or k is Ellipsis for k in others) else None


def is_mask(key: Any) -> bool:
    """Whether `key` is a traced array of bools."""
    return type(key) is Tracer and key.type.dtype is dt.b1 and bool(key.type.shape)


def is_open(mask: Tracer) -> bool:
    """Whether what a mask selects is not known while the function is traced, or too much for a
    constant of the program."""
    found = mask.needed()
    return found is None or int(found.sum()) * 8 > CONSTANT_BYTES


def refuse() -> NoReturn:
    """ConcretizationError: what a mask behind slices takes cannot be read."""
    raise ConcretizationError(
        "a mask behind slices selects a number of elements that depends on data, in the middle of "
        "the axes",
        fix=_FIX,
        place=location.here(),
    )


def stored(array: Tracer, parts: Sequence[Any], new: Any) -> Any:
    """`array` after `array[parts] = new`.

    raises ConcretizationError: `new` has an element for each selected one; ShapeError: it does not
    fit; IndexOutOfRangeError: the mask does not
    """
    place = place_of(parts)
    assert place is not None
    mask = parts[place]
    whole = (*parts[:place], *[slice(None)] * mask.ndim, *parts[place + 1 :])
    target = indexing.getitem(array, whole)
    behind = _axes_behind(array, parts, place, mask.ndim)
    ahead = target.ndim - behind - mask.ndim
    if ahead < 0 or target.shape[ahead : ahead + mask.ndim] != mask.shape:
        raise IndexOutOfRangeError(
            f"a mask of shape {mask.shape} does not fit axis {ahead} of an array of shape "
            f"{target.shape}",
            place=location.here(),
        )
    if isinstance(new, Selected):
        refuse()
    values = value(new)
    given = type_of(values).shape
    if len(given) > behind:
        if given[-behind - 1] != 1:
            refuse()
        ones = (1,) * mask.ndim
        split = len(given) - behind
        values = pnp.reshape(values, (*given[: split - 1], *ones, *given[split:]))
    if not fits(type_of(values).shape, target.shape):
        raise ShapeError(
            f"an assignment of values of shape {given} to elements of an array of shape "
            f"{target.shape}",
            place=location.here(),
        )
    wide = pnp.reshape(mask, mask.shape + (1,) * behind)
    changed = pnp.where(wide, cast(values, target.type.dtype), target)
    return indexing.update(array, whole, changed)


def _axes_behind(array: Tracer, parts: Sequence[Any], place: int, rank: int) -> int:
    """How many axes follow those of the mask."""
    if Ellipsis in [k for k in parts[:place] if k is Ellipsis]:
        return len(parts) - place - 1
    return array.ndim - place - rank


__all__ = ["is_mask", "is_open", "place_of", "refuse", "stored"]
