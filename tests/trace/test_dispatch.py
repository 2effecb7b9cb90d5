"""NumPy's arguments reach the functions of pyc.numpy by meaning, never by position alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.special

import pyc.numpy as pnp
from pyc.errors import PycError, UnsupportedOpError
from pyc.jit import jit
from pyc.trace import dispatch


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    return x, axis, correction, keepdims


def clip(x, /, min=None, max=None):
    return x, min, max


def reshape(x, /, shape):
    return x, shape


def moved(x, source, destination, /):
    return x, source, destination


CASES = [
    (np.std, std, ("x", 1), {}, ("x", 1, 0.0, False)),
    (np.std, std, ("x", 1, None, None, 1), {}, ("x", 1, 1, False)),
    (np.std, std, ("x",), {"ddof": 2, "keepdims": True}, ("x", None, 2, True)),
    (np.std, std, (), {"a": "x", "axis": 0}, ("x", 0, 0.0, False)),
    (np.std, std, ("x",), {"where": np._NoValue, "out": None}, ("x", None, 0.0, False)),
    (np.clip, clip, ("x", 1, 2), {}, ("x", 1, 2)),
    (np.clip, clip, ("x",), {"a_min": 1, "a_max": 2}, ("x", 1, 2)),
    (np.clip, clip, ("x",), {"min": 1, "max": 2}, ("x", 1, 2)),
    (np.reshape, reshape, ("x", (2, 3), "C"), {}, ("x", (2, 3))),
    (np.reshape, reshape, ("x",), {"shape": (2, 3)}, ("x", (2, 3))),
    (np.moveaxis, moved, ("x", 0, 1), {}, ("x", 0, 1)),
]


@pytest.mark.parametrize(("theirs", "ours", "args", "kwargs", "expected"), CASES)
def test_arguments_keep_their_meaning(theirs, ours, args, kwargs, expected, monkeypatch) -> None:
    monkeypatch.setattr(dispatch, "counterpart", {theirs: ours}.get)
    assert dispatch.call_function(theirs, args, kwargs) == expected


@pytest.mark.parametrize(
    ("theirs", "ours", "args", "kwargs", "name"),
    [
        (np.std, std, (1, np.float32), {}, "dtype"),
        (np.std, std, (), {"where": [True]}, "where"),
        (np.reshape, reshape, ((2, 3), "F"), {}, "order"),
        (np.clip, clip, (1, 2), {"dtype": "i4"}, "dtype"),
    ],
)
def test_what_has_no_counterpart_is_refused(theirs, ours, args, kwargs, name, monkeypatch) -> None:
    """The array is traced: what is known NumPy would compute."""
    monkeypatch.setattr(dispatch, "counterpart", {theirs: ours}.get)
    with pytest.raises(UnsupportedOpError, match=f"the argument `{name}` cannot be traced"):
        jit(lambda x: theirs(x, *args, **kwargs))(np.ones(6))


def test_an_output_array_is_refused() -> None:
    out = np.zeros(())
    with pytest.raises(PycError, match="in place"):
        jit(lambda x: np.std(x, None, None, out))(np.ones(6))


def test_the_table_leads_from_each_numpy_function_to_its_namesake() -> None:
    for name in pnp.__all__:
        theirs = getattr(np, name, None)
        if callable(theirs) and not isinstance(theirs, type):
            assert dispatch.counterpart(theirs) is not None, name
    assert dispatch.counterpart(np.add) is pnp.add and dispatch.counterpart(np.sum) is pnp.sum
    assert dispatch.counterpart(np.abs) is pnp.absolute


def test_ufuncs_of_other_libraries_are_named_as_such() -> None:
    with pytest.raises(UnsupportedOpError, match="the ufunc `ellipk` of another library") as found:
        jit(lambda x: scipy.special.ellipk(x))(np.ones(2))
    assert "Write it with functions" in str(found.value)


def test_a_ufunc_of_scipy_that_was_not_read_through_a_view_is_traced() -> None:
    erf = itertools.cycle([scipy.special.erf]).__next__
    found = jit(lambda x: erf()(x), purity="off")(np.ones(2))
    np.testing.assert_allclose(found, scipy.special.erf(np.ones(2)), 1e-15)


def test_operands_of_a_function_of_any_number_are_no_output() -> None:
    x = np.arange(3.0)
    found = jit(lambda v: (np.einsum("i,i->", v, v), np.einsum("i,j->ij", v, v)))(x)
    assert found[0] == 5
    assert found[1].tolist() == np.outer(x, x).tolist()
