"""The beta function, its logarithm, and the terms that its and gamma's incomplete integrals begin
with, of f32 or f64 elements.

gamma(p + 1) = factor W^p exp(rest - p), W = p, by Stirling's series from 8.5; factor alone, W = 1,
below. Quotients of such factorials are then powers of quotients of the W, whose logarithms are
small where the powers are large: with pairs of a value and what it lacks nothing is lost (after
Loader, "Fast and accurate computation of binomial probabilities", 2000). All in float64.
"""

from __future__ import annotations

from math import log as natural_log
from math import pi

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.defined import defined
from pyc.ir.expr import Const, Expr, absolute, fma, select, sqrt
from pyc.ir.ops import special_tables as special
from pyc.ir.ops.floating import INFINITY, NAN, fast_two_sum, horner, two_product, two_sum
from pyc.ir.ops.scalar_gamma import STIRLING_FROM, exponential, moved_to_two
from pyc.ir.ops.scalar_pow import log_pair

Pair = tuple[Expr, Expr]
"""A value and what it lacks."""

_NEAR = 2.0**-8
_EXCESS = tuple((-1.0) ** (k + 1) / k for k in range(3, 12))
"""Of log(1 + x) - x + x^2 / 2, from x^3."""


@frozen()
class _Factorial:
    """gamma(p + 1) = factor W^p exp(rest - p) where `large`, else factor."""

    large: Expr
    factor: Expr
    rest: Expr


def _factorial(p: Expr) -> _Factorial:
    """For a positive f64."""
    moved = moved_to_two(p, True)
    middle = horner(moved.z, 1.0, special.GAMMA[dt.f64])
    above = fma(middle, moved.lost, middle * moved.product) * p
    small = select(p <= 0.5, middle / (p + 1.0), select(moved.below, middle, above))
    large = p >= STIRLING_FROM
    w = 1.0 / p
    rest = select(large, w * horner(w * w, special.STIRLING[dt.f64]), 0.0)
    return _Factorial(large, select(large, sqrt(p) * (2 * pi) ** 0.5, small), rest)


def _sum(x: Pair, y: Pair) -> Pair:
    high, low = two_sum(x[0], y[0])
    return fast_two_sum(high, low + (x[1] + y[1]))


def _product(x: Pair, y: Pair) -> Pair:
    high, low = two_product(x[0], y[0])
    return fast_two_sum(high, low + fma(x[0], y[1], x[1] * y[0]))


def _quotient(x: Pair, y: Pair) -> Pair:
    high = x[0] / y[0]
    low = (fma(-high, y[0], x[0]) + fma(-high, y[1], x[1])) / y[0]
    return high, select(absolute(high) < INFINITY, low, 0.0)


def _times(factor: Expr, x: Pair) -> Pair:
    high, low = two_product(factor, x[0])
    return high, fma(factor, x[1], low)


def _logarithm(x: Pair, more: Expr | None = None) -> Pair:
    """log(x + more) of a positive normal pair, whose second part may be as large as an ULP."""
    high, low = log_pair(x[0])
    share = x[1] / x[0]
    lost = fma(-share, x[0], x[1])
    if more is not None:
        lost = lost + more
    total, rest = two_sum(high, share)
    return fast_two_sum(total, rest + (low + fma(share * -0.5, share, lost / x[0])))


def _excess(x: Pair, by: Pair) -> Pair:
    """p (log(1 + x) - x) for small x with p x = by."""
    high, low = two_product(by[0] * -0.5, x[0])
    low = fma(by[0] * -0.5, x[1], fma(by[1] * -0.5, x[0], low))
    return high, fma(by[0] * x[0], horner(x[0], _EXCESS) * x[0], low)


def _either(condition: Expr, x: Pair, y: Pair) -> Pair:
    return select(condition, x[0], y[0]), select(condition, x[1], y[1])


def _pair(value: Expr) -> Pair:
    return value, Const(0.0, dt.f64)


ONE = (Const(1.0, dt.f64), Const(0.0, dt.f64))


