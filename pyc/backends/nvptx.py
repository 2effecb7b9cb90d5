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

import numpy as np

from pyc.backends import llvm_narrow
from pyc.backends.base import KernelLaunch, TensorMap
from pyc.backends.llvm import INTRINSICS
from pyc.backends.llvm_addresses import Place
from pyc.backends.llvm_builder import Scope, Value, literal
from pyc.backends.llvm_expr import LARGEST_SIZE
from pyc.backends.llvm_halves import Halves, constant_of
from pyc.backends.llvm_library import Machine, machine
from pyc.backends.nvptx_atomics import AtomicEmitter
from pyc.backends.nvptx_clusters import CLUSTER_INTRINSICS, ClusterEmitter
from pyc.backends.nvptx_tiles import REGISTERS, bytes_of
from pyc.backends.same_kernels import representatives
from pyc.errors import CompileError
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.expr import Shuffle
from pyc.ir.loops import (
    Alloc,
    Buffer,
    Extent,
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
)
ORDINARY = (2.0**-60, 2.0**60)
"""Between these, neither a quotient nor what is left of a division overflows or is subnormal."""
_BLOCK_REGISTERS = ("ctaid.x", "ctaid.y", "ctaid.z")
_MOST_BLOCKS = (1 << 31) - 1
_WARP = 32
_BUSY_THREADS = 512
"""Threads that a multiprocessor should hold at once: up to 128 registers each."""
_OTHER_REGISTERS = 40
"""What a thread needs beside its register buffers."""


def launch_of(
    kernel: Kernel,
    name: str,
    shared_bytes: int = 0,
    maps: tuple[TensorMap, ...] = (),
    sizes: Sequence[int] | None = None,
) -> KernelLaunch:
    """The launch of a kernel with constant extents of warp and thread loops. sizes: its own, None
    while they are not known: it has no blocks then where these depend on them."""
    grid: list[int] = []
    cluster, warps, threads = 1, 1, 1
    hardware = (Kind.GRID, Kind.CLUSTER, Kind.WARP, Kind.THREAD)
    for s in walk(kernel.body):
        if not isinstance(s, For) or s.kind not in hardware:
            continue
        if s.kind is Kind.GRID:
            grid.append(_blocks(s.extent, kernel, sizes))
        elif not isinstance(s.extent, int):
            raise CompileError(f"kernel {kernel.name}: {s.kind.value} loops need constant extents")
        elif s.kind is Kind.CLUSTER:
            cluster = s.extent
        elif s.kind is Kind.WARP:
            warps = max(warps, s.extent)
        else:
            threads = max(threads, s.extent)
    x, y, z = (*grid, 1, 1, 1)[:3]
    return KernelLaunch(name, (x * cluster, y, z), warps * threads, shared_bytes, maps, cluster)


def _blocks(extent: Extent, kernel: Kernel, sizes: Sequence[int] | None) -> int:
    if isinstance(extent, int):
        return extent
    if sizes is None:
        return 0
    env = {v: np.asarray(n, np.int64) for v, n in zip(kernel.sizes, sizes, strict=True)}
    return int(evaluate([extent], env)[0])


def _registers_of(threads: int) -> int:
    """Registers of each of so many threads: a multiprocessor has four quarters, which share warps
    and registers evenly."""
    return REGISTERS // (-(-threads // (4 * _WARP)) * 4 * _WARP)


