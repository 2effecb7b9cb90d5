"""Numerical methods on samples: interpolation, differences, sums, convolution, polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.errors import ArgumentError, ConcretizationError, DTypeError, ShapeError
from pyc.interpreter import WEAK, bind1
from pyc.ir import dtype as dt
from pyc.numpy.core import (
    axis_of,
    broadcast,
    cast,
    dtype_of,
    known_elements,
    operands,
    part,
    shape_of,
    to_dtype,
    to_shape,
    type_text,
    value,
)
from pyc.numpy.creation import asarray, iota
from pyc.numpy.elementwise import (
    add,
    clip,
    conj,
    divide,
    imag,
    isclose,
    maximum,
    multiply,
    real,
    remainder,
    sqrt,
    subtract,
)
from pyc.numpy.indexing import gather
from pyc.numpy.linear_algebra import matmul
from pyc.numpy.logic import equal, isnan, less, logical_and, logical_or, where
from pyc.numpy.manipulation import concat, diagonal, diff, flip, pad, ravel, reshape, swapaxes
from pyc.numpy.sorting import argsort, searchsorted
from pyc.numpy.statistics import all as all_true
from pyc.numpy.statistics import average
from pyc.numpy.statistics import sum as total


def _line(name: str, x: Any) -> Any:
    x = asarray(x)
    if len(shape_of(x)) != 1:
        raise ShapeError(f"{name}: needs a line, got {type_text(x)}")
    return x


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Values at `x` of the line through the points (xp, fp), xp ascending, in float64 (complex128
    for complex ones).

    left, right: the values before the first and after the last point, by default theirs
    period: of x and xp, which then come in any order, and `left` and `right` mean nothing
    """
    places, heights = _line("interp", xp), _line("interp", fp)
    count = shape_of(places)[0]
    if count == 0 or shape_of(heights) != (count,):
        raise ShapeError(f"interp: {type_text(places)} and {type_text(heights)} must be as many")
    if dtype_of(heights).is_complex:
        parts = []
        for take in (real, imag):
            low, high = (None if v is None else take(v) for v in (left, right))
            parts.append(interp(x, places, take(heights), low, high, period))
        return bind1("complex", *parts)
    x, places, heights = (cast(asarray(v), dt.f64) for v in (x, places, heights))
    if period is not None:
        if not period:
            raise ArgumentError("interp: the period is 0")
        length = abs(period)
        x, places = remainder(x, length), remainder(places, length)
        order = argsort(places)
        places, heights = gather(places, order), gather(heights, order)
        low, high = part(places, 0, count - 1, 1), part(places, 0, 0, 1)
        places = concat([subtract(low, length), places, add(high, length)], 0)
        heights = concat([part(heights, 0, count - 1, 1), heights, part(heights, 0, 0, 1)], 0)
        count, left, right = count + 2, None, None
    high = clip(searchsorted(places, x, "right"), 1, count - 1) if count > 1 else None
    if high is None:
        inside = broadcast(gather(heights, 0), shape_of(x))
    else:
        low = subtract(high, 1)
        x0, x1 = gather(places, low), gather(places, high)
        y0, y1 = gather(heights, low), gather(heights, high)
        slope = divide(subtract(y1, y0), subtract(x1, x0))
        inside = add(multiply(slope, subtract(x, x0)), y0)
        # Beside what is not finite: from the other end, or level.
        from_above = add(multiply(slope, subtract(x, x1)), y1)
        from_above = where(logical_and(isnan(from_above), equal(y0, y1)), y0, from_above)
        inside = where(isnan(inside), from_above, inside)
        inside = where(equal(x, x0), y0, inside)
        inside = where(equal(x, x1), y1, inside)
    first, last = gather(places, 0), gather(places, count - 1)
    before = gather(heights, 0) if left is None else cast(value(left), dt.f64)
    after = gather(heights, count - 1) if right is None else cast(value(right), dt.f64)
    return where(less(x, first), before, where(less(last, x), after, inside))


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral along an axis by trapezia, between places `x` or `dx` apart."""
    y = asarray(y)
    place = axis_of("trapezoid", axis, len(shape_of(y)))
    count = max(shape_of(y)[place] - 1, 0)
    sums = add(part(y, place, 1, count), part(y, place, 0, count))
    if x is not None:
        x = asarray(x)
        at = 0 if len(shape_of(x)) == 1 else place
        dx = subtract(part(x, at, 1, count), part(x, at, 0, count))
        if len(shape_of(x)) == 1:
            rank = len(shape_of(y))
            dx = reshape(dx, tuple(count if k == place else 1 for k in range(rank)))
    return total(divide(multiply(dx, sums), 2.0), axis=place)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences (one-sided at the ends) along each axis, or along `axis`; a tuple if
    there are several. varargs: the distance of samples, one for all axes or one for each, or the
    places of the samples along it. edge_order: 1 or 2, of the error at the ends.

    raises ShapeError: fewer samples than `edge_order` + 1, or as many distances as no axes
    """
    f = asarray(f)
    if dtype_of(f).kind not in ("float", "complex"):
        f = cast(f, dt.f64)
    rank = len(shape_of(f))
    given = tuple(range(rank)) if axis is None else axis
    axes = [
        axis_of("gradient", a, rank)
        for a in (given if isinstance(given, (tuple, list)) else (given,))
    ]
    same = len(varargs) == 1 and not shape_of(asarray(varargs[0]))
    steps = list(varargs) * len(axes) if same else list(varargs) or [1.0] * len(axes)
    if len(steps) != len(axes):
        raise DTypeError(f"gradient: {len(steps)} distances for {len(axes)} axes")
    if edge_order not in (1, 2):
        raise ArgumentError(f"gradient: edge_order must be 1 or 2, got {edge_order!r}")
    found = tuple(_slope(f, k, h, edge_order) for k, h in zip(axes, steps, strict=True))
    return found[0] if len(found) == 1 else found


