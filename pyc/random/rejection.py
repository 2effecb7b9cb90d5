"""Numbers of a distribution by trials that are taken or rejected: `gamma`, `poisson` and their kin.

Each element tries until it is taken, with words of its own for each trial (block n of trial t, see
`generator`), so that an element depends on its place alone. The loop has the form that becomes a
loop within a kernel, over the elements side by side (`passes/lower_loops`): what is taken keeps its
value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.compositions import public, run
from pyc.interpreter import bind1
from pyc.ir import dtype as dt
from pyc.random.arguments import dtype_of, key_of
from pyc.random.distributions import DIGITS, INTEGERS, Shape, Sizes, fraction, normal_numbers
from pyc.random.generator import TRIALS, halves, pairs, philox
from pyc.random.keys import split_keys
from pyc.random.parameters import computed, last_axis_of, parameters, spread
from pyc.trace.control import while_loop

SMALL_RATE = 10.0
"""From which Poisson numbers are drawn by trials, and up to which by counting."""


@public
def gamma(key: Any, a: Any, shape: Sizes | None = None, dtype: Any = float) -> Any:
    """Real numbers of the gamma distribution with scale 1 (Marsaglia and Tsang, "A simple method
    for generating gamma variables", 2000). NumPy: `Generator.standard_gamma`.

    key: (2,) uint32; dtype: float16, bfloat16, float32 or float64
    a: the shape parameter, positive; broadcasts to `shape`, which is its own if it is None. NaN for
    negative ones
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or `a` of complex numbers;
    ShapeError: what does not broadcast to `shape`, or a negative extent
    """
    return _real("gamma", _gamma, key, shape, dtype, a=a)


@public
def loggamma(key: Any, a: Any, shape: Sizes | None = None, dtype: Any = float) -> Any:
    """Logarithms of numbers of the gamma distribution, which keep what is too small for a number of
    the type where `a` is small; see `gamma`.

    key: (2,) uint32; dtype: float16, bfloat16, float32 or float64
    a: positive; broadcasts to `shape`, which is its own if it is None
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or `a` of complex numbers;
    ShapeError: what does not broadcast to `shape`, or a negative extent
    """
    return _real("loggamma", _loggamma, key, shape, dtype, a=a)


@public
def beta(key: Any, a: Any, b: Any, shape: Sizes | None = None, dtype: Any = float) -> Any:
    """Real numbers of the beta distribution, from two of the gamma distribution. NumPy:
    `Generator.beta`.

    key: (2,) uint32; dtype: float16, bfloat16, float32 or float64
    a, b: positive; broadcast to `shape`, which is theirs together if it is None
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or parameters of complex
    numbers; ShapeError: what does not broadcast to `shape`, or a negative extent
    """
    return _real("beta", _beta, key, shape, dtype, a=a, b=b)


@public
def chisquare(key: Any, df: Any, shape: Sizes | None = None, dtype: Any = float) -> Any:
    """Sums of the squares of `df` standard normal numbers, which need not be whole. NumPy:
    `Generator.chisquare`.

    key: (2,) uint32; dtype: float16, bfloat16, float32 or float64
    df: positive; broadcasts to `shape`, which is its own if it is None
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or `df` of complex numbers;
    ShapeError: what does not broadcast to `shape`, or a negative extent
    """
    return _real("chisquare", _chisquare, key, shape, dtype, df=df)


@public
def f(key: Any, dfnum: Any, dfden: Any, shape: Sizes | None = None, dtype: Any = float) -> Any:
    """Quotients of two numbers of `chisquare`, each over its degrees of freedom: the F
    distribution. NumPy: `Generator.f`.

    key: (2,) uint32; dtype: float16, bfloat16, float32 or float64
    dfnum, dfden: positive; broadcast to `shape`, which is theirs together if it is None
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or parameters of complex
    numbers; ShapeError: what does not broadcast to `shape`, or a negative extent
    """
    return _real("f", _f, key, shape, dtype, dfnum=dfnum, dfden=dfden)


@public
def t(key: Any, df: Any, shape: Sizes | None = None, dtype: Any = float) -> Any:
    """Real numbers of Student's t distribution. NumPy: `Generator.standard_t`.

    key: (2,) uint32; dtype: float16, bfloat16, float32 or float64
    df: degrees of freedom, positive; broadcasts to `shape`, which is its own if it is None
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or `df` of complex numbers;
    ShapeError: what does not broadcast to `shape`, or a negative extent
    """
    return _real("t", _t, key, shape, dtype, df=df)


@public
def dirichlet(key: Any, alpha: Any, shape: Sizes | None = None, dtype: Any = float) -> Any:
    """Real numbers of the Dirichlet distribution along a new last axis, whose sum is 1. NumPy:
    `Generator.dirichlet`.

    key: (2,) uint32; dtype: float16, bfloat16, float32 or float64
    alpha: (..., n), positive; the axes before broadcast to `shape`, which is theirs if it is None
    -> (*shape, n)
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or complex `alpha`;
    ShapeError: `alpha` has no axis, or does not broadcast, or a negative extent
    """
    kind = dtype_of("dirichlet", dtype, dt.f64, DIGITS)
    key = key_of("dirichlet", key)
    wanted = last_axis_of("dirichlet", "alpha", alpha, shape)
    (alpha,), sizes = parameters("dirichlet", wanted, alpha=alpha)
    return run("random.dirichlet", _dirichlet, key, alpha, fixed=(sizes, kind))


@public
def poisson(key: Any, lam: Any, shape: Sizes | None = None, dtype: Any = int) -> Any:
    """Integers of the Poisson distribution: by counting for small rates, else by Hörmann's
    transformed rejection ("The transformed rejection method for generating Poisson random
    variables", 1993). NumPy: `Generator.poisson`.

    key: (2,) uint32; dtype: an integer type
    lam: the rate, not negative; broadcasts to `shape`, which is its own if it is None. -1 for those
    below 0 and NaN
    raises ArgumentError: `key` is no key; DTypeError: another dtype, or `lam` of complex numbers;
    ShapeError: what does not broadcast to `shape`, or a negative extent
    """
    kind = dtype_of("poisson", dtype, dt.i64, INTEGERS)
    key = key_of("poisson", key)
    arrays, sizes = parameters("poisson", shape, lam=lam)
    return run("random.poisson", _poisson, key, *arrays, fixed=(sizes, kind))


def _real(name: str, program: Any, key: Any, shape: Any, dtype: Any, **given: Any) -> Any:
    kind = dtype_of(name, dtype, dt.f64, DIGITS)
    key = key_of(name, key)
    arrays, sizes = parameters(name, shape, **given)
    return run(f"random.{name}", program, key, *arrays, fixed=(sizes, kind))


# --- trials ---------------------------------------------------------------------------------------


def _taken(
    key: Any,
    waiting: Any,
    start: Sequence[Any],
    wide: bool,
    tried: Callable[[Sequence[Any]], tuple[Any, Sequence[Any]]],
) -> tuple[Any, ...]:
    """Values of the first trial of each element that is taken; `start` where there is none to wait
    for.

    waiting: which elements try; tried: four words of an element, `uint64` if `wide`, to whether
    they are taken, and the values
    """
    shape = waiting.shape
    low, high = (x.reshape(shape) for x in halves(pnp.arange(waiting.size, dtype=np.uint64)))
    use = pnp.full(shape, TRIALS)
    step = np.uint32(2 if wide else 1)

    def more(state: Any) -> Any:
        return pnp.any(state[0])

    def again(state: Any) -> Any:
        waiting, trial, *values = state
        words: Sequence[Any] = philox((low, high, trial, use), (key[0], key[1]))
        if wide:
            second = philox((low, high, trial + np.uint32(1), use), (key[0], key[1]))
            words = (*pairs(words), *pairs(second))  # type: ignore[arg-type]
        good, found = tried(words)
        kept = [pnp.where(waiting, pnp.where(good, n, v), v) for n, v in zip(found, values)]
        return (waiting & ~good, pnp.where(waiting, trial + step, trial), *kept)

    state = (waiting, pnp.zeros(shape, np.uint32), *start)
    return tuple(while_loop(more, again, state)[2:])


def _parts(key: Any, a: Any, shape: Shape, kind: dt.DType) -> tuple[Any, Any]:
    """Two factors of numbers of the gamma distribution: one for a parameter that is at least 1, and
    the logarithm of what takes that down to `a`."""
    real = computed(kind)
    a = spread(a, shape, real)
    valid = (a > 0) & (a < np.inf)
    usual = pnp.where(valid, a, real(1))
    small = usual < 1
    d = pnp.where(small, usual + real(1), usual) - real(1 / 3)
    c = real(1 / 3) / pnp.sqrt(d)

    def tried(words: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        radius = pnp.sqrt(real(-2) * pnp.log(fraction(words[0], real)))
        x = radius * pnp.cos(fraction(words[1], real) * real(2 * pi))
        u, other = fraction(words[2], real), fraction(words[3], real)
        root = real(1) + c * x
        v = root * root * root
        positive = root > 0
        log_v = pnp.log(pnp.where(positive, v, real(1)))
        taken = pnp.log(u) < real(0.5) * x * x + d * (real(1) - v + log_v)
        return positive & taken, (d * v, pnp.log(other))

    one, zero = pnp.ones(shape, real), pnp.zeros(shape, real)
    value, power = _taken(key, valid, (one, zero), kind is dt.f64, tried)
    less = pnp.where(small, power / usual, real(0))
    value = pnp.where(valid, value, pnp.where(a == 0, real(0), pnp.where(a > 0, a, real(np.nan))))
    return value, less


def _wide(kind: dt.DType) -> dt.DType:
    """The type of the computation."""
    return dt.f64 if kind is dt.f64 else dt.f32


def _gamma(key: Any, a: Any, shape: Shape, kind: dt.DType) -> Any:
    value, less = _parts(key, a, shape, kind)
    return (value * pnp.exp(less)).astype(kind.numpy)


def _loggamma(key: Any, a: Any, shape: Shape, kind: dt.DType) -> Any:
    value, less = _parts(key, a, shape, kind)
    return (pnp.log(value) + less).astype(kind.numpy)


def _beta(key: Any, a: Any, b: Any, shape: Shape, kind: dt.DType) -> Any:
    keys = split_keys(key, (2,))
    first, second = (_loggamma(keys[k], x, shape, _wide(kind)) for k, x in enumerate((a, b)))
    return bind1("expit", first - second).astype(kind.numpy)


def _chisquare(key: Any, df: Any, shape: Shape, kind: dt.DType) -> Any:
    real = computed(kind)
    half = _gamma(key, df.astype(real) * real(0.5), shape, _wide(kind))
    return (half * real(2)).astype(kind.numpy)


def _f(key: Any, dfnum: Any, dfden: Any, shape: Shape, kind: dt.DType) -> Any:
    keys, real = split_keys(key, (2,)), computed(kind)
    over = (
        _chisquare(keys[k], x, shape, _wide(kind)) / spread(x, shape, real)
        for k, x in enumerate((dfnum, dfden))
    )
    first, second = over
    return (first / second).astype(kind.numpy)


def _t(key: Any, df: Any, shape: Shape, kind: dt.DType) -> Any:
    keys, real = split_keys(key, (2,)), computed(kind)
    z = normal_numbers(keys[0], shape, _wide(kind))
    df = spread(df, shape, real)
    square = _chisquare(keys[1], df, shape, _wide(kind))
    return (z * pnp.sqrt(df / square)).astype(kind.numpy)


def _dirichlet(key: Any, alpha: Any, shape: Shape, kind: dt.DType) -> Any:
    logs = _loggamma(key, alpha, shape, _wide(kind))
    powers = pnp.exp(logs - pnp.max(logs, axis=-1, keepdims=True))
    return (powers / pnp.sum(powers, axis=-1, keepdims=True)).astype(kind.numpy)


# --- Poisson --------------------------------------------------------------------------------------


def _poisson(key: Any, lam: Any, shape: Shape, kind: dt.DType) -> Any:
    rate = spread(lam, shape, np.float64)
    valid = rate >= 0
    small = valid & (rate < SMALL_RATE)
    large = valid & (rate >= SMALL_RATE) & (rate < np.inf)
    found = pnp.where(small, _counted(key, rate, small), _transformed(key, rate, large))
    found = pnp.where(rate == np.inf, np.float64(np.inf), found)
    limits = np.iinfo(kind.numpy)
    whole = pnp.where(found >= float(limits.max), limits.max, found.astype(kind.numpy))
    return pnp.where(valid, whole, np.int64(-1).astype(kind.numpy)).astype(kind.numpy)


def _counted(key: Any, rate: Any, waiting: Any) -> Any:
    """The first number whose distribution function is above a part of 64 bits."""
    shape = rate.shape
    low, high = (x.reshape(shape) for x in halves(pnp.arange(rate.size, dtype=np.uint64)))
    use = pnp.full(shape, TRIALS)
    # The last of all trials, which nobody reaches by trying.
    words = philox((low, high, pnp.full(shape, np.uint32(0xFFFFFFFF)), use), (key[0], key[1]))
    part = fraction(pairs(words)[0], np.float64)
    mean = pnp.where(waiting, rate, np.float64(1))
    first = pnp.exp(-mean)

    def more(state: Any) -> Any:
        return pnp.any(state[0])

    def again(state: Any) -> Any:
        waiting, count, chance, sum = state
        grown = count + np.float64(1)
        next = chance * (mean / grown)
        above = sum + next
        # Where nothing is added any more the sum stays below 1 by its roundings.
        go_on = (above < part) & (above > sum)
        return (
            waiting & go_on,
            pnp.where(waiting, grown, count),
            pnp.where(waiting, next, chance),
            pnp.where(waiting, above, sum),
        )

    start = (waiting & (first < part), pnp.zeros(shape), first, first)
    return while_loop(more, again, start)[1]


def _transformed(key: Any, rate: Any, waiting: Any) -> Any:
    """Trials from a hat over the distribution function's inverse."""
    mean = pnp.where(waiting, rate, np.float64(SMALL_RATE))
    b = 2.53 * pnp.sqrt(mean) + 0.931
    a = 0.02483 * b - 0.059
    inverse = 1.1328 / (b - 3.4) + 1.1239
    sure = 0.9277 - 3.6224 / (b - 2.0)
    log_mean = pnp.log(mean)

    def tried(words: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        u = fraction(words[0], np.float64) - 0.5
        v = fraction(words[1], np.float64)
        near = 0.5 - pnp.abs(u)
        count = pnp.floor((2.0 * a / near + b) * u + mean + 0.43)
        at_once = (near >= 0.07) & (v <= sure)
        never = (count < 0) | ((near < 0.013) & (v > near))
        k = pnp.maximum(count, 0.0)
        # The logarithm of the probability; for large rates by its distance from the mean, which
        # does not cancel.
        e = (k - mean) / mean
        far = -mean * ((1.0 + e) * pnp.log1p(e) - e) - 0.5 * pnp.log(2 * pi * pnp.maximum(k, 1.0))
        usual = k * log_mean - mean - bind1("lgamma", k + 1.0)
        height = pnp.where(mean > 1e7, far, usual)
        under = pnp.log(v * inverse / (a / (near * near) + b)) <= height
        return at_once | (~never & under), (count,)

    (found,) = _taken(key, waiting, (pnp.zeros(rate.shape),), True, tried)
    return found
