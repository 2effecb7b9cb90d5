"""The third net: a function that is pure gives the same program each time that it is traced.

`traced_twice` runs a trace under a `Watch`, then once more without; where something from outside
has changed, once more to find the line that did it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from pyc.errors import PurityError
from pyc.ir.graph import Eqn, Graph, freeze
from pyc.purity import audit, frames
from pyc.purity.watch import Watch
from pyc.reasons import Reason, record, unrecorded
from pyc.trace.meanwhile import others, steadily, torn


class Traced(Protocol):
    """What a trace gives: the Graph, and the structure of the results."""

    @property
    def graph(self) -> Graph:
        """The Graph as written."""

    @property
    def out_tree(self) -> Any:
        """The structure of the results."""


T = TypeVar("T", bound=Traced)


def traced_twice(
    trace: Callable[[Watch | None], T], changed: Callable[[T, T], str], name: str, purity: str
) -> T:
    """What `trace` gives, if the function `name` is pure.

    trace: runs the function, watched by what it is given; changed: something that two traces have
    found to be different, or that is not so any more, empty if there is none; purity: "strict" or
    "warn"
    raises PurityError: with the user's line; what else `trace` raises
    """
    audit.install()
    return steadily(lambda: _traced_twice(trace, changed, name, purity == "strict"), name)


def _traced_twice(
    trace: Callable[[Watch | None], T], changed: Callable[[T, T], str], name: str, strict: bool
) -> T:
    watch = Watch(strict)
    try:
        first = trace(watch)
        if watch.has_warned:  # the effect has happened, once
            return first
        with unrecorded(), watch.restoring():
            second = trace(None)
        found = difference(first.graph, second.graph, name)
        if found is None and first.out_tree != second.out_tree:
            found = _not_repeatable(name, None)
        if found is not None:
            what = changed(first, second) if others() else ""
            if what:
                raise torn(name, what)
            raise found
    except PurityError as error:
        if not strict and error.rule is Reason.PURITY_NOT_REPEATABLE:
            frames.warn(error)
            return second
        located = error
        if error.place is None:
            located = _located(trace, error)
            watch.restore()
        raise _recorded(located, name) from None
    finally:
        watch.end()
    return second


def _recorded(error: PurityError, name: str) -> PurityError:
    """`error`, after its rule has been recorded."""
    if isinstance(error.rule, Reason):
        place = error.place
        where = {} if place is None else {"line": place.line}
        record(error.rule, function=name, **where)
    return error


def _located(trace: Callable[[Watch | None], T], error: PurityError) -> PurityError:
    """The same refusal with the line that caused it, if the function does it again."""
    watch = Watch(True, step_by_step=True)
    try:
        with unrecorded():
            trace(watch)
    except PurityError as found:
        return error.at(found.place)
    except Exception:
        return error
    finally:
        watch.end()
    return error


# --- comparing ------------------------------------------------------------------------------------


def difference(first: Graph, second: Graph, name: str) -> PurityError | None:
    """The refusal if two Graphs are not the same program; its place is the first equation that
    differs, or uses a number that does."""
    number: dict[Any, int] = {}
    other: dict[Any, int] = {}
    for p, q in zip(first.params, second.params, strict=False):
        number[p], other[q] = len(number), len(other)
    changed: set[int] = set()
    for e, f in zip(first.eqns, second.eqns, strict=False):
        same = e.op is f.op and _same_params(e, f)
        same = same and [number[a] for a in e.args] == [other[a] for a in f.args]
        if same and not changed.intersection(number[a] for a in e.args):
            for x, y in zip(e.outs, f.outs, strict=True):
                number[x], other[y] = len(number), len(other)
            continue
        if same or e.op.name != "constant" or f.op.name != "constant":
            return _not_repeatable(name, e)
        changed.add(len(number))
        number[e.outs[0]], other[f.outs[0]] = len(number), len(other)
    if len(first.eqns) != len(second.eqns):
        longer = max((first, second), key=lambda graph: len(graph.eqns))
        return _not_repeatable(name, longer.eqns[min(len(first.eqns), len(second.eqns))])
    results = [number[r] for r in first.results] == [other[r] for r in second.results]
    if changed or not results or len(first.params) != len(second.params):
        return _not_repeatable(name, None)
    return None


def _same_params(e: Eqn, f: Eqn) -> bool:
    if e.params.keys() != f.params.keys():
        return False
    return all(freeze(v) == freeze(f.params[k]) for k, v in e.params.items())


def _not_repeatable(name: str, eqn: Eqn | None) -> PurityError:
    where = "" if eqn is None else f", first at this `{eqn.op}`"
    return PurityError(
        f"two traces of `{name}` with the same arguments gave different programs{where}",
        rule=Reason.PURITY_NOT_REPEATABLE,
        fix="Pass what differs from call to call as an argument.",
        place=None if eqn is None else eqn.loc,
    )
