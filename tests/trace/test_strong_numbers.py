"""Number arguments that are made arrays of have a type of their own from then on, as in NumPy."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp

X = np.arange(1, 4, dtype=np.float32)

MADE: dict[str, Callable[..., Any]] = {
    "asarray": lambda n, x: np.asarray(n) + x,
    "array": lambda n, x: np.array(n) + x,
    "pyc's asarray": lambda n, x: pnp.asarray(n) + x,
    "with a type": lambda n, x: np.asarray(n, np.float64) + x,
    "of its own type": lambda n, x: np.asarray(n, type(n)) + x,
    "atleast_1d": lambda n, x: np.atleast_1d(n) + x,
    "float64": lambda n, x: np.float64(n) + x,
    "int64": lambda n, x: np.int64(n) + x,
    "astype": lambda n, x: np.asarray(n).astype(np.float64) + x,
    "a result": lambda n, x: np.add(n, 1) + x,
    "an expression": lambda n, x: np.asarray(n + 1) + x,
    "in a list": lambda n, x: np.array([n, 1])[0] + x,
    "not made": lambda n, x: n + x,
    "an expression of numbers": lambda n, x: (n * 2 + 1) * x,
    "full": lambda n, x: np.full(3, n) + x,
    "in a loop": lambda n, x: sum((np.asarray(n) * k for k in range(20)), x),
}


@pytest.mark.parametrize("number", [3, -2, 2.5])
@pytest.mark.parametrize("name", MADE)
def test_what_numpy_makes_of_a_number_has_its_type(name: str, number: float) -> None:
    expected, found = MADE[name](number, X), pyc.jit(MADE[name])(number, X)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_an_array_of_a_negative_number_wraps_and_a_scalar_type_refuses_it() -> None:
    wrapped = pyc.jit(lambda n: np.asarray(n).astype(np.uint64))(-3)
    assert wrapped == np.asarray(-3).astype(np.uint64)
    wrapped = pyc.jit(lambda n: np.int64(n).astype(np.uint8))(300)
    assert wrapped == np.int64(300).astype(np.uint8)
    for function in (
        lambda n: np.uint64(n),
        lambda n: np.array(n, np.uint64),
        lambda n: np.uint8(n + 1),
    ):
        with pytest.raises(OverflowError, match=r"Python integer -\d out of bounds for uint"):
            pyc.jit(function)(-3)
        with pytest.raises(OverflowError):
            function(-3)


def test_a_carried_number_stays_one() -> None:
    """What a loop carries keeps its kind: a Python number, or what NumPy made of it."""

    def loop(n: Any, x: Any, made: bool) -> Any:
        total = np.asarray(n) if made else n
        for _ in range(30):
            total = total + 1
        return total * x

    for made in (False, True):
        expected = loop(2, X, made)
        found = pyc.jit(loop, static_argnames="made")(2, X, made=made)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Kind(enum.IntFlag):
    A = 1
    B = 2


class Rate(float):
    """A number of a class of the user's."""


OF_CLASSES: dict[str, Callable[..., Any]] = {
    "times": lambda n, x: x * Level.HIGH,
    "from the right": lambda n, x: Level.HIGH - x,
    "compared": lambda n, x: np.where(x == Level.HIGH, 1.0, x),
    "assigned": lambda n, x: (a := x.copy(), a.__setitem__(0, Level.HIGH))[0],
    "in a list": lambda n, x: np.array([Level.LOW, n, x[0]]),
    "an index": lambda n, x: x[Level.LOW] + x[: Level.HIGH],
    "power": lambda n, x: x**Level.HIGH,
    "ufunc": lambda n, x: np.maximum(x, Level.HIGH),
    "clip": lambda n, x: np.clip(x, Level.LOW, Level.HIGH),
    "flags": lambda n, x: x * (Kind.A | Kind.B),
    "bits": lambda n, x: x.astype(np.int8) & Kind.B,
    "float": lambda n, x: x * Rate(0.5) + Rate(1.5),
    "beside a number": lambda n, x: x * (n * Level.HIGH) + (Rate(0.5) + n) * x,
    "from the right of a number": lambda n, x: x * (Level.HIGH - n),
}


@pytest.mark.parametrize("name", OF_CLASSES)
def test_numbers_of_classes_are_what_they_are_in_numpy(name: str) -> None:
    expected, found = OF_CLASSES[name](3, X), pyc.jit(OF_CLASSES[name])(3, X)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
