"""Structures of pytrees: how trees are taken apart and put together again.

A `TreeDef` says what a tree is besides its leaves: the kind of each container, its keys or what a
registered class keeps, and its children. The *way* of a kind is how its containers are taken apart,
made again, walked and printed; `register` adds one. Exact types count: a subclass of a dict is a
leaf, a named tuple is a container of its own kind.

Everything is in Python: pytree packages take 10 ms to import, a sixth of a warm start.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any

from pyc.frozen import frozen


@frozen()
class Entry:
    """A step from a container to a child. entry: its position, key or attribute; text: as code."""

    entry: Any
    text: str


Path = tuple[Entry, ...]


@frozen()
class Way:
    """A kind of container."""

    parts: Callable[[Any, bool], tuple[Iterable[Any], Any]]
    """(container, whether dicts keep their order) -> children, and what else it is."""
    make: Callable[[TreeDef, list[Any]], Any]
    """(structure, children) -> container."""
    entries: Callable[[TreeDef], Iterable[Entry]]
    """How each child is reached."""
    shown: Callable[[TreeDef, list[str]], str]
    """(structure, texts of the children) -> text."""


class TreeDef:
    """The structure of a tree: hashable, equal for equal structures. `num_leaves` leaves."""

    __slots__ = ("children", "key", "kind", "meta", "num_leaves", "way")

    def __init__(self, way: Way, kind: type, meta: Any, children: tuple[TreeDef, ...]) -> None:
        self.way = way
        self.kind = kind
        self.meta = meta
        """What the container is besides its children: hashable."""
        self.children = children
        self.num_leaves: int = sum([c.num_leaves for c in children])
        self.key: Any = (kind, meta, tuple([c.key for c in children]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeDef) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        """The tree as Python writes it, each leaf as `*`."""
        if self is LEAF:
            return "*"
        return self.way.shown(self, [repr(c) for c in self.children])

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves; ValueError if their number is wrong."""
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(f"{self} has {self.num_leaves} leaves, got {len(given)}")
        return _built(self, iter(given))

    def maker(self) -> Callable[[Sequence[Any]], Any]:
        """`unflatten`, for as many leaves as there are, as code of its own: some 0.05 ms to make,
        a fifth of the time in each call."""
        scope: dict[str, Any] = {}
        text = _code(self, scope, count())
        made: Callable[[Sequence[Any]], Any] = eval(f"lambda leaves: {text}", scope)
        return made

    def paths(self) -> list[Path]:
        """How each leaf is reached."""
        found: list[Path] = []
        _walk(self, (), found)
        return found


def _built(treedef: TreeDef, leaves: Iterator[Any]) -> Any:
    if treedef is LEAF:
        return next(leaves)
    made = [next(leaves) if c is LEAF else _built(c, leaves) for c in treedef.children]
    return treedef.way.make(treedef, made)


def _code(treedef: TreeDef, scope: dict[str, Any], leaf: Iterator[int]) -> str:
    """The expression that makes a tree of `leaves`; scope: gets the objects that it names."""
    if treedef is LEAF:
        return f"leaves[{next(leaf)}]"
    texts = [_code(c, scope, leaf) for c in treedef.children]
    if treedef.kind is tuple or treedef.kind is list:
        return treedef.way.shown(treedef, texts)
    name = f"x{len(scope)}"
    if treedef.kind is dict:
        parts = dict(zip(treedef.meta, texts, strict=True))
        keys = list(getattr(treedef.meta, "order", treedef.meta))
        scope |= {f"{name}_{k}": key for k, key in enumerate(keys)}
        return "{" + ", ".join([f"{name}_{k}: {parts[key]}" for k, key in enumerate(keys)]) + "}"
    scope[name] = partial(treedef.way.make, treedef)
    return f"{name}([{', '.join(texts)}])"


def _walk(treedef: TreeDef, before: Path, found: list[Path]) -> None:
    if treedef is LEAF:
        found.append(before)
        return
    for entry, child in zip(treedef.way.entries(treedef), treedef.children, strict=True):
        _walk(child, (*before, entry), found)


