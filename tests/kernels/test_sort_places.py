"""The places of sorted elements of 64 bits by vectors: stable, in one round or two, by any number
of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc.numpy as pnp
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.op import OPS
from pyc.ir.target import X86_64_V4
from pyc.ir.text_kernel import print_kernel
from pyc.ir.types import ArrayType
from pyc.kernels import sort_parts
from pyc.kernels.registry import sequence_of
from pyc.kernels.sequence import Call, LaunchSequence
from pyc.passes import optimise
from pyc.passes.memory import plan
from tests.kernels.launch_sequences import execute, is_reported, with_tasks_that_meet
from tests.kernels.test_sort_parts import EDGES, LEAST, small_parts
from tests.kernels.test_sort_vectors import patterns
from tests.ops.test_sort import elements
from tests.passes.native_plans import by_threads
from tests.passes.programs import graph_of
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]
ROUND = ["sort_bounds", "sort_chunks", "sort_buckets"]


def made(x: Array, descending: bool = False) -> LaunchSequence:
    dtype = dt.of(x.dtype)
    assert dtype is not None
    types = (ArrayType(x.shape, dtype),)
    with small_parts():
        found = sequence_of("argsort", types, {"descending": descending}, X86_64_V4)
    assert found is not None
    names = [c.kernel.name for c in found.calls]
    assert names == ["place_ranges", "place_keys", *ROUND, "rank_keys", *ROUND, "place_results"]
    assert len({c.kernel for c in found.calls}) == len(set(names)), "rounds share their kernels"
    return found


@st.composite
def rows(draw: st.DrawFn) -> Array:
    """Rows about the lengths at which they are cut otherwise."""
    dtype = draw(st.sampled_from([dt.i64, dt.u64, dt.f64]))
    length = max(draw(st.sampled_from(EDGES[:3])) + draw(st.integers(-2, 2)), LEAST)
    shape = (*draw(st.sampled_from([(), (2,)])), length)
    return elements(draw(st.integers(0, 1 << 20)), dtype, shape, draw(st.integers(0, 1)))


@settings(max_examples=8, deadline=None)
@given(x=rows(), descending=st.booleans())
def test_places_are_those_of_a_stable_sort(x: Array, descending: bool) -> None:
    expected = OPS["argsort"].reference(x, descending=descending)
    found = np.zeros_like(expected)
    execute(made(x, descending), [x, found])
    assert same_bits(found, expected)


def at_the_room(bits: int, length: int) -> Array:
    """Numbers, about zero, that differ in so many bits."""
    x = np.random.default_rng(bits).integers(0, 1 << bits, length, np.uint64)
    x[:2] = 0, (1 << bits) - 1
    found: Array = (x - np.uint64(1 << (bits - 1))).view(np.int64)
    return found


@pytest.mark.parametrize("bits", [1, 40, 54, 55, 56, 64])
def test_one_round_does_where_keys_have_room_beside_their_places(bits: int) -> None:
    """512 places have 9 bits: 55 are left. A row of few bits is sorted beside one of many."""
    for x in (at_the_room(bits, 512), np.stack([at_the_room(bits, 512), at_the_room(64, 512)])):
        found = np.zeros(x.shape, np.int64)
        execute(made(x), [x, found])
        assert same_bits(found, np.argsort(x, kind="stable"))
    x = at_the_room(bits, 512)
    sequence, rounds = made(x), np.zeros((1, 2), np.int64)
    (told,) = {b for c in sequence.calls for b in c.arguments if b.name == "rounds"}
    shown = replace(sequence, buffers=(*sequence.buffers, told))
    execute(shown, [x, np.zeros_like(x), rounds])
    assert rounds.tolist() == [[1, int(bits > 55)]]


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("length", [200, 513, 4097])
def test_native_code_has_the_same_bits_by_any_number_of_threads(dtype: Any, length: int) -> None:
    hard = list(patterns(dtype, length).values())
    for k in range(0, len(hard), 6):
        x = np.stack(hard[k : k + 6])
        with small_parts():
            graph = optimise(graph_of(lambda a: pnp.argsort(a, kind="stable"), x))
            found = plan(graph, X86_64_V4, check=True).plan
        assert any(kernel.name == "rank_keys" for kernel in found.kernels)
        expected = OPS["argsort"].reference(x, descending=False)
        for (result,) in by_threads(found, X86_64_V4, [x], [(x.shape, np.int64)]):
            assert same_bits(result, expected)


def test_long_rows() -> None:
    """Chunks and buckets as they are."""
    draws = np.random.default_rng(3)
    length = sort_parts.LEAST + 5
    for x in (draws.integers(-(1 << 39), 1 << 39, length), draws.standard_normal(length)):
        found = np.asarray(pnp.argsort(x, kind="stable"))
        assert np.array_equal(found, np.argsort(x, kind="stable"))


@pytest.mark.parametrize("name", ["place_ranges", "place_keys", "rank_keys", "place_results"])
def test_tasks_that_meet_are_reported(name: str) -> None:
    x = at_the_room(64, 600)
    sequence = made(x)
    assert not is_reported(sequence, [x, np.zeros_like(x)])
    broken = tuple(
        Call(with_tasks_that_meet(c.kernel), c.arguments) if c.kernel.name == name else c
        for c in sequence.calls
    )
    assert is_reported(replace(sequence, calls=broken), [x, np.zeros_like(x)])


def test_the_launches(golden: Any) -> None:
    sequence = made(np.zeros(500, np.int64), True)
    kernels = dict.fromkeys(c.kernel for c in sequence.calls)
    golden("\n".join([str(sequence), *(print_kernel(k) for k in kernels)]))
