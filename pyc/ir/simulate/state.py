"""What a run of a kernel holds: storages and who accessed them, blocks, frames, the machine.

`Machine` reports findings and drives coroutines; what each statement does it is told by two tables
(`Leaf` for a statement that ends at once, `Nest` for one that has a body or may have to wait), so
that the modules which fill the tables import this one and not the other way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyc.ir import loops as lo
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Var
from pyc.ir.loops import Buffer, Kernel, Kind, Stmt
from pyc.ir.simulate.facts import independent_loops, lane_depth, thread_count
from pyc.ir.simulate.findings import Finding, Outcome, SimulationError
from pyc.ir.text_kernel import print_statements

Array = np.ndarray[Any, Any]


@dataclass(slots=True)
class Shadow:
    """Per element who accessed it: rows 0 the last writer, 1 and 2 the lowest and highest reader.

    owner: the outermost parallel iteration or block; inner: the thread (or nested iteration) in
    it; clock: that agent's time; atomic: non-zero where the last write was an exact Accumulate.
    """

    owner: Array
    inner: Array
    clock: Array
    atomic: Array

    @staticmethod
    def of(size: int) -> Shadow:
        """A shadow of `size` elements that nobody accessed."""
        return Shadow(
            np.full((3, size), -1, np.int64),
            np.zeros((3, size), np.int64),
            np.zeros((3, size), np.int64),
            np.zeros(size, np.int64),
        )


@dataclass(slots=True)
class Storage:
    """The elements of a buffer: one instance per lane that made it, `base` being where each starts.

    depth: concurrent loops open when it was made; it is tracked only under further ones.
    """

    buffer: Buffer
    flat: Array
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    base: Array | None
    depth: int
    written: Array | None
    shadow: Shadow | None = None


@dataclass(slots=True)
class Pending:
    """An asynchronous copy that was started and not yet performed."""

    perform: Callable[[], None]
    bytes: int
    statement: Stmt


@dataclass(slots=True)
class Phase:
    """A phased barrier element. `number` counts completed phases; `gathered` is what its arrivals
    know, `completed` what a waiter learns."""

    arrivals: int
    column: int
    missing: int
    gathered: Array
    completed: Array
    number: int = 0
    expected: int = 0
    copies: list[Pending] = field(default_factory=list)

    def bytes(self) -> int:
        """The bytes that the copies of this phase bring."""
        return sum(c.bytes for c in self.copies)

    def ended(self) -> bool:
        """Whether all arrivals and all bytes are here."""
        return self.missing <= 0 and self.expected == self.bytes()


@dataclass(slots=True)
class Meeting:
    """The threads that have arrived at a barrier scope, and how often all have met there."""

    arrived: Array
    generation: int = 0


class Block:
    """A block of a launch, a cluster of them, or the whole kernel, where there is no grid: the
    clocks of its threads, numbered block by block.

    Of a group of blocks too, each of which has clocks of its own threads alone: all that one block
    knows of another is how often the group had met (`meetings_passed`) when that had done what this
    one knows to be done (`knows`, one count for each block).
    """

    def __init__(self, number: int, threads: int, phases: int, group: int = 1) -> None:
        self.number = number
        self.columns = threads // group
        self.clocks = np.zeros((threads, self.columns + phases + 1), np.int64)
        every = np.arange(threads)
        self.clocks[every, every % self.columns] = 1
        self.meetings_passed = 0
        self.knows = np.zeros(group, np.int64)
        self.phases: dict[tuple[int, int], Phase] = {}
        self.meetings: dict[str, Meeting] = {}
        self.drain: list[Pending] = []
        self.storages: list[Storage] = []

    def join(self, threads: Array) -> None:
        """All of `threads` learn what any of them knows, and go on in a new interval."""
        self.clocks[threads] = self.clocks[threads].max(axis=0)
        self.clocks[threads, threads % self.columns] += 1

    def time_of(self, threads: Array) -> Array:
        """The clock of each thread."""
        found: Array = self.clocks[threads, threads % self.columns]
        return found

    def meet(self, learning: Array) -> None:
        """The blocks of a group meet; those of `learning` know what all of them did."""
        self.meetings_passed += 1
        self.knows[learning] = self.meetings_passed


@dataclass(slots=True)
class Frame:
    """Where execution stands: which lanes are open and active, and what is bound.

    mask: the active lanes, None for all; kinds, lengths: of the open lane axes; axes: axis of each
    lane variable; owner, inner: the agent of each lane (see `Shadow`); depth: concurrent loops
    open; group: the threads that execute here together; warps: the warp of each lane, in threads.
    """

    mask: Array | None
    kinds: tuple[Kind, ...]
    lengths: tuple[int, ...]
    axes: dict[Var, int]
    owner: Array
    inner: Array
    depth: int
    env: dict[Var, Array]
    buffers: dict[Buffer, Storage]
    group: Array
    warps: Array | None = None


@dataclass(slots=True)
class Blocked:
    """What a coroutine waits for; `ready` may complete a phase."""

    ready: Callable[[], bool]
    statement: Stmt
    why: Callable[[], str]


@dataclass(slots=True)
class Plan:
    """A statement's expressions in evaluation order, operands as positions: an instruction with
    what computes it, a constant with its value."""

    steps: list[tuple[Expr, tuple[int, ...], Compute | None, Array | None]]
    roots: tuple[int, ...]


Compute = Callable[[tuple[Array, ...], DType], Array]
Run = Generator[Blocked, None, None]


class Machine:
    """One run of one kernel: `one` is the shape of a value that no lane varies.

    owner_base, next_owner: agents at or above the base belong to the parallel loop that runs now,
    all older accesses happened before it. inner_epoch: the clock of nested parallel loops.
    """

    def __init__(
        self,
        kernel: Kernel,
        leaves: Mapping[type, Leaf],
        nests: Mapping[type, Nest],
        *,
        check: bool,
        seed: int,
        max_iterations: int,
    ) -> None:
        self.kernel = kernel
        self._leaves = leaves
        self._nests = nests
        self.outcome = Outcome()
        self._check = check
        self.random = np.random.default_rng(seed)
        self.max_iterations = max_iterations
        self._reported: set[tuple[str, int]] = set()
        self.plans: dict[tuple[Stmt, str], Plan] = {}
        self.combines: dict[tuple[str, tuple[DType, ...]], Any] = {}
        self.weights: dict[Stmt, int] = {}
        self._texts: dict[Stmt, str] | None = None
        self.batched = independent_loops(kernel)
        self.one = (1,) * max(lane_depth(kernel.body, self.batched), 1)
        statements = list(lo.walk(kernel.body))
        tiles = [s for s in statements if isinstance(s, lo.TileMultiply)]
        self.accumulators = {s.accumulators for s in tiles}
        self.thread_extent, self.block_threads, blocks, self.group = thread_count(kernel)
        self.threads = self.block_threads * blocks * self.group
        self.arrivals = {p.buffer: p.arrivals for p in kernel.phased}
        phases = [math.prod(d for d in p.shape if isinstance(d, int)) for p in self.arrivals]
        self.phases = sum(phases)
        branches = [s for s in statements if isinstance(s, lo.If)]
        self.roles = {s.role.name: s.role for s in branches if s.role is not None}
        self.owner_base = 0
        self.next_owner = 1
        self.inner_epoch = 0
        self.concurrent_iterations = False
        self.block = self.new_block(0)

    def new_block(self, number: int) -> Block:
        """A block that starts, a cluster or a group of them."""
        return Block(number, self.threads, self.phases, self.group)

    def report(self, kind: str, statement: Stmt | None, message: str) -> None:
        """Adds a finding, once per kind and statement; raises it if the run checks."""
        key = (kind, id(statement))
        if key in self._reported:
            return
        self._reported.add(key)
        if self._texts is None:
            self._texts = print_statements(self.kernel)
        text = "the end of the kernel"
        if statement is not None:
            text = self._texts.get(statement, "?")
        finding = Finding(kind, message, text)
        self.outcome.findings.append(finding)
        if self._check:
            raise SimulationError(f"kernel {self.kernel.name}: {finding}")

    def drive(self, tasks: Sequence[Run]) -> None:
        """Runs coroutines to their ends, choosing among those that can go on at random."""
        running: list[tuple[Run, Blocked | None]] = [(t, None) for t in tasks]
        while running:
            for pick in self.random.permutation(len(running)):
                task, blocked = running[pick]
                if blocked is None or blocked.ready():
                    break
            else:
                self._stuck([b for _, b in running if b is not None], len(tasks))
                for task, _ in running:
                    task.close()
                return
            try:
                running[pick] = (task, next(task))
            except StopIteration:
                running.pop(pick)

    def _stuck(self, blocked: Sequence[Blocked], tasks: int) -> None:
        at_barriers = all(isinstance(b.statement, lo.Barrier) for b in blocked)
        kind = "divergence" if at_barriers else "deadlock"
        why = "; ".join(b.why() for b in blocked)
        ended = f" ({tasks - len(blocked)} of {tasks} roles have ended)" if tasks > 1 else ""
        self.report(kind, blocked[0].statement, f"nothing can go on{ended}: {why}")

    def body(self, body: lo.Body, frame: Frame) -> Run:
        """Runs the statements of a body in order."""
        for s in body:
            leaf = self._leaves.get(type(s))
            if leaf is not None:
                leaf(self, s, frame)
                continue
            nest = self._nests.get(type(s))
            if nest is None:
                raise SimulationError(f"no such statement: {type(s).__name__}")
            yield from nest(self, s, frame)

    def uniform(self, value: Any, dtype: DType) -> Array:
        """A value that is the same for all lanes."""
        return np.full(self.one, value, dtype.numpy)

    def line(self, axis: int, values: Array) -> Array:
        """A vector laid along a lane axis."""
        shape = list(self.one)
        shape[axis] = len(values)
        return values.reshape(shape)


Leaf = Callable[[Machine, Any, Frame], None]
"""Executes a statement that needs no other and never waits."""

Nest = Callable[[Machine, Any, Frame], Run]
"""Executes a statement that contains others, or that may have to wait."""
