"""Batching rules of the reads and writes at computed indices of `indexing.py`.

Where places differ between lanes, the lane is one index more. The order in which equal places are
written stays that of each lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyc.ir.graph import Value

if TYPE_CHECKING:
    from pyc.ir.batch import Batch, Operand

Axes = tuple[int, ...]
Starts = tuple[int | None, ...]
Operands = Sequence["Operand"]


def _next(axes: Sequence[int]) -> Axes:
    """Axes of a lane, behind a batch axis."""
    return tuple(a + 1 for a in axes)


def _others(rank: int, axes: Sequence[int]) -> list[int]:
    return [k for k in range(rank) if k not in axes]


def _ordered(batch: Batch, x: Value, order: Axes) -> Value:
    return x if order == tuple(range(len(order))) else batch.bind1("transpose", x, axes=order)


def _indices(batch: Batch, indices: Operands) -> list[Value]:
    """The number of the lane, and indices with the batch axis first."""
    found = [batch.at(i, 0) for i in indices]
    return [batch.numbers(found[0].shape), *found]


def gather(batch: Batch, args: Operands, *, axes: Axes, position: int) -> list[Operand]:
    """Of an array that is the same for all lanes, or at places that are, with no index more."""
    x, *indices = args
    if x.axis is None:
        places = [batch.at(i, 0) for i in indices]
        found = batch.bind1("gather", x.value, *places, axes=axes, position=position)
        return [batch.operand(found, position)]
    value = batch.at(x, 0)
    if all(i.axis is None for i in indices):
        same = [i.value for i in indices]
        found = batch.bind1("gather", value, *same, axes=_next(axes), position=position + 1)
        return [batch.operand(found, 0)]
    places = _indices(batch, indices)
    found = batch.bind1("gather", value, *places, axes=(0, *_next(axes)), position=0)
    # The axes of the indices stand first: they come behind `position` of the others.
    rank = indices[0].lane.rank
    inner = tuple(range(1, 1 + rank))
    kept = tuple(range(1 + rank, len(found.shape)))
    order = (0, *kept[:position], *inner, *kept[position:])
    return [batch.operand(_ordered(batch, found, order), 0)]


def scatter(batch: Batch, args: Operands, *, axes: Axes, position: int, mode: str) -> list[Operand]:
    """Into an array of its own for each lane."""
    x, update, *indices = args
    value, new = batch.at(x, 0), batch.at(update, 0)
    if all(i.axis is None for i in indices):
        same = [i.value for i in indices]
        options = {"axes": _next(axes), "position": position + 1, "mode": mode}
        return [batch.operand(batch.bind1("scatter", value, new, *same, **options), 0)]
    inner = range(1 + position, 1 + position + indices[0].lane.rank)
    order = (0, *inner, *(k for k in _others(len(new.shape), inner) if k))
    places = _indices(batch, indices)
    options = {"axes": (0, *_next(axes)), "position": 0, "mode": mode}
    new = _ordered(batch, new, order)
    return [batch.operand(batch.bind1("scatter", value, new, *places, **options), 0)]


def _places(
    batch: Batch,
    starts: Sequence[Operand | int],
    limits: Sequence[int],
    counts: Axes,
    strides: Axes,
) -> list[Value]:
    """The places of a box in each lane: the number of the lane, and for each axis the start, within
    its limit, and on from there; each of the shape (lanes, *counts)."""
    shape = (batch.size, *counts)
    found = [batch.numbers(shape)]
    for k, (start, limit, stride) in enumerate(zip(starts, limits, strides, strict=True)):
        steps = batch.numbers(shape, k + 1)
        if stride != 1:
            steps = batch.bind1("mul", steps, batch.filled(stride, steps.type))
        if isinstance(start, int):
            first = batch.filled(min(max(start, 0), limit), steps.type)
        else:
            one = batch.at(start, 0)
            low, high = batch.filled(0, one.type), batch.filled(limit, one.type)
            one = batch.bind1("minimum", batch.bind1("maximum", one, low), high)
            first = batch.per_lane(one, shape)
        found.append(batch.bind1("add", first, steps))
    return found


def _all_starts(dynamic: Operands, starts: Starts) -> list[Operand | int]:
    """The start of each axis."""
    rest = iter(dynamic)
    return [next(rest) if s is None else s for s in starts]


def dynamic_slice(batch: Batch, args: Operands, *, starts: Starts, sizes: Axes) -> list[Operand]:
    """A gather where the starts differ between lanes."""
    x, *dynamic = args
    if all(s.axis is None for s in dynamic):
        same = [s.value for s in dynamic]
        options = {"starts": (0, *starts), "sizes": (batch.size, *sizes)}
        return [batch.operand(batch.bind1("dynamic_slice", batch.at(x, 0), *same, **options), 0)]
    shape = x.lane.shape
    moving = [k for k, s in enumerate(starts) if s is None]
    limits = [n - size for n, size in zip(shape, sizes, strict=True)]
    fixed = [0 if s is None else min(max(s, 0), n) for s, n in zip(starts, limits, strict=True)]
    counts = [shape[k] if k in moving else sizes[k] for k in range(len(shape))]
    batched = x.axis is not None
    value = batch.at(x, 0) if batched else x.value
    if tuple(counts) != shape:
        first, lanes = ([0], [batch.size]) if batched else ([], [])
        value = batch.bind1(
            "slice",
            value,
            start=(*first, *fixed),
            size=(*lanes, *counts),
            step=(1,) * (len(first) + len(shape)),
        )
    places = _places(
        batch,
        dynamic,
        [limits[k] for k in moving],
        tuple(sizes[k] for k in moving),
        (1,) * len(moving),
    )
    axes = (0, *_next(moving)) if batched else tuple(moving)
    found = batch.bind1(
        "gather", value, *(places if batched else places[1:]), axes=axes, position=0
    )
    stands = {k: place + 1 for place, k in enumerate((*moving, *_others(len(shape), moving)))}
    order = (0, *(stands[k] for k in range(len(shape))))
    return [batch.operand(_ordered(batch, found, order), 0)]


def update_slice(batch: Batch, args: Operands, *, starts: Starts, strides: Axes) -> list[Operand]:
    """A scatter where the starts differ between lanes."""
    x, update, *dynamic = args
    value, new = batch.at(x, 0), batch.at(update, 0)
    if all(s.axis is None for s in dynamic):
        same = [s.value for s in dynamic]
        options = {"starts": (0, *starts), "strides": (1, *strides)}
        return [batch.operand(batch.bind1("update_slice", value, new, *same, **options), 0)]
    shape, counts = x.lane.shape, update.lane.shape
    # An axis that is replaced whole has no places.
    axes = [k for k, (n, count) in enumerate(zip(shape, counts, strict=True)) if n != count]
    if not axes or 0 in counts:
        return [batch.operand(value if 0 in counts else new, 0)]
    begun = _all_starts(dynamic, starts)
    limits = [shape[k] - (counts[k] - 1) * strides[k] - 1 for k in axes]
    places = _places(
        batch,
        [begun[k] for k in axes],
        limits,
        tuple(counts[k] for k in axes),
        tuple(strides[k] for k in axes),
    )
    new = _ordered(batch, new, (0, *_next(axes), *_next(_others(len(shape), axes))))
    at = (0, *_next(axes))
    written = batch.bind1("scatter", value, new, *places, axes=at, position=0, mode="set")
    return [batch.operand(written, 0)]


def searchsorted(batch: Batch, args: Operands, *, right: bool, lead: int = 0) -> list[Operand]:
    """A line that is the same for all lanes takes all their values at once."""
    line, values = args
    if line.axis is None and not lead and values.axis is not None:
        found = batch.bind1("searchsorted", line.value, values.value, right=right)
        return [batch.operand(found, values.axis)]
    pair = batch.at(line, 0), batch.at(values, 0)
    return [batch.operand(batch.bind1("searchsorted", *pair, right=right, lead=lead + 1), 0)]


__all__ = ["dynamic_slice", "gather", "scatter", "searchsorted", "update_slice"]
