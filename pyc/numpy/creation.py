"""Making arrays: constants, ranges, and arrays like others."""

from __future__ import annotations

from functools import wraps
from math import prod
from typing import Any

import numpy as np

from pyc.array import Array
from pyc.device import imported
from pyc.errors import ArgumentError, DTypeError, ShapeError, ZeroStepError
from pyc.interpreter import bind1, current, is_number, is_tracing, type_of, weak_type
from pyc.ir import dtype as dt
from pyc.numpy import choices
from pyc.numpy.core import (
    MOST_AXES,
    axis_of,
    broadcast,
    broadcast_shape,
    cast,
    constant,
    converted,
    fits,
    integer,
    literal,
    possible,
    result_dtype,
    separated,
    shape_of,
    strong,
    structural,
    to_dtype,
    to_shape,
    value,
)

_SMALL = 64 * 1024
"""Bytes of data written out in a program; larger ones are computed or are arguments."""


def asarray(x: Any, dtype: Any = None, *, copy: bool | None = None) -> Any:
    """`x` as an array: any shape, its own dtype or `dtype`. Lists may hold traced values.

    copy: True for an array of its own, False for an error where one is needed; device: where it is
    to be, by default that of `x`
    raises ArgumentError: no copy may be made, and one is needed; DTypeError: no numbers, or another
    dtype; ShapeError: rows of several lengths; IntegerRangeError: a Python integer that `dtype`
    does not hold; DeviceError: no such device; UnsupportedOpError: a device in a traced function

    NumPy: `numpy.asarray`.

    >>> asarray([[1, 2], [3, 4]])
    array([[1, 2],
           [3, 4]])
    """
    found, copy = _as_array(x, dtype), choices.copy("asarray", copy)
    if copy:
        return current().copy(found)
    if copy is False and found is not x:
        raise ArgumentError(
            "asarray: `copy=False`, and an array of these elements needs a copy",
            fix="Leave `copy` out, or pass an array that has the dtype.",
        )
    return found


