"""What is known of arrays without their elements, types of NumPy by name, and arrays of what Python
and its buffers hold."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, DTypeError
from pyc.interpreter import current, is_number
from pyc.ir import dtype as dt
from pyc.numpy.core import axes_of, constant, dtype_of, shape_of, to_dtype, value
from pyc.numpy.creation import asarray
from pyc.numpy.factorisations import finite
from pyc.numpy.linear_algebra import contraction_path
from pyc.numpy.manipulation import atleast_1d

__all__ = [
    *("asanyarray", "asarray_chkfinite", "asfortranarray", "common_type", "einsum_path"),
    *("euler_gamma", "False_", "frombuffer", "fromiter", "fromstring", "index_exp"),
    *("iscomplexobj", "isrealobj", "isscalar", "issubdtype", "iterable", "min_scalar_type"),
    *("ndim", "promote_types", "require", "s_", "shape", "size", "True_"),
]

euler_gamma = np.euler_gamma
False_, True_ = np.False_, np.True_
index_exp, s_ = np.index_exp, np.s_


# --- shapes and types -----------------------------------------------------------------------------


def shape(a: Any) -> tuple[int, ...]:
    """The extents of the axes. NumPy: `numpy.shape`.

    >>> shape([[1, 2, 3]])
    (1, 3)
    """
    return shape_of(value(a))


def ndim(a: Any) -> int:
    """The number of axes. NumPy: `numpy.ndim`.

    >>> ndim([[1, 2, 3]])
    2
    """
    return len(shape_of(value(a)))


def size(a: Any, axis: Any = None) -> int:
    """The number of elements, or of those along an axis or several. NumPy: `numpy.size`.

    raises AxisError: there is no such axis

    >>> size([[1, 2, 3]]), size([[1, 2, 3]], 1)
    (3, 3)
    """
    found = shape_of(value(a))
    return prod(found[k] for k in axes_of("size", axis, len(found)))


def iscomplexobj(x: Any) -> bool:
    """Whether the type is complex. NumPy: `numpy.iscomplexobj`.

    >>> iscomplexobj([1j, 0])
    True
    """
    return dtype_of(value(x)).is_complex


def isrealobj(x: Any) -> bool:
    """Whether the type is not complex. NumPy: `numpy.isrealobj`.

    >>> isrealobj([1.0])
    True
    """
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether something is a number, a text or another scalar of Python or NumPy, and no array, of
    rank 0 neither. NumPy: `numpy.isscalar`.

    >>> isscalar(1.5), isscalar([1.5])
    (True, False)
    """
    if hasattr(element, "is_known_array"):  # a traced value
        return not element.is_known_array
    return bool(np.isscalar(element))


