"""Methods of traced arrays take what those of NumPy's arrays take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyc import tree
from pyc.errors import ConcretizationError, UnsupportedOpError
from pyc.jit import jit

X = np.array([[1.5, -2.0, 3.0], [4.0, 0.5, -6.0]])


def sorted_by(x):
    y = x.copy()
    y.sort(0, "mergesort")
    return y


def written_to(x):
    out = np.zeros(2)
    found = x.sum(axis=1, out=out)
    assert found is out
    return out


METHODS = {
    "sum": lambda x: x.sum(0, np.float32),
    "sum, all": lambda x: x.sum(1, None, None, True),
    "sum, out": written_to,
    "prod": lambda x: x.prod(axis=1, dtype=np.float32, keepdims=True),
    "mean": lambda x: x.mean(0, np.float64, keepdims=True),
    "mean, dtype": lambda x: x.mean(dtype=np.float32),
    "std": lambda x: x.std(0, None, None, 1),
    "var": lambda x: x.var(axis=1, ddof=1, dtype=np.float64),
    "max": lambda x: x.max(1, None, True),
    "min, out": lambda x: x.min(axis=1, out=np.empty(2)),
    "any": lambda x: (x > 3).any(0, keepdims=True),
    "argmax": lambda x: x.argmax(axis=0, out=np.zeros(3, int)),
    "argsort": lambda x: x.argsort(0, "quicksort"),
    "argsort, kind": lambda x: x.argsort(kind="stable"),
    "argsort, stable": lambda x: x.argsort(axis=0, stable=True),
    "sort": sorted_by,
    "cumsum": lambda x: x.cumsum(axis=0, out=np.zeros((2, 3))),
    "cumprod": lambda x: x.cumprod(1, np.float32),
    "round": lambda x: x.round(1, None) + x.round(decimals=0, out=np.zeros((2, 3))),
    "ravel": lambda x: x.ravel("C") + x.ravel(order="C"),
    "flatten": lambda x: x.flatten(order="C") + x.flatten(),
    "reshape": lambda x: x.reshape(3, 2, order="C") + x.reshape((3, 2)),
    "astype": lambda x: x.astype(np.float32, copy=False).astype("f8", "C", "safe"),
    "astype, subok": lambda x: x.astype(int, subok=False),
    "copy": lambda x: x.copy("K") + x.copy(order="C"),
    "take": lambda x: x.take([0, 4], 1, None, "clip") + x.take([1, 5], axis=1, mode="wrap"),
    "take, out": lambda x: x.take([0, 1], axis=1, out=np.zeros((2, 2))),
    "searchsorted": lambda x: x[0].searchsorted(1.0, "right"),
    "trace": lambda x: x.trace(1, 0, 1) + x.trace(offset=1, axis1=1, axis2=0),
    "diagonal": lambda x: x.diagonal(1, 0, 1),
    "clip": lambda x: x.clip(0, 1, None) + x.clip(max=2.0) + x.clip(0, 3, casting="same_kind"),
    "dot": lambda x: x.dot(np.ones((3, 2)), None),
    "repeat": lambda x: x.repeat([1, 2], 0),
    "choose": lambda x: (x > 0).astype(int).choose([x, -x]),
    "compress": lambda x: x.compress([True, False, True], axis=1) + x.compress((0, 1), 0)[:, :2],
    "nonzero": lambda x: x.sum() + np.arange(3).nonzero()[0][0],
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_take_what_those_of_numpy_take(name: str) -> None:
    expected, found = METHODS[name](X.copy()), jit(METHODS[name])(X.copy())
    for a, b in zip(tree.leaves(expected), tree.leaves(found), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.shape(a) == np.shape(b)


REFUSED = {
    "order": lambda x: x.reshape(3, 2, order="F"),
    "order of flatten": lambda x: x.flatten("F"),
    "order of copy": lambda x: x.copy("F"),
    "order of astype": lambda x: x.astype(int, "F"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_done_is_refused_by_name(name: str) -> None:
    argument = name.split()[0]
    with pytest.raises(UnsupportedOpError, match=f"the argument `{argument}` cannot be traced"):
        jit(REFUSED[name])(X)


def test_indices_that_depend_on_data_are_refused() -> None:
    with pytest.raises(ConcretizationError):
        jit(lambda x: x.nonzero()[0])(X)


@pytest.mark.parametrize("call", [lambda x: x.sum(1, 2, 3, 4, 5, 6, 7), lambda x: x.mean(of=3)])
def test_what_numpy_does_not_take_either_is_a_type_error(call: Any) -> None:
    with pytest.raises(TypeError):
        call(X)
    with pytest.raises(TypeError):
        jit(call)(X)


def test_a_cast_that_its_rule_does_not_allow_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="casting='safe' does not allow"):
        jit(lambda x: x.astype(np.float32, casting="safe"))(X)
