"""The Plan of one logical kernel for the host: what a step of the host runs for a device.

The kernel's buffers that the device has are the arguments, in order, whether they are read or
written; scratch memory lies in the arena, piece after piece, for the whole call.
"""

from __future__ import annotations

from math import prod

from pyc.ir.loops import Buffer, Kernel
from pyc.ir.plan import ALIGNMENT, Launch, Place, Plan, PlanBuffer
from pyc.ir.target import Target
from pyc.ir.verify_kernel import verify
from pyc.passes.schedule import schedule


def host_plan(kernel: Kernel, arguments: int, target: Target, *, check: bool = False) -> Plan:
    """The Plan that runs a logical kernel on `target`, a CPU; its buffers beyond the first
    `arguments` are scratch. check: verify the kernel, as it is and as scheduled."""
    stages = schedule(kernel, target)
    if check:
        verify(kernel)
        for stage in stages:
            verify(stage.kernel, scheduled=True)
    buffers: list[PlanBuffer] = []
    slots: dict[Buffer, int] = {}
    peak = 0

    def slot(b: Buffer) -> int:
        nonlocal peak
        if b not in slots:
            nbytes = _nbytes(b)
            buffers.append(PlanBuffer(nbytes, Place.ARENA, peak, first=1, last=len(stages)))
            peak += -(-nbytes // ALIGNMENT) * ALIGNMENT
            slots[b] = len(buffers) - 1
        return slots[b]

    for k, b in enumerate(kernel.buffers[:arguments]):
        buffers.append(PlanBuffer(_nbytes(b), Place.ARGUMENT, k, first=1, last=len(stages)))
        slots[b] = k
    steps: list[Launch] = []
    for number, stage in enumerate(stages):
        known = [kernel.buffers[p] for p in stage.positions]
        scratch = stage.kernel.buffers[len(known) :]
        steps.append(Launch(number, tuple(slot(b) for b in (*known, *scratch))))
    return Plan(
        kernels=tuple(stage.kernel for stage in stages),
        buffers=tuple(buffers),
        steps=tuple(steps),
        arguments=tuple(range(arguments)),
        results=(),
        peak=peak,
        lower_bound=peak,
    )


def _nbytes(buffer: Buffer) -> int:
    return prod(d for d in buffer.shape if isinstance(d, int)) * buffer.dtype.itemsize
