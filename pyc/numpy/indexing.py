"""Reading and writing parts of arrays: `x[key]`, `take`, `x.at[key].set(...)`.

A key is what NumPy takes: integers, slices, `...`, `None` and integer arrays, mixed as NumPy orders
them. An index out of range is an error (while tracing if it is a constant, else when the program
runs); boolean masks make shapes that depend on data and are refused with what to write instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from pyc.errors import (
    ConcretizationError,
    DTypeError,
    IndexOutOfRangeError,
    IndexTypeError,
    ShapeError,
    TracerIntegerConversionError,
)
from pyc.forks import load
from pyc.frozen import frozen
from pyc.interpreter import bind1, current, is_concrete, type_of
from pyc.ir import dtype as dt
from pyc.numpy.choices import text
from pyc.numpy.core import (
    as_lines,
    axis_of,
    broadcast,
    broadcast_shape,
    cast,
    constant,
    dtype_of,
    known_elements,
    literal,
    reverse,
    separated,
    shape_of,
    type_text,
    value,
)
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import add as add_arrays
from pyc.numpy.elementwise import clip, divide, maximum, minimum, multiply, power, remainder
from pyc.numpy.elementwise import subtract as subtract_arrays
from pyc.numpy.logic import less, logical_and, where
from pyc.numpy.manipulation import moveaxis, ravel, reshape

Shape = tuple[int, ...]


@frozen()
class _Plan:
    """A key taken apart against an array.

    box: (start, size, step) of each axis; drop: axes that an integer removes (static); arrays:
    (axis, index array) of integer arrays and traced integers; insert: for the result after the box
    and the arrays are applied, where new axes come.
    """

    box: tuple[tuple[int, int, int], ...]
    drop: frozenset[int]
    arrays: tuple[tuple[int, Any], ...]
    order: tuple[Any, ...]
    split: bool


def _is_static_int(k: Any) -> bool:
    kind = type(k)
    return issubclass(kind, (int, np.integer)) and kind is not bool


def _entries(x: Any, key: Any) -> list[Any]:
    """The key with an entry for each axis (and None for each new one); `...` stays, before the
    axes that it stands for, as it parts arrays even where these are none."""
    items = list(key) if isinstance(key, tuple) else [key]
    items = [e for k in items for e in ([k] if is_plain(k) else _places(_index_array(k)))]
    for k in items:
        if isinstance(k, (str, bytes)):
            raise IndexTypeError(
                f"an index is an integer, a slice, `...`, None or an integer array, got {k[:40]!r}",
                fix="Names are for dicts: pass the arrays as one, `{'name': x}`.",
            )
        if not is_plain(k) and dtype_of(k) is dt.b1:
            raise ConcretizationError(
                "a boolean mask selects a number of elements that depends on data",
                fix="Write `where(mask, x, other)` or `x.at[...]` with `where`; to change the "
                "elements under a mask: `where(mask, new, x)`.",
            )
    rank = len(shape_of(x))
    used = sum(k is not None and k is not Ellipsis for k in items)
    if sum(k is Ellipsis for k in items) > 1:
        raise IndexOutOfRangeError("an index can hold only one ellipsis (...)")
    if used > rank:
        raise IndexOutOfRangeError(f"too many indices for {type_text(x)}: {used} were given")
    full = [slice(None)] * (rank - used)
    if Ellipsis in [k for k in items if k is Ellipsis]:
        at = next(n for n, k in enumerate(items) if k is Ellipsis)
        return [*items[:at], Ellipsis, *full, *items[at + 1 :]]
    return [*items, *full]


def _index_array(k: Any) -> Any:
    """A list as an array; an empty one holds integers."""
    found = value(k)
    if isinstance(k, (list, tuple)) and is_concrete(found) and not found.size:
        return constant(found.astype(np.int64))
    return found


class _Places:
    """The places that a known mask selects along one of its axes, of length `extent`."""

    def __init__(self, places: Any, extent: int) -> None:
        self.type = type_of(places)
        self.places = places
        self.extent = extent


def _places(k: Any) -> list[Any]:
    """An entry of a key; a mask that is known as the places that it selects, axis by axis."""
    if isinstance(k, (str, bytes)) or dtype_of(k) is not dt.b1:
        return [k]
    mask = known_elements(k)
    if mask is None or not mask.ndim:
        return [k]
    places = [np.array(p) for p in np.nonzero(mask)]
    for place in places:
        place.flags.writeable = False
    return list(map(_Places, places, mask.shape))


def _flag(k: Any) -> bool | None:
    """The value of an entry that is a known boolean of rank 0, else None."""
    if isinstance(k, (bool, np.bool_)):
        return bool(k)
    if getattr(k, "shape", None) != ():
        return None
    known = known_elements(k) if dtype_of(k) is dt.b1 else None
    return None if known is None else bool(known)


def with_flag_axes(x: Any, key: Any) -> tuple[Any, Any]:
    """`x` with a new axis of length 1 for each boolean of rank 0 in the key, which becomes the
    places that it selects there: one or none."""
    items = list(key) if isinstance(key, tuple) else [key]
    flags = [_flag(k) for k in items]
    if all(flag is None for flag in flags):
        return x, key
    items = [
        e
        for k, flag in zip(items, flags, strict=True)
        for e in ([k] if is_plain(k) or flag is not None else _places(_index_array(k)))
    ]
    flags = [_flag(k) for k in items]
    shape = list(shape_of(x))
    taken = [k is not None and k is not Ellipsis and _flag(k) is None for k in items]
    axis = 0
    for n, flag in enumerate(flags):
        if flag is not None:
            shape.insert(axis, 1)
            items[n] = [0] if flag else []
            axis += 1
        elif items[n] is Ellipsis:
            axis = len(shape) - sum(taken[n + 1 :])
        else:
            axis += taken[n]
    return x.reshape(shape), tuple(items)


def is_plain(k: Any) -> bool:
    """Whether an entry of a key is an integer, a slice, `...` or None."""
    return k is None or k is Ellipsis or isinstance(k, slice) or _is_static_int(k)


def _bounded(k: int, n: int, axis: int, x: Any) -> int:
    if not -n <= k < n:
        raise IndexOutOfRangeError(
            f"index {k} is out of bounds for axis {axis} with size {n} of {type_text(x)}"
        )
    return k % n


def _parse(x: Any, key: Any, mode: str = "raise") -> _Plan:
    """The key taken apart; an integer that is out of range counts as a traced one does, if the
    mode says what then."""
    shape = shape_of(x)
    box: list[tuple[int, int, int]] = []
    drop: set[int] = set()
    arrays: list[tuple[int, Any]] = []
    order: list[Any] = []
    seen_array, gap, split = False, False, False
    entries = _entries(x, key)
    has_arrays = any(not is_plain(k) for k in entries)
    if mode != "raise":
        has_arrays = has_arrays or any(map(_is_static_int, entries))
    axis = 0
    for k in entries:
        if k is None or k is Ellipsis:
            order += [None] if k is None else []
            gap = gap or seen_array
            continue
        n = shape[axis]
        if isinstance(k, slice):
            whole = range(n)[_static_slice(k)]
            start = whole.start if len(whole) else 0
            box.append((start, len(whole), whole.step))
            order.append(axis)
            gap = gap or seen_array
        elif _is_static_int(k) and not has_arrays:
            box.append((_bounded(int(k), n, axis, x), 1, 1))
            drop.add(axis)
        else:
            split = split or (gap and seen_array)
            seen_array = True
            box.append((0, n, 1))
            if _is_static_int(k):
                k = int(k) if mode != "raise" else _bounded(int(k), n, axis, x)
                k = constant(np.int64(k))
            elif isinstance(k, _Places):
                if k.extent != n:
                    raise IndexOutOfRangeError(
                        f"a mask of length {k.extent} does not fit axis {axis} with size {n} of "
                        f"{type_text(x)}"
                    )
                k = k.places
            arrays.append((axis, k))
            order.append(("array", axis))
        axis += 1
    return _Plan(tuple(box), frozenset(drop), tuple(arrays), tuple(order), split)


def _static_slice(k: slice) -> slice:
    parts: list[int | None] = []
    for part in (k.start, k.stop, k.step):
        if part is None:
            parts.append(None)
            continue
        try:
            parts.append(int(part.__index__()))
        except AttributeError:
            raise DTypeError(f"a slice needs integers, got {part!r}") from None
        except TracerIntegerConversionError:
            raise TracerIntegerConversionError(
                f"a slice is bounded by a traced {type_text(part)}: its length would depend on the "
                "data, and shapes must be known while the function is traced",
                fix="Write `pyc.lax.dynamic_slice(x, (i,), (n,))` for `x[i : i + n]`, and "
                "`pyc.lax.dynamic_update_slice(x, v, (i,))` for `x.at[i : i + n].set(v)`;\n"
                "or pass the argument it comes from as a number, such as `int(n)`.",
            ) from None
    if parts[2] == 0:
        raise ShapeError("slice step cannot be zero")
    return slice(*parts)


def _boxed(x: Any, plan: _Plan) -> Any:
    """x with the slices applied."""
    shape = shape_of(x)
    if all(b == (0, n, 1) for b, n in zip(plan.box, shape, strict=True)):
        return x
    start, size, step = zip(*plan.box, strict=True)
    return bind1("slice", x, start=start, size=size, step=step)


def _checked(index: Any, bound: int, axis: int, mode: str, x: Any) -> Any:
    """An index array as i64 within [0, bound): by an error, or by the mode."""
    kind = dtype_of(index)
    if not kind.is_integer:
        raise IndexTypeError(f"arrays used as indices must be of integers, got {type_text(index)}")
    if mode == "raise":
        if is_concrete(index):
            flat = np.asarray(index).reshape(-1)
            wrong = (flat < -bound) | (flat >= bound)
            if wrong.any():
                raise IndexOutOfRangeError(
                    f"index {flat[wrong][0]} is out of bounds for axis {axis} with size {bound} "
                    f"of {type_text(x)}"
                )
        return bind1("index_check", index, bound=bound, axis=axis)
    if is_concrete(index):
        index = current().lift(index)
    wide = cast(index, dt.i64)
    if mode == "wrap":
        return remainder(wide, bound)
    from_end = where(wide < 0, add_arrays(wide, bound), wide)
    return clip(from_end, 0, bound - 1) if mode == "clip" else from_end


def _common_shape(shapes: list[Shape]) -> Shape:
    """The shape of index arrays together; IndexOutOfRangeError, as NumPy's, if they have none."""
    try:
        return broadcast_shape("index", shapes)
    except ShapeError:
        texts = ", ".join(map(str, shapes))
        raise IndexOutOfRangeError(
            f"index arrays of shapes {texts} do not broadcast together",
            fix="They are taken together, element by element; for all pairs: "
            "`x[i[:, None], j]`, or `x[np.ix_(i, j)]`.",
        ) from None


