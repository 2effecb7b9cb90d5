"""Which kernels of a Plan are one function: those that are equal but for their names.

The layers of a network give the same kernels over and over, with other buffers; each is emitted and
compiled once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from pyc.frozen import replace
from pyc.ir.loops import Kernel, walk


def representatives(kernels: Sequence[Kernel]) -> tuple[int, ...]:
    """For each kernel the number of the first one that is equal to it but for the name."""
    alike: dict[Hashable, list[int]] = {}
    for k, kernel in enumerate(kernels):
        alike.setdefault(_outline(kernel), []).append(k)
    found = list(range(len(kernels)))
    for numbers in alike.values():
        if len(numbers) == 1:
            continue
        first: dict[str, int] = {}
        for k in numbers:
            # Texts are positional: equal ones are equal structures, whatever their variables.
            found[k] = first.setdefault(str(replace(kernels[k], name="")), k)
    return tuple(found)


def _outline(kernel: Kernel) -> Hashable:
    """What equal kernels share, for little: texts are only made of kernels that agree in it."""
    buffers = tuple((b.dtype.name, len(b.shape), b.role) for b in kernel.buffers)
    shapes = tuple(d for b in kernel.buffers for d in b.shape if isinstance(d, int))
    return buffers, shapes, tuple(type(s) for s in walk(kernel.body))
