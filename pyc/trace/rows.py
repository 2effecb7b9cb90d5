"""Rows of a stack as elements of Python lists: each is taken out of it where it is used only.

A list that a loop has made stays a list of Python's, with an element for each iteration. What
goes over all of them finds the stack again: `np.array(rows)` is a copy of it, a loop over it one
over an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyc.frozen import frozen
from pyc.ir.graph import Value
from pyc.ir.op import OPS
from pyc.ir.types import ArrayType
from pyc.trace.memory import Step
from pyc.trace.tracer import Tracer

_SLICE, _RESHAPE = OPS["slice"], OPS["reshape"]


def row(stack: Tracer, k: int, weak: type | None = None) -> Tracer:
    """`stack[k]`, a view, standing for a Python number of type `weak` if there is one. It becomes
    an equation when its value is asked for."""
    inner = stack.type.shape[1:]
    zeros, ones = (0,) * len(inner), (1,) * len(inner)
    box = {"start": (k, *zeros), "size": (1, *inner), "step": (1, *ones)}
    part = _later(stack, (1, *inner), Step(_SLICE, box), None)
    return _later(part, inner, Step(_RESHAPE, {"shape": inner}), weak)


def _later(base: Tracer, shape: tuple[int, ...], step: Step, weak: type | None) -> Tracer:
    """A view whose value is found by its step: as if the base had been changed since."""
    found = Tracer(base.owner, Value(ArrayType(shape, base.type.dtype)), weak)
    found.view_of(base, step, None)
    return found


@frozen(eq=False)
class Stacked:
    """What a list or a tuple of rows of one stack holds: `length` of them from `first` on, `step`
    apart. weak: the Python number type that they stand for."""

    stack: Tracer
    first: int
    step: int
    length: int
    weak: type | None

    def array(self) -> Tracer:
        """The rows, in the memory of the stack."""
        if self.length == self.stack.shape[0] and self.step == 1:
            return self.stack
        end = self.first + self.step * self.length
        found: Tracer = self.stack[self.first : end if end >= 0 else None : self.step]
        return found

    def item(self, k: Any) -> Any:
        """Row number `k` of these, which may be traced."""
        at = k if self.step == 1 else k * self.step
        found = self.stack[at + self.first if self.first else at]
        return found if self.weak is None else found.weakened()


def stack_of(items: Any) -> Stacked | None:
    """The stack of the elements of a list or a tuple; None if they are not two or more rows of
    one, evenly apart."""
    if type(items) not in (list, tuple) or len(items) < 2:
        return None
    found = _run(items, 0)
    return found if found is not None and found.length == len(items) else None


def runs(items: Sequence[Any]) -> list[Stacked | list[Any]]:
    """The elements of a list or a tuple in order: two or more rows of one stack, evenly apart, and
    what is between them."""
    found: list[Stacked | list[Any]] = []
    k = 0
    while k < len(items):
        run = _run(items, k)
        if run is not None:
            found.append(run)
            k += run.length
            continue
        if found and isinstance(found[-1], list):
            found[-1].append(items[k])
        else:
            found.append([items[k]])
        k += 1
    return found


def _run(items: Sequence[Any], k: int) -> Stacked | None:
    """The elements from `k` on that are rows of one stack, evenly apart; None if it is one only."""
    place = _place(items[k])
    after = _place(items[k + 1]) if place is not None and k + 1 < len(items) else None
    if place is None or after is None or after[0] is not place[0] or after[1] == place[1]:
        return None
    (stack, first), weak = place, items[k].weak
    step = after[1] - first
    n = k
    while n < len(items):
        now = _place(items[n])
        if now is None or now[0] is not stack or now[1] != first + step * (n - k):
            break
        if items[n].weak is not weak:
            break
        n += 1
    return Stacked(stack, first, step, n - k, weak) if n - k > 1 else None


def _place(x: Any) -> tuple[Any, int] | None:
    """The stack and the number of a row."""
    if type(x) is not Tracer or x.viewed is None or x.step is None or x.bound is not None:
        return None
    part = x.viewed
    if x.step.op is not _RESHAPE or part.step is None or part.step.op is not _SLICE:
        return None
    stack, box = part.viewed, part.step.params
    if stack is None or x.type.shape != stack.type.shape[1:]:
        return None
    start, size, step = box["start"], box["size"], box["step"]
    whole = size == (1, *x.type.shape) and not any(start[1:]) and set(step) == {1}
    return (stack, start[0]) if whole else None


def joined(items: Sequence[Any]) -> list[Any] | None:
    """The elements of a list or a tuple as arrays along a first axis, and lists of those that are
    no rows; None if there are no rows among them."""
    found = runs(items)
    if not any(isinstance(part, Stacked) for part in found):
        return None
    return [part.array() if isinstance(part, Stacked) else part for part in found]


__all__ = ["Stacked", "joined", "row", "stack_of"]
