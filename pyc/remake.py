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
from pyc.compile_cuda import code_facts, code_of, emitted, solving
from pyc.compile_host import host_routine, host_step
from pyc.device import gpu
from pyc.errors import DeviceError
from pyc.fingerprint import Document
from pyc.forks import compiling
from pyc.ir.target import CPUS, Target
from pyc.ir.text_graph import parse_graph
from pyc.lowered import Lowered
from pyc.movement import Form


def _program(document: Document, facts: Document) -> Document:
    """A program, from its Graph: of a GPU by the driver that made it."""
    graph, options = parse_graph(document["graph"]), document["options"]
    if "driver" not in facts:
        return program_of(Lowered(graph, _target(facts), options, "")).payload()
    device = _gpu(facts)
    return code_of(Lowered(graph, _made_for(facts, device), options, ""), device).payload()


def _runtime(document: Document, facts: Document) -> Document:
    """A part of the runtime's own code, from its text."""
    with compiling:
        return {"object": assemble(document["runtime"])}


def _host_step(document: Document, facts: Document) -> Document:
    """A step of the host in a program for a GPU, from its kernel."""
    return host_step(document, _target(facts))


def _host_routine(document: Document, facts: Document) -> Document:
    """A routine of LAPACK in a program for a GPU, from its Plan."""
    return host_routine(document, _target(facts))


def _strided(document: Document, facts: Document) -> Document:
    """A copy with strides on a GPU, by the driver that made it."""
    bits, flipped, placed, tables = document["strided"]
    device = _gpu(facts)
    form = Form(bits, tuple(flipped), placed, tables)
    return emitted(form.plan(device.target), device).payload()


def _gpu(facts: Document) -> cuda.Device:
    """The GPU that machine code with these facts is for."""
    try:
        device = gpu("cuda")
        device.enter()
    except (ImportError, DeviceError) as error:
        raise CannotRemakeError(f"needs a GPU: {error}") from error
    here = code_facts(device, _made_for(facts, device))
    if here != facts:
        raise CannotRemakeError(f"made for {facts}, here is {here}")
    return device


def _made_for(facts: Document, device: cuda.Device) -> Target:
    """The target of a program with these facts."""
    return solving(device) if facts.get("solver") else device.target


def _target(facts: Document) -> Target:
    found = CPUS.get(facts.get("target", ""))
    if found is None or found.features != facts.get("features"):
        raise CannotRemakeError(f"made for another target: {facts.get('target')}")
    return found


MAKERS: dict[str, Callable[[Document, Document], Document]] = {
    "graph": _program,
    "runtime": _runtime,
    "host step": _host_step,
    "host routine": _host_routine,
    "strided": _strided,
}
