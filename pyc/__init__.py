"""pyc: a tracing JIT for NumPy-style array code, on x86 and NVIDIA GPUs."""

from __future__ import annotations

from pyc import collector

with collector.seldom():  # nearly all that the import makes stays
    from typing import TYPE_CHECKING, Any

    import pyc.ir.ops  # noqa: F401 - fills the op table
    from pyc import cache, config, errors, numpy, reasons, tree
    from pyc.array import Array
    from pyc.device import (
        block_until_ready,
        default_device,
        device_count,
        device_get,
        device_put,
        devices,
        local_devices,
    )
    from pyc.forks import load
    from pyc.jit import Jitted, jit

    collector.keep()

if TYPE_CHECKING:
    from pyc import debug, lax, random, scipy
    from pyc.explanation import explain
    from pyc.kept import clear_caches
    from pyc.lax import cond, fori_loop, scan, switch, while_loop
    from pyc.runtime.threads import get_num_threads, set_num_threads, threads
    from pyc.trace.abstract import ShapeDtype
    from pyc.trace.host_calls import io_callback, pure_callback
    from pyc.uncompiled import eval_shape, interpret, make_graph
    from pyc.vectorized import vmap
    from pyc.verification import verify

__all__ = [
    "Array",
    "Jitted",
    "ShapeDtype",
    "block_until_ready",
    "cache",
    "clear_caches",
    "cond",
    "config",
    "debug",
    "default_device",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "errors",
    "eval_shape",
    "explain",
    "fori_loop",
    "get_num_threads",
    "interpret",
    "io_callback",
    "ir",
    "jit",
    "lax",
    "local_devices",
    "make_graph",
    "numpy",
    "pure_callback",
    "random",
    "reasons",
    "scan",
    "scipy",
    "set_num_threads",
    "switch",
    "threads",
    "tree",
    "verify",
    "vmap",
    "while_loop",
]
__version__ = "0.1.0"

_ELSEWHERE = {
    "pyc.lax": ("cond", "fori_loop", "scan", "switch", "while_loop"),
    "pyc.explanation": ("explain",),
    "pyc.verification": ("verify",),
    "pyc.trace.abstract": ("ShapeDtype",),
    "pyc.trace.host_calls": ("io_callback", "pure_callback"),
    "pyc.kept": ("clear_caches",),
    "pyc.runtime.threads": ("get_num_threads", "set_num_threads", "threads"),
    "pyc.vectorized": ("vmap",),
    "pyc.uncompiled": ("eval_shape", "interpret", "make_graph"),
}
"""Public names of the modules that are loaded on demand."""


def __getattr__(name: str) -> Any:
    if name in ("debug", "lax", "random", "scipy"):
        return load(f"pyc.{name}")
    for module, names in _ELSEWHERE.items():
        if name in names:
            return getattr(load(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
