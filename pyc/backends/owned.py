"""Loops over tasks that each do the updates of their own part of a buffer.

    for task in begin..end: for u: ... if place(u) == task: update

Such tasks differ only in which updates they do (`passes/owned_tasks.py`). A range of them is one
loop over `u` that does the updates of all their parts: for each element the same updates in the
same order, and what is read is read once.
"""

from __future__ import annotations

from pyc.ir.expr import Apply, Expr, Load, Var, postorder
from pyc.ir.loops import (
    Accumulate,
    Body,
    Buffer,
    Fail,
    For,
    If,
    Kind,
    Let,
    Stmt,
    Store,
    bodies,
    expressions,
    walk,
)


def owner_of(s: If, task: Var) -> Expr | None:
    """What a condition compares with the task, if it is that around one update."""
    condition = s.condition
    if not isinstance(condition, Apply) or condition.name != "eq" or s.orelse:
        return None
    if len(s.then) != 1 or not isinstance(s.then[0], (Accumulate, Store)):
        return None
    left, right = condition.args
    return left if right is task and not _names(left, task) else None


def owned_buffer(loop: For | None) -> Buffer | None:
    """The buffer of a loop whose tasks differ only in which of its parts are theirs; None for other
    loops. Beside updates such tasks do nothing that shows, and all in the same order."""
    if loop is None or loop.kind is not Kind.PARALLEL:
        return None
    found = set()
    for s in walk(loop.body):
        if isinstance(s, (Accumulate, Store)):
            found.add(s.buffer)
        elif not isinstance(s, (Fail, If, Let)) and not _is_plain(s):
            return None
    if len(found) != 1:
        return None
    (table,) = found
    return table if _is_owned(loop.body, loop.var, table) else None


def _is_owned(body: Body, task: Var, table: Buffer) -> bool:
    """Whether each update in some statements is of the task that owns its place, and nothing else
    asks for the task, or reads the buffer."""
    for s in body:
        owner = owner_of(s, task) if isinstance(s, If) else None
        if isinstance(s, If) and owner is not None:
            read = [owner, *expressions(s.then[0])]
        elif isinstance(s, (Accumulate, Store)):
            return False
        else:
            read = list(expressions(s))
            if not all(_is_owned(inner, task, table) for inner in bodies(s)):
                return False
        for e in postorder(read):
            if e is task or (isinstance(e, Load) and e.buffer is table):
                return False
    return True


def _is_plain(s: Stmt) -> bool:
    """Whether a statement is a loop of one iteration after the other that carries nothing."""
    return isinstance(s, For) and s.kind in (Kind.SERIAL, Kind.UNROLL) and not s.carried


def _names(e: Expr, var: Var) -> bool:
    return any(x is var for x in postorder([e]))
