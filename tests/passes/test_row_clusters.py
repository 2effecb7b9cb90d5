"""Long rows that stay in the memory of a cluster: one launch, the bits of the logical kernel, no
barrier to spare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc.frozen import replace
from pyc.ir import simulate
from pyc.ir.loops import Alloc, Barrier, Kind, Space, walk
from pyc.ir.target import SM_90, Target, nvptx
from pyc.passes import optimise, row_clusters
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


@pytest.fixture(autouse=True)
def few_warps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of two warps, and clusters for few rows: what the interpreter runs in a second."""
    monkeypatch.setattr(row_clusters, "FEW_WARPS", 2)
    monkeypatch.setattr(row_clusters, "MANY_WARPS", 2)
    monkeypatch.setattr(row_clusters.RowClusters, "worth", row_clusters.RowClusters.possible)


def room_for(chunks: int, itemsize: int = 4) -> Target:
    """A device whose blocks have room for so many chunks of each of two warps."""
    part = 2 * row_clusters.CHUNK * itemsize
    return replace(SM_90, shared_bytes=(chunks + 1) * part - 1, group_blocks=1)


@pytest.mark.parametrize(
    "function", [softmax, layer_norm, log_sum_exp, several, reversed_rows], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("row", [33_792, 40_001, 70_000])
def test_clusters_have_the_bits_of_the_logical_kernel(function: Program, row: int) -> None:
    (kernel,) = kernels_of(function, data((2, row), np.float32), 1)
    (found,) = run_on(kernel, SM_90)
    assert extents([found], Kind.CLUSTER) == [16]


@pytest.mark.parametrize("row", [33_792, 65_536 - 12, 60_000])
def test_the_last_chunk_of_a_warp_stays_in_registers(row: int) -> None:
    (kernel,) = kernels_of(softmax, data((2, row), np.float32), 1)
    (found,) = run_on(kernel, room_for(1))
    spaces = [s.buffer.space for s in walk(found.body) if isinstance(s, Alloc)]
    assert Space.REGISTER in spaces and extents([found], Kind.CLUSTER) == [16]
    four = replace(room_for(3), cluster_blocks=8)
    (kernel,) = kernels_of(softmax, data((1, row), np.float32), 1)
    assert len(run_on(kernel, four)) == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_other_types(dtype: Any) -> None:
    (kernel,) = kernels_of(several, data((2, 34_000), dtype), 1)
    assert len(run_on(kernel, SM_90)) == 1


def test_rows_that_fit_nowhere_are_several_launches() -> None:
    (kernel,) = kernels_of(softmax, data((2, 70_000), np.float32), 1)
    assert len(run_on(kernel, replace(room_for(1), cluster_blocks=8))) == 3


def test_forms_of_large_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """(rows, blocks of a cluster), or launches."""
    monkeypatch.undo()

    def found(shape: tuple[int, int], target: Target = SM_90) -> list[Any]:
        x = np.empty(shape, np.float32)
        graph = optimise(pyc.jit(lambda v: softmax(v, 1)).trace(x).graph)
        kernels = list(plan(graph, target).plan.kernels)
        return [e for kind in (Kind.GRID, Kind.CLUSTER) for e in extents(kernels, kind)]

    assert found((64, 1 << 18)) == [64, 16]
    assert found((64, 1 << 17)) == [64, 16]
    assert found((1000, 40_000)) == [1000, 5]
    assert found((64, 150_000)) == [64, 16]
    ungrouped = replace(SM_90, group_blocks=1)
    assert found((8, 1 << 20), ungrouped) == [256] * 3, "blocks without neighbours"
    assert found((1, 1 << 17), ungrouped) == [16] * 3, "too few blocks"
    assert len(found((64, 9 << 20), ungrouped)) == 5, "parts too many to be joined by every block"
    assert len(found((64, 1 << 17), nvptx(80))) == 3, "no clusters"
    assert len(found((8, 1 << 20), nvptx(80))) == 3, "not fused: the last block of each joins"
    assert found((64, 1 << 15)) == [64], "registers of a block"


def test_few_rows_of_long_expressions_are_not_left_to_one_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is too much to compute again in each launch is held by a cluster, however few there
    are."""
    monkeypatch.setattr(row_clusters.RowClusters, "worth", False)

    def step(x: Any) -> Any:
        return np.tanh(x) * 3 + np.sin(x)

    def heavy(x: Any, axis: int) -> Any:
        return softmax(step(step(step(step(step(step(x)))))), axis)

    (kernel,) = kernels_of(heavy, data((1, 34_000), np.float32), 1)
    (found,) = run_on(kernel, SM_90)
    assert extents([found], Kind.CLUSTER) == [16]


@pytest.mark.parametrize("function", [softmax, several], ids=lambda f: f.__name__)
def test_each_barrier_that_is_removed_is_a_race(function: Program) -> None:
    (kernel,) = kernels_of(function, data((1, 33_000), np.float32), 1)
    found = scheduled(kernel, replace(SM_90, cluster_blocks=16))
    arrays = [np.ones([int(str(d)) for d in b.shape], b.dtype.numpy) for b in found.buffers]
    simulate.run(found, arrays)
    for number in range(sum(isinstance(s, Barrier) for s in walk(found.body))):
        wrong = replace(found, body=without_barrier(found.body, number))
        with pytest.raises(simulate.SimulationError, match=r"race: .* without order"):
            simulate.run(wrong, arrays)
