"""The places of few long rows of 64 bits in order: sorts of keys that have the place in their lower
bits, or the rank so far.

    place_ranges   each task finds the least and the greatest sort key of a chunk        (parallel)
    place_keys     the keys of a row less its least one, as many lower bits as there is room for
                   beside the place                                                      (parallel)
    sort_...       they are sorted (`sort_parts`)
    rank_keys      the bits that had no room, beside the rank by those that had          (parallel)
    sort_...       they are sorted
    place_results  the places are read off                                               (parallel)

The second round does nothing where the keys of a row differ in few bits. Two do always, since a
place has 31 bits at most. Keys are distinct, and equal elements have them in the order of their
places: it is the stable order.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from pyc.forks import load
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.expr import Const, Expr, Load, Var, const, maximum, minimum
from pyc.ir.loops import Alloc, Body, Buffer, Carry, For, If, Kind, Let, Space, Stmt, Store
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.sequence import Call, LaunchSequence
from pyc.kernels.sort_parts import Parts, call_of, is_few_long, sorter_of, tasks_of


class _Places:
    """The kernels that find the places of the sorted elements of `x`, beside those that sort."""

    def __init__(self, x: ArrayType, target: Target, *, descending: bool) -> None:
        self.order, self.descending = load("pyc.ir.ops.sort"), descending
        self.rows, self.length = prod(x.shape[:-1]), x.shape[-1]
        shape = (self.rows, self.length)
        self.x = Buffer("x", x.dtype, shape, role="in")
        self.out = Buffer("out", dt.i64, shape, role="inout")
        # Whether a row is sorted in each round.
        self.rounds = Buffer("rounds", dt.i64, (self.rows, 2), role="inout")
        self.numbers = [Buffer(f"round{k}", dt.i64, (1,), role="in") for k in range(2)]
        when = (self.rounds, self.numbers[0])
        self.parts: Parts = sorter_of(ArrayType(shape, dt.u64), target, when=when)
        self.lanes, self.chunk, self.chunks = (
            self.parts.lanes,
            self.parts.chunk,
            self.parts.chunks,
        )
        self.first = replace(self.out, name="first", dtype=dt.u64)
        self.second = replace(self.out, name="second", dtype=dt.u64)
        self.keys = replace(self.out, name="keys", dtype=dt.u64)
        self.ends = replace(self.out, name="ends", dtype=dt.u64, shape=(self.rows, 2, self.chunks))
        self.bits = (self.length - 1).bit_length()

    def sequence(self) -> LaunchSequence:
        """The launches."""
        tables = [(b, np.array([k], np.int64)) for k, b in enumerate(self.numbers)]
        calls = (
            self._ranges(),
            self._keys(),
            *self._sorted(0, self.first),
            self._ranks(),
            *self._sorted(1, self.second),
            self._results(),
        )
        return LaunchSequence((self.x, self.out), calls, (*self.parts.kinds.tables, *tables))

    def _sorted(self, number: int, out: Buffer) -> tuple[Call, ...]:
        """The launches of a round."""
        own = {self.parts.x: self.keys, self.parts.out: out, self.numbers[0]: self.numbers[number]}
        return tuple(
            Call(c.kernel, tuple(own.get(b, b) for b in c.arguments)) for c in self.parts.calls
        )

    # --- parts

    def _key(self, row: Expr, place: Expr) -> Expr:
        key: Expr = self.order.sort_key(Load(self.x, (row, place)), self.descending)
        return key

    def _place(self, key: Expr) -> Expr:
        """The place, or the rank, that a key has."""
        return (key & ((1 << self.bits) - 1)).cast(dt.i64)

    def _least(self, row: Expr, least: Var, greatest: Var) -> Stmt:
        """Binds the least and the greatest key of a row."""
        c, low, high = Var("c"), Var("low", dt.u64), Var("high", dt.u64)
        carries = (
            Carry(
                low,
                Const((1 << 64) - 1, dt.u64),
                minimum(low, Load(self.ends, (row, const(0), c))),
                least,
            ),
            Carry(
                high,
                Const(0, dt.u64),
                maximum(high, Load(self.ends, (row, const(1), c))),
                greatest,
            ),
        )
        return For(c, self.chunks, Kind.SERIAL, (), carries)

    def _tasks(self, body: Callable[[Expr, Expr, Expr, Expr], Body]) -> Body:
        """`body` for each row and chunk, its first place, and its elements."""
        row, number, begin, count = Var("row"), Var("number"), Var("begin"), Var("count")
        lets = (
            Let(begin, number * self.chunk),
            Let(count, minimum(const(self.chunk), const(self.length) - begin)),
        )
        inner = (*lets, *body(row, number, begin, count))
        return tasks_of(self.rows, self.chunks, row, number, inner)

    def _vectors(
        self,
        begin: Expr,
        count: Expr,
        body: Callable[[Expr], Body],
        carried: tuple[Carry, ...] = (),
        after: Callable[[Expr], Body] = lambda lane: (),
    ) -> Stmt:
        """`body` for each place of a chunk, in whole vectors: the last one of a row may overlap
        the one before it in its chunk. after: what each lane does in the end."""
        v, lane, place = Var("v"), Var("lane"), Var("place")
        first = minimum(begin + v * self.lanes, const(self.length - self.lanes))
        inner = (Let(place, first + lane), *body(place))
        vectors = (count + (self.lanes - 1)) >> self.parts.kinds.shift
        each = For(v, vectors, Kind.SERIAL, inner, carried)
        return For(lane, self.lanes, Kind.VECTOR, (each, *after(lane)))

    # --- kernels

    def _ranges(self) -> Call:
        own = Buffer("own", dt.u64, (2, self.lanes), Space.STACK, alignment=64)

        def body(row: Expr, number: Expr, begin: Expr, count: Expr) -> Body:
            key, u = Var("key", dt.u64), Var("u")
            ends: list[tuple[Expr, Callable[[Expr, Expr], Expr]]] = [
                (Const((1 << 64) - 1, dt.u64), minimum),
                (Const(0, dt.u64), maximum),
            ]
            carries, stores, totals, results = [], [], [], []
            for n, (initial, combine) in enumerate(ends):
                before, found = Var("before", dt.u64), Var("found", dt.u64)
                total, all_lanes = Var("total", dt.u64), Var("all", dt.u64)
                carries.append(Carry(before, initial, combine(before, key), found))
                stores.append((const(n), found))
                more = Load(own, (const(n), u))
                totals.append(Carry(total, initial, combine(total, more), all_lanes))
                results.append(Store(self.ends, (row, const(n), number), all_lanes))
            each = self._vectors(
                begin,
                count,
                lambda place: (Let(key, self._key(row, place)),),
                tuple(carries),
                lambda lane: tuple(Store(own, (n, lane), found) for n, found in stores),
            )
            return (
                Alloc(own, (each, For(u, self.lanes, Kind.SERIAL, (), tuple(totals)), *results)),
            )

        return call_of("place_ranges", (self.x,), (self.ends,), self._tasks(body))

    def _keys(self) -> Call:
        def body(row: Expr, number: Expr, begin: Expr, count: Expr) -> Body:
            least, greatest = Var("least", dt.u64), Var("greatest", dt.u64)
            left = (greatest - least) >> (64 - self.bits)

            def made(place: Expr) -> Body:
                key = ((self._key(row, place) - least) << self.bits) | place.cast(dt.u64)
                return (Store(self.keys, (row, place), key),)

            told = (
                Store(self.rounds, (row, const(0)), const(1)),
                Store(self.rounds, (row, const(1)), left.differs(0).cast(dt.i64)),
            )
            return (
                self._least(row, least, greatest),
                If(number.equal(0), told),
                self._vectors(begin, count, made),
            )

        made = (self.keys, self.rounds)
        return call_of("place_keys", (self.x, self.ends), made, self._tasks(body))

    def _ranks(self) -> Call:
        def body(row: Expr, number: Expr, begin: Expr, count: Expr) -> Body:
            least, greatest = Var("least", dt.u64), Var("greatest", dt.u64)
            i, rank, place = Var("i"), Var("rank"), Var("place")
            high = (self._key(row, place) - least) >> (64 - self.bits)
            key = (high << self.bits) | rank.cast(dt.u64)
            each = (
                Let(rank, begin + i),
                Let(place, self._place(Load(self.first, (row, rank)))),
                Store(self.keys, (row, rank), key),
            )
            inner = (self._least(row, least, greatest), For(i, count, Kind.SERIAL, each))
            return (If(Load(self.rounds, (row, const(1))).differs(0), inner),)

        given = (self.x, self.ends, self.rounds, self.first)
        return call_of("rank_keys", given, (self.keys,), self._tasks(body))

    def _results(self) -> Call:
        def body(row: Expr, number: Expr, begin: Expr, count: Expr) -> Body:
            i, at, rank = Var("i"), Var("at"), Var("rank")
            place = self._place(Load(self.first, (row, rank)))
            twice = (
                Let(at, begin + i),
                Let(rank, self._place(Load(self.second, (row, at)))),
                Store(self.out, (row, at), place),
            )

            def once(at: Expr) -> Body:
                return (Store(self.out, (row, at), self._place(Load(self.first, (row, at)))),)

            again = Load(self.rounds, (row, const(1))).differs(0)
            each = For(i, count, Kind.SERIAL, twice)
            return (If(again, (each,), (self._vectors(begin, count, once),)),)

        given = (self.rounds, self.first, self.second)
        return call_of("place_results", given, (self.out,), self._tasks(body))


def sort_places(
    op: str, types: tuple[ArrayType, ...], target: Target, *, descending: bool
) -> LaunchSequence | None:
    """The launches of `argsort`; None: elements are not of 64 bits, rows are short, or enough to be
    tasks, or the target does not part vectors."""
    (x,) = types
    if op != "argsort" or x.dtype.itemsize != 8 or not target.parts_vectors or not is_few_long(x):
        return None
    return _Places(x, target, descending=descending).sequence()
