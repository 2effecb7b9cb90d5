"""The generic contraction: a logical kernel for any dimension numbers and types.

Each element of the result is one reduction in the documented order. It is what every faster kernel
is compared with, and what runs where none applies.
"""

from __future__ import annotations

from pyc.ir.dtype import DType
from pyc.ir.element import widened
from pyc.ir.expr import Load, Var
from pyc.ir.loops import Body, Buffer, For, Kernel, Kind, Reduce, Store
from pyc.ir.types import ArrayType

Axes = tuple[int, ...]


def contraction(
    types: tuple[ArrayType, ...],
    *,
    dimensions: tuple[tuple[Axes, Axes], tuple[Axes, Axes]],
    result: DType | None = None,
) -> Kernel:
    """The logical kernel of `dot_general` over buffers (a, b, out)."""
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
    left = Buffer("a", a.dtype, a.shape, role="in")
    right = Buffer("b", b.dtype, b.shape, role="in")
    out = Buffer("out", result or a.dtype, tuple(n for _, n in outer), role="out")
    x = Load(left, [v for v in a_index if v is not None]).cast(accumulator)
    y = Load(right, [v for v in b_index if v is not None]).cast(accumulator)
    total = Var("total", accumulator)
    body: Body = (
        Reduce((total,), tuple(domain), (x * y,), "add"),
        Store(out, tuple(v for v, _ in outer), total.cast(out.dtype)),
    )
    for var, extent in reversed(outer):
        body = (For(var, extent, Kind.PARALLEL, body),)
    return Kernel("contraction", (left, right, out), body)
