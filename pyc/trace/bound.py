"""What is made of functions, as values: `Bound`, a jitted method of an object, and `Mapped`, a
function of one lane as one of many.

`Bound` is what `model.step` is where the class has a jitted `step`: a call puts the object before
the other arguments. It compares, is copied and is pickled as Python's own bound methods are.

`Mapped` is what `pyc.vmap` gives within a trace, and what it compiles outside of one. How a call is
traced is in `batching.py`, which is loaded by the first one.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from pyc import tree
from pyc.forks import load
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


class Mapped:
    """`fun`, mapped over axes of its arguments; see `pyc.vmap` for the axes. Nothing changes what
    it holds, so that calls of what is compiled need only look at what `fun` itself reads."""

    def __init__(
        self,
        fun: Callable[..., Any],
        in_axes: Any,
        out_axes: Any,
        axis_size: int | None,
        axis_name: Any = None,
    ) -> None:
        functools.update_wrapper(self, fun)
        # No public names: who wraps this takes over its attributes as those of a function.
        self._fun = fun
        self._axes = in_axes, out_axes, axis_size, axis_name

    def __repr__(self) -> str:
        over = "" if self._axes[3] is None else f" over {self._axes[3]!r}"
        return f"<mapped {getattr(self._fun, '__name__', self._fun)!s}{over}>"

    @property
    def function(self) -> Callable[..., Any]:
        """The function of one lane."""
        return self._fun

    @property
    def axes(self) -> tuple[Any, Any, int | None, Any]:
        """`in_axes`, `out_axes`, `axis_size` and `axis_name`."""
        return self._axes

    def __deepcopy__(self, memo: dict[int, Any]) -> Mapped:
        """Itself, as functions are; of a method of an object that is copied, that of the copy."""
        fun = load("copy").deepcopy(self._fun, memo)
        return self if fun is self._fun else Mapped(fun, *self._axes)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The results of all lanes."""
        return load("pyc.trace.batching").call(self, args, kwargs)


tree.METHODS.add(Bound)

__all__ = ["Bound", "Mapped"]
