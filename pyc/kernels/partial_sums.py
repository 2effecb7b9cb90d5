"""Partial sums of several results that meet in pairs of neighbours, in vectors.

Takes two local buffers of which the first has WIDTH partial sums of each result, one result behind
the other; returns statements, and the buffer that has the results side by side after them. Two
shuffles and an addition are a step for two vectors, which a compiler keeps in registers. The order
is that of a tree over neighbours, whatever the target's vectors.
"""

from __future__ import annotations

from pyc.ir.expr import Load, Var, const
from pyc.ir.loops import Buffer, For, Kind, Stmt, Store

Sums = tuple[Buffer, Buffer]
"""Buffers for the partial sums, and for half as many."""


def met_in_pairs(sums: Sums, width: int, results: int, done: int = 0) -> list[Stmt]:
    """The partial sums of all results: pairs of neighbours, until there is one of each. done: how
    often they have met."""
    levels = range(done, width.bit_length() - 1)
    return [s for level in levels for s in _meeting(sums, level, 0, width * results >> level)]


def met_early(sums: Sums, width: int, first: int, results: int) -> list[Stmt]:
    """The same of `results` from the one of number `first` on, as often as they fill vectors."""
    levels = range(often_early(width, results))
    start, count = first * width, results * width
    return [s for n in levels for s in _meeting(sums, n, start >> n, count >> n)]


def often_early(width: int, results: int) -> int:
    """How often the partial sums of so many results meet and fill vectors still."""
    return min((results & -results).bit_length() - 1, width.bit_length() - 1)


def _meeting(sums: Sums, level: int, first: int, count: int) -> list[Stmt]:
    """`count` partial sums from `first` on meet for the time of this number."""
    lane = Var("lane")
    source, place = sums[level % 2], const(first) + lane * 2
    pair = Load(source, (place,)) + Load(source, (place + 1,))
    store = Store(sums[1 - level % 2], (const(first // 2) + lane,), pair)
    return [For(lane, count // 2, Kind.VECTOR, (store,))]


def met(sums: Sums, width: int) -> Buffer:
    """The buffer that has the results then."""
    return sums[(width.bit_length() - 1) % 2]
