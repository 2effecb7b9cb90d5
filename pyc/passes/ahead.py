"""What is needed next, asked for ahead: by loops of elements, and by row programs.

Takes the statements of a vector of elements of which some are loops that each element runs by
itself, and returns them with a `Prefetch` in these loops for each line that an iteration reads of
a row. A vector reads a line or two of a row, and the next row lies pages behind it: no processor
foresees that, and chains of instructions wait. The same row of the next vector is asked for as
many iterations ahead as the loop has.

A row program takes turns: it reads a row, computes, and stores. While it stores (mostly quotients,
which processors divide slowly) memory has nothing to do, and while it reads nothing is divided. So
a vector that is stored asks for its place in a row of the next turn, read or stored; only stored
where it is made quickly, since memory has no time to spare then.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.frozen import replace
from pyc.ir.expr import Apply, Expr, Load, Var, const, postorder
from pyc.ir.loops import Body, Buffer, For, If, Kind, Let, Prefetch, Space, Stmt, Store, walk
from pyc.ir.visit import Rewriter, bound, renamed
from pyc.passes.nest import Loop, Nest, in_common_within, is_element_loop

PAGE = 1 << 12
"""Bytes of a row from which the next one is not foreseen."""
FAR = 1 << 17
"""Bytes of a buffer from which its rows are asked for."""
ROWS_FROM = 1 << 20
"""Bytes of an array from which the rows of a row program are asked for."""
FORESEEN = 1 << 24
"""Bytes of an array up to which that is done where it is only read: one that comes from memory does
so by itself while a row is computed, but for lines that are to be stored."""
ROW_BYTES = 1 << 16
"""Bytes of a row up to which the next one is asked for: it should stay in a core's cache."""
SLOW = frozenset(("div", "fast_div", "sqrt", "narrow_sqrt", "fast_sqrt"))
"""Instructions of several cycles a vector: one of these"""
LONG = 16
"""or so many of others leave memory idle."""
LINE = 64
"""Bytes of a line of the caches."""


def next_asked_for(core: Body, nest: Nest, loop: Loop, start: Expr, width: int) -> Body:
    """`core`, of which `width` elements along `loop` from `start` on become a vector."""
    if not any(isinstance(s, For) and is_element_loop(s) for s in core):
        return core
    common = in_common_within(core, lambda v: v is not loop.var)
    apart = {v for s in walk(core) for v in bound(s) if v not in common}

    def asking(s: Stmt) -> Stmt:
        if not isinstance(s, For) or not is_element_loop(s):
            return s
        moved = {s.var, *(c.var for c in s.carried)} & common
        found: list[Stmt] = []
        for address, buffer in _far_rows(s, nest, loop).items():
            leaves = set(postorder([address]))
            if leaves & moved and not leaves & apart and not any(type(e) is Load for e in leaves):
                line = LINE // buffer.dtype.itemsize
                # The last element of each: where rows begin in a line's middle, the first is here.
                for k in range(line - 1, width, line):
                    ahead = Prefetch(buffer, (address,))
                    found += renamed((ahead,), {loop.var: start + (width + k)})
        return replace(s, body=(*s.body, *found))

    return tuple(map(asking, core))


def next_rows_asked_for(body: Sequence[Stmt], nest: Nest, row: Var, rows: int) -> Body:
    """Vectors along a row, which store what a row program leaves of row number `row`, with what the
    row `rows` further on has at their places asked for."""

    def asking(s: Stmt) -> Body:
        if isinstance(s, If):
            return (replace(s, then=within(s.then), orelse=within(s.orelse)),)
        if not isinstance(s, For):
            return (s,)
        if s.kind is Kind.VECTOR:
            return (*_further_on(s, nest, row, rows), s)
        return (replace(s, body=within(s.body)),)

    def within(body: Sequence[Stmt]) -> Body:
        return tuple(x for s in body for x in asking(s))

    return within(body)


def _further_on(vector: For, nest: Nest, row: Var, rows: int) -> list[Stmt]:
    """What asks for the lines that a vector reads and stores, `rows` rows further on."""
    assert isinstance(vector.extent, int), "a vector has a number of lanes"
    stored = {s.buffer for s in walk((vector,)) if isinstance(s, Store)}
    foreseen = FORESEEN if _takes_long(vector) else 0
    found: dict[tuple[Buffer, Expr], Stmt] = {}
    for buffer, address in nest.accesses((vector,)):
        (size,), item = buffer.shape, buffer.dtype.itemsize
        stride = nest.factor(row, address)
        if buffer.space is not Space.GLOBAL or not isinstance(size, int) or not stride:
            continue
        least, most = ROWS_FROM, size * item if buffer in stored else foreseen
        near = abs(stride) * item <= ROW_BYTES and nest.factor(vector.var, address) == 1
        if near and least <= size * item <= most:
            line = LINE // item
            for k in range(min(line, vector.extent) - 1, vector.extent, line):
                there = Rewriter(variables={vector.var: const(k)}).expr(address) + stride * rows
                found.setdefault((buffer, there), Prefetch(buffer, (there,)))
    return list(found.values())


def _takes_long(vector: For) -> bool:
    """Whether memory waits for what a vector computes along the row."""
    varies: dict[int, bool] = {id(vector.var): True}
    count = 0
    for s in walk(vector.body):
        if isinstance(s, For):
            return True
        if not isinstance(s, (Let, Store)):
            continue
        for e in postorder([s.value]):
            varies[id(e)] = varies.get(id(e), False) or any(varies[id(c)] for c in e.operands)
            if isinstance(e, Apply) and e.dtype.is_float and varies[id(e)]:
                count += 1
                if e.name in SLOW:
                    return True
        if isinstance(s, Let):
            varies[id(s.var)] = varies[id(s.value)]
    return count >= LONG


def _far_rows(s: For, nest: Nest, loop: Loop) -> dict[Expr, Buffer]:
    """The places of large arrays that neighbouring elements read side by side."""
    found: dict[Expr, Buffer] = {}
    for buffer, address in nest.accesses((s,)):
        (size,), item = buffer.shape, buffer.dtype.itemsize
        far = isinstance(size, int) and size * item >= FAR and loop.extent * item >= PAGE
        if far and buffer.space is Space.GLOBAL and nest.factor(loop.var, address) == 1:
            found[address] = buffer
    return found
