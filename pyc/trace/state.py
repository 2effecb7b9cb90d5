"""The Python state that a body or a branch can reach: variables, and what lists, dicts and objects
hold.

A body is traced more often than it is run, or less often. So whatever it does to Python objects
must be seen and undone: a `Snapshot` knows what can be reached from its functions, finds what has
changed, and puts it back. A changed variable, element or attribute is a `Place`: the value in it
can be carried through a loop or merged after a branch. A change that is no new value in an old
place, such as a list that grows, has no such form.
"""

from __future__ import annotations

import functools
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterable
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np

from pyc.trace import location
from pyc.trace.parts import Selected
from pyc.trace.tracer import Tracer

REACHED = 100_000
"""The most objects that are looked at."""
COPIED_BYTES = 1 << 22
"""Larger NumPy arrays are known by a checksum, and cannot be put back."""


Key = tuple[int, Any]
"""What tells places apart."""


class _Unbound:
    """What a variable without a value holds."""

    def __repr__(self) -> str:
        return "<no value>"


UNBOUND = _Unbound()


class Place(ABC):
    """Where a value is kept. name: in messages; line: where it is assigned, 0 if unknown."""

    line = 0
    optional = False
    """Whether nobody reads it where it has no value."""
    final = False
    """Whether nothing is changed once it has its value, so that its memory needs no care."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    @abstractmethod
    def key(self) -> Key:
        """Equal for the same place."""

    @abstractmethod
    def get(self) -> Any:
        """The value, UNBOUND if there is none."""

    @abstractmethod
    def set(self, value: Any) -> None:
        """Puts a value there."""


class Variable(Place):
    """A variable of a function that nested ones share."""

    def __init__(self, name: str, cell: CellType, line: int = 0) -> None:
        super().__init__(name)
        self.cell = cell
        self.line = line

    @property
    def key(self) -> Key:
        """Its cell."""
        return id(self.cell), ""

    def get(self) -> Any:
        """The value of the variable."""
        try:
            return self.cell.cell_contents
        except ValueError:
            return UNBOUND

    def set(self, value: Any) -> None:
        """Binds the variable, or unbinds it."""
        if value is UNBOUND:
            del self.cell.cell_contents
        else:
            self.cell.cell_contents = value


class Element(Place):
    """An element of a list or a dict, or an attribute."""

    def __init__(self, name: str, holder: Any, at: Any, kind: _Kind) -> None:
        super().__init__(name)
        self._holder, self._at, self._kind = holder, at, kind

    @property
    def key(self) -> Key:
        """Its holder and position."""
        return id(self._holder), self._at

    def get(self) -> Any:
        """The element."""
        return self._kind.parts(self._holder)[self._at]

    def set(self, value: Any) -> None:
        """Replaces the element."""
        parts = self._kind.parts(self._holder)
        parts[self._at] = value
        self._kind.put(self._holder, parts)


class Result(Place):
    """What a function returns, as if it were a variable."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._value: Any = UNBOUND

    @property
    def key(self) -> Key:
        """Itself."""
        return id(self), ""

    def get(self) -> Any:
        """The value."""
        return self._value

    def set(self, value: Any) -> None:
        """Keeps the value."""
        self._value = value


# --- kinds of objects that hold others ------------------------------------------------------------

Parts = dict[Any, Any]


class _Kind(ABC):
    """How the parts of an object are read and put back."""

    @abstractmethod
    def parts(self, holder: Any) -> Parts:
        """Its parts by position, in order."""

    @abstractmethod
    def put(self, holder: Any, parts: Parts) -> None:
        """Gives it these parts."""

    def part_name(self, name: str, at: Any) -> str:
        """The name of a part in messages."""
        return f"{name}[{at!r}]"


class _List(_Kind):
    def parts(self, holder: Any) -> Parts:
        return dict(enumerate(holder))

    def put(self, holder: Any, parts: Parts) -> None:
        if isinstance(holder, deque):
            holder.clear()
            holder.extend(parts.values())
        else:
            holder[:] = list(parts.values())


class _Dict(_Kind):
    def parts(self, holder: Any) -> Parts:
        return dict(holder)

    def put(self, holder: Any, parts: Parts) -> None:
        holder.clear()
        holder.update(parts)


