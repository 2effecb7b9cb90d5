"""Row programs: what a row becomes depends on reductions of the row."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.entry import (
    SAME,
    f32,
    functional,
    indices,
    jax,
    normal,
    prange,
    torch,
    uniform,
    workload,
)


@workload(tiny=(4, 8), medium=(256, 1024), large=(4096, 4096))
class softmax:
    """Softmax of rows, float32."""

    def arguments(m, n):
        return (normal(m, n),)

    def program(x):
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return e / np.sum(e, axis=1, keepdims=True)

    def jax(x):
        return jax.nn.softmax(x, axis=1)

    def torch(x):
        return functional.softmax(x, dim=1)

    def numba(x):
        out = np.empty_like(x)
        for i in prange(x.shape[0]):
            top = x[i, 0]
            for j in range(x.shape[1]):
                top = max(top, x[i, j])
            total = f32(0)
            for j in range(x.shape[1]):
                e = np.exp(x[i, j] - top)
                out[i, j] = e
                total += e
            scale = f32(1) / total
            for j in range(x.shape[1]):
                out[i, j] *= scale
        return out


@workload(tiny=(4, 8), medium=(256, 1024), large=(4096, 4096))
class layer_norm:
    """Rows made of mean 0 and variance 1, scaled and moved, float32."""

    def arguments(m, n):
        return normal(m, n), uniform(n, seed=1), normal(n, seed=2)

    def program(x, scale, shift):
        away = x - np.mean(x, axis=1, keepdims=True)
        variance = np.mean(away * away, axis=1, keepdims=True)
        return away / np.sqrt(variance + 1e-5) * scale + shift

    jax = SAME

    def torch(x, scale, shift):
        return functional.layer_norm(x, scale.shape, scale, shift, 1e-5)

    def numba(x, scale, shift):
        out = np.empty_like(x)
        m, n = x.shape
        for i in prange(m):
            total = f32(0)
            for j in range(n):
                total += x[i, j]
            mean = total / f32(n)
            total = f32(0)
            for j in range(n):
                away = x[i, j] - mean
                total += away * away
            factor = f32(1) / np.sqrt(total / f32(n) + f32(1e-5))
            for j in range(n):
                out[i, j] = (x[i, j] - mean) * factor * scale[j] + shift[j]
        return out


@workload(tiny=(4, 8), medium=(256, 1024), large=(4096, 4096))
class rms_norm:
    """Rows over their root mean square, scaled, float32."""

    def arguments(m, n):
        return normal(m, n), uniform(n, seed=1)

    def program(x, scale):
        return x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-6) * scale

    jax = SAME

    def torch(x, scale):
        return functional.rms_norm(x, scale.shape, scale, 1e-6)

    def numba(x, scale):
        out = np.empty_like(x)
        m, n = x.shape
        for i in prange(m):
            total = f32(0)
            for j in range(n):
                total += x[i, j] * x[i, j]
            factor = f32(1) / np.sqrt(total / f32(n) + f32(1e-6))
            for j in range(n):
                out[i, j] = x[i, j] * factor * scale[j]
        return out


@workload(tiny=(4, 8), medium=(256, 1024), large=(2048, 8192))
class cross_entropy:
    """The loss of each row's class: log-softmax, then one element of each row, float32."""

    def arguments(m, n):
        return normal(m, n), indices(n, m, seed=1)

    def program(x, classes):
        top = np.max(x, axis=1)
        total = np.sum(np.exp(x - top[:, None]), axis=1)
        return np.log(total) + top - x[np.arange(x.shape[0]), classes]

    jax = SAME

    def torch(x, classes):
        return functional.cross_entropy(x, classes, reduction="none")

    def numba(x, classes):
        out = np.empty(x.shape[0], x.dtype)
        for i in prange(x.shape[0]):
            top = x[i, 0]
            for j in range(x.shape[1]):
                top = max(top, x[i, j])
            total = f32(0)
            for j in range(x.shape[1]):
                total += np.exp(x[i, j] - top)
            out[i] = np.log(total) + top - x[i, classes[i]]
        return out


@workload(tiny=(4, 8), medium=(512, 512), large=(4096, 4096))
class causal_softmax:
    """Softmax of each row's part up to the diagonal, zeros beyond, float32."""

    def arguments(m, n):
        return (normal(m, n),)

    def program(x):
        m, n = x.shape
        seen = np.arange(n)[None, :] <= np.arange(m)[:, None]
        x = np.where(seen, x, np.float32(-1e30))
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return e / np.sum(e, axis=1, keepdims=True)

    jax = SAME

    def torch(x):
        m, n = x.shape
        unseen = torch.ones(m, n, dtype=torch.bool).triu(1)
        return functional.softmax(x.masked_fill(unseen, -1e30), dim=1)

    def numba(x):
        m, n = x.shape
        out = np.empty_like(x)
        for i in prange(m):
            end = min(i + 1, n)
            top = x[i, 0]
            for j in range(end):
                top = max(top, x[i, j])
            total = f32(0)
            for j in range(end):
                e = np.exp(x[i, j] - top)
                out[i, j] = e
                total += e
            scale = f32(1) / total
            for j in range(end):
                out[i, j] *= scale
            for j in range(end, n):
                out[i, j] = 0
        return out


@workload(tiny=(4, 8), medium=(2048, 64), large=(1 << 18, 64))
class short_rows:
    """Rows of 64 scaled to length 1, with their lengths, float64."""

    tolerance = 1e-10

    def arguments(m, n):
        return (normal(m, n, dtype=np.float64),)

    def program(x):
        length = np.sqrt(np.sum(x * x, axis=1))
        return x / length[:, None], length

    jax = SAME

    def torch(x):
        length = torch.linalg.vector_norm(x, dim=1)
        return x / length[:, None], length

    def numba(x):
        out, lengths = np.empty_like(x), np.empty(x.shape[0])
        for i in prange(x.shape[0]):
            total = 0.0
            for j in range(x.shape[1]):
                total += x[i, j] * x[i, j]
            length = np.sqrt(total)
            lengths[i] = length
            for j in range(x.shape[1]):
                out[i, j] = x[i, j] / length
        return out, lengths


@workload(tiny=(4, 8), medium=(1024, 200), large=(1 << 16, 200))
class middle_rows:
    """The mean and the range of rows of 200, float64."""

    tolerance = 1e-10

    def arguments(m, n):
        return (normal(m, n, dtype=np.float64),)

    def program(x):
        return np.mean(x, axis=1), np.max(x, axis=1) - np.min(x, axis=1)

    jax = SAME

    def torch(x):
        return torch.mean(x, dim=1), torch.amax(x, dim=1) - torch.amin(x, dim=1)

    def numba(x):
        m, n = x.shape
        means, ranges = np.empty(m), np.empty(m)
        for i in prange(m):
            total = 0.0
            low = high = x[i, 0]
            for j in range(n):
                total += x[i, j]
                low = min(low, x[i, j])
                high = max(high, x[i, j])
            means[i] = total / n
            ranges[i] = high - low
        return means, ranges
