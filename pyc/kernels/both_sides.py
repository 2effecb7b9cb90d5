"""Products of one matrix with vectors from both sides, `a @ x` and `v @ a`: one pass over it.

    for each task: some groups of rows                                           (parallel)
      for each group of up to ROWS rows, one walk along them, vector by vector:
        partial sums of each row times x, which meet as in `dot_rows`
        the sum of each column, in a buffer, plus the rows times their elements of v, by fma
    then for each column: what the tasks have of it is added, in their order     (parallel)

By themselves the two read a large matrix twice, and memory is what they wait for; in smaller ones
loads are shared. v may be what is made of `a @ x`, element by element, as in the gradient of least
squares: then a walk along one group adds the one before, which is still in the caches, since a walk
of its own would leave memory idle. Short rows ask for later ones (`row_streams`). Tasks are cut by
the shape, so bits depend on the operands only.
"""

from __future__ import annotations

from collections.abc import Callable

from pyc.frozen import frozen, replace
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Var, const, fma, minimum, select
from pyc.ir.loops import (
    Alloc,
    Body,
    Buffer,
    Carry,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Stmt,
    Store,
)
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.contraction import Epilogue
from pyc.kernels.operand import Dimensions
from pyc.kernels.partial_sums import Meeting, sums_of
from pyc.kernels.row_streams import is_row_stream, later_rows
from pyc.kernels.tasks import TaskNest

ROWS = 8
"""The most rows of a group; half of them where there are fewer than 32 registers."""
PANEL = 4
"""Vectors of columns side by side where sums are stored, and where those of the tasks are added."""
MINIMUM_BYTES = 1 << 19
"""Bytes of a matrix below which two passes take as long."""
GROUP_BYTES = 1 << 18
"""The most bytes of a group of rows that is to stay in the second-level cache, beside another."""
SUMS_BYTES = 1 << 18
"""The most bytes of the sums of all columns, which each group goes through."""
FEWEST_BYTES = 1 << 8
"""Of a row: the partial sums of shorter ones meet as long as they are walked along."""
FEWEST_ROWS = 64
"""Of a matrix: with fewer the sums of the tasks are no small part of what is read."""
TASK_ROWS = 32
"""The fewest of a task."""
TASK_BYTES = 1 << 20
"""Bytes of the matrix that a task reads, about,"""
FEWEST_TASKS = 8
MOST_TASKS = 64
"""but so many tasks, where they have rows enough."""
PARALLEL_WORK = 1 << 17
PARALLEL_JOIN = 1 << 14
"""Sums from which their addition is shared."""
LINE = 64
"""Bytes of a line of the caches."""


@frozen()
class Product:
    """A contraction of the matrix with a vector, with what is stored in place of its result."""

    types: tuple[ArrayType, ...]
    dimensions: Dimensions
    result: DType | None
    epilogue: Epilogue | None


def side_of(types: tuple[ArrayType, ...], dimensions: Dimensions) -> str:
    """Which side of a pair a contraction of a matrix and a vector can be: "rows" for `a @ x`,
    "columns" for `v @ a`; empty if neither, or if the matrix is not for this."""
    which = 0 if types[0].rank == 2 else 1
    matrix, contract = types[which], dimensions[0][which]
    if not matrix.dtype.is_float or matrix.dtype.bits < 16 or len(contract) != 1:
        return ""
    m, k = matrix.shape
    if matrix.nbytes < MINIMUM_BYTES or m < FEWEST_ROWS:
        return ""
    if not FEWEST_BYTES <= k * matrix.dtype.itemsize <= SUMS_BYTES:
        return ""
    return "columns" if contract == (0,) else "rows"


def may_follow(matrix: ArrayType, target: Target) -> bool:
    """Whether v may be made of the products with x: a group of rows is still in the caches then,
    and is not of a half type, whose elements would be widened again."""
    m, k = matrix.shape
    group = _rows(m, target) * k * matrix.dtype.itemsize
    return group <= GROUP_BYTES and matrix.dtype.bits >= 32


