"""Options of NumPy's functions that have no effect on arrays of pyc, or are one of a few texts:
which values they may have.

NumPy refuses what is no value of an option whether or not it would use it, and so does pyc. What is
of another kind altogether, such as a number for a text, is an `OptionError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, OptionError
from pyc.numpy import core
from pyc.numpy.core import MOST_AXES, known_elements, structural

CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
"""What `casting=` may be, the strictest first."""

ORDERS = ("C", "F", "A", "K")
"""What `order=` may be, in either case."""


def text(name: str, option: str, given: Any, allowed: Sequence[str]) -> str:
    """An option that is one of some texts.

    raises OptionError: no text; ArgumentError: another text
    """
    if isinstance(given, str) and given in allowed:
        return str(given)
    shown = f"an array of shape {given.shape}" if hasattr(given, "shape") else repr(given)
    error = ArgumentError if isinstance(given, str) else OptionError
    raise error(f"{name}: {option} must be {_or(allowed)}, got {shown}")


def order(name: str, given: Any) -> str | None:
    """`order=` in capitals, None if it is not given; errors as of `text`."""
    if given is None:
        return None
    given = given.upper() if isinstance(given, str) else given
    return text(name, "order", given, ORDERS)


def no_fields(name: str, given: Any) -> None:
    """`order=` of functions that sort, which names fields. ArgumentError: it is given."""
    if given is not None:
        raise ArgumentError(
            f"{name}: `order` names fields, and arrays of numbers have none",
            fix="Leave it out; `lexsort` sorts by several arrays.",
        )


def copy(name: str, given: Any) -> Any:
    """`copy=`: True, False or None. ArgumentError: a text, which is no truth here."""
    if isinstance(given, str):
        raise ArgumentError(
            f"{name}: `copy` is True, False or None, got {given!r}",
            fix="Write `copy=None` for a copy where one is needed.",
        )
    return None if given is None else truth(given)


def casting(name: str, given: Any) -> str:
    """`casting=`; errors as of `text`."""
    return text(name, "casting", given, CASTINGS)


def like(name: str, given: Any) -> None:
    """`like=`: an array or None, which all give the same. OptionError: something else."""
    if given is not None and not hasattr(given, "__array_function__"):
        raise OptionError(
            f"{name}: `like` is an array, got {type(given).__name__}", fix="Leave it out."
        )


def flag(name: str, option: str, given: Any) -> bool:
    """An option that C code reads as an integer. OptionError: it is none."""
    if not hasattr(given, "__index__") or getattr(given, "dtype", np.dtype(int)).kind not in "biu":
        raise OptionError(f"{name}: `{option}` is True or False, got {given!r}")
    return bool(given.__index__())


def most_axes(name: str, given: Any) -> int:
    """`ndmax=`. OptionError: no integer; ArgumentError: a number of axes that no array has."""
    found = integer(name, "`ndmax`", given)
    if not 0 <= found <= MOST_AXES:
        raise ArgumentError(f"{name}: `ndmax` is from 0 to {MOST_AXES}, got {found}")
    return found


def truth(given: Any) -> bool:
    """An option that is true or not, of any kind that has a truth. That several elements have none
    is told where the call fails (`pyc.wrong_arguments`)."""
    known = known_elements(given)
    return bool(given if known is None else known)


def integer(name: str, option: str, given: Any) -> int:
    """An option that is an integer and no bool. OptionError: something else."""
    if type(structural(given)) is bool:
        raise OptionError(f"{name}: {option} must be an integer, got {given!r}")
    return core.integer(name, option, given)


def one(name: str, option: str, given: Any) -> None:
    """An option that is one number, which may be traced. OptionError: several, a text, None."""
    if given is None or isinstance(given, (str, tuple, list, type)) or np.shape(given):
        raise OptionError(f"{name}: `{option}` is one number, got {given!r}")


def _or(texts: Sequence[str]) -> str:
    shown = [repr(t) for t in texts]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
