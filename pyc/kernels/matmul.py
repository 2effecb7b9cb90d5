"""Matrix products on a CPU: a scheduled nest in shape-cut tiles with the accumulators in registers.

    for each task: a tile of TILE_ROWS rows and one vector panel of columns     (parallel)
      for each block of DEPTH terms:
        the panel of b is packed into a buffer that stays in the first-level cache, or, for one or
        two groups of rows, read where it lies
        for each group of ROWS rows: ROWS x PANEL accumulators over the terms of the block, by fma

Sums of a tile stay in a buffer between blocks, which are added in order, so bits depend on the
shape, the type and the vector width only (tasks never share an element). Ragged rows read the last
row again and do not store; ragged columns are masked. Half types are widened when packed and read;
the accumulator is float32, and the result is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable

from pyc.frozen import frozen
from pyc.ir.dtype import DType
from pyc.ir.element import widened
from pyc.ir.expr import Apply, Expr, Load, Var, apply, const, fma, minimum, postorder
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
    Prefetch,
    Space,
    Stmt,
    Store,
)
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.contraction import Epilogue
from pyc.kernels.operand import Axes, Dimensions, place_of

DEPTH = 256
TILE_ROWS = 384
"""The most rows of a tile, for which a panel is packed once; with DEPTH terms of a they fit in the
second-level cache."""
MINIMUM_WORK = 1 << 13
"""Products below which the generic nest is as quick."""
PARALLEL_WORK = 1 << 20
PACKED_GROUPS = 2
"""Groups of rows up to which a panel is read where it lies: packing it would cost more."""
LINE = 64
"""Bytes of a line of the caches."""
LIGHT = 4
"""Instructions of an epilogue that is written out for each accumulator; longer ones run over the
sums of a tile."""


@frozen()
class _Shape:
    """A contraction as batched rows x terms times terms x columns; each a product of axes."""

    batch: Axes
    rows: Axes
    columns: Axes
    terms: Axes


def refusal(types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target) -> str:
    """Why this nest cannot or should not do the contraction; empty if it should."""
    a, _ = types
    if not a.dtype.is_float or a.dtype.bits < 16:
        return f"it is for float16 and wider floats, not {a.dtype.name}"
    shape = _split(types, dimensions)
    if len(shape.terms) != 1 or len(shape.columns) != 1 or len(shape.rows) != 1:
        return "it is for one axis of rows, one of columns and one of terms"
    m, n, k = shape.rows[0], shape.columns[0], shape.terms[0]
    least = target.lanes(4) // 2
    if n < least or m < 4 or k < 4 or m * n * k < MINIMUM_WORK:
        return (
            f"{m} x {n} results of {k} terms are few: it needs 4 rows, {least} columns, 4 terms "
            f"and {MINIMUM_WORK} products"
        )
    return ""


def _split(types: tuple[ArrayType, ...], dimensions: Dimensions) -> _Shape:
    a, b = types
    (a_contract, b_contract), (a_batch, b_batch) = dimensions
    a_free = [k for k in range(a.rank) if k not in (*a_contract, *a_batch)]
    b_free = [k for k in range(b.rank) if k not in (*b_contract, *b_batch)]
    return _Shape(
        tuple(a.shape[k] for k in a_batch),
        tuple(a.shape[k] for k in a_free),
        tuple(b.shape[k] for k in b_free),
        tuple(a.shape[k] for k in a_contract),
    )


@frozen()
class _Ends:
    """Whether a block of terms is the first (its sums start at 0), and the last (its sums are the
    result)."""

    first: bool = False
    last: bool = False


_At = tuple[list[Var], Expr, Expr]
"""A tile: its batch indices, first row and first column."""


class _Nest:
    def __init__(
        self,
        types: tuple[ArrayType, ...],
        dimensions: Dimensions,
        result: DType | None,
        target: Target,
        epilogue: Epilogue | None,
    ) -> None:
        a, b = types
        self.types, self.dimensions = types, dimensions
        self.accumulator = widened(a.dtype)
        shape = _split(types, dimensions)
        self.batch = shape.batch
        (self.m,), (self.n,), (self.k,) = shape.rows, shape.columns, shape.terms
        lanes = target.lanes(self.accumulator.itemsize)
        wide = target.registers >= 32 or target.vector_bytes >= 64
        self.width = min(lanes * 2, max(lanes, 1 << (self.n - 1).bit_length()))
        self.depth = min(DEPTH, self.k)
        self.across = b.rank - 1 in dimensions[0][1]
        tile = -(-self.m // -(-self.m // TILE_ROWS))  # tiles of equal height
        groups = -(-tile // (12 if wide else 6))  # and groups of rows
        self.rows = -(-tile // groups)
        self.tile = groups * self.rows
        self.packs = self.across or groups > PACKED_GROUPS or self.n % self.width != 0
        self.a = Buffer("a", a.dtype, a.shape, role="in")
        self.b = Buffer("b", b.dtype, b.shape, role="in")
        self.product = result or a.dtype
        self.epilogue = epilogue
        out_type = self.product if epilogue is None else epilogue.value.dtype
        self.out = Buffer("out", out_type, (*self.batch, self.m, self.n), role="out")
        self.panel = Buffer(
            "panel", self.accumulator, (self.depth, self.width), Space.STACK, alignment=64
        )
        self.sums = Buffer(
            "sums", self.accumulator, (self.tile, self.width), Space.STACK, alignment=64
        )

    def kernel(self) -> Kernel:
        """The scheduled kernel over (a, b, out)."""
        batch = [Var(f"n{k}") for k in range(len(self.batch))]
        row_tiles, panels = -(-self.m // self.tile), -(-self.n // self.width)
        tile, panel = Var("tile"), Var("panel")
        body = self._tile(batch, tile, panel)
        loops = [*zip(batch, self.batch, strict=True), (panel, panels), (tile, row_tiles)]
        task, total = Var("task"), 1
        for _, extent in loops:
            total *= extent
        lets: list[Stmt] = []
        rest: Expr = task
        for var, extent in reversed(loops[1:]):
            lets.append(Let(var, apply("remainder", rest, const(extent))))
            rest = apply("quotient", rest, const(extent))
        lets.append(Let(loops[0][0], rest))
        work = self.m * self.n * self.k
        for extent in self.batch:
            work *= extent
        kind = Kind.PARALLEL if work >= PARALLEL_WORK else Kind.SERIAL
        nest = For(task, total, kind, (*lets, *body))
        between = () if self.epilogue is None else self.epilogue.buffers
        return Kernel("matmul", (self.a, self.b, *between, self.out), (nest,))

    # --- one tile ---------------------------------------------------------------------------------

    def _tile(self, batch: list[Var], tile: Expr, panel: Expr) -> Body:
        at = (batch, tile * self.tile, panel * self.width)
        if self.k <= self.depth and self._is_light():
            body = self._block(at, const(0), self.k, _Ends(first=True, last=True))
            return self._with_panel(body)
        blocks, rest = divmod(self.k, self.depth)
        body = []
        if blocks == 1 and not rest:
            body += self._block(at, const(0), self.depth, _Ends(first=True))
        else:
            body += self._each_sum(lambda row, lane: (self._sum(row, lane, self._zero()),))
            block = Var("block")
            inner = self._block(at, block * self.depth, self.depth, _Ends())
            body.append(For(block, blocks, Kind.SERIAL, tuple(inner)))
            if rest:
                body += self._block(at, const(blocks * self.depth), rest, _Ends())
        body += self._each_sum(
            lambda row, lane: self._result(at, row, lane, Load(self.sums, (row, lane)))
        )
        return (Alloc(self.sums, self._with_panel(body)),)

    def _with_panel(self, body: list[Stmt]) -> Body:
        return (Alloc(self.panel, tuple(body)),) if self.packs else tuple(body)

    def _is_light(self) -> bool:
        """Whether the epilogue may stand once for each accumulator."""
        if self.epilogue is None:
            return True
        return sum(isinstance(e, Apply) for e in postorder([self.epilogue.value])) <= LIGHT

    def _zero(self) -> Expr:
        return const(0, self.accumulator)

    def _sum(self, row: Expr, lane: Expr, value: Expr) -> Stmt:
        return Store(self.sums, (row, lane), value)

    def _each_sum(self, body: Callable[[Expr, Expr], tuple[Stmt, ...]]) -> list[Stmt]:
        """`body` for every row and lane of a tile."""
        row, lane = Var("row"), Var("lane")
        vector = For(lane, self.width, Kind.VECTOR, body(row, lane))
        return [For(row, self.tile, Kind.SERIAL, (vector,))]

    def _result(self, at: _At, row: Expr, lane: Expr, total: Expr) -> tuple[Stmt, ...]:
        """Stores an element of the result, if it is inside."""
        batch, first_row, first_column = at
        place = (*batch, first_row + row, first_column + lane)
        value = total.cast(self.product)
        if self.epilogue is not None:
            value = self.epilogue.at(place, value)
        body: tuple[Stmt, ...] = (Store(self.out, place, value),)
        if self.m % self.tile:
            body = (If(first_row + row < self.m, body),)
        if self.n % self.width:
            body = (If(first_column + lane < self.n, body),)
        return body

    def _block(self, at: _At, start: Expr, count: int, ends: _Ends) -> list[Stmt]:
        """The terms [start, start + count) of a tile: into the sums, or the result if last."""
        batch, first_row, first_column = at
        packed = self._pack(batch, first_column, start, count) if self.packs else []
        group, lane, k = Var("group"), Var("lane"), Var("k")
        row = [group * self.rows + r for r in range(self.rows)]
        names = [Var(f"s{r}", self.accumulator) for r in range(self.rows)]
        results = [Var(f"e{r}", self.accumulator) for r in range(self.rows)]
        term: Expr = Load(self.panel, (k, lane))
        if not self.packs:
            term = self._element(self.b, 1, batch, first_column + lane, start + k)
        carried = []
        for r in range(self.rows):
            inside = minimum(first_row + row[r], const(self.m - 1))
            x = self._element(self.a, 0, batch, inside, start + k)
            initial = self._zero() if ends.first else Load(self.sums, (row[r], lane))
            carried.append(Carry(names[r], initial, fma(x, term, names[r]), results[r]))
        ahead = self._ahead(batch, first_column, start + k) if not self.packs else ()
        loop = For(k, count, Kind.SERIAL, ahead, tuple(carried))
        stores: list[Stmt] = []
        for r in range(self.rows):
            if ends.last:
                stores += self._result(at, row[r], lane, results[r])
            else:
                stores.append(self._sum(row[r], lane, results[r]))
        vector = For(lane, self.width, Kind.VECTOR, (loop, *stores))
        return [*packed, For(group, self.tile // self.rows, Kind.SERIAL, (vector,))]

    def _ahead(self, batch: list[Var], first_column: Expr, term: Expr) -> Body:
        """Brings a row of the next panel closer: rows are far apart, so the processor does not."""
        line = LINE // self.b.dtype.itemsize
        # The last element of each: where rows begin in the middle of a line, the first is here.
        columns = range(self.width + line - 1, 2 * self.width, line)
        dimensions = self.dimensions[0][1], self.dimensions[1][1]
        rank = len(self.b.shape)
        return tuple(
            Prefetch(self.b, place_of(rank, *dimensions, batch, first_column + c, term))
            for c in columns
        )

    def _pack(self, batch: list[Var], first_column: Expr, start: Expr, count: int) -> list[Stmt]:
        """The block's terms of the panel, zero beyond the last column."""
        lane, k = Var("lane"), Var("k")
        if self.across:
            return self._pack_across(batch, first_column, start, count)
        column = first_column + lane
        element = self._element(self.b, 1, batch, column, start + k)
        fill: list[Stmt] = [Store(self.panel, (k, lane), element)]
        if self.n % self.width:
            zero = Store(self.panel, (k, lane), const(0, self.accumulator))
            fill = [zero, If(column < self.n, tuple(fill))]
        vector = For(lane, self.width, Kind.VECTOR, tuple(fill))
        return [For(k, count, Kind.SERIAL, (vector,))]

    def _pack_across(
        self, batch: list[Var], first_column: Expr, start: Expr, count: int
    ) -> list[Stmt]:
        """The same where neighbouring terms are neighbours in memory: read along them, one by one.
        Vectors along the columns would be gathers, whose lines often share a cache set."""
        lane, k = Var("lane"), Var("k")
        column = first_column + lane
        element = self._element(self.b, 1, batch, column, start + k)
        terms = For(k, count, Kind.SERIAL, (Store(self.panel, (k, lane), element),))
        if not self.n % self.width:
            return [For(lane, self.width, Kind.SERIAL, (terms,))]
        k = Var("k")
        zero = For(k, count, Kind.SERIAL, (Store(self.panel, (k, lane), self._zero()),))
        return [For(lane, self.width, Kind.SERIAL, (If(column < self.n, (terms,), (zero,)),))]

    def _element(self, buffer: Buffer, side: int, batch: list[Var], free: Expr, term: Expr) -> Expr:
        """An element of an argument at (batch, free axis, contracted axis), widened."""
        contract, batch_axes = self.dimensions[0][side], self.dimensions[1][side]
        place = place_of(len(buffer.shape), contract, batch_axes, batch, free, term)
        return Load(buffer, place).cast(self.accumulator)


def matmul(
    types: tuple[ArrayType, ...],
    target: Target,
    epilogue: Epilogue | None = None,
    *,
    dimensions: Dimensions,
    result: DType | None = None,
) -> Kernel:
    """The scheduled kernel of a contraction that `applies`, over buffers (a, b, the epilogue's,
    out)."""
    return _Nest(types, dimensions, result, target, epilogue).kernel()
