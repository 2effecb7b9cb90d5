"""dtypes by name, limits, and questions about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.errors import ArgumentError, DTypeError
from pyc.ir.dtype import DType
from pyc.numpy import choices
from pyc.numpy.core import dtype_of, result_dtype, to_dtype, value

bool_ = np.bool_
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64 = np.float16, np.float32, np.float64
complex64, complex128 = np.complex64, np.complex128

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int",),
    "unsigned integer": ("uint",),
    "integral": ("int", "uint"),
    "real floating": ("float",),
    "complex floating": ("complex",),
    "numeric": ("int", "uint", "float", "complex"),
}


def result_type(*items: Any) -> np.dtype[Any]:
    """The dtype that `items` promote to: arrays, dtypes and Python numbers.

    raises DTypeError: no numbers, another dtype, or no common one; ArgumentError: no items

    NumPy: `numpy.result_type`.

    >>> result_type("int8", "uint8")
    dtype('int16')
    """
    if not items:
        raise ArgumentError(
            "result_type: needs an array or a dtype at least", fix="Write `result_type(x)`."
        )
    values = []
    for x in items:
        is_type = isinstance(x, (type, np.dtype, str))
        values.append(np.zeros((), to_dtype(x).numpy) if is_type else value(x))
    return result_dtype(*values).numpy


def can_cast(source: Any, target: Any, casting: str = "safe") -> bool:
    """Whether every value of `source` (a dtype or an array) is kept by dtype `target`, or whether
    another rule of NumPy's allows the conversion.

    casting: "no", "equiv", "safe", "same_kind" or "unsafe"
    raises DTypeError: another dtype, or no numbers; ArgumentError: another casting

    NumPy: `numpy.can_cast`.

    >>> can_cast("int32", "float64")
    True
    """
    casting = choices.casting("can_cast", casting)
    is_type = isinstance(source, (type, np.dtype, str))
    kind = to_dtype(source) if is_type else result_dtype(value(source))
    return bool(np.can_cast(kind.numpy, to_dtype(target).numpy, casting))  # type: ignore[arg-type]


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind of the array API standard, is a dtype, or any of a tuple.

    kind: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex
    floating", "numeric", a dtype, or a tuple of these
    raises DTypeError: another dtype or kind

    NumPy: `numpy.isdtype`.

    >>> isdtype("int8", "integral")
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    found = to_dtype(dtype)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise DTypeError(f"isdtype: unknown kind {kind!r}")
        return found.kind in _KINDS[kind]
    return found is to_dtype(kind)


class FloatLimits:
    """Limits of a real float type, as Python's floats and integers: bits, eps, max, min,
    smallest_normal, dtype and the others of NumPy's `finfo`."""

    def __init__(self, limits: Any) -> None:
        self._limits = limits

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._limits, name)
        return float(found) if isinstance(found, np.generic) else found

    def __repr__(self) -> str:
        return repr(self._limits)


def finfo(dtype: Any) -> FloatLimits:
    """Limits of the float type `dtype`, of that of an array, or of the parts of a complex type.

    raises DTypeError: no dtype and no array; ArgumentError: a type of integers or bools

    NumPy: `numpy.finfo`.

    >>> finfo("float32").eps
    1.1920928955078125e-07
    """
    kind = _type_asked(dtype)
    if kind.kind not in ("float", "complex"):
        raise ArgumentError(f"finfo: {kind} is no float type", fix="Use `iinfo` for integers.")
    return FloatLimits(kind.real.limits)


def iinfo(dtype: Any) -> Any:
    """Limits of the integer type `dtype`, or of that of an array.

    raises DTypeError: no dtype and no array; ArgumentError: a type of floats, complex numbers or
    bools

    NumPy: `numpy.iinfo`.

    >>> iinfo("int8").max
    127
    """
    kind = _type_asked(dtype)
    if not kind.is_integer:
        raise ArgumentError(f"iinfo: {kind} is no integer type", fix="Use `finfo` for floats.")
    return np.iinfo(kind.numpy)


def _type_asked(x: Any) -> DType:
    """The type that a dtype is, or that an array has."""
    is_type = isinstance(x, (type, np.dtype, str, DType))
    return to_dtype(x) if is_type else dtype_of(value(x))
