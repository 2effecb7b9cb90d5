"""The kernel interpreter: what a `Kernel` computes, and whether it may be run in parallel at all.

Takes a kernel and its arrays, works on the arrays in place and returns an `Outcome`: the failed
site and the findings. A finding is something the grammar (`loops.py`) leaves undefined: a race, a
barrier not all threads reach, a read of what was never written, an index out of range.

How it runs. Iterations of lane loops (parallel, vector, warp, thread, and serial loops that
provably do not communicate) are axes of NumPy arrays: all values have the same rank, axis d for the
lane loop at depth d, of length 1 where the value does not vary. Control that differs between lanes
becomes a mask. Grid loops run block by block in a shuffled order. Where a thread loop contains
roles, the warps of each become a coroutine of their own; they are interleaved at Signal, Wait and
Barrier in an order drawn from `schedule_seed`, as is the block of a group that comes `Last`.

Races do not depend on that order: they are found by vector clocks (as in FastTrack: Flanagan and
Freund, PLDI 2009) over the threads of a block, with one more column per phased barrier for the
copies that signal it; blocks of a group know of each other how often they have met. Each tracked
element remembers its last writer and two readers, the lowest and the highest that are not yet
ordered; a write unordered with only a third is not seen. Lock-step lanes of a vector loop are one
thread and do not race; where they store to one element, the highest lane wins.

The package shares nothing with the passes or the backends; it is the oracle for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pyc.ir import loops as lo
from pyc.ir.instructions import quietly
from pyc.ir.loops import Kernel
from pyc.ir.simulate import barriers, control, statements, tiles
from pyc.ir.simulate.findings import Finding, Outcome, SimulationError
from pyc.ir.simulate.memory import parameter_storage
from pyc.ir.simulate.state import (
    Array,
    Frame,
    Leaf,
    Machine,
    Nest,
    Storage,
)
from pyc.ir.text_kernel import print_kernel

__all__ = ["Finding", "Outcome", "SimulationError", "run"]

_LEAVES: Mapping[type, Leaf] = {
    lo.Let: statements.let,
    lo.Reduce: statements.reduce,
    lo.Store: statements.store,
    lo.Accumulate: statements.accumulate,
    lo.Prefetch: statements.prefetch,
    lo.Copy: tiles.copy_box,
    lo.TileMultiply: tiles.multiply,
    lo.PairsMultiply: tiles.multiply_pairs,
    lo.Split: tiles.split,
    lo.Fail: statements.fail,
    lo.Last: barriers.last,
}

_NESTS: Mapping[type, Nest] = {
    lo.For: control.for_loop,
    lo.While: control.while_loop,
    lo.If: control.branch,
    lo.Alloc: control.allocate,
    lo.Cumulate: statements.cumulate,
    lo.Barrier: barriers.barrier,
    lo.Signal: barriers.signal,
    lo.Wait: barriers.wait,
}


def run(
    kernel: Kernel,
    arrays: Sequence[Array],
    sizes: Sequence[int] = (),
    *,
    check: bool = True,
    schedule_seed: int = 0,
    check_outputs: bool = True,
    max_iterations: int = 1_000_000,
) -> Outcome:
    """Executes `kernel` on `arrays` in place and reports.

    arrays: one per parameter, of its shape and dtype; "out" arrays are poisoned first unless they
    overlap another argument. sizes: values of the size parameters. check: raise SimulationError at
    the first finding; else findings are collected, each kind once per statement, and the run goes
    on with defined values. check_outputs: an "out" element that is never stored is a finding.
    max_iterations: of one `While`, beyond which it is a finding.
    """
    machine = Machine(
        kernel,
        _LEAVES,
        _NESTS,
        check=check,
        seed=schedule_seed,
        max_iterations=max_iterations,
    )
    try:
        with quietly():
            _run(machine, arrays, sizes, check_outputs)
    except SimulationError as error:
        error.add_note(print_kernel(kernel))
        raise
    return machine.outcome


def _run(
    machine: Machine, arrays: Sequence[Array], sizes: Sequence[int], check_outputs: bool
) -> None:
    kernel = machine.kernel
    if len(arrays) != len(kernel.buffers) or len(sizes) != len(kernel.sizes):
        raise SimulationError(
            f"kernel {kernel.name} takes {len(kernel.buffers)} arrays and {len(kernel.sizes)} "
            f"sizes, got {len(arrays)} and {len(sizes)}"
        )
    zero = np.zeros(machine.one, np.int64)
    env = {v: machine.uniform(n, v.dtype) for v, n in zip(kernel.sizes, sizes, strict=True)}
    every = np.arange(machine.threads)
    frame = Frame(None, (), (), {}, zero, zero, 0, env, {}, every)
    outs: list[Storage] = []
    for buffer, array in zip(kernel.buffers, arrays, strict=True):
        storage = parameter_storage(buffer, array, arrays, frame)
        frame.buffers[buffer] = storage
        if buffer.role == "out":
            outs.append(storage)
    machine.drive([machine.body(kernel.body, frame)])
    barriers.finish_block(machine)
    for buffer, array in zip(kernel.buffers, arrays, strict=True):
        if not array.flags.c_contiguous:
            array[...] = frame.buffers[buffer].flat.reshape(array.shape)
    for storage in outs:
        assert storage.written is not None
        if check_outputs and not storage.written.all():
            at = np.unravel_index(int(np.argmin(storage.written)), storage.shape)
            where = tuple(int(i) for i in at)
            missing = int(np.count_nonzero(~storage.written))
            message = f"{missing} elements of output {storage.buffer.name} were never stored"
            machine.report("unstored", None, f"{message}, the first at {where}")
