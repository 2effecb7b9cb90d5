"""`pyc.lax.associative_scan`: what a loop gives for any associative function, in few operations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc.numpy as pnp
from pyc import lax
from pyc.jit import jit
from tests.test_lax import everywhere, same


class Line(NamedTuple):
    """The function x -> slope x + offset."""

    slope: Any
    offset: Any


def after(first: Line, second: Line) -> Line:
    """`second` of what `first` gives."""
    return Line(first.slope * second.slope, second.slope * first.offset + second.offset)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 40), st.booleans(), st.sampled_from([0, 1, -1]))
def test_a_recurrence_is_a_scan(length: int, reverse: bool, axis: int) -> None:
    """h[k] = slope[k] h[k - 1] + offset[k], by small integers: exact in any order."""
    rng = np.random.default_rng(length)
    shape = (length, 3) if axis == 0 else (3, length)
    slope = rng.choice([-1.0, 1.0, 0.0], shape)
    offset = rng.integers(-9, 9, shape).astype(np.float64)
    found = everywhere(
        lambda a, b: lax.associative_scan(after, Line(a, b), reverse, axis), slope, offset
    )
    expected, rows = np.empty(shape), np.arange(length)[:: -1 if reverse else 1]
    h = np.zeros(3)
    for k in rows:
        at = (k, slice(None)) if axis == 0 else (slice(None), k)
        h = slope[at] * h + offset[at]
        expected[at] = h
    assert isinstance(found, Line)
    assert np.array_equal(found.offset, expected)


def test_order_is_kept_where_the_function_does_not_commute() -> None:
    """Products of matrices, which are slices along the first axis."""
    x = np.random.default_rng(1).integers(-1, 2, (21, 2, 2)).astype(np.float64)
    found = everywhere(lambda x: lax.associative_scan(pnp.matmul, x), x)
    expected = [x[0]]
    for matrix in x[1:]:
        expected.append(expected[-1] @ matrix)
    assert np.array_equal(found, np.array(expected))


def test_a_dict_of_arrays_of_different_types() -> None:
    """The last place at which something was seen, and how often."""
    seen = np.array([False, True, False, False, True, True, False])

    def latest(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
        place = pnp.where(b["seen"] > 0, b["place"], a["place"])
        return {"seen": a["seen"] + b["seen"], "place": place}

    def places(seen: Any) -> Any:
        start = {"seen": pnp.astype(seen, np.int32), "place": pnp.arange(seen.shape[0])}
        return lax.associative_scan(latest, start)

    found = jit(places)(seen)
    assert found["seen"].dtype == np.int32
    same(found["seen"], np.cumsum(seen, dtype=np.int32))
    assert found["place"][1:].tolist() == [1, 1, 1, 4, 5, 5]


def test_nothing_to_scan() -> None:
    assert lax.associative_scan(lambda a, b: a, ()) == ()


@pytest.mark.parametrize("length", [1000, 100_000])
def test_operations_grow_with_the_logarithm(length: int) -> None:
    def running(x: Any) -> Any:
        return lax.associative_scan(pnp.maximum, x)

    equations = jit(running).trace(np.zeros(length)).graph.eqns
    assert len(equations) <= 16 * np.log2(length)
