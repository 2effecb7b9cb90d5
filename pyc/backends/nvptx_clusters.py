"""Blocks of a cluster as PTX: each other's shared memory, and the barrier of all.

A cluster buffer is a shared array of each block, its part. A block reaches its own part as any
shared array, another one by the address that `mapa` gives of the same place there.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.backends.llvm_addresses import Place
from pyc.backends.llvm_builder import Value
from pyc.backends.nvptx_tiles import TileEmitter
from pyc.frozen import replace
from pyc.ir.expr import Expr, Load, Var, postorder
from pyc.ir.loops import Barrier, Buffer, DeviceStatement, For, Kind, Space, expressions, walk

CLUSTER_INTRINSICS = (
    "llvm.nvvm.read.ptx.sreg.clusterid.x",
    "llvm.nvvm.read.ptx.sreg.cluster.ctaid.x",
    "llvm.nvvm.barrier.cluster.arrive.aligned",
    "llvm.nvvm.barrier.cluster.wait.aligned",
    "llvm.nvvm.mapa.shared.cluster",
)
_REMOTE = "ptr addrspace(7)"
BUSY_THREADS = 1024
"""Threads that a multiprocessor should hold at once, of blocks that wait for each other: up to 64
registers each."""
MORE_THREADS = 1536
"""The same where little is computed of an element: up to 40 registers each."""
LITTLE = 96
"""Instructions of one statement that are little."""


class ClusterEmitter(TileEmitter):
    """Emits what the blocks of a cluster do together."""

    cluster: int
    """Blocks of a cluster."""

    def prepare(self) -> None:
        """Looks for the cluster loop; before anything is emitted."""
        super().prepare()
        loops = [s for s in walk(self.kernel.body) if isinstance(s, For)]
        self._ranks: set[Var] = {s.var for s in loops if s.kind is Kind.CLUSTER}
        self._parts: dict[Buffer, Buffer] = {}
        if self.clustered and not self._dynamic:
            self.blocks = self.busy_blocks()

    def busy_blocks(self) -> int:
        """Blocks that wait for each other of which a multiprocessor has the right number."""
        work = max(len(postorder(expressions(s))) for s in walk(self.kernel.body))
        threads = MORE_THREADS if work <= LITTLE else BUSY_THREADS
        return max(min(threads // self.threads, self.room_blocks), 1)

    @property
    def clustered(self) -> bool:
        """Whether the kernel has a cluster loop."""
        return bool(self._ranks)

    def shared_place(self, buffer: Buffer) -> Place:
        """Memory of the block: all of a shared buffer, its part of a cluster's."""
        if buffer.space is not Space.CLUSTER:
            return super().shared_place(buffer)
        part = replace(buffer, shape=buffer.shape[1:], space=Space.SHARED)
        place = super().shared_place(part)
        self._parts[buffer] = part
        self.places[part] = place
        self.written |= {part}
        return Place(place.address, _REMOTE, place.scope)

    def store(self, buffer: Buffer, index: Sequence[Expr], value: Expr) -> None:
        """buffer[index] = value; of a cluster's buffer in the own part."""
        if buffer.space is Space.CLUSTER:
            buffer, index = self._parts[buffer], index[1:]
        super().store(buffer, index, value)

    def load(self, node: Load, piece: int) -> Value:
        """The element that `node` reads, of the own part or of another block's."""
        if node.buffer.space is not Space.CLUSTER:
            return super().load(node, piece)
        part = self._parts[node.buffer]
        rank, *index = node.index
        if rank in self._ranks:
            return super().load(Load(part, index), piece)
        b = self.builder
        element = self.linear(part, index, -1)
        address = self.pointer(part, element)
        number = b.emit(f"trunc i64 {self.uniform(rank).ref} to i32")
        call = b.intrinsic("llvm.nvvm.mapa.shared.cluster", _REMOTE, ["ptr addrspace(3)", "i32"])
        there = b.emit(f"{call}(ptr addrspace(3) {address}, i32 {number})")
        return self.plain_load(node.buffer, there, self.alignment(part, element), 0, b.scope)

    def device_statement(self, statement: DeviceStatement) -> None:
        """The barrier of a cluster, and what blocks have."""
        if not isinstance(statement, Barrier) or statement.scope != "cluster":
            super().device_statement(statement)
            return
        for step in ("arrive", "wait"):
            name = f"llvm.nvvm.barrier.cluster.{step}.aligned"
            self.builder.line(f"{self.builder.intrinsic(name, 'void', [])}()")
