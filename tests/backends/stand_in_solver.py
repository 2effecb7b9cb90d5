"""A stand-in for cuSOLVER and cuBLAS: the same functions over memory of this process, by NumPy and
SciPy.

`address(name)` is what a `Solver` asks for. The parameters are declared here once more, from the
libraries' reference, so that a wrong order or a wrong size reaches the wrong place. What the
libraries leave undefined is NaN here: triangles that were workspace, arguments that are destroyed,
columns that are not asked for. `refusing` makes a function end with a status.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

Array = np.ndarray[Any, Any]

_DTYPES = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
_KINDS = {0: "S", 1: "D", 4: "C", 5: "Z"}
_P, _I, _L = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
_HANDLE, _BLAS, _PARAMETERS, _JACOBI = 0xC501, 0xCB1A, 0xC5DA, 0xC5D1
_FAILED = 6
"""CUSOLVER_STATUS_EXECUTION_FAILED."""
WORK = 7
"""Elements of workspace that every function asks for."""
WORK_BYTES, HOST_BYTES = 40, 24


def _bytes(address: int, nbytes: int) -> Array:
    if not nbytes:
        return np.empty(0, np.uint8)
    return np.frombuffer((ctypes.c_uint8 * nbytes).from_address(address), np.uint8)


def _vector(address: int, dtype: Any, count: int) -> Array:
    return _bytes(address, count * np.dtype(dtype).itemsize).view(dtype)


def _matrix(address: int, dtype: Any, rows: int, columns: int, leading: int) -> Array:
    """A matrix by columns."""
    assert leading >= max(rows, 1)
    return _vector(address, dtype, leading * columns).reshape(columns, leading).T[:rows]


def _set(address: int, value: int, kind: Any = np.int32) -> None:
    _vector(address, kind, 1)[0] = value


def _pointers(address: int, count: int) -> list[int]:
    return [int(p) for p in _vector(address, np.uint64, count)]


def _real(dtype: Any) -> Any:
    return np.zeros(0, dtype).real.dtype


def _of_type(typed: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
    return lambda handle, *arguments: typed(handle, dtype, *arguments)


class StandIn:
    """The functions. called: the names of those that were, in order."""

    def __init__(self, *, version: int = 12000, lacks: tuple[str, ...] = ()) -> None:
        self.called: list[str] = []
        self.refusing: dict[str, int] = {}
        self.failure: BaseException | None = None
        """What a function has raised: it ends with a status then."""
        self._version = version
        self._lacks = lacks
        self._kept: dict[str, Any] = {}

    def address(self, name: str) -> int:
        """The address of a function, 0 if there is none."""
        if name in self._lacks:
            return 0
        if name not in self._kept:
            found = self._find(name)
            if found is None:
                return 0
            types, function = found

            def guarded(*arguments: Any) -> int:
                self.called.append(name)
                if name in self.refusing:
                    return self.refusing[name]
                try:
                    return int(function(*arguments) or 0)
                except BaseException as error:
                    self.failure = error
                    return _FAILED

            self._kept[name] = ctypes.CFUNCTYPE(ctypes.c_int, *types)(guarded)
        return ctypes.cast(self._kept[name], _P).value or 0

    def _find(self, name: str) -> tuple[tuple[Any, ...], Callable[..., Any]] | None:
        if name in _PLAIN:
            types, function = _PLAIN[name]
            return types, lambda *arguments: function(self, *arguments)
        for prefix in ("cusolverDn", "cublas"):
            letter, rest = name[len(prefix) : len(prefix) + 1], name[len(prefix) + 1 :]
            if not name.startswith(prefix) or letter not in _DTYPES:
                continue
            if letter in "CZ" and rest.startswith(("syevd", "orgqr")):
                return None
            if letter in "SD" and rest.startswith(("heevd", "ungqr")):
                return None
            known = rest.replace("heevd", "syevd").replace("ungqr", "orgqr")
            if prefix + known in _TYPED:
                types, typed = _TYPED[prefix + known]
                return types, _of_type(typed, _DTYPES[letter])
        return None

    def version(self, at: int) -> None:
        """The release."""
        _set(at, self._version)


def _makes(value: int) -> Callable[..., None]:
    return lambda self, at: _set(at, value, np.uint64)


def _streams(expected: int) -> Callable[..., None]:
    def stream(self: StandIn, handle: int, stream: int) -> None:
        assert handle == expected and not stream

    return stream


def _deterministic(self: StandIn, handle: int, mode: int) -> None:
    assert handle == _HANDLE and mode == 1


# --- factorisations -------------------------------------------------------------------------------


def _asks(handle: int, dtype: Any, *arguments: int) -> None:
    """Says how much workspace there must be: the last argument is where."""
    assert handle == _HANDLE
    _set(arguments[-1], WORK)


def _used(work: int, dtype: Any, size: int) -> None:
    """Fills workspace as it was asked for."""
    assert size == WORK
    _vector(work, dtype, size)[:] = np.nan


def _factor(a: Array, lower: bool) -> int:
    """The factor in place, the other triangle being undefined; the first order that is not
    positive."""
    function = lapack.get_lapack_funcs("potrf", (a,))
    factor, info = function(np.array(a), lower=lower, clean=False)
    other = np.triu_indices(len(a), 1) if lower else np.tril_indices(len(a), -1)
    a[...] = factor
    a[other] = np.nan
    return int(info)


def _potrf(
    handle: int, dtype: Any, uplo: int, n: int, a: int, lda: int, work: int, size: int, info: int
) -> None:
    assert handle == _HANDLE
    _used(work, dtype, size)
    _set(info, _factor(_matrix(a, dtype, n, n, lda), uplo == 0))


def _potrf_batched(
    handle: int, dtype: Any, uplo: int, n: int, a: int, lda: int, info: int, count: int
) -> None:
    assert handle == _HANDLE
    for k, place in enumerate(_pointers(a, count)):
        _set(info + 4 * k, _factor(_matrix(place, dtype, n, n, lda), uplo == 0))


def _lu(a: Array) -> tuple[Array, int]:
    """The factors in place; pivots from 1, and the first that is 0."""
    function = lapack.get_lapack_funcs("getrf", (a,))
    factors, pivots, info = function(np.array(a))
    a[...] = factors
    return pivots.astype(np.int32) + 1, int(info)


def _getrf(
    handle: int, dtype: Any, m: int, n: int, a: int, lda: int, work: int, pivots: int, info: int
) -> None:
    assert handle == _HANDLE
    _used(work, dtype, WORK)
    found, said = _lu(_matrix(a, dtype, m, n, lda))
    _vector(pivots, np.int32, min(m, n))[:] = found
    _set(info, said)


def _getrf_batched(
    handle: int, dtype: Any, n: int, a: int, lda: int, pivots: int, info: int, count: int
) -> None:
    assert handle == _BLAS
    for k, place in enumerate(_pointers(a, count)):
        found, said = _lu(_matrix(place, dtype, n, n, lda))
        _vector(pivots + 4 * n * k, np.int32, n)[:] = found
        _set(info + 4 * k, said)


def _solved(factors: Array, pivots: Array, b: Array) -> None:
    for k, p in enumerate(pivots):
        b[[k, p - 1]] = b[[p - 1, k]]
    lower = scipy.linalg.solve_triangular(factors, b, lower=True, unit_diagonal=True)
    b[...] = _triangle_solved(factors, lower, upper=True)


def _triangle_solved(
    a: Array, b: Array, *, upper: bool, transposed: bool = False, unit: bool = False
) -> Array:
    """As the device does it: a 0 in the diagonal gives infinities."""
    with np.errstate(all="ignore"):
        a = np.triu(a) if upper else np.tril(a)
        if transposed:
            a, upper = a.T, not upper
        x = np.array(b)
        for k in reversed(range(len(a))) if upper else range(len(a)):
            rest = slice(k + 1, None) if upper else slice(k)
            x[k] = x[k] - a[k, rest] @ x[rest]
            if not unit:
                x[k] /= a[k, k]
        return x


def _getrs(
    handle: int,
    dtype: Any,
    trans: int,
    n: int,
    right: int,
    a: int,
    lda: int,
    pivots: int,
    b: int,
    ldb: int,
    info: int,
) -> None:
    assert handle == _HANDLE and trans == 0
    places = _matrix(a, dtype, n, n, lda), _vector(pivots, np.int32, n)
    _solved(*places, _matrix(b, dtype, n, right, ldb))
    _set(info, 0)


def _getrs_batched(
    handle: int,
    dtype: Any,
    trans: int,
    n: int,
    right: int,
    a: int,
    lda: int,
    pivots: int,
    b: int,
    ldb: int,
    info: int,
    count: int,
) -> None:
    assert handle == _BLAS and trans == 0
    for k, (left, columns) in enumerate(zip(_pointers(a, count), _pointers(b, count), strict=True)):
        own = _vector(pivots + 4 * n * k, np.int32, n)
        _solved(_matrix(left, dtype, n, n, lda), own, _matrix(columns, dtype, n, right, ldb))
    _set(info, 0)  # of the host


def _trsm(
    handle: int,
    dtype: Any,
    side: int,
    uplo: int,
    trans: int,
    diag: int,
    m: int,
    n: int,
    alpha: int,
    a: int,
    lda: int,
    b: int,
    ldb: int,
) -> None:
    assert handle == _BLAS and side == 0 and _vector(alpha, dtype, 1)[0] == 1
    x = _matrix(b, dtype, m, n, ldb)
    flags = {"upper": uplo == 1, "transposed": trans == 1, "unit": diag == 1}
    x[...] = _triangle_solved(_matrix(a, dtype, m, m, lda), x, **flags)


def _trsm_batched(handle: int, dtype: Any, *arguments: int) -> None:
    *flags, a, lda, b, ldb, count = arguments
    for left, right in zip(_pointers(a, count), _pointers(b, count), strict=True):
        _trsm(handle, dtype, *flags, left, lda, right, ldb)


def _gemm(
    handle: int,
    dtype: Any,
    trans_a: int,
    trans_b: int,
    m: int,
    n: int,
    k: int,
    alpha: int,
    a: int,
    lda: int,
    stride_a: int,
    b: int,
    ldb: int,
    stride_b: int,
    beta: int,
    c: int,
    ldc: int,
    stride_c: int,
    count: int,
) -> None:
    assert handle == _BLAS and trans_a in (0, 2) and trans_b == 0
    assert _vector(alpha, dtype, 1)[0] == 1 and _vector(beta, dtype, 1)[0] == 0
    item = np.dtype(dtype).itemsize
    for number in range(count):
        shape = (k, m) if trans_a else (m, k)
        left = _matrix(a + number * stride_a * item, dtype, *shape, lda)
        right = _matrix(b + number * stride_b * item, dtype, k, n, ldb)
        product = (left.conj().T if trans_a else left) @ right
        _matrix(c + number * stride_c * item, dtype, m, n, ldc)[...] = product


def _geqrf(
    handle: int,
    dtype: Any,
    m: int,
    n: int,
    a: int,
    lda: int,
    tau: int,
    work: int,
    size: int,
    info: int,
) -> None:
    assert handle == _HANDLE
    _used(work, dtype, size)
    x = _matrix(a, dtype, m, n, lda)
    function = lapack.get_lapack_funcs("geqrf", (x,))
    found, taus, _, _ = function(np.array(x))
    x[...] = found
    _vector(tau, dtype, min(m, n))[:] = taus
    _set(info, 0)


def _orgqr(
    handle: int,
    dtype: Any,
    m: int,
    n: int,
    k: int,
    a: int,
    lda: int,
    tau: int,
    work: int,
    size: int,
    info: int,
) -> None:
    assert handle == _HANDLE and m >= n >= k
    _used(work, dtype, size)
    x = _matrix(a, dtype, m, n, lda)
    name = "ungqr" if np.iscomplexobj(x) else "orgqr"
    function = lapack.get_lapack_funcs(name, (x,))
    found, _, _ = function(np.array(x), np.array(_vector(tau, dtype, k)))
    x[...] = found
    _set(info, 0)


# --- singular values and eigenvalues --------------------------------------------------------------


def _jacobi(
    dtype: Any, a: Array, s: int, u: int, ldu: int, v: int, ldv: int, vectors: int, econ: int
) -> int:
    m, n = a.shape
    least = min(m, n)
    values = _vector(s, _real(dtype), least)
    given = np.array(a)
    a[...] = np.nan
    if not np.isfinite(given).all():
        values[:] = np.nan
        return 0
    if not vectors:
        values[:] = np.linalg.svd(given, compute_uv=False)
        return 0
    left, found, right = np.linalg.svd(given, full_matrices=not econ)
    values[:] = found
    _matrix(u, dtype, m, left.shape[1], ldu)[...] = left
    _matrix(v, dtype, n, len(right), ldv)[...] = right.conj().T
    return 0


def _written_all_the_same(dtype: Any, u: int, of_u: int, v: int, of_v: int) -> None:
    """Without vectors too, which the reference does not say."""
    assert u and v
    _vector(u, dtype, of_u)[:] = np.nan
    _vector(v, dtype, of_v)[:] = np.nan


def _gesvdj(
    handle: int,
    dtype: Any,
    jobz: int,
    econ: int,
    m: int,
    n: int,
    a: int,
    lda: int,
    s: int,
    u: int,
    ldu: int,
    v: int,
    ldv: int,
    work: int,
    size: int,
    info: int,
    given: int,
) -> None:
    assert handle == _HANDLE and given == _JACOBI
    _used(work, dtype, size)
    if not jobz:
        _written_all_the_same(
            dtype, u, ldu * (min(m, n) if econ else m), v, ldv * (min(m, n) if econ else n)
        )
    x = _matrix(a, dtype, m, n, lda)
    _set(info, _jacobi(dtype, x, s, u, ldu, v, ldv, jobz, econ))


def _gesvdj_asks(handle: int, dtype: Any, *arguments: int) -> None:
    assert handle == _HANDLE and arguments[-1] == _JACOBI
    _set(arguments[-2], WORK)


def _gesvdj_batched(
    handle: int,
    dtype: Any,
    jobz: int,
    m: int,
    n: int,
    a: int,
    lda: int,
    s: int,
    u: int,
    ldu: int,
    v: int,
    ldv: int,
    work: int,
    size: int,
    info: int,
    given: int,
    count: int,
) -> None:
    assert handle == _HANDLE and given == _JACOBI and max(m, n) <= 32 and count <= 32000
    _used(work, dtype, size)
    if not jobz:
        _written_all_the_same(dtype, u, ldu * m * count, v, ldv * n * count)
    item, real = np.dtype(dtype).itemsize, _real(dtype).itemsize
    for k in range(count):
        x = _matrix(a + k * lda * n * item, dtype, m, n, lda)
        left, right = (
            p + k * leading * leading * item if p else 0 for p, leading in ((u, m), (v, n))
        )
        values = s + k * min(m, n) * real
        _set(info + 4 * k, _jacobi(dtype, x, values, left, ldu, right, ldv, jobz, 0))


def _gesvdj_batched_asks(handle: int, dtype: Any, *arguments: int) -> None:
    assert handle == _HANDLE and arguments[-2] == _JACOBI and arguments[-1] > 1
    _set(arguments[-3], WORK)


def _hermitian(a: Array, w: Array, vectors: int, uplo: int) -> int:
    given = np.array(a)
    a[...] = np.nan
    if not np.isfinite(given).all():
        w[:] = np.nan
        return 0
    values, found = np.linalg.eigh(given, "LU"[uplo])
    w[:] = values
    if vectors:
        a[...] = found
    return 0


def _syevd(
    handle: int,
    dtype: Any,
    jobz: int,
    uplo: int,
    n: int,
    a: int,
    lda: int,
    w: int,
    work: int,
    size: int,
    info: int,
) -> None:
    assert handle == _HANDLE
    _used(work, dtype, size)
    values = _vector(w, _real(dtype), n)
    _set(info, _hermitian(_matrix(a, dtype, n, n, lda), values, jobz, uplo))


def _bytes_used(work: int, size: int, host: int, host_size: int) -> None:
    assert size == WORK_BYTES and host_size == HOST_BYTES
    _bytes(work, size)[:] = 0xFF
    _bytes(host, host_size)[:] = 0xFF


def _said_bytes(device: int, host: int) -> None:
    _set(device, WORK_BYTES, np.int64)
    _set(host, HOST_BYTES, np.int64)


def _syev_batched(
    self: StandIn,
    handle: int,
    given: int,
    jobz: int,
    uplo: int,
    n: int,
    kind: int,
    a: int,
    lda: int,
    kind_w: int,
    w: int,
    kind_computed: int,
    work: int,
    size: int,
    host: int,
    host_size: int,
    info: int,
    count: int,
) -> None:
    dtype = _DTYPES[_KINDS[kind]]
    assert handle == _HANDLE and given == _PARAMETERS and kind_computed == kind
    assert _DTYPES[_KINDS[kind_w]] == _real(dtype)
    assert count <= 32000 and count * n * n * np.dtype(dtype).itemsize < 1 << 31
    _bytes_used(work, size, host, host_size)
    item, real = np.dtype(dtype).itemsize, _real(dtype).itemsize
    for k in range(count):
        x = _matrix(a + k * lda * n * item, dtype, n, n, lda)
        values = _vector(w + k * n * real, _real(dtype), n)
        _set(info + 4 * k, _hermitian(x, values, jobz, uplo))


def _geev(
    self: StandIn,
    handle: int,
    given: int,
    left: int,
    right: int,
    n: int,
    kind: int,
    a: int,
    lda: int,
    kind_w: int,
    w: int,
    kind_vl: int,
    vl: int,
    ldvl: int,
    kind_vr: int,
    vr: int,
    ldvr: int,
    kind_computed: int,
    work: int,
    size: int,
    host: int,
    host_size: int,
    info: int,
) -> None:
    assert handle == _HANDLE and given == _PARAMETERS and left == 0 and not vl
    assert kind == kind_w == kind_vl == kind_vr == kind_computed
    _bytes_used(work, size, host, host_size)
    dtype = _DTYPES[_KINDS[kind]]
    x = _matrix(a, dtype, n, n, lda)
    assert np.isfinite(x).all()  # status 7 else
    function = lapack.get_lapack_funcs("geev", (x,))
    found = function(np.array(x), compute_vl=0, compute_vr=right)
    x[...] = np.nan
    parts = found[:-3]
    for k, values in enumerate(parts):
        _vector(w + k * n * x.itemsize, dtype, n)[:] = values
    if right:
        _matrix(vr, dtype, n, n, ldvr)[...] = found[-2]
    _set(info, int(found[-1]))


_GEEV = (_P, _P, _I, _I, _L, _I, _P, _L, _I, _P, _I, _P, _L, _I, _P, _L, _I)

_PLAIN: dict[str, tuple[tuple[Any, ...], Callable[..., Any]]] = {
    "cusolverGetVersion": ((_P,), StandIn.version),
    "cusolverDnCreate": ((_P,), _makes(_HANDLE)),
    "cublasCreate_v2": ((_P,), _makes(_BLAS)),
    "cusolverDnCreateParams": ((_P,), _makes(_PARAMETERS)),
    "cusolverDnCreateGesvdjInfo": ((_P,), _makes(_JACOBI)),
    "cusolverDnSetStream": ((_P, _P), _streams(_HANDLE)),
    "cublasSetStream_v2": ((_P, _P), _streams(_BLAS)),
    "cusolverDnSetDeterministicMode": ((_P, _I), _deterministic),
    "cusolverDnXsyevBatched": (
        (_P, _P, _I, _I, _L, _I, _P, _L, _I, _P, _I, _P, _L, _P, _L, _P, _L),
        _syev_batched,
    ),
    "cusolverDnXsyevBatched_bufferSize": (
        (_P, _P, _I, _I, _L, _I, _P, _L, _I, _P, _I, _P, _P, _L),
        lambda self, *arguments: _said_bytes(*arguments[-3:-1]),
    ),
    "cusolverDnXgeev": (
        (*_GEEV, _P, _L, _P, _L, _P),
        _geev,
    ),
    "cusolverDnXgeev_bufferSize": (
        (*_GEEV, _P, _P),
        lambda self, *arguments: _said_bytes(*arguments[-2:]),
    ),
}

_TYPED: dict[str, tuple[tuple[Any, ...], Callable[..., Any]]] = {
    "cusolverDnpotrf": ((_P, _I, _I, _P, _I, _P, _I, _P), _potrf),
    "cusolverDnpotrf_bufferSize": ((_P, _I, _I, _P, _I, _P), _asks),
    "cusolverDnpotrfBatched": ((_P, _I, _I, _P, _I, _P, _I), _potrf_batched),
    "cusolverDngetrf": ((_P, _I, _I, _P, _I, _P, _P, _P), _getrf),
    "cusolverDngetrf_bufferSize": ((_P, _I, _I, _P, _I, _P), _asks),
    "cusolverDngetrs": ((_P, _I, _I, _I, _P, _I, _P, _P, _I, _P), _getrs),
    "cusolverDngeqrf": ((_P, _I, _I, _P, _I, _P, _P, _I, _P), _geqrf),
    "cusolverDngeqrf_bufferSize": ((_P, _I, _I, _P, _I, _P), _asks),
    "cusolverDnorgqr": ((_P, _I, _I, _I, _P, _I, _P, _P, _I, _P), _orgqr),
    "cusolverDnorgqr_bufferSize": ((_P, _I, _I, _I, _P, _I, _P, _P), _asks),
    "cusolverDnsyevd": ((_P, _I, _I, _I, _P, _I, _P, _P, _I, _P), _syevd),
    "cusolverDnsyevd_bufferSize": ((_P, _I, _I, _I, _P, _I, _P, _P), _asks),
    "cusolverDngesvdj": (
        (_P, _I, _I, _I, _I, _P, _I, _P, _P, _I, _P, _I, _P, _I, _P, _P),
        _gesvdj,
    ),
    "cusolverDngesvdj_bufferSize": (
        (_P, _I, _I, _I, _I, _P, _I, _P, _P, _I, _P, _I, _P, _P),
        _gesvdj_asks,
    ),
    "cusolverDngesvdjBatched": (
        (_P, _I, _I, _I, _P, _I, _P, _P, _I, _P, _I, _P, _I, _P, _P, _I),
        _gesvdj_batched,
    ),
    "cusolverDngesvdjBatched_bufferSize": (
        (_P, _I, _I, _I, _P, _I, _P, _P, _I, _P, _I, _P, _P, _I),
        _gesvdj_batched_asks,
    ),
    "cublasgetrfBatched": ((_P, _I, _P, _I, _P, _P, _I), _getrf_batched),
    "cublasgetrsBatched": ((_P, _I, _I, _I, _P, _I, _P, _P, _I, _P, _I), _getrs_batched),
    "cublastrsm_v2": ((_P, _I, _I, _I, _I, _I, _I, _P, _P, _I, _P, _I), _trsm),
    "cublastrsmBatched": ((_P, _I, _I, _I, _I, _I, _I, _P, _P, _I, _P, _I, _I), _trsm_batched),
    "cublasgemmStridedBatched": (
        (_P, _I, _I, _I, _I, _I, _P, _P, _I, _L, _P, _I, _L, _P, _P, _I, _L, _I),
        _gemm,
    ),
}
