"""The docstring of each function of `pyc.scipy.special` names its parameters, the shape, the type
and the errors; and the errors that wrong arguments raise are those that it names."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from pyc.scipy import special
from tests.docstrings import missing, named_errors, raised

FUNCTIONS = [n for n in special.__all__ if inspect.isroutine(getattr(special, n))]
WRONG: dict[str, tuple[Any, ...]] = {
    "d": (0, "a"),
    "exact": (True,),
    "axis": (7, "a"),
    **dict.fromkeys(("keepdims", "return_sign", "repetition"), ()),
}
"""Arguments that may be refused, by parameter."""
OTHERS = np.ones(3) * 1j, "a", np.ones(5)
"""Those of the other parameters: complex, text, and of another shape."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_names_parameters_shape_type_and_errors(name: str) -> None:
    assert missing(getattr(special, name)) == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_wrong_arguments_raise_is_named(name: str) -> None:
    function = getattr(special, name)
    parameters = inspect.signature(function).parameters
    fitting: dict[str, Any] = {}
    for k, p in parameters.items():
        if p.default is inspect.Parameter.empty or k == "q":
            fitting[k] = 2 if k == "d" or name == "bernoulli" else np.full(3, 0.5)
    wrong = {k: WRONG.get(k, OTHERS) for k in parameters}
    assert raised(function, fitting, wrong) == named_errors(function)
