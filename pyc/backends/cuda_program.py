"""Programs on a GPU: runs the steps of a Plan on one device.

Takes a Plan scheduled for a target with blocks and its kernels as machine code, returns a
`CudaProgram` that is called with device addresses. All work of one call goes to one stream. Loops
of unknown length and branches read their flag on the host, where steps of the host run too. A
failed check is read from the error slot before each of these steps, and after the last one.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from math import prod
from typing import Any, NamedTuple

import numpy as np

from pyc.backends.base import SiteFailed
from pyc.backends.cuda import Device, check
from pyc.backends.cusolver import Solver
from pyc.backends.launching import HostStep, KernelLaunch, TensorMap
from pyc.errors import DeviceError
from pyc.ir import dtype as dt
from pyc.ir.graph import Eqn
from pyc.ir.ops.host import ROUTINE
from pyc.ir.plan import (
    Branch,
    Copy,
    Launch,
    Library,
    Loop,
    Place,
    Plan,
    Step,
    bound,
    launches_of,
    walk_steps,
)
from pyc.ir.solvers import is_solver

_NO_SITE = -1
"""The error slot's site while nothing has failed: the largest unsigned number."""
KEPT_ARENA = 1 << 20
"""Bytes of an arena that a program keeps between calls; a larger one is allocated for each."""
PINNED_BYTES = 1 << 24
"""Bytes of the copies of a step of the host that may be pinned, and kept for the next call."""
PORTABLE_CLUSTER = 8
"""Blocks that a cluster may have everywhere; more are to be asked for."""
_KEPT_MAPS = 256
"""Tensor maps that a program keeps: one takes a microsecond to make."""


