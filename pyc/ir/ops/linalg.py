"""Factorisations and solvers of matrices: library ops, each a routine of LAPACK (`ir/routines.py`).

Leading axes are a batch, the same for all arguments. Matrices come and go *by columns*: an array
(..., n, m) is a matrix of m rows and n columns, transposed; but for `cholesky`, by rows. Floats and
complex numbers of 32 and 64 bits a part. `info`, i32 for each matrix, is 0 where the routine came
to an end, else what LAPACK says: `factored` makes an error of that.

    cholesky(a; upper) -> factor, info                  the other triangle is 0
    lu(a) -> lu, pivots, info                           pivots count from 1, as LAPACK's do
    lu_solve(lu, pivots, b) -> x
    lu_inverse(lu, pivots) -> inverse, info
    qr(a) -> reflectors, taus
    qr_columns(reflectors, taus; columns) -> q          the first columns of Q
    svd(a; vectors) -> values, [u, vt,] info            vectors: 0 none, 1 as many as values, 2 all
    eigh(a; upper, vectors) -> values, [vectors,] info
    eig(a; vectors) -> values, [vectors,] info          of a real matrix two arrays of values, their
                                                        parts; and vectors as `geev` packs them
    least_squares(a, b, rcond) -> x, values, rank, info b and x have as many rows as the longer has;
                                                        what x has beyond the solution means nothing
    triangular_solve(a, b; upper, transposed, unit) -> x, info

Bits are those of the library's version on this processor, whatever threads there are.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

from pyc.errors import DTypeError, LinearAlgebraError, ShapeError
from pyc.forks import load
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.op import Kind, LibraryStep, Op, Types, define, pointwise_types
from pyc.ir.types import ArrayType

if TYPE_CHECKING:
    from pyc.ir.batch import Batch, Operand

PACKAGE = "scipy_openblas32"
"""The package of LAPACK; its version decides the bits."""

Sizes = tuple[int, ...]
LETTERS: dict[DType, str] = {dt.f32: "s", dt.f64: "d", dt.c64: "c", dt.c128: "z"}
"""LAPACK's names of the types that it takes."""


def _matrices(name: str, args: Types, count: int = 1) -> tuple[Sizes, DType]:
    """The batch and the type of the first arguments, which are matrices."""
    first = args[0]
    if first.rank < 2:
        raise ShapeError(f"{name}: needs rank 2 or more, got {first}")
    if first.dtype not in LETTERS:
        raise DTypeError(f"{name}: needs floats of 32 or 64 bits or complex numbers, got {first}")
    batch = first.shape[:-2]
    for x in args[:count]:
        if x.shape[:-2] != batch or x.rank != first.rank or x.dtype is not first.dtype:
            raise ShapeError(f"{name}: the batches differ: {', '.join(map(str, args))}")
    return batch, first.dtype


def _square(name: str, a: ArrayType) -> int:
    if a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"{name}: needs square matrices, got {a}")
    return a.shape[-1]


def _real(dtype: DType) -> DType:
    return dtype.real if dtype.is_complex else dtype


def _info(batch: Sizes) -> ArrayType:
    return ArrayType(batch, dt.i32)


def _library(
    name: str,
    types: Callable[..., Types],
    routine: Callable[..., tuple[str, int, Sizes]],
    overwrites: dict[int, int] | None = None,
    shared: int | None = None,
) -> Op:
    """Define an op. routine: its name, operations for one matrix, and sizes; shared: how many
    arguments in front may be the same for all lanes, the next one's columns being the lanes'."""

    def step(args: Types, **params: Any) -> LibraryStep:
        batch, dtype = _matrices(name, args)
        function, flops, sizes = routine(args, **params)
        made = load("pyc.ir.routines").step_of(function, LETTERS[dtype], prod(batch), flops, sizes)
        return LibraryStep(*made)

    def reference(*args: Any, **params: Any) -> Any:
        return load("pyc.ir.ops.linalg_reference").evaluate(name, args, params)

    def batched(batch: Batch, args: list[Operand], **params: Any) -> list[Operand]:
        return _lanes(batch, args, shared, params)

    return define(
        Op(
            name,
            Kind.LIBRARY,
            types,
            routine=step,
            reference=reference,
            batch=batched,
            kinds="float complex",
            overwrites=overwrites or {},
        )
    )


