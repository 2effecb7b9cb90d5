"""Solutions of several right sides by factors of LU on a CPU: a right side a lane.

    for each matrix, and each panel of right sides                               (parallel)
      the right sides by rows, in scratch memory; their rows exchanged as those of the matrix were
      L: for each ROWS rows: the products with all rows before them, by fma, summed in registers
         row by row within them
      U: the same from the last rows on, with the rows behind them
      the solutions by columns

LAPACK's `trsm` copies the factors into blocks, which pays for many right sides; here each element
of a factor meets a vector of them where it lies. A right side's numbers are added in one order,
whatever vectors, panels and threads there are.
"""

from __future__ import annotations

from math import prod

from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.expr import Expr, Load, Var, apply, const, fma, maximum, minimum
from pyc.ir.loops import Body, Buffer, Carry, For, If, Kernel, Kind, Let, Stmt, Store
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.sequence import Call, LaunchSequence

ROWS = 8
"""Rows whose sums are in registers: of float64 a line of the cache holds as many of a column."""
VECTORS = 2
"""Vectors of a panel at most, where there are registers for the sums of so many."""
FEWEST = 4
"""Right sides at least: fewer leave most lanes idle."""
LEAST_ORDER = 16
LEAST_WORK = 1 << 15
"""Products of all matrices and right sides at least: the code takes some 40 ms longer to compile
than the call of a routine, and saves a third of a nanosecond for each."""
PARALLEL_WORK = 1 << 20


def lu_solve(types: tuple[ArrayType, ...], target: Target) -> LaunchSequence | None:
    """The launch over (factors, pivots, b, x), None if a routine is better. The memory of b may be
    that of x."""
    factors, _, b = types
    right, n = b.shape[-2:]
    if factors.dtype.is_complex or target.has_blocks or n < LEAST_ORDER or right < FEWEST:
        return None
    nest = _Nest(types, target)
    return nest.sequence() if nest.work >= LEAST_WORK else None


class _Nest:
    def __init__(self, types: tuple[ArrayType, ...], target: Target) -> None:
        factors, pivots, b = types
        (self.right, self.n), self.dtype = b.shape[-2:], b.dtype
        self.work = prod(b.shape) * self.n
        self.count = prod(factors.shape[:-2])
        lanes = target.lanes(self.dtype.itemsize)
        vectors = -(-self.right // lanes)
        self.panels = -(-vectors // (VECTORS if target.registers >= 32 else 1))
        self.width = -(-vectors // self.panels) * lanes
        self.factors, self.pivots, given = (
            Buffer(name, t.dtype, (self.count, *t.shape[factors.rank - 2 :]), role="in")
            for name, t in (("factors", factors), ("pivots", pivots), ("b", b))
        )
        # The planner may have b and x in one place: a task has read of b what it stores.
        self.b = replace(given, may_alias=True)
        self.x = replace(self.b, name="x", role="out")
        shape = (self.count * self.panels, self.n, self.width)
        self.rows = Buffer("rows", self.dtype, shape, role="inout", alignment=64)
        self.task, self.matrix, self.lane = Var("task"), Var("matrix"), Var("lane")
        self.column = Var("column")

    def sequence(self) -> LaunchSequence:
        """The launch."""
        panel = apply("remainder", self.task, const(self.panels)) * self.width
        blocks, rest = divmod(self.n, ROWS)
        body: list[Stmt] = [Let(self.column, panel + self.lane), *self._exchanged()]
        if rest:
            body += self._block(const(0), rest, upper=False)
        block = Var("block")
        first = block * ROWS + rest
        body.append(For(block, blocks, Kind.SERIAL, self._block(first, ROWS, upper=False)))
        block = Var("block")
        first = const(self.n - ROWS) - block * ROWS
        body.append(For(block, blocks, Kind.SERIAL, self._block(first, ROWS, upper=True)))
        if rest:
            body += self._block(const(0), rest, upper=True)
        body.append(self._stored())
        tasks = For(
            self.task,
            self.count * self.panels,
            Kind.PARALLEL if self.work >= PARALLEL_WORK else Kind.SERIAL,
            (
                Let(self.matrix, apply("quotient", self.task, const(self.panels))),
                For(self.lane, self.width, Kind.VECTOR, tuple(body)),
            ),
        )
        buffers = (self.factors, self.pivots, self.b, self.x)
        kernel = Kernel("lu_solve", (*buffers, self.rows), (tasks,))
        return LaunchSequence(buffers, (Call(kernel, kernel.buffers),))

    def _row(self, row: Expr) -> Load:
        return Load(self.rows, (self.task, row, self.lane))

    def _set(self, row: Expr, value: Expr) -> Store:
        return Store(self.rows, (self.task, row, self.lane), value)

    def _factor(self, row: Expr, column: Expr) -> Load:
        return Load(self.factors, (self.matrix, column, row))

    def _exchanged(self) -> Body:
        """The right sides by rows; lanes beyond the last have copies of it."""
        i, k, other = Var("i"), Var("k"), Var("other")
        column: Expr = self.column
        if self.panels * self.width != self.right:
            column = minimum(column, const(self.right - 1))
        given = self._set(i, Load(self.b, (self.matrix, column, i)))
        pivot = Load(self.pivots, (self.matrix, k)).cast(dt.i64)
        one, two = Var("one", self.dtype), Var("two", self.dtype)
        exchange = (
            # No row but those that there are is touched, whatever was said of NaN.
            Let(other, minimum(maximum(pivot - 1, 0), self.n - 1)),
            Let(one, self._row(k)),
            Let(two, self._row(other)),
            self._set(k, two),
            self._set(other, one),
        )
        return (
            For(i, self.n, Kind.SERIAL, (given,)),
            For(k, self.n, Kind.SERIAL, exchange),
        )

    def _block(self, first: Expr, rows: int, *, upper: bool) -> Body:
        """The solutions of the rows from `first` on, of L or of U: those before, or behind, are
        known."""
        term, start = Var("term"), Var("first")
        known = const(self.n - rows) - start if upper else start
        place = term + start + rows if upper else term
        before = [Var(f"before{r}", self.dtype) for r in range(rows)]
        sums: list[Expr] = [Var(f"sum{r}", self.dtype) for r in range(rows)]
        carried = tuple(
            Carry(old, self._row(start + r), self._less(old, start + r, place, self._row(place)), v)
            for r, (old, v) in enumerate(zip(before, sums, strict=True))
            if isinstance(v, Var)
        )
        body: list[Stmt] = [Let(start, first), For(term, known, Kind.SERIAL, (), carried)]
        order = range(rows - 1, -1, -1) if upper else range(rows)
        for done, r in enumerate(order):
            value = sums[r]
            for s in order[:done]:
                value = self._less(value, start + r, start + s, sums[s])
            if upper:
                value = value / self._factor(start + r, start + r)
            found = Var(f"x{r}", self.dtype)
            body += [Let(found, value), self._set(start + r, found)]
            sums[r] = found
        return tuple(body)

    def _less(self, value: Expr, row: Expr, column: Expr, x: Expr) -> Expr:
        """`value` less what an element of the factors makes of x."""
        return fma(-self._factor(row, column), x, value)

    def _stored(self) -> Stmt:
        """The solutions by columns."""
        i = Var("i")
        store: Stmt = Store(self.x, (self.matrix, self.column, i), self._row(i))
        if self.panels * self.width != self.right:
            store = If(self.column < self.right, (store,))
        return For(i, self.n, Kind.SERIAL, (store,))
