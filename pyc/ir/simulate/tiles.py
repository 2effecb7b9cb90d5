"""Copies of boxes, asynchronous or not, and products of tiles: what threads do together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pyc.ir import dtype as dt
from pyc.ir import loops as lo
from pyc.ir.instructions import multiply_tiles
from pyc.ir.loops import Space, Stmt
from pyc.ir.simulate.barriers import phase_of
from pyc.ir.simulate.facts import THREAD_KINDS
from pyc.ir.simulate.findings import SimulationError
from pyc.ir.simulate.lanes import active_threads, at_lane, lane_shape
from pyc.ir.simulate.memory import box, storage_of
from pyc.ir.simulate.races import access, cooperate, read_by_all, tracked
from pyc.ir.simulate.state import Array, Frame, Machine, Pending, Storage
from pyc.ir.simulate.values import compute

WARP = 32


@dataclass(slots=True)
class _Move:
    """A copy ready to be performed: positions in destination and source, and which are inside."""

    statement: Stmt
    destination: Storage
    source: Storage
    to: Array
    to_inside: Array
    from_: Array
    from_inside: Array


def copy_box(machine: Machine, s: lo.Copy, frame: Frame) -> None:
    """Copies a box now, or starts a copy that lands when its phase or block ends."""
    destination = storage_of(s.destination, frame)
    source = storage_of(s.source, frame)
    if s.destination.dtype is not s.source.dtype:
        message = f"copies {s.source.dtype} into {s.destination.dtype}"
        machine.report("type", s, message)
        return
    if s.destination.role == "in":
        machine.report("store-in", s, f"copies into the input {s.destination.name}")
        return
    roots = (*s.destination_index, *s.source_index, *s.signal_index)
    values = compute(machine, s, "", roots, frame)
    n, m = len(s.destination_index), len(s.source_index)
    spaces = (s.destination.space, s.source.space)
    collective = Space.SHARED in spaces or s.asynchronous
    for lane in _executors(machine, s, frame, collective, values):
        to, to_inside = box(machine, s, destination, values[:n], s.extents, lane)
        from_, from_inside = box(machine, s, source, values[n : n + m], s.extents, lane)
        used = to_inside & from_inside
        owner = np.asarray(at_lane(frame.owner, lane))
        move = _Move(s, destination, source, to, to_inside, from_, from_inside)
        if not s.asynchronous:
            threads = active_threads(frame) if collective else None
            cooperate(machine, s, source, from_[used], owner, threads, frame, lane, write=False)
            _land(machine, move)
            for rows, holders in _holders(machine, s, threads):
                here = np.zeros(to.shape, np.bool_)
                here.reshape(s.extents)[rows] = True
                to_ = to[to_inside & here]
                cooperate(machine, s, destination, to_, owner, holders, frame, lane, write=True)
            continue
        block = machine.block
        issuer = int(at_lane(frame.inner, lane))
        phase = None
        column = block.clocks.shape[1] - 1
        clock = len(block.drain) + 1
        if s.signal is not None:
            storage = storage_of(s.signal, frame)
            (element,) = box(machine, s, storage, values[n + m :], (), lane)[0]
            phase = phase_of(machine, s, s.signal, int(element), frame)
            column, clock = phase.column, phase.number + 1
            phase.gathered = np.maximum(phase.gathered, block.clocks[issuer])
        pending = Pending(
            lambda move=move: _land(machine, move),  # type: ignore[misc]
            math.prod(s.extents) * s.source.dtype.itemsize,
            s,
        )
        knowledge = block.clocks[issuer]
        for storage, positions, write in (
            (source, from_[used], False),
            (destination, to[to_inside], True),
        ):
            if storage.buffer.role != "in":
                here = np.full(positions.shape, column)
                times = np.full(positions.shape, clock)
                owners = np.broadcast_to(owner, positions.shape)
                access(
                    machine,
                    *(s, storage, positions, owners, here, times),
                    write=write,
                    knowledge=knowledge,
                )
        (block.drain if phase is None else phase.copies).append(pending)


def _holders(
    machine: Machine, s: lo.Copy, threads: Array | None
) -> Iterator[tuple[slice, Array | None]]:
    """Rows of a box and the threads that move them: of accumulators each warp moves its share."""
    warps = len(threads) // WARP if threads is not None else 0
    if threads is None or s.source not in machine.accumulators or s.extents[0] % max(warps, 1):
        yield slice(None), threads
        return
    share = s.extents[0] // warps
    for warp in range(warps):
        rows = slice(warp * share, (warp + 1) * share)
        yield rows, threads[warp * WARP : (warp + 1) * WARP]


def _land(machine: Machine, m: _Move) -> None:
    used = m.to_inside & m.from_inside
    written = m.source.written
    if written is not None and not written[m.from_[used]].all():
        machine.report(
            "unwritten", m.statement, f"reads {m.source.buffer.name} before it is written"
        )
    values = np.zeros(m.to.shape, m.source.flat.dtype)
    values[m.from_inside] = m.source.flat[m.from_[m.from_inside]]
    m.destination.flat[m.to[m.to_inside]] = values[m.to_inside]
    if m.destination.written is not None:
        m.destination.written[m.to[m.to_inside]] = True


def multiply(machine: Machine, s: lo.TileMultiply, frame: Frame) -> None:
    """The tile product in the accumulators' type; NumPy's order of summation."""
    m, n, k = s.shape
    storage = storage_of(s.accumulators, frame)
    if storage.shape != (m, n):
        message = f"accumulators of shape {storage.shape} for a tile of {(m, n)}"
        raise SimulationError(message)
    first = () if s.first is None else (s.first,)
    values = compute(machine, s, "", (*s.a_index, *s.b_index, *first), frame)
    count = len(s.a_index)
    zero = (machine.uniform(0, dt.i64),) * 2
    for lane in _executors(machine, s, frame, True, values):
        operands = []
        for buffer, index, shape in (
            (s.a, values[:count], (k, m) if s.transpose_a else (m, k)),
            (s.b, values[count : count + len(s.b_index)], (n, k) if s.transpose_b else (k, n)),
        ):
            tile = storage_of(buffer, frame)
            flat, inside = box(machine, s, tile, index, shape, lane)
            if not inside.all():
                message = f"tile {shape} of {buffer.name} reaches out of it"
                machine.report("bounds", s, message)
            if tile.written is not None and not tile.written[flat[inside]].all():
                machine.report("unwritten", s, f"reads {buffer.name} before it is written")
            if tracked(tile, frame):
                read_by_all(machine, s, tile, flat[inside], frame, lane)
            operands.append(tile.flat[flat].reshape(shape).astype(storage.flat.dtype))
        a, b = operands
        product = (a.T if s.transpose_a else a) @ (b.T if s.transpose_b else b)
        places, _ = box(machine, s, storage, zero, (m, n), lane)
        assert storage.written is not None
        if not (first and bool(at_lane(values[-1], lane))):
            if not storage.written[places].all():
                name = s.accumulators.name
                machine.report("unwritten", s, f"adds to {name} before it is written")
            product = storage.flat[places].reshape(m, n) + product
        storage.flat[places] = product.reshape(-1)
        storage.written[places] = True


def multiply_pairs(machine: Machine, s: lo.PairsMultiply, frame: Frame) -> None:
    """Products of tiles of bfloat16, in the processor's order of summation."""
    first = () if s.first is None else (s.first,)
    roots = (*s.sums_index, *s.a_index, *s.b_index, *first)
    values = compute(machine, s, "", roots, frame)
    for lane in _executors(machine, s, frame, False, values):
        fresh = bool(first) and bool(at_lane(values[-1], lane))
        found, rest = [], list(values)
        for buffer, index, extents in s.boxes:
            storage = storage_of(buffer, frame)
            here, rest = rest[: len(index)], rest[len(index) :]
            flat, inside = box(machine, s, storage, here, extents, lane)
            if not inside.all():
                message = f"tiles {extents} of {buffer.name} reach out of it"
                machine.report("bounds", s, message)
            unread = fresh and buffer is s.sums
            if storage.written is not None and not (unread or storage.written[flat].all()):
                machine.report("unwritten", s, f"reads {buffer.name} before it is written")
            found.append((storage, flat, storage.flat[flat].reshape(extents)))
        (storage, flat, sums), (_, _, a), (_, _, b) = found
        total = multiply_tiles(np.zeros_like(sums) if fresh else sums, a, b)
        storage.flat[flat] = total.reshape(-1)
        if storage.written is not None:
            storage.written[flat] = True


