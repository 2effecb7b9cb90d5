"""Factorials and what is made of them, and the zeta functions, with SciPy's names and arguments.

All in float64, for narrower types too, which are rounded once.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb as binomial
from math import factorial as whole_factorial
from math import log as natural_log
from math import pi
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.compositions import public, run
from pyc.errors import ArgumentError
from pyc.interpreter import bind1
from pyc.numpy import core
from pyc.scipy.special.element_loops import repeated
from pyc.scipy.special.elementwise import gammasgn, real_operands

_FACTORS = 20
"""Up to how many `binom` and `poch` multiply, as SciPy does, to be exact where the product fits."""

_FACTORIALS = 171
"""Those that a float64 holds."""


_MIRRORED, _STIRLING = -0.5, 150.0
"""From where on Riemann's zeta function is that of 1 - x, and Stirling's formula is of 1 - x."""

_AROUND_ONE = (
    *(1.0, 0.5772156649015329, 0.07281584548367673, -0.00484518159643616, -0.00034230573671722433),
    *(
        9.689041939447084e-05,
        -6.6110318108421895e-06,
        -3.316240908752772e-07,
        1.0462094584479188e-07,
    ),
    *(-8.733218100273798e-09, 9.47827778276236e-11, 5.658421927608708e-11, -6.768689863513697e-12),
    *(3.4921159366720317e-13, 4.4104247417577536e-15, -2.3997862217709992e-15),
    *(
        2.1677312200726828e-16,
        -9.544466076366965e-18,
        -7.387676660538637e-20,
        4.800850782488065e-20,
    ),
)
"""(x - 1) zeta(x) by powers of x - 1: Stieltjes' constants over factorials (DLMF 25.2.4)."""

_OF_TWO_PI, _BASE, _OF_BASE = -3.8981718325193755e-17, 0.05854983152431916, -7.0388444902365176e-18
"""1 / (2 pi e), and by how much the logarithms of 2 pi and of this, as numbers, are too large and
too small."""


@public
def beta(a: Any, b: Any) -> Any:
    """gamma(a) gamma(b) / gamma(a + b).

    a, b: real numbers, broadcast together -> the promoted dtype; float64 for integers
    raises DTypeError: complex numbers; ShapeError: they do not broadcast

    SciPy: `scipy.special.beta`.

    >>> float(pyc.scipy.special.beta(2.0, 4.0))
    0.05
    """
    return run("special.beta", _beta, *real_operands("beta", a, b))


@public
def betaln(a: Any, b: Any) -> Any:
    """The logarithm of abs(beta(a, b)), to the last places near its zeros too.

    a, b: real numbers, broadcast together -> the promoted dtype; float64 for integers
    raises DTypeError: complex numbers; ShapeError: they do not broadcast

    SciPy: `scipy.special.betaln`.

    >>> float(pyc.scipy.special.betaln(1.0, 1.0))
    0.0
    """
    return run("special.betaln", _betaln, *real_operands("betaln", a, b))


@public
def zeta(x: Any, q: Any = None) -> Any:
    """The sum of (q + k)^-x over k = 0, 1, ...: Hurwitz's zeta function for x > 1, infinite at
    x = 1 and NaN below. Without q, Riemann's, for any x.

    x, q: real numbers, broadcast together -> the promoted dtype; float64 for integers
    raises DTypeError: complex numbers; ShapeError: they do not broadcast

    SciPy: `scipy.special.zeta`.

    >>> float(pyc.scipy.special.zeta(2.0))
    1.6449340668482264
    >>> float(pyc.scipy.special.zeta(0.0))
    -0.5
    """
    if q is None:
        return run("special.zeta", _riemanns_zeta, *real_operands("zeta", x))
    return bind1("zeta", *real_operands("zeta", x, q))


