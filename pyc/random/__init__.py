"""Random numbers under the names of `jax.random`: pure functions of a key.

    key = pyc.random.key(0)
    key, part = pyc.random.split(key)
    x = pyc.random.normal(part, (1000,), np.float32)

A key is an array of two `uint32`. The same key, shape and dtype give the same bits on every device,
in any number of threads, inside and outside of `jit`; numbers that must differ need keys that
differ. How the bits are made is in `generator.py`; `docs/random.md` is for users. Not for secrets.
"""

from __future__ import annotations

from pyc.random.choices import categorical, choice, permutation
from pyc.random.distributions import (
    bernoulli,
    bits,
    exponential,
    gumbel,
    normal,
    randint,
    uniform,
)
from pyc.random.inversion import (
    cauchy,
    geometric,
    laplace,
    logistic,
    lognormal,
    pareto,
    rademacher,
    rayleigh,
    triangular,
    truncated_normal,
    weibull_min,
)
from pyc.random.keys import fold_in, key, split
from pyc.random.rejection import beta, chisquare, dirichlet, f, gamma, loggamma, poisson, t
from pyc.random.vectors import multivariate_normal

__all__ = [
    "bernoulli",
    "beta",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "geometric",
    "gumbel",
    "key",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "multivariate_normal",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "weibull_min",
]
