"""Lists that a loop appends to in each iteration: what it appends is stacked by the loop.

Takes lists that the body of a loop only appends to, reads elements of, or asks for the length of
(`rewrite` sees that), and that it cannot reach otherwise. While the body is traced a `Growing`
stands for each. What an iteration has appended becomes stacked results of a `scan`, whose rows are
appended to the list of the user's. What it reads of the last few elements is carried by the loop;
if it reads numbers anywhere, all of them are kept in an array (`ListBuffer`).
Numbers and arrays that an iteration makes only: one that is there for longer would be one array,
not a row for each iteration.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence
from typing import Any, NoReturn

import numpy as np

import pyc.numpy as pnp
from pyc import tree
from pyc.interpreter import WEAK, current, using
from pyc.trace.affine import affine
from pyc.trace.carried import Carried, Unstable
from pyc.trace.leaves import Static, is_array, kind_of
from pyc.trace.list_buffer import ListBuffer, kind_of_all
from pyc.trace.parts import Sized
from pyc.trace.rows import Stacked, row, stack_of
from pyc.trace.sharing import Final, memories, relate
from pyc.trace.state import Result, Snapshot, Variable
from pyc.trace.trace import Input, Trace
from pyc.trace.tracer import Tracer

FURTHEST = 16
"""How far from the end elements are carried by a loop."""


class Wanted(Exception):
    """The body needs more of a list than it was given: it is to be traced again."""


class Grown:
    """A list that grows. variable: the one that holds it; each: by how many elements in each
    iteration, as far as is known."""

    def __init__(self, variable: Variable, each: int) -> None:
        self.variable = variable
        self.items: list[Any] = variable.get()
        self.new: list[Any] = []
        """What an iteration has appended."""
        self.each = each
        self.kinds: list[Input] = []
        """What its leaves are."""
        self.memories: list[list[Tracer]] = []
        """In whose memory they are, within the iteration."""
        self.last = Result(self.name)
        """The last elements at the beginning of an iteration, a tuple of as many as are read."""
        self.reads = 0
        """How many are read."""
        self.asked = False
        """Whether the body has asked for the length."""
        self.again = False
        """Whether the body is to be traced again."""
        self.length = 0
        """How many iterations there are."""
        self.anywhere = False
        """Whether the body reads other elements than the last ones."""
        self.buffer: ListBuffer | None = None
        """All elements, if it does."""
        self.refusal: Unstable | None = None
        self._containers: list[Any] = []

    @property
    def name(self) -> str:
        """The name of the variable."""
        return self.variable.name

    def hide(self) -> None:
        """Takes the list away, so that nothing finds it."""
        self.variable.set(None)

    def show(self) -> None:
        """Puts it back."""
        self.variable.set(self.items)

    # --- in the body ------------------------------------------------------------------------------

    def enter(self, trace: Trace, counter: Tracer) -> None:
        """Gives the body a list."""
        self.again, self.new = False, []
        self.variable.set(Growing(self, trace, counter))

    def count(self, counter: Any) -> Any:
        """How many elements there are now, a traced integer."""
        self.asked = True
        length = counter if self.each == 1 else counter * self.each
        more = len(self.items) + len(self.new)
        return length + more if more else length

    def want(self, reads: int) -> NoReturn:
        """Has the body traced again with so many of the last elements."""
        if reads > len(self.items):
            first = -(-(reads - len(self.items)) // self.each)
            self.refuse_read(first)
        self.reads, self.again = max(self.reads, reads), True
        raise Wanted

    def refuse(self, message: str, first: int = 0) -> NoReturn:
        """The loop cannot be an op. first: but so many iterations later it may be."""
        fix = "Make an array before the loop and assign to its elements."
        self.refusal = Unstable(message, fix, again=first)
        raise self.refusal

    def refuse_read(self, first: int = 0) -> NoReturn:
        """The loop reads elements that cannot be carried. first: see `refuse`."""
        self.refuse(
            f"the loop reads elements of the list `{self.name}` while it makes them, other than "
            "numbers and some of the last arrays",
            first,
        )

    def refuse_change(self) -> NoReturn:
        """The loop does something else with the list than to append to it."""
        self.refuse(
            f"the loop changes the list `{self.name}`, and not only values in their old places"
        )

    # --- after an iteration -----------------------------------------------------------------------

    def read(self, index: Any, counter: Tracer) -> Any:
        """The element at any index."""
        if not self.items:
            self.refuse_read(1)
        if self.buffer is None:
            self.anywhere = self.again = True
            raise Wanted
        return self.buffer.get(index, self.count(counter))

    def settled(self, carried: list[Carried], arrays: list[Tracer], whole: bool) -> bool:
        """Whether the body had what it needed; else it is to be traced again. carried: gets the
        last elements, and what they are after the iteration; arrays: those that the loop changes;
        whole: whether the body was traced to its end.

        raises Unstable: the loop cannot be an op
        """
        if self.refusal is not None:
            raise self.refusal
        if whole and self.asked and len(self.new) != self.each:
            self.each, self.again = len(self.new), True
        if self.anywhere:
            self._buffer(arrays, whole)
        if self.again:
            if self.reads:
                carried[:] = [c for c in carried if c.place is not self.last]
                self.last.set(tuple(self.items[-self.reads :]))
                carried.append(Carried(self.last))
            return False
        if self.reads and whole:
            self.last.set((*self.last.get(), *self.new)[-self.reads :])
        return True

    def _buffer(self, arrays: list[Tracer], whole: bool) -> None:
        """Makes an array for the elements, another one if what it is made for has changed."""
        known = [kind_of(x, self.name) for x in (*self.items, *(self.new if whole else ()))]
        inputs = [k for k in known if isinstance(k, Input)]
        kind = kind_of_all(inputs) if len(inputs) == len(known) else None
        if kind is None:
            self.refuse_read()
        before, self.kinds = self.buffer, []
        if before is not None and before.kind == kind and not self.again:
            return
        around: Any = current()
        with using(around.parent):
            self.buffer = ListBuffer(self.items, self.each * self.length, kind)
        if before is not None:
            arrays[:] = [a for a in arrays if a is not before.array]
        self.again = True

    def leave(
        self, trace: Trace, carried: Sequence[Carried], steady: bool, snapshot: Snapshot
    ) -> list[Tracer]:
        """The values of an iteration, to be stacked. steady: whether it changes no array that it
        has from the one before.

        raises Unstable: something else than numbers and arrays that are new in each iteration
        """
        if self.buffer is not None:
            self.memories = []
            return []
        self._containers = []
        self.new = [self._packed(x) for x in self.new]
        leaves = [_bare(leaf) for leaf in tree.leaves(self.new)]
        found = [kind_of(leaf, self.name) for leaf in leaves]
        self.kinds = [k for k in found if isinstance(k, Input)]
        if any(isinstance(k, Static) for k in found):
            raise Unstable(
                f"the loop appends something else than numbers and arrays to `{self.name}`",
                "Append it after the loop, or in a comprehension.",
                again=0,
            )
        self.memories = [self._memories(trace, x) for x in leaves]
        given = [id(m) for c in carried for x in c.given if is_array(x) for m in memories(x)]
        going = [m for c in carried for f in c.finals if f is not None for m in f.memories]
        mine = [m for held in self.memories for m in held]
        lasting = any(m.owner is not trace or id(m) in given for m in mine)
        shared = not steady and any(m is x for m in mine for x in going)
        if lasting or shared or len({id(m) for m in mine}) < len(mine):
            raise self._lasting()
        self._check_containers(carried, snapshot)
        return [trace.lift(leaf) for leaf in leaves]

    def _packed(self, value: Any) -> Any:
        """A value with the lists in it that are rows of a stack as one leaf each. Notes what it
        holds its leaves in."""
        if type(value) in (list, tuple):
            if type(value) is list:
                self._containers.append(value)
            found = stack_of(value)
            if found is not None:
                return _Packed(type(value), found)
            return type(value)(map(self._packed, value))
        if not tree.is_leaf(value) and type(value) is not type(None):
            self._containers += [v for v in _containers(value) if type(v) is not tuple]
        return value

    def _check_containers(self, carried: Sequence[Carried], snapshot: Snapshot) -> None:
        """Unstable if the list gets a list or a dict that is there for longer: all its elements
        would be that one."""
        mine = [id(v) for v in self._containers]
        going = {id(v) for c in carried for v in _containers(c.place.get())}
        if len(set(mine)) < len(mine) or any(map(snapshot.reaches_object, self._containers)):
            raise self._lasting()
        if not going.isdisjoint(mine):
            raise self._lasting()

    def _memories(self, trace: Trace, leaf: Any) -> list[Tracer]:
        if type(leaf) in WEAK or isinstance(leaf, np.generic):
            return []
        if not isinstance(leaf, Tracer):
            raise self._lasting()
        return Final(trace, leaf).memories if is_array(leaf) else []

    def _lasting(self) -> Unstable:
        return Unstable(
            f"`{self.name}` gets an array that is there for longer than the iteration",
            f"Append a copy of it: `{self.name}.append(x.copy())`.",
            again=0,
        )

    # --- after the loop ---------------------------------------------------------------------------

    def extend(
        self, stacks: Sequence[Tracer], length: int, ends: Sequence[tuple[Tracer, Final]]
    ) -> None:
        """Appends the rows, in the order in which the iterations would have. ends: what the loop
        carries, which may be the last row."""
        if self.buffer is not None:
            first, weak = len(self.items), self.buffer.kind.weak
            total = first + length * self.each
            self.items.extend(row(self.buffer.array, k, weak) for k in range(first, total))
            return
        for stack, held in zip(stacks, self.memories, strict=True):
            relate(stack, [x for x, f in ends if any(m is h for m in f.memories for h in held)])
        if len(stacks) > 1 and self._are_alike():
            total = length * len(stacks)
            together = pnp.reshape(pnp.stack(stacks, axis=1), (total,))
            self.items.extend(row(together, k, self.kinds[0].weak) for k in range(total))
            return
        treedef = tree.structure(self.new)
        packs = tree.leaves(self.new)
        for k in range(length):
            rows = [
                leaf.unpacked(stack, k) if isinstance(leaf, _Packed) else row(stack, k, kind.weak)
                for stack, kind, leaf in zip(stacks, self.kinds, packs, strict=True)
            ]
            self.items.extend(treedef.unflatten(rows))

    def _are_alike(self) -> bool:
        """Whether an iteration appends several numbers of one type."""
        first = self.kinds[0]
        same = all(k.type == first.type and k.weak is first.weak for k in self.kinds)
        return same and not first.type.shape and all(map(tree.is_leaf, self.new))


class Growing(Sized):
    """What stands in the body for a list that grows. trace: that of the body."""

    __slots__ = ("_counter", "_grown", "_trace")

    def __init__(self, grown: Grown, trace: Trace, counter: Tracer) -> None:
        self._grown, self._trace, self._counter = grown, trace, counter

    @property
    def shape(self) -> tuple[Any, ...]:
        """How many elements it has."""
        return (self._grown.count(self._counter),)

    def append(self, value: Any) -> None:
        """Appends a value, in each iteration."""
        if current() is not self._trace:
            self._grown.refuse_change()
        buffer = self._grown.buffer
        if buffer is not None:
            buffer.put(self._grown.count(self._counter), value)
        self._grown.new.append(value)

    def __getitem__(self, key: Any) -> Any:
        """An element, or a list of some that are near the end."""
        if type(key) is slice:
            return self._slice(key)
        length = len(self._grown.items)
        if type(key) is not Tracer:
            known = operator.index(key)
            if 0 <= known < length:
                return self._grown.items[known]
            if known >= 0 and self._grown.each:
                self._grown.refuse_read(known + 1 - length)
        distance = self._distance(key)
        if distance is None or not 0 < distance <= FURTHEST + len(self._grown.new):
            return self._grown.read(key, self._counter)
        return self._from_end(distance)

    def _distance(self, key: Any) -> int | None:
        """How far from the end an index is; None if that is not the same in each iteration."""
        grown = self._grown
        if type(key) is not Tracer:
            known = operator.index(key)
            if known < 0:
                return -known
        slope, start = affine(key, self._counter) or (0, 0)
        if slope != grown.each or start < 0:
            return None
        grown.asked = True
        return len(grown.items) + len(grown.new) - start

    def _from_end(self, distance: int) -> Any:
        grown = self._grown
        new = len(grown.new)
        if distance <= new:
            return grown.new[-distance]
        if distance - new > grown.reads:
            grown.want(distance - new)
        return grown.last.get()[new - distance]

    def _slice(self, key: slice) -> list[Any]:
        grown = self._grown
        if key.start is None or key.step is not None:
            grown.refuse_read()
        first = self._distance(key.start)
        end = 0 if key.stop is None else self._distance(key.stop)
        if first is None or end is None or end < 0 or first > FURTHEST + len(grown.new):
            grown.refuse_read()
        return [self._from_end(k) for k in range(first, end, -1)]


class _Packed:
    """A list or a tuple of rows of one stack, as a leaf."""

    __slots__ = ("array", "kind", "length", "weak")

    def __init__(self, kind: type, of: Stacked) -> None:
        self.kind, self.length, self.weak = kind, of.length, of.weak
        self.array = of.array()

    def unpacked(self, stack: Tracer, k: int) -> Any:
        """Row `k` of what was stacked of it, as it was."""
        whole = row(stack, k)
        return self.kind(row(whole, n, self.weak) for n in range(self.length))


def _bare(leaf: Any) -> Any:
    return leaf.array if isinstance(leaf, _Packed) else leaf


def _containers(value: Any) -> Collection[Any]:
    """The lists, dicts and objects that a value is made of."""
    found: list[Any] = []

    def see(x: Any) -> bool:
        if not tree.is_leaf(x) and type(x) is not tuple:
            found.append(x)
        return False

    tree.leaves(value, see)
    return found


__all__ = ["Grown", "Growing", "Wanted"]
