"""Dynamic programming, graphs, automata, chains and numbers."""

from __future__ import annotations

import functools
import heapq
from collections import deque

import numpy as np

from tests.corpus.case import Case, integers, uniform

INFINITY = 1e9
COINS = [1, 5, 10, 25]
GLIDER = ((0, 1), (1, 2), (2, 0), (2, 1), (2, 2))


def edit_distance(a, b):
    """Levenshtein's distance of two sequences of codes."""
    m, n = len(a), len(b)
    table = np.zeros((m + 1, n + 1), dtype=int)
    table[:, 0] = np.arange(m + 1)
    table[0, :] = np.arange(n + 1)
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + cost)
    return table[m, n]


def longest_common_subsequence(a, b):
    """The length of the longest common subsequence, two rows at a time."""
    previous = np.zeros(len(b) + 1, dtype=int)
    for x in a:
        current = np.zeros_like(previous)
        for j, y in enumerate(b):
            if x == y:
                current[j + 1] = previous[j] + 1
            else:
                current[j + 1] = max(current[j], previous[j + 1])
        previous = current
    return previous[-1]


def align(a, b, match=2, mismatch=-1, gap=-1):
    """Smith-Waterman local alignment: the best score."""
    score = np.zeros((len(a) + 1, len(b) + 1))
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            diagonal = score[i - 1, j - 1] + np.where(a[i - 1] == b[j - 1], match, mismatch)
            score[i, j] = np.max([0, diagonal, score[i - 1, j] + gap, score[i, j - 1] + gap])
    return score.max()


def time_warping(x, y):
    """Dynamic time warping of two series."""
    cost = np.full((len(x) + 1, len(y) + 1), np.inf)
    cost[0, 0] = 0
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            best = np.minimum(np.minimum(cost[i - 1, j], cost[i, j - 1]), cost[i - 1, j - 1])
            cost[i, j] = np.abs(x[i - 1] - y[j - 1]) + best
    return cost[-1, -1]


def knapsack(weights, values, capacity):
    """The best value of a knapsack, one item after the other."""
    best = np.zeros(capacity + 1, dtype=values.dtype)
    for w, v in zip(weights, values):
        for c in range(capacity, w - 1, -1):
            best[c] = max(best[c], best[c - w] + v)
    return best[capacity]


def coin_change(amount):
    """In how many ways coins of a module list make an amount."""
    ways = np.zeros(amount + 1, dtype=np.int64)
    ways[0] = 1
    for coin in COINS:
        for value in range(coin, amount + 1):
            ways[value] += ways[value - coin]
    return ways


def matrix_chain(sizes):
    """The cheapest order of a chain of matrix products."""
    n = len(sizes) - 1
    cost = np.zeros((n, n))
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j] = min(
                cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            )
    return cost[0, -1]


def increasing_subsequence(x):
    """The longest increasing subsequence, quadratic."""
    best = np.ones(len(x), dtype=int)
    for i in range(1, len(x)):
        for j in range(i):
            if x[j] < x[i] and best[j] + 1 > best[i]:
                best[i] = best[j] + 1
    return best.max()


def maximum_subarray(x):
    """Kadane's algorithm in Python scalars."""
    best = current = x[0]
    for value in x[1:]:
        current = max(value, current + value)
        best = max(best, current)
    return best


def seam(energy):
    """The cheapest vertical seam: accumulated costs and the path back."""
    cost = energy.copy()
    for i in range(1, cost.shape[0]):
        left = np.r_[np.inf, cost[i - 1, :-1]]
        right = np.r_[cost[i - 1, 1:], np.inf]
        cost[i] += np.minimum(np.minimum(left, cost[i - 1]), right)
    path = np.zeros(len(cost), dtype=int)
    path[-1] = np.argmin(cost[-1])
    for i in range(len(cost) - 2, -1, -1):
        low = max(path[i + 1] - 1, 0)
        high = min(path[i + 1] + 2, cost.shape[1])
        path[i] = low + np.argmin(cost[i, low:high])
    return path


