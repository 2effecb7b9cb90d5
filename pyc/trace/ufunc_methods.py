"""`reduce`, `accumulate`, `reduceat` and `at` of any ufunc of two arguments.

`dispatch` sends sums, products and extremes to the operations that are made for them. Here an
associative function combines elements in a tree; any other takes them one after the other in a loop
(`scan`), as NumPy does. Functions are named, so that programs on devices are kept by their names.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.errors import ArgumentError, DTypeError, IndexOutOfRangeError, UnsupportedOpError
from pyc.interpreter import bind1, type_of
from pyc.ir import dtype as dt
from pyc.numpy import indexing, masked
from pyc.numpy.core import (
    axis_of,
    broadcast,
    broadcast_shape,
    cast,
    constant,
    known_elements,
    literal,
    part,
    reduced_axes,
    start_of,
    to_dtype,
    value,
)
from pyc.numpy.lax_scans import associative_scan
from pyc.trace import location
from pyc.trace.control import scan, while_loop

ASSOCIATIVE: dict[str, Any] = {
    "add": 0,
    "multiply": 1,
    "maximum": None,
    "minimum": None,
    "fmax": None,
    "fmin": None,
    "logical_and": True,
    "logical_or": False,
    "logical_xor": False,
    "gcd": 0,
    "bitwise_and": -1,
    "bitwise_or": 0,
    "bitwise_xor": 0,
    "hypot": 0.0,
    "logaddexp": -np.inf,
    "logaddexp2": -np.inf,
}
"""Ufuncs that may combine elements in any order, and their identity (None: they have none)."""
_POSITIVE = ("gcd", "hypot")
"""Ufuncs that give one element without its sign, as all: NumPy begins with their identity."""
_WIDE = ("add", "multiply")
"""Ufuncs whose reductions of small integers are 64 bits wide."""


def _prepared(name: str, method: str, x: Any, dtype: Any) -> Any:
    """`x` in the type in which the ufunc combines it with itself."""
    x = pnp.asarray(x)
    kind = type_of(x).dtype
    if dtype is not None:
        kind = to_dtype(dtype)
    elif name.startswith("logical_"):
        kind = dt.b1
    elif name in _WIDE and (kind is dt.b1 or (kind.is_integer and kind.bits < 64)):
        kind = dt.u64 if kind.kind == "uint" else dt.i64
    else:
        found = type_of(getattr(pnp, name)(literal(1, kind), literal(1, kind))).dtype
        kind = found if found is not dt.b1 else kind
    typed = cast(x, kind)
    again = getattr(pnp, name)(literal(1, kind), literal(1, kind))
    if type_of(again).dtype is not kind:
        raise DTypeError(
            f"np.{name}.{method}: of two {kind.name} it gives {type_of(again).dtype.name}",
            fix="Compare neighbours with the function itself, then use `np.all` or `np.any`.",
            place=location.here(),
        )
    return typed


def _lines(name: str, x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """`x` with the axes that are reduced as one last axis, and its shape with each as 1."""
    shape = type_of(x).shape
    axes = reduced_axes(f"np.{name}.reduce", axis, len(shape))
    if name not in ASSOCIATIVE and len(axes) > 1:
        raise ArgumentError(
            f"np.{name}.reduce: the order decides the result, so one axis is reduced only",
            place=location.here(),
        )
    kept = [k for k in range(len(shape)) if k not in axes]
    rows = pnp.permute_dims(x, (*kept, *axes))
    count = int(np.prod([shape[k] for k in axes], dtype=int))
    rows = pnp.reshape(rows, (*(shape[k] for k in kept), count))
    return rows, tuple(1 if k in axes else n for k, n in enumerate(shape))


def _combined(name: str, rows: Any, mask: Any = None) -> Any:
    """The combination of the last axis, which is not empty. mask: of what counts where the order
    decides, the first element among it."""
    function = getattr(pnp, name)
    *around, count = type_of(rows).shape
    last = len(around)
    if name not in ASSOCIATIVE:
        steps = pnp.moveaxis(rows, -1, 0)
        first = pnp.reshape(part(steps, 0, 0, 1), tuple(around))
        rest = part(steps, 0, 1, count - 1)
        if mask is None:
            found, _ = scan(lambda carry, each: (function(carry, each), None), first, rest)
            return found
        counts = part(pnp.moveaxis(mask, -1, 0), 0, 1, count - 1)

        def step(carry: Any, each: Any) -> tuple[Any, None]:
            element, is_in = each
            return pnp.where(is_in, function(carry, element), carry), None

        return scan(step, first, (rest, counts))[0]
    while count > 1:
        half = count // 2
        joined = function(part(rows, last, 0, half), part(rows, last, half, half))
        odd = [part(rows, last, 2 * half, 1)] if count % 2 else []
        rows = pnp.concatenate([joined, *odd], last) if odd else joined
        count = half + len(odd)
    return pnp.reshape(rows, tuple(around))


def reduce(
    name: str,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Any:
    """The combination of the elements along some axes (all if None), one axis if the order decides.

    initial: what comes first, None: the first element in place of an identity; where: a mask of
    the elements that count, for a ufunc that has an identity or with `initial`
    raises ArgumentError: several axes where the order decides, or no element and no identity;
    ShapeError: a mask that does not fit; IntegerRangeError: `initial` is beyond the type
    """
    typed = _prepared(name, "reduce", x, dtype)
    kind = type_of(typed).dtype
    begins = initial is not None and initial is not np._NoValue
    unit = None if initial is None else _identity(name, kind)
    start = start_of(initial, kind) if begins else unit
    rows, wide = _lines(name, typed, axis)
    *around, count = type_of(rows).shape
    mask = None
    if where is not True:
        if start is None:
            raise ArgumentError(
                f"np.{name}.reduce: under a mask there may be no element, and it has no identity",
                fix="Say what comes first: `initial=`.",
                place=location.here(),
            )
        mask, _ = _lines(name, masked.mask_of(f"np.{name}.reduce", where, typed), axis)
    if not count and start is None:
        raise ArgumentError(
            f"np.{name}.reduce: no elements, and it has no identity", place=location.here()
        )
    if mask is not None and name in ASSOCIATIVE:
        # What has no identity takes an element as often as it likes, so `initial` too.
        rows = pnp.where(mask, rows, start if unit is None else unit)
    if begins or not count or (name in _POSITIVE and count == 1 and start is not None):
        rows = pnp.concatenate([broadcast(start, (*around, 1)), rows], -1)
        if mask is not None:
            mask = pnp.concatenate([broadcast(literal(True, dt.b1), (*around, 1)), mask], -1)
    found = cast(_combined(name, rows, mask), kind)
    return pnp.reshape(found, wide) if keepdims else found


def _identity(name: str, kind: dt.DType) -> Any:
    """What an associative ufunc does not notice, in a type; None if there is no such thing."""
    found = ASSOCIATIVE.get(name)
    if found is None:
        return None
    return literal(found % 2**kind.bits if kind.kind == "uint" else found, kind)


def accumulate(name: str, x: Any, axis: int = 0, dtype: Any = None) -> Any:
    """Every intermediate combination along an axis.

    raises AxisError: there is no such axis
    """
    typed = _prepared(name, "accumulate", x, dtype)
    shape = type_of(typed).shape
    place = axis_of(f"np.{name}.accumulate", axis, len(shape))
    function = getattr(pnp, name)
    if not shape[place]:
        return typed
    if name in ASSOCIATIVE:
        return associative_scan(function, typed, False, place)
    steps = pnp.moveaxis(typed, place, 0)
    first = pnp.reshape(part(steps, 0, 0, 1), type_of(steps).shape[1:])

    def step(carry: Any, each: Any) -> tuple[Any, Any]:
        found = function(carry, each)
        return found, found

    _, rest = scan(step, first, part(steps, 0, 1, shape[place] - 1))
    found = pnp.concatenate([part(steps, 0, 0, 1), rest], 0)
    return pnp.moveaxis(found, 0, place)


_SCATTERS = {"add": "add", "multiply": "multiply", "maximum": "max", "minimum": "min"}
_STARTS = {"add": 0, "multiply": 1}


def reduceat(name: str, x: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
    """The combinations of parts along an axis: from each of the places `indices`, a line, up to the
    next one, of the element there where the next one is no later, and to the end from the last.

    Traced places cost a pass over the axis for each of them; of a function that may not be combined
    in any order as many steps as the longest part has elements.
    raises IndexOutOfRangeError: a place that there is not
    """
    typed = _prepared(name, "reduceat", x, dtype)
    place = axis_of(f"np.{name}.reduceat", axis, len(type_of(typed).shape))
    rows = pnp.moveaxis(typed, place, -1)
    length = type_of(rows).shape[-1]
    is_empty = type(indices) is list and not indices
    given = pnp.asarray(indices, np.int64 if is_empty else None)
    if not type_of(given).dtype.is_integer or len(type_of(given).shape) != 1:
        raise DTypeError(f"np.{name}.reduceat: needs a line of integers, got {type_of(given)}")
    known = known_elements(given)
    if known is None:
        found = _of_traced_places(name, rows, given, length)
    else:
        beyond = known[(known < 0) | (known >= length)]
        if beyond.size:
            raise IndexOutOfRangeError(
                f"np.{name}.reduceat: there is no place {beyond[0]} on an axis of length {length}",
                place=location.here(),
            )
        stops = np.append(known[1:], length)[: known.size]
        parts = [np.arange(a, max(b, a + 1)) for a, b in zip(known, stops, strict=True)]
        found = _of_known_places(name, rows, parts)
    return pnp.moveaxis(found, -1, place)


def _of_known_places(name: str, rows: Any, parts: list[Any]) -> Any:
    *around, _ = type_of(rows).shape
    kind = type_of(rows).dtype
    if not parts:
        return broadcast(literal(0, kind), (*around, 0))
    if name in _SCATTERS and not kind.is_complex and kind is not dt.b1:
        places = np.concatenate(parts)
        labels = np.repeat(np.arange(len(parts)), [p.size for p in parts])
        taken = indexing.gather(rows, (..., constant(places)))
        if name in _STARTS:
            start = broadcast(literal(_STARTS[name], kind), (*around, len(parts)))
        else:
            first = constant(np.array([p[0] for p in parts]))
            start = indexing.gather(rows, (..., first))
        key = (..., constant(labels))
        return indexing.update(start, key, taken, how=_SCATTERS[name])
    runs = [part(rows, len(around), int(p[0]), p.size) for p in parts]
    return pnp.stack([_combined(name, run) for run in runs], -1)


def _of_traced_places(name: str, rows: Any, given: Any, length: int) -> Any:
    # As unsigned, a negative place fails the check in place of counting from the end.
    checked = bind1("index_check", cast(given, dt.u64), bound=length, axis=0)
    starts = cast(checked, dt.i64)
    ends = pnp.concatenate([starts[1:], constant(np.array([length]))])
    ends = pnp.maximum(ends, starts + 1)
    identity = _start_of(name, type_of(rows).dtype)
    if identity is None:
        return _one_after_the_other(name, rows, starts, ends, length)
    at = pnp.arange(length)
    inside = (at >= starts[:, None]) & (at < ends[:, None])
    wide = pnp.expand_dims(rows, -2)
    kind = type_of(rows).dtype
    chosen = pnp.where(inside, wide, cast(value(identity), kind))
    own = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}.get(name)
    if own is not None and kind is not dt.b1:
        return cast(getattr(pnp, own)(chosen, axis=-1), kind)
    return _combined(name, chosen)


def _start_of(name: str, kind: dt.DType) -> Any:
    """What changes nothing in a combination; None if there is no such thing."""
    if name not in ("maximum", "minimum", "fmax", "fmin"):
        return _identity(name, kind)
    if kind.is_complex or kind is dt.b1:
        return None
    low = name in ("maximum", "fmax")
    if kind.is_float:
        return (-np.inf if low else np.inf) if name in ("maximum", "minimum") else np.nan
    limits = np.iinfo(kind.numpy)
    return int(limits.min if low else limits.max)


def _one_after_the_other(name: str, rows: Any, starts: Any, ends: Any, length: int) -> Any:
    """All parts at once, an element of each at a time, as far as the longest one goes."""
    function = getattr(pnp, name)
    first = indexing.gather(rows, (..., starts))
    if not type_of(starts).shape[0]:
        return first
    longest = pnp.max(ends - starts)

    def goes_on(state: Any) -> Any:
        return state[0] < longest

    def step(state: Any) -> Any:
        k, found = state
        at = starts + k
        each = indexing.gather(rows, (..., pnp.minimum(at, length - 1)))
        new = cast(function(found, each), type_of(found).dtype)
        return k + 1, pnp.where(at < ends, new, found)

    return while_loop(goes_on, step, (constant(np.int64(1)), first))[1]


def along(
    ufunc: np.ufunc,
    ours: Any,
    inputs: Any,
    dtype: Any,
    axis: Any = None,
    axes: Any = None,
    keepdims: bool = False,
) -> Any:
    """The result of a generalised ufunc (`matmul`, `vecdot`, ...) whose vectors and matrices lie
    along other axes than the last ones.

    axis: of the vectors of all inputs; axes: a list of the axes of each input, and of the result;
    keepdims: the axis of vectors stays, as 1. NumPy has looked at them before.
    """
    text = (ufunc.signature or "").replace("(", "").replace(" ", "")
    cores = [len([n for n in part.split(",") if n]) for part in text.replace("->", "").split(")")]
    cores = cores[: ufunc.nin + 1]
    if axis is not None:
        axes = [axis] * ufunc.nin
    given = None if axes is None else [a if isinstance(a, tuple) else (a,) for a in axes]
    if given is not None and not cores[-1] and len(given) == ufunc.nin:
        given.append(())
    arrays = [pnp.asarray(x, dtype) for x in inputs]
    if given is not None:
        ends = [tuple(range(-n, 0)) for n in cores]
        arrays = [
            pnp.moveaxis(x, places, end) if places else x
            for x, places, end in zip(arrays, given, ends, strict=False)
        ]
    found = ours(*arrays)
    if keepdims:
        return pnp.expand_dims(found, -1 if given is None else given[0][0])
    if given is not None and given[-1]:
        found = pnp.moveaxis(found, tuple(range(-cores[-1], 0)), given[-1])
    return found


def changed_at(name: str, array: Any, key: Any, values: Any = None) -> Any:
    """`array` after the ufunc was applied to it and `values`, in place, at each of the places `key`
    in turn: integers and integer arrays for its first axes. A place that occurs twice changes
    twice.

    Results are cast to the dtype of the array, as NumPy does.
    raises UnsupportedOpError: another key
    """
    function = getattr(pnp, name)
    items = key if isinstance(key, tuple) else (key,)
    plain = all(k is not None and k is not Ellipsis and not isinstance(k, slice) for k in items)
    places = [pnp.asarray(k) for k in items] if plain else []
    if not plain or not all(type_of(k).dtype.is_integer for k in places):
        raise UnsupportedOpError(
            f"np.{name}.at: places other than integer arrays",
            fix="Write the places as integers: `np.nonzero(mask)`, `np.arange(start, stop)`.",
            place=location.here(),
        )
    shape = type_of(array).shape
    inner = broadcast_shape(f"np.{name}.at", [type_of(k).shape for k in places])
    rest = shape[len(places) :]
    steps = [pnp.reshape(broadcast(k, inner), -1) for k in places]
    given = []
    if values is not None:
        wide = pnp.broadcast_to(values, (*inner, *rest))
        given = [pnp.reshape(wide, (math.prod(inner), *rest))]

    def step(carry: Any, each: Any) -> tuple[Any, None]:
        at, operands = tuple(each[: len(steps)]), each[len(steps) :]
        new = function(indexing.gather(carry, at), *operands)
        return indexing.update(carry, at, cast(new, type_of(carry).dtype)), None

    found, _ = scan(step, pnp.asarray(array), (*steps, *given))
    return found


__all__ = ["ASSOCIATIVE", "accumulate", "along", "changed_at", "reduce", "reduceat"]
