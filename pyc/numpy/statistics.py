"""Reductions: sums, products, extremes, means, tests of all elements; and running ones.

Sums and products of bools and small integers are 64 bits wide, as in NumPy; half types accumulate
in float32. The order of additions is the documented one (`pyc/ir/order.py`), whatever the axes.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, DTypeError, OptionError, ShapeError
from pyc.forks import load
from pyc.interpreter import WEAK, bind1, is_tracing
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.numpy.core import (
    as_lines,
    at_place,
    axes_of,
    axis_of,
    broadcast,
    cast,
    converted,
    dtype_of,
    is_axis_of_number,
    literal,
    no_bool,
    no_list,
    part,
    reduced_axes,
    result_dtype,
    shape_of,
    structural,
    to_dtype,
    type_text,
)
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import add, divide, imag, multiply, real, sqrt, square, subtract
from pyc.numpy.manipulation import diagonal, moveaxis, permute_dims, ravel, reshape
from pyc.numpy.pieces import concat


def _reduced(name: str, op: str, x: Any, axis: Any, keepdims: bool, empty: Any = None) -> Any:
    """Reduction over axes; empty: the value of no elements (None: an error)."""
    shape = shape_of(x)
    axes = reduced_axes(name, axis, len(shape))
    check_keepdims(name, keepdims)
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape))
    out = kept if keepdims else tuple(n for k, n in enumerate(shape) if k not in axes)
    if builtins.any(shape[k] == 0 for k in axes):
        if empty is None:
            raise ShapeError(
                f"{name}: no elements along axis {axis} of {type_text(x)}, and no identity"
            )
        kind = dt.b1 if op in ("reduce_any", "reduce_all") else dtype_of(x)
        return broadcast(literal(empty, kind), out)
    found = bind1(op, x, axes=axes) if axes else _unreduced(op, x)
    return reshape(found, out) if shape_of(found) != out else found


def check_keepdims(name: str, keepdims: Any) -> None:
    """OptionError: neither True nor False."""
    if type(keepdims) is not bool and not isinstance(keepdims, (int, np.bool_)):
        raise OptionError(f"{name}: `keepdims` is True or False, got {keepdims!r}")


def _unreduced(op: str, x: Any) -> Any:
    """A reduction over no axes: each element by itself."""
    return cast(x, dt.b1) if op in ("reduce_any", "reduce_all") else x


def _wide(x: Any, dtype: Any) -> Any:
    """Bools and integers below 64 bits become 64 bits wide unless `dtype` is given."""
    if dtype is not None:
        return converted(x, to_dtype(dtype))
    kind = dtype_of(x)
    if kind.kind == "bool" or (kind.kind == "int" and kind.bits < 64):
        return cast(x, dt.i64)
    return cast(x, dt.u64) if kind.kind == "uint" and kind.bits < 64 else x


def sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum over some axes (all if None); 0 of no elements. As bools: whether any is true.

    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims
    dtype: of the result; None: that of x, of bools and smaller integers int64 or uint64
    where: bools that broadcast to x, which elements count; initial: a number that it begins with
    raises AxisError: no such axis; ShapeError: an axis twice, several starts, or a mask that does
    not fit; DTypeError: no numbers, an axis that is no integer, or a mask that is not of bools

    NumPy: `numpy.sum`.

    >>> sum([[1, 2], [3, 4]], axis=0)
    array([4, 6])
    """
    x = _wide(asarray(x), dtype)
    if dtype_of(x) is dt.b1:
        return any(x, axis, keepdims)
    if dtype_of(x).is_complex:
        return _complex_sum(x, axis, keepdims)
    return _reduced("sum", "reduce_sum", x, axis, keepdims, 0)


def _complex_sum(x: Any, axis: Any, keepdims: bool) -> Any:
    """Sums of the parts. Along other axes than the last one, whose elements are neighbours, parts
    are too: in a trace these are columns, with the same bits; an operation at a time is not."""
    shape = shape_of(x)
    rank = len(shape)
    axes = reduced_axes("sum", axis, rank)
    if not axes or rank - 1 in axes or not is_tracing():
        return bind1("complex", *(sum(part(x), axis, keepdims=keepdims) for part in (real, imag)))
    pairs = bind1("view_as_real", x)
    along = bind1("reshape", pairs, shape=(*shape[:-1], 2 * shape[-1]))
    total = sum(along, axes, keepdims=keepdims)
    total = bind1("reshape", total, shape=(*shape_of(total)[:-1], shape[-1], 2))
    last = len(shape_of(total)) - 1
    return bind1("complex", *(at_place(total, last, k) for k in (0, 1)))


