"""The Graph of a function: closed, without repetition, with the user's places; captures."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from pyc import lax
from pyc.errors import LeakedTracerError
from pyc.interpreter import bind1, is_tracing
from pyc.ir import dtype as dt
from pyc.ir.ops.control import check_closed
from pyc.ir.types import ArrayType
from pyc.jit import jit
from pyc.trace.capture import capture
from pyc.trace.trace import Input

X = np.arange(3.0)


def ops(graph) -> list[str]:
    return [e.op.name for e in graph.eqns]


def test_equations_carry_the_users_place() -> None:
    def helper(x):
        return x * x

    def function(x):
        y = helper(x)
        return y + 1.5

    graph = jit(function).trace(X).graph
    first = function.__code__.co_firstlineno
    places = {e.op.name: e.loc for e in graph.eqns if e.loc is not None}
    assert places["mul"].file == __file__
    assert (places["mul"].line, places["mul"].function) == (first - 2, "helper")
    assert (places["add"].line, places["add"].function) == (first + 2, "function")
    source = Path(__file__).read_text().splitlines()[places["mul"].line - 1]
    assert source[places["mul"].column - 1 : places["mul"].end_column - 1] == "x * x"


def test_equal_equations_are_one() -> None:
    graph = jit(lambda x: (x * 2 + x * 2) - (x * 2)).trace(X).graph
    assert ops(graph).count("mul") == 1


def test_nested_jit_is_inlined() -> None:
    inner = jit(lambda x, n=2: x * n)
    graph = jit(lambda x: inner(x) + inner(x, n=2)).trace(X).graph
    assert ops(graph).count("mul") == 1
    assert inner.cache_info().entries == 0


def test_numbers_from_outside_are_constants_and_small_fixed_arrays_too() -> None:
    scale, zero = 2.5, -0.0
    table = np.arange(3.0)
    table.flags.writeable = False
    function = jit(lambda x: (x * scale + table, x * zero, x * 0.0, np.float32(1) + x))
    first, minus, plus, _ = function(X)
    np.testing.assert_array_equal(first, X * 2.5 + table)
    assert np.signbit(minus).all() and not np.signbit(plus).any()
    assert function.trace(X).captures == ("table",)


def test_a_read_only_view_of_a_writable_array_is_no_constant() -> None:
    base = np.arange(3.0)
    view = base[:]
    view.flags.writeable = False
    for function in (lambda x: x + view, lambda x: x + np.broadcast_to(base, (2, 3))):
        jitted = jit(function)
        np.testing.assert_array_equal(jitted(X), function(X))
        base[0] += 1
        np.testing.assert_array_equal(jitted(X), function(X))


def test_graphs_of_bodies_are_closed_whatever_they_capture() -> None:
    def function(x, y):
        scale = y * 2

        def outer(i, total):
            inner = lax.fori_loop(0, i, lambda j, s: s + scale + x[j] * total[0], total)
            return lax.cond(inner.sum() > y, lambda t: t - x[i], lambda t: t + scale, inner)

        return lax.fori_loop(0, 3, outer, x)

    def plain(x, y):
        total = x
        for i in range(3):
            inner = total
            for j in range(i):
                inner = inner + y * 2 + x[j] * total[0]
            total = inner - x[i] if inner.sum() > y else inner + y * 2
        return total

    graph = jit(function).trace(X, 0.3).graph
    check_closed("the graph", graph)
    np.testing.assert_allclose(jit(function)(X, 0.3), plain(X, 0.3), rtol=1e-12)


def test_a_tracer_of_another_thread_is_refused() -> None:
    """Two traces that are open at once must not mix."""
    found = []

    def collecting():
        while True:
            found.append((yield))

    collector = collecting()  # left alone: it was made outside
    next(collector)

    def function(x):
        thread = threading.Thread(target=lambda: other(x))
        thread.start()
        thread.join()
        return x

    def other(x):
        for attempt in (lambda: x + 1, lambda: jit(lambda y: y + x)(1.0)):
            try:
                attempt()
            except LeakedTracerError as error:
                collector.send(error.message)

    jit(function, purity="off")(X)
    assert found == [
        "`x` (f64[3]) is used outside of its trace",
        "`x` (f64[3]) is used in another trace than the one that it belongs to",
    ]
    assert not is_tracing()


def test_the_error_of_the_user_passes_unchanged() -> None:
    class Mine(ValueError):
        pass

    def function(x):
        raise Mine("mine")

    with pytest.raises(Mine, match="mine"):
        jit(function)(X)
    assert not is_tracing()


def test_tracing_time_grows_linearly() -> None:
    """A quadratic tracer passes small tests and fails users; see notes on peers."""

    def chain(n):
        def function(x):
            for _ in range(n):
                x = bind1("mul", bind1("sub", x, x), x)
            return [x]

        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            graph = capture(function, [Input(ArrayType((4,), dt.f64))]).graph
            best = min(best, time.process_time() - start)
            assert len(graph.eqns) == 2 * n
        return best

    small, large = chain(500), chain(4000)
    assert large < 8 * small * 4, (small, large)


def test_equal_arrays_of_a_branch_are_one_capture() -> None:
    """Each list of indices is an array; equal ones are one constant around the branch."""

    def f(x, y):
        a, b = x.copy(), x.copy()
        if y > 0:
            a[[1, 0]] += a[[1, 0]]
            b += 1
        return a, b

    x = np.arange(3.0)
    for y in (np.array(1.0), np.array(-1.0)):
        for expected, found in zip(f(x, y), jit(f)(x, y), strict=True):
            assert np.array_equal(found, expected)


def test_equal_arrays_of_a_loop_are_one_capture() -> None:
    def f(x, n):
        a = x.copy()
        for _ in range(n):
            a[[1, 0]] = a[[0, 2]] - a[[0, 2]] * a[[1, 0]]
        return a

    x = np.arange(3.0)
    assert np.array_equal(jit(f)(x, np.array(3)), f(x, 3))
