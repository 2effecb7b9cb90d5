"""Which buffers of a kernel a launch may give by value: numbers among the arguments.

A number in the memory of a device has to be copied there; among the parameters of a launch it costs
nothing. A kernel takes either: such a buffer's address may be null, and its element is a parameter
then.
"""

from __future__ import annotations

from pyc.ir.expr import Const, Load, postorder
from pyc.ir.loops import Buffer, Copy, Kernel, Prefetch, expressions, walk

WORD_BYTES = 8
"""Of a parameter that is a number, whatever its type."""


def by_value(kernel: Kernel) -> tuple[int, ...]:
    """The buffers, by number, of one element which the kernel only loads, and nobody writes
    meanwhile."""
    found = {b: k for k, b in enumerate(kernel.buffers) if _is_number(b)}
    if not found:
        return ()
    for s in walk(kernel.body):
        if isinstance(s, Copy):
            found.pop(s.source, None)
        elif isinstance(s, Prefetch):
            found.pop(s.buffer, None)
        for node in postorder(expressions(s)):
            if isinstance(node, Load) and node.buffer in found and not _is_first(node):
                del found[node.buffer]
    return tuple(found.values())


def _is_number(b: Buffer) -> bool:
    plain = b.role == "in" and not b.may_alias and b.strides is None
    return plain and all(d == 1 for d in b.shape) and b.dtype.itemsize <= WORD_BYTES


def _is_first(node: Load) -> bool:
    return all(isinstance(i, Const) and not i.value for i in node.index)
