"""The elements of a reduction over the rows of columns, and what several of them give.

`ColumnElements` is a reduction in the columns of `Sweeps`: its elements at a place of a tile, left
folds of a few, and whether rows may be read together. `kept_lanes` and `column_reduction` say in
what order they are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Var
from pyc.ir.loops import Body, Buffer, Carry, For, Kind, Reduce, Stmt, Store
from pyc.passes.elements import Components, Elements, Found
from pyc.passes.nest import accesses, bindings
from pyc.passes.reduction import CHEAP, Counter
from pyc.passes.sweeps import PAGE, Sweeps

AT_ONCE = 4
"""Rows read at once. The rows of a lane are 128 apart, so that most of them share a set of the
first cache."""
WAYS = 8
"""Lines of one set of the first cache, whose sets begin again after a page."""
FAR_BYTES = 1 << 23
"""Bytes of what is read from which rows come from beyond the second cache: what this one holds of a
set (`Target.cache_ways`) is then read at once, though the first does not hold it."""
FAR_BYTES_ONCE = 1 << 22
"""The same of programs that go over their rows once: what is read again may still be there."""


class ColumnElements:
    """One reduction. before: what is bound and stored on its way; cheap: whether an element takes
    little work; plain: and nothing is done on its way."""

    def __init__(self, sweeps: Sweeps, before: Body, reduce: Reduce) -> None:
        self.sweeps = sweeps
        self.elements = Elements(reduce, before)
        self.n, self.types = self.elements.n, self.elements.types
        self.counter = Counter(self.types, reduce.monoid, self._refuse)
        self.cheap = self.elements.work <= CHEAP * len(self.types)
        self.plain = self.cheap and not before
        self.arrays: list[Buffer] = []

    @staticmethod
    def _refuse(name: str, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        raise AssertionError(f"{name}: arrays of columns are made by `Sweeps`")

    def fit_together(self, step: int, count: int) -> bool:
        """Whether the caches hold what is read of `count` rows that are `step` apart: a line or two
        of each, in sets that follow from the distance."""
        reduce = self.elements.reduce
        if len(reduce.domain) != 1:
            return False
        ((var, _),) = reduce.domain
        nest = self.sweeps.nest
        for buffer, address in accesses((*self.elements.before, *bindings(reduce))):
            stride = nest.factor(var, address)
            if stride is None:
                return False
            distance = stride * step * buffer.dtype.itemsize
            if stride and count > self.ways * (PAGE // gcd(distance, PAGE)):
                return False
        return True

    @property
    def ways(self) -> int:
        """Rows of one place within a page that are read at once."""
        least = FAR_BYTES if self.sweeps.again else FAR_BYTES_ONCE
        far = self.n * self.sweeps.kept * self.sweeps.itemsize >= least
        return max(self.sweeps.nest.target.cache_ways, WAYS) if far else WAYS

    def element(self, position: Expr, at: Expr, column: Expr) -> Found:
        """The element at a position of the sequence, in a column."""
        inside, values = self.elements.at(position, self.sweeps.binding(at, column))
        placed = self.sweeps.placed(at, column)
        return list(placed.body(tuple(inside))), placed.exprs(values)

    def fold(
        self,
        first: Expr,
        step: int,
        count: int | Expr,
        at: Expr,
        column: Expr,
        before: Components | None,
    ) -> Found:
        """The left fold of `count` > 0 elements `step` apart behind `before`."""
        combine = self.counter.monoid.combine
        if isinstance(count, int) and (self.cheap or count <= AT_ONCE):
            found = [
                self.element(first + k * step if k else first, at, column) for k in range(count)
            ]
            body, values = values_first(found)
            total = before
            for value in values:
                total = value if total is None else combine(total, value)
            assert total is not None
            return body, total
        k_var = Var("j")
        inside, value = self.element(first + k_var * step, at, column)
        inner, after = self.counter.names("a"), self.counter.names("r")
        start = self.counter.neutral if before is None else before
        columns = zip(inner, start, combine(inner, value), after, strict=True)
        carried = tuple(Carry(v, i, n, r) for v, i, n, r in columns)
        return [For(k_var, count, Kind.SERIAL, tuple(inside), carried)], after


def values_first(found: Sequence[Found]) -> tuple[list[Stmt], list[Components]]:
    """Statements of elements at several rows with the stores last, and their values. The rows of
    an input and of an output that are 128 apart mostly begin at one address within a page: a load
    would wait for the store of the row before."""
    inside = [s for body, _ in found for s in body]
    stores = [s for s in inside if isinstance(s, Store)]
    return [*(s for s in inside if not isinstance(s, Store)), *stores], [v for _, v in found]
