"""Published kernels of numerical computing, written from their mathematics as NumPy users write
them: with loops and updates in place. Jitted, they give what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from tests.corpus.outcome import compare
from tests.published import dense, grids, models, recurrences
from tests.published.kernel import Kernel

MODULES = (dense, grids, recurrences, models)
KERNELS: dict[str, Kernel] = {k.name: k for module in MODULES for k in module.KERNELS}


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_gives_what_numpy_gives(name: str) -> None:
    """Values, types and shapes, twice; and the arguments are as they were."""
    kernel = KERNELS[name]
    expected = kernel.function(*kernel.arguments(*kernel.small))
    jitted: Any = pyc.jit(kernel.function)
    arguments = kernel.arguments(*kernel.small)
    for _ in range(2):
        compare(jitted(*arguments), expected, name)
    compare(arguments, kernel.arguments(*kernel.small), "arguments")


def test_there_are_enough() -> None:
    names = [k.name for module in MODULES for k in module.KERNELS]
    assert len(names) == len(KERNELS) >= 60


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_computes_something(name: str) -> None:
    """No NaN, and not all one number: a comparison of nothing would not fail."""
    kernel = KERNELS[name]
    found = kernel.function(*kernel.arguments(*kernel.small))
    (first, *_) = pyc.tree.leaves(found)
    assert np.isfinite(first).all()
    assert np.ndim(first) == 0 or np.unique(first).size > 1
