"""Partial differential equations on grids, by finite differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.corpus.case import Case, samples, uniform

GRAVITY = 9.81
DIFFUSION = 0.1
STENCIL = np.array([[0.05, 0.2, 0.05], [0.2, -1.0, 0.2], [0.05, 0.2, 0.05]])


@dataclass
class Grid:
    """A regular grid: points in each direction, spacing and time step."""

    nx: int
    ny: int
    dx: float
    dt: float

    @property
    def courant(self):
        return self.dt / self.dx


@dataclass(frozen=True)
class Reaction:
    """Rates of the Gray-Scott reaction."""

    feed: float = 0.035
    kill: float = 0.065
    du: float = 0.16
    dv: float = 0.08


WATER = Grid(nx=16, ny=12, dx=1.0, dt=0.02)
SPOTS = Reaction()


def heat_step(u, dt, dx):
    """One explicit step of the heat equation on a line with fixed ends."""
    new = u.copy()
    new[1:-1] = u[1:-1] + DIFFUSION * dt / dx**2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return new


def heat_many_steps(u, steps=50):
    """The heat equation for a number of steps, with insulated ends."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] = u[1]
        u[-1] = u[-2]
    return u


def laplacian(field, dx=1.0):
    """The five-point Laplacian with zero at the border."""
    out = np.zeros_like(field)
    out[1:-1, 1:-1] = (
        field[:-2, 1:-1]
        + field[2:, 1:-1]
        + field[1:-1, :-2]
        + field[1:-1, 2:]
        - 4.0 * field[1:-1, 1:-1]
    ) / dx**2
    return out


def nine_point_laplacian(field):
    """A Laplacian on a periodic grid, by the weights of a module constant."""
    out = np.zeros(field.shape)
    for i in range(3):
        for j in range(3):
            out += STENCIL[i, j] * np.roll(field, (i - 1, j - 1), axis=(0, 1))
    return out


def upwind_advection(q, speed, courant):
    """One step of linear advection, upwind for either sign of the speed."""
    left = q - np.roll(q, 1)
    right = np.roll(q, -1) - q
    if speed > 0:
        return q - courant * speed * left
    return q - courant * speed * right


def lax_wendroff(q, courant, steps=20):
    """Lax-Wendroff advection around a ring."""
    for _ in range(steps):
        ahead, behind = np.roll(q, -1), np.roll(q, 1)
        q = q - courant / 2 * (ahead - behind) + courant**2 / 2 * (ahead - 2 * q + behind)
    return q


def minmod(a, b):
    """The smaller of two slopes where they agree in sign, else zero."""
    return np.where(a * b > 0, np.sign(a) * np.minimum(np.abs(a), np.abs(b)), 0.0)


def muscl_burgers(u, dt, dx, steps=10):
    """Burgers' equation with limited linear reconstruction and Rusanov's flux."""
    for _ in range(steps):
        slope = minmod(u - np.roll(u, 1), np.roll(u, -1) - u)
        left = u + 0.5 * slope
        right = np.roll(u - 0.5 * slope, -1)
        speed = np.maximum(np.abs(left), np.abs(right))
        flux = 0.5 * (0.5 * left**2 + 0.5 * right**2) - 0.5 * speed * (right - left)
        u = u - dt / dx * (flux - np.roll(flux, 1))
    return u


def wave_2d(height, grid, steps):
    """The wave equation in the plane, two time levels that change places."""
    previous = height.copy()
    current = height.copy()
    factor = grid.courant**2
    for _ in range(steps):
        following = 2 * current - previous + factor * laplacian(current)
        previous, current = current, following
    return current


def shallow_water_step(h, u, v):
    """One step of the linear shallow water equations; parameters are a module constant."""
    dt, dx = WATER.dt, WATER.dx
    u[1:, :] -= GRAVITY * dt / dx * (h[1:, :] - h[:-1, :])
    v[:, 1:] -= GRAVITY * dt / dx * (h[:, 1:] - h[:, :-1])
    h[:-1, :] -= dt / dx * (u[1:, :] - u[:-1, :])
    h[:, :-1] -= dt / dx * (v[:, 1:] - v[:, :-1])
    return h, u, v


