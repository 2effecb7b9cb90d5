"""Nests of products whose tasks are a tile of rows and some panels of columns.

The last tile and the last panels may lie beyond the product.
"""

from __future__ import annotations

from pyc.frozen import frozen
from pyc.ir.expr import Expr, Var, const, minimum
from pyc.ir.loops import Body, For, If, Kind, Stmt
from pyc.ir.types import ArrayType
from pyc.kernels.operand import Dimensions
from pyc.kernels.tasks import TaskNest, free_extents


@frozen()
class At:
    """A task: its batch indices, first row and first column."""

    batch: tuple[Expr, ...]
    row: Expr
    column: Expr


def extents(types: tuple[ArrayType, ...], dimensions: Dimensions) -> tuple[int, int, int]:
    """Rows, columns and terms."""
    (m,), (n,) = (free_extents(types, dimensions, side) for side in range(2))
    return m, n, types[0].shape[dimensions[0][0][0]]


class PanelNest(TaskNest):
    """A nest of tasks of `tile` rows and `panels` panels of `width` columns."""

    m: int
    n: int
    tile: int
    panels: int
    width: int

    def each_panel(self, at: At, panel: Var, body: Body) -> Stmt:
        """`body` for each panel that has a column."""
        if self.n % (self.panels * self.width):
            body = (If(at.column + panel * self.width < self.n, body),)
        return For(panel, self.panels, Kind.SERIAL, body)

    def row_in_a(self, at: At, row: Expr) -> Expr:
        """The number of a row of a task in a; of the last one for those beyond."""
        return minimum(at.row + row, const(self.m - 1)) if self.m % self.tile else at.row + row
