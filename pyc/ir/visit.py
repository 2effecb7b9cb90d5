"""Rebuilding kernels: the one traversal that rewrites the expressions and buffers of a loop nest.

`Rewriter` applies an expression rule bottom-up and a buffer map to every statement of a body, and
keeps node identity: an expression used by two statements is one expression afterwards too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyc.frozen import replace
from pyc.ir.expr import Expr, Load, Var, rebuild
from pyc.ir.loops import (
    Accumulate,
    Alloc,
    Barrier,
    Body,
    Buffer,
    Carry,
    Copy,
    Cumulate,
    Extent,
    Fail,
    For,
    If,
    Last,
    Let,
    PairsMultiply,
    Prefetch,
    Reduce,
    Signal,
    Split,
    Stmt,
    Store,
    TileMultiply,
    Wait,
    While,
    spine,
    walk,
)

Index = tuple[Expr, ...]


class Rewriter:
    """Rewrites bodies.

    expr: applied to each node after its operands; variables: replacements of variables;
    buffers: replacements of buffers; index: given (old buffer, rewritten index), the index into the
    replacement (default: unchanged).
    """

    def __init__(
        self,
        expr: Callable[[Expr], Expr] | None = None,
        variables: Mapping[Var, Expr] | None = None,
        buffers: Callable[[Buffer], Buffer] | None = None,
        index: Callable[[Buffer, Index], Index] | None = None,
    ) -> None:
        self._rule = expr
        self._variables = dict(variables or {})
        self._buffers = buffers or (lambda b: b)
        self._index = index or (lambda _, i: i)
        self._done: dict[Expr, Expr] = {}

    def expr(self, root: Expr) -> Expr:
        """The rewritten expression."""
        done = self._done
        stack: list[Expr | None] = [root]
        while stack:
            node = stack.pop()
            if node is None:  # the one below it has its operands
                node = stack.pop()
                assert node is not None
            elif node in done:
                continue
            elif operands := node.operands:
                stack += (node, None)
                stack += operands
                continue
            if node not in done:
                done[node] = self._node(node)
        return done[root]

    def _node(self, node: Expr) -> Expr:
        if isinstance(node, Var):
            return self._variables.get(node, node)
        done = self._done
        operands = tuple([done[c] for c in node.operands])
        if isinstance(node, Load):
            buffer, index = self._buffers(node.buffer), self._index(node.buffer, operands)
            # By identity: nodes have no other equality.
            same = buffer is node.buffer and index == node.index
            result: Expr = node if same else Load(buffer, index)
        else:
            result = rebuild(node, operands) if operands else node
        return self._rule(result) if self._rule is not None else result

    def exprs(self, roots: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Each rewritten."""
        return tuple(self.expr(r) for r in roots)

    def extent(self, extent: Extent) -> Extent:
        """The rewritten bound."""
        return self.expr(extent) if isinstance(extent, Expr) else extent

    def access(self, buffer: Buffer, index: Index) -> tuple[Buffer, Index]:
        """The rewritten access of a statement."""
        return self._buffers(buffer), self._index(buffer, self.exprs(index))

    def body(self, body: Body) -> Body:
        """The rewritten statements."""
        around, inner = spine(body)
        found = [(tuple(map(self.stmt, before)), self._buffers(s.buffer)) for before, s in around]
        rewritten = tuple(map(self.stmt, inner))
        for before, buffer in reversed(found):
            rewritten = (*before, Alloc(buffer, rewritten))
        return rewritten

    def _carried(self, carried: tuple[Carry, ...]) -> tuple[Carry, ...]:
        return tuple(
            replace(c, initial=self.expr(c.initial), next=self.expr(c.next)) for c in carried
        )

    def stmt(self, s: Stmt) -> Stmt:
        """The rewritten statement."""
        if isinstance(s, For):
            extent = self.extent(s.extent)
            return replace(
                s, extent=extent, body=self.body(s.body), carried=self._carried(s.carried)
            )
        if isinstance(s, While):
            body = self.body(s.body)
            return While(self._carried(s.carried), self.expr(s.condition), body)
        if isinstance(s, If):
            condition = self.expr(s.condition) if s.condition is not None else None
            return replace(
                s, condition=condition, then=self.body(s.then), orelse=self.body(s.orelse)
            )
        if isinstance(s, Let):
            return Let(s.var, self.expr(s.value))
        if isinstance(s, Reduce):
            domain = tuple((v, self.extent(e)) for v, e in s.domain)
            return replace(s, domain=domain, values=self.exprs(s.values))
        if isinstance(s, Cumulate):
            extent, values = self.extent(s.extent), self.exprs(s.values)
            return replace(s, extent=extent, values=values, body=self.body(s.body))
        if isinstance(s, (Store, Accumulate)):
            buffer, index = self.access(s.buffer, s.index)
            return replace(s, buffer=buffer, index=index, value=self.expr(s.value))
        if isinstance(s, Prefetch):
            return Prefetch(*self.access(s.buffer, s.index), s.first)
        if isinstance(s, Alloc):
            return Alloc(self._buffers(s.buffer), self.body(s.body))
        if isinstance(s, Copy):
            destination, to = self.access(s.destination, s.destination_index)
            source, at = self.access(s.source, s.source_index)
            return replace(
                s,
                destination=destination,
                destination_index=to,
                source=source,
                source_index=at,
                signal_index=self.exprs(s.signal_index),
            )
        if isinstance(s, Signal):
            return replace(s, index=self.exprs(s.index), bytes=self.extent(s.bytes))
        if isinstance(s, Wait):
            return replace(s, index=self.exprs(s.index), parity=self.expr(s.parity))
        if isinstance(s, TileMultiply):
            first = self.expr(s.first) if s.first is not None else None
            a, a_index = self.access(s.a, s.a_index)
            b, b_index = self.access(s.b, s.b_index)
            return replace(s, a=a, a_index=a_index, b=b, b_index=b_index, first=first)
        if isinstance(s, Split):
            source, source_index = self.access(s.source, s.source_index)
            below, below_index = self.access(s.below, s.below_index)
            others, others_index = self.access(s.others, s.others_index)
            return replace(
                s,
                source=source,
                source_index=source_index,
                bound=self.expr(s.bound),
                below=below,
                below_index=below_index,
                others=others,
                others_index=others_index,
            )
        if isinstance(s, PairsMultiply):
            first = self.expr(s.first) if s.first is not None else None
            places = (self.access(buffer, index) for buffer, index, _ in s.boxes)
            (sums, sums_index), (a, a_index), (b, b_index) = places
            return PairsMultiply(sums, sums_index, a, a_index, b, b_index, s.tiles, first)
        if isinstance(s, Fail):
            return Fail(s.site, self.expr(s.condition), self.expr(s.value))
        assert isinstance(s, (Barrier, Last))
        return s


