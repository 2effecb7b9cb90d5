"""Discrete Fourier transforms: which arithmetic they are, in which order, with which tables.

    y[k] = sum over j of x[j] w^(j k),    w = exp(-2 pi i / n)

Every target computes these bits: `transformed` is the definition over NumPy arrays, and the oracle
of both interpreters; `kernels/fourier.py` does the same steps in loops.

A *line* of n <= LINE elements, n a product of `radices`, goes through one stage for each radix r,
in the order of `radices(n)` (Stockham's form of the decimation in frequency, which leaves the
elements in order). With s the product of the radices before and m = n / (s r), for p < m, q < s:

    z[0] ... z[r-1] = `butterfly`(x[i m s + p s + q] for i < r)
    y[(p r + k) s + q] = z[k] . w_(r m)^(k p)      (the factor left out for k = 0, and where m = 1)

A longer one is *split* n = a b. For each j < b the elements x[j], x[b + j] ... are a line of a,
whose element k is multiplied by w_n^(k j); then those with the same k are transformed, as one of b:
y[k + a l] is element l of it. The factor w_n^(k j), with j = COLUMNS u + v, is the product of
w_n^(k v) and of the two factors that `Middle` splits w_n^(COLUMNS k u) into, in this order.

Products of complex numbers are `times`: two products, two fused. An inverse transform exchanges
real and imaginary parts before and after; the scale is multiplied last. Each number of a table is
the cosine or sine rounded once (`roots`, in twice the precision, by additions and multiplications
only, so that no library's sine decides).
"""

from __future__ import annotations

from functools import lru_cache
from math import factorial, isqrt
from typing import Any

import numpy as np

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.expr import Const, Var, fma
from pyc.ir.op import Complex

Array = np.ndarray[Any, Any]

LINE = 4096
"""Elements of a line at most: two copies of it fit the memory that a block of threads shares, and a
core's caches."""
COLUMNS = 8
"""Neighbouring lines of a split transform that share a factor."""
PRIMES = (13, 11, 7, 5, 3, 2)
"""The primes of lengths that are transformed by stages."""


# --- lengths --------------------------------------------------------------------------------------


def is_smooth(n: int) -> bool:
    """Whether stages can do a transform of n elements."""
    for prime in PRIMES if n else ():
        while n % prime == 0:
            n //= prime
    return n == 1


