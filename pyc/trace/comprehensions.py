"""Comprehensions over long sequences as loops whose results are stacked.

What they give stays a list of Python's, whose elements are rows of the stack. Short ones, ones that
do nothing with traced values, and those that cannot be a loop are straight code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

from pyc.trace.decisions import Variables
from pyc.trace.folding import long_steps
from pyc.trace.loop_for import For
from pyc.trace.state import Variable


def listed(items: Any, element: FunctionType) -> list[Any]:
    """`[element(item) for item in items]`."""
    steps = long_steps(items)
    if steps is None:
        return [element(item) for item in items]
    found: list[Any] = []
    _Comprehension(element, found).run(steps)
    return found


def generated(items: Any, element: FunctionType) -> Iterable[Any]:
    """`(element(item) for item in items)` for a function that goes over all of it."""
    steps = long_steps(items)
    if steps is not None:
        found: list[Any] = []
        loop = _Comprehension(element, found)
        if not loop.is_plain(steps) and loop.try_to_roll(steps, 0):
            return found
    return (element(item) for item in items)


class _Comprehension(For):
    """The loop that appends the elements to a list."""

    longest = float("inf")

    def __init__(self, element: FunctionType, found: list[Any]) -> None:
        def body(item: Any) -> None:
            found.append(element(item))

        (cell,) = [c for c in body.__closure__ or () if c.cell_contents is found]
        grown = Variable("the list", cell)
        super().__init__(body, (element,), Variables((), (), ()), None, None, {grown: 1})
        self.element = element

    def trial(self, item: Any) -> Any:
        """The element alone, which is not appended."""
        return self.element(item)


def only(items: Iterator[Any]) -> Any:
    """What an iterator gives first."""
    return next(items)


__all__ = ["generated", "listed", "only"]
