"""Values of a whole row that several regions of a row program need.

`lower` keeps them in a row buffer that a loop over the row fills. A scheduler may keep them in the
output that is made of them instead (`in_output`), compute them again where they are read
(`computed_again`), or fill a buffer while a reduction reads it (`absorbed`), which saves one walk
over the row. All keep every bit. `sections` gives the regions with what stands between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyc.frozen import frozen, replace
from pyc.ir.expr import Apply, Expr, Load, Var, postorder
from pyc.ir.loops import Body, Buffer, For, Let, Reduce, Stmt, Store, expressions, walk
from pyc.ir.visit import Rewriter, bound
from pyc.passes.index import Simplifier
from pyc.passes.nest import (
    Loop,
    Nest,
    accesses,
    bindings,
    is_element_loop,
    is_in_place,
    peel,
    row_length,
)


@frozen()
class Fill:
    """The region that fills a row buffer: its loops, and buffer[index] = value in each step."""

    position: int
    loops: tuple[Loop, ...]
    index: tuple[Expr, ...]
    value: Expr


@frozen()
class Section:
    """A region, if any, with what it stores on its way, and the statements of one row behind it.
    later: variables of these that other sections need."""

    before: Body
    region: Reduce | For | None
    after: Body
    later: tuple[Var, ...]


def sections(regions: Sequence[tuple[Body, Stmt]]) -> list[Section]:
    """The regions of a row program, each with the statements of one row behind it."""
    found: list[tuple[Body, Reduce | For | None, list[Stmt]]] = [((), None, [])]
    for before, s in regions:
        if isinstance(s, (Reduce, For)) and not is_element_loop(s):
            found.append((before, s, []))
        else:
            found[-1][2].append(s)
    result: list[Section] = []
    used: set[Var] = set()
    for before, region, after in reversed(found):
        defined = list(region.results) if isinstance(region, Reduce) else []
        defined += [v for s in after for v in bound(s)]
        result.append(Section(before, region, tuple(after), tuple(v for v in defined if v in used)))
        here = [*before, *([region] if region is not None else []), *after]
        nodes = postorder([e for s in walk(tuple(here)) for e in expressions(s)])
        used |= {n for n in nodes if isinstance(n, Var)}
    return result[::-1]


def fill_of(core: Sequence[Stmt], buffer: Buffer) -> Fill | None:
    """How a row buffer is filled, if by one loop over the row."""
    for position, s in enumerate(core):
        if not isinstance(s, For):
            continue
        loops, inner = peel((s,))
        stored = [x for x in inner if isinstance(x, Store)]
        if len(stored) == 1 and stored[0].buffer is buffer:
            if any(isinstance(x, Let) for x in inner):
                return None
            store = stored[0]
            return Fill(position, tuple(loops), store.index, store.value)
    return None


def variables_of(s: Stmt) -> tuple[Loop, ...]:
    """The loops over the row of a region."""
    if isinstance(s, Reduce):
        return tuple(Loop(v, int(e)) for v, e in s.domain if isinstance(e, int))
    assert isinstance(s, For)
    return tuple(peel((s,))[0])


def same_row(a: Sequence[Loop], b: Sequence[Loop]) -> bool:
    """Whether two regions walk the row by loops of the same extents."""
    return [x.extent for x in a] == [x.extent for x in b]


ROW_BUFFER_LIMIT = 1 << 14
"""Elements of a row buffer that stays in a core's cache, on the stack."""


OUTPUT_ROW = 1 << 10
"""Elements of a row buffer that is better an output, if it can be: a third array of this length
beside the row and its result crowds the first cache, and the misses of the result are waited for
while the values are computed (softmax over rows of 4,096: 1.13 -> 1.02 of a free kernel)."""


def _elements(buffer: Buffer) -> int:
    return prod(d for d in buffer.shape if isinstance(d, int))


def too_long(buffer: Buffer) -> bool:
    """Whether a row buffer does not belong on the stack."""
    return _elements(buffer) > ROW_BUFFER_LIMIT


def better_in_output(buffer: Buffer) -> bool:
    """Whether a row buffer should be an output if it can."""
    return _elements(buffer) > OUTPUT_ROW


def without_row_buffers(core: Body, buffers: Sequence[Buffer], nest: Nest) -> Body | None:
    """`core` with its row buffers in outputs (which `nest` learns) where these are made of them,
    else computed again; None if one can be neither."""
    core, left = in_outputs(core, buffers, nest)
    for buffer in left:
        again = computed_again(core, buffer, nest.simplify)
        if again is None:
            return None
        core = again
    return core


