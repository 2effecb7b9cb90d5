"""What is known of an integer of the program before it runs: between which numbers it is.

Counters of loops know their ends; sums, products, quotients and choices follow from their operands.
Of all else only the type is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.ir import dtype as dt
from pyc.ir.graph import Eqn, Value
from pyc.ir.integer_range import Range, full_range, integer_range
from pyc.trace.tracer import Tracer

_DEEPEST = 40
"""So many operations one behind the other are looked at."""
_NAMES = {"floor_divide": "quotient", "min": "minimum", "max": "maximum"}
"""Instructions for operations that have another name."""


def range_of(x: Any) -> Range:
    """The range of an integer: a Python one, NumPy's, or a traced one of rank 0."""
    if type(x) is Tracer:
        return _of_value(x.owner, x.value, 0)
    assert isinstance(x, (int, np.integer)), x
    return Range(int(x), int(x))


def _of_value(owner: Any, value: Value, depth: int) -> Range:
    counted: Range | None = owner.ranges.get(value)
    if counted is not None:
        return counted
    full = full_range(value.type.dtype)
    if depth > _DEEPEST:
        return full
    known = owner.known(value)
    if known is not None:
        return Range(int(known), int(known))
    eqn = owner.builder.producer.get(value)
    if eqn is None:
        outer = owner.outer_of(value)
        return full if outer is None else _of_value(outer.owner, outer.value, depth + 1)
    whole = all(a.type.dtype.is_integer or a.type.dtype is dt.b1 for a in eqn.args)
    if not eqn.args or not whole or any(a.type.shape for a in eqn.args):
        return full
    name, operands = _extreme(owner, eqn) or (_NAMES.get(eqn.op.name, eqn.op.name), eqn.args)
    found = integer_range(name, [_of_value(owner, a, depth + 1) for a in operands])
    fits = found is not None and full.low <= found.low and found.high <= full.high
    return found if fits and found is not None else full


def _extreme(owner: Any, eqn: Eqn) -> tuple[str, Sequence[Value]] | None:
    """What Python's `min` and `max` make: a choice of one of two by a comparison of these."""
    if eqn.op.name != "select":
        return None
    test = owner.builder.producer.get(eqn.args[0])
    if test is None or test.op.name not in ("lt", "le", "gt", "ge"):
        return None
    chosen = [owner.builder.producer.get(v) or v for v in eqn.args[1:]]
    compared = [owner.builder.producer.get(v) or v for v in test.args]
    below = test.op.name in ("lt", "le")
    if chosen == compared:
        return "minimum" if below else "maximum", eqn.args[1:]
    return ("maximum" if below else "minimum", eqn.args[1:]) if chosen == compared[::-1] else None


__all__ = ["range_of"]
