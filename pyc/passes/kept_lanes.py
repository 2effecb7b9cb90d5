"""The kept lanes of a reduction over the rows of columns (`ir/order.py`), as sweeps.

Takes a `ColumnElements` and a block of chunks; returns the statements that leave the block's KEEP
kept lanes of each column in an array. All lanes of a chunk have a sum first; these meet then.
"""

from __future__ import annotations

from pyc.ir.expr import Expr, Var, const, minimum
from pyc.ir.loops import Body, For, If, Kind, Let, Stmt
from pyc.ir.order import CHUNK, KEEP, LANES
from pyc.passes.column_elements import AT_ONCE, ColumnElements
from pyc.passes.elements import Components
from pyc.passes.reduction import ROWS, At, reversed_bits
from pyc.passes.sweeps import Each, Held, Tile

IN_ORDER_BYTES = 3 << 13
"""Bytes of the sums of all lanes of a tile up to which rows are taken as they come: so many stay in
a first cache of 32 KB beside the rows."""
TOGETHER_BYTES = 1 << 17
"""The same up to which all lanes have a sum at a time, so that neighbouring rows are read one after
the other. What takes more is summed one kept lane at a time: its eight sums stay in the first
cache, and rows are long enough to begin anywhere."""


def in_order(reduction: ColumnElements, tile: Tile) -> bool:
    """Whether rows are taken as they come: where they are short pieces of memory, and to compute
    or store them hides that each adds to a sum in memory. Cheap ones are added eight at a time
    instead."""
    return not reduction.plain and LANES * tile.size * reduction.sweeps.itemsize <= IN_ORDER_BYTES


def one_by_one(reduction: ColumnElements, tile: Tile) -> bool:
    """Whether each kept lane of a chunk is summed before the next."""
    return LANES * tile.size * reduction.sweeps.itemsize > TOGETHER_BYTES


