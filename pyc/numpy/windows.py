"""Windows: lines of weights that fall off towards both ends, in float64; and the Bessel function
that one of them is made of."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, ConcretizationError, DTypeError, ShapeError
from pyc.interpreter import bind1, is_number, is_tracing
from pyc.ir import dtype as dt
from pyc.numpy.core import (
    broadcast,
    cast,
    constant,
    dtype_of,
    literal,
    shape_of,
    structural,
    type_text,
)
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import add, divide, multiply
from pyc.numpy.on_device import together
from pyc.numpy.transcendental import cos

__all__ = ["bartlett", "blackman", "hamming", "hanning", "i0", "kaiser"]


def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 0.

    x: any shape, real  ->  the same shape; dtype: that of x, integers and bools as float64
    raises DTypeError: complex numbers, or no numbers

    NumPy: `numpy.i0`.

    >>> float(i0(0))
    1.0
    """
    x = asarray(x)
    kind = dtype_of(x)
    if kind.is_complex:
        raise DTypeError(f"i0: complex numbers are not supported, got {type_text(x)}")
    return bind1("i0", x if kind.is_float else cast(x, dt.f64))


def _number(name: str, count: Any) -> float:
    """M, the number of points of a window."""
    size = structural(count)
    if hasattr(size, "type"):
        raise ConcretizationError(
            f"{name}: the number of points must be known while tracing",
            fix="Pass it as a Python integer, or make it a static argument.",
        )
    if not is_number(size) or isinstance(size, complex):
        raise DTypeError(f"{name}: the number of points must be a real number, got {size!r}")
    if not abs(size) < 2**62:
        raise ArgumentError(
            f"{name}: no window has {size!r} points", fix="Give the length of the array."
        )
    return float(size)


def _points(name: str, count: Any) -> tuple[Any, float]:
    """(n, M - 1) for the points n = 1 - M, 3 - M, ..., M - 1 of a window of M points, for M < 1
    none."""
    size = _number(name, count)
    return np.arange(1 - size, size if size >= 1 else 1 - size, 2), size - 1


def _cosines(name: str, count: Any, *weights: float) -> Any:
    """The sum of the weights times cos(k pi n / (M - 1)), k = 0, 1, ..."""
    points, length = _points(name, count)
    if not points.size or not length:
        return broadcast(literal(1, dt.f64), points.shape)
    angle = points * (pi / length)
    return together(_weighted_cosines, constant(angle) if is_tracing() else angle, *weights)


def _weighted_cosines(angle: Any, first: Any, *weights: Any) -> Any:
    """first + the sum of the weights times cos(k angle), k = 1, 2, ..."""
    found = first
    for k, weight in enumerate(weights, 1):
        found = add(found, multiply(weight, cos(multiply(float(k), angle))))
    return found


def hanning(M: int) -> Any:
    """The Hann window: 0.5 + 0.5 cos(pi n / (M - 1)) for n = 1 - M, 3 - M, ..., M - 1.

    M: int  ->  (M,), float64; empty for M < 1
    raises ConcretizationError: M is traced; DTypeError: M is no real number; ArgumentError: it is
    beyond every array, or NaN

    NumPy: `numpy.hanning`.

    >>> hanning(3).tolist()
    [0.0, 1.0, 0.0]
    """
    return _cosines("hanning", M, 0.5, 0.5)


def hamming(M: int) -> Any:
    """The Hamming window: 0.54 + 0.46 cos(pi n / (M - 1)) for n = 1 - M, 3 - M, ..., M - 1.

    M: int  ->  (M,), float64; empty for M < 1
    raises ConcretizationError: M is traced; DTypeError: M is no real number; ArgumentError: it is
    beyond every array, or NaN

    NumPy: `numpy.hamming`.

    >>> hamming(1).tolist()
    [1.0]
    """
    return _cosines("hamming", M, 0.54, 0.46)


def blackman(M: int) -> Any:
    """The Blackman window: 0.42 + 0.5 cos(t) + 0.08 cos(2 t), t = pi n / (M - 1), for n = 1 - M,
    3 - M, ..., M - 1.

    M: int  ->  (M,), float64; empty for M < 1
    raises ConcretizationError: M is traced; DTypeError: M is no real number; ArgumentError: it is
    beyond every array, or NaN

    NumPy: `numpy.blackman`.

    >>> round(float(blackman(5)[1]), 3)
    0.34
    """
    return _cosines("blackman", M, 0.42, 0.5, 0.08)


def bartlett(M: int) -> Any:
    """The triangle with zeros at its ends.

    M: int, the number of points  ->  (M,), float64; empty for M < 1
    raises ConcretizationError: M is traced; DTypeError: M is no real number; ArgumentError: it is
    beyond every array, or NaN

    NumPy: `numpy.bartlett`.

    >>> bartlett(5).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    points, length = _points("bartlett", M)
    if not points.size or not length:
        return broadcast(literal(1, dt.f64), points.shape)
    return constant(1 - np.abs(points) / length)


def kaiser(M: int, beta: Any) -> Any:
    """The Kaiser window: i0(beta sqrt(1 - (n / (M - 1))^2)) / i0(beta) for n = 1 - M, ..., M - 1.

    M: int  ->  (M,), float64; empty for M = 0; beta: a number, which may be traced
    raises ConcretizationError: M is traced; ShapeError: several `beta`; DTypeError: M is no real
    number, or beta complex

    NumPy: `numpy.kaiser`.

    >>> kaiser(3, 0.0).tolist()
    [1.0, 1.0, 1.0]
    """
    size = _number("kaiser", M)
    shape = cast(asarray(beta), dt.f64)
    if shape_of(shape):
        raise ShapeError(f"kaiser: `beta` is one number, got {type_text(shape)}")
    points, half = np.arange(size), (size - 1) / 2
    if not points.size or not half:
        return broadcast(literal(1, dt.f64), points.shape)
    with np.errstate(invalid="ignore"):  # beyond the ends, where M is no integer
        height = constant(np.sqrt(1 - ((points - half) / half) ** 2))
    return together(_i0_over_its_largest, shape, height)


def _i0_over_its_largest(shape: Any, height: Any) -> Any:
    """i0(shape height) / i0(shape)."""
    return divide(i0(multiply(shape, height)), i0(shape))
