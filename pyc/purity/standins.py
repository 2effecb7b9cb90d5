"""What a traced function is given in place of objects from outside whose state nobody can compare.

Iterators give other items the next time; locks, and what nobody sees into, are others. A stand-in
may be looked at and handed on; what uses it refuses, by whatever route it is used. Where nothing
watches, after the trace, it does what the object does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any
from weakref import ProxyTypes

import numpy as np

from pyc.purity import table
from pyc.purity.views import guarded
from pyc.trace.users_code import is_users_class

_LOOKED_AT = frozenset(["get"])
_NO_ITERATORS = (np.flatiter, *ProxyTypes)
"""Types with `__next__` that are more than iterators: views, and what stands for any object."""
_SHAPES = frozenset(["shape", "ndim", "nd", "size", "numiter"])
"""What an iterator of NumPy says that does not change with its items."""


class StandIn:
    """Stands for `value`, known as `name`: its methods are refused, but for those of `allowed`.
    effect: why they are."""

    def __init__(
        self, value: Any, name: str, effect: table.Effect, allowed: frozenset[str] = frozenset()
    ) -> None:
        self._value = value
        self._name = name
        self.effect = effect
        self.allowed = allowed

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._value)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._value, name)
        if not callable(found) or name in self.allowed:
            return found
        return self._refusing(found, name)

    def _refusing(self, method: Any, name: str) -> Any:
        return guarded(method, f"`{self._name}.{name}`", self.effect)


class _Iterator(StandIn):
    """An iterator: how far it is shows in each of its attributes."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._value, name)
        if callable(found) or name in _SHAPES:
            return super().__getattr__(name)
        return self._refusing(lambda: found, name)()

    def __getitem__(self, key: Any) -> Any:
        return self._refusing(self._value.__getitem__, "__getitem__")(key)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._refusing(self._value.__next__, "__next__")()

    def _refusing(self, method: Any, name: str) -> Any:
        return guarded(method, f"`{self._name}`", self.effect, by_any=True)


class _Entered(StandIn):
    def __enter__(self) -> Any:
        return self._refusing(self._value.__enter__, "__enter__")()

    def __exit__(self, *error: Any) -> Any:
        return self._refusing(self._value.__exit__, "__exit__")(*error)


class _Lock(_Entered):
    def _refusing(self, method: Any, name: str) -> Any:
        called = f"with {self._name}" if name == "__enter__" else f"{self._name}.{name}"
        asks = name in table.LOOKS_AT_A_LOCK
        return guarded(method, f"`{called}`", table.ENVIRONMENT if asks else self.effect)


def stand_in(value: Any, name: str) -> Any:
    """What stands for an object from outside, `value` itself where nothing has to."""
    kind = type(value)
    if kind.__module__ == "_thread" and hasattr(kind, "acquire"):
        return _Lock(value, name, table.TAKES_A_LOCK)
    if kind is ContextVar:
        return StandIn(value, name, table.SETS_A_VARIABLE, _LOOKED_AT)
    if is_users_class(kind):
        return value
    effect = next(
        (table.UNSEEN[c.__module__] for c in kind.__mro__ if c.__module__ in table.UNSEEN), None
    )
    if effect is not None:
        return _Entered(value, name, effect)
    if hasattr(kind, "__next__") and kind not in _NO_ITERATORS:
        return _Iterator(value, name, table.TAKES_ITEMS)
    return value


__all__ = ["StandIn", "stand_in"]
