"""Batches of small real matrices: their factorisations and solutions as kernels, an iteration each.

Takes what an op of `ir/ops/linalg.py` takes, gives a logical kernel over (arguments, results) whose
one loop runs over the matrices, with the matrix in variables: the schedule puts several of them
side by side in vectors, or one in each thread of a device. None for what a routine of LAPACK does
better: larger or complex matrices, and few of them.

The steps are those of the textbook, with LAPACK's pivots (the first of the largest magnitude) and
its `info`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Const, Expr, Load, Var, absolute, apply, const, select
from pyc.ir.loops import Buffer, For, Kernel, Kind, Let, Stmt, Store
from pyc.ir.types import ArrayType

ORDER = 4
"""Rows and columns up to which a matrix is held in variables: its code grows by the third power."""
FEWEST = 128
"""Matrices from which it pays: the code takes some 50 ms longer to compile than calls of a routine,
and saves 50 to 300 ns for each matrix."""

Row = list[Expr]


class _Steps:
    """The statements of an iteration in the making. at: which matrix."""

    def __init__(self, at: Expr) -> None:
        self.at = at
        self.done: list[Stmt] = []

    def let(self, value: Expr) -> Expr:
        """A value that is computed here, once."""
        if isinstance(value, (Var, Const)):
            return value
        var = Var(f"v{len(self.done)}", value.dtype)
        self.done.append(Let(var, value))
        return var

    def matrix(self, buffer: Buffer, *, turned: bool) -> list[Row]:
        """The rows of a matrix. turned: it is stored by columns."""
        rows, columns = _sides(buffer, turned)
        return [
            [self.let(self.load(buffer, *((c, r) if turned else (r, c)))) for c in range(columns)]
            for r in range(rows)
        ]

    def load(self, buffer: Buffer, *place: int) -> Expr:
        """An element of the matrix."""
        return Load(buffer, (self.at, *map(const, place)))

    def store(self, buffer: Buffer, value: Expr, *place: int) -> None:
        """Stores an element of the matrix."""
        self.done.append(Store(buffer, (self.at, *map(const, place)), value))

    def store_matrix(self, buffer: Buffer, rows: Sequence[Row], *, turned: bool) -> None:
        """Stores all of a matrix."""
        for r, row in enumerate(rows):
            for c, value in enumerate(row):
                self.store(buffer, value, *((c, r) if turned else (r, c)))

    def first(self, tests: Sequence[Expr]) -> Expr:
        """1 + the number of the first test that holds, i32; 0 if none does."""
        found: Expr = Const(0, dt.i32)
        for k in reversed(range(len(tests))):
            found = select(tests[k], Const(k + 1, dt.i32), found)
        return self.let(found)


def _sides(buffer: Buffer, turned: bool) -> tuple[int, int]:
    last = [n for n in buffer.shape[-2:] if isinstance(n, int)]
    return (last[1], last[0]) if turned else (last[0], last[1])


def small_matrices(
    op: str, types: Sequence[ArrayType], results: Sequence[ArrayType], params: Mapping[str, Any]
) -> Kernel | None:
    """The kernel of an op for a batch, None if a routine is better."""
    body = _BODIES.get(op)
    matrix = types[0]
    count = prod(matrix.shape[:-2])
    if body is None or matrix.dtype.is_complex or not 1 <= matrix.shape[-1] == matrix.shape[-2]:
        return None
    if matrix.shape[-1] > ORDER or count < FEWEST:
        return None
    buffers = tuple(
        Buffer(name, t.dtype, (count, *t.shape[matrix.rank - 2 :]), role=role)
        for role, name, group in (("in", "a", types), ("out", "r", results))
        for name, t in ((f"{name}{k}", t) for k, t in enumerate(group))
    )
    at = Var("matrix")
    steps = _Steps(at)
    body(steps, buffers, **params)
    loop = For(at, count, Kind.PARALLEL, tuple(steps.done))
    return Kernel(name=f"small_{op}", buffers=buffers, sizes=(), body=(loop,))


# --- factorisations -------------------------------------------------------------------------------


def _cholesky(s: _Steps, buffers: Sequence[Buffer], *, upper: bool) -> None:
    """By rows, of the triangle that the result has; the other one is 0."""
    source, factor, info = buffers
    a = s.matrix(source, turned=upper)
    n = len(a)
    failing: list[Expr] = []
    for k in range(n):
        rest = a[k][k]
        for j in range(k):
            rest = rest - a[k][j] * a[k][j]
        rest = s.let(rest)
        failing.append(~(rest > 0))
        a[k][k] = s.let(apply("sqrt", rest))
        for r in range(k + 1, n):
            sum_ = a[r][k]
            for j in range(k):
                sum_ = sum_ - a[r][j] * a[k][j]
            a[r][k] = s.let(sum_ / a[k][k])
            a[k][r] = _zero(source.dtype)
    s.store_matrix(factor, a, turned=upper)
    s.store(info, s.first(failing))


def _lu(s: _Steps, buffers: Sequence[Buffer]) -> None:
    """Column by column, with exchanges of whole rows."""
    source, factors, pivots, info = buffers
    a = s.matrix(source, turned=True)
    n = len(a)
    failing: list[Expr] = []
    for k in range(n):
        best, place = s.let(absolute(a[k][k])), s.let(Const(k, dt.i32))
        for r in range(k + 1, n):
            size = s.let(absolute(a[r][k]))
            larger = s.let(size > best)
            best = s.let(select(larger, size, best))
            place = s.let(select(larger, Const(r, dt.i32), place))
        s.store(pivots, place + Const(1, dt.i32), k)
        _exchange(s, a, k, place)
        zero = s.let(a[k][k].equal(_zero(a[k][k].dtype)))
        failing.append(zero)
        divisor = s.let(select(zero, Const(1, a[k][k].dtype), a[k][k]))
        for r in range(k + 1, n):
            a[r][k] = s.let(a[r][k] / divisor)
            for c in range(k + 1, n):
                a[r][c] = s.let(a[r][c] - a[r][k] * a[k][c])
    s.store_matrix(factors, a, turned=True)
    s.store(info, s.first(failing))


def _exchange(s: _Steps, rows: list[Row], k: int, place: Expr) -> None:
    """Exchanges row k and the row at `place`, which is not above it."""
    chosen = list(rows[k])
    for r in range(k + 1, len(rows)):
        here = s.let(place.equal(Const(r, dt.i32)))
        for c, value in enumerate(rows[r]):
            chosen[c] = s.let(select(here, value, chosen[c]))
            rows[r][c] = s.let(select(here, rows[k][c], value))
    rows[k] = chosen


def _zero(dtype: DType) -> Expr:
    return Const(0, dtype)


# --- solutions ------------------------------------------------------------------------------------


def _substituted(s: _Steps, a: list[Row], rows: list[Row]) -> None:
    """L U x = b for the rows of b, in place."""
    n = len(a)
    for c in range(len(rows[0])):
        for r in range(n):
            for j in range(r):
                rows[r][c] = s.let(rows[r][c] - a[r][j] * rows[j][c])
        for r in reversed(range(n)):
            for j in range(r + 1, n):
                rows[r][c] = s.let(rows[r][c] - a[r][j] * rows[j][c])
            rows[r][c] = s.let(rows[r][c] / a[r][r])


def _pivoted(s: _Steps, rows: list[Row], pivots: Buffer) -> None:
    """The rows exchanged as those of the matrix were."""
    for k in range(len(rows)):
        _exchange(s, rows, k, s.let(s.load(pivots, k) - Const(1, dt.i32)))


def _lu_solve(s: _Steps, buffers: Sequence[Buffer]) -> None:
    factors, pivots, right, x = buffers
    a, rows = s.matrix(factors, turned=True), s.matrix(right, turned=True)
    _pivoted(s, rows, pivots)
    _substituted(s, a, rows)
    s.store_matrix(x, rows, turned=True)


def _lu_inverse(s: _Steps, buffers: Sequence[Buffer]) -> None:
    factors, pivots, inverse, info = buffers
    a = s.matrix(factors, turned=True)
    dtype = factors.dtype
    rows: list[Row] = [[Const(int(r == c), dtype) for c in range(len(a))] for r in range(len(a))]
    _pivoted(s, rows, pivots)
    _substituted(s, a, rows)
    s.store_matrix(inverse, rows, turned=True)
    s.store(info, s.first([s.let(row[k].equal(_zero(dtype))) for k, row in enumerate(a)]))


_BODIES: dict[str, Callable[..., None]] = {
    "cholesky": _cholesky,
    "lu": _lu,
    "lu_inverse": _lu_inverse,
    "lu_solve": _lu_solve,
}
"""What an iteration does for one matrix, given (arguments, results)."""
