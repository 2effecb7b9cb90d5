"""The kept lanes of a reduction over the rows of columns (`ir/order.py`), as sweeps.

Takes a `ColumnElements` and a block of chunks; returns the statements that leave the block's KEEP
kept lanes of each column in an array. A kept lane of one chunk is summed in sweeps of its own, or
all lanes of a chunk have a sum first, which meet then.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.ir.expr import Expr, Var, const, minimum
from pyc.ir.loops import For, If, Kind, Let, Stmt
from pyc.ir.order import CHUNK, KEEP, LANES
from pyc.passes.column_elements import AT_ONCE, ColumnElements, values_first
from pyc.passes.elements import Components, Found
from pyc.passes.reduction import ROWS, At
from pyc.passes.sweeps import Each, Held, Tile

FAR_BYTES = 1 << 23
"""Bytes of input from which rows come from memory, in several streams at once."""
DIRECT = 768
"""Elements of a row up to which kept lanes are summed without sums of all lanes in memory, if the
rows do not fit together: some lanes at a time, so that 8 rows are read at once."""
IN_ORDER_BYTES = 1 << 15
"""Bytes of the sums of all lanes of a tile up to which rows are taken as they come."""
SIDE_BY_SIDE = 2
"""Rows, LANES apart, that are taken at once where rows come in order and are cheap."""
LEAVES = (0, 4, 2, 6, 1, 5, 3, 7)
"""Rows of a kept lane's lanes in the order of their tree by halves."""


