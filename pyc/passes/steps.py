"""Steps: short loops with an order, whose iterations are checked, done four at a time.

    for u in 0..n: if inside(place[u]): table[place[u]] += 1, else fail

A scatter's loop is some six instructions, two of them jumps back, and a processor takes up one
such jump a cycle; four iterations one behind the other have a quarter of them, and more of their
loads are under way at once. The order of the iterations stays.

Stores go to the caches one behind the other, and each waits for its line. So where they only store,
into an array that the first caches do not hold, iterations ask for the lines of later ones.
"""

from __future__ import annotations

from pyc.frozen import replace
from pyc.ir.expr import Apply, Expr, Load, Var, postorder
from pyc.ir.loops import (
    Alloc,
    Body,
    Buffer,
    Fail,
    For,
    If,
    Kind,
    Let,
    Prefetch,
    Space,
    Stmt,
    Store,
    While,
    expressions,
    walk,
)
from pyc.ir.visit import Rewriter, bound, renamed

AT_ONCE = 4
"""Iterations of a step."""
LONG = 64
"""Iterations from which a loop is worth four times the code."""
SHORT = 24
"""The most instructions of an iteration."""
AHEAD = 16
"""Iterations by which the line of a store is asked for."""
FAR, FARTHEST = 1 << 20, 1 << 23
"""Bytes of a table from which, and to which, its lines are asked for. Before, most are in the first
caches; behind, asking takes longer than it saves."""


def in_steps(body: Body) -> Body:
    """`body` with its short loops in steps, if they end it."""
    if not body or not isinstance(body[-1], For):
        return body
    loop = body[-1]
    if not _is_short(loop):
        inner = in_steps(loop.body)
        return body if inner is loop.body else (*body[:-1], replace(loop, body=inner))
    assert isinstance(loop.extent, int)
    asked = _asked_for(loop)
    # What is asked for is read of a later iteration: there is one as long as steps last.
    count = (loop.extent - (AHEAD if asked else 0)) // AT_ONCE
    rest = loop.extent - count * AT_ONCE
    step, one = Var("step"), Var("one")
    here = {loop.var: step * AT_ONCE + one}
    four = For(one, AT_ONCE, Kind.UNROLL, renamed((*asked, *loop.body), here))
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


def _asked_for(loop: For) -> Body:
    """What asks for the lines of the stores `AHEAD` iterations further on, at places that are read
    of an array. A table that is read too has its lines: loads do not wait for each other."""
    inside = list(walk(loop.body))
    read = {e.buffer for s in inside for e in postorder(expressions(s)) if isinstance(e, Load)}
    known: dict[Var, Expr] = {loop.var: loop.var + AHEAD}
    for s in loop.body:
        if isinstance(s, Let):
            known[s.var] = Rewriter(variables=known).expr(s.value)
    found: dict[Buffer, Stmt] = {}
    for s in inside:
        if not isinstance(s, Store) or s.buffer in read or not _is_far(s.buffer):
            continue
        leaves = list(postorder(s.index))
        # Loads in a branch may be out of range elsewhere: those before it are not.
        read_before = any(isinstance(e, Var) and e in known and e is not loop.var for e in leaves)
        bound_within = {v for x in inside for v in bound(x)} - set(known)
        if read_before and not any(isinstance(e, Load) or e in bound_within for e in leaves):
            index = tuple(Rewriter(variables=known).exprs(s.index))
            found.setdefault(s.buffer, Prefetch(s.buffer, index, first=True))
    return tuple(found.values())


def _is_far(buffer: Buffer) -> bool:
    count = 1
    for extent in buffer.shape:
        if not isinstance(extent, int):
            return False
        count *= extent
    return buffer.space is Space.GLOBAL and FAR <= count * buffer.dtype.itemsize <= FARTHEST


def _fails(body: Body) -> bool:
    return any(isinstance(s, Fail) for s in walk(body))
