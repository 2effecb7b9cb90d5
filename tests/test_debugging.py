"""`pyc.debug.check` and `pyc.debug.breakpoint`: the program is checked, and stopped, when it
runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import reasons
from pyc.errors import DTypeError, TraceError
from pyc.jit import jit
from pyc.reasons import Reason

X = np.arange(3.0)


def raises(text: str) -> Any:
    return pytest.raises(AssertionError, match=rf"^{text}(\n|$)")


# --- check ----------------------------------------------------------------------------------------


def test_a_check_of_a_number_is_native_and_tells_it() -> None:
    @jit
    def f(x: Any) -> Any:
        pyc.debug.check(x[0] >= 0, "negative: {:.1f}", x[0])
        return x * 2

    reasons.clear()
    for _ in range(2):
        np.testing.assert_array_equal(f(X), X * 2)
        with raises(r"negative: -1\.0") as found:
            f(X - 1)
    assert "pyc.debug.check(x[0]" in found.value.__notes__[0]
    assert not [e for e in reasons.events() if e.reason is Reason.DISPATCH_SLOW_HOST_CALL]


def test_a_check_tells_arrays_and_several_values() -> None:
    @jit
    def f(x: Any) -> Any:
        pyc.debug.check(x >= 0, "negative: {} {total:.2f}", x, total=x.sum())
        return x * 2

    for _ in range(2):
        np.testing.assert_array_equal(f(X), X * 2)
        with raises(r"negative: \[-1\.  0\.  1\.\] 0\.00"):
            f(X - 1)


def test_a_check_in_a_loop_fails_in_the_first_iteration_where_it_does_not_hold() -> None:
    @jit
    def f(x: Any, n: int) -> Any:
        for i in range(n):
            pyc.debug.check(x[0] < 50, "large in {}", i)
            pyc.debug.check(x < 1e6, "larger: {} in {}", x, i)
            x = x * 2 + 1
        return x

    np.testing.assert_array_equal(f(X, 3), X * 8 + 7)
    with raises("large in 6"):
        f(X, 100)


def test_a_check_in_a_branch_counts_where_that_is_taken() -> None:
    @jit
    def f(x: Any) -> Any:
        if x[0] > 0:
            pyc.debug.check(x[1] > 5, "few")
            x = x + 1
        return x

    np.testing.assert_array_equal(f(X), X)
    with raises("few"):
        f(X + 1)


def test_a_check_of_what_is_known_costs_nothing_or_fails_at_each_call() -> None:
    @jit
    def f(x: Any) -> Any:
        pyc.debug.check(x.shape[0] == 3, "shape {}", x.shape)
        return x

    assert not any(eqn.op.name.startswith("check") for eqn in f.trace(X).graph.eqns)
    for _ in range(2):
        with raises(r"shape \(4,\)"):
            f(np.arange(4.0))


def test_a_check_outside_of_a_trace_happens_at_once() -> None:
    pyc.debug.check(X >= 0, "negative")
    with raises(r"small: \[0\. 1\. 2\.\]"):
        pyc.debug.check(X > 0, "small: {}", X)


@pytest.mark.parametrize("jitted", [False, True])
def test_a_format_that_does_not_fit_is_refused_at_once(jitted: bool) -> None:
    def f(x: Any) -> None:
        pyc.debug.check(x > -1, "{} {}", x)

    with pytest.raises(IndexError):
        (jit(f) if jitted else f)(X)


@jit
def check_of_numbers(x: Any) -> None:
    pyc.debug.check(x, "none")


@jit
def check_that_may_be_caught(x: Any) -> Any:
    try:
        pyc.debug.check(x > 1, "few: {}", x)
    except AssertionError:
        return x * 0
    return x


@pytest.mark.parametrize("function", [check_of_numbers, check_that_may_be_caught])
def test_refused(function: Any, golden: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[1])
    with pytest.raises((DTypeError, TraceError)) as found:
        function(X)
    golden(str(found.value))


# --- breakpoint -----------------------------------------------------------------------------------


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the debugger would see at each stop."""
    found: list[dict[str, Any]] = []

    def hook() -> None:
        frame = sys._getframe(1)
        seen = {k: v for k, v in frame.f_globals.items() if not k.startswith("__")}
        found.append({**seen, "line": frame.f_lineno, "file": frame.f_code.co_filename})

    monkeypatch.setattr(sys, "breakpointhook", hook)
    return found


def test_a_breakpoint_shows_the_variables_of_the_function(stops: list[dict[str, Any]]) -> None:
    @jit
    def f(x: Any) -> Any:
        y, name, n = x * 2, "text", 3
        pyc.debug.breakpoint()
        return y * n if name else y

    for k in range(2):
        np.testing.assert_array_equal(f(X + k), (X + k) * 6)
        stop = stops.pop()
        np.testing.assert_array_equal(stop["x"], X + k)
        np.testing.assert_array_equal(stop["y"], (X + k) * 2)
        assert stop["n"] == 3 and "name" not in stop
        assert stop["file"] == __file__
        assert stop["line"] == f.__wrapped__.__code__.co_firstlineno + 3


def test_a_breakpoint_in_a_branch_of_a_loop_stops_when_the_program_is_there(
    stops: list[dict[str, Any]],
) -> None:
    @jit
    def f(x: Any) -> Any:
        y = x * 2
        for i in range(40):
            if y[0] > 30:
                pyc.debug.breakpoint()
                break
            y = y + i
        return y

    np.testing.assert_array_equal(f(X), X * 2 + 36)
    (stop,) = stops
    np.testing.assert_array_equal(stop["y"], X * 2 + 36)
    np.testing.assert_array_equal(stop["x"], X)


def test_a_breakpoint_outside_of_a_trace_is_pythons(stops: list[dict[str, Any]]) -> None:
    pyc.debug.breakpoint()
    assert len(stops) == 1
