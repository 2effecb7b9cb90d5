"""Loops and branches as NumPy users write them; `test_rolled.py` compares each with NumPy."""

# ruff: noqa: B007, F821, F841, F842

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np

# --- sums and recurrences -------------------------------------------------------------------------


def sum_of_elements(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


def sum_from_an_integer(x):
    s = 0
    for i in range(len(x)):
        s = s + x[i]
    return s


def dot_product(x, y):
    s = 0.0
    for a, b in zip(x, y):
        s += a * b
    return s


def weighted_sum(x):
    s = 0.0
    for i, v in enumerate(x):
        s += i * v
    return s


def weighted_sum_from_one(x):
    s = 0.0
    for i, v in enumerate(x, start=1):
        s += i * v
    return s


def sum_backwards(x):
    s = 0.0
    for i in range(len(x) - 1, -1, -1):
        s = 0.5 * s + x[i]
    return s


def sum_of_reversed(x):
    s = 0.0
    for v in reversed(x):
        s = 0.5 * s + v
    return s


def reversed_range(x):
    s = 0.0
    for i in reversed(range(len(x))):
        s = 0.5 * s + x[i]
    return s


def every_third(x):
    s = 0.0
    for i in range(2, len(x), 3):
        s += x[i]
    return s, i


def cumulative_sum(x):
    y = x.copy()
    for i in range(1, len(x)):
        y[i] = y[i - 1] + x[i]
    return y


def cumulative_in_place(x):
    y = x.copy()
    for i in range(1, len(x)):
        y[i] += y[i - 1]
    return y


def second_order_filter(x):
    y = np.zeros_like(x)
    for i in range(2, len(x)):
        y[i] = 0.5 * y[i - 1] - 0.2 * y[i - 2] + x[i]
    return y


def exponential_average(x, a):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = a * x[i] + (1 - a) * y[i - 1]
    return y


def horner(c, x):
    r = 0.0
    for ck in c:
        r = r * x + ck
    return r


def horner_of_an_array(c, x):
    r = np.zeros_like(x)
    for k in range(len(c)):
        r = r * x + c[k]
    return r


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def factorial_of_floats(n):
    f = 1.0
    for k in range(1, n + 1):
        f = f * k
    return f


def pi_by_series(n):
    s = 0.0
    sign = 1.0
    for k in range(n):
        s += sign / (2 * k + 1)
        sign = -sign
    return 4 * s


def harmonic_down(n):
    s = 0.0
    k = n
    while k > 0:
        s += 1 / k
        k -= 1
    return s


def running_maximum(x):
    best = x[0]
    for i in range(1, len(x)):
        if x[i] > best:
            best = x[i]
    return best


def argument_of_maximum(x):
    best, where = x[0], 0
    for i in range(1, len(x)):
        if x[i] > best:
            best, where = x[i], i
    return best, where


def mean_and_variance(x):
    n, mean, m2 = 0, 0.0, 0.0
    for v in x:
        n += 1
        delta = v - mean
        mean += delta / n
        m2 += delta * (v - mean)
    return mean, m2 / (n - 1)


# --- time stepping --------------------------------------------------------------------------------


def heat(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def heat_augmented(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def heat_of_a_thousand_steps(u):
    u = u.copy()
    for _ in range(1000):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def two_buffers(u, steps):
    u = u.copy()
    v = u.copy()
    for _ in range(steps):
        v[1:-1] = 0.5 * (u[2:] + u[:-2])
        u, v = v, u
    return u


def euler(x, v, dt):
    for _ in range(100):
        a = -x
        x = x + dt * v
        v = v + dt * a
    return x, v


def runge_kutta(y, dt):
    def f(y):
        return -y * y

    for _ in range(50):
        k1 = f(y)
        k2 = f(y + 0.5 * dt * k1)
        k3 = f(y + 0.5 * dt * k2)
        k4 = f(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def time_by_addition(y, dt):
    t = 0.0
    while t < 1.0:
        y = y + dt * t * y
        t += dt
    return y, t


def history(x):
    out = np.zeros((30, x.shape[0])) + 0 * x
    for t in range(30):
        out[t] = x
        x = 0.9 * x
    return out


def leapfrog(x, v):
    x, v = x.copy(), v.copy()
    for _ in range(40):
        v += 0.05 * -x
        x += 0.05 * v
    return x, v


def game_of_life(board):
    for _ in range(20):
        n = np.zeros_like(board)
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if dx or dy:
                    n = n + np.roll(np.roll(board, dx, 0), dy, 1)
        board = ((n == 3) | ((board == 1) & (n == 2))).astype(np.int64)
    return board


def state_in_a_tuple(x):
    state = (x, 0.0, 0)
    for _ in range(20):
        y, t, n = state
        state = (0.5 * y, t + 0.1, n + 1)
    return state


def state_in_a_dict(x):
    state = {"y": x, "t": 0.0}
    for _ in range(20):
        state["y"] = 0.5 * state["y"]
        state["t"] += 0.1
    return state["y"], state["t"]


def state_in_a_list(x):
    state = [x, 0.0]
    for _ in range(20):
        state[0] = 0.5 * state[0]
        state[1] += 0.1
    return state[0], state[1]


class Particle:
    def __init__(self, x):
        self.x = x
        self.v = 1.0
        self.steps = 0


def state_in_an_object(x):
    p = Particle(x)
    for _ in range(20):
        p.v = p.v - 0.1 * p.x
        p.x = p.x + 0.1 * p.v
        p.steps += 1
    return p.x, p.v, p.steps


class Pair(NamedTuple):
    x: object
    v: object


def state_in_a_named_tuple(x, v):
    p = Pair(x, v)
    for _ in range(20):
        p = Pair(p.x + 0.1 * p.v, p.v - 0.1 * p.x)
    return p.x, p.v


@dataclass
class Model:
    w: object
    log: list = field(default_factory=list)


def array_in_a_dataclass(x):
    m = Model(x.copy())
    for k in range(20):
        m.w[0] += k
        m.w *= 0.9
    return m.w


# --- linear algebra by hand -----------------------------------------------------------------------


def matrix_product(a, b):
    c = np.zeros_like(a)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return c


def gauss_seidel(b, n):
    x = np.zeros_like(b)
    for _ in range(n):
        for i in range(1, len(b) - 1):
            x[i] = 0.5 * (x[i - 1] + x[i + 1] + b[i])
    return x


def gauss_seidel_of_a_plane(f):
    u = np.zeros_like(f)
    for _ in range(20):
        for i in range(1, f.shape[0] - 1):
            for j in range(1, f.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
    return u


def jacobi_until_it_converges(b):
    x = np.zeros_like(b)
    error = 1.0
    k = 0
    while error > 1e-6 and k < 500:
        new = x.copy()
        new[1:-1] = 0.5 * (x[:-2] + x[2:] + b[1:-1])
        error = np.abs(new - x).max()
        x = new
        k += 1
    return x, k


def power_iteration(a):
    v = a[0]
    for _ in range(60):
        w = a @ v
        v = w / np.sqrt((w * w).sum())
    return v @ a @ v


def conjugate_gradient(a, b):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r
    rs = r @ r
    for _ in range(len(b) * 4):
        ap = a @ p
        alpha = rs / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        if np.sqrt(new) < 1e-12:
            break
        p = r + (new / rs) * p
        rs = new
    return x


def lu_by_slices(a):
    a = a.copy()
    n = a.shape[0]
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def lu_by_elements(a):
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] = a[i, j] - a[i, k] * a[k, j]
    return a


def forward_substitution(low, b):
    x = np.zeros_like(b)
    for i in range(len(b)):
        s = b[i]
        for j in range(i):
            s = s - low[i, j] * x[j]
        x[i] = s / low[i, i]
    return x


def tridiagonal(a, b, c, d):
    b, d = b.copy(), d.copy()
    n = len(d)
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    x = np.zeros_like(d)
    x[n - 1] = d[n - 1] / b[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]
    return x


def floyd_warshall(d):
    d = d.copy()
    for k in range(d.shape[0]):
        d = np.minimum(d, d[:, k][:, None] + d[k][None, :])
    return d


def floyd_warshall_by_elements(d):
    d = d.copy()
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


def rows_summed(a):
    s = np.zeros_like(a[0])
    for row in a:
        s = s + row * row
    return s


def rows_normalised(a):
    a = a.copy()
    for row in a:
        row /= row.sum()
    return a


def rows_of_two(a, b):
    a = a.copy()
    for i, (p, q) in enumerate(zip(a, b)):
        p += i * q
    return a


def bubble_sort(x):
    x = x.copy()
    for i in range(len(x)):
        for j in range(len(x) - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return x


def insertion_sort(x):
    x = x.copy()
    for i in range(1, len(x)):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    return x


# --- searching ------------------------------------------------------------------------------------


def newton(a):
    x = a
    while abs(x * x - a) > 1e-10:
        x = 0.5 * (x + a / x)
    return x


def newton_with_break(a):
    x = a
    for k in range(100):
        fx = x * x - a
        if abs(fx) < 1e-12:
            break
        x = x - fx / (2 * x)
    return x, k


def newton_forever(a):
    x = a
    n = 0
    while True:
        step = (x * x - a) / (2 * x)
        x = x - step
        n += 1
        if abs(step) < 1e-12:
            break
    return x, n


def newton_with_else(a):
    x = a
    for _ in range(30):
        if abs(x * x - a) < 1e-9:
            found = 1
            break
        x = 0.5 * (x + a / x)
    else:
        found = 0
    return x, found


def newton_with_return(a):
    x = a
    for _ in range(100):
        new = 0.5 * (x + a / x)
        if abs(new - x) < 1e-12:
            return new
        x = new
    return -1.0


def bisection(lo, hi):
    for _ in range(60):
        mid = 0.5 * (lo + hi)
        if mid * mid * mid - 2 > 0:
            hi = mid
        else:
            lo = mid
    return mid


def bisection_by_tolerance(lo, hi):
    while hi - lo > 1e-9:
        mid = 0.5 * (lo + hi)
        if (mid * mid - 2) * (lo * lo - 2) <= 0:
            hi = mid
        else:
            lo = mid
    return lo, hi


def secant(x0, x1):
    f0 = x0**3 - 2
    for _ in range(50):
        f1 = x1**3 - 2
        if f1 == f0:
            break
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
        f0 = f1
    return x1


def first_above(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            return i
    return -1


def first_above_of_rows(a, limit):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > limit:
                return i, j
    return -1, -1


def binary_search(x, v):
    lo, hi = 0, len(x)
    while lo < hi:
        mid = (lo + hi) // 2
        if x[mid] < v:
            lo = mid + 1
        else:
            hi = mid
    return lo


def scan_with_sentinel(x):
    k = 0
    while x[k] < 0.9:
        k += 1
    return k


def scan_to_the_end(x, v):
    k = 0
    while x[k] != v:
        k += 1
        if k == len(x):
            break
    return k


def golden_section(a, b):
    r = 0.618033988749895
    c, d = b - r * (b - a), a + r * (b - a)
    for _ in range(40):
        if (c - 2) ** 2 < (d - 2) ** 2:
            b = d
        else:
            a = c
        c, d = b - r * (b - a), a + r * (b - a)
    return 0.5 * (a + b)


# --- integers -------------------------------------------------------------------------------------


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def greatest_common_divisor(a, b):
    while b:
        a, b = b, a % b
    return a


def integer_power(x, n):
    r = 1
    while n > 0:
        if n & 1:
            r = r * x
        x = x * x
        n >>= 1
    return r


def sieve(flags):
    flags = flags.copy()
    n = len(flags)
    flags[0] = flags[1] = False
    for p in range(2, n):
        if flags[p]:
            k = p * p
            while k < n:
                flags[k] = False
                k += p
    return flags


def count_primes(n):
    count = 0
    for k in range(2, n):
        prime = True
        d = 2
        while d * d <= k:
            if k % d == 0:
                prime = False
                break
            d += 1
        if prime:
            count += 1
    return count


def skipping(x):
    s = 0.0
    for v in x:
        if v < 0:
            continue
        s += v
    return s


def skipping_and_stopping(x):
    s = 0.0
    n = 0
    for v in x:
        if v < 0:
            continue
        s += v
        n += 1
        if s > 3:
            break
    return s, n


def state_machine(x):
    state = 0
    changes = 0
    for v in x:
        if state == 0:
            if v > 0.5:
                state = 1
                changes += 1
        elif state == 1:
            if v < -0.5:
                state = 2
                changes += 1
        else:
            state = 0
    return state, changes


def hysteresis(x):
    on = False
    out = np.zeros_like(x)
    for i in range(len(x)):
        if on:
            if x[i] < -0.3:
                on = False
        elif x[i] > 0.3:
            on = True
        out[i] = 1.0 if on else 0.0
    return out


def histogram(x):
    counts = np.zeros_like(x[:5])
    for v in x:
        k = np.int64(abs(v)) if False else (abs(v) * 1.0).astype(np.int64)
        if k < 5:
            counts[k] += 1
    return counts


def mandelbrot(cx, cy):
    x = y = 0.0
    for n in range(100):
        if x * x + y * y > 4:
            return n
        x, y = x * x - y * y + cx, 2 * x * y + cy
    return 100


def longest_run(x):
    best = run = 0
    for i in range(1, len(x)):
        if x[i] > x[i - 1]:
            run += 1
            best = max(best, run) if False else (best if best > run else run)
        else:
            run = 0
    return best


def levenshtein(a, b):
    d = np.arange(len(b) + 1) + 0 * a[0]
    for i in range(len(a)):
        previous = d[0]
        d[0] = i + 1
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            new = np.minimum(np.minimum(d[j] + 1, d[j + 1] + 1), previous + cost)
            previous = d[j + 1]
            d[j + 1] = new
    return d[len(b)]


# --- branches -------------------------------------------------------------------------------------


def early_return(x):
    if x.sum() > 2:
        return x
    return -x


def guards(x):
    if x < 0:
        return 0.0
    if x < 1:
        return x
    if x < 2:
        return x * x
    return 4.0


def nested_branches(x):
    if x > 0:
        if x > 10:
            y = x / 2
        else:
            y = x * 2
        y = y + 1
    else:
        y = -x
    return y


def branch_changes_an_array(x):
    y = x.copy()
    if x[0] > 0:
        y[1:] = 0
    else:
        y += 1
    return y


def branch_binds_a_view(x):
    y = x.copy()
    part = y[2:] if x[0] > 0 else y[:-2]
    return part.sum()


def conditional(x):
    return x if x > 0 else -x


def between(x):
    return 1 if 0 < x < 5 else 2


def logic(x, y):
    a = x > 0 and y > 0
    b = x > 0 or y > 0
    c = not x > 0
    return a, b, c


def short_circuit(x, k):
    if k < len(x) and x[k] > 0:
        return x[k]
    return -1.0


def with_default(x, y):
    z = x or y
    return z + 1


def element_guard(x, k):
    return x[k] if k < len(x) else 0.0


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
