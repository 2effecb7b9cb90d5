"""Fourier transforms on a GPU: the bits of the CPU, without steps of the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import config
from pyc.reasons import Reason
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.cuda


def numbers(shape: tuple[int, ...], dtype: Any) -> Array:
    """Random numbers."""
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def check(function: Callable[[Any], Any], x: Array) -> None:
    """The GPU gives the CPU's bits, and no step of the host takes part."""
    with config.using(cache="off"):
        expected = pyc.jit(function)(x)
        on_gpu = pyc.jit(function, device="cuda")
        reasons = {d.reason for d in on_gpu.lower(x).decisions}
        assert not reasons & {Reason.FALLBACK_HOST, Reason.PLACED_ON_HOST}
        found = on_gpu(x)
    assert same_bits(np.asarray(expected), np.asarray(found))


LENGTHS = (1, 2, 3, 8, 60, 64, 105, 1000, 1001, 4096, 5000, 65536)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths_along_the_last_axis(n: int, dtype: Any) -> None:
    check(np.fft.fft, numbers((3, n), dtype))
    check(np.fft.ifft, numbers((n,), dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", LENGTHS)
def test_real_numbers(n: int, dtype: Any) -> None:
    check(np.fft.rfft, numbers((3, n), dtype))
    check(lambda x: np.fft.irfft(x, n), numbers((3, n // 2 + 1), dtype))


@pytest.mark.parametrize("shape", [(96, 70), (5, 36, 33), (5000, 3), (8192, 10)])
def test_other_axes(shape: tuple[int, ...]) -> None:
    for axis in range(len(shape)):
        check(lambda x, axis=axis: np.fft.fft(x, axis=axis), numbers(shape, np.complex64))
        check(lambda x, axis=axis: np.fft.rfft(x, axis=axis), numbers(shape, np.float64))
    check(np.fft.fftn, numbers(shape, np.complex128))


@pytest.mark.parametrize("n", [17, 101, 2 * 1009, 4099])
def test_large_primes(n: int) -> None:
    check(np.fft.fft, numbers((3, n), np.complex64))
    check(np.fft.rfft, numbers((n, 3), np.float64))


def test_many_short_lines() -> None:
    for n in (4, 16, 100):
        check(np.fft.fft, numbers((10_001, n), np.complex64))
