"""What a docstring of a public function must name, and the errors that wrong arguments raise."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyc.errors import PycError

ARGUMENT_ERROR = re.compile(r"\b(\w+Error):\s")
"""As in `raises ShapeError: why; DTypeError: why`."""


def text_of(function: Any) -> str:
    """The docstring up to its example."""
    return (inspect.getdoc(function) or "").partition(">>>")[0]


def missing(function: Any) -> list[str]:
    """What the docstring of a function lacks: parameters, by name, "shape", "dtype", "raises"."""
    text = text_of(function)
    found = [p for p in inspect.signature(function).parameters if not re.search(rf"\b{p}\b", text)]
    for what, pattern in {
        "shape": r"shape|broadcast|->|array|\(2,\)",
        "dtype": r"d?type|u?int\d|float\d|bool",
        "raises": r"^raises \w+Error: ",
    }.items():
        found += [] if re.search(pattern, text, re.MULTILINE) else [what]
    return found


def named_errors(function: Any) -> set[str]:
    """The errors that the docstring of a function names."""
    return set(ARGUMENT_ERROR.findall(text_of(function)))


WIDER = {
    "DeviceNameError": "DeviceError",
    "OptionError": "DTypeError",
    "WeightsError": "ShapeError",
    "ZeroStepError": "ArgumentError",
}
"""Errors that docstrings name by a class that they are of."""


def raised(
    function: Any, fitting: Mapping[str, Any], wrong: Mapping[str, Sequence[Any]]
) -> set[str]:
    """The errors of calls with one wrong argument each; those with `fitting` ones raise none.

    wrong: by parameter, values that may be refused
    """
    function(**fitting)
    found = set()
    for argument, values in wrong.items():
        for value in values:
            try:
                function(**{**fitting, argument: value})
            except PycError as error:
                name = type(error).__name__
                found.add(WIDER.get(name, name))
    return found
