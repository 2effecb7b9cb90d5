"""What a case of the corpus is, and given samples in place of random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    """A function as a user wrote it, and a function that makes its arguments afresh."""

    function: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]


def samples(*shape: int, seed: int = 0, dtype: Any = np.float64) -> np.ndarray:
    """Samples of the standard normal distribution, the same ones at each call."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def integers(*shape: int, high: int, low: int = 0, seed: int = 0) -> np.ndarray:
    """Integers from `low` to below `high`, the same ones at each call."""
    return np.random.default_rng(seed).integers(low, high, shape)


def uniform(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers between 0 and 1, the same ones at each call."""
    return np.random.default_rng(seed).random(shape)
