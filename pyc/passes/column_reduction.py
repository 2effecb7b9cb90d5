"""A reduction over the rows of columns, in the documented order (`ir/order.py`), as sweeps.

The rows of a lane, which are 128 apart, are added four at a time to 128 sums per column; these
become the 16 kept lanes of the chunk, and these meet those of the chunks before in a binary
counter. Kept lanes and aligned blocks of chunks do not meet before the end, so both can be tasks of
their own. A reduction whose order cannot show takes its rows as they come.

Takes a `Reduce`, and what to store on its way; returns the sweeps and, for the sweep behind them,
the result in a column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Const, Expr, Load, Var, const, minimum
from pyc.ir.loops import Body, Buffer, Carry, For, If, Kind, Let, Reduce, Stmt, Store
from pyc.ir.order import CHUNK, KEEP, LANES
from pyc.passes.elements import Components, Elements, Found
from pyc.passes.nest import Loop, accesses, bindings
from pyc.passes.reduction import CHEAP, ROWS, At, Counter
from pyc.passes.reduction_blocks import ThreadReduction
from pyc.passes.sweeps import PAGE, Each, Held, Step, Sweeps, Tile

SUM_BYTES = 1 << 19
"""Bytes of the sums of lanes of a tile at most: they should stay in a core's cache."""
AT_ONCE = 4
"""Rows read at once. The rows of a lane are 128 apart, so that most of them share a set of the
first cache."""
GROUPS = 4
"""Groups of kept lanes that become tasks of their own, at most."""
BLOCKS = 16
"""Blocks of chunks, or of rows, at most."""
WAYS = 8
"""Lines of one set of the first cache, whose sets begin again after a page."""
FLAT_COLUMNS = 64
"""Columns up to which KEEP rows are swept as one, where they lie one behind the other."""
FAR_BYTES = 1 << 23
"""Bytes of input from which rows come from memory, in several streams at once."""
DIRECT = 768
"""Elements of a row up to which kept lanes are summed without sums of all lanes in memory, if the
rows do not fit together: some lanes at a time, so that 8 rows are read at once."""
FEW_ELEMENTS = 32
"""Elements of a row up to which all are summed in sweeps that are written out."""
FEW_OF_LARGE = 64
"""The same in programs that are large enough to pay for the code. At 128 it took 20 ms more to
compile and gained a fifth of the time."""
MOST_AT_ONCE = 32
"""Rows of one such sweep at most: more values than registers."""
LEAVES = (0, 4, 2, 6, 1, 5, 3, 7)
"""Rows of a kept lane's lanes in the order of their tree by halves."""
PARTS = 64
"""Partial results of a column that are joined as straight code."""

Join = Callable[[Expr, Expr], Found]
"""(place in the tile, column) -> what a reduction gives there."""


Part = Callable[[Expr, Expr], Components]
"""(block, kept lane) -> their partial result."""


def is_flat(sweeps: Sweeps, elements: Elements) -> bool:
    """Whether columns are few, rows lie one behind the other, and elements of a reduction are the
    same function of what lies at their place in memory."""
    reduce, columns = elements.reduce, sweeps.columns
    if elements.before or columns > FLAT_COLUMNS or elements.n <= LANES or len(reduce.domain) != 1:
        return False
    if KEEP * columns % sweeps.flattened(KEEP).width:
        return False
    ((var, _),) = reduce.domain
    for _, address in accesses(bindings(reduce)):
        by_row, by_column = (sweeps.nest.factor(v, address) for v in (var, sweeps.inner.var))
        if by_row is None or by_column is None or by_row != by_column * columns:
            return False
    stack, work = list(reduce.values), 0
    while stack:
        e = stack.pop()
        if isinstance(e, Var):
            return False
        if isinstance(e, Apply):
            work += 1
            stack += e.args
        elif not isinstance(e, (Const, Load)):
            return False
    return work <= CHEAP * len(elements.types)


