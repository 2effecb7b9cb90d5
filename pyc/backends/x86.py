"""x86-64: a Plan as one LLVM module, and that module as one relocatable object.

Each kernel is an internal function `void k(ptr frame, i64 begin, i64 end)`: frame[0] is the
context, then come the addresses of the kernel's buffers, then its sizes, 8 bytes each; begin and
end are the iterations of its outermost parallel loop (a kernel without one ignores them). That is
the function that the context's `parallel` calls, so no trampoline stands between. `entry` follows
the ABI in `ir/plan.py`; it sets the default floating-point mode where the caller has another.

No LLVM optimisation pipeline runs (but `sroa` where a kernel has register buffers): the emitter
gives vector SSA code with invariants already hoisted. The object has no undefined symbols.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache

import numpy as np

from pyc.backends import x86_vectors
from pyc.backends.base import Code, Codegen
from pyc.backends.llvm import INTRINSICS, KernelEmitter
from pyc.backends.llvm_builder import Scope, Value
from pyc.backends.llvm_expr import LARGEST_SIZE
from pyc.backends.llvm_library import SROA, Machine, host_features, machine
from pyc.backends.llvm_memory import Place
from pyc.backends.same_kernels import representatives
from pyc.frozen import frozen, replace
from pyc.ir import dtype as dt
from pyc.ir import plan as plans
from pyc.ir.dtype import DType
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.expr import Shuffle
from pyc.ir.loops import (
    Alloc,
    Barrier,
    Buffer,
    Copy,
    Fail,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Signal,
    Space,
    TileMultiply,
    Wait,
    While,
    walk,
)
from pyc.ir.plan import CANCELLED, CONTEXT_FIELDS, Plan
from pyc.ir.plan import Place as PlanPlace
from pyc.ir.target import X86_64_V3, X86_64_V4, Target

X86_INTRINSICS = (
    *INTRINSICS,
    *x86_vectors.INTRINSICS,
    *("llvm.x86.sse.ldmxcsr", "llvm.x86.sse.sfence", "llvm.x86.sse.stmxcsr"),
)
_OFFSET = {name: 8 * k for k, name in enumerate(CONTEXT_FIELDS)}
_MODE_FLAGS, _DEFAULT_MODE = 0x3F, 0x1F80
"""MXCSR: the sticky exception flags, and its value when a process starts."""
ANY_ALIGNMENT = 16
"""Bytes of alignment that buffers have where nothing is said."""
_NO_SITE = -1
"""The error slot's site while nothing has failed: the largest unsigned number."""


