"""The states of objects: remembered, compared by the identity of what is in them, put back.

`kinds_of(x)` has the kinds of state of one object (an instance of a subclass of `list` has its
items and its attributes); `Memento` remembers all that can be reached from an object. No method of
the user runs.
"""

from __future__ import annotations

import ctypes
import threading
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import Context, ContextVar
from operator import is_
from typing import Any

import numpy as np

from pyc.errors import TraceError
from pyc.frozen import frozen
from pyc.trace import insides
from pyc.trace.users_code import SET_BY_PYTHON, is_users_class

COPIED_BYTES = 1 << 24
"""Larger arrays are not copied, so they cannot be put back."""
_GONE: Any = object()


@frozen()
class Kind:
    """How a state is remembered, compared and made as it was."""

    copy: Callable[[Any], Any]
    same: Callable[[Any, Any], bool]
    restore: Callable[[Any, Any], None]


# --- containers -----------------------------------------------------------------------------------


def _same_row(x: Sequence[Any], before: Sequence[Any]) -> bool:
    return len(x) == len(before) and all(map(is_, x, before))


def same_names(x: dict[Any, Any], before: dict[Any, Any]) -> bool:
    """Whether a dict has these keys and values, in this order."""
    return (
        dict.__len__(x) == len(before)
        and all(map(is_, dict.keys(x), before))
        and all(map(is_, dict.values(x), before.values()))
    )


def _same_set(x: set[Any], before: set[Any]) -> bool:
    return len(x) == len(before) and {*map(id, x)} == {*map(id, before)}


def restore_row(x: Any, before: Any) -> None:
    """Gives a list or an array of bytes these items."""
    x[:] = before


def _restore_names(x: dict[Any, Any], before: dict[Any, Any]) -> None:
    dict.clear(x)
    dict.update(x, before)


def _restore_pairs(x: OrderedDict[Any, Any], before: list[Any]) -> None:
    OrderedDict.clear(x)
    OrderedDict.update(x, before)


def _restore_set(x: set[Any], before: set[Any]) -> None:
    set.clear(x)
    set.update(x, before)


def _restore_deque(x: deque[Any], before: list[Any]) -> None:
    deque.clear(x)
    deque.extend(x, before)


def _pairs(x: OrderedDict[Any, Any]) -> list[Any]:
    return list(OrderedDict.items(x))


def _same_pairs(x: OrderedDict[Any, Any], before: list[Any]) -> bool:
    now = _pairs(x)
    same = all(k is i and v is j for (k, v), (i, j) in zip(now, before, strict=False))
    return len(now) == len(before) and same


LIST = Kind(list, _same_row, restore_row)
DICT = Kind(dict, same_names, _restore_names)
SET = Kind(set, _same_set, _restore_set)
DEQUE = Kind(list, _same_row, _restore_deque)
ORDERED = Kind(_pairs, _same_pairs, _restore_pairs)


# --- memory ---------------------------------------------------------------------------------------


def _is_as(x: Any, before: bytes) -> bool:
    return bytes(memoryview(x).tobytes()) == before


def _restore_numbers(x: Any, before: bytes) -> None:
    if len(x) * x.itemsize == len(before):  # nobody who looks at its memory minds
        memoryview(x).cast("B")[:] = before
    else:
        del x[:]
        x.frombytes(before)


def _restore_view(x: memoryview, before: bytes) -> None:
    if not x.readonly and x.c_contiguous:
        x.cast("B")[:] = before


def _memory(x: Any) -> bytes:
    return ctypes.string_at(ctypes.addressof(x), ctypes.sizeof(x))


def _restore_memory(x: Any, before: bytes) -> None:
    ctypes.memmove(ctypes.addressof(x), before, len(before))


def _elements(x: np.ndarray[Any, Any]) -> Any:
    plain = np.ndarray.view(x, np.ndarray)
    return plain.copy() if x.nbytes <= COPIED_BYTES else None, x.shape, plain.flags.writeable


def _same_elements(x: np.ndarray[Any, Any], before: Any) -> bool:
    elements, shape, writeable = before
    plain = np.ndarray.view(x, np.ndarray)
    if elements is None or x.shape != shape or plain.flags.writeable is not writeable:
        return False
    if x.dtype.hasobject:
        return _same_row(plain.ravel().tolist(), elements.ravel().tolist())
    return bool(plain.tobytes() == elements.tobytes())


def _restore_elements(x: np.ndarray[Any, Any], before: Any) -> None:
    elements, shape, writeable = before
    plain = np.ndarray.view(x, np.ndarray)
    if plain.shape != shape:
        x.shape = shape
        plain = np.ndarray.view(x, np.ndarray)
    if elements is not None and not _same_elements(x, (elements, shape, plain.flags.writeable)):
        if not plain.flags.writeable:
            return
        plain[...] = elements
    if x.flags.writeable is not writeable:
        x.flags.writeable = writeable