def _arrays(x: Any, plan: _Plan, mode: str) -> tuple[Shape, tuple[int, ...], list[Any], int]:
    """(index shape, axes of the boxed array, i64 arrays, place among the kept axes)."""
    shape = _common_shape([shape_of(k) for _, k in plan.arrays])
    bounds = shape_of(x)
    empty = [axis for axis, _ in plan.arrays if not bounds[axis]]
    if empty and 0 not in shape:
        raise IndexOutOfRangeError(f"axis {empty[0]} of {type_text(x)} has no elements to index")
    found = [broadcast(_checked(k, bounds[axis], axis, mode, x), shape) for axis, k in plan.arrays]
    axes = tuple(axis for axis, _ in plan.arrays)
    position = 0 if plan.split else sum(k < axes[0] for k in range(len(bounds)) if k not in axes)
    return shape, axes, found, position


def _result_shape(plan: _Plan, inner: Shape) -> Shape:
    """The shape of `x[key]` with new axes put in and integer axes taken out."""
    sizes = {axis: size for axis, (_, size, _) in enumerate(plan.box)}
    array_axes = {axis for axis, _ in plan.arrays}
    out: list[int] = []
    placed = not plan.arrays
    if plan.split:
        out += inner
        placed = True
    for item in plan.order:
        if item is None:
            out.append(1)
        elif isinstance(item, tuple):
            if not placed:
                out += inner
                placed = True
        elif item not in plan.drop and item not in array_axes:
            out.append(sizes[item])
    return tuple(out)


