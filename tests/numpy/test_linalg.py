"""Linear algebra against NumPy, compiled: types, batches, shapes without elements, strides, NaN,
errors; and what factorisations are, whatever signs and order a library gives them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc
import pyc.numpy as pnp
from pyc.errors import LinearAlgebraError
from pyc.reasons import collecting
from tests.numpy.interpreted import interpreted

Array = np.ndarray[Any, Any]
TYPES = [np.float64, np.float32, np.complex128, np.complex64]
BATCHES = [(), (3,), (2, 4), (0,)]
la = np.linalg


def normal(shape: tuple[int, ...], dtype: Any = np.float64, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return np.asarray(x).astype(dtype)


def regular(shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """Square matrices far from singular ones."""
    return (normal(shape, dtype) + 5 * np.eye(shape[-1])).astype(dtype)


def positive(shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    x = normal(shape, dtype)
    return (x @ adjoint(x) + np.eye(shape[-1])).astype(dtype)


def adjoint(x: Array) -> Array:
    return np.swapaxes(x.conj(), -1, -2)


def close(found: Any, expected: Any, dtype: Any, factor: float = 500) -> None:
    """Of one type and shape, and within roundings of the numbers' greatest."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    bound = factor * float(np.finfo(dtype).eps) * max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=bound)


# --- values ---------------------------------------------------------------------------------------

SQUARE: dict[str, Callable[..., Any]] = {
    "inv": lambda np, a: np.linalg.inv(a),
    "det": lambda np, a: np.linalg.det(a),
    "slogdet": lambda np, a: tuple(np.linalg.slogdet(a)),
    "matrix_power": lambda np, a: np.linalg.matrix_power(a, -2),
    "solve": lambda np, a: np.linalg.solve(a, a[..., :2] + 1),
    "solve a line": lambda np, a: np.linalg.solve(a, np.arange(1.0, a.shape[-1] + 1)),
    "solve one": lambda np, a: np.linalg.solve(a, np.ones((a.shape[-1], 1))),
    "cond": lambda np, a: np.linalg.cond(a),
    "cond 1": lambda np, a: np.linalg.cond(a, 1),
    "cond -2": lambda np, a: np.linalg.cond(a, -2),
    "cond fro": lambda np, a: np.linalg.cond(a, "fro"),
}
OBLONG: dict[str, Callable[..., Any]] = {
    "svdvals": lambda np, a: np.linalg.svdvals(a),
    "svd": lambda np, a: np.linalg.svd(a, compute_uv=False),
    "pinv": lambda np, a: np.linalg.pinv(a),
    "pinv rtol": lambda np, a: np.linalg.pinv(a, rtol=0.3),
    "pinv rcond": lambda np, a: np.linalg.pinv(a, rcond=np.full(a.shape[:-2], 0.3)),
    "matrix_rank": lambda np, a: np.linalg.matrix_rank(a),
    "matrix_rank tol": lambda np, a: np.linalg.matrix_rank(a, tol=1.0),
    "norm 2": lambda np, a: np.linalg.norm(a, 2, axis=(-2, -1)),
    "norm nuc": lambda np, a: np.linalg.norm(a, "nuc", axis=(-2, -1), keepdims=True),
    "norm -2": lambda np, a: np.linalg.matrix_norm(a, ord=-2),
    "qr r": lambda np, a: np.abs(np.linalg.qr(a, mode="r")),
}


def compiled(call: Callable[..., Any], *arrays: Array) -> Any:
    return pyc.jit(lambda *xs: call(np, *xs))(*arrays)


@pytest.mark.parametrize("name", SQUARE)
def test_functions_of_square_matrices(name: str) -> None:
    """Every type and batch at once: one program."""
    cases = [
        (regular((*batch, n, n), dtype), dtype)
        for dtype, batch, n in product(TYPES, BATCHES, (4, 1, 0))
        if n or "cond" not in name
    ]
    call = SQUARE[name]
    found = pyc.jit(lambda xs: [call(np, x) for x in xs])([a for a, _ in cases])
    for (a, dtype), out in zip(cases, found, strict=True):
        expected = call(np, a)
        parts = zip(out, expected, strict=True) if isinstance(out, tuple) else [(out, expected)]
        for x, y in parts:
            close(x, y, dtype)


