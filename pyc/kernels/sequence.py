"""Several launches that do one op: kernels with the buffers that each is called with.

Kernels here are scheduled, for targets with blocks. One kernel may be called several times, with
other buffers: it is emitted once.
"""

from __future__ import annotations

from pyc.frozen import frozen
from pyc.ir.loops import Buffer, Kernel


@frozen()
class Call:
    """A launch: arguments stand for the kernel's buffers, of their types and sizes."""

    kernel: Kernel
    arguments: tuple[Buffer, ...]


@frozen()
class LaunchSequence:
    """The launches of an op, in order. buffers: its arguments and results, in this order; what
    else the calls name is scratch memory."""

    buffers: tuple[Buffer, ...]
    calls: tuple[Call, ...]
