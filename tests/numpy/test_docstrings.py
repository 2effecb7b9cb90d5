"""The docstring of each public function has an example, which is true, names what it takes, gives
and raises, and says what NumPy or SciPy call the function."""

from __future__ import annotations

import doctest
import inspect
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.special

import pyc.numpy as pnp
import pyc.scipy.special
from tests.docstrings import missing

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES: list[tuple[str, ModuleType, ModuleType]] = [
    ("numpy", pnp, np),
    ("numpy.linalg", pnp.linalg, np.linalg),
    ("numpy.fft", pnp.fft, np.fft),
    ("scipy.special", pyc.scipy.special, scipy.special),
]


def public_functions() -> dict[str, tuple[Any, Any]]:
    """Each function once, by its name there, with the library that may have one of that name."""
    found: dict[int, tuple[str, Any, Any]] = {}
    for path, module, library in MODULES:
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isroutine(function):
                key = id(inspect.unwrap(function))
                found.setdefault(key, (f"{path}.{name}", function, library))
    return {name: (function, library) for name, function, library in found.values()}


FUNCTIONS = public_functions()
RAISE_NOTHING = {"numpy.__array_namespace_info__", "numpy.isscalar", "numpy.iterable"}
"""They take whatever there is."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_docstring_names_parameters_shapes_dtypes_and_errors(name: str) -> None:
    assert missing(FUNCTIONS[name][0]) == (["raises"] if name in RAISE_NOTHING else [])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_a_docstring_is_true(name: str) -> None:
    function, library = FUNCTIONS[name]
    own = inspect.unwrap(function)
    names = {"np": np, "pyc": pyc, **vars(sys.modules[own.__module__]), own.__name__: function}
    text = inspect.getdoc(function) or ""
    example = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    assert example.examples, text
    assert not doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(example).failed
    if hasattr(library, name.rpartition(".")[2]):
        assert "NumPy" in text or "SciPy" in text or "numpy." in text, text
