"""Vectors of normal numbers that depend on each other: `multivariate_normal`."""

from __future__ import annotations

from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.compositions import public, run
from pyc.errors import ArgumentError, ShapeError
from pyc.ir import dtype as dt
from pyc.numpy import core
from pyc.random.arguments import REAL, check_broadcast, dtype_of, key_of, parameter, shape_of
from pyc.random.distributions import DIGITS, Shape, Sizes, normal_numbers
from pyc.random.parameters import computed
from pyc.trace.control import fori_loop


@public
def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Sizes | None = None,
    dtype: Any = None,
    method: str = "cholesky",
) -> Any:
    """Normal vectors, along the last axis. NumPy: `Generator.multivariate_normal`.

    key: (2,) uint32
    mean: (..., n); cov: covariances (..., n, n), positive definite: others give NaN. The axes
    before broadcast to `shape`, which is theirs together if it is None -> (*shape, n)
    dtype: float16, bfloat16, float32 or float64; None: that of the parameters
    method: "cholesky", the only one
    raises ArgumentError: `key` is no key, or another method; DTypeError: another dtype, or complex
    parameters; ShapeError: other shapes, or a negative extent
    """
    key = key_of("multivariate_normal", key)
    mean = parameter("multivariate_normal", "mean", mean, REAL)
    cov = parameter("multivariate_normal", "cov", cov, REAL)
    usual = core.result_dtype(mean, cov)
    kind = dtype_of("multivariate_normal", dtype, usual if usual.is_float else dt.f64, DIGITS)
    if method != "cholesky":
        raise ArgumentError(
            f"random.multivariate_normal: the method is {method!r}",
            fix='It can be "cholesky".',
        )
    n = mean.shape[-1] if mean.ndim else -1
    if cov.shape[-2:] != (n, n):
        raise ShapeError(
            f"random.multivariate_normal: `mean` has shape {mean.shape} and `cov` {cov.shape}",
            fix="They are (..., n) and (..., n, n).",
        )
    if shape is None:
        try:
            sizes = np.broadcast_shapes(mean.shape[:-1], cov.shape[:-2])
        except ValueError:
            sizes = mean.shape[:-1]
    else:
        sizes = shape_of("multivariate_normal", shape)
    for what, own in (
        ("`mean` before its last axis", mean.shape[:-1]),
        ("`cov` before its last two axes", cov.shape[:-2]),
    ):
        check_broadcast("multivariate_normal", what, own, sizes)
    return run("random.multivariate_normal", _vectors, key, mean, cov, fixed=(sizes, kind))


# --- programs -------------------------------------------------------------------------------------


def _vectors(key: Any, mean: Any, cov: Any, shape: Shape, kind: dt.DType) -> Any:
    real = computed(kind)
    n = mean.shape[-1]
    if not n:
        return pnp.zeros((*shape, n), dtype=kind.numpy)
    z = normal_numbers(key, (*shape, n), dt.f64 if kind is dt.f64 else dt.f32)
    # A sum, not a product of matrices: the same bits on every device.
    moved = pnp.sum(_lower_factor(cov.astype(real)) * z[..., None, :], axis=-1)
    return (mean.astype(real) + moved).astype(kind.numpy)


def _lower_factor(matrix: Any) -> Any:
    """Cholesky's factor L of (..., n, n) with L L^T = matrix, column by column; NaN from where the
    matrix is not positive definite."""
    n = matrix.shape[-1]
    places = pnp.arange(n)

    def column(j: Any, factor: Any) -> Any:
        row = pnp.take(factor, j, axis=-2, mode="clip")
        left = pnp.take(matrix, j, axis=-1, mode="clip")
        left = left - pnp.sum(factor * row[..., None, :], axis=-1)
        pivot = pnp.take(left, j, axis=-1, mode="clip")
        new = pnp.where(places >= j, left / pnp.sqrt(pivot)[..., None], left.dtype.type(0))
        return pnp.where(places == j, new[..., None], factor)

    return fori_loop(0, n, column, pnp.zeros_like(matrix))
