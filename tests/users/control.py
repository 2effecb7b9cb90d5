"""Programs with loops and decisions on data, as NumPy users write them."""

# ruff: noqa: UP031  (as users write)

import itertools
import math

import numpy as np

from tests.errors.case import LINE, MATRIX, given

X = LINE + 0.5


@given(X)
def newton(x):
    y = 1.0
    for _ in range(50):
        step = (y * y - x[1]) / (2 * y)
        y -= step
        if abs(step) < 1e-12:
            break
    return y


@given(2.0, 1e-10)
def while_with_two_conditions(a, tol):
    x, n = a, 0
    while abs(x * x - a) > tol and n < 100:
        x = 0.5 * (x + a / x)
        n += 1
    return x, n


@given(X)
def for_else(x):
    for i in range(len(x)):
        if x[i] > 100:
            found = i
            break
    else:
        found = -1
    return found


@given(X)
def early_returns(x):
    if x[0] > 10:
        return x * 2
    if x[1] > 1:
        return x * 3
    return x


@given(X)
def elif_chain(x):
    s = x.sum()
    if s < 0:
        k = 0
    elif s < 5:
        k = 1
    elif s < 50:
        k = 2
    else:
        k = 3
    return x * k, k


@given(X)
def conditional_expressions(x):
    a = x[0] if x[0] > x[1] else x[1]
    b = 1 if a > 2 else -1 if a > 1 else 0
    return a, b, (a or 5.0), (a and 2.0), not a


@given(X)
def chained_comparisons(x):
    return 1.0 if 0 < x[0] < x[1] <= 5 else 2.0


@given(X)
def first_iteration_differs(x):
    total = None
    for k in range(30):
        total = x * k if total is None else total + x * k
    return total


@given(X)
def value_of_the_first_iteration(x):
    for k in range(40):
        if k == 0:
            start = x[0]
        x = x + start * 0.5
    return x


@given(X)
def value_of_the_first_iterations_is_an_array(x):
    for k in range(40):
        if k < 2:
            held = x
        x = x * 0.5 + held
    return x, held


@given(X)
def value_that_is_renewed_now_and_then(x):
    for k in range(40):
        if k % 5 == 0:
            held = x.sum()
        x = x * 0.9 + held * 0.01
    return x, held


@given(X)
def value_that_data_gives(x):
    for _ in range(25):
        if x[0] < 1e9:
            held = x[1]
        x = x + held
    return x


@given(X)
def running_maximum(x):
    best, where = -math.inf, -1
    for i, v in enumerate(x):
        if v > best:
            best, where = v, i
    return best, where


@given(X)
def nested_loops_with_break_and_continue(x):
    total = 0.0
    for i in range(20):
        if i % 3 == 0:
            continue
        for j in range(20):
            if j > i:
                break
            if (i + j) % 2:
                continue
            total += x[i % 4] * j
    return total


@given(X)
def product_of_ranges(x):
    total = 0.0
    for i, j in itertools.product(range(5), range(4)):
        total += x[j] * i
    for a, b in itertools.combinations(range(4), 2):
        total += x[a] * x[b]
    return total


@given(X)
def loop_backwards(x):
    y = np.zeros_like(x)
    for i in reversed(range(len(x) - 1)):
        y[i] = y[i + 1] + x[i]
    for i in range(len(x) - 1, -1, -1):
        y[i] *= 2
    return y


@given(X)
def time_steps(x):
    u = np.zeros(50)
    u[20:30] = x[1]
    history = np.zeros((40, 50))
    for t in range(40):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        history[t] = u
    return u, history.sum(axis=1)


@given(X)
def swap_of_buffers(x):
    a, b = np.zeros(30), np.ones(30) * x[0]
    for _ in range(25):
        a[1:-1] = 0.5 * (b[:-2] + b[2:])
        a, b = b, a
    return a, b


@given(np.array([48, 36]))
def euclid(v):
    a, b = int(v[0]), int(v[1])
    while b:
        a, b = b, a % b
    return a


@given(np.arange(30)[::-1].copy())
def bubble_sort(v):
    a = v.copy()
    n = len(a)
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a


@given(np.sort(np.arange(40.0) ** 1.5), 77.0)
def binary_search(v, wanted):
    low, high = 0, len(v)
    while low < high:
        middle = (low + high) // 2
        if v[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@given(100)
def sieve(n):
    is_prime = np.ones(n + 1, dtype=bool)
    is_prime[:2] = False
    for p in range(2, int(n**0.5) + 1):
        if is_prime[p]:
            is_prime[p * p :: p] = False
    return is_prime.sum()


@given(27)
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@given(np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0] * 4))
def dynamic_programming(v):
    best = np.zeros(len(v) + 2)
    for i in range(len(v)):
        best[i + 2] = max(best[i + 1], best[i] + v[i])
    return best[-1]


@given(MATRIX)
def path_of_least_cost(m):
    rows, cols = m.shape
    cost = np.full((rows, cols), np.inf)
    cost[0, 0] = m[0, 0]
    for i in range(rows):
        for j in range(cols):
            if i > 0:
                cost[i, j] = min(cost[i, j], cost[i - 1, j] + m[i, j])
            if j > 0:
                cost[i, j] = min(cost[i, j], cost[i, j - 1] + m[i, j])
    return cost[-1, -1]


