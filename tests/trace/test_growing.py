"""Lists that grow in loops: rows that one loop stacks, where each iteration appends what it makes;
else Python's own list, iteration by iteration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc import tree
from pyc.errors import LoopStateError, TraceError
from pyc.reasons import Reason, collecting

X = np.array([1.0, 2.0, 3.0])


def a_history(x):
    history = []
    for _ in range(100):
        x = np.cumsum(x) / x.sum()
        history.append(x)
    return np.array(history), x


def with_a_start(x):
    history = [x]
    for _ in range(50):
        x = 0.5 * x + 1
        history.append(x)
    return np.stack(history), history[-1], len(history), history[3]


def several_lists(x):
    times, energies, states = [], [], []
    t = 0.0
    for _ in range(200):
        x = x + 0.01 * np.roll(x, 1)
        t += 0.01
        times.append(t)
        energies.append((x**2).sum())
        states.append(x.copy())
    return np.array(times), np.array(energies), np.stack(states), times[7], energies[-1]


def copies_of_what_changes(x):
    u = x.copy()
    history = []
    for k in range(40):
        u[k % 3] *= 0.5
        history.append(u.copy())
    return np.array(history)


def trees(x):
    rows = []
    for k in range(30):
        x = np.cos(x)
        rows.append((k * 0.1, x[0], {"x": x.copy()}))
    return rows[3], rows[-1], np.array([row[1] for row in rows])


def in_an_outer_loop(x):
    total = 0.0
    for _ in range(3):
        inner = []
        for _ in range(30):
            x = np.sin(x) + 1
            inner.append(x.sum())
        total = total + np.array(inner).max()
    return total


def with_a_check(x):
    history = []
    for k in range(40):
        if x[0] > 1e9:
            raise OverflowError(k)
        x = 1.1 * x
        history.append(x[0])
    return np.array(history)


def rows_of_a_matrix(x):
    found = []
    for row in np.outer(np.arange(60.0), x):
        found.append(row.sum())
    return np.array(found)


def the_last_is_read(x):
    values = [x[0]]
    for _ in range(30):
        values.append(0.5 * values[-1])
    return np.array(values), values[-1], values[3], len(values), values


def the_last_arrays_are_read(x):
    states = [x, 0.5 * x]
    for _ in range(50):
        states.append(np.roll(states[-1], 1) - 0.1 * states[-2])
    states[7][1] = 100.0
    copied = np.array(states)
    copied[0] = 5.0
    return np.stack(states), copied, states[-3:], states[7]


def by_the_counter(x):
    numbers = [x[0], x[1]]
    for i in range(2, 100):
        numbers.append(0.5 * numbers[i - 1] + 0.25 * numbers[i - 2])
    return np.array(numbers), sum(numbers), max(numbers), min(numbers[4:])


def two_each_time(x):
    values = [1.0]
    for i in range(60):
        values.append(i * x[1])
        values.append(values[-1] + 0.5 * values[2 * i])
    return np.array(values)


def of_each_other(x):
    place, speed = [x[0]], [x[1]]
    for i in range(100):
        place.append(place[i] + 0.1 * speed[-1])
        speed.append(speed[i] - 0.1 * place[-1])
    return np.array([place, speed])


def moving_means(x):
    values = [*x, 1.0]
    for i in range(4, 80):
        values.append(sum(values[-3:]) / 3 + np.mean(values[i - 4 : i - 1]))
    return np.array(values)


def its_length(x):
    values = [x[0]]
    for _ in range(60):
        if len(values) > 2:
            y = 0.5 * values[len(values) - 1]
        else:
            y = x[2] / len(values)
        values.append(y)
    return np.array(values)


def in_an_inner_loop(x):
    values = [x[0]]
    for _ in range(40):
        y = values[-1]
        for _ in range(50):
            y = y - 0.01 * values[-1]
        values.append(y)
    return np.array(values)


def lists_of_lists(x):
    table = []
    for i in range(40):
        line = []
        for j in range(30):
            line.append(x[0] * i + j)
        table.append(line)
    table[3][2] = 7.0
    return np.array(table), table[-1][4], np.array(table[2:5])


def from_nothing(x):
    values = []
    for i in range(60):
        values.append(x[i % 3] if i == 0 else 0.9 * values[-1] + i)
    return np.array(values)


def read_anywhere(x):
    values = [x[0], x[1]]
    for i in range(60):
        values.append(0.5 * values[i // 2] + values[-1 - i % 2] - 0.1 * values[1])
    return np.array(values), sum(values), values[-1]


def longest_rising(x):
    y = np.sin(7.0 * np.arange(40) * x[0])
    lengths = [1]
    for i in range(1, 40):
        best = 1
        for j in range(i):
            if y[j] < y[i]:
                best = max(best, lengths[j] + 1)
        lengths.append(best)
    return max(lengths), np.array(lengths), lengths[7]


def far_back(x):
    values = [2 * v for v in x] * 10
    for i in range(30, 90):
        values.append(values[i - 27] + 0.5 * values[-29])
    return np.array(values)


def read_by_numbers_of_another(x):
    order, values = [0], [x[0]]
    for i in range(1, 50):
        order.append((order[-1] * 7 + 3) % i)
        values.append(values[order[i]] * 0.5 + i)
    return np.array(order), np.array(values)


def kinds_widen(x):
    values = [1]
    for i in range(40):
        values.append(values[i // 3] * 0.5 + x[1])
    return np.array(values), values[0]


STACKED = (
    *(a_history, with_a_start, several_lists, copies_of_what_changes, trees, in_an_outer_loop),
    *(with_a_check, rows_of_a_matrix, the_last_is_read, the_last_arrays_are_read, by_the_counter),
    *(two_each_time, of_each_other, moving_means, its_length, in_an_inner_loop, lists_of_lists),
    *(from_nothing, read_anywhere, longest_rising, far_back, read_by_numbers_of_another),
    kinds_widen,
)


def what_changes_itself(x):
    u = x.copy()
    history = []
    for _ in range(30):
        u *= 0.9
        history.append(u)
    return np.array(history)


def the_same_array(x):
    history = []
    total = 0.0
    for _ in range(30):
        total = total + x[0]
        history.append(x)
    return np.array(history), total


def one_array_twice(x):
    first, second = [], []
    for _ in range(30):
        x = x + 1
        first.append(x)
        second.append(x)
    return np.array(first), second[3]


def arrays_are_read_anywhere(x):
    values = [x]
    for i in range(30):
        values.append(0.5 * values[i // 2])
    return np.array(values)


def an_index_that_is_too_large_for_some(x):
    values = [x[0]]
    for i in range(30):
        try:
            values.append(values[2 * i - 20] + 1.0)
        except IndexError:
            values.append(2.0)
    return np.array(values)


def what_was_read_changes(x):
    values = [x.copy()]
    for _ in range(30):
        values[-1][0] = 5.0
        values.append(0.5 * values[-1])
    return np.stack(values)


def one_list(x):
    """Each element is the same list."""
    state, values = [0.0], []
    for i in range(30):
        state[0] = state[0] + x[i % 3]
        values.append(state)
    return np.array([v[0] for v in values])


def one_list_that_goes_on(x):
    values, before = [], [0.0]
    for i in range(30):
        line = [x[i % 3]]
        values.append(line)
        before[0] = 5.0 + i
        before = line
    return np.array(values)


def on_both_sides(x):
    values = [x[0]]
    for i in range(30):
        if i < 15:
            values.append(x[1])
        else:
            values.append(0.5 * values[-1])
    return np.array(values)


def an_index_too_far(x):
    values = [x[0]]
    for _ in range(30):
        try:
            values.append(values[-3] + 1.0)
        except IndexError:
            values.append(2.0)
    return np.array(values)


def the_list_is_read_by_another_name(x):
    values = [x[0]]
    others = values
    for _ in range(30):
        values.append(0.5 * others[-1])
    return np.array(values)


def the_list_is_read_by_a_function(x):
    values = [x[0]]

    def last():
        return values[-1]

    for _ in range(30):
        values.append(0.5 * last())
    return np.array(values)


def now_and_then(x):
    values = []
    for k in range(200):
        x = 0.9 * x
        if k % 10 == 0:
            values.append(x[0])
    return np.array(values)


def texts(x):
    values = []
    for k in range(30):
        x = 0.9 * x
        values.append("ab"[k % 2])
    return x, values.index("b")


UNROLLED = (
    *(what_changes_itself, the_same_array, one_array_twice, arrays_are_read_anywhere, one_list),
    *(one_list_that_goes_on, what_was_read_changes, on_both_sides, an_index_too_far),
    an_index_that_is_too_large_for_some,
    *(the_list_is_read_by_another_name, the_list_is_read_by_a_function, now_and_then, texts),
)


def assert_same(function: Any, jitted: Any) -> None:
    expected, found = function(X.copy()), jitted(X.copy())
    assert tree.structure(found) == tree.structure(expected)
    for a, b in zip(tree.leaves(expected), tree.leaves(found), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12)
        assert np.asarray(a).dtype == np.asarray(b).dtype


@pytest.mark.parametrize("function", STACKED, ids=lambda f: f.__name__)
def test_what_each_iteration_appends_is_stacked(function: Any) -> None:
    jitted = pyc.jit(function)
    with collecting() as notes:
        assert_same(function, jitted)
        assert not any(n.reason is Reason.LOOP_UNROLLED for n in notes)
    pyc.verify(jitted, X)
    assert len(jitted.lower(X).graph.eqns) < 80


@pytest.mark.parametrize("function", UNROLLED, ids=lambda f: f.__name__)
def test_other_lists_grow_as_in_python(function: Any) -> None:
    assert_same(function, pyc.jit(function))


def test_the_stack_is_the_array() -> None:
    """No row is taken out and put together again."""
    graph = pyc.jit(a_history).lower(X).graph
    assert not {"slice", "concatenate"} & {e.op.name for e in graph.eqns}


def test_a_long_loop_says_what_to_append() -> None:
    @pyc.jit
    def f(x):
        values, y = [], x.copy()
        for _ in range(5000):
            y *= 0.5
            values.append(y)
        return values[-1]

    with pytest.raises(LoopStateError) as error:
        f(X)
    assert "Append a copy of it: `values.append(x.copy())`" in str(error.value)


def test_the_last_row_is_not_changed_unseen() -> None:
    """In NumPy it would show in the list: an error asks for a copy."""

    @pyc.jit
    def f(x):
        values = []
        for _ in range(30):
            x = 0.5 * x
            values.append(x)
        x[0] = 7.0
        return values[-1]

    with pytest.raises(TraceError, match="may share memory"):
        f(X)


def test_an_element_that_is_not_there_raises() -> None:
    @pyc.jit
    def f(x, n):
        values = [x[0]]
        for i in range(60):
            values.append(0.5 * values[i // n])
        return np.array(values)

    np.testing.assert_allclose(f(X, np.int64(2))[:3], [1.0, 0.5, 0.5])
    np.testing.assert_allclose(f(X, np.int64(-1))[:3], [1.0, 0.5, 0.25])

    @pyc.jit
    def g(x, n):
        values = [x[0]]
        for i in range(60):
            values.append(0.5 * values[i * n])
        return np.array(values)

    with pytest.raises(IndexError, match="list index out of range"):
        g(X, np.int64(2))
