"""Linear algebra by a device's library: the routines of an op of `ir/ops/linalg.py`, and what it
takes around them that is no routine.

`solvers` takes what the op takes and gives `Solved`: calls of routines (`ir/solvers.py`) and
logical kernels over buffers, numbered: arguments, then results, then scratch. The library leaves a
triangle undefined where LAPACK's steps make it 0, gives V in place of its adjoint, has no routine
for inverses and least squares, and says nothing of NaN and of triangles with a 0 in the diagonal:
the kernels do. Where a library would be slower than the host, the answer is why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Const, Expr, Load, Var, const, maximum, select
from pyc.ir.loops import Body, Buffer, For, Kernel, Kind, Reduce, Store
from pyc.ir.ops.linalg import LETTERS
from pyc.ir.plan import Copy
from pyc.ir.solvers import CHOLESKY_TURNED, GEEV, JACOBI_ORDER, routine_of
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.sequence import Around, Routine, Solved

Types = Sequence[ArrayType]


class _Refused(Exception):
    """The library would be slower than the host, or lacks a routine."""


def solvers(
    op: str, types: Types, results: Types, params: dict[str, Any], target: Target
) -> Solved | str:
    """The steps of an op, or why the host does it."""
    if not target.solver:
        return "pip install 'pyc-jit[cuda-linalg]' for a library of the device"
    if any(not t.size for t in (*types, *results)):
        return "there are no elements"
    steps = _Steps(types, results, target)
    try:
        _OPS[op](steps, **params)
    except _Refused as why:
        return str(why)
    return Solved(tuple(steps.done), tuple(steps.scratch))


class _Steps:
    """The steps of an op in the making. a: its first argument, matrices of m rows and n columns;
    count: how many; batch: their shape."""

    def __init__(self, types: Types, results: Types, target: Target) -> None:
        self._target = target
        self.types = types
        self.a = types[0]
        self.dtype = self.a.dtype
        self.real = self.dtype.real if self.dtype.is_complex else self.dtype
        self.batch = self.a.shape[:-2]
        self.count = prod(self.batch)
        self.n, self.m = self.a.shape[-2:]
        self.outs = tuple(range(len(types), len(types) + len(results)))
        self.done: list[Routine | Around | Copy] = []
        self.scratch: list[ArrayType] = []

    def buffer(self, dtype: DType, *shape: int) -> int:
        """Scratch memory, of so many elements for each matrix."""
        self.scratch.append(ArrayType((self.count, *shape), dtype))
        return self.outs[-1] + len(self.scratch)

    def find(self, name: str, *sizes: int) -> str:
        """The routine for these sizes; `_Refused` if none should do it."""
        letter = LETTERS[self.dtype]
        routine, why = routine_of(name, letter, self.count, sizes, self._target.solver)
        if why:
            raise _Refused(why)
        return routine

    def call(self, name: str, slots: Sequence[int], *sizes: int) -> None:
        """Calls a routine."""
        routine = self.find(name, *sizes)
        self.done.append(Routine(routine, tuple(slots), (self.count, *sizes)))

    def run(self, made: _Made, *slots: int) -> None:
        """Runs a kernel."""
        self.done.append(Around(made.kernel(), slots))

    def around(self, name: str) -> _Made:
        """A kernel in the making."""
        return _Made(f"solver_{name}", self.dtype, self.real)


# --- kernels --------------------------------------------------------------------------------------


class _Made:
    """A logical kernel in the making, over buffers in the order in which they are asked for. An
    element of a complex type is two of its real type, along a last axis."""

    def __init__(self, name: str, dtype: DType, real: DType) -> None:
        self._name = name
        self._real = real
        self._parts = 2 if dtype.is_complex else 1
        self._buffers: list[Buffer] = []
        self._body: Body = ()

    def buffer(self, role: str, *shape: int, dtype: DType | None = None) -> Buffer:
        """The next parameter. dtype: if that is not the matrices'."""
        own = (*shape, self._parts) if dtype is None and self._parts == 2 else shape
        made = Buffer(f"b{len(self._buffers)}", dtype or self._real, own, role=role)
        self._buffers.append(made)
        return made

    def elements(
        self, out: Buffer, value: Callable[..., Expr], before: Callable[..., Body] | None = None
    ) -> None:
        """Stores value(*indices) in each element of `out`, the part of a complex number being the
        last index; `before` is done before it."""
        loops = [Var(f"i{k}") for k in range(len(out.shape))]
        body: Body = () if before is None else before(*loops)
        body = (*body, Store(out, tuple(loops), value(*loops)))
        for var, extent in zip(reversed(loops), reversed(out.shape), strict=True):
            body = (For(var, extent, Kind.PARALLEL, body),)
        self._body = body

    def kernel(self) -> Kernel:
        """The kernel."""
        return Kernel(self._name, tuple(self._buffers), self._body)


