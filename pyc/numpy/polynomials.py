"""Polynomials as lines of coefficients, the highest power first, as NumPy's `poly1d` has them.

Lengths are those of the arguments: leading zeros that NumPy trims are trimmed where the elements
are known (outside of a trace, and constants inside), and stay where they are traced.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.errors import ArgumentError, ShapeError
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
    result_dtype,
    shape_of,
    type_text,
    value,
)
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import add, divide, multiply, reciprocal, subtract
from pyc.numpy.indexing import gather
from pyc.numpy.manipulation import atleast_1d, flip, reshape
from pyc.numpy.numerical import convolve
from pyc.numpy.pieces import concat, pad
from pyc.numpy.statistics import cumprod

__all__ = [
    "polyadd",
    "polyder",
    "polydiv",
    "polyint",
    "polymul",
    "polysub",
    "vander",
]


def _coefficients(name: str, p: Any) -> Any:
    found = atleast_1d(asarray(p))
    if len(shape_of(found)) != 1:
        raise ShapeError(f"{name}: coefficients are a line, got {type_text(found)}")
    return found


def _trimmed(p: Any) -> Any:
    """A line without leading zeros, where its elements are known; 0 where it has none."""
    known = known_elements(p)
    if known is not None and not known.size:
        return constant(np.zeros(1, known.dtype))
    if known is None or known[0] != 0:
        return p
    rest = np.trim_zeros(known, "f")
    return constant(rest if rest.size else known[:1])


def _sum(name: str, operation: Any, a1: Any, a2: Any) -> Any:
    a, b = _coefficients(name, a1), _coefficients(name, a2)
    size = max(shape_of(a)[0], shape_of(b)[0])
    return operation(*(pad(p, (size - shape_of(p)[0], 0)) for p in (a, b)))


def polyadd(a1: Any, a2: Any) -> Any:
    """The coefficients of the sum of two polynomials, as long as the longer one.

    a1: (m,) or a number, a2: (n,)  ->  (max(m, n),), of the promoted dtype
    raises ShapeError: no lines; DTypeError: no numbers

    NumPy: `numpy.polyadd`.

    >>> polyadd([1, 2], [3, 4, 5]).tolist()
    [3, 5, 7]
    """
    return _sum("polyadd", add, a1, a2)


def polysub(a1: Any, a2: Any) -> Any:
    """The coefficients of the difference of two polynomials, as long as the longer one.

    a1: (m,) or a number, a2: (n,)  ->  (max(m, n),), of the promoted dtype, which is not bool
    raises ShapeError: no lines; DTypeError: no numbers

    NumPy: `numpy.polysub`.

    >>> polysub([1, 2], [3, 4, 5]).tolist()
    [-3, -3, -3]
    """
    return _sum("polysub", subtract, a1, a2)


def polymul(a1: Any, a2: Any) -> Any:
    """The coefficients of the product of two polynomials.

    a1: (m,) or a number, a2: (n,)  ->  (m + n - 1,), less zeros in front of known ones, of the
    promoted dtype; without coefficients it is 0
    raises ShapeError: no lines, or a traced one without elements; DTypeError: no numbers

    NumPy: `numpy.polymul`.

    >>> polymul([1, 2], [1, 3]).tolist()
    [1, 5, 6]
    """
    a, b = (_trimmed(_coefficients("polymul", p)) for p in (a1, a2))
    # A line without coefficients is 0, as NumPy has it.
    a, b = (p if shape_of(p)[0] else cast(constant(np.zeros(1)), dtype_of(p)) for p in (a, b))
    return convolve(a, b)


def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """(quotient, remainder) of two polynomials. A remainder that is traced is as long as `u`, with
    zeros in front; one that is known is trimmed.

    u: (m,) or a number, v: (n,)  ->  (max(m - n + 1, 1),), and (m,) or less; of the promoted dtype,
    integers and bools as float64
    raises ShapeError: no lines, or without coefficients; DTypeError: no numbers

    NumPy: `numpy.polydiv`.

    >>> [p.tolist() for p in polydiv([3.0, 5.0, 2.0], [2.0, 1.0])]
    [[1.5, 1.75], [0.25]]
    """
    u, v = _coefficients("polydiv", u), _coefficients("polydiv", v)
    size, other = shape_of(u)[0], shape_of(v)[0]
    if not size or not other:
        raise ShapeError("polydiv: a polynomial has at least one coefficient")
    known = known_elements(u), known_elements(v)
    if known[0] is not None and known[1] is not None:
        quotient, remainder = np.polydiv(*known)
        return constant(quotient), constant(remainder)
    kind = dt.promote_weak(float, result_dtype(u, v))
    rest, divisor = cast(u, kind), cast(v, kind)
    scale = reciprocal(gather(divisor, 0))
    found = []
    for k in range(size - other + 1):
        factor = multiply(scale, gather(rest, k))
        found.append(reshape(factor, (1,)))
        taken = pad(multiply(factor, divisor), (k, size - other - k))
        rest = subtract(rest, taken)
    quotient = concat(found, 0) if found else broadcast(literal(0, kind), (1,))
    return quotient, rest


def _order(name: str, m: Any) -> int:
    times = integer(name, "`m`", m)
    if times < 0:
        raise ArgumentError(f"{name}: the order must not be negative, got {times}")
    return times


def _falling(size: int) -> Any:
    """size, size - 1, ..., 1."""
    return constant(np.arange(size, 0, -1))


def polyder(p: Any, m: int = 1) -> Any:
    """The coefficients of the derivative of order `m`.

    p: (n,) or a number  ->  (max(n - m, 0),), of the dtype of p and int64 together
    raises ArgumentError: a negative order; ShapeError: no line; DTypeError: no numbers, bfloat16,
    or an order that is no integer

    NumPy: `numpy.polyder`.

    >>> polyder([1, 2, 3]).tolist()
    [2, 2]
    """
    found = _coefficients("polyder", p)
    for _ in range(_order("polyder", m)):
        size = max(shape_of(found)[0] - 1, 0)
        found = multiply(part(found, 0, 0, size), _falling(size))
    return found


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The coefficients of the antiderivative of order `m`; k: the constants of integration, one for
    each order, or one for all if it is a number; zeros by default.

    p: (n,) or a number  ->  (n + m,), float64, or complex128 of complex numbers
    raises ArgumentError: a negative order; ShapeError: no line, or another number of constants;
    DTypeError: no numbers, bfloat16, or an order that is no integer

    NumPy: `numpy.polyint`.

    >>> polyint([2.0, 2.0]).tolist()
    [1.0, 2.0, 0.0]
    """
    found = _coefficients("polyint", p)
    times = _order("polyint", m)
    constants = atleast_1d(asarray(0.0 if k is None else k))
    if shape_of(constants) == (1,):
        constants = broadcast(constants, (times,))
    if shape_of(constants)[0] < times:
        raise ShapeError(f"polyint: {shape_of(constants)[0]} constants for order {times}")
    for n in range(times):
        whole = divide(found, _falling(shape_of(found)[0]))
        found = concat([whole, part(constants, 0, n, 1)], 0)
    return found


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of the elements of a line as the columns of a matrix, the highest first unless
    `increasing`: x (n,) -> (n, N), N being n by default.

    dtype: that of x and int64 together
    raises ShapeError: no line, or a negative number of columns; DTypeError: no numbers, bfloat16,
    or an N that is no integer

    NumPy: `numpy.vander`.

    >>> vander([2, 3], 3).tolist()
    [[4, 2, 1], [9, 3, 1]]
    """
    line = asarray(x)
    if len(shape_of(line)) != 1:
        raise ShapeError(f"vander: needs a line, got {type_text(line)}")
    (size,) = shape_of(line)
    columns = size if N is None else choices.integer("vander", "`N`", N)
    if columns < 0:
        raise ShapeError(f"vander: a negative number of columns, {columns}")
    kind = result_dtype(line, cast(value(0), dt.i64))
    first = broadcast(literal(1, kind), (size, min(columns, 1)))
    factors = broadcast(reshape(cast(line, kind), (size, 1)), (size, max(columns - 1, 0)))
    powers = cumprod(concat([first, factors], 1), 1)
    return powers if increasing else flip(powers, 1)
