"""Contractions over several axes on a CPU, rows between them in memory: partial sums of all rows.

    ("ijk", a), ("ik", b), summed i and k    ("mkl", a), ("mkl", b), summed m and l

    for each task: some rows                                                     (parallel)
      for each place along the outer summed axes, for each few rows: WIDTH partial sums of each,
        over the terms that are neighbours, by fma, added to those of the row so far
      the sums of the rows meet in pairs of neighbours, in vectors

So operands are read as they lie; row by row, each row would be read from all over the array.
Partial sum l has the terms l, l + WIDTH, ... of each run of neighbours, in order, so bits depend on
the operands only (tasks never share an element). Half types are widened when read; the accumulator
is at least float32, and the result is rounded once. Terms of a run that fill no vector come first,
in its last lanes.
"""

from __future__ import annotations

from math import prod

from pyc.ir.element import widened
from pyc.ir.expr import Expr, Load, Var, const, fma, minimum, select
from pyc.ir.loops import Body, Carry, For, If, Kernel, Kind, Stmt, Store
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.operand import Dimensions
from pyc.kernels.partial_sums import MeetingLines
from pyc.kernels.tasks import TaskNest, built_by, free_extents

FEWEST_ROWS = 4
ROWS = 4
"""Rows whose sums are under way at once."""
TASK_ROWS = 32
"""Rows of a task: their sums are 2 KiB."""
WIDTH_BYTES = 64
"""Bytes of the partial sums of a row: not of the target's vectors, so that bits are the same on
all."""
PARALLEL_WORK = 1 << 18


def refusal_of_dot_slabs(
    types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target
) -> str:
    """Why this nest cannot or should not do the contraction; empty if it should."""
    if not types[0].dtype.is_float or types[0].dtype.bits < 16:
        return f"it is for float16 and wider floats, not {types[0].dtype.name}"
    contract, batch = dimensions
    if len(contract[0]) < 2:
        return "it is for several contracted axes that are no neighbours"
    free = [n for side in range(2) for n in free_extents(types, dimensions, side)]
    if len(free) > 1 or (not free and not batch[0]):
        return "it is for one axis of rows"
    last = types[0].rank - 1
    if last not in contract[0] or contract[1][contract[0].index(last)] != types[1].rank - 1:
        return "terms are no neighbours in memory"
    rows = free[0] if free else types[0].shape[batch[0][-1]]
    terms = types[0].shape[-1]
    width = WIDTH_BYTES // widened(types[0].dtype).itemsize
    if rows < FEWEST_ROWS or terms < width or prod(types[0].shape) * prod(types[1].shape) == 0:
        return f"{rows} rows, runs of {terms} terms: it needs {FEWEST_ROWS}, and of {width} terms"
    return ""


