"""Factorisations of matrices: `cholesky`, `qr`, `svd`, `eigh`, `eig`, and `lu` for the solvers.

Matrices lie in the last two axes, the others are a batch. Integers and bools are taken as float64;
float32 and complex64 are factored as they are. The library takes matrices by columns
(`pyc/ir/ops/linalg.py`): here they are transposed, which costs nothing where the user's are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pyc.errors import ArgumentError, DTypeError, LinearAlgebraError, OptionError
from pyc.interpreter import bind1, current
from pyc.ir import dtype as dt
from pyc.ir.op import OPS
from pyc.ir.ops.linalg import LETTERS
from pyc.numpy import choices, manipulation, pieces
from pyc.numpy.core import broadcast, cast, dtype_of, part, shape_of, structural, type_text
from pyc.numpy.creation import asarray, eye, triu, zeros
from pyc.numpy.elementwise import absolute, conj, multiply, negative
from pyc.numpy.indexing import take_along_axis
from pyc.numpy.logic import greater, isfinite, less, where
from pyc.numpy.manipulation import matrix_transpose
from pyc.numpy.sorting import argsort
from pyc.numpy.sorting import sort as ascending
from pyc.numpy.statistics import all as all_true

NOT_FINITE = "Array must not contain infs or NaNs"
_AXES = "Matrices lie in the last two axes: give an array (..., rows, columns)."


class EigResult(NamedTuple):
    """What `eig` gives."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """What `qr` gives."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """What `svd` gives."""

    U: Any
    S: Any
    Vh: Any


# --- what all have in common ----------------------------------------------------------------------


def floats(name: str, x: Any) -> Any:
    """`x` as numbers that LAPACK takes; integers and bools as float64.

    raises DTypeError: floats of 16 bits or less, as NumPy does
    """
    x = asarray(x)
    kind = dtype_of(x)
    if kind in LETTERS:
        return x
    if kind.kind in ("float", "complex"):
        raise DTypeError(
            f"{name}: needs float32, float64 or complex numbers, got {type_text(x)}",
            fix="Convert it first: `x.astype(np.float32)`.",
        )
    return cast(x, dt.f64)


def matrices(name: str, x: Any) -> Any:
    """`x` as an array of one matrix or more; LinearAlgebraError for others, as in NumPy."""
    x = asarray(x)
    if len(shape_of(x)) < 2:
        raise LinearAlgebraError(f"{name}: needs rank 2 or more, got {type_text(x)}", fix=_AXES)
    return x


def square(name: str, x: Any) -> Any:
    """`x` as floats, square matrices; LinearAlgebraError for others, as in NumPy."""
    x = floats(name, matrices(name, x))
    rows, columns = shape_of(x)[-2:]
    if rows != columns:
        raise LinearAlgebraError(f"{name}: needs square matrices, got {type_text(x)}", fix=_AXES)
    return x


def bound(op: str, *args: Any, **params: Any) -> tuple[Any, ...]:
    """The results of an op on operands."""
    interpreter = current()
    return interpreter.bind(OPS[op], tuple(interpreter.lift(a) for a in args), params)


def factored(info: Any, name: str, why: str) -> None:
    """LinearAlgebraError when the program runs, if a routine did not come to an end for a matrix.

    why: what NumPy says then
    """
    bind1("factored", info, error=f"{name}: {why}")


def finite(name: str, x: Any) -> None:
    """LinearAlgebraError when the program runs, if there is a NaN or infinity in `x`."""
    factored(where(all_true(isfinite(x)), cast(0, dt.i32), cast(1, dt.i32)), name, NOT_FINITE)


def adjoint(x: Any) -> Any:
    """Matrices transposed, and conjugated if they are complex."""
    turned = matrix_transpose(x)
    return conj(turned) if dtype_of(x).is_complex else turned


def lu(x: Any) -> tuple[Any, Any, Any]:
    """LAPACK's factors by columns, its pivots and what it says, of matrices by rows."""
    found = bound("lu", matrix_transpose(x))
    return found[0], found[1], found[2]


