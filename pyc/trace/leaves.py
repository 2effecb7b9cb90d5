"""The values of variables as leaves: what a loop carries and what a branch merges.

A value is a tree of tuples, lists, dicts and registered classes. Its leaves are arrays and numbers,
which become parameters and results of Graphs, and anything else, which must stay the same object.
"""

from __future__ import annotations

from typing import Any

import pyc.numpy as pnp
from pyc import tree
from pyc.errors import DTypeError
from pyc.frozen import frozen, replace
from pyc.interpreter import WEAK, type_of, weak_type
from pyc.ir import dtype as dt
from pyc.ir.types import ArrayType
from pyc.trace import location
from pyc.trace.trace import Input
from pyc.trace.tracer import Tracer

_LEAF = tree.flatten_ordered(0)[1]
_WIDTH = {bool: -1, int: 0, float: 1, complex: 2}
"""Weak types in the order in which they widen."""


class Static:
    """A leaf that is neither an array nor a number. Equal if it is the same object or text."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static):
            return NotImplemented
        a, b = self.value, other.value
        return a is b or (type(a) is type(b) and isinstance(a, (str, bytes)) and bool(a == b))

    __hash__ = None  # type: ignore[assignment]


@frozen()
class Apart:
    """A value taken apart: leaves, what each is, and how they are put together."""

    leaves: list[Any]
    kinds: list[Input | Static]
    treedef: tree.TreeDef
    single: bool
    """Whether the value is itself the only leaf."""
    bound: list[Any]
    """Traced truths: if one is false the variable has no value, and the leaves are any."""

    def joined(self, leaves: list[Any]) -> Any:
        """The value with other leaves."""
        return self.treedef.unflatten(leaves)


def apart(value: Any, name: str) -> Apart:
    """`value` taken apart; dicts keep their order. name: that of the value in messages."""
    leaves, treedef = tree.flatten_ordered(value)
    bound: dict[int, Any] = {}
    for k, leaf in enumerate(leaves):
        if isinstance(leaf, Tracer) and leaf.bound is not None:
            bound[id(leaf.bound[0])] = leaf.bound[0]
            leaves[k] = leaf.bare()
    truths = list(bound.values())
    if len(leaves) == 1 and treedef == _LEAF:
        return Apart(leaves, [kind_of(leaves[0], name)], treedef, True, truths)
    names = [tree.path_text(path, name) for path in tree.paths(treedef)]
    kinds = [kind_of(leaf, name) for leaf, name in zip(leaves, names, strict=True)]
    return Apart(leaves, kinds, treedef, False, truths)


def kind_of(leaf: Any, name: str) -> Input | Static:
    """What a leaf is."""
    try:
        return Input(type_of(leaf), weak_type(leaf), name)
    except DTypeError:
        return Static(leaf)


def wider(first: Input, second: Input) -> Input | None:
    """The type of what begins as `first` and becomes `second`, None if it has none. Python numbers
    widen, or take the type of an array that they become and fit; arrays keep theirs."""
    old, new = first.type, second.type
    if old.shape != new.shape:
        return None
    if first.weak is not None and second.weak is not None:
        wide = max(first.weak, second.weak, key=_WIDTH.__getitem__)
        return replace(first, type=ArrayType((), WEAK[wide]), weak=wide)
    if first.weak is not None:
        fits = dt.promote_weak(first.weak, new.dtype) is new.dtype
        return replace(first, type=new, weak=None) if fits else None
    if old.dtype is new.dtype:
        return first
    if second.weak is not None and dt.promote_weak(second.weak, old.dtype) is old.dtype:
        return first
    return None


def common(kinds: list[Input]) -> Input | None:
    """The type of what is one of several, None if there is none: the widest Python number, or the
    one type of the arrays if the numbers fit it."""
    strong = [k for k in kinds if k.weak is None]
    found: Input | None = strong[0] if strong else kinds[0]
    for kind in kinds:
        if found is not None and (found.weak is not None or kind is not found):
            found = wider(found, kind)
    return found


def empty(value: Apart) -> list[Any]:
    """Leaves of the same types, for a variable that has no value."""
    return [
        kind.value
        if isinstance(kind, Static)
        else kind.weak(0)
        if kind.weak is not None
        else pnp.zeros(kind.type.shape, dtype=kind.type.dtype.numpy)
        for kind in value.kinds
    ]


def all_bound(value: Apart) -> Any:
    """Whether the variable has its value: True, or a traced truth."""
    found: Any = True
    for truth in value.bound:
        found = truth if found is True else pnp.logical_and(found, truth)
    return found


def put(value: Any, bound: Any, name: str) -> None:
    """Makes the traced leaves of `value` say whether the variable of this name has one."""
    place = location.here()
    for leaf in tree.leaves(value):
        if isinstance(leaf, Tracer) and bound is not True:
            leaf.bound = (bound, name, place)


def described(kind: Input | Static) -> str:
    """What a leaf is, for messages."""
    if isinstance(kind, Static):
        if isinstance(kind.value, (str, bytes)):
            return f"{kind.value!r:.40}"
        return f"a {type(kind.value).__name__}"
    return f"a Python {kind.weak.__name__}" if kind.weak is not None else str(kind.type)


def shown(value: Apart) -> str:
    """What a value is, for messages."""
    if value.single:
        return described(value.kinds[0])
    return str(value.treedef)


def is_array(leaf: Any) -> bool:
    """Whether a leaf is a traced array that could be changed in place, and not a scalar."""
    return isinstance(leaf, Tracer) and leaf.weak is None and leaf.is_array


def may_be_array(leaf: Any) -> bool:
    """Whether a leaf is an array for some data at least."""
    return isinstance(leaf, Tracer) and leaf.weak is None and leaf.may_be_array


__all__ = [
    *("Apart", "Static", "apart", "common", "described", "is_array", "kind_of", "may_be_array"),
    "shown",
]
__all__ += ["all_bound", "empty", "put", "wider"]
