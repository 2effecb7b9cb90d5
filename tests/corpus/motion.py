"""Ordinary differential equations, bodies and molecules."""

from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import dataclass, field, replace

import numpy as np

from tests.corpus.case import Case, samples, uniform

G = 6.674e-2
SOFTENING = 1e-3
EPIDEMIC = {"beta": 0.4, "gamma": 0.1, "population": 1000.0}

State = namedtuple("State", ["position", "velocity"])
Epidemic = namedtuple("Epidemic", "susceptible infected recovered")


@dataclass
class Pendulum:
    """A damped pendulum."""

    length: float = 1.0
    damping: float = 0.1
    gravity: float = 9.81

    def derivative(self, state):
        angle, speed = state
        return np.array([speed, -self.gravity / self.length * np.sin(angle) - self.damping * speed])


@dataclass
class Particles:
    """Positions, velocities and the forces of the last step."""

    position: np.ndarray
    velocity: np.ndarray
    mass: float = 1.0
    history: list = field(default_factory=list)


class HarmonicOscillator:
    """A mass on a spring that remembers its state as attributes."""

    def __init__(self, stiffness, mass):
        self.stiffness = stiffness
        self.mass = mass
        self.omega = math.sqrt(stiffness / mass)

    def energy(self, x, v):
        """Kinetic and potential energy."""
        return 0.5 * self.mass * v**2 + 0.5 * self.stiffness * x**2

    def exact(self, x0, v0, t):
        """Position after the times t."""
        return x0 * np.cos(self.omega * t) + v0 / self.omega * np.sin(self.omega * t)


def euler_decay(y0, rate, dt, n):
    """Explicit Euler for exponential decay, each step stored."""
    y = np.zeros(n + 1)
    y[0] = y0
    for i in range(n):
        y[i + 1] = y[i] - dt * rate * y[i]
    return y


def damped_spring(x, v, t_end, dt, damping=0.2):
    """A damped spring until an end time: the number of steps is computed from floats."""
    steps = round(t_end / dt)
    times = np.linspace(0.0, steps * dt, steps + 1)
    positions = np.zeros(steps + 1)
    positions[0] = x
    for k in range(steps):
        v += dt * (-x - damping * v)
        x += dt * v
        positions[k + 1] = x
    return times, positions


def rk4_step(f, t, y, h):
    """The classical Runge-Kutta step for any right-hand side."""
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def lotka_volterra(y0, dt=0.05, steps=40):
    """Predators and prey by Runge-Kutta, with a closure over the rates."""
    alpha, beta, delta, gamma = 1.1, 0.4, 0.1, 0.4

    def rates(t, y):
        prey, predators = y
        return np.array(
            [alpha * prey - beta * prey * predators, delta * prey * predators - gamma * predators]
        )

    y = np.asarray(y0, dtype=float)
    trajectory = [y]
    for i in range(steps):
        y = rk4_step(rates, i * dt, y, dt)
        trajectory.append(y)
    return np.array(trajectory)


def lorenz(state, sigma=10.0, rho=28.0, beta=8.0 / 3.0, dt=0.01, steps=60):
    """The Lorenz attractor in three scalars and a table."""
    path = np.empty((steps, 3))
    x, y, z = state
    for i in range(steps):
        dx = sigma * (y - x)
        dy = x * (rho - z) - y
        dz = x * y - beta * z
        x += dx * dt
        y += dy * dt
        z += dz * dt
        path[i] = x, y, z
    return path


def adams_bashforth(y0, dt, n):
    """The two-step Adams-Bashforth method for y' = -2 t y."""

    def f(t, y):
        return -2.0 * t * y

    t = np.arange(n + 1) * dt
    y = np.zeros((n + 1, *y0.shape))
    y[0] = y0
    y[1] = y0 + dt * f(t[0], y0)
    for k in range(1, n):
        y[k + 1] = y[k] + dt * (1.5 * f(t[k], y[k]) - 0.5 * f(t[k - 1], y[k - 1]))
    return t, y


def implicit_euler(y0, dt, steps):
    """Implicit Euler for y' = -y**3, Newton's method in each step."""
    y = y0
    for _ in range(steps):
        z = y
        for _ in range(4):
            residual = z - y + dt * z**3
            slope = 1 + 3 * dt * z**2
            z = z - residual / slope
        y = z
    return y