@pytest.mark.parametrize("name", OBLONG)
def test_functions_of_oblong_matrices(name: str) -> None:
    shapes = [(4, 4), (3, 5), (5, 3), (1, 3)]
    cases = [
        (normal((*batch, *shape), dtype), dtype)
        for dtype, batch, shape in product(TYPES, BATCHES, shapes)
    ]
    call = OBLONG[name]
    found = pyc.jit(lambda xs: [call(np, x) for x in xs])([a for a, _ in cases])
    for (a, dtype), out in zip(cases, found, strict=True):
        close(out, call(np, a), dtype)


def test_zeros_of_inverses_are_positive() -> None:
    """They are shown without a sign, as NumPy's are."""
    for dtype in TYPES:
        found = compiled(lambda np, a: np.linalg.inv(a), np.diag([1.0, 2.0, 4.0]).astype(dtype))
        assert not np.signbit(found.real).any() and not np.signbit(found.imag).any()


def test_integers_bools_and_strides() -> None:
    """Integers are float64, as in NumPy; views are what they show."""
    whole = np.array([[4, 1], [1, 3]])
    for dtype in (np.int8, np.int64, np.uint16):
        for name in ("inv", "det", "cholesky", "eigvalsh", "svdvals"):
            a = whole.astype(dtype)
            function = getattr(la, name)
            close(pyc.jit(function)(a), function(a), float)
    truths = np.array([[True, False], [True, True]])
    close(compiled(lambda np, a: np.linalg.inv(a), truths), la.inv(truths), float)
    x = regular((6, 6))
    for view in (x[::2, ::2], x.T, x[::-1, ::-1], np.asfortranarray(x)):
        close(compiled(lambda np, a: np.linalg.inv(a), view), la.inv(view), float)
        close(
            compiled(lambda np, a: np.linalg.inv(a[1:, 1:].T), view), la.inv(view[1:, 1:].T), float
        )
    mixed = la.solve(x.astype(np.float32), np.arange(6))
    close(
        compiled(lambda np, a: np.linalg.solve(a, np.arange(6)), x.astype(np.float32)), mixed, "f4"
    )


def test_equations_broadcast() -> None:
    a, b = regular((3, 1, 4, 4)), normal((2, 4, 5))
    close(compiled(lambda np, a, b: np.linalg.solve(a, b), a, b), la.solve(a, b), float)
    close(compiled(lambda np, a, b: np.linalg.solve(a, b), a[0, 0], b), la.solve(a[0, 0], b), float)
    line = b[0, :, 0]
    close(compiled(lambda np, a, b: np.linalg.solve(a, b), a, line), la.solve(a, line), float)


def test_least_squares() -> None:
    """Tall, wide, square, of low rank, with lines and matrices on the right, and nothing."""
    low = normal((6, 2)) @ normal((2, 4))
    cases = [
        (normal((6, 4)), normal((6,))),
        (normal((6, 4)), normal((6, 3))),
        (normal((4, 6)), normal((4, 2))),
        (regular((4, 4)), normal((4,))),
        (low, normal((6, 2))),
        (normal((6, 4), np.complex128), normal((6, 2))),
        (normal((5, 3), np.float32), normal((5,), np.float32)),
        (np.zeros((3, 0)), np.ones(3)),
        (np.zeros((0, 3)), np.ones((0, 2))),
    ]
    for a, b in cases:
        x, sums, rank, values = compiled(lambda np, a, b: np.linalg.lstsq(a, b), a, b)
        expected = la.lstsq(a, b)
        close(x, expected[0], a.dtype)
        close(values, expected[3], a.dtype)
        assert rank == expected[2] and rank.dtype == np.int32
        if rank == a.shape[1] < a.shape[0]:
            close(sums, expected[1], a.dtype)
        assert (
            sums.shape == (() if a.shape[0] <= a.shape[1] else b.shape[1:] or (1,)) or not sums.size
        )
    loose = compiled(lambda np, a, b: np.linalg.lstsq(a, b, rcond=0.5), *cases[0])
    close(loose[0], la.lstsq(*cases[0], rcond=0.5)[0], float)
    close(compiled(lambda np, a, b: np.linalg.lstsq(a, b, -1), *cases[4])[0].shape, (4, 2), float)


