"""Steps of the host in programs of a device: a logical kernel, or a routine of LAPACK, as native
code for this processor.

The code is made as that of any program, through the cache: its key is the step's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc import backends, cache, config
from pyc.backends import base, launching
from pyc.backends.cpu import Cpu
from pyc.backends.host import host_target
from pyc.compile import RELEASE_BYTES, address
from pyc.fingerprint import Document, versions
from pyc.forks import compiling, load, may_wait
from pyc.frozen import frozen
from pyc.ir.loops import Kernel
from pyc.ir.ops.linalg import PACKAGE
from pyc.ir.plan import CANCELLED, Library, Plan, walk_steps
from pyc.ir.routines import alone, describe, is_lapack
from pyc.ir.target import Target
from pyc.runtime import call, pool

Array = np.ndarray[Any, Any]


@frozen()
class HostRoutine:
    """A routine of LAPACK that the host runs. text: a Plan of this step alone; roles: of its
    buffers."""

    text: str
    roles: tuple[str, ...]


class HostStep(launching.HostStep):
    """A step for this processor. name: under which the cache counts it."""

    def __init__(self, step: launching.HostKernel | HostRoutine, name: str) -> None:
        self.roles = step.roles
        payload = _payload(step, name)
        self._parallel = bool(payload["parallel"])
        externals = tuple(payload["externals"])
        code = base.Code(
            payload["object"], externals, self._parallel, payload["llvm"], payload["entry"]
        )
        routines = {routine: address(routine) for routine in externals}
        self._executable = Cpu(routines).load(code, Plan((), (), (), (), ()))
        self._arena_bytes = int(payload["arena"])

    def memory(self, nbytes: int) -> Array:
        """Bytes of undefined values for a buffer."""
        return pool.empty((nbytes,), np.dtype(np.uint8))

    def run(self, arrays: Sequence[Array]) -> None:
        """Runs the step on buffers of bytes, on all usable cores; without the interpreter's lock
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


def _payload(step: launching.HostKernel | HostRoutine, name: str) -> Document:
    """What the cache keeps of a step: its object code, and the bytes of its arena."""
    target = host_target(config.current().target)
    document: Document = {"sources": cache.source_digest()}
    if isinstance(step, HostRoutine):
        document |= {"host routine": step.text, "versions": versions(("llvmlite", PACKAGE))}
    else:
        document |= {"host step": step.text, "arguments": step.arguments}
        document["versions"] = versions(("llvmlite",))
    facts: Document = {"target": target.id, "features": target.features}
    make = host_routine if isinstance(step, HostRoutine) else host_step
    return cache.obtain(document, facts, lambda: make(document, target), name, wait=may_wait())


def host_routines(plan: Plan, name: str) -> dict[Library, HostStep]:
    """The routines of LAPACK in a device's Plan."""
    found: dict[Library, HostStep] = {}
    for step in walk_steps(plan.steps):
        if isinstance(step, Library) and is_lapack(step.routine) and step not in found:
            roles = describe(step.routine, step.integers).roles
            found[step] = HostStep(HostRoutine(str(alone(plan, step)), roles), name)
    return found


def host_kernel(kernel: Kernel, arguments: int) -> launching.HostKernel:
    """A logical kernel as a step of the host; its buffers beyond the first `arguments` are
    scratch."""
    text = backends.compiler().print_kernel(kernel)
    return launching.HostKernel(text, tuple(b.role for b in kernel.buffers), arguments)


def host_step(document: Document, target: Target) -> Document:
    """The payload of a kernel, compiled now from the text of it in the key document."""
    with compiling:
        compiler = backends.compiler()
        kernel = load("pyc.ir.parse_kernel").parse_kernel(document["host step"])
        check = config.current().debug
        plan = compiler.host_plan(kernel, document["arguments"], target, check=check)
        return _compiled(plan, target)


def host_routine(document: Document, target: Target) -> Document:
    """The payload of a routine, compiled now from the text of its Plan in the key document."""
    with compiling:
        plan = load("pyc.ir.text_plan").parse_plan(document["host routine"], ())
        return _compiled(plan, target)


def _compiled(plan: Plan, target: Target) -> Document:
    code = backends.compiler().compile_plan(plan, target)
    return {
        "object": code.object,
        "entry": code.entry,
        "externals": list(code.externals),
        "parallel": code.parallel,
        "llvm": code.llvm,
        "arena": plan.peak,
    }
