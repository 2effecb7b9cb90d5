"""An index that is out of range when the program runs, under a `try`: what Python does, or a
refusal; never the exception in place of the handler."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.errors import IndexOutOfRangeError, TraceError

X = np.array([3.0, 1.0, 4.0, 1.0, 5.0])


def assigned(x, i):
    try:
        v = x[i]
    except IndexError:
        v = -1.0
    return v


def returned(x, i):
    try:
        return 2 * x[i]
    except LookupError:
        return x[0]


def by_a_tuple(x, i):
    v = 0.0
    try:
        v = x[i] + x[i + 1]
    except (KeyError, IndexError):
        v = v - 2.0
    return v


def bare(x, i):
    try:
        v = np.sqrt(x[i])
    except:  # noqa: E722
        v = np.float64(7.0)
    return v


def element(x, i):
    return x[i]


def in_a_helper(x, i):
    try:
        v = element(x, i) + 1
    except IndexError:
        v = element(x, 0)
    return v


def in_a_loop(x, i):
    total = 0.0
    for k in range(10):
        try:
            total += x[i + k]
        except IndexError:
            total -= 1
    return total


def in_a_long_loop(x, i):
    total = 0.0
    for k in range(200):
        try:
            total = 0.5 * total + x[(k * i) % 7]
        except IndexError:
            total = total - 1
    return total


def a_row(x, i):
    m = np.outer(x, x)
    try:
        row = m[i]
    except IndexError:
        row = np.zeros(5)
    return row


def two_arrays(x, i):
    try:
        v = x[i] * np.outer(x, x)[i - 1, 2]
    except IndexError:
        v = 0.0
    return v


def a_handler_that_may_fail(x, i):
    total = 0.0
    for k in range(30):
        try:
            right = x[k % 5 + i]
        except IndexError:
            right = x[k % 5]
        total = 0.5 * total + right
    return total


def an_array_of_indices(x, i):
    try:
        v = x[np.array([0, 1]) + i].sum()
    except IndexError:
        v = -5.0
    return v


def in_a_branch(x, i):
    v = 0.0
    if x[0] > 2:
        try:
            v = x[i]
        except IndexError:
            v = 9.0
    return v


def that_returns_in_a_loop(x, i):
    v = 0.0
    for k in range(5):
        try:
            v = v + x[i + k]
        except IndexError:
            return v + k
    return v


HANDLED = (
    *(assigned, returned, by_a_tuple, bare, in_a_helper, in_a_loop, in_a_long_loop, a_row),
    *(
        two_arrays,
        a_handler_that_may_fail,
        an_array_of_indices,
        in_a_branch,
        that_returns_in_a_loop,
    ),
)


@pytest.mark.parametrize("function", HANDLED, ids=lambda f: f.__name__)
def test_the_handler_runs_where_it_does_in_python(function: Any) -> None:
    jitted = pyc.jit(function)
    for i in (0, 2, 4, 5, 9, -1, -5, -6, -40):
        for kind in (int, np.int32, np.int64):
            expected, found = function(X, kind(i)), jitted(X, kind(i))
            np.testing.assert_allclose(found, expected, rtol=1e-12)
            assert np.asarray(found).dtype == np.asarray(expected).dtype
    assert jitted.cache_info().misses <= 3


def another_class(x, i):
    try:
        v = x[i]
    except (ValueError, ArithmeticError):
        v = -1.0
    return v


def only_finally(x, i):
    try:
        v = x[i]
    finally:
        pass
    return v


def in_a_loop_of_known_range(x, i):
    total = 0.0
    for k in range(9):
        try:
            total = total + x[k] * i
        except IndexError:
            total = total + 100
    return total


def with_errstate(x, i):
    with np.errstate(all="ignore"):
        v = x[i]
    return v * 1


def that_returns_from_errstate(x, i):
    with np.errstate(divide="ignore", invalid="ignore"):
        return x[i]


OTHERS = (another_class, only_finally, with_errstate, that_returns_from_errstate)


@pytest.mark.parametrize("function", OTHERS, ids=lambda f: f.__name__)
def test_other_clauses_are_no_matter(function: Any) -> None:
    jitted = pyc.jit(function)
    assert jitted(X, np.int64(2)) == 4.0
    with pytest.raises(IndexOutOfRangeError):
        jitted(X, np.int64(5))


def test_an_index_that_is_known_is_pythons() -> None:
    found = pyc.jit(in_a_loop_of_known_range)(X, np.int64(2))
    assert found == in_a_loop_of_known_range(X, 2)


def with_a_name(x, i):
    try:
        v = x[i]
    except IndexError as error:
        v = len(str(error))
    return v


def several_statements(x, i):
    v = 0.0
    try:
        v = v + 1
        v = v + x[i]
    except IndexError:
        v = v - 1
    return v


def two_clauses(x, i):
    try:
        v = x[i]
    except ValueError:
        v = 1.0
    except IndexError:
        v = 2.0
    return v


def with_an_effect(x, i):
    done = []

    def note(v):
        done.append(v)
        return v

    try:
        v = note(x[0]) + np.sort(x)[i]
    except Exception:
        v = 0.0 * len(done)
    return v


def with_an_else(x, i):
    try:
        v = x[i]
    except IndexError:
        v = 0.0
    else:
        v = v + 1
    return v


def suppressed(x, i):
    v = 0.0
    with contextlib.suppress(IndexError):
        v = x[i]
    return v


def suppressed_beside_errstate(x, i):
    v = 0.0
    with np.errstate(all="ignore"), contextlib.suppress(IndexError):
        v = x[i]
    return v


def into_an_array(x, i):
    y = x.copy()
    try:
        y[i] = 0.0
    except IndexError:
        y[0] = 1.0
    return y


REFUSED = (
    *(with_a_name, several_statements, two_clauses, into_an_array, with_an_else, suppressed),
    suppressed_beside_errstate,
)


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_is_no_single_value_is_refused(function: Any) -> None:
    with pytest.raises(TraceError, match="whether IndexError is raised here depends"):
        pyc.jit(function)(X, np.int64(2))


def test_a_clause_that_takes_everything_does_not_hide_the_refusal() -> None:
    def f(x, i):
        try:
            v = 0.0
            v = v + x[i]
        except Exception:
            v = 5.0
        return v

    with pytest.raises(TraceError, match="whether IndexError"):
        pyc.jit(f)(X, np.int64(2))


def test_what_a_statement_does_beside_is_undone() -> None:
    for i in (0, 7):
        found = pyc.jit(with_an_effect)(X, np.int64(i))
        np.testing.assert_allclose(found, with_an_effect(X, np.int64(i)))
