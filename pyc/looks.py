"""From the guards of a program to what native calls look at.

Takes `Guards` (paths and what was found there) and the call that was just made; returns `Look`s
that a native call can follow without running Python, or the reason why such calls go through
Python. Looks may be stricter than the guards (the very same text instead of an equal one): then the
call goes through Python, which finds the program, and makes the looks again.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyc.array import HOST
from pyc.array import Array as DeviceArray
from pyc.interpreter import WEAK
from pyc.ir import dtype as dt
from pyc.reasons import Reason
from pyc.runtime import layout
from pyc.runtime.specialisation import (
    MISSING,
    UNUSED,
    AliasArgument,
    ArgumentSource,
    ArrayArgument,
    AttributeSource,
    CellSource,
    CountSource,
    DeviceArgument,
    EqualArgument,
    Items,
    ItemSource,
    Look,
    NameSource,
    ObjectArgument,
    ObjectSource,
    SameArgument,
    ScalarArgument,
    TagSource,
    WordSource,
)
from pyc.trace.facts import is_fact_of
from pyc.trace.guards import Guards
from pyc.trace.paths import MISSING as NOTHING
from pyc.trace.paths import Path, default_of, member_of
from pyc.trace.reads import Read


class NotNativeError(Exception):
    """Why calls go through Python. again: another call of the signature may still be native."""

    def __init__(self, reason: Reason, detail: str, again: bool = False) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.again = again


_BY_C: tuple[Any, ...] = (
    *(types.FunctionType, types.MethodType, functools.partial, types.SimpleNamespace),
    *(functools.cached_property, property, staticmethod, classmethod),
)
"""Types whose attributes C code reads."""


class Looks:
    """The looks of one program. arguments: (positional, keywords) of a call that it is for; trails:
    by position or name, where an argument is among those that are given; leaves: how many slots the
    arguments take; looks: those before, which are what the arguments hold; device: where arrays
    must be, None for the host; moved: what stands there for a hidden array of the host, by its
    number: itself if it is copied at each call.

    raises NotNativeError: they cannot be native
    """

    def __init__(
        self,
        guards: Guards,
        arguments: Any,
        trails: dict[int | str, int],
        leaves: int,
        looks: Sequence[Look] = (),
        device: Any = None,
        moved: Callable[[int, Any], Any] | None = None,
    ) -> None:
        self.looks = [*looks]
        self.numbers: list[int] = []
        """The slots of hidden arguments that are numbers."""
        self.fixed: dict[int, Any] = {}
        """Hidden arguments that are always the same array on the device, by their slots."""
        self.gives_arrays = False
        """Whether there is an `Array` of the CPU among them, so that results are `Array`s."""
        self._device = device
        self._moved = moved
        self._leaves = leaves
        self._arguments = arguments
        self._trails = trails
        self._slots = {id(r): leaves + k for k, r in enumerate(guards.hidden)}
        self._tagged: set[type] = set()
        self._values: dict[int, Any] = {}
        """By id of a path: what it leads to now."""
        self._where: dict[int, Any] = {}
        """By id of a path: the number of its look, or ("object", the object)."""
        self._guards = guards
        for path in guards.nodes:
            self._add(path)
        if guards.values(arguments) is None:  # versions were read of what is not so any more
            raise changed()

    def _add(self, path: Path) -> None:
        before = None if path.parent is None else self._values[id(path.parent)]
        read = path.read
        if read is not None and read.kind == "lacks":
            self._lacks(path, before)
            return
        if read is not None and read.kind == "names":
            self._tag(path.holder)
            self._values[id(path)] = path.holder
            self._where[id(path)] = ("object", path.holder)
            return
        if read is not None and read.kind == "members":
            self._members(path.holder, read.known.known)
            return
        if read is not None and read.kind == "identities":
            if self._guards.are_told_apart:
                raise _slow("which of the objects are one")
            return
        if read is not None and read.kind == "registered":
            counted = layout.registered_classes()
            if counted is None:
                raise _slow("which classes are registered with abstract ones")
            self.looks.append(Look(CountSource(path.holder, *counted), None))
            return
        if read is not None and read.kind == "missing" and type(before) is types.ModuleType:
            if "__getattr__" in vars(before):
                raise _slow(f"`{path.text()}`, which Python code of the module may answer")
            self.looks.append(Look(NameSource(vars(before), path.key), MISSING))
            return
        if read is not None and read.kind == "missing" and path.kind == "attribute":
            self._lacks(path, before)
            return
        value = self._values[id(path)] = path.value_of(before, self._arguments)
        kind = None if read is None else read.kind
        gone = value is NOTHING and kind != "missing"
        if gone or (kind in _QUICK and not self._guards.is_as_read(read, value)):
            raise changed()
        source = self._source(path, before, value)
        if source is None:  # an argument's container, which the arguments describe
            return
        if isinstance(source, ObjectSource) and (read is None or _is_certain(read)):
            if read is not None:
                self._code(read)
            self._where[id(path)] = ("object", source.value)
            return
        found = None if read is None else self._found(read, value)
        self._where[id(path)] = len(self.looks)
        self.looks.append(Look(source, found))
        if found is not None and type(value) is DeviceArray and self._device is None:
            self._on_host(read, value)
        if isinstance(found, SameArgument):
            self._where[id(path)] = ("object", found.value)
        if read is not None:
            self._code(read)

    # --- where ------------------------------------------------------------------------------------

    def _source(self, path: Path, before: Any, value: Any) -> Any:
        kind, holder = path.kind, path.holder
        if kind == "global":
            return NameSource(holder, path.key)
        if kind == "cell":
            return CellSource(holder)
        if kind == "default":
            return self._default(path, value)
        if kind == "member":
            self._tag(holder)
            return ObjectSource(value)
        if kind in ("object", "class"):
            return ObjectSource(holder)
        if kind == "keys":
            raise _slow(f"`{path.text()}`, which are compared one by one")
        if kind == "argument":
            return None
        if kind == "item":
            return self._item(path, before)
        return self._attribute(path, before)

    def _default(self, path: Path, value: Any) -> Any:
        function = path.holder
        named, given = function.__kwdefaults__, function.__defaults__
        if default_of(function, path.key) is not value:
            raise changed()
        if named and path.key in named:
            field = layout.FUNCTION_KEYWORD_DEFAULTS
            self._word(function, field, named)
            return NameSource(named, path.key)
        self._word(function, layout.FUNCTION_DEFAULTS, given)
        return ObjectSource(value)

    def _item(self, path: Path, before: Any) -> Any:
        assert path.parent is not None
        if not path.is_outside:
            return None
        where = self._of(path.parent)
        if not isinstance(where, int):
            raise _slow(f"`{path.text()}`, an item of {type(before).__name__}")
        return ItemSource(where, _place(before, path.key))

    def _of(self, path: Path) -> Any:
        """Where the object of a path is: the number of its look, or ("object", the object)."""
        found = self._where.get(id(path))
        if found is not None:
            return found
        trail, at = [], path  # an argument, or inside of one
        while at.parent is not None:
            trail.append(_place(self._values[id(at.parent)], at.key))
            at = at.parent
        trail.append(self._trails[at.holder])
        self._where[id(path)] = len(self.looks)
        self.looks.append(Look(ArgumentSource(tuple(reversed(trail))), None))
        return self._where[id(path)]

    def _attribute(self, path: Path, before: Any) -> Any:
        name, cls = path.key, type(before)
        assert path.parent is not None
        where = self._of(path.parent)
        if cls is types.ModuleType:
            if not isinstance(where, tuple):
                raise _slow(f"`{path.text()}`")
            return NameSource(vars(before), name)
        if cls not in _BY_C and not (isinstance(before, type) and is_fact_of(before, name)):
            if not is_stored(cls, name):
                raise _slow(f"`{path.text()}`, which Python code of {cls.__name__} may answer")
            self._tag(cls)
        return AttributeSource(where if isinstance(where, int) else where[1], name)

    # --- what -------------------------------------------------------------------------------------

    def _found(self, read: Read, value: Any) -> Any:
        kind = read.kind
        if kind == "alias":
            where = self._of(read.known)
            return AliasArgument(where) if isinstance(where, int) else SameArgument(where[1])
        if kind == "equal":
            return fixed_value(value) or SameArgument(value)
        if kind in ("same", "code"):
            return SameArgument(value)
        if kind == "missing":
            return MISSING
        if kind == "type":
            return ObjectArgument(type(value))
        if kind == "items" and (type(value) in (list, dict) or isinstance(value, tuple)):
            items = tuple(value) if type(value) is dict else len(value)
            return Items(type(value), items)
        if kind in ("array", "number") and read.content is None:
            return self._hidden(read, value)
        if kind == "number" and type(value) in (int, float) and id(read) not in self._slots:
            return EqualArgument(value)
        raise _slow(f"`{read.path.text()}`, {_WHY.get(kind, 'whose content is compared')}")

    def _hidden(self, read: Read, value: Any) -> Any:
        slot = self._slots.get(id(read), UNUSED)
        if read.kind == "number":
            dtype = WEAK[type(value)] if type(value) in WEAK else dt.of(value.dtype)
            assert dtype is not None
            self.numbers += [slot] * (slot != UNUSED)
            return ScalarArgument(type(value), dtype, slot)
        if self._device is not None:
            return self._on_device(value, slot, f"`{read.path.text()}`")
        if type(value) is DeviceArray:
            self._tag(DeviceArray)
            return ObjectArgument(DeviceArray)
        if type(value) is not np.ndarray:
            raise _slow(f"`{read.path.text()}`, a {type(value).__name__}")
        flags, dtype = value.flags, dt.of(value.dtype)
        fits = flags.c_contiguous and flags.aligned and value.dtype.isnative
        if dtype is None or not fits:
            raise NotNativeError(
                Reason.DISPATCH_SLOW_CAPTURE, f"`{read.path.text()}`, which is copied", again=True
            )
        return ArrayArgument(dtype, value.shape, by_value=not value.ndim, slot=slot)

    def _on_host(self, read: Any, value: DeviceArray) -> None:
        """An `Array` for the CPU, which the last look has found."""
        slot = self._slots.get(id(read), UNUSED)
        if slot != UNUSED:
            of = len(self.looks) - 1
            self.looks += looks_at_host(value, of, slot, f"`{read.path.text()}`")
            self.gives_arrays = True

    def _on_device(self, value: Any, slot: int, name: str) -> Any:
        """An array for a GPU: one that is there, or that cannot change and was moved there."""
        if type(value) is np.ndarray and self._moved is not None:
            there = self._moved(slot - self._leaves, value)
            if there is not value:
                self.fixed[slot] = there
                return SameArgument(value)
        return array_on_device(value, self._device, slot, name, again=False)

    # --- besides ----------------------------------------------------------------------------------

    def _lacks(self, path: Path, before: Any) -> None:
        if not hasattr(before, "__dict__") and path.read.kind == "lacks":
            return
        self._tag(type(before))
        assert path.parent is not None
        where = self._of(path.parent)
        of = where if isinstance(where, int) else where[1]
        self.looks.append(Look(AttributeSource(of, path.key), MISSING))

    def _members(self, names: dict[str, Any], known: dict[str, Any]) -> None:
        """The names of a module of a library: by the version of all of them, which seldom change;
        each by itself where they do."""
        version = layout.dict_version(names)
        if version is not None and _is_steady(names, version):
            at = id(names) + layout.DICT_VERSION
            self.looks.append(Look(CountSource(names, at, version), None))
            return
        for name, value in known.items():
            found = MISSING if value is NOTHING else SameArgument(value)
            self.looks.append(Look(NameSource(names, name), found))

    def _code(self, read: Read) -> None:
        """A function must still have its code."""
        if read.kind == "code":
            function, code = read.known
            self._word(function, layout.FUNCTION_CODE, code)

    def _word(self, owner: Any, offset: int, value: Any) -> None:
        self.looks.append(Look(WordSource(owner, id(owner) + offset), SameArgument(value)))

    def _tag(self, cls: type) -> None:
        """A class must not change."""
        if cls in self._tagged:
            return
        self._tagged.add(cls)
        self.looks.append(version_look(cls))


def looks_at_host(x: DeviceArray, of: int, slot: int, what: str) -> list[Look]:
    """What the `Array` that look `of` has found must hold to go to a slot of a program for the CPU.

    raises NotNativeError: it is elsewhere, and copied at each call
    """
    held = x._whose
    if x._device is not HOST or type(held) is not np.ndarray:
        raise NotNativeError(Reason.DISPATCH_SLOW_DEVICE, f"{what} is copied to cpu")
    found = ArrayArgument(x.type.dtype, x.shape, by_value=not x.shape, slot=slot)
    return [
        Look(AttributeSource(of, "_device"), SameArgument(HOST)),
        Look(AttributeSource(of, "_whose"), found),
    ]


def array_on_device(
    x: Any, device: Any, slot: int, what: str, again: bool = True
) -> DeviceArgument:
    """What an array on a device must be.

    raises NotNativeError: it is elsewhere, and copied at each call
    """
    if type(x) is not DeviceArray or x.device != device.label:
        raise NotNativeError(
            Reason.DISPATCH_SLOW_DEVICE, f"{what} is copied to {device.label}", again
        )
    held = x._address, x._device, x.type
    if layout.fields(x, 3) != [*map(id, held)]:
        raise NotNativeError(Reason.DISPATCH_SLOW_PROBE, "the fields of an array on a device")
    return DeviceArgument(DeviceArray, x._device, x.type, slot)


def _place(container: Any, key: Any) -> int:
    """The place of an item among those of its container."""
    try:
        return list(container).index(key) if isinstance(container, dict) else key
    except ValueError:
        raise changed() from None


def fixed_value(value: Any) -> EqualArgument | None:
    """A number that is known by its bits; None for other values."""
    simple = type(value) in (float, int) or (
        isinstance(value, np.generic) and value.dtype.itemsize == 8
    )
    return EqualArgument(value) if simple else None


def is_stored(cls: type, name: str) -> bool:
    """Whether an attribute is read without running Python code, from what holds it."""
    own = member_of(cls, "__getattribute__") is vars(object)["__getattribute__"]
    member = member_of(cls, name)
    plain = member is NOTHING or not hasattr(type(member), "__get__")
    plain = plain or isinstance(member, types.MemberDescriptorType) or name == "__dict__"
    return own and plain and not hasattr(cls, "__getattr__")


def version_look(cls: type) -> Look:
    """That a class has not changed.

    raises NotNativeError: CPython gives it no version
    """
    version = layout.type_version(cls)
    if not version:
        raise _slow(f"{cls.__name__}, a class without a version")
    return Look(TagSource(cls, version), None)


_versions: dict[int, tuple[int, int]] = {}
"""By id of the names of a module, which stay: their version when they were looked at last, and how
often that was another one than before."""
CHANGES = 3
"""After how many changes the names of a module are looked at one by one. (In an interactive session
`builtins._` changes all the time.)"""


def _is_steady(names: dict[str, Any], version: int) -> bool:
    """Whether the names of a module seldom change."""
    last, changes = _versions.get(id(names), (version, 0))
    changes += last != version
    _versions[id(names)] = version, changes
    return changes <= CHANGES


_QUICK = ("equal", "same", "code", "type", "items", "array", "number", "missing")
"""Kinds of reads that are looked at natively, and compared here again."""
_WHY = {
    "content": "a long container or a set, which is compared item by item",
    "items": "a container of an uncommon type",
    "inside": "an object of a library, which is compared as a whole",
}


def _is_certain(read: Read) -> bool:
    """Whether the object itself is all that there is to look at."""
    return read.kind in ("same", "equal", "code")


def changed() -> NotNativeError:
    """Another thread has changed something since the program was found to hold."""
    return NotNativeError(Reason.GUARD_CHANGED_MEANWHILE, "changed meanwhile", again=True)


def _slow(detail: str) -> NotNativeError:
    return NotNativeError(Reason.DISPATCH_SLOW_CAPTURE, detail)


__all__ = [
    "Looks",
    "NotNativeError",
    "array_on_device",
    "changed",
    "fixed_value",
    "is_stored",
    "version_look",
]
