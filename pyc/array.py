"""`Array`: an array in the memory of a device.

The buffer belongs to the Array and is freed with it. Arrays are immutable: nothing writes to a
buffer after it was filled, but a call that the array is donated to, which takes the buffer away.
`np.asarray(x)` copies to the host and waits for the device; numbers of arrays of one element are
copied so too. What would compute with the elements outside of a jitted function, or copy all of
them to the host unasked, is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from pyc.errors import DeviceError, DonationError, UnsupportedOpError
from pyc.ir.dtype import of as dtype_of
from pyc.ir.types import ArrayType

if TYPE_CHECKING:
    from pyc.backends.cuda import Device

_FIX = (
    "Compute it in a function under `pyc.jit`, which takes arrays on a device; or copy the array "
    "to the host: `np.asarray(x)`."
)


_types: dict[ArrayType, ArrayType] = {}
_MOST_TYPES = 4096


def known_type(type: ArrayType) -> ArrayType:
    """The one object for a type by which native calls know arrays of it. Arrays of another object
    for it are as good, and go through Python."""
    if len(_types) >= _MOST_TYPES:
        _types.clear()
    return _types.setdefault(type, type)


class Array:
    """An immutable array on a device; made by `device_put` and by jitted functions."""

    # Native code reads the last three: CPython places them in the order of their names.
    __slots__ = ("__weakref__", "_address", "_device", "_type")

    def __init__(self, type: ArrayType, device: Device, address: int) -> None:
        """Takes over memory of `device` at `address` that holds, or will hold, the elements."""
        self._type = type
        self._device = device
        self._address: int | None = address

    def __del__(self) -> None:
        # At the end of the process the driver frees everything itself.
        if not sys.is_finalizing():
            self.delete()

    def take(self) -> int:
        """The address of the memory, which is the caller's to free from now on: the array is
        deleted. DonationError: it is already."""
        address = self.address
        self._address = None
        return address

    def delete(self) -> None:
        """Frees the memory now: any later use is an error. Nothing happens if it is deleted."""
        if self._address is not None:
            self._device.free(self.take(), self._type.nbytes)

    def is_deleted(self) -> bool:
        """Whether the array was donated to a call, so that its elements are gone."""
        return self._address is None

    @property
    def type(self) -> ArrayType:
        """Shape and element type as the IR knows them."""
        return self._type

    @property
    def address(self) -> int:
        """Where the first element is in the device's memory; DonationError if it is deleted."""
        if self._address is None:
            raise DonationError(
                f"this array on {self.device}, {self._type}, was donated to a call: its elements "
                "are gone",
                fix="Use what that call returned; or copy the array before the call, or do not "
                "donate it.",
            )
        return self._address

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""
        return self._type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements."""
        return self._type.dtype.numpy

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._type.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._type.size

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self._type.nbytes

    @property
    def device(self) -> str:
        """The device's name in `pyc.devices()`."""
        return self._device.label

    def block_until_ready(self) -> Array:
        """Waits until the elements are computed; returns the array."""
        _ = self.address  # raises if it is deleted
        self._device.enter()
        self._device.synchronize()
        return self

    # --- the elements on the host -----------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """The elements as a new NumPy array; ValueError if no copy may be made."""
        if copy is False:
            raise ValueError(
                f"the elements of an array on {self.device} cannot be seen by NumPy without a copy"
            )
        address = self.address
        self._device.enter()
        host = np.empty(self.shape, self.dtype)
        self._device.download(host, address)
        return host if dtype is None else host.astype(dtype, copy=False)

    def item(self) -> Any:
        """The only element as a Python number; ValueError if there is not just one."""
        return self.__array__().item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.__array__().tolist()

    def __bool__(self) -> bool:
        """The truth of the only element, as NumPy has it."""
        return bool(self.__array__())

    def __int__(self) -> int:
        """The only element as an int."""
        return int(self.__array__())

    def __float__(self) -> float:
        """The only element as a float."""
        return float(self.__array__())

    def __complex__(self) -> complex:
        """The only element as a complex number."""
        return complex(self.__array__())

    def __index__(self) -> int:
        """An element of an integer type as an int; TypeError for others."""
        return self.__array__().__index__()

    def __len__(self) -> int:
        """Length of the first axis; TypeError for rank 0."""
        if not self.shape:
            raise TypeError("len() of an array of rank 0")
        return self.shape[0]

    def __repr__(self) -> str:
        if self._address is None:
            return f"Array(<deleted>, {self._type}, device={self.device!r})"
        text = np.array2string(self.__array__(), separator=", ", threshold=20, prefix="Array(")
        return f"Array({text}, dtype={self.dtype.name}, device={self.device!r})"

    # --- what is refused --------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Refused, unless another operand knows what to do."""
        return _refused_function(f"np.{ufunc.__name__}", self.device, map(type, inputs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Refused, unless another operand knows what to do."""
        return _refused_function(f"np.{function.__name__}", self.device, types)

    def __iter__(self) -> NoReturn:
        raise _refusal("iteration over", self.device)

    def __getitem__(self, key: Any) -> NoReturn:
        raise _refusal("indexing of", self.device)

    def __reduce__(self) -> NoReturn:
        raise UnsupportedOpError(
            f"an array on {self.device} cannot be pickled", fix="Pickle `np.asarray(x)`."
        )

    def __copy__(self) -> Array:
        """Itself: it is immutable."""
        return self

    def __deepcopy__(self, memo: Any) -> Array:
        """Itself: it is immutable."""
        return self


_KNOWN = (Array, np.ndarray, np.generic, bool, int, float, complex, list, tuple)
"""Operands that do not know more about arrays on a device than these do."""


def _refusal(what: str, device: str) -> UnsupportedOpError:
    return UnsupportedOpError(
        f"{what} an array on {device} outside of a jitted function is not supported yet", fix=_FIX
    )


def refuse_eager(x: Array) -> NoReturn:
    """UnsupportedOpError: a function of `pyc.numpy` got an array on a device outside of a trace."""
    raise _refusal("a function of `pyc.numpy` of", x.device)


def _refused_function(name: str, device: str, types: Any) -> Any:
    if any(not issubclass(t, _KNOWN) and hasattr(t, "__array_ufunc__") for t in types):
        return NotImplemented
    raise _refusal(f"{name} of", device)


def _operator(symbol: str) -> Callable[[Array, Any], Any]:
    def refuse(self: Array, other: Any = 0) -> Any:
        if not issubclass(type(other), _KNOWN):  # a traced value has the class of an array
            return NotImplemented
        raise _refusal(f"`{symbol}` of", self.device)

    refuse.__doc__ = f"`{symbol}` is refused, unless the other operand knows what to do."
    return refuse


_BINARY = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "divmod": "divmod",
    "pow": "**",
    "matmul": "@",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
}
_OTHERS = {
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "neg": "-",
    "pos": "+",
    "invert": "~",
    "abs": "abs",
}
for _name, _symbol in {**_BINARY, **{f"r{n}": s for n, s in _BINARY.items()}, **_OTHERS}.items():
    setattr(Array, f"__{_name}__", _operator(_symbol))
Array.__hash__ = None  # type: ignore[assignment]  # as NumPy's: equality is of the elements


def to_device(x: Any, device: Device) -> Array:
    """`x` (an array or number) copied to `device`; an Array that is there already is itself."""
    if isinstance(x, Array):
        if x._device is device:
            return x
        raise DeviceError(
            f"the array is on {x.device}, not on {device.label}",
            fix="Copy it through the host: `pyc.device_put(np.asarray(x), device)`.",
        )
    host = np.array(x, order="C")
    host = host.astype(host.dtype.newbyteorder("="), copy=False)
    kind = dtype_of(host.dtype)
    if kind is None:
        raise DeviceError(f"arrays of dtype {host.dtype} cannot be on a device")
    device.enter()
    address = device.allocate(host.nbytes)
    try:
        device.upload(address, host)
    except BaseException:
        device.free(address, host.nbytes)
        raise
    return Array(known_type(ArrayType(host.shape, kind)), device, address)
