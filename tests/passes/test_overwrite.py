"""Results where an argument lies: rows, columns, products and loops that replace what they read.

The kernel interpreter reports two agents of which one writes what the other reads without order, so
every program here runs by it, in schedules with tasks of as little work as there can be, with all
arguments donated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pyc.numpy as pnp
from pyc import lax
from pyc.backends.oracle import run_plan
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.plan import Plan
from pyc.ir.simulate.findings import SimulationError
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4, Target
from pyc.passes import columns, merged_rows, optimise, row_stages, schedule
from pyc.passes.memory import plan
from pyc.passes.overwrite import may_overwrite
from pyc.reasons import Reason
from tests.passes.programs import awkward_arguments, graph_of
from tests.passes.test_schedule_races import TILES, layer_norm, shapes, softmax
from tests.programs.differential import same_bits

Program = Callable[[Any, Any, int], Any]
"""(array, what is left of its shape without an axis, the axis)."""


def soft(x: Any, rest: Any, axis: int) -> Any:
    return softmax(x, axis)


def norm(x: Any, rest: Any, axis: int) -> Any:
    return layer_norm(x, axis) * 2 + 1


def places(x: Any, rest: Any, axis: int) -> Any:
    return x * pnp.expand_dims(pnp.argmax(x, axis=axis), axis)


def first(x: Any, rest: Any, axis: int) -> Any:
    """Elements that are read by others of their row: not in place."""
    return x - x[..., :1] + pnp.sum(x, axis=axis, keepdims=True)


def running(x: Any, rest: Any, axis: int) -> Any:
    mean = pnp.mean(x, axis=axis)
    return rest * 0.9 + mean * 0.1, x - pnp.expand_dims(mean, axis)


def biggest(x: Any, rest: Any, axis: int) -> Any:
    return pnp.maximum(rest, pnp.max(x, axis=axis))


def weighed(x: Any, rest: Any, axis: int) -> Any:
    return rest + pnp.sum(x * pnp.expand_dims(rest, axis), axis=axis)


def several(x: Any, rest: Any, axis: int) -> Any:
    total = pnp.sum(x, axis=axis)
    return x / pnp.expand_dims(total, axis), rest - total, rest + pnp.max(x, axis=axis)


PROGRAMS: tuple[Program, ...] = (*(soft, norm, places, first, running, biggest, weighed, several),)


WORK = (1, 200_000)


def donated_plan(graph: Graph, target: Target) -> Plan:
    return plan(graph, target, donated=tuple(range(len(graph.params))), check=True).plan


def traced(program: Program, shape: tuple[int, ...], axis: int, dtype: Any) -> Graph:
    arguments = np.ones(shape, dtype), np.ones(shape[:axis] + shape[axis + 1 :], dtype)
    return optimise(graph_of(lambda x, r: program(x, r, axis), *arguments), check=True)


def check(graph: Graph, values: list[Any], target: Target = X86_64_V3) -> Plan:
    """The plan with everything donated, after it gave the definition's bits without a race."""
    results = [(v.shape, v.dtype.numpy) for v in graph.results]
    found = donated_plan(graph, target)
    for a, b in zip(evaluate(graph, values), run_plan(found, values, results), strict=True):
        assert same_bits(a, b), f"{b} is not {a}"
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_rows_are_replaced_where_they_lie(program: Program, data: st.DataObject) -> None:
    shape = data.draw(shapes(), "shape")
    axis = data.draw(st.integers(0, len(shape) - 1), "axis")
    dtype = data.draw(st.sampled_from([np.float32, np.float64, np.int64]), "dtype")
    target = data.draw(st.sampled_from([X86_64_V3, X86_64_V4, SM_90]), "target")
    with (
        mock.patch.object(schedule, "TASK_WORK", data.draw(st.sampled_from([1, 200_000]), "work")),
        mock.patch.object(
            schedule, "LARGE_WORK", data.draw(st.sampled_from([0, 200_000]), "large")
        ),
        mock.patch.object(schedule, "SPLIT", 4 * row_stages.CHUNK),
        mock.patch.object(row_stages, "BLOCK", 2),
        mock.patch.object(columns, "TILE_BYTES", data.draw(st.sampled_from(TILES), "tile")),
        mock.patch.object(columns, "TASK_BYTES", 1),
        mock.patch.object(columns, "PACKED_FROM", data.draw(st.sampled_from([0, 1 << 23]), "hold")),
        mock.patch.object(columns, "PACKED_ROW", 32),
        mock.patch.object(columns, "TASKS", data.draw(st.sampled_from([2, 8]), "tasks")),
    ):
        graph = traced(program, shape, axis, dtype)
        check(graph, awkward_arguments(graph), target)


# Programs in shapes whose last group of rows, or of columns, is not whole, each by one schedule.
RAGGED: dict[str, tuple[Program, tuple[int, ...], int]] = {
    "merged rows": (norm, (37, 17), 1),
    "merged rows, one value each": (weighed, (37, 17), 1),
    "rows": (norm, (5, 300), 1),
    "long rows": (soft, (2, 20_000), 1),
    "columns": (soft, (40, 37), 0),
    "columns, one value each": (running, (40, 37), 0),
    "neighbouring short columns": (soft, (7, 37), 0),
    "all": (soft, (300,), 0),
}


