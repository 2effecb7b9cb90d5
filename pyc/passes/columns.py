"""Row programs whose kept positions are neighbours in memory: sweeps over wide tiles of columns.

Takes the regions of a row program of a CPU whose last kept loop is contiguous (sums, softmax, layer
norm along the first axis) and returns its launches. Every region becomes sweeps over a tile of
columns (`sweeps`, `column_reduction`), so that memory is read as long forward streams. What a
column has to keep between sweeps lies in arrays beside it.

A program with enough tiles (or too little work for tasks) is one launch, with all regions of a tile
inside its task, which may hold the rows of the tile beside it (`packed_columns`). Otherwise each
reduction is two launches, partial results by tasks and their join, and each loop over the row is
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyc.ir.expr import Expr, Var, apply, const, minimum
from pyc.ir.loops import Body, Buffer, For, Kind, Let, Reduce, Stmt
from pyc.ir.order import KEEP
from pyc.ir.visit import renamed
from pyc.passes.ahead import next_rows_asked_for
from pyc.passes.column_reduction import FEW_OF_LARGE, ColumnReduction, Join, is_flat
from pyc.passes.elements import Elements, Found, positions
from pyc.passes.joint_sums import sums_in_step
from pyc.passes.nest import (
    Loop,
    Nest,
    Stage,
    around,
    bindings,
    is_element_loop,
    is_in_place,
    peel,
    row_length,
)
from pyc.passes.rows import Section, absorbed, hoisted, sections
from pyc.passes.sweeps import PAGE, ROW_BYTES, Step, Sweeps, Tile

TILE_BYTES = 1 << 14
"""Bytes of one row of a tile at most."""
BLOCK_BYTES = 1 << 17
"""Bytes of a tile's rows that stay in a core's cache between regions."""
PACKED_BYTES = 1 << 20
"""Bytes of the rows of a tile that are held beside it, at most."""
PACKED_FROM = 1 << 23
"""Bytes of a program's input from which tiles are held: smaller ones stay in the caches anyway."""
FEW_PACKED_FROM = 1 << 19
"""The same of no more than `KEEP` rows that begin at one place of the first cache: they are more
lines than it holds of one place, and each region would wait for another cache."""
PACKED_ROW = 1 << 8
"""Bytes of one row of such a tile at least: pieces of rows that are far apart come from memory half
as fast where they are 128 bytes, and as fast as streams from 256 bytes on."""
PACKED_PIECE = 1 << 10
"""Bytes that are enough for one row of such a tile: what few rows have of more columns would leave
the first cache. Half of it takes longer where rows do not begin with a line of the caches."""
SHORT_BYTES = 1 << 12
"""Bytes of a tile of no more than `KEEP` rows, which may all be at one place of the first cache:
of larger ones, less is still there when it is read again."""
PIECE_BYTES = 1 << 10
"""Bytes of one row of a tile from which a program of a few rows is one launch: as fast as a launch
for each step, and nothing lies in memory between them."""
REGIONS_PIECE_BYTES = 1 << 11
"""The same of a program of several regions."""
ASKED_BYTES = 1 << 11
"""Bytes of one row of a tile from which the next row is asked for while one is divided and stored:
processors foresee those that are shorter."""
TASKS = 8
"""Tiles that are enough tasks. Half of them are, of a program of several regions in the caches, if
more would have rows of less than `ROW_BYTES`: each row is then a tenth slower to begin with."""
ROW_TASKS = 64
"""Blocks of rows of a loop over the row at most."""
TASK_BYTES = 1 << 18
"""Bytes that a block of rows is worth at least."""


