"""Control flow by functions: `cond`, `switch`, `while_loop`, `fori_loop`, `scan`, `map`.

Takes Python functions over pytrees, traces each into a closed Graph (what it uses of its
surroundings becomes a capture), and binds the ops of `ir/ops/control.py`. Under `jit` they are
recorded; outside it the base interpreter compiles and runs them.

Carried values keep their types. A Python number in an initial value is weak: it takes the type that
the body gives it, as it would in a Python loop, and the body is then traced again with that type.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

import pyc.numpy as pnp
from pyc import tree
from pyc.errors import ArgumentError, DTypeError, PycError, ShapeError, TraceError
from pyc.frozen import frozen, replace
from pyc.interpreter import WEAK, bind, bind1, current, is_tracing, type_of, weak_type
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.graph import Graph
from pyc.ir.types import ArrayType
from pyc.trace import location, namespaces
from pyc.trace.capture import tracing
from pyc.trace.trace import Input, Trace
from pyc.trace.tracer import Tracer

WIDTH = {int: 0, float: 1, complex: 2}
"""Weak types in the order in which they widen; a weak bool is as good as a strong one."""


P = ParamSpec("P")
R = TypeVar("R")


def _in_view(function: Callable[P, R]) -> Callable[P, R]:
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


# --- leaves ---------------------------------------------------------------------------------------


@frozen()
class _Tree:
    """A pytree taken apart: leaves, structure, the name of each leaf and of the tree."""

    leaves: list[Any]
    treedef: tree.TreeDef
    names: list[str]
    root: str


def _apart(value: Any, root: str) -> _Tree:
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
    return _Tree(leaves, treedef, names, root)


def _input(leaf: Any, name: str) -> Input:
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


def _joined(what: str, carry: Input, found: ArrayType, weak: type | None) -> Input:
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


def _same_structure(what: str, given: str, expected: tree.TreeDef, found: tree.TreeDef) -> None:
    if expected != found:
        raise TraceError(
            f"{what}: {given} has the structure {expected}, what is returned for it has {found}",
            fix="Return the same tuples, lists and dicts, with the same keys.",
        )


# --- bodies of loops ------------------------------------------------------------------------------


@frozen()
class _Loop:
    """A traced loop body: its Graph (captures, carries, xs) -> (carries, ys), what the captures
    are, the carried types on which it settled, and the structure of y."""

    graph: Graph
    captured: list[Any]
    carries: list[Input]
    y_treedef: tree.TreeDef


def _trace_loop(
    what: str,
    step: Callable[[Any, Any], tuple[Any, Any]],
    init: _Tree,
    xs: Sequence[Input],
    x_treedef: tree.TreeDef,
) -> _Loop:
    """The body of a loop, traced until the types of its carried values settle. They only go from
    weak to wider to strong, so this ends."""
    carries = [_input(x, name) for x, name in zip(init.leaves, init.names, strict=True)]
    while True:
        trace = Trace(current())
        with tracing(trace):
            given = trace.add_inputs(carries)
            sliced = trace.add_inputs(xs)
            after, y = step(init.treedef.unflatten(given), x_treedef.unflatten(sliced))
            out = _apart(after, "carry")
            _same_structure(what, f"`{init.root}`", init.treedef, out.treedef)
            found = [
                _joined(what, c, type_of(x), weak_type(x))
                for c, x in zip(carries, out.leaves, strict=True)
            ]
            if found == carries:
                ys = _apart(y, "y")
                results = [
                    *(lifted(x, c.type.dtype) for x, c in zip(out.leaves, carries, strict=True)),
                    *(lifted(x, type_of(x).dtype) for x in ys.leaves),
                ]
                return _Loop(trace.build(results), trace.captured, carries, ys.treedef)
        carries = found


def _initial(init: _Tree, carries: Sequence[Input]) -> list[Any]:
    """The initial carried values, converted to the types on which the body settled."""
    return [lifted(x, c.type.dtype) for x, c in zip(init.leaves, carries, strict=True)]


# --- branches -------------------------------------------------------------------------------------


@_in_view
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """branches[index](*operands), `index` clamped to the branches there are.

    index: integer scalar; branches: functions whose results have equal structures and types
    (Python numbers take the type of the other branches).
    raises DTypeError, ShapeError, TraceError: the results of two branches differ
    """
    with _Placed():
        branches = tuple(branches)
        if not branches:
            raise ArgumentError("switch: needs at least one branch")
        type = type_of(index)
        if type.shape != () or not type.dtype.is_integer:
            raise DTypeError(f"switch: the index must be an integer scalar, it is {type}")
        names = [f"branch {k}" for k in range(len(branches))]
        return _branch("switch", index, branches, names, operands)


@_in_view
def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """true_fun(*operands) if `pred` else false_fun(*operands); only one of them is computed.

    pred: scalar, true if it is not 0; the results have equal structures and types (Python numbers
    take the type of the other branch).
    raises DTypeError, ShapeError, TraceError: the results of the branches differ
    """
    with _Placed():
        type = type_of(pred)
        if type.shape != ():
            raise ShapeError(
                f"cond: the condition must be a scalar, it is {type}",
                fix="Reduce it with `.any()` or `.all()`, or choose per element with "
                "`pyc.numpy.where`.",
            )
        if isinstance(pred, Tracer):
            truth = pred if type.dtype is dt.b1 else pnp.not_equal(pred, 0)
            index = bind1("cast", truth, dtype=dt.i64)
        else:
            index = int(bool(pred))
        names = ["false_fun", "true_fun"]
        return _branch("cond", index, (false_fun, true_fun), names, operands)


def _branch(
    what: str,
    index: Any,
    branches: Sequence[Callable[..., Any]],
    names: Sequence[str],
    operands: tuple[Any, ...],
) -> Any:
    interpreter = current()
    given = _apart(operands, "operands")
    inputs = [_input(x, name) for x, name in zip(given.leaves, given.names, strict=True)]
    traces, outs = [], []
    for function in branches:
        trace = Trace(interpreter)
        with tracing(trace):
            taken = trace.add_inputs(inputs)
            out = _apart(function(*given.treedef.unflatten(taken)), "result")
            # Lifted here, so that what is returned as it came is known to be a capture.
            leaves = [x if type(x) in WEAK else trace.lift(x) for x in out.leaves]
            outs.append(replace(out, leaves=leaves))
        traces.append(trace)
    for name, out in zip(names, outs, strict=True):
        if out.treedef != outs[0].treedef:
            raise TraceError(
                f"{what}: {names[0]} returns the structure {outs[0].treedef}, "
                f"{name} returns {out.treedef}",
                fix="Return the same tuples, lists and dicts, with the same keys, from each "
                "branch.",
            )
    dtypes = [
        _branch_dtype(what, names, outs[0].names[k], [out.leaves[k] for out in outs])
        for k in range(len(outs[0].leaves))
    ]
    captured: dict[int, Any] = {}
    for trace in traces:
        for outer in trace.captured:
            captured.setdefault(id(outer.value) if isinstance(outer, Tracer) else id(outer), outer)
    graphs = []
    for trace, out in zip(traces, outs, strict=True):
        trace.open = True
        with tracing(trace):
            results = [lifted(x, t) for x, t in zip(out.leaves, dtypes, strict=True)]
        graphs.append(trace.build(results, [trace.capture_value(c) for c in captured.values()]))
    args = [*captured.values(), *(interpreter.lift(x) for x in given.leaves)]
    if issubclass(type(index), (int, np.integer)):
        chosen = graphs[min(max(int(index), 0), len(graphs) - 1)]
        values = interpreter.inline(chosen, args)
    else:
        index = lifted(index, dt.i64)
        values = bind("cond", index, *args, branches=tuple(graphs))
    return outs[0].treedef.unflatten(values)


def _branch_dtype(what: str, names: Sequence[str], leaf: str, found: Sequence[Any]) -> DType:
    """The common type of what the branches return for one leaf."""
    types = [type_of(x) for x in found]
    weak = [weak_type(x) for x in found]
    wide = [w for w in weak if w in WIDTH]
    strong = [(t.dtype, n) for t, w, n in zip(types, weak, names, strict=True) if w not in WIDTH]
    for type, name in zip(types, names, strict=True):
        if type.shape != types[0].shape:
            raise ShapeError(
                f"{what}: `{leaf}` is {types[0]} in {names[0]} and {type} in {name}",
                fix="Each result has the same shape in every branch.",
            )
    if not strong:
        return WEAK[max(wide, key=WIDTH.__getitem__)]
    first, first_name = strong[0]
    for dtype, name in strong:
        if dtype is not first:
            raise DTypeError(
                f"{what}: `{leaf}` is {first.name} in {first_name} and {dtype.name} in {name}",
                fix=f'Convert one of them: `.astype("{first.name}")`.',
            )
    for w in wide:
        if dt.promote_weak(w, first) is not first:
            raise DTypeError(
                f"{what}: `{leaf}` is {first.name} in {first_name} and a Python {w.__name__} in "
                "another branch",
                fix=f'Convert the array: `.astype("{WEAK[w].name}")`, or write the number as '
                f"{'an' if first.is_integer else 'a'} {first.name}.",
            )
    return first


# --- loops ----------------------------------------------------------------------------------------


@_in_view
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """The first of init_val, body_fun(init_val), body_fun(body_fun(init_val)), ... for which
    cond_fun is false.

    init_val: pytree, whose structure, shapes and dtypes stay the same; cond_fun gives a bool.
    raises DTypeError, ShapeError, TraceError: a carried value that changes its type (named)
    """
    with _Placed():
        init = _apart(init_val, "init_val")
        return _while("while_loop", cond_fun, body_fun, init)


def _while(
    what: str, cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: _Tree
) -> Any:
    nothing = tree.structure(None)
    loop = _trace_loop(what, lambda carry, _: (body_fun(carry), None), init, (), nothing)
    trace = Trace(current())
    with tracing(trace):
        truth = cond_fun(init.treedef.unflatten(trace.add_inputs(loop.carries)))
        found = _apart(truth, "result")
        if found.treedef != tree.structure(0) or type_of(truth) != ArrayType((), dt.b1):
            got = str(type_of(truth)) if found.treedef == tree.structure(0) else str(found.treedef)
            raise DTypeError(
                f"{what}: the condition must return a bool scalar, it returns {got}",
                fix="Compare it, or reduce it with `.any()` or `.all()`.",
            )
        condition = trace.build([trace.lift(truth)])
    values = bind(
        "while",
        *(*trace.captured, *loop.captured, *_initial(init, loop.carries)),
        condition=condition,
        body=loop.graph,
        condition_captures=len(trace.captured),
        body_captures=len(loop.captured),
    )
    return init.treedef.unflatten(values)


@_in_view
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """The value of `val` after `val = init_val; for i in range(lower, upper): val = body_fun(i,
    val)`.

    lower, upper: integer scalars, traced or not; i has their common type, and is weak if both are
    Python integers. init_val: pytree, whose structure, shapes and dtypes stay the same. unroll: as
    in `scan`, where the bounds are known.
    raises DTypeError, ShapeError, TraceError: a carried value that changes its type (named);
    ArgumentError: `unroll` of a loop whose length is not known
    """
    with _Placed():
        for name, bound in (("lower", lower), ("upper", upper)):
            type = type_of(bound)
            if type.shape != () or not type.dtype.is_integer:
                raise DTypeError(f"fori_loop: `{name}` must be an integer scalar, it is {type}")
        dtype = _common_integer(lower, upper)
        weak = weak_type(lower) is int and weak_type(upper) is int
        known = not isinstance(lower, Tracer) and not isinstance(upper, Tracer)
        start = lower if weak else lifted(lower, dtype)
        inner = _apart(init_val, "init_val")
        treedef = tree.structure((0, init_val))
        init = _Tree([start, *inner.leaves], treedef, ["i", *inner.names], "init_val")

        def step(carry: Any) -> Any:
            i, value = carry
            after = body_fun(i, value)
            _same_structure("fori_loop", "`init_val`", inner.treedef, tree.structure(after))
            return i + 1, after

        if not known:
            if unroll is not None:
                raise ArgumentError("fori_loop: `unroll` needs bounds that are not traced")
            stop = upper if weak else lifted(upper, dtype)
            return _while("fori_loop", lambda carry: carry[0] < stop, step, init)[1]
        length = max(operator.index(upper) - operator.index(lower), 0)
        (_, value), _ = _scan(
            "fori_loop",
            lambda carry, _: (step(carry), None),
            init,
            _apart(None, "xs"),
            length,
            False,
            _factor("fori_loop", unroll or 1, length),
        )
        return value


def _factor(name: str, unroll: int | bool, length: int) -> int:
    """How many of `length` steps one iteration takes."""
    if unroll is True:
        return max(length, 1)
    found = operator.index(unroll)
    if found < 0:
        raise ArgumentError(f"{name}: `unroll` must not be negative, got {unroll}")
    return max(found, 1)


def _common_integer(lower: Any, upper: Any) -> DType:
    a, b = type_of(lower).dtype, type_of(upper).dtype
    if weak_type(lower) is int:
        return b if weak_type(upper) is None else dt.i64
    if weak_type(upper) is int:
        return a
    common = dt.promote(a, b)
    if not common.is_integer:
        raise DTypeError(f"fori_loop: {a.name} and {b.name} have no common integer type")
    return common


@_in_view
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """(carry, ys) after `for x in xs: carry, y = f(carry, x)`, the ys stacked along a new first
    axis.

    init: pytree, whose structure, shapes and dtypes stay the same; xs: pytree of arrays with equal
    first axes, or None with a `length`; reverse: from the last x to the first, each y at the place
    of its x; unroll: steps of f in one iteration of the loop that runs, True for no loop at all
    (the results are the same).
    raises DTypeError, ShapeError, TraceError: a carried value that changes its type (named)
    """
    with _Placed():
        stepped = _apart(xs, "xs")
        size = _scan_length(stepped, length)
        factor = _factor("scan", unroll, size)
        return _scan("scan", f, _apart(init, "init"), stepped, size, bool(reverse), factor)


def _scan_length(xs: _Tree, length: int | None) -> int:
    sizes: dict[str, int] = {}
    if length is not None:
        sizes["length"] = operator.index(length)
    for leaf, name in zip(xs.leaves, xs.names, strict=True):
        type = type_of(leaf)
        if not type.shape:
            raise ShapeError(
                f"scan: `{name}` is {type}, it has no first axis to step along",
                fix="Use it in the function from outside, or repeat it.",
            )
        sizes[name] = type.shape[0]
    if not sizes:
        raise ShapeError("scan: needs `xs` or `length`", fix="Write `scan(f, init, length=n)`.")
    (first, size), *rest = sizes.items()
    for name, other in rest:
        if other != size:
            raise ShapeError(f"scan: `{first}` has {size} steps and `{name}` has {other}")
    if size < 0:
        raise ShapeError(f"scan: `length` is {size}")
    return size


def _scan(
    what: str,
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: _Tree,
    xs: _Tree,
    length: int,
    reverse: bool,
    unroll: int,
) -> tuple[Any, Any]:
    types = [type_of(x) for x in xs.leaves]
    inputs = [
        Input(ArrayType(t.shape[1:], t.dtype), None, f"slice of {name}")
        for t, name in zip(types, xs.names, strict=True)
    ]

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        out = f(carry, x)
        if not (isinstance(out, tuple) and len(out) == 2):
            raise TraceError(
                f"{what}: the body must return (carry, y), it returns "
                + (str(out.type) if isinstance(out, Tracer) else f"a {type(out).__name__}"),
                fix="Return `carry, None` if there is nothing to stack.",
            )
        return out

    loop = _trace_loop(what, step, init, inputs, xs.treedef)
    carry = _initial(init, loop.carries)
    stepped = [current().lift(x) for x in xs.leaves]
    carry, ys = _run_scan(loop, carry, stepped, length, reverse, unroll)
    return init.treedef.unflatten(carry), loop.y_treedef.unflatten(ys)


def _run_scan(
    loop: _Loop, carry: list[Any], xs: list[Any], length: int, reverse: bool, unroll: int
) -> tuple[list[Any], list[Any]]:
    """Carried and stacked results: a loop over blocks of `unroll` steps, and straight code for
    what is left over, which comes last in the order of the steps."""
    if length == 0:
        return _straight(loop, carry, xs, 0, reverse)
    if unroll == 1:
        return _bind_scan(loop.graph, loop, carry, xs, length, reverse)
    blocks, left = divmod(length, unroll)
    main = slice(left, None) if reverse else slice(None, length - left)
    rest = slice(None, left) if reverse else slice(length - left, None)
    parts: list[list[Any]] = []
    if blocks > 1:
        blocked = [pnp.reshape(x[main], (blocks, unroll, *type_of(x).shape[1:])) for x in xs]
        body = _unrolled(loop, [type_of(x) for x in xs], unroll, reverse)
        carry, ys = _bind_scan(body, loop, carry, blocked, blocks, reverse)
        flat = [pnp.reshape(y, (blocks * unroll, *type_of(y).shape[2:])) for y in ys]
        parts.append(flat)
    elif blocks:
        carry, ys = _straight(loop, carry, [x[main] for x in xs], unroll, reverse)
        parts.append(ys)
    if left:
        carry, ys = _straight(loop, carry, [x[rest] for x in xs], left, reverse)
        parts.append(ys)
    if reverse:
        parts.reverse()
    if len(parts) == 1:
        return carry, parts[0]
    return carry, [pnp.concat(pair) for pair in zip(*parts, strict=True)]


def _bind_scan(
    body: Graph, loop: _Loop, carry: list[Any], xs: list[Any], length: int, reverse: bool
) -> tuple[list[Any], list[Any]]:
    values = bind(
        "scan",
        *(*loop.captured, *carry, *xs),
        body=body,
        length=length,
        captures=len(loop.captured),
        carries=len(carry),
        reverse=reverse,
    )
    return list(values[: len(carry)]), list(values[len(carry) :])


def _straight(
    loop: _Loop, carry: list[Any], xs: list[Any], length: int, reverse: bool
) -> tuple[list[Any], list[Any]]:
    """`length` steps without a loop, on the current interpreter."""
    interpreter = current()
    captured = [interpreter.lift(c) for c in loop.captured]
    rows: list[Sequence[Any]] = []
    for k in reversed(range(length)) if reverse else range(length):
        slices = [interpreter.lift(x[k]) for x in xs]
        values = interpreter.inline(loop.graph, [*captured, *carry, *slices])
        carry = list(values[: len(carry)])
        rows.append(values[len(carry) :])
    if reverse:
        rows.reverse()
    types = loop.graph.types[len(carry) :]
    if not rows:
        return carry, [pnp.zeros((0, *t.shape), dtype=t.dtype.numpy) for t in types]
    return carry, [pnp.stack([row[k] for row in rows]) for k in range(len(types))]


def _unrolled(loop: _Loop, xs: Sequence[ArrayType], unroll: int, reverse: bool) -> Graph:
    """The body for `unroll` steps at once, on slices with a new first axis."""
    trace = Trace()
    with tracing(trace):
        captured = trace.add_inputs([Input(type_of(c)) for c in loop.captured])
        carry: list[Any] = list(trace.add_inputs(loop.carries))
        blocks = trace.add_inputs([Input(ArrayType((unroll, *x.shape[1:]), x.dtype)) for x in xs])
        inner = replace(loop, captured=list(captured))
        carry, ys = _straight(inner, carry, list(blocks), unroll, reverse)
        return trace.build([*carry, *ys])


@_in_view
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """f(x) for each slice x of `xs` along its first axis, stacked along a new first axis.

    xs: pytree of arrays with equal first axes; batch_size: slices in one iteration of the loop
    that runs (the results are the same).
    raises ShapeError: the first axes differ, or there is none
    """
    with _Placed():
        stepped = _apart(xs, "xs")
        size = _scan_length(stepped, None)
        _, ys = _scan(
            "map",
            lambda _, x: (None, f(x)),
            _apart(None, "init"),
            stepped,
            size,
            False,
            _factor("map", batch_size or 1, size),
        )
        return ys


class _Placed:
    """Gives errors the line of the call; bodies have placed theirs already."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, PycError) and error.place is None:
            error.at(location.here())


__all__ = ["cond", "fori_loop", "map", "scan", "switch", "while_loop"]