def in_outputs(core: Body, buffers: Sequence[Buffer], nest: Nest) -> tuple[Body, list[Buffer]]:
    """`core` with row buffers in outputs (which `nest` learns) that are made of them, and the row
    buffers of which nothing is."""
    outputs = [b for b in nest.kernel.buffers if b.role != "in"]
    left: list[Buffer] = []
    for buffer in buffers:
        found = in_output(core, buffer, outputs, nest.simplify)
        if found is None:
            left.append(buffer)
            continue
        core, old, new = found
        nest.exchange(old, new)
        outputs.remove(old)
    return core, left


def computed_again(core: Body, buffer: Buffer, simplify: Simplifier) -> Body | None:
    """`core` without the row buffer: its value where it was loaded. None if some region does not
    walk the row as the one that fills it."""
    fill = fill_of(core, buffer)
    if fill is None:
        return None
    result: list[Stmt] = []
    for position, s in enumerate(core):
        if position == fill.position:
            rest = tuple(x for x in peel((s,))[1] if not isinstance(x, Store))
            if rest:
                assert isinstance(s, For)
                result.append(_with_inner(s, rest))
            continue
        if not _loads(s, buffer):
            result.append(s)
            continue
        loops = variables_of(s)
        if not same_row(loops, fill.loops):
            return None
        binding: dict[Var, Expr] = {a.var: b.var for a, b in zip(fill.loops, loops, strict=True)}
        moved = Rewriter(variables=binding, index=lambda _, at: tuple(simplify(e) for e in at))
        value, *at = moved.exprs((fill.value, *fill.index))
        if not only_at(s, buffer, at, simplify):
            return None

        def rule(e: Expr, value: Expr = value) -> Expr:
            return value if isinstance(e, Load) and e.buffer is buffer else e

        result.append(Rewriter(expr=rule).stmt(s))
    return tuple(result)


def in_output(
    core: Body, buffer: Buffer, outputs: Sequence[Buffer], simplify: Simplifier
) -> tuple[Body, Buffer, Buffer] | None:
    """`core` with the row buffer in the output that the last region makes of it, that output and
    the buffer that takes its place (it is read now); None if there is no such output."""
    fill = fill_of(core, buffer)
    last = core[-1]
    if fill is None or not isinstance(last, For) or fill.position == len(core) - 1:
        return None
    loops, inner = peel((last,))
    if not same_row(loops, fill.loops) or not _loads(last, buffer):
        return None
    for out in outputs:
        stored = [x for x in inner if isinstance(x, Store) and x.buffer is out]
        if out.dtype is not buffer.dtype or out.may_alias or len(stored) != 1:
            continue
        if not _is_free(core, out, fill, loops, stored[0], simplify):
            continue
        found = _moved(core, buffer, fill, loops, stored[0], simplify)
        if found is not None:
            return found
    return None


def _is_free(
    core: Body,
    out: Buffer,
    fill: Fill,
    loops: Sequence[Loop],
    stored: Store,
    simplify: Simplifier,
) -> bool:
    """Whether a row buffer may lie in `out` from where it is filled on. What was in its memory, if
    something was, is read before, or for each element where that is filled."""
    if sum(b is out for b, _ in accesses(core[fill.position + 1 :])) != 1:
        return False
    if out.role == "out":
        return True
    place: dict[Var, Expr] = {a.var: b.var for a, b in zip(loops, fill.loops, strict=True)}
    at = Rewriter(variables=place).exprs(stored.index)
    return only_at(core[fill.position], out, at, simplify)


def _moved(
    core: Body,
    buffer: Buffer,
    fill: Fill,
    loops: Sequence[Loop],
    stored: Store,
    simplify: Simplifier,
) -> tuple[Body, Buffer, Buffer] | None:
    out = replace(stored.buffer, role="inout")
    result: list[Stmt] = []
    for position, s in enumerate(core):
        if not isinstance(s, (For, Reduce)):
            result.append(s)
            continue
        here = variables_of(s)
        if position == fill.position or _loads(s, buffer):
            if not same_row(here, fill.loops):
                return None
            moved: dict[Var, Expr] = {a.var: b.var for a, b in zip(fill.loops, here, strict=True)}
            if not only_at(s, buffer, Rewriter(variables=moved).exprs(fill.index), simplify):
                return None
        place: dict[Var, Expr] = {a.var: b.var for a, b in zip(loops, here, strict=False)}
        at = tuple(simplify(e) for e in Rewriter(variables=place).exprs(stored.index))

        def buffers(b: Buffer) -> Buffer:
            return out if b is buffer or b is stored.buffer else b

        def index(b: Buffer, old: tuple[Expr, ...], at: tuple[Expr, ...] = at) -> tuple[Expr, ...]:
            return at if b is buffer else old

        result.append(Rewriter(buffers=buffers, index=index).stmt(s))
    return tuple(result), stored.buffer, out


