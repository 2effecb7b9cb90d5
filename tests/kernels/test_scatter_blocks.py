"""Scatter by blocks of threads, in the kernel interpreter: updates in index order, and no races."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.op import OPS
from pyc.ir.ops.indexing import SCATTER_MODES
from pyc.ir.types import ArrayType
from pyc.kernels import scatter_blocks
from pyc.kernels.merging import Tile
from pyc.kernels.scatter_blocks import Scatter
from pyc.kernels.sequence import LaunchSequence
from tests.kernels.launch_sequences import execute, is_reported, without_each_barrier
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]

TYPES = (dt.b1, dt.i8, dt.u16, dt.i32, dt.u64, dt.f16, dt.bf16, dt.f32, dt.f64, dt.c64)


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of a few updates go through all loops."""
    monkeypatch.setattr(scatter_blocks, "TOGETHER", (5, 2))
    monkeypatch.setattr(scatter_blocks, "THREADS", 32)
    monkeypatch.setattr(scatter_blocks, "PIECE", 64)
    monkeypatch.setattr(scatter_blocks, "LONG", 20)


class Sample:
    """A scatter: its arguments and the op's parameters."""

    def __init__(
        self,
        dtype: DType,
        mode: str,
        shape: tuple[int, ...],
        indices: tuple[int, ...],
        axes: tuple[int, ...],
        position: int,
        seed: int,
    ) -> None:
        rng = np.random.default_rng(seed)
        kept = [n for a, n in enumerate(shape) if a not in axes]
        update = (*kept[:position], *indices, *kept[position:])
        self.x, self.update = (_numbers(rng, dtype, s) for s in (shape, update))
        self.indices = [rng.integers(-1, shape[a] + 1, indices) for a in axes]
        self.params: dict[str, Any] = {"axes": axes, "position": position, "mode": mode}

    @property
    def arguments(self) -> list[Array]:
        """What the op takes."""
        return [self.x, self.update, *self.indices]

    def scatter(self) -> Scatter:
        """Its launches, in every way."""
        types = []
        for a in self.arguments:
            dtype = dt.of(a.dtype)
            assert dtype is not None
            types.append(ArrayType(a.shape, dtype))
        return Scatter(tuple(types), **self.params)

    def memory(self) -> list[Array]:
        """Buffers for the launches: the operand is a copy."""
        return [_real(a.copy()) for a in self.arguments]

    def check(self, sequence: LaunchSequence) -> None:
        """The launches give the bits of the op's reference."""
        memory = self.memory()
        execute(sequence, memory)
        expected = OPS["scatter"].reference(*self.arguments, **self.params)
        assert same_bits(expected, memory[0].view(self.x.dtype).reshape(self.x.shape))


def _numbers(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...]) -> Array:
    """Elements whose sums and products depend on their order."""
    if dtype.is_complex:
        parts = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
        return parts.astype(dtype.numpy)
    found = rng.standard_normal(shape) * (1 if dtype.is_float else 40)
    found = found if dtype.kind != "uint" else np.abs(found)
    found = found.astype(dtype.numpy)
    if dtype.is_float and found.size > 4:
        found.reshape(-1)[:: found.size // 3] = -0.0
    return found


def _real(a: Array) -> Array:
    return a.reshape(-1).view(a.real.dtype) if a.dtype.kind == "c" else a.reshape(-1)


@st.composite
def samples(draw: Any) -> Sample:
    dtype = draw(st.sampled_from(TYPES))
    modes = {"bool": ("set",), "complex": ("set", "add")}.get(dtype.kind, tuple(SCATTER_MODES))
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    axes = tuple(sorted(draw(st.sets(st.sampled_from(range(len(shape))), min_size=1))))
    indices = draw(st.sampled_from([(1,), (7,), (40,), (3, 4)]))
    position = draw(st.integers(0, len(shape) - len(axes)))
    seed = draw(st.integers(0, 2**32 - 1))
    return Sample(dtype, draw(st.sampled_from(modes)), shape, indices, axes, position, seed)


@settings(max_examples=25, deadline=None)
@given(samples(), st.sampled_from([Tile(4, 3), Tile(32, 3)]))
def test_updates_meet_in_the_order_of_their_indices(sample: Sample, tile: Tile) -> None:
    sample.check(sample.scatter().sorted(tile))
    sample.check(sample.scatter().in_turn())


@settings(max_examples=25, deadline=None)
@given(samples())
def test_without_order_any_thread_may_come_first(sample: Sample) -> None:
    scatter = sample.scatter()
    if scatter.order_free:
        sample.check(scatter.at_once())
        sample.check(scatter.in_shares(blocks=3))


@pytest.mark.parametrize("mode", SCATTER_MODES)
@pytest.mark.parametrize("dtype", [dt.f16, dt.f32, dt.i32], ids=repr)
def test_long_runs(mode: str, dtype: DType) -> None:
    """More updates of a place than are read at once."""
    sample = Sample(dtype, mode, (3,), (100,), (0,), 0, 1)
    sample.check(sample.scatter().sorted(Tile(4, 3)))


def chosen(dtype: DType, mode: str, rows: int, targets: int) -> str:
    """The kernels of a scatter as it is launched."""
    types = (ArrayType((targets,), dtype), ArrayType((rows,), dtype), ArrayType((rows,), dt.i64))
    params = {"axes": (0,), "position": 0, "mode": mode}
    found = scatter_blocks.scatter_blocks(types, in_place=True, **params)
    assert found is not None
    calls = " ".join(call.kernel.name for call in found.calls)
    return f"{mode} {dtype.name} of {rows} in {targets}: {calls}"


def test_which_way_is_taken(golden: Any) -> None:
    lines = []
    for dtype in (dt.f16, dt.f32, dt.i32):
        for mode in SCATTER_MODES:
            for rows, targets in (
                (1, 9),
                (30, 9),
                (2000, 1000),
                (1 << 17, 1000),
                (1 << 17, 1 << 17),
            ):
                lines.append(chosen(dtype, mode, rows, targets))
    golden("\n".join(lines))


def test_a_barrier_left_out_is_a_race() -> None:
    sample = Sample(dt.i32, "add", (40,), (50,), (0,), 0, 1)
    broken = list(without_each_barrier(sample.scatter().in_shares(blocks=2)))
    assert len(broken) == 2
    assert all(is_reported(other, sample.memory()) for other in broken)


def test_a_barrier_left_out_of_a_long_run_is_a_race() -> None:
    sample = Sample(dt.f32, "add", (2,), (300,), (0,), 0, 1)
    sequence = sample.scatter().sorted(Tile(32, 3))
    meet = sequence.calls[-1]
    ends = [s for s in without_each_barrier(sequence) if s.calls[-1].kernel is not meet.kernel]
    assert len(ends) == 2
    assert all(is_reported(other, sample.memory()) for other in ends)