def _triangle(s: _Steps, source: int, out: int, *, upper: bool, turned: bool) -> None:
    """A triangle of matrices by rows, with 0 for the rest. turned: of matrices by columns."""
    made = s.around("triangle")
    factor = made.buffer("in", s.count, s.n, s.n)
    kept = made.buffer("out", s.count, s.n, s.n)

    def value(k: Expr, row: Expr, column: Expr, *part: Expr) -> Expr:
        inside = row <= column if upper else column <= row
        place = (column, row) if turned else (row, column)
        return select(inside, Load(factor, (k, *place, *part)), Const(0, s.real))

    made.elements(kept, value)
    s.run(made, source, out)


def _by_columns(s: _Steps, source: int, out: int) -> None:
    """Square matrices by columns."""
    made = s.around("by_columns")
    a = made.buffer("in", s.count, s.n, s.n)
    turned = made.buffer("out", s.count, s.n, s.n)
    made.elements(turned, lambda k, row, column, *part: Load(a, (k, column, row, *part)))
    s.run(made, source, out)


def _zeros(s: _Steps, slot: int, rows: int, columns: int) -> None:
    made = s.around("zeros")
    out = made.buffer("out", s.count, rows, columns)
    made.elements(out, lambda *place: Const(0, s.real))
    s.run(made, slot)


def _identity(s: _Steps, slot: int) -> None:
    made = s.around("identity")
    out = made.buffer("out", s.count, s.n, s.n)

    def value(k: Expr, row: Expr, column: Expr, *part: Expr) -> Expr:
        one = row.equal(column)
        for p in part:
            one = one & p.equal(0)
        return select(one, Const(1, s.real), Const(0, s.real))

    made.elements(out, value)
    s.run(made, slot)


def _adjoint(s: _Steps, source: int, columns: int, out: int, kept: int) -> None:
    """The adjoints of matrices of n rows by columns, of which the first `kept` columns are kept."""
    made = s.around("adjoint")
    v = made.buffer("in", s.count, columns, s.n)
    vt = made.buffer("out", s.count, s.n, kept)

    def value(k: Expr, column: Expr, row: Expr, *part: Expr) -> Expr:
        x = Load(v, (k, row, column, *part))
        return select(part[0].equal(1), -x, x) if part else x

    made.elements(vt, value)
    s.run(made, source, out)


def _first_columns(s: _Steps, source: int, columns: int, out: int, kept: int) -> None:
    """The first columns of matrices of m rows by columns."""
    made = s.around("columns")
    u = made.buffer("in", s.count, columns, s.m)
    first = made.buffer("out", s.count, kept, s.m)
    made.elements(first, lambda *place: Load(u, place))
    s.run(made, source, out)