def prod(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product over some axes (all if None); 1 of no elements. As bools: whether all are true.

    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims
    dtype: of the result; None: that of x, of bools and smaller integers int64 or uint64
    where: bools that broadcast to x, which elements count; initial: a number that it begins with
    raises AxisError: no such axis; ShapeError: an axis twice, several starts, or a mask that does
    not fit; DTypeError: no numbers, an axis that is no integer, or a mask that is not of bools

    NumPy: `numpy.prod`.

    >>> prod([1, 2, 4])
    np.int64(8)
    """
    x = _wide(asarray(x), dtype)
    if dtype_of(x) is dt.b1:
        return all(x, axis, keepdims)
    if dtype_of(x).is_complex:
        return _complex_product(x, axis, keepdims)
    return _reduced("prod", "reduce_prod", x, axis, keepdims, 1)


def _complex_product(x: Any, axis: Any, keepdims: bool) -> Any:
    """The last running product of the reduced axes in row-major order."""
    shape = shape_of(x)
    axes = reduced_axes("prod", axis, len(shape))
    check_keepdims("prod", keepdims)
    kept = [k for k in range(len(shape)) if k not in axes]
    out = tuple(1 if k in axes else n for k, n in enumerate(shape)) if keepdims else None
    final = out if out is not None else tuple(shape[k] for k in kept)
    count = int(np.prod([shape[k] for k in axes], dtype=int))
    if count == 0:
        return broadcast(literal(1, dtype_of(x)), final)
    rows = reshape(permute_dims(x, (*kept, *axes)), (*(shape[k] for k in kept), count))
    running = bind1("cumprod", rows, axis=len(kept), reverse=False)
    return reshape(part(running, len(kept), count - 1, 1), final)


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum of the diagonal of `x` between two axes.

    offset, axis1, axis2: as in `diagonal`
    x: (..., m, n) -> (...)
    dtype: of the result; None: that of x, of bools and smaller integers int64 or uint64
    raises ShapeError: the two axes are one; AxisError: no such axis; DTypeError: no numbers, or an
    axis or an offset that is no integer

    NumPy: `numpy.trace`.

    >>> trace([[1, 2], [3, 4]])
    np.int64(5)
    """
    return sum(diagonal(x, offset, axis1, axis2), -1, dtype)


def _extreme(name: str, op: str, boolean: str, x: Any, axis: Any, keepdims: bool) -> Any:
    x = asarray(x)
    if dtype_of(x).is_complex:
        return complex_extreme(name, x, axis, keepdims)
    return _reduced(name, boolean if dtype_of(x) is dt.b1 else op, x, axis, keepdims)


def complex_extreme(
    name: str, x: Any, axis: Any, keepdims: bool, shown: str = "", missing: bool = False
) -> Any:
    """max or min of complex numbers in NumPy's order. shown: the name for messages; missing: those
    with NaN count only where all have one."""
    shape = shape_of(x)
    axes = reduced_axes(shown or name, axis, len(shape))
    check_keepdims(shown or name, keepdims)
    if not axes or builtins.any(not shape[k] for k in axes):
        return _reduced(shown or name, "", x, axis, keepdims)
    found = load("pyc.numpy.complex_order").extreme(name, x, axes, missing)
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape))
    return reshape(found, kept) if keepdims else found


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The greatest over some axes (all if None); NaN if any is.

    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims; dtype: that of x
    where: bools that broadcast to x, which elements count; initial: a number that it begins with,
    which a mask needs
    raises ShapeError: no elements, an axis twice, several starts, or a mask that does not fit;
    AxisError: no such axis; ArgumentError: a mask without `initial`; DTypeError: no numbers, an
    axis that is no integer, or a mask that is not of bools

    NumPy: `numpy.amax`.

    >>> max([[1, 2], [3, 4]], axis=0)
    array([3, 4])
    """
    return _extreme("max", "reduce_max", "reduce_any", x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The least over some axes (all if None); NaN if any is.

    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims; dtype: that of x
    where: bools that broadcast to x, which elements count; initial: a number that it begins with,
    which a mask needs
    raises ShapeError: no elements, an axis twice, several starts, or a mask that does not fit;
    AxisError: no such axis; ArgumentError: a mask without `initial`; DTypeError: no numbers, an
    axis that is no integer, or a mask that is not of bools

    NumPy: `numpy.amin`.

    >>> min([[1, 2], [3, 4]], axis=1)
    array([1, 3])
    """
    return _extreme("min", "reduce_min", "reduce_all", x, axis, keepdims)


