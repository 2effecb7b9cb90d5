"""Branches by functions: `cond`, `switch`.

Takes Python functions over pytrees, traces each into a closed Graph (what it uses of its
surroundings becomes a capture), and binds the `cond` of `ir/ops/control.py`. Under `jit` it is
recorded; outside of it the base interpreter compiles and runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.errors import ArgumentError, DTypeError, ShapeError, TraceError
from pyc.frozen import replace
from pyc.interpreter import WEAK, bind, bind1, current, type_of, weak_type
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.trace.capture import tracing
from pyc.trace.operand_trees import WIDTH, Placed, apart, in_view, leaf_input, lifted
from pyc.trace.trace import Trace
from pyc.trace.tracer import Tracer
from pyc.wrong_arguments import needs_function


@in_view
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """branches[index](*operands), `index` clamped to the branches there are.

    index: an integer of shape (); operands: trees of arrays and numbers; branches: functions whose
    results have equal structures, shapes and dtypes (Python numbers take the dtype of the others).

    raises DTypeError: results of other dtypes, no numbers, an index that is no integer, or a branch
    that is no function; ShapeError: results of other shapes; TraceError: results of other
    structures; ArgumentError: no branch

    JAX: `jax.lax.switch`.

    >>> pyc.switch(1, [np.sin, np.abs], np.array([-1.0, 2.0]))
    array([1., 2.])
    """
    with Placed():
        if not hasattr(branches, "__iter__"):
            raise DTypeError(
                "switch: `branches` is a sequence of functions, got one thing",
                fix="Write `switch(index, [f, g], x)`.",
            )
        branches = tuple(branches)
        for k, branch in enumerate(branches):
            needs_function("switch", f"branches[{k}]", branch)
        if not branches:
            raise ArgumentError("switch: needs at least one branch")
        type = type_of(index)
        if type.shape != () or not type.dtype.is_integer:
            raise DTypeError(f"switch: the index must be an integer scalar, it is {type}")
        if type.dtype is dt.u64:  # beyond the integers of the op
            index = pnp.minimum(index, len(branches) - 1)
        names = [f"branch {k}" for k in range(len(branches))]
        return _branch("switch", index, branches, names, operands)


@in_view
def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """true_fun(*operands) if `pred` else false_fun(*operands); only one of them is computed.

    pred: a number, of shape (), true if it is not 0; operands: trees of arrays and numbers; the
    results have equal structures, shapes and dtypes (Python numbers take the dtype of the other
    branch).

    raises DTypeError: results of other dtypes, no numbers, or a branch that is no function;
    ShapeError: results of other shapes, or a `pred` that is no scalar; TraceError: results of other
    structures

    JAX: `jax.lax.cond`.

    >>> pyc.cond(True, lambda x: x + 1, lambda x: x - 1, np.arange(3))
    array([1, 2, 3])
    """
    with Placed():
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
        needs_function("cond", "true_fun", true_fun)
        needs_function("cond", "false_fun", false_fun)
        return _branch("cond", index, (false_fun, true_fun), names, operands)


def _branch(
    what: str,
    index: Any,
    branches: Sequence[Callable[..., Any]],
    names: Sequence[str],
    operands: tuple[Any, ...],
) -> Any:
    interpreter = current()
    given = apart(operands, "operands")
    inputs = [leaf_input(x, name) for x, name in zip(given.leaves, given.names, strict=True)]
    traces, outs = [], []
    for function in branches:
        trace = Trace(interpreter)
        with tracing(trace):
            taken = trace.add_inputs(inputs)
            out = apart(function(*given.treedef.unflatten(taken)), "result")
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


__all__ = ["cond", "switch"]
