"""`run`: one call of an entry from Python, for what native calls do not take.

It does what the native dispatcher does, without the checks: the caller has made sure that the
arguments are what the entry was compiled for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pyc.ir.plan import ARGUMENT_BYTES
from pyc.runtime import native, pool


class Outcome(NamedTuple):
    """code: 0, or what the entry returned; site, value: of the error slot, if code is not 0."""

    code: int
    site: int
    value: int


def run(
    entry: int,
    arguments: Sequence[np.ndarray[Any, Any] | np.generic],
    results: Sequence[np.ndarray[Any, Any]],
    *,
    arena_bytes: int = 0,
    constants: int = 0,
    externals: int = 0,
    release: bool = False,
    parallel: bool = True,
) -> Outcome:
    """Runs the entry at address `entry`.

    arguments: arrays (their address goes to the slot) and NumPy scalars (their bytes go there);
    results: arrays that are written; the rest as in `Specialisation`. Raises what a signal handler
    raised before the start.
    """
    slots = np.zeros((len(arguments), ARGUMENT_BYTES), np.uint8)
    for slot, argument in zip(slots, arguments):
        if isinstance(argument, np.generic):
            slot[: argument.itemsize] = np.frombuffer(argument.tobytes(), np.uint8)
        else:
            slot[:8].view(np.int64)[0] = argument.ctypes.data
    addresses = np.array([r.ctypes.data for r in results], np.int64)
    context = (ctypes.c_int64 * 8)(*pool.context_fields(constants, externals, parallel))
    pointers = (ctypes.c_void_p,) * 4
    invoke = native.python_function("invoke", ctypes.c_int32, *pointers, ctypes.c_int32)
    with pool.arena(arena_bytes) as arena:
        context[0] = arena
        where = ctypes.addressof(context), slots.ctypes.data, addresses.ctypes.data
        code = invoke(entry, *where, int(release))
    return Outcome(code, context[4], context[5])
