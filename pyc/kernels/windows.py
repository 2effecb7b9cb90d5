"""Windows: where the operands of products lie in larger arrays, read without a copy.

    x[:, i : i + m, j : j + n] @ w[i, j]    for some i, j

The operand of each product is a window of one array: along each axis of it runs one axis of the
operand, by steps, from a start that is a product's own, or none does. A nest that adds such
products asks a `View` where an element of the current one stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyc.frozen import frozen
from pyc.ir.expr import Expr, apply, const, select
from pyc.ir.types import ArrayType

DEPTH = 256
"""The most terms of a product that is one of several in a sum, and those of a block of `matmul`."""


@frozen()
class Windows:
    """type: of the array; axes: for each of its axes the operand's that runs along it, -1 if none
    does; steps: by which; starts: of each product, along each axis."""

    type: ArrayType
    axes: tuple[int, ...]
    steps: tuple[int, ...]
    starts: tuple[tuple[int, ...], ...]

    def place(self, part: Expr, index: Sequence[Expr]) -> tuple[Expr, ...]:
        """Where the element at `index` of the operand of product `part` stands in the array."""
        found = []
        for k, (axis, step) in enumerate(zip(self.axes, self.steps, strict=True)):
            at = _picked(part, [start[k] for start in self.starts])
            if axis >= 0:
                run = index[axis] if step == 1 else index[axis] * step
                at = run if not any(start[k] for start in self.starts) else run + at
            found.append(at)
        return tuple(found)

    def apart(self, axis: int) -> int:
        """Elements between neighbours along an axis of the operand."""
        if axis not in self.axes:
            return 0
        k = self.axes.index(axis)
        return self.steps[k] * prod(self.type.shape[k + 1 :])


def _picked(part: Expr, values: Sequence[int]) -> Expr:
    """The value of product `part`."""
    found: Expr = const(values[0])
    for k in range(1, len(values)):
        if values[k] != values[k - 1]:
            found = select(part < k, found, const(values[k]))
    return found


@frozen()
class WindowSum:
    """a, b: the windows of both operands of each product; start: what the first is added to (a
    negative zero: nothing, for it leaves what is added as it is)."""

    a: Windows
    b: Windows
    start: float


@frozen()
class View:
    """An operand whose axes are merged (see `merged`): `windows`, its own extents, and the runs of
    them that are one axis of a contraction."""

    windows: Windows
    shape: tuple[int, ...]
    runs: tuple[tuple[int, ...], ...]

    def place(self, part: Expr, index: Sequence[Expr]) -> tuple[Expr, ...]:
        """Where the element at `index`, along merged axes, stands in the array."""
        own: dict[int, Expr] = {}
        for run, place in zip(self.runs, index, strict=True):
            rest = place
            for axis in reversed(run[1:]):
                own[axis] = apply("remainder", rest, const(self.shape[axis]))
                rest = apply("quotient", rest, const(self.shape[axis]))
            own[run[0]] = rest
        return self.windows.place(part, [own[axis] for axis in range(len(self.shape))])

    def apart(self, axis: int) -> int:
        """Elements between neighbours along a merged axis, within its last own one."""
        return self.windows.apart(self.runs[axis][-1])