def levels_completed(number: int) -> int:
    """Halves that the number-th leaf of a tree completes, the leaves taken in order."""
    return (number & ~(number + 1)).bit_length()


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
        self.together = reduction.cheap and reduction.fit_together(KEEP, self.n // KEEP)
        self.direct = kept == KEEP and self._is_direct()
        if self.direct and self.n > LANES:
            self.sums = sweeps.local("sums", types, ROWS.bit_length() - 1, tile, local)
        elif not self.direct:
            self.sums = sweeps.local("sums", types, ROWS * self.size, tile, local)
        in_order = ROWS * self.size * tile.size * sweeps.itemsize <= IN_ORDER_BYTES
        self._fill = self._sums_in_order if in_order else self._sums_by_lane
        if per > 1:
            self.levels = sweeps.local("level", types, per.bit_length() * self.size, tile, local)

    def _is_direct(self) -> bool:
        """Whether a kept lane is summed in one sweep."""
        if not self.reduction.cheap:
            return self.n <= 2 * KEEP
        return self.n <= (CHUNK if self.together else DIRECT)

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
        if self.direct:
            return self._chunk_direct(rows)
        last = 0 if self.kept == KEEP else rows % KEEP
        slots = ROWS if rows - last >= LANES else -(-rows // KEEP)
        base = number * CHUNK
        body = self._fill(base, rows - last, slots)
        kept = Var("b")

        def meet(at: Expr, column: Expr) -> list[Stmt]:
            places = [kept + k * self.size for k in range(slots)]
            sums = [self.sums.load(p, at, column) for p in places]
            return self._put(kept, c, at, column, self.counter.tree(sums))

        meeting = For(kept, self.size, Kind.SERIAL, tuple(self.sweep(meet)))
        return [*body, *self._rest(base, rows - last, last), meeting]

    def _sums_by_lane(self, base: Expr, rows: int, slots: int) -> list[Stmt]:
        """The sums of all lanes over `rows` rows of a chunk from `base` on, lane by lane."""
        full, part = divmod(rows, LANES)
        i, b, lane = Var("i"), Var("b"), Var("lane")
        slot = i * self.size + b
        each = self._sum(slot, base + lane, full)
        if part:
            each = [If(lane < part, tuple(self._sum(slot, base + lane, full + 1)), tuple(each))]
        bind = Let(lane, i * KEEP + (self.first + b))
        inner = For(b, self.size, Kind.SERIAL, (bind, *each))
        return [For(i, slots, Kind.SERIAL, (inner,))]

    def _sums_in_order(self, base: Expr, rows: int, slots: int) -> list[Stmt]:
        """The same, the rows as they come. Memory is then read as one stream (or a few), where rows
        of a lane are short pieces."""
        full, part = divmod(rows, LANES)
        at_once = SIDE_BY_SIDE if self.reduction.cheap else 1
        begun = at_once if self.reduction.cheap and full >= at_once else 0
        if begun:
            body = self._next_rows(base, LANES, begun, begin=True)
        else:
            body = self._neutral_sums(slots)
        turns, left = divmod(full - begun, at_once)
        if turns:
            j = Var("j")
            first = base + (j * at_once + begun) * LANES
            body.append(For(j, turns, Kind.SERIAL, tuple(self._next_rows(first, LANES, at_once))))
        if left:
            body += self._next_rows(base + (full - left) * LANES, LANES, left)
        if part:
            body += self._next_rows(base + full * LANES, part, 1)
        return body

    def _neutral_sums(self, slots: int) -> list[Stmt]:
        """Sums of nothing."""
        slot = Var("slot")

        def neutral(at: Expr, column: Expr) -> list[Stmt]:
            return self.sums.store(slot, at, column, self.counter.neutral)

        return [For(slot, slots * self.size, Kind.SERIAL, tuple(self.sweep(neutral)))]

    def _next_rows(self, first: Expr, lanes: int, count: int, *, begin: bool = False) -> list[Stmt]:
        """Adds `count` rows, LANES apart, to the sum of each of the first `lanes` lanes, whose
        first row is `first`; or begins the sums with them."""
        i, b, lane = Var("i"), Var("b"), Var("lane")
        slot = i * self.size + b

        def add(at: Expr, column: Expr) -> list[Stmt]:
            before = None if begin else self.sums.load(slot, at, column)
            inside, total = self.reduction.fold(first + lane, LANES, count, at, column, before)
            return [*inside, *self.sums.store(slot, at, column, total)]

        each = self.sweep(add)
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

    def _chunk_direct(self, rows: int) -> list[Stmt]:
        """The kept lanes of the only chunk, each in one sweep."""
        b = Var("b")
        cut = rows % KEEP
        lane = self.first + b
        less = self._lane_direct(b, lane, rows // KEEP)
        if cut:
            more = self._lane_direct(b, lane, rows // KEEP + 1)
            less = [If(lane < cut, tuple(more), tuple(less))]
        return [For(b, self.size, Kind.SERIAL, tuple(less))]

    def _lane_direct(self, b: Expr, lane: Expr, count: int) -> list[Stmt]:
        """A kept lane: the `count` elements that are KEEP apart, those of each lane in order. In
        one sweep, or in several that read few rows each, over neighbours in the tree of lanes."""
        if count <= ROWS or self.together:
            groups: list[tuple[int, ...]] = [LEAVES]
        else:
            lanes = 1 << (ROWS // -(-count // ROWS)).bit_length() - 1
            groups = [LEAVES[k : k + lanes] for k in range(0, ROWS, lanes)]
        result: list[Stmt] = []
        for number, group in enumerate(groups):
            last = number == len(groups) - 1

            def body(
                at: Expr,
                column: Expr,
                group: Sequence[int] = group,
                full: int = levels_completed(number),
                last: bool = last,
            ) -> list[Stmt]:
                inside, total = self._lanes_of(group, lane, count, at, column)
                for level in range(full):
                    before = self.sums.load(const(level), at, column)
                    total = self.counter.monoid.combine(before, total)
                if last:
                    return [*inside, *self._put(b, const(0), at, column, total)]
                return [*inside, *self.sums.store(const(full), at, column, total)]

            result += self.sweep(body)
        return result

    def _lanes_of(
        self, group: Sequence[int], lane: Expr, count: int, at: Expr, column: Expr
    ) -> Found:
        """The lanes of a group, of which `count` elements exist in all lanes, met in the tree."""
        combine = self.counter.monoid.combine
        leaves = [i for i in group if i < count]
        rows = [k for i in leaves for k in range(i, count, ROWS)]
        found = [self.reduction.element(lane + k * KEEP, at, column) for k in rows]
        inside, values = values_first(found)
        sums: dict[int, Components] = {}
        for k, value in zip(rows, values, strict=True):
            sums[k % ROWS] = combine(sums[k % ROWS], value) if k >= ROWS else value
        if len(group) == ROWS:
            total = self.counter.tree([sums[i] for i in range(len(sums))]) if sums else None
            return inside, self.counter.neutral if total is None else total
        level = [sums[i] for i in group]
        while len(level) > 1:
            level = [combine(a, b) for a, b in zip(level[::2], level[1::2], strict=True)]
        return inside, level[0]

    def _sum(self, slot: Expr, first: Expr, count: int) -> list[Stmt]:
        """Sweeps that leave the left fold of `count` elements, LANES apart, in a slot of `sums`."""
        reduction = self.reduction
        sweeps = reduction.sweeps
        at_once = AT_ONCE
        if not reduction.cheap and self.tile.size > sweeps.width:
            if not reduction.elements.before:
                at_once = ROWS
            elif self.n * sweeps.kept * sweeps.itemsize < FAR_BYTES:
                at_once = 1  # a quarter of the code, and as fast in the caches
        result: list[Stmt] = []
        for start in range(0, max(count, 1), at_once):
            these = min(at_once, count - start)

            def body(at: Expr, column: Expr, start: int = start, these: int = these) -> list[Stmt]:
                if these == 0:
                    return self.sums.store(slot, at, column, self.counter.neutral)
                before = self.sums.load(slot, at, column) if start else None
                row = first + start * LANES if start else first
                inside, total = self.reduction.fold(row, LANES, these, at, column, before)
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