def _lanes(
    batch: Batch, args: list[Operand], shared: int | None, params: dict[str, Any]
) -> list[Operand]:
    """The lanes as the first axis of the batch; or as columns of one system of equations."""
    if all(x.axis is None for x in args):
        return [batch.operand(v) for v in batch.bind(batch.op, *(x.value for x in args), **params)]
    if shared is not None and all(x.axis is None for x in args[:shared]):
        right = args[shared]
        if right.lane.rank == 2:
            columns, rows = right.lane.shape
            together = batch.reshaped(batch.at(right, 0), (batch.size * columns, rows))
            values = (*(x.value for x in args[:shared]), together)
            x, *rest = batch.bind(batch.op, *values, **params)
            apart = batch.reshaped(x, (batch.size, columns, rows))
            return [batch.operand(apart, 0), *(batch.operand(v) for v in rest)]
    outs = batch.bind(batch.op, *(batch.at(x, 0) for x in args), **params)
    return [batch.operand(v, 0) for v in outs]


# --- Cholesky -------------------------------------------------------------------------------------


def _cholesky_types(args: Types, *, upper: bool) -> Types:
    batch, _ = _matrices("cholesky", args)
    _square("cholesky", args[0])
    return args[0], _info(batch)


def _cholesky_routine(args: Types, *, upper: bool) -> tuple[str, int, Sizes]:
    n = args[0].shape[-1]
    return "potrf", n**3 // 3, (int(upper), n)


_library("cholesky", _cholesky_types, _cholesky_routine, {0: 0})


# --- LU -------------------------------------------------------------------------------------------


def _lu_types(args: Types) -> Types:
    (a,) = args
    batch, _ = _matrices("lu", args)
    return a, ArrayType((*batch, min(a.shape[-2:])), dt.i32), _info(batch)


def _lu_routine(args: Types) -> tuple[str, int, Sizes]:
    n, m = args[0].shape[-2:]
    return "getrf", m * n * min(m, n), (m, n)


def _pivoted(name: str, args: Types) -> int:
    """The order of matrices that are factored."""
    factors, pivots = args[:2]
    n = _square(name, factors)
    if pivots != ArrayType((*factors.shape[:-2], n), dt.i32):
        raise ShapeError(f"{name}: {pivots} are no pivots of {factors}")
    return n


def _lu_solve_types(args: Types) -> Types:
    factors, _, b = args
    _matrices("lu_solve", (factors, b), 2)
    if b.shape[-1] != _pivoted("lu_solve", args):
        raise ShapeError(f"lu_solve: {factors} and {b} have columns of different lengths")
    return (b,)


def _lu_solve_routine(args: Types) -> tuple[str, int, Sizes]:
    right, n = args[2].shape[-2:]
    return "getrs", 2 * n * n * right, (n, right)


def _lu_inverse_types(args: Types) -> Types:
    batch, _ = _matrices("lu_inverse", args)
    _pivoted("lu_inverse", args)
    return args[0], _info(batch)


def _lu_inverse_routine(args: Types) -> tuple[str, int, Sizes]:
    n = args[0].shape[-1]
    return "getri", 4 * n**3 // 3, (n,)


_library("lu", _lu_types, _lu_routine, {0: 0})
_library("lu_solve", _lu_solve_types, _lu_solve_routine, {0: 2}, shared=2)
_library("lu_inverse", _lu_inverse_types, _lu_inverse_routine, {0: 0})


# --- QR -------------------------------------------------------------------------------------------


def _qr_types(args: Types) -> Types:
    (a,) = args
    batch, dtype = _matrices("qr", args)
    return a, ArrayType((*batch, min(a.shape[-2:])), dtype)


def _qr_routine(args: Types) -> tuple[str, int, Sizes]:
    n, m = args[0].shape[-2:]
    return "geqrf", 2 * m * n * min(m, n), (m, n)


def _qr_columns_types(args: Types, *, columns: int) -> Types:
    reflectors, taus = args
    batch, dtype = _matrices("qr_columns", args)
    n, m = reflectors.shape[-2:]
    if taus != ArrayType((*batch, min(m, n)), dtype):
        raise ShapeError(f"qr_columns: {taus} are no factors of the reflectors {reflectors}")
    if not min(m, n) <= columns <= m:
        raise ShapeError(f"qr_columns: {reflectors} give no {columns} columns")
    return (ArrayType((*batch, columns, m), dtype),)


def _qr_columns_routine(args: Types, *, columns: int) -> tuple[str, int, Sizes]:
    n, m = args[0].shape[-2:]
    return "orgqr", 4 * m * columns * min(m, n), (m, n, min(m, n), columns)


