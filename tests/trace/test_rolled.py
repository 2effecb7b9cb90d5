"""Loops and branches on traced values: NumPy's answer for every program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc import tree
from tests.trace import loop_programs as programs

RANDOM = np.random.default_rng(7)
X = RANDOM.standard_normal(40)
X[30] = 1.5
MATRIX = RANDOM.standard_normal((9, 9)) + 9 * np.eye(9)
SYMMETRIC = MATRIX + MATRIX.T
WIDE = RANDOM.standard_normal((20, 5))
BOARD = RANDOM.integers(0, 2, (12, 12))

CALLS: dict[str, list[tuple[Any, ...]]] = {
    "dot_product": [(X, 2 * X)],
    "exponential_average": [(X, 0.3)],
    "horner": [(X, 0.5)],
    "horner_of_an_array": [(X, X)],
    "fibonacci": [(0,), (1,), (50,)],
    "factorial_of_floats": [(0,), (20,)],
    "pi_by_series": [(0,), (1000,)],
    "harmonic_down": [(0,), (100,)],
    "heat": [(X, 0), (X, 1), (X, 50)],
    "heat_augmented": [(X, 0), (X, np.int32(33))],
    "two_buffers": [(X, 0), (X, 1), (X, 7), (X, 8)],
    "euler": [(1.0, 0.0, 0.01), (X, 2 * X, 0.01)],
    "runge_kutta": [(X, 0.01), (0.5, 0.01)],
    "time_by_addition": [(X, 0.01)],
    "leapfrog": [(X, 2 * X)],
    "game_of_life": [(BOARD,)],
    "state_in_a_named_tuple": [(X, 2 * X)],
    "state_in_an_object": [(X,), (0.5,)],
    "matrix_product": [(MATRIX, SYMMETRIC)],
    "gauss_seidel": [(X, 0), (X, 30)],
    "gauss_seidel_of_a_plane": [(MATRIX,)],
    "power_iteration": [(SYMMETRIC,)],
    "conjugate_gradient": [(SYMMETRIC @ SYMMETRIC, MATRIX[0])],
    "lu_by_slices": [(MATRIX,)],
    "lu_by_elements": [(np.pad(MATRIX, 5) + np.eye(19),)],
    "forward_substitution": [(np.tril(RANDOM.standard_normal((30, 30))) + 9 * np.eye(30), X[:30])],
    "tridiagonal": [(X, 9 + X, X, X)],
    "floyd_warshall": [(np.abs(RANDOM.standard_normal((25, 25))),)],
    "floyd_warshall_by_elements": [(np.abs(RANDOM.standard_normal((18, 18))),)],
    "rows_summed": [(WIDE,)],
    "rows_normalised": [(WIDE,)],
    "rows_of_two": [(WIDE, 2 * WIDE)],
    "newton": [(2.0,), (1e6,)],
    "newton_with_break": [(2.0,), (1.0,)],
    "newton_forever": [(2.0,), (9.0,)],
    "newton_with_else": [(2.0,), (1e300,)],
    "newton_with_return": [(2.0,)],
    "bisection": [(0.0, 2.0)],
    "bisection_by_tolerance": [(0.0, 2.0)],
    "secant": [(1.0, 2.0)],
    "first_above": [(X, 1.4), (X, 100.0), (X, -100.0)],
    "first_above_of_rows": [(WIDE, 1.4), (WIDE, 100.0)],
    "binary_search": [(np.sort(X), 0.1), (np.sort(X), 100.0), (np.sort(X), -100.0)],
    "scan_with_sentinel": [(X,)],
    "scan_to_the_end": [(X, X[33]), (X, 100.0)],
    "golden_section": [(0.0, 5.0)],
    "collatz": [(1,), (27,), (97,)],
    "greatest_common_divisor": [(1071, 462), (7, 0)],
    "integer_power": [(3, 13), (2, 0)],
    "sieve": [(np.ones(100, bool),)],
    "count_primes": [(100,)],
    "mandelbrot": [(0.1, 0.1), (0.5, 0.5)],
    "levenshtein": [(np.arange(20) % 3, np.arange(25) % 4)],
    "early_return": [(X,), (-X,), (np.abs(X),)],
    "guards": [(-1.0,), (0.5,), (1.5,), (9.0,)],
    "nested_branches": [(-1.0,), (5.0,), (20.0,)],
    "branch_changes_an_array": [(X,), (-X,)],
    "branch_binds_a_view": [(X,), (-X,)],
    "conditional": [(2.0,), (-2.0,)],
    "between": [(-1.0,), (3.0,), (7.0,)],
    "logic": [(1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)],
    "short_circuit": [(np.abs(X), 3), (X, 40), (X, 100)],
    "with_default": [(0.0, 5.0), (2.0, 5.0)],
    "element_guard": [(X, 3), (X, 40)],
    "rows_written_through_views": [(WIDE,)],
}

PROGRAMS = [
    name
    for name, f in vars(programs).items()
    if callable(f) and f.__module__ == programs.__name__ and not isinstance(f, type)
]


def copied(args: tuple[Any, ...]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


@pytest.fixture(autouse=True)
def without_a_cache():
    with pyc.config.using(cache="off"):
        yield


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_numpy_gives(name: str) -> None:
    function = getattr(programs, name)
    jitted = pyc.jit(function)
    for args in CALLS.get(name, [(X,)]):
        expected = tree.leaves(function(*copied(args)))
        found = tree.leaves(jitted(*copied(args)))
        assert len(found) == len(expected)
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)
            if isinstance(a, (np.ndarray, np.generic)):
                assert np.asarray(b).dtype == a.dtype
