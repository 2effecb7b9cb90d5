"""Donation: which results of a program are made in the memory of arguments that were given up.

Takes a Graph and the numbers of its donated parameters, returns for each result at most one of
them, of the same type. The memory of a result is first written by one group (after the links of
`in_place`, which write it further); the argument may lie there if that group

* updates the argument itself, or is a loop that carries it: its memory is what the result wants;
* reads it for the last time, each element where it stores the result's;
* comes after the last one that reads it.

Everything else keeps the rule that arguments are not written: results have memory of their own, and
`unused` says why. `memory` acts on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.frozen import frozen
from pyc.ir.graph import Graph, Value
from pyc.passes.in_place import Chains, Uses
from pyc.passes.lower import elementwise_reads


@frozen()
class Donations:
    """taken: the parameter in whose memory a result is made, by the result's number; writable:
    donated parameters that may be overwritten once they are dead, because no result that comes
    later has their memory; unused: donated parameters without a result, and why."""

    taken: dict[int, int]
    writable: frozenset[int]
    unused: tuple[tuple[int, str], ...]


def donations(graph: Graph, chains: Chains, donated: Sequence[int]) -> Donations:
    """The results that take over donated parameters; of several that could, the one with the least
    copying."""
    if not donated:
        return Donations({}, frozenset(), ())
    finder = _Finder(graph, chains)
    taken: dict[int, int] = {}
    later: set[int] = set()
    first = {value: k for k, value in reversed([*enumerate(graph.results)])}
    for rule in (finder.updates, finder.replaces, finder.follows):
        for value, k in sorted(first.items(), key=lambda item: item[1]):
            if k in taken:
                continue
            for number in donated:
                p = graph.params[number]
                if number in taken.values() or not p.shape or p.type != value.type:
                    continue
                if rule(value, p):
                    taken[k] = number
                    if rule == finder.follows:
                        later.add(number)
                    break
    unused = tuple((n, _why(graph, n)) for n in donated if n not in taken.values())
    return Donations(taken, frozenset(donated) - later, unused)


def _why(graph: Graph, number: int) -> str:
    p = graph.params[number]
    if not p.shape:
        return "a number has no memory to take over"
    if all(r.type != p.type for r in graph.results):
        return f"no result is {p.type}"
    return f"each result of type {p.type} is begun while the argument is read, or has another one"


class _Finder:
    """The rules: each says whether `value`, a result, may lie in the memory of parameter `p`."""

    def __init__(self, graph: Graph, chains: Chains) -> None:
        self._graph = graph
        self._chains = chains
        self._uses: Uses = chains.uses(graph)
        self._groups = self._uses.fusion.groups
        self._maker = {out: n for n, group in enumerate(self._groups) for out in group.outputs}

    def _start(self, value: Value) -> tuple[Value, Value | None]:
        """The first value in the memory of a result; the initial value, if a loop that exchanges
        buffers makes it."""
        chain = self._chains.chain(self._uses, value)
        for before, link, swapped in zip(
            chain.values, chain.values[1:], chain.swapped[1:], strict=False
        ):
            if swapped:
                return before, link
        return chain.origin, None

    def updates(self, value: Value, p: Value) -> bool:
        """It is the parameter, or an update of it in place."""
        start, initial = self._start(value)
        return start is p or (initial is p and self._takes_turns_alone(start))

    def _takes_turns_alone(self, out: Value) -> bool:
        """Whether a loop exchanges the buffer of a carry with its own second one only: no other
        carry's initial value is then copied over this one's."""
        _, eqn = self._uses.maker[out]
        moves = self._chains.loop(eqn) if eqn.op.name == "while" else None
        if moves is None:
            return False
        k = eqn.outs.index(out)
        return all(name == k or name >= len(moves.home) for name in moves.turns(k))

    def replaces(self, value: Value, p: Value) -> bool:
        """Its first value stands where the parameter's elements are read for the last time."""
        start, initial = self._start(value)
        number = self._maker.get(start)
        if number is None or initial is not None or self._uses.last.get(p) != number:
            return False
        group = self._groups[number]
        return group.opaque is None and p in elementwise_reads(self._uses.fusion.walker, group)

    def follows(self, value: Value, p: Value) -> bool:
        """Its memory is first written after the parameter was read for the last time."""
        start, _ = self._start(value)
        number = self._maker.get(start, len(self._groups))
        return self._uses.last.get(p, -1) < number
