"""The CUDA driver: loads PTX of a Plan and runs its steps on one device.

Takes a Plan scheduled for a target with blocks and its kernels as machine code, returns a
`CudaProgram` that is called with device addresses. PTX becomes machine code by the driver's linker;
nothing but the driver and the `cuda-bindings` package is needed. All work of one call goes to one
stream. Loops and branches read their flag on the host. A failed check is read from the error slot
after the last step.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from pyc.backends import cuda_binding
from pyc.backends.base import KernelLaunch, SiteFailed, TensorMap
from pyc.errors import DeviceError
from pyc.ir import dtype as dt
from pyc.ir.loops import Fail, walk
from pyc.ir.plan import Branch, Copy, Launch, Loop, Place, Plan, Step
from pyc.ir.target import Target
from pyc.ir.target import nvptx as target_of
from pyc.reasons import Reason

_NO_SITE = -1
"""The error slot's site while nothing has failed: the largest unsigned number."""
_KEPT_MAPS = 256
"""Tensor maps that a program keeps: one takes a microsecond to make."""


def check(answer: tuple[Any, ...]) -> Any:
    """The results of a driver call; DeviceError with the driver's own words if it failed."""
    status, *results = answer
    if int(status) != 0:
        driver = cuda_binding()
        _, text = driver.cuGetErrorString(status)
        words = text.decode() if isinstance(text, bytes) else str(text)
        raise DeviceError(f"CUDA driver: {words} ({status.name})")
    if not results:
        return None
    return results[0] if len(results) == 1 else tuple(results)


@cache
def problem() -> tuple[Reason, str] | None:
    """Why no GPU can be used: a reason and the detail; None if one can."""
    try:
        driver = cuda_binding()
    except ImportError as error:
        return Reason.NO_GPU, f"{error}; pip install 'pyc-jit[cuda]'"
    try:
        check(driver.cuInit(0))
        if check(driver.cuDeviceGetCount()) == 0:
            return Reason.NO_GPU, "the driver reports no device"
    except (DeviceError, RuntimeError) as error:
        return Reason.NO_GPU, str(error)
    return None


class Device:
    """One GPU: its primary context, a stream, and its target. Made by `device()`."""

    def __init__(self, ordinal: int) -> None:
        driver = cuda_binding()
        self.driver = driver
        self.ordinal = ordinal
        handle = check(driver.cuDeviceGet(ordinal))
        self.context = check(driver.cuDevicePrimaryCtxRetain(handle))
        self.enter()
        attribute = driver.CUdevice_attribute
        major = attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
        minor = attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
        capability = 10 * check(driver.cuDeviceGetAttribute(major, handle))
        capability += check(driver.cuDeviceGetAttribute(minor, handle))
        self.target: Target = target_of(capability)
        name = check(driver.cuDeviceGetName(128, handle))
        self.name = (name.decode() if isinstance(name, bytes) else str(name)).partition("\0")[0]
        self.driver_version = int(check(driver.cuDriverGetVersion()))
        self.stream = check(driver.cuStreamCreate(1))

    def enter(self) -> None:
        """Makes this thread use the device."""
        check(self.driver.cuCtxSetCurrent(self.context))

    def allocate(self, nbytes: int) -> int:
        """The address of new memory, in stream order."""
        return int(check(self.driver.cuMemAllocAsync(max(nbytes, 16), self.stream)))

    def free(self, address: int) -> None:
        """Gives memory back, in stream order."""
        self.driver.cuMemFreeAsync(address, self.stream)

    def upload(self, address: int, array: np.ndarray[Any, Any]) -> None:
        """Copies a C-ordered array to the device."""
        if array.nbytes:
            copy = self.driver.cuMemcpyHtoDAsync
            check(copy(address, array.ctypes.data, array.nbytes, self.stream))
            self.synchronize()

    def download(self, array: np.ndarray[Any, Any], address: int) -> None:
        """Copies from the device into a C-ordered array, after all work before."""
        if array.nbytes:
            copy = self.driver.cuMemcpyDtoHAsync
            check(copy(array.ctypes.data, address, array.nbytes, self.stream))
        self.synchronize()

    def copy(self, destination: int, source: int, nbytes: int) -> None:
        """Copies within the device."""
        if nbytes:
            check(self.driver.cuMemcpyDtoDAsync(destination, source, nbytes, self.stream))

    def synchronize(self) -> None:
        """Waits for all work of the stream."""
        check(self.driver.cuStreamSynchronize(self.stream))


@cache
def device(ordinal: int = 0) -> Device:
    """The GPU of a number; DeviceError says why there is none."""
    why = problem()
    if why is not None:
        raise DeviceError(f"no GPU can be used: {why[1]}")
    return Device(ordinal)


