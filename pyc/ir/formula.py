"""Formulas: integers of a launch that follow from the sizes of its arrays, as plain values.

    Formula = int | ["size", k] | [instruction, operand, operand]

Takes extents of loops, which are expressions over the size parameters of a kernel, and gives what
the cache can keep and a call can work out without the kernel.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Union

from pyc.errors import CompileError
from pyc.ir.expr import Apply, Const, Var, postorder
from pyc.ir.loops import Extent

Formula = Union[int, tuple[Any, ...]]

_SIZE = "size"
_INSTRUCTIONS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "quotient": operator.floordiv,
    "remainder": operator.mod,
    "minimum": min,
    "maximum": max,
}
"""What extents are made of; sizes are not negative, nor are their quotients."""


def formula(extent: Extent, sizes: Sequence[Var]) -> Formula:
    """An extent over these size parameters; CompileError: it is made of something else too."""
    if isinstance(extent, int):
        return extent
    numbers = {size: k for k, size in enumerate(sizes)}
    made: dict[int, Formula] = {}
    for e in postorder([extent]):
        if isinstance(e, Const):
            made[id(e)] = int(e.value)
        elif isinstance(e, Var) and e in numbers:
            made[id(e)] = _SIZE, numbers[e]
        elif isinstance(e, Apply) and e.name in _INSTRUCTIONS:
            made[id(e)] = (e.name, *(made[id(x)] for x in e.args))
        else:
            raise CompileError(f"an extent is made of more than sizes: {e!r}")
    return made[id(extent)]


def value(of: Formula, sizes: Sequence[int]) -> int:
    """What a formula is for these sizes."""
    if isinstance(of, int):
        return of
    name, *operands = of
    if name == _SIZE:
        return sizes[operands[0]]
    return _INSTRUCTIONS[name](*(value(x, sizes) for x in operands))
