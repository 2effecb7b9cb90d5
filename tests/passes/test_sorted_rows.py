"""Sorts of which only some elements are read: no more is made, and the bits are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Builder, Graph, Value
from pyc.ir.ops.sort import NARROWED, RANKED
from pyc.ir.types import ArrayType
from pyc.passes.dce import dce
from pyc.passes.simplify import simplify
from tests.programs.differential import same_bits

LONG = RANKED[8] + 1


def graph(make: Any, *shape: int, dtype: DType = dt.f32) -> Graph:
    """The Graph of what `make` gives of one parameter."""
    b = Builder()
    found = make(b, b.param(ArrayType(shape, dtype)))
    return b.build(list(found) if isinstance(found, tuple) else [found])


def part(b: Builder, x: Value, start: int, size: int, axis: int = 1, step: int = 1) -> Value:
    """Some elements along an axis of a matrix, all of the other."""
    where = {"start": [0, 0], "size": list(x.shape), "step": [1, 1]}
    for name, n in zip(where, (start, size, step), strict=True):
        where[name][axis] = n
    return b.bind1("slice", x, **{name: tuple(n) for name, n in where.items()})


def ordered(b: Builder, x: Value, op: str = "sort", descending: bool = False) -> Value:
    return b.bind1(op, x, descending=descending)


def turned(b: Builder, x: Value) -> Value:
    return b.bind1("transpose", x, axes=(1, 0))


def ops(g: Graph) -> list[str]:
    return [e.op.name for e in dce(simplify(g)).eqns]


def first_rows(b: Builder, x: Value) -> Value:
    return part(b, turned(b, ordered(b, turned(b, x))), 1, 3, axis=0)


def first_two_ways(b: Builder, x: Value) -> tuple[Value, Value]:
    whole = ordered(b, x, "argsort")
    return part(b, whole, 0, 2), part(b, whole, 4, 3, step=-2)


def top_of_negated(b: Builder, x: Value) -> Value:
    least = part(b, ordered(b, b.bind1("neg", x)), 0, 8)
    return b.bind1("neg", ordered(b, least))


FIRST = {
    "first": (lambda b, x: part(b, ordered(b, x), 0, 8), ["top_k"]),
    "one": (lambda b, x: part(b, ordered(b, x, descending=True), 7, 1), ["top_k", "slice"]),
    "places": (lambda b, x: part(b, ordered(b, x, "argsort"), 0, 1), ["top_k"]),
    "along_columns": (first_rows, ["transpose", "top_k", "transpose", "slice"]),
    "two_parts": (first_two_ways, ["top_k", "slice", "slice"]),
    "of_negated": (top_of_negated, ["top_k"]),
}


def two_in_the_middle(b: Builder, x: Value) -> tuple[Value, Value]:
    whole = b.bind1("cast", ordered(b, x), dtype=dt.f64)
    return part(b, whole, 80, 1), part(b, whole, 79, 1)


def places_of_columns(b: Builder, x: Value) -> tuple[Value, ...]:
    whole = turned(b, ordered(b, turned(b, x), descending=True))
    return part(b, whole, LONG - 3, 3, axis=0), part(b, whole, 40, 1, axis=0, step=-1)


PLACES = {
    "last": lambda b, x: part(b, ordered(b, x), x.shape[1] - 1, 1),
    "two": two_in_the_middle,
    "of_columns": places_of_columns,
    "of_negated": lambda b, x: part(b, ordered(b, b.bind1("neg", x)), 50, 2),
}
WHOLE = {
    "more_than_a_few": lambda b, x: part(b, ordered(b, x), 0, LONG // NARROWED + 1),
    "far_apart": lambda b, x: tuple(part(b, ordered(b, x), n, 1) for n in range(0, LONG, 8)),
    "steps": lambda b, x: part(b, ordered(b, x), 0, 3, step=40),
    "places": lambda b, x: part(b, ordered(b, x, "argsort"), 70, 1),
    "all_is_read_too": lambda b, x: (part(b, ordered(b, x), 0, 1), b.bind1("exp", ordered(b, x))),
    "none": lambda b, x: part(b, ordered(b, x), 3, 0),
    "result": lambda b, x: (lambda whole: (part(b, whole, 0, 1), whole))(ordered(b, x)),
}


@pytest.mark.parametrize("name", FIRST)
def test_only_the_first_elements_are_made(name: str) -> None:
    make, expected = FIRST[name]
    shape = (LONG, 3) if name == "along_columns" else (3, LONG)
    assert ops(graph(make, *shape)) == expected


@pytest.mark.parametrize("name", WHOLE)
def test_what_needs_more_is_sorted(name: str) -> None:
    found = ops(graph(WHOLE[name], 3, LONG))
    assert not {"top_k", "order_statistics"} & {*found}
    assert {"sort", "argsort"} & {*found} or name == "none"


@pytest.mark.parametrize("name", PLACES)
def test_only_the_places_that_are_read_are_looked_for(name: str) -> None:
    found = ops(graph(PLACES[name], *((LONG, 3) if name == "of_columns" else (3, LONG))))
    assert "order_statistics" in found and "sort" not in found


def test_two_sorts_of_one_array_are_read_apart() -> None:
    """They become one value, of which each reads its own."""

    def make(b: Builder, x: Value) -> tuple[Value, ...]:
        reads = [(0, 3), (100, 1), (0, 8), (120, 2)]
        return tuple(part(b, ordered(b, x), *read) for read in reads)

    x = np.random.default_rng(2).standard_normal((2, LONG)).astype(np.float32)
    before = graph(make, 2, LONG)
    for a, b in zip(evaluate(before, [x]), evaluate(simplify(before), [x]), strict=True):
        assert same_bits(a, b)


def test_many_first_places_are_found_in_long_rows_only() -> None:
    def make(b: Builder, x: Value) -> Value:
        return part(b, ordered(b, x, "argsort"), 0, 100)

    assert ops(graph(make, 2, 100 * NARROWED)) == ["top_k"]
    assert ops(graph(make, 2, 100 * NARROWED - 1)) == ["argsort", "slice"]


def test_short_rows_are_sorted_by_ranks() -> None:
    assert "top_k" not in ops(graph(FIRST["first"][0], 3, RANKED[4]))


@pytest.mark.parametrize("name", FIRST | PLACES)
@pytest.mark.parametrize("dtype", [dt.f32, dt.f16, dt.i32, dt.i64], ids=repr)
def test_the_bits_are_those_of_the_whole_sort(name: str, dtype: DType) -> None:
    """With ties, zeros of both signs, NaN, and the integer that has no negative."""
    rng = np.random.default_rng(5)
    special = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0]
    if dtype.is_float:
        x = rng.choice(special, (LONG, LONG)).astype(dtype.numpy)
    else:
        x = rng.choice([np.iinfo(dtype.numpy).min, -1, 0, 1], (LONG, LONG)).astype(dtype.numpy)
    make = PLACES[name] if name in PLACES else FIRST[name][0]
    before = graph(make, *x.shape, dtype=dtype)
    for a, b in zip(evaluate(before, [x]), evaluate(simplify(before), [x]), strict=True):
        assert same_bits(a, b)
        assert np.array_equal(np.signbit(a), np.signbit(b))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.integers(100, 400), st.integers(1, 32), st.integers(0, 2**32 - 1))
def test_the_least_of_a_partition_are_numpys(rows: int, n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.choice([0.0, 1.5, np.nan, -np.inf, *rng.standard_normal(20)], (rows, n))

    @pyc.jit
    def least(x: Any) -> Any:
        return np.partition(x, k - 1, axis=1)[:, :k], np.argsort(-x, axis=1, kind="stable")[:, :k]

    found, places = least(x)
    assert same_bits(found, np.sort(x, axis=1)[:, :k])
    assert same_bits(places, np.argsort(-x, axis=1, kind="stable")[:, :k])


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 3), st.sampled_from([301, 640]), st.data())
def test_quantiles_and_medians_are_numpys(rows: int, n: int, data: Any) -> None:
    """With ties, of all types of numbers; NaN makes the result NaN."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    kind = data.draw(st.sampled_from(["f8", "f4", "i4", "u1"]))
    x = rng.choice([0.0, 1.0, 7.0, *rng.integers(0, 200, 20)], (rows, n)).astype(kind)
    if kind[0] == "f" and data.draw(st.booleans()):
        x[0, data.draw(st.integers(0, n - 1))] = np.nan
    q = np.array([0.1, 0.5, 0.99])
    k = data.draw(st.integers(0, n - 1))

    @pyc.jit
    def several(x: Any) -> Any:
        return np.median(x, axis=1), np.quantile(x, q, axis=1), np.partition(x, k)[:, k]

    middle, quantiles, kth = several(x)
    assert same_bits(middle, np.median(x, axis=1))
    np.testing.assert_allclose(quantiles, np.quantile(x, q, axis=1), rtol=1e-6)
    assert same_bits(kth, np.sort(x, axis=1)[:, k])
