"""Graphs, dynamic programming, recursive filters: loops whose steps need each other."""

from __future__ import annotations

import numpy as np

from tests.published.kernel import Array, Kernel, uniform


def shortest_paths(path):
    """Floyd and Warshall, one row of pairs at a time."""
    path = path.copy()
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, np.add.outer(path[:, k], path[k, :]))
    return path


def shortest_paths_by_rows(path):
    path = path.copy()
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            path[i, :] = np.minimum(path[i, :], path[i, k] + path[k, :])
    return path


def base_pairs(sequence):
    """The most pairs of an RNA sequence that do not cross (Nussinov)."""
    n = sequence.shape[0]
    table = np.zeros((n, n), np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i, j - 1], table[i + 1, j] if i + 1 < n else 0)
            if i + 1 < n:
                pair = int(sequence[i] + sequence[j] == 3) if i < j - 1 else 0
                best = max(best, table[i + 1, j - 1] + pair)
            for k in range(i + 1, j):
                best = max(best, table[i, k] + table[k + 1, j])
            table[i, j] = best
    return table


def edit_distance(a, b):
    row = np.arange(b.shape[0] + 1)
    for i in range(a.shape[0]):
        left = row.copy()
        row[0] = i + 1
        for j in range(b.shape[0]):
            cost = left[j] + (a[i] != b[j])
            row[j + 1] = min(cost, left[j + 1] + 1, row[j] + 1)
    return row[-1]


def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1)
    for i in range(weights.shape[0]):
        w = weights[i]
        best[w:] = np.maximum(best[w:], best[: capacity + 1 - w] + values[i])
    return best


def local_alignment(a, b):
    """Smith and Waterman's score table."""
    h = np.zeros((a.shape[0] + 1, b.shape[0] + 1))
    for i in range(1, h.shape[0]):
        for j in range(1, h.shape[1]):
            match = 3.0 if a[i - 1] == b[j - 1] else -3.0
            h[i, j] = max(0.0, h[i - 1, j - 1] + match, h[i - 1, j] - 2, h[i, j - 1] - 2)
    return h


def page_rank(links, steps, damping):
    n = links.shape[0]
    out = links.sum(axis=0)
    matrix = links / np.where(out == 0, 1, out)
    rank = np.ones(n) / n
    for _ in range(steps):
        rank = (1 - damping) / n + damping * (matrix @ rank)
        rank /= rank.sum()
    return rank


def sparse_product(rows, columns, values, x):
    """A matrix in coordinates times a vector."""
    y = np.zeros_like(x)
    np.add.at(y, rows, values * x[columns])
    return y


def breadth_first(adjacency, start):
    """The distance of each vertex, by frontiers; -1 where there is no way."""
    n = adjacency.shape[0]
    distance = np.full(n, -1)
    distance[start] = 0
    frontier = np.zeros(n, bool)
    frontier[start] = True
    level = 0
    while np.any(frontier):
        level += 1
        reached = frontier @ adjacency
        frontier = (reached > 0) & (distance < 0)
        distance[frontier] = level
    return distance


