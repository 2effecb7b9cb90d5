"""The functions of `pyc.scipy.special` of one f32 or f64 element, by name: as `scalar_math`, but
with tables that few programs need."""

from __future__ import annotations

from pyc.ir.ops.scalar_bessel import i0, i0e, i1, i1e
from pyc.ir.ops.scalar_bessel_second import j0, j1, k0, k0e, k1, k1e, y0, y1
from pyc.ir.ops.scalar_beta import beta_positive, betaln_positive, binomial_mass, poisson_mass
from pyc.ir.ops.scalar_gamma import digamma, gamma, lgamma, lgamma1p
from pyc.ir.ops.scalar_integrals import cosine_integral, exp1, expi, sine_integral, spence
from pyc.ir.ops.scalar_inverse_error import erfcinv, erfinv, ndtri
from pyc.ir.ops.scalar_logistic import entr, expit, logit, xlog1py, xlogy
from pyc.ir.ops.scalar_scaled_error import erfcx, gamma_tail, log_ndtr
from pyc.ir.ops.scalar_special import ndtr
from pyc.ir.ops.scalar_zeta import zeta

__all__ = [
    "beta_positive",
    "betaln_positive",
    "binomial_mass",
    "cosine_integral",
    "digamma",
    "entr",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp1",
    "expi",
    "expit",
    "gamma",
    "gamma_tail",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "j0",
    "j1",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "lgamma",
    "lgamma1p",
    "log_ndtr",
    "logit",
    "ndtr",
    "ndtri",
    "poisson_mass",
    "sine_integral",
    "spence",
    "xlog1py",
    "xlogy",
    "y0",
    "y1",
    "zeta",
]
