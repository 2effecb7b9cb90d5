"""A module of helpers, as a user's project has one beside the module that calls it."""

import numpy as np

GAIN = 2.5
TABLE = np.linspace(0.0, 1.0, 5)
_cache = {"scale": 3.0}


def scaled(x, by=None):
    return x * (GAIN if by is None else by)


def looked_up(x):
    return np.interp(x, np.arange(5.0), TABLE) * _cache["scale"]


class Filter:
    order = 2

    def __init__(self, weights):
        self.weights = np.asarray(weights, dtype=float)

    def __call__(self, x):
        return np.convolve(x, self.weights, mode="same") * self.order

    @property
    def total(self):
        return self.weights.sum()

    @classmethod
    def box(cls, n):
        return cls(np.ones(n) / n)

    @staticmethod
    def clip(x, low=-1.0, high=1.0):
        return np.minimum(np.maximum(x, low), high)
