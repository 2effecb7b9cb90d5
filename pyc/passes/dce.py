"""Dead code: equations whose results nobody needs are dropped, those with an effect kept."""

from __future__ import annotations

from pyc.ir.graph import Eqn, Graph, Value


def dce(graph: Graph) -> Graph:
    """The Graph without equations that neither a result nor an effect needs."""
    needed: set[Value] = set(graph.results)
    kept: list[Eqn] = []
    for e in reversed(graph.eqns):
        if e.op.effect or any(o in needed for o in e.outs):
            kept.append(e)
            needed.update(e.args)
    if len(kept) == len(graph.eqns):
        return graph
    return Graph(graph.params, tuple(reversed(kept)), graph.results)
