"""Initial values that nobody reads: `y = np.zeros_like(x)`, of which a loop then stores all.

Takes a Graph, returns it with `empty` in the place of an array that updates start from, where the
updates store every element that is read before it is read. What is followed is an array from one
update to the next, and through counted loops that update it; *stored* are boxes of it:

* an update at known places stores its box;
* a loop whose iteration number t stores the box [c + f t, c + f t + n) along one axis, with
  |f| = n, stores one box in all; each iteration may read what was stored before it, by the loop or
  by itself. Loops that may run no iteration store nothing.

Places in a loop are known where they are sums and multiples of its counters and inside of the
array. Whatever reads in another way reads all of the array, as results of the Graph do; parameters
keep their values, for a result may be made where one lies. An error in a loop that is not over
leaves nobody a result. The buffer of such an array lives from its first store: what an iteration
reads it has stored itself, or an update did before the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyc.frozen import frozen
from pyc.ir.graph import Builder, Eqn, Graph, Rewriter, Value
from pyc.passes.counted_places import Place, known_numbers
from pyc.passes.dce import dce
from pyc.passes.loop_forms import SMALL_STATE, Counted, counted
from pyc.passes.reads import Walker

Box = tuple[tuple[int, int], ...]
"""Of each axis the first place and the one behind the last."""
MOST_BOXES = 64
"""Boxes that are known to be stored, and those that what is left of one may fall into."""


def drop_initial_values(graph: Graph) -> Graph:
    """The Graph with such initial values as `empty`; itself if there is none."""
    if not any(_updates(e) or e.op.name == "while" for e in graph.eqns):
        return graph
    found = _Finder(graph).found()
    if not found:
        return graph
    numbers = (e.params["number"] for e in graph.eqns if e.op.name == "empty")
    first = max(numbers, default=-1) + 1
    changed = {eqn for eqn, _ in found}

    def rule(builder: Builder, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if eqn not in changed:
            return None

        def given(k: int, arg: Value) -> Value:
            if (eqn, k) not in found:
                return arg
            params = {"shape": arg.shape, "dtype": arg.dtype, "number": first + found[eqn, k]}
            return builder.bind1("empty", loc=eqn.loc, **params)

        given_args = [given(k, a) for k, a in enumerate(args)]
        return builder.bind(eqn.op, *given_args, loc=eqn.loc, **eqn.params)

    return dce(Rewriter(rule)(graph))


# --- boxes ----------------------------------------------------------------------------------------


def _whole(value: Value) -> Box:
    return tuple((0, extent) for extent in value.shape)


def _is_stored(box: Box, boxes: Sequence[Box]) -> bool:
    """Whether every element of a box is in one of others; sure if it says so."""
    left = [] if any(a >= b for a, b in box) else [box]
    for other in boxes:
        left = [piece for one in left for piece in _without(one, other)]
        if len(left) > MOST_BOXES:
            return False
    return not left


def _without(box: Box, other: Box) -> list[Box]:
    """The boxes that are left of one without what is in another."""
    if any(max(a, c) >= min(b, d) for (a, b), (c, d) in zip(box, other, strict=True)):
        return [box]
    found: list[Box] = []
    for k, ((a, b), (c, d)) in enumerate(zip(box, other, strict=True)):
        found += [
            (*box[:k], piece, *box[k + 1 :]) for piece in ((a, c), (d, b)) if piece[0] < piece[1]
        ]
        box = (*box[:k], (max(a, c), min(b, d)), *box[k + 1 :])
    return found


def _joined(boxes: tuple[Box, ...], box: Box) -> tuple[Box, ...]:
    """Boxes with one more, which may go on where the last one ends."""
    if any(a >= b for a, b in box):
        return boxes
    if boxes:
        *others, last = boxes
        differ = [k for k, (one, other) in enumerate(zip(last, box, strict=True)) if one != other]
        if not differ:
            return boxes
        (a, b), (c, d) = last[differ[0]], box[differ[0]]
        if len(differ) == 1 and max(a, c) <= min(b, d):
            k = differ[0]
            return (*others, (*box[:k], (min(a, c), max(b, d)), *box[k + 1 :]))
    return boxes if len(boxes) == MOST_BOXES else (*boxes, box)


@frozen()
class _Moving:
    """A box that moves with the iterations of a loop: where it begins along each axis, and its
    lengths."""

    places: tuple[Place, ...]
    lengths: tuple[int, ...]

    def over(self, times: int) -> Box:
        """The least box that it is in, in all of these iterations."""
        last = times - 1
        return tuple(
            (c + min(f * last, 0), c + max(f * last, 0) + n)
            for (c, f), n in zip(self.places, self.lengths, strict=True)
        )

    @property
    def axis(self) -> int | None:
        """The axis along which iterations store one behind the other; None if they do not."""
        moving = [k for k, (_, f) in enumerate(self.places) if f]
        if len(moving) != 1 or abs(self.places[moving[0]][1]) != self.lengths[moving[0]]:
            return None
        return moving[0]


def _read_before(read: _Moving, store: _Moving, times: int, *, same: bool) -> Box:
    """A box that holds all that a loop reads and has not stored before. same: the iteration that
    reads has stored."""
    box, axis = read.over(times), store.axis
    if axis is None:
        return box
    (c, f), (at, pace) = read.places[axis], store.places[axis]
    inside = all(
        k == axis or (low >= a and high <= b)
        for k, ((low, high), (a, b)) in enumerate(zip(box, store.over(times), strict=True))
    )
    if not inside or f != pace:
        return box
    length, (low, high) = read.lengths[axis], box[axis]
    if f > 0:
        behind = c + length <= at + f * same
        rest = (low, min(high, at))
    else:
        behind = c >= at - f + f * same
        rest = (max(low, at - f), high)
    return (*box[:axis], rest, *box[axis + 1 :]) if behind else box


# --- a loop's body --------------------------------------------------------------------------------


class _Body:
    """What a counted loop does to one array that it carries. stores: the boxes that it has stored
    in the end, None if it does not update the array; reads: what it reads that it has not stored
    before, in ways of which one suffices, for each read."""

    def __init__(self, eqn: Eqn, k: int, count: Counted, known: Mapping[Value, Any]) -> None:
        self.times = count.times
        body: Graph = eqn.params["body"]
        carries = len(eqn.outs)
        self.array = body.params[k - carries]
        self.places = known_numbers(eqn, count, known).places
        self.history: dict[Value, tuple[Eqn, ...]] = {self.array: ()}
        self.boxes: dict[Eqn, _Moving] = {}
        read: list[tuple[tuple[Eqn, ...], _Moving]] = []
        for e in body.eqns:
            updates = _updates(e) and e.args[0] in self.history
            if updates:
                self.history[e.out] = (*self.history[e.args[0]], e)
                self.boxes[e] = _box_of(e, self.places, self.times)
            for a in e.args[updates:]:
                if a in self.history:
                    read.append((self.history[a], _read_of(e, a, self.places, self.times)))
        for n, result in enumerate(body.results):
            if n != k and result in self.history:
                read.append((self.history[result], _all(result)))
        watched = eqn.params["condition"]
        param = watched.params[k - carries]
        if param in watched.results or any(param in e.args for e in watched.eqns):
            read.append(((), _all(param)))
        mine = self.history.get(body.results[k])
        self.stores: list[Box] | None = None
        self.reads: list[list[Box]] = []
        if mine is not None:
            boxes = [self.boxes[e] for e in mine]
            still = [b for b in boxes if all(f == 0 for _, f in b.places) or b.axis is not None]
            self.stores = [b.over(self.times) for b in still]
            self.reads = [
                [
                    box.over(self.times),
                    *(_read_before(box, self.boxes[e], self.times, same=e in before) for e in mine),
                ]
                for before, box in read
            ]


def _updates(e: Eqn) -> bool:
    """Whether an equation gives its first argument with other elements in some places."""
    return e.op.name == "update_slice" or (e.op.name == "scatter" and e.params["mode"] == "set")


# --- what equations read and store ----------------------------------------------------------------


def _all(value: Value) -> _Moving:
    return _Moving(((0, 0),) * len(value.shape), value.shape)


def _box_of(e: Eqn, places: Mapping[Value, Place], times: int = 1) -> _Moving:
    """What an update surely stores: nothing, if it is not known where."""
    array, new, *numbers = e.args
    if e.op.name == "scatter":
        starts, lengths = _single(e, e.params["axes"], numbers, places)
    elif any(s != 1 for s in e.params["strides"]):
        return _Moving(((0, 0),) * len(array.shape), (0,) * len(array.shape))
    else:
        starts, lengths = _starts(e.params["starts"], numbers, places), list(new.shape)
    known = _within(array, starts, lengths, times)
    return _Moving(
        tuple(s if s is not None else (0, 0) for s in known),
        tuple(n if s is not None else 0 for n, s in zip(lengths, known, strict=True)),
    )


def _read_of(e: Eqn, array: Value, places: Mapping[Value, Place], times: int = 1) -> _Moving:
    """What an equation reads of an array: all of it, if that is not known."""
    p, whole = e.params, _all(array)
    if e.args.count(array) != 1 or e.args[0] is not array:
        return whole
    if e.op.name == "gather":
        starts, lengths = _single(e, p["axes"], e.args[1:], places)
    elif e.op.name == "dynamic_slice":
        starts, lengths = _starts(p["starts"], e.args[1:], places), list(p["sizes"])
    elif e.op.name == "slice" and all(step > 0 for step in p["step"]):
        starts = [(start, 0) for start in p["start"]]
        lengths = [
            (n - 1) * step + 1 if n else 0 for n, step in zip(p["size"], p["step"], strict=True)
        ]
    else:
        return whole
    known = _within(array, starts, lengths, times)
    return _Moving(
        tuple(s if s is not None else (0, 0) for s in known),
        tuple(
            n if s is not None else extent
            for n, s, extent in zip(lengths, known, array.shape, strict=True)
        ),
    )


def _starts(
    starts: Sequence[int | None], numbers: Sequence[Value], places: Mapping[Value, Place]
) -> list[Place | None]:
    """Where a slice begins along each axis, as far as that is known."""
    rest = iter(numbers)
    return [places.get(next(rest)) if s is None else (s, 0) for s in starts]


def _single(
    e: Eqn, axes: Sequence[int], numbers: Sequence[Value], places: Mapping[Value, Place]
) -> tuple[list[Place | None], list[int]]:
    """Where an index along some axes begins along each, as far as that is known, and how long it
    is."""
    lengths = list(e.args[0].shape)
    starts: list[Place | None] = [(0, 0)] * len(lengths)
    for axis, number in zip(axes, numbers, strict=True):
        starts[axis], lengths[axis] = places.get(number), 1
    return starts, lengths


def _within(
    array: Value, starts: Sequence[Place | None], lengths: Sequence[int], times: int
) -> list[Place | None]:
    """The starts, as far as all iterations are inside of the array: others wrap around or stop at
    its ends."""
    found: list[Place | None] = []
    for start, length, extent in zip(starts, lengths, array.shape, strict=True):
        if start is not None:
            c, f = start
            ends = (c, c + f * (times - 1))
            start = start if min(ends) >= 0 and max(ends) + length <= extent else None
        found.append(start)
    return found


# --- a Graph --------------------------------------------------------------------------------------

At = tuple[Eqn, int]
"""An argument of an equation."""


@frozen()
class _Array:
    """An array on its way from the argument where its updates start. stored: what they have."""

    start: At
    stored: tuple[Box, ...]


class _Finder:
    """The arguments of a Graph's updates and loops whose elements nobody reads."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.known = Walker(graph).scalars
        self.arrays: dict[Value, _Array] = {}
        self.starts: dict[At, Value] = {}
        """The arguments where updates start, in order, and their values."""
        self.read: set[At] = set()
        """Those of which an element is read that no update has stored."""

    def found(self) -> dict[At, int]:
        """Such arguments with numbers, one for each array that there is to be."""
        params = {*self.graph.params}
        made = {out: e for e in self.graph.eqns for out in e.outs}
        for e in self.graph.eqns:
            self._equation(e)
        for result in self.graph.results:
            self._reads(result, _whole(result))
        kept = [
            at
            for at, value in self.starts.items()
            if at not in self.read and value not in params and made[value].op.name != "empty"
        ]
        return {at: number for number, at in enumerate(kept)}

    def _equation(self, e: Eqn) -> None:
        taken: set[int] = set()
        if _updates(e):
            box = _box_of(e, {})
            self._stored(e, 0, e.out, [box.over(1)])
            taken.add(0)
        elif e.op.name == "while":
            count = counted(e, self.known)
            if count is not None and count.times > 0:
                taken = {
                    len(e.args) - len(e.outs) + k
                    for k in range(len(e.outs))
                    if e.outs[k].type.size > SMALL_STATE and self._carried(e, k, count)
                }
        for k, a in enumerate(e.args):
            if k not in taken and a in self.arrays:
                self._reads(a, _read_of(e, a, {}).over(1))

    def _carried(self, e: Eqn, k: int, count: Counted) -> bool:
        """Follows an array through a loop, if that updates it."""
        body = _Body(e, k, count, self.known)
        if body.stores is None:
            return False
        position = len(e.args) - len(e.outs) + k
        before = self._stored(e, position, e.outs[k], body.stores)
        if any(not any(_is_stored(way, before.stored) for way in ways) for ways in body.reads):
            self.read.add(before.start)
        return True

    def _stored(self, e: Eqn, position: int, out: Value, boxes: Sequence[Box]) -> _Array:
        """Notes an update, or a loop of them; the array as it was before."""
        value = e.args[position]
        if value not in self.arrays and out.type.size > SMALL_STATE:
            self.starts[e, position] = value
        before = self.arrays.get(value, _Array((e, position), ()))
        stored = before.stored
        if before.start not in self.read:
            for box in boxes:
                stored = _joined(stored, box)
        self.arrays[out] = _Array(before.start, stored)
        return before

    def _reads(self, value: Value, box: Box) -> None:
        array = self.arrays.get(value)
        if array is None or array.start in self.read:
            return
        if not _is_stored(box, array.stored):
            self.read.add(array.start)
