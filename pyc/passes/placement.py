"""Where a kernel of a target with blocks runs: on the device, or as a step of the host.

Takes a logical kernel's loops or a scheduled kernel, returns why. Two things keep
a kernel on the host: a launch of the device cannot hold it (`exceeded`), or it has an order that
leaves so few threads at work that the host is faster, its copies included (`in_order`). What runs
in few threads of the device all the same is named too.

The times are those of an estimate by counts: shapes, types and `Target` facts decide, never a
clock, so that equal programs have equal plans. Its numbers are fitted to what `benchmarks/gpu.py`
measures ("placements": one thread of an H200, and its host).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from pyc.ir.by_value import WORD_BYTES, by_value
from pyc.ir.defined import size_of
from pyc.ir.expr import Expr, Load, postorder
from pyc.ir.loops import (
    Accumulate,
    Alloc,
    Body,
    Buffer,
    For,
    Kernel,
    Kind,
    Reduce,
    Space,
    Stmt,
    Store,
    While,
    bodies,
    expressions,
    walk,
)
from pyc.ir.target import Target
from pyc.passes.index import ANY, Simplifier
from pyc.passes.nest import LOOP_WORK
from pyc.reasons import Reason

STREAMED_NS = 3.0
"""An access of one thread to memory that the kernel only reads, or only writes."""
DEPENDENT_NS = 45.0
"""An access to memory that it reads and writes, which waits for the one before."""
INSTRUCTION_NS = 0.5
HOST_ACCESS_NS = 0.5
HOST_INSTRUCTION_NS = 0.1
HOST_STEP_NS = 5_000.0
"""Waiting for the device, and starting it again."""
HOST_COPY_NS = 10_000.0
"""One copy between the device and the host, however short."""
COPY_BYTES_PER_NS = 8.0
INNER_WORK = 4
"""Iterations that a loop of unknown length within another statement is taken to run."""
NAMED_NS = 10_000.0
"""Time of few threads of the device from which it is said."""


# --- limits of a launch ---------------------------------------------------------------------------


def exceeded(kernel: Kernel, target: Target) -> str:
    """Which limit of the target a launch of the scheduled kernel would break; empty if none."""
    words = len(kernel.buffers) + len(kernel.sizes) + 1 + len(by_value(kernel))
    private = _allocated(kernel, Space.STACK) + _allocated(kernel, Space.REGISTER)
    shared = _allocated(kernel, Space.SHARED)
    wide = [s.extent for s in walk(kernel.body) if isinstance(s, For) and s.kind is Kind.GRID]
    counts = (
        (WORD_BYTES * words, target.parameter_bytes, "bytes of parameters"),
        (private, target.thread_bytes, "bytes of memory for each thread"),
        (shared, target.shared_bytes, "bytes of shared memory"),
        *((n, most, "blocks") for n, most in zip(wide, target.grid) if isinstance(n, int)),
    )
    for count, most, what in counts:
        if count > most:
            return f"{kernel.name} needs {count} {what}, a launch has {most}"
    return ""


def _allocated(kernel: Kernel, space: Space) -> int:
    found = [s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)]
    return sum(_nbytes(b) for b in found if b.space is space)


def _nbytes(buffer: Buffer) -> int:
    return prod(d for d in buffer.shape if isinstance(d, int)) * buffer.dtype.itemsize


# --- work with an order ---------------------------------------------------------------------------


def in_order(
    core: Body, threads: int, kernel: Kernel, simplify: Simplifier, target: Target
) -> tuple[Reason, str] | None:
    """What to say of `threads` threads that each run `core`; None if nothing.

    kernel: the program with these loops, whose buffers a step of the host copies. Many threads hide
    each other's waiting, so a step of the host is for few only.
    """
    if threads >= target.warp_size or not _has_order(core):
        return None
    one = _amount(core, _changed(core), simplify)
    device = one.streamed * STREAMED_NS + one.dependent * DEPENDENT_NS
    device += one.instructions * INSTRUCTION_NS
    copies = [b for b in kernel.buffers for _ in range(2 if b.role == "inout" else 1)]
    moved = sum(map(_nbytes, copies))
    accesses = one.streamed + one.dependent
    host = threads * (accesses * HOST_ACCESS_NS + one.instructions * HOST_INSTRUCTION_NS)
    host += HOST_STEP_NS + len(copies) * HOST_COPY_NS + moved / COPY_BYTES_PER_NS
    many = f"{threads} thread{'s' if threads > 1 else ''}"
    work = f"{kernel.name} would run in {many}, each with {accesses} memory accesses and "
    work += f"{one.instructions} instructions in order"
    if host >= device:
        details = work.replace("would run", "runs")
        return (Reason.KERNEL_FEW_THREADS, details) if device >= NAMED_NS else None
    return Reason.PLACED_ON_HOST, f"{work}; on the host {moved} bytes are copied"


class _Amount(NamedTuple):
    """Memory accesses and instructions of one thread."""

    streamed: float = 0
    dependent: float = 0
    instructions: float = 0

    def plus(self, other: _Amount, times: float = 1) -> _Amount:
        """The sum with so many times another."""
        return _Amount(*(a + times * b for a, b in zip(self, other, strict=True)))


def _changed(body: Body) -> frozenset[Buffer]:
    """Buffers that are read and written."""
    nodes = [n for s in walk(body) for n in postorder(expressions(s))]
    loaded = {n.buffer for n in nodes if isinstance(n, Load)}
    stored = {s.buffer for s in walk(body) if isinstance(s, (Store, Accumulate))}
    added = {s.buffer for s in walk(body) if isinstance(s, Accumulate)}
    return frozenset((loaded & stored) | added)


def _has_order(body: Body) -> bool:
    """Whether a thread has a loop to run."""
    return any(
        isinstance(s, (While, Reduce)) or (isinstance(s, For) and s.extent != 1) for s in walk(body)
    )


def _amount(
    body: Sequence[Stmt],
    changed: frozenset[Buffer],
    simplify: Simplifier,
    unknown: int = LOOP_WORK,
) -> _Amount:
    """What one run of statements does; changed: buffers whose accesses wait for each other;
    unknown: the iterations that loops of unknown length are taken to run."""
    total = _Amount()
    for s in body:
        times = 1
        if isinstance(s, For):
            times = _most(s, simplify, unknown)
        elif isinstance(s, While):
            times = unknown
        elif isinstance(s, Reduce):
            times = prod(e if isinstance(e, int) else unknown for _, e in s.domain)
        before = [c.initial for c in s.carried] if isinstance(s, (For, While)) else []
        once = set(map(id, before))
        own = _evaluated([e for e in expressions(s) if id(e) not in once], changed)
        if isinstance(s, Store):
            own = own.plus(_access(s.buffer, changed))
        elif isinstance(s, Accumulate):
            own = own.plus(_access(s.buffer, changed), 2)
        for inner in bodies(s):
            own = own.plus(_amount(inner, changed, simplify, INNER_WORK))
        total = total.plus(_evaluated(before, changed)).plus(own, times)
    return total


def _evaluated(roots: Sequence[Expr], changed: frozenset[Buffer]) -> _Amount:
    nodes = postorder(roots)
    found = _Amount(instructions=sum(map(size_of, nodes)))
    for n in nodes:
        if isinstance(n, Load):
            found = found.plus(_access(n.buffer, changed))
    return found


def _access(buffer: Buffer, changed: frozenset[Buffer]) -> _Amount:
    return _Amount(dependent=1) if buffer in changed else _Amount(streamed=1)


def _most(loop: For, simplify: Simplifier, unknown: int) -> int:
    """The most iterations of a loop, as far as they are known."""
    if isinstance(loop.extent, int):
        return loop.extent
    _, high = simplify.range(loop.extent)
    return high if high < ANY[1] else unknown
