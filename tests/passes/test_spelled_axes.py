"""Sums that keep an axis of few elements, and share a costly value along it: that value is computed
in their kernel, and every bit is as before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc
import pyc.numpy as pnp
from pyc.backends.oracle import run_plan
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph, graph_key
from pyc.ir.target import SM_90, X86_64_V4
from pyc.passes import optimise
from pyc.passes.memory import plan
from pyc.passes.spelled_axes import LONGEST, MOST, SHORTEST, spell_axes
from tests.passes.programs import check_same_bits, graph_of, launches, ones
from tests.passes.test_any_order import same_everywhere
from tests.programs.differential import same_bits


def forces(place: Any, mass: Any) -> Any:
    """What each point feels of all points, by their distances."""
    apart = place[None, :, :] - place[:, None, :]
    square = pnp.sum(apart * apart, axis=2) + 0.01
    pull = mass[None, :] / (square * pnp.sqrt(square))
    return pnp.sum(apart * pull[:, :, None], axis=1)


def points(number: int, axes: int = 3, dtype: Any = np.float64, seed: int = 0) -> Any:
    draw = np.random.default_rng(seed)
    place = draw.standard_normal((number, axes)).astype(dtype)
    return place, draw.random(number).astype(dtype)


def sums(graph: Graph) -> int:
    return sum(e.op.name == "reduce_sum" for e in graph.eqns)


@pytest.mark.parametrize("axes", [2, 3, 4])
def test_forces_are_one_sum_for_each_axis_of_space(axes: int) -> None:
    graph = graph_of(forces, *points(40, axes))
    found = spell_axes(graph)
    check_same_bits(graph, found)
    assert sums(optimise(found)) == axes


def test_a_pair_of_points_has_no_memory() -> None:
    """Only what each point feels is stored, and columns of places: no array of all pairs."""
    graph = optimise(graph_of(forces, *points(64)), check=True)
    found = plan(graph, X86_64_V4, check=True)
    assert len(launches(found.plan.steps)) == 3
    assert max(b.nbytes for b in found.plan.buffers) == 64 * 3 * 8


def heavy(x: Any) -> Any:
    return pnp.exp(x) * pnp.log(x * x + 2.0) + pnp.sqrt(x * x + 1.0)


CASES = {
    "last axis": (lambda x, w: pnp.sum(x * heavy(w)[:, :, None], axis=1), (5, 30, 3), (5, 30)),
    "first axis": (lambda x, w: pnp.sum(x * heavy(w)[None], axis=2), (3, 5, 30), (5, 30)),
    "between": (lambda x, w: pnp.sum(x * heavy(w)[:, None, :], axis=2), (5, 2, 30), (5, 30)),
    "first summed": (lambda x, w: pnp.sum(x + heavy(w)[:, :, None], axis=0), (30, 5, 4), (30, 5)),
    "two summed": (
        lambda x, w: pnp.sum(x * heavy(w)[:, :, None], axis=(0, 1)),
        (5, 30, 3),
        (5, 30),
    ),
    "units kept": (
        lambda x, w: pnp.sum(x * heavy(w)[:, :, None], axis=1, keepdims=True),
        (5, 30, 3),
        (5, 30),
    ),
    "an array that has the axis alone": (
        lambda x, w: pnp.sum((w[:, :, None] - x) * heavy(w)[:, :, None], axis=1),
        (3,),
        (5, 30),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_axis_may_stand_anywhere(name: str) -> None:
    function, *shapes = CASES[name]
    graph = graph_of(function, *(ones(*s, dtype=np.float64) for s in shapes))
    found = spell_axes(graph)
    assert sums(found) > sums(graph)
    check_same_bits(graph, found)


def weighted(x: Any, w: Any) -> Any:
    return pnp.sum(x * heavy(w)[:, :, None], axis=1)


LEFT = {
    "a cheap value": (
        lambda x, w: pnp.sum(x * w[:, :, None], axis=1),
        (5, 30, 3),
        (5, 30),
    ),
    "a long axis": (weighted, (5, 30, MOST + 1), (5, 30)),
    "few terms": (weighted, (5, SHORTEST - 1, 3), (5, SHORTEST - 1)),
    "many terms": (weighted, (2, LONGEST + 1, 3), (2, LONGEST + 1)),
    "a value of each row": (
        lambda x, w: pnp.sum(x * heavy(w)[:, None, None], axis=1),
        (5, 30, 3),
        (5,),
    ),
    "an extremum": (
        lambda x, w: pnp.max(x * heavy(w)[:, :, None], axis=1),
        (5, 30, 3),
        (5, 30),
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_other_reductions_stay(name: str) -> None:
    function, *shapes = LEFT[name]
    graph = graph_of(function, *(ones(*s, dtype=np.float64) for s in shapes))
    assert graph_key(spell_axes(graph)) == graph_key(graph)


def test_half_types_keep_their_accumulators() -> None:
    """Terms of float16 meet in float32: sums spelled out would round after each."""
    graph = graph_of(forces, *points(40, dtype=np.float16))
    assert sums(spell_axes(graph)) == sums(graph)


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([np.float32, np.float64]),
    st.one_of(st.integers(SHORTEST, 140), st.integers(141, 1200)),
    st.integers(2, MOST),
    st.integers(0, 2**32 - 1),
)
def test_rows_of_any_length_have_the_interpreters_bits(
    dtype: Any, number: int, axes: int, seed: int
) -> None:
    place, mass = points(number, axes, dtype, seed)

    def some(place: Any, mass: Any) -> Any:
        apart = place[None, :, :] - place[:3, None, :]
        square = pnp.sum(apart * apart, axis=2) + 0.01
        pull = mass[None, :] / (square * pnp.sqrt(square))
        return pnp.sum(apart * pull[:, :, None], axis=1)

    same_everywhere(some, place, mass)


def test_schedules_of_a_gpu_have_the_same_bits() -> None:
    place, mass = points(48)
    graph = optimise(graph_of(forces, place, mass), check=True)
    shapes = [(r.shape, r.dtype.numpy) for r in graph.results]
    (found,) = run_plan(plan(graph, SM_90, check=True).plan, [place, mass], shapes)
    (expected,) = evaluate(graph, [place, mass])
    assert same_bits(found, expected)


def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    function, arguments = pyc.jit(forces), points(700)
    found = []
    for threads in (1, 2):
        pyc.set_num_threads(threads)
        found.append(np.asarray(function(*arguments)).tobytes())
    assert found[0] == found[1]
