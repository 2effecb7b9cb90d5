"""Numerical methods on samples: interpolation, differences, sums, convolution, polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.errors import (
    ArgumentError,
    ConcretizationError,
    DTypeError,
    OptionError,
    ShapeError,
    WeightsError,
)
from pyc.interpreter import WEAK, bind1
from pyc.ir import dtype as dt
from pyc.numpy import choices
from pyc.numpy.core import (
    axis_of,
    broadcast,
    cast,
    dtype_of,
    known_elements,
    literal,
    operands,
    part,
    result_dtype,
    shape_of,
    structural,
    to_dtype,
    to_shape,
    type_text,
    value,
)
from pyc.numpy.creation import asarray, iota
from pyc.numpy.elementwise import (
    absolute,
    add,
    clip,
    conj,
    divide,
    imag,
    isclose,
    maximum,
    multiply,
    negative,
    real,
    remainder,
    sqrt,
    subtract,
)
from pyc.numpy.indexing import gather
from pyc.numpy.linear_algebra import matmul
from pyc.numpy.logic import equal, isnan, less, logical_and, logical_or, where
from pyc.numpy.manipulation import diagonal, flip, reshape, swapaxes
from pyc.numpy.pieces import concat, diff, pad
from pyc.numpy.sorting import argsort, searchsorted
from pyc.numpy.statistics import all as all_true
from pyc.numpy.statistics import mean
from pyc.numpy.statistics import sum as total


def _line(name: str, x: Any) -> Any:
    x = asarray(x)
    if len(shape_of(x)) != 1:
        raise ShapeError(f"{name}: needs a line, got {type_text(x)}")
    return x


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Values at `x` of the line through the points (xp, fp), xp ascending.

    x: any shape -> the same; xp, fp: (n,)
    left, right: the values before the first and after the last point, numbers, by default theirs
    period: places are taken modulo it, `xp` in any order; left and right are ignored then
    dtype: float64, or complex128 for complex `fp`
    raises ShapeError: not as many points, none, or several values for a side or a period;
    ArgumentError: a known period of 0; DTypeError: no numbers, or complex places

    NumPy: `numpy.interp`.

    >>> interp(1.5, [1, 2], [10, 20])
    np.float64(15.0)
    """
    places, heights = _line("interp", xp), _line("interp", fp)
    count = shape_of(places)[0]
    if count == 0:
        raise ShapeError(f"interp: there are no points to interpolate between: {type_text(places)}")
    if shape_of(heights) != (count,):
        raise ShapeError(f"interp: {type_text(places)} and {type_text(heights)} must be as many")
    x, places = (cast(asarray(v), dt.f64) for v in (x, places))
    for name, side in (("left", left), ("right", right), ("period", period)):
        if side is not None:
            choices.one("interp", name, side)
    if period is not None:
        x, places, heights = _periodic(x, places, heights, period)
        left = right = None
    if not dtype_of(heights).is_complex:
        return _interpolated(x, places, heights, left, right)
    sides = [None if v is None else cast(asarray(v), dt.c128) for v in (left, right)]
    ends = [[None if v is None else part(v) for v in sides] for part in (real, imag)]
    parts = [
        _interpolated(x, places, part(heights), *end)
        for part, end in zip((real, imag), ends, strict=True)
    ]
    return bind1("complex", *parts)


def _periodic(x: Any, places: Any, heights: Any, period: Any) -> tuple[Any, Any, Any]:
    """Places within one period, and points in order that go on by one at either end."""
    known = known_elements(asarray(period))
    if known is not None and not known:
        raise ArgumentError(
            "interp: the period must not be 0", fix="Leave it out if places do not come again."
        )
    whole = absolute(cast(asarray(period), dt.f64))
    x, places = remainder(x, whole), remainder(places, whole)
    order = argsort(places)
    places, heights = gather(places, order), gather(heights, order)
    last = shape_of(places)[0] - 1
    before, after = part(places, 0, last, 1), part(places, 0, 0, 1)
    wider = concat([subtract(before, whole), places, add(after, whole)], 0)
    return x, wider, concat([part(heights, 0, last, 1), heights, part(heights, 0, 0, 1)], 0)


