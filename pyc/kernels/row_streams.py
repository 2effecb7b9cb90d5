"""Groups of short rows of a matrix, read side by side: they are one stream of memory.

Several rows within a page or two are asked for in an order that no processor foresees. So each step
of a walk along a group asks for its part of a later group, in the order in which that lies in
memory.
"""

from __future__ import annotations

from pyc.ir.expr import Expr
from pyc.ir.loops import Body, Buffer, Prefetch

LINE = 64
"""Bytes of a line of the caches."""
FAR = 1 << 22
"""Bytes of a matrix from which its rows are asked for: less stays in the caches."""
SHORT = 1 << 12
"""Bytes of a row up to which they are: longer ones are streams of their own."""
AHEAD = 1 << 15
"""Bytes between what is asked for and what is read, about."""


def is_row_stream(matrix: Buffer) -> bool:
    """Whether the rows of a matrix, one behind the other in memory, are short and come from there.
    They do in all of the buffer: it has no axes of batches, and no windows in it."""
    if len(matrix.shape) != 2:
        return False
    m, k = matrix.shape
    assert isinstance(m, int)
    assert isinstance(k, int)
    row = k * matrix.dtype.itemsize
    return row <= SHORT and m * row >= FAR


def later_rows(matrix: Buffer, first: Expr, rows: int, step: Expr, steps: int) -> Body:
    """What one of `steps` that a group of rows takes, from row `first` on, asks for."""
    _, k = matrix.shape
    assert isinstance(k, int)
    line = LINE // matrix.dtype.itemsize
    each = -(-rows * k // (line * steps))
    later = first + max(AHEAD // (rows * k * matrix.dtype.itemsize), 1) * rows
    # Places go on behind the first of these rows: the others are next to it.
    return tuple(Prefetch(matrix, (later, (step * each + j) * line)) for j in range(each))
