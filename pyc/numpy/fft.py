"""`pyc.numpy.fft`: discrete Fourier transforms along any axes, with NumPy's signatures.

Here are arguments, types, norms and axes; the transforms of lines are in `fourier_lines`.

float32 and complex64 stay single, half types are computed in float32, all else in double precision.
An infinity or a NaN makes elements of its line NaN or infinite: which, is not NumPy's to say.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, DTypeError, OptionError, ZeroStepError
from pyc.forks import load
from pyc.interpreter import bind1, is_tracing
from pyc.ir import dtype as dt
from pyc.numpy import choices, pieces
from pyc.numpy.core import (
    axis_of,
    cast,
    constant,
    dtype_of,
    part,
    reverse,
    shape_of,
    structural,
    to_dtype,
    type_text,
)
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import (
    conj,
    divide,
    multiply,
)
from pyc.numpy.fourier_lines import (
    as_complex,
    fitted,
    of_hermitian,
    spectrum_of_real,
    transformed_lines,
)
from pyc.numpy.keywords import give_keywords
from pyc.numpy.logic import not_equal

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


# --- arguments ------------------------------------------------------------------------------------


def _scale(name: str, norm: str | None, n: int, *, inverse: bool) -> float:
    """What a transform of n elements is multiplied by."""
    if norm is not None:
        choices.text(name, "norm", norm, ("backward", "ortho", "forward"))
    if norm == "ortho":
        return 1 / sqrt(n)
    return 1 / n if inverse == (norm != "forward") else 1.0


def _length(name: str, n: Any, default: int) -> int:
    """The number of elements that are transformed."""
    if n is not None:
        default = choices.integer(name, "the length", n)
    if default < 1:
        raise ArgumentError(f"{name}: at least 1 element must be transformed, not {default}")
    return default


def _numbers(x: Any) -> Any:
    """`x` in a type that is transformed."""
    x = asarray(x)
    kind = dtype_of(x)
    if kind.is_complex or kind in (dt.f32, dt.f64):
        return x
    return cast(x, dt.f32 if kind.is_float else dt.f64)


def _real(name: str, x: Any) -> Any:
    x = asarray(x)
    if dtype_of(x).is_complex:
        raise DTypeError(
            f"{name}: needs real numbers, got {type_text(x)}",
            fix=f"Take the real part, `x.real`, or use `{name.replace('rfft', 'fft')}`.",
        )
    return _numbers(x)


def _one(name: str, a: Any, n: Any, axis: Any, norm: Any, *, inverse: bool) -> Any:
    """The transforms of real or complex numbers along an axis."""
    x = _numbers(a)
    place = axis_of(name, axis, len(shape_of(x)))
    size = _length(name, n, shape_of(x)[place])
    scale = _scale(name, norm, size, inverse=inverse)
    x = fitted(x, place, size)
    if dtype_of(x).is_complex or inverse or size % 2:
        return transformed_lines(as_complex(x), place, scale, inverse=inverse)
    found = spectrum_of_real(x, place, scale)
    rest = conj(reverse(part(found, place, 1, size // 2 - 1), (place,))) if size > 2 else None
    return found if rest is None else bind1("concatenate", found, rest, axis=place)


def fft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Any:
    """The discrete Fourier transforms along an axis.

    a: (..., m, ...), cut or filled up with zeros to n (default: m)  ->  (..., n, ...), complex
    norm: "backward" (no factor), "ortho" (1 / sqrt n) or "forward" (1 / n)
    dtype: complex64 for float16, bfloat16, float32 and complex64, else complex128
    raises ArgumentError: n < 1, or another norm; AxisError: no such axis; DTypeError: no numbers,
    or an n or axis that is no integer

    NumPy: `numpy.fft.fft`.

    >>> fft([1.0, 2.0])
    array([ 3.+0.j, -1.+0.j])
    """
    return _one("fft", a, n, axis, norm, inverse=False)


def ifft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse transforms along an axis.

    a: (..., m, ...), cut or filled up with zeros to n (default: m)  ->  (..., n, ...), complex
    norm: "backward" (1 / n), "ortho" (1 / sqrt n) or "forward" (no factor)
    dtype: complex64 for float16, bfloat16, float32 and complex64, else complex128
    raises ArgumentError: n < 1, or another norm; AxisError: no such axis; DTypeError: no numbers,
    or an n or axis that is no integer

    NumPy: `numpy.fft.ifft`.

    >>> ifft([3.0, -1.0])
    array([1.+0.j, 2.+0.j])
    """
    return _one("ifft", a, n, axis, norm, inverse=True)


def rfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Any:
    """The transforms of real numbers along an axis, less what follows by symmetry.

    a: (..., m, ...), cut or filled up with zeros to n (default: m)  ->  (..., n // 2 + 1, ...),
    complex norm: "backward" (no factor), "ortho" (1 / sqrt n) or "forward" (1 / n)
    dtype: complex64 for float16, bfloat16, float32 and complex64, else complex128
    raises ArgumentError: n < 1, or another norm; AxisError: no such axis; DTypeError: complex
    numbers, or an n or axis that is no integer

    NumPy: `numpy.fft.rfft`.

    >>> rfft([1.0, 2.0, 3.0, 2.0])
    array([ 8.+0.j, -2.+0.j,  0.+0.j])
    """
    x = _real("rfft", a)
    place = axis_of("rfft", axis, len(shape_of(x)))
    size = _length("rfft", n, shape_of(x)[place])
    scale = _scale("rfft", norm, size, inverse=False)
    return spectrum_of_real(fitted(x, place, size), place, scale)


def irfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Any:
    """The real numbers whose `rfft` is `a`.

    a: (..., m, ...), cut or filled up with zeros to n // 2 + 1  ->  (..., n, ...), by default
    n = 2 (m - 1)
    norm: "backward" (1 / n), "ortho" (1 / sqrt n) or "forward" (no factor)
    dtype: float32 for bfloat16, float32 and complex64, float16 for float16, else float64
    raises ArgumentError: n < 1, or another norm; AxisError: no such axis; DTypeError: no numbers,
    or an n or axis that is no integer

    NumPy: `numpy.fft.irfft`.

    >>> irfft([3.0, -1.0])
    array([1., 2.])
    """
    given = asarray(a)
    x = as_complex(_numbers(given))
    place = axis_of("irfft", axis, len(shape_of(x)))
    size = _length("irfft", n, 2 * (shape_of(x)[place] - 1))
    scale = _scale("irfft", norm, size, inverse=True)
    found = of_hermitian(x, place, size, scale)
    return cast(found, dt.f16) if dtype_of(given) is dt.f16 else found  # as NumPy rounds it


def hfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Any:
    """The transforms of numbers that are symmetric about 0 (conjugates of each other), of which `a`
    has the first half; they are real.

    a: (..., m, ...), cut or filled up with zeros to n // 2 + 1  ->  (..., n, ...), by default
    n = 2 (m - 1)
    norm: "backward" (no factor), "ortho" (1 / sqrt n) or "forward" (1 / n)
    dtype: float32 for bfloat16, float32 and complex64, float16 for float16, else float64
    raises ArgumentError: n < 1, or another norm; AxisError: no such axis; DTypeError: no numbers,
    or an n or axis that is no integer

    NumPy: `numpy.fft.hfft`.

    >>> hfft([3.0, -1.0])
    array([2., 4.])
    """
    x = asarray(a)
    return irfft(conj(x) if dtype_of(x).is_complex else x, n, axis, _other(norm))


def ihfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `hfft`: n // 2 + 1 numbers of n real ones.

    a: (..., m, ...), cut or filled up with zeros to n (default: m)  ->  (..., n // 2 + 1, ...),
    complex norm: "backward" (1 / n), "ortho" (1 / sqrt n) or "forward" (no factor)
    dtype: complex64 for float16, bfloat16, float32 and complex64, else complex128
    raises ArgumentError: n < 1, or another norm; AxisError: no such axis; DTypeError: complex
    numbers, or an n or axis that is no integer

    NumPy: `numpy.fft.ihfft`.

    >>> ihfft([1.0, 2.0])
    array([ 1.5-0.j, -0.5-0.j])
    """
    return conj(rfft(_real("ihfft", a), n, axis, _other(norm)))


def _other(norm: str | None) -> str | None:
    """The norm of the inverse transform that has the factor of this one."""
    return {None: "forward", "backward": "forward", "forward": "backward"}.get(norm, norm)


# --- several axes ---------------------------------------------------------------------------------


def _axes(name: str, x: Any, s: Any, axes: Any, *, halved: bool = False) -> list[tuple[int, int]]:
    """Axes and lengths as NumPy takes them: those of `axes`, or the last ones, or all. halved: the
    last axis holds half of the elements."""
    shape = shape_of(x)
    lengths = None if s is None else _listed(name, "s", s)
    if axes is None:
        places = list(range(len(shape)) if lengths is None else range(-len(lengths), 0))
    else:
        places = _listed(name, "axes", axes)
    if lengths is None:
        lengths = [-1] * len(places)
        if halved and places:
            last = shape[axis_of(name, places[-1], len(shape))]
            lengths[-1] = 2 * (last - 1)
    if len(lengths) != len(places):
        raise ArgumentError(f"{name}: s has {len(lengths)} elements, axes {len(places)}")
    found = []
    for axis, n in zip(places, lengths, strict=True):
        place = axis_of(name, axis, len(shape))
        found.append((place, _length(name, shape[place] if n == -1 else n, 0)))
    return found


def _listed(name: str, what: str, numbers: Any) -> list[Any]:
    found = structural(numbers)
    if not isinstance(found, (tuple, list, range)):
        raise OptionError(f"{name}: `{what}` is a sequence of integers, got {found!r}")
    return list(found)


def _many(name: str, a: Any, s: Any, axes: Any, norm: Any, *, inverse: bool) -> Any:
    x = asarray(a)
    for place, n in reversed(_axes(name, x, s, axes)):
        x = _one(name, x, n, place, norm, inverse=inverse)
    return x


def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The transforms along several axes, the last of them first.

    a: any shape  ->  complex, of lengths s; without axes `a` itself
    s: a length for each axis, to which it is cut or filled up with zeros, -1 for all elements;
    axes: all, or as many of the last ones as s has
    norm: "backward" (no factor), "ortho" (1 / sqrt n) or "forward" (1 / n), n the product of all
    dtype: complex64 for float16, bfloat16, float32 and complex64, else complex128
    raises ArgumentError: fewer than 1 element, another norm, or another number of lengths than
    axes; AxisError: no such axis; DTypeError: no numbers, or lengths and axes that are no integers
    in a list

    NumPy: `numpy.fft.fftn`.

    >>> fftn([[1, 2], [3, 4]])
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]])
    """
    return _many("fftn", a, s, axes, norm, inverse=False)


def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The inverse transforms along several axes, the last of them first.

    a: any shape  ->  complex, of lengths s; without axes `a` itself
    s: a length for each axis, to which it is cut or filled up with zeros, -1 for all elements;
    axes: all, or as many of the last ones as s has
    norm: "backward" (1 / n), "ortho" (1 / sqrt n) or "forward" (no factor), n the product of all
    dtype: complex64 for float16, bfloat16, float32 and complex64, else complex128
    raises ArgumentError: fewer than 1 element, another norm, or another number of lengths than
    axes; AxisError: no such axis; DTypeError: no numbers, or lengths and axes that are no integers
    in a list

    NumPy: `numpy.fft.ifftn`.

    >>> ifftn([[1, 2], [3, 4]])
    array([[ 2.5+0.j, -0.5+0.j],
           [-1. +0.j,  0. +0.j]])
    """
    return _many("ifftn", a, s, axes, norm, inverse=True)


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The transforms of real numbers along several axes: `rfft` along the last, then `fft`.

    a: any shape  ->  complex, of lengths s, that of the last axis n // 2 + 1
    s: a length for each axis, to which it is cut or filled up with zeros, -1 for all elements;
    axes: all, or as many of the last ones as s has, at least one
    norm: "backward" (no factor), "ortho" (1 / sqrt n) or "forward" (1 / n), n the product of all
    dtype: complex64 for float16, bfloat16, float32 and complex64, else complex128
    raises ArgumentError: fewer than 1 element, another norm, or another number of lengths than
    axes; AxisError: no such axis; DTypeError: complex numbers, or lengths and axes that are no
    integers in a list

    NumPy: `numpy.fft.rfftn`.

    >>> rfftn([[1, 2], [3, 4]])
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]])
    """
    x = _real("rfftn", a)
    found = _axes("rfftn", x, s, axes)
    if not found:
        raise ArgumentError("rfftn: at least one axis must be transformed")
    *others, (place, n) = found
    x = rfft(x, n, place, norm)
    for axis, size in reversed(others):
        x = _one("rfftn", x, size, axis, norm, inverse=False)
    return x


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The inverse of `rfftn`: `ifft` along all axes but the last, then `irfft`.

    a: any shape  ->  real, of lengths s, by default that of the last axis is 2 (m - 1)
    s: a length of the result for each axis, -1 for that of `a`; axes: all, or as many of the last
    ones as s has, at least one
    norm: "backward" (1 / n), "ortho" (1 / sqrt n) or "forward" (no factor), n the product of all
    dtype: float32 for float16, bfloat16, float32 and complex64, else float64; float16 for float16
    along one axis
    raises ArgumentError: fewer than 1 element, another norm, or another number of lengths than
    axes; AxisError: no such axis; DTypeError: no numbers, or lengths and axes that are no integers
    in a list

    NumPy: `numpy.fft.irfftn`.

    >>> irfftn([[10.0, -2.0], [-4.0, 0.0]])
    array([[1., 2.],
           [3., 4.]])
    """
    x = asarray(a)
    found = _axes("irfftn", x, s, axes, halved=True)
    if not found:
        raise ArgumentError("irfftn: at least one axis must be transformed")
    *others, (place, n) = found
    for axis, size in others:
        x = _one("irfftn", x, size, axis, norm, inverse=True)
    return irfft(x, n, place, norm)


def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    """`fftn` along two axes.

    a: (..., m, k)  ->  (..., *s), complex
    s: two lengths, -1 for all elements; axes: two of them, by default the last ones
    norm: "backward" (no factor), "ortho" (1 / sqrt n) or "forward" (1 / n), n the product of both
    dtype: complex64 for float16, bfloat16, float32 and complex64, else complex128
    raises ArgumentError: fewer than 1 element, another norm, or another number of lengths than
    axes; AxisError: no such axis; DTypeError: no numbers, or lengths and axes that are no integers
    in a list

    NumPy: `numpy.fft.fft2`.

    >>> fft2([[1, 2], [3, 4]])
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]])
    """
    return fftn(a, s, axes, norm)


def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    """`ifftn` along two axes.

    a: (..., m, k)  ->  (..., *s), complex
    s: two lengths, -1 for all elements; axes: two of them, by default the last ones
    norm: "backward" (1 / n), "ortho" (1 / sqrt n) or "forward" (no factor), n the product of both
    dtype: complex64 for float16, bfloat16, float32 and complex64, else complex128
    raises ArgumentError: fewer than 1 element, another norm, or another number of lengths than
    axes; AxisError: no such axis; DTypeError: no numbers, or lengths and axes that are no integers
    in a list

    NumPy: `numpy.fft.ifft2`.

    >>> ifft2([[1, 2], [3, 4]])
    array([[ 2.5+0.j, -0.5+0.j],
           [-1. +0.j,  0. +0.j]])
    """
    return ifftn(a, s, axes, norm)


def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    """`rfftn` along two axes.

    a: (..., m, k)  ->  (..., s[0], s[1] // 2 + 1), complex
    s: two lengths, -1 for all elements; axes: two of them, by default the last ones
    norm: "backward" (no factor), "ortho" (1 / sqrt n) or "forward" (1 / n), n the product of both
    dtype: complex64 for float16, bfloat16, float32 and complex64, else complex128
    raises ArgumentError: fewer than 1 element, another norm, or another number of lengths than
    axes; AxisError: no such axis; DTypeError: complex numbers, or lengths and axes that are no
    integers in a list

    NumPy: `numpy.fft.rfft2`.

    >>> rfft2([[1, 2], [3, 4]])
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]])
    """
    return rfftn(a, s, axes, norm)


def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    """`irfftn` along two axes.

    a: (..., m, k)  ->  (..., *s), real, by default (..., m, 2 (k - 1))
    s: two lengths, -1 for all elements; axes: two of them, by default the last ones
    norm: "backward" (1 / n), "ortho" (1 / sqrt n) or "forward" (no factor), n the product of both
    dtype: float32 for float16, bfloat16, float32 and complex64, else float64
    raises ArgumentError: fewer than 1 element, another norm, or another number of lengths than
    axes; AxisError: no such axis; DTypeError: no numbers, or lengths and axes that are no integers
    in a list

    NumPy: `numpy.fft.irfft2`.

    >>> irfft2([[10.0, -2.0], [-4.0, 0.0]])
    array([[1., 2.],
           [3., 4.]])
    """
    return irfftn(a, s, axes, norm)


# --- frequencies ----------------------------------------------------------------------------------


def _count(name: str, n: Any) -> int:
    try:
        count = operator.index(structural(n))
    except TypeError:
        raise ArgumentError(f"{name}: n should be an integer, got {n!r}") from None
    if count < 1:
        raise ArgumentError(f"{name}: n is a number of samples, 1 or more, got {count}")
    return count


def fftfreq(n: Any, d: Any = 1.0, *, dtype: Any = None) -> Any:
    """The frequencies of the elements of an `fft` of n samples, d apart: 0, 1 ... -1 over n d.

    n: int  ->  (n,); d: a number that is not 0, which may be traced
    dtype: of the result, float64 by default; device: where the result is, outside of a trace
    raises ArgumentError: n < 1, no integer, or a d of 0; DTypeError: several d, d complex or no
    number, or a dtype that is not supported; DeviceError: no such device; UnsupportedOpError: a
    device in a trace

    NumPy: `numpy.fft.fftfreq`.

    >>> fftfreq(4)
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    count = _count("fftfreq", n)
    numbers = np.concatenate([np.arange((count - 1) // 2 + 1), np.arange(-(count // 2), 0)])
    return _frequencies("fftfreq", numbers, count, d, dtype)


def rfftfreq(n: Any, d: Any = 1.0, *, dtype: Any = None) -> Any:
    """The frequencies of the elements of an `rfft`: 0, 1 ... n // 2 over n d.

    n: int  ->  (n // 2 + 1,); d: a number, which may be traced; 0 gives infinities (NumPy:
    ZeroDivisionError)
    dtype: of the result, float64 by default; device: where the result is, outside of a trace
    raises ArgumentError: n < 1, no integer, or a d of 0; DTypeError: several d, d complex or no
    number, or a dtype that is not supported; DeviceError: no such device; UnsupportedOpError: a
    device in a trace

    NumPy: `numpy.fft.rfftfreq`.

    >>> rfftfreq(4)
    array([0.  , 0.25, 0.5 ])
    """
    count = _count("rfftfreq", n)
    return _frequencies("rfftfreq", np.arange(count // 2 + 1), count, d, dtype)


def _frequencies(name: str, numbers: Any, n: int, d: Any, dtype: Any) -> Any:
    choices.one(name, "d", d)
    error = ZeroStepError(f"{name}: samples that are 0 apart have no frequencies")
    if type(d) not in (int, float):
        load("pyc.trace.raising").check(not_equal(d, 0), error)
    elif not d:
        raise error
    if not is_tracing() and type(d) in (int, float):  # known: no program is compiled for it
        with np.errstate(all="ignore"):
            known = numbers * (1.0 / (np.float64(d) * float(n)))
            return constant(known.astype(np.float64 if dtype is None else to_dtype(dtype).numpy))
    found = multiply(constant(numbers), divide(1.0, multiply(d, float(n))))
    return cast(found, dt.f64 if dtype is None else to_dtype(dtype))


def fftshift(x: Any, axes: Any = None) -> Any:
    """`x` rolled so that frequency 0 comes to the middle.

    x: any shape and dtype  ->  the same; axes: one or several, all by default
    raises AxisError: no such axis; DTypeError: no numbers, or an axis that is no integer

    NumPy: `numpy.fft.fftshift`.

    >>> fftshift([0, 1, -2, -1])
    array([-2, -1,  0,  1])
    """
    return _shifted("fftshift", x, axes, lambda n: n // 2)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of `fftshift`.

    x: any shape and dtype  ->  the same; axes: one or several, all by default
    raises AxisError: no such axis; DTypeError: no numbers, or an axis that is no integer

    NumPy: `numpy.fft.ifftshift`.

    >>> ifftshift([-2, -1, 0, 1])
    array([ 0,  1, -2, -1])
    """
    return _shifted("ifftshift", x, axes, lambda n: -(n // 2))


def _shifted(name: str, x: Any, axes: Any, shift: Callable[[int], int]) -> Any:
    x = asarray(x)
    shape = shape_of(x)
    given = structural(axes)
    places = (
        range(len(shape))
        if given is None
        else given
        if isinstance(given, (tuple, list))
        else (given,)
    )
    found = tuple(axis_of(name, a, len(shape)) for a in places)
    return pieces.roll(x, tuple(shift(shape[a]) for a in found), found)


give_keywords(globals(), __all__, np.fft, "fft.")
