"""A list of numbers that a loop appends to and reads anywhere: an array of its final length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyc.numpy as pnp
from pyc.interpreter import current
from pyc.trace import location, raising
from pyc.trace.leaves import common
from pyc.trace.operand_trees import lifted
from pyc.trace.trace import Input
from pyc.trace.tracer import Tracer


class ListBuffer:
    """The array. items: what the list has before the loop; more: how many the loop appends; kind:
    what an element is."""

    def __init__(self, items: Sequence[Any], more: int, kind: Input) -> None:
        self.kind = kind
        dtype = kind.type.dtype
        first = [pnp.reshape(lifted(x, dtype), (1,)) for x in items]
        rest = pnp.zeros((more,), dtype=dtype.numpy)
        self.array: Tracer = current().copy(pnp.concat([*first, rest]))

    def put(self, count: Any, value: Any) -> None:
        """Appends a value to `count` elements."""
        self.array[count] = lifted(value, self.kind.type.dtype)

    def get(self, index: Any, count: Any) -> Any:
        """The element at an index of `count` elements; IndexError, when the program runs, if there
        is none."""
        inside = pnp.logical_and(pnp.greater_equal(index, -count), pnp.less(index, count))
        error = raising.raised(IndexError("list index out of range"), [], location.here())
        raising.bind_check(inside, error.bits(), error)
        from_end = pnp.where(pnp.less(index, 0), index + count, index)
        found = pnp.astype(self.array.at[from_end].get(mode="clip"), self.kind.type.dtype.numpy)
        return found if self.kind.weak is None else found.weakened()


def kind_of_all(kinds: Sequence[Input]) -> Input | None:
    """What an element of a list is; None where there is no one type of numbers."""
    from_all = common(list(kinds))
    return from_all if from_all is not None and not from_all.type.shape else None


__all__ = ["ListBuffer", "kind_of_all"]
