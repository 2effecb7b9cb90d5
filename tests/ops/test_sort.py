"""sort, argsort and top_k: every executor gives NumPy's stable order, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyc import config
from pyc.backends.oracle import run_plan
from pyc.compile import compile_graph
from pyc.errors import DTypeError, ShapeError
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Builder, Graph
from pyc.ir.op import OPS
from pyc.ir.ops import sort as sorting
from pyc.ir.target import X86_64_V3
from pyc.ir.types import ArrayType
from pyc.passes.memory import plan
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]

TYPES = (dt.b1, dt.i8, dt.u16, dt.i32, dt.u64, dt.i64, dt.f16, dt.bf16, dt.f32, dt.f64)
LENGTHS = st.integers(0, 40) | st.integers(0, 300)
BINARY, WAYS = st.integers(0, 1), st.sampled_from([1, -1])
SPECIAL = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0, 2.5, 1e-6])


def graph_of(op: str, x: Array, **params: Any) -> Graph:
    builder = Builder()
    dtype = dt.of(x.dtype)
    assert dtype is not None
    value = builder.param(ArrayType(x.shape, dtype))
    return builder.build(builder.bind(op, value, **params))


def elements(seed: int, dtype: DType, shape: tuple[int, ...], spread: int) -> Array:
    """Numbers with many ties and special values (spread 0), or of any bits."""
    rng = np.random.default_rng(seed)
    if dtype is dt.b1:
        return rng.integers(0, 2, shape).astype(bool)
    if spread:
        size = int(np.prod(shape)) * dtype.itemsize
        bits = rng.integers(0, 256, size).astype(np.uint8)
        return bits.view(dtype.numpy).reshape(shape)
    if dtype.is_float:
        return rng.choice(SPECIAL, shape).astype(dtype.numpy)
    low = 0 if dtype.kind == "uint" else -4
    return rng.integers(low, 4, shape).astype(dtype.numpy)


def on_every_executor(op: str, x: Array, **params: Any) -> list[Array]:
    """The results, once the Graph interpreter, the kernel interpreter and the compiled program
    agree on them."""
    graph = graph_of(op, x, **params)
    expected = evaluate(graph, [x])
    planned = plan(graph, X86_64_V3).plan
    shapes = [(r.shape, r.dtype.numpy) for r in graph.results]
    with config.using(cache="off"):
        compiled = compile_graph(graph)(x)
    for a, b, c in zip(expected, run_plan(planned, [x], shapes), compiled, strict=True):
        assert same_bits(a, b), f"kernel interpreter: expected {a}, found {b}"
        assert same_bits(a, c), f"compiled: expected {a}, found {c}"
    return expected


ONE_OF_EACH_WIDTH = (dt.b1, dt.bf16, dt.f32, dt.u64)
"""Types whose rows in scratch buffers the kernel interpreter runs too, in seconds each."""


def agree_on(dtype: DType, length: int) -> Callable[..., Any]:
    """What compares the executors that are quick enough for rows of this length."""
    long = length > sorting.STACK_ROW and dtype not in ONE_OF_EACH_WIDTH
    return compiled_matches if long else on_every_executor


@st.composite
def arrays(draw: Any) -> Array:
    dtype = draw(st.sampled_from(TYPES))
    rows = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    shape = (*rows, draw(LENGTHS))
    return elements(draw(st.integers(0, 2**32 - 1)), dtype, shape, draw(st.integers(0, 1)))


@settings(max_examples=40, deadline=None)
@given(arrays(), st.booleans())
@example(np.array([0.0, -0.0, 0.0, np.nan, -np.inf, -0.0]), False)
@example(np.array([0.0, -0.0, 0.0, np.nan, np.inf, -0.0]), True)
def test_sorting_gives_the_stable_order(x: Array, descending: bool) -> None:
    (ordered,) = on_every_executor("sort", x, descending=descending)
    (places,) = on_every_executor("argsort", x, descending=descending)
    assert same_bits(ordered, np.take_along_axis(x, places, axis=-1))
    assert_in_order(x, places, descending)


@settings(max_examples=40, deadline=None)
@given(arrays(), st.data())
def test_the_best_come_as_from_a_descending_sort(x: Array, data: Any) -> None:
    k, descending = data.draw(st.integers(0, x.shape[-1])), data.draw(st.booleans())
    values, places = on_every_executor("top_k", x, k=k, descending=descending)
    whole = evaluate(graph_of("argsort", x, descending=descending), [x])[0]
    assert same_bits(places, whole[..., :k])
    assert same_bits(values, np.take_along_axis(x, places, axis=-1))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(TYPES), st.integers(60, 2500), st.integers(1, sorting.INSERTION), st.data())
def test_the_few_best_of_long_rows_are_those_of_the_whole_sort(
    dtype: DType, length: int, k: int, data: Any
) -> None:
    """Blocks that are whole and that are not; lanes with nothing, with NaN alone, in any order."""
    x = elements(data.draw(st.integers(0, 2**32 - 1)), dtype, (2, length), data.draw(BINARY))
    if data.draw(st.booleans()):
        x = np.sort(x.astype(np.float32), axis=1).astype(dtype.numpy)
        x = np.ascontiguousarray(x[:, :: data.draw(WAYS)])
    if dtype.is_float and data.draw(st.booleans()):
        x[0, data.draw(st.integers(0, length)) :] = np.nan
    compiled_matches("top_k", x, k=k, descending=data.draw(st.booleans()))


@pytest.mark.parametrize("dtype", TYPES, ids=repr)
def test_the_few_best_of_long_rows_have_the_same_bits_everywhere(dtype: DType) -> None:
    for k, spread, length in ((1, 0, 130), (8, 1, 1300), (32, 0, 700)):
        x = elements(k, dtype, (2, length), spread)
        on_every_executor("top_k", x, k=k, descending=k == 8)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TYPES), st.integers(1, 3000), st.data())
def test_places_of_the_order_are_found_without_all_of_it(
    dtype: DType, length: int, data: Any
) -> None:
    """Rows of one key, of two that are far apart, of zeros of both signs, with and without NaN."""
    x = elements(data.draw(st.integers(0, 2**32 - 1)), dtype, (2, length), data.draw(BINARY))
    if data.draw(st.booleans()):
        x[1] = x[1, 0]
    if data.draw(st.booleans()):
        x = np.sort(x.astype(np.float32), axis=1).astype(dtype.numpy)
        x = np.ascontiguousarray(x[:, :: data.draw(WAYS)])
    if dtype.is_float and data.draw(st.booleans()):
        x[0, data.draw(st.integers(0, length)) :] = np.nan
    places = data.draw(st.lists(st.integers(0, length - 1), min_size=1, max_size=6))
    compiled_matches("order_statistics", x, places=(*places,), descending=data.draw(st.booleans()))


@pytest.mark.parametrize("dtype", TYPES, ids=repr)
def test_places_of_the_order_have_the_same_bits_everywhere(dtype: DType) -> None:
    for length, spread in ((3, 1), (170, 0), (1300, 1), (sorting.STACK_ROW + 1, 1)):
        x = elements(length, dtype, (2, length), spread)
        places = (length // 2, length - 1, 0, length // 2 - 1)
        agree_on(dtype, length)("order_statistics", x, places=places, descending=spread == 0)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(TYPES), st.integers(140, 2500), st.data())
def test_many_first_of_long_rows_are_those_of_the_whole_sort(
    dtype: DType, length: int, data: Any
) -> None:
    x = elements(data.draw(st.integers(0, 2**32 - 1)), dtype, (2, length), data.draw(BINARY))
    if data.draw(st.booleans()):
        x[1] = x[1, 0]
    k = data.draw(st.integers(sorting.INSERTION + 1, length // sorting.NARROWED))
    compiled_matches("top_k", x, k=k, descending=data.draw(st.booleans()))


@pytest.mark.parametrize("dtype", TYPES, ids=repr)
def test_many_first_have_the_same_bits_everywhere(dtype: DType) -> None:
    for k, spread, length in ((33, 0, 140), (100, 1, 1100), (40, 0, sorting.STACK_ROW + 1)):
        x = elements(k, dtype, (2, length), spread)
        agree_on(dtype, length)("top_k", x, k=k, descending=k == 33)


def test_a_lane_of_nan_alone_hides_no_number() -> None:
    """All but a few elements are NaN, and infinity is one of those that are wanted."""
    x = np.full((1, 1024), np.nan, np.float32)
    x[0, [3, 700, 701]] = np.inf, -np.inf, np.inf
    values, places = on_every_executor("top_k", x, k=5, descending=False)
    assert places[0].tolist() == [700, 3, 701, 0, 1]
    assert values[0, :3].tolist() == [-np.inf, np.inf, np.inf]


def assert_in_order(x: Array, places: Array, descending: bool) -> None:
    """By comparing Python numbers: NaN last, equal ones in the order of their places."""
    rows = x.reshape(-1, x.shape[-1]).tolist() if x.size else []
    for row, order in zip(rows, places.reshape(len(rows), x.shape[-1]).tolist(), strict=True):
        assert sorted(order) == list(range(len(row)))
        for a, b in pairwise(order):
            before, after = row[a], row[b]
            if after != after:
                assert before == before or a < b
            else:
                assert before > after or (before == after and a < b) or not descending
                assert before < after or (before == after and a < b) or descending


@pytest.mark.parametrize("dtype", TYPES, ids=repr)
@pytest.mark.parametrize("length", [sorting.STACK_ROW, sorting.STACK_ROW + 1])
def test_rows_beyond_the_stack_sort_in_scratch_buffers(dtype: DType, length: int) -> None:
    """More rows than tasks with scratch of their own, so that some share it."""
    x = elements(7, dtype, (sorting.MAX_TASKS + 3, length), 1)
    compiled_matches("sort", x, descending=True)
    compiled_matches("argsort", x, descending=False)
    compiled_matches("top_k", x, k=1000, descending=True)


def compiled_matches(op: str, x: Array, **params: Any) -> None:
    graph = graph_of(op, x, **params)
    with config.using(cache="off"):
        found = compile_graph(graph)(x)
    for a, b in zip(evaluate(graph, [x]), found, strict=True):
        assert same_bits(a, b)


@pytest.mark.parametrize("dtype", TYPES, ids=repr)
def test_each_method_is_right_at_the_lengths_where_it_gives_way(dtype: DType) -> None:
    longest = sorting.RANKED[dtype.itemsize]
    for length in (longest, longest + 1):
        x = elements(11, dtype, (37, length), length % 2)
        compiled_matches("sort", x, descending=False)
        compiled_matches("argsort", x, descending=True)
    x = elements(13, dtype, (3, 500), 0)
    for k in (1, sorting.INSERTION, sorting.INSERTION + 1):
        compiled_matches("top_k", x, k=k, descending=k == 1)


def test_scratch_is_bounded_by_the_number_of_tasks() -> None:
    rows = 10 * sorting.MAX_TASKS
    x = np.zeros((rows, sorting.STACK_ROW + 1), np.float32)
    planned = plan(graph_of("sort", x, descending=False), X86_64_V3).plan
    assert 0 < planned.peak <= x.nbytes // 10 + 4096


@pytest.mark.parametrize("digits", [1, 2, 3, 5, 7])
def test_digits_that_are_alike_are_skipped_and_the_others_are_not(digits: int) -> None:
    """An odd number of digits that differ leaves a pair of which one is alike."""
    x = np.random.default_rng(3).integers(0, 1 << 8 * digits, 300) + (1 << 60)
    on_every_executor("sort", x, descending=False)
    on_every_executor("argsort", x, descending=True)


def test_float8_orders_by_value() -> None:
    for dtype in (dt.f8e4m3, dt.f8e5m2):
        x = np.arange(256, dtype=np.uint8).view(dtype.numpy)[::-1].copy()
        (places,) = on_every_executor("argsort", x, descending=False)
        assert_in_order(x.astype(np.float32), places, False)


def test_what_cannot_be_sorted_is_refused() -> None:
    with pytest.raises(ShapeError, match="at least one axis"):
        OPS["sort"].types((ArrayType((), dt.f32),), descending=False)
    with pytest.raises(DTypeError, match="no order"):
        OPS["argsort"].types((ArrayType((3,), dt.c64),), descending=False)
    with pytest.raises(ShapeError, match="k = 4"):
        OPS["top_k"].types((ArrayType((3,), dt.f32),), k=4, descending=True)
