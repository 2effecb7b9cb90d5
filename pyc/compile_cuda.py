"""Programs on a GPU: the second half of the pipeline for a target with blocks.

`GpuCompiled` is to a GPU what `compile.Compiled` is to the CPU: it is called with one array for
each parameter of the Graph. NumPy arguments are copied there and results back; if an argument is a
`pyc.Array`, the results are. The cache keeps programs whole, with machine code from the driver: a
process that finds one neither plans nor emits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from pyc import array_methods, backends, cache, config  # noqa: F401 - completes the class of results
from pyc.array import Array, known_type, to_device
from pyc.backends import cuda, launching
from pyc.backends.base import SiteFailed
from pyc.backends.conditions import Running
from pyc.backends.cuda_program import CudaProgram
from pyc.backends.launching import KernelLaunch
from pyc.backends.verdicts import Checks, Verdict
from pyc.compile_host import HostStep, host_kernel, host_routines
from pyc.device import gpu
from pyc.device_code import DeviceCode
from pyc.errors import DeviceError, OutOfMemoryError, raises_for_the_program
from pyc.fingerprint import Document
from pyc.forks import compiling, may_wait
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.graph import Graph
from pyc.ir.plan import NO_MEMORY, Library, Plan, launches_of
from pyc.ir.target import OLDEST, Target
from pyc.ir.types import ArrayType
from pyc.lowered import Lowered, failure_of, has_linear_algebra, lower_graph
from pyc.out_of_memory import Demand
from pyc.reasons import BY_CODE, ON_HOST, record
from pyc.runtime import device_program, host_calls
from pyc.runtime.device_program import DeviceProgram
from pyc.runtime.specialisation import NativeProgram, Result, Specialisation


def code_facts(device: cuda.Device, target: Target | None = None) -> Document:
    """What the machine code of a device relies on. target: of a program, if not all that the device
    has."""
    solver = device.solver if target is not None and target.solver else ""
    return {
        "target": device.target.id,
        "driver": device.driver_version,
        # Said of a program without one too: an entry with fewer facts would do for both.
        "solver": "" if isinstance(solver, str) else solver.version,
    }


def target_of(graph: Graph, device: cuda.Device) -> Target:
    """The target of a program: its linear algebra is a library's, where there is one. The library
    is loaded for who has such steps only."""
    if config.current().device_linalg == "host" or not has_linear_algebra(graph):
        return device.target
    return solving(device)


def solving(device: cuda.Device) -> Target:
    """The target of a device with what its libraries of linear algebra have, if there are any."""
    solver = device.solver
    if isinstance(solver, str):
        return device.target
    return replace(device.target, solver=solver.routines)


def load(plan: Plan, device: cuda.Device) -> tuple[str, CudaProgram]:
    """The PTX of a Plan's kernels, and the Plan on a device, compiled now."""
    code = emitted(plan, device)
    return code.ptx, _loaded(code, device, "")


def emitted(plan: Plan, device: cuda.Device) -> DeviceCode:
    """A Plan as machine code of a device, compiled now."""
    device.enter()
    arguments = {s.kernel: len(s.slots) for s in launches_of(plan.steps) if s.host}
    numbers = [k for k in range(len(plan.kernels)) if k not in arguments]
    ptx, image = "", b""
    launches: tuple[KernelLaunch, ...] = ()
    with compiling:
        host = tuple((k, host_kernel(plan.kernels[k], n)) for k, n in arguments.items())
        if numbers:
            emitter = backends.gpu_emitter()
            text, launches = emitter.module_text([plan.kernels[k] for k in numbers], device.target)
            ptx = emitter.ptx(text, device.target)
            image = cuda.cubin(ptx)
    loaded = tuple(zip(numbers, launches, strict=True))
    return DeviceCode(ptx, image, replace(plan, kernels=()), loaded, host, ())


