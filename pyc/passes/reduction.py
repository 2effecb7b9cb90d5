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
from math import prod

from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Expr, Load, Shuffle, Var, apply, const, postorder, select
from pyc.ir.loops import Buffer, Carry, For, If, Kind, Let, Prefetch, Space, Stmt, Store
from pyc.ir.order import CHUNK, KEEP, LANES, MONOIDS, Monoid, neutral, several
from pyc.ir.visit import Rewriter
from pyc.passes.elements import Components, Elements, Found

ROWS = CHUNK // LANES
STRAIGHT = 3
"""Rows of LANES elements that are written out behind each other: the start and the end of a loop
take as long as so few steps."""
STRAIGHT_WORK = 16
"""Instructions per element, those of its index included, up to which they are."""
CHEAP = 4
"""Instructions per element up to which the rows of a chunk are unrolled."""
WAITING = 16
"""Vectors that may wait in registers for the lanes to meet."""
FAR = 1 << 20
"""Bytes of an array from which the order in which its lines are read counts."""
TINY = 8
"""Longest sequence written out as straight code."""
LEVELS = 44
"""Levels of a counter whose length is not known: 2^44 chunks."""

Value = Callable[[Expr], Components]
"""The monoid components at a position of the sequence."""
Allocate = Callable[[str, DType, tuple[int, ...]], Buffer]
"""(name, dtype, shape) -> a buffer private to the thread (or lane) that runs the statements."""
At = Callable[[Expr], Expr]
Pieces = tuple[list[Stmt], list[Components]]
"""Statements, and the vectors that they leave."""


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


