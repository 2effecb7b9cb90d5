"""`pyc.numpy` with arrays that are `pyc.Array`s of one device, `PYC_CONFORMANCE_DEVICE`.

Functions that make arrays make them there; those of arrays compute where their arguments are.
"""

from __future__ import annotations

import os
from functools import wraps
from inspect import signature
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

import pyc
import pyc.numpy as pnp

DEVICE = os.environ.get("PYC_CONFORMANCE_DEVICE", "cpu")


def _there(found: Any) -> Any:
    """Results with arrays of NumPy's put on the device."""
    if hasattr(found, "_fields"):  # a named tuple
        return type(found)(*map(_there, found))
    if isinstance(found, (tuple, list)):
        return type(found)(map(_there, found))
    if isinstance(found, (np.ndarray, np.generic)):
        return pyc.device_put(found, DEVICE)
    return found


def placed(function: Any) -> Any:
    """`function`, which makes arrays, with results on the device unless a call says where."""

    @wraps(function)
    def on_device(*args: Any, **kwargs: Any) -> Any:
        return _there(function(*args, **kwargs))

    return on_device


def _namespace(source: ModuleType, name: str) -> ModuleType:
    made = ModuleType(name, source.__doc__)
    for each in source.__all__:
        found = getattr(source, each)
        if isinstance(found, ModuleType):
            found = _namespace(found, f"{name}.{each}")
        elif isinstance(found, FunctionType) and "device" in signature(found).parameters:
            found = placed(found)
        setattr(made, each, found)
    return made


xp = _namespace(pnp, f"pyc.numpy on {DEVICE}")
xp.bool = pnp.bool_  # type: ignore[attr-defined]
xp.__array_api_version__ = pnp.__array_api_version__  # type: ignore[attr-defined]