def _as_array(x: Any, dtype: Any) -> Any:
    kind = None if dtype is None else to_dtype(dtype)
    x = value(x, kind)
    if weak_type(x) is not None:
        if kind is not None:
            return strong(cast(x, kind))
        x = strong(x) if hasattr(x, "type") else constant(np.asarray(x))
    found = current().lift(x)
    return found if kind is None else converted(found, kind)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An `Array` of the memory of an array of another library (NumPy, torch, CuPy, JAX ...), of its
    shape and dtype, shared if that may be.

    x: has `__dlpack__` and `__dlpack_device__`; what writes to it later changes the `Array`, too.
    device: where the result is to be, by default where `x` is; copy: True for a copy, False for an
    error where one is needed, None for one where it is needed
    raises DTypeError: no such array; DeviceError: a device that pyc does not have; BufferError:
    elements or a layout that cannot be taken over, or a copy that may not be made

    NumPy: `numpy.from_dlpack`.

    >>> from_dlpack(asarray([1.0, 2.0])).shape
    (2,)
    """
    if not hasattr(x, "__dlpack__"):
        raise DTypeError(
            f"from_dlpack: needs an array with `__dlpack__`, got {type(x).__name__}",
            fix="Use `asarray` for numbers and lists.",
        )
    return imported(x, device, copy)


def array(x: Any, dtype: Any = None, copy: bool | None = True, ndmin: int = 0) -> Any:
    """`x` as an array of its own, with new axes in front up to `ndmin`; its own dtype or `dtype`.

    copy: None for the memory of `x` where it may be shared, False for an error where it may not;
    device: where it is to be, by default that of `x`
    raises ArgumentError: no copy may be made, and one is needed; DTypeError: no numbers, another
    dtype, or an `ndmin` that is no integer; ShapeError: rows of several lengths, or too many axes;
    IntegerRangeError: a Python integer that `dtype` does not hold; DeviceError: no such device;
    UnsupportedOpError: a device in a traced function

    NumPy: `numpy.array`.

    >>> array([1, 2.5])
    array([1. , 2.5])
    """
    copy = choices.copy("array", copy)
    found = asarray(x, dtype, copy=False if copy is False else None)
    rank = len(shape_of(found))
    wanted = integer("array", "`ndmin`", ndmin)
    if wanted > rank:
        in_front = (1,) * min(wanted - rank, MOST_AXES + 1)
        found = bind1("reshape", found, shape=possible("array", in_front + shape_of(found)))
    return current().copy(found) if copy else found


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """An array of `shape` with every element `fill_value`, which broadcasts.

    dtype: None for that of the value; device: None for NumPy's memory
    raises DTypeError: a shape that is not of integers, no numbers, or another dtype; ShapeError: a
    negative or too large shape, or one to which the value does not broadcast; IntegerRangeError: a
    Python integer that the dtype does not hold; DeviceError: no such device; UnsupportedOpError: a
    device in a traced function

    NumPy: `numpy.full`.

    >>> full((2,), 7)
    array([7, 7])
    """
    fill = value(fill_value)
    kind = to_dtype(dtype) if dtype is not None else type_of(fill).dtype
    return broadcast(converted(fill, kind), to_shape("full", shape))


def zeros(shape: Any, dtype: Any = None) -> Any:
    """An array of `shape` of zeros.

    dtype: None for float64; device: None for NumPy's memory
    raises DTypeError: a shape that is not of integers, or another dtype; ShapeError: a negative or
    too large shape; DeviceError: no such device; UnsupportedOpError: a device in a traced function

    NumPy: `numpy.zeros`.

    >>> zeros((2,))
    array([0., 0.])
    """
    return full(shape, literal(0, _float64_or(dtype)))


def ones(shape: Any, dtype: Any = None) -> Any:
    """An array of `shape` of ones.

    dtype: None for float64; device: None for NumPy's memory
    raises DTypeError: a shape that is not of integers, or another dtype; ShapeError: a negative or
    too large shape; DeviceError: no such device; UnsupportedOpError: a device in a traced function

    NumPy: `numpy.ones`.

    >>> ones((2,))
    array([1., 1.])
    """
    return full(shape, literal(1, _float64_or(dtype)))


def _float64_or(dtype: Any) -> dt.DType:
    return dt.f64 if dtype is None else to_dtype(dtype)


def empty(shape: Any, dtype: Any = None) -> Any:
    """An array of `shape` of zeros: an element that was never set has no value that would be the
    same every time.

    dtype: None for float64; device: None for NumPy's memory
    raises DTypeError: a shape that is not of integers, or another dtype; ShapeError: a negative or
    too large shape; DeviceError: no such device; UnsupportedOpError: a device in a traced function

    NumPy: `numpy.empty`.

    >>> empty((2, 3)).shape
    (2, 3)
    """
    return zeros(shape, dtype)


def full_like(x: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    """`full` with the shape and dtype of `x`, or others.

    fill_value: broadcasts; shape, dtype: None for those of `x`; device: None for NumPy's memory
    raises DTypeError: no numbers, complex ones for a real array, a shape that is not of integers,
    or another dtype; ShapeError: a negative or too large shape, or one to which the value does not
    broadcast; IntegerRangeError: a Python integer that the dtype does not hold; DeviceError: no
    such device; UnsupportedOpError: a device in a traced function

    NumPy: `numpy.full_like`.

    >>> full_like([1, 2], 7)
    array([7, 7])
    """
    kind = type_of(value(x))
    return full(
        kind.shape if shape is None else shape, fill_value, kind.dtype if dtype is None else dtype
    )


def zeros_like(x: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    """Zeros of the shape and dtype of an array, or of others.

    x: an array; shape, dtype: None for those of `x`; device: None for NumPy's memory
    raises DTypeError: no numbers, a shape that is not of integers, or another dtype; ShapeError: a
    negative or too large shape; DeviceError: no such device; UnsupportedOpError: a device in a
    traced function

    NumPy: `numpy.zeros_like`.

    >>> zeros_like([5, 6])
    array([0, 0])
    """
    return full_like(x, 0, dtype, shape=shape)


def ones_like(x: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    """Ones of the shape and dtype of an array, or of others.

    x: an array; shape, dtype: None for those of `x`; device: None for NumPy's memory
    raises DTypeError: no numbers, a shape that is not of integers, or another dtype; ShapeError: a
    negative or too large shape; DeviceError: no such device; UnsupportedOpError: a device in a
    traced function

    NumPy: `numpy.ones_like`.

    >>> ones_like([5, 6])
    array([1, 1])
    """
    return full_like(x, 1, dtype, shape=shape)


def empty_like(x: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    """As `zeros_like`.

    x: an array; shape, dtype: None for those of `x`; device: None for NumPy's memory
    raises DTypeError: no numbers, a shape that is not of integers, or another dtype; ShapeError: a
    negative or too large shape; DeviceError: no such device; UnsupportedOpError: a device in a
    traced function

    NumPy: `numpy.empty_like`.

    >>> empty_like([1, 2]).dtype
    dtype('int64')
    """
    return zeros_like(x, dtype, shape=shape)


def iota(shape: tuple[int, ...], axis: int, dtype: dt.DType) -> Any:
    """The position along `axis` at each place of `shape`."""
    return bind1("iota", shape=shape, axis=axis, dtype=dtype)


def _with_stop(arange: Any) -> Any:
    """`arange` that refuses, as NumPy does, to be called without a `stop`: one number by position
    is one, a `start` that is named is none."""

    @wraps(arange)
    def run(*args: Any, **options: Any) -> Any:
        if not args and "stop" not in options:
            raise DTypeError(
                "arange: `stop` is missing",
                fix="Write `arange(stop)`, `arange(start, stop)` or `arange(stop=n)`.",
            )
        return arange(*args, **options)

    return run


@_with_stop
def arange(start: Any = 0, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """start, start + step, ... below stop (from 0 if only one number is given), as an array (n,).
    The
    three must be concrete: they decide the shape.

    dtype: None for that of the numbers; device: None for NumPy's memory
    raises DTypeError: no numbers, no `stop`, or another dtype; ArgumentError: a step of 0, or more
    elements than an array can have; DeviceError: no such device; UnsupportedOpError: a device in a
    traced function

    NumPy: `numpy.arange`.

    >>> arange(2, 11, 3)
    array([2, 5, 8])
    """
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    start, stop, step = (structural(x) for x in (start, stop, step))
    for x in (start, stop, step):
        if not is_number(x):
            integer("arange", "an end or a step", x)  # raises: it is traced, or no number
    kind_given: Any = None if dtype is None else to_dtype(dtype).numpy
    numbers: Any = np.arange
    try:
        whole = numbers(start, stop, step, kind_given)
    except ZeroDivisionError:
        raise ZeroStepError(f"arange: a step of 0 from {start} to {stop}") from None
    except ValueError:
        raise ArgumentError(
            f"arange: no array has the numbers from {start} to {stop} by {step}",
            fix="Take finite ends and steps.",
        ) from None
    kind = dt.of(whole.dtype)
    if kind is None:
        raise DTypeError(f"arange: dtype {whole.dtype} is not supported")
    if whole.nbytes <= _SMALL // 16 or kind.kind != "int":
        return constant(whole) if whole.nbytes <= _SMALL else _computed(whole, kind)
    first, by = int(whole[0]), int(whole[1] - whole[0])
    return bind1(
        "add",
        bind1("mul", iota(whole.shape, 0, kind), broadcast(literal(by, kind), whole.shape)),
        broadcast(literal(first, kind), whole.shape),
    )


def _computed(whole: Any, kind: dt.DType) -> Any:
    """A large arithmetic sequence of floats, as NumPy fills it: first + k * (second - first)."""
    first, by = whole[0], whole[1] - whole[0]
    shape = whole.shape
    return bind1(
        "add",
        bind1("mul", iota(shape, 0, kind), broadcast(constant(by), shape)),
        broadcast(constant(first), shape),
    )


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` evenly spaced numbers from start to stop, along a new axis if these are arrays, which
    broadcast. endpoint: stop is the last of them, else the first one left out; retstep: a tuple
    with how far they are apart, NaN of a single one.

    dtype: None for the float type that start and stop promote to; integers are rounded down;
    device: None for NumPy's memory
    raises DTypeError: no numbers, a `num` or an axis that is no integer, or another dtype;
    ShapeError: a negative or too large number of samples, or ends that do not broadcast; AxisError:
    no such axis; DeviceError: no such device; UnsupportedOpError: a device in a traced function

    NumPy: `numpy.linspace`.

    >>> linspace(0, 1, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    num = integer("linspace", "`num`", num)
    if num < 0:
        raise ShapeError(f"linspace: the number of samples must not be negative, got {num}")
    possible("linspace", (num,))
    axis = integer("linspace", "an axis", axis)
    if is_number(start) and is_number(stop) and not axis and _fit_int64(start, stop):
        wanted: Any = None if dtype is None else to_dtype(dtype).numpy
        whole, step = np.linspace(start, stop, num, endpoint, True, wanted)  # type: ignore[call-overload]
        if whole.nbytes <= _SMALL:
            return (constant(whole), constant(step)) if retstep else constant(whole)
    start, stop = value(start), value(stop)
    kind = result_dtype(start, stop, value(1.0))
    parts = num - 1 if endpoint else num
    around = broadcast_shape("linspace", [shape_of(start), shape_of(stop)])
    place = axis_of("linspace", axis, len(around) + 1)
    shape = (*around[:place], num, *around[place:])
    flat = tuple(broadcast(cast(x, kind), around) for x in (start, stop))
    apart = bind1("sub", flat[1], flat[0])
    divisor = broadcast(literal(parts if parts > 0 else np.nan, kind), around)
    step = bind1("div", apart, divisor)
    unit = (*around[:place], 1, *around[place:])
    a, b, each = (
        broadcast(bind1("reshape", x, shape=unit), shape)
        for x in (*flat, step if parts > 0 else apart)
    )
    at = iota(shape, place, kind.real if kind.is_complex else kind)
    at = cast(at, kind)
    found = bind1("add", bind1("mul", at, each), a)
    if endpoint and num > 1:
        last = bind1("eq", at, broadcast(literal(num - 1, kind), shape))
        found = bind1("select", last, b, found)
    if dtype is not None:
        last_kind = to_dtype(dtype)
        down = last_kind.is_integer and kind.is_float
        found = cast(bind1("floor", found) if down else found, last_kind)
    return (found, step if parts > 0 else constant(np.float64(np.nan))) if retstep else found


def _fit_int64(*numbers: Any) -> bool:
    """Whether NumPy makes floats of Python integers."""
    return all(type(x) is not int or fits(x, dt.i64) for x in numbers)


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """base ** x at `num` evenly spaced x from start to stop, along a new axis if one of the three
    is an array; they broadcast. endpoint: stop is the last of them, else the first one left out.

    dtype: None for float64, or the complex type of the three
    raises DTypeError: no numbers, a `num` or an axis that is no integer, or another dtype;
    ShapeError: a negative or too large number of samples, or arrays that do not broadcast;
    AxisError: no such axis

    NumPy: `numpy.logspace`.

    >>> logspace(0, 2, 3)
    array([  1.,  10., 100.])
    """
    base = value(base)
    shape = broadcast_shape("logspace", [shape_of(value(x)) for x in (start, stop, base)])
    if shape_of(base):
        start, stop = (broadcast(cast(value(x), dt.f64), shape) for x in (start, stop))
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    power = cast(base, dt.f64)
    if shape_of(base):
        place = axis_of("logspace", axis, len(shape) + 1)
        power = broadcast(power, shape)
        power = bind1("reshape", power, shape=(*shape[:place], 1, *shape[place:]))
    kind = result_dtype(base, exponents)
    power = broadcast(cast(power, kind), shape_of(exponents))
    found = bind1("power", power, cast(exponents, kind))
    return found if dtype is None else cast(found, to_dtype(dtype))


def indices(dimensions: Any, dtype: Any = np.int64, sparse: bool = False) -> Any:
    """The index of each place of a grid: (rank, *dimensions); sparse: a tuple of one array for each
    axis, of extent 1 along the others.

    dtype: int64 by default; None is NumPy's, float64, of `sparse` int64
    raises DTypeError: dimensions that are not integers, or another dtype; ShapeError: none, or
    negative or too large ones

    NumPy: `numpy.indices`.

    >>> indices((1, 3))
    array([[[0, 0, 0]],
    <BLANKLINE>
           [[0, 1, 2]]])
    """
    shape = to_shape("indices", dimensions)
    if dtype is None:
        dtype = np.int64 if sparse else np.float64
    ranks, kind = range(len(shape)), to_dtype(dtype)
    if sparse:
        alone = [tuple(shape[j] if j == k else 1 for j in ranks) for k in ranks]
        return tuple(bind1("iota", shape=alone[k], axis=k, dtype=kind) for k in ranks)
    lines = [bind1("iota", shape=(1, *shape), axis=k + 1, dtype=kind) for k in ranks]
    if not lines:
        raise ShapeError("indices: needs at least one dimension")
    return lines[0] if len(lines) == 1 else bind1("concatenate", *lines, axis=0)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones on diagonal k of an (N, M) array, zeros elsewhere; M: None for N.

    dtype: None for float64; device: None for NumPy's memory
    raises DTypeError: sizes or a `k` that are no integers, or another dtype; ShapeError: negative
    or too large sizes; DeviceError: no such device; UnsupportedOpError: a device in a traced
    function

    NumPy: `numpy.eye`.

    >>> eye(2, k=1)
    array([[0., 1.],
           [0., 0.]])
    """
    shape = rows, columns = to_shape("eye", (N, N if M is None else M))
    k = _diagonal("eye", k, rows, columns)
    if _is_written(shape):
        return constant(np.eye(rows, columns, k, bool).astype(_float64_or(dtype).numpy))
    row, column = iota(shape, 0, dt.i64), iota(shape, 1, dt.i64)
    moved = bind1("add", row, broadcast(literal(k, dt.i64), shape))
    return cast(bind1("eq", moved, column), _float64_or(dtype))


