"""Groups of neighbouring iterations of a loop, all of one size: the last one may overlap.

Takes the extent of a loop whose iterations are independent, and a size up to that. Returns a loop
over groups. Where the size does not divide the extent the last group begins within the one before
and does these iterations again, so that no group needs masks. Two tasks never store one element:
where groups are tasks, the last two are one.

Iterations that read what they store are done `once`: the last group then reaches beyond the extent,
and whoever makes its body leaves out what is there.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.frozen import frozen
from pyc.ir.expr import Expr, Var, const, minimum, select
from pyc.ir.loops import For, Kind, Let, Stmt
from pyc.passes.nest import Loop


@frozen()
class Groups:
    """A loop over groups. first: the first iteration of a group, in its body; number: the group's
    number, bound by `around`; end: the iterations, if the last group reaches beyond them."""

    loop: Loop
    first: Expr
    number: Var
    end: int | None = None

    def around(self, body: Sequence[Stmt]) -> list[Stmt]:
        """The body of `loop`; body: that of one group."""
        if self.loop.var is self.number:
            return list(body)
        more = Var("more")
        count = select(self.loop.var < self.loop.extent - 1, const(1), const(2))
        bound = Let(self.number, self.loop.var + more)
        return [For(more, count, Kind.SERIAL, (bound, *body))]


def groups(extent: int, size: int, *, parallel: bool, once: bool = False) -> Groups:
    """Groups of `size` <= extent iterations, which are tasks if they are `parallel`. once: no
    iteration may be repeated."""
    count = -(-extent // size)
    number = Var("group")
    first: Expr = number * size
    if extent % size and once:
        return Groups(Loop(number, count), first, number, extent)
    if extent % size:
        first = minimum(first, extent - size)
        if parallel:
            return Groups(Loop(Var("task"), count - 1), first, number)
    return Groups(Loop(number, count), first, number)