def split(machine: Machine, s: lo.Split, frame: Frame) -> None:
    """Parts a vector by a bound; binds how many of its elements are below."""
    values = compute(machine, s, "", lo.expressions(s), frame)
    counts = np.zeros(lane_shape(machine, frame), np.int64)
    for lane in _executors(machine, s, frame, False, values):
        owner = np.asarray(at_lane(frame.owner, lane))
        found, rest = [], list(values)
        for number, (buffer, index) in enumerate(s.accesses):
            storage = storage_of(buffer, frame)
            here, rest = rest[: len(index)], rest[len(index) :]
            flat, inside = box(machine, s, storage, here, (s.lanes,), lane)
            if not inside.all():
                message = f"{s.lanes} elements of {buffer.name} reach out of it"
                machine.report("bounds", s, message)
            if not number and storage.written is not None and not storage.written[flat].all():
                machine.report("unwritten", s, f"reads {buffer.name} before it is written")
            at = (flat[inside], owner, None, frame, lane)
            cooperate(machine, s, storage, *at, write=bool(number))
            found.append((storage, flat))
        (source, places), *targets = found
        elements = source.flat[places]
        is_below = elements < at_lane(rest[0], lane)
        for (storage, flat), which in zip(targets, (is_below, ~is_below), strict=True):
            moved = elements[which]
            storage.flat[flat] = 0
            storage.flat[flat[: len(moved)]] = moved
            if storage.written is not None:
                storage.written[flat] = True
        counts[lane] = np.count_nonzero(is_below)
    frame.env[s.count] = counts


def _executors(
    machine: Machine, s: Stmt, frame: Frame, collective: bool, index: Sequence[Array]
) -> Iterator[tuple[int, ...]]:
    """A lane for each time the statement is executed: once per thread, or for all together."""
    shape = lane_shape(machine, frame)
    active = np.broadcast_to(True if frame.mask is None else frame.mask, shape)
    lanes = np.argwhere(active)
    if not collective:
        yield from (tuple(map(int, lane)) for lane in lanes)
        return
    others = [a for a, k in enumerate(frame.kinds) if k not in THREAD_KINDS]
    leaders: dict[tuple[int, ...], tuple[int, ...]] = {}
    for lane in lanes:
        leaders.setdefault(tuple(int(lane[a]) for a in others), tuple(map(int, lane)))
    for i in index:
        here = np.broadcast_to(i, shape)
        for key, leader in leaders.items():
            same = active
            for a, at in zip(others, key, strict=True):
                same = same & machine.line(a, np.arange(shape[a]) == at)
            if (here[same] != here[leader]).any():
                message = "threads that execute this together disagree on an index"
                machine.report("uniform", s, message)
    yield from leaders.values()