def check(x: Any, key: Any) -> None:
    """IndexOutOfRangeError, ShapeError or DTypeError if a key of plain entries does not fit `x`."""
    _parse(x, key, "raise")


def getitem(x: Any, key: Any) -> Any:
    """`x[key]`."""
    return gather(x, key, mode="raise")


_MODES = ("raise", "clip", "wrap", "drop", "fill")
"""What becomes of places that there are not."""


def gather(
    x: Any, key: Any, *, mode: str = "raise", fill_value: Any = None, unique_indices: bool = False
) -> Any:
    """`x[key]`; what is out of range by `mode`: "raise", "clip" (the nearest), "wrap" (modulo), or
    "fill" and "drop" (`fill_value`, NaN or 0 by default)."""
    del unique_indices
    x = asarray(x)
    mode = text("indexing", "mode", mode, _MODES)
    mode = "fill" if mode == "drop" else mode
    x, key = with_flag_axes(x, key)
    plan = _parse(x, key, mode)
    boxed = _boxed(x, plan)
    if not plan.arrays:
        return reshape(boxed, _result_shape(plan, ()))
    inner, axes, indices, position = _arrays(x, plan, mode)
    found = bind1("gather", boxed, *indices, axes=axes, position=position)
    if mode == "fill":
        found = _filled(x, boxed, indices, axes, position, found, fill_value)
    return reshape(found, _result_shape(plan, inner))


