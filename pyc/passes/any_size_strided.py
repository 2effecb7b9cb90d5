"""Copies with any strides on targets with blocks: a thread for each element.

The program for so many axes is given their sizes, their steps and where to begin; which axes are
walked from their ends is its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Var
from pyc.ir.loops import Buffer, Kernel, Store
from pyc.ir.plan import Given, Launch, Place, Plan, PlanBuffer
from pyc.ir.target import Target
from pyc.ir.verify_kernel import verify
from pyc.passes.any_size_blocks import elements_in_blocks
from pyc.passes.nest import Loop


def plan_strided(
    dtype: DType, flipped: Sequence[bool], target: Target, *, check: bool = False
) -> Plan:
    """The Plan of a copy. Its sizes are those of the axes, at least two, of which `flipped` says
    which are walked from their ends; then their steps, the first element, and how many there are
    to read from. target: has blocks; check: verify its kernel."""
    rank = len(flipped)
    assert rank > 1
    sizes = [Var(f"n{k}") for k in range(rank)]
    steps = [Var(f"s{k}") for k in range(rank)]
    first, length = Var("first"), Var("length")
    source = Buffer("x", dtype, (length,), role="in", alignment=dtype.itemsize)
    out = Buffer("out", dtype, tuple(sizes), role="out")
    index = [Var(f"i{k}") for k in range(rank)]
    place: Expr = first
    for i, n, step, back in zip(index, sizes, steps, flipped, strict=True):
        place = place + (n - 1 - i if back else i) * step
    core = (Store(out, tuple(index), Load(source, (place,))),)
    loops = [Loop(i, 0) for i in index]
    body = tuple(elements_in_blocks(loops, sizes, core, 1))
    given = (*sizes, *steps, first, length)
    kernel = Kernel("strided", (source, out), body, given)
    if check:
        verify(kernel, scheduled=True)
    return Plan(
        kernels=(kernel,),
        buffers=(PlanBuffer(0, Place.ARGUMENT, 0), PlanBuffer(0, Place.RESULT, 0)),
        steps=(Launch(0, (0, 1), tuple(Given(k) for k in range(len(given)))),),
        arguments=(0,),
        results=(1,),
        given=len(given),
    )
