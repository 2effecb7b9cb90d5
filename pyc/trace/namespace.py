"""The names that a traced function sees.

The function runs as a new function object over a *view* of its module's names: a dict that answers
each name when it is first read, with builtins of its own. (CPython asks a dict subclass for names
of `LOAD_GLOBAL`, in nested functions and comprehensions too; the code object stays, so tracebacks
keep the user's lines.) What is read is *translated*:

    numpy, math, cmath        modules that act on traced values
    the user's functions      functions over views of their own names, cells and defaults
    the user's modules        the same for each attribute
    the user's classes        subclasses with translated methods; instances share their attributes
    partial, lru_cache,       rebuilt around translated functions
    bound methods, lists ...

Everything else, the standard library and other people's compiled packages among it, stays as it is
(`users_code.py`). A `Namespace` belongs to one trace: an object has one translation in it.

What the function must not do is found when it is over (`check`): a global name, a closure cell or a
translated container that has changed.
"""

from __future__ import annotations

import builtins
import collections
import functools
import gc
import importlib
import sys
import types
from abc import ABCMeta, get_cache_token
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from enum import Enum
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

import numpy as np

from pyc.array import Array as DeviceArray
from pyc.errors import PurityError, UnsupportedOpError
from pyc.ir import dtype as dt
from pyc.reasons import Reason
from pyc.trace import (
    class_views,
    insides,
    library_views,
    location,
    math_views,
    numpy_module,
    python_builtins,
)
from pyc.trace.callee import is_called
from pyc.trace.concrete import is_traced
from pyc.trace.facts import OF_MODULES, Facts
from pyc.trace.modules import (
    CONVERTERS,
    MATHEMATICAL,
    ModuleView,
    changed_outside,
    is_converter,
    refuse_write,
)
from pyc.trace.paths import MISSING, Path
from pyc.trace.reads import ITEMS, Reads, items_of, snapshot
from pyc.trace.tracer import Tracer
from pyc.trace.users_code import is_users, is_users_class

_PLAIN = frozenset(
    [
        *(int, float, complex, bool, str, bytes, type(None), range, slice, type(Ellipsis)),
        *(Tracer, np.dtype, *np.sctypeDict.values()),
    ]
)
"""Types of values that need no translation."""
_ARRAYS = (np.ndarray, np.memmap, DeviceArray)


class View(dict[str, Any]):
    """The global names of a module, each translated when it is first read. own: the module's."""

    def __init__(self, namespace: Namespace, own: dict[str, Any]) -> None:
        known = {name: own[name] for name in OF_MODULES if name in own}
        super().__init__(known, __builtins__=namespace.builtins)
        self.namespace = namespace
        self.own = own
        self.answered = known | {"__builtins__": namespace.builtins}

    def answer(self, name: str) -> Any:
        """What a name stands for; KeyError if the module has none such."""
        path = self.namespace.root("global", name, self.own)
        value = self.own.get(name, MISSING)
        if value is MISSING:
            self.namespace.reads.missing(path)
            raise KeyError(name)
        found = self.namespace.translate(value, path)
        if not is_converter(found):
            self.answered[name] = found
            super().__setitem__(name, found)
        return found

    def __missing__(self, name: str) -> Any:
        found = self.answer(name)
        return CONVERTERS[found] if is_converter(found) and is_called() else found

    # What code does with `globals()`.

    def __contains__(self, name: object) -> bool:
        return self.get(str(name), MISSING) is not MISSING

    def __iter__(self) -> Iterator[str]:
        self._note_names()
        return iter(self.own)

    def __len__(self) -> int:
        self._note_names()
        return len(self.own)

    def _note_names(self) -> None:
        path = self.namespace.root("object", "globals()", self.own)
        self.namespace.note_items(path, self.own)

    def keys(self) -> Any:
        """The names of the module."""
        return KeysView(self)

    def values(self) -> Any:
        """What they stand for."""
        return ValuesView(self)

    def items(self) -> Any:
        """Both."""
        return ItemsView(self)

    def copy(self) -> dict[str, Any]:
        """All of it."""
        return dict(self.items())

    def get(self, name: str, default: Any = None) -> Any:
        """The name's value, `default` if there is none."""
        try:
            return self[name]
        except KeyError:
            return default

    def _refuse(self, *args: Any, **options: Any) -> NoReturn:
        """Raises PurityError: names are the module's."""
        if self.own is sys.modules:
            refuse_write("`sys.modules`")
        named = f"the global name `{args[0]}`" if args and type(args[0]) is str else "global names"
        refuse_write(named, Reason.PURITY_NAME)

    def setdefault(self, name: str, default: Any = None) -> Any:
        """The name's value; PurityError if there is none."""
        return self[name] if name in self else self._refuse(name)

    __setitem__ = __delitem__ = __ior__ = _refuse
    pop = popitem = clear = update = _refuse


