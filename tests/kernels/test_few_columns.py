"""Matrices times a few columns, terms neighbours in memory: right everywhere, the same bits."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pyc.backends.x86 import X86, compile_plan
from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.target import X86_64_V3, X86_64_V4, Target
from pyc.ir.types import ArrayType
from pyc.jit import jit
from pyc.kernels.few_columns import few_columns, refusal_of_few_columns
from pyc.kernels.registry import choose
from pyc.runtime.threads import set_num_threads
from pyc.verification import verify
from tests.backends.native_kernels import one_kernel_plan
from tests.passes.programs import planned

RNG = np.random.default_rng(8)
PLAIN = (((1,), (0,)), ((), ()))
ACROSS = (((1,), (1,)), ((), ()))


def sample(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def product(a: Any, b: Any) -> Any:
    return a @ b


def with_bias(a: Any, b: Any, c: Any) -> Any:
    return np.tanh(a @ b + c) * c


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "whole groups and vectors": (product, (sample(8, 128), sample(128, 2))),
    "ragged": (product, (sample(103, 157), sample(157, 3))),
    "several tasks": (product, (sample(901, 120), sample(120, 2))),
    "columns lie along": (lambda a, b: a @ b.T, (sample(9, 100), sample(5, 100))),
    "batches": (product, (sample(3, 10, 100), sample(3, 100, 2))),
    "few terms": (product, (sample(3, 64, 64), sample(3, 64, 4))),
    "few terms that fill no vector": (product, (sample(3, 11, 61), sample(3, 61, 2))),
    "few terms of three columns": (product, (sample(61, 50), sample(50, 3))),
    "one column": (product, (sample(9, 100), sample(100, 1))),
    "one column of few terms": (product, (sample(3, 13, 11), sample(3, 11, 1))),
    "one column and few rows": (product, (sample(5, 6), sample(6, 1))),
    "rows of two axes": (product, (sample(2, 3, 64), sample(64, 2))),
    "epilogue": (with_bias, (sample(10, 96), sample(96, 3), sample(10, 3))),
}


@pytest.mark.parametrize("name", CASES)
def test_a_matrix_times_few_columns_is_right_everywhere(name: str) -> None:
    function, arguments = CASES[name]
    assert "few_columns" in [k.name for k in planned(function, *arguments).plan.kernels]
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
    a, b = sample(9, 130).astype(dtype), sample(130, 2).astype(dtype)
    found = jit(product)(a, b)
    assert found.dtype == dtype
    exact = a.astype(np.float64) @ b.astype(np.float64)
    terms = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    assert np.all(np.abs(found.astype(np.float64) - exact) <= room * terms)
    verify(product, a, b)


def test_terms_that_fill_no_vector_are_added_once_and_others_are_no_part_of_it() -> None:
    """The last vector overlaps the one before: an infinity there counts once, and is no NaN."""
    a, b = np.ones((8, 40), np.float32), np.ones((40, 2), np.float32)
    a[3, 30] = np.inf
    found = jit(product)(a, b)
    assert np.all(found[3] == np.inf)
    assert np.all(np.delete(found, 3, axis=0) == 40)
    b[30] = 0
    assert np.isnan(jit(product)(a, b)[3]).all()


@pytest.mark.parametrize(
    ("dtype", "width", "shape"),
    [
        *(
            (dtype, width, shape)
            for dtype, width in ((np.float32, 16), (np.float64, 8))
            for shape in ((64, 64, 3), (61, 80, 3), (67, 160, 2), (9, 32, 1))
        ),
        *((np.float32, 8, (50, 8, 1)), (np.float32, 4, (5, 4, 1)), (np.float32, 4, (4, 4, 1))),
        *((np.float64, 4, (50, 4, 1)), (np.float64, 2, (6, 2, 1))),
    ],
)
def test_partial_sums_meet_in_pairs_of_neighbours(
    dtype: Any, width: int, shape: tuple[int, int, int]
) -> None:
    """The documented order, whatever shuffles make it: times 1 each fma is an addition."""
    rows, terms, columns = shape
    a, b = sample(rows, terms).astype(dtype), np.ones((terms, columns), dtype)
    assert "few_columns" in [k.name for k in planned(product, a, b).plan.kernels]
    sums = np.zeros((rows, width), dtype)
    for start in range(0, terms, width):
        sums += a[:, start : start + width]
    while sums.shape[1] > 1:
        sums = sums[:, ::2] + sums[:, 1::2]
    assert np.array_equal(jit(product)(a, b), np.repeat(sums, columns, axis=1))


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4])
@pytest.mark.parametrize(("terms", "columns"), [(64, 4), (32, 3), (160, 2)])
def test_sums_stay_in_registers_and_shuffles_leave_the_units_for_fma(
    target: Target, terms: int, columns: int
) -> None:
    """Nothing is stored but copied columns and results; no shuffle has two sources and a table,
    which the units for fma do."""
    types = ArrayType((16, terms), dt.f32), ArrayType((columns, terms), dt.f32)
    kernel = few_columns(types, target, dimensions=ACROSS)
    plan = one_kernel_plan(
        kernel, [sample(16, terms), sample(columns, terms), sample(16 * columns)]
    )
    listing = X86().assembly(compile_plan(plan, target), target)
    stores = re.findall(r"^\s+vmov\w+\s+%[xyz]mm\d+, .*\(%r[sb]p.*$", listing, re.MULTILINE)
    if target is X86_64_V4:  # others have half the registers
        assert stores == []
    assert "vpermt2" not in listing
    assert "gather" not in listing


@pytest.mark.parametrize(
    ("rows", "terms", "columns"), [(1403, 500, 3), (6003, 60, 4), (9001, 64, 2)]
)
def test_threads_targets_and_neighbours_give_the_same_bits(
    rows: int, terms: int, columns: int
) -> None:
    a, b = sample(rows, terms), sample(terms, columns)
    results = set()
    for count in (1, 2, 5):
        set_num_threads(count)
        results.add(jit(product)(a, b).tobytes())
    set_num_threads(None)
    assert len(results) == 1
    some = jit(product)(a, b)[:50]
    assert np.array_equal(jit(product)(a[:50], b), some)
    assert np.array_equal(jit(lambda a, b: a @ b.T)(a, np.ascontiguousarray(b.T))[:50], some)
    types = ArrayType((50, terms), dt.f32), ArrayType((terms, columns), dt.f32)
    for target in (X86_64_V3, X86_64_V4):
        out = np.zeros(50 * columns, np.float32)
        simulate.run(few_columns(types, target, dimensions=PLAIN), [a[:50], b, out])
        assert np.array_equal(out.reshape(50, columns), some)


@pytest.mark.parametrize(
    ("a", "b", "dimensions", "why"),
    [
        ((64, 512), (512, 7), PLAIN, "at most 6 columns"),
        ((3, 512), (512, 3), PLAIN, "it needs 4 rows"),
        ((512, 64), (512, 3), (((0,), (0,)), ((), ())), "no neighbours in memory"),
        ((64, 512), (512,), PLAIN, "one free axis on each side"),
        ((64, 4096), (4096, 3), PLAIN, "more than 32768 bytes"),
        ((64, 15), (2, 15), ACROSS, "fill no vector"),
        ((64, 20), (20, 6), PLAIN, "fill vectors as well"),
    ],
)
def test_others_are_refused(a: Any, b: Any, dimensions: Any, why: str) -> None:
    types = ArrayType(a, dt.f32), ArrayType(b, dt.f32)
    assert why in refusal_of_few_columns(types, dimensions, X86_64_V4)
    name = choose("dot_general", types, {"dimensions": dimensions}, X86_64_V4).name
    assert name != "few_columns"
