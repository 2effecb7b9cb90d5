"""Matrix products on a CPU: a scheduled nest in shape-cut tiles with the accumulators in registers.

    for each task: a tile of up to TILE_ROWS rows and a panel of columns, or two     (parallel)
      for each block of DEPTH terms:
        the panel of b is packed into a buffer that stays in the caches, or, for some groups of
        rows, filled by the first of them, or, for few, read where it lies
        for each group of rows: an accumulator for each row and vector of the panel over the terms
        of the block, by fma

How many rows and vectors share the registers is what leaves fewest lanes idle (`register_tile`). Of
few columns, and rows that are neighbours in memory (`a.mT @ b`), the two change sides (`turned`).
Sums of a tile stay in a buffer between blocks, which are added in order, so bits depend on the
operands only (tasks never share an element). A sum of products of windows (`views`) is one nest: a
tile does one after the other, adding each to the sums so far, as the additions would. Rows that
share sets of the caches are copied before, for many tasks (`row_lines.py`). Ragged rows read the
last row again and do not store; ragged columns are masked. Half types are widened when packed and
read; the accumulator is float32, and the result is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from pyc.frozen import frozen
from pyc.ir.dtype import DType
from pyc.ir.element import widened
from pyc.ir.expr import Apply, Expr, Load, Var, apply, const, fma, minimum, postorder
from pyc.ir.loops import (
    Alloc,
    Body,
    Buffer,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Prefetch,
    Space,
    Stmt,
    Store,
)
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.contraction import Epilogue
from pyc.kernels.dot_columns import refusal_of_dot_columns
from pyc.kernels.few_columns import suits_few_columns
from pyc.kernels.few_rows import COLUMNS
from pyc.kernels.matmul_pairs import refusal_of_pairs
from pyc.kernels.operand import Axes, Dimensions, place_of
from pyc.kernels.over_terms import over_terms
from pyc.kernels.register_tile import register_tile
from pyc.kernels.row_lines import RowLines
from pyc.kernels.tasks import lanes_of
from pyc.kernels.term_streams import TermStream, is_far, panels_of_task
from pyc.kernels.windows import DEPTH, View

MOST_BESIDE = 15
"""The most columns that are beside one another, where rows are in vectors."""
STORED_APART = 2
"""What storing such a result costs beside an fma: its neighbours are in other vectors."""
TILE_ROWS = 512
"""The most rows of a tile, for which a panel is packed once; with DEPTH terms of a they fit in the
second-level cache."""
FEWEST_ROWS = 4
"""With fewer rows"""
CHAIN = 16
"""more terms, and"""
FEWEST_RESULTS = 8
"""fewer results, the generic nest is as quick where terms are neighbours: too few sums are under
way here."""
FEW_TERMS = 4
"""Terms from which idle rows cost little beside the others."""
PARALLEL_WORK = 1 << 20
PACKED_GROUPS = 16
"""Groups of rows up to which a panel is read where it lies: packing it would cost more."""
WIDENED_GROUPS = 2
"""The same where its elements are widened each time that they are read."""
FILLED_GROUPS = 3
"""Groups of rows from which, up to those, the first one leaves what it reads in a panel: NumPy's
arrays begin in the middle of a line, so each vector is in two, and rows that lie apart share sets
of the first-level cache. Of b as large as the next is: smaller ones stay there as they are."""
PANEL_BYTES = 3 << 14
"""The most of a panel that many groups of rows read: a first-level cache, and half of one more."""
NEAR_BYTES = 1 << 15
"""The same where vectors are whole: two fma of the widest a cycle take more from it than the cache
behind gives, so longer panels have half the terms."""
WIDE_TASKS = 16
"""Tasks from which panels may have four vectors and not two."""
SET_ROWS = 6
"""Rows of a in one group that may lie in one set of the first-level cache, of 8 or more ways."""
SMALL_BYTES = 1 << 14
"""The most bytes of a matrix that one to three rows are multiplied with here: `few_rows` reads
larger ones of some columns along their rows."""
SET_BYTES = 1 << 12
"""Lines that are multiples of this apart share a set of the first-level cache."""
FAR = 1 << 20
"""Bytes of a result from which its lines are asked for before they are written."""
TERMS_AHEAD = 16
"""How many terms before its use one is asked for where the terms of a lie apart: 400 cycles."""
TERMS_AT_ONCE = 2
"""Terms of a packed panel that are one behind the other, in products of"""
LINED_AT_ONCE = 8
"""The same where rows are copied before, with lines of a asked for among them."""
WRITTEN_OUT = 1 << 26
"""so many fma and more: they take longer to compile. Four terms are no quicker."""
STORED_LAST = 1 << 30
"""Fma from which the last of some blocks stores results and not sums, by code of its own."""
LINED_ROWS = 1024
"""The most rows of a tile where rows are copied before, those that share sets of the caches, for"""
LINED_TASKS = 64
"""such tasks and more, of panels of four vectors: fewer read the copy too seldom."""
TOGETHER = 4
"""Columns that are packed together where they lie apart: a divisor of the lanes of any vector."""
LINE = 64
"""Bytes of a line of the caches."""
LIGHT = 4
"""Instructions of an epilogue that is written out for each accumulator; longer ones run over the
sums of a tile."""


@frozen()
class _Shape:
    """A contraction as batched rows x terms times terms x columns; each a product of axes."""

    batch: Axes
    rows: Axes
    columns: Axes
    terms: Axes


def refusal(types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target) -> str:
    """Why this nest cannot or should not do the contraction; empty if it should."""
    a, b = types
    if not a.dtype.is_float or a.dtype.bits < 16:
        return f"it is for float16 and wider floats, not {a.dtype.name}"
    shape = _split(types, dimensions)
    if len(shape.terms) != 1 or len(shape.columns) != 1 or len(shape.rows) > 1:
        return "it is for at most one axis of rows, one of columns and one of terms"
    m, n, k = prod(shape.rows), shape.columns[0], shape.terms[0]
    if m < 1 or n < 2 or k < 2:
        return f"{m} rows and {n} columns of {k} terms are few: it needs 1, and 2 of 2"
    along = a.rank - 1 in dimensions[0][0]
    if m < FEWEST_ROWS and k > CHAIN and m * n < FEWEST_RESULTS and along:
        return (
            f"{m} x {n} results of {k} terms are few: it needs {FEWEST_RESULTS}, or at most "
            f"{CHAIN} terms"
        )
    across = b.rank - 1 in dimensions[0][1]
    large = n >= COLUMNS and n * k * b.dtype.itemsize > SMALL_BYTES
    if m < FEWEST_ROWS and (across or large):
        return f"{m} rows are few for a matrix that is large or whose columns lie apart"
    if not refusal_of_pairs(types, dimensions, target):
        return "the processor multiplies pairs of bfloat16"
    if suits_few_columns(types, dimensions, target):
        return f"{n} columns leave most lanes of a vector idle, and terms are neighbours in memory"
    if not refusal_of_dot_columns(types, dimensions, target):
        return f"{m} rows are few for columns whose terms are neighbours in memory"
    return ""


def _split(types: tuple[ArrayType, ...], dimensions: Dimensions) -> _Shape:
    a, b = types
    (a_contract, b_contract), (a_batch, b_batch) = dimensions
    a_free = [k for k in range(a.rank) if k not in (*a_contract, *a_batch)]
    b_free = [k for k in range(b.rank) if k not in (*b_contract, *b_batch)]
    return _Shape(
        tuple(a.shape[k] for k in a_batch),
        tuple(a.shape[k] for k in a_free),
        tuple(b.shape[k] for k in b_free),
        tuple(a.shape[k] for k in a_contract),
    )


def _other_way(dimensions: Dimensions) -> Dimensions:
    """The same pairs of axes, of b and a."""
    contract, batch = dimensions
    return contract[::-1], batch[::-1]


def _is_turned(types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target) -> bool:
    """Whether the rows of a are in vectors and the columns of b beside one another: the result is
    that of b.mT @ a.mT, stored the other way. Rows are neighbours in memory then."""
    a, _ = types
    shape = _split(types, dimensions)
    if len(shape.rows) != 1 or a.rank - 1 in (*dimensions[0][0], *dimensions[1][0]):
        return False
    (m,), (n,), (k,) = shape.rows, shape.columns, shape.terms
    if m < 1 or n < 1:
        return False
    lanes = [lanes_of(extent, widened(a.dtype).itemsize, target) for extent in (m, n)]
    apart = m * n * STORED_APART
    return n <= MOST_BESIDE and n * -(-m // lanes[0]) * k + apart < m * -(-n // lanes[1]) * k


@frozen()
class _Ends:
    """Whether a block of terms is the first (its sums start at 0), and the last (its sums are the
    result, which is stored); added: its sums are added to those of the tile; ahead: whether results
    come of the tile's sums behind it, whose lines are asked for. Conditions: they tell blocks."""

    first: bool = False
    last: Expr | bool = False
    added: bool = False
    ahead: Expr | bool = False


