"""The CPU driver: maps object code, lays out its context, and calls its entry through ctypes.

This is the plain route, always correct and slow; the native dispatcher calls the same entry with
the same context. A call owns its arena, so that calls may run at the same time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pyc.backends.base import Code, Driver, SiteFailed
from pyc.backends.image import Image
from pyc.frozen import frozen, replace
from pyc.ir.plan import (
    ALIGNMENT,
    ARGUMENT_BYTES,
    CANCELLED,
    CONTEXT_FIELDS,
    STREAMED_BYTES,
    Place,
    Plan,
)

Entry = Callable[[int, int, int], int]


@frozen()
class CpuExecutable:
    """Mapped code of a Plan. image keeps the code alive; address: of `entry`; constants: aligned
    bytes; externals: the table of addresses."""

    plan: Plan
    image: Image
    address: int
    constants: np.ndarray[Any, Any]
    externals: np.ndarray[Any, Any]

    def bound(self, sizes: Sequence[int]) -> CpuExecutable:
        """The same code with the sizes that are given in front of its constants."""
        constants = aligned_bytes(self.constants.size)
        constants[:] = self.constants
        constants[: 8 * len(sizes)].view(np.int64)[:] = sizes
        return replace(self, constants=constants)


def aligned_bytes(size: int, alignment: int = ALIGNMENT) -> np.ndarray[Any, Any]:
    """An uninitialised byte array whose address is a multiple of `alignment`."""
    whole = np.empty(size + alignment, np.uint8)
    start = -whole.ctypes.data % alignment
    return whole[start : start + size]


class Cpu(Driver[CpuExecutable]):
    """Runs x86 code in this process.

    routines: addresses of the external routines that code may name; pool, parallel: the worker
    pool and its native `parallel`, 0 to run serially; cancel: address of an i32 flag that stops
    running entries when it is not 0.
    """

    def __init__(
        self,
        routines: Mapping[str, int] | None = None,
        pool: int = 0,
        parallel: int = 0,
        cancel: int = 0,
    ) -> None:
        self._routines = dict(routines or {})
        self._flag = ctypes.c_int32(0)
        self._pool = pool
        self._parallel = parallel
        self._cancel = cancel or ctypes.addressof(self._flag)

    def load(self, code: Code, plan: Plan) -> CpuExecutable:
        """The mapped code; KeyError if a routine that it names has no address."""
        image = Image(*code.objects)
        missing = [name for name in code.externals if name not in self._routines]
        if missing:
            raise KeyError(f"no address for external routines {', '.join(missing)}")
        constants = aligned_bytes(max(len(plan.constants), 1))
        constants[: len(plan.constants)] = np.frombuffer(plan.constants, np.uint8)
        table = np.array([self._routines[n] for n in code.externals] or [0], np.uint64)
        return CpuExecutable(plan, image, image.address("entry"), constants, table)

    def run(
        self, executable: CpuExecutable, arguments: Sequence[Any], results: Sequence[Any]
    ) -> None:
        """Runs the entry once, with an arena of its own. See `Driver.run`."""
        plan = executable.plan
        check_alignment(results)
        arena = aligned_bytes(max(plan.peak, 1))
        context = aligned_bytes(8 * len(CONTEXT_FIELDS)).view(np.int64)
        values = {
            "arena": arena.ctypes.data,
            "pool": self._pool,
            "parallel": self._parallel,
            "cancel": self._cancel,
            "error_site": 0,
            "error_value": 0,
            "externals": executable.externals.ctypes.data,
            "constants": executable.constants.ctypes.data,
        }
        context[:] = [values[name] for name in CONTEXT_FIELDS]
        packed, keep = pack_arguments(plan, arguments)
        outs = np.array([a.ctypes.data for a in results] or [0], np.uint64)
        entry = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)(executable.address)
        answer = entry(context.ctypes.data, packed.ctypes.data, outs.ctypes.data)
        del keep
        if answer == CANCELLED:
            raise KeyboardInterrupt
        if answer != 0:
            value = int(context[CONTEXT_FIELDS.index("error_value")])
            raise SiteFailed(answer - 1, value)


def check_alignment(results: Sequence[Any]) -> None:
    """ValueError if a large result is not aligned as code relies on."""
    for k, a in enumerate(results):
        if a.nbytes >= STREAMED_BYTES and a.__array_interface__["data"][0] % ALIGNMENT:
            raise ValueError(f"result {k} of {a.nbytes} bytes is not aligned to {ALIGNMENT} bytes")


def pack_arguments(plan: Plan, arguments: Sequence[Any]) -> tuple[np.ndarray[Any, Any], list[Any]]:
    """The 16-byte slots of a call, and what must stay alive while it runs.

    An argument whose plan buffer is `scalar` is stored in its slot, with the bytes of its NumPy
    scalar; any other must be a C-ordered array and is passed by address.
    """
    scalars = {b.index for b in plan.buffers if b.place is Place.ARGUMENT and b.scalar}
    packed = np.zeros(max(len(arguments), 1) * ARGUMENT_BYTES, np.uint8)
    keep: list[Any] = []
    for k, argument in enumerate(arguments):
        at = k * ARGUMENT_BYTES
        if k in scalars:
            raw = np.asarray(argument).tobytes()
            packed[at : at + len(raw)] = np.frombuffer(raw, np.uint8)
            continue
        if not argument.flags.c_contiguous:
            raise ValueError(f"argument {k} is not C-ordered")
        packed[at : at + 8] = np.frombuffer(np.uint64(argument.ctypes.data).tobytes(), np.uint8)
        keep.append(argument)
    return packed, keep
