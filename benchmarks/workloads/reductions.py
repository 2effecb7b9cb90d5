"""Sums, extremes and running sums, over all elements and along each axis."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.workloads.entry import SAME, f32, jnp, normal, prange, torch, uniform, workload


@workload(tiny=(16,), medium=(1 << 18,), large=(1 << 24,))
class sum_all:
    """The sum of float32."""

    def arguments(n):
        return (uniform(n),)

    def program(x):
        return np.sum(x)

    jax = torch = SAME

    def numba(x):
        total = f32(0)
        for i in prange(x.size):
            total += x[i]
        return total

    numexpr = "sum(x)"


@workload(tiny=(4, 8), medium=(256, 1024), large=(4096, 4096))
class sum_columns:
    """The sum of each column, float32."""

    def arguments(m, n):
        return (uniform(m, n),)

    def program(x):
        return np.sum(x, axis=0)

    jax = torch = SAME

    def numba(x):
        m, n = x.shape
        out = np.zeros(n, x.dtype)
        width = 256
        for block in prange((n + width - 1) // width):
            low, high = block * width, min(n, block * width + width)
            for i in range(m):
                for j in range(low, high):
                    out[j] += x[i, j]
        return out


@workload(tiny=(4, 8), medium=(256, 1024), large=(4096, 4096))
class sum_rows:
    """The sum of each row, float32."""

    def arguments(m, n):
        return (uniform(m, n),)

    def program(x):
        return np.sum(x, axis=1)

    jax = torch = SAME

    def numba(x):
        out = np.empty(x.shape[0], x.dtype)
        for i in prange(x.shape[0]):
            total = f32(0)
            for j in range(x.shape[1]):
                total += x[i, j]
            out[i] = total
        return out


@workload(tiny=(4, 8), medium=(256, 512), large=(4096, 2048))
class moments:
    """Mean and variance of each column, float64."""

    tolerance = 1e-9

    def arguments(m, n):
        return (normal(m, n, dtype=np.float64),)

    def program(x):
        mean = np.mean(x, axis=0)
        away = x - mean
        return mean, np.mean(away * away, axis=0)

    jax = SAME

    def torch(x):
        variance, mean = torch.var_mean(x, dim=0, correction=0)
        return mean, variance

    def numba(x):
        m, n = x.shape
        mean, variance = np.zeros(n), np.zeros(n)
        width = 64
        for block in prange((n + width - 1) // width):
            low, high = block * width, min(n, block * width + width)
            for i in range(m):
                for j in range(low, high):
                    mean[j] += x[i, j]
            for j in range(low, high):
                mean[j] /= m
            for i in range(m):
                for j in range(low, high):
                    away = x[i, j] - mean[j]
                    variance[j] += away * away
            for j in range(low, high):
                variance[j] /= m
        return mean, variance


@workload(tiny=(16,), medium=(1 << 17,), large=(1 << 23,))
class distance:
    """The Euclidean distance of two vectors, float64."""

    tolerance = 1e-10

    def arguments(n):
        return normal(n, dtype=np.float64), normal(n, seed=1, dtype=np.float64)

    def program(x, y):
        return np.sqrt(np.sum((x - y) ** 2))

    jax = SAME

    def torch(x, y):
        return torch.linalg.vector_norm(x - y)

    def numba(x, y):
        total = 0.0
        for i in prange(x.size):
            away = x[i] - y[i]
            total += away * away
        return math.sqrt(total)


@workload(tiny=(16,), medium=(1 << 18,), large=(1 << 24,))
class log_sum_exp:
    """The logarithm of the sum of exponentials of all, float32."""

    def arguments(n):
        return (normal(n),)

    def program(x):
        top = np.max(x)
        return np.log(np.sum(np.exp(x - top))) + top

    def jax(x):
        top = jnp.max(x)
        return jnp.log(jnp.sum(jnp.exp(x - top))) + top

    def torch(x):
        return torch.logsumexp(x, dim=0)

    def numba(x):
        top = x[0]
        for i in prange(x.size):
            top = max(top, x[i])
        total = f32(0)
        for i in prange(x.size):
            total += np.exp(x[i] - top)
        return np.log(total) + top


@workload(tiny=(4, 8), medium=(256, 1024), large=(4096, 4096))
class argmax_rows:
    """Where the largest of each row is, float32."""

    tolerance = 0.0

    def arguments(m, n):
        return (normal(m, n),)

    def program(x):
        return np.argmax(x, axis=1)

    jax = torch = SAME

    def numba(x):
        out = np.empty(x.shape[0], np.int64)
        for i in prange(x.shape[0]):
            best, where = x[i, 0], 0
            for j in range(1, x.shape[1]):
                if x[i, j] > best:
                    best, where = x[i, j], j
            out[i] = where
        return out


@workload(tiny=(16,), medium=(1 << 18,), large=(1 << 24,))
class count_above:
    """How many are above a number, and whether any is NaN, float32."""

    tolerance = 0.0

    def arguments(n):
        return uniform(n), 0.75

    def program(x, limit):
        return np.sum(x > limit), np.any(np.isnan(x))

    jax = torch = SAME

    def numba(x, limit):
        count, bad = 0, 0
        limit = f32(limit)
        for i in prange(x.size):
            count += x[i] > limit
            bad += x[i] != x[i]
        return count, bad > 0


@workload(tiny=(16,), medium=(1 << 18,), large=(1 << 24,))
class running_sum:
    """The running sum of float32."""

    tolerance = 2e-3

    def arguments(n):
        return (normal(n),)

    def program(x):
        return np.cumsum(x)

    jax = SAME

    def torch(x):
        return torch.cumsum(x, dim=0)

    def numba(x):
        out = np.empty_like(x)
        total = f32(0)
        for i in range(x.size):
            total += x[i]
            out[i] = total
        return out
