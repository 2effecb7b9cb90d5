"""What rewritten functions call in place of loops; see `rewrite`. All that they call is here: the
functions of `decisions` too.

On concrete values each does what Python does. A loop that is long or whose end is traced becomes an
op (`carry`):

* up to `SHORT` iterations, and `SHORT_IN_ALL` of nested loops, run in Python: straight code, unless
  that would come to more than `STRAIGHT_COST` (a `for` is judged by its first one) and the loop can
  be an op;
* a loop whose body does nothing with traced values runs in Python;
* what else goes over a range or an array becomes one loop of the program. If its body needs the
  number of the iteration (a slice, a shape, a list) or does more to Python objects than to replace
  values, it runs in Python after all, for a recorded reason, up to `LONGEST` iterations.
"""

from __future__ import annotations

import builtins
from types import FunctionType
from typing import Any

from pyc.interpreter import is_tracing
from pyc.reasons import Reason, record
from pyc.trace import comprehensions, filtered
from pyc.trace.attempts import attempt
from pyc.trace.decisions import (
    Names,
    Variables,
    all_of,
    all_true,
    any_of,
    any_true,
    branch,
    choice,
    comparison,
    contained,
    negation,
)
from pyc.trace.loop_for import For
from pyc.trace.loop_statements import LONGEST, SHORT, recorded, where
from pyc.trace.loop_while import While
from pyc.trace.parts import Selected
from pyc.trace.raising import raising
from pyc.trace.sequences import sequence, steps_of
from pyc.trace.state import Variable
from pyc.trace.telling import percent

AssertionError = builtins.AssertionError
"""For rewritten functions, in which the name may be the user's."""
member, kept, passing = filtered.item, filtered.kept, filtered.passing
listed, generated, only = comprehensions.listed, comprehensions.generated, comprehensions.only


def repeat(
    test: FunctionType,
    body: FunctionType,
    names: Names,
    live: tuple[str, ...],
    stop: str | None,
) -> None:
    """`while test(): body()`, until the variable `stop` is true."""
    loop = While(test, body, Variables((test, body), names, live), stop)
    if not is_tracing():
        loop.run_in_python(None)
    else:
        loop.run()


def each(
    items: Any,
    body: FunctionType,
    names: Names,
    live: tuple[str, ...],
    stop: str | None,
    counter: str | None,
    grown: tuple[tuple[str, int], ...],
) -> None:
    """`for ... in items: body(item)`, until the variable `stop` is true. counter: the variable that
    holds the item, if the body does not assign it; grown: those that it only appends to, in each
    iteration."""
    variables = Variables((body,), names, live)
    cells = variables.cells
    lists = {Variable(name, cells[name]): count for name, count in grown if name in cells}
    loop = For(body, (body,), variables, stop, counter, lists)
    if isinstance(items, filtered.Filtered):
        loop.run_filtered(items)
        return
    if isinstance(items, Selected):
        loop.run_selected(items)
        return
    steps = steps_of(items)
    if not is_tracing():
        loop.run_in_python(iter(items))
    elif steps is not None:
        loop.run(steps)
    else:
        before = recorded()
        done = loop.run_in_python(iter(items))
        if recorded() > before:
            kind = type(items).__name__
            record(Reason.LOOP_IN_PYTHON, **where(), iterations=done, over=kind)


__all__ = ["LONGEST", "SHORT", "all_of", "all_true", "any_of", "any_true", "branch", "choice"]
__all__ += [
    "attempt",
    "AssertionError",
    "comparison",
    "contained",
    "each",
    "generated",
    "kept",
    "listed",
    "member",
    "negation",
    "only",
    "passing",
]
__all__ += ["percent", "raising", "repeat", "sequence"]
