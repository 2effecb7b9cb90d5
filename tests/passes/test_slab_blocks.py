"""Programs over columns that stay in shared memory: one launch, the bits of the logical kernel, and
no barrier to spare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.frozen import replace
from pyc.ir import simulate
from pyc.ir.loops import Alloc, Barrier, Kernel, Kind, Space, walk
from pyc.ir.target import SM_90, X86_64_V3, Target, nvptx
from pyc.ir.verify_kernel import verify
from pyc.passes import optimise
from pyc.passes.memory import plan
from pyc.passes.schedule_blocks import schedule_blocks
from pyc.passes.slab_blocks import form_of
from tests.passes.test_schedule_blocks import extents, run_on, without_barrier

Array = np.ndarray[Any, Any]
Program = Callable[[Any, int], Any]


def softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layer_norm(x: Any, axis: int) -> Any:
    spread = x - x.mean(axis=axis, keepdims=True)
    return spread / np.sqrt((spread * spread).mean(axis=axis, keepdims=True) + 1e-5)


def log_sum_exp(x: Any, axis: int) -> Any:
    most = x.max(axis=axis)
    return most + np.log(np.exp(x - np.expand_dims(most, axis)).sum(axis=axis))


def several(x: Any, axis: int) -> Any:
    """Reductions of two components and of other types, results of a column, and two arrays."""
    total = x.sum(axis=axis, keepdims=True)
    place = (x * total).argmax(axis=axis)
    far = (x > total).any(axis=axis)
    return x / (total + np.expand_dims(place, axis)), place, far, (x * total).min(axis=axis)


def reversed_rows(x: Any, axis: int) -> Any:
    """What is read at two places is held twice."""
    most = (x + np.flip(x, axis)).max(axis=axis, keepdims=True)
    return x * most - np.flip(x, axis)


def kernels_of(function: Program, x: Array, axis: int) -> tuple[Kernel, ...]:
    graph = optimise(pyc.jit(lambda v: function(v, axis)).trace(x).graph)
    return plan(graph, X86_64_V3).logical


def scheduled(kernel: Kernel, target: Target = SM_90) -> Kernel:
    (stage,) = schedule_blocks(kernel, target)
    verify(stage.kernel, scheduled=True)
    return stage.kernel


def data(shape: tuple[int, ...], dtype: Any) -> Array:
    rng = np.random.default_rng(len(shape))
    return (rng.standard_normal(shape) * 3).astype(dtype)


@pytest.mark.parametrize(
    "function", [softmax, layer_norm, log_sum_exp, several, reversed_rows], ids=lambda f: f.__name__
)
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((129, 7), 0), ((300, 40), 0), ((1024, 32), 0), ((2, 2100, 33), 1), ((3, 130, 2, 6), 1)],
)
def test_slabs_have_the_bits_of_the_logical_kernel(
    function: Program, shape: tuple[int, ...], axis: int
) -> None:
    x = data(shape, np.float32)
    (kernel,) = kernels_of(function, x, axis)
    found = run_on(kernel, SM_90)
    assert len(found) == 1 and _shared(found[0]) > 0


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32])
def test_other_types(dtype: Any) -> None:
    for function in (layer_norm, several):
        (kernel,) = kernels_of(function, data((200, 24), dtype), 0)
        assert len(run_on(kernel, SM_90)) == 1


def _shared(kernel: Kernel) -> int:
    made = [s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)]
    return sum(int(np.prod(b.shape)) for b in made if b.space is Space.SHARED)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("chunks", "columns", "blocks"),
    [(1, 8, 1), (1, 8, 2), (2, 8, 1), (3, 8, 4), (3, 16, 2), (4, 8, 16), (2, 32, 4), (9, 8, 16)],
)
def test_every_way_to_cut_a_slab(
    chunks: int, columns: int, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks that share chunks or lanes, threads with several chunks, threads that share a lane."""
    form = form_of(1024 * chunks - 70, columns, blocks, SM_90)
    assert form is not None
    monkeypatch.setattr("pyc.passes.slab_blocks.SlabBlocks._choose", lambda self, target: form)
    x = data((1024 * chunks - 70, 10), np.float32)
    for function in (softmax, several):
        (kernel,) = kernels_of(function, x, 0)
        (found,) = run_on(kernel, SM_90)
        assert extents([found], Kind.CLUSTER) == ([blocks] if blocks > 1 else [])
        assert extents([found], Kind.THREAD) == [form.threads]


def test_threads_with_several_chunks() -> None:
    small = replace(SM_90, max_block_threads=128)
    form = form_of(8192, 8, 1, small)
    assert form is not None and form.each == 8 and form.threads == 128
    (kernel,) = kernels_of(softmax, data((8192, 8), np.float32), 0)
    run_on(kernel, replace(small, cluster_blocks=1, shared_bytes=1 << 19))


@pytest.mark.parametrize(
    ("shape", "axis", "form"),
    [
        ((4096, 4096), 0, (128, 8, 256)),
        ((16384, 1024), 0, (64, 16, 256)),
        ((1024, 100_000), 0, (3125, 2, 256)),
        ((300, 100_000), 0, (3125, 512)),
    ],
)
def test_forms_of_large_programs(shape: tuple[int, ...], axis: int, form: tuple[int, ...]) -> None:
    """(slabs, blocks of a cluster if any, threads)."""
    graph = optimise(pyc.jit(lambda x: softmax(x, axis)).trace(np.empty(shape, np.float32)).graph)
    (kernel,) = plan(graph, SM_90).plan.kernels
    kinds = (Kind.GRID, Kind.CLUSTER, Kind.THREAD)
    assert tuple(e for kind in kinds for e in extents([kernel], kind)) == form


def test_what_fits_nowhere_is_several_launches() -> None:
    x = np.empty((1 << 20, 64), np.float32)
    for rows, target in ((1 << 20, SM_90), (1 << 16, replace(SM_90, group_blocks=1))):
        graph = optimise(pyc.jit(lambda v: softmax(v, 0)).trace(x[:rows]).graph)
        assert len(plan(graph, target).plan.kernels) == 5
    older = optimise(pyc.jit(lambda v: softmax(v, 0)).trace(x[:8192]).graph)
    assert len(plan(older, SM_90).plan.kernels) == 1
    assert len(plan(older, nvptx(80)).plan.kernels) == 5


@pytest.mark.parametrize("function", [softmax, several], ids=lambda f: f.__name__)
@pytest.mark.parametrize(("rows", "blocks"), [(1024, 1), (1500, 1), (1500, 2), (1024, 4)])
def test_each_barrier_that_is_removed_is_a_race(
    function: Program, rows: int, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = form_of(rows, 8, blocks, SM_90)
    monkeypatch.setattr("pyc.passes.slab_blocks.SlabBlocks._choose", lambda self, target: form)
    (kernel,) = kernels_of(function, data((rows, 8), np.float32), 0)
    found = scheduled(kernel)
    arrays = [np.ones([int(str(d)) for d in b.shape], b.dtype.numpy) for b in found.buffers]
    simulate.run(found, arrays)
    for number in range(sum(isinstance(s, Barrier) for s in walk(found.body))):
        wrong = replace(found, body=without_barrier(found.body, number))
        with pytest.raises(simulate.SimulationError, match=r"race: .* without order"):
            simulate.run(wrong, arrays)
