"""Elements at places of a sorted row, and its many first ones, found without sorting all of it.

The keys (`sort_key`) of a row lie in a range, which is cut into buckets of equal width. How many
elements each bucket has says in which one a place lies; its elements are kept in the order in which
they stand, and its range is cut again, until a few are left, which are sorted, or one key, whose
elements are in order as they stand. Each turn reads what is left twice: vectors mark a block of
elements, which are then counted, or moved without a branch, one by one. Of ranges that numbers fill
evenly a turn keeps about a thousandth; no data take more turns than the bits of a key allow.

What is found depends on neither blocks nor buckets: it is the stable order of `ir/ops/sort`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Const, Expr, Load, Var, const, maximum, minimum
from pyc.ir.loops import (
    Accumulate,
    Alloc,
    Body,
    Buffer,
    Carry,
    For,
    If,
    Kind,
    Let,
    Space,
    Stmt,
    Store,
    While,
)
from pyc.ir.ops.selection import VECTOR_BYTES, First
from pyc.ir.ops.sort import Line, element_of, sort_key

MOST_BUCKETS = 1024
"""Buckets of a range: with `TABLES` of them the counts stay in the first cache."""
TABLES = 4
"""Neighbouring elements count in tables of their own: adding to one number takes turns."""
MOST_BLOCK = 1024
"""Elements that are marked before they are counted or moved."""
FEW = 24
"""Elements that are sorted by insertion."""
VECTORS = 4
"""Vectors of extremes that are kept in step."""

Use = Callable[[Expr, int, Expr, tuple[Expr, ...]], tuple[Body, tuple[Expr, ...]]]
"""What is done with an element; see `Narrowing.each`."""


class Narrowing:
    """The search for places of the row `source`. held: room for one element more than the row has;
    length: elements of the row."""

    def __init__(self, source: Line, held: Line, length: int, *, descending: bool) -> None:
        self.source = source
        self.held = held
        self.length = length
        self.descending = descending
        dtype = source.values.dtype
        self.dtype = dtype
        self.keys = dt.u8 if dtype is dt.b1 else dt.unsigned_of(dtype.bits)
        self.block = min(MOST_BLOCK, 1 << (length.bit_length() - 1))
        self.width = min(VECTOR_BYTES // dtype.itemsize, self.block)
        self.buckets = min(MOST_BUCKETS, self.block, 1 << self.keys.bits)
        # The elements of each bucket of the whole row are counted once for all places.
        counted = dt.i32 if length < 1 << 31 else dt.i64
        self.counts = self._buffer("counts", counted, TABLES, self.buckets)
        self.finer = self._buffer("finer", counted, TABLES, self.buckets)
        self.marks = self._buffer("marks", dt.u16, self.block)
        self.flags = self._buffer("flags", dt.u8, self.block)
        self.ends = self._buffer("ends", self.keys, 2, self.width)
        # The sorted run that is held: the place of its first element in the order, its elements;
        # 1 where one key stands for all of them, which are then not stored; and that key.
        self.run = self._buffer("run", dt.i64, 3)
        self.alone = self._buffer("alone", self.keys, 1)

    @staticmethod
    def _buffer(name: str, dtype: DType, *shape: int) -> Buffer:
        return Buffer(name, dtype, shape, Space.STACK, alignment=64)

    def in_memory(self, body: Body) -> Body:
        """`body` with the memory that the other statements need."""
        for buffer in (
            *(self.counts, self.finer, self.marks, self.flags),
            *(self.ends, self.run, self.alone),
        ):
            body = (Alloc(buffer, body),)
        return body

    # --- keys

    def key(self, x: Expr) -> Expr:
        """The sort key of an element."""
        return sort_key(x, self.descending)

    def element(self, key: Expr) -> Expr:
        """The element of a key that `is_exact`."""
        return element_of(key, self.dtype, self.descending)

    def is_exact(self, key: Expr) -> Expr:
        """Whether all elements of a key have the same bits: not those of zeros and of NaN."""
        if not self.dtype.is_float:
            return Const(True, dt.b1)
        zero = 1 << (self.dtype.bits - 1)
        last = (1 << self.dtype.bits) - 1
        return key.differs(last - zero if self.descending else zero) & key.differs(last)

    # --- passes over the elements

    def each(
        self,
        line: Line,
        count: int | Expr,
        marks: Buffer,
        mark: Callable[[Expr], Expr],
        use: Use,
        state: Sequence[Expr] = (),
    ) -> tuple[Body, tuple[Expr, ...]]:
        """Calls `use` for each of the first `count` elements of a line, in order; its last state.

        mark: the mark of a key; vectors put those of a block into `marks`
        use: of (a place, a table, the mark, the state), statements and the next state
        state: the state at the start
        """
        size, width, group = self.block, self.width, min(TABLES, self.block)
        block, vector, lane = Var("block"), Var("vector"), Var("lane")

        def marked(place: Expr) -> Expr:
            return mark(self.key(line.value(place))).cast(marks.dtype)

        within = vector * width + lane
        lanes = (Store(marks, (within,), marked(block * size + within)),)
        marking = For(vector, size // width, Kind.SERIAL, (For(lane, width, Kind.VECTOR, lanes),))

        def turn(
            places: Sequence[Expr], found: Sequence[Expr], now: tuple[Expr, ...]
        ) -> tuple[Body, tuple[Expr, ...]]:
            body: list[Stmt] = []
            for number, (place, each) in enumerate(zip(places, found, strict=True)):
                here = Var("mark", marks.dtype)
                used, now = use(place, number, here, now)
                body += (Let(here, each), *used)
            return tuple(body), now

        outer, inner, single = (_variables(state) for _ in range(3))
        i, k = Var("i"), Var("k")
        places = [i * group + n for n in range(group)]
        step, after = turn(
            [block * size + p for p in places], [Load(marks, (p,)) for p in places], inner
        )
        carries, results = _carried(inner, outer, after)
        walk = For(i, size // group, Kind.SERIAL, step, carries)
        carries, results = _carried(outer, state, results)
        if isinstance(count, int):
            blocks: int | Expr = count // size
            rest: int | Expr = count % size
            done: Expr = const(count // size * size)
        else:
            blocks, rest = count >> (size.bit_length() - 1), count & (size - 1)
            done = count - rest
        step, after = turn([done + k], [marked(done + k)], single)
        whole = For(block, blocks, Kind.SERIAL, (marking, walk), carries)
        carries, ends = _carried(single, results, after)
        return (whole, For(k, rest, Kind.SERIAL, step, carries)), ends

    def extremes(self) -> tuple[Body, Var, Var]:
        """The least and the greatest key of the row."""
        width, length = self.width, self.length
        vectors = max(min(VECTORS, length // width), 1)
        step, lane = Var("step"), Var("lane")
        inner: list[Stmt] = []
        joins = (minimum, maximum)
        initial = (Const((1 << self.keys.bits) - 1, self.keys), Const(0, self.keys))
        states = [_variables(initial) for _ in range(vectors)]
        carries: list[Carry] = []
        for v, before in enumerate(states):
            key = self.key(self.source.value(step * (vectors * width) + (lane + v * width)))
            after = [join(b, key) for join, b in zip(joins, before, strict=True)]
            carries += _carried(before, initial, after)[0]
        inner.append(For(step, length // (vectors * width), Kind.SERIAL, (), tuple(carries)))
        for n, join in enumerate(joins):
            together: Expr = carries[n].result
            for c in carries[n + 2 :: 2]:
                together = join(together, c.result)
            inner.append(Store(self.ends, (const(n), lane), together))
        body: list[Stmt] = [For(lane, width, Kind.VECTOR, tuple(inner))]
        found = []
        tail = length % (vectors * width)
        for n, join in enumerate(joins):
            k, i = Var("k"), Var("i")
            (one,), (other,) = _variables(initial[:1]), _variables(initial[:1])
            across, (end,) = _carried(
                (one,), initial[n : n + 1], (join(one, Load(self.ends, (const(n), k))),)
            )
            key = self.key(self.source.value(i + (length - tail)))
            behind, (last,) = _carried((other,), (end,), (join(other, key),))
            body.append(For(k, width, Kind.SERIAL, (), across))
            body.append(For(i, tail, Kind.SERIAL, (), behind))
            found.append(last)
        return tuple(body), found[0], found[1]

    # --- ranges of keys

    def _shift(self, low: Expr, high: Expr) -> tuple[Body, Expr]:
        """How far a key above `low` is shifted to be the number of its bucket."""
        shift, found, span = Var("shift", self.keys), Var("shift", self.keys), high - low
        carry = Carry(shift, Const(0, self.keys), shift + 1, found)
        return (While((carry,), (span >> shift) > self.buckets - 1, ()),), found

    def _counted(
        self, line: Line, count: int | Expr, low: Expr, shift: Expr, counts: Buffer
    ) -> Body:
        """Counts the elements of each bucket."""
        bucket, lane, table = Var("bucket"), Var("lane"), Var("table")
        lanes = min(16, self.buckets)
        place = bucket * lanes + lane
        clear: Body = (Store(counts, (table, place), Const(0, counts.dtype)),)
        clear = (For(lane, lanes, Kind.VECTOR, clear),)
        clear = (For(bucket, self.buckets // lanes, Kind.SERIAL, clear),)

        def add(
            _: Expr, number: int, mark: Expr, state: tuple[Expr, ...]
        ) -> tuple[Body, tuple[Expr, ...]]:
            where = (const(number), mark.cast(dt.i64))
            return (Accumulate(counts, where, Const(1, counts.dtype), "add"),), state

        counting, _ = self.each(line, count, self.marks, lambda key: (key - low) >> shift, add)
        bucket, lane = Var("bucket"), Var("lane")
        place = bucket * lanes + lane
        total: Expr = Load(counts, (const(0), place))
        for number in range(1, TABLES):
            total = total + Load(counts, (const(number), place))
        join: Body = (For(lane, lanes, Kind.VECTOR, (Store(counts, (const(0), place), total),)),)
        return (
            For(table, TABLES, Kind.SERIAL, clear),
            *counting,
            For(bucket, self.buckets // lanes, Kind.SERIAL, join),
        )

    def _bucket(
        self, counts: Buffer, place: Expr, low: Expr, high: Expr, shift: Expr
    ) -> tuple[Body, Expr, Expr, Expr, Expr]:
        """The bucket that has a place of the order of those counted: the ends of its range, how
        many elements are before it, and in it."""
        bucket, found = Var("bucket"), Var("found")
        before, skipped, inside = Var("before"), Var("skipped"), Var("inside")
        start, end = Var("low", self.keys), Var("high", self.keys)
        here = Load(counts, (const(0), bucket)).cast(dt.i64)
        carries = (
            Carry(bucket, const(0), bucket + 1, found),
            Carry(before, const(0), before + here, skipped),
        )
        width = (Const(1, self.keys) << shift) - 1
        body = (
            While(carries, before + here <= place, ()),
            Let(inside, Load(counts, (const(0), found)).cast(dt.i64)),
            Let(start, low + (found.cast(self.keys) << shift)),
            Let(end, start + minimum(width, high - start)),
        )
        return body, start, end, skipped, inside

    def _kept(self, line: Line, count: int | Expr, low: Expr, high: Expr) -> Body:
        """Moves the elements with a key from `low` to `high` to the front of `held`."""
        span = high - low

        def move(
            place: Expr, _: int, mark: Expr, state: tuple[Expr, ...]
        ) -> tuple[Body, tuple[Expr, ...]]:
            (free,) = state
            value = Var("value", self.dtype)
            store = self.held.store(free, value, None)
            return (Let(value, line.value(place)), *store), (free + mark.cast(dt.i64),)

        return self.each(line, count, self.flags, lambda key: key - low <= span, move, (const(0),))[
            0
        ]

    def _sorted(self, count: Expr) -> Body:
        """Sorts the `count` elements that are held, by insertion."""
        i, value = Var("i"), Var("value", self.dtype)
        few = First(self.held, self.held, FEW, FEW, self.descending)
        body = (Let(value, self.held.value(i + 1)), *few.insert(i + 1, value, i + 1))
        return (For(i, count - 1, Kind.SERIAL, body),)

    # --- places

    def places(
        self, count: int, place_of: Callable[[Expr], Expr], use: Callable[[Expr, Expr], Body]
    ) -> Body:
        """Runs `use` of (a number, its place) for each number up to `count`, when the sorted run
        that is held has that place."""
        body, low, high = self.extremes()
        shifting, shift = self._shift(low, high)
        number, place = Var("number"), Var("place")
        begin, held = (Load(self.run, (const(n),)) for n in range(2))
        outside = (place < begin) | (place >= begin + held)
        one: Body = (Let(place, place_of(number)),)
        one += (If(outside, self._held(place, low, high, shift)), *use(number, place))
        return (
            *body,
            *shifting,
            *self._counted(self.source, self.length, low, shift, self.counts),
            *self._run(const(0), const(0), const(0), low),
            For(number, count, Kind.SERIAL, one),
        )

    def _run(self, begin: Expr, count: Expr, alone: Expr, key: Expr) -> Body:
        values = enumerate((begin, count, alone))
        return (
            *(Store(self.run, (const(n),), e) for n, e in values),
            Store(self.alone, (const(0),), key),
        )

    def _held(self, place: Expr, low: Expr, high: Expr, shift: Expr) -> Body:
        """Makes the sorted run that has a place what is held."""
        one, last = const(1), const(self.length - 1)
        search = self._searched(place, low, high, shift)
        search = (
            If(
                place.equal(last) & self.is_exact(high),
                self._run(last, one, one, high),
                search,
            ),
        )
        first = place.equal(0) & self.is_exact(low)
        return (If(first, self._run(const(0), one, one, low), search),)

    def _searched(self, place: Expr, low: Expr, high: Expr, shift: Expr) -> Body:
        """`_held` by what the row's buckets have."""
        body, start, end, skipped, inside = self._bucket(self.counts, place, low, high, shift)
        exact = start.equal(end) & self.is_exact(start)
        state = (start, end, skipped, inside)
        before = tuple(Var("state", e.dtype) for e in state)
        low, high, begin, count = before
        shifting, shift = self._shift(low, high)
        finding, *after = self._bucket(self.finer, place - begin, low, high, shift)
        after[2] = begin + after[2]
        carries, ends = _carried(before, state, after)
        turn = (
            *shifting,
            *self._counted(self.held, count, low, shift, self.finer),
            *finding,
            *self._kept(self.held, count, after[0], after[1]),
        )
        left, right, begin, count = ends
        narrow = (
            *self._kept(self.source, self.length, start, end),
            While(carries, (before[3] > FEW) & before[0].differs(before[1]), turn),
            If(left.differs(right), self._sorted(count)),
            *self._run(begin, count, const(0), left),
        )
        return (*body, If(exact, self._run(skipped, inside, const(1), start), narrow))

    def found(self, place: Expr, use: Callable[[Expr], Body]) -> Body:
        """Runs `use` of the element at a place of the run that is held."""
        key, value = Var("key", self.keys), Var("value", self.dtype)
        begin, alone = Load(self.run, (const(0),)), Load(self.run, (const(2),))
        one = (Let(key, Load(self.alone, (const(0),))), *use(self.element(key)))
        several = (Let(value, self.held.value(place - begin)), *use(value))
        return (If(alone.equal(1), one, several),)

    def first(self, count: int, target: Line) -> Body:
        """Moves the `count` first elements of the order to `target`, which has room for one more,
        in the order in which they stand; with their places, if it has these."""
        last = const(count - 1)
        key, equal = Var("key", self.keys), Var("equal")
        end = Buffer("end", self.keys, (1,), Space.STACK, alignment=64)
        taken = Buffer("taken", dt.i64, (1,), Space.STACK, alignment=64)
        # Of the elements with the last key, those behind the ones that come before are taken.
        k, other, below = Var("k"), Var("below"), Var("below")
        begin = Load(self.run, (const(0),))
        earlier = (self.key(self.held.value(k)) < Load(end, (const(0),))).cast(dt.i64)
        count_below = For(
            k, last - begin, Kind.SERIAL, (), (Carry(other, begin, other + earlier, below),)
        )

        def note(number: Expr, place: Expr) -> Body:
            del number
            start = Store(taken, (const(0),), const(count) - begin)
            held = (count_below, Store(taken, (const(0),), const(count) - below))
            alone = Load(self.run, (const(2),)).differs(0)
            found = self.found(place, lambda x: (Store(end, (const(0),), self.key(x)),))
            return (*found, If(alone, (start,), held))

        def move(
            place: Expr, _: int, mark: Expr, state: tuple[Expr, ...]
        ) -> tuple[Body, tuple[Expr, ...]]:
            free, seen = state
            value = Var("value", self.dtype)
            same = mark & 1
            step = (mark >> 1).cast(dt.i64) + (same.differs(0) & (seen < equal)).cast(dt.i64)
            store = target.store(free, value, place)
            body: Body = (Let(value, self.source.value(place)), *store)
            return body, (free + step, seen + same.cast(dt.i64))

        def mark(x: Expr) -> Expr:
            return (x < key).cast(dt.u8) * 2 + x.equal(key).cast(dt.u8)

        moving, _ = self.each(
            self.source, self.length, self.flags, mark, move, (const(0), const(0))
        )
        body: Body = (
            *self.places(1, lambda _: last, note),
            Let(key, Load(end, (const(0),))),
            Let(equal, Load(taken, (const(0),))),
            *moving,
        )
        return (Alloc(end, (Alloc(taken, body),)),)


def _variables(state: Sequence[Expr]) -> tuple[Var, ...]:
    """New variables for a state."""
    return tuple(Var("state", e.dtype) for e in state)


def _carried(
    before: Sequence[Var], initial: Sequence[Expr], after: Sequence[Expr]
) -> tuple[tuple[Carry, ...], tuple[Var, ...]]:
    """A state carried through a loop, and its last values."""
    results = _variables(initial)
    parts = zip(before, initial, after, results, strict=True)
    return tuple(Carry(*p) for p in parts), results
