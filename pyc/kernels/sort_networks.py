"""Sorting a short range of keys by networks of vectors (see `sort_vectors` for what keys are).

    columns   the range is a matrix whose rows are vectors: its columns are sorted, each in a lane
    lines     pairs of columns become one line in order, then pairs of lines, and so on: the keys of
              two lines meet from where the one ends and the other begins, the lower ones are the
              first line then; then keys of a line meet that are half of it apart, a quarter, ...
    turned    the matrix is transposed, so that the keys in order lie in rows

Most keys that meet so are in the same lane of two vectors: with 16 lanes a vector's own are
exchanged in 10 steps, where lines along the rows take 26. There are 8, 16 or 32 rows, so that loops
have few lengths, which a processor foresees; behind a range are keys that are the greatest. The
greater one of two keys is what the lower one leaves of their `^`: processors have one unit for
extrema of integers, and two for bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from pyc.ir import dtype as dt
from pyc.ir.expr import Expr, Load, Shuffle, Var, const, maximum, minimum, select
from pyc.ir.loops import Body, Buffer, For, If, Kind, Let, Stmt, Store

BLOCK = 8
"""Rows whose columns are sorted in registers."""


def comparators(count: int) -> Iterator[tuple[int, int]]:
    """Pairs of places whose keys meet, one pair after the other, after which `count` keys, a power
    of two, are in order: Batcher's merges of even and odd places."""
    half = 1
    while half < count:
        apart = half
        while apart:
            for start in range(apart % half, count - apart, 2 * apart):
                for k in range(start, start + apart):
                    if k // (2 * half) == (k + apart) // (2 * half):
                        yield k, k + apart
            apart //= 2
        half *= 2


