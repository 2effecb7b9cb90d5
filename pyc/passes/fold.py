"""Constant folding by the Graph interpreter, which has the bits of every target.

An equation over constants becomes a constant when its result is one element, or when it computes
(not merely moves) at most `LIMIT` elements: a broadcast scalar stays a broadcast, which costs
nothing in a kernel. Equations that can fail stay where they are: they may never run. So do
products, whose bits the interpreter does not fix: theirs hold within a bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.ir.evaluate import evaluate_eqn
from pyc.ir.graph import Builder, Eqn, Graph, Rewriter, Value
from pyc.ir.op import Kind

LIMIT = 4096
"""Elements of the largest array computed while compiling."""


def fold(graph: Graph) -> Graph:
    """The Graph with constant equations evaluated."""
    known: dict[Value, np.ndarray[Any, Any]] = {}

    def rule(builder: Builder, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if eqn.op.name == "constant":
            out = builder.keep(eqn, args)
            known[out[0]] = eqn.params["value"]
            return out
        if not args or any(a not in known for a in args) or not _foldable(eqn):
            return None
        values = evaluate_eqn(eqn, [known[a] for a in args])
        outs = tuple(builder.constant(v) for v in values)
        known.update(zip(outs, values, strict=True))
        return outs

    return Rewriter(rule)(graph)


def _foldable(eqn: Eqn) -> bool:
    op, size = eqn.op, max(o.type.size for o in eqn.outs)
    if op.effect or op.fails is not None or op.kind in (Kind.CONTRACT, Kind.CONTROL, Kind.LIBRARY):
        return False
    if size == 1:
        return True
    computes = op.kind in (Kind.POINTWISE, Kind.REDUCE)
    return computes and 0 < size <= LIMIT and any(a.type.size > 1 for a in eqn.args)
