"""Methods of ufuncs (`reduce`, `at` and their kin) on traced values and on `Array`s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.errors import (
    ArgumentError,
    AxisError,
    DTypeError,
    IndexOutOfRangeError,
    UnsupportedOpError,
)
from pyc.runtime import dispatch
from tests.numpy.interpreted import difference

Call = Callable[..., Any]
FLOATS = np.array([[3.0, 1, 2, 0.5], [5, 4, 6, 7], [0.25, 2, 1, 3]])
INTS = np.array([[3, 1, 2, 7], [5, 4, 6, 0], [12, 8, 6, 2]])
BOOLS = INTS > 3
SMALL = INTS.astype(np.int8)

OF_FLOATS = (
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "fmin", "fmod"),
    *("hypot", "logaddexp", "logaddexp2", "remainder", "floor_divide", "copysign", "heaviside"),
    *("logical_and", "logical_or", "logical_xor", "nextafter"),
)
OF_INTEGERS = (
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "gcd", "lcm", "remainder"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "logical_xor"),
    *("floor_divide", "fmod", "power"),
)
OF_BOOLS = ("add", "multiply", "logical_and", "logical_xor", "bitwise_or", "maximum", "equal")

METHODS: dict[str, Call] = {
    "reduce": lambda u, x: (u.reduce(x), u.reduce(x, axis=-1), u.reduce(x, 0, keepdims=True)),
    "accumulate": lambda u, x: (u.accumulate(x), u.accumulate(x, axis=1)),
    "outer": lambda u, x: u.outer(x[0], x[1:]),
    "reduceat": lambda u, x: (
        u.reduceat(x, [0, 2, 1]),
        u.reduceat(x, [1, 1, 3, 0], axis=1),
    ),
}
CALLS = [
    (name, method, kind)
    for kind, names in (("f", OF_FLOATS), ("i", OF_INTEGERS), ("b", OF_BOOLS), ("s", OF_INTEGERS))
    for name in names
    for method in METHODS
]
ARRAYS = {"f": FLOATS, "i": INTS, "b": BOOLS, "s": SMALL}


def outcome(call: Call, *arrays: Any) -> Any:
    with np.errstate(all="ignore"):
        return call(*arrays)


@pytest.mark.parametrize(("name", "method", "kind"), CALLS)
def test_a_method_gives_what_numpy_gives(name: str, method: str, kind: str) -> None:
    """Shape, dtype and value, of functions that may and may not be combined in any order."""
    ufunc, array = getattr(np, name), ARRAYS[kind]
    if name == "power":
        array = array % 3
    call: Call = lambda x: METHODS[method](ufunc, x)  # noqa: E731
    assert not difference(outcome(call, array), pyc.jit(call)(array))


def test_arguments_of_a_method_by_place() -> None:
    """As NumPy's own functions give them: dtype, out, keepdims, initial, where."""

    def by_place(x: Any, truths: Any) -> Any:
        out = np.zeros(4)
        return (
            (np.add.reduce(x, 0, None, out), out, np.add.reduce(x, 1, np.float32, None, True)),
            (np.logical_and.reduce(x, None, bool, None), np.minimum.reduce(x, -1, None, None)),
            np.maximum.reduce(x, 0, None, None, False, 4.5),
            np.add.reduce(x, 1, None, None, True, 0.0, truths),
            (np.add.accumulate(x, 1, np.float32), np.multiply.accumulate(x, 0, None, None)),
            (np.add.reduceat(x, [0, 2], 1), np.add.reduceat(x, [0, 2], 0, np.float32, None)),
        )

    assert not difference(by_place(FLOATS, BOOLS), pyc.jit(by_place)(FLOATS, BOOLS))
    own = pyc.numpy.add
    found = own.reduce(FLOATS, 1, np.float32, None, True), own.reduceat(FLOATS, [0, 2], 1, None)
    wanted = np.add.reduce(FLOATS, 1, np.float32, None, True), np.add.reduceat(FLOATS, [0, 2], 1)
    assert not difference(wanted, found)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np.add.reduce(x, 0, None, None, False, 0, True, 1), "1 more arguments"),
        (lambda x: np.add.accumulate(x, 0, None, None, False), "1 more arguments"),
        (lambda x: np.add.reduce(x, 0, None, dtype=float), "the argument `dtype` is given twice"),
        (lambda x: np.add.reduceat(x, [0], 0, axis=1), "the argument `axis` is given twice"),
    ],
)
def test_arguments_that_a_method_does_not_have(call: Call, text: str) -> None:
    with pytest.raises(TypeError):
        call(FLOATS)
    with pytest.raises(TypeError, match=text):
        pyc.jit(call)(FLOATS)


