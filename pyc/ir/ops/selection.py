"""The first few elements of a row in order: what `top_k` is made of where k is small.

The order of two elements is that of an unsigned key of their bits (`sort_key`), and among equal
keys that of their places. Elements are inserted into a short sorted list. Most of a long row never
reach it: they are looked at in blocks, of which vectors find the least of each lane. As soon as k
lanes have one that is not above a bound, nothing above it is among the first k; only lanes with
something below are walked element by element. What is found depends on neither blocks nor lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Const, Expr, Load, Shuffle, Var, const, maximum, minimum, select
from pyc.ir.loops import Alloc, Body, Buffer, Carry, For, If, Kind, Let, Space, Stmt, Store, While
from pyc.ir.ops.sort import Line, sort_key

VECTOR_BYTES = 64
"""Bytes of one vector of lanes: one of the widest processors, or two."""
MOST_VECTORS = 8
"""Vectors of lanes of a block: the least of each is in a register."""
MOST_ROWS = 8
"""Elements of a lane in a block."""
SHORT = 64
"""Elements up to which a row is inserted one by one."""


@frozen()
class First:
    """The `count` first elements of the row `source`, kept sorted in `target`. source: a row whose
    places are the positions themselves; length: its elements; key: of an element."""

    source: Line
    target: Line
    length: int
    count: int
    descending: bool

    def key(self, x: Expr) -> Expr:
        """The sort key of an element."""
        return sort_key(x, self.descending)

    def kept(self) -> Body:
        """Statements that keep them."""
        if self._is_short:
            return self._in_turn()
        return _Blocks(self).kept()

    @property
    def _is_short(self) -> bool:
        return self.length <= max(SHORT, 2 * self.count)

    def _in_turn(self) -> Body:
        """Looks at one element after the other."""
        i, value = Var("i"), Var("value", self.source.values.dtype)
        start = self.target.store(const(0), self.source.value(const(0)), const(0))
        grow = For(
            i,
            self.count - 1,
            Kind.SERIAL,
            (Let(value, self.source.value(i + 1)), *self.insert(i + 1, value, i + 1)),
        )
        if self.count == self.length:
            return (*start, grow)
        k, value = Var("k"), Var("value", self.source.values.dtype)
        place = k + self.count
        replace = For(
            k,
            self.length - self.count,
            Kind.SERIAL,
            (Let(value, self.source.value(place)), self.replace(value, place)),
        )
        return (*start, grow, replace)

    def replace(self, value: Expr, place: Expr) -> Stmt:
        """Inserts an element in place of the last one, where it comes before that."""
        last = const(self.count - 1)
        return If(self._before(value, place, last), self.insert(last, value, place))

    def insert(self, end: Expr, value: Expr, place: Expr) -> Body:
        """Moves what comes after `value` among target[0 ... end) up by one and stores it there."""
        j, free = Var("j"), Var("free")
        below = maximum(j - 1, 0)
        move = While(
            (Carry(j, end, j - 1, free),),
            (j > 0) & self._before(value, place, below),
            self.target.store(j, self.target.value(below), self.target.place(below)),
        )
        return (move, *self.target.store(free, value, place))

    def _before(self, value: Expr, place: Expr, at: Expr) -> Expr:
        """Whether an element comes before that of the list at `at`."""
        key, other = self.key(value), self.key(self.target.value(at))
        if self._is_short:  # the places of the list are lower
            return key < other
        earlier = self.target.place(at)
        assert earlier is not None
        return (key < other) | (key.equal(other) & (place < earlier))


class _Blocks:
    """A row in blocks: position r * lanes + l of a block is element r of lane l."""

    def __init__(self, first: First) -> None:
        self.first = first
        self.dtype = first.source.values.dtype
        self.keys = dt.unsigned_of(self.dtype.bits)
        self.width = VECTOR_BYTES // self.dtype.itemsize
        # Twice as many groups of lanes as elements are wanted: the bound is then a close one.
        self.grouped = _power(-(-2 * first.count // self.width))
        wanted = _power(-(-first.length // (MOST_ROWS * self.width)))
        self.vectors = max(min(wanted, MOST_VECTORS), self.grouped)
        self.lanes = self.vectors * self.width
        self.size = self.lanes * min(MOST_ROWS, -(-first.length // self.lanes))
        self.by_value = self.dtype in (dt.f32, dt.f64)
        """Whether lanes meet by the values themselves: NaN is left out, a key takes longer."""
        self.least = self._buffer("least", self.keys, self.lanes)
        self.bounds = self._buffer("bounds", self.keys, self.grouped * self.width)
        self.reach = self._buffer("reach", self.keys, self.width)
        self.found = self._buffer("found", dt.i64, 1)

    @staticmethod
    def _buffer(name: str, dtype: DType, size: int) -> Buffer:
        return Buffer(name, dtype, (size,), Space.STACK, alignment=64)

    def kept(self) -> Body:
        """Statements that keep the first elements of the row."""
        whole, rest = divmod(self.first.length, self.size)
        block, zero = Var("block"), const(0)
        body: Body = (Store(self.found, (zero,), zero),)
        if whole:
            one = self._block(block * self.size, self.size)
            body += (For(block, whole, Kind.SERIAL, one),)
        if rest:
            body += self._block(const(whole * self.size), rest)
        for buffer in (self.least, self.bounds, self.reach, self.found):
            body = (Alloc(buffer, body),)
        return body

    def _block(self, base: Expr, size: int) -> Body:
        """Looks at the elements of a block of `size` from `base` on."""
        lane, count = Var("lane"), self.first.count
        body, ends = self._least(base, size, lane)
        # What is found nowhere is no bound: a lane of NaN alone may hide one that is wanted.
        least = [Var("lowest", self.keys) for _ in ends]
        body += [Let(v, self._key(e)) for v, e in zip(least, ends, strict=True)]
        body += [Store(self.least, (lane + p * self.width,), e) for p, e in enumerate(least)]
        sure = [self._sure(e, key) for e, key in zip(ends, least, strict=True)]
        groups = [_together(sure[g :: self.grouped], minimum) for g in range(self.grouped)]
        body += [Store(self.bounds, (lane + g * self.width,), e) for g, e in enumerate(groups)]
        lowest = self._all(_together(least, minimum), lane, minimum)
        body.append(Store(self.reach, (lane,), lowest))
        vectors = For(lane, self.width, Kind.VECTOR, tuple(body))

        full, last = Var("full", dt.b1), Var("last", self.keys)
        end = Load(self.first.target.values, (*self.first.target.row, const(count - 1)))
        known = select(full, self.key(end), Const(0, self.keys))
        worth = ~full | (Load(self.reach, (const(0),)) < last)
        return (
            vectors,
            Let(full, Load(self.found, (const(0),)).equal(count)),
            Let(last, known),
            If(worth, (*self._bound(), *self._lanes(base, size, full, last))),
        )

    def key(self, x: Expr) -> Expr:
        """The sort key of an element."""
        return self.first.key(x)

    def _least(self, base: Expr, size: int, lane: Var) -> tuple[list[Stmt], list[Expr]]:
        """The least of each lane of a block, by vectors: an element, or its key."""
        nothing = self._nothing()
        rows, tail = divmod(size, self.lanes)

        def element(place: Expr) -> Expr:
            value = self.first.source.value(place)
            return value if self.by_value else self.key(value)

        ends: list[Expr] = [nothing] * self.vectors
        body: list[Stmt] = []
        if rows:
            r = Var("r")
            carries = []
            for p in range(self.vectors):
                before, after = Var("before", nothing.dtype), Var("after", nothing.dtype)
                place = base + (r * self.lanes + (lane + p * self.width))
                better = self._better(element(place), before)
                carries.append(Carry(before, nothing, better, after))
                ends[p] = after
            body.append(For(r, rows, Kind.SERIAL, (), tuple(carries)))
        for p in range(-(-tail // self.width)):
            behind = lane + p * self.width
            inside = behind < tail
            place = base + (minimum(behind, tail - 1) + rows * self.lanes)
            value = element(place)
            better = select(inside, self._better(value, ends[p]), ends[p])
            ends[p] = better
        return body, ends

    def _nothing(self) -> Expr:
        """What is behind every element that lanes compare."""
        if self.by_value:
            return Const(-inf if self.first.descending else inf, self.dtype)
        return Const(_last(self.keys), self.keys)

    def _better(self, new: Expr, old: Expr) -> Expr:
        if not self.by_value:
            return minimum(new, old)
        before = new > old if self.first.descending else new < old
        return select(before, new, old)

    def _key(self, end: Expr) -> Expr:
        """A key that no element of a lane is below."""
        return self.key(end) if self.by_value else end

    def _sure(self, end: Expr, key: Expr) -> Expr:
        """A key that one element of the lane is not above."""
        if not self.by_value:
            return key
        return select(end.equal(self._nothing()), Const(_last(self.keys), self.keys), key)

    def _all(self, value: Expr, lane: Var, join: Callable[[Expr, Expr], Expr]) -> Expr:
        """All lanes of a vector together, in each lane."""
        distance = self.width // 2
        while distance:
            value = join(value, Shuffle(value, lane, distance))
            distance //= 2
        return value

    def _bound(self) -> Body:
        """Stores what so many groups of lanes as elements are wanted have something not above."""
        lane, j = Var("lane"), Var("j")
        narrow = dt.signed_of(self.keys.bits)
        own = [Load(self.bounds, (lane + g * self.width,)) for g in range(self.grouped)]
        other = Load(self.bounds, (j,))
        carries, bounds = [], []
        for e in own:
            before, below = Var("before", narrow), Var("below", narrow)
            step = before + (other < e).cast(narrow)
            carries.append(Carry(before, Const(0, narrow), step, below))
            within = below < self.first.count
            bounds.append(select(within, e, Const(0, self.keys)))
        loop = For(j, self.grouped * self.width, Kind.SERIAL, (), tuple(carries))
        bound = self._all(_together(bounds, maximum), lane, maximum)
        body = (loop, Store(self.reach, (lane,), bound))
        return (For(lane, self.width, Kind.VECTOR, body),)

    def _lanes(self, base: Expr, size: int, full: Expr, last: Expr) -> Body:
        """Walks the lanes that have something within the bound, and before the last of the list."""
        lane, r, bound = Var("lane"), Var("r"), Var("bound", self.keys)
        least, value = Var("lowest", self.keys), Var("value", self.dtype)
        rows, tail = divmod(size, self.lanes)
        place, found = base + (r * self.lanes + lane), Var("found")
        count, zero = self.first.count, const(0)
        grow = (*self.first.insert(found, value, place), Store(self.found, (zero,), found + 1))
        take: Body = (
            Let(found, Load(self.found, (zero,))),
            If(found < count, grow, (self.first.replace(value, place),)),
        )
        each: Body = (Let(value, self.first.source.value(place)),)
        each += (If(self.key(value) <= bound, take),)
        extent: int | Expr = rows
        if tail:
            extent = select(lane < tail, const(rows + 1), const(rows))
        walk = If((least <= bound) & (~full | (least < last)), (For(r, extent, Kind.SERIAL, each),))
        return (
            Let(bound, Load(self.reach, (zero,))),
            For(
                lane,
                min(size, self.lanes),
                Kind.SERIAL,
                (Let(least, Load(self.least, (lane,))), walk),
            ),
        )


def _power(n: int) -> int:
    """The least power of two that is not below n."""
    return 1 << (n - 1).bit_length()


def _last(keys: DType) -> int:
    """The greatest key."""
    return (1 << keys.bits) - 1


def _together(values: Sequence[Expr], join: Callable[[Expr, Expr], Expr]) -> Expr:
    """Values joined in pairs."""
    while len(values) > 1:
        pairs = [join(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = [*pairs, *values[len(pairs) * 2 :]]
    return values[0]