BYTES = Kind(bytes, _is_as, restore_row)
_NUMBERS = Kind(lambda x: memoryview(x).tobytes(), _is_as, _restore_numbers)
_VIEW = Kind(lambda x: x.tobytes(), _is_as, _restore_view)
_MEMORY = Kind(_memory, lambda x, before: _memory(x) == before, _restore_memory)
_ARRAY = Kind(_elements, _same_elements, _restore_elements)


# --- attributes -----------------------------------------------------------------------------------


def attributes(value: Any) -> dict[str, Any] | None:
    """The attributes of an object, without asking its class: reading them is noted there."""
    try:
        found: dict[str, Any] = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found


def _slots(x: Any) -> dict[Any, Any]:
    """What is in the slots of an object, by their descriptors."""
    found = {}
    for cls in type(x).__mro__:
        if "__slots__" in vars(cls):
            for member in vars(cls).values():
                if isinstance(member, types.MemberDescriptorType):
                    try:
                        found[member] = member.__get__(x)
                    except AttributeError:
                        found[member] = _GONE
    return found


def _restore_slots(x: Any, before: dict[Any, Any]) -> None:
    for member, value in before.items():
        if value is not _GONE:
            member.__set__(x, value)
        elif _slots(x)[member] is not _GONE:
            member.__delete__(x)


SLOTS = Kind(_slots, lambda x, before: same_names(_slots(x), before), _restore_slots)


def _own_names(cls: type) -> dict[str, Any]:
    """What a class holds, but for what Python itself sets there when it likes to."""
    return {k: v for k, v in vars(cls).items() if k not in SET_BY_PYTHON}


def _restore_class(cls: type, before: dict[str, Any]) -> None:
    for name in _own_names(cls).keys() - before.keys():
        type.__delattr__(cls, name)
    for name, value in before.items():
        if vars(cls).get(name, _GONE) is not value:
            type.__setattr__(cls, name, value)


CLASS = Kind(_own_names, lambda cls, x: same_names(_own_names(cls), x), _restore_class)


def named(*names: str) -> Kind:
    """The kind of objects that consist of these attributes."""

    def copy(x: Any) -> list[Any]:
        return [getattr(x, name, _GONE) for name in names]

    def restore(x: Any, before: list[Any]) -> None:
        for name, value in zip(names, before, strict=True):
            if value is not _GONE and getattr(x, name) is not value:
                setattr(x, name, value)

    return Kind(copy, lambda x, before: _same_row(copy(x), before), restore)


FUNCTION = named(
    *("__code__", "__defaults__", "__kwdefaults__", "__name__", "__qualname__", "__doc__"),
    *("__module__", "__annotations__"),
)
_ERROR = named("args", "__cause__", "__context__", "__suppress_context__", "__traceback__")
_FACTORY = named("default_factory")


def _context(x: Any) -> list[Any]:
    numbers = [x.prec, x.rounding, x.Emin, x.Emax, x.capitals, x.clamp]
    return [*numbers, dict(x.flags), dict(x.traps)]


def _restore_context(x: Any, before: list[Any]) -> None:
    x.prec, x.rounding, x.Emin, x.Emax, x.capitals, x.clamp, flags, traps = before
    x.flags.update(flags)
    x.traps.update(traps)


def _cell(x: types.CellType) -> Any:
    try:
        return x.cell_contents
    except ValueError:  # empty
        return _GONE


def _restore_cell(x: types.CellType, before: Any) -> None:
    if before is not _GONE:
        x.cell_contents = before
    else:
        del x.cell_contents


def _restore_variable(x: ContextVar[Any], before: Any) -> None:
    if before is not _GONE:
        x.set(before)


def _local(x: threading.local) -> Any:
    return dict(threading.local.__getattribute__(x, "__dict__"))


def _restore_local(x: threading.local, before: dict[Any, Any]) -> None:
    _restore_names(threading.local.__getattribute__(x, "__dict__"), before)


def _restore_variables(x: Context, before: dict[ContextVar[Any], Any]) -> None:
    for variable, value in before.items():
        x.run(variable.set, value)


_VARIABLES = Kind(
    lambda x: dict(x.items()), lambda x, before: same_names(dict(x), before), _restore_variables
)
_CONTEXT = Kind(_context, lambda x, before: _context(x) == before, _restore_context)
_CELL = Kind(_cell, lambda x, before: _cell(x) is before, _restore_cell)
_VARIABLE = Kind(
    lambda x: x.get(_GONE), lambda x, before: x.get(_GONE) is before, _restore_variable
)
_LOCAL = Kind(_local, lambda x, before: same_names(_local(x), before), _restore_local)