def flatten(
    tree: Any, leaves: list[Any], ordered: bool, is_leaf: Callable[[Any], bool] | None
) -> TreeDef:
    """The structure of `tree`, whose leaves are appended to `leaves`.

    ordered: dicts keep their insertion order, which is then part of the structure
    """
    kind = type(tree)
    way = _ways.get(kind) or way_of(kind)
    if way is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return LEAF
    parts, meta = way.parts(tree, ordered)
    return TreeDef(way, kind, meta, tuple([flatten(x, leaves, ordered, is_leaf) for x in parts]))


def flatten_up_to(treedef: TreeDef, tree: Any, found: list[Any]) -> None:
    """Appends to `found` what stands in `tree` where `treedef`, which is not ordered, has leaves.

    raises ValueError: `tree` has another structure above these places
    """
    if treedef is LEAF:
        found.append(tree)
        return
    if type(tree) is treedef.kind:
        parts, meta = treedef.way.parts(tree, False)
        children = list(parts)
        if meta == treedef.meta and len(children) == len(treedef.children):
            for child, part in zip(treedef.children, children, strict=True):
                flatten_up_to(child, part, found)
            return
    raise ValueError(f"the trees differ: {treedef} and {tree!r:.200}")


def way_of(kind: type) -> Way | None:
    """How containers of this type are taken apart; None for a leaf."""
    way = _ways.get(kind)
    if way is None and issubclass(kind, tuple):
        if isinstance(getattr(kind, "_fields", None), tuple):
            return _NAMED
        if kind.__base__ is tuple and hasattr(kind, "n_sequence_fields"):
            return _SEQUENCE
    return way


def register(kind: type, way: Way) -> None:
    """Makes instances of `kind` containers; ValueError: they are."""
    if kind in _ways:
        raise ValueError(f"{kind.__qualname__} is registered as a pytree already")
    _ways[kind] = way


def unregister(kind: type) -> None:
    """Makes instances of `kind` leaves again."""
    del _ways[kind]


def registered(kind: type) -> Way | None:
    """As `way_of`, without named tuples and structure sequences, which nobody registers."""
    return _ways.get(kind)


def of_class(names: tuple[str, ...] | None) -> tuple[Any, Any]:
    """`entries` and `shown` of a class whose children are attributes, or known by position."""
    if names is not None:
        return (
            lambda treedef: _attributes(names),
            lambda treedef, texts: _named_text(treedef.kind.__qualname__, names, texts),
        )
    return (
        lambda treedef: [Entry(k, f"[<flat index {k}>]") for k in range(len(treedef.children))],
        _call_text,
    )


# --- the containers of Python ---------------------------------------------------------------------


class _Keys(tuple[Any, ...]):
    """The keys of a dict in the order of its children; `order`: that of insertion, in which the
    dict is made again. It is no part of the structure."""

    order: tuple[Any, ...]


def _keys(x: dict[Any, Any], ordered: bool) -> tuple[Any, ...]:
    inserted = tuple(x)
    if ordered:
        return inserted
    try:
        found = _Keys(sorted(inserted))
    except TypeError:
        try:
            found = _Keys(sorted(inserted, key=_by_type))
        except TypeError:
            return inserted
    found.order = inserted
    return found


def _by_type(key: Any) -> tuple[str, Any]:
    return f"{type(key).__module__}.{type(key).__qualname__}", key


def _items(keys: tuple[Any, ...], children: list[Any]) -> dict[Any, Any]:
    found = dict(zip(keys, children, strict=True))
    return {k: found[k] for k in keys.order} if isinstance(keys, _Keys) else found


def _dict_parts(x: dict[Any, Any], ordered: bool) -> tuple[Iterable[Any], Any]:
    keys = _keys(x, ordered)
    return [x[k] for k in keys], keys


