"""Parts of a traced array that are named first and used then: `x.flat`, `x.at[...]`, and what a
mask selects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pyc.numpy as pnp
from pyc.interpreter import current
from pyc.numpy import indexing
from pyc.trace import updating


class Sized:
    """What has a length that only the program knows."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[Any, ...]:
        """The lengths of the axes, the first one traced."""
        raise NotImplementedError


class Selected(Sized):
    """An array of a length that depends on data: see `pyc/trace/selection.py`."""

    __slots__ = ()

    def truth(self) -> Any:
        """What Python asks for: a bool, or a traced one."""
        return bool(self)

    def selection(self) -> Any:
        """It as an array."""
        return self

    def refuse(self, use: str) -> NoReturn:
        """ConcretizationError for a use that needs to know its length."""
        raise NotImplementedError


class Flat:
    """`x.flat`: the elements in row-major order."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def __len__(self) -> int:
        return int(self._array.size)

    def __iter__(self) -> Iterator[Any]:
        return iter(pnp.reshape(self._array, -1))

    def __getitem__(self, key: Any) -> Any:
        """A copy of the elements at `key`."""
        return current().copy(pnp.reshape(self._array, -1)[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        """The elements at `key` become `value`, in place."""
        new = updating.assigned(pnp.reshape(self._array, -1), key, value)
        self._array[...] = pnp.reshape(new, self._array.shape)


class At:
    """`x.at`: takes an index."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> AtIndex:
        return AtIndex(self._array, key)


class AtIndex:
    """`x.at[key]`: the array with the elements at `key` changed; the array itself stays as it is.

    Where `key` names an element several times, `set` takes the last value, and the other methods
    apply all of them, in row-major order of the values. Indices out of range: `mode` is "raise"
    (IndexOutOfRangeError), "clip" (the nearest element), "wrap" (modulo the length), or "drop" and
    "fill" (left out of an update; `get` gives `fill_value`). unique_indices: the caller promises
    that no element is named twice.
    """

    __slots__ = ("_array", "_key")

    def __init__(self, array: Any, key: Any) -> None:
        self._array = array
        self._key = key

    def get(
        self, *, mode: str = "raise", fill_value: Any = None, unique_indices: bool = False
    ) -> Any:
        """The elements at the index."""
        return indexing.gather(
            self._array,
            self._key,
            mode=mode,
            fill_value=fill_value,
            unique_indices=unique_indices,
        )

    def _update(self, how: str, values: Any, mode: str, unique_indices: bool) -> Any:
        return indexing.update(
            self._array, self._key, values, how=how, mode=mode, unique_indices=unique_indices
        )

    def set(self, values: Any, *, mode: str = "raise", unique_indices: bool = False) -> Any:
        """The elements replaced by `values`."""
        return self._update("set", values, mode, unique_indices)

    def add(self, values: Any, *, mode: str = "raise", unique_indices: bool = False) -> Any:
        """`values` added to the elements."""
        return self._update("add", values, mode, unique_indices)

    def subtract(self, values: Any, *, mode: str = "raise", unique_indices: bool = False) -> Any:
        """`values` subtracted from the elements."""
        return self._update("subtract", values, mode, unique_indices)

    def multiply(self, values: Any, *, mode: str = "raise", unique_indices: bool = False) -> Any:
        """The elements multiplied by `values`."""
        return self._update("multiply", values, mode, unique_indices)

    def divide(self, values: Any, *, mode: str = "raise", unique_indices: bool = False) -> Any:
        """The elements divided by `values`."""
        return self._update("divide", values, mode, unique_indices)

    def min(self, values: Any, *, mode: str = "raise", unique_indices: bool = False) -> Any:
        """The smaller of the elements and `values`."""
        return self._update("min", values, mode, unique_indices)

    def max(self, values: Any, *, mode: str = "raise", unique_indices: bool = False) -> Any:
        """The greater of the elements and `values`."""
        return self._update("max", values, mode, unique_indices)

    def apply(
        self,
        function: Callable[[Any], Any],
        *,
        mode: str = "raise",
        unique_indices: bool = False,
    ) -> Any:
        """The elements replaced by `function` of them; an element named twice is changed once."""
        return self._update("apply", function, mode, unique_indices)
