"""Functions as a traced function sees them: over views of their names.

Their cells and defaults are translated; bound methods, `partial`, `lru_cache` and `np.vectorize`
are made anew around such functions. Functions of libraries stay as they are but for those of
decorators, whose cells hold functions of the user. What the traced function sets on a function, or
puts into its cells, is found when it is over (`Functions.check`).
"""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from pyc.errors import PurityError
from pyc.reasons import Reason
from pyc.trace import location, math_views, numpy_module
from pyc.trace.bound import Bound, Mapped
from pyc.trace.concrete import is_traced
from pyc.trace.modules import MATHEMATICAL, OF_LINALG, changed_outside, refuse_write
from pyc.trace.paths import Path
from pyc.trace.users_code import is_users
from pyc.trace.views import View

if TYPE_CHECKING:
    from pyc.trace.namespace import Namespace


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


class Functions:
    """The functions of one trace. space: its `Namespace`."""

    def __init__(self, space: Namespace) -> None:
        self._space = space
        self._translate: Callable[[Any, Path], Any] = space.translate
        self._cells: list[tuple[types.CellType, Any, Path]] = []
        """Cells of translated functions, and what was put there."""
        self._made: list[tuple[types.FunctionType, Any, str]] = []
        """Translated functions, what was set there, and how they were read."""
        self._entered: list[tuple[Any, Path]] = []
        self._is_asked = False
        """Whether the function may find out which attributes functions do not have."""

    def note_attributes(self) -> None:
        """From now on code may find out which attributes functions do not have."""
        self._is_asked = True
        for function, path in self._entered:
            self._space.note_items(path.attribute("__dict__"), vars(function))

    def check(self) -> None:
        """PurityError: the traced function has changed a cell or what is set on a function."""
        for cell, value, path in self._cells:
            try:
                changed = cell.cell_contents is not value
            except ValueError:  # `del`
                changed = True
            if changed:
                what = f"`{path.text()}` of the surrounding function"
                raise changed_outside(what, Reason.PURITY_NAME)
        for made, before, name in self._made:
            now = _set_on(made)
            if len(now) != len(before) or any(a is not b for a, b in zip(now, before, strict=True)):
                raise changed_outside(f"`{name}`")

    def of_python(self, value: types.FunctionType, path: Path) -> Any:
        """The function over a view of its names; itself if it is one that the trace has made."""
        if type(value.__globals__) is View:
            return value
        if not is_users(value.__globals__):
            return self._of_a_library(value, path)
        self._space.reads.note(path, "code", (value, value.__code__))
        self._space.facts.enters(value)
        made = self._remade(self._space.rewrite(value), self._space.names(value.__globals__))
        self._space.remember(value, made, path)
        self._asks_attributes(value, path)

        def finish() -> None:
            made.__defaults__ = self._tuple_of_defaults(value, path)
            made.__kwdefaults__ = self._keyword_defaults(value, path)
            self._space.facts.function(value, made, path)
            vars(made).update(self._attributes(value, path))
            self._made.append((made, _set_on(made), path.text()))

        self._space.later(finish)
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
            self._translate(v, self._space.root("default", name, value))
            for name, v in zip(names, given, strict=True)
        )

    def _keyword_defaults(self, value: types.FunctionType, path: Path) -> Any:
        given = value.__kwdefaults__
        return given and {
            name: self._translate(v, self._space.root("default", name, value))
            for name, v in given.copy().items()
        }

    def _of_a_library(self, value: types.FunctionType, path: Path) -> Any:
        """A function that is not the user's: what stands for it, or the function over its own names
        with its cells translated if they hold functions of the user, as those of decorators do."""
        self._space.reads.note(path, "same", value)
        self._space.facts.reads(value.__module__)
        if self._space.libraries.needs_the_trace(value):
            return self._space.libraries.special(value)
        mathematical = is_mathematical(value)
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
            held.append((old, self._translate(old, self._space.root("cell", name, cell))))
        if all(old is new for old, new in held):
            return value
        made = self._remade(value, value.__globals__, _holds_the_librarys)
        made.__defaults__, made.__kwdefaults__ = value.__defaults__, value.__kwdefaults__
        vars(made).update(vars(value))
        return made

    def _cell(self, cell: types.CellType, name: str) -> types.CellType:
        """The cell of a translated function; functions that share a cell still do."""
        known: types.CellType | None = self._space.known(cell)
        if known is not None:
            return known
        made = types.CellType()
        path = self._space.root("cell", name, cell)
        self._space.remember(cell, made, None)

        def fill() -> None:
            try:
                value = cell.cell_contents
            except ValueError:  # a name not yet bound
                self._space.reads.missing(path)
                return
            made.cell_contents = self._translate(value, path)
            self._cells.append((made, made.cell_contents, path))

        self._space.later(fill)
        return made

    def method(self, value: types.MethodType, path: Path) -> Any:
        """The function bound to what stands for its instance."""
        found = numpy_module.answer(value)
        if found is not value:
            self._space.reads.note(path, "same", value)
            return found
        self._space.reads.note(path, "type", types.MethodType, value)
        function = self._translate(value.__func__, path.attribute("__func__"))
        instance = self._translate(value.__self__, path.attribute("__self__"))
        if function is value.__func__ and instance is value.__self__:
            return value
        self._tell_apart(value.__self__)
        return types.MethodType(function, instance)

    def bound(self, value: Bound, path: Path) -> Any:
        """The jitted method of what stands for its instance."""
        self._space.reads.note(path, "type", Bound, value)
        function = self._translate(value.__func__, path.attribute("__func__"))
        instance = self._translate(value.__self__, path.attribute("__self__"))
        self._tell_apart(value.__self__)
        return Bound(function, instance)

    def _tell_apart(self, instance: Any) -> None:
        """Methods of an object compare by which one it is."""
        path = self._space.path_of(instance)
        if path is not None:
            self._space.reads.tell_apart(path)

    def _asks_attributes(self, value: Any, path: Path) -> None:
        """Notes which attributes a function or partial has, if code asks, or will."""
        self._entered.append((value, path))
        if self._is_asked:
            self._space.note_items(path.attribute("__dict__"), vars(value))

    def _attributes(self, value: Any, path: Path) -> dict[str, Any]:
        """The attributes of a function or partial, as the traced function sees them."""
        return {k: self._translate(v, path.attribute(k)) for k, v in vars(value).copy().items()}

    def partial(self, value: functools.partial[Any], path: Path) -> Any:
        """The same operands, translated, of the translated function."""
        self._space.reads.note(path, "type", functools.partial, value)
        args, keywords = path.attribute("args"), path.attribute("keywords")
        given, named = value.args, value.keywords.copy()
        self._space.note_items(args, given)
        self._space.note_items(keywords, named)
        made = functools.partial(
            self._translate(value.func, path.attribute("func")),
            *(self._translate(v, args.item(k)) for k, v in enumerate(given)),
            **{k: self._translate(v, keywords.item(k)) for k, v in named.items()},
        )
        self._asks_attributes(value, path)
        vars(made).update(self._attributes(value, path))
        self._space.reads.tell_apart(path)
        self._space.watch(made.keywords, made.keywords.copy(), keywords)
        return made

    def vectorized(self, value: Any, path: Path) -> Any:
        """What stands for `np.vectorize` of the translated function."""
        self._space.reads.note(path, "same", value)
        options = {k: getattr(value, k) for k in ("otypes", "excluded", "cache", "signature")}
        return numpy_module.vectorize(
            self._translate(value.pyfunc, path.attribute("pyfunc")), **options
        )

    def mapped(self, value: Mapped, path: Path) -> Any:
        """The translated function, mapped over the same axes."""
        self._space.reads.note(path, "same", value)
        function = value.function
        in_axes, out_axes, size, name = value.axes
        made = self._translate(function, self._space.root("object", path.text(), function))
        # The axes cannot change, but classes of the user in them have others that stand for them.
        inside = self._space.root("inside", "", None)
        axes = self._translate(in_axes, inside), self._translate(out_axes, inside)
        return Mapped(made, *axes, size, name)

    def cached(self, value: Any, path: Path) -> Any:
        """The translated function with a cache of the trace's own."""
        self._space.reads.note(path, "same", value)
        function = self._translate(value.__wrapped__, path.attribute("__wrapped__"))
        return value if function is value.__wrapped__ else _Cached(value, function)


