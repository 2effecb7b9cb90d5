"""The product whose threads have their results to themselves: right values, and the tiles' bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.dtype import DType
from pyc.ir.target import SM_90
from pyc.ir.types import ArrayType
from pyc.ir.verify_kernel import verify
from pyc.kernels.matmul_blocks import matmul_blocks
from pyc.kernels.matmul_threads import MOST_PRODUCTS, matmul_threads, refusal_of_threads
from pyc.passes import optimise
from pyc.passes.memory import plan
from tests.backends.interpreted_device import on_device

PLAIN = (((1,), (0,)), ((), ()))
FIRST = (((0,), (0,)), ((), ()))
LAST = (((1,), (1,)), ((), ()))
BATCH = (((2,), (1,)), ((0,), (0,)))
BATCH_LAST = (((0,), (1,)), ((2,), (2,)))

LETTERS = {
    PLAIN: "ik,kj->ij",
    FIRST: "ki,kj->ij",
    LAST: "ik,jk->ij",
    BATCH: "bik,bkj->bij",
    BATCH_LAST: "kib,jkb->bij",
}
CASES = [
    (PLAIN, (16, 16), (16, 16), dt.f32),
    (PLAIN, (1, 16), (16, 10), dt.f32),
    (PLAIN, (5, 70), (70, 7), dt.f32),
    (PLAIN, (33, 4), (4, 12), dt.f64),
    (PLAIN, (6, 36), (36, 8), dt.f16),
    (LAST, (9, 33), (6, 33), dt.f32),
    (LAST, (9, 64), (6, 64), dt.bf16),
    (FIRST, (33, 9), (33, 8), dt.f32),
    (BATCH, (3, 5, 16), (3, 16, 12), dt.f32),
    (BATCH_LAST, (8, 5, 3), (6, 8, 3), dt.f64),
]


def fits(case: tuple[Any, ...], width: int) -> bool:
    """Whether so many results of a row are neighbours in the second operand too."""
    dimensions, _, b, _ = case
    return width == 1 or (dimensions not in (LAST, BATCH_LAST) and b[-1] % width == 0)


WIDTHS = [(*case, width) for case in CASES for width in (1, 2, 4) if fits(case, width)]


@pytest.mark.parametrize(("dimensions", "a", "b", "dtype", "width"), WIDTHS)
def test_products_are_right_and_have_the_bits_of_tiles(
    dimensions: Any, a: tuple[int, ...], b: tuple[int, ...], dtype: DType, width: int
) -> None:
    """The terms of each result are added in the order in which one group of threads adds them."""
    types = (ArrayType(a, dtype), ArrayType(b, dtype))
    assert not refusal_of_threads(types, dimensions, SM_90)
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(s).astype(dtype.numpy) for s in (a, b))
    found = []
    kernels = (
        matmul_threads(types, SM_90, dimensions=dimensions, width=width, block=8 * width),
        matmul_blocks(types, SM_90, dimensions=dimensions),
    )
    for kernel in kernels:
        verify(kernel, scheduled=True)
        shape = kernel.buffers[-1].shape
        out = np.zeros([int(str(n)) for n in shape], dtype.numpy)
        simulate.run(kernel, [x, y, out])
        found.append(out)
    assert found[0].tobytes() == found[1].tobytes()
    exact = np.einsum(LETTERS[dimensions], x.astype(np.float64), y.astype(np.float64))
    room = {dt.f64: 1e-14, dt.f32: 1e-6, dt.f16: 6e-4, dt.bf16: 4e-3}[dtype]
    terms = np.einsum(LETTERS[dimensions], abs(x.astype(np.float64)), abs(y.astype(np.float64)))
    assert np.all(np.abs(found[0].astype(np.float64) - exact) <= room * terms)


def test_many_products_are_for_tiles() -> None:
    few = (ArrayType((1 << 10, 1 << 6), dt.f32), ArrayType((1 << 6, 1 << 6), dt.f32))
    more = (ArrayType(((1 << 10) + 1, 1 << 6), dt.f32), few[1])
    assert few[0].shape[0] << 12 == MOST_PRODUCTS and not refusal_of_threads(few, PLAIN, SM_90)
    assert "more than" in refusal_of_threads(more, PLAIN, SM_90)
    integers = (ArrayType((4, 4), dt.i32),) * 2
    assert "floats" in refusal_of_threads(integers, PLAIN, SM_90)


def test_an_epilogue_is_applied_to_each_result() -> None:
    def layer(x: Any, w: Any, b: Any) -> Any:
        return np.maximum(x @ w + b, 0) * 2

    rng = np.random.default_rng(0)
    given = [rng.standard_normal(s).astype(np.float32) for s in ((5, 12), (12, 8), (8,))]
    graph = optimise(pyc.jit(layer).trace(*given).graph)
    planned = plan(graph, SM_90).plan
    assert [k.name for k in planned.kernels] == ["matmul_threads"]
    (found,) = on_device(graph, given)
    np.testing.assert_allclose(found, layer(*given), rtol=1e-5, atol=1e-6)
