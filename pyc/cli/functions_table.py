"""The functions of `pyc.numpy`, the element types that they take, and where they run: found by
tracing and planning them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.cli.places import Places, places
from pyc.errors import PycError
from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.graph import Graph
from pyc.ir.types import ArrayType
from pyc.trace.capture import capture
from pyc.trace.trace import Input

KINDS = [*dict.fromkeys(dtype.kind for dtype in dt.ALL)]
"""Kinds of element types, in the order of the columns."""

_LINE, _SQUARE = (48,), (24, 24)
_FORMS: tuple[Callable[[Any, Any], tuple[tuple[Any, ...], dict[str, Any]]], ...] = (
    lambda line, square: ((square,), {}),
    lambda line, square: ((square, square), {}),
    lambda line, square: ((line,), {}),
    lambda line, square: ((line, line), {}),
    lambda line, square: ((line, line, line), {}),
    lambda line, square: (([square, square],), {}),
    lambda line, square: ((square, 1), {}),
    lambda line, square: ((square, 0, 1), {}),
    lambda line, square: ((square, _SQUARE), {}),
    lambda line, square: ((square[:, :3], square[:, :3]), {}),
    lambda line, square: ((square,), {"size": 3}),
    lambda line, square: ((line, line), {"size": 3}),
    lambda line, square: ((line,), {"minlength": 3}),
    lambda line, square: (("ij,jk->ik", square, square), {}),
    lambda line, square: ((square, square.dtype), {}),
)
"""Arguments that are tried one after the other."""
_NUMBERS: tuple[tuple[Any, ...], ...] = ((5,), ((2, 3),), ((2, 3), 1.5), (5, 1.5))
"""Arguments of functions that make arrays of numbers and shapes."""


@frozen()
class Row:
    """A function: its name, whether NumPy has one of that name, the kinds of elements that it was
    seen to take (none: it takes no arrays, or other arguments are needed), and where it runs with
    numbers of one of them (None: it was not seen to)."""

    name: str
    is_numpys: bool
    kinds: tuple[str, ...]
    places: Places | None


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


def _traced(function: Callable[..., Any], dtype: dt.DType) -> Graph | None:
    """A function traced with arrays of a type; None if it does not take them."""
    types = [Input(ArrayType(shape, dtype)) for shape in (_LINE, _SQUARE)]
    for form in _FORMS:

        def run(line: Any, square: Any, form: Any = form) -> Any:
            args, options = form(line, square)
            return [*filter(_is_traced, _flat(function(*args, **options)))]

        try:
            graph = capture(run, types).graph
            if graph.results:
                return graph
        except (PycError, TypeError, ValueError, IndexError, AttributeError):
            continue
    return None


def _making(function: Callable[..., Any]) -> Graph | None:
    """A function that makes arrays of numbers, traced, and its results used; None if it makes
    none."""
    for numbers in _NUMBERS:

        def run(line: Any, numbers: Any = numbers) -> Any:
            found = _flat(function(*numbers))
            return [
                pnp.add(x, line[0]) for x in found if isinstance(x, np.ndarray) or _is_traced(x)
            ]

        try:
            graph = capture(run, [Input(ArrayType(_LINE, dt.f64))]).graph
            if graph.results:
                return graph
        except (PycError, TypeError, ValueError, IndexError, AttributeError):
            continue
    return None


def _is_traced(x: Any) -> bool:
    return hasattr(x, "type")


def _flat(x: Any) -> Sequence[Any]:
    return [y for v in x for y in _flat(v)] if isinstance(x, (tuple, list)) else [x]


def rows() -> list[Row]:
    """Every public function."""
    return [_row(name, function, theirs is not None) for name, function, theirs in _functions()]


def _row(name: str, function: Callable[..., Any], is_numpys: bool) -> Row:
    examples = {d.kind: d for d in (dt.f64, dt.c128, dt.i64, dt.u8, dt.b1)}
    graphs = {kind: _traced(function, dtype) for kind, dtype in examples.items()}
    kinds = tuple(k for k in KINDS if graphs[k] is not None)
    graph = next((g for g in graphs.values() if g is not None), None) or _making(function)
    return Row(name, is_numpys, kinds, places(graph) if graph is not None else None)


__all__ = ["KINDS", "Row", "rows"]
