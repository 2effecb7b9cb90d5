"""From a Graph to something that runs: the whole pipeline as functions that read as a list.

    trace's Graph ── optimise ──▶ Graph ── plan ──▶ Plan ── compile_plan ──▶ Code ── load ──▶ native

`lower_graph` does the first two, `Lowered.compile` the rest, through the cache: the key document is
the traced Graph's text, the options that affect code, and the versions of all that makes it; what
the cache holds is the object code and the few facts that running it needs, so a process that finds
it loads no compiler.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from pyc import backends, cache, config
from pyc.backends.base import Code
from pyc.backends.cpu import Cpu, CpuExecutable
from pyc.backends.host import host_target
from pyc.errors import ArgumentError, OutOfMemoryError, format_place, raises_for_the_program
from pyc.fingerprint import Document, key_of, versions
from pyc.forks import compiling, load, may_wait
from pyc.frozen import frozen, replace
from pyc.ir import dtype as dt
from pyc.ir.expr import Apply, postorder
from pyc.ir.graph import Eqn, Graph, subgraphs
from pyc.ir.loops import While, expressions, walk
from pyc.ir.plan import (
    ADDRESSABLE_BYTES,
    CANCELLED,
    NO_MEMORY,
    Loop,
    Place,
    Plan,
    PlanBuffer,
    Site,
    walk_steps,
)
from pyc.ir.target import Target
from pyc.ir.text_graph import print_graph
from pyc.ir.types import ArrayType
from pyc.out_of_memory import Demand, out_of_memory
from pyc.runtime import call, pool
from pyc.runtime.specialisation import NativeProgram, Result, Specialisation

if TYPE_CHECKING:
    from pyc.passes.fuse import Decision
    from pyc.passes.memory import Made, Planned
    from pyc.runtime.host_calls import Answered

Array = np.ndarray[Any, Any]
STAGES = ("traced", "graph", "logical", "kernels", "plan", "decisions")
"""The levels of a `Lowered`, and why they are what they are."""
RELEASE_BYTES = 1 << 16
"""Bytes of arguments and results from which a call (some 10 us) lets other Python threads run."""
_LIBRARIES = ("llvmlite",)
"""Distributions whose version decides the code."""


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
    ) -> None:
        """name, arguments: of the function and its parameters, for reports; see `lower_graph`."""
        self.traced = traced
        self.target = target
        self.options = options
        self.name = name
        self.arguments = tuple(arguments)
        self.timings: dict[str, float] = {}
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
                self._graph = optimise(self.traced, self.timings, check=check)
        return self._graph

    @property
    def planned(self) -> Planned:
        """The Plan with its decisions."""
        if self._planned is not None:
            return self._planned
        graph = self.graph
        check = config.current().debug
        with compiling:
            start = perf_counter()
            found: Planned = backends.compiler().plan(
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
        places = [e.loc for e in _equations(self.graph)]
        return out_of_memory(self.name, demand, why, places, plan)

    @property
    def donated(self) -> tuple[int, ...]:
        """The numbers of the parameters that the caller gives up."""
        return tuple(self.options.get("donated", ()))

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
                "versions": versions(_LIBRARIES),
            }
        return self._document

    @property
    def key(self) -> str:
        """The key of the cache entry."""
        return key_of(self.key_document)

    @property
    def target_facts(self) -> Document:
        """The facts of the target that the code relies on."""
        return {"target": self.target.id, "features": self.target.features}

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
        equations = _equations(self.graph)
        lines = []
        for d in self.decisions:
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
        sizes = [
            sum(
                isinstance(e, Apply)
                for e in postorder([r for s in walk(k.body) for r in expressions(s)])
            )
            for k in self.planned.logical
        ]
        return CostAnalysis(len(self.kernels), moved, max(sizes, default=0))

    def compile(self) -> Compiled:
        """Native code, from the cache or made now."""
        key = key_of({"document": self.key_document, "facts": self.target_facts})
        loaded = cache.memory.get(key, self.name)
        if loaded is None:
            loaded = _Loaded(_Program.of_payload(self._payload()))
            cache.memory.put(key, loaded, len(loaded.program.code.object), self.name)
        return Compiled(self, loaded)

    def _payload(self) -> Document:
        return cache.obtain(
            self.key_document,
            self.target_facts,
            lambda: self.program().payload(),
            self.name,
            self.arguments,
            wait=may_wait(),
        )

    def program(self) -> _Program:
        """The program, compiled now."""
        plan = self.plan
        with compiling:
            before = perf_counter()
            code = backends.compiler().compile_plan(plan, self.target)
            self.timings["codegen"] = perf_counter() - before
        return _Program(
            *(code, _skeleton(plan), self.graph.types, _is_long(plan)),
            *(plan.taken(), self.planned.unused, self.planned.largest),
        )


def host_calls() -> Any:
    """`pyc.runtime.host_calls`, which few programs need."""
    return load("pyc.runtime.host_calls")


def _skeleton(program: Plan) -> Plan:
    """The part of a Plan that running it needs: no steps, no kernels."""
    arguments = tuple(b for b in program.buffers if b.place in (Place.ARGUMENT, Place.RESULT))
    return replace(program, kernels=(), buffers=arguments, steps=(), arguments=(), results=())


def _is_long(program: Plan) -> bool:
    """Whether a call is long enough to release the interpreter lock for it."""
    moved = sum(b.nbytes for b in program.buffers if b.place is not Place.CONSTANT)
    if moved >= RELEASE_BYTES or any(isinstance(s, Loop) for s in walk_steps(program.steps)):
        return True
    return any(isinstance(s, While) for k in program.kernels for s in walk(k.body))


@frozen(eq=False)
class _Program:
    """A compiled program. results: the types of the results; release: run without the lock; taken:
    see `Plan`; unused: donated parameters whose memory is not used, and why; largest: see
    `Planned`."""

    code: Code
    plan: Plan
    results: tuple[ArrayType, ...]
    release: bool
    taken: dict[int, int]
    unused: tuple[tuple[int, str], ...]
    largest: tuple[tuple[int, int], ...]

    def payload(self) -> Document:
        """What the cache keeps."""
        p = self.plan
        return {
            "object": self.code.object,
            "externals": list(self.code.externals),
            "parallel": self.code.parallel,
            "llvm": self.code.llvm,
            "buffers": [[b.nbytes, b.place.value, b.index, b.scalar] for b in p.buffers],
            "peak": p.peak,
            "lower_bound": p.lower_bound,
            "constants": p.constants,
            "sites": [[s.rule, s.equation] for s in p.sites],
            "results": [[list(t.shape), t.dtype.short] for t in self.results],
            "release": self.release,
            "taken": [list(pair) for pair in self.taken.items()],
            "unused": [list(pair) for pair in self.unused],
            "largest": [list(pair) for pair in self.largest],
        }

    @classmethod
    def of_payload(cls, payload: Document) -> _Program:
        """The program that a cache entry holds."""
        buffers = tuple(
            PlanBuffer(nbytes, Place(place), index, scalar)
            for nbytes, place, index, scalar in payload["buffers"]
        )
        program = Plan(
            (),
            buffers,
            (),
            (),
            (),
            payload["peak"],
            payload["lower_bound"],
            payload["constants"],
            tuple(Site(rule, equation) for rule, equation in payload["sites"]),
        )
        code = Code(
            payload["object"], tuple(payload["externals"]), payload["parallel"], payload["llvm"]
        )
        types = tuple(ArrayType(tuple(s), dt.parse(d)) for s, d in payload["results"])
        taken = dict(payload["taken"])
        unused = tuple((number, why) for number, why in payload["unused"])
        largest = tuple((nbytes, equation) for nbytes, equation in payload["largest"])
        return cls(code, program, types, payload["release"], taken, unused, largest)


class _Loaded:
    """A program mapped into this process."""

    def __init__(self, program: _Program) -> None:
        self.program = program
        routines = host_calls().ROUTINES if program.code.externals else None
        self.executable = Cpu(routines).load(program.code, program.plan)


class Compiled:
    """Native code of one Graph: call it with one array for each parameter."""

    device = None
    """Where its arrays are: on the host."""

    def __init__(self, lowered: Lowered, loaded: _Loaded) -> None:
        self.lowered = lowered
        self._loaded = loaded
        self.results = loaded.program.results
        self.plan = loaded.program.plan
        self.taken = loaded.program.taken
        """The argument whose memory each of some results has, by number."""
        self.calls = host_calls().calls_of(lowered.traced) if self.calls_back else {}
        """The calls back into Python, by number."""
        self.unused = loaded.program.unused
        """Donated arguments whose memory is not used, and why."""

    @property
    def executable(self) -> CpuExecutable:
        """The mapped code, its entry address and its constants."""
        return self._loaded.executable

    @property
    def calls_back(self) -> bool:
        """Whether it calls Python functions."""
        return bool(self._loaded.program.code.externals)

    @property
    def release(self) -> bool:
        """Whether it runs without the interpreter's lock."""
        return self._loaded.program.release

    @property
    def parallel(self) -> bool:
        """Whether it shares work with the worker pool."""
        return self._loaded.program.code.parallel

    @property
    def key(self) -> str:
        """The key of the cache entry."""
        return key_of(self.lowered.key_document)

    @property
    def llvm(self) -> str:
        """The LLVM text."""
        return self._loaded.program.code.llvm

    @property
    def asm(self) -> str:
        """The machine code as assembly."""
        with compiling:
            code = self._loaded.program.code
            return str(backends.compiler().assembly(code, self.lowered.target))

    @property
    def timings(self) -> dict[str, float]:
        """Seconds by pass, of what was run in this process."""
        return dict(self.lowered.timings)

    def as_text(self, stage: str = "llvm") -> str:
        """The text of one level, "llvm" and "asm" included."""
        if stage in ("llvm", "asm"):
            return self.llvm if stage == "llvm" else self.asm
        return self.lowered.as_text(stage)

    def memory_analysis(self) -> MemoryAnalysis:
        """See `Lowered.memory_analysis`."""
        return self.lowered.memory_analysis()

    def cost_analysis(self) -> CostAnalysis:
        """See `Lowered.cost_analysis`."""
        return self.lowered.cost_analysis()

    def __call__(self, *arguments: Array) -> tuple[Array, ...]:
        """The results: fresh arrays, or donated arguments. arguments: native, aligned, C-ordered
        arrays (rank 0 for scalars) of the Graph's parameter types; those that are `taken` are
        writable and share memory with nothing. Raises what a failed check stands for, and
        OutOfMemoryError."""
        if self.calls_back:
            with host_calls().answering(self.calls) as answered:
                return self._run(arguments, answered)
        return self._run(arguments)

    @raises_for_the_program
    def _run(
        self, arguments: Sequence[Array], answered: Answered | None = None
    ) -> tuple[Array, ...]:
        try:
            outcome, results = self._started(arguments)
        except MemoryError:
            raise self.out_of_memory() from None
        if answered is not None and answered.error is not None:
            raise answered.error
        if outcome.code == CANCELLED:
            raise KeyboardInterrupt
        if outcome.code:
            raise self.failure(outcome.site, outcome.value)
        return results

    def _started(self, arguments: Sequence[Array]) -> tuple[call.Outcome, tuple[Array, ...]]:
        """What became of a call, and its results."""
        results = tuple(
            arguments[self.taken[k]] if k in self.taken else pool.empty(t.shape, t.dtype.numpy)
            for k, t in enumerate(self.results)
        )
        outcome = call.run(
            self.executable.address,
            [a[()] if a.ndim == 0 else a for a in arguments],
            results,
            arena_bytes=self.plan.peak,
            constants=self.executable.constants.ctypes.data,
            externals=self.executable.externals.ctypes.data,
            release=self.release,
            parallel=self.parallel,
        )
        return outcome, results

    def failure(self, site: int, value: int) -> Exception:
        """The error that a failed site stands for, at the user's line."""
        return failure_of(self.lowered.graph, self.plan.sites[site], value)

    def native_program(self, numbers: Collection[int], fixed: Mapping[int, Any]) -> NativeProgram:
        """What native calls run. numbers, fixed: of programs on a GPU."""
        executable = self.executable
        return NativeProgram(
            entry=executable.address,
            results=tuple(
                Result(t.dtype, t.shape, self.taken.get(k)) for k, t in enumerate(self.results)
            ),
            failed=failure(self),
            arena_bytes=self.plan.peak,
            constants=executable.constants.ctypes.data,
            externals=executable.externals.ctypes.data,
            release=self.release,
            parallel=self.parallel,
            keep=self,
        )

    def out_of_memory(self) -> OutOfMemoryError:
        """The error of a call whose memory could not be allocated."""
        found = self._loaded.program
        demand = Demand(self.plan.peak, self.results, self.taken, found.largest)
        return self.lowered.out_of_memory(demand, "which could not be allocated", self.plan)


