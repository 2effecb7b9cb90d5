"""Elements of buffers: where an index or a box lies, what a load finds, what was never written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load
from pyc.ir.loops import Buffer, Stmt
from pyc.ir.simulate.findings import SimulationError
from pyc.ir.simulate.lanes import at_lane, static_extent
from pyc.ir.simulate.races import touch, tracked
from pyc.ir.simulate.state import Array, Frame, Machine, Storage


def poison(dtype: DType) -> Any:
    """The content of memory never written: NaN, or bytes of 0xAB."""
    if dtype is dt.b1:
        return True
    if dtype.is_float:
        return np.asarray(np.nan).astype(dtype.numpy)[()]
    return np.full(dtype.itemsize, 0xAB, np.uint8).view(dtype.numpy)[0]


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements; a buffer's own strides do not matter to what it holds."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def parameter_storage(
    buffer: Buffer, array: Array, arrays: Sequence[Array], frame: Frame
) -> Storage:
    """The storage of an argument, an output poisoned if nothing else holds its memory."""
    shape = tuple(static_extent(e, frame) for e in buffer.shape)
    if array.shape != shape or array.dtype != buffer.dtype.numpy:
        raise SimulationError(
            f"argument {buffer.name} must be {buffer.dtype}{list(shape)}, "
            f"is {array.dtype}{list(array.shape)}"
        )
    overlaps = any(a is not array and np.may_share_memory(a, array) for a in arrays)
    if buffer.role == "out" and not overlaps:
        array[...] = poison(buffer.dtype)
    flat = np.ascontiguousarray(array).reshape(-1)
    written = np.zeros(flat.size, np.bool_) if buffer.role == "out" else None
    return Storage(buffer, flat, shape, row_major(shape), None, 0, written)


def storage_of(buffer: Buffer, frame: Frame) -> Storage:
    """The storage that `buffer` has here; SimulationError if it has none."""
    storage = frame.buffers.get(buffer)
    if storage is None:
        raise SimulationError(f"buffer {buffer.name} is not a parameter and not allocated here")
    return storage


def address(
    machine: Machine,
    s: Stmt,
    storage: Storage,
    types: Sequence[Expr],
    index: Sequence[Array],
    frame: Frame,
) -> Array:
    """Flat positions; findings where an active lane's index is of a wrong type or range."""
    name = storage.buffer.name
    if len(index) != len(storage.shape):
        message = f"{name} has {len(storage.shape)} axes, the index has {len(index)}"
        raise SimulationError(message)
    mask = frame.mask
    flat: Array = np.zeros(machine.one, np.int64) if storage.base is None else storage.base
    for axis, (e, i) in enumerate(zip(types, index, strict=True)):
        if e.dtype is not dt.i64:
            machine.report("type", s, f"index {axis} of {name} is {e.dtype}, not i64")
            i = i.astype(np.int64)
        extent = storage.shape[axis]
        # Negative ones are large as unsigned numbers: one look at all finds both.
        if i.size and i.view(np.uint64).max() >= extent:
            bad = (i < 0) | (i >= extent)
            if mask is not None:
                bad = bad & mask
            if bad.any():
                value = int(np.broadcast_to(i, bad.shape)[bad][0])
                message = f"index {axis} of {name} is {value}, its extent {extent}"
                machine.report("bounds", s, message)
            i = np.clip(i, 0, max(extent - 1, 0))
        flat = flat + i * storage.strides[axis]
    return flat


def box(
    machine: Machine,
    s: Stmt,
    storage: Storage,
    index: Sequence[Array],
    extents: Sequence[int],
    lane: tuple[int, ...],
) -> tuple[Array, Array]:
    """Flat positions of a box over the last axes, and which of them lie inside the buffer."""
    first = [int(at_lane(i, lane)) for i in index]
    name = storage.buffer.name
    if len(first) != len(storage.shape) or len(extents) > len(first):
        raise SimulationError(f"a box of {len(extents)} axes in {name}, index {first}")
    single = len(first) - len(extents)
    flat = np.zeros((1,) * len(extents), np.int64)
    inside = np.ones((1,) * len(extents), np.bool_)
    if storage.base is not None:
        flat = flat + at_lane(storage.base, lane)
    for axis, at in enumerate(first):
        if axis < single:
            if not 0 <= at < storage.shape[axis]:
                message = f"index {axis} of {name} is {at}, its extent {storage.shape[axis]}"
                machine.report("bounds", s, message)
                inside = inside & False
            flat = flat + at * storage.strides[axis]
            continue
        shape = [1] * len(extents)
        shape[axis - single] = extents[axis - single]
        positions = (at + np.arange(extents[axis - single])).reshape(shape)
        inside = inside & (positions >= 0) & (positions < storage.shape[axis])
        flat = flat + positions * storage.strides[axis]
    shape = list(extents)
    inside = np.broadcast_to(inside, shape).reshape(-1)
    return np.where(inside, np.broadcast_to(flat, shape).reshape(-1), 0), inside


def load(machine: Machine, s: Stmt, node: Load, index: Sequence[Array], frame: Frame) -> Array:
    """The elements at `index` for all active lanes; a finding where one was never written."""
    storage = storage_of(node.buffer, frame)
    flat = address(machine, s, storage, node.index, index, frame)
    mask = frame.mask
    if storage.flat.size == 0:
        return np.full(flat.shape, poison(node.dtype), node.dtype.numpy)
    values: Array = storage.flat[flat]
    if storage.written is not None:
        unwritten = ~storage.written[flat]
        if mask is not None:
            unwritten = unwritten & mask
        if unwritten.any():
            machine.report("unwritten", s, f"reads {node.buffer.name} before it is written")
    if tracked(storage, frame):
        touch(machine, s, storage, flat, frame, write=False)
    if mask is not None:
        values = np.where(mask, values, poison(node.dtype))
    return values
