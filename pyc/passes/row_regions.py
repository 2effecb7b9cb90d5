"""Regions of a row program, over one canonical position of the row.

A reduction or a loop over the row walks some variables; here they are functions of one position, so
that every region of a program reads the same element at the same expression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.ir.expr import Expr, Load, Var, apply, const, postorder
from pyc.ir.loops import (
    Body,
    Extent,
    For,
    Let,
    Reduce,
    Stmt,
    expressions,
)
from pyc.ir.visit import Rewriter
from pyc.passes.index import Simplifier
from pyc.passes.reduction_blocks import Components


class Region:
    """A reduction or a row loop over one canonical position of the row."""

    def __init__(self, statement: Reduce | For, position: Var, simplify: Simplifier) -> None:
        self.statement = statement
        binding: dict[Var, Expr] = {}
        if isinstance(statement, Reduce):
            domain: list[tuple[Var, Extent]] = list(statement.domain)
            self.results: tuple[Var, ...] = statement.results
            self.monoid = statement.monoid
            inner: Body = tuple(
                Let(r, v) for r, v in zip(statement.results, statement.values, strict=True)
            )
        else:
            found, inner = _nest(statement)
            domain = list(found)
            self.results = ()
            self.monoid = ""
        rest: Expr = position
        for var, extent in reversed(domain[1:]):
            assert isinstance(extent, int)
            binding[var] = simplify(apply("remainder", rest, const(extent)))
            rest = simplify(apply("quotient", rest, const(extent)))
        if domain:
            binding[domain[0][0]] = rest
        rewriter = Rewriter(variables=binding, index=lambda _, at: tuple(simplify(e) for e in at))
        self.body = rewriter.body(inner)

    @property
    def values(self) -> Components:
        """What a reduction reduces."""
        return tuple(s.value for s in self.body if isinstance(s, Let))

    def loads(self) -> list[Load]:
        """Every load of the region."""
        roots = [e for s in self.body for e in expressions(s)]
        return [n for n in postorder(roots) if isinstance(n, Load)]


def known_ahead(parts: Sequence[Stmt | Region], position: Var) -> Callable[[Load], bool]:
    """Whether an element may be loaded before the first of the parts of a row program: one of an
    input, by the position, at an address that needs nothing that a part binds or stores."""
    bound = {v for p in parts if isinstance(p, Region) for v in p.results}
    bound |= {p.var for p in parts if isinstance(p, Let)}

    def known(load: Load) -> bool:
        nodes = postorder([load])
        loaded = all(n.buffer.role == "in" for n in nodes if isinstance(n, Load))
        return loaded and position in nodes and bound.isdisjoint(nodes)

    return known


def _nest(loop: For) -> tuple[list[tuple[Var, int]], Body]:
    domain: list[tuple[Var, int]] = []
    body: Body = (loop,)
    while len(body) == 1 and isinstance(body[0], For):
        (inner,) = body
        assert isinstance(inner, For) and isinstance(inner.extent, int)
        domain.append((inner.var, inner.extent))
        body = inner.body
    return domain, body
