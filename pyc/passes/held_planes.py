"""What a block holds of the rows of a program from one region to the next.

Takes the regions of a row program over one canonical position; returns planes, each with room for
one element of the row: inputs that several regions read, and what `lower` keeps in row buffers. A
row buffer takes the plane of what is not read after it is filled.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.frozen import frozen
from pyc.ir.expr import Load, Var, postorder
from pyc.ir.loops import Buffer, Stmt, Store
from pyc.passes.index import Simplifier
from pyc.passes.row_regions import Region, known_ahead

Key = tuple[int, int]
"""A buffer and an address of it, each by identity."""


@frozen()
class HeldPlanes:
    """planes: a buffer of the type of each; held: which plane has what a key says; filled: inputs
    to be loaded before the first region, with their planes."""

    planes: tuple[Buffer, ...]
    held: dict[Key, int]
    filled: tuple[tuple[Load, int], ...]

    @property
    def nbytes(self) -> int:
        """Bytes of an element in all planes."""
        return sum(b.dtype.itemsize for b in self.planes)


def held_planes(
    parts: Sequence[Stmt | Region],
    row_buffers: Sequence[Buffer],
    position: Var,
    simplify: Simplifier,
) -> HeldPlanes | None:
    """The planes of the parts of a row program; None where a row buffer is used at other places
    than the position, or nothing is to be held."""
    at = id(simplify(position))
    ahead = known_ahead(parts, position)
    regions = [p for p in parts if isinstance(p, Region)]
    used: dict[Key, list[int]] = {}
    loads: dict[Key, Load] = {}
    filled: dict[Key, int] = {}
    for number, region in enumerate(regions):
        for n in region.loads():
            if len(n.index) == 1 and any(x is position for x in postorder(n.index)):
                key = id(n.buffer), id(n.index[0])
                loads[key] = n
                if number not in used.setdefault(key, []):
                    used[key].append(number)
        for s in region.body:
            if isinstance(s, Store) and s.buffer in row_buffers:
                if id(s.index[0]) != at or len(region.body) > 1:
                    return None
                filled[id(s.buffer), at] = number
    rows = {id(b): b for b in row_buffers}
    if any(key[0] in rows and key not in filled for key in used):
        return None
    planes: list[Buffer] = []
    ends: list[int] = []
    held: dict[Key, int] = {}
    inputs: list[tuple[Load, int]] = []
    for key, n in loads.items():
        if key[0] not in rows and len(used[key]) > 1 and ahead(n):
            held[key] = len(planes)
            inputs.append((n, len(planes)))
            planes.append(n.buffer)
            ends.append(max(used[key]))
    for key, number in filled.items():
        buffer = rows[key[0]]
        last = max([*used.get(key, []), number])
        kinds = enumerate(zip(ends, planes, strict=True))
        free = [k for k, (end, b) in kinds if end <= number and b.dtype is buffer.dtype]
        if free:
            held[key] = free[0]
            ends[free[0]] = last
        else:
            held[key] = len(planes)
            planes.append(buffer)
            ends.append(last)
    return HeldPlanes(tuple(planes), held, tuple(inputs)) if planes else None


def meeting_bytes(regions: Sequence[Region]) -> int:
    """Bytes of one element of everything in which reductions meet: two pieces in turn for each
    component and type."""
    kinds = {(k, r.dtype) for region in regions for k, r in enumerate(region.results)}
    return 2 * sum(t.itemsize for _, t in kinds)
