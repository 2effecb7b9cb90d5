"""Keyword arguments of NumPy that pyc does not have: what asks for nothing is ignored, the rest is
refused by name, at the user's line, with what to write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc.errors import UnsupportedOpError
from pyc.jit import jit

VECTOR = np.arange(3.0)


def where_of_a_ufunc(x):
    return pnp.add(x, 1, where=x > 1)


def where_of_numpys_ufunc(x):
    return np.add(x, 1, where=x > 1)


def out_of_a_function(x):
    return pnp.exp(x, out=x)


def order_of_a_method(x):
    return x.reshape((3, 1), order="F")


def dtype_of_a_function(x):
    return pnp.concatenate([x, x], dtype="float32")


def argument_that_numpy_alone_has(x):
    return pnp.linalg.norm(x, 2) + pnp.sort(x, order="f")


REFUSED = (
    *(where_of_a_ufunc, where_of_numpys_ufunc, out_of_a_function, order_of_a_method),
    *(dtype_of_a_function, argument_that_numpy_alone_has),
)


@pytest.mark.parametrize("function", REFUSED)
def test_refused(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, golden) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    with pytest.raises(UnsupportedOpError) as found:
        jit(function)(VECTOR)
    golden(str(found.value))


@pytest.mark.parametrize(
    "function",
    [
        lambda np, x: np.sum(x, where=True),
        lambda np, x: np.sum(a=x, out=None),
        lambda np, x: np.var(x, ddof=1),
        lambda np, x: np.zeros_like(x, order="C"),
        lambda np, x: np.clip(x, a_min=1.0, a_max=2.0),
        lambda np, x: np.sort(x, kind="stable"),
        lambda np, x: x.sum(where=True),
        lambda np, x: x.reshape(3, 1, order="C"),
    ],
)
def test_what_asks_for_nothing_is_ignored(function: Callable[..., Any]) -> None:
    """And NumPy's names for the arguments are taken."""
    np.testing.assert_array_equal(jit(lambda x: function(pnp, x))(VECTOR), function(np, VECTOR))


def test_what_numpy_does_not_take_is_pythons_error() -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'axes'"):
        jit(lambda x: pnp.sum(x, axes=1))(VECTOR)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        jit(lambda x: pnp.sum())(VECTOR)


def test_errors_inside_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A TypeError of the function itself is not mistaken for one of its call."""

    def broken(*args: Any, **kwargs: Any) -> Any:
        raise TypeError("broken")

    monkeypatch.setattr("pyc.numpy.statistics.shape_of", broken)
    with pytest.raises(TypeError, match="broken"):
        jit(lambda x: pnp.sum(x))(VECTOR)
