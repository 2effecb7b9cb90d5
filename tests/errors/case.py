"""How the programs of this directory are written: functions that are refused, with arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

LINE = np.arange(4.0)
PLACES = np.array([2, 0, 1])
TRUTHS = np.array([True, False, True, True])
MATRIX = np.arange(6.0).reshape(2, 3)
SQUARE = np.arange(9.0).reshape(3, 3)
CUBE = np.arange(24.0).reshape(2, 3, 4)
PAIRS = np.array([1 + 2j, 3 - 1j])
EMPTY = np.empty((0, 3))
SINGLE = np.arange(3, dtype=np.float32)


def given(*args: Any, **options: Any) -> Callable[[F], F]:
    """Marks a function as a program: called with `args` it is refused. options: of `pyc.jit`."""

    def mark(function: F) -> F:
        function.given = args, options  # type: ignore[attr-defined]
        return function

    return mark


def programs(names: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """The programs of a module, by name."""
    return {name: f for name, f in names.items() if hasattr(f, "given")}
