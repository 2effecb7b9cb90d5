"""What a backend is: a `Codegen` that turns a Plan into native code, a `Driver` that runs it.

A Code is bytes plus names and can be stored; an Executable holds resources (mapped code, modules)
for as long as it lives. Arrays reach a driver as addresses of C-ordered data on its device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from pyc.frozen import frozen
from pyc.ir.dtype import DType
from pyc.ir.plan import Plan
from pyc.ir.target import Target


@frozen()
class Code:
    """Compiled code of one Plan. object: what the driver loads; externals: names of the routines
    whose addresses the context's table must hold, in order; parallel: whether it calls the
    context's `parallel`; llvm: the text it was made from."""

    object: bytes
    externals: tuple[str, ...]
    parallel: bool
    llvm: str


@frozen()
class TensorMap:
    """What a copy engine knows of a parameter. buffer: its number; dtype, shape: of all of it, in
    rows; box: the elements of one copy along each axis, 128 bytes along the last one, which land
    swizzled."""

    buffer: int
    dtype: DType
    shape: tuple[int, ...]
    box: tuple[int, ...]


@frozen()
class KernelLaunch:
    """How a kernel is launched on a device with blocks. grid: blocks along x, y, z; threads: of a
    block; shared_bytes: shared memory to give it beside its own arrays. Its parameters are the
    buffers' addresses, the sizes, the error slot's address, and `maps` as they stand (128 bytes
    each)."""

    name: str
    grid: tuple[int, int, int]
    threads: int
    shared_bytes: int = 0
    maps: tuple[TensorMap, ...] = ()


class Codegen(ABC):
    """Emits code for one family of targets."""

    @abstractmethod
    def compile_plan(self, plan: Plan, target: Target) -> Code:
        """The code of a Plan whose kernels are scheduled for `target`; equal plans give equal
        bytes."""

    @abstractmethod
    def assembly(self, code: Code, target: Target) -> str:
        """Readable machine code."""


E_ = TypeVar("E_")


class Driver(ABC, Generic[E_]):
    """Loads code of one family of devices and runs it."""

    @abstractmethod
    def load(self, code: Code, plan: Plan) -> E_:
        """An executable that lives as long as it is referenced."""

    @abstractmethod
    def run(self, executable: E_, arguments: Sequence[Any], results: Sequence[Any]) -> None:
        """Runs the entry once. arguments: arrays and scalars in call order; results: C-ordered
        arrays that are filled. Raises `SiteFailed` or `KeyboardInterrupt`."""


class HostStep(ABC):
    """A kernel of a device's Plan that the host runs."""

    @abstractmethod
    def memory(self, nbytes: int) -> np.ndarray[Any, Any]:
        """Bytes of undefined values for a buffer."""

    @abstractmethod
    def run(self, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """Runs the kernel on buffers of bytes, in the order of its parameters. Raises `SiteFailed`
        or `KeyboardInterrupt`."""


class SiteFailed(Exception):
    """A checked site failed: `site` is its number in the Plan, `value` the offending value."""

    def __init__(self, site: int, value: int) -> None:
        super().__init__(f"site {site} failed with value {value}")
        self.site = site
        self.value = value