def ragged(case: str) -> tuple[Graph, list[Any]]:
    """The Graph, and values that rows which are done again change."""
    graph = traced(*RAGGED[case], np.float32)
    rng = np.random.default_rng(0)
    return graph, [rng.standard_normal(p.shape).astype(np.float32) for p in graph.params]


@pytest.mark.parametrize("case", RAGGED)
def test_the_last_rows_are_done_once(case: str) -> None:
    shape = RAGGED[case][1]
    with mock.patch.object(schedule, "LARGE_WORK", 0):
        found = check(*ragged(case))
    assert 0 in found.taken(), "it is in place"
    assert found.peak < 4 * np.prod(shape), "and has no other memory"


@pytest.mark.parametrize(
    ("module", "case"),
    [
        (merged_rows, "merged rows"),
        (merged_rows, "merged rows, one value each"),
        (schedule, "neighbouring short columns"),
        (columns, "columns"),
        (columns, "columns, one value each"),
    ],
)
def test_schedules_that_did_rows_again_would_be_found(module: Any, case: str) -> None:
    """What the tests above are for: the last vector begins in the one before, as it does where rows
    are not replaced."""
    with (
        mock.patch.object(schedule, "LARGE_WORK", 0),
        mock.patch.object(module, "is_in_place", return_value=False),
        pytest.raises((AssertionError, SimulationError)),
    ):
        check(*ragged(case))


# --- which kernels may ----------------------------------------------------------------------------

# What a position i0 of a loop over rows does; whether b1 may lie where b0 does.
MAY = {
    "elements where they are stored": [
        "for i1 in 0..6 parallel {",
        "b1[i0, i1] = b0[i0, i1] * 2.0",
    ],
    "a row before, in any order": [
        *("v0 = reduce add (i1 in 0..6) {", "yield b0[i0, 5 - i1]", "}"),
        *("for i2 in 0..6 parallel {", "b1[i0, i2] = b0[i0, i2] / v0"),
    ],
    "an element of the row before": [
        *("v0 = b0[i0, 3]", "for i1 in 0..6 parallel {", "b1[i0, i1] = b0[i0, i1] - v0"),
    ],
    "values first, then stores": [
        *("for i1 in 0..6 parallel {", "v0 = b0[i0, i1] + 1.0", "v1 = b0[i0, i1] - 1.0"),
        *("b1[i0, i1] = v0", "b2[i0, i1] = v1"),
    ],
    "another output before": [
        *("for i1 in 0..6 parallel {", "b2[i0, i1] = b0[i0, 5 - i1]", "}"),
        *("for i2 in 0..6 parallel {", "b1[i0, i2] = b0[i0, i2]"),
    ],
    "one element": ["b1[i0, 2] = b0[i0, 4]"],
}
MAY_NOT = {
    "another row": ["for i1 in 0..6 parallel {", "b1[i0, i1] = b0[7 - i0, i1]"],
    "another row before": [
        *("v0 = reduce add (i1 in 0..6) {", "yield b0[0, i1]", "}"),
        *("for i2 in 0..6 parallel {", "b1[i0, i2] = v0"),
    ],
    "another element of the row": ["for i1 in 0..6 parallel {", "b1[i0, i1] = b0[i0, 5 - i1]"],
    "the row behind": [
        *("for i1 in 0..6 parallel {", "b1[i0, i1] = 1.0", "}"),
        *("for i2 in 0..6 parallel {", "b2[i0, i2] = b0[i0, i2]"),
    ],
    "the row behind, reduced": [
        *("b1[i0, 0] = 1.0", "v0 = reduce add (i1 in 0..6) {", "yield b0[i0, i1]", "}"),
        "b2[i0, 0] = v0",
    ],
    "the element behind": [
        *("for i1 in 0..6 parallel {", "b1[i0, i1] = 1.0", "b2[i0, i1] = b0[i0, i1]"),
    ],
    "a place that several store": ["b1[0, 0] = b0[0, 0]"],
    "a place that rows share": ["for i1 in 0..6 parallel {", "b1[i0, 0] = b0[i0, 0]"],
    "two rows of one": ["b1[i0, 0] = b0[i0, 0]", "b1[7 - i0, 1] = 1.0"],
    "a loop with an order": ["for i1 in 0..6 serial {", "b1[i0, i1] = b0[i0, 5 - i1]"],
    "an index that is read": [
        *("for i1 in 0..6 parallel {", "b1[i0, i1] = b0[i0, cast.i64(b0[i0, 0])]"),
    ],
    "never stored": ["b2[i0, 0] = b0[i0, 0]"],
}


