"""Strides: arrays in C order seen in another way, and what of that a copy must walk.

    walked((3, 4), (1, 3), 0)               axes (3, 4) with steps (1, 3)
    walked((2, 3, 4), (12, 4, 1), 5)        one axis of 24, from element 5 on

All are counted in elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.frozen import frozen


@frozen()
class Walk:
    """How a copy in C order walks what it reads: the axes that are left where neighbours that lie
    behind each other are one, their steps, which are not negative, whether each is walked from its
    end, and the lowest element."""

    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    flipped: tuple[bool, ...]
    first: int


def walked(shape: Sequence[int], strides: Sequence[int], offset: int) -> Walk:
    """The walk of an array of a shape, none of whose extents is 0, with any strides."""
    axes: list[tuple[int, int]] = []
    for n, step in zip(shape, strides, strict=True):
        if n == 1:
            continue
        if axes and axes[-1][1] == n * step:
            axes[-1] = axes[-1][0] * n, step
        else:
            axes.append((n, step))
    first = offset + sum((n - 1) * step for n, step in axes if step < 0)
    return Walk(
        tuple(n for n, _ in axes),
        tuple(abs(step) for _, step in axes),
        tuple(step < 0 for _, step in axes),
        first,
    )
