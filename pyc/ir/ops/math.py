"""Transcendental functions of floats: one entry each over the scalar definitions.

The definitions (`scalar_math`, `special_math`, `complex_math`) are the same on every target, which
is why their bits are too; the error bounds of the real ones are proven in `docs/numerics.md`. Half
types go through float32, bfloat16 by a shorter way where there is one of the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.forks import load
from pyc.ir.ops.definitions import either, of_bfloat16, real, special
from pyc.ir.ops.elementwise import pointwise


def _vectorised(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A NumPy function of a float64 one of the standard library."""

    def run(x: Any) -> Any:
        flat = [function(float(v)) for v in np.asarray(x).reshape(-1)]
        return np.array(flat, np.float64).reshape(np.shape(x)).astype(np.asarray(x).dtype)

    return run


def _scipy(name: str) -> Callable[..., Any]:
    """SciPy's function of this name."""
    return lambda *xs: getattr(load("scipy.special"), name)(*xs)


def _log_gamma(x: float) -> float:
    """Python's, exact for subnormal numbers and near its zeros, with SciPy's value at -inf."""
    try:
        return math.lgamma(x) if x > -math.inf else x
    except (OverflowError, ValueError):  # beyond the range, and at the poles
        return math.inf


def _inverse_erfc(y: Any) -> Any:
    """SciPy's function; by its inverse of the logarithm of ndtr near 0, where it is infinite."""
    near = _scipy("ndtri_exp")(np.log(y) - math.log(2)) / -math.sqrt(2)
    return np.where((y > 0) & (y < 1e-300), near, _scipy("erfcinv")(y))


def _bessel(name: str) -> Callable[..., Any]:
    """SciPy's function, but infinite at the infinities, where SciPy's is NaN."""
    return lambda x: np.where(np.isinf(x), np.sign(x) ** int(name[1]) * np.inf, _scipy(name)(x))


def _oracle(name: str) -> Callable[..., Any]:
    """The function of this name of `special_reference`."""
    return lambda *xs: getattr(load("pyc.ir.ops.special_reference"), name)(*xs)


COMPLEX = "float complex"

pointwise("exp", COMPLEX, either("exp"), np.exp, of_bfloat16=of_bfloat16("exp"), cost=18)
pointwise("exp2", COMPLEX, either("exp2"), np.exp2, cost=16)
pointwise("expm1", COMPLEX, either("expm1"), np.expm1, cost=24)
pointwise("log", COMPLEX, either("log"), np.log, cost=26)
pointwise("log2", COMPLEX, either("log2"), np.log2, cost=28)
pointwise("log10", COMPLEX, either("log10"), np.log10, cost=28)
pointwise("log1p", COMPLEX, either("log1p"), np.log1p, cost=32)
pointwise("sin", COMPLEX, either("sin"), np.sin, cost=30)
pointwise("cos", COMPLEX, either("cos"), np.cos, cost=30)
pointwise("tan", COMPLEX, either("tan"), np.tan, cost=36)
pointwise("asin", COMPLEX, either("asin"), np.arcsin, cost=24)
pointwise("acos", COMPLEX, either("acos"), np.arccos, cost=24)
pointwise("atan", COMPLEX, either("atan"), np.arctan, cost=24)
pointwise("atan2", "float", real("atan2"), np.arctan2, cost=36)
pointwise("sinh", COMPLEX, either("sinh"), np.sinh, cost=36)
pointwise("cosh", COMPLEX, either("cosh"), np.cosh, cost=30)
pointwise("asinh", COMPLEX, either("asinh"), np.arcsinh, cost=50)
pointwise("acosh", COMPLEX, either("acosh"), np.arccosh, cost=50)
pointwise("atanh", COMPLEX, either("atanh"), np.arctanh, cost=44)
pointwise("tanh", COMPLEX, either("tanh"), np.tanh, of_bfloat16=of_bfloat16("tanh"), cost=28)
pointwise("cbrt", "float", real("cbrt"), np.cbrt, cost=24)
pointwise("erf", "float", real("erf"), _vectorised(math.erf), cost=36)
pointwise("erfc", "float", real("erfc"), _vectorised(math.erfc), cost=44)
pointwise("power", COMPLEX, either("pow", "power"), np.power, cost=60)
pointwise("hypot", "float", real("hypot"), np.hypot, cost=16)

