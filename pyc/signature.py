"""A call of a jitted function taken apart: leaves, static values, and the key of its signature.

Takes the arguments as the user gave them; `Signature.call` binds them to the parameters, sets the
static ones aside and flattens the rest. The key holds the structure, the type of each leaf and the
static values; `reason` says what sets a new key apart from the known ones.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from enum import Enum
from typing import Any

import numpy as np

from pyc import tree
from pyc.array import Array
from pyc.errors import DTypeError, PycError
from pyc.forks import load
from pyc.frozen import frozen
from pyc.interpreter import WEAK, current, elsewhere, type_of
from pyc.ir.types import ArrayType
from pyc.reasons import Reason
from pyc.trace import location
from pyc.trace.tracer import Tracer
from pyc.trace.users_code import is_users_class

STATIC: list[type] = [
    *(bool, str, bytes, Enum, type, np.dtype),
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial, np.ufunc),
    *(range, slice, frozenset, type(Ellipsis), type(functools.lru_cache(len))),
]
"""Leaves of these types are static wherever they stand; `jit` adds its own."""

_EXACT_ARRAYS = (np.ndarray, np.memmap)
"""Array types that are taken; other subclasses give operators another meaning."""


def is_static(x: Any) -> bool:
    """Whether a leaf is static because of its type."""
    return issubclass(type(x), tuple(STATIC)) and not is_object(x)


_NO_OBJECTS = (
    *(np.ndarray, np.generic, BaseException, types.ModuleType),
    *(dict, list, tuple, set, frozenset, int, float, complex, str, bytes, bytearray),
)


_CONTAINERS = (np.ndarray, Array, list, dict, set, deque)


def is_object(x: Any) -> bool:
    """Whether a leaf is an object of the user, whose attributes are read by their paths; or a
    method of one, or a `partial` that holds such or what changes."""
    kind = type(x)
    if kind is types.SimpleNamespace:
        return True
    if kind in tree.METHODS:
        return is_object(x.__self__)
    if kind is functools.partial:
        return any(map(_may_change, (x.func, *x.args, *x.keywords.values())))
    if issubclass(kind, tuple(STATIC)):
        return False
    return not issubclass(kind, _NO_OBJECTS) and kind is not Tracer and is_users_class(kind)


def _may_change(x: Any) -> bool:
    """Whether what a `partial` holds is not known by its value."""
    if isinstance(x, tuple):
        return any(map(_may_change, x))
    return isinstance(x, _CONTAINERS) or is_object(x)


@frozen()
class Call:
    """A call taken apart. key: the signature; leaves: of (positional, keywords), without static
    arguments; static: (position or name, value) of static arguments; given: (positional, keywords)
    as bound, with them."""

    key: Hashable
    leaves: list[Any]
    treedef: tree.TreeDef
    static: tuple[tuple[int | str, Any], ...]
    given: tuple[tuple[Any, ...], dict[str, Any]]


def _leaf_key(x: Any) -> Hashable:
    """The part of a signature that a leaf makes; None if it cannot be a leaf."""
    kind = type(x)
    if kind is Array:
        return x.shape, x.dtype, x.device
    if kind is np.ndarray or isinstance(x, np.generic) or kind in _EXACT_ARRAYS:
        return x.shape, x.dtype
    if kind is float or kind is int or kind is complex:
        return kind.__name__
    return None


def _strict_key(value: Any, name: str) -> Hashable:
    """`tree.strict_key`, its errors at the user's line."""
    try:
        return tree.strict_key(value, name)
    except PycError as error:
        raise error.at(location.here()) from None


def _key_of_method(leaf: Any, name: str) -> tuple[Any, ...]:
    """What tells a method of an object from others: its function and the object's class."""
    if type(leaf) not in tree.METHODS:
        return ()
    return _strict_key(leaf.__func__, name), type(leaf.__self__)


