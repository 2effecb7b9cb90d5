"""Random graphs for property tests: straight-line programs over the op table, with sub-graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from pyc.errors import PycError
from pyc.ir import dtype as dt
from pyc.ir import ops
from pyc.ir.graph import Builder, Graph, Value
from pyc.ir.types import ArrayType

TYPES = (dt.f32, dt.f64, dt.i32, dt.u8, dt.b1, dt.bf16, dt.c64)
UNARY = ("neg", "abs", "square", "sqrt", "floor", "isnan", "logical_not", "bitwise_not", "real")
BINARY = (
    "add",
    "sub",
    "mul",
    "div",
    "minimum",
    "lt",
    "eq",
    "logical_and",
    "shift_left",
    "copysign",
)
REDUCTIONS = ("reduce_sum", "reduce_max", "reduce_any", "argmax")

assert ops.__all__, "importing the op families fills the table"


@st.composite
def graphs(draw: Any, equations: int = 12) -> Graph:
    """A valid graph over small arrays."""
    builder = Builder()
    values = [
        builder.param(
            ArrayType(
                tuple(draw(st.lists(st.integers(0, 3), max_size=2))), draw(st.sampled_from(TYPES))
            )
        )
        for _ in range(draw(st.integers(0, 3)))
    ]
    values.append(builder.constant(draw(constants())))
    for _ in range(draw(st.integers(0, equations))):
        try:
            values += _bind(draw, builder, values)
        except (PycError, TypeError, ValueError):
            continue  # the op refuses these types: another draw
    return builder.build(draw(st.lists(st.sampled_from(values), max_size=3)))


@st.composite
def constants(draw: Any) -> np.ndarray[Any, Any]:
    """Arrays of every type, with awkward elements and every bit pattern possible."""
    dtype = draw(st.sampled_from(dt.ALL))
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=2)))
    size = int(np.prod(shape, dtype=int))
    if draw(st.booleans()):
        content = draw(st.binary(min_size=dtype.itemsize, max_size=dtype.itemsize)) * size
    else:
        content = draw(st.binary(min_size=size * dtype.itemsize, max_size=size * dtype.itemsize))
    if dtype is dt.b1:
        content = bytes(b & 1 for b in content)
    return np.frombuffer(content, dtype.numpy).reshape(shape)


def _bind(draw: Any, builder: Builder, values: list[Value]) -> tuple[Value, ...]:
    x, y = draw(st.sampled_from(values)), draw(st.sampled_from(values))
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return builder.bind(draw(st.sampled_from(UNARY)), x)
    if kind == 1:
        return builder.bind(draw(st.sampled_from(BINARY)), x, y)
    if kind == 2:
        return builder.bind("cast", x, dtype=draw(st.sampled_from(TYPES)))
    if kind == 3:
        axes = tuple(range(draw(st.integers(0, len(x.shape)))))
        return builder.bind(draw(st.sampled_from(REDUCTIONS)), x, axes=axes)
    if kind == 4:
        return builder.bind("transpose", x, axes=tuple(reversed(range(len(x.shape)))))
    if kind == 5:
        return builder.bind("iota", shape=(2, 3), axis=1, dtype=draw(st.sampled_from(TYPES)))
    if kind == 6:
        return builder.bind("broadcast", x, shape=(2, *x.shape))
    if kind == 7:
        index = builder.constant(draw(st.integers(-1, 2)), dt.i64)
        branches = tuple(_inner(draw, (x.type, y.type)) for _ in range(draw(st.integers(1, 3))))
        return builder.bind("cond", index, x, y, branches=branches)
    if kind == 8:
        condition = Builder()
        condition.param(x.type)
        never = condition.build([condition.constant(False)])
        body = _inner(draw, (x.type,))
        captures = {"condition_captures": 0, "body_captures": 0}
        return builder.bind("while", x, condition=never, body=body, **captures)
    if not y.shape:
        return ()
    slices = ArrayType(y.shape[1:], y.dtype)
    body = _inner(draw, (x.type, slices))
    return builder.bind(
        "scan",
        x,
        y,
        body=body,
        length=y.shape[0],
        captures=0,
        carries=1,
        reverse=draw(st.booleans()),
    )


def _inner(draw: Any, types: tuple[ArrayType, ...]) -> Graph:
    """A closed graph from values of `types` to values of the same types."""
    builder = Builder()
    params = [builder.param(t) for t in types]
    results = []
    for x in params:
        try:
            results.append(builder.bind1(draw(st.sampled_from(("neg", "logical_not", "add"))), x))
        except (PycError, TypeError, ValueError):
            results.append(builder.bind1("select", builder.bind1("eq", x, x), x, x))
    return builder.build(results)
