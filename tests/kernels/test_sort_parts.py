"""Sorting few long rows by vectors, in tasks: the stable order bit for bit, no races, any number of
threads.

Chunks and buckets here are of a few vectors, so that rows of some hundred elements have as many as
there can be.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc.numpy as pnp
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.loops import For, Kind, walk
from pyc.ir.op import OPS
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4, Target
from pyc.ir.text_kernel import print_kernel
from pyc.ir.types import ArrayType
from pyc.kernels import sort_parts, sort_vectors
from pyc.kernels.registry import sequence_of
from pyc.kernels.sequence import Call, LaunchSequence
from pyc.passes import optimise
from pyc.passes.memory import plan
from pyc.runtime import threads
from tests.kernels.launch_sequences import execute, is_reported, with_tasks_that_meet
from tests.kernels.test_sort_vectors import TYPES, patterns
from tests.ops.test_sort import elements
from tests.passes.native_plans import by_threads
from tests.passes.programs import graph_of
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]
BYTES, LEAST = 512, 200
EDGES = (LEAST, 256, 512, 1024)
"""Lengths at which rows begin to be cut, chunks end, or buckets double."""


@contextmanager
def small_parts() -> Iterator[None]:
    """Inside the block rows of 200 elements on are cut, into 4 or 8 buckets, and ranges of eight
    vectors are leaves."""
    with (
        mock.patch.object(sort_parts, "LEAST", LEAST),
        mock.patch.object(sort_parts, "BYTES", BYTES),
        mock.patch.object(sort_parts, "BUCKETS", (4, 8)),
        mock.patch.object(sort_parts, "SAMPLES", 4),
        mock.patch.object(sort_vectors, "LEAF", 8),
    ):
        yield


def made(op: str, x: Array, descending: bool = False) -> LaunchSequence:
    dtype = dt.of(x.dtype)
    assert dtype is not None
    with small_parts():
        found = sequence_of(op, (ArrayType(x.shape, dtype),), {"descending": descending}, X86_64_V4)
    assert found is not None
    names = ["sort_bounds", "sort_chunks", "sort_buckets", "sort_special"]
    count = 4 if op == "sort" and x.dtype.kind == "f" else 3
    assert [c.kernel.name for c in found.calls] == names[:count]
    return found


@st.composite
def rows(draw: st.DrawFn) -> Array:
    """Rows about the lengths at which they are cut otherwise."""
    dtype = draw(st.sampled_from(TYPES))
    length = max(draw(st.sampled_from(EDGES)) + draw(st.integers(-2, 2)), LEAST)
    shape = (*draw(st.sampled_from([(), (1,), (2,), (3, 1)])), length)
    return elements(draw(st.integers(0, 1 << 20)), dtype, shape, draw(st.integers(0, 1)))


@settings(max_examples=15, deadline=None)
@given(x=rows(), descending=st.booleans())
def test_rows_are_sorted_as_by_one_task(x: Array, descending: bool) -> None:
    for op in ("sort", "argsort")[: 1 + (x.itemsize == 4)]:
        expected = OPS[op].reference(x, descending=descending)
        found = np.zeros_like(expected)
        execute(made(op, x, descending), [x, found])
        assert same_bits(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint32, np.int64])
@pytest.mark.parametrize("length", [200, 511, 512, 513, 4097])
def test_native_code_has_the_same_bits_by_any_number_of_threads(dtype: Any, length: int) -> None:
    """Also where all elements of a row are in one bucket."""
    hard = list(patterns(dtype, length).values())
    ops = {"sort": lambda a: pnp.sort(a), "argsort": lambda a: pnp.argsort(a, kind="stable")}
    for op, function in list(ops.items())[: 1 + (np.dtype(dtype).itemsize == 4)]:
        for k in range(0, len(hard), 6):
            x = np.stack(hard[k : k + 6])
            with small_parts():
                graph = optimise(graph_of(function, x))
                found = plan(graph, X86_64_V4, check=True).plan
            assert any(kernel.name == "sort_buckets" for kernel in found.kernels)
            expected = OPS[op].reference(x, descending=False)
            shapes = [(x.shape, expected.dtype)]
            for (result,) in by_threads(found, X86_64_V4, [x], shapes):
                assert same_bits(result, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_long_rows_that_are_hard(dtype: Any) -> None:
    """Chunks and buckets as they are, of a row whose last chunk ends within a vector."""
    for x in patterns(dtype, sort_parts.LEAST + 5).values():
        graph = optimise(graph_of(lambda a: pnp.sort(a), x))
        found = plan(graph, X86_64_V4, check=True).plan
        assert found.kernels[0].name == "sort_bounds"
        expected = OPS["sort"].reference(x, descending=False)
        for (result,) in by_threads(found, X86_64_V4, [x], [(x.shape, x.dtype)], (1, 2)):
            assert same_bits(result, expected)


def sampled(length: int, buckets: int) -> Array:
    """The places of a row where samples are taken."""
    count = sort_parts.SAMPLES * buckets
    share = length // count
    width = 1 << (share.bit_length() - 1)
    numbers = np.arange(count)
    found: Array = numbers * share + ((numbers * sort_parts.SCATTERED >> 16) & (width - 1))
    return found


@pytest.mark.parametrize("low", [False, True])
def test_samples_that_say_nothing_of_the_others_leave_one_bucket(low: bool) -> None:
    """Data that know the places: all others are in the first bucket, or in the last."""
    length = 1500
    draws = np.random.default_rng(5).permutation(length)
    with small_parts():
        x = (draws + (0 if low else 10**6)).astype(np.int32)
        places = sampled(length, 8)
    x[places] = np.arange(len(places)) + (10**6 if low else 0)
    found = np.zeros_like(x)
    execute(made("sort", x), [x, found])
    assert same_bits(found, np.sort(x))


@pytest.mark.parametrize("name", ["sort_bounds", "sort_chunks", "sort_buckets", "sort_special"])
def test_tasks_that_meet_are_reported(name: str) -> None:
    x = np.random.default_rng(0).standard_normal((2, 600)).astype(np.float32)
    x[:, ::5] = -0.0
    sequence = made("sort", x)
    assert not is_reported(sequence, [x, np.zeros_like(x)])
    broken = tuple(
        Call(with_tasks_that_meet(c.kernel), c.arguments) if c.kernel.name == name else c
        for c in sequence.calls
    )
    assert is_reported(replace(sequence, calls=broken), [x, np.zeros_like(x)])


def test_which_rows_are_sorted_so() -> None:
    def name(
        shape: tuple[int, ...],
        dtype: DType = dt.f32,
        target: Target = X86_64_V4,
        op: str = "sort",
    ) -> str:
        found = sequence_of(op, (ArrayType(shape, dtype),), {"descending": False}, target)
        return found.calls[0].kernel.name if found is not None else ""

    least, few = sort_parts.LEAST, sort_parts.FEW_ROWS
    for dtype in TYPES:
        assert name((least,), dtype) == "sort_bounds"
        by_places = name((least,), dtype, op="argsort")
        assert by_places == ("sort_bounds" if dtype.itemsize == 4 else "place_ranges")
    assert name((few - 1, least)) == "sort_bounds"
    assert name((least - 1,)) == name((few, least)) == "sort_vectors"
    assert name((least,), dt.f16) == name((least,), dt.i8) == "sort_counts"
    assert name((least,), target=X86_64_V3) == "sort_counts"
    assert name((least,), target=SM_90) not in ("", "sort_bounds")


@pytest.mark.parametrize("length", [1 << 18, (1 << 19) + 1, 10**7])
@pytest.mark.parametrize("dtype", [dt.f32, dt.u64])
def test_chunks_and_buckets_follow_from_the_length(length: int, dtype: DType) -> None:
    types = (ArrayType((length,), dtype),)
    sequence = sequence_of("sort", types, {"descending": False}, X86_64_V4)
    assert sequence is not None
    tasks = []
    for call in sequence.calls[1:3]:
        loops = [s for s in walk(call.kernel.body) if isinstance(s, For)]
        tasks += [s.extent for s in loops if s.kind is Kind.PARALLEL]
    chunks, groups = tasks
    (bounds,) = [b for b in sequence.calls[0].arguments if b.name == "bounds"]
    fewest, most = sort_parts.BUCKETS
    assert isinstance(chunks, int) and isinstance(groups, int) and isinstance(bounds.shape[1], int)
    buckets = bounds.shape[1] // 2
    assert chunks >= fewest and fewest <= groups <= buckets <= most
    assert buckets // groups <= sort_parts.SEVERAL
    size = length * dtype.itemsize
    assert size / chunks <= sort_parts.BYTES + 64
    assert buckets == most or size / buckets <= sort_parts.BYTES


def test_calls_give_numpys_result_by_any_number_of_threads() -> None:
    draws = np.random.default_rng(2)
    x = (draws.standard_normal((2, sort_parts.LEAST + 100)) * 1000).astype(np.float32)
    x[0, ::9], x[1, ::4] = np.nan, -0.0
    expected = OPS["sort"].reference(x, descending=False)
    for count in (1, 2, 3):
        with threads.threads(count):
            assert same_bits(np.asarray(pnp.sort(x)), expected)
            assert np.array_equal(pnp.argsort(x, kind="stable"), np.argsort(x, kind="stable"))


def test_the_launches(golden: Any) -> None:
    sequence = made("sort", np.zeros((2, 500), np.float32), True)
    golden("\n".join([str(sequence), *(print_kernel(c.kernel) for c in sequence.calls)]))