def _interpolated(x: Any, places: Any, heights: Any, left: Any, right: Any) -> Any:
    """`interp` of real heights."""
    count, heights = shape_of(places)[0], cast(heights, dt.f64)
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
    """The integral of `y` along an axis by trapezia, between places `x` or `dx` apart.

    y: (..., n, ...) -> without the axis; x: (n,), or what broadcasts to y; dx: a number, or what
    broadcasts to the (..., n - 1, ...) distances
    dtype: the common one, float64 for integers and bools
    raises ShapeError: places or distances of another number; AxisError: no such axis; DTypeError:
    no numbers, or an axis that is no integer

    NumPy: `numpy.trapezoid`.

    >>> trapezoid([1.0, 2.0, 4.0])
    np.float64(4.5)
    """
    y = asarray(y)
    place = axis_of("trapezoid", axis, len(shape_of(y)))
    count = max(shape_of(y)[place] - 1, 0)
    sums = add(part(y, place, 1, count), part(y, place, 0, count))
    if x is not None:
        line = len(shape_of(asarray(x))) == 1
        dx = diff(x, axis=-1 if line else axis)
        if line:
            dx = reshape(dx, tuple(-1 if k == place else 1 for k in range(len(shape_of(y)))))
    return total(divide(multiply(dx, sums), 2.0), axis=axis)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences of `f` (one-sided at the ends) along each axis, or along `axis`; a tuple
    if there are several.

    f: any shape -> the same for each axis; dtype: that of f, float64 for integers and bools
    varargs: the distance of samples, or their places, a line: a distance for all axes, or one or
    the other for each; edge_order: 1 or 2, of the differences at the ends
    raises ShapeError: fewer than edge_order + 1 elements, places of another number, or an axis
    twice; AxisError: no such axis; ArgumentError: another edge_order; DTypeError: no numbers, or
    distances for another number of axes

    NumPy: `numpy.gradient`.

    >>> gradient([1.0, 2.0, 4.0])
    array([1. , 1.5, 2. ])
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
    if len(set(axes)) != len(axes):
        raise ShapeError(f"gradient: an axis occurs twice in {given}")
    steps = list(varargs) or [1.0] * len(axes)
    if len(varargs) == 1 and not shape_of(asarray(varargs[0])):
        steps *= len(axes)
    if len(steps) != len(axes):
        raise DTypeError(
            f"gradient: {len(steps)} distances for {len(axes)} axes",
            fix="Give one distance for all axes, or one for each.",
        )
    if edge_order not in (1, 2):
        error = ArgumentError if hasattr(edge_order, "__index__") else OptionError
        raise error(f"gradient: edge_order must be 1 or 2, got {edge_order!r}")
    found = tuple(_slope(f, k, h, edge_order) for k, h in zip(axes, steps, strict=True))
    return found[0] if len(found) == 1 else found


def _slope(f: Any, axis: int, step: Any, edge_order: int) -> Any:
    n = shape_of(f)[axis]
    if n <= edge_order:
        raise ShapeError(
            f"gradient: needs {edge_order + 1} elements along axis {axis} of {type_text(f)}"
        )
    if shape_of(value(step)):
        return _uneven_slope(f, axis, asarray(step), edge_order)
    inner = subtract(part(f, axis, 2, n - 2), part(f, axis, 0, n - 2))
    twice = 2.0 * step if type(step) in WEAK else multiply(2.0, step)
    middle = divide(inner, twice)
    if edge_order == 1:
        first = subtract(part(f, axis, 1, 1), part(f, axis, 0, 1))
        last = subtract(part(f, axis, n - 1, 1), part(f, axis, n - 2, 1))
        return concat([divide(first, step), middle, divide(last, step)], axis)
    shares = [divide(k, step) for k in (-1.5, 2.0, -0.5)]
    first = _weighted(f, axis, (0, 1, 2), shares)
    last = _weighted(f, axis, (n - 3, n - 2, n - 1), [negative(k) for k in reversed(shares)])
    return concat([first, middle, last], axis)


def _weighted(f: Any, axis: int, places: Sequence[int], shares: Sequence[Any]) -> Any:
    """The sum of slices of one element along an axis, each times its share."""
    a, b, c = (multiply(k, part(f, axis, at, 1)) for at, k in zip(places, shares, strict=True))
    return add(add(a, b), c)


