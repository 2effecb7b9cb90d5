"""Complex functions at infinities, NaN, signed zeros and the ends of the range: NumPy's values, on
Linux those of C99, Annex G. Each exception stands in docs/numerics.md and has its test here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc.interpreter import bind1

Array = np.ndarray[Any, Any]

FUNCTIONS = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "square", "reciprocal"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "abs", "sign", "conj", "angle"),
    *("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"),
)
ENDS = {np.complex64: (1e38, 1e-38), np.complex128: (1e300, 1e-300)}
EPS = {np.complex64: 1e-5, np.complex128: 1e-13}


def grid(dtype: type, *more: float) -> Array:
    """Every pair of awkward parts."""
    some = [0.0, 1.0, 0.5, 2.0, 1000.0, 100.0, np.inf, *more]
    parts = np.array([*some, *(-x for x in some), np.nan], dtype(0).real.dtype)
    z = np.empty((parts.size, parts.size), dtype)
    z.real, z.imag = parts[:, None], parts
    return z.reshape(-1)


def differing(found: Any, expected: Any, eps: float) -> Array:
    """Where results differ: NaN for NaN, the same infinities and signs of zeros, numbers within
    `eps` of the modulus."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    wrong = np.zeros(found.shape, bool)
    modulus = np.abs(expected)
    for part in ("real", "imag"):
        a, b = getattr(found, part), getattr(expected, part)
        size = np.where(np.isinf(modulus), np.abs(b), modulus)
        with np.errstate(invalid="ignore"):
            close = np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= eps * size)
        zeros = (a == 0) & (b == 0)
        equal = (a == b) & ~zeros | zeros & (np.signbit(a) == np.signbit(b))
        wrong |= ~(equal | (close & ~zeros) | (np.isnan(a) & np.isnan(b)))
    return wrong


def check(name: str, z: Array, found: Array, expected: Array, eps: float) -> None:
    wrong = np.flatnonzero(differing(found, expected, eps))
    rows = [f"{name}({z[k]}): NumPy {expected[k]}, pyc {found[k]}" for k in wrong]
    assert not rows, f"{len(rows)} of {z.size} differ\n" + "\n".join(rows[:20])


def run(name: str, *arguments: Array) -> tuple[Array, Array]:
    """pyc's results and NumPy's."""
    found = np.asarray(pyc.jit(lambda *a: getattr(pnp, name)(*a))(*arguments))
    with np.errstate(all="ignore"):
        return found, np.asarray(getattr(np, name)(*arguments))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"expm1", "log1p", "square"}))
def test_corners_are_those_of_numpy(name: str, dtype: type) -> None:
    z = grid(dtype, *ENDS[dtype])
    found, expected = run(name, z)
    # At infinity the zero has the sign that the array API standard says.
    if name == "tanh":
        far = np.isinf(z.real) & np.isfinite(z.imag)
        expected.imag[far] = np.copysign(0, z.imag[far])
    if name == "tan":
        far = np.isinf(z.imag) & np.isfinite(z.real)
        expected.real[far] = np.copysign(0, z.real[far])
    check(name, z, found, expected, EPS[dtype])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_corners_of_arithmetic_are_those_of_numpy(name: str, dtype: type) -> None:
    z = grid(dtype)
    a, b = np.repeat(z, z.size), np.tile(z, z.size)
    found, expected = run(name, a, b)
    check(name, a, found, expected, EPS[dtype])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_expm1_at_infinities_is_that_of_exp(dtype: type) -> None:
    """NumPy's own formula gives NaN where a factor is infinite and another 0 (inf + 0i), and the
    sine of an infinite part even where e^-inf is 0."""
    z = grid(dtype, *ENDS[dtype])
    found, expected = run("expm1", z)
    far = ~(np.abs(z.real) < 100)
    with np.errstate(all="ignore"):
        exact = np.exp(z)
        exact.real -= 1
    check("expm1", z[far], found[far], exact[far], EPS[dtype])
    near = ~far
    expected.real[near] += 0.0  # the array API standard's sign of a zero
    check("expm1", z[near], found[near], expected[near], EPS[dtype])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_log1p_keeps_what_numpy_loses_near_zero(dtype: type) -> None:
    z = grid(dtype)
    found, expected = run("log1p", z)
    check("log1p", z, found, expected, EPS[dtype])
    tiny = ENDS[dtype][1]
    small = np.array([complex(tiny, 0), complex(-tiny, tiny)], dtype)
    found, _ = run("log1p", small)
    check("log1p", small, found, small, EPS[dtype])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_square_rounds_each_product(dtype: type) -> None:
    """Where both products overflow NumPy gives NaN or -inf, by the instructions it was built with;
    elsewhere its values."""
    z = grid(dtype)
    found, expected = run("square", z)
    check("square", z, found, expected, EPS[dtype])
    large = ENDS[dtype][0]
    both, _ = run("square", np.array([complex(large, large), complex(-large, large)], dtype))
    assert np.isnan(both.real).all()
    assert both.imag.tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_powers_of_finite_numbers_are_those_of_numpy(dtype: type) -> None:
    """Annex G lets cpow be e^(w log z), which is NaN in both parts at many infinities."""
    z = np.unique(grid(dtype))
    z = z[np.isfinite(z) & (np.abs(z) < 10)]
    a, b = np.repeat(z, z.size), np.tile(z, z.size)
    found, expected = run("power", a, b)
    wrong = ~(np.isnan(found) & np.isnan(expected))
    error = np.abs(found - expected)[wrong]
    assert (error <= 100 * EPS[dtype] * np.abs(expected)[wrong]).all()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_the_sign_of_a_nan_decides_nothing(dtype: type) -> None:
    """Bits depend on the program: which NaN a processor makes is not part of it."""
    z = grid(dtype, *ENDS[dtype])
    with_nan = z[np.isnan(z)]
    other = np.empty_like(with_nan)
    other.real = np.where(np.isnan(with_nan.real), -with_nan.real, with_nan.real)
    other.imag = np.where(np.isnan(with_nan.imag), -with_nan.imag, with_nan.imag)

    def all_of_them(z: Any) -> list[Any]:
        return [getattr(pnp, name)(z) for name in FUNCTIONS]

    function = pyc.jit(all_of_them)
    for name, a, b in zip(FUNCTIONS, function(with_nan), function(other), strict=True):
        check(name, with_nan, np.asarray(a), np.asarray(b), 0.0)


@pytest.mark.parametrize("shape", [(), (3,), (3, 2)])
def test_parts_of_a_number_made_of_elements(shape: tuple[int, ...]) -> None:
    """Of one element twice, of two elements side by side, and of two in the other order."""
    x = np.arange(1.0, 1.0 + int(np.prod(shape, dtype=int))).reshape(shape)

    def parts(re: Any, im: Any) -> Any:
        return bind1("view_as_real", bind1("complex", re, im))

    def program(x: Any) -> Any:
        twice = parts(x, x)
        if not shape:
            return (twice,)
        return twice, parts(x[..., 0], x[..., 1]), parts(x[..., 1], x[..., 0])

    found = pyc.jit(program)(x)
    np.testing.assert_array_equal(found[0], np.stack([x, x], -1))
    if shape:
        np.testing.assert_array_equal(found[1], x[..., :2])
        np.testing.assert_array_equal(found[2], x[..., 1::-1])
