"""Programs over long rows for clusters and groups of blocks: a row stays in their shared memory.

Takes the regions of a row program whose rows are contiguous and too long for the registers of a
block, and returns one launch that reads each input once: a cluster for each row, of which a warp
has `each` neighbouring chunks of the documented order (`row_chunks`). What does not fit in shared
memory, the end of a thread's last chunk, stays in registers. A reduction meets in the warp, in the
block, and in each other's memory. Rows that are too long for a cluster have a group of blocks,
which meets in global memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.ir.dtype import DType
from pyc.ir.expr import Const, Expr, Load, Var, const
from pyc.ir.loops import (
    Alloc,
    Barrier,
    Body,
    Buffer,
    For,
    If,
    Kind,
    Let,
    Space,
    Stmt,
    Store,
)
from pyc.ir.order import CHUNK, KEEP, LANES
from pyc.ir.target import Target
from pyc.ir.visit import renamed
from pyc.passes.held_planes import HeldPlanes, held_planes, meeting_bytes
from pyc.passes.index import Simplifier
from pyc.passes.reduction_blocks import ROWS, Components, ThreadReduction, power_above
from pyc.passes.row_chunks import PER_ROW, WARP, WARPS, RowChunks, _Several, surrounded
from pyc.passes.row_regions import Region

FEW_WARPS, MANY_WARPS = 8, 16
"""Warps of a block, of short rows and of others."""
SLOTS = ROWS * PER_ROW
"""Elements of a thread in a chunk."""
AHEAD = 4
"""Rows of a chunk that a thread loads before it stores the first of them: with fewer registers,
more blocks load at a time."""
ANY_CLUSTER = 8
"""Blocks up to which a cluster may have any number of them."""
ENOUGH_BLOCKS = 64
"""Blocks from which a cluster for each row is faster than launches of all blocks."""
BESIDE = 3
"""Blocks of a group that a multiprocessor surely holds at once."""
SMALL_BLOCKS, FEW_BLOCKS = 6, 4
"""The same of blocks whose warps have a chunk each, all of it in shared memory, and of blocks whose
warps have two, a part of them in registers."""
MULTIPROCESSORS = 132
"""Of the largest device."""
ROUND = 3
"""What the blocks that a device holds at once take to begin, meet and end, in the time of a chunk
for each of a multiprocessor's warps: measured, 6 us."""
BLOCK_BYTES = 1 << 10
"""Shared memory that each block takes beside its own."""
ROOM = 76_800
"""Shared memory of a block of which a multiprocessor has room for `BESIDE`: one alone would load,
compute and store in turn."""