class Networks:
    """Sorts keys in `held`, which has room for `most` vectors: 8, 16 or 32, of 8 or 16 lanes. Rows
    are as few of these as have room for the keys. number: that of a lane as a key, from memory."""

    def __init__(self, held: Buffer, most: int, lanes: int, number: Callable[[Expr], Expr]) -> None:
        assert lanes in (BLOCK, 2 * BLOCK) and most in (BLOCK, 2 * BLOCK, 4 * BLOCK)
        self.held, self.most, self.lanes, self.number = held, most, lanes, number
        self.doublings, self.rows = Var("doublings"), Var("rows")
        # The bits of the numbers of the lanes that one line after the other is made of. The three
        # lowest come last: they are what rows are numbered by in the end, if there are only eight.
        self.bits = [1, 2, 4] if lanes == BLOCK else [8, 1, 2, 4]

    def told(self, count: Expr) -> Body:
        """Says how many keys there are."""
        size = BLOCK * self.lanes
        doublings: Expr = const(0)
        while size < self.most * self.lanes:
            doublings = doublings + (count > size).cast(dt.i64)
            size *= 2
        return (Let(self.doublings, doublings), Let(self.rows, const(BLOCK) << self.doublings))

    def sorted(self, keys: Callable[[Expr, Expr], Expr]) -> Body:
        """Holds keys in order. keys: the one of a row and a lane, by the number of the row's first
        one."""
        n, line, half = Var("n"), Var("line"), Var("half")
        met = [self._lines(sum(self.bits[: k + 1]), bit) for k, bit in enumerate(self.bits)]
        chosen: Body = (met[-1],)
        for k in reversed(range(len(met) - 1)):
            chosen = (If(line.equal(k), (met[k],), chosen),)
        within = list(enumerate(self.bits[:-1]))
        columns = [If(line > k, (self._exchanged_lanes(bit),)) for k, bit in reversed(within)]
        body: Body = (Let(line, n - self.doublings), *chosen, *columns)
        if self.most > BLOCK:
            blocks = (Let(half, const(BLOCK) << n), self._blocks(half))
            # Rows that are half of all apart may be in order: it does no harm that they meet.
            is_far = (n > 0) & (self.rows > BLOCK)
            body = (If(n < self.doublings, blocks, body), If(is_far, self._far()))
        return (
            self._columns(keys),
            For(n, self.doublings + len(met), Kind.SERIAL, (*body, self._near())),
            *self._turned(),
        )

    def row(self, number: Expr) -> Expr:
        """Which row has a vector of the keys in order."""
        row, twice = number >> self.doublings, self.doublings >> 1
        if self.lanes == BLOCK:
            return row + (number & ((const(1) << self.doublings) - 1)) * BLOCK
        # Columns that are eight apart are a line first: the bit before those of a row's own number.
        return row + ((number & 1) * self.doublings + ((number >> 1) & twice)) * BLOCK

    # --- parts

    def _changed(
        self,
        places: Sequence[Expr],
        change: Callable[[list[Expr], Var, list[Stmt]], None],
        keys: Callable[[Expr, Expr], Expr] | None = None,
    ) -> Stmt:
        """Changes the keys of some rows, which are held or given, by the places of the first ones.
        change: takes the keys of a lane, and where statements go."""
        lane, body, found = Var("lane"), list[Stmt](), list[Expr]()
        for place in places:
            key = keys(place, lane) if keys else Load(self.held, (place + lane,))
            x = Var("x", self.held.dtype)
            body.append(Let(x, key))
            found.append(x)
        change(found, lane, body)
        stores = (Store(self.held, (p + lane,), x) for p, x in zip(places, found, strict=True))
        return For(lane, self.lanes, Kind.VECTOR, (*body, *stores))

    def _rows(self, first: Var, count: int, unit: int = 1) -> list[Expr]:
        """The places of the first keys of rows that are `unit` apart, from one on."""
        return [first, *(first + k * unit * self.lanes for k in range(1, count))]

    def _met(
        self,
        places: Sequence[Expr],
        pairs: Iterable[tuple[int, int]],
        keys: Callable[[Expr, Expr], Expr] | None = None,
    ) -> Stmt:
        """Pairs of some rows meet in each lane: the first of two has the lower keys then."""

        def meets(found: list[Expr], lane: Var, body: list[Stmt]) -> None:
            for one, other in pairs:
                x, y = found[one], found[other]
                low, high = Var("low", x.dtype), Var("high", x.dtype)
                body += (Let(low, minimum(x, y)), Let(high, x ^ y ^ low))
                found[one], found[other] = low, high

        return self._changed(places, meets, keys)

    def _columns(self, keys: Callable[[Expr, Expr], Expr]) -> Stmt:
        """Holds keys, with the columns of blocks of rows in order."""
        return self._in_blocks(lambda places: self._met(places, comparators(BLOCK), keys))

    def _near(self) -> Stmt:
        """Rows of a block meet that are half of it apart, then a quarter, then one."""
        return self._in_blocks(lambda places: self._met(places, _halving(BLOCK)))

    def _in_blocks(self, body: Callable[[list[Expr]], Stmt]) -> Stmt:
        """`body` for each block, of the places of its rows."""
        block, first = Var("block"), Var("first")
        each = (Let(first, block * (BLOCK * self.lanes)), body(self._rows(first, BLOCK)))
        return For(block, const(1) << self.doublings, Kind.SERIAL, each)

    def _blocks(self, half: Expr) -> Stmt:
        """The first keys of the columns of `half` rows meet those of the next ones."""
        pair, inner, line, one, other = (
            Var(name) for name in ("pair", "inner", "line", "one", "other")
        )
        each = (
            Let(inner, pair & (half - 1)),
            Let(line, (pair - inner) * 2),
            Let(one, (line + inner) * self.lanes),
            Let(other, (line + (half * 2 - 1) - inner) * self.lanes),
            self._met((one, other), ((0, 1),)),
        )
        return For(pair, self.rows >> 1, Kind.SERIAL, each)

    def _far(self) -> Body:
        """Rows meet that are half of all apart, then a quarter."""
        row, first, apart = Var("row"), Var("first"), Var("apart")
        places = [first, *(first + apart * k for k in range(1, 4))]
        each = (Let(first, row * self.lanes), self._met(places, _halving(4)))
        loop = For(row, self.rows >> 2, Kind.SERIAL, each)
        return (Let(apart, (self.rows >> 2) * self.lanes), loop)

    def _lines(self, bits: int, last: int) -> Stmt:
        """The first keys of lines, whose columns differ in all but the last one of some bits, meet
        those of the lines with that bit."""
        pair, one, other = Var("pair"), Var("one"), Var("other")

        def meets(found: list[Expr], lane: Var, body: list[Stmt]) -> None:
            x, below = found
            y, both, lower, upper = (Var(n, x.dtype) for n in ("y", "both", "lower", "upper"))
            body += (
                Let(y, Shuffle(below, lane, bits)),
                Let(both, x ^ y),
                Let(lower, self._chosen(lane, last, x, y)),
                Let(upper, Shuffle(both ^ lower, lane, bits)),
            )
            found[:] = lower, upper

        each = (
            Let(one, pair * self.lanes),
            Let(other, (self.rows - 1 - pair) * self.lanes),
            self._changed((one, other), meets),
        )
        return For(pair, self.rows >> 1, Kind.SERIAL, each)

    def _exchanged_lanes(self, bit: int) -> Stmt:
        """Keys of a row meet whose columns differ in a bit."""
        row, first = Var("row"), Var("first")

        def meets(found: list[Expr], lane: Var, body: list[Stmt]) -> None:
            x, there = found[0], Var("there", self.held.dtype)
            body.append(Let(there, Shuffle(x, lane, bit)))
            found[:] = (self._chosen(lane, bit, x, there),)

        each = (Let(first, row * self.lanes), self._changed((first,), meets))
        return For(row, self.rows, Kind.SERIAL, each)

    def _chosen(self, lane: Var, bit: int, x: Expr, y: Expr) -> Expr:
        """The lower key where the number of a lane is without a bit, else the greater one."""
        return select((self.number(lane) & bit).equal(0), minimum(x, y), maximum(x, y))

    def _turned(self) -> Body:
        """Transposes blocks of as many rows as lanes, or the halves of one: rows are exchanged with
        lanes by a bit or two of their numbers at a time."""
        half = BLOCK // 2
        first: Stmt = self._exchanged(2, half)
        if self.lanes > BLOCK and self.most > BLOCK:
            first = If(self.rows > BLOCK, (self._exchanged(4, half),), (first,))
        return (first, self._exchanged(4, half // 4))

    def _exchanged(self, count: int, unit: int) -> Stmt:
        """Exchanges `count` rows each that are `unit` apart with lanes that are."""
        g, first, shift = Var("g"), Var("first"), unit.bit_length() - 1
        each = (
            Let(first, ((g >> shift) * (count * unit) + (g & (unit - 1))) * self.lanes),
            self._changed(self._rows(first, count, unit), partial(self._turns, unit)),
        )
        return For(g, self.rows >> (count // 2), Kind.SERIAL, each)

    def _turns(self, unit: int, found: list[Expr], lane: Var, body: list[Stmt]) -> None:
        """Rows that are `unit` apart exchange lanes."""
        for one, other in _halving(len(found)):
            x, y, apart = found[one], found[other], (other - one) * unit
            is_first = (self.number(lane) & apart).equal(0)
            upper, lower = Var("upper", x.dtype), Var("lower", x.dtype)
            body += (
                Let(upper, select(is_first, x, Shuffle(y, lane, apart))),
                Let(lower, select(is_first, Shuffle(x, lane, apart), y)),
            )
            found[one], found[other] = upper, lower


def _halving(count: int) -> Iterator[tuple[int, int]]:
    """Pairs of places that are half of `count` apart, then a quarter, and so on."""
    apart = count // 2
    while apart:
        yield from ((k, k + apart) for k in range(count) if not k & apart)
        apart //= 2
