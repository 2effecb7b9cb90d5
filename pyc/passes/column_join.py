"""What joins the parts of long columns: the second launch of a reduction that blocks share.

A part is a value for each block of chunks, kept lane and column, columns side by side. A block of
threads takes some columns: its threads have a column, a kept lane and a range of parts each, and
meet in shared memory, the parts first and then the kept lanes (`ir/order.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Var, apply, const
from pyc.ir.loops import (
    Alloc,
    Barrier,
    Body,
    Buffer,
    For,
    If,
    Kind,
    Let,
    Reduce,
    Space,
    Stmt,
    Store,
)
from pyc.ir.order import KEEP
from pyc.passes.reduction_blocks import AT_ONCE, Components, ThreadReduction, power_above

COLUMNS = 32
"""Columns of a block: a line of memory."""
FEWEST_COLUMNS = 8
BLOCKS = 128
"""Blocks that share the work, before each takes whole lines."""
THREADS = 1024


class ColumnJoin:
    """The loops that join `count` parts, blocks of a power of two chunks, of `kept` columns."""

    def __init__(self, kept: int, count: int) -> None:
        self.kept = kept
        self.count = count
        self.columns = COLUMNS
        while self.columns > FEWEST_COLUMNS and -(-kept // self.columns) < BLOCKS:
            self.columns //= 2
        most = THREADS // (KEEP * self.columns)
        self.groups = min(max(power_above(count) // AT_ONCE, 1), most)
        self.size = power_above(count) // self.groups

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.columns * KEEP * self.groups

    def body(
        self,
        place: Var,
        binding: Sequence[Stmt],
        reduces: Sequence[Reduce],
        scratch: Sequence[Sequence[Buffer]],
        after: Sequence[Stmt],
    ) -> list[Stmt]:
        """The kernel. place: numbers the columns; binding: binds the kept variables by it; scratch:
        the parts of each reduction; after: what follows, once for each column."""
        block, thread = Var("block"), Var("thread")
        beside = KEEP * self.columns
        number = block * self.columns + apply("remainder", thread, const(self.columns))
        lane = apply("remainder", apply("quotient", thread, const(self.columns)), const(KEEP))
        group = apply("quotient", thread, const(beside))
        inside: Expr | None = None
        body: list[Stmt] = []
        if self.kept % self.columns:
            column = Var("column")
            body.append(Let(column, number))
            inside = column < self.kept
            number = apply("minimum", column, const(self.kept - 1))
        body += [Let(place, number), *binding]
        self._shared: dict[tuple[str, int, int, DType], Buffer] = {}
        for meeting, (s, held) in enumerate(zip(reduces, scratch, strict=True)):
            reduction = ThreadReduction(tuple(r.dtype for r in s.results), s.monoid)

            def part(number: Expr, held: Sequence[Buffer] = held) -> Components:
                at = (number * KEEP + lane) * self.kept + place
                return tuple(Load(b, (at,)) for b in held)

            found, total = reduction.parts(part, group * self.size, self.size, self.count)
            body += found
            parts = self._piece("parts", meeting, reduction, self.threads)
            body += [Store(b, (thread,), x) for b, x in zip(parts, total, strict=True)]
            if self.groups > 1:
                body.append(Barrier("block"))
                joined, total = self._tree(reduction, parts, thread, self.groups, beside)
                lanes = self._piece("lanes", meeting, reduction, beside)
                stores = [Store(b, (thread,), x) for b, x in zip(lanes, total, strict=True)]
                body.append(If(thread < beside, (*joined, *stores)))
                parts = lanes
            body.append(Barrier("block"))
            at = apply("remainder", thread, const(self.columns))
            kept: list[Components] = []
            for k in range(KEEP):
                lets, names = reduction.bind(
                    tuple(Load(b, (at + k * self.columns,)) for b in parts), "kept"
                )
                body += lets
                kept.append(names)
            body += [Let(r, v) for r, v in zip(s.results, reduction.halves(kept), strict=True)]
        alone = thread < self.columns
        if inside is not None:
            alone = alone & inside
        body += [s if isinstance(s, Let) else If(alone, (s,)) for s in after]
        whole: Body = (For(thread, self.threads, Kind.THREAD, tuple(body)),)
        for b in self._shared.values():
            whole = (Alloc(b, whole),)
        return [For(block, -(-self.kept // self.columns), Kind.GRID, whole)]

    def _piece(
        self, name: str, meeting: int, reduction: ThreadReduction, size: int
    ) -> list[Buffer]:
        """Memory in which a reduction meets. Reductions take two pieces in turn: what one wrote is
        read before all meet at the next, and only after that the one after the next writes there.
        """
        found: list[Buffer] = []
        for k, t in enumerate(reduction.types):
            key = name, meeting % 2, k, t
            if key not in self._shared:
                label = f"{name}{len(self._shared)}"
                self._shared[key] = Buffer(label, t, (size,), Space.SHARED)
            found.append(self._shared[key])
        return found

    @staticmethod
    def _tree(
        reduction: ThreadReduction, parts: Sequence[Buffer], thread: Var, count: int, apart: int
    ) -> tuple[list[Stmt], Components]:
        """The pairwise tree over `count` values of one lane and column, so far apart."""
        body: list[Stmt] = []
        found: list[Components] = []
        for k in range(count):
            lets, names = reduction.bind(tuple(Load(b, (thread + k * apart,)) for b in parts), "p")
            body += lets
            found.append(names)
        return body, reduction.tree(found)
