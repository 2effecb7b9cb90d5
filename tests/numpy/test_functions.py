"""Every function of `pyc.numpy` against NumPy, under `jit`, over awkward inputs.

A row of the table is a name and calls: functions of the namespace and of input arrays. The same
call runs with NumPy itself, so a row states what is called and nothing about the answer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc.errors import PycError

Call = Callable[..., Any]


def _floats(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    rng = np.random.default_rng(len(shape) + 7)
    return (rng.standard_normal(shape) * 3).astype(dtype)


def _quarters(shape: tuple[int, ...]) -> Any:
    """Multiples of 1/4, whose sums of products are exact in whichever order NumPy's BLAS takes."""
    return np.rint(_floats(shape) * 4) / 4


X = _floats((4, 5))
Y = _floats((4, 5), np.float64)
V = _floats((5,))
CUBE = _floats((2, 3, 4))
POSITIVE = np.abs(X) + np.float32(0.1)
UNIT = (X / np.abs(X).max()).astype(np.float32)
WHOLE = np.arange(-7, 13, dtype=np.int64).reshape(4, 5)
NATURAL = np.arange(1, 21, dtype=np.int32).reshape(4, 5)
SMALL = np.array([[3, -4], [100, -128]], np.int8)
LOGIC = X > 0
AWKWARD = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-42, 1.0, -2.5], np.float32)
COMPLEX = (_floats((3, 3)) + 1j * _floats((3, 3), np.float64).T).astype(np.complex64)
INDEX = np.array([[0, 2], [1, -1]])
EMPTY = np.zeros((0, 3), np.float32)
SCALAR = np.float32(1.5)

UNARY_FLOAT = (
    *("exp", "exp2", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "cbrt", "arctan"),
    *("arcsinh", "deg2rad", "rad2deg", "sinc", "floor", "ceil", "trunc", "rint", "fabs"),
)
UNARY = (
    *("negative", "positive", "absolute", "sign", "square", "isnan", "isinf", "isfinite"),
    *("signbit", "isneginf", "isposinf", "nan_to_num", "logical_not", "real", "conj"),
)
BINARY = (
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "fmin", "hypot"),
    *("arctan2", "copysign", "equal", "not_equal", "less", "less_equal", "greater"),
    *("greater_equal", "logical_and", "logical_or", "logical_xor", "logaddexp", "logaddexp2"),
)
INTEGER = ("floor_divide", "remainder", "fmod", "bitwise_and", "bitwise_or", "bitwise_xor")

TABLE: list[tuple[str, Call, tuple[Any, ...]]] = []


def row(name: str, call: Call, *arguments: Any) -> None:
    """Adds a row."""
    TABLE.append((name, call, arguments))


for _n in UNARY_FLOAT:
    for _x in (X, Y, WHOLE, AWKWARD, EMPTY, SCALAR):
        row(_n, lambda np, x, _n=_n: getattr(np, _n)(x), _x)
for _n in UNARY:
    for _x in (X, Y, WHOLE, AWKWARD, EMPTY, SCALAR):
        row(_n, lambda np, x, _n=_n: getattr(np, _n)(x), _x)
for _n in ("log", "log2", "log10", "log1p", "sqrt", "arccosh"):
    for _x in (POSITIVE + 1, AWKWARD, NATURAL):
        row(_n, lambda np, x, _n=_n: getattr(np, _n)(x), _x)
for _n in ("arcsin", "arccos", "arctanh"):
    row(_n, lambda np, x, _n=_n: getattr(np, _n)(x), UNIT)
for _n in BINARY:
    row(_n, lambda np, x, y, _n=_n: getattr(np, _n)(x, y), X, V)
    row(_n, lambda np, x, y, _n=_n: getattr(np, _n)(x, y), X, Y)
    row(_n, lambda np, x, y, _n=_n: getattr(np, _n)(x, y), AWKWARD, AWKWARD[::-1].copy())
for _n in INTEGER:
    row(_n, lambda np, x, y, _n=_n: getattr(np, _n)(x, y), WHOLE, NATURAL)
    row(_n, lambda np, x, y, _n=_n: getattr(np, _n)(x, y), SMALL, SMALL.T.copy())
for _n in ("gcd", "lcm"):
    for _x, _y in (
        (WHOLE, NATURAL),
        (SMALL, SMALL.T.copy()),
        (WHOLE, np.int64(12)),
        (SMALL, LOGIC[:2, :2]),
    ):
        row(_n, lambda np, x, y, _n=_n: getattr(np, _n)(x, y), _x, _y)
    row(_n, lambda np, x, _n=_n: (getattr(np, _n)(x, 6), getattr(np, _n)(x[:0], 6)), NATURAL)
    row(_n, lambda np, x, _n=_n: getattr(np, _n)(x, x[:, :1]), NATURAL.astype(np.uint64))
