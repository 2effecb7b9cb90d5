"""Several launches that do one op: kernels with the buffers that each is called with.

Kernels here are scheduled, for one target. One kernel may be called several times, with
other buffers: it is emitted once.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any, Union

import numpy as np

from pyc.frozen import frozen
from pyc.ir.loops import Buffer, Kernel
from pyc.ir.plan import Copy
from pyc.ir.types import ArrayType


@frozen()
class Call:
    """A launch: arguments stand for the kernel's buffers, of their types and sizes."""

    kernel: Kernel
    arguments: tuple[Buffer, ...]


@frozen()
class LaunchSequence:
    """The launches of an op, in order. buffers: its arguments and results, in this order; tables:
    buffers that hold known numbers; what else the calls name is scratch memory."""

    buffers: tuple[Buffer, ...]
    calls: tuple[Call, ...]
    tables: tuple[tuple[Buffer, np.ndarray[Any, Any]], ...] = ()

    def __str__(self) -> str:
        """How many launches, and of which kernels."""
        parts = [(name, len(list(g))) for name, g in groupby(c.kernel.name for c in self.calls)]
        names = ", ".join(name if count == 1 else f"{count} x {name}" for name, count in parts)
        return f"{len(self.calls)} launches: {names}"


@frozen()
class Routine:
    """A call of a routine."""

    routine: str
    slots: tuple[int, ...]
    integers: tuple[int, ...]


@frozen()
class Around:
    """A logical kernel; slots: of its buffers."""

    kernel: Kernel
    slots: tuple[int, ...]


@frozen()
class Solved:
    """What an op is on a device: steps in order, over its arguments, its results and `scratch`."""

    steps: tuple[Union[Routine, Around, Copy], ...]
    scratch: tuple[ArrayType, ...]

    def __str__(self) -> str:
        """The routines."""
        return ", ".join(s.routine for s in self.steps if isinstance(s, Routine))