amax, amin = max, min


def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """max - min over some axes (all if None).

    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims; dtype: that of x
    raises ShapeError: no elements, or an axis twice; AxisError: no such axis; DTypeError: no
    numbers, bools, or an axis that is no integer

    NumPy: `numpy.ptp`.

    >>> ptp([3, 9, 4])
    np.int64(6)
    """
    return subtract(max(x, axis, keepdims), min(x, axis, keepdims))


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether some element is non-zero, over some axes (all if None); False of no elements.

    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims; dtype: bool
    where: bools that broadcast to x, which elements count
    raises AxisError: no such axis; ShapeError: an axis twice, or a mask that does not fit;
    DTypeError: no numbers, an axis that is no integer, or a mask that is not of bools

    NumPy: `numpy.any`.

    >>> any([[True, False], [False, False]], axis=1)
    array([ True, False])
    """
    return _reduced("any", "reduce_any", cast(asarray(x), dt.b1), axis, keepdims, False)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether every element is non-zero, over some axes (all if None); True of no elements.

    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims; dtype: bool
    where: bools that broadcast to x, which elements count
    raises AxisError: no such axis; ShapeError: an axis twice, or a mask that does not fit;
    DTypeError: no numbers, an axis that is no integer, or a mask that is not of bools

    NumPy: `numpy.all`.

    >>> all([[True, False], [True, True]], axis=0)
    array([ True, False])
    """
    return _reduced("all", "reduce_all", cast(asarray(x), dt.b1), axis, keepdims, True)


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements are non-zero, over some axes (all if None).

    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims; dtype: int64
    raises AxisError: no such axis; ShapeError: an axis twice; DTypeError: no numbers, or an axis
    that is no integer

    NumPy: `numpy.count_nonzero`.

    >>> count_nonzero([3, 0, 4])
    np.int64(2)
    """
    return sum(cast(asarray(x), dt.b1), axis, keepdims=keepdims)


def _count(x: Any, axis: Any, name: str) -> int:
    no_list(name, axis)
    shape = shape_of(x)
    return int(np.prod([shape[k] for k in axes_of(name, axis, len(shape))], dtype=int))


def lossy(x: Any, dtype: Any) -> DType | None:
    """A type asked for that holds no fractions, or no imaginary parts that `x` has: NumPy then
    rounds sums and quotients to it, and nothing else. None for others."""
    kind = None if dtype is None else to_dtype(dtype)
    if kind is None or kind.is_complex or (kind.is_float and not dtype_of(x).is_complex):
        return None
    return kind


def _shared(total: Any, count: float, kind: DType) -> Any:
    """A sum divided by a count, in a type that does not hold the quotient."""
    return cast(divide(cast(total, dt.f64), float(count)), kind)


def check_fractions(name: str, dtype: Any) -> None:
    """DTypeError: a type asked for that holds no fractions."""
    kind = None if dtype is None else to_dtype(dtype)
    if kind is not None and not (kind.is_float or kind.is_complex):
        raise DTypeError(
            f"{name}: dtype {kind.name} cannot hold the result",
            fix=f"Convert the result: `.astype({kind.name!r})`.",
        )


def in_floats(name: str, x: Any, dtype: Any) -> Any:
    """`x` as floats, of the type that is asked for. DTypeError: one without fractions."""
    check_fractions(name, dtype)
    if dtype is not None:
        x = converted(x, to_dtype(dtype))
    kind = dtype_of(x)
    return x if kind.kind in ("float", "complex") else cast(x, dt.f64)


def accumulated(x: Any) -> Any:
    """Half types average in float32."""
    return cast(x, dt.f32) if dtype_of(x).is_half else x


def mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum over some axes (all if None) divided by their size; NaN of no elements.

    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims
    dtype: of the result; None: that of x, of integers and bools float64; in integers or bools the
    sum and the quotient are of it, truncated, as in NumPy
    where: bools that broadcast to x, which elements count
    raises AxisError: no such axis; ShapeError: an axis twice, or a mask that does not fit;
    DTypeError: no numbers, an axis that is no integer, or a mask that is not of bools

    NumPy: `numpy.mean`.

    >>> mean([[1, 2], [3, 4]], axis=0)
    array([2., 3.])
    """
    x = asarray(x)
    n, kind = _count(x, axis, "mean"), lossy(x, dtype)
    if kind is not None:
        return _shared(sum(x, axis, kind, keepdims), n, kind)
    x = in_floats("mean", x, dtype)
    wide = accumulated(x)
    total = sum(wide, axis, keepdims=keepdims)
    return cast(divide(total, float(n)), dtype_of(x))


