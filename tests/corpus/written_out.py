"""Methods written out as loops: integrators, root finders, tables, lists that grow."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from tests.corpus.case import Case, integers, samples, uniform


def euler_with_lists(y0, rate, step):
    """Decay by explicit Euler, times and values in lists."""
    times, values = [0.0], [y0]
    for _ in range(400):
        times.append(times[-1] + step)
        values.append(values[-1] - rate * step * values[-1])
    return np.array(times), np.array(values)


def runge_kutta_with_lists(y0, step):
    """A pendulum by RK4: angle and speed as a pair in a list of arrays."""

    def slope(state):
        return np.array([state[1], -np.sin(state[0])])

    states = [y0]
    for _ in range(200):
        y = states[-1]
        k1 = slope(y)
        k2 = slope(y + 0.5 * step * k1)
        k3 = slope(y + 0.5 * step * k2)
        k4 = slope(y + step * k3)
        states.append(y + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    return np.stack(states)


def stormer_verlet(x0, v0, step):
    """Positions of an oscillator from the last two."""
    xs = [x0, x0 + v0 * step - 0.5 * step**2 * x0]
    for i in range(2, 300):
        xs.append(2 * xs[i - 1] - xs[i - 2] - step**2 * xs[i - 1])
    energy = [0.5 * ((b - a) / step) ** 2 + 0.5 * a**2 for a, b in zip(xs, xs[1:], strict=False)]
    return np.array(xs), max(energy) - min(energy)


def crank_nicolson(u, ratio):
    """A diffusion step by the Thomas algorithm, a hundred times."""
    n = len(u)
    for _ in range(100):
        c, d = np.zeros(n), np.zeros(n)
        right = u.copy()
        right[1:-1] += 0.5 * ratio * (u[2:] - 2 * u[1:-1] + u[:-2])
        c[0] = 0.0
        d[0] = right[0]
        for i in range(1, n - 1):
            m = 1 + ratio + 0.5 * ratio * c[i - 1]
            c[i] = -0.5 * ratio / m
            d[i] = (right[i] + 0.5 * ratio * d[i - 1]) / m
        new = right.copy()
        for i in range(n - 2, 0, -1):
            new[i] = d[i] - c[i] * new[i + 1]
        u = new
    return u


def gauss_seidel_until(a, b, tolerance):
    """Sweeps until nothing changes much; how many there were."""
    x = np.zeros_like(b)
    for sweep in range(500):
        largest = 0.0
        for i in range(len(b)):
            s = 0.0
            for j in range(len(b)):
                if j != i:
                    s += a[i, j] * x[j]
            new = (b[i] - s) / a[i, i]
            largest = max(largest, abs(new - x[i]))
            x[i] = new
        if largest < tolerance:
            break
    else:
        sweep = -1
    return x, sweep


def power_iteration_trace(a):
    """Rayleigh quotients of every step, as a list."""
    v = np.ones(len(a)) / np.sqrt(len(a))
    quotients = []
    for _ in range(60):
        w = a @ v
        v = w / np.sqrt(np.sum(w * w))
        quotients.append(v @ a @ v)
    return np.array(quotients), quotients[-1] - quotients[-2]


def bisect(low, high, target):
    """The root of x^3 + x - target by halving."""
    steps = 0
    while high - low > 1e-10:
        middle = 0.5 * (low + high)
        if middle**3 + middle < target:
            low = middle
        else:
            high = middle
        steps += 1
    return 0.5 * (low + high), steps


def newton_with_damping(x, target):
    """Newton's method whose steps are halved until they help."""
    for _ in range(50):
        f = x**3 - target
        if abs(f) < 1e-12:
            break
        step = f / (3 * x**2)
        t = 1.0
        while abs((x - t * step) ** 3 - target) > abs(f):
            t *= 0.5
        x = x - t * step
    return x


def secant(x0, x1):
    """A fixed number of secant steps, with tuple assignment."""
    f0, f1 = math.cos(x0) - x0, math.cos(x1) - x1
    for _ in range(30):
        if abs(f1 - f0) < 1e-15:
            break
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
        f0, f1 = f1, math.cos(x1) - x1
    return x1


def illinois(low, high):
    """Regula falsi that halves the value of an end that stays, as Brent's method is begun."""
    f_low, f_high, side = low**3 - 2 * low - 5, high**3 - 2 * high - 5, 0
    middle = low
    for _ in range(100):
        middle = (f_low * high - f_high * low) / (f_low - f_high)
        f = middle**3 - 2 * middle - 5
        if abs(f) < 1e-12:
            break
        if f * f_high > 0:
            high, f_high = middle, f
            if side == -1:
                f_low /= 2
            side = -1
        else:
            low, f_low = middle, f
            if side == 1:
                f_high /= 2
            side = 1
    return middle


