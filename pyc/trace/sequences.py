"""What a `for` goes over if its items can be computed from the number of the iteration.

The number may be traced: ranges, arrays, and what `enumerate`, `zip`, `reversed`,
`itertools.product` and `np.ndindex` make of these."""

from __future__ import annotations

import builtins
import functools
import itertools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.errors import DTypeError, LoopStateError, TraceError
from pyc.interpreter import WEAK, bind1, type_of
from pyc.ir import dtype as dt
from pyc.trace import location
from pyc.trace.rows import Stacked, runs
from pyc.trace.tracer import Tracer

SHORT = 16
"""Loops of up to this many iterations run in Python."""


class Steps(ABC):
    """A sequence by number. length: an int, or a traced one."""

    length: Any
    lead = 0
    """How many items at the beginning are of another kind: their iterations are apart."""

    @abstractmethod
    def item(self, k: Any) -> Any:
        """The item of iteration `k`, an int or a traced one within the length."""

    def fixed(self) -> Steps | None:
        """The sequence with a length that is known, for whose bounds the program is then; None if
        they depend on more than integers that are at hand."""
        return self

    def __iter__(self) -> Any:
        """The items; TraceError if the length is traced, and not at hand."""
        known = self.fixed()
        if known is None:
            raise TraceError(
                "the number of items is traced, and they are needed while the function is traced",
                fix="Loop with `for`; or make the argument it comes from static: "
                "`pyc.jit(static_argnames=...)`.",
                place=location.here(),
            )
        return map(known.item, range(known.length))


class Counted(Steps):
    """A `range` of Python's."""

    def __init__(self, of: range) -> None:
        self.of = of
        self.length = len(of)

    def item(self, k: Any) -> Any:
        """A Python int, traced if `k` is."""
        if type(k) is int:
            return self.of[k]
        scaled = k if self.of.step == 1 else k * self.of.step
        return scaled if self.of.start == 0 else scaled + self.of.start


class TracedRange(Steps):
    """A range some bound of which is traced; the step is not."""

    def __init__(self, start: Any, stop: Any, step: int) -> None:
        self.start, self.stop, self.step = start, stop, step
        distance = stop - start if step > 0 else start - stop
        size = abs(step)
        count = distance if size == 1 else (distance + (size - 1)) // size
        self.length = pnp.maximum(count, 0).weakened()

    def item(self, k: Any) -> Any:
        """A traced Python int."""
        scaled = k if self.step == 1 else k * self.step
        return scaled if type(self.start) is int and self.start == 0 else scaled + self.start

    def fixed(self) -> Steps | None:
        """A range of Python's."""
        bounds = (self.start, self.stop)
        if not all(b.is_at_hand for b in bounds if isinstance(b, Tracer)):
            return None
        start, stop = map(operator.index, bounds)
        return Counted(range(start, stop, self.step))


class Rows(Steps):
    """The slices of an array along its first axis: views, as NumPy gives them."""

    def __init__(self, array: Tracer) -> None:
        self.array = array
        self.length = array.shape[0]

    def item(self, k: Any) -> Any:
        """A view of the array, or a scalar."""
        return self.array[k]


class Listed(Steps):
    """The elements of a list or a tuple which are rows of a stack from number `lead` on."""

    def __init__(self, items: Any, lead: int, of: Stacked) -> None:
        self.items, self.lead, self.of = items, lead, of
        self.length = len(items)
        self._now = list(items)

    def item(self, k: Any) -> Any:
        """The element itself, or the row of the stack; LoopStateError if the list has changed."""
        if type(k) is int:
            return self.items[k]
        if len(self.items) != self.length or any(map(operator.is_not, self.items, self._now)):
            raise LoopStateError(
                "the loop changes the list that it goes over",
                fix="Go over a copy of it: `for x in list(xs)`.",
                place=location.here(),
            )
        return self.of.item(k - self.lead if self.lead else k)


class Numbered(Steps):
    """`enumerate` of a sequence."""

    def __init__(self, of: Steps, start: Any = 0) -> None:
        self.of, self.start = of, start
        self.length, self.lead = of.length, of.lead

    def item(self, k: Any) -> Any:
        """(number, item)."""
        number = k if type(self.start) is int and self.start == 0 else k + self.start
        return number, self.of.item(k)

    def fixed(self) -> Steps | None:
        """That of a sequence of a known length."""
        of = self.of.fixed()
        return None if of is None else Numbered(of, self.start)


class Zipped(Steps):
    """`zip` of sequences."""

    def __init__(self, of: list[Steps]) -> None:
        self.of = of
        self.lead = max((s.lead for s in of), default=0)
        lengths = [s.length for s in of]
        self.length: Any = min([n for n in lengths if type(n) is int], default=None)
        for n in lengths:
            if type(n) is not int:
                least = n if self.length is None else pnp.minimum(n, self.length).weakened()
                self.length = least

    def item(self, k: Any) -> Any:
        """A tuple of items."""
        return tuple(s.item(k) for s in self.of)

    def fixed(self) -> Steps | None:
        """That of sequences of known lengths."""
        of = [s.fixed() for s in self.of]
        known = [s for s in of if s is not None]
        return Zipped(known) if len(known) == len(of) else None