class X86Kernel(KernelEmitter):
    """A kernel as an x86 function."""

    def __init__(self, kernel: Kernel, target: Target, intrinsics: dict[str, str]) -> None:
        super().__init__(kernel, target, intrinsics, X86_INTRINSICS)
        self.parallel = outermost_parallel(kernel)
        self.avx512 = x86_vectors.has_avx512(target)
        self.streams = False

    def function(self, name: str) -> str:
        """The text of `void name(ptr frame, i64 begin, i64 end)`."""
        b = self.builder
        for k, buffer in enumerate(self.kernel.buffers):
            address = self._field("ptr", k + 1)
            self.places[buffer] = Place(address, "ptr", b.root)
        for k, size in enumerate(self.kernel.sizes):
            ref = self._field("i64", k + 1 + len(self.kernel.buffers))
            self.bind(size, Value(ref, dt.i64, b.root, low=0, high=LARGEST_SIZE))
        if any(isinstance(s, (While, Fail)) for s in walk(self.kernel.body)):
            b.line("%context = load ptr, ptr %frame, align 8")
        if any(isinstance(s, While) for s in walk(self.kernel.body)):
            field = b.emit(f"getelementptr i8, ptr %context, i64 {_OFFSET['cancel']}")
            b.line(f"%cancel = load ptr, ptr {field}, align 8")
        self.body(self.kernel.body)
        b.line("br label %leave")
        b.label("leave")
        if self.streams:  # such stores have no order: whoever waits for this task must see them
            b.line(f"{b.intrinsic('llvm.x86.sse.sfence', 'void', [])}()")
        b.line("ret void")
        head = f"define internal void @{name}(ptr %frame, i64 %begin, i64 %end) #0 {{"
        return f"{head}\nentry:\n{b.text()}\n}}\n"

    def _field(self, type: str, number: int) -> str:
        address = self.builder.emit(f"getelementptr i8, ptr %frame, i64 {8 * number}")
        return self.builder.emit(f"load {type}, ptr {address}, align 8")

    def parallel_range(self, loop: For) -> tuple[Value, Value] | None:
        """The function's own range for its outermost parallel loop."""
        if loop is not self.parallel:
            return None
        high = loop.extent if isinstance(loop.extent, int) else LARGEST_SIZE
        root = self.builder.root
        return (
            Value("%begin", dt.i64, root, low=0, high=high),
            Value("%end", dt.i64, root, low=0, high=high),
        )

    def vector_instruction(
        self, name: str, dtype: DType, args: Sequence[Value], lanes: int, scope: Scope
    ) -> str:
        """One of AVX-512's own, or the usual one."""
        if self.avx512:
            b = self.builder
            found = x86_vectors.vector_instruction(b, name, dtype, args, lanes, scope)
            if found is not None:
                return found
        return super().vector_instruction(name, dtype, args, lanes, scope)

    def start_alignment(self, buffer: Buffer) -> int:
        """An element's, but for memory that the planner places or that is asked for more: an array
        of the caller's may be a part of another, and begin at any element."""
        anywhere = buffer.space is Space.GLOBAL and buffer.alignment <= ANY_ALIGNMENT
        return 1 if anywhere else buffer.alignment

    def load_metadata(self, buffer: Buffer) -> str:
        """Nothing: plain loads."""
        return ""

    def store_metadata(self, buffer: Buffer, alignment: int, nbytes: int) -> str:
        """Whole vectors of streamed buffers pass by the caches; the instruction wants them
        aligned."""
        if not buffer.streamed or alignment < nbytes or nbytes != self.target.vector_bytes:
            return ""
        self.streams = True
        return ", !nontemporal !2"

    def poll_cancel(self) -> None:
        """Returns from the function if the flag is raised; the entry sees the flag too."""
        b = self.builder
        flag = b.emit("load volatile i32, ptr %cancel, align 4")
        raised = b.emit(f"icmp ne i32 {flag}, 0")
        following = b.name("poll")
        b.line(f"br i1 {raised}, label %leave, label %{following}, !prof !0")
        b.label(following)

    def fail(self, site: int, value: Value) -> None:
        """Lowers the pair (site, value), compared as one 128-bit number, by compare-exchange: the
        result does not depend on which thread comes first."""
        b = self.builder
        slot = b.emit(f"getelementptr i8, ptr %context, i64 {_OFFSET['error_site']}")
        low = b.emit(f"zext i64 {value.ref} to i128")
        ours = b.emit(f"or i128 {low}, {site << 64}")
        start, again, lower, done = (b.name(p) for p in ("start", "again", "lower", "done"))
        # A torn first guess only costs another round: the exchange compares all 128 bits.
        first_site = b.emit(f"load atomic i64, ptr {slot} monotonic, align 8")
        address = b.emit(f"getelementptr i8, ptr {slot}, i64 8")
        first_value = b.emit(f"load atomic i64, ptr {address} monotonic, align 8")
        guess = self._pair(first_site, first_value)
        b.jump(start)
        b.line(f"br label %{again}")
        b.label(again)
        old, found = f"%{b.name()}", f"%{b.name()}"
        b.line(f"{old} = phi i128 [ {guess}, %{start} ], [ {found}, %{lower} ]")
        halves = [b.emit(f"trunc i128 {old} to i64")]
        halves.append(b.emit(f"trunc i128 {b.emit(f'lshr i128 {old}, 64')} to i64"))
        number = self._key(halves[0], halves[1])
        smaller = b.emit(f"icmp ult i128 {ours}, {number}")
        b.line(f"br i1 {smaller}, label %{lower}, label %{done}")
        b.label(lower)
        wanted = self._pair(str(site), value.ref)
        pair = b.emit(f"cmpxchg ptr {slot}, i128 {old}, i128 {wanted} seq_cst seq_cst, align 16")
        b.line(f"{found} = extractvalue {{ i128, i1 }} {pair}, 0")
        stored = b.emit(f"extractvalue {{ i128, i1 }} {pair}, 1")
        b.line(f"br i1 {stored}, label %{done}, label %{again}")
        b.label(done)

    def _pair(self, site: str, value: str) -> str:
        """The slot's 16 bytes: the site first in memory."""
        b = self.builder
        low = b.emit(f"zext i64 {site} to i128")
        high = b.emit(f"zext i64 {value} to i128")
        return b.emit(f"or i128 {low}, {b.emit(f'shl i128 {high}, 64')}")

    def _key(self, site: str, value: str) -> str:
        """(site, value) as one number whose order is theirs."""
        return self._pair(value, site)

    def hardware_loop(self, loop: For) -> None:
        """Refused: a CPU has none."""
        raise ValueError(f"x86 has no {loop.kind.value} loops (kernel {self.kernel.name})")

    def shared_place(self, buffer: Buffer) -> Place:
        """Refused: a CPU has none."""
        raise ValueError(f"x86 has no shared memory (buffer {buffer.name})")

    def device_statement(self, statement: Copy | Barrier | Signal | Wait | TileMultiply) -> None:
        """Refused: schedules for a CPU have none."""
        raise ValueError(f"x86 has no {type(statement).__name__} (kernel {self.kernel.name})")

    def role_branch(self, statement: If) -> None:
        """Refused: a CPU has no warps."""
        raise ValueError(f"x86 has no warp roles (kernel {self.kernel.name})")

    def thread_shuffle(self, node: Shuffle, value: Value) -> Value:
        """Refused: a CPU has no warps."""
        raise ValueError(f"shuffle over {node.var.name}: not the vector loop around it")


