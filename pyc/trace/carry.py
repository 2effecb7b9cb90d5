"""Loops as ops: what a body changes is found by tracing it, and carried.

The body of a loop is traced with a parameter for each variable that it assigns and that matters to
the next iteration or after the loop. What else it changes shows in the trace: arrays of the
surroundings that were changed in place, whatever alias, view or helper did it (`Trace.changed`),
and elements of lists, dicts and objects (`state.Snapshot`). These become parameters too, and the
body is traced again, until nothing new is found and types have settled. After the loop the results
are written back to where they came from.

An array in a variable that the body assigns is carried by value. That is right only while nothing
else shares its memory where elements are changed in place: `_Aliases` finds what does. What cannot
be known is an error where it matters, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import permutations
from typing import Any

import pyc.numpy as pnp
from pyc.errors import LoopStateError
from pyc.frozen import replace
from pyc.interpreter import current, using
from pyc.ir import dtype as dt
from pyc.ir.graph import Graph
from pyc.ir.types import ArrayType
from pyc.trace import location
from pyc.trace.capture import Input, Trace, tracing, unbound_name
from pyc.trace.control import lifted
from pyc.trace.leaves import (
    Apart,
    Static,
    all_bound,
    apart,
    described,
    empty,
    is_array,
    put,
    shown,
    wider,
)
from pyc.trace.memory import row_major
from pyc.trace.state import UNBOUND, Place, Snapshot
from pyc.trace.tracer import Tracer

_TRUTH = Input(ArrayType((), dt.b1))
_COUNTER = Input(ArrayType((), dt.i64), int, "counter")
_WHAT = "a change in a loop"
_REWRITE = "`y = x.copy()` before the loop, and change that"


class Unstable(Exception):
    """The body does not do in each iteration what it does in the first: why. again: whether it may
    do so from the second iteration on."""

    def __init__(self, message: str, fix: str, again: bool = True) -> None:
        super().__init__(message)
        self.message, self.fix, self.again = message, fix, again

    def error(self) -> LoopStateError:
        """The error for the user."""
        return LoopStateError(self.message, fix=self.fix, place=location.here())


class ImpureError(Exception):
    """The test of a loop changes something: it cannot be evaluated apart from the body."""


# --- memory ---------------------------------------------------------------------------------------


def memories(x: Tracer) -> list[Tracer]:
    """The arrays, each of the outermost trace that has it, in whose memory `x` may be, its own one
    first."""
    first = x.origin
    return [first, *(r.origin for r in first.rivals if r.owner.open and not r.is_lost)]


def may_share(first: Sequence[Tracer], second: Sequence[Tracer]) -> bool:
    """Whether arrays of these `memories` may be in one: they know each other."""
    if not first or not second:
        return False
    return any(first[0] is m for m in second) or any(second[0] is m for m in first)


def is_dense(x: Tracer) -> bool:
    """Whether an array is in row-major order, for certain."""
    return x._strides() == row_major(x.shape)


def relate(result: Tracer, others: Sequence[Tracer]) -> None:
    """Notes that an array may share the memory of other ones."""
    for other in others:
        if other is not result and not any(other is r for r in result.rivals):
            result.rivals.append(other)
            other.rivals.append(result)


# --- carried values -------------------------------------------------------------------------------


class _Carried:
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
        self.argument = [is_array(x) and _is_argument(x) for x in arrays]
        self.dense = [is_array(x) and is_dense(x) for x in arrays]
        self.parameters: list[Tracer] = []
        """Those of the Graph."""
        self.given: list[Any] = []
        """What stands for the leaves in the body."""
        self.value: Any = UNBOUND
        """What stands for the value in the body."""
        self.end: Apart | None = None
        """The value after an iteration; None if it has none."""
        self.finals: list[_Final | None] = []
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
        for leaf, argument, dense in zip(self.given, self.argument, self.dense, strict=True):
            if is_array(leaf):
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
        settled = kinds == self.kinds
        self.kinds = kinds
        return settled

    def _leave_first(self) -> bool:
        """As `leave`, where there is no value before the loop."""
        found = [] if self.end is None else self.end.kinds
        settled, self.kinds = found == self.kinds, found
        if self.end is not None and self.end.bound:
            # It gets one in some iterations: from now on it is carried from the beginning.
            if any(isinstance(k, Static) for k in found):
                raise Unstable(
                    f"`{self.place.name}` gets a value in some iterations only",
                    f"Give `{self.place.name}` a value before the loop.",
                )
            around: Any = current()
            with using(around.parent):
                self.start = replace(self.end, leaves=empty(self.end), bound=[])
            self.bound, self.maybe = False, True
            self.argument = self.dense = [False] * len(found)
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


def _is_argument(x: Tracer) -> bool:
    return any(m.argument for m in memories(x))


class _Final:
    """An array after an iteration. leaf: itself; memories: in whose memory it may be."""

    def __init__(self, trace: Trace, leaf: Any) -> None:
        array: Tracer = trace.lift(leaf)
        self.leaf = leaf
        self.memories = memories(array)
        self.argument = _is_argument(array)
        self.dense = is_dense(array)


class _Array:
    """An array in a place that a loop carries: the leaf `k` of `carried`."""

    def __init__(self, trace: Trace, carried: _Carried, k: int) -> None:
        assert carried.start is not None and carried.end is not None
        self.carried, self.k = carried, k
        self.start: Tracer = carried.start.leaves[k]
        self.given: Tracer = carried.given[k]
        self.end = _Final(trace, carried.end.leaves[k])
        self.mutated = self.given._value is not self.given.made or self.given.is_lost
        self.first = memories(self.start)
        """The arrays in whose memory it may be at the beginning of the first iteration."""
        self.held = {id(m): m for m in self.first}
        """Those at the beginning of any iteration, by id."""


class _Made:
    """An array after a loop. start: what was in its place before, None if nothing was."""

    def __init__(self, result: Tracer, final: _Final, start: Any) -> None:
        self.result, self.final, self.start = result, final, start
        self.first = memories(start) if is_array(start) else []
        """The arrays in whose memory it was before the loop."""


class _Aliases:
    """Which arrays may share memory at the beginning or at the end of some iteration."""

    def __init__(self, trace: Trace, carried: Sequence[_Carried]) -> None:
        self.trace: Any = trace
        self.arrays = [
            _Array(trace, c, k)
            for c in carried
            if c.start is not None and c.end is not None and not c.place.final
            for k, (x, p) in enumerate(zip(c.start.leaves, c.given, strict=True))
            if is_array(x) and is_array(p) and is_array(c.end.leaves[k])
        ]
        self.given = {id(a.given): a for a in self.arrays}
        changed = [t.outer.origin for t in trace.changed.values() if t.outer is not None]
        self.changed = set(map(id, changed))
        self.lost = bool(trace.lost)
        self.reached = {id(m) for t in trace.entered() if t.weak is None for m in memories(t)}
        self._follow()

    def _follow(self) -> None:
        """Finds what parameters may be in the memory of, and in that of each other."""
        before = -1
        while before != (before := sum(len(a.held) for a in self.arrays)):
            for a in self.arrays:
                a.held |= self.outside(a.end)
        self.pairs = {(a, b) for a, b in self._both() if may_share(a.first, b.first)}
        before = -1
        while before != (before := len(self.pairs)):
            self.pairs |= {(a, b) for a, b in self._both() if self.share(a.end, b.end)}

    def _both(self) -> Iterator[tuple[_Array, _Array]]:
        return permutations(self.arrays, 2)

    def outside(self, final: _Final) -> dict[int, Tracer]:
        """The arrays of surroundings in whose memory a value may be, by id."""
        found: dict[int, Tracer] = {}
        for m in final.memories:
            if id(m) in self.given:
                found |= self.given[id(m)].held
            elif m.owner is not self.trace:  # those of an iteration are other ones in the next
                found[id(m)] = m
        return found

    def share(self, first: _Final, second: _Final) -> bool:
        """Whether two values of one iteration may be in one memory."""
        if may_share(first.memories, second.memories):
            return True
        ids = [set(map(id, f.memories)) for f in (first, second)]
        params = [[self.given[k] for k in own if k in self.given] for own in ids]
        if any((a, b) in self.pairs for a in params[0] for b in params[1]):
            return True
        return any(
            k in array.held
            for own, others in zip(ids, params[::-1])
            for array in others
            for k in own
        )

    def stay(self) -> list[Place]:
        """The variables that still hold the array that they held: they were not assigned."""
        return [
            a.carried.place
            for a in self.arrays
            if a.carried.start is not None and a.carried.start.single and a.end.leaf is a.given
        ]

    def check(self) -> None:
        """Unstable if names share memory that is changed in place."""
        if self.lost:
            raise Unstable(
                "an array that is used in the loop may share memory with one that is changed in "
                "place there: which array a name stands for is decided on traced values",
                "Copy where two names get one array: `a = b.copy()`.",
            )
        for a in self.arrays:
            held = a.held.keys()
            if not held.isdisjoint(self.changed) or (
                a.mutated
                and (
                    not held.isdisjoint(self.reached)
                    or a.start.origin.owner is not self.trace.parent
                )
            ):
                raise self._refusal(a)
        for a, b in self._both():
            if (a, b) in self.pairs and (a.mutated or b.mutated):
                raise self._refusal(a)

    def _refusal(self, array: _Array) -> Unstable:
        name = array.carried.place.name
        return Unstable(
            f"`{name}` is assigned in the loop, may share memory with another array that is used "
            "there, and elements are changed in place",
            f"Copy where two names get one array: `{name} = {name}.copy()`.",
        )

    def settle(self) -> bool:
        """Hands on what arrays inherit: whether memory is the caller's, and its layout. False if
        something was new."""
        settled = True
        for a in self.arrays:
            c, k = a.carried, a.k
            if a.end.argument and not c.argument[k]:
                c.argument[k] = True
                settled = False
            if c.dense[k] and not a.end.dense:
                c.dense[k] = False
                settled = False
        return settled


# --- loops ----------------------------------------------------------------------------------------


class Loop:
    """A loop to be made an op.

    functions: what they can reach is what the body may change; places: the variables that it
    assigns and that are live; assigned: all that it assigns; run: does one iteration, given the
    counter; always: whether there is at least one iteration.

    raises Unstable: something that can be reached has a state that cannot be seen
    """

    def __init__(
        self,
        functions: Sequence[Callable[..., Any]],
        places: Sequence[Place],
        assigned: Sequence[Place],
        run: Callable[[Any], None],
        always: bool,
    ) -> None:
        self.run = run
        self.always = always
        self.snapshot = Snapshot(functions)
        if self.snapshot.unknown:
            raise Unstable(
                f"the loop may use {self.snapshot.unknown}, whose state is not known",
                "Take what it gives before the loop, as a list or an array.",
                again=False,
            )
        self.assigned = {p.key for p in assigned}
        self.carried = [_Carried(p) for p in places]
        self.kept: list[tuple[Place, Any]] = []
        """Places that hold the same array after each iteration, changed in place or not."""
        self.arrays: list[Tracer] = []
        """Arrays of surroundings that the body changes."""
        self.unbound: list[Place] = []
        """Variables that may have no value after the loop."""
        self._aliases: _Aliases | None = None

    # --- tracing ----------------------------------------------------------------------------------

    def add(self, place: Place) -> None:
        """Carries one more place."""
        self.carried.append(_Carried(place))

    def keep(self, places: Sequence[Place]) -> None:
        """Takes it that the body does not assign these places, until it does."""
        keys = {p.key for p in places}
        self.kept += [(c.place, c.initial) for c in self.carried if c.place.key in keys]
        self.carried = [c for c in self.carried if c.place.key not in keys]

    def body(self) -> tuple[Graph, list[Any]]:
        """The Graph (captures, counter, carried) -> (counter, carried), and the captures.

        raises Unstable: a value that changes its type; PycError: as the body raises
        """
        while True:
            trace = Trace(current())
            trace.may_change = True
            with self._undone(), tracing(trace):
                counter = self._enter(trace)
                try:
                    self.run(counter)
                except NameError as error:
                    self._refuse_unbound(error)
                    raise
                if self._settled(trace):
                    results = [trace.lift(counter + 1)]
                    results += [x for c in self.carried for x in map(trace.lift, c.results())]
                    results += [trace.lift(x) for x in self.arrays]
                    values, captured = trace.used_captures(results)
                    return trace.build(results, values), captured

    def _refuse_unbound(self, error: NameError) -> None:
        """Unstable if an iteration uses what one before it is to give a value."""
        name = unbound_name(error)
        if any(c.place.name == name and c.start is None for c in self.carried):
            raise Unstable(
                f"`{name}` has no value before the loop, and an iteration may use it before it "
                "gives it one",
                f"Give `{name}` a value before the loop.",
            )

    def condition(self, test: Callable[[Any], Any]) -> tuple[Graph, list[Any]]:
        """The Graph (captures, counter, carried) -> whether there is one more iteration, and the
        captures. test: gives that, for the counter.

        raises ImpureError: the test changes something
        """
        trace = Trace(current())
        trace.may_change = True
        with self._undone(), tracing(trace):
            result = trace.lift(lifted(test(self._enter(trace)), dt.b1))
            places, broken = self.snapshot.changes({c.place.key for c in self.carried})
            if (
                places
                or broken
                or trace.changed
                or trace.lost
                or any(c.is_changed() for c in self.carried)
            ):
                raise ImpureError
            values, captured = trace.used_captures([result])
            return trace.build([result], values), captured

    @contextmanager
    def _undone(self) -> Iterator[None]:
        """Puts everything back after a trace."""
        try:
            yield
        finally:
            self.snapshot.restore()
            for c in self.carried:
                c.place.set(c.initial)

    def _enter(self, trace: Trace) -> Tracer:
        (counter,) = trace.add_inputs([_COUNTER])
        for c in self.carried:
            c.enter(trace)
        for array in self.arrays:
            (given,) = trace.add_inputs([Input(array.type)])
            trace.carry(array, given)
        return counter

    def _settled(self, trace: Trace) -> bool:
        """Whether the trace tells what the loop carries; else the body is to be traced again."""
        settled = [c.leave() for c in self.carried]
        moved = [p for p, x in self.kept if p.get() is not x]
        known = self.assigned | {c.place.key for c in self.carried}
        places, broken = self.snapshot.changes(known)
        if broken:
            raise Unstable(
                f"the loop changes {broken}, and not only values in their old places",
                "Make an array before the loop and assign to its elements.",
                again=False,
            )
        if moved or places:
            self.snapshot.restore()
            self.kept = [(p, x) for p, x in self.kept if p not in moved]
            self.carried += [_Carried(p) for p in (*moved, *places)]
            return False  # what is changed in place may now be in one of these
        changed = [t.outer for t in trace.changed.values() if t.outer is not None]
        new = [a for a in changed if not any(a is b for b in self.arrays)]
        self.arrays += new
        if not all(settled) or new:
            return False
        self._aliases = aliases = _Aliases(trace, self.carried)
        stay = aliases.stay()
        self.keep(stay)
        if stay:
            return False
        aliases.check()
        if not aliases.settle():
            return False
        for c in self.carried:
            leaves = c.end.leaves if c.end is not None else []
            followed = [is_array(x) and not c.place.final for x in leaves]
            c.finals = [
                _Final(trace, x) if f else None for x, f in zip(leaves, followed, strict=True)
            ]
        return True

    # --- the result -------------------------------------------------------------------------------

    def initials(self) -> list[Any]:
        """What the op starts with: counter, carried values, changed arrays."""
        lift = current().lift
        found = [x for c in self.carried for x in c.initials()]
        return [lift(0), *map(lift, found), *map(lift, self.arrays)]

    def finish(self, values: Sequence[Any]) -> None:
        """Puts the results of the op where the body would have put them."""
        todo = list(values[1:])
        made: list[_Made] = []
        for c in self.carried:
            if c.end is None:
                continue
            leaves: list[Any] = []
            for k, (kind, final) in enumerate(zip(c.kinds, c.finals, strict=True)):
                if isinstance(kind, Static):
                    leaves.append(kind.value)
                    continue
                leaf = todo.pop(0)
                if kind.weak is not None:
                    leaf = leaf.weakened()
                elif final is not None:
                    start = c.start.leaves[k] if c.start is not None else None
                    for other in made:
                        if other.final.leaf is final.leaf and (self.always or other.start is start):
                            leaf = other.result
                    made.append(_Made(leaf, final, start))
                leaves.append(leaf)
            found = c.end.joined(leaves)
            bound = todo.pop(0) if c.maybe else True
            if c.start is None and not self.always:
                bound = pnp.greater(values[0], 0)
            if not c.place.optional:
                put(found, bound, c.place.name)
            c.place.set(found)
            if bound is not True and any(isinstance(k, Static) for k in c.kinds):
                self.unbound.append(c.place)
                c.place.set(UNBOUND)
        for array, value in zip(self.arrays, todo, strict=True):
            array.change(value, _WHAT, _REWRITE)
        self._relate(made)

    def _relate(self, made: Sequence[_Made]) -> None:
        """What the new arrays inherit, and with which ones they may share memory."""
        assert self._aliases is not None
        aliases = self._aliases
        for n, new in enumerate(made):
            held = aliases.outside(new.final)
            dense = new.final.dense
            if not self.always and is_array(new.start):
                held |= {id(m): m for m in new.first}
                dense = dense and is_dense(new.start)
            new.result.dense = dense
            others = [m for m in held.values() if m.owner.open]
            new.result.argument = new.final.argument or any(m.argument for m in others)
            others += [old.result for old in made[:n] if self._share(old, new)]
            relate(new.result, others)
        for a in self._aliases.arrays:
            if a.mutated and not a.start.is_lost:
                a.start.memory.lose()

    def _share(self, first: _Made, second: _Made) -> bool:
        assert self._aliases is not None
        before = not self.always and may_share(first.first, second.first)
        return before or self._aliases.share(first.final, second.final)


__all__ = ["Loop", "Unstable", "is_dense", "may_share", "memories", "relate"]
