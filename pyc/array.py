"""`Array`: an array in the memory of a device.

The buffer belongs to the Array and is freed with it. Arrays are immutable: nothing writes to a
buffer after it was filled. `np.asarray(x)` copies to the host and waits for the device.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from pyc.errors import DeviceError
from pyc.ir.dtype import of as dtype_of
from pyc.ir.types import ArrayType

if TYPE_CHECKING:
    from pyc.backends.cuda import Device


class Array:
    """An immutable array on a device; made by `device_put` and by jitted functions.

    type: shape and element type as the IR knows them; address: of its first element there.
    """

    __slots__ = ("__weakref__", "_device", "address", "type")

    def __init__(self, type: ArrayType, device: Device, address: int) -> None:
        self.type = type
        self._device = device
        self.address = address
        weakref.finalize(self, device.free, address).atexit = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements."""
        return self.type.dtype.numpy

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.type.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.type.size

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.type.nbytes

    @property
    def device(self) -> str:
        """The device's name in `pyc.devices()`."""
        return f"cuda:{self._device.ordinal}"

    def block_until_ready(self) -> Array:
        """Waits until the elements are computed; returns the array."""
        self._device.enter()
        self._device.synchronize()
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("an array on a device cannot be seen by NumPy without a copy")
        self._device.enter()
        host = np.empty(self.shape, self.dtype)
        self._device.download(host, self.address)
        return host if dtype is None else host.astype(dtype)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array of rank 0")
        return self.shape[0]

    def __repr__(self) -> str:
        text = np.array2string(np.asarray(self), separator=", ", threshold=20)
        return f"Array({text}, dtype={self.dtype.name}, device={self.device!r})"


def to_device(x: Any, device: Device) -> Array:
    """`x` (an array or number) copied to `device`; an Array that is there already is itself."""
    if isinstance(x, Array):
        if x._device is device:
            return x
        raise DeviceError(f"the array is on {x.device}; copy it through the host: np.asarray(x)")
    host = np.array(x, order="C")
    host = host.astype(host.dtype.newbyteorder("="), copy=False)
    kind = dtype_of(host.dtype)
    if kind is None:
        raise DeviceError(f"arrays of dtype {host.dtype} cannot be on a device")
    device.enter()
    address = device.allocate(host.nbytes)
    device.upload(address, host)
    return Array(ArrayType(host.shape, kind), device, address)
