"""What nests for contractions on a CPU have in common: operands, a result, and one loop of tasks.

A nest is made of (types, dimensions, result, target, epilogue, views), sets its extents and gives
its kernel, over buffers (a, b, the epilogue's, out). views: where the arguments of the contraction
lie in a and b, if they are not all of these. Tasks are the batches and what a nest cuts a product
into; they never share an element of the result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod
from typing import Protocol

from pyc.ir.dtype import DType
from pyc.ir.element import widened
from pyc.ir.expr import Expr, Load, Var, apply, const
from pyc.ir.loops import Body, Buffer, For, Kernel, Kind, Let, Space, Stmt, Store
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.contraction import Epilogue
from pyc.kernels.operand import Dimensions, place_of
from pyc.kernels.windows import View

FEWEST_LANES = 4
"""Lanes of the narrowest vectors of columns."""
HALVED = 64
"""Bytes of vectors of which two of half the bytes are as quick as one on most processors."""
MOST_HALVES = 7
"""The most vectors of half the bytes: with more an idle half of a whole one costs little."""


def is_halved(target: Target) -> bool:
    """Whether two vectors of half the bytes are as quick as a whole one."""
    return target.vector_bytes == HALVED and not target.whole_vectors


def lanes_of(columns: int, itemsize: int, target: Target) -> int:
    """Lanes of a vector for so many columns: as few as hold them; of the widest, or where the last
    one would be half idle and two halves are as quick of half as many, if none do."""
    lanes = target.lanes(itemsize)
    halves = -(-2 * columns // lanes)
    if is_halved(target) and halves % 2 and halves <= MOST_HALVES:
        lanes //= 2
    while lanes >= 2 * columns and lanes > FEWEST_LANES:
        lanes //= 2
    return lanes


def free_extents(
    types: tuple[ArrayType, ...], dimensions: Dimensions, side: int
) -> tuple[int, ...]:
    """The extents of an operand's axes that are neither contracted nor of batches."""
    taken = (*dimensions[0][side], *dimensions[1][side])
    return tuple(n for axis, n in enumerate(types[side].shape) if axis not in taken)


class TaskNest(ABC):
    """A nest for one contraction.

    batch: the extents of batch axes; operands: the buffers of a and b; accumulator, product: the
    types of sums and of the result before the epilogue.
    """

    def __init__(
        self,
        types: tuple[ArrayType, ...],
        dimensions: Dimensions,
        result: DType | None,
        target: Target,
        epilogue: Epilogue | None,
        views: tuple[View, View] | None = None,
    ) -> None:
        a, b = types
        self.dimensions = dimensions
        self.views = views
        self.batch = tuple(a.shape[axis] for axis in dimensions[1][0])
        self.accumulator = widened(a.dtype)
        whole = types if views is None else [view.windows.type for view in views]
        self.operands = (
            Buffer("a", a.dtype, whole[0].shape, role="in"),
            Buffer("b", b.dtype, whole[1].shape, role="in"),
        )
        self.ranks = (a.rank, b.rank)
        self.product = result or a.dtype
        self.epilogue = epilogue
        out_type = self.product if epilogue is None else epilogue.value.dtype
        free = [extent for side in range(2) for extent in free_extents(types, dimensions, side)]
        self.out = Buffer("out", out_type, (*self.batch, *free), role="out")
        self.prepare(types, target)

    @abstractmethod
    def prepare(self, types: tuple[ArrayType, ...], target: Target) -> None:
        """Sets the extents of the nest and its local buffers."""

    @abstractmethod
    def kernel(self) -> Kernel:
        """The scheduled kernel over (a, b, the epilogue's, out)."""

    def local(self, name: str, *shape: int, dtype: DType | None = None) -> Buffer:
        """A local buffer, of sums or widened elements unless a type is given."""
        return Buffer(name, dtype or self.accumulator, shape, Space.STACK, alignment=64)

    def place(self, side: int, batch: Sequence[Expr], free: Expr, term: Expr) -> tuple[Expr, ...]:
        """Where an element of an operand stands."""
        contract, batch_axes = self.dimensions[0][side], self.dimensions[1][side]
        place = place_of(self.ranks[side], contract, batch_axes, batch, free, term)
        return place if self.views is None else self.views[side].place(const(0), place)

    def element(self, side: int, batch: Sequence[Expr], free: Expr, term: Expr) -> Expr:
        """An element of an operand, widened."""
        place = self.place(side, batch, free, term)
        return Load(self.operands[side], place).cast(self.accumulator)

    def stored(self, place: tuple[Expr, ...], total: Expr) -> Stmt:
        """Stores a result, or what the epilogue makes of it."""
        value = total.cast(self.product)
        if self.epilogue is not None:
            value = self.epilogue.at(place, value)
        return Store(self.out, place, value)

    def tasks_of(
        self,
        name: str,
        batch: Sequence[Var],
        cuts: Sequence[tuple[Var, int]],
        kind: Kind,
        body: Body,
    ) -> Kernel:
        """The kernel whose tasks are the batches and, in each, the numbers of `cuts`."""
        return self.of_tasks(name, [*zip(batch, self.batch, strict=True), *cuts], kind, body)

    def of_tasks(
        self, name: str, loops: Sequence[tuple[Var, int]], kind: Kind, body: Body
    ) -> Kernel:
        """The kernel whose tasks are the combinations of these numbers."""
        task = Var("task")
        lets: list[Stmt] = []
        rest: Expr = task
        for var, extent in reversed(loops[1:]):
            lets.append(Let(var, apply("remainder", rest, const(extent))))
            rest = apply("quotient", rest, const(extent))
        lets.append(Let(loops[0][0], rest))
        nest = For(task, prod(extent for _, extent in loops), kind, (*lets, *body))
        between = () if self.epilogue is None else self.epilogue.buffers
        return Kernel(name, (*self.operands, *between, self.out), (nest,))


class Build(Protocol):
    """Makes the kernel of a contraction that a nest does not refuse. views: where the arguments lie
    in (a, b)."""

    def __call__(
        self,
        types: tuple[ArrayType, ...],
        target: Target,
        epilogue: Epilogue | None = None,
        *,
        dimensions: Dimensions,
        result: DType | None = None,
        views: tuple[View, View] | None = None,
    ) -> Kernel:
        """The scheduled kernel over buffers (a, b, the epilogue's, out)."""


def built_by(nest: type[TaskNest]) -> Build:
    """What makes the kernel of a nest."""

    def build(
        types: tuple[ArrayType, ...],
        target: Target,
        epilogue: Epilogue | None = None,
        *,
        dimensions: Dimensions,
        result: DType | None = None,
        views: tuple[View, View] | None = None,
    ) -> Kernel:
        return nest(types, dimensions, result, target, epilogue, views).kernel()

    return build
