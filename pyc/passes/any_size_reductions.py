"""Reductions of any size on targets with blocks, in the documented order (`ir/order.py`).

Takes the loops of a logical kernel with one reduction, their extents as expressions over sizes, and
how the work is shared (`ir/shares.py`), and returns the kernels: a warp for each row, or a thread
for each column; where these are few, parts of them, and a second kernel that joins the parts. In
how many parts a result is comes with the sizes; so far as chunks go that no element reaches, they
are neutral.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.ir.expr import Expr, Load, Shuffle, Var, apply, const, maximum, minimum
from pyc.ir.loops import Barrier, Body, Buffer, For, If, Kind, Let, Reduce, Stmt, Store
from pyc.ir.order import CHUNK, KEEP, LANES
from pyc.ir.shares import MOST_PARTS, WALKS, Shares
from pyc.passes.any_size_lines import Line
from pyc.passes.element_blocks import THREADS
from pyc.passes.index import Simplifier
from pyc.passes.nest import Loop
from pyc.passes.reduction_blocks import ROWS, Components, ThreadReduction
from pyc.passes.row_chunks import PER_ROW, WARP, RowChunks, surrounded

JOINS = 16
"""Warps of a block that joins the parts of a row: each half of them takes as many parts."""
_LONGEST = 1 << 40
"""More elements than a row can have."""


class Reductions:
    """The kernels of a reduction. loops: over its results; extents: theirs; core: what is done for
    one result; n: the length; parts: the size that says how many parts a result has."""

    def __init__(
        self,
        loops: Sequence[Loop],
        extents: Sequence[Expr],
        core: Body,
        n: Expr,
        shared: Shares,
        parts: Var,
    ) -> None:
        self.loops = loops
        self.extents = extents
        self.core = core
        self.n = n
        self.each = shared.each
        self.in_parts = shared.parts > 0
        self.parts = parts
        (self.reduce,) = [s for s in core if isinstance(s, Reduce)]
        self.types = tuple(r.dtype for r in self.reduce.results)
        size = shared.scratch if len(loops) == 1 else shared.column_scratch
        self.scratch = [
            Buffer(f"part{k}", t, (size,), role="inout")
            for k, t in enumerate(self.types if self.in_parts else ())
        ]
        at = core.index(self.reduce)
        self.before, self.after = core[:at], core[at + 1 :]

    def kernels(self) -> list[list[Stmt]]:
        """The bodies: one, or that of the parts and the one that joins them."""
        if len(self.loops) == 1:
            return [self._row_parts(), self._row_join()] if self.in_parts else [self._rows()]
        return [self._column_parts(), self._column_join()] if self.in_parts else [self._columns()]

    def _reduction(self) -> ThreadReduction:
        return ThreadReduction(self.types, self.reduce.monoid)

    # --- rows -------------------------------------------------------------------------------------

    def _rows(self) -> list[Stmt]:
        """A warp for each row."""
        chunks = _AnyRow(self.core, self.n, self.each)
        block, warp, thread, place = Var("block"), Var("warp"), Var("thread"), Var("row")
        body, lanes, around = chunks.walked(const(0), thread)
        body += chunks.finish(self.reduce.results, lanes, thread)
        whole = (
            Let(self.loops[0].var, place),
            *self.before,
            *around((*body, *_once(thread.equal(0), self.after))),
        )
        (rows,) = self.extents
        blocks = apply("quotient", rows + (WALKS - 1), const(WALKS))
        inner = (Let(place, block * WALKS + warp), If(place < rows, whole))
        return _launch(block, blocks, warp, WALKS, thread, inner, ())

    def _row_parts(self) -> list[Stmt]:
        """A block for each part of a row, whose kept lanes go to memory."""
        chunks = _AnyRow(self.core, self.n, self.each)
        block, warp, thread, number = Var("block"), Var("warp"), Var("thread"), Var("number")
        body, lanes, around = chunks.walked((number * WALKS + warp) * self.each, thread)
        shared = chunks.share(WALKS * KEEP)
        body += [chunks.to_memory(lanes, thread, shared, warp * KEEP), Barrier("block")]
        joined, total = chunks.together(shared, WALKS, thread)
        stores = tuple(
            Store(b, (block * KEEP + thread,), x) for b, x in zip(self.scratch, total, strict=True)
        )
        body += [*joined, If(warp.equal(0) & (thread < KEEP), stores)]
        (rows,) = self.extents
        inner = (
            Let(self.loops[0].var, apply("quotient", block, self.parts)),
            Let(number, apply("remainder", block, self.parts)),
            *self.before,
            *around(tuple(body)),
        )
        return _launch(block, rows * self.parts, warp, WALKS, thread, inner, shared)

    def _row_join(self) -> list[Stmt]:
        """A block for each row, half a warp for as many of its parts."""
        chunks, reduction = _AnyRow(self.core, self.n, self.each), self._reduction()
        block, warp, thread = Var("block"), Var("warp"), Var("thread")
        groups = 2 * JOINS
        lane = apply("remainder", thread, const(KEEP))
        group = warp * 2 + apply("quotient", thread, const(KEEP))

        def part(number: Expr) -> Components:
            at = (block * self.parts + number) * KEEP + lane
            return tuple(Load(b, (at,)) for b in self.scratch)

        size = MOST_PARTS // groups
        body, total = reduction.parts(part, group * size, size, self.parts)
        lets, total = reduction.bind(total, "part")
        shared = chunks.share(groups * KEEP)
        at = (group * KEEP + lane,)
        body += [*lets, *(Store(b, at, x) for b, x in zip(shared, total, strict=True))]
        body.append(Barrier("block"))
        body += chunks.joined(self.reduce.results, shared, groups, thread)
        body += _once(thread.equal(0) & warp.equal(0), self.after)
        inner = (Let(self.loops[0].var, block), *self.before, *body)
        return _launch(block, self.extents[0], warp, JOINS, thread, inner, shared)

    # --- columns ----------------------------------------------------------------------------------

    def _columns(self) -> list[Stmt]:
        """A thread for each column."""
        reduction = self._reduction()
        body, total = reduction.nested(
            (1, 2, 4, 8), const(0), lambda lane: self._kept_lane(reduction, lane, const(0))
        )
        body += [Let(r, v) for r, v in zip(self.reduce.results, total, strict=True)]
        place = Var("place")
        inner = [*self._at(place), *self.before, *body, *self.after]
        return _threads(place, self.extents[0] * self.extents[1], inner)

    def _column_parts(self) -> list[Stmt]:
        """A thread for each column, kept lane and part, columns side by side."""
        reduction = self._reduction()
        place, column, rest = Var("place"), Var("column"), Var("rest")
        columns = self.extents[0] * self.extents[1]
        lane = apply("remainder", rest, const(KEEP))
        first = apply("quotient", rest, const(KEEP)) * self.each
        body, total = self._kept_lane(reduction, lane, first)
        inner = [
            Let(column, apply("remainder", place, columns)),
            Let(rest, apply("quotient", place, columns)),
            *self._at(column),
            *self.before,
            *body,
            *(Store(b, (place,), x) for b, x in zip(self.scratch, total, strict=True)),
        ]
        return _threads(place, columns * self.parts * KEEP, inner)

    def _column_join(self) -> list[Stmt]:
        """Half a warp for each column: a thread joins the parts of a kept lane."""
        reduction = self._reduction()
        block, warp, thread = Var("block"), Var("warp"), Var("thread")
        number, column, lane = Var("number"), Var("column"), Var("lane")
        columns = self.extents[0] * self.extents[1]

        def part(number: Expr) -> tuple[list[Stmt], Components]:
            there = minimum(number, self.parts - 1)
            at = (there * KEEP + lane) * columns + column
            found = tuple(Load(b, (at,)) for b in self.scratch)
            return [], reduction.pick(number < self.parts, found)

        levels = [1 << k for k in reversed(range(MOST_PARTS.bit_length() - 1))]
        body, total = reduction.nested(levels, const(0), part, lambda at: at < self.parts)
        for distance in (8, 4, 2, 1):  # every thread of the warp is at work here
            other = tuple(Shuffle(x, thread, distance) for x in total)
            lets, total = reduction.bind(reduction.monoid.combine(total, other), "half")
            body += lets
        body += [Let(r, v) for r, v in zip(self.reduce.results, total, strict=True)]
        beside = WARP // KEEP
        inner = (
            Let(number, (block * WALKS + warp) * beside + apply("quotient", thread, const(KEEP))),
            Let(lane, apply("remainder", thread, const(KEEP))),
            Let(column, minimum(number, columns - 1)),
            *self._at(column),
            *self.before,
            *body,
            *_once(lane.equal(0) & (number < columns), self.after),
        )
        each = WALKS * beside
        blocks = apply("quotient", columns + (each - 1), const(each))
        return _launch(block, blocks, warp, WALKS, thread, inner, ())

    def _at(self, place: Expr) -> list[Stmt]:
        """Binds the variables of the loops to a row-major position."""
        outer, inner = self.loops
        n = self.extents[1]
        return [
            Let(outer.var, apply("quotient", place, n)),
            Let(inner.var, apply("remainder", place, n)),
        ]

    def _kept_lane(
        self, reduction: ThreadReduction, lane: Expr, first: Expr
    ) -> tuple[list[Stmt], Components]:
        """A kept lane over the chunks of a walk."""
        line = Line(self.reduce, self.n)
        levels = [CHUNK << k for k in reversed(range(self.each.bit_length() - 1))]

        def rows(start: Expr) -> tuple[list[Stmt], Components]:
            rest = apply("quotient", self.n + (LANES - 1) - start, const(LANES))
            count = maximum(minimum(rest, ROWS), 0)
            return reduction.fold(count, lambda j: ([], line.at(start + j * LANES)))

        start = first * CHUNK + lane
        return reduction.nested([*levels, 16, 32, 64], start, rows, lambda at: at < self.n)


class _AnyRow(RowChunks):
    """The chunks of a row of n elements, walks of `each` of them."""

    def __init__(self, core: Body, n: Expr, each: int) -> None:
        simplify = Simplifier()
        super().__init__(simplify, core, (), _LONGEST - 1, 1, 1)
        self.length = n
        self.each = each
        self.covered = 0  # a walk may end beyond the row
        (self.region,) = self.regions
        self.reduction = ThreadReduction([r.dtype for r in self.region.results], self.region.monoid)

    def walked(
        self, first: Expr, thread: Var
    ) -> tuple[list[Stmt], list[Components], Callable[[Body], Body]]:
        """The kept lanes of the walk from chunk `first` on."""
        return self._kept(self.region, self.reduction, first, self.each, thread)

    def finish(self, results: Sequence[Var], lanes: list[Components], thread: Var) -> list[Stmt]:
        """Binds the results of a row that one warp has walked."""
        return self._finish(self.reduction, results, lanes, thread)

    def share(self, size: int) -> list[Buffer]:
        """Memory of a block for a piece of each component."""
        return self._share(self.reduction, size)

    def to_memory(
        self, lanes: list[Components], thread: Var, buffers: Sequence[Buffer], start: Expr
    ) -> Stmt:
        """Stores the kept lanes of a warp."""
        return self._to_memory(lanes, thread, buffers, start)

    def together(
        self, buffers: Sequence[Buffer], count: int, thread: Var
    ) -> tuple[list[Stmt], Components]:
        """A kept lane over so many vectors in shared memory."""
        return self._together(self.reduction, buffers, count, thread)

    def joined(
        self, results: Sequence[Var], buffers: Sequence[Buffer], count: int, thread: Var
    ) -> list[Stmt]:
        """Binds the results to the reduction of so many vectors in shared memory."""
        return self._joined(self.reduction, results, buffers, count, thread)

    def _reached(self, chunk: Expr) -> Expr:
        return chunk * CHUNK < self.length

    def _walk(
        self,
        chunk: Expr,
        thread: Expr,
        each: Callable[[Expr, Expr, Expr], Body],
        slot: int = 0,
        part: range = range(ROWS),
    ) -> list[Stmt]:
        start = chunk * CHUNK

        def pieces(guarded: bool) -> Body:
            found: list[Stmt] = []
            for j in part:
                for q in range(PER_ROW):
                    place = start + thread + (j * LANES + q * WARP)
                    body = each(place, const(slot + j * PER_ROW + q), const(q))
                    found += [If(place < self.length, body)] if guarded else body
            return tuple(found)

        return [If(start + CHUNK <= self.length, pieces(False), pieces(True))]


def _once(alone: Expr, after: Body) -> list[Stmt]:
    """What follows a reduction, stored by one thread."""
    return [s if isinstance(s, Let) else If(alone, (s,)) for s in after]


def _launch(
    block: Var,
    blocks: Expr,
    warp: Var,
    warps: int,
    thread: Var,
    body: Body,
    shared: Sequence[Buffer],
) -> list[Stmt]:
    inner: Body = (For(warp, warps, Kind.WARP, (For(thread, WARP, Kind.THREAD, body),)),)
    return [For(block, blocks, Kind.GRID, surrounded(shared, inner))]


def _threads(place: Var, total: Expr, body: Sequence[Stmt]) -> list[Stmt]:
    """A thread for each place < total."""
    block, thread = Var("block"), Var("thread")
    blocks = apply("quotient", total + (THREADS - 1), const(THREADS))
    inner = (Let(place, block * THREADS + thread), If(place < total, tuple(body)))
    return [For(block, blocks, Kind.GRID, (For(thread, THREADS, Kind.THREAD, inner),))]


__all__ = ["Reductions"]
