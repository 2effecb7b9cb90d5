"""Branches on a traced truth: both are traced, and what they change is merged.

Each branch runs on its own trace, from the same state, which is put back after it. A variable, an
element or an array that one of them changes becomes a result of both; the ops choose. Scalars are
chosen by `select` where the branches compute nothing that costs or can fail, so that loops around
them stay one kernel; else it is a `cond`, which computes one branch only.

Values that have no common type are not merged: the variable has no value afterwards, and using it
is an error that tells why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyc.numpy as pnp
from pyc.errors import LoopStateError, PycError
from pyc.frozen import frozen, replace
from pyc.interpreter import bind, bind1, current
from pyc.ir import dtype as dt
from pyc.ir.graph import Graph, Value, has_effect
from pyc.ir.op import Kind
from pyc.ir.types import ArrayType
from pyc.trace import location, raising
from pyc.trace.capture import tracing
from pyc.trace.leaves import (
    Apart,
    Static,
    all_bound,
    apart,
    common,
    described,
    empty,
    is_array,
    may_be_array,
    put,
    shown,
)
from pyc.trace.operand_trees import lifted
from pyc.trace.sharing import may_share, memories, relate
from pyc.trace.state import UNBOUND, Key, Place, Result, Snapshot
from pyc.trace.trace import Input, Trace, unbound_name
from pyc.trace.tracer import Tracer

SELECTED = 64
"""The most elements of a value that both branches compute, for one of them to be selected."""
_TRUTH = Input(ArrayType((), dt.b1))
_WHAT = "a change in a branch"
_REWRITE = "`y = x.copy()` before the `if`, and change that"


@frozen()
class Lost:
    """Why a variable has no value after a branch, and what to give it."""

    why: str
    remedy: str = "the same dtype, shape and structure in both branches"


ONE_SIDED = Lost("it gets a value in one branch only")
_FOR_NUMBERS = (
    "a number in both branches, since a text, None or a function cannot depend on data; or keep "
    "the condition,\nand decide by that again where it is used"
)


class _Branch:
    """A traced branch: what the places hold at its end."""

    def __init__(self) -> None:
        self.trace = Trace(current())
        self.trace.may_change = True
        self.ends: dict[Key, Any] = {}
        self.places: list[Place] = []
        """Places beyond the variables that it changes."""
        self.arrays: list[Tracer] = []
        """Arrays of surroundings that it changes."""
        self.lost: list[Tracer] = []
        """Arrays of surroundings that it may have changed."""
        self.error: Exception | None = None
        """What it raises."""

    def run(
        self,
        function: Callable[[], Any],
        places: Sequence[Place],
        known: set[Key],
        snapshot: Snapshot,
    ) -> None:
        """Traces the branch; the state is as before afterwards."""
        try:
            with tracing(self.trace):
                try:
                    function()
                except NameError as error:
                    self._note_unbound(error)
                    raise
                except Exception as error:
                    if isinstance(error, PycError) or not raising.is_raise(error):
                        raise
                    self.error = error
                    return
                self.places, broken = snapshot.changes(known)
                if broken or snapshot.unknown:
                    raise LoopStateError(
                        f"a branch of an `if` on a traced value changes {broken}"
                        if broken
                        else f"a branch of an `if` on a traced value may use {snapshot.unknown}, "
                        "whose state is not known",
                        fix="Do that outside of the branch, or make an array and assign to its "
                        "elements.",
                        place=location.here(),
                    )
                self.ends = {p.key: p.get() for p in (*places, *self.places)}
                self.arrays = [t.outer for t in self.trace.changed.values() if t.outer is not None]
                self.lost = self.trace.lost
        finally:
            snapshot.restore()

    def _note_unbound(self, error: NameError) -> None:
        """Tells what to say of a variable that has no value in the branch."""
        place = location.of_traceback(error.__traceback__)
        around = self.trace.parent
        if place is not None and isinstance(around, Trace):
            around.unbound[(place.file, unbound_name(error))] = (
                "in a branch on a traced value, which is traced whether it is taken or not",
                "a value before the `if`",
            )


def merge(
    truth: Any,
    functions: tuple[Callable[[], Any], Callable[[], Any]],
    places: Sequence[Place],
    known: set[Key],
    reach: Sequence[Callable[..., Any]],
) -> dict[Place, Lost]:
    """Runs the first function where `truth` is false and the second where it is true; the places
    get what they hold after that.

    truth: traced b1; places: what is assigned and live; known: the keys of all that is assigned;
    reach: the user's functions, through which all else is found that they may change
    -> why places have no value now, where they have none
    raises LoopStateError: elements or attributes without a common type, and any place if the truth
    is at hand; TraceError: a branch raises what a check of the program cannot; what a branch raises
    that is taken, where the truth is at hand. Everything is as before then.

    A branch that raises is a check, and the other one is what runs.
    """
    snapshot = Snapshot(reach)
    branches = (_Branch(), _Branch())
    before = {p: p.get() for p in places}
    for side in (True, False):
        try:
            branches[side].run(functions[side], places, known, snapshot)
        finally:
            for place, value in before.items():
                place.set(value)
        if branches[side].error is not None:
            _check(truth, side, branches[side])
            functions[not side]()
            return {}
    more = {p.key: p for branch in branches for p in branch.places}
    before |= {p: p.get() for p in more.values()}
    merged = _Merged(branches)
    try:
        for place in (*places, *more.values()):
            ends = [b.ends.get(place.key, place.get()) for b in branches]
            merged.add(place, ends, place.key in more)
        for array in (a for branch in branches for a in branch.arrays):
            merged.add_array(array)
        if merged.without and truth.is_at_hand:
            raise _mismatch(*next(iter(merged.without.items())))
        merged.finish(truth)
    except PycError:
        for place, value in before.items():
            place.set(value)
        raise
    return merged.without


def _check(truth: Any, side: bool, branch: _Branch) -> None:
    """The program raises what `branch` does, if `truth` is `side`."""
    around = current()
    error = branch.error
    assert isinstance(around, Trace) and error is not None
    if around.parent is None and around.peek(truth.value) == side:
        raise error
    trace = branch.trace
    found = raising.raised(error, trace.told)
    trace.open = True
    with tracing(trace):
        bits = found.bits()
        values, captured = trace.used_captures([bits])
        graph = trace.build([bits], values)
    if _is_cheap(graph):
        (bits,) = around.inline(graph, [around.lift(c) for c in captured])
        raising.bind_check(pnp.logical_not(truth) if side else truth, bits, found)
        return
    # It does more than to raise: it may raise something else, or run forever, before.
    trace.open = True
    with tracing(trace):
        raising.bind_check(False, bits, found)
        raises = (trace.build([], values), captured)
    other: tuple[Graph, list[Any]] = (Trace(around).build([]), [])
    _chosen(truth, (other, raises) if side else (raises, other))


class _Merged:
    """What two branches give, place by place."""

    def __init__(self, branches: tuple[_Branch, _Branch]) -> None:
        self.branches = branches
        self.without: dict[Place, Lost] = {}
        self.arrays: list[Tracer] = []
        self.places: list[tuple[Place, Apart, list[Input | Static], bool]] = []
        """(place, a value of its structure, types of the leaves, whether it may have no value)"""
        self.leaves: tuple[list[Any], list[Any]] = ([], [])
        """The values of the results, by branch. Whether a variable has a value stands there as
        its value, None if it has none."""
        self.types: list[Input] = []

    def add(self, place: Place, ends: Sequence[Any], needed: bool) -> None:
        """Merges one place. needed: it cannot be without a value."""
        first, second = ends
        if first is second:
            if not needed or place.get() is not first:
                place.set(first)
            return
        known = [apart(x, place.name) for x in ends if x is not UNBOUND]
        fixed = not known[0].kinds or any(isinstance(k, Static) for k in known[0].kinds)
        if len(known) == 1 and fixed and not place.optional:
            self.without[place] = ONE_SIDED
            return
        parts = [
            replace(known[0], leaves=empty(known[0]), bound=[])
            if x is UNBOUND
            else apart(x, place.name)
            for x in ends
        ]
        bound = [None if x is UNBOUND else p for x, p in zip(ends, parts, strict=True)]
        kinds, why = _common(parts)
        if why:
            lost = Lost(why, _FOR_NUMBERS) if any(map(_is_static, parts)) else Lost(why)
            if needed or place.optional or isinstance(place, Result):
                raise _mismatch(place, lost)
            self.without[place] = lost
            return
        sure = all(p is not None and not p.bound for p in bound) or place.optional
        self.places.append((place, parts[1], kinds, not sure))
        for k, kind in enumerate(kinds):
            if isinstance(kind, Input):
                self._add_leaf(kind, [part.leaves[k] for part in parts])
        if not sure:
            self._add_leaf(_TRUTH, bound)

    def _add_leaf(self, kind: Input, values: Sequence[Any]) -> None:
        self.types.append(kind)
        for leaves, value in zip(self.leaves, values, strict=True):
            leaves.append(value)

    def add_array(self, array: Tracer) -> None:
        """Merges an array that a branch changes in place."""
        if not any(array is a for a in self.arrays):
            self.arrays.append(array)

    def finish(self, truth: Any) -> None:
        """Binds the ops and puts the results into their places."""
        types = [*self.types, *(Input(a.type) for a in self.arrays)]
        graphs: list[tuple[Graph, list[Any]]] = []
        ends: list[list[list[Tracer]]] = []
        for branch, leaves in zip(self.branches, self.leaves, strict=True):
            trace = branch.trace
            trace.open = True
            with tracing(trace):
                found = [_truth(x) if x is None or isinstance(x, Apart) else x for x in leaves]
                found += self.arrays
                ends.append([memories(trace.lift(x)) if may_be_array(x) else [] for x in leaves])
                results = [
                    trace.lift(lifted(x, t.type.dtype)) for x, t in zip(found, types, strict=True)
                ]
                named, captured = trace.used_captures(results)
                graphs.append((trace.build(results, named), captured))
        needed = bool(types) or any(has_effect(e) for graph, _ in graphs for e in graph.eqns)
        values = _chosen(truth, graphs) if needed else []
        made: list[tuple[Tracer, list[list[Tracer]]]] = []
        """New arrays, and for each branch in whose memory they may be."""
        for k, value in enumerate(values[: len(self.types)]):
            value.boxed = all(_is_number_array(leaves[k]) for leaves in self.leaves)
            value.either = not value.type.shape and any(may_be_array(x[k]) for x in self.leaves)
        todo = list(zip(values, *ends, strict=False))
        for place, part, kinds, maybe in self.places:
            new: list[Any] = []
            for kind in kinds:
                if isinstance(kind, Static):
                    new.append(kind.value)
                    continue
                value, *shared = todo.pop(0)
                if kind.weak is not None:
                    value = value.weakened()
                elif not place.final:
                    made.append((value, shared))
                new.append(value)
            found = part.joined(new)
            if maybe:
                put(found, todo.pop(0)[0], place.name)
            place.set(found)
        for array, value in zip(self.arrays, values[len(self.types) :], strict=True):
            array.change(value, _WHAT, _REWRITE)
        for array in (a for branch in self.branches for a in branch.lost if not a.is_lost):
            current().lift(array).lose()
        for n, (result, shared) in enumerate(made):
            inherited = [m for held in shared for m in held]
            result.argument = any(m.argument for m in inherited)
            others = [m for m in inherited if m.owner.open]
            others += [r for r, held in made[:n] if any(map(may_share, shared, held))]
            relate(result, others)


def _common(parts: Sequence[Apart]) -> tuple[list[Input | Static], str]:
    """The types of the leaves of two values, and why there are none."""
    first, second = parts
    if first.treedef != second.treedef:
        return [], f"it is {shown(second)} if the condition holds and {shown(first)} if not"
    kinds: list[Input | Static] = []
    for a, b in zip(first.kinds, second.kinds, strict=True):
        joined: Input | Static | None = None
        if isinstance(a, Input) and isinstance(b, Input):
            joined = common([a, b])
        elif a == b:
            joined = a
        if joined is None:
            one, other = described(b), described(a)
            if one == other:
                one, other = f"one {one.removeprefix('a ')}", "another"
            return [], f"it is {one} if the condition holds and {other} if not"
        kinds.append(joined)
    return kinds, ""


def _is_number_array(leaf: Any) -> bool:
    """Whether a leaf is an array of rank 0, and no scalar."""
    return isinstance(leaf, Tracer) and is_array(leaf) and not leaf.ndim and leaf.is_known_array


def _truth(value: Apart | None) -> Any:
    """Whether a variable has a value."""
    return value is not None and all_bound(value)


def _is_static(part: Apart) -> bool:
    """Whether something in a value is neither an array nor a number."""
    return not part.kinds or any(isinstance(k, Static) for k in part.kinds)


def _mismatch(place: Place, lost: Lost) -> LoopStateError:
    return LoopStateError(
        f"{place.name} has no one type, and the condition is traced: {lost.why}",
        fix=f"Give it {lost.remedy}.",
        place=location.here(),
    )


def _chosen(truth: Any, graphs: Sequence[tuple[Graph, list[Any]]]) -> list[Any]:
    """The results of the second Graph where `truth` holds, of the first elsewhere."""
    if all(_is_cheap(graph) for graph, _ in graphs):
        interpreter = current()
        both = [
            interpreter.inline(graph, [interpreter.lift(c) for c in captured])
            for graph, captured in graphs
        ]
        return [
            no if no.value is yes.value else bind1("select", _spread(truth, yes.shape), yes, no)
            for no, yes in zip(*both, strict=True)
        ]
    captured: dict[int, Any] = {}
    for _, given in graphs:
        for outer in given:
            captured.setdefault(_key(outer), outer)
    branches = []
    for graph, given in graphs:
        places = {_key(outer): p for outer, p in zip(given, graph.params, strict=True)}
        params = [places.get(key) or Value(outer.type) for key, outer in captured.items()]
        branches.append(Graph(tuple(params), graph.eqns, graph.results))
    index = bind1("cast", truth, dtype=dt.i64)
    return list(bind("cond", index, *captured.values(), branches=tuple(branches)))


def _key(outer: Any) -> int:
    return id(outer.value) if isinstance(outer, Tracer) else id(outer)


def _spread(truth: Any, shape: tuple[int, ...]) -> Any:
    return pnp.broadcast_to(truth, shape) if shape else truth


def _is_cheap(graph: Graph) -> bool:
    """Whether a branch may be computed where it is not taken: little work, and it cannot fail."""
    return all(r.type.size <= SELECTED for r in graph.results) and all(
        not eqn.op.effect
        and eqn.op.fails is None
        and eqn.op.kind in (Kind.POINTWISE, Kind.INDEX)
        and all(out.type.size <= SELECTED for out in eqn.outs)
        for eqn in graph.eqns
    )


__all__ = ["merge"]
