"""Loops over tasks that each do the updates of their own part of a buffer.

    for task in begin..end: for u: ... if place(u) == task: update

Such tasks differ only in which updates they do (`passes/owned_tasks.py`). A range of them is one
loop over `u` that does the updates of all their parts: for each element the same updates in the
same order, and what is read is read once.
"""

from __future__ import annotations

from pyc.ir.expr import Apply, Expr, Var, postorder
from pyc.ir.loops import Accumulate, Buffer, For, If, Kind, Store, expressions, walk


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
    loops."""
    if loop is None or loop.kind is not Kind.PARALLEL:
        return None
    found = set()
    for s in walk(loop.body):
        if isinstance(s, If) and owner_of(s, loop.var) is not None:
            (update,) = s.then
            assert isinstance(update, (Accumulate, Store))
            found.add(update.buffer)
        elif any(_names(e, loop.var) for e in expressions(s)):
            return None
    return found.pop() if len(found) == 1 else None


def _names(e: Expr, var: Var) -> bool:
    return any(x is var for x in postorder([e]))
