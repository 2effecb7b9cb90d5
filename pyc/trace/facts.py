"""What code asks about functions, classes and modules themselves: `__name__` and its like.

What stands for a function or a class has these facts too, and nobody sees when they are read. So
they are compared before each call where any code that is traced names one of them (as an attribute
or in a text); code that does not costs nothing.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping
from enum import Enum, EnumType
from opcode import opmap
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from pyc.trace.paths import Path, member_of

if TYPE_CHECKING:
    from pyc.trace.namespace import Namespace

OF_FUNCTIONS = ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "__dict__")
OF_CLASSES = ("__name__", "__qualname__")
OF_MODULES = ("__name__", "__file__", "__package__", "__spec__", "__doc__", "__path__")
NEED_A_METACLASS = frozenset(["__dict__", "__bases__", "__base__", "__subclasses__"])
"""Attributes of classes that no made class can have otherwise."""
_ALL = frozenset([*OF_FUNCTIONS, *OF_MODULES, *NEED_A_METACLASS])
_IS, _CONSTANT, _CACHE = opmap["IS_OP"], opmap["LOAD_CONST"], opmap["CACHE"]
_GLOBAL, _ATTRIBUTE = opmap["LOAD_GLOBAL"], opmap["LOAD_ATTR"]
_SHIFT = int(sys.version_info >= (3, 12))
"""The bits of the argument of `LOAD_ATTR` that are not the number of its name."""
_SINGLE = (None, True, False, ...)
_READERS = ("inspect", "pydoc")
"""Modules whose functions read facts of others."""


def mentioned(code: CodeType) -> set[str]:
    """The facts that code names."""
    found = _ALL.intersection(code.co_names)
    texts = (c for c in code.co_consts if type(c) is str)
    inner = (mentioned(c) for c in code.co_consts if isinstance(c, CodeType))
    return {*found, *_ALL.intersection(texts)}.union(*inner)


def asks_which_are_one(code: CodeType, names: Mapping[str, Any]) -> bool:
    """Whether code compares objects by `is`, other than with None, classes, functions, modules and
    members of enumerations: each of these is the very same object in every call anyway. names: the
    global ones."""
    steps = [(op, arg) for op, arg in zip(code.co_code[::2], code.co_code[1::2]) if op != _CACHE]
    for at, (op, _) in enumerate(steps):
        if op == _IS and not _is_certain(code, steps[max(at - 2, 0) : at], names):
            return True
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return any(asks_which_are_one(c, names) for c in inner)


def _is_certain(code: CodeType, steps: list[tuple[int, int]], names: Mapping[str, Any]) -> bool:
    """Whether the last of these steps loads an object that guards compare by identity."""
    op, arg = steps[-1]
    if op == _CONSTANT:
        return code.co_consts[arg] in _SINGLE
    if op == _GLOBAL:
        return _is_one(_named(code.co_names[arg >> 1], names))
    if op != _ATTRIBUTE:
        return False
    name = code.co_names[arg >> _SHIFT]
    of, number = steps[0]
    if name == "__class__":
        return True
    holder = _named(code.co_names[number >> 1], names) if of == _GLOBAL else None
    if isinstance(holder, EnumType):
        return name in holder.__members__
    return isinstance(holder, ModuleType) and _is_one(vars(holder).get(name))


def _named(name: str, names: Mapping[str, Any]) -> Any:
    return names.get(name, vars(builtins).get(name))


def _is_one(value: Any) -> bool:
    kinds = (type, FunctionType, BuiltinFunctionType, ModuleType, Enum)
    return type(value) is object or isinstance(value, kinds)


def is_fact_of(cls: type, name: str) -> bool:
    """Whether a class has an attribute for its own name that nobody has replaced."""
    meta = type(cls)
    own = member_of(meta, "__getattribute__") is vars(type)["__getattribute__"]
    return own and name in OF_CLASSES and member_of(meta, name) is vars(type)[name]


class Facts:
    """The facts that one trace compares. space: its `Namespace`."""

    def __init__(self, space: Namespace) -> None:
        self.asked: set[str] = set()
        self._space = space
        self._functions: list[tuple[FunctionType, FunctionType, Path]] = []
        self._classes: list[type] = []
        self._names: list[Mapping[str, Any]] = []

    def enters(self, function: FunctionType) -> None:
        """A function of the user's is about to be traced."""
        if asks_which_are_one(function.__code__, function.__globals__):
            self._space.reads.ask_which_are_one()
        self.has_method(function)

    def has_method(self, function: FunctionType) -> None:
        """A function of a class that is met; it is traced when it is first used, if ever."""
        new = mentioned(function.__code__) - self.asked
        if new:
            self._ask(new)

    def reads(self, module: str) -> None:
        """A function of a library, or the module itself, is about to be used."""
        if module in _READERS:
            self._ask({*OF_FUNCTIONS, *OF_CLASSES} - self.asked)

    def _ask(self, new: set[str]) -> None:
        self.asked |= new
        for function, made, path in self._functions:
            self._of_function(function, made, path, new)
        for cls in self._classes:
            self._of_class(cls, new)
        for names in self._names:
            self._of_names(names, new)

    def function(self, value: FunctionType, made: FunctionType, path: Path) -> None:
        """`made` stands for a function of the user's."""
        self._functions.append((value, made, path))
        self._of_function(value, made, path, self.asked)

    def cls(self, value: type) -> None:
        """Something stands for a class of the user's."""
        self._classes.append(value)
        self._of_class(value, self.asked)

    def names(self, own: Mapping[str, Any]) -> None:
        """Something stands for the names of a module of the user's."""
        self._names.append(own)
        self._of_names(own, self.asked)

    def _of_function(
        self, value: FunctionType, made: FunctionType, path: Path, asked: set[str]
    ) -> None:
        for name in OF_FUNCTIONS:
            if name not in asked:
                continue
            at = path.attribute(name)
            if name == "__dict__":
                self._space.note_items(at, vars(value).copy())
            else:
                setattr(made, name, self._space.translate(getattr(value, name), at))

    def _of_class(self, value: type, asked: set[str]) -> None:
        path = self._space.root("class", value.__qualname__, value)
        for name in OF_CLASSES:
            if name in asked:
                self._space.reads.plain(path.attribute(name), getattr(value, name))

    def _of_names(self, own: Mapping[str, Any], asked: set[str]) -> None:
        for name in OF_MODULES:
            if name not in asked or name not in own:
                continue
            path = self._space.root("global", name, own)
            if name == "__spec__":
                self._space.reads.note(path, "same", own[name])
            else:
                self._space.translate(own[name], path)


__all__ = ["NEED_A_METACLASS", "OF_CLASSES", "OF_MODULES", "Facts", "is_fact_of"]
