"""What every chapter of `pyc.numpy` shares: operands, promotion, broadcasting, axes.

Operands are whatever users pass: traced values, NumPy arrays and scalars, Python numbers, nested
lists. `operands` makes them values of one shape and type by NumPy 2's rules (Python numbers are
weak), with the `cast` and `broadcast` equations that the Graph level wants explicit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache, reduce
from math import isfinite, prod
from typing import Any

import numpy as np
from numpy.exceptions import ComplexWarning

from pyc.errors import (
    ArgumentError,
    AxisError,
    DTypeError,
    IntegerRangeError,
    OptionError,
    PycError,
    ShapeError,
)
from pyc.forks import load
from pyc.interpreter import (
    WEAK,
    bind1,
    current,
    is_concrete,
    is_number,
    is_tracing,
    type_of,
    weak_type,
)
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.types import ArrayType

Shape = tuple[int, ...]
Function = Callable[..., Any]

MOST_AXES = 64
"""As in NumPy."""
_MOST_ELEMENTS = (1 << 63) // 16 - 1
"""Whose bytes 64 bits can count, whatever the type."""


_SEQUENCES, _NUMBERS = (list, tuple, range), (int, float, complex)


def separated(found: Any, args: Sequence[Any]) -> Any:
    """The results of a function as arrays that share memory with none of its arguments, nor with
    what is in lists of them."""
    interpreter = current()
    if any(type(a) in (tuple, list) for a in args):
        args = [x for a in args for x in _leaves(a)]
    if type(found) in (tuple, list):
        return type(found)(interpreter.separate(x, args) for x in found)
    return interpreter.separate(found, args)


def _leaves(x: Any) -> Iterator[Any]:
    if type(x) not in (tuple, list):
        yield x
        return
    for each in x:
        yield from _leaves(each)


def value(x: Any, dtype: DType | None = None) -> Any:
    """`x` as something that has a type: lists, tuples and ranges of numbers become arrays (of
    `dtype`, which must hold them), or are stacked if they hold traced values. Numbers of classes of
    their own (`IntEnum`) are arrays too, as in NumPy: their types are not weak."""
    kind = type(x)
    if not issubclass(kind, _SEQUENCES):
        number = plain_number(x)
        return x if number is x else np.asarray(number)[()]
    if any(_holds_value(e) for e in x):
        parts = current().rows(x) if len(x) > 1 else None
        found = None if parts is None else _of_rows(parts, dtype)
        return stacked([value(e, dtype) for e in x], dtype) if found is None else found
    try:
        array = np.array(x, None if dtype is None else dtype.numpy)
    except (OverflowError, ValueError, TypeError) as error:
        raise _no_array(error) from None
    if array.dtype.kind in "OUSV":
        raise DTypeError(
            "expected numbers that fit one dtype, got a list of "
            f"{type(x[0]).__name__ if x else 'nothing'}"
        )
    array.flags.writeable = False
    return array


def _no_array(error: Exception) -> PycError:
    """What NumPy says of a list that it makes no array of, as an error of ours."""
    if isinstance(error, OverflowError):
        return IntegerRangeError(str(error))
    if isinstance(error, TypeError):
        return DTypeError(f"a list with elements of another type: {error}")
    if "inhomogeneous" in str(error):
        return ShapeError("a list of items of several shapes", fix=_ONE_SHAPE)
    return ArgumentError(
        f"a list with an element that its dtype lacks: {error}",
        fix="Leave `dtype` out, or give one that holds all elements.",
    )


_ONE_SHAPE = "Give items of one shape: `np.broadcast_arrays` makes them so."


def plain_number(x: Any) -> Any:
    """A number of a class that is derived from Python's, as Python's own; others as they are."""
    kind = type(x)
    if kind in WEAK or not issubclass(kind, _NUMBERS) or issubclass(kind, np.generic):
        return x
    own: Any = next(k for k in _NUMBERS if issubclass(kind, k))
    return own.__pos__(x)


def _of_rows(parts: Sequence[Any], dtype: DType | None) -> Any:
    """Arrays, and lists of more rows, one after the other as an array of its own; None if the rows
    have several shapes."""
    arrays = [value(p, dtype) if isinstance(p, list) else p for p in parts]
    if len({shape_of(a)[1:] for a in arrays}) > 1:
        return None
    common = dtype or reduce(dt.promote, map(dtype_of, arrays))
    same = [cast(a, common) for a in arrays]
    interpreter = current()
    if len(same) == 1:
        return interpreter.copy(interpreter.lift(same[0]))
    return bind1("concatenate", *same, axis=0)


def _holds_value(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(_holds_value(e) for e in x)
    if issubclass(type(x), np.ndarray):  # while tracing, one from outside may change: `lift` knows
        return is_tracing()
    return not is_number(x)


def stacked(items: Sequence[Any], dtype: DType | None = None) -> Any:
    """Values along a new first axis. Python numbers count as arrays of their own type, as in
    `np.array([x, 1.0])`. ShapeError: they have several shapes."""
    shapes = list(dict.fromkeys(map(shape_of, items)))
    if len(shapes) > 1:
        texts = ", ".join(map(str, shapes))
        raise ShapeError(f"a list of items of several shapes, {texts}", fix=_ONE_SHAPE)
    strong = [cast(x, dtype or dtype_of(x)) if weak_type(x) is not None else x for x in items]
    same = operands("array", *strong, dtype=dtype)
    shape = type_of(same[0]).shape
    rows = [bind1("reshape", x, shape=(1, *shape)) for x in same]
    return separated(rows[0], same) if len(rows) == 1 else bind1("concatenate", *rows, axis=0)


def shape_of(x: Any) -> Shape:
    """The shape of an operand."""
    return type_of(x).shape


def dtype_of(x: Any) -> DType:
    """The element type of an operand."""
    return type_of(x).dtype


def to_dtype(dtype: Any) -> DType:
    """A pyc type from anything NumPy takes as a dtype; DTypeError for others."""
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, type) and dtype in WEAK:
        return WEAK[dtype]
    if hasattr(dtype, "shape") and not isinstance(dtype, (type, np.dtype)):
        raise DTypeError(
            f"a dtype is asked for, got an array of {dtype.dtype}", fix="Pass its `.dtype`."
        )
    try:
        found = dt.of(dtype)
    except TypeError:
        found = None
    if found is None:
        raise DTypeError(f"dtype {dtype!r} is not supported")
    return found


def cast(x: Any, dtype: DType) -> Any:
    """`x` in a type; itself if it has it. A Python integer must fit it: IntegerRangeError, when
    the program runs if it is traced."""
    if type(x) in WEAK:
        return literal(x, dtype)
    if dtype_of(x) is dtype:
        return x
    return bind1("narrow" if weak_type(x) is int and dtype.is_integer else "cast", x, dtype=dtype)


def converted(x: Any, dtype: DType) -> Any:
    """`x` in a type that the user names. Complex numbers that become real ones lose their imaginary
    parts, with NumPy's warning at the user's line: once for each time that it is traced."""
    loses = dtype_of(x).is_complex and dtype.kind not in ("complex", "bool")
    if loses and weak_type(x) is None:
        _warn_of_lost_parts()
        real = bind1("real", x)
        # The parts are a view; what a type is asked for has memory of its own.
        return separated(real, (x,)) if dtype_of(real) is dtype else cast(real, dtype)
    return cast(x, dtype)


def _warn_of_lost_parts() -> None:
    place = load("pyc.trace.location").here()
    file, line = ("unknown", 0) if place is None else (place.file, place.line)
    text = "Casting complex values to real discards the imaginary part"
    told = _warned.setdefault(file, {})
    warnings.warn_explicit(text, ComplexWarning, file, line, registry=told)


_warned: dict[str, dict[Any, Any]] = {}
"""What Python's filters know of warnings at each file's lines: what is traced twice warns once."""


def strong(x: Any) -> Any:
    """A value that is no Python number in promotion any more, as what NumPy makes an array of."""
    return x.strengthened() if weak_type(x) is not None and hasattr(x, "strengthened") else x


def literal(x: Any, dtype: DType) -> Any:
    """A Python number as a constant of a type. One that is traced is a constant too, of the value
    that it has now.

    raises IntegerRangeError: an integer that the type does not hold; DTypeError: a complex number
    in a real type
    """
    if type(x) not in WEAK and hasattr(x, "needed"):
        x = structural(x)
    if isinstance(x, complex) and not dtype.is_complex and dtype is not dt.b1:
        raise DTypeError(f"the complex number {x} does not fit {dtype.name}")
    if isinstance(x, int) and not _is_held(x, dtype):
        shown = x if x.bit_length() <= 256 else f"of {x.bit_length()} bits"
        raise IntegerRangeError(f"Python integer {shown} out of bounds for {dtype.name}")
    text = type(x).__name__ if isinstance(x, int) else repr(x)
    return bind1("constant", value=_literal(x, text, dtype))


def fits(x: int, dtype: DType) -> bool:
    """Whether an integer type holds a Python integer."""
    info = np.iinfo(dtype.numpy)
    return bool(info.min <= x <= info.max)


def _is_held(x: int, dtype: DType) -> bool:
    """Whether a Python integer has a value of a type: also infinity, in floats smaller than
    float64, by which NumPy makes them."""
    if dtype.is_integer:
        return fits(x, dtype)
    return dtype is dt.b1 or -_LARGEST <= x <= _LARGEST


_LARGEST = int(np.finfo(np.float64).max)


@lru_cache(maxsize=1024)
def _literal(x: Any, text: str, dtype: DType) -> Any:
    """The read-only array of a number. text: what differs where equal numbers do (0.0 and -0.0,
    1 and True)."""
    if dtype.is_integer and isinstance(x, int):
        info = np.iinfo(dtype.numpy)
        if not info.min <= x <= info.max:
            raise OverflowError(f"Python integer {x} out of bounds for {dtype.name}")
    with np.errstate(all="ignore"):
        array = np.asarray(x).astype(dtype.numpy)
    array.flags.writeable = False
    return array


def constant(array: Any) -> Any:
    """A constant equation of a concrete array."""
    array = np.array(array, order="C")
    array.flags.writeable = False
    return bind1("constant", value=array)


def result_dtype(*items: Any) -> DType:
    """The common type of operands, Python numbers weak."""
    strong, weak = [], []
    for x in items:
        number = weak_type(x)
        if number is None:
            strong.append(dtype_of(x))
        else:
            weak.append(number)
    if not strong:
        order = (bool, int, float, complex)
        return WEAK[max(weak, key=order.index)]
    try:
        common = dt.promote(*strong)
        for w in weak:
            common = dt.promote_weak(w, common)
    except TypeError:
        names = ", ".join(kind.name for kind in dict.fromkeys(strong))
        raise DTypeError(
            f"there is no common dtype of {names}",
            fix="Convert one of them: `x.astype(...)`.",
        ) from None
    return common


def broadcast_shape(name: str, shapes: Sequence[Shape]) -> Shape:
    """The common shape by NumPy's rules; ShapeError names the shapes."""
    first, *others = {shape for shape in shapes if shape} or {()}
    if not others:
        return first
    rank = max(map(len, shapes))
    columns = zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True)
    found = []
    for sizes in map(set, columns):
        sizes -= {1} if len(sizes) > 1 else set()
        if len(sizes) > 1:
            texts = ", ".join(map(str, shapes))
            raise ShapeError(f"{name}: shapes {texts} do not broadcast together")
        found.append(sizes.pop())
    return possible(name, tuple(found))