def _filled(
    x: Any,
    boxed: Any,
    indices: Sequence[Any],
    axes: Shape,
    position: int,
    found: Any,
    fill_value: Any,
) -> Any:
    inside: Any = None
    for axis, index in zip(axes, indices, strict=True):
        n = shape_of(boxed)[axis]
        test = logical_and(index >= 0, index < n)
        inside = test if inside is None else logical_and(inside, test)
    kept = len(shape_of(boxed)) - len(axes)
    shape = shape_of(inside)
    wide = (*[1] * position, *shape, *[1] * (kept - position))
    default = np.nan if dtype_of(x).kind in ("float", "complex") else 0
    fill = cast(value(default if fill_value is None else fill_value), dtype_of(x))
    return where(reshape(inside, wide), found, fill)


_COMBINE = {
    "add": ("add", add_arrays),
    "subtract": (None, subtract_arrays),
    "multiply": ("mul", multiply),
    "divide": (None, divide),
    "min": ("min", minimum),
    "max": ("max", maximum),
    "power": (None, power),
}


_IN_TURN = ("divide", "power")
"""Those that no scatter does: where places repeat they act one after the other."""
_OF_BOOLS = {"add": "max", "multiply": "min", "min": "min", "max": "max"}
"""Sums and products of bools are `or` and `and`, as in NumPy."""


def _may_repeat(indices: Sequence[Any], axes: Sequence[int]) -> bool:
    """Whether an element may be named twice: not where all indices are known and differ."""
    known = [known_elements(k) for k in indices]
    if any(k is None for k in known):
        return True
    places = np.stack([k.reshape(-1) for k in known])
    return bool(np.unique(places, axis=1).shape[1] < places.shape[1])


def _changed_in_turn(
    x: Any,
    plan: _Plan,
    places: tuple[Shape, tuple[int, ...], list[Any], int],
    new: Any,
    combine: Any,
) -> Any:
    """`x` with its elements combined with those of `new`, one place after the other."""
    inner, axes, indices, position = places
    boxed = _boxed(x, plan)
    sizes = [size for k, (_, size, _) in enumerate(plan.box) if k not in axes]
    count = prod(inner)
    lines = reshape(new, (*sizes[:position], count, *sizes[position:]))
    rows = moveaxis(lines, position, 0)
    steps = tuple(reshape(k, (count,)) for k in indices)

    def step(carry: Any, each: Any) -> tuple[Any, None]:
        *at, row = each
        where_to = {"axes": axes, "position": position}
        old = bind1("gather", carry, *at, **where_to)
        made = cast(combine(old, row), dtype_of(carry))
        return bind1("scatter", carry, made, *at, **where_to, mode="set"), None

    changed, _ = load("pyc.trace.control").scan(step, boxed, (*steps, rows))
    if boxed is x:
        return changed
    whole = tuple(range(len(plan.box)))
    return _set_box(x, _Plan(plan.box, frozenset(), (), whole, False), changed)


def _reading(mode: str) -> str:
    """The mode in which elements are read that are written in `mode`: those that are left out may
    be any."""
    return mode if mode in ("raise", "wrap") else "clip"


