"""Checks of places in counted loops: those that never fail are dropped, the others stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import lax
from pyc.errors import IndexOutOfRangeError
from pyc.ir.graph import Graph, equations_of
from pyc.passes import optimise

LINE = np.random.default_rng(7).standard_normal(80)
ROWS = np.random.default_rng(8).standard_normal((70, 9))


def checks(function: Callable[..., Any], *arguments: Any) -> tuple[int, int]:
    """How many checks and comparisons a function has, as traced and after all passes."""
    traced = pyc.jit(function).trace(*arguments).graph
    return _count(traced), _count(optimise(traced, check=True))


def _count(graph: Graph) -> int:
    return sum(e.op.name in ("index_check", "select") for e in equations_of(graph))


def rows(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] - np.mean(x[i])
    return y


def backwards(x: Any) -> Any:
    y = np.zeros_like(x)
    y[-1] = x[-1]
    for i in range(x.shape[0] - 2, -1, -1):
        y[i] = np.cumsum(x[i]) - y[i + 1]
    return y


def every_third(x: Any) -> Any:
    total = np.zeros_like(x[0])
    for i in range(23):
        total = np.sort(total + x[3 * i + 2])
    return total


def slices(x: Any) -> Any:
    def step(i: Any, total: Any) -> Any:
        return pnp.sort(total + lax.dynamic_slice(x, (9 * i,), (8,)))

    return lax.fori_loop(0, 9, step, x[:8])


DROPPED = {
    "rows": (rows, ROWS),
    "every third row": (every_third, ROWS),
    "slices": (slices, LINE),
}


@pytest.mark.parametrize("case", DROPPED)
def test_checks_that_never_fail_are_dropped(case: str) -> None:
    function, x = DROPPED[case]
    before, after = checks(function, x)
    assert before and not after
    pyc.verify(function, x)


def from_the_end(x: Any) -> Any:
    """The first iteration reads the last row."""
    total = np.zeros_like(x[0])
    for i in range(70):
        total = np.sort(total * 0.5 + x[i - 1])
    return total


def computed(x: Any) -> Any:
    total = np.zeros_like(x[0])
    for i in range(70):
        total = np.sort(total + x[(i * 3) % 70])
    return total


def wrapped(x: Any) -> Any:
    """The product wraps around: to 0, 0, ... or to 2**63, which is no place."""
    total = x[:8]
    for i in range(70):
        total = np.sort(total + x[i * (1 << 61) * 8])
    return total


@pytest.mark.parametrize("case", [from_the_end, computed, backwards], ids=lambda f: f.__name__)
def test_others_stay(case: Callable[..., Any]) -> None:
    before, after = checks(case, ROWS)
    assert before and after
    pyc.verify(case, ROWS)


def test_numbers_may_wrap_around() -> None:
    pyc.verify(wrapped, LINE)


@pytest.mark.parametrize("last", [70, 71, 90])
def test_a_loop_that_goes_too_far_fails(last: int) -> None:
    def far(x: Any) -> Any:
        total = np.zeros_like(x[0])
        for i in range(last):
            total = np.sort(total + x[i])
        return total

    pyc.verify(far, ROWS)
    if last > 70:
        with pytest.raises(IndexOutOfRangeError, match="70"):
            pyc.jit(far)(ROWS)


def test_a_loop_of_no_iteration_keeps_what_it_has() -> None:
    def none(x: Any) -> Any:
        total = np.zeros_like(x[0])
        for i in range(700, 700):
            total = np.sort(total + x[i + 90])
        return total

    pyc.verify(none, ROWS)
