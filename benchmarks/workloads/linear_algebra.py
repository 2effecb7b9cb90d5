"""Products of matrices, plain, fused, small and in batches; distances; convolution; attention."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.entry import (
    SAME,
    f32,
    functional,
    jax,
    jnp,
    lax,
    normal,
    prange,
    torch,
    workload,
)


@workload(tiny=(4, 4, 4), medium=(256, 256, 256), large=(2048, 2048, 2048))
class matmul:
    """The product of two matrices, float32."""

    def arguments(m, n, k):
        return normal(m, k), normal(k, n, seed=1)

    def program(a, b):
        return a @ b

    def flops(m, n, k):
        return 2 * m * n * k

    jax = torch = SAME

    def numba(a, b):
        return np.dot(a, b)


@workload(tiny=(4, 4, 4), medium=(256, 256, 256), large=(1536, 1536, 1536))
class matmul_double:
    """The product of a matrix and a transposed one, float64."""

    double = True
    tolerance = 1e-10

    def arguments(m, n, k):
        return normal(m, k, dtype=np.float64), normal(n, k, seed=1, dtype=np.float64)

    def program(a, b):
        return a @ b.T

    def flops(m, n, k):
        return 2 * m * n * k

    jax = torch = SAME

    def numba(a, b):
        return np.dot(a, b.T)


@workload(tiny=(4, 4, 4), medium=(256, 512, 512), large=(2048, 2048, 512))
class dense_relu:
    """A dense layer: product, bias, ReLU, float32."""

    def arguments(m, n, k):
        return normal(m, k), normal(k, n, seed=1), normal(n, seed=2)

    def program(x, w, b):
        return np.maximum(x @ w + b, 0.0)

    def flops(m, n, k):
        return 2 * m * n * k

    jax = SAME

    def torch(x, w, b):
        return torch.relu(torch.addmm(b, x, w))

    def numba(x, w, b):
        out = np.dot(x, w)
        for i in prange(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] = max(out[i, j] + b[j], f32(0))
        return out


@workload(tiny=(4, 8), medium=(1024, 512), large=(8192, 4096))
class matvec:
    """The product of a matrix and a vector, float32."""

    def arguments(m, n):
        return normal(m, n), normal(n, seed=1)

    def program(a, x):
        return a @ x

    def flops(m, n):
        return 2 * m * n

    jax = torch = SAME

    def numba(a, x):
        out = np.empty(a.shape[0], a.dtype)
        for i in prange(a.shape[0]):
            total = f32(0)
            for j in range(a.shape[1]):
                total += a[i, j] * x[j]
            out[i] = total
        return out


@workload(tiny=(4, 8, 2), medium=(2048, 128, 4), large=(1 << 18, 128, 4))
class few_columns:
    """Scores of many rows for a few classes: a product with four columns and bias, float32."""

    def arguments(m, k, n):
        return normal(m, k), normal(k, n, seed=1), normal(n, seed=2)

    def program(x, w, b):
        return x @ w + b

    def flops(m, k, n):
        return 2 * m * n * k

    jax = SAME

    def torch(x, w, b):
        return torch.addmm(b, x, w)

    def numba(x, w, b):
        return np.dot(x, w) + b


@workload(tiny=(4,), medium=(4096,), large=(1 << 18,))
class matmul_4x4:
    """Many products of 4 by 4 matrices, float32."""

    def arguments(n):
        return normal(n, 4, 4), normal(n, 4, 4, seed=1)

    def program(a, b):
        return a @ b

    def flops(n):
        return 2 * n * 64

    jax = torch = SAME

    def numba(a, b):
        out = np.empty_like(a)
        for p in prange(a.shape[0]):
            for i in range(4):
                for j in range(4):
                    total = f32(0)
                    for k in range(4):
                        total += a[p, i, k] * b[p, k, j]
                    out[p, i, j] = total
        return out


@workload(tiny=(2, 4), medium=(16, 64), large=(512, 128))
class matmul_batched:
    """A batch of products of middle-sized matrices, float32."""

    def arguments(count, n):
        return normal(count, n, n), normal(count, n, n, seed=1)

    def program(a, b):
        return np.matmul(a, b)

    def flops(count, n):
        return 2 * count * n**3

    jax = torch = SAME

    def numba(a, b):
        out = np.empty_like(a)
        for p in prange(a.shape[0]):
            out[p] = np.dot(a[p], b[p])
        return out


@workload(tiny=(8, 3), medium=(512, 3), large=(4096, 3))
class pair_distances:
    """Distances between all points of two sets in space, float32."""

    def arguments(n, k):
        return normal(n, k), normal(n, k, seed=1)

    def program(x, y):
        away = x[:, None, :] - y[None, :, :]
        return np.sqrt(np.sum(away * away, axis=2))

    jax = SAME

    def torch(x, y):
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")

    def numba(x, y):
        out = np.empty((x.shape[0], y.shape[0]), x.dtype)
        for i in prange(x.shape[0]):
            for j in range(y.shape[0]):
                a, b, c = x[i, 0] - y[j, 0], x[i, 1] - y[j, 1], x[i, 2] - y[j, 2]
                out[i, j] = np.sqrt(a * a + b * b + c * c)
        return out


@workload(tiny=(8,), medium=(1024,), large=(8192,))
class outer_kernel:
    """For each x the sum over all y of a Gaussian of their difference times a weight, float32."""

    def arguments(n):
        return normal(n), normal(n, seed=1), normal(n, seed=2)

    def program(x, y, weight):
        away = x[:, None] - y[None, :]
        return np.sum(np.exp(-0.5 * away * away) * weight, axis=1)

    jax = torch = SAME

    def numba(x, y, weight):
        out = np.empty_like(x)
        for i in prange(x.size):
            total = f32(0)
            for j in range(y.size):
                away = x[i] - y[j]
                total += np.exp(f32(-0.5) * away * away) * weight[j]
            out[i] = total
        return out


@workload(tiny=(1, 2, 4, 4), medium=(1, 8, 128, 64), large=(2, 8, 1024, 64))
class attention:
    """softmax(q k' / sqrt(d)) v of several heads, float32."""

    def arguments(batch, heads, length, width):
        return tuple(normal(batch, heads, length, width, seed=k) for k in range(3))

    def program(q, k, v):
        scores = q @ np.swapaxes(k, 2, 3) * (1.0 / q.shape[3] ** 0.5)
        e = np.exp(scores - np.max(scores, axis=3, keepdims=True))
        return e / np.sum(e, axis=3, keepdims=True) @ v

    def flops(batch, heads, length, width):
        return 4 * batch * heads * length * length * width

    def jax(q, k, v):
        scores = q @ jnp.swapaxes(k, 2, 3) * (1.0 / q.shape[3] ** 0.5)
        return jax.nn.softmax(scores, axis=3) @ v

    def torch(q, k, v):
        return functional.scaled_dot_product_attention(q, k, v)

    def numba(q, k, v):
        batch, heads, length, width = q.shape
        out = np.empty_like(q)
        scale = f32(1.0 / width**0.5)
        for p in prange(batch * heads):
            b, h = p // heads, p % heads
            scores = np.dot(q[b, h], k[b, h].T)
            for i in range(length):
                top = scores[i, 0]
                for j in range(length):
                    top = max(top, scores[i, j])
                total = f32(0)
                for j in range(length):
                    e = np.exp((scores[i, j] - top) * scale)
                    scores[i, j] = e
                    total += e
                for j in range(length):
                    scores[i, j] /= total
            out[b, h] = np.dot(scores, v[b, h])
        return out


@workload(tiny=(1, 6, 2, 2), medium=(1, 34, 16, 16), large=(4, 66, 64, 64))
class convolution:
    """A 3 by 3 convolution of images with channels last, inner points only, float32."""

    def arguments(count, side, channels, filters):
        return normal(count, side, side, channels), normal(3, 3, channels, filters, seed=1) * f32(
            0.1
        )

    def program(x, w):
        m, n = x.shape[1] - 2, x.shape[2] - 2
        total = x[:, :m, :n] @ w[0, 0]
        for i, j in ((0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)):
            total = total + x[:, i : i + m, j : j + n] @ w[i, j]
        return total

    def flops(count, side, channels, filters):
        return 18 * count * (side - 2) ** 2 * channels * filters

    def jax(x, w):
        names = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=names)

    def torch(x, w):
        found = functional.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1))
        return found.permute(0, 2, 3, 1)

    def numba(x, w):
        count, side = x.shape[:2]
        filters = w.shape[3]
        out = np.zeros((count, side - 2, side - 2, filters), x.dtype)
        for p in prange(count * (side - 2)):
            b, i = p // (side - 2), p % (side - 2)
            for di in range(3):
                for dj in range(3):
                    out[b, i] += np.dot(x[b, i + di, dj : dj + side - 2], w[di, dj])
        return out


@workload(tiny=(4,), medium=(128,), large=(768,))
class solve:
    """The solution of a symmetric positive system with 16 right sides, float64."""

    tolerance = 1e-8

    def arguments(n):
        a = normal(n, n, dtype=np.float64)
        return a @ a.T / n + np.eye(n), normal(n, 16, seed=1, dtype=np.float64)

    def program(a, b):
        return np.linalg.solve(a, b)

    double = True

    def flops(n):
        return 2 * n**3 / 3 + 32 * n * n

    jax = SAME

    def torch(a, b):
        return torch.linalg.solve(a, b)

    def numba(a, b):
        return np.linalg.solve(a, b)
