"""Sorting few long rows on a CPU by vectors, in tasks (see `sort_vectors` for what keys are).

    sort_bounds    samples of a row are sorted: some of them are the bounds of its buckets
    sort_chunks    each task makes the keys of a chunk of a row, and parts them in its own memory by
                   the middle bound, the parts by the middle bounds of theirs, and so on; the parts
                   are stored side by side, and where each begins                       (parallel)
    sort_buckets   each task brings the parts of a bucket together, in two ranges about a bound in
                   the middle, and sorts these; then those of the next one, in the same memory
                                                                                        (parallel)
    sort_special   where a row has negative zeros or NaN, each task stores its zeros and NaN as
                   they stand                                                           (parallel)

Parting by bounds is what a quicksort does in its first turns, here while a chunk lies in the caches
of a core; then a bucket does. How many chunks and buckets there are follows from the length alone,
and no result from either: equal keys are equal elements, or are stored again as they stand. A
bucket may have all elements of the row; then one task sorts it, in bounded turns.
"""

from __future__ import annotations

from math import prod

from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Const, Expr, Load, Var, apply, const, minimum, select
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
from pyc.ir.visit import Rewriter
from pyc.kernels.sequence import Call, LaunchSequence
from pyc.kernels.sort_vectors import Keys, Ranges, as_they_stand, is_by_vectors

LEAST = 1 << 18
"""Elements of a row from which it is cut."""
FEW_ROWS = 8
"""Rows fewer than this are cut; more are tasks."""
BYTES = 1 << 17
"""Bytes of the keys of a chunk, and of a bucket, at most where buckets are few enough."""
BUCKETS = (16, 128)
"""Buckets of a row at least, and at most."""
SEVERAL = 4
"""Buckets that a task sorts at most; as many tasks as the fewest buckets are left."""
SAMPLES = 8
"""Samples of a row for each bucket, a power of two: a bucket has as many keys as expected, give or
take a third."""
COUNTED = 4
"""What is counted of the elements of a chunk (`Keys.special`)."""
SCATTERED = 0x9E3779B1
"""What the number of a sample is multiplied by for its place in its share of the row: data that
repeat are not met at the same point each time."""


