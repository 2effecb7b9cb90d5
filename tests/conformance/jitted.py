"""`pyc.numpy` with each function sent through `pyc.jit`, where shapes allow, on the device
`PYC_CONFORMANCE_DEVICE`; results are NumPy's arrays, copied from there.

The arrays of a call become arguments of the jitted function; all else is part of it. Functions
whose results have shapes that depend on data, or are no arrays, and those of devices and memory are
called as they are: `AS_THEY_ARE` names them.
"""

from __future__ import annotations

import atexit
import os
from collections import Counter
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

import pyc
import pyc.numpy as pnp

DEVICE = os.environ.get("PYC_CONFORMANCE_DEVICE") or None
AS_THEY_ARE = frozenset(
    (
        # shapes that depend on data
        *("argwhere", "compress", "extract", "flatnonzero", "nonzero", "repeat", "trim_zeros"),
        *("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
        # what is known of dtypes and shapes
        *("broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype", "result_type"),
        # devices and memory
        *("__array_namespace_info__", "from_dlpack"),
    )
)
OPTIONS = frozenset(("copy", "device"))
"""Arguments that say something of memory: calls with one of them are made as they are."""

calls: Counter[str] = Counter()
"""Calls that were jitted, and that were not."""


def _taken(x: Any, arrays: list[Any]) -> Any:
    """`x` with a number in place of each array, which is added to `arrays`."""
    if isinstance(x, (np.ndarray, np.generic)):
        arrays.append(x)
        return _Place(len(arrays) - 1)
    if type(x) in (list, tuple):
        return type(x)(_taken(v, arrays) for v in x)
    return x


class _Place:
    def __init__(self, number: int) -> None:
        self.number = number


def _filled(x: Any, arrays: Any) -> Any:
    if isinstance(x, _Place):
        return arrays[x.number]
    return type(x)(_filled(v, arrays) for v in x) if type(x) in (list, tuple) else x


def through_jit(function: Any) -> Any:
    """`function`, called through `pyc.jit`."""

    @wraps(function)
    def jitted(*args: Any, **kwargs: Any) -> Any:
        if OPTIONS & kwargs.keys():
            calls["as they are"] += 1
            return function(*args, **kwargs)
        arrays: list[Any] = []
        places = [_taken(x, arrays) for x in args]
        named = {k: _taken(v, arrays) for k, v in kwargs.items()}

        def call(*given: Any) -> Any:
            options = {k: _filled(v, given) for k, v in named.items()}
            return function(*(_filled(x, given) for x in places), **options)

        calls["jitted"] += 1
        return _arrays(pyc.jit(call, purity="off", device=DEVICE)(*arrays))

    return jitted


def _arrays(found: Any) -> Any:
    """Results with arrays of rank 0 in place of scalars, as functions that make arrays give."""
    if hasattr(found, "_fields"):  # a named tuple
        return type(found)(*map(_arrays, found))
    if isinstance(found, (tuple, list)):
        return type(found)(map(_arrays, found))
    return np.asarray(found) if isinstance(found, np.generic) else found


def _namespace(source: ModuleType, name: str) -> ModuleType:
    made = ModuleType(name, source.__doc__)
    for each in source.__all__:
        found = getattr(source, each)
        if isinstance(found, ModuleType):
            found = _namespace(found, f"{name}.{each}")
        elif isinstance(found, FunctionType) and each not in AS_THEY_ARE:
            found = through_jit(found)
        setattr(made, each, found)
    return made


xp = _namespace(pnp, "pyc.numpy through pyc.jit")
xp.bool = pnp.bool_  # type: ignore[attr-defined]
xp.__array_api_version__ = pnp.__array_api_version__  # type: ignore[attr-defined]


@atexit.register
def _told() -> None:
    """How many calls were jitted, for `tests.conformance`."""
    file = os.environ.get("PYC_CONFORMANCE_CALLS")
    if file:
        with open(file, "a") as out:
            out.write(f"{calls['jitted']} {calls['as they are']}\n")
