"""Neighbours on grids: one step, many steps, with edges that stay, vanish or wrap around."""

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


@workload(tiny=(8, 8), medium=(512, 512), large=(4096, 4096))
class heat:
    """One step of heat on a plane whose edge stays, float32."""

    def arguments(m, n):
        return (uniform(m, n),)

    def program(u):
        new = u.copy()
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
        return new

    def jax(u):
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        inner = u[1:-1, 1:-1]
        return u.at[1:-1, 1:-1].set(inner + 0.1 * (around - 4.0 * inner))

    def torch(u):
        new = u.clone()
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        inner = u[1:-1, 1:-1]
        new[1:-1, 1:-1] = inner + 0.1 * (around - 4.0 * inner)
        return new

    def numba(u):
        m, n = u.shape
        new = np.empty_like(u)
        for i in prange(m):
            if i == 0 or i == m - 1:
                for j in range(n):
                    new[i, j] = u[i, j]
            else:
                new[i, 0] = u[i, 0]
                for j in range(1, n - 1):
                    around = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1]
                    new[i, j] = u[i, j] + f32(0.1) * (around - f32(4) * u[i, j])
                new[i, n - 1] = u[i, n - 1]
        return new


@workload(tiny=(8, 8, 10), medium=(256, 256, 50), large=(2048, 2048, 20))
class heat_steps:
    """Many steps of heat on a plane whose edge stays, float32."""

    def arguments(m, n, steps):
        return uniform(m, n), steps

    def program(u, steps):
        u = u.copy()
        for _ in range(steps):
            u[1:-1, 1:-1] += 0.1 * (
                u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
            )
        return u

    def jax(u, steps):
        def step(_, u):
            around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
            inner = u[1:-1, 1:-1]
            return u.at[1:-1, 1:-1].set(inner + 0.1 * (around - 4.0 * inner))

        return lax.fori_loop(0, steps, step, u)

    def torch(u, steps):
        u = u.clone()
        for _ in range(steps):
            around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
            u[1:-1, 1:-1] += 0.1 * (around - 4.0 * u[1:-1, 1:-1])
        return u

    def numba(u, steps):
        m, n = u.shape
        u, new = u.copy(), u.copy()
        for _ in range(steps):
            for i in prange(1, m - 1):
                for j in range(1, n - 1):
                    around = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1]
                    new[i, j] = u[i, j] + f32(0.1) * (around - f32(4) * u[i, j])
            u, new = new, u
        return u


@workload(tiny=(6, 6, 6), medium=(64, 64, 64), large=(256, 256, 256))
class laplace_3d:
    """The Laplacian in space, inner points only, float32."""

    def arguments(m, n, k):
        return (uniform(m, n, k),)

    def program(u):
        c = u[1:-1, 1:-1, 1:-1]
        return (
            u[2:, 1:-1, 1:-1]
            + u[:-2, 1:-1, 1:-1]
            + u[1:-1, 2:, 1:-1]
            + u[1:-1, :-2, 1:-1]
            + u[1:-1, 1:-1, 2:]
            + u[1:-1, 1:-1, :-2]
            - 6.0 * c
        )

    jax = torch = SAME

    def numba(u):
        m, n, k = u.shape
        out = np.empty((m - 2, n - 2, k - 2), u.dtype)
        for x in prange(1, m - 1):
            for y in range(1, n - 1):
                for z in range(1, k - 1):
                    first = u[x + 1, y, z] + u[x - 1, y, z] + u[x, y + 1, z] + u[x, y - 1, z]
                    rest = u[x, y, z + 1] + u[x, y, z - 1] - f32(6) * u[x, y, z]
                    out[x - 1, y - 1, z - 1] = first + rest
        return out


@workload(tiny=(8, 8), medium=(256, 512), large=(2048, 4096))
class wave_rolled:
    """A step of the wave equation on a torus by `np.roll`, float64."""

    tolerance = 1e-10

    def arguments(m, n):
        return normal(m, n, dtype=np.float64), normal(m, n, seed=1, dtype=np.float64)

    def program(u, before):
        around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        return 2.0 * u - before + 0.1 * (around - 4.0 * u)

    jax = torch = SAME

    def numba(u, before):
        m, n = u.shape
        out = np.empty_like(u)
        for i in prange(m):
            up, down = (i - 1) if i else m - 1, (i + 1) if i < m - 1 else 0
            for j in range(1, n - 1):
                around = u[up, j] + u[down, j] + u[i, j - 1] + u[i, j + 1]
                out[i, j] = 2.0 * u[i, j] - before[i, j] + 0.1 * (around - 4.0 * u[i, j])
            around = u[up, 0] + u[down, 0] + u[i, n - 1] + u[i, 1]
            out[i, 0] = 2.0 * u[i, 0] - before[i, 0] + 0.1 * (around - 4.0 * u[i, 0])
            j = n - 1
            around = u[up, j] + u[down, j] + u[i, j - 1] + u[i, 0]
            out[i, j] = 2.0 * u[i, j] - before[i, j] + 0.1 * (around - 4.0 * u[i, j])
        return out


