"""Hares and lynxes: 1,000 populations at once, by Runge and Kutta's method in a `scan`.

Run it: `python examples/lotka_volterra.py`.

Lotka (1925) and Volterra (1926): dx/dt = a x - b x y, dy/dt = d x y - c y. The quantity
V = d x - c log x + b y - a log y stays what it was at the start, which checks the result.
"""

from __future__ import annotations

import numpy as np

import pyc
from pyc import lax
from pyc import numpy as pnp

STEPS = 2000
A, B, C, D = 1.1, 0.4, 0.4, 0.1


def slope(state):
    """The change of (hares, lynxes) in a unit of time."""
    x, y = state
    return A * x - B * x * y, D * x * y - C * y


def advance(state, dt):
    """One step of the classical fourth-order method."""

    def moved(slopes, by):
        return tuple(s + by * k for s, k in zip(state, slopes, strict=True))

    k1 = slope(state)
    k2 = slope(moved(k1, dt / 2))
    k3 = slope(moved(k2, dt / 2))
    k4 = slope(moved(k3, dt))
    return tuple(
        s + dt / 6 * (p + 2 * q + 2 * r + t)
        for s, p, q, r, t in zip(state, k1, k2, k3, k4, strict=True)
    )


@pyc.jit
def simulate(x, y, dt):
    """The last populations, and the mean of the hares after each step: (STEPS,)."""

    def step(state, _):
        state = advance(state, dt)
        return state, pnp.mean(state[0])

    return lax.scan(step, (x, y), None, length=STEPS)


def simulate_numpy(x, y, dt):
    """The same as a Python loop."""
    state, means = (x, y), []
    for _ in range(STEPS):
        state = advance(state, dt)
        means.append(state[0].mean())
    return state, np.array(means)


def invariant(x, y):
    """What stays the same along each solution."""
    return D * x - C * np.log(x) + B * y - A * np.log(y)


def main() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(5, 15, 1000), rng.uniform(1, 5, 1000)
    (hares, lynxes), means = simulate(x, y, 0.01)
    expected, expected_means = simulate_numpy(x, y, 0.01)
    np.testing.assert_allclose(hares, expected[0], rtol=1e-10)
    np.testing.assert_allclose(lynxes, expected[1], rtol=1e-10)
    np.testing.assert_allclose(means, expected_means, rtol=1e-10)
    drift = np.abs(invariant(hares, lynxes) - invariant(x, y)).max()
    assert drift < 1e-6
    print(f"{'time':>6} {'mean hares':>12}")
    for k in range(0, STEPS, STEPS // 8):
        print(f"{(k + 1) * 0.01:6.2f} {means[k]:12.4f}")
    print(f"largest drift of the invariant: {drift:.1e}")


if __name__ == "__main__":
    main()