def possible(name: str, shape: Shape) -> Shape:
    """`shape`, if NumPy could make an array of it; else ShapeError."""
    if len(shape) > MOST_AXES:
        raise ShapeError(f"{name}: a result of {len(shape)} axes; {MOST_AXES} are possible")
    if prod(n for n in shape if n) > _MOST_ELEMENTS:
        raise ShapeError(f"{name}: a result of shape {shape} is larger than any memory")
    return shape


def broadcast(x: Any, shape: Shape) -> Any:
    """`x` of a larger shape; itself if it has it."""
    return x if shape_of(x) == shape else bind1("broadcast", x, shape=shape)


def operands(name: str, *items: Any, dtype: DType | None = None) -> list[Any]:
    """Operands of one shape and type."""
    values = [value(x) for x in items]
    kind = dtype or result_dtype(*values)
    shape = broadcast_shape(name, [type_of(x).shape for x in values])
    found = []
    for x in values:
        before = type_of(x)
        typed = x if before.dtype is kind and type(x) not in WEAK else cast(x, kind)
        found.append(typed if before.shape == shape else bind1("broadcast", typed, shape=shape))
    return found


def axis_of(name: str, axis: Any, rank: int) -> int:
    """An axis counted from the front; AxisError if there is none, OptionError for what is no
    integer."""
    try:
        found = axis.__index__()
    except (AttributeError, TypeError):
        raise OptionError(f"{name}: an axis must be an integer, got {axis!r}") from None
    if not -rank <= found < rank:
        raise AxisError(f"{name}: axis {found} is out of bounds for an array of rank {rank}")
    return int(found % rank)


