"""The regularised incomplete gamma and beta functions, with SciPy's names and arguments.

What the integrals begin with is an operation (`poisson_mass`, `binomial_mass`), right to the last
places also where it is the quotient of huge numbers; what it is multiplied by is a series or a
continued fraction, as a loop of each element within the kernel, or for large parameters of gamma an
operation too (`gamma_tail`). All in float64, for other types too, which stop earlier.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.compositions import public, run
from pyc.interpreter import bind1
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.numpy import core
from pyc.scipy.special.element_loops import repeated
from pyc.scipy.special.elementwise import real_operands

_STOP = {dt.f64: 2.0**-54}
"""What is added to 1 that counts no more; 2^-32 for narrower types."""

_UNIFORM_FROM, _UNIFORM_WITHIN = 20.0, 0.4
"""Parameters and relative distances from them of the uniform expansion, `gamma_tail`."""

_FROM_COMPLEMENT = 1.1
_TERMS_OF_COMPLEMENT = 22


@public
def gammainc(a: Any, x: Any) -> Any:
    """The regularised lower incomplete gamma function: the integral of t^(a - 1) exp(-t) from 0 to
    x over gamma(a).

    a, x: not negative, else NaN; broadcast together
    -> the promoted dtype; float64 for integers
    raises DTypeError: complex numbers; ShapeError: they do not broadcast

    SciPy: `scipy.special.gammainc`.

    >>> float(pyc.scipy.special.gammainc(2.0, 3.0))
    0.8008517265285442
    """
    a, x = real_operands("gammainc", a, x)
    return run("special.gammainc", _gammainc, a, x, fixed=(False,))


@public
def gammaincc(a: Any, x: Any) -> Any:
    """1 - gammainc(a, x), to the last places where it is small too.

    a, x: not negative, else NaN; broadcast together
    -> the promoted dtype; float64 for integers
    raises DTypeError: complex numbers; ShapeError: they do not broadcast

    SciPy: `scipy.special.gammaincc`.

    >>> float(pyc.scipy.special.gammaincc(2.0, 3.0))
    0.19914827347145578
    """
    a, x = real_operands("gammaincc", a, x)
    return run("special.gammaincc", _gammainc, a, x, fixed=(True,))


@public
def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function: the integral of t^(a - 1) (1 - t)^(b - 1) from 0 to
    x over beta(a, b).

    a, b: not negative, and x between 0 and 1, else NaN; broadcast together
    -> the promoted dtype; float64 for integers
    raises DTypeError: complex numbers; ShapeError: they do not broadcast

    SciPy: `scipy.special.betainc`.

    >>> float(pyc.scipy.special.betainc(2.0, 3.0, 0.5))
    0.6875
    """
    a, b, x = real_operands("betainc", a, b, x)
    return run("special.betainc", _betainc, a, b, x, fixed=(False,))


@public
def betaincc(a: Any, b: Any, x: Any) -> Any:
    """1 - betainc(a, b, x), to the last places where it is small too.

    a, b: not negative, and x between 0 and 1, else NaN; broadcast together
    -> the promoted dtype; float64 for integers
    raises DTypeError: complex numbers; ShapeError: they do not broadcast

    SciPy: `scipy.special.betaincc`.

    >>> float(pyc.scipy.special.betaincc(2.0, 3.0, 0.5))
    0.3125
    """
    a, b, x = real_operands("betaincc", a, b, x)
    return run("special.betaincc", _betainc, a, b, x, fixed=(True,))


# --- programs -------------------------------------------------------------------------------------


def _wide(*arrays: Any) -> tuple[DType, list[Any]]:
    """The type of some arrays, and these in float64."""
    return core.dtype_of(arrays[0]), [x.astype(np.float64) for x in arrays]


def _series(a: Any, x: Any, waiting: Any, stop: float) -> Any:
    """1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ... (DLMF 8.7.1)."""

    def step(at: Any, term: Any, total: Any) -> tuple[Any, list[Any]]:
        next = at + 1.0
        product = term * (x / next)
        return product > total * stop, [next, product, total + product]

    one = pnp.ones_like(x)
    return repeated(step, waiting, a, one, one)[2]


def _fraction_of_gamma(a: Any, x: Any, waiting: Any, stop: float) -> Any:
    """1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)) (DLMF 8.9.2), by Steed's algorithm."""

    def step(k: Any, inverse: Any, last: Any, total: Any) -> tuple[Any, list[Any]]:
        b = (x - a) + (2.0 * k + 1.0)
        new = 1.0 / (b - (k * (k - a)) * inverse)
        change = last * (b * new - 1.0)
        return pnp.abs(change) > pnp.abs(total) * stop, [k + 1.0, new, change, total + change]

    first = 1.0 / pnp.where(waiting, x - a + 1.0, 1.0)
    one = pnp.ones_like(x)
    return repeated(step, waiting, one, first, first, first)[3]


def _complement(a: Any, x: Any) -> Any:
    """1 - gammainc(a, x) where both are small: the terms of gammainc but the first (DLMF 8.7.1),
    and 1 less that, which is small too."""
    small = pnp.minimum(a, 1.0)
    low = small <= 0.5
    logarithm = bind1("lgamma1p", pnp.where(low, small, small - 1.0))
    logarithm = pnp.where(low, logarithm, logarithm + pnp.log(small))
    power = small * pnp.log(x) - logarithm
    total = pnp.zeros_like(x)
    # From the last: (-x)^n / n! a / (a + n)
    for n in range(_TERMS_OF_COMPLEMENT, 0, -1):
        total = (-x / float(n)) * (small / (small + float(n)) + total)
    return -(pnp.expm1(power) + pnp.exp(power) * total)