def test_arguments_that_a_method_of_the_namespace_does_not_have() -> None:
    with pytest.raises(TypeError, match="1 more arguments"):
        pyc.numpy.add.accumulate(FLOATS, 0, None, None, False)
    with pytest.raises(TypeError, match="the argument `axis` is given twice"):
        pyc.numpy.add.reduce(FLOATS, 0, axis=1)


@pytest.mark.parametrize(
    "name", ["add", "divide", "bitwise_xor", "logical_or", "left_shift", "maximum", "power", "gcd"]
)
def test_a_function_changes_an_array_at_places_one_after_the_other(name: str) -> None:
    """Places that occur twice change twice; rows where places are of the first axis."""
    ufunc = getattr(np, name)

    def change(x: Any, places: Any) -> Any:
        rows, elements, flat = x.copy(), x.copy(), x[0].copy()
        ufunc.at(rows, places, x[0] % 4)
        ufunc.at(elements, (places, places), 2)
        ufunc.at(flat, 1, 3)
        return rows, elements, flat

    places = np.array([0, 2, 0, -1])
    assert not difference(outcome(change, INTS, places), pyc.jit(change)(INTS, places))


def test_a_function_of_one_argument_at_places() -> None:
    def change(x: Any) -> Any:
        y = x.copy()
        np.negative.at(y, [0, 0, 2])
        np.square.at(y, ([1, 1], [0, 1]))
        return y

    assert not difference(change(INTS), pyc.jit(change)(INTS))


