"""Matrix products of few results for targets with blocks: a thread has all terms of its results.

    a thread has one result, or four neighbours of a row where there are many
      for each block of terms:
        its elements of a and b are read, four neighbours at a time where they stand together
        their products are added by fma, term by term

Nothing is shared and nobody waits for others: a product that keeps few threads busy takes as long
as its reads, which are all under way at the same time. Terms are added in order, as in
`matmul_blocks` where one group of threads does it: the bits are the same. Half types are widened
where they are read; the accumulator is at least float32, and the result is rounded once.
"""

from __future__ import annotations

from math import prod

from pyc.ir.dtype import DType
from pyc.ir.element import widened
from pyc.ir.expr import Expr, Load, Var, apply, const, fma
from pyc.ir.loops import Alloc, Body, Buffer, For, If, Kernel, Kind, Let, Space, Stmt, Store
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.contraction import Epilogue
from pyc.kernels.operand import NO_MATRIX_PRODUCT, Dimensions, Operand, is_matrix_product

WARP = 32
FOUR = 4
"""Neighbours that are read at a time: 16 bytes of float32."""
THREADS = 64
"""Of a block: few, so that several multiprocessors read."""
MOST_PRODUCTS = 1 << 22
"""Above, tiles are as quick on an H200: what they read is read once by a block."""
NARROW = 1 << 14
"""Results up to which a thread has one of them; with more, four each are threads enough."""
ONE_BLOCK, FOUR_BLOCK = 16, 32
"""Terms that are read at a time, for one result and for four."""


def refusal_of_threads(types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target) -> str:
    """Why this nest cannot or should not do the contraction; empty if it should."""
    a, b = types
    if not a.dtype.is_float or a.dtype.bits < 16:
        return f"it is for float16 and wider floats, not {a.dtype.name}"
    if not is_matrix_product(types, dimensions):
        return NO_MATRIX_PRODUCT
    (contract,), _ = dimensions[0]
    terms = a.shape[contract]
    products = prod(a.shape) * (prod(b.shape) // terms)
    products //= prod(a.shape[k] for k in dimensions[1][0])
    if products > MOST_PRODUCTS:
        return f"{products} products are more than {MOST_PRODUCTS}: tiles share what they read"
    return ""


def _read(
    operand: Operand, batch: list[Var], free: Expr, width: int, first: Expr, count: int, to: Buffer
) -> list[Stmt]:
    """Reads `count` terms from `first` on, of `width` neighbours along the free axis each, four
    elements at a time where so many stand together."""
    body: list[Stmt] = []
    dtype = to.dtype
    if operand.along_terms and count % FOUR == 0 and operand.terms % FOUR == 0:
        for k in range(0, count, FOUR):
            v = Var("v")
            value = operand.load(batch, free, first + k + v).cast(dtype)
            body.append(For(v, FOUR, Kind.VECTOR, (Store(to, (v + k,), value),)))
        return body
    for k in range(count):
        if width == 1:
            value = operand.load(batch, free, first + k).cast(dtype)
            body.append(Store(to, (const(k),), value))
        else:
            v = Var("v")
            value = operand.load(batch, free + v, first + k).cast(dtype)
            body.append(For(v, width, Kind.VECTOR, (Store(to, (v + k * width,), value),)))
    return body


def matmul_threads(
    types: tuple[ArrayType, ...],
    target: Target,
    epilogue: Epilogue | None = None,
    *,
    dimensions: Dimensions,
    result: DType | None = None,
    width: int | None = None,
    block: int | None = None,
) -> Kernel:
    """The scheduled kernel of `dot_general` over buffers (a, b, the epilogue's, out). width:
    results of a thread; block: terms that it reads at a time."""
    (a_contract, b_contract), (a_batch, b_batch) = dimensions
    accumulator = widened(types[0].dtype)
    a = Operand("a", types[0], a_contract[0], a_batch)
    b = Operand("b", types[1], b_contract[0], b_batch)
    extents = tuple(types[0].shape[k] for k in a_batch)
    m, n, terms = a.extent, b.extent, a.terms
    many = prod(extents) * m * n > NARROW
    if width is None:
        width = FOUR if many and not b.along_terms and n % FOUR == 0 else 1
    block = block or (ONE_BLOCK if width == 1 else FOUR_BLOCK)
    product_type = result or types[0].dtype
    out_type = product_type if epilogue is None else epilogue.value.dtype
    out = Buffer("out", out_type, (*extents, m, n), role="out")
    per = min(block, terms)
    left = Buffer("part_a", accumulator, (per,), Space.REGISTER)
    right = Buffer("part_b", accumulator, (per * width,), Space.REGISTER)
    sums = Buffer("sums", accumulator, (width,), Space.REGISTER)

    number, row, column = Var("number"), Var("row"), Var("column")
    batch = [Var(f"n{k}") for k in range(len(extents))]
    groups = n // width
    total = prod(extents) * m * groups
    inner: list[Stmt] = [
        Let(column, apply("remainder", number, const(groups)) * width),
        Let(row, apply("remainder", apply("quotient", number, const(groups)), const(m))),
    ]
    rest: Expr = apply("quotient", number, const(groups * m))
    for var, extent in reversed(list(zip(batch, extents, strict=True))):
        inner.append(Let(var, apply("remainder", rest, const(extent))))
        rest = apply("quotient", rest, const(extent))
    inner += [Store(sums, (const(k),), const(0.0, accumulator)) for k in range(width)]

    def some(first: Expr, count: int) -> list[Stmt]:
        """The products of `count` terms from `first` on."""
        body = _read(a, batch, row, 1, first, count, left)
        body += _read(b, batch, column, width, first, count, right)
        for k in range(count):
            v = Var("v")
            p, q = Load(left, (const(k),)), Load(right, (v + k * width,))
            add = Store(sums, (v,), fma(p, q, Load(sums, (v,))))
            body.append(For(v, width, Kind.VECTOR, (add,)))
        return body

    step = Var("step")
    if terms >= 2 * per:
        inner.append(For(step, terms // per, Kind.SERIAL, tuple(some(step * per, per))))
    else:
        inner += some(const(0), per)
    if terms % per:
        inner += some(const(terms - terms % per), terms % per)
    v = Var("v")
    product = Load(sums, (v,)).cast(product_type)
    index = (*batch, row, column + v)
    value = product if epilogue is None else epilogue.at(index, product)
    inner.append(For(v, width, Kind.VECTOR, (Store(out, index, value),)))

    threads = min(THREADS, -(-total // WARP) * WARP)
    grid, thread = Var("block"), Var("thread")
    body: Body = tuple(inner)
    if total % threads:
        body = (If(number < total, body),)
    body = (Let(number, grid * threads + thread), *body)
    for private in (left, right, sums):
        body = (Alloc(private, body),)
    body = (For(thread, threads, Kind.THREAD, body),)
    body = (For(grid, -(-total // threads), Kind.GRID, body),)
    between = () if epilogue is None else epilogue.buffers
    return Kernel("matmul_threads", (a.buffer, b.buffer, *between, out), body)
