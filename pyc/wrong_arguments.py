"""What a call says of arguments of the wrong kind, where Python's and NumPy's own errors do not.

It takes the error and the call, and gives an error of pyc's that names the parameter, what was
found and what to do; None if the error says something else, which stays as it is. Nothing is looked
at before a call fails.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, DTypeError, OutOfMemoryError, PycError

_TRUTHS = ("The truth value of a", "Cannot compare structured or void")
_SIZES = ("Maximum allowed size exceeded", "array is too big", "Maximum allowed dimension")


def needs_function(name: str, parameter: str, given: Any) -> None:
    """Looks at an argument that is to be a function. DTypeError: it is not callable."""
    if not callable(given):
        raise DTypeError(
            f"{name}: `{parameter}` must be a function, got {_text(given)}",
            fix="Pass the function itself, not what it gives, and its arguments after it.",
        )


def of_pyc(
    error: Exception,
    shown: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> PycError | None:
    """What a call of `function`, which users know as `shown`, raises in place of an error."""
    text = str(error)
    if isinstance(error, PycError):
        return None
    if isinstance(error, MemoryError):
        return OutOfMemoryError(
            f"{shown}: {text[:1].lower()}{text[1:] or 'out of memory'}",
            fix="Lower the sizes that it is asked for.",
        )
    if text.startswith(_SIZES):
        return ArgumentError(
            f"{shown}: no array has as many elements as are asked for",
            fix="Lower the sizes: an array has fewer than 2**63 bytes.",
        )
    if text.startswith(_TRUTHS):
        for name, value in _arrays(function, args, kwargs):
            return ArgumentError(
                f"{shown}: `{name}` is one choice for the whole call, got {_text(value)}",
                fix="Give one value, such as True or False: for each element call it apart.",
            )
    return None


def _arrays(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """The parameters with a default that are arrays, the last first: data come before choices."""
    try:
        signature = inspect.signature(function)
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return
    for name, value in reversed(given.items()):
        default = signature.parameters[name].default
        if isinstance(value, np.ndarray) and default is not inspect.Parameter.empty:
            yield name, value


def _text(value: Any) -> str:
    """What an argument is, in a few words."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    return f"{value!r}" if isinstance(value, (int, float, str)) else type(value).__name__
