"""What a traced function reads from outside, translated for the trace.

The function runs as a new function object over a *view* of its module's names: a dict that answers
each name when it is first read, with builtins of its own (`views.py`). (The code object stays, so
tracebacks keep the user's lines.) What is read is *translated*:

    numpy, math, cmath        modules that act on traced values
    functions                 functions over views of their own names (`functions.py`)
    the user's modules        the same for each attribute
    the user's classes        subclasses with translated methods; instances share their attributes
    lists, dicts, sets ...    copies that hold what stands for their items

Everything else, the standard library and other people's compiled packages among it, stays as it is
(`users_code.py`). A `Namespace` belongs to one trace: an object has one translation in it.

What the function must not do is found when it is over (`check`): a global name, a closure cell or a
translated container that has changed.
"""

from __future__ import annotations

import builtins
import collections
import gc
import importlib
import sys
import types
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from pyc.array import Array as DeviceArray
from pyc.ir import dtype as dt
from pyc.reasons import Reason
from pyc.trace import (
    class_views,
    functions,
    insides,
    library_views,
    location,
    math_views,
    numpy_module,
    python_builtins,
)
from pyc.trace.facts import Facts
from pyc.trace.modules import ModuleView, changed_outside, is_converter
from pyc.trace.paths import Path
from pyc.trace.reads import ITEMS, Reads, items_of, snapshot
from pyc.trace.tracer import Tracer
from pyc.trace.users_code import is_users, is_users_class
from pyc.trace.views import Builtins, View

_PLAIN = frozenset(
    [
        *(int, float, complex, bool, str, bytes, type(None), range, slice, type(Ellipsis)),
        *(Tracer, np.dtype, *np.sctypeDict.values()),
    ]
)
"""Types of values that need no translation."""
_ARRAYS = (np.ndarray, np.memmap, DeviceArray)


def _as_written(function: Any) -> Any:
    return function


