"""Pytrees: nested tuples, lists, dicts, named tuples, `None` and registered classes, under the
names of `jax.tree`.

Leaves come in a fixed order: containers in theirs, dicts by sorted keys (an `OrderedDict` in its
own order). `None` is a tree without leaves. A structure is a `TreeDef`: hashable, equal for equal
structures; what a registered class keeps beside its children is part of it.

`flatten_ordered` serves function calls: there dicts keep their insertion order, and two orders are
two structures, since a function may walk through a dict.

`strict_key` is the identity of static values: unlike `==` it tells 1, 1.0 and True apart.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import Enum
from types import FunctionType, MethodType
from typing import Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from pyc import treedef as definition
from pyc.errors import TraceError
from pyc.forks import load
from pyc.frozen import replace
from pyc.treedef import Way

TreeDef: TypeAlias = definition.TreeDef
Path: TypeAlias = definition.Path

Class = TypeVar("Class", bound=type)

METHODS: set[type] = {MethodType}
"""The types of methods that are bound to an object: that of jitted ones is added."""

_MISSING = object()


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeDef]:
    """The leaves of `tree` in order, and its structure.

    tree: nested tuples, lists, dicts, `None` and registered classes; is_leaf: says of a part that
    it is a leaf, whatever it is

    JAX: `jax.tree.flatten`.

    >>> pyc.tree.flatten({"b": 2, "a": [1, None]})[0]
    [1, 2]
    """
    found: list[Any] = []
    treedef = definition.flatten(tree, found, False, is_leaf)
    return found, treedef


def flatten_ordered(tree: Any) -> tuple[list[Any], TreeDef]:
    """As `flatten`, with dicts in insertion order, which is then part of the structure."""
    found: list[Any] = []
    treedef = definition.flatten(tree, found, True, None)
    return found, treedef


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of structure `treedef` with `leaves`.

    raises ValueError: another number of leaves

    JAX: `jax.tree.unflatten`.

    >>> pyc.tree.unflatten(pyc.tree.structure((0, [0])), [1, 2])
    (1, [2])
    """
    return treedef.unflatten(leaves)


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of `tree` in order.

    is_leaf: says of a part that it is a leaf, whatever it is

    JAX: `jax.tree.leaves`.

    >>> pyc.tree.leaves((1, [2, 3]))
    [1, 2, 3]
    """
    return flatten(tree, is_leaf)[0]


def is_leaf(value: Any) -> bool:
    """Whether `value` is no tuple, list, dict or registered class.

    >>> pyc.tree.is_leaf(3), pyc.tree.is_leaf([3])
    (True, False)
    """
    return definition.way_of(type(value)) is None


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeDef:
    """The structure of `tree`, hashable and equal to that of trees that differ in leaves only.

    is_leaf: says of a part that it is a leaf, whatever it is

    JAX: `jax.tree.structure`.

    >>> pyc.tree.structure((1, [2])) == pyc.tree.structure((3, [4]))
    True
    """
    return flatten(tree, is_leaf)[1]


def map(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """A tree like `tree` with leaves f(leaf, *leaves of rest).

    rest: trees that have the structure of `tree`, or go on below its leaves; is_leaf: says of a
    part that it is a leaf, whatever it is

    raises ValueError: structures differ

    JAX: `jax.tree.map`.

    >>> pyc.tree.map(lambda x, y: x + y, (1, [2]), (10, [20]))
    (11, [22])
    """
    found, treedef = flatten(tree, is_leaf)
    others = [_up_to(treedef, r) for r in rest]
    return treedef.unflatten([f(*each) for each in zip(found, *others, strict=True)])


def all(tree: Any, *, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether every leaf of `tree` is true; True for a tree without leaves.

    is_leaf: says of a part that it is a leaf, whatever it is

    JAX: `jax.tree.all`.

    >>> pyc.tree.all([True, (False,)])
    False
    """
    return builtins.all(leaves(tree, is_leaf))


def reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _MISSING,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """The leaves of `tree` combined by `function` of two from left to right, from `initializer` on
    if there is one.

    is_leaf: says of a part that it is a leaf, whatever it is

    raises TypeError: no leaves and no initializer

    JAX: `jax.tree.reduce`.

    >>> pyc.tree.reduce(lambda x, y: x + y, (1, [2, 3]))
    6
    """
    found = leaves(tree, is_leaf)
    if initializer is _MISSING:
        return functools.reduce(function, found)
    return functools.reduce(function, found, initializer)


def transpose(outer_treedef: TreeDef, inner_treedef: TreeDef, pytree_to_transpose: Any) -> Any:
    """A tree of the inner structure of trees of the outer one, from one of the outer of the inner.

    outer_treedef, inner_treedef: structures; pytree_to_transpose: a tree of the outer one whose
    leaves are trees of the inner one

    raises ValueError: it has other structures

    JAX: `jax.tree.transpose`.

    >>> outer, inner = pyc.tree.structure([0, 0]), pyc.tree.structure({"a": 0, "b": 0})
    >>> pyc.tree.transpose(outer, inner, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    {'a': [1, 3], 'b': [2, 4]}
    """
    rows = [_up_to(inner_treedef, x) for x in _up_to(outer_treedef, pytree_to_transpose)]
    columns = [[row[k] for row in rows] for k in range(inner_treedef.num_leaves)]
    return inner_treedef.unflatten([outer_treedef.unflatten(column) for column in columns])


def flatten_with_path(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[tuple[Path, Any]], TreeDef]:
    """(path, leaf) for each leaf of `tree` in order, and the structure; `path_text` prints a path.

    is_leaf: says of a part that it is a leaf, whatever it is

    JAX: `jax.tree.flatten_with_path`.

    >>> pairs, _ = pyc.tree.flatten_with_path({"a": [1, 2]})
    >>> [(pyc.tree.path_text(path), x) for path, x in pairs]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    found, treedef = flatten(tree, is_leaf)
    return list(zip(treedef.paths(), found, strict=True)), treedef


def map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """A tree like `tree` with leaves f(path, leaf, *leaves of rest).

    rest: trees that have the structure of `tree`, or go on below its leaves; is_leaf: says of a
    part that it is a leaf, whatever it is

    raises ValueError: structures differ

    JAX: `jax.tree.map_with_path`.

    >>> pyc.tree.map_with_path(lambda path, x: len(path) * x, {"a": [1, 2]})
    {'a': [2, 4]}
    """
    pairs, treedef = flatten_with_path(tree, is_leaf)
    others = [_up_to(treedef, r) for r in rest]
    return treedef.unflatten(
        [f(path, x, *(o[k] for o in others)) for k, (path, x) in enumerate(pairs)]
    )


def paths(treedef: TreeDef) -> list[Path]:
    """The path of each leaf of a structure, `treedef`, in order.

    >>> [pyc.tree.path_text(p) for p in pyc.tree.paths(pyc.tree.structure((1, [2])))]
    ['[0]', '[1][0]']
    """
    return treedef.paths()


def path_text(path: Path, root: str = "") -> str:
    """A path as Python code behind `root`: `state['h'][0].mass`.

    JAX: `jax.tree_util.keystr`.

    >>> pyc.tree.path_text(pyc.tree.paths(pyc.tree.structure([1]))[0], "state")
    'state[0]'
    """
    return root + "".join([entry.text for entry in path])


def _up_to(treedef: TreeDef, tree: Any) -> list[Any]:
    """What stands in `tree` where `treedef` has leaves; ValueError: it has another structure."""
    found: list[Any] = []
    definition.flatten_up_to(treedef, tree, found)
    return found


# --- registered classes ---------------------------------------------------------------------------


class _Auxiliary:
    """What a class keeps beside its children, compared by `strict_key`: a structure with 2 and
    one with 2.0 are not the same program."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = strict_key(value, "the auxiliary data")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Auxiliary) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return repr(self.value)