class _Names:
    """Names of the parameters of a function, for messages."""

    def __init__(self, parameters: Sequence[inspect.Parameter] | None) -> None:
        self.parameters = parameters

    def positional(self, index: int) -> str:
        """The name of the positional argument at `index`."""
        for k, p in enumerate(self.parameters or ()):
            if p.kind is p.VAR_POSITIONAL:
                return f"{p.name}[{index - k}]"
            if k == index:
                return p.name
        return f"argument {index}"

    def leaf(self, path: tree.Path) -> str:
        """The name of a leaf of (positional, keywords)."""
        place, argument, *rest = path
        name = argument.entry if place.entry == 1 else self.positional(argument.entry)
        return tree.path_text(tuple(rest), str(name))


class Signature:
    """The parameters of a function. name: of the function, in messages; directed: whether it is
    said where it runs, whatever the arguments are.

    raises ValueError: a static or donated parameter that it does not have, or one that is both
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        name: str,
        static_argnums: tuple[int, ...],
        static_argnames: tuple[str, ...],
        donate_argnums: tuple[int, ...] = (),
        donate_argnames: tuple[str, ...] = (),
        *,
        directed: bool = False,
    ) -> None:
        self.name = name
        self.directed = directed
        self._signature = _signature_of(fun, follow_wrapped=False)
        known = _signature_of(fun, follow_wrapped=True)
        parameters = None if known is None else [*known.parameters.values()]
        self.names = _Names(parameters)
        self.static_positions, self.static_names = _named_parameters(
            "static", name, parameters, static_argnums, static_argnames
        )
        self._donated_positions, self._donated_names = _named_parameters(
            "donate", name, parameters, donate_argnums, donate_argnames
        )
        both = [self.names.positional(k) for k in self.static_positions if self._donates(0, k)]
        both += [n for n in self.static_names if self._donates(1, n) and n not in both]
        if both:
            raise ValueError(f"jit: `{both[0]}` of {name} is both static and donated")

    @property
    def donates(self) -> bool:
        """Whether some parameter is donated."""
        return bool(self._donated_positions or self._donated_names)

    def _donates(self, part: int, entry: Any) -> bool:
        return entry in (self._donated_names if part else self._donated_positions)

    def is_donated(self, path: tree.Path) -> bool:
        """Whether a leaf of (positional, keywords) lies in a donated argument."""
        return self._donates(path[0].entry, path[1].entry)

    def bound(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with as many as possible by position; as they are if the function does not
        take them: what it raises then is Python's."""
        if not kwargs or self._signature is None:
            return args, kwargs
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError:
            return args, kwargs
        return bound.args, bound.kwargs

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], tuple[tuple[int | str, Any], ...]]:
        """Bound arguments without the static ones (None at their positions), and these."""
        static: list[tuple[int | str, Any]] = []
        if self.static_positions:
            rest = list(args)
            for k in self.static_positions:
                if k < len(rest):
                    static.append((k, rest[k]))
                    rest[k] = None
            args = tuple(rest)
        for name in self.static_names:
            if name in kwargs:
                static.append((name, kwargs[name]))
        if self.static_names:
            kwargs = {k: v for k, v in kwargs.items() if k not in self.static_names}
        return args, kwargs, tuple(static)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """A call taken apart.

        raises DTypeError: an argument that is not an array, a number or static; TraceError: a
        static value that cannot be hashed
        """
        given = self.bound(args, kwargs)
        args, kwargs, static = self.split(*given)
        leaves, treedef = tree.flatten_ordered((args, kwargs))
        keys: list[Hashable] = []
        where = None
        if not self.directed and not any(type(leaf) is Array for leaf in leaves):
            where = elsewhere()
        for k, leaf in enumerate(leaves):
            key = _leaf_key(leaf)
            if key is None:
                name = self.names.leaf(tree.paths(treedef)[k])
                if isinstance(leaf, Tracer):
                    current().lift(leaf)  # raises: it has leaked out of its trace
                if is_static(leaf):
                    key = ("static", _strict_key(leaf, name))
                elif is_object(leaf):
                    key = "object", (type(leaf), *_key_of_method(leaf, name))
                else:
                    raise _not_an_argument(self.name, name, leaf)
            keys.append(key)
        fixed = tuple((place, _strict_key(value, self.name_of(place))) for place, value in static)
        return Call((treedef, tuple(keys), fixed, where), leaves, treedef, static, given)

    def name_of(self, place: int | str) -> str:
        """The name of a static argument."""
        return place if isinstance(place, str) else self.names.positional(place)

    def text(self, call: Call) -> str:
        """A call as a reader knows it: `f(x: f32[3], n: int, mode='fast')`."""
        parts = []
        for path, leaf in zip(tree.paths(call.treedef), call.leaves, strict=True):
            name = self.names.leaf(path)
            if is_static(leaf) or type(leaf) in tree.METHODS:
                parts.append(f"{name}={_short(leaf)}")
            elif is_object(leaf):
                parts.append(f"{name}: {type(leaf).__qualname__}")
            elif type(leaf) in WEAK:
                parts.append(f"{name}: {type(leaf).__name__}")
            else:
                parts.append(f"{name}: {type_of(leaf)}")
        parts += [f"{self.name_of(place)}={_short(value)}" for place, value in call.static]
        return f"{self.name}({', '.join(parts)})"


