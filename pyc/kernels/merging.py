"""Merging in blocks of threads: the parts that sorting by blocks is made of.

A block has the keys of some elements in shared memory; each of its threads gives `items`
neighbouring elements of the result. Which ones, it finds on the merge path: of the first d
elements of two merged lines, a come from the first, where a is the least number such that the
next one of the first line comes after the last one of the second (Green, McColl, Bader, "GPU merge
path", ICS 2012). An element of the first line goes before an equal one of the second, so merging
neighbouring lines keeps the order of equal elements.

Places within a block are i32; they become i64 where memory is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.expr import Const, Expr, Load, Var, const, maximum, minimum, select
from pyc.ir.loops import (
    Accumulate,
    Barrier,
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

MERGE_LOOP = Kind.SERIAL


@frozen()
class Tile:
    """A block's elements: `threads`, a power of two from 4 on, times `items`, at least 1."""

    threads: int
    items: int

    @property
    def size(self) -> int:
        """Elements of the block."""
        return self.threads * self.items


def small(value: int) -> Const:
    """A place within a block."""
    return const(value, dt.i32)


def at(buffer: Buffer, place: Expr) -> Expr:
    """The element of a line of shared memory at a place of any integer type."""
    return Load(buffer, (place.cast(dt.i64),))


def put(buffer: Buffer, place: Expr, value: Expr) -> Stmt:
    """Stores there, in the type of the buffer."""
    return Store(buffer, (place.cast(dt.i64),), value.cast(buffer.dtype))


def shared(name: str, dtype: dt.DType, size: int) -> Buffer:
    """A line of shared memory."""
    return Buffer(name, dtype, (size,), Space.SHARED)


def greatest(dtype: dt.DType) -> Const:
    """The greatest value of an unsigned type: no key of a number is greater."""
    return Const((1 << dtype.bits) - 1, dtype)


# --- one thread -----------------------------------------------------------------------------------


@frozen()
class Lines:
    """Two neighbouring lines of keys in shared memory: [first, middle) and [middle, end)."""

    keys: Buffer
    first: Expr
    middle: Expr
    end: Expr


def path(lines: Lines, distance: Expr) -> tuple[list[Stmt], Var]:
    """How many of the first `distance` merged elements come from the first line."""
    low, high, found, rest = (Var(n, dt.i32) for n in ("low", "high", "found", "rest"))
    probe, fine = Var("probe", dt.i32), Var("fine", dt.b1)
    before = at(lines.keys, lines.middle + (distance - 1 - probe))
    body = (
        Let(probe, (low + high) >> 1),
        Let(fine, at(lines.keys, lines.first + probe) <= before),
    )
    least = maximum(distance - (lines.end - lines.middle), 0)
    most = minimum(distance, lines.middle - lines.first)
    carries = (
        Carry(low, least, select(fine, probe + 1, low), found),
        Carry(high, most, select(fine, high, probe), rest),
    )
    return [While(carries, low < high, body)], found


@frozen()
class _Front:
    """The next elements of two lines: where they lie, and their keys."""

    left: Expr
    right: Expr
    left_key: Expr
    right_key: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        """All four."""
        return self.left, self.right, self.left_key, self.right_key


def _bound(body: list[Stmt], name: str, value: Expr) -> Var:
    var = Var(name, value.dtype)
    body.append(Let(var, value))
    return var


def _key(lines: Lines, place: Expr) -> Expr:
    last = lines.keys.shape[0]
    assert isinstance(last, int)
    return at(lines.keys, minimum(place, last - 1))


def _start(lines: Lines, distance: Expr) -> tuple[list[Stmt], _Front]:
    """What the elements of two lines from `distance` on begin with."""
    body, taken = path(lines, distance)
    left = _bound(body, "left", lines.first + taken)
    right = _bound(body, "right", lines.middle + (distance - taken))
    left_key = _bound(body, "left_key", _key(lines, left))
    return body, _Front(left, right, left_key, _bound(body, "right_key", _key(lines, right)))


def _taken(body: list[Stmt], lines: Lines, front: _Front) -> Var:
    """Whether the next element is one of the first line."""
    ends = front.right >= lines.end
    first = (front.left < lines.middle) & (ends | (front.left_key <= front.right_key))
    return _bound(body, "first", first)


