"""What writes to places, against NumPy: `np.put`, `putmask`, `place`, `fill_diagonal`, and
`x.at[places]` where places repeat, of bools and of complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.errors import ArgumentError, DTypeError, PycError
from tests.numpy.interpreted import difference, outcome

Call = Callable[..., Any]

X = np.arange(6.0).reshape(2, 3)
N = np.arange(6)
MASK = X > 2
NONE = np.zeros(0)
HALVES = np.array([1.5, 2.5])

CHANGES: dict[str, tuple[Any, ...]] = {
    "put at clipped places": (lambda a: np.put(a, [-1, 7, 2], [5, 6, 7], mode="clip"), N),
    "put at clipped negative places": (lambda a: a.put(-3, 9, mode="clip"), N),
    "put at wrapped places": (lambda a: np.put(a, [-7, 7, 2], [5, 6, 7], mode="wrap"), N),
    "put at bools": (lambda a: np.put(a, [True, False, True], [7, 8, 9]), X),
    "put at no places": (lambda a: np.put(a, [], [1.0, 2.0]), X),
    "putmask of another shape": (lambda a, m: np.putmask(a, m, [7.0, 8.0]), X, MASK.reshape(-1)),
    "putmask of numbers": (lambda a, m: np.putmask(a, m, 2.5), X, N),
    "putmask of a list for integers": (lambda a: np.putmask(a, a > 2, [7.5, 8.5]), N),
    "place of fewer values": (lambda a, m, v: np.place(a, m, v), X, MASK, HALVES),
    "place of no values at no place": (lambda a, m, v: np.place(a, m, v), X, X > 9, NONE),
    "place by integers": (lambda a, m, v: np.place(a, m, v), X, N % 2, HALVES),
    "diagonal of a cube": (lambda a: np.fill_diagonal(a, [1.0, 2.0]), np.zeros((3, 3, 3))),
    "diagonal that wraps": (lambda a: np.fill_diagonal(a, [1, 2, 3], wrap=True), np.zeros((8, 2))),
    "diagonal of a wide matrix": (lambda a: np.fill_diagonal(a, 4, True), np.zeros((2, 5))),
    "diagonal of a column": (lambda a: np.fill_diagonal(a, 4, True), np.zeros((5, 1))),
    "diagonal of nothing": (lambda a: np.fill_diagonal(a, 4, True), np.zeros((5, 0))),
}

REFUSED: dict[str, tuple[Any, ...]] = {
    "place of no values": (lambda a, m, v: np.place(a, m, v), X, MASK, NONE),
    "place of a mask that does not fit": (lambda a, m: np.place(a, m, [1.0]), X, MASK[0]),
    "putmask that would broadcast": (lambda a, m: np.putmask(a, m, [7.0, 8.0]), X, MASK[1]),
    "putmask of floats for integers": (lambda a, v: np.putmask(a, a > 2, v), N, HALVES),
    "place of floats for integers": (lambda a, v: np.place(a, a > 2, v), N, HALVES),
    "diagonal of a line": (lambda a: np.fill_diagonal(a, 1), N),
    "diagonal of unequal axes": (lambda a: np.fill_diagonal(a, 1), np.zeros((3, 2, 3))),
}


def changed(change: Call, a: Any, *args: Any) -> Any:
    found = a.copy()
    change(found, *args)
    return found


@pytest.mark.parametrize("name", CHANGES)
def test_arrays_change_as_numpys_do(name: str) -> None:
    change, *args = CHANGES[name]
    expected = changed(change, *args)
    assert not difference(expected, pyc.jit(lambda *xs: changed(change, *xs))(*args))


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused(name: str) -> None:
    change, *args = REFUSED[name]
    expected = outcome(lambda: changed(change, *args))
    assert isinstance(expected, Exception)
    with pytest.raises(type(expected)) as found:
        pyc.jit(lambda *xs: changed(change, *xs))(*args)
    assert isinstance(found.value, PycError)


# --- x.at[places] ---------------------------------------------------------------------------------

UFUNCS = {"add": np.add, "multiply": np.multiply, "divide": np.divide, "min": np.minimum}
UFUNCS |= {"max": np.maximum, "subtract": np.subtract}
PLACES = np.array([2, 0, 2, -1, 2])
REALS = np.array([1.5, -2.0, 0.25, 3.0])
FACTORS = np.array([2.0, 4.0, -0.5, 3.0, 8.0])


def at(how: str, x: Any, places: Any, values: Any) -> Any:
    found = x.copy()
    UFUNCS[how].at(found, places, values)
    return found


@pytest.mark.parametrize("how", ["divide", "multiply", "min", "max", "add", "subtract"])
@pytest.mark.parametrize("kind", [float, np.float32, complex])
def test_places_that_repeat_change_in_turn(how: str, kind: Any) -> None:
    turn = 1 if kind is not complex else 1 + 0.5j
    x, v = (REALS * turn).astype(kind), (FACTORS * turn).astype(kind)
    found = pyc.jit(lambda x, i, v: getattr(x.at[i], how)(v))(x, PLACES, v)
    assert not difference(at(how, x, PLACES, v), found)


def test_rows_that_repeat_change_in_turn() -> None:
    x, v = np.arange(1.0, 13.0).reshape(3, 4), np.array([[2.0], [4.0], [8.0]])
    rows = np.array([1, 0, 1])
    found = pyc.jit(lambda x, i, v: x.at[i].divide(v))(x, rows, v)
    assert not difference(at("divide", x, rows, np.broadcast_to(v, (3, 4))), found)
    columns = pyc.jit(lambda x, i, v: x.at[1:, i].divide(v))(x, rows, v[:, 0])
    expected = x.copy()
    np.divide.at(expected, (slice(1, None), rows), v[:, 0])
    assert not difference(expected, columns)


def test_places_out_of_range_are_left_out() -> None:
    places = np.array([0, 9, 0, -9])
    found = pyc.jit(lambda x, i: x.at[i].divide(2.0, mode="drop"))(REALS, places)
    np.testing.assert_array_equal(found, [0.375, -2.0, 0.25, 3.0])
    with pytest.raises(IndexError):
        pyc.jit(lambda x, i: x.at[i].divide(2.0))(REALS, places)


def test_lanes_change_in_turn() -> None:
    places = np.array([[0, 0], [1, 3]])
    found = pyc.vmap(lambda i: pyc.numpy.asarray(REALS).at[i].divide(FACTORS[:2]))(places)
    expected = [at("divide", REALS, i, FACTORS[:2]) for i in places]
    assert not difference(np.stack(expected), found)


@pytest.mark.parametrize("how", ["add", "multiply", "min", "max"])
def test_bools_are_ored_and_anded(how: str) -> None:
    x = np.array([True, False, True, False])
    v = np.array([False, True, True, True, True])
    found = pyc.jit(lambda x, i, v: getattr(x.at[i], how)(v))(x, PLACES, v)
    assert not difference(at(how, x, PLACES, v), found)


@pytest.mark.parametrize("key", [0, slice(2), [0, 1], [0, 0]])
def test_integers_have_no_quotients(key: Any) -> None:
    """NumPy's `a[i] /= 2` raises; the fractions were dropped."""
    with pytest.raises(DTypeError, match="quotients are floats"):
        pyc.jit(lambda x: x.at[key].divide(2))(N)


