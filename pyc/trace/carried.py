"""What a loop carries by value: a place, what it holds before an iteration and after, and whether
the two fit together."""

from __future__ import annotations

from typing import Any

import pyc.numpy as pnp
from pyc.errors import LoopStateError
from pyc.frozen import replace
from pyc.interpreter import current, using
from pyc.ir import dtype as dt
from pyc.ir.types import ArrayType
from pyc.trace import location
from pyc.trace.leaves import (
    Apart,
    Static,
    all_bound,
    apart,
    described,
    empty,
    is_array,
    may_be_array,
    put,
    shown,
    wider,
)
from pyc.trace.operand_trees import lifted
from pyc.trace.sharing import Final, is_argument, is_dense
from pyc.trace.state import UNBOUND, Place
from pyc.trace.trace import Input, Trace
from pyc.trace.tracer import Tracer

_TRUTH = Input(ArrayType((), dt.b1))


class Unstable(Exception):
    """The body does not do in each iteration what it does in the first: why. again: after how
    many iterations it may do so, 0 if it never does."""

    def __init__(self, message: str, fix: str, again: int = 1) -> None:
        super().__init__(message)
        self.message, self.fix, self.again = message, fix, again

    def error(self) -> LoopStateError:
        """The error for the user."""
        return LoopStateError(self.message, fix=self.fix, place=location.here())


def _differ(before: Any, after: Any) -> bool:
    """Whether one of two leaves is an array of rank 0, and the other one may be a scalar. An
    argument is not asked: no iteration that has it may change it."""
    if is_array(before):
        return before.is_known_array and not is_array(after) and not before.ndim
    return may_be_array(after) and not after.ndim


