"""Launches of Fourier transforms in the kernel interpreter: the definition's bits, no races."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyc.ir import dtype as dt
from pyc.ir import fourier as definition
from pyc.ir.loops import Alloc, Space, walk
from pyc.ir.op import OPS
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4, Target, nvptx
from pyc.ir.types import ArrayType
from pyc.kernels import fourier, fourier_cores
from pyc.kernels.sequence import LaunchSequence
from pyc.passes.placement import exceeded
from tests.kernels.launch_sequences import execute, is_reported, without_each_barrier
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]

TARGETS = (X86_64_V3, X86_64_V4, SM_90, nvptx(80))


def numbers(shape: tuple[int, ...], dtype: Any) -> Array:
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def launches(x: Array, target: Target, **params: Any) -> LaunchSequence:
    dtype = dt.of(x.dtype)
    assert dtype is not None
    return fourier.fourier((ArrayType(x.shape, dtype),), target, **params)


def memory(sequence: LaunchSequence, x: Array, out: Array) -> list[Array]:
    """What the launches are run on: parts of numbers lie side by side, tables are given."""
    part = sequence.buffers[0].dtype.numpy
    return [x.view(part), out.view(part)]


def check(x: Array, target: Target, **params: Any) -> LaunchSequence:
    """The launches give the bits of the op's reference; returns them."""
    sequence = launches(x, target, **params)
    expected = OPS["fft"].reference(x, **params)
    out = np.zeros_like(expected)
    given_ = LaunchSequence((*sequence.buffers, *(b for b, _ in sequence.tables)), sequence.calls)
    execute(given_, [*memory(sequence, x, out), *(t.copy() for _, t in sequence.tables)])
    assert same_bits(out, expected)
    return given_


LENGTHS = (1, 2, 3, 8, 13, 16, 24, 30, 49, 64, 96, 128, 143, 250)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(LENGTHS),
    st.lists(st.integers(1, 5), max_size=2),
    st.integers(0, 2),
    st.sampled_from(["", "in", "out"]),
    st.booleans(),
    st.sampled_from([1.0, 0.3]),
    st.sampled_from(TARGETS),
    st.booleans(),
)
def test_lines_along_any_axis(
    n: int,
    others: list[int],
    axis: int,
    real: str,
    inverse: bool,
    scale: float,
    target: Target,
    wide: bool,
) -> None:
    axis = min(axis, len(others))
    length = 2 * n if real == "in" else n
    shape = (*others[:axis], length, *others[axis:])
    kind = np.dtype("f8" if wide else "f4") if real == "in" else np.dtype("c16" if wide else "c8")
    params = {"axis": axis, "inverse": inverse, "scale": scale, "real": real}
    check(numbers(shape, kind), target, **params)


@pytest.mark.parametrize("target", TARGETS[:2], ids=lambda t: t.id)
@pytest.mark.parametrize("n", [6, 15, 49, 60, 250])
@pytest.mark.parametrize("lines", [16, 19, 23])
def test_many_short_lines(n: int, lines: int, target: Target) -> None:
    """Several lines in the lanes of a vector, those left over too; either type."""
    params = {"axis": 1, "inverse": lines == 19, "scale": 0.3, "real": ""}
    check(numbers((lines, n), np.complex64), target, **params)
    check(numbers((lines, n), np.complex128), target, **{**params, "real": "out"})


PLAIN: dict[str, Any] = {"axis": 0, "inverse": False, "scale": 1.0, "real": ""}


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.id)
@pytest.mark.parametrize(("n", "inner"), [(48, 1), (90, 1), (210, 1), (60, 3), (48, 8)])
def test_split_transforms(n: int, inner: int, target: Target, monkeypatch: Any) -> None:
    """With lines of up to 14 elements; 210 are 14 times 3 times 5."""
    for module in (fourier, definition):
        monkeypatch.setattr(module, "LINE", 14)
    found = check(numbers((n, inner), np.complex64), target, **PLAIN)
    assert len(found.calls) >= 2


@pytest.mark.parametrize("shape", [(64,), (24, 5), (2, 30)])
def test_each_barrier_is_needed(shape: tuple[int, ...]) -> None:
    params = {**PLAIN, "axis": len(shape) - 1 if shape[0] == 2 else 0}
    x = numbers(shape, np.complex64)
    sequence = check(x, SM_90, **params)
    own = launches(x, SM_90, **params)
    tables = [t.copy() for _, t in own.tables]
    count = 0
    for less in without_each_barrier(sequence):
        count += 1
        assert is_reported(less, [*memory(own, x, np.zeros_like(x)), *tables])
    assert count


@pytest.mark.parametrize("target", TARGETS[2:], ids=lambda t: t.id)
@pytest.mark.parametrize("dtype", [dt.c64, dt.c128], ids=repr)
def test_no_launch_asks_for_more_than_there_is(target: Target, dtype: Any) -> None:
    for shape, axis in (((4096,), 0), ((4096, 7), 0), ((1 << 20, 2), 0), ((9, 1 << 24), 1)):
        params = {**PLAIN, "axis": axis}
        for call in fourier.fourier((ArrayType(shape, dtype),), target, **params).calls:
            assert not exceeded(call.kernel, target)


def test_work_buffers_of_a_core_stay_small() -> None:
    tile = 2 * 8 * 8 * 8
    for shape, axis in (((4096, 100), 0), ((7, 4096), 1), ((1 << 20,), 0), ((1000, 64), 0)):
        for target in (X86_64_V3, X86_64_V4):
            params = {**PLAIN, "axis": axis}
            for call in fourier.fourier((ArrayType(shape, dt.c128),), target, **params).calls:
                made = [s.buffer for s in walk(call.kernel.body) if isinstance(s, Alloc)]
                sizes = [int(np.prod(b.shape)) * b.dtype.itemsize for b in made]
                assert sum(sizes) <= fourier_cores.WORK_BYTES + tile
                assert all(b.space is Space.STACK for b in made)


def test_the_code_does_not_grow_with_the_length() -> None:
    """A stage more is a loop more: never one butterfly after the other."""

    def statements(n: int) -> int:
        calls = fourier.fourier((ArrayType((n,), dt.c64),), X86_64_V3, **PLAIN).calls
        return sum(1 for c in calls for _ in walk(c.kernel.body))

    assert statements(4096) <= 3 * statements(64)
    assert statements(1 << 24) <= 2 * statements(1 << 13)
