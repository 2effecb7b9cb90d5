"""Element-wise functions over every pair of element types: NumPy 2's result type and value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.numpy.interpreted import difference, interpreted, outcome

TYPES = [
    *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float16, np.float32, np.float64, np.complex64, np.complex128),
]
NUMBERS = (True, 2, 2.5, 1j)

UNARY = [
    "abs",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "bitwise_count",
    "bitwise_not",
    "cbrt",
    "ceil",
    "conj",
    "cos",
    "cosh",
    "deg2rad",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "nan_to_num",
    "negative",
    "rad2deg",
    "real",
    "reciprocal",
    "rint",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "angle",
]

BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "fmod",
    "power",
    "arctan2",
    "hypot",
    "copysign",
    "nextafter",
    "minimum",
    "maximum",
    "fmin",
    "fmax",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "gcd",
    "lcm",
    "left_shift",
    "right_shift",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logaddexp",
    "logaddexp2",
    "heaviside",
    "float_power",
    "isclose",
]


def values(dtype: Any, seed: int) -> Any:
    """Seven small numbers, none negative where that is an error of its own."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(7) > 0.5
    if kind in "iu":
        return rng.integers(-5 if kind == "i" else 1, 6, 7).astype(dtype)
    if kind == "c":
        return (rng.standard_normal(7) + 1j * rng.standard_normal(7)).astype(dtype)
    return (rng.standard_normal(7) * 2).astype(dtype)


def check(name: str, *operands: Any) -> str:
    """How `pyc.numpy`'s function differs from NumPy's; empty if it does not."""
    arrays = [x for x in operands if isinstance(x, np.ndarray)]

    def call(namespace: Any, *xs: Any) -> Any:
        rest = iter(xs)
        mixed = (next(rest) if isinstance(x, np.ndarray) else x for x in operands)
        return getattr(namespace, name)(*mixed)

    expected = outcome(lambda: call(np, *arrays))
    refused = isinstance(expected, Exception)
    try:
        found = interpreted(call, *arrays)
    except (TypeError, ValueError, OverflowError) as error:
        return "" if refused else f"refused: {error}"
    return f"expected {expected!r}" if refused else difference(expected, found, 16)


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_array_has_numpys_type(name: str) -> None:
    """All types; integer reciprocals of 0 have no value in NumPy either."""
    for dtype in TYPES:
        x = values(dtype, 1)
        if name == "reciprocal" and np.dtype(dtype).kind in "iu":
            x = np.where(x == 0, x.dtype.type(1), x)
        found = check(name, x)
        assert not found, f"{name}({np.dtype(dtype)}): {found}"


@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_arrays_has_numpys_type(name: str) -> None:
    """All pairs of types, and each type with Python's numbers on either side."""
    natural = name in ("power", "left_shift", "right_shift")
    for first in TYPES:
        x = values(first, 1)
        seconds = [values(t, 2) for t in TYPES]
        if natural:
            x = np.abs(x) if np.dtype(first).kind in "iu" else x
            seconds = [np.abs(y) if y.dtype.kind in "iu" else y for y in seconds]
        pairs = [(x, y) for y in (*seconds, *NUMBERS)]
        pairs += [(n, x) for n in NUMBERS if name != "power"]
        for a, b in pairs:
            found = check(name, a, b)
            types = [v.dtype if isinstance(v, np.ndarray) else v for v in (a, b)]
            assert not found, f"{name}{tuple(types)}: {found}"
