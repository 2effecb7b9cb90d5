"""Updates of most of an array: one pass into a new one where the old one would be stored first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc import lax
from pyc.backends.oracle import run_plan
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph, subgraphs
from pyc.ir.plan import Copy, Launch, Loop
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4, Target
from pyc.passes import optimise
from pyc.passes.memory import plan
from tests.passes.programs import awkward_arguments, graph_of, ones, planned
from tests.programs.differential import same_bits


def ops(graph: Graph) -> set[str]:
    found = {e.op.name for e in graph.eqns}
    return found.union(*(ops(g) for e in graph.eqns for g in subgraphs(e)))


def heat(u: Any) -> Any:
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return u.at[1:-1, 1:-1].set(u[1:-1, 1:-1] + 0.1 * around)


def smooth(x: Any) -> Any:
    return x.at[1:-1].set((x[:-2] + x[1:-1] + x[2:]) / 3)


OVERLAYS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a plane": (heat, (ones(9, 40),)),
    "a line": (smooth, (ones(70),)),
    "a long line": (smooth, (ones(100_000),)),
    "complex": (lambda x: x.at[1:].set(x[:-1] * 2), (ones(40) + 1j,)),
    "backwards": (lambda x: x.at[1:-1].set(x[1:-1][::-1] * 2), (ones(40),)),
    "bytes on a ring": (lambda x: x.at[1:].set(x[:-1] + pnp.roll(x, 2)[1:]), (ones(200) > 0,)),
    "zeros": (lambda x: pnp.zeros((7, 40)).at[1:-1, 2:].set(x * 2), (ones(5, 38),)),
    "three axes": (
        lambda x: x.at[1:-1, 1:-1, 1:-1].set(x[2:, 1:-1, 1:-1] - x[1:-1, :-2, 1:-1]),
        (ones(8, 9, 40),),
    ),
    "one after the other": (lambda x: smooth(smooth(x).at[0].set(5.0)), (ones(70),)),
}


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4, SM_90], ids=lambda t: t.id)
@pytest.mark.parametrize("case", OVERLAYS)
def test_overlays_have_the_bits_of_updates(case: str, target: Target) -> None:
    function, arguments = OVERLAYS[case]
    graph = optimise(graph_of(function, *arguments), check=True)
    assert "overlay" in ops(graph)
    if target.has_blocks and graph.results[0].type.size > 1000:
        return  # the interpreter of kernels takes long
    values = awkward_arguments(graph)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    found = run_plan(plan(graph, target, check=True).plan, values, shapes)
    for a, b in zip(evaluate(graph, values), found, strict=True):
        assert same_bits(a, b)


@pytest.mark.parametrize("case", ["a plane", "a line", "zeros", "three axes"])
def test_an_overlay_is_one_pass(case: str) -> None:
    """No other memory, no copy, and no element is chosen by its position but at the border."""
    function, arguments = OVERLAYS[case]
    found = planned(function, *arguments).plan
    assert not found.peak
    assert [type(s) for s in found.steps] == [Launch]


def test_what_takes_turns_in_a_loop_is_not_copied() -> None:
    def steps(u: Any) -> Any:
        return lax.fori_loop(0, 10, lambda i, a: heat(a), u)

    found = planned(steps, ones(40, 40)).plan
    (loop,) = [s for s in found.steps if isinstance(s, Loop)]
    assert not [s for s in loop.body if isinstance(s, Copy)]
    assert sum(isinstance(s, Launch) for s in loop.body) == 2, "the plane and the counter"


IN_PLACE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "less than half": (lambda x: x.at[1:30].set(x[:29] * 2), (ones(64),)),
    "where the old ones lie": (lambda x: x.at[1:-1].multiply(2.0), (ones(64),)),
    "a place that is computed": (
        lambda x, i: lax.dynamic_update_slice(x, x[:60] * 2, (i,)),
        (ones(64), np.int64(2)),
    ),
    "every second": (lambda x: x.at[::2].set(x[1::2] * 2), (ones(64),)),
}


@pytest.mark.parametrize("case", IN_PLACE)
def test_other_updates_run_in_place(case: str) -> None:
    function, arguments = IN_PLACE[case]
    found = ops(optimise(graph_of(function, *arguments), check=True))
    assert "update_slice" in found and "overlay" not in found