@public
def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of `digamma`.

    n, x: real numbers, broadcast together -> the promoted dtype; float64 for integers
    n: not negative and whole, else NaN
    raises DTypeError: complex numbers; ShapeError: they do not broadcast

    SciPy: `scipy.special.polygamma`.

    >>> float(pyc.scipy.special.polygamma(1, 1.0))
    1.6449340668482264
    """
    return run("special.polygamma", _polygamma, *real_operands("polygamma", n, x))


@public
def factorial(n: Any, exact: bool = False) -> Any:
    """gamma(n + 1); 0 for n < 0. Whole numbers have the nearest value.

    exact: only False: integers without bound are not of an array's types
    n: real numbers of any shape -> the same shape; integers and bools give float64
    raises DTypeError: complex numbers; ArgumentError: `exact` is true

    SciPy: `scipy.special.factorial`.

    >>> float(pyc.scipy.special.factorial(5))
    120.0
    """
    _not_exact("factorial", exact)
    (n,) = real_operands("factorial", n)
    return run("special.factorial", _factorial, n)


@public
def binom(x: Any, y: Any) -> Any:
    """gamma(x + 1) / (gamma(y + 1) gamma(x - y + 1)): the binomial coefficient.

    x, y: real numbers, broadcast together -> the promoted dtype; float64 for integers
    raises DTypeError: complex numbers; ShapeError: they do not broadcast

    SciPy: `scipy.special.binom`.

    >>> float(pyc.scipy.special.binom(5, 2))
    10.0
    """
    return run("special.binom", _binom, *real_operands("binom", x, y))


@public
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:  # noqa: N803
    """The number of ways to take k of N things: `binom`, 0 where k > N or one of them is negative.

    repetition: each may be taken more than once
    exact: only False, see `factorial`
    N, k: real numbers, broadcast together -> the promoted dtype; float64 for integers
    raises DTypeError: complex numbers; ShapeError: they do not broadcast;
    ArgumentError: `exact` is true

    SciPy: `scipy.special.comb`.

    >>> float(pyc.scipy.special.comb(5, 2))
    10.0
    """
    _not_exact("comb", exact)
    operands = real_operands("comb", N, k)
    return run("special.comb", _comb, *operands, fixed=(bool(repetition),))


@public
def poch(z: Any, m: Any) -> Any:
    """Pochhammer's symbol, gamma(z + m) / gamma(z).

    z, m: real numbers, broadcast together -> the promoted dtype; float64 for integers
    raises DTypeError: complex numbers; ShapeError: they do not broadcast

    SciPy: `scipy.special.poch`.

    >>> float(pyc.scipy.special.poch(2.0, 3.0))
    24.0
    """
    return run("special.poch", _poch, *real_operands("poch", z, m))


@public
def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the gamma function of `d` dimensions.

    a: real numbers of any shape -> the same shape; integers and bools give float64
    a: above (d - 1) / 2; NaN elsewhere, where SciPy raises; d: a positive integer
    raises DTypeError: complex numbers; ArgumentError: `d` is not a positive integer

    SciPy: `scipy.special.multigammaln`.

    >>> float(pyc.scipy.special.multigammaln(3.0, 1))
    0.6931471805599453
    """
    if isinstance(d, bool) or not isinstance(d, (int, np.integer)) or d < 1:
        raise ArgumentError(
            f"special.multigammaln: d must be a positive integer, got {d!r}",
            fix="Give the dimension as a Python integer: `multigammaln(a, 2)`.",
        )
    (a,) = real_operands("multigammaln", a)
    return run("special.multigammaln", _multigammaln, a, fixed=(int(d),))


