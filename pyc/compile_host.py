"""Steps of the host in programs of a device: a logical kernel as native code for this processor.

The code is made as that of any program, through the cache: its key is the kernel's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc import backends, cache, config
from pyc.backends import base
from pyc.backends.cpu import Cpu
from pyc.backends.host import host_target
from pyc.compile import RELEASE_BYTES
from pyc.fingerprint import Document, versions
from pyc.forks import compiling, may_wait
from pyc.ir.loops import Kernel
from pyc.ir.plan import CANCELLED, Plan
from pyc.ir.target import Target
from pyc.runtime import call, pool

Array = np.ndarray[Any, Any]


class HostStep(base.HostStep):
    """A logical kernel for this processor; its buffers beyond the first `arguments` are scratch.

    name: under which the cache counts it.
    """

    def __init__(self, kernel: Kernel, arguments: int, name: str) -> None:
        payload = _payload(kernel, arguments, name)
        self._parallel = bool(payload["parallel"])
        code = base.Code(payload["object"], (), self._parallel, payload["llvm"])
        self._executable = Cpu().load(code, Plan((), (), (), (), ()))
        self._arena_bytes = int(payload["arena"])

    def memory(self, nbytes: int) -> Array:
        """Bytes of undefined values for a buffer."""
        return pool.empty((nbytes,), np.dtype(np.uint8))

    def run(self, arrays: Sequence[Array]) -> None:
        """Runs the kernel on buffers of bytes, on all usable cores; without the interpreter's lock
        where it is long, as programs of the CPU do."""
        outcome = call.run(
            self._executable.address,
            arrays,
            (),
            arena_bytes=self._arena_bytes,
            constants=self._executable.constants.ctypes.data,
            externals=self._executable.externals.ctypes.data,
            release=sum(a.nbytes for a in arrays) >= RELEASE_BYTES,
            parallel=self._parallel,
        )
        if outcome.code == CANCELLED:
            raise KeyboardInterrupt
        if outcome.code:
            raise base.SiteFailed(outcome.site, outcome.value)


def _payload(kernel: Kernel, arguments: int, name: str) -> Document:
    """What the cache keeps of a step: its object code, and the bytes of its arena."""
    text = backends.compiler().print_kernel(kernel)
    target = host_target(config.current().target)
    document: Document = {
        "host step": text,
        "arguments": arguments,
        "sources": cache.source_digest(),
        "versions": versions(("llvmlite",)),
    }
    facts: Document = {"target": target.id, "features": target.features}
    return cache.obtain(
        document,
        facts,
        lambda: host_step(kernel, arguments, target),
        name,
        wait=may_wait(),
    )


def host_step(kernel: Kernel, arguments: int, target: Target) -> Document:
    """The payload of a step, compiled now."""
    with compiling:
        compiler = backends.compiler()
        plan = compiler.host_plan(kernel, arguments, target, check=config.current().debug)
        code = compiler.compile_plan(plan, target)
    return {
        "object": code.object,
        "parallel": code.parallel,
        "llvm": code.llvm,
        "arena": plan.peak,
    }