_mean = mean


def degrees_less(name: str, ddof: Any, correction: Any) -> float:
    """What is taken from the number of elements.

    raises ArgumentError: it is said twice; DTypeError: no real number
    """
    given = correction is not np._NoValue
    ddof, correction = structural(ddof), structural(correction)
    less = correction if given else ddof
    if given and type(ddof) in WEAK and ddof:
        raise ArgumentError(f"{name}: both `ddof` and `correction`", fix="Give one of them.")
    if isinstance(less, type) or not hasattr(less, "__float__"):
        raise OptionError(f"{name}: `ddof` is a real number, got {less!r}")
    return float(less)


def var(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    correction: float = np._NoValue,  # type: ignore[assignment]
    mean: Any = None,
) -> Any:
    """The mean squared distance from the mean, over n - ddof; two passes. Real also for complex
    numbers, unless `dtype` says otherwise.

    dtype: of the result; None: the real type of x, of integers and bools float64; of integers or
    bools it truncates, as in `mean`
    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims
    ddof, correction: what is taken from the number of elements, two names of one argument
    mean: the mean, with the reduced axes as 1, if it is known
    where: bools that broadcast to x, which elements count
    raises AxisError: no such axis; ShapeError: an axis twice, or a mean or a mask that does not
    fit; ArgumentError: ddof and correction; DTypeError: no numbers, an axis that is no integer, a
    ddof that is no real number, or a mask that is not of bools

    NumPy: `numpy.var`.

    >>> var([1.0, 3.0])
    np.float64(1.0)
    """
    x = asarray(x)
    less = degrees_less("var", ddof, correction)
    n = builtins.max(_count(x, axis, "var") - less, 0)
    kind = lossy(x, dtype)
    if kind is not None:
        middle = _mean(x, axis, kind, True) if mean is None else asarray(mean)
        return _shared(sum(squares(subtract(x, middle)), axis, kind, keepdims), n, kind)
    x = in_floats("var", x, dtype)
    wide = accumulated(x)
    middle = _mean(wide, axis, keepdims=True) if mean is None else asarray(mean)
    apart = subtract(wide, middle)
    if dtype_of(apart).is_complex and not dtype_of(x).is_complex:  # NumPy looks at `x` only
        total = sum(multiply(apart, apart), axis, keepdims=keepdims)
        return divide(total, float(n))
    total = sum(squares(apart), axis, keepdims=keepdims)
    kind = dtype_of(x).real if dtype is None else dtype_of(x)
    return cast(divide(total, float(n)), kind)


def squares(apart: Any) -> Any:
    """The squared magnitudes."""
    if dtype_of(apart).is_complex:
        return add(square(real(apart)), square(imag(apart)))
    return square(apart)


def std(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    correction: float = np._NoValue,  # type: ignore[assignment]
    mean: Any = None,
) -> Any:
    """The square root of `var`.

    dtype: of the result; None: the real type of x, of integers and bools float64
    x: any shape -> without the axes `axis` (None: all; a number or several), or with them as 1 if
    keepdims
    ddof, correction: what is taken from the number of elements, two names of one argument
    mean: the mean, with the reduced axes as 1, if it is known
    where: bools that broadcast to x, which elements count
    raises AxisError: no such axis; ShapeError: an axis twice, or a mean or a mask that does not
    fit; ArgumentError: ddof and correction; DTypeError: no numbers, an axis that is no integer, a
    ddof that is no real number, or a mask that is not of bools

    NumPy: `numpy.std`.

    >>> std([1.0, 3.0])
    np.float64(1.0)
    """
    found = var(x, axis, dtype, ddof, keepdims, correction=correction, mean=mean)
    return cast(sqrt(found), dtype_of(found))


