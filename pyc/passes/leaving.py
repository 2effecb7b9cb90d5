"""Loops `while any(mask)` that each element may leave by itself.

Such a loop over arrays goes on for all elements while it does for one. If the numbers of an element
stay as they are where its part of the mask is false, that part stays false with them: the element
may as well have left, and need not be told to keep its numbers.

`conditions` takes the condition's Graph apart; `given` says what expressions are where the mask is
known to be true or false, with which `lower_loops` proves the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.expr import Apply, Const, Expr, transform
from pyc.ir.graph import Eqn, Graph, Value

_NOT = {"logical_not", "bitwise_not"}
_AND = {"logical_and", "bitwise_and"}
_OR = {"logical_or", "bitwise_or"}
_NOTHING = {"add": (0, 1), "sub": (1,), "or": (0, 1), "xor": (0, 1)}
"""Where an argument of an instruction of integers changes nothing if it is 0."""


@frozen()
class Term:
    """A value of a condition, and what it must be for the loop to go on."""

    value: Value
    truth: bool


@frozen()
class Conditions:
    """What must all hold for a loop to go on: masks, of which one element must be as told, and
    numbers."""

    masks: tuple[Term, ...]
    numbers: tuple[Term, ...]


def conditions(graph: Graph) -> Conditions:
    """The terms of the condition of a loop."""
    maker = {out: e for e in graph.eqns for out in e.outs}
    masks: list[Term] = []
    numbers: list[Term] = []
    stack = [Term(graph.results[0], truth=True)]
    while stack:
        term = stack.pop()
        eqn, truth = maker.get(term.value), term.truth
        name = "" if eqn is None or term.value.dtype is not dt.b1 else eqn.op.name
        if eqn is not None and name in _NOT:
            stack.append(Term(eqn.args[0], not truth))
        elif eqn is not None and name in (_AND if truth else _OR):
            stack += (Term(a, truth) for a in eqn.args)
        elif eqn is not None and name == "select" and _one_sided(eqn, maker, truth=truth):
            stack += _one_sided(eqn, maker, truth=truth)
        elif eqn is not None and name == ("reduce_any" if truth else "reduce_all"):
            masks.append(Term(eqn.args[0], truth))
        else:
            numbers.append(term)
    return Conditions(tuple(masks), tuple(numbers))


def _one_sided(eqn: Eqn, maker: dict[Value, Eqn], *, truth: bool) -> tuple[Term, ...]:
    """The two terms of a select one of whose sides is never `truth`: `a and b` of Python's."""
    which, then, otherwise = eqn.args
    for side, other, taken in ((then, otherwise, False), (otherwise, then, True)):
        known = maker.get(side)
        if known is None or known.op.name != "constant":
            continue
        if bool(known.params["value"]) is not truth:
            return Term(which, taken), Term(other, truth)
    return ()


def given(roots: Sequence[Expr], mask: Expr, *, truth: bool) -> list[Expr]:
    """`roots` where `mask`, one of their nodes, is known. The numbers are the same."""
    while isinstance(mask, Apply) and mask.name == "not":
        mask, truth = mask.args[0], not truth
    known = Const(truth, dt.b1)
    return transform(roots, lambda e: known if e is mask else _folded(e))


def _folded(e: Expr) -> Expr:
    """A node some of whose arguments may have become constants."""
    if not isinstance(e, Apply) or not any(isinstance(a, Const) for a in e.args):
        return e
    if e.name == "select":
        which = e.args[0]
        return (e.args[1] if which.value else e.args[2]) if isinstance(which, Const) else e
    first = e.args[0]
    if e.name in ("cast", "not") and isinstance(first, Const) and first.dtype is dt.b1:
        return Const(first.value if e.name == "cast" else not first.value, e.dtype)
    if e.dtype.is_float:
        return e  # -0.0 + 0.0 is another number
    if e.name == "and" and e.dtype is dt.b1:
        known, other = e.args if isinstance(e.args[0], Const) else e.args[::-1]
        assert isinstance(known, Const)
        return other if known.value else known
    for position in _NOTHING.get(e.name, ()):
        known = e.args[position]
        if isinstance(known, Const) and not known.value:
            return e.args[1 - position]
    return e
