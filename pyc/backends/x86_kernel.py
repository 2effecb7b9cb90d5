"""Kernels as functions for x86-64.

Each kernel is a hidden function `void k(ptr frame, i64 begin, i64 end)`: frame[0] is the
context, then come the addresses of the kernel's buffers, then its sizes, 8 bytes each; begin and
end are the iterations of its outermost parallel loop (a kernel without one ignores them). That is
the function that the context's `parallel` calls, so no trampoline stands between.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np

from pyc.backends import x86_tiles, x86_vectors
from pyc.backends.llvm import INTRINSICS, KernelEmitter
from pyc.backends.llvm_addresses import Place
from pyc.backends.llvm_builder import Scope, Value, suffix
from pyc.backends.llvm_expr import LARGEST_SIZE
from pyc.backends.owned import owned_buffer, owner_of
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.expr import Shuffle
from pyc.ir.loops import (
    Alloc,
    Buffer,
    DeviceStatement,
    Fail,
    For,
    If,
    Kernel,
    Kind,
    Let,
    PairsMultiply,
    Prefetch,
    Space,
    Split,
    While,
    walk,
)
from pyc.ir.plan import CONTEXT_FIELDS
from pyc.ir.target import Target

X86_INTRINSICS = (
    *INTRINSICS,
    "llvm.prefetch",
    *x86_vectors.INTRINSICS,
    *x86_tiles.INTRINSICS,
    *("llvm.x86.sse.ldmxcsr", "llvm.x86.sse.sfence", "llvm.x86.sse.stmxcsr"),
)
OFFSET = {name: 8 * k for k, name in enumerate(CONTEXT_FIELDS)}
"""Where the fields of the context are, in bytes."""
ANY_ALIGNMENT = 16
"""Bytes of alignment that buffers have where nothing is said."""


class X86Kernel(KernelEmitter):
    """A kernel as an x86 function."""

    def __init__(self, kernel: Kernel, target: Target, intrinsics: dict[str, str]) -> None:
        super().__init__(kernel, target, intrinsics, X86_INTRINSICS)
        self.parallel = outermost_parallel(kernel)
        self._range: tuple[Value, Value] | None = None
        """The first of the tasks whose updates are done, and their number; None: all are."""
        self._table = owned_buffer(self.parallel)
        """The buffer of which each task updates a part."""
        self.loads_ahead = target.registers // 2
        self.plain_places = True
        self.quick_gathers = target.quick_gathers
        self.avx512 = x86_vectors.has_avx512(target)
        self._bounds: dict[tuple[str, str], x86_vectors.Bound] = {}
        self._truths: dict[str, Value] = {}
        """The masks that vectors of integers are, by their registers."""
        self._high_halves: dict[str, Value] = {}
        """Of what vectors of integers are the upper half of the bits, by their registers."""
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
            field = b.emit(f"getelementptr i8, ptr %context, i64 {OFFSET['cancel']}")
            b.line(f"%cancel = load ptr, ptr {field}, align 8")
        tiles = any(isinstance(s, PairsMultiply) for s in walk(self.kernel.body))
        if tiles:
            x86_tiles.configure(b)
        self.body(self.kernel.body)
        b.line("br label %leave")
        b.label("leave")
        if tiles:
            x86_tiles.release(b)
        if self.streams:  # such stores have no order: whoever waits for this task must see them
            b.line(f"{b.intrinsic('llvm.x86.sse.sfence', 'void', [])}()")
        b.line("ret void")
        head = f"define hidden void @{name}(ptr %frame, i64 %begin, i64 %end) #0 {{"
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

    def _for(self, s: For) -> None:
        if s is not self.parallel or self._table is None:
            super()._for(s)
            return
        b = self.builder
        number = b.emit("sub i64 %end, %begin")
        alone = b.emit(f"icmp eq i64 {number}, {self.index(s.extent).ref}")  # type: ignore[arg-type]
        own = (Value("%begin", dt.i64, b.root), Value(number, dt.i64, b.root))

        def updates(of: tuple[Value, Value] | None) -> None:
            self._range = of
            self.body(s.body)

        self._branch(
            Value(alone, dt.b1, b.scope), lambda: updates(None), lambda: updates(own), True
        )

    def _if(self, s: If) -> None:
        owner = (
            owner_of(s, self.parallel.var) if self._table is not None and self.parallel else None
        )
        if owner is None:
            super()._if(s)
        elif self._range is None:
            self.body(s.then)
        else:
            b, (first, number) = self.builder, self._range
            task = self.uniform(owner)
            apart = b.emit(f"sub i64 {task.ref}, {first.ref}")
            mine = b.emit(f"icmp ult i64 {apart}, {number.ref}")
            update = partial(self.body, s.then)
            self._branch(Value(mine, dt.b1, b.scope), update, lambda: None, False)

    def scalar_instruction(
        self, name: str, dtype: DType, args: Sequence[Value], scope: Scope
    ) -> str:
        """One with a bound, one of AVX-512's own, or the usual one."""
        found = self._bounded(name, dtype, args, scope)
        if found is None and self.avx512:
            found = x86_vectors.scalar_instruction(self.builder, name, dtype, args, scope)
        return found or super().scalar_instruction(name, dtype, args, scope)

    def _bounded(self, name: str, dtype: DType, args: Sequence[Value], scope: Scope) -> str | None:
        """A minimum or maximum with a number that its loop does not change."""
        for bound, x in (args, args[::-1]) if len(args) == 2 else ():
            if not x86_vectors.is_bound(name, dtype, bound, x):
                continue
            key = (name, bound.ref)
            found = self._bounds.get(key)
            if found is None or not found.scope.open:
                place = self.builder.placement(bound.scope)
                found = x86_vectors.Bound(self.builder, name, bound, place)
                self._bounds[key] = found
            return found.with_(self.builder, x, scope)
        return None

    def vector_instruction(
        self, name: str, dtype: DType, args: Sequence[Value], lanes: int, scope: Scope
    ) -> str:
        """One with a bound, one of AVX-512's own, or the usual one."""
        bounded = self._bounded(name, dtype, args, scope)
        if bounded is not None:
            return bounded
        found, b = None, self.builder
        if name == "fma_pairs" and self.target.bfloat16_pairs:
            found = x86_vectors.pairs_instruction(b, args, lanes, scope)
        elif self.avx512:
            found = self._of_known(name, dtype, args, lanes, scope)
            if found is None and not (name == "narrow_sqrt" and self._keeps_roots):
                found = x86_vectors.vector_instruction(b, name, dtype, args, lanes, scope)
        if found is None:
            found = super().vector_instruction(name, dtype, args, lanes, scope)
        if name == "cast" and args[0].dtype is dt.b1 and dtype.is_integer:
            self._truths[found] = args[0]
        if name == "shr" and x86_vectors.is_half_shift(dtype, args[1]):
            self._high_halves[found] = args[0]
        return found

    @cached_property
    def _keeps_roots(self) -> bool:
        return x86_vectors.keeps_roots(self.kernel)

    def _of_known(
        self, name: str, dtype: DType, args: Sequence[Value], lanes: int, scope: Scope
    ) -> str | None:
        """A sum of integers and truths is one more under the mask, which is one instruction where
        widening the mask and adding it are two; integers of half the bits that were shifted right
        by as many are every other element of two registers (three instructions before, and the
        shifts)."""
        b = self.builder
        for total, one in (args, args[::-1]) if name == "add" else ():
            if one.ref in self._truths:
                return x86_vectors.add_truth(b, dtype, total, self._truths[one.ref], lanes, scope)
        if name == "cast" and args[0].ref in self._high_halves:
            x = self._high_halves[args[0].ref]
            if x86_vectors.has_permutation(self.target, dtype, x.dtype, lanes):
                return x86_vectors.high_halves(b, dtype, x, lanes, scope)
        return None

    def start_alignment(self, buffer: Buffer) -> int:
        """An element's, but for memory that the planner places or that is asked for more: an array
        of the caller's may be a part of another, and begin at any element."""
        anywhere = buffer.space is Space.GLOBAL and buffer.alignment <= ANY_ALIGNMENT
        return 1 if anywhere else buffer.alignment

    def load_metadata(self, buffer: Buffer) -> str:
        """Nothing: plain loads."""
        return ""

    def accumulated_at_once(self, buffer: Buffer, element: Value, term: Value, name: str) -> bool:
        """Never: tasks do not share what they accumulate into."""
        return False

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
        slot = b.emit(f"getelementptr i8, ptr %context, i64 {OFFSET['error_site']}")
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

    def device_statement(self, statement: DeviceStatement) -> None:
        """Prefetches, into the first or second cache, and products of tiles; others are refused:
        schedules for a CPU have none."""
        if isinstance(statement, Prefetch):
            b, element = self.builder, self.linear(statement.buffer, statement.index, 0)
            if element.lanes or element.base is not None:
                raise ValueError(f"kernel {self.kernel.name}: a prefetch of many elements")
            address = self.offset(statement.buffer, element, 0, b.scope)
            pointer = self.places[statement.buffer].pointer
            head = b.intrinsic(f"llvm.prefetch.{suffix(pointer)}", "void", [pointer, *["i32"] * 3])
            level = 3 if statement.first else 2
            b.line(f"{head}({pointer} {address}, i32 0, i32 {level}, i32 1)")
            return
        if isinstance(statement, PairsMultiply) and self.target.bfloat16_tiles:
            addresses = []
            for buffer, index, _ in statement.boxes:
                element = self.linear(buffer, index, 0)
                addresses.append(self.offset(buffer, element, 0, self.builder.scope))
            first = None if statement.first is None else self.uniform(statement.first)
            x86_tiles.multiply(self.builder, statement, addresses, first)
            return
        if isinstance(statement, Split) and self.target.parts_vectors:
            self._split(statement)
            return
        raise ValueError(f"x86 has no {type(statement).__name__} (kernel {self.kernel.name})")

    def _split(self, s: Split) -> None:
        """Parts a vector in registers, and stores both parts whole: an instruction that stores a
        part alone is slow on some processors."""
        b = self.builder
        bound = self.uniform(s.bound)
        places = []
        for buffer, index in s.accesses:
            element = self.linear(buffer, index, 0)
            address = self.offset(buffer, element, 0, b.scope)
            places.append(f"ptr {address}, align {self.alignment(buffer, element)}")
        count = x86_vectors.split(b, bound, places, s.lanes)
        self.bind(s.count, Value(count, dt.i64, b.scope, low=0, high=s.lanes))

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
