"""A few rows times a matrix, terms neighbours in memory: right everywhere, the same bits."""

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
from pyc.kernels.dot_columns import dot_columns, refusal_of_dot_columns
from pyc.kernels.registry import choose
from pyc.runtime.threads import set_num_threads
from pyc.verification import verify
from tests.passes.programs import planned

RNG = np.random.default_rng(9)
ACROSS = (((1,), (1,)), ((), ()))


def sample(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def product(a: Any, b: Any) -> Any:
    return a @ b.mT


def with_bias(a: Any, b: Any, c: Any) -> Any:
    return np.tanh(a @ b.mT + c) * c


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "whole groups and blocks": (product, (sample(4, 64), sample(32, 64))),
    "ragged": (product, (sample(5, 77), sample(43, 77))),
    "one row": (product, (sample(1, 50), sample(20, 50))),
    "two rows": (product, (sample(2, 64), sample(100, 64))),
    "many rows": (product, (sample(31, 130), sample(9, 130))),
    "several tasks": (product, (sample(7, 300), sample(901, 300))),
    "fewer columns than a block": (product, (sample(3, 40), sample(7, 40))),
    "batches": (product, (sample(3, 6, 33), sample(3, 21, 33))),
    "the same rows for all": (product, (sample(6, 40), sample(3, 21, 40))),
    "a part of an array": (lambda a, b: a[1:7] @ b[:, 2].mT, (sample(9, 64), sample(21, 3, 64))),
    "epilogue": (with_bias, (sample(6, 96), sample(20, 96), sample(6, 20))),
}


@pytest.mark.parametrize("name", CASES)
def test_a_few_rows_times_columns_that_lie_along_are_right_everywhere(name: str) -> None:
    function, arguments = CASES[name]
    assert "dot_columns" in [k.name for k in planned(function, *arguments).plan.kernels]
    exact = function(*(x.astype(np.float64) for x in arguments))
    jitted = jit(function)
    found = jitted(*arguments)
    assert found.shape == exact.shape
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=2e-5)
    verify(jitted, *arguments)


@pytest.mark.parametrize(
    ("dtype", "room"), [(np.float64, 1e-14), (np.float16, 4e-3), (ml_dtypes.bfloat16, 3e-2)]
)
def test_other_floats_are_rounded_once(dtype: Any, room: float) -> None:
    a, b = sample(3, 130).astype(dtype), sample(21, 130).astype(dtype)
    found = jit(product)(a, b)
    assert found.dtype == dtype
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    terms = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)).T
    assert np.all(np.abs(found.astype(np.float64) - exact) <= room * terms)
    verify(product, a, b)


def test_complex_numbers_and_strided_rows() -> None:
    a = (sample(5, 64) + 1j * sample(5, 64))[:, ::-1]
    b = np.asfortranarray(sample(18, 64) - 1j * sample(18, 64))
    np.testing.assert_allclose(jit(product)(a, b), a @ b.T, rtol=1e-4, atol=1e-4)
    x, y = sample(10, 128)[::2, ::2], sample(36, 64)[::2]
    np.testing.assert_allclose(jit(product)(x, y), x @ y.T, rtol=1e-4, atol=1e-4)


def test_terms_that_fill_no_vector_are_added_once_and_others_are_no_part_of_it() -> None:
    """The last vector overlaps the one before: an infinity there counts once, and is no NaN."""
    a, b = np.ones((3, 40), np.float32), np.ones((21, 40), np.float32)
    b[20, 30] = np.inf
    found = jit(product)(a, b)
    assert np.all(found[:, 20] == np.inf)
    assert np.all(found[:, :20] == 40)
    a[1, 30] = 0
    found = jit(product)(a, b)
    assert np.isnan(found[1, 20])
    assert np.all(found[1, :20] == 39)
    b[4, 0] = np.nan
    assert np.isnan(jit(product)(a, b)[:, 4]).all()


@pytest.mark.parametrize("shapes", [((0, 64), (20, 64)), ((4, 64), (0, 64)), ((4, 0), (20, 0))])
def test_empty_operands(shapes: Any) -> None:
    a, b = (np.ones(shape, np.float32) for shape in shapes)
    found = jit(product)(a, b)
    assert found.shape == (a.shape[0], b.shape[0])
    assert np.all(found == 0)


@pytest.mark.parametrize(("dtype", "width"), [(np.float32, 16), (np.float64, 8)])
@pytest.mark.parametrize("shape", [(6, 64, 33), (1, 48, 16), (3, 160, 9)])
def test_partial_sums_meet_in_pairs_of_neighbours(
    dtype: Any, width: int, shape: tuple[int, int, int]
) -> None:
    """The documented order, whatever shuffles make it: times 1 each fma is an addition."""
    rows, terms, columns = shape
    a, b = np.ones((rows, terms), dtype), sample(columns, terms).astype(dtype)
    assert "dot_columns" in [k.name for k in planned(product, a, b).plan.kernels]
    sums = np.zeros((columns, width), dtype)
    for start in range(0, terms, width):
        sums += b[:, start : start + width]
    while sums.shape[1] > 1:
        sums = sums[:, ::2] + sums[:, 1::2]
    assert np.array_equal(jit(product)(a, b), np.repeat(sums.T, rows, axis=0))


@pytest.mark.parametrize(("rows", "terms", "columns"), [(7, 500, 1403), (12, 60, 6003)])
def test_threads_targets_and_neighbours_give_the_same_bits(
    rows: int, terms: int, columns: int
) -> None:
    a, b = sample(rows, terms), sample(columns, terms)
    results = set()
    for count in (1, 2, 5):
        set_num_threads(count)
        results.add(jit(product)(a, b).tobytes())
    set_num_threads(None)
    assert len(results) == 1
    some = jit(product)(a, b)[:, :50]
    assert np.array_equal(jit(product)(a, b[:50]), some)
    assert np.array_equal(jit(product)(a[:3], b[:50]), some[:3])
    types = ArrayType((rows, terms), dt.f32), ArrayType((50, terms), dt.f32)
    for target in (X86_64_V3, X86_64_V4):
        out = np.zeros((rows, 50), np.float32)
        simulate.run(dot_columns(types, target, dimensions=ACROSS), [a, b[:50], out])
        assert np.array_equal(out, some)


@pytest.mark.parametrize(
    ("a", "b", "dimensions", "why"),
    [
        ((33, 512), (20, 512), ACROSS, "at most 32 rows"),
        ((8, 512), (6, 512), ACROSS, "it needs 7 columns"),
        ((8, 512), (512, 20), (((1,), (0,)), ((), ())), "no neighbours in memory"),
        ((8, 512), (512,), (((1,), (0,)), ((), ())), "one free axis on each side"),
        ((8, 31), (20, 31), ACROSS, "few for 8 rows: it needs 32"),
        ((2, 15), (20, 15), ACROSS, "fill no vector"),
    ],
)
def test_others_are_refused(a: Any, b: Any, dimensions: Any, why: str) -> None:
    types = ArrayType(a, dt.f32), ArrayType(b, dt.f32)
    assert why in refusal_of_dot_columns(types, dimensions, X86_64_V4)
    name = choose("dot_general", types, {"dimensions": dimensions}, X86_64_V4).name
    assert name != "dot_columns"
