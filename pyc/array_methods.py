"""What `Array` has of NumPy's arrays: operators, methods, indexing, and NumPy's two protocols.

Each is a call of the function of `pyc.numpy` that it is for traced values too, and runs as one
program on the device of the array (`pyc/eager_calls.py`). An `Array` is immutable: what would
change one in place is refused with what to write. The class is `pyc/array.py`'s, below the tracer;
this module gives it the rest.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

import pyc.numpy as pnp
from pyc.array import Array, known_type, moved, of_host
from pyc.device import device_named, devices
from pyc.errors import DeviceError, IndexOutOfRangeError, PycError, UnsupportedOpError
from pyc.ir.types import ArrayType
from pyc.numpy import indexing, on_device
from pyc.numpy.elementwise import exponent
from pyc.reasons import Reason, record
from pyc.trace import dispatch, location
from pyc.trace.methods import ArrayMethods
from pyc.trace.parts import At, AtIndex, Flat

_KNOWN = (Array, np.ndarray, np.generic, bool, int, float, complex, list, tuple)
"""Operands that do not know more about arrays on a device than these do."""


_OFTEN = (Array, float)
"""Operands that ufuncs need not look at."""


def _binary(name: str, reflected: bool = False) -> Callable[[Array, Any], Any]:
    function = getattr(pnp, name)

    def operator(self: Array, other: Any) -> Any:
        if not issubclass(type(other), _KNOWN):  # a traced value has the class of an array
            return NotImplemented
        return function(other, self) if reflected else function(self, other)

    operator.__doc__ = f"`pyc.numpy.{name}` of the array and another operand."
    return operator


def _power(self: Array, other: Any) -> Any:
    """`pyc.numpy.pow` of the array and another operand."""
    return _raised(self, exponent(self, other))


_raised = _binary("pow")


def _equality(name: str) -> Callable[[Array, Any], Any]:
    """The method of `==` or `!=`: no element is equal to what is neither an array nor a number."""
    compared = _binary(name)

    def operator(self: Array, other: Any) -> Any:
        found = compared(self, other)
        if found is NotImplemented and (other is None or isinstance(other, (str, bytes))):
            return moved(np.full(self.shape, name == "not_equal"), device_named(self.device))
        return found

    operator.__doc__ = compared.__doc__
    return operator


def _unary(name: str) -> Callable[[Array], Any]:
    function = getattr(pnp, name)

    def operator(self: Array) -> Any:
        return function(self)

    operator.__doc__ = f"`pyc.numpy.{name}` of the array."
    return operator


_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "divmod": "divmod",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
_COMPARISONS = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
_UNARY = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}


# --- what would change the array ------------------------------------------------------------------


def _immutable(what: str, rewrite: str) -> NoReturn:
    raise UnsupportedOpError(
        f"{what} would change a `pyc.Array` in place, and these are immutable",
        fix=f"Write `{rewrite}`, which makes a new array.",
        place=location.here(),
    )


def _change(self: Array, new: Any, what: str, rewrite: str) -> NoReturn:
    if "out=" in what:
        rewrite = "y = np.add(x, 1)"
    _immutable(what, rewrite.strip("`").split("`, `")[0])


def _refuse_in_place(self: Array, name: str, rewrite: str) -> NoReturn:
    _immutable(f"`.{name}()`", rewrite)


def _setitem(self: Array, key: Any, value: Any) -> None:
    """UnsupportedOpError: arrays are immutable."""
    _immutable("`x[index] = value`", "x = x.at[index].set(value)")


# --- methods that only traced values have otherwise -----------------------------------------------


def _elements(self: Array, name: str) -> np.ndarray[Any, Any]:
    return np.asarray(self)


def _described(self: Array) -> str:
    return f"{self.type} on {self.device}"


def _needed(self: Array) -> np.ndarray[Any, Any]:
    """The elements on the host, where a shape depends on them; for a recorded reason."""
    record(Reason.DEVICE_VALUES_NEEDED, device=self.device, nbytes=self.nbytes)
    return self.host_view()


def _to_device(self: Array, device: Any, /, *, stream: Any = None) -> Array:
    """The array on another device, copied through the host; itself if it is there. stream: None or
    0, as each device has one.

    raises DeviceError: there is no such device
    """
    if stream not in (None, 0):
        raise DeviceError("`to_device` takes no stream: each device of pyc has one of its own")
    return moved(self, device_named(device))


def _namespace(self: Array, *, api_version: str | None = None) -> Any:
    """pyc.numpy, which follows the array API standard."""
    return pnp


# --- indexing -------------------------------------------------------------------------------------


def _is_mask(k: Any) -> bool:
    return isinstance(k, (Array, np.ndarray)) and k.dtype == np.bool_ and k.ndim > 0


def _entry(k: Any) -> Any:
    """An entry of an index; a list, but for those that hold arrays, as an array, and a boolean of
    rank 0, copied to the host, as Python's."""
    if isinstance(k, list) and not on_device.holds_array(k):
        return np.asarray(k, None if k else np.int64)
    if type(k) is Array and k.dtype == np.bool_ and not k.ndim:
        return bool(_needed(k))
    return k