def register_node(
    cls: Class,
    flatten: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten: Callable[[Any, tuple[Any, ...]], Any],
    keys: Sequence[str] | None = None,
) -> Class:
    """Makes instances of `cls` trees; returns `cls`.

    flatten: instance -> (children, auxiliary data); unflatten: (auxiliary data, children) ->
    instance; keys: attribute names of the children, for paths (their positions if not given).
    The auxiliary data is hashable and part of the structure.

    raises ValueError: registered before

    JAX: `jax.tree_util.register_pytree_node`.

    >>> class Pair:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> _ = pyc.tree.register_node(Pair, lambda p: ((p.x, p.y), None), lambda _, c: Pair(*c))
    >>> pyc.tree.leaves(Pair(1, 2))
    [1, 2]
    """
    names = None if keys is None else tuple(keys)

    def parts(instance: Any, _: bool) -> tuple[Iterable[Any], Any]:
        children, auxiliary = flatten(instance)
        children = tuple(children)
        if names is not None and len(children) != len(names):
            raise ValueError(f"{cls.__name__} has {len(children)} children, its keys are {names}")
        return children, _Auxiliary(auxiliary)

    def make(treedef: TreeDef, children: list[Any]) -> Any:
        return unflatten(treedef.meta.value, tuple(children))

    definition.register(cls, Way(parts, make, *definition.of_class(names)))
    return cls


def register_like(cls: type, other: type, convert: Callable[[Any], Any]) -> None:
    """Makes instances of `cls`, a subclass of `other`, trees if those of `other` are registered.
    convert: an instance of `other` -> one of `cls`."""
    way = definition.registered(other)
    if way is not None:
        make = way.make
        definition.register(cls, replace(way, make=lambda *parts: convert(make(*parts))))


def unregister(cls: type) -> None:
    """Ends what `register_like` began; nothing for a class that is not registered."""
    if definition.registered(cls) is not None:
        definition.unregister(cls)


def register_dataclass(
    cls: Class,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
) -> Class:
    """Makes instances of a dataclass `cls` trees; returns `cls`, so it can be a decorator.

    data_fields: fields that are children; meta_fields: fields that are part of the structure
    (hashable). Without both, fields declared with `metadata={"static": True}` are meta, the other
    ones data. Instances are rebuilt without `__init__`, so that its checks never see a tracer.

    raises TypeError: not a dataclass; ValueError: the fields are not exactly those of the class, or
    it is registered before

    JAX: `jax.tree_util.register_dataclass`.

    >>> import dataclasses
    >>> State = pyc.tree.register_dataclass(dataclasses.make_dataclass("State", ["x", "y"]))
    >>> pyc.tree.leaves(State(1, 2))
    [1, 2]
    """
    if not (isinstance(cls, type) and hasattr(cls, "__dataclass_fields__")):
        raise TypeError(f"register_dataclass: {cls!r} is not a dataclass")
    declared = load("dataclasses").fields(cls)
    if data_fields is None and meta_fields is None:
        meta_fields = [f.name for f in declared if f.metadata.get("static", False)]
        data_fields = [f.name for f in declared if f.name not in meta_fields]
    data, meta = tuple(data_fields or ()), tuple(meta_fields or ())
    if sorted((*data, *meta)) != sorted(f.name for f in declared):
        raise ValueError(
            f"register_dataclass: {cls.__name__} has the fields "
            f"{', '.join(f.name for f in declared)}; data_fields and meta_fields name "
            f"{', '.join((*data, *meta)) or 'none'}"
        )

    def flat(instance: Any) -> tuple[Iterable[Any], Any]:
        children = tuple(getattr(instance, name) for name in data)
        return children, tuple(getattr(instance, name) for name in meta)

    def unflat(kept: Any, children: tuple[Any, ...]) -> Any:
        instance: Any = object.__new__(cls)
        for name, value in zip((*data, *meta), (*children, *kept), strict=True):
            object.__setattr__(instance, name, value)
        return instance

    registered: Class = register_node(cls, flat, unflat, keys=data)
    _fields[cls] = data, meta
    return registered


