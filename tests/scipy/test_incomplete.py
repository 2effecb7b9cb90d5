"""Incomplete integrals, what is made of gamma functions, integrals and Bessel functions of
`pyc.scipy.special`: against correctly rounded values, against SciPy, and as users call them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.special

import pyc
from pyc import errors
from pyc.scipy import special
from tests.scipy.values import INTEGRAL_FILE

VALUES = json.loads(INTEGRAL_FILE.read_text())

# The promise of docs/numerics.md in ULP of the type, and half an ULP of the stored value's own.
OF_ONE = ("erfcx", "log_ndtr", "exp1", "expi", "sici 0", "sici 1", "spence")
OF_ONE += ("j0", "j1", "y0", "y1", "k0", "k0e", "k1", "k1e")


def bound(name: str, kind: str) -> float:
    if kind == "f32":
        return 1.0
    return 8.0 if name in OF_ONE and name != "sici 1" else 16.0


def called(module: Any, name: str, arguments: list[Any]) -> Any:
    """Results of a function of that name, which has its place in a pair after it."""
    base, _, place = name.partition(" ")
    found = getattr(module, base)(*arguments)
    return found[int(place)] if place else found


@pytest.mark.parametrize("row", VALUES)
def test_errors_are_within_the_promise(row: str) -> None:
    name, kind = row.split(".")
    dtype = np.float32 if kind == "f32" else np.float64
    found = VALUES[row]
    assert len(found) >= 10
    arguments = [
        np.array([float.fromhex(a[k]) for a, _ in found], dtype) for k in range(len(found[0][0]))
    ]
    with np.errstate(all="ignore"):
        expected = np.array([float.fromhex(v) for _, v in found], dtype)
    result = called(special, name, arguments)
    assert result.dtype == dtype
    with np.errstate(all="ignore"):
        error = np.abs(result - expected) / np.spacing(np.abs(expected))
    worst = np.where(result == expected, 0.0, error).max()
    # Where terms cancel a little the values are half of them at least.
    assert worst <= 2 * bound(name, kind) + 0.5


def test_a_wrong_unit_in_the_last_places_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds are tight enough that a sloppy definition fails."""
    exact = special.gammainc
    monkeypatch.setattr(special, "gammainc", lambda *xs: exact(*xs) * (1 + 1e-14))
    with pytest.raises(AssertionError):
        test_errors_are_within_the_promise("gammainc.f64")


AWKWARD = [0.0, -0.0, 1.0, 2.0, 3.0, 0.5, 1.5, -0.5, -1.0, -2.0, 7.0, 30.0, 150.5, 1e-5]
ENDS = [np.inf, -np.inf, np.nan]
PAIRS = ("gammainc", "gammaincc", "betaln", "zeta", "comb", "huber", "pseudo_huber", "xlogy")


@pytest.mark.parametrize("name", [*PAIRS, "beta", "polygamma", "poch", "binom"])
def test_poles_and_signs_are_those_of_scipy(name: str) -> None:
    a, b = (x.reshape(-1) for x in np.meshgrid(np.array(AWKWARD), np.array(AWKWARD)))
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(a, b)
    if name == "polygamma":  # derivatives of high order below 0 are differences of huge terms
        a, b, expected = a[(b > 0) | (a < 4)], b[(b > 0) | (a < 4)], expected[(b > 0) | (a < 4)]
    found = getattr(special, name)(a, b)
    if name in (
        "beta",
        "poch",
    ):  # at a pole a sign is that of a side, which SciPy picks as it comes
        found, expected = (np.where(np.isinf(v), np.inf, v) for v in (found, expected))
    np.testing.assert_allclose(found, expected, 1e-9 if name in ("binom", "poch") else 1e-11)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "huber"])
