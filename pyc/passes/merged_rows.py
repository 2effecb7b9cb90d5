"""Short rows of a CPU: the sums of a vector of neighbouring rows at once.

A row leaves one vector whose lanes are still to meet by halves (`AcrossLanes.vector`). Instead of
shuffling each by itself, two vectors become one in each step: its lower half continues the first
row, its upper half the second. After as many steps as the lanes have bits, lane k holds row k, and
the results are stored as one vector.

Takes a row program without row buffers; returns the statements for all rows of the last loop. What
a row keeps from one region to the next (a mean, a scale) is computed for all rows of a group at
once, and lies in an array with an element per row.

Rows that are replaced where they lie are not done again: a last group that is not whole reads its
last row in the place of those that it lacks, and stores nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pyc.ir.expr import Expr, Load, Shuffle, Var, const, minimum, select
from pyc.ir.loops import Body, Buffer, For, If, Kind, Let, Reduce, Stmt, Store
from pyc.ir.order import KEEP, LANES
from pyc.ir.visit import renamed
from pyc.passes.ahead import next_rows_asked_for
from pyc.passes.elements import Components, Elements, Found
from pyc.passes.groups import Groups, groups
from pyc.passes.nest import Loop, Nest, can_split, is_in_place, row_length
from pyc.passes.reduction import CHEAP, AcrossLanes, Allocate, loads, stores
from pyc.passes.rows import Section, hoisted, sections

Combine = Callable[[Components, Components], Components]
Along = Callable[[For], list[Stmt]]
"""A loop over the row that stores -> vectors along the row."""
Through = Callable[[Callable[[Expr], For], int], "list[Stmt] | None"]
"""What makes the loop over a row by its number, and so many rows -> vectors through all of them, if
memory walks them as one."""
LONGEST = 128
"""Elements of a row up to which the last steps are worth sharing."""
LONGEST_SUM = 512
"""The same of programs that only reduce, and are large enough to pay for the code."""
STRAIGHT = 2
"""Vectors of a cheap row that are written out for each row of a group."""
TOGETHER = 4
"""Rows of a longer cheap row's group that meet before any vector is stored."""
_BIT_SWAPS = {16: ((3, 1), (2, 0)), 8: ((2, 0), (1, 0))}
"""Bits of lane numbers to swap, by lanes: from lane k * steps + s to s * TOGETHER + k."""
AT_ONCE = 4
"""Rows of a group that are stored in one step of a loop."""
GROUP_BYTES = 1 << 13
"""Bytes of a group's rows up to which it is of several vectors: each region waits for the last
instructions of the one before, and a longer one hides more of that."""
MANY_GROUPS = 16
"""Groups of so many vectors at least."""


def merged_rows(
    loop: Loop,
    core: Body,
    width: int,
    allocate: Allocate,
    nest: Nest,
    along: Along,
    through: Through,
    *,
    parallel: bool,
) -> tuple[Loop, list[Stmt]]:
    """A loop over groups of rows, and its body. loop: over at least `width` rows; core: a row
    program whose reductions have at most LONGEST (LONGEST_SUM) elements; parallel: the groups are
    tasks."""
    size = min(width, KEEP)
    if can_split(core) and all(Elements(s).n < size for s in core if isinstance(s, Reduce)):
        size //= 2  # half of the lanes and more would be idle
    vectors = 1 if can_split(core) else _vectors(loop, core, size)
    found = groups(loop.extent, size * vectors, parallel=parallel, once=is_in_place(core))
    made = _Group(loop, found, size, vectors, allocate, nest, along, through)
    if can_split(core):
        reduces = [s for s in core if isinstance(s, Reduce)]
        made.reduce(reduces, tuple(s for s in core if not isinstance(s, Reduce)), ())
    else:
        for s in sections([((), x) for x in hoisted(core)]):
            made.section(s)
    return found.loop, found.around(made.body)


def _vectors(loop: Loop, core: Body, size: int) -> int:
    """Vectors of rows of a group whose regions follow each other."""
    row = max(row_length(s) or 0 for s in core)
    widest = max(r.dtype.itemsize for s in core if isinstance(s, Reduce) for r in s.results)
    found = 1
    while (
        2 * found * size * row * widest <= GROUP_BYTES
        and 2 * found * size * MANY_GROUPS <= loop.extent
    ):
        found *= 2
    return found


