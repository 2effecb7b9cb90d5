"""Stencils and flows on grids: explicit and implicit steps, in place, as NumPy users slice them."""

from __future__ import annotations

import numpy as np

from tests.published.kernel import Kernel, uniform


def jacobi_line(steps, a, b):
    a, b = a.copy(), b.copy()
    for _ in range(steps):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3
        a[1:-1] = (b[:-2] + b[1:-1] + b[2:]) / 3
    return a


def jacobi_plane(steps, a, b):
    a, b = a.copy(), b.copy()
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (
            a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
        )
        a[1:-1, 1:-1] = 0.2 * (
            b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1]
        )
    return a


def heat_in_space(steps, a):
    a = a.copy()
    inner = slice(1, -1)
    for _ in range(steps):
        new = a.copy()
        for axis in range(3):
            low = [inner] * 3
            high = [inner] * 3
            low[axis], high[axis] = slice(None, -2), slice(2, None)
            bent = a[tuple(low)] - 2.0 * a[inner, inner, inner] + a[tuple(high)]
            new[inner, inner, inner] += 0.125 * bent
        a = new
    return a


def gauss_seidel_plane(steps, a):
    """Row by row, the left neighbour already new."""
    a = a.copy()
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            a[i, 1:-1] += (
                a[i - 1, :-2]
                + a[i - 1, 1:-1]
                + a[i - 1, 2:]
                + a[i, 2:]
                + a[i + 1, :-2]
                + a[i + 1, 1:-1]
                + a[i + 1, 2:]
            )
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0
    return a


def maxwell_plane(ex, ey, hz, fict):
    """Yee's scheme for the electric field in a plane and the magnetic one across it."""
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for t in range(fict.shape[0]):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def alternating_directions(steps, u):
    """Peaceman and Rachford's implicit steps, a tridiagonal system along each axis in turn."""
    u = u.copy()
    n = u.shape[0]
    v = np.empty(u.shape)
    p = np.empty(u.shape)
    q = np.empty(u.shape)
    r = 0.4 * n / steps
    for _ in range(steps):
        for target, source in ((v, u), (u, v)):
            p[:, 0] = 0.0
            q[:, 0] = 1.0
            for j in range(1, n - 1):
                p[1:-1, j] = r / (2 * (1 + r) - r * p[1:-1, j - 1])
                q[1:-1, j] = (
                    r * source[j, :-2]
                    + 2 * (1 - r) * source[j, 1:-1]
                    + r * source[j, 2:]
                    + r * q[1:-1, j - 1]
                ) / (2 * (1 + r) - r * p[1:-1, j - 1])
            target[n - 1, 1:-1] = 1.0
            target[0, :] = 1.0
            target[:, 0] = 1.0
            target[:, n - 1] = 1.0
            for j in range(n - 2, 0, -1):
                target[j, 1:-1] = p[1:-1, j] * target[j + 1, 1:-1] + q[1:-1, j]
    return u


def horizontal_diffusion(field, coefficient):
    """Fourth-order diffusion with a limiter, on planes of a weather model."""
    lap = 4.0 * field[1:-1, 1:-1, :] - (
        field[2:, 1:-1, :] + field[:-2, 1:-1, :] + field[1:-1, 2:, :] + field[1:-1, :-2, :]
    )
    along = lap[1:, 1:-1, :] - lap[:-1, 1:-1, :]
    along = np.where(along * (field[2:-1, 2:-2, :] - field[1:-2, 2:-2, :]) > 0, 0, along)
    across = lap[1:-1, 1:, :] - lap[1:-1, :-1, :]
    across = np.where(across * (field[2:-2, 2:-1, :] - field[2:-2, 1:-2, :]) > 0, 0, across)
    flux = along[1:] - along[:-1] + across[:, 1:] - across[:, :-1]
    return field[2:-2, 2:-2, :] - coefficient * flux


