"""What is inside of objects whose reading nobody sees, to be compared before each call.

Objects of the standard library and of other packages are handed to the traced function as they
are. `inside(value)` lists all that can be reached from one: types, plain values, the bytes of
arrays and buffers, the code of functions and the global names that it reads. `Inside` keeps such a
list, `Names` what a class is made of; both say whether it is still so. No method of the user runs,
and nothing that can die is kept alive.
"""

from __future__ import annotations

import collections
import functools
import gc
import io
import operator
import sys
import threading
import types
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from enum import Enum
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

import numpy as np

from pyc.array import Array as DeviceArray
from pyc.errors import TraceError
from pyc.trace import location
from pyc.trace.reads import is_same_value
from pyc.trace.tracer import Tracer
from pyc.trace.users_code import SET_BY_PYTHON, is_users, is_users_class

MOST = 20_000
"""The most objects that are looked at."""
_KEPT_BYTES = 1 << 16
"""Larger arrays are known by two checksums."""
_NOTHING = object()

_PLAIN = frozenset(
    [int, float, complex, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range]
)
_BY_TEXT = frozenset(["datetime", "decimal", "fractions", "pathlib", "pathlib._local", "uuid"])
"""Modules of values that cannot change, and that their text tells apart."""
_FIXED_MODULES = frozenset([*_BY_TEXT, "re", "typing", "operator", "ipaddress", "zoneinfo"])
_FIXED = (
    *(slice, types.GenericAlias, types.UnionType, types.CodeType, np.finfo, np.iinfo, DeviceArray),
    *(np.random.Generator, np.random.BitGenerator, np.random.RandomState, np.dtype, np.generic),
    *(types.GetSetDescriptorType, types.MemberDescriptorType, types.WrapperDescriptorType),
    *(types.MethodDescriptorType, types.ClassMethodDescriptorType),
)
_FRAMES = (
    *(types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, types.FrameType),
    types.TracebackType,
)
_OPAQUE_MODULES = frozenset(["pyc", "numpy", "builtins", "_thread", "_io", "io", "_random"])
"""Whose compiled objects are known by identity: their methods have rules of their own."""


def is_fixed(value: Any) -> bool:
    """Whether an object that is not the user's has nothing inside that changes."""
    kind = type(value)
    if kind in weakref.ProxyTypes or kind is np.flatiter:
        return False
    if kind in _PLAIN or kind is object:
        return True
    if isinstance(value, _FIXED) and not is_users_class(kind):
        return True
    if isinstance(value, _FRAMES) or hasattr(kind, "__next__"):
        # Two traces that draw from it differ; that it has fewer items is seen.
        return operator.length_hint(value, -1) < 0 or is_users_class(kind)
    fixed = kind.__module__ in _FIXED_MODULES and not is_users_class(kind)
    return fixed and kind.__name__ != "Context"  # of `decimal`


def may_cache(value: Any) -> bool:
    """Whether an object is of a library that may keep in it what it has computed."""
    if type(type(value)).__module__ == "_ctypes":  # made and kept by whoever asked first
        return False
    module = type(value).__module__.partition(".")[0]
    known = module in sys.stdlib_module_names or module == "numpy" or is_users_class(type(value))
    return not known or hasattr(type(value), "__next__")


def inside(value: Any, name: str, reached: list[Any] | None = None) -> list[Any]:
    """All that can be reached from an object.

    name: of the object; reached: the objects are added to it
    raises TraceError: there is too much, or something that cannot be seen
    """
    found: list[Any] = []
    numbers: dict[int, int] = {}
    kept = [] if reached is None else reached  # so that no id is used twice
    todo = [value]
    while todo:
        x = todo.pop()
        kind = type(x)
        found.append(kind)
        if kind is Tracer:  # kept where it should not be: using it is the error
            found.append(id(x))
            continue
        if kind in _PLAIN or (isinstance(x, (np.generic, np.dtype)) and not is_users_class(kind)):
            found.append(x)
            continue
        known = numbers.setdefault(id(x), len(numbers))
        if known + 1 < len(numbers):
            found.append(known)
            continue
        kept.append(x)
        if len(kept) > MOST:
            raise _unseen(name, value, f"more than {MOST} objects are reached from it")
        parts = list(_parts(x, found, name, value))
        found.append(len(parts))
        todo += reversed(parts)
    return found


