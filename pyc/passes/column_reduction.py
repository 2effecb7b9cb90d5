"""A reduction over the rows of columns, in the documented order (`ir/order.py`), as sweeps.

The rows of a lane, which are 128 apart, are added eight at a time to a sum for each lane; these
become the 16 kept lanes of the chunk, and these meet those of the chunks before in a binary
counter. Kept lanes and aligned blocks of chunks do not meet before the end, so both can be tasks of
their own. A reduction whose order cannot show takes its rows as they come.

Takes a `Reduce`, and what to store on its way; returns the sweeps and, for the sweep behind them,
the result in a column.
"""

from __future__ import annotations

from collections.abc import Callable

from pyc.ir.expr import Apply, Const, Expr, Load, Var, const, minimum
from pyc.ir.loops import For, Kind, Let, Stmt
from pyc.ir.order import CHUNK, KEEP, LANES
from pyc.passes.column_elements import AT_ONCE, WAYS, ColumnElements, values_first
from pyc.passes.elements import Components, Elements, Found
from pyc.passes.kept_lanes import KeptLanes, in_order, one_by_one
from pyc.passes.nest import Loop, accesses, bindings
from pyc.passes.one_chunk import OneChunk, is_direct, levels_completed
from pyc.passes.reduction import CHEAP
from pyc.passes.reduction_blocks import ThreadReduction
from pyc.passes.sweeps import Held, Step, Sweeps, Tile

SUM_BYTES = 1 << 19
"""Bytes of the sums of lanes of a tile at most: they should stay in a core's cache."""
GROUPS = 4
"""Groups of kept lanes that become tasks of their own, at most."""
BLOCKS = 16
"""Blocks of chunks, or of rows, at most."""
LANE_BYTES = 1 << 13
"""Bytes of a row of a tile from which each kept lane is a task, whose chunks meet beside it: their
kept lanes would be a sixtieth of what is read, and go through memory twice."""
FLAT_COLUMNS = 64
"""Columns up to which KEEP rows are swept as one, where they lie one behind the other."""
FEW_ELEMENTS = 32
"""Elements of a row up to which all are summed in sweeps that are written out."""
FEW_OF_LARGE = 64
"""The same in programs that are large enough to pay for the code. At 128 it took 20 ms more to
compile and gained a fifth of the time."""
MOST_AT_ONCE = 32
"""Rows of one such sweep at most: more values than registers."""
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
    found = set(stack)
    while stack:
        e = stack.pop()
        if isinstance(e, Var):
            return False
        if isinstance(e, Apply):
            work += 1
            stack += [x for x in dict.fromkeys(e.args) if x not in found]
            found |= set(e.args)
        elif not isinstance(e, (Const, Load)):
            return False
    return work <= CHEAP * len(elements.types)


