"""`pyc.scipy.special` of complex numbers: within the bounds of docs/numerics.md of mpmath's values,
and at infinities, poles and cuts what SciPy gives, or the limit where SciPy gives NaN."""

from __future__ import annotations

from typing import Any

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import pytest
import scipy.special

import pyc
from pyc import errors
from pyc.scipy import special

U = 2.0**-53
GAMMAS = ("loggamma", "gamma", "digamma")
EXACT: dict[str, Any] = {
    "loggamma": mp.loggamma,
    "gamma": mp.gamma,
    "digamma": mp.digamma,
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfcx": lambda z: mp.exp(z * z) * mp.erfc(z),
    "ndtr": lambda z: mp.erfc(-z / mp.sqrt(2)) / 2,
    "wofz": lambda z: mp.exp(-z * z) * mp.erfc(mp.mpc(0, -1) * z),
}


def _samples(seed: int) -> np.ndarray[Any, Any]:
    """Near and far, beside the axes, the zeros and the poles."""
    draw = np.random.default_rng(seed)

    def beside(count: int) -> Any:
        return 10.0 ** draw.uniform(-12, -1, count) * draw.choice([-1, 1], count)

    return np.concatenate(
        [
            draw.uniform(-6, 6, 60) + 1j * draw.uniform(-6, 6, 60),
            draw.uniform(-20, 20, 60) + 1j * draw.uniform(-20, 20, 60),
            draw.normal(size=40) * 0.3 + 1j * draw.normal(size=40) * 0.3,
            draw.integers(1, 3, 60) + 0.4 * (draw.normal(size=60) + 1j * draw.normal(size=60)),
            draw.uniform(-15, 15, 40) + 1j * beside(40),
            beside(40) + 1j * draw.uniform(-9, 9, 40),
            draw.integers(-9, 3, 40) + beside(40) * 1e-2 + 1j * beside(40),
        ]
    )


def _bound(name: str, z: Any, size: Any) -> Any:
    """The promise of docs/numerics.md, for the modulus of what is wrong."""
    if name not in GAMMAS:
        return (12 + 12 * np.abs(z) ** 2) * U * size
    with mp.workdps(40):
        level = np.array([float(abs(mp.loggamma(mp.mpc(w)))) for w in z])
    if name == "gamma":
        return (24 + 48 * level) * U * size
    return (48 + 48 * size) * U


@pytest.mark.parametrize("name", EXACT)
def test_errors_are_within_the_promise(name: str) -> None:
    z = _samples(list(EXACT).index(name))
    found = getattr(special, name)(z)
    assert found.dtype == np.complex128
    with mp.workdps(40):
        exact = [EXACT[name](mp.mpc(w)) for w in z]
        size = np.array([float(abs(w)) for w in exact])
        seen = (size > 1e-290) & (size < 1e300)
        apart = np.array(
            [
                float(abs(mp.mpc(a) - b))
                for a, b in zip(found[seen], np.array(exact)[seen], strict=True)
            ]
        )
    assert seen.sum() > 300
    assert (apart <= _bound(name, z, size)[seen]).all()


@pytest.mark.parametrize("name", EXACT)
def test_single_precision_is_rounded_once(name: str) -> None:
    z = _samples(9).astype(np.complex64)
    found = getattr(special, name)(z)
    assert found.dtype == np.complex64
    with np.errstate(all="ignore"):
        wide = getattr(special, name)(z.astype(np.complex128)).astype(np.complex64)
    np.testing.assert_array_equal(found, wide)


@pytest.mark.parametrize("name", EXACT)
def test_a_traced_call_gives_the_bits_of_one_outside(name: str) -> None:
    z = _samples(10)
    function = getattr(special, name)
    assert pyc.jit(lambda w: function(w))(z).tobytes() == function(z).tobytes()


AWKWARD = [0.0, -0.0, 1.0, -1.0, -2.5, -3.0, np.inf, -np.inf, np.nan, 1e-300, 1e5, -30.0, -1e200]


@pytest.mark.parametrize("name", EXACT)
def test_infinities_poles_and_cuts_are_those_of_scipy(name: str) -> None:
    """Where SciPy gives NaN in a part of a finite place's value, the limit may be known here."""
    z = np.array([complex(a, b) for a in AWKWARD for b in AWKWARD])
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(z)
    found = getattr(special, name)(z)
    finite = np.isfinite(expected)
    near = np.abs(found[finite] - expected[finite])
    scale = 1 + np.minimum(np.abs(z[finite]), 1e3) ** 2
    assert (near <= 1e-12 * scale * np.abs(expected[finite]) + 1e-300).all()
    known = np.isinf(expected) & ~np.isnan(expected) & np.isfinite(z)
    assert np.isinf(found[known]).all()
    lost = np.isnan(z.real) | np.isnan(z.imag)
    kept = np.isnan(found) | np.isinf(found) | ~np.isnan(expected)
    assert kept[lost].all()


@pytest.mark.parametrize("name", GAMMAS)
def test_poles_are_nan(name: str) -> None:
    found = getattr(special, name)(np.array([0j, -1 + 0j, complex(-3, -0.0)]))
    assert np.isnan(found.real).all()


def test_sides_of_the_cut_are_conjugates() -> None:
    above, below = special.loggamma(np.array([complex(-2.5, 0.0), complex(-2.5, -0.0)]))
    assert above == np.conj(below)
    assert above.imag == pytest.approx(-3 * np.pi, rel=1e-15)


@pytest.mark.parametrize("name", ["erf", "erfc", "erfcx", "gamma", "digamma", "ndtr"])
def test_a_real_number_gives_the_real_function(name: str) -> None:
    x = np.array([0.25, 1.5, 3.0, 7.25, -2.25])
    function = getattr(special, name)
    found = function(x + 0j)
    np.testing.assert_array_equal(found.real, function(x))
    assert (found.imag == 0).all()


def test_loggamma_of_real_numbers_is_real() -> None:
    found = special.loggamma(np.array([0.5, 3.0, -1.5, 0.0]))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(np.isnan(found), [False, False, True, False])
    assert special.loggamma(3).dtype == np.float64
    assert special.loggamma(np.float32(3)).dtype == np.float32


def test_wofz_of_real_numbers_is_complex() -> None:
    assert special.wofz(np.float32(3)).dtype == np.complex64
    x = np.array([0, 5, 30])
    found = special.wofz(x)
    assert found.dtype == np.complex128
    np.testing.assert_allclose(found.real, np.exp(-np.square(x, dtype=float)), rtol=1e-12)
    np.testing.assert_allclose(found, scipy.special.wofz(x), rtol=1e-13)


def test_functions_of_real_numbers_say_so() -> None:
    for name in ("gammaln", "erfinv", "log_ndtr", "i0", "expit"):
        with pytest.raises(errors.DTypeError, match="needs real numbers, got c128"):
            getattr(special, name)(np.array([1j]))
