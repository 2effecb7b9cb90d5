"""Blocks of a group as PTX: they meet at counters in global memory.

A module has the counters of each kernel, zero when it is loaded and again after each launch: at a
barrier every block adds one to its group's counter, but the first adds what completes 2^31, so
that the highest bit changes when all have come (as cooperative groups do); who comes last is told
by a counter that starts anew after as many. One thread of a block comes for all, between barriers
of the block: what they stored is released with it. Blocks wait only for those of their own group.
They start in the order of their numbers, so those of the first group that is not done have all
started or have room to, as long as a device holds one group (`Target.group_blocks`).
"""

from __future__ import annotations

from pyc.backends.llvm_builder import Value
from pyc.backends.nvptx_clusters import ClusterEmitter
from pyc.ir import dtype as dt
from pyc.ir.loops import Barrier, DeviceStatement, For, Kind, Last, walk

_APART = 8
"""Words between two counters: a sector of memory each."""
_MET = 1 << 31


class GroupEmitter(ClusterEmitter):
    """Emits what the blocks of a group do together."""

    group: int
    """Blocks of a group; 1: there is none."""
    waits: bool
    """Whether blocks wait for each other."""
    least_blocks = 1
    """Blocks that a multiprocessor must hold for a group to be on the device at once."""

    def prepare(self) -> None:
        """Looks for the group loop; before anything is emitted."""
        super().prepare()
        loops = [s for s in walk(self.kernel.body) if isinstance(s, For)]
        (groups, *_) = [s.extent for s in loops if s.kind is Kind.GRID] or [1]
        self._group_count = groups if isinstance(groups, int) else 0
        self._counters: dict[Last | None, str] = {}
        barriers = [s for s in walk(self.kernel.body) if isinstance(s, Barrier)]
        meets = any(s.scope == "group" for s in barriers)
        self.waits = self.clustered or meets
        if meets:
            self.least_blocks = -(-self.group // self.target.group_blocks)
            busy = self.blocks if self._dynamic else self.busy_blocks()
            self.blocks = max(busy, self.least_blocks)

    @property
    def grouped(self) -> bool:
        """Whether the kernel has a group loop."""
        return self.group > 1

    def group_number(self, block: Value) -> Value:
        """The group of a block."""
        b = self.builder
        ref = b.emit(f"udiv i64 {block.ref}, {self.group}", b.root)
        return Value(ref, dt.i64, b.root, low=0, high=self._group_count - 1)

    def rank(self, block: Value) -> Value:
        """The number of a block in its group."""
        b = self.builder
        ref = b.emit(f"urem i64 {block.ref}, {self.group}", b.root)
        return Value(ref, dt.i64, b.root, low=0, high=self.group - 1)

    def block_number(self) -> Value:
        """The number of a block among all."""
        raise NotImplementedError

    def _counter(self, of: Last | None) -> str:
        """The address of this group's counter: of a place where one is last, or of all barriers."""
        b = self.builder
        name = self._counters.get(of)
        if name is None:
            name = f"@{self.symbol}_met{len(self._counters)}"
            self._counters[of] = name
            words = max(self._group_count, 1) * _APART
            self.globals.append(
                f"{name} = internal addrspace(1) global [{words} x i32] zeroinitializer, align 32"
            )
        at = b.emit(f"mul i64 {self.group_number(self.block_number()).ref}, {4 * _APART}", b.root)
        return b.emit(f"getelementptr i8, ptr addrspace(1) {name}, i64 {at}", b.root)

    def device_statement(self, statement: DeviceStatement) -> None:
        """Where blocks of a group meet, and what blocks have."""
        if isinstance(statement, Last):
            self._last(statement)
        elif isinstance(statement, Barrier) and statement.scope == "group":
            self._group_barrier()
        else:
            super().device_statement(statement)

    def _group_barrier(self) -> None:
        b = self.builder
        counter = self._counter(None)
        self.block_barrier()
        first, done = b.name("first"), b.name("met")
        alone = b.emit(f"icmp eq i64 {self.thread_number().ref}, 0")
        b.line(f"br i1 {alone}, label %{first}, label %{done}")
        b.label(first)
        b.open("branch", certain=False)
        opens = b.emit(f"icmp eq i64 {self.rank(self.block_number()).ref}, 0")
        adds = b.emit(f"select i1 {opens}, i32 {_MET - self.group + 1}, i32 1")
        text = (
            "{ .reg .pred p; .reg .b32 old, now; "
            "atom.add.acq_rel.gpu.global.u32 old, [$0], $1; "
            "AGAIN: ld.acquire.gpu.global.u32 now, [$0]; xor.b32 now, now, old; "
            "setp.ge.s32 p, now, 0; @p bra AGAIN; }"
        )
        self._assembly(text, [("l", f"ptr addrspace(1) {counter}"), ("r", f"i32 {adds}")])
        b.line(f"br label %{done}")
        b.close()
        b.label(done)
        self.block_barrier()

    def _last(self, s: Last) -> None:
        b = self.builder
        counter = self._counter(s)
        self.block_barrier()
        start, first, done = b.name("start"), b.name("first"), b.name("came")
        alone = b.emit(f"icmp eq i64 {self.thread_number().ref}, 0")
        b.jump(start)
        b.line(f"br i1 {alone}, label %{first}, label %{done}")
        b.label(first)
        b.open("branch", certain=False)
        text = "atom.inc.acq_rel.gpu.global.u32 $0, [$1], $2;"
        operands = [("l", f"ptr addrspace(1) {counter}"), ("r", f"i32 {self.group - 1}")]
        before = self._assembly(text, operands, "i32", "=r")
        mine = b.emit(f"icmp eq i32 {before}, {self.group - 1}")
        word = b.emit(f"zext i1 {mine} to i32")
        b.line(f"br label %{done}")
        b.close()
        b.label(done)
        here = b.emit(f"phi i32 [ 0, %{start} ], [ {word}, %{first} ]")
        text = (
            "{ .reg .pred p, q; setp.ne.u32 p, $1, 0; "
            "barrier.cta.red.or.pred.aligned q, 0, p; selp.u32 $0, 1, 0, q; }"
        )
        found = self._assembly(text, [("r", f"i32 {here}")], "i32", "=r")
        self.bind(s.var, Value(b.emit(f"icmp ne i32 {found}, 0"), dt.b1, b.scope))