class Namespace:
    """Translations of one trace. reads: notes what the function reads from outside."""

    def __init__(self, reads: Reads | None = None) -> None:
        self.reads = reads or Reads(None)
        self.builtins = Builtins(self)
        self.functions = functions.Functions(self)
        self.rewrite: Callable[[Any], Any] = _as_written
        """What a function of the user is made into before: `jumps.rewritten`, or itself."""
        self.fastmath = False
        """Whether the program that is traced may change roundings."""
        self.observer: Callable[[Any, Any, Path], Any] | None = None
        """Told of each object from outside and its translation, gives what stands for it: a
        `Watch` of `pyc.purity`."""
        self.keeper: Callable[[Any, Path], None] | None = None
        """Told of each object from outside that the function gets itself."""
        self._streams = [getattr(sys, name) for name in _STREAMS]
        self._views: dict[int, View] = {}
        self._memo: dict[int, tuple[Any, Any, Path | None]] = {}
        """By id: an object, kept alive so that its id stays its own, its translation, and where it
        was read first; no place for what the trace has made."""
        self._roots: dict[tuple[str, Any, int], Path] = {}
        self._containers: list[tuple[Any, Any, Path]] = []
        self._insides: list[tuple[Any, Any, Path]] = []
        self._later: list[Callable[[], None]] = []
        self.facts = Facts(self)
        self._depth = 0
        # Not `cached_property`: in Python 3.11 it has locks, which a fork would leave held.
        self.known_shadows: Any = None
        """The classes of the user, None before the first one is met."""
        self._known_libraries: Any = None

    @property
    def libraries(self) -> Any:
        """The modules that are not the user's, loaded when the first one is met."""
        if self._known_libraries is None:
            self._known_libraries = library_views().Libraries(self)
        return self._known_libraries

    @property
    def _shadows(self) -> Any:
        """The classes of the user, loaded when the first one is met."""
        if self.known_shadows is None:
            self.known_shadows = class_views().Shadows(self)
        return self.known_shadows

    # --- the doors --------------------------------------------------------------------------------

    def translate(self, value: Any, path: Path) -> Any:
        """What stands for `value`, which the function reads by `path`."""
        kind = type(value)
        if kind is not Tracer:
            self.reads.saw(path, value)
        if kind in _PLAIN:
            return value if kind is Tracer else self.reads.plain(path, value)
        if kind in _ARRAYS:
            if kind is not DeviceArray and dt.of(value.dtype) is None:
                self.note_inside(path, value)
                return self.observed(value, path)
            if not self.reads.asks_identity:
                return self.reads.array(path, value)
            same = self._memo.get(id(value))
            if same is None:
                made = self.reads.array(path, value)
                self.remember(value, made, path)
                return made
        known = self._memo.get(id(value))
        if known is not None:
            self._read_again(value, path, known[2])
            return known[1]
        self._depth += 1
        try:
            made = self._translated(value, kind, path)
            if self.observer is not None:
                made = self.observer(value, made, path)
        finally:
            self._depth -= 1
        self.remember(value, made, path)
        if not self._depth:
            while self._later:
                self._later.pop(0)()
        return made

    def root(self, kind: str, key: Any, holder: Any) -> Path:
        """The path of a root, one object for equal ones."""
        found = self._roots.get((kind, key, id(holder)))
        if found is None:
            found = self._roots[kind, key, id(holder)] = Path(None, kind, key, holder)
        return found

    def later(self, step: Callable[[], None]) -> None:
        """Does `step` when the object that is being translated is there: what it refers to may
        refer to it."""
        self._later.append(step)

    def watch(self, container: Any, copy: Any, path: Path) -> None:
        """From now on `container` must stay equal to `copy`."""
        self._containers.append((container, copy, path))

    def function(self, value: Any, name: str) -> Any:
        """What stands for the function that is traced."""
        return self.translate(value, self.root("object", name, value))

    def original(self, function: Any) -> Any:
        """The user's own function that one over views of names stands for, as it is outside of the
        trace; None if that is not known."""
        if isinstance(function, types.MethodType):
            method = self.original(function.__func__)
            return method and types.MethodType(method, self.restored(function.__self__))
        for value, made, _ in list(self._memo.values()):
            if made is function:
                return value
        if isinstance(function, (types.BuiltinFunctionType, np.ufunc)):
            return function
        if type(function) is not types.FunctionType:
            return None
        names = function.__globals__
        if type(names) is not View:
            return function
        # Made in the traced function: what it has from there may be traced, or a copy.
        given = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        if function.__closure__ or any(type(v) not in _IMMUTABLE for v in given):
            return None
        own = types.FunctionType(
            function.__code__, names.own, function.__name__, function.__defaults__
        )
        own.__kwdefaults__ = function.__kwdefaults__
        return own

    def restored(self, value: Any) -> Any:
        """A result of the traced function, with objects of the user's own classes."""
        return self._shadows.restored(value) if self.known_shadows is not None else value

    def argument(self, value: Any, name: str, place: int | str) -> Any:
        """What stands for an argument of the traced function. place: its position or its name."""
        path = self.root("argument", name, place)
        made = self.translate(value, path)
        self._watch_argument(made, path)
        return made

    def _watch_argument(self, value: Any, path: Path) -> None:
        """Watches the lists and dicts of an argument, which are the caller's."""
        if type(value) is dict:
            self.watch(value, value.copy(), path)
            for key, item in value.items():
                self._watch_argument(item, path.item(key))
        elif type(value) in (list, tuple):
            if type(value) is list:
                self.watch(value, value.copy(), path)
            for place, item in enumerate(value):
                self._watch_argument(item, path.item(place))

    def close(self) -> None:
        """Ends the translations."""
        if self.known_shadows is not None:
            self._shadows.close()

    def check(self) -> None:
        """PurityError: the function has changed what it was to read."""
        for view in self._views.values():
            for name, value in dict.items(view):
                if not name.startswith("__") and view.answered.get(name, view) is not value:
                    raise changed_outside(f"the global name `{name}`", Reason.PURITY_NAME)
        self.functions.check()
        for container, copy, path in self._containers:
            if not _same_items(container, copy):
                raise changed_outside(f"`{path.text()}`")
        for value, seen, path in self._insides:
            if not seen.holds(value):
                raise changed_outside(f"`{path.text()}`")
        if self.known_shadows is not None:
            self._shadows.check()

    def known(self, value: Any) -> Any:
        """What stands for an object that was met before, None for others."""
        found = self._memo.get(id(value))
        return found and found[1]

    def path_of(self, value: Any) -> Path | None:
        """Where an object was read first; None: it was not read."""
        found = self._memo.get(id(value))
        return None if found is None else found[2]

    def remember(self, value: Any, made: Any, path: Path | None) -> None:
        """From now on `made` stands for an object. path: where that was read."""
        self._memo[id(value)] = (value, made, path)
        self._memo.setdefault(id(made), (made, made, None))

    def _read_again(self, value: Any, path: Path, first: Path | None) -> None:
        """Notes that an object was read by another path than the first one."""
        if first is None or path is first or path.read is not None or not path.is_outside:
            return
        known = first.read
        if known is not None and known.kind in ("same", "code"):
            self.reads.note(path, known.kind, known.known)
        elif known is None and first.kind == "object":
            self.reads.note(path, "same", value)
        elif first.root.kind != "inside":
            self.reads.note(path, "alias", first)

    # --- by kind ----------------------------------------------------------------------------------

    def _translated(self, value: Any, kind: type, path: Path) -> Any:
        rule = _RULES.get(kind)
        if rule is not None:
            return rule(self, value, path)
        of_function = functions.RULES.get(kind)
        if of_function is not None:
            return of_function(self.functions, value, path)
        if isinstance(value, type):
            return self._class(value, path)
        if isinstance(value, types.ModuleType):
            return self._module(value, path)
        if isinstance(value, _FOREIGN):
            return self._foreign(value, path)
        if isinstance(value, tuple) and hasattr(kind, "_make"):
            value = self._tuple(value, path)
        if kind.__module__.startswith("numpy"):
            found = numpy_module.answer(value)
        else:
            found = self._shadows.instance(value, path) if is_users_class(kind) else value
            if found is value and isinstance(value, tuple) and is_users_class(kind):
                self.note_names(kind, whole=True)
        if path.read is None:
            self._note_others(value, found, path)
        return found

    def _note_others(self, value: Any, found: Any, path: Path) -> None:
        """Notes an object of a class that has no rule here. found: what stands for it."""
        if isinstance(value, np.dtype):
            self.reads.note(path, "equal", value)
        elif found is not value or insides().is_fixed(value):
            self.reads.note(path, "same", value)
        elif type(value).__module__ == "pyc.jit":
            self.reads.note(path, "same", value)
            for name in [k for k in vars(value) if not k.startswith("_")]:
                self.translate(vars(value)[name], path.attribute(name))
        elif isinstance(value, Enum) and insides().is_plain_member(value):
            self.reads.note(path, "same", value)
            self.note_names(type(value), whole=True)
        else:
            self.note_inside(path, value)

    def observed(self, value: Any, path: Path) -> Any:
        """What stands for an object from outside that has no translation."""
        return value if self.observer is None else self.observer(value, value, path)

    def is_redirected(self, name: str, value: Any) -> bool:
        """Whether an attribute of a module is `sys.stdout` or its like, in place of which the
        function has put another stream."""
        return name in _STREAMS and getattr(sys, name) is value and value not in self._streams

    def note_inside(self, path: Path, value: Any) -> None:
        """Notes all that is inside of an object."""
        if path.root.kind == "argument" and not path.is_outside:
            # A static one: the signature knows it as this very object, and no more of it.
            path = self.root("object", path.text(), value)
        if path.read is None and path.is_outside and self.reads.hide is not None:
            seen = insides().Inside(value, path.text())
            self.reads.note(path, "inside", seen, value)
            if not insides().may_cache(value):
                self._insides.append((value, seen, path))
                if self.keeper is not None:
                    self.keeper(value, path)

    def note_names(self, cls: type, whole: bool = False) -> None:
        """Notes the bases and the names of a class of the user. whole: and what they hold."""
        path = self.root("class", cls.__qualname__, cls)
        if path.read is None:
            self.reads.note(path, "names", insides().Names(cls, whole))
        if is_users_class(type(cls)):  # its methods run as they are
            self.note_inside(self.root("object", type(cls).__qualname__, type(cls)), type(cls))

    def _foreign(self, value: Any, path: Path) -> Any:
        """A function written in C, or a ufunc."""
        owner = getattr(value, "__self__", None)
        if isinstance(owner, (type, types.ModuleType, np.ufunc)) or (
            owner is None and not _has_code(value)
        ):
            self.reads.note(path, "same", value)
        else:
            self._note_others(value, value, path)
        found = python_builtins.answer(value)
        if found is value:
            found = math_views().answer(value) if functions.is_mathematical(value) else value
        return numpy_module.answer(value) if found is value else found

    def _class(self, value: type, path: Path) -> Any:
        if self.known_shadows is not None and self._shadows.own(value) is not value:
            return value  # one that was made here
        self.reads.note(path, "same", value)
        found = numpy_module.answer(value)
        if found is not value or not is_users_class(value):
            return found
        found = self._shadows.class_of(value)
        if found is value:  # it is left alone
            if insides().has_code(value):
                self.note_inside(self.root("object", value.__qualname__, value), value)
            else:
                self.note_names(value, whole=True)
        return found

    def names(self, own: dict[str, Any]) -> View:
        """The view of the names of a module."""
        known = self._views.get(id(own))
        if known is None:
            known = self._views[id(own)] = View(self, own)
            if own is not sys.modules and is_users(own):
                self.facts.names(own)
        return known

    # --- modules ----------------------------------------------------------------------------------

    def _module(self, value: types.ModuleType, path: Path) -> Any:
        if isinstance(value, ModuleView):
            return value
        self.reads.note(path, "same", value)
        top = value.__name__.partition(".")[0]
        if top == "pyc" and location.is_own(getattr(value, "__file__", None) or ""):
            return value
        if value is builtins:
            made: ModuleView = self.libraries.made(value, self._of_builtins, self.builtins.other)
            return made
        self.facts.reads(value.__name__)
        if top != "numpy" and (top == "scipy" or is_users(vars(value))):
            return self._users_module(value)
        found: ModuleView = self.libraries.view(value)
        return found

    def _users_module(self, value: types.ModuleType) -> ModuleView:
        own = self.root("object", value.__name__, value)

        def missed(name: str) -> None:
            self.reads.missing(own.attribute(name))

        def answer(name: str, value: Any) -> Any:
            return self.translate(value, own.attribute(name))

        made: ModuleView = self.libraries.made(value, answer, missed)
        return made

    def import_module(self, name: str, package: str | None = None) -> Any:
        """`importlib.import_module`."""
        module = importlib.import_module(name, package)
        return self.translate(module, self.root("global", module.__name__, sys.modules))

    def _of_builtins(self, name: str, value: Any) -> Any:
        """An attribute of `builtins`."""
        if name.startswith("__") or is_converter(value):
            self.libraries.note(builtins, name)
            return value
        return self.builtins[name]

    # --- classes ----------------------------------------------------------------------------------

    # --- containers -------------------------------------------------------------------------------

    def note_items(self, path: Path, value: Any) -> None:
        """Notes how many items a list or tuple has, or the keys of a dict."""
        self.reads.note(path, "items", (type(value), items_of(value)), value)

    def _is_long(self, path: Path, value: Any, items: Any) -> bool:
        """Whether a container has many items, all of them plain values; then it is noted whole."""
        if len(value) <= ITEMS or not _PLAIN.issuperset(map(type, items)):
            return False
        self.reads.note(path, "content", snapshot(value), value)
        return True

    def _row(self, value: Any, path: Path) -> Any:
        """A list or a deque."""
        now = value.copy()  # all that is read of it: another thread may change it meanwhile
        made = now.copy()
        if not self._is_long(path, now, now):
            self.note_items(path, now)
            self._memo[id(value)] = (value, made, path)  # it may hold itself
            for k, item in enumerate(now):
                made[k] = self.translate(item, path.item(k))
        self.watch(made, made.copy(), path)
        return made

    def _tuple(self, value: tuple[Any, ...], path: Path) -> Any:
        if self._is_long(path, value, value):
            return value
        self.note_items(path, value)
        made = [self.translate(v, path.item(k)) for k, v in enumerate(value)]
        if all(new is old for new, old in zip(made, value, strict=True)):
            return value
        return tuple(made) if type(value) is tuple else tuple.__new__(type(value), made)

    def _dict(self, value: dict[Any, Any], path: Path) -> Any:
        """A dict, or one of the standard library's kinds of it."""
        if value is sys.modules:
            return self.names(value)
        inside = self.root("inside", "", None)
        now = value.copy()
        made: Any = now.copy()
        self._memo[id(value)] = (value, made, path)  # it may hold itself
        made.clear()
        if self._is_long(path, now, now.values()):
            made.update(now)
        else:
            self.note_items(path, now)
            if not all(map(_is_plain_key, now)):
                self.note_inside(path.keys(), list(now))
            for k, v in now.items():
                made[self.translate(k, inside)] = self.translate(v, path.item(k))
        if isinstance(value, collections.defaultdict):
            factory = path.attribute("default_factory")
            made.default_factory = self.translate(value.default_factory, factory)
        self.watch(made, made.copy(), path)
        return made

    def _set(self, value: Any, path: Path) -> Any:
        made = value.copy()
        if all(map(_is_plain_key, made)):
            self.reads.note(path, "content", snapshot(made), value)
        else:
            self.note_inside(path, value)
        if type(value) is set:
            self.watch(made, made.copy(), path)
        return made

    def _simple_namespace(self, value: types.SimpleNamespace, path: Path) -> Any:
        self.reads.note(path, "type", types.SimpleNamespace, value)
        names, now = path.attribute("__dict__"), vars(value).copy()
        self.note_items(names, now)
        made = {k: self.translate(v, names.item(k)) for k, v in now.items()}
        found = types.SimpleNamespace(**made)
        self.watch(vars(found), made, path)
        return found


