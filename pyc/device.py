"""Devices: which there are, and moving arrays between them and the host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from pyc import backends, config, tree
from pyc.array import HOST, Array, known_type, moved, of_host
from pyc.backends.host import host_target
from pyc.errors import DeviceError, DeviceNameError
from pyc.forks import load
from pyc.frozen import frozen
from pyc.ir.types import ArrayType
from pyc.reasons import record

if TYPE_CHECKING:
    from pyc.backends.cuda import Device


@frozen()
class DeviceInfo:
    """One device. kind: "cpu" or "cuda"; id: its number among its kind; name: as the vendor calls
    it; target: what code is compiled for."""

    kind: str
    id: int
    name: str
    target: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"

    def memory_stats(self) -> dict[str, int]:
        """Bytes of the memory of a GPU by what it is used for: bytes_in_use, peak_bytes_in_use,
        bytes_kept (free, kept for later: `pyc.clear_caches` gives it back), bytes_reserved (for
        pyc's arrays in all), bytes_free, bytes_limit (of the device, for all processes) and
        pinned_bytes (of the host's). Empty for the CPU: its arrays are NumPy's."""
        return {} if self.kind == "cpu" else gpu(str(self)).memory_stats()


def devices(kind: str | None = None) -> list[DeviceInfo]:
    """The devices of this machine, the CPU first. Asking for GPUs loads the driver; without one
    there is none (`pyc.reasons` says why).

    kind: "cpu" or "cuda", those of that kind only; None: all

    raises DeviceError: no such kind

    JAX: `jax.devices`.

    >>> len(pyc.devices("cpu"))
    1
    """
    if kind not in (None, "cpu", "cuda"):
        raise DeviceError(f"unknown kind of devices {kind!r}", fix='Kinds are "cpu" and "cuda".')
    found: list[DeviceInfo] = []
    if kind in (None, "cpu"):
        target = host_target()
        found.append(DeviceInfo("cpu", 0, "cpu", target.id))
    if kind in (None, "cuda"):
        cuda = backends.cuda_driver()
        why = cuda.problem()
        if why is None:
            for number in range(cuda.count()):
                gpu = cuda.device(number)
                found.append(DeviceInfo("cuda", number, gpu.name, gpu.target.id))
        else:
            record(why[0], detail=why[1])
    return found


def local_devices(kind: str | None = None) -> list[DeviceInfo]:
    """The devices of this process: all of `devices(kind)`, as pyc runs on one machine.

    kind: "cpu" or "cuda", those of that kind only; None: all

    raises DeviceError: no such kind

    JAX: `jax.local_devices`.

    >>> pyc.local_devices("cpu") == pyc.devices("cpu")
    True
    """
    return devices(kind)


def device_count(kind: str | None = None) -> int:
    """How many devices there are.

    kind: "cpu" or "cuda", of that kind only; None: of all

    raises DeviceError: no such kind

    JAX: `jax.device_count`.

    >>> pyc.device_count("cpu")
    1
    """
    return len(devices(kind))


def parse(name: str) -> tuple[str, int]:
    """The kind and number of the device called `name`: "cpu", "cuda" or "cuda:N". DeviceError for
    other names; whether there is one is not looked at."""
    found = config.device_parts(str(name))
    if found is None:
        raise DeviceNameError(f"unknown device {name!r}")
    return found


def full_name(device: str | DeviceInfo) -> str:
    """A device as its arrays name it, "cpu" or "cuda:N"; DeviceError as `parse`."""
    kind, number = parse(str(device))
    return kind if kind == "cpu" else f"{kind}:{number}"


def gpu(name: str = "cuda") -> Device:
    """The GPU called "cuda" or "cuda:N"; DeviceError with the reason if there is none."""
    with load("pyc.ahead").loading():
        return _gpu(name)


def _gpu(name: str) -> Device:
    _, number = parse(name)
    cuda = backends.cuda_driver()
    why = cuda.problem()
    if why is not None:
        record(why[0], detail=why[1])
        raise DeviceError(
            f"device {name!r} was asked for, and no GPU can be used [{why[0].code}]: {why[1]}"
        )
    count = cuda.count()
    if number >= count:
        have = "cuda:0" if count == 1 else f"cuda:0 to cuda:{count - 1}"
        raise DeviceError(
            f"device {name!r} was asked for, and there is {have}",
            fix="Name one of these; `pyc.devices()` lists them.",
        )
    found: Device = cuda.device(number)
    return found


def device_named(name: str | DeviceInfo) -> Device:
    """The device called "cpu", "cuda" or "cuda:N", or described by one of `devices()`; DeviceError
    if there is none."""
    found: Device = HOST if parse(str(name))[0] == "cpu" else gpu(str(name))
    return found


@contextmanager
def default_device(device: str | DeviceInfo | None) -> Iterator[None]:
    """Inside the block, in this thread and context, jitted functions run there of which neither
    `jit` nor an argument says where, and `device_put` puts arrays there. Results of functions of
    NumPy's arrays are NumPy's as ever. For good: `pyc.config.update("default_device", "cuda")`.

    device: its name, such as "cpu" or "cuda:1", or one of `devices()`; None: as without a default

    raises DeviceError: there is no device of such a name; whether the machine has it is seen when
    it is needed

    JAX: `jax.default_device`.

    >>> with pyc.default_device("cpu"):
    ...     print(pyc.jit(np.sum)(np.ones(3)))
    3.0
    """
    name = "" if device is None else str(device)
    if name:
        parse(name)
    with config.using(default_device=name):
        yield


def device_put(x: Any, device: str | DeviceInfo | None = None) -> Any:
    """The arrays and numbers of a tree as `Array`s on a device, copied through the host from
    another; what is there already stays as it is.

    x: a tree of arrays and numbers of any shapes and dtypes, which they keep; device: its name, or
    one of `devices()`, by default the `default_device`, or the first GPU

    raises DeviceError: there is no such device, or no such elements on devices

    JAX: `jax.device_put`.

    >>> pyc.device_put(np.arange(3), "cpu").shape
    (3,)
    """
    on = device_named(device or config.value("default_device") or "cuda")
    return tree.map(lambda leaf: moved(leaf, on), x)


ALIGNMENT = 16
"""Bytes that a thread of a GPU moves at once: an array there begins at a multiple of them."""


def imported(x: Any, device: str | DeviceInfo | None = None, copy: bool | None = None) -> Array:
    """See `pyc.numpy.from_dlpack`."""
    on = None if device is None else device_named(device)
    if isinstance(x, Array):
        found, shared = x, True
    else:
        found, shared = _shared(x, copy)
    if on is not None and found._device is not on:
        if copy is False:
            raise BufferError(f"an array on {found.device} is on {on.label} in a copy only")
        return moved(found, on)
    return found.duplicate() if copy and shared else found


def _shared(x: Any, copy: bool | None) -> tuple[Array, bool]:
    """An array of another library as an `Array` on its device, and whether they share memory."""
    kind, number = map(int, x.__dlpack_device__())
    dlpack = load("pyc.dlpack")
    if kind not in (dlpack.CPU, dlpack.CUDA):
        raise DeviceError(
            f"an array on a device of DLPack's type {kind} cannot be taken over",
            fix="Move it to the CPU or to a GPU of NVIDIA before.",
        )
    on = HOST if kind == dlpack.CPU else gpu(f"cuda:{number}")
    options = {} if on is HOST else {"stream": int(on.stream) or 1}
    try:
        capsule = x.__dlpack__(max_version=dlpack.VERSION, **options)
    except TypeError:  # of before the versioned protocol
        capsule = x.__dlpack__(**options)
    taken = dlpack.take(capsule)
    if on is HOST:
        elements = dlpack.elements(taken)
        fits = taken.is_row_major and elements.flags.aligned
        if not fits and copy is False:
            raise BufferError("elements that are not aligned, or not in C order, need a copy")
        return of_host(elements if fits else np.array(elements, order="C")), fits
    if not taken.is_row_major:
        raise BufferError(
            f"elements with strides {taken.strides} cannot be taken over: make them contiguous "
            "(`x.contiguous()` in torch, `cupy.ascontiguousarray(x)`)"
        )
    taken.owner.before = on.synchronize
    found = Array(known_type(ArrayType(taken.shape, taken.dtype)), on, taken.address, taken.owner)
    if taken.address % ALIGNMENT == 0:
        return found, True
    if copy is False:
        raise BufferError(
            f"elements that do not begin at a multiple of {ALIGNMENT} bytes, as those of a part of "
            "an array, need a copy"
        )
    return found.duplicate(), False


def device_get(x: Any) -> Any:
    """The arrays of a tree as NumPy arrays.

    x: a tree of arrays and numbers, which keep their shapes and dtypes; an `Array` is copied from
    its device, numbers become arrays of rank 0

    JAX: `jax.device_get`.

    >>> pyc.device_get([np.arange(3), 2])
    [array([0, 1, 2]), array(2)]
    """
    return tree.map(np.asarray, x)


def block_until_ready(x: Any) -> Any:
    """Waits for every `Array` of a tree; returns the tree.

    x: a tree of anything; what is no `Array` is there already

    JAX: `jax.block_until_ready`.

    >>> pyc.block_until_ready([1, 2])
    [1, 2]
    """
    for leaf in tree.leaves(x):
        if isinstance(leaf, Array):
            leaf.block_until_ready()
    return x