def _next(body: list[Stmt], lines: Lines, front: _Front, first: Var) -> _Front:
    """The front without its next element."""
    step = first.cast(dt.i32)
    left = _bound(body, "left", front.left + step)
    right = _bound(body, "right", front.right + 1 - step)
    following = _bound(body, "following", _key(lines, select(first, left, right)))
    left_key = _bound(body, "left_key", select(first, following, front.left_key))
    right_key = _bound(body, "right_key", select(first, front.right_key, following))
    return _Front(left, right, left_key, right_key)


def merged(lines: Lines, distance: Expr, items: int) -> tuple[list[Stmt], list[tuple[Expr, Expr]]]:
    """Statements that find the place and the key of the merged elements from `distance` on, and
    these; beyond the last one they are of no meaning."""
    body, front = _start(lines, distance)
    found: list[tuple[Expr, Expr]] = []
    for number in range(items):
        first = _taken(body, lines, front)
        place = _bound(body, "place", select(first, front.left, front.right))
        key = _bound(body, "key", select(first, front.left_key, front.right_key))
        found.append((place, key))
        if number < items - 1:
            front = _next(body, lines, front, first)
    return body, found


def merged_places(
    lines: Lines, distance: Expr, items: int, places: Buffer, start: Expr
) -> list[Stmt]:
    """Statements that store the places of the merged elements from `distance` on in `places` from
    `start` on, one after the other."""
    body, initial = _start(lines, distance)
    number = Var("number")
    names = ("left", "right", "left_key", "right_key")
    now = _Front(*(Var(n, e.dtype) for n, e in zip(names, initial.parts, strict=True)))
    after = [Var(n, e.dtype) for n, e in zip(names, initial.parts, strict=True)]
    inner: list[Stmt] = []
    first = _taken(inner, lines, now)
    place = select(first, now.left, now.right)
    inner.append(put(places, start + number.cast(dt.i32), place))
    following = _next(inner, lines, now, first)
    columns = zip(now.parts, initial.parts, following.parts, after, strict=True)
    carries = tuple(Carry(v, i, n, r) for v, i, n, r in columns if isinstance(v, Var))
    body.append(For(number, items, MERGE_LOOP, tuple(inner), carries))
    return body


def in_order(
    keys: Sequence[Expr], places: Sequence[Expr]
) -> tuple[list[Stmt], list[Expr], list[Expr]]:
    """Statements that sort a thread's few elements by neighbouring exchanges, so that equal ones
    keep their order, and the sorted keys and places."""
    body: list[Stmt] = []
    found, at_place = list(keys), list(places)

    def bound(name: str, value: Expr) -> Var:
        var = Var(name, value.dtype)
        body.append(Let(var, value))
        return var

    for turn in range(len(found)):
        for k in range(turn % 2, len(found) - 1, 2):
            swap = bound("swap", found[k + 1] < found[k])
            for line in (found, at_place):
                one, two = line[k], line[k + 1]
                line[k] = bound("one", select(swap, two, one))
                line[k + 1] = bound("two", select(swap, one, two))
    return body, found, at_place


# --- a block --------------------------------------------------------------------------------------


def sorted_tile(tile: Tile, thread: Var, keys: Buffer, places: Buffer) -> list[Stmt]:
    """Sorts the keys of a block in shared memory, with their places before sorting. The keys are
    there and the threads have met; afterwards they have met too."""
    start = Var("start", dt.i32)
    body: list[Stmt] = [Let(start, thread.cast(dt.i32) * tile.items)]
    own: list[Expr] = []
    for k in range(tile.items):
        var = Var("own", keys.dtype)
        body.append(Let(var, at(keys, start + k)))
        own.append(var)
    sorting, own, numbers = in_order(own, [start + k for k in range(tile.items)])
    body += sorting
    for k, (key, number) in enumerate(zip(own, numbers, strict=True)):
        body += [put(keys, start + k, key), put(places, start + k, number)]
    body.append(Barrier("block"))
    rounds = tile.threads.bit_length() - 1
    if not rounds:
        return body
    number, width, last = Var("round"), Var("width", dt.i32), Var("last", dt.i32)
    threads = Var("threads", dt.i32)
    together = Var("together", dt.i32)
    first = Var("first", dt.i32)
    inner: list[Stmt] = [
        # `threads` of a line; a pair of lines begins at a multiple of two of them.
        Let(threads, width * 2),
        Let(together, thread.cast(dt.i32) & (threads - 1)),
        Let(first, start - together * tile.items),
    ]
    half = width * tile.items
    lines = Lines(keys, first, first + half, first + half * 2)
    steps, found = merged(lines, together * tile.items, tile.items)
    inner += steps
    stores: list[Stmt] = []
    for k, (place, key) in enumerate(found):
        moved = Var("moved", places.dtype)
        inner.append(Let(moved, at(places, place)))
        stores += [put(keys, start + k, key), put(places, start + k, moved)]
    inner += [Barrier("block"), *stores, Barrier("block")]
    carry = Carry(width, small(1), width * 2, last)
    body.append(For(number, rounds, Kind.SERIAL, tuple(inner), (carry,)))
    return body


