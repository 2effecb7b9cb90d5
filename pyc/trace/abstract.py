"""Arrays that are not there: a shape and a dtype in place of an argument or a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from pyc import tree
from pyc.array import HOST, Array, of_host
from pyc.device import DeviceInfo, device_named, full_name
from pyc.ir.dtype import of
from pyc.ir.types import ArrayType
from pyc.numpy.core import to_dtype, to_shape

NOWHERE = 0
"""The address of an array that is not there."""


class ShapeDtype:
    """The shape and dtype of an array that is not there yet: it stands for an argument in
    `f.trace`, `f.lower`, `f.compile`, `pyc.eval_shape` and `pyc.make_graph`, and for a result in
    what these return and in declarations of callbacks.

    shape: an integer or integers; dtype: whatever NumPy takes as one; device: "cpu", "cuda" or
    "cuda:N" of an argument that is an `Array` there, None of one of NumPy's. Two of equal shape,
    dtype and device are equal.

    raises ShapeError, DTypeError, DeviceError: no such shape, dtype or device
    """

    __slots__ = ("device", "dtype", "shape")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    device: str | None

    def __init__(
        self, shape: int | Sequence[int], dtype: Any, device: str | DeviceInfo | None = None
    ) -> None:
        object.__setattr__(self, "shape", to_shape("ShapeDtype", shape))
        object.__setattr__(self, "dtype", to_dtype(dtype).numpy)
        object.__setattr__(self, "device", None if device is None else full_name(device))

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
        device = "" if self.device is None else f", {self.device!r}"
        return f"ShapeDtype({self.shape}, {self.dtype.name!r}{device})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShapeDtype):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapeDtype, self._values()

    def _values(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.device


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
    elements = np.broadcast_to(np.zeros((), leaf.dtype), leaf.shape)
    if leaf.device is None:
        return elements
    on = device_named(leaf.device)
    if on is HOST:
        return of_host(elements)
    dtype = of(leaf.dtype)
    assert dtype is not None
    return Array(ArrayType(leaf.shape, dtype), on, NOWHERE, owner=leaf)