def _set_on(function: types.FunctionType) -> tuple[Any, ...]:
    """What can be assigned to a function."""
    named = function.__kwdefaults__
    facts = (function.__code__, function.__defaults__, named, function.__name__)
    more = (function.__qualname__, function.__doc__, function.__module__)
    holds = (named or {}, function.__annotations__, vars(function))
    return *facts, *more, *(part for names in holds for pair in names.items() for part in pair)


def is_mathematical(function: Any) -> bool:
    """Whether a function is of `math` or its kin, or a ufunc of another library than NumPy."""
    if isinstance(function, np.ufunc):
        return getattr(np, function.__name__, None) is not function
    module = getattr(function, "__module__", None) or ""
    if module.startswith("scipy.linalg."):  # others are NumPy code, which is traced
        return getattr(function, "__name__", "") in OF_LINALG
    return module in MATHEMATICAL or module.startswith("scipy.special.")


RULES: dict[type, Callable[[Functions, Any, Path], Any]] = {
    types.FunctionType: Functions.of_python,
    types.MethodType: Functions.method,
    Bound: Functions.bound,
    functools.partial: Functions.partial,
    type(functools.lru_cache(len)): Functions.cached,
    Mapped: Functions.mapped,
    np.vectorize: Functions.vectorized,
}
"""How functions of exact types are translated."""
