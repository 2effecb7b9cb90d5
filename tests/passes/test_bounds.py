"""Loops in order whose minima and maxima have bounds that stay: a second loop for plain bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph
from pyc.ir.loops import For, If, walk
from pyc.ir.target import X86_64_V3
from pyc.passes import optimise
from pyc.passes.memory import plan
from tests.programs.differential import same_bits

SPECIAL = (0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -1.5)


def walk_between(steps: Any, wall: Any) -> Any:
    """Where the walk ends is a result too."""
    out, place = np.zeros_like(steps), steps[0] * 0
    for i in range(steps.shape[0]):
        place = np.minimum(np.maximum(place + steps[i], -wall), wall)
        out[i] = place
    return out, place


def of_whole_numbers(steps: Any, wall: Any) -> Any:
    out, place = np.zeros_like(steps), steps[0] * 0
    for i in range(steps.shape[0]):
        place = np.minimum(place + steps[i], wall)
        out[i] = place
    return out


def with_a_bound_that_moves(steps: Any, wall: Any) -> Any:
    out, place = np.zeros_like(steps), steps[0] * 0
    for i in range(steps.shape[0]):
        place = np.minimum(place + steps[i], wall)
        wall = wall * 0.5
        out[i] = place
    return out


def with_a_bound_in_the_array(steps: Any, wall: Any) -> Any:
    """The first element is stored by the first iteration."""
    out, place = steps + wall, steps[0] * 0
    for i in range(steps.shape[0]):
        place = np.minimum(place + steps[i], out[0])
        out[i] = place
    return out


def of_no_chain(steps: Any, wall: Any) -> Any:
    """What is bounded is not what the next iteration waits for."""
    out, place = np.zeros_like(steps), steps[0] * 0
    for i in range(steps.shape[0]):
        out[i] = np.minimum(place, wall)
        place = place + steps[i]
    return out


def graph_of(function: Any, *arguments: Any) -> Graph:
    return optimise(pyc.jit(function).trace(*arguments).graph, check=True)


def loops_of(function: Any, *arguments: Any) -> int:
    """How many loops the kernel of the program's loop has."""
    kernels = plan(graph_of(function, *arguments), X86_64_V3, check=True).plan.kernels
    (kernel,) = (k for k in kernels if any(isinstance(s, For) and s.carried for s in walk(k.body)))
    return sum(isinstance(s, For) for s in walk(kernel.body))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("wall", SPECIAL)
@pytest.mark.parametrize("function", [walk_between, with_a_bound_in_the_array])
def test_bounds_of_every_kind_give_the_interpreters_bits(
    function: Any, wall: float, dtype: Any
) -> None:
    steps = np.array([*SPECIAL[:2], 1.0, -3.0, 0.25, -0.0, *SPECIAL[3:], 1.0, np.nan, 2.0], dtype)
    for given in (steps, steps[:8]):
        arguments = [given, np.asarray(dtype(wall))]
        right = evaluate(graph_of(function, given, dtype(wall)), arguments)
        found = pyc.tree.leaves(pyc.jit(function)(given, dtype(wall)))
        for a, b in zip(right, found, strict=True):
            assert same_bits(a, np.asarray(b))


def test_the_kernel(golden) -> None:
    """One loop where the walls are plain numbers, and one where they are not."""
    x = np.ones(50, np.float32)
    kernels = plan(graph_of(walk_between, x, np.float32(2)), X86_64_V3, check=True).plan.kernels
    (kernel,) = (k for k in kernels if any(isinstance(s, If) and s.orelse for s in walk(k.body)))
    golden(str(kernel))


@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (of_whole_numbers, np.int32),
        (with_a_bound_that_moves, np.float32),
        (with_a_bound_in_the_array, np.float32),
        (of_no_chain, np.float32),
    ],
)
def test_other_loops_stay_one(function: Any, dtype: Any) -> None:
    assert loops_of(walk_between, np.ones(50, np.float32), np.float32(2)) == 2
    assert loops_of(function, np.ones(50, dtype), dtype(2)) == 1