def radices(n: int) -> tuple[int, ...]:
    """The radices of a line of n elements: eights and fours first, so that what follows has runs of
    neighbours; a single two last."""
    found: list[int] = []
    twos = (n & -n).bit_length() - 1
    n >>= twos
    eights = twos // 3
    if twos % 3 == 1 and eights:
        eights -= 1
    found += [8] * eights
    found += [4] * ((twos - 3 * eights) // 2)
    for prime in PRIMES[:-1]:
        while n % prime == 0:
            found.append(prime)
            n //= prime
    assert n == 1, "the length has a large prime"
    return (*found, 2) if (twos - 3 * eights) % 2 else tuple(found)


@frozen()
class Stage:
    """A stage of a line: of radix r, for p < m and q < s."""

    radix: int
    m: int
    s: int


def stages(n: int) -> tuple[Stage, ...]:
    """The stages of a line of n elements; none of one element."""
    found: list[Stage] = []
    s = 1
    for radix in radices(n):
        found.append(Stage(radix, n // (s * radix), s))
        s *= radix
    return tuple(found)


def split(n: int) -> tuple[int, int]:
    """The factors (a, b) of a transform that is longer than a line: a is the greatest divisor that
    is no line's and not beyond the square root."""
    for a in range(min(isqrt(n), LINE), 0, -1):
        if n % a == 0:
            return a, n // a
    raise AssertionError("1 divides everything")


# --- tables ---------------------------------------------------------------------------------------


def _exact(numerator: int, denominator: int) -> tuple[float, float]:
    high = numerator / denominator
    over, under = high.as_integer_ratio()
    return high, (numerator * under - over * denominator) / (denominator * under)


_QUARTER_PI = _exact(0x1921FB54442D18469898CC51701B839A252049C1114CF98E, 1 << 189)
"""pi / 4 as a sum of two doubles."""
_TERMS = 4
"""Terms of the series that are computed in twice the precision."""


def _two_sum(a: Array, b: Any) -> tuple[Array, Array]:
    total = a + b
    moved = total - a
    return total, (a - (total - moved)) + (b - moved)


def _two_product(a: Array, b: Any) -> tuple[Array, Array]:
    product = a * b
    a_scaled, b_scaled = a * 134217729.0, b * 134217729.0  # 2^27 + 1
    a_high = a_scaled - (a_scaled - a)
    b_high = b_scaled - (b_scaled - b)
    a_low, b_low = a - a_high, b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


_Wide = tuple[Any, Any]


def _multiply(a: _Wide, b: _Wide) -> _Wide:
    product, error = _two_product(a[0], b[0])
    return _two_sum(product, error + (a[0] * b[1] + a[1] * b[0]))


def _add(a: _Wide, b: _Wide) -> _Wide:
    total, error = _two_sum(a[0], b[0])
    return _two_sum(total, error + (a[1] + b[1]))


def _series(square: _Wide, first: int) -> _Wide:
    """1 - square / ((f+1) (f+2)) + ..., of f!/(f + 2 k)! (-square)^k with f = first."""
    coefficients = [
        _exact((-1) ** k * factorial(first), factorial(first + 2 * k)) for k in range(14)
    ]
    tail: Array = np.zeros_like(square[0])
    for c in reversed(coefficients[_TERMS:]):
        tail = tail * square[0] + c[0]
    total: _Wide = (tail, np.zeros_like(tail))
    for c in reversed(coefficients[:_TERMS]):
        total = _add(_multiply(total, square), c)
    return total


def roots(numerators: Array, n: int) -> tuple[Array, Array]:
    """cos(2 pi k / n) and sin(2 pi k / n) in float64 for integers k, each rounded once."""
    eighths = numerators.astype(np.int64) % n * 8
    octant, rest = eighths // n, eighths % n
    points, back = np.unique(np.where(octant % 2 == 1, n - rest, rest), return_inverse=True)
    high = points / n
    product, error = _two_product(high, float(n))
    angle = _multiply((high, ((points - product) - error) / n), _QUARTER_PI)
    square = _multiply(angle, angle)
    cosine = _series(square, 0)[0][back]
    sine = _multiply(_series(square, 1), angle)[0][back]
    swapped = (octant % 4 == 1) | (octant % 4 == 2)
    x, y = np.where(swapped, sine, cosine), np.where(swapped, cosine, sine)
    # Zeros are positive.
    x = np.where((octant >= 2) & (octant < 6), 0.0 - x, x)
    return x, np.where(octant >= 4, 0.0 - y, y)


@lru_cache(maxsize=64)
def _angles(n: int) -> tuple[Array, Array]:
    return roots(np.arange(n), n)


def factors(numerators: Array, n: int, dtype: DType) -> Array:
    """w_n^k for integers k in a real type: (2, ...), real and imaginary parts."""
    if n <= LINE:
        cosine, sine = (table[numerators % n] for table in _angles(n))
    else:
        cosine, sine = roots(numerators, n)
    return np.stack([cosine, 0.0 - sine]).astype(dtype.numpy)


def stage_factors(stage: Stage, dtype: DType) -> Array:
    """The factors of a stage: (2, r - 1, m), for k from 1."""
    k = np.arange(1, stage.radix)[:, None]
    return factors(k * np.arange(stage.m), stage.radix * stage.m, dtype)


@frozen()
class Middle:
    """The tables of the factors of a split n = a b. near: (2, a, COLUMNS), of w_n^(k v); of
    w_n^(COLUMNS t), t = k u, the product of far (2, t / 2^shift) and close (2, t mod 2^shift)."""

    near: Array
    far: Array
    close: Array
    shift: int


@lru_cache(maxsize=4)
def middle(a: int, b: int, dtype: DType) -> Middle:
    """The tables of a split."""
    n = a * b
    most = (a - 1) * ((b - 1) // COLUMNS)
    shift = (most.bit_length() + 1) // 2
    close = np.arange(min(1 << shift, most + 1)) * COLUMNS
    far = (np.arange((most >> shift) + 1) << shift) * COLUMNS
    near = np.arange(a)[:, None] * np.arange(COLUMNS)
    tables = (factors(x, n, dtype) for x in (near, far, close))
    return Middle(next(tables), next(tables), next(tables), shift)


# --- arithmetic -----------------------------------------------------------------------------------


def times(x: Complex, w: Complex) -> Complex:
    """x w."""
    return Complex(
        fma(x.re, w.re, -(x.im * w.im)),
        fma(x.re, w.im, x.im * w.re),
    )


def swapped(x: Complex) -> Complex:
    """i times the conjugate of x."""
    return Complex(x.im, x.re)


def scaled(x: Complex, scale: float) -> Complex:
    """x times a real number; itself for 1."""
    if scale == 1:
        return x
    factor = Const(scale, x.re.dtype)
    return Complex(x.re * factor, x.im * factor)


def _sum(x: Complex, y: Complex) -> Complex:
    return Complex(x.re + y.re, x.im + y.im)


def _difference(x: Complex, y: Complex) -> Complex:
    return Complex(x.re - y.re, x.im - y.im)


def _turned(x: Complex) -> Complex:
    """x (-i)."""
    return Complex(x.im, -x.re)


def butterfly(x: list[Complex]) -> list[Complex]:
    """The transform of 1, 2, 3, 4, 5, 7, 8, 11 or 13 elements."""
    count = len(x)
    if count == 1:
        return x
    if count == 2:
        return [_sum(x[0], x[1]), _difference(x[0], x[1])]
    if count == 4:
        even, odd = butterfly(x[0::2]), butterfly(x[1::2])
        a, b = even[1], odd[1]
        return [
            _sum(even[0], odd[0]),
            Complex(a.re + b.im, a.im - b.re),
            _difference(even[0], odd[0]),
            Complex(a.re - b.im, a.im + b.re),
        ]
    if count == 8:
        return _of_eight(x)
    return _of_odd(x)


def _of_eight(x: list[Complex]) -> list[Complex]:
    even, odd = butterfly(x[0::2]), butterfly(x[1::2])
    half = Const(factors(np.array(7), 8, x[0].re.dtype)[0], x[0].re.dtype)
    minus = -half.value
    # odd[1] w = (u, v) / sqrt 2, and odd[3] w^3 likewise.
    u = [odd[1].re + odd[1].im, odd[3].im - odd[3].re]
    v = [odd[1].im - odd[1].re, -(odd[3].re + odd[3].im)]
    low: list[Complex] = [_sum(even[0], odd[0])]
    high: list[Complex] = [_difference(even[0], odd[0])]
    for k in (1, 2, 3):
        e = even[k]
        if k == 2:
            turned = odd[2]
            low.append(Complex(e.re + turned.im, e.im - turned.re))
            high.append(Complex(e.re - turned.im, e.im + turned.re))
            continue
        a, b = u[k // 2], v[k // 2]
        low.append(Complex(fma(a, half, e.re), fma(b, half, e.im)))
        less = Const(minus, half.dtype)
        high.append(Complex(fma(a, less, e.re), fma(b, less, e.im)))
    return low + high


def _of_odd(x: list[Complex]) -> list[Complex]:
    """Of an odd prime r: with t[j] = x[j] + x[r - j] and u[j] = x[j] - x[r - j], elements k and
    r - k are x[0] + sum of cos t[j] -+ i sum of sin u[j], each sum from j = 1 on, fused."""
    count = len(x)
    half = count // 2
    dtype = x[0].re.dtype
    cosine, minus_sine = factors(np.arange(count), count, dtype)
    t = [_sum(x[j], x[count - j]) for j in range(1, half + 1)]
    u = [_difference(x[j], x[count - j]) for j in range(1, half + 1)]
    first = x[0]
    for y in t:
        first = _sum(first, y)
    found = [first, *x[1:]]
    for k in range(1, half + 1):
        c = [Const(cosine[j * k % count], dtype) for j in range(1, half + 1)]
        s = [Const(-minus_sine[j * k % count], dtype) for j in range(1, half + 1)]
        a = x[0]
        for y, f in zip(t, c, strict=True):
            a = Complex(fma(y.re, f, a.re), fma(y.im, f, a.im))
        b = Complex(u[0].re * s[0], u[0].im * s[0])
        for y, f in zip(u[1:], s[1:], strict=True):
            b = Complex(fma(y.re, f, b.re), fma(y.im, f, b.im))
        found[k] = Complex(a.re + b.im, a.im - b.re)
        found[count - k] = Complex(a.re - b.im, a.im + b.re)
    return found


# --- the definition over arrays -------------------------------------------------------------------


@frozen()
class _Split:
    """Real and imaginary parts of an array of complex numbers."""

    re: Array
    im: Array


def _multiplied(x: _Split, w: Array) -> _Split:
    dtype = dt.of(x.re.dtype)
    assert dtype is not None
    a, b, c, d = (Var(name, dtype) for name in "abcd")
    product = times(Complex(a, b), Complex(c, d))
    return _Split(*evaluate([product.re, product.im], {a: x.re, b: x.im, c: w[0], d: w[1]}))


def _staged(x: _Split) -> _Split:
    """Lines along the last axis."""
    *lanes, n = x.re.shape
    dtype = dt.of(x.re.dtype)
    assert dtype is not None
    for stage in stages(n):
        r, m, s = stage.radix, stage.m, stage.s
        names = [Complex(Var(f"a{i}", dtype), Var(f"b{i}", dtype)) for i in range(r)]
        env: dict[Any, Array] = {}
        re, im = (part.reshape(*lanes, r, m, s) for part in (x.re, x.im))
        for i, name in enumerate(names):
            env[name.re], env[name.im] = re[..., i, :, :], im[..., i, :, :]
        found = evaluate([e for y in butterfly(list(names)) for e in (y.re, y.im)], env)
        outs = [_Split(*found[2 * k : 2 * k + 2]) for k in range(r)]
        if m > 1:
            w = stage_factors(stage, dtype)
            outs[1:] = [_multiplied(y, w[:, k, :, None]) for k, y in enumerate(outs[1:])]
        x = _Split(
            np.stack([y.re for y in outs], axis=-2).reshape(*lanes, n),
            np.stack([y.im for y in outs], axis=-2).reshape(*lanes, n),
        )
    return x


def _long(x: _Split) -> _Split:
    """Transforms along the last axis."""
    *lanes, n = x.re.shape
    if n <= LINE:
        return _staged(x)
    a, b = split(n)

    def turned(part: Array, *shape: int) -> Array:
        return np.ascontiguousarray(np.swapaxes(part.reshape(*lanes, *shape), -1, -2))

    lines = _staged(_Split(turned(x.re, a, b), turned(x.im, a, b)))  # (..., b, a)
    dtype = dt.of(x.re.dtype)
    assert dtype is not None
    tables = middle(a, b, dtype)
    j, k = np.arange(b)[:, None], np.arange(a)
    t = k * (j // COLUMNS)
    far, close = tables.far[:, t >> tables.shift], tables.close[:, t & ((1 << tables.shift) - 1)]
    w = _multiplied(_Split(*tables.near[:, k, j % COLUMNS]), np.stack(_parts(far, close)))
    lines = _multiplied(lines, np.stack([w.re, w.im]))
    found = _long(_Split(turned(lines.re, b, a), turned(lines.im, b, a)))  # (..., a, b)
    return _Split(
        turned(found.re, a, b).reshape(*lanes, n), turned(found.im, a, b).reshape(*lanes, n)
    )


def _parts(x: Array, y: Array) -> tuple[Array, Array]:
    found = _multiplied(_Split(x[0], x[1]), y)
    return found.re, found.im


def transformed(x: Array, axis: int, scale: float, *, inverse: bool) -> Array:
    """The transforms of complex numbers along an axis, times a scale."""
    lines = np.moveaxis(x, axis, -1)
    re, im = np.ascontiguousarray(lines.real), np.ascontiguousarray(lines.imag)
    with np.errstate(all="ignore"):
        found = _long(_Split(im, re) if inverse else _Split(re, im))
        parts = (found.im, found.re) if inverse else (found.re, found.im)
        if scale != 1:
            factor = re.dtype.type(scale)
            parts = (parts[0] * factor, parts[1] * factor)
    out = np.empty(lines.shape, x.dtype)
    out.real, out.imag = parts
    return np.ascontiguousarray(np.moveaxis(out, -1, axis))
