"""Memory: the fused groups of a Graph become a Plan of steps over buffers with offsets.

Takes a Graph and a Target, returns a `Planned`: the Plan, and the decisions made on the way. Groups
are lowered and scheduled (`launches`) one after the other, because what may be overwritten decides
what a kernel's buffers (`slots`) may share. Control flow is here:

* results of branches are made in an operand's buffer where every case can (`in_place` finds the
  chains of updates), and that is dead afterwards;
* carries of a loop are updated in place, or written to a second buffer and the two are swapped. A
  swapped carry that is a result of the program has the result's memory as one of the two.

Constants are never written, arguments only if they were donated (`donation` says which results are
made in their memory). `offsets` places the buffers.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.forks import load
from pyc.frozen import frozen, replace
from pyc.ir.graph import Eqn, Graph, Value
from pyc.ir.loops import Kernel
from pyc.ir.op import Kind
from pyc.ir.plan import Branch, Loop, Place, Plan, PlanBuffer, Step
from pyc.ir.target import Target
from pyc.passes.donation import donations
from pyc.passes.fusion import Decision, Fusion, Group
from pyc.passes.in_place import Chains, Moves, Uses
from pyc.passes.launches import Launches
from pyc.passes.loop_forms import NotAKernelError, counted, lower_loop, lower_updates
from pyc.passes.made_results import with_made_results
from pyc.passes.offsets import place
from pyc.passes.slots import OWN, Scope, Slot
from pyc.reasons import Reason

REPORTED = 3
"""The largest buffers that an error names."""


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


@frozen(eq=False)
class Made:
    """What a group of a Graph became. kernels: numbers of those of the Plan that run it, and what
    it holds; owner: the control equation that holds the Graph; numbers: of all equations."""

    group: Group
    fusion: Fusion
    kernels: range
    owner: Eqn | None
    numbers: dict[Eqn, int]


class _Planner(Launches):
    """A program, its Graphs and their control flow."""

    def __init__(
        self, target: Target, donated: Sequence[int], trail: list[Made] | None, *, check: bool
    ) -> None:
        super().__init__(target, check=check)
        self._trail = trail
        self._donated = donated
        self._chains = Chains(target)

    def program(self, graph: Graph) -> Planned:
        """The Plan of a whole program."""
        donated = self._donated
        graph = with_made_results(graph, donated)
        self.number(graph)
        given = donations(graph, self._chains, donated, self.target)
        reason = Reason.MEMORY_DONATION_UNUSED
        self.decisions += [Decision(reason, -1, f"parameter {n}: {why}") for n, why in given.unused]
        arguments = []
        for k, p in enumerate(graph.params):
            scalar = p.shape == ()
            slot = Slot(p.type.nbytes, Place.ARGUMENT, k, scalar=scalar)
            arguments.append(self.add_slot(replace(slot, donated=k in donated and not scalar)))
        results = [
            arguments[given.taken[k]]
            if k in given.taken
            else self.add_slot(Slot(r.type.nbytes, Place.RESULT, k))
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
        if self.check:
            load("pyc.ir.verify_plan").verify_plan(plan)
        return Planned(
            *(plan, tuple(self.decisions), tuple(self.logical), self.copies, given.unused),
            self._largest(graph, results),
        )

    def _largest(self, graph: Graph, results: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """See `Planned`."""
        producer = {out: e for e in graph.eqns for out in e.outs}
        for value, slot in zip(graph.results, results, strict=True):
            if value in producer:
                self.makers[slot] = self.numbers[producer[value]]
        found = [
            (s.nbytes, maker)
            for s, maker in zip(self.slots, self.makers, strict=True)
            if s.place in OWN and not s.turns and s.nbytes
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
            replace(d, equation=self.numbers[graph.eqns[d.equation]]) for d in uses.fusion.decisions
        ]
        scope = Scope(graph, uses, set(writable), repeated, owner)
        scope.slot.update(zip(graph.params, params, strict=True))
        for value, slot in zip(graph.results, results, strict=True):
            if value not in scope.slot:
                self._want(scope, value, slot)
        done = 0
        for number, group in enumerate(scope.fusion.groups):
            if number >= done:
                done = number + self._group(scope, number, group)
        for value, slot in zip(graph.results, results, strict=True):
            source = self.where(scope, value)
            if source != slot:
                self.copy(scope, slot, source, _why_result_copied(scope), owner)
        return scope.steps

    def _want(self, scope: Scope, value: Value, slot: int) -> None:
        """Lets a value, and all that it is made from in place, be made in `slot`."""
        chain = self._chains.chain(scope.uses, value)
        for link, swapped in zip(chain.values, chain.swapped, strict=True):
            if link in scope.slot or (swapped and self._fixed(slot)):
                return  # the loop decides which of its buffers is the result's
            scope.wanted.setdefault(link, slot)

    def _group(self, scope: Scope, number: int, group: Group) -> int:
        """Adds a group; how many are done, with those that follow it."""
        eqn = group.opaque
        self.now = self.numbers[eqn or scope.walker.producer[group.outputs[0]]]
        before = len(self.kernels)
        together = (group, *group.followers)
        if len(together) == 3 and not self.around(scope, group, *group.followers):
            details = "the rows between two products are not one after the other, or in place"
            self.decisions.append(Decision(Reason.FUSION_OWN_KERNEL, self.now, details))
            together = (group,)
        if len(together) < 3:
            self._steps(scope, number, group, eqn, together)
        if self._trail is not None:
            end = len(self.kernels)
            cuts = [before, *range(before + 1, before + len(together)), end]
            if len(together) == 3:  # panels of both products, and then what does it all
                together = (together[0], together[2], together[1])
            for each, start, stop in zip(together, cuts, cuts[1:], strict=False):
                kernels = range(start, stop)
                made = Made(each, scope.fusion, kernels, scope.owner, self.numbers)
                self._trail.append(made)
        return len(together)

    def _steps(
        self,
        scope: Scope,
        number: int,
        group: Group,
        eqn: Eqn | None,
        together: tuple[Group, ...],
    ) -> None:
        if eqn is None:
            self.loops(scope, number, group)
        elif eqn.op.kind is Kind.CONTROL:
            self._control(scope, number, eqn)
        elif eqn.op.in_place is not None:
            self.update(scope, number, group, eqn)
        elif len(together) > 1:
            self.pair(scope, *together)
        else:
            self.opaque(scope, number, group, eqn)

    # --- control flow -----------------------------------------------------------------------------

    def _control(self, scope: Scope, number: int, eqn: Eqn) -> None:
        if eqn.op.name == "cond":
            self._cond(scope, number, eqn)
            return
        try:
            name, known = f"k{len(self.logical)}", scope.walker.constants
            kernels = lower_loop(
                *(eqn, name, self.site, scope.uses.last, known),
                side_by_side=self.target.has_blocks,
            )
        except NotAKernelError as why:
            assert eqn.op.name == "while", f"{eqn.op} is rewritten before planning"
            try:
                updates = self._updates(scope, number, eqn)
                details = str(why)
            except NotAKernelError as other:
                updates, details = False, f"{why}; {other}"
            if not updates:
                reason = Reason.FUSION_WHOLE_ARRAY_LOOP
                self.decisions.append(Decision(reason, self.numbers[eqn], details))
                self._while(scope, number, eqn)
            return
        for lowered in kernels:
            for out in lowered.outputs:
                wanted = scope.wanted.get(out)
                scope.slot[out] = self.new_slot(out.type) if wanted is None else wanted
            self.run(scope, eqn, lowered.kernel, [self.where(scope, v) for v in lowered.values])

    def _updates(self, scope: Scope, number: int, eqn: Eqn) -> bool:
        """Makes a loop within a kernel that updates arrays in place: where their initial values
        lie, if that may be overwritten, else in copies. Whether there are such arrays;
        NotAKernelError if there are but there is no such kernel."""
        moves = self._chains.loop(eqn)
        assert moves is not None
        lowered = lower_updates(
            *(eqn, f"k{len(self.logical)}", self.site),
            read=scope.uses.last,
            known=scope.walker.scalars,
            constants=scope.walker.constants,
        )
        if lowered is None:
            return False
        arrays = {
            eqn.outs.index(v)
            for v, b in zip(lowered.values, lowered.kernel.buffers, strict=True)
            if b.role == "inout"
        }
        if any(moves.swapped(k) for k in arrays):
            raise NotAKernelError("an array takes turns with another")
        for k in sorted(arrays):
            initial, out = eqn.args[k - len(eqn.outs)], eqn.outs[k]
            source = self.where(scope, initial)
            slot = self._carry(scope, number, eqn, initial, scope.wanted.get(out), swapped=False)
            if not self._same_memory(slot, source):
                self.copy(scope, slot, source, self.why_copied(scope, number, eqn, initial), eqn)
            scope.slot[out] = slot
        for out in lowered.outputs:
            if out not in scope.slot:
                wanted = scope.wanted.get(out)
                scope.slot[out] = self.new_slot(out.type) if wanted is None else wanted
        self.run(scope, eqn, lowered.kernel, [self.where(scope, v) for v in lowered.values])
        return True

    def _cond(self, scope: Scope, number: int, eqn: Eqn) -> None:
        """Results go where they are wanted, or to the operand that every case can overwrite."""
        index, *operands = (self.where(scope, a) for a in eqn.args)
        writable: set[int] = set()
        for out, home in zip(eqn.outs, self._chains.branch(eqn).home, strict=True):
            wanted = scope.wanted.get(out)
            if home is not None and wanted in (None, operands[home]):
                if self.overwrites(scope, number, eqn, eqn.args[1 + home]):
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

    def _while(self, scope: Scope, number: int, eqn: Eqn) -> None:
        """Carries live in one buffer where the body only updates them; else the body makes the
        next value in a second buffer, and the two are swapped."""
        condition: Graph = eqn.params["condition"]
        body: Graph = eqn.params["body"]
        tests, works = eqn.params["condition_captures"], eqn.params["body_captures"]
        moves = self._chains.loop(eqn)
        assert moves is not None
        alone = self._chains.alone(eqn)
        count = counted(eqn, scope.walker.scalars)
        times = None if count is None else count.times
        steps = times if alone else None
        results = self._swapped_results(scope, eqn, moves)
        others = {k for k, out in enumerate(eqn.outs) if out in scope.uses.last} - set(results)
        start = self._results_in_turn(moves, results, others, steps, alone=alone)
        captured = [self.where(scope, a) for a in eqn.args[: tests + works]]
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
                self.copy(scope, results[k], carried[k], Reason.MEMORY_LOOP_RESULT_COPIED, eqn)
            scope.slot[eqn.outs[k]] = results[k]

    def _swapped_results(self, scope: Scope, eqn: Eqn, moves: Moves) -> dict[int, int]:
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
            found[name] = self.add_slot(replace(self.slots[slot], turns=True))
        return found

    def _carries(
        self, scope: Scope, number: int, eqn: Eqn, moves: Moves, start: dict[int, int]
    ) -> tuple[list[int], list[int]]:
        """The buffers that hold the carries, with their initial values, and those in which the
        body makes the next ones. start: buffers that are decided."""
        slots = dict(start)
        for k, out in enumerate(eqn.outs):
            initial = eqn.args[k - len(eqn.outs)]
            source = self.where(scope, initial)
            if k not in slots:
                wanted = scope.wanted.get(out)
                slots[k] = self._carry(scope, number, eqn, initial, wanted, moves.swapped(k))
            if not self._same_memory(slots[k], source):
                self.copy(
                    *(scope, slots[k], source),
                    *(self.why_copied(scope, number, eqn, initial), eqn),
                )
        for name, k in zip(moves.names, range(len(eqn.outs)), strict=True):
            if name not in slots:
                slots[name] = self.new_slot(eqn.outs[k].type)
        return [slots[k] for k in range(len(eqn.outs))], [slots[name] for name in moves.names]

    def _carry(
        self,
        scope: Scope,
        number: int,
        eqn: Eqn,
        initial: Value,
        wanted: int | None,
        swapped: bool,
    ) -> int:
        """The buffer of a carry when its loop starts: that of its initial value, if that may be
        overwritten."""
        source = self.where(scope, initial)
        if wanted is not None and swapped and self._fixed(wanted):
            wanted = None
        if wanted in (None, source) and not (swapped and self._fixed(source)):
            if self.overwrites(scope, number, eqn, initial):
                return source
            assert wanted is None, f"{eqn.op} would overwrite what is still read"
        return self.new_slot(initial.type) if wanted is None else wanted


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


def _why_result_copied(scope: Scope) -> Reason:
    """Why a result of a Graph is made in one buffer and copied to another."""
    if scope.repeated and scope.owner is not None and scope.owner.op.name == "while":
        return Reason.MEMORY_CARRY_COPIED
    return (
        Reason.MEMORY_RESULT_COPIED if scope.owner is None else Reason.MEMORY_BRANCH_RESULT_COPIED
    )


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
