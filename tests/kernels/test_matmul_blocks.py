"""The product for blocks of threads: right values, no races, whatever the order of the axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
import pyc.ir.ops
from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.dtype import DType
from pyc.ir.target import SM_90
from pyc.ir.types import ArrayType
from pyc.ir.verify_kernel import verify
from pyc.kernels.matmul_blocks import (
    TILES,
    WIDE_TILES,
    Tile,
    matmul_blocks,
    refusal_of_blocks,
    tile_of,
)

PLAIN = (((1,), (0,)), ((), ()))
FIRST = (((0,), (0,)), ((), ()))
LAST = (((1,), (1,)), ((), ()))
BATCH = (((2,), (1,)), ((0,), (0,)))


@pytest.mark.parametrize(
    ("dimensions", "a", "b", "result", "dtype"),
    [
        (PLAIN, (64, 32), (32, 64), "ik,kj->ij", dt.f32),
        (PLAIN, (70, 19), (19, 68), "ik,kj->ij", dt.f32),
        (FIRST, (33, 65), (33, 30), "ki,kj->ij", dt.f64),
        (LAST, (65, 16), (3, 16), "ik,jk->ij", dt.f32),
        (BATCH, (2, 20, 24), (2, 24, 36), "bik,bkj->bij", dt.bf16),
        (PLAIN, (20, 100), (100, 36), "ik,kj->ij", dt.f16),
    ],
)
def test_products_are_right_and_race_free(
    dimensions: Any, a: tuple[int, ...], b: tuple[int, ...], result: str, dtype: DType
) -> None:
    types = (ArrayType(a, dtype), ArrayType(b, dtype))
    assert not refusal_of_blocks(types, dimensions, SM_90)
    kernel = matmul_blocks(types, SM_90, dimensions=dimensions)
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(s).astype(dtype.numpy) for s in (a, b))
    exact = np.einsum(result, x.astype(np.float64), y.astype(np.float64))
    out = np.zeros(exact.shape, dtype.numpy)
    simulate.run(kernel, [x, y, out])
    room = {dt.f64: 1e-14, dt.f32: 1e-6, dt.f16: 6e-4, dt.bf16: 4e-3}[dtype]
    terms = np.einsum(result, np.abs(x.astype(np.float64)), np.abs(y.astype(np.float64)))
    assert np.all(np.abs(out.astype(np.float64) - exact) <= room * terms)


EVERY = (*TILES, *WIDE_TILES)
IN_ROWS = [(PLAIN, (36, 72), (72, 36)), (LAST, (70, 40), (36, 40)), (FIRST, (37, 70), (37, 33))]


@pytest.mark.parametrize("tile", EVERY, ids=[f"{t.rows}x{t.columns}x{t.slices}" for t in EVERY])
@pytest.mark.parametrize(("dimensions", "a", "b"), IN_ROWS, ids=["rows", "turned", "odd"])
def test_every_tile_is_right_and_race_free(
    dimensions: Any, a: tuple[int, ...], b: tuple[int, ...], tile: Tile
) -> None:
    dtype = dt.f64 if tile in WIDE_TILES else dt.f32
    kernel = matmul_blocks(
        (ArrayType(a, dtype), ArrayType(b, dtype)), SM_90, dimensions=dimensions, tile=tile
    )
    verify(kernel, scheduled=True)
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(s).astype(dtype.numpy) for s in (a, b))
    left = x.T if dimensions is FIRST else x
    right = y.T if dimensions is LAST else y
    out = np.zeros((left.shape[0], right.shape[1]), dtype.numpy)
    simulate.run(kernel, [x, y, out])
    size = np.abs(left.astype(float)) @ np.abs(right.astype(float))
    assert np.all(np.abs(out - left.astype(float) @ right.astype(float)) <= 1e-6 * size)


def test_the_tile_fills_the_device() -> None:
    large = tile_of(1, 4096, 4096, 4096, 4)
    assert large.rows * large.columns == max(t.rows * t.columns for t in TILES)
    few = tile_of(1, 512, 384, 1536, 4)
    assert few.slices > 1 and few.rows * few.columns < 64 * 64
    narrow = tile_of(32, 256, 32, 256, 4)
    assert narrow.columns == 32
    assert tile_of(1, 512, 384, 64, 4).slices == 1, "few terms are not shared out"
    assert tile_of(1, 4096, 4096, 4096, 8) in WIDE_TILES


def test_one_group_adds_the_terms_in_order() -> None:
    tile = next(t for t in TILES if t.slices == 1)
    types = (ArrayType((16, 37), dt.f32), ArrayType((37, 16), dt.f32))
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(t.shape).astype(np.float32) for t in types)
    out = np.zeros((16, 16), np.float32)
    simulate.run(matmul_blocks(types, SM_90, dimensions=PLAIN, tile=tile), [x, y, out])
    on_cpu = pyc.jit(lambda x, y: x @ y)(x, y)
    np.testing.assert_array_equal(out, on_cpu)


def test_slices_are_added_in_an_order_of_their_own() -> None:
    tile = next(t for t in TILES if t.slices == 4)
    types = (ArrayType((8, 64), dt.f32), ArrayType((64, 8), dt.f32))
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(t.shape).astype(np.float32) for t in types)
    found = []
    for _ in range(2):
        out = np.zeros((8, 8), np.float32)
        simulate.run(matmul_blocks(types, SM_90, dimensions=PLAIN, tile=tile), [x, y, out])
        found.append(out)
    np.testing.assert_array_equal(*found)


def test_other_contractions_keep_the_generic_nest() -> None:
    x = ArrayType((8, 8, 8), dt.f32)
    assert refusal_of_blocks((x, x), (((1, 2), (0, 1)), ((), ())), SM_90)
    integers = ArrayType((8, 8), dt.i32)
    assert refusal_of_blocks((integers, integers), PLAIN, SM_90)
