"""What an operation was given when it was refused, and where each of that came from: lines of
the error's text.

Takes the traceback of an error; the first function of pyc behind the user's line is what the user
called, and the traced values among its arguments are what it was given.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from pyc.trace.location import is_own
from pyc.trace.tracer import Tracer

SHOWN = 4
"""More operands than that are not described."""


def operands(traceback: TracebackType | None) -> str:
    """Where the traced arguments of the refused call came from; empty if it has none."""
    called: list[FrameType] | None = None
    while traceback is not None:
        if not is_own(traceback.tb_frame.f_code.co_filename):
            called = []
        elif called is not None:
            called.append(traceback.tb_frame)
        traceback = traceback.tb_next
    for frame in called or ():
        found = {x.value: x for x in _traced(_arguments(frame))}
        if found:
            texts = [x.owner.describe(value) for value, x in list(found.items())[:SHOWN]]
            more = ["..."] if len(found) > SHOWN else []
            return "given: " + ";\n       ".join([*dict.fromkeys(texts), *more])
    return ""


def _arguments(frame: FrameType) -> list[Any]:
    code, values = frame.f_code, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return [values[name] for name in code.co_varnames[:count] if name in values]


def _traced(values: Any) -> Iterator[Tracer]:
    """The arrays and numbers among values and what they hold that depend on an argument."""
    for value in values:
        if type(value) is Tracer:
            if value.owner.known(value.value) is None:
                yield value
        elif type(value) in (tuple, list):
            yield from _traced(value)
        elif type(value) is dict:
            yield from _traced(value.values())
