"""Contractions over fewer, longer axes: axes that are neighbours wherever they stand are one.

    (batch, tokens, width) @ (width, features)    is    (batch * tokens, width) @ (width, features)

Arrays are C-ordered, so neighbouring axes that have one role (free, paired batch axes, paired
contracted axes) address memory as one axis does, and the nests for matrix products see it. Buffers
of a kernel made from this have the merged shapes; epilogues are told the axes that there were.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyc.frozen import frozen, replace
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Var, apply, const, postorder, substitute, transform
from pyc.ir.loops import Buffer
from pyc.ir.types import ArrayType
from pyc.kernels.contraction import Epilogue

Axes = tuple[int, ...]
Pairs = list[list[tuple[int, int]]]
Dimensions = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]


@frozen()
class Merged:
    """A contraction with merged axes. groups: for each axis of its result, the extents of the axes
    of the original result that it stands for; runs: for each axis of its arguments, the axes of the
    original ones."""

    types: tuple[ArrayType, ArrayType]
    dimensions: Dimensions
    groups: tuple[Axes, ...]
    runs: tuple[tuple[Axes, ...], tuple[Axes, ...]]

    def epilogue(self, original: Epilogue, product: DType) -> Epilogue:
        """`original` for the merged result, whose elements have the type `product`."""
        return _Unmerging(self.groups, original, product)


def merged(types: tuple[ArrayType, ...], dimensions: Dimensions) -> Merged | None:
    """The same contraction with as few axes as it can have; None if it has these already."""
    a, b = types
    (a_contract, b_contract), (a_batch, b_batch) = dimensions
    # The sum goes over all contracted axes, so their pairs may stand in any order.
    contract = runs_of(sorted(zip(a_contract, b_contract, strict=True)))
    batch = runs_of(list(zip(a_batch, b_batch, strict=True)))
    a_free = _free(a.rank, (*a_contract, *a_batch))
    b_free = _free(b.rank, (*b_contract, *b_batch))
    pairs = [*contract, *batch]
    left = sorted([*a_free, *([i for i, _ in run] for run in pairs)])
    right = sorted([*b_free, *([j for _, j in run] for run in pairs)])
    if len(left) == a.rank and len(right) == b.rank:
        return None
    return Merged(
        (_type(a, left), _type(b, right)),
        (_numbers(contract, left, right), _numbers(batch, left, right)),
        (
            *(tuple(a.shape[i] for i, _ in run) for run in batch),
            *(tuple(a.shape[i] for i in run) for run in a_free),
            *(tuple(b.shape[j] for j in run) for run in b_free),
        ),
        (tuple(map(tuple, left)), tuple(map(tuple, right))),
    )


def sides_of(types: tuple[ArrayType, ...], fewer: Merged | None) -> Sequence[tuple[Axes, ...]]:
    """For each argument, the axes of it that each axis of the contraction stands for."""
    if fewer is not None:
        return fewer.runs
    return [tuple((k,) for k in range(t.rank)) for t in types]


def runs_of(pairs: list[tuple[int, int]]) -> Pairs:
    """Paired axes, cut where they are not neighbours, in this order, in both arrays."""
    runs: Pairs = []
    for i, j in pairs:
        if runs and runs[-1][-1] == (i - 1, j - 1):
            runs[-1].append((i, j))
        else:
            runs.append([(i, j)])
    return runs


def _free(rank: int, taken: Axes) -> list[list[int]]:
    """Runs of neighbouring axes that are not `taken`."""
    runs: list[list[int]] = []
    for axis in range(rank):
        if axis in taken:
            continue
        if runs and runs[-1][-1] == axis - 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    return runs


def _type(original: ArrayType, runs: list[list[int]]) -> ArrayType:
    shape = tuple(prod(original.shape[k] for k in run) for run in runs)
    return ArrayType(shape, original.dtype)


def _numbers(pairs: Pairs, left: list[list[int]], right: list[list[int]]) -> tuple[Axes, Axes]:
    """The axes of merged arrays that runs of pairs are."""
    firsts = [run[0] for run in left], [run[0] for run in right]
    return (
        tuple(firsts[0].index(run[0][0]) for run in pairs),
        tuple(firsts[1].index(run[0][1]) for run in pairs),
    )


class _Unmerging:
    """An epilogue over the merged axes of a result, made of one over the original axes.

    A buffer that is only read where its axes are just those of a merged one is merged too, and one
    that is read where the result is stored has the shape of that (they may be one memory); the
    indices of others are taken apart by divisions.
    """

    def __init__(self, groups: tuple[Axes, ...], original: Epilogue, product: DType) -> None:
        self._groups = groups
        self._product = Var("product", product)
        self._whole = [Var(f"m{g}") for g in range(len(groups))]
        self._extents = [prod(group) for group in groups]
        self._parts = [
            [None if extent == 1 else Var(f"p{g}_{k}") for k, extent in enumerate(group)]
            for g, group in enumerate(groups)
        ]
        place = [const(0) if var is None else var for parts in self._parts for var in parts]
        value = original.at(place, self._product)
        loads = [e for e in postorder([value]) if isinstance(e, Load)]
        renamed: dict[Buffer, Buffer] = {}
        for buffer in original.buffers:
            found = {self._merge(e)[0] for e in loads if e.buffer is buffer}
            shape = found.pop() if len(found) == 1 else None
            renamed[buffer] = buffer if shape is None else replace(buffer, shape=shape)

        def change(e: Expr) -> Expr:
            if not isinstance(e, Load) or renamed[e.buffer] is e.buffer:
                return e
            return Load(renamed[e.buffer], self._merge(e)[1])

        self.buffers = tuple(renamed[buffer] for buffer in original.buffers)
        (self.value,) = transform([value], change)

    def _merge(self, load: Load) -> tuple[Axes | None, list[Expr]]:
        """The merged shape of a load's buffer and the index there; no shape if it cannot be."""
        axes: list[tuple[Expr, int]] = []
        for i, extent in zip(load.index, load.buffer.shape, strict=True):
            assert isinstance(extent, int)
            if extent != 1:
                axes.append((i, extent))
        shape: list[int] = []
        index: list[Expr] = []
        at = 0
        while at < len(axes):
            step, extent, place = self._run(axes, at)
            shape.append(extent)
            index.append(place)
            at += step
        everywhere = self._place()
        if index == [e for e, n in zip(everywhere, self._extents, strict=True) if n != 1]:
            shape, index = self._extents, everywhere
        merged = [var for parts in self._parts if _several(parts) for var in parts]
        left = any(e in merged for e in postorder(index) if isinstance(e, Var))
        return (None if left else tuple(shape)), index

    def _run(self, axes: list[tuple[Expr, int]], at: int) -> tuple[int, int, Expr]:
        """How many axes from `at` on are one merged axis, its extent, and the index there."""
        for whole, parts, group in zip(self._whole, self._parts, self._groups, strict=True):
            wanted = [(v, d) for v, d in zip(parts, group, strict=True) if v is not None]
            here = axes[at : at + len(wanted)]
            if (
                _several(parts)
                and len(here) == len(wanted)
                and all(i is v and d == e for (i, d), (v, e) in zip(here, wanted, strict=True))
            ):
                return len(wanted), prod(group), whole
        return 1, axes[at][1], axes[at][0]

    def _place(self) -> list[Expr]:
        """The index of an element of the merged result."""
        found: list[Expr] = []
        for whole, parts in zip(self._whole, self._parts, strict=True):
            (alone,) = [var for var in parts if var is not None] if _one(parts) else (whole,)
            found.append(alone)
        return found

    def at(self, index: Sequence[Expr], product: Expr) -> Expr:
        """The value to store at an index of the merged result."""
        binding: dict[Var, Expr] = {self._product: product}
        for place, whole, parts, group in zip(
            index, self._whole, self._parts, self._groups, strict=True
        ):
            binding[whole] = place
            rest = place
            left = sum(var is not None for var in parts)
            for var, extent in reversed(list(zip(parts, group, strict=True))):
                if var is None:
                    continue
                left -= 1
                binding[var] = apply("remainder", rest, const(extent)) if left else rest
                rest = apply("quotient", rest, const(extent)) if left else rest
        return substitute([self.value], binding)[0]


def _several(parts: list[Var | None]) -> bool:
    return sum(var is not None for var in parts) > 1


def _one(parts: list[Var | None]) -> bool:
    return sum(var is not None for var in parts) == 1
