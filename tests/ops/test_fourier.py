"""The definition of Fourier transforms: its tables, its lengths, and how far its results are off.

`test_every_op` holds every executor to the bits of the definition; what the definition itself is
worth is tested here, against mpmath and sums of long doubles.
"""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from pyc.ir import dtype as dt
from pyc.ir import fourier

Array = np.ndarray[Any, Any]

SMOOTH = [n for n in range(1, 200) if fourier.is_smooth(n)]
LONGER = [243, 1000, 1001, 1024, 2197, 4096, 5000, 8192, 28_561, 65_536]


@pytest.mark.parametrize("n", [1, 2, 3, 8, 12, 13, 1000, 4096, 4099, 1 << 20, 7 * 99_991])
def test_each_number_of_a_table_is_rounded_once(n: int) -> None:
    rng = np.random.default_rng(n)
    places = np.unique([0, n // 8, n // 4, n // 2, n - 1, *rng.integers(0, n, 200)])
    cosine, sine = fourier.roots(places, n)
    with mp.workprec(200):
        for k, x, y in zip(places.tolist(), cosine, sine, strict=True):
            assert x == float(mp.cospi(mp.mpf(2 * k) / n))
            assert y == float(mp.sinpi(mp.mpf(2 * k) / n))


def test_tables_are_symmetric_to_the_bit() -> None:
    cosine, sine = fourier.roots(np.arange(1000), 1000)
    assert (cosine[1:] == cosine[1:][::-1]).all() and (sine[1:] == -sine[1:][::-1]).all()
    assert sine[0] == sine[500] == cosine[250] == cosine[750] == 0


@pytest.mark.parametrize("n", [*SMOOTH, 2048, 3000, 4096])
def test_the_radices_are_those_of_the_length(n: int) -> None:
    found = fourier.radices(n)
    assert np.prod(found, dtype=int) == n
    assert set(found) <= {2, 3, 4, 5, 7, 8, 11, 13} and 2 not in found[:-1]


def test_a_length_with_another_prime_has_no_stages() -> None:
    for n in (0, 17, 34, 1009, 4099):
        assert not fourier.is_smooth(n)


def test_factors_of_long_transforms_are_lines() -> None:
    for n in LONGER:
        if n > fourier.LINE:
            a, b = fourier.split(n)
            assert a * b == n and a <= b and a <= fourier.LINE


def numbers(n: int, dtype: Any) -> Array:
    rng = np.random.default_rng(n)
    return (rng.standard_normal((2, n)) + 1j * rng.standard_normal((2, n))).astype(dtype)


def exact(x: Array) -> Array:
    """The transforms of rows in long doubles; few lengths, as plain sums in blocks."""
    n = x.shape[-1]
    wide = x.astype(np.clongdouble)
    turn = np.longdouble(2) * np.arccos(np.longdouble(-1)) / n
    angle = np.arange(n) * turn
    table = np.cos(angle) - 1j * np.sin(angle)
    j = np.arange(n)
    return np.stack([(wide * table[j * k % n]).sum(axis=-1) for k in range(n)], axis=-1)


def relative_error(found: Array, expected: Array) -> float:
    """Of the whole, in the Euclidean norm, in units of the type's epsilon."""
    off = np.abs(found.astype(np.clongdouble) - expected)
    size = np.sqrt((np.abs(expected) ** 2).sum())
    return float(np.sqrt((off**2).sum()) / size / np.finfo(found.dtype).eps)


def bound(n: int) -> float:
    """Units of epsilon: half of one for each doubling, and what a single number may be off."""
    return 0.5 + 0.25 * np.log2(n)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("n", [*SMOOTH[:80:3], 243, 1000, 1001, 1024])
def test_errors_grow_with_the_logarithm_of_the_length(n: int, dtype: Any) -> None:
    x = numbers(n, dtype)
    found = fourier.transformed(x, -1, 1.0, inverse=False)
    assert relative_error(found, exact(x)) <= bound(n)


@pytest.mark.parametrize("n", [4096, 5000, 8192, 28_561, 65_536])
def test_errors_of_long_transforms(n: int) -> None:
    """Single precision against the same in double precision, which the round trip vouches for."""
    x = numbers(n, np.complex64)
    wide = fourier.transformed(x.astype(np.complex128), -1, 1.0, inverse=False)
    found = fourier.transformed(x, -1, 1.0, inverse=False)
    assert relative_error(found, wide.astype(np.clongdouble)) <= bound(n)
    back = fourier.transformed(wide, -1, 1 / n, inverse=True)
    assert relative_error(back, x.astype(np.clongdouble)) <= 2 * bound(n)
    np.testing.assert_allclose(wide, np.fft.fft(x.astype(np.complex128)), atol=1e-11 * n)


def test_an_impulse_gives_the_table() -> None:
    """Of a line, where each element is one product: of factors of at most three tables."""
    for n in (60, 4096):
        x = np.zeros(n, np.complex128)
        x[1] = 1
        re, im = fourier.factors(np.arange(n), n, dt.f64)
        found = fourier.transformed(x, 0, 1.0, inverse=False)
        np.testing.assert_allclose(found, re + 1j * im, rtol=0, atol=4e-16)


def test_the_axis_is_the_one_that_is_asked_for() -> None:
    x = numbers(60, np.complex64).reshape(2, 5, 12)
    for axis in range(3):
        rows = np.ascontiguousarray(np.moveaxis(x, axis, -1))
        found = fourier.transformed(x, axis, 0.5, inverse=True)
        expected = fourier.transformed(rows, 2, 0.5, inverse=True)
        assert (np.moveaxis(found, axis, -1) == expected).all()