@frozen()
class _Beta:
    """a B(a, b) = factor exp(-(a log(of_least) + b log(of_most) + rest)), a <= b, share = a / b.

    both: Stirling's series serves for both; twice: a and b are half of what is asked for, whose sum
    overflows: logarithms are twice as large.
    """

    least: Expr
    most: Expr
    total: Pair
    share: Pair
    of_least: Pair
    of_most: Pair
    factor: Expr
    rest: Pair
    both: Expr
    twice: Expr


def _beta(a: Expr, b: Expr) -> _Beta:
    """For positive finite f64."""
    twice = (a + b).equal(INFINITY)
    a, b = select(twice, a * 0.5, a), select(twice, b * 0.5, b)
    swap = b < a
    least, most = select(swap, b, a), select(swap, a, b)
    total = two_sum(most, least)
    share = _quotient(_pair(least), _pair(most))
    p, q, c = _factorial(least), _factorial(most), _factorial(total[0])
    scale = _either(c.large, total, ONE)
    of_least = _either(p.large, _quotient(total, _pair(least)), scale)
    one_more = two_sum(ONE[0], share[0])
    of_most = _either(q.large, (one_more[0], one_more[1] + share[1]), scale)
    zero = Const(0.0, dt.f64)
    lone = two_sum(select(p.large, zero, -least), select(q.large, zero, -most))
    # What the total lacks counts below Stirling's series: times digamma, about.
    slope = (total[0] - 0.46) / fma(total[0], 0.29, 1.0)
    rest = (select(c.large, c.rest, total[1] * slope) - p.rest) - q.rest
    factor = (share[0] + 1.0) * (p.factor * (q.factor / c.factor))
    factor = factor * select(twice, Const(2.0**0.5, dt.f64), 1.0)  # it grows as the root does
    alone = _sum(_either(c.large, lone, (zero, zero)), _pair(rest))
    return _Beta(least, most, total, share, of_least, of_most, factor, alone, p.large, twice)


def _powers(parts: _Beta) -> Pair:
    """-log of B(a, b) a / factor."""
    first = _times(parts.least, _logarithm(parts.of_least))
    second = _times(parts.most, _logarithm(parts.of_most))
    return _doubled(parts.twice, _sum(_sum(first, second), parts.rest))


def _doubled(condition: Expr, x: Pair) -> Pair:
    return select(condition, x[0] + x[0], x[0]), select(condition, x[1] + x[1], x[1])


def _exp_of(power: Pair) -> Expr:
    """exp of the pair; 0 where its terms overflow, as only those do that are far below 0."""
    value, rest = power
    finite = absolute(value) < INFINITY
    value, rest = select(finite, value, -INFINITY), select(finite, rest, 0.0)
    return exponential(value, rest, Const(1.0, dt.f64))


def _positive(a: Expr, b: Expr) -> tuple[Expr, Expr, Expr]:
    """Arguments in f64, and whether both are positive and finite; 1 where they are not."""
    a, b = a.cast(dt.f64), b.cast(dt.f64)
    usual = (a > 0.0) & (b > 0.0) & (a < INFINITY) & (b < INFINITY)
    return select(usual, a, 1.0), select(usual, b, 1.0), usual


def _at_the_ends(a: Expr, b: Expr, at_zero: Expr | float, at_infinity: float) -> Expr:
    """Where an argument is 0 or infinite and none is negative; NaN elsewhere."""
    wide, other = a.cast(dt.f64), b.cast(dt.f64)
    zero = (wide.equal(0.0) & (other < INFINITY)) | (other.equal(0.0) & (wide < INFINITY))
    infinite = wide.equal(INFINITY) | other.equal(INFINITY)
    known = (wide >= 0.0) & (other >= 0.0)
    both = (wide.equal(0.0) | other.equal(0.0)) & infinite
    end = select(zero, Const(INFINITY, dt.f64), at_infinity)
    return select(known & (zero | infinite) & ~both, end, NAN)


