"""Sums and recurrences, time stepping, linear algebra by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
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
