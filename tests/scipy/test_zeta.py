"""`scipy.special.zeta` left of its pole, and `polygamma` where its terms cancel."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import pyc
from pyc.scipy import special


def _exactly(x: float) -> float:
    with mp.workdps(40):
        return float(mp.zeta(mp.mpf(x)))


def test_riemanns_zeta_is_continued_left_of_its_pole() -> None:
    random = np.random.default_rng(5)
    near = np.concatenate([-(10.0 ** np.arange(-300.0, 0, 7)), random.uniform(-3, 1, 200)])
    x = np.concatenate(
        [near, random.uniform(-259, -3, 300), np.arange(-258.0, 1), [-0.0, 1 - 1e-9, -127.7, -63.3]]
    )
    expected = np.array([_exactly(float(v)) for v in x])
    np.testing.assert_allclose(special.zeta(x), expected, 4e-15)


def test_it_is_zero_at_negative_even_numbers() -> None:
    assert (special.zeta(np.array([-2.0, -4.0, -100.0, -258.0, -300.0, -1e5, -1e300])) == 0).all()


def test_beside_far_even_numbers_it_is_finite_though_gamma_is_not() -> None:
    x = -np.array([260.00000000001, 262.000001, 264.0000000001, 268.0, 258.5, 260.1])
    expected = np.array([_exactly(float(v)) for v in x])
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(special.zeta(x), expected, 1e-13)


def test_far_left_it_is_infinite_as_scipys() -> None:
    x = np.array([-263.0, -265.0, -270.5, -273.5, -301.0, -np.inf, np.nan, 1.0])
    np.testing.assert_array_equal(special.zeta(x), scipy.special.zeta(x))


def test_right_of_the_pole_it_is_hurwitzs() -> None:
    x = np.concatenate([np.linspace(1.0, 60.0, 300), [np.inf, 1 + 1e-15]])
    np.testing.assert_array_equal(special.zeta(x), special.zeta(x, 1.0))
    assert np.isnan(special.zeta(0.5, 1.0))


def test_of_infinite_order_one_term_is_left() -> None:
    """1^-s is 1 for every s; the logarithm of 1 times infinity is none of the powers' concern."""
    q = np.array([1.0, 1 + 2.0**-52, 2.0, 1e300, np.inf])
    np.testing.assert_array_equal(special.zeta(np.inf, q), [1, 0, 0, 0, 0])
    np.testing.assert_array_equal(special.zeta(np.float32(np.inf), np.float32(1)), 1)


def test_of_float32_it_is_rounded_once_and_compiled() -> None:
    x = np.linspace(-30, 3, 67, dtype=np.float32)
    found = pyc.jit(scipy.special.zeta)(x)
    assert found.dtype == np.float32
    expected = [_exactly(float(v)) if v != 1 else np.inf for v in x]
    np.testing.assert_allclose(found, expected, 1e-7)


@pytest.mark.parametrize("n", [2, 4, 20, 100, 168])
def test_terms_of_polygamma_that_cancel_leave_the_others(n: int) -> None:
    """At -1/2, -3/2, ... those of x + k and of -x - k differ in sign alone; SciPy loses digits."""
    x = np.array([-0.5, -1.5, -3.5, -20.5])
    with mp.workdps(40):
        expected = [float(-mp.factorial(n) * mp.zeta(n + 1, 1 - v)) for v in x]
    np.testing.assert_allclose(special.polygamma(float(n), x), expected, 3e-15)
