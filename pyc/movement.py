"""Elements that are moved on a GPU, for arrays of any shape: what `Op.view`, `Op.parts` and
`Op.lookup` say, as copies.

Transposed, broadcast, sliced, reversed arrays are walks with strides through the memory of others;
joined and padded ones are boxes of a larger one; and arrays of places tell rows to be read. One
program for each number of axes and size of elements copies them all; it is in the disk cache like
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pyc import backends, cache, config
from pyc.array import Array, known_type, moved
from pyc.device import device_named
from pyc.fingerprint import Document, versions
from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.op import Op
from pyc.ir.plan import Plan
from pyc.ir.strides import merged, walked
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
    its end; whether the elements are placed in a larger array; how many tables of places there
    are."""

    bits: int
    flipped: tuple[bool, ...]
    placed: bool = False
    tables: int = 0

    def plan(self, target: Any) -> Plan:
        """The Plan, made now."""
        made: Plan = backends.compiler().plan_strided(
            dt.unsigned_of(self.bits),
            self.flipped,
            target,
            placed=self.placed,
            tables=self.tables,
            check=config.current().debug,
        )
        return made

    def document(self) -> Document:
        """What the key of its cache entry is made of."""
        return {
            "strided": [self.bits, list(self.flipped), self.placed, self.tables],
            "sources": cache.source_digest(),
            "versions": versions(("llvmlite",)),
        }


def result(
    op: Op, args: Sequence[Any], types: tuple[ArrayType, ...], params: dict[str, Any], name: str
) -> Array | None:
    """The result of an op with `view`, `parts` or `lookup`, on the GPU of a name, of arrays there
    and others, which are copied there. None if there is no memory for it, or if elements say where
    the parts are."""
    device = device_named(name)
    there = [x if isinstance(x, Array) else moved(x, device) for x in args]
    if op.view is not None:
        (type,) = op.types(types, **params)
        return copied(there[0], type, *op.view(types, **params))
    return (joined if op.parts is not None else looked_up)(op, there, types, params)


def copied(x: Array, type: ArrayType, offset: int, strides: tuple[int, ...]) -> Array | None:
    """A new array of a type: its elements are those of `x`, an array on a GPU, from one on, so far
    apart along each axis. None if there is no memory for it."""
    made = _allocated(type, x)
    if made is None or not type.size:
        return made
    bits, words = _words(type)
    shape, steps = _in_words(words, type.shape, strides)
    walk = walked(shape, steps, offset * words)
    lacking = max(2 - len(walk.sizes), 0)
    form = Form(bits, (*(False,) * lacking, *walk.flipped))
    given = (*(1,) * lacking, *walk.sizes, *(0,) * lacking, *walk.steps)
    length = x.nbytes * 8 // bits
    _bound(form, x._device, (*given, walk.first, length)).run([x.address], [made.address])
    return made


def joined(
    op: Op, args: Sequence[Array], types: tuple[ArrayType, ...], params: dict[str, Any]
) -> Array | None:
    """The result of an op with `parts`, of arrays on one GPU. None if there is no memory for it, or
    if elements say where the parts are."""
    (type,) = op.types(types, **params)
    assert op.parts is not None
    parts = op.parts(types, **params)
    made = None if parts is None else _allocated(type, args[0])
    if parts is None or made is None:
        return None
    bits, words = _words(type)
    whole = type.size * words
    for part in parts:
        if 0 in part.shape:
            continue
        x = args[part.argument]
        shape, steps, into = _in_words(words, part.shape, part.steps, part.into)
        sizes, walks = _at_least_two(*merged(shape, steps, into))
        form = Form(bits, (False,) * len(sizes), placed=True)
        length = x.nbytes * 8 // bits
        given = (*sizes, *walks[0], 0, length, *walks[1], part.first * words, whole)
        _bound(form, x._device, given).run([x.address], [made.address])
    return made


def looked_up(
    op: Op, args: Sequence[Array], types: tuple[ArrayType, ...], params: dict[str, Any]
) -> Array | None:
    """The result of an op with `lookup`, of arrays on one GPU. None if there is no memory."""
    (type,) = op.types(types, **params)
    made = _allocated(type, args[0])
    if made is None or not type.size:
        return made
    assert op.lookup is not None
    found = op.lookup(types, **params)
    x, *tables = args
    bits, words = _words(type)
    shape, steps = _in_words(words, type.shape, found.steps)
    table = (*found.table, 0) if words > 1 else found.table
    sizes, walks = _at_least_two(*merged(shape, steps, table))
    form = Form(bits, (False,) * len(sizes), tables=len(tables))
    axes = [number for n, step in found.axes for number in (n, step * words)]
    length = x.nbytes * 8 // bits
    given = (*sizes, *walks[0], 0, length, *walks[1], types[1].size, *axes)
    _bound(form, x._device, given).run([a.address for a in args], [made.address])
    return made


def _words(type: ArrayType) -> tuple[int, int]:
    """How many bits a thread moves, and how many times that an element has."""
    bits = 8 * type.dtype.itemsize
    return min(bits, _WORD), max(bits // _WORD, 1)


def _in_words(
    words: int, shape: tuple[int, ...], *strides: tuple[int, ...]
) -> list[tuple[int, ...]]:
    """A shape and the strides of walks, for elements of so many words."""
    if words == 1:
        return [shape, *strides]
    return [(*shape, words), *((*(s * words for s in steps), 1) for steps in strides)]


def _at_least_two(
    sizes: tuple[int, ...], walks: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The axes of walks, with axes of one element in front where there are fewer than two."""
    lacking = max(2 - len(sizes), 0)
    return (*(1,) * lacking, *sizes), [(*(0,) * lacking, *steps) for steps in walks]


def _allocated(type: ArrayType, like: Array) -> Array | None:
    """A new array on the GPU of another; None if there is no memory for it."""
    device = like._device
    device.enter()
    try:
        return Array(known_type(type), device, device.allocate(type.nbytes))
    except MemoryError:  # the program for the shape says what needed how much
        return None


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
