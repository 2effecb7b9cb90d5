"""Structured control flow: `cond`, `while` and `scan`, whose params hold closed Graphs.

    cond   branches: tuple[Graph, ...]
           (index i64, *operands) -> branches[clamped index](*operands)
    while  condition, body: Graph; condition_captures, body_captures: int
           (*condition captures, *body captures, *carries) -> carries
           condition(*condition captures, *carries) -> b1; body(*body captures, *carries) -> carries
    scan   body: Graph; length, captures, carries: int; reverse: bool
           (*captures, *carries, *xs) -> (*carries, *ys)
           body(*captures, *carries, *x) -> (*carries, *y): x is the slice of each of `xs` along its
           first axis, which is `length` long; the ys stack the slices y along a new first axis.
           `reverse` steps from the last slice to the first; y still stands at the place of its x.

What a Graph uses from outside is a capture: it is the same in every iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.errors import DTypeError, ShapeError
from pyc.ir import dtype as dt
from pyc.ir.graph import Graph, Value
from pyc.ir.op import Kind, Op, Types, batch_by, define
from pyc.ir.types import ArrayType


def check_closed(name: str, graph: Graph) -> None:
    """ShapeError unless every value that `graph` uses is a parameter or an earlier result."""
    known: set[Value] = set(graph.params)
    if len(known) != len(graph.params):
        raise ShapeError(f"{name}: a parameter occurs twice")
    for eqn in graph.eqns:
        if not known.issuperset(eqn.args):
            raise ShapeError(f"{name} is not closed: an argument of {eqn.op} is defined outside")
        known.update(eqn.outs)
    if not known.issuperset(graph.results):
        raise ShapeError(f"{name} is not closed: a result is defined outside")


def _listed(types: Sequence[ArrayType]) -> str:
    return "(" + ", ".join(map(str, types)) + ")"


def _check_takes(name: str, graph: Graph, given: Sequence[ArrayType]) -> None:
    taken = tuple(p.type for p in graph.params)
    if taken != tuple(given):
        raise ShapeError(f"{name} takes {_listed(taken)}, is given {_listed(given)}")


def _cond_types(args: Types, *, branches: tuple[Graph, ...]) -> Types:
    if not branches:
        raise ShapeError("cond: needs at least one branch")
    if not args or args[0] != ArrayType((), dt.i64):
        raise DTypeError(f"cond: the index must be i64[], got {args[0] if args else 'nothing'}")
    for k, branch in enumerate(branches):
        check_closed(f"cond: branch {k}", branch)
        _check_takes(f"cond: branch {k}", branch, args[1:])
        if branch.types != branches[0].types:
            raise DTypeError(
                f"cond: branch 0 returns {_listed(branches[0].types)}, "
                f"branch {k} returns {_listed(branch.types)}"
            )
    return branches[0].types


def _while_types(
    args: Types, *, condition: Graph, body: Graph, condition_captures: int, body_captures: int
) -> Types:
    captures = condition_captures + body_captures
    if not (condition_captures >= 0 <= body_captures) or captures > len(args):
        raise ShapeError(f"while: {captures} captures among {len(args)} arguments")
    carries = args[captures:]
    check_closed("while: the condition", condition)
    check_closed("while: the body", body)
    _check_takes("while: the condition", condition, (*args[:condition_captures], *carries))
    _check_takes("while: the body", body, (*args[condition_captures:captures], *carries))
    if condition.types != (ArrayType((), dt.b1),):
        raise DTypeError(f"while: the condition must return b1[], not {_listed(condition.types)}")
    if body.types != carries:
        raise DTypeError(f"while: the body turns {_listed(carries)} into {_listed(body.types)}")
    return carries


def _scan_types(
    args: Types, *, body: Graph, length: int, captures: int, carries: int, reverse: bool
) -> Types:
    if length < 0 or min(captures, carries) < 0 or captures + carries > len(args):
        raise ShapeError(
            f"scan: length {length}, {captures} captures and {carries} carries "
            f"among {len(args)} arguments"
        )
    carried, xs = args[captures : captures + carries], args[captures + carries :]
    for x in xs:
        if x.shape[:1] != (length,):
            raise ShapeError(f"scan: {x} has no first axis of length {length}")
    slices = tuple(ArrayType(x.shape[1:], x.dtype) for x in xs)
    check_closed("scan: the body", body)
    _check_takes("scan: the body", body, (*args[:captures], *carried, *slices))
    if body.types[:carries] != carried:
        raise DTypeError(
            f"scan: the body turns {_listed(carried)} into {_listed(body.types[:carries])}"
        )
    stacked = (ArrayType((length, *y.shape), y.dtype) for y in body.types[carries:])
    return (*carried, *stacked)


define(Op("cond", Kind.CONTROL, _cond_types, batch=batch_by("control_batches", "cond")))
define(Op("while", Kind.CONTROL, _while_types, batch=batch_by("control_batches", "while_loop")))
define(Op("scan", Kind.CONTROL, _scan_types, batch=batch_by("control_batches", "scan")))
