"""Whether the function that is traced, or one that it calls, may catch an exception: what is around
the user's place."""

from __future__ import annotations

import builtins
import dis
import linecache
import re
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any

from pyc.trace import location

handling: ContextVar[frozenset[int]] = ContextVar("pyc_handling", default=frozenset())
"""Frames, by id, that are in the `except` clause of the `try` at which they stand."""

_MATCH = ("CHECK_EXC_MATCH", "CHECK_EG_MATCH")
_ERRSTATE = re.compile(r"(with\s+)?(\w+\.)*errstate\([^()]*\)(\s+as\s+\w+)?\s*:")
"""The beginning of a `with` that does nothing but to set what NumPy tells about."""
_ENTRY = "pyc.trace.capture"
_IGNORED = ("CACHE", "NOP", "EXTENDED_ARG", "PUSH_NULL")


def is_caught(error: type[BaseException]) -> bool:
    """Whether an `except` clause, or the end of a `with`, may get an exception of this class that
    is raised at the user's place. A clause whose class is not known here may."""
    return any(_has_handler(f, error) for f in _frames())


def _frames() -> Iterator[FrameType]:
    """The user's frames of the trace."""
    frames: list[FrameType] = []
    end = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "capture" and frame.f_globals.get("__name__") == _ENTRY:
            end = len(frames)
        elif not location.is_own_frame(frame):
            frames.append(frame)
        frame = frame.f_back
    yield from frames[:end]


def _has_handler(frame: FrameType, error: type[BaseException]) -> bool:
    """Whether what a function raises at its instruction may be caught in it. `finally` has a
    handler too, which passes it on to those around it."""
    code, offset = frame.f_code, frame.f_lasti
    if not code.co_exceptiontable:
        return False
    instructions = [i for i in dis.get_instructions(code) if i.opname not in _IGNORED]
    entries = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    passed = id(frame) in handling.get()
    seen: set[int] = set()
    while True:
        target = next((e.target for e in entries if e.start <= offset < e.end), None)
        if target is None or target in seen:
            return False
        seen.add(target)
        handler = [i for i in instructions if i.offset >= target]
        if _catches(handler, frame, error) or _may_swallow(code, handler):
            if not passed:
                return True
            passed = False
        offset = target


def _catches(handler: list[dis.Instruction], frame: FrameType, error: type[BaseException]) -> bool:
    """Whether one of the `except` clauses that begin with a handler takes an exception."""
    if [i.opname for i in handler[:2]] == ["PUSH_EXC_INFO", "POP_TOP"]:
        return True
    at = 1
    while True:
        loads = []
        while at < len(handler) and handler[at].opname.startswith(("LOAD", "BUILD_TUPLE")):
            loads.append(handler[at])
            at += 1
        if at < len(handler) and handler[at].opname == "POP_TOP" and at > 1 and not loads:
            return True  # `except:` after other clauses
        if not loads or at >= len(handler) or handler[at].opname not in _MATCH:
            return False
        classes = _classes(loads, frame)
        if classes is None or issubclass(error, classes):
            return True
        jump = handler[at + 1]
        following = [k for k, i in enumerate(handler) if i.offset == jump.argval]
        if not following:
            return False
        at = following[0]


def _classes(loads: list[dis.Instruction], frame: FrameType) -> Any:
    """The class, or the classes, that instructions load; None if that is not known."""
    names: Any = getattr(frame.f_globals, "own", frame.f_globals)
    stack: list[Any] = []
    for i in loads:
        if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            stack.append(names.get(i.argval, getattr(builtins, i.argval, None)))
        elif i.opname == "LOAD_ATTR" and stack:
            stack[-1] = getattr(stack[-1], i.argval, None)
        elif i.opname == "BUILD_TUPLE":
            count = i.argval
            stack[len(stack) - count :] = [tuple(stack[len(stack) - count :])]
        else:
            return None
    found = stack[-1] if len(stack) == 1 else None
    members = found if isinstance(found, tuple) else (found,)
    return found if all(isinstance(m, type) for m in members) else None


def _may_swallow(code: CodeType, handler: list[dis.Instruction]) -> bool:
    """Whether a handler is that of a `with` whose manager may catch: any but `np.errstate`."""
    end = next((i for i in handler[:3] if i.opname == "WITH_EXCEPT_START"), None)
    if end is None or end.positions is None or end.positions.lineno is None:
        return end is not None
    line = linecache.getline(code.co_filename, end.positions.lineno)
    return _ERRSTATE.match(line[end.positions.col_offset :]) is None


__all__ = ["handling", "is_caught"]
