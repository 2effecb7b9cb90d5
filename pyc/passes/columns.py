"""Row programs whose kept positions are neighbours in memory: sweeps over wide tiles of columns.

Takes the regions of a row program of a CPU whose last kept loop is contiguous (sums, softmax, layer
norm along the first axis) and returns its launches. Every region becomes *sweeps*: loops over the
vectors of a tile of columns, one or a few rows at a time, so that memory is read as long forward
streams. What a column has to keep between sweeps lies in arrays beside it.

A reduction in the documented order (`ir/order.py`) adds the rows of a lane, which are 128 apart,
four at a time into 128 sums per column, joins these to the 16 kept lanes of the chunk, and these to
those of the chunks before in a binary counter. Kept lanes and aligned blocks of chunks do not meet
before the end, so both can be tasks of their own; a reduction whose order cannot show takes its
rows as they come.

A program with enough tiles (or too little work for tasks) is one launch, with all regions of a tile
inside its task. Otherwise each reduction is two launches, partial results by tasks and their join,
and each loop over the row is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from pyc.frozen import frozen
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Var, apply, const, minimum, postorder
from pyc.ir.loops import (
    Body,
    Buffer,
    Carry,
    For,
    If,
    Kind,
    Let,
    Reduce,
    Space,
    Stmt,
    Store,
    expressions,
    walk,
)
from pyc.ir.order import CHUNK, KEEP, LANES
from pyc.ir.visit import Rewriter, bound, renamed
from pyc.passes.nest import Loop, Nest, Stage, around, bindings, is_element_loop, peel, row_length
from pyc.passes.reduction import CHEAP, ROWS, At, Components, Counter, cost, loads, stores
from pyc.passes.reduction_blocks import ThreadReduction
from pyc.passes.rows import absorbed, hoisted, variables_of

TILE_BYTES = 1 << 14
"""Bytes of one row of a tile at most."""
ROW_BYTES = 1 << 12
"""Bytes of one row of a tile from which streams are long enough."""
SUM_BYTES = 1 << 19
"""Bytes of the 128 sums of a tile at most: they should stay in a core's cache."""
BLOCK_BYTES = 1 << 19
"""Bytes of a tile's rows that stay in a core's cache between regions."""
AT_ONCE = 4
"""Rows read at once: they are 128 apart, so that most of them share a set of the first cache."""
TASKS = 8
"""Tiles that are enough tasks."""
GROUPS = 4
"""Groups of kept lanes that become tasks of their own."""
BLOCKS = 16
"""Blocks of chunks, or of rows, at most."""
PARTS = 64
"""Partial results of a column that are joined as straight code."""
PAGE = 4096
"""Bytes after which addresses share a set of the first cache."""

ROW_TASKS = 64
"""Blocks of rows of a loop over the row at most."""
TASK_BYTES = 1 << 18
"""Bytes that a block of rows is worth at least."""
PAD = 512
"""Elements in front of an array on the stack that begins a page: arrays that NumPy makes begin near
the start of one, and addresses that are equal within a page get in each other's way."""

Found = tuple[list[Stmt], Components]
"""Statements, and the components that they leave."""
Element = Callable[[Expr, Expr, Expr], Found]
"""(position in the row, place in the tile, column) -> the components reduced there."""
Join = Callable[[Expr, Expr], Found]
"""(place in the tile, column) -> what a reduction gives there."""


@frozen()
class Tile:
    """Tiles of `size` columns; `number` is the variable of the loop over them."""

    size: int
    number: Var
    tiles: int


@frozen()
class Held:
    """What columns keep between sweeps: a buffer per component, with one element per slot and
    column. index: (slot, place in the tile, column) -> element."""

    buffers: tuple[Buffer, ...]
    index: Callable[[Expr, Expr, Expr], Expr]

    def load(self, slot: Expr, at: Expr, column: Expr) -> Components:
        """The components of a slot."""
        return loads(self.buffers, self.index(slot, at, column))

    def store(self, slot: Expr, at: Expr, column: Expr, values: Components) -> list[Stmt]:
        """Statements that store the components of a slot."""
        return stores(self.buffers, self.index(slot, at, column), values)


@frozen()
class Section:
    """A region, if any, with what it stores on its way, and the statements of one column behind it.
    later: variables of these that other sections need."""

    before: Body
    region: Reduce | For | None
    after: tuple[Stmt, ...]
    later: tuple[Var, ...]