def identity(n: int, dtype: Any = None) -> Any:
    """`eye(n)`: an array (n, n).

    dtype: None for float64; device: None for NumPy's memory
    raises DTypeError: a size that is no integer, or another dtype; ShapeError: a negative or too
    large size; DeviceError: no such device; UnsupportedOpError: a device in a traced function

    NumPy: `numpy.identity`.

    >>> identity(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, dtype=dtype)


def _is_written(shape: tuple[int, ...]) -> bool:
    """Whether a matrix of known elements is written here: outside of a trace some
    are there sooner than a program for them."""
    return not is_tracing() and prod(shape) <= _SMALL


def _diagonal(name: str, k: Any, rows: int, columns: int) -> int:
    """The number of a diagonal of a matrix; one beyond its corners is the first that is."""
    return max(-rows, min(integer(name, "`k`", k), columns))


def _triangle(name: str, x: Any, k: int, test: str) -> Any:
    x = value(x)
    shape = shape_of(x)
    if not shape:
        raise DTypeError(f"{name}: needs an array of rank 1 or more, got {type_of(x)}")
    if len(shape) == 1:
        shape = (*shape, *shape)
        x = broadcast(x, shape)
    rank = len(shape)
    k = _diagonal(name, k, *shape[-2:])
    row, column = iota(shape, rank - 2, dt.i64), iota(shape, rank - 1, dt.i64)
    keep = bind1(test, column, bind1("add", row, broadcast(literal(k, dt.i64), shape)))
    zero = broadcast(literal(0, type_of(x).dtype), shape)
    return bind1("select", keep, x, zero)


def tril(x: Any, k: int = 0) -> Any:
    """`x` with zeros above diagonal k: (..., m, n) -> the same shape and dtype. A line stands for a
    square of equal rows.

    raises DTypeError: no numbers, rank 0, or a `k` that is no integer

    NumPy: `numpy.tril`.

    >>> tril([[1, 2], [3, 4]])
    array([[1, 0],
           [3, 4]])
    """
    return _triangle("tril", x, k, "le")


def triu(x: Any, k: int = 0) -> Any:
    """`x` with zeros below diagonal k: (..., m, n) -> the same shape and dtype. A line stands for a
    square of equal rows.

    raises DTypeError: no numbers, rank 0, or a `k` that is no integer

    NumPy: `numpy.triu`.

    >>> triu([[1, 2], [3, 4]])
    array([[1, 2],
           [0, 4]])
    """
    return _triangle("triu", x, k, "ge")


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones at and below diagonal k of an (N, M) array; numbers below 0 count as 0, as in NumPy. M:
    None for N.

    dtype: None for float64
    raises DTypeError: sizes or a `k` that are no integers, or another dtype; ShapeError: too large
    sizes

    NumPy: `numpy.tri`.

    >>> tri(2)
    array([[1., 0.],
           [1., 1.]])
    """
    sizes = (integer("tri", "a size", n) for n in (N, N if M is None else M))
    shape = rows, columns = to_shape("tri", tuple(max(n, 0) for n in sizes))
    if _is_written(shape):
        k = _diagonal("tri", k, rows, columns)
        return constant(np.tri(rows, columns, k, bool).astype(_float64_or(dtype).numpy))
    return tril(ones(shape, dtype), k)


