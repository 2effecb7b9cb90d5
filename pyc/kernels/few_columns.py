"""Products of a matrix and a few columns on a CPU, terms neighbours in memory: vectors of terms.

    for each task: some groups of rows                                           (parallel)
      the columns, copied with their terms as neighbours, if they do not lie so
      for each group of rows: WIDTH partial sums of each row and column, over all terms, by fma
        the sums of all rows and columns meet in pairs of neighbours, in vectors

`matmul` has columns in its vectors, whose lanes idle where columns are few. Partial sum l has the
terms l, l + WIDTH, ... in order, so bits depend on the operands only (tasks never share an
element). Half types are widened when read; the accumulator is at least float32, and the result is
rounded once. Terms that fill no vector come first, in its last lanes.
"""

from __future__ import annotations

from math import prod

from pyc.ir.element import widened
from pyc.ir.expr import Expr, Load, Var, const, fma, minimum, select
from pyc.ir.loops import Alloc, Body, Buffer, Carry, For, If, Kernel, Kind, Stmt, Store
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.ir.visit import renamed
from pyc.kernels.operand import NO_MATRIX_PRODUCT, Dimensions, is_matrix_product
from pyc.kernels.partial_sums import Meeting, sums_of
from pyc.kernels.row_streams import is_row_stream, later_rows
from pyc.kernels.tasks import TaskNest, built_by, free_extents, is_halved, lanes_of

MOST_COLUMNS = 6
"""With more, too few rows share the registers."""
FEWEST_ROWS = 4
MOST_ROWS = 4
"""Rows of a group,"""
MOST_LONE_ROWS = 8
"""and of one of a single column."""
WIDTH_BYTES = 64
"""Bytes of the partial sums of a row and a column: not of the target's vectors, so that bits are
the same on all."""
NARROWEST = 16
"""The same of a single column of few terms."""
MOST_BYTES = 1 << 15
"""The most bytes of columns, which each group of rows reads."""
MEETING = 1.5
"""What the meeting of the partial sums of one result costs, beside an fma of a vector, for each of
its vectors."""
COPYING = 0.4
"""What copying an element of a column costs."""
NARROW = 0.65
"""What an fma of columns costs in a vector of half the bytes, where two of these are as quick as
one of 64."""
WRITTEN_OUT = 4
"""Steps along the terms up to which they are written out, row by row: the partial sums of one row
meet while those of the next are computed, where a group would wait for its meeting."""
TASK_WORK = 1 << 17
"""Products of a task, about."""
PARALLEL_WORK = 1 << 20


def suits_few_columns(types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target) -> bool:
    """Whether a product of a matrix and a few columns has vectors of terms here, and should."""
    return not refusal_of_few_columns(types, dimensions, target)


