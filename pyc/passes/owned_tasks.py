"""Updates by tasks where their order shows: each task does those that meet in its own places.

    for task in 0..n, in parallel: for u: if place[u] >> bits == task: table[place[u]] = amount[u]

Takes the loops of a scatter in flat form that store to one buffer, or combine its elements. Every
task reads all places and does the updates of one part of the buffer, in their order: the bits are
those of one loop, however many parts there are. A backend that runs a range of tasks at once reads
the places once for all of them (`backends/owned.py`), so one thread that has all tasks loses
nothing, and several threads read a range each.

It pays where an update waits for memory longer than reading a place takes: in a buffer beyond the
cache of a core.
"""

from __future__ import annotations

from pyc.frozen import replace
from pyc.ir.expr import Load, Var, postorder
from pyc.ir.loops import (
    Accumulate,
    Body,
    Buffer,
    Fail,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Space,
    Stmt,
    Store,
    walk,
)
from pyc.passes.nest import Nest, roots

LEAST_UPDATES = 1 << 17
"""Updates from which on tasks pay: 0.1 ms of reading places."""
LEAST_BYTES = 1 << 21
"""Bytes of the buffer from which on most updates wait for memory."""
PARTS = 64
"""Parts of the buffer at most, so that a machine of many cores shares them evenly."""


def owned_tasks(nest: Nest, body: Body) -> Kernel | None:
    """The kernel by tasks, for one whose flat statements are `body`; None: they do not pay, or
    what is not an update of one buffer is among them."""
    table = _table(body)
    if table is None:
        return None
    (size,) = table.shape
    assert isinstance(size, int)
    loops = [s for s in body if isinstance(s, For)]
    updates = sum(map(_iterations, loops))
    if updates < LEAST_UPDATES or size * table.dtype.itemsize < LEAST_BYTES:
        return None
    part = (-(-size // PARTS) - 1).bit_length()
    task = Var("task")
    inside = tuple(_owned(s, part, task) for s in body)
    loop = For(task, -(-size >> part), Kind.PARALLEL, inside)
    return replace(nest.kernel, body=(loop,))


def _table(body: Body) -> Buffer | None:
    """The one buffer that statements update one element after the other, if that and failing is all
    that they do."""
    if not all(isinstance(s, (Accumulate, Fail, For, If, Let, Store)) for s in walk(body)):
        return None
    if not all(isinstance(s, For) and _is_plain(s) for s in body):
        return None
    updates = [s for s in walk(body) if isinstance(s, (Accumulate, Store))]
    if not updates or len({s.buffer for s in updates}) > 1:
        return None
    table = updates[0].buffer
    flat = len(table.shape) == 1 and isinstance(table.shape[0], int)
    if table.space is not Space.GLOBAL or not flat:
        return None
    read = any(isinstance(e, Load) and e.buffer is table for e in postorder(roots(body)))
    return None if read else table


def _is_plain(loop: For) -> bool:
    """Whether a loop carries nothing, and all loops in it are steps of one update or several."""
    inner = [s for s in walk(loop.body) if isinstance(s, For)]
    known = all(isinstance(s.extent, int) and not s.carried for s in (loop, *inner))
    return known and loop.kind is Kind.SERIAL and all(s.kind is Kind.UNROLL for s in inner)


def _iterations(loop: For) -> int:
    """How often the innermost statements of a loop run."""
    assert isinstance(loop.extent, int)
    return loop.extent * max(
        (_iterations(s) for s in loop.body if isinstance(s, For)),
        default=1,
    )


def _owned(s: Stmt, part: int, task: Var) -> Stmt:
    """A statement whose updates are those of a task. part: the bits of a place within one."""
    if isinstance(s, (Accumulate, Store)):
        return If((s.index[0] >> part).equal(task), (s,))
    if isinstance(s, For):
        return replace(s, body=tuple(_owned(x, part, task) for x in s.body))
    if isinstance(s, If):
        then, orelse = (tuple(_owned(x, part, task) for x in b) for b in (s.then, s.orelse))
        return replace(s, then=then, orelse=orelse)
    return s
