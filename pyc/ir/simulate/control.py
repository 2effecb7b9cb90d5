"""Statements with a body: loops of every kind, branches, roles and the life of a buffer.

Each is a coroutine that yields where a barrier in its body has to wait. Lane loops run all
iterations at once (parallel ones in chunks), grid loops block after block, roles of a thread loop
as coroutines of their own.
"""

from __future__ import annotations

import math

import numpy as np

from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir import loops as lo
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.expr import Load, Shuffle, postorder
from pyc.ir.loops import Extent, Kind, Space, Stmt
from pyc.ir.simulate.barriers import finish_block, start_phases
from pyc.ir.simulate.facts import LANE_KINDS, THREAD_KINDS, TOGETHER, WARP
from pyc.ir.simulate.findings import SimulationError
from pyc.ir.simulate.lanes import active_threads, carry, in_role, narrow, open_lanes, static_extent
from pyc.ir.simulate.memory import poison, row_major
from pyc.ir.simulate.races import outlived
from pyc.ir.simulate.state import Array, Frame, Machine, Run, Storage
from pyc.ir.simulate.values import compute, extent_of

LANE_BUDGET = 1 << 18
"""Lanes computed at once: iterations of parallel loops are taken in chunks of about this size."""


def for_loop(machine: Machine, s: lo.For, frame: Frame) -> Run:
    """Runs a loop by its kind; a serial one whose iterations may meet, step by step."""
    if s.kind is Kind.GRID:
        _grid(machine, s, frame)
        return
    if s.kind is Kind.PARALLEL or s in machine.batched:
        yield from _iterations(machine, s, frame)
        return
    if s.kind in LANE_KINDS:
        yield from _lock_step(machine, s, frame)
        return
    count, limits = extent_of(machine, s, s.extent, frame)
    carried = s.carried
    values = compute(machine, s, "initial", [c.initial for c in carried], frame)
    for i in range(count):
        inner = frame
        frame.env[s.var] = position = machine.uniform(i, dt.i64)
        if limits is not None:
            inner = narrow(frame, position < limits)
        for c, v in zip(carried, values, strict=True):
            frame.env[c.var] = v
        yield from machine.body(s.body, inner)
        following = compute(machine, s, "next", [c.next for c in carried], inner)
        values = carry(inner.mask if limits is not None else None, following, values)
    for c, v in zip(carried, values, strict=True):
        frame.env[c.result] = v


