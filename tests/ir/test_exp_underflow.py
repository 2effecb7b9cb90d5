"""Exponentials of arguments far below 0 are 0 without a product that underflows: Intel's processors
take some 150 cycles for one, and rows under a mask are full of such arguments."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import pyc

UNDERFLOW = 0x10
"""FE_UNDERFLOW of x86."""


def _underflows(function: object, x: np.ndarray) -> bool:
    """Whether a product of a compiled call was too small, by the flag of the processor."""
    library = ctypes.CDLL("libm.so.6")
    made = pyc.jit(function)
    assert (made(x) == np.asarray(function(x))).all()  # type: ignore[operator]
    library.feclearexcept(0x3F)
    made(x)
    return bool(library.fetestexcept(UNDERFLOW))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", [np.exp, np.exp2])
def test_far_below_zero_nothing_underflows(function: object, dtype: type) -> None:
    far = np.array([-1100, -2000, -1e30, -np.inf] * 17, dtype)
    assert not _underflows(lambda x: function(x), far)  # type: ignore[operator]
    assert _underflows(lambda x: x * x, np.full(64, np.finfo(dtype).tiny, dtype)), "the flag"
