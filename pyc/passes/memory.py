"""Memory: the fused groups of a Graph become a Plan of steps over buffers with offsets.

Takes a Graph and a Target, returns a `Planned`: the Plan, and the decisions made on the way. Groups
are lowered and scheduled here, one after the other, because what may be overwritten decides what a
kernel's buffers may share:

* an output over a dying input that is read only where it is written takes the input's buffer;
* an update (slice store, scatter) runs in its operand's buffer where that is dead afterwards, else
  on a copy, with a reason; results of branches likewise (`in_place` finds the chains of these);
* carries of a loop are updated in place, or written to a second buffer and the two are swapped. A
  swapped carry that is a result of the program has the result's memory as one of the two.

Constants are never written, arguments only if they were donated (`donation` says which results are
made in their memory). `offsets` places the buffers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.frozen import field, frozen, replace, slotted
from pyc.ir.graph import Eqn, Graph, Value, subgraphs
from pyc.ir.loops import Buffer, Kernel
from pyc.ir.op import Kind
from pyc.ir.plan import (
    ALIGNMENT,
    STREAMED_BYTES,
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
from pyc.kernels.registry import choose
from pyc.passes.donation import donations
from pyc.passes.fuse import Decision, Fusion, Group, Walker
from pyc.passes.in_place import Chains, Moves, Uses, iterations
from pyc.passes.lower import Lowered, lower, lower_epilogue, lower_update
from pyc.passes.lower_loops import NotAKernelError, lower_loop
from pyc.passes.nest import Stage
from pyc.passes.offsets import place
from pyc.passes.overwrite import overlaid
from pyc.passes.schedule import schedule
from pyc.passes.schedule_blocks import schedule_blocks
from pyc.reasons import Reason

REPORTED = 3
"""The largest buffers that an error names."""
_OWN = (Place.ARENA, Place.RESULT)
"""Where memory that is the program's lies."""


@frozen()
class Planned:
    """A Plan, the reasons of its decisions, the logical kernels it was scheduled from, and donated
    parameters whose memory no result has taken over, with the reason."""

    plan: Plan
    decisions: tuple[Decision, ...]
    logical: tuple[Kernel, ...]
    copies: int
    unused: tuple[tuple[int, str], ...] = ()
    largest: tuple[tuple[int, int], ...] = ()
    """Bytes of the largest buffers that a call allocates, and the equations that make them."""


@frozen()
class _Slot:
    """A buffer to be. turns: its address is exchanged for others by a loop; donated: an argument
    that may be overwritten."""

    nbytes: int
    place: Place = Place.ARENA
    index: int = 0
    scalar: bool = False
    turns: bool = False
    donated: bool = False


