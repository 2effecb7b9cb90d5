"""NVIDIA GPUs: scheduled kernels as PTX.

Takes kernels whose loops are of kinds grid, warp and thread (`passes/schedule_blocks`) and returns
PTX text for one compute capability, through LLVM's NVPTX target; the driver turns it into machine
code. Every loop variable of the hardware is a special register; shared buffers are module-level
arrays; `Shuffle` over threads is `shfl.sync.bfly`. No fast-math flags, no contraction: divisions
and square roots are the exactly rounded ones, so the bits are the CPU's.

An intrinsic that LLVM cannot select ends the process, hence the whitelist.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyc.backends import llvm_narrow
from pyc.backends.launching import KernelLaunch, TensorMap
from pyc.backends.llvm import INTRINSICS
from pyc.backends.llvm_addresses import Place
from pyc.backends.llvm_builder import Scope, Value, literal, memory_type
from pyc.backends.llvm_expr import LARGEST_SIZE
from pyc.backends.llvm_halves import Halves, constant_of
from pyc.backends.llvm_library import Machine, machine
from pyc.backends.nvptx_atomics import AtomicEmitter
from pyc.backends.nvptx_clusters import CLUSTER_INTRINSICS
from pyc.backends.nvptx_division import (
    ORDINARY,
    divide_bfloat16,
    divide_constant,
    quick_or_exact,
)
from pyc.backends.nvptx_groups import GroupEmitter
from pyc.backends.nvptx_tiles import REGISTERS, bytes_of
from pyc.backends.ptx_early import begins_early, marker, waiting_first
from pyc.backends.ptx_kept import kept
from pyc.backends.same_kernels import representatives
from pyc.errors import CompileError
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.by_value import by_value
from pyc.ir.dtype import DType
from pyc.ir.expr import Load, Shuffle
from pyc.ir.formula import formula
from pyc.ir.loops import (
    Alloc,
    Barrier,
    Buffer,
    Extent,
    Fail,
    For,
    Kernel,
    Kind,
    Space,
    walk,
)
from pyc.ir.target import Target

NVPTX_INTRINSICS = (
    *INTRINSICS,
    "llvm.nvvm.read.ptx.sreg.tid.x",
    "llvm.nvvm.read.ptx.sreg.ctaid.x",
    "llvm.nvvm.read.ptx.sreg.ctaid.y",
    "llvm.nvvm.read.ptx.sreg.ctaid.z",
    *CLUSTER_INTRINSICS,
    "llvm.nvvm.barrier.cta.sync.aligned.all",
    "llvm.nvvm.bar.warp.sync",
    "llvm.nvvm.shfl.sync.bfly.i32",
    "llvm.nvvm.rcp.approx.ftz.f",
    "llvm.nvvm.div.full",
    "llvm.nvvm.sqrt.approx.f",
    "llvm.minnum",
    "llvm.maxnum",
)
STREAMED_BYTES = 1 << 25
"""Bytes of a result of which nothing is kept in the second cache for what follows."""
_BLOCK_REGISTERS = ("ctaid.x", "ctaid.y", "ctaid.z")
_MOST_BLOCKS = (1 << 31) - 1
_WARP = 32
_BUSY_THREADS = 512
"""Threads that a multiprocessor should hold at once: up to 128 registers each."""
_MEETING_THREADS = 768
"""The same of blocks whose threads meet, which load, compute and store in turn: while one waits
others work."""
_OTHER_REGISTERS = 40
"""What a thread needs beside its register buffers."""
_WAITING_REGISTERS = 24
"""The same of blocks that wait for each other: what one computes is done in any order."""


def launch_of(
    kernel: Kernel,
    name: str,
    shared_bytes: int = 0,
    maps: tuple[TensorMap, ...] = (),
) -> KernelLaunch:
    """The launch of a kernel with constant extents of warp and thread loops. It has no blocks where
    these depend on sizes, until it is `bound` to them."""
    grid: list[Extent] = []
    cluster, group, warps, threads = 1, 1, 1, 1
    hardware = (Kind.GRID, Kind.CLUSTER, Kind.GROUP, Kind.WARP, Kind.THREAD)
    for s in walk(kernel.body):
        if not isinstance(s, For) or s.kind not in hardware:
            continue
        if s.kind is Kind.GRID:
            grid.append(s.extent)
        elif not isinstance(s.extent, int):
            raise CompileError(f"kernel {kernel.name}: {s.kind.value} loops need constant extents")
        elif s.kind is Kind.CLUSTER:
            cluster = s.extent
        elif s.kind is Kind.GROUP:
            group = s.extent
        elif s.kind is Kind.WARP:
            warps = max(warps, s.extent)
        else:
            threads = max(threads, s.extent)
    sites = tuple(sorted({s.site for s in walk(kernel.body) if isinstance(s, Fail)}))
    x, y, z = (*grid, 1, 1, 1)[:3]
    made = KernelLaunch(name, (0, 0, 0), warps * threads, shared_bytes, maps, cluster, sites)
    made = replace(made, values=by_value(kernel))
    if isinstance(x, int) and isinstance(y, int) and isinstance(z, int):
        return replace(made, grid=(x * cluster * group, y, z))
    along_x, *others = (formula(extent, kernel.sizes) for extent in (x, y, z))
    return replace(made, blocks=(("mul", along_x, cluster), *others))


def _registers_of(threads: int) -> int:
    """Registers of each of so many threads: a multiprocessor has four quarters, which share warps
    and registers evenly."""
    return REGISTERS // (-(-threads // (4 * _WARP)) * 4 * _WARP)


class NvptxKernel(AtomicEmitter, GroupEmitter):
    """A kernel as a PTX entry: parameters are buffer addresses, sizes, the error slot, the numbers
    that come by value, and the tensor maps of its launch."""

    gathers = False

    def __init__(self, kernel: Kernel, target: Target, intrinsics: dict[str, str]) -> None:
        super().__init__(kernel, target, intrinsics, NVPTX_INTRINSICS)
        self.builder.halves = Halves()
        self.builder.approximates = True
        self._grids = 0
        self._inside_warp = False
        self._reciprocals: dict[str, tuple[Value, Value, Value]] = {}
        self._numbers: dict[Buffer, Value] = {}
        """What the buffers hold that may come by value."""
        launch = launch_of(kernel, "")
        self.threads, self.cluster = launch.threads, launch.cluster
        loops = [s for s in walk(kernel.body) if isinstance(s, For) and s.kind is Kind.GROUP]
        self.group = next((s.extent for s in loops if isinstance(s.extent, int)), 1)
        meets = any(isinstance(s, Barrier) and s.scope == "block" for s in walk(kernel.body))
        self.blocks = max((_MEETING_THREADS if meets else _BUSY_THREADS) // self.threads, 1)
        self.early = begins_early(kernel, target)
        self.prepare()
        needed = self._registers()
        while self.blocks > self.least_blocks:
            if needed <= _registers_of(self.threads * self.blocks):
                break
            self.blocks -= 1

    def _registers(self) -> int:
        """What a thread needs at least: its register buffers, and addresses. Where blocks wait for
        each other, of the buffers only those that threads have while they meet."""
        made = [s for s in walk(self.kernel.body) if isinstance(s, Alloc)]
        if self.waits:
            made = [s for s in made if any(isinstance(x, Barrier) for x in walk(s.body))]
        buffers = [s.buffer for s in made if s.buffer not in self.accumulators]
        held = sum(-(-bytes_of(b) // 4) for b in buffers if b.space is Space.REGISTER)
        return held + (_WAITING_REGISTERS if self.waits else _OTHER_REGISTERS)

    def function(self, name: str) -> str:
        """The text of the entry and its shared arrays."""
        self.symbol = name
        b = self.builder
        parameters: list[str] = []
        for k, buffer in enumerate(self.kernel.buffers):
            # What other blocks store meanwhile is not this one's alone.
            shared = self.grouped and buffer.role == "inout"
            facts = "" if buffer.may_alias or shared else " noalias"
            facts += " readonly" if buffer.role == "in" and not buffer.may_alias else ""
            parameters.append(f"ptr addrspace(1){facts} align {buffer.alignment} %p{k}")
            self.places[buffer] = Place(f"%p{k}", "ptr addrspace(1)", b.root)
        for k, size in enumerate(self.kernel.sizes):
            parameters.append(f"i64 %n{k}")
            self.bind(size, Value(f"%n{k}", dt.i64, b.root, low=0, high=LARGEST_SIZE))
        parameters.append("ptr addrspace(1) %error")
        if self.early:
            b.line(marker())
        for k in by_value(self.kernel):
            parameters.append(f"i64 %w{k}")
            self._numbers[self.kernel.buffers[k]] = self._number(k)
        self.body(self.kernel.body)
        b.line("br label %leave")
        b.label("leave")
        b.line("ret void")
        bounds = f'"nvvm.maxntid"="{self.threads}" "nvvm.minctasm"="{self.blocks}"'
        if self.clustered:
            bounds += f' "nvvm.cluster_dim"="{self.cluster},1,1"'
        parameters += self.map_parameters()
        head = f"define ptx_kernel void @{name}({', '.join(parameters)}) #0 {bounds} {{"
        return "\n".join([*self.globals, f"{head}\nentry:\n{b.text()}\n}}\n"])

    def _number(self, k: int) -> Value:
        """The element of a buffer that may come by value: in parameter `%w` if its address is
        null."""
        b, buffer = self.builder, self.kernel.buffers[k]
        type, bits = memory_type(buffer.dtype), 8 * buffer.dtype.itemsize
        word = b.emit(f"trunc i64 %w{k} to i{bits}") if bits < 64 else f"%w{k}"
        given = word if type == f"i{bits}" else b.emit(f"bitcast i{bits} {word} to {type}")
        absent = b.emit(f"icmp eq ptr addrspace(1) %p{k}, null")
        start, there, known = (b.name(p) for p in ("number", "there", "known"))
        b.jump(start)
        b.line(f"br i1 {absent}, label %{known}, label %{there}")
        b.label(there)
        metadata = self.load_metadata(buffer)
        text = f"load {type}, ptr addrspace(1) %p{k}, align {buffer.alignment}{metadata}"
        loaded = b.emit(text)
        b.line(f"br label %{known}")
        b.label(known)
        found = b.emit(f"phi {type} [ {given}, %{start} ], [ {loaded}, %{there} ]")
        return self.from_memory(found, buffer, 0, b.root)

    def load(self, node: Load, piece: int) -> Value:
        """See `LoadEmitter`; numbers are known."""
        found = self._numbers.get(node.buffer)
        return super().load(node, piece) if found is None else found

    def scalar_instruction(
        self, name: str, dtype: DType, args: Sequence[Value], scope: Scope
    ) -> str:
        """See `llvm_narrow`."""
        return llvm_narrow.emit(self.builder, name, dtype, args, 0, scope)

    def _sreg(self, name: str, extent: int) -> Value:
        b = self.builder
        call = b.intrinsic(f"llvm.nvvm.read.ptx.sreg.{name}", "i32", [])
        narrow = b.emit(f"{call}()", b.root)
        wide = b.emit(f"zext i32 {narrow} to i64", b.root)
        return Value(wide, dt.i64, b.root, low=0, high=extent - 1)

    def block_number(self) -> Value:
        """The number of a block among all of a launch."""
        return self._sreg("ctaid.x", _MOST_BLOCKS)

    def thread_number(self) -> Value:
        """The number of a thread in its block."""
        return self._sreg("tid.x", self.threads)

    def hardware_loop(self, loop: For) -> None:
        """Binds the variable of a grid, cluster, warp or thread loop to its register."""
        b = self.builder
        if loop.kind is Kind.GRID:
            most = loop.extent if isinstance(loop.extent, int) else _MOST_BLOCKS
            register = "clusterid.x" if self.clustered else _BLOCK_REGISTERS[self._grids]
            value = self._sreg(register, most)
            if self.grouped:
                value = self.group_number(self.block_number())
            self._grids += 1
            self.bind(loop.var, value)
            self.body(loop.body)
            self._grids -= 1
            return
        assert isinstance(loop.extent, int)
        if loop.kind in (Kind.CLUSTER, Kind.GROUP):
            clustered = loop.kind is Kind.CLUSTER
            rank = self._sreg("cluster.ctaid.x", loop.extent) if clustered else None
            self.bind(loop.var, rank or self.rank(self.block_number()))
            self.body(loop.body)
            return
        self.start_phases()
        thread = self.thread_number()
        if loop.kind is Kind.WARP:
            ref = b.emit(f"lshr i64 {thread.ref}, 5", b.root)
            self.bind(loop.var, Value(ref, dt.i64, b.root, low=0, high=loop.extent - 1))
            outer, self._inside_warp = self._inside_warp, True
            self._guarded(loop, ref, self.threads // _WARP)
            self._inside_warp = outer
            return
        if not self._inside_warp:
            self.bind(loop.var, Value(thread.ref, dt.i64, b.root, low=0, high=loop.extent - 1))
            self._guarded(loop, thread.ref, self.threads)
            return
        ref = b.emit(f"and i64 {thread.ref}, 31", b.root)
        self.bind(loop.var, Value(ref, dt.i64, b.root, low=0, high=loop.extent - 1))
        self._guarded(loop, ref, _WARP)

    def _guarded(self, loop: For, number: str, there: int) -> None:
        """The body, run by the first `extent` of the warps or threads that are there."""
        if loop.extent == there:
            self.body(loop.body)
            return
        b = self.builder
        inside, done = b.name("inside"), b.name("outside")
        test = b.emit(f"icmp ult i64 {number}, {loop.extent}")
        b.line(f"br i1 {test}, label %{inside}, label %{done}")
        b.label(inside)
        b.open("block", certain=False)
        self.body(loop.body)
        b.close()
        b.line(f"br label %{done}")
        b.label(done)

    def vector_instruction(
        self, name: str, dtype: DType, args: Sequence[Value], lanes: int, scope: Scope
    ) -> str:
        """See `llvm_narrow`; the lanes of some divisions share a branch (`nvptx_division`)."""
        b = self.builder
        here = scope is b.scope
        if name == "div" and dtype is dt.f32 and here:
            size = abs(constant_of(args[0].ref) or 0.0)
            if ORDINARY[0] < size < ORDINARY[1]:
                return divide_constant(b, args[0].ref, args[1].ref, lanes)
            divisor = self.spread.get(args[1].ref)
            if divisor is not None:
                return self._divide_by_one(args[0].ref, args[1].ref, divisor, lanes)
        if name == "cast" and dtype is dt.bf16 and args[0].dtype is dt.f32 and here:
            operands = b.halves.quotient(args[0].ref, dt.bf16) if b.halves is not None else None
            if operands is not None:
                args = [Value(divide_bfloat16(b, *operands, lanes), dt.f32, scope, lanes)]
        return llvm_narrow.emit(b, name, dtype, args, lanes, scope)

    def _divide_by_one(self, x: str, y: str, divisor: Value, lanes: int) -> str:
        """The exactly rounded quotients of ordinary numbers by one, `divisor`, of which `y` is the
        vector: what the assembler does for each of them, but the reciprocal once, and with one
        branch."""
        b = self.builder
        place = b.placement(divisor.scope)
        key = divisor.ref
        if key not in self._reciprocals or not self._reciprocals[key][0].scope.open:
            self._reciprocals[key] = self._reciprocal(divisor, place)
        exact, negative, usual = self._reciprocals[key]
        f32 = f"<{lanes} x float>"
        fma = b.intrinsic(f"llvm.fma.v{lanes}f32", f32, [f32] * 3)
        size = b.emit(f"{b.intrinsic(f'llvm.fabs.v{lanes}f32', f32, [f32])}({f32} {x})")
        ends = []
        for which in ("minnum", "maxnum"):
            call = b.intrinsic(f"llvm.{which}.f32", "float", ["float", "float"])
            found = b.emit(f"extractelement {f32} {size}, i64 0")
            for lane in range(1, lanes):
                one = b.emit(f"extractelement {f32} {size}, i64 {lane}")
                found = b.emit(f"{call}(float {found}, float {one})")
            ends.append(found)
        above = b.emit(f"fcmp ogt float {ends[0]}, {literal(ORDINARY[0], dt.f32)}")
        below = b.emit(f"fcmp olt float {ends[1]}, {literal(ORDINARY[1], dt.f32)}")
        good = b.emit(f"and i1 {b.emit(f'and i1 {above}, {below}')}, {usual.ref}")
        times, back = (self._splat(v, lanes).ref for v in (exact, negative))
        product = b.emit(f"fmul {f32} {x}, {times}")
        rest = b.emit(f"{fma}({f32} {back}, {f32} {product}, {f32} {x})")
        quick = b.emit(f"{fma}({f32} {rest}, {f32} {times}, {f32} {product})")
        return quick_or_exact(b, good, quick, x, y, lanes)

    def _reciprocal(self, y: Value, place: Scope) -> tuple[Value, Value, Value]:
        """The reciprocal of a number as divisions take it, the number negated, and whether it is an
        ordinary one."""
        b = self.builder
        near = b.intrinsic("llvm.nvvm.rcp.approx.ftz.f", "float", ["float"])
        fma = b.intrinsic("llvm.fma.f32", "float", ["float"] * 3)
        fabs = b.intrinsic("llvm.fabs.f32", "float", ["float"])
        back = b.emit(f"fneg float {y.ref}", place)
        found = b.emit(f"{near}(float {y.ref})", place)
        one = literal(1.0, dt.f32)
        error = b.emit(f"{fma}(float {back}, float {found}, float {one})", place)
        exact = b.emit(f"{fma}(float {found}, float {error}, float {found})", place)
        size = b.emit(f"{fabs}(float {y.ref})", place)
        above = b.emit(f"fcmp ogt float {size}, {literal(ORDINARY[0], dt.f32)}", place)
        below = b.emit(f"fcmp olt float {size}, {literal(ORDINARY[1], dt.f32)}", place)
        usual = b.emit(f"and i1 {above}, {below}", place)
        values = ((exact, dt.f32), (back, dt.f32), (usual, dt.b1))
        return tuple(Value(ref, dtype, place) for ref, dtype in values)  # type: ignore[return-value]

    def parallel_range(self, loop: For) -> tuple[Value, Value] | None:
        """All iterations: parallel loops are grid loops here."""
        return None

    def load_metadata(self, buffer: Buffer) -> str:
        """Loads of inputs may take the read-only path: `noalias readonly` says so already."""
        return ""

    def store_metadata(self, buffer: Buffer, alignment: int, nbytes: int) -> str:
        """Nothing: plain stores."""
        return ""

    def store_lanes(
        self, buffer: Buffer, element: Value, value: Value, piece: int, mask: Value | None
    ) -> None:
        """See `MemoryEmitter`; 16 bytes of a large result leave the cache first."""
        assert self.lockstep is not None
        b, width = self.builder, self.lockstep.width
        whole = width * 4 == 16 and buffer.dtype is dt.f32 and element.base is not None
        if whole and mask is None and element.stride == 1 and self._streams(buffer):
            assert element.base is not None
            if self.alignment(buffer, element.base, piece * width) >= 16:
                address = self.offset(buffer, element.base, piece * width, b.scope)
                parts = [
                    b.emit(f"extractelement <4 x float> {value.ref}, i64 {k}") for k in range(4)
                ]
                given = ", ".join(f"float {p}" for p in parts)
                text = "st.global.cs.v4.f32 [$0], {$1, $2, $3, $4};"
                pointer = self.places[buffer].pointer
                b.line(
                    f'call void asm sideeffect "{text}", "l,f,f,f,f"({pointer} {address}, {given})'
                )
                return
        super().store_lanes(buffer, element, value, piece, mask)

    def _streams(self, buffer: Buffer) -> bool:
        """Whether a buffer is a result too large to stay in the second cache, of blocks that hold
        what they read until they store it."""
        sizes = [d for d in buffer.shape if isinstance(d, int)]
        known = len(sizes) == len(buffer.shape)
        large = known and prod(sizes) * buffer.dtype.itemsize >= STREAMED_BYTES
        return self.waits and large and buffer.role == "out" and not buffer.may_alias

    def block_barrier(self) -> None:
        """All threads of the block meet."""
        call = self.builder.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", "void", ["i32"])
        self.builder.line(f"{call}(i32 0)")

    def poll_cancel(self) -> None:
        """Nothing: a GPU kernel runs to its end."""

    def thread_shuffle(self, node: Shuffle, value: Value) -> Value:
        """The value of thread `var ^ distance`, in 32-bit halves."""
        b = self.builder
        dtype = node.dtype
        bits = 8 if dtype is dt.b1 else dtype.bits
        ref = value.ref
        if dtype is dt.b1:
            word = b.emit(f"zext i1 {ref} to i32")
            return Value(
                b.emit(f"icmp ne i32 {self._exchange(word, node.distance)}, 0"),
                dtype,
                b.scope,
            )
        if dtype in (dt.f32, dt.f64):
            ref = b.emit(f"bitcast {'float' if bits == 32 else 'double'} {ref} to i{bits}")
        if bits < 32:
            word = b.emit(f"zext i{bits} {ref} to i32")
            moved = b.emit(f"trunc i32 {self._exchange(word, node.distance)} to i{bits}")
        elif bits == 32:
            moved = self._exchange(ref, node.distance)
        else:
            low = b.emit(f"trunc i64 {ref} to i32")
            high = b.emit(f"trunc i64 {b.emit(f'lshr i64 {ref}, 32')} to i32")
            halves = [self._exchange(x, node.distance) for x in (low, high)]
            wide = [b.emit(f"zext i32 {x} to i64") for x in halves]
            moved = b.emit(f"or i64 {wide[0]}, {b.emit(f'shl i64 {wide[1]}, 32')}")
        if dtype in (dt.f32, dt.f64):
            moved = b.emit(f"bitcast i{bits} {moved} to {'float' if bits == 32 else 'double'}")
        return Value(moved, dtype, b.scope)

    def _exchange(self, word: str, distance: int) -> str:
        b = self.builder
        call = b.intrinsic("llvm.nvvm.shfl.sync.bfly.i32", "i32", ["i32"] * 4)
        return b.emit(f"{call}(i32 -1, i32 {word}, i32 {distance}, i32 31)")

    def fail(self, site: int, value: Value) -> None:
        """Lowers the site in the first word of the error slot, and the value in the site's own
        word after it: what remains does not depend on which thread comes first."""
        b = self.builder
        b.emit(f"atomicrmw umin ptr addrspace(1) %error, i64 {site} monotonic")
        word = b.emit(f"getelementptr i8, ptr addrspace(1) %error, i64 {8 * (1 + site)}")
        b.emit(f"atomicrmw umin ptr addrspace(1) {word}, i64 {value.ref} monotonic")


def _machine(target: Target) -> Machine:
    return machine(target.triple, target.cpu, target.features, 3)


def module_text(kernels: Sequence[Kernel], target: Target) -> tuple[str, tuple[KernelLaunch, ...]]:
    """The LLVM text of some kernels, and how each is launched. Equal kernels are one function: the
    code of what runs again and again is then where the device fetches it from soonest."""
    intrinsics: dict[str, str] = {}
    functions: list[str] = []
    made: dict[int, KernelLaunch] = {}
    same = representatives(kernels)
    for k in sorted(set(same)):
        kernel, name = kernels[k], f"k{k}"
        emitter = NvptxKernel(kernel, target, intrinsics)
        functions.append(emitter.function(name))
        launch = launch_of(kernel, name, emitter.shared_bytes, tuple(emitter.maps))
        made[k] = replace(launch, early=emitter.early)
    text = "\n".join(
        (
            f'target triple = "{target.triple}"',
            f'target datalayout = "{_machine(target).data_layout}"',
            *functions,
            *intrinsics.values(),
            'attributes #0 = { nounwind "no-builtins" }',
            "attributes #1 = { convergent nounwind }",
            '!0 = !{!"branch_weights", i32 1, i32 1000000}',
            '!1 = !{!"branch_weights", i32 1000000, i32 1}',
            "",
        )
    )
    return text, tuple(made[k] for k in same)


def ptx(text: str, target: Target) -> str:
    """PTX of an LLVM module; equal text gives equal PTX."""
    return waiting_first(kept(_machine(target).assembly_of(text, 2)))
