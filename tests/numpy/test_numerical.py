"""Numerical methods, norms, sums over labels, and functions of shape that take static lists,
against NumPy, by the Graph interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyc.errors import ConcretizationError, PycError
from tests.numpy.interpreted import difference, interpreted, outcome

Call = Callable[..., Any]
RNG = np.random.default_rng(3)


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    """Normal numbers."""
    return np.asarray(RNG.standard_normal(shape)).astype(dtype)


S, V, M, X = floats(), floats(6), floats(4, 6), floats(3, 4, 5)
W = RNG.integers(-5, 6, (3, 4))
C = (floats(3, 4) + 1j * floats(3, 4)).astype(np.complex64)
GAPS = np.array([[1, np.nan, 3], [4, 5, np.nan]], np.float32)
LONG = floats(50)

CASES: dict[str, tuple[Any, ...]] = {
    "interp": (lambda np, x: np.interp(x, [0.0, 1, 2], [1.0, 0, 3]), LONG),
    "interp ends": (lambda np, x: np.interp(x, [0.0, 1], [1.0, 0], left=-1, right=9), LONG),
    "interp one point": (lambda np, x: np.interp(x, [0.0], [1.0]), V),
    "interp at points": (lambda np, x: np.interp(x, [0.0, 1, 2], [1.0, 0, 3]), np.arange(3)),
    "trapezoid": (lambda np, x: np.trapezoid(x), V),
    "trapezoid dx": (lambda np, x: np.trapezoid(x, dx=0.5, axis=0), M),
    "trapezoid x": (lambda np, x: np.trapezoid(x, x=[0, 1, 3, 4, 8, 9.0]), M),
    "trapezoid int": (lambda np, x: np.trapezoid(x), W),
    "gradient": (lambda np, x: np.gradient(x), M),
    "gradient step": (lambda np, x: np.gradient(x, 0.5, axis=0), M),
    "gradient steps": (lambda np, x: np.gradient(x, 0.5, 2.0), M),
    "gradient of two": (lambda np, x: np.gradient(x[:2]), V),
    "convolve": (lambda np, x: np.convolve(x, [1.0, 2]), V),
    "convolve same": (lambda np, x: np.convolve(x, [1.0, 2, 3, 4], "same"), V),
    "convolve valid": (lambda np, x: np.convolve([1, 2], x, "valid"), np.arange(7)),
    "polyval": (lambda np, x: np.polyval([1.0, 2, 3], x), V),
    "polyval traced": (lambda np, x: np.polyval(x, 2), np.arange(3)),
    "cov": (lambda np, x: (np.cov(x), np.cov(x, rowvar=False), np.cov(x, bias=True)), M),
    "cov of lines": (lambda np, x: (np.cov(x), np.cov(x, 2 * x)), V),
    "corrcoef": (lambda np, x: np.corrcoef(x), M),
    "bincount": (lambda np, x: np.bincount(x, minlength=5), np.array([1, 1, 4])),
    "bincount weights": (
        lambda np, x, w: np.bincount(x, weights=w, minlength=5),
        np.array([1, 1, 4]),
        floats(3),
    ),
    "allclose": (lambda np, x: (np.allclose(x, x), np.allclose(x, x + 1)), V),
    "array_equal of NaN": (
        lambda np, x: (np.array_equal(x, x), np.array_equal(x, x, equal_nan=True)),
        GAPS,
    ),
    "array_equal of integers": (lambda np, x: np.array_equal(x, x, equal_nan=True), W),
    "array_equal": (lambda np, x: (np.array_equal(x, x), np.array_equal(x, x[:2])), V),
    "matvec": (lambda np, m, v: (np.matvec(m, v), np.vecmat(m[:, 0], m)), M, V),
    "vecmat complex": (lambda np, m: np.vecmat(m[:, 0], m), C),
    "nanvar": (lambda np, x: (np.nanvar(x), np.nanvar(x, axis=0), np.nanstd(x, axis=1)), GAPS),
    "nanstd ddof": (lambda np, x: np.nanstd(x, axis=0, ddof=1, keepdims=True), GAPS),
    "nanprod": (lambda np, x: (np.nanprod(x, axis=0), np.nancumsum(x, axis=1)), GAPS),
    "logspace": (lambda np: (np.logspace(0, 1, 4), np.logspace(0, 3, 4, base=2)),),
    "indices": (lambda np: np.indices((2, 3)),),
    "modf": (lambda np, x: np.modf(x), np.array([1.5, -2.25, np.inf, -np.inf, np.nan, -0.0])),
    "append": (lambda np, x: (np.append(x, x), np.append(x, x, axis=0)), M),
    "dstack": (lambda np, x: (np.dstack([x, x]), np.dstack([x[0], x[0]])), M),
    "atleast_3d": (lambda np, x: np.atleast_3d(x, x[0], x[0, 0]), M),
    "rollaxis": (lambda np, x: (np.rollaxis(x, 2), np.rollaxis(x, 0, 3), np.rollaxis(x, 1)), X),
    "resize": (lambda np, x: (np.resize(x, (2, 5)), np.resize(x, (2,))), V),
    "block": (lambda np, x: (np.block([[x, x], [x, x]]), np.block([x[0], x[1]])), M),
    "array_split": (lambda np, x: (*np.array_split(x, 4), *np.array_split(x, [1, 2])), V),
    "repeat by list": (lambda np, x: np.repeat(x, [0, 2, 1, 3], axis=0), M),
    "quantiles": (lambda np, x: np.quantile(x, [0.3, 0.6], axis=0), M.astype(np.float64)),
    "quantile of axes": (lambda np, x: np.quantile(x, 0.3, axis=(0, 2), keepdims=True), X),
    "median of axes": (lambda np, x: np.median(x, axis=(0, 1)), X),
    "isin inverted": (lambda np, x: np.isin(x, [1, 2], invert=True), W),
    "argmax of a scalar": (lambda np, x: (np.argmax(x), np.argmin(x, keepdims=True)), S),
    "complex sums": (lambda np, x: (np.sum(x, axis=0), np.mean(x), np.prod(x, axis=1)), C),
    "complex prod": (lambda np, x: (np.prod(x), np.prod(x, axis=(0, 1), keepdims=True)), C),
    "complex spread": (lambda np, x: (np.var(x), np.std(x, axis=0), np.trace(x)), C),
    "norm": (lambda np, x: (np.linalg.norm(x), np.linalg.norm(x, "fro")), M),
    "matrix norms": (lambda np, x: tuple(np.linalg.norm(x, o) for o in (1, -1, np.inf)), M),
    "vector norms": (lambda np, x: tuple(np.linalg.norm(x, o) for o in (0, 1, 2, 3, -np.inf)), V),
    "norm along": (lambda np, x: (np.linalg.norm(x, axis=1), np.linalg.norm(x, 1, (0, 2))), X),
    "norm reversed": (lambda np, x: np.linalg.norm(x, np.inf, axis=(2, 0), keepdims=True), X),
    "norm complex": (lambda np, x: (np.linalg.norm(x), np.linalg.norm(x, axis=0)), C),
    "array api norms": (
        lambda np, x: (np.linalg.vector_norm(x, axis=(0, 1)), np.linalg.matrix_norm(x)),
        X,
    ),
    "cross": (lambda np, x, y: np.linalg.cross(x, y), floats(4, 3), floats(3)),
    "diagonals": (lambda np, x: (np.linalg.diagonal(x), np.linalg.trace(x, offset=1)), X),
    "matrix_power": (
        lambda np, x: tuple(np.linalg.matrix_power(x, n) for n in (0, 1, 5)),
        floats(2, 3, 3, dtype=np.float64),
    ),
    "vdot of bools": (lambda np, x: np.vdot(x, x), np.array([True, False])),
}

SUBSCRIPTS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,jk", (3, 4), (4, 5)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iii->i", (3, 3, 3)),
    ("ij->", (3, 4)),
    ("ii,i->i", (3, 3), (3,)),
    ("i,j->ij", (3,), (4,)),
    ("ij,ij->ij", (1, 4), (3, 4)),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("...ij,...jk->...ik", (2, 3, 4), (1, 4, 5)),
    ("...k,k...->...", (3,), (3,)),
    ("...ij,jk", (2, 3, 4), (4, 5)),
    ("i...->...", (3, 4, 5)),
    ("ij,jk,kl->il", (3, 4), (4, 5), (5, 2)),
    ("ijk,jil->kl", (3, 4, 5), (4, 3, 2)),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_method_gives_what_numpy_gives(name: str) -> None:
    """Shape, dtype and value."""
    call, *arrays = CASES[name]
    expected = outcome(lambda: call(np, *arrays))
    assert not isinstance(expected, Exception)
    assert not difference(expected, interpreted(call, *arrays))


@pytest.mark.parametrize("row", SUBSCRIPTS, ids=[s for s, *_ in SUBSCRIPTS])
def test_einsum_reads_subscripts_as_numpy(row: tuple[Any, ...]) -> None:
    """Diagonals, ellipses, broadcasting and results in label order, floats and integers."""
    text, *shapes = row
    for arrays in ([floats(*s) for s in shapes], [RNG.integers(-3, 4, s) for s in shapes]):
        call: Call = lambda p, *xs: p.einsum(text, *xs)  # noqa: E731
        assert not difference(call(np, *arrays), interpreted(call, *arrays))


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ConcretizationError, lambda p, x: p.repeat(x, x.shape[0] + p.sum(p.argmax(x)))),
        (PycError, lambda p, x: p.linalg.norm(p.reshape(x, (2, 3)), 3)),
        (PycError, lambda p, x: p.einsum("ij", x)),
        (PycError, lambda p, x: p.einsum("i,i", x, x[:2])),
        (PycError, lambda p, x: p.linalg.cross(x[:2], x[:2])),
        (PycError, lambda p, x: p.bincount(p.astype(x, "int64"))),
        (PycError, lambda p, x: p.array_split(x, 0)),
        (PycError, lambda p, x: p.cumulative_sum(p.reshape(x, (2, 3)))),
    ],
)
def test_what_cannot_be_is_a_named_error(error: type[Exception], call: Call) -> None:
    """Shapes that would depend on data, and arguments that do not fit."""
    with pytest.raises(error):
        interpreted(call, V)


@pytest.mark.parametrize("n", [-3, -1, 0, 0.5, 1, 2, 2.0, 3, 5, 12])
def test_whole_powers_of_complex_numbers_are_products(n: float) -> None:
    """As in NumPy: by logarithms `z ** 2` would not be `z * z`."""
    z = floats(20, dtype=np.float64) + 1j * floats(20, dtype=np.float64)
    found = interpreted(lambda p, x: p.power(x, n), z)
    assert not difference(z**n, found, roundings=8)
    assert not difference(
        (-2 + 0j) ** 2, interpreted(lambda p, x: p.power(x, 2), np.complex128(-2)), 0
    )


def test_bincount_refuses_numbers_outside_of_its_length() -> None:
    """Neither a negative number nor one past the end is counted elsewhere."""
    for wrong in (-1, 5):
        with pytest.raises(ValueError, match=str(wrong)):
            interpreted(lambda p, x: p.bincount(x, length=5), np.array([0, wrong]))
