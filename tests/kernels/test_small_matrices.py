"""Kernels for batches of small matrices: what LAPACK gives, on every way to run them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import config
from pyc.backends.oracle import run_plan
from pyc.compile import compile_graph
from pyc.ir import dtype as dt
from pyc.ir.plan import Library
from pyc.ir.target import SM_90, X86_64_V3
from pyc.kernels import small_matrices
from pyc.passes.memory import plan
from pyc.reasons import Reason
from tests.backends.interpreted_device import on_device
from tests.ops.test_linalg import Case, dominant, normal, one, positive
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]
COUNT = 131
"""Not a whole number of vectors."""


@pytest.fixture(autouse=True)
def no_cache() -> Iterator[None]:
    with config.using(cache="off"):
        yield


def cases(dtype: dt.DType, n: int) -> Iterator[Case]:
    """Regular matrices, some singular or not finite ones among them."""
    a, h = dominant(dtype, COUNT, n, n), positive(dtype, COUNT, n, n)
    a[3], a[5], h[4] = 0, 1, -h[4]
    a[7, 0, 0] = h[8, 0, 0] = np.nan
    a[9] = np.eye(n)[::-1]
    for upper in (False, True):
        yield "cholesky", (h,), {"upper": upper}
    yield "lu", (a,), {}
    factors, pivots, _ = by_routine("lu", (a,), {})
    yield "lu_inverse", (factors, pivots), {}
    for right in (1, 3):
        yield "lu_solve", (factors, pivots, normal(dtype, COUNT, right, n)), {}


def by_routine(name: str, arrays: tuple[Array, ...], params: dict[str, Any]) -> tuple[Array, ...]:
    """The results by LAPACK: lane by lane there are too few for a kernel."""
    rows = []
    for k in range(0, COUNT, 8):
        graph, arguments = one(name, [a[k : k + 8] for a in arrays], params)
        assert plan(graph, X86_64_V3).plan.kernels == ()
        rows.append(compile_graph(graph)(*arguments))
    return tuple(np.concatenate(c) for c in zip(*rows, strict=True))


@pytest.mark.parametrize(("dtype", "n"), [*product([dt.f64, dt.f32], [1, 2, 3, 4])], ids=str)
def test_kernels_give_what_the_routines_give(dtype: dt.DType, n: int) -> None:
    """Native code, the kernel interpreter and a device's schedule by their bits; LAPACK within a
    bound, its pivots and `info` as they are."""
    eps = float(np.finfo(dtype.numpy).eps)
    for name, arrays, params in cases(dtype, n):
        graph, arguments = one(name, arrays, params)
        made = plan(graph, X86_64_V3, check=True)
        assert not any(isinstance(s, Library) for s in made.plan.steps)
        assert Reason.KERNEL_NEST in {d.reason for d in made.decisions}
        native = compile_graph(graph)(*arguments)
        shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
        simulated = run_plan(made.plan, arguments, shapes)
        device = on_device(graph, arguments, SM_90)
        expected = by_routine(name, arrays, params)
        *_, info = expected
        finite = ~np.isnan(arrays[0]).any(axis=(1, 2))
        regular = finite & (info == 0) if info.dtype.kind == "i" else finite
        for k, (a, b, c, d) in enumerate(zip(native, simulated, device, expected, strict=True)):
            assert same_bits(a, b) and same_bits(a, np.asarray(c)), (name, k)
            if d.dtype.kind == "i" and d.ndim == 1:
                np.testing.assert_array_equal(a[finite], d[finite], err_msg=name)
            else:
                with np.errstate(invalid="ignore"):
                    bound = 2000 * eps * np.maximum(np.abs(d[regular]).max(initial=1), 1)
                    gap = np.abs(a[regular].astype(float) - d[regular]) > bound
                assert not gap.any(), (name, k)


def test_solutions_are_as_exact_as_the_routines() -> None:
    """The residual is some roundings of |a| |x|, whatever the condition is."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((5000, 4, 4))
    b = rng.standard_normal((5000, 4, 2))
    x = pyc.jit(lambda a, b: np.linalg.solve(a, b))(a, b)
    scale = np.abs(a).max((1, 2)) * np.abs(x).max((1, 2))
    assert (np.abs(a @ x - b).max((1, 2)) / scale).max() < 32 * np.finfo(float).eps
    inverse = pyc.jit(lambda a: np.linalg.inv(a))(a)
    scale = np.abs(a).max((1, 2)) * np.abs(inverse).max((1, 2))
    assert (np.abs(a @ inverse - np.eye(4)).max((1, 2)) / scale).max() < 32 * np.finfo(float).eps
    det = pyc.jit(lambda a: np.linalg.det(a))(a)
    np.testing.assert_allclose(det, np.linalg.det(a), rtol=1e-9)


def test_a_failure_is_told() -> None:
    a = np.tile(np.eye(3), (200, 1, 1))
    a[150, 2] = a[150, 1]
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        pyc.jit(lambda a: np.linalg.inv(a))(a)
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        pyc.jit(lambda a: np.linalg.cholesky(a))(a - 2 * np.eye(3))


def test_a_donated_batch_is_factored_in_place() -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((500, 4, 4))
    h = a @ np.swapaxes(a, -1, -2) + np.eye(4)
    expected = np.linalg.cholesky(h)
    given = h.copy()
    found = pyc.jit(lambda h: np.linalg.cholesky(h), donate_argnums=(0,))(given)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert np.shares_memory(found, given)


def test_what_has_no_kernel() -> None:
    """Few, large, oblong and complex matrices, and other ops, are LAPACK's."""
    few = small_matrices.FEWEST - 1
    for name, arrays in (
        ("lu", (normal(dt.f64, few, 3, 3),)),
        ("lu", (normal(dt.f64, 500, 5, 5),)),
        ("lu", (normal(dt.f64, 500, 2, 3),)),
        ("lu", (normal(dt.c64, 500, 2, 2),)),
        ("qr", (normal(dt.f64, 500, 2, 2),)),
    ):
        graph, _ = one(name, arrays, {})
        assert [type(s) for s in plan(graph, X86_64_V3).plan.steps] == [Library]
