"""Which values of a Graph have memory, before groups are formed.

Results, what equations with a kernel of their own read, and values that are dearer to compute again
where they are read than to store. All else is computed where it is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from pyc.frozen import frozen
from pyc.ir.graph import Eqn, Graph, Value, has_effect
from pyc.ir.op import Kind
from pyc.passes.fusion import Decision
from pyc.passes.reads import Index, Read, Walker, inlines, units_dropped
from pyc.passes.sums import Sum
from pyc.passes.work import Work, cost
from pyc.reasons import Reason

WORK_LIMIT = 512
"""Instructions per element above which a value is stored, for a kernel of its own."""
DEPTH_LIMIT = 96
"""Equations inlined in one chain of index maps, a bound on recursion."""
SHARED_LIMIT = 48
"""Instructions per element of two kernels, where one would be too large, that are worth repeating:
a store, a load and what they take of the caches."""
REPEAT_LIMIT = 24
"""Instructions per element worth repeating to save storing and loading a value."""
GATHER_COST = 4
"""Instructions that an array beside the first takes more, where an element is gathered: each waits
for a line of its own from farther caches."""
SCATTER_LIMIT = 12
"""Instructions per element that a scatter does one after the other."""

JOINS = ("concatenate", "overlay")
JOIN_LIMIT = 8
"""The same of these: each reader has code for each of their parts."""
PART_LIMIT = 8
"""Instructions per element of a part of a join up to which it is computed where it stands, though
all of the join's elements may have to choose: a kernel of its own costs more."""
FEW_PARTS = 4
"""Parts of such a join at most: loops are cut at few places."""


@frozen(eq=False)
class Stored:
    """live: equations that something needs; values: what is stored; cut: what is because kernels
    would be too large; work: what computing a value takes from what is stored; decisions: why;
    shifted: updates whose new elements read other elements of what they replace."""

    live: set[Eqn]
    values: set[Value]
    cut: set[Value]
    work: dict[Value, Work]
    decisions: list[Decision]
    shifted: set[Eqn]


