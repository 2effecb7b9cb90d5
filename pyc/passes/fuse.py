"""Fusion: which equations of a Graph become one kernel.

Takes a Graph and returns `Group`s in execution order. A group is either one opaque equation
(contract, kernel, library, control) or a loop program over one domain:

* a *domain* (the axes of extent other than 1) with some *reduced* positions;
* reductions over those positions, in order;
* outputs over the whole domain, or over the kept positions only.

Everything else is inlined: pointwise and index equations are computed where they are read. A *read*
is a (value, index) pair, found by following index maps symbolically, so "may this join that kernel"
is a comparison of index expressions and not a table of ops; and repeated work is charged per pair
(k stencils in a row do not repeat work 5^k times: the producer is stored instead).

Checks (equations with an effect) come after all that can fail or loop before them in the Graph, and
before all such that follows: what NumPy would raise first is raised.

Invariants: a value that another group reads is an output of its group; groups are ordered by their
reads; within a group a reduction's result, or an output, is read only at the index it was made for.
Every decision is kept with its reason for `explain`.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from pyc.frozen import frozen
from pyc.ir.expr import Expr, Var
from pyc.ir.graph import Eqn, Graph, Value, has_effect
from pyc.ir.op import Kind
from pyc.ir.target import Target
from pyc.passes.apart import Apart, describe, extents, read_by
from pyc.passes.fusion import Decision, Fusion, Group
from pyc.passes.pairs import in_order
from pyc.passes.reads import (
    Index,
    Read,
    Walker,
    full_index,
    inlines,
    reduced_positions,
    units_dropped,
    units_index,
)
from pyc.passes.stored import choose_stored
from pyc.passes.sums import Sum, find_sums
from pyc.passes.work import Work
from pyc.reasons import Reason

GROUP_LIMIT = 2048
"""Instructions per element of the largest kernel that others join: LLVM takes 20 us for each."""
ROW_LIMIT = 1 << 16
"""Elements of the longest of few reduced sequences that share a kernel with other work on a device:
what a block of threads walks in no more time than launches take."""

Domain = tuple[int, ...]


@frozen(eq=False)
class _Place:
    """An equation that looks for a group. reduced: positions, of a reduction; made_here: the groups
    that make what it reads; risky: it can fail or loop where order counts."""

    eqn: Eqn
    domain: Domain
    reduced: Domain | None
    reads: list[Read]
    work: Work
    made_here: set[Group]
    risky: bool


class _Fuser:
    def __init__(self, graph: Graph, *, target: Target | None) -> None:
        self.graph = graph
        self.target = target
        self.row_limit = None if target is None else row_limit_of(target)
        self.walker = Walker(graph)
        self.number = {e: k for k, e in enumerate(graph.eqns)}
        sums = () if target is None else find_sums(graph, self.walker, target)
        self.sum_of: dict[Eqn, Sum | None] = {}
        """Of equations that a sum of products takes in; of the last product alone it is known."""
        for s in sums:
            self.sum_of.update(dict.fromkeys((*s.products, *s.additions)))
            self.sum_of[max(s.products, key=self.number.__getitem__)] = s
        # A scatter that is launches of its own has its operands in memory.
        found = choose_stored(graph, self.walker, sums, in_scatters=self.row_limit is None)
        self.live, self.stored, self.cut = found.live, found.values, found.cut
        self.work, self.decisions = found.work, found.decisions
        self.groups: list[Group] = []
        self.group_of: dict[Value, Group] = {}
        self.checks = any(has_effect(e) for e in graph.eqns)
        """Whether the order of what can fail is kept."""
        self.risky: list[int] = []
        """The groups that can fail or loop, so far; the last that is a check, and needs them."""
        self.checked = -1
        self.apart: dict[tuple[int, int], Apart] = {}

    def run(self) -> Fusion:
        self._consumers: dict[Value, list[Eqn]] = {}
        for e in self.graph.eqns:
            if e in self.live:
                for a in dict.fromkeys(e.args):
                    self._consumers.setdefault(a, []).append(e)
        for eqn in self.graph.eqns:
            if eqn not in self.live or self.sum_of.get(eqn, eqn) is None:
                continue
            if eqn.op.kind is Kind.REDUCE:
                self._place_reduce(eqn)
            elif not inlines(eqn):
                self._place_opaque(eqn)
            else:
                for out in eqn.outs:
                    if out in self.stored:
                        self._place_output(out)
            if self.checks:
                self._keep_order(eqn)
        self._export_reductions()
        # A reduction to no elements that is joined with others is read by nothing.
        kept = (
            g
            for g in in_order(self.groups, self.graph, self.walker, self.target)
            if g.opaque or g.outputs or 0 not in g.domain
        )
        return Fusion(
            *(tuple(kept), frozenset(self.stored), tuple(self.decisions), self.walker),
            tuple(a for a in self.apart.values() if not self._is_together(a)),
        )

    def _is_together(self, apart: Apart) -> bool:
        """Whether the two are apart in name only: one nest does both."""
        for group in self.groups:
            numbers = [group.number, *(g.number for g in group.followers)]
            if apart.maker in numbers and apart.reader in numbers:
                return True
        return False

    def _decide(self, eqn: Eqn, reason: Reason, details: str) -> None:
        self.decisions.append(Decision(reason, self.number[eqn], details))

    # --- the order of what can fail ---------------------------------------------------------------

    def _keep_order(self, eqn: Eqn) -> None:
        """Notes that the group of `eqn`, if that can fail or loop, comes after the last check, and
        a check after all that can fail so far."""
        if not self._is_risky(eqn):
            return
        for number in {self.group_of[o].number for o in eqn.outs if o in self.group_of}:
            self._follow(self.groups[number], eqn)
        if not eqn.outs:
            self._follow(self.groups[-1], eqn)

    def _follow(self, group: Group, eqn: Eqn) -> None:
        before = set(self.risky) if has_effect(eqn) else {self.checked} - {-1}
        group.needs |= before - {group.number}
        self.risky.append(group.number)
        if has_effect(eqn):
            self.checked = group.number

    def _is_risky(self, eqn: Eqn) -> bool:
        """Whether what is computed where `eqn` is placed can fail or loop."""
        if eqn.op.kind in (Kind.CONTROL, Kind.LIBRARY):
            return True
        if inlines(eqn):
            return any(out in self.stored and self._can_fail(out) for out in eqn.outs)
        return any(not self._has_memory(a) and self._can_fail(a) for a in eqn.args)

    def _in_order(self, eqn: Eqn, group: Group) -> bool:
        """Whether a group may take in `eqn`, which can fail. Checks join only each other: within a
        kernel over one element they stand in the order of the Graph."""
        if not has_effect(eqn):
            after = self.checked < 0 or group.number not in self._closure(self.checked)
            return after and group.number > self.checked
        plain = not (group.domain or group.reduces)
        return plain and group.number == self.checked == max(self.risky, default=-1)

    # --- placing ----------------------------------------------------------------------------------

    def _has_memory(self, value: Value) -> bool:
        return self.walker.has_memory(value, self.stored)

    def _reads_of(
        self, value: Value, domain: tuple[int, ...], positions: Iterable[int]
    ) -> list[Read]:
        index = full_index(value.shape, self.walker.variables(domain, positions))
        return self.walker.reads(value, index, self.stored)

    def _place_opaque(self, eqn: Eqn) -> None:
        group = Group(opaque=eqn, sum=self.sum_of.get(eqn), outputs=list(eqn.outs))
        group.operands = self.walker.arrays_of(eqn)
        if group.sum is not None:
            group.operands = tuple(self.walker.array_of(a) for a in group.sum.operands)
            group.outputs = [group.sum.total]
        self.stored.update(group.outputs)
        group.reads = [Read(a, ()) for a in group.operands]
        if eqn.op.kind is Kind.INDEX:
            group.domain = units_dropped(eqn.args[1].shape)
            group.reads = self._update_reads(eqn, self.walker.update_operands(eqn, group.domain))
        elif eqn.op.scattered is not None:
            group.reads = self._update_reads(eqn, self.walker.scatter_operands(eqn))
        self._add(group, group.reads)
        for out in group.outputs:
            self.group_of[out] = group
        made_here = {self.group_of[r.value] for r in group.reads if r.value in self.group_of}
        self._keep_apart(group, [(m, Reason.FUSION_OWN_KERNEL, read_by(eqn)) for m in made_here])

    def _update_reads(self, eqn: Eqn, operands: list[tuple[Value, Index]]) -> list[Read]:
        """What an update reads: its new elements are computed where they are stored."""
        found = [Read(eqn.args[0], ())]
        for value, at in operands:
            if self._has_memory(value):
                found.append(Read(value, self.walker.canonical(at)))
            else:
                found += self.walker.reads(value, at, self.stored)
        return found

    def _place_reduce(self, eqn: Eqn) -> None:
        (source,) = eqn.args[:1]
        domain = units_dropped(source.shape)
        reduced = reduced_positions(eqn)
        index = full_index(source.shape, self.walker.variables(domain, range(len(domain))))
        reads: list[Read] = []
        for argument in eqn.args:
            if self._has_memory(argument):
                reads.append(Read(argument, self.walker.canonical(index)))
            else:
                reads += self.walker.reads(argument, index, self.stored)
        work = Work()
        for argument in eqn.args:
            if not self._has_memory(argument):
                work.join(self.work[argument])
        place = self._place(eqn, domain, reduced, reads, work)
        group = self._find_group(place)
        apart = self._why_apart(place, group)
        if group is None:
            group = Group(domain=domain, reduced=reduced)
            self._add(group, reads)
        else:
            self._join(group, reads)
        group.work.join(work)
        if not group.reduced:
            group.reduced = reduced
        group.reduces.append(eqn)
        for out in eqn.outs:
            self.group_of[out] = group
        self._keep_apart(group, apart)

    def _place_output(self, value: Value) -> None:
        domain = units_dropped(value.shape)
        reads = self._reads_of(value, domain, range(len(domain)))
        if self._as_epilogue(value, domain, reads):
            return
        work = self.work[value]
        eqn = self.walker.producer[value]
        place = self._place(eqn, domain, None, reads, work)
        group = self._find_group(place)
        apart = self._why_apart(place, group)
        if group is None:
            group = self._find_kept_group(eqn, value, domain)
            if group is not None:
                reads = self._reads_of(value, group.domain, group.kept)
        if group is None:
            group = Group(domain=domain)
            self._add(group, reads)
        else:
            self._join(group, reads)
        group.work.join(work)
        group.outputs.append(value)
        self.group_of[value] = group
        self._keep_apart(group, apart)

    def _as_epilogue(self, value: Value, domain: tuple[int, ...], reads: list[Read]) -> bool:
        """Lets a contraction's kernel store `value` instead of its own result, if that result is
        read by nothing else, and only where it stands."""
        products = [r for r in reads if self._is_product(r.value)]
        if len(products) != 1 or value.dtype.is_complex or self._can_fail(value):
            return False
        product = products[0].value
        group = self.group_of[product]
        full = self.walker.variables(domain, range(len(domain)))
        at = units_index(product.shape, products[0].index)
        if units_dropped(product.shape) != domain or not _same(at, full):
            return False
        if product in self.graph.results or self._roots_of(product) != {value}:
            return False
        others = [r for r in reads if r.value is not product]
        if not self._may_join(group, others, ()):
            return False
        self.stored.discard(product)
        group.epilogue = value
        group.outputs = [value]
        self._join(group, others)
        self.group_of[value] = group
        return True

    def _can_fail(self, value: Value) -> bool:
        """Whether an equation that is inlined into `value` checks something."""
        stack, seen = [value], {value}
        while stack:
            eqn = self.walker.producer[stack.pop()]
            if eqn.op.fails is not None:
                return True
            for a in eqn.args:
                if a not in seen and not self._has_memory(a) and a not in self.walker.scalars:
                    seen.add(a)
                    stack.append(a)
        return False

    def _is_product(self, value: Value) -> bool:
        group = self.group_of.get(value)
        return group is not None and _stores_products(group) and group.epilogue is None

    def _roots_of(self, value: Value) -> set[Value | None]:
        """The stored values whose computation reads `value`; None stands for other readers."""
        found: set[Value | None] = set()
        stack, seen = [value], {value}
        while stack:
            for e in self._consumers.get(stack.pop(), ()):
                if not inlines(e):
                    found.add(None)
                    continue
                for out in e.outs:
                    if out in self.stored:
                        found.add(out)
                    elif out not in seen:
                        seen.add(out)
                        stack.append(out)
        return found

    def _find_group(self, place: _Place) -> Group | None:
        """The best group over a domain that an equation can join, the latest first."""
        for group in reversed(self.groups):
            if self._obstacle(group, place) is not None:
                continue
            together = group.work.with_other(place.work)
            if together <= GROUP_LIMIT:
                return group
            details = f"{together:.0f} instructions with others"
            self._decide(place.eqn, Reason.FUSION_EXPRESSION_LIMIT, details)
        return None

    def _obstacle(self, group: Group, place: _Place) -> Reason | None:
        """Why a group cannot take in an equation; None if it can, but for its size."""
        domain, reduced, made_here = place.domain, place.reduced, place.made_here
        if group.opaque is not None:
            return Reason.FUSION_OWN_KERNEL
        if group.domain != domain:
            return Reason.FUSION_OTHER_LOOPS
        if place.risky and not self._in_order(place.eqn, group):
            return Reason.FUSION_ORDER
        reduction = reduced is not None
        if reduction and group.reduced != reduced and (group.reduced or group.reduces):
            return Reason.FUSION_OTHER_LOOPS
        long = reduction and not self._row_fits(domain, reduced or ())
        if long and (not group.reduces or group in made_here):
            return Reason.FUSION_LONG_ROWS
        if not reduction and group.reduced and not self._row_fits(domain, group.reduced):
            return Reason.FUSION_LONG_ROWS
        if not (group in made_here or self._shares(group, place.reads)):
            return Reason.FUSION_ELSEWHERE
        cut = (r.value in self.cut and self.group_of.get(r.value) is group for r in place.reads)
        if any(cut):
            return Reason.FUSION_EXPRESSION_LIMIT
        if not self._may_join(group, place.reads, self.walker.variables(domain, group.kept)):
            return Reason.FUSION_OTHER_PLACES
        return None

    def _place(
        self, eqn: Eqn, domain: Domain, reduced: Domain | None, reads: list[Read], work: Work
    ) -> _Place:
        made_here = {self.group_of[r.value] for r in reads if r.value in self.group_of}
        risky = self.checks and self._is_risky(eqn)
        return _Place(eqn, domain, reduced, reads, work, made_here, risky)

    def _find_kept_group(self, eqn: Eqn, value: Value, domain: tuple[int, ...]) -> Group | None:
        """A row group whose kept positions are this output's domain."""
        risky = self.checks and self._is_risky(eqn)
        for group in reversed(self.groups):
            if not group.reduced or group.opaque is not None:
                continue
            if risky and not self._in_order(eqn, group):
                continue
            if tuple(group.domain[k] for k in group.kept) != domain:
                continue
            if not self._row_fits(group.domain, group.reduced):
                continue
            reads = self._reads_of(value, group.domain, group.kept)
            if not any(self.group_of.get(r.value) is group for r in reads):
                continue
            if self._may_join(group, reads, self.walker.variables(group.domain, group.kept)):
                return group
        return None

    def _row_fits(self, domain: tuple[int, ...], reduced: tuple[int, ...]) -> bool:
        """Whether other work may share a kernel with a reduction of this size. Unless the scheduler
        cuts such kernels, long sequences with few siblings have one of their own."""
        if self.row_limit is None:
            return True
        row = prod(domain[p] for p in reduced)
        kept = prod(d for p, d in enumerate(domain) if p not in reduced)
        return row <= self.row_limit or kept >= 64

    @staticmethod
    def _shares(group: Group, reads: list[Read]) -> bool:
        values = {r.value for r in group.reads}
        return any(r.value in values for r in reads) or not reads

    def _may_join(self, group: Group, reads: list[Read], kept: tuple[Var, ...]) -> bool:
        """Reads of what the group makes stand at the index it is made for, and nothing the reads
        need comes after the group."""
        this = group.number
        full = self.walker.variables(group.domain, range(len(group.domain)))
        for r in reads:
            owner = self.group_of.get(r.value)
            if owner is group:
                made = units_index(r.value.shape, r.index)
                allowed = (kept,) if r.value not in group.outputs else (kept, full)
                if not any(_same(made, a) for a in allowed):
                    return False
            elif owner is not None and this in self._closure(owner.number):
                return False
        return True

    def _closure(self, start: int) -> set[int]:
        """Groups that `start` needs, itself included."""
        seen = {start}
        stack = [start]
        while stack:
            for k in self.groups[stack.pop()].needs:
                if k not in seen:
                    seen.add(k)
                    stack.append(k)
        return seen

    def _add(self, group: Group, reads: list[Read]) -> None:
        group.number = len(self.groups)
        self.groups.append(group)
        self._join(group, reads)

    def _join(self, group: Group, reads: list[Read]) -> None:
        for r in reads:
            owner = self.group_of.get(r.value)
            if owner is group:
                continue
            if owner is not None:
                group.needs.add(owner.number)
            if r not in group.reads:
                group.reads.append(r)

    # --- why not ----------------------------------------------------------------------------------

    def _why_apart(self, place: _Place, group: Group | None) -> list[tuple[Group, Reason, str]]:
        """For each maker of what an equation reads why it does not join that one, but `group`."""
        found = []
        for maker in place.made_here - {group}:
            reason = self._obstacle(maker, place)
            if reason is None and maker.work.with_other(place.work) > GROUP_LIMIT:
                reason = Reason.FUSION_EXPRESSION_LIMIT
            reason = reason or Reason.FUSION_ELSEWHERE
            together = maker.work.with_other(place.work)
            details = describe(reason, maker, place.eqn, place.domain, place.reduced, together)
            if _stores_products(maker) and place.reduced is None:
                value = place.eqn.outs[0]
                details = self._why_no_epilogue(value, place.domain, place.reads, maker)
            found.append((maker, reason, details))
        return found

    def _why_no_epilogue(
        self, value: Value, domain: Domain, reads: list[Read], maker: Group
    ) -> str:
        """Why a product's kernel does not store what is computed from its result."""
        product = maker.product
        if maker.epilogue is not None:
            return "the product's kernel stores another value already"
        if product in self.graph.results:
            return "the product is a result of the program"
        if self._roots_of(product) != {value}:
            return "several values are computed from the product"
        if sum(self._is_product(r.value) for r in reads) > 1:
            return "it reads several products, or one at several places"
        if self._can_fail(value):
            return "it can fail"
        if units_dropped(product.shape) != domain:
            return f"it is of other extents than the product: {extents(domain)}"
        return "it reads the product at another place, or what is made after it"

    def _keep_apart(self, group: Group, found: list[tuple[Group, Reason, str]]) -> None:
        """Keeps why a group is not one with those that it reads from."""
        for maker, reason, details in found:
            if maker is not group:
                key = maker.number, group.number
                self.apart.setdefault(key, Apart(*key, reason, details))

    # --- finishing --------------------------------------------------------------------------------

    def _export_reductions(self) -> None:
        """Reduction results that are results, or that other groups read, get memory."""
        outside = {r.value for g in self.groups for r in g.reads} | set(self.graph.results)
        for group in self.groups:
            for eqn in group.reduces:
                for out in eqn.outs:
                    if out in outside or out in self.stored:
                        self.stored.add(out)
                        group.outputs.append(out)


def _stores_products(group: Group) -> bool:
    return group.opaque is not None and group.opaque.op.kind is Kind.CONTRACT


def _same(a: Iterable[Expr], b: Iterable[Expr]) -> bool:
    a, b = tuple(a), tuple(b)
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def row_limit_of(target: Target) -> int | None:
    """Elements up to which the scheduler of a target makes the most of a program over few rows:
    on a device what a block of threads, or a cluster of them, walks. None: there is no limit."""
    if not target.has_blocks:
        return None
    return ROW_LIMIT * target.cluster_blocks


def fuse(graph: Graph, *, target: Target | None = None) -> Fusion:
    """The groups of `graph`, in execution order. target: what they are for; None: any."""
    return _Fuser(graph, target=target).run()
