"""Right sides as lanes: the solutions that LAPACK has, on every way to run them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest

import pyc
from pyc import config
from pyc.backends.oracle import run_plan
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.op import OPS
from pyc.ir.plan import Launch, Library, Plan
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4, Target
from pyc.kernels import lu_solve
from pyc.passes.memory import plan
from tests.ops.test_linalg import normal, one
from tests.passes.native_plans import by_threads
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def no_cache() -> Iterator[None]:
    with config.using(cache="off"):
        yield


def system(dtype: DType, right: int, *shape: int) -> list[Array]:
    """Factors of matrices that exchange rows, pivots, and right sides."""
    n = shape[-1]
    factors, pivots, _ = OPS["lu"].reference(normal(dtype, *shape, n))
    return [factors, pivots, normal(dtype, *shape[:-1], right, n, seed=1)]


def planned(arrays: list[Array], target: Target) -> tuple[Plan, list[Array]]:
    graph, arguments = one("lu_solve", arrays, {})
    return plan(graph, target, check=True).plan, arguments


CASES = [(16, 4, ()), (23, 5, ()), (31, 17, (2,)), (24, 40, ()), (8, 16, (3, 2)), (5, 9, (2,))]


@pytest.mark.parametrize(("n", "right", "batch"), CASES, ids=str)
@pytest.mark.parametrize("dtype", [dt.f64, dt.f32], ids=str)
def test_every_way_gives_the_same_bits(
    dtype: DType, n: int, right: int, batch: tuple[int, ...]
) -> None:
    """Native code by vectors of both widths and the kernel interpreter; LAPACK within a bound."""
    arrays = system(dtype, right, *batch, n)
    (expected,) = OPS["lu_solve"].reference(*arrays)
    shapes = [(expected.shape, expected.dtype)]
    found = []
    with (
        mock.patch.object(lu_solve, "LEAST_WORK", 1),
        mock.patch.object(lu_solve, "LEAST_ORDER", 1),
    ):
        for target in (X86_64_V3, X86_64_V4):
            made, arguments = planned(arrays, target)
            assert [k.name for k in made.kernels] == ["lu_solve"]
            found += [r[0] for r in by_threads(made, target, arguments, shapes, counts=(1,))]
        found.append(np.asarray(run_plan(made, arguments, shapes)[0]))
    assert all(same_bits(x, found[0]) for x in found[1:])
    scale = np.abs(expected).max() * np.abs(arrays[0]).max() * n
    assert np.abs(found[0] - expected).max() < 100 * scale * np.finfo(dtype.numpy).eps


def test_threads_share_the_right_sides() -> None:
    arrays = system(dt.f64, 128, 96)
    made, arguments = planned(arrays, X86_64_V4)
    assert made.kernels[0].name == "lu_solve"
    found = by_threads(made, X86_64_V4, arguments, [(arrays[2].shape, np.float64)])
    assert all(same_bits(x[0], found[0][0]) for x in found[1:])


def test_solutions_are_as_exact_as_the_routines() -> None:
    """The residual is some roundings of |a| |x|."""
    rng = np.random.default_rng(0)
    for n in (48, 131):
        a, b = rng.standard_normal((3, n, n)), rng.standard_normal((3, n, 16))
        x = pyc.jit(lambda a, b: np.linalg.solve(a, b))(a, b)
        scale = np.abs(a).max((1, 2)) * np.abs(x).max((1, 2)) * n
        assert (np.abs(a @ x - b).max((1, 2)) / scale).max() < 4 * np.finfo(float).eps


def test_solutions_lie_where_the_right_sides_were() -> None:
    """Neither is copied; what is read later keeps its place."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((64, 64)), rng.standard_normal((64, 40))

    def solved(a: Any, b: Any) -> Any:
        return np.linalg.solve(a, b * 2)

    def both(a: Any, b: Any) -> Any:
        twice = np.swapaxes(b, 0, 1) * 2
        return np.linalg.solve(a, twice.T), twice

    compiled = pyc.jit(solved).compile(a, b)
    assert "lu_solve" in compiled.as_text("plan")
    expected = np.linalg.solve(a, 2 * b)
    np.testing.assert_allclose(pyc.jit(solved)(a, b), expected, rtol=1e-9, atol=1e-11)
    x, twice = pyc.jit(both)(a, b)
    np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(twice, 2 * b.T)
    made = lu_solve.lu_solve(types_of(system(dt.f64, 40, 64)), X86_64_V4)
    assert made is not None and [b.may_alias for b in made.buffers] == [False, False, True, True]


def test_what_is_no_number_stays_within_its_system() -> None:
    """A matrix with NaN has solutions without, at most, where LAPACK has them."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 40, 40)), rng.standard_normal((3, 40, 20))
    a[1, 5, 7], b[2, 3, 4] = np.nan, np.inf
    x = pyc.jit(lambda a, b: np.linalg.solve(a, b))(a, b)
    expected = np.linalg.solve(a, b)
    np.testing.assert_array_equal(np.isfinite(x), np.isfinite(expected))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        pyc.jit(lambda a, b: np.linalg.solve(a, b))(np.ones((40, 40)), b[0])


def types_of(arrays: list[Array]) -> tuple[Any, ...]:
    graph, _ = one("lu_solve", arrays, {})
    return tuple(p.type for p in graph.params)


def test_what_has_no_kernel() -> None:
    """Few right sides, small systems and complex ones are LAPACK's, and a device's all."""
    cases = ((dt.f64, 3, 128, X86_64_V4), (dt.f64, 16, 16, X86_64_V4), (dt.c128, 64, 64, X86_64_V4))
    for dtype, right, n, target in (*cases, (dt.f64, 64, 64, SM_90)):
        made, _ = planned(system(dtype, right, n), target)
        assert [type(s) for s in made.steps] == [Library]
    made, _ = planned(system(dt.f64, 64, 64), X86_64_V4)
    assert [type(s) for s in made.steps] == [Launch]
