"""Element by element: memory, then arithmetic, then the functions of mathematics."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.workloads.entry import (
    SAME,
    f32,
    functional,
    indices,
    normal,
    prange,
    torch,
    uniform,
    workload,
)


@workload(tiny=(16,), medium=(1 << 18,), large=(1 << 24,))
class axpy:
    """a * x + y of float32."""

    def arguments(n):
        return 2.5, normal(n), normal(n, seed=1)

    def program(a, x, y):
        return a * x + y

    jax = SAME

    def torch(a, x, y):
        return torch.add(y, x, alpha=a)

    def numba(a, x, y):
        out = np.empty_like(x)
        a = f32(a)
        for i in prange(x.size):
            out[i] = a * x[i] + y[i]
        return out

    numexpr = "a * x + y"


@workload(tiny=(16,), medium=(1 << 18,), large=(1 << 24,))
class polynomial:
    """A polynomial of degree 10 by Horner's rule, float32."""

    def arguments(n):
        return (normal(n),)

    def program(x):
        total = 0.1 * x + 0.2
        for c in (0.3, -0.4, 0.5, -0.6, 0.7, -0.8, 0.9, -1.0, 1.1):
            total = total * x + c
        return total

    jax = torch = SAME

    def numba(x):
        out = np.empty_like(x)
        for i in prange(x.size):
            v = x[i]
            t = f32(0.1) * v + f32(0.2)
            t = t * v + f32(0.3)
            t = t * v - f32(0.4)
            t = t * v + f32(0.5)
            t = t * v - f32(0.6)
            t = t * v + f32(0.7)
            t = t * v - f32(0.8)
            t = t * v + f32(0.9)
            t = t * v - f32(1.0)
            out[i] = t * v + f32(1.1)
        return out

    numexpr = (
        "((((((((((0.1 * x + 0.2) * x + 0.3) * x - 0.4) * x + 0.5) * x - 0.6) * x + 0.7) * x"
        " - 0.8) * x + 0.9) * x - 1.0) * x + 1.1)"
    )


@workload(tiny=(16,), medium=(1 << 18,), large=(1 << 23,))
class black_scholes:
    """Prices of calls and puts of float32, the normal distribution by a logistic form."""

    def arguments(n):
        spot, strike, time = uniform(n) * 50 + 50, uniform(n, seed=1) * 50 + 50, uniform(n, seed=2)
        return spot, strike, time * f32(2) + f32(0.1), 0.03, 0.25

    def program(spot, strike, time, rate, vol):
        deviation = vol * np.sqrt(time)
        d1 = (np.log(spot / strike) + (rate + 0.5 * vol * vol) * time) / deviation
        d2 = d1 - deviation
        n1 = 1.0 / (1.0 + np.exp(-1.5976 * d1 - 0.070565992 * d1 * d1 * d1))
        n2 = 1.0 / (1.0 + np.exp(-1.5976 * d2 - 0.070565992 * d2 * d2 * d2))
        discounted = strike * np.exp(-rate * time)
        call = spot * n1 - discounted * n2
        return call, call - spot + discounted

    jax = torch = SAME

    def numba(spot, strike, time, rate, vol):
        call, put = np.empty_like(spot), np.empty_like(spot)
        rate, vol = f32(rate), f32(vol)
        drift = rate + f32(0.5) * vol * vol
        for i in prange(spot.size):
            deviation = vol * np.sqrt(time[i])
            d1 = (np.log(spot[i] / strike[i]) + drift * time[i]) / deviation
            d2 = d1 - deviation
            p1 = f32(-1.5976) * d1 - f32(0.070565992) * d1 * d1 * d1
            p2 = f32(-1.5976) * d2 - f32(0.070565992) * d2 * d2 * d2
            n1 = f32(1) / (f32(1) + np.exp(p1))
            n2 = f32(1) / (f32(1) + np.exp(p2))
            discounted = strike[i] * np.exp(-rate * time[i])
            value = spot[i] * n1 - discounted * n2
            call[i] = value
            put[i] = value - spot[i] + discounted
        return call, put


@workload(tiny=(4, 8), medium=(256, 1024), large=(4096, 4096))
class gelu_bias:
    """GELU of a matrix and a row, by tanh, float32."""

    def arguments(m, n):
        return normal(m, n), normal(n, seed=1)

    def program(x, b):
        y = x + b
        return 0.5 * y * (1.0 + np.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))

    jax = SAME

    def torch(x, b):
        return functional.gelu(x + b, approximate="tanh")

    def numba(x, b):
        out = np.empty_like(x)
        for i in prange(x.shape[0]):
            for j in range(x.shape[1]):
                y = x[i, j] + b[j]
                inner = f32(0.7978845608) * (y + f32(0.044715) * y * y * y)
                out[i, j] = f32(0.5) * y * (f32(1) + np.tanh(inner))
        return out

    numexpr = (
        "0.5 * (x + b) * (1.0 + tanh(0.7978845608 * ((x + b) + 0.044715 * (x + b) * (x + b)"
        " * (x + b))))"
    )