def _rows(m: int, target: Target) -> int:
    """Rows of a group: as many as there are registers for, or fewer of which all are made up."""
    most = ROWS if target.registers >= 32 else ROWS // 2
    return next((r for r in range(most, most // 2, -1) if m % r == 0), most)


class _Pass(TaskNest):
    """The pass over the matrix, as a nest of the product with x. vector: v; None if that is what is
    stored in out."""

    vector: Buffer | None = None

    def prepare(self, types: tuple[ArrayType, ...], target: Target) -> None:
        """Sets the groups of rows and the tasks."""
        self.matrix = 0 if types[0].rank == 2 else 1
        matrix = types[self.matrix]
        self.m, self.k = matrix.shape
        self.width = LINE // self.accumulator.itemsize
        self.rows = _rows(self.m, target)
        self.panel = PANEL * target.lanes(self.accumulator.itemsize)
        wanted = min(max(matrix.nbytes // TASK_BYTES, FEWEST_TASKS), MOST_TASKS)
        self.groups = -(-max(-(-self.m // wanted), TASK_ROWS) // self.rows)
        self.tasks = -(-self.m // (self.groups * self.rows))
        self.found = sums_of(self.accumulator, self.width, self.rows)
        self.made = self.local("made", self.rows, dtype=self.out.dtype)
        self.sums = self.local("sums", self.k)
        self.partial = Buffer("partial", self.accumulator, (self.tasks, self.k), role="out")

    def kernel(self) -> Kernel:
        """The scheduled kernel over (a, x, the epilogue's, v, out, partial); without v where that
        is what is stored in out."""
        tile = Var("tile")
        zero = const(0, self.accumulator)
        body: Body = (
            self._columns(lambda column: Store(self.sums, (column,), zero)),
            *self._rows(tile),
            self._columns(
                lambda column: Store(self.partial, (tile, column), Load(self.sums, (column,)))
            ),
        )
        for buffer in (*self.found, self.made, self.sums):
            body = (Alloc(buffer, body),)
        kind = Kind.PARALLEL if self.m * self.k >= PARALLEL_WORK else Kind.SERIAL
        kernel = self.tasks_of("both_sides", [], [(tile, self.tasks)], kind, body)
        others = () if self.vector is None else (self.vector,)
        *given, out = kernel.buffers
        return Kernel(kernel.name, (*given, *others, out, self.partial), kernel.body)

    def _rows(self, tile: Expr) -> Body:
        """The groups of a task, and after the last task the rows that make no group."""
        group = Var("group")
        number = tile * self.groups + group
        whole, rest = divmod(self.m, self.rows)
        here = self._group(number * self.rows, self.rows)
        left = self._group(const(whole * self.rows), rest)
        body: list[Stmt] = []
        if self.vector is not None:
            step = (*self._walk(here, here), *self._made(here))
            after = (*self._walk(left, left), *self._made(left))
        else:  # the sums get a group while the next one is read
            before = self._group((number - 1) * self.rows, self.rows)
            both, alone = self._walk(here, before), self._walk(here, [])
            step = (If(group.equal(0), tuple(alone), tuple(both)), *self._made(here))
            after = (*self._walk(left, []), *self._made(left), *self._walk([], left))
        ragged = self.tasks * self.groups > whole
        if ragged:
            step = (If(number < whole, step),)
        body.append(For(group, self.groups, Kind.SERIAL, step))
        if self.vector is None:
            end = minimum((tile + 1) * self.groups, const(whole))
            last = tuple(self._walk([], self._group((end - 1) * self.rows, self.rows)))
            body += [If(tile * self.groups < whole, last)] if ragged else last
        if rest:
            body.append(If(tile.equal(self.tasks - 1), after))
        return tuple(body)

    def _group(self, first: Expr, count: int) -> list[Expr]:
        """The numbers of so many rows."""
        return [first + r for r in range(count)]

    def _walk(self, dots: list[Expr], added: list[Expr]) -> list[Stmt]:
        """One walk along rows: partial sums of the products of some with x, those of others times
        their elements of v added to the sums."""
        lane, step = Var("lane"), Var("step")
        steps, rest = divmod(self.k, self.width)
        names = [Var(f"s{r}", self.accumulator) for r in range(len(dots))]
        totals = [Var(f"e{r}", self.accumulator) for r in range(len(dots))]

        def factors(row: Expr, term: Expr) -> tuple[Expr, Expr]:
            x = self.element(self.matrix, (), row, term)
            return x, self.element(1 - self.matrix, (), row, term)

        def start(row: Expr) -> Expr:
            """The terms that fill no vector: lanes of the last one, the others of which are 0."""
            zero = const(0, self.accumulator)
            if not rest:
                return zero
            x, y = factors(row, const(self.k - self.width) + lane)
            return select(lane >= self.width - rest, x * y, zero)

        column = step * self.width + lane
        carried = tuple(
            Carry(name, start(row), fma(*factors(row, column), name), total)
            for name, row, total in zip(names, dots, totals, strict=True)
        )
        lines = [
            Store(self.found[0], (const(r * self.width) + lane,), e) for r, e in enumerate(totals)
        ]
        asked: Body = ()
        if dots and is_row_stream(self.operands[self.matrix]):
            asked = later_rows(self.operands[self.matrix], dots[0], len(dots), step, steps)
        walk = For(step, steps, Kind.SERIAL, (*asked, *self._add(added, column)), carried)
        body: list[Stmt] = [For(lane, self.width, Kind.VECTOR, (walk, *lines))]
        if rest and added:
            column = const(steps * self.width) + lane
            some = If(column < self.k, self._add(added, column))
            body.append(For(lane, self.width, Kind.VECTOR, (some,)))
        return body

    def _made(self, rows: list[Expr]) -> list[Stmt]:
        """Stores the results of neighbouring rows whose partial sums are there."""
        if not rows:
            return []
        meeting, lane = Meeting(self.found, self.width, len(rows)), Var("lane")
        stored = self.stored((rows[0] + lane,), Load(meeting.found, (lane,)))
        value = Var("v", stored.value.dtype)
        body: Body = (Let(value, stored.value), Store(self.out, stored.index, value))
        if self.vector is None:
            body = (*body, Store(self.made, (lane,), value))
        return [*meeting.after(len(rows)), For(lane, len(rows), Kind.VECTOR, body)]

    def _add(self, rows: list[Expr], column: Expr) -> Body:
        """Adds the products of rows to the sum of a column."""
        if not rows:
            return ()

        def factors(r: int) -> tuple[Expr, Expr]:
            if self.vector is None:
                v = Load(self.made, (const(r),))
            else:
                v = Load(self.vector, (rows[r],))
            return v.cast(self.accumulator), self.element(self.matrix, (), rows[r], column)

        x, y = factors(0)
        total = x * y
        for r in range(1, len(rows)):
            total = fma(*factors(r), total)
        return (Store(self.sums, (column,), Load(self.sums, (column,)) + total),)

    def _columns(self, statement: Callable[[Expr], Stmt]) -> Stmt:
        """A statement for each column."""
        panel, lane = Var("panel"), Var("lane")
        column = panel * self.panel + lane
        body: Body = (statement(column),)
        if self.k % self.panel:
            body = (If(column < self.k, body),)
        vectors = For(lane, self.panel, Kind.VECTOR, body)
        return For(panel, -(-self.k // self.panel), Kind.SERIAL, (vectors,))


class _Join(TaskNest):
    """The sums of the tasks, as a nest of the product with v, whose epilogue it has. partial: they
    themselves; parts: the tasks."""

    partial: Buffer
    parts: int

    def prepare(self, types: tuple[ArrayType, ...], target: Target) -> None:
        """Sets the columns, and those of a panel."""
        self.columns = next(t for t in types if t.rank == 2).shape[1]
        self.width = PANEL * target.lanes(self.accumulator.itemsize)

    def kernel(self) -> Kernel:
        """The scheduled kernel over (partial, the epilogue's, out)."""
        n = self.columns
        panel, lane, task = Var("panel"), Var("lane"), Var("part")
        column = panel * self.width + lane
        before, total = Var("before", self.accumulator), Var("total", self.accumulator)
        first = Load(self.partial, (const(0), column))
        following = Load(self.partial, (task + 1, column))
        carry = Carry(before, first, before + following, total)
        body: Body = (
            For(task, self.parts - 1, Kind.SERIAL, (), (carry,)),
            self.stored((column,), total),
        )
        if n % self.width:
            body = (If(column < n, body),)
        vectors = For(lane, self.width, Kind.VECTOR, body)
        kind = Kind.PARALLEL if self.parts * n >= PARALLEL_JOIN else Kind.SERIAL
        kernel = self.tasks_of("joined", [], [(panel, -(-n // self.width))], kind, (vectors,))
        return Kernel(kernel.name, (self.partial, *kernel.buffers[2:]), kernel.body)


def both_sides(
    rows: Product, columns: Product, target: Target, *, dependent: bool
) -> tuple[Kernel, Kernel]:
    """The scheduled kernels of a pair that is not refused: over (a, x in the order of `rows`, its
    epilogue's, v, its result, the sums of the tasks), and over (these sums, the epilogue's of
    `columns`, its result). dependent: v is the result of `rows`, and no buffer of the first."""
    first = _Pass(rows.types, rows.dimensions, rows.result, target, rows.epilogue)
    if not dependent:
        vector = next(t for t in columns.types if t.rank == 1)
        first.vector = Buffer("v", vector.dtype, vector.shape, role="in")
    second = _Join(columns.types, columns.dimensions, columns.result, target, columns.epilogue)
    second.partial, second.parts = replace(first.partial, role="in"), first.tasks
    return first.kernel(), second.kernel()