@defined
def beta_positive(a: Expr, b: Expr) -> Expr:
    """B(a, b); infinite where an argument is 0, 0 where one is infinite, NaN where one is negative
    or NaN."""
    wide, other, usual = _positive(a, b)
    parts = _beta(wide, other)
    value, rest = _powers(parts)
    found = exponential(-value, -rest, Const(1.0, dt.f64)) * parts.factor / parts.least
    return select(usual, found, _at_the_ends(a, b, INFINITY, 0.0)).cast(a.dtype)


@defined
def betaln_positive(a: Expr, b: Expr) -> Expr:
    """log(B(a, b)); infinite where an argument is 0, -inf where one is infinite, NaN where one is
    negative or NaN."""
    wide, other, usual = _positive(a, b)
    parts = _beta(wide, other)
    value, rest = _powers(parts)
    # The quotient by what is below 2^-1000 would be infinite.
    tiny = parts.least < 2.0**-1000
    scaled = select(tiny, parts.least * 2.0**60, parts.least)
    high, low = log_pair(parts.factor / scaled)
    high, low = _sum((high, low), _pair(select(tiny, Const(60 * natural_log(2.0), dt.f64), 0.0)))
    high, low = _sum((high, low), (-value, -rest))
    found = select(value.equal(INFINITY), -value, high + low)
    return select(usual, found, _at_the_ends(a, b, INFINITY, -INFINITY)).cast(a.dtype)


@defined
def binomial_mass(a: Expr, b: Expr, x: Expr) -> Expr:
    """x^a (1 - x)^b / (a B(a, b)) for positive finite a and b and 0 < x < 1; NaN elsewhere."""
    wide, other, usual = _positive(a, b)
    at = x.cast(dt.f64)
    usual = usual & (at > 0.0) & (at < 1.0)
    at = select(usual, at, 0.5)
    parts = _beta(wide, other)
    swapped = other < wide
    mirrored = two_sum(ONE[0], -at)
    u = _either(swapped, mirrored, _pair(at))  # the base of the power of the least
    v = _either(swapped, _pair(at), mirrored)
    # u W = 1 + (u c - a) / a; v W likewise, with the difference of the other sign.
    distance = _sum(_product(u, parts.total), (-parts.least, Const(0.0, dt.f64)))
    first = _quotient(distance, _pair(parts.least))
    opposite = (-distance[0], -distance[1])
    second = _quotient(opposite, _pair(parts.most))
    close = absolute(second[0]) < _NEAR
    near = parts.both & (absolute(first[0]) < _NEAR) & close
    by_excess = _sum(_excess(first, distance), _excess(second, opposite))
    power = _times(parts.least, _logarithm(_product(u, parts.of_least)))
    around = two_sum(ONE[0], second[0])
    whole = _product(v, parts.of_most)
    one_sided = close & (parts.most >= STIRLING_FROM)
    base = _either(one_sided, around, whole)
    more = select(one_sided, second[1], 0.0)
    by_powers = _sum(power, _times(parts.most, _logarithm(base, more)))
    power = _sum(_either(near, by_excess, by_powers), parts.rest)
    relative = select(swapped, parts.share[0], 1.0)
    found = _exp_of(_doubled(parts.twice, power)) * (relative / parts.factor)
    return select(usual, found, NAN).cast(x.dtype)


@defined
def poisson_mass(a: Expr, x: Expr) -> Expr:
    """x^a exp(-x) / gamma(a + 1) for finite a > 0 and x > 0; NaN elsewhere."""
    wide, at, usual = _positive(a, x)
    p = _factorial(wide)
    distance = two_sum(at, -wide)
    first = _quotient(distance, _pair(wide))
    near = p.large & (absolute(first[0]) < _NEAR)
    base = _either(p.large, _quotient(_pair(at), _pair(wide)), _pair(at))
    linear = _either(p.large, (-distance[0], -distance[1]), _pair(-at))
    by_power = _sum(_times(wide, _logarithm(base)), linear)
    power = _sum(_either(near, _excess(first, distance), by_power), _pair(-p.rest))
    found = _exp_of(power) / p.factor
    return select(usual, found, NAN).cast(x.dtype)


__all__ = ["beta_positive", "betaln_positive", "binomial_mass", "poisson_mass"]
