"""Steps: short loops with an order, whose iterations are checked, done four at a time.

    for u in 0..n: if inside(place[u]): table[place[u]] += 1, else fail

A scatter's loop is some six instructions, two of them jumps back, and a processor takes up one
such jump a cycle; four iterations one behind the other have a quarter of them, and more of their
loads are under way at once. The order of the iterations stays.
"""

from __future__ import annotations

from pyc.frozen import replace
from pyc.ir.expr import Apply, Var, postorder
from pyc.ir.loops import Alloc, Body, Fail, For, If, Kind, Stmt, While, expressions, walk
from pyc.ir.visit import renamed

AT_ONCE = 4
"""Iterations of a step."""
LONG = 64
"""Iterations from which a loop is worth four times the code."""
SHORT = 24
"""The most instructions of an iteration."""


def in_steps(body: Body) -> Body:
    """`body` with its short loops in steps, if they end it."""
    if not body or not isinstance(body[-1], For):
        return body
    loop = body[-1]
    if not _is_short(loop):
        inner = in_steps(loop.body)
        return body if inner is loop.body else (*body[:-1], replace(loop, body=inner))
    assert isinstance(loop.extent, int)
    count, rest = divmod(loop.extent, AT_ONCE)
    step, one = Var("step"), Var("one")
    four = For(one, AT_ONCE, Kind.UNROLL, renamed(loop.body, {loop.var: step * AT_ONCE + one}))
    steps: list[Stmt] = [For(step, count, Kind.SERIAL, (four,))]
    if rest:
        behind = Var("behind")
        last = renamed(loop.body, {loop.var: behind + count * AT_ONCE})
        steps.append(For(behind, rest, Kind.SERIAL, last))
    return (*body[:-1], *steps)


def _is_short(loop: For) -> bool:
    if loop.kind is not Kind.SERIAL or loop.carried or not isinstance(loop.extent, int):
        return False
    inside = list(walk(loop.body))
    if loop.extent < LONG or any(isinstance(s, (For, While, Alloc)) for s in inside):
        return False
    checked = any(isinstance(s, If) and _fails(s.orelse) for s in inside)
    values = [e for s in inside for e in expressions(s) if not isinstance(s, Fail)]
    return checked and sum(isinstance(e, Apply) for e in postorder(values)) <= SHORT


def _fails(body: Body) -> bool:
    return any(isinstance(s, Fail) for s in walk(body))