def failure(compiled: Any) -> Callable[[Specialisation, int, int, int], Any]:
    """What a native call of a program does if its entry does not return 0: it raises."""

    @raises_for_the_program
    def failed(specialisation: Specialisation, code: int, site: int, value: int) -> Any:
        if code == CANCELLED:
            raise KeyboardInterrupt
        if code == NO_MEMORY:
            raise compiled.out_of_memory()
        raise compiled.failure(site, value)

    return failed


def failure_of(graph: Graph, site: Site, value: int) -> Exception:
    """The error of a failed site of an optimised Graph's Plan, at the user's line."""
    return _equations(graph)[site.equation].failure(value)


def _equations(graph: Graph) -> list[Eqn]:
    """Equations in the numbering of `passes/memory`: text order, nested Graphs after their own."""
    found: list[Eqn] = []
    for e in graph.eqns:
        found.append(e)
        for inner in subgraphs(e):
            found += _equations(inner)
    return found


def lower_graph(
    graph: Graph,
    *,
    target: Target | None = None,
    options: Document | None = None,
    name: str = "",
    arguments: Sequence[str] = (),
) -> Lowered:
    """The first half of the pipeline. target: default this machine's, or PYC_TARGET; arguments: the
    names of the Graph's parameters, for reports."""
    target = target or host_target(config.current().target)
    lowered = Lowered(graph, target, options or {}, name, arguments)
    dump(lowered, STAGES)
    return lowered


def compile_graph(
    graph: Graph,
    *,
    target: Target | None = None,
    options: Document | None = None,
    name: str = "",
    arguments: Sequence[str] = (),
) -> Compiled:
    """Native code of a Graph. options: what affects code, for the key; name and arguments (names of
    parameters): for statistics and reports."""
    lowered = lower_graph(graph, target=target, options=options, name=name, arguments=arguments)
    compiled = lowered.compile()
    dump(compiled, ("llvm",))
    return compiled


def dump(program: Lowered | Compiled, stages: Sequence[str]) -> None:
    """Writes the text of stages to files `<function>-<key>.<stage>.txt` of the `dump_dir` setting,
    if there is one. OSError: they cannot be written."""
    if not config.current().dump_dir:
        return
    folder = os.path.expanduser(config.current().dump_dir)
    os.makedirs(folder, exist_ok=True)
    name = program.lowered.name if isinstance(program, Compiled) else program.name
    stem = f"{re.sub(r'[^A-Za-z0-9_.]+', '_', name)}-{program.key[:16]}"
    for stage in stages:
        with open(os.path.join(folder, f"{stem}.{stage}.txt"), "w") as file:
            file.write(program.as_text(stage))
