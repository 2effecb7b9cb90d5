"""Products of a matrix and a vector on a CPU, terms neighbours in memory: rows side by side.

    for each task: some groups of rows                                           (parallel)
      for each group of up to ROWS rows: WIDTH partial sums of each, over all terms, by fma
        the sums of all rows meet in pairs of neighbours, in vectors

Several rows are streams of memory at the same time, and share what is read of the vector. Partial
sum l has the terms l, l + WIDTH, ... in order, so bits depend on the operands only (tasks never
share an element). Half types are widened when read; the accumulator is at least float32, and the
result is rounded once. Terms that fill no vector come first, in its last lanes.
"""

from __future__ import annotations

from math import prod

from pyc.ir.expr import Expr, Load, Var, const, fma, minimum, select
from pyc.ir.loops import Alloc, Body, Carry, For, If, Kernel, Kind, Stmt, Store
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.operand import Dimensions
from pyc.kernels.partial_sums import Meeting, sums_of
from pyc.kernels.row_streams import is_row_stream, later_rows
from pyc.kernels.tasks import TaskNest, built_by, free_extents

ROWS = 4
"""The most rows of a group, and the fewest of a matrix."""
FAR_ROWS = 8
"""The same of a matrix beyond the second-level cache, where there are 32 registers or more: as many
streams are read a tenth faster there, and a tenth slower in it."""
FAR = 1 << 20
"""Bytes of such a matrix."""
WIDTH_BYTES = 64
"""Bytes of the partial sums of a row: a line of the caches."""
MINIMUM_BYTES = 1 << 11
"""Bytes of a row below which the generic nest is as quick."""
TASK_BYTES = 1 << 17
"""Bytes of the matrix that a task reads, about."""
PARALLEL_WORK = 1 << 17


def _sides(types: tuple[ArrayType, ...], dimensions: Dimensions) -> tuple[int, int]:
    """Which operand is the matrix, and which the vector: 0 and 1, or 1 and 0."""
    free = [t.rank - len(dimensions[0][s]) - len(dimensions[1][s]) for s, t in enumerate(types)]
    return (0, 1) if free[1] == 0 else (1, 0)


def refusal_of_dot_rows(
    types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target
) -> str:
    """Why this nest cannot or should not do the contraction; empty if it should."""
    if not types[0].dtype.is_float or types[0].dtype.bits < 16:
        return f"it is for float16 and wider floats, not {types[0].dtype.name}"
    contract, batch = dimensions
    free = [t.rank - len(contract[s]) - len(batch[s]) for s, t in enumerate(types)]
    if len(contract[0]) != 1 or sorted(free) != [0, 1]:
        return "it is for one axis of rows, one of terms, and a vector"
    matrix, _ = _sides(types, dimensions)
    if any(t.rank - 1 not in contract[s] for s, t in enumerate(types)):
        return "terms are no neighbours in memory"
    terms = types[matrix].shape[-1]
    (rows,) = free_extents(types, dimensions, matrix)
    least = MINIMUM_BYTES // types[matrix].dtype.itemsize
    if terms < least or rows < ROWS:
        return f"{rows} rows of {terms} terms are few: it needs {ROWS} of {least}"
    return ""


class _Nest(TaskNest):
    def prepare(self, types: tuple[ArrayType, ...], target: Target) -> None:
        """Sets the groups of rows and the tasks."""
        self.matrix, self.vector = _sides(types, self.dimensions)
        matrix = types[self.matrix]
        (self.m,) = free_extents(types, self.dimensions, self.matrix)
        self.k = matrix.shape[-1]
        self.width = WIDTH_BYTES // self.accumulator.itemsize
        nbytes = self.m * self.k * matrix.dtype.itemsize
        far = nbytes >= FAR and target.registers >= 32
        groups = -(-self.m // (FAR_ROWS if far else ROWS))
        self.rows = -(-self.m // groups)
        tasks = -(-nbytes // TASK_BYTES)
        self.groups = -(-groups // min(groups, tasks))
        self.tasks = -(-groups // self.groups)
        self.sums = sums_of(self.accumulator, self.width, self.rows)

    def kernel(self) -> Kernel:
        """The scheduled kernel over (a, b, the epilogue's, out)."""
        batch = [Var(f"n{k}") for k in range(len(self.batch))]
        tile, group = Var("tile"), Var("group")
        first = (tile * self.groups + group) * self.rows
        inner: Stmt = For(group, self.groups, Kind.SERIAL, self._group(batch, first))
        for sums in self.sums:
            inner = Alloc(sums, (inner,))
        work = prod(self.batch) * self.m * self.k
        kind = Kind.PARALLEL if work >= PARALLEL_WORK else Kind.SERIAL
        return self.tasks_of("dot_rows", batch, [(tile, self.tasks)], kind, (inner,))

    def _group(self, batch: list[Var], first: Expr) -> Body:
        """The results of the rows from `first` on; those beyond the last are its copies."""
        lane, step = Var("lane"), Var("step")
        steps, rest = divmod(self.k, self.width)
        names = [Var(f"s{r}", self.accumulator) for r in range(self.rows)]
        results = [Var(f"e{r}", self.accumulator) for r in range(self.rows)]
        rows = [minimum(first + r, const(self.m - 1)) for r in range(self.rows)]

        def factors(row: Expr, term: Expr) -> tuple[Expr, Expr]:
            x = self.element(self.matrix, batch, row, term)
            return x, self.element(self.vector, batch, row, term)

        def start(row: Expr) -> Expr:
            """The terms that fill no vector: lanes of the last one, the others of which are 0."""
            zero = const(0, self.accumulator)
            if not rest:
                return zero
            x, y = factors(row, const(self.k - self.width) + lane)
            return select(lane >= self.width - rest, x * y, zero)

        carried = tuple(
            Carry(name, start(row), fma(*factors(row, step * self.width + lane), name), result)
            for name, row, result in zip(names, rows, results, strict=True)
        )
        matrix = self.operands[self.matrix]
        asked = later_rows(matrix, first, self.rows, step, steps) if is_row_stream(matrix) else ()
        body: list[Stmt] = [For(step, steps, Kind.SERIAL, asked, carried)]
        body += [
            Store(self.sums[0], (const(r * self.width) + lane,), e) for r, e in enumerate(results)
        ]
        meeting = Meeting(self.sums, self.width, self.rows)
        return (
            For(lane, self.width, Kind.VECTOR, tuple(body)),
            *meeting.after(self.rows),
            *(
                self._result(batch, first + r, Load(meeting.found, (const(r),)))
                for r in range(self.rows)
            ),
        )

    def _result(self, batch: list[Var], row: Expr, total: Expr) -> Stmt:
        """Stores the result of a row, if it is inside."""
        stored = self.stored((*batch, row), total)
        if self.m % (self.rows * self.groups) == 0:
            return stored
        return If(row < self.m, (stored,))


dot_rows = built_by(_Nest)
"""The scheduled kernel of a contraction that is not refused."""