def vertical_advection(u, w, dt):
    """An implicit step along the last axis: Thomas' algorithm for all columns at a time."""
    levels = u.shape[2]
    c = np.empty(u.shape)
    d = np.empty(u.shape)
    for k in range(levels):
        low = -0.25 * w[:, :, k] if k > 0 else np.zeros(u.shape[:2])
        high = 0.25 * w[:, :, k + 1] if k < levels - 1 else np.zeros(u.shape[:2])
        middle = 1.0 / dt - low - high
        right = u[:, :, k] / dt
        if k > 0:
            scale = middle - c[:, :, k - 1] * low
            c[:, :, k] = high / scale
            d[:, :, k] = (right - d[:, :, k - 1] * low) / scale
        else:
            c[:, :, k] = high / middle
            d[:, :, k] = right / middle
    out = np.empty(u.shape)
    out[:, :, -1] = d[:, :, -1]
    for k in range(levels - 2, -1, -1):
        out[:, :, k] = d[:, :, k] - c[:, :, k] * out[:, :, k + 1]
    return out


def pressure_poisson(p, b, dx, dy, sweeps):
    for _ in range(sweeps):
        old = p.copy()
        p[1:-1, 1:-1] = (
            (old[1:-1, 2:] + old[1:-1, :-2]) * dy**2
            + (old[2:, 1:-1] + old[:-2, 1:-1]) * dx**2
            - b[1:-1, 1:-1] * dx**2 * dy**2
        ) / (2 * (dx**2 + dy**2))
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0
    return p


def cavity_flow(n, steps, sweeps, dt, rho, nu):
    """The lid-driven cavity: velocities and pressure of an incompressible fluid."""
    dx = dy = 2.0 / (n - 1)
    u = np.zeros((n, n))
    v = np.zeros((n, n))
    p = np.zeros((n, n))
    b = np.zeros((n, n))
    for _ in range(steps):
        ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
        uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy)
        vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
        vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
        b[1:-1, 1:-1] = rho * ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2)
        p = pressure_poisson(p, b, dx, dy, sweeps)
        un, vn = u.copy(), v.copy()
        for w, old, slope in (
            (u, un, (p[1:-1, 2:] - p[1:-1, :-2]) / (2 * rho * dx)),
            (v, vn, (p[2:, 1:-1] - p[:-2, 1:-1]) / (2 * rho * dy)),
        ):
            w[1:-1, 1:-1] = (
                old[1:-1, 1:-1]
                - un[1:-1, 1:-1] * dt / dx * (old[1:-1, 1:-1] - old[1:-1, :-2])
                - vn[1:-1, 1:-1] * dt / dy * (old[1:-1, 1:-1] - old[:-2, 1:-1])
                - dt * slope
                + nu * dt / dx**2 * (old[1:-1, 2:] - 2 * old[1:-1, 1:-1] + old[1:-1, :-2])
                + nu * dt / dy**2 * (old[2:, 1:-1] - 2 * old[1:-1, 1:-1] + old[:-2, 1:-1])
            )
            w[0, :] = 0
            w[:, 0] = 0
            w[:, -1] = 0
            w[-1, :] = 0
        u[-1, :] = 1
    return u, v, p


def channel_flow(n, force, dt, nu, tolerance):
    """Flow between plates, periodic along them, until it changes little."""
    h = 2.0 / (n - 1)
    u = np.zeros((n, n))
    change = 1.0
    count = 0
    while change > tolerance:
        old = u.copy()
        left, right = np.roll(old, 1, axis=1), np.roll(old, -1, axis=1)
        u[1:-1] = (
            old[1:-1]
            - old[1:-1] * dt / h * (old[1:-1] - left[1:-1])
            + nu * dt / h**2 * (right[1:-1] - 2 * old[1:-1] + left[1:-1])
            + nu * dt / h**2 * (old[2:] - 2 * old[1:-1] + old[:-2])
            + force * dt
        )
        u[0, :] = 0
        u[-1, :] = 0
        change = (np.sum(u) - np.sum(old)) / np.sum(u)
        count += 1
    return u, count


DIRECTIONS = np.array(
    [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]]
)
WEIGHTS = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
OPPOSITE = [0, 3, 4, 1, 2, 7, 8, 5, 6]


