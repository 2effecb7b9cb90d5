"""`assemble`: LLVM IR text to the bytes of a relocatable object, for the runtime's own code.

Made for the oldest x86-64 processor, so that the bytes depend on the text alone and one cached
object serves all machines. LLVM is loaded at the first call.
"""

from __future__ import annotations

from pyc.backends.llvm_library import ALWAYS_INLINE, SIMPLIFY, SROA, machine

TRIPLE = "x86_64-unknown-linux-gnu"

# The text is written as it should run: inlining is all it needs. The whole pipeline takes 80 ms and
# gives the same speed.
_PASSES = (ALWAYS_INLINE, SROA, SIMPLIFY)


def assemble(text: str) -> bytes:
    """The object file of the module `text`; CompileError if it is not valid IR."""
    maker = machine(TRIPLE, "x86-64", reloc="pic", model="small")
    head = f'target datalayout = "{maker.data_layout}"\ntarget triple = "{TRIPLE}"\n'
    return maker.object_of(head + text, _PASSES)
