"""pyc: a tracing JIT for NumPy-style array code, on x86 and NVIDIA GPUs."""

from __future__ import annotations

from pyc import collector

with collector.seldom():  # nearly all that the import makes stays
    from typing import TYPE_CHECKING, Any

    import pyc.ir.ops  # noqa: F401 - fills the op table
    from pyc import cache, config, numpy, tree
    from pyc.array import Array
    from pyc.device import block_until_ready, device_get, device_put, devices
    from pyc.forks import load
    from pyc.jit import Jitted, jit

    collector.keep()

if TYPE_CHECKING:
    from pyc import debug, lax
    from pyc.lax import cond, fori_loop, scan, switch, while_loop
    from pyc.trace.host_calls import ShapeDtype, io_callback, pure_callback
    from pyc.verification import verify

__all__ = [
    "Array",
    "Jitted",
    "ShapeDtype",
    "block_until_ready",
    "cache",
    "cond",
    "config",
    "debug",
    "device_get",
    "device_put",
    "devices",
    "fori_loop",
    "io_callback",
    "jit",
    "lax",
    "numpy",
    "pure_callback",
    "scan",
    "switch",
    "tree",
    "verify",
    "while_loop",
]
__version__ = "0.1.0"

_ELSEWHERE = {
    "pyc.lax": ("cond", "fori_loop", "scan", "switch", "while_loop"),
    "pyc.verification": ("verify",),
    "pyc.trace.host_calls": ("ShapeDtype", "io_callback", "pure_callback"),
}
"""Public names of the modules that are loaded on demand."""


def __getattr__(name: str) -> Any:
    if name in ("debug", "lax"):
        return load(f"pyc.{name}")
    for module, names in _ELSEWHERE.items():
        if name in names:
            return getattr(load(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