class RowClusters(RowChunks):
    """The loops of one row program."""

    planes: HeldPlanes | None = None

    def __init__(
        self,
        simplify: Simplifier,
        core: Body,
        row_buffers: Sequence[Buffer],
        row: int,
        kept: int,
        width: int,
        target: Target,
        grouped: bool = False,
    ) -> None:
        """grouped: a row has a group of blocks instead of a cluster."""
        super().__init__(simplify, core, row_buffers, row, kept, width)
        self.rows = 1
        self.grouped = grouped
        if grouped:
            self._grouped(target)
        else:
            self._clustered(target)
        self.covered = self.warps * self.cluster * self.each
        self._step: Expr = const(0)
        self._last_chunk = False
        self._whole: dict[tuple[int, int, DType], Buffer] = {}
        self._boards = 0
        self._scope = "group" if grouped else "cluster"
        if self.planes is not None:
            room = target.shared_bytes
            if grouped:
                few = (room + BLOCK_BYTES) // FEW_BLOCKS - BLOCK_BYTES
                room = ROOM if self.each == 1 else few
            room -= (3 * self.warps + 1) * KEEP * meeting_bytes(self.regions)
            rows = self.each * ROWS
            self.in_memory = min(room // (self.warps * LANES * self.planes.nbytes), rows)
            if rows - self.in_memory > (ROWS if self._alone and self.each > 1 else 0):
                self.planes = None

    @property
    def _alone(self) -> bool:
        """Whether registers may hold what is held: one plane of elements of up to 4 bytes."""
        planes = self.planes
        return planes is not None and len(planes.planes) == 1 and planes.nbytes <= 4

    def _clustered(self, target: Target) -> None:
        """Chooses the warps of a block, and the blocks of a cluster."""
        most = target.cluster_blocks
        self.warps = FEW_WARPS if self.chunks <= FEW_WARPS * most else MANY_WARPS
        self.cluster = -(-self.chunks // self.warps)
        if self.cluster > ANY_CLUSTER:
            self.cluster = power_above(self.cluster)
        self.cluster = min(self.cluster, most)
        self.each = power_above(-(-self.chunks // (self.warps * self.cluster)))

    def _grouped(self, target: Target) -> None:
        """Chooses the warps of a block, a chunk for each: as few as a group may be large. Two whole
        chunks, where registers can take a part and a device that holds more at once is done in less
        time."""
        self._most = target.group_blocks * BESIDE
        self.warps = FEW_WARPS if self.chunks <= FEW_WARPS * self._most else MANY_WARPS
        self.cluster = -(-self.chunks // self.warps)
        self.each = 1
        whole = self._alone and self.row % CHUNK == 0 and self.warps == FEW_WARPS
        twice = -(-self.chunks // (2 * self.warps))
        rounds = -(-self.kept * self.cluster // (MULTIPROCESSORS * SMALL_BLOCKS))
        fewer = -(-self.kept * twice // (MULTIPROCESSORS * FEW_BLOCKS))
        if whole and fewer * (2 * FEW_BLOCKS + ROUND) < rounds * (SMALL_BLOCKS + ROUND):
            self.each = 2
            self.cluster = twice

    @property
    def possible(self) -> bool:
        """Whether the rows are long, read more than once, and fit."""
        if self.grouped and (self._most <= BESIDE or self.cluster > self._most):
            return False
        return self.chunks > WARPS and self.cluster > 1 and self.planes is not None

    @property
    def worth(self) -> bool:
        """Whether that takes less than launches of all blocks that read their rows again."""
        if not self.possible or self.planes is None:
            return False
        if self.grouped:
            return True
        if self.each > 1:
            return False
        room = self.warps * CHUNK * self.planes.nbytes <= ROOM
        return room and self.kept * self.cluster >= ENOUGH_BLOCKS

    def _keep(self, row_buffers: Sequence[Buffer]) -> bool:
        self.planes = held_planes(self.parts, row_buffers, self.position, self.simplify)
        return self.planes is not None

    # --- what is held -----------------------------------------------------------------------------

    def _where(self, key: tuple[int, int], slot: Expr) -> tuple[Buffer, Expr] | None:
        assert self.planes is not None
        plane = self.planes.held.get(key)
        if plane is None:
            return None
        if self._in_registers(slot):
            return self.registers[plane], slot - self._split
        return self._slabs[plane], self._at(slot)

    @property
    def _split(self) -> int:
        """Elements of a thread's last chunk that are in shared memory."""
        return (self.in_memory - (self.each - 1) * ROWS) * PER_ROW

    def _in_registers(self, slot: Expr) -> bool:
        """Whether a thread holds the element of a slot of its chunk in registers."""
        return self._last_chunk and int(self.simplify.linear(slot).constant) >= self._split

    def _at(self, slot: Expr) -> Expr:
        """Where a thread has an element of its chunk number `_step`: in the order of the chunk."""
        form = self.simplify.linear(slot)
        piece = int(form.constant) // self.vector
        within = piece * WARP * self.vector + (slot - piece * self.vector)
        chunk = (self._step * self.warps + self._warp) * CHUNK
        if self._last_chunk:
            before = (self.each - 1) * self.warps * CHUNK
            chunk = self._warp * (self._split * WARP) + before
        return chunk + self._thread * self.vector + within

    def _walk(
        self,
        chunk: Expr,
        thread: Expr,
        each: Callable[[Expr, Expr, Expr], Body],
        slot: int = 0,
        part: range = range(ROWS),
    ) -> list[Stmt]:
        def walked(last: bool) -> list[Stmt]:
            self._last_chunk = last
            found = super(RowClusters, self)._walk(chunk, thread, each, slot, part)
            self._last_chunk = False
            return found

        if self.in_memory == self.each * ROWS:
            return walked(False)
        if isinstance(self._step, Const):
            return walked(self._step.value == self.each - 1)
        return [If(self._step < self.each - 1, tuple(walked(False)), tuple(walked(True)))]

    # --- the kernel -------------------------------------------------------------------------------

    def body(self, place: Var, binding: Sequence[Stmt]) -> list[Stmt]:
        """The kernel: `place` numbers the rows, `binding` binds the kept variables by it."""
        assert self.planes is not None
        size = self.in_memory * self.warps * LANES
        self._slabs = [
            Buffer(f"slab{k}", b.dtype, (size,), Space.SHARED)
            for k, b in enumerate(self.planes.planes)
        ]
        if self.in_memory < self.each * ROWS:
            self.registers = [
                Buffer(f"held{k}", b.dtype, (SLOTS - self._split,), Space.REGISTER)
                for k, b in enumerate(self.planes.planes)
            ]
        block, rank, warp, thread = Var("block"), Var("rank"), Var("warp"), Var("thread")
        self._rank, self._warp, self._thread = rank, warp, thread
        self._block = block * self.cluster
        first = Var("first")
        inner: list[Stmt] = [
            Let(place, block),
            *binding,
            Let(first, (rank * self.warps + warp) * self.each),
        ]
        for node, plane in self.planes.filled:
            inner += self._fill(node, plane, first, thread)
        wraps: list[Callable[[Body], Body]] = []
        for part in self.parts:
            if isinstance(part, Let):
                inner.append(part)
            elif not isinstance(part, Region):
                alone = thread.equal(0) & warp.equal(0) & rank.equal(0)
                inner.append(If(alone, (part,)))
            elif part.monoid:
                body, wrap = self._reduced(part, first)
                inner += body
                wraps.append(wrap)
            else:
                inner += self._stored(part, first)
        if not self.grouped:
            # A block stays while others read what it left.
            inner.append(Barrier("cluster"))
        whole: Body = tuple(inner)
        for w in wraps:
            whole = w(whole)
        whole = surrounded(self.registers, whole)
        whole = (For(thread, WARP, Kind.THREAD, whole),)
        whole = (For(warp, self.warps, Kind.WARP, whole),)
        whole = surrounded([*self._slabs, *self._shared.values()], whole)
        if self.grouped:
            whole = (For(rank, self.cluster, Kind.GROUP, whole),)
            return [For(block, self.kept, Kind.GRID, whole)]
        whole = (For(rank, self.cluster, Kind.CLUSTER, whole),)
        whole = surrounded(list(self._whole.values()), whole)
        return [For(block, self.kept, Kind.GRID, whole)]

    @property
    def scratch(self) -> list[Buffer]:
        """Memory in which the blocks of a group meet."""
        return list(self._whole.values()) if self.grouped else []

    @property
    def _numbers(self) -> list[Expr] | None:
        """The chunks of a thread, where each has statements of its own: which of them are in
        registers is then no branch."""
        if self.each == 1 or (self.each == 2 and self.in_memory < self.each * ROWS):
            return [const(k) for k in range(self.each)]
        return None

    def _over_chunks(self, make: Callable[[Expr], list[Stmt]]) -> list[Stmt]:
        """make(number among the thread's chunks) for each."""
        if self._numbers is not None:
            found: list[Stmt] = []
            for number in self._numbers:
                self._step = number
                found += make(number)
            return found
        step = Var("step")
        self._step = step
        return [For(step, self.each, Kind.SERIAL, tuple(make(step)))]

    def _fill(self, node: Load, plane: int, first: Expr, thread: Var) -> list[Stmt]:
        """Loads an input's part of the row, a chunk at a time."""
        place = self._placed(False)
        ahead = Buffer("ahead", node.dtype, (AHEAD * PER_ROW,), Space.REGISTER)

        def rows(step: Expr, part: range) -> list[Stmt]:
            skipped = part[0] * PER_ROW

            def load(position: Expr, at: Expr, lane: Expr) -> Body:
                (let,) = place((Let(Var("x", node.dtype), node),), position, at)
                assert isinstance(let, Let)
                return (Store(ahead, (at - skipped,), let.value),)

            def keep(position: Expr, at: Expr, lane: Expr) -> Body:
                x = Load(ahead, (at - skipped,))
                if self._in_registers(at):
                    return (Store(self.registers[plane], (at - self._split,), x),)
                return (Store(self._slabs[plane], (self._at(at),), x),)

            loads = super(RowClusters, self)._walk(first + step, thread, load, 0, part)
            return [*loads, *self._walk(first + step, thread, keep, 0, part)]

        def make(step: Expr) -> list[Stmt]:
            parts = (range(j, min(j + AHEAD, ROWS)) for j in range(0, ROWS, AHEAD))
            return [s for part in parts for s in rows(step, part)]

        return [Alloc(ahead, tuple(self._over_chunks(make)))]

    def _stored(self, region: Region, first: Expr) -> list[Stmt]:
        """A loop over the row that stores."""
        place = self._placed(True)

        def each(position: Expr, at: Expr, lane: Expr) -> Body:
            return renamed(place(region.body, position, at))

        return self._over_chunks(lambda step: self._walk(first + step, self._thread, each))

    def _reduced(self, region: Region, first: Expr) -> tuple[list[Stmt], Callable[[Body], Body]]:
        """Binds the results of a reduction in every thread."""
        reduction = ThreadReduction([r.dtype for r in region.results], region.monoid)
        body, lanes, wrap = self._kept(region, reduction, first, self.each, self._thread)
        warp, thread = self._warp, self._thread
        shared = self._share(reduction, self.warps * KEEP)
        body.append(self._to_memory(lanes, thread, shared, warp * KEEP))
        body.append(Barrier("block"))
        joined, total = self._together(reduction, shared, self.warps, thread)
        whole = self._board(reduction)
        at: tuple[Expr, ...] = (self._rank, thread)
        if self.grouped:
            at = ((self._block + self._rank) * KEEP + thread,)
        stores = [Store(b, at, x) for b, x in zip(whole, total, strict=True)]
        body += [*joined, If(warp.equal(0) & (thread < KEEP), tuple(stores)), Barrier(self._scope)]

        def left(number: Expr, lane: Expr) -> Components:
            if self.grouped:
                return tuple(Load(b, ((self._block + number) * KEEP + lane,)) for b in whole)
            return tuple(Load(b, (number, lane)) for b in whole)

        found = (reduction, region.results, left, self.cluster, warp, self.warps, thread)
        return [*body, *self._found(*found)], wrap

    def _kept(
        self, region: Region, reduction: ThreadReduction, first: Expr, each: int, thread: Var
    ) -> tuple[list[Stmt], list[Components], Callable[[Body], Body]]:
        """The kept lanes over the chunks of a warp."""
        self._step = const(0)
        if each == 1:
            return self._chunk(region, reduction, first, thread, 0)
        wrap: list[Callable[[Body], Body]] = []
        count = self.vector
        several = _Several(reduction, count)

        def one(number: Expr) -> tuple[list[Stmt], Components]:
            self._step = number
            body, lanes, around = self._chunk(region, reduction, first + number, thread, 0)
            wrap.append(around)
            return body, tuple(x for lane in lanes for x in lane)

        def leaf(step: Expr) -> tuple[list[Stmt], Components]:
            number = Var("number")
            body, total = one(number)
            return [Let(number, step), *body], total

        def around(inner: Body) -> Body:
            for w in wrap:
                inner = w(inner)
            return inner

        body: list[Stmt] = []
        if self._numbers is not None:
            chunks: list[Components] = []
            for k in self._numbers:
                found, values = one(k)
                body += found
                chunks.append(values)
            total = several.tree(chunks)
        else:
            levels = [1 << k for k in reversed(range(each.bit_length() - 1))]
            body, total = several.nested(levels, const(0), leaf)
        size = len(reduction.types)
        lanes = [total[k * size : (k + 1) * size] for k in range(count)]
        return body, lanes, around

    def _board(self, reduction: ThreadReduction) -> list[Buffer]:
        """Memory of the cluster in which a reduction meets, two pieces in turn."""
        found: list[Buffer] = []
        self._boards += 1
        for k, t in enumerate(reduction.types):
            key = self._boards % 2, k, t
            if key not in self._whole:
                name = f"whole{len(self._whole)}"
                buffer = Buffer(name, t, (self.cluster, KEEP), Space.CLUSTER)
                if self.grouped:
                    size = self.kept * self.cluster * KEEP
                    buffer = Buffer(name, t, (size,), role="inout")
                self._whole[key] = buffer
            found.append(self._whole[key])
        return found
