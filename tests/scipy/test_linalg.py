"""`pyc.scipy.linalg` against SciPy: eager, jitted under SciPy's own names, in batches and lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import pyc
import pyc.scipy.linalg as pl
from pyc.errors import LinearAlgebraError
from pyc.trace.modules import OF_LINALG

Array = np.ndarray[Any, Any]
TYPES = [np.float64, np.float32, np.complex128, np.complex64]


def normal(*shape: int, dtype: Any = np.float64) -> Array:
    rng = np.random.default_rng(len(shape))
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return np.asarray(x).astype(dtype)


def close(found: Any, expected: Any, dtype: Any = np.float64, factor: float = 300) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    bound = factor * float(np.finfo(dtype).eps) * scale
    np.testing.assert_allclose(found, expected, rtol=0, atol=bound)


def test_names() -> None:
    """What a traced call of SciPy leads to is what there is."""
    assert frozenset(pl.__all__) == OF_LINALG
    assert all(hasattr(sl, name) for name in pl.__all__)


@pytest.mark.parametrize("dtype", TYPES)
def test_exponentials(dtype: Any) -> None:
    """Of norms that need no squaring, some, and many; nilpotent, diagonal and empty matrices."""
    for n in (1, 2, 5):
        a = normal(n, n, dtype=dtype)
        for scale in (1e-8, 0.1, 1, 8):
            x = (a * scale).astype(dtype)
            close(pl.expm(x), sl.expm(x), dtype, 3000)
    turn = np.array([[0, -1], [1, 0]], dtype)
    half = pl.expm((turn * np.pi).astype(dtype))
    close(half, -np.eye(2, dtype=dtype), dtype)
    shift = np.eye(4, k=1, dtype=dtype)
    close(pl.expm(shift), sl.expm(shift), dtype)
    assert pl.expm(np.zeros((0, 0), dtype)).shape == (0, 0)


def test_exponentials_of_batches() -> None:
    """Each matrix is squared as often as it asks for, whatever the others do."""
    a = np.stack([normal(3, 3) * s for s in (0.001, 1, 40)])
    found = pl.expm(a)
    for x, y in zip(a, found, strict=True):
        close(y, pl.expm(x), np.float64, 10)
        close(y / np.abs(y).max(), sl.expm(x) / np.abs(y).max(), np.float64, 1e6)
    lanes = pyc.jit(pyc.vmap(pl.expm))(a)
    close(lanes, found, np.float64, 10)
    assert np.isnan(pl.expm(np.full((2, 2), np.nan))).all()
    assert np.isnan(pl.expm(np.full((2, 2), np.inf))).all()
    assert np.isinf(pl.expm(np.diag([800.0, 1.0]))[0, 0])


@pytest.mark.parametrize("dtype", TYPES)
def test_factors_and_their_solutions(dtype: Any) -> None:
    a, b = (normal(4, 4, dtype=dtype) + 4 * np.eye(4)).astype(dtype)[::-1].copy(), normal(4, 3)
    b = b.astype(dtype)
    h = (a @ a.conj().T + np.eye(4)).astype(dtype)

    @pyc.jit
    def found(a: Any, h: Any, b: Any) -> Any:
        factors = sl.lu_factor(a)
        systems = [sl.lu_solve(factors, b, trans=t) for t in (0, 1, 2)]
        lines = [sl.lu_solve(factors, b[:, 0], trans=t) for t in (0, 1)]
        turns = [
            sl.solve_triangular(h, b, trans=t, lower=lower, unit_diagonal=unit)
            for t in (0, 1, 2, "N", "T", "C")
            for lower in (True, False)
            for unit in (True, False)
        ]
        definite = [
            sl.cho_solve(sl.cho_factor(h, lower=lower), right)
            for lower in (True, False)
            for right in (b, b[:, 0])
        ]
        return factors, systems, lines, turns, definite

    factors, systems, lines, turns, definite = found(a, h, b)
    theirs = sl.lu_factor(a)
    close(factors[0], theirs[0], dtype)
    assert factors[1].tolist() == theirs[1].tolist() and factors[1].dtype == theirs[1].dtype
    for t, x in enumerate(systems):
        close(x, sl.lu_solve(theirs, b, trans=t), dtype)
    for t, x in enumerate(lines):
        close(x, sl.lu_solve(theirs, b[:, 0], trans=t), dtype)
    expected = [
        sl.solve_triangular(h, b, trans=t, lower=lower, unit_diagonal=unit)
        for t in (0, 1, 2, 0, 1, 2)
        for lower in (True, False)
        for unit in (True, False)
    ]
    for x, y in zip(turns, expected, strict=True):
        close(x, y, dtype, 30_000)
    for x, right in zip(definite, (b, b[:, 0]) * 2, strict=True):
        close(x, np.linalg.solve(h, right), dtype)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (1, 1), (2, 4, 3), (0, 3)])
def test_lu(shape: tuple[int, ...]) -> None:
    for dtype in (np.float64, np.complex64):
        a = normal(*shape, dtype=dtype)
        p, lower, upper = pl.lu(a)
        close(p @ lower @ upper, a, dtype)
        theirs = sl.lu(a)
        assert np.array_equal(p, theirs[0]) and p.dtype == dtype(0).real.dtype
        for x, y in zip((lower, upper), theirs[1:], strict=True):
            close(x, y, dtype)
        for x, y in zip(pl.lu(a, permute_l=True), sl.lu(a, permute_l=True), strict=True):
            close(x, y, dtype)
        rows, *_ = pl.lu(a, p_indices=True)
        assert rows.tolist() == sl.lu(a, p_indices=True)[0].tolist()
        assert rows.dtype == sl.lu(a, p_indices=True)[0].dtype


@pytest.mark.parametrize("lower", [True, False])
def test_a_cholesky_factor_keeps_the_other_triangle_as_scipys_does(lower: bool) -> None:
    for dtype in TYPES:
        a = normal(2, 4, 4, dtype=dtype)
        a = a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(4, dtype=dtype)
        found, flag = pl.cho_factor(a, lower=lower)
        factor, flags = sl.cho_factor(a, lower=lower)
        assert flag.dtype == flags.dtype and flag.tolist() == flags.tolist()
        assert pl.cho_factor(a[0], lower=lower)[1] is lower
        close(found, factor, dtype)
        b = normal(2, 4, 3, dtype=dtype)
        close(pl.cho_solve((found, flag), b), np.linalg.solve(a, b), dtype)
        solved = pyc.jit(lambda a, b: pl.cho_solve(pl.cho_factor(a, lower=lower), b))(a, b)
        close(solved, np.linalg.solve(a, b), dtype)


def test_halves_are_factored_in_single_as_in_scipy() -> None:
    a = (normal(4, 4) + 4 * np.eye(4)).astype(np.float16)
    h, b = (a @ a.T + np.eye(4)).astype(np.float16), a[:, 0]

    def call(s: Any) -> list[Any]:
        factors = [*s.lu(a), *s.lu_factor(a), s.cho_factor(h)[0]]
        solved = [s.solve_triangular(a, b), s.cho_solve(s.cho_factor(h), b)]
        return [*factors, *solved, s.expm(a), s.lu_solve(s.lu_factor(a), b)]

    for x, y in zip(call(pl), call(sl), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, 1e-4, 1e-4)
    assert pl.lu(np.zeros((0, 3), np.float16))[1].dtype == np.float32


def test_batches_and_lanes() -> None:
    a, b = normal(3, 4, 4) + 4 * np.eye(4), normal(3, 4, 2)
    lanes = pyc.jit(pyc.vmap(lambda a, b: pl.lu_solve(pl.lu_factor(a), b)))(a, b)
    close(lanes, np.linalg.solve(a, b))
    close(pl.lu_solve(pl.lu_factor(a), b), np.linalg.solve(a, b))
    close(pl.lu_solve(pl.lu_factor(a[0]), b), np.linalg.solve(a[0], b))
    close(pl.solve_triangular(a, b, lower=True), np.linalg.solve(np.tril(a), b))


def test_failures() -> None:
    """As in SciPy, but for singular factors, of which SciPy warns."""
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        pl.solve_triangular(np.zeros((2, 2)), np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        pl.cho_factor(-np.eye(2))
    for call in (
        lambda: pl.lu_factor(np.full((2, 2), np.nan)),
        lambda: pl.cho_factor(np.full((2, 2), np.inf)),
        lambda: pl.solve_triangular(np.eye(2), np.array([1, np.nan])),
    ):
        with pytest.raises(ValueError, match="infs or NaNs"):
            call()
    unchecked = pl.lu_factor(np.full((2, 2), np.nan), check_finite=False)
    assert np.isnan(unchecked[0]).all()
    with pytest.raises(LinearAlgebraError):
        pl.expm(np.ones((2, 3)))
    for trans in (3, "H"):
        with pytest.raises(ValueError, match="trans"):
            pl.lu_solve((np.eye(2), np.arange(2)), np.ones(2), trans=trans)


def test_lists_of_rows_are_matrices_in_a_trace() -> None:
    def found(x: Any) -> Any:
        rows = [[2.0, 0.5], [0.5, 1.0]]
        return pl.expm(rows) + x, pl.lu_factor([[x[0], 1.0], [0.5, 1.0]])[0]

    exponential, factors = pyc.jit(found)(np.ones(2))
    np.testing.assert_allclose(exponential, pl.expm([[2.0, 0.5], [0.5, 1.0]]) + 1, rtol=1e-14)
    np.testing.assert_allclose(factors, [[1.0, 1.0], [0.5, 0.5]], rtol=1e-14)
