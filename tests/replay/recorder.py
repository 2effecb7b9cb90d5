"""A plugin of pytest that keeps the calls of a test suite: `-p tests.replay.recorder`.

Functions and ufuncs are replaced in the modules of `REPLAY_PATHS` before any test is
imported. The outermost of nested calls is kept, before it runs; of each form no more than
`MOST_OF_A_FORM` calls. Tests that a replaced function makes fail are of no interest here.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from contextlib import suppress
from functools import update_wrapper
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tests.replay.calls import Call, NotPlain, packed, write

MOST_OF_A_FORM = 6
MOST_OF_A_FUNCTION = 400
METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")

_inside = threading.local()
_seen: set[str] = set()
_forms: Counter[str] = Counter()
_functions: Counter[str] = Counter()
_lock = threading.Lock()


def _keep(path: str, args: Any, kwargs: Any) -> None:
    if _functions[path] >= MOST_OF_A_FUNCTION:
        return
    with suppress(NotPlain):
        call = Call(path, *packed(args, kwargs))
        with _lock:
            if _forms[call.form] >= MOST_OF_A_FORM or call.key in _seen:
                return
            _seen.add(call.key)
            _forms[call.form] += 1
            _functions[path] += 1
            write(_out, call)
            _out.flush()


def _recorded(path: str, function: Any) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        if getattr(_inside, "call", False):
            return function(*args, **kwargs)
        _inside.call = True
        try:
            _keep(path, args, kwargs)
            return function(*args, **kwargs)
        finally:
            _inside.call = False

    with suppress(AttributeError, TypeError):
        update_wrapper(run, function)
    return run


class _Ufunc:
    """What stands for a ufunc: it is one but for its type."""

    def __init__(self, path: str, function: Any) -> None:
        self._function, self._path = function, path
        self._run = _recorded(path, function)
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._function, name)
        return _recorded(f"{self._path}.{name}", found) if name in METHODS else found

    def __repr__(self) -> str:
        return repr(self._function)

    def __reduce__(self) -> Any:
        return self._function.__reduce__()


def _replace(path: str) -> None:
    module, _, name = path.rpartition(".")
    space = import_module(module)
    found = getattr(space, name)
    made = _Ufunc(path, found) if isinstance(found, np.ufunc) else _recorded(path, found)
    setattr(space, name, made)


_paths = Path(os.environ["REPLAY_PATHS"]).read_text().split()
_out = Path(os.environ["REPLAY_CALLS"]).open("ab")  # noqa: SIM115, it is open to the end
for _module in os.environ["REPLAY_BEFORE"].split():
    import_module(_module)  # what libraries take from NumPy when they are imported stays NumPy's
for _path in _paths:
    _replace(_path)