def _is_plain_key(value: Any) -> bool:
    """Whether a key or an item of a set has nothing inside that changes."""
    if type(value) is tuple:
        return all(map(_is_plain_key, value))
    return type(value) in _PLAIN or isinstance(value, (type, Enum))


def _has_code(function: Any) -> bool:
    """Whether a function of NumPy's calls one of the user's."""
    return isinstance(function, np.ufunc) and any(map(callable, gc.get_referents(function)))


def _same_items(first: Any, second: Any) -> bool:
    """Whether two containers of one kind hold the same objects, in the same order."""
    if len(first) != len(second):
        return False
    if isinstance(first, set):
        return bool(first == second)
    if not isinstance(first, dict):
        return all(a is b for a, b in zip(first, second, strict=True))
    pairs = zip(first.items(), second.items(), strict=True)
    return all(a is c and b is d for (a, b), (c, d) in pairs)


_IMMUTABLE = (int, float, complex, bool, str, bytes, type(None))
_STREAMS = ("stdin", "stdout", "stderr")
_FOREIGN = (types.BuiltinFunctionType, types.MethodWrapperType, np.ufunc, type(np.sum))

_RULES: dict[type, Callable[[Namespace, Any, Path], Any]] = {
    list: Namespace._row,
    collections.deque: Namespace._row,
    tuple: Namespace._tuple,
    dict: Namespace._dict,
    collections.OrderedDict: Namespace._dict,
    collections.defaultdict: Namespace._dict,
    collections.Counter: Namespace._dict,
    set: Namespace._set,
    frozenset: Namespace._set,
    types.SimpleNamespace: Namespace._simple_namespace,
}
"""How containers of exact types are translated."""
