"""Short rows of a CPU: the sums of a vector of neighbouring rows at once.

A row leaves one vector whose lanes are still to meet by halves (`AcrossLanes.vector`). Instead of
shuffling each by itself, two vectors become one in each step: its lower half continues the first
row, its upper half the second. After as many steps as the lanes have bits, lane k holds row k, and
the results are stored as one vector.

Takes reductions that do not depend on each other, and what stands behind them for each row; returns
the statements for all rows of the last loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.ir.expr import Expr, Load, Shuffle, Var, minimum, select
from pyc.ir.loops import Body, Buffer, For, Kind, Let, Reduce, Stmt
from pyc.ir.order import KEEP
from pyc.ir.visit import renamed
from pyc.passes.elements import Components, Elements, Found
from pyc.passes.nest import Loop
from pyc.passes.reduction import CHEAP, AcrossLanes, Allocate, stores

Combine = Callable[[Components, Components], Components]
LONGEST = 96
"""Elements of a row up to which the last steps are worth sharing."""
STRAIGHT = 2
"""Vectors of a cheap row that are written out for each row of a group."""


def merged_rows(loop: Loop, core: Body, width: int, allocate: Allocate) -> tuple[Loop, list[Stmt]]:
    """A loop over groups of rows, and its body. loop: over at least `width` rows; core: reductions
    of at most LONGEST elements, then statements of one row."""
    reduces = [s for s in core if isinstance(s, Reduce)]
    after = tuple(s for s in core if not isinstance(s, Reduce))
    size = min(width, KEEP)
    groups = -(-loop.extent // size)
    group = Var("group")
    first: Expr = group * size
    if loop.extent % size:
        first = minimum(first, loop.extent - size)
    body: list[Stmt] = []
    last: list[Stmt] = []
    lane = Var("l")
    for s in reduces:
        elements = Elements(s)
        across = AcrossLanes(elements.types, s.monoid, allocate, size)
        vectors: list[Components] = []
        if elements.n <= STRAIGHT * size and elements.work <= CHEAP * len(elements.types):
            for k in range(size):
                row, total = _row(across, elements, lane, {loop.var: first + k})
                last += row
                vectors.append(total)
        else:
            buffers = across.buffers("rows", size * size)
            body.append(_kept_rows(across, elements, buffers, loop, first))
            vectors = [tuple(Load(b, (lane + k * size,)) for b in buffers) for k in range(size)]
        merged = _merge(vectors, lane, across.monoid.combine)
        last += [Let(r, v) for r, v in zip(s.results, merged, strict=True)]
    last += renamed(after, {loop.var: first + lane})
    body.append(For(lane, size, Kind.VECTOR, tuple(last)))
    return Loop(group, groups), body


def _row(across: AcrossLanes, elements: Elements, lane: Expr, binding: dict[Var, Expr]) -> Found:
    """The vector of one row, in straight code."""
    place = Var("l")
    body, total = across.vector(elements, place)
    names = across.names("v")
    lets = [Let(n, v) for n, v in zip(names, total, strict=True)]
    found = renamed((*body, *lets), {**binding, place: lane})
    return list(found), tuple(s.var for s in found[-len(lets) :] if isinstance(s, Let))


def _kept_rows(
    across: AcrossLanes, elements: Elements, buffers: list[Buffer], loop: Loop, first: Expr
) -> Stmt:
    """A loop over the rows of a group that stores their vectors."""
    row, lane, place = Var("row"), Var("l"), Var(loop.var.name)
    body, total = across.vector(elements, lane)
    body += stores(buffers, row * across.width + lane, total)
    vector = For(lane, across.width, Kind.VECTOR, renamed(tuple(body), {loop.var: place}))
    return For(row, across.width, Kind.SERIAL, (Let(place, first + row), vector))


def _merge(
    vectors: Sequence[Components],
    lane: Var,
    combine: Callable[[Components, Components], Components],
) -> Components:
    """One vector whose lane k is the halves step over all lanes of vector k."""
    distance = len(vectors) // 2
    while distance:
        low = (lane & distance).equal(0)

        def pair(a: Components, b: Components, low: Expr = low, d: int = distance) -> Components:
            near = tuple(select(low, x, y) for x, y in zip(a, b, strict=True))
            far = tuple(
                select(low, Shuffle(x, lane, d), Shuffle(y, lane, d))
                for x, y in zip(a, b, strict=True)
            )
            return combine(near, far)

        vectors = [pair(vectors[k], vectors[k + distance]) for k in range(distance)]
        distance //= 2
    return vectors[0]
