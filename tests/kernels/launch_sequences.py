"""Helpers of the tests here: run the launches of an op in the kernel interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pyc.frozen import replace
from pyc.ir.loops import Barrier, Body, Buffer, For, Kernel, Kind, Stmt, Store, bodies, walk
from pyc.ir.simulate import SimulationError, run
from pyc.ir.verify_kernel import verify
from pyc.kernels.sequence import Call, LaunchSequence

Array = np.ndarray[Any, Any]


def execute(sequence: LaunchSequence, arrays: Sequence[Array]) -> None:
    """Runs all launches on arrays for the sequence's buffers, in place. Scratch memory is poisoned.
    SimulationError: a race, a barrier that not all reach, a read of what was not written."""
    memory = dict(zip(sequence.buffers, arrays, strict=True))
    memory.update((buffer, table.copy()) for buffer, table in sequence.tables)
    for call in sequence.calls:
        verify(call.kernel, scheduled=True)
        for own, buffer in zip(call.kernel.buffers, call.arguments, strict=True):
            if buffer not in memory:
                memory[buffer] = np.full(_bytes(buffer), 0xCB, np.uint8).view(buffer.dtype.numpy)
            assert memory[buffer].nbytes == _bytes(own) and own.dtype is buffer.dtype
        shaped = [
            memory[b].reshape(own.shape)
            for own, b in zip(call.kernel.buffers, call.arguments, strict=True)
        ]
        run(call.kernel, shaped, max_iterations=1000)


def _bytes(buffer: Buffer) -> int:
    shape = [d for d in buffer.shape if isinstance(d, int)]
    return int(np.prod(shape, dtype=np.int64)) * buffer.dtype.itemsize


def without_each_barrier(sequence: LaunchSequence) -> Iterator[LaunchSequence]:
    """The sequence with one barrier of one kernel left out, in every way."""
    for kernel in dict.fromkeys(call.kernel for call in sequence.calls):
        for barrier in [s for s in walk(kernel.body) if isinstance(s, Barrier)]:
            other = replace(kernel, body=_without(kernel.body, barrier))
            calls = tuple(
                Call(other if c.kernel is kernel else c.kernel, c.arguments) for c in sequence.calls
            )
            yield LaunchSequence(sequence.buffers, calls)


def _without(body: Body, left_out: Stmt) -> Body:
    result: list[Stmt] = []
    for s in body:
        if s is left_out:
            continue
        inner = bodies(s)
        if len(inner) == 1:
            result.append(replace(s, body=_without(inner[0], left_out)))
        elif inner:
            then, orelse = (_without(b, left_out) for b in inner)
            result.append(replace(s, then=then, orelse=orelse))
        else:
            result.append(s)
    return tuple(result)


def is_reported(sequence: LaunchSequence, arrays: Sequence[Array]) -> bool:
    """Whether the interpreter finds fault with it."""
    try:
        execute(sequence, arrays)
    except SimulationError:
        return True
    return False


def with_tasks_that_meet(kernel: Kernel) -> Kernel:
    """The kernel with a task that also does the first element of the next: two tasks meet."""
    (loop,) = kernel.body
    assert isinstance(loop, For) and loop.kind is Kind.PARALLEL and isinstance(loop.extent, int)
    return replace(kernel, body=(replace(loop, body=_first_place(loop.body)),))


def _first_place(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Statements that store into the first element of memory in place of their own."""
    found: list[Stmt] = []
    for s in body:
        inner = bodies(s)
        if isinstance(s, Store) and s.buffer.role == "inout":
            s = replace(s, index=tuple(i - i for i in s.index))
        elif inner and hasattr(s, "body"):
            s = replace(s, body=_first_place(inner[0]))
        elif inner:
            s = replace(s, then=_first_place(inner[0]), orelse=_first_place(inner[1]))
        found.append(s)
    return tuple(found)


__all__ = [
    "Kernel",
    "execute",
    "is_reported",
    "with_tasks_that_meet",
    "without_each_barrier",
]
