"""What starting the kernels of a device's Plan takes: `KernelLaunch`, `HostKernel`, `HostStep`.

All of it but a `HostStep` is data that the cache can keep in place of the kernels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.frozen import frozen, replace
from pyc.ir.dtype import DType
from pyc.ir.formula import Formula, value

BEGIN, WAIT = "griddepcontrol.launch_dependents;", "griddepcontrol.wait;"
"""What PTX says where the next kernel may be launched, and where this one waits for the one before
(see `KernelLaunch.early`)."""


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
    block; shared_bytes: shared memory to give it beside its own arrays; cluster: blocks along x
    that run at the same time; sites: those that can fail; blocks: what `grid` will be, while it
    depends on sizes that are not known; early: it waits itself for the kernel before, so it may be
    launched while that runs; values: the buffers whose elements it may be given by value, their
    addresses being null (`ir/by_value`). Its parameters are the buffers' addresses, the sizes, the
    error slot's address, a word for each of `values`, and `maps` as they stand (128 bytes each)."""

    name: str
    grid: tuple[int, int, int]
    threads: int
    shared_bytes: int = 0
    maps: tuple[TensorMap, ...] = ()
    cluster: int = 1
    sites: tuple[int, ...] = ()
    blocks: tuple[Formula, ...] = ()
    early: bool = False
    values: tuple[int, ...] = ()

    def bound(self, sizes: Sequence[int]) -> KernelLaunch:
        """The launch for these sizes of its kernel."""
        if not self.blocks:
            return self
        x, y, z = (value(b, sizes) for b in self.blocks)
        return replace(self, grid=(x, y, z), blocks=())


@frozen()
class HostKernel:
    """A logical kernel that the host runs, as text. roles: of its buffers; arguments: how many of
    these are the Plan's: those beyond are scratch."""

    text: str
    roles: tuple[str, ...]
    arguments: int


class HostStep(ABC):
    """A kernel or a routine of a device's Plan that the host runs. roles: of its buffers, "work"
    for those that it has for itself."""

    roles: Sequence[str]

    @abstractmethod
    def memory(self, nbytes: int) -> np.ndarray[Any, Any]:
        """Bytes of undefined values for a buffer."""

    @abstractmethod
    def run(self, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """Runs the step on buffers of bytes, in the order of its parameters. Raises `SiteFailed`
        or `KeyboardInterrupt`."""
