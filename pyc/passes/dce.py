"""Dead code: equations whose results nobody needs are dropped, those with an effect kept; so is
what a loop carries for nobody."""

from __future__ import annotations

from pyc.ir.graph import Eqn, Graph, Value, has_effect
from pyc.passes.carries import trimmed


def dce(graph: Graph) -> Graph:
    """The Graph without equations that neither a result nor an effect needs."""
    needed: set[Value] = set(graph.results)
    kept: list[Eqn] = []
    for e in reversed(graph.eqns):
        if has_effect(e) or any(o in needed for o in e.outs):
            if e.op.name in ("while", "scan"):
                e = trimmed(e, needed, dce)
            kept.append(e)
            needed.update(e.args)
    kept.reverse()
    if kept == list(graph.eqns):
        return graph
    return Graph(graph.params, tuple(kept), graph.results)
