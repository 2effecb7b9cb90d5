"""Sorting by tasks on a CPU: the stable order bit for bit, no races, any number of threads.

Chunks here are of a few elements, so that rows of some hundred have as many as there can be.
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
from pyc.ir.loops import For, Kind, walk
from pyc.ir.op import OPS
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4, Target
from pyc.ir.text_kernel import print_kernel
from pyc.ir.types import ArrayType
from pyc.kernels import sort_tasks
from pyc.kernels.registry import sequence_of
from pyc.kernels.sequence import Call, LaunchSequence
from pyc.passes import optimise
from pyc.passes.memory import plan
from tests.kernels.launch_sequences import execute, is_reported, with_tasks_that_meet
from tests.ops.test_sort import TYPES, elements
from tests.passes.native_plans import by_threads
from tests.passes.programs import graph_of
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]
CHUNK = 16
EDGES = (2 * CHUNK, 4 * CHUNK, 8 * CHUNK, 16 * CHUNK)
"""Lengths at which rows begin to be cut, or chunks double."""


@contextmanager
def small_chunks() -> Iterator[None]:
    """Inside the block rows of 32 elements on are cut, into 8 chunks at most."""
    with (
        mock.patch.object(sort_tasks, "CHUNK", CHUNK),
        mock.patch.object(sort_tasks, "LEAST", 2 * CHUNK),
        mock.patch.object(sort_tasks, "MOST_CHUNKS", 8),
    ):
        yield


def made(op: str, x: Array, descending: bool, target: Target = X86_64_V4) -> LaunchSequence | None:
    dtype = dt.of(x.dtype)
    assert dtype is not None
    with small_chunks():
        return sequence_of(op, (ArrayType(x.shape, dtype),), {"descending": descending}, target)


@st.composite
def rows(draw: st.DrawFn) -> Array:
    """Rows about the lengths at which they are cut; numbers of few values, and of few bytes."""
    dtype = draw(st.sampled_from(TYPES))
    length = draw(st.sampled_from(EDGES)) + draw(st.integers(-2, 2))
    shape = (*draw(st.sampled_from([(), (1,), (3,), (2, 2)])), max(length, 2 * CHUNK))
    return elements(draw(st.integers(0, 1 << 20)), dtype, shape, draw(st.integers(0, 1)))


@settings(max_examples=25, deadline=None)
@given(x=rows(), op=st.sampled_from(["sort", "argsort"]), descending=st.booleans())
def test_rows_are_sorted_as_by_one_task(x: Array, op: str, descending: bool) -> None:
    sequence = made(op, x, descending)
    assert sequence is not None
    found = np.zeros(sequence.buffers[1].shape, sequence.buffers[1].dtype.numpy)
    execute(sequence, [x, found])
    expected = OPS[op].reference(x, descending=descending)
    assert same_bits(found.reshape(x.shape), expected)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.float64, np.uint64])
@pytest.mark.parametrize("values", [1, 3, 300])
def test_bytes_that_all_keys_share_are_left_out(dtype: Any, values: int) -> None:
    """Keys that differ in no byte, in the lowest, in two, and in the highest alone."""
    draws, length = np.random.default_rng(values), 6 * CHUNK
    low = draws.integers(0, values, length).astype(dtype)
    high = (
        low << np.array(8 * (np.dtype(dtype).itemsize - 1), dtype) if low.dtype != float else -low
    )
    for x in (low, high.astype(dtype)):
        for op in ("sort", "argsort"):
            sequence = made(op, x, False)
            assert sequence is not None
            found = np.zeros(length, sequence.buffers[1].dtype.numpy)
            execute(sequence, [x, found])
            assert same_bits(found, OPS[op].reference(x, descending=False))


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.int64, np.bool_])
def test_native_code_has_the_same_bits_by_any_number_of_threads(target: Target, dtype: Any) -> None:
    draws = np.random.default_rng(1)
    x = (draws.standard_normal((3, 9 * CHUNK + 5)) * 20).astype(dtype)
    if x.dtype.kind == "f":
        x[:, ::7], x[:, 1::7], x[:, 2::11] = np.nan, -0.0, 0.0
    for function in (lambda a: pnp.sort(a), lambda a: pnp.argsort(a, kind="stable")):
        with small_chunks():
            found = plan(optimise(graph_of(function, x)), target, check=True).plan
        assert any(k.name == "sort_counts" for k in found.kernels)
        (expected,) = (np.asarray(function(x)),)
        shapes = [(x.shape, expected.dtype)]
        for (result,) in by_threads(found, target, [x], shapes):
            assert same_bits(result, expected)


@pytest.mark.parametrize("name", ["sort_counts", "sort_sums", "sort_pass", "sort_last"])
def test_tasks_that_meet_are_reported(name: str) -> None:
    x = np.random.default_rng(0).standard_normal(5 * CHUNK).astype(np.float32)
    sequence = made("sort", x, False)
    assert sequence is not None and not is_reported(sequence, [x, np.zeros_like(x)])
    broken = tuple(
        Call(with_tasks_that_meet(c.kernel), c.arguments) if c.kernel.name == name else c
        for c in sequence.calls
    )
    other = replace(sequence, calls=broken)
    assert is_reported(other, [x, np.zeros_like(x)])


def test_short_rows_many_rows_and_gpus_have_kernels_of_their_own() -> None:
    wide = np.zeros(sort_tasks.LEAST, np.float32)
    types = (ArrayType(wide.shape, dt.f32),)
    assert sequence_of("sort", types, {"descending": False}, X86_64_V3) is not None
    for shape in ((sort_tasks.LEAST - 1,), (sort_tasks.FEW_ROWS, sort_tasks.LEAST)):
        others = (ArrayType(shape, dt.f32),)
        assert sequence_of("sort", others, {"descending": False}, X86_64_V3) is None
    on_gpu = sequence_of("sort", types, {"descending": False}, SM_90)
    assert on_gpu is not None and {c.kernel.name for c in on_gpu.calls}.isdisjoint(
        {"sort_counts", "sort_pass"}
    )


@pytest.mark.parametrize("length", [1 << 18, (1 << 19) + 1, 10**7])
def test_chunks_follow_from_the_length(length: int) -> None:
    types = (ArrayType((length,), dt.f32),)
    sequence = sequence_of("sort", types, {"descending": False}, X86_64_V3)
    assert sequence is not None
    loops = [s for s in walk(sequence.calls[0].kernel.body) if isinstance(s, For)]
    (tasks,) = (s.extent for s in loops if s.kind is Kind.PARALLEL)
    assert isinstance(tasks, int) and 8 <= tasks <= sort_tasks.MOST_CHUNKS


def test_the_launches(golden: Any) -> None:
    x = np.zeros(5 * CHUNK, np.int16)
    sequence = made("argsort", x, False)
    assert sequence is not None
    kernels = dict.fromkeys(call.kernel for call in sequence.calls)
    golden("\n".join([str(sequence), *map(print_kernel, kernels)]))
