"""The compiler proper: what only a program that is not in the cache needs.

    optimise      Graph -> Graph      all Graph passes
    plan          Graph -> Planned    fusion, lowering, scheduling, memory
    plan_any_size Graph -> Planned    the same for arrays of any size
    plan_strided  ... -> Plan         copies with strides, of any size
    host_plan     Kernel -> Plan      a step of the host in a Plan of a device
    compile_plan  Plan -> Code        LLVM text and object code
    assembly      Code -> text

`backends.compiler()` loads this module on first use; `pyc/lowered.py` and `pyc/compile.py` run it.
"""

from __future__ import annotations

from pyc.backends.base import Code
from pyc.backends.x86 import X86
from pyc.forks import later
from pyc.ir.plan import Plan
from pyc.ir.shares import Shares
from pyc.ir.target import Target
from pyc.passes import optimise
from pyc.passes.memory import plan

__all__ = [
    "Shares",
    "assembly",
    "compile_plan",
    "host_plan",
    "optimise",
    "plan",
    "plan_any_size",
    "plan_strided",
    "print_kernel",
    "print_plan",
]

host_plan = later("pyc.passes.host_plan", "host_plan")
plan_any_size = later("pyc.passes.any_size", "plan_any_size")
plan_strided = later("pyc.passes.any_size_strided", "plan_strided")
print_kernel = later("pyc.ir.text_kernel", "print_kernel")
print_plan = later("pyc.ir.text_plan", "print_plan")


def compile_plan(program: Plan, target: Target) -> Code:
    """The object code of `program` and the LLVM text it was made from."""
    return X86().compile_plan(program, target)


def assembly(code: Code, target: Target) -> str:
    """The machine code as text."""
    return X86().assembly(code, target)
