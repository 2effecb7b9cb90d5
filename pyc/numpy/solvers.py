"""Linear equations, and what follows from a factorisation: `solve`, `inv`, `det`, `pinv`, `lstsq`.

Matrices lie in the last two axes, the others are a batch that broadcasts. Integers and bools are
taken as float64; float32 and complex64 stay what they are. Functions of one matrix share its
factorisation, within one program.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from pyc.errors import ArgumentError, LinearAlgebraError, OptionError, ShapeError
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.numpy import choices, manipulation, pieces
from pyc.numpy.core import (
    axis_of,
    broadcast,
    broadcast_shape,
    cast,
    dtype_of,
    integer,
    literal,
    part,
    result_dtype,
    shape_of,
    structural,
    type_text,
)
from pyc.numpy.creation import asarray, iota, zeros
from pyc.numpy.elementwise import absolute, add, conj, divide, imag, multiply, real, sign, subtract
from pyc.numpy.elementwise import square as squared
from pyc.numpy.factorisations import (
    adjoint,
    bound,
    eigvalsh,
    factored,
    floats,
    lu,
    matrices,
    square,
    svd,
    svdvals,
)
from pyc.numpy.linear_algebra import matmul
from pyc.numpy.logic import bitwise_and, greater, less, not_equal, where
from pyc.numpy.manipulation import expand_dims, matrix_transpose, reshape
from pyc.numpy.statistics import any as any_true
from pyc.numpy.statistics import max as greatest
from pyc.numpy.statistics import prod as product
from pyc.numpy.statistics import sum as total
from pyc.numpy.transcendental import log

SINGULAR = "Singular matrix"


class SlogdetResult(NamedTuple):
    """What `slogdet` gives."""

    sign: Any
    logabsdet: Any


# --- equations ------------------------------------------------------------------------------------


def solve(a: Any, b: Any) -> Any:
    """The x with a @ x = b.

    a: (..., n, n), b: (n,) or (..., n, k), the leading axes broadcast -> (..., n) or (..., n, k)
    dtype: promoted type of a and b, integers and bools as float64

    raises LinearAlgebraError: not square matrices; when the program runs: a singular matrix;
    ShapeError: other lengths; DTypeError: float16, or no numbers

    NumPy: `numpy.linalg.solve`.

    >>> solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 4.0])
    array([1., 1.])
    """
    left, right, is_vector = _equations("solve", a, b)
    factors, pivots, info = lu(left)
    factored(info, "solve", SINGULAR)
    batch = broadcast_shape("solve", [shape_of(left)[:-2], shape_of(right)[:-2]])
    factors, pivots = (
        broadcast(x, (*batch, *shape_of(x)[len(shape_of(left)) - 2 :])) for x in (factors, pivots)
    )
    columns = broadcast(right, (*batch, *shape_of(right)[-2:]))
    (found,) = bound("lu_solve", factors, pivots, columns)
    return _as_given(found, is_vector)


def _equations(name: str, a: Any, b: Any) -> tuple[Any, Any, bool]:
    """The left side by rows and the right one by columns, of one type, and whether that is a
    line."""
    left, right = square(name, a), floats(name, b)
    kind = result_dtype(left, right)
    left, right = cast(left, kind), cast(right, kind)
    is_vector = len(shape_of(right)) == 1
    if not shape_of(right) or shape_of(right)[-1 if is_vector else -2] != shape_of(left)[-1]:
        raise ShapeError(f"{name}: {type_text(a)} and {type_text(b)} have different lengths")
    columns = expand_dims(right, -2) if is_vector else matrix_transpose(right)
    return left, columns, is_vector


def _as_given(columns: Any, is_vector: bool) -> Any:
    """Solutions by columns as the right side was given."""
    if is_vector:
        return reshape(columns, (*shape_of(columns)[:-2], shape_of(columns)[-1]))
    return matrix_transpose(columns)


def solve_triangular(
    a: Any, b: Any, *, lower: bool, transposed: bool, conjugated: bool, unit: bool
) -> Any:
    """The x with op(a) @ x = b for triangular matrices, as `scipy.linalg.solve_triangular`."""
    left, right, is_vector = _equations("solve_triangular", a, b)
    batch = broadcast_shape("solve_triangular", [shape_of(left)[:-2], shape_of(right)[:-2]])
    if conjugated and dtype_of(left).is_complex:
        left = conj(left)
    left = broadcast(left, (*batch, *shape_of(left)[-2:]))
    columns = broadcast(right, (*batch, *shape_of(right)[-2:]))
    # The rows of a matrix are the columns of its transpose, whose triangle is the other one.
    params = {"upper": lower, "transposed": not transposed, "unit": unit}
    found, info = bound("triangular_solve", left, columns, **params)
    factored(info, "solve_triangular", SINGULAR)
    return _as_given(found, is_vector)


def inverse(x: Any) -> tuple[Any, Any]:
    """The inverses of square matrices, and what the routine says of each: not 0 where it is
    singular."""
    factors, pivots, info = lu(x)
    found, _ = bound("lu_inverse", factors, pivots)
    # Zeros are +0, as where an identity matrix is solved for.
    return add(matrix_transpose(found), literal(0, dtype_of(x))), info


def inv(a: Any) -> Any:
    """The inverses of square matrices: a (..., n, n) -> (..., n, n).

    dtype: that of a, integers and bools as float64

    raises LinearAlgebraError: not square matrices; when the program runs: a singular matrix;
    DTypeError: float16, or no numbers

    NumPy: `numpy.linalg.inv`.

    >>> inv([[2.0, 0.0], [0.0, 4.0]])
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    found, info = inverse(square("inv", a))
    factored(info, "inv", SINGULAR)
    return found


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    """The Moore-Penrose inverses: a (..., m, n) -> (..., n, m).

    rcond, or rtol: singular values up to this share of the greatest count as 0, a number or one for
    each matrix, (...); by default 1e-15, in single precision and for `rtol=None` max(m, n) times
    the spacing of the type (NumPy computes in double precision, where 1e-15 tells them from
    roundings) hermitian: `a` is known to be so, and its eigenvectors are used
    dtype: that of a, integers and bools as float64, unless there are no elements

    raises LinearAlgebraError: rank 1 or less, or no convergence when the program runs; ShapeError:
    shares of another shape; ArgumentError: `rcond` and `rtol`; DTypeError: float16, or no numbers

    NumPy: `numpy.linalg.pinv`.

    >>> pinv([[2.0, 0.0], [0.0, 0.0]])
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    a = matrices("pinv", a)
    *batch, rows, columns = shape_of(a)
    if rtol is not np._NoValue:
        if rcond is not None:
            raise ArgumentError("pinv: `rtol` and `rcond` are the same: give one of them")
        rcond = _spacing(floats("pinv", a)) if rtol is None else rtol
    if not min(rows, columns):
        return zeros((*batch, columns, rows), dtype_of(a).numpy)
    x = floats("pinv", a)
    if rcond is None:
        rcond = 1e-15 if real_type(dtype_of(x)) is dt.f64 else _spacing(x)
    share = asarray(rcond)
    u, s, vt = svd(x, full_matrices=False, hermitian=hermitian)
    limit = multiply(expand_dims(share, -1), greatest(s, axis=-1, keepdims=True))
    if shape_of(limit)[:-1] != tuple(batch):
        raise ShapeError(
            f"pinv: the shares {type_text(share)} do not fit {type_text(x)}",
            fix="Give one for all matrices, or one for each.",
        )
    inverted = where(greater(s, limit), divide(1, s), 0)
    scaled = multiply(expand_dims(cast(inverted, dtype_of(s)), -1), adjoint(u))
    return matmul(adjoint(vt), cast(scaled, dtype_of(x)))


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    """The x with the least |b - a @ x|, and of these the least |x|.

    a: (m, n), b: (m,) or (m, k); rcond: singular values up to this share of the greatest count as
    0; max(m, n) times the spacing of the type if None, the spacing if negative
    -> x (n,) or (n, k); the sums of squares of the residuals, one for each column, or none if
    m <= n (NumPy gives none either where the rank is less than n, which depends on data); the rank;
    the singular values (min(m, n),)
    dtype: of x the promoted type, integers and bools as float64; of the sums and values the float
    of its width, of the rank int32

    raises LinearAlgebraError: other ranks or lengths; when the program runs: no convergence;
    ShapeError: several `rcond`; DTypeError: float16, no numbers, or a complex `rcond`

    NumPy: `numpy.linalg.lstsq`.

    >>> lstsq([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]], [3.0, 4.0, 0.0])[0]
    array([3., 2.])
    """
    left, right = floats("lstsq", matrices("lstsq", a)), floats("lstsq", b)
    is_vector = len(shape_of(right)) == 1
    shapes = shape_of(left), shape_of(right)
    if len(shapes[0]) != 2 or len(shapes[1]) not in (1, 2) or shapes[0][0] != shapes[1][0]:
        raise LinearAlgebraError(
            f"lstsq: needs (m, n) and (m,) or (m, k), got {type_text(a)} and {type_text(b)}",
            fix="Equations and right sides are rows: `b` has one for each row of `a`.",
        )
    kind = result_dtype(left, right)
    left, right = cast(left, kind), cast(right, kind)
    if is_vector:
        right = expand_dims(right, -1)
    rows, columns = shape_of(left)
    of_values = real_type(kind)
    if not min(rows, columns):
        x = broadcast(literal(0, kind), (columns, shape_of(right)[1]))
        found = x, asarray(np.int32(0)), zeros((0,), of_values.numpy)
    else:
        found = _least_squares(left, right, rcond, of_values)
    x, rank, values = found
    sums = zeros((0,), of_values.numpy)
    if rows > columns:
        apart = subtract(right, matmul(left, x))
        sums = total(_magnitudes(apart), axis=0)
    return (reshape(x, (columns,)) if is_vector else x), sums, rank, values


def _least_squares(a: Any, b: Any, rcond: Any, real_type: Any) -> tuple[Any, Any, Any]:
    rows, columns = shape_of(a)
    share = cast(asarray(_spacing(a) if rcond is None else rcond), real_type)
    if shape_of(share):
        raise ShapeError(f"lstsq: rcond must be a number, got {type_text(share)}")
    turned = matrix_transpose(b)
    if columns > rows:
        rest = zeros((shape_of(b)[1], columns - rows), dtype_of(b).numpy)
        turned = pieces.concat((turned, rest), axis=1)
    x, values, rank, info = bound("least_squares", matrix_transpose(a), turned, share)
    factored(info, "lstsq", "SVD did not converge in Linear Least Squares")
    return matrix_transpose(part(x, 1, 0, columns)), rank, values


def _magnitudes(x: Any) -> Any:
    """|x|^2, real."""
    if not dtype_of(x).is_complex:
        return squared(x)
    return add(squared(real(x)), squared(imag(x)))


def real_type(kind: DType) -> DType:
    """The type of the parts of a number."""
    return kind.real if kind.is_complex else kind


def _spacing(x: Any) -> float:
    """max(m, n) times the relative distance of neighbours."""
    eps = np.finfo(real_type(dtype_of(x)).numpy).eps
    return float(max(shape_of(x)[-2:]) * eps)


# --- determinants and ranks -----------------------------------------------------------------------


def _diagonal_and_parity(x: Any) -> tuple[Any, Any, Any]:
    """The diagonal of U, the sign of the exchanges of rows, and whether a pivot is 0."""
    factors, pivots, info = lu(x)
    own = add(iota(shape_of(pivots), len(shape_of(pivots)) - 1, dt.i32), 1)
    moved = total(cast(not_equal(pivots, own), dt.i32), axis=-1)
    parity = subtract(1, multiply(2, bitwise_and(moved, 1)))
    return manipulation.diagonal(factors, 0, -2, -1), parity, not_equal(info, 0)


def det(a: Any) -> Any:
    """The determinants: a (..., n, n) -> (...), 0 of singular matrices.

    dtype: that of a, integers and bools as float64

    raises LinearAlgebraError: not square matrices; DTypeError: float16, or no numbers

    NumPy: `numpy.linalg.det`.

    >>> round(float(det([[1.0, 2.0], [3.0, 4.0]])), 12)
    -2.0
    """
    x = square("det", a)
    diagonal, parity, singular = _diagonal_and_parity(x)
    found = multiply(product(diagonal, axis=-1), cast(parity, dtype_of(x)))
    return where(singular, cast(0, dtype_of(x)), found)


def slogdet(a: Any) -> SlogdetResult:
    """The signs of the determinants (of complex ones: numbers of magnitude 1) and the logarithms
    of their magnitudes: a (..., n, n) -> (...), (...); 0 and -inf of singular matrices.

    dtype: of the signs that of a, integers and bools as float64; of the logarithms the float of its
    width

    raises LinearAlgebraError: not square matrices; DTypeError: float16, or no numbers

    NumPy: `numpy.linalg.slogdet`.

    >>> slogdet([[2.0, 0.0], [0.0, -3.0]]).sign
    np.float64(-1.0)
    """
    x = square("slogdet", a)
    kind = dtype_of(x)
    diagonal, parity, singular = _diagonal_and_parity(x)
    size = absolute(diagonal)
    if kind.is_complex:
        signs = product(sign(diagonal), axis=-1)
    else:  # NaN has no sign that would count
        signs = product(where(less(diagonal, 0), cast(-1, kind), cast(1, kind)), axis=-1)
    signs = where(singular, cast(0, kind), multiply(signs, cast(parity, kind)))
    logs = where(singular, cast(-np.inf, dtype_of(size)), total(log(size), axis=-1))
    return SlogdetResult(signs, logs)


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """How many singular values are greater than a limit: A (..., m, n) -> (...), int64; of a line,
    or a number, whether it is not 0.

    tol: the limit, a number or one for each matrix; rtol: as a share of the greatest singular
    value; by default max(m, n) times the spacing of the type
    hermitian: the magnitudes of the eigenvalues are taken, of the triangle below the diagonal

    raises LinearAlgebraError: when the program runs, no convergence; matrices that are not square
    and `hermitian`; ArgumentError: `tol` and `rtol`; DTypeError: float16, or no numbers

    NumPy: `numpy.linalg.matrix_rank`.

    >>> matrix_rank([[1.0, 2.0], [2.0, 4.0]])
    np.int64(1)
    """
    if tol is not None and rtol is not None:
        raise ArgumentError("matrix_rank: `tol` and `rtol` are both limits: give one of them")
    x = floats("matrix_rank", A)
    if len(shape_of(x)) < 2:
        return cast(any_true(not_equal(x, 0)), dt.i64)
    if choices.truth(hermitian):
        values = absolute(eigvalsh(square("matrix_rank", x)))
    else:
        values = svdvals(x)
    if not shape_of(values)[-1]:
        return zeros(shape_of(values)[:-1], np.int64)
    if tol is None:
        share = asarray(_spacing(x) if rtol is None else rtol)
        limit = multiply(greatest(values, axis=-1, keepdims=True), expand_dims(share, -1))
    else:
        limit = expand_dims(asarray(tol), -1)
    return total(cast(greater(values, limit), dt.i64), axis=-1)


# --- tensors --------------------------------------------------------------------------------------


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The x with tensordot(a, x, x.ndim) = b.

    a: the shape of b, then that of x, of as many elements; axes: those of a that are moved behind
    the others first  ->  x
    dtype: promoted type of a and b, integers and bools as float64

    raises LinearAlgebraError: other numbers of elements; when the program runs: a singular matrix;
    AxisError: no such axis; DTypeError: float16, no numbers, or an axis that is no integer

    NumPy: `numpy.linalg.tensorsolve`.

    >>> tensorsolve([[2.0, 0.0], [0.0, 4.0]], [2.0, 4.0])
    array([1., 1.])
    """
    left, right = floats("tensorsolve", asarray(a)), asarray(b)
    rank = len(shape_of(left))
    if axes is not None:
        order = list(range(rank))
        axes = structural(axes)
        if not isinstance(axes, (tuple, list)):
            raise OptionError(f"tensorsolve: axes are a tuple, got {axes!r}")
        for axis in axes:
            moved = axis_of("tensorsolve", axis, rank)
            order.remove(moved)
            order.append(moved)
        left = manipulation.permute_dims(left, order)
    shape = shape_of(left)[len(shape_of(right)) :]
    size = prod(shape)
    if prod(shape_of(left)) != size * size or prod(shape_of(right)) != size:
        raise LinearAlgebraError(
            f"tensorsolve: {type_text(a)} and {type_text(b)} are not as many equations as unknowns",
            fix="The shape of `a` is that of `b`, then that of the result.",
        )
    found = solve(reshape(left, (size, size)), reshape(right, (size,)))
    return reshape(found, shape)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse for `tensordot` over `ind` axes.

    a: its first `ind` axes have as many elements as the others -> the others, then these
    dtype: that of a, integers and bools as float64

    raises ArgumentError: ind is not positive; LinearAlgebraError: other numbers of elements; when
    the program runs: a singular matrix; DTypeError: float16, no numbers, or an `ind` that is no
    integer

    NumPy: `numpy.linalg.tensorinv`.

    >>> tensorinv([[2.0, 0.0], [0.0, 4.0]], ind=1)
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    x = floats("tensorinv", a)
    ind = integer("tensorinv", "`ind`", ind)
    if not ind > 0:
        raise ArgumentError(f"tensorinv: ind must be positive, got {ind}")
    first, last = shape_of(x)[:ind], shape_of(x)[ind:]
    if prod(first) != prod(last):
        raise LinearAlgebraError(
            f"tensorinv: the first {ind} axes of {type_text(a)} have not as many elements as the "
            "others",
            fix="Give the number of axes that are rows: `ind`.",
        )
    return reshape(inv(reshape(x, (prod(first), prod(last)))), (*last, *first))
