"""The verifier of Graphs: passes run it between each other in debug mode, tests always.

Takes a Graph, returns nothing, or raises `VerificationError` with the equation at fault and the
whole text. Checked, sub-graphs included:

* every value is defined once, above its uses, in its own graph (graphs are closed);
* every op is the one that the table has under its name;
* every result has the type that the op's rule gives for the arguments and parameters;
* parameters are of the kinds that equations may hold, and arrays among them are frozen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.errors import PycError, VerificationError
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.graph import Eqn, Graph, Value
from pyc.ir.op import OPS
from pyc.ir.text_graph import print_equation, print_graph
from pyc.ir.types import ArrayType


def verify_graph(graph: Graph) -> None:
    """Returns if `graph` keeps every invariant of its level; VerificationError says which fails."""
    _verify(graph, graph)


def _verify(graph: Graph, whole: Graph) -> None:
    defined: set[Value] = set()

    def define(value: Value, eqn: Eqn | None) -> None:
        if value in defined:
            raise _broken("a value is defined twice", graph, eqn, whole)
        if any(type(d) is not int or d < 0 for d in value.shape):
            raise _broken(f"{value.type} is no shape", graph, eqn, whole)
        defined.add(value)

    for param in graph.params:
        define(param, None)
    for eqn in graph.eqns:
        if any(a not in defined for a in eqn.args):
            raise _broken("an argument is not defined above", graph, eqn, whole)
        if OPS.get(eqn.op.name) is not eqn.op:
            raise _broken(f"the op table has no such {eqn.op.name}", graph, eqn, whole)
        for name in eqn.params:
            problem = _problem(eqn.params[name], whole)
            if problem:
                raise _broken(f"parameter {name} {problem}", graph, eqn, whole)
        _verify_types(eqn, graph, whole)
        for out in eqn.outs:
            define(out, eqn)
    if any(r not in defined for r in graph.results):
        raise _broken("a result is not defined", graph, None, whole)


def _verify_types(eqn: Eqn, graph: Graph, whole: Graph) -> None:
    """Results have the types of the op's rule."""
    try:
        types = eqn.op.types(tuple(a.type for a in eqn.args), **eqn.params)
    except (PycError, TypeError, ValueError) as error:
        why = error.message if isinstance(error, PycError) else str(error)
        raise _broken(f"the op refuses its arguments: {why}", graph, eqn, whole) from error
    found = tuple(out.type for out in eqn.outs)
    if found != tuple(types):
        wanted = ", ".join(map(str, types)) or "nothing"
        raise _broken(f"the op gives {wanted}", graph, eqn, whole)


def _problem(value: Any, whole: Graph) -> str:
    """What is wrong with a parameter, or nothing."""
    if isinstance(value, Graph):
        _verify(value, whole)
        return ""
    if isinstance(value, tuple):
        return next((p for p in (_problem(v, whole) for v in value) if p), "")
    if isinstance(value, np.ndarray):
        known = dt.of(value.dtype)
        if known is None or value.dtype != known.numpy:
            return f"is an array of dtype {value.dtype}"
        if value.flags.writeable:
            return "is an array that can be written"
        return "" if value.flags.c_contiguous else "is an array not in C order"
    if value is None or isinstance(value, (DType, ArrayType)):
        return ""
    # Exact types: subclasses (NumPy scalars, enums) print and compare in ways of their own.
    return "" if type(value) in (bool, int, float, str) else f"is a {type(value).__name__}"


def _broken(what: str, graph: Graph, eqn: Eqn | None, whole: Graph) -> VerificationError:
    """The error about an equation of `graph`, which is `whole` or inside it."""
    return VerificationError(lambda: _message(what, graph, eqn, whole))


def _message(what: str, graph: Graph, eqn: Eqn | None, whole: Graph) -> str:
    try:
        place = f" at `{print_equation(graph, eqn)}`" if eqn is not None else ""
        text = print_graph(whole)
    except TypeError as error:  # the parameter that is wrong cannot be printed either
        return f"invalid graph: {what} ({error})"
    return f"invalid graph: {what}{place}\n{text.rstrip()}"
