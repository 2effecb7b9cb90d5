"""`pyc.numpy.linalg`: linear algebra under NumPy's names; here are products, norms and reshaping.

Axes follow the array API: matrices lie in the last two axes, vectors in the last. Factorisations
and solvers have modules of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, DTypeError, LinearAlgebraError, OptionError, ShapeError
from pyc.interpreter import is_number
from pyc.ir import dtype as dt
from pyc.numpy import manipulation
from pyc.numpy.core import (
    axes_of,
    axis_of,
    broadcast,
    cast,
    dtype_of,
    integer,
    no_list,
    shape_of,
    structural,
    type_text,
)
from pyc.numpy.creation import asarray, eye
from pyc.numpy.elementwise import absolute, add, divide, multiply, power, sqrt, square
from pyc.numpy.elementwise import imag as imag_part
from pyc.numpy.elementwise import real as real_part
from pyc.numpy.factorisations import (
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    floats,
    matrices,
    qr,
    svd,
    svdvals,
)
from pyc.numpy.keywords import give_keywords
from pyc.numpy.linear_algebra import cross as cross_product
from pyc.numpy.linear_algebra import matmul, tensordot, vecdot
from pyc.numpy.linear_algebra import outer as outer_product
from pyc.numpy.logic import isnan, logical_and, logical_not, not_equal, where
from pyc.numpy.manipulation import matrix_transpose
from pyc.numpy.solvers import (
    det,
    inv,
    inverse,
    lstsq,
    matrix_rank,
    pinv,
    slogdet,
    solve,
    tensorinv,
    tensorsolve,
)
from pyc.numpy.statistics import any as any_true
from pyc.numpy.statistics import max as greatest
from pyc.numpy.statistics import min as least
from pyc.numpy.statistics import sum as total

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]


def _floats(x: Any) -> Any:
    """`x` as floats; integers and bools as float64."""
    x = asarray(x)
    return x if dtype_of(x).kind in ("float", "complex") else cast(x, dt.f64)


def _stacked(name: str, x: Any) -> Any:
    x = asarray(x)
    if len(shape_of(x)) < 2:
        raise ShapeError(f"{name}: needs rank 2 or more, got {type_text(x)}")
    return x


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of the last two axes: (..., m, n) -> (..., k).

    x: any dtype, which the result has; offset: above the main diagonal, below it if negative
    raises ShapeError: rank 1 or less; DTypeError: no numbers, or an offset that is no integer

    NumPy: `numpy.linalg.diagonal`.

    >>> diagonal([[1, 2], [3, 4]])
    array([1, 4])
    """
    offset = integer("diagonal", "`offset`", offset)
    return manipulation.diagonal(_stacked("diagonal", x), offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of the last two axes: (..., m, n) -> (...).

    x: numbers or bools; offset: as in `diagonal`; dtype: of the sum, by default as `sum` has it:
    bools and integers as int64 or uint64
    raises ShapeError: rank 1 or less; DTypeError: no numbers, an offset that is no integer, or a
    dtype that is not supported

    NumPy: `numpy.linalg.trace`.

    >>> trace([[1, 2], [3, 4]])
    np.int64(5)
    """
    return total(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def outer(x1: Any, x2: Any, /) -> Any:
    """a[i] * b[j] of two lines: x1 (m,), x2 (n,) -> (m, n), of the promoted dtype.

    raises ShapeError: an argument of another rank; DTypeError: no numbers

    NumPy: `numpy.linalg.outer`.

    >>> outer([1, 2], [3, 4])
    array([[3, 4],
           [6, 8]])
    """
    a, b = asarray(x1), asarray(x2)
    if len(shape_of(a)) != 1 or len(shape_of(b)) != 1:
        raise ShapeError(
            f"linalg.outer: needs two lines, got {type_text(a)} and {type_text(b)}",
            fix="Flatten them, as `np.outer` does: `x.ravel()`.",
        )
    return outer_product(a, b)


def cross(a: Any, b: Any, /, *, axis: int = -1) -> Any:
    """The cross products of vectors of 3 along an axis; the others broadcast.

    a, b: (..., 3) for axis -1  ->  (..., 3), of the promoted dtype; bools are refused
    raises ShapeError: other lengths, or axes that do not broadcast; AxisError: no such axis;
    DTypeError: no numbers, or an axis that is no integer

    NumPy: `numpy.linalg.cross`.

    >>> cross([1, 0, 0], [0, 1, 0])
    array([0, 0, 1])
    """
    a, b = asarray(a), asarray(b)
    for x in (a, b):
        if shape_of(x)[axis_of("cross", axis, len(shape_of(x)))] != 3:
            raise ShapeError(
                f"cross: needs 3 elements along axis {axis}: {type_text(a)}, {type_text(b)}"
            )
    return cross_product(a, b, axis=axis)


def multi_dot(arrays: Sequence[Any]) -> Any:
    """The product of two or more matrices (the first may be a row, the last a column, both of rank
    1), in the order that multiplies the fewest numbers.

    arrays: (m, k), (k, l), ..., (p, n)  ->  (m, n), of the promoted dtype; axes of lines are
    dropped
    raises ShapeError: fewer than two, no matrices, or inner lengths that differ; DTypeError: no
    numbers

    NumPy: `numpy.linalg.multi_dot`.

    >>> multi_dot([[[1, 2], [3, 4]], [[1, 2], [3, 4]], [1, 1]])
    array([17, 37])
    """
    if not hasattr(arrays, "__iter__"):
        raise DTypeError(
            f"multi_dot: needs a sequence of arrays, got {type(arrays).__name__}",
            fix="Write `multi_dot([a, b, c])`.",
        )
    items = [asarray(x) for x in arrays]
    if len(items) < 2:
        raise ShapeError(f"multi_dot: needs two arrays or more, got {len(items)}")
    first, last = len(shape_of(items[0])) == 1, len(shape_of(items[-1])) == 1
    if first:
        items[0] = manipulation.reshape(items[0], (1, -1))
    if last:
        items[-1] = manipulation.reshape(items[-1], (-1, 1))
    for x in items:
        if len(shape_of(x)) != 2:
            raise ShapeError(f"multi_dot: needs matrices, got {type_text(x)}")
    found = _chain(items)
    rows, columns = shape_of(found)
    return manipulation.reshape(found, (() if first else (rows,)) + (() if last else (columns,)))


def _chain(items: Sequence[Any]) -> Any:
    """The product of matrices in the cheapest order."""
    sizes = [*(shape_of(x)[0] for x in items), shape_of(items[-1])[1]]
    count = len(items)
    best: dict[tuple[int, int], tuple[int, int]] = {(k, k): (0, k) for k in range(count)}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            best[i, j] = min(
                (
                    best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1],
                    k,
                )
                for k in range(i, j)
            )

    def product(i: int, j: int) -> Any:
        if i == j:
            return items[i]
        k = best[i, j][1]
        return matmul(product(i, k), product(k + 1, j))

    return product(0, count - 1)


def _squares(x: Any) -> Any:
    """|x|^2, real."""
    if not dtype_of(x).is_complex:
        return square(x)
    return add(square(real_part(x)), square(imag_part(x)))


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of the vectors along some axes (of all elements if None).

    x: any shape  ->  without `axis`, or with keepdims of length 1 there
    ord: 2, 1, inf, -inf, 0 (how many are not zero) or another number p: (sum |x|^p)^(1/p); None is
    2
    dtype: that of floats; complex64 gives float32, complex128 float64, integers and bools float64
    raises DTypeError: no numbers, an axis that is no integer, or an `ord` that is no real number;
    AxisError: no such axis; ShapeError: an axis twice, or no elements for -inf

    NumPy: `numpy.linalg.vector_norm`.

    >>> vector_norm([3.0, 4.0])
    np.float64(5.0)
    """
    x = _floats(x)
    if ord is None or ord == 2:
        return sqrt(total(_squares(x), axis=axis, keepdims=keepdims))
    size = absolute(x)
    if ord == np.inf and 0 in shape_of(x):
        return total(size, axis=axis, keepdims=keepdims)  # 0, where there is no element
    if ord == np.inf:
        return greatest(size, axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return least(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return total(cast(cast(x, dt.b1), dtype_of(size)), axis=axis, keepdims=keepdims)
    if ord == 1:
        return total(size, axis=axis, keepdims=keepdims)
    ord = structural(ord)
    if not is_number(ord) or isinstance(ord, complex):
        raise OptionError(f"vector_norm: ord must be a number, got {ord!r}")
    summed = total(power(size, float(ord)), axis=axis, keepdims=keepdims)
    return power(summed, 1.0 / ord)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of the matrices in the last two axes.

    x: (..., m, n)  ->  (...), or (..., 1, 1) with keepdims; ord: "fro" or None (of all elements),
    1, -1 (of sums of columns), inf, -inf (of rows), 2, -2 (singular values) or "nuc" (their sum)
    dtype: that of floats; complex64 gives float32, complex128 float64, integers and bools float64
    raises ShapeError: rank 1 or less, or -1, -2 or -inf of nothing; ArgumentError: another `ord`;
    DTypeError: no numbers, or float16 for singular values; LinearAlgebraError: when the program
    runs, no convergence, as for NaN

    NumPy: `numpy.linalg.matrix_norm`.

    >>> matrix_norm([[3.0, 0.0], [0.0, 4.0]])
    np.float64(5.0)
    """
    return _matrix_norm(_stacked("matrix_norm", x), ord, (-2, -1), keepdims)


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    x = _floats(x)
    if isinstance(ord, np.ndarray) or np.shape(ord):
        raise OptionError(f"norm: `ord` is one norm, got {ord!r}")
    if ord in ("fro", None):
        return vector_norm(x, axis=axes, keepdims=keepdims)
    rows, columns = (shape_of(x)[k] for k in _places(axes, x))
    if not rows * columns and ord in (1, 2, "nuc", np.inf):
        return total(absolute(x), axis=axes, keepdims=keepdims)  # 0, where there is no element
    if ord in (2, -2, "nuc"):
        values = svdvals(manipulation.moveaxis(x, axes, (-2, -1)))
        chosen: dict[Any, Any] = {2: greatest, -2: least, "nuc": total}
        found = chosen[ord](values, axis=-1)
        shape = tuple(1 if k in _places(axes, x) else n for k, n in enumerate(shape_of(x)))
        return manipulation.reshape(found, shape) if keepdims else found
    if ord not in (1, -1, np.inf, -np.inf):
        raise ArgumentError(
            f"norm: there is no norm {ord!r} of matrices",
            fix='Use "fro", "nuc", 1, -1, 2, -2, inf or -inf.',
        )
    summed = axes[0] if ord in (1, -1) else axes[1]
    lines = total(absolute(x), axis=summed, keepdims=True)
    return (greatest if ord in (1, np.inf) else least)(lines, axis=axes, keepdims=keepdims)


def _places(axes: tuple[int, int], x: Any) -> tuple[int, ...]:
    return tuple(k % len(shape_of(x)) for k in axes)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """NumPy's norm: of all elements; of vectors along one axis; or of matrices in two.

    x: any shape  ->  without `axis`, or with keepdims of length 1 there; ord: as in `matrix_norm`
    where there are two axes, else as in `vector_norm`
    dtype: that of floats; complex64 gives float32, complex128 float64, integers and bools float64
    raises ShapeError: an `ord` of more than two axes, an axis twice, or no elements where there
    must be; AxisError: no such axis; ArgumentError: no such `ord` of matrices; DTypeError: no
    numbers, no integer axis, an `ord` of vectors that is no number, or float16 for singular values;
    LinearAlgebraError: when the program runs, no convergence, as for NaN

    NumPy: `numpy.linalg.norm`.

    >>> norm([3.0, 4.0])
    np.float64(5.0)
    """
    x = _floats(x)
    rank = len(shape_of(x))
    if axis is None and (ord is None or rank == 1):
        return vector_norm(x, keepdims=keepdims, ord=2 if ord is None else ord)
    if axis is None and rank != 2:
        raise ShapeError(f"norm: ord {ord!r} of {type_text(x)} needs an axis")
    places = tuple(range(rank)) if axis is None else axis
    no_list("norm", axis)
    if not isinstance(places, tuple):
        return vector_norm(x, axis=places, keepdims=keepdims, ord=2 if ord is None else ord)
    axes_of("norm", tuple(places), rank)
    if len(places) == 1:
        return vector_norm(x, axis=places[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(places) != 2:
        raise ShapeError(f"norm: needs one or two axes, got {axis}")
    first, second = (axis_of("norm", a, rank) for a in places)
    return _matrix_norm(x, ord, (first, second), keepdims)


def matrix_power(x: Any, n: int) -> Any:
    """The matrices in the last two axes to the power n, by squaring; of their inverses if n < 0.

    x: (..., m, m)  ->  (..., m, m), of its dtype; with n < 0 integers and bools as float64; n: int
    raises LinearAlgebraError: not square matrices; when the program runs, n < 0 and a singular
    matrix; DTypeError: no numbers, an n that is no integer, or float16 and n < 0

    NumPy: `numpy.linalg.matrix_power`.

    >>> matrix_power([[1, 2], [3, 4]], 2)
    array([[ 7, 10],
           [15, 22]])
    """
    x = matrices("matrix_power", x)
    n = integer("matrix_power", "the power", n)
    *_, rows, columns = shape_of(x)
    if rows != columns:
        raise LinearAlgebraError(
            f"matrix_power: needs square matrices, got {type_text(x)}",
            fix="Matrices lie in the last two axes: give an array (..., n, n).",
        )
    if n < 0:
        x, n = inv(x), -n
    if n == 0:
        return broadcast(eye(rows, dtype=dtype_of(x).numpy), shape_of(x))
    result = None
    while n:
        if n & 1:
            result = x if result is None else matmul(result, x)
        n >>= 1
        x = matmul(x, x) if n else x
    return result


def cond(x: Any, p: Any = None) -> Any:
    """The condition numbers of matrices in a norm, of singular ones inf: (..., m, n) -> (...).

    x: float, complex, or integers and bools as float64; p: None or 2 for the ratio of the greatest
    and the least singular value, -2 for the other way round, or another `ord` of `norm`, for square
    matrices
    dtype: float32 for float32 and complex64, else float64
    raises LinearAlgebraError: rank 1 or less, or matrices that are not square or empty; when the
    program runs, no convergence, as for NaN; ArgumentError: another `p`; DTypeError: float16, or no
    numbers

    NumPy: `numpy.linalg.cond`.

    >>> cond([[1.0, 0.0], [0.0, 4.0]])
    np.float64(4.0)
    """
    x = floats("cond", matrices("cond", x))
    p = structural(p)
    rows, columns = shape_of(x)[-2:]
    if not rows or not columns:
        raise LinearAlgebraError(f"cond: there is no condition of an empty array, {type_text(x)}")
    if p in (None, 2, -2):
        values = svdvals(x)
        ends = values[..., 0], values[..., -1]
        found = divide(*(ends[::-1] if p == -2 else ends))
    else:
        if rows != columns:
            raise LinearAlgebraError(
                f"cond: needs square matrices for the norm {p!r}, got {type_text(x)}",
                fix="Use None, 2 or -2.",
            )
        turned, info = inverse(x)
        turned = where(not_equal(info, 0)[..., None, None], np.nan, turned)
        size = _matrix_norm(x, p, (-2, -1), False)
        found = multiply(size, _matrix_norm(cast(turned, dtype_of(x)), p, (-2, -1), False))
    # What is not NaN itself has an infinite condition where the ratio is NaN.
    given = any_true(isnan(x), axis=(-2, -1))
    return where(
        logical_and(isnan(found), logical_not(given)), cast(np.inf, dtype_of(found)), found
    )


give_keywords(globals(), __all__, np.linalg, "linalg.")
