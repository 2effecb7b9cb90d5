"""Programs on a GPU: the second half of the pipeline for a target with blocks.

`GpuCompiled` is to a GPU what `compile.Compiled` is to the CPU: it is called with one array for
each parameter of the Graph. NumPy arguments are copied there and results back; if an argument is a
`pyc.Array`, the results are. Machine code from the driver is kept in the disk cache by the PTX.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from pyc import array_methods, cache  # noqa: F401 - completes the class of the results
from pyc.array import Array, known_type, to_device
from pyc.backends import cuda, nvptx
from pyc.backends.base import SiteFailed
from pyc.backends.cuda_program import CudaProgram
from pyc.backends.verdicts import Checks
from pyc.compile_host import HostStep
from pyc.device import gpu
from pyc.errors import DeviceError, OutOfMemoryError, raises_for_the_program
from pyc.fingerprint import Document
from pyc.forks import compiling, may_wait
from pyc.ir import dtype as dt
from pyc.ir.graph import Graph
from pyc.ir.plan import NO_MEMORY, Plan, Site, bound, launches_of
from pyc.ir.types import ArrayType
from pyc.lowered import Lowered, failure_of, lower_graph
from pyc.out_of_memory import Demand
from pyc.reasons import ON_HOST, record
from pyc.runtime import device_program, host_calls
from pyc.runtime.device_program import DeviceProgram
from pyc.runtime.specialisation import NativeProgram, Result, Specialisation

OLDEST = 80
"""The oldest compute capability that kernels are made for, times ten."""


def load(
    plan: Plan,
    device: cuda.Device,
    assemble: Callable[[str], bytes] = cuda.cubin,
    name: str = "",
) -> tuple[str, CudaProgram]:
    """The PTX of a Plan's kernels, and the Plan on a device, with its steps of the host compiled
    for this processor. assemble: PTX -> machine code; name: for the cache's statistics."""
    device.enter()
    arguments = {s.kernel: len(s.slots) for s in launches_of(plan.steps) if s.host}
    host = {k: HostStep(plan.kernels[k], count, name) for k, count in arguments.items()}
    numbers = [k for k in range(len(plan.kernels)) if k not in host]
    if not numbers:
        return "", CudaProgram(plan, {}, b"", device, host)
    with compiling:
        text, launches = nvptx.module_text([plan.kernels[k] for k in numbers], device.target)
        ptx = nvptx.ptx(text, device.target)
    loaded = dict(zip(numbers, launches, strict=True))
    return ptx, CudaProgram(plan, loaded, assemble(ptx), device, host)


def code_facts(device: cuda.Device) -> Document:
    """What the machine code of a device relies on."""
    return {"target": device.target.id, "driver": device.driver_version}


