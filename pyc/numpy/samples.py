"""Functions given by pieces, geometric sequences, angles without jumps, and what real data is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, ConcretizationError, DTypeError, ShapeError
from pyc.interpreter import bind1, is_number, is_tracing
from pyc.ir import dtype as dt
from pyc.numpy import choices
from pyc.numpy.core import (
    axis_of,
    broadcast,
    broadcast_shape,
    cast,
    constant,
    dtype_of,
    integer,
    known_elements,
    literal,
    part,
    result_dtype,
    shape_of,
    structural,
    to_dtype,
    type_text,
    value,
)
from pyc.numpy.creation import asarray, linspace
from pyc.numpy.elementwise import (
    absolute,
    add,
    divide,
    floor_divide,
    multiply,
    negative,
    remainder,
    sign,
    subtract,
)
from pyc.numpy.logic import equal, greater, less, logical_and, logical_not, logical_or, where
from pyc.numpy.manipulation import moveaxis
from pyc.numpy.on_device import together
from pyc.numpy.pieces import concat, diff
from pyc.numpy.statistics import all as all_true
from pyc.numpy.statistics import cumsum
from pyc.numpy.transcendental import log10

__all__ = ["array_equiv", "geomspace", "piecewise", "real_if_close", "unwrap"]


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """The elements of `x` under the function, or the number, of the last condition that holds for
    them; the one more that `funclist` may have is for those of no condition, else they give 0.

    x: any shape and dtype, which the result has, as in NumPy
    condlist: conditions of the shape of x, or a single one, if x is a line; args, kw: for the
    functions. Each function is called with all of `x`, and must work element by element.
    raises ArgumentError: another number of functions; ShapeError: a condition or a piece of another
    shape; DTypeError: no numbers, or functions that are no list

    >>> piecewise(np.array([-2.0, 3.0]), [np.array([True, False])], [0.5, lambda v: v * 2]).tolist()
    [0.5, 6.0]
    """
    x = asarray(x)
    several = isinstance(condlist, (list, tuple)) or len(shape_of(asarray(condlist))) > 0
    if several and shape_of(x):
        several = len(condlist) > 0 and len(shape_of(asarray(condlist[0]))) > 0
    conditions = list(condlist) if several else [condlist]
    tests = [asarray(c) for c in conditions]
    if not hasattr(funclist, "__len__"):
        raise DTypeError(f"piecewise: functions or numbers in a list, got {funclist!r}")
    if len(funclist) not in (len(tests), len(tests) + 1):
        raise ArgumentError(
            f"piecewise: {len(funclist)} functions for {len(tests)} conditions; there may be one "
            "more than these"
        )
    for test in tests:
        if shape_of(test) not in (shape_of(x), ()):
            raise ShapeError(f"piecewise: the condition {type_text(test)} for {type_text(x)}")
    pieces = [asarray(f(x, *args, **kw) if callable(f) else f) for f in funclist]
    return together(_by_the_last, x, tests, pieces)


def _by_the_last(x: Any, conditions: Sequence[Any], pieces: Sequence[Any]) -> Any:
    """The piece of the last condition that holds, in the dtype of `x`; of none, the piece that
    there is beyond the conditions, or 0."""
    kind, shape = dtype_of(x), shape_of(x)
    tests = [cast(c, dt.b1) for c in conditions]
    found = broadcast(literal(0, kind), shape)
    if len(pieces) > len(tests):
        held = tests[0]
        for test in tests[1:]:
            held = logical_or(held, test)
        tests.append(logical_not(held))
    for test, piece in zip(tests, pieces, strict=True):
        found = where(broadcast(test, shape), cast(piece, kind), found)
    return found


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` numbers from start to stop, each the same multiple of the one before.

    start, stop: numbers, or arrays that broadcast to a shape  ->  (num, *shape), or num at `axis`;
    endpoint: whether stop is the last one, or would be the next
    dtype: of the result, by default float64, or complex128 on a logarithmic spiral
    raises ArgumentError: a known end that is 0, or a negative num; ShapeError: ends that do not
    broadcast; AxisError: no such axis; DTypeError: no numbers, a num or axis that is no integer, or
    a dtype that is not supported

    NumPy: `numpy.geomspace`.

    >>> geomspace(1, 1000, 4).round(6).tolist()
    [1.0, 10.0, 100.0, 1000.0]
    """
    ends = [asarray(start), asarray(stop)]
    for end in ends:
        known = known_elements(end)
        if known is not None and (known == 0).any():
            raise ArgumentError("geomspace: a geometric sequence does not hold 0")
    asked = dtype is not None and to_dtype(dtype).is_complex
    wide = dt.c128 if asked or result_dtype(*ends).is_complex else dt.f64
    size = integer("geomspace", "`num`", num)
    if not is_tracing():  # arrays, of rank 0 too: these run as one program
        ends = [np.asarray(end) for end in ends]
    found = together(_geometric, *ends, size, endpoint, wide.numpy.name)
    found = found if dtype is None else cast(found, to_dtype(dtype))
    place = axis_of("geomspace", axis, len(shape_of(found)))
    return moveaxis(found, 0, place) if place else found


