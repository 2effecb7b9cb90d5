"""The documented reduction order (`ir/order.py`) as loops, for one CPU thread or one GPU thread.

Takes what `Reduce` says and returns statements that bind the same results, bit for bit:

* `AcrossLanes`: the sequence runs along the vector, so loads are contiguous. Vectors of a chunk
  meet in a binary counter of level buffers, the lanes meet by halves at the end. Long sequences can
  be cut into blocks of a power of two chunks (`block`, `join`): the counter of the blocks is the
  counter of the chunks, which is why the number of tasks cannot matter.
* `within_lane`: every lane reduces a sequence of its own: the lane numbers of the order are visited
  bit-reversed, so that the tree by halves is a binary counter too.

Level k of a counter holds the combination of 2^k vectors. Missing elements are neutral and merging
with the neutral element changes nothing, so ragged ends need no cases of their own.

Buffers come from `allocate`, which places them around the statements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Expr, Load, Shuffle, Var, apply, const, postorder, select
from pyc.ir.loops import Buffer, Carry, For, If, Kind, Let, Stmt, Store
from pyc.ir.order import CHUNK, LANES, MONOIDS, Monoid, neutral

ROWS = CHUNK // LANES
CHEAP = 4
"""Instructions per element up to which the rows of a chunk are unrolled."""
TINY = 8
"""Longest sequence written out as straight code."""
LEVELS = 44
"""Levels of a counter whose length is not known: 2^44 chunks."""

Components = tuple[Expr, ...]
Value = Callable[[Expr], Components]
"""The monoid components at a position of the sequence."""
Allocate = Callable[[str, DType, tuple[int, ...]], Buffer]
"""(name, dtype, shape) -> a buffer private to the thread (or lane) that runs the statements."""
At = Callable[[Expr], Expr]


def cost(values: Sequence[Expr]) -> int:
    """Instructions that computing `values` takes."""
    return sum(isinstance(e, Apply) for e in postorder(values))


def trailing_zeros(x: Expr) -> Expr:
    """The number of trailing zero bits of a positive i64."""
    return const(63) - apply("clz", x & -x)


def reversed_bits(q: Expr, bits: int) -> Expr:
    """The low `bits` (at most 8) bits of q < 2^bits in reversed order."""
    if bits <= 1:
        return q
    spread = (q * 0x0202020202) & 0x010884422010
    return apply("remainder", spread, const(1023)) >> (8 - bits)


class _Counter:
    """What both ways share: components of one monoid, folds and the binary counter."""

    def __init__(self, types: Sequence[DType], monoid: str, allocate: Allocate) -> None:
        self.types = tuple(types)
        self.monoid: Monoid = MONOIDS[monoid]
        self.neutral: Components = neutral(self.monoid, self.types)
        self._allocate = allocate

    def buffers(self, name: str, size: int) -> list[Buffer]:
        """One buffer of `size` elements per component."""
        return [self._allocate(f"{name}{k}", t, (size,)) for k, t in enumerate(self.types)]

    def names(self, prefix: str) -> tuple[Var, ...]:
        """A fresh variable per component."""
        return tuple(Var(f"{prefix}{k}", t) for k, t in enumerate(self.types))

    def loop(
        self,
        var: Var,
        extent: int | Expr,
        initial: Components,
        following: Callable[[Components], Components],
    ) -> tuple[For, Components]:
        """A serial loop that carries components; the loop and its results."""
        carried, results = self.names("a"), self.names("r")
        after = following(carried)
        columns = zip(carried, initial, after, results, strict=True)
        carries = tuple(Carry(v, i, n, r) for v, i, n, r in columns)
        return For(var, extent, Kind.SERIAL, (), carries), results

    def fold(self, value: Value, count: int | Expr) -> tuple[list[Stmt], Components]:
        """Left fold of value(0), ..., value(count - 1)."""
        if isinstance(count, int) and count > 0:
            total = value(const(0))
            if count == 1 or cost(total) <= CHEAP * len(self.types):
                for row in range(1, count):
                    total = self.monoid.combine(total, value(const(row)))
                return [], total
        j = Var("j")
        loop, total = self.loop(j, count, self.neutral, lambda a: self.monoid.combine(a, value(j)))
        return [loop], total

    def merge(
        self, levels: Sequence[Buffer], at: At, number: Expr, total: Components
    ) -> list[Stmt]:
        """Adds vector `number` to the counter: combines it with the full levels below and stores
        it one level up. at: level -> index."""
        full = trailing_zeros(number + 1)
        k = Var("k")
        loop, merged = self.loop(
            k, full, total, lambda a: self.monoid.combine(loads(levels, at(k)), a)
        )
        return [loop, *stores(levels, at(full), merged)]

    def collect(
        self, levels: Sequence[Buffer], at: At, count: int | Expr
    ) -> tuple[list[Stmt], Components]:
        """The value of a counter that took `count` > 0 vectors: its full levels, lowest first."""
        if isinstance(count, int):
            full = [k for k in range(count.bit_length()) if count >> k & 1]
            total = loads(levels, at(const(full[0])))
            for level in full[1:]:
                total = self.monoid.combine(loads(levels, at(const(level))), total)
            return [], total
        k = Var("k")
        lowest = trailing_zeros(count)
        is_full = ((count >> k) & 1).differs(0)
        slot = at(select(is_full, k, lowest))  # a level that is not full is never read

        def following(a: Components) -> Components:
            found = zip(loads(levels, slot), self.neutral, strict=True)
            return self.monoid.combine(tuple(select(is_full, x, e) for x, e in found), a)

        depth = const(64) - apply("clz", count)
        loop, total = self.loop(k, depth, self.neutral, following)
        return [loop], total

    def tree(self, values: Sequence[Components]) -> Components:
        """The lanes step over at most LANES values, the missing ones neutral."""
        lanes = list(values)
        width = LANES // 2
        while width:
            for k in range(min(width, max(len(lanes) - width, 0))):
                lanes[k] = self.monoid.combine(lanes[k], lanes[k + width])
            lanes = lanes[:width]
            width //= 2
        return lanes[0]


def loads(buffers: Sequence[Buffer], index: Expr) -> Components:
    """The components at `index`."""
    return tuple(Load(b, (index,)) for b in buffers)


def stores(buffers: Sequence[Buffer], index: Expr, values: Components) -> list[Stmt]:
    """Statements that store the components at `index`."""
    return [Store(b, (index,), v) for b, v in zip(buffers, values, strict=True)]


def bind(results: Sequence[Var], values: Components) -> list[Stmt]:
    """Results bound to values."""
    return [Let(r, v) for r, v in zip(results, values, strict=True)]


class AcrossLanes(_Counter):
    """Reduces along the vector, with vectors of `width` lanes (a power of two up to LANES)."""

    def __init__(self, types: Sequence[DType], monoid: str, allocate: Allocate, width: int) -> None:
        super().__init__(types, monoid, allocate)
        self.width = min(width, LANES)

    def reduce(self, results: Sequence[Var], value: Value, n: int) -> list[Stmt]:
        """Statements that bind `results` to the reduction of value(0 .. n)."""
        if n == 0:
            return bind(results, self.neutral)
        if n <= TINY:
            return bind(results, self.tree([value(const(k)) for k in range(n)]))
        lanes = self.buffers("lanes", LANES)
        chunks = -(-n // CHUNK)
        body = self.block(lanes, value, const(0), chunks, n)
        return [*body, *self.finish(results, lanes, min(n, LANES))]

    def finish(self, results: Sequence[Var], lanes: Sequence[Buffer], present: int) -> list[Stmt]:
        """The lanes step over `lanes`, of which the first `present` may not be neutral."""
        body: list[Stmt] = []
        present = -(-present // self.width) * self.width
        width = LANES // 2
        while width >= self.width:
            count = min(width, present - width)
            if count > 0:
                body += self._pieces(self._half(lanes, width), count // self.width)
                present = width
            width //= 2
        lane = Var("l")
        total = loads(lanes, lane)
        while width:
            total = self.monoid.combine(total, tuple(Shuffle(x, lane, width) for x in total))
            width //= 2
        body.append(For(lane, self.width, Kind.VECTOR, tuple(stores(lanes, lane, total))))
        return [*body, *bind(results, loads(lanes, const(0)))]

    def _half(self, lanes: Sequence[Buffer], width: int) -> Callable[[Expr], list[Stmt]]:
        def body(lane: Expr) -> list[Stmt]:
            pair = self.monoid.combine(loads(lanes, lane), loads(lanes, lane + width))
            return stores(lanes, lane, pair)

        return body

    def _pieces(self, body: Callable[[Expr], list[Stmt]], count: int, first: int = 0) -> list[Stmt]:
        """`body` over the lanes of `count` vectors from vector `first` on."""
        lane, p = Var("l"), Var("p")
        if count == 0:
            return []
        if count == 1:
            inner = tuple(body(lane + first * self.width if first else lane))
            return [For(lane, self.width, Kind.VECTOR, inner)]
        inner = tuple(body((p + first if first else p) * self.width + lane))
        return [For(p, count, Kind.SERIAL, (For(lane, self.width, Kind.VECTOR, inner),))]

    def block(
        self,
        lanes: Sequence[Buffer],
        value: Value,
        first: Expr,
        count: int | Expr,
        n: int,
    ) -> list[Stmt]:
        """Fills `lanes` with the combined vectors of the chunks [first, first + count) of a
        sequence of n elements; `first` is a multiple of a power of two that is >= count."""
        full, rest = divmod(n, CHUNK)
        if isinstance(count, int) and count == 1:
            return self._partial(lanes, value, rest) if rest else self._whole(lanes, value, first)
        levels = self.buffers("level", LEVELS * LANES)
        chunk = self.buffers("chunk", LANES) if rest else []
        c = Var("c")

        def at(lane: Expr) -> At:
            return lambda k: k * LANES + lane

        def add(lane: Expr) -> list[Stmt]:
            body, total = self._chunk(value, (first + c) * CHUNK + lane)
            return [*body, *self.merge(levels, at(lane), c, total)]

        def add_kept(number: Expr) -> Callable[[Expr], list[Stmt]]:
            return lambda lane: self.merge(levels, at(lane), number, loads(chunk, lane))

        every = LANES // self.width
        body: list[Stmt]
        if not rest:
            body = [For(c, count, Kind.SERIAL, tuple(self._pieces(add, every)))]
        elif isinstance(count, int):
            body = [For(c, full, Kind.SERIAL, tuple(self._pieces(add, every)))]
            body += self._partial(chunk, value, rest, full * CHUNK)
            body += self._pieces(add_kept(const(full)), every)
        else:
            ragged = (first + c).equal(full)
            last = (
                *self._partial(chunk, value, rest, full * CHUNK),
                *self._pieces(add_kept(c), every),
            )
            choose = If(ragged, last, tuple(self._pieces(add, every)))
            body = [For(c, count, Kind.SERIAL, (choose,))]

        def gather(lane: Expr) -> list[Stmt]:
            inner, total = self.collect(levels, at(lane), count)
            return [*inner, *stores(lanes, lane, total)]

        return [*body, *self._pieces(gather, every)]

    def join(self, lanes: Sequence[Buffer], vector: Value, count: int) -> list[Stmt]:
        """Fills `lanes` with the combination of `count` vectors; vector(k * LANES + lane) is lane
        `lane` of vector k."""
        every = LANES // self.width
        if count == 1:
            return self._pieces(lambda lane: stores(lanes, lane, vector(lane)), every)
        levels = self.buffers("joined", LEVELS * LANES)
        c = Var("c")

        def add(lane: Expr) -> list[Stmt]:
            total = vector(c * LANES + lane)
            return self.merge(levels, lambda k: k * LANES + lane, c, total)

        def gather(lane: Expr) -> list[Stmt]:
            inner, total = self.collect(levels, lambda k: k * LANES + lane, count)
            return [*inner, *stores(lanes, lane, total)]

        loop = For(c, count, Kind.SERIAL, tuple(self._pieces(add, every)))
        return [loop, *self._pieces(gather, every)]

    def _chunk(self, value: Value, base: Expr) -> tuple[list[Stmt], Components]:
        return self.fold(lambda j: value(base + j * LANES), ROWS)

    def _whole(self, lanes: Sequence[Buffer], value: Value, first: Expr) -> list[Stmt]:
        def add(lane: Expr) -> list[Stmt]:
            body, total = self._chunk(value, first * CHUNK + lane)
            return [*body, *stores(lanes, lane, total)]

        return self._pieces(add, LANES // self.width)

    def _partial(
        self, lanes: Sequence[Buffer], value: Value, rest: int, start: int = 0
    ) -> list[Stmt]:
        """Fills the present lanes of a chunk of `rest` < CHUNK elements from `start` on; where the
        rest is less than a row, lanes beyond the vectors touched are left alone if start is 0."""
        rows, tail = divmod(rest, LANES)
        every = LANES // self.width
        body: list[Stmt] = []

        def whole(lane: Expr) -> list[Stmt]:
            inner, total = self.fold(lambda j: value(start + j * LANES + lane), rows)
            return [*inner, *stores(lanes, lane, total)]

        def one(lane: Expr) -> Components:
            return value(lane + (start + rows * LANES))

        def add(lane: Expr) -> list[Stmt]:
            if not rows:
                return stores(lanes, lane, one(lane))
            return stores(lanes, lane, self.monoid.combine(loads(lanes, lane), one(lane)))

        if rows:
            body += self._pieces(whole, every)
        vectors, ragged = divmod(tail, self.width)
        body += self._pieces(add, vectors)
        if ragged:

            def masked(lane: Expr) -> list[Stmt]:
                before = [] if rows else stores(lanes, lane, self.neutral)
                return [*before, If(lane < tail, tuple(add(lane)))]

            body += self._pieces(masked, 1, vectors)
        untouched = every - vectors - (1 if ragged else 0)
        if not rows and start:
            body += self._pieces(
                lambda lane: stores(lanes, lane, self.neutral), untouched, every - untouched
            )
        return body


class WithinLane(_Counter):
    """Reduces in one lane or thread."""

    def reduce(self, results: Sequence[Var], value: Value, n: int) -> list[Stmt]:
        """Statements that bind `results` to the reduction of value(0 .. n)."""
        if n == 0:
            return bind(results, self.neutral)
        if n <= LANES and (n <= TINY or n * (cost(value(const(0))) + 1) <= 64):
            return bind(results, self.tree([value(const(k)) for k in range(n)]))
        lanes = min(LANES, 1 << (n - 1).bit_length())
        bits = lanes.bit_length() - 1
        halves = self.buffers("half", bits + 1)
        q, lane = Var("q"), Var("lane")
        inner, total = self._lane(value, lane, n)
        merged = self.merge(halves, lambda k: k, q, total)
        loop = For(q, lanes, Kind.SERIAL, (Let(lane, reversed_bits(q, bits)), *inner, *merged))
        return [loop, *bind(results, loads(halves, const(bits)))]

    def _lane(self, value: Value, lane: Expr, n: int) -> tuple[list[Stmt], Components]:
        """The lane's total over all chunks."""
        full, rest = divmod(n, CHUNK)

        def rows(start: int | Expr, count: int | Expr) -> tuple[list[Stmt], Components]:
            return self.fold(lambda j: value(lane + j * LANES + start), count)

        left: int | Expr = rest // LANES
        if rest % LANES:
            left = apply("quotient", const(rest + LANES - 1) - lane, const(LANES))
        if not full:
            return rows(0, left)
        if full == 1 and not rest:
            return rows(0, ROWS)
        levels = self.buffers("level", (full + 1).bit_length() + 1)
        c = Var("c")
        inner, total = rows(c * CHUNK, ROWS)
        merged = self.merge(levels, lambda k: k, c, total)
        body: list[Stmt] = [For(c, full, Kind.SERIAL, (*inner, *merged))]
        count = full
        if rest:
            inner, total = rows(full * CHUNK, left)
            body += [*inner, *self.merge(levels, lambda k: k, const(full), total)]
            count += 1
        end, total = self.collect(levels, lambda k: k, count)
        return [*body, *end], total