class Carried:
    """A place that a loop carries by value."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.initial = place.get()
        self.start: Apart | None = None
        """The value before the loop; None while it has none."""
        if self.initial is not UNBOUND:
            self.start = apart(self.initial, place.name)
        self.bound: Any = True if self.start is None else all_bound(self.start)
        """Whether there is a value before the loop, for certain or by a traced truth."""
        self.maybe = self.bound is not True
        """Whether an iteration may begin, or end, without a value: then that is carried too."""
        self.kinds = list(self.start.kinds) if self.start is not None else []
        """What the leaves are, as far as is known."""
        arrays = self.start.leaves if self.start is not None else []
        self.argument = [is_array(x) and is_argument(x) for x in arrays]
        self.dense = [is_array(x) and is_dense(x) for x in arrays]
        self.boxed = [is_array(x) and not x.ndim and x.is_known_array for x in arrays]
        """Which leaves are arrays of rank 0 at the beginning of each iteration."""
        self.either = [may_be_array(x) and not x.ndim and not is_array(x) for x in arrays]
        """Which ones are arrays in some iterations, and scalars in others."""
        self.parameters: list[Tracer] = []
        """Those of the Graph."""
        self.given: list[Any] = []
        """What stands for the leaves in the body."""
        self.value: Any = UNBOUND
        """What stands for the value in the body."""
        self.end: Apart | None = None
        """The value after an iteration; None if it has none."""
        self.finals: list[Final | None] = []
        """What the arrays among the leaves are after an iteration, once all is settled."""

    @property
    def inputs(self) -> list[Input]:
        """Types of what is carried: the leaves that are values, and whether there is a value."""
        found = [k for k in self.kinds if isinstance(k, Input)]
        return [*found, _TRUTH] if self.maybe else found

    def enter(self, trace: Trace) -> None:
        """Puts parameters of `trace` in the place."""
        self.parameters = trace.add_inputs(self.inputs)
        if self.start is None:
            self.value = UNBOUND
            self.place.set(UNBOUND)
            return
        # The parameters themselves stay as they are: these are changed in place.
        parameters = iter(Tracer(trace, p.value, p.weak) for p in self.parameters)
        self.given = [
            kind.value if isinstance(kind, Static) else next(parameters) for kind in self.kinds
        ]
        flags = zip(self.given, self.argument, self.dense, self.boxed, self.either, strict=True)
        for leaf, argument, dense, boxed, either in flags:
            if boxed:
                leaf.boxed = True
            if either:
                leaf.either = True
            if argument or is_array(leaf):
                leaf.argument, leaf.dense = argument, dense
        self.value = self.start.joined(self.given)
        if self.maybe:
            put(self.value, next(parameters), self.place.name)
        self.place.set(self.value)

    def is_changed(self) -> bool:
        """Whether there is another value in the place than was put there."""
        return self.place.get() is not self.value or not self._is_whole()

    def _is_whole(self) -> bool:
        """Whether the value that was put there holds what it held."""
        if self.start is None or self.start.single:
            return True
        now = apart(self.value, "")
        pairs = zip(now.leaves, self.given, strict=False)
        return now.treedef == self.start.treedef and all(a is b for a, b in pairs)

    def leave(self) -> bool:
        """Takes the value of the place after an iteration; whether its types have settled."""
        value = self.place.get()
        self.end = None if value is UNBOUND else apart(value, self.place.name)
        if self.start is None:
            return self._leave_first()
        if self.end is None:
            raise self._unstable("no value")
        if not self._is_whole():
            raise Unstable(
                f"`{self.place.name}` is changed in place and assigned in one loop",
                "Do one of the two.",
            )
        if self.end.treedef != self.start.treedef:
            raise self._unstable(shown(self.end))
        kinds: list[Input | Static] = []
        for old, new in zip(self.kinds, self.end.kinds, strict=True):
            joined: Input | Static | None = None
            if isinstance(old, Input) and isinstance(new, Input):
                joined = wider(old, new)
            elif old == new:
                joined = old
            if joined is None:
                raise self._unstable(
                    described(new), described(old), old.name if isinstance(old, Input) else ""
                )
            kinds.append(joined)
        # What is an array before the first iteration only is a scalar in the others.
        stays = [is_array(x) for x in self.end.leaves]
        boxed = [b and s for b, s in zip(self.boxed, stays, strict=True)]
        argument = [a and s for a, s in zip(self.argument, stays, strict=True)]
        leaves = zip(self.either, self.start.leaves, self.end.leaves, strict=True)
        either = [e or _differ(before, after) for e, before, after in leaves]
        found = (kinds, boxed, argument, either)
        settled = found == (self.kinds, self.boxed, self.argument, self.either)
        self.kinds, self.boxed, self.argument, self.either = found
        return settled

    def tell(self, result: Tracer, k: int, *, ran: bool) -> None:
        """Says of what is in the place after the loop whether it is an array of rank 0. ran:
        whether it is made by an iteration, and not what was there before."""
        if result.shape or self.end is None:
            return
        end = self.end.leaves[k]
        result.boxed = self.boxed[k] or (ran and is_array(end) and end.is_known_array)
        result.either = self.either[k] and not (ran and not may_be_array(end))

    def _leave_first(self) -> bool:
        """As `leave`, where there is no value before the loop."""
        found = [] if self.end is None else self.end.kinds
        settled, self.kinds = found == self.kinds, found
        self.boxed = self.either = [False] * len(found)
        if self.end is not None and (self.end.bound or any(map(_is_required, self.end.leaves))):
            # It gets one in some iterations: from now on it is carried from the beginning.
            assert not any(isinstance(k, Static) for k in found), "branches drop these"
            around: Any = current()
            with using(around.parent):
                self.start = replace(self.end, leaves=empty(self.end), bound=[])
            self.bound, self.maybe = False, True
            self.argument = self.dense = self.boxed
            return False
        return settled

    def _unstable(self, after: str, before: str = "", name: str = "") -> Unstable:
        assert self.start is not None
        name = name or self.place.name
        before = before or shown(self.start)
        where = f" (assigned in line {self.place.line})" if self.place.line else ""
        if before == after:
            before, after = f"one {before.removeprefix('a ')}", "another"
        return Unstable(
            f"`{name}` is {before} before an iteration of the loop and {after} after it{where}",
            f"Give `{name}` the type before the loop that it has in the loop: the same dtype, "
            "shape and structure.",
        )

    def results(self) -> list[Any]:
        """The leaves after an iteration that are values of the Graph."""
        if self.end is None:
            return []
        pairs = zip(self.end.leaves, self.kinds, strict=True)
        found = [lifted(x, k.type.dtype) for x, k in pairs if isinstance(k, Input)]
        return [*found, current().lift(all_bound(self.end))] if self.maybe else found

    def initials(self) -> list[Any]:
        """The same before the loop; zeros where there is no value yet."""
        if self.start is None:
            return [pnp.zeros(k.type.shape, dtype=k.type.dtype.numpy) for k in self.inputs]
        pairs = zip(self.start.leaves, self.kinds, strict=True)
        found = [lifted(x, k.type.dtype) for x, k in pairs if isinstance(k, Input)]
        return [*found, current().lift(self.bound)] if self.maybe else found


def _is_required(leaf: Any) -> bool:
    """Whether a leaf may have had no value until it was used, in this iteration."""
    return isinstance(leaf, Tracer) and leaf.required


__all__ = ["Carried", "Unstable"]
