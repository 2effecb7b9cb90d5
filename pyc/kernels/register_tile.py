"""How the rows and vectors of a product of matrices share the registers.

A group of rows has a sum for each of them and each vector of a panel of columns. More rows read a
vector of the panel less often, more vectors a number of the rows; the last group and the last panel
may have some that idle.
"""

from __future__ import annotations

MOST_VECTORS = 8
"""The most vectors of a panel, for the fewest rows."""
FAR_GROUPS = 2
"""Groups of rows up to which a panel need not stay in the first-level cache."""
LATENCY = 8
"""Accumulators that keep the units for fma busy: fewer take as long."""
LOAD = 1 / 8
"""What a load costs beside an fma."""
WORTH = 0.98
"""The part of its time to which other panels than the preferred ones must bring a product."""
ENOUGH = 1.01
"""Of groups of rows there are as few as take at most this many times the least time."""


def register_tile(
    m: int, vectors: int, preferred: int, near: int, budget: int, most: int, even: bool
) -> tuple[int, int, int]:
    """Groups of rows, rows of a group and vectors of a panel for `m` rows and so many vectors of
    columns. preferred: vectors of a panel; near: those of one that stays in the first-level cache,
    which many groups read; budget: registers for accumulators; most: rows; even: groups without
    idle rows are preferred to fewer ones."""

    def cut(width: int) -> tuple[float, int, int, int]:
        fewest = -(-m // min(budget // width, most))
        cuts = []
        for groups in range(fewest, 2 * fewest + 1):
            rows = -(-m // groups)
            step = max(rows * width + LOAD * (rows + width), LATENCY)
            cuts.append((groups * -(-vectors // width) * step, groups, rows, width))
        least = min(cuts)[0]
        enough = [c for c in cuts if c[0] <= least * ENOUGH]
        return next((c for c in enough if even and c[1] * c[2] == m), enough[0])

    plain = cut(preferred)
    others = [cut(width) for width in range(1, MOST_VECTORS + 1)]
    best = min(
        (c for c in others if c[3] <= max(near, preferred) or c[1] <= FAR_GROUPS),
        key=lambda c: c[0],
    )
    return (best if best[0] < WORTH * plain[0] else plain)[1:]
