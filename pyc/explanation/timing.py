"""The time of each kernel of a Plan, measured alone, on the data that it has in a real call.

The steps of the Plan are walked as a call runs them, in memory of their own: nothing of the user's
is written. Before a kernel runs for the first time it is timed several times in a row, what it
changes being put back in between, and the best run counts, less what the call itself takes. So its
data lie in the nearest cache that holds them. Loops go round as they do in a call; their
kernels are timed in the first iteration. What a machine is, and its clock, a `Bench` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from time import perf_counter
from typing import Any

import numpy as np

from pyc.explanation.native import Bench, Timed
from pyc.frozen import frozen, replace
from pyc.ir.loops import Buffer, Kernel, While, walk
from pyc.ir.ops.host import ROUTINE
from pyc.ir.plan import (
    Branch,
    Copy,
    Launch,
    Library,
    Loop,
    Place,
    Plan,
    PlanBuffer,
    Step,
    walk_steps,
)
from pyc.ir.routines import alone
from pyc.ir.solvers import is_solver

Array = np.ndarray[Any, Any]
LEAST_RUNS, MOST_RUNS = 5, 200
ENOUGH_SECONDS = 0.05
"""Once the runs of a kernel have taken so long, and there were enough, the best one counts."""


SHORT_SECONDS, SEVERAL = 3e-5, 33
"""A kernel that is shorter is timed over so many launches in one entry, less one launch."""


@frozen()
class Times:
    """Seconds. kernels: by number, of those that ran; program: of all, started from Python."""

    kernels: dict[int, float]
    program: float


def why_not(plan: Plan, bench: Bench) -> str:
    """Why a Plan's kernels cannot be timed here; empty if they can."""
    routines = {s.routine for s in walk_steps(plan.steps) if isinstance(s, Library)}
    if ROUTINE in routines:
        return "the program calls Python functions back, which a report does not do"
    if routines and not bench.routines:
        library = "a library of the device" if any(map(is_solver, routines)) else "LAPACK"
        return f"the program calls {library}, whose steps are not timed one by one"
    return ""


def measure(plan: Plan, bench: Bench, arguments: Sequence[Array]) -> Times:
    """The times of a Plan's kernels for these arguments, one dense array a parameter.

    raises RuntimeError: a check of the program has failed, as it would in a call
    """
    machine = _Machine(plan, bench, arguments)
    machine.run(plan.steps)
    return Times(machine.times, _program(plan, bench, arguments))


def _program(plan: Plan, bench: Bench, arguments: Sequence[Array]) -> float:
    native = bench.program(plan)
    donated = {b.index for b in plan.buffers if b.donated}
    kept, given = ([_filled(bench, a) for a in arguments] for _ in range(2))
    results = [bench.block(plan.buffers[slot].nbytes) for slot in plan.results]

    def once() -> float:
        for k in donated:
            bench.copy(given[k], kept[k])
        return native.run(given, results)

    return _best(once)


def _filled(bench: Bench, array: Array) -> Any:
    """A block that holds an array."""
    block = bench.block(array.nbytes)
    bench.put(block, array)
    return block


def _best(once: Any) -> float:
    """The shortest of several times that `once` gives."""
    times: list[float] = []
    start = perf_counter()
    while len(times) < LEAST_RUNS or perf_counter() - start < ENOUGH_SECONDS:
        times.append(once())
        if len(times) == MOST_RUNS:
            break
    return min(times)


