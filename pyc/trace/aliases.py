"""Which arrays that a loop carries may share memory, in any of its iterations.

An array in a variable that the body assigns is carried by value. That is right only while nothing
else shares its memory where elements are changed in place. Which parameters may be in one memory is
a fixed point over pairs of them: two buffers that swap never are, two names of one array that go
around are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

from pyc.trace.carried import Carried, Unstable
from pyc.trace.leaves import is_array, may_be_array
from pyc.trace.sharing import Final, may_share, memories
from pyc.trace.state import Place
from pyc.trace.trace import Trace
from pyc.trace.tracer import Tracer


class _Array:
    """An array in a place that a loop carries: the leaf `k` of `carried`."""

    def __init__(self, trace: Trace, carried: Carried, k: int) -> None:
        assert carried.start is not None and carried.end is not None
        self.carried, self.k = carried, k
        self.start: Tracer = carried.start.leaves[k]
        self.given: Tracer = carried.given[k]
        self.end = Final(trace, carried.end.leaves[k])
        self.mutated = self.given.is_changed
        self.first = memories(self.start) if may_be_array(self.start) else []
        """The arrays in whose memory it may be at the beginning of the first iteration."""
        self.held = {id(m): m for m in self.first}
        """Those at the beginning of any iteration, by id."""


class Aliases:
    """Which arrays may share memory at the beginning or at the end of some iteration."""

    def __init__(self, trace: Trace, carried: Sequence[Carried]) -> None:
        self.trace: Any = trace
        self.arrays = [
            _Array(trace, c, k)
            for c in carried
            if c.start is not None and c.end is not None and not c.place.final
            for k, (x, p) in enumerate(zip(c.start.leaves, c.given, strict=True))
            if (is_array(x) and is_array(p) and is_array(c.end.leaves[k]))
            or (may_be_array(p) and isinstance(x, Tracer))
        ]
        self.given = {id(a.given): a for a in self.arrays}
        changed = [t.outer.origin for t in trace.changed.values() if t.outer is not None]
        self.changed = set(map(id, changed))
        self.lost = bool(trace.lost)
        self.reached = {id(m) for t in trace.entered() if t.weak is None for m in memories(t)}
        self._follow()

    def _follow(self) -> None:
        """Finds what parameters may be in the memory of, and in that of each other."""
        before = -1
        while before != (before := sum(len(a.held) for a in self.arrays)):
            for a in self.arrays:
                a.held |= self.outside(a.end)
        self.pairs = {(a, b) for a, b in self._both() if may_share(a.first, b.first)}
        before = -1
        while before != (before := len(self.pairs)):
            self.pairs |= {(a, b) for a, b in self._both() if self.share(a.end, b.end)}

    def _both(self) -> Iterator[tuple[_Array, _Array]]:
        return permutations(self.arrays, 2)

    def outside(self, final: Final) -> dict[int, Tracer]:
        """The arrays of surroundings in whose memory a value may be, by id."""
        found: dict[int, Tracer] = {}
        for m in final.memories:
            if id(m) in self.given:
                found |= self.given[id(m)].held
            elif m.owner is not self.trace:  # those of an iteration are other ones in the next
                found[id(m)] = m
        return found

    def share(self, first: Final, second: Final) -> bool:
        """Whether two values of one iteration may be in one memory."""
        if may_share(first.memories, second.memories):
            return True
        ids = [set(map(id, f.memories)) for f in (first, second)]
        params = [[self.given[k] for k in own if k in self.given] for own in ids]
        if any((a, b) in self.pairs for a in params[0] for b in params[1]):
            return True
        return any(
            k in array.held
            for own, others in zip(ids, params[::-1])
            for array in others
            for k in own
        )

    def stay(self) -> list[Place]:
        """The variables that still hold the array that they held: they were not assigned."""
        return [
            a.carried.place
            for a in self.arrays
            if a.carried.start is not None and a.carried.start.single and a.end.leaf is a.given
        ]

    def check(self) -> None:
        """Unstable if names share memory that is changed in place."""
        if self.lost:
            raise Unstable(
                "an array that is used in the loop may share memory with one that is changed in "
                "place there: which array a name stands for is decided on traced values",
                "Copy where two names get one array: `a = b.copy()`.",
            )
        for a in self.arrays:
            held = a.held.keys()
            if not held.isdisjoint(self.changed) or (
                a.mutated
                and (
                    not held.isdisjoint(self.reached)
                    or (a.first and a.start.origin.owner is not self.trace.parent)
                )
            ):
                raise self._refusal(a)
        for a, b in self._both():
            if (a, b) in self.pairs and (a.mutated or b.mutated):
                raise self._refusal(a)

    def _refusal(self, array: _Array) -> Unstable:
        name = array.carried.place.name
        return Unstable(
            f"`{name}` is assigned in the loop, may share memory with another array that is used "
            "there, and elements are changed in place",
            f"Copy where two names get one array: `{name} = {name}.copy()`.",
        )

    def settle(self) -> bool:
        """Hands on what arrays inherit: whether memory is the caller's, and its layout. False if
        something was new."""
        settled = True
        for a in self.arrays:
            c, k = a.carried, a.k
            if a.end.argument and not c.argument[k]:
                c.argument[k] = True
                settled = False
            if c.dense[k] and not a.end.dense:
                c.dense[k] = False
                settled = False
        return settled


__all__ = ["Aliases"]
