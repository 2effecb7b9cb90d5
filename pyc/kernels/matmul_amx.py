"""Products of bfloat16 on a CPU that multiplies tiles of them (AMX).

    for each task: a tile of rows and panels of 32 columns                           (parallel)
      for each block of terms:
        the tile's rows are copied, and for each panel its columns, in pairs of terms
        for each two tiles of 16 rows: the sums of the panel, by `PairsMultiply`, or by fma in the
        same order where some number is too small for it

The instruction makes 0 of subnormal numbers, given and found. Where no number is one and the least
of both sides together have binary exponents of at least -112, all products and sums are multiples
of 2^-126, and there are none. Copying finds the least; once a task has met smaller ones, its panel
is multiplied by fma. That gives the same bits where both may, so bits depend on the operands only:
sums of 32 terms (those with even and odd numbers apart) are added in order, in float32, and the
result is rounded once.
"""

from __future__ import annotations

from math import prod

from pyc.ir import dtype as dt
from pyc.ir.expr import Const, Expr, Load, Var, apply, const, fma, minimum
from pyc.ir.loops import (
    TILE,
    Alloc,
    Body,
    Carry,
    For,
    If,
    Kernel,
    Kind,
    PairsMultiply,
    Stmt,
    Store,
)
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.operand import NO_MATRIX_PRODUCT, Dimensions, is_matrix_product
from pyc.kernels.panels import At, PanelNest, extents
from pyc.kernels.tasks import built_by

STEP = 2 * TILE
"""Terms of a tile."""
DEPTH = 256
"""The most terms of a block: a panel of them stays in the first-level cache, what the task copies
and its sums in the second."""
TILE_ROWS = 512
"""The most rows of a task, for which a panel is copied once."""
PANELS = 8
"""The most panels of a task, for which its rows are copied once."""
TASKS = 16
"""Tasks below which they are made smaller."""
TASK_PRODUCTS = 1 << 25
"""The fewest products of tasks that are made by cutting others."""
PRODUCTS_BY_PAIRS = 32
"""Products in a cycle without tiles."""
TILE_CYCLES = 16
"""Cycles of the product of two tiles."""
START_CYCLES = 1000
"""What a call spends on tiles before it multiplies."""
TOGETHER = 4
"""Columns that are copied, and rows that are multiplied by fma, together."""
LOWEST = 142
"""The least sum of two biased exponents whose product has no bit below 2^-126."""
LEAST_NORMAL = 0x80
"""The bits of the least normal number."""
HIGH = 0xFFFF0000


