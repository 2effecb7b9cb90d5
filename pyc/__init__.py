"""pyc: a tracing JIT for NumPy-style array code, on x86 and NVIDIA GPUs."""

from __future__ import annotations

import pyc.ir.ops  # noqa: F401 - fills the op table
from pyc import cache, config, lax, numpy, tree
from pyc.array import Array
from pyc.device import block_until_ready, device_get, device_put, devices
from pyc.jit import Jitted, jit
from pyc.lax import cond, fori_loop, scan, switch, while_loop
from pyc.verify import verify

__all__ = [
    "Array",
    "Jitted",
    "block_until_ready",
    "cache",
    "cond",
    "config",
    "device_get",
    "device_put",
    "devices",
    "fori_loop",
    "jit",
    "lax",
    "numpy",
    "scan",
    "switch",
    "tree",
    "verify",
    "while_loop",
]
__version__ = "0.1.0"
