"""`ArrayType`: the shape and element type of a value. No layout: layouts belong to buffers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyc.frozen import frozen
from pyc.ir.dtype import DType, parse


@frozen()
class ArrayType:
    """Type of an array value; prints as `f32[8,4]`, rank 0 as `f32[]`."""

    shape: tuple[int, ...]
    dtype: DType

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the dense array."""
        return self.size * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.dtype.short}[{','.join(map(str, self.shape))}]"


Strides = tuple[int, ...]
"""How many elements lie between neighbours along each axis."""


def row_major(shape: Sequence[int]) -> Strides:
    """The strides of an array in C order: (12, 4, 1) of (2, 3, 4)."""
    found: list[int] = []
    step = 1
    for n in reversed(shape):
        found.append(step)
        step *= n
    return tuple(reversed(found))


def parse_type(text: str) -> ArrayType:
    """The type that prints as `text`; ValueError if none does."""
    short, bracket, dims = text.partition("[")
    if not bracket or not dims.endswith("]"):
        raise ValueError(f"not an array type: {text!r}")
    shape = tuple(int(d) for d in dims[:-1].split(",") if d)
    return ArrayType(shape, parse(short))
