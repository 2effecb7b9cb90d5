"""Linear algebra by cuSOLVER and cuBLAS on a GPU: results, failures, and the same bits each time.

Results are held to their equations and to the CPU's, within what backward stable algorithms allow.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
import pyc.scipy.linalg
from pyc import config
from pyc.device import gpu
from pyc.reasons import Reason, collecting
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.cuda
TYPES = ("float32", "float64", "complex64", "complex128")
BATCHES = [(), (3,), (2, 20)]
ORDERS = [1, 5, 40, 200]


@pytest.fixture(autouse=True)
def libraries() -> Iterator[None]:
    solver = gpu().solver
    if isinstance(solver, str):
        pytest.skip(f"no library of linear algebra: {solver}")
    with config.using(cache="off"):
        yield


def random(dtype: str, *shape: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def definite(x: Array) -> Array:
    """Hermitian, positive definite matrices."""
    n = x.shape[-1]
    return (x @ x.conj().swapaxes(-1, -2) + n * np.eye(n)).astype(x.dtype)


def adjoint(x: Array) -> Array:
    return x.conj().swapaxes(-1, -2)


def wide(x: Array) -> Array:
    """In twice the precision, to judge by."""
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def error(found: Array, expected: Array) -> float:
    """The largest difference, by the largest element and the type's spacing."""
    size = max(float(np.abs(expected).max(initial=0)), np.finfo(found.dtype).tiny)
    return (
        float(np.abs(wide(found) - wide(expected)).max(initial=0))
        / size
        / float(np.finfo(found.dtype).eps)
    )


def on_gpu(function: Callable[..., Any], *arguments: Array) -> list[Array]:
    """Results of a program there, none of whose steps is the host's, twice the same bits."""
    jitted = pyc.jit(function, device="cuda")
    with collecting() as events:
        found = [np.asarray(x) for x in pyc.tree.leaves(jitted(*arguments))]
    assert not {Reason.FALLBACK_HOST, Reason.PLACED_ON_HOST} & {e.reason for e in events}
    again = [np.asarray(x) for x in pyc.tree.leaves(jitted(*arguments))]
    for x, y in zip(found, again, strict=True):
        assert same_bits(x, y), "other bits the second time"
    return found


def allowed(batch: tuple[int, ...], n: int) -> None:
    """Skips what the host does: many matrices that are taken one by one."""
    if int(np.prod(batch)) > 3 and n < 512:
        pytest.skip("so many small matrices are taken one by one: they are the host's")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_equations(batch: tuple[int, ...], n: int, dtype: str) -> None:
    a = random(dtype, *batch, n, n) + (2 * n**0.5 * np.eye(n)).astype(dtype)
    b = random(dtype, *batch, n, 3, seed=1)
    x, inverse, det, sign, log = on_gpu(
        lambda a, b: (
            np.linalg.solve(a, b),
            np.linalg.inv(a),
            np.linalg.det(a / (2 * n**0.5)),
            *np.linalg.slogdet(a),
        ),
        a,
        b,
    )
    assert error((a @ x).astype(dtype), b) < 60 * n
    assert error((a @ inverse).astype(dtype), np.broadcast_to(np.eye(n), a.shape)) < 60 * n
    wanted = np.linalg.slogdet(wide(a))
    assert error(sign, wanted[0]) < 60 * n
    assert np.abs(log - wanted[1]).max() < 60 * n * np.finfo(log.dtype).eps
    assert np.allclose(det, np.linalg.det(wide(a) / (2 * n**0.5)), rtol=1e-3, atol=0)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [*ORDERS, 700])
@pytest.mark.parametrize(("batch", "upper"), [((), False), ((3,), True)], ids=str)
def test_cholesky(upper: bool, batch: tuple[int, ...], n: int, dtype: str) -> None:
    h = definite(random(dtype, *batch, n, n))
    (factor,) = on_gpu(lambda h: np.linalg.cholesky(h, upper=upper), h)
    left = adjoint(factor) if upper else factor
    assert error((left @ adjoint(left)).astype(dtype), h) < 20 * n
    assert not (np.tril(factor, -1) if upper else np.triu(factor, 1)).any()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize(
    ("batch", "side"), [((), "L"), ((), "U"), ((3,), "U"), ((2, 20), "L")], ids=str
)
def test_hermitian_matrices(side: Any, batch: tuple[int, ...], n: int, dtype: str) -> None:
    h = definite(random(dtype, *batch, n, n))
    given = np.tril(h) if side == "L" else np.triu(h)
    values, vectors, alone = on_gpu(
        lambda a: (*np.linalg.eigh(a, side), np.linalg.eigvalsh(a, side)), given
    )
    expected = np.linalg.eigvalsh(wide(h))
    assert error(values, expected) < 20 * n and error(alone, expected) < 20 * n
    assert (np.diff(values, axis=-1) >= 0).all()
    assert error((vectors * values[..., None, :] @ adjoint(vectors)).astype(dtype), h) < 40 * n
    assert error(adjoint(vectors) @ vectors, np.broadcast_to(np.eye(n), h.shape)) < 40 * n


