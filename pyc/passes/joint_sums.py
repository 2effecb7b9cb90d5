"""Sums of a row that share costly values: one walk over the row for all of them.

`lower` keeps such values in row buffers, which loops fill and each sum reads. Sums of one monoid
that stand right behind these loops, and are all that reads the buffers, are one reduction with the
components of all of them: a value is bound where it was stored, and has no memory. Each sum has the
terms and the order that it had.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.frozen import frozen
from pyc.ir.expr import Expr, Load, Var
from pyc.ir.loops import Body, Buffer, For, Let, Reduce, Space, Stmt
from pyc.ir.visit import Rewriter
from pyc.passes.index import Simplifier
from pyc.passes.nest import Nest, accesses, bindings, peel, uses
from pyc.passes.rows import fill_of, only_at, same_row, variables_of

MOST = 4
"""Sums of one walk: each has an accumulator, and code of its own for the ends of a row."""


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
    first = sums[0]
    here = variables_of(first)
    values: list[Expr] = []
    for s in sums:
        pairs = zip(variables_of(s), here, strict=True)
        values += Rewriter(variables={a.var: b.var for a, b in pairs}).exprs(s.values)
    results = tuple(r for s in sums for r in s.results)
    joint = Reduce(results, first.domain, tuple(values), first.monoid)
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
