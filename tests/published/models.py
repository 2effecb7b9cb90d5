"""Bodies, rays, options, spectra, images and networks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tests.published.kernel import Array, Kernel, uniform


def accelerations(position, mass, softening):
    """Of bodies that attract each other, by the matrix of their differences."""
    x, y, z = position[:, 0:1], position[:, 1:2], position[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inverse = (dx**2 + dy**2 + dz**2 + softening**2) ** (-1.5)
    return np.hstack(((dx * inverse) @ mass, (dy * inverse) @ mass, (dz * inverse) @ mass))


def bodies(mass, position, velocity, steps, dt, softening):
    """Leapfrog with kicks and drifts; kinetic energy along the way."""
    position, velocity = position.copy(), velocity.copy()
    velocity -= np.mean(mass * velocity, axis=0) / np.mean(mass)
    acceleration = accelerations(position, mass, softening)
    kinetic = np.zeros(steps + 1)
    kinetic[0] = 0.5 * np.sum(mass * velocity**2)
    for i in range(steps):
        velocity += acceleration * dt / 2
        position += velocity * dt
        acceleration = accelerations(position, mass, softening)
        velocity += acceleration * dt / 2
        kinetic[i + 1] = 0.5 * np.sum(mass * velocity**2)
    return position, velocity, kinetic


def ray_cast(width, height, spheres, light):
    """Spheres lit by a point, seen through a pinhole: the nearest hit of each ray."""
    x, y = np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height))
    direction = np.stack([x, y, np.ones_like(x)], axis=-1)
    direction /= np.sqrt(np.sum(direction**2, axis=-1, keepdims=True))
    nearest = np.full(x.shape, np.inf)
    image = np.zeros(x.shape)
    for s in range(spheres.shape[0]):
        centre, radius = spheres[s, :3], spheres[s, 3]
        b = direction @ centre
        inside = b**2 - centre @ centre + radius**2
        t = np.where(inside > 0, b - np.sqrt(np.maximum(inside, 0)), np.inf)
        t = np.where(t > 0, t, np.inf)
        point = direction * np.where(np.isfinite(t), t, 0)[..., None]
        normal = (point - centre) / radius
        to_light = light - point
        to_light /= np.sqrt(np.sum(to_light**2, axis=-1, keepdims=True))
        shade = np.maximum(np.sum(normal * to_light, axis=-1), 0) * 0.9 + 0.1
        closer = t < nearest
        image[closer] = shade[closer]
        nearest[closer] = t[closer]
    return image, nearest


def binomial_option(spot, strike, rate, volatility, years, steps):
    """An American put by the tree of Cox, Ross and Rubinstein, backwards in place."""
    dt = years / steps
    up = np.exp(volatility * np.sqrt(dt))
    p = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    discount = np.exp(-rate * dt)
    ups = np.arange(steps + 1.0)
    value = np.maximum(strike - spot * up ** (2 * ups - steps), 0)
    for step in range(steps):
        left = steps - step
        value[:left] = discount * (p * value[1 : left + 1] + (1 - p) * value[:left])
        now = spot * up ** (2 * ups[:left] - left + 1)
        value[:left] = np.maximum(value[:left], strike - now)
    return value[0]


def black_scholes(spot, strike, years, rate, volatility):
    """Calls and puts, the normal distribution by a rational approximation."""

    def normal(x):
        k = 1 / (1 + 0.2316419 * np.abs(x))
        series = k * (
            0.319381530
            + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
        )
        tail = np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * series
        return np.where(x > 0, 1 - tail, tail)

    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / spread
    d2 = d1 - spread
    paid = strike * np.exp(-rate * years)
    call = spot * normal(d1) - paid * normal(d2)
    return call, call - spot + paid


def asian_paths(spot, rate, volatility, dt, shocks):
    """The mean payoff of an option on averages, over given shocks."""
    price = np.full(shocks.shape[1], spot)
    total = np.zeros(shocks.shape[1])
    drift = (rate - volatility**2 / 2) * dt
    for t in range(shocks.shape[0]):
        price *= np.exp(drift + volatility * np.sqrt(dt) * shocks[t])
        total += price
    return np.mean(np.maximum(total / shocks.shape[0] - spot, 0))


def mandelbrot_plane(c, limit):
    """How many steps each point takes to leave."""
    z = np.zeros_like(c)
    count = np.zeros(c.shape, np.int64)
    for n in range(limit):
        inside = np.abs(z) < 2.0
        count[inside] = n
        z[inside] = z[inside] ** 2 + c[inside]
    count[count == limit - 1] = 0
    return z, count


def azimuthal_means(radius, data, bins):
    """The mean of data in rings."""
    most = radius.max()
    edges = np.linspace(0, most, bins + 1)
    means = np.zeros(bins)
    for i in range(bins):
        ring = (edges[i] <= radius) & (radius < edges[i + 1])
        means[i] = data[ring].mean()
    return means


def fourier_by_stages(x):
    """Stockham's transform of a power of two, radix 2, without bit reversal."""
    n = x.shape[0]
    y = x.astype(np.complex128).reshape(n, 1)
    half = n // 2
    while half >= 1:
        size = y.shape[1]
        factor = np.exp(-1j * np.pi * np.arange(size) / size)
        even, odd = y[:half], y[half:] * factor
        y = np.concatenate([even + odd, even - odd], axis=1)
        half //= 2
    return y[0]