def lattice_boltzmann(f, wall, steps, omega):
    """The D2Q9 lattice with one relaxation time; walls bounce back."""
    f = f.copy()
    for _ in range(steps):
        for k in range(9):
            f[k] = np.roll(f[k], (DIRECTIONS[k, 0], DIRECTIONS[k, 1]), axis=(0, 1))
        bounced = f[OPPOSITE]
        rho = np.sum(f, axis=0)
        ux = np.tensordot(DIRECTIONS[:, 0].astype(float), f, 1) / rho
        uy = np.tensordot(DIRECTIONS[:, 1].astype(float), f, 1) / rho
        square = 1.5 * (ux**2 + uy**2)
        for k in range(9):
            cu = 3 * (DIRECTIONS[k, 0] * ux + DIRECTIONS[k, 1] * uy)
            equal = rho * WEIGHTS[k] * (1 + cu + 0.5 * cu**2 - square)
            f[k] = np.where(wall, bounced[k], f[k] - omega * (f[k] - equal))
    return f


def game_of_life(steps, cells):
    cells = cells.copy()
    for _ in range(steps):
        near = (
            cells[:-2, :-2]
            + cells[:-2, 1:-1]
            + cells[:-2, 2:]
            + cells[1:-1, :-2]
            + cells[1:-1, 2:]
            + cells[2:, :-2]
            + cells[2:, 1:-1]
            + cells[2:, 2:]
        )
        born = (near == 3) & (cells[1:-1, 1:-1] == 0)
        stays = ((near == 2) | (near == 3)) & (cells[1:-1, 1:-1] == 1)
        cells[...] = 0
        cells[1:-1, 1:-1][born | stays] = 1
    return cells


def shallow_water(h, u, v, steps, dt):
    h, u, v = h.copy(), u.copy(), v.copy()
    for _ in range(steps):
        u[1:, :] -= dt * 9.81 * (h[1:, :] - h[:-1, :])
        v[:, 1:] -= dt * 9.81 * (h[:, 1:] - h[:, :-1])
        u[0, :] = 0
        v[:, 0] = 0
        h[:-1, :] -= dt * (u[1:, :] - u[:-1, :])
        h[:, :-1] -= dt * (v[:, 1:] - v[:, :-1])
    return h, u, v


def _channel(n):
    wall = np.zeros((n, 2 * n), bool)
    wall[0], wall[-1] = True, True
    wall[n // 3 : n // 2, n // 2 : n // 2 + 3] = True
    start = WEIGHTS[:, None, None] * np.ones((1, n, 2 * n))
    start[3] *= 1.05
    return start, wall, 10, 1.2


KERNELS = [
    Kernel(jacobi_line, lambda n: (20, uniform(n), uniform(n, seed=1)), (30,), (100_000,)),
    Kernel(jacobi_plane, lambda n: (10, uniform(n, n), uniform(n, n, seed=1)), (14,), (400,)),
    Kernel(heat_in_space, lambda n: (5, uniform(n, n, n)), (8,), (60,)),
    Kernel(gauss_seidel_plane, lambda n: (4, uniform(n, n)), (10,), (100,)),
    Kernel(
        maxwell_plane,
        lambda n: (uniform(n, n), uniform(n, n, seed=1), uniform(n, n, seed=2), np.arange(20.0)),
        (14,),
        (400,),
    ),
    Kernel(alternating_directions, lambda n: (5, uniform(n, n)), (12,), (200,)),
    Kernel(
        horizontal_diffusion, lambda n: (uniform(n, n, n), uniform(n - 4, n - 4, n)), (9,), (100,)
    ),
    Kernel(
        vertical_advection,
        lambda n: (uniform(n, n, 12), uniform(n, n, 13, seed=1), 0.5),
        (6,),
        (150,),
    ),
    Kernel(cavity_flow, lambda n: (n, 10, 20, 0.001, 1.0, 0.1), (11,), (101,)),
    Kernel(channel_flow, lambda n: (n, 1.0, 0.2 / n, 0.1, 2e-3), (11,), (101,)),
    Kernel(lattice_boltzmann, _channel, (10,), (100,)),
    Kernel(game_of_life, lambda n: (20, (uniform(n, n) < 0.4).astype(int)), (16,), (300,)),
    Kernel(
        shallow_water,
        lambda n: (1 + 0.1 * uniform(n, n), np.zeros((n, n)), np.zeros((n, n)), 20, 0.01),
        (12,),
        (400,),
    ),
]
