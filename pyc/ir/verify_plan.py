"""The verifier of Plans: the planner runs it in debug mode, tests always.

Takes a Plan, returns nothing, or raises `VerificationError` that names the step, with the whole
text. Checked:

* steps name kernels and buffers that there are; a launch has a buffer for each parameter, at least
  as large, and a number for each size; steps of the host may leave scratch parameters to the host,
  and their kernels are logical;
* constants are not written, nor arguments but donated ones, which a result may take over; copies
  and swaps are between buffers of one size, swaps between buffers that may be written and are not
  named as results (those stay where they are); flags and indices of loops and branches are as large
  as they read;
* buffers of the arena are aligned, within the peak, used only while they are alive, and share no
  byte with another that is alive at the same time;
* checks of kernels have a site.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyc.errors import VerificationError
from pyc.ir.loops import Fail, For, Kind, walk
from pyc.ir.plan import (
    ALIGNMENT,
    Branch,
    Copy,
    Launch,
    Library,
    Place,
    Plan,
    PlanBuffer,
    Step,
)

_LOGICAL = (Kind.SERIAL, Kind.PARALLEL, Kind.VECTOR)
"""Kinds of loops of a step of the host: those of `lower`, and vectors that an op makes itself."""
_WRITABLE = (Place.ARENA, Place.RESULT)


def verify_plan(plan: Plan) -> None:
    """Returns if `plan` keeps every invariant of its level; VerificationError says which fails."""
    try:
        verifier = _Verifier(plan)
        verifier.steps(plan.steps)
        verifier.memory()
    except _Broken as broken:
        error = VerificationError(f"plan: {broken}")
        error.add_note(str(plan))
        raise error from None


class _Broken(Exception):
    """An invariant that fails."""


class _Verifier:
    """Walks the steps in program order; `number` is that of the step at hand, as lives count."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.number = 0

    def steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self.number += 1
            if isinstance(step, Launch):
                self._launch(step)
            elif isinstance(step, Library):
                for slot in step.slots:
                    self._used(slot)
            elif isinstance(step, Copy):
                self._same_size(step.destination, step.source, "copy")
                self._written(step.destination, "copy")
            elif isinstance(step, Branch):
                self._read(step.index, 8, "branch")
                if not step.cases:
                    raise _Broken(f"branch b{step.index} has no cases")
                for case in step.cases:
                    self.steps(case)
            else:
                self.steps(step.condition)
                self.number += 1
                self._read(step.flag, 1, "loop")
                self.steps(step.body)
                self.number += 1
                if step.times is not None and step.times < 0:
                    raise _Broken(f"loop while b{step.flag} runs {step.times} times")
                for a, b in step.rotate:
                    self._same_size(a, b, "swap")
                    for slot in (a, b):
                        self._written(slot, "swap")
                        if slot in self.plan.results:
                            raise _Broken(f"swap of b{a} and b{b}: b{slot} is a result")

    def _launch(self, step: Launch) -> None:
        if not 0 <= step.kernel < len(self.plan.kernels):
            raise _Broken(f"launch of kernel {step.kernel} of {len(self.plan.kernels)}")
        kernel = self.plan.kernels[step.kernel]
        what = f"launch of {kernel.name}"
        given, wanted = len(step.slots), len(kernel.buffers)
        if given > wanted or (given < wanted and not step.host):
            raise _Broken(f"{what}: {given} buffers for {wanted} parameters")
        if len(step.sizes) != len(kernel.sizes):
            raise _Broken(f"{what}: {len(step.sizes)} numbers for {len(kernel.sizes)} sizes")
        for slot, buffer in zip(step.slots, kernel.buffers, strict=False):
            known = [d for d in buffer.shape if isinstance(d, int)]
            elements = prod(known) if len(known) == len(buffer.shape) else 0
            self._read(slot, elements * buffer.dtype.itemsize, what)
            if buffer.role != "in":
                self._written(slot, what)
            if buffer.streamed and self.plan.buffers[slot].place is Place.ARGUMENT:
                raise _Broken(f"{what} streams to b{slot}, whose alignment is the caller's")
        for s in walk(kernel.body):
            if step.host and isinstance(s, For) and s.kind not in _LOGICAL:
                raise _Broken(f"{what} on the host: the kernel is scheduled already")
            if isinstance(s, Fail) and not 0 <= s.site < len(self.plan.sites):
                raise _Broken(f"{what}: site {s.site} of {len(self.plan.sites)}")

    # --- buffers ----------------------------------------------------------------------------------

    def _used(self, slot: int) -> PlanBuffer:
        if not 0 <= slot < len(self.plan.buffers):
            raise _Broken(f"step {self.number} names b{slot} of {len(self.plan.buffers)} buffers")
        buffer = self.plan.buffers[slot]
        if buffer.place is Place.ARENA and not buffer.first <= self.number <= buffer.last:
            raise _Broken(
                f"step {self.number} uses b{slot}, alive in {buffer.first}..{buffer.last}"
            )
        return buffer

    def _read(self, slot: int, nbytes: int, what: str) -> None:
        found = self._used(slot).nbytes
        if found < nbytes:
            raise _Broken(f"{what}: b{slot} has {found} bytes, {nbytes} are used")

    def _written(self, slot: int, what: str) -> None:
        buffer = self._used(slot)
        if buffer.place not in _WRITABLE and not buffer.donated:
            raise _Broken(f"{what} writes b{slot}, which is of the {buffer.place.value}s")

    def _same_size(self, a: int, b: int, what: str) -> None:
        sizes = self._used(a).nbytes, self._used(b).nbytes
        if sizes[0] != sizes[1]:
            raise _Broken(f"{what} of b{a} and b{b}: {sizes[0]} and {sizes[1]} bytes")

    def memory(self) -> None:
        """Where buffers lie."""
        plan = self.plan
        for slot in (*plan.arguments, *plan.results):
            if not 0 <= slot < len(plan.buffers):
                raise _Broken(f"b{slot} of {len(plan.buffers)} buffers is an argument or a result")
        taken = plan.taken()
        for slots, place in ((plan.arguments, Place.ARGUMENT), (plan.results, Place.RESULT)):
            for k, slot in enumerate(slots):
                if slots is plan.results and k in taken:
                    continue
                if (plan.buffers[slot].place, plan.buffers[slot].index) != (place, k):
                    raise _Broken(f"b{slot} is not {place.value} {k}")
        for k in taken:
            if not plan.buffers[plan.results[k]].donated:
                raise _Broken(f"result {k} takes over b{plan.results[k]}, which is not donated")
        if len(set(taken.values())) != len(taken):
            raise _Broken("two results take over one argument")
        alive: list[tuple[int, PlanBuffer]] = []
        for k, b in enumerate(plan.buffers):
            limit = {Place.ARENA: plan.peak, Place.CONSTANT: len(plan.constants)}.get(b.place)
            if b.donated and (b.place is not Place.ARGUMENT or b.scalar):
                raise _Broken(f"b{k} is donated, and no array of the caller's")
            if limit is None:
                continue
            if b.index % ALIGNMENT or b.index < 0 or b.index + b.nbytes > limit:
                at = f"{b.index}..{b.index + b.nbytes}"
                raise _Broken(f"b{k} lies at {at} of {limit} bytes, aligned to {ALIGNMENT}")
            if b.place is Place.ARENA and b.nbytes and b.last >= b.first:
                alive.append((k, b))
        alive.sort(key=lambda item: item[1].index)
        for i, (k, b) in enumerate(alive):
            for other, c in alive[i + 1 :]:
                if c.index >= b.index + b.nbytes:
                    break
                if c.first <= b.last and b.first <= c.last:
                    raise _Broken(f"b{k} and b{other} share bytes while both are alive")
