"""Arrays that are parts of others begin at any element: no program may ask for more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyc.jit import jit

TYPES = [np.bool_, np.int8, np.int16, np.float16, np.int32, np.float32, np.float64, np.complex128]
SIZES = [*range(1, 10), 16, 31, 32, 33, 64, 100]


def part(size: int, dtype: Any, first: int) -> np.ndarray[Any, Any]:
    """An array that begins `first` elements behind a multiple of 64 bytes."""
    memory = np.zeros(size + first + 64, dtype)
    start = -memory.ctypes.data % 64 // memory.itemsize + first
    memory[start : start + size] = np.arange(size)
    return memory[start : start + size]


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.__name__)
def test_vectors_of_every_size_begin_anywhere(dtype: Any) -> None:
    """Processors fault where code that wants alignment meets an array that has none."""

    def combined(x: Any, y: Any) -> Any:
        return x + y, x == y

    plain, donating = jit(combined), jit(combined, donate_argnums=0)
    for size in SIZES:
        for first in (0, 1, 3):
            x, y = part(size, dtype, first), part(size, dtype, 2 * first)
            expected = combined(x, y)
            for function in (plain, donating):
                for _ in range(2):
                    for a, b in zip(expected, function(x.copy(), y), strict=True):
                        np.testing.assert_array_equal(a, b)
                    for a, b in zip(expected, function(part(size, dtype, first), y), strict=True):
                        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("shape", [(4, 4), (3, 8), (9, 5), (2, 40), (40, 3), (5, 300), (17, 17)])
def test_rows_begin_anywhere(shape: tuple[int, ...]) -> None:
    def normalised(x: Any, axis: int) -> Any:
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)

    for axis in (0, 1):
        for options in ({}, {"donate_argnums": 0}):
            function = jit(lambda x, axis=axis: normalised(x, axis), **options)
            for first in (0, 1, 3):
                x = part(shape[0] * shape[1], np.float32, first).reshape(shape)
                expected = normalised(x.astype(np.float64), axis)
                np.testing.assert_allclose(function(x), expected, rtol=1e-5, atol=1e-6)


def test_products_begin_anywhere() -> None:
    residual = jit(lambda r, a, b: r + a @ b, donate_argnums=0)
    for n in (3, 8, 24, 40):
        for first in (0, 1, 3):
            r, a, b = (part(n * n, np.float32, k * first).reshape(n, n) for k in (1, 2, 3))
            a %= 7
            expected = r + a @ b
            assert residual(r, a, b) is r
            np.testing.assert_allclose(r, expected, rtol=1e-6)
