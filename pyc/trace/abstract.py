"""Arrays that are not there: a shape and a dtype in place of an argument or a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from pyc import tree
from pyc.numpy.core import to_dtype, to_shape

Array = np.ndarray[Any, Any]


class ShapeDtype:
    """The shape and dtype of an array that is not there yet: it stands for an argument in
    `f.trace`, `f.lower`, `f.compile`, `pyc.eval_shape` and `pyc.make_graph`, and for a result in
    what these return and in declarations of callbacks.

    shape: an integer or integers; dtype: whatever NumPy takes as one. Two of equal shape and dtype
    are equal.

    raises ShapeError, DTypeError: no such shape or dtype
    """

    __slots__ = ("dtype", "shape")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __init__(self, shape: int | Sequence[int], dtype: Any) -> None:
        object.__setattr__(self, "shape", to_shape("ShapeDtype", shape))
        object.__setattr__(self, "dtype", to_dtype(dtype).numpy)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a ShapeDtype does not change: {name!r} cannot be set")

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __repr__(self) -> str:
        return f"ShapeDtype({self.shape}, {self.dtype.name!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShapeDtype):
            return NotImplemented
        return (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapeDtype, (self.shape, self.dtype)


def stand_ins(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments with arrays, which take no memory, in place of `ShapeDtype`s."""
    leaves, structure = tree.flatten_ordered((args, kwargs))
    if not any(type(leaf) is ShapeDtype for leaf in leaves):
        return args, kwargs
    found: tuple[tuple[Any, ...], dict[str, Any]] = structure.unflatten(map(_stand_in, leaves))
    return found


def _stand_in(leaf: Any) -> Any:
    if type(leaf) is not ShapeDtype:
        return leaf
    return np.broadcast_to(np.zeros((), leaf.dtype), leaf.shape)
