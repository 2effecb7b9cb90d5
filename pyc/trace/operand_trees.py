"""Operands of the functions of control flow: pytrees taken apart, and what each leaf is.

Carried values keep their types. A Python number in an initial value is weak: it takes the type that
the body gives it, as it would in a Python loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from pyc import tree
from pyc.errors import DTypeError, PycError, ShapeError, TraceError
from pyc.frozen import frozen, replace
from pyc.interpreter import WEAK, bind1, current, is_tracing, type_of, weak_type
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.types import ArrayType
from pyc.trace import location, namespaces
from pyc.trace.trace import Input

WIDTH = {int: 0, float: 1, complex: 2}
"""Weak types in the order in which they widen; a weak bool is as good as a strong one."""

P = ParamSpec("P")
R = TypeVar("R")


def in_view(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, which traces functions of the user: outside of a trace these see what a jitted
    function sees. Within one they come from there."""

    @wraps(function)
    def outermost(*args: P.args, **options: P.kwargs) -> R:
        if is_tracing():
            return function(*args, **options)
        space = namespaces().Namespace()
        try:
            given = [space.argument(x, f"argument {k}", k) for k, x in enumerate(args)]
            named = {k: space.argument(x, k, k) for k, x in options.items()}
            found = function(*given, **named)
            space.check()
            result: R = space.restored(found)
            return result
        finally:
            space.close()

    return outermost


@frozen()
class Tree:
    """A pytree taken apart: leaves, structure, the name of each leaf and of the tree."""

    leaves: list[Any]
    treedef: tree.TreeDef
    names: list[str]
    root: str


def apart(value: Any, root: str) -> Tree:
    """`value` taken apart; DTypeError names a leaf that is not an array or a number."""
    leaves, treedef = tree.flatten(value)
    names = [tree.path_text(path, root) for path in tree.paths(treedef)]
    for leaf, name in zip(leaves, names, strict=True):
        try:
            type_of(leaf)
        except DTypeError:
            raise DTypeError(
                f"`{name}` must be an array or a number, it is of type {type(leaf).__name__}",
                fix="Leave it out of the tree: functions may use such values from outside.",
            ) from None
    return Tree(leaves, treedef, names, root)


def leaf_input(leaf: Any, name: str) -> Input:
    """The type of a leaf; a weak bool counts as strong."""
    weak = weak_type(leaf)
    return Input(type_of(leaf), weak if weak in WIDTH else None, name)


def lifted(leaf: Any, dtype: DType) -> Any:
    """A leaf as a value of the current interpreter, of `dtype`."""
    if type(leaf) in WEAK and dtype is not type_of(leaf).dtype:
        leaf = _number(leaf, dtype)
    value = current().lift(leaf)
    if type_of(value).dtype is dtype:
        return value
    return bind1("cast", value, dtype=dtype)


def _number(leaf: Any, dtype: DType) -> Any:
    """A Python number as a NumPy scalar; DTypeError if it does not fit."""
    try:
        return dtype.numpy.type(leaf)
    except OverflowError:
        raise DTypeError(f"the Python number {leaf} does not fit {dtype.name}") from None


def joined(what: str, carry: Input, found: ArrayType, weak: type | None) -> Input:
    """The type of a carried value that begins as `carry` and for which the body gives `found`."""
    if found.shape != carry.type.shape:
        raise ShapeError(
            f"{what}: `{carry.name}` is {carry.type} and the body returns {found} for it",
            fix="Each carried value keeps its shape.",
        )
    weak = weak if weak in WIDTH else None
    old, new = carry.type.dtype, found.dtype
    if carry.weak is None:
        if new is old or (weak is not None and dt.promote_weak(weak, old) is old):
            return carry
        raise DTypeError(
            f"{what}: `{carry.name}` is {carry.type} and the body returns {found} for it",
            fix=f'Return `.astype("{old.name}")` of it from the body, or begin with '
            f"`{carry.name}` as {new.name}.",
        )
    if weak is not None:
        wide = max(carry.weak, weak, key=WIDTH.__getitem__)
        return replace(carry, type=ArrayType(found.shape, WEAK[wide]), weak=wide)
    joint = dt.promote_weak(carry.weak, new)
    return replace(carry, type=ArrayType(found.shape, joint), weak=None)


def same_structure(what: str, given: str, expected: tree.TreeDef, found: tree.TreeDef) -> None:
    """TraceError unless two trees have one structure."""
    if expected != found:
        raise TraceError(
            f"{what}: {given} has the structure {expected}, what is returned for it has {found}",
            fix="Return the same tuples, lists and dicts, with the same keys.",
        )


class Placed:
    """Gives errors the line of the call; bodies have placed theirs already."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, PycError) and error.place is None:
            error.at(location.here())


__all__ = ["WIDTH", "Placed", "Tree", "apart", "in_view", "joined", "leaf_input", "lifted"]
__all__ += ["same_structure"]