@given(X)
def state_in_a_dict(x):
    state = {"x": x, "t": 0.0, "n": 0}
    while state["t"] < 1.0:
        state["x"] = state["x"] * 0.99
        state["t"] += 0.1
        state["n"] += 1
    return state


class Particle:
    def __init__(self, x):
        self.x, self.v, self.hits = x, np.ones_like(x), 0

    def step(self, dt):
        self.x = self.x + self.v * dt
        if self.x[0] > 2:
            self.v = -self.v
            self.hits += 1


@given(X)
def state_in_an_object(x):
    p = Particle(x)
    for _ in range(60):
        p.step(0.1)
    return p.x, p.v, p.hits


@given(X)
def lists_that_keep_their_length(x):
    ring = [x, x * 2, x * 3]
    for _ in range(30):
        ring = [ring[1], ring[2], ring[0] * 0.5]
    return ring


@given(X)
def list_that_grows(x):
    values = []
    for k in range(30):
        values.append(x.sum() * k)
    return np.array(values)


@given(X)
def helper_with_a_loop(x):
    def converge(f, v, tol=1e-9):
        for n in range(200):
            new = f(v)
            if abs(new - v) < tol:
                return new, n
            v = new
        return v, -1

    return converge(lambda t: math.cos(t) * x[0], 1.0)


@given(X)
def bisection(x):
    def f(t):
        return t**3 - x[2]

    low, high = 0.0, 10.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if f(low) * f(middle) <= 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


@given(X)
def mandelbrot_of_a_point(x):
    c = complex(0.2, 0.5)
    z, n = 0j, 0
    while abs(z) <= 2 and n < 60:
        z = z * z + c
        n += 1
    return n, z, x


@given(np.linspace(-1, 1, 6))
def mandelbrot_of_an_array(v):
    c = v[:, None] + 1j * v
    z = np.zeros_like(c)
    n = np.zeros(c.shape, int)
    for _ in range(30):
        mask = np.abs(z) <= 2
        z = np.where(mask, z * z + c, z)
        n[mask] += 1
    return n


@given(X)
def counters_of_several_types(x):
    n, s, flag, c = 0, 0.0, False, 1j
    for k in range(25):
        n += k
        s += x[k % 4]
        flag = flag or s > 20
        c *= 1.1
    return n, s, flag, c


@given(X)
def try_in_a_loop(x):
    total = 0.0
    for k in range(20):
        try:
            total += x[k % 4] / (k + 1)
        finally:
            total += 1
    return total


@given(X)
def any_and_all_decide(x):
    if (x > 3).any() and not (x > 100).all():
        x = x - 1
    if np.allclose(x, x) or x[0] > 5:
        x = x * 2
    return x


@given(X)
def loop_over_a_tuple_of_functions(x):
    for f in (np.sin, np.cos, np.tanh):
        x = f(x) if x[0] > 0 else -f(x)
    return x


@given(X)
def accumulated(x):
    return (
        list(itertools.accumulate(x)),
        list(itertools.chain(x, [1.0])),
        [*itertools.repeat(x[0], 2)],
    )


@given(X)
def variables_of_comprehensions(x):
    k = 10
    y = [k * v for k in range(3) for v in (1, 2)]
    return x * k + sum(y)


@given(X)
def deleted_variable(x):
    y = x + 1
    z = y * 2
    del y
    for _ in range(20):
        t = z + 1
        z = t * 0.5
    del t
    return z


@given(X)
def loop_variable_after_the_loop(x):
    for k in range(20):
        x = x + k
    for _ in range(0):
        x = x * 0
    return x * k


@given(X)
def assertion_on_shapes(x):
    assert x.ndim == 1, "a line is needed"
    assert len(x) > 2 and x.dtype == float
    return x


@given(X)
def monte_carlo_with_a_seed(x):
    rng = np.random.default_rng(7)
    points = rng.random((100, 2))
    return 4 * np.mean((points**2).sum(axis=1) <= 1) * x


@given(X)
def power_iteration(x):
    m = np.outer(x, x) + np.eye(4)
    v = np.ones(4)
    for _ in range(100):
        w = m @ v
        v = w / np.linalg.norm(w)
    return v @ m @ v


@given(X)
def exponential_average(x):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, x.size):
        y[i] = 0.3 * x[i] + 0.7 * y[i - 1]
    return y


@given(X)
def lorenz(x):
    s = np.array([x[0], 1.0, 1.0])
    path = np.empty((200, 3))
    for k in range(200):
        a, b, c = s
        s = s + 0.01 * np.array([10 * (b - a), a * (28 - c) - b, a * b - 8 / 3 * c])
        path[k] = s
    return path[::50]


PARAMETERS = {"w1": 2.0, "w2": 5.0}


@given(X, 2, 0.5)
def texts_of_numbers(x, n, t):
    key = f"w{n}"
    name = "w" + str(n - 1)
    return (
        x * PARAMETERS[key] + PARAMETERS[name],
        len(f"{t:8.3f}|{n:>4d}"),
        str(n) == "2",
        "%d" % n == "2",
    )