def update(
    x: Any,
    key: Any,
    values: Any,
    *,
    how: str = "set",
    mode: str = "raise",
    unique_indices: bool = False,
) -> Any:
    """x with x[key] set to `values`, or combined with them (how: add, subtract, multiply, divide,
    min, max, power, apply). Equal indices act one after the other in row-major order."""
    x = asarray(x)
    options: dict[str, Any]
    mode = text("update", "mode", mode, _MODES)
    if how not in ("set", "apply"):
        _check_kind(x, values, how)
        if dtype_of(x) is dt.b1 and how in _OF_BOOLS:
            options = {"how": _OF_BOOLS[how], "mode": mode, "unique_indices": unique_indices}
            numbers = cast(value(values), dt.b1), dt.u8
            return cast(update(cast(x, dt.u8), key, cast(*numbers), **options), dt.b1)
    shape = shape_of(x)
    wide, key = with_flag_axes(x, key)
    if wide is not x:
        options = {"how": how, "mode": mode, "unique_indices": unique_indices}
        return update(wide, key, values, **options).reshape(shape)
    mask = _traced_mask(key)
    if mask is not None:
        return _update_masked(x, mask, values, how)
    plan = _parse(x, key, mode)
    if how == "apply":
        return update(x, key, values(gather(x, key, mode=_reading(mode))), mode=mode)
    if not plan.arrays:
        old = getitem(x, key)
        new = _value_like(values, old, x, how, key)
        return _set_box(x, plan, new)
    inner, axes, indices, position = _arrays(x, plan, "drop" if mode == "fill" else mode)
    target = _result_shape(plan, inner)
    scatter_mode, combine = _COMBINE.get(how, ("set", None)) if how != "set" else ("set", None)
    new = cast(value(values), dtype_of(x))
    new = _spread(new, target, how, key)
    if how == "subtract":
        scatter_mode, new = "add", _negated(new)
    elif how in _IN_TURN or (dtype_of(x).is_complex and how in ("multiply", "min", "max")):
        assert combine is not None
        if not unique_indices and _may_repeat(indices, axes):
            return _changed_in_turn(x, plan, (inner, axes, indices, position), new, combine)
        old = gather(x, key, mode=_reading(mode))
        scatter_mode, new = "set", cast(combine(old, new), dtype_of(x))
    boxed = _boxed(x, plan)
    if boxed is not x and not inner and scatter_mode == "set" and mode in _INSIDE:
        return _set_box(x, plan, new, dict(zip(axes, indices, strict=True)))
    sizes = [size for k, (_, size, _) in enumerate(plan.box) if k not in axes]
    kept = (*sizes[:position], *inner, *sizes[position:])
    changed = bind1(
        "scatter",
        boxed,
        reshape(new, kept),
        *indices,
        axes=axes,
        position=position,
        mode=scatter_mode,
    )
    if boxed is x:
        return changed
    return _set_box(
        x, _Plan(plan.box, frozenset(), (), tuple(range(len(plan.box))), False), changed
    )


def _check_kind(x: Any, values: Any, how: str) -> None:
    """DTypeError if values are of a higher kind than `x`: floats for integers, which would lose
    their fractions, as quotients of integers would."""
    old, new = dtype_of(x), dtype_of(value(values))
    if how == "divide" and not (old.is_float or old.is_complex):
        raise DTypeError(
            f"update: quotients are floats, and the array is {old.name}",
            fix="Convert the array before, `x.astype(float)`; or write whole quotients, "
            "`x.at[i].set(x[i] // v)`.",
        )
    if not (old.is_integer and new.is_integer) and not np.can_cast(
        new.numpy, old.numpy, "same_kind"
    ):
        raise DTypeError(
            f"update: {how} of {new.name} to {old.name} would lose what {old.name} does not hold",
            fix=f"Convert the array before, `x.astype({new.name!r})`; or the values, "
            f"`.astype({old.name!r})`.",
        )


def _traced_mask(key: Any) -> Any:
    """The key if it is one boolean array whose elements are not known, else None."""
    if isinstance(key, tuple) or is_plain(key) or isinstance(key, (str, bytes, list)):
        return None
    return key if dtype_of(key) is dt.b1 and known_elements(key) is None else None


