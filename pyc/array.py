"""`Array`: an immutable array in the memory of a device, the CPU included.

The memory belongs to the Array and is freed with it, or to another library that the Array keeps
alive (`owner`). Nothing writes to it after it was filled, but a call that the array is donated to,
which takes it away. `np.asarray(x)` is a read-only view of an array on the CPU, and a copy from any
other device, for which it waits.

What computes with the elements is in `pyc/array_methods.py`, which is above the tracer, and loaded
for the first array.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pyc.errors import DeviceError, DonationError
from pyc.forks import load
from pyc.ir.dtype import of as dtype_of
from pyc.ir.types import ArrayType

if TYPE_CHECKING:
    from pyc.backends.cuda import Device
    from pyc.backends.verdicts import Verdict

_types: dict[ArrayType, ArrayType] = {}
_former_types: dict[ArrayType, ArrayType] = {}
"""Those of before `_types` was full: a type that is in use goes back with its object."""
_MOST_TYPES = 4096
_of_arrays: dict[Any, ArrayType] = {}
"""Types by the shape and the dtype of NumPy arrays."""


def known_type(type: ArrayType) -> ArrayType:
    """The one object for a type by which native calls know arrays of it. Arrays of another object
    for it are as good, and go through Python."""
    found = _types.get(type)
    if found is not None:
        return found
    if len(_types) >= _MOST_TYPES:
        _former_types.clear()
        _former_types.update(_types)
        _types.clear()
    return _types.setdefault(type, _former_types.get(type, type))


class Host:
    """The CPU, where it stands for a `Device`: arrays there are NumPy's, which own their memory."""

    label = "cpu"

    def enter(self) -> None:
        """Nothing: there is no context."""

    def synchronize(self) -> None:
        """Nothing: work is done at once."""

    def free(self, address: int, nbytes: int | None = None) -> None:
        """Nothing: the memory is its owner's."""

    @property
    def ledger(self) -> Host:
        """Calls on the CPU raise themselves what fails: there is no `Ledger`."""
        return self

    def judge(self, own: Verdict | None = None) -> None:
        """Nothing: see `ledger`."""


HOST: Any = Host()
ON_HOST = 0
"""In place of the address of an array on the CPU: its owner knows it."""


