"""Matrix products of half types and float64 by the tensor-core step, for targets that have it.

    a block has a warp that brings tiles, and two groups of four warps that multiply them
      producer: for each block of terms, into the next of STAGES pairs of tiles in shared memory,
                one thread starts the asynchronous copies when the pair is free
      consumer: waits for the pair, multiplies, frees it; at the end the accumulators go through
                shared memory, 32 columns at a time, so that neighbouring threads store neighbours
    blocks of the widest tiles go from tile to tile: the producer is at the next one meanwhile

Half products are exact in the float32 accumulators; their sums are the hardware's, so that the
error is bounded (docs/numerics.md) and the bits are the same in every run on one device, but not
those of another device. What a tile has outside of the operands is zero.
"""

from __future__ import annotations

from collections.abc import Callable
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
RICH_CONSUMER = Role("consumer", 0, CONSUMERS * GROUP, registers=232)
POOR_PRODUCER = Role("producer", CONSUMERS * GROUP, GROUP, registers=40)
"""Of blocks that go from tile to tile: registers are given by four warps at a time."""
WARP = 32
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
    operand's number and a logical kernel over (operand, rows). The asynchronous copies cannot take
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
    that one multiplies while another stores; where it is one, that goes from tile to tile, and
    brings the next one's operands while it stores; part: columns that are stored at a time; rate:
    columns that a multiprocessor does in the time of one column of the widest tile (measured on an
    H200: the narrower the tile, the more often operands are read)."""

    columns: int
    blocks: int
    part: int
    rate: float

    @property
    def roles(self) -> tuple[Role, Role]:
        """The producer and the consumer."""
        return (POOR_PRODUCER, RICH_CONSUMER) if self.blocks == 1 else (PRODUCER, CONSUMER)


SHAPES = (Shape(256, 1, 32, 1.0), Shape(128, 2, 16, 0.92), Shape(64, 2, 16, 0.58))


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


class _Tile:
    """The tile with a number: its row, column and place in the stack, bound by `where`; before: the
    steps that its block has done before it."""

    def __init__(
        self, number: Expr, before: Expr, batch: tuple[int, ...], high: int, wide: int, columns: int
    ) -> None:
        self.before = before
        self.row, self.column = Var("first_row"), Var("first_column")
        self.batch = [Var(f"n{k}") for k in range(len(batch))]
        tile, within, above, inside = Var("tile"), Var("within"), Var("above"), Var("inside")
        where: list[Stmt] = [Let(tile, number)]
        rest: Expr = apply("quotient", tile, const(wide * high))
        for var, extent in reversed(list(zip(self.batch, batch, strict=True))):
            where.append(Let(var, apply("remainder", rest, const(extent))))
            rest = apply("quotient", rest, const(extent))
        rows_here: Expr = const(TOGETHER)
        if high % TOGETHER:
            rows_here = apply("minimum", const(high) - above, rows_here)
        where += [
            Let(within, apply("remainder", tile, const(wide * high))),
            Let(above, apply("quotient", within, const(TOGETHER * wide)) * TOGETHER),
            Let(inside, apply("remainder", within, const(TOGETHER * wide))),
            Let(self.row, (above + apply("remainder", inside, rows_here)) * ROWS),
            Let(self.column, apply("quotient", inside, rows_here) * columns),
        ]
        self.where = tuple(where)


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
    (_, _), (a_batch, _) = dimensions
    half = types[0].dtype
    originals = operands_of(types, dimensions)
    a, b = operands = operands or originals
    batch_extents = tuple(types[0].shape[k] for k in a_batch)
    m, n, terms = a.extent, b.extent, a.terms
    high = -(-m // ROWS)
    shapes = WIDE_SHAPES if half is dt.f64 else SHAPES
    shape = shape_of(prod(batch_extents) * high, n, shapes)
    depth = LINE_BYTES // half.itemsize
    accumulator = widened(half)
    columns, width = shape.columns, shape.part
    wide = -(-n // columns)
    steps = -(-terms // depth)
    stage_bytes = (ROWS + columns) * depth * half.itemsize
    part_bytes = ROWS * (width + PAD) * accumulator.itemsize
    room = target.shared_bytes // shape.blocks - part_bytes - BARRIER_BYTES
    stages = min(room // stage_bytes, MOST_STAGES)

    left_tile = (ROWS, depth) if a.along_terms else (depth, ROWS)
    right_tile = (columns, depth) if b.along_terms else (depth, columns)
    left = Buffer("tile_a", half, (stages, *left_tile), Space.SHARED, alignment=1024)
    right = Buffer("tile_b", half, (stages, *right_tile), Space.SHARED, alignment=1024)
    part = Buffer(
        "part", accumulator, (ROWS, width), Space.SHARED, strides=(width + PAD, 1), alignment=128
    )
    full = Buffer("full", dt.i64, (stages,), Space.SHARED)
    free = Buffer("free", dt.i64, (stages,), Space.SHARED)
    sums = Buffer("sums", accumulator, (ROWS, columns), Space.REGISTER)
    product_type = result or half
    out_type = product_type if epilogue is None else epilogue.value.dtype
    out = Buffer("out", out_type, (*batch_extents, m, n), role="out")

    block, warp, lane = Var("block"), Var("warp"), Var("lane")
    tiles = prod(batch_extents) * high * wide
    blocks = min(tiles, MULTIPROCESSORS) if shape.blocks == 1 else tiles
    producing, consuming = shape.roles

    def of_each_tile(body: Callable[[_Tile], Body]) -> Body:
        """What a role does for the tiles of its block."""
        extents = (batch_extents, high, wide, columns)
        if blocks == tiles:
            tile = _Tile(block, const(0), *extents)
            return (*tile.where, *body(tile))
        turn = Var("turn")
        count: Expr = const(tiles // blocks)
        if tiles % blocks:
            count = apply("quotient", const(tiles - 1) - block, const(blocks)) + 1
        tile = _Tile(turn * blocks + block, turn * steps, *extents)
        return (For(turn, count, Kind.SERIAL, (*tile.where, *body(tile))),)

    def ring(tile: _Tile, step: Var) -> tuple[Var, Var, Body]:
        """The stage of a step, the phase of its barriers, and the statements that bind them."""
        stage, phase, number = Var("stage"), Var("phase"), tile.before + step
        bound: Body = (
            Let(stage, apply("remainder", number, const(stages))),
            Let(phase, apply("and", apply("quotient", number, const(stages)), const(1))),
        )
        return stage, phase, bound

    def bring(tile: _Tile) -> Body:
        step = Var("step")
        stage, phase, bound = ring(tile, step)
        body: Body = (
            *bound,
            Wait(free, (stage,), const(1) - phase),
            Signal(full, (stage,), stage_bytes),
            *(
                Copy(
                    shared,
                    (stage, const(0), const(0)),
                    operand.buffer,
                    operand.index(tile.batch, first, step * depth),
                    extents,
                    asynchronous=True,
                    signal=full,
                    signal_index=(stage,),
                )
                for shared, operand, first, extents in (
                    (left, a, tile.row, left_tile),
                    (right, b, tile.column, right_tile),
                )
            ),
        )
        return (For(step, steps, Kind.SERIAL, body),)

    one_thread = apply("eq", lane, const(0))
    if producing.warps > 1:
        one_thread = one_thread & apply("eq", warp, const(producing.first_warp))
    producer = If(one_thread, of_each_tile(bring))

    # A thread's neighbours are in flight together: what is done with one hides behind the others.
    each = FOUR if n % (2 * FOUR) or out_type.itemsize > dt.bf16.itemsize else 2 * FOUR
    across = width // each
    tall = WARP // across
    held = ROWS // CONSUMER.warps

    def multiply_and_store(tile: _Tile) -> Body:
        step = Var("step")
        stage, phase, bound = ring(tile, step)
        multiply: Body = (
            *bound,
            Wait(full, (stage,), phase),
            TileMultiply(
                *(sums, left, (stage, const(0), const(0)), right, (stage, const(0), const(0))),
                shape=(ROWS, columns, depth),
                transpose_a=not a.along_terms,
                transpose_b=b.along_terms,
                first=apply("eq", step, const(0)),
            ),
            Barrier("warp"),
            If(apply("eq", lane, const(0)), (Signal(free, (stage,)),)),
        )
        number_of_part = Var("part")
        row, column, v, turn = Var("row"), Var("column"), Var("v"), Var("turn")
        # A warp stores the rows that it holds: no other has to wait for it.
        own = (warp - CONSUMER.first_warp) * held
        local = own + turn * tall + apply("quotient", lane, const(across))
        at = apply("remainder", lane, const(across)) * each
        product = Load(part, (local, at + v)).cast(product_type)
        index = (*tile.batch, row, column + v)
        value = product if epilogue is None else epilogue.at(index, product)
        stored: Stmt = Store(out, index, value)
        if n % FOUR:
            stored = For(v, FOUR, Kind.UNROLL, (If(column + v < n, (stored,)),))
        else:
            stored = For(v, each, Kind.VECTOR, (stored,))
            if n % columns:
                stored = If(column < n, (stored,))
        stores: Body = (
            Let(row, tile.row + local),
            Let(column, tile.column + number_of_part * width + at),
            If(row < m, (stored,)) if m % ROWS else stored,
        )
        columns_of_part = (const(0), number_of_part * width)
        give: Body = (
            Copy(part, (const(0), const(0)), sums, columns_of_part, (ROWS, width)),
            Barrier("warp"),
            For(turn, held // tall, Kind.SERIAL, stores),
            Barrier("warp"),
        )
        body: Body = (
            For(step, steps, Kind.SERIAL, multiply),
            For(number_of_part, columns // width, Kind.UNROLL, give),
        )
        return (Alloc(sums, body),)

    body: Body = (
        If(None, (producer,), role=producing),
        If(None, of_each_tile(multiply_and_store), role=consuming),
    )
    body = (For(lane, WARP, Kind.THREAD, body),)
    body = (For(warp, producing.warps + consuming.warps, Kind.WARP, body),)
    for shared in (free, full, part, right, left):
        body = (Alloc(shared, body),)
    grid = For(block, blocks, Kind.GRID, body)
    between = () if epilogue is None else epilogue.buffers
    phased = (PhasedBarrier(full, 1), PhasedBarrier(free, CONSUMER.warps))
    copied = [operand.buffer for operand in operands if operand.buffer.role != "in"]
    given = [
        original.buffer if operand.buffer in copied else operand.buffer
        for original, operand in zip(originals, operands, strict=True)
    ]
    buffers = (*given, *between, out, *copied)
    return Kernel("matmul", buffers, (grid,), phased=phased)
