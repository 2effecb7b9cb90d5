"""The docstring of each function of `pyc.random` names its parameters, the shape, the type and the
errors; and the errors that wrong arguments raise are those that it names."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest

import pyc.random
from pyc.errors import PycError

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
"""Arguments that may be refused; others are complex, text, or of another shape."""


def parameters(name: str) -> dict[str, inspect.Parameter]:
    """The parameters of a function, by name."""
    return dict(inspect.signature(getattr(pyc.random, name)).parameters)


def text_of(name: str) -> str:
    """Its docstring."""
    return inspect.getdoc(getattr(pyc.random, name)) or ""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_names_parameters_shape_type_and_errors(name: str) -> None:
    text = text_of(name)
    missing = [p for p in parameters(name) if not re.search(rf"\b{p}\b", text)]
    assert not missing
    assert re.search(r"shape|\(2,\)|array of", text)
    assert re.search(r"dtype|uint32|bool", text)
    assert re.search(r"^raises \w+Error: ", text, re.MULTILINE)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_wrong_arguments_raise_is_named(name: str) -> None:
    function, text = getattr(pyc.random, name), text_of(name)
    named = set(re.findall(r"\b(\w+Error):\s", text))
    needed = [k for k, p in parameters(name).items() if p.default is inspect.Parameter.empty]
    fitting = {k: GIVEN[k] for k in needed}
    function(**fitting)
    sized = {"shape": (3,)} if "shape" in parameters(name) else {}
    raised = set()
    for argument in parameters(name):
        for wrong in WRONG.get(argument, (1j, "a", np.ones((2, 5)))):
            try:
                function(**{**fitting, **sized, argument: wrong})
            except PycError as error:
                raised.add(type(error).__name__)
    assert raised == named