def _with_flag_axes(x: Array, key: Any) -> tuple[Array, Any]:
    """An array with an axis more for each boolean of rank 0 in an index, and the index there."""
    items = tuple(map(_entry, key)) if isinstance(key, tuple) else _entry(key)
    wide: tuple[Array, Any] = indexing.with_flag_axes(x, items)
    return wide


def _with_places(x: Array, key: Any) -> tuple[Any, ...]:
    """The entries of an index, with the places that a mask selects in its stead: how many these are
    must be known, so a mask on a device is copied to the host, for a recorded reason.

    raises IndexOutOfRangeError: a mask that does not fit the axes that it is for
    """
    items = [_entry(k) for k in (key if isinstance(key, tuple) else (key,))]
    axes = [k.ndim if _is_mask(k) else int(k is not None and k is not Ellipsis) for k in items]
    found: list[Any] = []
    axis = 0
    for k, taken in zip(items, axes, strict=True):
        if _is_mask(k):
            if k.shape != x.shape[axis : axis + taken]:
                raise IndexOutOfRangeError(
                    f"a mask of shape {k.shape} does not fit {x.type} at axis {axis}",
                    place=location.here(),
                )
            found += np.nonzero(_needed(k) if type(k) is Array else k)
        else:
            found.append(k)
        axis += x.ndim - sum(axes) if k is Ellipsis else taken
    return tuple(found)


_NUMBER = "number"
"""Stands for an integer in the form of an index."""


def _taken(x: Any, numbers: tuple[Any, ...], form: tuple[Any, ...]) -> Any:
    """`x` at an index of a form, with `numbers` in place of its integers; they are in range."""
    rest = iter(numbers)
    return indexing.gather(x, tuple(next(rest) if k is _NUMBER else k for k in form), mode="clip")


_PLACES = (int, slice, type(None), type(Ellipsis))
"""Entries of an index that say where elements are, whatever the elements of arrays are."""


def _seen(self: Array, key: Any) -> Array | None:
    """The elements of an array on the CPU at integers, slices, `...` and None, in its own memory
    where they lie side by side; None for other keys, and for what is refused."""
    for k in key if type(key) is tuple else (key,):
        if type(k) not in _PLACES:
            return None
    try:
        found = self.memory()[key]
    except IndexError:  # it is said with the user's line below
        return None
    if type(found) is not np.ndarray:
        return of_host(np.array(found))
    return of_host(found if found.flags.c_contiguous else found.copy())


