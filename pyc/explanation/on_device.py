"""A Plan of a GPU loaded and run beside the cache: for measuring, as `native` does it for the CPU.

Work is timed by the device's own clock, behind work that keeps it busy while the host starts all of
it: launches follow each other as they do in a program that is replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pyc import compile_cuda
from pyc.backends.base import SiteFailed
from pyc.backends.cuda import Device
from pyc.ir.plan import Plan

Array = np.ndarray[Any, Any]


class Block(NamedTuple):
    """Memory of a device."""

    address: int
    nbytes: int


class OnDevice:
    """A Plan of a GPU as a program of this process."""

    def __init__(self, plan: Plan, device: Device) -> None:
        self._program = compile_cuda.load(plan, device)[1]

    def run(self, arguments: Sequence[Block], results: Sequence[Block]) -> float:
        """See `Timed`."""
        given, made = [a.address for a in arguments], [r.address for r in results]
        try:
            return self._program.device.timed(lambda: self._program.run(given, made))
        except SiteFailed as error:
            failed = f"check {error.site} has failed with {error.value}"
            raise RuntimeError(failed) from None


class Blocks:
    """A GPU, as what is to be measured. Its memory is freed by `close`."""

    routines = False

    def __init__(self, device: Device) -> None:
        self.device = device
        self._owned: list[int] = []
        device.enter()

    def program(self, plan: Plan) -> OnDevice:
        """See `Bench`."""
        return OnDevice(plan, self.device)

    def block(self, nbytes: int) -> Block:
        """See `Bench`."""
        self._owned.append(self.device.allocate(max(nbytes, 1)))
        return Block(self._owned[-1], nbytes)

    def part(self, block: Block, first: int, nbytes: int) -> Block:
        """See `Bench`."""
        return Block(block.address + first, nbytes)

    def put(self, block: Block, array: Array) -> None:
        """See `Bench`."""
        self.device.upload(block.address, np.ascontiguousarray(array))

    def copy(self, to: Block, source: Block) -> None:
        """See `Bench`."""
        self.device.copy(to.address, source.address, to.nbytes)

    def number(self, block: Block, dtype: Any) -> int:
        """See `Bench`."""
        found = np.empty(1, dtype)
        self.device.download(found, block.address)
        return int(found[0])

    def close(self) -> None:
        """Frees the blocks."""
        while self._owned:
            self.device.free(self._owned.pop())
