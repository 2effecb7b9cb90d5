"""The first half of the pipeline: an optimised Graph and its Plan for one target.

    trace's Graph ── optimise ──▶ Graph ── plan ──▶ Plan

`Lowered` does each step when it is asked for, knows the document that the cache key is made of, and
shows every level as text. `compile.py` makes native code of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pyc import backends, cache, config
from pyc.backends.host import host_target
from pyc.errors import ArgumentError, OutOfMemoryError, format_place
from pyc.fingerprint import Document, key_of, versions
from pyc.forks import compiling, load
from pyc.frozen import frozen
from pyc.ir.expr import postorder
from pyc.ir.graph import Graph, Location, equations_of
from pyc.ir.loops import expressions, walk
from pyc.ir.op import LINEAR_ALGEBRA
from pyc.ir.plan import ADDRESSABLE_BYTES, Place, Plan, Site
from pyc.ir.sizes import has_any_size
from pyc.ir.target import Target
from pyc.ir.text_graph import print_graph
from pyc.out_of_memory import Demand, out_of_memory
from pyc.reasons import Reason

if TYPE_CHECKING:
    from pyc.passes.fusion import Decision
    from pyc.passes.memory import Made, Planned

STAGES = ("traced", "graph", "logical", "kernels", "plan", "decisions")
"""The levels of a `Lowered`, and why they are what they are."""
_LIBRARIES = ("llvmlite",)
"""Distributions whose version decides the code."""


def has_linear_algebra(graph: Graph) -> bool:
    """Whether a Graph has an op that is a routine of LAPACK."""
    return any(e.op.name in LINEAR_ALGEBRA for e in equations_of(graph))


@frozen()
class MemoryAnalysis:
    """Bytes of one call. peak: the arena; lower_bound: the most bytes alive at once; requested: the
    sum of all arena buffers; largest: the largest of them; reused: requested less peak; arguments,
    results, constants: outside the arena; copies: whole-buffer copies in the Plan; donated: bytes
    of the results that lie in donated arguments, which are counted there."""

    peak: int
    lower_bound: int
    requested: int
    largest: int
    arguments: int
    results: int
    constants: int
    copies: int
    donated: int = 0

    @property
    def reused(self) -> int:
        """Bytes that would be needed more if no buffer shared memory."""
        return max(self.requested - self.peak, 0)


@frozen()
class CostAnalysis:
    """Per call: kernels launched, bytes that kernels must at least move (each buffer once), and
    instructions per element of the largest kernel body."""

    kernels: int
    bytes_moved: int
    instructions: int


class Lowered:
    """An optimised Graph and its Plan for one target; nothing is compiled yet."""

    def __init__(
        self,
        traced: Graph,
        target: Target,
        options: Document,
        name: str,
        arguments: Sequence[str] = (),
        facts: Document | None = None,
    ) -> None:
        """name, arguments: of the function and its parameters, for reports; see `lower_graph`."""
        self.traced = traced
        self.target = target
        self.options = options
        self.name = name
        self.arguments = tuple(arguments)
        self._facts = facts
        self.timings: dict[str, float] = {}
        self.relaxed: list[tuple[str, Location | None]] = []
        """What `fastmath` changed, with the user's lines."""
        self.trail: list[Made] | None = None
        """For reports: gets what each group of equations became, if set before it is planned."""
        # Not `cached_property`: in Python 3.11 it has locks, which a fork would leave held.
        self._graph: Graph | None = None
        self._planned: Planned | None = None
        self._document: Document | None = None

    @property
    def graph(self) -> Graph:
        """The Graph after all passes."""
        if self._graph is None:
            check = config.current().debug
            with compiling:
                optimise = backends.compiler().optimise
                relaxed = self.relaxed if self.options.get("fastmath") else None
                found = optimise(self.traced, self.timings, check=check, relaxed=relaxed)
                # What is known of a result for all sizes may be no kernel: the trace always is.
                keep = self.any_size and not has_any_size(found)
                self._graph = self.traced if keep else found
        return self._graph

    @property
    def planned(self) -> Planned:
        """The Plan with its decisions."""
        if self._planned is not None:
            return self._planned
        graph = self.graph
        check = config.current().debug
        found: Planned
        with compiling:
            start = perf_counter()
            compiler = backends.compiler()
            if self.any_size:
                streamed, shared = self.options.get("streamed", False), self.options.get("shared")
                found = compiler.plan_any_size(
                    graph,
                    self.target,
                    streamed=streamed,
                    shared=None if shared is None else compiler.Shares(*shared),
                    check=check,
                )
            else:
                found = compiler.plan(
                    graph, self.target, donated=self.donated, trail=self.trail, check=check
                )
            self.timings["plan"] = perf_counter() - start
        demand = Demand(found.plan.peak, self.graph.types, found.plan.taken(), found.largest)
        if demand.nbytes > ADDRESSABLE_BYTES:
            raise self.out_of_memory(demand, "more than a process can address", found.plan)
        self._planned = found
        return found

    def out_of_memory(self, demand: Demand, why: str, plan: Plan) -> OutOfMemoryError:
        """The error of a program that needs too much memory."""
        places = [e.loc for e in equations_of(self.graph)]
        return out_of_memory(self.name, demand, why, places, plan)

    @property
    def donated(self) -> tuple[int, ...]:
        """The numbers of the parameters that the caller gives up."""
        return tuple(self.options.get("donated", ()))

    @property
    def any_size(self) -> bool:
        """Whether extents stand for sizes that a call brings (`passes/any_size.py`)."""
        return self.options.get("extents") == "any"

    @property
    def plan(self) -> Plan:
        """The steps and buffers."""
        return self.planned.plan

    @property
    def kernels(self) -> tuple[Any, ...]:
        """The scheduled kernels."""
        return self.plan.kernels

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What was fused, stored and copied, each with its reason."""
        return self.planned.decisions

    @property
    def key_document(self) -> Document:
        """What the cache key is made of."""
        if self._document is None:
            self._document = {
                "types": [str(p.type) for p in self.traced.params],
                "graph": print_graph(self.traced),
                "options": self.options,
                "sources": cache.source_digest(),
                "versions": versions(_LIBRARIES + self._lapack),
            }
        return self._document

    @property
    def _lapack(self) -> tuple[str, ...]:
        """The package of the routines that the program calls, if it does."""
        return (load("pyc.ir.ops.linalg").PACKAGE,) if has_linear_algebra(self.traced) else ()

    @property
    def key(self) -> str:
        """The key of the cache entry."""
        return key_of(self.key_document)

    @property
    def target_facts(self) -> Document:
        """The facts of the target that the code relies on."""
        return self._facts or {"target": self.target.id, "features": self.target.features}

    def as_text(self, stage: str = "graph") -> str:
        """The text of one level ("traced", "graph", "logical", "kernels" or "plan"), or of the
        "decisions": for each the user's line, the operation, the reason, and details."""
        if stage == "traced":
            return print_graph(self.traced)
        if stage == "graph":
            return print_graph(self.graph)
        if stage == "decisions":
            return self._decisions_text()
        text = backends.compiler()
        if stage == "logical":
            return "\n".join(map(text.print_kernel, self.planned.logical))
        if stage == "kernels":
            return "\n".join(map(text.print_kernel, self.kernels))
        if stage == "plan":
            return str(text.print_plan(self.plan))
        raise ArgumentError(
            f"{stage!r} is no level of this program",
            fix=f"Its levels are {', '.join(STAGES)}; compiled for a processor also llvm and asm, "
            "for a GPU ptx.",
        )

    def _decisions_text(self) -> str:
        equations = list(equations_of(self.graph))
        decisions, lines = self.decisions, []
        why = Reason.NUMERIC_RELAXED
        for changed, line in dict.fromkeys(self.relaxed):
            at = "" if line is None else f"{format_place(line)}: "
            lines.append(f"{at}{changed}: {why.meaning} [{why.code}]\n")
        for d in decisions:
            eqn = equations[d.equation] if d.equation >= 0 else None
            place = "" if eqn is None or eqn.loc is None else f"{format_place(eqn.loc)}: "
            what = "the program" if eqn is None else eqn.op.name
            details = f": {d.details}" if d.details else ""
            lines.append(f"{place}{what}: {d.reason.meaning} [{d.reason.code}]{details}\n")
        return "".join(lines)

    def memory_analysis(self) -> MemoryAnalysis:
        """Bytes by use; the peak is what a call allocates."""
        by_place = dict.fromkeys(Place, 0)
        sizes = [
            b.nbytes for b in self.plan.buffers if b.place is Place.ARENA and b.last >= b.first
        ]
        for place, _, nbytes in {(b.place, b.index, b.nbytes) for b in self.plan.buffers}:
            by_place[place] += nbytes
        return MemoryAnalysis(
            peak=self.plan.peak,
            lower_bound=self.plan.lower_bound,
            requested=sum(sizes),
            largest=max(sizes, default=0),
            arguments=by_place[Place.ARGUMENT],
            results=by_place[Place.RESULT],
            constants=len(self.plan.constants),
            copies=self.planned.copies,
            donated=sum(self.plan.buffers[self.plan.results[k]].nbytes for k in self.plan.taken()),
        )

    def cost_analysis(self) -> CostAnalysis:
        """Kernels, least bytes moved and instructions."""
        moved = sum(
            int(np.prod([d for d in b.shape if isinstance(d, int)])) * b.dtype.itemsize
            for k in self.kernels
            for b in k.buffers
        )
        size_of = load("pyc.ir.defined").size_of
        sizes = [
            sum(map(size_of, postorder([r for s in walk(k.body) for r in expressions(s)])))
            for k in self.planned.logical
        ]
        return CostAnalysis(len(self.kernels), moved, max(sizes, default=0))


