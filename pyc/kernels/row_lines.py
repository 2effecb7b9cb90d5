"""Rows of a matrix as a product reads them: a line of each row of a group, one behind the other.

    for each block of terms, group of rows:
      for each run of as many terms as a line has: a line of the first row, of the second, ...

Where rows lie apart, each group finds its rows on pages of their own and, powers of two apart, in a
few sets of the caches. Many panels read a copy that lies as it is read, which the processor
foresees; whole lines are copied, so that costs what memory gives.
"""

from __future__ import annotations

from pyc.frozen import frozen
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Var, const, minimum
from pyc.ir.loops import Body, Buffer, For, Kernel, Kind, Store


@frozen()
class RowLines:
    """m rows of k terms. groups: of so many rows, the last of which may be copies of the last row;
    depth: terms of a block; line: elements of a line. k is a multiple of both."""

    dtype: DType
    m: int
    k: int
    groups: int
    rows: int
    depth: int
    line: int

    @property
    def buffer(self) -> Buffer:
        """What a product reads."""
        size = self.groups * self.rows * self.k
        return Buffer("lines", self.dtype, (size,), role="in", alignment=64)

    def places(self, row: Expr, start: Expr, first: Expr, within: Expr) -> list[Expr]:
        """Where each row of the group that begins with `row` has, of the block that begins with
        term `start` and of its run `first` terms behind, the term `within`."""
        place = self.run(row, start, first) + within
        return [place + r * self.line for r in range(self.rows)]

    def run(self, row: Expr, start: Expr, first: Expr) -> Expr:
        """Where that run begins: a line of each row of the group."""
        block = start * (self.groups * self.rows) + row * self.depth
        return block + first * self.rows

    def copy(self, source: Buffer) -> Kernel:
        """The logical kernel over (the matrix, the lines)."""
        blocks, runs = self.k // self.depth, self.depth // self.line
        shape = (blocks, self.groups, runs, self.rows, self.line)
        made = Buffer("lines", self.dtype, shape, role="out", alignment=64)
        place = tuple(Var(name) for name in ("block", "group", "run", "row", "lane"))
        block, group, run, row, lane = place
        number: Expr = group * self.rows + row
        if self.m < self.groups * self.rows:
            number = minimum(number, const(self.m - 1))
        term = block * self.depth + run * self.line + lane
        body: Body = (Store(made, place, Load(source, (number, term)).cast(self.dtype)),)
        for k in (4, 2, 0, 3, 1):  # along each row of a group in turn
            body = (For(place[k], shape[k], Kind.PARALLEL, body),)
        return Kernel("row_lines", (source, made), body)
