"""The full text of what the type rules of ops refuse.

Public functions check what they are given before they bind an op; these are the texts for who
builds Graphs, or adds an op. Each is made with a Graph's builder, so there is no line of a user's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyc.errors import PycError
from pyc.ir import dtype as dt
from pyc.ir.graph import Builder, Graph, Value
from pyc.ir.ops.control import check_closed
from pyc.ir.types import ArrayType, parse_type


class Given:
    """A builder with parameters that are made as they are asked for: `g("f64[3]")`."""

    def __init__(self) -> None:
        self.builder = Builder()

    def __call__(self, type: str) -> Value:
        return self.builder.param(parse_type(type))

    def bind(self, op: str, *args: str, **params: Any) -> Any:
        return self.builder.bind(op, *map(self, args), **params)


def graph(results: tuple[str, ...], *params: str) -> Graph:
    """A Graph that takes `params` and gives zeros of types `results`."""
    builder = Builder()
    for type in params:
        builder.param(parse_type(type))
    types: list[ArrayType] = [parse_type(r) for r in results]
    return builder.build([builder.constant(np.zeros(t.shape, t.dtype.numpy)) for t in types])


def open_graph(inside: bool) -> Graph:
    """A Graph that uses a value of another: in an equation, or as a result."""
    builder = Builder()
    x = builder.param(parse_type("f64[]"))
    out = builder.bind1("neg", x)
    return Graph((), tuple(builder.eqns), (out,)) if inside else Graph((), (), (x,))


def twice() -> Graph:
    """A Graph with one parameter in two places."""
    x = Builder().param(parse_type("f64[]"))
    return Graph((x, x), (), (x,))


NUMBER = graph(("f64[]",), "f64[]")
TRANSFORM: dict[str, Any] = {"inverse": False, "scale": 1.0, "real": ""}
INDEXED: dict[str, Any] = {"axes": (0,), "position": 0}

REFUSED: dict[str, Callable[[Given], Any]] = {
    "two types": lambda g: g.bind("add", "f64[3]", "i64[3]"),
    "two shapes": lambda g: g.bind("add", "f64[3]", "f64[4]"),
    "dot_general: types": lambda g: g.bind(
        "dot_general", "f64[3]", "f32[3]", dimensions=(((0,), (0,)), ((), ()))
    ),
    "dot_general: result": lambda g: g.bind(
        "dot_general", "f64[3]", "f64[3]", dimensions=(((0,), (0,)), ((), ())), result=dt.f32
    ),
    "dot_general: axes": lambda g: g.bind(
        "dot_general", "f64[3]", "f64[3]", dimensions=(((1,), (0,)), ((), ()))
    ),
    "dot_general: pairs": lambda g: g.bind(
        "dot_general", "f64[3]", "f64[3]", dimensions=(((0,), ()), ((), ()))
    ),
    "dot_general: sizes": lambda g: g.bind(
        "dot_general", "f64[3]", "f64[4]", dimensions=(((0,), (0,)), ((), ()))
    ),
    "cond: parameter twice": lambda g: g.bind("cond", "i64[]", branches=(twice(),)),
    "cond: open equation": lambda g: check_closed("a branch", open_graph(True)),
    "cond: open result": lambda g: check_closed("a branch", open_graph(False)),
    "cond: arguments": lambda g: g.bind("cond", "i64[]", "f32[]", branches=(NUMBER,)),
    "cond: no branch": lambda g: g.bind("cond", "i64[]", branches=()),
    "cond: index": lambda g: g.bind("cond", "f64[]", branches=(graph(()),)),
    "cond: results": lambda g: g.bind(
        "cond", "i64[]", branches=(graph(("f64[]",)), graph(("i64[]",)))
    ),
    "while: captures": lambda g: g.bind(
        "while", "f64[]", condition=NUMBER, body=NUMBER, condition_captures=2, body_captures=0
    ),
    "while: condition": lambda g: g.bind(
        "while", "f64[]", condition=NUMBER, body=NUMBER, condition_captures=0, body_captures=0
    ),
    "while: body": lambda g: g.bind(
        "while",
        "f64[]",
        condition=graph(("b1[]",), "f64[]"),
        body=graph(("f32[]",), "f64[]"),
        condition_captures=0,
        body_captures=0,
    ),
    "scan: arguments": lambda g: g.bind(
        "scan", "f64[]", body=NUMBER, length=3, captures=0, carries=2, reverse=False
    ),
    "scan: steps": lambda g: g.bind(
        "scan", "f64[]", "f64[4]", body=NUMBER, length=3, captures=0, carries=1, reverse=False
    ),
    "scan: body": lambda g: g.bind(
        "scan",
        "f64[]",
        body=graph(("f32[]",), "f64[]"),
        length=3,
        captures=0,
        carries=1,
        reverse=False,
    ),
    "cumsum: number": lambda g: g.bind("cumsum", "f64[]"),
    "cumsum: axis": lambda g: g.bind("cumsum", "f64[3]", axis=1, reverse=False),
    "cumsum: bools": lambda g: g.bind("cumsum", "b1[3]"),
    "select": lambda g: g.bind("select", "f64[]", "f64[]", "f64[]"),
    "cast": lambda g: g.bind("cast", "c128[]", dtype=dt.f64),
    "bitcast": lambda g: g.bind("bitcast", "f64[]", dtype=dt.i32),
    "host_call": lambda g: g.bind("host_call", number=0, shapes=((3,),), dtypes=()),
    "narrow": lambda g: g.bind("narrow", "f64[]", dtype=dt.i32),
    "check": lambda g: g.bind("check", "b1[3]", "i64[]", error="ValueError: late"),
    "complex": lambda g: g.bind("complex", "f16[]", "f16[]"),
    "require": lambda g: g.bind("require", "f64[3]", "b1[]", name="x"),
    "gather: indices": lambda g: g.bind("gather", "f64[3]", **INDEXED),
    "gather: axes": lambda g: g.bind("gather", "f64[3]", "i64[]", axes=(1,), position=0),
    "gather: types": lambda g: g.bind("gather", "f64[3]", "i32[]", **INDEXED),
    "gather: position": lambda g: g.bind("gather", "f64[3]", "i64[]", axes=(0,), position=1),
    "gather: nothing": lambda g: g.bind("gather", "f64[0]", "i64[]", **INDEXED),
    "dynamic_slice: starts": lambda g: g.bind("dynamic_slice", "f64[3]", starts=(), sizes=(1,)),
    "dynamic_slice: types": lambda g: g.bind(
        "dynamic_slice", "f64[3]", "i32[]", starts=(None,), sizes=(1,)
    ),
    "dynamic_slice: sizes": lambda g: g.bind("dynamic_slice", "f64[3]", starts=(0,), sizes=(4,)),
    "update_slice: types": lambda g: g.bind(
        "update_slice", "f64[3]", "f32[1]", starts=(0,), strides=(1,)
    ),
    "update_slice: strides": lambda g: g.bind(
        "update_slice", "f64[3]", "f64[1]", starts=(0,), strides=(0,)
    ),
    "update_slice: size": lambda g: g.bind(
        "update_slice", "f64[3]", "f64[4]", starts=(0,), strides=(1,)
    ),
    "searchsorted: rank": lambda g: g.bind("searchsorted", "f64[3,3]", "f64[]", right=False),
    "searchsorted: types": lambda g: g.bind("searchsorted", "f64[3]", "f32[]", right=False),
    "scatter: mode": lambda g: g.bind("scatter", "f64[3]", "f64[]", "i64[]", mode="or", **INDEXED),
    "scatter: types": lambda g: g.bind(
        "scatter", "f64[3]", "f32[]", "i64[]", mode="add", **INDEXED
    ),
    "scatter: kind": lambda g: g.bind("scatter", "b1[3]", "b1[]", "i64[]", mode="add", **INDEXED),
    "scatter: update": lambda g: g.bind(
        "scatter", "f64[3]", "f64[2]", "i64[]", mode="add", **INDEXED
    ),
    "reduce_sum: bools": lambda g: g.bind("reduce_sum", "b1[3]", axes=(0,)),
    "reduce_sum: axes": lambda g: g.bind("reduce_sum", "f64[3]", axes=(1,)),
    "reduce_max: nothing": lambda g: g.bind("reduce_max", "f64[0]", axes=(0,)),
    "constant": lambda g: g.builder.bind("constant", value=np.array(["text"])),
    "iota": lambda g: g.bind("iota", shape=(3,), axis=1, dtype=dt.i64),
    "broadcast": lambda g: g.bind("broadcast", "f64[3]", shape=(4,)),
    "transpose": lambda g: g.bind("transpose", "f64[3,4]", axes=(0, 0)),
    "reshape": lambda g: g.bind("reshape", "f64[3]", shape=(2, 2)),
    "view_as_real": lambda g: g.bind("view_as_real", "f64[3]"),
    "slice: axes": lambda g: g.bind("slice", "f64[3]", start=(), size=(), step=()),
    "slice: bounds": lambda g: g.bind("slice", "f64[3]", start=(1,), size=(3,), step=(1,)),
    "concatenate: axis": lambda g: g.bind("concatenate", "f64[3]", axis=1),
    "concatenate: types": lambda g: g.bind("concatenate", "f64[3]", "f32[3]", axis=0),
    "concatenate: shapes": lambda g: g.bind("concatenate", "f64[3,2]", "f64[3,3]", axis=0),
    "pad: value": lambda g: g.bind("pad", "f64[3]", "f32[]", low=(1,), high=(1,)),
    "pad: widths": lambda g: g.bind("pad", "f64[3]", "f64[]", low=(-1,), high=(1,)),
    "sort: number": lambda g: g.bind("sort", "f64[]", descending=False),
    "sort: complex numbers": lambda g: g.bind("sort", "c128[3]", descending=False),
    "lu: line": lambda g: g.bind("lu", "f64[3]"),
    "lu: half floats": lambda g: g.bind("lu", "f16[3,3]"),
    "cholesky: oblong": lambda g: g.bind("cholesky", "f64[3,4]", upper=False),
    "lu_solve: batches": lambda g: g.bind("lu_solve", "f64[2,3,3]", "i32[2,3]", "f64[1,3]"),
    "lu_solve: pivots": lambda g: g.bind("lu_solve", "f64[3,3]", "i64[3]", "f64[1,3]"),
    "lu_solve: lengths": lambda g: g.bind("lu_solve", "f64[3,3]", "i32[3]", "f64[1,4]"),
    "qr_columns: taus": lambda g: g.bind("qr_columns", "f64[3,4]", "f64[4]", columns=3),
    "qr_columns: columns": lambda g: g.bind("qr_columns", "f64[3,4]", "f64[3]", columns=5),
    "least_squares": lambda g: g.bind("least_squares", "f64[3,4]", "f64[1,3]", "f64[]"),
    "triangular_solve": lambda g: g.bind(
        "triangular_solve", "f64[3,3]", "f64[1,4]", upper=True, transposed=False, unit=False
    ),
    "top_k": lambda g: g.bind("top_k", "f64[3]", k=4, descending=True),
    "order_statistics": lambda g: g.bind(
        "order_statistics", "f64[3]", places=(0, 3), descending=True
    ),
    "fft: axis": lambda g: g.bind("fft", "c128[8]", axis=1, **TRANSFORM),
    "fft: odd pairs": lambda g: g.bind("fft", "f64[7]", axis=0, **{**TRANSFORM, "real": "in"}),
    "fft: pairs of integers": lambda g: g.bind(
        "fft", "i64[8]", axis=0, **{**TRANSFORM, "real": "in"}
    ),
    "fft: real numbers": lambda g: g.bind("fft", "f64[8]", axis=0, **TRANSFORM),
    "fft: length": lambda g: g.bind("fft", "c64[17]", axis=0, **TRANSFORM),
    "fft: long pairs": lambda g: g.bind(
        "fft", "c64[8192,2]", axis=0, **{**TRANSFORM, "real": "out"}
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_rule_refuses(name: str, golden: Any) -> None:
    with pytest.raises(PycError) as found:
        REFUSED[name](Given())
    golden(f"{type(found.value).__name__}: {found.value}")