class Parts:
    """The kernels that sort the rows of `x`. chunk: elements of a task, of whole vectors; buckets:
    a power of two; when: buffers that say whether a row is sorted at all in each of some rounds,
    and the number of this one."""

    def __init__(
        self,
        x: ArrayType,
        target: Target,
        chunk: int,
        buckets: int,
        *,
        places: bool,
        descending: bool,
        when: tuple[Buffer, Buffer] | None,
    ) -> None:
        self.kinds, self.when = Keys(x, target, places=places, descending=descending), when
        self.lanes, self.last, self.key_type = self.kinds.lanes, self.kinds.last, self.kinds.type
        self.rows, self.length = prod(x.shape[:-1]), x.shape[-1]
        self.chunk, self.chunks, self.buckets = chunk, -(-self.length // chunk), buckets
        self.x = Buffer("x", x.dtype, (self.rows, self.length), role="in")
        self.out = self.kinds.results(self.rows)
        lanes, tasks = self.lanes, self.rows * self.chunks
        # The least key of each bucket, and one in its middle.
        self.bounds = self._scratch("bounds", self.key_type, self.rows, 2 * buckets)
        # The keys of each chunk, bucket by bucket, and a vector behind them.
        self.parts = self._scratch("parts", self.key_type, tasks, chunk + lanes)
        # Where the part of each bucket begins in each chunk, and where the last one ends.
        self.begins = self._scratch("begins", dt.i64, self.rows, buckets + 1, self.chunks)
        self.tallies = self._scratch("tallies", dt.i64, tasks, COUNTED)
        # Two places for the keys of each bucket, and a vector behind them in either.
        self.half = self.length + buckets * 2 * lanes
        self.keys = self._scratch("keys", self.key_type, self.rows, 2 * self.half)
        calls = [self._bounds(), self._chunks(), self._buckets()]
        if self.kinds.counts_special:
            calls.append(self._special())
        self.calls = tuple(calls)

    def _scratch(self, name: str, dtype: DType, *shape: int) -> Buffer:
        return Buffer(name, dtype, shape, role="inout", alignment=64)

    def _local(self, name: str, dtype: DType, *shape: int) -> Buffer:
        return Buffer(name, dtype, shape, Space.STACK, alignment=64)

    # --- parts

    def _called(
        self,
        name: str,
        given: tuple[Buffer, ...],
        made: tuple[Buffer, ...],
        count: int,
        variables: tuple[Var, Var],
        body: Body,
    ) -> Call:
        """A call that does `body` for each row that is sorted, and each number below `count`."""
        row, number = variables
        if self.when is not None:
            rounds, this = self.when
            body = (If(Load(rounds, (row, Load(this, (const(0),)))).differs(0), body),)
            given = (*given, *self.when)
        return call_of(name, given, made, tasks_of(self.rows, count, row, number, body))

    def _vector(self, buffer: Buffer, index: tuple[Expr, ...], value: Expr) -> Stmt:
        """Stores one value to all lanes from an element on."""
        lane = Var("lane")
        body = (Store(buffer, (*index[:-1], index[-1] + lane), value),)
        return For(lane, self.lanes, Kind.VECTOR, body)

    def _copied(
        self,
        count: Expr,
        target: tuple[Buffer, tuple[Expr, ...]],
        source: tuple[Buffer, tuple[Expr, ...]],
    ) -> Stmt:
        """Copies neighbouring keys, in whole vectors. The index of the first is each one's last."""
        v, lane = Var("v"), Var("lane")
        (to, at), (buffer, here) = (
            (b, (*index[:-1], index[-1] + (v * self.lanes + lane))) for b, index in (target, source)
        )
        body = (Store(to, at, Load(buffer, here)),)
        vectors = (count + (self.lanes - 1)) >> self.kinds.shift
        return For(v, vectors, Kind.SERIAL, (For(lane, self.lanes, Kind.VECTOR, body),))

    # --- kernels

    def _bounds(self) -> Call:
        """Finds the rank of each sample, and keeps those that are bounds."""
        count, step = SAMPLES * self.buckets, SAMPLES // 2
        share = self.length // count
        width = 1 << (share.bit_length() - 1)
        samples = self._local("samples", self.key_type, count)
        ranks = self._local("ranks", self.key_type, 2, self.lanes)
        row, s, at, b = Var("row"), Var("s"), Var("at"), Var("b")
        drawn = (
            Let(at, s * share + (((s * SCATTERED) >> 16) & (width - 1))),
            Store(samples, (s,), self.kinds.of(Load(self.x, (row, at)), at)),
        )
        t, lane, v, u = Var("t"), Var("lane"), Var("v"), Var("u")
        key, zero = Var("key", self.key_type), Const(0, self.key_type)
        other = Load(samples, (v * self.lanes + lane,))
        # A sample has all ranks from the number of those below it on that its equals share.
        counted, stored, totals = [], [], []
        for n, is_before in enumerate((other < key, ~(key < other))):
            before, found = Var("before", self.key_type), Var("found", self.key_type)
            counted.append(Carry(before, zero, before + is_before.cast(self.key_type), found))
            stored.append(Store(ranks, (const(n), lane), found))
            total, more = Var("total"), Load(ranks, (const(n), u)).cast(dt.i64)
            totals.append(Carry(total, const(0), total + more, Var("rank")))
        below, behind = ((c.result + (step - 1)) >> (step.bit_length() - 1) for c in totals)
        each = For(v, count // self.lanes, Kind.SERIAL, (), tuple(counted))
        ranked = (
            Let(key, Load(samples, (t,))),
            For(lane, self.lanes, Kind.VECTOR, (each, *stored)),
            For(u, self.lanes, Kind.SERIAL, (), tuple(totals)),
            For(b, behind - below, Kind.SERIAL, (Store(self.bounds, (row, below + b), key),)),
        )
        body: Body = (For(s, count, Kind.SERIAL, drawn), For(t, count, Kind.SERIAL, ranked))
        body = (Alloc(samples, (Alloc(ranks, body),)),)
        at_row = (row, Var("number"))
        return self._called("sort_bounds", (self.x,), (self.bounds,), 1, at_row, body)

    def _chunks(self) -> Call:
        """Parts the keys of each chunk."""
        row, number = Var("row"), Var("number")
        task, begin = row * self.chunks + number, Var("begin")
        count, lanes = Var("count"), self.lanes
        half = self.chunk + lanes * self.buckets
        own = self._local("own", self.key_type, 2 * half)
        starts, spares, counts = (
            self._local(name, dt.i64, self.buckets) for name in ("starts", "spares", "counts")
        )
        sums = (
            self._local("sums", self.key_type, COUNTED, lanes)
            if self.kinds.counts_special
            else None
        )
        zero = const(0)
        b, at, end = Var("b"), Var("at"), Var("end")
        size, over = Var("size"), Var("size")
        # The parts of bucket 0 are all, then half of the buckets, and so on; of others as many as
        # the buckets before them have not in common.
        low_bit = select(b.equal(0), const(self.buckets), b & (zero - b))
        halves = (Carry(size, low_bit, size >> 1, over),)
        parted = self._parted(own, (starts, spares, counts), row, b, size)
        start, here = Var("start"), Var("here")
        together = (
            Let(start, Load(starts, (b,))),
            Let(here, Load(counts, (b,))),
            Store(self.begins, (row, b, number), at),
            self._copied(here, (self.parts, (task, at)), (own, (start,))),
        )
        body: Body = (
            Let(begin, number * self.chunk),
            Let(count, minimum(const(self.chunk), const(self.length) - begin)),
            *self.kinds.made(
                (count + (lanes - 1)) >> self.kinds.shift,
                begin,
                lambda place: Load(self.x, (row, place)),
                lambda place, key: Store(own, (place - begin,), key),
                sums,
            ),
            self._vector(own, (count,), self.last),
            Store(starts, (zero,), zero),
            Store(spares, (zero,), const(half)),
            Store(counts, (zero,), count),
            For(
                b,
                self.buckets,
                Kind.SERIAL,
                (While(halves, size > 1, parted), *together),
                (Carry(at, zero, at + here, end),),
            ),
            Store(self.begins, (row, const(self.buckets), number), end),
            self._vector(self.parts, (task, end), self.last),
        )
        made = [self.parts, self.begins]
        if sums is not None:
            body = (Alloc(sums, (*body, *self._added(sums, task))),)
            made.append(self.tallies)
        for buffer in (own, starts, spares, counts):
            body = (Alloc(buffer, body),)
        given = (self.x, self.kinds.numbers, self.bounds)
        each = (row, number)
        return self._called("sort_chunks", given, tuple(made), self.chunks, each, body)

    def _added(self, sums: Buffer, task: Expr) -> Body:
        """Stores how many elements of a chunk are each of what is counted."""
        u, carries, stores = Var("u"), [], []
        for n in range(COUNTED):
            before, total = Var("before"), Var("total")
            more = before + Load(sums, (const(n), u)).cast(dt.i64)
            carries.append(Carry(before, const(0), more, total))
            stores.append(Store(self.tallies, (task, const(n)), total))
        return (For(u, self.lanes, Kind.SERIAL, (), tuple(carries)), *stores)

    def _parted(
        self,
        own: Buffer,
        memory: tuple[Buffer, Buffer, Buffer],
        row: Expr,
        b: Expr,
        size: Expr,
    ) -> Body:
        """Parts the keys of `size` buckets from `b` on in the middle. Both places that they have
        are longer by `size` vectors: each part has half of these in either."""
        starts, spares, counts = memory
        lanes, half, slack = self.lanes, Var("half"), Var("slack")
        start, spare, count = Var("start"), Var("spare"), Var("count")
        bound = Var("bound", self.key_type)
        v, these, free, over, below = (Var(n) for n in ("v", "these", "free", "over", "below"))
        split = Split(
            these,
            *(own, (start + v * lanes,)),
            bound,
            *(own, (start + free,)),
            *(own, (spare + over,)),
            lanes,
        )
        carries = (
            Carry(free, const(0), free + these, below),
            Carry(over, const(0), over + (lanes - these), Var("others")),
        )
        others = count - below
        return (
            Let(half, size >> 1),
            Let(slack, half * lanes),
            Let(start, Load(starts, (b,))),
            Let(spare, Load(spares, (b,))),
            Let(count, Load(counts, (b,))),
            Let(bound, Load(self.bounds, (row, (b + half) * 2))),
            For(v, (count + (lanes - 1)) >> self.kinds.shift, Kind.SERIAL, (split,), carries),
            Store(counts, (b,), below),
            Store(spares, (b,), spare + (others + slack)),
            Store(starts, (b + half,), spare),
            Store(spares, (b + half,), start + (below + slack)),
            Store(counts, (b + half,), others),
            self._vector(own, (start + below,), self.last),
            self._vector(own, (spare + others,), self.last),
        )

    def _buckets(self) -> Call:
        """Sorts each bucket. A task sorts some neighbouring ones in the same memory, which lies in
        the caches of a core then."""
        row, b, c, again = Var("row"), Var("b"), Var("c"), Var("c")
        group, u, k, memory, so_many = (Var(n) for n in ("group", "u", "k", "memory", "before"))
        several = max(min(SEVERAL, self.buckets // BUCKETS[0]), 1)
        more = Load(self.begins, (row, group * several, k))
        until = Carry(so_many, const(0), so_many + more, memory)
        start, spare = Var("start"), Var("spare")
        first, behind, before, after = (Var(n) for n in ("first", "behind", "before", "after"))
        low, high = Var("low", self.key_type), Var("high", self.key_type)
        middle, begin, here = Var("middle", self.key_type), Var("begin"), Var("here")
        sums = (
            Carry(before, const(0), before + Load(self.begins, (row, b, c)), first),
            Carry(after, const(0), after + Load(self.begins, (row, b + 1, c)), behind),
        )
        v, these, lanes = Var("v"), Var("these"), self.lanes
        free, over, below, others = (Var(n) for n in ("free", "over", "below", "others"))
        so_far, rest, now, then = (Var(n) for n in ("so_far", "rest", "now", "then"))
        # Behind a part are keys of later buckets: they are not below, and the last of a vector.
        split = Split(
            these,
            *(self.parts, (row * self.chunks + again, begin + v * lanes)),
            middle,
            *(self.keys, (row, start + so_far)),
            *(self.keys, (row, spare + rest)),
            lanes,
        )
        there = minimum(const(lanes), here - v * lanes)
        each = (
            Carry(so_far, free, so_far + these, now),
            Carry(rest, over, rest + (there - these), then),
        )
        gathered = (
            Let(begin, Load(self.begins, (row, b, again))),
            Let(here, Load(self.begins, (row, b + 1, again)) - begin),
            For(v, (here + (lanes - 1)) >> self.kinds.shift, Kind.SERIAL, (split,), each),
        )
        is_last = b.equal(self.buckets - 1)
        one_more = Load(self.bounds, (row, minimum(b + 1, const(self.buckets - 1)) * 2))
        ranges = Ranges(self.kinds, self.keys, (row,), self.out, row, self.length)
        body: Body = (
            For(c, self.chunks, Kind.SERIAL, (), sums),
            Let(start, memory + group * (2 * lanes)),
            Let(spare, start + self.half),
            Let(middle, Load(self.bounds, (row, b * 2 + 1))),
            For(
                again,
                self.chunks,
                Kind.SERIAL,
                gathered,
                (Carry(free, const(0), now, below), Carry(over, const(0), then, others)),
            ),
            Let(low, select(b.equal(0), Const(0, self.key_type), Load(self.bounds, (row, b * 2)))),
            Let(high, select(is_last, self.last, one_more - 1)),
            *ranges.sorted(
                (
                    (start, spare, below, low, middle - 1),
                    (spare, start + below, others, middle, high),
                ),
                behind,
            ),
        )
        given = (self.kinds.numbers, self.bounds, self.parts, self.begins)
        body = (
            For(k, self.chunks, Kind.SERIAL, (), (until,)),
            For(u, several, Kind.SERIAL, (Let(b, group * several + u), *body)),
        )
        made, body = (self.out, self.keys), ranges.in_memory(body)
        count = self.buckets // several
        return self._called("sort_buckets", given, made, count, (row, group), body)

    def _special(self) -> Call:
        """Stores zeros and NaN in the order in which they stand, where these may differ."""
        row, number, c = Var("row"), Var("number"), Var("c")
        below, nan, negative, zeros, nans = (
            Var(n) for n in ("below", "nan", "negative", "zeros", "nans")
        )
        first = row * self.chunks

        def tally(n: int) -> Expr:
            return Load(self.tallies, (first + c, const(n)))

        is_before = c < number
        values = (
            (below, tally(0)),
            (nan, tally(1)),
            (negative, tally(2)),
            (zeros, select(is_before, tally(3), const(0))),
            (nans, select(is_before, tally(1), const(0))),
        )
        carries = []
        for total, more in values:
            before = Var("before")
            carries.append(Carry(before, const(0), before + more, total))
        begin = number * self.chunk
        again = as_they_stand(
            minimum(const(self.chunk), const(self.length) - begin),
            lambda i: Load(self.x, (row, begin + i)),
            lambda place, value: Store(self.out, (row, place), value),
            below + zeros,
            const(self.length) - nan + nans,
        )
        body: Body = (
            For(c, self.chunks, Kind.SERIAL, (), tuple(carries)),
            If((nan + negative).differs(0), (again,)),
        )
        given, at = (self.x, self.tallies), (row, number)
        return self._called("sort_special", given, (self.out,), self.chunks, at, body)


def call_of(name: str, given: tuple[Buffer, ...], made: tuple[Buffer, ...], body: Body) -> Call:
    """A call of the kernel `name`, which reads the buffers `given` and may write those `made`."""
    reads = {b: replace(b, role="in") for b in given}
    body = Rewriter(buffers=lambda b: reads.get(b, b)).body(body)
    return Call(Kernel(name, (*reads.values(), *made), body), (*given, *made))


def tasks_of(rows: int, count: int, row: Var, number: Var, body: Body) -> Body:
    """`body` for each row and number below `count`, a task each."""
    task = Var("task")
    lets: tuple[Stmt, ...] = (Let(row, const(0)), Let(number, task))
    if rows > 1:
        lets = (
            Let(row, apply("quotient", task, const(count))),
            Let(number, apply("remainder", task, const(count))),
        )
    return (For(task, rows * count, Kind.PARALLEL, (*lets, *body)),)


def is_few_long(x: ArrayType) -> bool:
    """Whether the rows of `x` are few and long."""
    return 0 < prod(x.shape[:-1]) < FEW_ROWS and LEAST <= x.shape[-1] < 1 << 31


def sorter_of(
    x: ArrayType,
    target: Target,
    *,
    places: bool = False,
    descending: bool = False,
    when: tuple[Buffer, Buffer] | None = None,
) -> Parts:
    """The kernels that sort the rows of `x`, cut by their length."""
    size, length = x.dtype.itemsize * (2 if places else 1), x.shape[-1]
    fewest, most = BUCKETS
    buckets = fewest
    while buckets < most and buckets * BYTES < length * size:
        buckets *= 2
    lanes = target.lanes(size)
    chunk = min(BYTES // size, -(-length // (fewest * lanes)) * lanes)
    while 0 < length % chunk < lanes:  # the last vector of a row is in one chunk
        chunk += lanes
    return Parts(x, target, chunk, buckets, places=places, descending=descending, when=when)


def sort_parts(
    op: str, types: tuple[ArrayType, ...], target: Target, *, descending: bool
) -> LaunchSequence | None:
    """The launches of `sort` or `argsort`; None: rows are short, or enough to be tasks, or the
    target does not part vectors of such keys."""
    (x,) = types
    if not is_few_long(x) or not is_by_vectors(op, x, target):
        return None
    parts = sorter_of(x, target, places=op == "argsort", descending=descending)
    return LaunchSequence((parts.x, parts.out), parts.calls, parts.kinds.tables)
