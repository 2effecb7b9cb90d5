"""Scheduling of running combinations on a CPU: vectors along rows, or columns side by side.

Takes a `Cumulate` in parallel loops, in flat form, and returns its launches: rows that memory walks
along are walked by whole vectors, a row after the other; neighbouring rows of another axis are the
lanes of vectors, in tiles of columns whose state stays in the nearest cache while a few rows of
memory at a time are walked. Rows, and tiles, are tasks; of few long rows spans are, which takes
three launches: the totals of the spans, their folds, and the row again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Var, const
from pyc.ir.loops import Body, Buffer, Cumulate, For, If, Kind, Let, Space, Stmt, Store
from pyc.passes.cumulation import BLOCK, AcrossLanes, WithinLane, walks_columns
from pyc.passes.elements import Components
from pyc.passes.groups import groups
from pyc.passes.nest import Loop, Nest, Stage, around

TILE_BYTES = 1024
"""Bytes of one row of a tile of columns."""

LONG_ROW = 1 << 22
"""Elements of a row from which its spans are tasks, where rows are few."""
FEW_ROWS = 16
"""Long rows fewer than this share tasks."""

Rows = Callable[[Sequence[Loop], Sequence[Stmt], bool], list[Stmt]]
"""(loops, statements, whether they are tasks) -> statements in these loops."""
Vectors = Callable[[Loop, int, Body, int], list[Stmt]]
"""(loop, extent, statements, width) -> the loop in vectors."""


class Cumulation:
    """One `Cumulate` within `loops`. parallel: whether it is worth tasks."""

    def __init__(
        self,
        nest: Nest,
        loops: Sequence[Loop],
        s: Cumulate,
        rows: Rows,
        vectors: Vectors,
        *,
        parallel: bool,
    ) -> None:
        self.nest, self.loops, self.s = nest, list(loops), s
        self.parallel = parallel
        self._rows, self._vectors = rows, vectors
        self._locals: list[Buffer] = []

    def stages(self) -> tuple[Stage, ...]:
        """The launches."""
        if walks_columns(self.nest, self.loops, self.s):
            return (self.nest.stage("", self._columns(self.loops[-1])),)
        across = AcrossLanes(self.s, self._allocate)
        rows = prod(x.extent for x in self.loops)
        if across.n >= LONG_ROW and rows < FEW_ROWS:
            return self._shared(across)
        body = around(self._locals, across.row())
        return (self.nest.stage("", self._rows(self.loops, body, self.parallel and rows > 1)),)

    def _shared(self, across: AcrossLanes) -> tuple[Stage, ...]:
        """Rows whose spans are tasks: the totals of all but the last, their folds, the values."""
        row: Expr = const(0)
        for loop in self.loops:
            row = row * loop.extent + loop.var
        rows, spans = prod(x.extent for x in self.loops), across.spans
        scratch = [
            Buffer(f"span{k}", t, (rows * spans,), role="inout", alignment=64)
            for k, t in enumerate(across.types)
        ]
        first, fold, span = Var("span"), Var("span"), Var("span")

        def loads(at: Expr) -> Components:
            return tuple(Load(b, (row * spans + at,)) for b in scratch)

        def stores(at: Expr, values: Components) -> list[Stmt]:
            places = zip(scratch, values, strict=True)
            return [Store(b, (row * spans + at,), v) for b, v in places]

        inside, total = across.totals(first)
        body = around(self._locals, [*inside, *stores(first, total)])
        totals = self._rows([*self.loops, Loop(first, spans - 1)], body, True)

        def one(c: Components) -> tuple[list[Stmt], Components]:
            body: list[Stmt] = []
            total = across.bind(body, loads(fold), "total")
            return [*body, *stores(fold, c)], across.before(c, total)

        over_spans, c = across.loop(fold, spans - 1, across.neutral, one)
        folds = self._rows(self.loops, [over_spans, *stores(const(spans - 1), c)], False)

        body = []
        before = across.bind(body, loads(span), "before")
        inside, g = across.span(span, before)
        rest = across.rest(g, before)
        body += inside
        if rest:
            body.append(If(span.equal(spans - 1), tuple(rest)))
        values = self._rows([*self.loops, Loop(span, spans)], around(self._locals, body), True)
        stage = self.nest.stage
        return (
            stage("_totals", totals, scratch),
            stage("_spans", folds, scratch),
            stage("_values", values, scratch, streamed=True),
        )

    def _allocate(self, name: str, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        self._locals.append(Buffer(name, dtype, shape, Space.STACK, alignment=64))
        return self._locals[-1]

    def _columns(self, inner: Loop) -> list[Stmt]:
        """Tiles of neighbouring columns, BLOCK rows of memory at a time."""
        within = WithinLane(self.s)
        widest = max(t.itemsize for t in within.types)
        size = min(TILE_BYTES // widest, inner.extent)
        width = self.nest.width((self.s,))
        tiles = groups(inner.extent, size, parallel=self.parallel)
        state = [self._allocate("state", e.dtype, (size,)) for e in within.initial]
        clear, column, last = Var("column"), Var("column"), Var("column")
        body: list[Stmt] = []
        if state and within.n > BLOCK:
            zero = tuple(Store(b, (clear,), e) for b, e in zip(state, within.initial, strict=True))
            body += self._vectors(Loop(clear, size), size, zero, width)
        blocks, rest = divmod(within.n, BLOCK)
        if blocks:
            b = Var("b")
            whole = within.n > BLOCK
            before = tuple(Load(x, (column,)) for x in state) if whole else within.initial
            inside, after = within.block(b, b * BLOCK, before)
            if whole:
                inside += [Store(x, (column,), e) for x, e in zip(state, after, strict=True)]
            core: Body = (Let(inner.var, tiles.first + column), *inside)
            rows = self._vectors(Loop(column, size), size, core, width)
            body.append(For(b, blocks, Kind.SERIAL, tuple(rows)))
        if rest:
            before = tuple(Load(x, (last,)) for x in state) if blocks else within.initial
            inside, _ = within.block(const(blocks), const(blocks * BLOCK), before, rest)
            core = (Let(inner.var, tiles.first + last), *inside)
            body += self._vectors(Loop(last, size), size, core, width)
        held = self._locals if within.n > BLOCK else []
        body = tiles.around(around(held, body))
        return self._rows([*self.loops[:-1], tiles.loop], body, self.parallel)
