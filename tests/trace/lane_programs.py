"""Functions of one lane, with arguments whose first axis is mapped over: `name -> (function, args,
in_axes)`. Each must give over lanes what a Python loop over the lanes gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import pyc
from pyc import lax, random

rng = np.random.default_rng(4)
X = rng.standard_normal((5, 3))
N = np.array([0, 3, 1, 7, 2])
KEYS = np.stack([np.array([k, 7 * k + 1], np.uint32) for k in range(4)])
TABLE = rng.standard_normal((8, 3))
TABLE.flags.writeable = False


class Program(NamedTuple):
    function: Callable[..., Any]
    args: tuple[Any, ...]
    in_axes: Any = 0


PROGRAMS: dict[str, Program] = {}


def lanes(*args: Any, in_axes: Any = 0) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Marks a function as a program."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__] = Program(function, args, in_axes)
        return function

    return mark


# --- loops and branches ---------------------------------------------------------------------------


@lanes(X, N)
def scan_of_a_lane(x, n):
    return lax.scan(lambda c, a: (c * 0.5 + a, c), np.float64(0), x)


@lanes(X, N)
def scan_over_what_is_the_same_for_all(x, n):
    return lax.scan(lambda c, a: (c + a * x[0], a), np.zeros(3), TABLE, reverse=True)


@lanes(X, N)
def scan_whose_carry_becomes_of_the_lane(x, n):
    return lax.scan(lambda c, a: (c + x[1], c), np.float64(0), np.arange(4.0))


@lanes(X, N)
def loop_to_a_bound_of_the_lane(x, n):
    for i in range(n):
        x = x * 1.1 + i
    return x


@lanes(X, np.int64(4), in_axes=(0, None))
def loop_to_the_same_bound(x, n):
    return lax.fori_loop(0, n, lambda i, v: v * 1.1 + i, x)


@lanes(X[0], N, in_axes=(None, 0))
def loop_over_the_same_array_to_bounds_of_lanes(x, n):
    return lax.fori_loop(0, n, lambda i, v: v * 1.1 + i, x)


@lanes(X, N)
def loops_in_loops_with_a_branch(x, n):
    total = 0.0
    for i in range(n):
        for j in range(i):
            total += x[j % 3] * i
        if total > 2:
            total = total - 1
    return total


@lanes(np.abs(X), N)
def loop_on_data(x, n):
    steps = 0
    while x.sum() < 50:
        x = x * 1.5 + 1
        steps = steps + 1
    return x, steps


@lanes(X, N)
def loop_whose_condition_indexes(x, n):
    k = 0
    while TABLE[k, 0] < x[0] + 1 and k < 7:
        k = k + 1
    return k


@lanes(X, N)
def branch_that_indexes_where_others_must_not(x, n):
    if n < 3:
        return x[n]
    return -x[0]


@lanes(X, N)
def branch_on_what_is_the_same_for_all_in_a_branch(x, n):
    flag = TABLE[0, 0]
    y = x
    if n > 1:
        if flag > 100:
            y = TABLE[n + 3]
        else:
            y = x * flag
    return y


@lanes(np.abs(X), N)
def loop_that_ends_in_the_lanes_that_enter_it(x, n):
    if n == 1:
        while x[0] < 100:
            x = x * 2 + 1
    return x


@lanes(-np.abs(X) - 3, np.zeros(5, np.int64))
def loop_that_would_not_end_and_that_no_lane_enters(x, n):
    if n == 1:
        while x[0] < 100:
            x = x * 2
    return x


@lanes(X, N)
def loop_without_data_in_a_branch_that_no_lane_takes(x, n):
    bound = np.float64(1.0) + TABLE[0, 0] * 0
    if n > 99:
        y = lax.while_loop(lambda v: v > 0, lambda v: v + bound, bound)
    else:
        y = bound
    return y + x[0]


@lanes(X, N)
def switch_of_a_lane(x, n):
    return lax.switch(n, [lambda v: v, lambda v: -v, lambda v: v * 3], x)


@lanes(X, N)
def switch_of_one_branch(x, n):
    return lax.switch(n, [lambda v: v * 2], x)


@lanes(X, np.int64(1), in_axes=(0, None))
def switch_of_all(x, n):
    return lax.switch(n, [lambda v: v, lambda v: v[::-1] * TABLE[0]], x)


@lanes(X, N)
def branches_that_give_the_same_to_all(x, n):
    return lax.cond(n > 2, lambda: (1.0, x), lambda: (1.0, x * 2))


@lanes(X, N)
def checks_that_hold(x, n):
    assert n < 9, "too many"
    if n > 8:
        raise ValueError("too many")
    return x * n


@lanes(X, N)
def powers_and_conversions_in_a_branch(x, n):
    y = 0
    if n > 0:
        y = 2 ** (n - 1)
    return y


@lanes(X, N)
def index_out_of_range_that_is_caught(x, n):
    try:
        v = x[n]
    except IndexError:
        v = -1.0
    return v


@lanes(X, N)
def loop_that_is_left(x, n):
    for i in range(n):
        if x[i % 3] > 0.5:
            return x[i % 3]
        if i == 5:
            break
    else:
        return -2.0
    return 0.0


# --- arrays in place, indices ---------------------------------------------------------------------


@lanes(X, N)
def local_array_in_place(x, n):
    a = np.zeros(10)
    a[n] = x[0]
    a[1:4] += x
    a[n : n + 2] *= 2
    return a, a[n]


@lanes(X, N)
def rows_at_indices_of_the_lane(x, n):
    a = np.zeros((8, 3))
    a[n] = x
    a[:, n % 3] += 1.0
    a[[0, 2, n]] -= 5.0
    return a, TABLE[n], TABLE[n % 8, n % 3], x[[2, 0]]


@lanes(X, N)
def updates_at_places(x, n):
    p = np.array([0, 1, 0]) + n * 0
    return (
        x.at[p].add(x) if hasattr(x, "at") else np.array([x[0] + x[0] + x[2], x[1] + x[1], x[2]]),
        np.take_along_axis(x, np.argsort(x), 0),
    )


@lanes(X, N)
def slices_at_computed_places(x, n):
    y = lax.dynamic_slice(TABLE, (n, 1), (2, 2))
    z = lax.dynamic_update_slice(np.zeros((4, 3)), np.ones((2, 3)) * x, (n, 0))
    return y, z, lax.dynamic_update_slice(np.zeros(5), x[:2], (n,))


@lanes(X, N)
def views_and_aliases(x, n):
    a = np.zeros((3, 3))
    b = a[1]
    b[:] = x
    a.T[0] += n
    return a, b


@lanes(X, N)
def masks_and_diagonals(x, n):
    a = x.copy()
    a[a > 0] = 0
    a[::2] += n
    b = np.zeros((3, 3))
    np.fill_diagonal(b, x)
    return a, b, x[x > 0].sum(), np.flatnonzero(x > -9)[0]


# --- functions of NumPy ---------------------------------------------------------------------------


@lanes(X, N)
def orders(x, n):
    s = np.sort(x)
    return s, np.argsort(x), np.median(x), np.argmax(x), np.searchsorted(s, x), x[::-1]


@lanes(X, N)
def sums(x, n):
    return np.cumsum(x), x.mean(), x.std(), np.prod(x), (x > 0).any(), np.cumprod(x)[n % 3]


@lanes(X, N)
def shapes(x, n):
    y = np.stack([x, x * 2]).T.reshape(2, 3)
    return np.pad(y, 1), np.pad(x, 2, constant_values=x[0]), np.roll(y, 1), np.tile(x, 2)


@lanes(X, N)
def values_of_all_types(x, n):
    return x > 0, x.astype(np.float32), n.astype(np.uint8), x + 1j * n, np.gcd(n, 6)


@lanes(X, N)
def samples_of_functions(x, n):
    xs = np.array([0.0, 1.0, 2.0, 4.0])
    return np.interp(x, xs, xs**2), np.interp(0.5, np.sort(x), x), np.where(x > 0, x, n)


@lanes(X, N)
def results_that_are_the_same_for_all(x, n):
    return np.arange(3), TABLE[0], 2.5, x


@lanes(X, N)
def nothing_but_names(x, n):
    return {"x": x, "n": [n, (x, None)]}


# --- draws, other functions -----------------------------------------------------------------------


@lanes(KEYS)
def draws(key):
    first, second = random.split(key)
    return random.normal(first, (4,)), random.randint(second, (2,), 0, 10)


@lanes(KEYS)
def orders_drawn(key):
    return random.permutation(key, 5), random.uniform(key), random.fold_in(key, 3)


@pyc.jit
def jitted(x, n):
    return np.tanh(x) * n


@lanes(X, N)
def calls_a_jitted_function(x, n):
    return jitted(x, n) + 1


@lanes(X, N)
def maps_over_its_own_axes(x, n):
    rows = pyc.vmap(lambda a, b: a * b + n, in_axes=(0, None))(x, x)
    return rows, pyc.vmap(np.sum, in_axes=1)(rows)


@lanes(X, N)
def maps_in_a_scan(x, n):
    def step(c, a):
        return c + pyc.vmap(lambda b: b * a)(c), a

    return lax.scan(step, x, x)


@lanes(X, N)
def maps_in_a_loop_and_a_branch(x, n):
    for _ in range(n):
        if x[0] > 0:
            x = pyc.vmap(lambda v: v - 0.5)(x)
        else:
            x = x + 1
    return x


@lanes(X, N)
def calls_back(x, n):
    return pyc.pure_callback(_ordered, pyc.ShapeDtype((3,), np.float64), x, n)


def _ordered(v, k):
    return np.sort(v) * k


@lanes(X, N)
def calls_back_in_a_branch(x, n):
    y = x
    if n > 1:
        y = pyc.pure_callback(_positive, pyc.ShapeDtype((3,), np.float64), x, n)
    return y


def _positive(v, k):
    assert k > 1, "called for a lane that does not take the branch"
    return v * k


@lanes(X, N)
def map_in_blocks(x, n):
    return lax.map(lambda v: v * x, x, batch_size=2)
