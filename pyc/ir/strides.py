"""Strides: arrays in C order seen in another way, and what of that a copy must walk.

    walked((3, 4), (1, 3), 0)               axes (3, 4) with steps (1, 3)
    walked((2, 3, 4), (12, 4, 1), 5)        one axis of 24, from element 5 on
    merged((2, 3, 4), (12, 4, 1), (40, 4, 1))    axes (2, 12) with steps (12, 1) and (40, 1)

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


def merged(
    shape: Sequence[int], *strides: Sequence[int]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Walks through several arrays at once, of a shape none of whose extents is 0: the axes that
    are left where neighbours are one that lie behind each other in all, and the steps of each."""
    axes: list[tuple[int, ...]] = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if axes and all(a == n * b for a, b in zip(axes[-1][1:], steps, strict=True)):
            axes[-1] = (axes[-1][0] * n, *steps)
        else:
            axes.append((n, *steps))
    found = [tuple(axis[k] for axis in axes) for k in range(1 + len(strides))]
    return found[0], found[1:]


def walked(shape: Sequence[int], strides: Sequence[int], offset: int) -> Walk:
    """The walk of an array of a shape, none of whose extents is 0, with any strides."""
    sizes, (steps,) = merged(shape, strides)
    first = offset + sum((n - 1) * s for n, s in zip(sizes, steps, strict=True) if s < 0)
    return Walk(sizes, tuple(map(abs, steps)), tuple(s < 0 for s in steps), first)
