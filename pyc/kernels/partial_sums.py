"""Partial sums of several results that meet in pairs of neighbours, in vectors.

Takes two local buffers of which the first has WIDTH partial sums of each result, one result behind
the other; returns statements, and the buffer that has the results side by side after them. Two
shuffles and an addition are a step for two vectors, which a compiler keeps in registers. The order
is that of a tree over neighbours, whatever the target's vectors.
"""

from __future__ import annotations

from pyc.ir.expr import Load, Var
from pyc.ir.loops import Buffer, For, Kind, Stmt, Store

Sums = tuple[Buffer, Buffer]
"""Buffers for the partial sums, and for half as many."""


def met_in_pairs(sums: Sums, width: int, results: int) -> list[Stmt]:
    """The partial sums of all results: pairs of neighbours, until there is one of each."""
    body, count = list[Stmt](), width * results
    for level in range(width.bit_length() - 1):
        lane = Var("lane")
        source, met = sums[level % 2], sums[1 - level % 2]
        count //= 2
        pair = Load(source, (lane * 2,)) + Load(source, (lane * 2 + 1,))
        body.append(For(lane, count, Kind.VECTOR, (Store(met, (lane,), pair),)))
    return body


def met(sums: Sums, width: int) -> Buffer:
    """The buffer that has the results then."""
    return sums[(width.bit_length() - 1) % 2]
