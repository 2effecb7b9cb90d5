"""Scatters of the host, whose operands are computed where it stands: the bits of the definition,
errors as before, and no array of indices in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc
from pyc import config
from pyc.backends.oracle import run_plan
from pyc.compile import compile_graph
from pyc.errors import ArgumentError, IndexOutOfRangeError
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Builder, Graph
from pyc.ir.loops import Accumulate, For, If, Kind, Let, walk
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4
from pyc.ir.types import ArrayType
from pyc.passes.memory import plan
from tests.programs.differential import same_bits

ROWS = 40


def scatter_graph(
    dtype: DType,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    position: int,
    mode: str,
    *,
    checked: bool,
) -> Graph:
    """A scatter of doubled rows at computed places."""
    b = Builder()
    x = b.param(ArrayType(shape, dtype))
    kept = [n for k, n in enumerate(shape) if k not in axes]
    wide = (*kept[:position], ROWS, *kept[position:])
    update = b.param(ArrayType(wide, dtype))
    indices = [b.param(ArrayType((ROWS,), dt.i64)) for _ in axes]
    found = [
        b.bind1("index_check", i, bound=shape[a], axis=a) if checked else b.bind1("neg", i)
        for i, a in zip(indices, axes, strict=True)
    ]
    new = update if dtype is dt.b1 else b.bind1("add", update, update)
    return b.build([b.bind1("scatter", x, new, *found, axes=axes, position=position, mode=mode)])


def arguments(graph: Graph, rng: Any, axes: tuple[int, ...], *, checked: bool) -> list[Any]:
    shape = graph.params[0].shape
    found: list[Any] = []
    for p in graph.params[:2]:
        few = rng.choice([0, 1, 2, 3, 100], p.shape)
        found.append(few.astype(p.dtype.numpy))
    for a in axes:
        # What is checked is inside; what is negated is outside, mostly.
        low = -shape[a] if checked else -shape[a] - 2
        found.append(rng.integers(low, shape[a], ROWS))
    return found


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([dt.b1, dt.i8, dt.i64, dt.f16, dt.f32, dt.f64, dt.c64]),
    st.sampled_from([((9,), (0,)), ((7, 3), (0,)), ((5, 37), (0,)), ((3, 4, 21), (0, 1))]),
    st.integers(0, 1),
    st.sampled_from(["set", "add", "mul", "min", "max"]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_the_bits_are_the_definitions(
    dtype: DType, places: Any, position: int, mode: str, checked: bool, seed: int
) -> None:
    shape, axes = places
    if dtype is dt.b1 or (dtype is dt.c64 and mode not in ("set", "add")):
        mode = "set"
    position = min(position, len(shape) - len(axes))
    graph = scatter_graph(dtype, shape, axes, position, mode, checked=checked)
    given = arguments(graph, np.random.default_rng(seed), axes, checked=checked)
    with np.errstate(all="ignore"):
        (expected,) = evaluate(graph, given)
    shapes = [(r.shape, r.dtype.numpy) for r in graph.results]
    for target in (X86_64_V3, X86_64_V4):
        (found,) = run_plan(plan(graph, target).plan, given, shapes)
        assert same_bits(expected, found)
    with config.using(cache="off"):
        (found,) = compile_graph(graph)(*given)
    assert same_bits(expected, found)


@pytest.mark.parametrize("width", [16, 37])
def test_rows_are_stored_in_vectors(width: int) -> None:
    graph = scatter_graph(dt.f32, (5, width), (0,), 0, "add", checked=True)
    (kernel,) = plan(graph, X86_64_V4).plan.kernels
    vectors = [s for s in walk(kernel.body) if isinstance(s, For) and s.kind is Kind.VECTOR]
    assert [v.extent for v in vectors] == [16]


def test_places_from_the_start_are_tested_as_they_come() -> None:
    """The usual ones take one comparison; those from the end, and outside, stand behind it."""
    graph = scatter_graph(dt.f32, (5,), (0,), 0, "add", checked=True)
    (kernel,) = plan(graph, X86_64_V4).plan.kernels
    first = next(s for s in walk(kernel.body) if isinstance(s, If))
    assert [type(s) for s in first.then] == [Accumulate]
    assert [type(s) for s in first.orelse] == [Let, If]


def counted(numbers: Any) -> Any:
    return np.bincount(numbers, minlength=8)


def test_counting_needs_no_memory() -> None:
    """Neither the checked places nor the ones that are added."""
    graph = pyc.jit(counted).trace(np.zeros(1000, np.int64)).graph
    assert plan(graph, X86_64_V3).plan.peak == 0
    assert plan(graph, SM_90).plan.peak > 0


def added(x: Any, places: Any, values: Any) -> Any:
    x = x.copy()
    np.add.at(x, places, values)
    return x


@pytest.mark.parametrize("wrong", [5, -6, 1 << 40, -(1 << 63)])
def test_a_place_that_there_is_not_is_an_error(wrong: int) -> None:
    places = np.array([0, -5, 4, wrong, 2])
    with pytest.raises(IndexOutOfRangeError, match=str(wrong)):
        pyc.jit(added)(np.zeros(5), places, np.ones(5))


@pytest.mark.parametrize("wrong", [8, -1])
def test_a_number_that_is_not_counted_is_an_error(wrong: int) -> None:
    with pytest.raises(ArgumentError):
        pyc.jit(counted)(np.array([0, 7, wrong]))


def test_elements_that_it_replaces_are_read_before() -> None:
    def turned(x: Any, to: Any, source: Any) -> Any:
        x = x.copy()
        x[to] = x[source] + 1.0
        return x

    rng = np.random.default_rng(3)
    x, to = rng.random(50), rng.permutation(50)
    source = rng.permutation(50)
    assert same_bits(pyc.jit(turned)(x, to, source), turned(x, to, source))


def test_elements_that_take_long_are_computed_in_vectors() -> None:
    def spread(x: Any, places: Any, values: Any) -> Any:
        return added(x, places, np.exp(values))

    given = (np.zeros(5), np.zeros(9, np.int64), np.zeros(9))
    found = plan(pyc.jit(spread).trace(*given).graph, X86_64_V4).plan
    last = found.kernels[-1]
    assert not any(isinstance(s, For) and s.kind is Kind.VECTOR for s in walk(last.body))
    assert any(
        isinstance(s, For) and s.kind is Kind.VECTOR
        for kernel in found.kernels[:-1]
        for s in walk(kernel.body)
    )