for _n in ("floor_divide", "remainder", "fmod"):
    row(_n, lambda np, x, y, _n=_n: getattr(np, _n)(x, y), X, V)
row("power", lambda np, x: np.power(x, 2.5), POSITIVE)
row("power", lambda np, x: x**2 + x**0.5 + x**-1, POSITIVE)
row("power", lambda np, x, y: np.power(x, y), NATURAL, np.int32(3))
row("left_shift", lambda np, x: np.left_shift(x, 2), WHOLE)
row("right_shift", lambda np, x: np.right_shift(x, 1), WHOLE)
row("invert", lambda np, x: np.invert(x), WHOLE)
row("invert", lambda np, x: np.invert(x), LOGIC)
row("clip", lambda np, x: np.clip(x, -1, 1), X)
row("where", lambda np, c, x, y: np.where(c, x, y), LOGIC, X, np.float32(0))
row("round", lambda np, x: np.round(x, 2), X)
row("divmod", lambda np, x, y: np.divmod(x, y), WHOLE, NATURAL)
row("heaviside", lambda np, x: np.heaviside(x, 0.5), X)
row("isclose", lambda np, x: np.isclose(x, x + 1e-9), Y)
row("reciprocal", lambda np, x: np.reciprocal(x), POSITIVE)
row("imag", lambda np, x: (np.imag(x), np.real(x), np.conj(x), np.abs(x), np.angle(x)), COMPLEX)
row("angle in degrees", lambda np, x: (np.angle(x, True), np.angle(x.real, deg=True)), COMPLEX)
row("complex", lambda np, x: x * x + x / (x + 2) - x, COMPLEX)
for _a in (None, 0, 1, -1, (0, 1)):
    for _n in ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "ptp"):
        row(_n, lambda np, x, _n=_n, _a=_a: getattr(np, _n)(x, axis=_a), X)
        row(_n, lambda np, x, _n=_n, _a=_a: getattr(np, _n)(x, axis=_a, keepdims=True), Y)
    for _n in ("sum", "prod", "count_nonzero", "mean"):
        row(_n, lambda np, x, _n=_n, _a=_a: getattr(np, _n)(x, axis=_a), WHOLE)
        row(_n, lambda np, x, _n=_n, _a=_a: getattr(np, _n)(x, axis=_a), LOGIC)
for _n in ("argmax", "argmin"):
    for _x in (X, WHOLE, LOGIC, AWKWARD):
        row(_n, lambda np, x, _n=_n: getattr(np, _n)(x), _x)
    row(_n, lambda np, x, _n=_n: getattr(np, _n)(x, axis=1), X)
