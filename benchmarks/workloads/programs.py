"""Whole programs: several kinds of work in one function."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.entry import (
    SAME,
    f32,
    functional,
    indices,
    jnp,
    lax,
    normal,
    prange,
    torch,
    uniform,
    workload,
)


@workload(tiny=(4, 8, 2), medium=(64, 256, 4), large=(512, 768, 12))
class transformer:
    """A GPT-2 block: norm, causal attention, norm, two dense layers with GELU, float32."""

    tolerance = 1e-3

    def arguments(length, width, heads):
        small = f32(0.02)
        return (
            normal(length, width),
            uniform(width, seed=1),
            normal(width, 3 * width, seed=2) * small,
            normal(width, width, seed=3) * small,
            uniform(width, seed=4),
            normal(width, 4 * width, seed=5) * small,
            normal(4 * width, width, seed=6) * small,
            heads,
        )

    def program(x, scale1, w_qkv, w_out, scale2, w_up, w_down, heads):
        def norm(x, scale):
            away = x - np.mean(x, axis=1, keepdims=True)
            return away / np.sqrt(np.mean(away * away, axis=1, keepdims=True) + 1e-5) * scale

        length, width = x.shape
        part = width // heads
        qkv = np.reshape(norm(x, scale1) @ w_qkv, (length, 3, heads, part))
        q, k, v = (np.transpose(qkv[:, i], (1, 0, 2)) for i in range(3))
        scores = q @ np.transpose(k, (0, 2, 1)) * (1.0 / part**0.5)
        seen = np.arange(length)[None, :] <= np.arange(length)[:, None]
        scores = np.where(seen, scores, np.float32(-1e30))
        e = np.exp(scores - np.max(scores, axis=2, keepdims=True))
        mixed = e / np.sum(e, axis=2, keepdims=True) @ v
        x = x + np.reshape(np.transpose(mixed, (1, 0, 2)), (length, width)) @ w_out
        up = norm(x, scale2) @ w_up
        return (
            x + 0.5 * up * (1.0 + np.tanh(0.7978845608 * (up + 0.044715 * up * up * up))) @ w_down
        )

    def flops(length, width, heads):
        return 24 * length * width**2 + 4 * length * length * width

    jax = SAME

    def torch(x, scale1, w_qkv, w_out, scale2, w_up, w_down, heads):
        length, width = x.shape
        qkv = functional.layer_norm(x, (width,), scale1) @ w_qkv
        q, k, v = qkv.reshape(length, 3, heads, width // heads).permute(1, 2, 0, 3)
        mixed = functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)
        x = x + mixed[0].transpose(0, 1).reshape(length, width) @ w_out
        up = functional.layer_norm(x, (width,), scale2) @ w_up
        return x + functional.gelu(up, approximate="tanh") @ w_down


@workload(tiny=(8, 2), medium=(256, 10), large=(2048, 5))
class bodies:
    """Bodies under gravity, leapfrog steps, float64."""

    tolerance = 1e-8

    def arguments(n, steps):
        place, speed = normal(n, 3, dtype=np.float64), normal(n, 3, seed=1, dtype=np.float64)
        return place, speed * 0.1, uniform(n, seed=2, dtype=np.float64), 0.01, steps

    def program(place, speed, mass, dt, steps):
        for _ in range(steps):
            apart = place[None, :, :] - place[:, None, :]
            square = np.sum(apart * apart, axis=2) + 0.01
            pull = mass[None, :] / (square * np.sqrt(square))
            speed = speed + dt * np.sum(apart * pull[:, :, None], axis=1)
            place = place + dt * speed
        return place, speed

    def jax(place, speed, mass, dt, steps):
        def step(_, state):
            place, speed = state
            apart = place[None, :, :] - place[:, None, :]
            square = jnp.sum(apart * apart, axis=2) + 0.01
            pull = mass[None, :] / (square * jnp.sqrt(square))
            speed = speed + dt * jnp.sum(apart * pull[:, :, None], axis=1)
            return place + dt * speed, speed

        return lax.fori_loop(0, steps, step, (place, speed))

    torch = SAME

    def numba(place, speed, mass, dt, steps):
        place, speed = place.T.copy(), speed.T.copy()
        n = mass.size
        for _ in range(steps):
            for i in prange(n):
                u, v, w = 0.0, 0.0, 0.0
                for j in range(n):
                    x, y = place[0, j] - place[0, i], place[1, j] - place[1, i]
                    z = place[2, j] - place[2, i]
                    square = x * x + y * y + z * z + 0.01
                    pull = mass[j] / (square * np.sqrt(square))
                    u, v, w = u + x * pull, v + y * pull, w + z * pull
                speed[0, i] += dt * u
                speed[1, i] += dt * v
                speed[2, i] += dt * w
            place = place + dt * speed
        return place.T.copy(), speed.T.copy()


@workload(tiny=(8, 8, 2), medium=(256, 256, 10), large=(2048, 2048, 5))
class shallow_water:
    """Height and speeds of shallow water on a torus, float32."""

    tolerance = 1e-3

    def arguments(m, n, steps):
        return uniform(m, n) * f32(0.1) + f32(1), normal(m, n, seed=1) * f32(0.01), steps

    def program(h, u, steps):
        v = np.zeros_like(u)
        for _ in range(steps):
            slope_x = (np.roll(h, -1, 1) - np.roll(h, 1, 1)) * 0.5
            slope_y = (np.roll(h, -1, 0) - np.roll(h, 1, 0)) * 0.5
            u = u - 0.05 * slope_x
            v = v - 0.05 * slope_y
            flow_x, flow_y = h * u, h * v
            out_x = np.roll(flow_x, -1, 1) - np.roll(flow_x, 1, 1)
            out_y = np.roll(flow_y, -1, 0) - np.roll(flow_y, 1, 0)
            h = h - 0.025 * (out_x + out_y)
        return h, u, v

    def jax(h, u, steps):
        def step(_, state):
            h, u, v = state
            slope_x = (jnp.roll(h, -1, 1) - jnp.roll(h, 1, 1)) * 0.5
            slope_y = (jnp.roll(h, -1, 0) - jnp.roll(h, 1, 0)) * 0.5
            u = u - 0.05 * slope_x
            v = v - 0.05 * slope_y
            flow_x, flow_y = h * u, h * v
            out_x = jnp.roll(flow_x, -1, 1) - jnp.roll(flow_x, 1, 1)
            out_y = jnp.roll(flow_y, -1, 0) - jnp.roll(flow_y, 1, 0)
            return h - 0.025 * (out_x + out_y), u, v

        return lax.fori_loop(0, steps, step, (h, u, jnp.zeros_like(u)))

    torch = SAME

    def numba(h, u, steps):
        m, n = h.shape
        h, u, v = h.copy(), u.copy(), np.zeros_like(u)
        new = np.empty_like(h)
        for _ in range(steps):
            for i in prange(m):
                up, down = (i - 1) if i else m - 1, (i + 1) if i < m - 1 else 0
                u[i, 0] -= f32(0.05) * ((h[i, 1] - h[i, n - 1]) * f32(0.5))
                u[i, n - 1] -= f32(0.05) * ((h[i, 0] - h[i, n - 2]) * f32(0.5))
                for j in range(1, n - 1):
                    u[i, j] -= f32(0.05) * ((h[i, j + 1] - h[i, j - 1]) * f32(0.5))
                for j in range(n):
                    v[i, j] -= f32(0.05) * ((h[down, j] - h[up, j]) * f32(0.5))
            for i in prange(m):
                up, down = (i - 1) if i else m - 1, (i + 1) if i < m - 1 else 0
                flow = np.empty(n + 2, h.dtype)
                for j in range(n):
                    flow[j + 1] = h[i, j] * u[i, j]
                flow[0], flow[n + 1] = flow[n], flow[1]
                for j in range(n):
                    out_x = flow[j + 2] - flow[j]
                    out_y = h[down, j] * v[down, j] - h[up, j] * v[up, j]
                    new[i, j] = h[i, j] - f32(0.025) * (out_x + out_y)
            h, new = new, h
        return h, u, v


@workload(tiny=(32, 4, 3), medium=(8192, 8, 16), large=(1 << 18, 16, 32))
class k_means:
    """One step of k-means: nearest centre of each point, then the centres anew, float32."""

    def arguments(n, width, clusters):
        return normal(n, width), normal(clusters, width, seed=1)

    def program(points, centres):
        apart = points[:, None, :] - centres[None, :, :]
        nearest = np.argmin(np.sum(apart * apart, axis=2), axis=1)
        members = nearest[None, :] == np.arange(centres.shape[0])[:, None]
        count = np.sum(members, axis=1)
        total = members.astype(np.float32) @ points
        return total / np.maximum(count, 1)[:, None].astype(np.float32)

    jax = SAME

    def torch(points, centres):
        nearest = torch.argmin(torch.cdist(points, centres), dim=1)
        total = torch.zeros_like(centres).index_add_(0, nearest, points)
        count = torch.bincount(nearest, minlength=centres.shape[0])
        return total / count.clamp(min=1)[:, None]

    def numba(points, centres):
        n, width = points.shape
        clusters = centres.shape[0]
        parts = 8
        total = np.zeros((parts, clusters, width), points.dtype)
        count = np.zeros((parts, clusters), np.int64)
        for p in prange(parts):
            for i in range(p * n // parts, (p + 1) * n // parts):
                best, where = f32(np.inf), 0
                for c in range(clusters):
                    square = f32(0)
                    for k in range(width):
                        away = points[i, k] - centres[c, k]
                        square += away * away
                    if square < best:
                        best, where = square, c
                count[p, where] += 1
                for k in range(width):
                    total[p, where, k] += points[i, k]
        sums, counts = total.sum(axis=0), count.sum(axis=0)
        out = np.empty_like(centres)
        for c in range(clusters):
            for k in range(width):
                out[c, k] = sums[c, k] / f32(max(counts[c], 1))
        return out


@workload(tiny=(16, 4, 2), medium=(1024, 32, 20), large=(1 << 16, 64, 20))
class logistic_regression:
    """Steps of gradient descent of a logistic regression, float64."""

    tolerance = 1e-8

    def arguments(n, width, steps):
        x = normal(n, width, dtype=np.float64)
        y = (x @ normal(width, seed=1, dtype=np.float64) > 0).astype(np.float64)
        return x, y, 0.1, steps

    def program(x, y, rate, steps):
        w = np.zeros(x.shape[1])
        for _ in range(steps):
            error = 1.0 / (1.0 + np.exp(-(x @ w))) - y
            w = w - rate / x.shape[0] * (x.T @ error)
        return w

    def jax(x, y, rate, steps):
        def step(_, w):
            error = 1.0 / (1.0 + jnp.exp(-(x @ w))) - y
            return w - rate / x.shape[0] * (x.T @ error)

        return lax.fori_loop(0, steps, step, jnp.zeros(x.shape[1]))

    def torch(x, y, rate, steps):
        w = torch.zeros(x.shape[1], dtype=x.dtype)
        for _ in range(steps):
            w = w - rate / x.shape[0] * (x.T @ (torch.sigmoid(x @ w) - y))
        return w

    def numba(x, y, rate, steps):
        n, width = x.shape
        w = np.zeros(width)
        parts = 8
        for _ in range(steps):
            slope = np.zeros((parts, width))
            for p in prange(parts):
                for i in range(p * n // parts, (p + 1) * n // parts):
                    z = 0.0
                    for k in range(width):
                        z += x[i, k] * w[k]
                    error = 1.0 / (1.0 + np.exp(-z)) - y[i]
                    for k in range(width):
                        slope[p, k] += error * x[i, k]
            w = w - rate / n * slope.sum(axis=0)
        return w


@workload(tiny=(8, 4), medium=(4096, 64), large=(1 << 17, 128))
class asian_option:
    """The price of an Asian option over given normal numbers, float64."""

    tolerance = 1e-9

    def arguments(paths, steps):
        return normal(paths, steps, dtype=np.float64), 100.0, 100.0, 0.03, 0.2

    def program(z, spot, strike, rate, vol):
        dt = 1.0 / z.shape[1]
        moves = (rate - 0.5 * vol * vol) * dt + vol * np.sqrt(dt) * z
        mean = np.mean(spot * np.exp(np.cumsum(moves, axis=1)), axis=1)
        return np.exp(-rate) * np.mean(np.maximum(mean - strike, 0.0))

    jax = SAME

    def torch(z, spot, strike, rate, vol):
        dt = 1.0 / z.shape[1]
        moves = (rate - 0.5 * vol * vol) * dt + vol * dt**0.5 * z
        mean = torch.mean(spot * torch.exp(torch.cumsum(moves, dim=1)), dim=1)
        return torch.mean(torch.relu(mean - strike)) * float(np.exp(-rate))

    def numba(z, spot, strike, rate, vol):
        paths, steps = z.shape
        dt = 1.0 / steps
        drift, spread = (rate - 0.5 * vol * vol) * dt, vol * np.sqrt(dt)
        total = 0.0
        for i in prange(paths):
            place, mean = 0.0, 0.0
            for j in range(steps):
                place += drift + spread * z[i, j]
                mean += np.exp(place)
            total += max(spot * mean / steps - strike, 0.0)
        return np.exp(-rate) * total / paths


@workload(tiny=(8, 3, 4), medium=(4096, 8, 20), large=(1 << 18, 16, 10))
class page_rank:
    """Ranks of pages of which each has the same number of links, float64."""

    tolerance = 1e-9

    def arguments(pages, links, steps):
        start = uniform(pages, seed=1, dtype=np.float64)
        return indices(pages, pages, links), start / start.sum(), steps

    def program(sources, start, steps):
        links = sources.shape[1]
        rank = start
        for _ in range(steps):
            rank = 0.15 * start + 0.85 / links * np.sum(rank[sources], axis=1)
        return rank

    def jax(sources, start, steps):
        def step(_, rank):
            taken = rank.at[sources].get(mode="promise_in_bounds")
            return 0.15 * start + 0.85 / sources.shape[1] * jnp.sum(taken, axis=1)

        return lax.fori_loop(0, steps, step, start)

    def torch(sources, start, steps):
        rank = start
        for _ in range(steps):
            rank = 0.15 * start + 0.85 / sources.shape[1] * torch.sum(rank[sources], dim=1)
        return rank

    def numba(sources, start, steps):
        pages, links = sources.shape
        rank, new = start.copy(), np.empty(pages)
        for _ in range(steps):
            for i in prange(pages):
                total = 0.0
                for k in range(links):
                    total += rank[sources[i, k]]
                new[i] = 0.15 * start[i] + 0.85 / links * total
            rank, new = new, rank
        return rank


@workload(tiny=(16, 4), medium=(1 << 14, 32), large=(1 << 20, 64))
class pipeline:
    """A table of measurements: gaps filled, scaled, smoothed, then correlations, float64."""

    tolerance = 1e-8

    def arguments(n, width):
        x = np.cumsum(normal(n, width, dtype=np.float64), axis=0)
        return (np.where(uniform(n, width, seed=1) < 0.05, np.nan, x),)

    def program(x):
        missing = np.isnan(x)
        count = np.sum(~missing, axis=0)
        mean = np.sum(np.where(missing, 0.0, x), axis=0) / count
        away = np.where(missing, 0.0, x - mean)
        deviation = np.sqrt(np.sum(away * away, axis=0) / count)
        z = away / deviation
        smooth = (z[:-2] + 2.0 * z[1:-1] + z[2:]) * 0.25
        return smooth.T @ smooth / smooth.shape[0]

    def flops(n, width):
        return 2 * n * width * width

    double = True
    jax = SAME

    def torch(x):
        missing = torch.isnan(x)
        count = torch.sum(~missing, dim=0)
        mean = torch.nansum(x, dim=0) / count
        away = torch.where(missing, 0.0, x - mean)
        z = away / torch.sqrt(torch.sum(away * away, dim=0) / count)
        smooth = (z[:-2] + 2.0 * z[1:-1] + z[2:]) * 0.25
        return smooth.T @ smooth / smooth.shape[0]

    def numba(x):
        n, width = x.shape
        mean, square = np.zeros(width), np.zeros(width)
        count = np.zeros(width, np.int64)
        for i in range(n):
            for k in range(width):
                if x[i, k] == x[i, k]:
                    mean[k] += x[i, k]
                    count[k] += 1
        mean /= count
        for i in range(n):
            for k in range(width):
                if x[i, k] == x[i, k]:
                    square[k] += (x[i, k] - mean[k]) ** 2
        scale = 1.0 / np.sqrt(square / count)
        smooth = np.empty((n - 2, width))
        for i in prange(n - 2):
            for k in range(width):
                a, b, c = x[i, k], x[i + 1, k], x[i + 2, k]
                a = (a - mean[k]) * scale[k] if a == a else 0.0
                b = (b - mean[k]) * scale[k] if b == b else 0.0
                c = (c - mean[k]) * scale[k] if c == c else 0.0
                smooth[i, k] = (a + 2.0 * b + c) * 0.25
        return np.dot(smooth.T, smooth) / (n - 2)