@public
def bernoulli(n: int) -> Any:
    """The Bernoulli numbers B(0) to B(n) as a float64 array, each the nearest; B(1) is -1/2.
    Infinite where they are beyond float64.

    n: a Python integer that is not negative
    raises ArgumentError: it is none

    SciPy: `scipy.special.bernoulli`.

    >>> [float(b) for b in pyc.scipy.special.bernoulli(2)]
    [1.0, -0.5, 0.16666666666666666]
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise ArgumentError(
            f"special.bernoulli: n must be an integer that is not negative, got {n!r}",
            fix="Give the last order as a Python integer: `bernoulli(10)`.",
        )
    return _constant(_bernoulli_numbers(int(n)))


# --- programs -------------------------------------------------------------------------------------


def _not_exact(name: str, exact: bool) -> None:
    if exact:
        raise ArgumentError(
            f"special.{name}: exact=True gives integers without bound, which no array holds",
            fix="Leave `exact` away, or compute it outside of the function with `math`.",
        )


def _constant(values: list[float]) -> Any:
    table = np.array(values)
    table.flags.writeable = False
    return pnp.asarray(table)


def _wide(*arrays: Any) -> tuple[Any, list[Any]]:
    return core.dtype_of(arrays[0]).numpy, [x.astype(np.float64) for x in arrays]


def _beta(a: Any, b: Any) -> Any:
    kind, (a, b) = _wide(a, b)
    return _beta_of_floats(a, b).astype(kind)


def _beta_of_floats(a: Any, b: Any) -> Any:
    total = a + b
    vanishes = (total <= 0) & (pnp.floor(total) == total)
    sign = gammasgn(a) * gammasgn(b) * gammasgn(pnp.where(vanishes, 1.0, total))
    elsewhere = sign * pnp.exp(_logarithm_elsewhere(a, b))
    pole, first, second, odd = _between_poles(a, b)
    at_poles = bind1("beta_positive", first, second)
    found = pnp.where(pole, pnp.where(odd, -at_poles, at_poles), elsewhere)
    return pnp.where(_known(a, b), bind1("beta_positive", a, b), found)


def _betaln(a: Any, b: Any) -> Any:
    kind, (a, b) = _wide(a, b)
    pole, first, second, _ = _between_poles(a, b)
    at_poles = bind1("betaln_positive", first, second)
    found = pnp.where(pole, at_poles, _logarithm_elsewhere(a, b))
    return pnp.where(_known(a, b), bind1("betaln_positive", a, b), found).astype(kind)


def _logarithm_elsewhere(a: Any, b: Any) -> Any:
    lgamma = [bind1("lgamma", x) for x in (a, b, a + b)]
    return (lgamma[0] + lgamma[1]) - lgamma[2]


def _known(a: Any, b: Any) -> Any:
    return (a > 0) & (b > 0) | pnp.isnan(a) | pnp.isnan(b)


def _between_poles(a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """Where an argument is 0, -1, ...; then abs(beta) is that of the next two, infinite but for
    whole arguments that meet a pole of the divisor: and whether it is below zero there."""
    whole_a, whole_b = (pnp.floor(x) == x for x in (a, b))
    pole_a, pole_b = whole_a & (a <= 0), whole_b & (b <= 0)
    least, most = pnp.where(pole_a, a, b), pnp.where(pole_a, b, a)
    inside = whole_a & whole_b & (most > 0) & (1.0 - least - most > 0) & (least > -np.inf)
    first = pnp.where(inside, 1.0 - least - most, 0.0)
    odd = inside & (pnp.floor(most * 0.5) * 2.0 != most)
    return pole_a | pole_b, first, pnp.where(inside, most, 1.0), odd


def _riemanns_zeta(x: Any) -> Any:
    kind, (x,) = _wide(x)
    near, mirrored = (x < 1) & (x >= _MIRRORED), x < _MIRRORED
    z = pnp.where(mirrored, 1.0 - x, 2.0)
    right = bind1("zeta", pnp.where(mirrored, z, pnp.where(near, 2.0, x)), pnp.ones_like(x))
    around = pnp.where(near, x - 1.0, -1.0)
    series = pnp.full_like(x, _AROUND_ONE[-1])
    for c in reversed(_AROUND_ONE[:-1]):
        series = series * around + c
    # 2 sin(pi x / 2) gamma(z) (2 pi)^-z zeta(z), by DLMF 25.4.1.
    quarter = x - 4.0 * pnp.floor(x * 0.25)
    half = pnp.where(quarter > 2.0, quarter - 2.0, quarter)
    sine = pnp.sin(pnp.where(half > 1.0, 2.0 - half, half) * (pi / 2))
    sine = pnp.where(quarter > 2.0, -sine, sine)
    size = bind1("gamma", pnp.where(z < _STIRLING, z, 1.0)) * (2 * pi) ** -pnp.minimum(z, _STIRLING)
    size = size * (1.0 + z * _OF_TWO_PI)
    # gamma(z) is sqrt(2 pi / z) (z / e)^z exp(1 / 12 z - ...); a float64 holds the power's root.
    far = pnp.where(z < _STIRLING, _STIRLING, pnp.minimum(z, 1e3))
    part = far ** (far * 0.25) * _BASE ** (far * 0.25)
    square = 1.0 / (far * far)
    rest = pnp.exp((1 / 12 - (1 / 360 - square / 1260) * square) / far)
    stirling = pnp.sqrt(2 * pi / far) * rest * (1.0 + far * _OF_BASE)
    stirling = stirling * (part * part)
    # 1 - x may be rounded, which its power multiplies.
    rounded = (-x - (z - 1.0)) * pnp.log(z * (0.5 / pi))
    size = pnp.where(z < _STIRLING, size, stirling) * (1.0 + pnp.where(mirrored, rounded, 0.0))
    # The other half of the power last: beside an even number gamma is infinite and its product not.
    reflected = 2.0 * right * sine * size * pnp.where(z < _STIRLING, 1.0, part * part)
    reflected = pnp.where(sine == 0, 0.0, reflected)
    reflected = pnp.where(x == -np.inf, np.nan, reflected)
    return pnp.where(near, series / around, pnp.where(mirrored, reflected, right)).astype(kind)


def _polygamma(n: Any, x: Any) -> Any:
    kind, (n, x) = _wide(n, x)
    whole = (n >= 0) & (pnp.floor(n) == n)
    order = pnp.where(whole & (n > 0), n, 1.0)
    even = pnp.floor(order * 0.5) * 2.0 == order
    size = bind1("gamma", order + 1.0) * bind1("zeta", order + 1.0, x)
    found = pnp.where(n == 0, bind1("digamma", x), pnp.where(even, -size, size))
    return pnp.where(whole, found, np.nan).astype(kind)


def _factorial(n: Any) -> Any:
    kind, (n,) = _wide(n)
    table = _constant([float(whole_factorial(k)) for k in range(_FACTORIALS)])
    known = (n >= 0) & (n < _FACTORIALS) & (pnp.floor(n) == n)
    nearest = table[pnp.where(known, n, 0.0).astype(np.int64)]
    found = pnp.where(known, nearest, bind1("gamma", n + 1.0))
    return pnp.where(n < 0, 0.0, found).astype(kind)


def _binom_of_floats(x: Any, y: Any) -> Any:
    # Few factors, one after the other; of a whole x the fewer.
    whole = (pnp.floor(y) == y) & ((pnp.abs(x) > 1e-8) | (x == 0))
    mirrored = (pnp.floor(x) == x) & (y > x * 0.5) & (x > 0)
    k = pnp.where(mirrored, x - y, y)
    few = whole & (k >= 0) & (k < _FACTORS)

    def factor(i: Any, top: Any, bottom: Any) -> tuple[Any, list[Any]]:
        top, bottom = top * (x + (i - k)), bottom * i
        large = pnp.abs(top) > 1e50
        scaled = [pnp.where(large, top / bottom, top), pnp.where(large, 1.0, bottom)]
        return i < k, [i + 1.0, *scaled]

    one = pnp.ones_like(x)
    _, top, bottom = repeated(factor, few & (k >= 1), one, one, one)
    by_beta = 1.0 / ((x + 1.0) * _beta_of_floats(x - y + 1.0, y + 1.0))
    pole = (x < 0) & (pnp.floor(x) == x)
    found = pnp.where(pole, np.nan, pnp.where(few, top / bottom, by_beta))
    outside = (pnp.floor(x) == x) & whole & (x >= 0) & ((y < 0) | (y > x))
    found = pnp.where(outside & (x < np.inf), 0.0, found)
    return pnp.where(pnp.isnan(x) | pnp.isnan(y), np.nan, found)


def _binom(x: Any, y: Any) -> Any:
    kind, (x, y) = _wide(x, y)
    return _binom_of_floats(x, y).astype(kind)


def _comb(n: Any, k: Any, repetition: bool) -> Any:
    kind, (n, k) = _wide(n, k)
    of = n + k - 1.0 if repetition else n
    inside = (k <= of) & (of >= 0) & (k >= 0)
    found = pnp.where(inside, _binom_of_floats(of, k), 0.0)
    if repetition:  # nothing of nothing in one way
        found = pnp.where((n == 0) & (k == 0), 1.0, found)
    return pnp.where(pnp.isnan(n) | pnp.isnan(k), np.nan, found).astype(kind)


def _poch(z: Any, m: Any) -> Any:
    kind, (z, m) = _wide(z, m)
    total = z + m
    pole = (pnp.floor(z) == z) & (z <= 0)
    other = (pnp.floor(total) == total) & (total <= 0)
    # B(z, m) = gamma(m) / poch: the powers of large numbers in pairs.
    usual = (z > 0) & (m > 0)
    first, second = pnp.where(usual, z, 1.0), pnp.where(usual, m, 1.0)
    small = second < 100.0
    by_beta = bind1("gamma", pnp.where(small, second, 1.0)) / bind1("beta_positive", first, second)
    difference = bind1("lgamma", total) - bind1("lgamma", z)
    by_logarithms = gammasgn(total) * gammasgn(z) * pnp.exp(difference)
    found = pnp.where(usual & small & (by_beta < np.inf), by_beta, by_logarithms)
    # Whole steps between two poles: gamma's residues.
    steps = bind1("lgamma", 1.0 - z) - bind1("lgamma", 1.0 - total)
    odd = pnp.floor(m * 0.5) * 2.0 != m
    between = pnp.where(odd, -pnp.exp(steps), pnp.exp(steps))
    found = pnp.where(pole & other, between, pnp.where(pole, 0.0, found))
    found = pnp.where(other & ~pole, np.inf, found)
    # Few whole steps are factors, as in SciPy: z + m may have lost what counts near a pole.
    few = (pnp.floor(m) == m) & (pnp.abs(m) <= _FACTORS) & (m != 0)

    def factor(i: Any, product: Any) -> tuple[Any, list[Any]]:
        product = product * pnp.where(m > 0, z + i, z - (i + 1.0))
        return i + 1.0 < pnp.abs(m), [i + 1.0, product]

    one = pnp.ones_like(z)
    product = repeated(factor, few, one - 1.0, one)[1]
    by_factors = pnp.where(m > 0, product, 1.0 / product)
    found = pnp.where(few & (pnp.abs(z) < np.inf), by_factors, found)
    return pnp.where(m == 0, 1.0, found).astype(kind)


def _multigammaln(a: Any, d: int) -> Any:
    kind, (a,) = _wide(a)
    total = pnp.full_like(a, d * (d - 1) * 0.25 * natural_log(pi))
    for j in range(d):
        total = total + bind1("lgamma", a - 0.5 * j)
    return pnp.where(a > 0.5 * (d - 1), total, np.nan).astype(kind)


def _bernoulli_numbers(n: int) -> list[float]:
    known: list[Fraction] = []
    for m in range(n + 1):
        if m > 1 and m % 2:
            known.append(Fraction(0))
            continue
        total = sum((binomial(m + 1, k) * b for k, b in enumerate(known) if b), Fraction(0))
        known.append(Fraction(1) if m == 0 else -total / (m + 1))
    return [_nearest(b) for b in known]


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
