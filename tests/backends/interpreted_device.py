"""A device of the tests: memory of this process, and kernels run by the kernel interpreter.

It stands where the CUDA driver stands, so that what `CudaProgram` does around the kernels (its
parameter blocks, copies, steps of the host, loops, error slots, frames) runs without a GPU. It
shows nothing about a GPU. Parameters are decoded from memory as the driver does it: an array of
pointers, each to eight bytes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from pyc.backends.base import HostStep, KernelLaunch, SiteFailed
from pyc.backends.cuda_program import CudaProgram
from pyc.compile_host import HostStep as NativeStep
from pyc.frozen import replace
from pyc.ir.graph import Graph
from pyc.ir.loops import Kernel
from pyc.ir.plan import Plan, launches_of
from pyc.ir.simulate import run
from pyc.ir.target import SM_90, Target
from pyc.passes import optimise
from pyc.passes.memory import plan

Array = np.ndarray[Any, Any]
ALL_ON_HOST: Target = replace(SM_90, parameter_bytes=0)
"""A device that cannot launch any kernel, but for those made by hand."""
ALIGNMENT = 256
_POISON = 0xCB


class InterpretedDevice:
    """What `CudaProgram` asks of a `Device`."""

    def __init__(self, target: Target = SM_90) -> None:
        self.target = target
        self.ordinal = 0
        self.name = "interpreted"
        self.capability = 90
        self.label = "cuda:0"
        self.stream = 0
        self.driver = self
        self.kernels: dict[int, Kernel] = {}
        self.memory: dict[int, Array] = {}
        self.launched = 0
        self._lock = Lock()

    # --- what the driver's package has --------------------------------------------------------

    def cuModuleLoadData(self, image: bytes) -> tuple[int, int]:
        """The module is the number of the first of its kernels."""
        return 0, int(image)

    def cuModuleGetFunction(self, module: int, name: bytes) -> tuple[int, int]:
        """Kernels are named k0, k1 ..."""
        return 0, module + int(name[1:])

    def cuModuleUnload(self, module: int) -> tuple[int]:
        """Forgets nothing: other programs count on the numbers."""
        return (0,)

    # --- what a Device has --------------------------------------------------------------------

    def enter(self) -> None:
        """Nothing: there is no context."""

    def synchronize(self) -> None:
        """Nothing: work is done at once."""

    def allocate(self, nbytes: int) -> int:
        """The address of poisoned memory."""
        size = max(nbytes, 16)
        whole = np.full(size + ALIGNMENT, _POISON, np.uint8)
        address = int(whole.ctypes.data)
        address += -address % ALIGNMENT
        self.memory[address] = whole
        return address

    def free(self, address: int, nbytes: int | None = None) -> None:
        """Poisons memory and lets it go; KeyError for what was not allocated."""
        self.memory.pop(address)[:] = _POISON

    pinned, unpin = allocate, free

    def upload(self, address: int, array: Array) -> None:
        """Copies to the device."""
        _bytes(address, array.nbytes)[:] = np.frombuffer(array.tobytes(), np.uint8)

    write = upload

    def read(self, array: Array, address: int) -> None:
        """Copies from the device."""
        array.reshape(-1).view(np.uint8)[:] = _bytes(address, array.nbytes)

    download = read

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        """Sets memory."""
        _bytes(address, nbytes)[:] = byte

    def copy(self, destination: int, source: int, nbytes: int) -> None:
        """Copies within the device."""
        _bytes(destination, nbytes)[:] = _bytes(source, nbytes).copy()

    def launch(self, function: int, *rest: Any) -> int:
        """Runs a kernel; a failure lowers its words of the error slot."""
        pointers = rest[8]
        kernel = self.kernels[function]
        count = len(kernel.buffers) + len(kernel.sizes) + 1
        addresses = (ctypes.c_void_p * count).from_address(pointers)
        values = [ctypes.c_uint64.from_address(a or 0).value for a in addresses]
        arrays = []
        for address, b in zip(values, kernel.buffers, strict=False):
            shape = tuple(d for d in b.shape if isinstance(d, int))
            nbytes = int(np.prod(shape, dtype=np.int64)) * b.dtype.itemsize
            arrays.append(_bytes(address, nbytes).view(b.dtype.numpy).reshape(shape))
        with self._lock:  # as work of one stream
            self.launched += 1
            outcome = run(kernel, arrays, values[len(arrays) : -1])
        if outcome.failed is not None:
            site, value = outcome.failed
            slot = _bytes(values[-1], 8 * (2 + site)).view(np.uint64)
            slot[0] = min(int(slot[0]), site)
            slot[1 + site] = min(int(slot[1 + site]), value % 2**64)
        return 0


def _bytes(address: int, nbytes: int) -> Array:
    if not nbytes:
        return np.empty(0, np.uint8)
    return np.frombuffer((ctypes.c_uint8 * nbytes).from_address(address), np.uint8)


def loaded(program: Plan, on: InterpretedDevice) -> CudaProgram:
    """A Plan on the device, as `compile_cuda.load` does it."""
    counts = {s.kernel: len(s.slots) for s in launches_of(program.steps) if s.host}
    host: dict[int, HostStep] = {
        k: NativeStep(program.kernels[k], n, "test") for k, n in counts.items()
    }
    first = len(on.kernels) + 1
    launches: dict[int, KernelLaunch] = {}
    for number, kernel in enumerate(program.kernels):
        if number not in host:
            launches[number] = KernelLaunch(f"k{len(launches)}", (1, 1, 1), 32)
            on.kernels[first + len(launches) - 1] = kernel
    image = str(first).encode() if launches else b""
    return CudaProgram(program, launches, image, on, host)  # type: ignore[arg-type]


def call(program: CudaProgram, arguments: Sequence[Array], graph: Graph) -> list[Array]:
    """Results of one call. SiteFailed if a check fails; all memory of the call is freed."""
    on: Any = program.device
    places = [on.allocate(a.nbytes) for a in arguments]
    results = [on.allocate(v.type.nbytes) for v in graph.results]
    try:
        for place, a in zip(places, arguments, strict=True):
            on.upload(place, np.ascontiguousarray(a))
        program(places, results)
        outs = [np.empty(v.shape, v.dtype.numpy) for v in graph.results]
        for out, place in zip(outs, results, strict=True):
            on.download(out, place)
        return outs
    finally:
        for place in (*places, *results):
            on.free(place)


def on_device(graph: Graph, arguments: Sequence[Array], target: Target = SM_90) -> list[Array]:
    """Results of a traced Graph on a new device of `target`."""
    planned = plan(optimise(graph), target, check=True).plan
    return call(loaded(planned, InterpretedDevice(target)), arguments, graph)


__all__ = ["ALL_ON_HOST", "InterpretedDevice", "SiteFailed", "call", "loaded", "on_device"]
