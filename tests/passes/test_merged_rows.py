"""Short rows with several regions: groups of several vectors of them have the bits of each row."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc
import pyc.numpy as pnp
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.expr import Load, Var, postorder
from pyc.ir.loops import Buffer, For, Kind, Prefetch, Stmt, expressions, walk
from pyc.ir.target import X86_64_V4
from pyc.passes import optimise, reduction, schedule
from pyc.passes.memory import plan
from pyc.passes.merged_rows import GROUP_BYTES, MANY_GROUPS
from pyc.passes.reduction import FAR
from tests.passes.programs import graph_of, ones
from tests.passes.test_any_order import same_everywhere


def scaled(x: Any) -> Any:
    length = pnp.sqrt(pnp.sum(x * x, axis=1))
    return x / length[:, None], length


def normal(x: Any) -> Any:
    away = x - pnp.mean(x, axis=1, keepdims=True)
    return away / pnp.sqrt(pnp.mean(away * away, axis=1, keepdims=True) + 1.0)


def shares(x: Any) -> Any:
    return x / pnp.sum(x, axis=1, keepdims=True), pnp.max(x, axis=1)


def rows(number: int, length: int, dtype: Any, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal((number, length)).astype(dtype)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([scaled, normal, shares]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(MANY_GROUPS * 8 - 9, MANY_GROUPS * 72),
    st.integers(6, 128),
    st.integers(0, 2**32 - 1),
)
def test_any_number_of_rows_of_any_length(
    function: Any, dtype: Any, number: int, length: int, seed: int
) -> None:
    """The last group may begin within the one before, and have few rows of its own."""
    with mock.patch.object(schedule, "LARGE_WORK", 0):
        same_everywhere(function, rows(number, length, dtype, seed))


def group_vectors(number: int, length: int) -> int:
    """The vectors of rows in a group."""
    graph = optimise(graph_of(scaled, ones(number, length, dtype=np.float64)), check=True)
    (kernel,) = plan(graph, X86_64_V4, check=True).plan.kernels
    found = [s.extent for s in walk(kernel.body) if isinstance(s, For) and s.var.name == "vector"]
    assert len(found) <= 1
    return int(found[0]) if found else 1  # type: ignore[arg-type]


def test_a_group_is_of_the_vectors_that_fit() -> None:
    assert group_vectors(4096, 64) == GROUP_BYTES // (8 * 64 * 8)
    assert group_vectors(4096, 128) == 1
    assert group_vectors(4096, 32) == GROUP_BYTES // (8 * 32 * 8)
    assert group_vectors(160, 32) == 1


@pytest.mark.parametrize("number", [2048, 2051])
def test_rows_that_are_replaced_where_they_lie(number: int) -> None:
    """No row is done twice, with any number of threads."""
    x = rows(number, 40, np.float64, 0)
    expected = np.asarray(pyc.jit(normal)(x))
    function = pyc.jit(normal, donate_argnums=0)
    for threads in (1, 2):
        pyc.set_num_threads(threads)
        assert np.asarray(function(x.copy())).tobytes() == expected.tobytes()


def test_the_loops_over_a_group() -> None:
    graph = optimise(graph_of(normal, ones(2048, 64, dtype=np.float64)), check=True)
    (kernel,) = plan(graph, X86_64_V4, check=True).plan.kernels
    loops = [s for s in walk(kernel.body) if isinstance(s, For)]
    assert sum(s.kind is Kind.PARALLEL for s in loops) == 1
    assert sum(s.var.name == "vector" for s in loops) == 2


@pytest.mark.parametrize(
    ("length", "dtype"), [(128, np.float64), (256, np.float64), (384, np.float32)]
)
@pytest.mark.parametrize("function", [pnp.sum, pnp.max, pnp.var], ids=lambda f: f.__name__)
def test_rows_are_read_in_the_order_of_memory(length: int, dtype: Any, function: Any) -> None:
    """However their lanes meet; rows of several elements a lane one by one, since what is compiled
    of several would be read in turns."""
    x = np.empty((1 << 15, length), dtype)
    graph = optimise(graph_of(lambda x: function(x, axis=1), x), check=True)
    (kernel,) = plan(graph, X86_64_V4, check=True).plan.kernels
    (source,) = (b for b in kernel.buffers if b.role == "in")
    vectors = [s for s in walk(kernel.body) if isinstance(s, For) and s.kind is Kind.VECTOR]
    read = [[p for t in walk(s.body) for p in _places(t, source)] for s in vectors]
    first = next(places for places in read if places)
    rows = 4 if length <= 128 else 1
    assert len(first) == rows * length * x.itemsize // X86_64_V4.vector_bytes
    for row in range(rows):
        part = first[row * len(first) // rows : (row + 1) * len(first) // rows]
        assert part == sorted(part)


@pytest.mark.parametrize(
    ("function", "number", "length", "expected"),
    [
        (pnp.sum, 4096, 200, range(9, 16)),  # the others meet vectors of the second row of lanes
        (pnp.sum, 4096, 128, range(1, 16)),
        (pnp.sum, 4096, 100, range(1, 12)),  # the last is not whole
        (pnp.sum, 4096, 72, ()),  # two meet first of all, and the others in their order
        (pnp.sum, 4096, 256, ()),  # all meet one of the second row, in their order
        (pnp.max, 4096, 200, ()),  # uses what is loaded more than once
        (pnp.sum, FAR // 1600, 200, ()),  # small enough to be near
    ],
)
def test_vectors_that_wait_for_others_are_asked_for(
    function: Any, number: int, length: int, expected: Any
) -> None:
    """Where they are loaded: else they would be loaded where they are used."""
    x = ones(number, length, dtype=np.float64)
    graph = optimise(graph_of(lambda x: function(x, axis=1), x), check=True)
    (kernel,) = plan(graph, X86_64_V4, check=True).plan.kernels
    found = [s for s in walk(kernel.body) if isinstance(s, Prefetch)]
    assert all(s.first for s in found)
    variables = {v: 0 for s in found for v in postorder(s.index) if isinstance(v, Var)}
    places = [int(evaluate(s.index, variables)[0]) // 8 for s in found]
    assert sorted({p for p in places if p < length // 8}) == list(expected)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([scaled, normal, shares, lambda x: pnp.sum(x, axis=1)]),
    st.sampled_from([np.float32, np.float64, np.complex64]),
    st.integers(64, 400),
    st.integers(60, 300),
    st.integers(0, 2**32 - 1),
)
def test_asking_changes_no_bits(
    function: Any, dtype: Any, number: int, length: int, seed: int
) -> None:
    with mock.patch.object(reduction, "FAR", 0), mock.patch.object(schedule, "LARGE_WORK", 0):
        same_everywhere(function, rows(number, length, dtype, seed))


def _places(s: Stmt, source: Buffer) -> list[int]:
    """Where a statement reads `source`, in the first of all rows."""
    loads = [n for n in postorder(expressions(s)) if isinstance(n, Load) and n.buffer is source]
    variables = {v: 0 for n in loads for v in postorder([n]) if isinstance(v, Var)}
    return [int(evaluate(n.index, variables)[0]) for n in loads]
