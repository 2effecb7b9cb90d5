"""Oracles of special functions, correctly rounded, by mpmath where SciPy's lack digits or ends.

Arrays of floats, computed in float64. SciPy's Bessel functions of huge numbers are noise, those of
tiny ones overflow, and its logarithms cancel; `zeta` is SciPy's but at its ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import scipy.special as scipy  # type: ignore[import-untyped]

Array = np.ndarray[Any, Any]

_BITS = 160
_GONE = 1e4
"""exp(-x) is 0 from here, and exp(x) infinite."""
_TINY = 1e-30
"""Below this the first terms of a power series are all; beyond its inverse, those of 1 / x."""


def _exact(function: Callable[..., Any]) -> Callable[..., Array]:
    """An elementwise NumPy function of one of numbers, none NaN, of as much precision as the sizes
    of the arguments ask for: sums of the greatest and the least keep both."""

    @cache
    def value(*arguments: float) -> float:
        if any(math.isnan(x) for x in arguments):
            return math.nan
        sizes = [abs(math.frexp(x)[1]) for x in arguments if math.isfinite(x)]
        with mp.workprec(_BITS + 2 * max(sizes, default=0)):
            return float(function(*arguments))

    def run(*arrays: Any) -> Array:
        wide = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in arrays))
        flat = [value(*row) for row in zip(*(a.reshape(-1).tolist() for a in wide), strict=True)]
        return np.array(flat, np.float64).reshape(wide[0].shape)

    return run


def _exp(x: Any) -> Any:
    return mp.exp(x) if abs(x) < _GONE else 0.0 if x < 0 else math.inf


# --- of one argument ------------------------------------------------------------------------------


@_exact
def sine_integral(x: float) -> Any:
    """The integral of sin(t) / t from 0."""
    return mp.si(mp.mpf(x))


@_exact
def cosine_integral(x: float) -> Any:
    """The cosine integral of |x|, as SciPy's real one; NaN at -inf."""
    if math.isinf(x):
        return 0.0 if x > 0 else math.nan
    return mp.ci(abs(mp.mpf(x))) if x else -math.inf


@_exact
def erfcx(x: float) -> Any:
    """exp(x^2) erfc(x)."""
    if x > 1 / _TINY:
        return 1 / (mp.mpf(x) * mp.sqrt(mp.pi))
    return mp.exp(mp.mpf(x) ** 2) * mp.erfc(mp.mpf(x)) if x > -_GONE else math.inf


@_exact
def expi(x: float) -> Any:
    """The principal value of the integral of exp(t) / t up to x."""
    if abs(x) > _GONE:
        return math.inf if x > 0 else -0.0
    return mp.ei(mp.mpf(x)) if x else -math.inf


@_exact
def spence(x: float) -> Any:
    """Li2(1 - x); NaN below 0."""
    if x > 2:  # DLMF 25.12.4
        return -_dilogarithm(1 / mp.mpf(x)) - mp.log(x) ** 2 / 2 if x < math.inf else -x
    return _dilogarithm(mp.mpf(x)) if x >= 0 else math.nan


def _dilogarithm(x: Any) -> Any:
    return mp.polylog(2, 1 - x).real if x > _TINY else mp.pi**2 / 6


@_exact
def lgamma1p(x: float) -> Any:
    """The logarithm of gamma(1 + x) from -1/2 to 1/2, NaN elsewhere."""
    if abs(x) < _TINY:
        return -mp.euler * x
    return mp.loggamma(1 + mp.mpf(x)) if abs(x) <= 0.5 else math.nan


def _first(order: int) -> Callable[[float], Any]:
    return lambda x: mp.besselj(order, mp.mpf(x)) if math.isfinite(x) else 0.0


def _second(order: int) -> Callable[[float], Any]:
    def run(x: float) -> Any:
        if x <= 0:
            return math.nan if x else -math.inf
        if x < _TINY:
            return -2 / (mp.pi * x) if order else 2 / mp.pi * (mp.log(mp.mpf(x) / 2) + mp.euler)
        return mp.bessely(order, mp.mpf(x)) if x < math.inf else 0.0

    return run


