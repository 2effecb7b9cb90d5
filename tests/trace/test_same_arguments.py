"""Arguments that are one array: a function that compares objects has a program for each pattern."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import reasons
from pyc.reasons import Reason

A, B = np.arange(3.0), np.ones(3)


def told(x: Any, y: Any) -> Any:
    return x * 2 if x is y else x + y * 10


def of_three(x: Any, y: Any, z: Any) -> Any:
    return x + (y is z) * 100 + (x is not z) * 1000


def in_a_list(rows: Any, last: Any) -> Any:
    return sum(r * (2 if r is last else 3) for r in rows)


def by_a_helper(x: Any, y: Any) -> Any:
    def same(a: Any, b: Any) -> bool:
        return a is b

    return x - y if same(x, y) else x + y


def fails_for_two(x: Any, y: Any) -> Any:
    if x is not y:
        raise ValueError("two arrays")
    return x + 1


CALLS: dict[Any, list[tuple[Any, ...]]] = {
    told: [(A, B), (A, A), (B, A), (B, B)],
    of_three: [(A, B, B), (A, A, A), (A, B, A), (B, B, A), (A, A, B)],
    in_a_list: [([A, B], A), ([A, A], B), ([A, B], B), ([B, B], B)],
    by_a_helper: [(A, B), (B, B), (A, A)],
}


@pytest.mark.parametrize("put", [lambda x: x, lambda x: pyc.device_put(x, "cpu")])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_which_arguments_are_one_is_as_in_python(function: Any, backwards: bool, put: Any) -> None:
    """Whichever call comes first, and again when the programs are there."""
    jitted = pyc.jit(function)
    moved = {id(x): put(x) for x in (A, B)}
    calls = CALLS[function][::-1] if backwards else CALLS[function]
    for _ in range(3):
        for args in calls:
            given = pyc.tree.map(lambda x: moved[id(x)], args)
            np.testing.assert_array_equal(np.asarray(jitted(*given)), function(*args))


def test_arrays_of_equal_elements_are_two() -> None:
    jitted = pyc.jit(told)
    np.testing.assert_array_equal(jitted(A, A), A * 2)
    np.testing.assert_array_equal(jitted(A, A.copy()), told(A, A.copy()))


def test_what_is_raised_for_two_arrays_is_not_for_one() -> None:
    jitted = pyc.jit(fails_for_two)
    np.testing.assert_array_equal(jitted(A, A), A + 1)
    with pytest.raises(ValueError, match="two arrays"):
        jitted(A, B)
    np.testing.assert_array_equal(jitted(B, B), B + 1)


def test_a_function_that_compares_none_has_one_program_and_native_calls() -> None:
    def plain(x: Any, y: Any, z: Any = None) -> Any:
        return x + y if z is None else x + y + z

    jitted = pyc.jit(plain)
    for args in ((A, B), (A, A), (B, A)):
        np.testing.assert_array_equal(jitted(*args), plain(*args))
    assert jitted.cache_info().misses == 1


def test_a_second_program_has_its_reason_and_calls_their_own() -> None:
    jitted = pyc.jit(told)
    with reasons.collecting() as found:
        jitted(A, B), jitted(A, A), jitted(B, B), jitted(B, A)
    assert jitted.cache_info().misses == 2
    kinds = [e.reason for e in found]
    assert kinds.count(Reason.COMPILE_NEW_VALUE) == 1
    assert Reason.DISPATCH_SLOW_CAPTURE in kinds
    (again,) = [e for e in found if e.reason is Reason.COMPILE_NEW_VALUE]
    assert again.details["arguments"] == "x is y"


class Kind(enum.Enum):
    SUM, DIFFERENCE = 1, 2


NOTHING = object()


def by_a_member(x: Any, y: Any, kind: Any = Kind.SUM) -> Any:
    return x + y if kind is Kind.SUM else x - y


def by_a_stand_in(x: Any, y: Any, z: Any = NOTHING) -> Any:
    return x + y if z is NOTHING else x + y + z


def by_a_class(x: Any, y: Any) -> Any:
    return x + y if type(x) is not float else x


@pytest.mark.parametrize("function", [by_a_member, by_a_stand_in, by_a_class])
def test_what_is_compared_with_no_array_is_called_natively(function: Any) -> None:
    jitted = pyc.jit(function)
    with reasons.collecting() as found:
        jitted(A, B), jitted(A, A)
    assert jitted.cache_info().misses == 1
    assert Reason.DISPATCH_SLOW_CAPTURE not in [e.reason for e in found]


def test_arrays_of_several_types_are_never_one() -> None:
    """They are called natively."""
    jitted = pyc.jit(told)
    with reasons.collecting() as found:
        jitted(A, B.astype(np.float32)), jitted(A, B.astype(np.float32))
    assert Reason.DISPATCH_SLOW_CAPTURE not in [e.reason for e in found]