def refusal_of_few_columns(
    types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target
) -> str:
    """Why this nest cannot or should not do the contraction; empty if it should."""
    a, b = types
    if not a.dtype.is_float or a.dtype.bits < 16:
        return f"it is for float16 and wider floats, not {a.dtype.name}"
    if not is_matrix_product(types, dimensions):
        return NO_MATRIX_PRODUCT
    (term,), _ = dimensions[0]
    if term != a.rank - 1:
        return "terms of the rows are no neighbours in memory"
    m, n, k = _extents(types, dimensions)
    if n > MOST_COLUMNS or m < FEWEST_ROWS:
        return f"{m} x {n} results: it needs {FEWEST_ROWS} rows, and at most {MOST_COLUMNS} columns"
    itemsize = widened(a.dtype).itemsize
    if n * k * itemsize > MOST_BYTES:
        return f"{n} columns of {k} terms are more than {MOST_BYTES} bytes"
    width = _width(n, k, itemsize)
    copied = 0.0 if _along(b, dimensions) else COPYING * n * k / m
    if k < width:
        return f"{k} terms fill no vector of {width}"
    vectors = max(width * itemsize / target.vector_bytes, 0.5)
    lanes = lanes_of(n, itemsize, target)
    is_half = is_halved(target) and lanes < target.lanes(itemsize)
    product = NARROW if is_half else 1
    if n * vectors * (k / width + MEETING) + copied > product * k * -(-n // lanes):
        return f"{n} columns of {k} terms fill vectors as well as the terms do"
    return ""


def _width(columns: int, terms: int, itemsize: int) -> int:
    """Partial sums of a result: fewer of a few terms, if there is one column only; `matmul` has
    vectors of more of them."""
    width = WIDTH_BYTES // itemsize
    while columns == 1 and terms < width and width * itemsize > NARROWEST:
        width //= 2
    return width


def _along(b: ArrayType, dimensions: Dimensions) -> bool:
    """Whether the terms of a column are neighbours in memory."""
    return dimensions[0][1] == (b.rank - 1,)


def _extents(types: tuple[ArrayType, ...], dimensions: Dimensions) -> tuple[int, int, int]:
    """Rows, columns and terms."""
    (m,), (n,) = (free_extents(types, dimensions, side) for side in range(2))
    return m, n, types[0].shape[dimensions[0][0][0]]


class _Nest(TaskNest):
    def prepare(self, types: tuple[ArrayType, ...], target: Target) -> None:
        """Sets the groups of rows and the tasks."""
        self.m, self.n, self.k = _extents(types, self.dimensions)
        self.width = _width(self.n, self.k, self.accumulator.itemsize)
        self.is_plain = self.epilogue is None
        self.copies = not _along(types[1], self.dimensions)
        vectors = -(-WIDTH_BYTES // target.vector_bytes)
        budget = 24 if target.registers >= 32 or target.vector_bytes >= 64 else 12
        most = MOST_ROWS if self.n > 1 else MOST_LONE_ROWS
        self.rows = min(most, self.m, max(budget // (self.n * vectors), 1))
        groups = -(-self.m // self.rows)
        self.tasks = min(groups, -(-self.m * self.n * self.k // TASK_WORK))
        self.groups = -(-groups // self.tasks)
        self.tasks = -(-groups // self.groups)
        self.ragged = self.tasks * self.groups * self.rows != self.m
        self.overlaps = self.ragged and self.is_plain and self.tasks == 1 and self.m >= self.rows
        if self.is_plain:  # its results are neighbours
            self.out = Buffer("out", self.out.dtype, (*self.batch, self.m * self.n), role="out")
        pitch = -(-self.k // self.width) * self.width
        self.columns = self.local("columns", self.n, pitch)
        self.sums = sums_of(self.accumulator, self.width, self.rows * self.n)

    def kernel(self) -> Kernel:
        """The scheduled kernel over (a, b, the epilogue's, out)."""
        batch = [Var(f"n{k}") for k in range(len(self.batch))]
        tile, group = Var("tile"), Var("group")
        first = (tile * self.groups + group) * self.rows
        if self.overlaps:
            first = minimum(first, const(self.m - self.rows))
        inner: Stmt = For(group, self.groups, Kind.SERIAL, self._group(batch, first))
        for sums in self.sums:
            inner = Alloc(sums, (inner,))
        if self.copies:
            inner = Alloc(self.columns, (*self._copy(batch), inner))
        work = prod(self.batch) * self.m * self.n * self.k
        kind = Kind.PARALLEL if work >= PARALLEL_WORK else Kind.SERIAL
        return self.tasks_of("few_columns", batch, [(tile, self.tasks)], kind, (inner,))

    def _copy(self, batch: list[Var]) -> list[Stmt]:
        """The columns, each with its terms as neighbours."""
        some, lane, term = Var("some"), Var("lane"), Var("term")
        whole, rest = divmod(self.k, self.width)

        def stores(term: Expr) -> Body:
            return tuple(
                Store(self.columns, (const(c), term), self.element(1, batch, const(c), term))
                for c in range(self.n)
            )

        vector = For(lane, self.width, Kind.VECTOR, stores(some * self.width + lane))
        left = stores(const(whole * self.width) + term)
        return [For(some, whole, Kind.SERIAL, (vector,)), For(term, rest, Kind.SERIAL, left)]

    def _group(self, batch: list[Var], first: Expr) -> Body:
        """The results of the rows from `first` on."""
        lane, step = Var("lane"), Var("step")
        steps, rest = divmod(self.k, self.width)
        pairs = [(r, c) for r in range(self.rows) for c in range(self.n)]
        rows = [first + r for r in range(self.rows)]
        if self.ragged and not self.overlaps:  # those beyond the last are its copies
            rows = [minimum(row, const(self.m - 1)) for row in rows]

        def product(r: int, c: int, term: Expr, total: Expr) -> Expr:
            return fma(self.element(0, batch, rows[r], term), self._column(batch, c, term), total)

        def start(r: int, c: int) -> Expr:
            """The terms that fill no vector: lanes of the last one, the others of which are 0."""
            term = const(self.k - self.width) + lane
            zero = const(0, self.accumulator)
            if not rest:
                return zero
            x = self.element(0, batch, rows[r], term) * self._column(batch, c, term)
            return select(lane >= self.width - rest, x, zero)

        a = self.operands[0]
        is_stream = is_row_stream(a)

        def products_of(some: list[tuple[int, int]], kind: Kind) -> Stmt:
            names = [Var(f"s{r}_{c}", self.accumulator) for r, c in some]
            totals = [Var(f"e{r}_{c}", self.accumulator) for r, c in some]
            carried = tuple(
                Carry(name, start(r, c), product(r, c, step * self.width + lane, name), total)
                for name, (r, c), total in zip(names, some, totals, strict=True)
            )
            asked: Body = ()
            if is_stream:
                walks = self.rows * self.n // len(some)
                place = step + steps * some[0][0]
                asked = later_rows(a, first, self.rows, place, steps * walks)
            body: list[Stmt] = [For(step, steps, kind, asked, carried)]
            for (r, c), total in zip(some, totals, strict=True):
                place = const((r * self.n + c) * self.width) + lane
                body.append(Store(self.sums[0], (place,), total))
            return For(lane, self.width, Kind.VECTOR, tuple(body))

        meeting = Meeting(self.sums, self.width, len(pairs))
        body = list[Stmt]()
        if steps > WRITTEN_OUT:
            body += [products_of(pairs, Kind.SERIAL), *meeting.after(len(pairs))]
        else:
            for r in range(self.rows):
                some = [(r, c) for c in range(self.n)]
                body += renamed((products_of(some, Kind.UNROLL),))
                body += meeting.after((r + 1) * self.n)
        return (*body, *self._results(batch, first, meeting.found))

    def _results(self, batch: list[Var], first: Expr, found: Buffer) -> list[Stmt]:
        """Stores the results of the rows from `first` on that are inside."""
        if self.is_plain:
            lane = Var("lane")
            place = first * self.n + lane
            stored: Stmt = self.stored((*batch, place), Load(found, (lane,)))
            if self.ragged and not self.overlaps:
                stored = If(place < self.m * self.n, (stored,))
            return [For(lane, self.rows * self.n, Kind.VECTOR, (stored,))]
        body = list[Stmt]()
        for r in range(self.rows):
            row = first + r
            for c in range(self.n):
                total = Load(found, (const(r * self.n + c),))
                stored = self.stored((*batch, row, const(c)), total)
                body.append(If(row < self.m, (stored,)) if self.ragged else stored)
        return body

    def _column(self, batch: list[Var], column: int, term: Expr) -> Expr:
        """An element of a column."""
        if self.copies:
            return Load(self.columns, (const(column), term))
        return self.element(1, batch, const(column), term)


few_columns = built_by(_Nest)
"""The scheduled kernel of a contraction that is not refused."""
