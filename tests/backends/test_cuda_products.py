"""Matrix products on a device: each way to compute one is right within its bound, and twice the
same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc.backends import cuda
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.passes import optimise
from tests.backends.interpreted_device import on_device
from tests.kernels.test_matmul_threads import CASES, LETTERS

needs_gpu = pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")
BOUNDS = {"bf16": 8e-3, "f16": 1e-3, "f32": 1e-6, "f64": 2e-15}
LAYOUTS = ("ik,kj", "ki,kj", "ik,jk", "ki,jk")
SHAPES = {
    "many tiles": (2177, 4104, 72, "bf16"),
    "one block of terms": (2050, 4096, 64, "f16"),
    "few tiles": (300, 520, 200, "bf16"),
    "odd rows": (515, 1003, 1001, "bf16"),
    "float64": (130, 200, 328, "f64"),
    "float64, odd rows": (515, 1003, 1001, "f64"),
    "float64, few": (33, 17, 40, "f64"),
    "float32": (1024, 1024, 256, "f32"),
    "float32, odd": (515, 203, 1001, "f32"),
    "float32, few": (33, 17, 40, "f32"),
    "float32, narrow": (256, 32, 256, "f32"),
}


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", SHAPES)
def test_products_with_an_epilogue(name: str, layout: str) -> None:
    m, n, k, kind = SHAPES[name]
    extents = {"i": m, "j": n, "k": k}
    left, right = layout.split(",")
    type = dt.parse(kind).numpy
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal([extents[c] for c in part]).astype(type) for part in (left, right))
    bias = rng.standard_normal(n).astype(type)

    def function(a: Any, b: Any, bias: Any) -> Any:
        return pnp.tanh(pnp.einsum(f"{layout}->ij", a, b) + bias)

    jitted = pyc.jit(function, device="cuda")
    found, again = (np.asarray(jitted(a, b, bias)) for _ in range(2))
    assert found.tobytes() == again.tobytes()
    wide = [x.astype(np.float64) for x in (a, b, bias)]
    exact = np.tanh(np.einsum(f"{layout}->ij", *wide[:2], optimize=True) + wide[2])
    sizes = np.einsum(f"{layout}->ij", *map(np.abs, wide[:2]), optimize=True) + np.abs(wide[2])
    assert np.all(np.abs(found.astype(np.float64) - exact) <= BOUNDS[kind] * (sizes + 1))


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize(("dimensions", "a", "b", "dtype"), CASES)
def test_products_of_few_results_have_the_bits_of_the_interpreter(
    dimensions: Any, a: tuple[int, ...], b: tuple[int, ...], dtype: DType
) -> None:
    """Each result is a row of roundings, which the kernel interpreter does one by one."""

    def product(x: Any, y: Any) -> Any:
        return np.einsum(LETTERS[dimensions], x, y)

    rng = np.random.default_rng(0)
    given = [rng.standard_normal(s).astype(dtype.numpy) for s in (a, b)]
    graph = optimise(pyc.jit(product).trace(*given).graph)
    (expected,) = on_device(graph, given)
    found = np.asarray(pyc.jit(product)(*map(pyc.device_put, given)))
    assert found.tobytes() == expected.tobytes()