def golden_section(low, high, centre):
    """The minimum of a parabola by golden sections."""
    ratio = (math.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    fa, fb = (a - centre) ** 2, (b - centre) ** 2
    while high - low > 1e-8:
        if fa < fb:
            high, b, fb = b, a, fa
            a = high - ratio * (high - low)
            fa = (a - centre) ** 2
        else:
            low, a, fa = a, b, fb
            b = low + ratio * (high - low)
            fb = (b - centre) ** 2
    return (low + high) / 2


def edit_distance_by_lists(first, second):
    """Levenshtein's distance with two rows."""
    previous = np.arange(len(second) + 1)
    for i in range(len(first)):
        current = np.zeros_like(previous)
        current[0] = i + 1
        for j in range(len(second)):
            cost = 0 if first[i] == second[j] else 1
            current[j + 1] = min(previous[j + 1] + 1, current[j] + 1, previous[j] + cost)
        previous = current
    return previous[-1]


def knapsack_table(weights, values):
    """The best value for each capacity, and which items are taken, backwards."""
    capacity = 40
    best = np.zeros((len(weights) + 1, capacity + 1))
    for i in range(1, len(weights) + 1):
        for c in range(capacity + 1):
            best[i, c] = best[i - 1, c]
            if weights[i - 1] <= c:
                best[i, c] = max(best[i, c], best[i - 1, c - weights[i - 1]] + values[i - 1])
    taken, c = np.zeros(len(weights), dtype=bool), capacity
    for i in range(len(weights), 0, -1):
        if best[i, c] != best[i - 1, c]:
            taken[i - 1] = True
            c -= weights[i - 1]
    return best[-1, -1], taken


def longest_increasing(x):
    """The length of the longest increasing subsequence, in n squared steps."""
    lengths = [1]
    for i in range(1, len(x)):
        best = 1
        for j in range(i):
            if x[j] < x[i]:
                best = max(best, lengths[j] + 1)
        lengths.append(best)
    return max(lengths)


def sieve(limit):
    """How many primes there are below a number, and their sum."""
    prime = np.ones(1000, dtype=bool)
    prime[:2] = False
    for i in range(2, 32):
        if prime[i]:
            for j in range(i * i, 1000, i):
                prime[j] = False
    count = total = 0
    for k in range(1000):
        if k >= limit:
            break
        if prime[k]:
            count += 1
            total += k
    return count, total


def prefix_sums(x, left, right):
    """Sums of ranges from sums of the beginnings."""
    sums = [0.0]
    for v in x:
        sums.append(sums[-1] + v)
    table = np.array(sums)
    return np.array([table[r] - table[k] for k, r in zip(left, right, strict=True)])


def fft_by_halves(x):
    """Radix two, by recursion over the length."""
    n = len(x)
    if n == 1:
        return x.astype(complex)
    even, odd = fft_by_halves(x[::2]), fft_by_halves(x[1::2])
    factor = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate([even + factor, even - factor])


def horner_backwards(coefficients, x):
    """A polynomial and its derivative at one point."""
    value, slope = 0.0, 0.0
    for c in reversed(coefficients):
        slope = slope * x + value
        value = value * x + c
    return value, slope


def lagrange(xs, ys, at):
    """The interpolating polynomial, written out."""
    total = 0.0
    for i in range(len(xs)):
        term = ys[i]
        for j in range(len(xs)):
            if i == j:
                continue
            term *= (at - xs[j]) / (xs[i] - xs[j])
        total += term
    return total


def simpson_adaptive_free(a, b):
    """Simpson's rule over a hundred intervals, as one sum."""
    n = 100
    h = (b - a) / n
    inner = sum((4 if k % 2 else 2) * math.exp(-((a + k * h) ** 2)) for k in range(1, n))
    return h / 3 * (math.exp(-(a**2)) + inner + math.exp(-(b**2)))


def lcg_pi(seed):
    """Pi by points of a linear congruential generator."""
    state, inside = seed, 0
    for _ in range(2000):
        state = (1103515245 * state + 12345) % 2147483648
        x = state / 2147483648
        state = (1103515245 * state + 12345) % 2147483648
        y = state / 2147483648
        if x * x + y * y <= 1.0:
            inside += 1
    return 4 * inside / 2000


def rule_automaton(cells, number):
    """Generations of an elementary automaton on a ring."""
    history = [cells]
    for _ in range(40):
        now = history[-1]
        code = 4 * np.roll(now, 1) + 2 * now + np.roll(now, -1)
        history.append((number >> code) & 1)
    return np.array(history)


def percolates(open_sites):
    """Whether water from the top row gets to the bottom."""
    wet = np.zeros_like(open_sites)
    wet[0] = open_sites[0]
    changed = True
    while changed:
        changed = False
        for i in range(open_sites.shape[0]):
            for j in range(open_sites.shape[1]):
                if open_sites[i, j] and not wet[i, j]:
                    near = i > 0 and wet[i - 1, j]
                    near = near or (j > 0 and wet[i, j - 1])
                    near = near or (j + 1 < open_sites.shape[1] and wet[i, j + 1])
                    near = near or (i + 1 < open_sites.shape[0] and wet[i + 1, j])
                    if near:
                        wet[i, j] = True
                        changed = True
    return wet[-1].any(), wet.sum()


def dijkstra_matrix(weights):
    """Shortest distances from the first node, without a queue."""
    n = len(weights)
    distance, done = np.full(n, np.inf), np.zeros(n, dtype=bool)
    distance[0] = 0.0
    for _ in range(n):
        best, u = np.inf, -1
        for v in range(n):
            if not done[v] and distance[v] < best:
                best, u = distance[v], v
        if u < 0:
            break
        done[u] = True
        for v in range(n):
            if distance[u] + weights[u, v] < distance[v]:
                distance[v] = distance[u] + weights[u, v]
    return distance


def bellman_ford_edges(start, end, cost):
    """Relaxation over a list of edges until nothing changes."""
    distance = np.full(20, np.inf)
    distance[0] = 0.0
    for _ in range(20):
        before = distance.copy()
        for u, v, w in zip(start, end, cost, strict=True):
            if distance[u] + w < distance[v]:
                distance[v] = distance[u] + w
        if (before == distance).all():
            break
    return distance


def histogram_by_hand(x, low, high):
    """Counts of twenty bins; what is outside is left out."""
    counts = np.zeros(20, dtype=int)
    width = (high - low) / 20
    for v in x:
        k = int((v - low) // width)
        if 0 <= k < 20:
            counts[k] += 1
    return counts


def nearest_neighbours(points, query):
    """The indices of the three nearest points by repeated selection."""
    distances = np.array([np.sum((p - query) ** 2) for p in points])
    found = []
    for _ in range(3):
        k = np.argmin(distances)
        found.append(k)
        distances[k] = np.inf
    return np.array(found)


def kalman_track(measured, noise, drift):
    """A filter of one state; estimates and variances in lists."""
    estimates, variances = [0.0], [1.0]
    for z in measured:
        p = variances[-1] + drift
        gain = p / (p + noise)
        estimates.append(estimates[-1] + gain * (z - estimates[-1]))
        variances.append((1 - gain) * p)
    return np.array(estimates[1:]), np.array(variances[1:])


def hmm_forward(start, transition, emission, observed):
    """The logarithm of the likelihood, scaled at each step."""
    alpha = start * emission[:, observed[0]]
    total = 0.0
    for t in range(1, len(observed)):
        scale = alpha.sum()
        total += np.log(scale)
        alpha = (alpha / scale) @ transition * emission[:, observed[t]]
    return total + np.log(alpha.sum())


def viterbi_path(start, transition, emission, observed):
    """The most likely states, by a list of pointers."""
    score, pointers = np.log(start * emission[:, observed[0]]), []
    for o in observed[1:]:
        candidates = score[:, None] + np.log(transition)
        pointers.append(np.argmax(candidates, axis=0))
        score = np.max(candidates, axis=0) + np.log(emission[:, o])
    state = np.argmax(score)
    path = [state]
    for pointer in reversed(pointers):
        state = pointer[state]
        path.append(state)
    return np.array(path[::-1])


def forest_vote(features, thresholds, leaves, sample):
    """Complete binary trees of depth four, walked from the root."""
    votes = np.zeros(3)
    for tree in range(features.shape[0]):
        node = 0
        while node < 15:
            if sample[features[tree, node]] < thresholds[tree, node]:
                node = 2 * node + 1
            else:
                node = 2 * node + 2
        votes[leaves[tree, node - 15]] += 1
    return np.argmax(votes)


def convolution_by_loops(image, kernel):
    """A valid convolution, element by element."""
    rows, columns = image.shape[0] - 2, image.shape[1] - 2
    out = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            total = 0.0
            for a in range(3):
                for b in range(3):
                    total += image[i + a, j + b] * kernel[2 - a, 2 - b]
            out[i, j] = total
    return out


def median_of_windows(x):
    """A filter of five by sorting each window."""
    return np.array([np.sort(x[i - 2 : i + 3])[2] for i in range(2, len(x) - 2)])


def moving_window_sum(x):
    """Means of ten, by what comes in and goes out."""
    window, total, out = deque(maxlen=10), 0.0, []
    for v in x:
        if len(window) == 10:
            total -= window[0]
        window.append(v)
        total += v
        out.append(total / len(window))
    return np.array(out)


def first_repeat(x):
    """The first position whose value was there before; the length if there is none."""
    for i in range(1, len(x)):
        for j in range(i):
            if x[i] == x[j]:
                break
        else:
            continue
        return i
    return len(x)


def collatz_steps(n):
    """How long it takes to get to one, with `while`-`else`."""
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps > 500:
            break
    else:
        return steps
    return -1


def countdown_weights(x):
    """Weights by a range that counts down in twos."""
    total, weight = 0.0, 1.0
    for k in range(len(x) - 1, -1, -2):
        total += weight * x[k]
        weight *= 0.5
    return total, weight


def fibonacci_ratio(n):
    """The quotient of two neighbours after n swaps."""
    a, b = 0.0, 1.0
    for _ in range(n):
        a, b = b, a + b
    return a / b


def blocks_of_slices(x):
    """Augmented assignments to slices at a step."""
    y = x.copy()
    for k in range(0, 60, 6):
        y[k : k + 3] *= 2.0
        y[k + 3 : k + 6] -= y[k : k + 3]
    return y


def safe_neighbour(x, shift):
    """Differences to the element further on, zero where there is none."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        try:
            right = x[i + shift]
        except IndexError:
            right = x[i]
        out[i] = right - x[i]
    return out


def _chain():
    a = np.abs(samples(6, 6)) + 0.1
    return a / a.sum(axis=1, keepdims=True)


CASES = [
    Case(euler_with_lists, lambda: (2.0, 0.7, 0.01)),
    Case(runge_kutta_with_lists, lambda: (np.array([1.0, 0.0]), 0.05)),
    Case(stormer_verlet, lambda: (1.0, 0.2, 0.05)),
    Case(crank_nicolson, lambda: (uniform(30), 0.4)),
    Case(
        gauss_seidel_until,
        lambda: (samples(8, 8) + 12 * np.eye(8), samples(8, seed=1), 1e-9),
    ),
    Case(power_iteration_trace, lambda: (samples(7, 7) @ samples(7, 7).T,)),
    Case(bisect, lambda: (0.0, 4.0, 7.0)),
    Case(newton_with_damping, lambda: (0.3, 5.0)),
    Case(secant, lambda: (0.0, 1.0)),
    Case(illinois, lambda: (2.0, 3.0)),
    Case(golden_section, lambda: (-1.0, 3.0, 0.7)),
    Case(edit_distance_by_lists, lambda: (integers(20, high=4), integers(24, high=4, seed=1))),
    Case(knapsack_table, lambda: (integers(12, low=1, high=12), uniform(12))),
    Case(longest_increasing, lambda: (samples(40),)),
    Case(sieve, lambda: (700,)),
    Case(
        prefix_sums,
        lambda: (samples(50), integers(20, high=20), integers(20, low=20, high=50, seed=1)),
    ),
    Case(fft_by_halves, lambda: (samples(32),)),
    Case(horner_backwards, lambda: (samples(30), 0.7)),
    Case(lagrange, lambda: (np.linspace(-1, 1, 9), samples(9), 0.3)),
    Case(simpson_adaptive_free, lambda: (0.0, 1.5)),
    Case(lcg_pi, lambda: (42,)),
    Case(rule_automaton, lambda: (integers(64, high=2), 110)),
    Case(percolates, lambda: (uniform(12, 12) < 0.65,)),
    Case(dijkstra_matrix, lambda: (uniform(25, 25),)),
    Case(
        bellman_ford_edges,
        lambda: (integers(90, high=20), integers(90, high=20, seed=1), uniform(90)),
    ),
    Case(histogram_by_hand, lambda: (samples(300), -2.0, 2.0)),
    Case(nearest_neighbours, lambda: (samples(40, 3), samples(3, seed=1))),
    Case(kalman_track, lambda: (samples(100), 0.5, 0.01)),
    Case(
        hmm_forward,
        lambda: (np.full(6, 1 / 6), _chain(), uniform(6, 4), integers(50, high=4)),
    ),
    Case(
        viterbi_path,
        lambda: (np.full(6, 1 / 6), _chain(), uniform(6, 4), integers(50, high=4)),
    ),
    Case(
        forest_vote,
        lambda: (
            integers(20, 15, high=5),
            samples(20, 15),
            integers(20, 16, high=3),
            samples(5, seed=1),
        ),
    ),
    Case(convolution_by_loops, lambda: (samples(14, 12), samples(3, 3, seed=1))),
    Case(median_of_windows, lambda: (samples(60),)),
    Case(moving_window_sum, lambda: (samples(60),)),
    Case(first_repeat, lambda: (integers(30, high=60),)),
    Case(collatz_steps, lambda: (27,)),
    Case(countdown_weights, lambda: (samples(41),)),
    Case(fibonacci_ratio, lambda: (40,)),
    Case(blocks_of_slices, lambda: (samples(60),)),
    Case(safe_neighbour, lambda: (samples(40), np.int64(7))),
]
