"""Functions of arrays under the names of `jax.lax`, where `pyc.numpy` has other names or rules."""

from __future__ import annotations

from typing import Any

from pyc.errors import DTypeError, ShapeError
from pyc.interpreter import bind1
from pyc.ir import dtype as dt
from pyc.numpy import sorting
from pyc.numpy.core import broadcast, cast, dtype_of, shape_of, type_text
from pyc.numpy.creation import asarray


def top_k(operand: Any, k: int, *, axis: int = -1) -> tuple[Any, Any]:
    """The k greatest elements along an axis, descending, and their int64 indices; see
    `pyc.numpy.topk`."""
    values, places = sorting.topk(operand, k, axis)
    return values, places


def sort(operand: Any, dimension: int = -1, is_stable: bool = True) -> Any:
    """`operand` in ascending order along a dimension; every sort is stable."""
    del is_stable
    return sorting.sort(operand, dimension)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """`on_true` where `pred` holds, else `on_false`: arrays of one shape and type, which are not
    broadcast or converted as by `pyc.numpy.where`. pred: bools of that shape, or one bool.

    raises ShapeError or DTypeError: they differ
    """
    return select_n(pred, on_false, on_true)


def select_n(which: Any, *cases: Any) -> Any:
    """The element of `cases[which]` at each place: arrays of one shape and type. which: integers,
    or bools for two cases, of their shape or just one; of a number beyond the cases the nearest.

    raises ShapeError or DTypeError: no case, or they differ
    """
    chosen, arrays = asarray(which), [asarray(c) for c in cases]
    if not arrays:
        raise ShapeError("select_n: needs at least one case")
    first = arrays[0]
    for other in arrays[1:]:
        if shape_of(other) != shape_of(first):
            raise ShapeError(f"select: shapes differ: {type_text(first)} and {type_text(other)}")
        if dtype_of(other) is not dtype_of(first):
            raise DTypeError(f"select: types differ: {type_text(first)} and {type_text(other)}")
    if shape_of(chosen) not in ((), shape_of(first)):
        raise ShapeError(
            f"select: the choice has another shape than the cases: {type_text(chosen)} and "
            f"{type_text(first)}"
        )
    if dtype_of(chosen).kind not in ("bool", "int", "uint"):
        raise DTypeError(f"select: needs bools or integers to choose by, got {type_text(chosen)}")
    if dtype_of(chosen) is dt.b1 and len(arrays) > 2:
        raise DTypeError(f"select_n: bools choose between two cases, not {len(arrays)}")
    found, at = arrays[0], broadcast(chosen, shape_of(first))
    for number, case in enumerate(arrays[1:]):
        beyond = at if dtype_of(at) is dt.b1 else _above(at, number)
        found = bind1("select", beyond, case, found)
    return found


def _above(x: Any, number: int) -> Any:
    return bind1("gt", x, broadcast(cast(number, dtype_of(x)), shape_of(x)))