row("sum", lambda np, x: np.sum(x, axis=0), EMPTY)
row("std", lambda np, x: np.std(x, axis=1, ddof=1), X)
row("average", lambda np, x, w: np.average(x, axis=1, weights=w), X, np.abs(V))
row("nansum", lambda np, x: (np.nansum(x[:3]), np.nanmax(x), np.nanmin(x)), AWKWARD)
row("nanmean", lambda np, x: np.nanmean(x[[0, 1, 2, 6]]), AWKWARD)
row("matmul", lambda np, x, y: x @ y.T, X, _floats((3, 5)))
row("matmul", lambda np, x, v: (x @ v, v @ x.T, v @ v), X, V)
row("matmul", lambda np, a: a @ np.swapaxes(a, 1, 2), CUBE)
row("matmul", lambda np, a, b: a @ b, _quarters((40, 70)), _quarters((70, 33)))
row("matmul", lambda np, a: a @ a, COMPLEX)
row("dot", lambda np, x, v: np.dot(x, v), X, V)
row("vdot", lambda np, v: np.vdot(v, v), V)
row("inner", lambda np, x: np.inner(x, x), X)
row("outer", lambda np, v: np.outer(v, v), V)
row("tensordot", lambda np, a: np.tensordot(a, a, axes=([1, 2], [1, 2])), CUBE)
row("kron", lambda np, a: np.kron(a[:2, :2], a), X)
row("einsum", lambda np, a, b: np.einsum("ij,kj->ik", a, b), X, X)
row("einsum", lambda np, a: np.einsum("bij,bkj->bik", a, a), CUBE)
row("reshape", lambda np, x: np.reshape(x, (2, -1)), X)
row("ravel", lambda np, x: np.ravel(x.T), X)
row("transpose", lambda np, a: np.transpose(a, (2, 0, 1)), CUBE)
row("swapaxes", lambda np, a: np.swapaxes(a, 0, -1), CUBE)
row("moveaxis", lambda np, a: np.moveaxis(a, (0, 1), (-1, 0)), CUBE)
row("squeeze", lambda np, x: np.squeeze(x[:, None, :, None]), X)
row("expand_dims", lambda np, x: np.expand_dims(x, (0, -1)), X)
row("concatenate", lambda np, x, y: np.concatenate([x, y, x], axis=1), X, Y)
row("stack", lambda np, x: np.stack([x, x + 1], axis=1), X)
row("vstack", lambda np, v: np.vstack([v, v]), V)
row("hstack", lambda np, v: np.hstack([v, v]), V)
row("column_stack", lambda np, v: np.column_stack([v, v]), V)
row("split", lambda np, x: tuple(np.split(x, 2, axis=0)), X)
row("split", lambda np, x: tuple(np.split(x, [1, 3], axis=1)), X)
row("array_split", lambda np, v: tuple(np.array_split(v, 3)), V)
row("flip", lambda np, x: (np.flip(x), np.flip(x, 0), np.flipud(x), np.fliplr(x)), X)
row("roll", lambda np, x: (np.roll(x, 3), np.roll(x, -1, axis=1)), X)
row(
    "roll by a traced number",
    lambda np, x: (
        np.roll(x, np.argmax(x)),
        np.roll(x, -3 * np.argmax(x[0]) - 1, axis=1),
        np.roll(x, (np.argmin(x), 1), axis=(0, 1)),
        np.roll(x, np.argsort(x[0])[:2], axis=(0, 1)),
    ),
    X,
)
row("rot90", lambda np, x: (np.rot90(x), np.rot90(x, 2), np.rot90(x, 3)), X)
row("repeat", lambda np, x: (np.repeat(x, 2), np.repeat(x, 3, axis=1)), X)
row("tile", lambda np, x: (np.tile(x, 2), np.tile(x, (2, 1, 3))), X)
row("pad", lambda np, x: np.pad(x, ((1, 2), (0, 3))), X)
for _m in ("edge", "wrap", "reflect", "symmetric"):
    row("pad", lambda np, x, _m=_m: np.pad(x, 2, mode=_m), X)
row("diff", lambda np, x: (np.diff(x), np.diff(x, n=2, axis=0)), X)
row("diagonal", lambda np, x: (np.diagonal(x), np.diagonal(x, 1), np.diagonal(x, -2)), X)
row("diag", lambda np, v: (np.diag(v), np.diag(v, 2), np.diag(v, -1)), V)
row("trace", lambda np, x: np.trace(x), X)
row("tril", lambda np, x: (np.tril(x), np.triu(x, 1), np.tril(x, -2)), X)
row("astype", lambda np, x: x.astype(np.int32), X)
row("broadcast_to", lambda np, v: np.broadcast_to(v, (3, 5)), V)
row("full_like", lambda np, x: (np.full_like(x, 7), np.zeros_like(x), np.ones_like(x)), X)
row("meshgrid", lambda np, v: tuple(np.meshgrid(v, v[:3])), V)
row("searchsorted", lambda np, x, v: np.searchsorted(np.sort(v), x), X, V)
row("sort", lambda np, x: (np.sort(x), np.sort(x, axis=0), np.sort(x, axis=None)), X)
row("sort", lambda np, x: np.sort(x), AWKWARD)
row("argsort", lambda np, x: np.argsort(x, axis=0, kind="stable"), X)
row("median", lambda np, x: (np.median(x), np.median(x, axis=1)), Y)
row("quantile", lambda np, x: np.quantile(x, 0.3, axis=1), Y)
row("cumsum", lambda np, x: (np.cumsum(x), np.cumsum(x, axis=0)), X)
row("cumprod", lambda np, x: np.cumprod(x, axis=1), X)
row("take", lambda np, x, i: (np.take(x, i), np.take(x, i, axis=1)), X, INDEX)
row("take_along_axis", lambda np, x: np.take_along_axis(x, np.argsort(x, 1), 1), X)
row("isin", lambda np, x: np.isin(x, np.ravel(x)[2:5]), WHOLE)
row("digitize", lambda np, x, v: np.digitize(x, np.sort(v)), X, V)
row("getitem", lambda np, x: (x[0], x[-1, 2], x[1:3, ::2], x[..., None, 1], x[::-1]), X)
row("getitem", lambda np, x, i: (x[i], x[:, i], x[i, i], x[1, i], x[i, None, 1:3]), X, INDEX)
row("getitem", lambda np, a, i: (a[:, [0, 1]], a[[0, 1], :, [1, 2]], a[:, 1, [0, 2]]), CUBE, INDEX)


