"""Loops that depend on data or on what came before: recurrences, iterations to convergence."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.entry import (
    f32,
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


@workload(tiny=(8, 8, 20), medium=(256, 256, 50), large=(1024, 1024, 100))
class mandelbrot:
    """Steps until each point of the plane escapes, complex parts as float32."""

    tolerance = 0.0
    misses = 1e-3  # points at the edge, which rounding moves across

    def arguments(m, n, limit):
        re, im = np.meshgrid(np.linspace(-2, 0.6, n), np.linspace(-1.2, 1.2, m))
        return re.astype(np.float32), im.astype(np.float32), limit

    def program(re, im, limit):
        x, y = np.zeros_like(re), np.zeros_like(im)
        count = np.zeros(re.shape, np.int32)
        for _ in range(limit):
            inside = x * x + y * y <= 4.0
            if not np.any(inside):
                break
            count += inside
            x, y = np.where(inside, x * x - y * y + re, x), np.where(inside, 2 * x * y + im, y)
        return count

    def jax(re, im, limit):
        def goes_on(state):
            k, x, y, _ = state
            return (k < limit) & jnp.any(x * x + y * y <= 4.0)

        def step(state):
            k, x, y, count = state
            inside = x * x + y * y <= 4.0
            new_x = jnp.where(inside, x * x - y * y + re, x)
            new_y = jnp.where(inside, 2 * x * y + im, y)
            return k + 1, new_x, new_y, count + inside

        zero = jnp.zeros_like(re)
        start = (0, zero, zero, jnp.zeros(re.shape, jnp.int32))
        return lax.while_loop(goes_on, step, start)[3]

    def torch(re, im, limit):
        x, y = torch.zeros_like(re), torch.zeros_like(im)
        count = torch.zeros(re.shape, dtype=torch.int32)
        for _ in range(limit):
            inside = x * x + y * y <= 4.0
            count += inside
            new_x = torch.where(inside, x * x - y * y + re, x)
            y = torch.where(inside, 2 * x * y + im, y)
            x = new_x
        return count

    def numba(re, im, limit):
        m, n = re.shape
        count = np.empty((m, n), np.int32)
        for i in prange(m):
            for j in range(n):
                x, y, k = f32(0), f32(0), 0
                while k < limit and x * x + y * y <= f32(4):
                    x, y = x * x - y * y + re[i, j], f32(2) * x * y + im[i, j]
                    k += 1
                count[i, j] = k
        return count


@workload(tiny=(16,), medium=(1 << 14,), large=(1 << 18,))
class recursive_filter:
    """y[i] = b x[i] - a y[i-1] - c y[i-2] along a line, float64."""

    tolerance = 1e-10

    def arguments(n):
        return normal(n, dtype=np.float64), 0.2, -1.2, 0.5

    def program(x, b, a, c):
        y = np.zeros_like(x)
        y[0] = b * x[0]
        y[1] = b * x[1] - a * y[0]
        for i in range(2, x.shape[0]):
            y[i] = b * x[i] - a * y[i - 1] - c * y[i - 2]
        return y

    def jax(x, b, a, c):
        def step(last, value):
            one, two = last
            new = b * value - a * one - c * two
            return (new, one), new

        return lax.scan(step, (jnp.zeros(()), jnp.zeros(())), x)[1]

    def numba(x, b, a, c):
        y = np.empty_like(x)
        one, two = 0.0, 0.0
        for i in range(x.size):
            new = b * x[i] - a * one - c * two
            y[i] = new
            one, two = new, one
        return y


@workload(tiny=(16,), medium=(1 << 16,), large=(1 << 21,))
class kepler:
    """Newton's method for Kepler's equation, until each element has converged, float64."""

    tolerance = 1e-9

    def arguments(n):
        return uniform(n, dtype=np.float64) * 6.28, uniform(n, seed=1, dtype=np.float64) * 0.9

    def program(mean, eccentricity):
        angle = mean + eccentricity * np.sin(mean)
        for _ in range(30):
            off = angle - eccentricity * np.sin(angle) - mean
            angle = angle - off / (1.0 - eccentricity * np.cos(angle))
            if np.max(np.abs(off)) < 1e-12:
                break
        return angle

    def jax(mean, eccentricity):
        def step(state):
            k, angle, _ = state
            off = angle - eccentricity * jnp.sin(angle) - mean
            new = angle - off / (1.0 - eccentricity * jnp.cos(angle))
            return k + 1, new, jnp.max(jnp.abs(off))

        start = (0, mean + eccentricity * jnp.sin(mean), jnp.inf)
        return lax.while_loop(lambda s: (s[0] < 30) & (s[2] >= 1e-12), step, start)[1]

    def torch(mean, eccentricity):
        angle = mean + eccentricity * torch.sin(mean)
        for _ in range(30):
            off = angle - eccentricity * torch.sin(angle) - mean
            angle = angle - off / (1.0 - eccentricity * torch.cos(angle))
            if torch.max(torch.abs(off)) < 1e-12:
                break
        return angle

    def numba(mean, eccentricity):
        out = np.empty_like(mean)
        for i in prange(mean.size):
            m, e = mean[i], eccentricity[i]
            angle = m + e * np.sin(m)
            for _ in range(30):
                off = angle - e * np.sin(angle) - m
                angle -= off / (1.0 - e * np.cos(angle))
                if abs(off) < 1e-12:
                    break
            out[i] = angle
        return out


@workload(tiny=(16,), medium=(1 << 14,), large=(1 << 17,))
class collatz:
    """Steps of the Collatz sequence of each number, a `while` an element, int64."""

    tolerance = 0.0

    def arguments(n):
        return (indices(10_000, n) + 1,)

    def program(start):
        def steps(n):
            count = 0
            while n > 1:
                if n % 2 == 0:
                    n = n // 2
                else:
                    n = 3 * n + 1
                count += 1
            return count

        return np.vectorize(steps)(start)

    def jax(start):
        def steps(n):
            def step(state):
                n, count = state
                return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

            return lax.while_loop(lambda s: s[0] > 1, step, (n, 0))[1]

        return jax.vmap(steps)(start)

    def torch(start):
        count = torch.zeros_like(start)
        n = start
        while True:
            on = n > 1
            if not on.any():
                return count
            count += on
            n = torch.where(on, torch.where(n % 2 == 0, n // 2, 3 * n + 1), n)

    def numba(start):
        out = np.empty_like(start)
        for i in prange(start.size):
            n, count = start[i], 0
            while n > 1:
                n = n >> 1 if n & 1 == 0 else 3 * n + 1
                count += 1
            out[i] = count
        return out


@workload(tiny=(8,), medium=(2048,), large=(1 << 16,))
class kalman:
    """A Kalman filter of position and speed along a line of measurements, float64."""

    tolerance = 1e-9

    def arguments(n):
        return (np.cumsum(normal(n, dtype=np.float64)), 0.01, 0.5)

    def program(measured, noise, error):
        move = np.array([[1.0, 1.0], [0.0, 1.0]])
        state, spread = np.zeros(2), np.eye(2)
        out = np.zeros((measured.shape[0], 2))
        for i in range(measured.shape[0]):
            state = move @ state
            spread = move @ spread @ move.T + noise * np.eye(2)
            gain = spread[:, 0] / (spread[0, 0] + error)
            state = state + gain * (measured[i] - state[0])
            spread = spread - np.outer(gain, spread[0])
            out[i] = state
        return out

    def jax(measured, noise, error):
        move = jnp.array([[1.0, 1.0], [0.0, 1.0]])

        def step(carry, value):
            state, spread = carry
            state = move @ state
            spread = move @ spread @ move.T + noise * jnp.eye(2)
            gain = spread[:, 0] / (spread[0, 0] + error)
            state = state + gain * (value - state[0])
            return (state, spread - jnp.outer(gain, spread[0])), state

        return lax.scan(step, (jnp.zeros(2), jnp.eye(2)), measured)[1]

    def numba(measured, noise, error):
        out = np.empty((measured.size, 2))
        x, v = 0.0, 0.0
        p, q, r, s = 1.0, 0.0, 0.0, 1.0
        for i in range(measured.size):
            x += v
            p, q = p + r, q + s
            p, r = p + q + noise, r + s
            s += noise
            scale = 1.0 / (p + error)
            g, h = p * scale, r * scale
            off = measured[i] - x
            x += g * off
            v += h * off
            p, q, r, s = p - g * p, q - g * q, r - h * p, s - h * q
            out[i, 0], out[i, 1] = x, v
        return out


@workload(tiny=(4, 10), medium=(1024, 200), large=(1 << 16, 200))
class lorenz:
    """Many Lorenz systems by the classic Runge-Kutta method, float64."""

    tolerance = 1e-7

    def arguments(n, steps):
        return normal(3, n, dtype=np.float64), 0.005, steps

    def program(state, dt, steps):
        def rate(s):
            x, y, z = s
            return np.stack((10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z))

        for _ in range(steps):
            k1 = rate(state)
            k2 = rate(state + 0.5 * dt * k1)
            k3 = rate(state + 0.5 * dt * k2)
            k4 = rate(state + dt * k3)
            state = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return state

    def jax(state, dt, steps):
        def rate(s):
            x, y, z = s
            return jnp.stack((10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z))

        def step(_, state):
            k1 = rate(state)
            k2 = rate(state + 0.5 * dt * k1)
            k3 = rate(state + 0.5 * dt * k2)
            k4 = rate(state + dt * k3)
            return state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)

        return lax.fori_loop(0, steps, step, state)

    def torch(state, dt, steps):
        def rate(s):
            x, y, z = s
            return torch.stack((10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z))

        for _ in range(steps):
            k1 = rate(state)
            k2 = rate(state + 0.5 * dt * k1)
            k3 = rate(state + 0.5 * dt * k2)
            k4 = rate(state + dt * k3)
            state = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return state

    def numba(state, dt, steps):
        n = state.shape[1]
        out = np.empty_like(state)
        width = 64
        for block in prange((n + width - 1) // width):
            low = block * width
            size = min(width, n - low)
            s = state[:, low : low + size].copy()
            for _ in range(steps):
                for i in range(size):
                    x, y, z = s[0, i], s[1, i], s[2, i]
                    a1, b1, c1 = 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z
                    u, v, w = x + 0.5 * dt * a1, y + 0.5 * dt * b1, z + 0.5 * dt * c1
                    a2, b2, c2 = 10.0 * (v - u), u * (28.0 - w) - v, u * v - 8.0 / 3.0 * w
                    u, v, w = x + 0.5 * dt * a2, y + 0.5 * dt * b2, z + 0.5 * dt * c2
                    a3, b3, c3 = 10.0 * (v - u), u * (28.0 - w) - v, u * v - 8.0 / 3.0 * w
                    u, v, w = x + dt * a3, y + dt * b3, z + dt * c3
                    a4, b4, c4 = 10.0 * (v - u), u * (28.0 - w) - v, u * v - 8.0 / 3.0 * w
                    s[0, i] = x + dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
                    s[1, i] = y + dt / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)
                    s[2, i] = z + dt / 6.0 * (c1 + 2.0 * c2 + 2.0 * c3 + c4)
            out[:, low : low + size] = s
        return out


@workload(tiny=(16,), medium=(4096,), large=(1 << 20,))
class random_walk_limits:
    """A walk that stays between two walls, each step from the last, float32."""

    def arguments(n):
        return (normal(n), 4.0)

    def program(steps, wall):
        out = np.zeros_like(steps)
        place = np.float32(0.0)
        for i in range(steps.shape[0]):
            place = np.minimum(np.maximum(place + steps[i], -wall), wall)
            out[i] = place
        return out

    def jax(steps, wall):
        def step(place, move):
            place = jnp.clip(place + move, -wall, wall)
            return place, place

        return lax.scan(step, jnp.zeros((), steps.dtype), steps)[1]

    def numba(steps, wall):
        out = np.empty_like(steps)
        low, high = f32(-wall), f32(wall)
        place = f32(0)
        for i in range(steps.size):
            place = min(max(place + steps[i], low), high)
            out[i] = place
        return out
