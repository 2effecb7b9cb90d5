"""Whether every kernel gives the bytes of its model."""

from __future__ import annotations

import numpy as np

from benchmarks.contracts.reduction.kernels import FIRST_AXIS_ORDERS, ROW_ORDERS, first_axis_kernels
from benchmarks.contracts.reduction.last_axis import sum_last
from benchmarks.contracts.reduction.order import ALTERNATIVES, DOCUMENTED, Array, model
from benchmarks.contracts.reduction.row_programs import layer_norm, layer_norm_model, softmax
from benchmarks.contracts.reduction.timing import Compiler, Kernel
from benchmarks.contracts.reduction.writer import Writer


def check(compiler: Compiler) -> int:
    """How many kernels gave the model's bytes; raises AssertionError naming one that did not."""
    random = np.random.default_rng(0)
    checked = 0

    def same(got: Array, want: Array, *what: object) -> None:
        nonlocal checked
        assert got.tobytes() == want.tobytes(), f"bits differ from the model: {what}"
        checked += 1

    for dtype in ("float32", "float64"):
        for n in (1, 3, 16, 100, 128, 1000, 1024, 5000, 11000):
            x = random.standard_normal((35 if n >= 16 else 64, n)).astype(dtype)
            for order in (DOCUMENTED, *ALTERNATIVES):
                want = model(x, order)
                for bits in (512, 256):
                    for group in (1, 4):
                        kernel = compiler(sum_last(Writer(dtype, bits), n, order, group))
                        same(ran(kernel, x, want.shape, len(x)), want, dtype, n, order, bits)
    for rows in (1, 3, 16, 100, 128, 1000, 1024, 3500):
        x = random.standard_normal((rows, 100)).astype("float32")
        for order in FIRST_AXIS_ORDERS:
            want = model(np.ascontiguousarray(x.T), order)
            for name, text in first_axis_kernels("float32", rows, 100, 100, order).items():
                same(ran(compiler(text), x, want.shape, 0), want, rows, order, name)
    for n in (128, 1000, 4096, 32768):
        x = random.standard_normal((9, n)).astype("float32")
        exact = np.exp((x - x.max(1, keepdims=True)).astype("float64"))
        exact /= exact.sum(1, keepdims=True)
        for order in ROW_ORDERS:
            first = None
            for bits in (512, 256):
                for group in (1, 2):
                    kernel = compiler(layer_norm(Writer("float32", bits), n, order, group))
                    same(ran(kernel, x, x.shape, 9), layer_norm_model(x, order), n, order, bits)
                    got = ran(
                        compiler(softmax(Writer("float32", bits), n, order, group)), x, x.shape, 9
                    )
                    assert np.abs(got / exact - 1).max() < 1e-5
                    first = got if first is None else first
                    same(got, first, "softmax", n, order, bits, group)
    return checked


def ran(kernel: Kernel, x: Array, shape: tuple[int, ...], count: int) -> Array:
    out = np.full(shape, np.nan, x.dtype)
    kernel(x.ctypes.data, out.ctypes.data, count)
    return out