def rk23_adaptive(y, t_end, tolerance=1e-4):
    """Bogacki-Shampine steps whose length follows the error."""
    t, h = 0.0, 0.1
    accepted = 0
    while t < t_end:
        h = min(h, t_end - t)
        k1 = -y + np.sin(t)
        k2 = -(y + h / 2 * k1) + np.sin(t + h / 2)
        k3 = -(y + 3 * h / 4 * k2) + np.sin(t + 3 * h / 4)
        new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = -new + np.sin(t + h)
        error = np.max(np.abs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)))
        if error <= tolerance:
            t += h
            y = new
            accepted += 1
        h *= min(2.0, max(0.3, 0.9 * (tolerance / (error + 1e-16)) ** (1 / 3)))
    return y, accepted


def velocity_verlet(position, velocity, dt, steps):
    """Velocity Verlet in the field of a spring, returned as a named tuple."""
    state = State(position, velocity)
    acceleration = -state.position
    for _ in range(steps):
        position = state.position + state.velocity * dt + 0.5 * acceleration * dt * dt
        new = -position
        velocity = state.velocity + 0.5 * (acceleration + new) * dt
        state = State(position=position, velocity=velocity)
        acceleration = new
    return state


def pendulum_swing(pendulum, start, dt, steps):
    """A pendulum, an instance of a dataclass with a method, by the midpoint rule."""
    state = np.array(start)
    angles = np.zeros(steps)
    for i in range(steps):
        middle = state + 0.5 * dt * pendulum.derivative(state)
        state = state + dt * pendulum.derivative(middle)
        angles[i] = state[0]
    return angles


def double_pendulum_energy(theta1, theta2, omega1, omega2):
    """The energy of a double pendulum of unit lengths and masses."""
    kinetic = omega1**2 + 0.5 * omega2**2 + omega1 * omega2 * np.cos(theta1 - theta2)
    potential = -9.81 * (2 * np.cos(theta1) + np.cos(theta2))
    return kinetic + potential


def sir_epidemic(infected, days):
    """Susceptible, infected and recovered, in a named tuple with _replace."""
    beta, gamma = EPIDEMIC["beta"], EPIDEMIC["gamma"]
    n = EPIDEMIC["population"]
    state = Epidemic(n - infected, infected, 0.0)
    peak = infected
    for _ in range(days):
        new = beta * state.susceptible * state.infected / n
        healed = gamma * state.infected
        state = state._replace(
            susceptible=state.susceptible - new,
            infected=state.infected + new - healed,
            recovered=state.recovered + healed,
        )
        peak = max(peak, state.infected)
    return state, peak


def gravity_loops(position, mass):
    """Accelerations of bodies by two loops over pairs."""
    n = len(mass)
    acceleration = np.zeros_like(position)
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            apart = position[j] - position[i]
            distance = np.sqrt(np.dot(apart, apart) + SOFTENING)
            acceleration[i] += G * mass[j] * apart / distance**3
    return acceleration


def gravity_broadcast(position, mass):
    """Accelerations of bodies by broadcasting, the diagonal filled."""
    apart = position[np.newaxis, :, :] - position[:, np.newaxis, :]
    squared = np.sum(apart**2, axis=-1) + SOFTENING
    np.fill_diagonal(squared, 1.0)
    weight = G * mass[np.newaxis, :] / squared**1.5
    np.fill_diagonal(weight, 0.0)
    return np.einsum("ij,ijk->ik", weight, apart)


def leapfrog_bodies(position, velocity, mass, dt, steps):
    """Kick, drift, kick; also the drift of the total energy."""
    position, velocity = position.copy(), velocity.copy()
    acceleration = gravity_broadcast(position, mass)
    start = total_energy(position, velocity, mass)
    for _ in range(steps):
        velocity += 0.5 * dt * acceleration
        position += dt * velocity
        acceleration = gravity_broadcast(position, mass)
        velocity += 0.5 * dt * acceleration
    return position, total_energy(position, velocity, mass) - start


def total_energy(position, velocity, mass):
    """Kinetic and potential energy of all bodies."""
    kinetic = 0.5 * np.sum(mass * np.sum(velocity**2, axis=1))
    potential = 0.0
    for i in range(len(mass)):
        for j in range(i + 1, len(mass)):
            potential -= G * mass[i] * mass[j] / np.linalg.norm(position[i] - position[j])
    return kinetic + potential


def lennard_jones(position, box, cutoff=2.5):
    """Forces and energy between molecules in a periodic box."""
    apart = position[:, None] - position[None, :]
    apart -= box * np.round(apart / box)
    r2 = (apart**2).sum(-1)
    r2[np.diag_indices(len(position))] = np.inf
    inside = r2 < cutoff**2
    inverse6 = np.where(inside, 1.0 / r2**3, 0.0)
    energy = 0.5 * np.sum(4 * (inverse6**2 - inverse6))
    scale = 24 * (2 * inverse6**2 - inverse6) / r2
    return (scale[..., None] * apart).sum(axis=1), energy


