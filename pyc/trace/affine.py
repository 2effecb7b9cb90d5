"""Integers of the program as sums: of a counter and a number, or of any numbers.

`affine` says of an index what it is in each iteration of a loop, `sum_of` when two lengths are the
same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.frozen import frozen
from pyc.ir.graph import Value
from pyc.trace.tracer import Tracer


def affine(x: Any, counter: Tracer) -> tuple[int, int] | None:
    """(slope, start) of an integer that is `slope * counter + start` in each iteration of a loop;
    None for another. counter: of the trace of the body, or of one around it."""
    if type(x) is not Tracer or not x.type.dtype.is_integer or x.type.shape:
        return None
    return _of_value(x.owner, x.value, counter)


def _of_value(owner: Any, value: Value, counter: Tracer) -> tuple[int, int] | None:
    if owner is counter.owner and value is counter.value:
        return 1, 0
    known = owner.known(value)
    if known is not None:
        return 0, int(known)
    eqn = owner.builder.producer.get(value)
    if eqn is None:
        outer = owner.outer_of(value)
        return None if outer is None else _of_value(outer.owner, outer.value, counter)
    if eqn.op.name not in ("add", "sub", "mul") or value.type.dtype.name != "int64":
        return None
    parts = [_of_value(owner, a, counter) for a in eqn.args]
    if parts[0] is None or parts[1] is None:
        return None
    (a, b), (c, d) = parts[0], parts[1]
    if eqn.op.name == "add":
        return a + c, b + d
    if eqn.op.name == "sub":
        return a - c, b - d
    if a and c:
        return None
    return a * d + b * c, b * d


# --- sums of any numbers --------------------------------------------------------------------------


@frozen()
class Sum:
    """A number and multiples of values of the program, each with the trace that it is of."""

    number: int
    parts: dict[tuple[Any, Value], int]

    def plus(self, number: int) -> Sum:
        """It with a number added."""
        return Sum(self.number + number, self.parts)

    def falls(self) -> bool:
        """Whether something is taken off in it."""
        return self.number < 0 or any(times < 0 for times in self.parts.values())

    def is_zero(self) -> bool:
        """Whether it is 0, whatever its values are; or with those that are at hand, for which the
        program is then."""
        if any(not owner.is_at_hand(value) for owner, value in self.parts):
            return False
        return (
            self.number
            + sum(times * int(owner.needed(value)) for (owner, value), times in self.parts.items())
            == 0
        )


def sum_of(x: Any) -> Sum | None:
    """An integer as a sum; None for what is none."""
    if type(x) is Tracer:
        whole = x.type.dtype.is_integer and not x.type.shape
        return _sum_of_value(x.owner, x.value) if whole else None
    return Sum(int(x), {}) if isinstance(x, (int, np.integer)) else None


def difference(a: Sum, b: Sum) -> Sum:
    """a - b."""
    return _combined(a, b, -1)


def total(a: Sum, b: Sum) -> Sum:
    """a + b."""
    return _combined(a, b, 1)


def _combined(a: Sum, b: Sum, factor: int) -> Sum:
    """a + factor * b."""
    parts = dict(a.parts)
    for part, times in b.parts.items():
        parts[part] = parts.get(part, 0) + factor * times
    return Sum(a.number + factor * b.number, {p: n for p, n in parts.items() if n})


def _sum_of_value(owner: Any, value: Value) -> Sum:
    known = owner.known(value)
    if known is not None:
        return Sum(int(known), {})
    eqn = owner.builder.producer.get(value)
    if eqn is None:
        outer = owner.outer_of(value)
        alone = Sum(0, {(owner, value): 1})
        return alone if outer is None else _sum_of_value(outer.owner, outer.value)
    if eqn.op.name == "neg" and value.type.dtype.name == "int64":
        return _combined(Sum(0, {}), _sum_of_value(owner, eqn.args[0]), -1)
    if eqn.op.name not in ("add", "sub", "mul") or value.type.dtype.name != "int64":
        return Sum(0, {(owner, value): 1})
    a, b = (_sum_of_value(owner, x) for x in eqn.args)
    if eqn.op.name != "mul":
        return _combined(a, b, 1 if eqn.op.name == "add" else -1)
    if a.parts and b.parts:
        return Sum(0, {(owner, value): 1})
    times, other = (a.number, b) if not a.parts else (b.number, a)
    return _combined(Sum(0, {}), other, times)


__all__ = ["Sum", "affine", "difference", "sum_of", "total"]
