"""Products of complex numbers: one operand is read as it lies in memory, as real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc.ir.plan import launches_of
from pyc.ir.target import X86_64_V4
from pyc.numpy import complex_products
from pyc.passes import optimise
from pyc.passes.memory import plan

from ..passes.programs import graph_of

Array = np.ndarray[Any, Any]
CASES: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...]]] = {
    "matrices": (lambda a, b: a @ b, (5, 7), (7, 3)),
    "a matrix and a vector": (lambda a, b: a @ b, (5, 7), (7,)),
    "a vector and a matrix": (lambda a, b: a @ b, (7,), (7, 3)),
    "vectors": (lambda a, b: a @ b, (700,), (700,)),
    "one row": (lambda a, b: a @ b, (1, 7), (7, 300)),
    "one column": (lambda a, b: a @ b, (300, 7), (7, 1)),
    "one matrix for many": (lambda a, b: a @ b, (2, 5, 7), (7, 3)),
    "many for one matrix": (lambda a, b: a @ b, (5, 7), (4, 7, 3)),
    "batches that broadcast": (lambda a, b: a @ b, (3, 1, 5, 7), (4, 7, 3)),
    "a transposed matrix": (lambda a, b: a.T @ b, (7, 5), (7, 3)),
    "a transposed matrix and a vector": (lambda a, b: a.T @ b, (70, 50), (70,)),
    "a vector and a transposed matrix": (lambda a, b: a @ b.T, (50,), (70, 50)),
    "an adjoint": (lambda a, b: a.conj().T @ b, (70, 50), (70,)),
    "transposed matrices of a batch": (lambda a, b: a.mT @ b, (3, 7, 5), (3, 7, 4)),
    "axes that change places": (
        lambda a, b: np.tensordot(a.transpose(2, 0, 1), b, ([1], [0])),
        *((9, 4, 5), (9, 6)),
    ),
    "two terms": (lambda a, b: np.tensordot(a, b, 2), (3, 4, 5), (4, 5, 6)),
    "two terms apart": (
        lambda a, b: np.tensordot(a, b, ([0, 2], [1, 0])),
        *((3, 4, 5), (5, 3, 6)),
    ),
    "rows that both end with": (
        lambda a, b: np.einsum("bij,bkj->bik", a, b),
        *((3, 4, 5), (3, 6, 5)),
    ),
    "a batch behind": (lambda a, b: np.einsum("ijb,jkb->bik", a, b), (4, 5, 3), (5, 6, 3)),
    "all pairs": (lambda a, b: np.einsum("ij,kl->ijkl", a, b), (2, 3), (4, 5)),
    "conjugated": (np.vdot, (40,), (40,)),
    "nothing to add": (lambda a, b: a @ b, (5, 0), (0, 3)),
    "no rows": (lambda a, b: a @ b, (0, 5), (5, 3)),
}


def numbers(shape: tuple[int, ...], dtype: Any, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


@pytest.mark.parametrize("small", [0, complex_products.SMALL])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", CASES)
def test_products_agree_with_numpy(
    name: str, dtype: Any, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(complex_products, "SMALL", small)
    function, *shapes = CASES[name]
    a, b = (numbers(shape, dtype, k) for k, shape in enumerate(shapes))
    found, wanted = pyc.jit(lambda a, b: function(a, b))(a, b), function(a, b)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    near = 1e-4 if dtype is np.complex64 else 1e-12
    np.testing.assert_allclose(found, wanted, rtol=near, atol=near)
    mapped = pyc.vmap(function, in_axes=(0, None))(np.stack([a, 2j * a]), b)
    np.testing.assert_allclose(mapped[1], function(2j * a, b), rtol=10 * near, atol=10 * near)


@pytest.mark.parametrize(
    "name",
    [
        "a matrix and a vector",
        "a vector and a matrix",
        "a transposed matrix and a vector",
        "a vector and a transposed matrix",
    ],
)
def test_a_matrix_is_read_as_it_lies(name: str) -> None:
    function, *shapes = CASES[name]
    shapes = [tuple(64 if n > 1 else n for n in shape) for shape in shapes]
    a, b = (numbers(shape, np.complex128, k) for k, shape in enumerate(shapes))
    made = plan(optimise(graph_of(function, a, b)), X86_64_V4).plan
    assert len(list(launches_of(made.steps))) == 3
    assert made.peak < 64 * 64 * 16, "no copy of the matrix"


@pytest.mark.filterwarnings("ignore:invalid value")
def test_infinities_and_nan_reach_what_they_multiply() -> None:
    a, b = numbers((20, 30), np.complex128, 0), numbers((30, 40), np.complex128, 1)
    a[3, 4], b[5, 6] = complex(np.inf, 1), complex(np.nan, 0)
    found, wanted = pyc.jit(lambda a, b: a @ b)(a, b), a @ b
    assert np.array_equal(np.isfinite(found), np.isfinite(wanted))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [0, 1, (0, 1), 2, (0, 2), -2, None, ()])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_sums_along_any_axes_agree_with_numpy(dtype: Any, axis: Any, keepdims: bool) -> None:
    z = numbers((9, 17, 6), dtype, 3)
    found = pyc.jit(lambda z: np.sum(z, axis=axis, keepdims=keepdims))(z)
    wanted = np.sum(z, axis=axis, keepdims=keepdims)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    assert np.allclose(found, wanted, rtol=1e-4)
    apart = np.sum(pyc.device_put(z, "cpu"), axis=axis, keepdims=keepdims)
    assert np.asarray(apart).tobytes() == np.asarray(found).tobytes()
    assert "view_as_real" in str(graph_of(lambda z: z.sum(0), z)), "columns of parts"
