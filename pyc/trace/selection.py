"""What a mask selects: `x[mask]` of a traced mask, an array whose length depends on data.

A Graph has no such array. `Selection` keeps all elements and the mask, and does what needs no
length: element-wise functions, sums, means and extremes, elements of other arrays at the selected
places, and storing under the same mask. All else is refused, as is a result of the traced function.
What is computed for elements that are not selected is thrown away.

The array that NumPy would make has one axis for those of the mask, then the other axes of `x`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.interpreter import bind1, current, type_of
from pyc.numpy import indexing
from pyc.numpy.core import axes_of, broadcast, cast, value
from pyc.numpy.keywords import changes_nothing
from pyc.trace import dispatch, selected_reductions, updating
from pyc.trace.masks import same, stored_under, where_selected
from pyc.trace.selected_arrays import SelectedArray
from pyc.trace.selected_reductions import REDUCTIONS, floats
from pyc.trace.tracer import Tracer


def is_integer(k: Any) -> bool:
    """Whether `k` is an integer of an index, traced or not."""
    if type(k) is Tracer:
        return not k.type.shape and k.type.dtype.is_integer
    return isinstance(k, (int, np.integer)) and not isinstance(k, bool)


# --- selections -----------------------------------------------------------------------------------


class Selection(SelectedArray):
    """The elements of `values` that `mask`, of its first axes, selects."""

    __slots__ = ("mask",)

    def __init__(self, values: Any, mask: Any, made: Any = None) -> None:
        super().__init__(values, made)
        self.mask = mask

    # --- what it is -------------------------------------------------------------------------------

    @property
    def rest(self) -> tuple[int, ...]:
        """The shape behind the axis of the selection."""
        return tuple(self.values.shape[self.mask.ndim :])

    @property
    def count(self) -> Any:
        """How many are selected, a traced Python integer."""
        return pnp.sum(self.mask).weakened()

    @property
    def size(self) -> Any:
        """How many elements there are, a traced Python integer."""
        return self.count * prod(self.rest)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The lengths of the axes, the first one traced."""
        return (self.count, *self.rest)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return 1 + len(self.rest)

    def flat_parts(self) -> tuple[Any, Any]:
        """(the mask, the values) along one axis."""
        return pnp.reshape(self.mask, -1), pnp.reshape(self.values, (self.mask.size, *self.rest))

    # --- together with others ---------------------------------------------------------------------

    def aligned(self, other: Selection, use: str = "an index") -> Selection:
        """`other`, if it selects the same elements, and has as many axes behind them."""
        if not same(self.mask, other.mask):
            self.refuse(f"{use} together with the elements under another mask")
        if len(self.rest) != len(other.rest):
            self.refuse(f"{use} together with a selection of {other.ndim} axes")
        return other

    def operand(self, x: Any, use: str) -> Any:
        """`x` so that its elements meet those of `values`: a selection, or what broadcasts along
        the selection."""
        if isinstance(x, Selection):
            return self.aligned(x, use).values
        found = value(x)
        shape = type_of(found).shape
        if len(shape) > len(self.rest):
            self.refuse(f"{use} together with an array of shape {shape}")
        return found

    def scattered(self, length: int) -> Any:
        """The values as places in an axis, those not selected behind its end."""
        inside = bind1("index_check", self.filled(0), bound=length, axis=0)
        return where_selected(self.mask, inside, length)

    def filled(self, other: Any) -> Any:
        """The values with `other` where they are not selected."""
        return where_selected(self.mask, self.values, cast(other, self.values.type.dtype))

    def map(self, function: Callable[[Any], Any]) -> Selection:
        """The selection of `function` of the values."""
        return Selection(function(self.values), self.mask, self.made)

    # --- reductions -------------------------------------------------------------------------------

    def reduced(self, name: str, axis: Any = None, **options: Any) -> Any:
        """A reduction over all axes, or some; a selection again where the first is not among
        them."""
        axes = axes_of(name, axis, self.ndim)
        keepdims = options.pop("keepdims", False)
        ddof = options.pop("ddof", options.pop("correction", 0))
        dtype = options.pop("dtype", None)
        for option, given in options.items():
            if not changes_nothing(option, given):
                self.refuse(f"`{option}` of `{name}`")
        picked = self if dtype is None else self.astype(dtype)
        behind = self.mask.ndim - 1
        if 0 not in axes:
            inner = tuple(a + behind for a in axes)
            named = {"ddof": ddof} if name in ("var", "std") else {}
            one = getattr(pnp, name)
            return picked.map(lambda x: one(x, axis=inner, keepdims=keepdims, **named))
        over = (*range(self.mask.ndim), *(a + behind for a in axes if a))
        found = REDUCTIONS[name](picked, over, ddof)
        for a in axes if keepdims else ():
            found = pnp.expand_dims(found, a)
        return found

    def argmin(self) -> Any:
        """The number of the least one among those selected."""
        return selected_reductions.argextreme(self, "min")

    def argmax(self) -> Any:
        """The number of the greatest one among those selected."""
        return selected_reductions.argextreme(self, "max")

    # --- element by element -----------------------------------------------------------------------

    def astype(self, dtype: Any, copy: bool = True) -> Selection:
        """The elements of another type."""
        return self.map(lambda x: pnp.astype(x, dtype))

    def copy(self) -> Selection:
        """A selection of its own."""
        return Selection(self.own_values(), self.mask, self.made)

    def round(self, decimals: int = 0) -> Selection:
        """The elements rounded to `decimals`."""
        return self.map(lambda x: pnp.round(x, decimals))

    def clip(self, min: Any = None, max: Any = None) -> Any:
        """The elements between `min` and `max`."""
        return call_function(np.clip, (self, min, max), {})

    def dot(self, other: Any) -> Any:
        """The sum of the products with another selection under the same mask."""
        if not isinstance(other, Selection) or self.rest or other.rest:
            self.refuse("a product of matrices")
        return (self * other).sum()

    @property
    def real(self) -> Selection:
        """The real parts."""
        return self.map(pnp.real)

    @property
    def imag(self) -> Selection:
        """The imaginary parts."""
        return self.map(pnp.imag)

    def __getitem__(self, key: Any) -> Any:
        """A part of each selected element (`s[:, 0]`), those that a mask of them selects, or one
        of them (`s[0]`)."""
        parts = key if type(key) is tuple else (key,)
        if parts and is_integer(parts[0]):
            found = selected_reductions.element(self, parts[0])
            return found[parts[1:]] if parts[1:] else found
        mask, here = self._place(key)
        found = self.copy().values
        found = indexing.getitem(found, here) if here else found
        return Selection(current().copy(found), self._narrowed(mask), self.made)

    def __setitem__(self, key: Any, new: Any) -> None:
        """The elements at a mask of them, or a part of each, become `new`, in place."""
        mask, here = self._place(key)
        every = self._narrowed(mask)
        if isinstance(new, Selection) and not same(every, new.mask):
            self.refuse("an assignment of the elements under another mask")
        given = Selection(new.values, every) if isinstance(new, Selection) else new
        changed = stored_under(
            self.own_values(), current().lift(every), here[self.mask.ndim :], given
        )
        self.replace(changed)

    def _place(self, key: Any) -> tuple[Any, tuple[Any, ...]]:
        """(a mask of the selected elements or None, the index of the values) that an index of the
        selection means."""
        first, *rest = key if type(key) is tuple else (key,)
        before = (slice(None),) * self.mask.ndim
        plain = all(is_integer(k) or isinstance(k, slice) or k is None for k in rest)
        here = (*before, *rest) if rest else ()
        if plain and isinstance(first, Selection) and first.dtype == np.bool_ and not first.rest:
            if not same(self.mask, first.mask):
                self.refuse("an index by a mask of other elements")
            return first.values, here
        if plain and isinstance(first, slice) and first == slice(None):
            return None, here
        return self.refuse("an index of its first axis")

    def _narrowed(self, mask: Any) -> Any:
        return self.mask if mask is None else pnp.logical_and(self.mask, mask)