class Inside:
    """What was inside of an object. name: the object's, in messages; reached: the objects that can
    be reached from it are added.

    raises TraceError: it cannot be seen
    """

    def __init__(self, value: Any, name: str, reached: list[Any] | None = None) -> None:
        self._name = name
        self._known = inside(value, name, reached)

    def holds(self, value: Any) -> bool:
        """Whether the same is inside of `value`."""
        try:
            return _are_same(self._known, inside(value, self._name))
        except TraceError:  # it has grown; the new trace says so
            return False


class Names:
    """The names that a class and its bases hold; whole: and what they hold."""

    def __init__(self, cls: type, whole: bool = False) -> None:
        self._whole = whole
        self._known = names_of(cls, whole)

    def holds(self, cls: type) -> bool:
        """Whether the class has the same bases and names."""
        return _are_same(self._known, names_of(cls, self._whole))


def _are_same(first: list[Any], second: list[Any]) -> bool:
    return len(first) == len(second) and all(map(_is_same, first, second))


def _is_same(first: Any, second: Any) -> bool:
    return first is second or is_same_value(first, second)


def names_of(cls: type, whole: bool) -> list[Any]:
    """Which classes a class is made of, and the names that each of the user's holds; whole: and
    what they hold."""
    found: list[Any] = [*cls.__mro__]
    for kind in cls.__mro__:
        if is_users_class(kind):
            own = {k: v for k, v in vars(kind).copy().items() if k not in SET_BY_PYTHON}
            found.append("\n".join(sorted(own)))
            found += [v for k, v in own.items() if whole or _is_fact(k, v)]
    return found


def _is_fact(name: str, value: Any) -> bool:
    """Whether a member of a class is one that is not translated: `__doc__` and its like."""
    return name.startswith("__") and type(value) in _PLAIN


def has_code(cls: type) -> bool:
    """Whether a class has functions or containers of the user in it, so that its names are not all
    that there is to see."""
    return any(
        not _is_simple(v)
        for kind in cls.__mro__
        if is_users_class(kind)
        for k, v in vars(kind).copy().items()
        if k not in SET_BY_PYTHON and not (issubclass(cls, Enum) and k[0] == k[-1] == "_")
    )


def is_plain_member(value: Enum) -> bool:
    """Whether a member of an enumeration is nothing but its name and a plain value."""
    own = vars(value)
    return own.keys() <= _OF_MEMBERS and _is_simple(own["_value_"]) and not has_code(type(value))


_OF_MEMBERS = {"_value_", "_name_", "__objclass__", "_sort_order_"}
_ACCESSORS = (types.GetSetDescriptorType, types.MemberDescriptorType, type(np.ndarray.__add__))


def _is_simple(value: Any) -> bool:
    """Whether a member of a class is a plain value, or was made by the library."""
    if type(value) in _PLAIN or isinstance(value, (type, *_ACCESSORS)):
        return True
    if isinstance(value, Enum):
        return vars(value).keys() <= _OF_MEMBERS and _is_simple(vars(value)["_value_"])
    function = getattr(value, "__func__", value)
    if isinstance(function, types.FunctionType):
        return not is_users(function.__globals__)
    module = type(value).__module__
    if module in ("enum", "collections") or type(value) in (property, types.BuiltinFunctionType):
        return not isinstance(getattr(value, "fget", None), types.FunctionType)
    if type(value) in (tuple, frozenset):
        return all(map(_is_simple, value))
    return False