# --- operators ------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [None, "text"])
def test_no_element_is_equal_to_what_is_no_number(other: Any) -> None:
    x = pyc.device_put(X, pyc.devices("cpu")[0])
    for found, expected in ((x == other, other == X), (x != other, other != X)):
        assert isinstance(found, pyc.Array)
        assert not difference(expected, np.asarray(found))


@pytest.mark.parametrize("power", [0, 1, 2, 3, 2.0, 0.5, np.int8(2)])
def test_powers_of_bools_have_numpys_types(power: Any) -> None:
    x = np.array([True, False])
    for found in (
        pyc.jit(lambda x: x**power)(x),
        np.asarray(pyc.device_put(x, pyc.devices("cpu")[0]) ** power),
    ):
        assert not difference(x**power, found)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_sign_of_a_determinant_that_is_nan() -> None:
    for x in (np.full((2, 2), np.nan), np.array([[np.nan, 1.0], [2.0, 3.0]])):
        expected, found = np.linalg.slogdet(x), pyc.jit(np.linalg.slogdet)(x)
        assert not difference(tuple(expected), tuple(found))


def test_batches_of_a_part_of_a_slice() -> None:
    with pytest.raises(DTypeError, match="batch_size"):
        pyc.lax.map(lambda x: x, X, batch_size=1.5)


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ([0.5, -0.1, 0.2], "holds -0.1"),
        ([0.5, np.nan, 0.2], "holds nan"),
        ([1e308, 1e308, 1e308], "sums to inf"),
        ([1.0, np.inf, 0.0], "sums to inf"),
    ],
)
def test_weights_that_are_no_probabilities(weights: Any, told: str) -> None:
    key = pyc.random.key(0)
    with pytest.raises(ArgumentError, match=told):
        pyc.random.choice(key, 3, (2,), p=np.array(weights))
    with pytest.raises(ArgumentError, match=told):
        pyc.random.choice(key, np.arange(3.0), (2,), False, weights)