def _said(s: _Steps, values: int, raw: int, info: int, *, diagonal: bool) -> None:
    """What a routine says (`raw`), or 1 where it says nothing and there is a NaN: LAPACK says so.
    values: the results that have it; diagonal: those of matrices."""
    made = s.around("said")
    length = s.n if diagonal else min(s.m, s.n)
    if diagonal:
        given = made.buffer("in", s.count, s.n, s.n)
    else:
        given = made.buffer("in", s.count, length, dtype=s.real)
    told = made.buffer("in", s.count, dtype=dt.i32)
    out = made.buffer("out", s.count, dtype=dt.i32)
    found, at = Var("found", dt.i32), Var("at")

    def reduced(k: Expr) -> Body:
        place = _diagonal(k, at, given) if diagonal else (k, at)
        x = Load(given, place)
        missing = select(x.differs(x), Const(1, dt.i32), Const(0, dt.i32))
        return (Reduce((found,), ((at, length),), (missing,), "maximum"),)

    def value(k: Expr) -> Expr:
        own = Load(told, (k,))
        return select(own.differs(0), own, found)

    made.elements(out, value, reduced)
    s.run(made, values, raw, info)


def _diagonal(k: Expr, at: Expr, matrix: Buffer) -> tuple[Expr, ...]:
    """The place of an element of the diagonal, of a complex matrix of its real part."""
    return (k, at, at, *[const(0)] * (len(matrix.shape) - 3))


def _finite(s: _Steps, matrix: int, out: int) -> None:
    """Matrices with 0 for what is no number: there is a routine that fails as a whole otherwise."""
    made = s.around("finite")
    a = made.buffer("in", s.count, s.n, s.n)
    kept = made.buffer("out", s.count, s.n, s.n)
    most = Const(float(np.finfo(s.real.numpy).max), s.real)

    def value(*place: Expr) -> Expr:
        x = Load(a, place)
        return select((x <= most) & (x >= -most), x, Const(0, s.real))

    made.elements(kept, value)
    s.run(made, matrix, out)


def _unlike(s: _Steps, matrix: int, other: int, out: int) -> None:
    """1 for each column of a matrix that has another element than the other matrix."""
    made = s.around("unlike")
    a, b = made.buffer("in", s.count, s.n, s.n), made.buffer("in", s.count, s.n, s.n)
    found, at = Var("found", dt.i32), Var("at")

    def reduced(k: Expr, column: Expr) -> Body:
        places = [(k, column, at, *[const(p)] * (s.dtype.is_complex)) for p in range(2)]
        unlike = Load(a, places[0]).differs(Load(b, places[0]))
        if s.dtype.is_complex:
            unlike = unlike | Load(a, places[1]).differs(Load(b, places[1]))
        one = select(unlike, Const(1, dt.i32), Const(0, dt.i32))
        return (Reduce((found,), ((at, s.n),), (one,), "maximum"),)

    flags = made.buffer("out", s.count, s.n, dtype=dt.i32)
    made.elements(flags, lambda k, column: found, reduced)
    s.run(made, matrix, other, out)


def _any(s: _Steps, rows: int, raw: int, info: int) -> None:
    """What a routine says, or 1 where one of the flags of a matrix is 1."""
    made = s.around("any")
    flags = made.buffer("in", s.count, s.n, dtype=dt.i32)
    told = made.buffer("in", s.count, dtype=dt.i32)
    out = made.buffer("out", s.count, dtype=dt.i32)
    found, at = Var("found", dt.i32), Var("at")

    def reduced(k: Expr) -> Body:
        return (Reduce((found,), ((at, s.n),), (Load(flags, (k, at)),), "maximum"),)

    made.elements(
        out, lambda k: select(Load(told, (k,)).differs(0), Load(told, (k,)), found), reduced
    )
    s.run(made, rows, raw, info)


def _first_zero(s: _Steps, matrix: int, info: int, *, unit: bool = False) -> None:
    """1 + the first place in the diagonal that is 0; 0 if there is none. unit: none counts."""
    made = s.around("first_zero")
    a = made.buffer("in", s.count, s.n, s.n)
    out = made.buffer("out", s.count, dtype=dt.i32)
    found, at = Var("found", dt.i32), Var("at")
    none = Const(s.n + 1, dt.i32)

    def reduced(k: Expr) -> Body:
        place = _diagonal(k, at, a)
        zero = Load(a, place).equal(0)
        if s.dtype.is_complex:
            zero = zero & Load(a, (*place[:-1], const(1))).equal(0)
        first = none if unit else select(zero, (at + 1).cast(dt.i32), none)
        return (Reduce((found,), ((at, s.n),), (first,), "minimum"),)

    def value(k: Expr) -> Expr:
        return select(found.equal(none), Const(0, dt.i32), found)

    made.elements(out, value, reduced)
    s.run(made, matrix, info)


