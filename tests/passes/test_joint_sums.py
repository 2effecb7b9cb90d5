"""Sums of a row that share a costly value walk it once, and have the bits that each has alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc.numpy as pnp
from pyc.ir.loops import Alloc, walk
from pyc.ir.target import X86_64_V4
from pyc.passes import optimise
from pyc.passes.memory import plan
from tests.passes.programs import graph_of, ones
from tests.passes.test_any_order import same_everywhere


def two_sums(x: Any) -> Any:
    e = pnp.exp(x)
    return pnp.sum(e, axis=1), pnp.sum(e * x, axis=1)


def four_sums(x: Any) -> Any:
    e = pnp.exp(x)
    return tuple(pnp.sum(t, axis=1) for t in (e, e * x, e - x, e * e))


def five_sums(x: Any) -> Any:
    e = pnp.exp(x)
    return (*four_sums(x), pnp.sum(e + 2.0 * x, axis=1))


def a_sum_of_sums(x: Any) -> Any:
    """The second sum needs the first: it is a walk of its own."""
    e = pnp.exp(x)
    total = pnp.sum(e, axis=1, keepdims=True)
    return pnp.sum(pnp.sqrt(e / total), axis=1)


def a_row_that_is_stored(x: Any) -> Any:
    e = pnp.exp(x)
    return pnp.sum(e, axis=1), pnp.sum(e * x, axis=1), e


def a_sum_and_a_product(x: Any) -> Any:
    e = pnp.exp(x)
    return pnp.sum(e, axis=1), pnp.prod(e, axis=1), pnp.max(e, axis=1)


def two_costly_values(x: Any) -> Any:
    e, f = pnp.exp(x), pnp.log(x * x + 1.0)
    return pnp.sum(e * f, axis=1), pnp.sum(e + f, axis=1)


EVERY = [
    two_sums,
    four_sums,
    five_sums,
    a_sum_of_sums,
    a_row_that_is_stored,
    a_sum_and_a_product,
    two_costly_values,
]


def rows(length: int, dtype: Any, seed: int, number: int = 3) -> Any:
    return np.random.default_rng(seed).standard_normal((number, length)).astype(dtype)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(EVERY),
    st.sampled_from([np.float32, np.float64]),
    st.one_of(st.integers(1, 140), st.integers(141, 2500)),
    st.integers(0, 2**32 - 1),
)
def test_rows_of_any_length(function: Any, dtype: Any, length: int, seed: int) -> None:
    same_everywhere(function, rows(length, dtype, seed))


@pytest.mark.parametrize("length", [128, 1024, 1025, 2048, 3000])
def test_whole_chunks_and_what_is_left(length: int) -> None:
    same_everywhere(two_costly_values, rows(length, np.float64, length))


def stack_elements(function: Any, length: int) -> int:
    """The elements that the kernels of a program keep on the stack."""
    graph = optimise(graph_of(function, ones(40, length)), check=True)
    kernels = plan(graph, X86_64_V4, check=True).plan.kernels
    allocated = [s.buffer for k in kernels for s in walk(k.body) if isinstance(s, Alloc)]
    return sum(int(np.prod(b.shape)) for b in allocated)


def test_the_value_has_no_memory() -> None:
    """Two sums keep vectors of their lanes; what another region reads keeps a row."""
    lanes = 2 * (128 + 16)
    assert stack_elements(two_sums, 1000) == lanes
    assert stack_elements(a_sum_of_sums, 1000) >= 1000
