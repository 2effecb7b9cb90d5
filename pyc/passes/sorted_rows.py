"""Rules for sorts in the Graph: what is read of one, and what is in order already.

Of a sort that is read by slices of its first few elements only, or at a few places, those are all
that is made (`top_k`, `order_statistics`); a sort of what is sorted is left out; negated floats are
sorted by a sort in the other order, which has equal elements as they come and NaN last too. All are
bit-identical.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from pyc.frozen import frozen
from pyc.ir.graph import Builder, Eqn, Graph, Value
from pyc.ir.ops.sort import INSERTION, NARROWED, RANKED

Values = tuple[Value, ...]

BETWEEN = ("transpose", "cast")
"""Ops that may stand between a sort and the slices that read it."""
MOST_PLACES = 32
"""Places of a sort that are looked for one by one."""
MOST_SEARCHES = 8
"""Runs of such places: each reads the row again."""
SEARCHED = 64
"""Elements of a row for each of these runs, at least."""
MOST_FIRST = 4096
"""First elements that are found with their places, which a sort does without."""


class SortedRows:
    """The rules for one Graph that goes into a builder."""

    def __init__(self, graph: Graph, builder: Builder) -> None:
        self.builder = builder
        self.read = _reads(graph)
        self._made: dict[tuple[Value, Read], Values] = {}

    def _maker(self, value: Value, *names: str) -> Eqn | None:
        eqn = self.builder.producer[value]
        return eqn if eqn is not None and eqn.op.name in names else None

    def _not_negated(self, value: Value, descending: bool) -> tuple[Value, bool]:
        """What sorts as `value` does, and its order."""
        negated = self._maker(value, "neg")
        if negated is None or not value.dtype.is_float:
            return value, descending
        return negated.args[0], not descending

    def argsort(self, e: Eqn, args: Values) -> Values | None:
        """argsort(-x) is argsort(x) in the other order."""
        value, descending = self._not_negated(args[0], e.params["descending"])
        if value is args[0]:
            return None
        return self.builder.bind(e.op, value, loc=e.loc, descending=descending)

    def sort(self, e: Eqn, args: Values) -> Values | None:
        """A sort of what is sorted in that order."""
        value, descending = self._not_negated(args[0], e.params["descending"])
        maker = self._maker(value, "sort", "top_k")
        if maker is None or maker.outs[0] is not value:
            return None
        return (args[0],) if maker.params["descending"] == descending else None

    def part(self, e: Eqn, args: Values) -> Values | None:
        """A slice of a few elements of a sort that nothing else is read of."""
        read = self.read.get(e.args[0])
        if read is None:
            return None
        steps: list[Eqn] = []
        whole = args[0]
        while (step := self._maker(whole, *BETWEEN)) is not None:
            steps.append(step)
            (whole,) = step.args
        maker = self._maker(whole, "sort", "argsort")
        if maker is None:
            return None
        if (args[0], read) not in self._made:
            found = self._places(maker, read) if read.places else self._top(maker, read.count)
            for step in reversed(steps):
                found = self._again(step, found)
            self._made[args[0], read] = found
        (few,) = self._made[args[0], read]
        params = dict(e.params)
        if read.places:
            params["start"] = _with(params["start"], read.axis, read.places.index)
            params["step"] = _with(params["step"], read.axis, lambda _: 1)
        if few.type == e.out.type and all(step == 1 for step in params["step"]):
            return (few,)
        return self.builder.bind(e.op, few, loc=e.loc, **params)

    def _again(self, step: Eqn, args: Values) -> Values:
        """A step between a sort and what reads it, of what is left of the sort."""
        return self.builder.bind(step.op, *args, loc=step.loc, **step.params)

    def _top(self, maker: Eqn, count: int) -> Values:
        """The first elements of a sort, or of its places."""
        (value,), places = maker.args, maker.op.name == "argsort"
        rows, descending = self._not_negated(value, maker.params["descending"])
        found = self.builder.bind("top_k", rows, loc=maker.loc, k=count, descending=descending)
        if places:
            return (found[1],)
        return (found[0],) if rows is value else self.builder.bind("neg", found[0], loc=maker.loc)

    def _places(self, maker: Eqn, read: Read) -> Values:
        """The elements of a sort at some places."""
        params = {"places": read.places, "descending": maker.params["descending"]}
        return self.builder.bind("order_statistics", *maker.args, loc=maker.loc, **params)


@frozen()
class Read:
    """What is read along an axis of a sort: the elements at `places`, ascending, or (none) the
    `count` first."""

    axis: int
    count: int
    places: tuple[int, ...] = ()


def _with(values: tuple[int, ...], axis: int, change: Callable[[int], int]) -> tuple[int, ...]:
    return (*values[:axis], change(values[axis]), *values[axis + 1 :])


def _reads(graph: Graph) -> dict[Value, Read]:
    """For each value that only slices read: a sort of long rows, or what casts and transposes make
    of one, of which they read a few elements; which these are."""
    readers: dict[Value, list[Eqn]] = {}
    sorts: list[Eqn] = []
    for e in graph.eqns:
        if e.op.name in ("sort", "argsort"):
            sorts.append(e)
        for a in dict.fromkeys(e.args):
            readers.setdefault(a, []).append(e)
    kept = set(graph.results) if sorts else set()
    found: dict[Value, Read] = {}
    for e in sorts:
        value, axis = e.out, len(e.out.shape) - 1
        length = value.shape[axis]
        if length <= RANKED[e.args[0].dtype.itemsize]:
            continue
        users = readers.get(value, [])
        while len(users) == 1 and users[0].op.name in BETWEEN and value not in kept:
            if users[0].op.name == "transpose":
                axis = users[0].params["axes"].index(axis)
            value = users[0].out
            users = readers.get(value, [])
        if not users or value in kept or 0 in value.shape:
            continue
        if any(u.op.name != "slice" or u.out.type.size == 0 for u in users):
            continue
        read = _read(users, axis, length, places=e.op.name == "argsort")
        if read is not None:
            found[value] = read
    return found


def _read(parts: list[Eqn], axis: int, length: int, *, places: bool) -> Read | None:
    """What slices read of a sort, or of its places; None where sorting all of it takes less."""
    spans = [tuple(e.params[name][axis] for name in ("start", "size", "step")) for e in parts]
    count = max(max(start, start + (size - 1) * step) + 1 for start, size, step in spans)
    if count <= INSERTION:
        return Read(axis, count)
    few = sum(size for _, size, _ in spans) <= MOST_PLACES
    if few and not places and all(size == 1 or step == 1 for _, size, step in spans):
        each = sorted({start + k for start, size, _ in spans for k in range(size)})
        # Neighbours are found together.
        searches = sum(b - a > 1 for a, b in pairwise(each)) + 1
        if searches <= MOST_SEARCHES and searches * SEARCHED <= length:
            return Read(axis, count, tuple(each))
    few = count * NARROWED <= length and (places or count <= MOST_FIRST)
    return Read(axis, count) if few else None
