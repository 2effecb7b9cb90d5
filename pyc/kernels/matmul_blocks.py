"""Matrix products for targets with blocks: tiles in shared memory, accumulators in registers.

    a block of 256 threads has a tile of SIDE x SIDE results; each thread has PER x PER of them
      for each block of DEPTH terms:
        the next tiles of a and b are read into registers
        PER x PER products a term, by fma, from shared memory
        the registers are stored to the other half of shared memory; the threads meet

Terms are added in order, so bits depend on the operands only. Half types are widened where they are
read; the accumulator is at least float32, and the result is rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyc.ir.dtype import DType
from pyc.ir.element import widened
from pyc.ir.expr import Expr, Load, Var, apply, const, fma
from pyc.ir.loops import (
    Alloc,
    Barrier,
    Body,
    Buffer,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Space,
    Stmt,
    Store,
)
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.contraction import Epilogue
from pyc.kernels.operand import NO_MATRIX_PRODUCT, Dimensions, Operand, is_matrix_product

THREADS = 256
ACROSS = 16
"""Threads along each side of a tile."""
DEPTH = 16
FOUR = 4
"""Neighbouring results of a thread: 16 bytes of float32."""
PAD = 4
"""Elements added to a row of a's tile, which is stored transposed: fewer bank conflicts."""
ENOUGH_TILES = 132
"""Tiles from which the larger side pays."""


def refusal_of_blocks(types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target) -> str:
    """Why this nest cannot or should not do the contraction; empty if it should."""
    a = types[0]
    if not a.dtype.is_float or a.dtype.bits < 16:
        return f"it is for float16 and wider floats, not {a.dtype.name}"
    if not is_matrix_product(types, dimensions):
        return NO_MATRIX_PRODUCT
    (contract,) = dimensions[0][0]
    terms = a.shape[contract]
    return "" if terms >= FOUR else f"{terms} terms are fewer than {FOUR}"


