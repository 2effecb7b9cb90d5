"""Corners where a traced program could silently differ from NumPy: numbers that do not fit, types
of lists, integers of different signs, modes of indices, reductions of nothing.

Each row is jitted and compared with NumPy in values, shape and dtype, or must raise a named error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pyc import errors, jit, lax

U1 = np.array([200, 3, 0], np.uint8)
I1 = np.array([-100, 3, 127], np.int8)
I8 = np.array([-1, 0, 2**63 - 1, 5])
U8 = np.array([2**64 - 1, 0, 2**63, 5], np.uint64)
F4 = np.array([1.5, -2.5, 0.0], np.float32)
F8 = np.arange(12.0).reshape(3, 4)
C16 = np.array([1 + 2j, 3 - 1j])
EMPTY = np.zeros((0, 4))

SAME: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    # Integers of any two types compare as the numbers that they are.
    "int64 < uint64": (lambda x, y: x < y, (I8, U8)),
    "uint64 < int64": (lambda x, y: x < y, (U8, I8)),
    "int64 == uint64": (lambda x, y: (x == y, x != y, y == x), (I8, U8)),
    "int64 >= uint64": (lambda x, y: (x >= y, x <= y, x > y), (I8, U8)),
    "int8 <= uint64": (lambda x, y: x[:, None] <= y, (I1, U8)),
    "number beyond the type": (
        lambda x: (x < 300, x > 300, x == 300, x != -1, x >= -1, x <= 2**70),
        (U1,),
    ),
    "number argument beyond the type": (
        lambda x, n: (x < n, n < x, x == n, x >= n, n != x),
        (U1, 300),
    ),
    "negative number argument": (lambda x, n: (x < n, n <= x, x == n), (U1, -1)),
    "negative number argument and uint64": (lambda x, n: (x < n, n <= x, x == n), (U8, -1)),
    "scalar in a tuple": (lambda x: x in (300, 200), (np.uint8(200),)),
    "where a comparison is false": (lambda x: np.where(x < 300, x, 0), (U1,)),
    # Python numbers among elements of a list are arrays of their own type.
    "list of uint8 and a number": (lambda x: np.array([x, 3]), (np.uint8(3),)),
    "list of float32 and a number": (lambda x: np.array([x, 1.0]), (np.float32(3),)),
    "list of elements": (lambda x: np.asarray([x[0], x[1], 300]), (U1,)),
    "nested list": (lambda x: np.array([[x, 1.0], [2, 3]]), (np.float32(3),)),
    "list with a type": (lambda x: np.array([x, 3], np.int16), (np.uint8(3),)),
    "list of number arguments": (lambda a, b: np.array([a, b]), (3, 2.5)),
    "operator with a list": (lambda x: np.add(x, [1.0, x[0], 3]), (F4,)),
    # Bounds that the type cannot hold are none.
    "clip": (lambda x: np.clip(x, -1, 300), (U1,)),
    "clip by number arguments": (lambda x, a, b: np.clip(x, a, b), (U1, -1, 300)),
    "clip of int64": (lambda x, a, b: np.clip(x, a, b), (I8, -1, 300)),
    # What replaces NaN has the type of the elements, whatever its own.
    "nan_to_num by a float64": (lambda x: np.nan_to_num(x / x, nan=np.float64(2.5)), (F4,)),
    "nan_to_num by an array": (lambda x: np.nan_to_num(x / x, nan=np.arange(3)), (F4,)),
    "nan_to_num by an infinity": (lambda x: np.nan_to_num(x / x, nan=np.inf), (F4,)),
    # Differences of integers wrap around, distances do not.
    "isclose of unsigned": (
        lambda x, y: np.isclose(x, y, atol=2),
        (np.array([0, 5], np.uint8), np.array([255, 4], np.uint8)),
    ),
    "isclose to a number beyond": (lambda x: np.isclose(x, 300), (U1,)),
    # The type of a ufunc.
    "comparison with dtype=bool": (lambda x: np.equal(x, 3, dtype=bool), (U1,)),
    "ufunc in float32": (lambda x: np.sin(x, dtype=np.float32), (np.arange(4),)),
    "ufunc in complex": (lambda x: np.multiply(x, 2, dtype=complex), (F4,)),
    # Nothing to reduce.
    "sums of einsum of complex numbers": (
        lambda x, y: (np.einsum("i->", x), np.einsum("i,j->j", x, y), np.einsum("i,->", y, x[0])),
        (C16, C16 * 2),
    ),
    "sums of einsum of bools": (
        lambda x, m: (np.einsum("i->", x), np.einsum("ij,j->i", m, x), np.einsum("ij->i", m)),
        (U1 > 0, np.eye(3, dtype=bool)),
    ),
    "sums of einsum of small types": (
        lambda x, y: (np.einsum("i->", x), np.einsum("i->", y), np.einsum("i,j->i", x, x)),
        (U1, F4.astype(np.float16)),
    ),
    "views of einsum keep their type": (
        lambda x, m: (
            np.einsum("i->i", x, dtype=np.float64),
            np.einsum("ii->i", m, dtype=np.float32, casting="unsafe"),
            np.einsum("ij->ji", m, dtype=np.int8, casting="unsafe", optimize=True),
            np.einsum("ij->i", m, dtype=np.float64, casting="unsafe"),
        ),
        (U1, np.arange(9).reshape(3, 3)),
    ),
    "polynomials without coefficients": (
        lambda x: (np.polymul([], x), np.polymul(x, x[:0]), np.polymul(x[:0], [])),
        (np.abs(F4),),
    ),
    "trace of nothing": (lambda x: np.trace(x), (EMPTY,)),
    "trace of uint8": (lambda x: np.trace(x), (U1.reshape(1, 3),)),
    "trace with a type": (lambda x: np.trace(x, dtype=np.float32), (F8,)),
    "product over nothing": (lambda x: (x.T @ x, x @ np.ones(4)), (EMPTY,)),
    "einsum over nothing": (lambda x: np.einsum("ij,ik->jk", x, x), (EMPTY,)),
    # Indices.
    "empty list as an index": (lambda x: (x[[]], x[:, []], np.take(x, np.array([], int))), (F8,)),
    "take beyond, clipped": (lambda x: np.take(x, 99, mode="clip"), (F8,)),
    "take beyond, wrapped": (lambda x: np.take(x, -5, axis=1, mode="wrap"), (F8,)),
    "take_along_axis, flattened": (
        lambda x: np.take_along_axis(x, np.array([3, 1]), None),
        (F8,),
    ),
    "nanargmax of an axis of NumPy": (lambda x: np.nanargmax(x, axis=np.int64(1)), (F8,)),
    "array of 64 axes": (lambda x: (x + 1, x.sum(), x[0]), (np.ones((2,) + (1,) * 63),)),
    # Arguments.
    "roll twice": (lambda x: (np.roll(x, (1, 2), 0), np.roll(x, 1, (0, 1))), (F8,)),
    "round to nothing": (lambda x: np.round(x, -400), (F8,)),
    "linalg by position": (
        lambda x: (
            np.linalg.outer(x[0], x[1]),
            np.linalg.vecdot(x, x + 1, axis=0),
            np.linalg.tensordot(x, x.T, axes=1),
        ),
        (F8,),
    ),
}


def equal(found: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(equal, found, expected))
    a, b = np.asarray(found), np.asarray(expected)
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return False
    signs = a.dtype.kind != "f" or np.array_equal(np.signbit(a), np.signbit(b))
    return bool(signs and np.allclose(a, b, 1e-6, 0, equal_nan=True))


@pytest.mark.parametrize("name", SAME)
def test_a_corner_is_as_in_numpy(name: str) -> None:
    function, arguments = SAME[name]
    with np.errstate(all="ignore"):
        expected = function(*arguments)
    found = jit(function)(*arguments)
    assert equal(found, expected), f"{found!r} is not {expected!r}"


def test_at_takes_any_index_by_its_mode_and_masks() -> None:
    """An integer that is known counts as one that is not."""
    for i in (5, np.array(5)):
        run = jit(
            lambda x, i=i: (
                x.at[i].get(mode="clip"),
                x.at[i].get(mode="fill", fill_value=7.0),
                x.at[i].get(mode="wrap"),
                x.at[i].set(1.0, mode="drop"),
                x.at[i].add(1.0, mode="clip"),
            )
        )
        clipped, filled, wrapped, dropped, added = run(F8)
        assert equal((clipped, wrapped), (F8[2], F8[2]))
        assert equal((filled, dropped), (np.full(4, 7.0), F8))
        assert equal(added, np.concatenate([F8[:2], F8[2:] + 1]))
    masked = jit(lambda x: (x.at[x > 3].set(0), x.at[x > 3].add(1), x.at[x[:, 0] > 3].max(9)))
    assert equal(
        masked(F8),
        (
            np.where(F8 > 3, 0, F8),
            np.where(F8 > 3, F8 + 1, F8),
            np.where(F8[:, :1] > 3, np.maximum(F8, 9), F8),
        ),
    )


def test_half_types_keep_their_kind_in_lists() -> None:
    x = np.array([1, 2], ml_dtypes.bfloat16)
    found = jit(lambda x: np.stack([x[0], x[1]]))(x)
    assert found.dtype == x.dtype


def test_control_flow_takes_the_arguments_that_jax_takes() -> None:
    def count(i: Any, x: Any) -> Any:
        return x + i

    def sums(x: Any) -> Any:
        plain = lax.fori_loop(0, 5, count, x)
        several = [lax.fori_loop(0, 5, count, x, unroll=n) for n in (1, 2, 7, True, False)]
        mapped = [lax.map(lambda v: v * v, x, batch_size=n) for n in (None, 1, 2, 5)]
        return plain, several, mapped

    plain, several, mapped = jit(sums)(F4)
    assert equal(plain, F4 + 10)
    assert all(equal(x, plain) for x in several)
    assert all(equal(x, F4 * F4) for x in mapped)


REFUSED: dict[str, tuple[type[Exception], Callable[..., Any], tuple[Any, ...]]] = {
    "number beyond the type": (OverflowError, lambda x: x + 300, (U1,)),
    "number argument beyond the type": (OverflowError, lambda x, n: x + n, (U1, 300)),
    "negative number argument": (OverflowError, lambda x, n: np.maximum(x, n), (U1, -1)),
    "scalar of a number argument": (OverflowError, lambda n: np.uint8(n) + np.uint8(1), (256,)),
    "number argument filled in": (OverflowError, lambda x, n: np.full_like(x, n), (U1, 300)),
    "insert": (OverflowError, lambda x: np.insert(x, 0, 300), (U1,)),
    "bound above the type": (OverflowError, lambda x, n: np.clip(x, n, None), (U1, 300)),
    "complex number in a real array": (TypeError, lambda x: x.at[0].set(1j), (F4,)),
    "complex number assigned": (TypeError, lambda x: _assigned(x, 1j), (F4,)),
    "ufunc in a lesser type": (TypeError, lambda x: np.add(x, 1.5, dtype=int), (F4,)),
    "ufunc in a type that it has not": (
        TypeError,
        lambda x: np.divide(x, 2, dtype=int),
        (I8,),
    ),
    "negative diff": (ValueError, lambda x: np.diff(x, n=-1), (F8,)),
    "vecdot of two lengths": (ValueError, lambda x: np.vecdot(x, x[:, :1]), (F8,)),
    "endless roll": (ValueError, lambda x: np.roll(x, np.inf), (F8,)),
    "unknown pad": (ValueError, lambda x: np.pad(x, 1, mode="triangle"), (F8,)),
    "unknown mode of an index": (ValueError, lambda x: x.at[0].set(1, mode="none"), (F8,)),
    "values of a traced mask": (errors.TraceError, lambda x: x.at[x > 3].set(x[0]), (F8,)),
    "mask of another shape": (IndexError, lambda x: x.at[x[0] > 3].set(0), (F8,)),
    "too many axes": (ValueError, lambda x: x.reshape((1,) * 65), (F4[:1],)),
    "too many axes in front": (ValueError, lambda x: np.array(x, ndmin=65), (F4,)),
    "integer beyond all floats": (OverflowError, lambda x: x + 10**400, (F4,)),
    "integer of many digits": (OverflowError, lambda x: x + 10**5000, (F4,)),
    "rows of several lengths": (ValueError, lambda x: np.add(x, [[1], [2, 3]]), (F4,)),
    "half a decimal place": (TypeError, lambda x: np.round(x, 0.5), (F4,)),
    "diagonal by a float": (TypeError, lambda x: np.tril(x, 0.5), (F8,)),
    "axis of floats": (TypeError, lambda x: x.sum(axis=np.ones(2)), (F8,)),
    "nothing in place of NaN": (TypeError, lambda x: np.nan_to_num(x, nan=None), (F4,)),
    "more samples than memory": (ValueError, lambda x: np.linspace(x[0], 1, 1 << 62), (F4,)),
    "too many elements": (ValueError, lambda x: np.zeros((2**40, 2**20)) + x[0], (F4,)),
    "shape whose size wraps around": (
        ValueError,
        lambda x: x.reshape(2**32, 2**32),
        (EMPTY,),
    ),
    "no branches": (ValueError, lambda x: lax.switch(0, [], x), (F8,)),
    "negative unroll": (
        ValueError,
        lambda x: lax.scan(lambda c, v: (c, v), 0, x, unroll=-1),
        (F8,),
    ),
    "unroll of an unknown length": (
        ValueError,
        lambda x, n: lax.fori_loop(0, n, lambda i, c: c + i, x, unroll=2),
        (F8, 3),
    ),
}


def _assigned(x: Any, value: Any) -> Any:
    x = x.copy()
    x[0] = value
    return x


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_an_error_of_pyc_on_the_users_line(name: str) -> None:
    error, function, arguments = REFUSED[name]
    with pytest.raises(error) as found:
        jit(function)(*arguments)
    assert isinstance(found.value, errors.PycError)
    assert found.value.place is not None
    assert found.value.place.file == __file__
