"""A `break` at the top of a loop's body as the loop's condition, where that makes it a kernel.

    while goes_on and not stopped:            while goes_on and not leaves(state):
        if leaves(state): stopped = True          state = step(state)
        else: state = step(state)

The two are equal if nothing that is read after the loop changes in an iteration that breaks. Its
condition is then computed twice, by the loop and by what follows the `break`, which is free where
elements of a kernel leave by themselves (`leaving`), and not where whole arrays are computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.graph import Builder, Eqn, Graph, Rewriter, Value, has_effect
from pyc.passes.fold import fold
from pyc.passes.leaving import Term, conditions
from pyc.passes.loop_forms import NotAKernelError, lower_loop
from pyc.passes.simplify import simplify


def hoist_breaks(graph: Graph) -> Graph:
    """The Graph with such loops rewritten; itself if there is none."""
    if not any(e.op.name == "while" for e in graph.eqns):
        return graph
    read = {a for e in graph.eqns for a in e.args} | set(graph.results)
    makers = _makers(graph)
    found = False

    def rule(builder: Builder, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
        nonlocal found
        loop = _broken(eqn, makers, read) if eqn.op.name == "while" else None
        if loop is None or _is_kernel(eqn, read):
            return None
        tests, works = eqn.params["condition_captures"], eqn.params["body_captures"]
        captured = (*range(tests + works), *range(tests, len(args)))
        params = _hoisted(eqn, loop)
        trial = Eqn(eqn.op, tuple(eqn.args[k] for k in captured), params, eqn.outs, eqn.loc)
        if not _is_kernel(trial, read):
            return None
        found = True
        return builder.bind(eqn.op, *(args[k] for k in captured), loc=eqn.loc, **params)

    rewritten = Rewriter(rule)(graph)
    return rewritten if found else graph


def _is_kernel(eqn: Eqn, read: set[Value]) -> bool:
    try:
        lower_loop(eqn, "trial", lambda _: 0, read)
    except NotAKernelError:
        return False
    return True


@frozen()
class _Broken:
    """A loop that its body ends. asked: what is true in the iteration that does, known before
    anything changes; flag: the carry that is true from then on; going: the body where it is not."""

    asked: Value
    flag: int
    going: Graph


def _makers(graph: Graph) -> dict[Value, Eqn]:
    return {out: e for e in graph.eqns for out in e.outs}


def _constant(value: Value, makers: Mapping[Value, Eqn]) -> Any:
    """The number that a value is known to be, or None."""
    e = makers.get(value)
    known = e is not None and e.op.name == "constant" and e.out.type.size == 1
    return e.params["value"].reshape(-1)[0] if e is not None and known else None


def _broken(eqn: Eqn, outer: Mapping[Value, Eqn], read: set[Value]) -> _Broken | None:
    body: Graph = eqn.params["body"]
    if any(map(has_effect, body.eqns)):
        return None
    makers = _makers(body)
    numbers = conditions(eqn.params["condition"]).numbers
    watched = eqn.params["condition"].params[eqn.params["condition_captures"] :]
    for flag, (out, initial) in enumerate(zip(eqn.outs, eqn.args[-len(eqn.outs) :], strict=True)):
        unset = _constant(initial, outer)
        if out in read or unset is None or unset or Term(watched[flag], truth=False) not in numbers:
            continue
        asked = _asked(body.results[flag], makers)
        if asked is None or _can_fail(asked, makers):
            continue
        ended, going = (_known(body, asked, truth=truth) for truth in (True, False))
        carried = [g.params[eqn.params["body_captures"] :] for g in (ended, going)]
        if not _constant(ended.results[flag], _makers(ended)):
            continue
        if going.results[flag] is not carried[1][flag]:
            continue
        changed = (k for k, p in enumerate(carried[0]) if ended.results[k] is not p)
        if all(k == flag or eqn.outs[k] not in read for k in changed):
            return _Broken(asked, flag, going)
    return None


def _asked(flag: Value, makers: Mapping[Value, Eqn]) -> Value | None:
    """The truth by which a flag is set, if it is by a branch or a choice."""
    e = makers.get(flag)
    if e is None:
        return None
    if e.op.name == "cond":
        e = makers.get(e.args[0])
        if e is None or e.op.name != "cast":
            return None
    elif e.op.name != "select":
        return None
    asked = e.args[0]
    made = makers.get(asked)
    one = made is not None and len(made.outs) == 1 and not asked.shape
    return asked if one and asked.dtype is dt.b1 else None


def _can_fail(value: Value, makers: Mapping[Value, Eqn]) -> bool:
    """Whether something that a value is computed from can fail."""
    stack, seen = [value], set[Value]()
    while stack:
        current = stack.pop()
        e = makers.get(current)
        if e is None or current in seen:
            continue
        seen.add(current)
        if e.op.fails is not None:
            return True
        stack += e.args
    return False


def _known(body: Graph, asked: Value, *, truth: bool) -> Graph:
    """A body where it is known what `asked` is."""
    numbers = {e.out for e in body.eqns if e.op.name == "cast" and e.args[0] is asked}

    def rule(builder: Builder, e: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if e.op.name == "cond" and e.args[0] in numbers:
            return builder.inline(e.params["branches"][1 if truth else 0], args[1:])
        return (builder.constant(truth),) if asked in e.outs else None

    return simplify(fold(Rewriter(rule)(body)))


def _hoisted(eqn: Eqn, loop: _Broken) -> dict[str, Any]:
    """The parameters of the loop whose condition asks what its body asked."""
    condition: Graph = eqn.params["condition"]
    body: Graph = eqn.params["body"]
    tests, works = eqn.params["condition_captures"], eqn.params["body_captures"]
    builder = Builder()
    outside = [builder.param(p.type) for p in (*condition.params[:tests], *body.params[:works])]
    state = [builder.param(p.type) for p in body.params[works:]]
    state[loop.flag] = builder.constant(False)
    (before,) = builder.inline(condition, [*outside[:tests], *state])
    made = next(k for k, e in enumerate(body.eqns) if loop.asked in e.outs)
    asked = Graph(body.params, body.eqns[: made + 1], (loop.asked,))
    (ended,) = builder.inline(asked, [*outside[tests:], *state])
    goes_on = builder.bind1("logical_and", before, builder.bind1("logical_not", ended))
    return {
        "condition": builder.build([goes_on]),
        "body": loop.going,
        "condition_captures": tests + works,
        "body_captures": works,
    }