def each_item(tile: Tile, thread: Var, statement: Callable[[Expr], Body]) -> list[Stmt]:
    """Statements for the elements of a block, neighbouring threads on neighbouring ones."""
    k = Var("k")
    return [For(k, tile.items, Kind.UNROLL, statement(k * tile.threads + thread))]


# --- a block and lines in memory ------------------------------------------------------------------


def searched(
    tile: Tile,
    thread: Var,
    counts: Buffer,
    first_key: Callable[[Expr], Expr],
    second_key: Callable[[Expr], Expr],
    lengths: tuple[Expr, Expr],
    distances: tuple[Expr, Expr],
    longest: int,
) -> tuple[list[Stmt], Var, Var]:
    """The merge path of two lines in memory, of up to `longest` elements each, at two distances:
    each half of the threads probes for one, and knows it; the path and the half. counts: zeroed
    shared memory of 2 * `search_steps(...)`; the threads have met since."""
    probes = tile.threads // 2
    side, number = Var("side"), Var("number")
    distance = Var("distance")
    body: list[Stmt] = [
        Let(side, thread >> (probes.bit_length() - 1)),
        Let(number, thread & (probes - 1)),
        Let(distance, select(side.equal(0), distances[0], distances[1])),
    ]
    low, high, found, rest = Var("low"), Var("high"), Var("found"), Var("rest")
    stride, probe, reached = Var("stride"), Var("probe"), Var("reached")
    inside, count = Var("inside", dt.b1), Var("count")
    step = Var("step")
    passes = first_key(maximum(minimum(probe, lengths[0] - 1), 0)) <= second_key(
        maximum(minimum(distance - 1 - probe, lengths[1] - 1), 0)
    )
    slot = step * 2 + side
    inner: Body = (
        Let(stride, ((high - low) >> (probes.bit_length() - 1)) + 1),
        Let(probe, low + (number + 1) * stride - 1),
        Let(inside, probe < high),
        If(inside & passes, (Accumulate(counts, (slot,), const(1, dt.i32), "add"),)),
        Barrier("block"),
        Let(count, at(counts, slot).cast(dt.i64)),
        Let(reached, low + count * stride),
    )
    carries = (
        Carry(low, maximum(distance - lengths[1], 0), reached, found),
        Carry(
            high,
            minimum(distance, lengths[0]),
            minimum(high, reached + stride - 1),
            rest,
        ),
    )
    body.append(For(step, search_steps(tile, longest), Kind.SERIAL, inner, carries))
    return body, found, side


def zeroed(tile: Tile, thread: Var, counts: Buffer) -> list[Stmt]:
    """Statements that clear shared memory; the threads have still to meet."""
    (size,) = counts.shape
    assert isinstance(size, int)
    k = Var("k")
    place = k * tile.threads + thread
    clear = Store(counts, (place,), Const(0, counts.dtype))
    turns = -(-size // tile.threads)
    body: Body = (clear,) if size == turns * tile.threads else (If(place < size, (clear,)),)
    return [For(k, turns, Kind.UNROLL, body)]


def search_steps(tile: Tile, longest: int) -> int:
    """Rounds of probes that `searched` needs for lines of up to so many elements."""
    steps, length = 0, longest
    while length:
        length //= tile.threads // 2
        steps += 1
    return steps