def _update_masked(x: Any, mask: Any, values: Any, how: str) -> Any:
    """x with the elements under a mask set to one number, or combined with it."""
    shape, given = shape_of(x), shape_of(mask)
    if given != shape[: len(given)]:
        raise IndexOutOfRangeError(f"a mask of shape {given} does not fit {type_text(x)}")
    if how == "apply":
        new = values(x)
    else:
        new = value(values)
        if shape_of(new) != ():
            raise ConcretizationError(
                "which elements of an array of values a mask takes depends on data",
                fix="Write `where(mask, values, x)` with values of the shape of x.",
            )
        new = new if how == "set" else _COMBINE[how][1](x, new)
    wide = reshape(mask, given + (1,) * (len(shape) - len(given)))
    return where(wide, cast(new, dtype_of(x)), x)


def _negated(x: Any) -> Any:
    return subtract_arrays(literal(0, dtype_of(x)), x)


def _value_like(values: Any, old: Any, x: Any, how: str, key: Any) -> Any:
    new = value(values)
    if how != "set":
        new = _COMBINE[how][1](old, new)
    return _spread(cast(new, dtype_of(x)), shape_of(old), how, key)


def _spread(new: Any, target: Shape, how: str, key: Any) -> Any:
    """Values of the shape of what they replace; leading axes of length 1 that it does not have are
    dropped, as NumPy's assignments do but to one element."""
    shape = shape_of(new)
    extra = len(shape) - len(target)
    is_array = target or any(k is Ellipsis for k in (key if isinstance(key, tuple) else (key,)))
    if how == "set" and is_array and extra > 0 and shape[:extra] == (1,) * extra:
        new, shape = reshape(new, shape[extra:]), shape[extra:]
    if broadcast_shape("update", [shape, target]) != target:
        raise ShapeError(f"update: values of shape {shape} do not fit {target}")
    return broadcast(new, target)


_INSIDE = ("raise", "clip", "wrap")
"""Modes by which each index is within its axis."""


def _set_box(x: Any, plan: _Plan, new: Any, places: dict[int, Any] | None = None) -> Any:
    """x with its box replaced by `new` (of the shape of x[key]). places: i64 of rank 0 by axis,
    where the box has one element at a computed place."""
    moving = places or {}
    box = [(0, 1, 1) if k in moving else part for k, part in enumerate(plan.box)]
    sizes = tuple(size for _, size, _ in box)
    if 0 in sizes:
        return x
    new = reshape(new, sizes)
    backwards = [k for k, (_, size, step) in enumerate(box) if step < 0 and size > 1]
    if backwards:
        new = reverse(new, backwards)
    fixed = [start + (size - 1) * step if step < 0 else start for start, size, step in box]
    starts = tuple(None if k in moving else start for k, start in enumerate(fixed))
    strides = tuple(abs(step) for _, _, step in box)
    ordered = [moving[k] for k in sorted(moving)]
    return bind1("update_slice", x, new, *ordered, starts=starts, strides=strides)


