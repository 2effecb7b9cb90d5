"""Products of a few rows with a matrix on a CPU, terms neighbours in memory: vectors of terms.

    for each task: some blocks of LINE columns                                   (parallel)
      for each block, for each group of rows:
        for each few columns: WIDTH partial sums of each row and column, over all terms, by fma,
        which leave for a buffer
        the sums there meet in pairs of neighbours, all by all, until each result has one

`matmul` would bring the terms of each column apart first, one by one, which few rows do not pay
for. A block has as many columns as a result has partial sums, so a row's results are one vector.
Partial sum l has the terms l, l + WIDTH, ... in order, so bits depend on the operands only (tasks
never share an element). Half types are widened when read; the accumulator is at least float32, and
the result is rounded once. Terms that fill no vector come first, in its last lanes.
"""

from __future__ import annotations

from functools import reduce
from math import prod
from operator import and_

from pyc.ir.element import widened
from pyc.ir.expr import Expr, Var, const, fma, minimum, select
from pyc.ir.loops import Body, Carry, For, If, Kernel, Kind, Stmt, Store
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.operand import NO_MATRIX_PRODUCT, Dimensions, is_matrix_product
from pyc.kernels.partial_sums import MeetingLines
from pyc.kernels.tasks import TaskNest, built_by, free_extents

MOST_ROWS = 32
LONG = 4
"""So many times as many terms as rows make bringing the terms of columns apart dearer than sums
that meet."""
FEWEST_COLUMNS = 7
"""Fewer are for `few_columns`."""
WIDTH_BYTES = 64
"""Bytes of the partial sums of a result: not of the target's vectors, so that bits are the same on
all."""
TOGETHER = (8, 4, 2, 1)
"""Columns whose sums are under way at once."""
LOAD = 1 / 4
"""What a load costs beside an fma."""
LATENCY = 8
"""Sums that keep the units for fma busy: fewer take as long."""
TASK_WORK = 1 << 17
"""Products of a task, about."""
PARALLEL_WORK = 1 << 20


def refusal_of_dot_columns(
    types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target
) -> str:
    """Why this nest cannot or should not do the contraction; empty if it should."""
    if not types[0].dtype.is_float or types[0].dtype.bits < 16:
        return f"it is for float16 and wider floats, not {types[0].dtype.name}"
    if not is_matrix_product(types, dimensions):
        return NO_MATRIX_PRODUCT
    if any(dimensions[0][side] != (types[side].rank - 1,) for side in range(2)):
        return "terms are no neighbours in memory"
    m, n, k = _extents(types, dimensions)
    if m > MOST_ROWS or n < FEWEST_COLUMNS:
        return f"{m} x {n} results: it needs {FEWEST_COLUMNS} columns, and at most {MOST_ROWS} rows"
    if k < LONG * m:
        return f"{k} terms are few for {m} rows: it needs {LONG * m}"
    width = WIDTH_BYTES // widened(types[0].dtype).itemsize
    return f"{k} terms fill no vector of {width}" if k < width else ""


def _extents(types: tuple[ArrayType, ...], dimensions: Dimensions) -> tuple[int, int, int]:
    """Rows, columns and terms."""
    (m,), (n,) = (free_extents(types, dimensions, side) for side in range(2))
    return m, n, types[0].shape[dimensions[0][0][0]]