def _limit(s: _Steps, values: Buffer, share: Buffer, k: Expr) -> Expr:
    """Up to which singular values count as 0, as `gelsd` has it."""
    information = np.finfo(s.real.numpy)
    given = Load(share, (k,))
    part = select(given < 0, Const(information.eps, s.real), given)
    return maximum(part * Load(values, (k, const(0))), Const(information.tiny, s.real))


def _rank(s: _Steps, values: int, share: int, rank: int) -> None:
    made = s.around("rank")
    least = min(s.m, s.n)
    given = made.buffer("in", s.count, least, dtype=s.real)
    shares = made.buffer("in", s.count, dtype=s.real)
    out = made.buffer("out", s.count, dtype=dt.i32)
    found, at = Var("found", dt.i32), Var("at")

    def reduced(k: Expr) -> Body:
        counts = Load(given, (k, at)) > _limit(s, given, shares, k)
        one = select(counts, Const(1, dt.i32), Const(0, dt.i32))
        return (Reduce((found,), ((at, least),), (one,), "add"),)

    made.elements(out, lambda k: found, reduced)
    s.run(made, values, share, rank)


def _divided(s: _Steps, c: int, values: int, share: int, out: int, right: int) -> None:
    """Rows divided by the singular values, or 0 where these count as 0."""
    made = s.around("divided")
    least = min(s.m, s.n)
    source = made.buffer("in", s.count, right, least)
    given = made.buffer("in", s.count, least, dtype=s.real)
    shares = made.buffer("in", s.count, dtype=s.real)
    divided = made.buffer("out", s.count, right, least)

    def value(k: Expr, column: Expr, row: Expr, *part: Expr) -> Expr:
        own = Load(given, (k, row))
        quotient = Load(source, (k, column, row, *part)) / own
        return select(own > _limit(s, given, shares, k), quotient, Const(0, s.real))

    made.elements(divided, value)
    s.run(made, c, values, share, out)


# --- ops ------------------------------------------------------------------------------------------


def _cholesky(s: _Steps, *, upper: bool) -> None:
    """An upper triangle by rows is a lower one to the library, which takes it in as little as a
    third of the time of the other: so large matrices whose lower triangle is given are turned."""
    factor, info = s.outs
    raw, found = s.buffer(dt.i32), s.buffer(s.dtype, s.n, s.n)
    turned = not upper and s.n >= CHOLESKY_TURNED
    matrix = s.buffer(s.dtype, s.n, s.n) if turned else 0
    if turned:
        _by_columns(s, 0, matrix)
    s.call("potrf", (matrix, found, raw), int(upper or turned), s.n)
    _triangle(s, found, factor, upper=upper, turned=turned)
    _said(s, factor, raw, info, diagonal=True)


def _lu(s: _Steps) -> None:
    s.call("getrf", (0, *s.outs), s.m, s.n)


def _lu_solve(s: _Steps) -> None:
    s.call("getrs", (0, 1, 2, *s.outs), s.n, s.types[2].shape[-2])


def _lu_inverse(s: _Steps) -> None:
    """What solves for an identity matrix, apart from the factors, where the inverse may be."""
    inverse, info = s.outs
    apart = s.buffer(s.dtype, s.n, s.n)
    _first_zero(s, 0, info)
    _identity(s, apart)
    s.call("getrs", (0, 1, apart, apart), s.n, s.n)
    s.done.append(Copy(inverse, apart))


def _qr(s: _Steps) -> None:
    s.call("geqrf", (0, *s.outs), s.m, s.n)


def _qr_columns(s: _Steps, *, columns: int) -> None:
    s.call("orgqr", (0, 1, *s.outs), s.m, s.n, min(s.m, s.n), columns)


