"""Long rows, few of them: a row program as several launches whose tasks share the rows.

Takes the regions of a row program of a CPU and returns its launches. Reductions that do not depend
on each other are two, blocks of chunks by tasks and the join of their kept lanes (`ir/order.py`); a
loop over the row is one, by tasks too. What a row has to keep in between lies in scratch buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from pyc.frozen import replace
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Var, const, minimum, postorder
from pyc.ir.loops import Body, Buffer, For, If, Kind, Let, Reduce, Space, Stmt, Store, expressions
from pyc.ir.order import CHUNK, KEEP
from pyc.ir.visit import Rewriter, renamed
from pyc.passes.any_order import Region, is_free, is_known, is_settled_early, walk_of
from pyc.passes.elements import Components, Elements
from pyc.passes.nest import Loop, Nest, Stage, around, peel, row_length
from pyc.passes.reduction import AcrossLanes, Allocate, Counter, bind, loads, stores
from pyc.passes.rows import Section, absorbed, sections

BLOCK = 64
"""Chunks of one block: a power of two."""
SPLIT = 2 * BLOCK * CHUNK
"""Elements of a row from which it is cut into blocks, where rows are few."""

Nested = Callable[[list[Loop], Body], list[Stmt]]
"""Statements of independent elements in loops -> scheduled loops."""
Tasks = Callable[[Sequence[Loop], Sequence[Stmt]], list[Stmt]]
"""Statements in independent loops -> one parallel loop."""


class RowStages:
    """The launches of one row program; `loops` enclose `core`."""

    def __init__(
        self, nest: Nest, loops: Sequence[Loop], core: Body, nested: Nested, tasks: Tasks
    ) -> None:
        self.nest, self.loops = nest, list(loops)
        self.width = nest.row_width(core)
        self.kept = prod(x.extent for x in loops)
        self.sections = sections(absorbed(core, nest.simplify))
        self._nested, self._tasks = nested, tasks
        self._scratch: list[Buffer] = []
        self._binding: dict[Var, Expr] = {}
        self._found: list[Stage] = []

    def stages(self) -> tuple[Stage, ...]:
        """The launches."""
        waiting: list[Section] = []
        for s in self.sections:
            if waiting and not _may_join(waiting, s):
                self._reduce(waiting)
                waiting = []
            if isinstance(s.region, Reduce):
                waiting.append(s)
                continue
            if s.region is not None:
                loops, inner = peel((s.region,))
                self._add("rows", self._nested([*self.loops, *loops], self._bound(inner)))
            self._finish(s, [])
        if waiting:
            self._reduce(waiting)
        return tuple(self._found)

    def _add(self, name: str, body: Sequence[Stmt]) -> None:
        suffix = f"_{len(self._found)}_{name}"
        self._found.append(self.nest.stage(suffix, body, self._scratch))

    def _bound(self, body: Body) -> Body:
        """Statements with what earlier launches kept."""
        return Rewriter(variables=self._binding).body(body)

    @property
    def _position(self) -> Expr:
        """The number of a row."""
        position: Expr = const(0)
        for loop in self.loops:
            position = position * loop.extent + loop.var
        return position

    def _between(self, name: str, dtype: DType, size: int) -> Buffer:
        made = Buffer(f"{name}{len(self._scratch)}", dtype, (size,), role="inout", alignment=64)
        self._scratch.append(made)
        return made

    def _finish(self, s: Section, before: Sequence[Stmt], arrays: Sequence[Buffer] = ()) -> None:
        """The statements of one row behind a region, in a launch of their own."""
        after = list(self._bound(s.after))
        kept = {v: self._between(v.name, v.dtype, self.kept) for v in s.later}
        after += [Store(b, (self._position,), v) for v, b in kept.items()]
        if not before and not after:
            return
        body: Body = tuple(around(arrays, [*before, *after]))
        for loop in reversed(self.loops):
            body = (For(loop.var, loop.extent, Kind.SERIAL, body),)
        self._add("join", body)
        self._binding |= {v: Load(b, (self._position,)) for v, b in kept.items()}

    def _reduce(self, together: Sequence[Section]) -> None:
        """Independent reductions: their blocks, then their join and what stands behind them."""
        arrays: list[Buffer] = []

        def allocate(name: str, dtype: DType, shape: tuple[int, ...]) -> Buffer:
            arrays.append(Buffer(name, dtype, shape, Space.STACK, alignment=64))
            return arrays[-1]

        regions = [self._region(s) for s in together]
        if all(is_free(s) for _, s in regions):
            joins = self._in_any_order(regions, arrays, allocate)
        else:
            joins = self._in_order(regions, arrays, allocate)
        *front, last = together
        after = tuple(x for s in front for x in s.after)
        later = tuple(v for s in together for v in s.later)
        whole = Section((), None, (*after, *last.after), later)
        self._finish(whole, joins, arrays)

    def _region(self, s: Section) -> Region:
        """A reduction with what earlier launches kept."""
        (region,) = self._bound((s.region,)) if s.region is not None else ()
        assert isinstance(region, Reduce)
        return self._bound(s.before), region

    def _in_any_order(
        self, regions: Sequence[Region], arrays: list[Buffer], allocate: Allocate
    ) -> list[Stmt]:
        """A launch whose tasks take blocks of turns, each one value of each component; the join of
        these and of what is left of the row."""
        walk = walk_of(regions, self.nest, allocate)
        turns = walk.n // walk.turn
        size = BLOCK * CHUNK // walk.turn
        blocks = -(-turns // size)
        held = [
            [self._between("part", r.dtype, self.kept * blocks) for r in s.results]
            for _, s in regions
        ]

        def stored(number: Expr, made: Sequence[Region]) -> list[Stmt]:
            """The parts of a block."""
            place = self._position * blocks + number
            pairs = zip(made, held, strict=True)
            return [x for (_, s), part in pairs for x in stores(part, place, s.results)]

        alone = 1 if is_settled_early(regions) else 0
        if alone:
            # The first block by itself: where it settles the result, the others are not read.
            first_block = [_renamed(region) for region in regions]
            body = walk_of(first_block, self.nest, allocate).turns(const(0), min(size, turns))
            body += stored(const(0), first_block)
            self._add("start", self._tasks(self.loops, around(arrays, body)))
            arrays.clear()
        block = self.nest.simplify.variable("block", blocks - alone)
        number_: Expr = block + alone if alone else block
        count: int | Expr = size
        if turns % size:
            count = minimum(const(size), const(turns) - number_ * size)
        body = [*walk.turns(number_ * size, count), *stored(number_, regions)]
        if alone:
            ((_, s),), ((parts,),) = regions, held
            known = Var("known", s.results[0].dtype)
            skipped = Store(parts, (self._position * blocks + number_,), known)
            body = [
                Let(known, Load(parts, (self._position * blocks,))),
                If(is_known(s, known), (skipped,), tuple(body)),
            ]
        tasks = self._tasks([*self.loops, Loop(block, blocks - alone)], around(arrays, body))
        self._add("blocks", tasks)
        arrays.clear()
        rest = walk.n - turns * walk.turn
        joins: list[Stmt] = []
        again = [_renamed(region) for region in regions]
        if rest:
            joins += walk_of(again, self.nest, allocate).whole(turns * walk.turn)
        for (_, s), (_, left), part in zip(regions, again, held, strict=True):
            number = Var("k")
            start = self._position * blocks
            counter = Counter([r.dtype for r in s.results], s.monoid, allocate)
            first: Components = left.results if rest else counter.neutral
            following = partial(counter.monoid.combine, loads(part, start + number))
            loop, total = counter.loop(number, blocks, first, following)
            joins += [loop, *bind(s.results, total)]
        return joins

    def _in_order(
        self, regions: Sequence[Region], arrays: list[Buffer], allocate: Allocate
    ) -> list[Stmt]:
        """A launch whose tasks take blocks of chunks, each the kept lanes; their join."""
        elements = [Elements(region, before) for before, region in regions]
        chunks = -(-elements[0].n // CHUNK)
        blocks = -(-chunks // BLOCK)
        block = self.nest.simplify.variable("block", blocks)
        count: int | Expr = BLOCK
        if chunks % BLOCK:
            count = minimum(const(BLOCK), const(chunks) - block * BLOCK)
        parts: list[list[Stmt]] = []
        copies: list[Stmt] = []
        held: list[tuple[AcrossLanes, list[Buffer]]] = []
        for found in elements:
            across = AcrossLanes(found.types, found.reduce.monoid, allocate, self.width)
            lanes = across.buffers("lanes", KEEP)
            size = self.kept * blocks * KEEP
            part = [self._between("part", t, size) for t in found.types]
            held.append((across, part))
            parts.append(across.block(lanes, found, block * BLOCK, count))
            copies += across.copied(part, (self._position * blocks + block) * KEEP, lanes)
        body = around(arrays, [*_in_step(parts), *copies])
        self._add("blocks", self._tasks([*self.loops, Loop(block, blocks)], body))
        arrays.clear()
        joins: list[Stmt] = []
        for found, (across, part) in zip(elements, held, strict=True):
            start = self._position * (blocks * KEEP)
            total = across.buffers("total", KEEP)

            def vector(k: Expr, part: list[Buffer] = part, start: Expr = start) -> Components:
                return tuple(Load(b, (start + k,)) for b in part)

            joins += across.join(total, vector, blocks)
            joins += across.finish(found.reduce.results, total)
        return joins


def _renamed(region: Region) -> Region:
    """A reduction with other results."""
    before, s = region
    return before, replace(s, results=tuple(Var(r.name, r.dtype) for r in s.results))


def _in_step(parts: Sequence[list[Stmt]]) -> list[Stmt]:
    """Independent reductions of the same chunks, each a loop over them and what follows it, as one
    loop: a chunk that one has read is in a cache for the next."""
    loops = [part[0] for part in parts if isinstance(part[0], For)]
    first = loops[0]
    if len(loops) < len(parts) or any(x.extent != first.extent for x in loops):
        return [s for part in parts for s in part]
    inner = [s for x in loops for s in renamed(x.body, {x.var: first.var})]
    together = replace(first, body=tuple(inner))
    return [together, *(s for part in parts for s in part[1:])]


def _length(s: Section) -> int:
    return (row_length(s.region) if s.region is not None else None) or 0


def _may_join(waiting: Sequence[Section], s: Section) -> bool:
    """Whether a section reduces as much as others and needs nothing that they give."""
    if not isinstance(s.region, Reduce) or _length(s) != _length(waiting[0]):
        return False
    given = {v for w in waiting for v in w.later}
    roots = [e for x in (*s.before, s.region) for e in expressions(x)]
    return not any(isinstance(e, Var) and e in given for e in postorder(roots))
