"""An operand of a contraction: its buffer, and which of its axes does what."""

from __future__ import annotations

from collections.abc import Sequence

from pyc.ir.expr import Expr, Load
from pyc.ir.loops import Buffer
from pyc.ir.types import ArrayType

Axes = tuple[int, ...]
Dimensions = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]
"""((contracted axes of a, of b), (batch axes of a, of b))."""


NO_MATRIX_PRODUCT = "it is for one contracted axis, one free axis on each side, and elements"
"""Why a nest for matrix products refuses others."""


def is_matrix_product(types: tuple[ArrayType, ...], dimensions: Dimensions) -> bool:
    """Whether a contraction has one contracted and one free axis on each side, and elements."""
    a, b = types
    (a_contract, _), (a_batch, b_batch) = dimensions
    if len(a_contract) != 1 or a.rank - len(a_batch) != 2 or b.rank - len(b_batch) != 2:
        return False
    return all(extent > 0 for extent in (*a.shape, *b.shape))


def place_of(
    rank: int, contract: Axes, batch_axes: Axes, batch: Sequence[Expr], free: Expr, term: Expr
) -> tuple[Expr, ...]:
    """Where the element of an operand stands that is `term` along its contracted axes, `batch`
    along its batch axes, and `free` along what is left."""
    index = [term if axis in contract else free for axis in range(rank)]
    for axis, e in zip(batch_axes, batch, strict=True):
        index[axis] = e
    return tuple(index)


class Operand:
    """One operand of a matrix product: its buffer, its free and its contracted axis.

    extent, terms: their lengths; along_terms: whether the contracted axis is the last one.
    """

    def __init__(self, name: str, type: ArrayType, contract: int, batch: Axes) -> None:
        self.buffer = Buffer(name, type.dtype, type.shape, role="in")
        self.batch = batch
        self.contract = contract
        (self.free,) = (k for k in range(type.rank) if k not in (contract, *batch))
        self.extent = type.shape[self.free]
        self.terms = type.shape[contract]
        self.along_terms = contract == type.rank - 1

    def index(self, batch: Sequence[Expr], free: Expr, term: Expr) -> tuple[Expr, ...]:
        """Where an element stands."""
        rank = len(self.buffer.shape)
        return place_of(rank, (self.contract,), self.batch, batch, free, term)

    def load(self, batch: Sequence[Expr], free: Expr, term: Expr) -> Load:
        """An element."""
        return Load(self.buffer, self.index(batch, free, term))