def axes_of(name: str, axis: Any, rank: int) -> Shape:
    """Axes in increasing order; None is all of them. ShapeError for one given twice."""
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    found = sorted(axis_of(name, a, rank) for a in given)
    if len(set(found)) != len(found):
        raise ShapeError(f"{name}: an axis occurs twice in {tuple(given)}")
    return tuple(found)


def is_axis_of_number(axis: Any, rank: int) -> bool:
    """Whether a number is asked for its only axis, which many of NumPy's functions take: as no axis
    if they reduce, else as that of a line of one element."""
    if rank or getattr(axis, "ndim", 0) or not hasattr(axis, "__index__"):
        return False
    integer = not isinstance(axis, np.ndarray) or axis.dtype.kind in "iu"
    return integer and axis.__index__() in (0, -1)


def reduced_axes(name: str, axis: Any, rank: int) -> Shape:
    """As `axes_of`; also of a number with one axis. DTypeError: a bool, which is no axis, or a
    list, which NumPy refuses where elements are reduced."""
    no_list(name, axis)
    no_bool(name, axis)
    return () if is_axis_of_number(axis, rank) else axes_of(name, axis, rank)


def no_list(name: str, axis: Any) -> None:
    """DTypeError: axes in a list, which NumPy refuses where elements are reduced."""
    if isinstance(axis, list):
        fix = f"Write a tuple: `axis={tuple(axis)}`."
        raise DTypeError(f"{name}: several axes are a tuple, got {axis}", fix=fix)