def test_infinities_and_nan_are_those_of_scipy(name: str) -> None:
    values = np.array([*AWKWARD, *ENDS])
    a, b = (x.reshape(-1) for x in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(a, b)
    np.testing.assert_allclose(getattr(special, name)(a, b), expected, 1e-12)


@pytest.mark.parametrize("name", ["betainc", "betaincc"])
def test_ends_of_the_incomplete_beta_function(name: str) -> None:
    values = np.array([0.0, 1.0, 0.5, 30.0, -1.0, np.inf, np.nan])
    x = np.array([0.0, 0.3, 0.9, 1.0, 1.5, -1.0, np.nan])
    arguments = [v.reshape(-1) for v in np.meshgrid(values, values, x)]
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(*arguments)
    both = np.isinf(arguments[0]) & np.isinf(arguments[1])  # SciPy's is NaN, or not, by its version
    found = getattr(special, name)(*arguments)
    np.testing.assert_allclose(found[~both], expected[~both], 1e-13)


@pytest.mark.parametrize("name", ["beta", "betaln", "zeta", "comb", "binom", "polygamma", "poch"])
def test_nan_gives_nan(name: str) -> None:
    a, b = np.array([np.nan, 1.5, np.nan]), np.array([1.5, np.nan, np.nan])
    assert np.isnan(getattr(special, name)(a, b)).all()


def test_tails_of_one_function_sum_to_one() -> None:
    random = np.random.default_rng(2)
    a, b = 10.0 ** random.uniform(-2, 5, (2, 500))
    x = a * random.uniform(0.5, 1.5, 500)
    sums = special.gammainc(a, x) + special.gammaincc(a, x)
    np.testing.assert_allclose(sums, 1.0, 1e-15)
    x = np.clip(a / (a + b) * random.uniform(0.5, 1.5, 500), 0.0, 1.0)
    np.testing.assert_allclose(special.betainc(a, b, x) + special.betaincc(a, b, x), 1.0, 1e-15)


def test_the_incomplete_beta_function_is_symmetric() -> None:
    random = np.random.default_rng(3)
    a, b = 10.0 ** random.uniform(-1, 3, (2, 300))
    x = random.integers(1, 64, 300) / 64.0  # 1 - x is exact
    np.testing.assert_allclose(special.betainc(a, b, x), special.betaincc(b, a, 1 - x), 1e-13)


def test_large_parameters_keep_their_digits() -> None:
    """Where SciPy has lost some: at the mean both tails are nearly a half."""
    a = np.array([1e8, 1e12, 1e15])
    root = 1 / (3 * np.sqrt(2 * np.pi * a))  # the first term of DLMF 8.12.8
    np.testing.assert_allclose(special.gammainc(a, a), 0.5 + root, 1e-14)


def test_whole_numbers_are_exact() -> None:
    n = np.arange(0, 23)
    np.testing.assert_array_equal(special.factorial(n), scipy.special.factorial(n))
    np.testing.assert_array_equal(special.comb(40, n), scipy.special.comb(40, n))
    np.testing.assert_array_equal(
        special.binom(30.0, np.arange(31.0)), scipy.special.binom(30, np.arange(31))
    )
    found = special.comb(5, np.arange(4), repetition=True)
    np.testing.assert_array_equal(found, [1, 5, 15, 35])


def test_bernoulli_numbers() -> None:
    found = special.bernoulli(20)
    np.testing.assert_allclose(found, scipy.special.bernoulli(20), 1e-11)
    assert found[2] == 1 / 6 and found[1] == -0.5 and special.bernoulli(0).tolist() == [1.0]
    assert special.bernoulli(300)[-1] == -np.inf
    np.testing.assert_array_equal(
        pyc.jit(lambda x: special.bernoulli(4) * x)(np.float64(2)), 2 * found[:5]
    )


@pytest.mark.parametrize("d", [1, 2, 5])
def test_multigammaln(d: int) -> None:
    a = np.array([2.5, 7.0, 30.0])
    np.testing.assert_allclose(special.multigammaln(a, d), scipy.special.multigammaln(a, d), 1e-14)
    assert np.isnan(special.multigammaln(0.5 * (d - 1), d))


def test_sine_and_cosine_integral() -> None:
    x = np.array([0.0, 0.5, -0.5, 3.0, 5.0, 9.0, 20.0, np.inf, np.nan])
    for found, expected in zip(special.sici(x), scipy.special.sici(x), strict=True):
        np.testing.assert_allclose(found, expected, 1e-13)


NAMES = ("gammainc", "gammaincc", "beta", "betaln", "zeta", "polygamma", "binom", "comb", "poch")
NAMES += ("huber", "pseudo_huber", "betainc", "betaincc")


@pytest.mark.parametrize("name", NAMES)
def test_types_of_results(name: str) -> None:
    count = 3 if name.startswith("betainc") else 2
    for given, wanted in (("?", "f8"), ("i4", "f8"), ("f2", "f2"), ("f4", "f4"), ("f8", "f8")):
        x = np.ones(3).astype(given)
        assert getattr(special, name)(*[x] * count).dtype == np.dtype(wanted), given


def _programs() -> dict[str, Any]:
    s = scipy.special
    return {
        "gammainc": lambda a, x: s.gammainc(a, x) * 2,
        "gammaincc": lambda a, x: s.gammaincc(a, x),
        "betainc": lambda a, x: s.betainc(a, 2.0, x / 10),
        "betaln": lambda a, x: s.betaln(a, x),
        "polygamma": lambda a, x: s.polygamma(1, x),
        "zeta": lambda a, x: s.zeta(a + 1, x),
        "factorial": lambda a, x: s.factorial(x),
        "comb": lambda a, x: s.comb(10, np.floor(x)),
        "multigammaln": lambda a, x: s.multigammaln(x + 1, 2),
        "sici": lambda a, x: s.sici(x)[0],
        "j0": lambda a, x: s.j0(x) + s.k1e(x),
        "log_ndtr": lambda a, x: s.log_ndtr(-x),
    }


@pytest.mark.parametrize("name", _programs())
def test_scipys_own_functions_are_traced(name: str) -> None:
    """Compiled, and the bits of the interpreter."""
    function = _programs()[name]
    random = np.random.default_rng(0)
    a, x = random.uniform(0.5, 9, (2, 3, 7))
    found = pyc.jit(function)(a, x)
    np.testing.assert_allclose(found, function(a, x), 1e-12)
    np.testing.assert_array_equal(found, pyc.interpret(function)(a, x))


def test_lanes() -> None:
    a, x = np.random.default_rng(0).uniform(0.5, 9, (2, 4, 5))
    np.testing.assert_array_equal(pyc.vmap(special.gammainc)(a, x), special.gammainc(a, x))


def test_a_loop_is_within_the_kernel() -> None:
    """Each two vectors of elements turn for themselves, in a series and in a continued fraction;
    nothing is launched for a turn."""
    a, x = np.random.default_rng(0).uniform(0.5, 9, (2, 1000))
    text = pyc.jit(lambda a, x: special.gammainc(a, x)).lower(a, x).as_text("kernels")
    assert text.count("while carry") == 4


@pytest.mark.parametrize("name", ["gammainc", "betaln", "zeta", "polygamma", "comb", "j0", "sici"])
def test_complex_numbers_are_refused(name: str) -> None:
    x = np.ones(3, np.complex64)
    with pytest.raises(errors.DTypeError, match=f"special.{name}: needs real numbers"):
        getattr(special, name)(*[x] * (1 if name in ("j0", "sici") else 2))


def test_what_no_array_holds_is_refused() -> None:
    with pytest.raises(errors.ArgumentError, match="factorial: exact=True"):
        special.factorial(5, exact=True)
    with pytest.raises(errors.ArgumentError, match="comb: exact=True"):
        special.comb(5, 2, exact=True)
    with pytest.raises(errors.ArgumentError, match="d must be a positive integer"):
        special.multigammaln(3.0, 2.5)  # type: ignore[arg-type]
    with pytest.raises(errors.ArgumentError, match="n must be an integer that is not negative"):
        special.bernoulli(-1)
