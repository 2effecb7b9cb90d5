"""Random shapes around the sizes at which schedules cut: no two tasks, threads or blocks meet.

The kernel interpreter reports two agents of which one writes where the other one reads or writes
without order, even where both write the same value. So every program here is run by it, with tasks
made of as little work as there can be, and must give the definition's bits.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc.numpy as pnp
from pyc.backends.oracle import run_plan
from pyc.ir.evaluate import evaluate
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4
from pyc.passes import columns, optimise, row_stages, schedule
from pyc.passes.memory import plan
from tests.passes.programs import awkward_arguments, graph_of
from tests.programs.differential import same_bits

Program = Callable[[Any, Any], Any]

CUTS = (1, 5, 8, 16, 32, 64, 128, 1024)
"""Rows of short rows, lanes of vectors, kept lanes, lanes of a chunk, a chunk."""
LARGEST = 1 << 14
"""Elements of an argument."""
TILES = (128, columns.TILE_BYTES)
"""Bytes of a row of a tile of columns: some tiles of few columns, or one."""


def doubled(x: Any, axis: Any) -> Any:
    return pnp.swapaxes(x, 0, -1) * 2 + 1


def sums(x: Any, axis: Any) -> Any:
    return pnp.sqrt(pnp.sum(x, axis=axis))


def several(x: Any, axis: Any) -> Any:
    return pnp.max(x, axis=axis), pnp.sum(x, axis=axis), pnp.mean(x * x, axis=axis)


def places(x: Any, axis: Any) -> Any:
    one = axis[-1] if isinstance(axis, tuple) else axis
    return pnp.argmax(x, axis=one), pnp.any(x > 2, axis=axis)


def softmax(x: Any, axis: Any) -> Any:
    e = pnp.exp(x - pnp.max(x, axis=axis, keepdims=True))
    return e / pnp.sum(e, axis=axis, keepdims=True)


def layer_norm(x: Any, axis: Any) -> Any:
    away = x - pnp.mean(x, axis=axis, keepdims=True)
    return away / pnp.sqrt(pnp.mean(away * away, axis=axis, keepdims=True) + 1e-5)


def spread(x: Any, axis: Any) -> Any:
    return pnp.var(x, axis=axis)


PROGRAMS: tuple[Program, ...] = (doubled, sums, several, places, softmax, layer_norm, spread)


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, ...]:
    """One to three axes, each within two of a cut, or of twice or three times one."""
    found: list[int] = []
    left = LARGEST
    for _ in range(draw(st.integers(1, 3))):
        cut = draw(st.sampled_from([c for c in CUTS if c <= left]))
        size = cut * draw(st.integers(1, 3)) + draw(st.integers(-2, 2))
        found.append(max(1, min(size, left)))
        left //= found[-1]
    return tuple(draw(st.permutations(found)))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_schedule_lets_two_tasks_meet(program: Program, data: st.DataObject) -> None:
    """Rows, columns and elements by every target's schedule, bit for bit and without a race."""
    shape = data.draw(shapes(), "shape")
    axis = data.draw(st.sampled_from([None, *range(len(shape)), *pairwise(range(len(shape)))]))
    dtype = data.draw(st.sampled_from([np.float32, np.float64, np.int64]), "dtype")
    target = data.draw(st.sampled_from([X86_64_V3, X86_64_V4, SM_90]), "target")
    graph = optimise(graph_of(lambda x: program(x, axis), np.ones(shape, dtype)), check=True)
    values = awkward_arguments(graph)
    results = [(v.shape, v.dtype.numpy) for v in graph.results]
    expected = evaluate(graph, values)
    with (
        mock.patch.object(schedule, "TASK_WORK", 1),
        mock.patch.object(schedule, "LARGE_WORK", 0),
        mock.patch.object(schedule, "SPLIT", 4 * row_stages.CHUNK),
        mock.patch.object(row_stages, "BLOCK", 2),
        mock.patch.object(columns, "TILE_BYTES", data.draw(st.sampled_from(TILES), "tile")),
        mock.patch.object(columns, "TASK_BYTES", 1),
        mock.patch.object(columns, "PACKED_FROM", data.draw(st.sampled_from([0, 1 << 23]), "hold")),
        mock.patch.object(columns, "PACKED_ROW", 32),
        mock.patch.object(columns, "TASKS", data.draw(st.sampled_from([2, 8]), "tasks")),
    ):
        found = plan(graph, target, check=True).plan
        for a, b in zip(expected, run_plan(found, values, results), strict=True):
            assert same_bits(a, b), f"{b} is not {a}"