def _vectors(s: _Steps, vectors: int) -> tuple[int, int, int]:
    """What the routine is asked for, and the columns of U and V then: of many small matrices it has
    all."""
    least = min(s.m, s.n)
    small = s.count > 1 and max(s.m, s.n) <= JACOBI_ORDER
    if vectors == 2 or small or s.m == s.n:
        return 2, s.m, s.n
    return vectors, least, least


def _svd(s: _Steps, *, vectors: int) -> None:
    values, info, raw = s.outs[0], s.outs[-1], s.buffer(dt.i32)
    if not vectors:
        s.call("gesvdj", (0, values, raw), 0, s.m, s.n)
    else:
        asked, wide, high = _vectors(s, vectors)
        least = min(s.m, s.n)
        kept = (s.m, s.n) if vectors == 2 else (least, least)
        u = s.outs[1] if kept[0] == wide else s.buffer(s.dtype, wide, s.m)
        v = s.buffer(s.dtype, high, s.n)
        s.call("gesvdj", (0, values, u, v, raw), asked, s.m, s.n)
        if u != s.outs[1]:
            _first_columns(s, u, wide, s.outs[1], kept[0])
        _adjoint(s, v, high, s.outs[2], kept[1])
    _said(s, values, raw, info, diagonal=False)


def _eigh(s: _Steps, *, upper: bool, vectors: bool) -> None:
    *found, info = s.outs
    raw = s.buffer(dt.i32)
    s.call("syevd", (0, *found, raw), int(vectors), int(upper), s.n)
    _said(s, found[0], raw, info, diagonal=False)


def _eig(s: _Steps, *, vectors: bool) -> None:
    if GEEV not in s._target.solver:
        raise _Refused("the device's library has no eigenvalues of other matrices than Hermitian")
    *found, info = s.outs
    given, rows, raw = s.buffer(s.dtype, s.n, s.n), s.buffer(dt.i32, s.n), s.buffer(dt.i32)
    _finite(s, 0, given)
    _unlike(s, 0, given, rows)
    s.call("geev", (given, *found, raw), int(vectors), s.n)
    _any(s, rows, raw, info)


def _least_squares(s: _Steps) -> None:
    """x = V (U^H b / values), by as many columns of U and V as there are values. In the rows of x
    beyond the solution LAPACK leaves parts of b; here they are zeros."""
    x, values, rank, info = s.outs
    least, most, right = min(s.m, s.n), max(s.m, s.n), s.types[1].shape[-2]
    asked, wide, high = _vectors(s, 1)
    u, v = s.buffer(s.dtype, wide, s.m), s.buffer(s.dtype, high, s.n)
    c, divided = s.buffer(s.dtype, right, least), s.buffer(s.dtype, right, least)
    raw = s.buffer(dt.i32)
    s.call("gesvdj", (0, values, u, v, raw), asked, s.m, s.n)
    _said(s, values, raw, info, diagonal=False)
    _rank(s, values, 2, rank)
    s.call("gemm", (u, 1, c), 1, least, right, s.m, s.m, most, least, wide)
    _divided(s, c, values, 2, divided, right)
    if s.m > s.n:
        _zeros(s, x, right, most)
    s.call("gemm", (v, divided, x), 0, s.n, right, least, s.n, least, most, high)


def _triangular_solve(s: _Steps, *, upper: bool, transposed: bool, unit: bool) -> None:
    x, info = s.outs
    _first_zero(s, 0, info, unit=unit)
    sizes = int(upper), int(transposed), int(unit), s.n, s.types[1].shape[-2]
    s.call("trsm", (0, 1, x), *sizes)


_OPS: dict[str, Callable[..., None]] = {
    "cholesky": _cholesky,
    "lu": _lu,
    "lu_solve": _lu_solve,
    "lu_inverse": _lu_inverse,
    "qr": _qr,
    "qr_columns": _qr_columns,
    "svd": _svd,
    "eigh": _eigh,
    "eig": _eig,
    "least_squares": _least_squares,
    "triangular_solve": _triangular_solve,
}
"""The steps of each op."""
