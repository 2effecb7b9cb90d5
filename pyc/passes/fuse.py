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
from typing import Any

from pyc.frozen import field, frozen, slotted
from pyc.ir.expr import Expr, Var, const
from pyc.ir.graph import Eqn, Graph, Value, has_effect
from pyc.ir.op import Complex, Kind
from pyc.passes.apart import Apart, describe, extents, read_by
from pyc.passes.index import Simplifier
from pyc.passes.work import Work
from pyc.reasons import Reason

WORK_LIMIT = 512
"""Instructions per element above which a value is stored, for a kernel of its own."""
GROUP_LIMIT = 2048
"""Instructions per element of the largest kernel that others join: LLVM takes 20 us for each."""
DEPTH_LIMIT = 96
"""Equations inlined in one chain of index maps, a bound on recursion."""
REPEAT_LIMIT = 24
"""Instructions per element worth repeating to save storing and loading a value."""
ROW_LIMIT = 1 << 16
"""Elements of the longest reduced sequence that shares its kernel with other work, where only
reductions by themselves are split over tasks."""

Index = tuple[Expr, ...]
Domain = tuple[int, ...]


@frozen()
class Read:
    """`value` read at `index` (canonical expressions; unit axes are the constant 0)."""

    value: Value
    index: Index


@frozen()
class Decision:
    """Why something was done as it is. equation: its number, within the Graph that is fused here,
    in the text of the whole program where the planner gives it (-1: the program itself)."""

    reason: Reason
    equation: int
    details: str


@slotted
class Group:
    """One kernel to be; see the module docstring. `reads` are of values made outside. epilogue: the
    value that a contraction's kernel stores in place of its own result, element by element."""

    domain: tuple[int, ...] = ()
    reduced: tuple[int, ...] = ()
    reduces: list[Eqn] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    opaque: Eqn | None = None
    epilogue: Value | None = None
    reads: list[Read] = field(default_factory=list)
    needs: set[int] = field(default_factory=set)
    work: Work = field(default_factory=Work)
    number: int = -1

    @property
    def kept(self) -> tuple[int, ...]:
        """Positions of the domain that are not reduced."""
        return tuple(k for k in range(len(self.domain)) if k not in self.reduced)


def inlines(eqn: Eqn) -> bool:
    """Whether an equation is computed where it is read. Updates are not: they have memory."""
    return eqn.op.kind in (Kind.POINTWISE, Kind.INDEX) and eqn.op.in_place is None


