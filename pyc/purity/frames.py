"""Whose doing something is: the user's frame that it comes from.

Takes the stack as it is, returns the nearest frame of the user's code through frames of libraries,
or None where pyc itself, an import, or the end of an object is behind it.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from types import CodeType, FrameType
from typing import Any

import numpy

from pyc.errors import PurityError, PurityWarning
from pyc.ir.graph import Location
from pyc.trace import location
from pyc.trace.users_code import is_users

# As code objects name their files: not resolved, since a package may be reached by a link.
_NUMPY = os.path.join(os.path.dirname(numpy.__file__), "")
_PYC = os.path.dirname(os.path.dirname(__file__))
_DOORS = tuple(
    os.path.join(_PYC, part, f"{name}.py")
    for part, names in {
        "trace": (
            "branches",
            "comprehensions",
            "control",
            "decisions",
            "filtered",
            "folding",
            "loop_for",
            "loop_statements",
            "loop_while",
            "operand_trees",
            "rolled",
            "sequences",
            "dispatch",
            "functions",
            "modules",
            "namespace",
            "numpy_module",
            "python_builtins",
            "views",
        ),
        "purity": ("standins", "views"),
    }.items()
    for name in names
)
"""Files of pyc that only hand on what the user called."""
_ENDS = ("__del__", "finalize.__call__")
"""Functions that run because an object ends, which may be at any time."""
_LIBRARY = os.path.join(os.path.dirname(os.__file__), "")
_READERS = (
    *("linecache.py", "tokenize.py", "inspect.py"),
    os.path.join("importlib", "_bootstrap.py"),
    os.path.join("importlib", "_bootstrap_external.py"),
)
"""Files of the standard library that read sources and byte code."""

_kinds: dict[str, str] = {}


def kind(file: str) -> str:
    """Whose file it is: "numpy", "door" or "own" (of pyc), "reader", or "other"."""
    found = _kinds.get(file)
    if found is None:
        found = _kinds[file] = _kind(file)
    return found


def _kind(file: str) -> str:
    if file.startswith(_NUMPY):
        return "numpy"
    if location.is_own(file):
        return "door" if file in _DOORS else "own"
    if file.startswith("<frozen importlib"):
        return "reader"
    if file.startswith(_LIBRARY) and file[len(_LIBRARY) :] in _READERS:
        return "reader"
    return "other"


def behind(frame: FrameType | None) -> FrameType | None:
    """The user's frame behind what `frame` does, None if it is not the user's doing."""
    found = None
    while frame is not None:
        code = frame.f_code
        whose = kind(code.co_filename)
        if whose == "own":
            return found  # what runs the function, or pyc's own work
        if found is None and whose == "reader":
            return None
        if code.co_qualname in _ENDS or code.co_name in _ENDS or _comes_at_any_time(code):
            return None
        if found is None and whose == "other" and is_users(frame.f_globals):
            found = frame
        loading = code.co_name == "<module>"
        frame = frame.f_back
        if loading and frame is not None and kind(frame.f_code.co_filename) == "reader":
            return None  # a module, once in the process
    return found


def asking(frame: FrameType | None) -> FrameType | None:
    """The frame that asks for the lines of a file which is no source, where such is read."""
    while frame is not None and in_library(frame.f_code) in ("linecache.py", "tokenize.py"):
        frame = frame.f_back
    return frame


def nearest(frame: FrameType | None) -> FrameType | None:
    """The nearest frame of the user's code, whoever is between."""
    while frame is not None and not (
        kind(frame.f_code.co_filename) == "other" and is_users(frame.f_globals)
    ):
        frame = frame.f_back
    return frame


def _comes_at_any_time(code: CodeType) -> bool:
    """Whether a function was called by the garbage collector, for an error that nobody can catch,
    or as the handler of a signal."""
    signal: Any = sys.modules.get("signal")  # not loaded, it has installed none
    handlers = map(signal.getsignal, signal.valid_signals()) if signal is not None else ()
    called: tuple[Any, ...] = (*gc.callbacks, sys.unraisablehook, *handlers)
    return any(getattr(getattr(f, "func", f), "__code__", None) is code for f in called)


def place_of(frame: FrameType) -> Location:
    """Where a frame is."""
    return location.locate(frame.f_code, frame.f_lasti)


def warn(error: PurityError) -> None:
    """A warning with the text of a refusal, at the user's line."""
    place = error.place
    file, line = ("unknown", 0) if place is None else (place.file, place.line)
    warnings.warn_explicit(PurityWarning(str(error)), PurityWarning, file, line)


def in_library(code: CodeType) -> str | None:
    """The path of a file of the standard library below its directory, None for other files."""
    file = code.co_filename
    if file.startswith(_LIBRARY):
        return file[len(_LIBRARY) :].replace(os.sep, "/")
    return f"{file[8:-1]}.py" if file.startswith("<frozen ") else None