def recursive_smoothing(image, alpha):
    """Deriche's filter: down and up each column, recursively."""
    k = (1 - np.exp(-alpha)) ** 2 / (1 + 2 * alpha * np.exp(-alpha) - np.exp(2 * -alpha))
    a1, a2 = k, k * np.exp(-alpha) * (alpha - 1)
    a3, a4 = k * np.exp(-alpha) * (alpha + 1), -k * np.exp(-2 * alpha)
    b1, b2 = 2 * np.exp(-alpha), -np.exp(-2 * alpha)
    down = np.zeros_like(image)
    up = np.zeros_like(image)
    down[:, 0] = a1 * image[:, 0]
    down[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * down[:, 0]
    for j in range(2, image.shape[1]):
        down[:, j] = a1 * image[:, j] + a2 * image[:, j - 1] + b1 * down[:, j - 1]
        down[:, j] += b2 * down[:, j - 2]
    up[:, -2] = a3 * image[:, -1]
    for j in range(image.shape[1] - 3, -1, -1):
        up[:, j] = (
            a3 * image[:, j + 1] + a4 * image[:, j + 2] + b1 * up[:, j + 1] + b2 * up[:, j + 2]
        )
    return down + up


def checksum(data, polynomial):
    """A cyclic redundancy check of 16 bits, byte by byte, bit by bit."""
    crc = 0xFFFF
    for byte in data:
        current = 0xFF & byte
        for _ in range(8):
            if (crc & 1) ^ (current & 1):
                crc = (crc >> 1) ^ polynomial
            else:
                crc >>= 1
            current >>= 1
    crc = ~crc & 0xFFFF
    return ((crc << 8) | ((crc >> 8) & 0xFF)) & 0xFFFF


def random_walk_markov(transition, start, steps):
    """The distribution after some steps, and how long states are held."""
    p = start.copy()
    held = np.zeros_like(start)
    for _ in range(steps):
        held += p
        p = p @ transition
    return p, held / steps


def likeliest_states(emission, transition, observed):
    """Viterbi's algorithm in logarithms."""
    n = transition.shape[0]
    score = np.log(emission[:, observed[0]])
    back = np.zeros((observed.shape[0], n), int)
    for t in range(1, observed.shape[0]):
        ways = score[:, None] + np.log(transition)
        back[t] = np.argmax(ways, axis=0)
        score = np.max(ways, axis=0) + np.log(emission[:, observed[t]])
    path = np.zeros(observed.shape[0], int)
    path[-1] = np.argmax(score)
    for t in range(observed.shape[0] - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path


def sieve(n):
    prime = np.ones(n + 1, bool)
    prime[:2] = False
    for k in range(2, int(n**0.5) + 1):
        if prime[k]:
            prime[k * k :: k] = False
    return prime


def _digits(n: int, high: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, high, n)


def _rows(n: int, m: int, seed: int) -> Array:
    p = uniform(n, m, seed=seed) + 0.1
    return p / p.sum(axis=1, keepdims=True)


KERNELS = [
    Kernel(shortest_paths, lambda n: (uniform(n, n) * 10,), (16,), (200,)),
    Kernel(shortest_paths_by_rows, lambda n: (uniform(n, n) * 10,), (14,), (150,)),
    Kernel(base_pairs, lambda n: (_digits(n, 4),), (12,), (60,)),
    Kernel(edit_distance, lambda n: (_digits(n, 4), _digits(n + 3, 4, 1)), (12,), (250,)),
    Kernel(
        knapsack, lambda n: (_digits(n, 50) + 1, uniform(n, seed=1) * 10, 20 * n), (12,), (300,)
    ),
    Kernel(local_alignment, lambda n: (_digits(n, 4), _digits(n + 3, 4, 1)), (11,), (200,)),
    Kernel(page_rank, lambda n: ((uniform(n, n) < 0.2).astype(float), 30, 0.85), (20,), (600,)),
    Kernel(
        sparse_product,
        lambda n: (_digits(8 * n, n), _digits(8 * n, n, 1), uniform(8 * n), uniform(n, seed=1)),
        (20,),
        (20_000,),
    ),
    Kernel(breadth_first, lambda n: ((uniform(n, n) < 3 / n).astype(int), 0), (24,), (800,)),
    Kernel(recursive_smoothing, lambda n: (uniform(n, n + 3), 0.25), (12,), (400,)),
    Kernel(checksum, lambda n: (_digits(n, 256), 0x8408), (20,), (3000,)),
    Kernel(random_walk_markov, lambda n: (_rows(n, n, 0), _rows(1, n, 1)[0], 50), (14,), (400,)),
    Kernel(
        likeliest_states,
        lambda n: (_rows(n, 6, 0), _rows(n, n, 1), _digits(4 * n, 6)),
        (9,),
        (80,),
    ),
    Kernel(sieve, lambda n: (n,), (200,), (200_000,)),
]
