"""Every public function on NumPy arrays, on `pyc.Array`s and jitted: one small call of each, the
calls of `benchmarks/namespace_calls.py`, against NumPy, or SciPy, where it has the function."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import pyc
from benchmarks.namespace_calls import CALLS, IN_PLACE, SAMPLES, WAYS, arguments, functions
from benchmarks.namespace_calls import made_for as called_in
from pyc.errors import PycError
from tests.numpy.interpreted import difference

REFERENCES: dict[str, Any] = {
    "pyc.numpy": np,
    "pyc.numpy.linalg": np.linalg,
    "pyc.numpy.fft": np.fft,
    "pyc.scipy.special": scipy.special,
}
OWN_VALUES = ("empty", "empty_like", "eig", "eigh", "eigvals", "svd", "qr", "polydiv")
OWN_VALUES += ("finfo", "iinfo", "from_dlpack", "__array_namespace_info__")
OWN_VALUES += ("bernoulli",)  # SciPy's are sums that lose digits
"""Functions whose results are open, or have other types or shapes than NumPy's."""
NO_TYPES = frozenset(f"pyc.numpy.{n}" for n in ("broadcast_shapes", "can_cast", "isdtype"))
"""Functions that a jitted function may return the result of."""


def _function(name: str) -> Any:
    space, _, last = name.rpartition(".")
    return getattr(importlib.import_module(space), last)


def _reference(name: str) -> Callable[..., Any] | None:
    space, _, last = name.rpartition(".")
    return None if last in OWN_VALUES else getattr(REFERENCES.get(space), last, None)


def _called(name: str, way: str) -> Any:
    """The result of the call of a function."""
    call, function = CALLS[name], _function(name)
    arrays = [SAMPLES[a] for a in arguments(call)]
    if way == "pyc.Array":
        return call(function, *[pyc.device_put(a, "cpu") for a in arrays])
    if way == "jitted":
        return pyc.jit(lambda *given: call(function, *given))(*arrays)
    return call(function, *arrays)


def _plain(x: Any) -> Any:
    """Lists as tuples."""
    return tuple(map(_plain, x)) if isinstance(x, (list, tuple)) else x


def test_every_public_function_has_a_call() -> None:
    assert sorted(functions()) == sorted(CALLS)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CALLS)
def test_a_function_gives_what_the_reference_gives(name: str, way: str) -> None:
    if not called_in(way, name) and name not in NO_TYPES:
        with pytest.raises((PycError, TypeError)):
            _called(name, way)
        return
    found = _plain(_called(name, way))
    reference = _reference(name)
    if reference is None:
        assert found is not None
        return
    call = CALLS[name]
    expected = _plain(call(reference, *[SAMPLES[a] for a in arguments(call)]))
    assert not difference(expected, found)


def test_functions_that_change_their_argument_say_so() -> None:
    assert all(name in CALLS for name in IN_PLACE)
