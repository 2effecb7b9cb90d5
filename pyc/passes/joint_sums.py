"""Sums of a row that share costly values, or of columns that share an array: one walk for all.

`lower` keeps such values in row buffers, which loops fill and each sum reads. Sums of one monoid
that stand right behind these loops, and are all that reads the buffers, are one reduction with the
components of all of them: a value is bound where it was stored, and has no memory. Sums over long
rows of columns that read the same array are one too, as memory is then read once (`sums_in_step`).
Each sum has the terms and the order that it had.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyc.frozen import frozen
from pyc.ir.expr import Expr, Load, Var
from pyc.ir.loops import Body, Buffer, For, Let, Reduce, Space, Stmt
from pyc.ir.visit import Rewriter
from pyc.passes.index import Simplifier
from pyc.passes.nest import Nest, accesses, bindings, peel, uses
from pyc.passes.rows import fill_of, only_at, same_row, variables_of

MOST = 4
"""Sums of one walk: each has an accumulator, and code of its own for the ends of a row."""
LONG = 256
"""Elements of a row of columns from which its sums are one walk: those of fewer are written out,
sum by sum."""


@frozen()
class JointSums:
    """Several reductions as one. reduce: has the results of all of them; before: binds what they
    share; after: the statements that follow."""

    before: Body
    reduce: Reduce
    after: Body


def joint_sums(core: Body, buffers: Sequence[Buffer], simplify: Simplifier) -> JointSums | None:
    """The sums of a row program with row `buffers` as one; None where something else reads these,
    or there is no second sum."""
    found = [(b, fill) for b in buffers if (fill := fill_of(core, b)) is not None]
    found.sort(key=lambda item: item[1].position)
    count = len(found)
    if count < len(buffers) or [fill.position for _, fill in found] != list(range(count)):
        return None
    sums = _alike(core[count:])
    after = core[count + len(sums) :]
    fills_only = all(len(peel((s,))[1]) == 1 for s in core[:count])
    if len(sums) < 2 or not fills_only or any(b in buffers for b, _ in accesses(after)):
        return None
    here = variables_of(sums[0])
    joint = _as_one(sums)
    kept: dict[Buffer, Var] = {}
    before: list[Stmt] = []

    def rule(e: Expr) -> Expr:
        return kept.get(e.buffer, e) if isinstance(e, Load) else e

    for buffer, fill in found:
        if not same_row(fill.loops, here):
            return None
        place: dict[Var, Expr] = {a.var: b.var for a, b in zip(fill.loops, here, strict=True)}
        value, *at = Rewriter(rule, place).exprs((fill.value, *fill.index))
        if not only_at(joint, buffer, at, simplify):
            return None
        kept[buffer] = Var("kept", buffer.dtype)
        before.append(Let(kept[buffer], value))
    if any(b in buffers for b, _ in accesses(before)):
        return None
    changed = Rewriter(rule).stmt(joint)
    assert isinstance(changed, Reduce)
    return JointSums(tuple(before), changed, after)


def _alike(core: Body) -> list[Reduce]:
    """The reductions at the start of statements that are of one monoid, over rows of one form, and
    need none of each other."""
    found: list[Reduce] = []
    for s in core[:MOST]:
        if not isinstance(s, Reduce):
            break
        if found:
            first = found[0]
            made = [r for x in found for r in x.results]
            needed = any(uses(e, r) for e in s.values for r in made)
            if needed or s.monoid != first.monoid or not same_row(*map(variables_of, (s, first))):
                break
        found.append(s)
    return found


def sums_in_step(core: Body) -> Body:
    """`core` with sums that read the same array, one behind the other, as one reduction, where
    none needs what stands between them."""
    result: list[Stmt] = []
    waiting: list[Reduce] = []
    between: list[Stmt] = []
    for s in core:
        if isinstance(s, Reduce) and _is_in_step(waiting, between, s):
            waiting.append(s)
        elif isinstance(s, Let) and waiting:
            between.append(s)
        else:
            result += [*_in_one(waiting), *between]
            waiting, between = [], []
            if isinstance(s, Reduce) and s.monoid == "add":
                waiting.append(s)
            else:
                result.append(s)
    return (*result, *_in_one(waiting), *between)


def _is_in_step(waiting: Sequence[Reduce], between: Sequence[Stmt], s: Reduce) -> bool:
    """Whether a reduction may be one with those that wait."""
    if not waiting or len(waiting) == MOST or s.monoid != waiting[0].monoid:
        return False
    if prod(x.extent for x in variables_of(s)) < LONG:
        return False
    read = {b for b, _ in accesses(bindings(waiting[0]))}
    if not any(b in read for b, _ in accesses(bindings(s))):
        return False
    made = [r for x in waiting for r in x.results] + [x.var for x in between if isinstance(x, Let)]
    needed = any(uses(e, v) for e in s.values for v in made)
    return not needed and same_row(*map(variables_of, (s, waiting[0])))


def _in_one(sums: Sequence[Reduce]) -> Sequence[Reduce]:
    return sums if len(sums) < 2 else [_as_one(sums)]


def _as_one(sums: Sequence[Reduce]) -> Reduce:
    """Sums over rows of one form as one, over the row of the first."""
    first = sums[0]
    values: list[Expr] = []
    for s in sums:
        pairs = zip(variables_of(s), variables_of(first), strict=True)
        values += Rewriter(variables={a.var: b.var for a, b in pairs}).exprs(s.values)
    results = tuple(r for s in sums for r in s.results)
    return Reduce(results, first.domain, tuple(values), first.monoid)


def pairs_only(nest: Nest, var: Var, core: Body) -> bool:
    """Whether no array that the regions of a row program read moves along both the row and `var`:
    each element is made of what belongs to one of the two."""
    for s in core:
        if not isinstance(s, (Reduce, For)):
            continue
        row = [x.var for x in variables_of(s)]
        inside = bindings(s) if isinstance(s, Reduce) else peel((s,))[1]
        for buffer, address in nest.accesses(inside):
            along = any(uses(address, v) for v in row)
            if buffer.space is Space.GLOBAL and along and uses(address, var):
                return False
    return True