def take(x: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    """Elements of `x` at integer `indices` along an axis (of the flattened array if None).

    x: (..., n, ...), any dtype, which the result has; indices: integers of any shape, counted from
    the end if negative, bools are 0 and 1  ->  (..., *indices.shape, ...)
    mode: "raise", "clip" to the ends, "wrap" around them, or "fill" with NaN or 0 for those outside
    raises IndexOutOfRangeError: there is no such place, when the program runs if it is traced;
    IndexTypeError: indices that are no integers; AxisError: no such axis; ArgumentError: another
    mode; DTypeError: no numbers, or an axis that is no integer

    NumPy: `numpy.take`.

    >>> take([10, 20, 30], [2, 0])
    array([30, 10])
    """
    x, place = as_lines("take", asarray(x), axis)
    is_list = type(indices) in (list, tuple)
    indices = value(indices)
    # Bools are numbers here, no mask; an empty list has no type of its own.
    if dtype_of(indices) is dt.b1 or (is_list and 0 in shape_of(indices)):
        indices = cast(indices, dt.i64)
    key = (*[slice(None)] * place, indices)
    if _is_static_int(indices):
        return gather(x, (*[slice(None)] * place, int(indices)), mode=mode)
    return gather(x, key, mode=mode)


def take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> Any:
    """x[..., indices[...], ...]: along one axis, the other places stay their own, where `x` and
    `indices` broadcast. None for the axis: a line of indices into the flattened array.

    x: (..., n, ...), any dtype, which the result has; indices: (..., m, ...), integers, counted
    from the end if negative
    ->  (..., m, ...)
    raises IndexOutOfRangeError: there is no such place, when the program runs if it is traced;
    IndexTypeError: indices that are no integers; ShapeError: other ranks, or axes that do not
    broadcast; AxisError: no such axis; DTypeError: no numbers, or an axis that is no integer

    NumPy: `numpy.take_along_axis`.

    >>> take_along_axis([[1, 2], [3, 4]], [[1], [0]], axis=1)
    array([[2],
           [3]])
    """
    x, indices = asarray(x), asarray(indices)
    if axis is None:
        x, axis = ravel(x), 0
    rank = len(shape_of(x))
    place = axis_of("take_along_axis", axis, rank)
    if len(shape_of(indices)) != rank:
        raise ShapeError(f"take_along_axis: ranks differ: {type_text(x)} and {type_text(indices)}")
    length, count = shape_of(x)[place], shape_of(indices)[place]
    sides = [(*s[:place], 1, *s[place + 1 :]) for s in (shape_of(x), shape_of(indices))]
    around = broadcast_shape("take_along_axis", sides)
    x = broadcast(x, (*around[:place], length, *around[place + 1 :]))
    shape = (*around[:place], count, *around[place + 1 :])
    indices = broadcast(indices, shape)
    key = []
    for k in range(rank):
        if k == place:
            key.append(indices)
        else:
            line = bind1("iota", shape=shape, axis=k, dtype=dt.i64)
            key.append(line)
    return gather(x, tuple(key))


def dynamic_slice(operand: Any, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> Any:
    """The box of `slice_sizes` elements at `start_indices`, which may be traced.

    operand: any rank; start_indices: an integer per axis, negative ones count from the end;
    slice_sizes: an int per axis. A box that would reach out of the operand is moved inside.
    raises ShapeError: a start or size too many or too few, or a size larger than its axis
    """
    x = asarray(operand)
    sizes = tuple(int(s) for s in slice_sizes)
    fixed, moving = _starts("dynamic_slice", start_indices, shape_of(x), sizes)
    return separated(bind1("dynamic_slice", x, *moving, starts=fixed, sizes=sizes), (x,))


def dynamic_update_slice(operand: Any, update: Any, start_indices: Sequence[Any]) -> Any:
    """`operand` with the box of the shape of `update` at `start_indices` replaced by it.

    start_indices: as in `dynamic_slice`; update: of the operand's rank, cast to its dtype.
    raises ShapeError: ranks that differ, or an axis of `update` longer than the operand's
    """
    x = asarray(operand)
    new = cast(asarray(update), dtype_of(x))
    fixed, moving = _starts("dynamic_update_slice", start_indices, shape_of(x), shape_of(new))
    strides = (1,) * len(shape_of(x))
    return bind1("update_slice", x, new, *moving, starts=fixed, strides=strides)


def _starts(
    name: str, starts: Sequence[Any], shape: Shape, box: Shape
) -> tuple[tuple[int | None, ...], list[Any]]:
    """The starts that are known, None for others, and those that are not; none is negative. A box
    as long as the axis is moved to where the axis begins, wherever it starts."""
    if len(starts) != len(shape):
        raise ShapeError(f"{name}: needs {len(shape)} starts, got {len(starts)}")
    fixed: list[int | None] = []
    moving: list[Any] = []
    for k, (s, n) in enumerate(zip(starts, shape, strict=True)):
        if _is_static_int(s):
            fixed.append(int(s) + n if s < 0 else int(s))
            continue
        if type_of(s).shape != () or not dtype_of(s).is_integer:
            raise ShapeError(f"{name}: a start must be one integer, got {type_text(s)}")
        if box[k : k + 1] == (n,):  # the op says so if there are too many or too few of them
            fixed.append(0)
            continue
        fixed.append(None)
        start = cast(s, dt.i64)
        moving.append(where(less(start, 0), add_arrays(start, n), start))
    return tuple(fixed), moving
