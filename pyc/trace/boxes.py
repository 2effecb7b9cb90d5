"""Parts of arrays between traced bounds, along any axes: `x[k + 1 :, k + 1 :]`, `x[:, i:]`.

Some axes of such a part have a length that only the program knows. A `Box` keeps whole axes and the
run of each such axis. It is a view, as a slice is in NumPy. Beside each other two boxes meet along
axes whose runs are the same, or say that they are as long; what is computed beside the runs is
thrown away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.errors import ShapeError
from pyc.interpreter import current, type_of
from pyc.numpy import indexing
from pyc.numpy.core import axes_of, broadcast, cast, value
from pyc.numpy.keywords import changes_nothing
from pyc.trace import dispatch, location, runs, updating
from pyc.trace.runs import Run
from pyc.trace.selected_arrays import SelectedArray
from pyc.trace.selected_reductions import REDUCTIONS
from pyc.trace.selection import Selection, is_integer
from pyc.trace.spans import axes_of_entries, is_traced
from pyc.trace.tracer import Tracer

Runs = dict[int, Run]


class Box(SelectedArray):
    """The elements of `values` within the runs of some of its axes."""

    __slots__ = ("runs",)

    def __init__(self, values: Any, of: Runs, made: Any = None) -> None:
        super().__init__(values, made)
        self.runs = of

    # --- what it is -------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[Any, ...]:
        """The lengths of the axes, those of the runs traced Python integers."""
        lengths = enumerate(self.values.shape)
        return tuple(self._count(k) if k in self.runs else n for k, n in lengths)

    def _count(self, axis: int) -> Any:
        return current().lift(pnp.asarray(self.runs[axis].count)).weakened()

    @property
    def size(self) -> Any:
        """How many elements there are, a traced Python integer."""
        return prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.values.shape)

    def mask_of(self, axes: Sequence[int]) -> Any:
        """The mask of the elements within the runs of some axes, along these."""
        parts = []
        for n, axis in enumerate(axes):
            behind = (1,) * (len(axes) - n - 1)
            parts.append(pnp.reshape(self.runs[axis].mask, (-1, *behind)))
        return reduce(pnp.logical_and, parts)

    def mask(self) -> Any:
        """The mask of the elements, with axes of length 1 where there are no runs."""
        return _mask(self.runs, self.ndim)

    def filled(self, other: Any) -> Any:
        """The values with `other` beside the runs."""
        return pnp.where(self.mask(), self.values, cast(other, self.values.type.dtype))

    def map(self, function: Callable[[Any], Any]) -> Any:
        """The box of `function` of the values, element by element."""
        return box(function(self.values), self.runs, self.made)

    def under_mask(self, use: str) -> Selection:
        """It as what the mask of its first axis selects."""
        if set(self.runs) != {0}:
            self.refuse(use)
        return Selection(self.values, self.runs[0].mask, self.made)

    def flat_parts(self) -> tuple[Any, Any]:
        """(the mask, the values) along one axis."""
        return self.under_mask("a loop").flat_parts()

    # --- reductions -------------------------------------------------------------------------------

    def reduced(self, name: str, axis: Any = None, **options: Any) -> Any:
        """A reduction over all axes, or some."""
        axes = axes_of(name, axis, self.ndim)
        keepdims = options.pop("keepdims", False)
        ddof = options.pop("ddof", options.pop("correction", 0))
        dtype = options.pop("dtype", None)
        for option, given in options.items():
            if not changes_nothing(option, given):
                self.refuse(f"`{option}` of `{name}`")
        picked = self if dtype is None else self.astype(dtype)
        first = [a for a in axes if a in self.runs]
        if first:
            others = [a for a in range(self.ndim) if a not in first]
            masked = picked._in_front(first, others)
            over = (
                *range(len(first)),
                *(len(first) + others.index(a) for a in axes if a in others),
            )
            found = REDUCTIONS[name](masked, over, ddof)
        else:
            named = {"ddof": ddof} if name in ("var", "std") else {}
            found = getattr(pnp, name)(picked.values, axis=tuple(axes), **named)
        left = [a for a in range(self.ndim) if a not in axes]
        if keepdims:
            for a in sorted(axes):
                found = pnp.expand_dims(found, a)
            left = list(range(self.ndim))
        kept = {left.index(a): run for a, run in self.runs.items() if a not in axes}
        return box(found, kept, self.made)

    def _in_front(self, first: Sequence[int], others: Sequence[int]) -> Selection:
        """It as what a mask of some of its axes selects, these in front."""
        values = pnp.permute_dims(self.values, (*first, *others))
        return Selection(values, self.mask_of(first), self.made)

    def argmin(self, axis: Any = None) -> Any:
        """The number of the least element."""
        return self._whole("argmin", axis).argmin()

    def argmax(self, axis: Any = None) -> Any:
        """The number of the greatest element."""
        return self._whole("argmax", axis).argmax()

    def _whole(self, name: str, axis: Any) -> Selection:
        if axis not in (None, 0) or self.ndim != 1:
            self.refuse(f"`{name}` of rows")
        return self.under_mask(f"`{name}`")

    # --- other forms ------------------------------------------------------------------------------

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """The elements of another type."""
        return self.map(lambda x: pnp.astype(x, dtype))

    def copy(self) -> Any:
        """A box of its own."""
        return Box(self.own_values(), self.runs, self.made)

    def round(self, decimals: int = 0) -> Any:
        """The elements rounded to `decimals`."""
        return self.map(lambda x: pnp.round(x, decimals))

    def clip(self, min: Any = None, max: Any = None) -> Any:
        """The elements between `min` and `max`."""
        return dispatch.call_function(np.clip, (self, min, max), {})

    def dot(self, other: Any) -> Any:
        """The product of matrices."""
        return contracted(self, other)

    @property
    def real(self) -> Any:
        """The real parts."""
        return self.map(pnp.real)

    @property
    def imag(self) -> Any:
        """The imaginary parts."""
        return self.map(pnp.imag)

    def transpose(self, *axes: Any) -> Any:
        """A view with its axes in another order."""
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = tuple(a % self.ndim for a in given or ()) or tuple(reversed(range(self.ndim)))
        values = pnp.permute_dims(self.values, order)
        return Box(values, {order.index(a): r for a, r in self.runs.items()}, self.made)

    @property
    def T(self) -> Any:  # noqa: N802
        """A view with its axes in reverse order."""
        return self.transpose()

    def flipped(self, axis: Any) -> Any:
        """The elements in reverse along some axes."""
        values = self.values
        for a in axes_of("flip", axis, self.ndim):
            run = self.runs.get(a)
            values = pnp.flip(values, a) if run is None else runs.reversed_within(values, run, a)
        return Box(values, self.runs, self.made)

    # --- parts ------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """A part of it, a view; a copy of what a mask selects, or of elements in reverse."""
        if type(key) is slice and key == slice(None, None, -1):
            return self.flipped(0)
        if isinstance(key, Box):
            if set(key.runs) != {0} or not runs.same(key.runs[0], self._first_run()):
                self.refuse("an index by a mask of other elements")
            return self.under_mask("an index")[key.under_mask("an index")]
        return self._part(key)

    def _first_run(self) -> Run:
        if set(self.runs) != {0}:
            self.refuse("an index by a mask")
        return self.runs[0]

    def __setitem__(self, key: Any, new: Any) -> None:
        """The elements at `key` become `new`, in place."""
        if not isinstance(key, Box):
            part = self._part(key)
            if isinstance(part, Box):
                part.assign(new)
            else:
                part[...] = new
            return
        mask = self[key].mask
        if isinstance(new, SelectedArray):
            self.refuse("an assignment of elements under a mask")
        wide = pnp.reshape(mask, (-1,) + (1,) * (self.ndim - 1))
        values = cast(value(new), self.values.type.dtype)
        self.replace(pnp.where(wide, values, self.values))

    def _part(self, key: Any) -> Any:
        """What an index of integers and slices takes, a view."""
        entries = key if type(key) is tuple else (key,)
        axes = axes_of_entries(entries, self.ndim)
        plain = all(
            k is None or k is Ellipsis or isinstance(k, slice) or is_integer(k) for k in entries
        )
        if axes is None or not plain:
            self.refuse("an index of this form")
        rest: list[Any] = list(entries)
        inner: dict[int, Run] = {}
        for n, k in enumerate(entries):
            run = self.runs.get(axes[n]) if k is not None and k is not Ellipsis else None
            if run is not None and is_integer(k):
                rest[n] = runs.place(k, run)
            elif run is not None:
                if k.step not in (None, 1):
                    self.refuse("an index with a step")
                rest[n] = slice(None)
                inner[axes[n]] = run if k == slice(None) else runs.within(run, k)
        taken = [a for a, k in zip(axes, entries, strict=True) if k is not None and is_integer(k)]
        inner = {a: r for a, r in (self.runs | inner).items() if a not in taken}
        return _view(self.values, tuple(rest), axes, inner, self.made)

    # --- changes ----------------------------------------------------------------------------------

    def assign(self, new: Any) -> None:
        """Its elements become `new`, in place.

        raises ConcretizationError: a length that does not say that it fits; ShapeError: one that
        surely does not. The program raises NumPy's error if the lengths differ.
        """
        if isinstance(new, Selection):
            new.refuse("an assignment to a slice")
        if isinstance(new, Box) and self._is(new):
            return  # `a[key] += v` has changed the view `a[key]`, and now assigns it to itself
        values = new.values if isinstance(new, Box) else value(new)
        given: Runs = new.runs if isinstance(new, Box) else {}
        extra = len(type_of(values).shape) - self.ndim
        while extra > 0 and type_of(values).shape[0] == 1 and 0 not in given:
            values = pnp.reshape(values, type_of(values).shape[1:])
            given = {a - 1: run for a, run in given.items()}
            extra -= 1
        if extra > 0:
            self.refuse("an assignment of more axes")
        for axis in range(-1, -len(type_of(values).shape) - 1, -1):
            here, own = axis + self.ndim, axis + len(type_of(values).shape)
            values = self._fitted(values, own, given.get(own), here)
        target = self.values.shape
        if not updating.fits(type_of(values).shape, target):
            raise ShapeError(
                f"an assignment of values of shape {type_of(values).shape} to a part of an array "
                f"of shape {target}",
                place=location.here(),
            )
        values = cast(values, self.values.type.dtype)
        self.replace(pnp.where(self.mask(), values, self.values))

    def _is(self, other: Box) -> bool:
        """Whether another one is the same part of the same array."""
        lift = current().lift
        return (
            self.runs.keys() == other.runs.keys()
            and all(runs.same(run, other.runs[a]) for a, run in self.runs.items())
            and lift(self.values).is_same_part(lift(other.values))
        )

    def _fitted(self, values: Any, own: int, run: Run | None, here: int) -> Any:
        """Values for an axis of it, moved to where its elements are. run: that of the values."""
        target, length = self.runs.get(here), type_of(values).shape[own]
        if target is None:
            if run is None:
                return values
            if not runs.says(run, self.values.shape[here]):
                self.refuse("an assignment of a slice")
            return runs.of_length(values, run, self.values.shape[here], own)
        if run is None:
            return values if length == 1 else runs.spread(values, target, own)
        if runs.same(run, target):
            return values
        if not runs.same_length(run, target):
            self.refuse("an assignment of a slice of another length")
        return runs.moved(values, run, target, own)


def box(values: Any, of: Runs, made: Any = None) -> Any:
    """The elements of new values within runs: an array if there are none."""
    return Box(values, of, made) if of else values


def _mask(of: Runs, rank: int) -> Any:
    masks = [pnp.reshape(r.mask, (-1,) + (1,) * (rank - a - 1)) for a, r in sorted(of.items())]
    return reduce(pnp.logical_and, masks)


# --- slices of arrays -----------------------------------------------------------------------------


def taken(array: Tracer, key: Any) -> Box:
    """`array[key]`, a view, of an index with traced slices.

    raises ConcretizationError: it holds arrays or masks too, or steps below zero
    """
    entries = key if type(key) is tuple else (key,)
    axes = axes_of_entries(entries, array.ndim)
    found: Runs = {}
    rest: list[Any] = list(entries)
    whole = Box(array, {})
    plain = all(
        k is None or k is Ellipsis or isinstance(k, slice) or is_integer(k) for k in entries
    )
    if axes is None or not plain:
        whole.refuse("an index of this form")
    for n, k in enumerate(entries):
        if is_traced(k):
            # A mask of a whole axis is dear for the few elements that large steps would take.
            if k.step is not None and (type(k.step) is Tracer or k.step < 1):
                whole.refuse("a slice with a step that is traced, or below zero,")
            found[axes[n]] = runs.run_of_slice(k, array.shape[axes[n]])
            rest[n] = slice(None)
    part: Box = _view(array, tuple(rest), axes, found, None)
    return part


def _view(array: Tracer, key: tuple[Any, ...], axes: Sequence[int], of: Runs, made: Any) -> Any:
    """A part of an array that is whole along the axes with runs."""
    values = indexing.getitem(array, key)
    moved: Runs = {}
    place = 0
    covered = 0
    for k, axis in zip(key, axes, strict=True):
        if k is None:
            place += 1
        elif k is Ellipsis:
            count = array.ndim - sum(e is not None and e is not Ellipsis for e in key)
            moved |= {place + a - axis: of[a] for a in range(axis, axis + count) if a in of}
            place, covered = place + count, axis + count
        else:
            if axis in of:
                moved[place] = of[axis]
            place, covered = place + (not is_integer(k)), axis + 1
    moved |= {place + a - covered: of[a] for a in range(covered, array.ndim) if a in of}
    if not moved:
        return values
    return Box(values, moved, made)


# --- functions ------------------------------------------------------------------------------------


def aligned(inputs: Sequence[Any], use: str) -> tuple[list[Any], Runs]:
    """Arrays whose elements meet, and the runs of what is computed from them; the axes of the first
    box stay where they are."""
    first: Box = next(x for x in inputs if isinstance(x, Box))
    given = [x.values if isinstance(x, Box) else value(x) for x in inputs]
    own = [{a - x.ndim: r for a, r in x.runs.items()} if isinstance(x, Box) else {} for x in inputs]
    shapes = [type_of(x).shape for x in given]
    wanted: dict[int, Run] = {}
    for of in own:
        wanted = of | wanted
    for axis, target in list(wanted.items()):
        others = {
            shape[axis]
            for shape, of in zip(shapes, own, strict=True)
            if axis not in of and len(shape) >= -axis and shape[axis] != 1
        }
        if others:
            del wanted[axis]
        for n, of in enumerate(own):
            run = of.get(axis)
            if run is None or (not others and runs.same(run, target)):
                continue
            place = axis + len(shapes[n])
            if others:
                length = min(others)
                if len(others) > 1 or not runs.says(run, length):
                    first.refuse(f"{use} together with an array of length {length}")
                given[n] = runs.of_length(given[n], run, length, place)
                continue
            if not runs.same_length(run, target):
                first.refuse(f"{use} together with a slice of another length")
            given[n] = runs.moved(given[n], run, target, place)
    rank = max(map(len, shapes))
    return given, {axis + rank: run for axis, run in wanted.items()}


def elementwise(function: Callable[[list[Any]], Any], inputs: Sequence[Any], use: str) -> Any:
    """A function of the elements of arrays, boxes among them."""
    first: Box = next(x for x in inputs if isinstance(x, Box))
    given, of = aligned(inputs, use)
    found = function(given)
    shape = np.broadcast_shapes(*(type_of(x).shape for x in given))
    if isinstance(found, tuple):
        return tuple(box(_of_shape(x, shape), of, first.made) for x in found)
    return box(_of_shape(found, shape), of, first.made)


def _of_shape(values: Any, shape: tuple[int, ...]) -> Any:
    """Values that may have fewer axes, as where a scalar was chosen."""
    return values if type_of(values).shape == shape else current().copy(broadcast(values, shape))


def contracted(a: Any, b: Any) -> Any:
    """The product of two matrices or vectors, boxes among them."""
    first: Box = a if isinstance(a, Box) else b
    if isinstance(a, Selection) or isinstance(b, Selection):
        first.refuse("a product of these")
    left, right = (x if isinstance(x, Box) else Box(current().lift(value(x)), {}) for x in (a, b))
    if not (1 <= left.ndim <= 2 and 1 <= right.ndim <= 2):
        first.refuse("a product of these")
    axis = left.ndim - 1
    found = _summed(left.values, left.runs.get(axis), right.values, right.runs.get(0), first)
    rest = {0: left.runs[0]} if left.ndim == 2 and 0 in left.runs else {}
    if right.ndim == 2 and 1 in right.runs:
        rest[axis] = right.runs[1]
    return box(found, rest, first.made)


def _summed(m: Any, one: Run | None, n: Any, two: Run | None, first: Box) -> Any:
    """The product along the last axis of `m` and the first one of `n`, which may have runs."""
    axis = m.ndim - 1
    if one is not None and two is not None:
        if not runs.same(one, two):
            if not runs.same_length(one, two):
                first.refuse("a product together with a slice of another length")
            n = runs.moved(n, two, one, 0)
        return _masked_product(m, n, one.mask)
    if one is not None:
        m = runs.of_length(m, _saying(one, n.shape[0], first), n.shape[0], axis)
    if two is not None:
        n = runs.of_length(n, _saying(two, m.shape[axis], first), m.shape[axis], 0)
    return pnp.matmul(m, n)


def _saying(run: Run, length: int, first: Box) -> Run:
    if not runs.says(run, length):
        first.refuse(f"a product together with an array of length {length}")
    return run


def _masked_product(m: Any, n: Any, mask: Any) -> Any:
    """`m @ n` of the elements under a mask of the axis of the sum; what is beside it may be NaN."""
    kind = pnp.result_type(m.dtype, n.dtype)
    wide = np.dtype(kind).kind in "fc" and np.dtype(kind).itemsize >= 4
    if wide and n.ndim == 1:
        return pnp.sum(pnp.where(mask, m * n, 0), axis=-1)
    column = pnp.reshape(mask, (-1,) + (1,) * (n.ndim - 1))
    left = pnp.where(mask, m, cast(0, m.type.dtype))
    return pnp.matmul(left, pnp.where(column, n, cast(0, n.type.dtype)))


def _lengthened(x: Any, more: int) -> Any:
    """`x` with so many axes of length 1 behind its own."""
    if isinstance(x, Box):
        return Box(_lengthened(x.values, more), x.runs, x.made)
    found = current().lift(value(x))
    return pnp.reshape(found, (*found.shape, *(1,) * more))


def outer(ufunc: np.ufunc, a: Any, b: Any) -> Any:
    """`ufunc.outer(a, b)`."""
    rank = b.ndim if isinstance(b, Box) else len(type_of(value(b)).shape)
    pair = [_lengthened(a, rank), b]
    return elementwise(lambda x: dispatch.call_ufunc(ufunc, "__call__", x, {}), pair, "an outer")


def _outer(a: Any, b: Any) -> Any:
    for x in (a, b):
        if isinstance(x, Box) and x.ndim != 1:
            x.refuse("`np.outer` of rows")
    lines = [x if isinstance(x, Box) else pnp.ravel(pnp.asarray(x)) for x in (a, b)]
    return outer(np.multiply, *lines)


def _array(x: Box, dtype: Any = None, copy: Any = True) -> Any:
    return x.copy() if dtype is None else x.astype(dtype)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.size: lambda x: x.size,
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.copy: lambda x: x.copy(),
    np.array: _array,
    np.asarray: lambda x, dtype=None: x if dtype is None else x.astype(dtype),
    np.flip: lambda x, axis=None: x.flipped(axis),
    np.transpose: lambda x, axes=None: x.transpose() if axes is None else x.transpose(tuple(axes)),
    np.dot: contracted,
    np.outer: _outer,
}
"""Functions of boxes that are not element by element."""

__all__ = ["FUNCTIONS", "Box", "box", "contracted", "elementwise", "outer", "taken"]
