"""Numbers that an array does not have are the same class of error in the program as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.errors import PycError, TraceError

PLACES = np.array([1, 12])
NEGATIVE = np.array([1, -1], np.int8)
LARGE = np.array([1, 2**63 + 5], np.uint64)
LOW = np.array([-1.0, -2.0])

CALLS: dict[str, tuple[Callable[..., Any], Any]] = {
    "unravel_index": (lambda i: np.unravel_index(i, (3, 4)), PLACES),
    "unravel_index, column-major": (lambda i: np.unravel_index(i, (3, 4), order="F"), PLACES),
    "unravel_index, negative": (lambda i: np.unravel_index(i, (3, 4)), NEGATIVE),
    "unravel_index, one number": (lambda i: np.unravel_index(i[1], (3, 4)), PLACES),
    "ravel_multi_index, first": (lambda i: np.ravel_multi_index((i, i * 0), (3, 4)), PLACES),
    "ravel_multi_index, second": (lambda i: np.ravel_multi_index((i * 0, i), (3, 4)), NEGATIVE),
    "ravel_multi_index, modes": (
        lambda i: np.ravel_multi_index((i, i), (3, 4), mode=("wrap", "raise")),
        PLACES,
    ),
    "choose": (lambda i: np.choose(i, [i, i * 2]), PLACES),
    "choose, negative": (lambda i: np.choose(i, [i, i * 2]), NEGATIVE),
    "bincount": (lambda i: np.bincount(i, minlength=3), NEGATIVE),
    "greatest of none": (lambda x: x[x > 0].max(), LOW),
    "least of none": (lambda x: np.min(x[x > 0]), LOW),
    "take": (lambda i: np.take(np.arange(3), i), PLACES),
    "index": (lambda i: np.arange(3)[i], PLACES),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_program_raises_the_class_that_numpy_raises(name: str) -> None:
    function, argument = CALLS[name]
    with pytest.raises((ValueError, IndexError)) as expected:
        function(argument)
    with pytest.raises(expected.type) as found:
        pyc.jit(function)(argument)
    told = [str(found.value), *getattr(found.value, "__notes__", ())]
    assert "test_out_of_range.py" in "\n".join(told)


@pytest.mark.parametrize("name", ["unravel_index", "ravel_multi_index", "choose"])
def test_known_and_traced_numbers_are_refused_in_the_same_words(name: str) -> None:
    calls: dict[str, Callable[[Any], Any]] = {
        "unravel_index": lambda i: np.unravel_index(i, (3, 4)),
        "ravel_multi_index": lambda i: np.ravel_multi_index((i,), (12,)),
        "choose": lambda i: np.choose(i, [1, 2]),
    }
    with pytest.raises(PycError) as known:
        pyc.jit(lambda: calls[name](np.int64(12)))()
    with pytest.raises(PycError) as traced:
        pyc.jit(lambda i: calls[name](i))(np.int64(12))
    assert known.type is traced.type
    assert known.value.message == traced.value.message


def test_numbers_beyond_int64_are_refused() -> None:
    """NumPy takes no unsigned 64-bit numbers here at all."""
    with pytest.raises(ValueError, match="unravel_index"):
        pyc.jit(lambda i: np.unravel_index(i, (3, 4)))(LARGE)


def test_what_may_catch_it_is_refused() -> None:
    """An `except ValueError` cannot run when the program does."""

    def guarded(i: Any) -> Any:
        try:
            return np.unravel_index(i, (3, 4))
        except ValueError:
            return i, i

    with pytest.raises(TraceError, match="ValueError"):
        pyc.jit(guarded)(PLACES)