def iterable(y: Any) -> bool:
    """Whether something can be iterated over. NumPy: `numpy.iterable`.

    >>> iterable([1]), iterable(1)
    (True, False)
    """
    if hasattr(y, "type") and hasattr(y, "shape"):
        return bool(y.shape)
    return bool(np.iterable(y))


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a type is below another one in NumPy's tree of types. NumPy: `numpy.issubdtype`.

    >>> issubdtype(np.float32, np.floating)
    True
    """
    return bool(np.issubdtype(arg1, arg2))


def promote_types(type1: Any, type2: Any) -> np.dtype[Any]:
    """The smallest type that two types lead to. NumPy: `numpy.promote_types`.

    raises DTypeError: a type that pyc does not have, or types that have no common one

    >>> promote_types("int8", "float16")
    dtype('float16')
    """
    first, second = to_dtype(type1), to_dtype(type2)
    try:
        return dt.promote(first, second).numpy
    except TypeError:
        raise DTypeError(f"promote_types: {first} and {second} have no common type") from None


def common_type(*arrays: Any) -> type[Any]:
    """The float type that holds the elements of arrays; float64 for integers. NumPy:
    `numpy.common_type`.

    raises DTypeError: bools

    >>> common_type(np.float32([1]), [2])
    <class 'numpy.float64'>
    """
    kinds = [dtype_of(value(x)) for x in arrays]
    if dt.b1 in kinds:
        raise DTypeError("common_type: bools have no common float type")
    floats = [dt.f64 if kind.is_integer else kind for kind in kinds]
    return dt.promote(dt.f16, *floats).numpy.type


def min_scalar_type(a: Any) -> np.dtype[Any]:
    """The smallest type that holds a number; the type of an array. NumPy: `numpy.min_scalar_type`.

    >>> min_scalar_type(300)
    dtype('uint16')
    """
    return np.min_scalar_type(a) if is_number(a) else dtype_of(value(a)).numpy


def einsum_path(subscripts: Any, *operands: Any, optimize: Any = "greedy") -> tuple[Any, str]:
    """The order of pairs in which `einsum` multiplies operands of these shapes, and a text that
    tells the cost. NumPy: `numpy.einsum_path`.

    >>> einsum_path("ij,jk,kl->il", np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 5)))[0]
    ['einsum_path', (1, 2), (0, 1)]
    """
    return contraction_path(subscripts, operands, optimize)


# --- arrays ---------------------------------------------------------------------------------------


def asanyarray(a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None) -> Any:
    """`asarray`: there are no classes of arrays. NumPy: `numpy.asanyarray`.

    >>> asanyarray([1, 2]).tolist()
    [1, 2]
    """
    del order
    return asarray(a, dtype, copy=copy)


def asfortranarray(a: Any, dtype: Any = None) -> Any:
    """`a` with one axis or more; arrays lie by rows, whatever is asked for. NumPy:
    `numpy.asfortranarray`.

    >>> asfortranarray(1).tolist()
    [1]
    """
    x = asarray(a)
    found = atleast_1d(asarray(x, dtype))
    return found if len(shape_of(x)) <= 1 else current().alias(found, x)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """`asarray` of what has no NaN and no infinity. NumPy: `numpy.asarray_chkfinite`.

    raises LinearAlgebraError, a ValueError, when the program runs: it has

    >>> asarray_chkfinite([1.0, 2.0]).tolist()
    [1.0, 2.0]
    """
    del order
    found = asarray(a, dtype)
    if dtype_of(found).is_float or dtype_of(found).is_complex:
        finite("asarray_chkfinite", found)
    return found


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """`asarray`; what is required of the memory of arrays is so, or cannot be told from their
    values. It may share the memory of `a`. NumPy: `numpy.require`.

    raises ArgumentError: an unknown requirement

    >>> require([1, 2], np.float32, ["C"]).dtype
    dtype('float32')
    """
    del like
    given = [requirements] if isinstance(requirements, str) else list(requirements or ())
    unknown = [each for each in given if str(each).upper() not in _REQUIREMENTS]
    if unknown:
        raise ArgumentError(
            f"require: there is no requirement {unknown[0]!r}", fix="Use 'C', 'F', 'A', 'W' or 'O'."
        )
    x = asarray(a)
    found = asarray(x, dtype)
    return current().alias(found, x) if given else found


_REQUIREMENTS = (
    *("C", "C_CONTIGUOUS", "CONTIGUOUS", "F", "F_CONTIGUOUS", "FORTRAN", "A", "ALIGNED"),
    *("W", "WRITEABLE", "O", "OWNDATA", "E", "ENSUREARRAY"),
)


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1) -> Any:
    """A line of the items of an iterable, all or the first `count`. NumPy: `numpy.fromiter`.

    raises ArgumentError: fewer items than `count`

    >>> fromiter((k * k for k in range(4)), np.int64).tolist()
    [0, 1, 4, 9]
    """
    items: list[Any] = []
    for item in iter:
        if len(items) == count:
            break
        items.append(item)
    if len(items) < count:
        raise ArgumentError(
            f"fromiter: {len(items)} items, and {count} are asked for",
            fix="Leave `count` out to take as many as there are.",
        )
    return asarray(items, dtype)


def frombuffer(buffer: Any, dtype: Any = np.float64, count: int = -1, offset: int = 0) -> Any:
    """A line of the numbers in the memory of an object such as `bytes`, copied. NumPy:
    `numpy.frombuffer`, which shares the memory.

    raises DTypeError: a type that pyc does not have; ValueError: a buffer of another size

    >>> frombuffer(bytes([1, 2]), np.uint8).tolist()
    [1, 2]
    """
    return constant(np.frombuffer(buffer, to_dtype(dtype).numpy, count, offset))


def fromstring(string: Any, dtype: Any = np.float64, count: int = -1, *, sep: str) -> Any:
    """A line of the numbers that a text has between separators. NumPy: `numpy.fromstring`.

    >>> fromstring("1 2 3", sep=" ").tolist()
    [1.0, 2.0, 3.0]
    """
    return constant(np.fromstring(string, to_dtype(dtype).numpy, count, sep=sep))