class _Side:
    """An operand's tile: how threads read it, and where it lies in shared memory."""

    def __init__(self, operand: Operand, side: int, pad: int, accumulator: DType) -> None:
        self.operand = operand
        self.side = side
        self.pitch = side + pad
        self.size = DEPTH * self.pitch
        name = operand.buffer.name
        self.shared = Buffer(f"tile_{name}", accumulator, (2 * self.size,), Space.SHARED)
        self.count = side * DEPTH // THREADS
        self.next = Buffer(f"next_{name}", accumulator, (self.count,), Space.REGISTER)
        self.fragment = Buffer(f"part_{name}", accumulator, (side // ACROSS,), Space.REGISTER)

    def place(self, thread: Expr, step: int) -> tuple[Expr, Expr]:
        """(position along the side, term) of a thread's element: neighbours read neighbours."""
        inner = DEPTH if self.operand.along_terms else self.side
        fast = apply("remainder", thread, const(inner))
        slow = apply("quotient", thread, const(inner)) + step * (THREADS // inner)
        return (slow, fast) if self.operand.along_terms else (fast, slow)

    def read(self, batch: Sequence[Expr], first: Expr, term: Expr, thread: Expr) -> list[Stmt]:
        """Reads this thread's elements of the tile at (first, term); those outside are zero."""
        body: list[Stmt] = []
        accumulator = self.next.dtype
        for step in range(self.count):
            at, k = self.place(thread, step)
            free, number = first + at, term + k
            value = self.operand.load(batch, free, number).cast(accumulator)
            store = Store(self.next, (const(step),), value)
            inside: Expr | None = None
            if self.operand.extent % self.side:
                inside = free < self.operand.extent
            if self.operand.terms % DEPTH:
                here = number < self.operand.terms
                inside = here if inside is None else inside & here
            if inside is None:
                body.append(store)
                continue
            zero = Store(self.next, (const(step),), const(0.0, accumulator))
            body.append(If(inside, (store,), (zero,)))
        return body

    def write(self, half: Expr, thread: Expr) -> list[Stmt]:
        """Stores them to one half of shared memory, term by term."""
        body: list[Stmt] = []
        for step in range(self.count):
            at, k = self.place(thread, step)
            place = half * self.size + k * self.pitch + at
            body.append(Store(self.shared, (place,), Load(self.next, (const(step),))))
        return body

    def take(self, half: Expr, k: Expr, number: Expr) -> list[Stmt]:
        """Reads a thread's part of one term: four neighbours from each 64."""
        body: list[Stmt] = []
        for part in range(self.side // (ACROSS * FOUR)):
            v = Var("v")
            start = half * self.size + k * self.pitch + number * FOUR + part * ACROSS * FOUR
            store = Store(self.fragment, (v + part * FOUR,), Load(self.shared, (start + v,)))
            body.append(For(v, FOUR, Kind.VECTOR, (store,)))
        return body


def matmul_blocks(
    types: tuple[ArrayType, ...],
    target: Target,
    epilogue: Epilogue | None = None,
    *,
    dimensions: Dimensions,
    result: DType | None = None,
) -> Kernel:
    """The scheduled kernel of `dot_general` over buffers (a, b, the epilogue's, out)."""
    (a_contract, b_contract), (a_batch, b_batch) = dimensions
    accumulator = widened(types[0].dtype)
    a = Operand("a", types[0], a_contract[0], a_batch)
    b = Operand("b", types[1], b_contract[0], b_batch)
    batch_extents = tuple(types[0].shape[k] for k in a_batch)
    m, n, terms = a.extent, b.extent, a.terms
    large = ACROSS * FOUR * 2
    tiles = prod(batch_extents) * -(-m // large) * -(-n // large)
    side = large if tiles >= ENOUGH_TILES and accumulator.itemsize <= FOUR else large // 2
    per = side // ACROSS
    left, right = _Side(a, side, PAD, accumulator), _Side(b, side, 0, accumulator)
    product_type = result or types[0].dtype
    out_type = product_type if epilogue is None else epilogue.value.dtype
    out = Buffer("out", out_type, (*batch_extents, m, n), role="out")
    sums = Buffer("sums", accumulator, (per * per,), Space.REGISTER)
    high, wide = -(-m // side), -(-n // side)

    block, thread = Var("block"), Var("thread")
    row, column, first_row, first_column = Var("row"), Var("column"), Var("first"), Var("first")
    batch = [Var(f"n{k}") for k in range(len(batch_extents))]
    inner: list[Stmt] = [
        Let(first_column, apply("remainder", block, const(wide)) * side),
        Let(
            first_row,
            apply("remainder", apply("quotient", block, const(wide)), const(high)) * side,
        ),
        Let(column, apply("remainder", thread, const(ACROSS))),
        Let(row, apply("quotient", thread, const(ACROSS))),
    ]
    rest: Expr = apply("quotient", block, const(wide * high))
    for var, extent in reversed(list(zip(batch, batch_extents, strict=True))):
        inner.append(Let(var, apply("remainder", rest, const(extent))))
        rest = apply("quotient", rest, const(extent))
    inner += [Store(sums, (const(k),), const(0.0, accumulator)) for k in range(per * per)]

    def read(term: Expr) -> list[Stmt]:
        body = left.read(batch, first_row, term, thread)
        return body + right.read(batch, first_column, term, thread)

    def write(half: Expr) -> list[Stmt]:
        return left.write(half, thread) + right.write(half, thread)

    steps = -(-terms // DEPTH)
    step, half, k = Var("step"), Var("half"), Var("k")
    products: list[Stmt] = [*left.take(half, k, row), *right.take(half, k, column)]
    for i in range(per):
        for part in range(per // FOUR):
            v = Var("v")
            at = v + (i * per + part * FOUR)
            x, y = Load(left.fragment, (const(i),)), Load(right.fragment, (v + part * FOUR,))
            total = Store(sums, (at,), fma(x, y, Load(sums, (at,))))
            products.append(For(v, FOUR, Kind.VECTOR, (total,)))
    again = step + 1 < steps
    loop: Body = (
        Let(half, apply("remainder", step, const(2))),
        If(again, tuple(read((step + 1) * DEPTH))),
        For(k, DEPTH, Kind.UNROLL, tuple(products)),
        If(again, tuple(write(const(1) - half))),
        Barrier("block"),
    )
    inner += [*read(const(0)), *write(const(0)), Barrier("block")]
    inner.append(For(step, steps, Kind.SERIAL, loop))
    for i in range(per):
        across = row * FOUR + (i // FOUR * ACROSS * FOUR + i % FOUR)
        here: list[Stmt] = []
        place = Var("i")
        for part in range(per // FOUR):
            v = Var("v")
            start = first_column + column * FOUR + part * ACROSS * FOUR
            product = Load(sums, (v + (i * per + part * FOUR),)).cast(product_type)
            index = (*batch, place, start + v)
            value = product if epilogue is None else epilogue.at(index, product)
            store: Stmt = Store(out, index, value)
            if n % FOUR:
                guarded = If(start + v < n, (store,))
                here.append(For(v, FOUR, Kind.UNROLL, (guarded,)))
                continue
            store = For(v, FOUR, Kind.VECTOR, (store,))
            here.append(If(start < n, (store,)) if n % side else store)
        inner.append(Let(place, first_row + across))
        inner += [If(place < m, tuple(here))] if m % side else here
    body: Body = tuple(inner)
    for held in (left.next, right.next, left.fragment, right.fragment, sums):
        body = (Alloc(held, body),)
    body = (For(thread, THREADS, Kind.THREAD, body),)
    for tile in (left.shared, right.shared):
        body = (Alloc(tile, body),)
    between = () if epilogue is None else epilogue.buffers
    grid = For(block, prod(batch_extents) * high * wide, Kind.GRID, body)
    return Kernel("matmul", (a.buffer, b.buffer, *between, out), (grid,))
