"""Independent elements for blocks of threads: which of them a thread computes.

Takes a flat nest of parallel loops around stores, and returns the grid and thread loops that run
it. A thread computes one vector along the last loop, neighbouring threads neighbouring vectors.
Where that keeps too few bytes under way to hide what memory takes to answer, it computes several: a
block's distance apart, so that each is a whole line of a warp; or, where the nest reads neighbours
along the loop before (a stencil), one below the other, so that they share what they read. Work that
keeps the device busy with fewer threads only is cut so; the rest stays as wide as it is. What has
branches reads all its vectors before it computes the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd, prod
from typing import Any, NamedTuple

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Expr, Load, Var, apply, const, postorder
from pyc.ir.loops import Alloc, Body, Buffer, Fail, For, If, Kind, Let, Space, Stmt, Store, walk
from pyc.ir.order import LANES
from pyc.ir.visit import Rewriter, renamed
from pyc.passes.nest import Loop, Nest, accesses, instructions, roots, values_of
from pyc.passes.reduction_blocks import power_above

THREADS = 256
"""Threads of a block."""
MAX_VECTOR = 16
"""Elements of a thread's vector at most."""
BRANCHING = frozenset(("div", "rare_select"))
"""Instructions with a branch, behind which the compiler leaves reads that stand there."""
BUSY = 1 << 18
"""Threads that keep the largest device busy."""
UNDER_WAY = 32
"""Bytes that a thread reads before it needs the first of them: with eight blocks of 256 threads,
64 KB for a processor of the device, whose memory delivers 30 bytes in the nanosecond."""
MOST_PLACES = 8
"""Vectors of a thread at most."""
NEIGHBOURS = 4
"""Vectors one below the other that share what they read."""
LARGEST = 512
"""Instructions of a thread, over all its elements, up to which it computes several vectors."""
ONLY = const(0)
"""The number of the vector of a thread that has one."""

CHOICES = frozenset(("select", "rare_select"))

Reads = tuple[Let, ...]
Positions = Callable[[Sequence[Loop], Expr], list[Stmt]]


def width_of(nest: Nest, loops: Sequence[Loop], inner: Loop, core: Body) -> int:
    """Elements of a thread's vector along the last loop: of the widest type among what is read or
    written and differs from one to the next, and what is computed from it."""
    moving = [b.dtype for b, a in accesses(core) if nest.factor(inner.var, a) != 0]
    moving += computed(core, inner.var)
    widest = max((t.itemsize for t in moving), default=8)
    width = min(nest.target.lanes(widest), LANES, MAX_VECTOR)
    if not nest.contiguous(inner.var, core):
        return 1
    if len(loops) > 1:  # each row begins where a vector may
        return gcd(width, inner.extent)
    return min(width, 1 << (inner.extent.bit_length() - 1))