def absorbed(core: Body, simplify: Simplifier, shortest: int = 0) -> list[tuple[Body, Stmt]]:
    """The statements of `core`, each with what a reduction stores on its way: a loop that fills a
    buffer joins the reduction behind it if that reads the buffer. The value reduced is then that of
    a `Let` in front. Not in rows of fewer elements than `shortest`, and not where the value is
    made of what it replaces in memory: a reduction may take an element twice."""
    result: list[tuple[Body, Stmt]] = []
    for s in core:
        if result and isinstance(s, Reduce) and isinstance(result[-1][1], For):
            joined = _join(result[-1][1], s, simplify)
            if joined is not None and (row_length(s) or 0) >= shortest:
                result[-1] = joined
                continue
        result.append(((), s))
    return result


def _join(loop: For, reduce: Reduce, simplify: Simplifier) -> tuple[Body, Stmt] | None:
    loops, inner = peel((loop,))
    store = inner[0]
    if len(inner) != 1 or not isinstance(store, Store):
        return None
    here = variables_of(reduce)
    if not same_row(loops, here) or not _loads(reduce, store.buffer):
        return None
    binding: dict[Var, Expr] = {a.var: b.var for a, b in zip(loops, here, strict=True)}
    value, *at = Rewriter(variables=binding).exprs((store.value, *store.index))
    if not only_at(reduce, store.buffer, at, simplify) or is_in_place(inner):
        return None
    kept = Var("kept", store.buffer.dtype)

    def rule(e: Expr) -> Expr:
        return kept if isinstance(e, Load) and e.buffer is store.buffer else e

    changed = Rewriter(expr=rule).stmt(reduce)
    return (Let(kept, value), Store(store.buffer, tuple(at), kept)), changed


def hoisted(core: Body) -> Body:
    """`core` with what regions compute alike for all of the row bound in front of them. A loop over
    the row alone needs no such thing; one over neighbouring rows inside it does."""
    written = {s.buffer for s in walk(core) if isinstance(s, Store)}
    names: dict[int, Var] = {}
    rewriter = Rewriter(expr=lambda e: names.get(id(e), e))
    result: list[Stmt] = []
    for s in core:
        if isinstance(s, (For, Reduce)) and not is_element_loop(s):
            for e in _kept_only(s, written):
                if id(e) not in names:
                    names[id(e)] = Var("once", e.dtype)
                    result.append(Let(names[id(e)], e))
            s = rewriter.stmt(s)
        result.append(s)
    return tuple(result)


def _kept_only(s: Reduce | For, written: set[Buffer]) -> list[Expr]:
    """The largest values that a region computes and that do not depend on the row."""
    row = {x.var for x in variables_of(s)}
    body = bindings(s) if isinstance(s, Reduce) else peel((s,))[1]
    roots = [x.value for x in body if isinstance(x, (Let, Store))]
    moves: dict[int, bool] = {}
    for e in postorder(roots):
        varies = e in row if isinstance(e, Var) else any(moves[id(c)] for c in e.operands)
        moves[id(e)] = varies or (isinstance(e, Load) and e.buffer in written)
    found: dict[int, Expr] = {}
    stack = list(roots)
    seen: set[int] = set()
    while stack:
        e = stack.pop()
        if id(e) in seen:
            continue
        seen.add(id(e))
        if isinstance(e, Apply) and not moves[id(e)]:
            if any(isinstance(n, (Var, Load)) for n in postorder([e])):
                found[id(e)] = e
        elif isinstance(e, Apply):
            stack.extend(reversed(e.args))
    return list(found.values())


def _loads(s: Stmt, buffer: Buffer) -> bool:
    return any(b is buffer for b, _ in accesses((s,))) and not _only_stores(s, buffer)


def _only_stores(s: Stmt, buffer: Buffer) -> bool:
    inner = peel((s,))[1] if isinstance(s, For) else (s,)
    nodes = postorder([e for x in inner for e in expressions(x)])
    return not any(isinstance(n, Load) and n.buffer is buffer for n in nodes)


def only_at(s: Stmt, buffer: Buffer, at: Sequence[Expr], simplify: Simplifier) -> bool:
    """Whether every access of a region to `buffer` stands at index `at`."""
    wanted = tuple(simplify(e) for e in at)
    body = bindings(s) if isinstance(s, Reduce) else peel((s,))[1]
    found = [a for b, a in accesses(body) if b is buffer]
    return all(simplify(a) is wanted[0] for a in found)


def _with_inner(s: For, inner: Body) -> For:
    """The loop nest of `s` around other statements."""
    if len(s.body) == 1 and isinstance(s.body[0], For):
        inner = (_with_inner(s.body[0], inner),)
    return replace(s, body=inner)
