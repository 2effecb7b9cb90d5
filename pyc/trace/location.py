"""Where the user is: the nearest line outside pyc (and NumPy) on the stack or in a traceback, and
tracebacks that end there.

Takes frames, returns `Location`s with file, line, function and columns. A `Locator` belongs to one
trace and remembers what it looked up, so that a place costs well under a microsecond: finding the
line of an instruction is linear in the size of the function.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from functools import wraps
from itertools import islice
from opcode import opmap
from types import CodeType, FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar

import numpy

from pyc import config
from pyc.errors import CompileError, PycError, VerificationError, is_of_the_program
from pyc.ir.graph import Location

# As code objects name their files: not resolved, since a package may be reached by a link.
_OWN = os.path.dirname(os.path.dirname(__file__))
_OUTSIDE = (os.path.join(_OWN, "demo"),)
"""Inside the package, but user code all the same."""
_SKIPPED = tuple(
    os.path.join(os.path.dirname(file), "") for file in (numpy.__file__, os.path.join(_OWN, "x"))
)

_LIBRARY = os.path.join(os.path.dirname(os.__file__), "")
_INSTALLED = f"{os.sep}site-packages{os.sep}"

_MERGE = os.path.join(os.path.dirname(__file__), "merge.py")
"""Where the branches on traced values are traced."""

_FRONT = os.path.join(_OWN, "trace", "")
_RAISE = opmap["RAISE_VARARGS"]

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

_is_own: dict[str, bool] = {}
_own_modules: dict[str, bool] = {}
_name_of = dict.get
_callers: set[CodeType] = set()
"""The code of functions that `calls_the_user`."""


def is_own(file: str) -> bool:
    """Whether frames of `file` are left out of locations."""
    found = _is_own.get(file)
    if found is None:
        found = file.startswith(_SKIPPED) and not file.startswith(_OUTSIDE)
        _is_own[file] = found
    return found


def locate(code: CodeType, instruction: int) -> Location:
    """The place of the instruction at byte offset `instruction`."""
    positions = next(islice(code.co_positions(), instruction // 2, None))
    return _location(code, positions)


def _location(code: CodeType, positions: tuple[int | None, ...]) -> Location:
    line, end_line, column, end_column = positions
    if column is None or end_column is None:
        return Location(code.co_filename, line or code.co_firstlineno, code.co_name)
    end = end_column + 1 if end_line == line else 0
    return Location(code.co_filename, line or code.co_firstlineno, code.co_name, column + 1, end)


def is_own_frame(frame: FrameType) -> bool:
    """Whether a frame is left out of locations.

    The name of its module tells in most cases. (Reading `f_code` is an audit event, which costs
    more than all the rest where somebody listens, as `pyc.purity` does.)
    """
    name = _name_of(frame.f_globals, "__name__", "")
    own = _own_modules.get(name)
    if own is None:
        own = is_own(frame.f_code.co_filename)
        if name != "__main__":
            _own_modules[name] = own
    return own


def user_frame() -> FrameType | None:
    """The nearest frame that is not pyc's own, None if there is none."""
    frame: FrameType | None = sys._getframe(1)
    own = _own_modules
    while frame is not None:
        if not own.get(_name_of(frame.f_globals, "__name__", "")) and not is_own_frame(frame):
            return frame
        frame = frame.f_back
    return None


def here() -> Location | None:
    """The user's place now, for messages: where they call the standard library, if that is in
    between."""
    frame = nearest = user_frame()
    while frame is not None and is_of_python(frame.f_code.co_filename):
        frame = frame.f_back
        while frame is not None and is_own_frame(frame):
            frame = frame.f_back
    frame = frame or nearest
    return None if frame is None else locate(frame.f_code, frame.f_lasti)


def is_of_python(file: str) -> bool:
    """Whether a file is of the standard library."""
    return file.startswith((_LIBRARY, "<frozen")) and _INSTALLED not in file


