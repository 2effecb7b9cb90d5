"""Reductions of a length that only a call brings, in the documented order (`ir/order.py`).

As `passes/reduction.py`, for one CPU thread, where the number of elements is an expression: all
chunks but the last one are whole, in the last one the lanes that no element reaches are neutral.

* `reduce_row`: the sequence runs along the vector;
* `reduce_column`: every lane has a sequence of its own, the elements of a chunk are added to the
  lanes of the order as they come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Var, apply, const, maximum, minimum, select
from pyc.ir.loops import Alloc, Buffer, Carry, For, If, Kind, Reduce, Space, Stmt
from pyc.ir.order import CHUNK, KEEP, LANES
from pyc.ir.visit import Rewriter
from pyc.passes.elements import Components
from pyc.passes.reduction import ROWS, AcrossLanes, Counter, bind, loads, stores

AT_ONCE = 4
"""Vectors of lanes that are folded at once over the rows of a chunk that is not whole."""
LEVELS = 34
"""Levels of a counter: 2^34 chunks are more elements than there is memory for."""


class Locals:
    """Buffers of one thread or lane, which stand around the statements that use them."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []

    def allocate(self, name: str, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        """A new buffer."""
        self.buffers.append(Buffer(name, dtype, shape, Space.STACK, alignment=64))
        return self.buffers[-1]

    def around(self, body: Sequence[Stmt]) -> list[Stmt]:
        """The statements within the buffers."""
        inner = tuple(body)
        for b in reversed(self.buffers):
            inner = (Alloc(b, inner),)
        return list(inner)


class Line:
    """The elements of a reduction over one variable, of n elements."""

    def __init__(self, reduce: Reduce, n: Expr) -> None:
        ((self._var, _),) = reduce.domain
        self._values = reduce.values
        self.n = n

    def at(self, position: Expr) -> Components:
        """The components at a position."""
        return Rewriter(variables={self._var: position}).exprs(self._values)


class _Row(AcrossLanes):
    """A sequence along the vector."""

    def of_line(self, results: Sequence[Var], line: Line) -> list[Stmt]:
        """Statements that bind `results` to the reduction of a line."""
        lanes = self.buffers("lanes", KEEP)
        levels = self.buffers("level", LEVELS * KEEP)
        folded = self.buffers("rest", LANES)
        n, c, lane = line.n, Var("c"), Var("l")
        if len(self.types) > 1:
            return self._of_pairs(results, line, lanes, levels, folded)
        full = apply("quotient", n, const(CHUNK))
        body, pieces = self._rows_of(line, c * CHUNK, const(ROWS), lane, LANES // self.width)
        pieces = self._halved(pieces, LANES // self.width, KEEP // self.width)
        body += self._counted(levels, pieces, c, lane)
        whole = For(c, full, Kind.SERIAL, (For(lane, self.width, Kind.VECTOR, tuple(body)),))
        base = full * CHUNK
        rest = n - base
        count = full + select(rest > 0, const(1), const(0))

        def counted(place: Expr) -> list[Stmt]:
            return self.merge(levels, lambda k: k * KEEP + place, full, loads(folded, place))

        def gathered(place: Expr) -> list[Stmt]:
            body, total = self.collect(levels, lambda k: k * KEEP + place, count)
            return [*body, *stores(lanes, place, total)]

        def copied(place: Expr) -> list[Stmt]:
            return stores(lanes, place, loads(folded, place))

        kept = const(KEEP)
        several = [If(rest > 0, (self._vectors(kept, counted),)), self._vectors(kept, gathered)]
        return [
            whole,
            If((rest > 0) | full.equal(0), tuple(self._rest(line, folded, base, rest))),
            If(full.equal(0), (self._vectors(kept, copied),), tuple(several)),
            *self.finish(results, lanes),
        ]

    def _of_pairs(
        self,
        results: Sequence[Var],
        line: Line,
        lanes: Sequence[Buffer],
        levels: Sequence[Buffer],
        folded: Sequence[Buffer],
    ) -> list[Stmt]:
        """The same where an element is more than one number: LANES of them are more than there are
        registers, and what combines them is long, so all chunks have the code of the last one."""
        c, kept = Var("c"), const(KEEP)
        count = maximum(apply("quotient", line.n + (CHUNK - 1), const(CHUNK)), 1)
        size = minimum(const(CHUNK), line.n - c * CHUNK)

        def counted(place: Expr) -> list[Stmt]:
            return self.merge(levels, lambda k: k * KEEP + place, c, loads(folded, place))

        def gathered(place: Expr) -> list[Stmt]:
            body, total = self.collect(levels, lambda k: k * KEEP + place, count)
            return [*body, *stores(lanes, place, total)]

        def copied(place: Expr) -> list[Stmt]:
            return stores(lanes, place, loads(folded, place))

        several = If(count > 1, (self._vectors(kept, counted),))
        chunk = (*self._rest(line, folded, c * CHUNK, size), several)
        return [
            For(c, count, Kind.SERIAL, chunk),
            If(count > 1, (self._vectors(kept, gathered),), (self._vectors(kept, copied),)),
            *self.finish(results, lanes),
        ]

    def _vectors(self, count: Expr, each: Callable[[Expr], list[Stmt]]) -> For:
        """What each does at all places below `count`, a vector of them after the other."""
        p, lane = Var("p"), Var("l")
        vector = For(lane, self.width, Kind.VECTOR, tuple(each(p * self.width + lane)))
        turns = apply("quotient", count + (self.width - 1), const(self.width))
        return For(p, turns, Kind.SERIAL, (vector,))

    def _rows_of(
        self, line: Line, base: Expr, rows: Expr, lane: Expr, vectors: int
    ) -> tuple[list[Stmt], list[Components]]:
        """The left folds of the lanes of some vectors, from `lane` on, over some rows of LANES
        elements, all at once."""
        j = Var("j")
        carries: list[Carry] = []
        ends: list[Components] = []
        for p in range(vectors):
            value = line.at(base + (j * LANES + (lane + p * self.width)))
            before, after = self.names(f"a{p}_"), self.names(f"e{p}_")
            columns = zip(
                before, self.neutral, self.monoid.combine(before, value), after, strict=True
            )
            carries += [Carry(v, i, following, r) for v, i, following, r in columns]
            ends.append(after)
        return [For(j, rows, Kind.SERIAL, (), tuple(carries))], ends

    def _rest(self, line: Line, folded: Sequence[Buffer], base: Expr, rest: Expr) -> list[Stmt]:
        """Fills the first KEEP of LANES lanes with those of a chunk of `rest` elements."""
        rows, lane, g = apply("quotient", rest, const(LANES)), Var("l"), Var("g")
        vectors = min(AT_ONCE, LANES // self.width)
        first = g * (vectors * self.width) + lane
        body, pieces = self._rows_of(line, base, rows, first, vectors)
        for p, total in enumerate(pieces):
            body += stores(folded, first + p * self.width, total)
        groups = For(
            *(g, LANES // (vectors * self.width), Kind.SERIAL),
            (For(lane, self.width, Kind.VECTOR, tuple(body)),),
        )
        start = rows * LANES
        tail = rest - start

        def add(place: Expr) -> list[Stmt]:
            value = line.at(base + start + place)
            total = self.monoid.combine(loads(folded, place), value)
            return [If(place < tail, tuple(stores(folded, place, total)))]

        halving = Var("h")
        width = const(LANES // 2) >> halving
        there = minimum(width, maximum(rest - width, 0))
        halves = self._vectors(there, partial(self._met, folded, width))
        steps = (LANES // KEEP).bit_length() - 1
        return [
            groups,
            self._vectors(tail, add),
            For(halving, steps, Kind.SERIAL, (halves,)),
        ]

    def _met(self, folded: Sequence[Buffer], width: Expr, place: Expr) -> list[Stmt]:
        """One of the halves steps."""
        total = self.monoid.combine(loads(folded, place), loads(folded, place + width))
        return stores(folded, place, total)

    def _counted(
        self, levels: Sequence[Buffer], kept: Sequence[Components], number: Expr, lane: Var
    ) -> list[Stmt]:
        """The KEEP lanes of a chunk, added to the counter."""
        body: list[Stmt] = []
        for q, total in enumerate(kept):
            body += self.merge(levels, self._at(q, lane), number, total)
        return body


class _Column(Counter):
    """A sequence in one lane."""

    def of_line(self, results: Sequence[Var], line: Line) -> list[Stmt]:
        """Statements that bind `results` to the reduction of a line."""
        lanes = self.buffers("lane", LANES)
        levels = self.buffers("level", LEVELS * KEEP)
        n, c, q = line.n, Var("c"), Var("q")
        count = maximum(apply("quotient", n + (CHUNK - 1), const(CHUNK)), 1)
        several = count > 1
        size = minimum(const(CHUNK), n - c * CHUNK)
        blank = select(several, const(KEEP), const(1))
        merged = self.merge(levels, lambda k: k * KEEP + q, c, loads(lanes, q))
        chunks = For(
            *(c, count, Kind.SERIAL),
            (
                *self._chunk(line, lanes, c * CHUNK, size, blank),
                If(several, (For(q, KEEP, Kind.SERIAL, tuple(merged)),)),
            ),
        )
        kept = Var("q")
        inner, total = self.collect(levels, lambda k: k * KEEP + kept, count)
        gather = For(kept, KEEP, Kind.SERIAL, (*inner, *stores(lanes, kept, total)))
        left = select(several, const(KEEP), n)
        halves = self._halves(lanes, KEEP // 2, 1, left)
        return [chunks, If(several, (gather,)), *halves, *bind(results, loads(lanes, const(0)))]

    def _chunk(
        self, line: Line, lanes: Sequence[Buffer], base: Expr, size: Expr, blank: Expr
    ) -> list[Stmt]:
        """Fills the lanes that a chunk leaves of the first KEEP; the first `blank` of them are
        neutral where no element reaches them."""
        k, first, j, more = Var("k"), Var("l"), Var("j"), Var("l")
        neutral = For(k, blank, Kind.SERIAL, tuple(stores(lanes, k, self.neutral)))
        start = For(
            *(first, minimum(const(LANES), size), Kind.SERIAL),
            tuple(stores(lanes, first, line.at(base + first))),
        )
        place = j * LANES + more + LANES
        total = self.monoid.combine(loads(lanes, more), line.at(base + place))
        row = minimum(const(LANES), size - (j * LANES + LANES))
        inner = For(more, row, Kind.SERIAL, tuple(stores(lanes, more, total)))
        rows = apply("quotient", maximum(size - 1, 0), const(LANES))
        rest = For(j, rows, Kind.SERIAL, (inner,))
        return [neutral, start, rest, *self._halves(lanes, LANES // 2, KEEP, size)]

    def _halves(self, lanes: Sequence[Buffer], width: int, keep: int, size: Expr) -> list[Stmt]:
        """The halves step, of the lanes that elements have reached, until `keep` are left."""
        body: list[Stmt] = []
        while width >= keep:
            k = Var("k")
            total = self.monoid.combine(loads(lanes, k), loads(lanes, k + width))
            there = minimum(const(width), maximum(size - width, 0))
            body.append(For(k, there, Kind.SERIAL, tuple(stores(lanes, k, total))))
            width //= 2
        return body


def reduce_row(reduce: Reduce, n: Expr, width: int, own: Locals) -> list[Stmt]:
    """Statements that bind the results of a reduction over one variable of extent n, along which
    its loads are contiguous, in vectors of up to `width` lanes. own: gets the buffers they need."""
    types = tuple(r.dtype for r in reduce.results)
    return _Row(types, reduce.monoid, own.allocate, width).of_line(reduce.results, Line(reduce, n))


def reduce_column(reduce: Reduce, n: Expr, own: Locals) -> list[Stmt]:
    """The same in one lane of a vector, each of which has a sequence of its own."""
    types = tuple(r.dtype for r in reduce.results)
    return _Column(types, reduce.monoid, own.allocate).of_line(reduce.results, Line(reduce, n))
