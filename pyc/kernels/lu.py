"""Factors of LU with pivots on a CPU, of a square matrix of float64, in place.

    for each block of WIDE columns
      the exchanges of the rows so far
      for each PANEL columns before it, and of its own
        of its own: the panel is factored, column by column, by all rows; its exchanges
        U: PANEL rows of the columns behind, or of the block, a strip of PANEL at a time
        what these take off the rows below, by fma, in tiles of registers
      its exchanges in the columns before it

The pivot is the first of the largest magnitude, as LAPACK's, whose `info` it has too. OpenBLAS
copies panels for its products, and solves for U at an eighth of their rate: here vectors of rows
are used where they lie. An element's products are taken off in one order, whatever vectors and
threads there are.
"""

from __future__ import annotations

from math import prod

from pyc.ir import dtype as dt
from pyc.ir.expr import Const, Expr, Load, Var, absolute, apply, const, fma, minimum, select
from pyc.ir.loops import Alloc, Body, Buffer, Carry, For, If, Kernel, Kind, Let, Space, Stmt, Store
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.sequence import Call, LaunchSequence

PANEL = 8
"""Columns that are factored together, and rows of a vector: of float64 a line of the cache."""
SHIFT = 3
"""The binary logarithm of PANEL."""
TILE = 3
"""Vectors of rows whose sums are in registers, for PANEL columns."""
WIDE = 128
"""Columns of a block: it stays in the second-level cache."""
WHOLE = 256
"""The order up to which there is one block."""
LEAST_ORDER = 48
LEAST_WORK = 1 << 24
"""Products of all matrices, three times, at least (one of order 256): the code takes some 100 ms
longer to compile than the call of a routine, and saves 10 us for each million."""
PARALLEL_WORK = 1 << 20
SMALL = 2.0**-1000
"""Pivots below it are scaled before their reciprocals are taken, which might overflow."""


def lu(types: tuple[ArrayType, ...], target: Target) -> LaunchSequence | None:
    """The launch over (factors, pivots, info), whose factors hold the matrix by columns; None if a
    routine is better."""
    (a,) = types
    m, n = a.shape[-2:]
    if a.dtype is not dt.f64 or m != n or n % PANEL or n < LEAST_ORDER:
        return None
    if target.has_blocks or target.registers < 32 or target.vector_bytes < 8 * PANEL:
        return None
    if a.size * n < LEAST_WORK:
        return None
    return _Nest(a).sequence()