@workload(tiny=(8, 8), medium=(512, 512), large=(4096, 4096))
class blur:
    """A blur by 5 points down, then across, inner points only, float32."""

    def arguments(m, n):
        return (uniform(m, n),)

    def program(u):
        d = (u[:-4] + u[4:]) + 4.0 * (u[1:-3] + u[3:-1]) + 6.0 * u[2:-2]
        a = (d[:, :-4] + d[:, 4:]) + 4.0 * (d[:, 1:-3] + d[:, 3:-1]) + 6.0 * d[:, 2:-2]
        return a * (1.0 / 256.0)

    jax = SAME

    def torch(u):
        line = torch.tensor([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0
        down = functional.conv2d(u[None, None], line.reshape(1, 1, 5, 1))
        return functional.conv2d(down, line.reshape(1, 1, 1, 5))[0, 0]

    def numba(u):
        m, n = u.shape
        out = np.empty((m - 4, n - 4), u.dtype)
        for i in prange(m - 4):
            d = np.empty(n, u.dtype)
            for j in range(n):
                four = u[i + 1, j] + u[i + 3, j]
                d[j] = u[i, j] + u[i + 4, j] + f32(4) * four + f32(6) * u[i + 2, j]
            for j in range(n - 4):
                four = d[j + 1] + d[j + 3]
                out[i, j] = (d[j] + d[j + 4] + f32(4) * four + f32(6) * d[j + 2]) * f32(1 / 256)
        return out


@workload(tiny=(8, 8, 4), medium=(256, 256, 20), large=(2048, 2048, 10))
class life:
    """The game of life on a torus of bytes, by sums of `np.roll`."""

    tolerance = 0.0

    def arguments(m, n, steps):
        return indices(2, m, n, dtype=np.uint8), steps

    def program(cells, steps):
        for _ in range(steps):
            rows = cells + np.roll(cells, 1, 0) + np.roll(cells, -1, 0)
            around = rows + np.roll(rows, 1, 1) + np.roll(rows, -1, 1) - cells
            cells = ((around == 3) | ((around == 2) & (cells == 1))).astype(np.uint8)
        return cells

    def jax(cells, steps):
        def step(_, cells):
            rows = cells + jnp.roll(cells, 1, 0) + jnp.roll(cells, -1, 0)
            around = rows + jnp.roll(rows, 1, 1) + jnp.roll(rows, -1, 1) - cells
            return ((around == 3) | ((around == 2) & (cells == 1))).astype(jnp.uint8)

        return lax.fori_loop(0, steps, step, cells)

    def torch(cells, steps):
        for _ in range(steps):
            rows = cells + torch.roll(cells, 1, 0) + torch.roll(cells, -1, 0)
            around = rows + torch.roll(rows, 1, 1) + torch.roll(rows, -1, 1) - cells
            cells = ((around == 3) | ((around == 2) & (cells == 1))).to(torch.uint8)
        return cells

    def numba(cells, steps):
        m, n = cells.shape
        cells, new = cells.copy(), np.empty_like(cells)
        for _ in range(steps):
            for i in prange(m):
                up, down = (i - 1) if i else m - 1, (i + 1) if i < m - 1 else 0
                rows = np.empty(n + 2, np.uint8)
                for j in range(n):
                    rows[j + 1] = np.uint8(cells[up, j] + cells[i, j] + cells[down, j])
                rows[0], rows[n + 1] = rows[n], rows[1]
                for j in range(n):
                    around = np.uint8(rows[j] + rows[j + 1] + rows[j + 2] - cells[i, j])
                    lives = (around == 3) | ((around == 2) & (cells[i, j] == 1))
                    new[i, j] = np.uint8(lives)
            cells, new = new, cells
        return cells


@workload(tiny=(32, 5), medium=(1 << 16, 50), large=(1 << 22, 20))
class smooth_line:
    """Averages of three along a line, many times, float64."""

    tolerance = 1e-10

    def arguments(n, steps):
        return normal(n, dtype=np.float64), steps

    def program(x, steps):
        x = x.copy()
        for _ in range(steps):
            x[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3.0
        return x

    def jax(x, steps):
        def step(_, x):
            return x.at[1:-1].set((x[:-2] + x[1:-1] + x[2:]) / 3.0)

        return lax.fori_loop(0, steps, step, x)

    def torch(x, steps):
        x = x.clone()
        for _ in range(steps):
            x[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3.0
        return x

    def numba(x, steps):
        x, new = x.copy(), x.copy()
        for _ in range(steps):
            for i in prange(1, x.size - 1):
                new[i] = (x[i - 1] + x[i] + x[i + 1]) / 3.0
            x, new = new, x
        return x
