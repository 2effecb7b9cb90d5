"""Numbers of a distribution by its inverse: each from one word, or from a normal number.

What is symmetric takes its sign from one bit and its distance from the others, so that both tails
are as fine as there are bits. Parameters out of their range give NaN.
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.compositions import public, run
from pyc.interpreter import bind1
from pyc.ir import dtype as dt
from pyc.random.arguments import dtype_of, key_of, shape_of
from pyc.random.distributions import (
    DIGITS,
    INTEGERS,
    Shape,
    Sizes,
    fraction,
    normal_numbers,
)
from pyc.random.generator import drawn
from pyc.random.parameters import computed, parameters, spread


@public
def cauchy(key: Any, shape: Sizes = (), dtype: Any = float) -> Any:
    """Real numbers of the standard Cauchy distribution. NumPy: `Generator.standard_cauchy`.

    key: (2,) uint32; shape: of the result; dtype: float16, bfloat16, float32 or float64
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or a shape that is not of
    integers; ShapeError: a negative extent
    """
    return _standard("cauchy", _cauchy, key, shape, dtype)


@public
def laplace(key: Any, shape: Sizes = (), dtype: Any = float) -> Any:
    """Real numbers of the standard Laplace distribution. NumPy: `Generator.laplace`.

    key: (2,) uint32; shape: of the result; dtype: float16, bfloat16, float32 or float64
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or a shape that is not of
    integers; ShapeError: a negative extent
    """
    return _standard("laplace", _laplace, key, shape, dtype)


@public
def logistic(key: Any, shape: Sizes = (), dtype: Any = float) -> Any:
    """Real numbers of the standard logistic distribution. NumPy: `Generator.logistic`.

    key: (2,) uint32; shape: of the result; dtype: float16, bfloat16, float32 or float64
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or a shape that is not of
    integers; ShapeError: a negative extent
    """
    return _standard("logistic", _logistic, key, shape, dtype)


@public
def rademacher(key: Any, shape: Sizes = (), dtype: Any = int) -> Any:
    """Numbers that are -1 or 1, each with probability 1/2.

    key: (2,) uint32; shape: of the result; dtype: signed integers or real numbers
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or a shape that is not of
    integers; ShapeError: a negative extent
    """
    signed = [t for t in (*INTEGERS, *DIGITS) if t.kind != "uint"]
    kind = dtype_of("rademacher", dtype, dt.i64, signed)
    fixed = shape_of("rademacher", shape), kind
    return run("random.rademacher", _rademacher, key_of("rademacher", key), fixed=fixed)


@public
def rayleigh(key: Any, scale: Any, shape: Sizes | None = None, dtype: Any = float) -> Any:
    """Real numbers of the Rayleigh distribution. NumPy: `Generator.rayleigh`.

    key: (2,) uint32; dtype: float16, bfloat16, float32 or float64
    scale: not negative; broadcasts to `shape`, which is its own if it is None
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or a scale of complex numbers;
    ShapeError: what does not broadcast to `shape`, or a negative extent
    """
    return _scaled("rayleigh", _rayleigh, key, shape, dtype, scale=scale)


@public
def lognormal(key: Any, sigma: Any = 1.0, shape: Sizes | None = None, dtype: Any = float) -> Any:
    """Real numbers whose logarithms are normal, with mean 0 and standard deviation `sigma`. NumPy:
    `Generator.lognormal`.

    key: (2,) uint32; dtype: float16, bfloat16, float32 or float64
    sigma: broadcasts to `shape`, which is its own if it is None
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or `sigma` of complex numbers;
    ShapeError: what does not broadcast to `shape`, or a negative extent
    """
    return _scaled("lognormal", _lognormal, key, shape, dtype, sigma=sigma)


@public
def pareto(key: Any, b: Any, shape: Sizes | None = None, dtype: Any = float) -> Any:
    """Real numbers of the Pareto distribution, from 1 on. NumPy: `1 + Generator.pareto`.

    key: (2,) uint32; dtype: float16, bfloat16, float32 or float64
    b: the exponent, positive; broadcasts to `shape`, which is its own if it is None
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or `b` of complex numbers;
    ShapeError: what does not broadcast to `shape`, or a negative extent
    """
    return _scaled("pareto", _pareto, key, shape, dtype, b=b)


@public
def weibull_min(
    key: Any, scale: Any, concentration: Any, shape: Sizes | None = None, dtype: Any = float
) -> Any:
    """Real numbers of the Weibull distribution. NumPy: `scale * Generator.weibull`.

    key: (2,) uint32; dtype: float16, bfloat16, float32 or float64
    scale, concentration: positive; broadcast to `shape`, which is theirs together if it is None
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or parameters of complex
    numbers; ShapeError: what does not broadcast to `shape`, or a negative extent
    """
    given = {"scale": scale, "concentration": concentration}
    return _scaled("weibull_min", _weibull, key, shape, dtype, **given)


@public
def triangular(
    key: Any, left: Any, mode: Any, right: Any, shape: Sizes | None = None, dtype: Any = float
) -> Any:
    """Real numbers of the triangular distribution from `left` to `right`, densest at `mode`. NumPy:
    `Generator.triangular`.

    key: (2,) uint32; dtype: float16, bfloat16, float32 or float64
    left <= mode <= right: broadcast to `shape`, which is theirs together if it is None
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or parameters of complex
    numbers; ShapeError: what does not broadcast to `shape`, or a negative extent
    """
    given = {"left": left, "mode": mode, "right": right}
    return _scaled("triangular", _triangular, key, shape, dtype, **given)


@public
def truncated_normal(
    key: Any, lower: Any, upper: Any, shape: Sizes | None = None, dtype: Any = float
) -> Any:
    """Standard normal numbers between `lower` and `upper`, exact in both tails up to 37 standard
    deviations.

    key: (2,) uint32; dtype: float16, bfloat16, float32 or float64
    lower < upper: broadcast to `shape`, which is theirs together if it is None; the results are
    strictly between them
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or bounds of complex numbers;
    ShapeError: what does not broadcast to `shape`, or a negative extent
    """
    given = {"lower": lower, "upper": upper}
    return _scaled("truncated_normal", _truncated_normal, key, shape, dtype, **given)


@public
def geometric(key: Any, p: Any, shape: Sizes | None = None, dtype: Any = int) -> Any:
    """How many trials of probability `p` it takes until one succeeds: integers from 1 on. NumPy:
    `Generator.geometric`.

    key: (2,) uint32; dtype: an integer type
    p: from (0, 1]; broadcasts to `shape`, which is its own if it is None. Others give -1
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or `p` of complex numbers;
    ShapeError: what does not broadcast to `shape`, or a negative extent
    """
    kind = dtype_of("geometric", dtype, dt.i64, INTEGERS)
    key = key_of("geometric", key)
    arrays, sizes = parameters("geometric", shape, p=p)
    return run("random.geometric", _geometric, key, *arrays, fixed=(sizes, kind))


def _standard(name: str, program: Any, key: Any, shape: Any, dtype: Any) -> Any:
    kind = dtype_of(name, dtype, dt.f64, DIGITS)
    return run(f"random.{name}", program, key_of(name, key), fixed=(shape_of(name, shape), kind))


def _scaled(name: str, program: Any, key: Any, shape: Any, dtype: Any, **given: Any) -> Any:
    kind = dtype_of(name, dtype, dt.f64, DIGITS)
    key = key_of(name, key)
    arrays, sizes = parameters(name, shape, **given)
    return run(f"random.{name}", program, key, *arrays, fixed=(sizes, kind))


# --- programs -------------------------------------------------------------------------------------


def _both_tails(key: Any, shape: Shape, kind: dt.DType, distance: Any) -> Any:
    """Numbers whose distance from 0 is a function of the probability p, from (0, 1/2], to be as far
    on the same side."""
    real = computed(kind)

    def made(word: Any) -> Any:
        one = word.dtype.type(1)
        # Without the bit of the sign, and with 0 in the place where it was.
        p = fraction(word >> one << one, real) * real(0.5)
        size = distance(pnp.minimum(p, real(0.5)))
        return pnp.where((word & one) == one, -size, size).astype(kind.numpy)

    return drawn(key, shape, kind is dt.f64, made)


def _cauchy(key: Any, shape: Shape, kind: dt.DType) -> Any:
    real = computed(kind)
    return _both_tails(key, shape, kind, lambda p: pnp.abs(real(1) / pnp.tan(p * real(pi))))


def _laplace(key: Any, shape: Shape, kind: dt.DType) -> Any:
    return _both_tails(key, shape, kind, lambda p: pnp.abs(pnp.log(p + p)))


def _logistic(key: Any, shape: Shape, kind: dt.DType) -> Any:
    return _both_tails(key, shape, kind, lambda p: pnp.abs(bind1("logit", p)))


def _rademacher(key: Any, shape: Shape, kind: dt.DType) -> Any:
    def made(word: Any) -> Any:
        return (pnp.astype(word >> np.uint32(31), np.int32) * np.int32(2) - np.int32(1)).astype(
            kind.numpy
        )

    return drawn(key, shape, False, made)


def _exponentials(key: Any, shape: Shape, kind: dt.DType) -> Any:
    real = computed(kind)
    return drawn(key, shape, kind is dt.f64, lambda w: pnp.abs(pnp.log(fraction(w, real))))


def _rayleigh(key: Any, scale: Any, shape: Shape, kind: dt.DType) -> Any:
    real = computed(kind)
    found = pnp.sqrt(_exponentials(key, shape, kind) * real(2)) * scale.astype(real)
    return pnp.where(scale < 0, real(np.nan), found).astype(kind.numpy)


def _lognormal(key: Any, sigma: Any, shape: Shape, kind: dt.DType) -> Any:
    real = computed(kind)
    z = normal_numbers(key, shape, dt.f64 if kind is dt.f64 else dt.f32)
    return pnp.exp(z * sigma.astype(real)).astype(kind.numpy)


def _pareto(key: Any, b: Any, shape: Shape, kind: dt.DType) -> Any:
    real = computed(kind)
    found = pnp.exp(_exponentials(key, shape, kind) / b.astype(real))
    return pnp.where(b > 0, found, real(np.nan)).astype(kind.numpy)


def _weibull(key: Any, scale: Any, concentration: Any, shape: Shape, kind: dt.DType) -> Any:
    real = computed(kind)
    power = pnp.power(_exponentials(key, shape, kind), real(1) / concentration.astype(real))
    found = power * scale.astype(real)
    return pnp.where((scale > 0) & (concentration > 0), found, real(np.nan)).astype(kind.numpy)


def _triangular(key: Any, left: Any, mode: Any, right: Any, shape: Shape, kind: dt.DType) -> Any:
    real = computed(kind)
    low, middle, high = (spread(x, shape, real) for x in (left, mode, right))
    u = drawn(key, shape, kind is dt.f64, lambda word: fraction(word, real))
    whole = high - low
    rising = low + pnp.sqrt(u * whole * (middle - low))
    falling = high - pnp.sqrt((real(1) - u) * whole * (high - middle))
    found = pnp.where(u * whole < middle - low, rising, falling)
    ordered = (low <= middle) & (middle <= high)
    return pnp.where(ordered, found, real(np.nan)).astype(kind.numpy)


def _truncated_normal(key: Any, lower: Any, upper: Any, shape: Shape, kind: dt.DType) -> Any:
    """By the probability to be below, in float64; mirrored if both ends are above 0."""
    wide = np.float64
    low, high = (spread(x, shape, kind.numpy) for x in (lower, upper))
    mirrored = low > 0
    a = pnp.where(mirrored, -high, low).astype(wide)
    b = pnp.where(mirrored, -low, high).astype(wide)
    part = drawn(key, shape, kind is dt.f64, lambda word: fraction(word.astype(np.uint64), wide))
    part = part if kind is dt.f64 else part * wide(2.0**32)
    first, last = bind1("ndtr", a), bind1("ndtr", b)
    found = bind1("ndtri", first * (wide(1) - part) + last * part)
    found = pnp.where(pnp.isfinite(found), found, b)  # beyond the range of the probabilities
    found = pnp.where(mirrored, -found, found).astype(kind.numpy)
    inside = pnp.minimum(found, pnp.nextafter(high, low))
    inside = pnp.maximum(inside, pnp.nextafter(low, high))
    return pnp.where(low < high, inside, kind.numpy.type(np.nan))


def _geometric(key: Any, p: Any, shape: Shape, kind: dt.DType) -> Any:
    chance = spread(p, shape, np.float64)
    exponential = drawn(key, shape, True, lambda w: pnp.abs(pnp.log(fraction(w, np.float64))))
    trials = pnp.ceil(exponential / -pnp.log1p(-chance))
    trials = pnp.maximum(trials, 1.0)  # of an exponential number that is 0, and of p = 1
    valid = (chance > 0) & (chance <= 1)
    # Counts beyond the type are its greatest.
    found = trials.astype(np.int64)
    limit = min(int(np.iinfo(kind.numpy).max), int(np.iinfo(np.int64).max))
    return pnp.where(valid, pnp.minimum(found, np.int64(limit)), np.int64(-1)).astype(kind.numpy)
