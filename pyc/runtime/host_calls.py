"""Answers calls from native code back into Python.

    with answering(calls) as answered:      calls: equations by their number
        code = entry(...)                   FAILED if a call has raised: `answered.error`

The calls come on the thread that runs the entry, with or without the GIL (ctypes takes it), and
outside of all kernels: what they call may itself run programs, the same one included.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import local
from typing import Any

import numpy as np

from pyc.errors import format_place
from pyc.ir.graph import Eqn, Graph, HostCall, equations_of
from pyc.ir.op import Kind
from pyc.ir.ops.host import ROUTINE
from pyc.ir.types import ArrayType

Array = np.ndarray[Any, Any]
FAILED = -4
"""What an entry returns if a call has raised."""


def calls_of(graph: Graph) -> dict[int, Eqn]:
    """The calls of a traced Graph by their number."""
    return {
        e.params["number"]: e
        for e in equations_of(graph)
        if e.op.kind is Kind.LIBRARY and isinstance(e.loc, HostCall)
    }


class Answered:
    """The calls of one run. error: what the last one has raised, None if nothing."""

    def __init__(self, calls: Mapping[int, Eqn]) -> None:
        self.calls = calls
        self.error: BaseException | None = None


_running = local()
"""stack: an `Answered` for each program that this thread runs, one called by the other."""


@contextmanager
def answering(calls: Mapping[int, Eqn]) -> Iterator[Answered]:
    """Inside the block calls of this thread are those of one program."""
    stack: list[Answered] = _running.__dict__.setdefault("stack", [])
    answered = Answered(calls)
    stack.append(answered)
    try:
        yield answered
    finally:
        stack.pop()


def answer(number: int, arguments: Sequence[Array]) -> list[Array]:
    """The results of a call of the program that this thread runs; raises what the function does."""
    found: list[Array] = _running.stack[-1].calls[number].answer(arguments)
    return found


def _array(address: int | None, type: ArrayType) -> Array:
    """A copy of what lies at an address: the function may keep it."""
    found = np.empty(type.shape, type.dtype.numpy)
    if found.nbytes:
        ctypes.memmove(found.ctypes.data, address or 0, found.nbytes)
    return found


def _answer(context: int, slots: Any, integers: Any) -> int:
    answered: Answered = _running.stack[-1]
    eqn = answered.calls[integers[0]]
    try:
        given = [_array(slots[k], a.type) for k, a in enumerate(eqn.args)]
        for k, out in enumerate(eqn.answer(given), len(eqn.args)):
            if out.nbytes:
                ctypes.memmove(slots[k], out.ctypes.data, out.nbytes)
    except BaseException as error:  # of the user's code; the caller of the entry raises it
        if eqn.loc is not None:
            error.add_note(f"in a function that is called back at {format_place(eqn.loc)}")
        answered.error = error
        return FAILED
    return 0


_native_answer = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    *(ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64)),
)(_answer)
ROUTINES: dict[str, int] = {ROUTINE: ctypes.cast(_native_answer, ctypes.c_void_p).value or 0}
"""The address of the routine that native code calls, by its name."""
