"""Strided rows: what each row of a program reads with a stride is put together once.

    for i in 0..n: for j in 0..n: ... place[3 * j] ... place[3 * j + 1] ...

Vectors along `j` load whole lines and pick their elements with permutations, again for each `i`. A
launch before picks them once, into lines of scratch memory that vectors load as they are. Only what
a row does not change is read so: the elements depend on the place in the row alone.
"""

from __future__ import annotations

from pyc.ir.expr import Expr, Load, Var
from pyc.ir.loops import Body, Buffer, For, Kernel, Kind, Reduce, Space, Stmt, Store
from pyc.ir.visit import Rewriter
from pyc.passes.nest import Nest, peel

ROWS = 32
"""Rows from which what all of them read is put together: it takes as long as two or three do."""
LEAST = 32
"""Elements of a row from which it is worth a launch."""
STRIDES = range(2, 17)
"""Strides of elements whose lines hold several others that are read, too."""


class Together:
    """The elements that the rows of a program read with a stride.

    core: its statements, which read them in scratch buffers; fills: for each array the number of
    its buffer and the logical kernel, over (the array, scratch buffers), that puts them together.
    """

    def __init__(self, nest: Nest, core: Body) -> None:
        self._nest = nest
        self._lines: dict[tuple[Buffer, int, int], dict[int, Buffer]] = {}
        self.core = tuple(self._region(s) for s in core)
        self.fills = [self._fill(*key, lines) for key, lines in self._lines.items()]

    def _region(self, s: Stmt) -> Stmt:
        if isinstance(s, Reduce):
            row = s.domain
        elif isinstance(s, For):
            row = tuple((x.var, x.extent) for x in peel((s,))[0])
        else:
            return s
        if len(row) != 1:
            return s
        ((var, extent),) = row
        if not isinstance(extent, int) or extent < LEAST:
            return s

        def together(e: Expr) -> Expr:
            if not isinstance(e, Load):
                return e
            line = self._line(e.buffer, e.index, var, extent)
            return e if line is None else Load(line, (var,))

        return Rewriter(together).stmt(s)

    def _line(
        self, buffer: Buffer, index: tuple[Expr, ...], var: Var, extent: int
    ) -> Buffer | None:
        """The scratch buffer that holds what a load reads along a row; None: as it is."""
        if buffer.space is not Space.GLOBAL or buffer.role != "in" or len(index) != 1:
            return None
        form = self._nest.simplify.linear(index[0])
        if len(form.terms) != 1 or form.terms[0][0] is not var:
            return None
        stride = form.terms[0][1]
        if stride not in STRIDES:
            return None
        lines = self._lines.setdefault((buffer, stride, extent), {})
        found = lines.get(form.constant)
        if found is None:
            name = f"{buffer.name}_{stride}_{form.constant}"
            found = Buffer(name, buffer.dtype, (extent,), role="inout", alignment=64)
            lines[form.constant] = found
        return found

    def _fill(
        self, buffer: Buffer, stride: int, extent: int, lines: dict[int, Buffer]
    ) -> tuple[int, Kernel]:
        kernel, place = self._nest.kernel, Var("place")
        stores = tuple(
            Store(line, (place,), Load(buffer, (place * stride + first,)))
            for first, line in lines.items()
        )
        body = (For(place, extent, Kind.PARALLEL, stores),)
        made = Kernel(f"{kernel.name}_together", (buffer, *lines.values()), body)
        return kernel.buffers.index(buffer), made


def put_together(nest: Nest, core: Body, rows: int) -> Together | None:
    """What the regions of so many rows read with a stride; None: nothing, or it does not pay."""
    if rows < ROWS:
        return None
    found = Together(nest, core)
    return found if found.fills else None


__all__ = ["Together", "put_together"]
