"""`vmap`: a Python function of one lane, traced once and batched.

The function is traced into a closed Graph for the types of one lane, as the bodies of `pyc.lax` are
(what it uses of its surroundings is the same for all lanes); `ir/batch.py` makes of it a Graph for
all lanes, which takes its place in the surrounding trace. Outside of a trace the base interpreter
compiles and runs it.

Axes are trees of ints and None that end where they say the same of all that is below.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from pyc import tree
from pyc.errors import ArgumentError, DTypeError, ShapeError
from pyc.frozen import frozen
from pyc.interpreter import WEAK, current, type_of, weak_type
from pyc.ir.batch import Batch, Operand
from pyc.ir.graph import Builder, Graph
from pyc.ir.types import ArrayType
from pyc.trace import location
from pyc.trace.bound import Mapped
from pyc.trace.capture import tracing
from pyc.trace.operand_trees import Placed, in_view
from pyc.trace.trace import Input, Trace
from pyc.trace.tracer import Tracer

TreeDef: TypeAlias = tree.TreeDef
_LEAF = tree.structure(0)

# --- the axes -------------------------------------------------------------------------------------


def checked_axes(name: str, axes: Any) -> Any:
    """A copy of `axes`, a tree of ints and None; ArgumentError names what else is in it."""
    for leaf in tree.leaves(axes):
        if isinstance(leaf, bool) or not hasattr(leaf, "__index__"):
            raise ArgumentError(
                f"vmap: `{name}` has {leaf!r}, which is no axis",
                fix="Axes are ints, and None for what is the same for all; in tuples, lists and "
                "dicts like those of the arguments.",
                place=location.here(),
            )
    return tree.map(operator.index, axes)


def checked_size(size: Any) -> int | None:
    """`axis_size`, a number of lanes or None; ArgumentError for what is neither."""
    if size is None or (hasattr(size, "__index__") and operator.index(size) >= 0):
        return None if size is None else operator.index(size)
    raise ArgumentError(
        f"vmap: `axis_size` must be a number of lanes, got {size!r}", place=location.here()
    )


def checked_name(name: Any) -> Any:
    """`axis_name`, anything hashable; ArgumentError for what is not."""
    try:
        hash(name)
    except TypeError:
        raise ArgumentError(
            f"vmap: `axis_name` must be hashable, got {name!r}",
            fix='Give a text: `axis_name="batch"`.',
            place=location.here(),
        ) from None
    return name


def _spread(option: str, axes: Any, structure: TreeDef, name: str) -> list[int | None]:
    """The axis of each leaf of a tree. name: of the tree, in messages.

    raises ArgumentError: `axes` goes on where the tree is another one
    """
    if axes is None or hasattr(axes, "__index__"):
        return [None if axes is None else operator.index(axes)] * structure.num_leaves
    if type(axes) is structure.kind:
        parts, meta = structure.way.parts(axes, True)
        children = list(parts)
        like = TreeDef(structure.way, structure.kind, meta, (_LEAF,) * len(children))
        own = {entry.text: x for entry, x in zip(like.way.entries(like), children, strict=True)}
        entries = list(structure.way.entries(structure))
        if own.keys() == {entry.text for entry in entries}:
            pairs = zip(entries, structure.children, strict=True)
            found = [_spread(option, own[e.text], c, name + e.text) for e, c in pairs]
            return [axis for part in found for axis in part]
    what = "an array or a number" if structure == _LEAF else str(structure)
    raise ArgumentError(
        f"vmap: `{option}` has {axes!r} for `{name}`, which is {what}",
        fix="Write one axis, or None, for all of it; or a tree of the same tuples, lists and "
        "dicts, with the same keys.",
    )


def _of_arguments(
    in_axes: Any, structure: TreeDef, names: Sequence[str], keywords: Sequence[str]
) -> list[int | None]:
    """The axis of each leaf of (positional, keywords); those of keywords are 0."""
    args, kwargs = structure.children
    found: list[int | None] = []
    axes = in_axes if type(in_axes) in (tuple, list) else [in_axes] * len(args.children)
    if len(axes) != len(args.children):
        raise ArgumentError(
            f"vmap: positional arguments: `in_axes` is for {len(axes)}, the call has "
            f"{len(args.children)}",
            fix="Write one for each positional argument; those by keyword are mapped over their "
            "first axis.",
        )
    for axis, child, name in zip(axes, args.children, names, strict=True):
        found += _spread("in_axes", axis, child, name)
    for child, name in zip(kwargs.children, keywords, strict=True):
        found += _spread("in_axes", 0, child, name)
    return found


def _parameters(function: Any, count: int) -> list[str]:
    """The names of `count` positional arguments, for messages."""
    try:
        known = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):  # some functions in C have none
        known = []
    names: list[str] = []
    for k in range(count):
        p = known[min(k, len(known) - 1)] if known else None
        if p is not None and p.kind is p.VAR_POSITIONAL:
            names.append(f"{p.name}[{k - known.index(p)}]")
        elif p is not None and k < len(known):
            names.append(p.name)
        else:
            names.append(f"argument {k}")
    return names


def _place(axis: int, rank: int) -> int | None:
    """A non-negative axis of `rank`, None if there is no such."""
    place = axis + rank if axis < 0 else axis
    return place if 0 <= place < rank else None


# --- the arguments --------------------------------------------------------------------------------


@frozen()
class _Argument:
    """A mapped leaf. place: its axis, not negative."""

    value: Any
    name: str
    type: ArrayType
    place: int

    @property
    def lane(self) -> Input:
        """What one lane of it is."""
        shape = self.type.shape
        shape = (*shape[: self.place], *shape[self.place + 1 :])
        return Input(ArrayType(shape, self.type.dtype), None, self.name)

    @property
    def size(self) -> int:
        """How many lanes it has."""
        return self.type.shape[self.place]


def _argument(value: Any, name: str, axis: int, keyword: bool) -> _Argument:
    """A mapped leaf; ShapeError, DTypeError: it has no such axis."""
    remedy = "Say that it is the same for all lanes: an entry of `in_axes` that is None."
    if keyword:
        remedy = (
            "Arguments by keyword are mapped over their first axis. Give what is the same for all "
            "lanes by position,\nwith None in `in_axes`, or in a function around: "
            "`pyc.vmap(lambda x: f(x, k=k))`."
        )
    try:
        type = type_of(value)
    except DTypeError:
        raise DTypeError(
            f"vmap: `{name}`, of type {_kind(value)}, has no axis {axis} to map over", fix=remedy
        ) from None
    if not type.shape:
        what = f"a Python {_kind(value)}" if _is_python(value) else str(type)
        raise ShapeError(f"vmap: `{name}` is {what}, it has no axis {axis} to map over", fix=remedy)
    place = _place(axis, len(type.shape))
    if place is None:
        raise ShapeError(
            f"vmap: `{name}` is {type}, it has no axis {axis} to map over",
            fix=f"Axes are from {-len(type.shape)} to {len(type.shape) - 1}.",
        )
    return _Argument(value, name, type, place)


def _is_python(x: Any) -> bool:
    return type(x) in WEAK or weak_type(x) is not None


def _kind(x: Any) -> str:
    weak = weak_type(x)
    return type(x).__name__ if weak is None else weak.__name__


def _size(arguments: Sequence[_Argument], axis_size: int | None, name: Any) -> int:
    """The number of lanes that all arguments have. name: of the lanes, None if they have none."""
    over = "vmap" if name is None else f"vmap over {name!r}"
    if not arguments and axis_size is None:
        raise ArgumentError(
            f"{over}: no argument is mapped: every axis is None, or there are no arrays",
            fix="Map over an axis of some argument, or say how many lanes there are: "
            "`axis_size=n`.",
        )
    sizes: dict[int, list[str]] = {}
    if axis_size is not None:
        sizes[axis_size] = ["`axis_size`"]
    for x in arguments:
        sizes.setdefault(x.size, []).append(f"`{x.name}` ({x.type}, axis {x.place})")
    if len(sizes) > 1:
        told = "; ".join(f"{size} lanes: {_listed(names)}" for size, names in sizes.items())
        raise ShapeError(
            f"{over}: the mapped axes have different sizes: {told}",
            fix="Map over axes of one size; None in `in_axes` stands for what is the same for "
            "all lanes.",
        )
    (size,) = sizes
    return size


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"


# --- the call -------------------------------------------------------------------------------------


@in_view
def _call(
    fun: Callable[..., Any],
    axes: tuple[Any, Any, int | None, Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    in_axes, out_axes, axis_size, axis_name = axes
    with Placed():
        leaves, structure = tree.flatten_ordered((args, kwargs))
        named = _parameters(fun, len(args))
        keywords = list(kwargs)
        names = []
        by_keyword = []
        for path in tree.paths(structure):
            place, argument, *rest = path
            by_keyword.append(place.entry == 1)
            root = named[argument.entry] if place.entry == 0 else str(argument.entry)
            names.append(tree.path_text(tuple(rest), root))
        found = _of_arguments(in_axes, structure, named, keywords)
        mapped = {
            k: _argument(leaf, name, axis, by_keyword[k])
            for k, (leaf, name, axis) in enumerate(zip(leaves, names, found, strict=True))
            if axis is not None
        }
        arguments = list(mapped.values())
        size = _size(arguments, axis_size, axis_name)
        trace = Trace(current())
        trace.caller = "pyc.vmap"
        with tracing(trace):
            for k, lane in zip(mapped, trace.add_inputs([x.lane for x in arguments]), strict=True):
                lane.argument = lane.ndim > 0
                leaves[k] = lane
            given, options = structure.unflatten(leaves)
            result = fun(*given, **options)
            outs, out_structure = tree.flatten_ordered(result)
            results = trace.results([_result(fun, x, out_structure, k) for k, x in enumerate(outs)])
            graph = trace.build(results)
        interpreter = current()
        captured = [interpreter.lift(c) for c in trace.captured]
        places = [None] * len(captured) + [x.place for x in arguments]
        to = _spread("out_axes", out_axes, out_structure, "result")
        out_names = [tree.path_text(path, "result") for path in tree.paths(out_structure)]
        values = [interpreter.lift(x.value) for x in arguments]
        batched = _batched(graph, [*captured, *values], places, size, to, out_names)
        made = interpreter.inline(batched, [*captured, *values])
        for x, weak, axis in zip(made, [r.weak for r in results], to, strict=True):
            if axis is None and isinstance(x, Tracer):
                x.weak = weak
        return out_structure.unflatten(made)


def call(mapped: Mapped, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of all lanes.

    raises ArgumentError, ShapeError, DTypeError: the axes do not fit the arguments or the results
    """
    return _call(mapped.function, mapped.axes, args, kwargs)


