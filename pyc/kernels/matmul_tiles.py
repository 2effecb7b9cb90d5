"""Matrix products of half types and float64 by the tensor-core step, for targets that have it.

    a block has a warp that brings tiles, and two groups of four warps that multiply them
      producer: for each block of terms, into the next of STAGES pairs of tiles in shared memory,
                one thread starts the asynchronous copies when the pair is free
      consumer: waits for the pair, multiplies, frees it; at the end the accumulators go through
                shared memory, 32 columns at a time, so that neighbouring threads store neighbours

Half products are exact in the float32 accumulators; their sums are the hardware's, so that the
error is bounded (docs/numerics.md) and the bits are the same in every run on one device, but not
those of another device. What a tile has outside of the operands is zero.
"""

from __future__ import annotations

from math import prod

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.element import widened
from pyc.ir.expr import Expr, Load, Var, apply, const
from pyc.ir.loops import (
    Alloc,
    Barrier,
    Body,
    Buffer,
    Copy,
    For,
    If,
    Kernel,
    Kind,
    Let,
    PhasedBarrier,
    Role,
    Signal,
    Space,
    Stmt,
    Store,
    TileMultiply,
    Wait,
)
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.contraction import Epilogue
from pyc.kernels.operand import NO_MATRIX_PRODUCT, Dimensions, Operand, is_matrix_product

ROWS = 128
"""Rows of a block's tile: 64 for each group of consumer warps."""
GROUP = 4
"""Warps that multiply together."""
CONSUMERS = 2
CONSUMER = Role("consumer", 0, CONSUMERS * GROUP)
PRODUCER = Role("producer", CONSUMERS * GROUP, 1)
WARP = 32
HELD = 16
"""Neighbouring rows of accumulators that one warp holds."""
PAD = 8
"""Elements between the rows of a part: its 64-bit stores meet no bank conflict."""
FOUR = 4
TOGETHER = 8
"""Row tiles whose blocks follow each other, so that they share columns in the cache."""
BARRIER_BYTES = 2048
"""Room for barriers, and what the hardware keeps of each block."""
MOST_STAGES = 8
MULTIPROCESSORS = 132
"""What the shapes are chosen for (H100 and H200, SXM); others run them as well."""
MINIMUM_TERMS = 32
MINIMUM_RESULTS = 32 * 32
PITCH_BYTES = 16
"""What the rows of an operand must be a multiple of for the copies."""
LINE_BYTES = 128
"""What the copies are quick for."""
WORTH_ROWS = 1 << 27
"""Products from which copying an operand into rows is quicker than another nest."""
LINE_WORK = 1 << 32
LINE_READS = 1024
"""Products, and how often an element is read, from which copying into lines is worth while."""
MAX_RANK = 5


def refusal_of_tiles(types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target) -> str:
    """Why this nest cannot or should not do the contraction; empty if it should."""
    a, b = types
    if not target.tile_multiply:
        return "the target has no tensor cores of its kind"
    if a.dtype not in (dt.f16, dt.bf16, dt.f64):
        return f"it is for float16, bfloat16 and float64, not {a.dtype.name}"
    if not is_matrix_product(types, dimensions):
        return NO_MATRIX_PRODUCT
    (_, _), (a_batch, _) = dimensions
    left, right = operands_of(types, dimensions)
    if left.terms < MINIMUM_TERMS or left.extent * right.extent < MINIMUM_RESULTS:
        return (
            f"{left.extent} x {right.extent} results of {left.terms} terms are few: it needs "
            f"{MINIMUM_RESULTS} results and {MINIMUM_TERMS} terms"
        )
    if a.rank > MAX_RANK:
        return f"the copies take operands of {MAX_RANK} axes, not {a.rank}"
    work = left.extent * right.extent * left.terms * prod(a.shape[k] for k in a_batch)
    for name, operand, type in (("first", left, a), ("second", right, b)):
        if not _in_rows(operand, PITCH_BYTES) and work < WORTH_ROWS:
            return (
                f"the {name} operand, {type}, is no stack of matrices whose rows a copy takes, and "
                f"{work} products are few: one into rows is worth {WORTH_ROWS}"
            )
    return ""


def operands_of(types: tuple[ArrayType, ...], dimensions: Dimensions) -> tuple[Operand, Operand]:
    """Both operands of a matrix product, as they lie in memory."""
    (a_contract, b_contract), (a_batch, b_batch) = dimensions
    return (
        Operand("a", types[0], a_contract[0], a_batch),
        Operand("b", types[1], b_contract[0], b_batch),
    )