def _copied(self: Array, key: Any) -> Array | None:
    """A copy of the elements of an array on a GPU at integers, then a slice of neighbours: they lie
    side by side. None for other keys, for what is refused, and if there is no memory."""
    items = key if type(key) is tuple else (key,)
    shape, first = self.shape, 0
    if len(items) > len(shape):
        return None
    size = self.type.size
    for axis, k in enumerate(items):
        n = shape[axis]
        if type(k) is int and -n <= k < n:
            size //= n
            first += k % n * size
        elif type(k) is slice and axis == len(items) - 1:
            start, stop, step = k.indices(n)
            if step != 1 or stop <= start:
                return None
            first += start * (size // n)
            size = size // n * (stop - start)
            shape = (*shape[:axis], stop - start, *shape[axis + 1 :])
            items = items[:-1]
        else:
            return None
    kind, device = known_type(ArrayType(shape[len(items) :], self.type.dtype)), self._device
    source = self.address + first * self.type.dtype.itemsize
    device.enter()
    try:
        made = Array(kind, device, device.allocate(kind.nbytes))
    except MemoryError:  # the program says what needed how much
        return None
    device.copy(made.address, source, kind.nbytes)
    return made


def _getitem(self: Array, key: Any) -> Any:
    """The elements at `key`, as NumPy indexes: integers, slices, `...`, None, arrays of integers,
    and masks, whose elements are copied to the host."""
    if on_device.is_alone():
        seen = _seen(self, key) if self.device == "cpu" else _copied(self, key)
        if seen is not None:
            return seen
    self, key = _with_flag_axes(self, key)
    items = _with_places(self, key)
    if not all(map(indexing.is_plain, items)):
        return on_device.run(indexing.getitem, (self, items), {})
    try:
        indexing.check(self, items)
    except PycError as error:
        raise error.at(location.here()) from None
    # Integers are arguments of the program: it is the same for all of them.
    axis = 0
    form: list[Any] = []
    numbers: list[np.int64] = []
    for k in items:
        if k is None or k is Ellipsis or isinstance(k, slice):
            form.append(k)
        else:
            form.append(_NUMBER)
            numbers.append(np.int64(k % self.shape[axis]))
        if k is Ellipsis:
            axis += self.ndim - sum(e is not None and e is not Ellipsis for e in items)
        else:
            axis += k is not None
    return on_device.run(_taken, (self, tuple(numbers), tuple(form)), {})


def _iter(self: Array) -> Iterator[Any]:
    """The slices along the first axis; TypeError for rank 0."""
    if not self.ndim:
        raise TypeError("iteration over an array of rank 0")
    return (self[k] for k in range(self.shape[0]))


def _contains(self: Array, item: Any) -> bool:
    """Whether an element equals `item`."""
    return bool((self == item).any())


class _At(At):
    """`x.at` of an `Array`."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> AtIndex:
        return _AtIndex(self._array, key)


class _AtIndex(AtIndex):
    """`x.at[key]` of an `Array`: each method is one program, but `apply` runs op by op."""

    __slots__ = ()

    def get(
        self, *, mode: str = "raise", fill_value: Any = None, unique_indices: bool = False
    ) -> Any:
        """The elements at the index."""
        options = {"mode": mode, "fill_value": fill_value}
        x, key = _with_flag_axes(self._array, self._key)
        return on_device.run(indexing.gather, (x, _with_places(x, key)), options)

    def _update(self, how: str, values: Any, mode: str, unique_indices: bool) -> Any:
        options: dict[str, Any] = {"how": how, "mode": mode, "unique_indices": unique_indices}
        x, key = _with_flag_axes(self._array, self._key)
        if not (_is_mask(key) and (how == "apply" or np.ndim(values) == 0)):
            key = _with_places(x, key)
        if how != "apply":
            found = on_device.run(indexing.update, (x, key, values), options)
        else:
            with on_device.op_by_op():
                found = indexing.update(x, key, values, **options)
        return found if x is self._array else found.reshape(self._array.shape)


# --- NumPy's protocols ----------------------------------------------------------------------------


def _is_strange(types: Any) -> bool:
    """Whether another class knows more about operators and functions than an `Array` does."""
    return any(not issubclass(t, _KNOWN) and hasattr(t, "__array_ufunc__") for t in types)


def _array_ufunc(self: Array, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """NumPy's ufunc on arrays, by the function of pyc.numpy of the same name."""
    if method == "__call__" and not options and on_device.is_alone():
        function = pnp.FROM_NUMPY.get(ufunc)
        if function is not None and all(type(x) in _OFTEN for x in inputs):
            return on_device.run(function, inputs, {})
    if _is_strange(map(type, inputs)):
        return NotImplemented
    return dispatch.call_ufunc(ufunc, method, dispatch.with_scalars(inputs), options)


def _array_function(self: Array, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's function on arrays, by the function of pyc.numpy of the same name."""
    if _is_strange(types):
        return NotImplemented
    return dispatch.call_function(function, args, kwargs)


# --- numbers and text -----------------------------------------------------------------------------


def _str(self: Array) -> str:
    return repr(self) if self.is_deleted() else str(np.asarray(self))


def _format(self: Array, spec: str) -> str:
    return format(str(self) if self.ndim else self.item(), spec)


def _round(self: Array, digits: int | None = None) -> Any:
    """The elements rounded to `digits` decimals; an int for rank 0 without `digits`, as Python."""
    if digits is None and not self.ndim:
        return round(self.item())
    return pnp.round(self, digits or 0)


# --- pickling -------------------------------------------------------------------------------------


def _pickled(x: Array) -> tuple[Any, ...]:
    return _unpickled, (np.array(x), x.device)


def _unpickled(elements: np.ndarray[Any, Any], device: str) -> Array:
    """The array on the device of that name; on the CPU, for a recorded reason, if there is none."""
    if device not in map(str, devices(device.partition(":")[0])) and device != "cpu":
        record(Reason.DEVICE_UNPICKLED_ON_CPU, device=device, nbytes=elements.nbytes)
        device = "cpu"
    return moved(elements, device_named(device))


# --- the class ------------------------------------------------------------------------------------

_OWN: dict[str, Any] = {
    "__array_function__": _array_function,
    "__array_namespace__": _namespace,
    "__array_ufunc__": _array_ufunc,
    "__contains__": _contains,
    "__format__": _format,
    "__getitem__": _getitem,
    "__iter__": _iter,
    "__round__": _round,
    "__setitem__": _setitem,
    "__str__": _str,
    "_described": _described,
    "_elements": _elements,
    "_refuse_in_place": _refuse_in_place,
    "change": _change,
    "needed": _needed,
    "to_device": _to_device,
    "T": property(lambda self: self.transpose(), doc="The array with its axes reversed."),
    "at": property(_At, doc="`x.at[index].set(v)` and its kin: the array with elements changed."),
    "flat": property(Flat, doc="The elements in row-major order."),
    "imag": property(lambda self: pnp.imag(self), doc="The imaginary part."),
    "itemsize": property(lambda self: self.type.dtype.itemsize, doc="Bytes of an element."),
    "mT": property(pnp.matrix_transpose, doc="The array with its last two axes swapped."),
    "real": property(lambda self: pnp.real(self), doc="The real part."),
    **{f"__{name}__": _binary(function) for name, function in _BINARY.items()},
    **{f"__r{name}__": _binary(function, True) for name, function in _BINARY.items()},
    **{f"__{name}__": _binary(function) for name, function in _COMPARISONS.items()},
    "__eq__": _equality("equal"),
    "__ne__": _equality("not_equal"),
    "__pow__": _power,
    **{f"__{name}__": _unary(function) for name, function in _UNARY.items()},
}


def _complete() -> None:
    methods = {k: v for k, v in vars(ArrayMethods).items() if isinstance(v, FunctionType)}
    for name, value in (methods | _OWN).items():
        if name in _OWN or name not in vars(Array):
            setattr(Array, name, value)
    Array.__hash__ = None  # type: ignore[assignment]  # as NumPy's: equality is of the elements
    copyreg.pickle(Array, _pickled)


_complete()