def _uneven_slope(f: Any, axis: int, places: Any, edge_order: int) -> Any:
    """Differences of samples at places of their own."""
    n = shape_of(f)[axis]
    if shape_of(places) != (n,):
        raise ShapeError(
            f"gradient: {type_text(places)} is no place for each of the {n} elements along axis "
            f"{axis} of {type_text(f)}"
        )
    if dtype_of(places).is_integer:
        places = cast(places, dt.f64)
    steps = diff(places)
    rank = len(shape_of(f))
    wide = tuple(-1 if k == axis else 1 for k in range(rank))
    h, k = (reshape(part(steps, 0, at, n - 2), wide) for at in (0, 1))
    both = add(h, k)
    outer = divide(negative(k), multiply(h, both)), divide(h, multiply(k, both))
    inner = divide(subtract(k, h), multiply(h, k))
    before, here, after = (part(f, axis, at, n - 2) for at in (0, 1, 2))
    middle = add(multiply(outer[0], before), multiply(inner, here))
    middle = add(middle, multiply(outer[1], after))
    if edge_order == 1:
        ends = []
        for at in (0, n - 2):
            rise = subtract(part(f, axis, at + 1, 1), part(f, axis, at, 1))
            ends.append(divide(rise, gather(steps, at)))
        return concat([ends[0], middle, ends[1]], axis)
    shares = _shares_at_an_end(gather(steps, 0), gather(steps, 1))
    first = _weighted(f, axis, (0, 1, 2), shares)
    shares = _shares_at_an_end(gather(steps, n - 2), gather(steps, n - 3))
    last = _weighted(f, axis, (n - 1, n - 2, n - 3), [negative(share) for share in shares])
    return concat([first, middle, last], axis)


def _shares_at_an_end(h: Any, k: Any) -> list[Any]:
    """What the first three samples count in the slope at the first, h and k apart."""
    both = add(h, k)
    return [
        divide(negative(add(multiply(2, h), k)), multiply(h, both)),
        divide(both, multiply(h, k)),
        divide(negative(h), multiply(k, both)),
    ]


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The convolution of the lines `a` and `v`.

    a: (n,), v: (m,), or numbers -> (n + m - 1,) for mode "full", (max(n, m),) for "same", (max(n,
    m) - min(n, m) + 1,) for "valid", where they overlap fully; dtype: their common type
    raises ShapeError: more axes, or an empty line; ArgumentError: another mode; DTypeError: no
    numbers

    NumPy: `numpy.convolve`.

    >>> convolve([1, 2, 3], [1, 1])
    array([1, 3, 5, 3])
    """
    mode = choices.text("convolve", "mode", mode, ("full", "same", "valid"))
    a, v = (_line("convolve", x if shape_of(value(x)) else [x]) for x in (a, v))
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
    """The polynomial with coefficients `p` (a line, highest power first) at `x`, by Horner's rule.

    p: (n,), x: any shape -> that of x; dtype: their common type
    raises ShapeError: coefficients that are no line; DTypeError: no numbers

    NumPy: `numpy.polyval`.

    >>> polyval([1, 2, 3], 2)
    np.int64(11)
    """
    p = _line("polyval", p)
    x = asarray(x)
    found = broadcast(literal(0, dtype_of(x)), shape_of(x))
    for k in range(shape_of(p)[0]):
        found = add(multiply(found, x), gather(p, k))
    return found


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The covariance matrix of variables over n - ddof (1, or 0 with `bias`).

    m: (k, n), one variable a row (a column if not rowvar), or (n,); y: more variables, likewise ->
    (k, k), or () for one; dtype: float64 or complex128 by default
    fweights: how often each observation counts, (n,) integers; aweights: how much, (n,)
    raises ShapeError: tables of more axes, or weights or variables of another number; DTypeError:
    no numbers, or `fweights` or a `ddof` that are no integers; ArgumentError: known weights below
    0

    NumPy: `numpy.cov`.

    >>> cov([1.0, 2.0, 3.0])
    np.float64(1.0)
    """
    items = [asarray(v) for v in (m, y) if v is not None]
    kind = result_dtype(*items, broadcast(literal(0, dt.f64), ()))
    kind = kind if dtype is None else to_dtype(dtype)
    if not (kind.is_float or kind.is_complex):
        raise DTypeError(f"cov: distances from means are no {kind}", fix="Ask for a float type.")
    x = concat([_variables(v, rowvar, kind) for v in items], 0)
    n = shape_of(x)[1]
    less_by = structural(ddof) if ddof is not None else (1 if bias == 0 else 0)
    if not hasattr(less_by, "__index__") and not (type(less_by) is float and less_by.is_integer()):
        raise OptionError(
            f"cov: ddof must be an integer, got {less_by!r}", fix="Write `ddof=0` or `ddof=1`."
        )
    weights, over = _weights(n, int(less_by), fweights, aweights)
    if weights is None:
        apart = subtract(x, mean(x, axis=1, keepdims=True))
        turned = apart
    else:
        weights = cast(weights, kind.real if kind.is_complex else kind)
        middle = divide(total(multiply(x, weights), 1, keepdims=True), total(weights))
        apart = subtract(x, middle)
        turned = multiply(apart, weights)
    found = matmul(apart, conj(swapaxes(turned, 0, 1)))
    found = cast(divide(found, over), kind)
    return reshape(found, ()) if shape_of(found) == (1, 1) else found


