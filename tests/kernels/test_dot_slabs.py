"""Contractions whose rows lie between their terms in memory: right everywhere, the same bits."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.target import X86_64_V3, X86_64_V4
from pyc.ir.types import ArrayType
from pyc.jit import jit
from pyc.kernels.dot_slabs import dot_slabs, refusal_of_dot_slabs
from pyc.kernels.registry import choose
from pyc.runtime.threads import set_num_threads
from pyc.verification import verify
from tests.passes.programs import planned

RNG = np.random.default_rng(10)
FREE = (((0, 2), (0, 1)), ((), ()))
PAIRED = (((0, 2), (0, 2)), ((1,), (1,)))


def sample(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def of(subscripts: str) -> Any:
    return lambda a, b: np.einsum(subscripts, a, b)


CASES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "rows of one operand": ("ijk,ik->j", (sample(5, 32, 64), sample(5, 64))),
    "ragged": ("ijk,ik->j", (sample(3, 37, 41), sample(3, 41))),
    "rows of the second": ("ik,ijk->j", (sample(3, 20), sample(3, 9, 20))),
    "rows of both": ("mkl,mkl->k", (sample(4, 33, 50), sample(4, 33, 50))),
    "a batch": ("bijk,bik->bj", (sample(2, 3, 10, 32), sample(2, 3, 32))),
    "a batch and rows of both": ("bmkl,bmkl->bk", (sample(2, 3, 7, 32), sample(2, 3, 7, 32))),
    "three axes of terms": ("iajbk,iabk->j", (sample(3, 2, 7, 4, 20), sample(3, 2, 4, 20))),
    "several tasks": ("ijk,ik->j", (sample(2, 300, 40), sample(2, 40))),
    "axes that are one": ("ijlk,ik->jl", (sample(3, 5, 6, 32), sample(3, 32))),
}


@pytest.mark.parametrize("name", CASES)
def test_terms_around_the_rows_are_right_everywhere(name: str) -> None:
    subscripts, arguments = CASES[name]
    function = of(subscripts)
    assert "dot_slabs" in [k.name for k in planned(function, *arguments).plan.kernels]
    exact = function(*(x.astype(np.float64) for x in arguments))
    found = jit(function)(*arguments)
    assert found.shape == exact.shape
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=5e-5)
    verify(function, *arguments)
    more = jit(lambda a, b: np.tanh(function(a, b)) * 2)
    np.testing.assert_allclose(more(*arguments), np.tanh(exact) * 2, rtol=1e-3, atol=5e-4)


@pytest.mark.parametrize(
    ("dtype", "room"), [(np.float64, 1e-14), (np.float16, 4e-3), (ml_dtypes.bfloat16, 3e-2)]
)
def test_other_floats_are_rounded_once(dtype: Any, room: float) -> None:
    a, b = sample(3, 9, 50).astype(dtype), sample(3, 50).astype(dtype)
    function = of("ijk,ik->j")
    found = jit(function)(a, b)
    assert found.dtype == dtype
    exact = function(a.astype(np.float64), b.astype(np.float64))
    terms = function(np.abs(a.astype(np.float64)), np.abs(b.astype(np.float64)))
    assert np.all(np.abs(found.astype(np.float64) - exact) <= room * terms)
    verify(function, a, b)


def test_complex_numbers_and_strided_operands() -> None:
    a, b = sample(4, 9, 80)[::2, ::-1, ::2], sample(40, 2).T
    np.testing.assert_allclose(
        jit(of("ijk,ik->j"))(a, b), np.einsum("ijk,ik->j", a, b), rtol=1e-4, atol=1e-4
    )
    c = sample(3, 9, 32) + 1j * sample(3, 9, 32)
    np.testing.assert_allclose(
        jit(of("mkl,mkl->k"))(c, c), np.einsum("mkl,mkl->k", c, c), rtol=1e-4, atol=1e-4
    )


def test_terms_count_once_and_special_values_stay_in_their_row() -> None:
    """The last vector of a run overlaps the one before: an infinity there is no NaN."""
    a, b = np.ones((3, 8, 40), np.float32), np.ones((3, 40), np.float32)
    a[1, 5, 30], a[2, 6, 0] = np.inf, np.nan
    found = jit(of("ijk,ik->j"))(a, b)
    assert found[5] == np.inf and np.isnan(found[6])
    assert np.all(np.delete(found, (5, 6)) == 120)
    b[1, 30] = 0
    assert np.isnan(jit(of("ijk,ik->j"))(a, b)[5])


@pytest.mark.parametrize("shape", [(0, 8, 40), (3, 0, 40), (3, 8, 0)])
def test_empty_operands(shape: Any) -> None:
    a, b = np.ones(shape, np.float32), np.ones((shape[0], shape[2]), np.float32)
    found = jit(of("ijk,ik->j"))(a, b)
    assert found.shape == (shape[1],) and np.all(found == 0)


@pytest.mark.parametrize(("dtype", "width"), [(np.float32, 16), (np.float64, 8)])
def test_partial_sums_meet_in_pairs_of_neighbours(dtype: Any, width: int) -> None:
    """The documented order: times 1 each fma is an addition."""
    a, b = sample(5, 21, 3 * width).astype(dtype), np.ones((5, 3 * width), dtype)
    sums = np.zeros((21, width), dtype)
    for outer in range(5):
        for start in range(0, 3 * width, width):
            sums += a[outer, :, start : start + width]
    while sums.shape[1] > 1:
        sums = sums[:, ::2] + sums[:, 1::2]
    assert np.array_equal(jit(of("ijk,ik->j"))(a, b), sums[:, 0])


def test_threads_targets_and_neighbours_give_the_same_bits() -> None:
    a, b = sample(9, 700, 50), sample(9, 50)
    function = jit(of("ijk,ik->j"))
    results = set()
    for count in (1, 2, 5):
        set_num_threads(count)
        results.add(function(a, b).tobytes())
    set_num_threads(None)
    assert len(results) == 1
    some = function(a, b)[:50]
    assert np.array_equal(function(np.ascontiguousarray(a[:, :50]), b), some)
    short = np.ascontiguousarray(a[:, :50])
    for dimensions, other in (
        (FREE, b),
        (PAIRED, np.broadcast_to(b[:, None], short.shape).copy()),
    ):
        types = ArrayType(short.shape, dt.f32), ArrayType(other.shape, dt.f32)
        for target in (X86_64_V3, X86_64_V4):
            out = np.zeros(50, np.float32)
            simulate.run(dot_slabs(types, target, dimensions=dimensions), [short, other, out])
            assert np.array_equal(out, some)


@pytest.mark.parametrize(
    ("a", "b", "dimensions", "why"),
    [
        ((8, 64), (64,), (((1,), (0,)), ((), ())), "no neighbours"),
        ((3, 8, 15), (3, 15), FREE, "of 16 terms"),
        ((3, 3, 32), (3, 32), FREE, "needs 4"),
        ((3, 8, 32), (3, 8, 32), (((0, 2), (0, 2)), ((), ())), "one axis of rows"),
        ((3, 32, 8), (3, 32), (((0, 1), (0, 1)), ((), ())), "no neighbours in memory"),
    ],
)
def test_others_are_refused(a: Any, b: Any, dimensions: Any, why: str) -> None:
    types = ArrayType(a, dt.f32), ArrayType(b, dt.f32)
    assert why in refusal_of_dot_slabs(types, dimensions, X86_64_V4)
    name = choose("dot_general", types, {"dimensions": dimensions}, X86_64_V4).name
    assert name != "dot_slabs"
