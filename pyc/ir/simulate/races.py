"""Races: what agents (threads, parallel iterations, copies) did to each element, by vector clocks.

Takes positions with the agent of each and its clock; reports two accesses of which neither
happened before the other, at least one a write, and remembers the present ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pyc.ir.loops import Stmt
from pyc.ir.simulate.lanes import active_threads, at_lane
from pyc.ir.simulate.state import Array, Frame, Machine, Shadow, Storage

MEETINGS = 1 << 20
"""How often a group may meet; more than a kernel has barriers."""


def tracked(storage: Storage, frame: Frame) -> bool:
    """Whether agents that are concurrent here can meet in this storage."""
    return frame.depth > storage.depth and storage.buffer.role != "in"


def touch(
    machine: Machine,
    s: Stmt,
    storage: Storage,
    flat: Array,
    frame: Frame,
    *,
    write: bool,
    atomic: int = 0,
    lanes_ordered: bool = False,
) -> None:
    """Records the accesses of all active lanes."""
    parts = [flat.shape, frame.owner.shape, frame.inner.shape]
    if frame.mask is not None:
        parts.append(frame.mask.shape)
    shape = np.broadcast_shapes(*parts)
    arrays = [np.broadcast_to(a, shape) for a in (flat, _agents(machine, frame), frame.inner)]
    if frame.mask is None:
        positions, owner, inner = (a.reshape(-1) for a in arrays)
    else:
        active = np.broadcast_to(frame.mask, shape)
        positions, owner, inner = (a[active] for a in arrays)
    if machine.concurrent_iterations:
        clock = np.full(inner.shape, machine.inner_epoch)
    else:
        clock = machine.block.time_of(inner)
    if write and not atomic:
        # Lanes of one thread loop accumulate in lane order: only other warps can collide.
        apart = machine.thread_extent if lanes_ordered and frame.warps is not None else 1
        _find_collisions(machine, s, storage, positions, owner, inner // apart)
    access(machine, s, storage, positions, owner, inner, clock, write=write, atomic=atomic)


def _agents(machine: Machine, frame: Frame) -> Array:
    """The owners of accesses; of blocks of a group with how often it has met."""
    if machine.group == 1:
        return frame.owner
    found: Array = frame.owner * MEETINGS + machine.block.meetings_passed
    return found


def _find_collisions(
    machine: Machine, s: Stmt, storage: Storage, positions: Array, owner: Array, inner: Array
) -> None:
    """Finds two agents that store to one element in one statement."""
    if storage.shadow is None:
        storage.shadow = Shadow.of(storage.flat.size)
    # The shadow itself serves to find them: the last agent to write its name stays.
    owners, inners = storage.shadow.owner[0], storage.shadow.inner[0]
    before = owners[positions], inners[positions]
    owners[positions], inners[positions] = owner, inner
    lost = (owners[positions] != owner) | (inners[positions] != inner)
    if lost.any():
        at = int(np.argmax(lost))
        one = _agent_name(machine, owner[at], inner[at])
        two = _agent_name(machine, owners[positions[at]], inners[positions[at]])
        _report_race(machine, s, storage, int(positions[at]), f"{one} and {two} both write")
    owners[positions], inners[positions] = before


def access(
    machine: Machine,
    s: Stmt,
    storage: Storage,
    positions: Array,
    owner: Array,
    inner: Array,
    clock: Array,
    *,
    write: bool,
    atomic: int = 0,
    knowledge: Array | None = None,
) -> None:
    """Checks accesses against the remembered ones, then remembers them.

    positions, owner, inner, clock: one per access. knowledge: the clocks by which to judge
    what came before, where these are not those of the accessing threads.
    """
    if storage.shadow is None:
        storage.shadow = Shadow.of(storage.flat.size)
    shadow = storage.shadow
    for slot in (0, 1, 2) if write else (0,):
        clash = _not_ordered(machine, shadow, slot, positions, owner, inner, knowledge)
        if atomic and slot == 0:
            clash &= shadow.atomic[positions] != atomic
        if clash.any():
            at = int(np.argmax(clash))
            place = int(positions[at])
            before = _agent_name(machine, shadow.owner[slot, place], shadow.inner[slot, place])
            now = _agent_name(machine, owner[at], inner[at])
            did = "read" if slot else "wrote"
            does = "writes" if write else "reads"
            _report_race(machine, s, storage, place, f"{before} {did}, {now} {does}")
    if write:
        shadow.owner[0, positions] = owner
        shadow.inner[0, positions] = inner
        shadow.clock[0, positions] = clock
        shadow.atomic[positions] = atomic
        return
    for slot in (1, 2):
        free = ~_not_ordered(machine, shadow, slot, positions, owner, inner, knowledge)
        known = shadow.owner[slot, positions], shadow.inner[slot, positions]
        if slot == 1:
            better = (owner < known[0]) | ((owner == known[0]) & (inner < known[1]))
        else:
            better = (owner > known[0]) | ((owner == known[0]) & (inner > known[1]))
        take = np.flatnonzero(free | better)
        if slot == 1:
            take = take[::-1]  # of several in one access the last assigned stays: the lowest
        shadow.owner[slot, positions[take]] = owner[take]
        shadow.inner[slot, positions[take]] = inner[take]
        shadow.clock[slot, positions[take]] = clock[take]


def _not_ordered(
    machine: Machine,
    shadow: Shadow,
    slot: int,
    positions: Array,
    owner: Array,
    inner: Array,
    knowledge: Array | None,
) -> Array:
    """Where the access remembered in `slot` did not happen before the present one."""
    then_owner = shadow.owner[slot, positions]
    now: Array = then_owner >= machine.owner_base
    if not now.any():
        return now
    then_inner, then = shadow.inner[slot, positions], shadow.clock[slot, positions]
    if knowledge is not None:
        ordered = knowledge[then_inner % len(knowledge)] >= then
    elif machine.concurrent_iterations:
        ordered = (then_inner == inner) | (then != machine.inner_epoch)
    else:
        clocks = machine.block.clocks
        # Accesses of another block may be of a thread number that this one has not.
        column = then_inner % (machine.block.columns if machine.group > 1 else clocks.shape[1])
        ordered = clocks[inner, column] >= then
    if machine.group > 1:
        return now & _not_ordered_blocks(machine, then_owner, owner, ordered)
    unordered: Array = now & ((then_owner != owner) | ~ordered)
    return unordered


def _not_ordered_blocks(machine: Machine, then_owner: Array, owner: Array, ordered: Array) -> Array:
    """Where an access of a block of a group did not happen before the present one. ordered: by the
    clocks of one block."""
    then_block, block = then_owner // MEETINGS, owner // MEETINGS
    known = then_owner % MEETINGS < machine.block.knows[block % machine.group]
    before = (then_block // machine.group == block // machine.group) & known
    unordered: Array = ~np.where(then_block == block, ordered, before)
    return unordered


def cooperate(
    machine: Machine,
    s: Stmt,
    storage: Storage,
    positions: Array,
    owner: Array,
    threads: Array | None,
    frame: Frame,
    lane: tuple[int, ...],
    *,
    write: bool,
) -> None:
    """Records that threads share the work of a box: element e is done by one of them.

    The thread is half the group away from e modulo the group, so that a thread that reads
    the element of its own number afterwards, without a barrier, is found.
    """
    if not tracked(storage, frame):
        return
    if threads is None:
        inner = np.full(positions.shape, at_lane(frame.inner, lane))
    else:
        count = len(threads)
        inner = threads[(np.arange(len(positions)) + count // 2) % count]
    if machine.concurrent_iterations:
        clock = np.full(inner.shape, machine.inner_epoch)
    else:
        clock = machine.block.clocks[inner, inner]
    owners = np.broadcast_to(owner, positions.shape)
    access(machine, s, storage, positions, owners, inner, clock, write=write)


def read_by_all(
    machine: Machine,
    s: Stmt,
    storage: Storage,
    positions: Array,
    frame: Frame,
    lane: tuple[int, ...],
) -> None:
    """Records reads by every active thread: all must know of the writes before."""
    owner = np.full(positions.shape, at_lane(frame.owner, lane))
    if machine.concurrent_iterations:
        inner = np.full(positions.shape, at_lane(frame.inner, lane))
        clock = np.full(positions.shape, machine.inner_epoch)
        access(machine, s, storage, positions, owner, inner, clock, write=False)
        return
    threads = active_threads(frame)
    clocks = machine.block.clocks
    knowledge = clocks[threads].min(axis=0)
    for thread in {int(threads.min()), int(threads.max())}:
        inner = np.full(positions.shape, thread)
        clock = np.full(positions.shape, clocks[thread, thread])
        access(
            machine, s, storage, positions, owner, inner, clock, write=False, knowledge=knowledge
        )


def outlived(machine: Machine, s: Stmt, storage: Storage) -> None:
    """Finds a block of a cluster that may end while another one still reads its part of a buffer:
    its first thread, for one, does not know of the read."""
    if storage.shadow is None:
        return
    positions = np.arange(storage.flat.size)
    part = max(storage.flat.size // storage.shape[0], 1)
    inner = positions // part * machine.block_threads
    for slot in (1, 2):
        owner = storage.shadow.owner[slot]
        reader = storage.shadow.inner[slot]
        clash = _not_ordered(machine, storage.shadow, slot, positions, owner, inner, None)
        clash &= reader // machine.block_threads != inner // machine.block_threads
        if clash.any():
            place = int(np.argmax(clash))
            name = _agent_name(machine, owner[place], reader[place])
            ends = f"the block of thread {int(inner[place])} may end before"
            _report_race(machine, s, storage, place, f"{name} reads, {ends}")


def _agent_name(machine: Machine, owner: Any, inner: Any) -> str:
    if machine.concurrent_iterations:
        nested = f", inner iteration {int(inner)}" if inner else ""
        return f"parallel iteration {int(owner) - machine.owner_base}{nested}"
    if machine.group > 1:
        thread, block = int(inner) % machine.block_threads, int(owner) // MEETINGS
        return f"thread {thread} of block {block}"
    who = f"thread {int(inner)}" if inner < machine.threads else "an asynchronous copy"
    return f"{who} of block {int(owner)}"


def _report_race(machine: Machine, s: Stmt, storage: Storage, place: int, how: str) -> None:
    size = max(math.prod(storage.shape), 1)
    where = tuple(int(i) for i in np.unravel_index(place % size, storage.shape or (1,)))
    machine.report("race", s, f"{storage.buffer.name}{list(where)}: {how}, without order")