class _Group:
    """The statements of the neighbouring rows of a group: `vectors` times `size` of them."""

    def __init__(
        self,
        loop: Loop,
        group: Groups,
        size: int,
        vectors: int,
        allocate: Allocate,
        nest: Nest,
        along: Along,
        through: Through,
    ) -> None:
        self.loop, self.first, self.end, self.size = loop, group.first, group.end, size
        self.rows = size * vectors
        self.base: Expr | None = None
        """The first row, in the group, of the vector that is reduced, if there are several."""
        self._allocate, self._nest = allocate, nest
        self._along, self._through = along, through
        self._kept: dict[Var, Buffer] = {}
        self.body: list[Stmt] = []

    def _in_group(self, row: Expr | int) -> Expr:
        """The number, in the group, of a row of the vector that is reduced."""
        if self.base is not None:
            return self.base + row
        return row if isinstance(row, Expr) else const(row)

    def _binding(self, row: Expr | int) -> dict[Var, Expr]:
        """What variables stand for in a row of a vector, the last one in place of those beyond."""
        here = self._in_group(row)
        if self.end is not None:
            here = minimum(here, const(self.end - 1) - self.first)
        return self._at(here)

    def _at(self, row: Expr) -> dict[Var, Expr]:
        """What variables stand for in a row that the group has."""
        kept = {v: Load(b, (row,)) for v, b in self._kept.items()}
        return {self.loop.var: self.first + row, **kept}

    def _inside(self, row: Expr, body: Sequence[Stmt]) -> Body:
        """Statements that stores are among, for a row that the group may lack."""
        if self.end is None:
            return tuple(body)
        return (If(self.first + row < self.end, tuple(body)),)

    def section(self, s: Section) -> None:
        """A region with what stands behind it."""
        if isinstance(s.region, For):
            self._stored(s.region)
        reduces = [s.region] if isinstance(s.region, Reduce) else []
        if reduces or s.after:
            self.reduce(reduces, s.after, s.later)

    def reduce(self, reduces: Sequence[Reduce], after: Body, later: Sequence[Var]) -> None:
        """Reductions of all rows, then statements whose lanes are the rows; `later` is kept."""
        made = {v: self._allocate(v.name, v.dtype, (self.rows,)) for v in later}
        if self.rows == self.size:
            self._reduce(reduces, after, made)
        else:
            before, self.body = self.body, []
            vector = Var("vector")
            self.base = vector * self.size
            self._reduce(reduces, after, made)
            count = self.rows // self.size
            self.body = [*before, For(vector, count, Kind.SERIAL, tuple(self.body))]
            self.base = None
        self._kept |= made

    def _reduce(self, reduces: Sequence[Reduce], after: Body, made: Mapping[Var, Buffer]) -> None:
        """Those of one vector of rows."""
        last: list[Stmt] = []
        lane = Var("l")
        for s in reduces:
            elements = Elements(s)
            across = AcrossLanes(elements.types, s.monoid, self._allocate, self.size)
            cheap = elements.work <= CHEAP * len(elements.types)
            size = self.size
            vectors_work = -(-elements.n // size) * elements.work
            straight = vectors_work <= STRAIGHT * CHEAP * len(elements.types)
            if elements.n <= STRAIGHT * size and (cheap or straight):
                body, vectors = self._rows(across, elements, lane, range(size))
                last += body
                merged = _merge(vectors, lane, size // 2, across.monoid.combine)
            elif cheap and size >= 2 * TOGETHER and elements.n <= LANES:
                merged = self._merged_loop(across, elements, lane)
            else:
                buffers = across.buffers("rows", size * size)
                self.body.append(self._kept_rows(across, elements, buffers))
                vectors = [loads(buffers, lane + k * size) for k in range(size)]
                merged = _merge(vectors, lane, size // 2, across.monoid.combine)
            last += [Let(r, v) for r, v in zip(s.results, merged, strict=True)]
        here = self._in_group(lane)
        keeping = [Store(b, (here,), v) for v, b in made.items()]
        last += self._inside(here, renamed((*after, *keeping), self._at(here)))
        self.body.append(For(lane, self.size, Kind.VECTOR, tuple(last)))

    def _rows(
        self, across: AcrossLanes, elements: Elements, lane: Var, rows: Sequence[Expr | int]
    ) -> tuple[list[Stmt], list[Components]]:
        """The vectors of some rows of the group, in straight code."""
        body: list[Stmt] = []
        vectors: list[Components] = []
        for row in rows:
            found, total = _row(across, elements, lane, self._binding(row))
            body += found
            vectors.append(total)
        return body, vectors

    def _merged_loop(self, across: AcrossLanes, elements: Elements, lane: Var) -> Components:
        """The merged vectors of all rows. TOGETHER of them are read in each step of a loop, one
        behind the other since memory comes fastest as one stream, and meet there: so lane
        k * steps + s holds row s * TOGETHER + k, and lanes move to their rows at the end."""
        size, combine = self.size, across.monoid.combine
        steps = size // TOGETHER
        buffers = across.buffers("merged", steps * size)
        step, place = Var("step"), Var("l")
        rows = [step * TOGETHER + k for k in range(TOGETHER)]
        body, vectors = self._rows(across, elements, place, rows)
        body += stores(buffers, step * size + place, _merge(vectors, place, size // 2, combine))
        inner = For(place, size, Kind.VECTOR, tuple(body))
        self.body.append(For(step, steps, Kind.SERIAL, (inner,)))
        kept = [loads(buffers, lane + k * size) for k in range(steps)]
        merged = _merge(kept, lane, steps // 2, combine)
        for one, other in _BIT_SWAPS[size]:
            merged = _swapped(merged, lane, one, other)
        return merged

    def _kept_rows(self, across: AcrossLanes, elements: Elements, buffers: list[Buffer]) -> Stmt:
        """A loop over the rows of a group that stores their vectors."""
        row, lane = Var("row"), Var("l")
        body, total = across.vector(elements, lane)
        body += stores(buffers, row * across.width + lane, total)
        vector = For(lane, across.width, Kind.VECTOR, tuple(body))
        return For(row, across.width, Kind.SERIAL, self._in_row((vector,), row))

    def _in_row(self, body: Body, row: Expr) -> Body:
        """Statements of one row of the group."""
        place = Var(self.loop.var.name)
        binding = self._binding(row)
        here = Let(place, binding[self.loop.var])
        return (here, *renamed(body, {**binding, self.loop.var: place}))

    def _of_row(self, region: For, row: Expr) -> For:
        """A loop over the row for one row of the group."""
        (made,) = renamed((region,), self._at(row))
        assert isinstance(made, For)
        return made

    def _stored(self, region: For) -> None:
        """A loop over the row that stores, for each row of the group, or through all of them."""
        if self.end is None and (body := self._through(partial(self._of_row, region), self.rows)):
            self.body += body
            return
        row, some = Var("row"), Var("some")
        at_once = min(AT_ONCE, self.size)
        here = some * at_once + row
        vectors = next_rows_asked_for(self._along(region), self._nest, self.loop.var, self.rows)
        inside = self._in_row(vectors, here)
        rows = For(row, at_once, Kind.UNROLL, self._inside(here, inside))
        self.body.append(For(some, self.rows // at_once, Kind.SERIAL, (rows,)))


def _row(across: AcrossLanes, elements: Elements, lane: Expr, binding: Mapping[Var, Expr]) -> Found:
    """The vector of one row, in straight code."""
    place = Var("l")
    body, total = across.vector(elements, place)
    names = across.names("v")
    lets = [Let(n, v) for n, v in zip(names, total, strict=True)]
    found = renamed((*body, *lets), {**binding, place: lane})
    return list(found), tuple(s.var for s in found[-len(lets) :] if isinstance(s, Let))


def _merge(vectors: list[Components], lane: Var, distance: int, combine: Combine) -> Components:
    """One vector of `vectors`, whose rows are lanes: the halves step over lanes that are `distance`
    apart, then half as far, joins the first vector with the one half the vectors behind it."""
    while len(vectors) > 1:
        half = len(vectors) // 2
        low = (lane & distance).equal(0)

        def pair(a: Components, b: Components, low: Expr = low, d: int = distance) -> Components:
            near = tuple(select(low, x, y) for x, y in zip(a, b, strict=True))
            far = tuple(
                select(low, Shuffle(x, lane, d), Shuffle(y, lane, d))
                for x, y in zip(a, b, strict=True)
            )
            return combine(near, far)

        vectors = [pair(vectors[k], vectors[k + half]) for k in range(half)]
        distance //= 2
    return vectors[0]


def _swapped(values: Components, lane: Var, one: int, other: int) -> Components:
    """A vector whose lanes are numbered with two bits in each other's place."""
    stay = (((lane >> one) ^ (lane >> other)) & 1).equal(0)
    distance = (1 << one) | (1 << other)
    return tuple(select(stay, x, Shuffle(x, lane, distance)) for x in values)