def no_bool(name: str, axis: Any) -> None:
    """DTypeError: an axis that is a bool, which NumPy refuses where elements are reduced."""
    if type(axis) is bool:
        fix = "Name the argument that it is: `keepdims=True`."
        raise DTypeError(f"{name}: an axis must be an integer, got {axis}", fix=fix)


def as_lines(name: str, x: Any, axis: Any) -> tuple[Any, int]:
    """`x` and an axis of it, counted from the front: flattened if axis is None, a number as a line
    of one element."""
    rank = len(shape_of(x))
    no_bool(name, axis)
    if axis is None or is_axis_of_number(axis, rank):
        return bind1("reshape", x, shape=(prod(shape_of(x)),)) if rank != 1 else x, 0
    return x, axis_of(name, axis, rank)


def integer(name: str, what: str, x: Any) -> int:
    """An argument that must be an integer; OptionError for others. what: which, for messages."""
    x = structural(x)
    try:
        return int(x.__index__())
    except (AttributeError, TypeError):
        raise OptionError(f"{name}: {what} must be an integer, got {x!r}") from None


def several(name: str, arrays: Any) -> Sequence[Any]:
    """The arrays in a list or a tuple, or along the first axis of an array.

    raises DTypeError: something else
    """
    if isinstance(arrays, (list, tuple, range)):
        return arrays
    if getattr(arrays, "shape", ()):
        return list(arrays)
    raise DTypeError(
        f"{name}: needs a list or a tuple of arrays, got {type(arrays).__name__}",
        fix="Put one array into a list: `[x]`.",
    )


def start_of(initial: Any, dtype: DType) -> Any:
    """The value `initial=` that a reduction begins with, in its type.

    raises IntegerRangeError: a number that an integer type does not hold, as NumPy; ShapeError:
    more than one number
    """
    if isinstance(initial, str):
        raise OptionError(f"`initial` is one number, got {initial!r}")
    if type(initial) not in WEAK and shape_of(value(initial)):
        raise ShapeError(
            f"`initial` is one number, got {type_text(value(initial))}",
            fix="Join the result with the others: `np.maximum(x.max(0), others)`.",
        )
    if dtype.is_integer and weak_type(initial) is float:
        initial = structural(initial)  # a traced one, which casts like a float of an array
    if type(initial) not in WEAK:
        return cast(value(initial), dtype)
    if dtype.is_integer and type(initial) is float:
        if not isfinite(initial):
            raise IntegerRangeError(f"{initial} out of bounds for {dtype.name}")
        initial = int(initial)
    return literal(initial, dtype)