SHAPES = [(1, 1), (6, 6), (9, 4), (4, 9), (32, 32), (40, 33), (33, 40), (200, 150), (150, 200)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    ("batch", "full"), [((), False), ((), True), ((3,), False), ((2, 20), True)], ids=str
)
def test_singular_values(
    full: bool, batch: tuple[int, ...], shape: tuple[int, int], dtype: str
) -> None:
    if max(shape) > 32:
        allowed(batch, min(shape))
    a = random(dtype, *batch, *shape)
    u, s, vh, alone = on_gpu(
        lambda a: (*np.linalg.svd(a, full_matrices=full), np.linalg.svdvals(a)), a
    )
    least, most = min(shape), max(shape)
    expected = np.linalg.svd(wide(a), compute_uv=False)
    assert error(s, expected) < 20 * most and error(alone, expected) < 20 * most
    product = (u[..., :least] * s[..., None, :]).astype(dtype) @ vh[..., :least, :]
    assert error(product, a) < 60 * most
    for x in (u, adjoint(vh)):
        identity = np.broadcast_to(np.eye(x.shape[-1]), (*batch, *[x.shape[-1]] * 2))
        assert error(adjoint(x) @ x, identity) < 60 * most


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("batch", "mode"), [((), "reduced"), ((3,), "complete")], ids=str)
def test_qr(mode: Any, batch: tuple[int, ...], shape: tuple[int, int], dtype: str) -> None:
    a = random(dtype, *batch, *shape)
    q, r = on_gpu(lambda a: tuple(np.linalg.qr(a, mode=mode)), a)
    expected = np.linalg.qr(a, mode=mode)
    assert [x.shape for x in (q, r)] == [x.shape for x in expected]
    assert error(q @ r, a) < 40 * max(shape)
    identity = np.broadcast_to(np.eye(q.shape[-1]), (*batch, *[q.shape[-1]] * 2))
    assert error(adjoint(q) @ q, identity) < 40 * max(shape)
    # The reflectors are LAPACK's, so the signs are NumPy's.
    assert error(r, expected[1]) < 1000 * max(shape)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 6, 150])
