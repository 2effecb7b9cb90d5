"""Memory: the fused groups of a Graph become a Plan of steps over buffers with offsets.

Takes a Graph and a Target, returns a `Planned`: the Plan, and the decisions made on the way. Groups
are lowered and scheduled here, one after the other, because what may be overwritten decides what a
kernel's buffers may share:

* an output over a dying input that is read only where it is written takes the input's buffer;
* an update (slice store, scatter) runs in its operand's buffer where that is dead afterwards, else
  on a copy, with a reason;
* carries of a loop are updated in place, or written to a second buffer and the two are swapped.

Arguments and constants are never written. Every buffer's life is from its first to its last step,
stretched over the loops it crosses; offsets are the best fit, largest buffer first, so that the
peak stays near the lower bound (the most bytes alive at once), which is reported beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyc.frozen import frozen, replace
from pyc.ir.graph import Eqn, Graph, Value
from pyc.ir.loops import Buffer, Kernel
from pyc.ir.op import Kind
from pyc.ir.plan import (
    ALIGNMENT,
    Branch,
    Copy,
    Launch,
    Library,
    Loop,
    Place,
    Plan,
    PlanBuffer,
    Site,
    Step,
)
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.ir.verify_kernel import verify
from pyc.ir.verify_plan import verify_plan
from pyc.ir.visit import Rewriter
from pyc.kernels.registry import candidates
from pyc.passes.fuse import Decision, Fusion, Group, Walker, fuse
from pyc.passes.lower import Lowered, lower, lower_epilogue, lower_update
from pyc.passes.lower_loops import NotAKernelError, lower_loop
from pyc.passes.nest import Stage
from pyc.passes.schedule import schedule
from pyc.passes.schedule_blocks import schedule_blocks
from pyc.reasons import Reason

_FOREVER = 1 << 60


@frozen()
class Planned:
    """A Plan, the reasons of its decisions, and the logical kernels it was scheduled from."""

    plan: Plan
    decisions: tuple[Decision, ...]
    logical: tuple[Kernel, ...]
    copies: int


@dataclass(slots=True)
class _Slot:
    nbytes: int
    place: Place = Place.ARENA
    index: int = 0
    scalar: bool = False


@dataclass(slots=True)
class _Scope:
    """One Graph being planned: where its values are."""

    graph: Graph
    fusion: Fusion
    walker: Walker
    slot: dict[Value, int]
    writable: set[int]
    wanted: dict[Value, int]
    last: dict[Value, int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)


class _Planner:
    def __init__(self, target: Target, *, check: bool) -> None:
        self.target = target
        self._check = check
        self.slots: list[_Slot] = []
        self.kernels: list[Kernel] = []
        self.logical: list[Kernel] = []
        self.sites: list[Site] = []
        self.decisions: list[Decision] = []
        self.constants = bytearray()
        self.copies = 0
        self._literals: dict[bytes, int] = {}
        self._base = 0

    # --- slots ------------------------------------------------------------------------------------

    def new_slot(self, type: ArrayType) -> int:
        """A buffer of the arena."""
        return self._slot(_Slot(type.nbytes))

    def _slot(self, slot: _Slot) -> int:
        self.slots.append(slot)
        return len(self.slots) - 1

    def constant_slot(self, value: np.ndarray[Any, Any]) -> int:
        """The buffer of a constant array; equal bytes share one."""
        data = np.ascontiguousarray(value).tobytes()
        if data not in self._literals:
            self.constants.extend(b"\0" * (-len(self.constants) % ALIGNMENT))
            offset = len(self.constants)
            self.constants.extend(data)
            self._literals[data] = self._slot(_Slot(len(data), Place.CONSTANT, offset))
        return self._literals[data]

    def site(self, eqn: Eqn) -> int:
        """The number of a place that can fail."""
        self.sites.append(Site(eqn.op.name, self._base + self._numbers[eqn]))
        return len(self.sites) - 1

    # --- graphs -----------------------------------------------------------------------------------

    def program(self, graph: Graph) -> Planned:
        """The Plan of a whole program."""
        self._numbers: dict[Eqn, int] = {}
        _number(graph, self._numbers)
        arguments = [
            self._slot(_Slot(p.type.nbytes, Place.ARGUMENT, k, scalar=p.shape == ()))
            for k, p in enumerate(graph.params)
        ]
        results = [
            self._slot(_Slot(r.type.nbytes, Place.RESULT, k)) for k, r in enumerate(graph.results)
        ]
        steps = self.graph(graph, arguments, set(), results)
        buffers, peak, bound = self._place(steps)
        plan = Plan(
            kernels=tuple(self.kernels),
            buffers=buffers,
            steps=tuple(steps),
            arguments=tuple(arguments),
            results=tuple(results),
            peak=peak,
            lower_bound=bound,
            constants=bytes(self.constants),
            sites=tuple(self.sites),
        )
        if self._check:
            verify_plan(plan)
        return Planned(plan, tuple(self.decisions), tuple(self.logical), self.copies)

    def graph(
        self,
        graph: Graph,
        params: Sequence[int],
        writable: set[int],
        results: Sequence[int],
        fusion: Fusion | None = None,
    ) -> list[Step]:
        """Steps that compute `graph` from buffers `params` into buffers `results`; those in
        `writable` may be overwritten once they are dead."""
        fusion = fusion or fuse(graph)
        self.decisions += fusion.decisions
        scope = _Scope(graph, fusion, fusion.walker, {}, set(writable), {})
        scope.slot.update(zip(graph.params, params, strict=True))
        for value, slot in zip(graph.results, results, strict=True):
            if value not in scope.slot and value not in scope.wanted:
                scope.wanted[value] = slot
        for number, group in enumerate(fusion.groups):
            for r in group.reads:
                scope.last[r.value] = number
        for value in graph.results:
            scope.last[value] = _FOREVER
        for number, group in enumerate(fusion.groups):
            self._group(scope, number, group)
        for value, slot in zip(graph.results, results, strict=True):
            source = self._where(scope, value)
            if source != slot:
                scope.steps.append(Copy(slot, source))
                self.copies += 1
        return scope.steps

    def _where(self, scope: _Scope, value: Value) -> int:
        """The buffer that holds a value."""
        walker = scope.walker
        if value not in scope.slot:
            constant = walker.scalars.get(value, walker.constants.get(value))
            assert constant is not None, "a value that is read has no buffer"
            scope.slot[value] = self.constant_slot(np.asarray(constant))
        return scope.slot[value]

    def _group(self, scope: _Scope, number: int, group: Group) -> None:
        eqn = group.opaque
        if eqn is None:
            self._loops(scope, number, group)
        elif eqn.op.kind is Kind.CONTROL:
            self._control(scope, eqn)
        elif eqn.op.in_place is not None:
            self._update(scope, number, group, eqn)
        else:
            self._opaque(scope, group, eqn)

    # --- kernels ----------------------------------------------------------------------------------

    def _loops(self, scope: _Scope, number: int, group: Group) -> None:
        name = f"k{len(self.logical)}"
        lowered = lower(scope.graph, scope.fusion, scope.walker, group, name, self.site)
        taken: set[Value] = set()
        shared: set[Value] = set()
        for out in group.outputs:
            if out in scope.slot:
                continue
            wanted = scope.wanted.get(out)
            if wanted is None:
                wanted = self._dying(scope, number, lowered, out, taken, shared)
            scope.slot[out] = self.new_slot(out.type) if wanted is None else wanted
        self._launch(scope, lowered, shared)

    def _dying(
        self,
        scope: _Scope,
        number: int,
        lowered: Lowered,
        out: Value,
        taken: set[Value],
        shared: set[Value],
    ) -> int | None:
        """The buffer of an input that `out` may overwrite."""
        for value in lowered.values:
            if value not in lowered.elementwise or value in taken or value not in scope.slot:
                continue
            slot = scope.slot[value]
            if scope.last.get(value) != number or self.slots[slot].nbytes != out.type.nbytes:
                continue
            if value.dtype.itemsize != out.dtype.itemsize or not self._free(scope, value):
                continue
            if sum(s == slot and scope.last.get(v, -1) > number for v, s in scope.slot.items()):
                continue
            taken.add(value)
            shared.update((value, out))
            return slot
        return None

    def _free(self, scope: _Scope, value: Value) -> bool:
        """Whether a value's buffer may be written."""
        slot = scope.slot[value]
        return self.slots[slot].place is Place.ARENA and (
            value not in scope.graph.params or slot in scope.writable
        )

    def _launch(self, scope: _Scope, lowered: Lowered, shared: set[Value]) -> None:
        if all(v.type.size == 0 for v in lowered.outputs):
            return
        kernel = lowered.kernel
        if shared:
            kernel = _may_alias(kernel, [k for k, v in enumerate(lowered.values) if v in shared])
        slots = [self._where(scope, v) for v in lowered.values]
        self._run(scope, scope.walker.producer[lowered.outputs[0]], kernel, slots)

    def _run(self, scope: _Scope, eqn: Eqn, kernel: Kernel, slots: Sequence[int]) -> None:
        """Schedules and launches a kernel of `eqn`; its buffers beyond `slots` are scratch."""
        self.logical.append(kernel)
        if self._check:
            verify(kernel)
        cut = schedule_blocks if self.target.has_blocks else schedule
        self._stages(scope, eqn, cut(kernel, self.target), kernel, slots)

    def _stages(
        self,
        scope: _Scope,
        eqn: Eqn,
        stages: Sequence[Stage],
        logical: Kernel,
        slots: Sequence[int],
    ) -> None:
        """Launches the stages of a logical kernel. Scratch that a step of the host has for itself
        is the host's to make."""
        uses = Counter(p for stage in stages for p in stage.positions)
        own = dict(enumerate(slots))
        scratch: dict[Buffer, int] = {}
        for stage in stages:
            positions = list(stage.positions)
            if stage.host and all(uses[p] == 1 for p in positions if p >= len(slots)):
                positions = [p for p in positions if p < len(slots)]
            for p in positions:
                if p not in own:
                    own[p] = self._scratch(logical.buffers[p])
            these = [own[p] for p in positions]
            for buffer in stage.kernel.buffers[len(stage.positions) :]:
                if buffer not in scratch:
                    scratch[buffer] = self._scratch(buffer)
                these.append(scratch[buffer])
            if stage.reason is not None:
                decision = Decision(stage.reason, self._numbers[eqn], stage.details)
                self.decisions.append(decision)
            if self._check:
                verify(stage.kernel, scheduled=not stage.host)
            self.kernels.append(stage.kernel)
            scope.steps.append(Launch(len(self.kernels) - 1, tuple(these), host=stage.host))

    def _scratch(self, buffer: Buffer) -> int:
        return self.new_slot(
            ArrayType(tuple(d for d in buffer.shape if isinstance(d, int)), buffer.dtype)
        )

    def _opaque(self, scope: _Scope, group: Group, eqn: Eqn) -> None:
        for out in group.outputs:
            if out not in scope.slot:
                wanted = scope.wanted.get(out)
                scope.slot[out] = self.new_slot(out.type) if wanted is None else wanted
        if all(o.type.size == 0 for o in group.outputs):
            return
        epilogue = None
        between: tuple[Value, ...] = ()
        if group.epilogue is not None:
            epilogue = lower_epilogue(scope.graph, scope.fusion, scope.walker, group, self.site)
            between = epilogue.inputs
        slots = [self._where(scope, v) for v in (*eqn.args, *between, *group.outputs)]
        types = tuple(a.type for a in eqn.args)
        if eqn.op.kind is Kind.LIBRARY:
            assert eqn.op.routine is not None
            routine, integers = eqn.op.routine(types, **eqn.params)
            scope.steps.append(Library(routine, tuple(slots), integers))
            return
        if eqn.op.kind is Kind.KERNEL:
            assert eqn.op.build is not None
            self._run(scope, eqn, eqn.op.build(types, **eqn.params), slots)
            return
        choice = candidates(eqn.op.name, types, eqn.params, self.target, epilogue)[0]
        if choice.routine is not None:
            scope.steps.append(Library(choice.routine, tuple(slots), choice.integers))
        elif choice.scheduled:
            assert choice.kernel is not None
            everything = tuple(range(len(slots)))
            self.logical.append(choice.kernel)
            stage = Stage(choice.kernel, everything)
            self._stages(scope, eqn, (stage,), choice.kernel, slots)
        else:
            assert choice.kernel is not None
            self._run(scope, eqn, choice.kernel, slots)

    def _update(self, scope: _Scope, number: int, group: Group, eqn: Eqn) -> None:
        """An update in its operand's buffer where that is dead, else in a copy."""
        operand, out = eqn.args[0], eqn.out
        source = self._where(scope, operand)
        wanted = scope.wanted.get(out)
        alone = sum(s == source and scope.last.get(v, -1) > number for v, s in scope.slot.items())
        dead = scope.last.get(operand) == number and not alone and self._free(scope, operand)
        if dead and (wanted is None or wanted == source):
            slot = source
        else:
            slot = self.new_slot(out.type) if wanted is None else wanted
            if slot != source:
                scope.steps.append(Copy(slot, source))
                self.copies += 1
                self._explain_copy(scope, eqn, operand)
        scope.slot[out] = slot
        if eqn.args[1].type.size == 0:
            return
        if eqn.op.kind is Kind.KERNEL:
            assert eqn.op.build is not None
            types = tuple(a.type for a in eqn.args)
            kernel = eqn.op.build(types, in_place=True, **eqn.params)
            slots = [slot, *(self._where(scope, a) for a in eqn.args[1:])]
            self._run(scope, eqn, kernel, slots)
            return
        name = f"k{len(self.logical)}"
        lowered = lower_update(scope.graph, scope.fusion, scope.walker, group, name, self.site)
        self._run(scope, eqn, lowered.kernel, [self._where(scope, v) for v in lowered.values])

    def _explain_copy(self, scope: _Scope, eqn: Eqn, operand: Value) -> None:
        slot = self.slots[scope.slot[operand]]
        reason = {
            Place.ARGUMENT: Reason.MEMORY_UPDATE_OPERAND_IS_ARGUMENT,
            Place.CONSTANT: Reason.MEMORY_UPDATE_OPERAND_IS_CONSTANT,
        }.get(slot.place, Reason.MEMORY_UPDATE_OPERAND_ALIVE)
        details = f"{eqn.op} of {operand.type} copies {operand.type.nbytes} bytes"
        self.decisions.append(Decision(reason, self._numbers[eqn], details))

    # --- control flow -----------------------------------------------------------------------------

    def _control(self, scope: _Scope, eqn: Eqn) -> None:
        if eqn.op.name == "cond":
            self._cond(scope, eqn)
            return
        try:
            kernels = lower_loop(eqn, f"k{len(self.logical)}", self.site)
        except NotAKernelError as why:
            assert eqn.op.name == "while", f"{eqn.op} is rewritten before planning"
            reason = Reason.FUSION_WHOLE_ARRAY_LOOP
            self.decisions.append(Decision(reason, self._numbers[eqn], str(why)))
            self._while(scope, eqn)
            return
        self._out_slots(scope, eqn)
        for lowered in kernels:
            self._run(scope, eqn, lowered.kernel, [self._where(scope, v) for v in lowered.values])

    def _out_slots(self, scope: _Scope, eqn: Eqn) -> list[int]:
        for out in eqn.outs:
            wanted = scope.wanted.get(out)
            scope.slot[out] = self.new_slot(out.type) if wanted is None else wanted
        return [scope.slot[o] for o in eqn.outs]

    def _cond(self, scope: _Scope, eqn: Eqn) -> None:
        index, *operands = (self._where(scope, a) for a in eqn.args)
        outs = self._out_slots(scope, eqn)
        cases = [self.graph(b, operands, set(), outs) for b in eqn.params["branches"]]
        scope.steps.append(Branch(index, tuple(tuple(c) for c in cases)))

    def _while(self, scope: _Scope, eqn: Eqn) -> None:
        """Carries live in their output's buffer; the body writes there if it only updates, else
        to a second buffer that is swapped in."""
        condition: Graph = eqn.params["condition"]
        body: Graph = eqn.params["body"]
        tests, works = eqn.params["condition_captures"], eqn.params["body_captures"]
        slots = [self._where(scope, a) for a in eqn.args]
        captured, initial = slots[: tests + works], slots[tests + works :]
        carried = self._out_slots(scope, eqn)
        fusion = fuse(body)
        carry_params = body.params[works:]
        in_place = [
            _updated_param(fusion, body, result) is param
            for result, param in zip(body.results, carry_params, strict=True)
        ]
        moves = {k: carry_params.index(r) for k, r in enumerate(body.results) if r in carry_params}
        second: list[int] = []
        rotate: dict[int, int] = {}
        used = list(moves.values())
        for k, out in enumerate(eqn.outs):
            j = moves.get(k)
            if in_place[k] or j == k:
                second.append(carried[k])
            elif (
                j is not None
                and used.count(j) == 1
                and j not in [m for m in range(len(carried)) if in_place[m]]
            ):
                rotate[carried[k]] = carried[j]
                second.append(carried[j])
            else:
                extra = self.new_slot(out.type)
                rotate[carried[k]] = extra
                second.append(extra)
        # A buffer that is swapped must be the arena's: results have fixed addresses.
        if rotate:
            self._to_arena(scope, eqn, carried, rotate, second)
        for slot, source in zip(carried, initial, strict=True):
            if slot != source:
                scope.steps.append(Copy(slot, source))
        flag = self.new_slot(condition.results[0].type)
        test = self.graph(condition, [*captured[:tests], *carried], set(), [flag])
        # A value that is swapped out is dead after the body, so the body may overwrite it.
        spare = [k for k in range(len(carried)) if k not in moves and k not in used]
        writable = {carried[k] for k in range(len(carried)) if in_place[k] or k in spare}
        work = self._body(body, fusion, [*captured[tests:], *carried], writable, second, moves)
        swaps = _as_swaps(rotate)
        scope.steps.append(Loop(tuple(test), flag, tuple(work), swaps))

    def _body(
        self,
        body: Graph,
        fusion: Fusion,
        params: Sequence[int],
        writable: set[int],
        results: Sequence[int],
        moves: dict[int, int],
    ) -> list[Step]:
        """A loop body whose results that are mere parameters are already where they should be."""
        kept = [k for k in range(len(results)) if k not in moves or results[k] not in params]
        inner = Graph(body.params, body.eqns, tuple(body.results[k] for k in kept))
        scope_results = [results[k] for k in kept]
        return self.graph(inner, params, writable, scope_results, fusion)

    def _to_arena(
        self,
        scope: _Scope,
        eqn: Eqn,
        carried: list[int],
        rotate: dict[int, int],
        second: list[int],
    ) -> None:
        """Moves the carries that are swapped to arena buffers of their own."""
        moved: dict[int, int] = {}
        for k, slot in enumerate(carried):
            swapped = slot in rotate or slot in rotate.values()
            if swapped and self.slots[slot].place is not Place.ARENA:
                moved[slot] = self.new_slot(eqn.outs[k].type)
        for k, out in enumerate(eqn.outs):
            carried[k] = moved.get(carried[k], carried[k])
            second[k] = moved.get(second[k], second[k])
            scope.slot[out] = carried[k]
        items = [(moved.get(a, a), moved.get(b, b)) for a, b in rotate.items()]
        rotate.clear()
        rotate.update(items)

    # --- offsets ----------------------------------------------------------------------------------

    def _place(self, steps: Sequence[Step]) -> tuple[tuple[PlanBuffer, ...], int, int]:
        lives = _Lives(len(self.slots))
        lives.visit(steps)
        spans = lives.spans()
        arena = [k for k, s in enumerate(self.slots) if s.place is Place.ARENA and s.nbytes]
        arena.sort(key=lambda k: (-self.slots[k].nbytes, spans[k][0], k))
        placed: list[tuple[int, int, int, int]] = []  # offset, end, first, last
        peak = 0
        for k in arena:
            first, last = spans[k]
            size = -(-self.slots[k].nbytes // ALIGNMENT) * ALIGNMENT
            offset = 0
            for start, end, begin, stop in sorted(placed):
                if stop < first or last < begin:
                    continue
                if offset + size <= start:
                    break
                offset = max(offset, end)
            self.slots[k].index = offset
            placed.append((offset, offset + size, first, last))
            peak = max(peak, offset + size)
        bound = _most_alive(placed)
        buffers = tuple(
            PlanBuffer(s.nbytes, s.place, s.index, s.scalar, *spans[k])
            for k, s in enumerate(self.slots)
        )
        return buffers, peak, bound


class _Lives:
    """First and last step of every slot, steps numbered in program order."""

    def __init__(self, count: int) -> None:
        self._first = [_FOREVER] * count
        self._last = [-1] * count
        self._number = 0
        self._loops: list[tuple[int, int]] = []
        self._families: list[tuple[int, int]] = []

    def _use(self, slot: int) -> None:
        self._first[slot] = min(self._first[slot], self._number)
        self._last[slot] = max(self._last[slot], self._number)

    def visit(self, steps: Sequence[Step]) -> None:
        """Number the steps and note their slots (as deep as control flow is nested)."""
        for step in steps:
            self._number += 1
            if isinstance(step, (Launch, Library)):
                for slot in step.slots:
                    self._use(slot)
            elif isinstance(step, Copy):
                self._use(step.destination)
                self._use(step.source)
            elif isinstance(step, Branch):
                self._use(step.index)
                for case in step.cases:
                    self.visit(case)
            else:
                start = self._number
                self.visit(step.condition)
                self._number += 1
                self._use(step.flag)
                self.visit(step.body)
                self._number += 1
                for pair in step.rotate:
                    self._families.append(pair)
                    for slot in pair:
                        self._use(slot)
                self._loops.append((start, self._number))

    def spans(self) -> list[tuple[int, int]]:
        """(first, last) of each slot; (0, -1) for one that is never used."""
        changed = True
        while changed:
            changed = False
            for start, end in self._loops:
                for k, (first, last) in enumerate(zip(self._first, self._last, strict=True)):
                    if last < start or first > end or (first >= start and last <= end):
                        continue
                    wider = (min(first, start), max(last, end))
                    if wider != (first, last):
                        self._first[k], self._last[k] = wider
                        changed = True
            for a, b in self._families:
                both = (min(self._first[a], self._first[b]), max(self._last[a], self._last[b]))
                for k in (a, b):
                    if (self._first[k], self._last[k]) != both:
                        self._first[k], self._last[k] = both
                        changed = True
        pairs = zip(self._first, self._last, strict=True)
        return [(first, last) if last >= 0 else (0, -1) for first, last in pairs]


def _most_alive(placed: Sequence[tuple[int, int, int, int]]) -> int:
    """The most bytes alive at one step."""
    events: dict[int, int] = {}
    for start, end, first, last in placed:
        events[first] = events.get(first, 0) + end - start
        events[last + 1] = events.get(last + 1, 0) - (end - start)
    alive = most = 0
    for step in sorted(events):
        alive += events[step]
        most = max(most, alive)
    return most


def _number(graph: Graph, numbers: dict[Eqn, int]) -> None:
    """Numbers equations in text order, those of nested Graphs after their own."""
    for e in graph.eqns:
        numbers[e] = len(numbers)
        for value in e.params.values():
            inner = value if isinstance(value, tuple) else (value,)
            for g in inner:
                if isinstance(g, Graph):
                    _number(g, numbers)


def _updated_param(fusion: Fusion, graph: Graph, value: Value) -> Value | None:
    """The parameter whose buffer a chain of in-place updates turns into `value`, if each operand
    is dead once it is updated."""
    order = {id(g): k for k, g in enumerate(fusion.groups)}
    last: dict[Value, int] = {}
    for k, group in enumerate(fusion.groups):
        for r in group.reads:
            last[r.value] = k
    makers = {o: g for g in fusion.groups if g.opaque is not None for o in g.outputs}
    while value not in graph.params:
        maker = makers.get(value)
        if maker is None or maker.opaque is None or maker.opaque.op.in_place is None:
            return None
        operand = maker.opaque.args[0]
        if last.get(operand) != order[id(maker)] or operand in graph.results:
            return None
        value = operand
    return value


def _as_swaps(rotate: dict[int, int]) -> tuple[tuple[int, int], ...]:
    """Swaps, done in order, after which each key's name stands for what its value named before."""
    names = {*rotate, *rotate.values()}
    holds = {n: n for n in names}
    swaps: list[tuple[int, int]] = []
    for target, source in rotate.items():
        where = next(n for n, what in holds.items() if what == source)
        if where != target:
            swaps.append((target, where))
            holds[target], holds[where] = holds[where], holds[target]
    return tuple(swaps)


def _may_alias(kernel: Kernel, positions: Sequence[int]) -> Kernel:
    """The kernel with some buffers marked as possibly the same memory."""
    changed = {
        kernel.buffers[k]: replace(kernel.buffers[k], may_alias=True, role="inout")
        for k in positions
    }
    rewriter = Rewriter(buffers=lambda b: changed.get(b, b))
    buffers = tuple(changed.get(b, b) for b in kernel.buffers)
    return replace(kernel, buffers=buffers, body=rewriter.body(kernel.body))


def plan(graph: Graph, target: Target, *, check: bool = False) -> Planned:
    """The Plan that computes `graph` on `target`; check: verify every kernel, as lowered and as
    scheduled, and the Plan."""
    return _Planner(target, check=check).program(graph)
