"""Whether a kernel may store an output where one of its inputs lies, and the kernel that does.

Takes a logical kernel (of `lower`, `lower_loop`, or a contraction's) and two of its buffers of one
shape and type. The positions of its parallel loops run in any order and at once, the statements of
one position in theirs. So the output may lie in the input's memory if

* a position stores elements that no other position stores or reads;
* before its first store it may read any of those, in the statement that stores each element where
  that element is stored, and behind it none.

A schedule keeps this as long as it repeats no position: what it does again reads what was stored
(`nest.is_in_place` says where it must not). `overlaid` makes the two buffers one, so that all that
follows sees what is read and written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyc.frozen import replace
from pyc.ir.expr import Expr, Load, Var, postorder
from pyc.ir.loops import (
    Body,
    Buffer,
    Fail,
    For,
    Kernel,
    Let,
    Reduce,
    Stmt,
    Store,
    expressions,
    walk,
)
from pyc.ir.visit import Rewriter
from pyc.passes.nest import Loop, is_element_loop, peel, unwrap

Index = tuple[Expr, ...]


def may_overwrite(kernel: Kernel, output: Buffer, source: Buffer) -> bool:
    """Whether `output` may be made in the memory of `source`, which the kernel only reads."""
    if output.shape != source.shape or output.dtype is not source.dtype:
        return False
    loops, body = peel(kernel.body)
    _, body = unwrap(body)
    extents = {x.var: x.extent for x in loops}
    first = next((k for k, s in enumerate(body) if _stores(s, output)), None)
    if first is None or not all(map(_is_plain, body)):
        return False
    written = [s for s in walk(body) if isinstance(s, Store) and s.buffer is output]
    own, *others = [_own_axes(s.index, extents) for s in written]
    if own is None or any(axes != own for axes in others):
        return False
    if not all(_is_at(load, own) for load in _loads(body[:first], source)):
        return False
    if _loads(body[first + 1 :], source):
        return False
    return _reads_where_it_stores(body[first], output, source, extents)


def _is_plain(s: Stmt) -> bool:
    """Whether a statement of one position is of a kind that is known here."""
    if isinstance(s, For) and not is_element_loop(s):
        loops, inner = peel((s,))
        return bool(loops) and all(isinstance(x, (Let, Fail, Store)) for x in inner)
    return is_element_loop(s) or isinstance(s, (Let, Fail, Store, Reduce))


def _stores(s: Stmt, buffer: Buffer) -> bool:
    return any(isinstance(x, Store) and x.buffer is buffer for x in walk((s,)))


def _loads(body: Sequence[Stmt], buffer: Buffer) -> list[Load]:
    """Every load of a buffer."""
    nodes = postorder([e for s in walk(tuple(body)) for e in expressions(s)])
    return [n for n in nodes if isinstance(n, Load) and n.buffer is buffer]


def _own_axes(index: Index, extents: Mapping[Var, int]) -> dict[int, Expr] | None:
    """The axes along which iterations of loops of these extents store apart, each with its
    variable; None if two of them may store one element."""
    long = [v for v, extent in extents.items() if extent > 1]
    own: dict[int, Expr] = {k: e for k, e in enumerate(index) if e in long}
    return own if set(own.values()) == set(long) else None


def _is_at(load: Load, axes: Mapping[int, Expr]) -> bool:
    return all(load.index[k] is e for k, e in axes.items())


def _reads_where_it_stores(
    s: Stmt, output: Buffer, source: Buffer, extents: Mapping[Var, int]
) -> bool:
    """Whether the first statement that stores reads each element before and where it stores it."""
    loops: list[Loop] = []
    inner: Body = (s,)
    if not isinstance(s, Store):
        loops, inner = peel(inner)
        if not loops:
            return False  # a loop with an order stores while it reads
    at = next(k for k, x in enumerate(inner) if _stores(x, output))
    store = inner[at]
    assert isinstance(store, Store)
    own = _own_axes(store.index, {**extents, **{x.var: x.extent for x in loops}})
    if own is None or _loads(inner[at + 1 :], source):
        return False
    return all(_is_at(load, own) for load in _loads(inner, source))


def overlaid(kernel: Kernel, pairs: Mapping[Buffer, Buffer]) -> Kernel:
    """The kernel with inputs and outputs that are one buffer each, in the output's place. pairs:
    the output by the input."""
    one = {output: replace(output, role="inout") for output in pairs.values()}
    whole = {**one, **{source: one[output] for source, output in pairs.items()}}
    rewriter = Rewriter(buffers=lambda b: whole.get(b, b))
    buffers = tuple(one.get(b, b) for b in kernel.buffers if b not in pairs)
    return replace(kernel, buffers=buffers, body=rewriter.body(kernel.body))
