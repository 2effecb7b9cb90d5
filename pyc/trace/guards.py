"""`Guards`: whether a compiled program still holds, and the values of its hidden arguments.

Made of what a trace has read (`reads.py`). Before each call every path is followed again: parents
first, so that a path is only followed from an object that is as it was.
"""

from __future__ import annotations

from abc import get_cache_token
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyc.trace.paths import MISSING, Path
from pyc.trace.reads import Read, array_key, is_same_value, items_of, snapshot

Arguments = tuple[Sequence[Any], dict[str, Any]]


class Guards:
    """What a program takes for granted. hidden: the reads of its hidden arguments, in order."""

    def __init__(self, reads: Sequence[Read], hidden: Sequence[Read]) -> None:
        self.hidden = tuple(hidden)
        self.nodes: list[Path] = []
        """The paths, each after its parent."""
        self._places: dict[int, int] = {}
        for read in sorted(reads, key=lambda read: read.kind == "identities"):
            if read.kind == "alias":
                self._add(read.known)
            for path in read.known or () if read.kind == "identities" else ():
                self._add(path)
            self._add(read.path)
        self._parents = [-1 if p.parent is None else self.place(p.parent) for p in self.nodes]
        self._hidden = [self.place(r.path) for r in self.hidden]
        self._objects = self._told_apart()
        seen = [None if p.read is None else p.read.value for p in self.nodes]
        self._identities = self._pattern(seen)
        self.names = tuple(r.path.text() for r in self.hidden)
        """Where the hidden arguments are read, as Python code."""

    @property
    def are_told_apart(self) -> bool:
        """Whether there are several objects that may become one."""
        return len(self._objects) > 1

    def forget(self) -> None:
        """Lets go of the objects that were there at the trace, and of the trace itself."""
        for path in self.nodes:
            if path.read is not None:
                path.read.value = path.read.tracer = None

    def _add(self, path: Path) -> None:
        if id(path) in self._places:
            return
        if path.parent is not None:
            self._add(path.parent)
        self._places[id(path)] = len(self.nodes)
        self.nodes.append(path)

    def place(self, path: Path) -> int:
        """The number of a path among the nodes."""
        return self._places[id(path)]

    def unlike(self, other: Guards) -> Path | None:
        """A path where another trace of the function has found something else; None if both have
        found the same wherever both have looked."""
        found = {p.identity(): p.read for p in other.nodes if p.read is not None}
        for path in self.nodes:
            read, again = path.read, found.get(path.identity())
            if read is None or again is None or again.kind not in _COMPARED:
                continue
            if read.kind != again.kind or not _is_same(_row(read.known), _row(again.known)):
                return path
        return None

    def values(self, arguments: Arguments) -> list[Any] | None:
        """The values of the hidden arguments; None if the program does not hold any more."""
        found: list[Any] = []
        return [found[k] for k in self._hidden] if self._follow(arguments, found) else None

    def difference(self, arguments: Arguments) -> Path | None:
        """The first path where something else is found; None if the program holds."""
        found: list[Any] = []
        return None if self._follow(arguments, found) else self.nodes[len(found)]

    def _follow(self, arguments: Arguments, found: list[Any]) -> bool:
        """Whether all paths lead to what they did; puts what they lead to into `found`, up to the
        first one that does not."""
        for path, parent in zip(self.nodes, self._parents, strict=True):
            before = found[parent] if parent >= 0 else None
            read = path.read
            if read is not None and read.kind == "lacks":
                # Not read: that would run what the class has by this name.
                if path.key in getattr(before, "__dict__", ()):
                    return False
                found.append(None)
                continue
            value = path.value_of(before, arguments)
            if read is not None and not self._holds(read, value, found):
                return False
            found.append(value)
        return True

    def _told_apart(self) -> list[int]:
        """The numbers of the nodes that lead to objects which code tells apart by identity."""
        asked = [p.read for p in self.nodes if p.read and p.read.kind == "identities"]
        if not asked:
            return []
        if asked[0].known is not None:
            return sorted({self.place(path) for path in asked[0].known})
        return [k for k, p in enumerate(self.nodes) if _has_identity(p.read)]

    def _pattern(self, values: Sequence[Any]) -> list[int]:
        """Which of the objects among the values of all nodes are one."""
        numbers: dict[int, int] = {}
        return [numbers.setdefault(id(values[k]), len(numbers)) for k in self._objects]

    def is_as_read(self, read: Read, value: Any) -> bool:
        """Whether `value`, at the path of a read that is no alias, is what the program is for."""
        return _CHECKS[read.kind](read, value)

    def _holds(self, read: Read, value: Any, found: list[Any]) -> bool:
        if read.kind == "alias":
            return value is found[self.place(read.known)]
        if read.kind == "identities":
            return self._pattern(found) == self._identities
        return _CHECKS[read.kind](read, value)


_COMPARED = ("equal", "same", "type", "items", "content", "array", "number", "missing")
"""Kinds of reads of which two can be compared."""


def _row(known: Any) -> list[Any]:
    """What was found, as a list for `_is_same`."""
    return (
        [_row(x) if type(x) in (tuple, list) else x for x in known]
        if (type(known) in (tuple, list))
        else [known]
    )


def _has_identity(read: Read | None) -> bool:
    """Whether what was found is an object that another one cannot stand for."""
    if read is None or read.kind not in ("type", "items", "content", "inside", "array"):
        return False
    return not isinstance(read.value, (tuple, frozenset))


def _array(read: Read, value: Any) -> bool:
    if array_key(value) != read.known:
        return False
    return read.content is None or bool(np.asarray(value).tobytes() == read.content.tobytes())


def _number(read: Read, value: Any) -> bool:
    if type(value) is not read.known:
        return False
    return read.content is None or is_same_value(value, read.content)


def _items(read: Read, value: Any) -> bool:
    kind, known = read.known
    if type(value) is not kind:
        return False
    now = items_of(value)
    if not isinstance(known, tuple):
        return bool(now == known)
    return len(known) == len(now) and all(map(_is_same, known, now))


_CHECKS: dict[str, Callable[[Read, Any], bool]] = {
    "equal": lambda read, value: is_same_value(read.known, value),
    "same": lambda read, value: value is read.known,
    "code": lambda read, value: value is read.known[0] and value.__code__ is read.known[1],
    "type": lambda read, value: type(value) is read.known,
    "items": _items,
    "content": lambda read, value: _same_content(read.known, value),
    "array": _array,
    "number": _number,
    "missing": lambda read, value: value is MISSING,
    "inside": lambda read, value: bool(read.known.holds(value)),
    "names": lambda read, value: bool(read.known.holds(value)),
    "registered": lambda read, value: bool(read.known == get_cache_token()),
    "members": lambda read, value: bool(read.known.holds(value)),
}


def _same_content(known: Any, value: Any) -> bool:
    if type(value) is not known[0]:
        return False
    now = snapshot(value)
    return len(now) == len(known) and all(map(_is_same, known, now))


def _is_same(first: Any, second: Any) -> bool:
    if type(first) is list:
        return len(first) == len(second) and all(map(_is_same, first, second))
    return first is second or is_same_value(first, second)
