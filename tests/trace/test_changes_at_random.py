"""Whatever is changed between calls, the answer is the one of plain Python."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyc.jit import Jitted, jit
from tests.trace.world import ACTIONS, FUNCTIONS, world

X = np.array([1.5, 2.25, 3.0])

Steps = Sequence[tuple[str, int]]


def outcome(function: Any) -> Any:
    """What a function gives for `X`, or that it raises."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(X))
    except Exception as error:
        return error


def check(function: Jitted, what: str) -> None:
    """Twice as plain Python: through Python where something is new, then natively."""
    for _ in range(2):
        got, expected = outcome(function), outcome(function.__wrapped__)
        if isinstance(expected, Exception):
            assert isinstance(got, Exception), (what, got, expected)
            continue
        assert not isinstance(got, Exception), (what, got, expected)
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape), what
        close = 1e-5 if got.dtype.itemsize == 4 else 1e-12
        np.testing.assert_allclose(got, expected, rtol=close, err_msg=what)


def changed(names: dict[str, Any], action: str, by: int) -> None:
    """Does an action, if the world is so that it can be done: not to an item of a tuple."""
    with suppress(TypeError, AttributeError, IndexError, KeyError, ValueError):
        ACTIONS[action](names, by)


def run(steps: Steps, do: Any = lambda step: step()) -> None:
    """Changes a new world step by step; after each, all functions are called."""
    names = world()
    functions = {what: jit(names[f"f{k}"]) for k, what in enumerate(FUNCTIONS)}
    for what, function in functions.items():
        check(function, what)
    for k, (action, by) in enumerate(steps):
        do(functools.partial(changed, names, action, by))
        for what, function in functions.items():
            check(function, f"{what}, after {list(steps[: k + 1])}")


def steps_of(count: int) -> st.SearchStrategy[list[tuple[str, int]]]:
    one = st.tuples(st.sampled_from(sorted(ACTIONS)), st.integers(0, 30))
    return st.lists(one, min_size=1, max_size=count)


@pytest.mark.parametrize("action", ACTIONS)
def test_each_change(action: str) -> None:
    ACTIONS[action](world(), 0)  # raises if it does not fit the world
    run([(action, by) for by in (0, 1, 2, 3, 5)])


@given(steps_of(12))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_changes_at_random(steps: Steps) -> None:
    run(steps)


@given(steps_of(8))
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_changes_by_other_threads(steps: Steps) -> None:
    def do(step: Any) -> None:
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()

    run(steps, do)


def main(count: int, first: int = 0) -> None:
    """`python -m tests.trace.test_changes_at_random COUNT [FIRST]`: many seeds."""
    for seed in range(first, first + count):
        draw = np.random.default_rng(seed)
        names = sorted(ACTIONS)
        run([(names[draw.integers(len(names))], int(draw.integers(31))) for _ in range(25)])
        print(seed, end=" ", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
