"""Transforms of lines along one axis of an array, of numbers and lengths that `fft` has checked.

A length that stages can do (`ir/fourier.py`: no prime beyond 13) is one op. Others are a
convolution with a chirp, of a length that stages can do (Bluestein). Transforms of real numbers
take neighbours as one complex number: half the work, and a pass that takes the two apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from pyc.forks import load
from pyc.interpreter import bind1
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.numpy import manipulation
from pyc.numpy.core import broadcast, cast, constant, dtype_of, part, reverse, shape_of
from pyc.numpy.elementwise import (
    add,
    bitwise_right_shift,
    conj,
    imag,
    multiply,
    negative,
    real,
    remainder,
    subtract,
)
from pyc.numpy.indexing import take
from pyc.numpy.logic import bitwise_and, equal, where

TABLE = 4096
"""Numbers of a table that is a constant of the program; longer ones are products of two."""
FILTER = 2048
"""Elements of a line whose chirp is transformed beforehand."""


def _definition() -> Any:
    """`pyc.ir.fourier`, which programs without transforms do not load."""
    return load("pyc.ir.fourier")


def as_complex(x: Any) -> Any:
    """Numbers as complex ones of their width."""
    kind = dtype_of(x)
    return x if kind.is_complex else cast(x, dt.c64 if kind is dt.f32 else dt.c128)


def fitted(x: Any, axis: int, n: int) -> Any:
    """`x` cut, or filled up with zeros, to n elements along an axis."""
    shape = shape_of(x)
    if n <= shape[axis]:
        return x if n == shape[axis] else part(x, axis, 0, n)
    rest = tuple(n - shape[axis] if k == axis else d for k, d in enumerate(shape))
    zeros = broadcast(constant(np.zeros((), dtype_of(x).numpy)), rest)
    return bind1("concatenate", x, zeros, axis=axis)


def _along(row: Any, axis: int, shape: Sequence[int]) -> Any:
    """A row of numbers along an axis of a shape."""
    shape = tuple(shape)
    line = tuple(shape[axis] if k == axis else 1 for k in range(len(shape)))
    return broadcast(manipulation.reshape(row, line), shape)


# --- tables ---------------------------------------------------------------------------------------


def _factors(numerators: Any, n: int, dtype: DType) -> tuple[Any, Any]:
    """cos and sin of 2 pi k / n for a row of known integers k, as constants."""
    cosine, minus_sine = _definition().factors(numerators, n, dtype)
    return constant(cosine), constant(0 - minus_sine)


def _many_factors(numerators: Any, n: int, count: int, dtype: DType) -> tuple[Any, Any]:
    """The same for computed integers k below `count`: of two tables each."""
    shift = (count.bit_length() + 1) // 2
    low = _factors(np.arange(1 << shift), n, dtype)
    high = _factors(np.arange((count >> shift) + 1) << shift, n, dtype)
    near, far = bitwise_and(numerators, (1 << shift) - 1), bitwise_right_shift(numerators, shift)
    a, b = (take(t, near, mode="clip") for t in low)
    c, d = (take(t, far, mode="clip") for t in high)
    return subtract(multiply(a, c), multiply(b, d)), add(multiply(a, d), multiply(b, c))


def _places(count: int) -> Any:
    return bind1("iota", shape=(count,), axis=0, dtype=dt.i64)


def _turn(n: int, count: int, dtype: DType) -> tuple[Any, Any]:
    """cos and sin of 2 pi k / n for k < count."""
    if count <= TABLE + 1:
        return _factors(np.arange(count), n, dtype)
    return _many_factors(_places(count), n, count, dtype)


# --- lines ----------------------------------------------------------------------------------------


def transformed_lines(x: Any, axis: int, scale: float, *, inverse: bool, pairs: str = "") -> Any:
    """The transforms of complex numbers along an axis; pairs: `real` of the op `fft`."""
    n = shape_of(x)[axis] // (2 if pairs == "in" else 1)
    smooth = _definition().is_smooth(n)
    # The op takes pairs of long lines where they lie side by side.
    if smooth and not (pairs and n > _definition().LINE and prod(shape_of(x)[axis + 1 :]) > 1):
        return _op(x, axis, scale, inverse=inverse, real=pairs)
    x = _pairs(x, axis) if pairs == "in" else x
    transform = _op if smooth else _by_chirp
    found = transform(x, axis, scale, inverse=inverse)
    return _apart(found, axis) if pairs == "out" else found


def _op(x: Any, axis: int, scale: float, *, inverse: bool, real: str = "") -> Any:
    return bind1("fft", x, axis=axis, inverse=inverse, scale=float(scale), real=real)


def _pairs(x: Any, axis: int) -> Any:
    """Pairs of neighbouring real numbers as complex ones."""
    parts = [_every_second(x, axis, first) for first in range(2)]
    return bind1("complex", *parts)


def _every_second(x: Any, axis: int, first: int) -> Any:
    shape = shape_of(x)
    axes = range(len(shape))
    return bind1(
        "slice",
        x,
        start=tuple(first if k == axis else 0 for k in axes),
        size=tuple(d // 2 if k == axis else d for k, d in enumerate(shape)),
        step=tuple(2 if k == axis else 1 for k in axes),
    )


def _apart(x: Any, axis: int) -> Any:
    """The parts of complex numbers as neighbours."""
    shape = shape_of(x)
    single = (*shape[: axis + 1], 1, *shape[axis + 1 :])
    parts = [bind1("reshape", p, shape=single) for p in (real(x), imag(x))]
    both = bind1("concatenate", *parts, axis=axis + 1)
    return bind1("reshape", both, shape=(*shape[:axis], 2 * shape[axis], *shape[axis + 1 :]))


def _by_chirp(x: Any, axis: int, scale: float, *, inverse: bool) -> Any:
    """The transforms along an axis of any length n: with c[j] = w^(j j / 2),
    y[k] = c[k] sum over j of (x[j] c[j]) / c[k - j], a convolution."""
    shape, kind = shape_of(x), dtype_of(x)
    n = shape[axis]
    size = _roomy(2 * n - 1)
    known = n <= FILTER
    if known:
        j = np.arange(n)
        cosine, sine = _factors(j * j % (2 * n), 2 * n, kind.real)
    else:
        k = _places(n)
        squares = remainder(multiply(k, k), 2 * n)
        cosine, sine = _many_factors(squares, 2 * n, 2 * n, kind.real)
    chirp = bind1("complex", cosine, sine if inverse else negative(sine))
    if known:
        spectrum = constant(_spectrum(n, size, kind, inverse))
    else:
        other = conj(chirp)
        empty = broadcast(constant(np.zeros((), kind.numpy)), (size - 2 * n + 1,))
        back = reverse(part(other, 0, 1, n - 1), (0,))
        spectrum = _op(bind1("concatenate", other, empty, back, axis=0), 0, 1.0, inverse=False)
    weights = _along(chirp, axis, shape)
    longer = _op(fitted(multiply(x, weights), axis, size), axis, 1.0, inverse=False)
    product = multiply(longer, _along(spectrum, axis, shape_of(longer)))
    found = part(_op(product, axis, scale / size, inverse=True), axis, 0, n)
    return multiply(found, weights)


def _roomy(least: int) -> int:
    """A length from `least` on that stages do fast."""
    odd = (1, 3, 5, 9, 15, 25)
    return min(f << max(-(-least // f) - 1, 15).bit_length() for f in odd)


@lru_cache(maxsize=16)
def _spectrum(n: int, size: int, dtype: DType, inverse: bool) -> Any:
    """The transform of 1 / c[j] for |j| < n."""
    j = np.arange(n)
    re, im = _definition().factors(j * j % (2 * n), 2 * n, dt.f64)
    line = np.zeros(size, np.complex128)
    line.real[:n], line.imag[:n] = re, im if inverse else 0 - im
    line[size - n + 1 :] = line[1:n][::-1]
    return _definition().transformed(line, 0, 1.0, inverse=False).astype(dtype.numpy)


def spectrum_of_real(x: Any, axis: int, scale: float) -> Any:
    """The first n // 2 + 1 elements of the transforms of n real numbers."""
    shape = shape_of(x)
    n = shape[axis]
    if n % 2:
        return part(
            transformed_lines(as_complex(x), axis, scale, inverse=False), axis, 0, n // 2 + 1
        )
    half = n // 2
    z = transformed_lines(x, axis, 1.0, inverse=False, pairs="in")
    z = bind1("concatenate", z, part(z, axis, 0, 1), axis=axis)
    back = reverse(z, (axis,))
    wide = shape_of(z)
    cosine, sine = (_along(t, axis, wide) for t in _turn(n, half + 1, dtype_of(x)))
    # With the sum e and the difference o of z[k] and the conjugate of z[half - k]: e - i w^k o.
    e = add(real(z), real(back)), subtract(imag(z), imag(back))
    o = subtract(real(z), real(back)), add(imag(z), imag(back))
    re = add(e[0], subtract(multiply(cosine, o[1]), multiply(sine, o[0])))
    im = subtract(e[1], add(multiply(sine, o[1]), multiply(cosine, o[0])))
    return bind1("complex", multiply(re, scale / 2), multiply(im, scale / 2))


