"""Scheduling for targets without blocks: a logical Kernel becomes loops of kinds.

Takes a kernel of `lower` (or one that an op builds) and returns `Stage`s: scheduled kernels to be
launched in order, over the kernel's buffers and scratch buffers of the stages. Every buffer access
is made flat first, so that contiguity is a matter of factors:

* a nest of independent stores runs over its collapsed domain in vectors along the last loop, cut
  into tasks of `Target.task_bytes`;
* a row program runs along its rows in vectors where the row is contiguous (`AcrossLanes`), else
  with the rows of neighbouring kept positions side by side in a vector (`WithinLane`);
* a program over few long rows is cut into launches whose tasks share the rows (`RowStages`);
* anything else (loops with an order) stays as it is, but for minima and maxima (`bounds`).

The choice looks at shapes, types and `Target` facts only: never at how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from pyc.frozen import replace
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Var, apply, const, minimum
from pyc.ir.loops import (
    Body,
    Buffer,
    Cumulate,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Reduce,
    Space,
    Stmt,
    Store,
)
from pyc.ir.order import KEEP
from pyc.ir.target import Target
from pyc.ir.visit import Rewriter, renamed
from pyc.passes.ahead import next_asked_for, next_rows_asked_for
from pyc.passes.alternate import alternating
from pyc.passes.any_order import is_free, walk_of
from pyc.passes.bounds import plain_bounds
from pyc.passes.columns import ColumnProgram, held_columns, is_flat_program
from pyc.passes.cumulation_tasks import Cumulation
from pyc.passes.elements import Elements
from pyc.passes.groups import groups
from pyc.passes.joint_sums import joint_sums, pairs_only
from pyc.passes.lines import LINE_BYTES, may_have_lines, shared_line
from pyc.passes.merged_rows import LONGEST, LONGEST_SUM, merged_rows
from pyc.passes.nest import (
    Loop,
    Nest,
    Stage,
    around,
    can_split,
    has_regions,
    instructions,
    is_element_loop,
    is_in_place,
    is_loop_program,
    peel,
    reads_elsewhere,
    row_length,
    unwrap,
)
from pyc.passes.owned_tasks import owned_tasks
from pyc.passes.packed_columns import packed
from pyc.passes.reduction import TINY, AcrossLanes, WithinLane
from pyc.passes.row_stages import SPLIT, RowStages
from pyc.passes.rows import (
    absorbed,
    better_in_output,
    in_outputs,
    too_long,
    without_row_buffers,
)
from pyc.passes.segments import Segments, within
from pyc.passes.simpler_reductions import simpler
from pyc.passes.steps import in_steps
from pyc.passes.together import put_together
from pyc.passes.update_tasks import update_tasks

CHAINS = ((32, 4), (150, 4))
"""Instructions of an iteration up to which a processor has so many in flight."""
STRIDED = 5
"""Elements of rows that lie side by side in vectors of several of them."""
FEW_ROWS = 16
"""Long rows fewer than this are shared by tasks."""
FEW_SUMS = 64
"""The same where all regions but the last statements are reductions that a task may do alone."""
TASK_WORK = 200_000
"""Work of one task in instructions and quarter bytes: some 50 us on one core."""
LARGE_WORK = TASK_WORK
"""Work of a row program from which it is worth two or three times the code, which takes some
milliseconds more to compile."""
ONE_LOOP = 160
"""Instructions per element from which whole vectors and the rest are one masked loop: masks cost 0
to 5 % beside them (10 and more beside fewer), and half the code is half the time to compile it."""
AT_ONCE = ((32, 4), (64, 2))
"""Instructions of an element up to which one step of a loop does so many vectors. All of them are
loaded before the first is stored: a processor takes a load for one of what was just stored where
the last twelve bits of the addresses are equal, as they are for arrays of equal size made one after
the other, and each vector then waits for the one before (twice the time, measured). And what one
instruction stores reaches memory a quarter slower than what four do."""
STEPS = 8
"""Steps of a loop from which they are of several vectors."""
SHORT_ROW = 32
"""Elements of an inner loop below which outer loops are not collapsed into one."""
FEW_ELEMENTS = 64
"""Elements of a nest up to which only its inner loop is cut where comparisons change."""
SHORT_PIECE = 4
"""Vectors of a piece of a loop up to which it is done by the task beside it."""
TURNED_ROWS = 64
"""Rows of a block where what is read lies across what is stored: their pages fit the buffers that
translate addresses."""
SIDE_VECTORS = 8
"""Vectors of neighbouring kept positions that cheap rows are reduced in at once: each row then
reads some 512 contiguous bytes (measured: three times one vector's speed beyond the caches)."""
SWEPT_ROW = 16
"""Elements of a row from which neighbouring rows are swept over in wide tiles."""
SWEPT_COLUMNS = 16
"""Neighbouring rows that are worth it."""
SIDE_COST = 8
"""Instructions per element up to which that many vectors fit the registers."""


class _Scheduler:
    def __init__(self, kernel: Kernel, target: Target) -> None:
        self.nest = Nest(kernel, target)
        self.locals: list[Buffer] = []
        self.large = False
        self.segments = Segments(self.nest.simplify)
        self.lines = 0

    def run(self) -> tuple[Stage, ...]:
        loops, core = peel(self.nest.kernel.body)
        allocated, core = unwrap(core)
        if len(core) == 1 and isinstance(core[0], Cumulate):
            return self._cumulation(loops, core[0])
        if not is_loop_program(core):
            return self._updates(in_steps(self.nest.kernel.body))
        if any(x.extent == 0 for x in loops):
            return ()
        if has_regions(core):
            return self._row_program(loops, allocated, core)
        return (self.nest.stage("", self._independent(loops, core), streamed=True),)

    def _updates(self, body: Body) -> tuple[Stage, ...]:
        """Loops with an order: by tasks if they are updates, whose order may show or not."""
        kernel = replace(self.nest.kernel, body=body)
        found = update_tasks(self.nest, body)
        if found is None:
            kernel = owned_tasks(self.nest, body) or kernel
            return (Stage(kernel, tuple(range(len(kernel.buffers)))),)
        place = kernel.buffers.index(found.table)
        others = tuple(k for k in range(len(kernel.buffers)) if k != place)
        joined = _Scheduler(found.join, self.nest.target)
        stages = [Stage(found.tasks(joined.nest.kernel.buffers[1]), others)]
        for stage in joined.run():
            stages.append(replace(stage, positions=(place,) if 0 in stage.positions else ()))
        return tuple(stages)

    # --- running combinations ---

    def _cumulation(self, loops: list[Loop], s: Cumulate) -> tuple[Stage, ...]:
        if not s.extent:
            return ()
        assert isinstance(s.extent, int)
        work = self.nest.work((s,)) * prod(x.extent for x in loops) * s.extent
        parallel = work > 2 * TASK_WORK
        found = Cumulation(self.nest, loops, s, self._rows, self._vectors, parallel=parallel)
        return found.stages()

    # --- pointwise nests --------------------------------------------------------------------------

    def _elements(self, loops: list[Loop], core: Body) -> list[Stmt]:
        if not loops:
            return list(core)
        inner = loops[-1]
        same = [x.var for x in loops[:-1]]
        width = self.nest.width(core, same) * self._chains(core)
        total = prod(x.extent for x in loops)
        parallel = self.nest.work(core) * total > 2 * TASK_WORK
        if len(loops) == 1:
            return self._flat(inner, core, width, parallel)
        if self._turns(loops[-2], inner, core):
            return self._turned(loops, core, width, parallel)

        def row(core: Body, variables: list[Var]) -> list[Stmt]:
            body: list[Stmt] = []
            for piece, inside in self.segments.inner(inner, core):
                body += self._line(piece, inside, width, [*same, *variables])
            return body

        cut = loops[:-1] if total > FEW_ELEMENTS else []
        vectors = self.segments.outer(cut, core, row)
        if inner.extent < SHORT_ROW:
            return self._wrap(loops[:-1], vectors, parallel=parallel)
        return self._rows(loops[:-1], vectors, parallel)

    @staticmethod
    def _chains(core: Body) -> int:
        """Vectors of elements that run their loops side by side: each iteration waits for the one
        before, and several chains of few instructions are in flight at once."""
        if not any(is_element_loop(s) for s in core):
            return 1
        work = instructions(core)
        return next((n for most, n in CHAINS if work <= most), 1)

    def _line(self, loop: Loop, core: Body, width: int, same: list[Var]) -> list[Stmt]:
        """A loop along a line; in tiles, where what is needed at several positions is computed once
        for a tile."""
        # What compared positions is decided: the elements say how many lanes there are.
        width = max(width, self.nest.width(core, same))
        size = LINE_BYTES // max((b.dtype.itemsize for b, _ in self.nest.accesses(core)), default=8)
        if not may_have_lines(loop, core) or shared_line(self.nest, loop, core, "line") is None:
            return self._vectors(loop, loop.extent, core, width, same=same)
        if loop.extent <= size:
            return self._with_lines(loop, loop.extent, core, same)
        tiles = -(-loop.extent // size)
        tile = self.nest.simplify.variable("tile", tiles)
        place = Loop(self.nest.simplify.variable(loop.var.name, size), size)
        inside = Rewriter(
            variables={loop.var: tile * size + place.var},
            index=lambda _, at: tuple(map(self.nest.simplify, at)),
        ).body(core)
        limit: int | Expr = size
        if loop.extent % size:
            limit = minimum(const(size), const(loop.extent) - tile * size)
        body = self._with_lines(place, limit, inside, [*same, tile])
        return [For(tile, tiles, Kind.SERIAL, tuple(body))]

    def _with_lines(
        self, loop: Loop, extent: int | Expr, core: Body, same: list[Var]
    ) -> list[Stmt]:
        """`core` for the first `extent` positions of a loop, after the lines that it needs."""
        lines: list[Buffer] = []
        body: list[Stmt] = []
        while (line := shared_line(self.nest, loop, core, f"line{self.lines}")) is not None:
            self.lines += 1
            lines.append(line.buffer)
            body += self._with_lines(line.loop, extent + line.extra, line.fill, same)
            core = line.core
        body += self._vectors(loop, extent, core, self.nest.width(core, same), same=same)
        return around(lines, body)

    def _turns(self, outer: Loop, inner: Loop, core: Body) -> bool:
        """Whether what is stored along the inner loop is read along the outer one."""
        if min(outer.extent, inner.extent) < TURNED_ROWS or reads_elsewhere(core):
            return False
        if not all(isinstance(s, (Let, Store)) for s in core):
            return False
        reads = [a for b, a in self.nest.accesses(core) if b.space is Space.GLOBAL]
        factors = [(self.nest.factor(outer.var, a), self.nest.factor(inner.var, a)) for a in reads]
        across = any(o == 1 and i not in (0, 1, None) for o, i in factors)
        return across and any(i == 1 for _, i in factors)

    def _turned(self, loops: list[Loop], core: Body, width: int, parallel: bool) -> list[Stmt]:
        """Blocks of rows; in each of them vector after vector, which goes down all rows of the
        block: what it reads of a cache line is read while the line is there."""
        outer, inner = loops[-2:]
        row, block = Var("row"), Loop(Var("block"), -(-outer.extent // TURNED_ROWS))
        limit: int | Expr = TURNED_ROWS
        if outer.extent % TURNED_ROWS:
            limit = minimum(const(TURNED_ROWS), const(outer.extent) - block.var * TURNED_ROWS)
        down = renamed(core, {outer.var: block.var * TURNED_ROWS + row})
        core = (For(row, limit, Kind.SERIAL, down),)
        around = [*loops[:-2], block]
        if not parallel or prod(x.extent for x in around) >= FEW_ROWS:
            return self._rows(around, self._vectors(inner, inner.extent, core, width), parallel)
        size = -(-inner.extent // (FEW_ROWS * width)) * width
        piece = Loop(Var("piece"), -(-inner.extent // size))
        part: int | Expr = size
        if inner.extent % size:
            part = minimum(const(size), const(inner.extent) - piece.var * size)
        whole = inner.extent % width == 0
        body = self._vectors(inner, part, core, width, first=piece.var * size, whole=whole)
        return self._rows([*around, piece], body, parallel)

    def _flat(self, loop: Loop, core: Body, width: int, parallel: bool) -> list[Stmt]:
        """One loop: in tasks of whole vectors, or in one piece. Pieces in which comparisons are
        decided have tasks of their own, but for short ones."""
        if not parallel:
            return self._vectors(loop, loop.extent, core, width)
        task, tasks = Var("task"), 0
        parts: list[tuple[int, int, list[Stmt]]] = []
        for piece, inside in self.segments.inner(loop, core):
            wide = max(width, self.nest.width(inside))
            if piece.extent <= SHORT_PIECE * wide:
                alone = self._vectors(piece, piece.extent, inside, wide, const(0))
                parts.append((max(tasks - 1, 0), max(tasks, 1), alone))
                continue
            count, body = self._tasks(piece, inside, wide, task - tasks if tasks else task)
            parts.append((tasks, tasks + count, body))
            tasks += count
        if not tasks:
            return [s for _, _, body in parts for s in body]
        found: list[Stmt] = []
        for first, end, body in parts:
            here = within(task, first, end, tasks)
            found += body if here is None else [If(here, tuple(body))]
        return [For(task, tasks, Kind.PARALLEL, tuple(found))]

    def _tasks(self, loop: Loop, core: Body, width: int, task: Expr) -> tuple[int, list[Stmt]]:
        """How many tasks of whole vectors a loop is, and what each does."""
        size = max(int(TASK_WORK / self.nest.work(core)) // (4 * width), 1) * 4 * width
        limit: int | Expr = size
        if loop.extent % size:
            limit = minimum(const(size), const(loop.extent) - task * size)
        whole = loop.extent % width == 0
        body = self._vectors(loop, limit, core, width, first=task * size, whole=whole)
        return -(-loop.extent // size), body

    def _vectors(
        self,
        loop: Loop,
        extent: int | Expr,
        core: Body,
        width: int,
        first: Expr | None = None,
        whole: bool = False,
        same: Sequence[Var] = (),
        most: int = 0,
    ) -> list[Stmt]:
        """`core` for first <= var < first + extent: whole vectors, several in a step of the loop
        (`most`, if that is given), then a masked one (unless the extent is `whole` vectors); large
        bodies as one masked loop. same: variables of loops outside."""
        start = first if first is not None else const(0)
        if isinstance(extent, int) and first is None:
            pieces = self.segments.inner(loop, core)
            if len(pieces) > 1:
                body = []
                for piece, inside in pieces:
                    # What compared positions is decided: the elements say how many lanes there are.
                    wide = max(width, self.nest.width(inside, same))
                    body += self._vectors(piece, piece.extent, inside, wide, const(0))
                return body
        if isinstance(extent, int):
            if extent == 1:
                return list(renamed(core, {loop.var: start}))
            width = min(width, 1 << (extent - 1).bit_length())
        several = most or self._several(core, loop.extent // width)
        count: int | Expr
        rest: int | Expr
        if isinstance(extent, int):
            count, rest = divmod(extent, width * several)
        else:
            count = apply("quotient", extent, const(width * several))
            even = whole and loop.extent % (width * several) == 0
            rest = 0 if even else apply("remainder", extent, const(width * several))
        if rest != 0 and count != 0 and self.nest.instructions(core) > ONE_LOOP:
            return [self._masked(loop, extent, core, width, start)]
        body = self._whole_vectors(loop, count, core, width * several, start)
        if isinstance(rest, int) and rest == 0:
            return body
        start = start + count * (width * several)
        if several > 1:
            return body + self._left(loop, rest, core, width, start, whole)
        lane = Var("lane")
        inner = renamed(core, {loop.var: start + lane})
        vector = For(lane, width, Kind.VECTOR, (If(lane < rest, inner),))
        body.append(vector if isinstance(rest, int) else If(rest > 0, (vector,)))
        return body

    def _left(
        self, loop: Loop, rest: int | Expr, core: Body, width: int, start: Expr, whole: bool
    ) -> list[Stmt]:
        """What is left behind steps of several vectors: one vector after the other."""
        if isinstance(rest, int) and (rest < width or rest % width == 0):
            return self._vectors(loop, rest, core, width, start, most=1)
        if not whole:
            return [self._masked(loop, rest, core, width, start)]
        assert isinstance(rest, Expr), "a rest that is known is whole vectors, or has a masked one"
        return self._whole_vectors(loop, apply("quotient", rest, const(width)), core, width, start)

    def _several(self, core: Body, vectors: int) -> int:
        """Vectors that one step of a loop over some does."""
        if not all(isinstance(s, (Let, Store)) for s in core):
            return 1
        work = self.nest.instructions(core)
        found = next((n for most, n in AT_ONCE if work <= most), 1)
        return found if vectors >= STEPS * found else 1

    def _whole_vectors(
        self, loop: Loop, count: int | Expr, core: Body, width: int, start: Expr
    ) -> list[Stmt]:
        """`core` for `count` vectors of `width` lanes from `start` on."""

        def vector(first: Expr) -> Stmt:
            lane = Var("lane")
            body = next_asked_for(core, self.nest, loop, first, width)
            return For(lane, width, Kind.VECTOR, renamed(body, {loop.var: first + lane}))

        if isinstance(count, int) and count <= 1:
            return [vector(start)] * count
        v = Var("v")
        return [For(v, count, Kind.SERIAL, (vector(start + v * width),))]

    def _masked(self, loop: Loop, extent: int | Expr, core: Body, width: int, start: Expr) -> Stmt:
        """`core` in vectors of which the last one is not whole."""
        v, lane = Var("v"), Var("lane")
        core = next_asked_for(core, self.nest, loop, start + v * width, width)
        here = v * width + lane
        inside = If(here < extent, renamed(core, {loop.var: start + here}))
        if isinstance(extent, int):
            count: int | Expr = -(-extent // width)
        else:
            count = apply("quotient", extent + (width - 1), const(width))
        return For(v, count, Kind.SERIAL, (For(lane, width, Kind.VECTOR, (inside,)),))

    def _wrap(self, loops: Sequence[Loop], body: Sequence[Stmt], *, parallel: bool) -> list[Stmt]:
        """Loops around `body`, the outermost one parallel if there is work for tasks."""
        inner: Body = tuple(body)
        for depth, loop in reversed(list(enumerate(loops))):
            kind = Kind.PARALLEL if depth == 0 and parallel else Kind.SERIAL
            inner = (For(loop.var, loop.extent, kind, inner),)
        return list(inner)

    def _rows(self, loops: Sequence[Loop], body: Sequence[Stmt], parallel: bool) -> list[Stmt]:
        """Outer loops as one parallel loop over their product, so that tasks come out even."""
        if len(loops) <= 1 or not parallel:
            return self._wrap(loops, body, parallel=parallel)
        row = Var("row")
        binding: list[Stmt] = []
        rest: Expr = row
        for loop in reversed(loops[1:]):
            binding.append(Let(loop.var, apply("remainder", rest, const(loop.extent))))
            rest = apply("quotient", rest, const(loop.extent))
        binding.append(Let(loops[0].var, rest))
        total = prod(x.extent for x in loops)
        return [For(row, total, Kind.PARALLEL, (*binding, *body))]

    # --- row programs -----------------------------------------------------------------------------

    def _row_program(
        self, loops: list[Loop], allocated: list[Buffer], core: Body
    ) -> tuple[Stage, ...]:
        shared = [b.name for b in self.nest.kernel.buffers if b.may_alias]
        assert not shared, f"{shared}: rows are computed again where vectors overlap"
        long = [b for b in allocated if too_long(b)]
        if long:
            placed = without_row_buffers(core, long, self.nest)
            assert placed is not None, "a loop over the row fills each row buffer"
            core, allocated = placed, [b for b in allocated if b not in long]
        plain, flat = simpler(core), self.nest.collapse_rows(core)
        kept = prod(x.extent for x in loops)
        row = max((row_length(s) or 0 for s in flat if isinstance(s, Reduce)), default=1)
        along_row = self.nest.contiguous_rows(flat)
        side_by_side = loops and self.nest.contiguous(loops[-1].var, flat)
        if along_row:
            better = [b for b in allocated if better_in_output(b)]
            flat, left = in_outputs(flat, better, self.nest)
            allocated = [b for b in allocated if b not in better or b in left]
        core = simpler(flat)
        self.locals = list(allocated)
        work = self.nest.work(core) * kept * row
        parallel, self.large = work > 2 * TASK_WORK, work > LARGE_WORK
        if allocated and loops and (along_row or pairs_only(self.nest, loops[-1].var, core)):
            fills, lined = self._together(core, kept)
            body = self._jointly(lined)
            if body is not None:
                return (*fills, self._reading(fills, self._rows(loops, body, parallel)))
        if loops and along_row and self._is_short(loops[-1], core):
            return (self._merged(loops, core, parallel),)
        if side_by_side and (not along_row or row < 16) and loops[-1].extent > 1:
            return self._columns(loops, plain, core, row, parallel)
        found = simpler(flat, places=True)
        in_any_order = all(is_free(s) for s in found if isinstance(s, Reduce))
        few = kept < FEW_ROWS or (kept < FEW_SUMS and can_split(core))
        if row >= SPLIT and few and not allocated:
            tasks = partial(self._rows, parallel=True)
            shared_rows = found if in_any_order else core
            return RowStages(self.nest, loops, shared_rows, self._independent, tasks).stages()
        fills, core = self._together(found, kept)
        among = loops[-1].var if loops and any(isinstance(s, Reduce) for s in core) else None
        body = around(self.locals, self._along_rows(core, self.nest.row_width(core), among))
        if kept > 1 and parallel and kept < 8 and len(loops) == 1:
            return (self.nest.stage("", self._wrap(loops, body, parallel=True)),)
        return (*fills, self._reading(fills, self._rows(loops, body, parallel)))

    def _together(self, core: Body, rows: int) -> tuple[list[Stage], Body]:
        """The launches that put together what the regions of so many rows read with a stride, and
        the regions, which read it in their scratch buffers then."""
        found = put_together(self.nest, core, rows)
        if found is None:
            return [], core
        stages: list[Stage] = []
        lines: dict[Buffer, Buffer] = {}
        for position, fill in found.fills:
            part = _Scheduler(fill, self.nest.target)
            lines.update(zip(fill.buffers[1:], part.nest.kernel.buffers[1:], strict=True))
            stages += [replace(stage, positions=(position,)) for stage in part.run()]
        return stages, Rewriter(buffers=lambda b: lines.get(b, b)).body(found.core)

    def _reading(self, fills: list[Stage], body: list[Stmt]) -> Stage:
        """The launch that does `body` behind those that fill its scratch buffers."""
        scratch = [b for stage in fills for b in stage.kernel.buffers[len(stage.positions) :]]
        return self.nest.stage("", body, scratch)

    def _is_short(self, loop: Loop, core: Body) -> bool:
        """Whether rows are short enough for a vector of them at once, and enough for that."""
        lengths = [row_length(s) or 0 for s in core if isinstance(s, Reduce)]
        longest = LONGEST_SUM if self.large and can_split(core) else LONGEST
        short = bool(lengths) and all(STRIDED < n <= longest for n in lengths)
        short = short and (self.large or can_split(core))
        return short and loop.extent >= KEEP and not self.locals

    def _merged(self, loops: list[Loop], core: Body, parallel: bool) -> Stage:
        width = self.nest.width(core)
        groups, body = merged_rows(
            loops[-1],
            core,
            width,
            self._allocate,
            self.nest,
            lambda s: self._stored_row(s, width),
            lambda region, rows: self._stored_rows(region, rows, width),
            parallel=parallel,
        )
        whole = around(self.locals, body)
        return self.nest.stage("", self._rows([*loops[:-1], groups], whole, parallel))

    def _independent(self, loops: list[Loop], core: Body) -> list[Stmt]:
        """A nest of independent elements, its loops merged where memory walks them as one."""
        return self._elements(*self.nest.collapse(loops, core))

    def _allocate(self, name: str, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        buffer = Buffer(name, dtype, shape, Space.STACK, alignment=64)
        self.locals.append(buffer)
        return buffer

    def _jointly(self, core: Body) -> list[Stmt] | None:
        """The sums of a row in one walk, if they share what is costly."""
        found = joint_sums(core, self.locals, self.nest.simplify)
        if found is None or is_free(found.reduce):
            return None
        self.locals.clear()
        elements = Elements(found.reduce, found.before)
        width = self.nest.row_width((*found.before, found.reduce))
        monoid = found.reduce.monoid
        lanes = AcrossLanes(elements.types, monoid, self._allocate, width, looped=True)
        body = lanes.reduce(found.reduce.results, elements)
        return around(self.locals, [*body, *self._along_rows(found.after, width)])

    def _along_rows(self, core: Body, width: int, row: Var | None = None) -> list[Stmt]:
        """The regions of a row; `row` is its number, of a program that reduces many."""
        body: list[Stmt] = []
        for before, s in absorbed(core, self.nest.simplify, TINY + 1):
            if isinstance(s, Reduce) and is_free(s) and (row_length(s) or 0) > TINY:
                body += walk_of([(before, s)], self.nest, self._allocate).whole()
            elif isinstance(s, Reduce):
                found = Elements(s, before)
                lanes = AcrossLanes(found.types, s.monoid, self._allocate, width)
                body += lanes.reduce(s.results, found)
            elif isinstance(s, For):
                stored = self._stored_row(s, width)
                body += stored if row is None else next_rows_asked_for(stored, self.nest, row, 1)
            else:
                body.append(s)
        return body

    def _stored_row(self, region: For, width: int) -> list[Stmt]:
        """A loop over the row that stores, in vectors along the row."""
        loops, inner = peel((region,))
        vectors = self._vectors(loops[-1], loops[-1].extent, inner, width)
        return self._wrap(loops[:-1], vectors, parallel=False)

    def _stored_rows(
        self, region: Callable[[Expr], For], rows: int, width: int
    ) -> list[Stmt] | None:
        """Loops over neighbouring rows that store or check as one loop, if memory walks them so."""
        row = self.nest.simplify.variable("row", rows)
        loops, inner = peel((region(row),))
        loops, inner = self.nest.collapse([Loop(row, rows), *loops], inner)
        if len(loops) > 1:
            return None
        most = AT_ONCE[0][1]
        several = most if loops[0].extent % (most * width) == 0 else 1
        return self._vectors(loops[0], loops[0].extent, inner, width, most=several)

    def _within_lanes(self, core: Body) -> list[Stmt]:
        body: list[Stmt] = []
        for s in core:
            if isinstance(s, Reduce):
                found = Elements(s)
                within = WithinLane(found.types, s.monoid, self._allocate)
                body += within.reduce(s.results, found.value, found.n)
            elif isinstance(s, For):
                loops, inner = peel((s,))
                body += self._wrap(loops, inner, parallel=False)
            else:
                body.append(s)
        return body

    def _columns(
        self, loops: list[Loop], plain: Body, core: Body, row: int, parallel: bool
    ) -> tuple[Stage, ...]:
        """Neighbouring kept positions: wide tiles of them in sweeps over the rows, or, where rows
        are short or columns few, a vector of them at a time."""
        flat = self.large and not self.locals and is_flat_program(self.nest, loops, core)
        if row >= SWEPT_ROW and (loops[-1].extent >= SWEPT_COLUMNS or flat):
            inner = loops[-1]
            found = packed(plain, self.locals, self.nest, inner.var)
            if found is not None:
                copying, held = found
                if held_columns(held, inner.extent, loops[:-1], parallel) is not None:
                    rows = self.nest.collapse_rows(copying)
                    return ColumnProgram(self.nest, loops, rows, parallel, held).stages()
            placed = without_row_buffers(plain, self.locals, self.nest)
            if placed is not None:
                rows = self.nest.collapse_rows(placed)
                return ColumnProgram(self.nest, loops, rows, parallel).stages()
        return (self.nest.stage("", self._side_by_side(loops, core, parallel)),)

    def _side_by_side(self, loops: list[Loop], core: Body, parallel: bool) -> list[Stmt]:
        """Neighbouring kept positions in the lanes of a vector, each with its own row."""
        inner = loops[-1]
        vectors = SIDE_VECTORS if self.nest.instructions(core) <= SIDE_COST else 1
        width = self.nest.width(core) * vectors
        lane, body = Var("lane"), around(self.locals, self._within_lanes(core))
        width = min(width, 1 << (inner.extent.bit_length() - 1))
        several = groups(inner.extent, width, parallel=parallel, once=is_in_place(core))
        at = several.first + lane
        vector: Stmt = For(lane, width, Kind.VECTOR, (Let(inner.var, at), *body))
        if several.end is not None:
            (less,) = renamed((vector,))
            assert isinstance(less, For)
            cut = replace(less, body=(If(several.first + less.var < several.end, less.body),))
            vector = If(several.first + width <= several.end, (vector,), (cut,))
        return self._rows([*loops[:-1], several.loop], several.around([vector]), parallel)


def schedule(kernel: Kernel, target: Target) -> tuple[Stage, ...]:
    """The launches that do what a logical kernel says, on a target without blocks."""
    stages = alternating(_Scheduler(kernel, target).run())
    return tuple(replace(stage, kernel=plain_bounds(stage.kernel)) for stage in stages)
