"""Products of bfloat16 on a CPU that multiplies pairs of them: two terms an instruction.

    for each task: a tile of rows and up to PANELS panels of columns             (parallel)
      for each block of DEPTH pairs of terms:
        the tile's rows and, for each panel, its columns are copied, a pair in 32 bits
        for each group of rows: an accumulator for each row and vector of the panel over the pairs
        of the block, by `fma_pairs`, or by two fma where some number is too small for it

The processor's instruction makes 0 of subnormal numbers, given and found. Numbers of at least
2^-56, and 0, have none: their products and sums are multiples of 2^-126. Copying looks for smaller
ones; from a block that has some on, a task multiplies by fma, which gives the same bits where both
may (sums may be small then). Of a pair the second term is added first. Sums are float32, blocks are
added in order, and the result is rounded once; so bits depend on the operands only (tasks never
share an element).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from pyc.ir import dtype as dt
from pyc.ir.expr import Const, Expr, Load, Var, apply, const, fma, minimum
from pyc.ir.loops import Alloc, Body, Carry, For, If, Kernel, Kind, Let, Stmt, Store
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.operand import NO_MATRIX_PRODUCT, Dimensions, is_matrix_product
from pyc.kernels.panels import At, PanelNest, extents
from pyc.kernels.tasks import built_by

DEPTH = 256
"""The most pairs of terms of a block."""
TILE_ROWS = 192
"""The most rows of a tile, for which a panel is copied once."""
PANELS = 4
"""The most panels of a task, for which the tile is copied once."""
BUDGET = 24
"""Registers for accumulators."""
VECTORS = 4
"""Vectors of a panel."""
TASKS = 16
"""Tasks from which they may have PANELS panels; fewer have two."""
FEWEST_ROWS = 8
FEWEST_COLUMNS = 16
FEWEST_TERMS = 16
"""Below these copying costs more than the pairs save."""
PARALLEL_WORK = 1 << 20
RUN = 32
"""Pairs of a row that are copied at a time."""
TOGETHER = 4
"""Columns that are copied together where they lie apart."""
HIGH = 0xFFFF0000
"""The bits of the second number of a pair."""
SIZES = 0x7FFF7FFF
"""The bits of both without their signs. Adding as much sets the sign of what is not 0."""
FAR_ENOUGH = 0x5C805C80
"""What sets the sign of the size of a number of at least 2^-56 (its bits are 0x2380 or more)."""
SIGNS = 0x80008000


def refusal_of_pairs(types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target) -> str:
    """Why this nest cannot or should not do the contraction; empty if it should."""
    if types[0].dtype is not dt.bf16:
        return f"it is for bfloat16, not {types[0].dtype.name}"
    if not target.bfloat16_pairs:
        return "the processor does not multiply pairs of bfloat16"
    if not is_matrix_product(types, dimensions):
        return NO_MATRIX_PRODUCT
    m, n, k = extents(types, dimensions)
    if m < FEWEST_ROWS or n < FEWEST_COLUMNS or k < FEWEST_TERMS:
        return (
            f"{m} x {n} results of {k} terms are few: it needs {FEWEST_ROWS} rows, "
            f"{FEWEST_COLUMNS} columns and {FEWEST_TERMS} terms"
        )
    return ""


_Statement = Callable[[At, Expr, Expr, Expr], Body]
"""Statements at (a task, a panel of it, a row, a lane)."""


class _Nest(PanelNest):
    def prepare(self, types: tuple[ArrayType, ...], target: Target) -> None:
        """Sets the tiles, the panels and the buffers of pairs."""
        a, b = types
        dimensions = self.dimensions
        self.m, self.n, self.k = extents(types, dimensions)
        self.along = dimensions[0][0] == (a.rank - 1,)
        self.across = dimensions[0][1] == (b.rank - 1,)
        self.depth = min(DEPTH, -(-self.k // 2))
        self.lanes = target.lanes(4)
        vectors = min(VECTORS, -(-self.n // self.lanes))
        tiles = -(-self.m // TILE_ROWS)
        rows = -(-self.m // tiles)
        groups = -(-rows // (BUDGET // vectors))
        self.rows = -(-rows // groups)
        self.tile = groups * self.rows
        self.width = vectors * self.lanes
        panels = -(-self.n // self.width)
        tasks = prod(self.batch) * tiles * -(-panels // PANELS)
        self.panels = min(panels, PANELS if tasks >= TASKS else 2)
        tile = (self.tile, self.depth) if self.along else (self.depth, self.tile)
        self.tile_pairs = self.local("rows", *tile, dtype=dt.u32)
        self.panel_pairs = self.local("columns", self.depth, self.width, dtype=dt.u32)
        self.sums = self.local("sums", self.panels, self.tile, self.width)
        self.small = self.local("small", 2, max(RUN, self.tile, self.width), dtype=dt.u32)

    def kernel(self) -> Kernel:
        """The scheduled kernel over (a, b, the epilogue's, out)."""
        batch = tuple(Var(f"n{k}") for k in range(len(self.batch)))
        tile, slab = Var("tile"), Var("slab")
        wide = self.panels * self.width
        cuts = [(tile, -(-self.m // self.tile)), (slab, -(-self.n // wide))]
        body = self._task(At(batch, tile * self.tile, slab * wide))
        for buffer in (self.tile_pairs, self.panel_pairs, self.sums, self.small):
            body = (Alloc(buffer, body),)
        work = self.m * self.n * self.k * prod(self.batch)
        kind = Kind.PARALLEL if work >= PARALLEL_WORK else Kind.SERIAL
        return self.tasks_of("matmul_pairs", batch, cuts, kind, body)

    # --- one task ---------------------------------------------------------------------------------

    def _task(self, at: At) -> Body:
        blocks, rest = divmod(self.k, 2 * self.depth)
        body = [*self._forget(0), *self._each_sum(at, self._zero)]
        block = Var("block")
        if blocks:
            inner = self._block(at, block * (2 * self.depth), 2 * self.depth)
            body.append(For(block, blocks, Kind.SERIAL, tuple(inner)))
        if rest:
            body += self._block(at, const(blocks * 2 * self.depth), rest)
        return (*body, *self._each_sum(at, self._result))

    def _each_sum(self, at: At, statement: _Statement) -> list[Stmt]:
        panel, row, lane = Var("panel"), Var("row"), Var("lane")
        vector = For(lane, self.width, Kind.VECTOR, statement(at, panel, row, lane))
        return [self.each_panel(at, panel, (For(row, self.tile, Kind.SERIAL, (vector,)),))]

    def _zero(self, at: At, panel: Expr, row: Expr, lane: Expr) -> Body:
        return (Store(self.sums, (panel, row, lane), Const(0, dt.f32)),)

    def _result(self, at: At, panel: Expr, row: Expr, lane: Expr) -> Body:
        """Stores an element of the result, if it is inside."""
        column = at.column + panel * self.width + lane
        place = (*at.batch, at.row + row, column)
        body: Body = (self.stored(place, Load(self.sums, (panel, row, lane))),)
        if self.m % self.tile:
            body = (If(at.row + row < self.m, body),)
        return self._inside(column, body)

    def _inside(self, column: Expr, body: Body) -> Body:
        return (If(column < self.n, body),) if self.n % self.width else body

    def _block(self, at: At, start: Expr, count: int) -> list[Stmt]:
        """The terms [start, start + count) of a task: into the sums."""
        panel, group = Var("panel"), Var("group")
        column = at.column + panel * self.width
        pairs, groups = -(-count // 2), self.tile // self.rows
        ways = [
            For(group, groups, Kind.SERIAL, (self._multiply(panel, group, pairs, small),))
            for small in (True, False)
        ]
        found, some, k = Var("found", dt.u32), Var("some", dt.u32), Var("k")
        seen = Load(self.small, (const(0), k)) | Load(self.small, (const(1), k))
        zero = Const(0, dt.u32)
        any_small = Carry(found, zero, found | seen, some)
        extent = self.small.shape[1]
        inner: list[Stmt] = [*self._forget(1), *self._copy_columns(at, column, start, count)]
        inner.append(For(k, extent, Kind.SERIAL, (), (any_small,)))
        inner.append(If((some & SIGNS).differs(zero), (ways[0],), (ways[1],)))
        inner += self._remember()
        return [
            *self._copy_rows(at, start, count),
            self.each_panel(at, panel, tuple(inner)),
        ]

    def _multiply(self, panel: Expr, group: Expr, pairs: int, small: bool) -> Stmt:
        """A group of rows times a panel. small: by fma."""
        lane, k = Var("lane"), Var("k")
        row = [group * self.rows + r for r in range(self.rows)]
        names = [Var(f"s{r}", dt.f32) for r in range(self.rows)]
        results = [Var(f"e{r}", dt.f32) for r in range(self.rows)]
        y = Load(self.panel_pairs, (k, lane))
        carried = []
        for r, name, result in zip(row, names, results, strict=True):
            x = Load(self.tile_pairs, (r, k) if self.along else (k, r))
            total = _by_fma(x, y, name) if small else apply("fma_pairs", x, y, name)
            carried.append(Carry(name, Load(self.sums, (panel, r, lane)), total, result))
        body: list[Stmt] = [For(k, pairs, Kind.SERIAL, (), tuple(carried))]
        body += [Store(self.sums, (panel, r, lane), e) for r, e in zip(row, results, strict=True)]
        return For(lane, self.width, Kind.VECTOR, tuple(body))

    # --- copies -----------------------------------------------------------------------------------

    def _forget(self, side: int) -> list[Stmt]:
        """Nothing small was seen."""
        lane = Var("lane")
        store = Store(self.small, (const(side), lane), Const(0, dt.u32))
        return [For(lane, self.small.shape[1], Kind.VECTOR, (store,))]

    def _remember(self) -> list[Stmt]:
        """What was seen of columns holds for the task from here on: sums may be small now."""
        lane = Var("lane")
        rows, columns = ((const(side), lane) for side in range(2))
        store = Store(self.small, rows, Load(self.small, rows) | Load(self.small, columns))
        return [For(lane, self.small.shape[1], Kind.VECTOR, (store,))]

    def _pair(self, side: int, at: At, free: Expr, first: Expr, whole: bool) -> Expr:
        """The pair of terms from `first` on. whole: there are two; else the second is 0."""
        low = self._element(side, at, free, first) >> 16
        return self._element(side, at, free, first + 1) | low if whole else low

    def _element(self, side: int, at: At, free: Expr, term: Expr) -> Expr:
        """The bits of an element as a float32."""
        return self.element(side, at.batch, free, term).bitcast(dt.u32)

    def _copy_rows(self, at: At, start: Expr, count: int) -> list[Stmt]:
        whole, odd = divmod(count, 2)
        if not self.along:
            return self._by_terms(0, at, start, count)
        row, run = Var("row"), Var("run")
        runs, rest = divmod(whole, RUN)
        body: list[Stmt] = []
        spans = [(run * RUN, RUN)] * bool(runs) + [(const(runs * RUN), rest)] * bool(rest)
        for first, extent in spans:
            lane = Var("lane")
            pair = Var("pair", dt.u32)
            value = self._pair(0, at, self.row_in_a(at, row), start + (first + lane) * 2, True)
            seen = Load(self.small, (const(0), lane)) | _smallness(pair)
            statements = (
                Let(pair, value),
                Store(self.tile_pairs, (row, first + lane), pair),
                Store(self.small, (const(0), lane), seen),
            )
            vector: Stmt = For(lane, extent, Kind.VECTOR, statements)
            body.append(For(run, runs, Kind.SERIAL, (vector,)) if extent == RUN else vector)
        if odd:
            pair = Var("last", dt.u32)
            value = self._pair(0, at, self.row_in_a(at, row), start + 2 * whole, False)
            seen = Load(self.small, (const(0), const(0))) | _smallness(pair)
            body.append(Let(pair, value))
            body.append(Store(self.tile_pairs, (row, const(whole)), pair))
            body.append(Store(self.small, (const(0), const(0)), seen))
        return [For(row, self.tile, Kind.SERIAL, tuple(body))]

    def _copy_columns(self, at: At, column: Expr, start: Expr, count: int) -> list[Stmt]:
        at = At(at.batch, at.row, column)
        return (
            self._across(at, start, count) if self.across else self._by_terms(1, at, start, count)
        )

    def _by_terms(self, side: int, at: At, start: Expr, count: int) -> list[Stmt]:
        """The rows or columns of a task, neighbours in memory, as vectors; 0 beyond the last."""
        whole, odd = divmod(count, 2)
        pairs, extent, size = (
            (self.tile_pairs, self.tile, self.m),
            (self.panel_pairs, self.width, self.n),
        )[side]
        lane, k = Var("lane"), Var("k")
        free = (at.column if side else at.row) + lane
        zero = Const(0, dt.u32)
        found, some, pair = Var("found", dt.u32), Var("some", dt.u32), Var("pair", dt.u32)
        value = self._pair(side, at, free, start + k * 2, True)
        fill = (Let(pair, value), Store(pairs, (k, lane), pair))
        carry = Carry(found, zero, found | _smallness(pair), some)
        body: list[Stmt] = [For(k, whole, Kind.SERIAL, fill, (carry,))] if whole else []
        seen: Expr = some if whole else zero
        if odd:
            last = Var("last", dt.u32)
            body.append(Let(last, self._pair(side, at, free, start + 2 * whole, False)))
            body.append(Store(pairs, (const(whole), lane), last))
            seen = seen | _smallness(last)
        here = (const(side), lane)
        body.append(Store(self.small, here, Load(self.small, here) | seen))
        if size % extent == 0:
            return [For(lane, extent, Kind.VECTOR, tuple(body))]
        clear = For(k0 := Var("k"), whole + odd, Kind.SERIAL, (Store(pairs, (k0, lane), zero),))
        return [For(lane, extent, Kind.VECTOR, (clear, If(free < size, tuple(body))))]

    def _across(self, at: At, start: Expr, count: int) -> list[Stmt]:
        """The columns of a panel where their terms are neighbours in memory, TOGETHER at a time;
        those beyond the last are its copies."""
        whole, odd = divmod(count, 2)
        some, k = Var("some"), Var("k")
        zero = Const(0, dt.u32)
        body: list[Stmt] = []
        carried = []
        ends: list[Stmt] = []
        for c in range(TOGETHER):
            lane = some * TOGETHER + c
            free = at.column + lane
            if self.n % self.width:
                free = minimum(free, const(self.n - 1))
            pair, found, seen = (Var(f"{name}{c}", dt.u32) for name in ("pair", "found", "seen"))
            body.append(Let(pair, self._pair(1, at, free, start + k * 2, True)))
            body.append(Store(self.panel_pairs, (k, lane), pair))
            carried.append(Carry(found, zero, found | _smallness(pair), seen))
            total: Expr = seen
            if odd:
                last = Var(f"last{c}", dt.u32)
                ends.append(Let(last, self._pair(1, at, free, start + 2 * whole, False)))
                ends.append(Store(self.panel_pairs, (const(whole), lane), last))
                total = total | _smallness(last)
            ends.append(Store(self.small, (const(1), lane), total))
        terms = For(k, whole, Kind.SERIAL, tuple(body), tuple(carried))
        return [For(some, self.width // TOGETHER, Kind.SERIAL, (terms, *ends))]


def _smallness(pair: Expr) -> Expr:
    """Has a sign of a half set where that is not 0 and below 2^-56; other bits say nothing."""
    size = pair & SIZES
    return apply("add", size, Const(SIZES, dt.u32)) & ~(size + FAR_ENOUGH)


def _by_fma(x: Expr, y: Expr, total: Expr) -> Expr:
    """What `fma_pairs` gives where it may be used, for all numbers."""
    second = fma((x & HIGH).bitcast(dt.f32), (y & HIGH).bitcast(dt.f32), total)
    return fma((x << 16).bitcast(dt.f32), (y << 16).bitcast(dt.f32), second)


matmul_pairs = built_by(_Nest)
"""The scheduled kernel of a contraction that is not refused."""
