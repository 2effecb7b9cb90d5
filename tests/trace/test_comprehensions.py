"""Comprehensions over long sequences: loops whose results are stacked, with Python's list as the
result; straight code where that cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc import tree
from pyc.reasons import Reason, collecting

X = np.linspace(0.1, 2.0, 60)


def elements(x):
    return np.array([np.sin(v) * 2 for v in x]), [v * 2 for v in x][7], len([-v for v in x])


def over_ranges(x):
    forwards = [x[i + 1] - x[i] for i in range(len(x) - 1)]
    return np.array(forwards), np.array([x[i] for i in range(50, -1, -2)]), forwards[3:5]


def over_several(x):
    weighted = [i * v for i, v in enumerate(x)]
    return np.array(weighted), np.array([a - b for a, b in zip(x, reversed(x))])


def over_rows(x):
    matrix = np.outer(x, x)
    return np.array([row.sum() for row in matrix]), np.stack([row * 2 for row in matrix])


def nested(x):
    table = [[a * b for b in x] for a in x]
    return np.array(table), table[3][4], np.array(table[5])


def of_other_lists(x):
    first = [2 * v for v in x]
    second = [a + b for a, b in zip(first, x)]
    return np.array([0.5 * v for v in second]), [first[0], *second][-1]


def functions_that_are_called_later(x):
    """They see the last value of the variable, by whatever way they reach it."""
    late = [lambda v: v + k for k in range(40)]  # noqa: B023
    own = [lambda v, k=k: v + k for k in range(40)]
    lazy = [(v * k for v in x[:3]) for k in range(40)]
    numbered = [enumerate(x[0] * k for _ in range(2)) for k in range(40)]
    return (
        np.array([f(x[0]) for f in late]),
        np.array([f(x[0]) for f in own]),
        np.array([v for values in lazy for v in values]),
        np.array([v for values in numbered for _, v in values]),
    )


def folded(x):
    doubled = [2 * v for v in x]
    return (
        sum(doubled),
        sum((v for v in x), 10.0),
        sum(i * v for i, v in enumerate(x)),
        max(abs(v - 1) for v in x),
        min(doubled),
        any(v > 1.99 for v in x),
        all(v > 0.2 for v in x),
        max(range(len(x)), key=lambda i: np.sin(3 * x[i])),
        min(doubled, key=lambda v: abs(v - 1)),
        sorted(-v for v in x)[0],
        len(set(x.shape)),
        len(tuple(v for v in x)),
    )


def looped_over(x):
    total = 0.0
    values = [np.cos(v) for v in x]
    for v in values:
        total = 0.5 * total + v
    for k, (a, b) in enumerate(zip(values, values[::-1])):
        total = total + k * a * b
    return total


def tuples(x):
    pairs = [(v, {"twice": 2 * v, "row": np.array([v, 1.0])}) for v in x]
    first, second = zip(*[(v, -v) for v in x])
    return pairs[4], np.array([p["row"] for _, p in pairs]), np.array(first), np.array(second)


def numbers(x):
    return (
        np.array([float(v) for v in x]),
        np.array([int(10 * v) for v in x]),
        [float(v) for v in x][3] * np.float32(2),
        np.array([-v for v in x], dtype=np.float32),
    )


def arrays_of_their_own(x):
    rows = [x * i for i in range(30)]
    rows[3][0] = 5.0
    copied = np.array(rows)
    copied[4] = 0.0
    return np.array(rows), copied, rows[3], rows


def names(x):
    i = 7
    values = [i * x[i] for i in range(20)]
    return np.array(values), i


def changes(x):
    made, calls = np.zeros(60), [0]

    def change(i):
        made[i] = x[i]
        calls[0] += 1
        return calls[0] * x[i]

    return np.array([change(i) for i in range(60)]), made, calls[0]


def unpacked(x):
    first, *rest, last = [2 * v for v in x]
    values = [2 * v for v in x]
    return first, last, rest[3], np.array(values[::-1]), np.array(values[::2]), np.diff(values)


def joined(x):
    values = [2 * v for v in x]
    return np.array([1.0, *values]), np.array([*values, x[3]]), np.concatenate([values, values])


ROLLED = (
    *(elements, over_ranges, over_several, over_rows, nested, of_other_lists, folded, looped_over),
    *(tuples, numbers, arrays_of_their_own, names, changes, unpacked, joined),
)


def views(x):
    matrix = np.outer(x, x)
    rows = [row[:] for row in matrix]
    rows[3][:] = 7.0
    return matrix, np.array(rows)


def one_array(x):
    y = x * 2
    rows = [y for _ in x]
    rows[0][1] = 3.0
    return np.array(rows)


def another_list_grows(x):
    out = []
    [out.append(v) for v in x]
    return np.array(out)


def keys(x):
    names = {i: 0.1 * i for i in range(60)}
    return np.array([names[i] * v for i, v in enumerate(x)])


STRAIGHT = (views, another_list_grows, keys)


def test_functions_made_in_a_comprehension_see_the_last_value() -> None:
    assert_same(functions_that_are_called_later, pyc.jit(functions_that_are_called_later))


def assert_same(function: Any, jitted: Any) -> None:
    expected, found = function(X.copy()), jitted(X.copy())
    assert tree.structure(found) == tree.structure(expected)
    for a, b in zip(tree.leaves(expected), tree.leaves(found), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12)
        assert np.asarray(a).dtype == np.asarray(b).dtype


@pytest.mark.parametrize("function", ROLLED, ids=lambda f: f.__name__)
def test_a_long_comprehension_is_a_loop(function: Any) -> None:
    jitted = pyc.jit(function)
    with collecting() as notes:
        assert_same(function, jitted)
    assert not any(n.reason in (Reason.LOOP_UNROLLED, Reason.LOOP_IN_PYTHON) for n in notes)
    lowered = jitted.lower(X)
    assert {"scan", "while"} & {e.op.name for e in lowered.graph.eqns}
    assert len(lowered.graph.eqns) < 250


@pytest.mark.parametrize("function", STRAIGHT, ids=lambda f: f.__name__)
def test_what_cannot_be_a_loop_is_straight_code(function: Any) -> None:
    with collecting() as notes:
        assert_same(function, pyc.jit(function))
    assert any(n.reason is Reason.LOOP_UNROLLED for n in notes)


def test_one_array_stays_one() -> None:
    assert_same(one_array, pyc.jit(one_array))


def test_it_fails_where_python_does() -> None:
    """Elements are made in order: the first one that fails counts, and a name is the user's."""

    def f(x):
        return sum([x[i] for i in range(70)])

    with pytest.raises(IndexError):
        pyc.jit(f)(X)

    def g(x, n):
        values = [x[n - i] for i in range(30)]
        return np.array(values)

    np.testing.assert_array_equal(pyc.jit(g)(X, np.int64(40)), g(X, 40))
    with pytest.raises(IndexError):
        pyc.jit(g)(X, np.int64(60))


def test_a_generator_for_another_function_stays_one() -> None:
    def f(x):
        seen = []

        def see(v):
            seen.append(0)
            return v

        found = next(see(v) for v in x)
        return found, len(seen)

    found, seen = pyc.jit(f)(X)
    assert found == X[0] and seen == 1