class Counter:
    """What both ways share: components of one monoid, folds and the binary counter. types: of the
    components; of several reductions by this monoid side by side, of all of them."""

    def __init__(self, types: Sequence[DType], monoid: str, allocate: Allocate) -> None:
        self.types = tuple(types)
        self.monoid: Monoid = MONOIDS[monoid]
        if len(types) > self.monoid.components:
            self.monoid = several(self.monoid, len(types) // self.monoid.components)
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
    """Statements that store the components at `index`; all are computed before any is stored."""
    if len(buffers) == 1:
        return [Store(buffers[0], (index,), values[0])]
    names = [Var("x", v.dtype) for v in values]
    pairs = zip(buffers, names, strict=True)
    return [*bind(names, values), *(Store(b, (index,), v) for b, v in pairs)]


def bind(results: Sequence[Var], values: Components) -> list[Stmt]:
    """Results bound to values."""
    return [Let(r, v) for r, v in zip(results, values, strict=True)]


class AcrossLanes(Counter):
    """Reduces along the vector, with vectors of `width` lanes (a power of two up to KEEP)."""

    def __init__(
        self,
        types: Sequence[DType],
        monoid: str,
        allocate: Allocate,
        width: int,
        *,
        looped: bool = False,
    ) -> None:
        """looped: the elements take long: there is code for one vector of them, in a loop."""
        super().__init__(types, monoid, allocate)
        self.width = min(width, KEEP)
        self.looped = looped

    def reduce(self, results: Sequence[Var], elements: Elements) -> list[Stmt]:
        """Statements that bind `results` to the reduction of all elements."""
        n = elements.n
        if n == 0:
            return bind(results, self.neutral)
        if n <= TINY:
            found = [elements.at(const(k)) for k in range(n)]
            body = [s for inside, _ in found for s in inside]
            return [*body, *bind(results, self.tree([v for _, v in found]))]
        lanes = self.buffers("lanes", KEEP)
        if n > CHUNK:
            body = self.block(lanes, elements, const(0), -(-n // CHUNK))
            return [*body, *self.finish(results, lanes)]
        lane = Var("l")
        body, total = self.vector(elements, lane)
        present = min(self.width, 1 << (n - 1).bit_length())
        body += stores(lanes, lane, self._shuffled(total, lane, present))
        vector = For(lane, self.width, Kind.VECTOR, tuple(body))
        return [vector, *bind(results, loads(lanes, const(0)))]

    def vector(self, elements: Elements, lane: Var) -> Found:
        """One vector of a sequence of one chunk at most, whose lanes are still to meet by
        halves."""
        body, pieces = self._chunk(elements, const(0), elements.n, lane)
        (total,) = self._halved(pieces, LANES // self.width, 1)
        return body, total

    def finish(self, results: Sequence[Var], lanes: Sequence[Buffer]) -> list[Stmt]:
        """The lanes step over KEEP `lanes`."""
        lane = Var("l")
        pieces = [loads(lanes, lane + p * self.width) for p in range(KEEP // self.width)]
        (total,) = self._halved(pieces, KEEP // self.width, 1)
        total = self._shuffled(total, lane, self.width)
        vector = For(lane, self.width, Kind.VECTOR, tuple(stores(lanes, lane, total)))
        return [vector, *bind(results, loads(lanes, const(0)))]

    def block(
        self, lanes: Sequence[Buffer], elements: Elements, first: Expr, count: int | Expr
    ) -> list[Stmt]:
        """Fills the KEEP `lanes` with the combined vectors of the chunks [first, first + count) of
        more than one; `first` is a multiple of a power of two >= count."""
        full, rest = divmod(elements.n, CHUNK)
        everything = count == full + (1 if rest else 0)
        levels = self.buffers("level", LEVELS * KEEP)
        c = Var("c")

        def merged(chunk: Expr, number: Expr, size: int) -> list[Stmt]:
            lane = Var("l")
            body, pieces = self._chunk(elements, chunk * CHUNK, size, lane)
            kept = self._halved(pieces, LANES // self.width, KEEP // self.width)
            kept += [self.neutral] * (KEEP // self.width - len(kept))
            for q, total in enumerate(kept):
                body += self.merge(levels, self._at(q, lane), number, total)
            return [For(lane, self.width, Kind.VECTOR, tuple(body))]

        each = merged(first + c, c, CHUNK)
        if everything:
            body: list[Stmt] = [For(c, full, Kind.SERIAL, tuple(each))]
            if rest:
                body += merged(const(full), const(full), rest)
        else:
            if rest:
                last = merged(const(full), c, rest)
                each = [If((first + c).equal(full), tuple(last), tuple(each))]
            body = [For(c, count, Kind.SERIAL, tuple(each))]
        return [*body, *self._gather(lanes, levels, count)]

    def join(self, lanes: Sequence[Buffer], vector: Value, count: int) -> list[Stmt]:
        """Fills `lanes` with the combination of `count` vectors of KEEP lanes; vector(k * KEEP + l)
        is lane l of vector k."""
        levels = self.buffers("joined", LEVELS * KEEP)
        c, lane = Var("c"), Var("l")
        body: list[Stmt] = []
        for q in range(KEEP // self.width):
            total = vector(c * KEEP + q * self.width + lane)
            body += self.merge(levels, self._at(q, lane), c, total)
        inner = For(lane, self.width, Kind.VECTOR, tuple(body))
        loop = For(c, count, Kind.SERIAL, (inner,))
        return [loop, *self._gather(lanes, levels, count)]

    def copied(self, to: Sequence[Buffer], start: Expr, lanes: Sequence[Buffer]) -> list[Stmt]:
        """Stores KEEP `lanes` in other buffers from `start` on."""
        lane = Var("l")
        body: list[Stmt] = []
        for q in range(KEEP // self.width):
            place = lane + q * self.width
            body += stores(to, start + place, loads(lanes, place))
        return [For(lane, self.width, Kind.VECTOR, tuple(body))]

    # --- pieces -----------------------------------------------------------------------------------

    def _halved(self, pieces: list[Components], slots: int, keep: int) -> list[Components]:
        """The halves step over vectors, `slots` of them with the missing ones neutral, until `keep`
        are left."""
        slots //= 2
        while slots >= keep:
            for k in range(min(slots, max(len(pieces) - slots, 0))):
                pieces[k] = self.monoid.combine(pieces[k], pieces[k + slots])
            pieces = pieces[:slots]
            slots //= 2
        return pieces

    def _shuffled(self, total: Components, lane: Var, lanes: int) -> Components:
        """The halves step over the first `lanes` of a vector; the result is in lane 0."""
        distance = lanes // 2
        while distance:
            moved = tuple(Shuffle(x, lane, distance) for x in total)
            total = self.monoid.combine(total, moved)
            distance //= 2
        return total

    def _chunk(self, elements: Elements, base: Expr, size: int, lane: Var) -> Pieces:
        """The vectors of the lanes of a chunk with `size` elements from `base` on, those that no
        element reaches left out: LANES at a time are carried over the rows."""
        rows, tail = divmod(size, LANES)
        body: list[Stmt] = []
        pieces: list[Components] = []
        done = 0
        if self.looped:
            done = tail // self.width
            body, pieces = self._in_loops(elements, base, rows, done, lane)
        elif rows == 1:
            body, pieces = self._row(elements, base, lane, -(-tail // self.width))
        elif rows:
            body, pieces = self._rows(elements, base, rows, lane)
        last = -(-tail // self.width)
        # With one pair at most in the first step of the tree, it reads them nearly in order.
        mixed = last > LANES // self.width // 2 + 1
        for p in range(done, last):
            place = lane + p * self.width
            position = base + (place + rows * LANES)
            if (p + 1) * self.width <= tail:
                inside, value = elements.at(position)
            else:
                inside, value = elements.up_to(position, place < tail, self.neutral)
            body += inside
            if rows:
                pieces[p] = self._in_order(body, self.monoid.combine(pieces[p], value))
            else:
                pieces.append(self._in_order(body, value))
                if p and mixed and pieces[-1] is not value:
                    body += self._waiting(value, lane)
        return body, pieces

    def _in_order(self, body: list[Stmt], values: Components) -> Components:
        """The components of a vector as they come in memory, where registers can wait for the
        lanes to meet: the tree would read its lines in the order in which their lanes meet, which
        no processor foresees."""
        if LANES // self.width * len(values) > WAITING:
            return values
        names = self.names("p")
        body += [Let(n, v) for n, v in zip(names, values, strict=True)]
        return names

    def _waiting(self, values: Components, lane: Var) -> list[Stmt]:
        """Asks for the lines of loaded vectors that wait for others to be loaded. A load that is
        used once, as sums do and maxima do not, becomes part of the instruction that uses it, in
        whatever order of memory that comes: what asks stays where it is."""
        if self.monoid.idempotent:
            return []
        found: list[Stmt] = []
        first = Rewriter(variables={lane: const(0)})
        for e in values:
            if isinstance(e, Load) and not any(type(x) is Load for x in postorder(e.index)):
                b = e.buffer
                size = prod(n for n in b.shape if isinstance(n, int)) * b.dtype.itemsize
                if b.space is Space.GLOBAL and size >= FAR:
                    found.append(Prefetch(b, first.exprs(e.index), first=True))
        return found

    def _row(self, elements: Elements, base: Expr, lane: Var, met: int) -> Pieces:
        """The vectors of one row of lanes, of which the first `met` meet others of the chunk before
        the tree does."""
        body: list[Stmt] = []
        pieces: list[Components] = []
        for p in range(LANES // self.width):
            inside, value = elements.at(base + (lane + p * self.width))
            body += inside
            pieces.append(self._in_order(body, value))
            if p >= max(met, 1) and pieces[-1] is not value:
                body += self._waiting(value, lane)
        return body, pieces

    def _in_loops(
        self, elements: Elements, base: Expr, rows: int, longer: int, lane: Var
    ) -> Pieces:
        """The left folds of all lanes over whole rows, one vector of them after the other; those of
        the first vectors over one row more."""
        vectors = LANES // self.width if rows else longer
        kept = self.buffers("pieces", LANES)
        body: list[Stmt] = []
        for first, end, count in ((0, longer, rows + 1), (longer, vectors, rows)):
            if first == end:
                continue
            p = Var("p")
            place = (p + first) * self.width + lane
            inside, total = self._folded(elements, base + place, count)
            inside += stores(kept, place, total)
            body.append(For(p, end - first, Kind.SERIAL, tuple(inside)))
        return body, [loads(kept, lane + p * self.width) for p in range(vectors)]

    def _folded(self, elements: Elements, first: Expr, rows: int) -> Found:
        """The left fold of a vector of lanes over whole rows."""
        if rows <= STRAIGHT:
            body, total = elements.at(first)
            for row in range(1, rows):
                inside, value = elements.at(first + row * LANES)
                body += inside
                total = self.monoid.combine(total, value)
            return body, total
        j = Var("j")
        before, after = self.names("a"), self.names("e")
        inside, value = elements.at(first + j * LANES)
        columns = zip(before, self.neutral, self.monoid.combine(before, value), after, strict=True)
        carries = tuple(Carry(v, i, n, r) for v, i, n, r in columns)
        return [For(j, rows, Kind.SERIAL, tuple(inside), carries)], after

    def _rows(self, elements: Elements, base: Expr, rows: int, lane: Var) -> Pieces:
        """The left folds of all lanes over whole rows, more than one."""
        if rows <= STRAIGHT and elements.work <= STRAIGHT_WORK * len(self.types):
            every = LANES // self.width
            inside, pieces = self._row(elements, base, lane, every)
            for row in range(1, rows):
                more, values = self._row(elements, base + row * LANES, lane, every)
                inside += more
                pairs = zip(pieces, values, strict=True)
                pieces = [self._in_order(inside, self.monoid.combine(a, b)) for a, b in pairs]
            return inside, pieces
        j = Var("j")
        carries: list[Carry] = []
        ends: list[Components] = []
        body: list[Stmt] = []
        for p in range(LANES // self.width):
            inside, value = elements.at(base + (j * LANES + (lane + p * self.width)))
            body += inside
            before, after = self.names(f"a{p}_"), self.names(f"e{p}_")
            columns = zip(
                before, self.neutral, self.monoid.combine(before, value), after, strict=True
            )
            carries += [Carry(v, i, n, r) for v, i, n, r in columns]
            ends.append(after)
        return [For(j, rows, Kind.SERIAL, tuple(body), tuple(carries))], ends

    def _at(self, q: int, lane: Expr) -> At:
        return lambda k: k * KEEP + (lane + q * self.width if q else lane)

    def _gather(
        self, lanes: Sequence[Buffer], levels: Sequence[Buffer], count: int | Expr
    ) -> list[Stmt]:
        """The counter's value, stored in `lanes`."""
        lane = Var("l")
        result: list[Stmt] = []
        for q in range(KEEP // self.width):
            inner, total = self.collect(levels, self._at(q, lane), count)
            result += [*inner, *stores(lanes, lane + q * self.width, total)]
        return [For(lane, self.width, Kind.VECTOR, tuple(result))]


class WithinLane(Counter):
    """Reduces in one lane or thread."""

    def reduce(self, results: Sequence[Var], value: Value, n: int) -> list[Stmt]:
        """Statements that bind `results` to the reduction of value(0 .. n)."""
        if n == 0:
            return bind(results, self.neutral)
        if n <= LANES and (n <= TINY or n * (cost(value(const(0))) + 1) <= 64):
            return bind(results, self.tree([value(const(k)) for k in range(n)]))
        if n <= CHUNK:
            body, total = self._tree(lambda lane: self._rows(value, lane, 0, n), min(n, LANES), 1)
            return [*body, *bind(results, total)]
        body, total = self._tree(lambda lane: self._chunks(value, lane, n), KEEP, 1)
        return [*body, *bind(results, total)]

    def _tree(
        self, leaf: Callable[[Expr], tuple[list[Stmt], Components]], count: int, stride: int
    ) -> tuple[list[Stmt], Components]:
        """The halves step over leaf(0), leaf(stride) ..., `count` of them: visited bit-reversed it
        is a counter."""
        bits = max(count - 1, 0).bit_length()
        if bits == 0:
            return leaf(const(0))
        halves = self.buffers("half", bits + 1)
        q, lane = Var("q"), Var("lane")
        inner, total = leaf(lane)
        merged = self.merge(halves, lambda k: k, q, total)
        bind_lane = Let(lane, reversed_bits(q, bits) * stride)
        loop = For(q, 1 << bits, Kind.SERIAL, (bind_lane, *inner, *merged))
        return [loop], loads(halves, const(bits))

    def _rows(
        self, value: Value, lane: Expr, start: int | Expr, n: int
    ) -> tuple[list[Stmt], Components]:
        """The fold of one lane over the rows of a chunk of n <= CHUNK elements from `start` on."""
        count: int | Expr = n // LANES
        if n % LANES:
            count = apply("quotient", const(n + LANES - 1) - lane, const(LANES))
        return self.fold(lambda j: value(lane + j * LANES + start), count)

    def _chunks(self, value: Value, kept: Expr, n: int) -> tuple[list[Stmt], Components]:
        """One of the KEEP lanes over all chunks."""
        full, rest = divmod(n, CHUNK)
        levels = self.buffers("level", (full + 1).bit_length() + 1)
        c = Var("c")

        def chunk(start: int | Expr, size: int) -> tuple[list[Stmt], Components]:
            return self._tree(
                lambda lane: self._rows(value, kept + lane, start, size), LANES // KEEP, KEEP
            )

        inner, total = chunk(c * CHUNK, CHUNK)
        merged = self.merge(levels, lambda k: k, c, total)
        body: list[Stmt] = [For(c, full, Kind.SERIAL, (*inner, *merged))]
        if rest:
            inner, total = chunk(full * CHUNK, rest)
            body += [*inner, *self.merge(levels, lambda k: k, const(full), total)]
        end, total = self.collect(levels, lambda k: k, full + (1 if rest else 0))
        return [*body, *end], total
