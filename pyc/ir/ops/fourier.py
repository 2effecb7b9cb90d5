"""Discrete Fourier transforms, in the order of `ir/fourier.py`.

fft(x; axis, inverse, scale, real): the transforms along an axis, times a scale. The length is one
that stages can do (`fourier.is_smooth`); `pyc.numpy.fft` makes others of these. real: "" of complex
numbers; "in": pairs of neighbours along the axis of a real x are the complex numbers, half as many;
"out": the real and imaginary parts of the results are neighbours, twice as many.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from pyc.errors import DTypeError, ShapeError
from pyc.forks import load
from pyc.ir import dtype as dt
from pyc.ir.op import Kind, Op, Types, define
from pyc.ir.types import ArrayType

Array = np.ndarray[Any, Any]


def transform_types(
    args: Types, *, axis: int, inverse: bool, scale: float, real: str
) -> tuple[ArrayType, ArrayType]:
    """The types of the complex numbers that are transformed, and of the results.

    raises ShapeError: no such axis, a length that stages cannot do, an odd one of pairs, or a long
    one that is not along the last axis; DTypeError: other numbers
    """
    (x,) = args
    if not 0 <= axis < x.rank:
        raise ShapeError(f"fft: {x} has no axis {axis}")
    shape, dtype = list(x.shape), x.dtype
    if real == "in" and dtype in (dt.f32, dt.f64):
        if shape[axis] % 2:
            raise ShapeError(f"fft: pairs of neighbours need an even length, got {x}")
        shape[axis] //= 2
        dtype = dt.c64 if dtype is dt.f32 else dt.c128
    elif real == "in" or not dtype.is_complex:
        wanted = "float32 or float64" if real == "in" else "complex numbers"
        raise DTypeError(f"fft: needs {wanted}, got {x}")
    fourier = load("pyc.ir.fourier")  # programs without transforms do not
    if not fourier.is_smooth(shape[axis]):
        raise ShapeError(f"fft: a length of {shape[axis]} is 0 or has a prime beyond 13")
    if real and shape[axis] > fourier.LINE and prod(shape[axis + 1 :]) > 1:
        raise ShapeError(f"fft: pairs of long lines are taken along the last axis only, got {x}")
    taken = ArrayType(tuple(shape), dtype)
    if real != "out":
        return taken, taken
    shape[axis] *= 2
    return taken, ArrayType(tuple(shape), dtype.real)


def _types(args: Types, *, axis: int, inverse: bool, scale: float, real: str) -> Types:
    _, out = transform_types(args, axis=axis, inverse=inverse, scale=scale, real=real)
    return (out,)


def _paired(x: Array, axis: int) -> Array:
    """Pairs of real numbers along an axis as complex ones."""
    lines = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    found = lines.view(np.result_type(x.dtype, np.complex64))
    return np.moveaxis(found, -1, axis)


def _unpaired(x: Array, axis: int) -> Array:
    lines = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    return np.ascontiguousarray(np.moveaxis(lines.view(x.real.dtype), -1, axis))


def _reference(x: Array, *, axis: int, inverse: bool, scale: float, real: str) -> Array:
    if real == "in":
        x = _paired(x, axis)
    found: Array = load("pyc.ir.fourier").transformed(x, axis, scale, inverse=inverse)
    return _unpaired(found, axis) if real == "out" else found


def _batch(batch: Any, args: Any, *, axis: int, **params: Any) -> Any:
    (x,) = args
    lanes = 0 if x.axis is None else x.axis
    along = axis + (lanes <= axis)
    found = batch.bind(batch.op, batch.at(x, lanes), axis=along, **params)
    return [batch.operand(v, lanes) for v in found]


define(
    Op(
        "fft",
        Kind.KERNEL,
        _types,
        reference=_reference,
        batch=_batch,
        kinds="float complex",
    )
)
