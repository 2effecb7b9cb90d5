"""Sorts of which only the first elements are read: no more is made, and the bits are the same."""

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
from pyc.ir.ops.sort import INSERTION, RANKED
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
WHOLE = {
    "last": lambda b, x: part(b, ordered(b, x), x.shape[1] - 1, 1),
    "more_than_a_few": lambda b, x: part(b, ordered(b, x), 0, INSERTION + 1),
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
    assert "top_k" not in found
    assert "sort" in found or name == "none"


def test_short_rows_are_sorted_by_ranks() -> None:
    assert "top_k" not in ops(graph(FIRST["first"][0], 3, RANKED[4]))


@pytest.mark.parametrize("name", FIRST)
@pytest.mark.parametrize("dtype", [dt.f32, dt.f16, dt.i32, dt.i64], ids=repr)
def test_the_bits_are_those_of_the_whole_sort(name: str, dtype: DType) -> None:
    """With ties, zeros of both signs, NaN, and the integer that has no negative."""
    rng = np.random.default_rng(5)
    special = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0]
    if dtype.is_float:
        x = rng.choice(special, (LONG, LONG)).astype(dtype.numpy)
    else:
        x = rng.choice([np.iinfo(dtype.numpy).min, -1, 0, 1], (LONG, LONG)).astype(dtype.numpy)
    before = graph(FIRST[name][0], *x.shape, dtype=dtype)
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
