"""Which traced arrays share memory: views, as NumPy makes them, over values that never change.

A Graph has values only. An array that the function may change is a `Tracer` whose value is replaced
at each change; a view is a tracer with a `base` and a `Step` that gives its value from the base's.
Reading a view whose base has changed does the step again; writing to it changes the base by the
step's inverse, so that writes go through in both directions, over views of views.

Most steps are views for certain. Where NumPy's answer depends on the layout of memory (`reshape`),
the layout is followed from where the array was made; if it is not known, or the step has no inverse
here, using both sides after a change is an error that asks for a copy, never a guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyc.frozen import frozen
from pyc.interpreter import bind1
from pyc.ir.graph import Builder, Value
from pyc.ir.op import Kind, Op

Strides = tuple[int, ...]


@frozen()
class Step:
    """How a view comes from its base. op: None if it cannot be done again; operands: what the op
    takes after the base, as values of the trace of `owner`; params: its parameters."""

    op: Op | None
    params: dict[str, Any]
    operands: tuple[Any, ...] = ()


# --- steps that make views ------------------------------------------------------------------------


def _unslice(base: Any, new: Any, step: Step) -> Any:
    starts, sizes, steps = (step.params[k] for k in ("start", "size", "step"))
    if 0 in sizes:
        return base
    backwards = [k for k, s in enumerate(steps) if s < 0]
    if backwards:
        shape = new.shape
        turned = {
            "start": tuple(n - 1 if k in backwards else 0 for k, n in enumerate(shape)),
            "size": shape,
            "step": tuple(-1 if k in backwards else 1 for k in range(len(shape))),
        }
        new = bind1("slice", new, **turned)
    low = tuple(
        start + (size - 1) * by if by < 0 else start
        for start, size, by in zip(starts, sizes, steps, strict=True)
    )
    return bind1("update_slice", base, new, starts=low, strides=tuple(map(abs, steps)))


def _untranspose(base: Any, new: Any, step: Step) -> Any:
    axes = step.params["axes"]
    return bind1("transpose", new, axes=tuple(axes.index(k) for k in range(len(axes))))


def _unreshape(base: Any, new: Any, step: Step) -> Any:
    return bind1("reshape", new, shape=base.shape)


def _ungather(base: Any, new: Any, step: Step) -> Any:
    kept = {k: step.params[k] for k in ("axes", "position")}
    return bind1("scatter", base, new, *step.operands, mode="set", **kept)


def _unreal(base: Any, new: Any, step: Step) -> Any:
    return bind1("complex", new, bind1("imag", base))


def _unimag(base: Any, new: Any, step: Step) -> Any:
    return bind1("complex", bind1("real", base), new)


INVERSES: dict[str, Callable[[Any, Any, Step], Any]] = {
    "slice": _unslice,
    "transpose": _untranspose,
    "reshape": _unreshape,
    "gather": _ungather,
    "real": _unreal,
    "imag": _unimag,
}
"""By op: (base, new value of the view, step) -> new value of the base. Broadcast views are not
here: NumPy makes them read-only."""

VIEWS = frozenset((*INVERSES, "broadcast"))


def makes_view(op: Op, args: Sequence[Any]) -> bool:
    """Whether the result of `op` is a view of its first argument in NumPy, or may be one."""
    if op.name == "gather":  # basic indexing by integers that are not known; arrays copy
        return all(not index.shape for index in args[1:])
    if op.name in ("real", "imag"):
        return bool(args[0].type.dtype.is_complex)
    return op.name in VIEWS


# --- layouts --------------------------------------------------------------------------------------


def row_major(shape: Sequence[int]) -> Strides:
    """Strides of a dense array, in elements."""
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))


def is_row_major(builder: Builder, value: Value) -> bool:
    """Whether NumPy would make `value` dense in row-major order, as far as the Graph shows: what is
    made by ops from constants and counters. Arguments may have any layout."""
    makers = {out: eqn for eqn in builder.eqns for out in eqn.outs}
    todo, seen = [value], set()
    while todo:
        v = todo.pop()
        if v in seen or len(v.shape) <= 1:
            continue
        seen.add(v)
        eqn = makers.get(v)
        if eqn is None:
            return False
        if eqn.op.kind is Kind.POINTWISE:
            todo += [a for a in eqn.args if a.shape == v.shape]
        elif eqn.op.name in ("update_slice", "scatter"):
            todo.append(eqn.args[0])
        elif eqn.op.name not in ("constant", "iota", "broadcast", "dot_general"):
            return False
    return True


def strides_after(step: Step, shape: Sequence[int], strides: Strides) -> Strides | None:
    """Strides of the view that a step makes of an array of these, in elements; None if NumPy
    copies, or the step is not one of layout."""
    model = np.lib.stride_tricks.as_strided(np.empty(1, np.int8), shape, strides)
    name, params = ("" if step.op is None else step.op.name), step.params
    if name == "slice":
        box = zip(params["start"], params["size"], params["step"], strict=True)
        found = model[tuple(slice(s, s + n) if n else slice(0, 0) for s, n, _ in box)]
        return tuple(s * by for s, by in zip(found.strides, params["step"], strict=True))
    if name == "transpose":
        return model.transpose(params["axes"]).strides
    if name == "reshape":
        try:
            return np.reshape(model, params["shape"], copy=False).strides
        except ValueError:
            return None
    return None


def keeps_memory(step: Step, shape: Sequence[int]) -> bool:
    """Whether a step is a view whatever the layout of its base, of this shape: all but a reshape
    that does more than to put in or take out axes of length 1."""
    if step.op is None or step.op.name != "reshape":
        return True
    target = step.params["shape"]
    bare = [n for n in shape if n != 1] == [n for n in target if n != 1]
    return bare or math.prod(shape) <= 1 or len(shape) == 0
