"""Indexing by random keys: reading and updating, against NumPy."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc.errors import IndexOutOfRangeError
from tests.numpy.interpreted import difference, interpreted, outcome

SHAPES = [(3, 4, 5), (4,), (2, 3), (3, 0, 2), (2, 3, 2, 2)]
UFUNCS = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}


def random_key(rng: random.Random, shape: tuple[int, ...], arrays: bool) -> tuple[Any, ...]:
    """Integers, slices, new axes, an ellipsis, integer arrays and booleans of rank 0; a few are out
    of range."""

    def bound(n: int) -> int | None:
        return rng.choice([None, rng.randint(-n - 2, n + 2)])

    items: list[Any] = []
    for axis in range(rng.randint(0, len(shape))):
        n, choice = shape[axis], rng.random()
        if choice < 0.25:
            items.append(rng.randint(-n - (rng.random() < 0.05), max(n - 1, 0)))
        elif choice < 0.6 or not arrays or not n:
            items.append(slice(bound(n), bound(n), rng.choice([None, 1, 2, -1, -2, 3])))
        else:
            places = rng.choice([(2,), (1,), (3, 2), (), (2, 1)])
            count = int(np.prod(places))
            picked = [rng.randint(-n, n - 1) for _ in range(count)]
            items.append(np.array(picked).reshape(places))
    if rng.random() < 0.3:
        items.insert(rng.randint(0, len(items)), Ellipsis)
    while rng.random() < 0.3:
        items.insert(rng.randint(0, len(items)), None)
    if arrays and rng.random() < 0.15:
        items.insert(rng.randint(0, len(items)), rng.choice([True, True, False, np.True_]))
    return tuple(items)


def _with_arrays(key: tuple[Any, ...], arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """`key` with its arrays replaced by traced ones."""
    rest = iter(arrays)
    return tuple(next(rest) if isinstance(k, np.ndarray) else k for k in key)


def _constants(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """`key` with its arrays as constants."""
    return tuple(k.tolist() if isinstance(k, np.ndarray) else k for k in key)


def _programs(seed: int) -> list[tuple[str, Any, Any, tuple[Any, ...]]]:
    """(label, expected, call, arguments): a read and an update at one random key."""
    rng = random.Random(seed)
    shape = rng.choice(SHAPES)
    x = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    key = random_key(rng, shape, arrays=seed % 2 == 1)
    arrays = tuple(k for k in key if isinstance(k, np.ndarray))
    expected = outcome(lambda: x[key])
    label = f"{shape} at {key}"
    found: list[Any] = [
        (f"x[...] {label}", expected, lambda p, x, *a: x[_with_arrays(key, a)], (x, *arrays)),
        (f"constant {label}", expected, lambda p, x: x[_constants(key)], (x,)),
    ]
    if isinstance(expected, Exception):
        return found
    values = np.random.default_rng(seed).standard_normal(
        rng.choice([expected.shape, (), expected.shape[-1:]])
    )
    values = values.astype(np.float32)
    how = rng.choice(["set", *UFUNCS])
    changed = x.copy()
    if how == "set":
        changed[key] = values
    else:
        # NumPy's `at` reads past values that broadcast, so they are spread out before.
        spread = np.broadcast_to(values, expected.shape).copy()
        UFUNCS[how].at(changed, key, spread)

    def updated(p: Any, x: Any, values: Any, *a: Any) -> Any:
        return getattr(x.at[_with_arrays(key, a)], how)(values)

    found.append((f"{how} {values.shape} {label}", changed, updated, (x, values, *arrays)))
    return found


@pytest.mark.parametrize("block", range(10))
def test_random_keys_read_and_write_what_numpy_does(block: int) -> None:
    """60 keys a block by the Graph interpreter, four of them compiled too."""
    for seed in range(60 * block, 60 * (block + 1)):
        for label, expected, call, arguments in _programs(seed):
            if isinstance(expected, Exception):
                with pytest.raises((IndexError, ValueError)):
                    interpreted(call, *arguments)
                continue
            found = difference(expected, interpreted(call, *arguments), 0)
            assert not found, f"{label}: {found}"
            if seed % 15 == 0:
                with pyc.config.using(cache="off"):
                    native = pyc.jit(lambda *xs, call=call: call(pnp, *xs))(*arguments)
                assert not difference(expected, native, 0), label


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("clip", [1.0, 3.0, 3.0, 1.0]),
        ("wrap", [2.0, 1.0, 3.0, 2.0]),
        ("fill", [np.nan, np.nan, 3.0, np.nan]),
    ],
)
def test_get_by_mode(mode: str, expected: list[float]) -> None:
    """An index out of range, traced or constant, is what the mode says."""
    x, places = np.array([1.0, 2.0, 3.0]), np.array([-5, 3, 2, -8])
    traced = interpreted(lambda p, x, i: x.at[i].get(mode=mode), x, places)
    constant = interpreted(lambda p, x: x.at[places.tolist()].get(mode=mode), x)
    np.testing.assert_array_equal(constant, traced)
    np.testing.assert_array_equal(traced, expected)


@pytest.mark.parametrize(
    "key",
    [
        (slice(None), [0, 1, 2], ..., [0, 1, 2]),
        (slice(None), [0, 1, 2], ..., 1),
        (slice(None), 0, ..., [0, 1, 2]),
        (slice(None), [0, 1, 2], None, 1),
    ],
    ids=str,
)
def test_an_ellipsis_of_no_axes_parts_arrays(key: Any) -> None:
    """Their axes are the result's first then, as in NumPy."""
    x = np.arange(24.0).reshape(2, 3, 4)
    assert not difference(x[key], interpreted(lambda p, x: x[key], x), 0)


