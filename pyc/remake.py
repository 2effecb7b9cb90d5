"""Cache entries made again, for `pyc.cache.verify`: payloads from key documents.

`MAKERS` tells, by a field that such documents alone have, how the payload is compiled from the
program in the document. `CannotRemakeError` says why this machine cannot.
"""

from __future__ import annotations

from collections.abc import Callable

from pyc.backends import cuda
from pyc.backends.assemble import assemble
from pyc.cache import CannotRemakeError
from pyc.compile import program_of
from pyc.compile_cuda import code_facts
from pyc.compile_host import host_step
from pyc.device import gpu
from pyc.errors import DeviceError
from pyc.fingerprint import Document
from pyc.forks import compiling
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.target import X86_64_V3, X86_64_V4, Target
from pyc.ir.text_graph import parse_graph
from pyc.lowered import Lowered

_TARGETS = {target.id: target for target in (X86_64_V3, X86_64_V4)}


def _program(document: Document, facts: Document) -> Document:
    """A program for the CPU, from its Graph."""
    graph = parse_graph(document["graph"])
    return program_of(Lowered(graph, _target(facts), document["options"], "")).payload()


def _runtime(document: Document, facts: Document) -> Document:
    """A part of the runtime's own code, from its text."""
    with compiling:
        return {"object": assemble(document["runtime"])}


def _host_step(document: Document, facts: Document) -> Document:
    """A step of the host in a program for a GPU, from its kernel."""
    kernel = parse_kernel(document["host step"])
    return host_step(kernel, document["arguments"], _target(facts))


def _gpu_code(document: Document, facts: Document) -> Document:
    """Machine code of a GPU, from PTX, by the driver that made it."""
    try:
        device = gpu("cuda")
        device.enter()
    except (ImportError, DeviceError) as error:
        raise CannotRemakeError(f"needs a GPU: {error}") from error
    here = code_facts(device)
    if here != facts:
        raise CannotRemakeError(f"made for {facts}, here is {here}")
    return {"cubin": cuda.cubin(document["ptx"])}


def _target(facts: Document) -> Target:
    found = _TARGETS.get(facts.get("target", ""))
    if found is None or found.features != facts.get("features"):
        raise CannotRemakeError(f"made for another target: {facts.get('target')}")
    return found


MAKERS: dict[str, Callable[[Document, Document], Document]] = {
    "graph": _program,
    "runtime": _runtime,
    "host step": _host_step,
    "ptx": _gpu_code,
}