# --- the parts of an object -----------------------------------------------------------------------


def _parts(x: Any, found: list[Any], name: str, whole: Any) -> Iterator[Any]:
    """What `x` holds; puts what it is besides into `found`."""
    kind = type(x)
    if isinstance(x, types.FunctionType):
        yield from _function(x, found)
        return
    if isinstance(x, type):
        yield from _class(x, found)
        return
    if kind.__module__ in _BY_TEXT and not is_users_class(kind):
        if kind.__name__ == "Context":  # its flags say what was computed
            found += [x.prec, x.rounding, x.Emin, x.Emax, x.capitals, x.clamp]
        else:
            found.append(repr(x))
        return
    for kinds, rule in _RULES:
        if isinstance(x, kinds):
            yield from rule(x, found)
            break
    else:
        yield from _others(x, found, name, whole)
    yield from _attributes(x, found)
    if is_users_class(kind):
        yield kind


def _function(x: Any, found: list[Any]) -> Iterator[Any]:
    _same(x, found)
    found.append(x.__code__)
    if location.is_own(x.__code__.co_filename):
        return
    yield from [x.__defaults__, x.__kwdefaults__, *(x.__closure__ or ())]
    yield from _names(vars(x), found)
    if is_users(x.__globals__):
        for read in _global_names(x.__code__):
            value = x.__globals__.get(read, _NOTHING)
            if isinstance(value, types.ModuleType):
                _same(value, found)
                if is_users(vars(value)):
                    for part in x.__code__.co_names:
                        yield vars(value).get(part)
            elif value is not _NOTHING:
                yield value
            else:
                found.append(read)


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _class(x: type, found: list[Any]) -> Iterator[Any]:
    found.append(x)
    if not is_users_class(x):
        return
    found += names_of(x, whole=False)
    if is_users_class(type(x)):
        yield type(x)
    for kind in x.__mro__:
        if is_users_class(kind):
            yield from (v for k, v in vars(kind).copy().items() if k not in SET_BY_PYTHON)


def _array(x: Any, found: list[Any]) -> Iterator[Any]:
    x = np.ndarray.view(x, np.ndarray)  # no method of a class of its own
    found += [x.dtype, x.shape]
    if x.dtype.hasobject:
        yield from (x.ravel() if not x.dtype.names else x.tolist())
    elif x.nbytes <= _KEPT_BYTES:
        found.append(x.tobytes())
    else:
        data = np.ascontiguousarray(x).view(np.uint8).data
        found += [zlib.crc32(data), zlib.adler32(data)]


def _dict(x: Any, found: list[Any]) -> Iterator[Any]:
    own = collections.OrderedDict if isinstance(x, collections.OrderedDict) else dict
    for key, value in list(own.items(x)):
        yield key
        yield value
    yield getattr(x, "default_factory", None) if isinstance(x, collections.defaultdict) else None


def _row(x: Any, found: list[Any]) -> Iterator[Any]:
    own: Any = next(k for k in (list, tuple, set, frozenset, collections.deque) if isinstance(x, k))
    return iter(list(own.__iter__(x)))


def _proxy(x: Any, found: list[Any]) -> Iterator[Any]:
    for key, value in list(x.items()):
        yield key
        yield value


def _view(x: Any, found: list[Any]) -> Iterator[Any]:
    return _proxy(x.mapping, found)


def _buffer(x: Any, found: list[Any]) -> Iterator[Any]:
    found.append(memoryview(x).tobytes())
    return iter(())


def _method(x: Any, found: list[Any]) -> Iterator[Any]:
    found.append(getattr(x, "__name__", ""))
    yield getattr(x, "__func__", None)
    owner = getattr(x, "__self__", None)
    if not isinstance(owner, types.ModuleType):
        yield owner


def _partial(x: Any, found: list[Any]) -> Iterator[Any]:
    yield from (x.func, x.args, x.keywords)


