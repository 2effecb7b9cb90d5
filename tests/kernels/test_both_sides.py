"""Products of one matrix with vectors from both sides: one pass, right, same bits everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyc import lax
from pyc.ir import dtype as dt
from pyc.ir.loops import For, If, walk
from pyc.ir.target import X86_64_V3, X86_64_V4
from pyc.ir.types import ArrayType
from pyc.jit import jit
from pyc.kernels.both_sides import MINIMUM_BYTES, may_follow, side_of
from pyc.passes import optimise
from pyc.passes.memory import plan
from pyc.runtime.threads import set_num_threads
from pyc.verification import verify
from tests.passes.programs import graph_of, planned

RNG = np.random.default_rng(8)

ROWS = (((1,), (0,)), ((), ()))
COLUMNS = (((0,), (0,)), ((), ()))


def sample(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape)


def names(function: Any, *arguments: Any) -> list[str]:
    return [k.name for k in planned(function, *arguments).plan.kernels]


def normal(a: Any, x: Any) -> Any:
    return (a @ x) @ a


def gradient(a: Any, x: Any, b: Any) -> Any:
    return x - 0.125 * (a.T @ (a @ x - b))


def logistic(a: Any, x: Any, b: Any) -> Any:
    return a.T @ (1 / (1 + np.exp(-(a @ x))) - b)


def columns_first(a: Any, x: Any, v: Any) -> Any:
    return v @ a, a @ x


def updates(a: Any, x: Any, v: Any) -> Any:
    x, v = x.copy(), v.copy()
    v += a @ x
    x += v @ a
    return x, v


def turned(a: Any, x: Any, v: Any) -> Any:
    return x @ a.T, a.T @ v


SIZES = {
    "whole groups": (256, 320),
    "ragged": (251, 301),
    "groups of seven": (259, 288),
    "few columns": (1961, 67),
}


@pytest.mark.parametrize("function", [normal, gradient, logistic, columns_first, updates, turned])
@pytest.mark.parametrize("size", SIZES)
def test_both_products_are_one_pass_and_right(function: Any, size: str) -> None:
    m, k = SIZES[size]
    arguments = (sample(m, k), sample(k), sample(m))[: 2 if function is normal else 3]
    assert names(function, *arguments) == ["both_sides", "joined"]
    expected = function(*arguments)
    found = jit(function)(*arguments)
    for x, y in zip(
        *((v if isinstance(v, tuple) else (v,)) for v in (found, expected)), strict=True
    ):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("function", [gradient, columns_first])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_interpreters_agree(function: Any, dtype: Any) -> None:
    arguments = [x.astype(dtype) for x in (sample(131, 1031), sample(1031), sample(131))]
    assert "both_sides" in names(function, *arguments)
    verify(jit(function), *arguments)


def test_half_types_meet_where_they_are_widened_once() -> None:
    arguments = [x.astype(np.float16) for x in (sample(512, 520), sample(520), sample(512))]
    assert names(columns_first, *arguments) == ["both_sides", "joined"]
    assert "both_sides" not in names(normal, *arguments[:2])
    exact = columns_first(*(x.astype(np.float64) for x in arguments))
    for found, expected in zip(jit(columns_first)(*arguments), exact, strict=True):
        assert found.dtype == np.float16
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("function", [logistic, columns_first])
def test_threads_do_not_change_the_bits(function: Any) -> None:
    arguments = sample(1003, 517), sample(517), sample(1003)
    jitted = jit(function)
    found = []
    try:
        for threads in (1, 2, 3):
            set_num_threads(threads)
            found.append(np.concatenate([np.ravel(x) for x in jitted(*arguments)]).tobytes())
    finally:
        set_num_threads(None)
    assert len(set(found)) == 1


@pytest.mark.parametrize("function", [normal, columns_first])
def test_each_row_counts_once(function: Any) -> None:
    """Rows beyond the last are no copies with a factor of 0: infinities would be NaN."""
    a = np.ones((251, 301))
    a[-1, -1] = np.inf
    arguments = (a, np.ones(301), np.ones(251))[: 2 if function is normal else 3]
    found, expected = jit(function)(*arguments), function(*arguments)
    np.testing.assert_array_equal(np.hstack(found), np.hstack(expected))


def test_a_result_may_replace_an_argument() -> None:
    def step(a: Any, x: Any, v: Any) -> Any:
        return x + v @ a, v - a @ x

    a, x, v = sample(256, 300), sample(300), sample(256)
    expected = step(a, x, v)
    found = jit(step, donate_argnums=(1, 2))(a, x.copy(), v.copy())
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


def test_a_loop_reads_its_matrix_once_an_iteration() -> None:
    def powers(a: Any, x: Any) -> Any:
        def step(_: Any, x: Any) -> Any:
            y = (a @ x) @ a
            return y / np.sqrt(y @ y)

        return lax.fori_loop(0, 7, step, x)

    a, x = sample(260, 300), sample(300)
    assert "both_sides" in names(powers, a, x)
    expected = x
    for _ in range(7):
        expected = (a @ expected) @ a
        expected = expected / np.sqrt(expected @ expected)
    np.testing.assert_allclose(jit(powers)(a, x), expected, rtol=1e-9)


def test_what_needs_the_other_product_first_stays_apart() -> None:
    """`a @ (v @ a)` has no row before the last one is read."""

    def outer(a: Any, v: Any) -> Any:
        return a @ (v @ a)

    def between(a: Any, x: Any) -> Any:
        return (a @ x)[::-1].copy() @ a

    a = sample(256, 300)
    for function, vector in ((outer, sample(256)), (between, sample(300))):
        assert "both_sides" not in names(function, a, vector)
        np.testing.assert_allclose(
            jit(function)(a, vector), function(a, vector), rtol=1e-9, atol=1e-9
        )


def test_pairs_that_wait_for_each_other_are_not_both_made() -> None:
    def crossed(a: Any, b: Any, v: Any, w: Any) -> Any:
        q1, q2 = v @ a, w @ b
        p1 = a @ q2[::-1]
        p2 = b @ q1[::-1]
        return p1, p2, q1, q2

    arguments = sample(264, 264), sample(264, 264), sample(264), sample(264)
    assert names(crossed, *arguments).count("both_sides") == 1
    for x, y in zip(jit(crossed)(*arguments), crossed(*arguments), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


def test_a_third_product_runs_alone() -> None:
    def three(a: Any, x: Any, y: Any, v: Any) -> Any:
        return a @ x, v @ a, a @ y

    arguments = sample(256, 300), sample(300), sample(300), sample(256)
    assert sorted(names(three, *arguments)) == ["both_sides", "dot_rows", "joined"]
    for x, y in zip(jit(three)(*arguments), three(*arguments), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)


def test_which_products_may_meet() -> None:
    a, x, v = (ArrayType(s, dt.f64) for s in ((256, 300), (300,), (256,)))
    assert side_of((a, x), ROWS) == "rows"
    assert side_of((a, v), COLUMNS) == "columns"
    small = ArrayType((128, 300), dt.f64)
    assert small.nbytes < MINIMUM_BYTES and not side_of((small, x), ROWS)
    whole = ArrayType((256, 300), dt.i64), ArrayType((300,), dt.i64)
    assert not side_of(whole, ROWS)
    short = ArrayType((8192, 31), dt.f64)
    assert not side_of((short, ArrayType((31,), dt.f64)), ROWS)
    assert not side_of((a, ArrayType((5,), dt.f64)), (((), ()), ((), ())))
    wide = ArrayType((200, 8192), dt.f64)
    assert side_of((wide, ArrayType((8192,), dt.f64)), ROWS) == "rows"
    assert may_follow(a, X86_64_V4) and not may_follow(wide, X86_64_V4)
    assert not may_follow(ArrayType((1024, 512), dt.f16), X86_64_V4)


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4])
def test_whole_groups_have_no_code_for_rows_that_are_left(target: Any) -> None:
    graph = optimise(graph_of(columns_first, sample(512, 256), sample(256), sample(512)))
    first = plan(graph, target, check=True).plan.kernels[0]
    assert first.name == "both_sides"
    assert not any(isinstance(s, If) for s in walk(first.body))
    assert any(isinstance(s, For) for s in walk(first.body))