# --- states that objects themselves tell ----------------------------------------------------------


def _told(x: Any) -> Any:
    own: Any = type(x)
    return own.__getstate__(x)


def _restore_told(x: Any, before: Any) -> None:
    type(x).__setstate__(x, before)


def _are_same(x: Any, before: Any) -> bool:
    """Whether two states are the same, by the identity of the objects in them."""
    if x is before:
        return True
    if type(x) is not type(before) or type(x) not in (dict, list, tuple, int, str, bytes):
        return False
    if type(x) is dict:
        return same_names(x, before)
    if type(x) in (list, tuple):
        return len(x) == len(before) and all(map(_are_same, x, before))
    return bool(x == before)


_TOLD = Kind(_told, lambda x, before: _are_same(_told(x), before), _restore_told)
_TELLING = frozenset(["xml.etree.ElementTree", "_io", "io"])
"""Modules written in C whose objects have `__getstate__` and `__setstate__`."""

# --- kinds of an object ---------------------------------------------------------------------------

_KINDS: tuple[tuple[Any, Kind], ...] = (
    (OrderedDict, ORDERED),
    (dict, DICT),
    (list, LIST),
    (set, SET),
    (deque, DEQUE),
    (bytearray, BYTES),
    (memoryview, _VIEW),
    (np.ndarray, _ARRAY),
    (types.FunctionType, FUNCTION),
    (types.CellType, _CELL),
    (BaseException, _ERROR),
    (ContextVar, _VARIABLE),
    (Context, _VARIABLES),
    (threading.local, _LOCAL),
)


_KINDS_BY_NAME = {("array", "array"): _NUMBERS, ("decimal", "Context"): _CONTEXT}
"""By module and name, so that the module need not be loaded."""


def container_kind(x: Any) -> Kind | None:
    """How the items of `x` are remembered; None if it has none."""
    return next((kind for types_, kind in _KINDS[:6] if isinstance(x, types_)), None)


def kinds_of(x: Any) -> Iterator[tuple[Any, Kind]]:
    """(what holds a state, its kind) for each state that `x` has."""
    cls = type(x)
    if isinstance(x, type):
        if x.__flags__ & _HEAP:
            yield x, CLASS
        return
    if isinstance(x, types.ModuleType):
        return
    yield from ((x, kind) for types_, kind in _KINDS if isinstance(x, types_))
    named_kind = _KINDS_BY_NAME.get((cls.__module__, cls.__name__))
    if named_kind is not None:
        yield x, named_kind
    if hasattr(x, "default_factory") and isinstance(x, dict):
        yield x, _FACTORY
    if type(cls).__module__ == "_ctypes":
        yield x, _MEMORY
    elif cls.__module__ in _TELLING and hasattr(cls, "__setstate__"):
        yield x, _TOLD
    elif cls.__dictoffset__ and not isinstance(x, threading.local):
        own = attributes(x)
        if own is not None:
            yield own, DICT
    yield x, SLOTS
    if is_users_class(cls) and cls.__flags__ & _HEAP:
        yield x, _OF_CLASS


_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def _restore_class_of(x: Any, before: type) -> None:
    object.__setattr__(x, "__class__", before)


_OF_CLASS = Kind(type, lambda x, before: type(x) is before, _restore_class_of)


class Memento:
    """All that can be reached from an object, as it is now. name: the object's, in messages.

    raises TraceError: it cannot be seen
    """

    def __init__(self, value: Any, name: str) -> None:
        self._value, self._name = value, name
        reached: list[Any] = []
        self._inside = insides().Inside(value, name, reached)
        self._states = [
            (holder, kind, kind.copy(holder))
            for x in reached
            if not isinstance(x, _ALIVE)
            for holder, kind in kinds_of(x)
        ]

    def holds(self) -> bool:
        """Whether the object has not changed."""
        found: bool = self._inside.holds(self._value)
        return found

    def restore(self) -> None:
        """Makes all as it was, where that is possible."""
        for holder, kind, before in self._states:
            if not kind.same(holder, before):
                try:
                    kind.restore(holder, before)
                except (AttributeError, BufferError, TypeError, ValueError):
                    continue  # read-only: `holds` tells


_ALIVE = (types.FrameType, types.GeneratorType, types.TracebackType)


def memento(value: Any, name: str) -> Memento | None:
    """What `value` is now; None if it cannot be seen."""
    try:
        return Memento(value, name)
    except TraceError:
        return None


__all__ = [
    *("CLASS", "DICT", "FUNCTION", "Kind", "Memento", "SLOTS"),
    *("attributes", "container_kind", "kinds_of", "memento", "named", "restore_row", "same_names"),
]