def test_a_dropped_update_changes_nothing() -> None:
    """Out of range under mode="drop"; the rest is stored."""
    x, places = np.zeros(3), np.array([5, 1, -9])
    found = interpreted(lambda p, x, i: x.at[i].add(1.0, mode="drop"), x, places)
    np.testing.assert_array_equal(found, [0.0, 1.0, 0.0])


def test_a_failing_index_is_named_with_its_axis() -> None:
    """The interpreter raises the program's error."""
    with pytest.raises(IndexOutOfRangeError, match="index 7 is out of bounds for axis 1"):
        interpreted(lambda p, x, i: x[:, i], np.zeros((2, 3)), np.array([0, 7]))


def columns_at_computed_places(x, i, v):
    """Boxes with one element at a place that the program knows: no scatter of a copied part."""
    x = x.copy()
    x[1:-1, i] = v
    x[i, ::-2] = 7
    x[::-1, i - 3] += v.sum()
    x[2:4, -i, None] = v[:2, None]
    return x


@pytest.mark.parametrize("place", [2, 5, 6])
def test_parts_of_columns_at_computed_places(place: int) -> None:
    x, v = np.arange(70.0).reshape(7, 10), np.arange(5.0)
    expected = columns_at_computed_places(x, place, v)
    np.testing.assert_array_equal(pyc.jit(columns_at_computed_places)(x, place, v), expected)
    graph = pyc.jit(columns_at_computed_places).trace(x, place, v).graph
    assert not [e for e in graph.eqns if e.op.name == "scatter" and e.args[0].shape != x.shape]


def test_computed_places_out_of_range_keep_their_mode() -> None:
    x = np.zeros((4, 5))
    for mode, column in (("clip", 4), ("wrap", 1), ("drop", None), ("fill", None)):
        expected = x.copy()
        if column is not None:
            expected[1:3, column] = 5
        found = pyc.jit(lambda x, i, m=mode: x.at[1:3, i].set(5.0, mode=m))(x, 6)
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(IndexError):
        pyc.jit(lambda x, i: x.at[1:3, i].set(5.0))(x, 6)


def test_assigned_values_may_have_more_axes_of_length_1() -> None:
    """NumPy drops leading axes of length 1 that what they replace does not have."""
    x = np.arange(6.0).reshape(2, 3)
    for key in (0, (..., slice(0, 2)), ([0, 1],), (None, 1), ([[0], [1]], [0, 1]), (..., 1, 1)):
        values = np.ones((1, 1, *x[key].shape)) * 9
        want = x.copy()
        want[key] = values

        def stored(x: Any, key: Any = key, values: Any = values) -> Any:
            x = x.copy()
            x[key] = values
            return x

        np.testing.assert_array_equal(pyc.jit(stored)(x), want)
        found = interpreted(lambda p, x, values, key=key: x.at[key].set(values), x, values)
        np.testing.assert_array_equal(found, want)


def test_one_element_takes_no_array() -> None:
    """NumPy: setting an array element with a sequence."""
    for key in ((0, 1), (np.array(0), 1)):

        def stored(x: Any, key: Any = key) -> Any:
            x = x.copy()
            x[key] = np.ones(1)
            return x

        with pytest.raises(ValueError):
            stored(np.zeros((2, 3)))
        with pytest.raises(ValueError):
            pyc.jit(stored)(np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("shape", "key"),
    [
        ((4, 4), ([0, 1], [0, 1, 2])),
        ((3, 0), (slice(None), [0, 0])),
        ((3, 0, 2), (slice(0, 0), np.array(0), slice(None))),
        ((4,), 1.0),
        ((4,), ([1.5, 2.0],)),
        ((4,), np.ones(3, bool)),
    ],
    ids=str,
)
def test_a_bad_index_is_an_index_error(shape: tuple[int, ...], key: Any) -> None:
    """As NumPy's: of arrays that do not broadcast, of floats, of an axis without elements."""
    x = np.zeros(shape)
    with pytest.raises(IndexError):
        x[key]

    def stored(x: Any) -> Any:
        x = x.copy()
        x[key] = 1.0
        return x

    for call in (lambda x: x[key], lambda x: x.at[key].add(1.0), stored):
        with pytest.raises(IndexError):
            pyc.jit(call)(x)
    with pytest.raises(IndexError):
        pyc.device_put(x, "cpu")[key]


X5, NEAR, FAR = np.arange(5.0), np.array([0, 1, 2, 8]), np.array([9, 1, 2, 3])
ORDERS: dict[str, Any] = {
    "operands": lambda x, i, j: x[i] + x[j],
    "operands the other way round": lambda x, i, j: x[j] * 2 + x[i],
    "results": lambda x, i, j: (x[i], x[j]),
    "reductions": lambda x, i, j: (x[i].sum(), x[j]),
    "used the other way round": lambda x, i, j: (lambda a, b: b.sum() + a.sum())(x[i], x[j]),
    "numbers": lambda x, i, j: x[i[3]] - x[j[0]],
    "numbers, used the other way round": lambda x, i, j: (lambda a, b: b - a)(x[i[3]], x[j[0]]),
}


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("name", ORDERS)
def test_of_several_indices_out_of_range_the_first_is_named(name: str, backwards: bool) -> None:
    function = ORDERS[name]
    args = (X5, FAR, NEAR) if backwards and "numbers" not in name else (X5, NEAR, FAR)
    with pytest.raises(IndexError) as theirs:
        function(*args)
    with pytest.raises(IndexError) as found:
        pyc.jit(function)(*args)
    assert str(found.value).startswith(str(theirs.value))
