"""The ops of `ir/ops/sort` on targets with blocks of threads, in the same order.

    each block sorts a tile of a row in shared memory                      (one launch)
    each block merges its share of two sorted lines, the lines twice as long each time

A row that fits a tile is one launch, many rows a block each. Keys are compared, the elements
themselves stay where they are until their place is known, and carry their places in the row where
these are wanted. The rounds of merging are one kernel: how many there were is a number in memory.

Of the `count` first elements of a row, where these are few, each tile keeps that many, and the rest
is sorted again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from math import prod

from pyc.frozen import frozen, replace
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Var, apply, const, minimum, select
from pyc.ir.loops import Alloc, Barrier, Body, Buffer, For, If, Kernel, Kind, Let, Stmt, Store
from pyc.ir.ops.sort import RANKED, sort_key
from pyc.ir.types import ArrayType
from pyc.kernels.merging import (
    Lines,
    Tile,
    at,
    each_item,
    greatest,
    merged_places,
    put,
    search_steps,
    searched,
    shared,
    small,
    sorted_tile,
    zeroed,
)
from pyc.kernels.sequence import Call, LaunchSequence

SHARED_BYTES = 48 << 10
"""Shared memory that a block has without asking."""
THREADS = 256
ITEMS = {1: 11, 2: 11, 4: 11, 8: 7}
"""Elements of a thread, by the bytes of a key; odd, so that neighbours are in different banks."""
FEWER_ITEMS = 7
FEWER = 1 << 17
"""Elements up to which a thread has fewer, so that more blocks are at work."""
FEW_ITEMS = 3
"""Of a thread where rows are short."""
MOST_THREADS = 1024
MOST_ELEMENTS = 1 << 31
"""Elements of a row whose places fit the memory that they are kept in."""
ROW_OF_THREAD = 32
"""Elements of a row up to which a thread finds its first ones."""


def key_type(dtype: DType) -> DType:
    """The type of the keys of elements."""
    return dt.u8 if dtype is dt.b1 else dt.unsigned_of(dtype.bits)


def tile_of(rows: int, length: int, dtype: DType) -> Tile:
    """The tile of rows of so many elements: one that holds a row, if there is one."""
    itemsize = dtype.itemsize
    threads = 32
    while threads < MOST_THREADS and threads * FEW_ITEMS < length:
        threads *= 2
    for items in range(FEW_ITEMS, ITEMS[itemsize] + 1, 2):
        tile = Tile(threads, items)
        if length <= tile.size and tile.size * (itemsize + 2) <= SHARED_BYTES:
            return tile
    items = ITEMS[itemsize] if rows * length > FEWER else FEWER_ITEMS
    return Tile(THREADS, min(items, ITEMS[itemsize]))


@frozen()
class Line:
    """Rows of elements in memory and their places in x, as far as they are wanted. Without places
    of its own, the place of an element that is read is where it lies."""

    values: Buffer | None
    places: Buffer | None

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Those that are there."""
        return tuple(b for b in (self.values, self.places) if b is not None)

    @property
    def dtypes(self) -> tuple[DType | None, ...]:
        """The types of elements and places."""
        return tuple(None if b is None else b.dtype for b in (self.values, self.places))

    def parameters(self, role: str) -> Line:
        """The same as parameters of a kernel."""
        values = self.values and replace(self.values, role=role)
        return Line(values, self.places and replace(self.places, role=role))

    def value(self, row: Expr, place: Expr) -> Expr:
        """The element at a place of a row."""
        assert self.values is not None
        return Load(self.values, (row, place))

    def store(self, row: Expr, place: Expr, source: Line, origin: Expr) -> Body:
        """Stores the element that lies at `origin` in the row of `source`."""
        body: list[Stmt] = []
        if self.values is not None:
            body.append(Store(self.values, (row, place), source.value(row, origin)))
        if self.places is not None:
            found = origin if source.places is None else Load(source.places, (row, origin))
            body.append(Store(self.places, (row, place), found.cast(self.places.dtype)))
        return tuple(body)


