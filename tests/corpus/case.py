"""What a case of the corpus is, and given samples in place of random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    """A function as a user wrote it, and a function that makes its arguments afresh."""

    function: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]


_offset = 0


@contextmanager
def other_samples(offset: int) -> Iterator[None]:
    """Within the block all samples are others, of the same shapes."""
    global _offset
    _offset = offset
    yield
    _offset = 0


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed + 1000 * _offset)


def samples(*shape: int, seed: int = 0, dtype: Any = np.float64) -> np.ndarray:
    """Samples of the standard normal distribution, the same ones at each call."""
    return _generator(seed).standard_normal(shape).astype(dtype)


def integers(*shape: int, high: int, low: int = 0, seed: int = 0) -> np.ndarray:
    """Integers from `low` to below `high`, the same ones at each call."""
    return _generator(seed).integers(low, high, shape)


def uniform(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers between 0 and 1, the same ones at each call."""
    return _generator(seed).random(shape)
