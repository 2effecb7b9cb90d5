"""Kernels that begin early: their launch overlaps the end of the kernel before.

Between two kernels that depend on each other a GPU of capability 9.0 waits some 0.3 us for nothing:
the first one's end is seen, then the second one's blocks are set up. A kernel whose PTX has
`griddepcontrol.wait` (PTX ISA, "Parallel Synchronization") may be set up while the one before still
runs: it waits there until that has ended and its stores can be seen. Each says at once that what
depends on it may begin (`griddepcontrol.launch_dependents`). Whoever launches it says so
(`KernelLaunch.early`); launched in the ordinary way it waits for nothing.

`marker` goes first into the LLVM text of such a kernel, and `waiting_first` moves the wait to where
it must be in the PTX: behind arithmetic on parameters and numbers of threads, which is done
meanwhile, and before anything else, in every thread. LLVM may place loads of what nobody writes
before any other instruction, and a load by the read-only path (`.nc`) is of what no other kernel
changes meanwhile, which here is not so: it becomes an ordinary load.
"""

from __future__ import annotations

import re
from math import prod

from pyc.backends.launching import BEGIN, WAIT
from pyc.ir.loops import For, Kernel, Kind, walk
from pyc.ir.target import Target

EARLY_BYTES = 1 << 20
"""Bytes of the buffers of kernels that begin early, at most: others run for many times what is
saved."""
EARLY_BLOCKS = 64
"""Blocks of kernels that begin early, at most: then those of two find a multiprocessor each on
whatever is large enough for such kernels. More of them lie where there was room while the one
before ran, unevenly."""

_BLOCKS = Kind.GRID, Kind.CLUSTER, Kind.GROUP
_ENTRY = re.compile(r"^\.visible \.entry .*?^\{\n.*?^\}$", re.MULTILINE | re.DOTALL)
_MARKED = re.compile(rf"^\t// begin inline asm\n\t{re.escape(WAIT)}\n\t// end inline asm\n", re.M)

_DECLARED = r"\t\.(?:reg|shared|local)\b.*\n|\t//.*\n|\s*\n"
_ARITHMETIC = (
    r"\t(?:ld\.param|mov|cvta?|add|sub|mul|mad|neg|shl|shr|and|or|xor|not|min|max|setp|selp)\..*\n"
)
_DECLARATIONS = re.compile(f"(?:{_DECLARED})*")
_PROLOGUE = re.compile(f"(?:{_DECLARED}|{_ARITHMETIC})*")
"""Declarations, comments, and instructions that neither touch memory that others do nor branch."""


def begins_early(kernel: Kernel, target: Target) -> bool:
    """Whether a kernel is worth it: it runs so short that its launch counts."""
    shapes = [(b.dtype.itemsize, b.shape) for b in kernel.buffers]
    known = [n * prod(d for d in shape if isinstance(d, int)) for n, shape in shapes]
    grid = [s.extent for s in walk(kernel.body) if isinstance(s, For) and s.kind in _BLOCKS]
    fixed = all(isinstance(d, int) for shape in (*(s for _, s in shapes), grid) for d in shape)
    if not target.early_launch or not fixed or sum(known) > EARLY_BYTES:
        return False
    return prod(d for d in grid if isinstance(d, int)) <= EARLY_BLOCKS


def marker() -> str:
    """The line of LLVM text that makes a kernel wait."""
    return f'call void asm sideeffect "{WAIT}", "~{{memory}}"()'


def waiting_first(ptx: str) -> str:
    """PTX in which each entry with the marker waits before it does anything else than arithmetic:
    that and its declarations come first, as in all that LLVM writes."""
    return _ENTRY.sub(lambda found: _entry(found.group()), ptx)


def _entry(text: str) -> str:
    unmarked, count = _MARKED.subn("", text)
    if not count:
        return text
    head, brace, body = unmarked.partition("\n{\n")
    prologue = _PROLOGUE.match(body)
    assert prologue is not None
    begin = prologue.end()
    rest = body[begin:].replace("ld.global.nc.", "ld.global.")
    declared = _DECLARATIONS.match(body)
    assert declared is not None
    first = declared.end()
    return f"{head}{brace}{body[:first]}\t{BEGIN}\n{body[first:begin]}\t{WAIT}\n{rest}"
