"""Minima and maxima with a bound that an ordered loop does not change, for a core.

A minimum as IEEE 754-2019 has it, NaN and the sign of zeros included, is an instruction that
compares and one or two that set bits. Where each iteration waits for the one before, these are what
takes the time. If the bound is neither zero nor NaN, which is known before the loop, the comparison
alone gives the same: `plain_bounds` takes a kernel and returns one with a second loop for that.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.frozen import replace
from pyc.ir.expr import Apply, Expr, Load, Var, apply, postorder, select
from pyc.ir.loops import (
    Buffer,
    Fail,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Store,
    expressions,
)
from pyc.ir.visit import Rewriter, bound, renamed

_TESTS = {"minimum": "lt", "maximum": "gt"}
LONGEST = 256
"""Instructions of an iteration of a loop that may stand in a kernel twice."""


def plain_bounds(kernel: Kernel) -> Kernel:
    """The kernel, with a second loop if it is one loop in order that has such bounds."""
    body = kernel.body
    at = next((k for k, s in enumerate(body) if isinstance(s, For)), len(body))
    if not all(isinstance(s, (Let, Store)) for s in body[at + 1 :]):
        return kernel
    bounds = [b for s in body[at : at + 1] if isinstance(s, For) for b in _bounds(s)]
    if not bounds:
        return kernel
    plain, *others = map(_is_plain, bounds)
    for other in others:
        plain = plain & other

    def compared(e: Expr) -> Expr:
        if not isinstance(e, Apply) or e.name not in _TESTS:
            return e
        for limit, x in (e.args, e.args[::-1]):
            if limit in bounds and x not in bounds:
                return select(apply(_TESTS[e.name], limit, x), limit, x)
        return e

    fast = Rewriter(expr=compared).body(renamed(body[at:]))
    return replace(kernel, body=(*body[:at], If(plain, fast, body[at:])))


def _is_plain(number: Expr) -> Expr:
    """Whether a comparison tells the number apart from all others."""
    return number.equal(number) & number.differs(0)


def _bounds(loop: For) -> list[Expr]:
    """The bounds of the minima and maxima by which a number that the loop carries follows from that
    of the iteration before."""
    inner = (Let, Store, Fail)
    if loop.kind is not Kind.SERIAL or not all(isinstance(s, inner) for s in loop.body):
        return []
    statements = (loop, *loop.body)
    nodes = postorder([e for s in statements for e in expressions(s)])
    if sum(isinstance(e, Apply) for e in nodes) > LONGEST:
        return []
    written = {s.buffer for s in loop.body if isinstance(s, Store)}
    varies = _over(nodes, {v for s in statements for v in bound(s)}, written)
    waits = _over(nodes, {c.var for c in loop.carried}, set())
    followed = set(postorder([c.next for c in loop.carried]))
    found: dict[Expr, None] = {}
    for e in nodes:
        if not isinstance(e, Apply) or e.name not in _TESTS or not e.dtype.is_float:
            continue
        fixed = [a for a in e.args if a not in varies]
        if len(fixed) == 1 and e in waits and e in followed:
            found[fixed[0]] = None
    return list(found)


def _over(nodes: Sequence[Expr], variables: set[Var], buffers: set[Buffer]) -> set[Expr]:
    """The nodes that are computed from these variables, or loaded from these buffers."""
    found: set[Expr] = set()
    for e in nodes:
        mine = e in variables if isinstance(e, Var) else isinstance(e, Load) and e.buffer in buffers
        if mine or not found.isdisjoint(e.operands):
            found.add(e)
    return found