class ColumnReduction:
    """One reduction: partial results, then their join."""

    def __init__(self, sweeps: Sweeps, before: Body, reduce: Reduce) -> None:
        self.sweeps = sweeps
        self.elements = Elements(reduce, before)
        self.n, self.types = self.elements.n, self.elements.types
        self.counter = Counter(self.types, reduce.monoid, self._refuse)
        self.cheap = self.elements.work <= CHEAP * len(self.types)
        self._local: list[Buffer] = []

    @staticmethod
    def _refuse(name: str, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        raise AssertionError(f"{name}: arrays of columns are made by `Sweeps`")

    @property
    def in_any_order(self) -> bool:
        """Whether the order of the elements cannot show in the bits."""
        exact = not any(t.is_float for t in self.types)
        return self.counter.monoid.idempotent or exact

    def steps(self, tile: Tile) -> tuple[list[Step], Join]:
        """The sweeps over the row, and what gives the result in a column behind them."""
        if self.in_any_order:
            return self._sweep_rows(tile)
        if self.n <= KEEP and self.cheap:
            together = self._fit_together(1, self.n)
            return ([], self._straight) if together else self._in_two(tile)
        if is_flat(self.sweeps, self.elements):
            return self._sweep_flat()
        few = FEW_OF_LARGE if self.sweeps.large else FEW_ELEMENTS
        if self.n <= few and self.cheap and not self.sweeps.staged:
            return self._in_groups(tile)
        return self._sweep_lanes(tile)

    def _fit_together(self, step: int, count: int) -> bool:
        """Whether the first cache holds what is read of `count` rows that are `step` apart: a line
        or two of each, in sets that follow from the distance."""
        reduce = self.elements.reduce
        if len(reduce.domain) != 1:
            return False
        ((var, _),) = reduce.domain
        nest = self.sweeps.nest
        for buffer, address in accesses((*self.elements.before, *bindings(reduce))):
            stride = nest.factor(var, address)
            if stride is None:
                return False
            distance = stride * step * buffer.dtype.itemsize
            if stride and count > WAYS * (PAGE // gcd(distance, PAGE)):
                return False
        return True

    def _element(self, position: Expr, at: Expr, column: Expr) -> Found:
        inside, values = self.elements.at(position, self.sweeps.binding(at, column))
        placed = self.sweeps.placed(at, column)
        return list(placed.body(tuple(inside))), placed.exprs(values)

    def _fold(
        self,
        first: Expr,
        step: int,
        count: int | Expr,
        at: Expr,
        column: Expr,
        before: Components | None,
    ) -> Found:
        """The left fold of `count` > 0 elements `step` apart behind `before`."""
        combine = self.counter.monoid.combine
        if isinstance(count, int) and (self.cheap or count <= AT_ONCE):
            found = [
                self._element(first + k * step if k else first, at, column) for k in range(count)
            ]
            body, values = _values_first(found)
            total = before
            for value in values:
                total = value if total is None else combine(total, value)
            assert total is not None
            return body, total
        k_var = Var("j")
        inside, value = self._element(first + k_var * step, at, column)
        inner, after = self.counter.names("a"), self.counter.names("r")
        start = self.counter.neutral if before is None else before
        columns = zip(inner, start, combine(inner, value), after, strict=True)
        carried = tuple(Carry(v, i, n, r) for v, i, n, r in columns)
        return [For(k_var, count, Kind.SERIAL, tuple(inside), carried)], after

    # --- any order --------------------------------------------------------------------------------

    def _sweep_rows(self, tile: Tile) -> tuple[list[Step], Join]:
        """Rows as they come, into one value per column and block of rows."""
        sweeps, n = self.sweeps, self.n
        per = n
        if sweeps.staged:
            per = -(-n // (BLOCKS * AT_ONCE)) * AT_ONCE
        blocks = -(-n // per)
        block = sweeps.nest.simplify.variable("block", blocks)
        sums = sweeps.local("best", self.types, 1, tile, self._local)
        held = sums
        if sweeps.staged:
            held = sweeps.between("part", self.types, blocks, tile, self._local)
        slot, here = block if blocks > 1 else const(0), const(0)
        first = slot * per
        count: int | Expr = per
        if n % per:
            count = minimum(const(per), const(n) - block * per)

        def neutral(at: Expr, column: Expr) -> list[Stmt]:
            return sums.store(here, at, column, self.counter.neutral)

        def keep(at: Expr, column: Expr) -> list[Stmt]:
            return held.store(slot, at, column, sums.load(here, at, column))

        def rows(start: Expr, size: int) -> list[Stmt]:
            def body(at: Expr, column: Expr) -> list[Stmt]:
                before = sums.load(here, at, column)
                inside, total = self._together(start, size, at, column)
                total = self.counter.monoid.combine(before, total)
                return [*inside, *sums.store(here, at, column, total)]

            return sweeps.sweep(tile, body)

        group, row = Var("group"), Var("row")
        whole = count // AT_ONCE if isinstance(count, int) else count >> 2
        rest = count % AT_ONCE if isinstance(count, int) else count & (AT_ONCE - 1)
        body = sweeps.sweep(tile, neutral)
        body.append(For(group, whole, Kind.SERIAL, tuple(rows(first + group * AT_ONCE, AT_ONCE))))
        left = first + whole * AT_ONCE + row
        body.append(For(row, rest, Kind.SERIAL, tuple(rows(left, 1))))
        if held is not sums:
            body += sweeps.sweep(tile, keep)
        loops = (Loop(block, blocks),) if blocks > 1 else ()

        def found(at: Expr, column: Expr) -> Found:
            if blocks == 1:
                return [], held.load(const(0), at, column)
            k = Var("k")
            loop, total = self.counter.loop(
                k,
                blocks,
                self.counter.neutral,
                lambda a: self.counter.monoid.combine(a, held.load(k, at, column)),
            )
            return [loop], total

        return [Step("_rows", tile, loops, tuple(body), tuple(self._local))], found

    def _together(self, first: Expr, count: int, at: Expr, column: Expr) -> Found:
        """`count` neighbouring elements in a short tree, or in a loop where they take much work."""
        if not self.cheap and count > 1:
            return self._fold(first, 1, count, at, column, None)
        found = [self._element(first + k, at, column) for k in range(count)]
        body, values = _values_first(found)
        return body, self.counter.tree(values)

    # --- the documented order ---------------------------------------------------------------------

    def _straight(self, at: Expr, column: Expr) -> Found:
        """A row of at most KEEP elements in one go."""
        body, values = _values_first([self._element(const(k), at, column) for k in range(self.n)])
        return body, self.counter.tree(values)

    def _in_two(self, tile: Tile) -> tuple[list[Step], Join]:
        """A row of at most KEEP elements, which meet by halves: first those of even numbers, then
        the others."""
        held = self.sweeps.between("even", self.types, 1, tile, self._local)
        combine = self.counter.monoid.combine

        def every_second(first: int, at: Expr, column: Expr) -> Found:
            rows = range(first, self.n, 2)
            inside, values = _values_first([self._element(const(k), at, column) for k in rows])
            return inside, self.counter.tree(values)

        def even(at: Expr, column: Expr) -> list[Stmt]:
            inside, total = every_second(0, at, column)
            return [*inside, *held.store(const(0), at, column, total)]

        def found(at: Expr, column: Expr) -> Found:
            inside, total = every_second(1, at, column)
            return inside, combine(held.load(const(0), at, column), total)

        swept = tuple(self.sweeps.sweep(tile, even))
        return [Step("_even", tile, (), swept, tuple(self._local))], found

    def _in_groups(self, tile: Tile) -> tuple[list[Step], Join]:
        """A row whose lanes have one element each: some neighbours in their tree at a time, as many
        as fit together, a value for each level of the tree that waits for its other half."""
        sweeps, combine = self.sweeps, self.counter.monoid.combine
        bits = (self.n - 1).bit_length()
        leaves = [_reversed(k, bits) for k in range(1 << bits)]
        size = min(1 << bits, MOST_AT_ONCE)
        while size > WAYS and not self._fit_together(len(leaves) // size, size):
            size //= 2
        groups = [leaves[k : k + size] for k in range(0, len(leaves), size)]
        held = sweeps.local("half", self.types, len(groups).bit_length() - 1, tile, self._local)

        def joined(number: int, at: Expr, column: Expr) -> Found:
            rows = [k for k in groups[number] if k < self.n]
            inside, values = _values_first([self._element(const(k), at, column) for k in rows])
            sums: list[Components | None] = [
                values[rows.index(k)] if k in rows else None for k in groups[number]
            ]
            while len(sums) > 1:  # where the first half of a pair is missing the second is too
                pairs = zip(sums[::2], sums[1::2], strict=True)
                sums = [combine(a, b) if a and b else a for a, b in pairs]
            total = sums[0]
            assert total is not None, "the first leaf of a group is present"
            for k in range(_levels(number)):
                total = combine(held.load(const(k), at, column), total)
            return inside, total

        def swept(number: int) -> list[Stmt]:
            def body(at: Expr, column: Expr) -> list[Stmt]:
                inside, total = joined(number, at, column)
                slot = const(_levels(number))
                return [*inside, *held.store(slot, at, column, total)]

            return sweeps.sweep(tile, body)

        last = len(groups) - 1
        body = [x for number in range(last) for x in swept(number)]
        steps = [Step("_groups", tile, (), tuple(body), tuple(self._local))] if body else []
        return steps, lambda at, column: joined(last, at, column)

    def _sweep_lanes(self, tile: Tile) -> tuple[list[Step], Join]:
        """The kept lanes of blocks of chunks, some lanes at a time."""
        sweeps = self.sweeps
        chunks = -(-self.n // CHUNK)
        per = chunks
        groups = 1
        while groups < KEEP and (LANES // groups) * tile.size * sweeps.itemsize > SUM_BYTES:
            groups *= 2
        if sweeps.staged:
            per = 1
            while -(-chunks // per) > BLOCKS:
                per *= 2
            while groups < GROUPS and -(-chunks // per) * groups < BLOCKS:
                groups *= 2
        blocks = -(-chunks // per)
        held = sweeps.between("kept", self.types, blocks * KEEP, tile, self._local)
        block = sweeps.nest.simplify.variable("block", blocks)
        group = sweeps.nest.simplify.variable("group", groups)
        number: Expr = block if blocks > 1 else const(0)
        body = _Lanes(self, tile, held, number, per, group, groups, KEEP).body()
        loops = tuple(x for x in (Loop(block, blocks), Loop(group, groups)) if x.extent > 1)
        if groups == 1:
            body = [Let(group, const(0)), *body]

        def found(at: Expr, column: Expr) -> Found:
            return self._joined(lambda b, k: held.load(b * KEEP + k, at, column), blocks)

        return [Step("_lanes", tile, loops, tuple(body), tuple(self._local))], found

    def _sweep_flat(self) -> tuple[list[Step], Join]:
        """The same where KEEP rows are one vector of short columns after the other: their kept
        lanes lie side by side, and are summed like columns."""
        sweeps = self.sweeps
        flat = ColumnReduction(sweeps.flattened(KEEP), (), self.elements.reduce)
        tile = flat.sweeps.tiles(1)
        chunks = per = -(-self.n // CHUNK)
        if sweeps.staged:
            per = 1
            while -(-chunks // per) > BLOCKS:
                per *= 2
        blocks = -(-chunks // per)
        held = flat.sweeps.between("kept", self.types, blocks, tile, flat._local)
        block = sweeps.nest.simplify.variable("block", blocks)
        number: Expr = block if blocks > 1 else const(0)
        body = _Lanes(flat, tile, held, number, per, None, KEEP, 1).body()
        loops = (Loop(block, blocks),) if blocks > 1 else ()

        def found(at: Expr, column: Expr) -> Found:
            def part(block: Expr, lane: Expr) -> Components:
                place = lane * sweeps.columns + column  # no vector of a flat tile overlaps another
                return held.load(block, place, place)

            return self._joined(part, blocks)

        return [Step("_lanes", tile, loops, tuple(body), tuple(flat._local))], found

    def _joined(self, part: Part, blocks: int) -> Found:
        """The kept lanes of all blocks, joined by block and then by halves."""
        if blocks * KEEP > PARTS:
            results = self.counter.names("joined")
            reduction = ThreadReduction(self.types, self.counter.monoid.name)
            return reduction.join(results, part, blocks), results
        lanes: list[Components] = []
        for lane in range(KEEP):
            level = [part(const(k), const(lane)) for k in range(blocks)]
            while len(level) > 1:
                pairs = zip(level[::2], level[1::2], strict=False)
                odd = level[-1:] if len(level) % 2 else []
                level = [*(self.counter.monoid.combine(a, b) for a, b in pairs), *odd]
            lanes += level
        return [], self.counter.tree(lanes)


def _reversed(number: int, bits: int) -> int:
    """The lowest bits of a number in the opposite order."""
    return sum((number >> k & 1) << (bits - 1 - k) for k in range(bits))


def _levels(number: int) -> int:
    """Halves that the number-th leaf of a tree completes, the leaves taken in order."""
    return (number & ~(number + 1)).bit_length()


def _values_first(found: Sequence[Found]) -> tuple[list[Stmt], list[Components]]:
    """Statements of elements at several rows with the stores last, and their values. The rows of
    an input and of an output that are 128 apart mostly begin at one address within a page: a load
    would wait for the store of the row before."""
    inside = [s for body, _ in found for s in body]
    stores = [s for s in inside if isinstance(s, Store)]
    return [*(s for s in inside if not isinstance(s, Store)), *stores], [v for _, v in found]


class _Lanes:
    """The kept lanes [group * size, + size) of `per` chunks from block * per on, in one tile. kept:
    kept lanes of a chunk that lie in slots of arrays: all, or one where they are columns."""

    def __init__(
        self,
        reduction: ColumnReduction,
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
        local = reduction._local
        types = reduction.types
        sweeps = reduction.sweeps
        self.together = reduction.cheap and reduction._fit_together(KEEP, self.n // KEEP)
        self.direct = kept == KEEP and self._is_direct()
        if self.direct and self.n > LANES:
            self.sums = sweeps.local("sums", types, ROWS.bit_length() - 1, tile, local)
        elif not self.direct:
            self.sums = sweeps.local("sums", types, ROWS * self.size, tile, local)
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
        b = Var("b")
        if self.direct:
            return self._chunk_direct(rows)
        i, lane = Var("i"), Var("lane")
        last = 0 if self.kept == KEEP else rows % KEEP
        full, part = divmod(rows - last, LANES)
        slots = ROWS if full else -(-(part + last) // KEEP)
        base = number * CHUNK
        start = base + lane
        slot = i * self.size + b
        each = self._sum(slot, start, full)
        if part:
            each = [If(lane < part, tuple(self._sum(slot, start, full + 1)), tuple(each))]
        bind = Let(lane, i * KEEP + (self.first + b))
        inner = For(b, self.size, Kind.SERIAL, (bind, *each))
        kept = Var("b")

        def meet(at: Expr, column: Expr) -> list[Stmt]:
            places = [kept + k * self.size for k in range(slots)]
            sums = [self.sums.load(p, at, column) for p in places]
            return self._put(kept, c, at, column, self.counter.tree(sums))

        meeting = For(kept, self.size, Kind.SERIAL, tuple(self.sweep(meet)))
        return [For(i, slots, Kind.SERIAL, (inner,)), *self._rest(base, rows - last, last), meeting]

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
        inside, value = self.reduction._element(start + first, at, at)
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
                full: int = _levels(number),
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
        found = [self.reduction._element(lane + k * KEEP, at, column) for k in rows]
        inside, values = _values_first(found)
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
                inside, total = self.reduction._fold(row, LANES, these, at, column, before)
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
