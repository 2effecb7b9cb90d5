"""The functions of `pyc.numpy`, and the element types that they take: found by tracing them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.errors import PycError
from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.types import ArrayType
from pyc.trace.capture import capture
from pyc.trace.trace import Input

KINDS = [*dict.fromkeys(dtype.kind for dtype in dt.ALL)]
"""Kinds of element types, in the order of the columns."""

_LINE, _SQUARE = (4,), (3, 3)
_FORMS: tuple[Callable[[Any, Any], tuple[tuple[Any, ...], dict[str, Any]]], ...] = (
    lambda line, square: ((square,), {}),
    lambda line, square: ((square, square), {}),
    lambda line, square: ((line,), {}),
    lambda line, square: ((line, line), {}),
    lambda line, square: ((line, line, line), {}),
    lambda line, square: (([square, square],), {}),
    lambda line, square: ((square, 1), {}),
    lambda line, square: ((square, 0, 1), {}),
    lambda line, square: ((square, (3, 3)), {}),
    lambda line, square: ((square,), {"size": 3}),
    lambda line, square: ((line, line), {"size": 3}),
    lambda line, square: ((line,), {"minlength": 3}),
    lambda line, square: (("ij,jk->ik", square, square), {}),
)
"""Arguments that are tried one after the other."""


@frozen()
class Row:
    """A function: its name, whether NumPy has one of that name, the kinds of elements that it was
    seen to take (none: it takes no arrays, or other arguments are needed)."""

    name: str
    is_numpys: bool
    kinds: tuple[str, ...]


def _functions() -> Iterator[tuple[str, Callable[..., Any], Any]]:
    """(name, function, NumPy's of that name or None), those of namespaces behind the others."""
    spaces: list[tuple[str, Any, Any]] = [("", pnp, np)]
    for name in pnp.__all__:
        found = getattr(pnp, name)
        if hasattr(found, "__all__"):
            spaces.append((f"{name}.", found, getattr(np, name)))
    for path, ours, theirs in spaces:
        for name in sorted(ours.__all__):
            found = getattr(ours, name)
            if callable(found) and not isinstance(found, type):
                yield path + name, found, getattr(theirs, name, None)


def _takes(function: Callable[..., Any], dtype: dt.DType) -> bool:
    """Whether a function can be traced with arrays of a type."""
    types = [Input(ArrayType(shape, dtype)) for shape in (_LINE, _SQUARE)]
    for form in _FORMS:

        def run(line: Any, square: Any, form: Any = form) -> Any:
            args, options = form(line, square)
            return [x for x in _flat(function(*args, **options)) if hasattr(x, "type")]

        try:
            if capture(run, types).graph.results:
                return True
        except (PycError, TypeError, ValueError, IndexError, AttributeError):
            continue
    return False


def _flat(x: Any) -> Sequence[Any]:
    return [y for v in x for y in _flat(v)] if isinstance(x, (tuple, list)) else [x]


def rows() -> list[Row]:
    """Every public function."""
    examples = {d.kind: d for d in (dt.b1, dt.i64, dt.u8, dt.f64, dt.c128)}
    return [
        Row(name, theirs is not None, tuple(k for k in KINDS if _takes(function, examples[k])))
        for name, function, theirs in _functions()
    ]


__all__ = ["KINDS", "Row", "rows"]