def _reference(x: Any, found: list[Any]) -> Iterator[Any]:
    yield weakref.ref.__call__(x)


def _weak_proxy(x: Any, found: list[Any]) -> Iterator[Any]:
    try:
        yield x.__repr__.__self__
    except ReferenceError:
        yield None


def _variable(x: ContextVar[Any], found: list[Any]) -> Iterator[Any]:
    _same(x, found)
    value = x.get(_NOTHING)
    found.append(value is _NOTHING)
    if value is not _NOTHING:
        yield value


def _local(x: Any, found: list[Any]) -> Iterator[Any]:
    yield threading.local.__getattribute__(x, "__dict__")


def _cell(x: types.CellType, found: list[Any]) -> Iterator[Any]:
    try:
        yield x.cell_contents
    except ValueError:
        found.append("empty")


def _wrapper(x: Any, found: list[Any]) -> Iterator[Any]:
    names = ("__func__", "fget", "fset", "fdel", "func")
    yield from (getattr(x, k, None) for k in names)


def _error(x: Any, found: list[Any]) -> Iterator[Any]:
    yield BaseException.args.__get__(x)  # type: ignore[attr-defined]


def _flat(x: Any, found: list[Any]) -> Iterator[Any]:
    found.append(x.index)
    yield x.base


def _fixed(x: Any, found: list[Any]) -> Iterator[Any]:
    _same(x, found)
    return iter(())


def _ufunc(x: Any, found: list[Any]) -> Iterator[Any]:
    _same(x, found)
    yield from gc.get_referents(x)  # the function of `np.frompyfunc`


def _generator(x: Any, found: list[Any]) -> Iterator[Any]:
    _same(x, found)
    found.append(None if x.gi_frame is None else x.gi_frame.f_lasti)
    return iter(())


def _seeds(x: Any, found: list[Any]) -> Iterator[Any]:
    _same(x, found)
    found.append(x.n_children_spawned)
    return iter(())


def _in_memory(x: Any, found: list[Any]) -> Iterator[Any]:
    _same(x, found)
    found += ["closed"] if x.closed else [x.getvalue(), x.tell()]
    return iter(())


def _queue(x: Any, found: list[Any]) -> Iterator[Any]:
    _same(x, found)
    found.append(x.qsize())
    return iter(())


_RULES: tuple[tuple[Any, Callable[[Any, list[Any]], Iterator[Any]]], ...] = (
    (weakref.ProxyTypes, _weak_proxy),
    (np.ndarray, _array),
    (np.flatiter, _flat),
    (np.ufunc, _ufunc),
    (dict, _dict),
    ((list, tuple, set, frozenset, collections.deque), _row),
    (types.MappingProxyType, _proxy),
    ((type({}.keys()), type({}.values()), type({}.items())), _view),
    ((bytearray, memoryview), _buffer),
    ((types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType), _method),
    (functools.partial, _partial),
    (weakref.ref, _reference),
    (ContextVar, _variable),
    (threading.local, _local),
    (types.CellType, _cell),
    ((property, staticmethod, classmethod, functools.cached_property), _wrapper),
    (BaseException, _error),
    (types.GeneratorType, _generator),
    ((io.StringIO, io.BytesIO), _in_memory),
    (np.random.SeedSequence, _seeds),
    ((types.ModuleType, *_FIXED, *_FRAMES), _fixed),
)