def _gammainc(a: Any, x: Any, complement: bool) -> Any:
    kind, (a, x) = _wide(a, x)
    stop = _STOP.get(kind, 2.0**-32)
    usual = (a > 0) & (x > 0) & (a < np.inf) & (x < np.inf)
    p, at = pnp.where(usual, a, 1.0), pnp.where(usual, x, 1.0)
    uniform = (p >= _UNIFORM_FROM) & (pnp.abs(at - p) <= _UNIFORM_WITHIN * p)
    upper = usual & ~uniform & (at > _FROM_COMPLEMENT) & (at >= p)
    lower = usual & ~uniform & ~upper
    by_series = _series(p, pnp.where(lower, at, 0.0), lower, stop)
    by_fraction = p * _fraction_of_gamma(p, at, upper, stop)
    by_expansion = bind1("gamma_tail", p, at)
    share = pnp.where(uniform, by_expansion, pnp.where(upper, by_fraction, by_series))
    tail = bind1("poisson_mass", p, at) * share
    is_upper = upper | (uniform & (at >= p))
    if complement:
        # Of what is near 1 the rest is a sum of its own.
        near = lower & (p < 1.0) & (at <= _FROM_COMPLEMENT) & (tail > 0.5)
        rest = pnp.where(near, _complement(p, pnp.where(near, at, 1.0)), 1.0 - tail)
        found = pnp.where(is_upper, tail, rest)
    else:
        found = pnp.where(is_upper, 1.0 - tail, tail)
    all_of_it = ((a == 0) & (x > 0)) | ((x == np.inf) & (a >= 0) & (a < np.inf))
    none_of_it = (x == 0) & (a > 0) | ((a == np.inf) & (x >= 0) & (x < np.inf))
    one, zero = (0.0, 1.0) if complement else (1.0, 0.0)
    ends = pnp.where(all_of_it, one, pnp.where(none_of_it, zero, np.nan))
    return pnp.where(usual, found, ends).astype(kind.numpy)


def _fraction_of_beta(a: Any, b: Any, x: Any, excess: Any, waiting: Any, stop: float) -> Any:
    """What x^a (1 - x)^b / B(a, b) is divided by: the continued fraction of DiDonato and Morris
    ("Significant digit computation of the incomplete beta function ratios", 1992, formula 9), by
    Steed's algorithm. excess: a - (a + b) x, not negative."""

    def step(n: Any, under: Any, inverse: Any, last: Any, total: Any) -> tuple[Any, list[Any]]:
        over = 1.0 / (a + (2.0 * n + 1.0))
        before = n - 1.0
        share = n * (b - n) * x * under
        top = (a + before) * under * (a + b + before) * x * share
        bottom = n + share + (a + n) * (excess + 1.0 + n * (2.0 - x)) * over
        new = 1.0 / (bottom + top * inverse)
        # Of the first there is no step before it.
        change = pnp.where(n == 1.0, top * new, last * (bottom * new - 1.0))
        return pnp.abs(change) > pnp.abs(total) * stop, [n + 1.0, over, new, change, total + change]

    zero = pnp.zeros_like(x)
    under = 1.0 / (a + 1.0)
    first = a * (excess + 1.0) * under
    return repeated(step, waiting, zero + 1.0, under, zero, zero, first)[4]


def _betainc(a: Any, b: Any, x: Any, complement: bool) -> Any:
    kind, (a, b, x) = _wide(a, b, x)
    usual = (a > 0) & (b > 0) & (a < np.inf) & (b < np.inf) & (x > 0) & (x < 1)
    p, q = pnp.where(usual, a, 1.0), pnp.where(usual, b, 1.0)
    at = pnp.where(usual, x, 0.5)
    # a - (a + b) x = a (1 - x) - b x without what rounding loses.
    total = p + q
    moved = total - p
    lost = (p - (total - moved)) + (q - moved)
    product = total * at
    rest = bind1("fma", total, at, -product) + lost * at
    excess = (p - product) - rest
    swapped = excess < 0
    first, second = pnp.where(swapped, q, p), pnp.where(swapped, p, q)
    fraction = _fraction_of_beta(
        first,
        second,
        pnp.where(swapped, 1.0 - at, at),
        pnp.abs(excess),
        usual,
        _STOP.get(kind, 2.0**-32),
    )
    tail = bind1("binomial_mass", p, q, at) * (p / fraction)
    tail = pnp.minimum(tail, 1.0)
    found = pnp.where(swapped != complement, 1.0 - tail, tail)
    known = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1)
    below = (x == 0) | ((x < 1) & ((b == 0) | (a == np.inf)))
    above = (x == 1) | ((x > 0) & ((a == 0) | (b == np.inf)))
    known = known & ~((a == 0) & (b == 0)) & ~((a == np.inf) & (b == np.inf))
    one, zero = (0.0, 1.0) if complement else (1.0, 0.0)
    ends = pnp.where(below, zero, pnp.where(above, one, np.nan))
    return pnp.where(usual, found, pnp.where(known, ends, np.nan)).astype(kind.numpy)