def viterbi(observations, start, transition, emission):
    """The likeliest path of hidden states, with logarithms and pointers."""
    steps, states = len(observations), len(start)
    score = np.zeros((steps, states))
    pointer = np.zeros((steps, states), dtype=int)
    score[0] = np.log(start) + np.log(emission[:, observations[0]])
    for t in range(1, steps):
        candidates = score[t - 1][:, None] + np.log(transition)
        pointer[t] = candidates.argmax(axis=0)
        score[t] = candidates.max(axis=0) + np.log(emission[:, observations[t]])
    path = [score[-1].argmax()]
    for t in range(steps - 1, 0, -1):
        path.append(pointer[t, path[-1]])
    return np.array(path[::-1])


def forward_algorithm(observations, start, transition, emission):
    """The likelihood of observations, scaled in each step."""
    alpha = start * emission[:, observations[0]]
    likelihood = np.log(alpha.sum())
    alpha /= alpha.sum()
    for o in observations[1:]:
        alpha = (alpha @ transition) * emission[:, o]
        scale = alpha.sum()
        likelihood += np.log(scale)
        alpha = alpha / scale
    return likelihood


def floyd_warshall(weights):
    """All shortest paths."""
    distance = weights.copy()
    n = distance.shape[0]
    for k in range(n):
        distance = np.minimum(distance, distance[:, k : k + 1] + distance[k : k + 1, :])
    return distance


def floyd_warshall_loops(weights):
    """All shortest paths by three loops with a comparison."""
    distance = np.array(weights)
    n = len(distance)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if distance[i, k] + distance[k, j] < distance[i, j]:
                    distance[i, j] = distance[i, k] + distance[k, j]
    return distance


def bellman_ford(edges, costs, nodes, source=0):
    """Shortest paths from one node over a list of edges."""
    distance = np.full(nodes, np.inf)
    distance[source] = 0
    for _ in range(nodes - 1):
        for (a, b), cost in zip(edges, costs):
            if distance[a] + cost < distance[b]:
                distance[b] = distance[a] + cost
    return distance


def dijkstra(weights, source):
    """Shortest paths on a dense matrix: the nearest unvisited node first."""
    n = len(weights)
    distance = np.full(n, INFINITY)
    visited = np.zeros(n, dtype=bool)
    distance[source] = 0
    for _ in range(n):
        u = np.argmin(np.where(visited, np.inf, distance))
        visited[u] = True
        for v in range(n):
            if not visited[v] and weights[u, v] > 0:
                distance[v] = min(distance[v], distance[u] + weights[u, v])
    return distance


def heap_dijkstra(weights, source):
    """Shortest paths with a heap of the standard library."""
    distance = np.full(len(weights), np.inf)
    distance[source] = 0.0
    queue = [(0.0, source)]
    while queue:
        d, u = heapq.heappop(queue)
        if d > distance[u]:
            continue
        for v in np.nonzero(weights[u])[0]:
            if d + weights[u, v] < distance[v]:
                distance[v] = d + weights[u, v]
                heapq.heappush(queue, (distance[v], v))
    return distance


def page_rank(adjacency, damping=0.85, iterations=30):
    """Page rank; pages without links go anywhere."""
    n = len(adjacency)
    degree = adjacency.sum(axis=1)
    transition = np.where(degree[:, None] > 0, adjacency / np.maximum(degree, 1)[:, None], 1.0 / n)
    rank = np.ones(n) / n
    for _ in range(iterations):
        rank = (1 - damping) / n + damping * rank @ transition
    return rank


def breadth_first_levels(adjacency, start):
    """The distance in edges from a node, with a queue."""
    levels = np.full(adjacency.shape[0], -1)
    levels[start] = 0
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for other in range(adjacency.shape[0]):
            if adjacency[node, other] and levels[other] < 0:
                levels[other] = levels[node] + 1
                queue.append(other)
    return levels