@workload(tiny=(16,), medium=(1 << 18,), large=(1 << 24,))
class gated:
    """x * sigmoid(x) * y of float32."""

    def arguments(n):
        return normal(n), normal(n, seed=1)

    def program(x, y):
        return x / (1.0 + np.exp(-x)) * y

    jax = SAME

    def torch(x, y):
        return functional.silu(x) * y

    def numba(x, y):
        out = np.empty_like(x)
        for i in prange(x.size):
            out[i] = x[i] / (f32(1) + np.exp(-x[i])) * y[i]
        return out

    numexpr = "x / (1.0 + exp(-x)) * y"


@workload(tiny=(16,), medium=(1 << 17,), large=(1 << 23,))
class choose:
    """A square root or an exponential by sign, float64."""

    tolerance = 1e-10

    def arguments(n):
        return (normal(n, dtype=np.float64),)

    def program(x):
        return np.where(x > 0, np.sqrt(np.abs(x)), np.exp(x) - 1.0)

    jax = torch = SAME

    def numba(x):
        out = np.empty_like(x)
        for i in prange(x.size):
            v = x[i]
            out[i] = math.sqrt(v) if v > 0 else math.exp(v) - 1.0
        return out

    numexpr = "where(x > 0, sqrt(abs(x)), exp(x) - 1.0)"


@workload(tiny=(16,), medium=(1 << 17,), large=(1 << 22,))
class haversine:
    """Distances on a sphere, float64: sines, cosines, arcsines."""

    tolerance = 1e-10

    def arguments(n):
        columns = uniform(4, n, dtype=np.float64)
        return tuple(columns[k] * (3.0 if k < 2 else 6.0) - 1.5 for k in range(4))

    def program(lat1, lat2, lon1, lon2):
        a = np.sin((lat2 - lat1) * 0.5) ** 2
        b = np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) * 0.5) ** 2
        return 12742.0 * np.arcsin(np.sqrt(a + b))

    jax = torch = SAME

    def numba(lat1, lat2, lon1, lon2):
        out = np.empty_like(lat1)
        for i in prange(lat1.size):
            a = math.sin((lat2[i] - lat1[i]) * 0.5)
            b = math.sin((lon2[i] - lon1[i]) * 0.5)
            h = a * a + math.cos(lat1[i]) * math.cos(lat2[i]) * b * b
            out[i] = 12742.0 * math.asin(math.sqrt(h))
        return out

    numexpr = (
        "12742.0 * arcsin(sqrt(sin((lat2 - lat1) * 0.5) ** 2"
        " + cos(lat1) * cos(lat2) * sin((lon2 - lon1) * 0.5) ** 2))"
    )


@workload(tiny=(4, 8), medium=(512, 1536), large=(4096, 6144))
class blend:
    """Two images of bytes, mixed by an image of weights."""

    tolerance = 0.0

    def arguments(m, n):
        return tuple(indices(256, m, n, seed=k, dtype=np.uint8) for k in range(3))

    def program(a, b, weight):
        w = weight.astype(np.uint16)
        mixed = a.astype(np.uint16) * w + b.astype(np.uint16) * (255 - w)
        return (mixed >> 8).astype(np.uint8)

    jax = SAME

    def torch(a, b, weight):
        w = weight.to(torch.int32)
        mixed = a.to(torch.int32) * w + b.to(torch.int32) * (255 - w)
        return (mixed >> 8).to(torch.uint8)

    def numba(a, b, weight):
        out = np.empty_like(a)
        for i in prange(a.shape[0]):
            for j in range(a.shape[1]):
                w = np.uint32(weight[i, j])
                mixed = np.uint32(a[i, j]) * w + np.uint32(b[i, j]) * (np.uint32(255) - w)
                out[i, j] = np.uint8(mixed >> np.uint32(8))
        return out


@workload(tiny=(16,), medium=(1 << 17,), large=(1 << 23,))
class adam:
    """One step of the Adam optimiser: three results of four arrays, float32."""

    def arguments(n):
        return normal(n), normal(n, seed=1), normal(n, seed=2), uniform(n, seed=3), 1e-3

    def program(weight, gradient, mean, square, rate):
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient * gradient
        return weight - rate * mean / (np.sqrt(square) + 1e-8), mean, square

    jax = torch = SAME

    def numba(weight, gradient, mean, square, rate):
        rate = f32(rate)
        out, new_mean, new_square = (
            np.empty_like(weight),
            np.empty_like(weight),
            np.empty_like(weight),
        )
        for i in prange(weight.size):
            g = gradient[i]
            m = f32(0.9) * mean[i] + f32(0.1) * g
            s = f32(0.999) * square[i] + f32(0.001) * g * g
            new_mean[i] = m
            new_square[i] = s
            out[i] = weight[i] - rate * m / (np.sqrt(s) + f32(1e-8))
        return out, new_mean, new_square


@workload(tiny=(16,), medium=(1 << 17,), large=(1 << 23,))
class polar:
    """Length and angle of vectors, float32."""

    def arguments(n):
        return normal(n), normal(n, seed=1)

    def program(x, y):
        return np.sqrt(x * x + y * y), np.arctan2(y, x)

    jax = torch = SAME

    def numba(x, y):
        length, angle = np.empty_like(x), np.empty_like(x)
        for i in prange(x.size):
            length[i] = np.sqrt(x[i] * x[i] + y[i] * y[i])
            angle[i] = np.arctan2(y[i], x[i])
        return length, angle
