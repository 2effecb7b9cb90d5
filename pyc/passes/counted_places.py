"""Places of a counted loop: sums and multiples of its counter, and the checks that they pass.

`known_numbers` says which numbers of a loop's body are c + f t in iteration t; `drop_checks` takes
a Graph, and returns it without the checks in such loops of places that are inside of their arrays
in every iteration, and with the side that is always chosen of what counts from an end. A kernel of
the body then has no error to look out for. Bodies that read an array which they also update keep
theirs: a value that cannot fail is computed where it is needed, which may be behind an update, and
the array then has to be copied in each iteration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.graph import Builder, Eqn, Graph, Rewriter, Value
from pyc.passes.dce import dce
from pyc.passes.loop_forms import LARGEST, Counted, counted
from pyc.passes.reads import Walker

Place = tuple[int, int]
"""(c, f): c + f t in iteration t."""


def drop_checks(graph: Graph) -> Graph:
    """The Graph without checks that never fail; itself if there is none."""
    if not any(e.op.name == "while" for e in graph.eqns):
        return graph
    known = Walker(graph).scalars
    changed = False

    def rule(builder: Builder, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
        nonlocal changed
        count = counted(eqn, known) if eqn.op.name == "while" else None
        if count is None or not count.times:
            return None
        body = _without_checks(eqn, known_numbers(eqn, count, known))
        if body is None:
            return None
        changed = True
        return builder.bind(eqn.op, *args, loc=eqn.loc, **{**eqn.params, "body": body})

    found = Rewriter(rule)(graph)
    return found if changed else graph


def _without_checks(eqn: Eqn, known: Known) -> Graph | None:
    """The body of a loop; None if it has no such check."""
    body: Graph = eqn.params["body"]
    uses = Counter(a for e in body.eqns for a in e.args)
    if any(e.op.in_place is not None and uses[e.args[e.op.in_place]] > 1 for e in body.eqns):
        return None
    position = {
        e: 0 if e.op.name == "index_check" else 1 if known.truths[e.args[0]] else 2
        for e in body.eqns
        if (e.op.name == "index_check" and e.out in known.places)
        or (e.op.name == "select" and e.args[0] in known.truths)
    }
    if not position:
        return None

    def rule(builder: Builder, e: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
        return (args[position[e]],) if e in position else None

    return dce(Rewriter(rule)(body))


@frozen()
class Known:
    """What is known of each iteration of a counted loop. places: whole numbers of its body; truths:
    comparisons of them that are the same in all iterations."""

    places: dict[Value, Place]
    truths: dict[Value, bool]


def known_numbers(eqn: Eqn, count: Counted, known: Mapping[Value, Any]) -> Known:
    """What is known of a counted loop that runs. known: the constants of one element around it."""
    body: Graph = eqn.params["body"]
    found: dict[Value, Place] = {}
    captured = eqn.args[eqn.params["condition_captures"] : -len(eqn.outs)]
    for p, a in zip(body.params, captured, strict=False):
        if p.dtype is dt.i64 and a in known:
            found[p] = (int(known[a]), 0)
    for k, place in count.counters.items():
        found[body.params[k - len(eqn.outs)]] = place
    truths: dict[Value, bool] = {}
    for e in body.eqns:
        if e.op.name in ("lt", "ge") and all(a in found for a in e.args):
            (c, f), (d, g) = (found[a] for a in e.args)
            ends = [(c + f * t, d + g * t) for t in (0, count.times - 1)]
            less = {a < b for a, b in ends}
            wraps = max(abs(n) for pair in ends for n in pair) >= LARGEST
            if len(less) == 1 and not wraps:
                truths[e.out] = less.pop() is (e.op.name == "lt")
        elif e.op.name == "select" and e.args[0] in truths:
            chosen = e.args[1] if truths[e.args[0]] else e.args[2]
            if chosen in found:
                found[e.out] = found[chosen]
        else:
            number = _place(e, found, count.times)
            if number is not None:
                found[e.out] = number
    return Known(found, truths)


def _place(e: Eqn, found: Mapping[Value, Place], times: int) -> Place | None:
    """The number that an equation of a body gives, if that is known of each iteration; as integers
    without an end, which places inside of an array are."""
    if e.op.name == "constant":
        value = e.params["value"]
        of_places = e.out.dtype is dt.i64 and value.size == 1
        return (int(value.reshape(-1)[0]), 0) if of_places else None
    if not e.args or any(a not in found for a in e.args):
        return None
    (c, f), *rest = (found[a] for a in e.args)
    if e.op.name == "reshape":
        return c, f
    if e.op.name == "index_check":
        ends = (c, c + f * (times - 1))
        return (c, f) if min(ends) >= 0 and max(ends) < e.params["bound"] else None
    if e.op.name == "neg":
        return -c, -f
    if e.op.name in ("add", "sub"):
        (d, g), sign = rest[0], -1 if e.op.name == "sub" else 1
        return c + sign * d, f + sign * g
    if e.op.name == "mul" and 0 in (f, rest[0][1]):
        d, g = rest[0]
        return c * d, c * g + f * d
    return None
