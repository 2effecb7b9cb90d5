"""The elements of a reduction by their position in its sequence.

`Elements` takes a `Reduce` (and what to bind and store on its way, see `rows.absorbed`) and gives
the statements and values of the element at a position: the row-major number in the reduced domain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from pyc.ir.expr import Apply, Expr, Load, Var, apply, const, minimum, postorder, select
from pyc.ir.loops import Body, If, Let, Reduce, Stmt, Store, expressions
from pyc.ir.visit import Rewriter, renamed

Components = tuple[Expr, ...]
"""The values of a monoid's components."""
Found = tuple[list[Stmt], Components]
"""Statements, and the components that they leave."""


def positions(domain: Sequence[tuple[Var, int]], position: Expr) -> dict[Var, Expr]:
    """The variables of a domain at a row-major position."""
    found: dict[Var, Expr] = {}
    for var, extent in reversed(domain[1:]):
        found[var] = apply("remainder", position, const(extent))
        position = apply("quotient", position, const(extent))
    if domain:
        found[domain[0][0]] = position
    return found


class Elements:
    """The elements of a reduction whose extents are constants; `before` binds (`Let`) and stores
    what the values need at the same position."""

    def __init__(self, reduce: Reduce, before: Body = ()) -> None:
        self.reduce = reduce
        self.before = before
        self.domain = [(v, e) for v, e in reduce.domain if isinstance(e, int)]
        self.n = prod(e for _, e in self.domain)
        self.types = tuple(r.dtype for r in reduce.results)

    @property
    def work(self) -> int:
        """Instructions of one element."""
        roots = [*self.reduce.values, *(e for s in self.before for e in expressions(s))]
        return sum(isinstance(e, Apply) for e in postorder(roots))

    def value(self, position: Expr) -> Components:
        """The components at a position; nothing is to be done before."""
        assert not self.before
        return Rewriter(variables=positions(self.domain, position)).exprs(self.reduce.values)

    def at(self, position: Expr, also: Mapping[Var, Expr] | None = None) -> Found:
        """The element at a position. also: what other variables stand for."""
        binding = {**positions(self.domain, position), **(also or {})}
        if not self.before:
            return [], Rewriter(variables=binding).exprs(self.reduce.values)
        pairs = zip(self.reduce.results, self.reduce.values, strict=True)
        names = tuple(Let(r, v) for r, v in pairs)
        body = renamed((*self.before, *names), binding)
        return list(body), tuple(s.var for s in body[-len(names) :] if isinstance(s, Let))

    def up_to(self, position: Expr, inside: Expr, otherwise: Components) -> Found:
        """The element at a position where `inside` (which is so up to the last one), else
        `otherwise`."""
        clamped = positions(self.domain, minimum(position, self.n - 1))
        loaded = all(isinstance(v, Load) for v in self.reduce.values)
        if not self.before and loaded:
            found = Rewriter(variables=clamped).exprs(self.reduce.values)
            return [], tuple(select(inside, x, o) for x, o in zip(found, otherwise, strict=True))
        lets = [s for s in self.before if isinstance(s, Let)]
        lets += [Let(r, v) for r, v in zip(self.reduce.results, self.reduce.values, strict=True)]
        body = renamed(tuple(lets), clamped)
        fresh = {a.var: b.var for a, b in zip(lets, body, strict=True) if isinstance(b, Let)}
        place = Rewriter(variables={**positions(self.domain, position), **fresh})
        stores = place.body(tuple(s for s in self.before if isinstance(s, Store)))
        masked = [If(inside, stores)] if stores else []
        values = zip(self.reduce.results, otherwise, strict=True)
        return [*body, *masked], tuple(select(inside, fresh[r], o) for r, o in values)