def _result(function: Any, result: Any, structure: TreeDef, k: int) -> Any:
    """A leaf of what the function returns; DTypeError if it is no array or number."""
    try:
        type_of(result)
    except DTypeError:
        name = tree.path_text(tree.paths(structure)[k], "result")
        raise DTypeError(
            f"vmap: `{name}` is of type {type(result).__name__}, not an array or a number",
            fix="Return arrays, numbers, None, and tuples, lists and dicts of them.",
            place=location.of_function(function),
        ) from None
    return result


def _batched(
    graph: Graph,
    given: Sequence[Any],
    places: Sequence[int | None],
    size: int,
    to: Sequence[int | None],
    names: Sequence[str],
) -> Graph:
    """`graph` for all lanes: its parameters have batch axes at `places`, its results at `to`.

    raises ShapeError: a result has no such axis, or differs between lanes where it must not
    """
    builder = Builder()
    batch = Batch(builder, size)
    args = [Operand(builder.param(type_of(x)), at) for x, at in zip(given, places, strict=True)]
    outs = []
    for x, axis, name in zip(batch.run(graph, args), to, names, strict=True):
        if axis is None:
            if x.axis is not None:
                raise ShapeError(
                    f"vmap: `{name}` differs between lanes, and its entry in `out_axes` is None",
                    fix="None is for results that are the same for all lanes: give an axis for "
                    "this one, such as 0.",
                )
            outs.append(x.value)
            continue
        place = _place(axis, x.lane.rank + 1)
        if place is None:
            raise ShapeError(
                f"vmap: `{name}` is {x.lane} in each lane, the axis {axis} of `out_axes` is none "
                "of all lanes",
                fix=f"Axes are from {-x.lane.rank - 1} to {x.lane.rank}.",
            )
        outs.append(batch.at(x, place))
    return builder.build(outs)


__all__ = ["call", "checked_axes", "checked_name", "checked_size"]
