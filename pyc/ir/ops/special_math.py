"""The functions of `pyc.scipy.special` of one f32 or f64 element, by name: as `scalar_math`, but
with tables that few programs need."""

from __future__ import annotations

from pyc.ir.ops.scalar_bessel import i0, i0e, i1, i1e
from pyc.ir.ops.scalar_gamma import digamma, gamma, lgamma
from pyc.ir.ops.scalar_inverse_error import erfcinv, erfinv, ndtri
from pyc.ir.ops.scalar_logistic import entr, expit, logit, xlog1py, xlogy
from pyc.ir.ops.scalar_special import ndtr

__all__ = [
    "digamma",
    "entr",
    "erfcinv",
    "erfinv",
    "expit",
    "gamma",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "lgamma",
    "logit",
    "ndtr",
    "ndtri",
    "xlog1py",
    "xlogy",
]
