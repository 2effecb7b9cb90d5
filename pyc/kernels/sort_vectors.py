"""Sorting rows on a CPU that packs the elements of a vector which a mask chooses (`loops.Split`).

    keys      the unsigned sort keys of a row, in memory of the task's own
    part      a range of keys is parted by a bound: vector by vector, what is less moves down in the
              range, the others go to a second range
    leaf      a short range is sorted by networks of vectors (`sort_networks`; `sort_lines` where
              rows are short)
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

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyc.forks import load
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Const, Expr, Load, Var, const, maximum, minimum, select
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
    Prefetch,
    Space,
    Split,
    Stmt,
    Store,
    While,
)
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.sequence import Call, LaunchSequence
from pyc.kernels.sort_lines import Lines
from pyc.kernels.sort_networks import Networks

LEAST = 32
"""Elements of a row at least; ranks are counted in shorter ones."""
WORTH = 1 << 14
"""Elements of all rows at least: the compilation takes some 25 ms more than the other ways, which
take some 100 us more for each call of so many."""
PARTS = 2
"""Times as many turns as halving takes, in which a range is parted by its keys."""
LEAF = 32
"""Vectors of a range that networks sort at most: 8, 16 or 32."""
FEW = 5
"""Vectors of a range that are sorted as lines at most: networks take eight."""
SAMPLES = (0, 2, 4, 6, 8, 10, 12, 14, 15)
"""Where the keys lie of which the middle one parts a range, in its sixteenths."""


class Keys:
    """The sort keys of the elements of `x`. With `places` a key has the place of its element in
    its lower half, so that all keys differ, and what is stored of it is the place."""

    def __init__(self, x: ArrayType, target: Target, *, places: bool, descending: bool) -> None:
        self.order = load("pyc.ir.ops.sort")
        self.dtype, self.length, self.descending = x.dtype, x.shape[-1], descending
        self.gives_places = places
        self.type = dt.unsigned_of(x.dtype.bits * 2 if places else x.dtype.bits)
        self.lanes = target.lanes(self.type.itemsize)
        self.shift = self.lanes.bit_length() - 1
        self.last = Const((1 << self.type.bits) - 1, self.type)
        # Of each lane its number, by which networks choose: masks that LLVM knows make it merge
        # choices with the moves after them, which are then two instructions more.
        self.numbers = Buffer("places", self.type, (self.lanes,), role="in", alignment=64)

    @property
    def tables(self) -> tuple[tuple[Buffer, np.ndarray[Any, Any]], ...]:
        """The known numbers that kernels read."""
        return ((self.numbers, np.arange(self.lanes, dtype=self.type.numpy)),)

    def number(self, lane: Expr) -> Load:
        """The number of a lane."""
        return Load(self.numbers, (lane,))

    def results(self, rows: int) -> Buffer:
        """What is stored."""
        dtype = dt.i64 if self.gives_places else self.dtype
        return Buffer("out", dtype, (rows, self.length), role="inout")

    @property
    def counts_special(self) -> bool:
        """Whether equal keys may be of elements that differ."""
        return self.dtype.is_float and not self.gives_places

    def of(self, value: Expr, place: Expr) -> Expr:
        """The key of an element."""
        key: Expr = self.order.sort_key(value, self.descending)
        if self.gives_places:
            key = (key.cast(self.type) << self.dtype.bits) | place.cast(self.type)
        return key

    def element(self, key: Expr) -> Expr:
        """The element of a key, of zeros and NaN one of them; or its place."""
        if self.gives_places:
            return (key & ((1 << self.dtype.bits) - 1)).cast(dt.i64)
        element: Expr = self.order.element_of(key, self.dtype, self.descending)
        return element

    def special(self, value: Expr, key: Expr) -> tuple[Expr, ...]:
        """What is counted of an element: whether it is before the zeros, NaN, a negative zero, and
        a zero."""
        negative_zero = value.bitcast(self.type).equal(1 << (self.type.bits - 1))
        zero = self.order.sort_key(Const(0.0, self.dtype), self.descending)
        return key < zero, key.equal(self.last), negative_zero, key.equal(zero)

    def made(
        self,
        vectors: int | Expr,
        begin: Expr | None,
        value: Callable[[Expr], Expr],
        store: Callable[[Expr, Expr], Stmt],
        tallies: Buffer | None,
    ) -> Body:
        """Stores the keys of so many vectors from place `begin` on (None: the first). value: the
        element at a place; store: a key's, by its place; tallies: takes of each lane how many
        elements are each of the first that `special` names, as many as it has rows. The last vector
        of a row overlaps the one before it."""
        lanes, v, lane, place = self.lanes, Var("v"), Var("lane"), Var("place")
        element, key = Var("value", self.dtype), Var("key", self.type)
        overlaps = self.length % lanes != 0
        here = v * lanes if begin is None else begin + v * lanes
        body: list[Stmt] = [
            Let(place, minimum(here, self.length - lanes) if overlaps else here),
            Let(element, value(place + lane)),
            Let(key, self.of(element, place + lane)),
            store(place + lane, key),
        ]
        carries: list[Carry] = []
        ends: list[Stmt] = []
        if tallies is not None:
            is_new = Var("is_new", dt.b1)
            if overlaps:
                again = (here - place).cast(self.type)
                body.append(Let(is_new, self.number(lane) >= again))
            counted = tallies.shape[0]
            assert isinstance(counted, int)
            for n, test in enumerate(self.special(element, key)[:counted]):
                before, found = Var("before", self.type), Var("found", self.type)
                one = (test & is_new if overlaps else test).cast(self.type)
                carries.append(Carry(before, Const(0, self.type), before + one, found))
                ends.append(Store(tallies, (const(n), lane), found))
        each = For(v, vectors, Kind.SERIAL, tuple(body), tuple(carries))
        return (For(lane, lanes, Kind.VECTOR, (each, *ends)),)


class Ranges:
    """Sorts ranges of keys in a row of memory, and stores what they stand for.

    keys, row: the memory, and which row of it; out, out_row: the same of what is stored; longest:
    keys of a range at most.
    """

    def __init__(
        self,
        kinds: Keys,
        keys: Buffer,
        row: tuple[Expr, ...],
        out: Buffer,
        out_row: Expr,
        longest: int,
    ) -> None:
        self.kinds, self.lanes, self.shift = kinds, kinds.lanes, kinds.shift
        self.key_type, self.last = kinds.type, kinds.last
        self.leaf = LEAF * self.lanes
        self.keys, self.row, self.out, self.out_row = keys, row, out, out_row
        self.turns = PARTS * longest.bit_length()
        self.local: list[Buffer] = []
        self.held = self._local("held", self.key_type, self.leaf)
        self.networks: Lines | Networks
        if longest <= FEW * self.lanes:
            self.networks = Lines(self.held, self.lanes, kinds.number)
        else:
            self.networks = Networks(self.held, LEAF, self.lanes, kinds.number)
        waiting = self.turns + self.key_type.bits + 3
        self.starts, self.spares, self.counts, self.left = (
            self._local(name, dt.i64, waiting) for name in ("starts", "spares", "counts", "left")
        )
        self.lows, self.highs = (
            self._local(name, self.key_type, waiting) for name in ("lows", "highs")
        )

    def _local(self, name: str, dtype: DType, *shape: int) -> Buffer:
        self.local.append(Buffer(name, dtype, shape, Space.STACK, alignment=64))
        return self.local[-1]

    def in_memory(self, body: Body) -> Body:
        """`body`, which has the buffers that a task needs."""
        for buffer in self.local:
            body = (Alloc(buffer, body),)
        return body

    def _key(self, place: Expr) -> Load:
        return Load(self.keys, (*self.row, place))

    def _elements(self, start: Expr, count: Expr) -> Body:
        """Stores the elements of the keys that are held."""
        v, lane, again, whole = Var("v"), Var("lane"), Var("lane"), Var("whole")

        def stored(vector: Expr, lane: Expr) -> Body:
            key = Load(self.held, (self.networks.row(vector) * self.lanes + lane,))
            place = start + vector * self.lanes + lane
            return (Store(self.out, (self.out_row, place), self.kinds.element(key)),)

        each = For(lane, self.lanes, Kind.VECTOR, stored(v, lane))
        rest = (If(whole * self.lanes + again < count, stored(whole, again)),)
        return (
            For(v, count >> self.shift, Kind.SERIAL, (each,)),
            Let(whole, count >> self.shift),
            For(again, self.lanes, Kind.VECTOR, rest),
        )

    def _fetched(self, start: Expr, count: Expr) -> Body:
        """Fetches the memory of elements, which are stored when keys are in order; not of a short
        row, which follows the one before it."""
        if self.keys.space is Space.STACK:
            return ()
        v = Var("v")
        fetch = Prefetch(self.out, (self.out_row, start + v * self.lanes))
        return (For(v, (count + (self.lanes - 1)) >> self.shift, Kind.SERIAL, (fetch,)),)

    def _in_order(self, start: Expr, count: Expr) -> Body:
        """Holds a short range in order."""

        def key(place: Expr, lane: Expr) -> Expr:
            return self._key(start + minimum(place, count) + lane)

        return (self._ended(start + count), *self.networks.sorted(key))

    def _alike(self, key: Expr) -> Stmt:
        """Holds one key."""
        v, lane = Var("v"), Var("lane")
        body = (Store(self.held, (v * self.lanes + lane,), key),)
        each = For(lane, self.lanes, Kind.VECTOR, body)
        return For(v, self.leaf >> self.shift, Kind.SERIAL, (each,))

    # --- ranges

    def _ended(self, end: Expr) -> Stmt:
        """A vector of the greatest key behind a range: what its last vector has too many."""
        lane = Var("lane")
        store = Store(self.keys, (*self.row, end + lane), self.last)
        return For(lane, self.lanes, Kind.VECTOR, (store,))

    def sorted(self, ranges: Sequence[tuple[Expr, Expr, Expr, Expr, Expr]], behind: Expr) -> Body:
        """Sorts neighbouring ranges, the lowest first; what they stand for is stored before place
        `behind`. Parts ranges, the last one first, until all are in order.

        ranges: of each where it starts, as much memory that is free, how many keys it has, the
        least and the greatest that it may have. Both memories have a vector more, and those of a
        range may be free memory of the ones before it.
        """
        found: list[Stmt] = []
        for n, (first, other, size, least, greatest) in enumerate(ranges):
            whole = (first, other, size, const(self.turns), least, greatest)
            found += self._waits(const(n), *whole)
        waiting, end, done, begin, at = (Var(n) for n in ("waiting", "end", "done", "begin", "at"))
        start, spare, count, left = (Var(n) for n in ("start", "spare", "count", "left"))
        low, high = Var("low", self.key_type), Var("high", self.key_type)
        is_parted, is_long = Var("is_parted", dt.b1), Var("is_long", dt.b1)
        held = minimum(count, self.leaf)
        alike = self._alike(low)
        alone = (
            *self.networks.told(count),
            *self._fetched(end - held, held),
            If(is_long, (alike,), self._in_order(start, count)),
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
            Carry(waiting, const(len(ranges)), after, done),
            Carry(end, behind, select(is_parted, end, end - held), begin),
        )
        return (*found, While(carries, waiting > 0, body))

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


class _Rows:
    """The kernel that sorts the rows of `x`, one after the other."""

    def __init__(self, x: ArrayType, target: Target, *, places: bool, descending: bool) -> None:
        self.kinds = Keys(x, target, places=places, descending=descending)
        self.length, lanes = x.shape[-1], self.kinds.lanes
        self.half = (-(-self.length // lanes) + 1) * lanes
        order = self.kinds.order
        self.tasks = order.Tasks(x, on_stack=self.length <= order.STACK_ROW)
        self.out = self.kinds.results(self.tasks.rows)
        self.keys, self.row = self.tasks.extra("keys", self.kinds.type, 2 * self.half)
        self.ranges = Ranges(self.kinds, self.keys, self.row, self.out, self.tasks.row, self.length)
        self.tallies = Buffer("tallies", self.kinds.type, (3, lanes), Space.STACK, alignment=64)

    def sequence(self) -> LaunchSequence:
        """The launch."""
        zero, length = const(0), const(self.length)
        tallies = self.tallies if self.kinds.counts_special else None
        vectors = -(-self.length // self.kinds.lanes)
        body = (
            *self.kinds.made(vectors, None, self._value, self._keep, tallies),
            *self.ranges.sorted(
                [(zero, const(self.half), length, Const(0, self.kinds.type), self.kinds.last)],
                length,
            ),
        )
        if tallies is not None:
            body = (Alloc(tallies, (*body, *self._as_they_stand())),)
        body = self.ranges.in_memory(body)
        made: Kernel = self.tasks.kernel("sort_vectors", [self.kinds.numbers, self.out], body)
        calls = (Call(made, made.buffers),)
        return LaunchSequence((self.tasks.source, self.out), calls, self.kinds.tables)

    def _value(self, place: Expr) -> Load:
        return Load(self.tasks.source, (self.tasks.row, place))

    def _keep(self, place: Expr, key: Expr) -> Stmt:
        return Store(self.keys, (*self.row, place), key)

    def _as_they_stand(self) -> Body:
        """Stores zeros and NaN in the order in which they stand, where these may differ."""
        k, (below, nan, negative) = Var("k"), (Var(n) for n in ("below", "nan", "negative"))
        carries = []
        for n, total in enumerate((below, nan, negative)):
            before, one = Var("before"), Load(self.tallies, (const(n), k)).cast(dt.i64)
            carries.append(Carry(before, const(0), before + one, total))
        again = as_they_stand(
            self.length,
            self._value,
            lambda place, value: Store(self.out, (self.tasks.row, place), value),
            below,
            const(self.length) - nan,
        )
        return (
            For(k, self.kinds.lanes, Kind.SERIAL, (), tuple(carries)),
            If((nan + negative).differs(0), (again,)),
        )


def as_they_stand(
    count: int | Expr,
    element: Callable[[Expr], Expr],
    store: Callable[[Expr, Expr], Stmt],
    zeros: Expr,
    nans: Expr,
) -> Stmt:
    """Stores the zeros and NaN of so many elements in the order in which they stand. element: by
    its number; store: a value, by its place; zeros, nans: the places of the first of each."""
    i = Var("i")
    first = element(i)
    value, is_zero, is_nan = Var("value", first.dtype), Var("is_zero", dt.b1), Var("is_nan", dt.b1)
    zero_at, nan_at = Var("zero_at"), Var("nan_at")
    places = (
        Carry(zero_at, zeros, zero_at + is_zero.cast(dt.i64), Var("end")),
        Carry(nan_at, nans, nan_at + is_nan.cast(dt.i64), Var("end")),
    )
    body = (
        Let(value, first),
        Let(is_zero, value.equal(0.0)),
        Let(is_nan, value.differs(value)),
        If(is_zero | is_nan, (store(select(is_zero, zero_at, nan_at), value),)),
    )
    return For(i, count, Kind.SERIAL, body, places)


def _middle(x: Expr, y: Expr, z: Expr) -> Expr:
    """The middle one of three keys."""
    return maximum(minimum(x, y), minimum(maximum(x, y), z))


def is_by_vectors(op: str, x: ArrayType, target: Target) -> bool:
    """Whether the target parts vectors of the keys of such elements, in `argsort` with places."""
    sizes = (4,) if op == "argsort" else (4, 8)
    return target.parts_vectors and x.dtype.itemsize in sizes


def sort_vectors(
    op: str, types: tuple[ArrayType, ...], target: Target, *, descending: bool
) -> LaunchSequence | None:
    """The launch of `sort` or `argsort`; None: rows are short, it is not worth the compilation, or
    the target does not part vectors of such keys."""
    (x,) = types
    places = op == "argsort"
    if not is_by_vectors(op, x, target):
        return None
    if x.size < WORTH or not LEAST <= x.shape[-1] < 1 << 31:
        return None
    return _Rows(x, target, places=places, descending=descending).sequence()
