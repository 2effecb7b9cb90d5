"""`pyc.scipy.special` on a GPU: the bits of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc.backends import cuda
from pyc.scipy import special
from tests.programs.differential import same_bits

OF_TWO = ("kl_div", "rel_entr", "xlog1py", "xlogy")
POINTS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, -2.0, 1e-310, -1e-310, 1e-45, 3e38]
POINTS += [171.0, -170.5, -185.5, 1e300, -1e20, *np.linspace(-9, 30, 300)]


@pytest.mark.cuda
@pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")
@pytest.mark.parametrize("name", special.__all__)
def test_a_gpu_gives_the_bits_of_the_cpu(name: str) -> None:
    function = getattr(special, name)
    for dtype in (np.float16, np.float32, np.float64):
        with np.errstate(all="ignore"):
            x = np.array(POINTS).astype(dtype)
        arguments = [x, x[::-1].copy()] if name in OF_TWO else [x]
        found: Any = pyc.jit(lambda *xs: function(*xs), device="cuda")(*arguments)
        assert same_bits(np.asarray(found), np.asarray(function(*arguments))), dtype
