"""Quantiles by every method of NumPy, with weights, and of what is not NaN."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc.errors import ArgumentError, DTypeError, ShapeError
from pyc.jit import jit
from pyc.numpy.quantiles import METHODS

FRACTIONS: tuple[Any, ...] = (0, 0.0, 0.25, 0.5, 0.6, 1, [0.1, 0.9])
SIZES = (2, 5, 6)


def _rows(size: int, dtype: str, missing: bool) -> Any:
    x = (np.random.default_rng(size).normal(size=(3, size)) * 10).astype(dtype)
    if missing and dtype != "i8":
        x[0, size // 2 :] = x[1] = np.nan  # NumPy takes the dtype of the first line
    return x


def _same(found: Any, expected: Any, x: Any) -> None:
    assert found.dtype == expected.dtype
    bound = 1e-5 if x.dtype == "f4" else 1e-13
    np.testing.assert_allclose(found, expected, bound, bound)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_every_method(name: str, method: str, dtype: str) -> None:
    for size in SIZES:
        x = _rows(size, dtype, name == "nanquantile")
        for q in FRACTIONS:
            with warnings.catch_warnings(action="ignore"):
                wanted = getattr(np, name)(x, q, axis=1, method=method)
            _same(getattr(pnp, name)(x, q, axis=1, method=method), wanted, x)


@pytest.mark.parametrize("kind", ["f2", "f4", "i1"])
@pytest.mark.parametrize("method", METHODS)
def test_the_type_is_that_of_elements_and_fractions_together(method: str, kind: str) -> None:
    """Of an array of fractions, also of rank 0; a Python number leaves the type of floats."""
    x = np.array([[3, 1, 2, 7, 5], [9, 4, 6, 8, 0]], kind)
    for q in (0.3, [0.25, 0.5], np.float32(0.3), np.array(0.25, "f2")):

        def call(x: Any, q: Any = q) -> Any:
            return np.quantile(x, q, axis=1, method=method), np.nanpercentile(x, q, method=method)

        for found, wanted in zip(jit(call)(x), call(x), strict=True):
            assert found.dtype == wanted.dtype, (q, found.dtype, wanted.dtype)
            bound = {"float16": 2e-3, "float32": 1e-5}.get(wanted.dtype.name, 1e-13)
            np.testing.assert_allclose(found, wanted, bound, bound)


def test_a_percentage_is_divided_in_its_own_type() -> None:
    x = np.arange(10.0)
    for q in (np.float16(0.25), np.float32(0.3), np.array([0.25, 3], np.float16)):
        wanted = np.percentile(x, q)
        np.testing.assert_allclose(jit(lambda x, q=q: np.percentile(x, q))(x), wanted, 1e-14)


def test_the_places_of_a_python_number_are_found_in_double() -> None:
    """Also in float32, whose place for the fraction 0.1 of a hundred thousand is another one."""
    x = np.arange(100_001, dtype=np.float32)[::-1].copy()
    for method in ("hazen", "nearest", "inverted_cdf"):
        wanted = np.quantile(x, 0.7, method=method)
        assert jit(lambda x, m=method: np.quantile(x, 0.7, method=m))(x) == wanted


@pytest.mark.parametrize("method", ["hazen", "midpoint"])
def test_bools_are_not_subtracted(method: str) -> None:
    x = np.array([True, False, True])
    with pytest.raises(TypeError):
        np.quantile(x, 0.5, method=method)
    with pytest.raises(DTypeError, match="astype"):
        jit(lambda x: np.quantile(x, 0.5, method=method))(x)
    assert jit(lambda x: np.quantile(x, 0.5, method="lower"))(x) == np.quantile(
        x, 0.5, method="lower"
    )


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_weights(name: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    for size in SIZES:
        x = _rows(size, dtype, name == "nanquantile")
        whole = rng.integers(1, 4, size=x.shape)
        for weights in (whole, whole[0] if name == "quantile" else whole):
            options: Any = {"axis": 1, "method": "inverted_cdf", "weights": weights}
            for q in FRACTIONS:
                with warnings.catch_warnings(action="ignore"):
                    wanted = getattr(np, name)(x, q, **options)
                _same(getattr(pnp, name)(x, q, **options), wanted, x)


def test_percentiles_are_traced() -> None:
    x, weights = _rows(6, "f8", False), np.arange(6.0)
    for name in ("percentile", "nanpercentile"):
        found = jit(lambda x, name=name: getattr(np, name)(x, [30, 70], 1, method="hazen"))(x)
        np.testing.assert_allclose(found, np.percentile(x, [30, 70], 1, method="hazen"), 1e-14)
    options: Any = {"axis": 1, "method": "inverted_cdf"}
    found = jit(lambda x, w: np.percentile(x, 30, weights=w, **options))(x, weights)
    _same(found, np.percentile(x, 30, weights=weights, **options), x)


def test_wrong_methods_and_weights() -> None:
    x = np.arange(4.0)
    with pytest.raises(ArgumentError, match=r"method must be .* got 'middle'"):
        pnp.quantile(x, 0.5, method="middle")
    with pytest.raises(ArgumentError, match="weights"):
        pnp.quantile(x, 0.5, weights=x)
    options: Any = {"method": "inverted_cdf"}
    with pytest.raises(DTypeError, match="axis"):
        pnp.quantile(x, 0.5, weights=x[:2], **options)
    with pytest.raises(ShapeError, match="axis 0"):
        pnp.quantile(x, 0.5, weights=x[:2], axis=0, **options)
    with pytest.raises(ArgumentError, match="not all 0"):
        pnp.quantile(x, 0.5, weights=x * 0, **options)
    with pytest.raises(ArgumentError, match="finite sum"):
        np.asarray(jit(lambda x, w: np.quantile(x, 0.5, weights=w, **options))(x, x * 0))


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile"])
@pytest.mark.parametrize("place", [np.asarray, lambda x: pyc.device_put(x, "cpu")])
def test_a_fraction_outside_is_refused_wherever_the_array_is(name: str, place: Any) -> None:
    """In the first call and behind a right one, whose program could be taken for it."""
    x = place(np.arange(12.0).reshape(3, 4))
    for right, wrong in ((0.5, -1.0), (1.0, 200.0)):
        with pytest.raises(ArgumentError, match="fractions must lie in"):
            getattr(pnp, name)(x, wrong)
        assert np.asarray(getattr(pnp, name)(x, right)).shape == ()


def test_weights_below_zero_are_refused_by_position_too() -> None:
    x, w = np.arange(12.0).reshape(3, 4), -np.ones(4, int)
    for _ in range(3):
        with pytest.raises(ArgumentError, match="fweights must not be negative"):
            pnp.cov(x, None, True, False, None, w)
