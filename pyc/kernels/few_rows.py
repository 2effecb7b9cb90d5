"""Products of a few rows with a matrix on a CPU: one pass over the matrix, as it lies in memory.

    for each task: some panels of columns                                        (parallel)
      for each block of TERMS terms, or FAR_TERMS:
        for each panel: its sums, in a buffer, and the block's products, by fma

The matrix is read once, along its rows, a block of them side by side, in panels of several vectors,
so that memory sees whole lines of a row; of a large matrix the next block is asked for ahead.
`matmul` would pack it first, which few rows do not pay for. Panels without a column that the
epilogue wants (`wanted.py`) are left out. A vector may be the second operand, as
in `x.T @ v`. The terms of a block are added in order, and so are the blocks: few columns wait for
one addition a block, and bits depend on the operands only (tasks never share an element). Half
types are widened when read; the accumulator is at least float32, and the result is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import prod
from operator import and_

from pyc.ir.expr import Expr, Load, Var, const, fma
from pyc.ir.loops import (
    Alloc,
    Body,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Prefetch,
    Stmt,
    Store,
)
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.operand import Dimensions
from pyc.kernels.tasks import TaskNest, built_by, free_extents
from pyc.kernels.wanted import wanted_columns

MOST_ROWS = 3
"""More are for `matmul`."""
COLUMNS = 8
"""With fewer the generic nest is as quick."""
TERMS = 8
FAR_TERMS = 16
"""The same of one row and a matrix beyond the second-level cache, where more rows side by side are
read faster, and in it slower. The numbers of two rows would not fit the registers."""
FAR = 1 << 20
"""Bytes of such a matrix."""
PANEL = 8
"""Vectors of a panel of one row, where there are 32 registers or more."""
CHOSEN = 2
"""The same where the epilogue wants a part of the columns only: fewer are multiplied for nobody."""
VECTORS = 96
"""The most vectors of a task: of float64, 768 columns with the widest ones, 6 KiB of sums. Pieces
of rows of 4 KiB are read a tenth slower, whole rows of 12 KiB a tenth faster."""
ALONE = 256
"""The same where there is too little work for tasks: 16 KiB of sums."""
LARGE = 1 << 25
"""Bytes of a matrix that is asked for ahead: one in the caches takes up to a third longer then."""
LINE = 64
"""Bytes of a line of the caches."""
MINIMUM_WORK = 1 << 8
"""Products of all of a batch below which the generic nest is as quick, and sooner compiled."""
PARALLEL_WORK = 1 << 20


_Statement = Callable[[Expr, Expr, Expr], Stmt]
"""A statement at a row, a place in the sums and a column."""


def _sides(types: tuple[ArrayType, ...], dimensions: Dimensions) -> tuple[int, int]:
    """Which operand has the rows, and which is the matrix: 0 and 1, or 1 and 0 for a matrix, whose
    rows are its terms, and a vector or single column, of which the result is the same."""
    columns = free_extents(types, dimensions, 1)
    if not columns:
        return 1, 0
    rows_are_terms = types[0].rank - 1 not in (*dimensions[0][0], *dimensions[1][0])
    return (1, 0) if columns == (1,) and rows_are_terms else (0, 1)


def refusal_of_few_rows(
    types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target
) -> str:
    """Why this nest cannot or should not do the contraction; empty if it should."""
    sides = _sides(types, dimensions)
    a, b = (types[side] for side in sides)
    (a_contract, b_contract), (a_batch, b_batch) = (
        [each[side] for side in sides] for each in dimensions
    )
    if not a.dtype.is_float or a.dtype.bits < 16:
        return f"it is for float16 and wider floats, not {a.dtype.name}"
    rows = a.rank - len(a_contract) - len(a_batch)
    if len(a_contract) != 1 or rows > 1 or b.rank - len(b_contract) - len(b_batch) != 1:
        return "it is for one axis of columns, one of terms and at most one of rows"
    free = [k for k in range(a.rank) if k not in (*a_contract, *a_batch)]
    m = prod(a.shape[k] for k in free)
    if m > MOST_ROWS:
        return f"{m} rows are more than {MOST_ROWS}"
    if b.rank - 1 in (*b_contract, *b_batch):
        return "the columns of the matrix are no neighbours in memory"
    n, k = b.shape[-1], a.shape[a_contract[0]]
    work = prod(a.shape[axis] for axis in a_batch) * m * n * k
    if n < COLUMNS or k < TERMS or work < MINIMUM_WORK:
        return (
            f"{m} x {n} results of {k} terms are few: it needs {COLUMNS} columns, {TERMS} terms "
            f"and {MINIMUM_WORK} products"
        )
    return ""


class _Nest(TaskNest):
    def prepare(self, types: tuple[ArrayType, ...], target: Target) -> None:
        """Sets the panels and the tasks."""
        self.side, self.matrix = _sides(types, self.dimensions)
        b = types[self.matrix]
        self.rows = free_extents(types, self.dimensions, self.side)
        self.m, self.n = prod(self.rows), b.shape[-1]
        self.k = b.shape[self.dimensions[0][self.matrix][0]]
        lanes = target.lanes(self.accumulator.itemsize)
        self.at = [Var(f"n{k}") for k in range(len(self.batch))]
        axes = len(self.out.shape) - len(self.batch)
        bounds = {}
        if self.side == 0 or not self.rows:  # columns are the last axis
            wanted = wanted_columns(self.epilogue, self.at, axes, const(0, self.product))
            bounds = {"first": wanted.first, "stop": wanted.stop}
        self.wanted = {name: (Var(name), e) for name, e in bounds.items() if e is not None}
        """The first column that the epilogue wants, and where these end, if it does not want all:
        as variables, and what these are."""
        vectors = CHOSEN if self.wanted else _panel(self.m, -(-self.n // lanes), target)
        self.width = vectors * lanes
        panels = -(-self.n // self.width)
        work = prod(self.batch) * self.m * self.n * self.k
        self.kind = Kind.PARALLEL if work >= PARALLEL_WORK else Kind.SERIAL
        most = VECTORS if self.kind is Kind.PARALLEL else ALONE
        self.tasks = -(-panels * vectors // most)
        self.panels = -(-panels // self.tasks)
        self.ragged = self.n % (self.tasks * self.panels * self.width) != 0
        nbytes = prod(b.shape) * b.dtype.itemsize
        self.is_large = nbytes >= LARGE
        far = self.m == 1 and self.k >= FAR_TERMS and nbytes >= FAR
        self.terms = FAR_TERMS if far else TERMS
        self.sums = self.local("sums", self.m, self.panels * self.width)

    def kernel(self) -> Kernel:
        """The scheduled kernel over (a, b, the epilogue's, out)."""
        batch, tile = self.at, Var("tile")
        task = Alloc(self.sums, self._task(batch, tile * (self.panels * self.width)))
        lets = tuple(Let(var, bound) for var, bound in self.wanted.values())
        return self.tasks_of("few_rows", batch, [(tile, self.tasks)], self.kind, (*lets, task))

    def _task(self, batch: list[Var], first: Expr) -> Body:
        """All of some columns: their sums, block by block, and the results."""
        blocks, rest = divmod(self.k, self.terms)
        block = Var("block")
        zero = const(0, self.accumulator)
        start = self._each(first, False, lambda row, lane, _: Store(self.sums, (row, lane), zero))
        body = [*start]
        inner = self._terms(batch, first, block * self.terms, self.terms)
        body.append(For(block, blocks, Kind.SERIAL, tuple(inner)))
        if rest:
            body += self._terms(batch, first, const(blocks * self.terms), rest)
        body += self._each(
            first,
            True,
            lambda row, lane, column: self._result(batch, row, lane, column),
        )
        return tuple(body)

    def _each(
        self,
        first: Expr,
        inside: bool,
        statement: _Statement,
        before: Callable[[Expr], Body] = lambda _: (),
        products: bool = False,
    ) -> list[Stmt]:
        """A statement for each row and column of a task. inside: not beyond the last column;
        before: what is done at the first column of each panel; products: it is for those panels
        only that the epilogue wants."""
        panel, lane = Var("panel"), Var("lane")
        place = panel * self.width + lane
        column = first + place
        body: Body = tuple(statement(const(row), place, column) for row in range(self.m))
        if inside and self.ragged:
            body = (If(column < self.n, body),)
        vectors = For(lane, self.width, Kind.VECTOR, body)
        here = first + panel * self.width
        body = (*before(here), vectors)
        if products:
            body = self._if_wanted(here, body)
        return [For(panel, self.panels, Kind.SERIAL, body)]

    def _if_wanted(self, column: Expr, body: Body) -> Body:
        """`body` where the panel that begins at a column has some that the epilogue wants."""
        tests = []
        if "first" in self.wanted:
            tests.append(column + self.width > self.wanted["first"][0])
        if "stop" in self.wanted:
            tests.append(column < self.wanted["stop"][0])
        return (If(reduce(and_, tests), body),) if tests else body

    def _terms(self, batch: list[Var], first: Expr, start: Expr, count: int) -> list[Stmt]:
        """Adds the products of the terms [start, start + count)."""

        def add(row: Expr, lane: Expr, column: Expr) -> Stmt:
            def factors(k: int) -> tuple[Expr, Expr]:
                x = self.element(self.side, batch, row, start + k)
                return x, self.element(self.matrix, batch, column, start + k)

            x, y = factors(0)
            total = x * y
            for k in range(1, count):
                total = fma(*factors(k), total)
            return Store(self.sums, (row, lane), Load(self.sums, (row, lane)) + total)

        def ahead(column: Expr) -> Body:
            b = self.operands[self.matrix]
            places = (
                self.place(self.matrix, batch, column + c, start + (k + self.terms))
                for k in range(count)
                for c in range(0, self.width, LINE // b.dtype.itemsize)
            )
            return tuple(Prefetch(b, place) for place in places)

        if not self.is_large:
            return self._each(first, True, add, products=True)
        return self._each(first, True, add, ahead, products=True)

    def _result(self, batch: list[Var], row: Expr, lane: Expr, column: Expr) -> Stmt:
        free = (row, column) if self.rows else (column,)
        place = (*batch, *(free if self.side == 0 else reversed(free)))
        return self.stored(place, Load(self.sums, (row, lane)))


def _panel(rows: int, vectors: int, target: Target) -> int:
    """The vectors of a panel for so many vectors of columns: as many as there are registers for,
    where these leave few lanes idle."""
    most = PANEL if target.registers >= 32 else PANEL // 2
    width = most if rows == 1 else most // 2
    while width > 2 and -(-vectors // width) * width * 8 > -(-vectors // 2) * 2 * 9:
        width //= 2
    return width


few_rows = built_by(_Nest)
"""The scheduled kernel of a contraction that is not refused."""