def _iterations(machine: Machine, s: lo.For, frame: Frame) -> Run:
    """A parallel loop, or a serial one whose iterations cannot meet, in chunks of lanes."""
    count, limits = extent_of(machine, s, s.extent, frame)
    lanes = math.prod(frame.lengths) * _weight_of(machine, s.body, frame)
    chunk = max(1, min(count, LANE_BUDGET // max(lanes, 1)))
    parallel = s.kind is Kind.PARALLEL
    outermost = parallel and Kind.PARALLEL not in frame.kinds
    outer = machine.concurrent_iterations
    if outermost:
        machine.owner_base, machine.next_owner = machine.next_owner, machine.next_owner + count
        machine.concurrent_iterations = True
    machine.inner_epoch += parallel
    for first in range(0, count, chunk):
        inner = open_lanes(machine, s, frame, first, min(chunk, count - first))
        position = frame.env[s.var]
        if limits is not None:
            inner = narrow(inner, position < limits)
        if outermost:
            inner = replace(inner, owner=machine.owner_base + position)
        elif parallel:
            inner = replace(inner, inner=frame.inner * (count + 1) + position + 1)
        if parallel:
            inner = replace(inner, depth=frame.depth + 1)
        yield from machine.body(s.body, inner)
    machine.inner_epoch += parallel
    machine.concurrent_iterations = outer
    if outermost:
        machine.owner_base = machine.next_owner


def _lock_step(machine: Machine, s: lo.For, frame: Frame) -> Run:
    """A vector, warp or thread loop: its iterations in lock-step."""
    count, limits = extent_of(machine, s, s.extent, frame)
    if count == 0:
        return
    inner = open_lanes(machine, s, frame, 0, count)
    position = frame.env[s.var]
    if limits is not None:
        inner = narrow(inner, position < limits)
    if s.kind is Kind.VECTOR:
        yield from machine.body(s.body, inner)
        return
    if s.kind in TOGETHER:
        owner = frame.owner if s.kind is Kind.CLUSTER else frame.owner * count + position
        blocks = replace(inner, inner=position * machine.block_threads, depth=frame.depth + 1)
        blocks = replace(blocks, owner=owner)
        yield from machine.body(s.body, blocks)
        return
    if frame.warps is not None and s.kind is Kind.THREAD and Kind.WARP not in frame.kinds:
        raise SimulationError("thread loops do not nest")
    if s.kind is Kind.WARP:
        # The threads of a warp loop exist once its thread loop is entered.
        first = frame.inner + position * machine.thread_extent
        warped = replace(inner, inner=first, warps=frame.inner // WARP + position)
        yield from machine.body(s.body, replace(warped, depth=frame.depth + 1))
        return
    thread = frame.inner + position
    warps = thread // WARP if frame.warps is None else frame.warps
    inner = replace(inner, inner=thread, warps=warps, depth=frame.depth + 1)
    groups = _role_groups(machine, s, inner)
    if len(groups) == 1:
        yield from machine.body(s.body, replace(inner, group=active_threads(inner)))
        return
    tasks = []
    for mask in groups:
        part = narrow(inner, mask)
        part = replace(part, env=dict(frame.env), buffers=dict(frame.buffers))
        tasks.append(machine.body(s.body, replace(part, group=active_threads(part))))
    machine.drive(tasks)


def _role_groups(machine: Machine, s: lo.For, frame: Frame) -> list[Array]:
    """Masks of the warps that go through the roles of a thread loop in the same way."""
    assert frame.warps is not None
    roles = [i.role for i in lo.walk(s.body) if isinstance(i, lo.If) and i.role is not None]
    masks: list[Array] = [np.ones(machine.one, np.bool_)]
    for role in roles:
        member = in_role(role, frame.warps)
        masks = [part for m in masks for part in (m & member, m & ~member) if part.any()]
    return masks


def _grid(machine: Machine, s: lo.For, frame: Frame) -> None:
    """Perfectly nested grid loops: every block in a shuffled order."""
    nest = [s]
    while len(nest[-1].body) == 1:
        inner = nest[-1].body[0]
        if not isinstance(inner, lo.For) or inner.kind is not Kind.GRID:
            break
        nest.append(inner)
    extents = [max(static_extent(loop.extent, frame), 0) for loop in nest]
    count = math.prod(extents)
    machine.owner_base, machine.next_owner = 0, count
    depth = frame.depth + 1
    for number in machine.random.permutation(count):
        machine.block = machine.new_block(int(number))
        for loop, i in zip(nest, np.unravel_index(int(number), extents), strict=True):
            frame.env[loop.var] = machine.uniform(i, dt.i64)
        owner = machine.uniform(number, dt.i64)
        machine.drive([machine.body(nest[-1].body, replace(frame, owner=owner, depth=depth))])
        finish_block(machine)


def while_loop(machine: Machine, s: lo.While, frame: Frame) -> Run:
    """Runs until no lane is left; beyond `max_iterations` that is a finding."""
    carried = s.carried
    values = compute(machine, s, "initial", [c.initial for c in carried], frame)
    inner = frame
    steps = 0
    while True:
        for c, v in zip(carried, values, strict=True):
            frame.env[c.var] = v
        (condition,) = compute(machine, s, "condition", [s.condition], inner)
        inner = narrow(inner, condition)
        assert inner.mask is not None
        if not inner.mask.any():
            break
        steps += 1
        if steps > machine.max_iterations:
            machine.report("endless", s, f"still runs after {machine.max_iterations} iterations")
            break
        yield from machine.body(s.body, inner)
        following = compute(machine, s, "next", [c.next for c in carried], inner)
        values = carry(inner.mask, following, values)
    for c, v in zip(carried, values, strict=True):
        frame.env[c.result] = v


def branch(machine: Machine, s: lo.If, frame: Frame) -> Run:
    """Both bodies under masks, each only if some lane takes it; a role by the warps it has."""
    if s.role is not None:
        if frame.warps is None:
            raise SimulationError(f"role {s.role.name} outside of a thread loop")
        condition = in_role(s.role, frame.warps)
    else:
        assert s.condition is not None
        (condition,) = compute(machine, s, "", [s.condition], frame)
    for body, where in ((s.then, condition), (s.orelse, ~condition)):
        inner = narrow(frame, where)
        if body and inner.mask is not None and inner.mask.any():
            if inner.mask.all():  # keeps uniform branches free of masks
                inner = replace(inner, mask=None)
            yield from machine.body(body, inner)


def allocate(machine: Machine, s: lo.Alloc, frame: Frame) -> Run:
    """Makes the buffer, and those that allocations at the end of its body make, for as long as the
    body runs."""
    made = [(s, _storage(machine, s, frame))]
    heads, innermost = lo.spine(s.body)
    for before, inner in heads:
        yield from machine.body(before, frame)
        made.append((inner, _storage(machine, inner, frame)))
    yield from machine.body(innermost, frame)
    for at, storage in reversed(made):
        if at.buffer.space is Space.CLUSTER:
            outlived(machine, at, storage)


def _storage(machine: Machine, s: lo.Alloc, frame: Frame) -> Storage:
    """A buffer, one instance per open lane."""
    buffer = s.buffer
    shared = buffer.space is Space.SHARED
    if shared and frame.warps is not None:
        raise SimulationError(f"shared buffer {buffer.name} is allocated inside threads")
    shape = tuple(max(static_extent(e, frame), 0) for e in buffer.shape)
    size = math.prod(shape)
    base: Array = np.zeros(machine.one, np.int64)
    instances = 1
    for axis in reversed(range(len(frame.lengths))):
        # An accumulator tile is one for all threads of its role.
        if frame.kinds[axis] in THREAD_KINDS and buffer in machine.accumulators:
            continue
        length = frame.lengths[axis]
        base = base + machine.line(axis, np.arange(length, dtype=np.int64) * instances * size)
        instances *= length
    flat = np.full(instances * size, poison(buffer.dtype), buffer.dtype.numpy)
    written = np.zeros(flat.size, np.bool_)
    storage = Storage(buffer, flat, shape, row_major(shape), base, frame.depth, written)
    frame.buffers[buffer] = storage
    if buffer in machine.arrivals:
        start_phases(machine, storage)
    return storage


def _weight_of(machine: Machine, body: lo.Body, frame: Frame) -> int:
    """About how many elements one lane of `body` computes or holds at a time."""
    heads, innermost = lo.spine(body)
    held = [math.prod(_guess(e, frame) for e in s.buffer.shape) for _, s in heads]
    statements = (*(s for before, _ in heads for s in before), *innermost)
    return max([1, *held, *(_statement_weight(machine, s, frame) for s in statements)])


def _statement_weight(machine: Machine, s: Stmt, frame: Frame) -> int:
    known = machine.weights.get(s)
    if known is not None:
        return known
    weight = max((_weight_of(machine, b, frame) for b in lo.bodies(s)), default=1)
    lanes = isinstance(s, lo.For) and (s.kind in LANE_KINDS or s in machine.batched)
    if isinstance(s, lo.Cumulate) or (isinstance(s, lo.For) and lanes):
        weight *= max(_guess(s.extent, frame), 1)
    elif isinstance(s, lo.Reduce):
        weight = math.prod(max(_guess(e, frame), 1) for _, e in s.domain)
    elif isinstance(s, lo.Alloc):
        weight = max(weight, math.prod(_guess(e, frame) for e in s.buffer.shape))
    machine.weights[s] = weight
    return weight


def _guess(extent: Extent, frame: Frame) -> int:
    """An extent as far as it is known: 1 where it depends on what is not bound yet."""
    if isinstance(extent, int):
        return extent
    if any(isinstance(n, (Load, Shuffle)) for n in postorder([extent])):
        return 1
    try:
        return int(evaluate([extent], frame.env)[0].max(initial=0))
    except KeyError:
        return 1