def _others(x: Any, found: list[Any], name: str, whole: Any) -> Iterator[Any]:
    """What an object of none of these kinds holds besides its attributes."""
    kind = type(x)
    module = kind.__module__.partition(".")[0]
    if type(kind).__module__ == "_ctypes":
        yield from _buffer(x, found)
        return
    if kind.__module__ == "logging" and hasattr(x, "manager"):
        yield from _logger(x, found)
        return
    if kind.__module__ == "logging" and hasattr(x, "formatter"):
        found.append(x.level)
        for part in (x.formatter, *x.filters):
            _same(part, found)
        return
    if kind.__name__ == "SeedSequence" and module == "numpy":
        found.append(repr(x.state))
        return
    if isinstance(x, (int, float, complex, str, bytes)):  # subclasses of the user
        base: Any = next(k for k in (int, float, complex, str, bytes) if isinstance(x, k))
        found.append(base.__repr__(x))
        return
    if kind.__module__ == "xml.etree.ElementTree" and hasattr(kind, "__setstate__"):
        _same(x, found)
        own: Any = kind
        yield from own.__getstate__(x).values()
        return
    if kind.__module__ == "_queue":
        yield from _queue(x, found)
        return
    if is_users_class(kind):
        return
    if hasattr(kind, "__next__"):
        _same(x, found)
        found.append(operator.length_hint(x, -1))
        return
    if module in ("array", "mmap"):
        yield from _buffer(x, found)
        return
    if _is_of_python(kind):
        found.append(kind)
        return
    if module not in sys.stdlib_module_names and module not in _OPAQUE_MODULES:
        if not callable(x):
            raise _unseen(name, whole, f"its class {kind.__qualname__} is compiled code")
        _same(x, found)
        return
    _same(x, found)
    if module not in _OPAQUE_MODULES and gc.is_tracked(x):
        held = gc.get_referents(x)
        yield from (v for v in held if not isinstance(v, (type, types.ModuleType)))


def _logger(x: Any, found: list[Any]) -> Iterator[Any]:
    """What decides whether a logger writes: its own settings and those above it."""
    at = x
    while at is not None:
        found += [at.level, at.disabled, at.propagate, at.manager.disable]
        for handler in [*at.handlers]:
            _same(handler, found)
            found.append(handler.level)
        at = at.parent
    return iter(())


def _is_of_python(kind: type) -> bool:
    """Whether no class of an object is compiled, but those of Python itself."""
    own = [k for k in kind.__mro__ if k.__module__ != "builtins"]
    visible = bool(kind.__dictoffset__) or any("__slots__" in vars(k) for k in own)
    return visible and not any(_is_compiled(k.__module__) for k in own)


@functools.cache
def _is_compiled(module: str) -> bool:
    """Whether a module is compiled."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is None or file.endswith(tuple(EXTENSION_SUFFIXES))


def _attributes(x: Any, found: list[Any]) -> Iterator[Any]:
    kind = type(x)
    if kind.__module__ == "logging" or isinstance(x, (types.ModuleType, threading.local)):
        return
    if kind.__dictoffset__:
        try:
            own = object.__getattribute__(x, "__dict__")
        except AttributeError:
            own = {}
        yield from _names(own, found)
    for base in kind.__mro__:
        if "__slots__" in vars(base):
            for member in vars(base).values():
                if isinstance(member, types.MemberDescriptorType):
                    try:
                        yield member.__get__(x)
                    except AttributeError:
                        found.append(member.__name__)


def _names(own: dict[str, Any], found: list[Any]) -> Iterator[Any]:
    for name, value in own.copy().items():
        found.append(name)
        yield value


def _same(x: Any, found: list[Any]) -> None:
    """Puts `x` into `found` as this very object, which is not kept alive if that can be."""
    try:
        found.append(x if isinstance(x, types.ModuleType) else weakref.ref(x))
    except TypeError:
        found.append(x)


def _unseen(name: str, value: Any, why: str) -> TraceError:
    cls = type(value)
    return TraceError(
        f"`{name}`, a {cls.__qualname__} of {cls.__module__}, cannot be compared with what it was "
        f"before each call: {why}",
        fix="Take the numbers and arrays that the function needs from it outside, and pass them as "
        "arguments.",
        place=location.here(),
    )


__all__ = [
    "Inside",
    "Names",
    "has_code",
    "inside",
    "is_fixed",
    "is_plain_member",
    "may_cache",
    "names_of",
]