class Backwards(Steps):
    """`reversed` of a sequence."""

    def __init__(self, of: Steps) -> None:
        self.of = of
        self.length = of.length

    def item(self, k: Any) -> Any:
        """The item so far from the end."""
        return self.of.item(self.length - 1 - k)

    def fixed(self) -> Steps | None:
        """That of a sequence of a known length."""
        of = self.of.fixed()
        return None if of is None else Backwards(of)


class Product(Steps):
    """`itertools.product` of sequences, and so `np.ndindex` of ranges."""

    def __init__(self, of: list[Steps]) -> None:
        self.of = of
        self.length = functools.reduce(operator.mul, (s.length for s in of), 1)

    def item(self, k: Any) -> Any:
        """A tuple of items, the last of which changes fastest."""
        found = []
        for s in reversed(self.of):
            found.append(s.item(k % s.length))
            k = k // s.length
        return tuple(reversed(found))

    def fixed(self) -> Steps | None:
        """That of sequences of known lengths."""
        of = [s.fixed() for s in self.of]
        known = [s for s in of if s is not None]
        return Product(known) if len(known) == len(of) else None


def sequence(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """`function(*args, **options)`: for `range`, `enumerate`, `zip`, `reversed`, `product` and
    `ndindex` of sequences by number one of these, else what the function gives."""
    if function is builtins.range and not options and any(isinstance(a, Tracer) for a in args):
        return _range(*args)
    if function is np.ndindex and not options:
        shape = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
        ranges = [_range(n) for n in shape]
        return Product(ranges) if ranges else function(*args)
    steps = [steps_of(a) for a in args]
    if function is builtins.enumerate and steps and isinstance(steps[0], Steps):
        start = options.get("start", args[1] if len(args) > 1 else 0)
        return Numbered(steps[0], start)
    known = [s for s in steps if s is not None]
    if steps and len(known) == len(steps):
        if function is builtins.zip and set(options) <= {"strict"}:
            return _zip(known, **options)
        if function is itertools.product and not options and not any(s.lead for s in known):
            return Product(known)
        if function is builtins.reversed and len(known) == 1 and not options and not known[0].lead:
            return Backwards(known[0])
    return function(*args, **options)


def steps_of(x: Any) -> Steps | None:
    """What a loop goes over as a sequence by number: of a list if a loop has made it."""
    if isinstance(x, range):
        return Counted(x)
    if isinstance(x, Tracer):
        return Rows(x) if x.ndim else None
    if type(x) in (list, tuple):
        return _listed(x)
    return x if isinstance(x, Steps) else None


def _listed(items: Any) -> Steps | None:
    parts = runs(items) if len(items) > SHORT else []
    if not parts or not isinstance(parts[-1], Stacked) or len(parts) > 2:
        return None
    lead = len(items) - parts[-1].length
    return Listed(items, lead, parts[-1]) if lead <= SHORT else None


def _zip(steps: list[Steps], strict: bool = False) -> Steps:
    lengths = [s.length for s in steps]
    if strict and (not all(type(n) is int for n in lengths) or len(set(lengths)) > 1):
        raise ValueError("zip(strict=True): the lengths differ, or are traced")
    return Zipped(steps)


def _range(*args: Any) -> Steps:
    """A range of one to three integers, some of them traced."""
    bounds = [_bound(a) for a in args]
    if not 1 <= len(bounds) <= 3:
        raise TypeError(f"range expected from 1 to 3 arguments, got {len(bounds)}")
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if isinstance(step, Tracer) and step.is_at_hand:
        step = operator.index(step)
    if isinstance(step, Tracer):
        raise TraceError(
            "the step of a range is traced: whether it counts up or down is not known",
            fix="Write a `while` loop; or make the argument it comes from static: "
            "`pyc.jit(static_argnames=...)`.",
            place=location.here(),
        )
    if step == 0:
        raise ValueError("range() arg 3 must not be zero")
    if not isinstance(start, Tracer) and not isinstance(stop, Tracer):
        return Counted(range(start, stop, step))
    return TracedRange(start, stop, step)


def _bound(x: Any) -> Any:
    """A bound of a range as a Python int, traced or not."""
    if not isinstance(x, Tracer):
        return x.__index__()
    type = type_of(x)
    if type.shape or not type.dtype.is_integer:
        raise DTypeError(
            f"range: a bound must be an integer, it is {type}",
            fix='Convert it: `n.astype("int64")`, or `int(n)` outside of the function.',
            place=location.here(),
        )
    wide = x if type.dtype is dt.i64 else bind1("cast", x, dtype=dt.i64)
    return wide if x.weak in WEAK and wide is x else wide.weakened()


__all__ = ["SHORT", "Counted", "Rows", "Steps", "sequence", "steps_of"]
