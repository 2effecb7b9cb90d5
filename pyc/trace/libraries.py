"""Modules that are not the user's, as a traced function sees them: NumPy, `math`, `builtins`, the
standard library, installed packages.

Their attributes are answered by what stands for them. Which functions and constants a name of such
a module led to is noted in its `Members`, compared as a whole before each call: others may replace
them (a test that patches `np.sin`, a program that adds a builtin). What the user has put there is
read by its path, like anything else of the user's.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from pyc.trace import math_views, numpy_module
from pyc.trace.modules import MATHEMATICAL, ModuleView
from pyc.trace.paths import MISSING
from pyc.trace.users_code import is_users, is_users_class

if TYPE_CHECKING:
    from pyc.trace.namespace import Namespace

_PLAIN = (int, float, complex, bool, str, bytes, type(None), np.generic, np.dtype)
_FUNCTIONS = (BuiltinFunctionType, MethodDescriptorType, np.ufunc, type(np.sum))

_OBSERVED = (type, FunctionType, BuiltinFunctionType)


class Members:
    """What names of a module led to. names: the module's."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.known: dict[str, Any] = {}

    def note(self, name: str) -> None:
        """Remembers what a name leads to; what a module makes when it is asked may be new."""
        self.known.setdefault(name, self.names.get(name, MISSING))
        if self.known[name] is MISSING:
            self.known.setdefault("__getattr__", self.names.get("__getattr__", MISSING))

    def holds(self, names: dict[str, Any]) -> bool:
        """Whether the names still lead there."""
        return all(names.get(name, MISSING) is value for name, value in self.known.items())


class Libraries:
    """The views of one trace. space: its `Namespace`."""

    def __init__(self, space: Namespace) -> None:
        self._space = space

    def note(self, module: ModuleType, name: str) -> None:
        """Notes what a name of a module leads to."""
        names = vars(module)
        path = self._space.root("members", module.__name__, names)
        read = self._space.reads.note(path, "members", Members(names)) or path.read
        if read is not None:
            read.known.note(name)

    def view(self, module: ModuleType) -> ModuleView:
        """What stands for a module."""
        own = self._space.root("object", module.__name__, module)
        stands = _stands_for(module)

        def answer(name: str, value: Any) -> Any:
            if self._space.is_redirected(name, value):
                return value
            if name.startswith("__") or _is_of_the_library(value):
                self.note(module, name)
                if self.needs_the_trace(value):
                    return self.special(value)
                found = stands(name, value)
                if found is not value or not isinstance(value, _OBSERVED):
                    return found
                return self._space.observed(value, own.attribute(name))
            found = stands(name, value)
            return self._space.translate(value, own.attribute(name)) if found is value else found

        def missed(name: str) -> None:
            self._space.reads.missing(own.attribute(name))

        return self.made(module, answer, missed)

    def made(
        self,
        module: ModuleType,
        answer: Callable[[str, Any], Any],
        missed: Callable[[str], Any],
    ) -> ModuleView:
        """A view of a module, whose `__dict__` is that of the module as the function sees it."""
        return ModuleView(module, answer, missed, lambda: self._space.names(vars(module)))

    def needs_the_trace(self, function: Any) -> bool:
        """Whether a function gives something that is read from outside."""
        return function is importlib.import_module or _key(function) == _GET_LOGGER

    def special(self, function: Any) -> Callable[..., Any]:
        """What stands for such a function."""
        if function is importlib.import_module:
            imported: Callable[..., Any] = self._space.import_module
            return imported

        def get_logger(*args: Any, **options: Any) -> Any:
            found = function(*args, **options)
            path = self._space.root("object", f"logging.getLogger({found.name!r})", found)
            return self._space.translate(found, path)

        return get_logger


_GET_LOGGER = ("logging", "getLogger")


def _key(function: Any) -> tuple[str, str]:
    return getattr(function, "__module__", ""), getattr(function, "__name__", "")


def _is_of_the_library(value: Any) -> bool:
    """Whether nothing of the user's, and nothing that changes, is in an attribute of a module."""
    if isinstance(value, (*_PLAIN, *_FUNCTIONS)):
        return True
    if isinstance(value, type):
        return not is_users_class(value)
    if isinstance(value, FunctionType):
        return not is_users(value.__globals__)
    kind = type(value)
    return kind.__module__.startswith("numpy") and not isinstance(value, np.ndarray)


def _stands_for(module: ModuleType) -> Callable[[str, Any], Any]:
    """What stands for the attributes of a module: (name, value) -> any, the value itself for those
    that need nothing."""
    if module.__name__.partition(".")[0] == "numpy":
        return numpy_module.members(module)
    if module.__name__ in MATHEMATICAL:
        found: Callable[[str, Any], Any] = math_views().member
        return found
    return lambda name, value: value


__all__ = ["Libraries", "Members"]
