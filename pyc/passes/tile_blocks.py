"""Transposed reads for blocks of threads: tiles of shared memory.

Where a nest of stores walks its outputs along one loop and some inputs are contiguous along
another, a block takes a square of both: its threads read the square along the inputs' loop into
shared memory, meet, and compute along the outputs' loop from there. So both sides of a transpose
touch memory in whole lines. A row of the tile has one element more than the square, which puts
neighbours along either axis in different banks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from pyc.ir.expr import Expr, Load, Var, apply, const, postorder
from pyc.ir.loops import (
    Alloc,
    Barrier,
    Body,
    Buffer,
    Fail,
    For,
    If,
    Kind,
    Let,
    Space,
    Stmt,
    Store,
    expressions,
)
from pyc.ir.visit import Rewriter
from pyc.passes.nest import Loop

SIDE = 64
"""Side of a square."""
THREADS = 256
SHORTEST = 16
"""Shortest loop worth a tile."""
SHARED_BYTES = 48 << 10
"""Shared memory that a block has without asking."""

Factor = Callable[[Var, Expr], "int | None"]


def transposed_loads(
    loops: Sequence[Loop], core: Body, factor: Factor
) -> tuple[Loop, list[Load]] | None:
    """The loop, other than the last one, along which loads are contiguous that the last one walks
    in strides, and these loads; None if there is none or they would not fit."""
    if len(loops) < 2 or not all(isinstance(s, (Let, Store, Fail)) for s in core):
        return None
    last = loops[-1]
    stores = [s for s in core if isinstance(s, Store)]
    if last.extent < SHORTEST or any(factor(last.var, s.index[0]) != 1 for s in stores):
        return None
    found: dict[tuple[Buffer, int], Load] = {}
    for e in postorder([e for s in core for e in expressions(s)]):
        if isinstance(e, Load) and len(e.index) == 1 and factor(last.var, e.index[0]) not in (0, 1):
            found.setdefault((e.buffer, id(e.index[0])), e)
    for axis in loops[:-1]:
        if axis.extent < SHORTEST:
            continue
        loads = [
            e
            for e in found.values()
            if factor(axis.var, e.index[0]) == 1 and factor(last.var, e.index[0]) is not None
        ]
        nbytes = sum(e.dtype.itemsize for e in loads) * SIDE * (SIDE + 1)
        if loads and nbytes <= SHARED_BYTES:
            return axis, loads
    return None


def tiled(
    loops: Sequence[Loop],
    core: Body,
    across: Loop,
    loads: Sequence[Load],
    positions: Callable[[Sequence[Loop], Expr], list[Stmt]],
    renamed: Callable[[Body, dict[Var, Expr]], Body],
) -> list[Stmt]:
    """The kernel. positions: binds variables of loops to a row-major number; renamed: statements
    with variables replaced and their own bindings fresh."""
    along = loops[-1]
    outer = [x for x in loops[:-1] if x is not across]
    wide, high = (-(-x.extent // SIDE) for x in (along, across))
    block, thread, column, row = Var("block"), Var("thread"), Var("column"), Var("row")
    tiles = [
        Buffer(f"tile{k}", e.dtype, (SIDE * (SIDE + 1),), Space.SHARED) for k, e in enumerate(loads)
    ]
    first_along, first_across = Var("first"), Var("first")
    rest = apply("quotient", block, const(wide * high))
    within = apply("remainder", block, const(wide * high))
    binding: list[Stmt] = [
        Let(first_along, apply("remainder", within, const(wide)) * SIDE),
        Let(first_across, apply("quotient", within, const(wide)) * SIDE),
        *positions(outer, rest),
        Let(column, apply("remainder", thread, const(SIDE))),
        Let(row, apply("quotient", thread, const(SIDE))),
    ]
    step = THREADS // SIDE

    def walk(
        lanes: Loop, first: Expr, rows: Loop, start: Expr, each: Callable[[Expr], Body]
    ) -> Stmt:
        """each(number of the row) for this thread's elements of the square."""
        k = Var("k")
        number = row + k * step
        body = each(number)
        inside: Expr | None = None
        for axis, at in ((lanes, first + column), (rows, start + number)):
            if axis.extent % SIDE:
                here = at < axis.extent
                inside = here if inside is None else inside & here
        return For(k, SIDE // step, Kind.UNROLL, body if inside is None else (If(inside, body),))

    def read(number: Expr) -> Body:
        at = {across.var: first_across + column, along.var: first_along + number}
        values = Rewriter(variables=at).exprs(tuple(loads))
        place = number * (SIDE + 1) + column
        return tuple(Store(t, (place,), v) for t, v in zip(tiles, values, strict=True))

    stand_in = {(e.buffer, id(e.index[0])): Var("element", e.dtype) for e in loads}

    def rule(e: Expr) -> Expr:
        if isinstance(e, Load) and len(e.index) == 1:
            return stand_in.get((e.buffer, id(e.index[0])), e)
        return e

    local = Rewriter(expr=rule).body(core)

    def write(number: Expr) -> Body:
        at: dict[Var, Expr] = {across.var: first_across + number, along.var: first_along + column}
        place = column * (SIDE + 1) + number
        for e, t in zip(loads, tiles, strict=True):
            at[stand_in[(e.buffer, id(e.index[0]))]] = Load(t, (place,))
        return renamed(local, at)

    inner: Body = (
        *binding,
        walk(across, first_across, along, first_along, read),
        Barrier("block"),
        walk(along, first_along, across, first_across, write),
    )
    body: Body = (For(thread, THREADS, Kind.THREAD, inner),)
    for t in reversed(tiles):
        body = (Alloc(t, body),)
    return [For(block, wide * high * prod(x.extent for x in outer), Kind.GRID, body)]
