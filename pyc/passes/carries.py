"""What loops carry: less, where less gives the same.

Three rewrites of `while` and `scan`, each exact:

* a carry that the body returns as it came in is a capture;
* a carry that starts and steps like another one is that other one (two counters of one loop);
* a carry that reaches neither the condition nor a needed result is dropped, with the captures,
  slices and stacked results that nobody needs then.

`simplify` applies the first two, `dce` the third.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyc.frozen import frozen
from pyc.ir.graph import Builder, Eqn, Graph, Value, has_effect
from pyc.ir.op import Kind


@frozen()
class _Loop:
    """A while or scan by the roles of its arguments; condition: None for a scan, whose `xs` are
    stepped over. carried: the body's parameters for the carries."""

    eqn: Eqn
    condition: Graph | None
    body: Graph
    tested: tuple[Value, ...]
    captured: tuple[Value, ...]
    initial: tuple[Value, ...]
    xs: tuple[Value, ...]

    @property
    def carried(self) -> tuple[Value, ...]:
        start = len(self.captured)
        return self.body.params[start : start + len(self.initial)]

    @property
    def watched(self) -> tuple[Value, ...]:
        """The condition's parameters for the carries."""
        return () if self.condition is None else self.condition.params[len(self.tested) :]


def _loop(eqn: Eqn, args: tuple[Value, ...]) -> _Loop:
    p = eqn.params
    if eqn.op.name == "while":
        a, b = p["condition_captures"], p["condition_captures"] + p["body_captures"]
        return _Loop(eqn, p["condition"], p["body"], args[:a], args[a:b], args[b:], ())
    a, b = p["captures"], p["captures"] + p["carries"]
    return _Loop(eqn, None, p["body"], (), args[:a], args[a:b], args[b:])


def _params(
    loop: _Loop, condition: Graph | None, body: Graph, counts: Sequence[int]
) -> dict[str, Any]:
    """The parameters of the equation with other Graphs. counts: of captures of the condition and
    the body, and of carries."""
    tested, captured, carries = counts
    if condition is None:
        return {**loop.eqn.params, "body": body, "captures": captured, "carries": carries}
    return {
        "condition": condition,
        "body": body,
        "condition_captures": tested,
        "body_captures": captured,
    }


# --- carries that stay, or go with another --------------------------------------------------------