def units_dropped(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The extents other than 1: the domain of a shape."""
    return tuple(d for d in shape if d != 1)


def full_index(shape: tuple[int, ...], variables: Iterable[Var]) -> Index:
    """The index of a value of `shape` at the domain's variables: 0 along unit axes."""
    them = iter(variables)
    return tuple(const(0) if d == 1 else next(them) for d in shape)


def reduced_positions(eqn: Eqn) -> tuple[int, ...]:
    """The positions in its argument's domain that a reduction reduces."""
    shape = eqn.args[0].shape
    kept = [k for k, d in enumerate(shape) if d != 1]
    return tuple(p for p, axis in enumerate(kept) if axis in eqn.params["axes"])


class Walker:
    """Follows reads from a value to where inlining stops.

    producer: the equation of each computed value; scalars: constants of one element, which are
    literals in kernels; constants: the others, which have memory like parameters."""

    def __init__(self, graph: Graph) -> None:
        self.producer: dict[Value, Eqn] = {}
        self.scalars: dict[Value, Any] = {}
        self.constants: dict[Value, Any] = {}
        for e in graph.eqns:
            if e.op.name == "constant":
                array = e.params["value"]
                kind = self.scalars if array.size == 1 else self.constants
                kind[e.out] = array.reshape(-1)[0] if array.size == 1 else array
            else:
                self.producer.update((out, e) for out in e.outs)
        self.simplify = Simplifier()
        self._variables: dict[tuple[int, int], Var] = {}
        self._elements: dict[tuple[Any, ...], Any] = {}

    def variables(self, domain: tuple[int, ...], positions: Iterable[int]) -> tuple[Var, ...]:
        """The canonical variables of some positions of a domain."""
        return tuple(self._variable(p, domain[p]) for p in positions)

    def _variable(self, position: int, extent: int) -> Var:
        key = (position, extent)
        if key not in self._variables:
            self._variables[key] = self.simplify.variable(f"d{position}", extent)
        return self._variables[key]

    def canonical(self, index: Index) -> Index:
        """`index` with each expression in canonical form."""
        return tuple(self.simplify(e) for e in index)

    def reads(self, value: Value, index: Index, stops: frozenset[Value] | set[Value]) -> list[Read]:
        """What computing `value` at `index` reads among `stops` and values without producer; the
        value itself is expanded even if it is a stop."""
        found: dict[tuple[Any, ...], Read] = {}
        seen: set[tuple[Any, ...]] = set()
        stack = self.operands(value, self.canonical(index))
        while stack:
            read = stack.pop()
            key = (read.value, *map(id, read.index))
            if key in seen:
                continue
            seen.add(key)
            if read.value in self.scalars:
                continue
            eqn = self.producer.get(read.value)
            if eqn is None or read.value in stops or not inlines(eqn):
                found[key] = read
            else:
                stack.extend(self.operands(read.value, read.index))
        return list(found.values())

    def operands(self, value: Value, index: Index) -> list[Read]:
        """The reads of the producing equation of `value`, one step."""
        eqn = self.producer[value]
        if eqn.op.kind is Kind.POINTWISE:
            return [Read(a, index) for a in dict.fromkeys(eqn.args)]
        if eqn.op.kind is Kind.INDEX:
            return self._index_reads(eqn, index)
        raise AssertionError(f"{eqn.op} is not inlined")

    def _index_reads(self, eqn: Eqn, index: Index) -> list[Read]:
        assert eqn.op.element is not None
        found: list[Read] = []

        def read(position: int, at: Index) -> Any:
            at = self.canonical(tuple(at))
            argument = eqn.args[position]
            found.append(Read(argument, at))
            return self._element(argument, at)

        types = tuple(a.type for a in eqn.args)
        eqn.op.element(read, index, types, **eqn.params)
        return found

    def _element(self, value: Value, index: Index) -> Any:
        """A stand-in for the element: equal reads give the same variable."""
        key = (value, *map(id, index))
        if key not in self._elements:
            real = value.dtype.real
            if value.dtype.is_complex:
                self._elements[key] = Complex(Var("re", real), Var("im", real))
            else:
                self._elements[key] = Var("element", real)
        return self._elements[key]


@frozen()
class Fusion:
    """The groups in execution order, the values that have memory, why, the walker of reads, and why
    groups that read from each other are apart."""

    groups: tuple[Group, ...]
    stored: frozenset[Value]
    decisions: tuple[Decision, ...]
    walker: Walker
    apart: tuple[Apart, ...] = ()


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
    def __init__(self, graph: Graph, *, long_rows: bool) -> None:
        self.graph = graph
        self.long_rows = long_rows
        self.walker = Walker(graph)
        self.number = {e: k for k, e in enumerate(graph.eqns)}
        self.decisions: list[Decision] = []
        self.stored: set[Value] = set()
        self.cut: set[Value] = set()
        self.work: dict[Value, Work] = {}
        self.groups: list[Group] = []
        self.group_of: dict[Value, Group] = {}
        self.checks = any(has_effect(e) for e in graph.eqns)
        """Whether the order of what can fail is kept."""
        self.risky: list[int] = []
        """The groups that can fail or loop, so far; the last that is a check, and needs them."""
        self.checked = -1
        self.apart: dict[tuple[int, int], Apart] = {}

    def run(self) -> Fusion:
        live = self._live()
        self._choose_stored(live)
        self._store_for_updates(live)
        self._consumers: dict[Value, list[Eqn]] = {}
        for e in self.graph.eqns:
            if e in live:
                for a in dict.fromkeys(e.args):
                    self._consumers.setdefault(a, []).append(e)
        for eqn in self.graph.eqns:
            if eqn not in live:
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
        return Fusion(
            *(tuple(self._ordered()), frozenset(self.stored), tuple(self.decisions), self.walker),
            tuple(self.apart.values()),
        )

    # --- what is stored ---------------------------------------------------------------------------

    def _live(self) -> set[Eqn]:
        producer = self.walker.producer
        live: set[Eqn] = {e for e in self.graph.eqns if has_effect(e)}
        stack = [producer[r] for r in self.graph.results if r in producer] + list(live)
        live.update(stack)
        while stack:
            for a in stack.pop().args:
                e = producer.get(a)
                if e is not None and e not in live:
                    live.add(e)
                    stack.append(e)
        return live

    def _store(self, value: Value, reason: Reason | None = None, details: str = "") -> None:
        if value in self.stored or value not in self.walker.producer:
            return
        self.stored.add(value)
        if reason is not None:
            self._decide(self.walker.producer[value], reason, details)

    def _decide(self, eqn: Eqn, reason: Reason, details: str) -> None:
        self.decisions.append(Decision(reason, self.number[eqn], details))

    def _choose_stored(self, live: set[Eqn]) -> None:
        """Marks results, operands of opaque equations, and values dearer to repeat than to store.

        `self.work` is what a value takes from what is stored, `depth` the index maps in a row."""
        for r in self.graph.results:
            self._store(r)
        for e in self.graph.eqns:
            if e.op.effect:
                for out in e.outs:
                    self._store(out)
        uses: dict[Value, set[Any]] = {}
        scale: dict[Value, float] = {}
        for e in self.graph.eqns:
            if e not in live:
                continue
            for a in e.args:
                if e.op.kind is Kind.INDEX and e.op.in_place is not None:
                    if a is e.args[0]:
                        self._store(a)
                elif e.op.kind is Kind.INDEX:
                    uses.setdefault(a, set()).add(e)
                    ratio = prod(e.outs[0].shape) / max(prod(a.shape), 1)
                    scale[a] = scale.get(a, 0.0) + ratio
                elif e.op.kind in (Kind.POINTWISE, Kind.REDUCE):
                    if "same" not in uses.setdefault(a, set()):
                        uses[a].add("same")
                        scale[a] = scale.get(a, 0.0) + 1.0
                else:
                    self._store(a)
        per_row: set[Value] = set()  # values that follow from a reduction: one per row, hoisted
        readers: dict[Value, int] = {}
        for e in self.graph.eqns:
            if e in live:
                for a in dict.fromkeys(e.args):
                    readers[a] = readers.get(a, 0) + 1
        depth: dict[Value, int] = {}
        risky: set[Value] = set()  # values that something is checked for where they are computed
        for e in self.graph.eqns:
            if e not in live or not inlines(e):
                continue
            for a in dict.fromkeys(e.args):
                if a in risky and _reads_part(e, a):
                    self._store(a, Reason.FUSION_ORDER, "all of its elements are checked")
            args = [a for a in dict.fromkeys(e.args) if a not in self.stored]
            if e.op.fails is not None or any(a in risky for a in args):
                risky.update(e.outs)
            for a in args:
                readers[a] -= 1
            level = max((depth.get(a, 0) for a in args), default=0)
            known = [a for a in args if a in self.work]
            if e.op.kind is Kind.POINTWISE:
                found = self._shared_work(known, readers)
            else:
                found = Work(repeated=sum(self.work[a].total for a in known))
                level += 1
            found.add(e)
            work = found.total
            if any(a in per_row or self._is_reduction(a) for a in args):
                per_row.update(e.outs)
            for out in e.outs:
                self.work[out] = found if out is e.outs[0] else found.copy()
                depth[out] = level
                if work > WORK_LIMIT or level > DEPTH_LIMIT:
                    self._store(out, Reason.FUSION_EXPRESSION_LIMIT, f"{work:.0f} instructions")
                    self.cut.add(out)
                elif len(uses.get(out, ())) > 1 or scale.get(out, 0.0) > 1.5:
                    times = len(uses.get(out, ())) if out in per_row else scale.get(out, 1.0)
                    extra = work * (times - 1.0)
                    if extra > REPEAT_LIMIT and prod(out.shape) > 1:
                        self._store(
                            out,
                            Reason.FUSION_EXPENSIVE_PRODUCER,
                            f"inlining would repeat {extra:.0f} instructions per element",
                        )

    def _store_for_updates(self, live: set[Eqn]) -> None:
        """New elements of an update, and where they go, are stored first if computing them needs
        the memory being written."""
        for e in self.graph.eqns:
            if e not in live or e.op.in_place is None or e.op.kind is not Kind.INDEX:
                continue
            for value, at in self._update_operands(e, units_dropped(e.args[1].shape)):
                if self._has_memory(value):
                    continue
                if any(r.value is e.args[0] for r in self.walker.reads(value, at, self.stored)):
                    details = "it reads what it replaces"
                    self._store(value, Reason.MEMORY_UPDATE_READS_OPERAND, details)

    def _shared_work(self, values: list[Value], readers: dict[Value, int]) -> Work:
        """The work of some values together. The largest is not copied if nobody reads it later:
        chains are long."""
        if not values:
            return Work()
        first = max(values, key=lambda v: len(self.work[v].members))
        found = self.work.pop(first) if not readers[first] else self.work[first].copy()
        for v in values:
            if v is not first:
                found.join(self.work[v])
        return found

    def _is_reduction(self, value: Value) -> bool:
        eqn = self.walker.producer.get(value)
        return eqn is not None and eqn.op.kind is Kind.REDUCE

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
        eqn = self.walker.producer.get(value)
        return eqn is None or value in self.stored or not inlines(eqn)

    def _reads_of(
        self, value: Value, domain: tuple[int, ...], positions: Iterable[int]
    ) -> list[Read]:
        index = full_index(value.shape, self.walker.variables(domain, positions))
        return self.walker.reads(value, index, self.stored)

    def _place_opaque(self, eqn: Eqn) -> None:
        group = Group(opaque=eqn, outputs=list(eqn.outs))
        self.stored.update(eqn.outs)
        group.reads = [Read(a, ()) for a in eqn.args]
        if eqn.op.kind is Kind.INDEX:
            group.domain = units_dropped(eqn.args[1].shape)
            group.reads = self._update_reads(eqn, group.domain)
        self._add(group, group.reads)
        for out in eqn.outs:
            self.group_of[out] = group
        made_here = {self.group_of[r.value] for r in group.reads if r.value in self.group_of}
        self._keep_apart(group, [(m, Reason.FUSION_OWN_KERNEL, read_by(eqn)) for m in made_here])

    def _update_reads(self, eqn: Eqn, domain: tuple[int, ...]) -> list[Read]:
        """What an update reads: its new elements are computed where they are stored."""
        found = [Read(eqn.args[0], ())]
        for value, at in self._update_operands(eqn, domain):
            if self._has_memory(value):
                found.append(Read(value, self.walker.canonical(at)))
            else:
                found += self.walker.reads(value, at, self.stored)
        return found

    def _update_operands(self, eqn: Eqn, domain: tuple[int, ...]) -> list[tuple[Value, Index]]:
        """The new elements and the starts of an update, each with the index it is read at."""
        _, update, *starts = eqn.args
        index = full_index(update.shape, self.walker.variables(domain, range(len(domain))))
        return [(update, index), *((s, ()) for s in starts)]

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
        if self.long_rows:
            return True
        row = prod(domain[p] for p in reduced)
        kept = prod(d for p, d in enumerate(domain) if p not in reduced)
        return row <= ROW_LIMIT or kept >= 64

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
        assert maker.opaque is not None
        product = maker.opaque.out
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

    def _ordered(self) -> list[Group]:
        """Groups with each after what it needs, otherwise in order of creation."""
        order: list[Group] = []
        done: set[int] = set()
        for start in range(len(self.groups)):
            stack = [(start, False)]
            while stack:
                k, ready = stack.pop()
                if ready:
                    if k not in done:
                        done.add(k)
                        order.append(self.groups[k])
                    continue
                if k in done:
                    continue
                stack.append((k, True))
                stack.extend((n, False) for n in sorted(self.groups[k].needs, reverse=True))
        return order


def units_index(shape: tuple[int, ...], index: Index) -> Index:
    """The part of an index that lies along axes of extent other than 1."""
    return tuple(e for d, e in zip(shape, index, strict=True) if d != 1)


def _stores_products(group: Group) -> bool:
    return group.opaque is not None and group.opaque.op.kind is Kind.CONTRACT


def _reads_part(eqn: Eqn, value: Value) -> bool:
    """Whether an equation may read some elements of a value only: fewer, or those that indices
    name."""
    if eqn.op.kind is not Kind.INDEX or value is not eqn.args[0]:
        return False
    return len(eqn.args) > 1 or eqn.outs[0].type.size < value.type.size


def _same(a: Iterable[Expr], b: Iterable[Expr]) -> bool:
    a, b = tuple(a), tuple(b)
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def fuse(graph: Graph, *, long_rows: bool = True) -> Fusion:
    """The groups of `graph`, in execution order. long_rows: whether the scheduler cuts row programs
    over few long rows into launches whose tasks share the rows."""
    return _Fuser(graph, long_rows=long_rows).run()
