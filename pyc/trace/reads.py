"""What a traced function read from outside: arrays, numbers, functions, objects, by their paths.

A compiled program holds as long as each path still leads to what was found there. `Reads` notes
what that was, once a path:

    equal      a value that cannot change: an equal one, of the same type
    same       an object, such as a module, class or library function: the very same one
    code       a function: the same one with the same code (reloading swaps the code)
    type       an object of the user: another one of its class (what is read from it has paths)
    items      a list, tuple or dict: one of its type with as many items, or the same keys
    content    values in a container too long for paths of their own
    array      an array of the same type: its elements are a hidden argument of the program
    number     a number that has changed before: a hidden argument too
    alias      the object that another path leads to
    inside     an object of a library: one with the same inside (`inside.py`)
    names      a class: one with the same bases and names
    members    a module of a library: the names that were read lead to the very same objects
    registered no class was registered with an abstract one since (`abc.get_cache_token`)
    identities which of the objects that were read are one; known: the paths of those that code
               may compare, None for all
    lacks      no attribute of the object itself hides that of its class
    missing    nothing

Hidden arguments are read through their paths at each call. If Python needs the value of one while
the function is traced (a shape, a branch, an index of a list), the read keeps that as its
`content`, and the program is for this value only.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.array import Array as DeviceArray
from pyc.interpreter import WEAK, type_of
from pyc.ir.types import ArrayType
from pyc.trace.paths import MISSING, Path

ITEMS = 64
"""The most plain values of a container that get paths of their own."""

Hide = Callable[[ArrayType, "type | None", str, Any], Any]
"""Makes a hidden argument: (its type, the Python number that it stands for, its name, the read) ->
a tracer."""


class Read:
    """What was found at a path. kind: see above; known: what it was; tracer: of a hidden argument;
    content: its value, if Python has needed it."""

    __slots__ = ("content", "kind", "known", "path", "tracer", "value")

    def __init__(self, path: Path, kind: str, known: Any, value: Any = None) -> None:
        self.path = path
        self.kind = kind
        self.known = known
        self.value = value
        self.tracer: Any = None
        self.content: Any = None

    @property
    def is_hidden(self) -> bool:
        """Whether it is a hidden argument."""
        return self.kind in ("array", "number")


class Reads:
    """What one trace has read. hide: see `Hide`, None where nothing can be hidden; changing: the
    paths of numbers that have changed before, by `Path.identity`."""

    def __init__(self, hide: Hide | None, changing: frozenset[Any] = frozenset()) -> None:
        self.hide = hide
        self.changing = changing
        self.found: list[Read] = []
        self.torn: Path | None = None
        """A path that has led to two things while the function was traced."""
        self.asks_identity = False
        self._arrays: dict[int, Read] = {}
        self._are_apart = False
        """Whether one array is several hidden arguments, for it was read by several paths."""
        self._told_apart: Read | None = None
        self._seen: dict[Path, Any] = {}

    def saw(self, path: Path, value: Any) -> None:
        """Remembers what a path leads to, and finds out whether that has changed."""
        if not path.is_outside or self.hide is None:
            return
        known = self._seen.setdefault(path, value)
        if known is not value and not _are_alike(known, value):
            self.torn = path

    def note(self, path: Path, kind: str, known: Any, value: Any = None) -> Read | None:
        """Notes what a path has led to, the first time; None if nothing can change there."""
        if path.read is None and path.is_outside and self.hide is not None:
            path.read = Read(path, kind, known, value)
            self.found.append(path.read)
        found: Read | None = path.read
        return found

    def ask_which_are_one(self) -> None:
        """From now on code may compare objects by identity."""
        if not self.asks_identity and self.hide is not None:
            self.asks_identity = True
            self._identities().known = None

    @property
    def asked_too_late(self) -> bool:
        """Whether code has compared objects by identity after two things stood for one array."""
        return self.asks_identity and self._are_apart

    def tell_apart(self, path: Path) -> None:
        """Code may compare the object of this path with others that are told apart so."""
        seen = self.hide is not None and path.root.kind != "inside"
        if seen and self._identities().known is not None:
            self._identities().known.append(path)

    def _identities(self) -> Read:
        if self._told_apart is None:
            self._told_apart = self.note(Path(None, "identities", "is"), "identities", [])
        assert self._told_apart is not None
        return self._told_apart

    def missing(self, path: Path) -> None:
        """Notes that nothing is there."""
        self.saw(path, MISSING)
        self.note(path, "missing", MISSING)

    def plain(self, path: Path, value: Any) -> Any:
        """A value that cannot change; a hidden argument if it is a number that changes."""
        if path.read is not None:
            return value if path.read.tracer is None else path.read.tracer
        if self.changing and path.identity() in self.changing and self.hide is not None:
            weak = type(value) if type(value) in WEAK else None
            return self._hidden(path, "number", type(value), weak, value)
        self.note(path, "equal", value)
        return value

    def array(self, path: Path, value: Any) -> Any:
        """An array, as a hidden argument."""
        if path.read is not None and path.read.tracer is not None:
            return path.read.tracer
        if not path.is_outside or self.hide is None:
            return value
        found = self._hidden(path, "array", array_key(value), None, value)
        self._are_apart |= self._arrays.setdefault(id(value), path.read) is not path.read
        return found

    def _hidden(self, path: Path, kind: str, known: Any, weak: type | None, value: Any) -> Any:
        read = self.note(path, kind, known, value)
        assert read is not None and self.hide is not None
        read.tracer = self.hide(type_of(value), weak, path.text(), read)
        return read.tracer


def _are_alike(first: Any, second: Any) -> bool:
    """Whether one value may stand for the other: equal ones, and arrays of one type."""
    if isinstance(first, np.ndarray):
        return array_key(first) is not None and array_key(first) == array_key(second)
    return is_same_value(first, second)


def array_key(value: Any) -> Any:
    """What arrays of one program have in common; None for what is not an array."""
    if type(value) is DeviceArray:
        return value.shape, value.dtype, value.device
    if type(value) in (np.ndarray, np.memmap):
        return value.shape, value.dtype
    return None


_BY_EQUALITY = (int, str, bytes, bool, type(None), type(Ellipsis))


def is_same_value(first: Any, second: Any) -> bool:
    """Whether two plain values cannot be told apart: of one type, and equal to the last bit."""
    if first is second:
        return True
    kind = type(first)
    if type(second) is not kind:
        return False
    if kind in _BY_EQUALITY or isinstance(first, np.dtype):
        return bool(first == second)
    if kind in (float, complex, range, slice):
        return repr(first) == repr(second)
    if isinstance(first, np.generic):
        return bool(first.dtype == second.dtype and first.tobytes() == second.tobytes())
    if kind in (list, tuple):
        return len(first) == len(second) and all(map(is_same_value, first, second))
    return False


def items_of(value: Any) -> Any:
    """The keys of a dict, the number of items of another container; no method of the user asked."""
    if isinstance(value, OrderedDict):
        return tuple(OrderedDict.__iter__(value))
    if isinstance(value, dict):
        return tuple(dict.__iter__(value))
    rows: tuple[Any, ...] = (list, tuple, deque)
    for row in rows:
        if isinstance(value, row):
            return row.__len__(value)
    return None


def snapshot(value: Any) -> Any:
    """The content of a container, to be compared with `is_same_value`."""
    if isinstance(value, dict):
        pairs = list(value.items())
        return (type(value), [k for k, _ in pairs], [v for _, v in pairs])
    return (type(value), list(value))


__all__ = [
    *("ITEMS", "Hide", "Read", "Reads", "array_key", "is_same_value", "items_of", "snapshot"),
]