def poisson_by_sines(f):
    """Poisson's equation in a square with zero borders, by the sine transform in each direction."""
    n = f.shape[0]
    k = np.arange(1, n + 1)
    sines = np.sqrt(2 / (n + 1)) * np.sin(np.pi * np.outer(k, k) / (n + 1))
    values = 2 * (1 - np.cos(np.pi * k / (n + 1)))
    spectrum = sines @ f @ sines / np.add.outer(values, values)
    return sines @ spectrum @ sines


def chebyshev_sum(coefficients, x):
    """Clenshaw's recurrence."""
    b1 = np.zeros_like(x)
    b2 = np.zeros_like(x)
    for k in range(coefficients.shape[0] - 1, 0, -1):
        b1, b2 = 2 * x * b1 - b2 + coefficients[k], b1
    return x * b1 - b2 + coefficients[0]


def structure_factors(positions, waves):
    """Sums of plane waves over atoms, one wave at a time."""
    out = np.zeros(waves.shape[0])
    for i in range(waves.shape[0]):
        phase = positions @ waves[i]
        out[i] = np.cos(phase).sum() ** 2 + np.sin(phase).sum() ** 2
    return out / positions.shape[0]


def convolution_layer(images, weights):
    """Windows times weights, an output pixel at a time, as one writes it first."""
    size = weights.shape[0]
    n, h, w, _ = images.shape
    out = np.empty((n, h - size + 1, w - size + 1, weights.shape[3]), np.float32)
    for i in range(h - size + 1):
        for j in range(w - size + 1):
            window = images[:, i : i + size, j : j + size, :, np.newaxis]
            out[:, i, j, :] = np.sum(window * weights[np.newaxis], axis=(1, 2, 3))
    return out


def dense_network(x, w1, b1, w2, b2, w3, b3):
    x = np.maximum(x @ w1 + b1, 0)
    x = np.maximum(x @ w2 + b2, 0)
    x = x @ w3 + b3
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def attention_scores(x):
    """A softmax over the last axis of scores of many heads."""
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def _norm(x, scale, shift):
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True)
    return scale * (x - mean) / np.sqrt(variance + 1e-5) + shift


