"""Partial sums of several results that meet in pairs of neighbours, in vectors.

Takes two local buffers of which the first has a line of partial sums of each result, one behind the
other; returns statements, and the buffer that has the results side by side after them.
The order is that of a tree over neighbours, whatever the target's vectors. Two lines become one of
half as many sums of each, by two shuffles and an addition: first sums that share 16 bytes, then
whole 16 bytes, since shuffles of other kinds take the units for fma (measured on Zen 4).
"""

from __future__ import annotations

from collections.abc import Callable

from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Var, apply, const, minimum
from pyc.ir.loops import Alloc, Body, Buffer, For, Kind, Space, Stmt, Store

Sums = tuple[Buffer, Buffer]
"""Buffers for the partial sums, and for half as many."""

PIECE_BYTES = 16
"""What a shuffle that stays in place works on."""


def sums_of(dtype: DType, width: int, results: int) -> Sums:
    """The buffers for so many results, of which a code generator makes values."""
    names = ("sums", results), ("pairs", -(-results // 2))
    first, second = (
        Buffer(name, dtype, (lines * width,), Space.REGISTER, alignment=64) for name, lines in names
    )
    return first, second


class Meeting:
    """The meeting of `results` lines, each of which is there from some statement on."""

    def __init__(self, sums: Sums, width: int, results: int) -> None:
        self.sums, self.width = sums, width
        self.piece = PIECE_BYTES // sums[0].dtype.itemsize
        self.lines = [results]
        for _ in range(width.bit_length() - 1):
            self.lines.append(-(-self.lines[-1] // 2))
        self.met = [0] * len(self.lines)

    @property
    def found(self) -> Buffer:
        """The buffer that has the results in the end."""
        return self.sums[(len(self.lines) - 1) % 2]

    def after(self, results: int) -> list[Stmt]:
        """What can meet once the lines of the first `results` are there, and has not yet."""
        body = list[Stmt]()
        there = results
        for level in range(len(self.lines) - 1):
            whole = there == self.lines[level]
            there = -(-there // 2) if whole else there // 2
            body += [self._line(level, k) for k in range(self.met[level], there)]
            self.met[level] = there
        return body

    def _line(self, level: int, number: int) -> Stmt:
        """A line of the next level, of two of this one; of one twice, if there is no second."""
        lane = Var("lane")
        source, target = self.sums[level % 2], self.sums[1 - level % 2]
        piece, half = self.piece, self.piece // 2
        inside = 1 << level < piece
        second = _part(lane, half, 2) if inside else _part(lane, self.width // 2, 2)
        line = minimum(const(2 * number) + second, const(self.lines[level] - 1))

        def place(which: int) -> Expr:
            if inside:
                pieces = apply("quotient", lane, const(piece)) * piece
                return pieces + _part(lane, 1, half) * 2 + which
            return (_part(lane, piece, self.width // piece // 2) * 2 + which) * piece + _part(
                lane, 1, piece
            )

        pair = [Load(source, (line * self.width + place(which),)) for which in range(2)]
        store = Store(target, (const(number * self.width) + lane,), pair[0] + pair[1])
        return For(lane, self.width, Kind.VECTOR, (store,))


def _part(number: Expr, size: int, count: int) -> Expr:
    """The number of the part of so many that it lies in, of parts of this size that go round."""
    return apply("remainder", apply("quotient", number, const(size)), const(count))


class MeetingLines:
    """The meeting, in the same order, of lines that a buffer of memory has one behind the other: of
    so many that loops are shorter than all of it written out.

    sums: the buffer, of `lines` times `width` sums, whose first part has those that met.
    """

    def __init__(self, dtype: DType, width: int, lines: int) -> None:
        self.width, self.lines = width, lines
        self.sums = Buffer("sums", dtype, (lines * width,), Space.STACK, alignment=64)
        self.pairs = Buffer("pairs", dtype, (2 * width,), Space.REGISTER, alignment=64)

    def within(self, body: Body) -> Body:
        """`body` where there are the buffers."""
        return (Alloc(self.sums, (Alloc(self.pairs, body),)),)

    def of_all(self, store: Callable[[Expr, Expr, Expr], Stmt]) -> Body:
        """All lines meet, which are a multiple of `width`; `store` is given the number of a line of
        results, a lane and the result there."""
        levels = self.width.bit_length() - 1
        count = self.lines // self.width
        body: list[Stmt] = []
        while levels > 2:
            levels -= 2
            some = Var("line")
            body.append(For(some, count << levels, Kind.SERIAL, self._met(some, 2, self._kept)))
        last = Var("line")
        body.append(For(last, count, Kind.SERIAL, self._met(last, levels, store)))
        return tuple(body)

    def _kept(self, line: Expr, lane: Expr, total: Expr) -> Stmt:
        """Leaves a sum for the next levels, in the place of what has been read."""
        return Store(self.sums, (line * self.width + lane,), total)

    def _met(self, line: Expr, levels: int, store: Callable[[Expr, Expr, Expr], Stmt]) -> Body:
        """A line whose elements are the sums of two or four neighbours each."""
        lane = Var("lane")
        if levels == 1:
            total = _pair(self.sums, line * self.width + lane)
            return (For(lane, self.width, Kind.VECTOR, (store(line, lane, total),)),)
        body: list[Stmt] = []
        for half in range(2):
            at = Var("lane")
            pair = _pair(self.sums, (line * 2 + half) * self.width + at)
            held = Store(self.pairs, (at + half * self.width,), pair)
            body.append(For(at, self.width, Kind.VECTOR, (held,)))
        total = _pair(self.pairs, lane)
        return (*body, For(lane, self.width, Kind.VECTOR, (store(line, lane, total),)))


def _pair(sums: Buffer, number: Expr) -> Expr:
    """The sum of two neighbours."""
    return Load(sums, (number * 2,)) + Load(sums, (number * 2 + 1,))
