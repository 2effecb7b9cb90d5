"""Factors of LU by a kernel: LAPACK's pivots and `info`, on every way to run it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest

import pyc
import pyc.scipy.linalg as linalg
from pyc import config
from pyc.backends.oracle import run_plan
from pyc.ir import dtype as dt
from pyc.ir.op import OPS
from pyc.ir.plan import Copy, Launch, Library, Plan
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4, Target
from pyc.kernels import lu
from pyc.passes.memory import plan
from tests.ops.test_linalg import normal, one
from tests.passes.native_plans import by_threads
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def no_cache() -> Iterator[None]:
    with config.using(cache="off"):
        yield


def planned(a: Array, target: Target = X86_64_V4) -> tuple[Plan, list[Array]]:
    graph, arguments = one("lu", [a], {})
    return plan(graph, target, check=True).plan, arguments


def shapes_of(a: Array) -> list[tuple[tuple[int, ...], Any]]:
    return [(a.shape, a.dtype), (a.shape[:-1], np.int32), (a.shape[:-2], np.int32)]


def matrices(n: int) -> Array:
    """By columns: usual ones, ones that exchange no rows, equal magnitudes, zeros, tiny pivots."""
    rng = np.random.default_rng(n)
    a = rng.standard_normal((6, n, n))
    a[1] = a[1] @ a[1].T + n * np.eye(n)
    a[2] = rng.choice([-1.0, 1.0], (n, n))
    a[3, n // 2] = a[3, 1]
    a[4] *= 1e-305
    a[5] = 0
    return a


@pytest.mark.parametrize(("n", "wide"), [(8, 8), (24, 24), (40, 16), (32, 24)])
def test_every_way_gives_the_same_bits(n: int, wide: int) -> None:
    """One block and several, whose last is narrower; LAPACK within a bound."""
    a = matrices(n)
    with (
        mock.patch.object(lu, "LEAST_WORK", 1),
        mock.patch.object(lu, "LEAST_ORDER", 1),
        mock.patch.object(lu, "WHOLE", wide),
        mock.patch.object(lu, "WIDE", wide),
    ):
        made, arguments = planned(a)
    assert [k.name for k in made.kernels] == ["lu"]
    assert [type(s) for s in made.steps] == [Copy, Launch]
    native = by_threads(made, X86_64_V4, arguments, shapes_of(a), counts=(1,))[0]
    simulated = run_plan(made, arguments, shapes_of(a))
    assert all(same_bits(x, np.asarray(y)) for x, y in zip(native, simulated, strict=True))
    factors, pivots, info = OPS["lu"].reference(a)
    # Which of equal rows is the pivot hangs on the last bits: not of these two matrices.
    sure = [0, 1, 4, 5]
    np.testing.assert_array_equal(native[1][sure], pivots[sure])
    np.testing.assert_array_equal(native[2][sure], info[sure])
    scale = np.abs(factors[sure]).max((1, 2), keepdims=True)
    gap = np.abs(native[0][sure] - factors[sure])
    assert (gap <= 1e-11 * scale).all()
    for k in range(6):
        check(a[k], native[0][k], native[1][k])


def check(a: Array, factors: Array, pivots: Array) -> None:
    """L U is the matrix with its rows exchanged, and no element of L is above 1."""
    lower, upper = np.tril(factors.T, -1), np.triu(factors.T)
    rows = a.T.copy()
    for k, other in enumerate(pivots - 1):
        rows[[k, other]] = rows[[other, k]]
    assert np.abs(lower).max() <= 1 + 1e-15
    product = (lower + np.eye(len(a))) @ upper
    bound = 1e-14 * len(a) * np.abs(upper).max()
    assert np.abs(product - rows).max() <= bound


@pytest.mark.parametrize("n", [256, 264, 400])
def test_factors_solutions_and_determinants(n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.standard_normal((n, n)), rng.standard_normal((n, 4))
    factors, pivots = pyc.jit(linalg.lu_factor)(a)
    check(a.T, factors.T, pivots + 1)
    x = pyc.jit(lambda a, b: np.linalg.solve(a, b))(a, b)
    assert np.abs(a @ x - b).max() < 1e-14 * n * np.abs(a).max() * np.abs(x).max()
    sign, log = pyc.jit(lambda a: np.linalg.slogdet(a))(a)
    expected = np.linalg.slogdet(a)
    assert sign == expected[0] and abs(log - expected[1]) < 1e-9
    a[:, 5] = a[:, 3] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        pyc.jit(lambda a, b: np.linalg.solve(a, b))(a, b)


def test_threads_share_a_batch() -> None:
    a = np.random.default_rng(0).standard_normal((7, 64, 64))
    with mock.patch.object(lu, "LEAST_WORK", 1 << 20):
        made, arguments = planned(a)
    assert made.kernels[0].name == "lu"
    found = by_threads(made, X86_64_V4, arguments, shapes_of(a))
    for other in found[1:]:
        assert all(same_bits(x, y) for x, y in zip(found[0], other, strict=True))


def test_what_is_no_number() -> None:
    """NaN is no pivot while there is a number, and no row beyond the matrix ever is."""
    a = np.random.default_rng(0).standard_normal((4, 128, 128))
    a[0, 3, 7], a[1, 0], a[2, 100, 100], a[3] = np.nan, np.nan, np.inf, np.nan
    with mock.patch.object(lu, "LEAST_WORK", 1 << 20):
        made, arguments = planned(a)
    factors, pivots, _ = by_threads(made, X86_64_V4, arguments, shapes_of(a), counts=(1,))[0]
    assert (pivots > np.arange(128)).all() and (pivots <= 128).all()
    for k in range(4):
        x = pyc.jit(lambda a, b: np.linalg.solve(a, b))(a[k].T, np.ones((128, 4)))
        assert not np.isfinite(x).all() and not np.isfinite(factors[k]).all()


def test_what_has_no_kernel() -> None:
    """Small, oblong, complex matrices, narrow floats and vectors, a device's: LAPACK's."""
    f64 = dt.f64
    cases = [(f64, (64, 64)), (f64, (130, 130)), (f64, (256, 128)), (dt.f32, (256, 256))]
    targets = [(*case, X86_64_V4) for case in [*cases, (dt.c128, (256, 256))]]
    for dtype, shape, target in (
        *targets,
        (f64, (256, 256), X86_64_V3),
        (f64, (256, 256), SM_90),
    ):
        made, _ = planned(normal(dtype, *shape), target)
        assert [type(s) for s in made.steps] == [Library]
