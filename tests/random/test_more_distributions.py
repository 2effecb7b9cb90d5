"""Distributions by inversion and by trials: against the exact ones, with parameters of all shapes.

Keys are fixed; see `test_distributions`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import pyc
import pyc.numpy as pnp
from pyc import random
from tests.random.test_distributions import KEY, as_likely, fits

COUNT = 50_000
CONTINUOUS = {
    "cauchy": ((), stats.cauchy()),
    "laplace": ((), stats.laplace()),
    "logistic": ((), stats.logistic()),
    "rayleigh": ((2.0,), stats.rayleigh(scale=2)),
    "lognormal": ((0.5,), stats.lognorm(0.5)),
    "pareto": ((2.5,), stats.pareto(2.5)),
    "weibull_min": ((2.0, 1.5), stats.weibull_min(1.5, scale=2)),
    "triangular": ((-1, 0.5, 3), stats.triang(1.5 / 4, -1, 4)),
    "truncated_normal": ((-1, 2.0), stats.truncnorm(-1, 2)),
    "truncated_normal far": ((8, 9.0), stats.truncnorm(8, 9)),
    "truncated_normal open": ((-np.inf, -20), stats.truncnorm(-np.inf, -20)),
    "truncated_normal whole": ((-np.inf, np.inf), stats.norm()),
    "gamma small": ((0.3,), stats.gamma(0.3)),
    "gamma": ((1,), stats.gamma(1)),
    "gamma more": ((7.5,), stats.gamma(7.5)),
    "gamma large": ((1e4,), stats.gamma(1e4)),
    "loggamma": ((0.7,), stats.loggamma(0.7)),
    "beta": ((0.5, 2.0), stats.beta(0.5, 2)),
    "beta small": ((0.6, 0.8), stats.beta(0.6, 0.8)),
    "chisquare": ((3,), stats.chi2(3)),
    "f": ((3, 7), stats.f(3, 7)),
    "t": ((3,), stats.t(3)),
}


def draw(row: str, key: Any, shape: Any, dtype: Any) -> Any:
    return getattr(random, row.split()[0])(key, *CONTINUOUS[row][0], shape=shape, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", CONTINUOUS)
def test_numbers_have_their_distribution(row: str, dtype: str) -> None:
    numbers = draw(row, KEY, (COUNT,), dtype)
    assert numbers.dtype == dtype and np.isfinite(numbers).all()
    fits(numbers, CONTINUOUS[row][1])


def test_a_wrong_distribution_is_found() -> None:
    with pytest.raises(AssertionError):
        fits(draw("gamma more", KEY, (COUNT,), "float64"), stats.gamma(7.4))
    with pytest.raises(AssertionError):
        fits(draw("logistic", KEY, (COUNT,), "float64"), stats.logistic(scale=1.05))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("row", ["cauchy", "gamma", "triangular", "t"])
def test_short_types_are_rounded_numbers_of_float32(row: str, dtype: str) -> None:
    numbers = draw(row, KEY, (1001,), dtype)
    expected = draw(row, KEY, (1001,), np.float32)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(numbers, expected.astype(numbers.dtype))


@pytest.mark.parametrize("rate", [0.1, 3.0, 9.9, 10.0, 30.0, 1000.0])
def test_poisson_numbers_have_their_distribution(rate: float) -> None:
    distribution = stats.poisson(rate)
    counts = np.bincount(random.poisson(random.fold_in(KEY, int(rate)), rate, (COUNT,)))
    expected = distribution.pmf(np.arange(counts.size)) * COUNT
    often = expected > 8
    rest = COUNT - counts[often].sum(), COUNT - expected[often].sum()
    as_likely(np.append(counts[often], rest[0]), np.append(expected[often], rest[1]))


@pytest.mark.parametrize("rate", [1e5, 1e6, 1e9, 1e12])
def test_poisson_numbers_of_large_rates_are_nearly_normal(rate: float) -> None:
    numbers = random.poisson(KEY, rate, (COUNT,)).astype(np.float64)
    jitter = random.uniform(random.fold_in(KEY, 1), (COUNT,))
    # Of the next order: the skewness, 1 / sqrt(rate).
    skewed = stats.gamma(rate + 0.5)
    fits(numbers + jitter, skewed)


def test_poisson_numbers_of_awkward_rates() -> None:
    found = random.poisson(KEY, [0.0, -1.0, np.nan, np.inf, 1e300])
    most = np.iinfo(np.int64).max
    assert found.tolist() == [0, -1, -1, most, most] and found.dtype == np.int64
    assert random.poisson(KEY, 1e6, (3,), np.int16).tolist() == [32767] * 3
    assert random.poisson(KEY, 4, dtype=np.uint8).dtype == np.uint8


def test_geometric_numbers_have_their_distribution() -> None:
    numbers = random.geometric(KEY, 0.3, (COUNT,))
    counts = np.bincount(np.minimum(numbers, 20), minlength=21)[1:]
    chances = 0.3 * 0.7 ** np.arange(20)
    chances[-1] = 0.7**19
    as_likely(counts, chances)
    assert random.geometric(KEY, [1.0, 0.0, -1, 2, np.nan]).tolist() == [1, -1, -1, -1, -1]


def test_signs_are_as_likely() -> None:
    numbers = random.rademacher(KEY, (COUNT,))
    assert set(numbers.tolist()) == {-1, 1} and numbers.dtype == np.int64
    as_likely([(numbers == 1).sum(), (numbers == -1).sum()], [1, 1])
    assert random.rademacher(KEY, (4,), np.float32).dtype == np.float32


def test_dirichlet_vectors() -> None:
    alpha = np.array([0.5, 1.0, 2.5])
    found = random.dirichlet(KEY, alpha, (COUNT,))
    assert found.shape == (COUNT, 3)
    np.testing.assert_allclose(found.sum(axis=-1), 1, 1e-14)
    for k in range(3):
        fits(found[:, k], stats.beta(alpha[k], alpha.sum() - alpha[k]))
    assert random.dirichlet(KEY, np.ones((5, 1, 3)), (5, 2)).shape == (5, 2, 3)
    assert random.dirichlet(KEY, np.full((2, 4), 1e-3), dtype=np.float32).shape == (2, 4)


def test_normal_vectors_have_their_covariances() -> None:
    mean = np.array([1.0, -2.0, 0.5])
    root = np.array([[2.0, 0, 0], [-1, 1, 0], [0.5, 0.3, 0.7]])
    cov = root @ root.T
    found = random.multivariate_normal(KEY, mean, cov, (COUNT,))
    assert found.shape == (COUNT, 3) and found.dtype == np.float64
    white = np.linalg.solve(root, (found - mean).T)
    for k in range(3):
        fits(white[k], stats.norm())
    np.testing.assert_allclose(np.cov(white), np.eye(3), atol=0.02)


def test_shapes_of_normal_vectors() -> None:
    eye = np.eye(3, dtype=np.float32)
    draw = random.multivariate_normal
    assert draw(KEY, np.zeros(3, np.float32), eye).shape == (3,)
    assert draw(KEY, np.zeros(3, np.float32), eye).dtype == np.float32
    assert draw(KEY, np.zeros((4, 1, 3)), np.stack([eye, eye])).shape == (4, 2, 3)
    assert draw(KEY, np.zeros((2, 3)), eye, (5, 2), np.float16).dtype == np.float16
    assert draw(KEY, np.zeros(0), np.zeros((0, 0)), (2,)).shape == (2, 0)
    assert np.isnan(draw(KEY, np.zeros(2), -np.eye(2))).all()
    many = draw(KEY, np.zeros(3), np.stack([np.eye(3), 4 * np.eye(3)]))
    np.testing.assert_array_equal(many[0], draw(KEY, np.zeros(3), np.eye(3), (2,))[0])


@pytest.mark.parametrize("row", CONTINUOUS)
def test_a_longer_array_begins_with_a_shorter_one(row: str) -> None:
    """Trials too depend on the place alone. What takes two streams or pairs of words is not held
    to it: the second number of a normal pair is."""
    if row in ("lognormal", "t"):
        pytest.skip("normal numbers come in pairs")
    long, short = draw(row, KEY, (1000,), np.float64), draw(row, KEY, (20,), np.float64)
    np.testing.assert_array_equal(long[:20], short)


def test_parameters_broadcast_to_their_common_shape() -> None:
    a, b = np.array([[0.5], [2.0]]), np.array([1.0, 3.0, 9.0])
    assert random.beta(KEY, a, b).shape == (2, 3)
    assert random.gamma(KEY, b).shape == (3,)
    assert random.t(KEY, 5).shape == ()
    assert random.poisson(KEY, a, (4, 2, 3)).shape == (4, 2, 3)
    assert random.truncated_normal(KEY, a, b + 3).shape == (2, 3)
    means = random.gamma(KEY, np.array([0.5, 20.0]), (20_000, 2)).mean(axis=0)
    np.testing.assert_allclose(means, [0.5, 20.0], 0.03)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_parameters_out_of_their_range_give_nan(dtype: str) -> None:
    bad = [-1.0, np.nan]
    for name, more in (
        *[(n, ()) for n in ("gamma", "loggamma", "chisquare", "t", "pareto")],
        *[(n, (2.0,)) for n in ("beta", "f", "weibull_min")],
    ):
        found = getattr(random, name)(KEY, bad, *more, dtype=dtype)
        assert np.isnan(found).all(), name
    assert np.isnan(random.truncated_normal(KEY, [2.0, np.nan], 1.0, dtype=dtype)).all()
    assert np.isnan(random.triangular(KEY, 0.0, [2.0, np.nan], 1.0, dtype=dtype)).all()


def test_truncated_numbers_stay_strictly_inside() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        low, high = dtype(1), np.nextafter(np.nextafter(dtype(1), dtype(2)), dtype(2))
        found = random.truncated_normal(KEY, low, high, (100,), dtype)
        assert (found == np.nextafter(dtype(1), dtype(2))).all()
    far = random.truncated_normal(KEY, [-60.0, 50.0], [-50.0, 60.0])
    assert -60 < far[0] < -50 and 50 < far[1] < 60


def test_no_numbers() -> None:
    for row in CONTINUOUS:
        assert draw(row, KEY, (0, 3), np.float32).shape == (0, 3)
    assert random.poisson(KEY, np.zeros((2, 0))).shape == (2, 0)


def test_lanes_draw_what_each_key_draws() -> None:
    keys = random.split(KEY, 5)
    rates = np.array([0.5, 3.0, 12.0, 40.0, 1e3])
    for function in (
        lambda k, r: random.gamma(k, r, (3,)),
        lambda k, r: random.poisson(k, r, (3,)),
        lambda k, r: random.beta(k, r, 2.0, (3,), np.float32),
        lambda k, r: random.truncated_normal(k, 0.0, r, (3,)),
        lambda k, r: random.dirichlet(k, pnp.stack([r, r + 1.0])),
    ):
        mapped = pyc.vmap(function)(keys, rates)
        each = np.stack([function(k, r) for k, r in zip(keys, rates, strict=True)])
        np.testing.assert_array_equal(mapped, each)


def test_trials_are_one_kernel_and_keep_no_state() -> None:
    """The loop runs inside of a kernel, for each element: no step of the program repeats."""
    lowered = pyc.jit(lambda k: random.gamma(k, 2.5, (1000,), np.float32)).lower(KEY)
    assert not any(type(step).__name__ == "Loop" for step in lowered.plan.steps)
