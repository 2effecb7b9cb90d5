"""An operand of a contraction: its buffer, and which of its axes does what."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from pyc.ir.expr import Const, Expr, Load, Var, apply, const, select
from pyc.ir.loops import Body, Buffer, For, Kernel, Kind, Store
from pyc.ir.types import ArrayType

TOGETHER_BYTES = 16
"""What a thread reads at once."""

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

    @property
    def stacked(self) -> bool:
        """Whether it is a stack of matrices: the batch axes are the first ones."""
        return set(self.batch) == set(range(len(self.buffer.shape) - 2))

    def in_rows(self, multiple: int) -> tuple[Operand, Kernel]:
        """The operand as a stack of matrices, the contracted axis last if it is last here, whose
        rows are a multiple of so many elements; and the logical kernel over (this buffer, that one)
        that copies it there. What is behind the end of a row is zero."""
        shape = self.buffer.shape
        extents = [e for e in shape if isinstance(e, int)]
        last = self.terms if self.along_terms else self.extent
        other = self.extent if self.along_terms else self.terms
        pitch = -(-last // multiple) * multiple
        stack = [extents[axis] for axis in self.batch]
        rank = len(stack) + 2
        type = ArrayType((*stack, other, pitch), self.buffer.dtype)
        contract = rank - 1 if self.along_terms else rank - 2
        rows = Operand(f"{self.buffer.name}_rows", type, contract, tuple(range(len(stack))))
        rows.buffer = Buffer(rows.buffer.name, type.dtype, type.shape, role="inout")
        rows.extent, rows.terms = self.extent, self.terms
        batch = [Var(f"n{k}") for k in range(len(stack))]
        # Neighbours are copied together where the end of a row does not part them.
        together = gcd(last, multiple, TOGETHER_BYTES // type.dtype.itemsize)
        slow, group, member = Var("row"), Var("group"), Var("member")
        groups = last // together
        within = apply("minimum", group, const(groups - 1)) if pitch != last else group
        place = within * together + member
        free, term = (slow, place) if self.along_terms else (place, slow)
        value: Expr = self.load(batch, free, term)
        if pitch != last:
            value = select(group < groups, value, Const(0.0, value.dtype))
        body: Body = (Store(rows.buffer, (*batch, slow, group * together + member), value),)
        loops = [*zip(batch, stack, strict=True), (slow, other)]
        loops += [(group, pitch // together), (member, together)]
        for var, extent in reversed(loops):
            body = (For(var, extent, Kind.PARALLEL, body),)
        name = f"rows_of_{self.buffer.name}"
        return rows, Kernel(name, (self.buffer, rows.buffer), body)

    def index(self, batch: Sequence[Expr], free: Expr, term: Expr) -> tuple[Expr, ...]:
        """Where an element stands."""
        rank = len(self.buffer.shape)
        return place_of(rank, (self.contract,), self.batch, batch, free, term)

    def load(self, batch: Sequence[Expr], free: Expr, term: Expr) -> Load:
        """An element."""
        return Load(self.buffer, self.index(batch, free, term))