class _Machine:
    """The memory of a Plan, and its kernels as programs of their own."""

    def __init__(self, plan: Plan, bench: Bench, arguments: Sequence[Array]) -> None:
        self.plan = plan
        self.bench = bench
        self.times: dict[int, float] = {}
        self._natives: dict[int, Timed] = {}
        self._routines: dict[Library, Timed] = {}
        empty = bench.program(Plan((), (), (), (), ()))
        self.nothing = _best(lambda: empty.run([], []))
        self._arena = bench.block(plan.peak)
        self._constants = _filled(bench, np.frombuffer(plan.constants, np.uint8))
        self._outside: dict[tuple[Place, int], Any] = {}
        for b in plan.buffers:
            if b.place in (Place.ARGUMENT, Place.RESULT):
                self._outside[b.place, b.index] = bench.block(b.nbytes)
        for k, a in enumerate(arguments):
            found = self._outside.get((Place.ARGUMENT, k))
            if found is not None:
                bench.put(found, a)
        self._address = list(range(len(plan.buffers)))

    def block_of(self, slot: int) -> Any:
        """The memory of a slot."""
        b = self.plan.buffers[self._address[slot]]
        if b.place is Place.ARENA:
            return self.bench.part(self._arena, b.index, b.nbytes)
        if b.place is Place.CONSTANT:
            return self.bench.part(self._constants, b.index, b.nbytes)
        return self._outside[b.place, b.index]

    def run(self, steps: Sequence[Step]) -> None:
        """Runs steps; each kernel is timed before it runs for the first time."""
        for step in steps:
            if isinstance(step, Launch):
                self._launch(step)
            elif isinstance(step, Library):
                self._library(step)
            elif isinstance(step, Copy):
                self.bench.copy(self.block_of(step.destination), self.block_of(step.source))
            elif isinstance(step, Branch):
                index = self.bench.number(self.block_of(step.index), np.int64)
                self.run(step.cases[min(max(index, 0), len(step.cases) - 1)])
            elif isinstance(step, Loop):
                self._loop(step)

    def _loop(self, step: Loop) -> None:
        while True:
            self.run(step.condition)
            if not self.bench.number(self.block_of(step.flag), np.uint8):
                return
            self.run(step.body)
            for a, b in step.rotate:
                self._address[a], self._address[b] = self._address[b], self._address[a]

    def _library(self, step: Library) -> None:
        """Runs a routine, which is no kernel: kernels behind it read what it makes."""
        if step not in self._routines:
            self._routines[step] = self.bench.program(alone(self.plan, step))
        self._routines[step].run([self.block_of(slot) for slot in step.slots], [])

    def _launch(self, step: Launch) -> None:
        kernel = self.plan.kernels[step.kernel]
        memory = [self.block_of(slot) for slot in step.slots]
        native = self._natives.get(step.kernel)
        if native is None:
            native = self._natives[step.kernel] = self.bench.program(_alone(kernel, step))
            self.times[step.kernel] = self._time(kernel, step, native, memory)
        native.run(memory, [])

    def _time(self, kernel: Kernel, step: Launch, native: Timed, memory: Sequence[Any]) -> float:
        """The seconds of a launch; the memory is as before."""
        changed = [
            (block, self.bench.block(_nbytes(b)))
            for block, b in zip(memory, kernel.buffers, strict=False)
            if b.role == "inout"
        ]
        for block, before in changed:
            self.bench.copy(before, block)

        def restore() -> None:
            for block, before in changed:
                self.bench.copy(block, before)

        def best(program: Timed) -> float:
            def once() -> float:
                restore()
                return program.run(memory, [])

            return _best(once)

        alone = best(native)
        found = alone - self.nothing
        # What is repeated on its own result must take as long as it does on what it was given.
        steady = not changed or not any(isinstance(s, While) for s in walk(kernel.body))
        if alone < SHORT_SECONDS and steady:
            several = best(self.bench.program(_alone(kernel, step, SEVERAL)))
            found = (several - alone) / (SEVERAL - 1)
        restore()
        return max(found, 0.0)


def _alone(kernel: Kernel, step: Launch, times: int = 1) -> Plan:
    """The Plan of a launch, or of several in a row, whose buffers are all the caller's."""
    slots = tuple(range(len(step.slots)))
    buffers = []
    for k, b in enumerate(kernel.buffers[: len(slots)]):
        written = b.role != "in"
        buffers.append(PlanBuffer(_nbytes(b), Place.ARGUMENT, k, first=1, last=1, donated=written))
    launch = replace(step, kernel=0, slots=slots)
    return Plan((kernel,), tuple(buffers), (launch,) * times, slots, ())


def _nbytes(b: Buffer) -> int:
    """Bytes of a parameter."""
    return b.dtype.itemsize * prod(d for d in b.shape if isinstance(d, int))
