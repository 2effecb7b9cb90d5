"""Loops by functions: `while_loop`, `fori_loop`, `scan`, `map`.

Takes Python functions over pytrees, traces each into a closed Graph (what it uses of its
surroundings becomes a capture), and binds the ops of `ir/ops/control.py`. Under `jit` they are
recorded; outside it the base interpreter compiles and runs them. The body is traced again where a
Python number in an initial value takes the type that the body gives it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import pyc.numpy as pnp
from pyc import tree
from pyc.errors import ArgumentError, DTypeError, ShapeError, TraceError
from pyc.frozen import frozen, replace
from pyc.interpreter import bind, current, type_of, weak_type
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.graph import Graph
from pyc.ir.types import ArrayType
from pyc.trace.bound import Mapped
from pyc.trace.capture import tracing
from pyc.trace.operand_trees import (
    Placed,
    Tree,
    apart,
    in_view,
    joined,
    leaf_input,
    lifted,
    same_structure,
)
from pyc.trace.trace import Input, Trace
from pyc.trace.tracer import Tracer
from pyc.wrong_arguments import needs_function

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
    init: Tree,
    xs: Sequence[Input],
    x_treedef: tree.TreeDef,
) -> _Loop:
    """The body of a loop, traced until the types of its carried values settle. They only go from
    weak to wider to strong, so this ends."""
    carries = [leaf_input(x, name) for x, name in zip(init.leaves, init.names, strict=True)]
    while True:
        trace = Trace(current())
        with tracing(trace):
            given = trace.add_inputs(carries)
            sliced = trace.add_inputs(xs)
            after, y = step(init.treedef.unflatten(given), x_treedef.unflatten(sliced))
            out = apart(after, "carry")
            same_structure(what, f"`{init.root}`", init.treedef, out.treedef)
            found = [
                joined(what, c, type_of(x), weak_type(x))
                for c, x in zip(carries, out.leaves, strict=True)
            ]
            if found == carries:
                ys = apart(y, "y")
                results = [
                    *(lifted(x, c.type.dtype) for x, c in zip(out.leaves, carries, strict=True)),
                    *(lifted(x, type_of(x).dtype) for x in ys.leaves),
                ]
                return _Loop(trace.build(results), trace.captured, carries, ys.treedef)
        carries = found


def _initial(init: Tree, carries: Sequence[Input]) -> list[Any]:
    """The initial carried values, converted to the types on which the body settled."""
    return [lifted(x, c.type.dtype) for x, c in zip(init.leaves, carries, strict=True)]


# --- loops ----------------------------------------------------------------------------------------


@in_view
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """The first of init_val, body_fun(init_val), body_fun(body_fun(init_val)), ... for which
    cond_fun is false.

    init_val: pytree, whose structure, shapes and dtypes stay the same; cond_fun gives a bool.

    raises DTypeError: a carried value, which is named, changes its dtype, or `cond_fun` gives no
    bool of shape (), or a function is none; ShapeError: it changes its shape; TraceError: it
    changes its structure

    JAX: `jax.lax.while_loop`.

    >>> pyc.while_loop(lambda x: x < 100, lambda x: 2 * x, 3)
    np.int64(192)
    """
    with Placed():
        needs_function("while_loop", "cond_fun", cond_fun)
        needs_function("while_loop", "body_fun", body_fun)
        init = apart(init_val, "init_val")
        return _while("while_loop", cond_fun, body_fun, init)


def _while(
    what: str, cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Tree
) -> Any:
    nothing = tree.structure(None)
    loop = _trace_loop(what, lambda carry, _: (body_fun(carry), None), init, (), nothing)
    trace = Trace(current())
    with tracing(trace):
        truth = cond_fun(init.treedef.unflatten(trace.add_inputs(loop.carries)))
        found = apart(truth, "result")
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


@in_view
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

    lower, upper: integers of shape (), traced or not; i has their common dtype, and is weak if both
    are Python integers. init_val: pytree, whose structure, shapes and dtypes stay the same. unroll:
    as in `scan`, where the bounds are known.

    raises DTypeError: a carried value, which is named, changes its dtype, or a bound or `unroll` is
    no integer, or `body_fun` no function; ShapeError: it changes its shape; TraceError: it changes
    its structure; ArgumentError: `unroll` is negative, or of a loop whose length is not known

    JAX: `jax.lax.fori_loop`.

    >>> pyc.fori_loop(0, 3, lambda i, total: total + i, 10)
    np.int64(13)
    """
    with Placed():
        needs_function("fori_loop", "body_fun", body_fun)
        for name, bound in (("lower", lower), ("upper", upper)):
            type = type_of(bound)
            if type.shape != () or not type.dtype.is_integer:
                raise DTypeError(f"fori_loop: `{name}` must be an integer scalar, it is {type}")
        dtype = _common_integer(lower, upper)
        weak = weak_type(lower) is int and weak_type(upper) is int
        known = not isinstance(lower, Tracer) and not isinstance(upper, Tracer)
        start = lower if weak else lifted(lower, dtype)
        inner = apart(init_val, "init_val")
        treedef = tree.structure((0, init_val))
        init = Tree([start, *inner.leaves], treedef, ["i", *inner.names], "init_val")

        def step(carry: Any) -> Any:
            i, value = carry
            after = body_fun(i, value)
            same_structure("fori_loop", "`init_val`", inner.treedef, tree.structure(after))
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
            apart(None, "xs"),
            length,
            False,
            _factor("fori_loop", unroll or 1, length),
        )
        return value


