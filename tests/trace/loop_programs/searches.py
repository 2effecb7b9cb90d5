"""Searching, integers, branches."""

# ruff: noqa: B007

from __future__ import annotations

import numpy as np

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
