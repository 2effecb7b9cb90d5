"""The kept lanes of the only chunk of a reduction over the rows of columns, without other sums.

Takes a `ColumnElements` of at most CHUNK elements; returns the statements that leave its kept lanes
(`ir/order.py`), or those that are neighbours in their tree, in an array. A kept lane is one sweep,
or a few that read no more rows than the first cache holds together.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.ir.expr import Expr, Var, const
from pyc.ir.loops import For, If, Kind, Let, Stmt
from pyc.ir.order import CHUNK, KEEP, LANES
from pyc.passes.column_elements import ColumnElements, values_first
from pyc.passes.elements import Components, Found
from pyc.passes.reduction import ROWS
from pyc.passes.sweeps import Held, Tile

DIRECT = 768
"""Elements of a row up to which kept lanes are reduced like this if the rows do not fit together:
some lanes at a time, so that 8 rows are read at once."""
FOLLOWED = 16
"""Rows of one sweep at most if they do: 64 are more streams than a processor follows."""
LEAVES = (0, 4, 2, 6, 1, 5, 3, 7)
"""Rows of a kept lane's lanes in the order of their tree by halves."""


def levels_completed(number: int) -> int:
    """Halves that the number-th leaf of a tree completes, the leaves taken in order."""
    return (number & ~(number + 1)).bit_length()


def is_direct(reduction: ColumnElements) -> bool:
    """Whether a reduction is one chunk whose lanes need no sums of their own."""
    n = reduction.n
    if not reduction.cheap:
        return n <= 2 * KEEP
    return n <= (CHUNK if reduction.fit_together(KEEP, n // KEEP) else DIRECT)


class OneChunk:
    """The kept lanes first, first + KEEP / size, ... (`size` of them, a power of two) in one tile,
    in the slots of `held`."""

    def __init__(
        self, reduction: ColumnElements, tile: Tile, held: Held, first: Expr, size: int
    ) -> None:
        self.reduction, self.tile, self.held = reduction, tile, held
        self.counter = reduction.counter
        self.first, self.size = first, size
        self.together = reduction.cheap and reduction.fit_together(KEEP, reduction.n // KEEP)
        if reduction.n > LANES:
            levels = ROWS.bit_length() - 1
            sweeps, arrays = reduction.sweeps, reduction.arrays
            self.sums = sweeps.local("sums", reduction.types, levels, tile, arrays)

    def body(self) -> list[Stmt]:
        """The statements."""
        slot, lane = Var("slot"), Var("lane")
        bind = Let(lane, self.first + slot * (KEEP // self.size))
        count, cut = divmod(self.reduction.n, KEEP)
        less = self._lane(slot, lane, count)
        if cut:
            less = [If(lane < cut, tuple(self._lane(slot, lane, count + 1)), tuple(less))]
        return [For(slot, self.size, Kind.SERIAL, (bind, *less))]

    def _lane(self, slot: Expr, lane: Expr, count: int) -> list[Stmt]:
        """A kept lane: the `count` elements that are KEEP apart, those of each lane in order. In
        one sweep, or in several that read few rows each, over neighbours in the tree of lanes."""
        most = FOLLOWED if self.together else ROWS
        lanes = 1 << (most // max(-(-count // ROWS), 1)).bit_length() - 1
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
                    return [*inside, *self.held.store(slot, at, column, total)]
                return [*inside, *self.sums.store(const(full), at, column, total)]

            result += self.reduction.sweeps.sweep(self.tile, body)
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
