"""Neighbouring axes of a contraction are one axis, so that the nests for matrix products do it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc.ir.ops  # noqa: F401 - fills the op table
from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.target import SM_90
from pyc.ir.types import ArrayType
from pyc.jit import jit
from pyc.kernels.merged import merged
from pyc.kernels.registry import choose
from pyc.reasons import Reason
from pyc.verification import verify
from tests.passes.programs import planned, reasons_of

RNG = np.random.default_rng(3)


def sample(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def shapes(a: tuple[int, ...], b: tuple[int, ...], dimensions: Any) -> Any:
    """(merged shapes, dimensions, groups), or None."""
    found = merged((ArrayType(a, dt.f32), ArrayType(b, dt.f32)), dimensions)
    if found is None:
        return None
    return tuple(t.shape for t in found.types), found.dimensions, found.groups


def test_rows_of_two_axes_are_one() -> None:
    found = shapes((2, 3, 5), (5, 7), (((2,), (0,)), ((), ())))
    assert found == (((6, 5), (5, 7)), (((1,), (0,)), ((), ())), ((2, 3), (7,)))


def test_batch_and_contracted_axes_are_merged_if_they_are_neighbours_on_both_sides() -> None:
    batch = (((3,), (3,)), ((0, 1), (0, 1)))
    found = shapes((2, 3, 5, 7), (2, 3, 11, 7), batch)
    assert found == (((6, 5, 7), (6, 11, 7)), (((2,), (2,)), ((0,), (0,))), ((2, 3), (5,), (11,)))
    terms = (((1, 2), (0, 1)), ((), ()))
    found = shapes((2, 3, 5), (3, 5, 7), terms)
    assert found == (((2, 15), (15, 7)), (((1,), (0,)), ((), ())), ((2,), (7,)))
    # The order in which pairs are listed is no order of the sum.
    assert shapes((2, 3, 5), (3, 5, 7), (((2, 1), (1, 0)), ((), ()))) == found


@pytest.mark.parametrize(
    ("a", "b", "dimensions"),
    [
        ((4, 5), (5, 6), (((1,), (0,)), ((), ()))),
        ((2, 5, 3), (5, 6), (((1,), (0,)), ((), ()))),
        ((2, 3, 5), (5, 3, 7), (((1, 2), (1, 0)), ((), ()))),
        ((2, 3, 4, 5), (3, 2, 5, 4), (((3,), (2,)), ((0, 1), (1, 0)))),
    ],
)
def test_axes_that_stand_apart_are_left(a: Any, b: Any, dimensions: Any) -> None:
    assert shapes(a, b, dimensions) is None


def dense(x: Any, w: Any) -> Any:
    return x @ w


def bias(x: Any, w: Any, c: Any) -> Any:
    return x @ w + c


def residual(x: Any, w: Any, r: Any) -> Any:
    return r + x @ w


def shifted(x: Any, w: Any, r: Any) -> Any:
    """A long epilogue, which reads the other axis order, a bias for each of the second axis, and
    the residual."""
    y = x @ w
    return r.transpose(1, 0, 2) * np.tanh(y * y + r[0][None] + r[:, 0][:, None] * y)


def heads(x: Any, w: Any, c: Any) -> Any:
    return np.einsum("btk,khd->bthd", x, w) + c


def joined(x: Any, w: Any, r: Any) -> Any:
    return np.einsum("bthd,hdk->btk", x, w) - r[:, None]


def scores(q: Any, k: Any, mask: Any) -> Any:
    return np.einsum("bhtd,bhsd->bhts", q, k) * 0.5 + mask[:, None, None, :]


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "dense": (dense, (sample(3, 8, 40), sample(40, 48))),
    "dense of four axes": (dense, (sample(2, 3, 4, 40), sample(40, 33))),
    "bias": (bias, (sample(3, 8, 40), sample(40, 48), sample(48))),
    "residual": (residual, (sample(3, 8, 40), sample(40, 48), sample(3, 8, 48))),
    "residual of one sequence": (residual, (sample(1, 8, 40), sample(40, 48), sample(1, 8, 48))),
    "residual of sequences of one": (
        residual,
        (sample(9, 1, 40), sample(40, 48), sample(9, 1, 48)),
    ),
    "residual that is broadcast": (residual, (sample(3, 8, 40), sample(40, 48), sample(3, 1, 48))),
    "other places": (shifted, (sample(6, 6, 40), sample(40, 48), sample(6, 6, 48))),
    "heads": (heads, (sample(3, 8, 40), sample(40, 3, 16), sample(3, 16))),
    "heads, a bias each": (heads, (sample(3, 8, 40), sample(40, 3, 16), sample(3, 1))),
    "joined": (joined, (sample(3, 8, 3, 16), sample(3, 16, 40), sample(3, 40))),
    "scores": (scores, (sample(2, 3, 24, 16), sample(2, 3, 24, 16), sample(2, 24))),
}


@pytest.mark.parametrize("name", CASES)
def test_a_product_over_merged_axes_is_right_with_what_is_computed_from_it(name: str) -> None:
    function, arguments = CASES[name]
    assert reasons_of(planned(function, *arguments)).count(Reason.KERNEL_NEST) == 1
    exact = function(*(a.astype(np.float64) for a in arguments))
    jitted = jit(function)
    found = jitted(*arguments)
    assert found.shape == exact.shape
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-5)
    verify(jitted, *arguments)


def test_an_epilogue_costs_no_division_where_a_residual_has_the_axes_of_the_result() -> None:
    """Its buffer is merged too, so the one index serves both."""
    plan = planned(residual, *CASES["residual"][1])
    (kernel,) = plan.plan.kernels
    assert [b.shape for b in kernel.buffers] == [(24, 40), (40, 48), (24, 48), (24, 48)]


def test_nests_for_blocks_get_merged_axes_too() -> None:
    x, w = sample(3, 8, 20), sample(20, 2, 10)
    types = (ArrayType(x.shape, dt.f32), ArrayType(w.shape, dt.f32))
    choice = choose("dot_general", types, {"dimensions": (((2,), (0,)), ((), ()))}, SM_90)
    assert choice.name == "matmul_threads"
    out = np.zeros((24, 20), np.float32)
    simulate.run(choice.kernel, [x.reshape(24, 20), w.reshape(20, 20), out])
    exact = np.einsum("btk,khd->bthd", x.astype(np.float64), w.astype(np.float64))
    np.testing.assert_allclose(out.reshape(exact.shape), exact, rtol=1e-5, atol=1e-5)