@frozen()
class Step:
    """Statements for one tile, inside loops whose iterations are independent."""

    name: str
    tile: Tile
    loops: tuple[Loop, ...]
    body: tuple[Stmt, ...]
    arrays: tuple[Buffer, ...]


class ColumnProgram:
    """The launches of one row program; `loops`, the last of them contiguous, enclose `core`."""

    def __init__(self, nest: Nest, loops: Sequence[Loop], core: Body, parallel: bool) -> None:
        self.nest = nest
        self.outer, self.inner = list(loops[:-1]), loops[-1]
        self.columns = self.inner.extent
        self.kept = prod(x.extent for x in loops)
        self.parallel = parallel
        self.width = min(nest.width(core), 1 << (self.columns.bit_length() - 1))
        self.itemsize = nest.target.vector_bytes // nest.width(core)
        self.sections = _sections(absorbed(hoisted(core), nest.simplify))
        self._arrays: list[Buffer] = []
        self._scratch: list[Buffer] = []
        self._lasting: dict[Var, Held] = {}

    # --- the launches -----------------------------------------------------------------------------

    def stages(self) -> tuple[Stage, ...]:
        """The launches."""
        lengths = [n for s in self.sections if s.region is not None and (n := row_length(s.region))]
        outer = prod(x.extent for x in self.outer)
        widest, least = TILE_BYTES // self.itemsize, ROW_BYTES // self.itemsize
        if len(lengths) > 1:
            fitting = BLOCK_BYTES // (max(lengths) * self.itemsize)
            widest = min(widest, fitting) if fitting >= least else widest
        tiles = -(-self.columns // widest)
        self.staged = False
        if self.parallel and outer * tiles < TASKS:
            wanted = -(-TASKS // outer)
            self.staged = self.columns < wanted * least
            tiles = tiles if self.staged else wanted
        tile = self._tiles(tiles)
        if self.staged:
            found: list[Stage] = []
            for s in self.sections:
                for step in self._steps(s, tile):
                    body = around(step.arrays, step.body)
                    loops = [*self.outer, _loop(step.tile), *step.loops]
                    tasks = self._tasks(loops, body)
                    found.append(self.nest.stage(f"_{len(found)}{step.name}", tasks, self._scratch))
            return tuple(found)
        whole: list[Stmt] = []
        arrays: list[Buffer] = []
        for s in self.sections:
            for step in self._steps(s, tile):
                inner: Body = step.body
                for loop in reversed(step.loops):
                    inner = (For(loop.var, loop.extent, Kind.SERIAL, inner),)
                whole += inner
                arrays += step.arrays
        whole = around([*self._arrays, *arrays], whole)
        return (self.nest.stage("", self._tasks([*self.outer, _loop(tile)], whole)),)

    def _tiles(self, tiles: int) -> Tile:
        """About as many tiles of whole vectors, none narrower than a vector."""
        while True:
            size = -(-self.columns // (tiles * self.width)) * self.width
            tiles = -(-self.columns // size)
            if tiles == 1 or self.columns - (tiles - 1) * size >= self.width:
                return Tile(size, self.nest.simplify.variable("tile", tiles), tiles)
            tiles -= 1

    def _tasks(self, loops: Sequence[Loop], body: Sequence[Stmt]) -> list[Stmt]:
        """`body` for all positions of independent loops, as tasks if there is work for them."""
        inner: Body = tuple(body)
        if not self.parallel:
            for loop in reversed(loops):
                inner = (For(loop.var, loop.extent, Kind.SERIAL, inner),)
            return list(inner)
        task = Var("task")
        rest: Expr = task
        binding: list[Stmt] = []
        for loop in reversed(loops[1:]):
            binding.append(Let(loop.var, apply("remainder", rest, const(loop.extent))))
            rest = apply("quotient", rest, const(loop.extent))
        binding.append(Let(loops[0].var, rest))
        return [For(task, prod(x.extent for x in loops), Kind.PARALLEL, (*binding, *inner))]

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
            reduction = ColumnReduction(self, s.before, s.region)
            partial, found = reduction.steps(tile)
            steps += partial
        joining = tile
        if self.staged:
            joining = self._tiles(-(-self.columns // (ROW_BYTES // self.itemsize)))
        finish = self._finish(s, joining, found, results)
        return [*steps, finish] if finish is not None else steps

    def _finish(
        self,
        s: Section,
        tile: Tile,
        found: Join,
        results: tuple[Var, ...],
    ) -> Step | None:
        """One sweep with the statements behind a region."""
        if not s.after and not s.later:
            return None
        first: list[Buffer] = []
        arrays = self._arrays if not self.staged else self._scratch
        lasting = {v: self.held(v.name, [v.dtype], 1, tile, arrays) for v in s.later}

        def body(at: Expr, column: Expr) -> list[Stmt]:
            inside, values = found(at, column)
            whole = [*inside, *(Let(r, v) for r, v in zip(results, values, strict=True)), *s.after]
            for var, held in lasting.items():
                whole += held.store(const(0), at, column, (var,))
            return list(renamed(tuple(whole), self.binding(at, column)))

        swept = tuple(self.sweep(tile, body))
        self._lasting |= lasting
        return Step("_join", tile, (), swept, tuple(first))

    def _walk(self, loop: For, tile: Tile) -> Step:
        """A loop over the row that stores."""
        loops, inner = peel((loop,))
        rows = prod(x.extent for x in loops)
        stored = {b for x in walk(inner) if isinstance(x, Store) for b in (x.buffer,)}
        nodes = postorder([e for x in walk(inner) for e in expressions(x)])
        once = any(isinstance(n, Load) and n.buffer in stored for n in nodes)
        block = self.nest.simplify.variable("block", 1)
        per = rows
        if self.staged:
            least = TASK_BYTES // (tile.size * self.itemsize)
            per = min(max(-(-rows // ROW_TASKS), least, 1), rows)
            block = self.nest.simplify.variable("block", -(-rows // per))
        blocks = -(-rows // per)
        row = Var("row")
        count: int | Expr = per
        if blocks > 1 and rows % per:
            count = minimum(const(per), const(rows) - block * per)
        position = block * per + row if blocks > 1 else row
        binding = _positions(loops, position)

        def body(at: Expr, column: Expr) -> list[Stmt]:
            return list(renamed(inner, {**binding, **self.binding(at, column)}))

        swept = For(row, count, Kind.SERIAL, tuple(self.sweep(tile, body, once=once)))
        outside = (Loop(block, blocks),) if blocks > 1 else ()
        return Step("_rows", tile, outside, (swept,), ())

    # --- sweeps -----------------------------------------------------------------------------------

    def sweep(
        self, tile: Tile, body: Callable[[Expr, Expr], list[Stmt]], *, once: bool = False
    ) -> list[Stmt]:
        """body(place in the tile, column) for all columns of a tile. The last vector of all columns
        overlaps the one before where they do not fill it, with places of its own; `once`: lanes are
        masked there instead, since the body may read what it stores."""
        width, per = self.width, tile.size // self.width
        ragged = self.columns % width
        whole, vectors = self.columns // width, -(-self.columns // width)
        if ragged and once:
            vectors = whole
        v, lane = Var("v"), Var("lane")
        count: int | Expr = per
        if vectors < tile.tiles * per:
            count = vectors
            if tile.tiles > 1:
                count = minimum(const(per), const(vectors) - tile.number * per)
        start = (tile.number * per + v) * width if tile.tiles > 1 else v * width
        if ragged and not once:
            start = minimum(start, self.columns - width)
        if count == 1:
            start = Rewriter(variables={v: const(0)}).expr(start)
            place: Expr = lane
        else:
            place = v * width + lane
        inner: Stmt = For(lane, width, Kind.VECTOR, tuple(body(place, start + lane)))
        result: list[Stmt] = [inner]
        if count != 1:
            result = [For(v, count, Kind.SERIAL, (inner,))]
        if not ragged or not once:
            return result
        lane = Var("lane")
        place = (const(whole) - tile.number * per) * width + (lane + (width - ragged))
        masked = If(lane < ragged, tuple(body(place, lane + whole * width)))
        rest: Stmt = For(lane, width, Kind.VECTOR, (masked,))
        if tile.tiles > 1:
            rest = If(tile.number.equal(tile.tiles - 1), (rest,))
        return [*result, rest]

    def held(
        self, name: str, types: Sequence[DType], slots: int, tile: Tile, arrays: list[Buffer]
    ) -> Held:
        """Arrays of `slots` elements per column, added to `arrays`: of all columns where these are
        scratch buffers of the launches, else of a tile."""
        if arrays is self._scratch:
            size = slots * self.kept
            name = f"{name}{len(arrays)}_"
            found = [
                Buffer(f"{name}{k}", t, (size,), role="inout", alignment=64)
                for k, t in enumerate(types)
            ]
            arrays += found
            return Held(tuple(found), lambda slot, at, column: slot * self.kept + self._at(column))
        found = [
            Buffer(f"{name}{k}", t, (slots * tile.size + PAD,), Space.STACK, alignment=PAGE)
            for k, t in enumerate(types)
        ]
        arrays += found
        return Held(tuple(found), lambda slot, at, column: slot * tile.size + at + PAD)

    def _at(self, column: Expr) -> Expr:
        """The number of a kept position."""
        position: Expr = const(0)
        for loop in self.outer:
            position = position * loop.extent + loop.var
        return position * self.columns + column if self.outer else column

    def binding(self, at: Expr, column: Expr) -> dict[Var, Expr]:
        """What the program's variables stand for in a column."""
        found: dict[Var, Expr] = {self.inner.var: column}
        for var, held in self._lasting.items():
            (found[var],) = held.load(const(0), at, column)
        return found


class ColumnReduction:
    """A reduction of a column program: partial results, then their join."""

    def __init__(self, program: ColumnProgram, before: Body, reduce: Reduce) -> None:
        self.program = program
        self.before = before
        self.reduce = reduce
        n = row_length(reduce)
        assert n is not None
        self.n = n
        self.types = [r.dtype for r in reduce.results]
        self.counter = Counter(self.types, reduce.monoid, self._refuse)
        work = cost([*reduce.values, *(e for s in before for e in expressions(s))])
        self.cheap = work <= CHEAP * len(self.types)
        self._local: list[Buffer] = []

    @staticmethod
    def _refuse(name: str, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        raise AssertionError(f"{name}: arrays of columns are made by `held`")

    @property
    def in_any_order(self) -> bool:
        """Whether the order of the elements cannot show in the bits."""
        exact = not any(t.is_float for t in self.types)
        return self.counter.monoid.idempotent or exact

    def steps(self, tile: Tile) -> tuple[list[Step], Join]:
        """The sweeps over the row, and what gives the result in a column behind them."""
        if self.in_any_order:
            return self._sweep_rows(tile)
        if self.n <= KEEP:
            return [], self._straight
        return self._sweep_lanes(tile)

    def _element(self, position: Expr, at: Expr, column: Expr) -> Found:
        binding = {
            **_positions(variables_of(self.reduce), position),
            **self.program.binding(at, column),
        }
        if not self.before:
            return [], Rewriter(variables=binding).exprs(self.reduce.values)
        body = renamed((*self.before, *bindings(self.reduce)), binding)
        count = len(self.types)
        return list(body), tuple(s.var for s in body[-count:] if isinstance(s, Let))

    def _fold(
        self,
        first: Expr,
        step: int,
        count: int | Expr,
        at: Expr,
        column: Expr,
        before: Components | None,
    ) -> Found:
        """The left fold of `count` > 0 elements `step` apart behind `before`."""
        combine = self.counter.monoid.combine
        if isinstance(count, int) and (self.cheap or count == 1):
            body: list[Stmt] = []
            total = before
            for k in range(count):
                inside, value = self._element(first + k * step if k else first, at, column)
                body += inside
                total = value if total is None else combine(total, value)
            assert total is not None
            return body, total
        k_var = Var("j")
        inside, value = self._element(first + k_var * step, at, column)
        inner, after = self.counter.names("a"), self.counter.names("r")
        start = self.counter.neutral if before is None else before
        columns = zip(inner, start, combine(inner, value), after, strict=True)
        carried = tuple(Carry(v, i, n, r) for v, i, n, r in columns)
        return [For(k_var, count, Kind.SERIAL, tuple(inside), carried)], after

    # --- any order --------------------------------------------------------------------------------

    def _sweep_rows(self, tile: Tile) -> tuple[list[Step], Join]:
        """Rows as they come, into one value per column and block of rows."""
        program, n = self.program, self.n
        per = n
        if program.staged:
            per = -(-n // (BLOCKS * AT_ONCE)) * AT_ONCE
        blocks = -(-n // per)
        block = program.nest.simplify.variable("block", blocks)
        sums = program.held("best", self.types, 1, tile, self._local)
        held = sums
        if program.staged:
            held = program.held("best", self.types, blocks, tile, program._scratch)
        slot, here = block if blocks > 1 else const(0), const(0)
        first = slot * per
        count: int | Expr = per
        if n % per:
            count = minimum(const(per), const(n) - block * per)

        def neutral(at: Expr, column: Expr) -> list[Stmt]:
            return sums.store(here, at, column, self.counter.neutral)

        def keep(at: Expr, column: Expr) -> list[Stmt]:
            return held.store(slot, at, column, sums.load(here, at, column))

        def rows(start: Expr, size: int) -> list[Stmt]:
            def body(at: Expr, column: Expr) -> list[Stmt]:
                before = sums.load(here, at, column)
                inside, total = self._together(start, size, at, column)
                total = self.counter.monoid.combine(before, total)
                return [*inside, *sums.store(here, at, column, total)]

            return program.sweep(tile, body)

        group, row = Var("group"), Var("row")
        whole = count // AT_ONCE if isinstance(count, int) else count >> 2
        rest = count % AT_ONCE if isinstance(count, int) else count & (AT_ONCE - 1)
        body = program.sweep(tile, neutral)
        body.append(For(group, whole, Kind.SERIAL, tuple(rows(first + group * AT_ONCE, AT_ONCE))))
        left = first + whole * AT_ONCE + row
        body.append(For(row, rest, Kind.SERIAL, tuple(rows(left, 1))))
        if held is not sums:
            body += program.sweep(tile, keep)
        loops = (Loop(block, blocks),) if blocks > 1 else ()

        def found(at: Expr, column: Expr) -> Found:
            if blocks == 1:
                return [], held.load(const(0), at, column)
            k = Var("k")
            loop, total = self.counter.loop(
                k,
                blocks,
                self.counter.neutral,
                lambda a: self.counter.monoid.combine(a, held.load(k, at, column)),
            )
            return [loop], total

        return [Step("_rows", tile, loops, tuple(body), tuple(self._local))], found

    def _together(self, first: Expr, count: int, at: Expr, column: Expr) -> Found:
        """`count` neighbouring elements in a short tree, or in a loop where they take much work."""
        if not self.cheap and count > 1:
            return self._fold(first, 1, count, at, column, None)
        found = [self._element(first + k, at, column) for k in range(count)]
        return [s for inside, _ in found for s in inside], self.counter.tree([v for _, v in found])

    # --- the documented order ---------------------------------------------------------------------

    def _straight(self, at: Expr, column: Expr) -> Found:
        """A row of at most KEEP elements in one go."""
        body: list[Stmt] = []
        values: list[Components] = []
        for k in range(self.n):
            inside, value = self._element(const(k), at, column)
            body += inside
            values.append(value)
        return body, self.counter.tree(values)

    def _sweep_lanes(self, tile: Tile) -> tuple[list[Step], Join]:
        """The kept lanes of blocks of chunks, some lanes at a time."""
        program = self.program
        chunks = -(-self.n // CHUNK)
        per = chunks
        groups = 1
        while groups < KEEP and (LANES // groups) * tile.size * program.itemsize > SUM_BYTES:
            groups *= 2
        if program.staged:
            per = 1
            while -(-chunks // per) > BLOCKS:
                per *= 2
            while groups < GROUPS and -(-chunks // per) * groups < BLOCKS:
                groups *= 2
        blocks = -(-chunks // per)
        arrays = program._scratch if program.staged else self._local
        held = program.held("kept", self.types, blocks * KEEP, tile, arrays)
        block = program.nest.simplify.variable("block", blocks)
        group = program.nest.simplify.variable("group", groups)
        number: Expr = block if blocks > 1 else const(0)
        body = _Lanes(self, tile, held, number, per, group, groups).body()
        loops = tuple(x for x in (Loop(block, blocks), Loop(group, groups)) if x.extent > 1)
        if groups == 1:
            body = [Let(group, const(0)), *body]

        def found(at: Expr, column: Expr) -> Found:
            return self._joined(held, blocks, at, column)

        return [Step("_lanes", tile, loops, tuple(body), tuple(self._local))], found

    def _joined(self, held: Held, blocks: int, at: Expr, column: Expr) -> Found:
        """The kept lanes of all blocks, joined by block and then by halves."""

        def part(block: Expr, lane: Expr) -> Components:
            return held.load(block * KEEP + lane, at, column)

        if blocks * KEEP > PARTS:
            results = self.counter.names("joined")
            reduction = ThreadReduction(self.types, self.counter.monoid.name)
            return reduction.join(results, part, blocks), results
        lanes: list[Components] = []
        for lane in range(KEEP):
            level = [part(const(k), const(lane)) for k in range(blocks)]
            while len(level) > 1:
                pairs = zip(level[::2], level[1::2], strict=False)
                odd = level[-1:] if len(level) % 2 else []
                level = [*(self.counter.monoid.combine(a, b) for a, b in pairs), *odd]
            lanes += level
        return [], self.counter.tree(lanes)


class _Lanes:
    """The kept lanes [group * size, + size) of `per` chunks from block * per on, in one tile."""

    def __init__(
        self,
        reduction: ColumnReduction,
        tile: Tile,
        held: Held,
        block: Expr,
        per: int,
        group: Var,
        groups: int,
    ) -> None:
        self.reduction, self.tile, self.held = reduction, tile, held
        self.counter, self.n = reduction.counter, reduction.n
        self.block, self.per = block, per
        self.size = KEEP // groups
        self.first: Expr = group * self.size if groups > 1 else const(0)
        local = reduction._local
        types = reduction.types
        program = reduction.program
        self.direct = self.n <= LANES and reduction.cheap
        if not self.direct:
            self.sums = program.held("sums", types, ROWS * self.size, tile, local)
        if per > 1:
            self.levels = program.held("level", types, per.bit_length() * self.size, tile, local)

    def sweep(self, body: Callable[[Expr, Expr], list[Stmt]]) -> list[Stmt]:
        """A sweep over the tile."""
        return self.reduction.program.sweep(self.tile, body)

    def body(self) -> list[Stmt]:
        """The statements."""
        full, rest = divmod(self.n, CHUNK)
        chunks = full + (1 if rest else 0)
        if self.per == 1:
            number = self.block
            if chunks == 1:
                return self._chunk(number, number, rest or CHUNK)
            if not rest:
                return self._chunk(number, number, CHUNK)
            last, whole = (self._chunk(number, number, n) for n in (rest, CHUNK))
            return [If(number.equal(full), tuple(last), tuple(whole))]
        c = Var("c")
        if chunks <= self.per:
            body: list[Stmt] = [For(c, full, Kind.SERIAL, tuple(self._chunk(c, c, CHUNK)))]
            if rest:
                body += self._chunk(const(full), const(full), rest)
            return [*body, *self._collect(chunks)]
        number = self.block * self.per + c
        count: int | Expr = self.per
        if chunks % self.per:
            count = minimum(const(self.per), const(chunks) - self.block * self.per)
        each = self._chunk(number, c, CHUNK)
        if rest:
            last = self._chunk(number, c, rest)
            each = [If(number.equal(full), tuple(last), tuple(each))]
        return [For(c, count, Kind.SERIAL, tuple(each)), *self._collect(count)]

    def _chunk(self, number: Expr, c: Expr, rows: int) -> list[Stmt]:
        """The kept lanes of chunk `number`, the c-th of these, of which `rows` elements exist."""
        b = Var("b")
        if self.direct:
            cut = rows % KEEP
            lane = self.first + b
            less = self._rows_direct(b, lane, rows // KEEP)
            if cut:
                more = self._rows_direct(b, lane, rows // KEEP + 1)
                less = [If(lane < cut, tuple(more), tuple(less))]
            return [For(b, self.size, Kind.SERIAL, tuple(less))]
        i, lane = Var("i"), Var("lane")
        full, part = divmod(rows, LANES)
        start = number * CHUNK + lane
        slot = i * self.size + b
        each = self._sum(slot, start, full)
        if part:
            each = [If(lane < part, tuple(self._sum(slot, start, full + 1)), tuple(each))]
        bind = Let(lane, i * KEEP + (self.first + b))
        inner = For(b, self.size, Kind.SERIAL, (bind, *each))
        kept = Var("b")

        def meet(at: Expr, column: Expr) -> list[Stmt]:
            slots = [kept + k * self.size for k in range(ROWS)]
            sums = [self.sums.load(s, at, column) for s in slots]
            return self._put(kept, c, at, column, self.counter.tree(sums))

        meeting = For(kept, self.size, Kind.SERIAL, tuple(self.sweep(meet)))
        return [For(i, ROWS, Kind.SERIAL, (inner,)), meeting]

    def _rows_direct(self, b: Expr, lane: Expr, count: int) -> list[Stmt]:
        """A kept lane of a row of at most LANES elements, `count` of which are its own."""

        def body(at: Expr, column: Expr) -> list[Stmt]:
            inside: list[Stmt] = []
            values: list[Components] = []
            for k in range(count):
                before, value = self.reduction._element(lane + k * KEEP, at, column)
                inside += before
                values.append(value)
            total = self.counter.tree(values) if values else self.counter.neutral
            return [*inside, *self._put(b, const(0), at, column, total)]

        return self.sweep(body)

    def _sum(self, slot: Expr, first: Expr, count: int) -> list[Stmt]:
        """Sweeps that leave the left fold of `count` elements, LANES apart, in a slot of `sums`."""
        at_once = AT_ONCE if self.reduction.cheap else ROWS
        result: list[Stmt] = []
        for start in range(0, max(count, 1), at_once):
            these = min(at_once, count - start)

            def body(at: Expr, column: Expr, start: int = start, these: int = these) -> list[Stmt]:
                if these == 0:
                    return self.sums.store(slot, at, column, self.counter.neutral)
                before = self.sums.load(slot, at, column) if start else None
                row = first + start * LANES if start else first
                inside, total = self.reduction._fold(row, LANES, these, at, column, before)
                return [*inside, *self.sums.store(slot, at, column, total)]

            result += self.sweep(body)
        return result

    def _put(self, b: Expr, c: Expr, at: Expr, column: Expr, total: Components) -> list[Stmt]:
        """Keeps a kept lane of chunk c: in its place, or in the counter."""
        if self.per == 1:
            return self.held.store(self.block * KEEP + (self.first + b), at, column, total)
        return self.counter.merge(self.levels.buffers, self._level(b, at, column), c, total)

    def _level(self, b: Expr, at: Expr, column: Expr) -> At:
        return lambda k: self.levels.index(k * self.size + b, at, column)

    def _collect(self, count: int | Expr) -> list[Stmt]:
        """The counters' values."""
        b = Var("b")

        def body(at: Expr, column: Expr) -> list[Stmt]:
            level = self._level(b, at, column)
            inside, total = self.counter.collect(self.levels.buffers, level, count)
            slot = self.block * KEEP + (self.first + b)
            return [*inside, *self.held.store(slot, at, column, total)]

        return [For(b, self.size, Kind.SERIAL, tuple(self.sweep(body)))]


def _nothing(at: Expr, column: Expr) -> Found:
    return [], ()


def _loop(tile: Tile) -> Loop:
    return Loop(tile.number, tile.tiles)


def _positions(loops: Sequence[Loop], position: Expr) -> dict[Var, Expr]:
    """The variables of a nest at a row-major position."""
    found: dict[Var, Expr] = {}
    for loop in reversed(loops[1:]):
        found[loop.var] = apply("remainder", position, const(loop.extent))
        position = apply("quotient", position, const(loop.extent))
    if loops:
        found[loops[0].var] = position
    return found


def _sections(regions: Sequence[tuple[Body, Stmt]]) -> list[Section]:
    """The regions of a row program, each with the statements of one column behind it."""
    found: list[tuple[Body, Reduce | For | None, list[Stmt]]] = [((), None, [])]
    for before, s in regions:
        if isinstance(s, (Reduce, For)) and not is_element_loop(s):
            found.append((before, s, []))
        else:
            found[-1][2].append(s)
    result: list[Section] = []
    used: set[Var] = set()
    for before, region, after in reversed(found):
        defined = list(region.results) if isinstance(region, Reduce) else []
        defined += [v for s in after for v in bound(s)]
        result.append(Section(before, region, tuple(after), tuple(v for v in defined if v in used)))
        here = [*before, *([region] if region is not None else []), *after]
        nodes = postorder([e for s in walk(tuple(here)) for e in expressions(s)])
        used |= {n for n in nodes if isinstance(n, Var)}
    return result[::-1]