def _flag(name: str, argument: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    value = structural(value)
    if isinstance(value, (list, tuple)):
        raise OptionError(f"{name}: {argument} is one value, got {value!r}")
    if value not in allowed:
        texts = ", ".join(map(repr, allowed))
        raise ArgumentError(f"{name}: {argument} must be one of {texts}, got {value!r}")
    return value


# --- factorisations -------------------------------------------------------------------------------


def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """The lower triangular L with L @ L^H = a; with `upper` the U with U^H @ U = a.

    a: (..., n, n), Hermitian and positive definite: only the triangle that the result has is read
    -> (..., n, n) of its type, integers and bools as float64

    raises LinearAlgebraError: not square matrices; when the program runs: not positive definite;
    DTypeError: float16, or no numbers

    NumPy: `numpy.linalg.cholesky`.

    >>> cholesky([[4.0, 2.0], [2.0, 2.0]])
    array([[2., 0.],
           [1., 1.]])
    """
    x = square("cholesky", a)
    upper = choices.truth(upper)
    factor, info = bound("cholesky", x, upper=upper)
    factored(info, "cholesky", "Matrix is not positive definite")
    return factor


def qr(a: Any, mode: str = "reduced") -> Any:
    """Q and R with Q @ R = a, the columns of Q orthonormal and R upper triangular.

    a: (..., m, n), k = min(m, n); mode: "reduced" -> (..., m, k), (..., k, n); "complete"
    (..., m, m), (..., m, n); "r" only R, reduced; "raw" the reflectors (..., n, m) and factors
    (..., k) of LAPACK
    dtype: that of a, integers and bools as float64

    raises LinearAlgebraError: rank 1 or less; ArgumentError: another mode; DTypeError: float16, or
    no numbers

    NumPy: `numpy.linalg.qr`.

    >>> qr([[1.0, 2.0], [3.0, 4.0]]).R.shape
    (2, 2)
    """
    mode = _flag("qr", "mode", mode, ("reduced", "complete", "r", "raw"))
    x = floats("qr", matrices("qr", a))
    rows, columns = shape_of(x)[-2:]
    least = min(rows, columns)
    reflectors, taus = bound("qr", matrix_transpose(x))
    if mode == "raw":
        return reflectors, taus
    kept = rows if mode == "complete" else least
    upper = triu(matrix_transpose(reflectors))
    r = upper if kept == rows else part(upper, len(shape_of(x)) - 2, 0, kept)
    if mode == "r":
        return r
    (q,) = bound("qr_columns", reflectors, taus, columns=kept)
    return QRResult(matrix_transpose(q), r)


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """U, S and Vh with (U * S) @ Vh = a, S descending, the columns of U and rows of Vh orthonormal.

    a: (..., m, n), k = min(m, n) -> (..., m, m), (..., k), (..., n, n); (..., m, k) and
    (..., k, n) without `full_matrices`; only S without `compute_uv`
    hermitian: `a` is known to be so, and its eigenvectors are used
    dtype: that of a, integers and bools as float64; of S the float of its width

    raises LinearAlgebraError: rank 1 or less; when the program runs: no convergence, as
    for NaN; DTypeError: float16, or no numbers

    NumPy: `numpy.linalg.svd`.

    >>> svd([[3.0, 0.0], [0.0, 4.0]]).S
    array([4., 3.])
    """
    x = floats("svd", matrices("svd", a))
    full, vectors = choices.truth(full_matrices), choices.truth(compute_uv)
    if choices.truth(hermitian):
        return _of_hermitian(square("svd", x), vectors)
    if not min(shape_of(x)[-2:]):
        return _svd_of_nothing(x, full, vectors)
    found = bound("svd", matrix_transpose(x), vectors=(2 if full else 1) if vectors else 0)
    factored(found[-1], "svd", "SVD did not converge")
    if not vectors:
        return found[0]
    return SVDResult(matrix_transpose(found[1]), found[0], matrix_transpose(found[2]))


def _svd_of_nothing(x: Any, full: bool, vectors: bool) -> Any:
    *batch, rows, columns = shape_of(x)
    kind = dtype_of(x)
    values = zeros((*batch, 0), kind.real.numpy if kind.is_complex else kind.numpy)
    if not vectors:
        return values
    left, right = (
        broadcast(part(eye(n, dtype=kind.numpy), axis, 0, n if full else 0), shape)
        for n, axis, shape in (
            (rows, 1, (*batch, rows, rows if full else 0)),
            (columns, 0, (*batch, columns if full else 0, columns)),
        )
    )
    return SVDResult(left, values, right)


def _of_hermitian(x: Any, vectors: bool) -> Any:
    """The singular values of Hermitian matrices are the magnitudes of the eigenvalues."""
    if not vectors:
        return manipulation.flip(ascending(absolute(eigvalsh(x))), -1)
    values, right = eigh(x)
    size = absolute(values)
    order = manipulation.flip(argsort(size, axis=-1, stable=True), -1)
    values, size = (take_along_axis(v, order, axis=-1) for v in (values, size))
    u = take_along_axis(right, manipulation.expand_dims(order, -2), axis=-1)
    signs = where(less(values, 0), -1.0, 1.0)  # of 0 too: the rows of Vh stay orthonormal
    signs = manipulation.expand_dims(cast(signs, dtype_of(u)), -2)
    return SVDResult(u, size, adjoint(multiply(u, signs)))


def svdvals(x: Any, /) -> Any:
    """The singular values in descending order: x (..., m, n) -> (..., min(m, n)).

    dtype: float32 for float32 and complex64, else float64

    raises LinearAlgebraError: rank 1 or less; when the program runs: no convergence, as for NaN;
    DTypeError: float16, or no numbers

    NumPy: `numpy.linalg.svdvals`.

    >>> svdvals([[3.0, 0.0], [0.0, 4.0]])
    array([4., 3.])
    """
    return svd(x, compute_uv=False)


def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """The eigenvalues, ascending, and the eigenvectors as columns, of Hermitian matrices.

    a: (..., n, n), of which the triangle UPLO ("L" or "U") is read -> (..., n), (..., n, n)
    dtype: of the vectors that of a, integers and bools as float64; of the values the float of its
    width

    raises LinearAlgebraError: not square matrices; when the program runs: no convergence;
    ArgumentError: another UPLO; DTypeError: float16, or no numbers

    NumPy: `numpy.linalg.eigh`.

    >>> eigh([[2.0, 0.0], [0.0, 3.0]]).eigenvalues
    array([2., 3.])
    """
    x = square("eigh", a)
    found = bound("eigh", matrix_transpose(x), upper=_is_upper("eigh", UPLO), vectors=True)
    factored(found[2], "eigh", "Eigenvalues did not converge")
    return EighResult(found[0], matrix_transpose(found[1]))


def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices, ascending: a (..., n, n) -> (..., n).

    UPLO: the triangle that is read, "L" or "U"; dtype: float32 for float32 and complex64, else
    float64

    raises LinearAlgebraError: not square matrices; when the program runs: no convergence;
    ArgumentError: another UPLO; DTypeError: float16, or no numbers

    NumPy: `numpy.linalg.eigvalsh`.

    >>> eigvalsh([[2.0, 0.0], [0.0, 3.0]])
    array([2., 3.])
    """
    x = square("eigvalsh", a)
    upper = _is_upper("eigvalsh", UPLO)
    values, info = bound("eigh", matrix_transpose(x), upper=upper, vectors=False)
    factored(info, "eigvalsh", "Eigenvalues did not converge")
    return values


def _is_upper(name: str, side: Any) -> bool:
    return bool(_flag(name, "UPLO", side, ("L", "U", "l", "u")) in ("U", "u"))


def eig(a: Any) -> EigResult:
    """The eigenvalues, and the eigenvectors of length 1 as columns, of square matrices.

    a: (..., n, n) -> (..., n), (..., n, n), complex whatever the values are (NumPy gives real
    arrays where all eigenvalues are real, which depends on data)
    dtype: complex64 for float32 and complex64, else complex128

    raises LinearAlgebraError: not square matrices; when the program runs: NaN or infinity in `a`,
    or no convergence; DTypeError: float16, or no numbers

    NumPy: `numpy.linalg.eig`.

    >>> eig([[2.0, 0.0], [0.0, 3.0]]).eigenvalues
    array([2.+0.j, 3.+0.j])
    """
    x = square("eig", a)
    finite("eig", x)
    *values, right, info = bound("eig", matrix_transpose(x), vectors=True)
    factored(info, "eig", "Eigenvalues did not converge")
    if dtype_of(x).is_complex:
        return EigResult(values[0], matrix_transpose(right))
    return EigResult(_complex(*values), _unpacked(values[1], matrix_transpose(right)))


def _unpacked(imaginary: Any, packed: Any) -> Any:
    """Eigenvectors of real matrices: of a pair of conjugate values the first column is the real
    part and the second the imaginary part of the first vector."""
    second = pieces.roll(packed, -1, axis=-1)
    before = pieces.roll(packed, 1, axis=-1)
    of_value = manipulation.expand_dims(imaginary, -2)
    first, last = greater(of_value, 0), less(of_value, 0)
    re = where(last, before, packed)
    return _complex(re, where(first, second, where(last, negative(packed), 0)))


def _complex(re: Any, im: Any) -> Any:
    return bind1("complex", re, im)


def eigvals(a: Any) -> Any:
    """The eigenvalues of square matrices, complex: a (..., n, n) -> (..., n); see `eig`.

    dtype: complex64 for float32 and complex64, else complex128

    raises LinearAlgebraError: not square matrices; when the program runs: NaN or infinity in `a`,
    or no convergence; DTypeError: float16, or no numbers

    NumPy: `numpy.linalg.eigvals`.

    >>> eigvals([[2.0, 0.0], [0.0, 3.0]])
    array([2.+0.j, 3.+0.j])
    """
    x = square("eigvals", a)
    finite("eigvals", x)
    *values, info = bound("eig", matrix_transpose(x), vectors=False)
    factored(info, "eigvals", "Eigenvalues did not converge")
    return values[0] if dtype_of(x).is_complex else _complex(*values)