def _signature_of(fun: Callable[..., Any], follow_wrapped: bool) -> inspect.Signature | None:
    """The parameters of a function, or those of what a decorator has wrapped."""
    try:
        return inspect.signature(fun, follow_wrapped=follow_wrapped)
    except (TypeError, ValueError):  # some functions in C have none
        return None


def _named_parameters(
    option: str,
    name: str,
    parameters: Sequence[inspect.Parameter] | None,
    numbers: tuple[int, ...],
    names: tuple[str, ...],
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of the parameters that `<option>_argnums` and `<option>_argnames` mean:
    one that may be given either way is in both. ValueError: no such parameter."""
    if parameters is None:
        return tuple(sorted(set(numbers))), names
    by_position = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    open_positions = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    open_names = any(p.kind is p.VAR_KEYWORD for p in parameters)
    known = {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    positions, found = set(), list(names)
    for number in numbers:
        place = number + len(by_position) if number < 0 else number
        if place < 0 or (place >= len(by_position) and not open_positions):
            raise ValueError(
                f"jit: {option}_argnums has {number}, but {name} takes {len(by_position)} "
                "positional arguments"
            )
        positions.add(place)
        if place < len(by_position):
            found.append(by_position[place])
    for given in names:
        if given not in known and not open_names:
            raise ValueError(
                f"jit: {option}_argnames has {given!r}, but {name} takes {', '.join(sorted(known))}"
            )
        if given in by_position:
            positions.add(by_position.index(given))
    return tuple(sorted(positions)), tuple(dict.fromkeys(found))


def argument_type(function: str, name: str, leaf: Any) -> ArrayType:
    """The type of a leaf; DTypeError names the argument of `function` that has no such type."""
    try:
        return type_of(leaf)
    except DTypeError:
        raise _not_an_argument(function, name, leaf) from None


def _not_an_argument(function: str, name: str, leaf: Any) -> DTypeError:
    """The error for a leaf that is neither an array of a known type, a number, nor static."""
    kind = type(leaf).__name__
    if isinstance(leaf, np.ndarray) and type(leaf) not in _EXACT_ARRAYS:
        found = f"a {kind}, whose operators differ from those of arrays"
        fix = f"Pass `numpy.asarray({name})`."
    elif isinstance(leaf, (np.ndarray, np.generic)):
        found = f"an array of dtype {leaf.dtype}"
        fix = _NUMBERS_OF.get(leaf.dtype.kind, "Pass `{0}.astype(np.float64)`.").format(name)
    elif isinstance(leaf, load("pyc.trace.abstract").ShapeDtype):
        found = "a ShapeDtype, which says what an array would be and is none"
        fix = "Pass an array; `trace`, `lower`, `compile` and `pyc.eval_shape` take a ShapeDtype."
    else:
        found = f"of type {kind}"
        rule = "Arguments are arrays, numbers, and tuples, lists and dicts of them."
        fix = f"{rule}\n{_what_to_pass(leaf, name)}"
    return DTypeError(f"{function}: `{name}` is {found}", fix=fix, place=location.here())


_NUMBERS_OF = {
    "V": "Pass its fields one by one, as `{0}['name']`.",
    "U": "Pass `{0}.tolist()`: texts are static.",
    "S": "Pass `{0}.tolist()`: texts are static.",
    "M": "Pass numbers, as `{0}.astype(np.int64)`.",
    "m": "Pass numbers, as `{0}.astype(np.int64)`.",
}
"""What to pass in place of an array, by the kind of its dtype."""


def _what_to_pass(leaf: Any, name: str) -> str:
    """What the caller can do about an argument that is none."""
    kind = type(leaf)
    if isinstance(leaf, (int, float, complex)):
        own: Any = next(k for k in (int, float, complex) if isinstance(leaf, k))
        return f"Pass `{own.__name__}({name})`."
    if kind.__module__.startswith("numpy.random"):
        return (
            "Draw the numbers outside and pass them, or pass a seed and make the generator in the "
            "function: `np.random.default_rng(seed)`."
        )
    if isinstance(leaf, types.ModuleType):
        return "Import it in the function, or read it by a global name."
    if isinstance(leaf, Iterator):
        return f"An iterator is used up by the first call: pass `list({name})`."
    if isinstance(leaf, Mapping):
        return f"Pass `dict({name})`."
    if isinstance(leaf, Set):
        return f"Pass `tuple({name})`; or `frozenset({name})`, which is static."
    if isinstance(leaf, (bytearray, memoryview)) or kind.__module__ == "array":
        return f"Pass `numpy.asarray({name})`."
    if isinstance(leaf, Sequence):
        return f"Pass `list({name})`."
    try:
        tree.strict_key(leaf, name)
        static = ", or make the argument static: `pyc.jit(static_argnames=...)`"
    except PycError:
        static = ""
    return (
        "Pass the arrays and numbers that the function takes from it, or register "
        f"{kind.__name__} with `pyc.tree.register_node`{static}."
    )


def reason(key: Any, known: Iterable[Any]) -> Reason:
    """Why a signature is compiled: what sets it apart from the nearest of those known."""
    order = (
        Reason.COMPILE_NEW_DEVICE,
        Reason.COMPILE_NEW_SHAPE,
        Reason.COMPILE_NEW_DTYPE,
        Reason.COMPILE_NEW_STATIC,
        Reason.COMPILE_NEW_STRUCTURE,
        Reason.COMPILE_FIRST_CALL,
    )
    return min((_difference(key, other) for other in known), key=order.index, default=order[-1])


def _difference(key: Any, other: Any) -> Reason:
    treedef, leaves, static, _ = key
    other_treedef, other_leaves, other_static, _ = other
    if treedef != other_treedef or len(static) != len(other_static):
        return Reason.COMPILE_NEW_STRUCTURE
    differing = [(a, b) for a, b in zip(leaves, other_leaves, strict=True) if a != b]
    if static != other_static or any(_is_static_key(a) or _is_static_key(b) for a, b in differing):
        return Reason.COMPILE_NEW_STATIC
    if any(_dtype_key(a) != _dtype_key(b) for a, b in differing):
        return Reason.COMPILE_NEW_DTYPE
    alike = all(a[:2] == b[:2] for a, b in differing)
    return Reason.COMPILE_NEW_DEVICE if alike else Reason.COMPILE_NEW_SHAPE


def _is_static_key(key: Any) -> bool:
    return isinstance(key, tuple) and key[0] == "static"


def _dtype_key(key: Any) -> Any:
    return key[1] if isinstance(key, tuple) else key


def _short(value: Any) -> str:
    """A static value in a signature."""
    name = getattr(value, "__qualname__", None)
    text = name if isinstance(name, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
