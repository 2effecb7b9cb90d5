"""The Plan interpreter: runs a Plan with the kernel interpreter, for tests and `pyc.verify`.

It gives every buffer the address range that the planner chose, in one arena of bytes, and poisons
what is dead: bytes of a buffer whose life ends, the arena and the results at the start hold 0xAB. A
kernel that reads a wrong offset, a freed buffer or one that was not written yet therefore computes
on garbage, which the comparison with the Graph interpreter shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.backends import lapack
from pyc.ir.evaluate import evaluate
from pyc.ir.loops import Buffer, Kernel
from pyc.ir.plan import Branch, Copy, Launch, Library, Loop, Place, Plan, Step
from pyc.ir.routines import is_lapack
from pyc.ir.simulate import SimulationError
from pyc.ir.simulate import run as run_kernel

Array = np.ndarray[Any, Any]
POISON = 0xAB


class PlanFailure(Exception):
    """A site of the Plan failed: `site` and the offending `value`."""

    def __init__(self, site: int, value: int) -> None:
        super().__init__(f"site {site} failed with {value}")
        self.site = site
        self.value = value


class _Machine:
    def __init__(self, plan: Plan, arguments: Sequence[Array], results: Sequence[Array]) -> None:
        self.plan = plan
        self.arena = np.full(max(plan.peak, 1), POISON, np.uint8)
        self.constants = np.frombuffer(plan.constants or b"\0", np.uint8)
        donated = {b.index for b in plan.buffers if b.donated}
        self.arguments = [
            np.array(a, order="C", copy=k in donated or None).reshape(-1).view(np.uint8)
            for k, a in enumerate(arguments)
        ]
        self.results = [r.reshape(-1).view(np.uint8) for r in results]
        self.address = list(range(len(plan.buffers)))
        self.number = 0

    def bytes_of(self, slot: int) -> Array:
        """The bytes of a slot's buffer."""
        b = self.plan.buffers[self.address[slot]]
        if b.place is Place.ARGUMENT:
            return self.arguments[b.index]
        if b.place is Place.RESULT:
            return self.results[b.index]
        if b.place is Place.CONSTANT:
            return self.constants[b.index : b.index + b.nbytes]
        return self.arena[b.index : b.index + b.nbytes]

    def view(self, slot: int, buffer: Buffer) -> Array:
        """A slot as the array that a kernel's buffer describes."""
        shape = tuple(d for d in buffer.shape if isinstance(d, int))
        data = self.bytes_of(slot)
        return data.view(buffer.dtype.numpy)[: int(np.prod(shape))].reshape(shape)

    def run(self, steps: Sequence[Step], *, outermost: bool) -> None:
        """Runs steps; only the outermost level knows which lives have ended."""
        for step in steps:
            start = self.number + 1
            self._step(step)
            if outermost:
                self._poison(start, self.number)

    def _step(self, step: Step) -> None:
        self.number += 1
        if isinstance(step, Launch):
            self._launch(step)
        elif isinstance(step, Copy):
            self.bytes_of(step.destination)[:] = self.bytes_of(step.source)
        elif isinstance(step, Branch):
            index = int(self.bytes_of(step.index).view(np.int64)[0])
            chosen = min(max(index, 0), len(step.cases) - 1)
            for k, case in enumerate(step.cases):
                if k == chosen:
                    self.run(case, outermost=False)
                else:
                    self.number += _count(case)
        elif isinstance(step, Loop):
            self._loop(step)
        else:
            assert isinstance(step, Library)
            if not is_lapack(step.routine):
                raise NotImplementedError(f"library routine {step.routine}")
            lapack.run(step.routine, step.integers, [self.bytes_of(k) for k in step.slots])

    def _launch(self, step: Launch) -> None:
        kernel = self.plan.kernels[step.kernel]
        pairs = zip(step.slots, kernel.buffers, strict=not step.host)
        views = [self.view(s, b) for s, b in pairs]
        arrays = self._on_host(kernel, step, views) if step.host else views
        outcome = run_kernel(kernel, arrays, step.known_sizes)
        if outcome.failed is not None:
            raise PlanFailure(*outcome.failed)
        if step.host:
            for view, array, b in zip(views, arrays, kernel.buffers, strict=False):
                if b.role != "in":
                    view[...] = array

    def _on_host(self, kernel: Kernel, step: Launch, views: Sequence[Array]) -> list[Array]:
        """What a step of the host works on: copies of what it reads, and else poisoned memory.
        Slots of one buffer share a copy."""
        copies: dict[int, Array] = {}
        arrays: list[Array] = []
        for k, b in enumerate(kernel.buffers):
            key = self.address[step.slots[k]] if k < len(views) else -1 - k
            if key not in copies:
                shape = tuple(d for d in b.shape if isinstance(d, int))
                copies[key] = np.empty(shape, b.dtype.numpy)
                copies[key].reshape(-1).view(np.uint8)[:] = POISON
            array = copies[key].reshape(-1).view(np.uint8).view(b.dtype.numpy)
            arrays.append(array.reshape(tuple(d for d in b.shape if isinstance(d, int))))
            if k < len(views) and b.role != "out":
                arrays[-1][...] = views[k]
        return arrays

    def _loop(self, step: Loop) -> None:
        start, times = self.number, 0
        while True:
            self.number = start
            self.run(step.condition, outermost=False)
            if not self.bytes_of(step.flag)[0]:
                break
            times += 1
            self.run(step.body, outermost=False)
            for a, b in step.rotate:
                self.address[a], self.address[b] = self.address[b], self.address[a]
        if step.times not in (None, times):
            raise SimulationError(f"a loop of {step.times} iterations had {times}")
        self.number = start + _count(step.condition) + _count(step.body) + 2

    def _poison(self, start: int, end: int) -> None:
        """Overwrites arena buffers whose last step lies in [start, end]."""
        alive = [b for b in self.plan.buffers if b.place is Place.ARENA and b.first <= end < b.last]
        for b in self.plan.buffers:
            if b.place is Place.ARENA and start <= b.last <= end:
                kept = [(a.index, self.arena[a.index : a.index + a.nbytes].copy()) for a in alive]
                self.arena[b.index : b.index + b.nbytes] = POISON
                for offset, data in kept:
                    self.arena[offset : offset + data.size] = data


def _count(steps: Sequence[Step]) -> int:
    """How many numbers `passes/memory` gives these steps."""
    total = 0
    for step in steps:
        total += 1
        if isinstance(step, Branch):
            total += sum(_count(c) for c in step.cases)
        elif isinstance(step, Loop):
            total += _count(step.condition) + _count(step.body) + 2
    return total


def run_plan(
    plan: Plan, arguments: Sequence[Array], shapes: Sequence[tuple[tuple[int, ...], Any]]
) -> list[Array]:
    """Results of a Plan; shapes: the (shape, NumPy dtype) of each. Arguments are not written, also
    if results take them over. PlanFailure if a site fails."""
    results = [np.empty(shape, dtype) for shape, dtype in shapes]
    for r in results:
        r.reshape(-1).view(np.uint8)[:] = POISON
    machine = _Machine(plan, arguments, results)
    machine.run(plan.steps, outermost=True)
    for k, number in plan.taken().items():
        results[k] = machine.arguments[number].view(shapes[k][1]).reshape(shapes[k][0])
    return results


__all__ = ["POISON", "PlanFailure", "SimulationError", "evaluate", "run_plan"]
