"""Long columns that stay with a group of blocks, in shared memory and registers, and sums of them
that the last block joins: one launch, the bits of the logical kernel, no barrier to spare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc.frozen import replace
from pyc.ir.loops import Alloc, Barrier, Kernel, Kind, Last, Space, walk
from pyc.ir.target import SM_90, Target
from pyc.passes import optimise, slab_blocks
from pyc.passes.memory import plan
from pyc.passes.schedule_blocks import schedule_blocks
from tests.passes.test_column_join import many, total
from tests.passes.test_row_groups import needs_every_barrier, with_all_last
from tests.passes.test_schedule_blocks import NO_ROOM, extents, run_on
from tests.passes.test_slab_blocks import (
    Program,
    data,
    kernels_of,
    layer_norm,
    log_sum_exp,
    reversed_rows,
    scheduled,
    several,
    softmax,
)


def grouped(slots: int) -> Target:
    """A device whose blocks have no clusters, and room for so many elements of a thread."""
    columns, parts = slab_blocks.GROUP_COLUMNS, slab_blocks.GROUP_PARTS
    meeting = columns * (parts + 1 + 16) * 8
    room = 4 * slots * columns * parts + meeting
    room = slab_blocks.GROUP_BLOCKS * (room + slab_blocks.BLOCK_BYTES)
    return replace(SM_90, cluster_blocks=1, shared_bytes=room)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 16 columns and two chunks: what the interpreter runs in a second."""
    monkeypatch.setattr(slab_blocks, "GROUP_COLUMNS", 16)
    monkeypatch.setattr(slab_blocks, "GROUP_PARTS", 2)


def registers_of(kernel: Kernel) -> int:
    made = [s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)]
    return sum(int(np.prod(b.shape)) for b in made if b.space is Space.REGISTER)  # type: ignore[arg-type]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("function", [softmax, layer_norm, log_sum_exp], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("shape", "blocks"), [((2048, 16), 16), ((4096, 32), 32), ((3000, 19), 32), ((5121, 17), 64)]
)
@pytest.mark.parametrize("slots", [64, 56, 48])
def test_groups_have_the_bits_of_the_logical_kernel(
    function: Program, shape: tuple[int, int], blocks: int, slots: int
) -> None:
    (kernel,) = kernels_of(function, data(shape, np.float32), 0)
    (found,) = run_on(kernel, grouped(slots))
    assert extents([found], Kind.GROUP) == [blocks]
    assert registers_of(found) == 64 - slots


@pytest.mark.usefixtures("small_blocks")
def test_what_a_group_does_not_hold_is_several_launches() -> None:
    """Two planes, wide elements, too few registers, columns fewer than a block has."""
    long = data((4096, 32), np.float32)
    for function, x, slots in (
        (reversed_rows, long, 40),
        (several, long.astype(np.float64), 40),
        (softmax, long, 40),
        (softmax, long[:, :15], 64),
    ):
        for kernel in kernels_of(function, np.ascontiguousarray(x), 0):
            found = schedule_blocks(kernel, grouped(slots))
            assert not extents([s.kernel for s in found], Kind.GROUP)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("slots", [64, 48])
def test_each_barrier_that_is_removed_from_a_group_is_a_race(slots: int) -> None:
    (kernel,) = kernels_of(layer_norm, data((4096, 16), np.float32), 0)
    needs_every_barrier(scheduled(kernel, grouped(slots)))


@pytest.mark.parametrize("function", [softmax, layer_norm, several], ids=lambda f: f.__name__)
@pytest.mark.parametrize("rows", [1024, 2048, 1500])
def test_clusters_with_a_part_in_registers(
    function: Program, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all slabs are more than a device holds, registers take a part."""
    x = data((rows, 300), np.float32)
    (kernel,) = kernels_of(function, x, 0)
    (before,) = run_on(kernel, SM_90)
    assert registers_of(before) == 0, "all slabs are there at once"
    monkeypatch.setattr(slab_blocks, "BUSY_BLOCKS", 1)
    (found,) = run_on(kernel, replace(SM_90, group_blocks=1))
    assert extents([found], Kind.CLUSTER)
    assert registers_of(found) > 0


def test_forms_of_large_programs() -> None:
    """(slabs, blocks of a group or cluster, threads, elements of a thread in registers)."""

    def found(function: Program, shape: tuple[int, int]) -> tuple[int, ...]:
        x = np.empty(shape, np.float32)
        graph = optimise(pyc.jit(lambda v: function(v, 0)).trace(x).graph)
        (kernel,) = plan(graph, SM_90).plan.kernels
        kinds = (Kind.GRID, Kind.GROUP, Kind.CLUSTER, Kind.THREAD)
        sizes = [e for kind in kinds for e in extents([kernel], kind)]
        return (*sizes, registers_of(kernel))

    for function in (softmax, layer_norm):
        assert found(function, (65536, 4096)) == (128, 64, 512, 16)
        assert found(function, (32768, 2048)) == (64, 32, 512, 16)
        assert found(function, (4096, 4096)) == (128, 8, 256, 16)
        assert found(function, (4096, 64)) == (4, 16, 64, 0), "all at once"
    assert found(total, (4096, 4096)) == (64, 16, 256, 0)
    assert found(total, (1000, 1000)) == (4, 16, 256, 0)


@pytest.mark.parametrize("function", [total, many], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(1024, 300), (700, 256), (2048, 130), (8192, 33)])
def test_the_last_block_joins_columns(function: Program, shape: tuple[int, int]) -> None:
    (kernel,) = kernels_of(function, data(shape, np.float32), 0)
    (found,) = run_on(kernel, NO_ROOM)
    assert extents([found], Kind.GROUP) == [16]
    assert sum(isinstance(s, Last) for s in walk(found.body)) == 1


@pytest.mark.parametrize("shape", [(3000, 300), (2500, 256), (1024, 100), (16384, 64), (3072, 300)])
def test_what_the_last_block_would_join_later(shape: tuple[int, int]) -> None:
    """Ragged chunks, fewer columns than threads, many chunks, idle threads: two launches."""
    (kernel,) = kernels_of(total, data(shape, np.float32), 0)
    assert len(schedule_blocks(kernel, SM_90)) == 2


@pytest.mark.parametrize("shape", [(700, 256), (4096, 64)])
def test_columns_need_each_barrier_and_the_last_block(shape: tuple[int, int]) -> None:
    (kernel,) = kernels_of(many, data(shape, np.float32), 0)
    found = scheduled(kernel, NO_ROOM)
    assert sum(isinstance(s, Barrier) for s in walk(found.body)) == (4 if shape[0] > 1024 else 0)
    needs_every_barrier(found)
    with_all_last(found)


@pytest.mark.parametrize("function", [total, many], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_other_types(function: Program, dtype: Any) -> None:
    (kernel,) = kernels_of(function, data((2048, 128), dtype), 0)
    assert extents(run_on(kernel, NO_ROOM), Kind.GROUP) == [16]
