"""x86-64: a Plan as LLVM modules, and each of these as a relocatable object.

The first module has a function for each kernel (`x86_kernel`), the second `entry` (`x86_entry`),
which runs them once and is compiled in a sixth of the time without optimisation (1.6 for 9 million
instructions; a call takes 1.6 ns more), and once a process: what differs between programs of one
form, constants of counts of tasks, is in the first. An `entry` with loops is there too. No LLVM
optimisation pipeline runs (but `sroa` where a kernel has register buffers): the emitter gives
vector SSA code with invariants already hoisted. Together the objects have no undefined symbols.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache, lru_cache

from pyc.backends.base import Code, Codegen
from pyc.backends.llvm_library import SROA, Machine, host_features, machine
from pyc.backends.same_kernels import representatives
from pyc.backends.x86_entry import Entry, declarations
from pyc.backends.x86_kernel import X86Kernel
from pyc.frozen import frozen, replace
from pyc.ir.plan import Loop, Plan, walk_steps
from pyc.ir.target import X86_64_V3, X86_64_V4, Target

_ENTRY = "\n; The entry, a module of its own, without optimisation:\n\n"
"""Stands between the texts of the two."""
_REGISTERS = "; A kernel has register buffers: they are made values"
"""Stands in the text of such a module."""
ENTRIES = 32
"""Objects of entries, of some two kilobytes, that a process keeps."""


@frozen()
class _Modules:
    """The LLVM texts of a Plan. entry: of its own module, "" if it is in `text`; externals,
    parallel: as in `Code`."""

    text: str
    entry: str
    externals: tuple[str, ...]
    parallel: bool


def modules(plan: Plan, target: Target) -> _Modules:
    """The LLVM modules of a Plan."""
    intrinsics: dict[str, str] = {}
    functions: list[str] = []
    registers = False
    same = representatives(plan.kernels)
    for k in sorted(set(same)):
        emitter = X86Kernel(plan.kernels[k], target, intrinsics)
        functions.append(emitter.function(f"k{k}"))
        registers |= emitter.uses_registers
    made = Entry(plan, target, same)
    entry = made.text()
    functions += made.functions
    if not functions or any(isinstance(s, Loop) for s in walk_steps(plan.steps)):
        functions, entry = [*functions, entry], ""
    else:
        entry = _module([*made.declared(), declarations(functions), entry], target)
    marks = [_REGISTERS] if registers else []
    text = _module([*marks, *made.table(), *functions, *intrinsics.values()], target)
    return _Modules(text, entry, tuple(made.externals), made.spreads)


def _module(parts: Sequence[str], target: Target) -> str:
    bits = 8 * target.vector_bytes
    attributes = " ".join(
        (
            'nounwind "no-builtins" "frame-pointer"="none"',
            f'"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"',
            f'"target-cpu"="{target.cpu}" "target-features"="{target.features}"',
        )
    )
    return "\n".join(
        (
            f'target triple = "{target.triple}"',
            *parts,
            f"attributes #0 = {{ {attributes} }}",
            '!0 = !{!"branch_weights", i32 1, i32 1000000}',
            '!1 = !{!"branch_weights", i32 1000000, i32 1}',
            "!2 = !{i32 1}",
            "",
        )
    )


def _machine(target: Target, level: int = 2) -> Machine:
    return machine(target.triple, target.cpu, target.features, level, reloc="pic", model="small")


@lru_cache(maxsize=ENTRIES)
def _entry_object(text: str, target: Target) -> bytes:
    """The object of an entry's module. Many programs have the same, such as those of one kernel."""
    return _machine(target, 0).object_of(text)


def _passes(text: str) -> tuple[str, ...]:
    """What turns register buffers of a module into values."""
    return (SROA,) if _REGISTERS in text else ()


class X86(Codegen):
    """The x86-64 code generator."""

    def compile_plan(self, plan: Plan, target: Target) -> Code:
        """The objects of a Plan; ValueError names what its kernels have that x86 lacks."""
        made = modules(plan, target)
        found = _machine(target).object_of(made.text, _passes(made.text))
        entry = _entry_object(made.entry, target) if made.entry else b""
        text = made.text + _ENTRY + made.entry if made.entry else made.text
        return Code(found, made.externals, made.parallel, text, entry)

    def assembly(self, code: Code, target: Target) -> str:
        """The assembler texts of the same modules."""
        text, _, entry = code.llvm.partition(_ENTRY)
        found = _machine(target).assembly_of(text, _passes(text))
        return found + (_machine(target, 0).assembly_of(entry) if entry else "")


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
