"""Reductions over axes, by the monoids of `order.py` in its documented order.

params["axes"]: the reduced axes, increasing; they are dropped from the shape. Half types accumulate
in float32 and are rounded once at the end (`element.components_of`). Integers wrap in their own
type: NumPy's widening of integer sums is a `cast` that `pyc.numpy` puts before. Complex sums are
two sums of parts, which `pyc.numpy` composes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.errors import DTypeError, ShapeError
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.element import Element
from pyc.ir.expr import Expr
from pyc.ir.op import Kind, Op, Types, define
from pyc.ir.types import ArrayType


def reduction(
    name: str,
    monoid: str,
    kinds: str,
    reference: Callable[..., Any],
    *,
    empty: bool,
    result: DType | None = None,
    **options: Any,
) -> Op:
    """Define a reduction over elements of `kinds`; empty: whether no elements give a result."""
    allowed = set(kinds.split())

    def rule(args: Types, *, axes: tuple[int, ...]) -> Types:
        (x,) = args
        if x.dtype.kind not in allowed:
            raise DTypeError(f"{name}: needs {kinds.replace(' ', ' or ')} elements, got {x}")
        if list(axes) != sorted(set(axes)) or any(not 0 <= a < x.rank for a in axes):
            raise ShapeError(f"{name}: axes {axes} are not increasing axes of {x}")
        if not empty and any(x.shape[a] == 0 for a in axes):
            raise ShapeError(f"{name}: no elements along axes {axes} of {x}, and no identity")
        kept = tuple(n for a, n in enumerate(x.shape) if a not in axes)
        return (ArrayType(kept, result or x.dtype),)

    return define(
        Op(
            name,
            Kind.REDUCE,
            rule,
            monoid=monoid,
            reference=reference,
            kinds=kinds,
            **options,
        )
    )


def accumulator(x: Any) -> Any:
    """`x` in the type that its reduction accumulates in."""
    return x.astype(np.float32) if x.dtype.kind in "fV" and x.dtype.itemsize <= 2 else x


def _folded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The NumPy reduction `function` in the accumulator type, rounded to the element type."""

    def reference(x: Any, *, axes: tuple[int, ...]) -> Any:
        wide = accumulator(x)
        options = {"dtype": wide.dtype} if function in (np.sum, np.prod) else {}
        return np.asarray(function(wide, axis=axes, **options)).astype(x.dtype)

    return reference


def _position(elements: tuple[Element, ...], position: Expr, **_: Any) -> tuple[Expr, ...]:
    (x,) = elements
    assert isinstance(x, Expr)
    return x, position


def _placed(components: tuple[Expr, ...], **_: Any) -> Expr:
    return components[1]


def _argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """argmax or argmin over several axes as one row-major sequence."""

    def reference(x: Any, *, axes: tuple[int, ...]) -> Any:
        kept = [a for a in range(x.ndim) if a not in axes]
        shape = [x.shape[a] for a in kept]
        rows = accumulator(x).transpose(*kept, *axes).reshape(*shape, -1 if x.size else 1)
        if not axes:
            return np.zeros(shape, np.int64)
        return np.asarray(function(rows, axis=-1), np.int64) if x.size else np.zeros(shape, int)

    return reference


_REALS = "int uint float"
_ORDERED = "bool int uint float"
reduction("reduce_sum", "add", _REALS, _folded(np.sum), empty=True)
reduction("reduce_prod", "mul", _REALS, _folded(np.prod), empty=True)
reduction("reduce_max", "maximum", _REALS, _folded(np.max), empty=False)
reduction("reduce_min", "minimum", _REALS, _folded(np.min), empty=False)
reduction("reduce_any", "or", "bool", lambda x, *, axes: np.any(x, axis=axes), empty=True)
reduction("reduce_all", "and", "bool", lambda x, *, axes: np.all(x, axis=axes), empty=True)
reduction(
    "argmax",
    "argmax",
    _ORDERED,
    _argument(np.argmax),
    empty=False,
    result=dt.i64,
    prepare=_position,
    finish=_placed,
)
reduction(
    "argmin",
    "argmin",
    _ORDERED,
    _argument(np.argmin),
    empty=False,
    result=dt.i64,
    prepare=_position,
    finish=_placed,
)
