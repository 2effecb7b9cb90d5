"""What is known of arrays without their elements, types of NumPy by name, and arrays of what Python
and its buffers hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, DTypeError, PycError, ShapeError
from pyc.interpreter import current, is_number
from pyc.ir import dtype as dt
from pyc.numpy import choices
from pyc.numpy.core import axes_of, constant, dtype_of, integer, shape_of, to_dtype, value
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


def _by_numpy(name: str, call: Callable[[], Any], refused: type[PycError] = ArgumentError) -> Any:
    """What NumPy makes of arguments; what it refuses is an error at the user's line. refused: that
    of a value, where a type is a DTypeError."""
    fix = f"`numpy.{name}` says what it takes."
    try:
        return call()
    except PycError:
        raise
    except TypeError as error:
        raise DTypeError(f"{name}: {error}", fix=fix) from None
    except ValueError as error:
        raise refused(f"{name}: {error}", fix=fix) from None
    except (IndexError, OverflowError) as error:
        raise ArgumentError(f"{name}: {error}", fix=fix) from None


# --- shapes and types -----------------------------------------------------------------------------


def shape(a: Any) -> tuple[int, ...]:
    """The extents of the axes of `a`, of any dtype. NumPy: `numpy.shape`.

    raises DTypeError: no numbers

    >>> shape([[1, 2, 3]])
    (1, 3)
    """
    return shape_of(value(a))


def ndim(a: Any) -> int:
    """The number of axes of an array `a` of any dtype. NumPy: `numpy.ndim`.

    raises DTypeError: no numbers

    >>> ndim([[1, 2, 3]])
    2
    """
    return len(shape_of(value(a)))


def size(a: Any, axis: Any = None) -> int:
    """The number of elements of an array `a` of any dtype, or of those along an axis or several.
    NumPy: `numpy.size`.

    raises DTypeError: no numbers, or an axis that is no integer; AxisError: no such axis;
    ShapeError: an axis is given twice

    >>> size([[1, 2, 3]]), size([[1, 2, 3]], 1)
    (3, 3)
    """
    found = shape_of(value(a))
    return prod(found[k] for k in axes_of("size", axis, len(found)))


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype of an array or a number `x` is complex. NumPy: `numpy.iscomplexobj`.

    raises DTypeError: no numbers

    >>> iscomplexobj([1j, 0])
    True
    """
    return dtype_of(value(x)).is_complex


def isrealobj(x: Any) -> bool:
    """Whether the dtype of an array or a number `x` is not complex. NumPy: `numpy.isrealobj`.

    raises DTypeError: no numbers

    >>> isrealobj([1.0])
    True
    """
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether `element` is a number of any dtype, a text or another scalar of Python or NumPy, and
    no array, of rank 0 neither. It raises nothing. NumPy: `numpy.isscalar`.

    >>> isscalar(1.5), isscalar([1.5])
    (True, False)
    """
    if hasattr(element, "is_known_array"):  # a traced value
        return not element.is_known_array
    return bool(np.isscalar(element))


def iterable(y: Any) -> bool:
    """Whether `y` can be iterated over, as an array of any dtype that has axes. It raises
    nothing. NumPy: `numpy.iterable`.

    >>> iterable([1]), iterable(1)
    (True, False)
    """
    if hasattr(y, "type") and hasattr(y, "shape"):
        return bool(y.shape)
    return bool(np.iterable(y))


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether dtype `arg1` is below `arg2` in NumPy's tree of types of arrays. NumPy:
    `numpy.issubdtype`.

    raises DTypeError: no dtype

    >>> issubdtype(np.float32, np.floating)
    True
    """
    return bool(_by_numpy("issubdtype", partial(np.issubdtype, arg1, arg2)))