def test_tensors() -> None:
    a, b = normal((2, 3, 6)) + np.eye(6).reshape(2, 3, 6) * 4, normal((2, 3))
    close(compiled(lambda np, a, b: np.linalg.tensorsolve(a, b), a, b), la.tensorsolve(a, b), float)
    turned = np.moveaxis(a, 2, 0)
    moved = compiled(lambda np, a, b: np.linalg.tensorsolve(a, b, axes=(0,)), turned, b)
    close(moved, la.tensorsolve(turned, b, axes=(0,)), float)
    close(compiled(lambda np, a: np.linalg.tensorinv(a, ind=2), a), la.tensorinv(a, ind=2), float)


def test_ranks_of_lines_and_numbers() -> None:
    for x in (np.zeros(3), np.array([0.0, 2.0]), np.float64(0), np.array(3.0)):
        assert compiled(lambda np, x: np.linalg.matrix_rank(x), x) == la.matrix_rank(x)
    low = normal((5, 2)) @ normal((2, 5))
    stack = np.stack([low, np.zeros((5, 5)), np.eye(5)])
    assert compiled(lambda np, x: np.linalg.matrix_rank(x), stack).tolist() == [2, 0, 5]
    hermitian = stack + np.swapaxes(stack, -1, -2)
    found = compiled(lambda np, x: np.linalg.matrix_rank(x, hermitian=True), hermitian)
    assert found.tolist() == la.matrix_rank(hermitian, hermitian=True).tolist()


# --- what factorisations are ----------------------------------------------------------------------


def solved(a: Array, dtype: Any) -> None:
    """The factorisations of matrices multiply to them, and have the structure that they promise."""
    rows, columns = a.shape[-2:]
    least = min(rows, columns)

    @pyc.jit
    def factors(a: Any) -> Any:
        u, s, vt = np.linalg.svd(a)
        modes = [np.linalg.qr(a, mode=m) for m in ("reduced", "complete", "raw")]
        return (u, s, vt), np.linalg.svd(a, full_matrices=False), modes

    (u, s, vt), thin, (reduced, complete, raw) = factors(a)
    for left, values, right in ((u[..., :least], s, vt[..., :least, :]), thin):
        close((left * values[..., None, :]) @ right, a, dtype)
        orthonormal(left, dtype)
        orthonormal(adjoint(right), dtype)
        assert (np.diff(values) <= 0).all() and (values >= 0).all()
    orthonormal(u, dtype)
    orthonormal(vt, dtype)
    assert thin.U.shape == (*a.shape[:-1], least) and thin.Vh.shape == (
        *a.shape[:-2],
        least,
        columns,
    )
    for q, r in (reduced, complete):
        close(q @ r, a, dtype)
        orthonormal(q, dtype)
        assert (np.tril(r, -1) == 0).all()
    assert complete.Q.shape == (*a.shape[:-2], rows, rows) and reduced.R.shape[-2] == least
    h, tau = la.qr(a, mode="raw") if a.size else raw
    close(raw[0], h, dtype)
    close(raw[1], tau, dtype)