def failure_of(graph: Graph, site: Site, value: int) -> Exception:
    """The error of a failed site of an optimised Graph's Plan, at the user's line."""
    return list(equations_of(graph))[site.equation].failure(value)


def lower_graph(
    graph: Graph,
    *,
    target: Target | None = None,
    options: Document | None = None,
    name: str = "",
    arguments: Sequence[str] = (),
    facts: Document | None = None,
) -> Lowered:
    """The first half of the pipeline. target: default this machine's, or PYC_TARGET; arguments: the
    names of the Graph's parameters, for reports; facts: what the code relies on, if that is not
    what the target says."""
    target = target or host_target(config.current().target)
    lowered = Lowered(graph, target, options or {}, name, arguments, facts)
    dump(lowered, name, STAGES)
    return lowered


class Dumped(Protocol):
    """A program with levels: for its key and the text of each."""

    @property
    def key(self) -> str:
        """The key of the cache entry."""

    def as_text(self, stage: str = ...) -> str:
        """The text of one level."""


def dump(program: Dumped, name: str, stages: Sequence[str]) -> None:
    """Writes the text of stages to files `<function>-<key>.<stage>.txt` of the `dump_dir` setting,
    if there is one. name: of the function. OSError: they cannot be written."""
    if not config.current().dump_dir:
        return
    folder = os.path.expanduser(config.current().dump_dir)
    os.makedirs(folder, exist_ok=True)
    stem = f"{re.sub(r'[^A-Za-z0-9_.]+', '_', name)}-{program.key[:16]}"
    for stage in stages:
        with open(os.path.join(folder, f"{stem}.{stage}.txt"), "w") as file:
            file.write(program.as_text(stage))