class _Nest:
    def __init__(self, a: ArrayType) -> None:
        self.n, self.count = a.shape[-1], prod(a.shape[:-2])
        self.wide = self.n if self.n <= WHOLE else WIDE
        self.factors = Buffer("factors", a.dtype, (self.count, self.n, self.n), role="inout")
        self.pivots = Buffer("pivots", dt.i32, (self.count, self.n), role="inout")
        self.info = Buffer("info", dt.i32, (self.count,), role="inout")
        self.largest = Buffer("largest", a.dtype, (PANEL,), Space.STACK, alignment=64)
        self.places = Buffer("places", dt.i64, (PANEL,), Space.STACK, alignment=64)
        self.at = Var("matrix")

    def sequence(self) -> LaunchSequence:
        """The launch."""
        block, step = Var("block"), Var("step")
        first, width = Var("first"), Var("width")
        row, lower = Var("row"), Var("lower")
        last = first + width
        own = (
            *self._panel(row),
            *self._exchanges(first, row - first, row, const(PANEL)),
            *self._exchanges(row + PANEL, last - row - PANEL, row, const(PANEL)),
        )
        each: Body = (
            Let(row, step * PANEL),
            If(row >= first, own),
            Let(lower, select(row >= first, row + PANEL, first)),
            self._strips(row, lower, last - lower),
        )
        body: Body = (
            Let(first, block * self.wide),
            Let(width, minimum(const(self.n) - first, self.wide)),
            *self._exchanges(first, width, const(0), first),
            For(step, last >> SHIFT, Kind.SERIAL, each),
            *self._exchanges(const(0), first, first, width),
        )
        blocks = For(block, -(-self.n // self.wide), Kind.SERIAL, body)
        inner: Body = (Store(self.info, (self.at,), Const(0, dt.i32)), blocks)
        for local in (self.largest, self.places):
            inner = (Alloc(local, inner),)
        work = self.count * self.n**3
        kind = Kind.PARALLEL if self.count > 1 and work >= PARALLEL_WORK else Kind.SERIAL
        buffers = (self.factors, self.pivots, self.info)
        kernel = Kernel("lu", buffers, (For(self.at, self.count, kind, inner),))
        return LaunchSequence(buffers, (Call(kernel, buffers),))

    def _element(self, row: Expr, column: Expr) -> Load:
        return Load(self.factors, (self.at, column, row))

    def _set(self, row: Expr, column: Expr, value: Expr) -> Store:
        return Store(self.factors, (self.at, column, row), value)

    def _exchange(self, column: Expr, row: Expr, other: Expr) -> Body:
        one, two = Var("one", dt.f64), Var("two", dt.f64)
        return (
            Let(one, self._element(row, column)),
            Let(two, self._element(other, column)),
            self._set(row, column, two),
            self._set(other, column, one),
        )

    def _exchanges(self, first: Expr, columns: Expr, row: Expr, rows: Expr) -> Body:
        """Exchanges some rows of some columns, as the pivots say."""
        c, r, here, other = Var("c"), Var("r"), Var("here"), Var("other")
        each = (
            Let(here, row + r),
            Let(other, Load(self.pivots, (self.at, here)).cast(dt.i64) - 1),
            If(other.differs(here), self._exchange(first + c, here, other)),
        )
        return (For(c, columns, Kind.SERIAL, (For(r, rows, Kind.SERIAL, each),)),)

    def _panel(self, first: Expr) -> Body:
        """Factors the columns from `first` on, by the rows from there on."""
        k, j, column, pivot = Var("k"), Var("j"), Var("column"), Var("pivot")
        value, scale, factor = (Var(name, dt.f64) for name in ("value", "scale", "factor"))
        one, is_zero = Const(1.0, dt.f64), value.equal(0.0)
        number = (column + 1).cast(dt.i32)
        fails = is_zero & Load(self.info, (self.at,)).equal(0)
        is_small = absolute(value) < SMALL
        each: Body = (
            Let(column, first + k),
            *self._pivot(first, column, pivot),
            Store(self.pivots, (self.at, column), (pivot + 1).cast(dt.i32)),
            For(j, PANEL, Kind.SERIAL, self._exchange(first + j, column, pivot)),
            Let(value, self._element(column, column)),
            If(fails, (Store(self.info, (self.at,), number),)),
            Let(scale, select(is_small, Const(1 / SMALL, dt.f64), one)),
            Let(factor, one / select(is_zero, one, value * scale)),
            self._divided(first, column, scale, factor),
            self._rest(first, column, const(PANEL - 1) - k),
        )
        return (For(k, PANEL, Kind.SERIAL, each),)

    def _pivot(self, first: Expr, column: Expr, pivot: Var) -> Body:
        """Binds `pivot` to the first row from the diagonal on that has the largest magnitude; to
        the diagonal's where all are NaN. Vectors of rows, then the lanes, of which the least row
        counts where they are equal."""
        lane, i, row, takes = Var("lane"), Var("i"), Var("row"), Var("takes", dt.b1)
        size, best, found = (Var(name, dt.f64) for name in ("size", "best", "found"))
        at, where = Var("at"), Var("where")
        none = Const(-1.0, dt.f64)
        search: Body = (
            Let(row, first + i * PANEL + lane),
            Let(size, absolute(self._element(row, column))),
            Let(takes, (size > best) & (row >= column)),
        )
        vectors = (const(self.n) - first) >> SHIFT
        carried = (
            Carry(best, none, select(takes, size, best), found),
            Carry(at, column, select(takes, row, at), where),
        )
        searched = (
            For(i, vectors, Kind.SERIAL, search, carried),
            Store(self.largest, (lane,), found),
            Store(self.places, (lane,), where),
        )
        part, better = Var("part"), Var("better", dt.b1)
        most, top = Var("most", dt.f64), Var("top", dt.f64)
        place = Var("place")
        of_part, here = Load(self.largest, (part,)), Load(self.places, (part,))
        is_first = of_part.equal(most) & (here < place)
        meeting = (
            Carry(most, none, select(better, of_part, most), top),
            Carry(place, column, select(better, here, place), pivot),
        )
        meet: Body = (Let(better, (of_part > most) | is_first),)
        return (
            For(lane, PANEL, Kind.VECTOR, searched),
            For(part, PANEL, Kind.SERIAL, meet, meeting),
        )

    def _divided(self, first: Expr, column: Expr, scale: Expr, factor: Expr) -> Stmt:
        """A column, divided below the diagonal."""
        lane, i, row, x = Var("lane"), Var("i"), Var("row"), Var("x", dt.f64)
        body: Body = (
            Let(row, first + i * PANEL + lane),
            Let(x, self._element(row, column)),
            self._set(row, column, select(row > column, x * scale * factor, x)),
        )
        vectors = (const(self.n) - first) >> SHIFT
        return For(lane, PANEL, Kind.VECTOR, (For(i, vectors, Kind.SERIAL, body),))

    def _rest(self, first: Expr, column: Expr, columns: Expr) -> Stmt:
        """Takes a column's products off the rest of its panel."""
        j, other, u = Var("j"), Var("other"), Var("u", dt.f64)
        lane, i, row, y = Var("lane"), Var("i"), Var("row"), Var("y", dt.f64)
        less = fma(-self._element(row, column), u, y)
        body: Body = (
            Let(row, first + i * PANEL + lane),
            Let(y, self._element(row, other)),
            self._set(row, other, select(row > column, less, y)),
        )
        vectors = (const(self.n) - first) >> SHIFT
        each: Body = (
            Let(other, column + 1 + j),
            Let(u, self._element(column, other)),
            For(lane, PANEL, Kind.VECTOR, (For(i, vectors, Kind.SERIAL, body),)),
        )
        return For(j, columns, Kind.SERIAL, each)

    def _strips(self, row: Expr, first: Expr, columns: Expr) -> Stmt:
        """The rows of U of some columns, and what they take off the rows below."""
        lane, strip, column = Var("lane"), Var("strip"), Var("strip_column")
        lower = [Var(f"l{k}", dt.f64) for k in range(PANEL - 1)]
        body: list[Stmt] = [Let(column, first + strip * PANEL)]
        u = [Var(f"x{c}", dt.f64) for c in range(PANEL)]
        body += [Let(x, self._element(row + lane, column + c)) for c, x in enumerate(u)]
        for k, factors in enumerate(lower):
            if k:
                body += [self._set(row + lane, column + c, x) for c, x in enumerate(u)]
            following: list[Var] = []
            for c, x in enumerate(u):
                less = fma(-factors, self._element(row + k, column + c), x)
                new = Var(f"x{c}", dt.f64)
                body.append(Let(new, select(lane > k, less, x)))
                following.append(new)
            u = following
        body += [self._set(row + lane, column + c, x) for c, x in enumerate(u)]
        below = (const(self.n) - row - PANEL) >> SHIFT
        tile, single, whole = Var("tile"), Var("single"), Var("whole")
        body.append(Let(whole, apply("quotient", below, const(TILE))))
        start = row + PANEL + lane
        body.append(
            For(
                tile,
                whole,
                Kind.SERIAL,
                self._tile(row, column, start + tile * (TILE * PANEL), TILE),
            )
        )
        rest = below - whole * TILE
        place = start + (whole * TILE + single) * PANEL
        body.append(For(single, rest, Kind.SERIAL, self._tile(row, column, place, 1)))
        loop = For(strip, columns >> SHIFT, Kind.SERIAL, tuple(body))
        lets = [Let(v, self._element(row + lane, row + k)) for k, v in enumerate(lower)]
        return For(lane, PANEL, Kind.VECTOR, (*lets, loop))

    def _tile(self, row: Expr, column: Expr, place: Expr, vectors: int) -> Body:
        """Takes PANEL products off some vectors of rows of PANEL columns."""
        k, at = Var("k"), Var("place")
        pairs = [(r, c) for c in range(PANEL) for r in range(vectors)]
        old = [Var(f"o{r}_{c}", dt.f64) for r, c in pairs]
        new = [Var(f"n{r}_{c}", dt.f64) for r, c in pairs]
        carried = tuple(
            Carry(
                o,
                self._element(at + r * PANEL, column + c),
                fma(
                    -self._element(at + r * PANEL, row + k),
                    self._element(row + k, column + c),
                    o,
                ),
                v,
            )
            for (r, c), o, v in zip(pairs, old, new, strict=True)
        )
        stores = [
            self._set(at + r * PANEL, column + c, v) for (r, c), v in zip(pairs, new, strict=True)
        ]
        return (Let(at, place), For(k, PANEL, Kind.SERIAL, (), carried), *stores)
