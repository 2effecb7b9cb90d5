"""NumPy's functions of arrays whose length depends on data: of what masks select, of slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.trace import boxes, dispatch, selection, updating
from pyc.trace.boxes import Box
from pyc.trace.parts import Selected
from pyc.trace.selection import BY_FUNCTION, BY_UFUNC, ELEMENTWISE, Selection


def as_arrays(args: Sequence[Any]) -> list[Any]:
    """Arguments, comprehensions with conditions on data as selections."""
    return [x.selection() if isinstance(x, Selected) else x for x in args]


def _first_box(args: Sequence[Any]) -> Box | None:
    """A box in arguments, in lists of them too."""
    for x in args:
        found = _first_box(x) if type(x) in (list, tuple) else x
        if isinstance(found, Box):
            return found
    return None


def call_function(function: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """The result of a NumPy function; ConcretizationError for what needs a length."""
    first = _first_box([*args, *kwargs.values()])
    if first is None:
        return selection.call_function(function, args, kwargs)
    name = f"`{dispatch.name_of(function)}`"
    direct = any(x is first for x in args)
    if not direct:
        first.refuse(name)
    if function in BY_FUNCTION and args[0] is first:
        return first.reduced(BY_FUNCTION[function], *args[1:], **kwargs)
    if function in boxes.FUNCTIONS:
        return boxes.FUNCTIONS[function](*args, **kwargs)
    if ELEMENTWISE.get(function, ()) is None and not kwargs:
        return boxes.elementwise(lambda x: dispatch.call_function(function, x, {}), args, name)
    masked = [x.under_mask(name) if isinstance(x, Box) else x for x in args]
    found = selection.call_function(function, masked, kwargs)
    return _boxed(found, first)


def _boxed(found: Any, first: Box) -> Any:
    """A result for each element of a slice, as one."""
    if isinstance(found, Selection):
        return Box(found.values, first.runs, first.made)
    return found


def call_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Any) -> Any:
    """The result of a method of a ufunc."""
    first = _first_box(inputs)
    out = next((o for o in options.get("out", ()) if o is not None), None)
    name = f"`np.{ufunc.__name__}`"
    if first is None:
        if isinstance(out, Box):
            out.refuse(f"{name} with `out=`")
        return selection.call_ufunc(ufunc, method, inputs, options)
    if method == "reduce" and ufunc in BY_UFUNC and len(inputs) == 1:
        axis = {"axis": 0} | {k: v for k, v in options.items() if k != "out"}
        return first.reduced(BY_UFUNC[ufunc], **axis)
    rest = {k: v for k, v in options.items() if k != "out"}
    if method == "outer" and len(inputs) == 2 and not options:
        return boxes.outer(ufunc, *inputs)
    if method == "__call__" and ufunc is np.matmul and not options:
        return boxes.contracted(*inputs)
    if method != "__call__" or ufunc.signature is not None:
        first.refuse(name)
    found = boxes.elementwise(
        lambda x: dispatch.call_ufunc(ufunc, "__call__", x, rest), inputs, name
    )
    if out is None:
        return found
    if not isinstance(out, Box) or isinstance(found, tuple):
        first.refuse(f"{name} with `out=`")
    if isinstance(found, Box):
        found.values = updating.fitted_kind(name, out.values, found.values)
    else:
        found = updating.fitted_kind(name, out.values, found)
    out.assign(found)
    return out


__all__ = ["Selection", "as_arrays", "call_function", "call_ufunc"]
