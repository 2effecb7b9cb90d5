"""Small Graphs for the tests of passes, traced from functions of `pyc.numpy`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph
from pyc.ir.plan import Branch, Copy, Launch, Loop, Step
from pyc.ir.target import X86_64_V3
from pyc.jit import jit
from pyc.passes import optimise
from pyc.passes.memory import Planned, plan
from pyc.reasons import Reason
from tests.ops.cases import awkward
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]


def ones(*shape: int, dtype: Any = np.float32) -> Array:
    """An argument that gives a shape and a type."""
    return np.ones(shape, dtype)


def graph_of(function: Callable[..., Any], *arguments: Any) -> Graph:
    """The Graph of a function, as traced; its loops are straight code."""
    return jit(function, loops="unroll").trace(*arguments).graph


def planned(function: Callable[..., Any], *arguments: Any) -> Planned:
    """The Plan of a function, after all passes."""
    return plan(optimise(graph_of(function, *arguments), check=True), X86_64_V3)


def awkward_arguments(graph: Graph, seed: int = 0) -> list[Array]:
    """Arguments with special values among ordinary ones."""
    return [awkward(p.dtype, p.shape, seed + k) for k, p in enumerate(graph.params)]


def check_same_bits(before: Graph, after: Graph) -> None:
    """Two Graphs give the same bits for awkward arguments."""
    for seed in range(4):
        arguments = awkward_arguments(before, 10 * seed)
        for a, b in zip(evaluate(before, arguments), evaluate(after, arguments), strict=True):
            assert same_bits(a, b), f"{b} is not {a}"


def flat(steps: Sequence[Step]) -> list[Step]:
    """Steps with those of loops and branches, in order."""
    found: list[Step] = []
    for step in steps:
        found.append(step)
        if isinstance(step, Loop):
            found += flat(step.condition) + flat(step.body)
        elif isinstance(step, Branch):
            found += [s for case in step.cases for s in flat(case)]
    return found


def loops(steps: Sequence[Step]) -> list[Loop]:
    """The loops of a Plan, nested ones included."""
    return [s for s in flat(steps) if isinstance(s, Loop)]


def copies(steps: Sequence[Step]) -> list[Copy]:
    """The copies of a Plan, those in loops included."""
    return [s for s in flat(steps) if isinstance(s, Copy)]


def launches(steps: Sequence[Step]) -> list[Launch]:
    """The kernel launches of a Plan, those in loops included."""
    return [s for s in flat(steps) if isinstance(s, Launch)]


def reasons_of(found: Planned) -> list[Reason]:
    """The reasons of the decisions, in order."""
    return [d.reason for d in found.decisions]
