"""Linear algebra under the names and with the arguments of `scipy.linalg`, where NumPy has none.

Matrices lie in the last two axes, the others are a batch. `overwrite_a`, `overwrite_b` and
`check_finite` are taken: nothing that belongs to the caller is overwritten (`donate_argnums` of
`pyc.jit` does that), and what is not finite raises as in SciPy. SciPy is not needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.compositions import public
from pyc.compositions import run as run_as_program
from pyc.errors import ArgumentError, DTypeError, ShapeError
from pyc.ir import dtype as dt
from pyc.numpy import core, factorisations, solvers
from pyc.numpy.creation import iota
from pyc.trace.control import while_loop

__all__ = [
    *("cho_factor", "cho_solve", "expm", "lu", "lu_factor", "lu_solve", "solve_triangular"),
]

_TRANSPOSES: dict[Any, int] = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}


def _given(name: str, x: Any, check_finite: bool) -> Any:
    """An argument as numbers of LAPACK; LinearAlgebraError when the program runs if it is not
    finite."""
    x = factorisations.floats(f"linalg.{name}", _single(x))
    if check_finite:
        factorisations.finite(f"linalg.{name}", x)
    return x


def _single(x: Any) -> Any:
    """Halves as float32, as in SciPy."""
    x = core.value(x)
    return core.cast(x, dt.f32) if core.dtype_of(x).is_half else x


def _transpose(name: str, trans: Any) -> int:
    found = _TRANSPOSES.get(trans)
    if found is None:
        raise ArgumentError(f"linalg.{name}: trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")
    return found


# --- triangles ------------------------------------------------------------------------------------


def _run(name: str, function: Any, *arrays: Any, fixed: tuple[Any, ...] = ()) -> Any:
    """What a program gives of matrices, which may be lists of rows."""
    return run_as_program(name, function, *map(pnp.asarray, arrays), fixed=fixed)


@public
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The x with a @ x = b for triangular matrices, of which the other triangle is not read.

    a: (..., n, n), b: (n,) or (..., n, k); trans: 0 or "N", 1 or "T" for the transpose, 2 or "C"
    for the adjoint; unit_diagonal: the diagonal is taken to be 1, and not read

    raises LinearAlgebraError: not square matrices; when the program runs: a 0 in the diagonal, or
    what is not finite
    """
    fixed = (
        *(_transpose("solve_triangular", trans), bool(lower), bool(unit_diagonal)),
        bool(check_finite),
    )
    return _run("linalg.solve_triangular", _solve_triangular, a, b, fixed=fixed)


def _solve_triangular(
    a: Any, b: Any, trans: int, lower: bool, unit: bool, check_finite: bool
) -> Any:
    a, b = (_given("solve_triangular", x, check_finite) for x in (a, b))
    return _triangular(a, b, trans, lower, unit)


def _triangular(a: Any, b: Any, trans: int, lower: bool, unit: bool) -> Any:
    return solvers.solve_triangular(
        a, b, lower=lower, transposed=trans > 0, conjugated=trans == 2, unit=unit
    )


def _factored(name: str, parameter: str, maker: str, given: Any) -> tuple[Any, Any]:
    """The pair of a factorisation.

    raises DTypeError: what has no items; ArgumentError: no two items
    """
    fix = f"Give `{name}` what `{maker}` gives."
    if not isinstance(given, (tuple, list)):
        raise DTypeError(f"linalg.{name}: `{parameter}` is a pair, got one thing", fix=fix)
    if len(given) != 2:
        raise ArgumentError(
            f"linalg.{name}: `{parameter}` is a pair, got {len(given)} items", fix=fix
        )
    return given[0], given[1]


@public
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, Any]:
    """The factor of a Hermitian, positive definite matrix, for `cho_solve`, and `lower`: a bool, of
    a batch an array of them, as in SciPy.

    The other triangle is that of `a`, as in SciPy; nothing reads it.

    raises LinearAlgebraError: not square matrices; when the program runs: not positive definite, or
    what is not finite
    """
    fixed = (bool(lower), bool(check_finite))
    factor = _run("linalg.cho_factor", _cho_factor, a, fixed=fixed)
    batch = core.shape_of(factor)[:-2]
    return factor, pnp.full(batch, fixed[0]) if batch else fixed[0]


def _cho_factor(a: Any, lower: bool, check_finite: bool) -> Any:
    given = _given("cho_factor", a, check_finite)
    factor = factorisations.cholesky(given, upper=not lower)
    side = core.shape_of(given)[-1]
    rows, columns = (iota((side, side), axis, dt.i64) for axis in (0, 1))
    other = pnp.less(rows, columns) if lower else pnp.less(columns, rows)
    return pnp.where(other, given, factor)