def of_traceback(traceback: TracebackType | None) -> Location | None:
    """The innermost place of the user's in a traceback."""
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        file = code.co_filename
        if not is_own(file) and (found is None or not is_of_python(file)):
            found = (code, traceback.tb_lasti)
        traceback = traceback.tb_next
    return None if found is None else locate(*found)


def of_recursion(traceback: TracebackType | None) -> Location | None:
    """Where the first function of the user's that calls itself in a traceback does so; None if no
    branch on a traced value is between."""
    frames: list[tuple[CodeType, int]] = []
    branches = 0
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_own(code.co_filename):
            frames.append((code, traceback.tb_lasti))
        branches += code.co_filename == _MERGE
        traceback = traceback.tb_next
    counts = Counter(code for code, _ in frames)
    found = next((frame for frame in frames if counts[frame[0]] > 2), None)
    return None if found is None or not branches else locate(*found)


def trim(error: Exception) -> None:
    """Takes pyc's own frames out of an error's traceback, where they tell the user nothing.

    Those between frames of the user's go always; those behind the last one go if the error is a
    refusal, which names the user's line, if a check of the program raises it, if Python could not
    call the user's function with these arguments, or if traced values raise it on purpose, as
    NumPy's arrays do. What else is raised inside pyc keeps them: it may be a mistake in pyc. Errors
    that are one keep all, and so does PYC_DEBUG=1. To be called where the error leaves pyc, before
    a bare `raise`.
    """
    if config.current().debug or isinstance(error, (CompileError, VerificationError)):
        return
    entries: list[TracebackType] = []
    traceback = error.__traceback__
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    kept = None
    meant = bool(entries) and (
        entries[-1].tb_frame.f_code in _callers or _is_on_purpose(error, entries[-1])
    )
    behind = not (meant or isinstance(error, PycError) or is_of_the_program(error))
    seen = _seen(entries)
    for entry in reversed(entries):
        behind = behind and entry not in seen
        if behind or entry in seen:
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    error.__traceback__ = kept


def _seen(entries: list[TracebackType]) -> list[TracebackType]:
    """The entries of a traceback that the user knows of: not pyc's own, nor those of Python's
    library that pyc itself has called."""
    found, by_own = [], False
    for entry in entries:
        file = entry.tb_frame.f_code.co_filename
        by_own = is_own(file) or (by_own and is_of_python(file))
        if not by_own:
            found.append(entry)
    return found


def _is_on_purpose(error: Exception, last: TracebackType) -> bool:
    """Whether a `raise` of what stands for the user's values raised an error, where it was raised
    last; what a mistake raises, Python raises itself."""
    code = last.tb_frame.f_code
    raised = code.co_code[last.tb_lasti] == _RAISE and code.co_filename.startswith(_FRONT)
    return raised and isinstance(error, (AttributeError, LookupError, TypeError, ValueError))


def trimmed(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, a door of pyc, with the tracebacks of what it raises trimmed."""

    @wraps(function)
    def door(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            trim(error)
            raise

    return door


def calls_the_user(function: F) -> F:
    """Marks a function of pyc that does little more than call a function of the user's."""
    _callers.add(function.__code__)
    return function


def of_function(function: object) -> Location | None:
    """Where a function is defined, None if it is not written in Python."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return None
    return Location(code.co_filename, code.co_firstlineno, code.co_name)


class Locator:
    """Places of one trace."""

    def __init__(self) -> None:
        # Keyed by id: hashing a code object walks its constants. The code is kept alive beside.
        self._codes: dict[int, tuple[CodeType, list[tuple[int | None, ...]]]] = {}
        self._places: dict[tuple[int, int], Location] = {}

    def here(self) -> Location | None:
        """The user's place now."""
        frame = user_frame()
        if frame is None:
            return None
        code = frame.f_code
        key = (id(code), frame.f_lasti)
        place = self._places.get(key)
        if place is None:
            if key[0] not in self._codes:
                self._codes[key[0]] = (code, list(code.co_positions()))
            place = _location(code, self._codes[key[0]][1][key[1] // 2])
            self._places[key] = place
        return place