class _Set(_Kind):
    def parts(self, holder: Any) -> Parts:
        return dict.fromkeys(holder)

    def put(self, holder: Any, parts: Parts) -> None:
        holder.clear()
        holder.update(parts)


class _Cell(_Kind):
    def parts(self, holder: Any) -> Parts:
        return {"": Variable("", holder).get()}

    def put(self, holder: Any, parts: Parts) -> None:
        Variable("", holder).set(parts[""])

    def part_name(self, name: str, at: Any) -> str:
        return name


class _Object(_Kind):
    def parts(self, holder: Any) -> Parts:
        found = dict(getattr(holder, "__dict__", {}))
        for name in _slots(type(holder)):
            value = getattr(holder, name, UNBOUND)
            if value is not UNBOUND:
                found[name] = value
        return found

    def put(self, holder: Any, parts: Parts) -> None:
        slots = _slots(type(holder))
        own = getattr(holder, "__dict__", None)
        if own is not None:
            own.clear()
            own.update((k, v) for k, v in parts.items() if k not in slots)
        for name in slots:
            if name in parts:
                object.__setattr__(holder, name, parts[name])
            elif hasattr(holder, name):
                object.__delattr__(holder, name)

    def part_name(self, name: str, at: Any) -> str:
        return f"{name}.{at}"


def _slots(cls: type) -> list[str]:
    found: list[str] = []
    for base in cls.__mro__:
        names = base.__dict__.get("__slots__", ())
        for name in [names] if isinstance(names, str) else names:
            private = name.startswith("__") and not name.endswith("__")
            found.append(f"_{base.__name__.lstrip('_')}{name}" if private else name)
    return [n for n in found if n not in ("__dict__", "__weakref__")]


class _Array(_Kind):
    """A NumPy array, known by its bytes."""

    def parts(self, holder: Any) -> Parts:
        if holder.nbytes <= COPIED_BYTES:
            return {holder.tobytes(): None}
        return {zlib.crc32(np.ascontiguousarray(holder).view(np.uint8).data): None}

    def put(self, holder: Any, parts: Parts) -> None:
        (old,) = parts
        if isinstance(old, bytes) and holder.tobytes() != old:
            holder[...] = np.frombuffer(old, holder.dtype).reshape(holder.shape)


class _Bytes(_Kind):
    def parts(self, holder: Any) -> Parts:
        return {bytes(holder): None}

    def put(self, holder: Any, parts: Parts) -> None:
        (holder[:],) = parts


_LIST, _DICT, _SET, _CELL, _OBJECT = _List(), _Dict(), _Set(), _Cell(), _Object()
_KINDS: tuple[tuple[tuple[type, ...], _Kind], ...] = (
    ((list, deque), _LIST),
    ((dict,), _DICT),
    ((set,), _SET),
    ((bytearray,), _Bytes()),
    ((CellType,), _CELL),
    ((np.ndarray,), _Array()),
)
_ATOMS = (
    *(Tracer, str, bytes, int, float, complex, type(None), type, ModuleType, np.generic, np.ufunc),
    *(np.dtype, type(Ellipsis), slice, range, _Unbound),
)
_LIBRARIES = ("pyc", "numpy", "scipy", "builtins")
_RANDOM = ("_random", "numpy.random")
"""Modules of classes whose objects have a state that is not in their attributes."""


# --- snapshots ------------------------------------------------------------------------------------


