"""Facts about a kernel that its code depends on: what is written, what lanes vary, how wide."""

from __future__ import annotations

from pyc.backends.llvm_expr import nodes_under
from pyc.ir.defined import widest_in
from pyc.ir.expr import Apply, Expr, Load, Shuffle, Var, postorder
from pyc.ir.loops import (
    Accumulate,
    Alloc,
    Buffer,
    Copy,
    For,
    Kernel,
    Let,
    PairsMultiply,
    Split,
    Store,
    TileMultiply,
    While,
    expressions,
    walk,
)


def written_buffers(kernel: Kernel) -> frozenset[Buffer]:
    """Buffers whose loads must stay at their statement."""
    written: set[Buffer] = set()
    for s in walk(kernel.body):
        if isinstance(s, (Store, Accumulate)):
            written.add(s.buffer)
        elif isinstance(s, Copy):
            written.add(s.destination)
        elif isinstance(s, TileMultiply):
            written.add(s.accumulators)
        elif isinstance(s, PairsMultiply):
            written.add(s.sums)
        elif isinstance(s, Split):
            written.update((s.below, s.others))
    if any(b.may_alias for b in written):
        written.update(b for b in kernel.buffers if b.may_alias)
    return frozenset(written)


def varying_carries(loop: For) -> frozenset[Var]:
    """Carried variables (and results) inside a vector loop that differ from lane to lane: those
    that depend on its variable, on private buffers, or on a loop that lanes leave one by one. What
    all lanes in such a loop have in common does not, if nobody asks what a lane left with."""
    inner = list(walk(loop.body))
    loops = [s for s in inner if isinstance(s, (For, While)) and s.carried]
    if not loops:
        return frozenset()
    private = {s.buffer for s in inner if isinstance(s, Alloc)}
    read = {n for s in inner for n in nodes_under(expressions(s)) if isinstance(n, Var)}
    varying: set[Var] = {loop.var}

    def depends(*roots: Expr) -> bool:
        return any(
            (isinstance(n, Var) and n in varying) or (isinstance(n, Load) and n.buffer in private)
            for n in nodes_under(roots)
        )

    before = -1
    while len(varying) != before:
        before = len(varying)
        for s in inner:
            if isinstance(s, Let) and depends(s.value):
                varying.add(s.var)
            if not isinstance(s, (For, While)):
                continue
            by_lane = isinstance(s, While) and depends(s.condition)
            for c in s.carried:
                leaves = by_lane and c.result in read
                if leaves or c.var in varying or depends(c.initial, c.next):
                    varying.update((c.var, c.result))
    return frozenset(v for s in loops for c in s.carried for v in (c.var, c.result) if v in varying)


def widest_element(loop: For) -> int:
    """Bytes of the widest element that a vector loop loads, stores or computes with floats; at
    least 1. Index arithmetic, rare operands and what all lanes have in common do not count."""
    widest = 1
    carried = varying_carries(loop)
    common = _in_common(loop, carried)
    for s in walk(loop.body):
        if isinstance(s, (Store, Accumulate)):
            widest = max(widest, s.buffer.dtype.itemsize)
        if isinstance(s, (For, While)):
            sizes = [c.var.dtype.itemsize for c in s.carried if c.var in carried]
            widest = max(widest, 1, *sizes)
        seen: set[Expr] = set()
        stack = list(expressions(s))
        while stack:
            n = stack.pop()
            if n in seen or n in common:
                continue
            seen.add(n)
            if isinstance(n, Load):
                widest = max(widest, n.dtype.itemsize)
            elif isinstance(n, Apply):
                widest = max(widest, widest_in(n))
                stack.extend(n.args if n.name != "rare_select" else (n.args[0], n.args[2]))
            elif isinstance(n, Shuffle):
                stack.append(n.value)
    return widest


def _in_common(loop: For, carried: frozenset[Var]) -> set[Expr]:
    """Expressions inside a vector loop that are one value for all its lanes, as a scalar argument
    is, or the counter of a loop. carried: the carried variables that are not."""
    inner = list(walk(loop.body))
    private = {s.buffer for s in inner if isinstance(s, Alloc)}
    varying: set[Var] = {loop.var}
    common: set[Expr] = set()
    for s in inner:
        if isinstance(s, (For, While)):
            varying.update(v for c in s.carried for v in (c.var, c.result) if v in carried)
        for n in postorder(expressions(s)):
            own = n in varying or (isinstance(n, Load) and n.buffer in private)
            if not own and not isinstance(n, Shuffle) and all(x in common for x in n.operands):
                common.add(n)
        if isinstance(s, Let) and s.value not in common:
            varying.add(s.var)
    return common
