"""Products of a matrix and a vector on a CPU, terms neighbours in memory: rows side by side.

    for each task: some groups of rows                                           (parallel)
      for each group of ROWS rows: WIDTH partial sums of each, over all terms, by fma
        the sums of a row meet by halves

Several rows are streams of memory at the same time, and share what is read of the vector. Partial
sum l has the terms l, l + WIDTH, ... in order, so bits depend on the operands only (tasks never
share an element). Half types are widened when read; the accumulator is at least float32, and the
result is rounded once.
"""

from __future__ import annotations

from math import prod

from pyc.ir.dtype import DType
from pyc.ir.element import widened
from pyc.ir.expr import Expr, Load, Var, apply, const, fma, minimum
from pyc.ir.loops import Alloc, Body, Buffer, Carry, For, If, Kernel, Kind, Let, Space, Stmt, Store
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.contraction import Epilogue
from pyc.kernels.operand import Dimensions, place_of

ROWS = 4
"""Rows of a group."""
WIDTH_BYTES = 128
"""Bytes of the partial sums of a row."""
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
    (row,) = _rows(types[matrix], matrix, dimensions)
    rows, least = types[matrix].shape[row], MINIMUM_BYTES // types[matrix].dtype.itemsize
    if terms < least or rows < ROWS:
        return f"{rows} rows of {terms} terms are few: it needs {ROWS} of {least}"
    return ""


def _rows(type: ArrayType, side: int, dimensions: Dimensions) -> list[int]:
    taken = (*dimensions[0][side], *dimensions[1][side])
    return [axis for axis in range(type.rank) if axis not in taken]


class _Nest:
    def __init__(
        self,
        types: tuple[ArrayType, ...],
        dimensions: Dimensions,
        result: DType | None,
        target: Target,
        epilogue: Epilogue | None,
    ) -> None:
        self.dimensions = dimensions
        self.matrix, self.vector = _sides(types, dimensions)
        matrix = types[self.matrix]
        (row,) = _rows(matrix, self.matrix, dimensions)
        self.m, self.k = matrix.shape[row], matrix.shape[-1]
        self.batch = tuple(types[0].shape[axis] for axis in dimensions[1][0])
        self.accumulator = widened(matrix.dtype)
        self.width = WIDTH_BYTES // self.accumulator.itemsize
        groups = -(-self.m // ROWS)
        tasks = -(-self.m * self.k * matrix.dtype.itemsize // TASK_BYTES)
        self.groups = -(-groups // min(groups, tasks))
        self.tasks = -(-groups // self.groups)
        self.buffers = tuple(
            Buffer(name, t.dtype, t.shape, role="in") for name, t in zip("ab", types, strict=True)
        )
        self.product = result or matrix.dtype
        self.epilogue = epilogue
        out_type = self.product if epilogue is None else epilogue.value.dtype
        self.out = Buffer("out", out_type, (*self.batch, self.m), role="out")
        self.sums = Buffer("sums", self.accumulator, (ROWS, self.width), Space.STACK, alignment=64)

    def kernel(self) -> Kernel:
        """The scheduled kernel over (a, b, the epilogue's, out)."""
        batch = [Var(f"n{k}") for k in range(len(self.batch))]
        tile, task, group = Var("tile"), Var("task"), Var("group")
        loops = [*zip(batch, self.batch, strict=True), (tile, self.tasks)]
        lets: list[Stmt] = []
        rest: Expr = task
        for var, extent in reversed(loops[1:]):
            lets.append(Let(var, apply("remainder", rest, const(extent))))
            rest = apply("quotient", rest, const(extent))
        lets.append(Let(loops[0][0], rest))
        first = (tile * self.groups + group) * ROWS
        inner = For(group, self.groups, Kind.SERIAL, self._group(batch, first))
        work = prod(self.batch) * self.m * self.k
        kind = Kind.PARALLEL if work >= PARALLEL_WORK else Kind.SERIAL
        total = prod(extent for _, extent in loops)
        nest = For(task, total, kind, (*lets, Alloc(self.sums, (inner,))))
        between = () if self.epilogue is None else self.epilogue.buffers
        return Kernel("dot_rows", (*self.buffers, *between, self.out), (nest,))

    def _group(self, batch: list[Var], first: Expr) -> Body:
        """The results of the rows from `first` on; those beyond the last are its copies."""
        lane, step = Var("lane"), Var("step")
        steps, rest = divmod(self.k, self.width)
        names = [Var(f"s{r}", self.accumulator) for r in range(ROWS)]
        results = [Var(f"e{r}", self.accumulator) for r in range(ROWS)]
        rows = [minimum(first + r, const(self.m - 1)) for r in range(ROWS)]
        zero = const(0, self.accumulator)

        def product(row: Expr, term: Expr, total: Expr) -> Expr:
            x = self._element(self.matrix, batch, row, term)
            return fma(x, self._element(self.vector, batch, row, term), total)

        carried = tuple(
            Carry(name, zero, product(row, step * self.width + lane, name), result)
            for name, row, result in zip(names, rows, results, strict=True)
        )
        body: list[Stmt] = [For(step, steps, Kind.SERIAL, (), carried)]
        body += [Store(self.sums, (const(r), lane), e) for r, e in enumerate(results)]
        if rest:
            left = [
                Store(
                    self.sums,
                    (const(r), lane),
                    product(
                        row, const(steps * self.width) + lane, Load(self.sums, (const(r), lane))
                    ),
                )
                for r, row in enumerate(rows)
            ]
            body.append(If(lane < rest, tuple(left)))
        return (
            For(lane, self.width, Kind.VECTOR, tuple(body)),
            *self._halves(),
            *(self._result(batch, first + r, r) for r in range(ROWS)),
        )

    def _halves(self) -> list[Stmt]:
        """The partial sums of each row, met in two of them."""
        half, body = self.width // 2, list[Stmt]()
        while half > 1:
            lane = Var("lane")
            pairs = [
                Store(
                    self.sums,
                    (const(r), lane),
                    Load(self.sums, (const(r), lane)) + Load(self.sums, (const(r), lane + half)),
                )
                for r in range(ROWS)
            ]
            body.append(For(lane, half, Kind.VECTOR, tuple(pairs)))
            half //= 2
        return body

    def _result(self, batch: list[Var], row: Expr, number: int) -> Stmt:
        """Stores the result of a row, if it is inside."""
        one, other = (Load(self.sums, (const(number), const(k))) for k in range(2))
        value = (one + other).cast(self.product)
        place = (*batch, row)
        if self.epilogue is not None:
            value = self.epilogue.at(place, value)
        stored = Store(self.out, place, value)
        if self.m % (ROWS * self.groups) == 0:
            return stored
        return If(row < self.m, (stored,))

    def _element(self, side: int, batch: list[Var], row: Expr, term: Expr) -> Expr:
        """An element of an operand, widened."""
        contract, batch_axes = self.dimensions[0][side], self.dimensions[1][side]
        buffer = self.buffers[side]
        place = place_of(len(buffer.shape), contract, batch_axes, batch, row, term)
        return Load(buffer, place).cast(self.accumulator)


def dot_rows(
    types: tuple[ArrayType, ...],
    target: Target,
    epilogue: Epilogue | None = None,
    *,
    dimensions: Dimensions,
    result: DType | None = None,
) -> Kernel:
    """The scheduled kernel of a contraction that is not refused, over buffers (a, b, the
    epilogue's, out)."""
    return _Nest(types, dimensions, result, target, epilogue).kernel()
