"""Donation: which results of a program are made in the memory of arguments that were given up.

Takes a Graph and the numbers of its donated parameters, returns for each result at most one of
them, of the same type. The memory of a result is first written by one group (after the links of
`in_place`, which write it further); the argument may lie there if that group

* updates the argument itself, or is a loop that carries it: its memory is what the result wants;
* reads it for the last time, and its kernel may store the result where the argument lies: elements,
  rows, loops over elements, and what a product is combined with (`overwrite`);
* comes after the last one that reads it.

Everything else keeps the rule that arguments are not written: results have memory of their own, and
`unused` says why. `memory` acts on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyc.frozen import frozen
from pyc.ir.graph import Graph, Value
from pyc.ir.target import Target
from pyc.passes.in_place import Chains, Uses


@frozen()
class Donations:
    """taken: the parameter in whose memory a result is made, by the result's number; writable:
    donated parameters that may be overwritten once they are dead, because no result that comes
    later has their memory; unused: donated parameters without a result, and why."""

    taken: dict[int, int]
    writable: frozenset[int]
    unused: tuple[tuple[int, str], ...]


def donations(graph: Graph, chains: Chains, donated: Sequence[int], target: Target) -> Donations:
    """The results that take over donated parameters; of several that could, the one with the least
    copying."""
    if not donated:
        return Donations({}, frozenset(), ())
    finder = _Finder(graph, chains, target)
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
    unused = tuple(
        (n, finder.why(graph.params[n], taken)) for n in donated if n not in taken.values()
    )
    return Donations(taken, frozenset(donated) - later, unused)


class _Finder:
    """The rules: each says whether `value`, a result, may lie in the memory of parameter `p`."""

    def __init__(self, graph: Graph, chains: Chains, target: Target) -> None:
        self._graph = graph
        self._chains = chains
        self._target = target
        self._uses: Uses = chains.uses(graph)
        self._groups = self._uses.fusion.groups
        self._maker = self._uses.group

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

    def _begun(self, value: Value) -> int:
        """The group by which the memory of a result is first written, beyond all others if none is.
        What no group makes (an argument, a constant) is copied there just before its first link."""
        start, _ = self._start(value)
        if start in self._maker:
            return self._maker[start]
        links = self._chains.chain(self._uses, value).values[:-1]
        return self._maker[links[-1]] if links else len(self._groups)

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
        """Its first value is stored where the parameter's elements are read for the last time."""
        start, initial = self._start(value)
        return initial is None and self._chains.replaces(self._uses, start, p)

    def follows(self, value: Value, p: Value) -> bool:
        """Its memory is first written after the parameter was read for the last time."""
        return self._uses.last.get(p, -1) < self._begun(value)

    def why(self, p: Value, taken: Iterable[int]) -> str:
        """Why no result has taken over a parameter. taken: numbers of results that have others."""
        if not p.shape:
            return "a number has no memory to take over"
        results = [r for r in self._graph.results if r.type == p.type]
        if not results:
            return f"no result is {p.type}"
        others = {self._graph.results[k] for k in taken}
        found = dict.fromkeys(self._obstacle(r, p) for r in results if r not in others)
        return "; ".join(found) or f"each result of type {p.type} lies in another argument"

    def _obstacle(self, value: Value, p: Value) -> str:
        number = self._begun(value)
        if self._uses.last.get(p, -1) > number:
            return f"it is read after a result of type {p.type} is begun"
        group = self._groups[number]
        if group.opaque is not None:
            return f"{group.opaque.op.name} reads it while it makes a result of type {p.type}"
        if self._target.has_blocks and group.reduces:
            return f"the threads that make a row of a result of type {p.type} share it"
        return f"it is read elsewhere than where a result of type {p.type} is stored"
