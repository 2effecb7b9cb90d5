"""Special functions of complex numbers: programs of elementwise operations on complex128 arrays.

A function of a conjugate is the conjugate of the function: the sign of a zero imaginary part says
on which side of a cut a number lies. Errors are bounded as a part of the modulus;
`docs/numerics.md` says by how much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.interpreter import bind1
from pyc.scipy.special import complex_tables as tables

_I = np.complex128(1j)
_ONE = np.complex128(1)
_TWO = np.complex128(2)
_FACTORS = 9
"""By which gamma moves a number beside the origin to where Stirling's series is float64."""
_FAR = 8.5


def _horner(z: Any, coefficients: Sequence[Any]) -> Any:
    value: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        value = value * z + c
    return value


def _pair(re: Any, im: Any) -> Any:
    return bind1("complex", re, im)


def _inverse(z: Any) -> Any:
    """1 / z, also where |z|^2 is out of range; 0 of what is infinite."""
    x, y = pnp.real(z), pnp.imag(z)
    size = pnp.maximum(pnp.abs(x), pnp.abs(y))
    a, b = x / size, y / size
    square = a * a + b * b
    return pnp.where(size == np.inf, 0j, _pair(a / square / size, -(b / square / size)))


def _upper(z: Any) -> tuple[Any, Any]:
    """z or its conjugate, above the real axis, and whether it is the conjugate."""
    below = pnp.signbit(pnp.imag(z))
    return pnp.where(below, pnp.conj(z), z), below


def _back(found: Any, below: Any) -> Any:
    return pnp.where(below, pnp.conj(found), found)


# --- the gamma function ---------------------------------------------------------------------------


def loggamma(z: Any) -> Any:
    """The logarithm of gamma that is analytic but for a cut along the negative axis."""
    z, below = _upper(z)
    x, y = pnp.real(z), pnp.imag(z)
    left = x < 0
    w = pnp.where(left, _pair(1 - x, y), z)
    right = _loggamma_right(w)
    # log(gamma(z)) + log(gamma(1 - z)) = log(2 pi) + i pi (z - 1/2) - log(1 - exp(2 pi i z)) above
    # the axis, where the last logarithm is the principal one. `right` is that of conj(1 - z).
    turn = x - pnp.rint(x)
    decay = -bind1("expm1", _pair(y * (-2 * np.pi), turn * (2 * np.pi)))
    sine = pnp.log(decay)
    re = math.log(2 * math.pi) - np.pi * y - pnp.real(sine) - pnp.real(right)
    im = np.pi * (x - 0.5) - pnp.imag(sine) + pnp.imag(right)
    found = pnp.where(left, _pair(re, im), right)
    pole = (y == 0) & (x <= 0) & (pnp.floor(x) == x)
    return _back(pnp.where(pole, np.complex128(complex(np.nan, np.nan)), found), below)


def _loggamma_right(z: Any) -> Any:
    """`loggamma` of numbers above the axis and not left of 0."""
    x, y = pnp.real(z), pnp.imag(z)
    close = (x < _FAR) & (y < _FAR)
    # The argument of the product of factors, which add a right angle at most, passes pi where the
    # imaginary part becomes negative.
    factor, product, turns = z, z, pnp.zeros_like(x)
    negative = pnp.imag(product) < 0
    for _ in range(1, _FACTORS):
        factor = factor + _ONE
        product = product * factor
        now = pnp.imag(product) < 0
        turns = turns + pnp.where(now & ~negative, np.float64(2 * np.pi), np.float64(0))
        negative = now
    moved = pnp.where(close, z + np.complex128(_FACTORS), z)
    inverse = _inverse(moved)
    tail = inverse * _horner(inverse * inverse, tables.STIRLING)
    far = (moved - np.complex128(0.5)) * (pnp.log(moved) - _ONE)
    far = far + (tail + np.complex128(0.5 * math.log(2 * math.pi) - 0.5))
    far = far - pnp.where(close, pnp.log(product) + _pair(pnp.zeros_like(x), turns), 0j)
    # Beside the zeros at 1 and 2 the series of the latter, and one factor.
    at_two, at_one = z - _TWO, z - _ONE
    by_two, by_one = (pnp.maximum(pnp.abs(x - c), y) <= 0.5 for c in (2.0, 1.0))
    centre = pnp.where(by_one, at_one, pnp.where(by_two, at_two, 0j))
    near = centre * _horner(centre, tables.LGAMMA_AT_TWO)
    near = near - pnp.where(by_one, bind1("log1p", centre), 0j)
    return pnp.where(by_one | by_two, near, far)


def gamma(z: Any) -> Any:
    """The exponential of `loggamma`; that of a real number is real, NaN at all poles."""
    x, y = pnp.real(z), pnp.imag(z)
    found = pnp.exp(loggamma(z))
    found = pnp.where(pnp.isinf(y) & pnp.isfinite(x), 0j, found)
    return pnp.where(y == 0, _of_the_axis(z, bind1("gamma", x)), found)


def _of_the_axis(z: Any, real: Any) -> Any:
    """What a function of gamma's poles is on the real axis."""
    x = pnp.real(z)
    undefined = pnp.isnan(real) | ((x <= 0) & (pnp.floor(x) == x))
    return pnp.where(undefined, np.complex128(complex(np.nan, np.nan)), _pair(real, pnp.imag(z)))


