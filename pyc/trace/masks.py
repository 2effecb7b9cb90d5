"""Masks of the first axes of an array: whether two are one, and storing under them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyc.numpy as pnp
from pyc.errors import ConcretizationError, IndexOutOfRangeError, ShapeError
from pyc.interpreter import current, type_of
from pyc.numpy import indexing
from pyc.numpy.core import cast, value
from pyc.trace import location
from pyc.trace.parts import Selected
from pyc.trace.tracer import Tracer

FIX = (
    "What works with it: element-wise functions, `sum`, `mean`, `min`, `max` and their kin, `len`, "
    "an element,\na loop over it, and `a[mask] = ...` under the same mask. Else write "
    "`where(mask, x, other)`, which keeps the shape;\n"
    "for a slice of a known length `pyc.lax.dynamic_slice(x, (i,), (n,))`."
)


def stored_under(array: Tracer, mask: Tracer, rest: Sequence[Any], new: Any) -> Any:
    """`array` after `array[mask][rest] = new`, of a mask of its first axes."""
    check_shape(array, mask)
    here = (*[slice(None)] * mask.ndim, *rest)
    target = indexing.getitem(array, here) if rest else array
    room = len(target.shape) - mask.ndim
    if isinstance(new, Selected):
        new = new.selection()
        if getattr(new, "mask", None) is None or not same(new.mask, mask):
            new.refuse("an assignment under another mask")
        if len(new.rest) > room:
            new.refuse("an assignment to fewer axes")
        values = pnp.reshape(new.values, mask.shape + (1,) * (room - len(new.rest)) + new.rest)
    else:
        values = value(new)
        if len(type_of(values).shape) > room:
            raise ConcretizationError(
                "assignment under a mask takes as many values as the mask selects, which depends "
                "on data",
                fix=FIX,
                place=location.here(),
            )
    changed = where_selected(mask, cast(values, target.type.dtype), target)
    if changed.type.shape != target.type.shape:
        raise ShapeError(
            f"an assignment of values of shape {type_of(values).shape[-room:]} to elements of "
            f"shape {target.type.shape[mask.ndim :]}",
            place=location.here(),
        )
    return indexing.update(array, here, changed) if rest else changed


def same(mask: Any, other: Any) -> bool:
    """Whether two masks are one value of the program."""
    lift = current().lift
    return lift(mask).value is lift(other).value


def check_shape(array: Tracer, mask: Tracer) -> None:
    """IndexOutOfRangeError unless the mask is one of the first axes of the array."""
    if array.shape[: mask.ndim] != mask.shape:
        raise IndexOutOfRangeError(
            f"a mask of shape {mask.shape} does not fit an array of shape {array.shape}",
            place=location.here(),
        )


def where_selected(mask: Any, x: Any, y: Any) -> Any:
    """x where the mask is true, else y: the axes of the mask are the first ones."""
    rank = max(len(type_of(x).shape), len(type_of(y).shape))
    wide = pnp.reshape(mask, mask.shape + (1,) * (rank - mask.ndim))
    return pnp.where(wide, x, y)


__all__ = ["FIX", "check_shape", "same", "stored_under", "where_selected"]
