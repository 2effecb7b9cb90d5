"""`sum`, `min` and `max` over long sequences by number: loops over one element after the other, in
Python's order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from pyc.interpreter import is_tracing
from pyc.trace.decisions import Variables
from pyc.trace.loop_for import For
from pyc.trace.python_builtins import chosen
from pyc.trace.sequences import SHORT, Steps, steps_of
from pyc.trace.state import Place, Result


def long_steps(items: Any) -> Steps | None:
    """A sequence by number of a known length that is long enough for a loop; None for others."""
    steps = steps_of(items) if is_tracing() else None
    if steps is None or type(steps.length) is not int or steps.length <= SHORT:
        return None
    return steps


def total(steps: Steps, start: Any) -> Any:
    """`sum` of the items and `start`."""
    found = _place("the sum", start)

    def body(item: Any) -> None:
        found.set(found.get() + item)

    _run(body, (), [found], steps)
    return found.get()


def extreme(steps: Steps, less: bool, key: Callable[[Any], Any] | None) -> Any:
    """`min` (less) or `max` of the items by `key`, the first of equal ones."""
    first = steps.item(0)
    best = _place("the result", first)
    rank = _place("the key of the result", first if key is None else key(first))

    def body(item: Any) -> None:
        found = item if key is None else key(item)
        better = found < rank.get() if less else found > rank.get()
        best.set(chosen(better, item, best.get()))
        rank.set(chosen(better, found, rank.get()))

    functions = (key,) if isinstance(key, FunctionType) else ()
    _run(body, functions, [best, rank], steps, 1)
    return best.get()


def _place(name: str, value: Any) -> Place:
    found = Result(name)
    found.set(value)
    return found


def _run(
    body: Callable[[Any], None],
    functions: tuple[FunctionType, ...],
    places: Sequence[Place],
    steps: Steps,
    first: int = 0,
) -> None:
    """Does `body` with the items from `first` on."""
    variables = Variables(functions, (), ())
    variables.live = list(places)
    loop = For(body, functions, variables, None, None, {})
    loop.longest = float("inf")
    loop.run_long(steps, first)


__all__ = ["extreme", "long_steps", "total"]