def code_of(lowered: Lowered, device: cuda.Device) -> DeviceCode:
    """A program as machine code of a device, compiled now."""
    planned = lowered.planned
    return replace(
        emitted(planned.plan, device),
        results=lowered.graph.types,
        unused=planned.unused,
        largest=planned.largest,
        on_host=tuple(
            (d.reason.code, d.equation, d.details) for d in planned.decisions if d.reason in ON_HOST
        ),
    )


def obtained(lowered: Lowered, device: cuda.Device) -> tuple[DeviceCode, CudaProgram]:
    """A program on a device, from the cache or compiled now."""
    payload = cache.obtain(
        lowered.key_document,
        lowered.target_facts,
        lambda: code_of(lowered, device).payload(),
        lowered.name,
        lowered.arguments,
        wait=may_wait(),
    )
    code = DeviceCode.of_payload(payload)
    return code, _loaded(code, device, lowered.name)


def obtained_plan(
    document: Document, make: Callable[[], Plan], device: cuda.Device, name: str
) -> CudaProgram:
    """A Plan on a device that no Graph is behind, from the cache or compiled now. document: for its
    key; make: makes it; name: for the cache's statistics."""
    payload = cache.obtain(
        document,
        code_facts(device),
        lambda: emitted(make(), device).payload(),
        name,
        wait=may_wait(),
    )
    return _loaded(DeviceCode.of_payload(payload), device, name)


def _loaded(code: DeviceCode, device: cuda.Device, name: str) -> CudaProgram:
    """name: under which the cache counts steps of the host."""
    host: dict[int | Library, launching.HostStep] = {}
    host.update((k, HostStep(kernel, name)) for k, kernel in code.host)
    host.update(host_routines(code.plan, name).items())
    return CudaProgram(code.plan, dict(code.launches), code.image, device, host)


