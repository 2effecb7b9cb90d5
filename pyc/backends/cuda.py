"""The CUDA driver: devices, their memory and copies, and machine code from PTX.

Nothing but the driver and the `cuda-bindings` package is needed: PTX becomes machine code by the
driver's linker. Each device has one stream, and all work goes there in order.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from itertools import count as count_up
from threading import Lock
from time import sleep
from typing import Any

import numpy as np

from pyc import config
from pyc.backends import cuda_binding, cusolver
from pyc.backends.conditions import Conditions
from pyc.backends.verdicts import Ledger
from pyc.errors import DeviceError, OutOfMemoryError
from pyc.ir.target import Target, of_multiprocessors
from pyc.ir.target import nvptx as target_of
from pyc.reasons import Reason

_NO_CONTEXT = 201
"""The driver's status for a call of a thread that uses no device."""
KEPT_SHARE = 4
"""The driver gives free memory back whenever the host waits and the pool has more than this part of
the device's: to map a gibibyte again takes as long as to write it four times."""
SMALL = 20
"""Pieces up to 2 ** SMALL bytes are kept when they are freed: a driver call takes a microsecond."""
KEPT_PIECES = 64
"""Free pieces kept of each size."""
BUSY_BYTES, BUSY_FILLS = 1 << 27, 8
"""What is filled before work is timed: for some 0.3 ms, in which a hundred launches are started."""
OUT_OF_MEMORY = 2
"""The driver's status for an allocation that failed."""
_NOT_READY = 600
"""The driver's status for work that is not done."""
_NO_TIMES = 2
"""CU_EVENT_DISABLE_TIMING."""
_EAGER_POLLS, _LONGEST_PAUSE = 100, 2e-4
"""How often a mark is asked for before there are pauses, and the seconds of the longest one."""
INTERFACE = 12000
"""Version of the driver's interface whose functions are called by address."""
EDGE_DATA = 12030
"""The version from which on edges of a graph say more than that one node follows another."""
_LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    *[ctypes.c_uint] * 7,
    *[ctypes.c_void_p] * 3,
)
"""`cuLaunchKernel(function, grid x y z, block x y z, shared bytes, stream, parameters, extra)`."""


def check(answer: tuple[Any, ...]) -> Any:
    """The results of a driver call; DeviceError with the driver's own words if it failed,
    OutOfMemoryError if the device has no more memory."""
    status, *results = answer
    if int(status) != 0:
        driver = cuda_binding()
        _, text = driver.cuGetErrorString(status)
        words = text.decode() if isinstance(text, bytes) else str(text)
        if int(status) == OUT_OF_MEMORY:
            raise OutOfMemoryError(f"CUDA driver: {words} ({status.name})")
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
        if count() == 0:
            return Reason.NO_GPU, "the driver reports no device"
    except DeviceError as error:
        return Reason.NO_GPU, error.message
    except RuntimeError as error:
        return Reason.NO_GPU, str(error)
    return None


@cache
def count() -> int:
    """How many GPUs the driver reports."""
    return int(check(cuda_binding().cuDeviceGetCount()))


