"""`assemble`: LLVM IR text to the bytes of a relocatable object, for the runtime's own code.

Made for the oldest x86-64 processor, so that the bytes depend on the text alone and one cached
object serves all machines. llvmlite is loaded at the first call.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pyc import backends
from pyc.errors import CompileError

TRIPLE = "x86_64-unknown-linux-gnu"


@cache
def _machine() -> tuple[Any, Any, Any]:
    llvm = backends.llvm_binding()
    target = llvm.Target.from_triple(TRIPLE)
    machine = target.create_target_machine(
        cpu="x86-64", features="", opt=2, reloc="pic", codemodel="small"
    )
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    # The text is written as it should run: inlining is all it needs. The whole pipeline takes 80 ms
    # and gives the same speed.
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    return machine, passes, llvm.create_pass_builder(machine, options)


def assemble(text: str) -> bytes:
    """The object file of the module `text`; CompileError if it is not valid IR."""
    machine, passes, builder = _machine()
    try:
        module = backends.llvm_binding().parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"the runtime's own code is not valid: {error}") from error
    module.triple = TRIPLE
    module.data_layout = str(machine.target_data)
    passes.run(module, builder)
    return bytes(machine.emit_object(module))