def frontier_levels(adjacency, start):
    """The distance in edges from a node, a whole frontier at a time."""
    n = len(adjacency)
    level = np.full(n, -1)
    frontier = np.arange(n) == start
    depth = 0
    while frontier.any():
        level[frontier] = depth
        frontier = (adjacency.T @ frontier > 0) & (level < 0)
        depth += 1
    return level


def transitive_closure(adjacency):
    """Which nodes reach which, by squaring."""
    reach = adjacency.astype(bool) | np.eye(len(adjacency), dtype=bool)
    for _ in range(int(np.ceil(np.log2(len(adjacency))))):
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    return reach


def spanning_tree_weight(weights):
    """Prim's algorithm: the weight of the least spanning tree."""
    n = weights.shape[0]
    in_tree = np.zeros(n, bool)
    in_tree[0] = True
    cheapest = weights[0].astype(float)
    total = 0.0
    for _ in range(n - 1):
        candidates = np.where(in_tree, np.inf, cheapest)
        nearest = candidates.argmin()
        total += candidates[nearest]
        in_tree[nearest] = True
        cheapest = np.minimum(cheapest, weights[nearest])
    return total


def graph_laplacian(adjacency):
    """The normalised Laplacian and the number of triangles."""
    degree = adjacency.sum(0)
    scale = 1 / np.sqrt(degree)
    laplacian = np.eye(len(adjacency)) - scale[:, None] * adjacency * scale
    triangles = np.trace(np.linalg.matrix_power(adjacency, 3)) // 6
    return laplacian, triangles


def life(board, generations=5):
    """Conway's game of life on a torus."""
    for _ in range(generations):
        neighbours = sum(
            np.roll(board, (dy, dx), (0, 1))
            for dy in (-1, 0, 1)
            for dx in (-1, 0, 1)
            if (dy, dx) != (0, 0)
        )
        board = ((neighbours == 3) | (board & (neighbours == 2))).astype(board.dtype)
    return board


def glider_after(steps, size=8):
    """A glider on an empty board."""
    board = np.zeros((size, size), dtype=int)
    for row, column in GLIDER:
        board[row, column] = 1
    return life(board, steps)


def elementary_automaton(start, rule=30, steps=10):
    """Wolfram's automata: the history of a row of cells."""
    table = np.array([int(bit) for bit in f"{rule:08b}"[::-1]])
    history = np.zeros((steps, len(start)), dtype=int)
    history[0] = start
    for t in range(1, steps):
        row = history[t - 1]
        history[t] = table[4 * np.roll(row, 1) + 2 * row + np.roll(row, -1)]
    return history


def sandpile(grid):
    """Grains topple until every pile is below four."""
    grid = grid.copy()
    while (grid >= 4).any():
        topple = grid // 4
        grid -= 4 * topple
        grid[1:, :] += topple[:-1, :]
        grid[:-1, :] += topple[1:, :]
        grid[:, 1:] += topple[:, :-1]
        grid[:, :-1] += topple[:, 1:]
    return grid


def ising_sweep(spins, draws, temperature=2.0):
    """A Metropolis sweep over the checkerboard with given draws."""
    spins = spins.copy()
    rows, columns = np.indices(spins.shape)
    for colour in range(2):
        field = np.roll(spins, 1, 0) + np.roll(spins, -1, 0)
        field += np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
        flip = draws < np.exp(-2 * spins * field / temperature)
        spins[flip & ((rows + columns) % 2 == colour)] *= -1
    return spins, spins.mean()


def stationary_distribution(transition, tolerance=1e-12):
    """The chain is run until it stands."""
    p = np.ones(len(transition)) / len(transition)
    while True:
        following = p @ transition
        if np.abs(following - p).sum() < tolerance:
            return following
        p = following


