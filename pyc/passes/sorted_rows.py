"""Rules for sorts in the Graph: what is read of one, and what is in order already.

Of a sort that is read by slices of its first few elements only, those are all that is made; a sort
of what is sorted is left out; negated floats are sorted by a sort in the other order, which has
equal elements as they come and NaN last too. All are bit-identical.
"""

from __future__ import annotations

from pyc.ir.graph import Builder, Eqn, Graph, Value
from pyc.ir.ops.sort import INSERTION, RANKED

Values = tuple[Value, ...]


class SortedRows:
    """The rules for one Graph that goes into a builder."""

    def __init__(self, graph: Graph, builder: Builder) -> None:
        self.builder = builder
        self.first = _read_first(graph)
        self._made: dict[Value, Values] = {}

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
        """A slice of the first few elements of a sort that nothing else is read of."""
        count = self.first.get(e.args[0])
        if count is None:
            return None
        turned = self._maker(args[0], "transpose")
        maker = self._maker(args[0] if turned is None else turned.args[0], "sort", "argsort")
        if maker is None:
            return None
        if args[0] not in self._made:
            found = self._top(maker, count)
            if turned is not None:
                found = self.builder.bind(turned.op, *found, loc=e.loc, **turned.params)
            self._made[args[0]] = found
        (few,) = self._made[args[0]]
        if few.type == e.out.type and all(step == 1 for step in e.params["step"]):
            return (few,)
        return self.builder.bind(e.op, few, loc=e.loc, **e.params)

    def _top(self, maker: Eqn, count: int) -> Values:
        """The first elements of a sort, or of its places."""
        (value,), places = maker.args, maker.op.name == "argsort"
        rows, descending = self._not_negated(value, maker.params["descending"])
        found = self.builder.bind("top_k", rows, loc=maker.loc, k=count, descending=descending)
        if places:
            return (found[1],)
        return (found[0],) if rows is value else self.builder.bind("neg", found[0], loc=maker.loc)


def _read_first(graph: Graph) -> dict[Value, int]:
    """For each value that only slices read: a sort of long rows, or the transpose of one, of which
    they read a few of the first elements; how many these are."""
    readers: dict[Value, list[Eqn]] = {}
    sorts: list[Eqn] = []
    for e in graph.eqns:
        if e.op.name in ("sort", "argsort"):
            sorts.append(e)
        for a in dict.fromkeys(e.args):
            readers.setdefault(a, []).append(e)
    kept = set(graph.results) if sorts else set()
    found: dict[Value, int] = {}
    for e in sorts:
        value, axis = e.out, len(e.out.shape) - 1
        if value.shape[axis] <= RANKED[e.args[0].dtype.itemsize] or value in kept:
            continue
        users = readers.get(value, [])
        if len(users) == 1 and users[0].op.name == "transpose":
            axis = users[0].params["axes"].index(axis)
            value = users[0].out
            users = readers.get(value, [])
        if not users or value in kept or 0 in value.shape:
            continue
        if any(u.op.name != "slice" or u.out.type.size == 0 for u in users):
            continue
        ends = [_end(u, axis) for u in users]
        if max(ends) <= INSERTION:
            found[value] = max(ends)
    return found


def _end(part: Eqn, axis: int) -> int:
    """The element behind the last one along an axis that a slice reads."""
    start, size, step = (part.params[name][axis] for name in ("start", "size", "step"))
    last: int = max(start, start + (size - 1) * step)
    return last + 1
