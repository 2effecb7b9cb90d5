"""The product for blocks of threads: right values, no races, whatever the order of the axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc.ir.ops  # noqa: F401 - fills the op table
from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.dtype import DType
from pyc.ir.target import SM_90
from pyc.ir.types import ArrayType
from pyc.kernels.matmul_blocks import matmul_blocks, refusal_of_blocks

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
        (PLAIN, (1408, 16), (16, 1540), "ik,kj->ij", dt.f32),
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
    room = {dt.f64: 1e-14, dt.f32: 1e-6, dt.bf16: 4e-3}[dtype]
    terms = np.einsum(result, np.abs(x.astype(np.float64)), np.abs(y.astype(np.float64)))
    assert np.all(np.abs(out.astype(np.float64) - exact) <= room * terms)


def test_other_contractions_keep_the_generic_nest() -> None:
    x = ArrayType((8, 8, 8), dt.f32)
    assert refusal_of_blocks((x, x), (((1, 2), (0, 1)), ((), ())), SM_90)
    integers = ArrayType((8, 8), dt.i32)
    assert refusal_of_blocks((integers, integers), PLAIN, SM_90)
