"""Oracles of special functions that SciPy has not, or not alone, with SciPy's functions.

Arrays of floats, computed in float64; within the tolerances of `tests/ops/test_every_op.py`, not to
the last place. `tests/scipy` compares with correctly rounded values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as scipy  # type: ignore[import-untyped]

Array = np.ndarray[Any, Any]


def sine_integral(x: Any) -> Any:
    """The first of SciPy's pair."""
    return scipy.sici(x)[0]


def cosine_integral(x: Any) -> Any:
    """The second of SciPy's pair."""
    return scipy.sici(x)[1]


def vanishing(name: str) -> Callable[[Any], Any]:
    """SciPy's function, but 0 at the infinities where it is defined: SciPy's is NaN there."""
    return lambda x: np.where(
        np.isinf(x) & ((x > 0) | (name[0] == "j")), 0.0, getattr(scipy, name)(x)
    )


def zeta(s: Any, q: Any) -> Any:
    """SciPy's function; NaN where an argument is, and for infinite s the limit."""
    with np.errstate(all="ignore"):
        found = scipy.zeta(s, q)
        limit = np.where(q > 1, 0.0, np.where(q == 1, 1.0, np.inf))
    found = np.where(s == np.inf, limit, found)
    return np.where(np.isnan(s) | np.isnan(q), np.nan, found)


def _of_positive(function: Any, at_zero: float, at_infinity: float) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        inside = (a > 0) & (b > 0) & (a < np.inf) & (b < np.inf)
        zero = ((a == 0) & (b >= 0) & (b < np.inf)) | ((b == 0) & (a >= 0) & (a < np.inf))
        infinite = ((a == np.inf) & (b > 0)) | ((b == np.inf) & (a > 0))
        usual = function(np.where(inside, a, 1.0), np.where(inside, b, 1.0))
        ends = np.where(zero, at_zero, np.where(infinite, at_infinity, np.nan))
        return np.where(inside, usual, ends)

    return run


def _logarithm(a: Any, b: Any) -> Any:
    tiny = np.minimum(a, b) < 1e-300
    return np.where(tiny, -np.log(np.minimum(a, b)), scipy.betaln(a, b))


beta_positive = _of_positive(lambda a, b: np.exp(_logarithm(a, b)), np.inf, 0.0)
betaln_positive = _of_positive(_logarithm, np.inf, -np.inf)


def lgamma1p(x: Any) -> Any:
    """The logarithm of gamma(1 + x) from -1/2 to 1/2, NaN elsewhere."""
    small = np.where(np.abs(x) <= 0.5, x, np.nan)
    series = -np.euler_gamma * small + np.pi**2 / 12 * small * small
    return np.where(np.abs(small) < 1e-4, series, scipy.gammaln(1 + small))


def poisson_mass(a: Any, x: Any) -> Any:
    """x^a exp(-x) / gamma(a + 1) for positive finite numbers, NaN elsewhere."""
    inside = (a > 0) & (x > 0) & (a < np.inf) & (x < np.inf)
    a, x = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    large = a > 20
    size = np.where(large, a, 20.0)
    far = size * np.log(x / size) + (size - x) - 0.5 * np.log(2 * np.pi * size) - 1 / (12 * size)
    far = far + 1 / (360 * size**3)
    near = a * np.log(x) - x - scipy.gammaln(np.where(large, 1.0, a) + 1)
    return np.where(inside, np.exp(np.where(large, far, near)), np.nan)


def binomial_mass(a: Any, b: Any, x: Any) -> Any:
    """x^a (1 - x)^b / (a B(a, b)) for positive finite a and b and 0 < x < 1, NaN elsewhere."""
    inside = (a > 0) & (b > 0) & (a < np.inf) & (b < np.inf) & (x > 0) & (x < 1)
    a, b, x = np.where(inside, a, 1.0), np.where(inside, b, 1.0), np.where(inside, x, 0.5)
    found = np.exp(a * np.log(x) + b * np.log1p(-x) - scipy.betaln(a, b)) / a
    return np.where(inside, np.where(np.isnan(found), 0.0, found), np.nan)


def gamma_tail(a: Any, x: Any) -> Any:
    """The smaller incomplete gamma function over `poisson_mass`, for a >= 20 and x near it: by its
    series and its continued fraction (DLMF 8.7.1, 8.9.2)."""
    inside = (a >= 20) & (np.abs(x - a) <= 0.4 * a) & (a < np.inf)
    a, x = np.where(inside, a, 20.0), np.where(inside, x, 20.0)
    term = series = np.ones_like(a)
    fraction = x + 1 - a
    for k in range(1, 4000):
        term = term * (x / (a + k))
        series = series + term
    for k in range(4000, 0, -1):
        fraction = x + (2 * k - 1) - a - k * (k - a) / np.where(fraction == 0, 1e-300, fraction)
    found = np.where(x < a, series, a / fraction)
    return np.where(inside, np.where(a > 1e6, np.sqrt(np.pi * a / 2), found), np.nan)
