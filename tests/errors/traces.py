"""Programs that use traced values, arrays or names where the trace cannot follow.

Keep the lines where they are: the golden files name them.
"""

from collections import ChainMap, UserList

import numpy as np

from pyc import lax
from pyc.array import to_device
from pyc.jit import jit
from tests.backends.interpreted_device import InterpretedDevice
from tests.errors.case import LINE, PLACES, SQUARE, given

TABLE = np.arange(4.0)
KEPT = UserList([np.zeros(4), to_device(np.zeros(4), InterpretedDevice())])
"""Left alone: a class of the standard library."""


@given(LINE)
def iterator_over_a_traced_range(x):
    n = x.astype(int).sum()
    return [k + 1 for k in range(n)]


@given(LINE)
def value_of_another_trace(x):
    return jit(lambda: x + 1).trace()


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
def partitioned_in_place_at_a_traced_place(x):
    a = x * 1
    a.partition(a)
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
def two_results_at_places(x, p):
    a = x * 1
    np.modf.at(a, p)
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


@given(LINE)
def array_of_a_library_copied_to(x):
    np.copyto(KEPT[0], x)
    return x


@given(LINE)
def array_of_a_library_as_an_output(x):
    np.add(x, 1, out=KEPT[0])
    return x


@given(LINE)
def iterated_up_to_a_traced_number(x):
    return max(range(x.astype(int).sum())) + x


@given(LINE)
def list_of_a_traced_number_of_items(x):
    n = x.astype(int).sum()
    return x + len(list(enumerate(range(n))))


@given(LINE)
def changed_in_place_and_assigned(x):
    pair = [x * 1, 2.0]
    for k in range(x.astype(int).sum()):
        pair[0] = pair[0] + k
        pair = [pair[0], pair[1] + 1]
    return pair[0] * pair[1]


@given(LINE)
def text_in_some_iterations(x):
    for k in range(40):
        if k > 2:
            name = "late"
        x = x + 1
    return x + len(name)


@given(LINE)
def zipped_with_a_list(x):
    for k, v in zip(range(x.astype(int).sum()), [1.0, 2.0]):
        x = x + k * v
    return x


@given(SQUARE)
def used_where_it_may_have_been_changed(m):
    a = m * 1
    line = a.T.reshape(-1)
    a[0] = 1
    return line


@given(LINE)
def array_of_a_device(x):
    return x + KEPT[1]


@given(SQUARE)
def changed_where_it_may_be_shared(m):
    line = (m.T * 1).reshape(-1)
    line[0] = 1
    return line


@given(LINE)
def object_that_cannot_be_compared(x):
    return x * LARGE.total()


@given(SQUARE)
def diagonal_changed_through_einsum(m):
    a = m * 1
    np.einsum("ii->i", a)[:] = 0
    return a


LARGE = ChainMap({k: [k] for k in range(20000)})
LARGE.total = lambda: 2.0


@given(LINE)
def list_of_one_array_that_changes(x):
    values, y = [], x.copy()
    for _ in range(5000):
        y *= 0.5
        values.append(y)
    return values[-1]


@given(LINE)
def list_of_texts(x):
    names = []
    for _ in range(5000):
        x = x * 0.5
        names.append("x")
    return x, len(names)


@given(LINE)
def raised_where_it_may_be_caught(x):
    try:
        if x[0] > 0:
            raise ValueError("positive")
    except ValueError:
        x = -x
    return x


@given(LINE)
def raised_with_two_numbers(x):
    assert x[0] > x[1], f"{x[0]} is not greater than {x[1]}"
    return x


@given(LINE)
def raised_in_each_iteration(x):
    while x.sum() > 0:
        x = x - 1
        raise ValueError("always")
    return x


@given(LINE)
def raised_with_a_traced_value(x):
    y = x if x[0] > 0 else -x
    raise ValueError("always", y)


@given(LINE)
def list_of_which_any_element_is_read(x):
    values = [x]
    for k in range(5000):
        values.append(0.5 * values[k // 2])
    return values[-1]


@given(LINE)
def list_that_changes_where_a_loop_goes_over_it(x):
    values, total = [x[0] * k for k in range(5000)], 0.0
    for value in values:
        values[7] = total
        total = total + value
    return total


@given(LINE)
def index_that_a_try_may_catch(x):
    y = x * 1
    try:
        y[x.astype(int).sum()] = 0
    except IndexError:
        y[0] = 0
    return y
