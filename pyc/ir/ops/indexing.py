"""Reads and writes at computed indices.

Every op here stays within bounds whatever the index values are: `gather` and the slices clamp,
`scatter` drops. What an index out of range means to the user (an error, a clip, a fill) is decided
before, in `pyc.numpy`, with `index_check`, `clip` or `select`.

* gather(x, *indices; axes, position): `indices` are i64 arrays of one shape I, one for each axis of
  `axes` (increasing). The result has the other axes of x in order, with the axes of I inserted
  before the one that is `position` among them: NumPy's integer-array indexing.
* dynamic_slice(x, *starts; starts, sizes): one start per axis, an int, or None for the next rank-0
  i64 argument; moved to keep the slice within x (as jax.lax.dynamic_slice).
* update_slice(x, update, *starts; starts, strides): x with a (strided) box replaced; runs in place.
* overlay(x, update, *starts; starts, strides): the same as a new array, whose elements are computed
  where they are read.
* scatter(x, update, *indices; axes, position, mode): x with `update` (of the shape that gather
  would give) stored or combined at the indexed places, in row-major order of `update`, so equal
  indices give one defined result: the last for "set". Runs in place.
* searchsorted(sorted, values; right, lead=0): the i64 place of each value in a sorted line; in a
  line for each index of the first `lead` axes, which both arguments have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.errors import DTypeError, ShapeError
from pyc.forks import load
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.element import Element, choose, widened
from pyc.ir.expr import Apply, Expr, Interner, Load, Var, apply, const, minimum, select
from pyc.ir.instructions import INSTRUCTIONS
from pyc.ir.loops import Accumulate, Body, Buffer, Fail, For, If, Kernel, Let, Stmt, Store
from pyc.ir.loops import Kind as LoopKind
from pyc.ir.op import Complex, Kind, Lookup, Op, Part, Types, batch_by, define
from pyc.ir.ops.shape import Index, Read, clamped, index_op, plus, times
from pyc.ir.order import MONOIDS
from pyc.ir.types import ArrayType, row_major

VECTOR_BYTES = 64
"""Bytes of a row that a scatter stores at once: a vector of the widest processors, or two."""

Axes = tuple[int, ...]
Starts = tuple[int | None, ...]


# --- gather ---------------------------------------------------------------------------------------


def _gathered_shape(name: str, x: ArrayType, indices: Types, axes: Axes, position: int) -> Axes:
    """The shape that gather gives; ShapeError or DTypeError for what it cannot take."""
    if not indices or len(indices) != len(axes):
        raise ShapeError(f"{name}: needs one index array for each of the axes {axes}")
    if list(axes) != sorted(set(axes)) or any(not 0 <= a < x.rank for a in axes):
        raise ShapeError(f"{name}: axes {axes} are not increasing axes of {x}")
    first = indices[0]
    if any(i.dtype is not dt.i64 or i.shape != first.shape for i in indices):
        found = ", ".join(map(str, indices))
        raise DTypeError(f"{name}: needs i64 indices of one shape, got {found}")
    kept = tuple(n for a, n in enumerate(x.shape) if a not in axes)
    if not 0 <= position <= len(kept):
        raise ShapeError(f"{name}: position {position} is not in 0 ... {len(kept)}")
    shape = (*kept[:position], *first.shape, *kept[position:])
    if 0 not in shape and any(x.shape[a] == 0 for a in axes):
        raise ShapeError(f"{name}: axes {axes} of {x} have no elements to index")
    return shape


def _gather_types(args: Types, *, axes: Axes, position: int) -> Types:
    x, *indices = args
    return (ArrayType(_gathered_shape("gather", x, tuple(indices), axes, position), x.dtype),)


def _split_place(index: Index, rank: int, position: int) -> tuple[Index, Index]:
    """(index into the index arrays of `rank` axes, index into the kept axes)."""
    end = position + rank
    return index[position:end], (*index[:position], *index[end:])


def _join_place(x: ArrayType, at: list[Expr], kept: Index, axes: Axes) -> Index:
    """The index into x of kept-axes index `kept` and indexed places `at`."""
    rest = iter(kept)
    found = dict(zip(axes, at, strict=True))
    return tuple(found[a] if a in found else next(rest) for a in range(x.rank))


def _gather_element(
    read: Read, index: Index, types: Types, *, axes: Axes, position: int
) -> Element:
    x, first, *_ = types
    inner, kept = _split_place(index, first.rank, position)
    at = []
    for k, axis in enumerate(axes):
        place = read(k + 1, inner)
        assert isinstance(place, Expr)
        at.append(clamped(place, 0, max(x.shape[axis] - 1, 0)))
    return read(0, _join_place(x, at, kept, axes))


def _gather_reference(x: Any, *indices: Any, axes: Axes, position: int) -> Any:
    kept = [a for a in range(x.ndim) if a not in axes]
    lines = x.transpose(*axes, *kept)
    limits = [max(x.shape[a] - 1, 0) for a in axes]
    clipped = tuple(np.clip(i, 0, n) for i, n in zip(indices, limits, strict=True))
    shape = indices[0].shape
    if 0 in (*shape, *(x.shape[a] for a in kept)):
        found = np.zeros((*shape, *(x.shape[a] for a in kept)), x.dtype)
    else:
        found = lines[clipped]
    order = list(range(len(shape), found.ndim))
    return found.transpose(*order[:position], *range(len(shape)), *order[position:]).copy()


def _gather_lookup(types: Types, *, axes: Axes, position: int) -> Lookup:
    x, first, *_ = types
    strides = row_major(x.shape)
    kept = [strides[a] for a in range(x.rank) if a not in axes]
    still = (0,) * first.rank
    before, behind = (0,) * position, (0,) * (len(kept) - position)
    return Lookup(
        (*kept[:position], *still, *kept[position:]),
        (*before, *row_major(first.shape), *behind),
        tuple((x.shape[a], strides[a]) for a in axes),
    )


index_op(
    "gather",
    _gather_types,
    _gather_element,
    _gather_reference,
    batch=batch_by("index_batches", "gather"),
    lookup=_gather_lookup,
    cost=6,
)


# --- slices at computed places --------------------------------------------------------------------


def _check_starts(name: str, x: ArrayType, dynamic: Types, starts: Starts) -> None:
    if len(starts) != x.rank or starts.count(None) != len(dynamic):
        raise ShapeError(f"{name}: needs a start for each axis of {x}, got {starts}")
    if any(s.shape != () or s.dtype is not dt.i64 for s in dynamic):
        found = ", ".join(map(str, dynamic))
        raise DTypeError(f"{name}: computed starts must be i64[], got {found}")


def _start_elements(read: Read, first: int, starts: Starts, limits: Axes) -> list[Expr | int]:
    """One start per axis within [0, limit]; computed ones are read from argument `first` on."""
    found: list[Expr | int] = []
    for s, limit in zip(starts, limits, strict=True):
        if s is not None:
            found.append(min(max(s, 0), limit))
            continue
        place = read(first, ())
        assert isinstance(place, Expr)
        found.append(clamped(place, 0, limit))
        first += 1
    return found


def _start_values(dynamic: tuple[Any, ...], starts: Starts, limits: Axes) -> list[int]:
    rest = iter(dynamic)
    values = [int(next(rest)) if s is None else s for s in starts]
    return [min(max(s, 0), limit) for s, limit in zip(values, limits, strict=True)]


def _offset(x: Expr, start: Expr | int) -> Expr:
    return plus(x, start) if isinstance(start, int) else x + start


def _dynamic_slice_types(args: Types, *, starts: Starts, sizes: Axes) -> Types:
    x, *dynamic = args
    _check_starts("dynamic_slice", x, tuple(dynamic), starts)
    if len(sizes) != x.rank or any(not 0 <= s <= n for s, n in zip(sizes, x.shape, strict=True)):
        raise ShapeError(f"dynamic_slice: sizes {sizes} do not fit {x}")
    return (ArrayType(tuple(sizes), x.dtype),)


def _dynamic_slice_element(
    read: Read, index: Index, types: Types, *, starts: Starts, sizes: Axes
) -> Element:
    limits = tuple(n - s for n, s in zip(types[0].shape, sizes, strict=True))
    at = _start_elements(read, 1, starts, limits)
    return read(0, tuple(_offset(i, s) for i, s in zip(index, at, strict=True)))


def _dynamic_slice_reference(x: Any, *dynamic: Any, starts: Starts, sizes: Axes) -> Any:
    limits = tuple(n - s for n, s in zip(x.shape, sizes, strict=True))
    at = _start_values(dynamic, starts, limits)
    return x[tuple(slice(a, a + n) for a, n in zip(at, sizes, strict=True))].copy()


def _spans(update: Axes, strides: Axes) -> Axes:
    """How many elements of each axis of the operand the update reaches over."""
    return tuple((n - 1) * s + 1 if n else 0 for n, s in zip(update, strides, strict=True))


def _update_slice_types(args: Types, *, starts: Starts, strides: Axes) -> Types:
    x, update, *dynamic = args
    _check_starts("update_slice", x, tuple(dynamic), starts)
    if update.dtype is not x.dtype:
        raise DTypeError(f"update_slice: types differ: {x} and {update}")
    if update.rank != x.rank or len(strides) != x.rank or any(s < 1 for s in strides):
        raise ShapeError(f"update_slice: needs a stride for each axis, and {update} of rank {x}")
    spans = _spans(update.shape, strides)
    if any(s > n for s, n in zip(spans, x.shape, strict=True)):
        raise ShapeError(f"update_slice: {update} with strides {strides} does not fit {x}")
    return (x,)


def _update_limits(types: Types, strides: Axes) -> Axes:
    x, update = types[:2]
    spans = _spans(update.shape, strides)
    return tuple(n - s for n, s in zip(x.shape, spans, strict=True))


def _update_slice_element(
    read: Read, index: Index, types: Types, *, starts: Starts, strides: Axes
) -> Element:
    x, update = types[:2]
    old = read(0, index)
    if update.size == 0:
        return old
    at = _start_elements(read, 2, starts, _update_limits(types, strides))
    inside: Expr | None = None
    place: list[Expr] = []
    for i, s, stride, n, whole in zip(index, at, strides, update.shape, x.shape, strict=True):
        if n == whole:
            place.append(i)
            continue
        moved = _offset(i, -s)
        tests = [moved >= 0, moved < (n - 1) * stride + 1]
        if stride != 1:
            step = const(stride)
            tests.append(apply("remainder", moved, step).equal(0))
            moved = apply("quotient", moved, step)
        for test in tests:
            inside = test if inside is None else inside & test
        place.append(clamped(moved, 0, n - 1))
    new = read(1, tuple(place))
    return new if inside is None else choose(inside, new, old)


def _update_slice_target(
    read: Read, index: Index, types: Types, *, starts: Starts, strides: Axes
) -> Index:
    at = _start_elements(read, 2, starts, _update_limits(types, strides))
    parts = zip(index, strides, at, strict=True)
    return tuple(_offset(times(i, stride), s) for i, stride, s in parts)


def _update_slice_reference(
    x: Any, update: Any, *dynamic: Any, starts: Starts, strides: Axes
) -> Any:
    limits = tuple(n - s for n, s in zip(x.shape, _spans(update.shape, strides), strict=True))
    at = _start_values(dynamic, starts, limits)
    parts = zip(at, update.shape, strides, strict=True)
    out = x.copy()
    out[tuple(slice(a, a + n * s, s) for a, n, s in parts)] = update
    return out


index_op(
    "dynamic_slice",
    _dynamic_slice_types,
    _dynamic_slice_element,
    _dynamic_slice_reference,
    batch=batch_by("index_batches", "dynamic_slice"),
)


def _update_slice_parts(types: Types, *, starts: Starts, strides: Axes) -> list[Part] | None:
    if None in starts:
        return None
    x, update = types
    steps = row_major(x.shape)
    limits = _update_limits(types, strides)
    known = zip(starts, limits, steps, strict=True)
    first = sum(min(max(a, 0), n) * s for a, n, s in known if a is not None)
    into = tuple(s * t for s, t in zip(steps, strides, strict=True))
    box = Part(1, update.shape, row_major(update.shape), first, into)
    return [Part(0, x.shape, steps, 0, steps), box]


index_op(
    "update_slice",
    _update_slice_types,
    _update_slice_element,
    _update_slice_reference,
    batch=batch_by("index_batches", "update_slice"),
    parts=_update_slice_parts,
    in_place=0,
    target=_update_slice_target,
)

index_op(
    "overlay",
    _update_slice_types,
    _update_slice_element,
    _update_slice_reference,
    batch=batch_by("index_batches", "update_slice"),
    parts=_update_slice_parts,
)


# --- searchsorted ---------------------------------------------------------------------------------


def _search_types(args: Types, *, right: bool, lead: int = 0) -> Types:
    line, values = args
    if line.rank != lead + 1 or values.shape[:lead] != line.shape[:lead]:
        raise ShapeError(f"searchsorted: needs a sorted line, got {line}")
    if line.dtype is not values.dtype or line.dtype.is_complex:
        raise DTypeError(f"searchsorted: needs equal real types, got {line} and {values}")
    return (ArrayType(values.shape, dt.i64),)


def comparable(x: Expr) -> Expr:
    """`x` in a type that instructions compare."""
    return x.cast(widened(x.dtype))


def precedes(a: Expr, b: Expr) -> Expr:
    """Whether `a` sorts before `b`: by value, NaN after everything."""
    less = a < b
    return less | (b.differs(b) & a.equal(a)) if a.dtype.is_float else less


def _search_element(
    read: Read, index: Index, types: Types, *, right: bool, lead: int = 0
) -> Element:
    """Bisection by falling powers of two, unrolled: a chain of about log2(n) reads."""
    count = types[0].shape[-1]
    value = read(1, index)
    assert isinstance(value, Expr)
    value = comparable(value)
    place: Expr = const(0)
    step = 1 << max(count.bit_length() - 1, 0)
    while count and step:
        probe = place + step
        element = read(0, (*index[:lead], minimum(probe - 1, count - 1)))
        assert isinstance(element, Expr)
        element = comparable(element)
        passes = ~precedes(value, element) if right else precedes(element, value)
        place = select((probe <= count) & passes, probe, place)
        step >>= 1
    return place


def _search_reference(line: Any, values: Any, *, right: bool, lead: int = 0) -> Any:
    if lead:
        out = np.empty(values.shape, np.int64)
        for k in np.ndindex(line.shape[:lead]):
            out[k] = _search_reference(line[k], values[k], right=right)
        return out
    wide = np.float32 if line.dtype.itemsize <= 2 and line.dtype.kind in "fV" else line.dtype
    side: Any = "right" if right else "left"
    return np.asarray(np.searchsorted(line.astype(wide), values.astype(wide), side=side), np.int64)


index_op(
    "searchsorted",
    _search_types,
    _search_element,
    _search_reference,
    batch=batch_by("index_batches", "searchsorted"),
    cost=60,
)


# --- scatter --------------------------------------------------------------------------------------

SCATTER_MODES = {"set": None, "add": "add", "mul": "mul", "min": "minimum", "max": "maximum"}
"""Modes of scatter, and the monoid that combines the old and the new element."""


def _scatter_types(args: Types, *, axes: Axes, position: int, mode: str) -> Types:
    x, update, *indices = args
    if mode not in SCATTER_MODES:
        raise ShapeError(f"scatter: mode {mode!r} is not one of {', '.join(SCATTER_MODES)}")
    if update.dtype is not x.dtype:
        raise DTypeError(f"scatter: types differ: {x} and {update}")
    refused = {"set": (), "add": ("bool",)}.get(mode, ("bool", "complex"))
    if x.dtype.kind in refused:
        raise DTypeError(f"scatter: mode {mode!r} is not defined for {x}")
    shape = _gathered_shape("scatter", x, tuple(indices), axes, position)
    if update.shape != shape:
        raise ShapeError(f"scatter: the update must have shape {shape}, got {update}")
    return (x,)


def storage(name: str, type: ArrayType, role: str) -> Buffer:
    """The buffer of an argument or result; complex numbers are a trailing axis of 2."""
    if type.dtype.is_complex:
        return Buffer(name, type.dtype.real, (*type.shape, 2), role=role)
    return Buffer(name, type.dtype, type.shape, role=role)


def nest(variables: Index, shape: tuple[int, ...], body: Body) -> Body:
    """Serial loops over `shape` around `body`, in row-major order; none where the index is 0."""
    for var, extent in zip(reversed(variables), reversed(shape), strict=True):
        if isinstance(var, Var):
            body = (For(var, extent, LoopKind.SERIAL, body),)
    return body


def _scatter_build(
    types: Types, *, axes: Axes, position: int, mode: str, in_place: bool = False
) -> Kernel:
    """Copies x, then stores the updates one after the other; an index out of range is dropped."""
    x, update, first, *_ = types
    source = storage("x", x, "inout" if in_place else "in")
    updates = storage("update", update, "in")
    indices = [Buffer(f"index{k}", dt.i64, first.shape, role="in") for k in range(len(axes))]
    result = source if in_place else storage("out", x, "inout")
    body: Body = ()
    if not in_place:
        whole = (*x.shape, 2) if x.dtype.is_complex else x.shape
        at = tuple(Var(f"c{k}") for k in range(len(whole)))
        body = nest(at, whole, (Store(result, at, Load(source, at)),))

    def element(at: Index) -> tuple[Body, Element]:
        if x.dtype.is_complex:
            return (), Complex(Load(updates, (*at, const(0))), Load(updates, (*at, const(1))))
        return (), Load(updates, at)

    def places(at: Index) -> tuple[Body, list[Expr]]:
        return (), [Load(buffer, at) for buffer in indices]

    loops = tuple(Var(f"u{k}") for k in range(update.rank))
    body += scattered(
        *(result, types, loops, element, places), axes=axes, position=position, mode=mode
    )
    buffers = (source, updates, *indices) if in_place else (source, updates, *indices, result)
    return Kernel(f"scatter_{mode}", buffers, body)


def scattered(
    result: Buffer,
    types: Types,
    loops: Index,
    element: Callable[[Index], tuple[Body, Element]],
    places: Callable[[Index], tuple[Body, list[Expr]]],
    *,
    axes: Axes,
    position: int,
    mode: str,
) -> Body:
    """The statements of a scatter into `result`, one update after the other. loops: the index of
    the update, of variables, and 0 for axes of one element; element, places: statements that come
    first, and an element of the update, or the indices, at an index."""
    x, update, first, *_ = types
    inner, kept = _split_place(loops, first.rank, position)
    before, at = places(inner)
    found = [Var(f"at{k}") for k in range(len(axes))]
    lets = tuple(Let(var, e) for var, e in zip(found, at, strict=True))
    place, inside = _scatter_place(x, list(found), kept, axes)
    known = tuple((e, x.shape[axis]) for e, axis in zip(at, axes, strict=True))
    late = tuple(s for s in before if isinstance(s, Fail) and _is_outside(s, known))
    before = tuple(s for s in before if s not in late)
    checks, value = element(loops)
    if isinstance(value, Complex):
        parts = ((0, value.re), (1, value.im))
        stores = tuple(combined(result, (*place, const(k)), e, mode) for k, e in parts)
    else:
        stores = (combined(result, place, value, mode),)
    end = position + first.rank
    if position or checks:
        # What an element needs is checked wherever it goes.
        row = If(inside, stores, late)
        return nest(loops, update.shape, (*before, *checks, *lets, row))
    extents = update.shape[end:]
    counted = _from_start(at[0], x.shape[axes[0]]) if len(axes) == 1 and not kept else None
    if kept and max(axes) < x.rank - 1 and not x.dtype.is_complex:
        stores = _in_vectors(kept[-1], extents[-1], x.dtype, stores)
        kept, extents = kept[:-1], extents[:-1]
    row = If(inside, nest(kept, extents, stores), late)
    if counted is None:
        return nest(inner, first.shape, (*before, *lets, row))
    # Most numbers count from the start: they are tested as they come, three instructions less.
    usual = Let(found[0], counted)
    otherwise = load("pyc.ir.visit").renamed((*lets, row))
    both = If(inside, stores, otherwise)
    return nest(inner, first.shape, (*before, usual, both))


def _from_start(place: Expr, extent: int) -> Expr | None:
    """The number that a place is made of which counts from the end where it is negative."""
    if not isinstance(place, Apply) or place.name != "select":
        return None
    merged = Interner()
    value = place.args[2]
    same, wanted = merged([place, select(value < 0, value + extent, value)])
    return value if same is wanted else None


def _in_vectors(var: Expr, extent: int, dtype: DType, body: Body) -> Body:
    """`body` for neighbours in memory."""
    width = VECTOR_BYTES // dtype.itemsize
    if not isinstance(var, Var) or extent < width:
        return nest((var,), (extent,), body)
    v, lane, behind = Var("v"), Var("lane"), Var("behind")
    count, rest = divmod(extent, width)
    renamed = load("pyc.ir.visit").renamed
    vector = For(lane, width, LoopKind.VECTOR, renamed(body, {var: v * width + lane}))
    loops: Body = (For(v, count, LoopKind.SERIAL, (vector,)),)
    if rest:
        last = renamed(body, {var: behind + count * width})
        loops += (For(behind, rest, LoopKind.SERIAL, last),)
    return loops


def _is_outside(check: Fail, places: tuple[tuple[Expr, int], ...]) -> bool:
    """Whether a check fails only where one of some places, each with the extent of its axis, is
    outside of it: that of an index which may count from the end, or of one which may not."""
    merged = Interner()
    value = check.value
    for place, extent in places:
        from_end = select(value < 0, value + extent, value)
        for form, least in ((from_end, -extent), (value, 0)):
            outside = (value >= extent) | (value < least)
            a, b, c, d = merged([form, place, outside, check.condition])
            if a is b and c is d:
                return True
    return False


def _scatter_place(x: ArrayType, at: list[Expr], kept: Index, axes: Axes) -> tuple[Index, Expr]:
    """The index into x that an update element goes to, and whether that is within x."""
    inside: Expr | None = None
    for place, axis in zip(at, axes, strict=True):
        if isinstance(place, Var):  # as unsigned, a negative number is a large one
            test = place.cast(dt.u64) < x.shape[axis]
        else:  # what is known disappears
            test = (place >= 0) & (place < x.shape[axis])
        inside = test if inside is None else inside & test
    assert inside is not None
    return _join_place(x, at, kept, axes), inside


def scatter_target(
    read: Read, index: Index, types: Types, *, axes: Axes, position: int, mode: str
) -> tuple[Index, Expr]:
    """Where a scatter stores its update's element at `index`, and whether it does. Updates are
    stored in row-major order, each as `combined` says."""
    x, _, first, *_ = types
    inner, kept = _split_place(index, first.rank, position)
    at = [read(2 + k, inner) for k in range(len(axes))]
    return _scatter_place(x, [e for e in at if isinstance(e, Expr)], kept, axes)


def combined(result: Buffer, place: Index, value: Expr, mode: str) -> Stmt:
    """The statement that puts one update element of a scatter where it belongs."""
    monoid = SCATTER_MODES[mode]
    if monoid is None:
        return Store(result, place, value)
    if not result.dtype.is_half:
        return Accumulate(result, place, value, monoid)
    # Half types: each step is done in float32 and rounded, as everywhere.
    old, wide = Load(result, place).cast(dt.f32), value.cast(dt.f32)
    (new,) = MONOIDS[monoid].combine((old,), (wide,))
    return Store(result, place, new.cast(result.dtype))


def _scatter_reference(
    x: Any, update: Any, *indices: Any, axes: Axes, position: int, mode: str
) -> Any:
    rank = indices[0].ndim
    kept = [a for a in range(x.ndim) if a not in axes]
    order = [*range(position, position + rank)]
    lines = update.transpose(*order, *(a for a in range(update.ndim) if a not in order))
    inside = np.ones(indices[0].shape, bool)
    for i, a in zip(indices, axes, strict=True):
        inside &= (i >= 0) & (i < x.shape[a])
    moved = x.transpose(*axes, *kept).copy()
    steps: dict[str, Any] = {"add": np.add, "mul": np.multiply, "min": _least, "max": _greatest}
    flat = lines.reshape(indices[0].size, *(x.shape[a] for a in kept))
    places = [tuple(int(v) for v in p) for p in zip(*(i.reshape(-1) for i in indices), strict=True)]
    with np.errstate(all="ignore"):
        for place, value, ok in zip(places, flat, inside.reshape(-1), strict=True):
            if ok:
                step = steps.get(mode)
                moved[place] = value if step is None else step(moved[place], value)
    back = np.argsort([*axes, *kept])
    return moved.transpose(*back).copy()


def _least(a: Any, b: Any) -> Any:
    return _extremum("minimum", a, b)


def _greatest(a: Any, b: Any) -> Any:
    return _extremum("maximum", a, b)


def _extremum(name: str, a: Any, b: Any) -> Any:
    """The instruction's minimum or maximum (signed zeros are ordered), in the accumulator type."""
    a, b = np.asarray(a), np.asarray(b)
    dtype = dt.of(a.dtype)
    assert dtype is not None
    wide = widened(dtype)
    pair = (a.astype(wide.numpy), b.astype(wide.numpy))
    return INSTRUCTIONS[name].evaluate(pair, wide).astype(a.dtype)


define(
    Op(
        "scatter",
        Kind.KERNEL,
        _scatter_types,
        build=_scatter_build,
        reference=_scatter_reference,
        batch=batch_by("index_batches", "scatter"),
        kinds="bool int uint float complex",
        in_place=0,
        scattered=scattered,
    )
)
