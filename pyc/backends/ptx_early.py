"""Kernels that begin early: their launch overlaps the end of the kernel before.

Between two kernels that depend on each other a GPU of capability 9.0 waits some 0.3 us for nothing:
the first one's end is seen, then the second one's blocks are set up. A kernel whose PTX begins with
`griddepcontrol.wait` (PTX ISA, "Parallel Synchronization") may be set up while the one before still
runs: it waits there until that has ended and its stores can be seen. Whoever launches it says so
(`KernelLaunch.early`); launched in the ordinary way it waits for nothing.

`marker` goes first into the LLVM text of such a kernel, and `waiting_first` moves it to where it
must be in the PTX. LLVM may place loads of what nobody writes before any other instruction, and a
load by the read-only path (`.nc`) is of what no other kernel changes meanwhile, which here is not
so: it becomes an ordinary load.
"""

from __future__ import annotations

import re
from math import prod

from pyc.ir.loops import Kernel
from pyc.ir.target import Target

WAIT = "griddepcontrol.wait;"
EARLY_BYTES = 1 << 22
"""Bytes of the buffers of kernels that begin early, at most: others run for many times what is
saved, and may lose more by ordinary loads."""

_ENTRY = re.compile(r"^\.visible \.entry .*?^\{\n.*?^\}$", re.MULTILINE | re.DOTALL)
_MARKED = re.compile(rf"^\t// begin inline asm\n\t{re.escape(WAIT)}\n\t// end inline asm\n", re.M)

_DECLARATIONS = re.compile(r"(?:(?:\t\.(?:reg|shared|local)\b.*|\t//.*|\s*)\n)*")


def begins_early(kernel: Kernel, target: Target) -> bool:
    """Whether a kernel is worth it: it runs so short that its launch counts."""
    shapes = [(b.dtype.itemsize, b.shape) for b in kernel.buffers]
    known = [n * prod(d for d in shape if isinstance(d, int)) for n, shape in shapes]
    fixed = all(isinstance(d, int) for _, shape in shapes for d in shape)
    return target.early_launch and fixed and sum(known) <= EARLY_BYTES


def marker() -> str:
    """The line of LLVM text that makes a kernel wait."""
    return f'call void asm sideeffect "{WAIT}", "~{{memory}}"()'


def waiting_first(ptx: str) -> str:
    """PTX in which each entry with the marker waits before it does anything else: its declarations
    come first, as in all that LLVM writes."""
    return _ENTRY.sub(lambda found: _entry(found.group()), ptx)


def _entry(text: str) -> str:
    unmarked, count = _MARKED.subn("", text)
    if not count:
        return text
    head, brace, body = unmarked.partition("\n{\n")
    declared = _DECLARATIONS.match(body)
    assert declared is not None
    begin = declared.end()
    rest = body[begin:].replace("ld.global.nc.", "ld.global.")
    return f"{head}{brace}{body[:begin]}\t{WAIT}\n{rest}"
