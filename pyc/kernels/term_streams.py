"""Products of many terms that lie one behind the other in memory, `a.mT @ b`: a is one stream.

A group of rows reads a piece of each term, which no processor foresees. So all groups and panels of
a block ask for the next one in the order in which it lies in memory, each iteration for as much as
it takes itself.
"""

from __future__ import annotations

from pyc.frozen import frozen
from pyc.ir.expr import Expr
from pyc.ir.loops import Body, Buffer, Prefetch

LINE = 64
"""Bytes of a line of the caches."""
FAR = 1 << 20
"""Bytes of a from which it is asked for ahead: less stays in the second cache of a core."""
WIDE = 8
"""Bytes of an element of which a panel of columns takes less time than a block from memory, so that
tasks have"""
PANELS = 2
"""panels, each a block, where that leaves several tasks: memory is read half as often."""


@frozen()
class TermStream:
    """a: of shape (terms, rows); depth: terms of a block; groups: of `rows` rows; panels: of a
    task."""

    a: Buffer
    depth: int
    groups: int
    rows: int
    panels: int

    def next_piece(self, panel: Expr, group: Expr, start: Expr, k: Expr) -> Body:
        """Asks for a piece of the block behind the one from term `start` on, at the k-th term of a
        group of rows and a panel of columns."""
        each = -(-self.rows // self.panels)
        place = ((panel * self.groups + group) * self.depth + k) * each
        lines = range(0, each, LINE // self.a.dtype.itemsize)
        # Places go on behind the first of these terms: the others are next to it.
        return tuple(Prefetch(self.a, (start + self.depth, place + line)) for line in lines)


def panels_of_task(a: Buffer, panels: int) -> int:
    """How many of so many panels are one task."""
    return PANELS if a.dtype.itemsize >= WIDE and panels > PANELS and not panels % PANELS else 1


def is_far(a: Buffer) -> bool:
    """Whether a comes from memory."""
    terms, rows = a.shape
    assert isinstance(terms, int)
    assert isinstance(rows, int)
    return terms * rows * a.dtype.itemsize >= FAR