@pytest.mark.parametrize("batch", BATCHES[:2], ids=str)
def test_eigenvectors(batch: tuple[int, ...], n: int, dtype: str) -> None:
    solver: Any = gpu().solver
    if "geev" not in solver.routines:
        pytest.skip(f"{solver.version} has no eigenvalues of other matrices than Hermitian")
    a = random(dtype, *batch, n, n)
    values, vectors, alone = on_gpu(lambda a: (*np.linalg.eig(a), np.linalg.eigvals(a)), a)
    assert error((a @ vectors).astype(vectors.dtype), vectors * values[..., None, :]) < 400 * n
    assert error(np.linalg.norm(vectors, axis=-2), np.ones(values.shape)) < 40 * n
    assert error(np.sort_complex(alone), np.sort_complex(values)) < 4000 * n


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (6, 6), (200, 150)], ids=str)
def test_least_squares(shape: tuple[int, int], dtype: str) -> None:
    """Of a matrix of less than full rank: the least of the solutions."""
    a, b = random(dtype, *shape), random(dtype, shape[0], 2, seed=1)
    a[:, 1] = a[:, 0]
    x, _, rank, values = on_gpu(lambda a, b: pnp.linalg.lstsq(a, b), a, b)
    expected = np.linalg.lstsq(a, b, rcond=None)
    assert int(rank) == expected[2]
    assert error(values, expected[3]) < 20 * max(shape)
    assert error(x, expected[0]) < 400 * max(shape)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_what_is_made_of_these(batch: tuple[int, ...], dtype: str) -> None:
    """pinv, matrix_rank, matrix_power, cond, expm, and triangles."""
    a = random(dtype, *batch, 8, 8) + (3 * np.eye(8)).astype(dtype)
    b = random(dtype, *batch, 8, 2, seed=1)

    def function(a: Any, b: Any) -> Any:
        return (
            *(np.linalg.pinv(a), np.linalg.matrix_power(a, -2), np.linalg.cond(a)),
            *(pyc.scipy.linalg.expm(a / 4), np.linalg.matrix_rank(a)),
            *(
                pyc.scipy.linalg.solve_triangular(a, b, lower=low, trans=t)
                for low in (0, 1)
                for t in "NTC"
            ),
        )

    expected = [np.asarray(x) for x in pyc.jit(function)(a, b)]
    for x, y in zip(on_gpu(function, a, b), expected, strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        assert np.array_equal(x, y) if x.dtype.kind == "i" else error(x, y) < 40_000


def test_the_same_bits_in_threads() -> None:
    """One thread at a time works with a handle."""
    h = definite(random("float64", 4, 60, 60))
    f = pyc.jit(lambda h: (*np.linalg.eigh(h), np.linalg.inv(h)), device="cuda")
    expected = [np.asarray(x) for x in f(h)]
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(20):
            found = [np.asarray(x) for x in f(h)]
            if not all(map(same_bits, found, expected)):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_arrays_stay_on_the_device_and_memory_goes_back() -> None:
    a = pyc.device_put(random("float64", 300, 300), "cuda")
    f = pyc.jit(lambda a: tuple(np.linalg.svd(a)))
    for x in f(a):
        assert str(x.device).startswith("cuda")
        np.asarray(x)
    before = gpu().memory_stats()["bytes_in_use"]
    for _ in range(5):
        for x in f(a):
            np.asarray(x)
        del x
    assert gpu().memory_stats()["bytes_in_use"] <= before + (1 << 20)


def test_a_loop_and_a_branch() -> None:
    def function(a: Any) -> Any:
        a = pyc.fori_loop(0, 3, lambda k, x: np.linalg.inv(x + k * np.eye(4)), a)
        return pyc.cond(a[0, 0] > 0, lambda a: np.linalg.inv(a), lambda a: np.linalg.qr(a)[0], a)

    a = random("float64", 4, 4) + 5 * np.eye(4)
    (found,) = on_gpu(function, a)
    assert error(found, np.asarray(pyc.jit(function)(a))) < 1000


SINGULAR = np.stack([np.eye(6), np.zeros((6, 6))])
MISSING = np.stack([np.eye(6), np.full((6, 6), np.nan)])
FAILURES: dict[str, tuple[Callable[[Any], Any], Array, str]] = {
    "inv": (lambda a: np.linalg.inv(a), SINGULAR, "inv: Singular matrix"),
    "solve": (lambda a: np.linalg.solve(a, a), SINGULAR, "solve: Singular matrix"),
    "cholesky": (lambda a: np.linalg.cholesky(a), SINGULAR, "not positive definite"),
    "cholesky of NaN": (lambda a: np.linalg.cholesky(a), MISSING, "not positive definite"),
    "svd of NaN": (lambda a: tuple(np.linalg.svd(a)), MISSING, "SVD did not converge"),
    "svdvals of NaN": (lambda a: np.linalg.svdvals(a), MISSING, "SVD did not converge"),
    "eigh of NaN": (lambda a: tuple(np.linalg.eigh(a)), MISSING, "Eigenvalues did not converge"),
    "eigvalsh of NaN": (lambda a: np.linalg.eigvalsh(a), MISSING, "Eigenvalues did not converge"),
    "eig of NaN": (lambda a: tuple(np.linalg.eig(a)), MISSING, "must not contain infs or NaNs"),
    "triangular": (lambda a: pyc.scipy.linalg.solve_triangular(a, a), SINGULAR, "Singular matrix"),
}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("order", [6, 60])
@pytest.mark.parametrize("count", [1, 2])
def test_failures_are_numpys_errors(name: str, count: int, order: int) -> None:
    function, given, text = FAILURES[name]
    given = np.kron(given, np.ones((1, order // 6, order // 6)))[2 - count :]
    if count == 2:
        given[0] = np.eye(order)
    with pytest.raises(np.linalg.LinAlgError, match=text) as found:
        pyc.jit(function, device="cuda")(given)
    assert "test_cuda_solvers.py" in str(found.value)


def test_failures_of_arrays_that_stay_come_with_the_first_read() -> None:
    a = pyc.device_put(SINGULAR, "cuda")
    found = pyc.jit(lambda a: np.linalg.inv(a))(a)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        np.asarray(found)


def test_singular_matrices_have_determinants() -> None:
    det, sign, log = on_gpu(lambda a: (np.linalg.det(a), *np.linalg.slogdet(a)), SINGULAR)
    assert det.tolist() == [1, 0] and sign.tolist() == [1, 0] and log.tolist() == [0, -np.inf]


def test_pivots_and_factors_are_lapacks() -> None:
    """Of matrices whose largest elements are far apart."""
    a = random("float64", 3, 12, 12)
    factors, pivots = on_gpu(lambda a: pyc.scipy.linalg.lu_factor(a), a)
    expected = pyc.jit(lambda a: pyc.scipy.linalg.lu_factor(a))(a)
    assert np.array_equal(pivots, expected[1]) and error(factors, np.asarray(expected[0])) < 1000
