"""The steps of a Plan as a GPU runs them without the host: what goes into one graph.

Loops of known length are written out with the buffers that each iteration has. A loop of unknown
length is a `While`, whose buffers are the same in each iteration: the condition reads what an
iteration leaves where that lies, and then it is copied back. A branch is a `Choice`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Union

from pyc.frozen import frozen, replace
from pyc.ir.plan import Branch, Copy, Launch, Loop, Plan, Step

MOST_STEPS = 4096
"""Launches and copies of a program that is started natively, at most."""
RETURNED_BYTES = 1 << 25
"""Bytes that a loop copies in each iteration, at most: for more the host takes no longer to ask."""


@frozen()
class While:
    """Runs `condition`, and stops if the b1 in slot `flag` is false; runs `body`, and `again`, the
    condition of what that leaves; copies `returned`, and goes on while the flag is true."""

    condition: tuple[Item, ...]
    flag: int
    body: tuple[Item, ...]
    again: tuple[Item, ...]
    returned: tuple[Copy, ...]


@frozen()
class Choice:
    """Runs cases[i] for the i64 i in slot `index`, clamped to the cases there are."""

    index: int
    cases: tuple[tuple[Item, ...], ...]


Item = Union[Launch, Copy, While, Choice]


class _HostNeededError(Exception):
    """A step that no graph has, or too many steps."""


def written_out(plan: Plan) -> tuple[Item, ...] | None:
    """The steps of a Plan for one graph; None if the host takes part in them, they are more than
    `MOST_STEPS`, or a loop of unknown length has more than `RETURNED_BYTES` to copy."""
    try:
        return _Writer(plan).written(plan.steps, inside=False)
    except _HostNeededError:
        return None


def walk_items(items: Sequence[Item]) -> Iterator[Item]:
    """Every item, nested ones included, in program order."""
    for item in items:
        yield item
        if isinstance(item, While):
            yield from walk_items((*item.condition, *item.body, *item.again))
        elif isinstance(item, Choice):
            for case in item.cases:
                yield from walk_items(case)


class _Writer:
    """Writes steps out."""

    def __init__(self, plan: Plan) -> None:
        self._left = MOST_STEPS
        self._buffers = plan.buffers
        self._now: dict[int, int] = {}
        """The slot whose address a slot has, if it is another one's."""

    def _slot(self, slot: int) -> int:
        return self._now.get(slot, slot)

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _HostNeededError

    def written(self, steps: Sequence[Step], inside: bool) -> tuple[Item, ...]:
        """The items of steps. inside: of a part that may run more or less often than once, so that
        slots must end with the addresses that they began with."""
        found: list[Item] = []
        for step in steps:
            if isinstance(step, Loop):
                found += self._loop(step, inside)
            elif isinstance(step, Branch):
                self._count()
                index = self._slot(step.index)
                cases = tuple(self.written(case, inside=True) for case in step.cases)
                found.append(Choice(index, cases))
            else:
                found += self._one(step)
        return tuple(found)

    def _one(self, step: Step) -> list[Item]:
        self._count()
        if isinstance(step, Launch) and not step.host:
            return [replace(step, slots=tuple(map(self._slot, step.slots)))]
        if isinstance(step, Copy):
            return [*self._copy(step.destination, step.source)]
        raise _HostNeededError

    def _loop(self, step: Loop, inside: bool) -> list[Item]:
        if step.times is None:
            return [self._while(step)]
        found: list[Item] = []
        for _ in range(step.times):
            found += self.written(step.body, inside)
            self._turn(step)
        if inside and step.times % 2:
            self._turn(step)
            found += self._returned(step)
        return found

    def _while(self, step: Loop) -> While:
        self._count()
        condition = self.written(step.condition, inside=True)
        flag = self._slot(step.flag)
        body = self.written(step.body, inside=True)
        returned = self._returned(step)
        self._turn(step)
        again = self.written(step.condition, inside=True)
        self._turn(step)
        return While(condition, flag, body, again, tuple(returned))

    def _turn(self, step: Loop) -> None:
        """The buffers that take turns have each other's addresses."""
        for a, b in step.rotate:
            self._now[a], self._now[b] = self._slot(b), self._slot(a)

    def _returned(self, step: Loop) -> list[Copy]:
        """The copies by which what an iteration carries is where the next one looks for it."""
        turning = [slot for pair in step.rotate for slot in pair]
        moved = sum(self._buffers[a].nbytes for a, _ in step.rotate)
        if len(set(turning)) < len(turning) or moved > RETURNED_BYTES:
            raise _HostNeededError
        return [copy for a, b in step.rotate for copy in self._copy(a, b)]

    def _copy(self, destination: int, source: int) -> list[Copy]:
        """A copy between two slots, if they are not the same memory."""
        to, source = self._slot(destination), self._slot(source)
        a, b = self._buffers[to], self._buffers[source]
        same = (a.place, a.index) == (b.place, b.index)
        return [] if same else [Copy(to, source)]