def _in_rows(operand: Operand, multiple: int) -> bool:
    """Whether the operand is a stack of matrices whose rows are a multiple of so many bytes."""
    last = operand.buffer.shape[-1]
    assert isinstance(last, int)
    return operand.stacked and last * operand.buffer.dtype.itemsize % multiple == 0


def rows_for_tiles(
    types: tuple[ArrayType, ...], dimensions: Dimensions
) -> tuple[tuple[Operand, Operand], tuple[tuple[int, Kernel], ...]]:
    """What this nest reads for each operand, and the copies into rows that it takes before: the
    operand's number and a kernel over (operand, rows). The asynchronous copies cannot take
    an operand that is no stack of rows of 16 bytes; rows that are no multiple of 128 take them
    nearly twice as long, which is worth a copy where an element is read often."""
    operands = operands_of(types, dimensions)
    (_, _), (a_batch, _) = dimensions
    extents = [operand.extent for operand in operands]
    work = prod(extents) * operands[0].terms * prod(types[0].shape[k] for k in a_batch)
    copies = []
    found = []
    for k, operand in enumerate(operands):
        often = work >= LINE_WORK and extents[1 - k] >= LINE_READS
        if _in_rows(operand, LINE_BYTES if often else PITCH_BYTES):
            found.append(operand)
            continue
        rows, copy = operand.in_rows(LINE_BYTES // operand.buffer.dtype.itemsize)
        found.append(rows)
        copies.append((k, copy))
    return (found[0], found[1]), tuple(copies)


@frozen()
class Shape:
    """How a block works. columns: of its tile; blocks: how many a multiprocessor holds at once, so
    that one multiplies while another stores; part: columns that are stored at a time; rate: columns
    that a multiprocessor does in the time of one column of the widest tile (measured on an H200:
    the narrower the tile, the more often operands are read)."""

    columns: int
    blocks: int
    part: int
    rate: float


SHAPES = (Shape(256, 1, 32, 1.0), Shape(128, 2, 16, 0.92), Shape(64, 2, 16, 0.58))


TURNS = Shape(128, 1, 16, 0.96)
"""For groups of consumers that take tiles in turn."""
WORTH_TURNS = 2 * MULTIPROCESSORS
"""Tiles from which they do: each group has one to store while the other multiplies."""
WIDE_SHAPES = (Shape(96, 1, 16, 1.0), Shape(64, 1, 16, 0.9))
"""For float64."""


def shape_of(tiles: int, extent: int, shapes: tuple[Shape, ...] = SHAPES) -> Shape:
    """The shape that should be the quickest: rounds of tiles over the multiprocessors, by the time
    of a tile. tiles: how many tiles of ROWS rows there are for one column of tiles; extent: columns
    of the result."""

    def cost(shape: Shape) -> float:
        rounds = -(-tiles * -(-extent // shape.columns) // MULTIPROCESSORS)
        return rounds * shape.columns / shape.rate

    return min(shapes, key=cost)


def matmul_tiles(
    types: tuple[ArrayType, ...],
    target: Target,
    epilogue: Epilogue | None = None,
    *,
    dimensions: Dimensions,
    result: DType | None = None,
    operands: tuple[Operand, Operand] | None = None,
) -> Kernel:
    """The scheduled kernel of `dot_general` over buffers (a, b, the epilogue's, out). operands:
    what it reads instead of a and b, behind these buffers where it is another buffer."""
    originals = operands_of(types, dimensions)
    made = _Product(types, dimensions, target, epilogue, result, operands or originals)
    body = made.in_turns() if made.turns else made.together()
    copied = [e.buffer for e in made.operands if e.buffer.role != "in"]
    given = [
        original.buffer if operand.buffer in copied else operand.buffer
        for original, operand in zip(originals, made.operands, strict=True)
    ]
    between = () if epilogue is None else epilogue.buffers
    buffers = (*given, *between, made.out, *copied)
    phased = [PhasedBarrier(made.full, 1), PhasedBarrier(made.free, made.readers)]
    if made.turns:
        phased.append(PhasedBarrier(made.order, GROUP))
    return Kernel("matmul", buffers, body, phased=tuple(phased))


@frozen()
class _Tile:
    """Where a tile of the result stands: batch, first row, first column; lets: what binds them."""

    batch: tuple[Var, ...]
    row: Var
    column: Var
    lets: tuple[Stmt, ...]


class _Product:
    """The parts of the kernel. turns: whether the groups of consumers take tiles in turn, so that
    one stores while the other multiplies; readers: warps that read a stage."""

    def __init__(
        self,
        types: tuple[ArrayType, ...],
        dimensions: Dimensions,
        target: Target,
        epilogue: Epilogue | None,
        result: DType | None,
        operands: tuple[Operand, Operand],
    ) -> None:
        (_, _), (a_batch, _) = dimensions
        self.dtype = types[0].dtype
        self.operands = operands
        self.a, self.b = operands
        self.epilogue = epilogue
        self.batch = tuple(types[0].shape[k] for k in a_batch)
        self.m, self.n = self.a.extent, self.b.extent
        self.depth = LINE_BYTES // self.dtype.itemsize
        self.steps = -(-self.a.terms // self.depth)
        self.high = -(-self.m // ROWS)
        stacked = prod(self.batch) * self.high
        shapes = WIDE_SHAPES if self.dtype is dt.f64 else SHAPES
        self.shape = shape_of(stacked, self.n, shapes)
        in_turns = -(-self.n // TURNS.columns) * stacked
        self.turns = epilogue is not None and self.dtype.is_half and in_turns >= WORTH_TURNS
        if self.turns:
            self.shape = TURNS
        self.readers = GROUP if self.turns else CONSUMER.warps
        self.wide = -(-self.n // self.shape.columns)
        self.tiles = stacked * self.wide
        self.accumulator = widened(self.dtype)
        parts = CONSUMERS if self.turns else 1
        pitch = self.shape.part + PAD
        room = target.shared_bytes // self.shape.blocks - BARRIER_BYTES
        room -= parts * ROWS * pitch * self.accumulator.itemsize
        self.stage_bytes = (ROWS + self.shape.columns) * LINE_BYTES
        stages = min(room // self.stage_bytes, MOST_STAGES)
        self.stages = stages
        left, right = (ROWS, self.depth), (self.shape.columns, self.depth)
        self.left_tile = left if self.a.along_terms else left[::-1]
        self.right_tile = right if self.b.along_terms else right[::-1]
        self.left = self._shared("tile_a", (stages, *self.left_tile))
        self.right = self._shared("tile_b", (stages, *self.right_tile))
        self.parts = [
            Buffer(
                *("part", self.accumulator, (ROWS, self.shape.part), Space.SHARED),
                strides=(pitch, 1),
                alignment=128,
            )
            for _ in range(parts)
        ]
        self.full = Buffer("full", dt.i64, (stages,), Space.SHARED)
        self.free = Buffer("free", dt.i64, (stages,), Space.SHARED)
        self.order = Buffer("order", dt.i64, (CONSUMERS,), Space.SHARED)
        self.product_type = result or self.dtype
        out_type = self.product_type if epilogue is None else epilogue.value.dtype
        self.out = Buffer("out", out_type, (*self.batch, self.m, self.n), role="out")
        self.block, self.warp, self.lane = Var("block"), Var("warp"), Var("lane")

    def _shared(self, name: str, shape: tuple[int, ...]) -> Buffer:
        return Buffer(name, self.dtype, shape, Space.SHARED, alignment=1024)

    def together(self) -> Body:
        """Both groups of consumers multiply one tile, one for each block."""
        tile = self._tile(self.block)
        step = Var("step")
        producer = self._one_thread(
            For(step, self.steps, Kind.SERIAL, self._bring(tile, step, step))
        )
        step = Var("step")
        sums = Buffer("sums", self.accumulator, (ROWS, self.shape.columns), Space.REGISTER)
        stage = Var("stage")
        multiply: Body = (
            *self._stage(step, stage),
            self._product(sums, stage, step.equal(0)),
            Barrier("warp"),
            self._one_thread(Signal(self.free, (stage,))),
        )
        stored = self._stores(tile, sums, self.parts[0], CONSUMER)
        consumer: Body = (For(step, self.steps, Kind.SERIAL, multiply), stored)
        body: Body = (
            *tile.lets,
            If(None, (producer,), role=PRODUCER),
            If(None, (Alloc(sums, consumer),), role=CONSUMER),
        )
        return self._block(body, self.tiles)

    def in_turns(self) -> Body:
        """A block for each multiprocessor, whose groups of consumers take its tiles in turn: while
        one stores a tile, the other multiplies the next. Products of a group follow each other
        without a wait, and a stage is freed when the next product was started. Before its last
        product a group says that the other may start: it must not be further ahead, where it could
        take an earlier phase of a stage for its own."""
        blocks = min(self.tiles, MULTIPROCESSORS)
        turns = -(-self.tiles // blocks)
        turn, step = Var("turn"), Var("step")
        number = self.block + turn * blocks
        tile = self._tile(number)
        bring = self._bring(tile, turn * self.steps + step, step)
        brought: Body = (*tile.lets, For(step, self.steps, Kind.SERIAL, bring))
        producer = self._one_thread(
            For(turn, turns, Kind.SERIAL, (If(number < self.tiles, brought),))
        )
        body: list[Stmt] = [If(None, (producer,), role=PRODUCER)]
        for k in range(CONSUMERS):
            role = Role(f"consumer{k}", k * GROUP, GROUP)
            body.append(If(None, (self._consumer_in_turns(k, role, blocks, turns),), role=role))
        return self._block(tuple(body), blocks)

    def _consumer_in_turns(self, k: int, role: Role, blocks: int, turns: int) -> Stmt:
        pair, step = Var("pair"), Var("step")
        turn = pair * CONSUMERS + k
        number = self.block + turn * blocks
        tile = self._tile(number)
        sums = Buffer("sums", self.accumulator, (ROWS, self.shape.columns), Space.REGISTER)
        first = turn * self.steps
        stage, before, last = Var("stage"), Var("before"), self.steps - 1
        parity = apply("and", pair if k else pair + 1, const(1))
        go_on = Signal(self.order, (const(1 - k),))
        body: list[Stmt] = [*tile.lets, Wait(self.order, (const(k),), parity)]
        if last:
            free = (Let(before, self._place(first + step - 1)), Signal(self.free, (before,)))
            multiply: Body = (
                *self._stage(first + step, stage),
                self._product(sums, stage, step.equal(0), pending=1),
                Barrier("warp"),
                If(self.lane.equal(0) & (step > 0), free),
            )
            body.append(For(step, last, Kind.SERIAL, multiply))
        stage = Var("stage")
        body += [
            self._one_thread(go_on),
            *self._stage(first + last, stage),
            self._product(sums, stage, None if last else const(True, dt.b1)),
            Barrier("warp"),
        ]
        freed: list[Stmt] = [Signal(self.free, (stage,))]
        if last:
            freed.append(Signal(self.free, (self._place(first + last - 1),)))
        body.append(self._one_thread(*freed))
        body.append(self._stores(tile, sums, self.parts[k], role))
        mine = If(number < self.tiles, (Alloc(sums, tuple(body)),))
        return For(pair, -(-turns // CONSUMERS), Kind.SERIAL, (mine,))

    def _block(self, body: Body, blocks: int) -> Body:
        """The body of a block's threads, with what they share."""
        warps = PRODUCER.warps + CONSUMER.warps
        body = (For(self.warp, warps, Kind.WARP, (For(self.lane, WARP, Kind.THREAD, body),)),)
        order = (self.order,) if self.turns else ()
        for shared in (*order, self.free, self.full, *self.parts, self.right, self.left):
            body = (Alloc(shared, body),)
        return (For(self.block, blocks, Kind.GRID, body),)

    def _one_thread(self, *statements: Stmt) -> Stmt:
        return If(self.lane.equal(0), statements)

    def _tile(self, number: Expr) -> _Tile:
        """Where tile `number` stands: rows of tiles follow each other, TOGETHER at a time."""
        batch = tuple(Var(f"n{k}") for k in range(len(self.batch)))
        row, column = Var("first_row"), Var("first_column")
        matrix = self.wide * self.high
        lets: list[Stmt] = []
        rest: Expr = apply("quotient", number, const(matrix))
        for var, extent in reversed(list(zip(batch, self.batch, strict=True))):
            lets.append(Let(var, apply("remainder", rest, const(extent))))
            rest = apply("quotient", rest, const(extent))
        number = apply("remainder", number, const(matrix))
        inside, above = Var("inside"), Var("above")
        here: Expr = const(TOGETHER)
        if self.high % TOGETHER:
            here = apply("minimum", const(self.high) - above, const(TOGETHER))
        lets += [
            Let(above, apply("quotient", number, const(TOGETHER * self.wide)) * TOGETHER),
            Let(inside, apply("remainder", number, const(TOGETHER * self.wide))),
            Let(row, (above + apply("remainder", inside, here)) * ROWS),
            Let(column, apply("quotient", inside, here) * self.shape.columns),
        ]
        return _Tile(batch, row, column, tuple(lets))

    def _place(self, number: Expr) -> Expr:
        """The stage of the pair of tiles `number`."""
        return apply("remainder", number, const(self.stages))

    def _phase(self, number: Expr) -> Expr:
        return apply("and", apply("quotient", number, const(self.stages)), const(1))

    def _stage(self, number: Expr, stage: Var) -> tuple[Stmt, ...]:
        """Binds the stage of a pair of tiles, and waits for it."""
        phase = Var("phase")
        lets = Let(stage, self._place(number)), Let(phase, self._phase(number))
        return (*lets, Wait(self.full, (stage,), phase))

    def _bring(self, tile: _Tile, number: Expr, step: Expr) -> Body:
        """Starts the copies of a pair of tiles when its stage is free."""
        stage, phase = Var("stage"), Var("phase")
        zero = const(0)
        term = step * self.depth
        copies = [
            Copy(
                *(shared, (stage, zero, zero)),
                *(operand.buffer, operand.index(tile.batch, first, term)),
                extents,
                asynchronous=True,
                signal=self.full,
                signal_index=(stage,),
            )
            for shared, operand, first, extents in (
                (self.left, self.a, tile.row, self.left_tile),
                (self.right, self.b, tile.column, self.right_tile),
            )
        ]
        return (
            Let(stage, self._place(number)),
            Let(phase, self._phase(number)),
            Wait(self.free, (stage,), const(1) - phase),
            Signal(self.full, (stage,), self.stage_bytes),
            *copies,
        )

    def _product(
        self, sums: Buffer, stage: Expr, first: Expr | None, pending: int = 0
    ) -> TileMultiply:
        index = (stage, const(0), const(0))
        return TileMultiply(
            *(sums, self.left, index, self.right, index),
            shape=(ROWS, self.shape.columns, self.depth),
            transpose_a=not self.a.along_terms,
            transpose_b=self.b.along_terms,
            first=first,
            pending=pending,
        )

    def _stores(self, tile: _Tile, sums: Buffer, part: Buffer, role: Role) -> Stmt:
        """Stores a tile, some columns at a time, through shared memory. A warp stores the rows that
        it holds: no other has to wait for it."""
        width, columns, n = self.shape.part, self.shape.columns, self.n
        number, row, column = Var("part"), Var("row"), Var("column")
        v, turn, share = Var("v"), Var("turn"), Var("share")
        # A thread's neighbours are in flight together: what is done with one hides behind others.
        each = FOUR if n % (2 * FOUR) or self.out.dtype.itemsize > 2 or self.turns else 2 * FOUR
        across = width // each
        tall = WARP // across
        held = share * (role.warps * HELD) + (self.warp - role.first_warp) * HELD
        local = held + turn * tall + apply("quotient", self.lane, const(across))
        at = apply("remainder", self.lane, const(across)) * each
        product = Load(part, (local, at + v)).cast(self.product_type)
        index = (*tile.batch, row, column + v)
        value = product if self.epilogue is None else self.epilogue.at(index, product)
        stored: Stmt = Store(self.out, index, value)
        if n % FOUR:
            stored = For(v, FOUR, Kind.UNROLL, (If(column + v < n, (stored,)),))
        else:
            stored = For(v, each, Kind.VECTOR, (stored,))
            if n % columns:
                stored = If(column < n, (stored,))
        stores: Body = (
            Let(row, tile.row + local),
            Let(column, tile.column + number * width + at),
            If(row < self.m, (stored,)) if self.m % ROWS else stored,
        )
        inner: Body = (For(turn, HELD // tall, Kind.SERIAL, stores),)
        shares = ROWS // (role.warps * HELD)
        inner = (For(share, shares, Kind.SERIAL, inner),)
        give: Body = (
            Copy(part, (const(0), const(0)), sums, (const(0), number * width), (ROWS, width)),
            Barrier("warp"),
            *inner,
            Barrier("warp"),
        )
        return For(number, columns // width, Kind.UNROLL, give)
