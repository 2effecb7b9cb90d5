"""The methods of arrays, each a call of the function of `pyc.numpy` of that name.

Takes what `numpy.ndarray`'s methods take, as the functions do. `sort`, `fill` and `put` change the
array in place; methods that would change its shape or need its elements are refused by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

import pyc.numpy as pnp
from pyc.errors import ConcretizationError, DTypeError, TraceError
from pyc.forks import load
from pyc.interpreter import bind1, current, type_of
from pyc.numpy import choices, keywords
from pyc.numpy.core import to_dtype
from pyc.numpy.keywords import changes_nothing, refuse
from pyc.trace import dispatch, location, updating


def _sizes(shape: tuple[Any, ...]) -> Any:
    """The one shape of `x.reshape(2, 3)` and `x.reshape((2, 3))`."""
    return shape[0] if len(shape) == 1 else shape


class ArrayMethods:
    """Methods that `Tracer` has of NumPy's arrays."""

    __slots__ = ()

    needed: Callable[[], np.ndarray[Any, Any] | None]
    _described: Callable[[], str]

    # --- reductions -------------------------------------------------------------------------------

    def sum(self, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        """`pyc.numpy.sum` of the array."""
        return pnp.sum(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def prod(self, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        """`pyc.numpy.prod` of the array."""
        return pnp.prod(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def mean(self, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        """`pyc.numpy.mean` of the array."""
        return pnp.mean(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def max(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """`pyc.numpy.max` of the array."""
        return pnp.max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """`pyc.numpy.min` of the array."""
        return pnp.min(self, axis=axis, keepdims=keepdims)

    def std(
        self, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False
    ) -> Any:
        """`pyc.numpy.std` of the array."""
        return pnp.std(self, axis=axis, dtype=dtype, correction=ddof, keepdims=keepdims)

    def var(
        self, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False
    ) -> Any:
        """`pyc.numpy.var` of the array."""
        return pnp.var(self, axis=axis, dtype=dtype, correction=ddof, keepdims=keepdims)

    def any(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """`pyc.numpy.any` of the array."""
        return pnp.any(self, axis=axis, keepdims=keepdims)

    def all(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """`pyc.numpy.all` of the array."""
        return pnp.all(self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Any:
        """`pyc.numpy.argmax` of the array."""
        return pnp.argmax(self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Any:
        """`pyc.numpy.argmin` of the array."""
        return pnp.argmin(self, axis=axis, keepdims=keepdims)

    def cumsum(self, axis: int | None = None, dtype: Any = None) -> Any:
        """`pyc.numpy.cumulative_sum` of the array, flat without an axis."""
        flat = self if axis is not None else self.ravel()
        return pnp.cumulative_sum(flat, axis=-1 if axis is None else axis, dtype=dtype)

    def cumprod(self, axis: int | None = None, dtype: Any = None) -> Any:
        """`pyc.numpy.cumulative_prod` of the array, flat without an axis."""
        flat = self if axis is not None else self.ravel()
        return pnp.cumulative_prod(flat, axis=-1 if axis is None else axis, dtype=dtype)

    # --- shape ------------------------------------------------------------------------------------

    def reshape(self, *shape: Any) -> Any:
        """The elements in row-major order in another shape."""
        return pnp.reshape(self, _sizes(shape))

    def ravel(self) -> Any:
        """The elements in row-major order along one axis."""
        return pnp.reshape(self, -1)

    def flatten(self, order: str | None = "C") -> Any:
        """A copy of the elements in row-major order along one axis."""
        return current().copy(dispatch.call_function(np.ravel, (self,), {"order": order}))

    def transpose(self, *axes: Any) -> Any:
        """The array with its axes in another order, reversed by default."""
        order = _sizes(axes) if axes else None
        order = (order,) if isinstance(order, int) else order
        if order is None:
            order = tuple(reversed(range(type_of(self).rank)))
        return pnp.permute_dims(self, order)

    def squeeze(self, axis: Any = None) -> Any:
        """The array without axes of length 1."""
        if axis is None:
            axis = tuple(k for k, n in enumerate(type_of(self).shape) if n == 1)
        return pnp.squeeze(self, axis=axis)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """The array with two axes exchanged."""
        return pnp.swapaxes(self, axis1, axis2)

    def repeat(self, repeats: Any, axis: int | None = None) -> Any:
        """`pyc.numpy.repeat` of the array."""
        return pnp.repeat(self, repeats, axis=axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """`pyc.numpy.diagonal` of the array."""
        return pnp.diagonal(self, offset=offset, axis1=axis1, axis2=axis2)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
        """The sum of a diagonal."""
        return pnp.trace(self, offset, axis1, axis2, dtype)

    # --- elements ---------------------------------------------------------------------------------

    def astype(
        self,
        dtype: Any,
        order: str = "K",
        casting: str = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        """The elements converted to `dtype`; DTypeError for a conversion that `casting` rules
        out."""
        if not changes_nothing("order", order, "astype"):
            refuse("array.astype", "astype", "order")
        casting = choices.casting("array.astype", casting)
        old, new = type_of(self).dtype, to_dtype(dtype)
        if not np.can_cast(old.numpy, new.numpy, casting):  # type: ignore[arg-type]
            raise DTypeError(f"array.astype: casting={casting!r} does not allow {old} to {new}")
        found = pnp.astype(self, dtype, copy=copy)
        return current().boxed(found) if isinstance(self, np.ndarray) else found

    def view(self, dtype: Any = None) -> Any:
        """The array again, or its bits read as numbers of another type: of a smaller one several
        along the last axis for each element, of a larger one fewer."""
        if dtype is None or dtype is np.ndarray:
            return pnp.reshape(self, type_of(self).shape)
        kind = to_dtype(dtype)
        if kind.bits == type_of(self).dtype.bits and not kind.is_complex:
            return current().alias(bind1("bitcast", self, dtype=kind), self)
        return current().alias(load("pyc.numpy.bits").reread(self, kind), self)

    def copy(self) -> Any:
        """An array of its own with the same elements."""
        return current().copy(current().lift(self))

    def take(self, indices: Any, axis: int | None = None) -> Any:
        """`pyc.numpy.take` of the array, flat without an axis."""
        if axis is None:
            return pnp.take(self.ravel(), indices, axis=0)
        return pnp.take(self, indices, axis=axis)

    def clip(self, min: Any = None, max: Any = None) -> Any:
        """`pyc.numpy.clip` of the array."""
        return pnp.clip(self, min, max)

    def round(self, decimals: int = 0) -> Any:
        """The elements rounded to `decimals`, halves to even."""
        return pnp.round(self, decimals)

    def conj(self) -> Any:
        """The complex conjugate; the array itself if it is real, as in NumPy."""
        return pnp.conj(self) if type_of(self).dtype.is_complex else self

    def conjugate(self) -> Any:
        """The complex conjugate; the array itself if it is real, as in NumPy."""
        return pnp.conj(self) if type_of(self).dtype.is_complex else self

    def dot(self, other: Any) -> Any:
        """`pyc.numpy.dot` of the array."""
        return pnp.dot(self, other)

    def argsort(self, axis: int | None = -1, *, stable: bool = True) -> Any:
        """`pyc.numpy.argsort` of the array, flat if `axis` is None; always stable."""
        if axis is None:
            return pnp.argsort(self.ravel(), axis=-1, stable=stable)
        return pnp.argsort(self, axis=axis, stable=stable)

    def argpartition(self, kth: Any, axis: int | None = -1) -> Any:
        """`pyc.numpy.argpartition` of the array."""
        return pnp.argpartition(self, kth, axis)

    def searchsorted(self, values: Any, side: str = "left") -> Any:
        """`pyc.numpy.searchsorted` of the array."""
        return pnp.searchsorted(self, values, side=side)

    def nonzero(self) -> Any:
        """The indices of the elements that are not zero; they must be known."""
        return dispatch.call_function(np.nonzero, (self,), {})

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """`pyc.numpy.choose` by the array."""
        return dispatch.call_function(np.choose, (self, choices), {"out": out, "mode": mode})

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> Any:
        """The slices along an axis, or elements, where a condition that is known holds."""
        if out is None and type(condition) in (list, tuple, np.ndarray):
            return self.take(np.flatnonzero(condition).tolist(), axis)
        return dispatch.call_function(np.compress, (condition, self), {"axis": axis, "out": out})

    # --- refused ----------------------------------------------------------------------------------

    def _refuse_in_place(self, name: str, rewrite: str) -> NoReturn:
        raise TraceError(
            lambda: (
                f"`.{name}()` would change {self._described()} in place in a way that cannot be "
                "traced"
            ),
            fix=f"Write `{rewrite}`, which makes a new array.",
            place=location.here(),
        )

    def change(self, new: Any, what: str, rewrite: str) -> None:
        """Replaces the elements in place; `Tracer` says how."""
        raise NotImplementedError

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        """Sorts the elements along an axis in place; always stable."""
        rewrite = "`x = pyc.numpy.sort(x)`"
        self.change(pnp.sort(self, axis=axis), "`.sort()`", rewrite)

    def fill(self, value: Any) -> None:
        """Every element becomes `value`, in place."""
        rewrite = "`x = pyc.numpy.full_like(x, value)`"
        self.change(updating.assigned(self, Ellipsis, value), "`.fill()`", rewrite)

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """The elements at `indices` of the flat array become `values`, in place."""
        rewrite = "`x = x.at[index].set(values)`"
        self.change(updating.with_put(self, indices, values, mode), "`.put()`", rewrite)

    def resize(self, *shape: Any, **options: Any) -> NoReturn:
        """TraceError: it works in place."""
        self._refuse_in_place("resize", "x = pyc.numpy.reshape(x, shape)")

    def partition(self, kth: Any, axis: int = -1, kind: Any = None) -> None:
        """Puts the elements along an axis in place so that those at `kth` stand where sorting puts
        them: all of them are sorted."""
        rewrite = "`x = pyc.numpy.partition(x, kth)`"
        self.change(pnp.partition(self, kth, axis), "`.partition()`", rewrite)

    def _refuse_value(self, name: str) -> NoReturn:
        raise ConcretizationError(
            lambda: (
                f"`.{name}()` needs the value of {self!r}, which is not known while the "
                "function is traced"
            ),
            fix="Keep it an array; convert the result outside the jitted function.",
            place=location.here(),
        )

    def item(self, *args: Any) -> Any:
        """An element as a Python number; ConcretizationError if it is not known yet."""
        return self._elements("item").item(*args)

    def tolist(self) -> Any:
        """The elements as Python numbers; ConcretizationError if they are not known yet."""
        return self._elements("tolist").tolist()

    def tobytes(self, order: str | None = "C") -> bytes:
        """The bytes of the elements; ConcretizationError if they are not known yet."""
        return self._elements("tobytes").tobytes(order)  # type: ignore[arg-type]

    def _elements(self, name: str) -> np.ndarray[Any, Any]:
        found = self.needed()
        if found is None:
            self._refuse_value(name)
        return found


def _completed(method: FunctionType, function: Any) -> Callable[..., Any]:
    """A method that takes all that NumPy's does, which are the parameters of NumPy's function of
    that name: beyond those that it has itself, the counterpart of the function decides."""
    code = method.__code__
    count = code.co_argcount - 1
    variable = bool(code.co_flags & inspect.CO_VARARGS)
    names = frozenset(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])

    @wraps(method)
    def full(self: Any, *args: Any, **options: Any) -> Any:
        if (variable or len(args) <= count) and options.keys() <= names:
            return method(self, *args, **options)
        if not variable and not _takes(function, len(args) + 1, options):
            return method(self, *args, **options)  # raises TypeError, as NumPy's would
        given = [_sizes(args)] if variable else args
        return dispatch.call_function(function, (self, *given), options)

    return full


def _takes(function: Any, count: int, options: Mapping[str, Any]) -> bool:
    """Whether a NumPy function has so many parameters, and those of these names."""
    theirs = keywords.parameters(function) or ()
    more = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in theirs)
    return count <= len(theirs) and (more or options.keys() <= {p.name for p in theirs})


def _complete_methods() -> None:
    for name, method in list(vars(ArrayMethods).items()):
        function = getattr(np, name, None)
        if isinstance(method, FunctionType) and function is not None and hasattr(np.ndarray, name):
            setattr(ArrayMethods, name, _completed(method, function))


_complete_methods()