def language_model(tokens, embedding, places, layers, scale, shift):
    """Logits of a small transformer: attention of two heads and a network, per layer."""
    x = embedding[tokens] + places[: tokens.shape[0]]
    n, width = x.shape
    mask = (1 - np.tri(n, dtype=x.dtype)) * np.float32(-1e10)
    for attend, out, widen, narrow in layers:
        a = _norm(x, scale, shift) @ attend
        q, k, v = np.split(a, 3, axis=-1)
        heads = []
        for h in range(2):
            part = slice(h * width // 2, (h + 1) * width // 2)
            scores = q[:, part] @ k[:, part].T / np.sqrt(np.float32(width // 2)) + mask
            heads.append(attention_scores(scores) @ v[:, part])
        x = x + np.concatenate(heads, axis=-1) @ out
        b = _norm(x, scale, shift) @ widen
        b = 0.5 * b * (1 + np.tanh(np.float32(0.7978845608) * (b + np.float32(0.044715) * b**3)))
        x = x + b @ narrow
    return _norm(x, scale, shift) @ embedding.T


def contour_moments(a, points, vectors):
    """Moments of a resolvent along a circle, a system of equations per point by elimination."""
    n = a.shape[0]
    first = np.zeros((n, vectors.shape[1]), np.complex128)
    for k in range(points):
        z = 3.0 * np.exp(2j * np.pi * k / points)
        t = z * np.eye(n) - a
        x = vectors.astype(np.complex128)
        for i in range(n - 1):
            factor = t[i + 1 :, i] / t[i, i]
            t[i + 1 :, i:] -= np.outer(factor, t[i, i:])
            x[i + 1 :] -= np.outer(factor, x[i])
        for i in range(n - 1, -1, -1):
            x[i] = (x[i] - t[i, i + 1 :] @ x[i + 1 :]) / t[i, i]
        first += x * z / points
    return first


def clipped_sum(a):
    """tanh along the diagonal, added to all."""
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def clustered(points, centres, steps):
    """Lloyd's algorithm."""
    centres = centres.copy()
    for _ in range(steps):
        distance = ((points[:, None, :] - centres[None]) ** 2).sum(axis=-1)
        label = np.argmin(distance, axis=1)
        for k in range(centres.shape[0]):
            mine = label == k
            if np.any(mine):
                centres[k] = points[mine].mean(axis=0)
    return centres, label


def _single(*shape: int, seed: int = 0) -> Array:
    return (uniform(*shape, seed=seed) - 0.5).astype(np.float32)


def _plane(n):
    return np.linspace(-2, 0.5, n) + 1j * np.linspace(-1.25, 1.25, n)[:, None]


def _model(n):
    width, words = 2 * n, 8 * n
    layers = [
        tuple(
            _single(*shape, seed=10 * k + j) / np.float32(np.sqrt(width))
            for j, shape in enumerate(
                ((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width))
            )
        )
        for k in range(2)
    ]
    tokens = np.random.default_rng(0).integers(0, words, n)
    table, places = _single(words, width, seed=5), _single(n, width, seed=6)
    return tokens, table, places, layers, np.float32(1.0), np.float32(0.1)


def _network(n):
    sizes = (n, n, n // 2, 10)
    weights = [(_single(a, b, seed=a + b), _single(b, seed=b)) for a, b in pairwise(sizes)]
    return (_single(8, n), *(array for pair in weights for array in pair))


KERNELS = [
    Kernel(
        bodies,
        lambda n: (uniform(n, 1), uniform(n, 3, seed=1), uniform(n, 3, seed=2), 10, 0.01, 0.1),
        (9,),
        (100,),
    ),
    Kernel(
        ray_cast,
        lambda n: (
            n,
            n,
            np.hstack([uniform(8, 3) * 2 + [-1, -1, 3], uniform(8, 1) + 0.2]),
            np.array([2.0, -3.0, 0.0]),
        ),
        (12,),
        (200,),
    ),
    Kernel(binomial_option, lambda n: (100.0, 105.0, 0.03, 0.2, 1.0, n), (20,), (1000,)),
    Kernel(
        black_scholes,
        lambda n: (uniform(n) * 50 + 75, uniform(n, seed=1) * 50 + 75, uniform(n) + 0.2, 0.02, 0.3),
        (30,),
        (200_000,),
    ),
    Kernel(
        asian_paths,
        lambda n: (100.0, 0.02, 0.3, 0.02, np.random.default_rng(0).standard_normal((50, n))),
        (20,),
        (20_000,),
    ),
    Kernel(mandelbrot_plane, lambda n: (_plane(n), 30), (12,), (200,)),
    Kernel(azimuthal_means, lambda n: (uniform(n), uniform(n, seed=1), 40), (900,), (100_000,)),
    Kernel(fourier_by_stages, lambda n: (uniform(n),), (32,), (1 << 15,)),
    Kernel(poisson_by_sines, lambda n: (uniform(n, n),), (12,), (255,)),
    Kernel(chebyshev_sum, lambda n: (uniform(40), uniform(n) * 2 - 1), (20,), (100_000,)),
    Kernel(structure_factors, lambda n: (uniform(n, 3) * 10, uniform(n, 3, seed=1)), (20,), (600,)),
    Kernel(
        convolution_layer,
        lambda n: (_single(4, n, n, 3), _single(3, 3, 3, 8, seed=1)),
        (7,),
        (48,),
    ),
    Kernel(dense_network, _network, (20,), (1000,)),
    Kernel(attention_scores, lambda n: (_single(4, 4, n, n) * 20,), (9,), (200,)),
    Kernel(language_model, _model, (8,), (96,)),
    Kernel(contour_moments, lambda n: (uniform(n, n) / n, 8, uniform(n, 3, seed=1)), (8,), (60,)),
    Kernel(clipped_sum, lambda n: (uniform(n, n),), (20,), (1000,)),
    Kernel(clustered, lambda n: (uniform(n, 4), uniform(6, 4, seed=1), 10), (40,), (20_000,)),
]
