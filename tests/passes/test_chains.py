"""Loops of one element run several vectors side by side where an iteration is short: each waits for
the iteration before, and the bits are those of each element alone."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc
import pyc.numpy as pnp
from pyc.ir.loops import For, Kind, walk
from pyc.ir.target import X86_64_V4
from pyc.passes import optimise
from pyc.passes.memory import plan
from pyc.passes.nest import is_element_loop
from pyc.passes.schedule import CHAINS
from tests.passes.programs import ones
from tests.passes.test_any_order import compiled


def shrunk(x: Any) -> Any:
    """The steps until an element is small, a different number for each."""
    count = pnp.zeros(x.shape, np.int32)
    for _ in range(60):
        large = x > 1.0
        if not np.any(large):
            break
        count = count + large
        x = pnp.where(large, x * np.float32(0.5), x)
    return count, x


def polynomial(terms: int) -> Any:
    """Iterations of so many products and sums."""

    def function(x: Any) -> Any:
        for _ in range(20):
            y = reduce(lambda y, k: y * x + np.float32(k), range(terms), x)
            x = pnp.where(x > 0.5, y * np.float32(1e-3), x)
        return x

    return function


def graph_of(function: Any, x: Any) -> Any:
    return optimise(pyc.jit(function).trace(x).graph, check=True)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from([shrunk, polynomial(20)]), st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_any_number_of_elements(function: Any, number: int, seed: int) -> None:
    x = np.exp(np.random.default_rng(seed).uniform(-2, 12, number)).astype(np.float32)
    compiled(graph_of(function, x), [x])


@pytest.mark.parametrize(
    ("function", "chains", "widest"),
    [(shrunk, 4, np.float32), (polynomial(20), 4, np.float32), (polynomial(100), 1, np.float32)],
    ids=["few instructions", "some", "many"],
)
def test_vectors_side_by_side(function: Any, chains: int, widest: Any) -> None:
    """As many elements as the widest of their numbers allow; `shrunk`'s counter of steps is one."""
    kernels = plan(graph_of(function, ones(1024)), X86_64_V4, check=True).plan.kernels
    vectors = [
        s for k in kernels for s in walk(k.body) if isinstance(s, For) and s.kind is Kind.VECTOR
    ]
    extents = {s.extent for s in vectors if any(is_element_loop(x) for x in s.body)}
    assert extents == {chains * X86_64_V4.vector_bytes // np.dtype(widest).itemsize}
    assert chains in {1, *(n for _, n in CHAINS)}


def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    x = np.exp(np.random.default_rng(0).uniform(-2, 12, 100_003)).astype(np.float32)
    function, found = pyc.jit(shrunk), []
    for threads in (1, 2):
        pyc.set_num_threads(threads)
        found.append([np.asarray(r).tobytes() for r in function(x)])
    assert found[0] == found[1]