def renamed(body: Body, binding: Mapping[Var, Expr] | None = None) -> Body:
    """A copy of `body` in which every variable bound and every buffer made inside is a new one,
    and the variables of `binding` are replaced: what a body needs to stand in a kernel twice."""
    fresh: dict[Var, Var] = {}
    made: dict[Buffer, Buffer] = {}
    for s in walk(body):
        for var in bound(s):
            fresh[var] = Var(var.name, var.dtype)
        if isinstance(s, Alloc):
            made[s.buffer] = replace(s.buffer)
    variables: dict[Var, Expr] = {**fresh, **(binding or {})}
    rewriter = Rewriter(variables=variables, buffers=lambda b: made.get(b, b))
    return _bind(rewriter.body(body), fresh)


def bound(s: Stmt) -> tuple[Var, ...]:
    """The variables that a statement itself binds."""
    if isinstance(s, For):
        return (s.var, *(v for c in s.carried for v in (c.var, c.result)))
    if isinstance(s, While):
        return tuple(v for c in s.carried for v in (c.var, c.result))
    if isinstance(s, (Let, Last)):
        return (s.var,)
    if isinstance(s, Cumulate):
        return (s.var, *s.results)
    return s.results if isinstance(s, Reduce) else ()


def _bind(body: Body, fresh: Mapping[Var, Var]) -> Body:
    """The binders of `body` under their new names."""

    def carried(carries: tuple[Carry, ...]) -> tuple[Carry, ...]:
        return tuple(replace(c, var=fresh[c.var], result=fresh[c.result]) for c in carries)

    around, innermost = spine(body)
    heads = [(_bind(before, fresh), s.buffer) for before, s in around]
    result: list[Stmt] = []
    for s in innermost:
        if isinstance(s, For):
            inner = _bind(s.body, fresh)
            s = replace(s, var=fresh[s.var], body=inner, carried=carried(s.carried))
        elif isinstance(s, While):
            s = replace(s, body=_bind(s.body, fresh), carried=carried(s.carried))
        elif isinstance(s, If):
            s = replace(s, then=_bind(s.then, fresh), orelse=_bind(s.orelse, fresh))
        elif isinstance(s, Alloc):
            s = Alloc(s.buffer, _bind(s.body, fresh))
        elif isinstance(s, Let):
            s = Let(fresh[s.var], s.value)
        elif isinstance(s, Last):
            s = Last(fresh[s.var])
        elif isinstance(s, Reduce):
            s = replace(s, results=tuple(fresh[r] for r in s.results))
        elif isinstance(s, Cumulate):
            results = tuple(fresh[r] for r in s.results)
            s = replace(s, results=results, var=fresh[s.var], body=_bind(s.body, fresh))
        result.append(s)
    bound_body = tuple(result)
    for before, buffer in reversed(heads):
        bound_body = (*before, Alloc(buffer, bound_body))
    return bound_body