class Array:
    """An immutable array on a device; made by `device_put`, by jitted functions of arrays, and by
    functions of `pyc.numpy` of arrays."""

    # Native code reads the first three: CPython places them in the order of their names.
    __slots__ = ("__weakref__", "_address", "_device", "_type", "_verdict", "_whose")

    __array_priority__ = 100

    def __init__(self, type: ArrayType, device: Device, address: int, owner: Any = None) -> None:
        """Takes over memory of `device` at `address` that holds, or will hold, the elements.

        owner: keeps the memory, if it is not the array's own: the NumPy array of one on the CPU
        """
        self._whose = owner
        self._verdict: Verdict | None = None
        self._type = type
        self._device = device
        self._address: int | None = address

    def __del__(self) -> None:
        # At the end of the process the driver frees everything itself.
        if self._whose is None and not sys.is_finalizing():
            self.delete()

    def surrender(self) -> int:
        """The address of the memory, which is the caller's to free from now on: the array is
        deleted. DonationError: it is already; DeviceError: another library shares the memory."""
        address = self.address
        if self._whose is not None:
            raise DeviceError(
                f"an array on {self.device} that shares its memory with another library cannot be "
                "donated",
                fix="Donate a copy: `x.copy()`.",
            )
        self._address = None
        return address

    def delete(self) -> None:
        """Frees the memory now: any later use is an error. Nothing happens if it is deleted."""
        address, self._address = self._address, None
        owner, self._whose = self._whose, None
        if address is not None and owner is None:
            self._device.free(address, self._type.nbytes)

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
            raise self._deleted()
        if self._device is HOST:
            found: int = self._whose.__array_interface__["data"][0]
            return found
        return self._address

    def _deleted(self) -> Exception:
        failure = self._verdict.error if self._verdict is not None else None
        return failure or DonationError(
            f"this array on {self.device}, {self._type}, was donated to a call: its elements "
            "are gone",
            fix="Use what that call returned; or copy the array before the call, or do not "
            "donate it.",
        )

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
        """Waits until the elements are computed; returns the array. Raises what a check says that
        has failed on the device."""
        _ = self.address  # raises if it is deleted
        self._device.enter()
        self._device.synchronize()
        self._device.ledger.judge(self._verdict)
        _ = self.address  # another thread may have seen that it failed
        return self

    def duplicate(self) -> Array:
        """The same elements in memory of its own."""
        if self._whose is not None and self._device is HOST:
            return of_host(self.host_view().copy())
        device, source = self._device, self.address
        device.enter()
        made = Array(self._type, device, device.allocate(self.nbytes))
        device.copy(made.address, source, self.nbytes)
        return made

    # --- the elements on the host -----------------------------------------------------------------

    def host_view(self) -> np.ndarray[Any, Any]:
        """The elements as a read-only NumPy array: a view of an array on the CPU, else a copy."""
        if self._device is HOST:
            if self._address is None:
                raise self._deleted()
            found: np.ndarray[Any, Any] = self._whose.view()
        else:
            found = self.__array__()
        found.flags.writeable = False
        return found

    def memory(self) -> np.ndarray[Any, Any]:
        """The NumPy array that owns the memory of an array on the CPU, for who does not write."""
        found: np.ndarray[Any, Any] | None = self._whose
        return self.host_view() if found is None else found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array: a read-only view of an array on the CPU, unless `copy` is
        true, and a new array for other devices; ValueError if no copy may be made."""
        if self._device is HOST:
            view = self.host_view()
            same = dtype is None or np.dtype(dtype) == view.dtype
            if copy is False and not same:
                raise ValueError(f"elements of {view.dtype} are {np.dtype(dtype)} in a copy only")
            if copy or not same:
                return np.array(view, dtype)
            return view
        if copy is False:
            raise ValueError(
                f"the elements of an array on {self.device} cannot be seen by NumPy without a copy"
            )
        address = self.address
        self._device.enter()
        host = np.empty(self.shape, self.dtype)
        self._device.download(host, address)
        self._device.ledger.judge(self._verdict)
        _ = self.address  # another thread may have seen that it failed
        return host if dtype is None else host.astype(dtype, copy=False)

    def __buffer__(self, flags: int) -> memoryview:
        """The elements of an array on the CPU, read-only; BufferError elsewhere. Python 3.12 asks
        for it; for 3.11 there is `runtime/buffers.py`."""
        return memoryview(self._exported())  # type: ignore[arg-type]

    def _exported(self) -> np.ndarray[Any, Any]:
        """What has the buffer of an array on the CPU; BufferError elsewhere."""
        if self._device is not HOST:
            raise BufferError(f"the memory of {self.device} is not the host's: `np.asarray(x)`")
        return self.host_view()

    # --- other libraries --------------------------------------------------------------------------

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's type and number of the device."""
        return (1, 0) if self._device is HOST else (2, self._device.ordinal)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule of the memory for `from_dlpack` of another library, by the array API standard.

        Without `max_version` of 1 or more the capsule cannot tell that the memory is read-only:
        the consumer must not write to it, unless `copy` is true.
        stream: the consumer's, which must not be 0; work before is done when this returns, but -1
        asks not to wait. dl_device: the device asked for; the CPU gets a copy.
        raises BufferError: another device, or no copy may be made and one is needed; ValueError: a
        stream that the device does not have
        """
        here = self.__dlpack_device__()
        if here[0] == 1 and stream is not None:
            raise ValueError("an array on the CPU has no streams")
        if stream == 0:
            raise ValueError("stream 0 is ambiguous: 1 is the legacy default stream, 2 per thread")
        given = self
        if dl_device is not None and tuple(map(int, dl_device)) != here:
            if tuple(map(int, dl_device)) != (1, 0) or copy is False:
                raise BufferError(
                    f"an array on {self.device} cannot be given as one of device {dl_device}"
                    + (" without a copy" if copy is False else "")
                )
            given, copy = of_host(self.__array__()), True
        elif copy:
            given = self.duplicate()
        device = given._device
        if device is not HOST and stream != -1:
            device.enter()
            device.synchronize()
            device.ledger.judge(given._verdict)
        return load("pyc.dlpack").export(
            given.address,
            given.shape,
            given.type.dtype,
            given.__dlpack_device__(),
            given._shared(),
            versioned=max_version is not None and max_version[0] >= 1,
            copied=bool(copy),
        )

    def _shared(self) -> Any:
        """What keeps the memory from now on, together with whoever else holds it."""
        if self._whose is None:
            self._whose = _Shared(self._device, self.address, self.nbytes)
        return self._whose

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the interface by which CUDA libraries of Python share memory, read-only.
        AttributeError: the array is not on a GPU, or NumPy has no name for its element type."""
        if self._device is HOST or self._type.dtype.is_extension:
            raise AttributeError(
                f"an array of {self._type.dtype.name} on {self.device} has no "
                "`__cuda_array_interface__`"
            )
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address if self._shared() and self.size else 0, True),
            "strides": None,
            "version": 3,
            "stream": int(self._device.stream) or 1,
        }

    def item(self, *index: Any) -> Any:
        """The only element, or that at `index`, as a Python number; ValueError if there is not just
        one."""
        return self.__array__().item(*index)

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
            failed = self._verdict is not None and self._verdict.error is not None
            word = "failed" if failed else "deleted"
            return f"Array(<{word}>, {self._type}, device={self.device!r})"
        text = np.array2string(self.__array__(), separator=", ", threshold=20, prefix="Array(")
        return f"Array({text}, dtype={self.dtype.name}, device={self.device!r})"

    def __copy__(self) -> Array:
        """Itself: it is immutable."""
        return self

    def __deepcopy__(self, memo: Any) -> Array:
        """Itself: it is immutable."""
        return self

    # `pyc/array_methods.py` gives it these, and many more.
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, key: Any) -> Array: ...
        def __iter__(self) -> Iterator[Array]: ...

        __add__: Callable[[Any], Array]
        __radd__: Callable[[Any], Array]
        __sub__: Callable[[Any], Array]
        __rsub__: Callable[[Any], Array]
        __mul__: Callable[[Any], Array]
        __rmul__: Callable[[Any], Array]
        __truediv__: Callable[[Any], Array]
        __rtruediv__: Callable[[Any], Array]
        __floordiv__: Callable[[Any], Array]
        __rfloordiv__: Callable[[Any], Array]
        __mod__: Callable[[Any], Array]
        __rmod__: Callable[[Any], Array]
        __pow__: Callable[[Any], Array]
        __rpow__: Callable[[Any], Array]
        __matmul__: Callable[[Any], Array]
        __rmatmul__: Callable[[Any], Array]
        __and__: Callable[[Any], Array]
        __rand__: Callable[[Any], Array]
        __or__: Callable[[Any], Array]
        __ror__: Callable[[Any], Array]
        __xor__: Callable[[Any], Array]
        __rxor__: Callable[[Any], Array]
        __lshift__: Callable[[Any], Array]
        __rlshift__: Callable[[Any], Array]
        __rshift__: Callable[[Any], Array]
        __rrshift__: Callable[[Any], Array]
        __lt__: Callable[[Any], Array]
        __le__: Callable[[Any], Array]
        __gt__: Callable[[Any], Array]
        __ge__: Callable[[Any], Array]
        __neg__: Callable[[], Array]
        __pos__: Callable[[], Array]
        __invert__: Callable[[], Array]
        __abs__: Callable[[], Array]


