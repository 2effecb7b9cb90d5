"""`pyc.scipy.special` on a GPU: the bits of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.backends import cuda
from pyc.scipy import special
from tests.programs.differential import same_bits

POINTS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, -2.0, 1e-310, -1e-310, 1e-45, 3e38]
POINTS += [171.0, -170.5, -185.5, 1e300, -1e20, *np.linspace(-9, 30, 300)]
OF_TWO = ("kl_div", "rel_entr", "xlog1py", "xlogy", "beta", "betaln", "binom", "comb", "poch")
OF_TWO += ("gammainc", "gammaincc", "huber", "pseudo_huber", "zeta")
OF_THREE = ("betainc", "betaincc")
OF_ALL = ("log_softmax", "logsumexp", "softmax")
"""Whose result depends on every element, among which is NaN."""
NO_ELEMENTS = ("bernoulli",)
"""Functions of a number that is known when the program is traced."""
BOUND: dict[str, Callable[..., Any]] = {
    "multigammaln": lambda x: special.multigammaln(x, 2),
    "polygamma": lambda x: special.polygamma(1, x),
}
"""Functions that take such a number beside elements."""


def function_of(name: str) -> Callable[..., Any]:
    """A function of elements alone."""
    return BOUND.get(name, getattr(special, name))


def arguments(name: str, dtype: Any) -> list[np.ndarray[Any, Any]]:
    """As many arrays as the function takes; the third between 0 and 1, mostly."""
    with np.errstate(all="ignore"):
        x = np.array(POINTS).astype(dtype)
        third = (np.array(POINTS) / 30).astype(dtype)
    count = 3 if name in OF_THREE else 2 if name in OF_TWO else 1
    return [x, x[::-1].copy(), third][:count]


def parts(found: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays of a result, which may be a pair."""
    return [np.asarray(a) for a in (found if isinstance(found, tuple) else (found,))]


NAMES = [n for n in special.__all__ if n not in NO_ELEMENTS]


@pytest.mark.parametrize("name", NAMES)
def test_every_function_takes_its_arguments(name: str) -> None:
    """And gives numbers for some of them: what follows compares more than NaN."""
    found = parts(function_of(name)(*arguments(name, np.float64)))
    assert all(np.isfinite(a).any() or name in OF_ALL for a in found)


@pytest.mark.cuda
@pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")
@pytest.mark.parametrize("name", NAMES)
def test_a_gpu_gives_the_bits_of_the_cpu(name: str) -> None:
    function = function_of(name)
    for dtype in (np.float16, np.float32, np.float64):
        given = arguments(name, dtype)
        found = parts(pyc.jit(lambda *xs: function(*xs), device="cuda")(*given))
        for a, b in zip(found, parts(function(*given)), strict=True):
            assert same_bits(a, b), dtype
