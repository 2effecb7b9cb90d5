"""Shapes and types of results of linear algebra, transforms, polynomials, sorting, sets and
histograms are NumPy's for every type of elements, one matrix and several, and for none at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pyc.numpy as pnp

Call = Callable[[Any, Any], Any]

TYPES = (*("bool", "int8", "uint64", "float16", "float32", "float64", "complex64", "complex128"),)
SQUARES = ((2, 2), (3, 2, 2), (0, 2, 2), (0, 0))
MATRICES = (*SQUARES, (2, 3), (2, 3, 2), (0, 3), (3, 0))
LINES = ((3,), (1,), (0,))
VECTORS = (*LINES, (2, 3), (0, 3))
THREES = ((3,), (2, 3), (0, 3))

OF_MATRICES: dict[str, tuple[tuple[tuple[int, ...], ...], Call]] = {
    "cholesky": (SQUARES, lambda p, x: p.linalg.cholesky(x)),
    "cond": (MATRICES, lambda p, x: p.linalg.cond(x)),
    "cond in the norm 1": (SQUARES, lambda p, x: p.linalg.cond(x, 1)),
    "det": (SQUARES, lambda p, x: p.linalg.det(x)),
    "diagonal": (MATRICES, lambda p, x: p.linalg.diagonal(x, offset=1)),
    "eigh": (SQUARES, lambda p, x: p.linalg.eigh(x)),
    "eigvalsh": (SQUARES, lambda p, x: p.linalg.eigvalsh(x)),
    "inv": (SQUARES, lambda p, x: p.linalg.inv(x)),
    "lstsq": (((2, 2), (3, 2), (2, 3), (0, 2), (2, 0)), lambda p, x: p.linalg.lstsq(x, x)),
    "matmul": (SQUARES, lambda p, x: p.matmul(x, x)),
    "matrix_norm": (MATRICES[:5], lambda p, x: p.linalg.matrix_norm(x)),
    "matrix_norm 1": (((2, 2), (3, 2, 2)), lambda p, x: p.linalg.matrix_norm(x, ord=1)),
    "matrix_norm 2": (((2, 2), (3, 2, 2)), lambda p, x: p.linalg.matrix_norm(x, ord=2)),
    "matrix_power": (SQUARES[:3], lambda p, x: p.linalg.matrix_power(x, 2)),
    "matrix_power -1": (SQUARES[:3], lambda p, x: p.linalg.matrix_power(x, -1)),
    "matrix_rank": (MATRICES, lambda p, x: p.linalg.matrix_rank(x)),
    "multi_dot": (((2, 2), (0, 0)), lambda p, x: p.linalg.multi_dot([x, x, x])),
    "norm": ((*MATRICES, *LINES), lambda p, x: p.linalg.norm(x)),
    "norm of lines": (MATRICES, lambda p, x: p.linalg.norm(x, axis=-1, keepdims=True)),
    "outer": (LINES, lambda p, x: p.linalg.outer(x, x)),
    "pinv": (MATRICES, lambda p, x: p.linalg.pinv(x)),
    "qr": (MATRICES, lambda p, x: p.linalg.qr(x)),
    "qr raw": (((2, 2), (2, 3)), lambda p, x: p.linalg.qr(x, "raw")),
    "slogdet": (SQUARES, lambda p, x: p.linalg.slogdet(x)),
    "solve": (SQUARES, lambda p, x: p.linalg.solve(x, x)),
    "svd": (MATRICES, lambda p, x: p.linalg.svd(x)),
    "svd, thin": (MATRICES, lambda p, x: p.linalg.svd(x, full_matrices=False)),
    "svdvals": (MATRICES, lambda p, x: p.linalg.svdvals(x)),
    "tensorinv": (((2, 2),), lambda p, x: p.linalg.tensorinv(x, 1)),
    "tensorsolve": (((2, 2),), lambda p, x: p.linalg.tensorsolve(x, x[0])),
    "trace": (MATRICES, lambda p, x: p.linalg.trace(x)),
    "vector_norm": (MATRICES, lambda p, x: p.linalg.vector_norm(x, axis=-1)),
    "vector_norm 3": (MATRICES, lambda p, x: p.linalg.vector_norm(x, ord=3)),
    "vector_norm 0": (MATRICES, lambda p, x: p.linalg.vector_norm(x, ord=0)),
}
OF_LINES: dict[str, tuple[tuple[tuple[int, ...], ...], Call]] = {
    "argsort": (VECTORS, lambda p, x: p.argsort(x)),
    "bin edges": (LINES, lambda p, x: p.histogram_bin_edges(x, 3)),
    "cross": (THREES, lambda p, x: p.cross(x, x)),
    "digitize": (LINES, lambda p, x: p.digitize(x, p.sort(x))),
    "dot": (LINES, lambda p, x: p.dot(x, x)),
    "einsum": (LINES, lambda p, x: p.einsum("i,j->ij", x, x)),
    "inner": (VECTORS, lambda p, x: p.inner(x, x)),
    "histogram2d": (LINES, lambda p, x: p.histogram2d(x, x, 2)),
    "histogramdd": (((3, 2), (0, 2)), lambda p, x: p.histogramdd(x, 2)),
    "i0": (VECTORS, lambda p, x: p.i0(x)),
    "intersect1d": (LINES, lambda p, x: p.intersect1d(x, x)),
    "isin": (VECTORS, lambda p, x: p.isin(x, x)),
    "ix_": (LINES, lambda p, x: p.ix_(x, x)),
    "kron": (VECTORS, lambda p, x: p.kron(x, x)),
    "median": (VECTORS, lambda p, x: p.median(x, axis=-1)),
    "nonzero": (VECTORS, lambda p, x: p.nonzero(x)),
    "outer of arrays": (VECTORS, lambda p, x: p.outer(x, x)),
    "percentile": (VECTORS[:2], lambda p, x: p.percentile(x, [25.0, 50.0])),
    "piecewise": (LINES, lambda p, x: p.piecewise(x, [x > 1], [0, 1])),
    "poly": (LINES, lambda p, x: p.poly(x)),
    "polyadd": (LINES, lambda p, x: p.polyadd(x, x)),
    "polyder": (LINES, lambda p, x: p.polyder(x)),
    "polydiv": (LINES, lambda p, x: p.polydiv(x, x)),
    "polyfit": (LINES, lambda p, x: p.polyfit(x, x, 0)),
    "polyint": (LINES, lambda p, x: p.polyint(x)),
    "polymul": (LINES, lambda p, x: p.polymul(x, x)),
    "polysub": (LINES, lambda p, x: p.polysub(x, x)),
    "quantile": (VECTORS[:2], lambda p, x: p.quantile(x, 0.5)),
    "quantile of an array": (VECTORS[:2], lambda p, x: p.quantile(x, p.asarray([0.5]))),
    "real_if_close": (VECTORS, lambda p, x: p.real_if_close(x)),
    "roots": (LINES, lambda p, x: p.roots(x)),
    "searchsorted": (LINES, lambda p, x: p.searchsorted(x, x)),
    "setdiff1d": (LINES, lambda p, x: p.setdiff1d(x, x)),
    "setxor1d": (LINES, lambda p, x: p.setxor1d(x, x)),
    "sort": (VECTORS, lambda p, x: p.sort(x)),
    "take": (VECTORS[:2], lambda p, x: p.take(x, [[0, 0]], axis=0)),
    "take_along_axis": (VECTORS[:2], lambda p, x: p.take_along_axis(x, p.asarray([0]), -1)),
    "tensordot": (LINES, lambda p, x: p.tensordot(x, x, 1)),
    "union1d": (LINES, lambda p, x: p.union1d(x, x)),
    "unique": (VECTORS, lambda p, x: p.unique(x, True, True, True)),
    "unique_all": (LINES, lambda p, x: p.unique_all(x)),
    "unwrap": (LINES, lambda p, x: p.unwrap(x)),
    "vander": (LINES, lambda p, x: p.vander(x)),
    "vdot": (VECTORS, lambda p, x: p.vdot(x, x)),
    "vecdot": (VECTORS, lambda p, x: p.vecdot(x, x)),
    **{
        name: (VECTORS[:4], lambda p, x, name=name: getattr(p.fft, name)(x))
        for name in ("fft", "hfft", "ifft", "ihfft", "irfft", "rfft", "fftshift")
    },
    **{
        name: (((2, 3), (2, 3, 4)), lambda p, x, name=name: getattr(p.fft, name)(x))
        for name in ("fft2", "fftn", "ifft2", "ifftn", "irfft2", "irfftn", "rfft2", "rfftn")
    },
}
CASES = {**OF_MATRICES, **OF_LINES}


def elements(shape: tuple[int, ...], dtype: str) -> Any:
    """Elements of a type, in matrices that have an inverse."""
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    count = int(np.prod(shape))
    found = (np.arange(count).reshape(shape) * 3) % 4
    if len(shape) > 1 and shape[-1] == shape[-2]:
        found = np.broadcast_to(np.array([[1, 0], [0, 1]]), shape) if count else found
    return found.astype(kind)


def described(call: Call, module: Any, x: Any) -> Any:
    """The types and shapes of results, or None where they are refused."""
    try:
        with np.errstate(all="ignore"):
            found = call(module, x)
    except (ValueError, TypeError, IndexError):
        return None
    several = found if isinstance(found, (tuple, list)) else [found]
    leaves = [y for part in several for y in (part if isinstance(part, list) else [part])]
    return [(np.asarray(y).dtype.name, np.shape(y)) for y in leaves]


OF_REAL_NUMBERS = ("bin edges", "histogram2d", "histogramdd")
"""What NumPy computes with complex numbers, where real parts come first, and pyc refuses."""
OF_BOOLS = ("percentile", "quantile", "quantile of an array")
"""What pyc computes with bools, as of integers, and NumPy refuses."""


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", CASES)
def test_shapes_and_types_are_those_of_numpy(name: str, dtype: str) -> None:
    shapes, call = CASES[name]
    for shape in shapes:
        x = elements(shape, dtype)
        expected = described(call, np, x)
        if dtype.startswith("complex") and name in OF_REAL_NUMBERS:
            expected = None
        if dtype == "bool" and name in OF_BOOLS:
            expected = described(call, np, x.astype(int))
        assert described(call, pnp, x) == expected, shape


REFUSED = ("polyder", "polyint", "vander")
"""What brings integers in, with which bfloat16 has no common type."""
WIDER = ("hfft", "irfft")
"""What NumPy rounds to float16, and pyc leaves in the type that it computes in."""

KNOWN = ("polydiv", "roots")
"""What NumPy finds where the elements are known."""


@pytest.mark.parametrize("name", [name for name in CASES if name not in KNOWN])
def test_bfloat16_is_a_half_type_as_float16(name: str) -> None:
    """NumPy does not know that it is a float, and makes float64 of it, or refuses it."""
    shapes, call = CASES[name]
    for shape in shapes:
        found = described(call, pnp, elements(shape, "bfloat16"))
        expected = described(call, pnp, elements(shape, "float16"))
        own = "float32" if name in WIDER else "bfloat16"
        if expected is not None:
            expected = [(own if k == "float16" else k, s) for k, s in expected]
        assert found == (None if name in REFUSED else expected), shape


ANSWERS: dict[str, Call] = {
    "window of 1.5 points": lambda p, x: [p.hanning(1.5), p.bartlett(1.5), p.blackman(1.5)],
    "window of 0.7 points": lambda p, x: [p.hamming(0.7), p.bartlett(0.7)],
    "window of 4.5 points": lambda p, x: [p.kaiser(4.5, 2.0), p.hamming(4.5)],
    "window of -3 points": lambda p, x: [p.hanning(-3), p.kaiser(-3, 2.0)],
    "triangle of -1 columns": lambda p, x: [*p.tril_indices(2, m=-1), *p.triu_indices(2, m=-1)],
    "product with no polynomial": lambda p, x: [p.polymul([], [1, 2]), p.polymul(x, x[:0])],
    "transform along no axes": lambda p, x: [p.fft.fftn(x, axes=()), p.fft.ifftn(x[0])],
    "axis that is moved twice": lambda p, x: p.linalg.tensorsolve(
        p.asarray([[2.0, 1.0], [1.0, 3.0]]), p.asarray([1.0, 2.0]), axes=(0, 0)
    ),
    "norm of any order": lambda p, x: p.linalg.vector_norm(x, ord=None),
    "inverse of half types": lambda p, x: p.fft.irfftn(x.astype(np.float16)),
}
"""Calls whose answers were not NumPy's."""


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_those_of_numpy(name: str) -> None:
    x = np.array([1.0, 2.0, 3.0, 5.0])
    found, expected = ANSWERS[name](pnp, x), ANSWERS[name](np, x)
    several = isinstance(expected, (list, tuple))
    for a, b in zip(*(y if several else [y] for y in (found, expected)), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-12 if b.dtype != np.float16 else 1e-3, atol=1e-15)
