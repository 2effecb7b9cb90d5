"""What a published kernel is: a function as a NumPy user writes it, and its arguments by size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Kernel(NamedTuple):
    """arguments: (*sizes) -> the arguments, the same at each call; small: sizes for tests, medium:
    for `benchmarks/published.py`."""

    function: Callable[..., Any]
    arguments: Callable[..., tuple[Any, ...]]
    small: tuple[int, ...]
    medium: tuple[int, ...]

    @property
    def name(self) -> str:
        """The function's."""
        return self.function.__name__


def uniform(*shape: int, seed: int = 0) -> Array:
    """Numbers from [0, 1), the same ones at each call."""
    return np.random.default_rng(seed).random(shape)


def dominant(n: int, seed: int = 0) -> Array:
    """A symmetric positive definite matrix, well conditioned."""
    a = uniform(n, n, seed=seed)
    return a @ a.T / n + np.eye(n) * 2
