"""Which traced arrays may be in one memory where that depends on data.

A result of a loop or a branch knows its rivals, the arrays whose memory it may have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyc.trace.memory import row_major
from pyc.trace.tracer import Tracer


def memories(x: Tracer) -> list[Tracer]:
    """The arrays, each of the outermost trace that has it, in whose memory `x` may be, its own one
    first."""
    first = x.origin
    return [first, *(r.origin for r in first.rivals if r.owner.open and not r.is_lost)]


def may_share(first: Sequence[Tracer], second: Sequence[Tracer]) -> bool:
    """Whether arrays of these `memories` may be in one: they know each other."""
    if not first or not second:
        return False
    return any(first[0] is m for m in second) or any(second[0] is m for m in first)


def is_dense(x: Tracer) -> bool:
    """Whether an array is in row-major order, for certain."""
    return x.known_strides() == row_major(x.shape)


def relate(result: Tracer, others: Sequence[Tracer]) -> None:
    """Notes that an array may share the memory of other ones."""
    for other in others:
        if other is not result and not any(other is r for r in result.rivals):
            result.rivals.append(other)
            other.rivals.append(result)


def is_argument(x: Tracer) -> bool:
    """Whether an array may be the caller's."""
    return any(m.argument for m in memories(x))


class Final:
    """An array after an iteration. leaf: itself; memories: in whose memory it may be."""

    def __init__(self, trace: Any, leaf: Any) -> None:
        array: Tracer = trace.lift(leaf)
        self.leaf = leaf
        self.memories = memories(array)
        self.argument = is_argument(array)
        self.dense = is_dense(array)


__all__ = ["Final", "is_argument", "is_dense", "may_share", "memories", "relate"]