def _default_parts(x: Any, ordered: bool) -> tuple[Iterable[Any], Any]:
    keys = _keys(x, ordered)
    return [x[k] for k in keys], (x.default_factory, keys)


def _positions(treedef: TreeDef) -> Iterable[Entry]:
    return [Entry(k, f"[{k}]") for k in range(len(treedef.children))]


def _of_keys(keys: Iterable[Any]) -> Iterable[Entry]:
    return [Entry(k, f"[{k!r}]") for k in keys]


def _attributes(names: Iterable[str]) -> Iterable[Entry]:
    return [Entry(name, f".{name}") for name in names]


def _tuple_text(_: TreeDef, texts: list[str]) -> str:
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _dict_text(keys: Iterable[Any], texts: list[str]) -> str:
    inside = ", ".join(f"{k!r}: {text}" for k, text in zip(keys, texts, strict=True))
    return f"{{{inside}}}"


def _named_text(name: str, names: Iterable[str], texts: list[str]) -> str:
    """A container as the call that makes it by keywords."""
    inside = ", ".join(f"{n}={text}" for n, text in zip(names, texts, strict=True))
    return f"{name}({inside})"


def _call_text(treedef: TreeDef, texts: list[str]) -> str:
    return f"{treedef.kind.__qualname__}({', '.join(texts)})"


LEAF = TreeDef(
    Way(
        lambda x, ordered: ((), None),
        lambda treedef, children: None,
        _positions,
        lambda treedef, texts: "*",
    ),
    object,
    None,
    (),
)
"""The structure of a leaf, the only object that is one."""
LEAF.num_leaves = 1

_NAMED = Way(
    lambda x, ordered: (x, None),
    lambda treedef, children: treedef.kind(*children),
    lambda treedef: _attributes(_fields(treedef)),
    lambda treedef, texts: _named_text(treedef.kind.__name__, _fields(treedef), texts),
)


def _fields(treedef: TreeDef) -> tuple[str, ...]:
    kind: Any = treedef.kind
    names: tuple[str, ...] = kind._fields
    return names


_SEQUENCE = Way(
    lambda x, ordered: (x, None),
    lambda treedef, children: treedef.kind(children),
    _positions,
    _call_text,
)
"""Structure sequences, such as `time.struct_time`."""

_ways: dict[type, Way] = {
    type(None): Way(
        lambda x, ordered: ((), None),
        lambda treedef, children: None,
        _positions,
        lambda treedef, texts: "None",
    ),
    tuple: Way(
        lambda x, ordered: (x, None),
        lambda treedef, children: tuple(children),
        _positions,
        _tuple_text,
    ),
    list: Way(
        lambda x, ordered: (x, None),
        lambda treedef, children: children,
        _positions,
        lambda treedef, texts: f"[{', '.join(texts)}]",
    ),
    dict: Way(
        _dict_parts,
        lambda treedef, children: _items(treedef.meta, children),
        lambda treedef: _of_keys(treedef.meta),
        lambda treedef, texts: _dict_text(treedef.meta, texts),
    ),
    OrderedDict: Way(
        lambda x, ordered: (x.values(), tuple(x)),
        lambda treedef, children: OrderedDict(zip(treedef.meta, children, strict=True)),
        lambda treedef: _of_keys(treedef.meta),
        lambda treedef, texts: f"OrderedDict({_dict_text(treedef.meta, texts)})",
    ),
    defaultdict: Way(
        _default_parts,
        lambda treedef, children: defaultdict(treedef.meta[0], _items(treedef.meta[1], children)),
        lambda treedef: _of_keys(treedef.meta[1]),
        lambda treedef, texts: (
            f"defaultdict({treedef.meta[0]}, {_dict_text(treedef.meta[1], texts)})"
        ),
    ),
    deque: Way(
        lambda x, ordered: (x, x.maxlen),
        lambda treedef, children: deque(children, treedef.meta),
        _positions,
        lambda treedef, texts: f"deque([{', '.join(texts)}], maxlen={treedef.meta})",
    ),
}