def of_hermitian(x: Any, axis: int, n: int, scale: float) -> Any:
    """The n real numbers of which `x` has the first n // 2 + 1 elements of the inverse transform.
    The imaginary parts of the first, and of the last if n is even, count as zero."""
    x = fitted(x, axis, n // 2 + 1)
    if n % 2:
        first = part(x, axis, 0, 1)
        rest = part(x, axis, 1, n // 2)
        pieces = [as_complex(real(first)), rest]
        if n > 1:
            pieces.append(conj(reverse(rest, (axis,))))
        whole = bind1("concatenate", *pieces, axis=axis) if n > 1 else pieces[0]
        return real(transformed_lines(whole, axis, scale, inverse=True))
    half = n // 2
    front = part(x, axis, 0, half)
    back = part(reverse(x, (axis,)), axis, 0, half)
    lines = shape_of(front)
    cosine, sine = (_along(t, axis, lines) for t in _turn(n, half, dtype_of(x).real))
    end = equal(bind1("iota", shape=lines, axis=axis, dtype=dt.i64), 0)
    front_imag, back_imag = (where(end, 0, imag(y)) for y in (front, back))
    # With the sum e and the difference o of x[k] and the conjugate of x[half - k]: e + i o / w^k.
    e = add(real(front), real(back)), subtract(front_imag, back_imag)
    o = subtract(real(front), real(back)), add(front_imag, back_imag)
    re = subtract(e[0], add(multiply(sine, o[0]), multiply(cosine, o[1])))
    im = add(e[1], subtract(multiply(cosine, o[0]), multiply(sine, o[1])))
    z = bind1("complex", re, im)
    return transformed_lines(z, axis, scale, inverse=True, pairs="out")
