"""Sorting and searching. Sorts are stable, with NaN last."""

from __future__ import annotations

from typing import Any

from pyc.errors import ConcretizationError, ShapeError
from pyc.interpreter import bind, bind1
from pyc.ir import dtype as dt
from pyc.numpy.core import axis_of, broadcast, cast, dtype_of, operands, shape_of, type_text
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import add, equal, less, multiply, subtract, where
from pyc.numpy.indexing import gather
from pyc.numpy.manipulation import moveaxis, ravel
from pyc.numpy.statistics import any as any_true


def sort(
    x: Any,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> Any:
    """`x` in ascending (or descending) order along an axis (flattened if None). Every kind of sort
    is the stable one."""
    del kind, stable
    return _sorted("sort", x, axis, descending)


def argsort(
    x: Any,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> Any:
    """The indices, int64, that sort `x` along an axis (flattened if None). Every kind of sort is
    the stable one."""
    del kind, stable
    return _sorted("argsort", x, axis, descending)


def _sorted(op: str, x: Any, axis: int | None, descending: bool) -> Any:
    x = asarray(x)
    if axis is None:
        x, axis = ravel(x), 0
    place = axis_of(op, axis, len(shape_of(x)))
    found = bind1(op, moveaxis(x, place, -1), descending=descending)
    return moveaxis(found, -1, place)


def top_k(x: Any, k: int) -> tuple[Any, Any]:
    """The k greatest elements along the last axis, descending, and their int64 indices."""
    values, places = bind("top_k", asarray(x), k=int(k))
    return values, places


def median(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The middle element, or the mean of the middle two; NaN if any is."""
    return quantile(x, 0.5, axis, keepdims)


def quantile(x: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The element at fraction q (one number) of the sorted axis, linearly between neighbours."""
    x = asarray(x)
    if not dtype_of(x).is_float:
        x = cast(x, dt.f64)
    shape = shape_of(x)
    rank = len(shape)
    if axis is None:
        line, place, kept = ravel(x), 0, (1,) * rank
    else:
        place = axis_of("quantile", axis, rank)
        line, kept = x, tuple(1 if k == place else n for k, n in enumerate(shape))
    n = shape_of(line)[place]
    if n == 0:
        raise ShapeError(f"quantile: no elements along axis {axis} of {type_text(x)}")
    if not isinstance(q, (int, float)):
        raise ShapeError("quantile: q must be one Python number")
    if not 0 <= q <= 1:
        raise ValueError(f"quantile: q must be in [0, 1], got {q}")
    ordered = moveaxis(sort(line, place), place, -1)
    at = q * (n - 1)
    low = int(at)
    high, part = min(low + 1, n - 1), at - int(at)
    below, above = gather(ordered, (..., low)), gather(ordered, (..., high))
    found = add(below, multiply(subtract(above, below), part)) if part else below
    last = gather(ordered, (..., n - 1))
    found = where(equal(last, last), found, last)
    if keepdims:
        return bind1("reshape", found, shape=kept)
    return found


def percentile(x: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """`quantile` with q in percent."""
    return quantile(x, q / 100, axis, keepdims)


def searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    """Where each of `v` would go in the ascending line `a`, int64."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    line, values = asarray(a), asarray(v)
    kind = dtype_of(operands("searchsorted", _stand_in(line), _stand_in(values))[0])
    return bind1("searchsorted", cast(line, kind), cast(values, kind), right=side == "right")


def _stand_in(x: Any) -> Any:
    """A rank-0 stand-in of an array's type, for promotion."""
    return broadcast(cast(False, dtype_of(x)), ())


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The number of the bin of each element, for ascending `bins`."""
    return searchsorted(bins, x, "left" if right else "right")


def isin(x: Any, test: Any) -> Any:
    """Whether each element occurs in `test` (compared with every one: for short lists)."""
    x, items = asarray(x), ravel(asarray(test))
    wide = bind1("reshape", x, shape=(*shape_of(x), 1))
    return any_true(equal(wide, items), axis=-1)


def nonzero(x: Any, *, size: int | None = None) -> tuple[Any, ...]:
    """The indices of the first `size` non-zero elements in row-major order, int64, one array for
    each axis; places beyond the number found hold the array's shape. ConcretizationError without
    `size`: the number found depends on data."""
    if size is None:
        raise ConcretizationError(
            "nonzero: the number of non-zero elements depends on data",
            fix="Give the most there can be: `pyc.numpy.nonzero(x, size=n)`; or work with "
            "`where(mask, x, other)`, which keeps the shape.",
        )
    x = asarray(x)
    shape = shape_of(x)
    flat = cast(ravel(x), dt.b1)
    count = shape_of(flat)[0]
    order = argsort(bind1("logical_not", flat))
    total = bind1("reduce_sum", cast(flat, dt.i64), axes=(0,))
    rank = bind1("iota", shape=(size,), axis=0, dtype=dt.i64)
    picked = gather(order, rank, mode="clip") if count else rank
    inside = less(rank, total)
    places = []
    for axis, n in enumerate(shape):
        below = 1
        for m in shape[axis + 1 :]:
            below *= m
        places.append(where(inside, _digit(picked, below, n), n))
    return tuple(places)


def _digit(x: Any, below: int, n: int) -> Any:
    whole = bind1("floor_divide", x, broadcast(cast(below, dt.i64), shape_of(x)))
    return bind1("remainder", whole, broadcast(cast(max(n, 1), dt.i64), shape_of(x)))