def orthonormal(q: Array, dtype: Any) -> None:
    eye = np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *q.shape[-1:] * 2))
    close(adjoint(q) @ q, eye.astype(q.dtype), dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_orthogonal_factors(dtype: Any) -> None:
    for batch, shape in product(BATCHES, [(4, 4), (3, 5), (5, 3), (1, 1), (3, 0), (0, 3)]):
        solved(normal((*batch, *shape), dtype), dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_eigenvectors(dtype: Any) -> None:
    @pyc.jit
    def found(a: Any, h: Any) -> Any:
        both = [np.linalg.eigh(h, side) for side in ("L", "U", "u")]
        return np.linalg.eig(a), np.linalg.eigvals(a), both, np.linalg.eigvalsh(h), la.cholesky(h)

    for batch, n in product(BATCHES, (5, 1, 0)):
        a, h = normal((*batch, n, n), dtype), positive((*batch, n, n), dtype)
        pairs, values, both, own, lower = found(a, h)
        wide = np.result_type(dtype, np.complex64)
        assert pairs.eigenvalues.dtype == values.dtype == pairs.eigenvectors.dtype == wide
        vectors = pairs.eigenvectors
        close(a @ vectors, (vectors * pairs.eigenvalues[..., None, :]).astype(wide), dtype)
        close(np.abs(vectors**2).sum(-2).real, np.ones((*batch, n), dtype(0).real.dtype), dtype)
        close(values.sum(-1), a.trace(0, -2, -1).astype(wide), dtype)
        for w, v in both:
            close(w, la.eigvalsh(h), dtype)
            close(h @ v, v * w[..., None, :], dtype)
            orthonormal(v, dtype)
        close(own, both[0].eigenvalues, dtype)
        close(lower, la.cholesky(h), dtype)


def test_only_the_triangle_that_is_named_is_read() -> None:
    h = positive((4, 4))
    lower, upper = np.tril(h) + np.triu(np.full((4, 4), np.nan), 1), None
    upper = lower.T

    @pyc.jit
    def found(a: Any, b: Any) -> Any:
        first = np.linalg.cholesky(a), np.linalg.eigvalsh(a), np.linalg.eigvalsh(b, "U")
        return (*first, np.linalg.cholesky(b, upper=True))

    low, left, right, up = found(lower, upper)
    close(low, la.cholesky(h), float)
    close(up, la.cholesky(h, upper=True), float)
    close(left, la.eigvalsh(h), float)
    close(right, la.eigvalsh(h), float)


def test_singular_values_of_hermitian_matrices() -> None:
    x = normal((3, 4, 4), np.complex128)
    h = x + adjoint(x)
    u, s, vt = compiled(lambda np, h: np.linalg.svd(h, hermitian=True), h)
    close(s, la.svd(h, compute_uv=False), float)
    close((u * s[..., None, :]) @ vt, h, float)
    orthonormal(u, float)
    close(compiled(lambda np, h: np.linalg.svd(h, compute_uv=False, hermitian=True), h), s, float)
    close(compiled(lambda np, h: np.linalg.pinv(h, hermitian=True), h), la.inv(h), float, 5000)


def test_conjugate_pairs_are_unpacked() -> None:
    """Rotations have no real vectors: both of a pair, behind a real one and between others."""
    turn = np.array([[0.0, 1], [-1, 0]])
    a = np.zeros((5, 5))
    a[0, 0], a[1:3, 1:3], a[3:, 3:] = 2, turn, 3 * turn
    basis = regular((5, 5))
    a = basis @ a @ la.inv(basis)
    w, v = compiled(lambda np, a: np.linalg.eig(a), a)
    close(a @ v, v * w, np.float64)
    assert sorted(np.round(w.imag, 9)) == [-3, -1, 0, 1, 3]


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(0, 3),
    st.integers(0, 10**6),
    st.sampled_from(TYPES),
)
def test_random_shapes(rows: int, columns: int, lanes: int, seed: int, dtype: Any) -> None:
    """Values that may be far apart, in the interpreter: the residuals are roundings of the norm."""
    rng = np.random.default_rng(seed)
    a = normal((*[2] * (lanes > 2), rows, columns), dtype, seed) * 10.0 ** rng.integers(
        -6, 7, columns
    )
    a = a.astype(dtype)
    size = float(np.abs(a).max())
    eps = 200 * float(np.finfo(dtype).eps) * max(rows, columns)
    q, r = interpreted(lambda np, a: np.linalg.qr(a), a)
    assert np.abs(q @ r - a).max() <= eps * size
    u, s, vt = interpreted(lambda np, a: np.linalg.svd(a, full_matrices=False), a)
    assert np.abs((u * s[..., None, :]) @ vt - a).max() <= eps * size
    h = a @ adjoint(a)
    w, v = interpreted(lambda np, h: np.linalg.eigh(h), h)
    assert np.abs((v * w[..., None, :]) @ adjoint(v) - h).max() <= eps * np.abs(h).max()


# --- failures -------------------------------------------------------------------------------------

NAN, INFINITE = np.full((2, 2), np.nan), np.array([[1.0, np.inf], [0.0, 1.0]])
FAILING = {
    "inv": (lambda np, a: np.linalg.inv(a), np.ones((2, 2))),
    "solve": (lambda np, a: np.linalg.solve(a, a), np.zeros((3, 3))),
    "tensorinv": (lambda np, a: np.linalg.tensorinv(a, ind=1), np.ones((2, 2))),
    "power": (lambda np, a: np.linalg.matrix_power(a, -1), np.zeros((2, 2))),
    "cholesky": (lambda np, a: np.linalg.cholesky(a), np.array([[1.0, 2], [2, 1]])),
    "one of many": (lambda np, a: np.linalg.inv(a), np.stack([np.eye(2), np.ones((2, 2))])),
    "svd": (lambda np, a: np.linalg.svd(a), NAN),
    "pinv": (lambda np, a: np.linalg.pinv(a), NAN),
    "rank": (lambda np, a: np.linalg.matrix_rank(a), NAN),
    "eig": (lambda np, a: np.linalg.eig(a), NAN),
    "eigvals": (lambda np, a: np.linalg.eigvals(a), INFINITE),
    "lstsq": (lambda np, a: np.linalg.lstsq(a, a), NAN),
    "oblong": (lambda np, a: np.linalg.inv(a), np.ones((2, 3))),
    "line": (lambda np, a: np.linalg.det(a), np.ones(3)),
    "number": (lambda np, a: np.linalg.eigvalsh(a), np.float64(3)),
    "batch of lines": (lambda np, a: np.linalg.lstsq(a, a), np.ones((2, 2, 2))),
}


@pytest.mark.parametrize("name", FAILING)
def test_failures_are_numpys(name: str) -> None:
    """Where NumPy raises LinAlgError so does pyc, compiled, interpreted, and outside of a trace."""
    call, a = FAILING[name]
    with pytest.raises(np.linalg.LinAlgError) as expected:
        call(np, a)
    ways = [lambda: compiled(call, a), lambda: interpreted(call, a), lambda: call(pnp, a)]
    for way in ways:
        with pytest.raises(np.linalg.LinAlgError) as found:
            way()
        assert isinstance(found.value, LinearAlgebraError)
        if "matrix" in str(expected.value) or "converge" in str(expected.value):
            assert str(expected.value) in str(found.value)


def test_what_is_not_used_fails_too() -> None:
    @pyc.jit
    def unused(a: Any) -> Any:
        np.linalg.inv(a)
        return a + 1

    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        unused(np.zeros((2, 2)))


def test_singular_matrices_that_are_no_failure() -> None:
    for a in (np.ones((3, 3)), np.zeros((2, 3, 3)), np.arange(9.0).reshape(3, 3)):
        close(compiled(lambda np, a: np.linalg.det(a), a), la.det(a), float)
        sign, logs = compiled(lambda np, a: np.linalg.slogdet(a), a)
        assert np.array_equal(np.isneginf(logs), np.isneginf(la.slogdet(a).logabsdet))
        assert np.array_equal(sign, la.slogdet(a).sign)
    ones = np.ones((3, 3))
    assert compiled(lambda np, a: np.linalg.cond(a, 1), ones) == np.inf == la.cond(ones, 1)
    assert compiled(lambda np, a: np.linalg.cond(a), np.zeros((2, 2))) == np.inf
    for p in (None, 1):
        assert np.isnan(compiled(lambda np, a: np.linalg.det(a), NAN))
        stack = np.stack([np.eye(2), np.eye(2) * 2])
        assert compiled(lambda np, a, p=p: np.linalg.cond(a, p), stack).tolist() == [1, 1]


def test_a_branch_that_is_not_taken_does_not_fail() -> None:
    @pyc.jit
    def guarded(a: Any, go: Any) -> Any:
        return pyc.cond(go, lambda a: np.linalg.inv(a), lambda a: a * 0, a)

    assert not guarded(np.zeros((2, 2)), False).any()
    with pytest.raises(np.linalg.LinAlgError):
        guarded(np.zeros((2, 2)), True)


def test_lanes_that_take_no_part_do_not_fail() -> None:
    """Under `vmap` both branches are computed; a lane that does not take one fails in none."""

    def guarded(a: Any, go: Any) -> Any:
        return pyc.cond(go, lambda a: np.linalg.inv(a), lambda a: a * 0, a)

    lanes = pyc.jit(pyc.vmap(guarded))
    a = np.stack([np.eye(2) * 2, np.zeros((2, 2))])
    assert lanes(a, np.array([True, False])).tolist() == [[[0.5, 0], [0, 0.5]], [[0, 0], [0, 0]]]
    with pytest.raises(np.linalg.LinAlgError):
        lanes(a, np.array([False, True]))


# --- in programs ----------------------------------------------------------------------------------


def test_vmap_gives_what_batches_give() -> None:
    a, b = regular((5, 4, 4)), normal((5, 4))
    spd = positive((5, 4, 4))

    def one(a: Any, b: Any, h: Any) -> Any:
        u, s, vt = np.linalg.svd(a)
        return (
            *(np.linalg.solve(a, b), np.linalg.inv(a), np.linalg.det(a), np.linalg.cholesky(h)),
            *((u * s) @ vt, np.linalg.eigvalsh(h), np.linalg.lstsq(a[:, :2], b)[0]),
            *(np.linalg.pinv(a[:, :2]), np.linalg.matrix_rank(a), np.linalg.cond(a)),
        )

    found = pyc.jit(pyc.vmap(one))(a, b, spd)
    for k, lane in enumerate(zip(*found, strict=True)):
        for x, y in zip(lane, one(a[k], b[k], spd[k]), strict=True):
            close(np.float64(x), np.float64(y), float)
    shared = pyc.jit(pyc.vmap(lambda a, b: np.linalg.solve(a, b), in_axes=(None, 0)))(a[0], b)
    close(shared, la.solve(a[0], b.T).T, float)
    nested = pyc.jit(pyc.vmap(pyc.vmap(lambda a: np.linalg.inv(a))))(a[None])
    close(nested, la.inv(a)[None], float)


def test_loops_carry_factorisations() -> None:
    """An iteration with a solver in it, as users write it."""
    a = regular((4, 4))

    @pyc.jit
    def newton(a: Any) -> Any:
        x = np.eye(4)
        for _ in range(20):
            x = 0.5 * (x + np.linalg.solve(x, a))
        return x

    h = positive((4, 4))
    root = newton(h)
    close(root @ root, h, float)
    assert newton(a).shape == (4, 4)


def test_one_factorisation_serves_several_functions() -> None:
    a, b = regular((4, 4)), normal((4,))
    f = pyc.jit(lambda a, b: (np.linalg.solve(a, b), np.linalg.inv(a), np.linalg.det(a)))
    f(a, b)
    assert f.lower(a, b).as_text("plan").count("getrf") == 1


def test_what_the_user_has_transposed_is_not_transposed() -> None:
    """`solve(a.T, b)` reads a as it is."""
    f = pyc.jit(lambda a, b: np.linalg.solve(a.T, b))
    a, b = regular((4, 4)), normal((4,))
    close(f(a, b), la.solve(a.T, b), float)
    text = f.lower(a, b).as_text("graph")
    assert "transpose" not in text, text


def test_a_donated_matrix_is_factored_in_place() -> None:
    f = pyc.jit(lambda a: np.linalg.cholesky(a), donate_argnums=(0,))
    h = positive((64, 64))
    expected = la.cholesky(h)
    given = h.copy()
    found = f(given)
    close(found, expected, float)
    assert np.shares_memory(found, given)


def test_verify_holds_them_to_a_bound() -> None:
    """The compiled program and the Plan agree with NumPy's, within what roundings can do."""
    a = regular((5, 5))
    report = pyc.verify(lambda a: (np.linalg.inv(a) @ a, np.linalg.svd(a).S, np.linalg.det(a)), a)
    assert {c.executor for c in report.checks} == {"passes", "plan", "compiled"}


def test_arrays_of_pyc_give_arrays() -> None:
    """Outside of a trace, and on the device of the array."""
    a = pyc.device_put(regular((3, 4, 4)), "cpu")
    found = pnp.linalg.eigh(pnp.matmul(a, pnp.matrix_transpose(a)))
    assert type(found.eigenvalues).__name__ == "Array"
    close(np.asarray(pnp.linalg.inv(a)), la.inv(np.asarray(a)), float)
    with pytest.raises(np.linalg.LinAlgError):
        np.asarray(pnp.linalg.inv(a * 0))


def test_nothing_falls_back() -> None:
    with collecting() as events:
        f = pyc.jit(lambda a: np.linalg.inv(a))
        a = regular((4, 4))
        f(a)
        f(a)
    assert not [e for e in events if e.reason.value.code.startswith("PYC28")]


def test_a_report_names_the_routines() -> None:
    """Which buffers they make; the kernels around them have times and shares of their bounds."""
    """Which buffers they make; and the kernels around them have times and shares of bounds."""
    a = regular((6, 6))
    text = str(pyc.explain(pyc.jit(lambda a, b: np.linalg.solve(a + a, b)), a, a[0]))
    assert "made by lapack.dgetrf" in text
    a = regular((64, 64))
    report = pyc.explain(pyc.jit(lambda a: np.linalg.inv(a) * 2), a, measure=True)
    assert report.kernels is not None and report.kernels.problem == ""
    rows = [row for row in report.kernels.rows if row.read >= a.nbytes]
    assert rows and all(row.bound and row.measured and row.share for row in rows)
    assert report.kernels.program > sum(row.measured for row in rows)


@pytest.mark.parametrize("kind", [np.float32, np.complex64])
def test_pseudo_inverses_in_single_precision_leave_out_what_is_rounding(kind: Any) -> None:
    """The smallest singular value of a matrix of lower rank is some 1e-8 there, and NumPy's 1e-15
    would invert it."""
    rng = np.random.default_rng(3)
    for rows, columns in ((3, 3), (5, 3), (4, 6), (12, 12)):
        low = rng.standard_normal((rows, 2)) @ rng.standard_normal((2, columns))
        a = low.astype(kind)
        want = np.linalg.pinv(low, rcond=1e-10)
        for found in (pyc.jit(lambda a: np.linalg.pinv(a))(a), pnp.linalg.pinv(a)):
            assert found.dtype == kind
            np.testing.assert_allclose(found, want, atol=1e-4)


def test_an_exponent_is_given_by_keyword() -> None:
    """`matrix_power(a, n=3)`, as NumPy takes it."""
    a = np.array([[1.0, 2.0], [0.5, 3.0]])
    want = np.linalg.matrix_power(a, n=3)
    for found in (
        pyc.jit(lambda a: np.linalg.matrix_power(a, n=3))(a),
        pnp.linalg.matrix_power(pyc.device_put(a, "cpu"), n=3),
        pnp.linalg.matrix_power(a=a, n=3),
    ):
        np.testing.assert_allclose(found, want)


def test_equations_of_tensors_in_lists() -> None:
    a, b = [[2.0, 1.0], [1.0, 3.0]], [1.0, 2.0]
    np.testing.assert_allclose(pnp.linalg.tensorsolve(a, b), np.linalg.tensorsolve(a, b))