@public
def cho_solve(
    c_and_lower: tuple[Any, Any], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """The x with a @ x = b, by what `cho_factor` gives for a.

    raises ArgumentError: some matrices of a batch are upper, and some lower, or no two items;
    DTypeError: what is no pair
    """
    factor, lower = _factored("cho_solve", "c_and_lower", "cho_factor", c_and_lower)
    sides = np.unique(np.asarray(core.structural(lower), bool))
    if sides.size > 1:
        raise ArgumentError(
            "linalg.cho_solve: some matrices of the batch are upper, and some lower",
            fix="Solve them apart, or take all factors by one `lower`.",
        )
    fixed = (bool(sides.size and sides[0]), bool(check_finite))
    return _run("linalg.cho_solve", _cho_solve, factor, b, fixed=fixed)


def _cho_solve(factor: Any, b: Any, lower: bool, check_finite: bool) -> Any:
    factor, b = (_given("cho_solve", x, check_finite) for x in (factor, b))
    first = _triangular(factor, b, 0 if lower else 2, lower, False)
    return _triangular(factor, first, 2 if lower else 0, lower, False)


# --- LU -------------------------------------------------------------------------------------------


@public
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """L and U in one matrix, and the row, from 0, that each one was exchanged for, int32.

    a: (..., m, n) -> (..., m, n), (..., min(m, n)); a singular matrix has factors, as in SciPy
    """
    found: tuple[Any, Any] = _run("linalg.lu_factor", _lu_factor, a, fixed=(bool(check_finite),))
    return found


def _lu_factor(a: Any, check_finite: bool) -> tuple[Any, Any]:
    x = factorisations.matrices("linalg.lu_factor", _given("lu_factor", a, check_finite))
    factors, pivots, _ = factorisations.lu(x)
    return pnp.matrix_transpose(factors), pnp.subtract(pivots, 1)


@public
def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: Any = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The x with a @ x = b, by what `lu_factor` gives for a; trans: as in `solve_triangular`."""
    factors, pivots = _factored("lu_solve", "lu_and_piv", "lu_factor", lu_and_piv)
    pivots = pnp.asarray(pivots)
    if not core.shape_of(pivots):
        raise ShapeError(
            "linalg.lu_solve: the rows that were exchanged are an array, got a number",
            fix="Give `lu_solve` what `lu_factor` gives.",
        )
    fixed = (_transpose("lu_solve", trans), bool(check_finite))
    return _run("linalg.lu_solve", _lu_solve, factors, pivots, b, fixed=fixed)


def _lu_solve(factors: Any, pivots: Any, b: Any, trans: int, check_finite: bool) -> Any:
    factors, b = (_given("lu_solve", x, check_finite) for x in (factors, b))
    order = _permutation(pivots, core.shape_of(factors)[-2])
    is_line = len(core.shape_of(b)) == 1
    columns = pnp.expand_dims(b, -1) if is_line else b
    if not trans:
        found = _triangular(factors, _rows(columns, order), 0, True, True)
        found = _triangular(factors, found, 0, False, False)
    else:
        found = _triangular(factors, columns, trans, False, False)
        found = _triangular(factors, found, trans, True, True)
        found = _rows(found, pnp.argsort(order, axis=-1))
    return found[..., 0] if is_line else found


def _rows(x: Any, order: Any) -> Any:
    """The rows of matrices in an order for each, or for all."""
    batch = core.broadcast_shape("lu_solve", [core.shape_of(order)[:-1], core.shape_of(x)[:-2]])
    x = core.broadcast(x, (*batch, *core.shape_of(x)[-2:]))
    places = core.broadcast(pnp.expand_dims(order, -1), core.shape_of(x))
    return pnp.take_along_axis(x, places, axis=-2)


def _permutation(pivots: Any, rows: int) -> Any:
    """The rows in the order to which exchanges bring them, int64.

    It is what a solver makes of the numbers of the rows if both factors are identities.
    """
    *batch, count = core.shape_of(pivots)
    shape = (*batch, rows)
    own = iota((*batch, rows - count), len(batch), dt.i32)
    exchanged = pnp.concat((core.cast(pivots, dt.i32), pnp.add(own, count)), axis=-1)
    identity = core.broadcast(pnp.eye(rows), (*batch, rows, rows))
    numbers = core.broadcast(pnp.arange(rows, dtype=np.float64), (*batch, 1, rows))
    (found,) = factorisations.bound("lu_solve", identity, pnp.add(exchanged, 1), numbers)
    return core.cast(pnp.reshape(found, shape), dt.i64)


@public
def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[Any, ...]:
    """P, L and U with P @ L @ U = a, L with a diagonal of 1.

    a: (..., m, n), k = min(m, n) -> (..., m, m), (..., m, k), (..., k, n); permute_l: P @ L and U;
    p_indices: in place of P the rows p with L[p] @ U = a, int32; of
    matrices of one element int64, as in SciPy
    """
    fixed = (bool(permute_l), bool(check_finite), bool(p_indices))
    found: tuple[Any, ...] = _run("linalg.lu", _lu, a, fixed=fixed)
    return found


def _lu(a: Any, permute_l: bool, check_finite: bool, p_indices: bool) -> tuple[Any, ...]:
    factors, pivots = _lu_factor(a, check_finite)
    *batch, rows, columns = core.shape_of(factors)
    least = min(rows, columns)
    rank = len(batch) + 2
    diagonal = pnp.eye(rows, least, dtype=core.dtype_of(factors).numpy)
    lower = pnp.add(pnp.tril(core.part(factors, rank - 1, 0, least), -1), diagonal)
    upper = pnp.triu(core.part(factors, rank - 2, 0, least))
    order = _permutation(pivots, rows)
    back = pnp.argsort(order, axis=-1)
    if permute_l:
        return _rows(lower, back), upper
    if p_indices:
        # SciPy asks no LAPACK about single elements, and has other integers then.
        kind = dt.i64 if rows == columns == 1 else dt.i32
        return core.cast(back, kind), lower, upper
    number = iota((*batch, rows, rows), rank - 2, dt.i64)
    placed = pnp.equal(number, pnp.expand_dims(order, -2))
    return core.cast(placed, solvers.real_type(core.dtype_of(factors))), lower, upper


# --- the exponential ------------------------------------------------------------------------------

_PADE_13 = (
    *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0),
    *(129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0),
    *(40840800.0, 960960.0, 16380.0, 182.0, 1.0),
)
_PADE_7 = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
"""Coefficients of the numerators of the diagonal Pade approximants (N. J. Higham, "The scaling and
squaring method for the matrix exponential revisited", 2005)."""
_LARGEST = {13: 5.371920351148152, 7: 3.925724783138660}
"""The norms up to which they are exact to the roundings of float64, and of float32."""
_MOST_SQUARINGS = 1030
"""More than any finite norm asks for."""


@public
def expm(A: Any) -> Any:  # noqa: N803 - as in SciPy
    """The exponential of square matrices, by scaling and squaring: (..., n, n) -> (..., n, n).

    raises LinearAlgebraError: not square matrices
    """
    return _run("linalg.expm", _expm, A)


def _expm(a: Any) -> Any:
    x = factorisations.square("linalg.expm", _single(a))
    real = solvers.real_type(core.dtype_of(x))
    degree = 7 if real is dt.f32 else 13
    if not core.shape_of(x)[-1]:
        return x
    size = pnp.max(pnp.sum(pnp.abs(x), axis=-2), axis=-1)
    times = pnp.ceil(pnp.log2(pnp.divide(size, _LARGEST[degree])))
    times = core.cast(pnp.clip(times, 0, _MOST_SQUARINGS), dt.i64)
    scale = pnp.exp2(core.cast(pnp.negative(times), real))
    found = _pade(pnp.multiply(x, scale[..., None, None]), degree)
    most = pnp.max(times)

    def squared(state: tuple[Any, Any]) -> tuple[Any, Any]:
        k, y = state
        goes_on = pnp.less(k, times)[..., None, None]
        return pnp.add(k, 1), pnp.where(goes_on, pnp.matmul(y, y), y)

    return while_loop(lambda state: pnp.less(state[0], most), squared, (np.int64(0), found))[1]


def _pade(x: Any, degree: int) -> Any:
    """The approximant of a degree: (V - U)^-1 (V + U), of odd and even powers."""
    b = _PADE_7 if degree == 7 else _PADE_13
    eye = pnp.eye(core.shape_of(x)[-1], dtype=core.dtype_of(x).numpy)
    powers = [eye, pnp.matmul(x, x)]
    for _ in range(2):
        powers.append(pnp.matmul(powers[-1], powers[1]))

    def combined(coefficients: tuple[float, ...]) -> Any:
        terms = [pnp.multiply(p, c) for p, c in zip(powers, coefficients, strict=False)]
        found = terms[0]
        for term in terms[1:]:
            found = pnp.add(found, term)
        return found

    odd, even = combined(b[1:8:2]), combined(b[0:8:2])
    if degree == 13:
        sixth = powers[3]
        for low, name in ((9, "odd"), (8, "even")):
            high = combined((0.0, *b[low::2]))
            term = pnp.matmul(sixth, high)
            odd, even = (pnp.add(odd, term), even) if name == "odd" else (odd, pnp.add(even, term))
    u = pnp.matmul(x, odd)
    return solvers.solve(pnp.subtract(even, u), pnp.add(even, u))
