"""Sorting and searching. Sorts are stable, with NaN last."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, ConcretizationError, DTypeError, OptionError, ShapeError
from pyc.forks import load
from pyc.interpreter import bind, bind1, type_of
from pyc.ir import dtype as dt
from pyc.numpy import choices
from pyc.numpy.core import (
    as_lines,
    axes_of,
    axis_of,
    broadcast,
    cast,
    constant,
    dtype_of,
    integer,
    known_elements,
    literal,
    operands,
    result_dtype,
    reverse,
    shape_of,
    structural,
    type_text,
)
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import add, multiply, subtract
from pyc.numpy.indexing import gather
from pyc.numpy.logic import equal, less, where
from pyc.numpy.manipulation import moveaxis, ravel
from pyc.numpy.pieces import stack
from pyc.numpy.statistics import any as any_true
from pyc.numpy.statistics import mean


def sort(
    x: Any,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> Any:
    """`x` in ascending (or `descending`) order along an axis (flattened if None), NaN last.

    x: any shape and dtype, which the result has; complex numbers by their real, then imaginary
    parts kind: "quicksort", "heapsort", "mergesort" or "stable", by their first letters: every kind
    is the stable one, whatever `stable` is
    raises AxisError: no such axis; ArgumentError: another kind, or one and `stable`; DTypeError: no
    numbers, or an axis that is no integer

    NumPy: `numpy.sort`.

    >>> sort([30, 10, 20])
    array([10, 20, 30])
    """
    _check_kind("sort", kind, stable)
    return _sorted("sort", x, axis, descending)


def argsort(
    x: Any,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> Any:
    """The indices, int64, that sort `x` along an axis (flattened if None), NaN last; `descending`
    for the other order, with equal elements as they stand.

    x: any shape and dtype  ->  the same shape, or a line
    kind: as in `sort`: every kind is the stable one, whatever `stable` is
    raises AxisError: no such axis; ArgumentError: another kind, or one and `stable`; DTypeError: no
    numbers, an axis that is no integer, or `descending` no bool

    NumPy: `numpy.argsort`.

    >>> argsort([30, 10, 20])
    array([1, 2, 0])
    """
    _check_kind("argsort", kind, stable)
    return _sorted("argsort", x, axis, descending)


def _check_kind(name: str, kind: str | None, stable: bool | None) -> None:
    if kind is not None and stable is not None:
        raise ArgumentError(
            f"{name}: `kind` and `stable` cannot both be given",
            fix="Leave out both: every kind is the stable one.",
        )
    first = kind[:1].lower() if isinstance(kind, str) else ""
    if kind is not None and first not in ("q", "h", "m", "s"):
        choices.text(name, "kind", kind, ("quicksort", "heapsort", "mergesort", "stable"))
    if stable is not None:
        choices.truth(stable)


def _sorted(op: str, x: Any, axis: int | None, descending: bool) -> Any:
    if not isinstance(descending, (bool, int, np.bool)):
        raise DTypeError(f"{op}: `descending` is True or False, got {descending!r}")
    descending = bool(descending)
    x = asarray(x)
    if op == "argsort" or axis is None:
        x, place = as_lines(op, x, axis)
    else:
        place = axis_of(op, axis, len(shape_of(x)))
    rows = moveaxis(x, place, -1)
    if dtype_of(x).is_complex:
        found = getattr(load("pyc.numpy.complex_order"), op)(rows, descending)
    else:
        found = bind1(op, rows, descending=descending)
    return moveaxis(found, -1, place)


def topk(x: Any, k: int, axis: int | None = -1, *, mode: str = "largest") -> tuple[Any, Any]:
    """The first k elements along an axis (of `x` flattened if None) in descending order, or with
    mode "smallest" in ascending order, and their int64 indices. Equal ones come as they stand, NaN
    last.

    x: (..., n, ...), real  ->  twice (..., k, ...), of the dtype of x and int64
    raises ShapeError: fewer elements than k, or a negative k; AxisError: no such axis;
    ArgumentError: another mode; DTypeError: complex numbers, or a k or axis that is no integer

    >>> topk([3, 9, 4], 2)
    (array([9, 4]), array([1, 2]))
    """
    mode = choices.text("topk", "mode", mode, ("largest", "smallest"))
    if not hasattr(k, "__index__"):
        raise DTypeError(f"topk: k must be an integer, got {k!r}")
    x, count = asarray(x), int(k.__index__())
    if axis is None:
        x, axis = ravel(x), 0
    place = axis_of("topk", axis, len(shape_of(x)))
    length = shape_of(x)[place]
    if not 0 <= count <= length:
        raise ShapeError(
            f"topk: k = {count} is not in 0 ... {length}, the length of axis {axis} of "
            f"{type_text(x)}",
            fix="Ask for no more elements than there are.",
        )
    found = bind("top_k", moveaxis(x, place, -1), k=count, descending=mode == "largest")
    values, places = (moveaxis(v, -1, place) for v in found)
    return values, places


def median(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The middle of the sorted axes (all if None), the mean of two where there are two; NaN if any
    is, and of no elements.

    x: any shape  ->  without `axis`, one or several, or with keepdims of length 1 there
    dtype: floats and complex numbers stay what they are, integers and bools are float64
    raises AxisError: no such axis; ShapeError: an axis twice; DTypeError: no numbers, or an axis
    that is no integer

    NumPy: `numpy.median`.

    >>> median([1, 5, 3])
    np.float64(3.0)
    """
    x = asarray(x)
    ordered, wide = ordered_axes("median", x, axis)
    count = shape_of(ordered)[-1]
    if not (dtype_of(x).is_float or dtype_of(x).is_complex):
        ordered = cast(ordered, dt.f64)
    if count == 0:
        found = broadcast(literal(np.nan, dtype_of(ordered)), shape_of(ordered)[:-1])
    else:
        last, middle = gather(ordered, (..., count - 1)), gather(ordered, (..., count // 2))
        if count % 2 == 0:
            middle = mean(stack([gather(ordered, (..., count // 2 - 1)), middle]), 0)
        found = where(equal(last, last), middle, last)
    return bind1("reshape", found, shape=wide) if keepdims else found


def ordered_axes(name: str, x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """`x` with the axes (all if None) as a sorted last one, and its shape with these axes as 1."""
    shape = shape_of(x)
    axes = axes_of(name, axis, len(shape))
    kept = [k for k in range(len(shape)) if k not in axes]
    rows = bind1("transpose", x, axes=(*kept, *axes))
    count = prod([shape[k] for k in axes])
    rows = bind1("reshape", rows, shape=(*(shape[k] for k in kept), count))
    return sort(rows, -1), tuple(1 if k in axes else n for k, n in enumerate(shape))


def quantile(
    x: Any,
    q: Any,
    axis: Any = None,
    *,
    keepdims: bool = False,
    method: str = "linear",
    weights: Any = None,
) -> Any:
    """The element at fraction q of the sorted axes (all if None), linearly between neighbours; NaN
    if any is.

    x: any shape, real  ->  (*q.shape, *rest), the rest without `axis`, or with keepdims of length 1
    there; q: a number, or an array of them, in [0, 1]; traced ones outside of it give NaN
    dtype: NumPy's: a float's own where q is a Python number, any type's own where q is 0 or 1 as
    integers, else that of x and q together
    Where a fraction falls on an element it is that element, beside infinite ones too (NumPy's
    formula gives NaN).
    method: another of NumPy's rules for places between elements, or for which one to choose
    weights: how much each element counts, for the method "inverted_cdf"; of the shape of x, or of
    its axes `axis`
    raises ArgumentError: known fractions outside of [0, 1], another method, known weights below 0
    or all 0; ShapeError: no elements, an axis twice, or weights of another shape; AxisError: no
    such axis; DTypeError: complex or no numbers, or an axis that is no integer

    NumPy: `numpy.quantile`.

    >>> quantile([1, 2, 3], 0.25)
    np.float64(1.5)
    """
    given = (asarray(x), q, 1, axis, keepdims, _between)
    return quantiles_of("quantile", *given, method=method, weights=weights)


def percentile(
    x: Any,
    q: Any,
    axis: Any = None,
    *,
    keepdims: bool = False,
    method: str = "linear",
    weights: Any = None,
) -> Any:
    """`quantile` with q in percent.

    x, axis, keepdims, method, weights: as in `quantile`; q: in [0, 100], of any shape  ->
    (*q.shape, *rest)
    dtype: a float's own where q is a Python number, else that of x and q / 100 together
    raises ArgumentError: known q outside of [0, 100], another method, known weights below 0 or all
    0; ShapeError: no elements, an axis twice, or weights of another shape; AxisError: no such axis;
    DTypeError: complex or no numbers, or an axis that is no integer

    NumPy: `numpy.percentile`.

    >>> percentile([1, 2, 3], 25)
    np.float64(1.5)
    """
    given = (asarray(x), q, 100, axis, keepdims, _between)
    return quantiles_of("percentile", *given, method=method, weights=weights)


def quantiles_of(
    name: str,
    x: Any,
    q: Any,
    whole: int,
    axis: Any,
    keepdims: bool,
    between: Callable[[Any, np.floating[Any]], Any],
    *,
    method: str,
    weights: Any,
) -> Any:
    """Quantiles at fractions q / whole. between: the element at a fraction of the sorted last axis
    of an array, by the linear method."""
    if dtype_of(x).is_complex:
        raise DTypeError(f"{name}: needs real numbers, got {type_text(x)}")
    if type(q) not in (float, int) and dtype_of(asarray(q)).is_complex:
        raise DTypeError(f"{name}: the fractions must be real numbers, got {q}")
    several = type(q) in (list, tuple) and known_elements(asarray(q)) is None
    numbers = structural(q)
    plain = isinstance(method, str) and method == "linear"
    if several or hasattr(numbers, "type") or not plain or weights is not None:
        rest = (method, weights, name.startswith("nan"))
        return load("pyc.numpy.quantiles").quantiles(name, x, q, whole, axis, keepdims, *rest)
    kind = np.dtype(q.dtype) if hasattr(q, "dtype") else np.asarray(numbers).dtype
    # A percentage is divided in its own type, as in NumPy: of a half it is another fraction.
    exact = kind if kind.kind == "f" else np.dtype(np.float64)
    fractions = np.asarray(numbers, exact) / exact.type(whole)
    if not ((fractions >= 0) & (fractions <= 1)).all():
        raise ArgumentError(f"{name}: fractions must lie in [0, {whole}], got {q}")
    ordered, wide = ordered_axes(name, x, axis)
    count = shape_of(ordered)[-1]
    if count == 0:
        raise ShapeError(f"{name}: no elements along axis {axis} of {type_text(x)}")
    weak = type(q) is float or (type(q) is int and whole != 1)
    if weak or dtype_of(x) is dt.b1:
        ordered = cast(ordered, dt.promote_weak(float, dtype_of(x)))
    elif kind.kind == "f" or whole != 1:
        strong = dt.of(kind if kind.kind == "f" else np.dtype(np.float64))
        assert strong is not None, "NumPy's floats are pyc's"
        ordered = cast(ordered, dt.promote(dtype_of(x), strong))
    found = [between(ordered, p) for p in fractions.reshape(-1)]
    if keepdims:
        found = [bind1("reshape", each, shape=wide) for each in found]
    if fractions.ndim == 0:
        return found[0]
    if not found:
        kept = type_of(between(ordered, exact.type(0)))
        return broadcast(
            literal(0, kept.dtype), (*fractions.shape, *(wide if keepdims else kept.shape))
        )
    together = stack(found)
    return bind1("reshape", together, shape=(*fractions.shape, *shape_of(together)[1:]))


def _between(ordered: Any, fraction: np.floating[Any]) -> Any:
    """The element at a fraction of the last axis, between its two neighbours; NaN if any is."""
    count = shape_of(ordered)[-1]
    last = gather(ordered, (..., count - 1))
    return where(equal(last, last), _at_fraction(ordered, count, fraction), last)


def _at_fraction(ordered: Any, count: int, fraction: np.floating[Any]) -> Any:
    at = fraction * (count - 1)
    low = int(at)
    below, part = gather(ordered, (..., low)), at - low
    if not part:
        return below
    above = gather(ordered, (..., low + 1))
    # From the nearer end, as NumPy does: exact at both ends.
    apart = subtract(above, below)
    if part >= 0.5:
        return subtract(above, multiply(apart, float(1 - part)))
    return add(below, multiply(apart, float(part)))


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where each of `v` would go in the ascending line `a`, int64.

    a: (n,), v: any shape  ->  the shape of v; compared in the promoted dtype
    side: "left" for the first such place, "right" for the last; sorter: (n,), the indices that sort
    `a`, if it is not
    raises ShapeError: `a` is no line, or the sorter of another length; ArgumentError: another side;
    IndexOutOfRangeError: a sorter beyond `a`; IndexTypeError: one that is no integers; DTypeError:
    no numbers

    NumPy: `numpy.searchsorted`.

    >>> searchsorted([1, 2, 3], 2.5)
    np.int64(2)
    """
    side = choices.text("searchsorted", "side", side, ("left", "right"))
    line, values = asarray(a), asarray(v)
    if sorter is not None:
        order = asarray(sorter)
        if not shape_of(order):
            raise OptionError(f"searchsorted: the sorter is a line of indices, got {sorter!r}")
        if shape_of(order) != shape_of(line) and dtype_of(order).is_integer:
            raise ShapeError(
                f"searchsorted: the sorter is {type_text(order)}, the line {type_text(line)}",
                fix="Give the indices that sort the line: `np.argsort(a)`.",
            )
        line = gather(line, order)
    kind = dtype_of(operands("searchsorted", _stand_in(line), _stand_in(values))[0])
    line, values, right = cast(line, kind), cast(values, kind), side == "right"
    if kind.is_complex:
        return load("pyc.numpy.complex_order").searchsorted(line, values, right)
    return bind1("searchsorted", line, values, right=right)


def _stand_in(x: Any) -> Any:
    """A rank-0 stand-in of an array's type, for promotion."""
    return broadcast(cast(False, dtype_of(x)), ())


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The number of the bin of each element, int64, for ascending or descending edges `bins`.

    x: any shape  ->  the same; bins: (n,); right: bins hold their right edges, not their left ones.
    Traced edges are taken to ascend or descend by the first and the last one.
    raises ArgumentError: known edges that do neither; ShapeError: edges that are no line;
    DTypeError: complex numbers, or no numbers

    NumPy: `numpy.digitize`.

    >>> digitize([0.5, 2.5], [1, 2, 3])
    array([0, 2])
    """
    x, edges = asarray(x), asarray(bins)
    if dtype_of(x).is_complex or dtype_of(edges).is_complex:
        raise DTypeError(f"digitize: needs real numbers, got {type_text(x)}, {type_text(edges)}")
    if len(shape_of(edges)) != 1:
        raise ShapeError(f"digitize: the edges are a line, got {type_text(edges)}")
    (count,), side = shape_of(edges), "left" if right else "right"
    known = known_elements(edges)
    if known is not None and not ((known[1:] >= known[:-1]).all() or _falls(known)):
        raise ArgumentError(
            "digitize: the edges neither ascend nor descend", fix="Sort them: `np.sort(bins)`."
        )
    if count < 2 or (known is not None and not known[0] > known[-1]):
        return searchsorted(edges, x, side)
    turned = less(gather(edges, count - 1), gather(edges, 0))
    found = searchsorted(where(turned, reverse(edges, (0,)), edges), x, side)
    return where(turned, subtract(count, found), found)


def _falls(x: Any) -> bool:
    return bool((x[1:] <= x[:-1]).all())


_COMPARED = 64
"""Elements that `isin` compares with each one."""


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Any:
    """Whether each element occurs in `test_elements`, or with `invert` whether it does not.

    element: any shape  ->  bool, the same shape; test_elements: any shape, compared in the promoted
    dtype. A few are compared with every element, more are sorted and searched; assume_unique and
    `kind` ("sort", "table") choose among NumPy's ways, and change nothing here.
    raises ArgumentError: another `kind`, or "table" for what are no integers; DTypeError: no
    numbers

    NumPy: `numpy.isin`.

    >>> isin([1, 2, 3], [2, 5])
    array([False,  True, False])
    """
    choices.truth(assume_unique)  # several have none
    if isinstance(invert, (list, tuple)):
        raise OptionError(f"isin: `invert` is True or False, got {invert!r}")
    invert = choices.truth(invert)
    x, items = asarray(element), ravel(asarray(test_elements))
    whole = all(dtype_of(v).kind in ("bool", "int", "uint") for v in (x, items))
    if kind is not None:
        choices.text("isin", "kind", kind, ("sort", "table"))
    if kind == "table" and not whole:
        raise ArgumentError(
            f"isin: kind {kind!r} for {type_text(x)} and {type_text(items)}",
            fix="Leave it out: the result is the same.",
        )
    common = result_dtype(x, items)
    exact = common.is_integer or not (dtype_of(x).is_integer and dtype_of(items).is_integer)
    if shape_of(items)[0] > _COMPARED and exact:
        line, values = sort(cast(items, common)), cast(x, common)
        found = equal(gather(line, searchsorted(line, values), mode="clip"), values)
    else:
        wide = bind1("reshape", x, shape=(*shape_of(x), 1))
        found = any_true(equal(wide, items), axis=-1)
    return bind1("logical_not", found) if invert else found


def nonzero(x: Any, *, size: int | None = None) -> tuple[Any, ...]:
    """The indices of the non-zero elements in row-major order, int64, one array for each axis.

    x: any shape and dtype but rank 0  ->  for each axis (k,) for elements that are known, such as
    those outside of a trace; else (size,) for the first `size` ones: places beyond the number found
    hold the array's shape.
    raises ConcretizationError: traced elements without `size`: their number depends on data;
    ShapeError: rank 0, or a negative size; DTypeError: no numbers, or a size that is no integer

    NumPy: `numpy.nonzero`.

    >>> nonzero([0, 5, 7])
    (array([1, 2]),)
    """
    known = known_elements(asarray(x)) if size is None else None
    size = None if size is None else size_of("nonzero", size)
    if known is not None:
        if not known.ndim:
            raise ShapeError("nonzero: an array of rank 0 has no places; use `atleast_1d`")
        return tuple(map(constant, np.nonzero(known)))
    if size is None:
        raise ConcretizationError(
            "nonzero: the number of non-zero elements depends on data",
            fix="Give the most there can be: `pyc.numpy.nonzero(x, size=n)`; or work with "
            "`where(mask, x, other)`, which keeps the shape.",
        )
    x = asarray(x)
    shape = shape_of(x)
    flat = cast(ravel(x), dt.b1)
    count = shape_of(flat)[0]
    order = argsort(bind1("logical_not", flat))
    total = bind1("reduce_sum", cast(flat, dt.i64), axes=(0,))
    rank = bind1("iota", shape=(size,), axis=0, dtype=dt.i64)
    picked = gather(order, rank, mode="clip") if count else rank
    inside = less(rank, total)
    places = []
    for axis, n in enumerate(shape):
        below = 1
        for m in shape[axis + 1 :]:
            below *= m
        places.append(where(inside, _digit(picked, below, n), n))
    return tuple(places)


def size_of(name: str, size: Any) -> int:
    """How many elements are asked for at most; ShapeError for a negative number."""
    count = integer(name, "`size`", size)
    if count < 0:
        raise ShapeError(f"{name}: `size` must not be negative, got {count}")
    return count


def _digit(x: Any, below: int, n: int) -> Any:
    whole = bind1("floor_divide", x, broadcast(cast(below, dt.i64), shape_of(x)))
    return bind1("remainder", whole, broadcast(cast(max(n, 1), dt.i64), shape_of(x)))