def _weights(n: int, less_by: int, fweights: Any, aweights: Any) -> tuple[Any, Any]:
    """What each observation counts, None for 1, and what their sums are divided by."""
    if fweights is None and aweights is None:
        return None, float(max(n - less_by, 0))
    given = []
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        line = None if w is None else asarray(w)
        if line is not None and shape_of(line) != (n,):
            raise WeightsError(f"cov: {name} {type_text(line)} for {n} observations")
        known = None if line is None else known_elements(line)
        if known is not None and (known < 0).any():
            raise ArgumentError(
                f"cov: {name} must not be negative", fix="Give 0 for what does not count."
            )
        whole = line is None or dtype_of(line).is_integer
        if known is not None:
            whole = bool((known == np.rint(known)).all())
        if name == "fweights" and not whole:
            raise DTypeError(
                f"cov: fweights are numbers of observations, got {type_text(line)}",
                fix="Convert them: `fweights.astype(np.int64)`; or give `aweights`.",
            )
        given.append(None if line is None else cast(line, dt.f64))
    counts, shares = given
    both = shares if counts is None else (counts if shares is None else multiply(counts, shares))
    over = total(both)
    if less_by and shares is None:
        over = subtract(over, less_by)
    elif less_by:
        over = subtract(over, divide(multiply(less_by, total(multiply(both, shares))), over))
    return both, maximum(over, 0.0)


def _variables(m: Any, rowvar: bool, kind: dt.DType) -> Any:
    x = cast(asarray(m), kind)
    if len(shape_of(x)) > 2:
        raise ShapeError(f"cov: needs rank 2 or less, got {type_text(x)}")
    if len(shape_of(x)) < 2:
        return reshape(x, (1, -1))
    return x if rowvar else swapaxes(x, 0, 1)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The correlation coefficients of variables: `cov` scaled to a diagonal of 1.

    x: (k, n), one variable a row (a column if not rowvar), or (n,); y: more variables, likewise ->
    (k, k), or () for one; dtype: float64 or complex128 by default
    raises ShapeError: tables of more axes, or variables of another length; DTypeError: no numbers

    NumPy: `numpy.corrcoef`.

    >>> corrcoef([1, 2, 3], [2, 4, 7])
    array([[1.        , 0.99339927],
           [0.99339927, 1.        ]])
    """
    found = cov(x, y, rowvar, dtype=dtype)
    if not shape_of(found):
        return divide(found, found)
    size = sqrt(real(diagonal(found)) if dtype_of(found).is_complex else diagonal(found))
    rows = divide(divide(found, reshape(size, (-1, 1))), size)
    if dtype_of(found).is_float:
        return clip(rows, -1, 1)
    return bind1("complex", clip(real(rows), -1, 1), clip(imag(rows), -1, 1))


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    """Whether every pair of elements is close (see `isclose`); a traced bool inside `jit`.

    a, b, rtol, atol: shapes that broadcast -> (), bool; equal_nan: NaN is close to NaN
    raises ShapeError: shapes that do not broadcast; DTypeError: no numbers

    NumPy: `numpy.allclose`.

    >>> allclose([1.0, 2.0], [1.0, 2.0 + 1e-9])
    np.True_
    """
    return all_true(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether the shapes and all elements of `a1` and `a2` are equal, NaN and NaN too with
    `equal_nan`; a traced bool inside `jit`.

    a1, a2: any shapes -> (), bool
    raises DTypeError: no numbers

    NumPy: `numpy.array_equal`.

    >>> array_equal([1, 2], [1, 2])
    np.True_
    """
    a, b = asarray(a1), asarray(a2)
    if shape_of(a) != shape_of(b):
        return asarray(False)
    same = equal(a, b)
    if equal_nan:
        same = logical_or(same, logical_and(isnan(a), isnan(b)))
    return all_true(same)


