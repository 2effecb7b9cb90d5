"""The structures that Python and the runtime's native text share, each described once.

Python fills and reads them through ctypes; `definitions()` is the same structures as LLVM types
(`%record`), and `PLACES` the number of each field under the name that the text has for it
(`$record_entry`).
"""

from __future__ import annotations

import ctypes
from typing import Any

from pyc.ir.plan import CONTEXT_FIELDS

MAXIMUM_THREADS = 256
"""Threads of a pool at most, the caller included."""

MASK_BYTES = 128
"""Bytes of a set of processors as the kernel takes it: 1,024 of them."""


class Worker(ctypes.Structure):
    """A worker of the pool. last: the region that it saw when it was started."""

    _fields_ = (
        *(("thread", ctypes.c_int64), ("pool", ctypes.c_void_p), ("number", ctypes.c_int32)),
        *(("last", ctypes.c_int32), ("pinned", ctypes.c_int32), ("unused", ctypes.c_int32)),
        ("processors", ctypes.c_uint8 * MASK_BYTES),
    )


class Pool(ctypes.Structure):
    """The pool, by cache lines: state; next task; what runs; lock; who sleeps or has to stop;
    settings; counts; then the workers."""

    _fields_ = (
        *(("state", ctypes.c_int64), ("pad0", ctypes.c_int64 * 7)),
        *(("next", ctypes.c_int64), ("pad1", ctypes.c_int64 * 7)),
        *(("function", ctypes.c_void_p), ("frame", ctypes.c_void_p), ("tasks", ctypes.c_int64)),
        *(("run", ctypes.c_int64), ("pad2", ctypes.c_int64 * 4)),
        *(("lock", ctypes.c_int32), ("pad3", ctypes.c_int32 * 15)),
        *(("sleepers", ctypes.c_int32), ("caller_asleep", ctypes.c_int32)),
        *(("stop", ctypes.c_int32), ("pad4", ctypes.c_int32 * 13)),
        *(("wanted", ctypes.c_int32), ("started", ctypes.c_int32), ("longest", ctypes.c_int64)),
        *(("pad5", ctypes.c_int64 * 6), ("regions", ctypes.c_int64), ("busy", ctypes.c_int64)),
        *(("helped", ctypes.c_int64), ("slept", ctypes.c_int64), ("pad6", ctypes.c_int64 * 4)),
        ("workers", Worker * MAXIMUM_THREADS),
    )


class RecordFields(ctypes.Structure):
    """A specialisation as native calls see it; `owner` is the Python object around it."""

    _fields_ = (
        *(("next", ctypes.c_void_p), ("arguments", ctypes.c_int64), ("names", ctypes.c_void_p)),
        *(("valid", ctypes.c_void_p), ("entry", ctypes.c_void_p), ("flags", ctypes.c_int64)),
        *(("calls", ctypes.c_int64), ("owner", ctypes.c_void_p), ("step_count", ctypes.c_int64)),
        *(("steps", ctypes.c_void_p), ("result_count", ctypes.c_int64)),
        *(("results", ctypes.c_void_p), ("arena_bytes", ctypes.c_int64)),
        *(("failure", ctypes.c_void_p), ("wrap", ctypes.c_void_p), ("values", ctypes.c_int64)),
        ("context", ctypes.c_int64 * 8),
    )


class Step(ctypes.Structure):
    """What a call's object must be, and where its value goes: see `text_match.KINDS`."""

    _fields_ = (
        *(("kind", ctypes.c_int64), ("position", ctypes.c_int64), ("object", ctypes.c_void_p)),
        *(("slot", ctypes.c_int64), ("type", ctypes.c_void_p), ("identity", ctypes.c_void_p)),
        *(("low", ctypes.c_int64), ("high", ctypes.c_int64), ("more", ctypes.c_void_p)),
    )


class Result(ctypes.Structure):
    """An array to be made for a result; maker: what makes it, null for NumPy's own allocation,
    `aligned`: of so many bytes from the start of a line of the caches on, 0 for wherever it is.
    Without dimensions, and with any maker, it is a donated array: value number `rank`."""

    _fields_ = (
        *(("descriptor", ctypes.c_void_p), ("rank", ctypes.c_int64)),
        *(("dimensions", ctypes.c_void_p), ("maker", ctypes.c_void_p)),
        ("aligned", ctypes.c_int64),
    )


class Arena(ctypes.Structure):
    """Memory that one call at a time may claim."""

    _fields_ = (("claimed", ctypes.c_int64), ("nbytes", ctypes.c_int64), ("data", ctypes.c_void_p))


STRUCTURES: dict[str, type[ctypes.Structure]] = {
    "worker": Worker,
    "pool": Pool,
    "record": RecordFields,
    "step": Step,
    "result": Result,
    "arena": Arena,
}
"""The structures under the names that the native text has for them, inner ones first."""


def places(table: dict[str, type[ctypes.Structure]]) -> dict[str, int]:
    """The numbers of fields, under the names that the native text has for them."""
    return {
        f"{name}_{field[0]}": place
        for name, structure in table.items()
        for place, field in enumerate(structure._fields_)
    }


PLACES = places(STRUCTURES) | {f"context_{name}": k for k, name in enumerate(CONTEXT_FIELDS)}
"""The numbers of fields, and of a context's words, under the names that the native text has."""

_LLVM: dict[Any, str] = {
    ctypes.c_int64: "i64",
    ctypes.c_int32: "i32",
    ctypes.c_uint8: "i8",
    ctypes.c_void_p: "ptr",
} | {structure: f"%{name}" for name, structure in STRUCTURES.items()}


def _llvm(kind: Any) -> str:
    if issubclass(kind, ctypes.Array):
        return f"[{kind._length_} x {_llvm(kind._type_)}]"
    return _LLVM[kind]


def definitions(table: dict[str, type[ctypes.Structure]] = STRUCTURES) -> str:
    """The structures as LLVM types, a line each."""
    return "\n".join(
        f"%{name} = type {{ {', '.join(_llvm(field[1]) for field in structure._fields_)} }}"
        for name, structure in table.items()
    )