class _ClassBody(dict[str, Any]):
    """The names of a class body: its own, then those of the view."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view

    def __missing__(self, name: str) -> Any:
        found = self._view[name] if dict.__contains__(self._view, name) else self._view.answer(name)
        return CONVERTERS[found] if is_converter(found) and is_called() else found


class _Cached:
    """A function with `functools.lru_cache`: the same object for the same arguments within the
    trace; traced arguments, which cannot be keys, are never looked up."""

    def __init__(self, wrapper: Any, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._cached = functools.lru_cache(**wrapper.cache_parameters())(function)

    def __call__(self, *args: Any, **options: Any) -> Any:
        """The function of the arguments."""
        if is_traced(args) or is_traced(options):
            return self.__wrapped__(*args, **options)
        return self._cached(*args, **options)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def cache_info(self) -> Any:
        """Refused: the cache of the trace is another one."""
        raise PurityError(
            f"the counts of the cache of `{self.__wrapped__.__name__}` are read: compiled code "
            "would use the same ones in every call",
            rule=Reason.PURITY_ENVIRONMENT,
            fix="Read them outside of the jitted function.",
            place=location.here(),
        )

    def cache_clear(self) -> None:
        """Refused: the cache that would be cleared is the trace's own."""
        refuse_write(f"the cache of `{self.__wrapped__.__name__}`")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cached, name)


def _as_written(function: Any) -> Any:
    return function


def _holds_no_function(value: Any) -> bool:
    """Whether a value is a container without functions in it."""
    if type(value) not in (list, dict, set, collections.deque):
        return isinstance(value, WeakKeyDictionary)
    items = value.values() if type(value) is dict else value
    return not any(isinstance(v, types.FunctionType) for v in items)


def _holds_a_cache(cell: types.CellType) -> bool:
    """Whether a cell holds what `functools.singledispatch` keeps its choices in."""
    try:
        return type(cell.cell_contents) is WeakKeyDictionary
    except ValueError:  # a name not yet bound
        return False


def _holds_the_librarys(cell: types.CellType) -> bool:
    """Whether a cell of a library's function holds what the library itself keeps there."""
    try:
        return _holds_no_function(cell.cell_contents)
    except ValueError:  # a name not yet bound
        return False