def outermost_parallel(kernel: Kernel) -> For | None:
    """The loop whose iterations are the tasks of a launch: the last statement of the kernel, below
    nothing but `Let` and `Alloc`; None if there is none and a launch is one task."""
    body = kernel.body
    while body and all(isinstance(s, Let) for s in body[:-1]):
        last = body[-1]
        if isinstance(last, For) and last.kind is Kind.PARALLEL:
            return last
        if not isinstance(last, Alloc):
            return None
        body = last.body
    return None


def task_count(kernel: Kernel, sizes: Sequence[int]) -> int:
    """Tasks of one launch with these sizes."""
    loop = outermost_parallel(kernel)
    if loop is None:
        return 1
    if isinstance(loop.extent, int):
        return loop.extent
    env = {v: np.asarray(n, np.int64) for v, n in zip(kernel.sizes, sizes, strict=True)}
    return int(evaluate([loop.extent], env)[0])


class _Entry:
    """Emits `entry`: the steps of a Plan in order. same: the kernel whose function runs each."""

    def __init__(self, plan: Plan, target: Target, same: Sequence[int]) -> None:
        self.plan = plan
        self.same = same
        self.lines: list[str] = []
        self.constants: list[str] = []
        self.externals: list[str] = []
        self.count = 0
        self.rotated: dict[int, str] = {}
        self.addresses: dict[int, str] = {}
        self.copies = False
        self.spreads = False
        self.width = target.vector_bytes

    def name(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def emit(self, text: str) -> str:
        ref = f"%{self.name()}"
        self.line(f"{ref} = {text}")
        return ref

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def field(self, name: str, type: str = "ptr") -> str:
        """A field of the context, read here."""
        address = self.emit(f"getelementptr i8, ptr %context, i64 {_OFFSET[name]}")
        return self.emit(f"load {type}, ptr {address}, align 8")

    def text(self) -> str:
        """The function and its helpers."""
        every = list(plans.walk_steps(self.plan.steps))
        swapped = sorted({k for s in every for k in _rotated(s)})
        longest = max((_frame_fields(self.plan, s) for s in every), default=1)
        self.line(f"%frame = alloca [{longest} x i64], align 64")
        self.line("%answer = alloca i32, align 4")
        self.line("store i32 0, ptr %answer, align 4")
        self.line("%mode = alloca i32, align 4")
        for slot in swapped:
            self.rotated[slot] = f"%slot{slot}"
            self.line(f"%slot{slot} = alloca ptr, align 8")
        self._default_mode()
        site = self.emit(f"getelementptr i8, ptr %context, i64 {_OFFSET['error_site']}")
        self.line(f"store i64 {_NO_SITE}, ptr {site}, align 8")
        used = sorted({k for s in every for k in _slots(s)})
        for slot in used:
            self.addresses[slot] = self._address(slot)
        for slot in swapped:
            self.line(f"store ptr {self.addresses[slot]}, ptr {self.rotated[slot]}, align 8")
        self.steps(self.plan.steps)
        self.line("br label %leave")
        self._callers_mode()
        body = "\n".join(self.lines)
        parts = [*self.constants]
        if self.copies:
            parts.append(_copy_function(self.width))
        parts.append(
            "define i32 @entry(ptr %context, ptr %arguments, ptr %results) #0 {\n"
            f"entry:\n{body}\n}}\n"
        )
        parts.append(_MODE_INTRINSICS)
        return "\n".join(parts)

    def _default_mode(self) -> None:
        """Round to nearest, no flushing, no traps: where the caller has another mode, sets it."""
        self.line("call void @llvm.x86.sse.stmxcsr(ptr %mode)")
        self.line("%callers = load i32, ptr %mode, align 4")
        self.line(f"%control = and i32 %callers, {~_MODE_FLAGS}")
        self.line(f"%usual = icmp eq i32 %control, {_DEFAULT_MODE}")
        self.line("br i1 %usual, label %ready, label %change, !prof !1")
        self.label("change")
        self.line(f"store i32 {_DEFAULT_MODE}, ptr %mode, align 4")
        self.line("call void @llvm.x86.sse.ldmxcsr(ptr %mode)")
        self.line("br label %ready")
        self.label("ready")

    def _callers_mode(self) -> None:
        """The end of the function: restores the caller's mode and answers."""
        self.label("leave")
        self.line("br i1 %usual, label %done, label %restore, !prof !1")
        self.label("restore")
        self.line("store i32 %callers, ptr %mode, align 4")
        self.line("call void @llvm.x86.sse.ldmxcsr(ptr %mode)")
        self.line("br label %done")
        self.label("done")
        self.line("%code = load i32, ptr %answer, align 4")
        self.line("ret i32 %code")

    def _address(self, slot: int) -> str:
        """The address of a slot when the call starts."""
        buffer = self.plan.buffers[slot]
        if buffer.place is PlanPlace.ARGUMENT:
            offset = plans.ARGUMENT_BYTES * buffer.index
            address = self.emit(f"getelementptr i8, ptr %arguments, i64 {offset}")
            return address if buffer.scalar else self.emit(f"load ptr, ptr {address}, align 8")
        if buffer.place is PlanPlace.RESULT:
            address = self.emit(f"getelementptr i8, ptr %results, i64 {8 * buffer.index}")
            return self.emit(f"load ptr, ptr {address}, align 8")
        base = self.field("arena" if buffer.place is PlanPlace.ARENA else "constants")
        return self.emit(f"getelementptr i8, ptr {base}, i64 {buffer.index}")

    def slot(self, slot: int) -> str:
        """The address of a slot now."""
        if slot in self.rotated:
            return self.emit(f"load ptr, ptr {self.rotated[slot]}, align 8")
        return self.addresses[slot]

    def steps(self, steps: Sequence[plans.Step]) -> None:
        for s in steps:
            if isinstance(s, plans.Launch):
                self._launch(s)
            elif isinstance(s, plans.Library):
                self._library(s)
            elif isinstance(s, plans.Loop):
                self._loop(s)
            elif isinstance(s, plans.Branch):
                self._branch(s)
            else:
                self.copies = True
                size = self.plan.buffers[s.source].nbytes
                source, destination = self.slot(s.source), self.slot(s.destination)
                self.line(f"call void @copy(ptr {destination}, ptr {source}, i64 {size})")

    def _fill(self, fields: Sequence[str]) -> None:
        for k, text in enumerate(fields):
            address = (
                "%frame" if k == 0 else self.emit(f"getelementptr i8, ptr %frame, i64 {8 * k}")
            )
            self.line(f"store {text}, ptr {address}, align 8")

    def _launch(self, s: plans.Launch) -> None:
        kernel = self.plan.kernels[s.kernel]
        if s.host:
            raise ValueError(f"launch of {kernel.name}: a CPU's Plan has no steps of the host")
        if len(s.slots) != len(kernel.buffers) or len(s.sizes) != len(kernel.sizes):
            raise ValueError(
                f"launch of {kernel.name}: {len(s.slots)} slots and {len(s.sizes)} sizes for "
                f"{len(kernel.buffers)} buffers and {len(kernel.sizes)} sizes"
            )
        tasks = task_count(kernel, s.sizes)
        if tasks <= 0:
            return
        addresses = [f"ptr {self.slot(k)}" for k in s.slots]
        self._fill(["ptr %context", *addresses, *(f"i64 {n}" for n in s.sizes)])
        function = f"@k{self.same[s.kernel]}"
        direct = f"call void {function}(ptr %frame, i64 0, i64 {tasks})"
        if tasks == 1:
            self.line(direct)
        else:
            self.spreads = True
            spread, serial, done = (self.name(p) for p in ("spread", "serial", "done"))
            parallel = self.field("parallel")
            alone = self.emit(f"icmp eq ptr {parallel}, null")
            self.line(f"br i1 {alone}, label %{serial}, label %{spread}")
            self.label(spread)
            pool = self.field("pool")
            arguments = f"ptr {pool}, ptr {function}, ptr %frame, i64 {tasks}"
            self.line(f"call void {parallel}({arguments})")
            self.line(f"br label %{done}")
            self.label(serial)
            self.line(direct)
            self.line(f"br label %{done}")
            self.label(done)
        statements = list(walk(kernel.body))
        if any(isinstance(x, Fail) for x in statements):
            site = self.field("error_site", "i64")
            failed = self.emit(f"icmp ne i64 {site}, {_NO_SITE}")
            number = self.emit(f"trunc i64 {site} to i32")
            self._leave_if(failed, self.emit(f"add i32 {number}, 1"))
        if any(isinstance(x, While) for x in statements):
            self._poll()

    def _leave_if(self, condition: str, answer: str) -> None:
        stop, stay = self.name("stop"), self.name("stay")
        self.line(f"br i1 {condition}, label %{stop}, label %{stay}, !prof !0")
        self.label(stop)
        self.line(f"store i32 {answer}, ptr %answer, align 4")
        self.line("br label %leave")
        self.label(stay)

    def _poll(self) -> None:
        flag = self.emit(f"load volatile i32, ptr {self.field('cancel')}, align 4")
        self._leave_if(self.emit(f"icmp ne i32 {flag}, 0"), str(CANCELLED))

    def _library(self, s: plans.Library) -> None:
        """A non-zero answer of the routine ends the call with that answer."""
        if s.routine not in self.externals:
            self.externals.append(s.routine)
        table = self.field("externals")
        offset = 8 * self.externals.index(s.routine)
        address = self.emit(f"getelementptr i8, ptr {table}, i64 {offset}")
        routine = self.emit(f"load ptr, ptr {address}, align 8")
        self._fill([f"ptr {self.slot(k)}" for k in s.slots])
        integers = "null"
        if s.integers:
            integers = f"@integers{len(self.constants)}"
            listed = ", ".join(f"i64 {n}" for n in s.integers)
            self.constants.append(
                f"{integers} = internal constant [{len(s.integers)} x i64] [{listed}], align 8"
            )
        answer = self.emit(f"call i32 {routine}(ptr %context, ptr %frame, ptr {integers})")
        self._leave_if(self.emit(f"icmp ne i32 {answer}, 0"), answer)

    def _loop(self, s: plans.Loop) -> None:
        head, inside, done = (self.name(p) for p in ("head", "loop", "done"))
        self.line(f"br label %{head}")
        self.label(head)
        self.steps(s.condition)
        flag = self.emit(f"load i8, ptr {self.slot(s.flag)}, align 1")
        again = self.emit(f"icmp ne i8 {flag}, 0")
        self.line(f"br i1 {again}, label %{inside}, label %{done}")
        self.label(inside)
        self.steps(s.body)
        for a, b in s.rotate:
            first, second = self.slot(a), self.slot(b)
            self.line(f"store ptr {second}, ptr {self.rotated[a]}, align 8")
            self.line(f"store ptr {first}, ptr {self.rotated[b]}, align 8")
        self._poll()
        self.line(f"br label %{head}")
        self.label(done)

    def _branch(self, s: plans.Branch) -> None:
        index = self.emit(f"load i64, ptr {self.slot(s.index)}, align 8")
        last = len(s.cases) - 1
        negative = self.emit(f"icmp slt i64 {index}, 0")
        index = self.emit(f"select i1 {negative}, i64 0, i64 {index}")
        labels = [self.name("case") for _ in s.cases]
        done = self.name("done")
        arms = " ".join(f"i64 {k}, label %{name}" for k, name in enumerate(labels[:last]))
        self.line(f"switch i64 {index}, label %{labels[last]} [ {arms} ]")
        for name, case in zip(labels, s.cases, strict=True):
            self.label(name)
            self.steps(case)
            self.line(f"br label %{done}")
        self.label(done)


_MODE_INTRINSICS = """\
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
"""


def _copy_function(width: int) -> str:
    """`copy(destination, source, bytes)` by vectors, then by bytes: no call of the C library."""
    return f"""\
define internal void @copy(ptr %to, ptr %from, i64 %bytes) #0 {{
entry:
  %same = icmp eq ptr %to, %from
  br i1 %same, label %done, label %start
start:
  %whole = and i64 %bytes, {-width}
  %any = icmp ne i64 %whole, 0
  br i1 %any, label %wide, label %rest
wide:
  %i = phi i64 [ 0, %start ], [ %j, %wide ]
  %p = getelementptr i8, ptr %from, i64 %i
  %q = getelementptr i8, ptr %to, i64 %i
  %v = load <{width} x i8>, ptr %p, align 1
  store <{width} x i8> %v, ptr %q, align 1
  %j = add nuw i64 %i, {width}
  %more = icmp ult i64 %j, %whole
  br i1 %more, label %wide, label %rest
rest:
  %left = icmp ult i64 %whole, %bytes
  br i1 %left, label %narrow, label %done
narrow:
  %k = phi i64 [ %whole, %rest ], [ %l, %narrow ]
  %r = getelementptr i8, ptr %from, i64 %k
  %s = getelementptr i8, ptr %to, i64 %k
  %w = load i8, ptr %r, align 1
  store i8 %w, ptr %s, align 1
  %l = add nuw i64 %k, 1
  %again = icmp ult i64 %l, %bytes
  br i1 %again, label %narrow, label %done
done:
  ret void
}}
"""


def _slots(s: plans.Step) -> tuple[int, ...]:
    """The slots that a step itself names."""
    if isinstance(s, (plans.Launch, plans.Library)):
        return s.slots
    if isinstance(s, plans.Loop):
        return (s.flag, *_rotated(s))
    if isinstance(s, plans.Branch):
        return (s.index,)
    return (s.destination, s.source)


def _rotated(s: plans.Step) -> tuple[int, ...]:
    return tuple(k for pair in s.rotate for k in pair) if isinstance(s, plans.Loop) else ()


def _frame_fields(plan: Plan, s: plans.Step) -> int:
    if isinstance(s, plans.Launch):
        return 1 + len(s.slots) + len(s.sizes)
    return max(len(s.slots), 1) if isinstance(s, plans.Library) else 1


# --- modules and objects --------------------------------------------------------------------------


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
    entry = _Entry(plan, target, same)
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