class CudaProgram:
    """A Plan loaded on a device. launches: of its kernels by number, with machine code that holds
    them; host: what runs the kernels that are steps of the host, and the routines of LAPACK.
    Routines of the device's own libraries are called from here.

    Calls are asynchronous but for loops, branches, checks and steps of the host, and may run at the
    same time in several threads: each has a `_Frame` of its own while it lasts.
    """

    def __init__(
        self,
        plan: Plan,
        launches: Mapping[int, KernelLaunch],
        image: bytes,
        on: Device,
        host: Mapping[int | Library, HostStep] | None = None,
    ) -> None:
        on.enter()
        self.plan = plan
        self.device = on
        self.launches = dict(launches)
        self.host = dict(host or {})
        self.functions: dict[int, int] = {}
        self._owned: list[int] = []
        self._pinned: list[int] = []
        self._maps: dict[tuple[TensorMap, int], Any] = {}
        module = None
        self._image = image  # kernels may be loaded from it late
        self._image_of: CudaProgram | None = None
        if image:
            module = check(on.driver.cuModuleLoadData(image))
            for number, launch in self.launches.items():
                self.functions[number] = self._function(module, launch)
        held = (self._owned, self._pinned)
        weakref.finalize(self, _unload, on, module, *held).atexit = False
        self.constants = 0
        if plan.constants:
            self.constants = self.own(len(plan.constants))
            on.upload(self.constants, np.frombuffer(plan.constants, np.uint8))
        sites = [site for launch in self.launches.values() for site in launch.sites]
        # The lowest failed site, then the lowest value (as unsigned) of each site.
        self.error_bytes = 8 * (2 + max(sites)) if sites else 0
        self._free: list[_Frame] = []
        self.solves = any(
            isinstance(s, Library) and is_solver(s.routine) for s in walk_steps(plan.steps)
        )
        """Whether a library of the device is called."""
        self.calls: Mapping[int, Eqn] = {}
        """The calls back into Python, by number, and what answers one."""
        self.answer: Callable[[int, Sequence[np.ndarray[Any, Any]]], list[Any]] | None = None

    def bound(self, sizes: Sequence[int]) -> CudaProgram:
        """The same machine code for these sizes."""
        plan = bound(self.plan, sizes)
        known = {s.kernel: s.known_sizes for s in launches_of(plan.steps)}
        launches = {k: launch.bound(known[k]) for k, launch in self.launches.items()}
        made = CudaProgram(plan, launches, b"", self.device, self.host)
        made.functions = self.functions
        made._image_of = self
        return made

    @property
    def is_bound(self) -> bool:
        """Whether it is a program for arrays of any size, for one of them."""
        return self._image_of is not None

    def _function(self, module: Any, launch: KernelLaunch) -> int:
        driver = self.device.driver
        found = check(driver.cuModuleGetFunction(module, launch.name.encode()))
        if launch.shared_bytes:
            most = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            check(driver.cuFuncSetAttribute(found, most, launch.shared_bytes))
        if launch.cluster > PORTABLE_CLUSTER:
            wide = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            check(driver.cuFuncSetAttribute(found, wide, 1))
        return int(found)

    def own(self, nbytes: int) -> int:
        """The address of memory that is freed with the program."""
        self._owned.append(self.device.allocate(nbytes))
        return self._owned[-1]

    def pin(self, nbytes: int) -> np.ndarray[Any, Any]:
        """Bytes of the host that copies need not wait for, freed with the program."""
        if not nbytes:
            return np.empty(0, np.uint8)
        self._pinned.append(self.device.pinned(nbytes))
        memory = (ctypes.c_uint8 * nbytes).from_address(self._pinned[-1])
        return np.frombuffer(memoryview(memory), np.uint8)

    def __call__(self, arguments: Sequence[int], results: Sequence[int]) -> None:
        """Runs the Plan over device addresses; raises SiteFailed."""
        self.device.enter()
        self.run(arguments, results)

    def run(self, arguments: Sequence[int], results: Sequence[int], error: int = 0) -> None:
        """The same for a thread that uses the device already. error: the address of the words that
        checks lower, which the caller reads later; without it they are waited for."""
        try:
            frame = self._free.pop()
        except IndexError:
            frame = _Frame(self)
        blank = False
        try:
            frame.fill(arguments, results, error)
            self._steps(self.plan.steps, frame)
            if not error:
                frame.raise_failed()
            blank = True
        except SiteFailed:
            frame.blank()
            blank = True
            raise
        finally:
            frame.leave()
            # Kernels that still run with its memory come before its next use, in stream order.
            if blank:
                self._free.append(frame)

    def _steps(self, steps: Sequence[Step], frame: _Frame) -> None:
        for step in steps:
            if isinstance(step, Launch):
                if step.host:
                    self._host_step(step, frame)
                else:
                    frame.launch(step, self.tensor_map)
            elif isinstance(step, Copy):
                nbytes = self.plan.buffers[step.destination].nbytes
                to, source = frame.addresses[step.destination], frame.addresses[step.source]
                self.device.copy(to, source, nbytes)
            elif isinstance(step, Loop):
                self._loop(step, frame)
            elif isinstance(step, Branch):
                index = np.empty(1, np.int64)
                self.device.download(index, frame.addresses[step.index])
                chosen = min(max(int(index[0]), 0), len(step.cases) - 1)
                self._steps(step.cases[chosen], frame)
            elif step.routine == ROUTINE:
                self._host_call(step, frame)
            elif is_solver(step.routine):
                addresses = [frame.addresses[slot] for slot in step.slots]
                self._solver.run(step.routine, step.integers, addresses)
            else:
                self._host_step(step, frame)

    @property
    def _solver(self) -> Solver:
        """The libraries of linear algebra."""
        solver = self.device.solver
        if isinstance(solver, str):
            raise DeviceError(f"linear algebra on {self.device.label}: {solver}")
        return solver

    def _loop(self, step: Loop, frame: _Frame) -> None:
        flag = np.empty(1, np.uint8)
        for k in count():
            if step.times is None:
                self._steps(step.condition, frame)
                self.device.download(flag, frame.addresses[step.flag])
            if not (flag[0] if step.times is None else k < step.times):
                return
            self._steps(step.body, frame)
            for a, b in step.rotate:
                frame.swap(a, b)

    def host_of(self, step: Launch | Library) -> HostStep:
        """What runs a step of the host."""
        return self.host[step.kernel if isinstance(step, Launch) else step]

    def _host_step(self, step: Launch | Library, frame: _Frame) -> None:
        """Runs a kernel or a routine on the host, on copies of its buffers; slots of one buffer
        share a copy, but for workspace. What failed on the device before is raised first, as the
        CPU would."""
        on, host = self.device, self.host_of(step)
        copies: dict[tuple[int, int], np.ndarray[Any, Any]] = {}
        written: dict[tuple[int, int], np.ndarray[Any, Any]] = {}
        arrays = []
        staged, pinned = frame.staged(step, self)
        for slot, role, memory in zip(step.slots, host.roles, staged, strict=False):
            key = frame.addresses[slot], memory.nbytes
            copy = memory if role == "work" else copies.setdefault(key, memory)
            if role in ("in", "inout"):
                on.read(copy, key[0])
            if role in ("out", "inout"):
                written[key] = copy
            arrays.append(copy)
        frame.read_failed()
        on.synchronize()
        frame.raise_found()
        host.run(arrays)
        for (address, _), array in written.items():
            on.write(address, array)
        # Pinned memory is the frame's, and what uses it next comes later in the stream.
        if not pinned:
            on.synchronize()

    def _host_call(self, step: Library, frame: _Frame) -> None:
        """Calls back into Python with copies of the arguments. What failed on the device before is
        raised first."""
        frame.raise_failed()
        (number,) = step.integers
        given = [np.empty(a.shape, a.dtype.numpy) for a in self.calls[number].args]
        for array, slot in zip(given, step.slots, strict=False):
            if array.nbytes:
                self.device.download(array, frame.addresses[slot])
        assert self.answer is not None
        outs = self.answer(number, given)
        for array, slot in zip(outs, step.slots[len(given) :], strict=True):
            if array.nbytes:
                self.device.upload(frame.addresses[slot], array)

    def tensor_map(self, m: TensorMap, address: int) -> Any:
        """The tensor map of an array at an address (CUDA driver API, "Tensor Map Object
        Management"), the last of each kind kept."""
        key = (m, address)
        found = self._maps.get(key)
        if found is not None:
            return found
        driver = self.device.driver
        kinds = driver.CUtensorMapDataType
        kind = {
            dt.bf16: kinds.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            dt.f16: kinds.CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
            dt.f64: kinds.CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        }[m.dtype]
        rank = len(m.shape)
        strides = [m.dtype.itemsize * prod(m.shape[k + 1 :]) for k in range(rank - 1)]
        found = check(
            driver.cuTensorMapEncodeTiled(
                *(kind, rank, address),
                [driver.cuuint64_t(e) for e in reversed(m.shape)],
                [driver.cuuint64_t(s) for s in reversed(strides)],
                [driver.cuuint32_t(e) for e in reversed(m.box)],
                [driver.cuuint32_t(1)] * rank,
                driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
                driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
                driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        )
        if len(self._maps) >= _KEPT_MAPS:
            self._maps.clear()
        self._maps[key] = found
        return found


class LaunchCall(NamedTuple):
    """A launch that takes its addresses from a table. values: the arguments of the driver's launch
    function; pointers: to each parameter, those from `first_map` on being tensor maps, each of the
    array in a slot; kept: alive."""

    values: tuple[Any, ...]
    pointers: Any
    first_map: int
    maps: tuple[tuple[TensorMap, int], ...]
    kept: Any


def launch_call(
    program: CudaProgram, step: Launch, addresses: Any, numbers: Mapping[int, int] | None = None
) -> LaunchCall:
    """A launch of a program. addresses: of all its buffers, then of the error slot; numbers: where
    in that table the slots have their words that come by value."""
    launch = program.launches[step.kernel]
    table = ctypes.addressof(addresses)
    sizes = (ctypes.c_int64 * len(step.sizes))(*step.known_sizes)
    start = ctypes.addressof(sizes)
    places = [table + 8 * slot for slot in step.slots]
    places += [start + 8 * k for k in range(len(step.sizes))]
    places.append(table + 8 * len(program.plan.buffers))
    # Nobody reads the word of a buffer that has an address.
    words = [(numbers or {}).get(step.slots[k], 0) for k in launch.values]
    places += [table + 8 * place for place in words]
    pointers = (ctypes.c_void_p * (len(places) + len(launch.maps)))(*places)
    values = (
        *(program.functions[step.kernel], *launch.grid, launch.threads, 1, 1),
        *(launch.shared_bytes, int(program.device.stream), ctypes.addressof(pointers), None),
    )
    maps = tuple((m, step.slots[m.buffer]) for m in launch.maps)
    return LaunchCall(values, pointers, len(places), maps, sizes)


class _Frame:
    """What one call has for itself: the addresses of all buffers, in one table; for each launch its
    parameters, which point into the table; an error slot; and the arena while it is small."""

    def __init__(self, program: CudaProgram) -> None:
        plan, on = program.plan, program.device
        self._device = on
        self._plan = plan
        count = len(plan.buffers)
        self.addresses = (ctypes.c_uint64 * (count + 1))()
        self._initial = (ctypes.c_uint64 * (count + 1))()
        self._program = program
        self._own_error = self._error = 0
        self._failed = program.pin(program.error_bytes).view(np.int64)
        self._staged: dict[int, list[np.ndarray[Any, Any]]] = {}
        for k, b in enumerate(plan.buffers):
            if b.place is Place.CONSTANT:
                self._initial[k] = program.constants + b.index
        self._inputs = slots(plan, Place.ARGUMENT)
        self._outputs = slots(plan, Place.RESULT)
        self._stale = True
        self._arena = 0
        self._keeps_arena = plan.peak <= KEPT_ARENA
        if plan.peak and self._keeps_arena:
            self._place_arena(program.own(plan.peak))
        self._calls: dict[int, LaunchCall] = {}
        for step in launches_of(plan.steps):
            if not step.host:
                self._calls[id(step)] = launch_call(program, step, self.addresses)

    def fill(self, arguments: Sequence[int], results: Sequence[int], error: int) -> None:
        """Puts in the table what a call starts with. error: words that are the call's, or 0: the
        frame's own are."""
        if self._failed.size:
            self._error = error or self._error_slot()
            self._initial[len(self._plan.buffers)] = self._error
            self.addresses[len(self._plan.buffers)] = self._error
        if self._plan.peak and not self._arena:
            self._place_arena(self._device.allocate(self._plan.peak))
            self._stale = True
        table = self.addresses
        if self._stale:
            ctypes.memmove(table, self._initial, ctypes.sizeof(table))
            self._stale = False
        for slot, k in self._inputs:
            table[slot] = arguments[k]
        for slot, k in self._outputs:
            table[slot] = results[k]

    def _error_slot(self) -> int:
        if not self._own_error:
            self._error = self._own_error = self._program.own(self._failed.nbytes)
            self.blank()
        return self._own_error

    def _place_arena(self, address: int) -> None:
        self._arena = address
        for k, b in enumerate(self._plan.buffers):
            if b.place is Place.ARENA:
                self._initial[k] = address + b.index

    def launch(self, step: Launch, tensor_map: Callable[[TensorMap, int], Any]) -> None:
        """Starts a kernel. tensor_map: of an array at an address."""
        call = self._calls[id(step)]
        # Held until the driver has copied the parameters.
        maps = [tensor_map(m, self.addresses[slot]) for m, slot in call.maps]
        for k, m in enumerate(maps, call.first_map):
            call.pointers[k] = int(m.getPtr())
        status = self._device.launch(*call.values)
        if status:
            check((self._device.driver.CUresult(status),))

    def swap(self, a: int, b: int) -> None:
        """Exchanges the addresses of two slots."""
        self._stale = True
        self.addresses[a], self.addresses[b] = self.addresses[b], self.addresses[a]

    def raise_failed(self) -> None:
        """Waits for the device and raises SiteFailed if a check of a kernel failed."""
        if self._error:
            self.read_failed()
            self._device.synchronize()
            self.raise_found()

    def read_failed(self) -> None:
        """Starts to copy the error slot."""
        if self._error:
            self._device.read(self._failed, self._error)

    def raise_found(self) -> None:
        """Raises SiteFailed if the slot that was copied says so."""
        if self._error and self._failed[0] != _NO_SITE:
            site = int(self._failed[0])
            raise SiteFailed(site, int(self._failed[1 + site]))

    def staged(
        self, step: Launch | Library, program: CudaProgram
    ) -> tuple[list[np.ndarray[Any, Any]], bool]:
        """Memory of the host for each slot of a step, and whether it is pinned: small one is, and
        is kept with the frame."""
        found = self._staged.get(id(step))
        if found is not None:
            return found, True
        sizes = [self._plan.buffers[slot].nbytes for slot in step.slots]
        if sum(sizes) > PINNED_BYTES:
            return [program.host_of(step).memory(n) for n in sizes], False
        found = self._staged[id(step)] = [program.pin(n) for n in sizes]
        return found, True

    def blank(self) -> None:
        """Sets the error slot to what it is while nothing has failed."""
        self._device.fill(self._error, 0xFF, self._failed.nbytes)

    def leave(self) -> None:
        """Gives back what only this call needed."""
        if self._arena and not self._keeps_arena:
            self._device.free(self._arena, self._plan.peak)
            self._arena = 0


def slots(plan: Plan, place: Place) -> tuple[tuple[int, int], ...]:
    """(slot, number) of the buffers at a place."""
    return tuple((k, b.index) for k, b in enumerate(plan.buffers) if b.place is place)


def _unload(on: Device, module: Any, owned: Sequence[int], pinned: Sequence[int]) -> None:
    """Frees what a program had, once all work on its device is done."""
    on.enter()
    on.synchronize()
    for address in owned:
        on.free(address)
    for address in pinned:
        on.unpin(address)
    if module is not None:
        on.driver.cuModuleUnload(module)
