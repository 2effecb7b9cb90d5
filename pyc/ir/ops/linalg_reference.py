"""What the ops of `linalg.py` give by NumPy: the interpreter's results, and the oracle of tests.

Each function here is for one matrix, by rows. Where a matrix has no result, the results are NaN,
and `info` is 1: NumPy says no more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.ir import dtype as dt
from pyc.ir.op import OPS
from pyc.ir.types import ArrayType

Array = np.ndarray[Any, Any]
Results = tuple[Any, ...]


def evaluate(name: str, args: tuple[Array, ...], params: dict[str, Any]) -> tuple[Array, ...]:
    """The results of an op for a batch of matrices by columns."""
    kinds = [dt.of(a.dtype) for a in args]
    types = OPS[name].types(
        tuple(ArrayType(a.shape, k) for a, k in zip(args, kinds, strict=True) if k is not None),
        **params,
    )
    outs = tuple(np.empty(t.shape, t.dtype.numpy) for t in types)
    batch = args[0].shape[:-2]
    by_rows = name == "cholesky"
    function = _OF_ONE[name]
    for place in np.ndindex(*batch):
        given = [_turned(a[place], by_rows) for a in args]
        for out, found in zip(outs, function(*given, **params), strict=True):
            out[place] = _turned(np.asarray(found), by_rows)
    return outs


def _turned(x: Array, by_rows: bool) -> Array:
    return x if by_rows or x.ndim != 2 else x.T


def _or_nan(compute: Callable[[], Results], *shapes: tuple[int, ...]) -> Results:
    """What is computed, and an info of 0; NaN and 1 where NumPy says that there is no result."""
    try:
        return (*compute(), 0)
    except np.linalg.LinAlgError:
        return (*(np.full(s, np.nan) for s in shapes), 1)


def _cholesky(a: Array, *, upper: bool) -> Results:
    factor, info = _or_nan(lambda: (np.linalg.cholesky(a, upper=upper),), a.shape)
    return (np.triu if upper else np.tril)(factor), info


def _lu(a: Array) -> Results:
    """By columns from the left, the first of the largest elements below being the pivot; of complex
    numbers the largest sum of the parts' magnitudes, as LAPACK has it."""
    a = a.copy()
    rows, columns = a.shape
    count, info = min(rows, columns), 0
    pivots = np.empty(count, np.int32)
    for k in range(count):
        size = np.abs(a[k:, k].real) + np.abs(a[k:, k].imag)
        p = k + (0 if np.isnan(size).all() else int(np.nanargmax(size)))
        pivots[k] = p + 1
        a[[k, p]] = a[[p, k]]
        if a[k, k] == 0:
            info = info or k + 1
            continue
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, pivots, info


def _lu_solve(factors: Array, pivots: Array, b: Array) -> Results:
    n = len(pivots)
    x = b.copy()
    for k, p in enumerate(pivots):
        x[[k, p - 1]] = x[[p - 1, k]]
    for k in range(n):
        x[k] -= factors[k, :k] @ x[:k]
    for k in reversed(range(n)):
        x[k] = (x[k] - factors[k, k + 1 :] @ x[k + 1 :]) / factors[k, k]
    return (x,)


def _lu_inverse(factors: Array, pivots: Array) -> Results:
    zeros = np.flatnonzero(np.diagonal(factors) == 0)
    if zeros.size:
        return np.full_like(factors, np.nan), zeros[0] + 1
    return *_lu_solve(factors, pivots, np.eye(len(pivots), dtype=factors.dtype)), 0


def _qr(a: Array) -> Results:
    if not a.size:
        return a, np.zeros(min(a.shape), a.dtype)
    h, taus = np.linalg.qr(a, mode="raw")
    return h.T, taus


def _qr_columns(reflectors: Array, taus: Array, *, columns: int) -> Results:
    """I - tau v v^H for each reflector v, one after the other."""
    rows = len(reflectors)
    q = np.eye(rows, columns, dtype=reflectors.dtype)
    for k in reversed(range(len(taus))):
        v = np.concatenate([np.zeros(k), [1.0], reflectors[k + 1 :, k]]).astype(q.dtype)
        q -= taus[k] * np.outer(v, v.conj() @ q)
    return (q,)


def _svd(a: Array, *, vectors: int) -> Results:
    m, n = a.shape
    least = min(m, n)
    if not vectors:
        return _or_nan(lambda: (np.linalg.svd(a, compute_uv=False),), (least,))

    def found() -> Results:
        u, values, vt = np.linalg.svd(a, full_matrices=vectors == 2)
        return values, u, vt

    wide, high = (least, least) if vectors == 1 else (m, n)
    return _or_nan(found, (least,), (m, wide), (high, n))


def _eigh(a: Array, *, upper: bool, vectors: bool) -> Results:
    side: Any = "LU"[upper]
    if vectors:
        return _or_nan(lambda: tuple(np.linalg.eigh(a, side)), (len(a),), a.shape)
    return _or_nan(lambda: (np.linalg.eigvalsh(a, side),), (len(a),))


def _eig(a: Array, *, vectors: bool) -> Results:
    def found() -> Results:
        if not vectors:
            values = np.linalg.eigvals(a)
            return (values,) if a.dtype.kind == "c" else (values.real, values.imag)
        values, right = np.linalg.eig(a)
        if a.dtype.kind == "c":
            return values, right
        # A pair of conjugate vectors is stored as the parts of the first.
        packed = np.array(right.real)
        second = values.imag < 0
        packed[:, second] = -right.imag[:, second]
        return values.real, values.imag, packed

    values = [(len(a),)] * (1 if a.dtype.kind == "c" else 2)
    return _or_nan(found, *values, *[a.shape] * vectors)


def _least_squares(a: Array, b: Array, rcond: Array) -> Results:
    m, n = a.shape
    least = min(m, n)
    if not least:
        return np.zeros(b.shape), np.zeros(0), 0, 0

    def found() -> Results:
        x, _, rank, values = np.linalg.lstsq(a, b[:m], float(rcond))
        rest = np.linalg.qr(a, mode="complete")[0].conj().T @ b[:m]
        whole = np.zeros_like(b)
        whole[n:m] = rest[n:]
        whole[:n] = x
        return whole, values, rank

    return _or_nan(found, b.shape, (least,), ())


def _triangular_solve(a: Array, b: Array, *, upper: bool, transposed: bool, unit: bool) -> Results:
    a = np.triu(a) if upper else np.tril(a)
    if unit:
        np.fill_diagonal(a, 1)
    zeros = np.flatnonzero(np.diagonal(a) == 0)
    if zeros.size:
        return b, zeros[0] + 1
    if transposed:
        a, upper = a.T, not upper
    x = b.copy()
    for k in reversed(range(len(a))) if upper else range(len(a)):
        before = slice(k + 1, None) if upper else slice(k)
        x[k] = (x[k] - a[k, before] @ x[before]) / a[k, k]
    return x, 0


_OF_ONE: dict[str, Callable[..., Results]] = {
    "cholesky": _cholesky,
    "lu": _lu,
    "lu_solve": _lu_solve,
    "lu_inverse": _lu_inverse,
    "qr": _qr,
    "qr_columns": _qr_columns,
    "svd": _svd,
    "eigh": _eigh,
    "eig": _eig,
    "least_squares": _least_squares,
    "triangular_solve": _triangular_solve,
}