class Snapshot:
    """What functions can reach through their variables, as it is now."""

    def __init__(self, functions: Iterable[Callable[..., Any]]) -> None:
        self._kept: dict[int, tuple[Any, str, _Kind, Parts]] = {}
        self._seen: dict[int, Any] = {}
        self.unknown = ""
        """Something whose state cannot be seen, such as an iterator: what uses it can only be done
        once. Empty if there is none."""
        todo: list[tuple[Any, str]] = [(f, "") for f in functions]
        while todo:
            value, name = todo.pop()
            if id(value) not in self._seen and not isinstance(value, _ATOMS):
                self._seen[id(value)] = value
                if len(self._seen) > REACHED:
                    self.unknown = f"more than {REACHED} objects"
                    return
                todo += self._parts(value, name)

    def _parts(self, value: Any, name: str) -> Iterable[tuple[Any, str]]:
        """What `value` holds; keeps it if that can change."""
        if isinstance(value, FunctionType):
            if location.is_own(value.__code__.co_filename):
                owner = getattr(value, "__self__", None)
                return [] if owner is None else [(owner, name)]
            names = value.__code__.co_freevars
            cells = zip(value.__closure__ or (), names, strict=True)
            defaults = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
            return [*cells, *((d, name) for d in defaults), *self._keep(value, name, _OBJECT)]
        if isinstance(value, (BuiltinFunctionType, MethodWrapperType)):
            return [(value.__self__, name)]
        if isinstance(value, MethodType):
            return [(value.__self__, name), (value.__func__, name)]
        if isinstance(value, functools.partial):
            return [(v, name) for v in (value.func, *value.args, *value.keywords.values())]
        if isinstance(value, (tuple, frozenset)):
            return [(v, f"{name}[{k}]") for k, v in enumerate(value)]
        if isinstance(value, Selected):  # an array for `isinstance`
            return self._keep(value, name, _OBJECT)
        for types, kind in _KINDS:
            if isinstance(value, types):
                if isinstance(value, np.ndarray) and not value.flags.writeable:
                    return []
                more = self._keep(value, name, kind)
                plain = type(value) in types or isinstance(value, np.ndarray)
                return more if plain else [*more, *self._keep(value, name, _OBJECT)]
        if hasattr(value, "__next__"):
            self.unknown = f"the iterator `{name}`" if name else "an iterator"
            return []
        held = getattr(value, "generator", None) if _is_own(value) else value
        if any(c.__module__.startswith(_RANDOM) for c in type(held).__mro__):
            what = "generator of random numbers"
            self.unknown = f"the {what} `{name}`" if name else f"a {what}"
            return []
        if type(value).__module__.partition(".")[0] in _LIBRARIES:
            return []
        return self._keep(value, name, _OBJECT)

    def _keep(self, holder: Any, name: str, kind: _Kind) -> list[tuple[Any, str]]:
        parts = kind.parts(holder)
        key = id(holder) if id(holder) not in self._kept else -id(holder)
        self._kept[key] = (holder, name, kind, parts)
        return [(part, kind.part_name(name, at)) for at, part in parts.items()]

    def reaches(self, x: Any, cell: CellType, functions: Iterable[Any]) -> bool:
        """Whether an object can be reached, or the cell that is to hold it by other functions than
        these."""
        own = {id(f) for f in functions}
        seen = (f for f in self._seen.values() if isinstance(f, FunctionType) and id(f) not in own)
        return id(x) in self._seen or any(cell is c for f in seen for c in f.__closure__ or ())

    def reaches_object(self, x: Any) -> bool:
        """Whether an object can be reached."""
        return id(x) in self._seen

    def changes(self, known: Collection[Key]) -> tuple[list[Place], str]:
        """The places where there is another object now, but for those in `known`, and what has
        changed in another way, empty if nothing has."""
        places: list[Place] = []
        for holder, name, kind, before in self._kept.values():
            now = kind.parts(holder)
            if list(now) != list(before):
                return [], _changed(holder, name)
            for at, part in now.items():
                if part is not before[at] and (id(holder), at) not in known:
                    place: Place
                    if isinstance(holder, CellType):
                        place = Variable(name, holder)
                    else:
                        place = Element(kind.part_name(name, at), holder, at, kind)
                    places.append(place)
        return places, ""

    def restore(self) -> None:
        """Puts everything back."""
        for holder, _, kind, before in self._kept.values():
            now = kind.parts(holder)
            if list(now) != list(before) or any(now[at] is not v for at, v in before.items()):
                kind.put(holder, before)


def _is_own(value: Any) -> bool:
    """Whether it is an object of pyc, such as one that stands for a generator of NumPy."""
    return type(value).__module__.partition(".")[0] == "pyc"


def _changed(holder: Any, name: str) -> str:
    what = "array" if isinstance(holder, np.ndarray) else type(holder).__name__
    return f"the {what} `{name}`" if name else f"a {what}"


__all__ = ["UNBOUND", "Element", "Key", "Place", "Result", "Snapshot", "Variable"]
