"""Two products and a row program between them, `f(a @ b) @ c`: blocks of rows go through all three.

    b and c are packed into panels of columns, once                              (scratch memory)
    for each task: a block of rows of one batch                                  (parallel)
      for each panel of b, for each group of rows: the rows of a times it, into the scores
      for each row of the block: the row program, from the scores to what c is multiplied with
      for each panel of c, for some of its terms, for each group of rows: the rows times it

By themselves the three write and read all scores, which for attention are many times what they are
made of: memory is what they wait for. Here the scores of a block stay in the second-level cache,
panels of b and c in the first-level one while the rows of a block are multiplied with them. Each
sum is made in the order of its terms and each row by the program as it is, so bits are those of the
row program, and depend on the operands only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lcm, prod

from pyc.frozen import frozen
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Var, apply, const, fma, minimum, select
from pyc.ir.loops import Alloc, Body, Buffer, Carry, For, If, Kernel, Kind, Let, Space, Stmt, Store
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.ir.visit import Rewriter
from pyc.kernels.contraction import Epilogue
from pyc.kernels.operand import Dimensions, is_matrix_product, place_of
from pyc.kernels.tasks import free_extents, lanes_of

FEWEST_ROWS = 64
"""Of a batch: packing is not worth it for fewer."""
FEWEST_COLUMNS = 64
"""Shorter rows are reduced several at a time (`passes/merged_rows`)."""
MOST_TERMS = 512
"""Of the first product: a panel of more leaves the first-level cache."""
FEWEST_TOGETHER = 24
"""Rows of a block: panels come from the third-level cache where rows are long. With 6 of 4,096 a
head took 1.7 times as long."""
FEWEST_BYTES = 1 << 19
"""Of all scores: fewer stay in the second-level cache as they are."""
PANEL_BYTES = 1 << 14
"""Of a panel of c that a block of rows is multiplied with: a third of a first-level cache."""
WIDE = (24, 4)
NARROW = (12, 2)
"""Registers for sums, and vectors of a panel, of 32 and of 16."""


@frozen()
class Outer:
    """A product beside the row program."""

    types: tuple[ArrayType, ...]
    dimensions: Dimensions
    epilogue: Epilogue | None = None

    @property
    def extents(self) -> tuple[int, int, int]:
        """Rows, columns and terms."""
        (m,), (n,) = (free_extents(self.types, self.dimensions, side) for side in range(2))
        return m, n, self.types[0].shape[self.dimensions[0][0][0]]

    @property
    def batch(self) -> tuple[int, ...]:
        """The extents of the batch axes."""
        return tuple(self.types[0].shape[axis] for axis in self.dimensions[1][0])

    def place(self, side: int, batch: Sequence[Expr], free: Expr, term: Expr) -> tuple[Expr, ...]:
        """Where an element of an operand stands."""
        contract, batch_axes = self.dimensions[0][side], self.dimensions[1][side]
        return place_of(self.types[side].rank, contract, batch_axes, batch, free, term)


@frozen()
class Rows:
    """A scheduled row program. number: of the row that `body` does, among those of all batches;
    given, made: the flat buffers of the scores and of its result; others: what it reads besides;
    in_place: whether the result may replace the scores."""

    number: Var
    body: Body
    given: Buffer
    made: Buffer
    others: tuple[Buffer, ...]
    in_place: bool


def may_surround(first: Outer, second: Outer, target: Target) -> bool:
    """Whether two products are for this nest: the columns of the first are the terms of the second,
    batch for batch, and some rows of scores fit a cache."""
    for outer in (first, second):
        if not is_matrix_product(outer.types, outer.dimensions):
            return False
        if any(t.dtype is not outer.types[0].dtype for t in outer.types):
            return False
    dtype = first.types[0].dtype
    if not dtype.is_float or dtype.bits < 32 or second.types[0].dtype is not dtype:
        return False
    rank = second.types[0].rank
    if second.dimensions[0][0] != (rank - 1,):
        return False
    if second.dimensions[1][0] != tuple(range(rank - 2)) or first.batch != second.batch:
        return False
    m, n, k = first.extents
    if prod(first.batch) * m * n * dtype.itemsize < FEWEST_BYTES:
        return False
    if m < FEWEST_ROWS or n < FEWEST_COLUMNS or k > MOST_TERMS or second.extents[1] < 2:
        return False
    return _Nest(first, second, target).fits()


class _Panels:
    """The second operand of a product, in panels of columns with all terms of each; zeros beyond
    the last column."""

    def __init__(self, name: str, outer: Outer, target: Target) -> None:
        self.outer, self.dtype = outer, outer.types[0].dtype
        _, self.n, self.terms = outer.extents
        self.lanes = lanes_of(self.n, self.dtype.itemsize, target)
        wide = target.registers >= 32 or target.vector_bytes >= 64
        sums, most = WIDE if wide else NARROW
        vectors = min(-(-self.n // self.lanes), most)
        self.rows = sums // vectors
        self.width = vectors * self.lanes
        self.count = -(-self.n // self.width)
        shape = (*outer.batch, self.count, self.terms, self.width)
        self.buffer = Buffer(name, self.dtype, shape, role="in", alignment=64)
        self.packed = Buffer(f"{name}_packed", self.dtype, shape, role="out", alignment=64)
        self.source = Buffer(f"{name}_source", self.dtype, outer.types[1].shape, role="in")

    def pack(self) -> Kernel:
        """The logical kernel over (the operand, its panels)."""
        batch = [Var(f"n{k}") for k in range(len(self.outer.batch))]
        panel, term, lane = Var("panel"), Var("term"), Var("lane")
        column: Expr = panel * self.width + lane
        ragged = self.n % self.width != 0
        inside = minimum(column, const(self.n - 1)) if ragged else column
        value: Expr = Load(self.source, self.outer.place(1, batch, inside, term))
        if ragged:
            value = select(column < self.n, value, const(0, self.dtype))
        body: Body = (Store(self.packed, (*batch, panel, term, lane), value),)
        loops = [*zip(batch, self.outer.batch, strict=True), (panel, self.count)]
        for var, extent in reversed([*loops, (term, self.terms), (lane, self.width)]):
            body = (For(var, extent, Kind.PARALLEL, body),)
        return Kernel("panels", (self.source, self.packed), body)

    def at(self, batch: Sequence[Expr], panel: Expr, term: Expr, lane: Expr) -> Expr:
        """An element."""
        return Load(self.buffer, (*batch, panel, term, lane))


class _Nest:
    def __init__(self, first: Outer, second: Outer, target: Target) -> None:
        self.first, self.second, self.target = first, second, target
        self.dtype: DType = first.types[0].dtype
        self.m, self.n, self.k = first.extents
        self.b, self.c = _Panels("b", first, target), _Panels("c", second, target)
        self.step = lcm(self.b.rows, self.c.rows)
        # Rows begin a line apart: of a power of two they would share the sets of a cache.
        self.pitch = self.b.count * self.b.width + 64 // self.dtype.itemsize

    def _most(self, buffers: int) -> int:
        """Rows of a block whose scores stay in the second-level cache, beside panels; 0 if those of
        as many as panels should be read for do not."""
        row = self.pitch * self.dtype.itemsize * buffers
        fewest = -(-FEWEST_TOGETHER // self.step) * self.step
        if fewest * row > 2 * self.target.cache_bytes:
            return 0
        return max(self.target.cache_bytes // 2 // row // self.step * self.step, fewest)

    def fits(self) -> bool:
        """Whether there are such rows, whatever the row program is like."""
        return self._most(2) > 0

    def kernel(self, rows: Rows) -> Kernel:
        """The scheduled kernel over (a, what the row program reads, the epilogue's, out, the panels
        of b and of c)."""
        tiles = -(-self.m // self._most(1 if rows.in_place else 2))
        self.tile = -(-self.m // (tiles * self.step)) * self.step
        tiles = -(-self.m // self.tile)
        self.a = Buffer("a", self.dtype, self.first.types[0].shape, role="in")
        self.scores = self._local("scores", self.tile * self.pitch)
        self.made = self.scores if rows.in_place else self._local("made", self.tile * self.pitch)
        self.sums = self._local("sums", self.tile, self.c.width)
        epilogue = self.second.epilogue
        shape = (*self.second.batch, self.m, self.c.n)
        out_type = self.dtype if epilogue is None else epilogue.value.dtype
        self.out = Buffer("out", out_type, shape, role="out")

        extents = self.first.batch
        batch = tuple(Var(f"n{k}") for k in range(len(extents)))
        tile, task, start = Var("tile"), Var("task"), Var("start")
        lets: list[Stmt] = []
        rest: Expr = task
        for var, extent in reversed([*zip(batch, extents, strict=True), (tile, tiles)]):
            lets.append(Let(var, apply("remainder", rest, const(extent))))
            rest = apply("quotient", rest, const(extent))
        lets.append(Let(start, tile * self.tile))
        body = (*lets, *self._scores(batch, start), *self._rows(rows, batch, start))
        body = (*body, *self._results(batch, start))
        for buffer in (self.sums, self.scores, *(() if rows.in_place else (self.made,))):
            body = (Alloc(buffer, body),)
        nest = For(task, prod(extents) * tiles, Kind.PARALLEL, body)
        between = () if epilogue is None else epilogue.buffers
        buffers = (self.a, *rows.others, *between, self.out, self.b.buffer, self.c.buffer)
        return Kernel("around_rows", buffers, (nest,))

    def _local(self, name: str, *shape: int) -> Buffer:
        return Buffer(name, self.dtype, shape, Space.STACK, alignment=64)

    def _ragged(self) -> bool:
        return self.m % self.tile != 0

    def _scores(self, batch: Sequence[Expr], start: Expr) -> list[Stmt]:
        """The scores of a block of rows. Rows beyond the last one are its copies."""
        panel, group = Var("panel"), Var("group")

        def factor(row: Expr, term: Expr) -> Expr:
            number = start + row
            number = minimum(number, const(self.m - 1)) if self._ragged() else number
            return Load(self.a, self.first.place(0, batch, number, term))

        def store(row: Expr, lane: Expr, total: Expr) -> Body:
            return (Store(self.scores, (row * self.pitch + panel * self.b.width + lane,), total),)

        def term(k: Expr, lane: Expr) -> Expr:
            return self.b.at(batch, panel, k, lane)

        inner = self._multiply(group, self.b, self.k, factor, term, None, store)
        groups = For(group, self.tile // self.b.rows, Kind.SERIAL, (inner,))
        return [For(panel, self.b.count, Kind.SERIAL, (groups,))]

    def _rows(self, rows: Rows, batch: Sequence[Expr], start: Expr) -> list[Stmt]:
        """The row program for each row that there is."""
        row, before = Var("row"), const(0)
        number: Expr = before
        for var, extent in zip(batch, self.first.batch, strict=True):
            number = number * extent + var
        number = number * self.m + start + row
        local = {rows.given: self.scores, rows.made: self.made}
        place = row * self.pitch - rows.number * self.n

        def index(buffer: Buffer, at: tuple[Expr, ...]) -> tuple[Expr, ...]:
            return (at[0] + place,) if buffer in local else at

        inside = Rewriter(buffers=lambda b: local.get(b, b), index=index).body(rows.body)
        count: Expr = const(self.tile)
        if self._ragged():
            count = minimum(count, const(self.m) - start)
        body = (Let(rows.number, number), *inside)
        return [For(row, count if self._ragged() else self.tile, Kind.SERIAL, body)]

    def _results(self, batch: Sequence[Expr], start: Expr) -> list[Stmt]:
        """What the rows are times c."""
        panel, block = Var("panel"), Var("block")
        depth = max(PANEL_BYTES // (self.c.width * self.dtype.itemsize), 1)
        blocks, rest = divmod(self.n, depth)
        last = const(self.m - 1) - start

        def at(first: Expr, count: int, *, begins: bool, ends: bool) -> Stmt:
            group = Var("group")

            def factor(row: Expr, term: Expr) -> Expr:
                row = minimum(row, last) if self._ragged() else row
                return Load(self.made, (row * self.pitch + first + term,))

            def term(k: Expr, lane: Expr) -> Expr:
                return self.c.at(batch, panel, first + k, lane)

            def store(row: Expr, lane: Expr, total: Expr) -> Body:
                if not ends:
                    return (Store(self.sums, (row, lane), total),)
                return self._result(batch, start + row, panel * self.c.width + lane, total)

            sums = None if begins else self.sums
            inner = self._multiply(group, self.c, count, factor, term, sums, store)
            return For(group, self.tile // self.c.rows, Kind.SERIAL, (inner,))

        if blocks + (rest > 0) == 1:
            return [self._each_panel(panel, (at(const(0), self.n, begins=True, ends=True),))]
        if not rest:
            blocks, rest = blocks - 1, depth
        body = [at(const(0), depth, begins=True, ends=False)]
        if blocks > 1:
            inner = at((block + 1) * depth, depth, begins=False, ends=False)
            body.append(For(block, blocks - 1, Kind.SERIAL, (inner,)))
        body.append(at(const(blocks * depth), rest, begins=False, ends=True))
        return [self._each_panel(panel, tuple(body))]

    def _each_panel(self, panel: Var, body: Body) -> Stmt:
        return For(panel, self.c.count, Kind.SERIAL, body)

    def _result(self, batch: Sequence[Expr], row: Expr, column: Expr, total: Expr) -> Body:
        """Stores an element of the result, if it is inside."""
        place = (*batch, row, column)
        epilogue = self.second.epilogue
        value = total if epilogue is None else epilogue.at(place, total)
        body: Body = (Store(self.out, place, value),)
        if self._ragged():
            body = (If(row < self.m, body),)
        return (If(column < self.c.n, body),) if self.c.n % self.c.width else body

    def _multiply(
        self,
        group: Var,
        panels: _Panels,
        count: int,
        factor: Callable[[Expr, Expr], Expr],
        term: Callable[[Expr, Expr], Expr],
        sums: Buffer | None,
        store: Callable[[Expr, Expr, Expr], Body],
    ) -> Stmt:
        """A group of rows times `count` terms of a panel, added to `sums` if there are any."""
        lane, k = Var("lane"), Var("k")
        rows = [group * panels.rows + r for r in range(panels.rows)]
        names = [Var(f"s{r}", self.dtype) for r in range(panels.rows)]
        totals = [Var(f"e{r}", self.dtype) for r in range(panels.rows)]
        zero, x = const(0, self.dtype), term(k, lane)
        carried = tuple(
            Carry(
                name,
                zero if sums is None else Load(sums, (row, lane)),
                fma(factor(row, k), x, name),
                total,
            )
            for name, row, total in zip(names, rows, totals, strict=True)
        )
        body: list[Stmt] = [For(k, count, Kind.SERIAL, (), carried)]
        for row, total in zip(rows, totals, strict=True):
            body += store(row, lane, total)
        return For(lane, panels.width, Kind.VECTOR, tuple(body))


def around_rows(
    first: Outer, rows: Rows, second: Outer, target: Target
) -> tuple[Kernel, Kernel, Kernel]:
    """The logical kernels over (b, its panels) and (c, its panels), and the scheduled one over (a,
    what the row program reads, the epilogue's, out, the panels of b and of c)."""
    nest = _Nest(first, second, target)
    return nest.b.pack(), nest.c.pack(), nest.kernel(rows)
