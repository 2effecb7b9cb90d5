"""Values that Python and NumPy can work on while tracing: what is known of arguments and results.

NumPy itself runs only on values that are known (`trace/known.py`), never on an array from outside
that may change before the next call; and what it gives becomes constants of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyc.errors import TraceError
from pyc.interpreter import current
from pyc.ir import dtype as dt
from pyc.numpy.core import constant
from pyc.trace import location
from pyc.trace.parts import Selected
from pyc.trace.sharing import is_argument, relate
from pyc.trace.trace import CONSTANT_BYTES
from pyc.trace.tracer import Tracer

Taken = list[tuple[Tracer, "np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]]
"""Traced arrays, their elements, and the copies of these that NumPy gets."""


def concrete(x: Any, needed: bool = True, taken: Taken | None = None) -> tuple[Any, bool]:
    """(`x` with every traced value in its tuples, lists and dicts replaced by its elements, True)
    if all are known, else (`x`, False). Values of rank 0 become scalars.

    needed: whether the trace cannot go on without them, see `Tracer.needed`; taken: arrays are
    added to it
    raises TraceError: an array from outside that may change
    """
    if isinstance(x, Tracer):
        found = x.needed() if needed else x.known()
        if found is None:
            return x, False
        if x.weak is not None:
            return found.item(), True
        if not found.ndim:
            return found[()], True
        copy = found.copy()
        if taken is not None:
            taken.append((x, found, copy))
        return copy, True
    if isinstance(x, Selected):
        return x, False
    if type(x) is np.ndarray and dt.of(x.dtype) is not None:
        current().lift(x)  # raises: it is from outside and may change
    if type(x) in (tuple, list):
        pairs = [concrete(v, needed, taken) for v in x]
        if all(v is w for (v, _), w in zip(pairs, x, strict=True)):
            return x, all(known for _, known in pairs)
        return type(x)(v for v, _ in pairs), all(known for _, known in pairs)
    if type(x) is dict:
        pairs = [concrete(v, needed, taken) for v in x.values()]
        return dict(zip(x, (v for v, _ in pairs), strict=True)), all(known for _, known in pairs)
    return x, True


def is_traced(x: Any) -> bool:
    """Whether `x` or something in its tuples, lists and dicts is a traced value."""
    if type(x) in (tuple, list):
        return any(map(is_traced, x))
    return isinstance(x, (Tracer, Selected)) or (
        type(x) is dict and any(map(is_traced, x.values()))
    )


def by_numpy(
    name: str, function: Callable[..., Any], args: Sequence[Any], options: Any
) -> tuple[Any, bool]:
    """(what NumPy gives, True) for arguments that are all known, as values of the trace; else
    (None, False). Arrays that NumPy changes in place are changed.

    raises TraceError: the result is too large to be part of the program, or an array must not be
    changed
    """
    taken: Taken = []
    (given, named), known = concrete((tuple(args), dict(options)), taken=taken)
    if not known:
        return None, False
    result = function(*given, **named)
    for array, before, copy in taken:
        if copy.tobytes() != before.tobytes():
            new = constant(copy)
            array.change(new, name, "`y = x.copy()`")
    same = next((array for array, _, copy in taken if copy is result), None)
    if same is not None:
        return same, True
    found = local(name, result)
    _relate(result, found, taken)
    return found, True


def _relate(result: Any, found: Any, taken: Taken) -> None:
    """Notes which results are views of what NumPy got: constants stand for these, so whoever writes
    to one side must not use the other any more."""
    if isinstance(found, (tuple, list)):
        for part, made in zip(result, found, strict=True):
            _relate(part, made, taken)
    elif isinstance(found, Tracer):
        whole = [array for array, _, copy in taken if np.may_share_memory(copy, result)]
        found.argument = any(map(is_argument, whole))
        relate(found, [array.memory for array in whole])


def local(name: str, result: Any) -> Any:
    """A result of NumPy as a value of the trace: arrays of numbers become constants, so that they
    can be changed in place like any other array made inside; all else stays."""
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*(local(name, r) for r in result))
    if type(result) in (tuple, list):
        return type(result)(local(name, r) for r in result)
    if type(result) is not np.ndarray or dt.of(result.dtype) is None:
        return result
    if result.nbytes > CONSTANT_BYTES:
        raise TraceError(
            f"{name} gives an array of {result.nbytes} bytes while the function is traced, and "
            f"constants are limited to {CONSTANT_BYTES}",
            fix="Compute it outside and pass it as an argument.",
            place=location.here(),
        )
    return constant(result)
