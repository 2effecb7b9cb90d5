"""Loops and branches that cannot be traced, one reason each; `test_rolled.py` checks the texts.

Keep the lines where they are: the golden files name them.
"""

# ruff: noqa: B007, F821, F841, RET503, RET504

from __future__ import annotations

import numpy as np

X = np.linspace(-1.0, 1.0, 5)
SINGLE = X.astype(np.float32)


def dtype_changes(x, n):
    y = x
    for i in range(n):
        y = y + np.float64(0.5)
    return y


def shape_changes(x, n):
    y = x[:1]
    for i in range(n):
        y = np.concatenate([y, x])
    return y


def structure_changes(x, n):
    best = None
    for i in range(n):
        best = x * i
    return best


def text_changes(x, n):
    how = "a"
    for i in range(n):
        how = "b" if how == "a" else "a"
    return x if how == "a" else -x


def element_changes_its_dtype(x, n):
    state = {"y": x}
    for i in range(n):
        state["y"] = state["y"] * np.float64(2)
    return state["y"]


def list_grows(x, n):
    out = []
    for i in range(n):
        out.append(x)
    return out


def list_grows_for_long(x):
    out = []
    for i in range(5000):
        out.insert(0, x[0])
    return out


def array_of_a_traced_length(x, n):
    y = x.copy()
    for i in range(n):
        y = y + np.ones(i).sum()
    return y


def iterator_is_used(x, n):
    numbers = iter([1.0, 2.0])
    for i in range(n):
        x = x + next(numbers)
    return x


def argument_is_changed(x, n):
    for i in range(n):
        x[0] = i
    return x


def argument_comes_around(x, n):
    a, b = x.copy(), x
    for i in range(n):
        a[0] = i
        a, b = b, a
    return a


def alias_at_the_start(x, n):
    a = x.copy()
    b = a
    for i in range(n):
        a[1:] += b[:-1]
        b = a * 0.5
    return b


def alias_at_the_end(x, n):
    a, b = x.copy(), x.copy()
    for i in range(n):
        a[0] += b[0]
        b = a
        a = a[::-1]
    return a


def alias_after_the_loop(x, n):
    a = x.copy()
    b = x.copy()
    for i in range(n):
        b = a
    b[0] = 5
    return a


def alias_after_a_branch(x):
    a = x.copy()
    b = a if x[0] > 0 else x * 2
    b[0] = 5
    return a


def step_is_traced(x, n):
    for i in range(0, 10, n):
        x = x + i
    return x


def bound_is_a_float(x, n):
    for i in range(n):
        x = x + i
    return x


def raises_in_a_branch(x):
    if x[0] < 0:
        raise ValueError(f"negative: {x}")
    return x


def list_grows_in_a_branch(x):
    out = [x]
    if x[0] > 0:
        out.append(x)
    return out


def dtypes_of_branches_differ(x):
    if x[0] > 0:
        y = x
    else:
        y = x.astype(np.int64)
    return y


def shapes_of_branches_differ(x):
    y = x[1:] if x[0] > 0 else x
    return y


def texts_of_branches_differ(x):
    if x[0] > 0:
        how = "a"
    else:
        how = "b"
    return x if how == "a" else -x


def returns_differ(x):
    if x[0] > 0:
        return x, 1.0
    return x


def returns_nothing_in_one_branch(x):
    if x[0] > 0:
        return x


def ambiguous(x):
    if x > 0:
        return x
    return -x


def condition_is_an_array(x):
    while x > 0:
        x = x - 1
    return x


def unbound_when_it_runs(x, n):
    for i in range(n):
        y = x * i
    return y + 1


def unbound_after_a_branch(x):
    if x[0] > 0:
        y = x
    z = x + 1
    return y * z


def index_out_of_range(x, n):
    s = 0.0
    for i in range(n):
        s += x[i]
    return s


def index_out_of_range_after_a_break(x, n):
    s = 0.0
    for i in range(n):
        if s > 100:
            break
        s += x[i]
    return s


def previous_without_a_start(x, n):
    s = 0.0
    for i in range(n):
        if i > 0:
            s += previous
        previous = x[i]
    return s


def unbound_in_a_branch(x):
    if x[0] > 0:
        x = x + w
    w = 1.0
    return x * w


def alias_of_a_branch_in_a_loop(x, n):
    items = [x + 1]
    b = x.copy()
    for i in range(n):
        if x[i] > 0:
            b = items[0]
        b[0] = 7
    return items[0], b


def alias_of_a_branch_in_a_branch(x, n):
    a = x + 1
    b = x.copy()
    if n > 0:
        c = a if x[0] > 0 else b
        c[0] = 7.0
    return a


def alias_in_an_inner_loop(x, n):
    a = x.copy()
    b = a
    for i in range(20):
        for j in range(n):
            b[1] += 5
            b = a + 1
    return a, b


class Clears:
    """Changes an array when a block ends."""

    def __init__(self, array):
        self.array = array

    def __enter__(self):
        return self.array

    def __exit__(self, *what):
        self.array[0] = 9.0


def returned_and_changed_then(x, n):
    y = x.copy()
    with Clears(y) as z:
        if n > 2:
            return z
        z[1] = 5.0
    return z


def aliases_go_around(x, n):
    a = x.copy()
    b, c, d = a, x + 1, x + 2
    for i in range(n):
        c[0] += 1
        c, d, a, b = a, b, c, d
    return a, b, c, d


def swapped_aliases_are_changed_later(x, n):
    a = x.copy()
    b = a
    for i in range(n):
        a, b = b, a
    a[0] = 1
    return a, b


def recursion_that_data_ends(x):
    def halve(value):
        if value < 1:
            return value
        return halve(value / 2)

    return halve(x[0])
