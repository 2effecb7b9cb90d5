"""Statements that act on lanes: Let, Fail, Reduce, Cumulate, Store and Accumulate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pyc.frozen import replace
from pyc.ir import loops as lo
from pyc.ir import order
from pyc.ir.dtype import DType
from pyc.ir.evaluate_expr import evaluate_steps, steps_of
from pyc.ir.expr import Var
from pyc.ir.loops import Kind
from pyc.ir.simulate.findings import SimulationError
from pyc.ir.simulate.lanes import lane_shape, static_extent
from pyc.ir.simulate.memory import address, storage_of
from pyc.ir.simulate.races import touch, tracked
from pyc.ir.simulate.state import Array, Frame, Machine, Run, Storage
from pyc.ir.simulate.values import compute


def let(machine: Machine, s: lo.Let, frame: Frame) -> None:
    """Binds a variable."""
    (frame.env[s.var],) = compute(machine, s, "", [s.value], frame)


def fail(machine: Machine, s: lo.Fail, frame: Frame) -> None:
    """Notes the failure of the lowest site with its least value, read as unsigned bits: whatever
    the order of lanes and tasks, native code keeps that one."""
    condition, value = compute(machine, s, "", [s.condition, s.value], frame)
    if frame.mask is not None:
        condition = condition & frame.mask
    if not condition.any():
        return
    shape = np.broadcast_shapes(condition.shape, value.shape)
    hit = np.broadcast_to(value, shape)[np.broadcast_to(condition, shape)]
    bits = hit.astype(np.float64).view(np.int64) if hit.dtype.kind in "fV" else hit.astype(np.int64)
    least = (s.site, int(bits.view(np.uint64).min()))
    failed = machine.outcome.failed
    if failed is None or least < (failed[0], failed[1] % (1 << 64)):
        machine.outcome.failed = (s.site, int(np.uint64(least[1]).view(np.int64)))


def prefetch(machine: Machine, s: lo.Prefetch, frame: Frame) -> None:
    """Evaluates the index, and nothing else."""
    compute(machine, s, "", s.index, frame)


def reduce(machine: Machine, s: lo.Reduce, frame: Frame) -> None:
    """All elements of the domain at once, along one more lane axis."""
    axis = len(frame.lengths)
    extents = [max(static_extent(e, frame), 0) for _, e in s.domain]
    count = math.prod(extents)
    sequence = np.arange(count, dtype=np.int64)
    stride = count
    for (var, _), extent in zip(s.domain, extents, strict=True):
        stride = stride // extent if extent else 0
        position = sequence // stride % extent if count else sequence
        frame.env[var] = machine.line(axis, position)
    inner = frame
    if frame.mask is None and count == 0:
        inner = replace(frame, mask=np.zeros(machine.one, np.bool_))
    kinds = (*frame.kinds, Kind.SERIAL)
    inner = replace(inner, lengths=(*frame.lengths, count), kinds=kinds)
    values = compute(machine, s, "", s.values, inner)
    columns = []
    for v in values:
        shape = list(v.shape)
        shape[axis] = count
        columns.append(np.moveaxis(np.broadcast_to(v, shape), axis, -1))
    shapes = np.broadcast_shapes(*(c.shape for c in columns))
    types = tuple(v.dtype for v in s.values)
    combine = _combiner(machine, s.monoid, types)
    fill = order.MONOIDS[s.monoid].neutral(types)
    full = tuple(np.broadcast_to(c, shapes) for c in columns)
    for var, result in zip(s.results, order.reduce(combine, full, fill), strict=True):
        frame.env[var] = np.expand_dims(result, axis)


def cumulate(machine: Machine, s: lo.Cumulate, frame: Frame) -> Run:
    """All iterations at once, along one more lane axis."""
    axis = len(frame.lengths)
    count = max(static_extent(s.extent, frame), 0)
    if not count:
        return
    frame.env[s.var] = machine.line(axis, np.arange(count, dtype=np.int64))
    inner = replace(
        frame,
        lengths=(*frame.lengths, count),
        kinds=(*frame.kinds, Kind.SERIAL),
        axes={**frame.axes, s.var: axis},
    )
    values = compute(machine, s, "", s.values, inner)
    columns = []
    for v in values:
        shape = list(v.shape)
        shape[axis] = count
        columns.append(np.moveaxis(np.broadcast_to(v, shape), axis, -1))
    shapes = np.broadcast_shapes(*(c.shape for c in columns))
    combine = _combiner(machine, s.monoid, tuple(v.dtype for v in s.values))
    full = tuple(np.broadcast_to(c, shapes) for c in columns)
    for var, result in zip(s.results, order.cumulate(combine, full), strict=True):
        frame.env[var] = np.moveaxis(result, -1, axis)
    yield from machine.body(s.body, inner)


def store(machine: Machine, s: lo.Store, frame: Frame) -> None:
    """Stores the values of all active lanes; of two in one element the highest lane stays."""
    found = _scatter(machine, s, frame)
    if found is None:
        return
    storage, positions, values, flat = found
    storage.flat[positions] = values
    if storage.written is not None:
        storage.written[positions] = True
    if tracked(storage, frame):
        touch(machine, s, storage, flat, frame, write=True)


def accumulate(machine: Machine, s: lo.Accumulate, frame: Frame) -> None:
    """Combines the values of all active lanes into the elements, in lane order."""
    found = _scatter(machine, s, frame)
    if found is None:
        return
    storage, positions, values, flat = found
    if storage.written is not None and not storage.written[positions].all():
        machine.report("unwritten", s, f"reads {s.buffer.name} before it is written")
        storage.written[positions] = True
    combine = _combiner(machine, s.monoid, (s.buffer.dtype,))
    # Lanes that meet in one element apply one after the other: round r takes the r-th of each.
    by_element = np.argsort(positions, kind="stable")
    ordered = positions[by_element]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])[: len(ordered)]
    lengths = np.diff(np.r_[starts, len(ordered)])
    for r in range(int(lengths.max(initial=0))):
        pick = by_element[starts[lengths > r] + r]
        (result,) = combine((storage.flat[positions[pick]],), (values[pick],))
        storage.flat[positions[pick]] = result
    if tracked(storage, frame):
        free = _order_free(s.monoid, s.buffer.dtype)
        atomic = 1 + list(order.MONOIDS).index(s.monoid) if free else 0
        touch(machine, s, storage, flat, frame, write=True, atomic=atomic, lanes_ordered=True)


def _scatter(
    machine: Machine, s: lo.Store | lo.Accumulate, frame: Frame
) -> tuple[Storage, Array, Array, Array] | None:
    """A store's storage, its active positions and values in lane order, and all positions."""
    storage = storage_of(s.buffer, frame)
    *index, value = compute(machine, s, "", (*s.index, s.value), frame)
    if s.buffer.role == "in":
        machine.report("store-in", s, f"stores to the input {s.buffer.name}")
        return None
    if s.value.dtype is not s.buffer.dtype:
        message = f"stores {s.value.dtype} into {s.buffer.dtype} buffer {s.buffer.name}"
        machine.report("type", s, message)
        return None
    flat = address(machine, s, storage, s.index, index, frame)
    if storage.flat.size == 0:
        return None
    mask = frame.mask
    shape = flat.shape
    # The value may vary where the index does not: then the lanes must be told apart.
    if value.shape != shape or mask is not None:
        arrays = (flat, value) if mask is None else (flat, value, mask)
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
    positions = flat if flat.shape == shape else np.broadcast_to(flat, shape)
    values = value if value.shape == shape else np.broadcast_to(value, shape)
    if isinstance(s, lo.Accumulate):  # every lane counts, also those that do the same
        shape = np.broadcast_shapes(shape, lane_shape(machine, frame))
        positions, values = np.broadcast_to(positions, shape), np.broadcast_to(values, shape)
    if mask is None:
        return storage, positions.reshape(-1), values.reshape(-1), flat
    active = mask if mask.shape == shape else np.broadcast_to(mask, shape)
    return storage, positions[active], values[active], flat


def _combiner(machine: Machine, monoid: str, types: tuple[DType, ...]) -> Any:
    """The monoid over tuples of NumPy arrays."""
    made = machine.combines.get((monoid, types))
    if made is not None:
        return made
    definition = order.MONOIDS.get(monoid)
    if definition is None or definition.components != len(types):
        raise SimulationError(f"no monoid {monoid} of {len(types)} components")
    left = tuple(Var(f"a{n}", t) for n, t in enumerate(types))
    right = tuple(Var(f"b{n}", t) for n, t in enumerate(types))
    steps = steps_of(definition.combine(left, right))

    def combine(a: tuple[Array, ...], b: tuple[Array, ...]) -> tuple[Array, ...]:
        env = dict(zip((*left, *right), (*a, *b), strict=True))
        return tuple(evaluate_steps(steps, env))

    machine.combines[monoid, types] = combine
    return combine


_EXACT_ANYWAY = ("minimum", "maximum", "and", "or", "xor")


def _order_free(monoid: str, dtype: DType) -> bool:
    """Whether `Accumulate`s in any order give the same value, so that atomics may do them."""
    return monoid in _EXACT_ANYWAY or (monoid in ("add", "mul") and not dtype.is_float)