class NvptxKernel(AtomicEmitter, ClusterEmitter):
    """A kernel as a PTX entry: parameters are buffer addresses, sizes, the error
    slot, and the tensor maps of its launch."""

    gathers = False

    def __init__(self, kernel: Kernel, target: Target, intrinsics: dict[str, str]) -> None:
        super().__init__(kernel, target, intrinsics, NVPTX_INTRINSICS)
        self.builder.halves = Halves()
        self._grids = 0
        self._inside_warp = False
        launch = launch_of(kernel, "")
        self.threads, self.cluster = launch.threads, launch.cluster
        self.blocks = max(_BUSY_THREADS // self.threads, 1)
        self.prepare()
        while self.blocks > 1 and self._registers() > _registers_of(self.threads * self.blocks):
            self.blocks -= 1

    def _registers(self) -> int:
        """What a thread needs at least: its register buffers, and addresses."""
        made = [s.buffer for s in walk(self.kernel.body) if isinstance(s, Alloc)]
        held = [b for b in made if b.space is Space.REGISTER and b not in self.accumulators]
        return sum(-(-bytes_of(b) // 4) for b in held) + _OTHER_REGISTERS

    def function(self, name: str) -> str:
        """The text of the entry and its shared arrays."""
        self.symbol = name
        b = self.builder
        parameters: list[str] = []
        for k, buffer in enumerate(self.kernel.buffers):
            facts = "" if buffer.may_alias else " noalias"
            facts += " readonly" if buffer.role == "in" and not buffer.may_alias else ""
            parameters.append(f"ptr addrspace(1){facts} align {buffer.alignment} %p{k}")
            self.places[buffer] = Place(f"%p{k}", "ptr addrspace(1)", b.root)
        for k, size in enumerate(self.kernel.sizes):
            parameters.append(f"i64 %n{k}")
            self.bind(size, Value(f"%n{k}", dt.i64, b.root, low=0, high=LARGEST_SIZE))
        parameters.append("ptr addrspace(1) %error")
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
            self._grids += 1
            self.bind(loop.var, value)
            self.body(loop.body)
            self._grids -= 1
            return
        assert isinstance(loop.extent, int)
        if loop.kind is Kind.CLUSTER:
            self.bind(loop.var, self._sreg("cluster.ctaid.x", loop.extent))
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
        """See `llvm_narrow`; of divisions of a constant, all lanes take the short way (below)."""
        b = self.builder
        if name == "div" and dtype is dt.f32 and scope is b.scope:
            size = abs(constant_of(args[0].ref) or 0.0)
            if ORDINARY[0] < size < ORDINARY[1]:
                return self._divide_constant(args[0].ref, args[1].ref, lanes)
        return llvm_narrow.emit(b, name, dtype, args, lanes, scope)

    def _divide_constant(self, x: str, y: str, lanes: int) -> str:
        """The exactly rounded quotients of a constant and ordinary numbers: an approximate
        reciprocal, a step that corrects it, and one that corrects the quotient. The assembler does
        the same for each number, but with a branch of its own, behind which the others wait."""
        b = self.builder
        f32, bits = f"<{lanes} x float>", f"<{lanes} x i1>"
        fma = b.intrinsic(f"llvm.fma.v{lanes}f32", f32, [f32] * 3)
        size = b.emit(f"{b.intrinsic(f'llvm.fabs.v{lanes}f32', f32, [f32])}({f32} {y})")
        least, most = (f"splat (float {literal(e, dt.f32)})" for e in ORDINARY)
        above = b.emit(f"fcmp ogt {f32} {size}, {least}")
        below = b.emit(f"fcmp olt {f32} {size}, {most}")
        good = b.emit(f"and {bits} {above}, {below}")
        all_good = b.emit(f"extractelement {bits} {good}, i64 0")
        for lane in range(1, lanes):
            one = b.emit(f"extractelement {bits} {good}, i64 {lane}")
            all_good = b.emit(f"and i1 {all_good}, {one}")
        near = "poison"
        reciprocal = b.intrinsic("llvm.nvvm.rcp.approx.ftz.f", "float", ["float"])
        for lane in range(lanes):
            one = b.emit(f"extractelement {f32} {y}, i64 {lane}")
            found = b.emit(f"{reciprocal}(float {one})")
            near = b.emit(f"insertelement {f32} {near}, float {found}, i64 {lane}")
        back = b.emit(f"fneg {f32} {y}")
        one = f"splat (float {literal(1.0, dt.f32)})"
        error = b.emit(f"{fma}({f32} {back}, {f32} {near}, {f32} {one})")
        exact = b.emit(f"{fma}({f32} {near}, {f32} {error}, {f32} {near})")
        product = b.emit(f"fmul {f32} {x}, {exact}")
        rest = b.emit(f"{fma}({f32} {back}, {f32} {product}, {f32} {x})")
        quick = b.emit(f"{fma}({f32} {rest}, {f32} {exact}, {f32} {product})")
        start, odd, join = (b.name(name) for name in ("start", "odd", "join"))
        b.jump(start)
        b.line(f"br i1 {all_good}, label %{join}, label %{odd}, !prof !1")
        b.label(odd)
        slow = b.emit(f"fdiv {f32} {x}, {y}")
        b.line(f"br label %{join}")
        b.label(join)
        return b.emit(f"phi {f32} [ {quick}, %{start} ], [ {slow}, %{odd} ]")

    def parallel_range(self, loop: For) -> tuple[Value, Value] | None:
        """All iterations: parallel loops are grid loops here."""
        return None

    def load_metadata(self, buffer: Buffer) -> str:
        """Loads of inputs may take the read-only path: `noalias readonly` says so already."""
        return ""

    def store_metadata(self, buffer: Buffer, alignment: int, nbytes: int) -> str:
        """Nothing: plain stores."""
        return ""

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
        made[k] = launch_of(kernel, name, emitter.shared_bytes, tuple(emitter.maps))
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
    return _machine(target).assembly_of(text, 2)