Array.__hash__ = None  # type: ignore[assignment]  # as NumPy's: equality is of the elements


_incomplete = [Array]
"""The class until it has them, then nothing."""


def _complete() -> None:
    """Gives the class its operators and methods, and on Python 3.11 its buffers."""
    if _incomplete:
        load("pyc.array_methods")
        if sys.version_info < (3, 12):
            load("pyc.runtime.buffers").give_buffers(Array)
        _incomplete.clear()


class _Shared:
    """Memory of a device that another library may use too: it is freed with the last user."""

    def __init__(self, device: Device, address: int, nbytes: int) -> None:
        self._device = device
        self._address = address
        self._nbytes = nbytes

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self._device.enter()
            self._device.finish()  # what the others have started there, on streams of their own
            self._device.free(self._address, self._nbytes)


def of_host(array: np.ndarray[Any, Any]) -> Array:
    """An `Array` on the CPU of the memory of a NumPy array that nobody else writes to. array:
    C-ordered, aligned, of native byte order and a type that pyc has."""
    known = array.shape, array.dtype
    type = _of_arrays.get(known)
    if type is None or _types.get(type) is not type:
        kind = dtype_of(array.dtype)
        assert kind is not None
        if len(_of_arrays) >= _MOST_TYPES:
            _of_arrays.clear()
        type = _of_arrays[known] = known_type(ArrayType(array.shape, kind))
    return of_host_type(array, type)


