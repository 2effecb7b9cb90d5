"""Integers of a loop that are `slope * counter + start`: what an index says of its iteration."""

from __future__ import annotations

from typing import Any

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


__all__ = ["affine"]