class Namespace:
    """Translations of one trace. reads: notes what the function reads from outside."""

    def __init__(self, reads: Reads | None = None) -> None:
        self.reads = reads or Reads(None)
        self.builtins = python_builtins.Builtins(
            {"__import__": self._import, "__build_class__": self._build_class},
            {"isinstance": self._isinstance, "issubclass": self._issubclass},
            self._builtin,
        )
        self.rewrite: Callable[[Any], Any] = _as_written
        """What a function of the user is made into before: `jumps.rewritten`, or itself."""
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
        self._cells: list[tuple[types.CellType, Any, Path]] = []
        self._containers: list[tuple[Any, Any, Path]] = []
        self._insides: list[tuple[Any, Any, Path]] = []
        self._made: list[tuple[types.FunctionType, Any, str]] = []
        """Translated functions, what was set there, and how they were read."""
        self._later: list[Callable[[], None]] = []
        self._functions: list[tuple[Any, Path]] = []
        self.facts = Facts(self)
        self._is_asked = False
        """Whether the function may find out which attributes functions do not have."""
        self._depth = 0
        # Not `cached_property`: in Python 3.11 it has locks, which a fork would leave held.
        self._known_shadows: Any = None
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
        if self._known_shadows is None:
            self._known_shadows = class_views().Shadows(self)
        return self._known_shadows

    def _builtin(self, name: str) -> Any:
        """A builtin that is not one of Python's own, or tells what is not there; UNCHANGED for one
        of Python's own."""
        if python_builtins.is_own(name):
            self.libraries.note(builtins, name)
            if name not in python_builtins.ASKING:
                return python_builtins.UNCHANGED
            self._is_asked = True
            for function, path in self._functions:
                self.note_items(path.attribute("__dict__"), vars(function))
            return {"vars": self._vars, "dir": self._dir}.get(name, getattr(builtins, name))
        path = self.root("global", name, vars(builtins))
        value = vars(builtins).get(name, MISSING)
        if value is not MISSING:
            return self.translate(value, path)
        self.reads.missing(path)
        return MISSING

    def _vars(self, *args: Any) -> Any:
        """`vars`: of a module and of a class what their views say."""
        if not args:
            return sys._getframe(1).f_locals
        if isinstance(args[0], ModuleView):
            return args[0].__dict__
        if isinstance(args[0], type) and self._known_shadows is not None:
            return self._shadows.members(args[0])
        return vars(*args)

    def _dir(self, *args: Any) -> Any:
        """`dir`: of the user's own modules, classes and objects."""
        if not args:
            return sorted(sys._getframe(1).f_locals)
        value = args[0]
        if isinstance(value, ModuleView):
            value = value.__viewed__
            self.note_items(
                self.root("object", f"vars({value.__name__})", vars(value)), vars(value)
            )
            return dir(value)
        return dir(value if self._known_shadows is None else self._shadows.own(value))

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
                self._remember(value, made, path)
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
        self._remember(value, made, path)
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
        return self._shadows.restored(value) if self._known_shadows is not None else value

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
        if self._known_shadows is not None:
            self._shadows.close()

    def check(self) -> None:
        """PurityError: the function has changed what it was to read."""
        for view in self._views.values():
            for name, value in dict.items(view):
                if not name.startswith("__") and view.answered.get(name, view) is not value:
                    raise changed_outside(f"the global name `{name}`", Reason.PURITY_NAME)
        for cell, value, path in self._cells:
            try:
                changed = cell.cell_contents is not value
            except ValueError:  # `del`
                changed = True
            if changed:
                what = f"`{path.text()}` of the surrounding function"
                raise changed_outside(what, Reason.PURITY_NAME)
        for container, copy, path in self._containers:
            if not _same_items(container, copy):
                raise changed_outside(f"`{path.text()}`")
        for value, seen, path in self._insides:
            if not seen.holds(value):
                raise changed_outside(f"`{path.text()}`")
        if self._known_shadows is not None:
            self._shadows.check()
        for made, before, name in self._made:
            now = _set_on(made)
            if len(now) != len(before) or any(a is not b for a, b in zip(now, before, strict=True)):
                raise changed_outside(f"`{name}`")

    def _remember(self, value: Any, made: Any, path: Path) -> None:
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
        if isinstance(owner, (type, types.ModuleType)) or (owner is None and not _has_code(value)):
            self.reads.note(path, "same", value)
        else:
            self._note_others(value, value, path)
        found = python_builtins.answer(value)
        if found is value:
            found = math_views().answer(value) if _is_mathematical(value) else value
        return numpy_module.answer(value) if found is value else found

    def _class(self, value: type, path: Path) -> Any:
        if self._known_shadows is not None and self._shadows.own(value) is not value:
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

    # --- functions --------------------------------------------------------------------------------

    def _function(self, value: types.FunctionType, path: Path) -> Any:
        if type(value.__globals__) is View:
            return value
        if not is_users(value.__globals__):
            return self._others_function(value, path)
        self.reads.note(path, "code", (value, value.__code__))
        self.facts.enters(value)
        made = self._remade(self.rewrite(value), self.names(value.__globals__))
        self._remember(value, made, path)
        self._asks_attributes(value, path)

        def finish() -> None:
            made.__defaults__ = self._tuple_of_defaults(value, path)
            made.__kwdefaults__ = self._keyword_defaults(value, path)
            self.facts.function(value, made, path)
            vars(made).update(self._attributes(value, path))

            self._made.append((made, _set_on(made), path.text()))

        self.later(finish)
        return made

    def _remade(
        self,
        value: types.FunctionType,
        names: dict[str, Any],
        is_kept: Callable[[types.CellType], bool] = _holds_a_cache,
    ) -> types.FunctionType:
        """The function over other names, its cells translated but for those that are kept."""
        cells = None
        if value.__closure__ is not None:
            named = zip(value.__closure__, value.__code__.co_freevars, strict=True)
            cells = tuple(c if is_kept(c) else self._cell(c, name) for c, name in named)
        made = types.FunctionType(value.__code__, names, value.__name__, None, cells)
        made.__qualname__ = value.__qualname__
        made.__module__ = value.__module__
        made.__doc__ = value.__doc__
        made.__annotations__ = dict(value.__annotations__)
        return made

    def _tuple_of_defaults(self, value: types.FunctionType, path: Path) -> Any:
        code, given = value.__code__, value.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(given) : code.co_argcount]
        return tuple(
            self.translate(v, self.root("default", name, value))
            for name, v in zip(names, given, strict=True)
        )

    def _keyword_defaults(self, value: types.FunctionType, path: Path) -> Any:
        given = value.__kwdefaults__
        return given and {
            name: self.translate(v, self.root("default", name, value))
            for name, v in given.copy().items()
        }

    def _others_function(self, value: types.FunctionType, path: Path) -> Any:
        """A function that is not the user's: what stands for it, or the function over its own names
        with its cells translated if they hold functions of the user, as those of decorators do."""
        self.reads.note(path, "same", value)
        self.facts.reads(value.__module__)
        if self.libraries.needs_the_trace(value):
            return self.libraries.special(value)
        mathematical = _is_mathematical(value)
        found = (math_views() if mathematical else numpy_module).answer(value)
        if found is not value or value.__closure__ is None:
            return found
        if location.is_own(value.__code__.co_filename):
            return value
        held = []
        for cell, name in zip(value.__closure__, value.__code__.co_freevars, strict=True):
            try:
                old = cell.cell_contents
            except ValueError:  # a name not yet bound
                return value
            if _holds_no_function(old):  # it may be a cache of the library's own
                held.append((old, old))
                continue
            held.append((old, self.translate(old, self.root("cell", name, cell))))
        if all(old is new for old, new in held):
            return value
        made = self._remade(value, value.__globals__, _holds_the_librarys)
        made.__defaults__, made.__kwdefaults__ = value.__defaults__, value.__kwdefaults__
        vars(made).update(vars(value))
        return made

    def names(self, own: dict[str, Any]) -> View:
        """The view of the names of a module."""
        known = self._views.get(id(own))
        if known is None:
            known = self._views[id(own)] = View(self, own)
            if own is not sys.modules and is_users(own):
                self.facts.names(own)
        return known

    def _cell(self, cell: types.CellType, name: str) -> types.CellType:
        """The cell of a translated function; functions that share a cell still do."""
        known = self._memo.get(id(cell))
        if known is not None:
            shared: types.CellType = known[1]
            return shared
        made = types.CellType()
        path = self.root("cell", name, cell)
        self._memo[id(cell)] = (cell, made, None)

        def fill() -> None:
            try:
                value = cell.cell_contents
            except ValueError:  # a name not yet bound
                self.reads.missing(path)
                return
            made.cell_contents = self.translate(value, path)
            self._cells.append((made, made.cell_contents, path))

        self.later(fill)
        return made

    def _method(self, value: types.MethodType, path: Path) -> Any:
        found = numpy_module.answer(value)
        if found is not value:
            self.reads.note(path, "same", value)
            return found
        self.reads.note(path, "type", types.MethodType, value)
        function = self.translate(value.__func__, path.attribute("__func__"))
        instance = self.translate(value.__self__, path.attribute("__self__"))
        if function is value.__func__ and instance is value.__self__:
            return value
        known = self._memo.get(id(value.__self__))
        if known is not None and known[2] is not None:
            self.reads.tell_apart(known[2])
        return types.MethodType(function, instance)

    def _asks_attributes(self, value: Any, path: Path) -> None:
        """Notes which attributes a function or partial has, if code asks, or will."""
        self._functions.append((value, path))
        if self._is_asked:
            self.note_items(path.attribute("__dict__"), vars(value))

    def _attributes(self, value: Any, path: Path) -> dict[str, Any]:
        """The attributes of a function or partial, as the traced function sees them."""
        return {k: self.translate(v, path.attribute(k)) for k, v in vars(value).copy().items()}

    def _partial(self, value: functools.partial[Any], path: Path) -> Any:
        self.reads.note(path, "type", functools.partial, value)
        args, keywords = path.attribute("args"), path.attribute("keywords")
        given, named = value.args, value.keywords.copy()
        self.note_items(args, given)
        self.note_items(keywords, named)
        made = functools.partial(
            self.translate(value.func, path.attribute("func")),
            *(self.translate(v, args.item(k)) for k, v in enumerate(given)),
            **{k: self.translate(v, keywords.item(k)) for k, v in named.items()},
        )
        self._asks_attributes(value, path)
        vars(made).update(self._attributes(value, path))
        self.reads.tell_apart(path)
        self.watch(made.keywords, made.keywords.copy(), keywords)
        return made

    def _vectorized(self, value: Any, path: Path) -> Any:
        self.reads.note(path, "same", value)
        options = {k: getattr(value, k) for k in ("otypes", "excluded", "cache", "signature")}
        return numpy_module.vectorize(
            self.translate(value.pyfunc, path.attribute("pyfunc")), **options
        )

    def _cached(self, value: Any, path: Path) -> Any:
        self.reads.note(path, "same", value)
        function = self.translate(value.__wrapped__, path.attribute("__wrapped__"))
        return value if function is value.__wrapped__ else _Cached(value, function)

    # --- modules ----------------------------------------------------------------------------------

    def _module(self, value: types.ModuleType, path: Path) -> Any:
        if isinstance(value, ModuleView):
            return value
        self.reads.note(path, "same", value)
        top = value.__name__.partition(".")[0]
        if top == "pyc" and location.is_own(getattr(value, "__file__", None) or ""):
            return value
        if value is builtins:
            made: ModuleView = self.libraries.made(value, self._of_builtins, self._builtin)
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

    def _of_builtins(self, name: str, value: Any) -> Any:
        """An attribute of `builtins`."""
        if name.startswith("__") or is_converter(value):
            self.libraries.note(builtins, name)
            return value
        return self.builtins[name]

    def _import(
        self,
        name: str,
        names: Mapping[str, Any] | None = None,
        local: Mapping[str, Any] | None = None,
        wanted: Any = (),
        level: int = 0,
    ) -> Any:
        own = names.own if isinstance(names, View) else names
        try:
            module = builtins.__import__(name, own, local, wanted, level)
        except ImportError:
            self.reads.missing(self.root("global", name, sys.modules))
            raise
        known = sys.modules.get(module.__name__) is module
        kind, holder = ("global", sys.modules) if known else ("object", module)
        return self.translate(module, self.root(kind, module.__name__, holder))

    def import_module(self, name: str, package: str | None = None) -> Any:
        """`importlib.import_module`."""
        module = importlib.import_module(name, package)
        return self.translate(module, self.root("global", module.__name__, sys.modules))

    # --- classes ----------------------------------------------------------------------------------

    def _build_class(
        self, body: Any, name: str, *bases: Any, metaclass: Any = None, **options: Any
    ) -> Any:
        """A class statement in a traced function. Its body reads names in another way than
        functions do, past the view: the namespace that it is executed in answers them."""
        given = {} if metaclass is None else {"metaclass": metaclass}
        found = types.resolve_bases(bases)
        meta, prepared, rest = types.prepare_class(name, found, given | options)
        if type(prepared) is not dict or type(body.__globals__) is not View:
            raise UnsupportedOpError(
                f"the class {name} is made in a traced function, by a metaclass that prepares its "
                "names",
                fix="Write the class outside the function.",
                place=location.here(),
            )
        maker = _ClassMaker(meta, prepared, body.__globals__)
        return builtins.__build_class__(body, name, *bases, metaclass=maker, **rest)

    def _isinstance(self, value: Any, kinds: Any) -> bool:
        found = self._original(kinds)
        self._note_registered(found)
        return isinstance(value, found)

    def _issubclass(self, value: Any, kinds: Any) -> bool:
        found = self._original(kinds)
        self._note_registered(found)
        return issubclass(self._original(value), found)

    def _note_registered(self, kinds: Any) -> None:
        """Notes which classes are registered (`ABCMeta.register`), if an abstract one is asked."""
        for kind in kinds if isinstance(kinds, tuple) else (kinds,):
            if isinstance(kind, tuple):
                self._note_registered(kind)
            elif isinstance(kind, ABCMeta):
                path = self.root("object", "abc.ABCMeta.register", ABCMeta)
                self.reads.note(path, "registered", get_cache_token())
                return

    def _original(self, kinds: Any) -> Any:
        """Types in the second argument of `isinstance` as they are outside."""
        return self._shadows.original(kinds) if self._known_shadows is not None else kinds

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