_library("qr", _qr_types, _qr_routine, {0: 0})
_library("qr_columns", _qr_columns_types, _qr_columns_routine, {0: 0})


# --- singular values and eigenvalues --------------------------------------------------------------


def _svd_types(args: Types, *, vectors: int) -> Types:
    (a,) = args
    batch, dtype = _matrices("svd", args)
    n, m = a.shape[-2:]
    least = min(m, n)
    values = ArrayType((*batch, least), _real(dtype))
    if not vectors:
        return values, _info(batch)
    wide, high = (least, least) if vectors == 1 else (m, n)
    u, vt = ArrayType((*batch, wide, m), dtype), ArrayType((*batch, n, high), dtype)
    return values, u, vt, _info(batch)


def _svd_routine(args: Types, *, vectors: int) -> tuple[str, int, Sizes]:
    n, m = args[0].shape[-2:]
    return "gesdd", 20 * m * n * min(m, n), (vectors, m, n)


def _eigh_types(args: Types, *, upper: bool, vectors: bool) -> Types:
    (a,) = args
    batch, dtype = _matrices("eigh", args)
    values = ArrayType((*batch, _square("eigh", a)), _real(dtype))
    return (values, a, _info(batch)) if vectors else (values, _info(batch))


def _eigh_routine(args: Types, *, upper: bool, vectors: bool) -> tuple[str, int, Sizes]:
    n = args[0].shape[-1]
    return "syevd", 9 * n**3, (int(vectors), int(upper), n)


def _eig_types(args: Types, *, vectors: bool) -> Types:
    (a,) = args
    batch, dtype = _matrices("eig", args)
    values = ArrayType((*batch, _square("eig", a)), dtype)
    parts = (values,) if dtype.is_complex else (values, values)
    return (*parts, a, _info(batch)) if vectors else (*parts, _info(batch))


def _eig_routine(args: Types, *, vectors: bool) -> tuple[str, int, Sizes]:
    n = args[0].shape[-1]
    return "geev", 25 * n**3, (int(vectors), n)


_library("svd", _svd_types, _svd_routine)
_library("eigh", _eigh_types, _eigh_routine, {1: 0})
_library("eig", _eig_types, _eig_routine)


# --- equations ------------------------------------------------------------------------------------


def _least_squares_types(args: Types) -> Types:
    a, b, rcond = args
    batch, dtype = _matrices("least_squares", args, 2)
    n, m = a.shape[-2:]
    if b.shape[-1] != max(m, n) or rcond != ArrayType(batch, _real(dtype)):
        raise ShapeError(f"least_squares: {a}, {b} and {rcond} do not fit together")
    values = ArrayType((*batch, min(m, n)), _real(dtype))
    return b, values, ArrayType(batch, dt.i32), _info(batch)


def _least_squares_routine(args: Types) -> tuple[str, int, Sizes]:
    n, m = args[0].shape[-2:]
    right = args[1].shape[-2]
    return "gelsd", 20 * m * n * min(m, n) + 4 * m * n * right, (m, n, right)


def _triangular_types(args: Types, *, upper: bool, transposed: bool, unit: bool) -> Types:
    a, b = args
    batch, _ = _matrices("triangular_solve", args, 2)
    if b.shape[-1] != _square("triangular_solve", a):
        raise ShapeError(f"triangular_solve: {a} and {b} have columns of different lengths")
    return b, _info(batch)


def _triangular_routine(
    args: Types, *, upper: bool, transposed: bool, unit: bool
) -> tuple[str, int, Sizes]:
    right, n = args[1].shape[-2:]
    flags = (int(upper), int(transposed), int(unit))
    return "trtrs", n * n * right, (*flags, n, right)


_library("least_squares", _least_squares_types, _least_squares_routine, {0: 1})
_library("triangular_solve", _triangular_types, _triangular_routine, {0: 1}, shared=1)


# --- failures -------------------------------------------------------------------------------------

# What a routine says as it is, or LinearAlgebraError when the program runs.
define(
    Op(
        "factored",
        Kind.POINTWISE,
        pointwise_types("factored", "int"),
        scalar=lambda info, *, error: info,
        reference=lambda info, *, error: info,
        kinds="int",
        fails=lambda info, *, error: (info.differs(0), info.cast(dt.i64)),
        failure=lambda value, *, error: LinearAlgebraError(error),
        spared={0: 0},
        effect=True,
        widen=False,
        cost=2,
    )
)

__all__ = ["LETTERS", "PACKAGE"]
