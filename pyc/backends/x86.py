"""x86-64: a Plan as one LLVM module, and that module as one relocatable object.

The module has a function for each kernel (`x86_kernel`) and `entry` (`x86_entry`), which runs them.
No LLVM optimisation pipeline runs (but `sroa` where a kernel has register buffers): the emitter
gives vector SSA code with invariants already hoisted. The object has no undefined symbols.
"""

from __future__ import annotations

import hashlib
from functools import cache

from pyc.backends.base import Code, Codegen
from pyc.backends.llvm_library import SROA, Machine, host_features, machine
from pyc.backends.same_kernels import representatives
from pyc.backends.x86_entry import Entry
from pyc.backends.x86_kernel import X86Kernel
from pyc.frozen import frozen, replace
from pyc.ir.plan import Plan
from pyc.ir.target import X86_64_V3, X86_64_V4, Target


@frozen()
class _Module:
    """The LLVM text of a Plan. externals, parallel: as in `Code`; registers: whether a kernel has
    register buffers."""

    text: str
    externals: tuple[str, ...]
    parallel: bool
    registers: bool


def module(plan: Plan, target: Target) -> _Module:
    """The LLVM module of a Plan."""
    intrinsics: dict[str, str] = {}
    functions: list[str] = []
    registers = False
    same = representatives(plan.kernels)
    for k in sorted(set(same)):
        emitter = X86Kernel(plan.kernels[k], target, intrinsics)
        functions.append(emitter.function(f"k{k}"))
        registers |= emitter.uses_registers
    entry = Entry(plan, target, same)
    functions.append(entry.text())
    bits = 8 * target.vector_bytes
    attributes = " ".join(
        (
            'nounwind "no-builtins" "frame-pointer"="none"',
            f'"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"',
            f'"target-cpu"="{target.cpu}" "target-features"="{target.features}"',
        )
    )
    text = "\n".join(
        (
            f'target triple = "{target.triple}"',
            *functions,
            *intrinsics.values(),
            f"attributes #0 = {{ {attributes} }}",
            '!0 = !{!"branch_weights", i32 1, i32 1000000}',
            '!1 = !{!"branch_weights", i32 1000000, i32 1}',
            "!2 = !{i32 1}",
            "",
        )
    )
    return _Module(text, tuple(entry.externals), entry.spreads, registers)


def _machine(target: Target) -> Machine:
    return machine(target.triple, target.cpu, target.features, reloc="pic", model="small")


def _passes(registers: bool) -> tuple[str, ...]:
    """What turns register buffers into values."""
    return (SROA,) if registers else ()


class X86(Codegen):
    """The x86-64 code generator."""

    def compile_plan(self, plan: Plan, target: Target) -> Code:
        """The object of a Plan; ValueError names what its kernels have that x86 lacks."""
        made = module(plan, target)
        found = _machine(target).object_of(made.text, _passes(made.registers))
        return Code(found, made.externals, made.parallel, made.text)

    def assembly(self, code: Code, target: Target) -> str:
        """The assembler text of the same module."""
        return _machine(target).assembly_of(code.llvm, _passes("alloca" in code.llvm))


def compile_plan(plan: Plan, target: Target) -> Code:
    """The object code of a Plan; see `X86`."""
    return X86().compile_plan(plan, target)


@cache
def native_target() -> Target:
    """The Target of this machine, from its processor features (the name that LLVM guesses is
    wrong in virtual machines). Machines of equal features give equal targets."""
    names = sorted(name for name, on in host_features().items() if on)
    features = ",".join("+" + name for name in names)
    wide = set(X86_64_V4.features.replace("+", "").split(",")) <= set(names)
    base = X86_64_V4 if wide else X86_64_V3
    digest = hashlib.sha256(features.encode()).hexdigest()[:12]
    return replace(base, id=f"native:{digest}", features=features)
