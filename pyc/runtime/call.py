"""`run`: one call of an entry from Python, for what native calls do not take.

It does what the native dispatcher does, without the checks: the caller has made sure that the
arguments are what the entry was compiled for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyc.frozen import frozen
from pyc.ir.plan import ARGUMENT_BYTES
from pyc.runtime import native, pool


@frozen()
class Outcome:
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
    slots = b"".join(map(_slot, arguments))
    addresses = _words(*(_address(r) for r in results))
    context = _words(*pool.context_fields(constants, externals, parallel))
    with pool.arena(arena_bytes) as arena:
        context[0] = arena
        code = _invoke()(entry, context, slots, addresses, release)
    return Outcome(code, context[4], context[5])


def _invoke() -> Callable[..., int]:
    pointers = (ctypes.c_void_p,) * 4
    return native.python_function("invoke", ctypes.c_int32, *pointers, ctypes.c_int32)


def _address(array: np.ndarray[Any, Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _slot(argument: np.ndarray[Any, Any] | np.generic) -> bytes:
    if isinstance(argument, np.generic):
        return argument.tobytes().ljust(ARGUMENT_BYTES, b"\0")
    return _address(argument).to_bytes(ARGUMENT_BYTES, "little")


def _words(*values: int) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * len(values))(*values)