class GpuCompiled:
    """A Graph compiled for one GPU."""

    def __init__(self, lowered: Lowered, device: cuda.Device) -> None:
        self.lowered = lowered
        self.device = device
        self._name = lowered.name
        self.code, self.program = obtained(lowered, device)
        self.results = self.code.results
        self.taken = self.code.plan.taken()
        self.unused = self.code.unused
        self._donated = lowered.donated
        self.program.calls = host_calls.calls_of(lowered.traced)
        self.program.answer = host_calls.answer
        self._checks: Checks | None = None
        if self.program.error_bytes:
            self._checks = Checks(device, self.program.error_bytes // 8, self._failure)
        self._outs = [(known_type(t), t.nbytes) for t in self.results]
        self._loops = device_program.runs_loops(self.program)
        self._native: dict[Any, DeviceProgram] = {}
        """What native calls start, by the parameters that come as values and those that stay."""
        for reason, equation, details in self.code.on_host:
            record(BY_CODE[reason], function=self._name, equation=equation, detail=details)

    def _failure(self, site: int, value: int) -> Exception:
        """What a failed site with its value means."""
        return failure_of(self.lowered.graph, self.code.plan.sites[site], value)

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
        return self.code.ptx if stage == "ptx" else self.lowered.as_text(stage)

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
            judged = self._checks is not None and (stay or self._loops)
            verdict = self._checks.verdict() if judged and self._checks is not None else None
            places = [a.address for a in outs]
            if self._loops:
                self._run_loops(addresses, places, verdict)
            else:
                with host_calls.answering(self.program.calls):
                    self.program.run(addresses, places, 0 if verdict is None else verdict.address)
            if verdict is not None:
                verdict.covers(outs)
        except MemoryError as error:
            raise self._out_of_memory() from error
        except SiteFailed as failed:
            raise self._failure(failed.site, failed.value) from None
        return tuple(outs) if stay else tuple(np.asarray(a) for a in outs)

    def _run_loops(
        self, arguments: Sequence[int], results: Sequence[int], verdict: Verdict | None
    ) -> None:
        """Runs the program as native calls do, and waits for it."""
        running = self.device.conditions.begin()
        ahead = [running.address] if verdict is None else [verdict.address, running.address]
        started = self._started(frozenset(), {})
        code, status = started.run(arguments, ahead, results)
        if code:
            self._refused(code, status)
        _finished(running, verdict)

    def bound(self, sizes: Sequence[int], results: tuple[ArrayType, ...], read: int) -> GpuCompiled:
        """A program for arrays of any size, for sizes. results: the types of its results then;
        read: bytes of its arguments, which do not matter here."""
        made = copy(self)
        made.program = self.program.bound(sizes)
        made.results = results
        made._outs = [(known_type(t), t.nbytes) for t in results]
        made._native = {}
        made._loops = device_program.runs_loops(made.program)
        return made

    def _out_of_memory(self) -> OutOfMemoryError:
        plan = self.program.plan
        demand = Demand(plan.peak, self.results, self.taken, self.code.largest)
        why = f"which {self.device.label} could not allocate"
        return self.lowered.out_of_memory(demand, why, plan)

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
        if any(k in self._donated for k in numbers):
            return "a number is donated"
        places = {number: a.address for number, a in fixed.items()}
        started = self._started(frozenset(numbers), places)
        ahead = self._ahead()
        return NativeProgram(
            entry=started.entry,
            externals=started.address,
            results=(*ahead, *(self._made(k, t) for k, (t, _) in enumerate(self._outs))),
            failed=self._failed,
            parallel=False,
            device=self.device,
            finish=_finish(len(ahead), self._checks is not None, self._loops) if ahead else None,
            keep=(self, started, *fixed.values()),
        )

    def _started(self, numbers: frozenset[int], fixed: Mapping[int, int]) -> DeviceProgram:
        """What calls start whose `numbers` come as values and for which `fixed` stay."""
        key = numbers, tuple(fixed.items())
        if key not in self._native:
            self._native[key] = DeviceProgram(self.program, numbers, fixed, len(self._ahead()))
        return self._native[key]

    def _ahead(self) -> tuple[Result, ...]:
        """What native calls make besides results: the verdict, if there are checks, what ends
        their loops, and what holds the memory of each donated array that no result has, until the
        call has begun."""
        held = [k for k in self._donated if k not in self.taken.values()]
        types = [(k, self.lowered.traced.params[k].type) for k in held]
        found = [Result(t.dtype, t.shape, k, _taken_over) for k, t in types]
        if self._loops:
            found.insert(0, Result(dt.u32, (), maker=self.device.conditions.begin))
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
        self._refused(code, value)

    def _refused(self, code: int, value: int) -> None:
        """Raises what an entry has returned, with the driver's status."""
        if code == NO_MEMORY:
            raise self._out_of_memory()
        cuda.check((self.device.driver.CUresult(value),))
        raise AssertionError(f"the driver's status {value} is no failure")


def _taken_over(donated: Array) -> Array:
    """An array with the memory of one that a call is given for good."""
    return Array(donated.type, donated._device, donated.surrender())


def _finish(ahead: int, judged: bool, loops: bool) -> Callable[[tuple[Any, ...]], Sequence[Any]]:
    """What makes the results of a native call of all that it has made. judged: the first of what
    stands ahead of them is their verdict; loops: the next one is what ends its loops."""

    def finish(made: tuple[Any, ...]) -> Sequence[Any]:
        results = made[ahead:]
        verdict = made[0] if judged else None
        if verdict is not None:
            verdict.covers(results)
        if loops:
            _finished(made[1 if judged else 0], verdict)
        return results

    return finish


def _finished(running: Running, verdict: Verdict | None) -> None:
    """Waits for a call whose loops run on the device. Interrupted, nothing is left of it."""
    try:
        running.finish()
    except BaseException:
        if verdict is not None:
            verdict.void()
        raise


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
    on = _usable(device)
    told: dict[str, Any] = {"options": options, "name": name, "arguments": arguments}
    target = target_of(graph, on)
    return lower_graph(graph, target=target, facts=code_facts(on, target), **told)


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