def meshgrid(
    *xs: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True
) -> tuple[Any, ...]:
    """Coordinate arrays of coordinate vectors `xs`, each of its dtype: shape (len(x2), len(x1),
    ...) for the indexing "xy", in order of the arguments for "ij"; sparse: of extent 1 along the
    axes of the others. copy: False for arrays that share the memory of the vectors.

    raises ArgumentError: another indexing; DTypeError: no numbers

    NumPy: `numpy.meshgrid`.

    >>> meshgrid([1, 2], [3])
    (array([[1, 2]]), array([[3, 3]]))
    """
    indexing = choices.text("meshgrid", "indexing", indexing, ("xy", "ij"))
    lines = [asarray(x) for x in xs]
    order = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        order[:2] = [1, 0]
    sizes = [int(np.prod(shape_of(x))) for x in lines]
    shape = tuple(sizes[k] for k in order)
    found = []
    for k, x in enumerate(lines):
        at = order.index(k)
        line = bind1(
            "reshape", x, shape=tuple(sizes[k] if a == at else 1 for a in range(len(lines)))
        )
        found.append(line if sparse else broadcast(line, shape))
    return separated(tuple(found), xs) if copy else tuple(found)


def copy(x: Any) -> Any:
    """An array of its own with the elements of `x`: any shape -> the same shape and dtype.

    raises DTypeError: no numbers

    NumPy: `numpy.copy`.

    >>> copy([1, 2])
    array([1, 2])
    """
    return current().copy(asarray(x))


