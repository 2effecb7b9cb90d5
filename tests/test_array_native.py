"""Native calls of jitted functions, and of single operations, with arrays on the CPU."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import array, eager, reasons
from pyc.array import Array
from pyc.errors import DonationError
from pyc.reasons import Reason
from pyc.runtime import dispatch

CALLS = 4


def on_cpu(x: Any) -> Array:
    return pyc.device_put(x, "cpu")


def natively(function: Any, *args: Any) -> Any:
    """The result of the last of some calls, all but the first of which were native."""
    results = [function(*args) for _ in range(CALLS)]
    (made,) = dispatch.specialisations(function)
    assert dispatch.native_calls(function, made) == CALLS - 1
    return results[-1]


def slowly(function: Any, *args: Any) -> Any:
    """The result of the last of some calls, none of which was native."""
    results = [function(*args) for _ in range(CALLS)]
    assert not dispatch.specialisations(function)
    return results[-1]


@dataclass
class Model:
    weights: Any
    scale: Any


pyc.tree.register_dataclass(Model, data_fields=["weights", "scale"])
W = on_cpu(np.arange(3.0))
X = np.array([1.0, -2.0, 0.5])
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "two arrays": (lambda x, y: x * y + 1, (on_cpu(X), on_cpu(X + 1))),
    "a NumPy array beside it": (lambda x, y: x * y + 1, (on_cpu(X), X + 1)),
    "a number beside it": (lambda x, n: x * n, (on_cpu(X), 2.5)),
    "several results": (lambda x: (x + 1, {"sum": x.sum(), "all": [x > 0]}), (on_cpu(X),)),
    "one result of rank 0": (lambda x: x.max(), (on_cpu(X),)),
    "arguments of rank 0": (lambda x, y: x * y, (on_cpu(3.0), on_cpu(np.float64(2)))),
    "in containers": (lambda d: d["a"][0] - d["b"], ({"a": (on_cpu(X),), "b": on_cpu(X)},)),
    "in a dataclass": (lambda m: m.weights * m.scale, (Model(on_cpu(X), on_cpu(2.0)),)),
    "captured": (lambda x: x + W, (X,)),
    "without elements": (lambda x: x * 2, (on_cpu(X[:0]),)),
    "bytes": (lambda x: x ^ 3, (on_cpu(np.arange(5, dtype=np.uint8)),)),
    "half precision": (lambda x: x + x, (on_cpu(X.astype(pnp.bfloat16)),)),
}


def plain(x: Any) -> Any:
    """NumPy arrays in place of the `Array`s."""
    return pyc.tree.map(lambda leaf: np.asarray(leaf), x)


def check(found: Any, expected: Any) -> None:
    leaves, structure = pyc.tree.flatten(found)
    wanted, same = pyc.tree.flatten(expected)
    assert structure == same and len(leaves) == len(wanted)
    for a, b in zip(leaves, wanted, strict=True):
        b = np.asarray(b)
        assert type(a) is Array and a.device == "cpu"
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert np.asarray(a).tobytes() == b.tobytes()


@pytest.mark.parametrize("name", CASES)
def test_calls_are_native_and_give_arrays(name: str) -> None:
    function, args = CASES[name]
    expected = pyc.jit(lambda *a: function(*a))(*plain(list(args))) if name != "captured" else X + W
    check(natively(pyc.jit(function), *args), expected)


def test_results_cannot_be_written_and_stay() -> None:
    f = pyc.jit(lambda x: (x + 1, x * 2))
    kept = [f(on_cpu(X)) for _ in range(CALLS)]
    gc.collect()
    for one, two in kept:
        np.testing.assert_array_equal(one, X + 1)
        np.testing.assert_array_equal(two, X * 2)
        assert not np.asarray(one).flags.writeable


def test_another_array_is_another_value() -> None:
    f = pyc.jit(lambda x: x * 2)
    natively(f, on_cpu(X))
    check(f(on_cpu(X + 1)), (X + 1) * 2)
    check(f(on_cpu(np.ones((2, 2)))), np.full((2, 2), 2.0))  # another program
    assert type(f(X)) is np.ndarray
    check(f(on_cpu(X)), X * 2)


def test_a_captured_array_that_is_replaced() -> None:
    names: dict[str, Any] = {"w": on_cpu(X)}
    exec("def f(x): return x + w", names)
    f = pyc.jit(names["f"])
    check(natively(f, X), X + X)
    names["w"] = on_cpu(X * 3)
    check(f(X), X + X * 3)
    names["w"] = X * 4
    found = f(X)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, X + X * 4)
    names["w"] = on_cpu(np.ones(1))
    check(f(X), X + 1)


def test_a_deleted_array_is_an_error_each_time() -> None:
    f = pyc.jit(lambda x, y: x + y)
    x, y = on_cpu(X), on_cpu(X)
    natively(f, x, y)
    y.delete()
    for _ in range(2):
        with pytest.raises(DonationError):
            f(x, y)
    check(f(x, x), X + X)


def test_a_donated_array_goes_through_python_for_a_reason() -> None:
    f = pyc.jit(lambda x: x + 1, donate_argnums=0)
    with reasons.collecting() as seen:
        for _ in range(2):
            x = on_cpu(X)
            check(f(x), X + 1)
            assert x.is_deleted()
    assert not dispatch.specialisations(f)
    assert any(entry.reason is Reason.DISPATCH_SLOW_DEVICE for entry in seen)


# --- single operations ----------------------------------------------------------------------------


def test_single_operations_are_native() -> None:
    """Their programs are called by the same code as those of `jit`."""
    x = on_cpu(X)
    eager.clear()
    for _ in range(CALLS):
        check(x + 1.5, X + 1.5)
        np.testing.assert_array_equal(pnp.multiply(X, 3.0), X * 3.0)
        assert pnp.max(X) == 1.0 and type(pnp.max(X)) is np.float64


@pytest.mark.parametrize("number", [0.0, -0.0, np.nan, float("inf"), 2, True, 1 + 2j])
def test_numbers_of_a_form_are_told_apart(number: Any) -> None:
    """Also by the functions that compute other bits for some of them."""
    x = on_cpu(X)
    for other in (1.0, number, 3):
        for name in ("power", "add", "multiply"):
            mine, theirs = getattr(pnp, name), getattr(np, name)
            with np.errstate(all="ignore"):
                expected = theirs(X, other)
            np.testing.assert_allclose(np.asarray(mine(x, other)), expected, rtol=1e-15)


def test_each_call_finds_its_own_program() -> None:
    """By the types of arrays and numbers, and by the function."""
    for _ in range(2):
        for x in (X, X.astype(np.float32), X[:2], X.reshape(3, 1)):
            for f in (np.add, np.subtract, np.power):
                for other in (x, 1.5, 2.0, 0.5):
                    with np.errstate(invalid="ignore"):
                        expected = f(x, other)
                    found = f(on_cpu(x), on_cpu(other) if other is x else other)
                    assert found.dtype == expected.dtype and found.shape == expected.shape
                    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_programs_are_told_apart_by_types_that_live() -> None:
    """A type may be made anew at the place of one that is gone."""
    for size in range(1, 400):
        x = on_cpu(np.arange(float(size)))
        assert (x + 1.0).tolist() == list(range(1, size + 1))
        if size % 50 == 0:
            array._types.clear()
            gc.collect()


def test_a_deleted_array_is_an_error_of_single_operations() -> None:
    x = on_cpu(X)
    for _ in range(2):
        check(x + 1.0, X + 1.0)
    x.delete()
    with pytest.raises(DonationError):
        x + 1.0
    with pytest.raises(DonationError):
        np.asarray(x)