class Device:
    """One GPU: its primary context, a stream, and its target. Made by `device()`."""

    def __init__(self, ordinal: int) -> None:
        driver = cuda_binding()
        self.driver = driver
        self.ordinal = ordinal
        self.label = f"cuda:{ordinal}"
        handle = check(driver.cuDeviceGet(ordinal))
        self.context = check(driver.cuDevicePrimaryCtxRetain(handle))
        self.enter()
        attribute = driver.CUdevice_attribute
        major = attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
        minor = attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
        capability = 10 * int(check(driver.cuDeviceGetAttribute(major, handle)))
        capability += int(check(driver.cuDeviceGetAttribute(minor, handle)))
        self.capability = capability
        count = attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
        multiprocessors = int(check(driver.cuDeviceGetAttribute(count, handle)))
        self.target: Target = of_multiprocessors(target_of(capability), multiprocessors)
        name = check(driver.cuDeviceGetName(128, handle))
        self.name = (name.decode() if isinstance(name, bytes) else str(name)).partition("\0")[0]
        self.driver_version = int(check(driver.cuDriverGetVersion()))
        self.stream = check(driver.cuStreamCreate(1))
        self.ledger = Ledger(self)
        self.conditions = Conditions(self)
        self._beside: Any = None
        self._kept: list[list[int]] = [[] for _ in range(SMALL + 1)]
        # Called by address: a launch costs half of what it does through the package.
        self.launch = _LAUNCH(self.function("cuLaunchKernel"))
        self.pool = check(driver.cuDeviceGetDefaultMemPool(handle))
        kept = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        most = config.current().device_kept_bytes
        most = most or int(check(driver.cuDeviceTotalMem(handle))) // KEPT_SHARE
        check(driver.cuMemPoolSetAttribute(self.pool, kept, driver.cuuint64_t(most)))
        self._pinned: dict[int, int] = {}
        self._solver: cusolver.Solver | str | None = None

    @property
    def solver(self) -> cusolver.Solver | str:
        """The libraries of linear algebra on this device, or why there are none."""
        if self._solver is None:
            with _lock:
                self._solver = self._solver or cusolver.found(self)
        return self._solver

    def function(self, name: str, version: int = INTERFACE) -> int:
        """The address of a C function of the driver as it is from a version of its interface on;
        DeviceError if it has none of that name."""
        address, _ = check(self.driver.cuGetProcAddress(name.encode(), version, 0))
        if not int(address):
            raise DeviceError(f"the CUDA driver has no {name} of version {version}")
        return int(address)

    def load(self, text: str, name: str) -> int:
        """A kernel of PTX, for good."""
        self.enter()
        module = check(self.driver.cuModuleLoadData(text.encode() + b"\0"))
        return int(check(self.driver.cuModuleGetFunction(module, name.encode())))

    def enter(self) -> None:
        """Makes this thread use the device."""
        check(self.driver.cuCtxSetCurrent(self.context))

    def allocate(self, nbytes: int) -> int:
        """The address of memory with undefined values, in stream order; OutOfMemoryError if there
        is not so much."""
        power = _power(nbytes)
        if power <= SMALL:
            try:
                return self._kept[power].pop()
            except IndexError:
                nbytes = 1 << power
        self.enter()  # results are allocated before a native call enters
        return int(check(self.driver.cuMemAllocAsync(nbytes, self.stream)))

    def free(self, address: int, nbytes: int | None = None) -> None:
        """Gives memory back, in stream order. nbytes: what was asked for, so that small pieces are
        kept: whatever uses them next comes later in the one stream."""
        if nbytes is not None:
            power = _power(nbytes)
            if power <= SMALL and len(self._kept[power]) < KEPT_PIECES:
                self._kept[power].append(address)
                return
        (status,) = self.driver.cuMemFreeAsync(address, self.stream)
        if int(status) == _NO_CONTEXT:  # arrays are dropped in any thread
            self.enter()
            self.driver.cuMemFreeAsync(address, self.stream)

    def pinned(self, nbytes: int) -> int:
        """The address of memory of the host that copies need not wait for."""
        address = int(check(self.driver.cuMemHostAlloc(max(nbytes, 1), 0)))
        self._pinned[address] = nbytes
        return address

    def unpin(self, address: int) -> None:
        """Frees what `pinned` gave, once no copy uses it."""
        self.driver.cuMemFreeHost(address)
        del self._pinned[address]

    def memory_stats(self) -> dict[str, int]:
        """Bytes of the device's memory. bytes_in_use: of arrays and programs, at most
        peak_bytes_in_use so far; bytes_kept: free, and kept for later; bytes_reserved: what the
        process has of the device, for pyc's arrays; bytes_free, bytes_limit: of the device, for
        all processes; pinned_bytes: of the host's memory."""
        self.enter()
        attribute = self.driver.CUmemPool_attribute

        def ask(name: str) -> int:
            wanted = getattr(attribute, f"CU_MEMPOOL_ATTR_{name}")
            return int(check(self.driver.cuMemPoolGetAttribute(self.pool, wanted)))

        pieces = sum(len(kept) << power for power, kept in enumerate(self._kept))
        used, reserved = ask("USED_MEM_CURRENT"), ask("RESERVED_MEM_CURRENT")
        free, total = check(self.driver.cuMemGetInfo())
        return {
            "bytes_in_use": used - pieces,
            "peak_bytes_in_use": ask("USED_MEM_HIGH"),
            "bytes_kept": reserved - used + pieces,
            "bytes_reserved": reserved,
            "bytes_free": int(free),
            "bytes_limit": int(total),
            "pinned_bytes": sum(self._pinned.values()),
        }

    def trim(self) -> None:
        """Gives the memory that is kept for later back, once the device has done its work."""
        self.enter()
        for pieces in self._kept:
            while pieces:
                check(self.driver.cuMemFreeAsync(pieces.pop(), self.stream))
        self.synchronize()
        check(self.driver.cuMemPoolTrimTo(self.pool, 0))

    def upload(self, address: int, array: np.ndarray[Any, Any]) -> None:
        """Copies a C-ordered array to the device."""
        self.write(address, array)
        if array.nbytes:
            self.synchronize()

    def write(self, address: int, array: np.ndarray[Any, Any]) -> None:
        """Starts a copy of a C-ordered array to the device."""
        if array.nbytes:
            copy = self.driver.cuMemcpyHtoDAsync
            check(copy(address, array.ctypes.data, array.nbytes, self.stream))

    def download(self, array: np.ndarray[Any, Any], address: int) -> None:
        """Copies from the device into a C-ordered array, after all work before."""
        self.read(array, address)
        self.synchronize()

    def read(self, array: np.ndarray[Any, Any], address: int) -> None:
        """Starts a copy from the device into a C-ordered array."""
        if array.nbytes:
            copy = self.driver.cuMemcpyDtoHAsync
            check(copy(array.ctypes.data, address, array.nbytes, self.stream))

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        """Sets memory, in stream order."""
        check(self.driver.cuMemsetD8Async(address, byte, nbytes, self.stream))

    def copy(self, destination: int, source: int, nbytes: int) -> None:
        """Copies within the device; nothing happens where both are the same."""
        if nbytes and destination != source:
            check(self.driver.cuMemcpyDtoDAsync(destination, source, nbytes, self.stream))

    def synchronize(self) -> None:
        """Waits for all work of the stream."""
        check(self.driver.cuStreamSynchronize(self.stream))

    def mark(self) -> Any:
        """A mark behind all work of the stream so far."""
        mark = check(self.driver.cuEventCreate(_NO_TIMES))
        check(self.driver.cuEventRecord(mark, self.stream))
        return mark

    def poll(self, mark: Any) -> None:
        """Waits for the work before a mark, and for signals, whose handlers may raise."""
        for k in count_up():
            (status,) = self.driver.cuEventQuery(mark)
            if int(status) != _NOT_READY:
                check((status,))
                return
            if k >= _EAGER_POLLS:
                sleep(min(1e-6 * k, _LONGEST_PAUSE))

    def wait(self, mark: Any) -> None:
        """Waits for the work before a mark."""
        check(self.driver.cuEventSynchronize(mark))

    def unmark(self, mark: Any) -> None:
        """Gives a mark back."""
        self.driver.cuEventDestroy(mark)

    def interrupt(self, address: int) -> None:
        """Sets a word to 1 while the stream is at work."""
        if self._beside is None:
            self._beside = check(self.driver.cuStreamCreate(1))
        check(self.driver.cuMemsetD32Async(address, 1, 1, self._beside))

    def timed(self, work: Callable[[], None]) -> float:
        """The seconds of what `work` starts, by the device's clock. The device is kept busy before,
        so that it waits for the host as little as it does where launches are replayed."""
        driver = self.driver
        first, last = (check(driver.cuEventCreate(0)) for _ in range(2))
        busy = self.allocate(BUSY_BYTES)
        try:
            for _ in range(BUSY_FILLS):
                self.fill(busy, 0, BUSY_BYTES)
            check(driver.cuEventRecord(first, self.stream))
            work()
            check(driver.cuEventRecord(last, self.stream))
            check(driver.cuEventSynchronize(last))
            return float(check(driver.cuEventElapsedTime(first, last))) * 1e-3
        finally:
            self.free(busy)
            for event in (first, last):
                driver.cuEventDestroy(event)

    def finish(self) -> None:
        """Waits for all work of the device, on streams of other libraries too."""
        check(self.driver.cuCtxSynchronize())


def _power(nbytes: int) -> int:
    """The least power of two that holds so many bytes, at least 512."""
    return max((nbytes - 1).bit_length(), 9)


_devices: dict[int, Device] = {}
_lock = Lock()


def devices_in_use() -> list[Device]:
    """The GPUs that this process has used."""
    return list(_devices.values())


def device(ordinal: int = 0) -> Device:
    """The GPU of a number, always the same object. `problem` says whether there can be one."""
    found = _devices.get(ordinal)
    if found is not None:
        return found
    with _lock:
        if ordinal not in _devices:
            _devices[ordinal] = Device(ordinal)
        return _devices[ordinal]


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
