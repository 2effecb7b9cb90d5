"""pyc: a tracing JIT for NumPy-style array code, on x86 and NVIDIA GPUs."""

from __future__ import annotations

from pyc import collector

collector.begin()  # nearly all that the import makes stays; at the end of this file it ends

import pyc.ir.ops  # noqa: E402, F401 - fills the op table
from pyc import cache, config, lax, numpy, tree  # noqa: E402
from pyc.array import Array  # noqa: E402
from pyc.device import block_until_ready, device_get, device_put, devices  # noqa: E402
from pyc.jit import Jitted, jit  # noqa: E402
from pyc.lax import cond, fori_loop, scan, switch, while_loop  # noqa: E402
from pyc.verify import verify  # noqa: E402

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

collector.keep()
collector.end()