class _Chooser:
    def __init__(
        self, graph: Graph, walker: Walker, sums: Sequence[Sum], *, in_scatters: bool
    ) -> None:
        self.graph = graph
        self.sums = sums
        self.in_scatters = in_scatters
        self.walker = walker
        self.number = {e: k for k, e in enumerate(graph.eqns)}
        self.decisions: list[Decision] = []
        self.stored: set[Value] = set()
        self.cut: set[Value] = set()
        self.work: dict[Value, Work] = {}
        self.shifted: set[Eqn] = set()

    def run(self) -> Stored:
        live = self._live()
        self._choose_stored(live)
        self._store_for_scatters(live)
        self._store_for_updates(live)
        return Stored(live, self.stored, self.cut, self.work, self.decisions, self.shifted)

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
            number = self.number[self.walker.producer[value]]
            self.decisions.append(Decision(reason, number, details))

    def _choose_stored(self, live: set[Eqn]) -> None:
        """Marks results, operands of opaque equations, and values dearer to repeat than to store.

        `self.work` is what a value takes from what is stored, `depth` the index maps in a row."""
        for r in self.graph.results:
            self._store(r)
        for e in self.graph.eqns:
            if e.op.effect:
                for out in e.outs:
                    self._store(out)
        for s in self.sums:
            for value in (*s.operands, s.total):
                self._store(self.walker.array_of(value) if value is not s.total else value)
        within = {e for s in self.sums for e in (*s.products, *s.additions)}
        parts = self._parts_of_joins()
        uses: dict[Value, set[Any]] = {}
        scale: dict[Value, float] = {}
        elsewhere: dict[Value, float] = {}
        gathered: dict[Value, list[float]] = {}
        for e in self.graph.eqns:
            if e not in live or e in within:
                continue
            arrays = dict(zip(e.args, self.walker.arrays_of(e), strict=True))
            for a in e.args:
                if e.op.kind is Kind.INDEX and e.op.in_place is not None:
                    if a is e.args[0]:
                        self._store(a)
                elif e.op.kind is Kind.INDEX:
                    uses.setdefault(a, set()).add(e)
                    ratio = prod(e.outs[0].shape) / max(prod(a.shape), 1)
                    if a is e.args[0] and len(e.args) > 1 and e.op.name not in JOINS:
                        gathered.setdefault(a, []).append(ratio)
                    ratio *= max(len(parts.get(e.outs[0], ())), 1)
                    scale[a] = scale.get(a, 0.0) + ratio
                    if e.op.name in JOINS and len(e.args) <= FEW_PARTS:
                        elsewhere[a] = elsewhere.get(a, 0.0) + max(ratio - 1.0, 0.0)
                elif a is not e.args[0] and self._takes(e, a):
                    uses.setdefault(a, set()).add(e)
                    scale[a] = scale.get(a, 0.0) + 1.0
                elif e.op.kind in (Kind.POINTWISE, Kind.REDUCE):
                    if "same" not in uses.setdefault(a, set()):
                        uses[a].add("same")
                        scale[a] = scale.get(a, 0.0) + 1.0
                else:
                    self._store(arrays[a])
        per_row: set[Value] = set()  # values that follow from a reduction: one per row, hoisted
        again = self._in_other_rows(live)
        reading: dict[Value, list[Eqn]] = {}
        for e in self.graph.eqns:
            if e in live:
                for a in dict.fromkeys(e.args):
                    reading.setdefault(a, []).append(e)
        readers = {a: len(found) for a, found in reading.items()}
        depth: dict[Value, int] = {}
        # Values that something is checked for where they are computed, in the order of the Graph.
        risky: dict[Value, None] = {}
        last = {a: self.number[e] for e in self.graph.eqns if e in live for a in e.args}
        for e in self.graph.eqns:
            if has_effect(e):
                for a in risky:
                    if last.get(a, -1) > self.number[e]:  # else nothing computes it behind `e`
                        self._store(a, Reason.FUSION_ORDER, "it can fail, and a check follows")
            if e not in live or not inlines(e):
                continue
            for a in dict.fromkeys(e.args):
                if a in risky and _reads_part(e, a):
                    self._store(a, Reason.FUSION_ORDER, "all of its elements are checked")
            args = [a for a in dict.fromkeys(e.args) if a not in self.stored]
            if e.op.fails is not None or any(a in risky for a in args):
                risky.update(dict.fromkeys(e.outs))
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
                    self._store_shared(found.members, reading)
                    continue
                times = scale.get(out, 1.0)
                if work <= PART_LIMIT:
                    times -= elsewhere.get(out, 0.0)
                if len(uses.get(out, ())) > 1 or times > 1.5:
                    ratios = gathered.get(out, ())
                    if ratios:
                        work += GATHER_COST * max(self._arrays_of(found) - 1, 0)
                    if out in per_row and out not in again:
                        times = len(uses.get(out, ())) + sum(ratios) - len(ratios)
                    extra = work * (times - 1.0)
                    limit = JOIN_LIMIT if e.op.name in JOINS else REPEAT_LIMIT
                    if extra > limit and prod(out.shape) > 1:
                        self._store(
                            out,
                            Reason.FUSION_EXPENSIVE_PRODUCER,
                            f"inlining would repeat {extra:.0f} instructions per element",
                        )

    @staticmethod
    def _arrays_of(work: Work) -> int:
        """How many arrays are read to compute an element."""
        made = {out for e in work.members for out in e.outs}
        read = {a for e in work.members for a in e.args} - made
        return sum(prod(a.shape) > 1 for a in read)

    def _store_shared(self, members: set[Eqn], readers: Mapping[Value, Sequence[Eqn]]) -> None:
        """Stores what a kernel of these equations computes and another would compute again, but for
        what that one computes for other values too."""
        needed: dict[Eqn, set[Eqn]] = {}
        for e in sorted(members, key=self.number.__getitem__, reverse=True):
            elsewhere = any(r not in members for out in e.outs for r in readers.get(out, ()))
            if elsewhere and not any(out in self.stored for out in e.outs):
                needed[e] = self._below(e, members)
        by = Counter(e for below in needed.values() for e in below)
        for e, below in needed.items():
            again = sum(cost(x) for x in below if by[x] == 1)
            if again > SHARED_LIMIT:
                by.subtract(below)
                details = f"another kernel would repeat {again} instructions per element"
                for out in e.outs:
                    self._store(out, Reason.FUSION_EXPENSIVE_PRODUCER, details)
                    self.work[out] = Work(set(below), sum(map(cost, below)))

    def _below(self, eqn: Eqn, members: set[Eqn]) -> set[Eqn]:
        """The equation and those that it needs, of these."""
        found: set[Eqn] = set()
        stack = [eqn]
        while stack:
            e = stack.pop()
            if e in members and e not in found:
                found.add(e)
                stack += [self.walker.producer[a] for a in e.args if a in self.walker.producer]
        return found

    def _parts_of_joins(self) -> dict[Value, set[tuple[Eqn, int]]]:
        """The parts of concatenations in which a value is computed, each time anew, through
        element-wise operations: `concatenate([a + b, a - b])` computes `a` twice."""
        found: dict[Value, set[tuple[Eqn, int]]] = {}
        for e in reversed(self.graph.eqns):
            if e.op.name == "concatenate":
                for slot, a in enumerate(e.args):
                    found.setdefault(a, set()).add((e, slot))
            elif e.op.kind is Kind.POINTWISE:
                for a in e.args:
                    for out in e.outs:
                        if out in found and a.shape == out.shape:
                            found.setdefault(a, set()).update(found[out])
        return found

    def _in_other_rows(self, live: set[Eqn]) -> set[Value]:
        """Values that are spread over an axis that a reduction keeps, while it runs over one of
        theirs: each of its rows would compute them anew."""
        reduced: dict[Value, set[int]] = {}
        found: set[Value] = set()
        for e in reversed(self.graph.eqns):
            if e not in live:
                continue
            if e.op.kind is Kind.REDUCE:
                for a in e.args:
                    reduced.setdefault(a, set()).update(e.params["axes"])
            elif e.op.kind is Kind.POINTWISE:
                axes = set().union(*(reduced.get(out, ()) for out in e.outs))
                for a in e.args if axes else ():
                    reduced.setdefault(a, set()).update(axes)
            elif e.op.name == "broadcast" and e.out in reduced:
                (a,) = e.args
                own = (*(1,) * (e.out.type.rank - a.type.rank), *a.shape)
                theirs = {k for k, d in enumerate(own) if d != 1}
                others = {k for k, d in enumerate(e.out.shape) if d != 1} - theirs
                if theirs & reduced[e.out] and others - reduced[e.out]:
                    found.add(a)
        return found

    def _takes(self, e: Eqn, operand: Value) -> bool:
        """Whether a scatter may compute an operand where it stands: indices once for what they
        place."""
        if not self.in_scatters or e.op.scattered is None:
            return False
        return operand is e.args[1] or not e.params["position"]

    def _store_for_scatters(self, live: set[Eqn]) -> None:
        """Operands of a scatter are stored first if computing them takes long, which a kernel of
        their own does in vectors, or needs the memory being written."""
        for e in self.graph.eqns:
            if e not in live or not self.in_scatters or e.op.scattered is None:
                continue
            for value, at in self.walker.scatter_operands(e):
                if self.walker.has_memory(value, self.stored):
                    continue
                if self.work[value].total > SCATTER_LIMIT:
                    self._store(value)
                elif any(r.value is e.args[0] for r in self.walker.reads(value, at, self.stored)):
                    details = "it reads what it replaces"
                    self._store(value, Reason.MEMORY_UPDATE_READS_OPERAND, details)

    def _store_for_updates(self, live: set[Eqn]) -> None:
        """New elements of an update, and where they go, are stored first if computing them needs
        the memory being written; but each new element may need the one that it replaces."""
        for e in self.graph.eqns:
            if e not in live or e.op.in_place is None or e.op.kind is not Kind.INDEX:
                continue
            domain = units_dropped(e.args[1].shape)
            target = self.walker.update_target(e, domain)
            for value, at in self.walker.update_operands(e, domain):
                if self.walker.has_memory(value, self.stored):
                    continue
                replaced = target if value is e.args[1] else None
                reads = self.walker.reads(value, at, self.stored)
                if any(r.value is e.args[0] and not _stands_at(r, replaced) for r in reads):
                    self.shifted.add(e)
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


def _stands_at(read: Read, index: Index | None) -> bool:
    return index is not None and all(a is b for a, b in zip(read.index, index, strict=True))


def _reads_part(eqn: Eqn, value: Value) -> bool:
    """Whether an equation may read some elements of a value only: fewer, or those that indices
    name."""
    if eqn.op.kind is not Kind.INDEX or value is not eqn.args[0]:
        return False
    return len(eqn.args) > 1 or eqn.outs[0].type.size < value.type.size


def choose_stored(
    graph: Graph, walker: Walker, sums: Sequence[Sum] = (), *, in_scatters: bool
) -> Stored:
    """The values of `graph` that have memory. walker: of its reads; sums: of products, each in a
    kernel of its own; in_scatters: scatters compute their operands where they stand."""
    return _Chooser(graph, walker, sums, in_scatters=in_scatters).run()
