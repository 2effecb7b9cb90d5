"""Index ops: results whose elements are elements of the arguments, found by index arithmetic.

Each entry says which argument element stands at an output index (`element`), with expressions as
simple as the static shapes allow: terms that are zero are not built, so that an identity costs
nothing. Every read is within bounds for every output index. `reference` is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from pyc.errors import DTypeError, ShapeError
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.element import Element, choose, convert, literal
from pyc.ir.expr import Const, Expr, Load, apply, const, maximum, minimum, select
from pyc.ir.op import Complex, Kind, Op, Part, Types, define
from pyc.ir.types import ArrayType, Strides, row_major

if TYPE_CHECKING:
    from pyc.ir.batch import Batch, Operand
    from pyc.ir.graph import Value

Index = tuple[Expr, ...]
Read = Callable[[int, Index], Element]


def index_op(
    name: str,
    types: Callable[..., Types],
    element: Callable[..., Element],
    reference: Callable[..., Any],
    **options: Any,
) -> Op:
    """Define an index op; see `Op` for the options."""
    return define(
        Op(
            name,
            Kind.INDEX,
            types,
            element=element,
            reference=reference,
            kinds="bool int uint float complex",
            **options,
        )
    )


def plus(x: Expr, offset: int) -> Expr:
    """x + offset without a term for 0."""
    return x if offset == 0 else x + offset


def times(x: Expr, factor: int) -> Expr:
    """x * factor without a term for 1."""
    return x if factor == 1 else x * factor


def clamped(x: Expr, low: int, high: int) -> Expr:
    """x moved into [low, high]."""
    return minimum(maximum(x, low), high)


# --- constant, iota -------------------------------------------------------------------------------


def _constant_types(args: Types, *, value: np.ndarray[Any, Any]) -> Types:
    dtype = dt.of(value.dtype)
    if dtype is None:
        raise DTypeError(f"constant: arrays of dtype {value.dtype} are not supported")
    return (ArrayType(tuple(value.shape), dtype),)


def constant_element(
    read: Read, index: Index, types: Types, *, value: np.ndarray[Any, Any]
) -> Element:
    """The element of a literal array: a binary tree of selects over its runs of equal values, so
    a uniform array is one constant and a large varied one is better kept in a buffer."""
    (out,) = _constant_types((), value=value)
    flat = value.reshape(-1)
    if not flat.size:
        return literal(0, out.dtype)
    bits = np.ascontiguousarray(flat).view(np.uint8).reshape(flat.size, -1)
    changes = np.flatnonzero((bits[1:] != bits[:-1]).any(axis=1)) + 1
    leaves = [literal(flat[k], out.dtype) for k in (0, *changes.tolist())]
    bounds = [int(k) for k in changes]
    position = linear_index(index, out.shape) if bounds else const(0)
    # Neighbours merge level by level; bounds[k] separates leaves[k] from leaves[k + 1].
    while bounds:
        merged: list[Element] = []
        kept: list[int] = []
        for k in range(0, len(leaves) - 1, 2):
            merged.append(choose(position < bounds[k], leaves[k], leaves[k + 1]))
            kept += bounds[k + 1 : k + 2]
        if len(leaves) % 2:
            merged.append(leaves[-1])
        leaves, bounds = merged, kept
    return leaves[0]


def _iota_types(args: Types, *, shape: tuple[int, ...], axis: int, dtype: DType) -> Types:
    if not 0 <= axis < len(shape):
        raise ShapeError(f"iota: axis {axis} is not an axis of shape {shape}")
    return (ArrayType(tuple(shape), dtype),)


def _iota_element(
    read: Read, index: Index, types: Types, *, shape: tuple[int, ...], axis: int, dtype: DType
) -> Element:
    return convert(index[axis], dtype)


def _iota_reference(*, shape: tuple[int, ...], axis: int, dtype: DType) -> Any:
    along = [1] * len(shape)
    along[axis] = shape[axis]
    line = np.arange(shape[axis]).astype(np.float32 if dtype.is_half else dtype.numpy)
    return np.broadcast_to(line.astype(dtype.numpy).reshape(along), shape).copy()


def _without_arguments(batch: Batch, args: Sequence[Operand], **params: Any) -> list[Operand]:
    return [batch.operand(v) for v in batch.bind(batch.op, **params)]


index_op(
    "constant",
    _constant_types,
    constant_element,
    lambda *, value: np.array(value),
    batch=_without_arguments,
)
index_op("iota", _iota_types, _iota_element, _iota_reference, batch=_without_arguments)


def _empty_types(args: Types, *, shape: tuple[int, ...], dtype: DType, number: int) -> Types:
    return (ArrayType(tuple(shape), dtype),)


def _empty_reference(*, shape: tuple[int, ...], dtype: DType, number: int) -> Any:
    """Elements that show in whatever reads them."""
    if dtype.is_float or dtype.is_complex:
        return np.full(shape, np.nan).astype(dtype.numpy)
    odd = True if dtype.kind == "bool" else np.iinfo(dtype.numpy).max // 3
    return np.full(shape, odd, dtype.numpy)


# An array of which nobody reads an element that was not stored; `number` tells one from another.
# A pass puts it where updates start; nothing is launched for it.
define(Op("empty", Kind.KERNEL, _empty_types, reference=_empty_reference, batch=_without_arguments))


# --- broadcast, transpose, reshape ----------------------------------------------------------------


def _broadcast_types(args: Types, *, shape: tuple[int, ...]) -> Types:
    (x,) = args
    kept = shape[len(shape) - x.rank :] if x.rank <= len(shape) else ()
    if x.rank > len(shape) or any(a not in (1, b) for a, b in zip(x.shape, kept, strict=True)):
        raise ShapeError(f"broadcast: {x} does not broadcast to shape {shape}")
    return (ArrayType(tuple(shape), x.dtype),)


def _broadcast_element(
    read: Read, index: Index, types: Types, *, shape: tuple[int, ...]
) -> Element:
    (x,) = types
    kept = zip(index[len(shape) - x.rank :], x.shape, shape[len(shape) - x.rank :], strict=True)
    return read(0, tuple(const(0) if a == 1 != b else i for i, a, b in kept))


def _transpose_types(args: Types, *, axes: tuple[int, ...]) -> Types:
    (x,) = args
    if sorted(axes) != list(range(x.rank)):
        raise ShapeError(f"transpose: {axes} is not an order of the axes of {x}")
    return (ArrayType(tuple(x.shape[a] for a in axes), x.dtype),)


def _transpose_element(read: Read, index: Index, types: Types, *, axes: tuple[int, ...]) -> Element:
    place = {axis: k for k, axis in enumerate(axes)}
    return read(0, tuple(index[place[a]] for a in range(len(axes))))


def _reshape_types(args: Types, *, shape: tuple[int, ...]) -> Types:
    (x,) = args
    if any(n < 0 for n in shape) or prod(shape) != x.size:
        raise ShapeError(
            f"reshape: {x} has {x.size} elements, shape {tuple(shape)} has {prod(shape)}"
        )
    return (ArrayType(tuple(shape), x.dtype),)


def linear_index(index: Sequence[Expr], shape: Sequence[int]) -> Expr:
    """The row-major position of `index` in an array of `shape`."""
    position: Expr | None = None
    for i, n in zip(index, shape, strict=True):
        if n == 1:
            continue
        position = i if position is None else times(position, n) + i
    return const(0) if position is None else position


def split_index(position: Expr, shape: Sequence[int]) -> list[Expr]:
    """The index in an array of `shape` at row-major `position` (non-negative)."""
    index: list[Expr] = [const(0)] * len(shape)
    axes = [k for k, n in enumerate(shape) if n != 1]
    for k in reversed(axes[1:]):
        index[k] = apply("remainder", position, const(shape[k]))
        position = apply("quotient", position, const(shape[k]))
    if axes:
        index[axes[0]] = position
    return index


def reshape_groups(source: Sequence[int], target: Sequence[int]) -> list[tuple[range, range]]:
    """Cuts two shapes of equal, non-zero size into the shortest runs of axes of equal size."""
    groups = []
    i = j = 0
    while i < len(source) or j < len(target):
        first = (i, j)
        left = right = 1
        if i < len(source):
            left, i = source[i], i + 1
        if j < len(target):
            right, j = target[j], j + 1
        while left != right:
            if left < right:
                left, i = left * source[i], i + 1
            else:
                right, j = right * target[j], j + 1
        groups.append((range(first[0], i), range(first[1], j)))
    return groups


def _reshape_element(read: Read, index: Index, types: Types, *, shape: tuple[int, ...]) -> Element:
    (x,) = types
    if x.size == 0:
        return read(0, (const(0),) * x.rank)
    found: list[Expr] = []
    for source, target in reshape_groups(x.shape, shape):
        extents = [shape[k] for k in target]
        position = linear_index([index[k] for k in target], extents)
        found += split_index(position, [x.shape[k] for k in source])
    return read(0, tuple(found))


def _broadcast_batch(
    batch: Batch, args: Sequence[Operand], *, shape: tuple[int, ...]
) -> list[Operand]:
    (x,) = args
    rank = x.lane.rank
    if x.axis is not None and rank == len(shape):
        to = (*shape[: x.axis], batch.size, *shape[x.axis :])
        return [batch.operand(batch.repeated(x.value, to), x.axis)]
    value = batch.at(x, 0)
    column = (batch.size, *(1,) * (len(shape) - rank), *value.shape[1:])
    value = batch.reshaped(value, column)
    return [batch.operand(batch.repeated(value, (batch.size, *shape)), 0)]


def _transpose_batch(
    batch: Batch, args: Sequence[Operand], *, axes: tuple[int, ...]
) -> list[Operand]:
    """The batch axis comes first: it costs no movement of its own."""
    (x,) = args
    place = 0 if x.axis is None else x.axis
    value = batch.at(x, place)
    order = (place, *(a + (a >= place) for a in axes))
    return [batch.operand(batch.bind1("transpose", value, axes=order), 0)]


def _reshape_batch(
    batch: Batch, args: Sequence[Operand], *, shape: tuple[int, ...]
) -> list[Operand]:
    (x,) = args
    return [batch.operand(batch.reshaped(batch.at(x, 0), (batch.size, *shape)), 0)]


def _broadcast_view(types: Types, *, shape: tuple[int, ...]) -> tuple[int, Strides]:
    (x,) = types
    known = zip(row_major(x.shape), x.shape, shape[len(shape) - x.rank :], strict=True)
    strides = (0 if a == 1 != b else step for step, a, b in known)
    return 0, (*(0,) * (len(shape) - x.rank), *strides)


def _transpose_view(types: Types, *, axes: tuple[int, ...]) -> tuple[int, Strides]:
    strides = row_major(types[0].shape)
    return 0, tuple(strides[a] for a in axes)


def _reshape_view(types: Types, *, shape: tuple[int, ...]) -> tuple[int, Strides]:
    return 0, row_major(shape)


index_op(
    "broadcast",
    _broadcast_types,
    _broadcast_element,
    lambda x, *, shape: np.broadcast_to(x, shape).copy(),
    batch=_broadcast_batch,
    view=_broadcast_view,
)
index_op(
    "transpose",
    _transpose_types,
    _transpose_element,
    lambda x, *, axes: np.transpose(x, axes).copy(),
    batch=_transpose_batch,
    view=_transpose_view,
)
index_op(
    "reshape",
    _reshape_types,
    _reshape_element,
    lambda x, *, shape: np.reshape(x, shape),
    batch=_reshape_batch,
    view=_reshape_view,
    relabels=True,
)


def _view_as_real_types(args: Types) -> Types:
    (x,) = args
    if not x.dtype.is_complex:
        raise DTypeError(f"view_as_real: needs complex numbers, got {x}")
    return (ArrayType((*x.shape, 2), x.dtype.real),)


def _view_as_real_element(read: Read, index: Index, types: Types) -> Element:
    number = read(0, index[:-1])
    assert isinstance(number, Complex)
    re, im = number.re, number.im
    # Both may be one real number: an array of rank 0 has no last place.
    if isinstance(re, Load) and isinstance(im, Load) and re.buffer is im.buffer and re.index:
        *place, first = re.index
        *same, second = im.index
        if place == same and _is(first, 0) and _is(second, 1):
            return Load(re.buffer, (*place, index[-1]))
    return select(index[-1].equal(0), number.re, number.im)


def _is(e: Expr, value: int) -> bool:
    return isinstance(e, Const) and e.value == value


def _view_as_real_batch(batch: Batch, args: Sequence[Operand]) -> list[Operand]:
    (x,) = args
    place = 0 if x.axis is None else x.axis
    return [batch.operand(batch.bind1("view_as_real", batch.at(x, place)), place)]


define(
    Op(
        "view_as_real",
        Kind.INDEX,
        _view_as_real_types,
        element=_view_as_real_element,
        reference=lambda x: np.stack([x.real, x.imag], -1),
        kinds="complex",
        batch=_view_as_real_batch,
        relabels=True,
    )
)


# --- slice, reverse, concatenate, pad -------------------------------------------------------------


def _slice_types(
    args: Types, *, start: tuple[int, ...], size: tuple[int, ...], step: tuple[int, ...]
) -> Types:
    (x,) = args
    if not len(start) == len(size) == len(step) == x.rank:
        raise ShapeError(f"slice: needs start, size and step for each axis of {x}")
    for n, first, count, stride in zip(x.shape, start, size, step, strict=True):
        last = first + (count - 1) * stride
        if count < 0 or stride == 0 or (count and not (0 <= first < n and 0 <= last < n)):
            raise ShapeError(f"slice: start {start}, size {size}, step {step} leave {x}")
    return (ArrayType(tuple(size), x.dtype),)


def _slice_element(
    read: Read,
    index: Index,
    types: Types,
    *,
    start: tuple[int, ...],
    size: tuple[int, ...],
    step: tuple[int, ...],
) -> Element:
    parts = zip(index, start, size, step, strict=True)
    return read(0, tuple(plus(times(i, s), a) if n != 1 else const(a) for i, a, n, s in parts))


def _slice_reference(
    x: Any, *, start: tuple[int, ...], size: tuple[int, ...], step: tuple[int, ...]
) -> Any:
    for axis, (a, n, s) in enumerate(zip(start, size, step, strict=True)):
        x = np.take(x, a + s * np.arange(n), axis=axis)
    return np.array(x)


def _concatenate_types(args: Types, *, axis: int) -> Types:
    first = args[0]
    if not 0 <= axis < first.rank:
        raise ShapeError(f"concatenate: axis {axis} is not an axis of {first}")
    for x in args:
        if x.dtype is not first.dtype:
            raise DTypeError(f"concatenate: types differ: {', '.join(map(str, args))}")
        kept = (x.shape[:axis], x.shape[axis + 1 :])
        if x.rank != first.rank or kept != (first.shape[:axis], first.shape[axis + 1 :]):
            raise ShapeError(
                f"concatenate: shapes differ beyond axis {axis}: {', '.join(map(str, args))}"
            )
    total = sum(x.shape[axis] for x in args)
    return (ArrayType((*first.shape[:axis], total, *first.shape[axis + 1 :]), first.dtype),)


def _concatenate_element(read: Read, index: Index, types: Types, *, axis: int) -> Element:
    """Selects by position, the last part first, so that the chain tests the first bound last."""
    ends = np.cumsum([x.shape[axis] for x in types]).tolist()
    parts = [k for k, x in enumerate(types) if x.shape[axis]] or [0]
    place = index[axis]
    result: Element | None = None
    for k in reversed(parts):
        n = types[k].shape[axis]
        inside = plus(place, n - ends[k])
        if len(parts) > 1:
            inside = clamped(inside, 0, n - 1)
        part = read(k, (*index[:axis], inside, *index[axis + 1 :]))
        result = part if result is None else choose(place < ends[k], part, result)
    assert result is not None
    return result


def _pad_types(args: Types, *, low: tuple[int, ...], high: tuple[int, ...]) -> Types:
    x, value = args
    if value.shape != () or value.dtype is not x.dtype:
        raise DTypeError(f"pad: the value must be {x.dtype}[], got {value}")
    if len(low) != x.rank or len(high) != x.rank or min((*low, *high), default=0) < 0:
        raise ShapeError(f"pad: needs widths of at least 0 for each axis of {x}: {low}, {high}")
    sums = zip(x.shape, low, high, strict=True)
    return (ArrayType(tuple(a + n + b for n, a, b in sums), x.dtype),)


def _pad_element(
    read: Read, index: Index, types: Types, *, low: tuple[int, ...], high: tuple[int, ...]
) -> Element:
    x, _ = types
    outside = read(1, ())
    if x.size == 0:
        return outside
    inside: Expr | None = None
    place = []
    for i, n, a, b in zip(index, x.shape, low, high, strict=True):
        moved = plus(i, -a)
        tests = ([moved >= 0] if a else []) + ([moved < n] if b else [])
        for test in tests:
            inside = test if inside is None else inside & test
        moved = maximum(moved, 0) if a else moved
        place.append(minimum(moved, n - 1) if b else moved)
    found = read(0, tuple(place))
    return found if inside is None else choose(inside, found, outside)


def _pad_reference(x: Any, value: Any, *, low: tuple[int, ...], high: tuple[int, ...]) -> Any:
    shape = [a + n + b for n, a, b in zip(x.shape, low, high, strict=True)]
    out = np.full(shape, value, dtype=x.dtype)
    out[tuple(slice(a, a + n) for a, n in zip(low, x.shape, strict=True))] = x
    return out


def _slice_batch(
    batch: Batch,
    args: Sequence[Operand],
    *,
    start: tuple[int, ...],
    size: tuple[int, ...],
    step: tuple[int, ...],
) -> list[Operand]:
    (x,) = args
    place = batch.common(args)
    parts = {"start": (start, 0), "size": (size, batch.size), "step": (step, 1)}
    whole = {name: (*t[:place], n, *t[place:]) for name, (t, n) in parts.items()}
    return [batch.operand(batch.bind1("slice", batch.at(x, place), **whole), place)]


def _concatenate_batch(batch: Batch, args: Sequence[Operand], *, axis: int) -> list[Operand]:
    place = batch.common(args)
    values = [batch.at(x, place) for x in args]
    joined = batch.bind1("concatenate", *values, axis=axis + (axis >= place))
    return [batch.operand(joined, place)]


def _pad_batch(
    batch: Batch, args: Sequence[Operand], *, low: tuple[int, ...], high: tuple[int, ...]
) -> list[Operand]:
    """Values that differ between lanes are chosen where a padded array of truths is false."""
    x, value = args
    place = batch.common([x]) if value.axis is None else 0
    widths = {"low": (*low[:place], 0, *low[place:]), "high": (*high[:place], 0, *high[place:])}

    def padded(inside: Value, outside: Value) -> Value:
        return batch.bind1("pad", inside, outside, **widths)

    inner = batch.at(x, place)
    if value.axis is None:
        return [batch.operand(padded(inner, value.value), place)]
    nothing = batch.filled(0, ArrayType((), inner.dtype))
    filled = padded(inner, nothing)
    truth = ArrayType((), dt.b1)
    held = batch.filled(True, ArrayType(inner.shape, dt.b1))
    held = padded(held, batch.filled(False, truth))
    around = batch.per_lane(value.value, filled.shape)
    return [batch.operand(batch.bind1("select", held, filled, around), 0)]


def _slice_view(
    types: Types, *, start: tuple[int, ...], size: tuple[int, ...], step: tuple[int, ...]
) -> tuple[int, Strides]:
    strides = row_major(types[0].shape)
    first = sum(a * s for a, s in zip(start, strides, strict=True))
    return first, tuple(s * t for s, t in zip(strides, step, strict=True))


index_op(
    "slice",
    _slice_types,
    _slice_element,
    _slice_reference,
    batch=_slice_batch,
    view=_slice_view,
)


def _concatenate_parts(types: Types, *, axis: int) -> list[Part]:
    into = row_major(_concatenate_types(types, axis=axis)[0].shape)
    found, place = [], 0
    for k, x in enumerate(types):
        found.append(Part(k, x.shape, row_major(x.shape), place * into[axis], into))
        place += x.shape[axis]
    return found


def _pad_parts(types: Types, *, low: tuple[int, ...], high: tuple[int, ...]) -> list[Part]:
    (whole,) = _pad_types(types, low=low, high=high)
    x, into = types[0], row_major(whole.shape)
    first = sum(a * s for a, s in zip(low, into, strict=True))
    around = Part(1, whole.shape, (0,) * whole.rank, 0, into)
    return [around, Part(0, x.shape, row_major(x.shape), first, into)]


index_op(
    "concatenate",
    _concatenate_types,
    _concatenate_element,
    lambda *xs, axis: np.concatenate(xs, axis=axis),
    batch=_concatenate_batch,
    parts=_concatenate_parts,
)
index_op("pad", _pad_types, _pad_element, _pad_reference, batch=_pad_batch, parts=_pad_parts)
