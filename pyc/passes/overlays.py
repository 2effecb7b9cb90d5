"""Overlays: updates that are better made as a new array than in the one that they replace.

An update runs in its operand's memory. Where its new elements need the operand at other places, as
those of a stencil do, they would have to be stored first and then moved; and where the operand is
one number everywhere, it would have to be filled first. If most of it is replaced, one pass that
stores either the new element or the old one is quicker. In a loop the two arrays then take turns.
"""

from __future__ import annotations

from pyc.ir.graph import Builder, Eqn, Graph, Rewriter, Value
from pyc.passes.reads import Walker
from pyc.passes.stored import choose_stored


def overlay_updates(graph: Graph) -> Graph:
    """The Graph with such updates as `overlay`; itself if there is none."""
    large = [e for e in graph.eqns if _replaces_most(e)]
    if not large:
        return graph
    walker = Walker(graph)
    chosen = {e for e in large if _is_filled(walker, e.args[0])}
    if len(chosen) < len(large):
        chosen |= choose_stored(graph, walker, in_scatters=True).shifted.intersection(large)
    if not chosen:
        return graph

    def rule(builder: Builder, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if eqn not in chosen:
            return None
        return builder.bind("overlay", *args, loc=eqn.loc, **eqn.params)

    return Rewriter(rule)(graph)


def _replaces_most(eqn: Eqn) -> bool:
    """Whether an update replaces more than half of its operand, at places that are known."""
    if eqn.op.name != "update_slice" or None in eqn.params["starts"]:
        return False
    operand, update = eqn.args
    whole = all(s == 1 for s in eqn.params["strides"])
    return whole and 2 * update.type.size > operand.type.size


def _is_filled(walker: Walker, value: Value) -> bool:
    """Whether a value is one number everywhere, which takes no memory."""
    eqn = walker.producer.get(value)
    return eqn is not None and eqn.op.name == "broadcast" and eqn.args[0] in walker.scalars
