"""What programs are made of: `op:type:construct`, counted over the equations that results need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pyc.ir.graph import Eqn, Graph, Value, subgraphs

OF_PASSES = ("overlay",)
"""Ops that no program is drawn with: passes make them of what is drawn."""


def live(eqns: Iterable[Eqn], results: Iterable[Value]) -> list[Eqn]:
    """The equations that results need, in their order."""
    needed, found = set(results), []
    for eqn in reversed(list(eqns)):
        if not needed.isdisjoint(eqn.outs):
            needed.update(eqn.args)
            found.append(eqn)
    return found[::-1]


def equations(eqns: Iterable[Eqn]) -> int:
    """How many there are, in bodies too."""
    return sum(1 + sum(equations(g.eqns) for g in subgraphs(e)) for e in eqns)


def coverage(graph: Graph, construct: str = "straight") -> Counter[str]:
    """`op:type:construct` of each equation that results need, the type being that of its first
    operand, the construct the op whose body it stands in."""
    found: Counter[str] = Counter()
    for eqn in live(graph.eqns, graph.results):
        type = (*eqn.args, *eqn.outs)[0].dtype
        found[f"{eqn.op.name}:{type}:{construct}"] += 1
        for body in subgraphs(eqn):
            found.update(coverage(body, eqn.op.name))
    return found


def coverage_of_passes(optimised: Graph) -> Counter[str]:
    """The same of a Graph after the passes, but only of ops that nothing else makes."""
    found = coverage(optimised)
    return Counter({k: n for k, n in found.items() if k.split(":")[0] in OF_PASSES})