def absorption(transition, transient):
    """Expected steps and probabilities of absorption by the fundamental matrix."""
    q, r = transition[:transient, :transient], transition[:transient, transient:]
    fundamental = np.linalg.inv(np.eye(transient) - q)
    return fundamental.sum(axis=1), fundamental @ r


def walk_chain(transition, draws, start=0):
    """A path of a chain for given draws, by cumulative probabilities."""
    cumulative = transition.cumsum(axis=1)
    path = np.empty(len(draws) + 1, dtype=int)
    path[0] = start
    for t, draw in enumerate(draws):
        path[t + 1] = np.searchsorted(cumulative[path[t]], draw)
    return path


def sieve(n):
    """Which numbers up to n are prime."""
    prime = np.ones(n + 1, dtype=bool)
    prime[:2] = False
    for p in range(2, int(n**0.5) + 1):
        if prime[p]:
            prime[p * p :: p] = False
    return np.flatnonzero(prime)


def bubble_sort(x):
    """Neighbours that stand wrong change places."""
    x = x.copy()
    for end in range(len(x) - 1, 0, -1):
        for i in range(end):
            if x[i] > x[i + 1]:
                x[i], x[i + 1] = x[i + 1], x[i]
    return x


def counting_sort(x, high):
    """A stable order by counts and their cumulative sums."""
    counts = np.zeros(high, dtype=int)
    for value in x:
        counts[value] += 1
    starts = np.cumsum(counts) - counts
    out = np.empty_like(x)
    for value in x:
        out[starts[value]] = value
        starts[value] += 1
    return out


def binary_search(ordered, value):
    """The place of a value in an ordered array."""
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


def greatest_divisor(a, b):
    """Euclid's algorithm on all pairs at once."""
    a, b = a.copy(), b.copy()
    while np.any(b):
        a, b = np.where(b != 0, b, a), np.where(b != 0, a % np.where(b == 0, 1, b), 0)
    return a


def collatz_steps(n):
    """How many steps of Collatz' rule lead to one."""
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def fibonacci(n):
    """Fibonacci's number by powers of a matrix."""
    result = np.eye(2, dtype=np.int64)
    base = np.array([[1, 1], [1, 0]])
    while n > 0:
        if n & 1:
            result = result @ base
        base = base @ base
        n >>= 1
    return result[0, 1]


def partitions(n):
    """Numbers of partitions by a memoised recursion."""

    @functools.lru_cache(maxsize=None)
    def count(total, largest):
        if total == 0:
            return 1
        return sum(count(total - k, k) for k in range(1, min(total, largest) + 1))

    return np.array([count(k, k) for k in range(n)])


def gray_code(bits):
    """All words of a Gray code and their Hamming distances."""
    words = np.arange(2**bits)
    gray = words ^ (words >> 1)
    changes = gray[1:] ^ gray[:-1]
    return gray, ((changes[:, None] >> np.arange(bits)) & 1).sum(axis=1)


def shift_register(state, steps):
    """A linear feedback shift register of 16 bits."""
    out = np.zeros(steps, dtype=np.uint16)
    for i in range(steps):
        bit = (state ^ (state >> 2) ^ (state >> 3) ^ (state >> 5)) & 1
        state = (state >> 1) | (bit << 15)
        out[i] = state
    return out


def checksum(data):
    """A cyclic redundancy check over bytes, bit by bit."""
    crc = 0xFFFF
    for byte in data:
        crc ^= int(byte)
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0xA001
            else:
                crc >>= 1
    return crc


def run_lengths(x):
    """Values and lengths of runs."""
    change = np.flatnonzero(x[1:] != x[:-1]) + 1
    starts = np.concatenate(([0], change))
    lengths = np.diff(np.append(starts, len(x)))
    return x[starts], lengths