def may(lines: list[str]) -> bool:
    depth = sum(x.endswith("{") for x in lines) - lines.count("}")
    text = "\n".join(
        [
            'kernel "k"() {',
            *("b0: in f64[8, 6]", "b1: out f64[8, 6]", "b2: out f64[8, 6]"),
            *("for i0 in 0..8 parallel {", *lines),
            *["}"] * (depth + 2),
        ]
    )
    kernel = parse_kernel(text.replace("2.0", "2.0:f64").replace("1.0", "1.0:f64") + "\n")
    source, output, _ = kernel.buffers
    return may_overwrite(kernel, output, source)


@pytest.mark.parametrize("case", MAY)
def test_what_is_read_before_may_be_replaced(case: str) -> None:
    assert may(MAY[case])


@pytest.mark.parametrize("case", MAY_NOT)
def test_what_others_read_or_what_is_read_behind_may_not(case: str) -> None:
    assert not may(MAY_NOT[case])


def test_only_the_same_shape_and_type_may() -> None:
    text = """kernel "k"() {
  b0: in i64[8]
  b1: out f64[8]
  b2: in f64[1, 8]
  for i0 in 0..8 parallel {
    b1[i0] = cast.f64(b0[i0]) + b2[0, i0]
  }
}
"""
    kernel = parse_kernel(text)
    a, out, b = kernel.buffers
    assert not may_overwrite(kernel, out, a) and not may_overwrite(kernel, out, b)


# --- updates --------------------------------------------------------------------------------------

LINE = np.arange(1.0, 12.0)
FIELD = np.arange(1.0, 78.0).reshape(7, 11)

# Updates of what they read, by whether new elements are made where the old ones lie.
UPDATES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], bool]] = {
    "a part": (lambda x: x.at[1:-1].multiply(2.0), (LINE,), True),
    "a part of both axes": (lambda x: x.at[1:-1, 2:5].add(1.0), (FIELD,), True),
    "every second": (lambda x: x.at[1::2].multiply(2.0), (LINE,), True),
    "a row": (lambda x: x.at[3].divide(2.0), (FIELD,), True),
    "a column": (lambda x: x.at[:, 3].divide(2.0), (FIELD,), True),
    "with another": (lambda x, y: x.at[2:9].set(x[2:9] * y[1:8] + 1), (LINE, LINE * 3), True),
    "complex": (lambda x: x.at[1:4].multiply(2.0 + 1j), (LINE + 1j,), True),
    "at a place that is computed": (
        lambda x, i: lax.dynamic_update_slice(x, lax.dynamic_slice(x, (i,), (3,)) * 2, (i,)),
        *((LINE, np.int64(4)), True),
    ),
    "one after the other": (lambda x: x.at[2:5].add(1.0).at[3:8].multiply(3.0), (LINE,), True),
    "a neighbour": (lambda x: x.at[1:6].set(x[:5] * 2), (LINE,), False),
    "both neighbours": (lambda x: x.at[1:6].set((x[:5] + x[2:7]) * 0.5), (LINE,), False),
    "backwards": (lambda x: x.at[1:6].set(x[1:6][::-1] * 2), (LINE,), False),
    "across": (lambda x: x.at[1:5, 1:5].set(x[1:5, 1:5].T * 2), (FIELD,), False),
    "by the first": (lambda x: x.at[1:5].set(x[1:5] / x[0]), (LINE,), False),
    "at another place that is computed": (
        lambda x, i: lax.dynamic_update_slice(x, lax.dynamic_slice(x, (i,), (3,)) * 2, (i + 1,)),
        *((LINE, np.int64(4)), False),
    ),
}


@pytest.mark.parametrize("target", [X86_64_V3, SM_90], ids=lambda t: t.id)
@pytest.mark.parametrize("case", UPDATES)
def test_updates_make_elements_where_the_old_ones_lie(case: str, target: Target) -> None:
    function, arguments, in_place = UPDATES[case]
    graph = optimise(graph_of(function, *arguments), check=True)
    for found in (plan(graph, target, check=True), plan(graph, target, donated=(0,), check=True)):
        results = [(v.shape, v.dtype.numpy) for v in graph.results]
        for a, b in zip(
            evaluate(graph, list(arguments)),
            run_plan(found.plan, list(arguments), results),
            strict=True,
        ):
            assert same_bits(a, b), f"{b} is not {a}"
        stored = any(d.reason is Reason.MEMORY_UPDATE_READS_OPERAND for d in found.decisions)
        assert stored is not in_place
        assert not (in_place and found.plan.peak), "no other memory"


def test_updates_in_loops_and_of_what_is_read_later() -> None:
    def swept(x: Any) -> Any:
        return lax.fori_loop(1, 10, lambda i, x: x.at[i].multiply(x[i] + 1.0), x)

    def later(x: Any) -> Any:
        y = pnp.sort(x)
        return y.at[1:5].multiply(2.0) + y.sum(), y

    for function in (swept, later):
        graph = optimise(graph_of(function, LINE), check=True)
        check(graph, [LINE.copy()])
        results = [(v.shape, v.dtype.numpy) for v in graph.results]
        for a, b in zip(
            evaluate(graph, [LINE]),
            run_plan(plan(graph, X86_64_V3).plan, [LINE], results),
            strict=True,
        ):
            assert same_bits(a, b)
