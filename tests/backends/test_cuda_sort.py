"""Sorting and scatter on a GPU: the bits of the CPU, whatever the length, the axis and the ties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import config
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.kernels.sort_blocks import tile_of
from pyc.reasons import Reason
from tests.ops.test_sort import TYPES, elements
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

pytestmark = pytest.mark.cuda


def check(function: Function, *arguments: Array) -> None:
    """The GPU gives the CPU's bits, and no step of the host takes part."""
    with config.using(cache="off"):
        expected = pyc.tree.leaves(pyc.jit(function)(*arguments))
        on_gpu = pyc.jit(function, device="cuda")
        reasons = {d.reason for d in on_gpu.lower(*arguments).decisions}
        assert not reasons & {Reason.FALLBACK_HOST, Reason.KERNEL_FEW_THREADS}
        found = pyc.tree.leaves(on_gpu(*arguments))
    for a, b in zip(expected, found, strict=True):
        assert same_bits(np.asarray(a), np.asarray(b))


def sorts(axis: int = -1) -> Function:
    """Both orders, the elements and their places."""

    def function(x: Any) -> Any:
        return (
            pnp.sort(x, axis=axis),
            pnp.argsort(x, axis=axis),
            pnp.argsort(x, axis=axis, descending=True),
        )

    return function


@pytest.mark.parametrize("dtype", TYPES, ids=repr)
@pytest.mark.parametrize("length", [300, 5000, 40_000])
def test_types(dtype: DType, length: int) -> None:
    for spread in (0, 1):
        check(sorts(), elements(length + spread, dtype, (2, length), spread))


TILE = tile_of(1, 1 << 16, dt.f32).size


@pytest.mark.parametrize("length", [1, 2, 31, 97, 193, TILE - 1, TILE, TILE + 1, 2 * TILE + 1])
@pytest.mark.parametrize("rows", [1, 3])
def test_lengths(rows: int, length: int) -> None:
    check(sorts(), elements(length, dt.f32, (rows, length), 0))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_axes(axis: int) -> None:
    check(sorts(axis), elements(1, dt.f64, (130, 41, 250), 1))


def test_empty_rows() -> None:
    for shape in ((0,), (0, 5), (5, 0)):
        check(sorts(), np.zeros(shape, np.float32))


@pytest.mark.parametrize("size", [1 << 16, (1 << 20) + 7])
def test_long_lines_with_many_ties(size: int) -> None:
    x = np.random.default_rng(size).integers(-9, 9, size).astype(np.float32)
    x[::7], x[1::7] = np.nan, -0.0
    check(sorts(), x)
    check(sorts(), np.zeros(size, np.int64))


@pytest.mark.parametrize("k", [1, 5, 400, 3000, 20_000])
def test_the_best(k: int) -> None:
    x = elements(k, dt.f32, (3, 20_000), 0)
    check(lambda x: pnp.topk(x, k), x)


SCATTERS = ("set", "add", "multiply", "min", "max")
NUMBERS = (dt.i8, dt.u16, dt.i32, dt.u64, dt.f16, dt.bf16, dt.f32, dt.f64)


@pytest.mark.parametrize("dtype", NUMBERS, ids=repr)
@pytest.mark.parametrize("mode", SCATTERS)
@pytest.mark.parametrize(("rows", "targets"), [(3, 5), (700, 900), (70_000, 11), (70_000, 50_000)])
def test_updates_of_one_place_meet_in_order(
    mode: str, dtype: DType, rows: int, targets: int
) -> None:
    rng = np.random.default_rng(rows)
    x, update = (elements(n, dtype, (n,), 0) for n in (targets, rows))
    if dtype in (dt.f32, dt.f64):
        update = rng.standard_normal(rows).astype(dtype.numpy)
    i = rng.integers(-targets, targets, rows)
    check(lambda x, u, i: getattr(x.at[i], mode)(u), x, update, i)


@pytest.mark.parametrize("mode", ["set", "add", "multiply"])
def test_rows_at_places_of_several_axes(mode: str) -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((9, 20, 7, 3)).astype(np.float32)
    i, j = rng.integers(0, 20, (400, 2)), rng.integers(0, 7, (400, 2))
    check(
        lambda x, u, i, j: getattr(x.at[:, i, j], mode)(u),
        *(x, rng.standard_normal((9, 400, 2, 3)).astype(np.float32), i, j),
    )
    k = rng.integers(0, 9, 500)
    check(
        lambda x, u, k: getattr(x.at[k], mode)(u),
        *(x, rng.standard_normal((500, 20, 7, 3)).astype(np.float32), k),
    )


def test_complex_numbers() -> None:
    rng = np.random.default_rng(6)
    u = (rng.standard_normal(5000) + 1j * rng.standard_normal(5000)).astype(np.complex64)
    i = rng.integers(0, 300, 5000)
    check(lambda u, i: pnp.zeros(300, u.dtype).at[i].add(u), u, i)
    check(lambda u, i: pnp.zeros(300, u.dtype).at[i].set(u), u, i)


@pytest.mark.parametrize("bins", [1, 10, 5000])
def test_histograms_and_counts(bins: int) -> None:
    """They are scatters: of ones, or of weights in their order."""
    rng = np.random.default_rng(bins)
    i = rng.integers(0, bins, 200_000)
    w = rng.standard_normal(200_000)
    check(lambda i: pnp.bincount(i, length=bins), i)
    check(lambda w, i: pnp.zeros(bins).at[i].add(w), w, i)
