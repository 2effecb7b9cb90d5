"""Sorting a few vectors of keys, which `sort_networks` would need eight for (see `sort_vectors`).

    vectors   each is put in order: keys meet at growing distances, lower ones in lower lanes
    lines     two vectors become one line in order, then two lines, and so on: the keys meet from
              where the one ends and the other begins, then those of lines half as long, then those
              of a vector

Half of all that meet are in lanes of one vector, which have to be exchanged. Behind a range are
keys that are the greatest.
"""

from __future__ import annotations

from collections.abc import Callable

from pyc.ir.expr import Expr, Load, Shuffle, Var, const, maximum, minimum, select
from pyc.ir.loops import Body, Buffer, Carry, For, Kind, Let, Stmt, Store, While


class Lines:
    """Sorts keys in `held`, which has room for them in vectors of so many lanes. number: that of a
    lane as a key, from memory."""

    def __init__(self, held: Buffer, lanes: int, number: Callable[[Expr], Expr]) -> None:
        self.held, self.lanes, self.number = held, lanes, number
        self.vectors = Var("vectors")

    def told(self, count: Expr) -> Body:
        """Says how many keys there are."""
        return (Let(self.vectors, (count + (self.lanes - 1)) >> self.lanes.bit_length() - 1),)

    def row(self, number: Expr) -> Expr:
        """Which row has a vector of the keys in order."""
        return number

    def sorted(self, keys: Callable[[Expr, Expr], Expr]) -> Body:
        """Holds keys in order. keys: the one of a row and a lane, by the number of the row's first
        one."""
        size, whole, apart, over = Var("size"), Var("size"), Var("apart"), Var("apart")
        halves = (Carry(apart, size >> 1, apart >> 1, over),)

        def merged(first: Expr, lane: Var) -> Expr:
            return self._merged_lanes(Load(self.held, (first + lane,)), lane, self.lanes // 2)

        merge = (
            self._met(size, turned=True),
            While(halves, apart > 0, (self._met(apart, turned=False),)),
            self._each(merged),
        )
        return (
            self._each(lambda first, lane: self._sorted_lanes(keys(first, lane), lane)),
            While((Carry(size, const(1), size * 2, whole),), size < self.vectors, merge),
        )

    # --- parts

    def _each(self, keys: Callable[[Expr, Var], Expr]) -> Stmt:
        """Holds vectors. keys: of the place of a vector's first one, and the lane."""
        v, lane = Var("v"), Var("lane")
        body = (Store(self.held, (v * self.lanes + lane,), keys(v * self.lanes, lane)),)
        vector = For(lane, self.lanes, Kind.VECTOR, body)
        return For(v, self.vectors, Kind.SERIAL, (vector,))

    def _exchanged(self, x: Expr, lane: Var, distance: int, bit: int) -> Expr:
        """Each lane with the one at `distance`: the one of the two without a bit of their places
        has the lower key then."""
        y = Shuffle(x, lane, distance)
        is_first = (self.number(lane) & bit).equal(0)
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

    def _met(self, apart: Expr, *, turned: bool) -> Stmt:
        """Two vectors each of what is held, the first of which has the lower keys then, for all
        pairs of which both are there. They are `apart`; turned: they have the same distances from
        where two lines of `apart` vectors meet, and the one is taken from its last key on."""
        pair, inner, lane = Var("pair"), Var("inner"), Var("lane")
        x, y = Var("x", self.held.dtype), Var("y", self.held.dtype)
        rest = self.vectors & (apart * 2 - 1)
        count = ((self.vectors - rest) >> 1) + maximum(rest - apart, 0)
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
