"""Reductions of columns in one launch, where a block of threads spans a column's chunks.

A block has some neighbouring columns, one kept lane of the documented order (`ir/order.py`) and all
chunks: its threads have a column and a range of chunks each, and meet in shared memory. The blocks
of a slab of columns are a group, one for each kept lane: each leaves its lane in global memory, and
the one that comes last joins them, without another launch.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.ir import dtype as dt
from pyc.ir.expr import Expr, Load, Var, apply, const
from pyc.ir.loops import (
    Alloc,
    Barrier,
    Body,
    Buffer,
    For,
    If,
    Kind,
    Last,
    Let,
    Reduce,
    Space,
    Stmt,
    Store,
)
from pyc.ir.order import CHUNK, KEEP
from pyc.passes.elements import Elements
from pyc.passes.reduction_blocks import Components, ThreadReduction, power_above

THREADS = 256
"""Threads of a block."""
FEWEST_COLUMNS = 32
"""Columns of a block at least: a line of memory."""


class ColumnLast:
    """The loops that reduce `kept` columns of `row` elements, a thread for each chunk and lane."""

    def __init__(self, kept: int, row: int) -> None:
        self.kept = kept
        self.row = row
        self.parts = -(-row // CHUNK)
        self.columns = THREADS // power_above(self.parts)
        self._shared: list[Buffer] = []

    @property
    def possible(self) -> bool:
        """Whether a block has room for the chunks of enough columns, and none is idle: then it
        takes less than two launches (ragged chunks are read one element after the other)."""
        even = self.columns * self.parts == THREADS and (self.parts == 1 or self.row % CHUNK == 0)
        return even and FEWEST_COLUMNS <= self.columns <= self.kept

    @property
    def scratch_size(self) -> int:
        """Elements in which a component's kept lanes meet."""
        return KEEP * self.kept

    def body(
        self,
        place: Var,
        binding: Sequence[Stmt],
        core: Body,
        scratch: Sequence[Sequence[Buffer]],
    ) -> list[Stmt]:
        """The kernel. place: numbers the columns; binding: binds the kept variables by it; core:
        reductions, and what follows them once for each column; scratch: memory of each reduction.
        """
        slab, lane, thread, last = Var("slab"), Var("lane"), Var("thread"), Var("last", dt.b1)
        column = Var("column")
        inner: list[Stmt] = [
            Let(column, slab * self.columns + apply("remainder", thread, const(self.columns)))
        ]
        inside: Expr = thread < self.columns
        number: Expr = column
        if self.kept % self.columns:
            inside = inside & (column < self.kept)
            number = apply("minimum", column, const(self.kept - 1))
        inner += [Let(place, number), *binding]
        reduces = [s for s in core if isinstance(s, Reduce)]
        for s, held in zip(reduces, scratch, strict=True):
            inner += self._lane(s, held, lane, thread, place, inside)
        joined: list[Stmt] = []
        for s, held in zip(reduces, scratch, strict=True):
            joined += self._joined(s, held, place)
        joined += [s for s in core if not isinstance(s, Reduce)]
        inner += [Last(last), If(last & inside, tuple(joined))]
        whole: Body = (For(thread, THREADS, Kind.THREAD, tuple(inner)),)
        for b in self._shared:
            whole = (Alloc(b, whole),)
        whole = (For(lane, KEEP, Kind.GROUP, whole),)
        return [For(slab, -(-self.kept // self.columns), Kind.GRID, whole)]

    def _lane(
        self,
        s: Reduce,
        held: Sequence[Buffer],
        lane: Var,
        thread: Var,
        place: Var,
        inside: Expr,
    ) -> list[Stmt]:
        """Leaves a kept lane of each column of the block."""
        found = Elements(s)
        reduction = ThreadReduction(found.types, s.monoid)
        part = apply("quotient", thread, const(self.columns))
        body, total = reduction.kept_lane(found.value, found.n, lane, part, 1)
        before: list[Stmt] = []
        if self.parts > 1:
            parts = [
                Buffer(f"part{len(self._shared) + k}", t, (THREADS,), Space.SHARED)
                for k, t in enumerate(reduction.types)
            ]
            self._shared += parts
            body += [Store(b, (thread,), x) for b, x in zip(parts, total, strict=True)]
            body.append(Barrier("block"))
            each: list[Components] = []
            for k in range(self.parts):
                at = (thread + k * self.columns,)
                lets, names = reduction.bind(tuple(Load(b, at) for b in parts), "part")
                before += lets
                each.append(names)
            total = reduction.tree(each)
        stores = [
            Store(b, (lane * self.kept + place,), x) for b, x in zip(held, total, strict=True)
        ]
        return [*body, If(inside, (*before, *stores))]

    def _joined(self, s: Reduce, held: Sequence[Buffer], place: Var) -> list[Stmt]:
        """Binds the results of a column from its kept lanes."""
        reduction = ThreadReduction([r.dtype for r in s.results], s.monoid)
        body: list[Stmt] = []
        lanes: list[Components] = []
        for k in range(KEEP):
            lets, names = reduction.bind(
                tuple(Load(b, (place + k * self.kept,)) for b in held), "lane"
            )
            body += lets
            lanes.append(names)
        results = zip(s.results, reduction.halves(lanes), strict=True)
        return [*body, *(Let(r, v) for r, v in results)]