@slotted
class _Scope:
    """One Graph being planned: where its values are. writable: slots of parameters that may be
    overwritten once they are dead; wanted: where values should be made; owner: the control
    equation that holds the Graph; repeated: runs in a loop."""

    graph: Graph
    uses: Uses
    writable: set[int]
    repeated: bool
    owner: Eqn | None
    slot: dict[Value, int] = field(default_factory=dict)
    wanted: dict[Value, int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    @property
    def fusion(self) -> Fusion:
        """The groups of the Graph."""
        return self.uses.fusion

    @property
    def walker(self) -> Walker:
        """The walker of the Graph's reads."""
        return self.uses.fusion.walker

    def dies(self, value: Value, number: int) -> bool:
        """Whether group `number` is the last to read a value and what shares its buffer."""
        if self.uses.last.get(value) != number:
            return False
        slot, last = self.slot[value], self.uses.last
        return not any(s == slot and last.get(v, -1) > number for v, s in self.slot.items())


@frozen(eq=False)
class Made:
    """What a group of a Graph became. kernels: numbers of those of the Plan that run it, and what
    it holds; owner: the control equation that holds the Graph; numbers: of all equations."""

    group: Group
    fusion: Fusion
    kernels: range
    owner: Eqn | None
    numbers: dict[Eqn, int]


class _Planner:
    def __init__(
        self, target: Target, donated: Sequence[int], trail: list[Made] | None, *, check: bool
    ) -> None:
        self.target = target
        self._trail = trail
        self._donated = donated
        self._check = check
        self.slots: list[_Slot] = []
        self._makers: list[int] = []
        """The number of the equation that each slot was made for, -1 for the program."""
        self._now = -1
        self.kernels: list[Kernel] = []
        self.logical: list[Kernel] = []
        self.sites: list[Site] = []
        self.decisions: list[Decision] = []
        self.constants = bytearray()
        self.copies = 0
        self._chains = Chains(long_rows=not target.has_blocks)
        self._literals: dict[bytes, int] = {}
        self._base = 0

    # --- slots ------------------------------------------------------------------------------------

    def new_slot(self, type: ArrayType) -> int:
        """A buffer of the arena."""
        return self._slot(_Slot(type.nbytes))

    def _slot(self, slot: _Slot) -> int:
        self.slots.append(slot)
        self._makers.append(self._now)
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
        donated = self._donated
        self._numbers: dict[Eqn, int] = {}
        _number(graph, self._numbers)
        given = donations(graph, self._chains, donated, self.target)
        reason = Reason.MEMORY_DONATION_UNUSED
        self.decisions += [Decision(reason, -1, f"parameter {n}: {why}") for n, why in given.unused]
        arguments = []
        for k, p in enumerate(graph.params):
            scalar = p.shape == ()
            slot = _Slot(p.type.nbytes, Place.ARGUMENT, k, scalar=scalar)
            arguments.append(self._slot(replace(slot, donated=k in donated and not scalar)))
        results = [
            arguments[given.taken[k]]
            if k in given.taken
            else self._slot(_Slot(r.type.nbytes, Place.RESULT, k))
            for k, r in enumerate(graph.results)
        ]
        uses = self._chains.uses(graph)
        writable = {arguments[k] for k in given.writable if graph.params[k].shape}
        steps = self.graph(uses, arguments, writable, results, owner=None, repeated=False)
        arena = [k for k, s in enumerate(self.slots) if s.place is Place.ARENA and s.nbytes]
        offsets, spans, peak, bound = place(steps, [s.nbytes for s in self.slots], arena)
        buffers = tuple(
            PlanBuffer(s.nbytes, s.place, offsets.get(k, s.index), s.scalar, *spans[k], s.donated)
            for k, s in enumerate(self.slots)
        )
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
        return Planned(
            *(plan, tuple(self.decisions), tuple(self.logical), self.copies, given.unused),
            self._largest(graph, results),
        )

    def _largest(self, graph: Graph, results: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """See `Planned`."""
        producer = {out: e for e in graph.eqns for out in e.outs}
        for value, slot in zip(graph.results, results, strict=True):
            if value in producer:
                self._makers[slot] = self._numbers[producer[value]]
        found = [
            (s.nbytes, maker)
            for s, maker in zip(self.slots, self._makers, strict=True)
            if s.place in _OWN and not s.turns and s.nbytes
        ]
        found.sort(key=lambda item: -item[0])
        return tuple(found[:REPORTED])

    def graph(
        self,
        uses: Uses,
        params: Sequence[int],
        writable: set[int],
        results: Sequence[int],
        *,
        owner: Eqn | None,
        repeated: bool,
    ) -> list[Step]:
        """Steps that compute a Graph from buffers `params` into buffers `results`; parameters in
        `writable` may be overwritten once they are dead. owner: the control equation that holds
        the Graph; repeated: in a loop."""
        graph = uses.graph
        # Fusion numbers the equations of its own Graph.
        self.decisions += [
            replace(d, equation=self._numbers[graph.eqns[d.equation]])
            for d in uses.fusion.decisions
        ]
        scope = _Scope(graph, uses, set(writable), repeated, owner)
        scope.slot.update(zip(graph.params, params, strict=True))
        for value, slot in zip(graph.results, results, strict=True):
            if value not in scope.slot:
                self._want(scope, value, slot)
        for number, group in enumerate(scope.fusion.groups):
            self._group(scope, number, group)
        for value, slot in zip(graph.results, results, strict=True):
            source = self._where(scope, value)
            if source != slot:
                self._copy(scope, slot, source, _why_result_copied(scope), owner)
        return scope.steps

    def _want(self, scope: _Scope, value: Value, slot: int) -> None:
        """Lets a value, and all that it is made from in place, be made in `slot`."""
        chain = self._chains.chain(scope.uses, value)
        for link, swapped in zip(chain.values, chain.swapped, strict=True):
            if link in scope.slot or (swapped and self._fixed(slot)):
                return  # the loop decides which of its buffers is the result's
            scope.wanted.setdefault(link, slot)

    def _copy(
        self, scope: _Scope, destination: int, source: int, reason: Reason, eqn: Eqn | None
    ) -> None:
        """A copy of a whole buffer and its reason; eqn: for what, None for the program."""
        if not self.slots[source].nbytes:
            return
        scope.steps.append(Copy(destination, source))
        self.copies += 1
        name, number = ("the program", -1) if eqn is None else (eqn.op.name, self._numbers[eqn])
        details = f"{self.slots[source].nbytes} bytes for {name}"
        self.decisions.append(Decision(reason, number, details))

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
        self._now = self._numbers[eqn or scope.walker.producer[group.outputs[0]]]
        before = len(self.kernels)
        self._steps(scope, number, group, eqn)
        if self._trail is not None:
            kernels = range(before, len(self.kernels))
            made = Made(group, scope.fusion, kernels, scope.owner, self._numbers)
            self._trail.append(made)

    def _steps(self, scope: _Scope, number: int, group: Group, eqn: Eqn | None) -> None:
        if eqn is None:
            self._loops(scope, number, group)
        elif eqn.op.kind is Kind.CONTROL:
            self._control(scope, number, eqn)
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
            if self.slots[slot].place is not Place.ARENA or not scope.dies(value, number):
                continue
            if value in scope.graph.params and slot not in scope.writable:
                continue
            if value.dtype.itemsize != out.dtype.itemsize or value.type.size != out.type.size:
                continue
            taken.add(value)
            shared.update((value, out))
            return slot
        return None

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
        kernel, slots = self._overlaid(kernel, slots)
        # Large results are aligned for stores that pass by the caches; arguments need not be.
        large = {
            kernel.buffers[k]: replace(kernel.buffers[k], role="inout")
            for k, slot in enumerate(slots)
            if self.slots[slot].donated and self.slots[slot].nbytes >= STREAMED_BYTES
            if kernel.buffers[k].role == "out"
        }
        if large:
            kernel = _with_buffers(kernel, large)
        self.logical.append(kernel)
        if self._check:
            verify(kernel)
        cut = schedule_blocks if self.target.has_blocks else schedule
        self._stages(scope, eqn, cut(kernel, self.target), kernel, slots)

    def _overlaid(self, kernel: Kernel, slots: Sequence[int]) -> tuple[Kernel, Sequence[int]]:
        """A kernel whose result replaces a donated argument that it reads for the last time, and
        the slots of its buffers."""
        inputs = [k for k, b in enumerate(kernel.buffers[: len(slots)]) if b.role == "in"]
        pairs = {
            k: n
            for n, b in enumerate(kernel.buffers[: len(slots)])
            if b.role == "out" and self.slots[slots[n]].donated
            for k in inputs
            if slots[k] == slots[n]
        }
        if not pairs:
            return kernel, slots
        if self.target.has_blocks:
            return _may_alias(kernel, [*pairs, *pairs.values()]), slots
        buffers = {kernel.buffers[k]: kernel.buffers[n] for k, n in pairs.items()}
        return overlaid(kernel, buffers), [s for k, s in enumerate(slots) if k not in pairs]

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
        if len(stages) > 1:
            launches = ", ".join(stage.kernel.name for stage in stages)
            details = f"{logical.name} is {len(stages)} launches: {launches}"
            self.decisions.append(Decision(Reason.KERNEL_STAGES, self._numbers[eqn], details))
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
        if all(o.type.size == 0 for o in group.outputs) and not eqn.op.effect:
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
        choice = choose(eqn.op.name, types, eqn.params, self.target, epilogue)
        reason = Reason.KERNEL_NEST if choice.scheduled else Reason.KERNEL_GENERIC
        self.decisions.append(Decision(reason, self._numbers[eqn], str(choice)))
        if choice.scheduled:
            kernel, places = self._overlaid(choice.kernel, slots)
            self.logical.append(kernel)
            stage = Stage(kernel, tuple(range(len(places))))
            self._stages(scope, eqn, (stage,), kernel, places)
        else:
            self._run(scope, eqn, choice.kernel, slots)

    def _overwrites(self, scope: _Scope, number: int, eqn: Eqn, operand: Value) -> bool:
        """Whether an equation may write its result where `operand` lies: nothing else reads that
        memory in the equation or later, and it is neither an argument's nor a constant's."""
        slot = self._where(scope, operand)
        if operand in scope.graph.params:
            free = slot in scope.writable
        else:
            free = self.slots[slot].place in _OWN or self.slots[slot].donated
        alone = sum(scope.slot.get(a) == slot for a in eqn.args) == 1
        return free and alone and scope.dies(operand, number)

    def _update(self, scope: _Scope, number: int, group: Group, eqn: Eqn) -> None:
        """An update in its operand's buffer where that is dead, else in a copy."""
        operand, out = eqn.args[0], eqn.out
        source = self._where(scope, operand)
        wanted = scope.wanted.get(out)
        if wanted in (None, source) and self._overwrites(scope, number, eqn, operand):
            slot = source
        else:
            slot = self.new_slot(out.type) if wanted is None else wanted
            assert slot != source, f"{eqn.op} would overwrite what is still read"
            self._copy(scope, slot, source, self._why_copied(scope, number, eqn, operand), eqn)
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

    def _why_copied(self, scope: _Scope, number: int, eqn: Eqn, operand: Value) -> Reason:
        """Why an equation does not overwrite its operand."""
        slot = self._where(scope, operand)
        place = self.slots[slot].place
        if place is Place.ARGUMENT and not self.slots[slot].donated:
            return Reason.MEMORY_UPDATE_OPERAND_IS_ARGUMENT
        if place is Place.CONSTANT:
            return Reason.MEMORY_UPDATE_OPERAND_IS_CONSTANT
        if self._overwrites(scope, number, eqn, operand):
            return Reason.MEMORY_UPDATE_ELSEWHERE
        return Reason.MEMORY_UPDATE_OPERAND_ALIVE

    # --- control flow -----------------------------------------------------------------------------

    def _control(self, scope: _Scope, number: int, eqn: Eqn) -> None:
        if eqn.op.name == "cond":
            self._cond(scope, number, eqn)
            return
        try:
            kernels = lower_loop(eqn, f"k{len(self.logical)}", self.site, scope.uses.last)
        except NotAKernelError as why:
            assert eqn.op.name == "while", f"{eqn.op} is rewritten before planning"
            reason = Reason.FUSION_WHOLE_ARRAY_LOOP
            self.decisions.append(Decision(reason, self._numbers[eqn], str(why)))
            self._while(scope, number, eqn)
            return
        for lowered in kernels:
            for out in lowered.outputs:
                wanted = scope.wanted.get(out)
                scope.slot[out] = self.new_slot(out.type) if wanted is None else wanted
            self._run(scope, eqn, lowered.kernel, [self._where(scope, v) for v in lowered.values])

    def _cond(self, scope: _Scope, number: int, eqn: Eqn) -> None:
        """Results go where they are wanted, or to the operand that every case can overwrite."""
        index, *operands = (self._where(scope, a) for a in eqn.args)
        writable: set[int] = set()
        for out, home in zip(eqn.outs, self._chains.branch(eqn).home, strict=True):
            wanted = scope.wanted.get(out)
            if home is not None and wanted in (None, operands[home]):
                if self._overwrites(scope, number, eqn, eqn.args[1 + home]):
                    scope.slot[out] = operands[home]
                    writable.add(operands[home])
                    continue
                assert wanted is None, f"{eqn.op} would overwrite what is still read"
            scope.slot[out] = self.new_slot(out.type) if wanted is None else wanted
        outs = [scope.slot[o] for o in eqn.outs]
        cases = [
            self.graph(
                self._chains.uses(branch),
                operands,
                writable,
                outs,
                owner=eqn,
                repeated=scope.repeated,
            )
            for branch in eqn.params["branches"]
        ]
        scope.steps.append(Branch(index, tuple(tuple(c) for c in cases)))

    def _while(self, scope: _Scope, number: int, eqn: Eqn) -> None:
        """Carries live in one buffer where the body only updates them; else the body makes the
        next value in a second buffer, and the two are swapped."""
        condition: Graph = eqn.params["condition"]
        body: Graph = eqn.params["body"]
        tests, works = eqn.params["condition_captures"], eqn.params["body_captures"]
        moves = self._chains.loop(eqn)
        assert moves is not None
        alone = self._chains.alone(eqn)
        times = iterations(eqn, scope.walker.scalars)
        steps = times if alone else None
        results = self._swapped_results(scope, eqn, moves)
        others = {k for k, out in enumerate(eqn.outs) if out in scope.uses.last} - set(results)
        start = self._results_in_turn(moves, results, others, steps, alone=alone)
        captured = [self._where(scope, a) for a in eqn.args[: tests + works]]
        carried, second = self._carries(scope, number, eqn, moves, start)
        flag = self.new_slot(condition.results[0].type)
        uses = self._chains.uses(condition)
        places = [*captured[:tests], *carried]
        test = self.graph(uses, places, set(), [flag], owner=eqn, repeated=True)
        # Results that stay where they came in are not made. Carries that are nobody's home are
        # dead after the body, which may write over them, as over those that it updates.
        made = [k for k, stays in enumerate(moves.stays) if not stays]
        inner = Graph(body.params, body.eqns, tuple(body.results[k] for k in made))
        kept = set(moves.home) - moves.updated
        work = self.graph(
            Uses(inner, self._chains.uses(body).fusion),
            [*captured[tests:], *carried],
            {slot for k, slot in enumerate(carried) if k not in kept},
            [second[k] for k in made],
            owner=eqn,
            repeated=True,
        )
        rotate = {a: b for a, b in zip(carried, second, strict=True) if a != b}
        scope.steps.append(Loop(tuple(test), flag, tuple(work), _as_swaps(rotate), times))
        scope.slot.update(zip(eqn.outs, carried, strict=True))
        # The memory of a result that took part may hold another's value now: it is written last.
        for k in sorted(results, key=lambda k: k in start):
            if steps is None:
                self._copy(scope, results[k], carried[k], Reason.MEMORY_LOOP_RESULT_COPIED, eqn)
            scope.slot[eqn.outs[k]] = results[k]

    def _swapped_results(self, scope: _Scope, eqn: Eqn, moves: Moves) -> dict[int, int]:
        """The slots of results of the program that swapped carries should end in."""
        if scope.repeated:
            return {}
        wanted = {k: scope.wanted.get(out) for k, out in enumerate(eqn.outs) if moves.swapped(k)}
        return {k: slot for k, slot in wanted.items() if slot is not None and self._fixed(slot)}

    def _fixed(self, slot: int) -> bool:
        """Whether a slot always stands for the same address: a result of the program."""
        found = self.slots[slot]
        return (found.place is Place.RESULT or found.donated) and not found.turns

    def _same_memory(self, a: int, b: int) -> bool:
        """Whether two slots are one buffer when the program starts."""
        first, second = (replace(self.slots[k], turns=False) for k in (a, b))
        return a == b or (first == second and first.place is not Place.ARENA)

    def _results_in_turn(
        self,
        moves: Moves,
        results: dict[int, int],
        others: set[int],
        steps: int | None,
        *,
        alone: bool,
    ) -> dict[int, int]:
        """Which of the buffers that take turns, as they are at first, are the memory of results,
        with slots of that memory. After a known number of steps each result lies where it
        belongs. Else the results are copied, so one of those that take turns may take part, if
        none of them is another carry that is read later. others: the carries that are."""
        found: dict[int, int] = {}
        for k, slot in results.items():
            turns = moves.turns(k)
            if steps is not None:
                name = turns[steps % len(turns)]
            else:
                name = k
                taken = {*found, *others}
                if taken and (not alone or not taken.isdisjoint(turns)):
                    continue
            found[name] = self._slot(replace(self.slots[slot], turns=True))
        return found

    def _carries(
        self, scope: _Scope, number: int, eqn: Eqn, moves: Moves, start: dict[int, int]
    ) -> tuple[list[int], list[int]]:
        """The buffers that hold the carries, with their initial values, and those in which the
        body makes the next ones. start: buffers that are decided."""
        slots = dict(start)
        for k, out in enumerate(eqn.outs):
            initial = eqn.args[k - len(eqn.outs)]
            source = self._where(scope, initial)
            if k not in slots:
                wanted = scope.wanted.get(out)
                slots[k] = self._carry(scope, number, eqn, initial, wanted, moves.swapped(k))
            if not self._same_memory(slots[k], source):
                self._copy(
                    *(scope, slots[k], source),
                    *(self._why_copied(scope, number, eqn, initial), eqn),
                )
        for name, k in zip(moves.names, range(len(eqn.outs)), strict=True):
            if name not in slots:
                slots[name] = self.new_slot(eqn.outs[k].type)
        return [slots[k] for k in range(len(eqn.outs))], [slots[name] for name in moves.names]

    def _carry(
        self,
        scope: _Scope,
        number: int,
        eqn: Eqn,
        initial: Value,
        wanted: int | None,
        swapped: bool,
    ) -> int:
        """The buffer of a carry when its loop starts: that of its initial value, if that may be
        overwritten."""
        source = self._where(scope, initial)
        if wanted is not None and swapped and self._fixed(wanted):
            wanted = None
        if wanted in (None, source) and not (swapped and self._fixed(source)):
            if self._overwrites(scope, number, eqn, initial):
                return source
            assert wanted is None, f"{eqn.op} would overwrite what is still read"
        return self.new_slot(initial.type) if wanted is None else wanted


def _number(graph: Graph, numbers: dict[Eqn, int]) -> None:
    """Numbers equations in text order, those of nested Graphs after their own."""
    for e in graph.eqns:
        numbers[e] = len(numbers)
        for inner in subgraphs(e):
            _number(inner, numbers)


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


def _why_result_copied(scope: _Scope) -> Reason:
    """Why a result of a Graph is made in one buffer and copied to another."""
    if scope.repeated and scope.owner is not None and scope.owner.op.name == "while":
        return Reason.MEMORY_CARRY_COPIED
    return (
        Reason.MEMORY_RESULT_COPIED if scope.owner is None else Reason.MEMORY_BRANCH_RESULT_COPIED
    )


def _may_alias(kernel: Kernel, positions: Sequence[int]) -> Kernel:
    """The kernel with some buffers marked as possibly the same memory."""
    changed = {
        kernel.buffers[k]: replace(kernel.buffers[k], may_alias=True, role="inout")
        for k in positions
    }
    return _with_buffers(kernel, changed)


def _with_buffers(kernel: Kernel, changed: dict[Buffer, Buffer]) -> Kernel:
    """The kernel with other buffers in the place of some."""
    rewriter = Rewriter(buffers=lambda b: changed.get(b, b))
    buffers = tuple(changed.get(b, b) for b in kernel.buffers)
    return replace(kernel, buffers=buffers, body=rewriter.body(kernel.body))


def plan(
    graph: Graph,
    target: Target,
    *,
    donated: Sequence[int] = (),
    trail: list[Made] | None = None,
    check: bool = False,
) -> Planned:
    """The Plan that computes `graph` on `target`. donated: numbers of parameters whose memory is
    the program's; trail: gets what each group became, for reports; check: verify every kernel, as
    lowered and as scheduled, and the Plan."""
    return _Planner(target, donated, trail, check=check).program(graph)
