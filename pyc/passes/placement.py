"""Where a kernel of a target with blocks runs: on the device, or as a step of the host.

Takes a logical kernel's loops or a scheduled kernel, returns why. Two things keep
a kernel on the host: a launch of the device cannot hold it (`exceeded`), or it has an order that
leaves so few threads at work that the host is faster, its copies included (`in_order`). What runs
in few threads of the device all the same is named too.

The times are those of an estimate by counts: shapes, types and `Target` facts decide, never a
clock, so that equal programs have equal plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, prod

from pyc.ir.expr import Apply, Load, postorder
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
from pyc.passes.index import Simplifier
from pyc.passes.nest import LOOP_WORK
from pyc.passes.tile_blocks import SHARED_BYTES
from pyc.reasons import Reason

DEVICE_ACCESS_NS = 60.0
"""One access of a thread that waits for the one before: most are in its cache, few in memory."""
DEVICE_INSTRUCTION_NS = 3.0
"""One instruction of a thread that waits for the one before."""
HOST_ACCESS_NS = 1.0
HOST_INSTRUCTION_NS = 0.4
HOST_STEP_NS = 60_000.0
"""Waiting for the device, and starting it again."""
COPY_BYTES_PER_NS = 8.0
"""Bytes between the device and pageable memory."""
INNER_WORK = 4
"""Iterations that a loop of unknown length within another statement is taken to run."""
NAMED_NS = 10_000.0
"""Time of few threads of the device from which it is said."""


# --- limits of a launch ---------------------------------------------------------------------------


def exceeded(kernel: Kernel, target: Target) -> str:
    """Which limit of the target a launch of the scheduled kernel would break; empty if none."""
    parameters = 8 * (len(kernel.buffers) + len(kernel.sizes) + 1)
    private = _allocated(kernel, Space.STACK) + _allocated(kernel, Space.REGISTER)
    shared = _allocated(kernel, Space.SHARED)
    wide = [s.extent for s in walk(kernel.body) if isinstance(s, For) and s.kind is Kind.GRID]
    counts = (
        (parameters, target.parameter_bytes, "bytes of parameters"),
        (private, target.thread_bytes, "bytes of memory for each thread"),
        (shared, SHARED_BYTES, "bytes of shared memory"),
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
    accesses, applied = _amount(core, simplify)
    if threads >= target.warp_size or not _has_order(core):
        return None
    device = accesses * DEVICE_ACCESS_NS + applied * DEVICE_INSTRUCTION_NS
    moved = sum(_nbytes(b) * (2 if b.role == "inout" else 1) for b in kernel.buffers)
    host = threads * (accesses * HOST_ACCESS_NS + applied * HOST_INSTRUCTION_NS)
    host += HOST_STEP_NS + moved / COPY_BYTES_PER_NS
    many = f"{threads} thread{'s' if threads > 1 else ''}"
    work = f"{kernel.name} would run in {many}, each with {accesses} memory accesses and {applied} "
    work += "instructions in order"
    if host >= device:
        details = work.replace("would run", "runs")
        return (Reason.KERNEL_FEW_THREADS, details) if device >= NAMED_NS else None
    return Reason.FALLBACK_HOST, f"{work}; on the host {moved} bytes are copied"


def _has_order(body: Body) -> bool:
    """Whether a thread has a loop to run."""
    return any(
        isinstance(s, (While, Reduce)) or (isinstance(s, For) and s.extent != 1) for s in walk(body)
    )


def _amount(
    body: Sequence[Stmt], simplify: Simplifier, unknown: int = LOOP_WORK
) -> tuple[int, int]:
    """Memory accesses and instructions of one run of statements; unknown: the iterations that loops
    of unknown length are taken to run."""
    accesses = applied = 0
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
        nodes = postorder([e for e in expressions(s) if id(e) not in once])
        own = sum(isinstance(n, Load) for n in nodes)
        own += isinstance(s, Store) + 2 * isinstance(s, Accumulate)
        computed = sum(isinstance(n, Apply) for n in nodes)
        for inner in bodies(s):
            more = _amount(inner, simplify, INNER_WORK)
            own, computed = own + more[0], computed + more[1]
        first = postorder(before)
        accesses += times * own + sum(isinstance(n, Load) for n in first)
        applied += times * computed + sum(isinstance(n, Apply) for n in first)
    return accesses, applied


def _most(loop: For, simplify: Simplifier, unknown: int) -> int:
    """The most iterations of a loop, as far as they are known."""
    if isinstance(loop.extent, int):
        return loop.extent
    _, high = simplify.range(loop.extent)
    return int(high) if isfinite(high) else unknown