def refusal_of_amx(types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target) -> str:
    """Why this nest cannot or should not do the contraction; empty if it should."""
    if types[0].dtype is not dt.bf16:
        return f"it is for bfloat16, not {types[0].dtype.name}"
    if not target.bfloat16_tiles:
        return "the processor does not multiply tiles of bfloat16"
    if not is_matrix_product(types, dimensions):
        return NO_MATRIX_PRODUCT
    m, n, k = extents(types, dimensions)
    tiles = -(-m // TILE) * -(-n // TILE) * -(-k // STEP)
    if tiles * TILE_CYCLES + START_CYCLES > m * n * k // PRODUCTS_BY_PAIRS:
        return f"{m} x {n} results of {k} terms are few: pairs take fewer cycles than {tiles} tiles"
    return ""


def _up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def _shared(extent: int, most: int, multiple: int) -> int:
    """The length of equal parts of an extent, none longer than `most`."""
    return _up(-(-extent // -(-extent // most)), multiple)


class _Nest(PanelNest):
    def prepare(self, types: tuple[ArrayType, ...], target: Target) -> None:
        """Sets the tiles, the panels and the buffers of copies."""
        a, b = types
        dimensions = self.dimensions
        self.m, self.n, self.k = extents(types, dimensions)
        self.along = dimensions[0][0] == (a.rank - 1,)
        self.across = dimensions[0][1] == (b.rank - 1,)
        self.depth = _shared(self.k, DEPTH, STEP)
        self.columns = min(2, -(-self.n // TILE))
        self.width = self.columns * TILE
        self.tile, self.panels = self._cut()
        self.high = self.tile // TILE
        steps = self.depth // STEP
        self.a_tiles = self.local("rows", self.high, steps, TILE, STEP, dtype=dt.bf16)
        pairs = steps * TILE + 1  # not a power of two: lines of all panels would be in one set
        self.b_tiles = self.local("columns", self.panels, self.columns, pairs, TILE, dtype=dt.u32)
        self.sums = self.local("sums", self.panels, self.high, self.columns, TILE, TILE)
        self.least = self.local("least", self.panels + 1, STEP, dtype=dt.u16)

    def _cut(self) -> tuple[int, int]:
        """Rows and panels of a task."""
        most_rows, most = TILE_ROWS, PANELS
        panels = -(-self.n // self.width)
        while True:
            rows, wide = _shared(self.m, most_rows, TILE), _shared(panels, most, 1)
            tasks = prod(self.batch) * -(-self.m // rows) * -(-panels // wide)
            small = rows * wide * self.width * self.k < 2 * TASK_PRODUCTS
            if tasks >= TASKS or small or (rows <= 2 * TILE and wide == 1):
                return rows, wide
            if rows > wide * self.width:
                most_rows = _up(rows // 2, TILE)
            else:
                most = max(wide // 2, 1)

    def kernel(self) -> Kernel:
        """The scheduled kernel over (a, b, the epilogue's, out)."""
        batch = tuple(Var(f"n{k}") for k in range(len(self.batch)))
        tile, slab = Var("tile"), Var("slab")
        wide = self.panels * self.width
        cuts = [(tile, -(-self.m // self.tile)), (slab, -(-self.n // wide))]
        body = self._task(At(batch, tile * self.tile, slab * wide))
        for buffer in (self.a_tiles, self.b_tiles, self.sums, self.least):
            body = (Alloc(buffer, body),)
        tasks = prod(self.batch) * prod(extent for _, extent in cuts)
        kind = Kind.PARALLEL if tasks > 1 else Kind.SERIAL
        return self.tasks_of("matmul_amx", batch, cuts, kind, body)

    # --- one task ---------------------------------------------------------------------------------

    def _task(self, at: At) -> Body:
        blocks, rest = divmod(self.k, self.depth)
        side, lane, block = Var("side"), Var("lane"), Var("block")
        clear = Store(self.least, (side, lane), Const(0xFFFF, dt.u16))
        forget = For(lane, STEP, Kind.VECTOR, (clear,))
        body: list[Stmt] = [For(side, self.panels + 1, Kind.SERIAL, (forget,))]
        if blocks:
            inner = self._block(at, block * self.depth, self.depth, block.equal(const(0)))
            body.append(For(block, blocks, Kind.SERIAL, tuple(inner)))
        if rest:
            first = Const(not blocks, dt.b1)
            body += self._block(at, const(blocks * self.depth), rest, first)
        return (*body, self._results(at))

    def _results(self, at: At) -> Stmt:
        """Stores the elements of the task that are inside."""
        panel, tile, c, r, lane = (Var(x) for x in ("panel", "high", "part", "row", "lane"))
        column = at.column + panel * self.width + c * TILE + lane
        row = at.row + tile * TILE + r
        total = Load(self.sums, (panel, tile, c, r, lane))
        body: Body = (self.stored((*at.batch, row, column), total),)
        if self.n % self.width:
            body = (If(column < self.n, body),)
        body = (For(lane, TILE, Kind.VECTOR, body),)
        parts = For(c, self.columns, Kind.UNROLL, body)
        body = (self.each_panel(at, panel, (parts,)),)
        if self.m % self.tile:
            body = (If(row < self.m, body),)
        return For(tile, self.high, Kind.SERIAL, (For(r, TILE, Kind.SERIAL, body),))

    def _block(self, at: At, start: Expr, count: int, first: Expr) -> list[Stmt]:
        """The terms [start, start + count) of a task: into the sums. first: it has none before."""
        panel = Var("panel")
        steps = -(-count // STEP)
        sides, lets = [], []
        for number in (const(0), panel + 1):
            k = Var("k")
            before, after = Var("before", dt.u16), Var("least", dt.u16)
            total = minimum(before, Load(self.least, (number, k)))
            carry = Carry(before, Const(0xFFFF, dt.u16), total, after)
            lets.append(For(k, STEP, Kind.SERIAL, (), (carry,)))
            sides.append(after.cast(dt.u32) + 1)
        x, y = sides
        small = (x < LEAST_NORMAL) | (y < LEAST_NORMAL) | ((x >> 7) + (y >> 7) < LOWEST)
        inner = (
            *lets,
            If(
                small,
                (If(first, (self._zero(panel),)), self._by_fma(panel, steps)),
                self._by_tiles(panel, steps, first),
            ),
        )
        return [
            *self._copy_rows(at, start, count),
            *self._copy_columns(at, start, count),
            self.each_panel(at, panel, inner),
        ]

    def _by_tiles(self, panel: Expr, steps: int, first: Expr) -> Body:
        """The rows of the task times a panel."""
        group, zero = Var("group"), const(0)

        def multiply(tile: Expr, rows: int) -> Stmt:
            return PairsMultiply(
                *(self.sums, (panel, tile, zero, zero, zero)),
                *(self.a_tiles, (tile, zero, zero, zero)),
                *(self.b_tiles, (panel, zero, zero, zero)),
                (rows, self.columns, steps),
                first,
            )

        groups, odd = divmod(self.high, 2)
        body = (For(group, groups, Kind.SERIAL, (multiply(group * 2, 2),)),) if groups else ()
        return (*body, multiply(const(self.high - 1), 1)) if odd else body

    def _zero(self, panel: Expr) -> Stmt:
        tile, c, r, lane = Var("high"), Var("part"), Var("row"), Var("lane")
        store = Store(self.sums, (panel, tile, c, r, lane), Const(0, dt.f32))
        body: Stmt = For(lane, TILE, Kind.VECTOR, (store,))
        for var, extent in ((r, TILE), (c, self.columns), (tile, self.high)):
            body = For(var, extent, Kind.SERIAL, (body,))
        return body

    def _by_fma(self, panel: Expr, steps: int) -> Stmt:
        """What tiles give where they may be used, for all numbers."""
        tile, c, group, lane = Var("high"), Var("part"), Var("group"), Var("lane")
        step, k = Var("step"), Var("k")
        pair = Load(self.b_tiles, (panel, c, step * TILE + k, lane))
        halves = (pair << 16).bitcast(dt.f32), (pair & HIGH).bitcast(dt.f32)
        inner, outer, stores = [], [], []
        for number in range(TOGETHER):
            r = group * TOGETHER + number
            sums = []
            for parity, y in enumerate(halves):
                x = Load(self.a_tiles, (tile, step, r, k * 2 + parity)).cast(dt.f32)
                part = Var(f"{'eo'[parity]}{number}", dt.f32)
                sums.append(Var(f"{'eo'[parity]}s{number}", dt.f32))
                inner.append(Carry(part, Const(0, dt.f32), fma(x, y, part), sums[-1]))
            total, result = Var(f"t{number}", dt.f32), Var(f"r{number}", dt.f32)
            place = (panel, tile, c, r, lane)
            outer.append(Carry(total, Load(self.sums, place), total + (sums[0] + sums[1]), result))
            stores.append(Store(self.sums, place, result))
        pairs = For(k, TILE, Kind.SERIAL, (), tuple(inner))
        each = For(step, steps, Kind.SERIAL, (pairs,), tuple(outer))
        body: Stmt = For(lane, TILE, Kind.VECTOR, (each, *stores))
        for var, extent in ((c, self.columns), (group, TILE // TOGETHER), (tile, self.high)):
            body = For(var, extent, Kind.SERIAL, (body,))
        return body

    # --- copies -----------------------------------------------------------------------------------

    def _number(self, side: int, at: At, free: Expr, term: Expr) -> Load:
        return Load(self.operands[side], self.place(side, at.batch, free, term))

    def _looked_at(self, number: Expr, value: Load, lane: Var, k: Var, count: int) -> list[Stmt]:
        """Statements of a lane: the least size of `count` numbers `value` along `k`."""
        before, after = Var("before", dt.u16), Var("seen", dt.u16)
        least = Load(self.least, (number, lane))
        size = _size(value)
        carry = Carry(before, least, minimum(before, size), after)
        return [For(k, count, Kind.SERIAL, (), (carry,)), Store(self.least, (number, lane), after)]

    def _copy_rows(self, at: At, start: Expr, count: int) -> list[Stmt]:
        """The rows of a task as tiles, with 0 for terms that fill the last one."""
        if not self.along:
            return self._turn_rows(at, start, count)
        whole, rest = divmod(count, STEP)
        tile, r, step, lane = Var("high"), Var("row"), Var("step"), Var("lane")
        row = self.row_in_a(at, tile * TILE + r)
        before, after = Var("before", dt.u16), Var("seen", dt.u16)
        body: list[Stmt] = []
        here = (const(0), lane)
        if whole:
            value = self._number(0, at, row, start + step * STEP + lane)
            carry = Carry(before, Load(self.least, here), minimum(before, _size(value)), after)
            copy = Store(self.a_tiles, (tile, step, r, lane), value)
            body.append(For(step, whole, Kind.SERIAL, (copy,), (carry,)))
            body.append(Store(self.least, here, after))
        if rest:
            value = self._number(0, at, row, start + whole * STEP + lane)
            place = (tile, const(whole), r, lane)
            seen = minimum(Load(self.least, here), _size(value))
            copies = (Store(self.a_tiles, place, value), Store(self.least, here, seen))
            fill = Store(self.a_tiles, place, Const(0, dt.bf16))
            body.append(If(lane < rest, copies, (fill,)))
        vector = For(lane, STEP, Kind.VECTOR, tuple(body))
        return [For(tile, self.high, Kind.SERIAL, (For(r, TILE, Kind.SERIAL, (vector,)),))]

    def _turn_rows(self, at: At, start: Expr, count: int) -> list[Stmt]:
        """The same where rows, not terms, are neighbours in memory."""
        tile, r, k, lane = Var("high"), Var("row"), Var("k"), Var("lane")
        row = self.row_in_a(at, tile * TILE + r)
        copy = Store(
            self.a_tiles, (tile, k >> 5, r, k & (STEP - 1)), self._number(0, at, row, start + k)
        )
        body: list[Stmt] = [For(k, count, Kind.SERIAL, (For(r, TILE, Kind.UNROLL, (copy,)),))]
        if count % STEP:
            k0, r0 = Var("k"), Var("row")
            at0 = k0 + count % STEP
            fill = Store(self.a_tiles, (tile, const(count // STEP), r0, at0), Const(0, dt.bf16))
            fills = For(r0, TILE, Kind.SERIAL, (fill,))
            body.append(For(k0, STEP - count % STEP, Kind.SERIAL, (fills,)))
        free, term = self.row_in_a(at, tile * TILE + lane), Var("k")
        value = self._number(0, at, free, start + term)
        look = self._looked_at(const(0), value, lane, term, count)
        body.append(For(lane, TILE, Kind.VECTOR, tuple(look)))
        return [For(tile, self.high, Kind.SERIAL, tuple(body))]

    def _copy_columns(self, at: At, start: Expr, count: int) -> list[Stmt]:
        """The panels of a task as tiles of pairs, with 0 for terms that fill the last one."""
        panel, c, k, lane = Var("panel"), Var("part"), Var("k"), Var("lane")
        copies = (self._across if self.across else self._by_terms)(at, start, count)
        first, last = -(-count // 2), _up(count, STEP) // 2
        if first == last:
            return copies
        fill: Stmt = Store(self.b_tiles, (panel, c, k + first, lane), Const(0, dt.u32))
        fill = For(lane, TILE, Kind.VECTOR, (fill,))
        for var, extent in ((k, last - first), (c, self.columns)):
            fill = For(var, extent, Kind.SERIAL, (fill,))
        return [*copies, self.each_panel(at, panel, (fill,))]

    def _pair(self, at: At, free: Expr, first: Expr, whole: bool) -> tuple[Expr, list[Expr]]:
        """The pair of terms from `first` on, and their sizes. whole: there are two; else the second
        is 0."""
        terms = [self._number(1, at, free, first + k) for k in range(1 + whole)]
        low, *high = (term.bitcast(dt.u16).cast(dt.u32) for term in terms)
        pair = (high[0] << 16) | low if whole else low
        return pair, [_size(term) for term in terms]

    def _by_terms(self, at: At, start: Expr, count: int) -> list[Stmt]:
        """Columns that are neighbours in memory, as vectors; 0 beyond the last. The panels of a
        pair of rows together: where rows are far apart each is on a page of its own."""
        whole, odd = divmod(count, 2)
        k = Var("k")
        body: list[Stmt] = []
        if whole:
            copies = (self._pairs(at, k, start + k * 2, True),)
            body.append(For(k, whole, Kind.SERIAL, copies))
        if odd:
            body.append(self._pairs(at, const(whole), start + 2 * whole, False))
        return body

    def _pairs(self, at: At, k: Expr, term: Expr, whole: bool) -> Stmt:
        """A pair of terms of the columns of all panels."""
        panel, lane = Var("panel"), Var("lane")
        here = (panel + 1, lane)
        least: Expr = Load(self.least, here)
        body: list[Stmt] = []
        for c in range(self.columns):
            free = at.column + panel * self.width + c * TILE + lane
            place = (panel, const(c), k, lane)
            pair, sizes = self._pair(at, free, term, whole)
            copy = Store(self.b_tiles, place, pair)
            for size in sizes:
                least = minimum(least, size)
            if self.n % self.width:
                fill = Store(self.b_tiles, place, Const(0, dt.u32))
                body.append(If(free < self.n, (copy, Store(self.least, here, least)), (fill,)))
                least = Load(self.least, here)
            else:
                body.append(copy)
        if self.n % self.width == 0:
            body.append(Store(self.least, here, least))
        return self.each_panel(at, panel, (For(lane, TILE, Kind.VECTOR, tuple(body)),))

    def _across(self, at: At, start: Expr, count: int) -> list[Stmt]:
        """Columns whose terms are neighbours in memory, TOGETHER at a time; those beyond the last
        are its copies."""
        whole, odd = divmod(count, 2)
        panel, c, some, k = Var("panel"), Var("part"), Var("some"), Var("k")

        def column(of: Expr) -> Expr:
            free = at.column + panel * self.width + c * TILE + of
            return minimum(free, const(self.n - 1)) if self.n % self.width else free

        copies: list[Stmt] = []
        ends: list[Stmt] = []
        for member in range(TOGETHER):
            lane = some * TOGETHER + member
            pair, _ = self._pair(at, column(lane), start + k * 2, True)
            copies.append(Store(self.b_tiles, (panel, c, k, lane), pair))
            if odd:
                last, _ = self._pair(at, column(lane), start + 2 * whole, False)
                ends.append(Store(self.b_tiles, (panel, c, const(whole), lane), last))
        body: list[Stmt] = [For(k, whole, Kind.SERIAL, tuple(copies))] if whole else []
        parts: list[Stmt] = [For(some, TILE // TOGETHER, Kind.SERIAL, (*body, *ends))]
        runs, rest = divmod(count, STEP)
        one, term, vector = Var("one"), Var("k"), Var("lane")
        look: list[Stmt] = []
        here = (panel + 1, vector)
        if runs:
            value = self._number(1, at, column(one), start + term * STEP + vector)
            look += self._looked_at(panel + 1, value, vector, term, runs)
        if rest:
            value = self._number(1, at, column(one), start + runs * STEP + vector)
            seen = minimum(Load(self.least, here), _size(value))
            look.append(If(vector < rest, (Store(self.least, here, seen),)))
        looks = For(vector, STEP, Kind.VECTOR, tuple(look))
        parts.append(For(one, TILE, Kind.SERIAL, (looks,)))
        return [self.each_panel(at, panel, (For(c, self.columns, Kind.SERIAL, tuple(parts)),))]


def _size(number: Load) -> Expr:
    """The bits of a number without its sign, less 1: 0 is the largest."""
    return apply("sub", number.bitcast(dt.u16) & 0x7FFF, Const(1, dt.u16))


matmul_amx = built_by(_Nest)
"""The scheduled kernel of a contraction that is not refused."""
