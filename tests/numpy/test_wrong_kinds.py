"""Arguments of the wrong kind: an error of pyc's that names the parameter, what was found and what
to do, of the class that NumPy raises; and what NumPy refuses is not taken silently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import errors
from pyc.errors import PycError
from pyc.scipy import linalg, special
from pyc.wrong_arguments import of_pyc

X = np.arange(6.0).reshape(2, 3)
MANY = np.ones(3)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: pnp.array(X, copy=MANY), "copy"),
        (lambda: pnp.angle(X, deg=MANY), "deg"),
        (lambda: pnp.array_equal(X, X, equal_nan=MANY), "equal_nan"),
        (lambda: pnp.meshgrid(MANY, MANY, sparse=np.zeros(2, bool)), "sparse"),
        (lambda: pnp.nanmedian(X, keepdims=MANY), "keepdims"),
        (lambda: pnp.vstack((X, X), casting=np.array(["no", "no"])), "casting"),
        (lambda: pnp.convolve(MANY, MANY, mode=np.zeros(3, "i4,i4")), "mode"),
        (lambda: special.factorial(MANY, exact=MANY), "exact"),
        (lambda: linalg.cho_factor(np.eye(2), check_finite=MANY), "check_finite"),
    ],
)
def test_an_array_given_as_a_switch_is_named(call: Any, parameter: str) -> None:
    told = rf"`?{parameter}`? (is one choice|must be) .*got an array"
    with pytest.raises(errors.ArgumentError, match=told):
        call()


def test_an_array_of_one_element_is_a_switch() -> None:
    np.testing.assert_array_equal(pnp.angle(X, deg=np.array(True)), np.angle(X, deg=True))


def test_errors_about_other_things_stay() -> None:
    error = ValueError("The truth value of an array with more than one element is ambiguous.")
    assert of_pyc(error, "f", lambda x, keepdims=False: x, (X,), {}) is None
    assert of_pyc(ValueError("no"), "f", lambda x, k=0: x, (X, MANY), {}) is None
    assert of_pyc(errors.ShapeError("no"), "f", lambda x, k=0: x, (X, MANY), {}) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: pnp.arange(10**15),
        lambda: pnp.linspace(0, 1, 10**15),
        lambda: pnp.logspace(0, 1, 10**15),
        lambda: pnp.hanning(10**15),
    ],
)
def test_what_no_memory_holds_is_a_memory_error_of_pyc(call: Any) -> None:
    with pytest.raises(MemoryError, match=r"(?s)unable to allocate.*Lower the sizes") as found:
        call()
    assert isinstance(found.value, errors.OutOfMemoryError)


def test_sizes_beyond_every_array_are_refused() -> None:
    with pytest.raises(errors.ArgumentError, match="triu_indices: no array has as many elements"):
        pnp.triu_indices(10**30)
    with pytest.raises(errors.ArgumentError, match="hanning: no window has nan points"):
        pnp.hanning(float("nan"))


FUNCTIONS: list[tuple[str, Any]] = [
    ("f", lambda x: pyc.lax.scan(3, x, x)),
    ("cond_fun", lambda x: pyc.lax.while_loop(3, lambda c: c, x)),
    ("body_fun", lambda x: pyc.lax.while_loop(lambda c: True, 3, x)),
    ("body_fun", lambda x: pyc.lax.fori_loop(0, 3, 4, x)),
    ("true_fun", lambda x: pyc.lax.cond(True, 3, lambda c: c, x)),
    ("false_fun", lambda x: pyc.lax.cond(True, lambda c: c, x, x)),
    (r"branches\[1\]", lambda x: pyc.lax.switch(0, [lambda c: c, 4], x)),
    ("f", lambda x: pyc.lax.map(3, x)),
    ("fn", lambda x: pyc.lax.associative_scan(3, x)),
    ("func", lambda x: pnp.apply_over_axes(3, x, 0)),
    ("function", lambda x: pnp.fromfunction(3, (2, 2))),
    ("mask_func", lambda x: pnp.mask_indices(3, 4)),
]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(("parameter", "call"), FUNCTIONS)
def test_what_is_to_be_a_function_is_named(parameter: str, call: Any, traced: bool) -> None:
    with pytest.raises(errors.DTypeError, match=f"`{parameter}` must be a function, got") as found:
        (pyc.jit(call) if traced else call)(MANY)
    assert isinstance(found.value, TypeError)


def test_branches_are_a_sequence() -> None:
    with pytest.raises(
        errors.DTypeError, match="`branches` is a sequence of functions, got one thing"
    ):
        pyc.lax.switch(0, 3, MANY)
    assert pyc.lax.switch(1, (f for f in (np.sin, np.abs)), -2.0) == 2.0


@pytest.mark.parametrize(
    ("call", "theirs"),
    [
        (lambda m: m.nancumsum(X, dtype=MANY), TypeError),
        (lambda m: m.corrcoef(X, dtype=MANY), TypeError),
        (lambda m: m.zeros(True), TypeError),
        (lambda m: m.resize(X, (2, True)), TypeError),
        (lambda m: m.zeros_like(X, shape=np.array([True, False])), TypeError),
        (lambda m: m.histogram(X, range=np.ones((2, 3))), ValueError),
        (lambda m: m.histogramdd(X, bins=slice(None)), TypeError),
        (lambda m: m.diag_indices(2, ndim=None), TypeError),
        (lambda m: m.nanstd(X, ddof=float), TypeError),
        (lambda m: m.any(X, axis=np.zeros(3, "i4,i4")), TypeError),
        (lambda m: m.linalg.multi_dot(3.0), TypeError),
    ],
)
def test_what_numpy_refuses_is_refused(call: Any, theirs: type[Exception]) -> None:
    with pytest.raises(theirs):
        call(np)
    with pytest.raises(theirs) as found:
        call(pnp)
    assert isinstance(found.value, PycError)


def test_descending_is_a_bool() -> None:
    with pytest.raises(errors.DTypeError, match="argsort: `descending` is True or False"):
        pnp.argsort(X, descending=float)  # type: ignore[arg-type]
    assert pnp.argsort([1, 2], descending=np.True_).tolist() == [1, 0]


@pytest.mark.parametrize("given", [3, (np.eye(2),), (np.eye(2), 1, 2), (np.eye(2), 1)])
def test_what_is_solved_by_factors_takes_a_pair(given: Any) -> None:
    with pytest.raises((errors.DTypeError, errors.ArgumentError, errors.ShapeError)) as found:
        linalg.lu_solve(given, np.ones(2))
    assert "what `lu_factor` gives" in str(found.value)
    if not isinstance(given, tuple) or len(given) != 2:
        with pytest.raises((errors.DTypeError, errors.ArgumentError), match="what `cho_factor`"):
            linalg.cho_solve(given, np.ones(2))
