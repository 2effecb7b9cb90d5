"""The kernel interpreter: what a `Kernel` computes, and whether it may be run in parallel at all.

Takes a kernel and its arrays, works on the arrays in place and returns an `Outcome`: the failed
site and the findings. A finding is something the grammar (`loops.py`) leaves undefined: a race, a
barrier not all threads reach, a read of what was never written, an index out of range.

How it runs. Iterations of lane loops (parallel, vector, warp, thread, and serial loops that
provably do not communicate) are axes of NumPy arrays: every value has rank `_rank`, axis d for the
lane loop at depth d, of length 1 where the value does not vary. Control that differs between lanes
becomes a mask. Grid loops run block by block in a shuffled order. Where a thread loop contains
roles, the warps of each become a coroutine of their own; they are interleaved at Signal, Wait and
Barrier in an order drawn from `schedule_seed`.

Races do not depend on that order: they are found by vector clocks (as in FastTrack: Flanagan and
Freund, PLDI 2009) over the threads of a block, with one more column per phased barrier for the
copies that signal it. Each tracked element remembers its last writer and two readers, the lowest
and the highest that are not yet ordered; a write unordered with only a third is not seen.
Lock-step lanes of a vector loop are one thread and do not race; where they store to one element,
the highest lane wins.

This module shares nothing with the passes or the backends; it is the oracle for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pyc.ir import dtype as dt
from pyc.ir import loops as lo
from pyc.ir import order
from pyc.ir.dtype import DType
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.expr import Apply, Const, Expr, Load, Shuffle, Var, children, postorder
from pyc.ir.instructions import INSTRUCTIONS, bitcast, cast
from pyc.ir.loops import Buffer, Extent, Kernel, Kind, Space, Stmt
from pyc.ir.text_kernel import print_kernel, print_statements

Array = np.ndarray[Any, Any]

LANE_BUDGET = 1 << 18
"""Lanes computed at once: iterations of parallel loops are taken in chunks of about this size."""

WARP = 32

_LANE_KINDS = (Kind.PARALLEL, Kind.VECTOR, Kind.WARP, Kind.THREAD)
_THREAD_KINDS = (Kind.WARP, Kind.THREAD)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something undefined that a run met.

    kind: "race", "divergence", "deadlock", "bounds", "unwritten" (read before written),
    "unstored" (output never stored), "unwaited" (asynchronous copy), "phase", "shuffle",
    "uniform", "type", "store-in" or "endless"; statement: its printed text.
    """

    kind: str
    message: str
    statement: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}\n  at: {self.statement}"


@dataclass(slots=True)
class Outcome:
    """What a run found: `failed` is (lowest failed site, its value), None if no `Fail` fired."""

    findings: list[Finding] = field(default_factory=list)
    failed: tuple[int, Any] | None = None


class SimulationError(Exception):
    """The kernel cannot be run, or (check=True) a finding; the printed kernel is a note."""


def run(
    kernel: Kernel,
    arrays: Sequence[Array],
    sizes: Sequence[int] = (),
    *,
    check: bool = True,
    schedule_seed: int = 0,
    check_outputs: bool = True,
    max_iterations: int = 1_000_000,
) -> Outcome:
    """Executes `kernel` on `arrays` in place and reports.

    arrays: one per parameter, of its shape and dtype; "out" arrays are poisoned first unless they
    overlap another argument. sizes: values of the size parameters. check: raise SimulationError at
    the first finding; else findings are collected, each kind once per statement, and the run goes
    on with defined values. check_outputs: an "out" element that is never stored is a finding.
    max_iterations: of one `While`, beyond which it is a finding.
    """
    machine = _Machine(kernel, check, schedule_seed, max_iterations)
    try:
        machine.run(arrays, sizes, check_outputs)
    except SimulationError as error:
        error.add_note(print_kernel(kernel))
        raise
    return machine.outcome


# --- state ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Shadow:
    """Per element who accessed it: rows 0 the last writer, 1 and 2 the lowest and highest reader.

    owner: the outermost parallel iteration or block; inner: the thread (or nested iteration) in
    it; clock: that agent's time; atomic: non-zero where the last write was an exact Accumulate.
    """

    owner: Array
    inner: Array
    clock: Array
    atomic: Array

    @staticmethod
    def of(size: int) -> _Shadow:
        return _Shadow(
            np.full((3, size), -1, np.int64),
            np.zeros((3, size), np.int64),
            np.zeros((3, size), np.int64),
            np.zeros(size, np.int64),
        )


@dataclass(slots=True)
class _Storage:
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
    shadow: _Shadow | None = None


@dataclass(slots=True)
class _Pending:
    """An asynchronous copy that was started and not yet performed."""

    perform: Callable[[], None]
    bytes: int
    statement: Stmt


@dataclass(slots=True)
class _Phase:
    """A phased barrier element. `number` counts completed phases; `gathered` is what its arrivals
    know, `completed` what a waiter learns."""

    arrivals: int
    column: int
    missing: int
    gathered: Array
    completed: Array
    number: int = 0
    expected: int = 0
    copies: list[_Pending] = field(default_factory=list)

    def bytes(self) -> int:
        return sum(c.bytes for c in self.copies)

    def ended(self) -> bool:
        return self.missing <= 0 and self.expected == self.bytes()


@dataclass(slots=True)
class _Meeting:
    """The threads that have arrived at a barrier scope, and how often all have met there."""

    arrived: Array
    generation: int = 0


class _Block:
    """A block of a launch (or the whole kernel, where there is no grid): its threads' clocks."""

    def __init__(self, number: int, threads: int, phases: int) -> None:
        self.number = number
        self.clocks = np.zeros((threads, threads + phases + 1), np.int64)
        every = np.arange(threads)
        self.clocks[every, every] = 1
        self.phases: dict[tuple[int, int], _Phase] = {}
        self.meetings: dict[str, _Meeting] = {}
        self.drain: list[_Pending] = []
        self.storages: list[_Storage] = []

    def join(self, threads: Array) -> None:
        """All of `threads` learn what any of them knows, and go on in a new interval."""
        self.clocks[threads] = self.clocks[threads].max(axis=0)
        self.clocks[threads, threads] += 1


@dataclass(slots=True)
class _Frame:
    """Where execution stands: which lanes are open and active, and what is bound.

    mask: the active lanes, None for all; kinds, lengths: of the open lane axes; axes: axis of each
    lane variable; owner, inner: the agent of each lane (see `_Shadow`); depth: concurrent loops
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
    buffers: dict[Buffer, _Storage]
    group: Array
    warps: Array | None = None


@dataclass(slots=True)
class _Blocked:
    """What a coroutine waits for; `ready` may complete a phase."""

    ready: Callable[[], bool]
    statement: Stmt
    why: Callable[[], str]


_Run = Generator[_Blocked, None, None]


@dataclass(slots=True)
class _Plan:
    """A statement's expressions in evaluation order, operands as positions."""

    steps: list[tuple[Expr, tuple[int, ...], Array | None]]
    roots: tuple[int, ...]


def _poison(dtype: DType) -> Any:
    """The content of memory never written: NaN, or bytes of 0xAB."""
    if dtype is dt.b1:
        return True
    if dtype.is_float:
        return np.asarray(np.nan).astype(dtype.numpy)[()]
    return np.full(dtype.itemsize, 0xAB, np.uint8).view(dtype.numpy)[0]


_EXACT_ANYWAY = ("minimum", "maximum", "and", "or", "xor")


def _order_free(monoid: str, dtype: DType) -> bool:
    """Whether `Accumulate`s in any order give the same value, so that atomics may do them."""
    return monoid in _EXACT_ANYWAY or (monoid in ("add", "mul") and not dtype.is_float)


