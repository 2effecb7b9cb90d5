"""`Mapped`: a function of one lane as a function of many, as a value.

What `pyc.vmap` gives within a trace, and what it compiles outside of one. How a call is traced is
in `batching.py`, which is loaded by the first one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pyc.forks import load


class Mapped:
    """`fun`, mapped over axes of its arguments; see `pyc.vmap` for the axes."""

    def __init__(
        self, fun: Callable[..., Any], in_axes: Any, out_axes: Any, axis_size: int | None
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.in_axes = in_axes
        self.out_axes = out_axes
        self.axis_size = axis_size

    def __repr__(self) -> str:
        return f"<mapped {getattr(self.fun, '__name__', self.fun)!s}>"

    def over(self, fun: Callable[..., Any]) -> Mapped:
        """Another function, mapped over the same axes."""
        return Mapped(fun, self.in_axes, self.out_axes, self.axis_size)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The results of all lanes."""
        return load("pyc.trace.batching").call(self, args, kwargs)


__all__ = ["Mapped"]
