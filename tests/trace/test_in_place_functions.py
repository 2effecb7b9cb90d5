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
