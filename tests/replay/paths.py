"""The functions that are recorded and replayed, by path, and what of pyc stands for each."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.numpy import on_demand

SPACES = {
    "numpy": "pyc.numpy",
    "numpy.linalg": "pyc.numpy.linalg",
    "numpy.fft": "pyc.numpy.fft",
    "numpy.lib.stride_tricks": "pyc.numpy",
    "scipy.special": "pyc.scipy.special",
    "scipy.linalg": "pyc.scipy.linalg",
}
"""Modules whose functions are recorded, and where pyc has them."""
METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")
"""Of ufuncs."""
NOT_RECORDED = ("numpy.from_dlpack", "numpy.shares_memory", "numpy.may_share_memory")
"""Functions of memory."""


@cache
def space(module: str) -> Any:
    """A module by name."""
    if module in ("pyc.numpy.linalg", "pyc.numpy.fft"):
        return getattr(pnp, module.rpartition(".")[2])
    return import_module(module)


def paths() -> list[str]:
    """The functions of NumPy and SciPy that pyc has too, by path."""
    found = []
    for theirs, ours in SPACES.items():
        here, there = space(theirs), space(ours)
        names = {n for n in dir(here) if not n.startswith("_")}
        has = set(there.__all__) | (set(on_demand.MODULE_OF) if ours == "pyc.numpy" else set())
        for name in sorted(names & has):
            each = getattr(here, name)
            path = f"{theirs}.{name}"
            if callable(each) and not isinstance(each, type) and path not in NOT_RECORDED:
                found.append(path)
    return [p for p in found if not p.startswith("numpy.lib.") or p.endswith("window_view")]


def theirs(path: str) -> Any:
    """NumPy's or SciPy's function, or the method of a ufunc."""
    module, _, name = path.rpartition(".")
    if name in METHODS and module not in SPACES:
        return getattr(theirs(module), name)
    return getattr(space(module), name)


def ours(path: str) -> Any:
    """pyc's function; None for the methods of ufuncs, which NumPy's own stand for."""
    module, _, name = path.rpartition(".")
    return getattr(space(SPACES[module]), name) if module in SPACES else None


def is_ufunc(path: str) -> bool:
    """Whether a function is computed element by element."""
    found = theirs(path)
    return isinstance(found, np.ufunc) and found.signature is None
