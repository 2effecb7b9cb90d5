"""Loops that use what can only be used once: iterators and generators of random numbers that the
function has made. Nothing of them may be tried out, and what they give differs each time."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.errors import LoopStateError
from pyc.reasons import Reason, collecting

X = np.linspace(0.1, 2.0, 60)


def counted() -> Any:
    k = 0
    while True:
        yield k
        k += 1


SOURCES: dict[str, Callable[[], Callable[[], Any]]] = {
    "iterator": lambda: iter(range(1000)).__next__,
    "count": lambda: itertools.count().__next__,
    "generator": lambda: counted().__next__,
    "zip": lambda: lambda z=zip(range(100), range(5, 105)): next(z)[1],  # noqa: B008
    "enumerate": lambda: lambda e=enumerate(range(100)): next(e)[0],  # noqa: B008
    "list": lambda: list(range(100)).pop,
    "random": lambda: random.Random(3).random,
    "default_rng": lambda: np.random.default_rng(3).random,
    "default_rng, as an object": lambda: lambda r=np.random.default_rng(3): r.random(),  # noqa: B008
}


def appended(x, draw):
    ys = []
    for v in x:
        ys.append(v * draw())
    return np.array(ys), draw()


def summed(x, draw):
    total = 0.0
    for i in range(60):
        total += x[i] * draw()
    return total, draw()


def stored(x, draw):
    found = np.zeros(60)
    for i in range(60):
        found[i] = x[i] * draw()
    return found, draw()


def listed(x, draw):
    return np.array([v * draw() for v in x]), draw()


def folded(x, draw):
    return sum(v * draw() for v in x), draw()


def short(x, draw):
    total = 0.0
    for i in range(3):
        total += x[i] * draw()
    return total, draw()


def repeated(x, draw):
    n, total = 0, 0.0
    while n < 50:
        total = total + x[n] * draw()
        n += 1
    return total, draw()


LOOPS = (appended, summed, stored, listed, folded, short, repeated)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_each_iteration_takes_what_comes_next(loop: Any, source: str) -> None:
    def function(x: Any) -> Any:
        return loop(x, SOURCES[source]())

    expected, found = function(X), pyc.jit(function)(X)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-13)


def test_an_iterator_by_its_name() -> None:
    def function(x: Any) -> Any:
        it, total = iter(range(1000)), 0.0
        for i in range(60):
            total += x[i] * next(it)
        rest = [v * next(it) for v in x]
        while (k := next(it, 500)) < 150:
            total += k * x[0]
        return total, np.array(rest), k

    with collecting() as notes:
        found = pyc.jit(function)(X)
    for a, b in zip(function(X), found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-13)
    details = [n.details["detail"] for n in notes if n.reason is Reason.LOOP_UNROLLED]
    assert any("the iterator `it`, whose state is not known" in d for d in details)


def test_a_loop_of_unknown_length_is_refused() -> None:
    def function(x: Any) -> Any:
        it, total = iter(range(1000)), 0.0
        while total < 20:
            total = total + x[3] * next(it)
        return total

    with pytest.raises(LoopStateError, match="the iterator `it`, whose state is not known"):
        pyc.jit(function)(X)