def _factor(name: str, unroll: int | bool, length: int, option: str = "unroll") -> int:
    """How many of `length` steps one iteration takes."""
    if unroll is True:
        return max(length, 1)
    if not hasattr(unroll, "__index__"):
        kind = type(unroll).__name__
        raise DTypeError(f"{name}: `{option}` must be an integer, got {unroll!r} ({kind})")
    found = operator.index(unroll)
    if found < 0:
        raise ArgumentError(f"{name}: `{option}` must not be negative, got {unroll}")
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


@in_view
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

    init: pytree, whose structure, shapes and dtypes stay the same; xs: pytree of arrays (n, ...)
    with equal first axes, or None with a `length`; -> the carry, and ys (n, ...); reverse: from the
    last x to the first, each y at the place of its x; unroll: steps of f in one iteration of the
    loop that runs, True for no loop at all (the results are the same).

    raises DTypeError: a carried value, which is named, changes its dtype, or a `length` or `unroll`
    is no integer, or `f` no function; ShapeError: it changes its shape, or the numbers of steps
    differ; TraceError: it changes its structure, or `f` gives no pair; ArgumentError: `unroll` is
    negative

    JAX: `jax.lax.scan`.

    >>> pyc.scan(lambda total, x: (total + x, total), 0, np.arange(4))
    (np.int64(6), array([0, 0, 1, 3]))
    """
    with Placed():
        needs_function("scan", "f", f)
        stepped = apart(xs, "xs")
        size = _scan_length(stepped, length)
        factor = _factor("scan", unroll, size)
        return _scan("scan", f, apart(init, "init"), stepped, size, bool(reverse), factor)


def _scan_length(xs: Tree, length: int | None) -> int:
    sizes: dict[str, int] = {}
    if length is not None:
        if not hasattr(length, "__index__"):
            raise DTypeError(f"scan: `length` must be an integer, got {length!r}")
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
    init: Tree,
    xs: Tree,
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


@in_view
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """f(x) for each slice x of `xs` along its first axis, stacked along a new first axis.

    xs: pytree of arrays with equal first axes; batch_size: slices in one iteration of the loop
    that runs, which are mapped over as by `vmap`; what is left over comes last.
    raises DTypeError: `f` is no function; ShapeError: the first axes differ, or there is none
    """
    with Placed():
        needs_function("map", "f", f)
        stepped = apart(xs, "xs")
        size = _scan_length(stepped, None)
        batch = 1 if batch_size is None else _factor("map", batch_size, size, "batch_size")
        if batch > 1 and size > 1:
            return _mapped(f, stepped, size, min(batch, size))
        _, ys = _scan(
            "map", lambda _, x: (None, f(x)), apart(None, "init"), stepped, size, False, 1
        )
        return ys


def _mapped(f: Callable[[Any], Any], xs: Tree, size: int, batch: int) -> Any:
    """The slices in blocks of `batch`, one block in each iteration, and what is left over."""
    lanes = Mapped(f, 0, 0, None)
    count, left = divmod(size, batch)
    whole = [current().lift(x) for x in xs.leaves]
    parts = []
    if count == 1:
        parts.append(lanes(xs.treedef.unflatten([x[:batch] for x in whole])))
    else:
        shapes = [(count, batch, *type_of(x).shape[1:]) for x in whole]
        blocks = [
            pnp.reshape(x[: count * batch], shape) for x, shape in zip(whole, shapes, strict=True)
        ]
        stepped = Tree(blocks, xs.treedef, xs.names, xs.root)
        _, ys = _scan(
            "map", lambda _, x: (None, lanes(x)), apart(None, "init"), stepped, count, False, 1
        )
        parts.append(tree.map(lambda y: pnp.reshape(y, (size - left, *type_of(y).shape[2:])), ys))
    if left:
        parts.append(lanes(xs.treedef.unflatten([x[size - left :] for x in whole])))
    return parts[0] if len(parts) == 1 else tree.map(lambda *ys: pnp.concat(ys), *parts)


__all__ = ["fori_loop", "map", "scan", "while_loop"]
