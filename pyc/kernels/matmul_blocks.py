"""Matrix products for targets with blocks: tiles in shared memory, accumulators in registers.

    a block has a tile of results, and groups of threads (slices) that share its terms; each thread
    of a group has some rows and columns of the tile
      for each block of terms:
        the next tiles of a and b are read into registers, four neighbours at a time
        for each term of the group: the next term is read from shared memory, this one's products
        are added by fma
        before the last term, the registers are stored to the other half of shared memory, the
        threads meet, and the first term from there is read
    the groups' sums are added, in a tree, through shared memory

Where one group does it, terms are added in order. The tile depends on shapes and types only, and so
do the bits. Half types are widened where they are read; the accumulator is at least float32, and
the result is rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

from pyc.frozen import frozen
from pyc.ir.dtype import DType
from pyc.ir.element import widened
from pyc.ir.expr import Expr, Load, Var, apply, const, fma, select
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

WARP = 32
FOUR = 4
"""Neighbouring results of a thread: 16 bytes of float32."""
WIDE, HIGH = (4, 8), (8, 4)
"""Threads of a warp along rows and columns of a tile: of one that is wide enough, of others."""
PAD = 4
"""Elements added to a row of a tile that is stored transposed: fewer bank conflicts."""
MULTIPROCESSORS = 132
"""What the tiles are chosen for (H100 and H200, SXM); others run them as well."""


@frozen()
class Tile:
    """rows, columns: of a block's results; slices: groups of threads that share the terms, a power
    of two; depth: terms that are brought at a time; down, across: results of a thread along rows
    and columns; blocks: how many a multiprocessor holds at once, for want of registers; rate: what
    it does in a time, beside that of 128 x 128 results by eight and eight."""

    rows: int
    columns: int
    slices: int
    depth: int
    down: int
    across: int
    blocks: int
    rate: float

    @property
    def group(self) -> int:
        """Threads of a slice."""
        return self.rows * self.columns // (self.down * self.across)

    @property
    def warp(self) -> tuple[int, int]:
        """Threads of a warp along rows and columns."""
        return WIDE if self.columns >= WIDE[1] * self.across else HIGH

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.group * self.slices


TILES = (
    Tile(128, 128, 1, 8, 16, 8, 2, 1.09),
    Tile(128, 128, 1, 8, 8, 8, 2, 1.0),
    Tile(64, 128, 1, 8, 8, 8, 4, 0.985),
    Tile(64, 64, 2, 16, 8, 8, 3, 0.97),
    Tile(32, 64, 4, 32, 8, 8, 3, 0.81),
    Tile(64, 32, 4, 32, 8, 8, 3, 0.73),
    Tile(64, 32, 2, 16, 8, 8, 6, 0.67),
    Tile(32, 64, 2, 32, 4, 4, 3, 0.69),
    Tile(64, 32, 1, 8, 4, 4, 6, 0.67),
)
"""For accumulators of 4 bytes."""
WIDE_TILES = (
    Tile(64, 64, 1, 8, 4, 4, 2, 1.0),
    Tile(32, 32, 4, 32, 4, 4, 2, 0.83),
    Tile(32, 32, 2, 16, 4, 4, 4, 0.84),
)
"""For accumulators of 8 bytes."""
WORTH_SLICES = 128
"""Terms from which they are shared out."""
HIDDEN = 1.4
"""Warps of a multiprocessor with which it reaches half its speed: others work while one waits."""
STARTING = 43
"""Terms that take as long as the start and the end of a tile, which those beside it hide."""
JOINING = 11
"""Terms that take as long as a step of adding the slices."""


def tile_of(batch: int, m: int, n: int, terms: int, itemsize: int) -> Tile:
    """The tile that should be the quickest (`cost`). batch: how many products of m x n results;
    itemsize: of an accumulator."""
    tiles = TILES if itemsize <= FOUR else WIDE_TILES
    whole = [tile for tile in tiles if tile.slices == 1 or terms >= WORTH_SLICES]
    return min(whole, key=lambda tile: cost(tile, batch, m, n, terms))


def cost(tile: Tile, batch: int, m: int, n: int, terms: int) -> float:
    """The time of the multiprocessor that has the most tiles: in rounds of as many as it holds, the
    quicker the more warps work at once (fitted to an H200, to 5 %)."""
    tiles = batch * -(-m // tile.rows) * -(-n // tile.columns)
    rounds, rest = divmod(-(-tiles // MULTIPROCESSORS), tile.blocks)
    length = -(-terms // tile.depth) * tile.depth + JOINING * (tile.slices.bit_length() - 1)
    time = 0.0
    for count, blocks in ((rounds, tile.blocks), (1 if rest else 0, rest)):
        if count:
            warps = blocks * tile.threads / WARP
            speed = tile.rate * warps / (warps + HIDDEN)
            work = blocks * tile.rows * tile.columns * (length + STARTING / blocks)
            time += count * work / speed
    return time


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

    def __init__(
        self, operand: Operand, side: int, per: int, tile: Tile, accumulator: DType
    ) -> None:
        self.operand = operand
        self.side, self.per, self.tile = side, per, tile
        contiguous = operand.terms if operand.along_terms else operand.extent
        self.width = FOUR if contiguous % FOUR == 0 else 1
        self.pitch = side + (PAD if operand.along_terms else 0)
        self.size = tile.depth * self.pitch
        name = operand.buffer.name
        self.count = side * tile.depth // tile.threads
        self.width = min(self.width, self.count)
        self.next = Buffer(f"next_{name}", accumulator, (self.count,), Space.REGISTER)
        self.fragment = Buffer(f"part_{name}", accumulator, (2, per), Space.REGISTER)
        self._free: list[Var] = []
        self.shared = self.next
        self.offset = 0

    def lies(self, shared: Buffer, offset: int) -> None:
        """Says where its two halves are."""
        self.shared, self.offset = shared, offset

    def _place(self, thread: Expr, step: int) -> tuple[Expr, Expr]:
        """(position along the side, term) of the first of the neighbours that a thread reads in a
        step: neighbours read neighbours."""
        inner = (self.tile.depth if self.operand.along_terms else self.side) // self.width
        number = thread + step * self.tile.threads
        fast = apply("remainder", number, const(inner)) * self.width
        slow = apply("quotient", number, const(inner))
        return (slow, fast) if self.operand.along_terms else (fast, slow)

    def places(self, first: Expr, thread: Expr) -> list[Stmt]:
        """Where this thread's elements stand along the free axis: those outside, whose results
        nobody stores, are the last."""
        self._free = [Var(f"at{step}") for step in range(self.count // self.width)]
        body: list[Stmt] = []
        last = self.operand.extent - (1 if self.operand.along_terms else self.width)
        for step, var in enumerate(self._free):
            at = first + self._place(thread, step)[0]
            if self.operand.extent % self.side and self.width > 1:
                at = apply("minimum", at, const(last))
            body.append(Let(var, at))
        return body

    def read(self, batch: Sequence[Expr], term: Expr, thread: Expr) -> list[Stmt]:
        """Reads this thread's elements of the tile at `term`; terms that are outside are zero."""
        body: list[Stmt] = []
        accumulator = self.next.dtype
        along = self.operand.along_terms
        last = self.operand.terms - (self.width if along else 1)
        for step, at in enumerate(self._free):
            number = term + self._place(thread, step)[1]
            k = number
            if self.operand.terms % self.tile.depth and self.width > 1:
                k = apply("minimum", number, const(last))
            v = Var("v")
            place = (at, k + v) if along else (at + v, k)
            value = self.operand.load(batch, *place).cast(accumulator)
            if self.operand.terms % self.tile.depth and self.width > 1:
                value = select(number <= last, value, 0.0)
            store: Stmt = Store(self.next, (v + step * self.width,), value)
            store = For(v, self.width, Kind.VECTOR, (store,))
            inside = self._inside(at, number)
            if inside is not None:
                zero = const(0.0, accumulator)
                store = If(inside, (store,), (Store(self.next, (const(step),), zero),))
            body.append(store)
        return body

    def _inside(self, at: Expr, number: Expr) -> Expr | None:
        """Whether an element that is read by itself is inside of the operand; None: it is. Several
        are read from the nearest place that is inside, without a branch; for single elements that
        would take an address each."""
        if self.width > 1:
            return None
        tests = []
        if self.operand.extent % self.side:
            tests.append(at < self.operand.extent)
        if self.operand.terms % self.tile.depth:
            tests.append(number < self.operand.terms)
        return reduce(lambda x, y: x & y, tests) if tests else None

    def write(self, half: Expr, thread: Expr) -> list[Stmt]:
        """Stores them to one half of shared memory, term by term."""
        body: list[Stmt] = []
        for step in range(len(self._free)):
            at, k = self._place(thread, step)
            start = half * self.size + k * self.pitch + at + self.offset
            first = step * self.width
            if self.operand.along_terms:
                body += [
                    Store(
                        self.shared, (start + i * self.pitch,), Load(self.next, (const(first + i),))
                    )
                    for i in range(self.width)
                ]
                continue
            v = Var("v")
            store = Store(self.shared, (start + v,), Load(self.next, (v + first,)))
            body.append(For(v, self.width, Kind.VECTOR, (store,)))
        return body

    def take(self, half: Expr, k: Expr, start: Expr, apart: int, to: int) -> list[Stmt]:
        """Reads a thread's part of one term: four neighbours, `apart` from each other. to: which
        of two places for it."""
        body: list[Stmt] = []
        for part in range(self.per // FOUR):
            v = Var("v")
            place = half * self.size + k * self.pitch + start + (part * apart + self.offset)
            here = (const(to), v + part * FOUR)
            store = Store(self.fragment, here, Load(self.shared, (place + v,)))
            body.append(For(v, FOUR, Kind.VECTOR, (store,)))
        return body


def matmul_blocks(
    types: tuple[ArrayType, ...],
    target: Target,
    epilogue: Epilogue | None = None,
    *,
    dimensions: Dimensions,
    result: DType | None = None,
    tile: Tile | None = None,
) -> Kernel:
    """The scheduled kernel of `dot_general` over buffers (a, b, the epilogue's, out)."""
    (a_contract, b_contract), (a_batch, b_batch) = dimensions
    accumulator = widened(types[0].dtype)
    a = Operand("a", types[0], a_contract[0], a_batch)
    b = Operand("b", types[1], b_contract[0], b_batch)
    batch_extents = tuple(types[0].shape[k] for k in a_batch)
    m, n, terms = a.extent, b.extent, a.terms
    tile = tile or tile_of(prod(batch_extents), m, n, terms, accumulator.itemsize)
    down, across, depth, slices = tile.down, tile.across, tile.depth, tile.slices
    left = _Side(a, tile.rows, down, tile, accumulator)
    right = _Side(b, tile.columns, across, tile, accumulator)
    lent = slices // 2 * tile.group * down * across
    shared = Buffer("shared", accumulator, (max(2 * (left.size + right.size), lent),), Space.SHARED)
    left.lies(shared, 0)
    right.lies(shared, 2 * left.size)
    product_type = result or types[0].dtype
    out_type = product_type if epilogue is None else epilogue.value.dtype
    out = Buffer("out", out_type, (*batch_extents, m, n), role="out")
    sums = Buffer("sums", accumulator, (down * across,), Space.REGISTER)
    high, wide = -(-m // tile.rows), -(-n // tile.columns)

    block, thread = Var("block"), Var("thread")
    row, column, first_row, first_column = Var("row"), Var("column"), Var("first"), Var("first")
    slice_number = Var("slice")
    batch = [Var(f"n{k}") for k in range(len(batch_extents))]
    mine = apply("remainder", thread, const(tile.group))
    warp = apply("quotient", mine, const(WARP))
    lane = apply("remainder", thread, const(WARP))
    # Of the sixteen threads that shared memory serves at once, two each read the same eight
    # places of one side and eight the same two of the other: these reads are merged.
    eight = apply("remainder", apply("quotient", lane, const(2)), const(8))
    four = apply("quotient", lane, const(16)) * 2 + apply("remainder", lane, const(2))
    y, x = (four, eight) if tile.warp == WIDE else (eight, four)
    lanes_down, lanes_across = tile.warp
    warps_across = tile.columns // (lanes_across * across)
    inner: list[Stmt] = [
        Let(first_column, apply("remainder", block, const(wide)) * tile.columns),
        Let(
            first_row,
            apply("remainder", apply("quotient", block, const(wide)), const(high)) * tile.rows,
        ),
        Let(slice_number, apply("quotient", thread, const(tile.group))),
        Let(row, apply("quotient", warp, const(warps_across)) * (lanes_down * down) + y * FOUR),
        Let(
            column,
            apply("remainder", warp, const(warps_across)) * (lanes_across * across) + x * FOUR,
        ),
    ]
    rest: Expr = apply("quotient", block, const(wide * high))
    for var, extent in reversed(list(zip(batch, batch_extents, strict=True))):
        inner.append(Let(var, apply("remainder", rest, const(extent))))
        rest = apply("quotient", rest, const(extent))
    inner += [Store(sums, (const(k),), const(0.0, accumulator)) for k in range(down * across)]
    inner += [*left.places(first_row, thread), *right.places(first_column, thread)]

    def read(term: Expr) -> list[Stmt]:
        return left.read(batch, term, thread) + right.read(batch, term, thread)

    def write(half: Expr) -> list[Stmt]:
        return left.write(half, thread) + right.write(half, thread)

    steps, own = -(-terms // depth), depth // slices
    step = Var("step")
    first_term = slice_number * own

    def take(half: Expr, k: int) -> list[Stmt]:
        """Reads one of this thread's terms, while those of the one before are multiplied."""
        term = first_term + k
        return [
            *left.take(half, term, row, lanes_down * FOUR, k % 2),
            *right.take(half, term, column, lanes_across * FOUR, k % 2),
        ]

    def multiply(k: int) -> list[Stmt]:
        body: list[Stmt] = []
        for i in range(down):
            for part in range(across // FOUR):
                v = Var("v")
                at = v + (i * across + part * FOUR)
                p = Load(left.fragment, (const(k % 2), const(i)))
                q = Load(right.fragment, (const(k % 2), v + part * FOUR))
                total = Store(sums, (at,), fma(p, q, Load(sums, (at,))))
                body.append(For(v, FOUR, Kind.VECTOR, (total,)))
        return body

    def multiply_all(half: Expr, between: list[Stmt]) -> list[Stmt]:
        """All terms of a block but the reads of the first; between: done before the last."""
        body: list[Stmt] = []
        for k in range(own - 1):
            body += [*take(half, k + 1), *multiply(k)]
        return [*body, *between, *multiply(own - 1)]

    half, other = apply("remainder", step, const(2)), Var("other")
    change = [*write(other), Barrier("block"), *take(other, 0)]
    # Where a tile may lie partly outside of the result, its stores are conditional. The compiler
    # would move products that stand before them into their branches and keep the fragments of all
    # terms for it: so all products are in the loop there, whose last step brings the last tile
    # again, for nobody.
    conditional = slices == 1 and bool(m % tile.rows or n % tile.columns)
    following = step + 1
    if conditional:
        following = apply("minimum", following, const(steps - 1))
    loop: Body = (
        Let(other, const(1) - half),
        *read(following * depth),
        *multiply_all(half, change),
    )
    inner += [*read(const(0)), *write(const(0)), Barrier("block"), *take(const(0), 0)]
    if steps > 1:
        inner.append(For(step, steps if conditional else steps - 1, Kind.SERIAL, loop))
    if steps == 1 or not conditional:
        inner += multiply_all(const((steps - 1) % 2), [])
    if slices > 1:
        inner.append(Barrier("block"))
        inner += _add_slices(shared, sums, slice_number, mine, tile)
    stores: list[Stmt] = []
    for i in range(down):
        here: list[Stmt] = []
        place = Var("i")
        for part in range(across // FOUR):
            v = Var("v")
            start = first_column + column + part * lanes_across * FOUR
            product = Load(sums, (v + (i * across + part * FOUR),)).cast(product_type)
            index = (*batch, place, start + v)
            value = product if epilogue is None else epilogue.at(index, product)
            store: Stmt = Store(out, index, value)
            if n % FOUR:
                guarded = If(start + v < n, (store,))
                here.append(For(v, FOUR, Kind.UNROLL, (guarded,)))
                continue
            store = For(v, FOUR, Kind.VECTOR, (store,))
            here.append(If(start < n, (store,)) if n % tile.columns else store)
        stores.append(Let(place, first_row + row + (i // FOUR * lanes_down * FOUR + i % FOUR)))
        stores += [If(place < m, tuple(here))] if m % tile.rows else here
    inner += [If(slice_number.equal(0), tuple(stores))] if slices > 1 else stores
    body: Body = tuple(inner)
    for private in (left.next, right.next, left.fragment, right.fragment, sums):
        body = (Alloc(private, body),)
    body = (For(thread, tile.threads, Kind.THREAD, body),)
    body = (Alloc(shared, body),)
    between = () if epilogue is None else epilogue.buffers
    grid = For(block, prod(batch_extents) * high * wide, Kind.GRID, body)
    return Kernel("matmul", (a.buffer, b.buffer, *between, out), (grid,))


def _add_slices(
    shared: Buffer, sums: Buffer, slice_number: Expr, mine: Expr, tile: Tile
) -> list[Stmt]:
    """Adds the sums of all slices to those of the first: the second half to the first half, until
    one is left."""
    body: list[Stmt] = []
    half = tile.slices // 2
    results = tile.down * tile.across

    def place(number: Expr, result: int) -> Expr:
        return number * (results * tile.group) + mine + result * tile.group

    while half:
        other = slice_number - half
        give: list[Stmt] = []
        take: list[Stmt] = []
        for result in range(results):
            total = Load(sums, (const(result),))
            give.append(Store(shared, (place(other, result),), total))
            more = Load(shared, (place(slice_number, result),))
            take.append(Store(sums, (const(result),), total + more))
        given = (slice_number >= half) & (slice_number < 2 * half)
        body += [
            If(given, tuple(give)),
            Barrier("block"),
            If(slice_number < half, tuple(take)),
        ]
        half //= 2
        if half:
            body.append(Barrier("block"))
    return body