class _ClassMaker:
    """Stands for a metaclass, so that a class body can be executed in a namespace of ours."""

    def __init__(self, metaclass: Any, prepared: dict[str, Any], view: View) -> None:
        self._metaclass = metaclass
        self._prepared = prepared
        self._view = view

    def __prepare__(self, name: str, bases: Any, **options: Any) -> _ClassBody:
        body = _ClassBody(self._view)
        body.update(self._prepared)
        return body

    def __call__(self, name: str, bases: Any, body: _ClassBody, **options: Any) -> Any:
        return self._metaclass(name, bases, dict(body), **options)


def _is_plain_key(value: Any) -> bool:
    """Whether a key or an item of a set has nothing inside that changes."""
    if type(value) is tuple:
        return all(map(_is_plain_key, value))
    return type(value) in _PLAIN or isinstance(value, (type, Enum))


def _set_on(function: types.FunctionType) -> tuple[Any, ...]:
    """What can be assigned to a function."""
    named = function.__kwdefaults__
    facts = (function.__code__, function.__defaults__, named, function.__name__)
    more = (function.__qualname__, function.__doc__, function.__module__)
    holds = (named or {}, function.__annotations__, vars(function))
    return *facts, *more, *(part for names in holds for pair in names.items() for part in pair)


def _is_mathematical(function: Any) -> bool:
    """Whether a function is of `math` or its kin, or a ufunc of another library than NumPy."""
    if isinstance(function, np.ufunc):
        return getattr(np, function.__name__, None) is not function
    return getattr(function, "__module__", None) in MATHEMATICAL


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
    types.FunctionType: Namespace._function,
    types.MethodType: Namespace._method,
    functools.partial: Namespace._partial,
    type(functools.lru_cache(len)): Namespace._cached,
    np.vectorize: Namespace._vectorized,
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
"""How values of exact types are translated."""
