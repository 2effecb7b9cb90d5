"""Which columns of a product its epilogue takes, where it is a choice by the column's number.

`c[i, i:] = x @ a[:, i:]` has an epilogue that is the product from column i on and what `c` holds
before it. A nest that knows may leave out the others: those that are taken have the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.frozen import frozen
from pyc.ir.expr import Apply, Expr, Var, postorder
from pyc.kernels.contraction import Epilogue


@frozen()
class Wanted:
    """Columns from `first` on and before `stop`, i64 expressions; None: from the first, to the
    last."""

    first: Expr | None = None
    stop: Expr | None = None


def wanted_columns(
    epilogue: Epilogue | None, batch: Sequence[Expr], axes: int, product: Expr
) -> Wanted:
    """What the epilogue of a product wants of each matrix of a batch. axes: how many axes a result
    has beside those of the batch, the columns last; product: anything of the product's type."""
    if epilogue is None:
        return Wanted()
    inner = [Var(f"i{k}") for k in range(axes)]
    result = Var("product", product.dtype)
    value = epilogue.at((*batch, *inner), result)
    while value is not result:
        within = [e for e in value.operands if result in postorder([e])]
        if len(within) != 1:
            return Wanted()
        if isinstance(value, Apply) and value.name == "select" and within[0] is value.args[1]:
            first, stop = (_bounds(value.args[0], inner, names) for names in (_FROM, _BEFORE))
            if first is not None or stop is not None:
                return Wanted(first, stop)
        value = within[0]
    return Wanted()


_FROM = ("ge", "le")
_BEFORE = ("lt", "gt")
"""Comparisons of a column with a bound, and of the bound with a column."""


def _bounds(condition: Expr, inner: list[Var], names: tuple[str, str]) -> Expr | None:
    """What a condition, or a part that must hold too, compares the column with."""
    if not isinstance(condition, Apply):
        return None
    if condition.name == "and":
        found = [_bounds(e, inner, names) for e in condition.args]
        return next((e for e in found if e is not None), None)
    column = inner[-1]
    for name, own, bound in zip(names, (0, 1), (1, 0), strict=True):
        if condition.name == name and condition.args[own] is column:
            other = condition.args[bound]
            return other if not any(v in postorder([other]) for v in inner) else None
    return None