def gray_scott(u, v, steps=8, reaction=SPOTS):
    """The Gray-Scott reaction and diffusion on a periodic grid."""

    def spread(field):
        return (
            np.roll(field, 1, 0)
            + np.roll(field, -1, 0)
            + np.roll(field, 1, 1)
            + np.roll(field, -1, 1)
            - 4 * field
        )

    for _ in range(steps):
        uvv = u * v * v
        u = u + reaction.du * spread(u) - uvv + reaction.feed * (1 - u)
        v = v + reaction.dv * spread(v) + uvv - (reaction.feed + reaction.kill) * v
    return u, v


def poisson_jacobi(source, dx, tolerance=1e-3):
    """Jacobi sweeps for Poisson's equation until the change is small."""
    potential = np.zeros_like(source)
    change = np.inf
    sweeps = 0
    while change > tolerance:
        new = potential.copy()
        new[1:-1, 1:-1] = 0.25 * (
            potential[2:, 1:-1]
            + potential[:-2, 1:-1]
            + potential[1:-1, 2:]
            + potential[1:-1, :-2]
            - dx**2 * source[1:-1, 1:-1]
        )
        change = np.abs(new - potential).max()
        potential = new
        sweeps += 1
    return potential, sweeps


def gauss_seidel_poisson(potential, source, sweeps):
    """Gauss-Seidel sweeps over the points one by one."""
    p = potential.copy()
    rows, columns = p.shape
    for _ in range(sweeps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                p[i, j] = 0.25 * (
                    p[i - 1, j] + p[i + 1, j] + p[i, j - 1] + p[i, j + 1] - source[i, j]
                )
    return p


def red_black_sweep(p, source, omega=1.5):
    """One over-relaxed red-black sweep, with strided slices."""
    p = p.copy()
    for parity in (0, 1):
        for row in range(1, p.shape[0] - 1):
            start = 1 + (row + parity) % 2
            here = slice(start, -1, 2)
            neighbours = p[row - 1, here] + p[row + 1, here]
            neighbours += p[row, start - 1 : -2 : 2] + p[row, start + 1 :: 2]
            residual = 0.25 * (neighbours - source[row, here]) - p[row, here]
            p[row, here] += omega * residual
    return p


def crank_nicolson(u, r):
    """One Crank-Nicolson step of the heat equation: a tridiagonal system by Thomas."""
    n = len(u)
    right = np.empty(n)
    right[0], right[-1] = u[0], u[-1]
    right[1:-1] = 0.5 * r * u[:-2] + (1 - r) * u[1:-1] + 0.5 * r * u[2:]
    upper = np.zeros(n)
    solution = np.zeros(n)
    beta = 1.0
    solution[0] = right[0]
    for i in range(1, n):
        a = -0.5 * r if i < n - 1 else 0.0
        b = 1 + r if i < n - 1 else 1.0
        upper[i] = (-0.5 * r if i > 1 else 0.0) / beta
        beta = b - a * upper[i]
        solution[i] = (right[i] - a * solution[i - 1]) / beta
    for i in range(n - 2, -1, -1):
        solution[i] -= upper[i + 1] * solution[i + 1]
    return solution


def fitzhugh_nagumo(v, w, dt=0.05, steps=10):
    """Excitable medium: voltage diffuses, recovery does not."""
    a, b, eps = 0.7, 0.8, 0.08
    for step in range(steps):
        padded = np.pad(v, 1, mode="edge")
        diffusion = (
            padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4 * v
        )
        stimulus = 0.5 if step < 4 else 0.0
        dv = v - v**3 / 3 - w + stimulus + diffusion
        dw = eps * (v + a - b * w)
        v, w = v + dt * dv, w + dt * dw
    return {"voltage": v, "recovery": w}


def divergence(fx, fy, dx):
    """The divergence of a vector field by np.gradient."""
    return np.gradient(fx, dx, axis=1) + np.gradient(fy, dx, axis=0)


def curl_z(fx, fy):
    """The vertical component of the curl, one element at a time inside the border."""
    curl = np.zeros(fx.shape, dtype=fx.dtype)
    for i in range(1, fx.shape[0] - 1):
        curl[i, 1:-1] = (fy[i, 2:] - fy[i, :-2]) / 2 - (fx[i + 1, 1:-1] - fx[i - 1, 1:-1]) / 2
    return curl


def eikonal_step(phi, dt=0.1):
    """One step of |grad phi| = 1 towards a signed distance (Godunov's scheme)."""
    sign = phi / np.sqrt(phi**2 + 1)
    back_x = np.diff(phi, axis=1, prepend=phi[:, :1])
    forward_x = np.diff(phi, axis=1, append=phi[:, -1:])
    back_y = np.diff(phi, axis=0, prepend=phi[:1])
    forward_y = np.diff(phi, axis=0, append=phi[-1:])
    gx = np.where(
        sign > 0,
        np.maximum(np.maximum(back_x, 0) ** 2, np.minimum(forward_x, 0) ** 2),
        np.maximum(np.minimum(back_x, 0) ** 2, np.maximum(forward_x, 0) ** 2),
    )
    gy = np.where(
        sign > 0,
        np.maximum(np.maximum(back_y, 0) ** 2, np.minimum(forward_y, 0) ** 2),
        np.maximum(np.minimum(back_y, 0) ** 2, np.maximum(forward_y, 0) ** 2),
    )
    return phi - dt * sign * (np.sqrt(gx + gy) - 1)


def schroedinger_steps(psi, potential, dt=0.01, steps=5):
    """A wave function in a potential: explicit steps that are normalised again."""
    psi = psi.astype(complex)
    for _ in range(steps):
        kinetic = np.zeros_like(psi)
        kinetic[1:-1] = -0.5 * (psi[2:] - 2 * psi[1:-1] + psi[:-2])
        psi = psi - 1j * dt * (kinetic + potential * psi)
        psi /= np.sqrt(np.sum(np.abs(psi) ** 2))
    return np.abs(psi) ** 2


def fft_poisson(source):
    """Poisson's equation on a periodic grid by the fast Fourier transform."""
    n = source.shape[0]
    k = np.fft.fftfreq(n, d=1.0 / n)
    kx, ky = np.meshgrid(k, k)
    squared = kx**2 + ky**2
    squared[0, 0] = 1.0
    spectrum = np.fft.fft2(source) / -squared
    spectrum[0, 0] = 0.0
    return np.real(np.fft.ifft2(spectrum))


def traffic_flow(density, steps=12):
    """The Lighthill-Whitham model by the Lax-Friedrichs scheme, with the history kept."""
    history = np.empty((steps + 1, density.size))
    history[0] = density
    for t in range(steps):
        rho = history[t]
        flux = rho * (1.0 - rho)
        history[t + 1] = 0.5 * (np.roll(rho, 1) + np.roll(rho, -1)) - 0.25 * (
            np.roll(flux, -1) - np.roll(flux, 1)
        )
    return history


CASES = [
    Case(heat_step, lambda: (samples(30), 0.1, 0.5)),
    Case(heat_many_steps, lambda: (samples(30),)),
    Case(laplacian, lambda: (samples(9, 11), 0.5)),
    Case(nine_point_laplacian, lambda: (samples(8, 10),)),
    Case(upwind_advection, lambda: (samples(20), -0.7, 0.4)),
    Case(lax_wendroff, lambda: (samples(24), 0.5)),
    Case(muscl_burgers, lambda: (samples(24), 0.01, 0.1)),
    Case(wave_2d, lambda: (samples(12, 10), Grid(12, 10, 1.0, 0.5), 15)),
    Case(shallow_water_step, lambda: (samples(16, 12), samples(16, 12), samples(16, 12))),
    Case(gray_scott, lambda: (uniform(10, 10), uniform(10, 10, seed=1))),
    Case(poisson_jacobi, lambda: (samples(8, 8), 0.3)),
    Case(gauss_seidel_poisson, lambda: (np.zeros((7, 6)), samples(7, 6), 3)),
    Case(red_black_sweep, lambda: (samples(8, 9), samples(8, 9))),
    Case(crank_nicolson, lambda: (samples(20), 0.4)),
    Case(fitzhugh_nagumo, lambda: (samples(9, 9), samples(9, 9))),
    Case(divergence, lambda: (samples(7, 9), samples(7, 9), 0.2)),
    Case(curl_z, lambda: (samples(7, 9), samples(7, 9))),
    Case(eikonal_step, lambda: (samples(9, 8),)),
    Case(schroedinger_steps, lambda: (samples(20), samples(20))),
    Case(fft_poisson, lambda: (samples(8, 8),)),
    Case(traffic_flow, lambda: (np.abs(samples(20)) % 1.0,)),
]