def known_elements(x: Any) -> Any:
    """The elements of `x` as a NumPy array, if they are known while tracing; else None.

    raises TraceError: an array from outside that may change
    """
    if issubclass(type(x), np.ndarray) and is_tracing():
        x = current().lift(x)
    if is_concrete(x):
        return np.asarray(x)
    return x.needed() if hasattr(x, "needed") else None


def untransposed(x: Any) -> tuple[Any, Shape]:
    """The array that `x` is a view of with its axes in another order, and that order; `x` itself
    where it is none."""
    order = tuple(range(len(shape_of(x))))
    while is_tracing() and (source := current().transposed(x)) is not None:
        x, axes = source
        order = tuple(axes[k] for k in order)
    return x, order


def structural(x: Any) -> Any:
    """`x`, which decides a shape or a place, with Python numbers for arrays, and for what is traced
    where it is known."""
    if type(x) in (list, tuple):
        return type(x)(map(structural, x))
    found = known_elements(x)
    return x if found is None else found.tolist()


def to_shape(name: str, shape: Any) -> Shape:
    """A shape from an integer or a sequence of them; ShapeError for negative ones."""
    shape = structural(shape) if getattr(shape, "ndim", 0) else shape
    items = shape if isinstance(shape, (tuple, list)) else (shape,)
    if any(type(n) is bool for n in items):
        raise OptionError(f"{name}: a shape must hold integers, got {shape!r}")
    try:
        found = tuple(int(n.__index__()) for n in items)
    except (AttributeError, TypeError):
        raise OptionError(f"{name}: a shape must hold integers, got {shape!r}") from None
    if any(n < 0 for n in found):
        raise ShapeError(f"{name}: negative dimensions in shape {found}")
    return possible(name, found)


def floating(x: Any) -> DType:
    """The type in which a function of real or complex floats computes: integers and bools go to
    float64, as NumPy does (int8 and uint8 to float16, int16 and uint16 to float32)."""
    kind = dtype_of(x)
    if kind.kind in ("float", "complex"):
        return kind
    if weak_type(x) in (int, float, complex) or kind.bits > 16:
        return dt.f64
    return dt.f16 if kind.bits == 8 else dt.f32


def type_text(x: Any) -> str:
    """The type of an operand for messages."""
    found: ArrayType = type_of(x)
    return str(found)


def part(x: Any, axis: int, start: int, size: int) -> Any:
    """`size` elements from `start` along one axis."""
    shape = shape_of(x)
    return bind1(
        "slice",
        x,
        start=tuple(start if k == axis else 0 for k in range(len(shape))),
        size=tuple(size if k == axis else n for k, n in enumerate(shape)),
        step=(1,) * len(shape),
    )


def at_place(x: Any, axis: int, place: int) -> Any:
    """What stands at one place of an axis, without the axis."""
    shape = shape_of(x)
    found = part(x, axis, place, 1)
    return bind1("reshape", found, shape=(*shape[:axis], *shape[axis + 1 :]))


def reverse(x: Any, axes: Collection[int]) -> Any:
    """`x` (not empty) in reverse order along some axes."""
    shape = shape_of(x)
    return bind1(
        "slice",
        x,
        start=tuple(n - 1 if k in axes else 0 for k, n in enumerate(shape)),
        size=shape,
        step=tuple(-1 if k in axes else 1 for k in range(len(shape))),
    )


def named(function: Function, name: str, summary: str, facts: str = "") -> Function:
    """`function` under a public name. summary: what it gives; facts: shapes, dtypes and errors."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{summary}\n\n{facts}" if facts else summary
    return function


def document(
    names: dict[str, Any], library: str, rows: dict[str, tuple[str, str]], own: Collection[str] = ()
) -> None:
    """Adds to the docstrings of functions their counterpart in a library and an example.

    names: those of the module; rows: arguments, and what the function gives for them; own:
    functions that the library does not have
    """
    for name, (given, result) in rows.items():
        function = names[name]
        counterpart = "" if name in own else f"{library}.{name}`.\n\n"
        example = f">>> {name}({given})\n{result}\n"
        function.__doc__ = f"{function.__doc__.rstrip()}\n\n{counterpart}{example}"