# --- of `pyc.scipy.special` -----------------------------------------------------------------------

pointwise("lgamma", "float", special("lgamma"), _vectorised(_log_gamma), cost=190)
pointwise("gamma", "float", special("gamma"), _scipy("gamma"), cost=220)
pointwise("digamma", "float", special("digamma"), _scipy("digamma"), cost=130)
pointwise("erfinv", "float", special("erfinv"), _scipy("erfinv"), cost=60)
pointwise("erfcinv", "float", special("erfcinv"), _inverse_erfc, cost=60)
pointwise("ndtr", "float", special("ndtr"), _scipy("ndtr"), cost=52)
pointwise("ndtri", "float", special("ndtri"), _scipy("ndtri"), cost=60)
pointwise("i0", "float", special("i0"), _bessel("i0"), cost=90)
pointwise("i0e", "float", special("i0e"), _scipy("i0e"), cost=90)
pointwise("i1", "float", special("i1"), _bessel("i1"), cost=90)
pointwise("i1e", "float", special("i1e"), _scipy("i1e"), cost=90)
pointwise("expit", "float", special("expit"), _scipy("expit"), cost=30)
pointwise("logit", "float", special("logit"), _scipy("logit"), cost=72)
pointwise("entr", "float", special("entr"), _scipy("entr"), cost=30)
pointwise("xlogy", "float", special("xlogy"), _scipy("xlogy"), cost=30)
pointwise("xlog1py", "float", special("xlog1py"), _scipy("xlog1py"), cost=36)
pointwise("erfcx", "float", special("erfcx"), _oracle("erfcx"), cost=110)
pointwise("log_ndtr", "float", special("log_ndtr"), _scipy("log_ndtr"), cost=200)
pointwise("zeta", "float", special("zeta"), _oracle("zeta"), cost=900)
pointwise("exp1", "float", special("exp1"), _scipy("exp1"), cost=120)
pointwise("expi", "float", special("expi"), _oracle("expi"), cost=280)
pointwise("sine_integral", "float", special("sine_integral"), _oracle("sine_integral"), cost=220)
pointwise(
    "cosine_integral", "float", special("cosine_integral"), _oracle("cosine_integral"), cost=260
)
pointwise("spence", "float", special("spence"), _oracle("spence"), cost=110)
pointwise("j0", "float", special("j0"), _oracle("j0"), cost=150)
pointwise("j1", "float", special("j1"), _oracle("j1"), cost=150)
pointwise("y0", "float", special("y0"), _oracle("y0"), cost=190)
pointwise("y1", "float", special("y1"), _oracle("y1"), cost=190)
pointwise("k0", "float", special("k0"), _oracle("k0"), cost=150)
pointwise("k0e", "float", special("k0e"), _oracle("k0e"), cost=150)
pointwise("k1", "float", special("k1"), _oracle("k1"), cost=150)
pointwise("k1e", "float", special("k1e"), _oracle("k1e"), cost=150)

# What incomplete integrals and quotients of gamma functions are made of, for numbers above zero.
pointwise("beta_positive", "float", special("beta_positive"), _oracle("beta_positive"), cost=500)
pointwise(
    "betaln_positive", "float", special("betaln_positive"), _oracle("betaln_positive"), cost=540
)
pointwise("lgamma1p", "float", special("lgamma1p"), _oracle("lgamma1p"), cost=60)
pointwise("poisson_mass", "float", special("poisson_mass"), _oracle("poisson_mass"), cost=300)
pointwise("binomial_mass", "float", special("binomial_mass"), _oracle("binomial_mass"), cost=700)
pointwise("gamma_tail", "float", special("gamma_tail"), _oracle("gamma_tail"), cost=240)
