"""`array-api-strict` as a second oracle: calls are drawn for functions of the array API standard,
and values, dtypes and shapes compared, by the Graph interpreter and outside of a trace."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

import pyc.numpy as pnp
from tests.numpy.interpreted import difference, interpreted

strict = pytest.importorskip("array_api_strict")

UNARY = (
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil", "conj"),
    *("cos", "cosh", "exp", "expm1", "floor", "imag", "isfinite", "isinf", "isnan", "log", "log10"),
    *("log1p", "log2", "logical_not", "negative", "positive", "real", "reciprocal", "round"),
    *("sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "flip"),
    *("matrix_transpose", "ones_like", "zeros_like", "unique_values", "nonzero"),
)
BINARY = (
    *("add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift"),
    *("bitwise_xor", "copysign", "divide", "equal", "greater", "greater_equal", "hypot", "less"),
    *("less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor", "maximum", "minimum"),
    *("multiply", "nextafter", "not_equal", "pow", "remainder", "subtract"),
)
REDUCTIONS = (
    *("all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "prod", "std"),
    *("sum", "var"),
)
DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
FEW = settings(max_examples=12, deadline=None, derandomize=True)
COUNTED = ("unique_values", "nonzero")
"""Functions whose results have a length that depends on data."""
RANKS = {"matrix_transpose": 2, "nonzero": 1}
"""Axes that an array has at least, where it is some."""
PARTS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.25, 9.5)


def elements(dtype: str) -> st.SearchStrategy[Any]:
    """Numbers of a type whose results it holds."""
    if dtype == "bool":
        return st.booleans()
    if dtype[0] == "f":
        return st.sampled_from((*PARTS, np.inf, -np.inf, np.nan))
    if dtype[0] == "c":
        return st.builds(complex, st.sampled_from(PARTS), st.sampled_from(PARTS))
    return st.integers(0 if dtype[0] == "u" else -7, 7)


def drawn(dtype: str, shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    return of_numpy.arrays(dtype, shape, elements=elements(dtype))


@cache
def allowed(name: str, count: int) -> list[tuple[str, ...]]:
    """The dtypes of arrays that the standard defines a function for."""
    found = []
    for dtypes in product(DTYPES, repeat=count):
        try:
            getattr(strict, name)(*(strict.ones((1, 1), dtype=getattr(strict, d)) for d in dtypes))
        except (TypeError, ValueError):
            continue
        found.append(dtypes)
    return found


def compare(name: str, arrays: list[Any], **options: Any) -> None:
    """Values, dtypes and shapes of a call that the standard defines."""

    def plain(x: Any) -> Any:
        return tuple(map(plain, x)) if isinstance(x, tuple) else np.asarray(x)

    def call(namespace: Any, *xs: Any) -> Any:
        return getattr(namespace, name)(*xs, **options)

    with np.errstate(all="ignore"):
        expected = plain(call(strict, *map(strict.asarray, arrays)))
        outside = call(pnp, *arrays)
    if name == "unique_values":
        expected, outside = np.sort(expected), np.sort(outside)
    assert not difference(expected, outside)
    if name not in COUNTED:
        assert not difference(expected, interpreted(call, *arrays))


@pytest.mark.parametrize("name", UNARY)
@FEW
@given(st.data())
def test_functions_of_one_array(name: str, data: st.DataObject) -> None:
    (dtype,) = data.draw(st.sampled_from(allowed(name, 1)))
    least = RANKS.get(name, 0)
    shapes = of_numpy.array_shapes(min_dims=least, max_dims=3, min_side=0, max_side=4)
    compare(name, [data.draw(drawn(dtype, data.draw(shapes)))])


@pytest.mark.parametrize("name", BINARY)
@FEW
@given(st.data())
def test_functions_of_two_arrays(name: str, data: st.DataObject) -> None:
    pairs = of_numpy.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3)
    shapes = data.draw(pairs).input_shapes
    dtypes = data.draw(st.sampled_from(allowed(name, 2)))
    arrays = [data.draw(drawn(d, shape)) for d, shape in zip(dtypes, shapes, strict=True)]
    if (name == "pow" or "shift" in name) and arrays[1].dtype.kind == "i":
        arrays[1] = np.abs(arrays[1])
    compare(name, arrays)


@pytest.mark.parametrize("name", REDUCTIONS)
@FEW
@given(st.data())
def test_reductions(name: str, data: st.DataObject) -> None:
    (dtype,) = data.draw(st.sampled_from(allowed(name, 1)))
    shape = data.draw(of_numpy.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    array = data.draw(drawn(dtype, shape))
    if array.dtype.kind in "fc":
        array = np.nan_to_num(array, posinf=4, neginf=-4)
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    compare(name, [array], axis=axis, keepdims=data.draw(st.booleans()))
