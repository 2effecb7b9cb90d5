"""Sorting by blocks of threads, in the kernel interpreter: the stable order, and no races.

Tiles here are of a few elements, so that rows of some hundred go through all rounds of merging.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.loops import Alloc, For, Kind, Space, walk
from pyc.ir.op import OPS
from pyc.ir.types import ArrayType
from pyc.kernels.merging import Tile
from pyc.kernels.sequence import LaunchSequence
from pyc.kernels.sort_blocks import (
    ITEMS,
    RANKED,
    SHARED_BYTES,
    sort_blocks,
    statistics_blocks,
    tile_of,
)
from tests.kernels.launch_sequences import execute, is_reported, without_each_barrier
from tests.ops.test_sort import TYPES, elements
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]

TILES = st.builds(Tile, st.sampled_from([4, 8]), st.integers(1, 4))


def outputs(sequence: LaunchSequence) -> list[Array]:
    """Memory for the results."""
    return [np.zeros(b.shape, b.dtype.numpy) for b in sequence.buffers[1:]]


def sequence_of(op: str, types: tuple[ArrayType, ...], **params: Any) -> LaunchSequence | None:
    """The launches of an op."""
    if op == "order_statistics":
        return statistics_blocks(types, **params)
    return sort_blocks(op, types, **params)


def check(op: str, x: Array, tile: Tile | None, **params: Any) -> LaunchSequence:
    """The launches give the bits of the op's reference; returns them."""
    dtype = dt.of(x.dtype)
    assert dtype is not None
    sequence = sequence_of(op, (ArrayType(x.shape, dtype),), tile=tile, **params)
    assert sequence is not None
    found = outputs(sequence)
    execute(sequence, [x, *found])
    expected = OPS[op].reference(x, **params)
    for a, b in zip(expected if isinstance(expected, tuple) else (expected,), found, strict=True):
        assert same_bits(a, b.reshape(a.shape)), f"expected {a}, found {b}"
    return sequence


@st.composite
def rows(draw: Any) -> Array:
    dtype = draw(st.sampled_from(TYPES))
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 20) | st.integers(1, 150)))
    return elements(draw(st.integers(0, 2**32 - 1)), dtype, shape, draw(st.integers(0, 1)))


@settings(max_examples=15, deadline=None)
@given(rows(), TILES, st.booleans(), st.sampled_from(["sort", "argsort"]))
def test_rows_come_in_the_stable_order(x: Array, tile: Tile, descending: bool, op: str) -> None:
    check(op, x, tile, descending=descending)


@settings(max_examples=15, deadline=None)
@given(rows(), TILES, st.booleans(), st.data())
def test_the_best_are_the_first_of_the_order(
    x: Array, tile: Tile, descending: bool, data: Any
) -> None:
    k = data.draw(st.integers(1, x.shape[-1]))
    check("top_k", x, tile, k=k, descending=descending)


@settings(max_examples=15, deadline=None)
@given(rows(), TILES, st.booleans(), st.data())
def test_places_are_those_of_the_order(x: Array, tile: Tile, descending: bool, data: Any) -> None:
    places = data.draw(st.lists(st.integers(0, x.shape[-1] - 1), min_size=1, max_size=5))
    check("order_statistics", x, tile, places=(*places,), descending=descending)


@pytest.mark.parametrize("length", [11, 12, 13, 24, 25, 36, 47, 48, 49, 97])
@pytest.mark.parametrize("kind", ["equal", "rising", "falling", "nan"])
def test_lengths_around_tiles_and_lines(length: int, kind: str) -> None:
    """Tiles of 12: what is left over is short, and merges with lines of any length."""
    x = np.zeros((2, length), np.float32)
    if kind != "equal":
        x[:] = np.arange(length) * (1 if kind == "rising" else -1)
    if kind == "nan":
        x[:, ::3] = np.nan
        x[:, 1::3] = -0.0
    check("argsort", x, Tile(4, 3), descending=False)
    check("sort", x, Tile(4, 3), descending=True)


def test_a_barrier_left_out_is_a_race() -> None:
    """All that stand are needed: the interpreter reports each one that does not."""
    x = elements(3, dt.f32, (1, 50), 1)
    sequence = check("argsort", x, Tile(4, 3), descending=False)
    broken = list(without_each_barrier(sequence))
    assert len(broken) > 10
    for k, other in enumerate(broken):
        assert is_reported(other, [x, *outputs(other)]), f"barrier {k} is not needed"


def test_rounds_of_merging_are_one_kernel() -> None:
    """However many there are: more launches, no more to compile."""
    sequence = check("argsort", elements(4, dt.i32, (1, 120), 1), Tile(4, 3), descending=False)
    assert len(sequence.calls) == 5 and len({c.kernel for c in sequence.calls}) == 3
    assert str(sequence) == "5 launches: sort_tiles, 4 x merge_lines"


def test_lines_whose_places_are_not_kept_are_left_to_the_logical_kernel() -> None:
    long = (ArrayType((1 << 31,), dt.f32),)
    assert sort_blocks("sort", long, descending=False) is None


def test_few_of_many_need_few_launches() -> None:
    """Each tile keeps the best, which are sorted again."""
    x = (ArrayType((1 << 20,), dt.f32),)
    sequence = sort_blocks("top_k", x, k=5, descending=True)
    assert sequence is not None and len(sequence.calls) == 2


@pytest.mark.parametrize("dtype", TYPES, ids=repr)
def test_a_block_has_its_memory_without_asking(dtype: DType) -> None:
    for length in (33, 100, 1000, 3000, 5000, 1 << 20):
        sequence = sort_blocks("argsort", (ArrayType((3, length), dtype),), descending=False)
        assert (sequence is None) is (length <= RANKED[dtype.itemsize])
        for call in sequence.calls if sequence is not None else ():
            shared = sum(
                int(np.prod(s.buffer.shape)) * s.buffer.dtype.itemsize
                for s in walk(call.kernel.body)
                if isinstance(s, Alloc) and s.buffer.space is Space.SHARED
            )
            threads = [
                s.extent
                for s in walk(call.kernel.body)
                if isinstance(s, For) and s.kind is Kind.THREAD
            ]
            assert shared <= SHARED_BYTES and 32 <= threads[0] <= 1024
        tile = tile_of(3, length, dtype)
        assert tile.items <= ITEMS[dtype.itemsize]


def test_the_tiles_of_the_device_sort_too() -> None:
    """One row of each kind of launch, as it is compiled."""
    check("argsort", elements(5, dt.f32, (2, 500), 1), None, descending=False)
    check("sort", elements(6, dt.i64, (9000,), 0), None, descending=True)
