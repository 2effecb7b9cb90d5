"""Reductions whose order cannot show: the interpreter's bits, in any length, alone and together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc.numpy as pnp
from pyc import config
from pyc.backends.oracle import run_plan
from pyc.compile import compile_graph
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph
from pyc.ir.loops import For, Kind, walk
from pyc.ir.target import X86_64_V3, X86_64_V4
from pyc.passes import optimise
from pyc.passes.any_order import GROUP
from pyc.passes.memory import plan
from pyc.passes.row_stages import SPLIT
from pyc.passes.simpler_reductions import FEW, LONG
from tests.passes.programs import graph_of, ones, planned
from tests.passes.test_simpler_reductions import elements
from tests.passes.test_simpler_reductions import graph_of as simple_graph
from tests.passes.test_simpler_reductions import same_everywhere as places
from tests.programs.differential import same_bits

NUMBERS = [dt.i8, dt.u8, dt.i16, dt.u64, dt.i32, dt.i64, dt.f16, dt.f32, dt.f64]


def compiled(graph: Graph, arguments: list[Any]) -> list[Any]:
    """What the machine gives for the interpreter's results, once their bits are found equal."""
    with config.using(cache="off"):
        found = compile_graph(graph)(*arguments)
    for expected, got in zip(evaluate(graph, arguments), found, strict=True):
        assert same_bits(expected, got), f"expected {expected}, found {got}"
    return list(found)


def same_everywhere(function: Any, *arguments: Any) -> list[Any]:
    """The results, once both vector widths, the kernel interpreter and the machine agree."""
    graph = optimise(graph_of(function, *arguments), check=True)
    values = list(arguments)
    shapes = [(r.shape, r.dtype.numpy) for r in graph.results]
    expected = evaluate(graph, values)
    for target in (X86_64_V3, X86_64_V4):
        found = run_plan(plan(graph, target, check=True).plan, values, shapes)
        for a, b in zip(expected, found, strict=True):
            assert same_bits(a, b), f"{target.id}: expected {a}, found {b}"
    return compiled(graph, values)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(NUMBERS),
    st.integers(9, 700),
    st.sampled_from(["argmax", "argmin", "max", "min", "sum", "prod"]),
    st.integers(0, 2**32 - 1),
)
def test_rows_of_any_length(dtype: DType, length: int, name: str, seed: int) -> None:
    """Turns, whole vectors behind them and a last one that is not whole."""
    x = elements(np.random.default_rng(seed), dtype, (3, length))
    if name in ("sum", "prod") and dtype.is_float:
        x = (x == x) & (x > 0)
    same_everywhere(lambda x: getattr(pnp, name)(x, axis=1), x)


@settings(max_examples=15, deadline=None)
@given(st.one_of(st.integers(9, 40), st.integers(41, 700)), st.integers(0, 2**32 - 1))
def test_truths_of_any_length(length: int, seed: int) -> None:
    x = elements(np.random.default_rng(seed), dt.b1, (3, length))

    def function(x: Any) -> Any:
        return x.any(axis=1), x.all(axis=1), x.sum(axis=1), x.argmax(axis=1), x.argmin(axis=1)

    for name, found in zip(
        ("any", "all", "sum", "argmax", "argmin"), same_everywhere(function, x), strict=True
    ):
        assert np.array_equal(found, getattr(x, name)(axis=1))


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int8, np.uint16, np.int16])
@pytest.mark.parametrize("length", [70_000, SPLIT + 70_001])
def test_sums_outgrow_what_they_are_kept_in(dtype: Any, length: int) -> None:
    """Each lane's sum would wrap, were it not emptied: alone, and where tasks share the row."""
    edges = (True,) if dtype is np.bool_ else (np.iinfo(dtype).max, np.iinfo(dtype).min)
    for value in edges:
        x = np.full(length, value, dtype)
        (found,) = compiled(graph_of(lambda x: x.sum(), x), [x])
        assert found == length * int(value)


def test_counts_of_bytes_are_kept_in_bytes() -> None:
    """64 to a vector of 512 bits, and no more than 255 a lane before they are emptied."""
    x = np.zeros(100_000, np.int8)
    graph = optimise(graph_of(lambda x: (x == 0).sum(), x), check=True)
    (kernel,) = plan(graph, X86_64_V4).plan.kernels
    loops = [s for s in walk(kernel.body) if isinstance(s, For)]
    assert [s.extent for s in loops if s.kind is Kind.VECTOR] == [64]
    kept = {c.var.dtype for s in loops for c in s.carried}
    assert kept == {dt.u8, dt.i32}
    (found,) = compiled(graph, [x])
    assert found == x.size


@pytest.mark.parametrize(
    "at", [(), (0,), (5, 3), (70_000,), (SPLIT + 20, 7), (SPLIT + 30,)], ids=repr
)
def test_what_tasks_share_is_walked_once(at: tuple[int, ...]) -> None:
    """Four reductions are one loop over the elements; the first NaN is the extremum, wherever it
    is: in a block, or in what the blocks leave."""
    x = np.random.default_rng(0).standard_normal(SPLIT + 31).astype(np.float32)
    x[list(at)] = np.nan

    def function(x: Any) -> Any:
        return (x > 0.5).sum(), pnp.isnan(x).any(), x.argmax(), x.max()

    found = compiled(graph_of(function, x), [x])
    assert found[0] == (x > 0.5).sum()
    assert (found[1], found[2]) == (bool(at), np.argmax(x))
    blocks = planned(function, x).plan.kernels[0]
    first = next(s for s in walk(blocks.body) if isinstance(s, For) and s.kind is Kind.VECTOR)
    (turns,) = [s for s in walk(first.body) if isinstance(s, For)]
    assert [c.var.dtype for c in turns.carried] == [
        *(dt.i32, dt.b1),
        *(dt.f32, dt.i32) * 4,
        *(dt.b1, dt.f32),
    ]