# The product's kernel stores a value that has other unit axes.
row("matvec", lambda np, x, v: (np.matvec(x, v) + 1, np.vecmat(x[:, 0], x)), X, V)
row("matmul", lambda np, x, v: np.reshape(np.matmul(x, v.reshape(5, 1)), (1, 4, 1)) * 2, X, V)
row("exp", lambda np, z: (np.exp(z), np.log(z), np.sqrt(z), np.tanh(z), np.arcsin(z)), COMPLEX)
row("power", lambda np, z: (z**2, z**0.5, np.power(z, z)), COMPLEX)


def _reference(call: Call, arguments: tuple[Any, ...]) -> Any:
    with np.errstate(all="ignore"):
        return call(np, *arguments)


def _check(expected: Any, found: Any) -> None:
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        assert len(expected) == len(found)
        for a, b in zip(expected, found, strict=True):
            _check(a, b)
        return
    expected, found = np.asarray(expected), np.asarray(found)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if expected.dtype.kind in "fc":
        eps = np.finfo(expected.dtype).eps
        np.testing.assert_allclose(found, expected, rtol=64 * eps, atol=64 * eps)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("name", "call", "arguments"), TABLE, ids=[f"{n}-{k}" for k, (n, _, _) in enumerate(TABLE)]
)
def test_a_function_gives_what_numpy_gives(
    name: str, call: Call, arguments: tuple[Any, ...]
) -> None:
    """Shape, dtype and values; `pnp.f` under jit."""
    expected = _reference(call, arguments)
    with pyc.config.using(cache="off"):
        found = pyc.jit(lambda *xs: call(pnp, *xs))(*arguments)
    _check(expected, found)


NUMPY_ONLY = {n for n, _, _ in TABLE} & {"sum", "exp", "matmul", "where", "concatenate", "mean"}


@pytest.mark.parametrize(
    ("call", "arguments"),
    [(c, a) for n, c, a in TABLE if n in NUMPY_ONLY][::4],
)
def test_numpys_own_functions_are_traced(call: Call, arguments: tuple[Any, ...]) -> None:
    """`np.f` on traced values goes through the protocols to `pnp.f`."""
    expected = _reference(call, arguments)
    with pyc.config.using(cache="off"):
        found = pyc.jit(lambda *xs: call(np, *xs))(*arguments)
    _check(expected, found)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: pnp.sum(x, axis=2),
        lambda x: pnp.transpose(x, (0, 0)),
        lambda x: pnp.reshape(x, (3, 7)),
        lambda x: pnp.concatenate([x, x[:, :2]], axis=0),
        lambda x: pnp.max(x[:0], axis=0),
        lambda x: x @ x,
        lambda x: x + x[:, :3],
        lambda x: x[9],
        lambda x: x[0, 0, 0],
        lambda x: x[x > 0],
        lambda x: x & x,
        lambda x: pnp.matmul(x, 3.0),
    ],
)
def test_bad_arguments_are_named_errors(call: Call) -> None:
    """Each is an error of pyc with the user's line."""
    with pytest.raises(PycError, match="test_functions"):
        pyc.jit(call)(X)


def test_an_index_out_of_range_raises_when_the_program_runs() -> None:
    """NumPy's rule, for indices that are data."""
    function = pyc.jit(lambda x, i: x[i])
    np.testing.assert_array_equal(function(V, np.array([0, -1])), V[[0, -1]])
    with pytest.raises(IndexError, match="9"):
        function(V, np.array([0, 9]))


def test_updates_through_at() -> None:
    """`x.at[key]` in all its forms, against assignment in NumPy."""

    def changed(x: Any, i: Any) -> Any:
        return (
            x.at[1].set(0),
            x.at[:, 1:3].add(10),
            x.at[i].multiply(2),
            x.at[0, i].max(1.0),
            x.at[::-2, 0].set(pnp.arange(2)),
        )

    i = np.array([2, 0])
    found = pyc.jit(changed)(X, i)
    expected = [X.copy() for _ in range(5)]
    expected[0][1] = 0
    expected[1][:, 1:3] += 10
    expected[2][i] *= 2
    expected[3][0, i] = np.maximum(expected[3][0, i], 1.0)
    expected[4][::-2, 0] = np.arange(2)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(b, a)


def test_equal_indices_add_up() -> None:
    """Scatter adds in row-major order, so equal places accumulate."""
    found = pyc.jit(lambda x, i, v: x.at[i].add(v))(
        np.zeros(3, np.float32), np.array([1, 1, 2, 1]), np.array([1, 2, 3, 4], np.float32)
    )
    np.testing.assert_array_equal(found, np.array([0, 7, 3], np.float32))


def test_every_public_function_has_a_docstring() -> None:
    """The namespace is documented."""
    for name in pnp.__all__:
        item = getattr(pnp, name)
        if inspect.isfunction(item):
            assert item.__doc__, name
