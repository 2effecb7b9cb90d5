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
    that one multiplies while another stores; part: columns that are stored at a time; rate: columns
    that a multiprocessor does in the time of one column of the widest tile (measured on an H200:
    the narrower the tile, the more often operands are read)."""

    columns: int
    blocks: int
    part: int
    rate: float


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
    first_row, first_column = Var("first_row"), Var("first_column")
    batch = [Var(f"n{k}") for k in range(len(batch_extents))]

    where: list[Stmt] = []
    rest: Expr = apply("quotient", block, const(wide * high))
    for var, extent in reversed(list(zip(batch, batch_extents, strict=True))):
        where.append(Let(var, apply("remainder", rest, const(extent))))
        rest = apply("quotient", rest, const(extent))
    number = apply("remainder", block, const(wide * high))
    inside, above = Var("inside"), Var("above")
    together = apply("minimum", const(high) - above, const(TOGETHER)) if high % TOGETHER else None
    rows_here = const(TOGETHER) if together is None else together
    where += [
        Let(above, apply("quotient", number, const(TOGETHER * wide)) * TOGETHER),
        Let(inside, apply("remainder", number, const(TOGETHER * wide))),
        Let(first_row, (above + apply("remainder", inside, rows_here)) * ROWS),
        Let(first_column, apply("quotient", inside, rows_here) * columns),
    ]

    step, stage, phase = Var("step"), Var("stage"), Var("phase")
    bring: Body = (
        Let(stage, apply("remainder", step, const(stages))),
        Let(phase, apply("and", apply("quotient", step, const(stages)), const(1))),
        Wait(free, (stage,), const(1) - phase),
        Signal(full, (stage,), stage_bytes),
        Copy(
            left,
            (stage, const(0), const(0)),
            a.buffer,
            a.index(batch, first_row, step * depth),
            left_tile,
            asynchronous=True,
            signal=full,
            signal_index=(stage,),
        ),
        Copy(
            right,
            (stage, const(0), const(0)),
            b.buffer,
            b.index(batch, first_column, step * depth),
            right_tile,
            asynchronous=True,
            signal=full,
            signal_index=(stage,),
        ),
    )
    one_thread = apply("eq", lane, const(0))
    producer = If(one_thread, (For(step, steps, Kind.SERIAL, bring),))

    step, stage, phase = Var("step"), Var("stage"), Var("phase")
    multiply: Body = (
        Let(stage, apply("remainder", step, const(stages))),
        Let(phase, apply("and", apply("quotient", step, const(stages)), const(1))),
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
    consumer: list[Stmt] = [For(step, steps, Kind.SERIAL, multiply)]
    number_of_part = Var("part")
    row, column, v, turn = Var("row"), Var("column"), Var("v"), Var("turn")
    # A thread's neighbours are in flight together: what is done with one hides behind the others.
    each = FOUR if n % (2 * FOUR) or out_type.itemsize > dt.bf16.itemsize else 2 * FOUR
    across = width // each
    tall = WARP // across
    held = ROWS // CONSUMER.warps
    # A warp stores the rows that it holds: no other has to wait for it.
    local = (
        (warp - CONSUMER.first_warp) * held + turn * tall + apply("quotient", lane, const(across))
    )
    at = apply("remainder", lane, const(across)) * each
    product = Load(part, (local, at + v)).cast(product_type)
    index = (*batch, row, column + v)
    value = product if epilogue is None else epilogue.at(index, product)
    stored: Stmt = Store(out, index, value)
    if n % FOUR:
        stored = For(v, FOUR, Kind.UNROLL, (If(column + v < n, (stored,)),))
    else:
        stored = For(v, each, Kind.VECTOR, (stored,))
        if n % columns:
            stored = If(column < n, (stored,))
    stores: Body = (
        Let(row, first_row + local),
        Let(column, first_column + number_of_part * width + at),
        If(row < m, (stored,)) if m % ROWS else stored,
    )
    give: Body = (
        Copy(part, (const(0), const(0)), sums, (const(0), number_of_part * width), (ROWS, width)),
        Barrier("warp"),
        For(turn, held // tall, Kind.SERIAL, stores),
        Barrier("warp"),
    )
    consumer.append(For(number_of_part, columns // width, Kind.UNROLL, give))
    body: Body = (
        *where,
        If(None, (producer,), role=PRODUCER),
        If(None, (Alloc(sums, tuple(consumer)),), role=CONSUMER),
    )
    body = (For(lane, WARP, Kind.THREAD, body),)
    body = (For(warp, PRODUCER.warps + CONSUMER.warps, Kind.WARP, body),)
    for shared in (free, full, part, right, left):
        body = (Alloc(shared, body),)
    between = () if epilogue is None else epilogue.buffers
    grid = For(block, prod(batch_extents) * high * wide, Kind.GRID, body)
    phased = (PhasedBarrier(full, 1), PhasedBarrier(free, CONSUMER.warps))
    copied = [operand.buffer for operand in operands if operand.buffer.role != "in"]
    given = [
        original.buffer if operand.buffer in copied else operand.buffer
        for original, operand in zip(originals, operands, strict=True)
    ]
    buffers = (*given, *between, out, *copied)
    return Kernel("matmul", buffers, (grid,), phased=phased)
