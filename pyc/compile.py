"""From a Graph to something that runs: the second half of the pipeline, through the cache.

    Lowered ── compile_plan ──▶ Code ── load ──▶ native

The key document is the traced Graph's text, the options that affect code, and the versions of all
that makes it; what the cache holds is the object code and the few facts that running it needs, so a
process that finds it loads no compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from pyc import backends, cache, collector
from pyc.backends.base import Code
from pyc.backends.cpu import Cpu, CpuExecutable
from pyc.errors import OutOfMemoryError, raises_for_the_program
from pyc.fingerprint import Document, key_of
from pyc.forks import compiling, load, may_wait
from pyc.frozen import frozen, replace
from pyc.ir import dtype as dt
from pyc.ir.graph import Graph
from pyc.ir.loops import While, walk
from pyc.ir.ops.host import ROUTINE
from pyc.ir.plan import (
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
from pyc.ir.types import ArrayType
from pyc.lowered import CostAnalysis, Lowered, MemoryAnalysis, dump, failure_of, lower_graph
from pyc.out_of_memory import Demand
from pyc.runtime import call, pool
from pyc.runtime.specialisation import NativeProgram, Result, Specialisation

if TYPE_CHECKING:
    from pyc.runtime.host_calls import Answered

Array = np.ndarray[Any, Any]
RELEASE_BYTES = 1 << 16
"""Bytes of arguments and results from which a call (some 10 us) lets other Python threads run."""


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
class Program:
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
            "entry": self.code.entry,
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
            "given": p.given,
        }

    @classmethod
    def of_payload(cls, payload: Document) -> Program:
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
            given=payload["given"],
        )
        code = Code(
            *(payload["object"], tuple(payload["externals"]), payload["parallel"]),
            *(payload["llvm"], payload["entry"]),
        )
        types = tuple(ArrayType(tuple(s), dt.parse(d)) for s, d in payload["results"])
        taken = dict(payload["taken"])
        unused = tuple((number, why) for number, why in payload["unused"])
        largest = tuple((nbytes, equation) for nbytes, equation in payload["largest"])
        return cls(code, program, types, payload["release"], taken, unused, largest)


@frozen(eq=False)
class _Loaded:
    """A program mapped into this process."""

    program: Program
    executable: CpuExecutable


def _loaded(program: Program) -> _Loaded:
    """The program, mapped."""
    routines = {name: address(name) for name in program.code.externals}
    return _Loaded(program, Cpu(routines).load(program.code, program.plan))


def address(routine: str) -> int:
    """The address of an external routine."""
    if routine == ROUTINE:
        return int(host_calls().ROUTINES[routine])
    return int(load("pyc.backends.lapack").address(routine))


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
        return ROUTINE in self._loaded.program.code.externals

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

    def bound(self, sizes: Sequence[int], results: tuple[ArrayType, ...], read: int) -> Compiled:
        """A program for arrays of any size, for sizes. results: the types of its results then;
        read: bytes of its arguments."""
        moved = read + sum(t.nbytes for t in results)
        own = self._loaded.program
        release = own.release or moved >= RELEASE_BYTES
        program = replace(own, results=results, release=release)
        executable = self.executable.bound(sizes)
        return Compiled(self.lowered, _Loaded(program, executable))

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


def compile_lowered(lowered: Lowered) -> Compiled:
    """Native code, from the cache or made now."""
    key = key_of({"document": lowered.key_document, "facts": lowered.target_facts})
    loaded = cache.memory.get(key, lowered.name)
    if loaded is None:
        payload = cache.obtain(
            lowered.key_document,
            lowered.target_facts,
            lambda: program_of(lowered).payload(),
            lowered.name,
            lowered.arguments,
            wait=may_wait(),
        )
        loaded = _loaded(Program.of_payload(payload))
        cache.memory.put(key, loaded, len(loaded.program.code.object), lowered.name)
    return Compiled(lowered, loaded)


def program_of(lowered: Lowered) -> Program:
    """The program, compiled now."""
    with collector.seldom():
        plan = lowered.plan
        with compiling:
            before = perf_counter()
            code = backends.compiler().compile_plan(plan, lowered.target)
            lowered.timings["codegen"] = perf_counter() - before
    return Program(
        *(code, _skeleton(plan), lowered.graph.types, _is_long(plan)),
        *(plan.taken(), lowered.planned.unused, lowered.planned.largest),
    )


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
    found = compile_lowered(lowered)
    dump(found, name, ("llvm",))
    return found
