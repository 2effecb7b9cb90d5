"""The time of each kernel of a Plan, measured alone, on the data that it has in a real call.

The steps of the Plan are walked as a call runs them, in memory of their own: nothing of the user's
is written. Before a kernel runs for the first time it is timed several times in a row, what it
changes being put back in between, and the best run counts, less what the call itself takes. So its
data lie in the nearest cache that holds them. Loops go round as they do in a call; their
kernels are timed in the first iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from pyc.backends.cpu import aligned_bytes
from pyc.explanation.native import Native
from pyc.frozen import frozen
from pyc.ir.loops import Kernel, While, walk
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
from pyc.ir.target import Target

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


def why_not(plan: Plan, target: Target) -> str:
    """Why a Plan's kernels cannot be timed here; empty if they can."""
    if target.has_blocks:
        return "kernels of a GPU are not measured"
    if any(isinstance(s, Library) for s in walk_steps(plan.steps)):
        return "the program calls Python functions back, which a report does not do"
    return ""


def measure(plan: Plan, target: Target, arguments: Sequence[Array]) -> Times:
    """The times of a Plan's kernels for these arguments, one dense array a parameter.

    raises RuntimeError: a check of the program has failed, as it would in a call
    """
    machine = _Machine(plan, target, arguments)
    machine.run(plan.steps)
    return Times(machine.times, _program(plan, target, arguments))


def _program(plan: Plan, target: Target, arguments: Sequence[Array]) -> float:
    native = Native(plan, target)
    donated = {b.index for b in plan.buffers if b.donated}
    given = [a.copy() if k in donated else a for k, a in enumerate(arguments)]
    results = [aligned_bytes(plan.buffers[slot].nbytes) for slot in plan.results]

    def once() -> float:
        for k in donated:
            np.copyto(given[k], arguments[k])
        return native.run([a[()] if a.ndim == 0 else a for a in given], results)

    return _best(once)


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

    def __init__(self, plan: Plan, target: Target, arguments: Sequence[Array]) -> None:
        self.plan = plan
        self.target = target
        self.times: dict[int, float] = {}
        self._natives: dict[int, Native] = {}
        empty = Native(Plan((), (), (), (), ()), target)
        self.nothing = _best(lambda: empty.run([], []))
        self._arena = aligned_bytes(max(plan.peak, 1))
        self._constants = aligned_bytes(max(len(plan.constants), 1))
        self._constants[: len(plan.constants)] = np.frombuffer(plan.constants, np.uint8)
        self._outside: dict[tuple[Place, int], Array] = {}
        for b in plan.buffers:
            if b.place in (Place.ARGUMENT, Place.RESULT):
                self._outside[b.place, b.index] = aligned_bytes(b.nbytes)
        for k, a in enumerate(arguments):
            found = self._outside.get((Place.ARGUMENT, k))
            if found is not None:
                found[:] = np.ascontiguousarray(a).reshape(-1).view(np.uint8)
        self._address = list(range(len(plan.buffers)))

    def bytes_of(self, slot: int) -> Array:
        """The memory of a slot."""
        b = self.plan.buffers[self._address[slot]]
        if b.place is Place.ARENA:
            return self._arena[b.index : b.index + b.nbytes]
        if b.place is Place.CONSTANT:
            return self._constants[b.index : b.index + b.nbytes]
        return self._outside[b.place, b.index]

    def run(self, steps: Sequence[Step]) -> None:
        """Runs steps; each kernel is timed before it runs for the first time."""
        for step in steps:
            if isinstance(step, Launch):
                self._launch(step)
            elif isinstance(step, Copy):
                self.bytes_of(step.destination)[:] = self.bytes_of(step.source)
            elif isinstance(step, Branch):
                index = int(self.bytes_of(step.index).view(np.int64)[0])
                self.run(step.cases[min(max(index, 0), len(step.cases) - 1)])
            elif isinstance(step, Loop):
                self._loop(step)

    def _loop(self, step: Loop) -> None:
        while True:
            self.run(step.condition)
            if not self.bytes_of(step.flag)[0]:
                return
            self.run(step.body)
            for a, b in step.rotate:
                self._address[a], self._address[b] = self._address[b], self._address[a]

    def _launch(self, step: Launch) -> None:
        kernel = self.plan.kernels[step.kernel]
        memory = [self.bytes_of(slot) for slot in step.slots]
        native = self._natives.get(step.kernel)
        if native is None:
            native = self._natives[step.kernel] = Native(_alone(kernel, step), self.target)
            self.times[step.kernel] = self._time(kernel, step, native, memory)
        native.run(memory, [])

    def _time(self, kernel: Kernel, step: Launch, native: Native, memory: Sequence[Array]) -> float:
        """The seconds of a launch; the memory is as before."""
        changed = [m for m, b in zip(memory, kernel.buffers, strict=True) if b.role == "inout"]
        before = [m.copy() for m in changed]

        def restore() -> None:
            for m, old in zip(changed, before, strict=True):
                m[:] = old

        def best(program: Native) -> float:
            def once() -> float:
                restore()
                return program.run(memory, [])

            return _best(once)

        alone = best(native)
        found = alone - self.nothing
        # What is repeated on its own result must take as long as it does on what it was given.
        steady = not changed or not any(isinstance(s, While) for s in walk(kernel.body))
        if alone < SHORT_SECONDS and steady:
            several = best(Native(_alone(kernel, step, SEVERAL), self.target))
            found = (several - alone) / (SEVERAL - 1)
        restore()
        return max(found, 0.0)


def _alone(kernel: Kernel, step: Launch, times: int = 1) -> Plan:
    """The Plan of a launch, or of several in a row, whose buffers are all the caller's."""
    slots = tuple(range(len(kernel.buffers)))
    buffers = []
    for k, b in enumerate(kernel.buffers):
        size = int(np.prod([d for d in b.shape if isinstance(d, int)], dtype=np.int64))
        nbytes = size * b.dtype.itemsize
        written = b.role != "in"
        buffers.append(PlanBuffer(nbytes, Place.ARGUMENT, k, first=1, last=1, donated=written))
    launch = Launch(0, slots, step.sizes)
    return Plan((kernel,), tuple(buffers), (launch,) * times, slots, ())
