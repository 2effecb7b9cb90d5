"""NumPy's functions that change an array in place, on arrays that the function has made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc

X = np.array([[1.5, 2.25, 3.0], [0.5, -1.0, 4.0]])
V = np.array([7.0, 8.0, 9.0])

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "putmask of as many": lambda a, v: np.putmask(a, a > 1, a * 2),
    "putmask of one": lambda a, v: np.putmask(a, a > 1, 3),
    "putmask of fewer": lambda a, v: np.putmask(a, a > 1, v[:2]),
    "putmask of another shape": lambda a, v: np.putmask(a, a > -9, v[:2].reshape(2, 1)),
    "putmask of a row": lambda a, v: np.putmask(a, a > -9, v),
    "putmask of more": lambda a, v: np.putmask(a, a > -9, np.arange(10.0)),
    "putmask of a view": lambda a, v: np.putmask(a[:, 1:], a[:, 1:] > 1, v[:2]),
    "putmask by lists": lambda a, v: np.putmask(a, [[True, False, True]] * 2, [1, 2]),
    "put": lambda a, v: np.put(a, [0, 1, 5], v),
    "put fewer": lambda a, v: np.put(a, [0, 1, 5], v[:2]),
    "put more": lambda a, v: np.put(a, [0, 1], v),
    "put from the end": lambda a, v: np.put(a, [-1, -6], v),
    "put by clipping": lambda a, v: np.put(a, [9, -9], v, mode="clip"),
    "put by wrapping": lambda a, v: np.put(a, [9, -9], v, mode="wrap"),
    "put twice": lambda a, v: np.put(a, [1, 1, 1], v),
    "put by a matrix": lambda a, v: np.put(a, [[0, 1], [2, 3]], v[:2]),
    "put one": lambda a, v: np.put(a, 3, v[0]),
    "put at places of data": lambda a, v: np.put(a, np.argsort(v), v[::-1]),
    "the method put": lambda a, v: a.put([4, 5], v),
    "place": lambda a, v: np.place(a, a > 1, v[:2]),
    "place one": lambda a, v: np.place(a, a > 1, 5),
    "place more": lambda a, v: np.place(a, a > 1, np.arange(10.0)),
    "place nowhere": lambda a, v: np.place(a, a > 100, v),
    "place in a view": lambda a, v: np.place(a.T, a.T > 1, v),
    "place at known places": lambda a, v: np.place(a, np.eye(2, 3) > 0, v),
    "copyto": lambda a, v: np.copyto(a, v),
    "copyto where": lambda a, v: np.copyto(a, v, where=a > 1),
    "copyto where a row says": lambda a, v: np.copyto(a, 0, where=v > 7),
    "copyto a view": lambda a, v: np.copyto(a[:, 0], v[:2]),
    "diagonal": lambda a, v: np.fill_diagonal(a, v[:2]),
    "diagonal of one": lambda a, v: np.fill_diagonal(a, v[0]),
    "diagonal of fewer": lambda a, v: np.fill_diagonal(a, v[:1]),
    "diagonal of more": lambda a, v: np.fill_diagonal(a, v),
    "along an axis": lambda a, v: np.put_along_axis(a, np.argmax(a, 1)[:, None], 0, 1),
    "along no axis": lambda a, v: np.put_along_axis(a, np.array([0, 4]), v[:2], None),
    "add.at": lambda a, v: np.add.at(a, ([0, 0, 1], [1, 1, 2]), v),
    "add.at slices": lambda a, v: np.add.at(a, (slice(None), [0, 0]), 1),
    "add.at a mask": lambda a, v: np.add.at(a, a > 1, 5),
    "subtract.at": lambda a, v: np.subtract.at(a, [0, 0], v),
    "multiply.at": lambda a, v: np.multiply.at(a, [0, 0, 1], 2.0),
    "maximum.at": lambda a, v: np.maximum.at(a, ([0, 0], [0, 0]), v[:2]),
    "sort": lambda a, v: a.sort(axis=0),
    "fill": lambda a, v: a.fill(v[0]),
    "nan_to_num": lambda a, v: np.nan_to_num(np.divide(a, 0, out=a), False, posinf=9.0),
    "nan_to_num, not copied": lambda a, v: np.nan_to_num(a[0], copy=False, nan=1.0),
    "flat": lambda a, v: a.flat.__setitem__(slice(1, 4), v),
    "out of clip": lambda a, v: np.clip(a, 0, 2, out=a),
    "out of a sum": lambda a, v: np.sum(a, axis=0, out=a[0]),
    "out of a product": lambda a, v: np.matmul(a, np.eye(3), out=a),
    "out of an outer product": lambda a, v: np.multiply.outer(v[:2], v, out=a),
    "out under a mask": lambda a, v: np.sqrt(a, where=a > 0, out=a),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_in_the_array_is_what_numpy_puts_there(name: str) -> None:
    def program(x: Any, v: Any) -> Any:
        a = x.copy()
        PROGRAMS[name](a, v)
        return a

    with np.errstate(all="ignore"):
        expected = program(X, V)
    found = pyc.jit(program)(X, V)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_logarithms_of_any_base() -> None:
    import cmath  # noqa: PLC0415

    def program(z: Any, n: Any) -> Any:
        return cmath.log(z), cmath.log(z, 2), cmath.log(z[()], n), cmath.log(n, 3)

    z = np.array(0.5 + 2j)
    np.testing.assert_allclose(pyc.jit(program)(z, 4), program(z, 4), rtol=1e-14)


KINDS = ("?", "u1", "i8", "f4", "f8", "c8")
NUMBERS = (1.5, 2, -1, True, 300, np.nan, np.inf, np.float64(1.5), np.int64(7))
CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def _put(array: Any, number: Any) -> Any:
    array[0] = number


def _put_list(array: Any, number: Any) -> Any:
    array[:1] = [number]


WRITERS: dict[str, Callable[[Any, Any], Any]] = {
    "an element": _put,
    "a list": _put_list,
    "fill": lambda a, v: a.fill(v),
    "copyto": lambda a, v: np.copyto(a, v),
}


def _same(call: Callable[[], Any], other: Callable[[], Any]) -> None:
    """Equal arrays of one type, or errors of one class."""
    try:
        with np.errstate(all="raise"):
            wanted = call()
    except FloatingPointError:  # a number that the processor has for what no integer stands for
        return
    except (TypeError, ValueError, OverflowError) as error:
        wrong = next(c for c in (TypeError, OverflowError, ValueError) if isinstance(error, c))
        with pytest.raises(wrong):
            other()
        return
    found = other()
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WRITERS)
def test_numbers_that_the_type_does_not_hold_are_refused_as_in_numpy(name: str, kind: str) -> None:
    """NaN and infinities among integers, integers beyond a type, also in lists."""

    def call(x: Any, number: Any) -> Any:
        y = x.copy()
        WRITERS[name](y, number)
        return y

    x = np.zeros(2, kind)
    for number in NUMBERS:
        _same(
            lambda v=number: call(x, v),
            lambda v=number: pyc.jit(lambda x: call(x, v))(x),
        )


@pytest.mark.parametrize("casting", CASTINGS)
def test_copyto_follows_the_rule_of_casting(casting: Any) -> None:
    def call(x: Any, source: Any) -> Any:
        y = x.copy()
        np.copyto(y, source, casting)
        return y

    for kind in KINDS:
        x = np.zeros(2, kind)
        for source in (np.ones(2, k) * 2 for k in ("?", "i1", "u1", "f4", "f8")):
            _same(lambda s=source, x=x: call(x, s), lambda s=source, x=x: pyc.jit(call)(x, s))


def test_a_complex_number_is_true_where_it_is_not_zero() -> None:
    def call(x: Any, z: Any) -> Any:
        y = x.copy()
        np.copyto(y, z, "unsafe")
        return y

    z = np.array([1j, 0, 2])
    assert pyc.jit(call)(np.zeros(3, bool), z).tolist() == [True, False, True]