def _geometric(start: Any, stop: Any, size: int, endpoint: bool, dtype: Any) -> Any:
    """`size` numbers of a type from start to stop, along a new first axis."""
    wide = to_dtype(dtype)
    first, last = (cast(end, wide) for end in (start, stop))
    # Measured from the first end: real sequences of negative numbers, and spirals, begin at 1.
    turn = sign(first)
    exponents = linspace(log10(divide(first, turn)), log10(divide(last, turn)), size, endpoint)
    ten = broadcast(literal(10, wide), shape_of(exponents))
    found = multiply(bind1("power", ten, cast(exponents, wide)), turn)
    shape = shape_of(found)[1:]
    if size:
        begin = broadcast(first, (1, *shape))
        end = broadcast(last, (1, *shape))
        if size > 1 and endpoint:
            found = concat([begin, part(found, 0, 1, size - 2), end], 0)
        else:
            found = concat([begin, part(found, 0, 1, size - 1)], 0)
    return found


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """`p` with whole periods added so that neighbours along an axis differ by no more than half a
    period; smaller jumps than `discont` (half a period by default) stay as they are.

    p: (..., n, ...), real  ->  the same shape; dtype: that of p and the period together, float64
    for integers unless the period is one
    raises AxisError: no such axis; ShapeError: a discont or period that does not broadcast;
    DTypeError: complex or no numbers, or an axis that is no integer

    NumPy: `numpy.unwrap`.

    >>> unwrap([0, 1, 2, -1, 0], period=4).tolist()
    [0, 1, 2, 3, 4]
    """
    x = asarray(p)
    choices.one("unwrap", "period", period)
    place = axis_of("unwrap", choices.integer("unwrap", "an axis", axis), len(shape_of(x)))
    steps = diff(x, axis=place)
    kind = result_dtype(steps, value(period))
    steps, whole = cast(steps, kind), cast(value(period), kind)
    if kind.is_integer:
        high = floor_divide(whole, 2)
        on_edge = equal(remainder(whole, 2), 0)
    else:
        high, on_edge = divide(whole, 2), value(True)
    low = negative(high)
    limit = divide(whole, 2) if discont is None else value(discont)
    turned = add(remainder(subtract(steps, low), whole), low)
    edge = logical_and(logical_and(equal(turned, low), greater(steps, 0)), on_edge)
    turned = where(edge, high, turned)
    added = where(less(absolute(steps), limit), literal(0, kind), subtract(turned, steps))
    length = shape_of(x)[place]
    line = cast(x, kind)
    rest = add(part(line, place, min(1, length), max(length - 1, 0)), cumsum(added, place))
    return concat([part(line, place, 0, min(1, length)), cast(rest, kind)], place)


def array_equiv(a1: Any, a2: Any) -> Any:
    """The shapes broadcast together and all elements are equal.

    a1, a2: any shapes, compared in the promoted dtype  ->  a bool, which is traced inside `jit`
    raises DTypeError: no numbers

    NumPy: `numpy.array_equiv`.

    >>> bool(array_equiv([1, 2], [[1, 2], [1, 2]]))
    True
    """
    a, b = asarray(a1), asarray(a2)
    try:
        broadcast_shape("array_equiv", [shape_of(a), shape_of(b)])
    except ShapeError:
        return constant(np.False_)
    return all_true(equal(a, b))


def real_if_close(a: Any, tol: float = 100) -> Any:
    """The real parts of complex numbers whose imaginary parts are all below `tol` roundings, or
    below `tol` itself if that is at most 1; `a` if one is not, or if it is real.

    a: any shape and dtype  ->  the same shape, the float of its width or its own dtype
    raises ConcretizationError: traced complex numbers, which would decide the dtype; DTypeError: no
    numbers

    NumPy: `numpy.real_if_close`.

    >>> real_if_close([1 + 0j]).tolist()
    [1.0]
    """
    x = asarray(a)
    if not dtype_of(x).is_complex:
        return x
    known, limit = known_elements(x), structural(tol)
    if known is None or not is_number(limit):
        raise ConcretizationError(
            "real_if_close: whether the result is real depends on data",
            fix="Write `x.real` where the imaginary part does not count.",
        )
    return constant(np.real_if_close(known, limit))
