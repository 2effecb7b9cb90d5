"""Programs that draw, for every way to run one: by name, a function of a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc import lax, random

LOGITS = np.linspace(-2.0, 2.0, 12, dtype=np.float32).reshape(3, 4)
WEIGHTS = np.array([0.1, 0.0, 0.4, 0.2, 0.3])
ROWS = np.arange(12.0).reshape(3, 4)
COVARIANCES = np.diag([1.0, 2.0, 0.5, 3.0]) + 0.3


def _walk(key: Any) -> Any:
    def step(x: Any, i: Any) -> Any:
        x = x + random.normal(random.fold_in(key, i), (3,), np.float32)
        return x, x.sum()

    return lax.scan(step, pnp.zeros(3, np.float32), pnp.arange(5))


def _carried(key: Any) -> Any:
    def step(_: Any, state: Any) -> Any:
        key, total = state
        key, part = random.split(key)
        return key, total + random.uniform(part, (5,), np.float32)

    return lax.fori_loop(0, 7, step, (key, pnp.zeros(5, np.float32)))


def _until(key: Any) -> Any:
    """How often a coin falls before it shows heads three times."""

    def more(state: Any) -> Any:
        return state[1] < 3

    def toss(state: Any) -> Any:
        key, heads, tosses = state
        key, part = random.split(key)
        return key, heads + random.bernoulli(part).astype(np.int64), tosses + 1

    return lax.while_loop(more, toss, (key, pnp.int64(0), pnp.int64(0)))


def _layers(key: Any) -> Any:
    keys = random.split(key, 2)
    return [random.normal(keys[i], (4, i + 2), np.float32) * 0.1 for i in range(2)]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "bits": lambda key: random.bits(key, (203,)),
    "bits of 64": lambda key: random.bits(key, (3, 35), np.uint64),
    "bits of 8": lambda key: random.bits(key, (77,), np.uint8),
    "one number": lambda key: random.uniform(key),
    "no number": lambda key: random.normal(key, (0, 3)),
    "uniform f64": lambda key: random.uniform(key, (131,)),
    "uniform f32": lambda key: random.uniform(key, (13, 11), np.float32),
    "uniform f16": lambda key: random.uniform(key, (100,), np.float16),
    "uniform bf16": lambda key: random.uniform(key, (100,), pnp.bfloat16),
    "between": lambda key: random.uniform(key, (3, 4), np.float32, ROWS, 12),
    "between halves": lambda key: random.uniform(key, (90,), np.float16, -3, 3),
    "normal f64": lambda key: random.normal(key, (75,)),
    "normal f32": lambda key: random.normal(key, (203,), np.float32),
    "normal bf16": lambda key: random.normal(key, (99,), pnp.bfloat16),
    "normal c64": lambda key: random.normal(key, (51,), np.complex64),
    "normal c128": lambda key: random.normal(key, (7, 3), np.complex128),
    "exponential": lambda key: random.exponential(key, (99,), np.float32),
    "gumbel": lambda key: random.gumbel(key, (99,)),
    "bernoulli": lambda key: random.bernoulli(key, LOGITS > 0, (2, 3, 4)),
    "randint": lambda key: random.randint(key, (67,), -7, 1000),
    "randint of all": lambda key: random.randint(key, (67,), -(2**63), 2**63),
    "randint u8": lambda key: random.randint(key, (100,), 3, 256, np.uint8),
    "randint between": lambda key: random.randint(key, (3,), np.arange(3), 9, np.int32),
    "permutation": lambda key: random.permutation(key, 100),
    "permutation of columns": lambda key: random.permutation(key, ROWS, axis=1),
    "permutation of each row": lambda key: random.permutation(key, ROWS, 1, independent=True),
    "choice": lambda key: random.choice(key, ROWS, (5,), axis=1),
    "choice without replacement": lambda key: random.choice(key, 50, (2, 10), replace=False),
    "choice by weights": lambda key: random.choice(key, 5, (17,), p=WEIGHTS),
    "choice of few by weights": lambda key: random.choice(key, 5, (4,), False, WEIGHTS),
    "cauchy": lambda key: random.cauchy(key, (33,)),
    "laplace": lambda key: random.laplace(key, (33,), np.float32),
    "logistic": lambda key: random.logistic(key, (7, 5), np.float16),
    "rademacher": lambda key: random.rademacher(key, (33,), np.int8),
    "rayleigh": lambda key: random.rayleigh(key, ROWS, dtype=np.float32),
    "lognormal": lambda key: random.lognormal(key, 0.5, (33,)),
    "pareto": lambda key: random.pareto(key, ROWS + 1, (2, 3, 4)),
    "weibull_min": lambda key: random.weibull_min(key, 2.0, WEIGHTS, (3, 5), np.float32),
    "triangular": lambda key: random.triangular(key, -1, 0.5, 3, (33,)),
    "truncated_normal": lambda key: random.truncated_normal(key, ROWS - 6, np.inf),
    "truncated_normal f32": lambda key: random.truncated_normal(key, -1, 2, (33,), np.float32),
    "geometric": lambda key: random.geometric(key, WEIGHTS, (9, 5)),
    "gamma": lambda key: random.gamma(key, ROWS),
    "gamma f32": lambda key: random.gamma(key, 0.3, (77,), np.float32),
    "loggamma bf16": lambda key: random.loggamma(key, 0.1, (20,), pnp.bfloat16),
    "beta": lambda key: random.beta(key, 0.5, ROWS + 1, dtype=np.float32),
    "chisquare": lambda key: random.chisquare(key, 3, (41,), np.float32),
    "f": lambda key: random.f(key, 3, 7, (20,), np.float32),
    "t": lambda key: random.t(key, 3, (41,)),
    "dirichlet": lambda key: random.dirichlet(key, WEIGHTS + 0.5, (6,), np.float32),
    "multivariate_normal": lambda key: random.multivariate_normal(key, ROWS[0], COVARIANCES, (9,)),
    "poisson": lambda key: random.poisson(key, ROWS * 3),
    "poisson of large rates": lambda key: random.poisson(key, 1e9, (30,), np.int32),
    "categorical": lambda key: random.categorical(key, LOGITS, shape=(5, 3)),
    "categorical of columns": lambda key: random.categorical(key, LOGITS, axis=0),
    "keys": lambda key: random.split(random.fold_in(key, -3), (2, 3)),
    "a key of a value": lambda key: random.key(key[0]),
    "a key in a program": lambda key: random.uniform(random.key(7), (3,)) + key[0],
    "scan": _walk,
    "fori_loop": _carried,
    "while_loop": _until,
    "layers": _layers,
}
