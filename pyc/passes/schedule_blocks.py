"""Scheduling for targets with blocks: a logical Kernel becomes grid, warp and thread loops.

Takes a kernel of `lower` (or one that an op builds) and returns `Stage`s like `schedule`:

* a nest of independent stores: a one-shot grid, a vector or some per thread (`element_blocks`);
* a row program whose rows are contiguous (`row_blocks`): a warp per chunk of the documented order,
  the row in registers;
* reductions over other axes: a thread per kept position, and where these are few, the 16 kept
  lanes and blocks of chunks in threads of their own, joined by a second stage; a program of several
  reductions over such rows is several launches;
* anything else: parallel loops become threads, everything inside runs in order in its thread;
* what a launch cannot hold, or would run in a few threads for long, stays logical, for the host
  (`placement`).

The choice looks at shapes, types and `Target` facts only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from pyc.frozen import frozen, replace
from pyc.ir.expr import Expr, Load, Var, apply, const, postorder
from pyc.ir.loops import (
    Alloc,
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
    bodies,
    expressions,
    spine,
    walk,
)
from pyc.ir.order import CHUNK, KEEP
from pyc.ir.target import Target
from pyc.ir.visit import renamed
from pyc.passes.column_join import ColumnJoin
from pyc.passes.column_last import ColumnLast
from pyc.passes.cumulation_blocks import CumulationBlocks
from pyc.passes.element_blocks import element_nest
from pyc.passes.elements import Elements
from pyc.passes.nest import (
    Loop,
    Nest,
    Stage,
    around,
    can_split,
    has_regions,
    is_loop_program,
    peel,
    row_length,
    unwrap,
)
from pyc.passes.placement import exceeded, in_order
from pyc.passes.reduction_blocks import ThreadReduction, power_above
from pyc.passes.region_blocks import Regions, regions_of
from pyc.passes.row_blocks import Left, RowBlocks, known_results
from pyc.passes.row_clusters import RowClusters
from pyc.passes.rows import computed_again, too_long
from pyc.passes.slab_blocks import SlabBlocks
from pyc.passes.tile_blocks import tiled, transposed_loads
from pyc.reasons import ON_HOST, Reason

THREADS = 256
"""Threads of a block of independent work."""
ENOUGH = 1 << 18
"""Threads that keep the largest device busy: below, a reduction is cut further."""
COLUMNS = 1 << 16
"""Columns from which a thread each keeps the device busy, whatever it does with its column."""
COLUMN_ROW = 128
"""Elements of a column up to which its thread does all of it, however few columns there are."""
SHORT_ROW = 32
"""Longest row that one thread reduces where rows are contiguous."""


@frozen()
class _Part:
    """Statements of a kernel that are launched apart from the others, and what names them."""

    suffix: str
    body: Body


class _BlockScheduler:
    """Grid, warp and thread loops for one kernel."""

    def __init__(self, kernel: Kernel, target: Target) -> None:
        self.nest = Nest(kernel, target)

    def stages(self) -> tuple[Stage, ...]:
        """The launches."""
        body = self.nest.kernel.body
        parts = [_Part("", body)]
        if len(body) > 1 and all(isinstance(s, For) for s in body):
            parts = [_Part(f"_{k}", (s,)) for k, s in enumerate(body)]
        return tuple(stage for part in parts for stage in self._within_limits(part))

    def _within_limits(self, part: _Part) -> tuple[Stage, ...]:
        """The launches of a part, or one step of the host if the device could not launch them."""
        stages = self._program(part)
        limits = [exceeded(s.kernel, self.nest.target) for s in stages if not s.host]
        limit = next(filter(None, limits), "")
        return (self._on_host(part, Reason.FALLBACK_HOST, limit),) if limit else stages

    def _program(self, part: _Part) -> tuple[Stage, ...]:
        loops, core = peel(part.body)
        if any(x.extent == 0 for x in loops):
            return ()
        allocated, core = unwrap(core)
        if is_loop_program(core) and has_regions(core) and not _reads_what_it_stores(core):
            held = self._rows_held(loops, allocated, self.nest.collapse_rows(core), part)
            if held is not None:
                return (held,)
        for buffer in filter(too_long, allocated):
            again = computed_again(core, buffer, self.nest.simplify)
            assert again is not None, "a loop over the row fills each row buffer"
            core = again
        allocated = [b for b in allocated if not too_long(b)]
        if len(core) == 1 and isinstance(core[0], Cumulate):
            return self._cumulation(loops, core[0], part)
        if not is_loop_program(core) or _reads_what_it_stores(core):
            return (self._in_threads(loops, allocated, core, part),)
        if has_regions(core):
            return self._rows_in_blocks(loops, allocated, core, part)
        loops, core = self.nest.collapse(loops, core)

        def nest() -> Stage:
            return self.nest.stage(part.suffix, self._grid_nest(loops, core))

        return (self._explained(loops, core, part, nest),)

    def _cumulation(self, loops: list[Loop], s: Cumulate, part: _Part) -> tuple[Stage, ...]:
        found = CumulationBlocks(self.nest, loops, s, part.suffix, self._grid, self._positions)
        return found.stages()

    # --- the host ---------------------------------------------------------------------------------

    def _explained(
        self, loops: Sequence[Loop], core: Body, part: _Part, make: Callable[[], Stage]
    ) -> Stage:
        """What `make` gives, a thread per iteration of `loops` that runs `core`, and what is to be
        said of it; or a step of the host."""
        threads = prod(x.extent for x in loops)
        logical = self._stage_of(part.suffix, part.body).kernel
        found = in_order(core, threads, logical, self.nest.simplify, self.nest.target)
        if found is None:
            return make()
        reason, details = found
        if reason in ON_HOST:
            return self._on_host(part, reason, details)
        return replace(make(), reason=reason, details=details)

    def _on_host(self, part: _Part, reason: Reason, details: str) -> Stage:
        """The part as it came, for the host."""
        stage = self._stage_of(part.suffix, part.body)
        return replace(stage, reason=reason, details=details)

    # --- independent work -------------------------------------------------------------------------

    def _grid_nest(self, loops: list[Loop], core: Body) -> list[Stmt]:
        """Vectors along the last loop, or tiles where reads are transposed."""
        found = transposed_loads(loops, core, self.nest.factor)
        if found is not None:
            across, loads = found
            return tiled(loops, core, across, loads, self._positions, renamed)
        return element_nest(self.nest, loops, core, self._positions)

    def _positions(self, loops: Sequence[Loop], number: Expr) -> list[Stmt]:
        """Binds the variables of a nest to a row-major position."""
        binding: list[Stmt] = []
        for loop in reversed(loops[1:]):
            binding.append(Let(loop.var, apply("remainder", number, const(loop.extent))))
            number = apply("quotient", number, const(loop.extent))
        if loops:
            binding.append(Let(loops[0].var, number))
        return binding

    def _grid(self, place: Var, total: int, body: Sequence[Stmt]) -> list[Stmt]:
        """A thread for each place < total."""
        threads = min(THREADS, max(power_above(total), self.nest.target.warp_size))
        blocks = -(-total // threads)
        block, thread = Var("block"), Var("thread")
        bound = (Let(place, block * threads + thread), *body)
        if total % threads:
            bound = (bound[0], If(place < total, bound[1:]))
        inner: Body = (For(thread, threads, Kind.THREAD, bound),)
        return [For(block, blocks, Kind.GRID, inner)]

    def _in_threads(
        self, loops: list[Loop], allocated: list[Buffer], core: Body, part: _Part
    ) -> Stage:
        """A thread per iteration of the outer loops; all else in order within it."""

        def nest() -> Stage:
            inner = tuple(around(allocated, self._in_order(core)))
            total = prod(x.extent for x in loops)
            place = self.nest.simplify.variable("place", total)
            body = self._grid(place, total, [*self._positions(loops, place), *inner])
            return self._stage_of(part.suffix, body)

        return self._explained(loops, core, part, nest)

    def _stage_of(self, suffix: str, body: Sequence[Stmt]) -> Stage:
        """A stage over all the kernel's buffers that its body names, flat or not."""
        used = {
            n.buffer
            for s in walk(tuple(body))
            for n in postorder(expressions(s))
            if isinstance(n, Load)
        }
        used |= {b for s in walk(tuple(body)) for b in _written(s)}
        known = [(k, b) for k, b in enumerate(self.nest.kernel.buffers) if b in used]
        kernel = replace(
            self.nest.kernel,
            name=self.nest.kernel.name + suffix,
            buffers=tuple(b for _, b in known),
            body=tuple(body),
        )
        return Stage(kernel, tuple(k for k, _ in known))

    def _in_order(self, body: Sequence[Stmt]) -> list[Stmt]:
        """Statements for one thread: parallel loops in order, reductions expanded."""
        around, innermost = spine(tuple(body))
        heads = [(self._in_order(before), s.buffer) for before, s in around]
        result: list[Stmt] = []
        for s in innermost:
            if isinstance(s, Reduce):
                found = Elements(s)
                reduction = ThreadReduction(found.types, s.monoid)
                result += reduction.reduce(s.results, found.value, found.n)
            elif isinstance(s, For):
                kind = Kind.SERIAL if s.kind is Kind.PARALLEL else s.kind
                result.append(replace(s, kind=kind, body=tuple(self._in_order(s.body))))
            elif isinstance(s, If):
                then, orelse = (tuple(self._in_order(b)) for b in bodies(s))
                result.append(replace(s, then=then, orelse=orelse))
            elif bodies(s):
                result.append(replace(s, body=tuple(self._in_order(bodies(s)[0]))))
            else:
                result.append(s)
        for before, buffer in reversed(heads):
            result = [*before, Alloc(buffer, tuple(result))]
        return result

    # --- row programs -----------------------------------------------------------------------------

    def _rows_held(
        self, loops: list[Loop], allocated: list[Buffer], core: Body, part: _Part
    ) -> Stage | None:
        """One launch whose blocks hold what they read; None where they have no room for it."""
        lengths = {n for s in core if (n := row_length(s)) is not None}
        if len(lengths) != 1 or 0 in lengths:
            return None
        (row,) = lengths
        beside = bool(loops) and loops[-1].extent > 1 and self.nest.contiguous(loops[-1].var, core)
        if beside and not self.nest.contiguous_rows(core):
            if row <= COLUMN_ROW:
                return None
            slab = SlabBlocks(self.nest.simplify, loops, core, allocated, row, self.nest.target)
            if slab.form is None:
                return None
            body = slab.body()
            return self.nest.stage(part.suffix, body, slab.scratch)
        kept = prod(x.extent for x in loops)
        rest = (allocated, row, kept, self.nest.width(core), self.nest.target)
        found = [RowClusters(self.nest.simplify, core, *rest, grouped=g) for g in (False, True)]
        worth = [c for c in found if c.worth]
        possible = [c for c in found if c.possible and not c.grouped]
        if not worth and regions_of(loops, allocated, core, self.nest.simplify):
            return None
        for rows in (*worth, *possible):
            place = self.nest.simplify.variable("row", kept)
            body = rows.body(place, self._positions(loops, place))
            return self.nest.stage(part.suffix, body, rows.scratch)
        return None

    def _rows_in_blocks(
        self, loops: list[Loop], allocated: list[Buffer], core: Body, part: _Part
    ) -> tuple[Stage, ...]:
        core = self.nest.collapse_rows(core)
        lengths = {n for s in core if (n := row_length(s)) is not None}
        kept = prod(x.extent for x in loops)
        if len(lengths) != 1 or 0 in lengths:
            return (self._in_threads(loops, allocated, core, part),)
        (row,) = lengths
        beside = bool(loops) and loops[-1].extent > 1 and self.nest.contiguous(loops[-1].var, core)
        along = self.nest.contiguous_rows(core)
        if beside and not along:
            if row > SHORT_ROW and kept < ENOUGH and can_split(core):
                return self._split_columns(loops, core, row, part.suffix)
            apart = None
            if row > COLUMN_ROW and kept < COLUMNS:
                apart = regions_of(loops, allocated, core, self.nest.simplify)
            if apart is not None:
                return self._apart(loops, apart, row, part.suffix)
            return (self._in_threads(loops, allocated, core, part),)
        if row <= SHORT_ROW and kept >= THREADS:
            return (self._in_threads(loops, allocated, core, part),)
        rest = (allocated, row, kept, self.nest.width(core))
        place = self.nest.simplify.variable("row", kept)
        rows = RowBlocks(self.nest.simplify, core, *rest)
        rows.form_teams()
        if not rows.fits:
            return (self._in_threads(loops, allocated, core, part),)
        if rows.worth_splitting:
            if can_split(core):
                return self._split_rows(rows, loops, core, part.suffix)
            apart = regions_of(loops, allocated, core, self.nest.simplify)
            if apart is not None:
                return self._apart(loops, apart, row, part.suffix)
        return (self.nest.stage(part.suffix, rows.body(place, self._positions(loops, place))),)

    # --- long reductions --------------------------------------------------------------------------

    def _apart(self, loops: list[Loop], apart: Regions, row: int, suffix: str) -> tuple[Stage, ...]:
        """Each group of reductions in launches of its own, then the stores of the row."""
        stages: list[Stage] = []
        kept = prod(x.extent for x in loops)
        stores = list(apart.stores)
        left: Left | None = None
        for k, group in enumerate(apart.groups):
            name = f"{suffix}_{k}"
            # Each launch starts where the one before ended: what it read last may still be near.
            turned = (len(apart.groups) - k) % 2 == 1
            if loops and loops[-1].extent > 1 and not self.nest.contiguous_rows(group):
                stages += self._split_columns(loops, group, row, name, apart.results, turned=turned)
                continue
            rows = self._long_rows(group, row, kept)
            one, left = self._parts(rows, loops, group, name, apart.results, left, turned)
            stages.append(one)
            following = apart.groups[k + 1] if k + 1 < len(apart.groups) else _first_row(stores)
            if not (rows.joins_cheaply and following and self.nest.contiguous_rows(following)):
                stages.append(self._joined(rows, loops, left, name, apart.results))
                left = None
        if left is not None:
            body = _first_row(stores)
            stores.pop(0)
            place = self.nest.simplify.variable("row", kept)
            rows = self._long_rows(known_results(body, left), row, kept)
            nest = rows.spread(place, self._positions(loops, place), left)
            stages.append(self.nest.stage(f"{suffix}_row", nest, _used_by(left, apart.results)))
        for k, (domain, body) in enumerate(stores):
            over = [*loops, *domain]
            if loops and not self.nest.contiguous(domain[-1].var, body):
                over = [*domain, *loops]
            over, body = self.nest.collapse(over, body)
            nest = self._grid_nest(over, body)
            stages.append(self.nest.stage(f"{suffix}_row{k}", nest, apart.results))
        return tuple(stages)

    def _long_rows(self, core: Body, row: int, kept: int) -> RowBlocks:
        return RowBlocks(self.nest.simplify, core, [], row, kept, self.nest.width(core))

    def _scratch(self, reduces: Sequence[Reduce], size: int) -> list[list[Buffer]]:
        return [
            [
                Buffer(f"part{k}_{c}", r.dtype, (size,), role="inout")
                for c, r in enumerate(s.results)
            ]
            for k, s in enumerate(reduces)
        ]

    def _split_rows(
        self, rows: RowBlocks, loops: list[Loop], core: Body, suffix: str
    ) -> tuple[Stage, ...]:
        """Blocks of chunks in blocks of threads, the last of which to come joins those of a row."""
        kept = prod(x.extent for x in loops)
        reduces = tuple(s for s in core if isinstance(s, Reduce))
        after = tuple(s for s in core if not isinstance(s, Reduce))
        scratch = self._scratch(reduces, kept * rows.blocks * KEEP)
        left = Left(reduces, tuple(map(tuple, scratch)), after)
        place = self.nest.simplify.variable("row", kept)
        body = rows.joined_by_last(place, self._positions(loops, place), left)
        return (self.nest.stage(suffix, body, _used_by(left, ())),)

    def _parts(
        self,
        rows: RowBlocks,
        loops: list[Loop],
        core: Body,
        suffix: str,
        results: Sequence[Buffer],
        before: Left | None,
        turned: bool,
    ) -> tuple[Stage, Left]:
        """The launch of the blocks of some reductions, and what it leaves. results: scratch memory
        that the core uses; before: what the launch before left; turned: the last chunks first."""
        kept = prod(x.extent for x in loops)
        reduces = tuple(s for s in core if isinstance(s, Reduce))
        after = tuple(s for s in core if not isinstance(s, Reduce))
        scratch = self._scratch(reduces, kept * rows.blocks * KEEP)
        if before is not None:
            rows = self._long_rows(known_results(core, before), rows.row, kept)
        place = self.nest.simplify.variable("row", kept)
        first = rows.partial(place, self._positions(loops, place), scratch, before, turned=turned)
        left = Left(reduces, tuple(map(tuple, scratch)), after)
        used = [*_used_by(left, results), *(_used_by(before, ()) if before else ())]
        return self.nest.stage(suffix + "_blocks", first, used), left

    def _joined(
        self,
        rows: RowBlocks,
        loops: list[Loop],
        left: Left,
        suffix: str,
        results: Sequence[Buffer],
    ) -> Stage:
        """The launch that joins what another left."""
        place = self.nest.simplify.variable("row", prod(x.extent for x in loops))
        join = rows.join(place, self._positions(loops, place), left)
        return self.nest.stage(suffix + "_join", join, _used_by(left, results))

    def _split_columns(
        self,
        loops: list[Loop],
        core: Body,
        row: int,
        suffix: str,
        results: Sequence[Buffer] = (),
        *,
        turned: bool = False,
    ) -> tuple[Stage, ...]:
        """A thread per kept position, kept lane and block of chunks; then what joins them.
        results: scratch memory that the core uses; turned: the last chunks first."""
        kept = prod(x.extent for x in loops)
        chunks = -(-row // CHUNK)
        size = power_above(chunks)
        while size > 1 and kept * KEEP * -(-chunks // size) < ENOUGH:
            size //= 2
        blocks = -(-chunks // size)
        reduces = [s for s in core if isinstance(s, Reduce)]
        place = self.nest.simplify.variable("place", kept)
        once = ColumnLast(kept, row)
        if once.possible and size == 1 and not results:
            scratch = self._scratch(reduces, once.scratch_size)
            found = once.body(place, self._positions(loops, place), core, scratch)
            return (self.nest.stage(suffix, found, [b for held in scratch for b in held]),)
        scratch = self._scratch(reduces, blocks * KEEP * kept)
        everything = [*results, *(b for held in scratch for b in held)]
        place = self.nest.simplify.variable("place", blocks * KEEP * kept)
        position, lane, block = Var("position"), Var("kept"), Var("first")
        number = apply("quotient", place, const(KEEP * kept))
        body: list[Stmt] = [
            Let(position, apply("remainder", place, const(kept))),
            Let(lane, apply("remainder", apply("quotient", place, const(kept)), const(KEEP))),
            Let(block, blocks - 1 - number if turned else number),
            *self._positions(loops, position),
        ]
        for s, held in zip(reduces, scratch, strict=True):
            e = Elements(s)
            reduction = ThreadReduction(e.types, s.monoid)
            inner, total = reduction.kept_lane(e.value, e.n, lane, block * size, size)
            body += inner
            at = (block * KEEP + lane) * kept + position if turned else place
            body += [Store(b, (at,), x) for b, x in zip(held, total, strict=True)]
        one = self.nest.stage(
            suffix + "_blocks", self._grid(place, blocks * KEEP * kept, body), everything
        )
        place = self.nest.simplify.variable("place", kept)
        after = [s for s in core if not isinstance(s, Reduce)]
        join = ColumnJoin(kept, blocks).body(
            place, self._positions(loops, place), reduces, scratch, after
        )
        return one, self.nest.stage(suffix + "_join", join, everything)


def _first_row(stores: Sequence[tuple[tuple[Loop, ...], Body]]) -> Body:
    """The first of the loops that store, as a statement; nothing if there is none."""
    if not stores:
        return ()
    domain, body = stores[0]
    for loop in reversed(domain):
        body = (For(loop.var, loop.extent, Kind.PARALLEL, body),)
    return body


def _used_by(left: Left, results: Sequence[Buffer]) -> list[Buffer]:
    """Scratch memory of a launch."""
    return [*results, *(b for held in left.scratch for b in held)]


def _written(s: Stmt) -> tuple[Buffer, ...]:
    buffer = getattr(s, "buffer", None) or getattr(s, "destination", None)
    return (buffer,) if buffer is not None and not isinstance(s, Alloc) else ()


def _reads_what_it_stores(core: Body) -> bool:
    """Whether a region may need what another thread stored: memory between the regions of a row."""
    regions = len([s for s in core if isinstance(s, (Reduce, For))])
    stored = {b for s in walk(core) for b in _written(s) if b.space is Space.GLOBAL}
    loads = (n for s in walk(core) for n in postorder(expressions(s)) if isinstance(n, Load))
    return regions > 0 and any(n.buffer in stored for n in loads)


def schedule_blocks(kernel: Kernel, target: Target) -> tuple[Stage, ...]:
    """The launches that do what a logical kernel says, on a target with blocks of threads."""
    return _BlockScheduler(kernel, target).stages()
