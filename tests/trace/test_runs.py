"""Slices with traced bounds beside others of the same length: loops of the program, as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyc.jit import jit
from tests.corpus.outcome import compare

RNG = np.random.default_rng(5)
LINE = RNG.random(30)
OTHER = RNG.random(30)
ROWS = RNG.random((30, 4))


def knapsack(weights, values, capacity):
    """Bounds that depend on data, and on a number that is a size."""
    best = np.zeros(capacity + 1)
    for i in range(weights.shape[0]):
        w = weights[i]
        best[w:] = np.maximum(best[w:], best[: capacity + 1 - w] + values[i])
    return best


def differences(a):
    for i in range(1, a.shape[0]):
        b = a.copy()
        b[i:] -= a[:-i]
        a = a + 0.01 * b
    return a


def neighbours(a):
    value = a.copy()
    for step in range(a.shape[0] - 1):
        left = value.shape[0] - 1 - step
        value[:left] = 0.5 * value[1 : left + 1] + 0.4 * value[:left]
    return value


def windows(a, b):
    total = 0.0
    for i in range(3, a.shape[0] - 3):
        total += np.dot(a[i - 3 : i + 3], b[i - 2 : i + 4])
    return total


def reversed_parts(r):
    """Durbin's recursion."""
    y = np.zeros_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = alpha
    for k in range(1, r.shape[0]):
        beta *= 1 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return y


def reversed_middles(a):
    out = np.zeros_like(a)
    for i in range(2, a.shape[0] - 2):
        out[i - 2 : i + 2] += a[i - 1 : i + 3][::-1]
    return out


def rows(a):
    a = a.copy()
    for i in range(1, a.shape[0] - 1):
        a[:i] += 0.1 * a[1 : i + 1] * np.flip(a[:i], axis=0)
    return a


def moved_in_place(a):
    a = a.copy()
    for i in range(1, a.shape[0]):
        a[i:] = a[: a.shape[0] - i]
        a[0] = i
    return a


def from_the_end(a):
    out = a.copy()
    for i in range(1, a.shape[0]):
        out[: a.shape[0] - i] += a[i:] * out[-a.shape[0] + i :]
    return out


def adaptive(reference, desired):
    """Least mean squares: windows of the length of an array."""
    weights = np.zeros(4)
    error = np.zeros(len(reference))
    for n in range(4, len(reference)):
        window = reference[n - 4 : n][::-1]
        error[n] = desired[n] - weights @ window
        weights += 0.1 * error[n] * window
    return error, weights


def tables(a):
    """Windows as rows, and beside arrays."""
    out = np.zeros((a.shape[0] - 5, 5))
    total = np.zeros(5, np.float32)
    for i in range(a.shape[0] - 5):
        out[i] = a[i : i + 5]
        total = total + np.maximum(a[i + 1 : i + 6], out[i])
    return out, total


def filtered(a, kernels):
    out = np.zeros((a.shape[0] - 3, 2))
    for i in range(a.shape[0] - 3):
        out[i] = kernels @ a[i : i + 3] + a[i + 1 : i + 4].dot(kernels.T)
    return out


CASES: dict[str, tuple[Any, ...]] = {
    "knapsack": (knapsack, RNG.integers(1, 20, 25), RNG.random(25), 200),
    "differences": (differences, LINE),
    "neighbours": (neighbours, LINE),
    "windows": (windows, LINE, OTHER),
    "reversed parts": (reversed_parts, LINE / 40),
    "reversed middles": (reversed_middles, LINE),
    "rows": (rows, ROWS),
    "moved in place": (moved_in_place, LINE),
    "from the end": (from_the_end, LINE),
    "adaptive": (adaptive, LINE, OTHER),
    "tables": (tables, LINE),
    "filtered": (filtered, LINE, ROWS[:2, :3]),
}


@pytest.mark.parametrize("name", CASES)
def test_slices_of_one_length_meet(name: str) -> None:
    function, *arguments = CASES[name]
    jitted = jit(function)
    expected = function(*arguments)
    for _ in range(2):
        compare(jitted(*arguments), expected, name)
    equations = jitted.trace(*arguments).graph.eqns
    loops = [e for e in equations if e.op.name in ("while", "scan")]
    assert len(loops) == 1 and len(equations) < 30, "it is a loop of the program"


def grown_beyond_the_end(a, n):
    a = a.copy()
    for i in range(n):
        a[: i + 2] = a[1 : i + 3] * 2
    return a


def test_a_slice_that_the_end_cuts_short_raises_as_in_numpy() -> None:
    a = RNG.random(10)
    compare(jit(grown_beyond_the_end)(a, 8), grown_beyond_the_end(a, 8), "inside")
    for function in (grown_beyond_the_end, jit(grown_beyond_the_end)):
        with pytest.raises(ValueError, match="broadcast"):
            function(a, 9)


def windows_at_the_end(a):
    """What NumPy cuts short is shorter in the program too, where no array is beside it."""
    out = np.zeros_like(a)
    for i in range(a.shape[0]):
        out[i] = a[i : i + 5].mean()
    return out


def too_short_beside_an_array(a, n):
    total = np.zeros(5)
    for i in range(n):
        total = total + a[i : i + 5]
    return total


def test_windows_at_the_end() -> None:
    compare(jit(windows_at_the_end)(LINE), windows_at_the_end(LINE), "short")
    for function in (too_short_beside_an_array, jit(too_short_beside_an_array)):
        compare(function(LINE, 26), too_short_beside_an_array(LINE, 26), "inside")
        with pytest.raises(ValueError, match="broadcast"):
            function(LINE, 27)


def one_beside_many(a):
    out = a.copy()
    for i in range(1, a.shape[0] - 1):
        out[:i] += a[i : i + 1]
    return out


def other_lengths(a, n):
    """Whether they are as long is known for each iteration, not for all."""
    out = a.copy()
    for i in range(1, 5):
        out[: i * i] += a[n : n + i * i]
    return out


def test_slices_of_other_lengths_are_as_in_numpy() -> None:
    """One element meets all others, in code of each iteration; a product of the counter is no sum
    of numbers, and still the same value on both sides."""
    compare(jit(one_beside_many)(LINE), one_beside_many(LINE), "one")
    compare(jit(other_lengths)(LINE, 3), other_lengths(LINE, 3), "products")
