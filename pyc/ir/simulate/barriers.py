"""Where threads meet: barriers of a scope, and phased barriers with Signal and Wait."""

from __future__ import annotations

import numpy as np

from pyc.ir import dtype as dt
from pyc.ir import loops as lo
from pyc.ir.expr import Expr
from pyc.ir.loops import Buffer, Kind, Stmt
from pyc.ir.simulate.facts import WARP
from pyc.ir.simulate.findings import SimulationError
from pyc.ir.simulate.lanes import active_threads, in_role, per_thread, ranges
from pyc.ir.simulate.memory import address, storage_of
from pyc.ir.simulate.state import (
    Array,
    Blocked,
    Frame,
    Machine,
    Meeting,
    Phase,
    Run,
    Storage,
)
from pyc.ir.simulate.values import compute


def barrier(machine: Machine, s: lo.Barrier, frame: Frame) -> Run:
    """Lets the threads of a scope go on together, each knowing what all of them did."""
    block = machine.block
    every = np.arange(machine.threads)
    active = active_threads(frame) if frame.warps is not None else every
    clustered = machine.threads > machine.block_threads
    if s.scope == "warp" or (s.scope == "block" and clustered):
        size = WARP if s.scope == "warp" else machine.block_threads
        for number in np.unique(active // size):
            members = every[every // size == number]
            if not np.isin(members, active).all():
                _report_divergence(machine, s, members, active)
            block.join(members)
        return
    if s.scope == "group":
        _meet(machine, s, active, np.arange(machine.group))
        return
    if s.scope in ("block", "cluster"):
        members = every
    elif s.scope in machine.roles:
        members = every[in_role(machine.roles[s.scope], every // WARP)]
    else:
        raise SimulationError(f"barrier of an unknown scope {s.scope!r}")
    group = frame.group if frame.warps is not None else every
    if not np.isin(active, members).all():
        _report_divergence(machine, s, members, active)
        return
    expected = group[np.isin(group, members)]
    if len(expected) != len(active):
        _report_divergence(machine, s, expected, active)
    meeting = block.meetings.setdefault(s.scope, Meeting(np.zeros(machine.threads, dtype=np.bool_)))
    yield Blocked(lambda: True, s, lambda: "")
    meeting.arrived[expected] = True
    if meeting.arrived[members].all():
        block.join(members)
        meeting.arrived[:] = False
        meeting.generation += 1
        return
    generation = meeting.generation
    yield Blocked(
        lambda: meeting.generation != generation,
        s,
        lambda: (
            f"barrier {s.scope!r} waits for threads {ranges(members[~meeting.arrived[members]])}"
        ),
    )


def last(machine: Machine, s: lo.Last, frame: Frame) -> None:
    """Says of one block of a group, any, that it comes last: it knows what all of them did."""
    which = int(machine.random.integers(machine.group))
    _meet(machine, s, active_threads(frame), np.array([which]))
    if Kind.GROUP not in frame.kinds:
        raise SimulationError("the last block of a group, where there is none")
    axis = frame.kinds.index(Kind.GROUP)
    frame.env[s.var] = machine.line(axis, np.arange(machine.group) == which)


def _meet(machine: Machine, s: Stmt, active: Array, learning: Array) -> None:
    """The blocks of a group meet, and those of `learning` know what all of them did."""
    every = np.arange(machine.threads)
    if len(active) != len(every):
        _report_divergence(machine, s, every, active)
    machine.block.meet(learning)
    for members in every.reshape(machine.group, -1):
        machine.block.join(members)


def _report_divergence(machine: Machine, s: Stmt, members: Array, active: Array) -> None:
    what = f"barrier {s.scope!r}" if isinstance(s, lo.Barrier) else "the last block"
    message = f"{what} of threads {ranges(members)} is reached by threads"
    machine.report("divergence", s, f"{message} {ranges(active)} only")


def start_phases(machine: Machine, storage: Storage) -> None:
    """Makes each element of a new phased barrier start its first phase."""
    block = machine.block
    arrivals = machine.arrivals[storage.buffer]
    block.storages.append(storage)  # keeps the id in the key unique
    for element in range(storage.flat.size):
        column = machine.threads + len(block.phases)
        nothing = np.zeros(block.clocks.shape[1], np.int64)
        phase = Phase(arrivals, column, arrivals, nothing, nothing.copy())
        block.phases[id(storage), element] = phase
    assert storage.written is not None
    storage.written[:] = True


def phase_of(machine: Machine, s: Stmt, buffer: Buffer, element: int, frame: Frame) -> Phase:
    """The phased barrier that an element of a buffer is; SimulationError if it is none."""
    phase = machine.block.phases.get((id(storage_of(buffer, frame)), element))
    if phase is None:
        raise SimulationError(f"{buffer.name}[{element}] is not a phased barrier")
    return phase


def _settle(phase: Phase) -> None:
    """Ends a phase: its copies land, and who waits for it learns what its arrivals knew."""
    for copy in phase.copies:
        copy.perform()
    phase.copies = []
    phase.number += 1
    phase.completed = phase.gathered.copy()
    phase.completed[phase.column] = phase.number
    phase.missing, phase.expected = phase.arrivals, 0


def signal(machine: Machine, s: lo.Signal, frame: Frame) -> Run:
    """Arrives at phased barriers, and says how many bytes their copies will bring."""
    yield Blocked(lambda: True, s, lambda: "")
    block = machine.block
    storage = storage_of(s.buffer, frame)
    index = compute(machine, s, "", s.index, frame)
    size = machine.uniform(s.bytes, dt.i64) if isinstance(s.bytes, int) else None
    if size is None:
        assert isinstance(s.bytes, Expr)
        (size,) = compute(machine, s, "bytes", [s.bytes], frame)
    flat = address(machine, s, storage, s.index, index, frame)
    element, thread, expected = per_thread(frame, flat, frame.inner, size)
    for e in np.unique(element):
        phase = phase_of(machine, s, s.buffer, int(e), frame)
        threads = thread[element == e]
        if phase.missing <= 0:
            machine.report(
                "phase", s, f"arrives at {s.buffer.name}[{e}] before its phase is waited for"
            )
            _settle(phase)
        phase.gathered = np.maximum(phase.gathered, block.clocks[threads].max(axis=0))
        phase.missing -= len(threads)
        phase.expected += int(expected[element == e].sum())
        if phase.missing < 0:
            message = f"{s.buffer.name}[{e}] takes {phase.arrivals} arrivals in a phase"
            machine.report("phase", s, f"{message}, gets {phase.arrivals - phase.missing}")
        if phase.ended() and not phase.copies:
            _settle(phase)
    block.clocks[thread, thread] += 1


def wait(machine: Machine, s: lo.Wait, frame: Frame) -> Run:
    """Goes on when the phases of the given parity have ended, knowing what they gathered."""
    storage = storage_of(s.buffer, frame)
    *index, parity = compute(machine, s, "", (*s.index, s.parity), frame)
    flat = address(machine, s, storage, s.index, index, frame)
    element, odd, thread = per_thread(frame, flat, parity.astype(np.int64), frame.inner)
    yield Blocked(lambda: True, s, lambda: "")
    for e, p in sorted(set(zip(element.tolist(), odd.tolist(), strict=True))):
        phase = phase_of(machine, s, s.buffer, e, frame)
        if p not in (0, 1):
            machine.report("phase", s, f"parity {p} is neither 0 nor 1")
        while phase.number & 1 == p:
            if phase.ended():
                _settle(phase)
                break
            yield Blocked(
                lambda phase=phase, p=p: phase.number & 1 != p or phase.ended(),  # type: ignore[misc]
                s,
                lambda phase=phase, e=e: (  # type: ignore[misc]
                    f"{s.buffer.name}[{e}] in phase {phase.number} misses {phase.missing} of "
                    f"{phase.arrivals} arrivals; its copies bring {phase.bytes()} of "
                    f"{phase.expected} bytes"
                ),
            )
        clocks = machine.block.clocks
        threads = thread[(element == e) & (odd == p)]
        clocks[threads] = np.maximum(clocks[threads], phase.completed)


def finish_block(machine: Machine) -> None:
    """Performs the copies that are still under way; a phase that nobody waited for is a finding."""
    block = machine.block
    for copy in block.drain:
        copy.perform()
    for phase in block.phases.values():
        for copy in phase.copies:
            machine.report("unwaited", copy.statement, "nobody waits for this asynchronous copy")
            copy.perform()
    block.phases = {}
    block.drain = []