class ColumnReduction(ColumnElements):
    """One reduction: partial results, then their join."""

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
            together = self.fit_together(1, self.n)
            return ([], self._straight) if together else self._in_two(tile)
        if is_flat(self.sweeps, self.elements):
            return self._sweep_flat()
        few = FEW_OF_LARGE if self.sweeps.large else FEW_ELEMENTS
        if self.n <= few and self.cheap and not self.sweeps.staged:
            return self._in_groups(tile)
        if is_direct(self):
            return self._sweep_chunk(tile)
        return self._sweep_lanes(tile)

    # --- any order --------------------------------------------------------------------------------

    def _sweep_rows(self, tile: Tile) -> tuple[list[Step], Join]:
        """Rows as they come, into one value per column and block of rows."""
        sweeps, n = self.sweeps, self.n
        at_once = self._rows_at_once(tile)
        per = n
        if sweeps.staged:
            per = -(-n // (BLOCKS * at_once)) * at_once
        blocks = -(-n // per)
        block = sweeps.nest.simplify.variable("block", blocks)
        sums = sweeps.local("best", self.types, 1, tile, self.arrays)
        held = sums
        if sweeps.staged:
            held = sweeps.between("part", self.types, blocks, tile, self.arrays)
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
        whole = count // at_once if isinstance(count, int) else count >> at_once.bit_length() - 1
        rest = count % at_once if isinstance(count, int) else count & (at_once - 1)
        body = sweeps.sweep(tile, neutral)
        body.append(For(group, whole, Kind.SERIAL, tuple(rows(first + group * at_once, at_once))))
        left = first + whole * at_once + row
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

        return [Step("_rows", tile, loops, tuple(body), tuple(self.arrays))], found

    def _rows_at_once(self, tile: Tile) -> int:
        """Neighbouring rows of one sweep: more of narrow tiles, where each sweep would wait for the
        one before."""
        if not self.cheap:
            return AT_ONCE
        return AT_ONCE * max(AT_ONCE * self.sweeps.width // tile.size, 1)

    def _together(self, first: Expr, count: int, at: Expr, column: Expr) -> Found:
        """`count` neighbouring elements in a short tree, or in a loop where they take much work."""
        if not self.cheap and count > 1:
            return self.fold(first, 1, count, at, column, None)
        found = [self.element(first + k, at, column) for k in range(count)]
        body, values = values_first(found)
        return body, self.counter.tree(values)

    # --- the documented order ---------------------------------------------------------------------

    def _straight(self, at: Expr, column: Expr) -> Found:
        """A row of at most KEEP elements in one go."""
        body, values = values_first([self.element(const(k), at, column) for k in range(self.n)])
        return body, self.counter.tree(values)

    def _in_two(self, tile: Tile) -> tuple[list[Step], Join]:
        """A row of at most KEEP elements, which meet by halves: first those of even numbers, then
        the others."""
        held = self.sweeps.between("even", self.types, 1, tile, self.arrays)
        combine = self.counter.monoid.combine

        def every_second(first: int, at: Expr, column: Expr) -> Found:
            rows = range(first, self.n, 2)
            inside, values = values_first([self.element(const(k), at, column) for k in rows])
            return inside, self.counter.tree(values)

        def even(at: Expr, column: Expr) -> list[Stmt]:
            inside, total = every_second(0, at, column)
            return [*inside, *held.store(const(0), at, column, total)]

        def found(at: Expr, column: Expr) -> Found:
            inside, total = every_second(1, at, column)
            return inside, combine(held.load(const(0), at, column), total)

        swept = tuple(self.sweeps.sweep(tile, even))
        return [Step("_even", tile, (), swept, tuple(self.arrays))], found

    def _in_groups(self, tile: Tile) -> tuple[list[Step], Join]:
        """A row whose lanes have one element each: some neighbours in their tree at a time, as many
        as fit together, a value for each level of the tree that waits for its other half."""
        sweeps, combine = self.sweeps, self.counter.monoid.combine
        bits = (self.n - 1).bit_length()
        leaves = [_reversed(k, bits) for k in range(1 << bits)]
        size = min(1 << bits, MOST_AT_ONCE)
        while size > WAYS and not self.fit_together(len(leaves) // size, size):
            size //= 2
        groups = [leaves[k : k + size] for k in range(0, len(leaves), size)]
        held = sweeps.local("half", self.types, len(groups).bit_length() - 1, tile, self.arrays)

        def joined(number: int, at: Expr, column: Expr) -> Found:
            rows = [k for k in groups[number] if k < self.n]
            inside, values = values_first([self.element(const(k), at, column) for k in rows])
            sums: list[Components | None] = [
                values[rows.index(k)] if k in rows else None for k in groups[number]
            ]
            while len(sums) > 1:  # where the first half of a pair is missing the second is too
                pairs = zip(sums[::2], sums[1::2], strict=True)
                sums = [combine(a, b) if a and b else a for a, b in pairs]
            total = sums[0]
            assert total is not None, "the first leaf of a group is present"
            for k in range(levels_completed(number)):
                total = combine(held.load(const(k), at, column), total)
            return inside, total

        def swept(number: int) -> list[Stmt]:
            def body(at: Expr, column: Expr) -> list[Stmt]:
                inside, total = joined(number, at, column)
                slot = const(levels_completed(number))
                return [*inside, *held.store(slot, at, column, total)]

            return sweeps.sweep(tile, body)

        last = len(groups) - 1
        body = [x for number in range(last) for x in swept(number)]
        steps = [Step("_groups", tile, (), tuple(body), tuple(self.arrays))] if body else []
        return steps, lambda at, column: joined(last, at, column)

    def _sweep_chunk(self, tile: Tile) -> tuple[list[Step], Join]:
        """The only chunk; as tasks, groups of kept lanes that are neighbours in their tree."""
        sweeps = self.sweeps
        groups = GROUPS if sweeps.staged else 1
        size = KEEP // groups
        group = sweeps.nest.simplify.variable("group", groups)
        first: Expr = group if groups > 1 else const(0)
        kept = sweeps.local("kept", self.types, size, tile, self.arrays)
        body = OneChunk(self, tile, kept, first, size).body()

        def met(held: Held, slots: int) -> Join:
            return lambda at, column: ([], self._tree(held, slots, at, column))

        if groups == 1:
            return [Step("_lanes", tile, (), tuple(body), tuple(self.arrays))], met(kept, size)
        held = sweeps.between("met", self.types, groups, tile, self.arrays)

        def meet(at: Expr, column: Expr) -> list[Stmt]:
            return held.store(first, at, column, self._tree(kept, size, at, column))

        body += sweeps.sweep(tile, meet)
        step = Step("_lanes", tile, (Loop(group, groups),), tuple(body), tuple(self.arrays))
        return [step], met(held, groups)

    def _tree(self, held: Held, slots: int, at: Expr, column: Expr) -> Components:
        """What lies in slots, met by halves."""
        return self.counter.tree([held.load(const(k), at, column) for k in range(slots)])

    def _sweep_lanes(self, tile: Tile) -> tuple[list[Step], Join]:
        """The kept lanes of blocks of chunks, some lanes at a time."""
        sweeps = self.sweeps
        chunks = -(-self.n // CHUNK)
        per = chunks
        groups = 1
        while groups < KEEP and (LANES // groups) * tile.size * sweeps.itemsize > SUM_BYTES:
            groups *= 2
        wide = self.plain and tile.size * sweeps.itemsize >= LANE_BYTES
        if sweeps.staged and wide and one_by_one(self, tile):
            groups = KEEP
        elif sweeps.staged:
            per = 1
            while -(-chunks // per) > BLOCKS:
                per *= 2
            enough = BLOCKS // 2 if in_order(self, tile) else BLOCKS
            while groups < GROUPS and -(-chunks // per) * groups < enough:
                groups *= 2
        blocks = -(-chunks // per)
        held = sweeps.between("kept", self.types, blocks * KEEP, tile, self.arrays)
        block = sweeps.nest.simplify.variable("block", blocks)
        group = sweeps.nest.simplify.variable("group", groups)
        number: Expr = block if blocks > 1 else const(0)
        body = KeptLanes(self, tile, held, number, per, group, groups, KEEP).body()
        loops = tuple(x for x in (Loop(block, blocks), Loop(group, groups)) if x.extent > 1)
        if groups == 1:
            body = [Let(group, const(0)), *body]

        def found(at: Expr, column: Expr) -> Found:
            return self._joined(lambda b, k: held.load(b * KEEP + k, at, column), blocks)

        return [Step("_lanes", tile, loops, tuple(body), tuple(self.arrays))], found

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
        held = flat.sweeps.between("kept", self.types, blocks, tile, flat.arrays)
        block = sweeps.nest.simplify.variable("block", blocks)
        number: Expr = block if blocks > 1 else const(0)
        body = KeptLanes(flat, tile, held, number, per, None, KEEP, 1).body()
        loops = (Loop(block, blocks),) if blocks > 1 else ()

        def found(at: Expr, column: Expr) -> Found:
            def part(block: Expr, lane: Expr) -> Components:
                place = lane * sweeps.columns + column  # no vector of a flat tile overlaps another
                return held.load(block, place, place)

            return self._joined(part, blocks)

        return [Step("_lanes", tile, loops, tuple(body), tuple(flat.arrays))], found

    def _joined(self, part: Part, blocks: int) -> Found:
        """The kept lanes of all blocks, joined by block and then by halves."""
        if blocks * KEEP > PARTS:
            results = self.counter.names("joined")
            reduction = ThreadReduction(self.types, self.counter.monoid)
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