def average(
    x: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """The mean, each element counted with its weight; returned: a tuple with the sums of weights.

    x: any shape -> without the axes `axis` (None: all), or with them as 1 if keepdims
    weights: of the shape of x, or of that of its axes `axis`
    dtype: the common one of x and the weights, float64 for integers and bools
    raises ShapeError: weights of another shape, or an axis twice; AxisError: no such axis;
    DTypeError: weights of another shape without `axis`, no numbers, or an axis that is no integer

    NumPy: `numpy.average`.

    >>> average([1.0, 5.0], weights=[3, 1])
    np.float64(2.0)
    """
    x = asarray(x)
    if weights is None:
        axis = tuple(axis) if isinstance(axis, list) else axis
        found = mean(x, axis, keepdims=keepdims)
        scale: Any = literal(_count(x, axis, "average"), dtype_of(found))
    else:
        w = weights_of("average", x, axis, asarray(weights))
        kind = result_dtype(x, w)
        if not (dtype_of(x).is_float or dtype_of(x).is_complex):
            kind = dt.promote(kind, dt.f64)
        scale = sum(cast(w, kind), axis, keepdims=keepdims)
        found = divide(sum(cast(multiply(x, w), kind), axis, keepdims=keepdims), scale)
    return (found, broadcast(scale, shape_of(found))) if returned else found


def weights_of(name: str, x: Any, axis: Any, w: Any) -> Any:
    """Weights of the shape of `x`."""
    shape = shape_of(x)
    if shape_of(w) == shape:
        return w
    if axis is None:
        raise DTypeError(
            f"{name}: weights {type_text(w)} of {type_text(x)} need an axis",
            fix="Say along which axis they are: `axis=0`.",
        )
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = [axis_of(name, k, len(shape)) for k in given]
    if shape_of(w) != tuple(shape[k] for k in places):
        raise ShapeError(
            f"{name}: {type_text(w)} are no weights along axis {axis} of {type_text(x)}"
        )
    ordered = permute_dims(w, tuple(places.index(k) for k in builtins.sorted(places)))
    return broadcast(
        reshape(ordered, tuple(n if k in places else 1 for k, n in enumerate(shape))), shape
    )


def _running(op: str, x: Any, axis: int | None, dtype: Any, wide: bool) -> Any:
    x = asarray(x)
    x = _wide(x, dtype) if wide else x
    x, place = as_lines(op, x, axis)
    if not wide and dtype_of(x).is_complex:
        return load("pyc.numpy.complex_order").running(op, x, place)
    if dtype_of(x) is dt.b1:
        op = _OF_BOOLS.get(op, op)
    return bind1(op, x, axis=place, reverse=False)


_OF_BOOLS = {"cumsum": "cummax", "cumprod": "cummin"}
"""Sums and products of bools are `or` and `and`, as in NumPy."""


def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running sums along an axis (of the flattened array if None), first to last.

    x: any shape -> the same, or (n,) if the axis is None
    dtype: of the result; None: that of x, of bools and smaller integers int64 or uint64
    raises AxisError: no such axis; DTypeError: no numbers, or an axis that is no integer

    NumPy: `numpy.cumsum`.

    >>> cumsum([1, 2, 3])
    array([1, 3, 6])
    """
    return _running("cumsum", x, axis, dtype, True)


def cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running products along an axis (of the flattened array if None), first to last.

    x: any shape -> the same, or (n,) if the axis is None
    dtype: of the result; None: that of x, of bools and smaller integers int64 or uint64
    raises AxisError: no such axis; DTypeError: no numbers, or an axis that is no integer

    NumPy: `numpy.cumprod`.

    >>> cumprod([1, 2, 3])
    array([1, 2, 6])
    """
    return _running("cumprod", x, axis, dtype, True)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running sums along an axis (which arrays of several axes need), first to last;
    include_initial: from 0, one element more.

    x: (..., n, ...) -> (..., n, ...), n + 1 with include_initial
    dtype: of the result; None: that of x, of bools and smaller integers int64 or uint64
    raises ShapeError: several axes, and none is given; AxisError: no such axis; DTypeError: no
    numbers, or an axis that is no integer

    NumPy: `numpy.cumulative_sum`.

    >>> cumulative_sum([1, 2, 3], include_initial=True)
    array([0, 1, 3, 6])
    """
    return _cumulative("cumulative_sum", cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running products along an axis (which arrays of several axes need), first to last;
    include_initial: from 1, one element more.

    x: (..., n, ...) -> (..., n, ...), n + 1 with include_initial
    dtype: of the result; None: that of x, of bools and smaller integers int64 or uint64
    raises ShapeError: several axes, and none is given; AxisError: no such axis; DTypeError: no
    numbers, or an axis that is no integer

    NumPy: `numpy.cumulative_prod`.

    >>> cumulative_prod([1, 2, 3], include_initial=True)
    array([1, 1, 2, 6])
    """
    return _cumulative("cumulative_prod", cumprod, 1, x, axis, dtype, include_initial)


def _cumulative(
    name: str, running: Any, unit: int, x: Any, axis: int | None, dtype: Any, initial: bool
) -> Any:
    x = asarray(x)
    if axis is None and len(shape_of(x)) > 1:
        raise ShapeError(f"{name}: {type_text(x)} has several axes: give `axis`")
    x, place = as_lines(name, x, axis)
    found = running(x, place, dtype)
    if not initial:
        return found
    first = tuple(1 if k == place else n for k, n in enumerate(shape_of(found)))
    return concat([broadcast(literal(unit, dtype_of(found)), first), found], place)


def cummax(x: Any, axis: int = 0) -> Any:
    """Running maxima along an axis; NaN from the first one on.

    x: any shape -> the same; dtype: that of x
    raises AxisError: no such axis; DTypeError: no numbers, or an axis that is no integer

    >>> cummax([3, 1, 4, 1])
    array([3, 3, 4, 4])
    """
    return _running("cummax", x, axis, None, False)


def cummin(x: Any, axis: int = 0) -> Any:
    """Running minima along an axis; NaN from the first one on.

    x: any shape -> the same; dtype: that of x
    raises AxisError: no such axis; DTypeError: no numbers, or an axis that is no integer

    >>> cummin([3, 1, 4, 1])
    array([3, 1, 1, 1])
    """
    return _running("cummin", x, axis, None, False)


def argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The place of the first greatest element (of the flattened array if axis is None), int64.

    x: any shape -> without the axis, or with it as 1 if keepdims; dtype: int64 of any
    raises ShapeError: no elements; AxisError: no such axis; DTypeError: no numbers, or an axis that
    is no integer

    NumPy: `numpy.argmax`.

    >>> argmax([3, 9, 4])
    np.int64(1)
    """
    return _place("argmax", x, axis, keepdims)


def argmin(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The place of the first least element (of the flattened array if axis is None), int64.

    x: any shape -> without the axis, or with it as 1 if keepdims; dtype: int64 of any
    raises ShapeError: no elements; AxisError: no such axis; DTypeError: no numbers, or an axis that
    is no integer

    NumPy: `numpy.argmin`.

    >>> argmin([3, 9, 1])
    np.int64(2)
    """
    return _place("argmin", x, axis, keepdims)


def _place(name: str, x: Any, axis: int | None, keepdims: bool) -> Any:
    x = asarray(x)
    if dtype_of(x) is dt.b1:
        x = cast(x, dt.u8)
    rank = len(shape_of(x))
    no_bool(name, axis)
    check_keepdims(name, keepdims)
    if rank == 0 and (axis is None or is_axis_of_number(axis, rank)):
        return literal(0, dt.i64)
    where_axis = None if axis is None else axis_of(name, axis, rank)
    if dtype_of(x).is_complex:
        return _complex_place(name, x, where_axis, keepdims)
    return _reduced(name, name, x, where_axis, keepdims)


def _complex_place(name: str, x: Any, axis: int | None, keepdims: bool) -> Any:
    shape = shape_of(x)
    rows = ravel(x) if axis is None else moveaxis(x, axis, -1)
    if not shape_of(rows)[-1]:
        return _reduced(name, name, x, axis, keepdims)
    found = load("pyc.numpy.complex_order").place(name, rows)
    kept = tuple(1 if axis in (None, k) else n for k, n in enumerate(shape))
    return reshape(found, kept) if keepdims else found


__all__ = [
    *("all", "amax", "amin", "any", "argmax", "argmin", "average", "count_nonzero", "cummax"),
    *("cummin", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "max", "mean", "min"),
    *("prod", "ptp", "std", "sum", "trace", "var"),
]
