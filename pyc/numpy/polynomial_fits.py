"""Polynomials by linear algebra: their roots, those of given roots, and those through points.

Coefficients are lines, the highest power first, as in `polynomials`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pyc.errors import ArgumentError, DTypeError, LinearAlgebraError, ShapeError
from pyc.ir import dtype as dt
from pyc.numpy import choices
from pyc.numpy.core import (
    broadcast,
    cast,
    constant,
    dtype_of,
    integer,
    known_elements,
    literal,
    part,
    shape_of,
    type_text,
)
from pyc.numpy.creation import asarray, iota
from pyc.numpy.elementwise import add, divide, multiply, negative, real, sqrt
from pyc.numpy.factorisations import eigvals, factored, floats
from pyc.numpy.indexing import gather
from pyc.numpy.linear_algebra import matmul, outer
from pyc.numpy.logic import equal, less, not_equal, where
from pyc.numpy.manipulation import atleast_1d, expand_dims, matrix_transpose, reshape
from pyc.numpy.pieces import concat, pad
from pyc.numpy.polynomials import vander
from pyc.numpy.solvers import inv, lstsq
from pyc.numpy.sorting import argsort, size_of
from pyc.numpy.statistics import argmax
from pyc.numpy.statistics import sum as total

__all__ = ["poly", "polyfit", "roots"]


# --- roots ----------------------------------------------------------------------------------------


def poly(seq_of_zeros: Any) -> Any:
    """The coefficients, (n + 1,), of the polynomial with these roots, (n,), or with the eigenvalues
    of a matrix, (n, n), as roots, and 1 in front. Complex roots give complex coefficients, unless
    they are known and conjugates of each other; real matrices real ones.

    seq_of_zeros: a number, (n,) or (n, n)  ->  (n + 1,); dtype: float32, float64 and complex ones
    stay what they are, integers, bools and float16 are float64
    raises ShapeError: neither a line nor a square matrix; LinearAlgebraError: when the program
    runs, a matrix with NaN or infinity; DTypeError: no numbers

    NumPy: `numpy.poly`.

    >>> poly([1.0, 2.0]).tolist()
    [1.0, -3.0, 2.0]
    """
    zeros = atleast_1d(asarray(seq_of_zeros))
    known = known_elements(zeros)
    if known is not None and known.dtype.kind == "c":
        return constant(np.poly(known))
    shape, kind = shape_of(zeros), dtype_of(zeros)
    if len(shape) != 1 and (len(shape) != 2 or shape[0] != shape[1] or not shape[0]):
        raise ShapeError(f"poly: needs a line of roots or a square matrix, got {type_text(zeros)}")
    kind = kind if kind.bits >= 32 and not kind.is_integer and kind is not dt.b1 else dt.f64
    zeros = cast(zeros, kind)
    if len(shape) == 2:
        found = _product(eigvals(zeros))
        return found if kind.is_complex else real(found)
    return _product(zeros) if shape[0] else constant(np.float64(1))


def _product(zeros: Any) -> Any:
    """The coefficients of the product of x - zero."""
    found = broadcast(literal(1, dtype_of(zeros)), (1,))
    for n in range(shape_of(zeros)[0]):
        times = multiply(found, negative(gather(zeros, n)))
        found = add(pad(found, (0, 1)), pad(times, (1, 0)))
    return found


def roots(p: Any, *, size: int | None = None) -> Any:
    """The roots of the polynomial with coefficients `p`, (n,), as the eigenvalues of its companion
    matrix, those that are 0 last.

    size: how many there are at most, NaN behind the last. Without it traced coefficients give
    n - 1 roots, and the first one must not be 0: how many roots there are would depend on data.
    Traced coefficients give complex roots, others real ones if all are real, as NumPy does.
    -> (n - 1,), less for zeros in front that are known, or (size,); dtype: complex64 for float32
    and complex64, else complex128
    raises ShapeError: no line, or a negative `size`; DTypeError: no numbers, or a `size` that is no
    integer; LinearAlgebraError: NaN or infinity in `p`, or, when the program runs, without `size` a
    first coefficient that is 0

    NumPy: `numpy.roots`, which has no `size`.

    >>> roots([1.0, -3.0, 2.0]).tolist()
    [2.0, 1.0]
    """
    line = atleast_1d(asarray(p))
    if len(shape_of(line)) != 1:
        raise ShapeError(f"roots: coefficients are a line, got {type_text(line)}")
    known = known_elements(line) if size is None else None
    if known is not None:
        try:
            return constant(np.roots(known))
        except np.linalg.LinAlgError as error:
            raise LinearAlgebraError(f"roots: the companion matrix: {error}") from None
    places = None if size is None else size_of("roots", size)
    kind = dtype_of(line)
    line = cast(line, kind if kind in (dt.f32, dt.c64, dt.c128) else dt.f64)
    count = max(shape_of(line)[0] - 1, 0)
    if places is None and count:
        # One more name for a routine that did not come to an end: here it is not begun.
        gone = cast(equal(gather(line, 0), 0), dt.i32)
        factored(gone, "roots", "the first coefficient is 0, give `size=` for the most roots")
        places = count
    if not count:
        none = literal(complex(np.nan, np.nan), _companion_type(line))
        return broadcast(none, (places or 0,))
    assert places is not None, "it is the number of coefficients, less one"
    return _found_roots(line, count, places)


def _companion_type(line: Any) -> dt.DType:
    kind = dtype_of(line)
    return kind if kind.is_complex else (dt.c64 if kind is dt.f32 else dt.c128)


def _found_roots(line: Any, count: int, places: int) -> Any:
    """The first of `count` roots at most of a line, as many as there are places."""
    there = not_equal(line, 0)
    lead = argmax(there)
    none = equal(total(there), 0)
    at = add(iota((count + 1,), 0, dt.i64), lead)
    moved = where(less(at, count + 1), gather(line, at, mode="clip"), literal(0, dtype_of(line)))
    first = where(none, literal(1, dtype_of(line)), part(moved, 0, 0, 1))
    row = reshape(negative(divide(part(moved, 0, 1, count), first)), (1, count))
    below = constant(np.eye(count - 1, count, dtype=dtype_of(line).numpy))
    found = eigvals(concat([row, below], 0))
    # Each coefficient that is missing in front is a root 0 too many: LAPACK sets these apart before
    # it begins, so that they are exact.
    number = where(none, 0, add(negative(lead), count))
    found = gather(found, argsort(equal(found, 0)))
    if places > count:
        found = pad(found, (0, places - count))
    nan = literal(complex(np.nan, np.nan), dtype_of(found))
    return where(less(iota((places,), 0, dt.i64), number), part(found, 0, 0, places), nan)


# --- least squares --------------------------------------------------------------------------------


class PolyfitResult(NamedTuple):
    """What `polyfit` gives with `full`."""

    coefficients: Any
    residuals: Any
    rank: Any
    singular_values: Any
    rcond: Any


def _floats(name: str, x: Any) -> Any:
    """`x` as NumPy makes it floats: x + 0.0."""
    x = asarray(x)
    return x if dtype_of(x).is_float or dtype_of(x).is_complex else cast(x, dt.f64)


def _points(x: Any, y: Any, w: Any) -> tuple[Any, Any, Any]:
    """The points and their weights; DTypeError, NumPy's TypeError, if they do not fit."""
    x, y = floats("polyfit", x), _floats("polyfit", y)
    if len(shape_of(x)) != 1 or not shape_of(x)[0]:
        raise DTypeError(
            f"polyfit: needs a line of one place or more, got {type_text(x)}",
            fix="Give the places as an array of rank 1.",
        )
    w = None if w is None else _floats("polyfit", w)
    if len(shape_of(y)) not in (1, 2) or shape_of(y)[0] != shape_of(x)[0]:
        raise DTypeError(
            f"polyfit: {type_text(x)} needs as many values, or rows of values, got {type_text(y)}",
            fix="Give a value for each place: (n,), or (n, k) for k polynomials.",
        )
    if w is not None and shape_of(w) != shape_of(x):
        raise DTypeError(
            f"polyfit: {type_text(x)} needs as many weights, got {type_text(w)}",
            fix="Give a weight for each place.",
        )
    return x, y, w


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: Any = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Any:
    """The coefficients of the polynomial of degree `deg` that is nearest to points, by the squares
    of the distances.

    x: (n,); y: (n,), or (n, k) for k polynomials -> (deg + 1,) or (deg + 1, k), of the promoted
    dtype, integers and bools as float64
    rcond: singular values up to this share of the greatest count as 0, by default n times the
    spacing of the type of x; w: (n,), by which distances are multiplied
    full: a tuple of the coefficients, the sums of squares of the residuals, the rank, the singular
    values and rcond; cov: a tuple of the coefficients and their covariance matrix, scaled by the
    residuals unless it is "unscaled"
    raises ArgumentError: a negative degree, or too few points to scale the covariance; ShapeError:
    several `rcond`; DTypeError: places, values and weights that do not fit, no numbers, or float16;
    LinearAlgebraError: when the program runs, no convergence. NumPy's RankWarning is not given, and
    residuals are there whatever the rank is.

    NumPy: `numpy.polyfit`.

    >>> polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).round(6).tolist()
    [2.0, 1.0]
    """
    order = integer("polyfit", "`deg`", deg) + 1
    if order < 1:
        raise ArgumentError(
            f"polyfit: the degree must not be negative, got {order - 1}",
            fix="Degree 0 is a constant, 1 a line.",
        )
    x, y, w = _points(x, y, w)
    (count,) = shape_of(x)
    if rcond is None:
        rcond = count * float(np.finfo(dtype_of(x).numpy).eps)
    left, right = vander(x, order), y
    if w is not None:
        column = expand_dims(w, 1)
        left = cast(multiply(left, column), dtype_of(left))
        right = cast(multiply(right, column if len(shape_of(y)) == 2 else w), dtype_of(y))
    scale = sqrt(total(multiply(left, left), 0))
    left = divide(left, scale)
    found, residuals, rank, values = lstsq(left, right, rcond)
    found = divide(found, scale if len(shape_of(y)) == 1 else expand_dims(scale, 1))
    if choices.truth(full):
        return PolyfitResult(found, residuals, rank, values, rcond)
    wanted = cov if isinstance(cov, str) else choices.truth(cov)
    if not wanted:
        return found
    spread = divide(inv(matmul(matrix_transpose(left), left)), outer(scale, scale))
    if wanted != "unscaled":
        if count <= order:
            raise ArgumentError(
                f"polyfit: {count} points do not tell the covariance of {order} coefficients",
                fix='Give more points, or write `cov="unscaled"`.',
            )
        factor = divide(residuals, count - order)
        if len(shape_of(y)) == 2:
            return found, multiply(expand_dims(spread, 2), factor)
        return found, multiply(spread, factor)
    return found, spread if len(shape_of(y)) == 1 else expand_dims(spread, 2)
