"""`entry` of a Plan for x86-64: its steps in order, after the ABI in `ir/plan.py`.

It sets the default floating-point mode where the caller has another, puts the addresses of each
step's buffers in a frame, and calls the kernels' functions (`x86_kernel`) or the routines of
libraries, whose addresses are in the context: the text needs no symbol from outside.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyc.backends.owned import owned_buffer
from pyc.backends.x86_kernel import OFFSET, outermost_parallel, task_count
from pyc.forks import later
from pyc.ir import plan as plans
from pyc.ir.expr import Apply, Const, Expr, Var, postorder
from pyc.ir.loops import Fail, Kernel, While, walk
from pyc.ir.plan import CANCELLED, Place, Plan
from pyc.ir.target import Target

LibraryFunction = later("pyc.backends.x86_library", "LibraryFunction")
describe = later("pyc.ir.routines", "describe")
is_lapack = later("pyc.ir.routines", "is_lapack")

_MODE_FLAGS, _DEFAULT_MODE = 0x3F, 0x1F80
"""MXCSR: the sticky exception flags, and its value when a process starts."""
_NO_SITE = -1
"""The error slot's site while nothing has failed: the largest unsigned number."""


class Entry:
    """Emits `entry`: the steps of a Plan in order. same: the kernel whose function runs each."""

    def __init__(self, plan: Plan, target: Target, same: Sequence[int]) -> None:
        self.plan = plan
        self.same = same
        self.lines: list[str] = []
        self.constants: list[str] = []
        self.numbers: list[int] = []
        """Constants of counts of tasks. They lie in the module of the kernels."""
        self.externals: list[str] = []
        self.functions: list[str] = []
        self.count = 0
        self.rotated: dict[int, str] = {}
        self.addresses: dict[int, str] = {}
        self.copies = False
        self.copies_spread = False
        self.spreads = False
        self.width = target.vector_bytes

    def name(self, prefix: str = "v") -> str:
        """A new name."""
        self.count += 1
        return f"{prefix}{self.count}"

    def line(self, text: str) -> None:
        """Adds an instruction without a result."""
        self.lines.append("  " + text)

    def emit(self, text: str) -> str:
        """Adds an instruction; its result."""
        ref = f"%{self.name()}"
        self.line(f"{ref} = {text}")
        return ref

    def label(self, name: str) -> None:
        """Begins a block."""
        self.lines.append(f"{name}:")

    def field(self, name: str, type: str = "ptr") -> str:
        """A field of the context, read here."""
        address = self.emit(f"getelementptr i8, ptr %context, i64 {OFFSET[name]}")
        return self.emit(f"load {type}, ptr {address}, align 8")

    def text(self) -> str:
        """The function and its constants; `functions` are those that it calls beside kernels."""
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
        site = self.emit(f"getelementptr i8, ptr %context, i64 {OFFSET['error_site']}")
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
        if self.copies:
            self.functions.append(_copy_function(self.width))
        if self.copies_spread:
            self.functions.append(_COPY_PIECES)
        parts = [*self.constants]
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
        if buffer.place is Place.ARGUMENT:
            offset = plans.ARGUMENT_BYTES * buffer.index
            address = self.emit(f"getelementptr i8, ptr %arguments, i64 {offset}")
            return address if buffer.scalar else self.emit(f"load ptr, ptr {address}, align 8")
        if buffer.place is Place.RESULT:
            address = self.emit(f"getelementptr i8, ptr %results, i64 {8 * buffer.index}")
            return self.emit(f"load ptr, ptr {address}, align 8")
        base = self.field("arena" if buffer.place is Place.ARENA else "constants")
        return self.emit(f"getelementptr i8, ptr {base}, i64 {buffer.index}")

    def slot(self, slot: int) -> str:
        """The address of a slot now."""
        if slot in self.rotated:
            return self.emit(f"load ptr, ptr {self.rotated[slot]}, align 8")
        return self.addresses[slot]

    def steps(self, steps: Sequence[plans.Step]) -> None:
        """Emits steps in order."""
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
                self._copy(s)

    def _copy(self, s: plans.Copy) -> None:
        """Copies a buffer, a large one by the workers."""
        self.copies = True
        size = self.plan.buffers[s.source].nbytes
        source, destination = self.slot(s.source), self.slot(s.destination)
        if size < _SPREAD_BYTES:
            self.line(f"call void @copy(ptr {destination}, ptr {source}, i64 {size})")
            return
        self.copies_spread = True
        self._fill([f"ptr {destination}", f"ptr {source}", f"i64 {size}"])
        self._run("@copy_pieces", str(-(-size // _PIECE_BYTES)))

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
        sizes = [self._size(n) for n in s.sizes]
        tasks = self._tasks(kernel, s, sizes)
        if tasks == "0":
            return
        addresses = [f"ptr {self.slot(k)}" for k in s.slots]
        self._fill(["ptr %context", *addresses, *(f"i64 {n}" for n in sizes)])
        self._run(
            f"@k{self.same[s.kernel]}", tasks, owned_buffer(outermost_parallel(kernel)) is not None
        )
        statements = list(walk(kernel.body))
        if any(isinstance(x, Fail) for x in statements):
            site = self.field("error_site", "i64")
            failed = self.emit(f"icmp ne i64 {site}, {_NO_SITE}")
            number = self.emit(f"trunc i64 {site} to i32")
            self._leave_if(failed, self.emit(f"add i32 {number}, 1"))
        if any(isinstance(x, While) for x in statements):
            self._poll()

    def _run(self, function: str, tasks: str, evenly: bool = False) -> None:
        """Calls a function of a range of tasks with the frame, by the workers if there are any.
        evenly: each takes one range of them, as each range reads everything anew."""
        direct = f"call void {function}(ptr %frame, i64 0, i64 {tasks})"
        if tasks == "1":
            self.line(direct)
            return
        self.spreads = True
        spread, serial, done = (self.name(p) for p in ("spread", "serial", "done"))
        parallel = self.field("parallel")
        alone = self.emit(f"icmp eq ptr {parallel}, null")
        if tasks.startswith("%"):
            few = self.emit(f"icmp slt i64 {tasks}, 2")
            alone = self.emit(f"or i1 {alone}, {few}")
        self.line(f"br i1 {alone}, label %{serial}, label %{spread}")
        self.label(spread)
        pool = self.field("pool")
        asked = f"-{tasks}" if evenly else tasks
        arguments = f"ptr {pool}, ptr {function}, ptr %frame, i64 {asked}"
        self.line(f"call void {parallel}({arguments})")
        self.line(f"br label %{done}")
        self.label(serial)
        self.line(direct)
        self.line(f"br label %{done}")
        self.label(done)

    def _size(self, size: int | plans.Given) -> str:
        """A size of a launch: a number, or one of those in front of the constants."""
        if isinstance(size, int):
            return str(size)
        base = self.field("constants")
        address = self.emit(f"getelementptr i8, ptr {base}, i64 {8 * size.number}")
        return self.emit(f"load i64, ptr {address}, align 8")

    def _tasks(self, kernel: Kernel, s: plans.Launch, sizes: Sequence[str]) -> str:
        """How many tasks a launch has; a name where that depends on sizes that are given."""
        known = [n for n in s.sizes if isinstance(n, int)]
        loop = outermost_parallel(kernel)
        if len(known) == len(s.sizes) or loop is None or isinstance(loop.extent, int):
            return str(max(task_count(kernel, known), 0))
        return self._evaluated(loop.extent, dict(zip(kernel.sizes, sizes, strict=True)))

    def _number(self, value: int) -> str:
        """A constant that differs between programs whose entries are the same otherwise."""
        if value not in self.numbers:
            self.numbers.append(value)
        offset = 8 * self.numbers.index(value)
        address = self.emit(f"getelementptr i8, ptr {_NUMBERS}, i64 {offset}")
        return self.emit(f"load i64, ptr {address}, align 8")

    def table(self) -> list[str]:
        """What defines `numbers`; nothing if there are none."""
        listed = ", ".join(f"i64 {n}" for n in self.numbers)
        found = f"{_NUMBERS} = hidden constant {self._type()} [{listed}], align 8\n"
        return [found] if listed else []

    def declared(self) -> list[str]:
        """What declares them, for a module that does not define them."""
        return [f"{_NUMBERS} = external hidden constant {self._type()}"] if self.numbers else []

    def _type(self) -> str:
        return f"[{len(self.numbers)} x i64]"

    def _evaluated(self, root: Expr, known: dict[Var, str]) -> str:
        """An i64 expression over sizes."""
        found: dict[int, str] = {}
        for e in postorder([root]):
            if isinstance(e, Const):
                found[id(e)] = self._number(int(e.value))
            elif isinstance(e, Var):
                found[id(e)] = known[e]
            else:
                assert isinstance(e, Apply)
                a, b = (found[id(x)] for x in e.args)
                if e.name == "maximum":
                    larger = self.emit(f"icmp sgt i64 {a}, {b}")
                    found[id(e)] = self.emit(f"select i1 {larger}, i64 {a}, i64 {b}")
                else:
                    found[id(e)] = self.emit(f"{_INTEGER[e.name]} i64 {a}, {b}")
        return found[id(root)]

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

    def _external(self, routine: str) -> int:
        """The place of a routine in the context's table."""
        if routine not in self.externals:
            self.externals.append(routine)
        return self.externals.index(routine)

    def _lapack(self, s: plans.Library) -> None:
        """A step of LAPACK: its matrices are tasks."""
        step = describe(s.routine, s.integers)
        if not step.matrices:
            return
        name = f"library{len(self.functions)}"
        function = LibraryFunction(name, step, len(s.slots), self._external)
        self.functions.append(function.text())
        self.copies = True
        self._fill(["ptr %context", *(f"ptr {self.slot(k)}" for k in s.slots)])
        self._run(f"@{name}", str(step.tasks))
        self._poll()

    def _library(self, s: plans.Library) -> None:
        """A non-zero answer of the routine ends the call with that answer."""
        if is_lapack(s.routine):
            self._lapack(s)
            return
        table = self.field("externals")
        offset = 8 * self._external(s.routine)
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


_NUMBERS = "@numbers"
_HEAD = re.compile(r"^define (hidden void @\w+\([^)]*\))", re.MULTILINE)


def declarations(functions: Sequence[str]) -> str:
    """The declarations of the functions that these texts define, for another module."""
    return "\n".join(f"declare {head}" for text in functions for head in _HEAD.findall(text))


_INTEGER = {"add": "add", "sub": "sub", "mul": "mul", "quotient": "sdiv"}
"""What counts of tasks are made of, besides `maximum`."""
_MODE_INTRINSICS = """\
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
"""


def _copy_function(width: int) -> str:
    """`copy(destination, source, bytes)` by vectors, then by bytes: no call of the C library."""
    return f"""\
define hidden void @copy(ptr %to, ptr %from, i64 %bytes) #0 {{
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


_PIECE_BYTES = 1 << 18
"""Bytes that a worker copies at least."""
_SPREAD_BYTES = 1 << 22
"""Bytes from which on workers copy: some 0.5 ms on one core."""


_COPY_PIECES = f"""\
define hidden void @copy_pieces(ptr %frame, i64 %begin, i64 %end) #0 {{
entry:
  %from.at = getelementptr i8, ptr %frame, i64 8
  %bytes.at = getelementptr i8, ptr %frame, i64 16
  %to = load ptr, ptr %frame, align 8
  %from = load ptr, ptr %from.at, align 8
  %bytes = load i64, ptr %bytes.at, align 8
  %first = mul i64 %begin, {_PIECE_BYTES}
  %past = mul i64 %end, {_PIECE_BYTES}
  %short = icmp ult i64 %bytes, %past
  %stop = select i1 %short, i64 %bytes, i64 %past
  %size = sub i64 %stop, %first
  %p = getelementptr i8, ptr %to, i64 %first
  %q = getelementptr i8, ptr %from, i64 %first
  call void @copy(ptr %p, ptr %q, i64 %size)
  ret void
}}
"""
"""`copy_pieces(frame, begin, end)`: some pieces of a copy of frame[2] bytes."""


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
    if isinstance(s, plans.Copy):
        return 3
    return 1 + len(s.slots) if isinstance(s, plans.Library) else 1