class GpuCompiled:
    """A Graph compiled for one GPU."""

    def __init__(self, lowered: Lowered, device: cuda.Device) -> None:
        self.lowered = lowered
        self.device = device
        self._name = lowered.name
        self.ptx, self.program = load(lowered.plan, device, self._assembled, self._name)
        self.results = lowered.graph.types
        self.taken = lowered.plan.taken()
        self.unused = lowered.planned.unused
        self._donated = lowered.donated
        self.program.calls = host_calls.calls_of(lowered.traced)
        self.program.answer = host_calls.answer
        self._checks: Checks | None = None
        if self.program.error_bytes:
            self._checks = Checks(
                device, self.program.error_bytes // 8, _failures(lowered.graph, lowered.plan.sites)
            )
        self._outs = [(known_type(t), t.nbytes) for t in self.results]
        self._native: dict[Any, DeviceProgram] = {}
        """What native calls start, by the parameters that come as values and those that stay."""
        for d in lowered.decisions:
            if d.reason in ON_HOST:
                record(d.reason, function=self._name, equation=d.equation, detail=d.details)

    def _assembled(self, ptx: str) -> bytes:
        """Machine code of PTX, from the cache or by the driver."""
        made = cache.obtain(
            {"ptx": ptx},
            code_facts(self.device),
            lambda: {"cubin": cuda.cubin(ptx)},
            self._name,
            wait=may_wait(),
        )
        return bytes(made["cubin"])

    @property
    def key(self) -> str:
        """The key of the traced program."""
        return self.lowered.key

    @property
    def timings(self) -> dict[str, float]:
        """Seconds by pass."""
        return dict(self.lowered.timings)

    def as_text(self, stage: str = "ptx") -> str:
        """The text of one level, "ptx" included."""
        return self.ptx if stage == "ptx" else self.lowered.as_text(stage)

    def memory_analysis(self) -> Any:
        """See `Lowered.memory_analysis`."""
        return self.lowered.memory_analysis()

    def cost_analysis(self) -> Any:
        """See `Lowered.cost_analysis`."""
        return self.lowered.cost_analysis()

    @raises_for_the_program
    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """The results: `Array`s if an argument is one, else NumPy arrays. Donated `Array`s are
        deleted, whether a result has their memory or not."""
        on = self.device
        on.enter()
        stay = any(type(a) is Array for a in arguments)
        inputs = [to_device(a, on) for a in arguments]
        addresses = [a.address for a in inputs]
        given = {k: Array(inputs[k].type, on, inputs[k].surrender()) for k in self._donated}
        try:
            outs = [
                given[self.taken[k]] if k in self.taken else Array(t, on, on.allocate(nbytes))
                for k, (t, nbytes) in enumerate(self._outs)
            ]
            verdict = self._checks.verdict() if self._checks is not None and stay else None
            words = 0 if verdict is None else verdict.address
            with host_calls.answering(self.program.calls):
                self.program.run(addresses, [a.address for a in outs], words)
            if verdict is not None:
                verdict.covers(outs)
        except MemoryError as error:
            raise self._out_of_memory() from error
        except SiteFailed as failed:
            site = self.lowered.plan.sites[failed.site]
            raise failure_of(self.lowered.graph, site, failed.value) from None
        return tuple(outs) if stay else tuple(np.asarray(a) for a in outs)

    def bound(self, sizes: Sequence[int], results: tuple[ArrayType, ...], read: int) -> GpuCompiled:
        """A program for arrays of any size, for sizes. results: the types of its results then;
        read: bytes of its arguments, which do not matter here."""
        plan = bound(self.program.plan, sizes)
        known = {s.kernel: s.known_sizes for s in launches_of(plan.steps)}
        launches = {
            k: nvptx.launch_of(plan.kernels[k], x.name, x.shared_bytes, x.maps, known[k])
            for k, x in self.program.launches.items()
        }
        made = copy(self)
        made.program = self.program.bound(plan, launches)
        made.results = results
        made._outs = [(known_type(t), t.nbytes) for t in results]
        made._native = {}
        return made

    def _out_of_memory(self) -> OutOfMemoryError:
        found = self.lowered.planned
        demand = Demand(found.plan.peak, self.results, self.taken, found.largest)
        why = f"which {self.device.label} could not allocate"
        return self.lowered.out_of_memory(demand, why, found.plan)

    @property
    def calls(self) -> Any:
        """The calls back into Python, by number."""
        return self.program.calls

    @property
    def calls_back(self) -> bool:
        """Whether it calls Python functions."""
        return bool(self.program.calls)

    def native_program(
        self, numbers: Collection[int], fixed: Mapping[int, Array]
    ) -> NativeProgram | str:
        """What native calls run, or why there is nothing. numbers: parameters that come as values;
        fixed: those that are the same array in all of these calls."""
        why = device_program.problem(self.program)
        if why is not None:
            return why
        places = {number: a.address for number, a in fixed.items()}
        key = frozenset(numbers), tuple(places.items())
        if not key[0].isdisjoint(self._donated):
            return "a number is donated"
        ahead = self._ahead()
        if key not in self._native:
            self._native[key] = DeviceProgram(self.program, key[0], places, len(ahead))
        started = self._native[key]
        return NativeProgram(
            entry=started.entry,
            externals=started.address,
            results=(*ahead, *(self._made(k, t) for k, (t, _) in enumerate(self._outs))),
            failed=self._failed,
            parallel=False,
            device=self.device,
            finish=_finish(len(ahead), self._checks is not None) if ahead else None,
            keep=(self, started, *fixed.values()),
        )

    def _ahead(self) -> tuple[Result, ...]:
        """What native calls make besides results: the verdict, if there are checks, and what holds
        the memory of each donated array that no result has, until the call has begun."""
        held = [k for k in self._donated if k not in self.taken.values()]
        types = [(k, self.lowered.graph.params[k].type) for k in held]
        found = [Result(t.dtype, t.shape, k, _taken_over) for k, t in types]
        if self._checks is not None:
            found.insert(0, Result(dt.u64, (), maker=self._checks.verdict))
        return tuple(found)

    def _made(self, number: int, type: ArrayType) -> Result:
        """How a native call makes a result."""
        if number in self.taken:
            return Result(type.dtype, type.shape, self.taken[number], _taken_over)
        on, nbytes = self.device, type.nbytes
        return Result(type.dtype, type.shape, maker=lambda: Array(type, on, on.allocate(nbytes)))

    @raises_for_the_program
    def _failed(self, specialisation: Specialisation, code: int, site: int, value: int) -> Any:
        """What a native call does that the driver has refused: it raises."""
        if code == NO_MEMORY:
            raise self._out_of_memory()
        cuda.check((self.device.driver.CUresult(value),))
        raise AssertionError(f"the driver's status {value} is no failure")


