"""Updates by tasks where their order cannot show: a table for each task, joined at the end.

    for u in 0..n: table[place[u]] += amount[u]

Takes the loops of a scatter in flat form. If all that they do to memory is to combine integers of
one buffer, tasks take some of the updates each, into tables of their own that begin neutral; a
second launch combines the tables with the buffer, element by element. The number of tables follows
from the sizes: tables that are long beside the updates cost more to clear and to join than tasks
save, and the updates stay in one loop.

Numbers that fail a check fail in the task that meets them; the least of one launch is reported,
whichever that is.
"""

from __future__ import annotations

from collections.abc import Callable

from pyc.frozen import replace
from pyc.ir.expr import Expr, Load, Var, const, minimum, postorder
from pyc.ir.loops import (
    Accumulate,
    Alloc,
    Body,
    Buffer,
    Fail,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Reduce,
    Space,
    Stmt,
    Store,
    walk,
)
from pyc.ir.order import MONOIDS, neutral
from pyc.ir.visit import Rewriter, renamed
from pyc.passes.nest import Nest, roots

TASK_UPDATES = 1 << 15
"""Updates of a task at least: some 15 us on one core."""
MOST_TABLES = 64
"""Tables at most: with more, the tasks of a machine of many cores come out no more even."""
TABLE_SHARE = 16
"""Updates of a task for each element of its table at least, which is cleared, and read again."""
STACK_BYTES = 1 << 16
"""Bytes of a table up to which a task fills it on its stack, where an address is one instruction
less (1.3 of the time without)."""
LINE_BYTES = 64
"""Bytes of a line of the caches, of which two tables share none."""


class UpdateTasks:
    """The launches that updates are cut into. table: the buffer that they go to; join: the logical
    kernel of the second launch, over (table, the tables of all tasks)."""

    def __init__(self, nest: Nest, body: Body, table: Buffer, tables: int) -> None:
        self.nest, self.table = nest, table
        self._main, *self._rest = body
        extent, (size,) = _extent(self._main), table.shape
        self._each = -(-extent // tables)
        self._tables = -(-extent // self._each)
        self._line = LINE_BYTES // table.dtype.itemsize
        assert isinstance(size, int)
        self._size, self._pitch = size, -(-size // self._line) * self._line
        self._monoid = MONOIDS[next(s.monoid for s in walk(body) if isinstance(s, Accumulate))]
        self.join = self._joined()

    def tasks(self, tables: Buffer) -> Kernel:
        """The kernel that fills the tables, which are `tables`."""
        kernel, each = self.nest.kernel, self._each
        simplify = self.nest.simplify
        task = simplify.variable("task", self._tables)
        begin = task * self._pitch
        held, at = tables, begin
        small = self._pitch * tables.dtype.itemsize <= STACK_BYTES
        if small:
            held = Buffer("own", tables.dtype, (self._pitch,), Space.STACK, alignment=LINE_BYTES)
            at = const(0)
        own = Rewriter(
            buffers=lambda b: held if b is self.table else b,
            index=lambda b, place: (simplify(at + place[0] if b is self.table else place[0]),),
        )
        main, step = self._main, simplify.variable("step", each)
        assert isinstance(main, For)
        here = own.body(renamed(main.body, {main.var: task * each + step}))
        count: int | Expr = each
        if _extent(main) % each:
            count = minimum(const(each), const(_extent(main)) - task * each)
        (first,) = neutral(self._monoid, (held.dtype,))
        inside = [
            self._vectors(lambda i: Store(held, (at + i,), first)),
            For(step, count, Kind.SERIAL, here),
        ]
        if self._rest:
            inside.append(If(task.equal(self._tables - 1), own.body(tuple(self._rest))))
        if small:
            inside.append(self._vectors(lambda i: Store(tables, (begin + i,), Load(held, (i,)))))
            inside = [Alloc(held, tuple(inside))]
        loop = For(task, self._tables, Kind.PARALLEL, tuple(inside))
        buffers = (*(b for b in kernel.buffers if b is not self.table), tables)
        return replace(kernel, name=f"{kernel.name}_tables", buffers=buffers, body=(loop,))

    def _vectors(self, statement: Callable[[Expr], Stmt]) -> Stmt:
        """A statement for each element of a table."""
        vector, lane = Var("vector"), Var("lane")
        width = min(self.nest.target.lanes(self.table.dtype.itemsize), self._line)
        lanes = For(lane, width, Kind.VECTOR, (statement(vector * width + lane),))
        return For(vector, self._pitch // width, Kind.SERIAL, (lanes,))

    def _joined(self) -> Kernel:
        """Combines each element with those of the tables."""
        table, dtype = self.table, self.table.dtype
        tables = Buffer(
            "tables", dtype, (self._tables * self._pitch,), role="inout", alignment=LINE_BYTES
        )
        i, number, total = Var("i"), Var("number"), Var("total", dtype)
        element = Load(tables, (number * self._pitch + i,))
        reduce = Reduce((total,), ((number, self._tables),), (element,), self._monoid.name)
        (value,) = self._monoid.combine((Load(table, (i,)),), (total,))
        body = (For(i, self._size, Kind.PARALLEL, (reduce, Store(table, (i,), value))),)
        return Kernel(f"{self.nest.kernel.name}_joined", (table, tables), body)


def update_tasks(nest: Nest, body: Body) -> UpdateTasks | None:
    """The launches for a kernel whose flat statements are `body`; None: its order shows, or tasks
    do not pay."""
    loops = [s for s in body if isinstance(s, For)]
    table = _table(body)
    if len(loops) < len(body) or table is None or not all(map(_is_plain, loops)):
        return None
    tables = _tables(loops[0], table)
    return None if tables < 2 else UpdateTasks(nest, body, table, tables)


def _extent(loop: Stmt) -> int:
    assert isinstance(loop, For) and isinstance(loop.extent, int)
    return loop.extent


def _table(body: Body) -> Buffer | None:
    """The one buffer that statements combine elements of, in no order that shows, if that and
    failing is all that they do."""
    if not all(isinstance(s, (Accumulate, Fail, For, If, Let)) for s in walk(body)):
        return None
    found = [s for s in walk(body) if isinstance(s, Accumulate)]
    if not found or len({(s.buffer, s.monoid) for s in found}) > 1:
        return None
    table = found[0].buffer
    if table.space is not Space.GLOBAL or not isinstance(table.shape[0], int):
        return None
    if table.dtype.is_float:  # extrema too: of several NaN it shows which came first
        return None
    read = any(isinstance(e, Load) and e.buffer is table for e in postorder(roots(body)))
    return None if read else table


def _is_plain(loop: For) -> bool:
    """Whether the iterations of a loop are known in number and carry nothing."""
    return loop.kind is Kind.SERIAL and not loop.carried and isinstance(loop.extent, int)


def _tables(main: For, table: Buffer) -> int:
    """How many tables share the updates of a loop."""
    assert isinstance(main.extent, int)
    each = sum(map(_updates, main.body))
    updates, (size,) = main.extent * each, table.shape
    assert isinstance(size, int)
    most = updates // max(TASK_UPDATES, TABLE_SHARE * size)
    return min(most, MOST_TABLES, main.extent)


def _updates(s: Stmt) -> int:
    """Updates that a statement makes at most."""
    if isinstance(s, For):
        inner = sum(map(_updates, s.body))
        return inner * s.extent if isinstance(s.extent, int) else inner
    if isinstance(s, If):
        return max(sum(map(_updates, s.then)), sum(map(_updates, s.orelse)))
    return int(isinstance(s, Accumulate))
