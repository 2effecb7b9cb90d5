"""Loops as ops: what a body changes is found by tracing it, and carried.

The body of a loop is traced with a parameter for each variable that it assigns and that matters to
the next iteration or after the loop. What else it changes shows in the trace: arrays of the
surroundings that were changed in place, whatever alias, view or helper did it (`Trace.changed`),
and elements of lists, dicts and objects (`state.Snapshot`). These become parameters too, and the
body is traced again, until nothing new is found and types have settled. After the loop the results
are written back to where they came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import pyc.numpy as pnp
from pyc.errors import PycError
from pyc.interpreter import current
from pyc.ir import dtype as dt
from pyc.ir.graph import Graph
from pyc.ir.integer_range import Range, full_range
from pyc.ir.types import ArrayType
from pyc.trace import raising
from pyc.trace.aliases import Aliases
from pyc.trace.capture import tracing
from pyc.trace.carried import Carried, Unstable
from pyc.trace.grown import Grown
from pyc.trace.leaves import Static, is_array, put
from pyc.trace.operand_trees import lifted
from pyc.trace.sharing import Final, is_dense, may_share, memories, relate
from pyc.trace.state import UNBOUND, Key, Place, Snapshot
from pyc.trace.trace import Input, Trace, unbound_name
from pyc.trace.tracer import Tracer

_COUNTER = Input(ArrayType((), dt.i64), int, "counter")
_FURTHEST = full_range(dt.i64).high
_WHAT = "a change in a loop"
_REWRITE = "`y = x.copy()` before the loop, and change that"


class ImpureError(Exception):
    """The test of a loop changes something: it cannot be evaluated apart from the body."""


def unseen(what: str) -> Unstable:
    """That a loop may use something whose state cannot be seen."""
    return Unstable(
        f"the loop may use {what}, whose state is not known",
        "Take what it gives before the loop, as a list or an array.",
        again=0,
    )


class _Made:
    """An array after a loop. start: what was in its place before, None if nothing was."""

    def __init__(self, result: Tracer, final: Final, start: Any) -> None:
        self.result, self.final, self.start = result, final, start
        self.first = memories(start) if is_array(start) else []
        """The arrays in whose memory it was before the loop."""


def _is_the_same(found: Any, array: Any) -> bool:
    """Whether what is in a place is the array of surroundings, or stands for it in the body
    (`a = np.asarray(a)`)."""
    while found is not array and isinstance(found, Tracer) and found.outer is not None:
        found = found.outer
    return found is array


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
            raise unseen(self.snapshot.unknown)
        self.assigned = {p.key for p in assigned}
        self.carried = [Carried(p) for p in places]
        self.kept: list[tuple[Place, Any]] = []
        """Places that hold the same array after each iteration, changed in place or not."""
        self.moved: set[Key] = set()
        """Those of which this was taken, and was not so."""
        self.arrays: list[Tracer] = []
        """Arrays of surroundings that the body changes."""
        self.unbound: list[Place] = []
        """Variables that may have no value after the loop."""
        self.last = _FURTHEST
        """The largest number of an iteration."""
        self.grown: list[Grown] = []
        """Lists that each iteration appends to."""
        self.made: list[_Made] = []
        """The arrays after the loop."""
        self._aliases: Aliases | None = None

    # --- tracing ----------------------------------------------------------------------------------

    def add(self, place: Place) -> None:
        """Carries one more place."""
        self.carried.append(Carried(place))

    def keep(self, places: Sequence[Place]) -> None:
        """Takes it that the body does not assign these places, until it does."""
        keys = {p.key for p in places}
        self.kept += [(c.place, c.initial) for c in self.carried if c.place.key in keys]
        self.carried = [c for c in self.carried if c.place.key not in keys]

    def body(self) -> tuple[Graph, list[Any]]:
        """The Graph (captures, counter, carried) -> (counter, carried, grown), and the captures.

        raises Unstable: a value that changes its type; PycError: as the body raises
        """
        while True:
            trace = Trace(current())
            trace.may_change = True
            with self._undone(), tracing(trace):
                counter = self._enter(trace, self.last)
                for g in self.grown:
                    g.enter(trace, counter)
                try:
                    self.run(counter)
                except Exception as error:
                    if not any(g.again for g in self.grown):
                        self._refuse(error)
                for g in self.grown:
                    g.hide()
                whole = not any(g.again for g in self.grown)
                had_all = [g.settled(self.carried, self.arrays, whole) for g in self.grown]
                if all(had_all) and self._settled(trace):
                    results = [trace.lift(counter + 1)]
                    results += [x for c in self.carried for x in map(trace.lift, c.results())]
                    results += [trace.lift(x) for x in self.arrays]
                    results += [x for g in self.grown for x in self._grow(g, trace)]
                    values, captured = trace.used_captures(results)
                    if isinstance(trace.parent, Trace):
                        trace.parent.unbound |= trace.unbound
                    return trace.build(results, values), captured

    def _refuse(self, error: Exception) -> NoReturn:
        """Raises what the body has raised, or why it cannot be an op."""
        if isinstance(error, NameError):
            self._refuse_unbound(error)
            raise error
        if isinstance(error, (PycError, Unstable)) or not raising.is_raise(error):
            raise error
        raise raising.refusal(error, "since each iteration of a loop raises it") from None

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
            result = trace.lift(lifted(test(self._enter(trace, _FURTHEST)), dt.b1))
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

    def _enter(self, trace: Trace, last: int) -> Tracer:
        (counter,) = trace.add_inputs([_COUNTER])
        trace.ranges[counter.value] = Range(0, last)
        for c in self.carried:
            c.enter(trace)
        for array in self.arrays:
            (given,) = trace.add_inputs([Input(array.type)])
            trace.carry(array, given)
        return counter

    def _settled(self, trace: Trace) -> bool:
        """Whether the trace tells what the loop carries; else the body is to be traced again."""
        settled = [c.leave() for c in self.carried]
        moved = [p for p, x in self.kept if not _is_the_same(p.get(), x)]
        known = self.assigned | {c.place.key for c in self.carried}
        places, broken = self.snapshot.changes(known)
        if broken:
            raise Unstable(
                f"the loop changes {broken}, and not only values in their old places",
                "Make an array before the loop and assign to its elements.",
                again=0,
            )
        if moved or places:
            self.snapshot.restore()
            self.moved |= {p.key for p in moved}
            self.kept = [(p, x) for p, x in self.kept if p not in moved]
            self.carried += [Carried(p) for p in (*moved, *places)]
            return False  # what is changed in place may now be in one of these
        changed = [t.outer for t in trace.changed.values() if t.outer is not None]
        new = [a for a in changed if not any(a is b for b in self.arrays)]
        self.arrays += new
        if not all(settled) or new:
            return False
        self._aliases = aliases = Aliases(trace, self.carried)
        stay = [p for p in aliases.stay() if p.key not in self.moved]
        self.keep(stay)
        if stay:
            return False
        aliases.check()
        if not aliases.settle():
            return False
        for c in self.carried:
            leaves = c.end.leaves if c.end is not None else []
            followed = [
                (is_array(x) or either) and not c.place.final
                for x, either in zip(leaves, c.either, strict=True)
            ]
            c.finals = [
                Final(trace, x) if f else None for x, f in zip(leaves, followed, strict=True)
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
        made = self.made
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
                    c.tell(leaf, k, ran=self.always or c.start is None)
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

    def _grow(self, grown: Grown, trace: Trace) -> list[Tracer]:
        assert self._aliases is not None
        steady = not any(a.mutated for a in self._aliases.arrays)
        return grown.leave(trace, self.carried, steady, self.snapshot)

    def extend(self, values: Sequence[Any], length: int) -> None:
        """Appends to the lists that grow. values: what the op has stacked."""
        rest = list(values)
        for g in self.grown:
            count = len(g.kinds)
            g.extend(rest[:count], length, [(new.result, new.final) for new in self.made])
            rest = rest[count:]

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
            if a.mutated and a.first and not a.start.is_lost:
                a.start.memory.lose()

    def _share(self, first: _Made, second: _Made) -> bool:
        assert self._aliases is not None
        before = not self.always and may_share(first.first, second.first)
        return before or self._aliases.share(first.final, second.final)


__all__ = ["ImpureError", "Loop"]