def _taken_over(donated: Array) -> Array:
    """An array with the memory of one that a call is given for good."""
    return Array(donated.type, donated._device, donated.surrender())


def _finish(ahead: int, judged: bool) -> Callable[[tuple[Any, ...]], Sequence[Any]]:
    """What makes the results of a native call of all that it has made. judged: the first of what
    stands ahead of them is their verdict."""

    def finish(made: tuple[Any, ...]) -> Sequence[Any]:
        results = made[ahead:]
        if judged:
            made[0].covers(results)
        return results

    return finish


def _failures(graph: Graph, sites: Sequence[Site]) -> Callable[[int, int], Exception]:
    """What a failed site with its value means."""
    return lambda site, value: failure_of(graph, sites[site], value)


def _usable(device: str) -> cuda.Device:
    """The GPU of a name; DeviceError if there is none, or an older one than pyc has code for."""
    on = gpu(device)
    if on.capability < OLDEST:
        have, need = (f"{c // 10}.{c % 10}" for c in (on.capability, OLDEST))
        raise DeviceError(
            f"{on.name} has compute capability {have}; pyc needs {need} or newer",
            fix='Use another GPU, or leave out `device="cuda"`: the CPU gives the same bits.',
        )
    return on


def lower_cuda(
    graph: Graph,
    *,
    device: str = "cuda",
    options: Document | None = None,
    name: str = "",
    arguments: Sequence[str] = (),
) -> Lowered:
    """The optimised program and its Plan for a GPU; DeviceError if there is none. The rest as in
    `lower_graph`."""
    target = _usable(device).target
    return lower_graph(graph, target=target, options=options, name=name, arguments=arguments)


def compile_cuda(
    graph: Graph,
    *,
    device: str = "cuda",
    options: Document | None = None,
    name: str = "",
    arguments: Sequence[str] = (),
) -> GpuCompiled:
    """A Graph compiled for a GPU; DeviceError if there is none."""
    lowered = lower_cuda(graph, device=device, options=options, name=name, arguments=arguments)
    return GpuCompiled(lowered, _usable(device))
