"""Typical functions, whose reports are golden texts."""

from __future__ import annotations

import numpy as np

WEIGHTS = np.linspace(-1, 1, 32 * 16, dtype=np.float32).reshape(32, 16)
SETTINGS = {"rate": 0.5, "steps": 3}


def elementwise_chain(x, y):
    """One kernel of many operations."""
    z = np.sqrt(x * x + y * y)
    return np.where(z > 1, 1 / z, z) + y


def softmax(x):
    """A row program: its rows stay in the cache."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer(x, w, b):
    """A product whose kernel does what follows it."""
    return np.maximum(x @ w + b, 0)


def heat(u):
    """A loop over whole arrays, as each step reads neighbours."""
    u = u.copy()
    for _ in range(100):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def captured(x):
    """Weights and numbers from outside."""
    h = x @ WEIGHTS
    return h * SETTINGS["rate"] + np.arange(16) * 0.5


def unrolled(x):
    """Loops that are straight code, each for another reason."""
    for k in range(SETTINGS["steps"]):
        x = x + k
    for factor in (1.5, 2.5):
        x = x * factor
    parts = []
    for i in range(1, 30):
        parts.append(x[:i] + i)
    return np.concatenate(parts)


def chosen(x, mode, power=2):
    """A static argument."""
    y = x**power
    return np.sort(y) if mode == "sorted" else y


def printing(x):
    """Refused: it writes."""
    y = x + 1
    print("now", y)
    return y


def shapes(x, y):
    """Refused: what it adds does not fit together."""
    return x * 2 + y