def _cut(rows: int, budget: int) -> tuple[int, int, int]:
    """Groups of rows, rows of a group, and columns whose sums are under way with it."""

    def cut(columns: int) -> tuple[float, int, int, int]:
        groups = -(-rows // max(budget // columns, 1))
        some = -(-rows // groups)
        step = max(some * columns + LOAD * (some + columns), LATENCY)
        return groups * step / columns, groups, some, columns

    return min(cut(columns) for columns in TOGETHER if columns <= budget)[1:]


class _Nest(TaskNest):
    def prepare(self, types: tuple[ArrayType, ...], target: Target) -> None:
        """Sets the groups of rows, the blocks of columns and the tasks."""
        self.m, self.n, self.k = _extents(types, self.dimensions)
        self.width = WIDTH_BYTES // self.accumulator.itemsize
        wide = target.registers >= 32 or target.vector_bytes >= 64
        budget = (24 if wide else 12) * target.vector_bytes // WIDTH_BYTES
        self.groups, self.rows, self.columns = _cut(self.m, budget)
        self.columns = min(self.columns, self.width)
        blocks = -(-self.n // self.width)
        work = self.m * self.width * self.k
        self.tasks = min(blocks, -(-blocks * work // TASK_WORK))
        self.blocks = -(-blocks // self.tasks)
        self.tasks = -(-blocks // self.blocks)
        self.ragged = self.n % (self.tasks * self.blocks * self.width) != 0
        self.meeting = MeetingLines(self.accumulator, self.width, self.rows * self.width)

    def kernel(self) -> Kernel:
        """The scheduled kernel over (a, b, the epilogue's, out)."""
        batch = [Var(f"n{k}") for k in range(len(self.batch))]
        tile, block, group = Var("tile"), Var("block"), Var("group")
        column = (tile * self.blocks + block) * self.width
        inner: Stmt = For(group, self.groups, Kind.SERIAL, self._group(batch, group, column))
        if self.ragged:
            inner = If(column < self.n, (inner,))
        inner = For(block, self.blocks, Kind.SERIAL, (inner,))
        body = self.meeting.within((*self._clear(), inner))
        work = prod(self.batch) * self.m * self.n * self.k
        kind = Kind.PARALLEL if work >= PARALLEL_WORK else Kind.SERIAL
        return self.tasks_of("dot_columns", batch, [(tile, self.tasks)], kind, body)

    def _clear(self) -> Body:
        """Zeros, where a block may have columns that there are not: their sums meet too."""
        if not self.ragged:
            return ()
        line, lane = Var("line"), Var("lane")
        zero = Store(self.meeting.sums, (line * self.width + lane,), const(0, self.accumulator))
        vector = For(lane, self.width, Kind.VECTOR, (zero,))
        return (For(line, self.rows * self.width, Kind.SERIAL, (vector,)),)

    def _group(self, batch: list[Var], group: Expr, column: Expr) -> Body:
        """The results of a group of rows and a block of columns."""
        some = Var("some")
        first = group * self.rows
        products: Body = (self._products(batch, first, column, some * self.columns),)
        if self.n % self.width:
            products = (If(column + some * self.columns < self.n, products),)
        body = (For(some, self.width // self.columns, Kind.SERIAL, products),)

        def result(row: Expr, lane: Expr, total: Expr) -> Stmt:
            stored = self.stored((*batch, first + row, column + lane), total)
            inside = []
            if self.m % self.rows:
                inside.append(first + row < self.m)
            if self.n % self.width:
                inside.append(column + lane < self.n)
            return If(reduce(and_, inside), (stored,)) if inside else stored

        return (*body, *self.meeting.of_all(result))

    def _products(self, batch: list[Var], first: Expr, column: Expr, start: Expr) -> Stmt:
        """The partial sums of a group of rows and some columns of a block, from `start` on; those
        beyond the last are its copies."""
        lane, step = Var("lane"), Var("step")
        steps, rest = divmod(self.k, self.width)
        pairs = [(r, c) for r in range(self.rows) for c in range(self.columns)]
        rows: list[Expr] = [first + r for r in range(self.rows)]
        columns: list[Expr] = [column + start + c for c in range(self.columns)]
        if self.m % self.rows:
            rows = [minimum(row, const(self.m - 1)) for row in rows]
        if self.n % self.columns:
            columns = [minimum(c, const(self.n - 1)) for c in columns]

        def factors(r: int, c: int, term: Expr) -> tuple[Expr, Expr]:
            return self.element(0, batch, rows[r], term), self.element(1, batch, columns[c], term)

        def initial(r: int, c: int) -> Expr:
            """The terms that fill no vector: lanes of the last one, the others of which are 0."""
            zero = const(0, self.accumulator)
            if not rest:
                return zero
            x, y = factors(r, c, const(self.k - self.width) + lane)
            return select(lane >= self.width - rest, x * y, zero)

        names = [Var(f"s{r}_{c}", self.accumulator) for r, c in pairs]
        totals = [Var(f"e{r}_{c}", self.accumulator) for r, c in pairs]
        carried = tuple(
            Carry(name, initial(r, c), fma(*factors(r, c, step * self.width + lane), name), total)
            for name, (r, c), total in zip(names, pairs, totals, strict=True)
        )
        stores = (
            Store(self.meeting.sums, ((start + (r * self.width + c)) * self.width + lane,), total)
            for (r, c), total in zip(pairs, totals, strict=True)
        )
        body: Body = (For(step, steps, Kind.SERIAL, (), carried), *stores)
        return For(lane, self.width, Kind.VECTOR, body)


dot_columns = built_by(_Nest)
"""The scheduled kernel of a contraction that is not refused."""
