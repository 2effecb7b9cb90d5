"""`Bound`: a jitted method of an object, as a value.

What `model.step` is where the class has a jitted `step`: a call puts the object before the other
arguments. It compares, is copied and is pickled as Python's own bound methods are.
"""

from __future__ import annotations

import inspect
import types
from typing import Any

from pyc import tree
from pyc.trace import location

_FORWARDED = ("__name__", "__qualname__", "__wrapped__")


class Bound:
    """A jitted method bound to its instance, which is its first argument."""

    def __init__(self, jitted: Any, instance: Any) -> None:
        self.__func__ = jitted
        self.__self__ = instance

    def __repr__(self) -> str:
        return f"<bound {self.__func__!r}>"

    def __hash__(self) -> int:
        return hash((self.__func__, id(self.__self__)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bound):
            return NotImplemented
        return self.__self__ is other.__self__ and self.__func__ == other.__func__

    def __getattr__(self, name: str) -> Any:
        """What the jitted function has: its name, its text, its signatures."""
        if name.startswith("__") and name not in _FORWARDED:  # `__deepcopy__` and its like
            raise AttributeError(name)
        return getattr(self.__func__, name)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(types.MethodType(self.__func__.__wrapped__, self.__self__))

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        found: str | None = self.__func__.__doc__
        return found

    def __reduce__(self) -> Any:
        return getattr, (self.__self__, self.__func__.__wrapped__.__name__)

    @location.trimmed
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The result of the method for these arguments."""
        return self.__func__(self.__self__, *args, **kwargs)

    @location.trimmed
    def trace(self, /, *args: Any, **kwargs: Any) -> Any:
        """As `Jitted.trace`."""
        return self.__func__.trace(self.__self__, *args, **kwargs)

    @location.trimmed
    def lower(self, /, *args: Any, **kwargs: Any) -> Any:
        """As `Jitted.lower`."""
        return self.__func__.lower(self.__self__, *args, **kwargs)

    @location.trimmed
    def compile(self, /, *args: Any, **kwargs: Any) -> Any:
        """As `Jitted.compile`."""
        return self.__func__.compile(self.__self__, *args, **kwargs)

    @location.trimmed
    def explain(self, /, *args: Any, measure: bool = False, **kwargs: Any) -> Any:
        """As `Jitted.explain`."""
        return self.__func__.explain(self.__self__, *args, measure=measure, **kwargs)


tree.METHODS.add(Bound)

__all__ = ["Bound"]
