"""Programs that use traced values, arrays or names where the trace cannot follow.

Keep the lines where they are: the golden files name them.
"""

import numpy as np

from pyc import lax
from pyc.jit import jit
from tests.errors.case import LINE, PLACES, SQUARE, given

TABLE = np.arange(4.0)


@given(LINE)
def iterator_over_a_traced_range(x):
    n = x.astype(int).sum()
    return [k for k in range(n)]


@given(LINE)
def value_of_another_trace(x):
    kept = []
    jit(lambda y: kept.append(y), purity="off")(x * 2)
    return x + kept[0]


@given(LINE)
def value_of_a_loop_that_is_over(x):
    kept = []

    def body(i, c):
        kept.append(c)
        return c + kept[0]

    lax.fori_loop(0, 3, body, x)
    return lax.fori_loop(0, 3, body, x)


@given(LINE)
def array_changed_in_a_function_for_lax(x):
    a = np.zeros(4)

    def body(i, c):
        a[i] = c[i]
        return c

    return lax.fori_loop(0, 3, body, x) + a


@given(LINE)
def resized_in_place(x):
    a = x * 1
    a.resize((2, 2))
    return a


@given(LINE)
def partitioned_in_place(x):
    a = x * 1
    a.partition(2)
    return a


@given(LINE)
def captured_array_changed_by_a_function(x):
    np.copyto(TABLE, x)
    return x


@given(LINE)
def captured_array_added_to(x):
    np.add.at(TABLE, [0, 1], x[:2])
    return x


@given(LINE)
def captured_array_as_an_output(x):
    np.add(x, 1, out=TABLE)
    return x


@given(LINE, PLACES)
def powers_at_places(x, p):
    a = x * 1
    np.power.at(a, p, 2.0)
    return a


@given(LINE)
def iterator_in_a_branch(x):
    it = iter([1.0, 2.0, 3.0])
    if x[0] > 0:
        y = x * next(it)
    else:
        y = x
    return y + next(it)


@given(SQUARE)
def name_that_a_loop_shares_without_a_value(m):
    def inner():
        return later + 1

    for k in range(40):
        m = m + inner() * k
        later = m[0, 0]
    return m
