"""Python values, aliases, variables without a value, early results, buffers, numbers at hand."""

# ruff: noqa: B007, F821, F841, F842

from __future__ import annotations

import itertools
import math
from itertools import product

import numpy as np

# --- Python values --------------------------------------------------------------------------------


def list_of_results(x):
    out = []
    for i in range(20):
        out.append(x * i)
    return out


def list_that_is_read(x):
    out = [x]
    for _ in range(20):
        out.append(out[-1] * 0.5)
    return out


def list_that_is_read_anywhere(x):
    out = [x]
    for i in range(20):
        out.append(out[i // 2] * 0.5)
    return out


def list_of_results_of_few(x):
    out = []
    for i in range(3):
        out.append(x * i)
    return np.stack(out)


def over_a_list(x):
    s = x
    for name, factor in [("a", 2), ("b", 3)]:
        s = s * factor if name == "a" else s + factor
    return s


def over_a_dict(x):
    s = x
    for name, value in {"a": 1.0, "b": 2.0}.items():
        s = s + value * len(name)
    return s


def table_before(x):
    table = []
    for k in range(30):
        table.append(k * k % 7)
    return x * table[5] + len(table)


def power_of_two(x):
    n = 1
    while n < len(x):
        n *= 2
    return np.zeros(n)[: len(x)] + x


def slices_of_the_counter(x):
    y = x.copy()
    for k in range(1, 20):
        y[:k] = y[:k] + 1
    return y


def shapes_of_the_counter(x):
    for k in range(1, 20):
        x = x + np.ones(k).sum()
    return x


def growing(x):
    y = x[:1]
    for k in range(18):
        y = np.concatenate([y, x[:1]])
    return y


def first_iteration_differs(x):
    previous = None
    s = 0.0
    for i in range(20):
        if previous is not None:
            s += x[i] * previous
        previous = x[i]
    return s


def type_of_the_first_iteration(x):
    y = x.astype(np.float32)
    for i in range(20):
        y = y + x * i
    return y


def loop_variable_afterwards(x):
    for i in range(20):
        x = x + i
    return x * i


def unused_loop_variable(x):
    i = 7
    for i in range(20):
        x = x + 1
    return x + i


def no_iteration(x):
    for i in range(0):
        x = x + undefined
    return x


def walrus(x):
    k = 0
    while (v := x[k]) < 0.5:
        k += 1
    return v, k


def chained(x):
    a = b = 0.0
    for v in x:
        a = b = a + v
    return a, b


def unpacking(x):
    first, *rest = x[0], x[1], x[2]
    for v in x:
        first, rest[0] = rest[0] + v, first
    return first, rest[0]


def deleted(x):
    s = 0.0
    for v in x:
        t = v * v
        s += t
        del t
    return s


def closure_over_the_loop(x):
    s = 0.0

    def add(v):
        nonlocal s
        s = s + v

    for v in x:
        add(v)
    return s


def nested_function_with_a_loop(x):
    def total(y):
        s = 0.0
        for v in y:
            s += v
        return s

    return total(x) - total(2 * x)


def comprehension(x):
    s = 0.0
    for i in range(20):
        s = s + sum([x[i] * k for k in range(3)])
    return s


def matching(x, how="double"):
    for _ in range(20):
        match how:
            case "double":
                x = x * 1.5
            case _:
                x = x + 1
    return x


def trying(x):
    for i in range(20):
        try:
            x = x * 0.9
        finally:
            x = x + 1
    return x


def docstring_and_annotations(x: object) -> object:
    """Has both."""
    total: float = 0.0
    unused: int
    for v in x:
        total += v
    return total


# --- aliases --------------------------------------------------------------------------------------


def previous_is_a_copy(x):
    u = x.copy()
    previous = u.copy()
    for _ in range(20):
        u[1:] = 0.5 * (previous[1:] + previous[:-1])
        previous = u.copy()
    return u


def previous_is_rebound(x):
    u = x
    previous = x
    for _ in range(20):
        u = 0.5 * (u + previous[::-1])
        previous = u
    return u, previous


def view_made_before(x):
    y = x.copy()
    inner = y[1:-1]
    for _ in range(20):
        inner += 0.1 * (y[2:] - y[:-2])
    return y


def alias_changed(x):
    y = x.copy()
    z = y
    for k in range(20):
        z[k] += y[k - 1]
    return y, z


def best_so_far(x):
    best = x
    for k in range(20):
        candidate = x * (k - 10)
        if candidate.sum() > best.sum():
            best = candidate
    return best


def rows_written_through_views(a):
    a = a.copy()
    for i in range(1, a.shape[0]):
        row = a[i]
        row += a[i - 1]
        row[0] = 1
    return a


def swapped_and_kept(x, y, n):
    a, b = x.copy(), y.copy()
    items = [x + y]
    for i in range(n):
        a, b = b, a
        items[0] = a
    return items[0]


# --- variables that get a value late --------------------------------------------------------------


def previous_of_the_second_on(x):
    s = 0.0
    for i in range(len(x)):
        if i > 0:
            s += previous * x[i]
        previous = x[i]
    return s


def set_in_some_iterations(x, n):
    for i in range(n):
        for j in range(n):
            if x[j] < 0.5:
                w = x[j]
                continue
        if x[0] < 3:
            x = x + w
    return x


def number_or_element(x, c):
    s = x[2] if x[0] > 0 else c
    s += 1
    return s


# --- results that are returned early --------------------------------------------------------------


def returned_before_it_changes(x, n):
    y = x.copy()
    for i in range(n):
        y[0] += 0.5
        if y[0] > 2:
            return y, i
        y *= 1.25
    return y, -1


def returned_in_a_short_loop(x, n):
    y = x.copy()
    for i in range(3):
        if y[i] > n:
            return y
        y[i] -= 1
    return y + 1


# --- two buffers ----------------------------------------------------------------------------------


def swapped_in_two_loops(x, n):
    a, b = x.copy(), np.zeros(len(x))
    for i in range(n):
        b[1:] = a[:-1]
        a, b = b, a
    for i in range(n):
        b[:-1] = 2 * a[1:]
        a, b = b, a
    a[0] = 1
    return a, b


def swapped_on_a_condition(x, n):
    a, b = x.copy(), np.zeros(len(x))
    for i in range(n):
        b[1:] = a[:-1]
        if b[2] < 3:
            a, b = b, a
    if n > 3:
        a, b = b, a
    a[0] = 1
    return a, b


def list_of_an_array_that_is_replaced(x, n):
    held = [np.zeros(len(x))]
    for i in range(n):
        held[0][2] = 1.0
        if n > 3:
            held[0] = x.copy()
    return held[0]


# --- numbers that are at hand ---------------------------------------------------------------------


def rows_in_a_list(x, n):
    rows = []
    for i in range(n):
        rows.append(x * i)
    return np.stack([x, *rows])


def coefficients(x, order):
    if order == 2:
        c = np.array([1.0, 2.0])
    elif order == 3:
        c = np.array([1.0, 2.0, 3.0])
    else:
        raise ValueError("order")
    return x[: len(c)] * c


def shorter_each_time(x, n):
    y = x.copy()
    for i in range(n):
        y[:i] += 1
    return y


def list_by_while(x, n):
    rows, k = [x], 0
    while k < n:
        rows.append(rows[-1] * 0.5)
        k += 1
    return rows[-1]


def nothing_for_none(x, n):
    return None if n == 0 else x


def scaled_for_many(x, n):
    if n > 2 and x[0] > -9:
        x = x * 2
    return x


def endless_loop_with_return(x):
    """Only the `return` leaves: nothing is returned after the loop."""
    total = 0.0
    k = 0
    while True:
        total += np.abs(x[k])
        if total > 3:
            return total * 2
        k += 1


def factorials_of_the_counter(x):
    """`math.factorial` takes a Python integer: the loop runs in Python."""
    y = np.zeros_like(x)
    for n in range(20):
        y += (-1) ** n * x**n / math.factorial(n)
    return y


def history_up_to_an_argument(x, n):
    """A list that grows until an integer argument says so."""
    history = [x]
    while len(history) <= n:
        history.append(history[-1] / 2)
    return np.array(history)


def means_of_groups(x):
    """What a mask selects, in a branch of a loop."""
    means = np.zeros(4)
    for k in range(4):
        members = x[np.floor(x) == k - 2]
        if len(members) > 0:
            means[k] = members.mean()
    return means


def selection_changed_in_a_loop(x):
    """What a mask selects is changed in place in a loop, and stored after it."""
    y = x.copy()
    part = y[y > 0]
    for _ in range(20):
        part *= 1.1
        if part.sum() > 50:
            part[part > 2] = 1
    y[y > 0] = part
    return y


def places_in_a_range(x):
    """A range as an index."""
    y = np.zeros((len(x), 3))
    y[range(len(x)), 1] = x
    return y


def every_so_many(x, step):
    s = 0.0
    for i in range(0, len(x), step):
        s += x[i]
    return s


def numbers_of_a_list(x, n):
    s = 0.0
    for i, v in zip(range(n), [x[0], x[1], x[2]]):
        s += i * v
    return s


def outer_by_product(x):
    a, s = np.zeros((20, 30)), 0.0
    for i, j in itertools.product(range(20), range(30)):
        a[i, j] = x[i] * x[j]
        s += a[i, j - 1]
    return a, s, i, j


def outer_by_indices(x, n):
    a = np.zeros((20, 30))
    for k, index in enumerate(np.ndindex(n, 30)):
        a[index] = x[index[0]] * k
    return a


def triples(x):
    s = 0.0
    for a, b, c in product(x[:9], x[3:9], range(5)):
        if a < b:
            s += a * b * c
    return s


def no_indices(x):
    for index in np.ndindex(()):
        x = x + len(index)
    for i, j in np.ndindex(x.shape[0], 0):
        x = x + i + j
    return x


def recursion_that_an_integer_ends(x, n):
    """Two calls of itself in a branch on an integer argument: decided by its value."""

    def fibonacci(k):
        if k < 2:
            return k
        return fibonacci(k - 1) + fibonacci(k - 2)

    return x * fibonacci(n)
