"""Long rows that stay in the memory of a group of blocks, and sums that its last block joins: one
launch, the bits of the logical kernel, no barrier to spare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.expr import const
from pyc.ir.loops import Alloc, Barrier, Body, Kernel, Kind, Last, Let, Space, bodies, walk
from pyc.ir.target import SM_90, of_multiprocessors
from pyc.passes import optimise, row_blocks, row_clusters
from pyc.passes.memory import plan
from tests.passes.test_schedule_blocks import extents, run_on, without_barrier
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

GROUPED = replace(SM_90, cluster_blocks=1)
"""A device whose blocks meet in global memory alone."""
PROGRAMS = pytest.mark.parametrize(
    "function", [softmax, layer_norm, log_sum_exp, several, reversed_rows], ids=lambda f: f.__name__
)


@pytest.fixture(autouse=True)
def few_warps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of two warps, and groups for few rows: what the interpreter runs in a second."""
    monkeypatch.setattr(row_clusters, "FEW_WARPS", 2)
    monkeypatch.setattr(row_clusters, "MANY_WARPS", 2)
    monkeypatch.setattr(row_clusters.RowClusters, "worth", row_clusters.RowClusters.possible)
    monkeypatch.setattr(row_blocks, "SPLIT_WARPS", 2)


@PROGRAMS
@pytest.mark.parametrize("row", [33_792, 40_001])
def test_groups_have_the_bits_of_the_logical_kernel(function: Program, row: int) -> None:
    (kernel,) = kernels_of(function, data((2, row), np.float32), 1)
    (found,) = run_on(kernel, GROUPED)
    assert extents([found], Kind.GROUP) == [-(-row // 2048)]


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32])
def test_other_types(dtype: Any) -> None:
    (kernel,) = kernels_of(several, data((2, 34_000), dtype), 1)
    (found,) = run_on(kernel, GROUPED)
    assert extents([found], Kind.GROUP)


@pytest.mark.parametrize("function", [softmax, layer_norm, log_sum_exp], ids=lambda f: f.__name__)
@pytest.mark.parametrize("chunks", [34, 35])
@pytest.mark.parametrize("rows_in_memory", [16, 13, 8])
def test_warps_of_two_chunks_hold_a_part_in_registers(
    function: Program, chunks: int, rows_in_memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a round of larger blocks holds more: the rows of a thread's last chunk that have no
    room."""
    monkeypatch.setattr(row_clusters, "MULTIPROCESSORS", 1)
    meeting = 7 * 16 * 4 * 2 + row_clusters.BLOCK_BYTES
    room = row_clusters.FEW_BLOCKS * (rows_in_memory * 1024 + meeting)
    target = replace(GROUPED, shared_bytes=room)
    (kernel,) = kernels_of(function, data((3, chunks * 1024), np.float32), 1)
    (found,) = run_on(kernel, target)
    assert extents([found], Kind.GROUP) == [-(-chunks // 4)]
    made = [s.buffer for s in walk(found.body) if isinstance(s, Alloc)]
    held = [b for b in made if b.space is Space.REGISTER and b.name.startswith("held")]
    assert [b.shape for b in held] == (
        [(4 * (16 - rows_in_memory),)] if rows_in_memory < 16 else []
    )


@pytest.mark.parametrize("function", [softmax, several], ids=lambda f: f.__name__)
def test_each_barrier_that_is_removed_from_a_row_is_a_race(function: Program) -> None:
    (kernel,) = kernels_of(function, data((1, 33_000), np.float32), 1)
    needs_every_barrier(scheduled(kernel, GROUPED))


def needs_every_barrier(found: Kernel) -> None:
    """Without any one of its barriers a kernel has a race, which is reported."""
    arrays = [np.ones([int(str(d)) for d in b.shape], b.dtype.numpy) for b in found.buffers]
    simulate.run(found, arrays)
    for number in range(sum(isinstance(s, Barrier) for s in walk(found.body))):
        wrong = replace(found, body=without_barrier(found.body, number))
        with pytest.raises(simulate.SimulationError, match=r"race: .* without order"):
            simulate.run(wrong, arrays)


def summed(x: Any, axis: int) -> Any:
    return x.sum(axis=axis)


def place_of_largest(x: Any, axis: int) -> Any:
    """A reduction of two components, and what follows it."""
    return x.argmax(axis=axis) * 2 + 1


@pytest.mark.parametrize("shape", [(1, 40_000), (3, 70_001)])
@pytest.mark.parametrize("function", [summed, place_of_largest], ids=lambda f: f.__name__)
def test_the_last_block_joins(function: Program, shape: tuple[int, int]) -> None:
    (kernel,) = kernels_of(function, data(shape, np.float32), 1)
    (found,) = run_on(kernel, SM_90)
    assert sum(isinstance(s, Last) for s in walk(found.body)) == 1


def test_a_block_that_does_not_come_last_may_not_join() -> None:
    (kernel,) = kernels_of(summed, data((2, 40_000), np.float32), 1)
    with_all_last(scheduled(kernel))


def with_all_last(found: Kernel) -> None:
    """A kernel whose every block takes itself for the last one has a race, which is reported."""
    wrong = replace(found, body=_always(found.body))
    arrays = [np.ones([int(str(d)) for d in b.shape], b.dtype.numpy) for b in found.buffers]
    simulate.run(found, arrays)
    with pytest.raises(simulate.SimulationError, match=r"race: .* without order"):
        simulate.run(wrong, arrays)


def _always(body: Body) -> Body:
    """The body with every block as the last one."""
    out = []
    for s in body:
        if isinstance(s, Last):
            out.append(Let(s.var, const(True, dt.b1)))
        elif hasattr(s, "body") and bodies(s):
            out.append(replace(s, body=_always(bodies(s)[0])))
        else:
            out.append(s)
    return tuple(out)


def test_which_rows_are_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """(rows, blocks of a group), or launches."""
    monkeypatch.undo()

    def found(shape: tuple[int, int]) -> list[int]:
        x = np.empty(shape, np.float32)
        graph = optimise(pyc.jit(lambda v: softmax(v, 1)).trace(x).graph)
        kernels = list(plan(graph, SM_90).plan.kernels)
        return [e for kind in (Kind.GRID, Kind.GROUP) for e in extents(kernels, kind)]

    assert found((1, 1 << 20)) == [1, 128]
    assert found((12, 1 << 20)) == [12, 128], (
        "one chunk of a warp: no fewer rounds of larger blocks"
    )
    assert found((8, 1 << 20)) == [8, 64], "two chunks"
    assert found((64, 1 << 20)) == [64, 64]
    assert found((64, (1 << 20) - 8)) == [64, 128], "ragged"
    assert found((64, 3 << 20)) == [64, 192]
    assert found((2, 70_000)) == [2, 9], "too few clusters"
    assert found((64, 1 << 18)) == [64], "a cluster"
    assert len(found((64, 4 << 20))) > 2, "more blocks than surely run at the same time"


def test_a_part_of_a_gpu_is_another_target() -> None:
    """A group must be on the device at once: what is compiled for a whole one is not for a part."""
    small = of_multiprocessors(SM_90, 16)
    assert small.group_blocks == 1 and small.id != SM_90.id
    assert of_multiprocessors(SM_90, 132) is SM_90
