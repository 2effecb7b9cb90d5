"""Tiles of columns of a CPU, kept beside the program that works on them.

A row program along the first axis reads its input once per region, and the rows of a tile of
columns lie far apart: at a power of two they share few sets of every cache, so that a tile is read
from memory again each time. `packed` lets the first region copy what it reads to a row buffer that
the others read, and keeps values of a row in the same buffer where the copy is needed no more. A
tile of such buffers is contiguous (`Sweeps.hold`) and stays in a core's cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyc.frozen import frozen
from pyc.ir.expr import Expr, Load, Var, const, postorder
from pyc.ir.loops import Body, Buffer, For, Kind, Reduce, Space, Stmt, Store, walk
from pyc.ir.visit import Rewriter
from pyc.passes.nest import Loop, Nest, accesses, is_element_loop, roots, uses
from pyc.passes.rows import fill_of, same_row, variables_of


@frozen()
class _Copy:
    """What is copied: buffer[address], the address as the loops of the first region have it."""

    buffer: Buffer
    address: Expr
    loops: tuple[Loop, ...]


def packed(
    core: Body, buffers: Sequence[Buffer], nest: Nest, inner: Var
) -> tuple[Body, list[Buffer]] | None:
    """`core` with a row buffer for each input that moves along `inner` and that several regions
    read at the same place, and all row buffers then; None if there is nothing to copy, or if no row
    is stored: to read an input once more in long streams takes less time than to copy it."""
    regions = [s for s in core if _is_region(s)]
    stored = {s.buffer for r in regions for s in walk((r,)) if isinstance(s, Store)}
    if stored.isdisjoint(nest.kernel.buffers):
        return None
    if any(not same_row(variables_of(s), variables_of(regions[0])) for s in regions):
        return None
    copies = [c for b in nest.kernel.buffers if (c := _copied(b, regions, nest, inner)) is not None]
    if not copies:
        return None
    kept = list(buffers)
    for number, copy in enumerate(copies):
        size = prod(x.extent for x in copy.loops)
        made = Buffer(f"packed{number}", copy.buffer.dtype, (size,), Space.STACK, alignment=64)
        core = (_filling(copy, made, nest), *(_reading(s, copy, made, nest) for s in core))
        kept.append(made)
        for other in buffers:
            if other in kept and _follows(core, made, other, nest):
                core = Rewriter(
                    buffers=lambda b, o=other, m=made: m if b is o else b  # type: ignore[misc]
                ).body(core)
                kept.remove(other)
                break
    return core, kept


def _is_region(s: Stmt) -> bool:
    return isinstance(s, (Reduce, For)) and not is_element_loop(s)


def _copied(b: Buffer, regions: Sequence[Stmt], nest: Nest, inner: Var) -> _Copy | None:
    """The copy of an input, if it serves."""
    if b.role != "in":
        return None
    readers = [s for s in regions if any(found is b for found, _ in accesses((s,)))]
    if len(readers) < 2:
        return None
    loops = variables_of(readers[0])
    first: Expr | None = None
    for s in readers:
        back: dict[Var, Expr] = {x.var: y.var for x, y in zip(variables_of(s), loops, strict=True)}
        for found, at in accesses((s,)):
            if found is not b:
                continue
            address = nest.simplify(Rewriter(variables=back).expr(at))
            if first is not None and address is not first:
                return None
            first = address
    assert first is not None
    if nest.factor(inner, first) != 1 or not any(uses(first, x.var) for x in loops):
        return None
    return _Copy(b, first, loops)


def _position(loops: Sequence[Loop]) -> Expr:
    """The number of an element of the row."""
    position: Expr = const(0)
    for loop in loops:
        position = position * loop.extent + loop.var
    return position


def _filling(copy: _Copy, made: Buffer, nest: Nest) -> Stmt:
    """A loop over the row that copies."""
    loops = [Loop(nest.simplify.variable(x.var.name, x.extent), x.extent) for x in copy.loops]
    here: dict[Var, Expr] = {a.var: b.var for a, b in zip(copy.loops, loops, strict=True)}
    address = nest.simplify(Rewriter(variables=here).expr(copy.address))
    at = nest.simplify(_position(loops))
    inner: Stmt = Store(made, (at,), Load(copy.buffer, (address,)))
    for loop in reversed(loops):
        inner = For(loop.var, loop.extent, Kind.PARALLEL, (inner,))
    return inner


def _reading(s: Stmt, copy: _Copy, made: Buffer, nest: Nest) -> Stmt:
    """A statement that reads the copy."""
    if not _is_region(s):
        return s
    at = nest.simplify(_position(variables_of(s)))

    def rule(e: Expr) -> Expr:
        return Load(made, (at,)) if isinstance(e, Load) and e.buffer is copy.buffer else e

    return Rewriter(expr=rule).stmt(s)


def _follows(core: Body, before: Buffer, after: Buffer, nest: Nest) -> bool:
    """Whether row buffer `after` may lie in the memory of `before`: it is filled element by element
    where `before` is read for the last time."""
    fill = fill_of(core, after)
    if fill is None or after.dtype is not before.dtype:
        return False
    size = prod(x.extent for x in fill.loops)
    if after.shape != before.shape or size != after.shape[0]:
        return False
    if nest.simplify(fill.index[0]) is not nest.simplify(_position(fill.loops)):
        return False
    return not any(
        isinstance(n, Load) and n.buffer is before
        for n in postorder(roots(core[fill.position + 1 :]))
    )