class Sorter:
    """The launches that sort rows. key: the unsigned key of an element."""

    def __init__(
        self, rows: int, dtype: DType, tile: Tile, key: Callable[[Expr], Expr], *, places: bool
    ) -> None:
        self.rows = rows
        self.dtype = dtype
        self.keys = key_type(dtype)
        self.tile = tile
        self.key = key
        self.places = places

    def scratch(self, name: str, length: int) -> Line:
        """Memory for rows."""
        shape = (self.rows, length)
        places = Buffer(f"{name}_places", dt.i32, shape, role="inout") if self.places else None
        return Line(Buffer(f"{name}_values", self.dtype, shape, role="inout"), places)

    def first(self, source: Line, result: Line, length: int, count: int) -> tuple[Call, ...]:
        """Stores the `count` first of the rows of `length` elements of `source`."""
        tile = self.tile
        if length <= tile.size:
            return (self.tiles(source, result, length, count),)
        if 2 * count <= tile.size:
            tiles, rest = divmod(length, tile.size)
            kept = tiles * count + min(count, rest)
            fewer = self.scratch(f"best{length}", kept)
            again = self.first(fewer, result, kept, count)
            return (self.tiles(source, fewer, length, count), *again)
        rounds = (-(-length // tile.size) - 1).bit_length()
        done = [Buffer(f"done{k}", dt.i32, (1,), role="inout") for k in range(2)]
        lines = [self.scratch("one", length), self.scratch("two", length)]
        if count == length and result.values is not None and not self.places:
            lines[rounds % 2] = result
        calls = [self.tiles(source, lines[0], length, tile.size, done[0])]
        step = self.merge(lines[0], lines[1], length, length)
        # Where the last round stores what the others do, it is the same kernel.
        alike = count == length and result.dtypes == lines[0].dtypes
        last = step if alike else self.merge(lines[0], result, length, count)
        for k in range(rounds):
            target = result if k == rounds - 1 else lines[(k + 1) % 2]
            buffers = (*lines[k % 2].buffers, *target.buffers, done[k % 2], done[(k + 1) % 2])
            calls.append(Call(last if k == rounds - 1 else step, buffers))
        return tuple(calls)

    # --- tiles

    def tiles(
        self, source: Line, target: Line, length: int, count: int, done: Buffer | None = None
    ) -> Call:
        """Sorts each tile of rows of `length` elements, of which the `count` first are stored, side
        by side. done: is set to no rounds of merging."""
        tile = self.tile
        tiles = -(-length // tile.size)
        block, thread = Var("block"), Var("thread")
        row, number, start = Var("row"), Var("number"), Var("start")
        reads, writes = source.parameters("in"), target.parameters("out")
        keys = shared("keys", self.keys, tile.size)
        numbers = shared("numbers", dt.u16, tile.size)
        ragged = length % tile.size != 0

        def load(item: Expr) -> Body:
            place = start + item
            if not ragged:
                return (put(keys, item, self.key(reads.value(row, place))),)
            key = self.key(reads.value(row, minimum(place, length - 1)))
            return (put(keys, item, select(place < length, key, greatest(self.keys))),)

        def store(item: Expr) -> Body:
            origin = Var("origin")
            body: Body = (
                Let(origin, start + at(numbers, item).cast(dt.i64)),
                *writes.store(row, number * count + item, reads, origin),
            )
            tests = [start + item < length] if ragged else []
            tests += [item < count] if count < tile.size else []
            return within(tests, body)

        inner: list[Stmt] = [
            *split(block, tiles, row, number),
            Let(start, number * tile.size),
            *each_item(tile, thread, load),
            Barrier("block"),
            *sorted_tile(tile, thread, keys, numbers),
            *each_item(tile, thread, store),
        ]
        buffers = [*reads.buffers, *writes.buffers]
        arguments = [*source.buffers, *target.buffers]
        if done is not None:
            none = replace(done, role="out")
            inner.append(If((block + thread).equal(0), (Store(none, (const(0),), small(0)),)))
            buffers.append(none)
            arguments.append(done)
        body = in_blocks(block, self.rows * tiles, thread, tile, (keys, numbers), inner)
        return Call(Kernel("sort_tiles", tuple(buffers), body), tuple(arguments))

    # --- merging

    def merge(self, source: Line, target: Line, length: int, count: int) -> Kernel:
        """Merges neighbouring lines of rows of `length` elements, and stores the `count` first of
        each row. Buffers: source, target, how often tiles were merged before, and after."""
        tile = self.tile
        tiles, stored = -(-length // tile.size), -(-count // tile.size)
        reads, writes = source.parameters("in"), target.parameters("out")
        before, after = (
            Buffer(n, dt.i32, (1,), role=r) for n, r in (("before", "in"), ("after", "out"))
        )
        block, thread = Var("block"), Var("thread")
        row, number = Var("row"), Var("number")
        times, first, middle, end = Var("times"), Var("first"), Var("middle"), Var("end")
        distance, beyond = Var("distance"), Var("beyond")
        keys = shared("keys", self.keys, tile.size)
        numbers = shared("numbers", dt.u16, tile.size)
        longest = tile.size << (tiles - 1).bit_length() - 1
        steps = search_steps(tile, longest)
        counts, splits = shared("counts", dt.i32, 2 * steps), shared("splits", dt.i64, 2)
        width = (const(1) << times) * tile.size
        inner: list[Stmt] = [
            *zeroed(tile, thread, counts),
            *split(block, stored, row, number),
            Let(times, Load(before, (const(0),)).cast(dt.i64)),
            Let(first, ((number >> (times + 1)) << (times + 1)) * tile.size),
            Let(middle, minimum(first + width, length)),
            Let(end, minimum(first + width * 2, length)),
            Let(distance, number * tile.size - first),
            Let(beyond, minimum(distance + tile.size, end - first)),
            Barrier("block"),
        ]
        search, found, side = searched(
            tile,
            thread,
            counts,
            lambda p: self.key(reads.value(row, first + p)),
            lambda p: self.key(reads.value(row, minimum(middle + p, length - 1))),
            (middle - first, end - middle),
            (distance, beyond),
            longest,
        )
        tell = (thread & (tile.threads // 2 - 1)).equal(0)
        taken, total, one, two = Var("taken"), Var("total"), Var("one"), Var("two")
        low, high = at(splits, const(0)), at(splits, const(1))
        inner += [
            *search,
            If(tell, (Store(splits, (side,), found),)),
            Barrier("block"),
            Let(taken, high - low),
            Let(total, beyond - distance),
            # Where an element of the tile lies in the row: so far from its number.
            Let(one, first + low),
            Let(two, middle + (distance - low) - taken),
        ]

        def origin(item: Expr) -> Expr:
            return item + select(item < taken, one, two)

        def load(item: Expr) -> Body:
            key = self.key(reads.value(row, minimum(origin(item), length - 1)))
            return (put(keys, item, key),)

        own, middle_, end_ = (Var(n, dt.i32) for n in ("own", "taken", "total"))
        inner += [
            *each_item(tile, thread, load),
            Barrier("block"),
            Let(own, thread.cast(dt.i32) * tile.items),
            Let(middle_, taken.cast(dt.i32)),
            Let(end_, total.cast(dt.i32)),
        ]
        lines = Lines(keys, small(0), middle_, end_)
        inner += merged_places(lines, minimum(own, end_), tile.items, numbers, own)
        inner.append(Barrier("block"))

        def store(item: Expr) -> Body:
            place = Var("origin")
            result = number * tile.size + item
            body = writes.store(row, result, reads, place)
            tests = [item < total] + ([result < count] if count < length else [])
            return within(tests, (Let(place, origin(at(numbers, item).cast(dt.i64))), *body))

        inner += each_item(tile, thread, store)
        more = Store(after, (const(0),), (times + 1).cast(dt.i32))
        inner.append(If((block + thread).equal(0), (more,)))
        buffers = (*reads.buffers, *writes.buffers, before, after)
        local = (keys, numbers, counts, splits)
        body = in_blocks(block, self.rows * stored, thread, tile, local, inner)
        return Kernel("merge_lines", buffers, body)


def split(block: Var, parts: int, row: Var, number: Var) -> Body:
    """Binds the row and the part of it that a block has."""
    if parts == 1:
        return (Let(row, block), Let(number, const(0)))
    return (Let(row, apply("quotient", block, const(parts))), Let(number, block - row * parts))


def within(tests: Sequence[Expr], body: Body) -> Body:
    """`body` where all tests hold."""
    if not tests:
        return body
    return (If(reduce(operator.and_, tests), body),)


def in_blocks(
    block: Var, blocks: int, thread: Var, tile: Tile, local: Sequence[Buffer], inner: Sequence[Stmt]
) -> Body:
    """The loops around what a thread does."""
    body: Body = (For(thread, tile.threads, Kind.THREAD, tuple(inner)),)
    for buffer in local:
        body = (Alloc(buffer, body),)
    return (For(block, blocks, Kind.GRID, body),)


# --- ops ------------------------------------------------------------------------------------------


def sort_blocks(
    op: str,
    types: tuple[ArrayType, ...],
    *,
    descending: bool,
    k: int | None = None,
    tile: Tile | None = None,
) -> LaunchSequence | None:
    """The launches of a sorting op; None where its logical kernel keeps as many threads busy, and
    for rows whose places are no i32. tile: instead of the one that is best."""
    (x,) = types
    rows, length = prod(x.shape[:-1]), x.shape[-1]
    count = length if k is None else k
    if length >= MOST_ELEMENTS:
        return None
    if tile is None:
        if length <= (RANKED[x.dtype.itemsize] if k is None else ROW_OF_THREAD):
            return None
        tile = tile_of(rows, length, x.dtype)
    values = Buffer("values", x.dtype, (rows, count), role="out") if op != "argsort" else None
    places = Buffer("places", dt.i64, (rows, count), role="out") if op != "sort" else None
    source = Line(Buffer("x", x.dtype, (rows, length), role="in"), None)
    result = Line(values, places)

    def key(value: Expr) -> Expr:
        return sort_key(value, descending)

    sorter = Sorter(rows, x.dtype, tile, key, places=places is not None)
    buffers = (*source.buffers, *result.buffers)
    return LaunchSequence(buffers, sorter.first(source, result, length, count))


def statistics_blocks(
    types: tuple[ArrayType, ...],
    *,
    places: tuple[int, ...],
    descending: bool,
    tile: Tile | None = None,
) -> LaunchSequence | None:
    """The launches of `order_statistics`: a sort as far as its last place, and a choice. None for
    rows whose places are no i32; tile: as of `sort_blocks`."""
    (x,) = types
    rows, length = prod(x.shape[:-1]), x.shape[-1]
    if length >= MOST_ELEMENTS:
        return None
    tile = tile or tile_of(rows, length, x.dtype)
    count = max(places) + 1
    source = Line(Buffer("x", x.dtype, (rows, length), role="in"), None)
    ordered = Line(Buffer("ordered", x.dtype, (rows, count), role="inout"), None)
    result = Buffer("out", x.dtype, (rows, len(places)), role="out")
    sorter = Sorter(rows, x.dtype, tile, lambda v: sort_key(v, descending), places=False)
    calls = sorter.first(source, ordered, length, count)
    choice = Call(_choice(ordered.parameters("in"), result, places), (*ordered.buffers, result))
    return LaunchSequence((*source.buffers, result), (*calls, choice))


def _choice(ordered: Line, result: Buffer, places: tuple[int, ...]) -> Kernel:
    """Stores the elements at some places of each row, a thread each row."""
    rows = result.shape[0]
    assert isinstance(rows, int)
    block, thread, row = Var("block"), Var("thread"), Var("row")
    stores = tuple(
        Store(result, (row, const(n)), ordered.value(row, const(p))) for n, p in enumerate(places)
    )
    inner = (Let(row, block * THREADS + thread), If(row < rows, stores))
    threads = For(thread, THREADS, Kind.THREAD, inner)
    grid = For(block, -(-rows // THREADS), Kind.GRID, (threads,))
    return Kernel("chosen_places", (*ordered.buffers, result), (grid,))