def _modified(order: int, scaled: bool) -> Callable[[float], Any]:
    def run(x: float) -> Any:
        if x <= 0:
            return math.nan if x else math.inf
        if x < _TINY:
            return 1 / mp.mpf(x) if order else -mp.log(mp.mpf(x) / 2) - mp.euler
        if x > 1 / _TINY and scaled:
            return mp.sqrt(mp.pi / (2 * mp.mpf(x)))
        if x > _GONE and not scaled:
            return 0.0
        return mp.besselk(order, mp.mpf(x)) * (mp.exp(mp.mpf(x)) if scaled else 1)

    return run


j0, j1 = _exact(_first(0)), _exact(_first(1))
y0, y1 = _exact(_second(0)), _exact(_second(1))
k0, k1 = _exact(_modified(0, False)), _exact(_modified(1, False))
k0e, k1e = _exact(_modified(0, True)), _exact(_modified(1, True))

# --- of several -----------------------------------------------------------------------------------


def zeta(s: Any, q: Any) -> Any:
    """SciPy's function; NaN where an argument is, for infinite s the limit, and, for odd s, without
    the terms that cancel at q = -1/2, -3/2, ..., where SciPy's differences lose digits."""
    with np.errstate(all="ignore"):
        cancel = (q < 0) & (np.remainder(q, 1) == 0.5) & (np.remainder(s, 2) == 1)
        found = scipy.zeta(s, np.where(cancel, 1 - q, q))
        limit = np.where(q > 1, 0.0, np.where(q == 1, 1.0, np.inf))
    # SciPy's sums of powers that all vanish are NaN.
    found = np.where((s == np.inf) | ((s > 1e4) & (q > 1)), limit, found)
    return np.where(np.isnan(s) | np.isnan(q), np.nan, found)


def _log_beta(a: Any, b: Any) -> Any:
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def _of_positive(function: Callable[[Any, Any], Any], at_infinity: float) -> Callable[..., Array]:
    """Infinite where an argument is 0."""

    @_exact
    def run(a: float, b: float) -> Any:
        least, most = min(a, b), max(a, b)
        if least < 0 or (least == 0 and most == math.inf):
            return math.nan
        if least == 0:
            return math.inf
        return function(mp.mpf(a), mp.mpf(b)) if most < math.inf else at_infinity

    return run


beta_positive = _of_positive(lambda a, b: _exp(_log_beta(a, b)), 0.0)
betaln_positive = _of_positive(_log_beta, -math.inf)


@_exact
def poisson_mass(a: float, x: float) -> Any:
    """x^a exp(-x) / gamma(a + 1) for positive finite numbers, NaN elsewhere."""
    if not (0 < a < math.inf and 0 < x < math.inf):
        return math.nan
    return _exp(a * mp.log(x) - x - mp.loggamma(mp.mpf(a) + 1))


@_exact
def binomial_mass(a: float, b: float, x: float) -> Any:
    """x^a (1 - x)^b / (a B(a, b)) for positive finite a and b and 0 < x < 1, NaN elsewhere."""
    if not (0 < a < math.inf and 0 < b < math.inf and 0 < x < 1):
        return math.nan
    p, q, at = mp.mpf(a), mp.mpf(b), mp.mpf(x)
    return _exp(p * mp.log(at) + q * mp.log1p(-at) - _log_beta(p, q)) / p


@_exact
def gamma_tail(a: float, x: float) -> Any:
    """The smaller incomplete gamma function over `poisson_mass`, for a >= 20 and x near it."""
    p, at = mp.mpf(a), mp.mpf(x)
    if not (20 <= a < math.inf and abs(at - p) <= 0.4 * p):
        return math.nan
    if a > 1e34 and x == a:  # DLMF 8.11.12: what follows is less by the root of a
        return mp.sqrt(mp.pi * p / 2)
    if a > 1e7:
        raise NotImplementedError(f"gamma_tail({a}, {x}): too many terms")
    term = lower = mp.mpf(1)  # DLMF 8.7.1
    k = 0
    while term > lower * mp.mpf(2) ** -_BITS:
        k += 1
        term *= at / (p + k)
        lower += term
    return lower if x < a else mp.exp(at + mp.loggamma(p + 1) - p * mp.log(at)) - lower