def promote_types(type1: Any, type2: Any) -> np.dtype[Any]:
    """The smallest dtype that those of two arrays, `type1` and `type2`, lead to. NumPy:
    `numpy.promote_types`.

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
    """The smallest dtype that holds a number `a`; that of an array. NumPy: `numpy.min_scalar_type`.

    raises DTypeError: no numbers

    >>> min_scalar_type(300)
    dtype('uint16')
    """
    return np.min_scalar_type(a) if is_number(a) else dtype_of(value(a)).numpy


def einsum_path(subscripts: Any, *operands: Any, optimize: Any = "greedy") -> tuple[Any, str]:
    """The order of pairs in which `einsum` multiplies operands of these shapes, whatever their
    dtypes, and a text that tells the cost. NumPy: `numpy.einsum_path`.

    subscripts: as of `einsum`; optimize: "greedy", "optimal", a bool, or a path
    raises ShapeError: subscripts that do not fit the shapes; DTypeError: operands that are no
    numbers, or another `optimize`; ArgumentError: a path that does not fit

    >>> einsum_path("ij,jk,kl->il", np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 5)))[0]
    ['einsum_path', (1, 2), (0, 1)]
    """
    find = partial(contraction_path, subscripts, operands, optimize)
    return _by_numpy("einsum_path", find, ShapeError)  # type: ignore[no-any-return]


# --- arrays ---------------------------------------------------------------------------------------


def asanyarray(a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None) -> Any:
    """`asarray`, in shape, dtype and errors: there are no classes of arrays. NumPy:
    `numpy.asanyarray`.

    a: an array, a number or a list; dtype: None for its own; order: without effect, arrays lie by
    rows; copy, device: as of `asarray`
    raises DTypeError: no numbers, or another dtype; ArgumentError: no copy may be made, and one is
    needed; IntegerRangeError: a Python integer that `dtype` does not hold; DeviceError: no such
    device; UnsupportedOpError: a device in a traced function

    >>> asanyarray([1, 2]).tolist()
    [1, 2]
    """
    choices.order("asanyarray", order)
    return asarray(a, dtype, copy=copy)


def asfortranarray(a: Any, dtype: Any = None) -> Any:
    """`a` with one axis or more; arrays lie by rows, whatever is asked for. NumPy:
    `numpy.asfortranarray`.

    dtype: None for its own
    raises DTypeError: no numbers, or another dtype

    >>> asfortranarray(1).tolist()
    [1]
    """
    x = asarray(a)
    found = atleast_1d(asarray(x, dtype))
    return found if len(shape_of(x)) <= 1 else current().alias(found, x)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """`asarray` of what has no NaN and no infinity. NumPy: `numpy.asarray_chkfinite`.

    dtype: None for that of `a`; order: without effect, arrays lie by rows
    raises DTypeError: no numbers, or another dtype; LinearAlgebraError: there is one, when the
    program runs; IntegerRangeError: a Python integer that `dtype` does not hold

    >>> asarray_chkfinite([1.0, 2.0]).tolist()
    [1.0, 2.0]
    """
    choices.order("asarray_chkfinite", order)
    found = asarray(a, dtype)
    if dtype_of(found).is_float or dtype_of(found).is_complex:
        finite("asarray_chkfinite", found)
    return found


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """`asarray`; what is required of the memory of arrays is so, or cannot be told from their
    values. It may share the memory of `a`. NumPy: `numpy.require`.

    dtype: None for its own; requirements: one name or several of NumPy's; like: without effect
    raises ArgumentError: an unknown requirement; DTypeError: no numbers, another dtype, or
    requirements that are no list

    >>> require([1, 2], np.float32, ["C"]).dtype
    dtype('float32')
    """
    choices.like("require", like)
    given = [requirements] if isinstance(requirements, str) else requirements or ()
    given = _by_numpy("require", partial(list, given))
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
    """The items of an iterable, all or the first `count`, as an array (n,) of `dtype`. NumPy:
    `numpy.fromiter`.

    iter: gives numbers
    raises ArgumentError: fewer items than `count`; DTypeError: no iterable, no numbers, another
    dtype, or a count that is no integer; IntegerRangeError: a Python integer that `dtype` does not
    hold

    >>> fromiter((k * k for k in range(4)), np.int64).tolist()
    [0, 1, 4, 9]
    """
    count = integer("fromiter", "`count`", count)
    if not np.iterable(iter):
        raise DTypeError(
            f"fromiter: needs an iterable, got {type(iter).__name__}",
            fix="Pass a list, a range or a generator.",
        )
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
    """The numbers in the memory of an object such as `bytes`, copied into an array (n,) of `dtype`.
    NumPy: `numpy.frombuffer`, which shares the memory.

    buffer: what holds bytes; count: how many numbers, -1 for all; offset: bytes to leave out before
    raises DTypeError: no buffer, another dtype, or a count that is no integer; ArgumentError: a
    buffer of another size

    >>> frombuffer(bytes([1, 2]), np.uint8).tolist()
    [1, 2]
    """
    read = partial(np.frombuffer, buffer, to_dtype(dtype).numpy, count, offset)
    return constant(_by_numpy("frombuffer", read))


def fromstring(string: Any, dtype: Any = np.float64, count: int = -1, *, sep: str) -> Any:
    """The numbers that a text has between separators, as an array (n,) of `dtype`. NumPy:
    `numpy.fromstring`.

    string: of numbers; count: how many of them, -1 for all; sep: what is between them
    raises DTypeError: no text, another dtype, or a count that is no integer; ArgumentError: a text
    that is not of numbers

    >>> fromstring("1 2 3", sep=" ").tolist()
    [1.0, 2.0, 3.0]
    """
    read = partial(np.fromstring, string, to_dtype(dtype).numpy, count, sep=sep)
    return constant(_by_numpy("fromstring", read))
