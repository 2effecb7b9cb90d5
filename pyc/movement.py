"""Parts and orders of arrays on a GPU, for arrays of any shape: what `Op.view` says, as a copy.

Transposed, broadcast, sliced, reversed arrays are walks with strides through the memory of others.
One program for each number of axes and size of elements copies them all; it is in the disk cache
like others.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pyc import backends, cache, config
from pyc.array import Array, known_type
from pyc.fingerprint import Document, versions
from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.plan import Plan
from pyc.ir.strides import walked
from pyc.ir.types import ArrayType

if TYPE_CHECKING:
    from pyc.backends.cuda import Device
    from pyc.backends.cuda_program import CudaProgram

PROGRAMS = 1024
"""Programs for one shape that are kept."""
_WORD = 64
"""Bits that a thread moves at most."""


@frozen()
class Form:
    """What a program is for: elements of so many bits, and for each axis whether it is walked from
    its end."""

    bits: int
    flipped: tuple[bool, ...]

    def plan(self, target: Any) -> Plan:
        """The Plan, made now."""
        made: Plan = backends.compiler().plan_strided(
            dt.unsigned_of(self.bits), self.flipped, target, check=config.current().debug
        )
        return made

    def document(self) -> Document:
        """What the key of its cache entry is made of."""
        return {
            "strided": [self.bits, *self.flipped],
            "sources": cache.source_digest(),
            "versions": versions(("llvmlite",)),
        }


def copied(x: Array, type: ArrayType, offset: int, strides: tuple[int, ...]) -> Array | None:
    """A new array of a type: its elements are those of `x`, an array on a GPU, from one on, so far
    apart along each axis. None if there is no memory for it, or nothing to copy."""
    if not type.size:
        return None
    shape, bits = type.shape, 8 * type.dtype.itemsize
    if bits > _WORD:
        parts = bits // _WORD
        shape, bits = (*shape, parts), _WORD
        offset, strides = offset * parts, (*(s * parts for s in strides), 1)
    walk = walked(shape, strides, offset)
    lacking = max(2 - len(walk.sizes), 0)
    form = Form(bits, (*(False,) * lacking, *walk.flipped))
    given = (*(1,) * lacking, *walk.sizes, *(0,) * lacking, *walk.steps)
    length = x.nbytes * 8 // bits
    device = x._device
    program = _bound(form, device, (*given, walk.first, length))
    device.enter()
    try:
        made = Array(known_type(type), device, device.allocate(type.nbytes))
    except MemoryError:  # the program for the shape says what needed how much
        return None
    program.run([x.address], [made.address])
    return made


@lru_cache(maxsize=PROGRAMS)
def _bound(form: Form, device: Device, sizes: tuple[int, ...]) -> CudaProgram:
    return _program(form, device).bound(sizes)


@lru_cache(maxsize=PROGRAMS)
def _program(form: Form, device: Device) -> CudaProgram:
    compiler = backends.gpu_compiler()
    made: CudaProgram = compiler.obtained_plan(
        form.document(), lambda: form.plan(device.target), device, "eager view"
    )
    return made


def clear() -> None:
    """Forgets the programs."""
    _bound.cache_clear()
    _program.cache_clear()
