"""Gathers, scatters, sorting, and elements that only move."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.entry import (
    SAME,
    f32,
    functional,
    indices,
    jax,
    jnp,
    lax,
    normal,
    prange,
    torch,
    uniform,
    workload,
)


@workload(tiny=(16, 8, 4), medium=(8192, 128, 2048), large=(1 << 16, 256, 1 << 16))
class embedding:
    """Rows of a table by numbers, float32."""

    def arguments(rows, width, count):
        return normal(rows, width), indices(rows, count, seed=1)

    def program(table, numbers):
        return table[numbers]

    def bytes(rows, width, count):
        return count * (8 * width + 8)

    jax = SAME

    def torch(table, numbers):
        return functional.embedding(numbers, table)

    def numba(table, numbers):
        out = np.empty((numbers.size, table.shape[1]), table.dtype)
        for i in prange(numbers.size):
            out[i] = table[numbers[i]]
        return out


@workload(tiny=(16, 16), medium=(1 << 16, 1 << 17), large=(1 << 20, 1 << 23))
class interpolate:
    """Linear interpolation in an even table, float32: two gathers an element."""

    def arguments(rows, count):
        return normal(rows), uniform(count, seed=1)

    def program(table, x):
        place = x * np.float32(table.shape[0] - 1)
        low = np.minimum(place.astype(np.int32), table.shape[0] - 2)
        part = place - low.astype(np.float32)
        return table[low] * (1.0 - part) + table[low + 1] * part

    def jax(table, x):
        place = x * jnp.float32(table.shape[0] - 1)
        low = jnp.minimum(place.astype(jnp.int32), table.shape[0] - 2)
        part = place - low.astype(jnp.float32)
        first = table.at[low].get(mode="promise_in_bounds")
        return first * (1.0 - part) + table.at[low + 1].get(mode="promise_in_bounds") * part

    def torch(table, x):
        place = x * float(table.shape[0] - 1)
        low = torch.clamp(place.to(torch.int32), max=table.shape[0] - 2)
        part = place - low
        return torch.lerp(table[low], table[low + 1], part)

    def numba(table, x):
        out = np.empty_like(x)
        scale, last = f32(table.size - 1), np.int32(table.size - 2)
        for i in prange(x.size):
            place = x[i] * scale
            low = min(np.int32(place), last)
            part = place - f32(low)
            out[i] = table[low] * (f32(1) - part) + table[low + 1] * part
        return out


@workload(tiny=(16, 4), medium=(1 << 17, 256), large=(1 << 23, 1024))
class histogram:
    """How often each number is there, int64."""

    tolerance = 0.0

    def arguments(n, bins):
        return (indices(bins, n), bins)

    def program(x, bins):
        return np.bincount(x, minlength=bins)

    def jax(x, bins):
        return jnp.bincount(x, length=bins)

    def torch(x, bins):
        return torch.bincount(x, minlength=bins)

    def numba(x, bins):
        parts = 4
        counts = np.zeros((parts, bins), np.int64)
        for p in prange(parts):
            for i in range(p * x.size // parts, (p + 1) * x.size // parts):
                counts[p, x[i]] += 1
        return counts.sum(axis=0)


@workload(tiny=(16, 4), medium=(1 << 17, 1024), large=(1 << 22, 1 << 16))
class segment_sum:
    """The sum of the values of each segment, segments in any order, float64."""

    tolerance = 1e-10

    def arguments(n, segments):
        return uniform(n, dtype=np.float64), indices(segments, n, seed=1), segments

    def program(values, segment, segments):
        total = np.zeros(segments)
        np.add.at(total, segment, values)
        return total

    def jax(values, segment, segments):
        return jax.ops.segment_sum(values, segment, segments)

    def torch(values, segment, segments):
        return torch.zeros(segments, dtype=values.dtype).index_add_(0, segment, values)

    def numba(values, segment, segments):
        total = np.zeros(segments)
        for i in range(values.size):
            total[segment[i]] += values[i]
        return total


@workload(tiny=(16,), medium=(1 << 17,), large=(1 << 22,))
class scatter:
    """Values into places of a copied array that a permutation names, float32."""

    tolerance = 0.0

    def arguments(n):
        places = np.argsort(uniform(2 * n, seed=2))[:n]
        return normal(2 * n), places, normal(n, seed=1)

    def program(x, places, values):
        x = x.copy()
        x[places] = values
        return x

    def jax(x, places, values):
        return x.at[places].set(values, unique_indices=True, mode="promise_in_bounds")

    def torch(x, places, values):
        return x.index_copy(0, places, values)

    def numba(x, places, values):
        x = x.copy()
        for i in prange(places.size):
            x[places[i]] = values[i]
        return x


@workload(tiny=(16,), medium=(1 << 16,), large=(1 << 21,))
class sort:
    """Sorted float32."""

    tolerance = 0.0

    def arguments(n):
        return (normal(n),)

    def program(x):
        return np.sort(x)

    jax = SAME

    def torch(x):
        return torch.sort(x).values

    def numba(x):
        return np.sort(x)


@workload(tiny=(16,), medium=(1 << 16,), large=(1 << 20,))
class argsort:
    """The places of int64 numbers in their order, equal ones as they come."""

    tolerance = 0.0

    def arguments(n):
        return (indices(1 << 40, n),)

    def program(x):
        return np.argsort(x, kind="stable")

    def jax(x):
        return jnp.argsort(x, stable=True)

    def torch(x):
        return torch.sort(x, stable=True).indices

    def numba(x):
        return np.argsort(x, kind="mergesort")


@workload(tiny=(4, 16), medium=(128, 1024), large=(1024, 8192))
class top_rows:
    """The 8 largest of each row, the largest first, float32."""

    tolerance = 0.0

    def arguments(m, n):
        return (normal(m, n),)

    def program(x):
        return -np.sort(np.partition(-x, 7, axis=1)[:, :8], axis=1)

    def jax(x):
        return lax.top_k(x, 8)[0]

    def torch(x):
        return torch.topk(x, 8, dim=1).values

    def numba(x):
        out = np.empty((x.shape[0], 8), x.dtype)
        for i in prange(x.shape[0]):
            best = np.full(8, -np.inf, x.dtype)
            for j in range(x.shape[1]):
                v = x[i, j]
                if v > best[7]:
                    k = 7
                    while k > 0 and best[k - 1] < v:
                        best[k] = best[k - 1]
                        k -= 1
                    best[k] = v
            out[i] = best
        return out


@workload(tiny=(16, 16), medium=(1 << 12, 1 << 16), large=(1 << 18, 1 << 21))
class find_sorted:
    """Where each value belongs in a sorted array, float64."""

    tolerance = 0.0

    def arguments(n, count):
        return np.sort(normal(n, dtype=np.float64)), normal(count, seed=1, dtype=np.float64)

    def program(x, values):
        return np.searchsorted(x, values)

    jax = torch = SAME

    def numba(x, values):
        out = np.empty(values.size, np.int64)
        for i in prange(values.size):
            low, size = 0, x.size
            while size > 0:
                half = size >> 1
                if x[low + half] < values[i]:
                    low += half + 1
                    size -= half + 1
                else:
                    size = half
            out[i] = low
        return out


@workload(tiny=(4, 8), medium=(512, 512), large=(4096, 4096))
class transpose:
    """A matrix transposed and scaled, float32."""

    def arguments(m, n):
        return (normal(m, n),)

    def program(x):
        return np.ascontiguousarray(x.T) * 2.0

    def jax(x):
        return x.T * 2.0

    def torch(x):
        return x.T.contiguous() * 2.0

    def numba(x):
        m, n = x.shape
        out = np.empty((n, m), x.dtype)
        width = 32
        for block in prange((m + width - 1) // width):
            low, high = block * width, min(m, block * width + width)
            for start in range(0, n, width):
                for j in range(start, min(n, start + width)):
                    for i in range(low, high):
                        out[j, i] = x[i, j] * f32(2)
        return out


@workload(tiny=(4, 8), medium=(512, 512), large=(4096, 2048))
class join_padded:
    """Two matrices side by side in a frame of zeros, float32."""

    tolerance = 0.0

    def arguments(m, n):
        return normal(m, n), normal(m, n, seed=1)

    def program(x, y):
        return np.pad(np.concatenate((x, y), axis=1), 1)

    jax = SAME

    def torch(x, y):
        return functional.pad(torch.cat((x, y), dim=1), (1, 1, 1, 1))

    def numba(x, y):
        m, n = x.shape
        out = np.empty((m + 2, 2 * n + 2), x.dtype)
        for i in prange(m + 2):
            if i == 0 or i == m + 1:
                out[i] = 0
            else:
                out[i, 0] = 0
                out[i, 1 : n + 1] = x[i - 1]
                out[i, n + 1 : 2 * n + 1] = y[i - 1]
                out[i, 2 * n + 1] = 0
        return out
