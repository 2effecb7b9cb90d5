"""dtypes by name, limits, and questions about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.errors import DTypeError
from pyc.ir.dtype import DType
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
    """The dtype that arrays, dtypes and Python numbers promote to.

    NumPy: `numpy.result_type`.

    >>> result_type("int8", "uint8")
    dtype('int16')
    """
    values = []
    for x in items:
        is_type = isinstance(x, (type, np.dtype, str))
        values.append(np.zeros((), to_dtype(x).numpy) if is_type else value(x))
    return result_dtype(*values).numpy


def can_cast(source: Any, target: Any, casting: str = "safe") -> bool:
    """Whether every value of `source` (a dtype or an array) is kept by dtype `target`, or whether
    another rule of NumPy's allows the conversion.

    NumPy: `numpy.can_cast`.

    >>> can_cast("int32", "float64")
    True
    """
    is_type = isinstance(source, (type, np.dtype, str))
    kind = to_dtype(source) if is_type else result_dtype(value(source))
    return bool(np.can_cast(kind.numpy, to_dtype(target).numpy, casting))  # type: ignore[arg-type]


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind of the array API standard, is a dtype, or any of a tuple.

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
    """Limits of a float type, of that of an array, or of the parts of a complex type.

    NumPy: `numpy.finfo`.

    >>> finfo("float32").eps
    1.1920928955078125e-07
    """
    return FloatLimits(_type_asked(dtype).real.limits)


def iinfo(dtype: Any) -> Any:
    """Limits of an integer type, or of that of an array.

    NumPy: `numpy.iinfo`.

    >>> iinfo("int8").max
    127
    """
    return np.iinfo(_type_asked(dtype).numpy)


def _type_asked(x: Any) -> DType:
    """The type that a dtype is, or that an array has."""
    is_type = isinstance(x, (type, np.dtype, str, DType))
    return to_dtype(x) if is_type else dtype_of(value(x))
