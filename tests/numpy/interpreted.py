"""Functions of `pyc.numpy` by the Graph interpreter: what is traced, without compiling it.

Thousands of small calls are compared with NumPy this way; `test_functions.py` runs a table of them
compiled, and `tests/ops` proves that compiled code gives the interpreter's bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.interpreter import type_of
from pyc.ir.evaluate import evaluate
from pyc.trace.capture import capture
from pyc.trace.trace import Input

Call = Callable[..., Any]


def interpreted(call: Call, *arrays: Any) -> Any:
    """`call(pyc.numpy, *arrays)`, traced and interpreted; a tuple if it returns several."""
    several: list[bool] = []

    def function(*xs: Any) -> Any:
        out = call(pnp, *xs)
        several.append(isinstance(out, (tuple, list)))
        return out if several[0] else (out,)

    graph = capture(function, [Input(type_of(a)) for a in arrays]).graph
    found = evaluate(graph, [np.asarray(a) for a in arrays])
    return tuple(found) if several[0] else found[0]


def outcome(function: Callable[[], Any]) -> Any:
    """The result of a call of NumPy, or the exception that it raises."""
    with np.errstate(all="ignore"):
        try:
            return function()
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            return error


def difference(expected: Any, found: Any, roundings: float = 64.0) -> str:
    """How results differ in structure, shape, dtype or value; empty if they do not. roundings: the
    tolerance for floats, in units of their precision, relative and absolute."""
    if isinstance(expected, (tuple, list)):
        if not isinstance(found, tuple) or len(found) != len(expected):
            return f"{len(expected)} results expected"
        every = (difference(a, b, roundings) for a, b in zip(expected, found, strict=True))
        return next((d for d in every if d), "")
    expected, found = np.asarray(expected), np.asarray(found)
    if expected.shape != found.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    if expected.dtype != found.dtype:
        return f"dtype {found.dtype}, expected {expected.dtype}"
    if expected.dtype.kind not in "fc":
        return "" if np.array_equal(expected, found) else f"{found}, expected {expected}"
    bound = roundings * float(np.finfo(expected.dtype).eps)
    with np.errstate(all="ignore"):
        wide = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in (found, expected)]
        close = np.isclose(*wide, rtol=bound, atol=bound, equal_nan=True)
    return "" if close.all() else f"{found[~close]}, expected {expected[~close]}"