OPTIONS: dict[str, Call] = {
    "initial": lambda x: (np.hypot.reduce(x, initial=2.0), np.fmax.reduce(x, axis=1, initial=4)),
    "initial of tests": lambda x: np.logical_and.reduce(x, axis=1, initial=False),
    "where": lambda x: (np.hypot.reduce(x, where=x > 1), np.logical_xor.reduce(x, where=x > 1)),
    "where and initial": lambda x: np.fmin.reduce(x, axis=None, where=x > 1, initial=9.0),
    "initial where the order decides": lambda x: (
        np.subtract.reduce(x, initial=2.5),
        np.divide.reduce(x, axis=1, initial=2),
        np.power.reduce(x, initial=True),
        np.remainder.reduce(x, axis=(), initial=9.0, keepdims=True),
        np.copysign.reduce(x[:0], initial=1.5),
    ),
    "initial under a mask": lambda x: (
        np.hypot.reduce(x, where=x > 1, initial=2.5),
        np.logaddexp.reduce(x, axis=1, where=x > 1, initial=0.5),
        np.subtract.reduce(x, where=x > 1, initial=2.5),
        np.floor_divide.reduce(x, axis=1, where=x[0] > 1, initial=100.0),
        np.fmax.reduce(x, where=x > 100, initial=-3),
    ),
    "where of sums": lambda x: np.add.reduce(x, axis=1, where=x > 1, initial=3.0),
    "several axes": lambda x: (np.logaddexp.reduce(x, axis=None), np.hypot.reduce(x, axis=(0, 1))),
    "dtype": lambda x: (
        np.subtract.reduce(x, dtype=np.float32),
        np.add.reduce(x, dtype="f4"),
        np.fmax.accumulate(x, 1, dtype=np.float32),
    ),
    "no elements": lambda x: (np.hypot.reduce(x[:0]), np.logical_xor.reduce(x[:, :0], axis=1)),
    "one element": lambda x: (np.subtract.reduce(x[:1]), np.subtract.accumulate(x[:1])),
    "no place": lambda x: np.subtract.accumulate(x[:0]),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_methods_take_what_those_of_numpy_take(name: str) -> None:
    call = OPTIONS[name]
    assert not difference(outcome(call, FLOATS), pyc.jit(call)(FLOATS))


@pytest.mark.parametrize("kind", [np.uint8, np.int64])
@pytest.mark.parametrize("name", ["bitwise_xor", "bitwise_and", "bitwise_or", "gcd", "lcm"])
def test_integers_under_a_mask(name: str, kind: Any) -> None:
    """What is left out is the identity, and `initial` comes once."""
    ufunc = getattr(np, name)
    mask = np.array([True, False, True, False])

    def call(x: Any) -> Any:
        return ufunc.reduce(x, axis=1, where=mask, initial=6), ufunc.reduce(x, 0, initial=3)

    x = (INTS % 4 + 1).astype(kind)
    assert not difference(call(x), pyc.jit(call)(x))


@pytest.mark.parametrize("kind", ["i1", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("name", ["gcd", "lcm", "multiply", "add", "bitwise_xor"])
def test_integers_beyond_their_type_wrap_as_in_numpy(name: str, kind: str) -> None:
    """A multiple that has wrapped is not that of all elements: the order decides."""
    ufunc, info = getattr(np, name), np.iinfo(kind)
    drawn = np.random.default_rng(1).integers(info.min, info.max, (3, 9), kind, endpoint=True)
    for x in (drawn, np.array([[info.min, 0, 6, info.max, 35]], kind)):
        call: Call = lambda x: (  # noqa: E731
            ufunc.reduce(x, axis=1),
            ufunc.accumulate(x, axis=1),
            ufunc.reduceat(x, [0, 4, 2], axis=1),
        )
        assert not difference(outcome(call, x), pyc.jit(call)(x))


ANY_OF, TOTALS, TABLE = np.logical_or.reduce, np.add.accumulate, np.multiply.outer
FETCHED: dict[str, Call] = {
    "a list": lambda x: ANY_OF([x < 1, x > 4]),
    "an array": lambda x: ANY_OF(x > 6, axis=1),
    "lists of lists": lambda x: TOTALS([[x[0], x[1]], [x[2], x[0]]], axis=1),
    "rows": lambda x: TABLE([x[0, 0], x[1, 1]], x[2]),
}


@pytest.mark.parametrize("name", FETCHED)
def test_a_method_that_was_fetched_outside_takes_what_it_takes_inside(name: str) -> None:
    expected = FETCHED[name](FLOATS)
    function = pyc.jit(FETCHED[name])
    for _ in range(3):
        assert not difference(expected, function(FLOATS))
    assert [dispatch.native_calls(function, s) for s in dispatch.specialisations(function)] == [2]


def test_a_place_of_reduceat_that_there_is_not_is_an_index_error() -> None:
    for call in (lambda x: np.subtract.reduceat(x, [0, 4]), lambda x: np.add.reduceat(x, [-1])):
        for x in (FLOATS[0], pyc.device_put(FLOATS[0], "cpu")):
            with pytest.raises(IndexOutOfRangeError, match="axis of length 4"):
                pyc.jit(call)(x) if isinstance(x, np.ndarray) else call(x)


def test_an_update_of_rows_without_elements() -> None:
    def change(x: Any) -> Any:
        y = x.copy()
        np.logical_and.at(y, [0, 1, 1], 2.0)
        return y

    x = np.zeros((2, 0))
    assert pyc.jit(change)(x).shape == (2, 0)


@pytest.mark.parametrize(
    "name", ["add", "multiply", "maximum", "minimum", "fmin", "hypot", "logical_xor"]
)
def test_parts_from_traced_places(name: str) -> None:
    ufunc = getattr(np, name)
    call: Call = lambda x, at: (ufunc.reduceat(x, at, axis=1), ufunc.reduceat(x[0], at))  # noqa: E731
    for places in ([0, 2, 1, 1, 3], [3]):
        at = np.array(places)
        assert not difference(call(FLOATS, at), pyc.jit(call)(FLOATS, at))


def test_methods_work_on_arrays_of_pyc() -> None:
    x = pyc.device_put(INTS, "cpu")
    for method, call in METHODS.items():
        for name in ("subtract", "bitwise_xor"):
            found = call(getattr(np, name), x)
            assert not difference(call(getattr(np, name), INTS), found), method
            parts = found if isinstance(found, tuple) else (found,)
            assert all(type(part) is pyc.Array for part in parts)


ERRORS: dict[str, tuple[type[Exception], Call]] = {
    "several axes where the order decides": (
        ArgumentError,
        lambda x: np.subtract.reduce(x, axis=None),
    ),
    "no element and no identity": (ArgumentError, lambda x: np.fmax.reduce(x[:0])),
    "a mask and no identity": (ArgumentError, lambda x: np.fmax.reduce(x, where=x > 1)),
    "no such axis": (AxisError, lambda x: np.hypot.accumulate(x, axis=2)),
    "a comparison of numbers": (DTypeError, lambda x: np.less.reduce(x)),
    "a place behind the end": (IndexOutOfRangeError, lambda x: np.add.reduceat(x, [0, 9])),
}


@pytest.mark.parametrize("name", ERRORS)
def test_where_numpy_raises_pyc_raises_the_corresponding_class(name: str) -> None:
    kind, call = ERRORS[name]
    with pytest.raises((TypeError, ValueError, IndexError)):
        call(FLOATS)
    with pytest.raises(kind):
        pyc.jit(call)(FLOATS)


@pytest.mark.parametrize("kind", ["f", "i", "b"])
def test_parts_of_every_function_from_traced_places(kind: str) -> None:
    """In a tree, or one element after the other, as far as the longest part goes."""
    names = {"f": OF_FLOATS, "i": OF_INTEGERS, "b": OF_BOOLS[:-1]}[kind]
    array, places = ARRAYS[kind] % 3 if kind == "i" else ARRAYS[kind], np.array([0, 2, 1, 1, 3])

    def parts(x: Any, at: Any) -> Any:
        return tuple(getattr(np, name).reduceat(x, at, axis=1) for name in names)

    assert not difference(outcome(parts, array, places), pyc.jit(parts)(array, places))


def test_what_needs_known_places_says_so() -> None:
    def under_a_mask(x: Any) -> Any:
        y = x.copy()
        np.divide.at(y, slice(0, 2), 2.0)
        return y

    with pytest.raises(UnsupportedOpError, match="places other than integer arrays"):
        pyc.jit(under_a_mask)(FLOATS)


@pytest.mark.parametrize("name", ["bitwise_or", "subtract", "add"])
def test_outside_of_a_trace_a_reduction_to_rank_0_is_a_scalar(name: str) -> None:
    x = np.arange(4)
    found = getattr(pyc.numpy, name).reduce(x)
    assert type(found) is np.int64 and found == getattr(np, name).reduce(x)


VALUES_OF_OTHER_TYPES = [
    np.array([2, 3], np.uint8),
    np.array([True, False]),
    np.array([2.5, -1.5]),
    np.array([300, -300]),
    -2.5,
    np.uint8(2),
]


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.minimum, np.maximum])
@pytest.mark.parametrize("kind", [np.float32, np.int64, np.int8, np.uint8])
def test_values_of_another_type_are_combined_in_the_common_one(ufunc: Any, kind: Any) -> None:
    """And the result of each step is cast to the array's: what `at` casts first is another number
    (-2.5 as an integer, the negative of an unsigned one)."""
    for values in VALUES_OF_OTHER_TYPES:

        def run(x: Any, values: Any = values) -> Any:
            x = x.copy()
            ufunc.at(x, [1, 1], values)
            return x

        x = np.array([5, 7, 1], kind)
        want = run(x)
        given = np.asarray(values)
        if kind is np.uint8 and given.dtype == np.float64 and given.min() < 0:
            continue  # a negative float as an unsigned integer is the processor's choice
        assert not difference(want, pyc.jit(run)(x)), (ufunc, kind, values)


def test_an_update_does_not_drop_fractions() -> None:
    """`x.at[i].multiply(0.5)` of integers would multiply by 0, or by a half, as the index is
    written."""
    x = np.arange(4)
    for key in (0, [0, 1], slice(2), x > 2):
        for how in ("add", "subtract", "multiply", "min", "max"):
            with pytest.raises(DTypeError, match="float64"):
                pyc.jit(lambda x, key=key, how=how: getattr(x.at[key], how)(0.5))(x)
            with pytest.raises(DTypeError):
                getattr(pyc.device_put(x, "cpu").at[key], how)(np.array(0.5))
    np.testing.assert_array_equal(pyc.jit(lambda x: x.at[0].set(2.5))(x), [2, 1, 2, 3])
