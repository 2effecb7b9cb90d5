"""Devices: which there are, and moving arrays between them and the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pyc import backends, tree
from pyc.array import Array, to_device
from pyc.backends.host import host_target
from pyc.errors import DeviceError
from pyc.frozen import frozen
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


def devices(kind: str | None = None) -> list[DeviceInfo]:
    """The devices of this machine, the CPU first; of one kind only if given. Asking for GPUs loads
    the driver; without one there is none (`pyc.reasons` says why). DeviceError: no such kind."""
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
    """The devices of this process: all of `devices(kind)`, as pyc runs on one machine."""
    return devices(kind)


def device_count(kind: str | None = None) -> int:
    """How many devices there are, of one kind only if given."""
    return len(devices(kind))


def parse(name: str) -> tuple[str, int]:
    """The kind and number of the device called `name`: "cpu", "cuda" or "cuda:N". DeviceError for
    other names; whether there is one is not looked at."""
    kind, colon, number = str(name).partition(":")
    if kind not in ("cpu", "cuda") or (colon and (kind == "cpu" or not number.isdecimal())):
        raise DeviceError(f"unknown device {name!r}", fix='Devices are "cpu", "cuda" and "cuda:N".')
    return kind, int(number or 0)


def gpu(name: str = "cuda") -> Device:
    """The GPU called "cuda" or "cuda:N"; DeviceError with the reason if there is none."""
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


def device_put(x: Any, device: str = "cuda") -> Any:
    """The arrays and numbers of a tree as `Array`s on a GPU, or as NumPy arrays on "cpu"."""
    if parse(device)[0] == "cpu":
        return device_get(x)
    on = gpu(device)
    return tree.map(lambda leaf: to_device(leaf, on), x)


def device_get(x: Any) -> Any:
    """The arrays of a tree as NumPy arrays."""
    return tree.map(np.asarray, x)


def block_until_ready(x: Any) -> Any:
    """Waits for every `Array` of a tree; returns the tree."""
    for leaf in tree.leaves(x):
        if isinstance(leaf, Array):
            leaf.block_until_ready()
    return x
