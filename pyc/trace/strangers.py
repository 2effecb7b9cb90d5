"""Operators between a traced value and what is neither an array nor a number: lists, texts, None,
objects of others.

As Python and NumPy have it: lists are arrays beside arrays and NumPy's scalars, not beside Python
numbers; an integer repeats them under `*`, which no other scalar does.
"""

from __future__ import annotations

from operator import index
from typing import Any

import pyc.numpy as pnp
from pyc.errors import DTypeError
from pyc.ir import dtype as dt
from pyc.trace import location


def beside_sequence(x: Any, name: str, symbol: str, other: Any) -> Any:
    """The result for a scalar `x` and a list or a tuple; None where it is NumPy's, of an array.

    raises DTypeError: Python has none
    """
    if symbol == "*":
        if x.type.dtype.is_integer or x.weak is bool:
            return repeated(x, other)
    elif x.weak is None:
        return None
    elif name in ("equal", "not_equal"):
        return NotImplemented
    kind = type(other).__name__
    raise DTypeError(
        lambda: f"unsupported operand: `{symbol}` of {described(x)}, a scalar, and a {kind}",
        fix="Make an array of it: `np.array([...])`.",
        place=location.here(),
    )


def repeated(x: Any, other: Any) -> Any:
    """`other` repeated `x` times, which must be known."""
    return other * (int(bool(x)) if x.type.dtype is dt.b1 else index(x))


def described(x: Any) -> str:
    """What a tracer is, for messages."""
    return str(x.owner.describe(x.value))


def stranger(x: Any, name: str, symbol: str, other: Any) -> Any:
    """The result of an operator on what is neither an array nor a number: NumPy's, where it has
    one, else NotImplemented, so that `other` may know more.

    raises DTypeError: `other` is a text or None
    """
    if name in ("equal", "not_equal"):
        ask: Any = type(other).__eq__ if name == "equal" else type(other).__ne__
        answer = ask(other, x)
        if answer is NotImplemented and x.ndim:
            return pnp.full(x.shape, name == "not_equal")
        return answer
    if other is not None and not isinstance(other, (str, bytes)):
        return NotImplemented
    if other is None:
        what = "None"
        fix = "A function that ends without `return` gives None; ask `x is None` where it may be."
    else:
        what = f"the {type(other).__name__} {other[:40]!r}"
        fix = (
            "Convert it first: `float(text)`. What chooses by name can be a static argument: "
            "`pyc.jit(static_argnames=...)`."
        )
    raise DTypeError(
        lambda: f"unsupported operand: `{symbol}` of {described(x)} and {what}",
        fix=fix,
        place=location.here(),
    )


__all__ = ["beside_sequence", "repeated", "stranger"]
