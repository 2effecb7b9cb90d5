"""What traced numbers say of themselves in the text of an exception.

While the expression of a `raise` is evaluated, a traced number that is formatted gives a text that
stands for it, and how it is to be shown is kept: `raising` puts the number in its place when the
exception is raised for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pyc.frozen import frozen


@frozen()
class Told:
    """A traced number in a text. text: what stands for it; show: of the number itself."""

    text: str
    number: Any
    show: Callable[[Any], str]


_told: ContextVar[list[Told] | None] = ContextVar("pyc_told", default=None)


@contextmanager
def telling(told: list[Told]) -> Iterator[None]:
    """Within the block, numbers that are formatted are added to `told`."""
    token = _told.set(told)
    try:
        yield
    finally:
        _told.reset(token)


def tell(number: Any, name: str, show: Callable[[Any], str]) -> str | None:
    """The text for a traced number of which only the type is known, None outside of a `telling`
    block. name: its type."""
    told = _told.get()
    if told is None:
        return None
    text = f"<traced {name} {len(told) + 1}>"
    told.append(Told(text, number, show))
    return text


__all__ = ["Told", "tell", "telling"]