def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Any:
    """How often each number 0 ... length - 1 occurs in a line of integers, or the sums of weights.

    x: (n,) integers or bools, weights: (n,) -> (length,); dtype: int64, with weights float64
    length: the length of the result (or `minlength`, of which known elements make more where they
    need it); it cannot depend on traced ones
    raises ShapeError: no lines of one length, or a negative one; DTypeError: no integers;
    ConcretizationError: traced elements, and no length; ArgumentError: an element below 0, or of
    `length` or more; of traced ones when the program runs

    NumPy: `numpy.bincount`.

    >>> bincount([1, 3, 1])
    array([0, 2, 0, 1])
    """
    x = _line("bincount", cast(asarray(x), dt.i64) if type(x) in (list, tuple) and not x else x)
    (size,) = to_shape("bincount", (minlength if length is None else length,))
    x = cast(x, dt.i64) if dtype_of(x) is dt.b1 else x
    if not dtype_of(x).is_integer:
        raise DTypeError(f"bincount: needs integers, got {type_text(x)}")
    known = known_elements(x) if length is None else None
    if known is not None:
        size = max(size, int(known.max()) + 1 if known.size else 0)
    elif size < 1:
        raise ConcretizationError(
            "bincount: the length of the result depends on data",
            fix="Give `minlength=`: one more than the greatest number there can be.",
        )
    counted = bind1("number_check", x, bound=size, asked="bincount")
    kind = dt.i64 if weights is None else dt.f64
    amounts = cast(1, dt.i64) if weights is None else cast(_line("bincount", weights), kind)
    if weights is not None and shape_of(amounts) != shape_of(x):
        raise ShapeError(f"bincount: weights {type_text(amounts)} for {type_text(x)}")
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
    """Matrices times vectors.

    a: (..., m, n), b: (..., n), leading axes broadcast -> (..., m); dtype: their common type
    raises ShapeError: no matrices, no vectors, or two lengths n; DTypeError: no numbers

    NumPy: `numpy.matvec`.

    >>> matvec([[1, 2], [3, 4]], [1, 1])
    array([3, 7])
    """
    a, b = _of_ranks("matvec", asarray(a), 2), _of_ranks("matvec", asarray(b), 1)
    columns = reshape(b, (*shape_of(b), 1))
    found = matmul(a, columns)
    return reshape(found, shape_of(found)[:-1])


def _of_ranks(name: str, x: Any, least: int) -> Any:
    if len(shape_of(x)) < least:
        raise ShapeError(f"{name}: needs vectors and matrices, got {type_text(x)}")
    return x


def vecmat(a: Any, b: Any) -> Any:
    """Conjugated vectors times matrices.

    a: (..., m), b: (..., m, n), leading axes broadcast -> (..., n); dtype: their common type
    raises ShapeError: no matrices, no vectors, or two lengths m; DTypeError: no numbers

    NumPy: `numpy.vecmat`.

    >>> vecmat([1, 1], [[1, 2], [3, 4]])
    array([4, 6])
    """
    a, b = _of_ranks("vecmat", asarray(a), 1), _of_ranks("vecmat", asarray(b), 2)
    shape = shape_of(a)
    row = conj(a) if dtype_of(a).is_complex else a
    found = matmul(reshape(row, (*shape[:-1], 1, shape[-1])), b)
    return reshape(found, (*shape_of(found)[:-2], shape_of(found)[-1]))


__all__ = [
    *("allclose", "array_equal", "bincount", "convolve", "corrcoef", "cov", "gradient", "interp"),
    *("matvec", "polyval", "trapezoid", "vecmat"),
]
