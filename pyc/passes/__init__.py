"""The passes, in order, and the one function that runs those on Graphs.

    Graph          fold -> simplify -> spell_axes -> dce -> drop_checks ->
                   drop_initial_values -> overlay_updates -> hoist_breaks -> expand_scans, and again
                   where that changed something; with `fastmath` relax after spell_axes
    Graph -> Plan  memory: fuse, then per group lower (with index) and schedule, then offsets

Each Graph pass takes a valid Graph and returns an equal one, bit for bit but for `relax`;
`optimise` runs them on nested Graphs first, so a pass sees bodies that are done. With PYC_DEBUG the
verifier runs after each, and every pass is timed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pyc.forks import later
from pyc.ir.graph import Builder, Eqn, Graph, Rewriter, Value
from pyc.ir.op import Kind
from pyc.ir.verify_graph import verify_graph
from pyc.passes.breaks import hoist_breaks
from pyc.passes.counted_places import drop_checks
from pyc.passes.dce import dce
from pyc.passes.fold import fold
from pyc.passes.initial_values import drop_initial_values
from pyc.passes.loops import expand_scans
from pyc.passes.overlays import overlay_updates
from pyc.passes.simplify import simplify
from pyc.passes.spelled_axes import spell_axes

if TYPE_CHECKING:
    from pyc.passes.relax import Told

# Not `relax`: the module takes that name here once it is loaded.
_relax = later("pyc.passes.relax", "relax")

GRAPH_PASSES: tuple[tuple[str, Callable[[Graph], Graph], str], ...] = (
    ("fold", fold, "constants first, so that rules see them"),
    ("simplify", simplify, "before fusion, which charges for every equation"),
    ("spell_axes", spell_axes, "sums of few elements may be products and sums for relax"),
    ("dce", dce, "rules leave their operands behind"),
    ("drop_checks", drop_checks, "bodies are then kernels that cannot fail"),
    ("drop_initial_values", drop_initial_values, "what is dead reads nothing"),
    ("overlay_updates", overlay_updates, "what nobody reads is not stored for an update"),
    ("hoist_breaks", hoist_breaks, "bodies of loops without branches may be kernels"),
    ("expand_scans", expand_scans, "the planner knows while only"),
)
"""(name, pass, why it stands here). They run again if a pass on loops made what others simplify, or
dropping what loops carry made loops that may be equal now."""


def optimise(
    graph: Graph,
    timings: dict[str, float] | None = None,
    *,
    check: bool = False,
    relaxed: Told | None = None,
) -> Graph:
    """The Graph after all Graph passes, bodies of control flow included. timings: seconds by pass
    are added here; check: verify after each pass; relaxed: asks for `relax`, and gets what it
    did."""
    passes = GRAPH_PASSES
    if relaxed is not None:
        rules = ("relax", partial(_relax, told=relaxed), "after simplify: rules see what is left")
        passes = (*GRAPH_PASSES[:3], rules, *GRAPH_PASSES[3:])
    while True:
        graph, again = _with_bodies(graph, timings, check=check, relaxed=relaxed), False
        for name, run, _ in passes:
            start, before = perf_counter(), graph
            graph = run(graph)
            if timings is not None:
                timings[name] = timings.get(name, 0.0) + perf_counter() - start
            if check:
                verify_graph(graph)
            if run in (hoist_breaks, expand_scans):
                again |= graph is not before
            elif run is dce and graph is not before:
                again = not _loops(before).issuperset(_loops(graph))
        if not again:
            return graph


def _loops(graph: Graph) -> set[Eqn]:
    return {e for e in graph.eqns if e.op.kind is Kind.CONTROL}


def _with_bodies(
    graph: Graph, timings: dict[str, float] | None, *, check: bool, relaxed: Told | None
) -> Graph:
    """`graph` with the Graphs in its equations' params optimised."""
    if not any(_holds_graph(v) for e in graph.eqns for v in e.params.values()):
        return graph

    def inner(value: Any) -> Any:
        if isinstance(value, Graph):
            return optimise(value, timings, check=check, relaxed=relaxed)
        if isinstance(value, tuple):
            return tuple(inner(v) for v in value)
        return value

    def rule(builder: Builder, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if not any(_holds_graph(v) for v in eqn.params.values()):
            return None
        params = {k: inner(v) for k, v in eqn.params.items()}
        return builder.bind(eqn.op, *args, loc=eqn.loc, **params)

    return Rewriter(rule)(graph)


def _holds_graph(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(_holds_graph(v) for v in value)
    return isinstance(value, Graph)
