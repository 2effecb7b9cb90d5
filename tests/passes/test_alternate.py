"""Launches over the same memory take their tasks in opposite directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc.backends.oracle import run_plan
from pyc.ir.evaluate import evaluate
from pyc.ir.evaluate_expr import evaluate as evaluate_expr
from pyc.ir.loops import For, Kernel, Kind, Let
from pyc.passes import schedule
from tests.passes.programs import awkward_arguments, graph_of, ones, planned
from tests.programs.differential import same_bits


def layer_norm(x: Any) -> Any:
    away = x - pnp.mean(x, axis=0)
    return away / pnp.sqrt(pnp.mean(away * away, axis=0) + 1e-5)


def whole_layer_norm(x: Any) -> Any:
    away = x - pnp.mean(x)
    return away / pnp.sqrt(pnp.mean(away * away) + 1e-5)


def softmax(x: Any) -> Any:
    e = pnp.exp(x - pnp.max(x, axis=0))
    return e / pnp.sum(e, axis=0)


def total(x: Any) -> Any:
    return pnp.sum(x)


FORWARDS, BACKWARDS = False, True


def directions(kernels: tuple[Kernel, ...]) -> list[bool]:
    """Whether each launch with several tasks begins with the last of them."""
    found = []
    for kernel in kernels:
        loop = kernel.body[0]
        if isinstance(loop, For) and loop.kind is Kind.PARALLEL and loop.extent != 1:
            assert isinstance(loop.extent, int)
            first = loop.body[0]
            lets = [first.value] if isinstance(first, Let) else []
            values = evaluate_expr(lets, {loop.var: np.array(0)})
            found.append(values == [loop.extent - 1])
    return found


@pytest.mark.parametrize(
    ("function", "shape", "expected"),
    [
        (layer_norm, (10485, 100), [FORWARDS, BACKWARDS, FORWARDS]),
        (softmax, (65536, 16), [FORWARDS, BACKWARDS, FORWARDS]),
        (whole_layer_norm, (1048577,), [FORWARDS, BACKWARDS, FORWARDS]),
        (total, (1048577,), [FORWARDS]),
    ],
)
def test_launches_over_one_array_alternate(
    function: Callable[..., Any], shape: tuple[int, ...], expected: list[bool]
) -> None:
    """What joins the results of tasks is one task, and goes in no direction."""
    assert directions(planned(function, ones(*shape)).plan.kernels) == expected


def test_launches_over_other_arrays_do_not_turn() -> None:
    """Sums of two arrays, whose tasks are of two launches."""

    def two(x: Any, y: Any) -> Any:
        return pnp.sum(x), pnp.sum(y * 2.0)

    found = planned(two, ones(1 << 20), ones(1 << 21)).plan.kernels
    assert not any(directions(found))


@pytest.mark.parametrize("function", [layer_norm, softmax])
def test_tasks_from_the_last_to_the_first_change_no_bits(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that do not fill their last block: the short task comes first."""
    monkeypatch.setattr(schedule, "TASK_WORK", 0)
    graph = graph_of(function, ones(1300, 20))
    found = planned(function, ones(1300, 20)).plan
    assert BACKWARDS in directions(found.kernels)
    values = awkward_arguments(graph)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    for a, b in zip(evaluate(graph, values), run_plan(found, values, shapes), strict=True):
        assert same_bits(a, b)