def broadcast_to(x: Any, shape: Any) -> Any:
    """`x` repeated along new and unit axes to `shape`, of its dtype.

    raises DTypeError: no numbers, or a shape that is not of integers; ShapeError: it does not
    broadcast to the shape, or that is negative or too large

    NumPy: `numpy.broadcast_to`.

    >>> broadcast_to([1, 2], (2, 2))
    array([[1, 2],
           [1, 2]])
    """
    x, shape = asarray(x), to_shape("broadcast_to", shape)
    if broadcast_shape("broadcast_to", [shape_of(x), shape]) != shape:
        raise ShapeError(f"broadcast_to: {type_of(x)} does not broadcast to {shape}")
    return broadcast(x, shape)


def broadcast_arrays(*xs: Any) -> tuple[Any, ...]:
    """The arguments `xs` broadcast to their common shape, each of its dtype.

    raises DTypeError: no numbers; ShapeError: they do not broadcast

    NumPy: `numpy.broadcast_arrays`.

    >>> broadcast_arrays([1, 2], [[3], [4]])
    (array([[1, 2],
           [1, 2]]), array([[3, 3],
           [4, 4]]))
    """
    values = [asarray(x) for x in xs]
    shape = broadcast_shape("broadcast_arrays", [shape_of(x) for x in values])
    return tuple(broadcast(x, shape) for x in values)


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these `shapes`, of any dtype, broadcast to; each is an integer or a
    tuple of them.

    raises DTypeError: a shape that is not of integers; ShapeError: they do not broadcast, or one is
    negative or too large

    NumPy: `numpy.broadcast_shapes`.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    return broadcast_shape("broadcast_shapes", [to_shape("broadcast_shapes", s) for s in shapes])