def thermostat(velocity, target, mass=1.0):
    """Velocities without drift, scaled to a temperature."""
    velocity -= velocity.mean(axis=0)
    temperature = mass * (velocity**2).sum() / (3 * len(velocity))
    velocity *= np.sqrt(target / temperature)
    return velocity


def wall_bounce(position, velocity, dt, lower=0.0, upper=1.0):
    """Free particles reflected by walls, by boolean masks."""
    position = position + velocity * dt
    velocity = velocity.copy()
    below = position < lower
    above = position > upper
    position[below] = 2 * lower - position[below]
    position[above] = 2 * upper - position[above]
    velocity[below | above] *= -1
    return position, velocity


def advance_particles(particles, dt, steps):
    """Particles under gravity, a dataclass replaced in each step with its history."""
    down = np.array([0.0, -9.81])
    for _ in range(steps):
        velocity = particles.velocity + dt * down
        position = particles.position + dt * velocity
        particles = replace(particles, position=position, velocity=velocity)
        particles.history.append(np.mean(position[:, 1]))
    return particles.position, np.array(particles.history[-steps:])


def henon_map(x, y, a=1.4, b=0.3, iterations=30):
    """Henon's map for many starting points; escaped points are set to NaN."""
    for _ in range(iterations):
        x, y = 1 - a * x**2 + y, b * x
        x[np.abs(x) > 10] = np.nan
    return x, y


def robertson_rates(y):
    """Robertson's chemical kinetics and its Jacobian."""
    k1, k2, k3 = 0.04, 3e7, 1e4
    a, b, c = y
    rates = np.array([-k1 * a + k3 * b * c, k1 * a - k3 * b * c - k2 * b**2, k2 * b**2])
    jacobian = np.zeros((3, 3))
    jacobian[0] = [-k1, k3 * c, k3 * b]
    jacobian[1] = [k1, -k3 * c - 2 * k2 * b, -k3 * b]
    jacobian[2, 1] = 2 * k2 * b
    return rates, jacobian


def projectile(speed, angle, drag=0.02, dt=0.01):
    """The range of a projectile with drag: steps until it reaches the ground."""
    x, y = 0.0, 0.0
    vx, vy = speed * np.cos(angle), speed * np.sin(angle)
    while True:
        v = np.hypot(vx, vy)
        vx -= drag * v * vx * dt
        vy -= (9.81 + drag * v * vy) * dt
        x += vx * dt
        y += vy * dt
        if y < 0:
            break
    return x


CASES = [
    Case(HarmonicOscillator(2.0, 0.5).energy, lambda: (samples(10), samples(10, seed=1))),
    Case(HarmonicOscillator(2.0, 0.5).exact, lambda: (0.3, -0.2, np.linspace(0, 5, 20))),
    Case(damped_spring, lambda: (1.0, 0.0, 2.0, 0.05)),
    Case(euler_decay, lambda: (1.0, 0.3, 0.1, 25)),
    Case(lotka_volterra, lambda: ([10.0, 5.0],)),
    Case(lorenz, lambda: ((1.0, 1.0, 1.0),)),
    Case(adams_bashforth, lambda: (samples(4), 0.05, 20)),
    Case(implicit_euler, lambda: (samples(6), 0.1, 10)),
    Case(rk23_adaptive, lambda: (samples(3), 2.0)),
    Case(velocity_verlet, lambda: (samples(3, 2), samples(3, 2, seed=1), 0.05, 20)),
    Case(pendulum_swing, lambda: (Pendulum(damping=0.3), [0.5, 0.0], 0.02, 30)),
    Case(double_pendulum_energy, lambda: tuple(samples(4, 9))),
    Case(sir_epidemic, lambda: (3.0, 30)),
    Case(gravity_loops, lambda: (samples(5, 3), uniform(5))),
    Case(gravity_broadcast, lambda: (samples(7, 3), uniform(7))),
    Case(leapfrog_bodies, lambda: (samples(4, 3), samples(4, 3, seed=1), uniform(4), 0.01, 5)),
    Case(lennard_jones, lambda: (4 * uniform(9, 3), 4.0)),
    Case(thermostat, lambda: (samples(10, 3), 1.5)),
    Case(wall_bounce, lambda: (uniform(12, 2), samples(12, 2), 0.3)),
    Case(advance_particles, lambda: (Particles(samples(6, 2), samples(6, 2)), 0.05, 8)),
    Case(henon_map, lambda: (samples(20), samples(20, seed=1))),
    Case(robertson_rates, lambda: (np.array([0.9, 1e-5, 0.1]),)),
    Case(projectile, lambda: (20.0, 0.7)),
]
