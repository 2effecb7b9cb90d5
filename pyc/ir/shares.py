"""How the work of a reduction of any size is shared on a device with blocks.

Takes the sizes of a reduction that `sizes.lines` has brought into form, and says what a program for
them has fixed (how many chunks of the documented order one of its walks takes, whether walks share
a result) and what it is given with the sizes: in how many parts. It looks at sizes alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.frozen import frozen
from pyc.ir.order import CHUNK, KEEP

WALKS = 8
"""Warps of a block, each of which walks chunks of its own."""
MANY_ROWS = 1024
"""Rows from which a warp for each keeps a device busy, however long they are."""
SHORT_ROW = 8 * CHUNK
"""Elements of a row up to which a warp does all of it."""
MOST_PARTS = 512
"""Parts of one result."""
PARTS = 1 << 11
"""Parts of all rows together, where several share a row."""
COLUMN_PARTS = 1 << 14
"""Parts of all columns together; with so many columns a thread does all of one."""
REACHES = (0, 3, 6, 10, 15, 20, 25, 30)
"""Powers of two that a walk takes of chunks, where it takes all of a result."""


@frozen()
class Shares:
    """each: chunks of a walk, a power of two; parts: of a result, 0 where one walk takes all."""

    each: int
    parts: int

    @property
    def scratch(self) -> int:
        """Elements of the memory in which parts of rows meet."""
        return PARTS * KEEP

    @property
    def column_scratch(self) -> int:
        """Elements of the memory in which parts of columns meet."""
        return COLUMN_PARTS * KEEP


def shares(sizes: Sequence[int]) -> Shares:
    """For rows (outer, n) or columns (outer, n, inner), none of them 0."""
    chunks = -(-sizes[1] // CHUNK)
    if len(sizes) == 2:
        rows = sizes[0]
        if rows >= MANY_ROWS or sizes[1] <= SHORT_ROW:
            return Shares(_reach(chunks), 0)
        return _parts(chunks, min(MOST_PARTS, PARTS // rows), WALKS)
    columns = sizes[0] * sizes[2]
    if columns >= COLUMN_PARTS:
        return Shares(_reach(chunks), 0)
    return _parts(chunks, min(MOST_PARTS, COLUMN_PARTS // columns), 1)


def _reach(chunks: int) -> int:
    return next(1 << power for power in REACHES if chunks <= 1 << power)


def _parts(chunks: int, most: int, walks: int) -> Shares:
    """As many parts of `walks` walks as there may be, all full but the last."""
    each = 1
    while -(-chunks // (walks * each)) > most:
        each *= 2
    return Shares(each, -(-chunks // (walks * each)))