# --- functions of NumPy ---------------------------------------------------------------------------

BY_FUNCTION: dict[Any, str] = {
    **{getattr(np, name): name for name in REDUCTIONS},
    np.amin: "min",
    np.amax: "max",
}
BY_UFUNC: dict[Any, str] = {
    np.add: "sum",
    np.multiply: "prod",
    np.minimum: "min",
    np.maximum: "max",
    np.logical_and: "all",
    np.logical_or: "any",
}


def _norm(x: Selection, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord is not None or axis is not None or keepdims:
        x.refuse("`np.linalg.norm` of an order or axis")
    size = abs(floats(x))
    return pnp.sqrt((size * size).sum())


def _dot(a: Any, b: Any) -> Any:
    return a.dot(b) if isinstance(a, Selection) else b.dot(a)


def _array(x: Selection, dtype: Any = None, copy: Any = True) -> Any:
    return x.copy() if dtype is None else x.astype(dtype)


def _median(x: Selection, axis: Any = None) -> Any:
    """Of all elements; NaN of none, and if one is NaN."""
    if axis not in (None, 0) or x.rest or x.dtype.kind not in "iuf":
        x.refuse("`np.median` of rows")
    x = floats(x)
    ordered = pnp.sort(pnp.reshape(x.filled(np.inf), -1))
    count = pnp.sum(x.mask)
    low = ordered[pnp.clip((count - 1) // 2, 0, None)]
    high = ordered[pnp.clip(count // 2, 0, ordered.shape[0] - 1)]
    wrong = pnp.logical_or(count == 0, pnp.any(pnp.logical_and(x.mask, pnp.isnan(x.values))))
    return pnp.where(wrong, np.nan, pnp.where(low == high, low, (low + high) / 2))


def _average(a: Selection, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return a.mean(axis)
    return (a * weights).sum(axis) / weights.sum(axis)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.size: lambda x: x.size,
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.copy: lambda x: x.copy(),
    np.array: _array,
    np.asarray: lambda x, dtype=None: x if dtype is None else x.astype(dtype),
    np.dot: _dot,
    np.average: _average,
    np.median: _median,
    np.argmin: lambda x: x.argmin(),
    np.argmax: lambda x: x.argmax(),
    np.linalg.norm: _norm,
}
ELEMENTWISE: dict[Any, tuple[int, ...] | None] = {
    **dict.fromkeys(
        (
            *(np.where, np.clip, np.round, np.around, np.nan_to_num, np.isclose, np.real, np.imag),
            *(np.angle, np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.sinc, np.fix),
            *(np.isneginf, np.isposinf),
        )
    ),
    np.interp: (0,),
    np.polyval: (1,),
    np.searchsorted: (1,),
    np.digitize: (0,),
    np.isin: (0,),
}
"""Functions of each element, with the places of the arguments that are looked at element by element
(None: all)."""


def call_function(function: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """The result of a NumPy function of selections; ConcretizationError for what needs a length."""
    found = [x for x in (*args, *kwargs.values()) if isinstance(x, Selection)]
    name = f"`{dispatch.name_of(function)}`"
    if not found:
        first_of(args, kwargs).refuse(name)
    reduction = BY_FUNCTION.get(function)
    if reduction is not None and isinstance(args[0], Selection):
        return args[0].reduced(reduction, *args[1:], **kwargs)
    if function in _FUNCTIONS:
        return _FUNCTIONS[function](*args, **kwargs)
    if function not in ELEMENTWISE or any(isinstance(x, Selection) for x in kwargs.values()):
        found[0].refuse(name)
    places = ELEMENTWISE[function]
    given = [
        found[0].operand(x, name) if places is None or k in places else _whole(x, name)
        for k, x in enumerate(args)
    ]
    values = dispatch.call_function(function, given, kwargs)
    return Selection(_of_shape(values, found[0]), found[0].mask, found[0].made)


def _whole(x: Any, name: str) -> Any:
    if isinstance(x, Selection):
        x.refuse(name)
    return x


def _of_shape(values: Any, like: Selection) -> Any:
    """Values that may have fewer axes than the mask, as where a scalar was chosen."""
    shape = type_of(values).shape
    if shape[: like.mask.ndim] == like.mask.shape:
        return values
    return current().copy(broadcast(values, like.mask.shape + like.rest))


def call_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], options: Any) -> Any:
    """The result of a method of a ufunc on selections."""
    first = first_of(inputs, options)
    name = f"`np.{ufunc.__name__}`"
    if method == "reduce" and ufunc in BY_UFUNC and len(inputs) == 1:
        axis = {"axis": 0} | {k: v for k, v in options.items() if k != "out"}
        return first.reduced(BY_UFUNC[ufunc], **axis)
    if method != "__call__" or ufunc.signature is not None:
        if ufunc is np.matmul and method == "__call__":
            return _dot(*inputs)
        first.refuse(name)
    out = next((o for o in options.get("out", ()) if o is not None), None)
    rest = {k: v for k, v in options.items() if k != "out"}
    given = [first.operand(x, name) for x in inputs]
    values = dispatch.call_ufunc(ufunc, "__call__", given, rest)
    if isinstance(values, tuple):
        return tuple(Selection(v, first.mask, first.made) for v in values)
    found = Selection(_of_shape(values, first), first.mask, first.made)
    if out is None:
        return found
    if not isinstance(out, Selection):
        found.refuse(f"{name} with `out=`")
    out.replace(updating.fitted(name, first.aligned(out, name).values, found.values))
    return out


def first_of(args: Any, kwargs: Any) -> Selection:
    """A selection in arguments, in lists of them too."""
    todo = [*args, *kwargs.values()]
    while todo:
        x = todo.pop(0)
        if isinstance(x, Selection):
            return x
        if isinstance(x, (list, tuple)):
            todo += x
    raise AssertionError("no selection among the arguments")