class _Nest(TaskNest):
    def prepare(self, types: tuple[ArrayType, ...], target: Target) -> None:
        """Sets the rows, the axes of terms and the tasks."""
        self.types = types
        free = [n for side in range(2) for n in free_extents(types, self.dimensions, side)]
        self.rows_are_free = bool(free)
        self.outer_batch = self.batch if free else self.batch[:-1]
        self.m = free[0] if free else self.batch[-1]
        self.k = types[0].shape[-1]
        self.width = WIDTH_BYTES // self.accumulator.itemsize
        self.outer = [
            (i, j, types[0].shape[i])
            for i, j in sorted(zip(*self.dimensions[0], strict=True))
            if i != types[0].rank - 1
        ]
        block = min(TASK_ROWS, -(-self.m // self.width) * self.width)
        self.tasks = -(-self.m // block)
        self.block = block
        self.meeting = MeetingLines(self.accumulator, self.width, block)

    def kernel(self) -> Kernel:
        """The scheduled kernel over (a, b, the epilogue's, out)."""
        batch = [Var(f"n{k}") for k in range(len(self.outer_batch))]
        tile = Var("tile")
        first = tile * self.block
        body: Body = (*self._clear(), self._added(batch, first), *self._results(batch, first))
        body = self.meeting.within(body)
        work = prod(self.batch) * self.k * prod(n for *_, n in self.outer)
        work *= self.m if self.rows_are_free else 1
        kind = Kind.PARALLEL if work >= PARALLEL_WORK else Kind.SERIAL
        loops = [*zip(batch, self.outer_batch, strict=True), (tile, self.tasks)]
        return self.of_tasks("dot_slabs", loops, kind, body)

    def _clear(self) -> Body:
        line, lane = Var("line"), Var("lane")
        place = line * self.width + lane
        zero = Store(self.meeting.sums, (place,), const(0, self.accumulator))
        vector = For(lane, self.width, Kind.VECTOR, (zero,))
        return (For(line, self.block, Kind.SERIAL, (vector,)),)

    def _added(self, batch: list[Var], first: Expr) -> Stmt:
        """Adds the products of all terms to the sums of the rows from `first` on."""
        outer = [Var(f"k{axis}") for axis, *_ in self.outer]
        group = Var("group")
        start = group * ROWS
        body: Body = (self._products(batch, outer, first, start),)
        if self.m % self.block:
            body = (If(first + start < self.m, body),)
        nest: Stmt = For(group, self.block // ROWS, Kind.SERIAL, body)
        for var, (*_, extent) in reversed(list(zip(outer, self.outer, strict=True))):
            nest = For(var, extent, Kind.SERIAL, (nest,))
        return nest

    def _products(self, batch: list[Var], outer: list[Var], first: Expr, start: Expr) -> Stmt:
        """The products of a run of some rows, from `start` on; those beyond the last are its
        copies, whose sums nobody reads."""
        lane, step = Var("lane"), Var("step")
        steps, rest = divmod(self.k, self.width)
        rows: list[Expr] = [first + start + r for r in range(ROWS)]
        if self.m % ROWS:
            rows = [minimum(row, const(self.m - 1)) for row in rows]
        sums = self.meeting.sums
        places = [(start + r) * self.width + lane for r in range(ROWS)]

        def product(row: Expr, term: Expr, total: Expr) -> Expr:
            x, y = (self._element(side, batch, outer, row, term) for side in range(2))
            return fma(x, y, total)

        def initial(row: Expr, place: Expr) -> Expr:
            """The sum so far, and the terms that fill no vector in lanes of the last one."""
            total = Load(sums, (place,))
            if not rest:
                return total
            more = product(row, const(self.k - self.width) + lane, total)
            return select(lane >= self.width - rest, more, total)

        names = [Var(f"s{r}", self.accumulator) for r in range(ROWS)]
        totals = [Var(f"e{r}", self.accumulator) for r in range(ROWS)]
        carried = tuple(
            Carry(name, initial(row, place), product(row, step * self.width + lane, name), total)
            for name, row, place, total in zip(names, rows, places, totals, strict=True)
        )
        stores = (Store(sums, (p,), total) for p, total in zip(places, totals, strict=True))
        body: Body = (For(step, steps, Kind.SERIAL, (), carried), *stores)
        return For(lane, self.width, Kind.VECTOR, body)

    def _element(
        self, side: int, batch: list[Var], outer: list[Var], row: Expr, term: Expr
    ) -> Expr:
        """An element of an operand, widened."""
        index: list[Expr] = [row] * self.types[side].rank
        index[-1] = term
        for axis, e in zip(self.dimensions[1][side], (*batch, row), strict=False):
            index[axis] = e
        for var, pair in zip(outer, self.outer, strict=True):
            index[pair[side]] = var
        return Load(self.operands[side], index).cast(self.accumulator)

    def _results(self, batch: list[Var], first: Expr) -> Body:
        """Stores the results of the rows from `first` on."""

        def result(line: Expr, lane: Expr, total: Expr) -> Stmt:
            row = first + (line * self.width + lane)
            stored = self.stored((*batch, row), total)
            return If(row < self.m, (stored,)) if self.m % self.block else stored

        return self.meeting.of_all(result)


dot_slabs = built_by(_Nest)
"""The scheduled kernel of a contraction that is not refused."""
