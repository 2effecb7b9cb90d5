"""Copies with any strides on targets with blocks: a thread for each element.

The program for so many axes is given their sizes, their steps and where to begin; which axes are
walked from their ends is its own. Its elements lie behind each other, or are *placed* with steps of
their own in a larger array; and where they are read may also depend on *tables* of places.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Var, const, maximum, minimum
from pyc.ir.loops import Buffer, Kernel, Store
from pyc.ir.plan import Given, Launch, Place, Plan, PlanBuffer
from pyc.ir.target import Target
from pyc.ir.verify_kernel import verify
from pyc.passes.any_size_blocks import elements_in_blocks
from pyc.passes.nest import Loop


def plan_strided(
    dtype: DType,
    flipped: Sequence[bool],
    target: Target,
    *,
    placed: bool = False,
    tables: int = 0,
    check: bool = False,
) -> Plan:
    """The Plan of a copy. Its sizes are those of the axes, at least two, of which `flipped` says
    which are walked from their ends; then their steps, the first element, and how many there are
    to read from. placed: then the steps in the result, the first element there, and how many it
    has. tables: so many arrays of i64 places are arguments, of one shape; then come their steps,
    how many elements each has, and for each the extent and the step of the axis that its places are
    of: those out of range are moved to the nearest. target: has blocks; check: verify its kernel.
    """
    rank = len(flipped)
    assert rank > 1
    given: list[Var] = []

    def sizes(name: str, count: int) -> list[Var]:
        made = [Var(f"{name}{k}") for k in range(count)]
        given.extend(made)
        return made

    def size(name: str) -> Var:
        given.append(Var(name))
        return given[-1]

    extents, steps = sizes("n", rank), sizes("s", rank)
    first, length = size("first"), size("length")
    index = [Var(f"i{k}") for k in range(rank)]
    place = _walk(first, index, extents, steps, flipped)
    source = Buffer("x", dtype, (length,), role="in", alignment=dtype.itemsize)
    out, target_place = Buffer("out", dtype, tuple(extents), role="out"), tuple[Expr, ...](index)
    if placed:
        into, begin, whole = sizes("t", rank), size("begin"), size("whole")
        # What lies between the places keeps what it holds.
        out = Buffer("out", dtype, (whole,), role="inout", alignment=dtype.itemsize)
        target_place = (_walk(begin, index, extents, into, (False,) * rank),)
    places: list[Buffer] = []
    if tables:
        along, entries = sizes("p", rank), size("entries")
        entry = _walk(const(0), index, extents, along, (False,) * rank)
        for k in range(tables):
            places.append(Buffer(f"places{k}", dt.i64, (entries,), role="in"))
            extent, step = size(f"extent{k}"), size(f"step{k}")
            found = minimum(maximum(Load(places[k], (entry,)), 0), extent - 1)
            place = place + found * step
    core = (Store(out, target_place, Load(source, (place,))),)
    loops = [Loop(i, 0) for i in index]
    body = tuple(elements_in_blocks(loops, extents, core, 1))
    buffers = (source, *places, out)
    kernel = Kernel("strided", buffers, body, tuple(given))
    if check:
        verify(kernel, scheduled=True)
    arguments = tuple(range(1 + tables))
    slots = [PlanBuffer(0, Place.ARGUMENT, k) for k in arguments]
    return Plan(
        kernels=(kernel,),
        buffers=(*slots, PlanBuffer(0, Place.RESULT, 0)),
        steps=(Launch(0, tuple(range(len(buffers))), tuple(Given(k) for k in range(len(given)))),),
        arguments=arguments,
        results=(len(arguments),),
        given=len(given),
    )


def _walk(
    first: Expr,
    index: Sequence[Expr],
    sizes: Sequence[Expr],
    steps: Sequence[Expr],
    flipped: Sequence[bool],
) -> Expr:
    """The place of an element: from `first` on, so many steps along each axis."""
    place = first
    for i, n, step, back in zip(index, sizes, steps, flipped, strict=True):
        place = place + (n - 1 - i if back else i) * step
    return place
