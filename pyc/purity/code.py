"""What a code object says about its function, before the function runs.

Takes code objects, returns the instructions that assign names outside of the function, and refuses
functions whose call does not return their result (generators, coroutines).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from opcode import EXTENDED_ARG, opmap
from types import CodeType, FunctionType, MethodType
from typing import Any

from pyc.errors import PurityError
from pyc.ir.graph import Location
from pyc.purity import frames
from pyc.reasons import Reason
from pyc.trace import location
from pyc.trace.modules import changed_outside

_GLOBAL = (opmap["STORE_GLOBAL"], opmap["DELETE_GLOBAL"])
_YIELD = opmap["YIELD_VALUE"]
_CELL = (opmap["STORE_DEREF"], opmap["DELETE_DEREF"])

_LATER = {
    inspect.CO_GENERATOR: "a generator function",
    inspect.CO_COROUTINE: "a coroutine function",
    inspect.CO_ASYNC_GENERATOR: "an asynchronous generator function",
}


def code_of(function: Any) -> CodeType | None:
    """The code that a call of `function` enters, None if it is not written in Python."""
    while True:
        if isinstance(function, FunctionType):
            return function.__code__
        if isinstance(function, MethodType):
            function = function.__func__
        elif isinstance(function, functools.partial):
            function = function.func
        else:
            called = type(function).__call__
            return called.__code__ if isinstance(called, FunctionType) else None


def instructions(code: CodeType) -> Iterator[tuple[int, int, int]]:
    """Byte offset, operation and argument of each instruction."""
    text = code.co_code
    argument = 0
    for at in range(0, len(text), 2):
        argument |= text[at + 1]
        if text[at] == EXTENDED_ARG:
            argument <<= 8
            continue
        yield at, text[at], argument
        argument = 0


def global_stores(code: CodeType) -> Iterator[tuple[int, str]]:
    """Byte offset and name of each assignment of a global name."""
    for at, operation, argument in instructions(code):
        if operation in _GLOBAL:
            yield at, code.co_names[argument]


def cell_stores(code: CodeType) -> Iterator[tuple[int, str]]:
    """Byte offset and name of each assignment of a name of a surrounding function."""
    own = len(code.co_varnames) + sum(c not in code.co_varnames for c in code.co_cellvars)
    for at, operation, argument in instructions(code):
        if operation in _CELL and argument >= own:
            yield at, code.co_freevars[argument - own]


def check_code(function: Callable[..., Any], name: str, purity: str) -> None:
    """Refuses a function that is to be jitted for what its own code says.

    purity: "strict" raises PurityError with the line; "warn" warns of each, "off" does nothing
    """
    if purity == "off":
        return
    for error in _refusals(function, name):
        if purity == "strict":
            raise error
        frames.warn(error)


def _refusals(function: Callable[..., Any], name: str) -> Iterator[PurityError]:
    """What is wrong with a function that is to be jitted, in the order of its lines."""
    code = code_of(function)
    if code is None:
        return
    for flag, what in _LATER.items():
        if code.co_flags & flag:
            yield PurityError(
                f"{name} is {what}: calling it computes nothing",
                rule=Reason.PURITY_GENERATOR,
                fix="Write a function that returns its results; it may use generators inside.",
                place=_first_place(code),
            )
    for at, variable in global_stores(code):
        yield _assigned(code, at, f"the global name `{variable}`")
    for at, variable in cell_stores(code):
        yield _assigned(code, at, f"`{variable}` of the surrounding function")


def _first_place(code: CodeType) -> Location | None:
    """The first `yield`, or else the first expression."""
    places = [(at, location.locate(code, at)) for at, _, _ in instructions(code)]
    known = [(at, place) for at, place in places if place.column]
    yields = [place for at, place in known if code.co_code[at] == _YIELD]
    return next(iter(yields or (place for _, place in known)), None)


def _assigned(code: CodeType, at: int, what: str) -> PurityError:
    return changed_outside(what, Reason.PURITY_NAME).at(location.locate(code, at))