class ColumnProgram:
    """The launches of one row program; `loops`, the last of them contiguous, enclose `core`.
    held: its row buffers, of which a tile of columns is kept beside the program."""

    def __init__(
        self,
        nest: Nest,
        loops: Sequence[Loop],
        core: Body,
        parallel: bool,
        held: Sequence[Buffer] = (),
    ) -> None:
        self.nest, self.held = nest, held
        self.sweeps = Sweeps(nest, loops, core)
        self.parallel = self.sweeps.large = parallel
        body = hoisted(core)
        if parallel and not held:
            body = sums_in_step(body)
        self.sections = sections(absorbed(body, nest.simplify))
        self.sweeps.once = any(map(_replaces, self.sections))
        self.sweeps.again = sum(s.region is not None for s in self.sections) > 1

    def stages(self) -> tuple[Stage, ...]:
        """The launches."""
        sweeps = self.sweeps
        tile = self._held_tile() if self.held else self._tile()
        sweeps.hold(self.held, tile)
        steps = [step for s in self.sections for step in self._steps(s, tile)]
        if sweeps.staged:
            found: list[Stage] = []
            for number, step in enumerate(steps):
                loops = [*sweeps.outer, step.tile.loop, *step.loops]
                tasks = self._tasks(loops, around(step.arrays, step.body))
                found.append(self.nest.stage(f"_{number}{step.name}", tasks, sweeps.scratch))
            return tuple(found)
        whole: list[Stmt] = []
        for step in steps:
            whole += _nested(step.loops, step.body)
        arrays = [*sweeps.arrays, *(b for step in steps for b in step.arrays)]
        tasks = self._tasks([*sweeps.outer, tile.loop], around(arrays, whole))
        return (self.nest.stage("", tasks, streamed=bool(self.held)),)

    def _held_tile(self) -> Tile:
        """How columns are cut where their rows are held."""
        sweeps = self.sweeps
        found = held_columns(self.held, sweeps.columns, sweeps.outer, self.parallel)
        assert found is not None
        return sweeps.tiles(-(-sweeps.columns // found))

    def _tile(self) -> Tile:
        """How columns are cut, and whether steps are launches of their own (`Sweeps.staged`)."""
        sweeps = self.sweeps
        lengths = [n for s in self.sections if s.region is not None and (n := row_length(s.region))]
        outer = prod(x.extent for x in sweeps.outer)
        widest, least = TILE_BYTES // sweeps.itemsize, ROW_BYTES // sweeps.itemsize
        if len(lengths) > 1 and max(lengths) <= KEEP:
            widest = SHORT_BYTES // (max(lengths) * sweeps.itemsize)
        elif len(lengths) > 1:
            fitting = BLOCK_BYTES // (max(lengths) * sweeps.itemsize)
            widest = min(widest, fitting) if fitting >= least else widest
        tiles = -(-sweeps.columns // widest)
        if self.parallel and outer * tiles < TASKS:
            wanted = -(-TASKS // outer)
            narrowest = least
            if len(lengths) > 1:
                narrowest = REGIONS_PIECE_BYTES // sweeps.itemsize
            elif max(lengths) <= FEW_OF_LARGE:
                narrowest = PIECE_BYTES // sweeps.itemsize
            sweeps.staged = sweeps.columns < wanted * narrowest
            if len(lengths) > 1 and max(lengths) * sweeps.kept * sweeps.itemsize < PACKED_FROM:
                wanted = min(max(sweeps.columns // least, -(-wanted // 2)), wanted)
            tiles = tiles if sweeps.staged else wanted
        return sweeps.tiles(tiles)

    def _tasks(self, loops: Sequence[Loop], body: Sequence[Stmt]) -> list[Stmt]:
        """`body` for all positions of independent loops, as tasks if there is work for them."""
        if not self.parallel:
            return _nested(loops, body)
        task = Var("task")
        rest: Expr = task
        binding: list[Stmt] = []
        for loop in reversed(loops[1:]):
            binding.append(Let(loop.var, apply("remainder", rest, const(loop.extent))))
            rest = apply("quotient", rest, const(loop.extent))
        binding.append(Let(loops[0].var, rest))
        return [For(task, prod(x.extent for x in loops), Kind.PARALLEL, (*binding, *body))]

    # --- sections ---------------------------------------------------------------------------------

    def _steps(self, s: Section, tile: Tile) -> list[Step]:
        """What a section does, in order."""
        steps: list[Step] = []
        found: Join = _nothing
        results: tuple[Var, ...] = ()
        if isinstance(s.region, For):
            steps.append(self._walk(s.region, tile))
        elif s.region is not None:
            results = s.region.results
            partial, found = ColumnReduction(self.sweeps, s.before, s.region).steps(tile)
            steps += partial
        if s.after or s.later:
            steps.append(self._finish(s, tile, found, results))
        return steps

    def _finish(self, s: Section, tile: Tile, found: Join, results: Sequence[Var]) -> Step:
        """One sweep with the statements behind a region."""
        sweeps = self.sweeps
        if sweeps.staged:
            tile = sweeps.tiles(-(-sweeps.columns // (ROW_BYTES // sweeps.itemsize)))
        lasting = {v: sweeps.between(v.name, [v.dtype], 1, tile, sweeps.arrays) for v in s.later}

        def body(at: Expr, column: Expr) -> list[Stmt]:
            inside, values = found(at, column)
            lets = [Let(r, v) for r, v in zip(results, values, strict=True)]
            kept = [x for v, h in lasting.items() for x in h.store(const(0), at, column, (v,))]
            return list(renamed((*inside, *lets, *s.after, *kept), sweeps.binding(at, column)))

        swept = tuple(sweeps.sweep(tile, body))
        sweeps.keep(lasting)
        return Step("_join", tile, (), swept, ())

    def _walk(self, loop: For, tile: Tile) -> Step:
        """A loop over the row that stores."""
        sweeps = self.sweeps
        loops, inner = peel((loop,))
        once = is_in_place(inner)
        rows = per = prod(x.extent for x in loops)
        if sweeps.staged:
            least = TASK_BYTES // (tile.size * sweeps.itemsize)
            per = min(max(-(-rows // ROW_TASKS), least, 1), rows)
        blocks = -(-rows // per)
        block, row = self.nest.simplify.variable("block", blocks), Var("row")
        position: Expr = row
        count: int | Expr = per
        if blocks > 1:
            position = block * per + row
            count = minimum(const(per), const(rows) - block * per) if rows % per else per
        at_row = positions([(x.var, x.extent) for x in loops], position)

        def body(at: Expr, column: Expr) -> list[Stmt]:
            here = renamed(inner, {**at_row, **sweeps.binding(at, column)})
            return list(sweeps.placed(at, column).body(here))

        vectors = sweeps.sweep(tile, body, once=once, straight=True)
        each: Sequence[Stmt] = vectors
        if not self.held and tile.size * sweeps.itemsize >= ASKED_BYTES:
            each = next_rows_asked_for(vectors, self.nest, row, 1)
        swept = For(row, count, Kind.SERIAL, tuple(each))
        outside = (Loop(block, blocks),) if blocks > 1 else ()
        return Step("_rows", tile, outside, (swept,), ())


def is_flat_program(nest: Nest, loops: Sequence[Loop], core: Body) -> bool:
    """Whether all regions are sums over few columns that are swept several rows at a time."""
    sweeps = Sweeps(nest, loops, core)
    regions = [s for s in core if isinstance(s, (Reduce, For)) and not is_element_loop(s)]
    return all(
        isinstance(s, Reduce)
        and is_flat(sweeps, Elements(s))
        and not ColumnReduction(sweeps, (), s).in_any_order
        for s in regions
    )


def held_columns(
    held: Sequence[Buffer], columns: int, outer: Sequence[Loop], parallel: bool
) -> int | None:
    """Columns of a tile whose rows are held; None if so few would be slow or too few tasks."""
    one = sum(b.dtype.itemsize * prod(d for d in b.shape if isinstance(d, int)) for b in held)
    kept = columns * prod(x.extent for x in outer)
    rows = max(prod(d for d in b.shape if isinstance(d, int)) for b in held)
    few = rows <= KEEP and columns * held[0].dtype.itemsize % PAGE == 0
    if one * kept < (FEW_PACKED_FROM if few else PACKED_FROM):
        return None
    enough = max(SHORT_BYTES // one, PACKED_PIECE // min(b.dtype.itemsize for b in held))
    size = min(PACKED_BYTES // one, enough, columns)
    if parallel:
        size = min(size, kept // TASKS)
    least = PACKED_ROW // min(b.dtype.itemsize for b in held)
    return size // least * least or None


def _replaces(s: Section) -> bool:
    """Whether the statements behind a region store to what it or they read."""
    region = bindings(s.region) if isinstance(s.region, Reduce) else ()
    return is_in_place((*region, *s.after))


def _nothing(at: Expr, column: Expr) -> Found:
    return [], ()


def _nested(loops: Sequence[Loop], body: Sequence[Stmt]) -> list[Stmt]:
    """`body` in loops, one after the other."""
    inner: Body = tuple(body)
    for loop in reversed(loops):
        inner = (For(loop.var, loop.extent, Kind.SERIAL, inner),)
    return list(inner)