def digamma(z: Any) -> Any:
    """The derivative of `loggamma`; that of a real number is real."""
    x, y = pnp.real(z), pnp.imag(z)
    left = x < 0
    w = pnp.where(left, _ONE - z, z)
    close = (pnp.real(w) < _FAR) & (pnp.abs(y) < _FAR)
    total, factor = _inverse(w), w
    for _ in range(1, _FACTORS):
        factor = factor + _ONE
        total = total + _inverse(factor)
    moved = pnp.where(close, w + np.complex128(_FACTORS), w)
    inverse = _inverse(moved)
    square = inverse * inverse
    right = (
        pnp.log(moved)
        - inverse * np.complex128(0.5)
        - square * _horner(square, tables.DIGAMMA_TAIL)
    )
    right = right - pnp.where(close, total, 0j)
    # digamma(1 - z) - digamma(z) = pi cot(pi z)
    turn = x - pnp.rint(x)
    cotangent = _inverse(pnp.tan(_pair(turn * np.pi, y * np.pi)))
    found = pnp.where(left, right - cotangent * np.complex128(np.pi), right)
    return pnp.where(y == 0, _of_the_axis(z, bind1("digamma", x)), found)


# --- the error functions --------------------------------------------------------------------------


def _scaled(z: Any, factor: Any) -> Any:
    return _pair(pnp.real(z) * factor, pnp.imag(z) * factor)


def _times_exp_of_square(z: Any, factor: Any) -> Any:
    """exp(-z^2) times a factor, which is finite, also where the power alone is out of range."""
    x, y = pnp.real(z), pnp.imag(z)
    level = (y - x) * (y + x)
    phase = pnp.where((x == 0) | (y == 0), np.float64(0), x * y * -2.0)
    root = pnp.exp(level * 0.5)
    direction = _pair(pnp.cos(phase), pnp.sin(phase)) * factor
    # Where the power vanishes so does the product, whatever the direction.
    return pnp.where(level < -1500.0, 0j, _scaled(_scaled(direction, root), root))


def _faddeeva_above(z: Any) -> Any:
    """`wofz` of numbers that are not below the real axis."""
    x, y = pnp.real(z), pnp.imag(z)
    turned = _pair(-y, x)
    inverse = _inverse(np.complex128(tables.LENGTH) - turned)
    ratio = (np.complex128(tables.LENGTH) + turned) * inverse
    series = _horner(ratio, tables.FADDEEVA)
    found = inverse * (inverse * series * _TWO + np.complex128(1 / math.sqrt(math.pi)))
    infinite = (pnp.isinf(x) | pnp.isinf(y)) & ~(pnp.isnan(x) | pnp.isnan(y))
    return pnp.where(infinite, 0j, found)


def wofz(z: Any) -> Any:
    """exp(-z^2) erfc(-iz)."""
    x, y = pnp.real(z), pnp.imag(z)
    below = y < 0
    found = _faddeeva_above(pnp.where(below, -z, z))
    found = pnp.where(below, _times_exp_of_square(z, _TWO) - found, found)
    # On the real axis the real part is exp(-x^2), however small beside the other.
    found = pnp.where(y == 0, _pair(pnp.exp(-x * x), pnp.imag(found)), found)
    return pnp.where(x == 0, _pair(bind1("erfcx", y), x), found)


def erfcx(z: Any) -> Any:
    """wofz(iz)."""
    return wofz(_pair(-pnp.imag(z), pnp.real(z)))


def _erfc_right(z: Any) -> Any:
    """erfc of numbers that are not left of 0."""
    return _times_exp_of_square(z, _faddeeva_above(_pair(-pnp.imag(z), pnp.real(z))))


def _of_axes(z: Any, found: Any, real: Any, centre: Any, end: Any) -> Any:
    """What an error function is where a part of z is 0: the real function, and its value at 0 with
    an imaginary part, which ends infinite with the sign of `end`."""
    x, y = pnp.real(z), pnp.imag(z)
    im = pnp.where(pnp.isinf(y), end, pnp.imag(found))
    found = pnp.where(x == 0, _pair(centre, im), found)
    return pnp.where(y == 0, _pair(real, end), found)


def erfc(z: Any) -> Any:
    """1 - erf(z)."""
    x, y = pnp.real(z), pnp.imag(z)
    left = x < 0
    found = _erfc_right(pnp.where(left, -z, z))
    found = pnp.where(left, _TWO - found, found)
    return _of_axes(z, found, bind1("erfc", x), pnp.ones_like(x), -y)


def erf(z: Any) -> Any:
    """The error function, exact near 0."""
    x, y = pnp.real(z), pnp.imag(z)
    left = x < 0
    far = _ONE - _erfc_right(pnp.where(left, -z, z))
    far = pnp.where(left, -far, far)
    near = pnp.maximum(pnp.abs(x), pnp.abs(y)) < 0.75
    small = pnp.where(near, z, 0j)
    found = pnp.where(near, small * _horner(small * small, tables.ERF), far)
    return _of_axes(z, found, bind1("erf", x), x, y)


def ndtr(z: Any) -> Any:
    """erfc(-z / sqrt(2)) / 2."""
    found = _scaled(erfc(_scaled(z, -math.sqrt(0.5))), 0.5)
    real = _pair(bind1("ndtr", pnp.real(z)), pnp.imag(z))
    return pnp.where(pnp.imag(z) == 0, real, found)
