"""The names that a traced function sees, each translated when it is first read.

They are those of its module (`View`), Python's (`Builtins`), and those of a class statement's body.
CPython asks a dict subclass for names of `LOAD_GLOBAL`, in nested functions and comprehensions too.
Class bodies read names in another way, and `__builtins__` is read straight from the dict. What the
names mean is not known here: a `Namespace` translates what they lead to.
"""

from __future__ import annotations

import builtins
import sys
import types
from abc import ABCMeta, get_cache_token
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import TYPE_CHECKING, Any, NoReturn

from pyc.errors import UnsupportedOpError
from pyc.reasons import Reason
from pyc.trace import location
from pyc.trace.callee import is_called
from pyc.trace.facts import OF_MODULES
from pyc.trace.modules import CONVERTERS, ModuleView, is_converter, refuse_write
from pyc.trace.paths import MISSING
from pyc.trace.python_builtins import REPLACED

if TYPE_CHECKING:
    from pyc.trace.namespace import Namespace


class View(dict[str, Any]):
    """The global names of a module, each translated when it is first read. own: the module's."""

    def __init__(self, space: Namespace, own: dict[str, Any]) -> None:
        known = {name: own[name] for name in OF_MODULES if name in own}
        super().__init__(known, __builtins__=space.builtins)
        self._space = space
        self.own = own
        self.answered = known | {"__builtins__": space.builtins}

    def answer(self, name: str) -> Any:
        """What a name stands for; KeyError if the module has none such."""
        path = self._space.root("global", name, self.own)
        value = self.own.get(name, MISSING)
        if value is MISSING:
            self._space.reads.missing(path)
            raise KeyError(name)
        found = self._space.translate(value, path)
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
        path = self._space.root("object", "globals()", self.own)
        self._space.note_items(path, self.own)

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
        if name == "__annotations__":  # the class gets its own, and not the module's
            raise KeyError(name)
        found = self._view[name] if dict.__contains__(self._view, name) else self._view.answer(name)
        return CONVERTERS[found] if is_converter(found) and is_called() else found


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


_ASKING = frozenset(["hasattr", "getattr", "vars", "dir", "AttributeError"])
"""Builtins that tell which attributes something does not have."""

OWN = {
    name: value
    for name, value in vars(builtins).items()
    if name.startswith("__")
    or name in ("None", "True", "False", "Ellipsis", "NotImplemented", "open")
    or getattr(value, "__module__", None) == "builtins"
}
"""Python's own builtins."""

UNCHANGED = object()
"""Says of a builtin that it is Python's own."""


def _is_own(name: str) -> bool:
    """Whether a builtin is Python's own now."""
    value = vars(builtins).get(name, MISSING)
    return value is not MISSING and value is OWN.get(name)


class Builtins(dict[str, Any]):
    """The builtins of a view, each answered when it is first read: others may replace them.

    standing: what stands for Python's own ones.
    """

    def __init__(self, space: Namespace) -> None:
        # What C code reads is there from the beginning.
        super().__init__({k: v for k, v in OWN.items() if k.startswith("__")})
        self["__import__"] = self._import
        self["__build_class__"] = _build_class
        self._space = space
        asked = {"isinstance": self._isinstance, "issubclass": self._issubclass}
        self.standing = REPLACED | asked

    def __missing__(self, name: str) -> Any:
        value: Any = self.other(name)
        if value is MISSING:
            raise KeyError(name)
        if value is UNCHANGED:
            value = self.standing.get(name, OWN[name])
        if is_converter(value):
            return CONVERTERS[value] if is_called() else value
        self[name] = value
        return value

    def other(self, name: str) -> Any:
        """What stands for a builtin that is not one of Python's own, or tells what is not there;
        UNCHANGED for one of Python's own, MISSING if there is none."""
        if _is_own(name):
            self._space.libraries.note(builtins, name)
            if name not in _ASKING:
                return UNCHANGED
            self._space.functions.note_attributes()
            return {"vars": self._vars, "dir": self._dir}.get(name, getattr(builtins, name))
        path = self._space.root("global", name, vars(builtins))
        value = vars(builtins).get(name, MISSING)
        if value is not MISSING:
            return self._space.translate(value, path)
        self._space.reads.missing(path)
        return MISSING

    def _vars(self, *args: Any) -> Any:
        """`vars`: of a module and of a class what their views say."""
        if not args:
            return sys._getframe(1).f_locals
        if isinstance(args[0], ModuleView):
            return args[0].__dict__
        shadows = self._space.known_shadows
        if isinstance(args[0], type) and shadows is not None:
            return shadows.members(args[0])
        return vars(*args)

    def _dir(self, *args: Any) -> Any:
        """`dir`: of the user's own modules, classes and objects."""
        if not args:
            return sorted(sys._getframe(1).f_locals)
        value = args[0]
        if isinstance(value, ModuleView):
            value = value.__viewed__
            path = self._space.root("object", f"vars({value.__name__})", vars(value))
            self._space.note_items(path, vars(value))
            return dir(value)
        shadows = self._space.known_shadows
        return dir(value if shadows is None else shadows.own(value))

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
            self._space.reads.missing(self._space.root("global", name, sys.modules))
            raise
        known = sys.modules.get(module.__name__) is module
        kind, holder = ("global", sys.modules) if known else ("object", module)
        return self._space.translate(module, self._space.root(kind, module.__name__, holder))

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
                path = self._space.root("object", "abc.ABCMeta.register", ABCMeta)
                self._space.reads.note(path, "registered", get_cache_token())
                return

    def _original(self, kinds: Any) -> Any:
        """Types in the second argument of `isinstance` as they are outside."""
        shadows = self._space.known_shadows
        return kinds if shadows is None else shadows.original(kinds)


def _build_class(body: Any, name: str, *bases: Any, metaclass: Any = None, **options: Any) -> Any:
    """A class statement in a traced function. Its body reads names in another way than functions
    do, past the view: the namespace that it is executed in answers them."""
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