def stochastic(n, columns=None, seed=0):
    """A matrix whose rows sum to one."""
    p = 0.1 + uniform(n, columns or n, seed=seed)
    return p / p.sum(axis=1, keepdims=True)


def graph(n=7):
    """A symmetric adjacency matrix without loops, connected by a ring."""
    a = np.triu(integers(n, n, high=2), 1)
    a[np.arange(n - 1), np.arange(1, n)] = 1
    return a + a.T


def hidden_chain():
    """Observations, start, transition and emission of a hidden chain."""
    return integers(8, high=4), np.array([0.5, 0.3, 0.2]), stochastic(3), stochastic(3, 4, seed=1)


CASES = [
    Case(edit_distance, lambda: (integers(6, high=3), integers(7, high=3, seed=1))),
    Case(longest_common_subsequence, lambda: (integers(6, high=3), integers(7, high=3, seed=1))),
    Case(align, lambda: (integers(6, high=3), integers(7, high=3, seed=1))),
    Case(time_warping, lambda: (uniform(6), uniform(7, seed=1))),
    Case(knapsack, lambda: (np.array([2, 3, 4, 5]), np.array([3.0, 4.0, 5.0, 6.0]), 8)),
    Case(coin_change, lambda: (40,)),
    Case(matrix_chain, lambda: ([10, 30, 5, 60, 8],)),
    Case(increasing_subsequence, lambda: (integers(9, high=20),)),
    Case(maximum_subarray, lambda: (integers(12, low=-9, high=10),)),
    Case(seam, lambda: (uniform(6, 7),)),
    Case(viterbi, hidden_chain),
    Case(forward_algorithm, hidden_chain),
    Case(floyd_warshall, lambda: (uniform(7, 7),)),
    Case(floyd_warshall_loops, lambda: (uniform(4, 4),)),
    Case(bellman_ford, lambda: ([(0, 1), (1, 2), (0, 2), (2, 3)], uniform(4), 4)),
    Case(dijkstra, lambda: (graph(6) * uniform(6, 6), 0)),
    Case(heap_dijkstra, lambda: (graph(6) * uniform(6, 6), 0)),
    Case(page_rank, lambda: (graph(),)),
    Case(breadth_first_levels, lambda: (graph(), 2)),
    Case(frontier_levels, lambda: (graph(), 2)),
    Case(transitive_closure, lambda: (np.triu(graph()),)),
    Case(spanning_tree_weight, lambda: (uniform(6, 6) + uniform(6, 6).T,)),
    Case(graph_laplacian, lambda: (graph(),)),
    Case(life, lambda: (integers(8, 9, high=2),)),
    Case(glider_after, lambda: (4,)),
    Case(elementary_automaton, lambda: (integers(16, high=2),)),
    Case(sandpile, lambda: (integers(6, 6, high=9),)),
    Case(ising_sweep, lambda: (2 * integers(8, 8, high=2) - 1, uniform(8, 8))),
    Case(stationary_distribution, lambda: (stochastic(4),)),
    Case(absorption, lambda: (stochastic(5), 3)),
    Case(walk_chain, lambda: (stochastic(4), uniform(10))),
    Case(sieve, lambda: (60,)),
    Case(bubble_sort, lambda: (uniform(7),)),
    Case(counting_sort, lambda: (integers(9, high=5), 5)),
    Case(binary_search, lambda: (np.sort(uniform(20)), 0.4)),
    Case(greatest_divisor, lambda: (integers(9, low=1, high=60), integers(9, high=60, seed=1))),
    Case(collatz_steps, lambda: (27,)),
    Case(fibonacci, lambda: (30,)),
    Case(partitions, lambda: (9,)),
    Case(gray_code, lambda: (4,)),
    Case(shift_register, lambda: (0xACE1, 20)),
    Case(checksum, lambda: (integers(6, high=256).astype(np.uint8),)),
    Case(run_lengths, lambda: (integers(20, high=2),)),
]
