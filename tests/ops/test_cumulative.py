"""Running folds: every executor gives the bits of a left fold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyc.errors import DTypeError, ShapeError
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.op import OPS
from pyc.ir.types import ArrayType
from tests.ops.test_sort import LENGTHS, TYPES, Array, elements, on_every_executor
from tests.programs.differential import same_bits


@st.composite
def arrays(draw: Any, types: tuple[DType, ...]) -> Array:
    dtype = draw(st.sampled_from(types))
    shape = (*draw(st.lists(st.integers(0, 3), max_size=2)), draw(LENGTHS))
    seed, spread = draw(st.integers(0, 2**32 - 1)), draw(st.integers(0, 2))
    if spread < 2 or not (dtype.is_float or dtype.is_complex):
        real = elements(seed, dtype.real, (*shape, 2), spread & 1)
        if dtype.is_complex:
            return np.ascontiguousarray(real.view(dtype.numpy)[..., 0])
        return np.ascontiguousarray(real[..., 0])
    numbers = np.random.default_rng(seed).standard_normal(shape)
    return (numbers * (1 + 0.5j) if dtype.is_complex else numbers).astype(dtype.numpy)


FOLDS = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}


def folded(op: str, x: Array) -> Array:
    """A left fold by plain loops, in float32 for half types."""
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x
    out = wide.copy()
    with np.errstate(all="ignore"):
        for k in range(1, x.shape[-1]):
            out[..., k] = FOLDS[op](out[..., k - 1], wide[..., k])
        return out.astype(x.dtype)


@settings(max_examples=40, deadline=None)
@given(arrays(tuple(t for t in TYPES if t is not dt.b1)), st.sampled_from(["cumsum", "cumprod"]))
def test_sums_and_products_are_left_folds(x: Array, op: str) -> None:
    (found,) = on_every_executor(op, x)
    assert same_bits(found, folded(op, x))


@settings(max_examples=40, deadline=None)
@given(arrays(TYPES), st.sampled_from(["cummax", "cummin"]))
def test_extrema_propagate_nan(x: Array, op: str) -> None:
    (found,) = on_every_executor(op, x)
    assert np.array_equal(
        found.astype(np.float64), folded(op, x).astype(np.float64), equal_nan=True
    )


@settings(max_examples=15, deadline=None)
@given(arrays((dt.c64, dt.c128)), st.sampled_from(["cumsum", "cumprod"]))
def test_complex_numbers_fold_part_by_part(x: Array, op: str) -> None:
    (found,) = on_every_executor(op, x)
    assert found.shape == x.shape
    if op == "cumsum":
        assert same_bits(found.real.copy(), folded(op, x.real.copy()))
        assert same_bits(found.imag.copy(), folded(op, x.imag.copy()))


def test_complex_products_are_those_of_numpy_up_to_rounding() -> None:
    x = np.exp(1j * np.linspace(0, 3, 50)) * 1.01
    (found,) = on_every_executor("cumprod", x)
    np.testing.assert_allclose(found, np.cumprod(x), rtol=1e-13)


def test_negative_zero_is_below_zero() -> None:
    x = np.array([-0.0, 0.0, -0.0, -1.0])
    (most,) = on_every_executor("cummax", x)
    (least,) = on_every_executor("cummin", x[:3][::-1].copy())
    assert np.signbit(most).tolist() == [True, False, False, False]
    assert np.signbit(least).tolist() == [True, True, True]


def test_half_types_round_the_running_value_only_when_stored() -> None:
    """In float16 itself the sum would stop growing at 2048."""
    x = np.ones(3000, np.float16)
    (found,) = on_every_executor("cumsum", x)
    assert found[-1] == 3000


@pytest.mark.parametrize("op", FOLDS)
@pytest.mark.parametrize("shape", [(1, 700), (40, 50), (2, 3, 700)])
def test_many_rows_and_long_rows_fold_exactly(op: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    (found,) = on_every_executor(op, x)
    assert same_bits(found, folded(op, x))


def test_what_cannot_be_folded_is_refused() -> None:
    with pytest.raises(ShapeError, match="at least one axis"):
        OPS["cumsum"].types((ArrayType((), dt.f32),))
    with pytest.raises(DTypeError, match="cumprod: needs one of"):
        OPS["cumprod"].types((ArrayType((3,), dt.b1),))
    with pytest.raises(DTypeError, match="cummax: needs one of"):
        OPS["cummax"].types((ArrayType((3,), dt.c64),))