_fields: WeakKeyDictionary[type, tuple[tuple[str, ...], tuple[str, ...]]] = WeakKeyDictionary()


def fields_of(cls: type) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """(data, meta) fields of a class that `register_dataclass` has registered, else None."""
    return _fields.get(cls)


# --- static values --------------------------------------------------------------------------------


def strict_key(value: Any, name: str) -> Hashable:
    """A hashable stand-in of a static value: equal only for values of equal types throughout.

    Numbers are compared by type and bits, functions by what they compute (code, defaults, closure),
    dataclasses by their fields, other objects by their own equality and, those of Python's library,
    by their texts: `Decimal("1.0")` equals `Decimal("1.00")`.
    raises TraceError: `name`, or a part of it that is named, cannot be hashed
    """
    kind = type(value)
    if kind in (str, int, bool, bytes, type(None)):
        return kind, value
    if kind is float:
        return kind, value.hex()
    if kind is complex:
        return kind, value.real.hex(), value.imag.hex()
    if isinstance(value, (Enum, type)):
        return kind, value
    if isinstance(value, tuple):
        return kind, tuple(strict_key(v, f"{name}[{k}]") for k, v in enumerate(value))
    if kind is slice:
        return kind, strict_key((value.start, value.stop, value.step), name)
    if isinstance(value, frozenset):
        return kind, frozenset([strict_key(v, name) for v in value])
    if isinstance(value, np.generic):
        return kind, value.dtype, value.tobytes()
    if kind is FunctionType:
        return _function_key(value, name)
    if kind is functools.partial:
        bound = (value.func, value.args, tuple(sorted(value.keywords.items())))
        return kind, strict_key(bound, name)
    if kind in METHODS:
        return kind, strict_key(value.__self__, name), strict_key(value.__func__, name)
    if hasattr(kind, "__dataclass_fields__"):
        names = [f.name for f in load("dataclasses").fields(kind)]
        parts = tuple([strict_key(getattr(value, n), f"{name}.{n}") for n in names])
        return kind, parts
    try:
        hash(value)
    except TypeError:
        raise TraceError(
            f"static value `{name}` is of type {kind.__name__}, which cannot be hashed",
            fix=f"Make `{name}` hashable, such as a tuple or a frozen dataclass, or pass it as an "
            "argument that is not static.",
        ) from None
    by_identity = getattr(kind, "__hash__", None) is object.__hash__
    of_the_library = kind.__module__.partition(".")[0] in sys.stdlib_module_names
    if by_identity and not of_the_library and kind.__flags__ & _MADE_BY_CLASS_STATEMENT:
        raise TraceError(
            f"static value `{name}` is of type {kind.__name__}, which compares by identity: a "
            "change of its attributes would go unnoticed",
            fix=f"Make {kind.__name__} a dataclass, or give it `__eq__` and `__hash__` over what "
            "it holds; or register it with `pyc.tree.register_node`.",
        )
    return kind, value, repr(value) if of_the_library and not by_identity else None


_MADE_BY_CLASS_STATEMENT = 1 << 9  # Py_TPFLAGS_HEAPTYPE


class _Same:
    """An object compared by identity, kept alive so that its id is not used again."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _function_key(function: Any, name: str) -> Hashable:
    """What a function computes: a lambda made again in a loop is the same function, one whose
    closure now holds another value is not. Arrays in closures count by identity."""
    parts: list[Any] = [function.__code__, _Same(function.__globals__)]
    held = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for cell in function.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # a name not yet bound
            held.append(cell)
    for value in held:
        plain = isinstance(value, (str, bytes, int, float, complex, bool, type(None), tuple, Enum))
        try:
            parts.append(strict_key(value, name) if plain else _Same(value))
        except TraceError:
            parts.append(_Same(value))
    return FunctionType, tuple(parts)
