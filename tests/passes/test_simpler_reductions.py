"""Places of extrema and sums of small integers by simpler reductions: NumPy's results, to the
bit, in each axis and on each target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyc import config
from pyc.backends.oracle import run_plan
from pyc.compile import compile_graph
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.evaluate import evaluate
from pyc.ir.expr import Var
from pyc.ir.graph import Builder, Graph
from pyc.ir.loops import Reduce
from pyc.ir.target import X86_64_V3, X86_64_V4
from pyc.ir.types import ArrayType
from pyc.passes.memory import plan
from pyc.passes.simpler_reductions import simpler
from tests.programs.differential import same_bits

SPECIAL = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0]


def graph_of(op: str, x: Any, axes: tuple[int, ...], wide: DType | None = None) -> Graph:
    b = Builder()
    dtype = dt.of(x.dtype)
    assert dtype is not None
    value = b.param(ArrayType(x.shape, dtype))
    if wide is not None:
        value = b.bind1("cast", value, dtype=wide)
    return b.build([b.bind1(op, value, axes=axes)])


def same_everywhere(graph: Graph, x: Any) -> Any:
    """The result, once both vector widths, the kernel interpreter and the machine agree on it."""
    (expected,) = evaluate(graph, [x])
    shapes = [(r.shape, r.dtype.numpy) for r in graph.results]
    for target in (X86_64_V3, X86_64_V4):
        (found,) = run_plan(plan(graph, target).plan, [x], shapes)
        assert same_bits(expected, found), f"{target}: expected {expected}, found {found}"
    with config.using(cache="off"):
        (found,) = compile_graph(graph)(x)
    assert same_bits(expected, found), f"compiled: expected {expected}, found {found}"
    return expected


def elements(rng: Any, dtype: DType, shape: tuple[int, ...]) -> Any:
    """Numbers with many ties, and special values."""
    if dtype is dt.b1:
        return rng.random(shape) < rng.choice([0.0, 0.01, 0.5, 1.0])
    if dtype.is_float:
        few = rng.choice(SPECIAL, rng.integers(1, 5))
        return rng.choice(few, shape).astype(dtype.numpy)
    info = np.iinfo(dtype.numpy)
    return rng.choice(np.array([info.min, info.max, 0, 1], dtype.numpy), shape)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([dt.b1, dt.i8, dt.u64, dt.i32, dt.i64, dt.f16, dt.f32, dt.f64]),
    st.sampled_from([(1, 17), (3, 40), (40, 3), (5, 300), (300, 20), (2, 3, 50)]),
    st.sampled_from([(0,), (1,), (0, 1)]),
    st.sampled_from(["argmax", "argmin"]),
    st.integers(0, 2**32 - 1),
)
def test_the_first_place_of_an_extremum(
    dtype: DType, shape: tuple[int, ...], axes: tuple[int, ...], op: str, seed: int
) -> None:
    x = elements(np.random.default_rng(seed), dtype, shape)
    found = same_everywhere(graph_of(op, x, axes), x)
    if len(axes) == 1:
        wide = x.astype(np.float64) if dtype is dt.f16 else x
        assert np.array_equal(found, getattr(np, op)(wide, axis=axes[0]))


@pytest.mark.parametrize("last", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_long_rows_that_tasks_share(op: str, last: float) -> None:
    """The extremum of more elements than one task looks at, in two axes, once it is there."""
    x = np.full((2, 1 << 17), 0.5, np.float32)
    x[1, 70_001], x[1, 70_002] = last, last
    with config.using(cache="off"):
        (found,) = compile_graph(graph_of(op, x, (0, 1)))(x)
    assert found == getattr(np, op)(x)


def simpler_of(s: Reduce) -> list[Reduce]:
    return [r for r in simpler((s,)) if isinstance(r, Reduce)]


def reduction(value_type: DType, length: int, wide: DType = dt.i64) -> Reduce:
    """A sum of so many integers of a type."""
    from_ = Var("x", value_type)
    return Reduce((Var("sum", wide),), ((Var("r"), length),), (from_.cast(wide),), "add")


@pytest.mark.parametrize(
    ("small", "length", "narrow"),
    [
        (dt.b1, (1 << 31) - 1, True),
        (dt.b1, 1 << 31, False),
        (dt.u16, (1 << 15) - 1, True),
        (dt.u16, 1 << 15, False),
        (dt.i8, 1000, True),
        (dt.i32, 1000, False),
    ],
    ids=repr,
)
def test_a_sum_is_narrow_where_it_cannot_overflow(small: DType, length: int, narrow: bool) -> None:
    (found,) = simpler_of(reduction(small, length))
    assert (found.results[0].dtype is dt.i32) is narrow


@pytest.mark.parametrize("dtype", [dt.b1, dt.i8, dt.u8, dt.i16, dt.u16], ids=repr)
def test_the_largest_sums_are_right(dtype: DType) -> None:
    edge = True if dtype is dt.b1 else np.iinfo(dtype.numpy).max
    least = False if dtype is dt.b1 else np.iinfo(dtype.numpy).min
    for value in (edge, least):
        x = np.full((2, (1 << 15) - 1), value, dtype.numpy)
        with config.using(cache="off"):
            (found,) = compile_graph(graph_of("reduce_sum", x, (1,), dt.i64))(x)
        assert np.array_equal(found, x.sum(axis=1, dtype=np.int64))


def test_a_place_is_two_reductions() -> None:
    x, r = Var("x", dt.f32), Var("r")
    results = (Var("value", dt.f32), Var("place", dt.i64))
    whole = Reduce(results, ((r, 1000),), (x, r), "argmax")
    assert [s.monoid for s in simpler_of(whole)] == ["maximum", "minimum"]
    short = Reduce(results, ((r, 8),), (x, r), "argmax")
    assert [s.monoid for s in simpler_of(short)] == ["argmax"]
