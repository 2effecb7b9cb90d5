"""The docstring of each function of `pyc.random` names its parameters, the shape, the type and the
errors; and the errors that wrong arguments raise are those that it names."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import pyc.random
from tests.docstrings import missing, named_errors, raised

FUNCTIONS = [n for n in pyc.random.__all__ if inspect.isroutine(getattr(pyc.random, n))]
GIVEN: dict[str, Any] = {
    **dict.fromkeys(("p", "b", "df", "dfnum", "dfden", "lam", "scale", "sigma"), 0.5),
    **dict.fromkeys(("a", "x", "logits", "alpha", "concentration"), np.ones(3)),
    **dict.fromkeys(("left", "minval", "lower"), 0),
    **dict.fromkeys(("mode", "seed", "data"), 1),
    **dict.fromkeys(("right", "maxval", "upper"), 2),
    "key": pyc.random.key(7),
    "shape": (3,),
    "mean": np.ones(2),
    "cov": np.eye(2),
}
"""Arguments that have no default."""
WRONG: dict[str, tuple[Any, ...]] = {
    "key": (3, np.zeros(3, np.uint32)),
    "shape": ((-1,), "a"),
    "num": ((-1,), "a"),
    "dtype": (np.bool_, "no type"),
    "axis": (7, 1.5),
    "method": ("qr",),
    "replace": (),
    "independent": (),
    "seed": ("a", 1 << 64),
    "data": ("a", 1 << 64),
    "minval": (1j, np.ones(5, np.int64), 1 << 70),
}
"""Arguments that may be refused, by parameter."""
OTHERS = 1j, "a", np.ones((2, 5))
"""Those of the other parameters: complex, text, and of another shape."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_names_parameters_shape_type_and_errors(name: str) -> None:
    assert missing(getattr(pyc.random, name)) == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_wrong_arguments_raise_is_named(name: str) -> None:
    function = getattr(pyc.random, name)
    parameters = inspect.signature(function).parameters
    needed = [k for k, p in parameters.items() if p.default is inspect.Parameter.empty]
    fitting = {k: GIVEN[k] for k in parameters if k in needed or k == "shape"}
    wrong = {k: WRONG.get(k, OTHERS) for k in parameters}
    assert raised(function, fitting, wrong) == named_errors(function)
