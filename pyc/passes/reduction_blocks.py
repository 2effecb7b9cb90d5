"""The documented reduction order (`ir/order.py`) for threads: trees without memory.

A tree by halves, or a pairwise tree over 2^k values, is k nested loops of two iterations that each
carry "what came before . this": the first iteration meets the neutral element, which changes
nothing. So a thread reduces any sequence with one accumulator per level and no array. Loops come
outermost first in the order in which the tree is joined last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Var, apply, const, maximum, minimum, select
from pyc.ir.loops import Carry, For, Kind, Let, Stmt
from pyc.ir.order import CHUNK, KEEP, LANES, MONOIDS, Monoid, neutral

ROWS = CHUNK // LANES
AT_ONCE = 8
"""Values loaded at once when parts are joined."""

Components = tuple[Expr, ...]
Value = Callable[[Expr], Components]
Leaf = Callable[[Expr], tuple[list[Stmt], Components]]


def power_above(n: int) -> int:
    """The least power of two >= n, at least 1."""
    return 1 << max(n - 1, 0).bit_length()


class ThreadReduction:
    """One monoid, or the name of one, over components of given types."""

    def __init__(self, types: Sequence[DType], monoid: str | Monoid) -> None:
        self.types = tuple(types)
        self.monoid = MONOIDS[monoid] if isinstance(monoid, str) else monoid
        self.neutral: Components = neutral(self.monoid, self.types)

    def names(self, prefix: str) -> tuple[Var, ...]:
        """A fresh variable per component."""
        return tuple(Var(f"{prefix}{k}", t) for k, t in enumerate(self.types))

    def bind(self, values: Components, prefix: str = "x") -> tuple[list[Stmt], Components]:
        """Values computed here, once."""
        names = self.names(prefix)
        return [Let(n, v) for n, v in zip(names, values, strict=True)], names

    def tree(self, values: Sequence[Components]) -> Components:
        """The pairwise tree of values in order, an odd one out moving up."""
        level = list(values)
        while len(level) > 1:
            pairs = [self.monoid.combine(a, b) for a, b in zip(level[::2], level[1::2])]
            level = pairs + ([level[-1]] if len(level) % 2 else [])
        return level[0]

    def halves(self, values: Sequence[Components]) -> Components:
        """The halves step over a power of two of values."""
        level = list(values)
        while len(level) > 1:
            apart = len(level) // 2
            level = [self.monoid.combine(level[k], level[k + apart]) for k in range(apart)]
        return level[0]

    def pick(self, condition: Expr, values: Components) -> Components:
        """`values` where the condition holds, else neutral."""
        return tuple(select(condition, v, e) for v, e in zip(values, self.neutral, strict=True))

    def fold(
        self, extent: int | Expr, leaf: Leaf, kind: Kind = Kind.SERIAL
    ) -> tuple[list[Stmt], Components]:
        """Left fold of leaf(0), leaf(1) ... as one loop."""
        var = Var("j")
        before, after = self.names("a"), self.names("r")
        inner, value = leaf(var)
        following = self.monoid.combine(before, value)
        columns = zip(before, self.neutral, following, after, strict=True)
        carried = tuple(Carry(b, i, n, r) for b, i, n, r in columns)
        return [For(var, extent, kind, tuple(inner), carried)], after

    def nested(
        self,
        distances: Sequence[int],
        start: Expr,
        leaf: Leaf,
        reached: Callable[[Expr], Expr] | None = None,
    ) -> tuple[list[Stmt], Components]:
        """The tree whose levels join what is `distances` apart, the last one first. Loops whose
        first leaf is not `reached` are skipped."""
        if not distances:
            return leaf(start)

        def inside(bit: Expr) -> tuple[list[Stmt], Components]:
            return self.nested(distances[1:], start + bit * distances[0], leaf, reached)

        extent: int | Expr = 2
        if reached is not None:
            extent = select(reached(start), const(2), const(0))
        return self.fold(extent, inside)

    # --- one thread -------------------------------------------------------------------------------

    def reduce(self, results: Sequence[Var], value: Value, n: int) -> list[Stmt]:
        """Statements that bind `results` to the reduction of value(0 .. n) in one thread."""
        if n == 0:
            return [Let(r, v) for r, v in zip(results, self.neutral, strict=True)]
        halves = [d for d in (1, 2, 4, 8) if d < n]

        def kept(lane: Expr) -> tuple[list[Stmt], Components]:
            chunks = -(-n // CHUNK)
            return self.kept_lane(value, n, lane, const(0), power_above(chunks))

        body, total = self.nested(halves, const(0), kept)
        return [*body, *(Let(r, v) for r, v in zip(results, total, strict=True))]

    def kept_lane(
        self, value: Value, n: int, lane: Expr, first: Expr, chunks: int
    ) -> tuple[list[Stmt], Components]:
        """Kept lane `lane` over the chunks [first, first + chunks), a power of two, of which those
        beyond the sequence of n are neutral."""
        many = n > CHUNK
        levels = [CHUNK << k for k in reversed(range(chunks.bit_length() - 1))]
        levels += [d for d in (16, 32, 64) if many or d < n]
        reached = (lambda at: at < n) if n % CHUNK or many else None

        def rows(start: Expr) -> tuple[list[Stmt], Components]:
            return self._rows(value, n, start)

        return self.nested(levels, first * CHUNK + lane, rows, reached)

    def _rows(self, value: Value, n: int, start: Expr) -> tuple[list[Stmt], Components]:
        """The fold of one lane of a chunk whose first element is at `start`."""
        if n % CHUNK == 0:
            return self.fold(ROWS, lambda j: ([], value(start + j * LANES)), Kind.UNROLL)
        rest = apply("quotient", const(n + LANES - 1) - start, const(LANES))
        count = maximum(minimum(rest, ROWS), 0)
        return self.fold(count, lambda j: ([], value(start + j * LANES)))

    def join(
        self, results: Sequence[Var], part: Callable[[Expr, Expr], Components], count: int
    ) -> list[Stmt]:
        """Binds `results` to the reduction of `count` blocks, part(number, lane) each; the blocks
        are of a power of two chunks."""

        def kept(lane: Expr) -> tuple[list[Stmt], Components]:
            return self.parts(lambda k: part(k, lane), const(0), power_above(count), count)

        body, total = self.nested((1, 2, 4, 8), const(0), kept)
        return [*body, *(Let(r, v) for r, v in zip(results, total, strict=True))]

    def parts(
        self, part: Value, first: Expr, size: int, count: int | Expr
    ) -> tuple[list[Stmt], Components]:
        """The pairwise tree of part(first .. first + size), a power of two, of which those from
        `count` on are neutral."""
        at_once = min(AT_ONCE, size)

        def group(start: Expr) -> tuple[list[Stmt], Components]:
            body: list[Stmt] = []
            loaded: list[Components] = []
            for k in range(at_once):
                number = start + k
                inside = minimum(number, count - 1)
                lets, names = self.bind(self.pick(number < count, part(inside)), "p")
                body += lets
                loaded.append(names)
            return body, self.tree(loaded)

        levels = [at_once << k for k in reversed(range((size // at_once).bit_length() - 1))]
        return self.nested(levels, first, group)


__all__ = ["KEEP", "AT_ONCE", "Components", "Leaf", "ThreadReduction", "Value", "power_above"]