def _slope(f: Any, axis: int, step: Any, order: int) -> Any:
    n = shape_of(f)[axis]
    if n < order + 1:
        raise ShapeError(
            f"gradient: needs {order + 1} elements along axis {axis} of {type_text(f)}"
        )
    if shape_of(asarray(step)):
        return cast(_uneven_slope(f, axis, asarray(step), order), dtype_of(f))
    first = subtract(part(f, axis, 1, 1), part(f, axis, 0, 1))
    last = subtract(part(f, axis, n - 1, 1), part(f, axis, n - 2, 1))
    inner = subtract(part(f, axis, 2, n - 2), part(f, axis, 0, n - 2))
    if order == 2:
        first = _sum_of(f, axis, (0, 1, 2), (-1.5, 2.0, -0.5))
        last = _sum_of(f, axis, (n - 3, n - 2, n - 1), (0.5, -2.0, 1.5))
    ends = [divide(e, step) for e in (first, last)]
    twice = 2.0 * step if type(step) in WEAK else multiply(2.0, step)
    middle = divide(inner, twice)
    return cast(concat([ends[0], middle, ends[1]], axis), dtype_of(f))


def _sum_of(f: Any, axis: int, places: tuple[int, ...], weights: Any) -> Any:
    """The sum of elements of an axis, each with its weight."""
    terms = [multiply(part(f, axis, k, 1), w) for k, w in zip(places, weights, strict=True)]
    return add(add(terms[0], terms[1]), terms[2])


def _uneven_slope(f: Any, axis: int, places: Any, order: int) -> Any:
    """Slopes between samples at places along an axis, each from a parabola through three."""
    shape, n = shape_of(f), shape_of(f)[axis]
    if shape_of(places) != (n,):
        raise ShapeError(
            f"gradient: the places {type_text(places)} are not those of axis {axis} of "
            f"{type_text(f)}"
        )
    if not (dtype_of(places).is_float or dtype_of(places).is_complex):
        places = cast(places, dt.f64)
    apart = subtract(part(places, 0, 1, n - 1), part(places, 0, 0, n - 1))
    apart = reshape(apart, tuple(n - 1 if k == axis else 1 for k in range(len(shape))))

    def distances(k: int, size: int) -> tuple[Any, Any, Any]:
        low, high = part(apart, axis, k, size), part(apart, axis, k + 1, size)
        return low, high, add(low, high)

    a, b, both = distances(0, n - 2)
    middle = add(
        add(
            multiply(divide(multiply(b, -1.0), multiply(a, both)), part(f, axis, 0, n - 2)),
            multiply(divide(subtract(b, a), multiply(a, b)), part(f, axis, 1, n - 2)),
        ),
        multiply(divide(a, multiply(b, both)), part(f, axis, 2, n - 2)),
    )
    if order == 1:
        first = subtract(part(f, axis, 1, 1), part(f, axis, 0, 1))
        last = subtract(part(f, axis, n - 1, 1), part(f, axis, n - 2, 1))
        ends = divide(first, part(apart, axis, 0, 1)), divide(last, part(apart, axis, n - 2, 1))
        return concat([ends[0], middle, ends[1]], axis)
    a, b, both = distances(0, 1)
    weights = (
        divide(multiply(add(a, both), -1.0), multiply(a, both)),
        divide(both, multiply(a, b)),
        divide(multiply(a, -1.0), multiply(b, both)),
    )
    first = _sum_of(f, axis, (0, 1, 2), weights)
    a, b, both = distances(n - 3, 1)
    weights = (
        divide(b, multiply(a, both)),
        divide(multiply(both, -1.0), multiply(a, b)),
        divide(add(b, both), multiply(b, both)),
    )
    last = _sum_of(f, axis, (n - 3, n - 2, n - 1), weights)
    return concat([first, middle, last], axis)


