"""Sorting rows on a CPU that packs the elements of a vector which a mask chooses (`loops.Split`).

    keys      the unsigned sort keys of a row, in memory of the task's own
    part      a range of keys is parted by a bound: vector by vector, what is less moves down in the
              range, the others go to a second range
    leaf      a short range is sorted by networks of vectors
    elements  what the keys of a range that is in order stand for

The upper part comes first, so that what is behind a range is never needed again: whole vectors are
stored there, and the memory that a part has left takes what its other part is parted into. Ranges
before it wait on a stack, with the least and the greatest key that they may have: where these are
one key, nothing is left to do. The bound is the middle one of a few keys from places that the
length alone says, or, in a range that comes from more parts than twice what halving takes, the
middle between the least and the greatest key: so no data take more turns than that and the bits of
a key.

Equal keys are equal elements but for zeros and NaN. Where a row has negative zeros or NaN, its
zeros and NaN are stored again in the order in which they stand: the result is that of
`ir/ops/sort`, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pyc.forks import load
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Const, Expr, Load, Shuffle, Var, const, maximum, minimum, select
from pyc.ir.loops import (
    Alloc,
    Body,
    Buffer,
    Carry,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Space,
    Split,
    Stmt,
    Store,
    While,
)
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.sequence import Call, LaunchSequence

LEAST = 32
"""Elements of a row at least; ranks are counted in shorter ones."""
WORTH = 1 << 14
"""Elements of all rows at least: the compilation takes some 25 ms more than the other ways, which
take some 100 us more for each call of so many."""
PARTS = 2
"""Times as many turns as halving takes, in which a range is parted by its keys."""
LEAF = 16
"""Vectors of a range that networks sort at most."""
SAMPLES = (0, 2, 4, 6, 8, 10, 12, 14, 15)
"""Where the keys lie of which the middle one parts a range, in its sixteenths."""


class _Sorter:
    """The kernel that sorts the rows of `x`, or with `places` finds the places of their elements in
    order: the key has the place in its lower half then, so that all keys differ."""

    def __init__(self, x: ArrayType, target: Target, *, places: bool, descending: bool) -> None:
        self.order = load("pyc.ir.ops.sort")
        self.dtype, self.length, self.descending = x.dtype, x.shape[-1], descending
        self.gives_places = places
        self.key_type = dt.unsigned_of(x.dtype.bits * 2 if places else x.dtype.bits)
        lanes = target.lanes(self.key_type.itemsize)
        self.last = Const((1 << self.key_type.bits) - 1, self.key_type)
        self.lanes, self.leaf, self.shift = lanes, LEAF * lanes, lanes.bit_length() - 1
        self.turns = PARTS * self.length.bit_length()
        self.half = (-(-self.length // lanes) + 1) * lanes
        self.tasks = self.order.Tasks(x, on_stack=self.length <= self.order.STACK_ROW)
        # Of each lane its number, by which networks choose: masks that LLVM knows make it merge
        # choices with the moves after them, which are then two instructions more.
        self.places = Buffer("places", self.key_type, (lanes,), role="in", alignment=64)
        self.out = Buffer(
            "out", dt.i64 if places else x.dtype, (self.tasks.rows, self.length), role="inout"
        )
        self.keys, self.row = self.tasks.extra("keys", self.key_type, 2 * self.half)
        self.local: list[Buffer] = []
        self.held = self._local("held", self.key_type, self.leaf)
        self.tallies = self._local("tallies", self.key_type, 3, lanes)
        waiting = self.turns + self.key_type.bits + 2
        self.starts, self.spares, self.counts, self.left = (
            self._local(name, dt.i64, waiting) for name in ("starts", "spares", "counts", "left")
        )
        self.lows, self.highs = (
            self._local(name, self.key_type, waiting) for name in ("lows", "highs")
        )

    def _local(self, name: str, dtype: DType, *shape: int) -> Buffer:
        self.local.append(Buffer(name, dtype, shape, Space.STACK, alignment=64))
        return self.local[-1]

    def sequence(self) -> LaunchSequence:
        """The launch."""
        body = (*self._keys(), *self._ranges())
        if self.counts_special:
            body += self._as_they_stand()
        for buffer in self.local:
            body = (Alloc(buffer, body),)
        made: Kernel = self.tasks.kernel("sort_vectors", [self.places, self.out], body)
        tables = ((self.places, np.arange(self.lanes, dtype=self.key_type.numpy)),)
        return LaunchSequence((self.tasks.source, self.out), (Call(made, made.buffers),), tables)

    # --- from and to elements

    def _key(self, place: Expr) -> Load:
        return Load(self.keys, (*self.row, place))

    @property
    def counts_special(self) -> bool:
        """Whether equal keys may be of elements that differ."""
        return self.dtype.is_float and not self.gives_places

    def _key_of(self, value: Expr, place: Expr) -> Expr:
        key: Expr = self.order.sort_key(value, self.descending)
        if self.gives_places:
            key = (key.cast(self.key_type) << self.dtype.bits) | place.cast(self.key_type)
        return key

    def _element_of(self, key: Expr) -> Expr:
        """The element of a key, of zeros and NaN one of them; or its place."""
        if self.gives_places:
            return (key & ((1 << self.dtype.bits) - 1)).cast(dt.i64)
        element: Expr = self.order.element_of(key, self.dtype, self.descending)
        return element

    def _value(self, place: Expr) -> Load:
        return Load(self.tasks.source, (self.tasks.row, place))

    def _keys(self) -> Body:
        """Stores the keys of the row; of floats it counts in each lane what `_as_they_stand` asks
        for. The last vector overlaps the one before it."""
        lanes, v, lane, place = self.lanes, Var("v"), Var("lane"), Var("place")
        value, key = Var("value", self.dtype), Var("key", self.key_type)
        overlaps = self.length % lanes != 0
        first = minimum(v * lanes, self.length - lanes) if overlaps else v * lanes
        body: list[Stmt] = [
            Let(place, first),
            Let(value, self._value(place + lane)),
            Let(key, self._key_of(value, place + lane)),
            Store(self.keys, (*self.row, place + lane), key),
        ]
        carries: list[Carry] = []
        ends: list[Stmt] = []
        if self.counts_special:
            is_new = Var("is_new", dt.b1)
            if overlaps:
                again = (v * lanes - place).cast(self.key_type)
                body.append(Let(is_new, Load(self.places, (lane,)) >= again))
            negative_zero = value.bitcast(self.key_type).equal(1 << (self.key_type.bits - 1))
            zero = self.order.sort_key(Const(0.0, self.dtype), self.descending)
            for n, test in enumerate((key < zero, key.equal(self.last), negative_zero)):
                before, found = Var("before", self.key_type), Var("found", self.key_type)
                one = (test & is_new if overlaps else test).cast(self.key_type)
                carries.append(Carry(before, Const(0, self.key_type), before + one, found))
                ends.append(Store(self.tallies, (const(n), lane), found))
        each = For(v, -(-self.length // lanes), Kind.SERIAL, tuple(body), tuple(carries))
        return (For(lane, lanes, Kind.VECTOR, (each, *ends)),)

    def _as_they_stand(self) -> Body:
        """Stores zeros and NaN in the order in which they stand, where these may differ."""
        k, (below, nan, negative) = Var("k"), (Var(n) for n in ("below", "nan", "negative"))
        carries = []
        for n, total in enumerate((below, nan, negative)):
            before, one = Var("before"), Load(self.tallies, (const(n), k)).cast(dt.i64)
            carries.append(Carry(before, const(0), before + one, total))
        i, value = Var("i"), Var("value", self.dtype)
        is_zero, is_nan = Var("is_zero", dt.b1), Var("is_nan", dt.b1)
        zero_at, nan_at = Var("zero_at"), Var("nan_at")
        places = (
            Carry(zero_at, below, zero_at + is_zero.cast(dt.i64), Var("end")),
            Carry(nan_at, const(self.length) - nan, nan_at + is_nan.cast(dt.i64), Var("end")),
        )
        store = Store(self.out, (self.tasks.row, select(is_zero, zero_at, nan_at)), value)
        again = (
            Let(value, self._value(i)),
            Let(is_zero, value.equal(0.0)),
            Let(is_nan, value.differs(value)),
            If(is_zero | is_nan, (store,)),
        )
        return (
            For(k, self.lanes, Kind.SERIAL, (), tuple(carries)),
            If((nan + negative).differs(0), (For(i, self.length, Kind.SERIAL, again, places),)),
        )

    def _elements(self, start: Expr, count: Expr) -> Body:
        """Stores the elements of the keys that are held."""
        v, lane, again, whole = Var("v"), Var("lane"), Var("lane"), Var("whole")

        def stored(k: Expr) -> Body:
            element = self._element_of(Load(self.held, (k,)))
            return (Store(self.out, (self.tasks.row, start + k), element),)

        each = For(lane, self.lanes, Kind.VECTOR, stored(v * self.lanes + lane))
        rest = (If(whole + again < count, stored(whole + again)),)
        return (
            For(v, count >> self.shift, Kind.SERIAL, (each,)),
            Let(whole, (count >> self.shift) * self.lanes),
            For(again, self.lanes, Kind.VECTOR, rest),
        )

    # --- networks

    def _exchanged(self, x: Expr, lane: Var, distance: int, bit: int) -> Expr:
        """Each lane with the one at `distance`: the one of the two without a bit of their places
        has the lower key then."""
        y = Shuffle(x, lane, distance)
        is_first = (Load(self.places, (lane,)) & bit).equal(0)
        return select(is_first, minimum(x, y), maximum(x, y))

    def _merged_lanes(self, x: Expr, lane: Var, distance: int) -> Expr:
        """Groups of 2 * distance lanes in order that ascend and descend, or the other way."""
        while distance:
            x = self._exchanged(x, lane, distance, distance)
            distance //= 2
        return x

    def _sorted_lanes(self, x: Expr, lane: Var) -> Expr:
        """A vector in order."""
        half = 1
        while half < self.lanes:
            x = self._exchanged(x, lane, 2 * half - 1, half)
            x = self._merged_lanes(x, lane, half // 2)
            half *= 2
        return x

    def _held(self, vectors: int | Expr, keys: Callable[[Expr, Var], Expr]) -> Stmt:
        """Holds so many vectors. keys: of the places from the first on, and the lane."""
        v, lane = Var("v"), Var("lane")
        k = v * self.lanes + lane
        body = (Store(self.held, (k,), keys(k, lane)),)
        return For(v, vectors, Kind.SERIAL, (For(lane, self.lanes, Kind.VECTOR, body),))

    def _sorted(self, start: Expr, count: Expr) -> Body:
        """Holds a short range in order: vectors, then lines of twice as many at a time."""
        vectors, size, whole = Var("vectors"), Var("size"), Var("size")
        apart, over = Var("apart"), Var("apart")
        halves = (Carry(apart, size >> 1, apart >> 1, over),)

        def merged(k: Expr, lane: Var) -> Expr:
            return self._merged_lanes(Load(self.held, (k,)), lane, self.lanes // 2)

        merge = (
            self._met(vectors, size, turned=True),
            While(halves, apart > 0, (self._met(vectors, apart, turned=False),)),
            self._held(vectors, merged),
        )
        return (
            self._ended(start + count),
            Let(vectors, (count + (self.lanes - 1)) >> self.shift),
            self._held(vectors, lambda k, lane: self._sorted_lanes(self._key(start + k), lane)),
            While((Carry(size, const(1), size * 2, whole),), size < vectors, merge),
        )

    def _met(self, vectors: Expr, apart: Expr, *, turned: bool) -> Stmt:
        """Two vectors each of what is held, the first of which has the lower keys then, for all
        pairs of which both are there. They are `apart`; turned: they have the same distances from
        where two lines of `apart` vectors meet, and the one is taken from its last key on."""
        pair, inner, lane = Var("pair"), Var("inner"), Var("lane")
        x, y = Var("x", self.key_type), Var("y", self.key_type)
        rest = vectors & (apart * 2 - 1)
        count = ((vectors - rest) >> 1) + maximum(rest - apart, 0)
        line = (pair - inner) * 2
        first = line + (apart - 1 - inner if turned else inner)
        one, other = ((v * self.lanes + lane,) for v in (first, line + apart + inner))
        mirror = self.lanes - 1
        x_there: Expr = Shuffle(x, lane, mirror) if turned else x
        y_there: Expr = Shuffle(y, lane, mirror) if turned else y
        body = (
            Let(x, Load(self.held, one)),
            Let(y, Load(self.held, other)),
            Store(self.held, one, minimum(x, y_there)),
            Store(self.held, other, maximum(x_there, y)),
        )
        each = (Let(inner, pair & (apart - 1)), For(lane, self.lanes, Kind.VECTOR, body))
        return For(pair, count, Kind.SERIAL, each)

    # --- ranges

    def _ended(self, end: Expr) -> Stmt:
        """A vector of the greatest key behind a range: what its last vector has too many."""
        lane = Var("lane")
        store = Store(self.keys, (*self.row, end + lane), self.last)
        return For(lane, self.lanes, Kind.VECTOR, (store,))

    def _ranges(self) -> Body:
        """Parts ranges, the last one first, until all are in order."""
        waiting, end, done, begin, at = (Var(n) for n in ("waiting", "end", "done", "begin", "at"))
        start, spare, count, left = (Var(n) for n in ("start", "spare", "count", "left"))
        low, high = Var("low", self.key_type), Var("high", self.key_type)
        is_parted, is_long = Var("is_parted", dt.b1), Var("is_long", dt.b1)
        zero, held = const(0), minimum(count, self.leaf)
        alike = self._held(LEAF, lambda k, lane: low)
        alone = (
            If(is_long, (alike,), self._sorted(start, count)),
            *self._elements(end - held, held),
            Store(self.counts, (at,), count - held),
        )
        body = (
            Let(at, waiting - 1),
            Let(start, Load(self.starts, (at,))),
            Let(spare, Load(self.spares, (at,))),
            Let(count, Load(self.counts, (at,))),
            Let(left, Load(self.left, (at,))),
            Let(low, Load(self.lows, (at,))),
            Let(high, Load(self.highs, (at,))),
            Let(is_long, count > self.leaf),
            Let(is_parted, is_long & (low < high)),
            If(is_parted, self._parted(at, start, spare, count, left, low, high), alone),
        )
        after = select(is_parted, waiting + 1, select(is_long, waiting, at))
        carries = (
            Carry(waiting, const(1), after, done),
            Carry(end, const(self.length), select(is_parted, end, end - held), begin),
        )
        whole = (zero, const(self.half), const(self.length), const(self.turns))
        keys = (Const(0, self.key_type), self.last)
        return (*self._waits(zero, *whole, *keys), While(carries, waiting > 0, body))

    def _waits(
        self,
        at: Expr,
        start: Expr,
        spare: Expr,
        count: Expr,
        left: Expr,
        low: Expr,
        high: Expr,
    ) -> Body:
        """Stores a range at a place of the stack. spare: as much memory, that is free; left: the
        turns in which it is parted by its keys."""
        return (
            Store(self.starts, (at,), start),
            Store(self.spares, (at,), spare),
            Store(self.counts, (at,), count),
            Store(self.left, (at,), left),
            Store(self.lows, (at,), low),
            Store(self.highs, (at,), high),
        )

    def _parted(
        self,
        at: Expr,
        start: Expr,
        spare: Expr,
        count: Expr,
        left: Expr,
        low: Expr,
        high: Expr,
    ) -> Body:
        """Parts a range in two, which wait then: the upper one is in the spare memory, and where
        it was is spare for it."""
        lanes, step = self.lanes, Var("step")
        bound, below = Var("bound", self.key_type), Var("below")
        found = [Var("some", self.key_type) for _ in SAMPLES]
        places = [start + (step * k + (step >> 1)) for k in SAMPLES]
        some = [Let(x, self._key(p)) for x, p in zip(found, places, strict=True)]
        middles = [_middle(*found[k : k + 3]) for k in range(0, len(found), 3)]
        # Above the least key, so that no part has all of a range of two keys or more for ever.
        middle = maximum(_middle(*middles), low + 1)
        halved = low + ((high - low) >> 1) + 1
        v, these, free, over, others = (Var(n) for n in ("v", "these", "free", "over", "others"))
        split = Split(
            these,
            *(self.keys, (*self.row, start + v * lanes)),
            bound,
            *(self.keys, (*self.row, start + free)),
            *(self.keys, (*self.row, spare + over)),
            lanes,
        )
        carries = (
            Carry(free, const(0), free + these, below),
            Carry(over, const(0), over + (lanes - these), others),
        )
        lower = (start, spare, below, left - 1, low, bound - 1)
        upper = (spare, start + below, count - below, left - 1, bound, high)
        return (
            self._ended(start + count),
            Let(step, count >> 4),
            *some,
            Let(bound, select(left > 0, middle, halved)),
            For(v, (count + (lanes - 1)) >> self.shift, Kind.SERIAL, (split,), carries),
            *self._waits(at, *lower),
            *self._waits(at + 1, *upper),
        )


def _middle(x: Expr, y: Expr, z: Expr) -> Expr:
    """The middle one of three keys."""
    return maximum(minimum(x, y), minimum(maximum(x, y), z))


def sort_vectors(
    op: str, types: tuple[ArrayType, ...], target: Target, *, descending: bool
) -> LaunchSequence | None:
    """The launch of `sort` or `argsort`; None: rows are short, it is not worth the compilation, or
    the target does not part vectors of such keys."""
    (x,) = types
    places = op == "argsort"
    sizes = (4,) if places else (4, 8)
    if not target.parts_vectors or x.dtype.itemsize not in sizes:
        return None
    if x.size < WORTH or not LEAST <= x.shape[-1] < 1 << 31:
        return None
    return _Sorter(x, target, places=places, descending=descending).sequence()