@pytest.mark.parametrize("rows", [1, 3])
def test_sums_of_floats_beside_free_reductions_keep_their_order(rows: int) -> None:
    x = np.random.default_rng(1).standard_normal((rows, SPLIT + 77)).astype(np.float32)
    compiled(graph_of(lambda x: (x.sum(axis=1), x.argmax(axis=1), (x > 0).sum(axis=1)), x), [x])


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_element_at_a_place_has_the_sign_of_its_zero(name: str) -> None:
    """Zeros are equal: the first of them is the element, not the one with the other sign."""
    x = np.zeros((2, 100), np.float32)
    x[0, 0], x[1, 1:] = -0.0, -0.0

    def function(x: Any) -> Any:
        place = getattr(pnp, name)(x, axis=1)
        return place, pnp.take_along_axis(x, place[:, None], 1)

    place, element = same_everywhere(function, x)
    assert np.array_equal(place, [0, 0])
    assert np.array_equal(np.signbit(element[:, 0]), [True, False])


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_in_what_is_no_line(name: str) -> None:
    """A row of two variables, which memory does not walk as one."""
    x = np.random.default_rng(2).integers(0, 9, (3, 7, 40)).astype(np.float64)
    x[1, 3, 20] = np.nan

    def function(x: Any) -> Any:
        part = x[:, :, 3:]
        return getattr(pnp, name)(part.reshape(3, -1), axis=1)

    (found,) = same_everywhere(function, x)
    assert np.array_equal(found, getattr(np, name)(x[:, :, 3:].reshape(3, -1), axis=1))


@pytest.mark.parametrize("rows", [2, 40])
def test_places_of_what_is_stored_on_the_way(rows: int) -> None:
    """The values that are kept for what follows are filled by the walk that finds the place."""
    x = np.random.default_rng(3).standard_normal((rows, 500)).astype(np.float32)
    x[1, 70:] = np.nan

    def function(x: Any) -> Any:
        y = pnp.exp(pnp.sin(x) * pnp.cos(x))
        place = pnp.argmax(y, axis=1)
        return place, y / place[:, None].astype(np.float32), y.max(axis=1)

    place, *_ = same_everywhere(function, x)
    assert place[1] == 70


def test_rows_of_the_worst_values_begin_with_the_place() -> None:
    """Nothing is better than what the walk begins with."""
    for x in (np.full((2, 300), -np.inf, np.float32), np.full((2, 300), -128, np.int8)):
        (found,) = same_everywhere(lambda x: pnp.argmax(x, axis=1), x)
        assert np.array_equal(found, [0, 0])


@pytest.mark.parametrize("length", [9, FEW, FEW + 1, 40])
def test_the_first_truth_of_short_rows(length: int) -> None:
    """Few enough that a place is kept beside the truth, and more."""
    x = np.zeros((3, length), bool)
    x[1, 5:], x[2] = True, True

    most, least = (places(simple_graph(op, x, (1,)), x) for op in ("argmax", "argmin"))
    assert np.array_equal(most, [0, 5, 0])
    assert np.array_equal(least, [0, 0, 0])


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([GROUP + 1, 2 * GROUP + 77, SPLIT - 1, SPLIT, SPLIT + 70_001]),
    st.lists(st.floats(0, 1), max_size=2),
    st.sampled_from([1, 2]),
)
def test_truths_are_known_at_the_first_that_decides(
    length: int, where: list[float], rows: int
) -> None:
    """Nowhere, in the first block, in a later one, behind the last; in all rows, or in one."""
    x = np.zeros((rows, length), np.float32)
    for k, share in enumerate(where):
        x[k % rows, int(share * (length - 1))] = 1.0

    def function(x: Any) -> Any:
        return (x > 0).any(axis=1), (x <= 0).all(axis=1), (x > 0).argmax(axis=1)

    for k in range(3):
        compiled(graph_of(lambda x, k=k: function(x)[k], x), [x])


@pytest.mark.parametrize("dtype", [dt.b1, dt.i8, dt.u8, dt.i16, dt.f16], ids=repr)
@pytest.mark.parametrize("length", [LONG, SPLIT + 12_345])
def test_places_of_long_rows_of_small_elements(dtype: DType, length: int) -> None:
    """The first of several that are the extremum, the last element, and rows of one value."""
    x = np.zeros((1, length), dtype.numpy)
    for where in ([], [length - 1], [70, 71], [length // 2, length - 3]):
        x[:] = 0
        x[0, where] = 1
        for name in ("argmax", "argmin"):
            graph = graph_of(lambda x, name=name: getattr(pnp, name)(x, axis=1), x)
            (found,) = compiled(graph, [x])
            assert found[0] == getattr(np, name)(x)


def test_what_is_known_early_is_so_in_the_kernel_interpreter_too() -> None:
    x = np.zeros((1, SPLIT + 3), bool)
    for place in (5, SPLIT - 7, SPLIT + 2):
        x[:] = False
        x[0, place] = True
        for reduction in (pnp.any, pnp.argmax):
            same_everywhere(lambda x, f=reduction: f(x, axis=1), x)


def test_one_walk_finds_a_place() -> None:
    """Beside the loop for NaN, which is behind a branch, there is one loop over the row."""
    (kernel,) = planned(
        lambda x: pnp.argmax(x, axis=1), ones(9, 1000).astype(np.int32)
    ).plan.kernels
    loops = [s for s in walk(kernel.body) if isinstance(s, For) and s.carried]
    assert len(loops) == 1
