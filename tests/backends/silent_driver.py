"""A package of the CUDA driver for tests of what a process loads: it agrees to all, and computes
nothing.

`install()` puts it where `cuda.bindings.driver` is looked for.
"""

from __future__ import annotations

import ctypes
import sys
import time
from types import ModuleType
from typing import Any

IMAGE_BYTES = 1000


class Names:
    """An enumeration of the driver: every name has a number."""

    def __getattr__(self, name: str) -> int:
        return {"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR": 9}.get(name, 0)


class Driver(ModuleType):
    """The module. waits: seconds until a device is ready."""

    waits = 0.0
    begun = 0
    """How many contexts were asked for."""

    def __init__(self) -> None:
        super().__init__("cuda.bindings.driver")
        self._memory: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.startswith("CU"):
            return Names() if name != "CUresult" else int
        if "Free" in name or name in ("cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"):
            return lambda *arguments: (0,)
        return lambda *arguments: (0, 1)

    def cuuint64_t(self, value: int) -> int:
        return value

    cuuint32_t = cuuint64_t

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int, int]:
        Driver.begun += 1
        time.sleep(Driver.waits)
        return 0, 1

    def cuDeviceGetAttribute(self, attribute: int, device: int) -> tuple[int, int]:
        return 0, attribute

    def cuDeviceGetName(self, length: int, device: int) -> tuple[int, bytes]:
        return 0, b"silent"

    def cuGetProcAddress(self, name: bytes, version: int, flags: int) -> tuple[int, int, int]:
        function = ctypes.CFUNCTYPE(ctypes.c_int)(lambda *arguments: 0)
        self._memory.append(function)
        return 0, ctypes.cast(function, ctypes.c_void_p).value or 0, 0

    def _new(self, nbytes: int) -> int:
        self._memory.append(ctypes.create_string_buffer(nbytes))
        return ctypes.addressof(self._memory[-1])

    def cuMemAllocAsync(self, nbytes: int, stream: int) -> tuple[int, int]:
        return 0, self._new(nbytes)

    def cuLinkComplete(self, state: int) -> tuple[int, int, int]:
        return 0, self._new(IMAGE_BYTES), IMAGE_BYTES


def install() -> Driver:
    """The driver, as the package of this process."""
    driver, bindings, package = Driver(), ModuleType("cuda.bindings"), ModuleType("cuda")
    package.__path__ = bindings.__path__ = []  # type: ignore[attr-defined]
    package.bindings, bindings.driver = bindings, driver  # type: ignore[attr-defined]
    sys.modules.update({"cuda": package, "cuda.bindings": bindings, "cuda.bindings.driver": driver})
    return driver
