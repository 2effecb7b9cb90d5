"""What a program looks into itself with: checks of its values, and a debugger in the middle of it.

Both happen when the program runs, in its order; outside of a trace they happen at once.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.errors import DTypeError, format_place, raises_for_the_program
from pyc.interpreter import is_tracing, type_of
from pyc.ir import dtype as dt
from pyc.ir.graph import Location
from pyc.trace import branches, host_calls, location, raising
from pyc.trace.telling import Told, telling
from pyc.trace.tracer import Tracer


def check(condition: Any, message: str, *args: Any, **kwargs: Any) -> None:
    """Unless all elements of `condition` are true: AssertionError with the text
    `message.format(*args, **kwargs)`, when the program runs.

    condition: a bool, or an array of them; args, kwargs: arrays and numbers that the text tells
    raises IndexError, KeyError: `message` names an argument that is not given, at once; DTypeError:
    `condition` is not of bools
    """
    anything = host_calls.Anything()
    message.format(*(anything for _ in args), **dict.fromkeys(kwargs, anything))
    if type_of(condition).dtype is not dt.b1:
        raise DTypeError(
            f"debug.check: a condition is a bool or an array of bools, this is "
            f"{type_of(condition)}",
            fix="Compare: `check(x > 0, ...)`.",
            place=location.here(),
        )
    if not is_tracing():
        if not np.all(condition):
            _fail(message, args, kwargs)
        return
    holds = pnp.all(condition)
    if isinstance(holds, Tracer) and holds.known():
        return
    told: list[Told] = []
    with telling(told):
        error = AssertionError(message.format(*args, **kwargs))
    place = location.here()
    raising.check_not_caught(error, place)
    if raising.can_tell(error, told):
        found = raising.raised(error, told, place)
        raising.bind_check(holds, found.bits(), found)
        return

    def failed(*args: Any, **kwargs: Any) -> None:
        _fail(message, args, kwargs)

    def fails() -> None:
        host_calls.called_for_effect("debug.check", failed, args, kwargs)

    branches.cond(holds, lambda: None, fails)


@raises_for_the_program
def _fail(message: str, args: Any, kwargs: Any) -> None:
    raise AssertionError(message.format(*args, **kwargs))


def breakpoint() -> None:
    """Stops in the debugger, by `sys.breakpointhook`, when the program is there. The arrays and
    numbers that the function's variables hold are there under their names."""
    frame = location.user_frame()
    place = location.here()
    if frame is None or place is None or not is_tracing():
        sys.breakpointhook()
        return

    def stop(**values: Any) -> None:
        _stop(place, values)

    host_calls.called_for_effect("debug.breakpoint", stop, (), _variables(frame))


def _variables(frame: FrameType) -> dict[str, Any]:
    """The variables of a function that hold arrays and numbers: those of the frame, and of the
    function around it, where that of a loop or a branch was made of a part of it."""
    whole = frame.f_code.co_qualname, frame.f_code.co_filename
    found: dict[str, Any] = {}
    outer: FrameType | None = frame
    while outer is not None:
        if not location.is_own_frame(outer):
            if (outer.f_code.co_qualname, outer.f_code.co_filename) != whole:
                break
            found = {**outer.f_locals, **found}
        outer = outer.f_back
    return {k: v for k, v in found.items() if k.isidentifier() and _is_shown(v)}


def _is_shown(value: Any) -> bool:
    if isinstance(value, Tracer):
        return value.bound is None and not value.is_lost
    return isinstance(value, (bool, int, float, complex, np.ndarray, np.generic))


def _stop(place: Location, values: dict[str, Any]) -> None:
    """Calls the hook from a frame whose variables are the values."""
    code = compile(
        "\n" * (place.line - 1) + "__import__('sys').breakpointhook()", place.file, "exec"
    )
    exec(code, {**values, "__name__": f"pyc.debug.breakpoint at {format_place(place)}"})


__all__ = ["breakpoint", "check"]
