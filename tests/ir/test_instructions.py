"""The NumPy meaning of instructions, where it is not NumPy's own function."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pyc.ir import dtype as dt
from pyc.ir.instructions import INSTRUCTIONS, _libm


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray, type: dt.DType) -> np.ndarray:
    """The fma instruction."""
    return INSTRUCTIONS["fma"].evaluate((a, b, c), type)


def random_floats(random: np.random.Generator, count: int, low: int, high: int) -> np.ndarray:
    """Floats of either sign with exponents in [low, high); a third have short mantissas."""
    mantissa = random.integers(1 << 52, 1 << 53, count)
    mantissa[::3] &= ~((1 << 40) - 1)
    scaled = np.ldexp(mantissa.astype(np.float64), random.integers(low, high, count) - 52)
    return scaled * random.choice([-1.0, 1.0], count)


@pytest.mark.parametrize(("low", "high"), [(-2, 2), (-60, 60), (-1000, 1000)])
def test_float64_fma_rounds_the_exact_value_once(low: int, high: int) -> None:
    """Against rational arithmetic, with addends near the product so that ties and cancellation
    occur."""
    random = np.random.default_rng(-low)
    a, b = (random_floats(random, 4000, low // 2, high // 2) for _ in "ab")
    c = random_floats(random, 4000, low, high)
    c[::2] = -(a * b)[::2] * (1 + random.choice([0, 2.0**-52, 2.0**-30, 1, -1], 2000))
    got = fma(a, b, c, dt.f64)
    for x, y, z, value in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        assert value == float(exact), (x.hex(), y.hex(), z.hex(), value.hex())


def test_float64_fma_of_special_values_is_the_c_library_s() -> None:
    """Zeros with their signs, infinities, NaN, overflow inside, subnormals."""
    inf, nan = float("inf"), float("nan")
    values = np.array([0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 5e-324, 1e300, -1e300, 1e-200])
    a, b, c = (v.ravel() for v in np.meshgrid(values, values, values))
    got = fma(a, b, c, dt.f64)
    want = np.array([_libm.fma(*row) for row in zip(a, b, c, strict=True)])
    np.testing.assert_array_equal(got, want)
    defined = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got)[defined], np.signbit(want)[defined])


def test_float32_fma_rounds_the_exact_value_once() -> None:
    """Products of 24-bit numbers against rationals; Fraction -> float64 -> float32 would round
    twice, so the neighbours are compared instead."""
    random = np.random.default_rng(5)
    a, b, c = (random_floats(random, 3000, -3, 3).astype(np.float32) for _ in "abc")
    c[::2] = -(a * b)[::2]
    got = fma(a, b, c, dt.f32)
    below, above = np.nextafter(got, np.float32(-np.inf)), np.nextafter(got, np.float32(np.inf))
    rows = zip(*(v.tolist() for v in (a, b, c, got, below, above)), strict=True)
    for x, y, z, value, down, up in rows:
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        miss = abs(exact - Fraction(value))
        assert miss <= abs(exact - Fraction(down)) and miss <= abs(exact - Fraction(up))