def settle(builder: Builder, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
    """The results of a loop without the carries that stay as they are and those that equal another;
    None if it has none such."""
    loop = _loop(eqn, args)
    same = _equal_carries(loop)
    stay = [k for k, p in enumerate(loop.carried) if loop.body.results[k] is p]
    kept = [k for k in range(len(loop.initial)) if k not in stay and k not in same]
    if len(kept) == len(loop.initial):
        return None
    if not kept and (loop.condition is not None or has_effect(eqn)):
        return None
    stacked = loop.body.results[len(loop.initial) :]
    outs: Sequence[Value] = ()
    if kept or stacked:
        condition = loop.condition
        if condition is not None:
            condition = _settled(condition, len(loop.tested), len(loop.initial), stay, same)
        body = _settled(loop.body, len(loop.captured), len(loop.initial), stay, same)
        results = [body.results[k] for k in kept] + list(body.results[len(loop.initial) :])
        body = Graph(body.params, body.eqns, tuple(results))
        fixed = tuple(loop.initial[k] for k in stay)
        tested = loop.tested + (fixed if condition is not None else ())
        captured = loop.captured + fixed
        carried = tuple(loop.initial[k] for k in kept)
        counts = (len(tested), len(captured), len(carried))
        outs = builder.bind(
            eqn.op,
            *(*tested, *captured, *carried, *loop.xs),
            loc=eqn.loc,
            **_params(loop, condition, body, counts),
        )
    found = dict(zip(kept, outs, strict=False))
    found |= {k: loop.initial[k] for k in stay}
    found |= {k: found[m] for k, m in same.items()}
    return (*(found[k] for k in range(len(loop.initial))), *outs[len(kept) :])


def _equal_carries(loop: _Loop) -> dict[int, int]:
    """Carries that equal an earlier one in each iteration: the same initial value, and the same
    operation of themselves."""
    maker = {out: e for e in loop.body.eqns for out in e.outs}
    found: dict[int, int] = {}
    for k, p in enumerate(loop.carried):
        mine = maker.get(loop.body.results[k])
        if mine is None or p not in mine.args or mine.op.kind is not Kind.POINTWISE:
            continue
        for m, q in enumerate(loop.carried[:k]):
            other = maker.get(loop.body.results[m])
            if (
                m not in found
                and other is not None
                and loop.initial[m] is loop.initial[k]
                and (other.op, other.params) == (mine.op, mine.params)
                and [p if a is q else a for a in other.args] == list(mine.args)
            ):
                found[k] = m
                break
    return found


def _settled(
    graph: Graph, captures: int, carries: int, stay: Sequence[int], same: dict[int, int]
) -> Graph:
    """A Graph of the loop with the carries in `stay` as captures, and those in `same` as the ones
    they equal; its results are still all of them."""
    builder = Builder()
    values: dict[int, Value] = {}

    def take(numbers: Iterable[int]) -> None:
        values.update((k, builder.param(graph.params[k].type)) for k in numbers)

    take(range(captures))
    take(captures + k for k in stay)
    take(captures + k for k in range(carries) if k not in stay and k not in same)
    values.update((captures + k, values[captures + m]) for k, m in same.items())
    take(range(captures + carries, len(graph.params)))
    return builder.build(builder.inline(graph, [values[k] for k in range(len(graph.params))]))


# --- carries that nobody needs --------------------------------------------------------------------


def trimmed(eqn: Eqn, needed: set[Value], dce: Callable[[Graph], Graph]) -> Eqn:
    """The loop with what its needed results and its end depend on. dce: removes dead code."""
    loop = _loop(eqn, eqn.args)
    count = len(loop.initial)
    kept = {k for k, out in enumerate(eqn.outs[:count]) if out in needed}
    if loop.condition is not None:
        kept |= _found(loop.watched, _live(loop.condition, loop.condition.results))
    stacked = [k for k in range(count, len(eqn.outs)) if eqn.outs[k] in needed]
    if not kept and not stacked:
        kept = {0}  # it is there for its effect, and an equation has a result
    while True:
        live = _live(loop.body, [loop.body.results[k] for k in (*sorted(kept), *stacked)])
        wider = kept | _found(loop.carried, live)
        if wider == kept:
            break
        kept = wider
    carries = sorted(kept)
    first, last = len(loop.captured), len(loop.captured) + count
    captures = sorted(_found(loop.body.params[:first], live))
    steps = sorted(_found(loop.body.params[last:], live))
    condition, tests = loop.condition, list(range(len(loop.tested)))
    if condition is not None:
        tests = sorted(_found(condition.params[: len(tests)], _live(condition, condition.results)))
        params = [condition.params[k] for k in tests] + [loop.watched[k] for k in carries]
        condition = dce(Graph(tuple(params), condition.eqns, condition.results))
    outs = [*carries, *stacked]
    args = (
        *(loop.tested[k] for k in tests),
        *(loop.captured[k] for k in captures),
        *(loop.initial[k] for k in carries),
        *(loop.xs[k] for k in steps),
    )
    if len(args) == len(eqn.args) and len(outs) == len(eqn.outs):
        return eqn
    places = [*captures, *(first + k for k in carries), *(last + k for k in steps)]
    params = [loop.body.params[k] for k in places]
    results = [loop.body.results[k] for k in outs]
    body = dce(Graph(tuple(params), loop.body.eqns, tuple(results)))
    changed = _params(loop, condition, body, (len(tests), len(captures), len(carries)))
    return Eqn(eqn.op, args, changed, tuple(eqn.outs[k] for k in outs), eqn.loc)


def _found(params: Sequence[Value], live: set[Value]) -> set[int]:
    return {k for k, p in enumerate(params) if p in live}


def _live(graph: Graph, results: Iterable[Value]) -> set[Value]:
    """What `results`, and the effects of the Graph, are computed from."""
    live = set(results)
    for e in reversed(graph.eqns):
        if has_effect(e) or not live.isdisjoint(e.outs):
            live.update(e.args)
    return live
