"""Row programs as several launches: what few long rows need to keep a device busy.

Takes the regions of a row program (reductions that depend on each other, loops over the row) and
returns them apart: groups of reductions that do not depend on each other, each of which stores its
results in scratch memory, and loops that store. What passes from one to another is a result, read
back from memory, or is computed again where it is used: no row buffer is left.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.frozen import frozen, replace
from pyc.ir.expr import Expr, Load, Var, const, postorder
from pyc.ir.loops import Body, Buffer, Fail, For, Let, Reduce, Stmt, Store
from pyc.ir.visit import Rewriter
from pyc.passes.index import Simplifier
from pyc.passes.nest import Loop, peel

RECOMPUTED = 256
"""Instructions of an element that may be computed again in each region that uses it."""


@frozen()
class Regions:
    """groups: reductions of one element per kept position, in order, with stores of their results;
    stores: (loops over the row, body) in order; results: the scratch buffers, one element per kept
    position each."""

    groups: tuple[Body, ...]
    stores: tuple[tuple[tuple[Loop, ...], Body], ...]
    results: tuple[Buffer, ...]


def regions_of(
    loops: Sequence[Loop], row_buffers: Sequence[Buffer], core: Body, simplify: Simplifier
) -> Regions | None:
    """The regions of a row program apart; None where one would need what another leaves in memory,
    or too much would be computed again."""
    whole = _without_row_buffers(row_buffers, core, simplify)
    if whole is None:
        return None
    place: Expr = const(0)
    kept = 1
    for loop in loops:
        place = simplify(place * loop.extent + loop.var)
        kept *= loop.extent
    known: dict[Var, Expr] = {}
    level: dict[Var, int] = {}
    groups: list[list[Reduce]] = []
    results: list[list[Buffer]] = []
    stores: list[tuple[tuple[Loop, ...], Body]] = []
    ends: list[Stmt] = []
    for s in whole:
        rewriter = Rewriter(variables=known)
        if isinstance(s, Let):
            known[s.var] = rewriter.expr(s.value)
            level[s.var] = _highest([s.value], level)
        elif isinstance(s, Reduce):
            number = _highest(s.values, level)
            if number == len(groups):
                groups.append([])
                results.append([])
            groups[number].append(replace(s, values=rewriter.exprs(s.values)))
            for r in s.results:
                held = Buffer(f"result{len(known)}", r.dtype, (kept,), role="inout")
                results[number].append(held)
                known[r] = Load(held, (place,))
                level[r] = number + 1
        elif isinstance(s, For):
            nest, inner = peel((s,))
            stores.append((tuple(nest), rewriter.body(inner)))
        elif isinstance(s, (Store, Fail)):
            ends.append(s)
        else:
            return None
    if not groups or any(len(postorder([e])) > RECOMPUTED for e in _values(groups, stores)):
        return None
    found: list[Body] = []
    for group, memory in zip(groups, results, strict=True):
        names = [r for s in group for r in s.results]
        kept_results = (Store(b, (place,), r) for b, r in zip(memory, names, strict=True))
        found.append((*group, *kept_results))
    if ends:
        # The last group has its own results at hand; what went before is read back.
        own = {r for s in groups[-1] for r in s.results}
        rewriter = Rewriter(variables={v: e for v, e in known.items() if v not in own})
        found[-1] = (*found[-1], *rewriter.body(tuple(ends)))
    return Regions(tuple(found), tuple(stores), tuple(b for memory in results for b in memory))


def _highest(roots: Sequence[Expr], level: dict[Var, int]) -> int:
    """The number of the group that can first compute some expressions."""
    return max((level.get(e, 0) for e in postorder(roots) if isinstance(e, Var)), default=0)


def _values(
    groups: Sequence[Sequence[Reduce]], stores: Sequence[tuple[tuple[Loop, ...], Body]]
) -> list[Expr]:
    found = [v for group in groups for s in group for v in s.values]
    found += [s.value for _, body in stores for s in body if isinstance(s, (Let, Store))]
    return found


def _without_row_buffers(
    row_buffers: Sequence[Buffer], core: Body, simplify: Simplifier
) -> Body | None:
    """The core with the elements of row buffers computed where they are read; None if one is not
    filled by one loop over the row, element by element."""
    known: dict[Buffer, tuple[Var, Expr]] = {}
    out: list[Stmt] = []

    def rule(e: Expr) -> Expr:
        if isinstance(e, Load) and e.buffer in known:
            var, value = known[e.buffer]
            return Rewriter(variables={var: e.index[0]}).expr(value)
        return e

    for s in core:
        (moved,) = Rewriter(expr=rule).body((s,))
        if not isinstance(moved, For):
            out.append(moved)
            continue
        nest, inner = peel((moved,))
        filled = [x for x in inner if isinstance(x, Store) and x.buffer in row_buffers]
        if not filled:
            out.append(moved)
            continue
        if len(nest) != 1:
            return None
        lets: dict[Var, Expr] = {}
        for x in inner:
            rewriter = Rewriter(variables=lets)
            if isinstance(x, Let):
                lets[x.var] = rewriter.expr(x.value)
            elif isinstance(x, Store) and x.buffer in row_buffers:
                if x.index[0] is not nest[0].var or x.buffer in known:
                    return None
                known[x.buffer] = (nest[0].var, rewriter.expr(x.value))
        rest = tuple(x for x in inner if x not in filled)
        if any(isinstance(x, (Store, Fail)) for x in rest):
            out.append(replace(moved, body=rest))
    if any(b not in known for b in row_buffers):
        return None
    return tuple(out)
