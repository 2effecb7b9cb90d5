"""Special functions under the names and with the arguments of `scipy.special`.

Functions of each element are operations of the compiler: they fuse with what is around them, and
give the same bits on every target; `docs/numerics.md` has their errors. SciPy is not needed.
"""

from __future__ import annotations

from pyc.scipy.special.elementwise import (
    cbrt,
    digamma,
    entr,
    erf,
    erfc,
    erfcinv,
    erfinv,
    exp2,
    expit,
    expm1,
    gamma,
    gammaln,
    gammasgn,
    i0,
    i0e,
    i1,
    i1e,
    kl_div,
    log1p,
    log_expit,
    logit,
    ndtr,
    ndtri,
    psi,
    rel_entr,
    sinc,
    xlog1py,
    xlogy,
)
from pyc.scipy.special.sums import log_softmax, logsumexp, softmax

__all__ = [
    "cbrt",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gamma",
    "gammaln",
    "gammasgn",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log1p",
    "log_expit",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "psi",
    "rel_entr",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
]
