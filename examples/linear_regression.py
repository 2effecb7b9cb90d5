"""Ridge regression by conjugate gradients: a `while_loop` that stops when the error is small.

Run it: `python examples/linear_regression.py`.

Solves (x^T x + ridge I) w = x^T t without forming x^T x (Hestenes and Stiefel, 1952).
"""

from __future__ import annotations

import numpy as np

import pyc
from pyc import lax
from pyc import numpy as pnp

ROWS, COLUMNS = 2000, 50


@pyc.jit
def fit(x, t, ridge, tolerance):
    """Weights (columns,), the rounds it took, and the last squared residual."""

    def product(p):
        return x.T @ (x @ p) + ridge * p

    def running(state):
        _, _, _, error, rounds = state
        return (error > tolerance) & (rounds < 500)

    def step(state):
        w, r, p, error, rounds = state
        q = product(p)
        length = error / (p @ q)
        w, r = w + length * p, r - length * q
        smaller = r @ r
        return w, r, r + smaller / error * p, smaller, rounds + 1

    r = x.T @ t
    start = pnp.zeros_like(r), r, r, r @ r, 0
    w, _, _, error, rounds = lax.while_loop(running, step, start)
    return w, rounds, error


def main() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS, COLUMNS))
    truth = rng.standard_normal(COLUMNS)
    t = x @ truth + 0.1 * rng.standard_normal(ROWS)
    print(f"{'ridge':>8} {'rounds':>7} {'residual':>10} {'to np.linalg.solve':>20}")
    for ridge in (0.0, 1.0, 100.0, 10000.0):
        w, rounds, error = fit(x, t, ridge, 1e-16)
        exact = np.linalg.solve(x.T @ x + ridge * np.eye(COLUMNS), x.T @ t)
        np.testing.assert_allclose(w, exact, rtol=1e-8, atol=1e-10)
        print(f"{ridge:8g} {rounds:7d} {error:10.1e} {np.abs(w - exact).max():20.1e}")
    # Four values of `ridge` are one program.
    assert len(fit.signatures()) == 1


if __name__ == "__main__":
    main()