def of_host_type(array: np.ndarray[Any, Any], type: ArrayType) -> Array:
    """The same, of a type that is known."""
    _complete()
    array.setflags(write=False)
    return Array(type, HOST, ON_HOST, array)


def maker_of_host(types: Sequence[ArrayType]) -> Callable[[Sequence[Any]], list[Array]]:
    """Makes `Array`s on the CPU of new NumPy arrays, and scalars, of these types."""
    known = tuple(map(known_type, types))

    def made(results: Sequence[Any]) -> list[Array]:
        arrays = (r if type(r) is np.ndarray else np.array(r) for r in results)
        return list(map(of_host_type, arrays, known))

    return made


def on_host(
    program: Callable[..., Sequence[Any]], types: Sequence[ArrayType]
) -> Callable[..., tuple[Any, ...]]:
    """A program for the CPU, with results of these types, that takes `Array`s there beside NumPy
    arrays, and gives `Array`s. It writes to no argument."""
    made = maker_of_host(types)

    def run(*arguments: Any) -> tuple[Any, ...]:
        given = [x.memory() if type(x) is Array else x for x in arguments]
        return tuple(made(program(*given)))

    return run


def is_fixed(array: Any) -> bool:
    """Whether nobody can change a NumPy array any more."""
    if not isinstance(array, np.ndarray) or array.flags.writeable:
        return False
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return not owner.flags.writeable and (owner.base is None or isinstance(owner.base, bytes))


def _as_stored(x: Any) -> tuple[np.ndarray[Any, Any], ArrayType]:
    """A NumPy array or number as a C-ordered array of native byte order; itself if it is one and
    cannot change."""
    fits = is_fixed(x) and x.flags.c_contiguous and x.flags.aligned and x.dtype.isnative
    host = x if fits and type(x) is np.ndarray else np.array(x, order="C")
    host = host.astype(host.dtype.newbyteorder("="), copy=False)
    kind = dtype_of(host.dtype)
    if kind is None:
        raise DeviceError(f"arrays of dtype {host.dtype} cannot be on a device")
    return host, known_type(ArrayType(host.shape, kind))


def to_device(x: Any, device: Device) -> Array:
    """`x` (an array or number) copied to `device`; an Array that is there already is itself, and
    a NumPy array that cannot change becomes an Array on the CPU without a copy.

    raises DeviceError: an Array on another device, or elements of a type that pyc does not have
    """
    if isinstance(x, Array):
        if x._device is device:
            return x
        raise DeviceError(
            f"the array is on {x.device}, not on {device.label}",
            fix=f'Move it first: `x.to_device("{device.label}")`.',
        )
    _complete()
    host, kind = _as_stored(x)
    if device is HOST:
        return of_host(host)
    device.enter()
    address = device.allocate(host.nbytes)
    try:
        device.upload(address, host)
    except BaseException:
        device.free(address, host.nbytes)
        raise
    return Array(kind, device, address)


def moved(x: Any, device: Device) -> Array:
    """`x` copied to `device`, through the host if it is on another."""
    if isinstance(x, Array) and x._device is not device:
        x = x.host_view()
    return to_device(x, device)
