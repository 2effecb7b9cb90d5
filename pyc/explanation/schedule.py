"""How a kernel is run, in words, read off its loops."""

from __future__ import annotations

from math import prod

from pyc.ir.loops import (
    Alloc,
    Body,
    Extent,
    For,
    If,
    Kernel,
    Kind,
    PairsMultiply,
    Space,
    TileMultiply,
    While,
    spine,
    walk,
)
from pyc.report.words import nbytes, plural


def describe(kernel: Kernel, *, host: bool = False) -> str:
    """The schedule of a kernel in words. host: a step of the host in a program of a device."""
    statements = list(walk(kernel.body))
    loops = [s for s in statements if isinstance(s, For)]
    parts = ["run by the host"] if host else []
    parts += _device(loops) if any(s.kind is Kind.GRID for s in loops) else _tasks(kernel.body)
    lanes = sorted({s.extent for s in loops if s.kind is Kind.VECTOR and isinstance(s.extent, int)})
    if lanes:
        parts.append(f"vectors of {', '.join(map(str, lanes))} elements")
    carried = max((len(s.carried) for s in loops), default=0)
    if carried > 1:
        parts.append(f"{carried} running values")
    if any(isinstance(s, While) for s in statements):
        parts.append("repeats until each lane is done")
    if any(isinstance(s, TileMultiply) for s in statements):
        parts.append("tensor cores")
    if any(isinstance(s, PairsMultiply) for s in statements):
        parts.append("tiles of AMX")
    for space, words in ((Space.STACK, "of scratch a task"), (Space.SHARED, "of shared memory")):
        allocated = sum(
            _bytes(s) for s in statements if isinstance(s, Alloc) and s.buffer.space is space
        )
        if allocated:
            parts.append(f"{nbytes(allocated)} {words}")
    return "; ".join(parts)


def tasks(kernel: Kernel) -> int:
    """How many threads could take part in each part of a kernel: the tasks of its widest loop. On
    a device that has them, its blocks."""
    grids = [s.extent for s in walk(kernel.body) if isinstance(s, For) and s.kind is Kind.GRID]
    if grids:
        return prod(e for e in grids if isinstance(e, int))
    extents = [s.extent for s in _outermost(kernel.body) if s.kind is Kind.PARALLEL]
    return max([1, *(e for e in extents if isinstance(e, int))])


def _tasks(body: Body) -> list[str]:
    loops = _outermost(body)
    found = [s.extent for s in loops if s.kind is Kind.PARALLEL]
    if not found:
        return ["one thread"]
    counts = ", then ".join(plural(e, "task") if isinstance(e, int) else "tasks" for e in found)
    return [f"{counts} for the threads"]


def _outermost(body: Body) -> list[For]:
    """The loops that no other loop encloses."""
    found: list[For] = []
    heads, innermost = spine(body)
    for s in (*(s for before, _ in heads for s in before), *innermost):
        if isinstance(s, For):
            found.append(s)
        elif isinstance(s, Alloc):
            found += _outermost(s.body)
        elif isinstance(s, If):
            found += [*_outermost(s.then), *_outermost(s.orelse)]
    return found


def _device(loops: list[For]) -> list[str]:
    extents = {kind: [s.extent for s in loops if s.kind is kind] for kind in Kind}
    parts = [f"{_size([*extents[Kind.GRID], *extents[Kind.CLUSTER], *extents[Kind.GROUP]])} blocks"]
    if extents[Kind.CLUSTER]:
        parts[0] += f" in clusters of {_size(extents[Kind.CLUSTER])}"
    if extents[Kind.GROUP]:
        parts[0] += f" in groups of {_size(extents[Kind.GROUP])}"
    threads = _size([*extents[Kind.WARP][:1], *extents[Kind.THREAD][:1]])
    if extents[Kind.THREAD]:
        parts.append(f"{threads} threads each")
    return parts


def _size(extents: list[Extent]) -> str:
    return str(prod(e for e in extents if isinstance(e, int)))


def _bytes(s: Alloc) -> int:
    return prod(d for d in s.buffer.shape if isinstance(d, int)) * s.buffer.dtype.itemsize