@frozen()
class _At:
    """A task, or a panel of one: its batch indices, first row and first column; panel: which of the
    task's panels it is."""

    batch: tuple[Expr, ...]
    row: Expr
    column: Expr
    panel: Expr = const(0)


class _Nest:
    def __init__(
        self,
        types: tuple[ArrayType, ...],
        dimensions: Dimensions,
        result: DType | None,
        target: Target,
        epilogue: Epilogue | None,
        views: tuple[View, View] | None,
        start: float,
    ) -> None:
        given = types if views is None else (views[0].windows.type, views[1].windows.type)
        buffers = tuple(
            Buffer(name, t.dtype, whole.shape, role="in")
            for name, t, whole in zip("ab", types, given, strict=True)
        )
        self.turned = _is_turned(types, dimensions, target)
        if self.turned:
            types, dimensions, buffers = types[::-1], _other_way(dimensions), buffers[::-1]
            views = views if views is None else views[::-1]
        a, b = types
        self.a, self.b = buffers
        self.types, self.dimensions = types, dimensions
        self.views, self.start = views, start
        self.parts = 1 if views is None else len(views[0].windows.starts)
        self.part: Expr = Var("part") if self.parts > 1 else const(0)
        self.accumulator = widened(a.dtype)
        shape = _split(types, dimensions)
        self.batch, self.row_axes = shape.batch, shape.rows
        (self.n,), (self.k,) = shape.columns, shape.terms
        self.m = prod(shape.rows)
        self.lanes = lanes_of(self.n, self.accumulator.itemsize, target)
        wide = target.registers >= 32 or target.vector_bytes >= 64
        self.depth = min(DEPTH, self.k)
        self.across = b.rank - 1 in dimensions[0][1]
        self.along = a.rank - 1 in dimensions[0][0]
        work = self.m * self.n * self.k * self.parts * prod(self.batch)
        lined = work >= STORED_LAST and target.whole_vectors and self._may_be_lined()
        tiles = -(-self.m // (LINED_ROWS if lined else TILE_ROWS))
        tile = -(-self.m // tiles)  # tiles of equal height
        vectors = -(-self.n // self.lanes)
        budget = 24 if wide else 12
        most = SET_ROWS if self._rows_share_sets() else budget
        preferred = 4 if wide and self.along and tiles * (vectors // 4) >= WIDE_TASKS else 2
        near = PANEL_BYTES // (self.depth * self.lanes * self.accumulator.itemsize)
        groups, self.rows, width = register_tile(
            tile, vectors, preferred, near, budget, most, self.k < FEW_TERMS
        )
        self.width = width * self.lanes
        self.tile = groups * self.rows
        self.panels = -(-self.n // self.width)
        in_place = PACKED_GROUPS if b.dtype is self.accumulator else WIDENED_GROUPS
        self.packs = self.across or groups > in_place
        panel = self.depth * self.width * self.accumulator.itemsize
        if self.packs and target.whole_vectors and panel > NEAR_BYTES and self.k > DEPTH:
            self.depth //= 2
        far = self.panels > 1 and self.depth * self.n * self.accumulator.itemsize > PANEL_BYTES
        self.fills = not self.packs and groups >= FILLED_GROUPS and far
        self.stream: TermStream | None = None
        if not self.packs and self._is_stream():
            together = panels_of_task(self.a, self.panels)
            self.stream = TermStream(self.a, self.depth, groups, self.rows, together)
        self.together = 1 if self.stream is None else self.stream.panels
        self.at_once = TERMS_AT_ONCE if self.packs and work >= WRITTEN_OUT else 1
        lines = self.at_once > 1 and self.along
        self.lines: RowLines | None = None
        self.run = LINE // a.dtype.itemsize if lines else self.at_once
        if lined and self.packs:
            self.run = LINE // self.accumulator.itemsize
            self.at_once = LINED_AT_ONCE
            every = -(-self.m // self.tile) * groups
            sizes = (self.m, self.k, every, self.rows, self.depth, self.run)
            self.lines = RowLines(self.accumulator, *sizes)
            self.copied = self.lines.buffer
        self.product = result or a.dtype
        self.epilogue = epilogue
        self.stores_last = work >= STORED_LAST and self._is_light()
        out_type = self.product if epilogue is None else epilogue.value.dtype
        free = (*shape.rows, self.n)
        free = free[::-1] if self.turned else free
        self.out = Buffer("out", out_type, (*self.batch, *free), role="out")
        self.panel = self._local("panel", self.depth, self.width)
        self.sums = self._local("sums", self.together * self.tile, self.width)

    def _local(self, name: str, *shape: int) -> Buffer:
        return Buffer(name, self.accumulator, shape, Space.STACK, alignment=64)

    def _may_be_lined(self) -> bool:
        """Whether rows of a that share sets of the caches, of whole blocks, are copied before."""
        tasks = -(-self.m // LINED_ROWS) * (self.n // (4 * self.lanes))
        plain = self.views is None and not self.batch and not self.turned and not self.k % DEPTH
        return plain and tasks >= LINED_TASKS and self._rows_share_sets()

    def _is_stream(self) -> bool:
        """Whether the rows of a are blocks of neighbours in memory, and come from there."""
        plain = self.views is None and not self.batch and not self.along
        return plain and self.k > self.depth and is_far(self.a)

    def _rows_share_sets(self) -> bool:
        """Whether neighbouring rows of a lie in the same set of the first-level cache."""
        if not self.along or not self.row_axes:
            return False
        a, axes = self.types[0], (*self.dimensions[0][0], *self.dimensions[1][0])
        (row,) = (k for k in range(a.rank) if k not in axes)
        apart = prod(a.shape[row + 1 :]) if self.views is None else self.views[0].apart(row)
        apart *= a.dtype.itemsize
        near = apart % SET_BYTES
        return apart >= SET_BYTES and min(near, SET_BYTES - near) < LINE

    def kernel(self) -> Kernel:
        """The scheduled kernel over (a, b, out)."""
        batch = tuple(Var(f"n{k}") for k in range(len(self.batch)))
        tile, panel = Var("tile"), Var("panel")
        body = self._task(_At(batch, tile * self.tile, panel * (self.together * self.width)))
        # Panels of one tile are neighbours: its rows stay in a cache that threads share.
        loops = [*zip(batch, self.batch, strict=True), (tile, -(-self.m // self.tile))]
        loops.append((panel, self.panels // self.together))
        task, total = Var("task"), prod(extent for _, extent in loops)
        lets: list[Stmt] = []
        rest: Expr = task
        for var, extent in reversed(loops[1:]):
            lets.append(Let(var, apply("remainder", rest, const(extent))))
            rest = apply("quotient", rest, const(extent))
        lets.append(Let(loops[0][0], rest))
        work = self.m * self.n * self.k * self.parts * prod(self.batch)
        kind = Kind.PARALLEL if work >= PARALLEL_WORK else Kind.SERIAL
        nest = For(task, total, kind, (*lets, *body))
        between = () if self.epilogue is None else self.epilogue.buffers
        operands = (self.b, self.a) if self.turned else (self.a, self.b)
        copied = () if self.lines is None else (self.copied,)
        return Kernel("matmul", (*operands, *between, self.out, *copied), (nest,))

    # --- one task ---------------------------------------------------------------------------------

    def _task(self, at: _At) -> Body:
        if self.parts > 1:
            return self._task_of_parts(at)
        if self.k <= self.depth and self._is_light():
            return self._with_buffers(at, self._block(at, const(0), self.k, _Ends(True, True)))
        blocks, rest = divmod(self.k, self.depth)
        body = []
        if blocks == 1 and not rest:
            body += self._block(at, const(0), self.depth, _Ends(first=True))
        else:
            body += self._each_panel(at, self._no_sums)
            block = Var("block")
            last = False if rest else apply("eq", block, const(blocks - 1))

            def each(at: _At) -> list[Stmt]:
                return self._block(at, block * self.depth, self.depth, self._behind(last))

            def left(at: _At) -> list[Stmt]:
                return self._block(at, const(blocks * self.depth), rest, self._behind(True))

            body.append(For(block, blocks, Kind.SERIAL, tuple(self._each_panel(at, each))))
            if rest:
                body += self._each_panel(at, left)
        if not self.stores_last or (blocks == 1 and not rest):
            body += self._each_panel(at, self._results)
        return (Alloc(self.sums, self._with_buffers(at, body)),)

    def _each_panel(self, at: _At, body: Callable[[_At], list[Stmt]]) -> list[Stmt]:
        """`body` for each panel of a task."""
        if self.together == 1:
            return body(at)
        panel = Var("panel")
        here = _At(at.batch, at.row, at.column + panel * self.width, panel)
        return [For(panel, self.together, Kind.SERIAL, tuple(body(here)))]

    def _behind(self, last: Expr | bool) -> _Ends:
        """What is behind one of some blocks, or of all that a loop has."""
        return _Ends(last=last if self.stores_last else False, ahead=last)

    def _task_of_parts(self, at: _At) -> Body:
        """A task of a sum of products."""
        assert isinstance(self.part, Var)
        start = const(self.start, self.accumulator)
        block = self._block(at, const(0), self.k, _Ends(first=True, added=True))
        body = self._each_sum(lambda row, lane: (self._sum(at, row, lane, start),))
        body.append(For(self.part, self.parts, Kind.SERIAL, tuple(block)))
        body += self._results(at)
        return (Alloc(self.sums, self._with_buffers(at, body)),)

    def _with_buffers(self, at: _At, body: list[Stmt]) -> Body:
        if self.fills and self.n % self.width and self.together == 1:
            body = [*self._clear(at), *body]
        return (Alloc(self.panel, tuple(body)),) if self.packs or self.fills else tuple(body)

    def _clear(self, at: _At) -> list[Stmt]:
        """Zeros in the vectors of the last panel that the first group does not fill, unless another
        panel did: whole vectors are read, and a product with a subnormal that happens to be there
        takes a hundred times as long."""
        first = self.n % self.width // self.lanes * self.lanes
        lane, k = Var("lane"), Var("k")
        zero = Store(self.panel, (k, first + lane), self._zero())
        vector = For(lane, self.width - first, Kind.VECTOR, (zero,))
        last = at.column + self.width > self.n
        return [If(last, (For(k, self.depth, Kind.SERIAL, (vector,)),))]

    def _is_light(self) -> bool:
        """Whether the epilogue may stand once for each accumulator."""
        if self.epilogue is None:
            return True
        return sum(isinstance(e, Apply) for e in postorder([self.epilogue.value])) <= LIGHT

    def _zero(self) -> Expr:
        return const(0, self.accumulator)

    def _place_of_sum(self, at: _At, row: Expr, lane: Expr) -> tuple[Expr, ...]:
        return (row if self.together == 1 else at.panel * self.tile + row, lane)

    def _sum(self, at: _At, row: Expr, lane: Expr, value: Expr) -> Stmt:
        return Store(self.sums, self._place_of_sum(at, row, lane), value)

    def _sum_so_far(self, at: _At, row: Expr, lane: Expr) -> Expr:
        return Load(self.sums, self._place_of_sum(at, row, lane))

    def _no_sums(self, at: _At) -> list[Stmt]:
        """Sums of nothing."""
        return self._each_sum(lambda row, lane: (self._sum(at, row, lane, self._zero()),))

    def _results(self, at: _At) -> list[Stmt]:
        """Stores what the sums are in the end."""
        return self._each_sum(
            lambda row, lane: self._result(at, row, lane, self._sum_so_far(at, row, lane))
        )

    def _each_sum(self, body: Callable[[Expr, Expr], Body]) -> list[Stmt]:
        """`body` for every row and lane of a tile."""
        row, lane = Var("row"), Var("lane")
        vector = For(lane, self.width, Kind.VECTOR, body(row, lane))
        return [For(row, self.tile, Kind.SERIAL, (vector,))]

    def _inside(self, column: Expr, body: Body) -> Body:
        """`body` where the column is one."""
        return (If(column < self.n, body),) if self.n % self.width else body

    def _result(self, at: _At, row: Expr, lane: Expr, total: Expr) -> Body:
        """Stores an element of the result, if it is inside."""
        column = at.column + lane
        place = self._place(at, row, column)
        value = total.cast(self.product)
        if self.epilogue is not None:
            value = self.epilogue.at(place, value)
        body: Body = (Store(self.out, place, value),)
        if self.m % self.tile:
            body = (If(at.row + row < self.m, body),)
        return self._inside(column, body)

    def _block(self, at: _At, start: Expr, count: int, ends: _Ends) -> list[Stmt]:
        """The terms [start, start + count) of a task: into the sums, or the result if last."""
        packed = self._pack(at, start, count) if self.packs else []
        group = Var("group")
        inner = self._multiply(at, group, start, count, ends)
        each = [*self._group_ahead(at, group, ends), inner]
        return [*packed, For(group, self.tile // self.rows, Kind.SERIAL, tuple(each))]

    def _group_ahead(self, at: _At, group: Expr, ends: _Ends) -> list[Stmt]:
        """Brings the lines of a group's results closer, before they are copied from the sums."""
        if ends.ahead is False or not self._results_are_far():
            return []
        line = LINE // self.out.dtype.itemsize
        row, number = Var("row"), Var("number")
        column = at.column + number * line + (line - 1)
        place = self._place(at, group * self.rows + row, column)
        lines = For(number, self.width // line, Kind.SERIAL, (Prefetch(self.out, place),))
        rows = For(row, self.rows, Kind.SERIAL, (lines,))
        return [rows if ends.ahead is True else If(ends.ahead, (rows,))]

    def _multiply(self, at: _At, group: Expr, start: Expr, count: int, ends: _Ends) -> Stmt:
        """The rows of a group of a tile times the panel."""
        lane = Var("lane")
        first = group * self.rows
        row = [first + r for r in range(self.rows)]
        column = at.column + lane
        initial = [self._zero() if ends.first else self._sum_so_far(at, r, lane) for r in row]

        def added(first: Expr | None, within: Expr, sums: list[Expr]) -> tuple[Body, list[Expr]]:
            k = within if first is None else first + within
            ahead, b = self._term(at, group, start, k, lane)
            if self.lines is None:
                a = [self._element(self.a, 0, at, self._row(at, r), start + k) for r in row]
            else:
                run = const(0) if first is None else first
                places = self.lines.places(at.row + row[0], start, run, within)
                a = [Load(self.copied, (place,)) for place in places]
            return ahead, [fma(x, b, total) for x, total in zip(a, sums, strict=True)]

        def before(k: Expr, terms: int) -> Body:
            return self._rows_ahead(at, row[0], start + k, terms) if self.packs else ()

        def part(first: Expr, number: Expr, parts: int) -> Body:
            assert self.lines is not None
            beyond = self.lines.run(at.row + row[0] + self.rows, start, first)
            share = -(-self.rows // parts)
            lines = [number * share + r for r in range(share)]
            if share * parts > self.rows:
                lines = [minimum(r, const(self.rows - 1)) for r in lines]
            return tuple(Prefetch(self.copied, (beyond + r * self.run,)) for r in lines)

        lined = None if self.lines is None else part
        terms, results = over_terms(count, self.run, self.at_once, before, added, initial, lined)
        stored: list[Stmt] = []
        summed: list[Stmt] = []
        for r in range(self.rows):
            total = self._sum_so_far(at, row[r], lane) + results[r] if ends.added else results[r]
            stored += self._result(at, row[r], lane, results[r])
            summed.append(self._sum(at, row[r], lane, total))
        body = [*terms]
        if ends.last is True:
            body = [*(() if ends.ahead else self._results_ahead(at, row)), *terms, *stored]
        elif ends.last is False:
            body += summed
        else:
            body.append(If(ends.last, tuple(stored), tuple(summed)))
        inside = tuple(body) if self.packs else self._inside(column, tuple(body))
        return For(lane, self.width, Kind.VECTOR, inside)

    def _term(self, at: _At, group: Expr, start: Expr, k: Expr, lane: Expr) -> tuple[Body, Expr]:
        """The k-th term of a block: what is done before it is multiplied, and its element of b."""
        if self.packs:
            return (), Load(self.panel, (k, lane))
        element = self._element(self.b, 1, at, at.column + lane, start + k)
        ahead = self._ahead(at, start + k)
        piece: Body = ()
        if self.stream is not None:
            piece = self.stream.next_piece(at.panel, group, start, k)
        if not self.fills:
            return (*piece, *ahead), element
        fill = If(apply("eq", group, const(0)), (*ahead, Store(self.panel, (k, lane), element)))
        return (*piece, fill), Load(self.panel, (k, lane))

    def _row(self, at: _At, row: Expr) -> Expr:
        """The number of a row of a tile in a; of the last one for those beyond."""
        return minimum(at.row + row, const(self.m - 1)) if self.m % self.tile else at.row + row

    def _ahead(self, at: _At, term: Expr) -> Body:
        """Brings a row of the next panel closer: rows are far apart, so the processor does not.
        Behind the last panel comes the first of the next matrix of a batch. Where a is a stream,
        the panel's own terms to come."""
        batch, first = at.batch, at.column + self.width
        if self.stream is not None:
            term, first = term + TERMS_AHEAD, at.column
        elif self.turned or (self.panels == 1 and not self.batch):
            return ()
        elif batch:
            beyond = const(self.panels * self.width)
            batch = (*batch[:-1], batch[-1] + apply("quotient", first, beyond))
            first = apply("remainder", first, beyond)
        line = LINE // self.b.dtype.itemsize
        # The last element of each: where rows begin in the middle of a line, the first is here.
        columns = range(line - 1, self.width, line)
        return tuple(Prefetch(self.b, self._where(1, batch, first + c, term)) for c in columns)

    def _results_are_far(self) -> bool:
        """Whether no cache is likely to hold the lines of a result, which are runs of a row."""
        nbytes = prod(n for n in self.out.shape if isinstance(n, int)) * self.out.dtype.itemsize
        return nbytes >= FAR and not self.turned

    def _results_ahead(self, at: _At, rows: list[Expr]) -> list[Stmt]:
        """Brings the lines of a group's results closer, which come from memory while its terms are
        multiplied: a store that finds no line holds up those behind it."""
        if not self._results_are_far():
            return []
        line = LINE // self.out.dtype.itemsize
        return [
            Prefetch(self.out, self._place(at, row, at.column + c))
            for row in rows
            for c in range(line - 1, self.width, line)
        ]

    def _place(self, at: _At, row: Expr, column: Expr) -> tuple[Expr, ...]:
        """Where an element of the result stands, of a row of the tile and a column."""
        free = (at.row + row, column) if self.row_axes else (column,)
        return (*at.batch, *(free[::-1] if self.turned else free))

    def _rows_ahead(self, at: _At, row: Expr, term: Expr, terms: int) -> Body:
        """Brings what follows of a closer, once for so many terms: the next group's rows, each a
        run of its own in memory; where a term is a run, the terms to come of these rows."""
        if self.k < DEPTH:
            return ()
        last = const(self.rows - 1)
        places: list[tuple[Expr, Expr]]
        if self.along:
            # Each row's line once in as many terms as a line has: loads would wait for more.
            line = LINE // self.a.dtype.itemsize
            turn: Expr = apply("remainder", term, const(line)) if terms == 1 else const(0)
            some = range(0, self.rows, line if terms == 1 else 1)
            rows = [minimum(turn + first, last) if terms == 1 else const(first) for first in some]
            places = [(row + self.rows + r, term - turn) for r in rows]
        else:
            ends = (row, row + last)
            places = [(r, term + k + TERMS_AHEAD) for k in range(terms) for r in ends]
        return tuple(Prefetch(self.a, self._where(0, at.batch, at.row + r, k)) for r, k in places)

    def _pack(self, at: _At, start: Expr, count: int) -> list[Stmt]:
        """The block's terms of a panel, zero beyond the last column."""
        lane, k = Var("lane"), Var("k")
        if self.across:
            return self._pack_across(at, start, count)
        column = at.column + lane
        element = self._element(self.b, 1, at, column, start + k)
        fill: list[Stmt] = [Store(self.panel, (k, lane), element)]
        if self.n % self.width:
            zero = Store(self.panel, (k, lane), self._zero())
            fill = [zero, If(column < self.n, tuple(fill))]
        vector = For(lane, self.width, Kind.VECTOR, tuple(fill))
        return [For(k, count, Kind.SERIAL, (vector,))]

    def _pack_across(self, at: _At, start: Expr, count: int) -> list[Stmt]:
        """The same where neighbouring terms are neighbours in memory: read along them, one by one,
        of TOGETHER columns at a time; those beyond the last are its copies. Vectors along the
        columns would be gathers, whose lines often share a cache set."""
        some, k = Var("some"), Var("k")
        body: list[Stmt] = []
        for c in range(TOGETHER):
            ahead = at.column + (some + 1) * TOGETHER + c
            body.append(Prefetch(self.b, self._where(1, at.batch, ahead, start + k)))
            lane = some * TOGETHER + c
            column = at.column + lane
            if self.n % self.width:
                column = minimum(column, const(self.n - 1))
            body.append(
                Store(self.panel, (k, lane), self._element(self.b, 1, at, column, start + k))
            )
        terms = For(k, count, Kind.SERIAL, tuple(body))
        return [For(some, self.width // TOGETHER, Kind.SERIAL, (terms,))]

    def _element(self, buffer: Buffer, side: int, at: _At, free: Expr, term: Expr) -> Expr:
        """An element of an argument at (batch, free axis, contracted axis), widened."""
        place = self._where(side, at.batch, free, term)
        return Load(buffer, place).cast(self.accumulator)

    def _where(self, side: int, batch: Sequence[Expr], free: Expr, term: Expr) -> tuple[Expr, ...]:
        """Where an element of an argument lies."""
        contract, batch_axes = self.dimensions[0][side], self.dimensions[1][side]
        place = place_of(self.types[side].rank, contract, batch_axes, batch, free, term)
        return place if self.views is None else self.views[side].place(self.part, place)


def copies(
    types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target
) -> tuple[tuple[int, Kernel], ...]:
    """What runs before the kernel of a contraction: the operand's number, and a logical kernel over
    (the operand, a copy), which is a further buffer of the contraction's."""
    nest = _Nest(types, dimensions, None, target, None, None, -0.0)
    return () if nest.lines is None else ((0, nest.lines.copy(nest.a)),)


def matmul(
    types: tuple[ArrayType, ...],
    target: Target,
    epilogue: Epilogue | None = None,
    *,
    dimensions: Dimensions,
    result: DType | None = None,
    views: tuple[View, View] | None = None,
    start: float = -0.0,
) -> Kernel:
    """The scheduled kernel of a contraction that it does not refuse, over buffers (a, b, the
    epilogue's, out). views: where the arguments of a sum of such contractions lie in (a, b); of
    several, an argument has at most DEPTH terms, and the result the type that sums are in; start:
    what the first of several is added to."""
    return _Nest(types, dimensions, result, target, epilogue, views, start).kernel()
