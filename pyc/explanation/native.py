"""A Plan of the CPU compiled and run beside the cache: for measuring, which must neither find nor
leave entries, nor count as a call. And `Bench`: what measuring asks of a machine."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from pyc import backends
from pyc.backends import lapack
from pyc.backends.cpu import Cpu, aligned_bytes
from pyc.forks import compiling
from pyc.ir.plan import CANCELLED, Place, Plan
from pyc.ir.target import Target
from pyc.runtime import call

Array = np.ndarray[Any, Any]


class Timed(Protocol):
    """A Plan ready to run."""

    def run(self, arguments: Sequence[Any], results: Sequence[Any]) -> float:
        """The seconds of one run over blocks of memory.

        raises KeyboardInterrupt; RuntimeError: a check of the program has failed
        """


class Bench(Protocol):
    """A machine to measure: its memory in blocks, and Plans that run on them. routines: whether
    these may call routines of LAPACK."""

    routines: bool

    def program(self, plan: Plan) -> Timed:
        """A Plan, compiled."""

    def block(self, nbytes: int) -> Any:
        """Memory with undefined values."""

    def part(self, block: Any, first: int, nbytes: int) -> Any:
        """Some bytes of a block."""

    def put(self, block: Any, array: Array) -> None:
        """Writes an array's bytes to a block of their number."""

    def copy(self, to: Any, source: Any) -> None:
        """Copies a block to another of its size."""

    def number(self, block: Any, dtype: Any) -> int:
        """The integer that a block begins with."""

    def close(self) -> None:
        """Gives the blocks back."""


class Native:
    """A Plan of one CPU as code of this process. It calls no routines but those of LAPACK."""

    def __init__(self, plan: Plan, target: Target) -> None:
        with compiling:
            self._code = backends.compiler().compile_plan(plan, target)
        routines = {name: lapack.address(name) for name in self._code.externals}
        self._executable = Cpu(routines).load(self._code, plan)
        self._plan = plan
        places = [b for b in plan.buffers if b.place is Place.ARGUMENT]
        self._values = {b.index for b in places if b.scalar}

    def run(self, arguments: Sequence[Array], results: Sequence[Array]) -> float:
        """The seconds of one run, from Python and back.

        raises KeyboardInterrupt; RuntimeError: a check of the program has failed
        """
        given = [np.void(a.tobytes()) if k in self._values else a for k, a in enumerate(arguments)]
        start = perf_counter()
        outcome = call.run(
            self._executable.address,
            given,
            results,
            arena_bytes=self._plan.peak,
            constants=self._executable.constants.ctypes.data,
            externals=self._executable.externals.ctypes.data,
            release=True,
            parallel=self._code.parallel,
        )
        seconds = perf_counter() - start
        if outcome.code == CANCELLED:
            raise KeyboardInterrupt
        if outcome.code:
            raise RuntimeError(f"check {outcome.site} has failed with {outcome.value}")
        return seconds


class Cores:
    """The processor, as what is to be measured."""

    routines = True

    def __init__(self, target: Target) -> None:
        self._target = target

    def program(self, plan: Plan) -> Native:
        """See `Bench`."""
        return Native(plan, self._target)

    def block(self, nbytes: int) -> Array:
        """See `Bench`."""
        return aligned_bytes(max(nbytes, 1))[:nbytes]

    def part(self, block: Array, first: int, nbytes: int) -> Array:
        """See `Bench`."""
        return block[first : first + nbytes]

    def put(self, block: Array, array: Array) -> None:
        """See `Bench`."""
        block[:] = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)

    def copy(self, to: Array, source: Array) -> None:
        """See `Bench`."""
        to[:] = source

    def number(self, block: Array, dtype: Any) -> int:
        """See `Bench`."""
        return int(block[: np.dtype(dtype).itemsize].view(dtype)[0])

    def close(self) -> None:
        """Nothing: blocks are Python's."""