class KeptLanes:
    """The kept lanes [group * size, + size) of `per` chunks from block * per on, in one tile. kept:
    kept lanes of a chunk that lie in slots of arrays: all, or one where they are columns."""

    def __init__(
        self,
        reduction: ColumnElements,
        tile: Tile,
        held: Held,
        block: Expr,
        per: int,
        group: Var | None,
        groups: int,
        kept: int,
    ) -> None:
        self.reduction, self.tile, self.held = reduction, tile, held
        self.counter, self.n = reduction.counter, reduction.n
        self.block, self.per = block, per
        self.kept, self.size = kept, KEEP // groups
        self.first: Expr = const(0)
        if group is not None and groups > 1:
            self.first = group * self.size
        local = reduction.arrays
        types = reduction.types
        sweeps = reduction.sweeps
        self.in_order = in_order(reduction, tile)
        self.one_by_one = kept == KEEP and one_by_one(reduction, tile)
        self.together = 1 if self.one_by_one else self.size
        self.sums = sweeps.local("sums", types, ROWS * self.together, tile, local)
        if per > 1:
            self.levels = sweeps.local("level", types, per.bit_length() * self.size, tile, local)

    def sweep(self, body: Each) -> list[Stmt]:
        """A sweep over the tile."""
        return self.reduction.sweeps.sweep(self.tile, body)

    def body(self) -> list[Stmt]:
        """The statements."""
        full, rest = divmod(self.n, CHUNK)
        chunks = full + (1 if rest else 0)
        if self.per == 1:
            number = self.block
            if chunks == 1:
                return self._chunk(number, number, rest or CHUNK)
            if not rest:
                return self._chunk(number, number, CHUNK)
            last, whole = (self._chunk(number, number, n) for n in (rest, CHUNK))
            return [If(number.equal(full), tuple(last), tuple(whole))]
        c = Var("c")
        if chunks <= self.per:
            body: list[Stmt] = [For(c, full, Kind.SERIAL, tuple(self._chunk(c, c, CHUNK)))]
            if rest:
                body += self._chunk(const(full), const(full), rest)
            return [*body, *self._collect(chunks)]
        number = self.block * self.per + c
        count: int | Expr = self.per
        if chunks % self.per:
            count = minimum(const(self.per), const(chunks) - self.block * self.per)
        each = self._chunk(number, c, CHUNK)
        if rest:
            last = self._chunk(number, c, rest)
            each = [If(number.equal(full), tuple(last), tuple(each))]
        return [For(c, count, Kind.SERIAL, tuple(each)), *self._collect(count)]

    def _chunk(self, number: Expr, c: Expr, rows: int) -> list[Stmt]:
        """The kept lanes of chunk `number`, the c-th of these, of which `rows` elements exist."""
        last = 0 if self.kept == KEEP else rows % KEEP
        slots = ROWS if rows - last >= LANES else -(-rows // KEEP)
        base = number * CHUNK
        kept = Var("b")

        def meet(at: Expr, column: Expr) -> list[Stmt]:
            first: Expr = const(0) if self.one_by_one else kept
            places = [first + k * self.together for k in range(slots)]
            sums = [self.sums.load(p, at, column) for p in places]
            return self._put(kept, c, at, column, self.counter.tree(sums))

        met = tuple(self.sweep(meet))
        if self.one_by_one:
            each = [*self._sums_of(kept, base, rows - last, slots), *met]
            if rows == CHUNK and self.reduction.plain:
                each = self._tree_of(kept, base, c)
            return [For(kept, self.size, Kind.SERIAL, tuple(each))]
        fill = self._sums_in_order if self.in_order else self._sums_by_lane
        body = fill(base, rows - last, slots)
        meeting = For(kept, self.size, Kind.SERIAL, met)
        return [*body, *self._rest(base, rows - last, last), meeting]

    def _sums_by_lane(self, base: Expr, rows: int, slots: int) -> list[Stmt]:
        """The sums of all lanes over `rows` rows of a chunk from `base` on, lane by lane."""
        i, b = Var("i"), Var("b")
        inner = For(b, self.size, Kind.SERIAL, self._sum_of(i * self.size + b, i, b, base, rows))
        return [For(i, slots, Kind.SERIAL, (inner,))]

    def _sums_of(self, b: Expr, base: Expr, rows: int, slots: int) -> list[Stmt]:
        """The same of the lanes of kept lane b."""
        i = Var("i")
        return [For(i, slots, Kind.SERIAL, self._sum_of(i, i, b, base, rows))]

    def _tree_of(self, b: Expr, base: Expr, c: Expr) -> list[Stmt]:
        """Kept lane b of chunk c, all of whose elements exist: its lanes come in the order of their
        tree, and the sweep over the rows of one (or two) adds the sums that wait for it."""
        together = max(self.reduction.ways // ROWS, 1)
        steps, apart = ROWS // together, LANES // together
        bits = steps.bit_length() - 1
        number, lane = Var("number"), Var("lane")

        def sweep(full: int) -> list[Stmt]:
            def body(at: Expr, column: Expr) -> list[Stmt]:
                found = [
                    self.reduction.fold(lane + k * apart, LANES, ROWS, at, column, None)
                    for k in range(together)
                ]
                inside = [s for body, _ in found for s in body]
                total = self.counter.tree([x for _, x in found])
                for k in range(full):
                    before = self.sums.load(const(k), at, column)
                    total = self.counter.monoid.combine(before, total)
                if full == bits:
                    return [*inside, *self._put(b, c, at, column, total)]
                return [*inside, *self.sums.store(const(full), at, column, total)]

            return self.sweep(body)

        each = sweep(bits)
        for full in reversed(range(bits)):
            each = [If((number & 1 << full).equal(0), tuple(sweep(full)), tuple(each))]
        bind = Let(lane, base + (reversed_bits(number, bits) * KEEP + (self.first + b)))
        return [For(number, steps, Kind.SERIAL, (bind, *each))]

    def _sum_of(self, slot: Expr, i: Expr, b: Expr, base: Expr, rows: int) -> Body:
        """The sum of the i-th lane of kept lane b."""
        full, part = divmod(rows, LANES)
        lane = Var("lane")
        each = self._sum(slot, base, lane, full)
        if part:
            each = [If(lane < part, tuple(self._sum(slot, base, lane, full + 1)), tuple(each))]
        return (Let(lane, i * KEEP + (self.first + b)), *each)

    def _sums_in_order(self, base: Expr, rows: int, slots: int) -> list[Stmt]:
        """The same, the rows as they come: memory is then one stream where the rows of a lane are
        short pieces."""
        full, part = divmod(rows, LANES)
        body = self._neutral_sums(slots)
        if full:
            j = Var("j")
            row = self._next_rows(base + j * LANES, LANES)
            body.append(For(j, full, Kind.SERIAL, tuple(row)))
        if part:
            body += self._next_rows(base + full * LANES, part)
        return body

    def _neutral_sums(self, slots: int) -> list[Stmt]:
        """Sums of nothing."""
        slot = Var("slot")

        def neutral(at: Expr, column: Expr) -> list[Stmt]:
            return self.sums.store(slot, at, column, self.counter.neutral)

        return [For(slot, slots * self.size, Kind.SERIAL, tuple(self.sweep(neutral)))]

    def _next_rows(self, first: Expr, lanes: int) -> list[Stmt]:
        """Adds a row to the sum of each of the first `lanes` lanes; `first` is that of lane 0."""
        i, b, lane = Var("i"), Var("b"), Var("lane")
        slot = i * self.size + b

        def add(at: Expr, column: Expr) -> list[Stmt]:
            inside, value = self.reduction.element(first + lane, at, column)
            total = self.counter.monoid.combine(self.sums.load(slot, at, column), value)
            return [*inside, *self.sums.store(slot, at, column, total)]

        each = self.reduction.sweeps.sweep(self.tile, add, straight=True)
        if lanes % KEEP:
            each = [If(lane < lanes, tuple(each))]
        bind = Let(lane, i * KEEP + (self.first + b))
        inner = For(b, self.size, Kind.SERIAL, (bind, *each))
        return [For(i, -(-lanes // KEEP), Kind.SERIAL, (inner,))]

    def _rest(self, start: Expr, first: int, count: int) -> list[Stmt]:
        """Adds `count` rows, fewer than KEEP, from the first-th of a chunk on, whose columns lie in
        one row of the tile: these are the last elements of their lanes."""
        if not count:
            return []
        sweeps = self.reduction.sweeps
        columns = count * (sweeps.columns // KEEP)
        slot = const(first % LANES // KEEP)
        v, lane = Var("v"), Var("lane")
        at = v * sweeps.width + lane
        before = self.sums.load(slot, at, at)
        inside, value = self.reduction.element(start + first, at, at)
        total = self.reduction.counter.monoid.combine(before, value)
        body = (*inside, *self.sums.store(slot, at, at, total))
        vector = For(lane, sweeps.width, Kind.VECTOR, (If(at < columns, body),))
        return [For(v, -(-columns // sweeps.width), Kind.SERIAL, (vector,))]

    def _sum(self, slot: Expr, base: Expr, lane: Var, count: int) -> list[Stmt]:
        """Sweeps that leave the left fold of the `count` elements of a lane in a slot of `sums`."""
        reduction, first = self.reduction, base + lane
        stored, narrow = reduction.elements.before, self.tile.size <= reduction.sweeps.width
        at_once = AT_ONCE if stored or (narrow and not reduction.cheap) else ROWS
        result: list[Stmt] = []
        for start in range(0, max(count, 1), at_once):
            these = min(at_once, count - start)

            def body(at: Expr, column: Expr, start: int = start, these: int = these) -> list[Stmt]:
                if these == 0:
                    return self.sums.store(slot, at, column, self.counter.neutral)
                before = self.sums.load(slot, at, column) if start else None
                row = first + start * LANES if start else first
                inside, total = reduction.fold(row, LANES, these, at, column, before)
                return [*inside, *self.sums.store(slot, at, column, total)]

            result += self.sweep(body)
        return result

    def _put(self, b: Expr, c: Expr, at: Expr, column: Expr, total: Components) -> list[Stmt]:
        """Keeps a kept lane of chunk c: in its place, or in the counter."""
        if self.per == 1:
            return self.held.store(self.block * self.kept + (self.first + b), at, column, total)
        return self.counter.merge(self.levels.buffers, self._level(b, at, column), c, total)

    def _level(self, b: Expr, at: Expr, column: Expr) -> At:
        return lambda k: self.levels.index(k * self.size + b, at, column)

    def _collect(self, count: int | Expr) -> list[Stmt]:
        """The counters' values."""
        b = Var("b")

        def body(at: Expr, column: Expr) -> list[Stmt]:
            level = self._level(b, at, column)
            inside, total = self.counter.collect(self.levels.buffers, level, count)
            slot = self.block * self.kept + (self.first + b)
            return [*inside, *self.held.store(slot, at, column, total)]

        return [For(b, self.size, Kind.SERIAL, tuple(self.sweep(body)))]
