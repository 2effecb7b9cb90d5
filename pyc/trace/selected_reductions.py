"""Sums, means and extremes of the elements under a mask, and single ones of them.

They run over whole arrays, with the elements that are not selected replaced by what a reduction
does not notice.

Each reduction takes a `Selection`, the axes of its values to reduce, those of the mask first, and
`ddof`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.ir import dtype as dt
from pyc.numpy import indexing
from pyc.numpy.core import cast
from pyc.trace import location, raising
from pyc.trace.telling import Told, telling


def _count(s: Any, over: tuple[int, ...]) -> Any:
    """How many elements a reduction combines, int64."""
    times = prod(s.values.shape[a] for a in over[s.mask.ndim :])
    return pnp.sum(s.mask) * times


def _total(s: Any, over: tuple[int, ...], ddof: Any) -> Any:
    return pnp.sum(s.filled(0), axis=over)


def _product(s: Any, over: tuple[int, ...], ddof: Any) -> Any:
    return pnp.prod(s.filled(1), axis=over)


def floats(s: Any) -> Any:
    """The selection in floats: bools and integers as float64."""
    return s if s.dtype.kind in "fc" else s.astype(np.float64)


def _wide(s: Any) -> Any:
    """Half types accumulate in float32."""
    return s.astype(np.float32) if s.values.type.dtype.is_half else s


def _mean(s: Any, over: tuple[int, ...], ddof: Any) -> Any:
    s = floats(s)
    total = _total(_wide(s), over, 0)
    count = cast(_count(s, over), total.type.dtype.real)
    return cast(pnp.divide(total, count), s.values.type.dtype)


def _variance(s: Any, over: tuple[int, ...], ddof: Any) -> Any:
    s = floats(s)
    wide = _wide(s)
    middle = pnp.sum(wide.filled(0), axis=over, keepdims=True)
    count = cast(_count(s, over), middle.type.dtype.real)
    apart = wide.map(lambda x: pnp.abs(x - pnp.divide(middle, count)) ** 2)
    freedom = pnp.maximum(count - ddof, 0)
    return cast(pnp.divide(_total(apart, over, 0), freedom), s.values.type.dtype.real)


def _deviation(s: Any, over: tuple[int, ...], ddof: Any) -> Any:
    return pnp.sqrt(_variance(s, over, ddof))


def _extreme(name: str) -> Callable[..., Any]:
    least = name == "max"

    def extreme(s: Any, over: tuple[int, ...], ddof: Any) -> Any:
        kind = s.values.type.dtype
        if kind is dt.b1:
            found = (_some if least else _every)(s, over, 0)
        else:
            found = getattr(pnp, name)(s.filled(_limit(kind, least)), axis=over)
        # Of no elements there is no extreme: NumPy raises, and so does the program.
        reduction = "maximum" if least else "minimum"
        why = f"zero-size array to reduction operation {reduction} which has no identity"
        raising.check(pnp.any(s.mask), ValueError(why))
        return found

    return extreme


def _limit(kind: dt.DType, least: bool) -> Any:
    """The least (or greatest) value of a type."""
    if kind.is_float:
        return -np.inf if least else np.inf
    info = np.iinfo(kind.numpy)
    return int(info.min if least else info.max)


def _some(s: Any, over: tuple[int, ...], ddof: Any) -> Any:
    return pnp.any(s.astype(np.bool_).filled(False), axis=over)


def _every(s: Any, over: tuple[int, ...], ddof: Any) -> Any:
    return pnp.all(s.astype(np.bool_).filled(True), axis=over)


def _nonzero(s: Any, over: tuple[int, ...], ddof: Any) -> Any:
    return pnp.sum(s.astype(np.bool_).filled(False), axis=over)


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": _total,
    "prod": _product,
    "mean": _mean,
    "var": _variance,
    "std": _deviation,
    "min": _extreme("min"),
    "max": _extreme("max"),
    "any": _some,
    "all": _every,
    "count_nonzero": _nonzero,
}


# --- single elements ------------------------------------------------------------------------------


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
