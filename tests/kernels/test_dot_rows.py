"""Matrices times a vector, terms neighbours in memory: right everywhere, the same bits."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.target import X86_64_V3
from pyc.ir.types import ArrayType
from pyc.jit import jit
from pyc.kernels.dot_rows import dot_rows, refusal_of_dot_rows
from pyc.kernels.registry import choose
from pyc.runtime.threads import set_num_threads
from pyc.verification import verify
from tests.passes.programs import planned

RNG = np.random.default_rng(5)


def sample(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def product(a: Any, x: Any) -> Any:
    return a @ x


def with_bias(a: Any, x: Any, c: Any) -> Any:
    return np.tanh(a @ x + c) * c


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "whole groups": (product, (sample(8, 512), sample(512))),
    "ragged": (product, (sample(7, 525), sample(525))),
    "several tasks": (product, (sample(131, 600), sample(600))),
    "vector first": (lambda x, a: x @ a.T, (sample(520), sample(10, 520))),
    "matrices": (
        lambda a, x: np.einsum("nij,nj->ni", a, x),
        (sample(3, 6, 512), sample(3, 512)),
    ),
    "rows of two axes": (product, (sample(2, 3, 512), sample(512))),
    "epilogue": (with_bias, (sample(9, 512), sample(512), sample(9))),
}


@pytest.mark.parametrize("name", CASES)
def test_a_matrix_times_a_vector_is_right_everywhere(name: str) -> None:
    function, arguments = CASES[name]
    assert "dot_rows" in [k.name for k in planned(function, *arguments).plan.kernels]
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
    a, x = sample(9, 1030).astype(dtype), sample(1030).astype(dtype)
    found = jit(product)(a, x)
    assert found.dtype == dtype
    exact = a.astype(np.float64) @ x.astype(np.float64)
    terms = np.abs(a.astype(np.float64)) @ np.abs(x.astype(np.float64))
    assert np.all(np.abs(found.astype(np.float64) - exact) <= room * terms)
    verify(product, a, x)


def test_threads_targets_and_neighbours_give_the_same_bits() -> None:
    """Each partial sum has its terms in order, however rows are cut into tasks and groups."""
    a, x = sample(403, 700), sample(700)
    results = set()
    for count in (1, 2, 5):
        set_num_threads(count)
        results.add(jit(product)(a, x).tobytes())
    set_num_threads(None)
    assert len(results) == 1
    some = jit(product)(a, x)[:5]
    assert np.array_equal(jit(product)(a[:5], x), some)
    out = np.zeros(5, np.float32)
    types = ArrayType((5, 700), dt.f32), ArrayType((700,), dt.f32)
    simulate.run(dot_rows(types, X86_64_V3, dimensions=(((1,), (0,)), ((), ()))), [a[:5], x, out])
    assert np.array_equal(out, some)


@pytest.mark.parametrize(
    ("a", "b", "dimensions", "why"),
    [
        ((64, 512), (512, 4), (((1,), (0,)), ((), ())), "and a vector"),
        ((512, 64), (512,), (((0,), (0,)), ((), ())), "no neighbours in memory"),
        ((512,), (512,), (((0,), (0,)), ((), ())), "and a vector"),
        ((64, 511), (511,), (((1,), (0,)), ((), ())), "are few"),
        ((3, 512), (512,), (((1,), (0,)), ((), ())), "are few"),
    ],
)
def test_others_are_refused(a: Any, b: Any, dimensions: Any, why: str) -> None:
    types = ArrayType(a, dt.f32), ArrayType(b, dt.f32)
    assert why in refusal_of_dot_rows(types, dimensions, X86_64_V3)
    assert choose("dot_general", types, {"dimensions": dimensions}, X86_64_V3).name != "dot_rows"
