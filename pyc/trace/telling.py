"""What traced numbers say of themselves in the text of an exception.

While the expression of a `raise` is evaluated, a traced number that is formatted gives a text that
stands for it, and how it is to be shown is kept: `raising` puts the number in its place when the
exception is raised for good.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

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


_CONVERSION = re.compile(r"%(?:%|([-+ #0]*)(\d*)(\.\d+)?([a-zA-Z]))")


def percent(text: str, values: Any) -> str:
    """`text % values`, whose numbers are formatted by `format`, which they know."""
    given = values if type(values) is tuple else (values,)
    found = list(_CONVERSION.finditer(text))
    kinds = [m for m in found if m[0] != "%%"]
    rest = _CONVERSION.sub("", text)
    if type(values) is dict or "%" in rest or len(kinds) != len(given):
        return str(text % values)
    items = iter(given)
    return _CONVERSION.sub(lambda m: "%" if m[0] == "%%" else _formatted(m, next(items)), text)


def _formatted(match: re.Match[str], value: Any) -> str:
    flags, width, precision, kind = match.groups("")
    if kind in "sra" or isinstance(value, (str, bytes)):
        plain = not (flags or width or precision)
        if plain and kind in "sr":
            return str(value) if kind == "s" else repr(value)
        return match[0] % (value,)
    if kind in "diu" and not isinstance(value, (int, np.integer)):
        return match[0] % (value,)
    left = "-" in flags
    sign = "+" if "+" in flags else " " if " " in flags else ""
    other = "#" * ("#" in flags) + "0" * ("0" in flags and not left)
    kind = "d" if kind in "iu" else kind
    return format(value, f"{'<' if left else ''}{sign}{other}{width}{precision}{kind}")


def tell(number: Any, name: str, show: Callable[[Any], str]) -> str | None:
    """The text for a traced number of which only the type is known, None outside of a `telling`
    block. name: its type."""
    told = _told.get()
    if told is None:
        return None
    text = f"<traced {name} {len(told) + 1}>"
    told.append(Told(text, number, show))
    return text


__all__ = ["Told", "percent", "tell", "telling"]
