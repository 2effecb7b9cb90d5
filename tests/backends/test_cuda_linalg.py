"""Linear algebra in programs of a GPU without a library: LAPACK is on the host, with a reason; all
else is there. `test_cuda_solvers.py` is about the libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import config
from pyc.reasons import Reason, collecting
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.cuda


@pytest.fixture(autouse=True)
def on_host() -> Iterator[None]:
    with config.using(device_linalg="host"):
        yield


RNG = np.random.default_rng(0)
A = RNG.standard_normal((3, 6, 6)) + 5 * np.eye(6)
H = A @ np.swapaxes(A, -1, -2)
B = RNG.standard_normal((3, 6, 2))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cholesky": lambda a, h, b: np.linalg.cholesky(h),
    "solve": lambda a, h, b: np.linalg.solve(a, b),
    "inv": lambda a, h, b: np.linalg.inv(a),
    "det": lambda a, h, b: np.linalg.det(a),
    "slogdet": lambda a, h, b: np.linalg.slogdet(a),
    "qr": lambda a, h, b: np.linalg.qr(a),
    "svd": lambda a, h, b: np.linalg.svd(a),
    "eigh": lambda a, h, b: np.linalg.eigh(h),
    "eig": lambda a, h, b: np.linalg.eig(a),
    "lstsq": lambda a, h, b: np.linalg.lstsq(a[0], b[0])[0],
    "complex": lambda a, h, b: np.linalg.inv(a + 1j * h),
    "float32": lambda a, h, b: np.linalg.inv(a.astype(np.float32)),
    "loop": lambda a, h, b: pyc.fori_loop(0, 4, lambda k, x: np.linalg.inv(x + k), a),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_bits_of_the_cpu(name: str) -> None:
    with config.using(cache="off"):
        expected = pyc.tree.leaves(pyc.jit(FUNCTIONS[name])(A, H, B))
        on_gpu = pyc.jit(FUNCTIONS[name], device="cuda")
        with collecting() as events:
            found = pyc.tree.leaves(on_gpu(A, H, B))
    assert Reason.FALLBACK_HOST in {e.reason for e in events}
    for a, b in zip(expected, found, strict=True):
        assert same_bits(np.asarray(a), np.asarray(b))


def test_many_small_matrices_are_kernels_of_the_device() -> None:
    """The bits of the CPU's kernels, and no step of the host."""
    a = RNG.standard_normal((1000, 4, 4))
    b = RNG.standard_normal((1000, 4, 2))

    def function(a: Any, b: Any) -> Any:
        h = a * np.swapaxes(a, -1, -2) + 20 * np.eye(4)
        return np.linalg.solve(a, b), np.linalg.inv(a), np.linalg.det(a), np.linalg.cholesky(h)

    with config.using(cache="off"):
        expected = pyc.jit(function)(a, b)
        on_gpu = pyc.jit(function, device="cuda")
        with collecting() as events:
            found = on_gpu(a, b)
    assert Reason.FALLBACK_HOST not in {e.reason for e in events}
    for x, y in zip(expected, found, strict=True):
        assert same_bits(x, y)


def test_arrays_stay_on_the_device() -> None:
    a = pyc.device_put(A, "cuda")
    found = pnp.linalg.inv(a)
    assert str(found.device).startswith("cuda")
    assert same_bits(np.asarray(found), pyc.jit(lambda a: np.linalg.inv(a))(A))


def test_failures_come_from_there() -> None:
    singular = np.stack([np.eye(6), np.zeros((6, 6))])
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        pyc.jit(lambda a: np.linalg.inv(a), device="cuda")(singular)
    a = pyc.device_put(singular, "cuda")
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        np.asarray(pnp.linalg.inv(a))


def test_large_matrices_are_copied_in_pieces_that_are_not_kept() -> None:
    """More than the memory that a step keeps pinned."""
    a = RNG.standard_normal((1500, 1500)) + 50 * np.eye(1500)
    expected = pyc.jit(lambda a: np.linalg.inv(a))(a)
    assert same_bits(pyc.jit(lambda a: np.linalg.inv(a), device="cuda")(a), expected)
