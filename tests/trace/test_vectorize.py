"""`np.vectorize` and `np.apply_along_axis` of traced values: NumPy's results, traced once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc.ir.op import Kind

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((4, 3)), rng.standard_normal(3)


@np.vectorize
def clipped(a, top=1.0):
    """At most `top`."""
    if a > top:
        return top
    return a * 2.0


inner = np.vectorize(np.dot, signature="(n),(n)->()")
CALLS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "elements": (clipped, (X,), {}),
    "elements and a number": (clipped, (X, 0.5), {}),
    "broadcast": (clipped, (X[:, None], Y), {}),
    "by keyword": (clipped, (X,), {"top": Y}),
    "a scalar": (clipped, (np.float64(2),), {}),
    "integers": (np.vectorize(lambda a, b: a // b), (np.arange(12).reshape(4, 3), 5), {}),
    "signature": (inner, (X, Y), {}),
    "signature of equal loops": (inner, (X, X[::-1]), {}),
    "signature of several loops": (inner, (X[:, None], X), {}),
    "signature of new axes": (
        np.vectorize(np.convolve, signature="(n),(m)->(k)"),
        (X, Y),
        {},
    ),
    "several results": (
        np.vectorize(lambda v: (v.sum(), v * 2), signature="(n)->(),(n)"),
        (X,),
        {},
    ),
    "several results of elements": (np.vectorize(lambda v: (v + 1, v > 0)), (X,), {}),
    "excluded": (
        np.vectorize(lambda p, x: p[0] * x + p[1], excluded=["p", 0]),
        (np.array([1.0, 2.0]), X),
        {},
    ),
    "excluded by name": (
        np.vectorize(lambda x, p: p[0] * x + p[1], excluded={"p"}),
        (X,),
        {"p": np.array([1.0, 2.0])},
    ),
    "types of results": (np.vectorize(lambda a: a, otypes=[np.float32]), (X,), {}),
    "types of several results": (np.vectorize(lambda a: (a, a), otypes="fd"), (X,), {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_vectorized_functions_give_what_numpy_gives(name: str) -> None:
    function, args, kwargs = CALLS[name]
    expected = function(*args, **kwargs)
    within = pyc.jit(lambda *args, **kwargs: function(*args, **kwargs))
    for run in (within, pyc.jit(function)):
        found = run(*args, **kwargs)
        assert isinstance(found, tuple) == isinstance(expected, tuple)
        both = zip(*(x if isinstance(x, tuple) else (x,) for x in (found, expected)), strict=True)
        for a, b in both:
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-14)


def test_the_type_is_that_of_the_function_whatever_the_elements_are() -> None:
    """NumPy takes it from the first element: 0 there would make all results integers."""
    function = np.vectorize(lambda v: v if v > 1 else 0)
    found = pyc.jit(lambda x: function(x))(np.array([0.5, 1.5]))
    assert found.dtype == np.float64 and found.tolist() == [0.0, 1.5]


def test_no_elements() -> None:
    assert pyc.jit(lambda x: clipped(x))(np.zeros((0, 3))).shape == (0, 3)


def test_there_is_no_loop() -> None:
    def f(x):
        return clipped(x), inner(x, x), np.apply_along_axis(np.sort, 1, x)

    graph = pyc.make_graph(f)(X)
    assert [e for e in graph.eqns if e.op.kind is Kind.CONTROL] == []


def test_one_that_is_made_in_the_function() -> None:
    @pyc.jit
    def f(x, k):
        @np.vectorize
        def scaled(v):
            return v * k if v > 0 else -v

        return scaled(x)

    np.testing.assert_allclose(f(X, 2.0), np.where(X > 0, X * 2, -X))
