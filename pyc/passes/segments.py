"""Segments: loops cut where comparisons of their positions change.

Concatenations, pads, shifts and replaced boxes compare positions with constants. Takes a loop and
the statements under it, returns pieces of the loop in which the comparisons are decided: what was a
guarded, clamped access is a contiguous one there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from pyc.ir import dtype as dt
from pyc.ir.expr import Apply, Const, Expr, Var, postorder
from pyc.ir.loops import Body, Buffer, If, Let, Stmt
from pyc.ir.visit import Rewriter
from pyc.passes.index import Simplifier
from pyc.passes.nest import Loop, instructions, roots

MOST_CUTS = 6
"""Places at which a loop is cut into pieces at most."""
SEGMENT_LIMIT = 800
"""Instructions that the pieces of a cut loop may add."""
MOST = 0.75
"""The share of a loop outside from which one piece has code of its own, and all others together the
code that compares."""
FEW_PIECES = 3
"""Pieces of a loop outside that have code of their own where none is most of it."""

_BELOW = ("lt", "ge")
_UP_TO = ("le", "gt")
_EQUAL = ("eq", "ne")
_CLAMPS = ("minimum", "maximum")

Piece = tuple[Loop, int, Body]
"""A loop over some positions, the first of them, and the statements over its variable."""


class Segments:
    """Cuts the loops of one kernel. simplify: knows the ranges of the loop variables."""

    def __init__(self, simplify: Simplifier) -> None:
        self.simplify = simplify
        self._index_only: dict[int, bool] = {}
        self._keep: list[Expr] = []

    def inner(self, loop: Loop, core: Body) -> list[tuple[Loop, Body]]:
        """The loop in pieces, one after the other; itself where nothing is compared, or the pieces
        would be too much code."""
        cuts = self._cuts(loop, core)
        if not cuts or len(cuts) * instructions(core) > SEGMENT_LIMIT:
            return [(loop, core)]
        pieces: list[tuple[Loop, Body]] = []
        for piece, _, inside in self._pieces(loop, cuts, core):
            # A comparison of a clamped position is one of the position only within a piece.
            pieces += self.inner(piece, inside)
        return pieces

    def outer(
        self, loops: Sequence[Loop], core: Body, inside: Callable[[Body, list[Var]], list[Stmt]]
    ) -> list[Stmt]:
        """The statements under some loops: `inside(core, variables)` for each piece of them, of
        which a comparison of their variables chooses one. variables: of the pieces."""
        return self._outer(list(loops), core, [], inside)

    def _outer(
        self,
        loops: list[Loop],
        core: Body,
        variables: list[Var],
        inside: Callable[[Body, list[Var]], list[Stmt]],
    ) -> list[Stmt]:
        while loops:
            loop = loops.pop(0)
            cuts = self._cuts(loop, core)
            if cuts and len(cuts) * instructions(core) <= SEGMENT_LIMIT:
                break
        else:
            return inside(core, variables)
        pieces = self._pieces(loop, cuts, core)

        def decided(piece: Loop, first: int, body: Body) -> list[Stmt]:
            bound = Let(piece.var, loop.var - first if first else loop.var)
            return [bound, *self._outer(loops.copy(), body, [*variables, piece.var], inside)]

        largest = max(pieces, key=lambda p: p[0].extent)
        if largest[0].extent >= MOST * loop.extent:
            piece, first, _ = largest
            here = within(loop.var, first, first + piece.extent, loop.extent)
            return [If(here, tuple(decided(*largest)), tuple(inside(core, variables)))]
        if len(pieces) > FEW_PIECES:
            return self._outer(loops, core, variables, inside)
        *before, last = pieces
        body = decided(*last)
        for piece, first, statements in reversed(before):
            here = loop.var < first + piece.extent
            body = [If(here, tuple(decided(piece, first, statements)), tuple(body))]
        return body

    def _pieces(self, loop: Loop, cuts: list[int], core: Body) -> list[Piece]:
        """The pieces between the cuts, with what is compared decided."""
        pieces: list[Piece] = []
        for first, last in pairwise([0, *cuts, loop.extent]):
            var = self.simplify.variable(loop.var.name, last - first)
            rewriter = Rewriter(
                expr=self._decide, variables={loop.var: var + first}, index=self._simpler
            )
            pieces.append((Loop(var, last - first), first, rewriter.body(core)))
        return pieces

    def _cuts(self, loop: Loop, core: Body) -> list[int]:
        """The positions, in order, at which comparisons change; none where they are many."""
        points: set[int] = set()
        clamps: list[tuple[str, int]] = []
        for e in postorder(roots(core)):
            if not isinstance(e, Apply) or not e.args or not e.args[0].dtype.is_integer:
                continue
            if e.name not in (*_BELOW, *_UP_TO, *_EQUAL, *_CLAMPS) or not self._is_index(e):
                continue
            form = self.simplify.linear(e.args[0] - e.args[1])
            if len(form.terms) != 1 or form.terms[0][0] is not loop.var:
                continue
            factor = form.terms[0][1]
            from_here, behind = -(form.constant // factor), -form.constant // factor + 1
            if e.name in _CLAMPS:
                # Where both are equal either may be taken.
                clamps.append((e.name, from_here))
                continue
            if e.name in _EQUAL or (e.name in _BELOW) == (factor > 0):
                points.add(from_here)
            if e.name in _EQUAL or (e.name in _UP_TO) == (factor > 0):
                points.add(behind)
        for name, at in clamps:
            if at not in points and at + 1 not in points:
                points.add(at + 1 if name == "minimum" else at)
        inside = sorted(p for p in points if 0 < p < loop.extent)
        return inside if len(inside) <= MOST_CUTS else []

    def _is_index(self, e: Expr) -> bool:
        """Whether an expression is index arithmetic: over loop variables and constants only, whose
        ranges are known."""
        known = self._index_only.get(id(e))
        if known is None:
            if isinstance(e, Var):
                known = e.dtype is dt.i64
            elif isinstance(e, Const):
                known = e.dtype in (dt.i64, dt.b1)
            elif isinstance(e, Apply):
                known = e.dtype in (dt.i64, dt.b1) and all(map(self._is_index, e.args))
            else:
                known = False
            self._index_only[id(e)] = known
            self._keep.append(e)
        return known

    def _decide(self, e: Expr) -> Expr:
        if isinstance(e, Apply) and e.name == "select" and isinstance(e.args[0], Const):
            return e.args[1] if e.args[0].value else e.args[2]
        if isinstance(e, Apply) and self._is_index(e):
            return self.simplify(e)
        return e

    def _simpler(self, _: Buffer, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(self.simplify(e) if self._is_index(e) else e for e in index)


def within(var: Var, first: int, end: int, extent: int) -> Expr | None:
    """Whether a position among `extent` is first <= position < end; None where all are."""
    tests = [var >= first] if first else []
    tests += [var < end] if end < extent else []
    if len(tests) == 2:
        return tests[0] & tests[1]
    return tests[0] if tests else None