def element_nest(nest: Nest, loops: Sequence[Loop], core: Body, positions: Positions) -> list[Stmt]:
    """The grid. positions: binds variables of loops to a row-major number."""
    inner = loops[-1] if loops else Loop(nest.simplify.variable("one", 1), 1)
    outer = list(loops[:-1])
    reads, rest = reads_first(core)
    core = (*reads, *rest)
    width = width_of(nest, loops, inner, core)
    vectors = -(-inner.extent // width)
    total = vectors * prod(x.extent for x in outer)
    slot = Var("slot", dt.i64)

    def vector(column: Expr, work: Body = core, number: Expr = ONLY) -> Body:
        """The vector with this number along the last loop; number: among those of a thread."""
        if width == 1:
            return renamed(work, {inner.var: column, slot: number})
        start = column * width
        lane = nest.simplify.variable("lane", width)
        at = {inner.var: start + lane, slot: number * width + lane}
        body: Body = (For(lane, width, Kind.VECTOR, renamed(work, at)),)
        left = inner.extent % width
        if left:
            one = nest.simplify.variable("rest", left)
            tail = For(one, left, Kind.SERIAL, renamed(work, {inner.var: start + one}))
            body = (If(start + width <= inner.extent, body, (tail,)),)
        return body

    def here(place: Expr, work: Body = core, number: Expr = ONLY) -> list[Stmt]:
        """The vector with this number of all."""
        if not outer:
            return [*vector(place, work, number)]
        rest = apply("quotient", place, const(vectors))
        column = apply("remainder", place, const(vectors))
        return [*positions(outer, rest), *vector(column, work, number)]

    count = min(several(nest, inner, core, width), max(total // BUSY, 1))
    count = 1 << (count.bit_length() - 1)
    if outer and count > 1 and shares_rows(nest, inner, core):
        rows = min(max(count, NEIGHBOURS), MOST_PLACES)
        return _one_below_the_other(nest, outer, vectors, rows, vector, positions)
    if count == 1:
        return _apart(nest, total, 1, here)
    ahead = Ahead((), (), core)
    if inner.extent % width == 0:
        ahead = read_ahead(nest, inner, reads, rest, slot, count * width)
    return _apart(nest, total, count, here, ahead)


class Ahead(NamedTuple):
    """The work of a thread in two parts: what puts elements into registers, and the rest, which
    finds them there."""

    registers: tuple[Buffer, ...]
    reads: Body
    rest: Body


def read_ahead(nest: Nest, inner: Loop, first: Reads, rest: Body, slot: Var, size: int) -> Ahead:
    """The work (*first, *rest), of which the reads of neighbours along a loop are in slot `slot` of
    registers of `size` elements."""
    registers: list[Buffer] = []
    reads: list[Stmt] = []
    found: list[Stmt] = []
    for s in first:
        if isinstance(s.value, Load) and any(nest.factor(inner.var, i) != 0 for i in s.value.index):
            held = Buffer(f"held{len(registers)}", s.var.dtype, (size,), Space.REGISTER)
            registers.append(held)
            reads.append(Store(held, (slot,), s.value))
            s = Let(s.var, Load(held, (slot,)))
        found.append(s)
    return Ahead(tuple(registers), tuple(reads), (*found, *rest))


def reads_first(core: Body) -> tuple[Reads, Body]:
    """What `core` reads in any case, bound before all else, and the rest; no reads where its work
    has no branches."""
    if not all(isinstance(s, (Let, Store, Fail)) for s in core):
        return (), core
    whole = postorder(roots(core))
    if not any(isinstance(e, Apply) and e.name in BRANCHING for e in whole):
        return (), core
    written = {s.buffer for s in core if isinstance(s, Store)}
    bound = {s.var for s in core if isinstance(s, Let)}
    sure = made_in_any_case(roots(core))
    depends: set[int] = set()
    variables: dict[int, Var] = {}
    reads = []
    for e in whole:
        if isinstance(e, Load) or e in bound or any(id(c) in depends for c in e.operands):
            free = id(e) in sure and not any(id(c) in depends for c in e.operands)
            depends.add(id(e))
            if isinstance(e, Load) and free and e.buffer not in written:
                variables[id(e)] = Var("read", e.dtype)
                reads.append(Let(variables[id(e)], e))
    rewriter = Rewriter(expr=lambda e: variables.get(id(e), e))
    return tuple(reads), rewriter.body(core)


def made_in_any_case(values: Sequence[Expr]) -> set[int]:
    """The nodes of some expressions that are not only below a choice, which may leave them out."""
    found: set[int] = set()
    stack = list(values)
    while stack:
        e = stack.pop()
        if id(e) not in found:
            found.add(id(e))
            choice = isinstance(e, Apply) and e.name in CHOICES
            stack += e.operands[:1] if choice else e.operands
    return found


def computed(core: Body, along: Var) -> list[DType]:
    """The types of values that differ along a loop and depend on what was read: where an element
    comes from does not, and what all elements share, as a number, is computed once."""
    values = values_of(core)
    wanted = {id(e) for e in values}
    bound = {s.var for s in walk(core) if isinstance(s, Let)}
    moving = {along}
    for s in walk(core):
        if isinstance(s, Let) and any(e in moving for e in postorder([s.value])):
            moving.add(s.var)
    read: set[int] = set()
    differs: set[int] = set()
    found = []
    for e in postorder(values):
        if e in moving or any(id(c) in differs for c in e.operands):
            differs.add(id(e))
        if isinstance(e, Load) or e in bound or any(id(c) in read for c in e.operands):
            read.add(id(e))
            if id(e) in wanted and id(e) in differs:
                found.append(e.dtype)
    return found


def several(nest: Nest, inner: Loop, core: Body, width: int) -> int:
    """Vectors that a thread computes so that it has enough bytes under way."""
    if not all(isinstance(s, (Let, Store, Fail)) for s in core):
        return 1
    loads = [
        e
        for e in postorder(roots(core))
        if isinstance(e, Load) and e.buffer.space is Space.GLOBAL and len(e.index) == 1
    ]
    once = width * sum(
        b.dtype.itemsize
        for b in {e.buffer for e in loads if nest.factor(inner.var, e.index[0]) != 0}
    )
    if not once:
        return 1
    room = LARGEST // max(instructions(core) * width, 1)
    return max(min(UNDER_WAY // once, MOST_PLACES, room), 1)


def shares_rows(nest: Nest, inner: Loop, core: Body) -> bool:
    """Whether some buffer is read at places that are a row or more apart, by a fixed distance."""
    at: dict[tuple[object, ...], set[int]] = {}
    for e in postorder(roots(core)):
        if isinstance(e, Load) and len(e.index) == 1:
            form = nest.simplify.linear(e.index[0])
            key = (e.buffer, frozenset((id(atom), factor) for atom, factor in form.terms))
            at.setdefault(key, set()).add(form.constant)
    return any(max(found) - min(found) >= inner.extent for found in at.values())


def _apart(
    nest: Nest,
    total: int,
    count: int,
    here: Callable[..., list[Stmt]],
    ahead: Ahead | None = None,
) -> list[Stmt]:
    """`here` for each number < total: `count` of them a thread, the threads of a block apart.
    ahead: the work of `here` in two parts, where `count` is more than 1: first come all of a
    thread's first parts."""
    threads = min(THREADS, max(power_above(total), nest.target.warp_size))
    block, thread = Var("block"), Var("thread")
    of_block = threads * count
    first = block * of_block + thread

    def one(at: Expr, checked: bool, *part: Any) -> Body:
        place = nest.simplify.variable("place", total)
        body = tuple(here(place, *part))
        return (Let(place, at), If(place < total, body)) if checked else (Let(place, at), *body)

    def each(checked: bool, work: Body) -> Body:
        k = nest.simplify.variable("k", count)
        return (For(k, count, Kind.UNROLL, one(first + k * threads, checked, work, k)),)

    def all_of_thread(checked: bool) -> Body:
        if ahead is None:
            return one(first, checked)
        body = each(checked, ahead.rest)
        if ahead.registers:
            body = (*renamed(each(checked, ahead.reads)), *body)
        for held in ahead.registers:
            body = (Alloc(held, body),)
        return body

    if total % of_block == 0:
        body = all_of_thread(checked=False)
    elif count == 1:
        body = all_of_thread(checked=True)
    else:  # checks between the reads would keep them from being under way at once
        whole = (block + 1) * of_block <= total
        body = (If(whole, all_of_thread(checked=False), renamed(all_of_thread(checked=True))),)
    return [
        For(block, -(-total // of_block), Kind.GRID, (For(thread, threads, Kind.THREAD, body),))
    ]


def _one_below_the_other(
    nest: Nest,
    outer: Sequence[Loop],
    vectors: int,
    count: int,
    vector: Callable[[Expr], Body],
    positions: Positions,
) -> list[Stmt]:
    """`vector` of each column at each position of `outer`: `count` neighbours along the last of
    these loops a thread."""
    rows = outer[-1]
    groups = Loop(
        nest.simplify.variable("group", -(-rows.extent // count)), -(-rows.extent // count)
    )

    def here(place: Expr) -> list[Stmt]:
        column = nest.simplify.variable("column", vectors)
        first = groups.var * count

        def several(number: int) -> Body:
            k = nest.simplify.variable("k", number)
            row = nest.simplify.variable("row", rows.extent)
            body = renamed(vector(column), {rows.var: row})
            return (For(k, number, Kind.UNROLL, (Let(row, first + k), *body)),)

        body = several(count)
        left = rows.extent % count
        if left:
            body = (If(first + count <= rows.extent, body, several(left)),)
        number = apply("quotient", place, const(vectors))
        return [
            *positions([*outer[:-1], groups], number),
            Let(column, apply("remainder", place, const(vectors))),
            *body,
        ]

    total = vectors * groups.extent * prod(x.extent for x in outer[:-1])
    return _apart(nest, total, 1, here)


__all__ = ["element_nest"]
