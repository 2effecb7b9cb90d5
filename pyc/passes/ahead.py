"""Loops of elements, with what the next vector of elements reads asked for.

Takes the statements of a vector of elements of which some are loops that each element runs by
itself, and returns them with a `Prefetch` in these loops for each line that an iteration reads of
a row. A vector reads a line or two of a row, and the next row lies pages behind it: no processor
foresees that, and chains of instructions wait. The same row of the next vector is asked for as
many iterations ahead as the loop has.
"""

from __future__ import annotations

from pyc.frozen import replace
from pyc.ir.expr import Expr, Load, postorder
from pyc.ir.loops import Body, Buffer, For, Prefetch, Space, Stmt, walk
from pyc.ir.visit import bound, renamed
from pyc.passes.nest import Loop, Nest, in_common_within, is_element_loop

PAGE = 1 << 12
"""Bytes of a row from which the next one is not foreseen."""
FAR = 1 << 17
"""Bytes of a buffer from which its rows are asked for."""
LINE = 64
"""Bytes of a line of the caches."""


def next_asked_for(core: Body, nest: Nest, loop: Loop, start: Expr, width: int) -> Body:
    """`core`, of which `width` elements along `loop` from `start` on become a vector."""
    if not any(isinstance(s, For) and is_element_loop(s) for s in core):
        return core
    common = in_common_within(core, lambda v: v is not loop.var)
    apart = {v for s in walk(core) for v in bound(s) if v not in common}

    def asking(s: Stmt) -> Stmt:
        if not isinstance(s, For) or not is_element_loop(s):
            return s
        moved = {s.var, *(c.var for c in s.carried)} & common
        found: list[Stmt] = []
        for address, buffer in _far_rows(s, nest, loop).items():
            leaves = set(postorder([address]))
            if leaves & moved and not leaves & apart and not any(type(e) is Load for e in leaves):
                line = LINE // buffer.dtype.itemsize
                # The last element of each: where rows begin in a line's middle, the first is here.
                for k in range(line - 1, width, line):
                    ahead = Prefetch(buffer, (address,))
                    found += renamed((ahead,), {loop.var: start + (width + k)})
        return replace(s, body=(*s.body, *found))

    return tuple(map(asking, core))


def _far_rows(s: For, nest: Nest, loop: Loop) -> dict[Expr, Buffer]:
    """The places of large arrays that neighbouring elements read side by side."""
    found: dict[Expr, Buffer] = {}
    for buffer, address in nest.accesses((s,)):
        (size,), item = buffer.shape, buffer.dtype.itemsize
        far = isinstance(size, int) and size * item >= FAR and loop.extent * item >= PAGE
        if far and buffer.space is Space.GLOBAL and nest.factor(loop.var, address) == 1:
            found[address] = buffer
    return found
