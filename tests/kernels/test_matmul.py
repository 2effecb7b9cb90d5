"""Matrix products of a CPU: groups of rows of one size, and panels that are packed or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.loops import Alloc, walk
from pyc.ir.target import X86_64_V3, X86_64_V4, Target
from pyc.ir.types import ArrayType
from pyc.jit import jit
from pyc.kernels.matmul import matmul, refusal
from pyc.verification import verify

PLAIN = (((1,), (0,)), ((), ()))
ACROSS = (((1,), (1,)), ((), ()))
RNG = np.random.default_rng(6)


def sample(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def panels(m: int, n: int, dimensions: Any, target: Target) -> bool:
    """Whether the kernel packs panels."""
    b = (40, n) if dimensions is PLAIN else (n, 40)
    types = ArrayType((m, 40), dt.f32), ArrayType(b, dt.f32)
    assert not refusal(types, dimensions, target)
    kernel = matmul(types, target, dimensions=dimensions)
    return any(isinstance(s, Alloc) and s.buffer.name == "panel" for s in walk(kernel.body))


def test_few_groups_of_rows_read_panels_where_they_lie() -> None:
    assert not panels(24, 64, PLAIN, X86_64_V4)
    assert panels(25, 64, PLAIN, X86_64_V4)
    assert panels(24, 65, PLAIN, X86_64_V4), "ragged columns are packed with zeros"
    assert panels(24, 64, ACROSS, X86_64_V4), "columns that are far apart are packed"
    assert not panels(12, 64, PLAIN, X86_64_V3) and panels(13, 64, PLAIN, X86_64_V3)


@pytest.mark.parametrize("m", [4, 5, 12, 13, 16, 24, 25, 37])
@pytest.mark.parametrize("n", [64, 72])
def test_products_of_some_rows_are_right(m: int, n: int) -> None:
    a, b, c = sample(m, 300), sample(300, n), sample(m, n)
    function = jit(lambda a, b, c: np.tanh(a @ b) + c * (a @ b))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(function(a, b, c), np.tanh(exact) + c * exact, rtol=1e-4, atol=1e-4)
    verify(jit(lambda a, b: a @ b), a[:, :40], b[:40])
    verify(jit(lambda a, b, c: a @ b + c), a[:, :40], b[:40], c)


def test_packed_or_not_the_bits_are_the_same() -> None:
    """Terms are added in order either way: 24 rows alone, and among others."""
    a, b = sample(30, 300), sample(300, 64)
    product = jit(lambda a, b: a @ b)
    assert np.array_equal(product(a, b)[:24], product(a[:24], b))
    found = []
    for rows in (30, 24):
        types = ArrayType((rows, 300), dt.f32), ArrayType(b.shape, dt.f32)
        out = np.zeros((rows, 64), np.float32)
        simulate.run(matmul(types, X86_64_V4, dimensions=PLAIN), [a[:rows], b, out])
        found.append(out[:24])
    assert np.array_equal(*found)