def cubin(text: str) -> bytes:
    """Machine code of PTX for the current device, by the driver's linker; DeviceError with its log
    if it refuses."""
    driver = cuda_binding()
    log = bytearray(8192)
    option = driver.CUjit_option
    names = [option.CU_JIT_ERROR_LOG_BUFFER, option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
    state = check(driver.cuLinkCreate(len(names), names, [log, len(log)]))
    try:
        data = text.encode() + b"\0"
        kind = driver.CUjitInputType.CU_JIT_INPUT_PTX
        added = driver.cuLinkAddData(state, kind, data, len(data), b"pyc", 0, [], [])
        if int(added[0]) != 0:
            words = bytes(log).split(b"\0")[0].decode(errors="replace")
            raise DeviceError(f"the CUDA driver refuses the PTX: {words or added[0].name}")
        pointer, size = check(driver.cuLinkComplete(state))
        return ctypes.string_at(int(pointer), size)
    finally:
        driver.cuLinkDestroy(state)


class CudaProgram:
    """A Plan loaded on a device: its launches, and machine code that holds their kernels. Calls are
    asynchronous but for loops, branches and checks."""

    def __init__(
        self, plan: Plan, launches: Sequence[KernelLaunch], image: bytes, on: Device
    ) -> None:
        on.enter()
        self.plan = plan
        self.device = on
        self.launches = tuple(launches)
        self._functions: list[Any] = []
        self._maps: dict[tuple[TensorMap, int], Any] = {}
        if image:
            self._image = image
            self._module = check(on.driver.cuModuleLoadData(image))
            self._functions = [self._function(launch) for launch in self.launches]
        self._constants = 0
        if plan.constants:
            self._constants = on.allocate(len(plan.constants))
            on.upload(self._constants, np.frombuffer(plan.constants, np.uint8))
        sites = [s.site for k in plan.kernels for s in walk(k.body) if isinstance(s, Fail)]
        # The lowest failed site, then the lowest value (as unsigned) of each site.
        self._blank = np.full(2 + max(sites, default=-1), -1, np.int64)
        self._can_fail = bool(sites)
        self._error = on.allocate(self._blank.nbytes)

    def _function(self, launch: KernelLaunch) -> Any:
        driver = self.device.driver
        found = check(driver.cuModuleGetFunction(self._module, launch.name.encode()))
        if launch.shared_bytes:
            most = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            check(driver.cuFuncSetAttribute(found, most, launch.shared_bytes))
        return found

    def __call__(self, arguments: Sequence[int], results: Sequence[int]) -> None:
        """Runs the Plan over device addresses; raises SiteFailed."""
        on = self.device
        on.enter()
        arena = on.allocate(self.plan.peak) if self.plan.peak else 0
        bases = {
            Place.ARENA: arena,
            Place.CONSTANT: self._constants,
        }
        addresses: list[int] = []
        for b in self.plan.buffers:
            if b.place is Place.ARGUMENT:
                addresses.append(arguments[b.index])
            elif b.place is Place.RESULT:
                addresses.append(results[b.index])
            else:
                addresses.append(bases[b.place] + b.index)
        if self._can_fail:
            on.upload(self._error, self._blank)
        try:
            self._steps(self.plan.steps, addresses)
            if self._can_fail:
                slot = np.empty_like(self._blank)
                on.download(slot, self._error)
                if slot[0] != _NO_SITE:
                    raise SiteFailed(int(slot[0]), int(slot[1 + slot[0]]))
        finally:
            if arena:
                on.free(arena)

    def _steps(self, steps: Sequence[Step], addresses: list[int]) -> None:
        for step in steps:
            if isinstance(step, Launch):
                self._launch(step, addresses)
            elif isinstance(step, Copy):
                nbytes = self.plan.buffers[step.destination].nbytes
                self.device.copy(addresses[step.destination], addresses[step.source], nbytes)
            elif isinstance(step, Loop):
                self._loop(step, addresses)
            elif isinstance(step, Branch):
                index = np.empty(1, np.int64)
                self.device.download(index, addresses[step.index])
                chosen = min(max(int(index[0]), 0), len(step.cases) - 1)
                self._steps(step.cases[chosen], addresses)
            else:
                raise DeviceError(f"library routine {step.routine} does not run on a GPU")

    def _loop(self, step: Loop, addresses: list[int]) -> None:
        flag = np.empty(1, np.uint8)
        while True:
            self._steps(step.condition, addresses)
            self.device.download(flag, addresses[step.flag])
            if not flag[0]:
                return
            self._steps(step.body, addresses)
            for a, b in step.rotate:
                addresses[a], addresses[b] = addresses[b], addresses[a]

    def _launch(self, step: Launch, addresses: list[int]) -> None:
        launch = self.launches[step.kernel]
        values = [addresses[s] for s in step.slots] + list(step.sizes) + [self._error]
        held = (ctypes.c_uint64 * len(values))(*values)
        start = ctypes.addressof(held)
        places = [start + 8 * k for k in range(len(values))]
        maps = [self._tensor_map(m, addresses[step.slots[m.buffer]]) for m in launch.maps]
        places += [int(m.getPtr()) for m in maps]
        pointers = (ctypes.c_void_p * len(places))(*places)
        x, y, z = launch.grid
        shared = launch.shared_bytes
        check(
            self.device.driver.cuLaunchKernel(
                *(self._functions[step.kernel], x, y, z, launch.threads, 1, 1, shared),
                *(self.device.stream, ctypes.addressof(pointers), 0),
            )
        )

    def _tensor_map(self, m: TensorMap, address: int) -> Any:
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