def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours of the flattened array, between other elements of its type.

    raises DTypeError: "same_kind" does not lead from those to its dtype
    """
    found = diff(ravel(x))
    ends = []
    for name, end in (("to_begin", to_begin), ("to_end", to_end)):
        if end is None:
            continue
        kind = dtype_of(found)
        if not np.can_cast(dtype_of(asarray(end)).numpy, kind.numpy, "same_kind"):
            raise DTypeError(
                f"ediff1d: `{name}` is {dtype_of(asarray(end)).name}, the array {kind.name}",
                fix=f"Convert the array before: `x.astype({dtype_of(asarray(end)).name!r})`.",
            )
        ends.append((name, ravel(cast(asarray(end), kind))))
    before = [end for name, end in ends if name == "to_begin"]
    after = [end for name, end in ends if name == "to_end"]
    return concat([*before, found, *after], 0) if ends else found


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The convolution of two lines. mode: "full", "same" (as long as the longer) or "valid" (where
    they overlap fully)."""
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f"convolve: mode must be 'full', 'same' or 'valid', got {mode!r}")
    a, v = _line("convolve", a), _line("convolve", v)
    if shape_of(v)[0] > shape_of(a)[0]:
        a, v = v, a
    n, m = shape_of(a)[0], shape_of(v)[0]
    if m == 0:
        raise ShapeError("convolve: a line is empty")
    a, v = operands_of_one_type(a, v)
    wide = pad(a, (m - 1, m - 1))
    shape = (n + m - 1, m)
    windows = add(iota(shape, 0, dt.i64), iota(shape, 1, dt.i64))
    found = matmul(gather(wide, windows), flip(v))
    if mode == "full":
        return found
    size, start = (n, (m - 1) // 2) if mode == "same" else (n - m + 1, m - 1)
    return part(found, 0, start, size)


def operands_of_one_type(a: Any, b: Any) -> tuple[Any, Any]:
    """Two lines in their common type."""
    kind = dtype_of(operands("convolve", cast(False, dtype_of(a)), cast(False, dtype_of(b)))[0])
    return cast(a, kind), cast(b, kind)


def polyval(p: Any, x: Any) -> Any:
    """The polynomial with coefficients `p` (a line, highest power first) at `x`, by Horner's
    rule."""
    p = _line("polyval", p)
    x = asarray(x)
    found = multiply(x, 0)
    for k in range(shape_of(p)[0]):
        found = add(multiply(found, x), gather(p, k))
    return found


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The covariance matrix of variables, one a row (a column if not rowvar), over n - ddof (1, or
    0 with `bias`). fweights: how often each observation counts; aweights: how much; dtype: of the
    result, at least float64 if None.

    raises DTypeError: `fweights` are no integers; ShapeError: weights are no line of this length;
    ArgumentError: `ddof` is no integer, or a known weight is negative
    """
    if ddof is not None and ddof != int(ddof):
        raise ArgumentError(f"cov: ddof must be an integer, got {ddof!r}")
    kind = None if dtype is None else to_dtype(dtype)
    x = _variables(m, rowvar, kind)
    if y is not None:
        x = concat([x, _variables(y, rowvar, kind)], 0)
    n, w = shape_of(x)[1], None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is not None:
            each = _weights(name, given, n)
            w = each if w is None else multiply(w, each)
    less_by = ddof if ddof is not None else (0 if bias else 1)
    apart = subtract(x, average(x, 1, w, keepdims=True))
    rows = apart if w is None else multiply(apart, w)
    found = matmul(rows, conj(swapaxes(apart, 0, 1)))
    over: Any = float(max(n - less_by, 0))
    if w is not None:
        over = weight = total(w)
        if less_by:
            taken = less_by
            if aweights is not None:
                taken = divide(multiply(float(less_by), total(multiply(w, aweights))), weight)
            over = maximum(subtract(weight, taken), 0)
    found = cast(divide(found, over), dtype_of(x))
    return reshape(found, ()) if shape_of(found) == (1, 1) else found


def _weights(name: str, given: Any, count: int) -> Any:
    w = asarray(given)
    if name == "fweights" and not dtype_of(w).is_integer:
        known = known_elements(w)
        if known is None or (known != known.round()).any():
            raise DTypeError(f"cov: fweights are integers, got {type_text(w)}")
    if shape_of(w) != (count,):
        raise ShapeError(f"cov: {name} must be a line of {count}, got {type_text(w)}")
    known = known_elements(w)
    if known is not None and (known < 0).any():
        raise ArgumentError(f"cov: {name} must not be negative")
    return w


def _variables(m: Any, rowvar: bool, kind: Any) -> Any:
    x = asarray(m)
    if kind is not None:
        x = cast(x, kind)
    elif not dtype_of(x).is_complex:
        x = cast(x, dt.f64)
    if len(shape_of(x)) > 2:
        raise ShapeError(f"cov: needs rank 2 or less, got {type_text(x)}")
    if len(shape_of(x)) < 2:
        return reshape(x, (1, -1))
    return x if rowvar else swapaxes(x, 0, 1)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The correlation coefficients of variables: `cov` scaled to a diagonal of 1."""
    found = cov(x, y, rowvar, dtype=dtype)
    if not shape_of(found):
        return divide(found, found)
    size = sqrt(real(diagonal(found)))
    rows = divide(found, reshape(size, (-1, 1)))
    return clip(divide(rows, size), -1, 1) if dtype_of(found).is_float else divide(rows, size)


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    """Every pair of elements is close (see `isclose`); a traced bool inside `jit`."""
    return all_true(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """The shapes and all elements are equal, NaN and NaN too with `equal_nan`; a traced bool inside
    `jit`."""
    a, b = asarray(a1), asarray(a2)
    if shape_of(a) != shape_of(b):
        return asarray(False)
    same = equal(a, b)
    if equal_nan:
        same = logical_or(same, logical_and(isnan(a), isnan(b)))
    return all_true(same)


def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Any:
    """How often each number 0 ... length - 1 occurs in a line of integers, or the sums of weights.

    length: the length of the result (or `minlength`, of which known elements make more where they
    need it); it cannot depend on traced ones: one of `length` or more is an IndexOutOfRangeError
    when the program runs
    """
    x = _line("bincount", x)
    (size,) = to_shape("bincount", minlength if length is None else length)
    known = known_elements(x) if length is None and dtype_of(x).is_integer else None
    if known is not None:
        size = max(size, int(known.max()) + 1 if known.size else 0)
    elif size < 1:
        raise ConcretizationError(
            "bincount: the length of the result depends on data",
            fix="Give `minlength=`: one more than the greatest number there can be.",
        )
    if not dtype_of(x).is_integer:
        raise DTypeError(f"bincount: needs integers, got {type_text(x)}")
    # As unsigned, a negative number fails the check in place of counting from the end.
    counted = bind1("index_check", cast(x, dt.u64), bound=size, axis=0)
    kind = dt.i64 if weights is None else dt.f64
    amounts = cast(1, dt.i64) if weights is None else cast(_line("bincount", weights), kind)
    zeros = broadcast(cast(0, kind), (size,))
    return bind1(
        "scatter",
        zeros,
        broadcast(amounts, shape_of(x)),
        counted,
        axes=(0,),
        position=0,
        mode="add",
    )


def matvec(a: Any, b: Any) -> Any:
    """Matrices (..., m, n) times vectors (..., n): (..., m)."""
    b = asarray(b)
    columns = reshape(b, (*shape_of(b), 1))
    found = matmul(a, columns)
    return reshape(found, shape_of(found)[:-1])


def vecmat(a: Any, b: Any) -> Any:
    """Conjugated vectors (..., m) times matrices (..., m, n): (..., n)."""
    a = asarray(a)
    shape = shape_of(a)
    row = conj(a) if dtype_of(a).is_complex else a
    found = matmul(reshape(row, (*shape[:-1], 1, shape[-1])), b)
    return reshape(found, (*shape_of(found)[:-2], shape_of(found)[-1]))


__all__ = [
    *(
        "allclose",
        "array_equal",
        "bincount",
        "convolve",
        "corrcoef",
        "cov",
        "ediff1d",
        "gradient",
        "interp",
    ),
    *("matvec", "polyval", "trapezoid", "vecmat"),
]
