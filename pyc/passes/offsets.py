"""Offsets: where in the arena each buffer of a Plan lies, from the steps that use it.

Steps are numbered in program order, those of loops and branches included. A buffer lives from its
first to its last step; one that is alive across a loop's edge lives through the whole loop, and so
do buffers whose addresses it exchanges, which live alike. Each buffer goes to the lowest gap that
holds it, in the order that gives the lowest peak of some that are tried; the most bytes alive at
one step are the bound that no placing can beat.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping, Sequence

from pyc.ir.plan import ALIGNMENT, Branch, Copy, Launch, Library, Step

_NEVER = 1 << 60


class _Lives:
    """First and last step of every slot, steps numbered in program order."""

    def __init__(self, count: int) -> None:
        self._first = [_NEVER] * count
        self._last = [-1] * count
        self._number = 0
        self._loops: list[tuple[int, int]] = []
        self._families: list[tuple[int, int]] = []

    def _use(self, slot: int) -> None:
        self._first[slot] = min(self._first[slot], self._number)
        self._last[slot] = max(self._last[slot], self._number)

    def visit(self, steps: Sequence[Step]) -> None:
        """Number the steps and note their slots (as deep as control flow is nested)."""
        for step in steps:
            self._number += 1
            if isinstance(step, (Launch, Library)):
                for slot in step.slots:
                    self._use(slot)
            elif isinstance(step, Copy):
                self._use(step.destination)
                self._use(step.source)
            elif isinstance(step, Branch):
                self._use(step.index)
                for case in step.cases:
                    self.visit(case)
            else:
                start = self._number
                # An argument that was given up may come in with no step before.
                for slot in (s for pair in step.rotate for s in pair):
                    self._use(slot)
                self.visit(step.condition)
                self._number += 1
                self._use(step.flag)
                self.visit(step.body)
                self._number += 1
                for pair in step.rotate:
                    self._families.append(pair)
                    for slot in pair:
                        self._use(slot)
                self._loops.append((start, self._number))

    def spans(self) -> list[tuple[int, int]]:
        """(first, last) of each slot; (0, -1) for one that is never used."""
        changed = True
        while changed:
            changed = False
            for start, end in self._loops:
                for k, (first, last) in enumerate(zip(self._first, self._last, strict=True)):
                    if last < start or first > end or (first >= start and last <= end):
                        continue
                    wider = (min(first, start), max(last, end))
                    if wider != (first, last):
                        self._first[k], self._last[k] = wider
                        changed = True
            for a, b in self._families:
                both = (min(self._first[a], self._first[b]), max(self._last[a], self._last[b]))
                for k in (a, b):
                    if (self._first[k], self._last[k]) != both:
                        self._first[k], self._last[k] = both
                        changed = True
        pairs = zip(self._first, self._last, strict=True)
        return [(first, last) if last >= 0 else (0, -1) for first, last in pairs]


def _most_alive(lives: Sequence[tuple[int, int, int]]) -> int:
    """The most bytes alive at one step, of (size, first step, last step)."""
    events: dict[int, int] = {}
    for size, first, last in lives:
        events[first] = events.get(first, 0) + size
        events[last + 1] = events.get(last + 1, 0) - size
    alive = most = 0
    for step in sorted(events):
        alive += events[step]
        most = max(most, alive)
    return most


_ORDERS: tuple[Callable[[int, int, int], tuple[int, ...]], ...] = (
    lambda size, first, last: (-size, first),
    lambda size, first, last: (first - last, -size),
    lambda size, first, last: (first, -size),
    lambda size, first, last: (size * (first - last), first),
)
"""Which buffer is placed next, of (size, first step, last step): the largest, that alive longest,
that needed first, that which takes most room and time."""


SEARCHED, ROUNDS = 256, 24
"""The most buffers for which an order is changed, and how often: what lies highest goes first."""


def place(
    steps: Sequence[Step], sizes: Sequence[int], arena: Sequence[int]
) -> tuple[dict[int, int], list[tuple[int, int]], int, int]:
    """(offset of each slot in `arena`, the first and last step of every slot, the peak, the lower
    bound). sizes: bytes of every slot."""
    lives = _Lives(len(sizes))
    lives.visit(steps)
    spans = lives.spans()
    rounded = {k: -(-sizes[k] // ALIGNMENT) * ALIGNMENT for k in arena}
    bound = _most_alive([(rounded[k], *spans[k]) for k in arena])
    best: dict[int, int] = {}
    lowest = _NEVER
    for order in _ORDERS:
        inside = sorted(arena, key=lambda k: (*order(rounded[k], *spans[k]), k))
        offsets = _first_fit(inside, rounded, spans)
        peak = max((offsets[k] + rounded[k] for k in arena), default=0)
        if peak < lowest:
            best, lowest = offsets, peak
        if lowest == bound:
            break
        again = 0 if len(inside) > SEARCHED else ROUNDS
        for _ in range(again):
            highest = [k for k in inside if offsets[k] + rounded[k] == peak]
            inside = highest + [k for k in inside if k not in highest]
            offsets = _first_fit(inside, rounded, spans)
            peak = max(offsets[k] + rounded[k] for k in arena)
            if peak < lowest:
                best, lowest = offsets, peak
            if lowest == bound:
                break
    return best, spans, lowest, bound


def _first_fit(
    order: Sequence[int], sizes: Mapping[int, int], spans: Sequence[tuple[int, int]]
) -> dict[int, int]:
    """Offsets of slots placed one after the other, each in the lowest gap that holds it."""
    offsets: dict[int, int] = {}
    placed: list[tuple[int, int, int, int]] = []  # offset, end, first, last
    for k in order:
        first, last = spans[k]
        offset = 0
        for start, end, begin, stop in placed:
            if stop < first or last < begin:
                continue
            if offset + sizes[k] <= start:
                break
            offset = max(offset, end)
        offsets[k] = offset
        insort(placed, (offset, offset + sizes[k], first, last))
    return offsets
