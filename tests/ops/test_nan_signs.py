"""The sign of a NaN: kept by what only moves elements, read by signbit and copysign as in NumPy,
and by nothing else (docs/numerics.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp

NANS = np.array([np.nan, -np.nan, 1.0, -1.0, -0.0, 0.0, np.inf, -np.inf])
FLOATS = (np.float16, np.float32, np.float64)


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_sign_of_a_nan_is_read_as_in_numpy(dtype: Any) -> None:
    x = NANS.astype(dtype)
    one = np.ones_like(x)
    assert np.signbit(x[1]) != np.signbit(x[0])
    signs, copied = pyc.jit(lambda x, one: (pnp.signbit(x), pnp.copysign(one, x)))(x, one)
    np.testing.assert_array_equal(signs, np.signbit(x))
    np.testing.assert_array_equal(copied, np.copysign(one, x))


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_moves_elements_keeps_the_sign_of_a_nan(dtype: Any) -> None:
    x = NANS.astype(dtype)

    def moved(np: Any, x: Any, order: Any) -> Any:
        flipped = np.concatenate([x[::-1], x[order]]).reshape(4, 4).T
        return np.where(flipped == 1, flipped[0], flipped)

    order = np.array([1, 0, 1, 2, 7, 3, 0, 1])
    found = pyc.jit(lambda x, order: moved(pnp, x, order))(x, order)
    expected = moved(np, x, order)
    bits = f"u{expected.dtype.itemsize}"
    np.testing.assert_array_equal(np.asarray(found).view(bits), expected.view(bits))
    pyc.verify(lambda x, order: pnp.signbit(moved(pnp, x, order)), x, order)


@pytest.mark.parametrize("dtype", FLOATS)
def test_sorting_and_extremes_do_not_see_the_sign_of_a_nan(dtype: Any) -> None:
    x = NANS.astype(dtype)
    other = np.array([-np.nan, np.nan, *NANS[2:]]).astype(dtype)

    def program(x: Any) -> dict[str, Any]:
        names = ("sort", "argsort", "max", "nanmax", "argmin", "cumulative_sum", "round")
        return {name: getattr(pnp, name)(x) for name in names}

    function = pyc.jit(program)
    found = function(x)
    for name, b in function(other).items():
        np.testing.assert_array_equal(found[name], b, err_msg=name)
    np.testing.assert_array_equal(found["argsort"], np.argsort(x, stable=True))
