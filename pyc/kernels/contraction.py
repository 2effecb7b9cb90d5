"""The generic contraction: a logical kernel for any dimension numbers and types.

Each element of the result is one reduction in the documented order. It is what every faster kernel
is compared with, and what runs where none applies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pyc.ir.dtype import DType
from pyc.ir.element import widened
from pyc.ir.expr import Expr, Load, Var, const
from pyc.ir.loops import Body, Buffer, For, Kernel, Kind, Reduce, Store
from pyc.ir.types import ArrayType
from pyc.kernels.windows import Windows

Axes = tuple[int, ...]


class Epilogue(Protocol):
    """What is stored instead of the product (made by `passes/lower`)."""

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Buffers that it reads."""

    @property
    def value(self) -> Expr:
        """The value, whose type is that of the result."""

    def at(self, index: Sequence[Expr], product: Expr) -> Expr:
        """The value to store at an index, given the product's element there."""


def contraction(
    types: tuple[ArrayType, ...],
    epilogue: Epilogue | None = None,
    *,
    dimensions: tuple[tuple[Axes, Axes], tuple[Axes, Axes]],
    result: DType | None = None,
    windows: tuple[Windows, Windows] | None = None,
) -> Kernel:
    """The logical kernel of `dot_general` over buffers (a, b, the epilogue's, out). windows: where
    the arguments lie in a and b."""
    a, b = types
    (a_contract, b_contract), (a_batch, b_batch) = dimensions
    a_index: list[Var | None] = [None] * a.rank
    b_index: list[Var | None] = [None] * b.rank
    outer: list[tuple[Var, int]] = []
    domain: list[tuple[Var, int]] = []
    for k, (i, j) in enumerate(zip(a_batch, b_batch, strict=True)):
        var = Var(f"n{k}")
        a_index[i] = b_index[j] = var
        outer.append((var, a.shape[i]))
    for k, (i, j) in enumerate(zip(a_contract, b_contract, strict=True)):
        var = Var(f"k{k}")
        a_index[i] = b_index[j] = var
        domain.append((var, a.shape[i]))
    for letter, array, index in (("i", a, a_index), ("j", b, b_index)):
        for axis, taken in enumerate(index):
            if taken is None:
                var = Var(f"{letter}{axis}")
                index[axis] = var
                outer.append((var, array.shape[axis]))
    accumulator = widened(a.dtype)
    whole = types if windows is None else [w.type for w in windows]
    left = Buffer("a", a.dtype, whole[0].shape, role="in")
    right = Buffer("b", b.dtype, whole[1].shape, role="in")
    product_type = result or a.dtype
    out_type = product_type if epilogue is None else epilogue.value.dtype
    out = Buffer("out", out_type, tuple(n for _, n in outer), role="out")
    places: list[Sequence[Expr]] = [[v for v in at if v is not None] for at in (a_index, b_index)]
    if windows is not None:
        places = [w.place(const(0), at) for w, at in zip(windows, places, strict=True)]
    x, y = (Load(b, at).cast(accumulator) for b, at in zip((left, right), places, strict=True))
    total = Var("total", accumulator)
    place = tuple(v for v, _ in outer)
    product = total.cast(product_type)
    stored = product if epilogue is None else epilogue.at(place, product)
    body: Body = (
        Reduce((total,), tuple(domain), (x * y,), "add"),
        Store(out, place, stored),
    )
    for var, extent in reversed(outer):
        body = (For(var, extent, Kind.PARALLEL, body),)
    between = () if epilogue is None else epilogue.buffers
    return Kernel("contraction", (left, right, *between, out), body)