# --- the machine ----------------------------------------------------------------------------------


class _Machine:
    """One run of one kernel."""

    def __init__(self, kernel: Kernel, check: bool, seed: int, max_iterations: int) -> None:
        self.kernel = kernel
        self.outcome = Outcome()
        self._check = check
        self._random = np.random.default_rng(seed)
        self._max_iterations = max_iterations
        self._reported: set[tuple[str, int]] = set()
        self._plans: dict[tuple[Stmt, str], _Plan] = {}
        self._combines: dict[tuple[str, tuple[DType, ...]], Any] = {}
        self._weights: dict[Stmt, int] = {}
        self._texts: dict[Stmt, str] | None = None
        self._batched = _independent_loops(kernel)
        self._rank = max(_lane_depth(kernel.body, self._batched), 1)
        self._one = (1,) * self._rank
        self._statements = list(lo.walk(kernel.body))
        tiles = [s for s in self._statements if isinstance(s, lo.TileMultiply)]
        self._accumulators = {s.accumulators for s in tiles}
        self._thread_extent, self._threads = _thread_count(kernel)
        self._arrivals = {p.buffer: p.arrivals for p in kernel.phased}
        phases = [math.prod(d for d in p.shape if isinstance(d, int)) for p in self._arrivals]
        self._phases = sum(phases)
        branches = [s for s in self._statements if isinstance(s, lo.If)]
        self._roles = {s.role.name: s.role for s in branches if s.role is not None}
        # Owners at or above the base belong to the parallel loop that runs now: all older accesses
        # happened before it.
        self._owner_base = 0
        self._next_owner = 1
        self._inner_epoch = 0
        self._block = _Block(0, self._threads, self._phases)
        self._leaves: dict[type, Callable[[Any, _Frame], None]] = {
            lo.Let: self._let,
            lo.Reduce: self._reduce,
            lo.Store: self._store,
            lo.Accumulate: self._accumulate,
            lo.Copy: self._copy,
            lo.TileMultiply: self._multiply,
            lo.Fail: self._fail,
        }
        self._nests: dict[type, Callable[[Any, _Frame], _Run]] = {
            lo.For: self._for,
            lo.While: self._while,
            lo.If: self._if,
            lo.Alloc: self._alloc,
            lo.Barrier: self._barrier,
            lo.Signal: self._signal,
            lo.Wait: self._wait,
        }

    # -- running and reporting

    def run(self, arrays: Sequence[Array], sizes: Sequence[int], check_outputs: bool) -> None:
        kernel = self.kernel
        if len(arrays) != len(kernel.buffers) or len(sizes) != len(kernel.sizes):
            raise SimulationError(
                f"kernel {kernel.name} takes {len(kernel.buffers)} arrays and {len(kernel.sizes)} "
                f"sizes, got {len(arrays)} and {len(sizes)}"
            )
        zero = np.zeros(self._one, np.int64)
        env = {v: self._uniform(n, v.dtype) for v, n in zip(kernel.sizes, sizes, strict=True)}
        every = np.arange(self._threads)
        frame = _Frame(None, (), (), {}, zero, zero, 0, env, {}, every)
        outs: list[_Storage] = []
        for buffer, array in zip(kernel.buffers, arrays, strict=True):
            storage = self._parameter(buffer, array, arrays, frame)
            frame.buffers[buffer] = storage
            if buffer.role == "out":
                outs.append(storage)
        self._drive([self._body(kernel.body, frame)])
        self._finish_block()
        for buffer, array in zip(kernel.buffers, arrays, strict=True):
            if not array.flags.c_contiguous:
                array[...] = frame.buffers[buffer].flat.reshape(array.shape)
        for storage in outs:
            assert storage.written is not None
            if check_outputs and not storage.written.all():
                at = np.unravel_index(int(np.argmin(storage.written)), storage.shape)
                where = tuple(int(i) for i in at)
                missing = int(np.count_nonzero(~storage.written))
                message = f"{missing} elements of output {storage.buffer.name} were never stored"
                self._report("unstored", None, f"{message}, the first at {where}")

    def _parameter(
        self, buffer: Buffer, array: Array, arrays: Sequence[Array], frame: _Frame
    ) -> _Storage:
        shape = tuple(self._static(e, frame) for e in buffer.shape)
        if array.shape != shape or array.dtype != buffer.dtype.numpy:
            raise SimulationError(
                f"argument {buffer.name} must be {buffer.dtype}{list(shape)}, "
                f"is {array.dtype}{list(array.shape)}"
            )
        overlaps = any(a is not array and np.may_share_memory(a, array) for a in arrays)
        if buffer.role == "out" and not overlaps:
            array[...] = _poison(buffer.dtype)
        flat = np.ascontiguousarray(array).reshape(-1)
        written = np.zeros(flat.size, np.bool_) if buffer.role == "out" else None
        return _Storage(buffer, flat, shape, _strides(shape), None, 0, written)

    def _report(self, kind: str, statement: Stmt | None, message: str) -> None:
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

    def _drive(self, tasks: Sequence[_Run]) -> None:
        """Runs coroutines to their ends, choosing among those that can go on at random."""
        running: list[tuple[_Run, _Blocked | None]] = [(t, None) for t in tasks]
        while running:
            for pick in self._random.permutation(len(running)):
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

    def _stuck(self, blocked: Sequence[_Blocked], tasks: int) -> None:
        at_barriers = all(isinstance(b.statement, lo.Barrier) for b in blocked)
        kind = "divergence" if at_barriers else "deadlock"
        why = "; ".join(b.why() for b in blocked)
        ended = f" ({tasks - len(blocked)} of {tasks} roles have ended)" if tasks > 1 else ""
        self._report(kind, blocked[0].statement, f"nothing can go on{ended}: {why}")

    def _body(self, body: lo.Body, frame: _Frame) -> _Run:
        for s in body:
            leaf = self._leaves.get(type(s))
            if leaf is not None:
                leaf(s, frame)
                continue
            nest = self._nests.get(type(s))
            if nest is None:
                raise SimulationError(f"no such statement: {type(s).__name__}")
            yield from nest(s, frame)

    # -- expressions

    def _uniform(self, value: Any, dtype: DType) -> Array:
        return np.full(self._one, value, dtype.numpy)

    def _line(self, axis: int, values: Array) -> Array:
        """A vector laid along a lane axis."""
        shape = list(self._one)
        shape[axis] = len(values)
        return values.reshape(shape)

    def _plan(self, s: Stmt, part: str, roots: Sequence[Expr]) -> _Plan:
        plan = self._plans.get((s, part))
        if plan is None:
            nodes = postorder(roots)
            place = {id(n): k for k, n in enumerate(nodes)}
            steps: list[tuple[Expr, tuple[int, ...], Array | None]] = []
            for n in nodes:
                literal = self._uniform(n.value, n.dtype) if isinstance(n, Const) else None
                steps.append((n, tuple(place[id(c)] for c in children(n)), literal))
            plan = _Plan(steps, tuple(place[id(r)] for r in roots))
            self._plans[s, part] = plan
        return plan

    def _values(self, s: Stmt, part: str, roots: Sequence[Expr], frame: _Frame) -> list[Array]:
        """The values of a statement's expressions; the order is computed once per statement."""
        plan = self._plan(s, part, roots)
        values: list[Array] = []
        env = frame.env
        for node, args, literal in plan.steps:
            if literal is not None:
                values.append(literal)
            elif isinstance(node, Apply):
                operands = tuple([values[a] for a in args])
                if node.name == "cast":
                    values.append(cast(operands[0], node.dtype))
                elif node.name == "bitcast":
                    values.append(bitcast(operands[0], node.dtype))
                else:
                    values.append(INSTRUCTIONS[node.name].evaluate(operands, node.dtype))
            elif isinstance(node, Var):
                value = env.get(node)
                if value is None:
                    raise SimulationError(f"variable {node.name} is not bound")
                values.append(value)
            elif isinstance(node, Load):
                values.append(self._load(s, node, [values[a] for a in args], frame))
            elif isinstance(node, Shuffle):
                values.append(self._shuffle(s, node, values[args[0]], frame))
            else:
                raise SimulationError(f"no such expression: {type(node).__name__}")
        return [values[r] for r in plan.roots]

    def _static(self, extent: Extent, frame: _Frame) -> int:
        """An extent that must be the same for all lanes."""
        if isinstance(extent, int):
            return extent
        (value,) = evaluate([extent], frame.env)
        if value.size != 1:
            raise SimulationError("an extent here must not vary between lanes")
        return int(value.reshape(-1)[0])

    def _extent(self, s: Stmt, extent: Extent, frame: _Frame) -> tuple[int, Array | None]:
        """The number of iterations to make, and the extent per lane where lanes differ."""
        if isinstance(extent, int):
            return max(extent, 0), None
        (value,) = self._values(s, "extent", [extent], frame)
        if value.size == 1:
            return max(int(value.reshape(-1)[0]), 0), None
        active = value if frame.mask is None else np.where(frame.mask, value, 0)
        return max(int(active.max(initial=0)), 0), value

    def _shuffle(self, s: Stmt, node: Shuffle, value: Array, frame: _Frame) -> Array:
        axis = frame.axes.get(node.var)
        if axis is None or frame.kinds[axis] not in (Kind.VECTOR, Kind.THREAD):
            self._report("shuffle", s, f"{node.var.name} is no vector or thread loop here")
            return value
        length, distance = frame.lengths[axis], node.distance
        across = frame.kinds[axis] is Kind.THREAD and distance >= WARP
        if length & (length - 1) or not 0 <= distance < length or across:
            self._report("shuffle", s, f"distance {distance} in a loop of {length} lanes")
            return value
        if frame.mask is not None:
            some = frame.mask.any(axis=axis)
            if (some & ~frame.mask.all(axis=axis)).any():
                self._report("shuffle", s, "some lanes of the loop are not active here")
        if value.shape[axis] == 1:
            return value
        moved: Array = np.take(value, np.arange(length) ^ distance, axis=axis)
        return moved

    # -- memory

    def _storage(self, buffer: Buffer, frame: _Frame) -> _Storage:
        storage = frame.buffers.get(buffer)
        if storage is None:
            raise SimulationError(f"buffer {buffer.name} is not a parameter and not allocated here")
        return storage

    def _address(
        self,
        s: Stmt,
        storage: _Storage,
        types: Sequence[Expr],
        index: Sequence[Array],
        frame: _Frame,
    ) -> Array:
        """Flat positions; findings where an active lane's index is of a wrong type or range."""
        name = storage.buffer.name
        if len(index) != len(storage.shape):
            message = f"{name} has {len(storage.shape)} axes, the index has {len(index)}"
            raise SimulationError(message)
        mask = frame.mask
        flat: Array = np.zeros(self._one, np.int64) if storage.base is None else storage.base
        for axis, (e, i) in enumerate(zip(types, index, strict=True)):
            if e.dtype is not dt.i64:
                self._report("type", s, f"index {axis} of {name} is {e.dtype}, not i64")
                i = i.astype(np.int64)
            extent = storage.shape[axis]
            if i.size and (i.min() < 0 or i.max() >= extent):
                bad = (i < 0) | (i >= extent)
                if mask is not None:
                    bad = bad & mask
                if bad.any():
                    value = int(np.broadcast_to(i, bad.shape)[bad][0])
                    message = f"index {axis} of {name} is {value}, its extent {extent}"
                    self._report("bounds", s, message)
                i = np.clip(i, 0, max(extent - 1, 0))
            flat = flat + i * storage.strides[axis]
        return flat

    def _load(self, s: Stmt, node: Load, index: Sequence[Array], frame: _Frame) -> Array:
        storage = self._storage(node.buffer, frame)
        flat = self._address(s, storage, node.index, index, frame)
        mask = frame.mask
        if storage.flat.size == 0:
            return np.full(flat.shape, _poison(node.dtype), node.dtype.numpy)
        values: Array = storage.flat[flat]
        if storage.written is not None:
            unwritten = ~storage.written[flat]
            if mask is not None:
                unwritten = unwritten & mask
            if unwritten.any():
                self._report("unwritten", s, f"reads {node.buffer.name} before it is written")
        if self._tracked(storage, frame):
            self._touch(s, storage, flat, frame, write=False)
        if mask is not None:
            values = np.where(mask, values, _poison(node.dtype))
        return values

    def _scatter(
        self, s: lo.Store | lo.Accumulate, frame: _Frame
    ) -> tuple[_Storage, Array, Array, Array] | None:
        """A store's storage, its active positions and values in lane order, and all positions."""
        storage = self._storage(s.buffer, frame)
        *index, value = self._values(s, "", (*s.index, s.value), frame)
        if s.buffer.role == "in":
            self._report("store-in", s, f"stores to the input {s.buffer.name}")
            return None
        if s.value.dtype is not s.buffer.dtype:
            message = f"stores {s.value.dtype} into {s.buffer.dtype} buffer {s.buffer.name}"
            self._report("type", s, message)
            return None
        flat = self._address(s, storage, s.index, index, frame)
        if storage.flat.size == 0:
            return None
        mask = frame.mask
        shape = flat.shape
        # The value may vary where the index does not: then the lanes must be told apart.
        if value.shape != shape or mask is not None:
            arrays = (flat, value) if mask is None else (flat, value, mask)
            shape = np.broadcast_shapes(*(a.shape for a in arrays))
        positions = np.broadcast_to(flat, shape)
        values = np.broadcast_to(value, shape)
        if isinstance(s, lo.Accumulate):  # every lane counts, also those that do the same
            shape = np.broadcast_shapes(shape, self._lane_shape(frame))
            positions, values = np.broadcast_to(positions, shape), np.broadcast_to(values, shape)
        if mask is None:
            return storage, positions.reshape(-1), values.reshape(-1), flat
        active = np.broadcast_to(mask, shape)
        return storage, positions[active], values[active], flat

    def _lane_shape(self, frame: _Frame) -> tuple[int, ...]:
        return (*frame.lengths, *self._one[len(frame.lengths) :])

    def _store(self, s: lo.Store, frame: _Frame) -> None:
        found = self._scatter(s, frame)
        if found is None:
            return
        storage, positions, values, flat = found
        storage.flat[positions] = values
        if storage.written is not None:
            storage.written[positions] = True
        if self._tracked(storage, frame):
            self._touch(s, storage, flat, frame, write=True)

    def _accumulate(self, s: lo.Accumulate, frame: _Frame) -> None:
        found = self._scatter(s, frame)
        if found is None:
            return
        storage, positions, values, flat = found
        if storage.written is not None and not storage.written[positions].all():
            self._report("unwritten", s, f"reads {s.buffer.name} before it is written")
            storage.written[positions] = True
        combine = self._combine(s.monoid, (s.buffer.dtype,))
        # Lanes that meet in one element apply one after the other: round r takes the r-th of each.
        by_element = np.argsort(positions, kind="stable")
        ordered = positions[by_element]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])[: len(ordered)]
        lengths = np.diff(np.r_[starts, len(ordered)])
        for r in range(int(lengths.max(initial=0))):
            pick = by_element[starts[lengths > r] + r]
            (result,) = combine((storage.flat[positions[pick]],), (values[pick],))
            storage.flat[positions[pick]] = result
        if self._tracked(storage, frame):
            free = _order_free(s.monoid, s.buffer.dtype)
            atomic = 1 + list(order.MONOIDS).index(s.monoid) if free else 0
            self._touch(s, storage, flat, frame, write=True, atomic=atomic, lanes_ordered=True)

    def _combine(self, monoid: str, types: tuple[DType, ...]) -> Any:
        """The monoid over tuples of NumPy arrays."""
        made = self._combines.get((monoid, types))
        if made is not None:
            return made
        definition = order.MONOIDS.get(monoid)
        if definition is None or definition.components != len(types):
            raise SimulationError(f"no monoid {monoid} of {len(types)} components")
        left = tuple(Var(f"a{n}", t) for n, t in enumerate(types))
        right = tuple(Var(f"b{n}", t) for n, t in enumerate(types))
        roots = definition.combine(left, right)

        def combine(a: tuple[Array, ...], b: tuple[Array, ...]) -> tuple[Array, ...]:
            env = dict(zip((*left, *right), (*a, *b), strict=True))
            return tuple(evaluate(roots, env))

        self._combines[monoid, types] = combine
        return combine

    # -- races

    def _tracked(self, storage: _Storage, frame: _Frame) -> bool:
        return frame.depth > storage.depth and storage.buffer.role != "in"

    def _touch(
        self,
        s: Stmt,
        storage: _Storage,
        flat: Array,
        frame: _Frame,
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
        arrays = [np.broadcast_to(a, shape) for a in (flat, frame.owner, frame.inner)]
        if frame.mask is None:
            positions, owner, inner = (a.reshape(-1) for a in arrays)
        else:
            active = np.broadcast_to(frame.mask, shape)
            positions, owner, inner = (a[active] for a in arrays)
        if self._concurrent_iterations:
            clock = np.full(inner.shape, self._inner_epoch)
        else:
            clock = self._block.clocks[inner, inner]
        if write and not atomic:
            # Lanes of one thread loop accumulate in lane order: only other warps can collide.
            apart = self._thread_extent if lanes_ordered and frame.warps is not None else 1
            self._collisions(s, storage, positions, owner, inner // apart)
        self._access(s, storage, positions, owner, inner, clock, write=write, atomic=atomic)

    def _collisions(
        self, s: Stmt, storage: _Storage, positions: Array, owner: Array, inner: Array
    ) -> None:
        """Finds two agents that store to one element in one statement."""
        if storage.shadow is None:
            storage.shadow = _Shadow.of(storage.flat.size)
        # The shadow itself serves to find them: the last agent to write its name stays.
        owners, inners = storage.shadow.owner[0], storage.shadow.inner[0]
        before = owners[positions], inners[positions]
        owners[positions], inners[positions] = owner, inner
        lost = (owners[positions] != owner) | (inners[positions] != inner)
        if lost.any():
            at = int(np.argmax(lost))
            one = self._agent(owner[at], inner[at])
            two = self._agent(owners[positions[at]], inners[positions[at]])
            self._report_race(s, storage, int(positions[at]), f"{one} and {two} both write")
        owners[positions], inners[positions] = before

    def _access(
        self,
        s: Stmt,
        storage: _Storage,
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
            storage.shadow = _Shadow.of(storage.flat.size)
        shadow = storage.shadow
        for slot in (0, 1, 2) if write else (0,):
            clash = self._unordered(shadow, slot, positions, owner, inner, knowledge)
            if atomic and slot == 0:
                clash &= shadow.atomic[positions] != atomic
            if clash.any():
                at = int(np.argmax(clash))
                place = int(positions[at])
                before = self._agent(shadow.owner[slot, place], shadow.inner[slot, place])
                now = self._agent(owner[at], inner[at])
                did = "read" if slot else "wrote"
                does = "writes" if write else "reads"
                self._report_race(s, storage, place, f"{before} {did}, {now} {does}")
        if write:
            shadow.owner[0, positions] = owner
            shadow.inner[0, positions] = inner
            shadow.clock[0, positions] = clock
            shadow.atomic[positions] = atomic
            return
        for slot in (1, 2):
            free = ~self._unordered(shadow, slot, positions, owner, inner, knowledge)
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

    def _unordered(
        self,
        shadow: _Shadow,
        slot: int,
        positions: Array,
        owner: Array,
        inner: Array,
        knowledge: Array | None,
    ) -> Array:
        """Where the access remembered in `slot` did not happen before the present one."""
        then_owner = shadow.owner[slot, positions]
        now: Array = then_owner >= self._owner_base
        if not now.any():
            return now
        then_inner, then = shadow.inner[slot, positions], shadow.clock[slot, positions]
        if knowledge is not None:
            ordered = knowledge[then_inner % len(knowledge)] >= then
        elif self._concurrent_iterations:
            ordered = (then_inner == inner) | (then != self._inner_epoch)
        else:
            clocks = self._block.clocks
            # Accesses of another block may be of a thread number that this one has not.
            ordered = clocks[inner, then_inner % clocks.shape[1]] >= then
        unordered: Array = now & ((then_owner != owner) | ~ordered)
        return unordered

    _concurrent_iterations = False

    def _agent(self, owner: Any, inner: Any) -> str:
        if self._concurrent_iterations:
            nested = f", inner iteration {int(inner)}" if inner else ""
            return f"parallel iteration {int(owner) - self._owner_base}{nested}"
        who = f"thread {int(inner)}" if inner < self._threads else "an asynchronous copy"
        return f"{who} of block {int(owner)}"

    def _report_race(self, s: Stmt, storage: _Storage, place: int, how: str) -> None:
        size = max(math.prod(storage.shape), 1)
        where = tuple(int(i) for i in np.unravel_index(place % size, storage.shape or (1,)))
        self._report("race", s, f"{storage.buffer.name}{list(where)}: {how}, without order")

    # -- plain statements

    def _let(self, s: lo.Let, frame: _Frame) -> None:
        (frame.env[s.var],) = self._values(s, "", [s.value], frame)

    def _fail(self, s: lo.Fail, frame: _Frame) -> None:
        condition, value = self._values(s, "", [s.condition, s.value], frame)
        if frame.mask is not None:
            condition = condition & frame.mask
        if not condition.any():
            return
        failed = self.outcome.failed
        if failed is None or s.site < failed[0]:
            shape = np.broadcast_shapes(condition.shape, value.shape)
            hit = np.broadcast_to(condition, shape)
            self.outcome.failed = (s.site, np.broadcast_to(value, shape)[hit][0].item())

    def _reduce(self, s: lo.Reduce, frame: _Frame) -> None:
        """All elements of the domain at once, along one more lane axis."""
        axis = len(frame.lengths)
        extents = [max(self._static(e, frame), 0) for _, e in s.domain]
        count = math.prod(extents)
        sequence = np.arange(count, dtype=np.int64)
        stride = count
        for (var, _), extent in zip(s.domain, extents, strict=True):
            stride = stride // extent if extent else 0
            position = sequence // stride % extent if count else sequence
            frame.env[var] = self._line(axis, position)
        inner = frame
        if frame.mask is None and count == 0:
            inner = replace(frame, mask=np.zeros(self._one, np.bool_))
        kinds = (*frame.kinds, Kind.SERIAL)
        inner = replace(inner, lengths=(*frame.lengths, count), kinds=kinds)
        values = self._values(s, "", s.values, inner)
        columns = []
        for v in values:
            shape = list(v.shape)
            shape[axis] = count
            columns.append(np.moveaxis(np.broadcast_to(v, shape), axis, -1))
        shapes = np.broadcast_shapes(*(c.shape for c in columns))
        types = tuple(v.dtype for v in s.values)
        combine = self._combine(s.monoid, types)
        fill = order.MONOIDS[s.monoid].neutral(types)
        full = tuple(np.broadcast_to(c, shapes) for c in columns)
        for var, result in zip(s.results, order.reduce(combine, full, fill), strict=True):
            frame.env[var] = np.expand_dims(result, axis)

    # -- loops and branches

    def _for(self, s: lo.For, frame: _Frame) -> _Run:
        if s.kind is Kind.GRID:
            self._grid(s, frame)
            return
        if s.kind is Kind.PARALLEL or s in self._batched:
            yield from self._iterations(s, frame)
            return
        if s.kind in _LANE_KINDS:
            yield from self._lanes(s, frame)
            return
        count, limits = self._extent(s, s.extent, frame)
        carried = s.carried
        values = self._values(s, "initial", [c.initial for c in carried], frame)
        for i in range(count):
            inner = frame
            frame.env[s.var] = position = self._uniform(i, dt.i64)
            if limits is not None:
                inner = self._narrow(frame, position < limits)
            for c, v in zip(carried, values, strict=True):
                frame.env[c.var] = v
            yield from self._body(s.body, inner)
            following = self._values(s, "next", [c.next for c in carried], inner)
            values = self._carry(inner.mask if limits is not None else None, following, values)
        for c, v in zip(carried, values, strict=True):
            frame.env[c.result] = v

    def _carry(self, mask: Array | None, new: list[Array], old: list[Array]) -> list[Array]:
        if mask is None:
            return new
        return [np.where(mask, n, o) for n, o in zip(new, old, strict=True)]

    def _narrow(self, frame: _Frame, condition: Array) -> _Frame:
        mask = condition if frame.mask is None else frame.mask & condition
        return replace(frame, mask=mask)

    def _open(self, s: lo.For, frame: _Frame, first: int, count: int) -> _Frame:
        """The frame inside a lane loop that runs iterations `first` to `first + count` at once."""
        axis = len(frame.lengths)
        positions = np.arange(first, first + count, dtype=np.int64)
        frame.env[s.var] = self._line(axis, positions)
        return replace(
            frame,
            kinds=(*frame.kinds, s.kind),
            lengths=(*frame.lengths, count),
            axes={**frame.axes, s.var: axis},
        )

    def _iterations(self, s: lo.For, frame: _Frame) -> _Run:
        """A parallel loop, or a serial one whose iterations cannot meet, in chunks of lanes."""
        count, limits = self._extent(s, s.extent, frame)
        lanes = math.prod(frame.lengths) * self._weight(s.body, frame)
        chunk = max(1, min(count, LANE_BUDGET // max(lanes, 1)))
        parallel = s.kind is Kind.PARALLEL
        outermost = parallel and Kind.PARALLEL not in frame.kinds
        outer = self._concurrent_iterations
        if outermost:
            self._owner_base, self._next_owner = self._next_owner, self._next_owner + count
            self._concurrent_iterations = True
        self._inner_epoch += parallel
        for first in range(0, count, chunk):
            inner = self._open(s, frame, first, min(chunk, count - first))
            position = frame.env[s.var]
            if limits is not None:
                inner = self._narrow(inner, position < limits)
            if outermost:
                inner = replace(inner, owner=self._owner_base + position)
            elif parallel:
                inner = replace(inner, inner=frame.inner * (count + 1) + position + 1)
            if parallel:
                inner = replace(inner, depth=frame.depth + 1)
            yield from self._body(s.body, inner)
        self._inner_epoch += parallel
        self._concurrent_iterations = outer
        if outermost:
            self._owner_base = self._next_owner

    def _weight(self, body: lo.Body, frame: _Frame) -> int:
        """About how many elements one lane of `body` computes or holds at a time."""
        return max((self._statement_weight(s, frame) for s in body), default=1)

    def _statement_weight(self, s: Stmt, frame: _Frame) -> int:
        known = self._weights.get(s)
        if known is not None:
            return known
        weight = max((self._weight(b, frame) for b in lo.bodies(s)), default=1)
        if isinstance(s, lo.For) and (s.kind in _LANE_KINDS or s in self._batched):
            weight *= max(self._guess(s.extent, frame), 1)
        elif isinstance(s, lo.Reduce):
            weight = math.prod(max(self._guess(e, frame), 1) for _, e in s.domain)
        elif isinstance(s, lo.Alloc):
            weight = max(weight, math.prod(self._guess(e, frame) for e in s.buffer.shape))
        self._weights[s] = weight
        return weight

    def _guess(self, extent: Extent, frame: _Frame) -> int:
        """An extent as far as it is known: 1 where it depends on what is not bound yet."""
        if isinstance(extent, int):
            return extent
        if any(isinstance(n, (Load, Shuffle)) for n in postorder([extent])):
            return 1
        try:
            return int(evaluate([extent], frame.env)[0].max(initial=0))
        except KeyError:
            return 1

    def _grid(self, s: lo.For, frame: _Frame) -> None:
        """Perfectly nested grid loops: every block in a shuffled order."""
        nest = [s]
        while len(nest[-1].body) == 1:
            inner = nest[-1].body[0]
            if not isinstance(inner, lo.For) or inner.kind is not Kind.GRID:
                break
            nest.append(inner)
        extents = [max(self._static(loop.extent, frame), 0) for loop in nest]
        count = math.prod(extents)
        self._owner_base, self._next_owner = 0, count
        depth = frame.depth + 1
        for number in self._random.permutation(count):
            self._block = _Block(int(number), self._threads, self._phases)
            for loop, i in zip(nest, np.unravel_index(int(number), extents), strict=True):
                frame.env[loop.var] = self._uniform(i, dt.i64)
            owner = self._uniform(number, dt.i64)
            self._drive([self._body(nest[-1].body, replace(frame, owner=owner, depth=depth))])
            self._finish_block()

    def _finish_block(self) -> None:
        block = self._block
        for copy in block.drain:
            copy.perform()
        for phase in block.phases.values():
            for copy in phase.copies:
                self._report("unwaited", copy.statement, "nobody waits for this asynchronous copy")
                copy.perform()
        block.phases = {}
        block.drain = []

    def _lanes(self, s: lo.For, frame: _Frame) -> _Run:
        """A vector, warp or thread loop: its iterations in lock-step."""
        count, limits = self._extent(s, s.extent, frame)
        if count == 0:
            return
        inner = self._open(s, frame, 0, count)
        position = frame.env[s.var]
        if limits is not None:
            inner = self._narrow(inner, position < limits)
        if s.kind is Kind.VECTOR:
            yield from self._body(s.body, inner)
            return
        if frame.warps is not None and s.kind is Kind.THREAD and Kind.WARP not in frame.kinds:
            raise SimulationError("thread loops do not nest")
        if s.kind is Kind.WARP:
            # The threads of a warp loop exist once its thread loop is entered.
            warped = replace(inner, inner=position * self._thread_extent, warps=position)
            yield from self._body(s.body, replace(warped, depth=frame.depth + 1))
            return
        thread = frame.inner + position
        warps = thread // WARP if frame.warps is None else frame.warps
        inner = replace(inner, inner=thread, warps=warps, depth=frame.depth + 1)
        groups = self._groups(s, inner)
        if len(groups) == 1:
            yield from self._body(s.body, replace(inner, group=self._active(inner)))
            return
        tasks = []
        for mask in groups:
            part = self._narrow(inner, mask)
            part = replace(part, env=dict(frame.env), buffers=dict(frame.buffers))
            tasks.append(self._body(s.body, replace(part, group=self._active(part))))
        self._drive(tasks)

    def _groups(self, s: lo.For, frame: _Frame) -> list[Array]:
        """Masks of the warps that go through the roles of a thread loop in the same way."""
        assert frame.warps is not None
        roles = [i.role for i in lo.walk(s.body) if isinstance(i, lo.If) and i.role is not None]
        masks: list[Array] = [np.ones(self._one, np.bool_)]
        for role in roles:
            member = _member(role, frame.warps)
            masks = [part for m in masks for part in (m & member, m & ~member) if part.any()]
        return masks

    def _active(self, frame: _Frame) -> Array:
        """The numbers of the threads that are active."""
        if frame.warps is None:
            return np.zeros(1, np.int64)
        if frame.mask is None:
            return np.unique(frame.inner)
        shape = np.broadcast_shapes(frame.inner.shape, frame.mask.shape)
        active = np.broadcast_to(frame.mask, shape)
        return np.unique(np.broadcast_to(frame.inner, shape)[active])

    def _while(self, s: lo.While, frame: _Frame) -> _Run:
        carried = s.carried
        values = self._values(s, "initial", [c.initial for c in carried], frame)
        inner = frame
        steps = 0
        while True:
            for c, v in zip(carried, values, strict=True):
                frame.env[c.var] = v
            (condition,) = self._values(s, "condition", [s.condition], inner)
            inner = self._narrow(inner, condition)
            assert inner.mask is not None
            if not inner.mask.any():
                break
            steps += 1
            if steps > self._max_iterations:
                self._report("endless", s, f"still runs after {self._max_iterations} iterations")
                break
            yield from self._body(s.body, inner)
            following = self._values(s, "next", [c.next for c in carried], inner)
            values = self._carry(inner.mask, following, values)
        for c, v in zip(carried, values, strict=True):
            frame.env[c.result] = v

    def _if(self, s: lo.If, frame: _Frame) -> _Run:
        if s.role is not None:
            if frame.warps is None:
                raise SimulationError(f"role {s.role.name} outside of a thread loop")
            condition = _member(s.role, frame.warps)
        else:
            assert s.condition is not None
            (condition,) = self._values(s, "", [s.condition], frame)
        for body, where in ((s.then, condition), (s.orelse, ~condition)):
            inner = self._narrow(frame, where)
            if body and inner.mask is not None and inner.mask.any():
                if inner.mask.all():  # keeps uniform branches free of masks
                    inner = replace(inner, mask=None)
                yield from self._body(body, inner)

    def _alloc(self, s: lo.Alloc, frame: _Frame) -> _Run:
        buffer = s.buffer
        shared = buffer.space is Space.SHARED
        if shared and frame.warps is not None:
            raise SimulationError(f"shared buffer {buffer.name} is allocated inside threads")
        shape = tuple(max(self._static(e, frame), 0) for e in buffer.shape)
        size = math.prod(shape)
        base: Array = np.zeros(self._one, np.int64)
        instances = 1
        for axis in reversed(range(len(frame.lengths))):
            # An accumulator tile is one for all threads of its role.
            if frame.kinds[axis] in _THREAD_KINDS and buffer in self._accumulators:
                continue
            length = frame.lengths[axis]
            base = base + self._line(axis, np.arange(length, dtype=np.int64) * instances * size)
            instances *= length
        flat = np.full(instances * size, _poison(buffer.dtype), buffer.dtype.numpy)
        written = np.zeros(flat.size, np.bool_)
        storage = _Storage(buffer, flat, shape, _strides(shape), base, frame.depth, written)
        frame.buffers[buffer] = storage
        if buffer in self._arrivals:
            self._start_phases(storage)
        yield from self._body(s.body, frame)

    # -- meeting

    def _barrier(self, s: lo.Barrier, frame: _Frame) -> _Run:
        block = self._block
        every = np.arange(self._threads)
        active = self._active(frame) if frame.warps is not None else every
        if s.scope == "warp":
            for warp in np.unique(active // WARP):
                members = every[every // WARP == warp]
                if not np.isin(members, active).all():
                    self._diverges(s, members, active)
                block.join(members)
            return
        if s.scope == "block":
            members = every
        elif s.scope in self._roles:
            members = every[_member(self._roles[s.scope], every // WARP)]
        else:
            raise SimulationError(f"barrier of an unknown scope {s.scope!r}")
        group = frame.group if frame.warps is not None else every
        if not np.isin(active, members).all():
            self._diverges(s, members, active)
            return
        expected = group[np.isin(group, members)]
        if len(expected) != len(active):
            self._diverges(s, expected, active)
        meeting = block.meetings.setdefault(
            s.scope, _Meeting(np.zeros(self._threads, dtype=np.bool_))
        )
        yield _Blocked(lambda: True, s, lambda: "")
        meeting.arrived[expected] = True
        if meeting.arrived[members].all():
            block.join(members)
            meeting.arrived[:] = False
            meeting.generation += 1
            return
        generation = meeting.generation
        yield _Blocked(
            lambda: meeting.generation != generation,
            s,
            lambda: (
                f"barrier {s.scope!r} waits for threads "
                f"{_ranges(members[~meeting.arrived[members]])}"
            ),
        )

    def _diverges(self, s: lo.Barrier, members: Array, active: Array) -> None:
        message = f"barrier {s.scope!r} of threads {_ranges(members)} is reached by threads"
        self._report("divergence", s, f"{message} {_ranges(active)} only")

    def _start_phases(self, storage: _Storage) -> None:
        block = self._block
        arrivals = self._arrivals[storage.buffer]
        block.storages.append(storage)  # keeps the id in the key unique
        for element in range(storage.flat.size):
            column = self._threads + len(block.phases)
            nothing = np.zeros(block.clocks.shape[1], np.int64)
            phase = _Phase(arrivals, column, arrivals, nothing, nothing.copy())
            block.phases[id(storage), element] = phase
        assert storage.written is not None
        storage.written[:] = True

    def _phase(self, s: Stmt, buffer: Buffer, element: int, frame: _Frame) -> _Phase:
        phase = self._block.phases.get((id(self._storage(buffer, frame)), element))
        if phase is None:
            raise SimulationError(f"{buffer.name}[{element}] is not a phased barrier")
        return phase

    def _settle(self, phase: _Phase) -> None:
        """Ends a phase: its copies land, and who waits for it learns what its arrivals knew."""
        for copy in phase.copies:
            copy.perform()
        phase.copies = []
        phase.number += 1
        phase.completed = phase.gathered.copy()
        phase.completed[phase.column] = phase.number
        phase.missing, phase.expected = phase.arrivals, 0

    def _per_thread(self, frame: _Frame, *arrays: Array) -> list[Array]:
        """The values of each active thread."""
        if frame.warps is None:
            return [a.reshape(-1)[:1] for a in arrays]
        shapes = [a.shape for a in arrays]
        if frame.mask is not None:
            shapes.append(frame.mask.shape)
        shape = np.broadcast_shapes(frame.inner.shape, *shapes)
        active = np.broadcast_to(True if frame.mask is None else frame.mask, shape)
        return [np.broadcast_to(a, shape)[active] for a in arrays]

    def _signal(self, s: lo.Signal, frame: _Frame) -> _Run:
        yield _Blocked(lambda: True, s, lambda: "")
        block = self._block
        storage = self._storage(s.buffer, frame)
        index = self._values(s, "", s.index, frame)
        size = self._uniform(s.bytes, dt.i64) if isinstance(s.bytes, int) else None
        if size is None:
            assert isinstance(s.bytes, Expr)
            (size,) = self._values(s, "bytes", [s.bytes], frame)
        flat = self._address(s, storage, s.index, index, frame)
        element, thread, expected = self._per_thread(frame, flat, frame.inner, size)
        for e in np.unique(element):
            phase = self._phase(s, s.buffer, int(e), frame)
            threads = thread[element == e]
            if phase.missing <= 0:
                self._report(
                    "phase", s, f"arrives at {s.buffer.name}[{e}] before its phase is waited for"
                )
                self._settle(phase)
            phase.gathered = np.maximum(phase.gathered, block.clocks[threads].max(axis=0))
            phase.missing -= len(threads)
            phase.expected += int(expected[element == e].sum())
            if phase.missing < 0:
                message = f"{s.buffer.name}[{e}] takes {phase.arrivals} arrivals in a phase"
                self._report("phase", s, f"{message}, gets {phase.arrivals - phase.missing}")
            if phase.ended() and not phase.copies:
                self._settle(phase)
        block.clocks[thread, thread] += 1

    def _wait(self, s: lo.Wait, frame: _Frame) -> _Run:
        storage = self._storage(s.buffer, frame)
        *index, parity = self._values(s, "", (*s.index, s.parity), frame)
        flat = self._address(s, storage, s.index, index, frame)
        element, odd, thread = self._per_thread(frame, flat, parity.astype(np.int64), frame.inner)
        yield _Blocked(lambda: True, s, lambda: "")
        for e, p in sorted(set(zip(element.tolist(), odd.tolist(), strict=True))):
            phase = self._phase(s, s.buffer, e, frame)
            if p not in (0, 1):
                self._report("phase", s, f"parity {p} is neither 0 nor 1")
            while phase.number & 1 == p:
                if phase.ended():
                    self._settle(phase)
                    break
                yield _Blocked(
                    lambda phase=phase, p=p: phase.number & 1 != p or phase.ended(),  # type: ignore[misc]
                    s,
                    lambda phase=phase, e=e: (  # type: ignore[misc]
                        f"{s.buffer.name}[{e}] in phase {phase.number} misses {phase.missing} of "
                        f"{phase.arrivals} arrivals; its copies bring {phase.bytes()} of "
                        f"{phase.expected} bytes"
                    ),
                )
            clocks = self._block.clocks
            threads = thread[(element == e) & (odd == p)]
            clocks[threads] = np.maximum(clocks[threads], phase.completed)

    # -- boxes and tiles

    def _executors(
        self, s: Stmt, frame: _Frame, collective: bool, index: Sequence[Array]
    ) -> Iterator[tuple[int, ...]]:
        """A lane for each time the statement is executed: once per thread, or for all together."""
        shape = self._lane_shape(frame)
        active = np.broadcast_to(True if frame.mask is None else frame.mask, shape)
        lanes = np.argwhere(active)
        if not collective:
            yield from (tuple(map(int, lane)) for lane in lanes)
            return
        others = [a for a, k in enumerate(frame.kinds) if k not in _THREAD_KINDS]
        leaders: dict[tuple[int, ...], tuple[int, ...]] = {}
        for lane in lanes:
            leaders.setdefault(tuple(int(lane[a]) for a in others), tuple(map(int, lane)))
        for i in index:
            here = np.broadcast_to(i, shape)
            for key, leader in leaders.items():
                same = active
                for a, at in zip(others, key, strict=True):
                    same = same & self._line(a, np.arange(shape[a]) == at)
                if (here[same] != here[leader]).any():
                    message = "threads that execute this together disagree on an index"
                    self._report("uniform", s, message)
        yield from leaders.values()

    def _box(
        self,
        s: Stmt,
        storage: _Storage,
        index: Sequence[Array],
        extents: Sequence[int],
        lane: tuple[int, ...],
    ) -> tuple[Array, Array]:
        """Flat positions of a box over the last axes, and which of them lie inside the buffer."""
        first = [int(_at(i, lane)) for i in index]
        name = storage.buffer.name
        if len(first) != len(storage.shape) or len(extents) > len(first):
            raise SimulationError(f"a box of {len(extents)} axes in {name}, index {first}")
        single = len(first) - len(extents)
        flat = np.zeros((1,) * len(extents), np.int64)
        inside = np.ones((1,) * len(extents), np.bool_)
        if storage.base is not None:
            flat = flat + _at(storage.base, lane)
        for axis, at in enumerate(first):
            if axis < single:
                if not 0 <= at < storage.shape[axis]:
                    message = f"index {axis} of {name} is {at}, its extent {storage.shape[axis]}"
                    self._report("bounds", s, message)
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

    def _copy(self, s: lo.Copy, frame: _Frame) -> None:
        destination = self._storage(s.destination, frame)
        source = self._storage(s.source, frame)
        if s.destination.dtype is not s.source.dtype:
            message = f"copies {s.source.dtype} into {s.destination.dtype}"
            self._report("type", s, message)
            return
        if s.destination.role == "in":
            self._report("store-in", s, f"copies into the input {s.destination.name}")
            return
        roots = (*s.destination_index, *s.source_index, *s.signal_index)
        values = self._values(s, "", roots, frame)
        n, m = len(s.destination_index), len(s.source_index)
        spaces = (s.destination.space, s.source.space)
        collective = Space.SHARED in spaces or s.asynchronous
        for lane in self._executors(s, frame, collective, values):
            to, to_inside = self._box(s, destination, values[:n], s.extents, lane)
            from_, from_inside = self._box(s, source, values[n : n + m], s.extents, lane)
            used = to_inside & from_inside
            owner = np.asarray(_at(frame.owner, lane))
            move = _Move(s, destination, source, to, to_inside, from_, from_inside)
            if not s.asynchronous:
                threads = self._active(frame) if collective else None
                self._cooperate(s, source, from_[used], owner, threads, frame, lane, write=False)
                self._move(move)
                to_ = to[to_inside]
                self._cooperate(s, destination, to_, owner, threads, frame, lane, write=True)
                continue
            block = self._block
            issuer = int(_at(frame.inner, lane))
            phase = None
            column = block.clocks.shape[1] - 1
            clock = len(block.drain) + 1
            if s.signal is not None:
                storage = self._storage(s.signal, frame)
                (element,) = self._box(s, storage, values[n + m :], (), lane)[0]
                phase = self._phase(s, s.signal, int(element), frame)
                column, clock = phase.column, phase.number + 1
                phase.gathered = np.maximum(phase.gathered, block.clocks[issuer])
            pending = _Pending(
                lambda move=move: self._move(move),  # type: ignore[misc]
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
                    self._access(
                        *(s, storage, positions, owners, here, times),
                        write=write,
                        knowledge=knowledge,
                    )
            (block.drain if phase is None else phase.copies).append(pending)

    def _cooperate(
        self,
        s: Stmt,
        storage: _Storage,
        positions: Array,
        owner: Array,
        threads: Array | None,
        frame: _Frame,
        lane: tuple[int, ...],
        *,
        write: bool,
    ) -> None:
        """Records that threads share the work of a box: element e is done by one of them.

        The thread is half the group away from e modulo the group, so that a thread that reads
        the element of its own number afterwards, without a barrier, is found.
        """
        if not self._tracked(storage, frame):
            return
        if threads is None:
            inner = np.full(positions.shape, _at(frame.inner, lane))
        else:
            count = len(threads)
            inner = threads[(np.arange(len(positions)) + count // 2) % count]
        if self._concurrent_iterations:
            clock = np.full(inner.shape, self._inner_epoch)
        else:
            clock = self._block.clocks[inner, inner]
        owners = np.broadcast_to(owner, positions.shape)
        self._access(s, storage, positions, owners, inner, clock, write=write)

    def _move(self, m: _Move) -> None:
        used = m.to_inside & m.from_inside
        written = m.source.written
        if written is not None and not written[m.from_[used]].all():
            self._report(
                "unwritten", m.statement, f"reads {m.source.buffer.name} before it is written"
            )
        values = np.zeros(m.to.shape, m.source.flat.dtype)
        values[m.from_inside] = m.source.flat[m.from_[m.from_inside]]
        m.destination.flat[m.to[m.to_inside]] = values[m.to_inside]
        if m.destination.written is not None:
            m.destination.written[m.to[m.to_inside]] = True

    def _multiply(self, s: lo.TileMultiply, frame: _Frame) -> None:
        """The tile product in the accumulators' type; NumPy's order of summation."""
        m, n, k = s.shape
        storage = self._storage(s.accumulators, frame)
        if storage.shape != (m, n):
            message = f"accumulators of shape {storage.shape} for a tile of {(m, n)}"
            raise SimulationError(message)
        first = () if s.first is None else (s.first,)
        values = self._values(s, "", (*s.a_index, *s.b_index, *first), frame)
        count = len(s.a_index)
        zero = (self._uniform(0, dt.i64),) * 2
        for lane in self._executors(s, frame, True, values):
            operands = []
            for buffer, index, shape in (
                (s.a, values[:count], (k, m) if s.transpose_a else (m, k)),
                (s.b, values[count : count + len(s.b_index)], (n, k) if s.transpose_b else (k, n)),
            ):
                tile = self._storage(buffer, frame)
                flat, inside = self._box(s, tile, index, shape, lane)
                if not inside.all():
                    message = f"tile {shape} of {buffer.name} reaches out of it"
                    self._report("bounds", s, message)
                if tile.written is not None and not tile.written[flat[inside]].all():
                    self._report("unwritten", s, f"reads {buffer.name} before it is written")
                if self._tracked(tile, frame):
                    self._read_by_all(s, tile, flat[inside], frame, lane)
                operands.append(tile.flat[flat].reshape(shape).astype(storage.flat.dtype))
            a, b = operands
            product = (a.T if s.transpose_a else a) @ (b.T if s.transpose_b else b)
            places, _ = self._box(s, storage, zero, (m, n), lane)
            assert storage.written is not None
            if not (first and bool(_at(values[-1], lane))):
                if not storage.written[places].all():
                    name = s.accumulators.name
                    self._report("unwritten", s, f"adds to {name} before it is written")
                product = storage.flat[places].reshape(m, n) + product
            storage.flat[places] = product.reshape(-1)
            storage.written[places] = True

    def _read_by_all(
        self, s: Stmt, storage: _Storage, positions: Array, frame: _Frame, lane: tuple[int, ...]
    ) -> None:
        """Records reads by every active thread: all must know of the writes before."""
        owner = np.full(positions.shape, _at(frame.owner, lane))
        if self._concurrent_iterations:
            inner = np.full(positions.shape, _at(frame.inner, lane))
            clock = np.full(positions.shape, self._inner_epoch)
            self._access(s, storage, positions, owner, inner, clock, write=False)
            return
        threads = self._active(frame)
        clocks = self._block.clocks
        knowledge = clocks[threads].min(axis=0)
        for thread in {int(threads.min()), int(threads.max())}:
            inner = np.full(positions.shape, thread)
            clock = np.full(positions.shape, clocks[thread, thread])
            self._access(
                s, storage, positions, owner, inner, clock, write=False, knowledge=knowledge
            )


@dataclass(slots=True)
class _Move:
    """A copy ready to be performed: positions in destination and source, and which are inside."""

    statement: Stmt
    destination: _Storage
    source: _Storage
    to: Array
    to_inside: Array
    from_: Array
    from_inside: Array


# --- facts about a kernel -------------------------------------------------------------------------


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements; a buffer's own strides do not matter to what it holds."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def _at(value: Array, lane: Sequence[int]) -> Any:
    """The value of one lane."""
    return value[tuple(i if n > 1 else 0 for i, n in zip(lane, value.shape, strict=True))]


def _member(role: lo.Role, warps: Array) -> Array:
    member: Array = (warps >= role.first_warp) & (warps < role.first_warp + role.warps)
    return member


def _is_role(s: Stmt) -> bool:
    return isinstance(s, lo.If) and s.role is not None


def _ranges(numbers: Array) -> str:
    """Sorted numbers as `0..31, 64..95`."""
    if len(numbers) == 0:
        return "none"
    cuts = np.flatnonzero(np.diff(numbers) != 1) + 1
    parts = np.split(numbers, cuts)
    return ", ".join(f"{p[0]}..{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)


def _lane_depth(body: lo.Body, batched: set[Stmt]) -> int:
    """The most lane axes that are open at once."""
    deepest = 0
    for s in body:
        inner = max((_lane_depth(b, batched) for b in lo.bodies(s)), default=0)
        lanes = isinstance(s, lo.For) and (s.kind in _LANE_KINDS or s in batched)
        deepest = max(deepest, inner + (1 if lanes or isinstance(s, lo.Reduce) else 0))
    return deepest


def _thread_count(kernel: Kernel) -> tuple[int, int]:
    """Threads of a thread loop, and of a block; 1 where there are none."""
    extents = {Kind.WARP: 1, Kind.THREAD: 1}
    for s in lo.walk(kernel.body):
        if isinstance(s, lo.For) and s.kind in _THREAD_KINDS:
            if not isinstance(s.extent, int):
                raise SimulationError(f"the extent of {s.kind.value} loops must be a constant")
            extents[s.kind] = max(extents[s.kind], s.extent)
    return extents[Kind.THREAD], extents[Kind.WARP] * extents[Kind.THREAD]


def _independent_loops(kernel: Kernel) -> set[Stmt]:
    """Serial loops whose iterations provably do not meet, to be run as lanes.

    Only loops of logical form: nothing carried, only serial loops inside, no accumulation; what is
    stored is not loaded in the loop, and each store of a buffer has the loop variable itself at
    one and the same index position, so that no two iterations store to one element.
    """
    return {
        s
        for s in lo.walk(kernel.body)
        if isinstance(s, lo.For)
        and s.kind is Kind.SERIAL
        and not s.carried
        and _independent(s, kernel)
    }


def _independent(loop: lo.For, kernel: Kernel) -> bool:
    private: set[Buffer] = set()
    places: dict[Buffer, set[int]] = {}
    loaded: set[Buffer] = set()
    for s in lo.walk(loop.body):
        if isinstance(s, lo.For):
            if s.kind not in (Kind.SERIAL, Kind.UNROLL):
                return False
        elif isinstance(s, lo.Alloc):
            if s.buffer.space is Space.SHARED:
                return False
            private.add(s.buffer)
        elif isinstance(s, lo.Store):
            here = {n for n, i in enumerate(s.index) if i is loop.var}
            places[s.buffer] = places.get(s.buffer, here) & here
        elif isinstance(s, lo.Reduce):
            free = [e for _, e in s.domain if isinstance(e, Expr)]
            known = kernel.sizes
            if any(isinstance(n, (Var, Load)) and n not in known for n in postorder(free)):
                return False
        elif not isinstance(s, (lo.Let, lo.If, lo.While, lo.Fail)) or _is_role(s):
            return False
        loaded |= {n.buffer for n in postorder(lo.expressions(s)) if isinstance(n, Load)}
    stored = {b for b in places if b not in private}
    return all(places[b] and b not in loaded and not b.may_alias for b in stored)
