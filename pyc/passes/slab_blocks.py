"""Programs over columns for blocks of threads: slabs of columns stay in shared memory.

Takes the regions of a row program (reductions, loops over the row, stores of one element) whose
kept positions are contiguous, and returns one launch that reads each input once: a block, or the
blocks of a cluster, hold a slab of neighbouring columns from the first region to the last.

A thread has one column and one kept lane of `each` neighbouring chunks of the documented order, 64
elements a chunk, in every region, so that what is held needs no barrier: element `slot` of thread t
is at slot * threads + t. The threads of a block have its columns side by side, then its kept lanes,
then its chunks; the blocks of a cluster share the kept lanes, so that little passes between them. A
reduction meets in this order: chunks of a thread, of a block (shared memory), then the kept lanes,
which each block gathers from the others' memory.

Columns too long for a cluster have a group of blocks, which meets in global memory: a block has one
kept lane of as many chunks as its threads, and what does not fit in shared memory, the last of a
thread's lanes, stays in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyc.frozen import frozen, replace
from pyc.ir.expr import Expr, Load, Var, apply, const, minimum, select
from pyc.ir.loops import (
    Alloc,
    Barrier,
    Body,
    Buffer,
    For,
    If,
    Kind,
    Let,
    Reduce,
    Space,
    Stmt,
    Store,
)
from pyc.ir.order import CHUNK, KEEP, LANES
from pyc.ir.target import Target
from pyc.ir.visit import Rewriter, renamed
from pyc.passes.held_planes import held_planes, meeting_bytes
from pyc.passes.index import Simplifier
from pyc.passes.nest import Loop
from pyc.passes.reduction_blocks import ROWS, Components, ThreadReduction, power_above
from pyc.passes.row_regions import Region

SEGMENTS = (128, 64)
"""Bytes of a row that a slab may take. With 32, columns of 65,536 take longer than launches that
read them three times."""
MOST_COLUMNS = 64
ROOMS = (75 << 10, 112 << 10)
"""Shared memory of a slab's part in a block, for three or two blocks on a multiprocessor: one alone
would load, compute and store in turn."""
BUSY_BLOCKS = 264
"""Blocks that keep the largest device busy."""
CLUSTERS = (1, 2, 4, 8, 16)
GROUPS = LANES // KEEP
"""Lanes of a chunk that meet in a kept lane."""
TOGETHER = 4
"""Elements of a column that are stored in one step: divisions by one number share a reciprocal."""
AHEAD = 4
"""Lanes that a thread loads before it stores the first of them."""
GROUP_COLUMNS, GROUP_PARTS = 32, 16
"""Columns and chunks of a block of a group: a line of memory, and threads half of the most."""
GROUP_BLOCKS = 2
"""Such blocks that a multiprocessor holds."""
MOST_REGISTERS = 2
"""Lanes that a thread may hold in registers."""
HELD_THREADS = 1024
"""Threads of a multiprocessor up to which they have registers for those."""
BLOCK_BYTES = 1 << 10
"""Shared memory that each block takes beside its own."""


@frozen()
class SlabForm:
    """How a slab is cut. columns: of a slab; blocks: of its cluster or group; each: chunks of a
    thread; parts: threads of a block with the same column and lane; rows: elements of a lane of a
    chunk; grouped: whether the blocks are a group; registers: lanes of a chunk that a thread holds
    in registers."""

    columns: int
    blocks: int
    each: int
    parts: int
    rows: int = ROWS
    grouped: bool = False
    registers: int = 0

    @property
    def lanes(self) -> int:
        """Kept lanes of a block."""
        return max(KEEP // self.blocks, 1)

    @property
    def shares(self) -> int:
        """Blocks that share the chunks of a kept lane."""
        return max(self.blocks // KEEP, 1)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.columns * self.lanes * self.parts

    @property
    def met(self) -> int:
        """Elements of a block in which a reduction meets."""
        beside = self.columns * self.lanes
        return self.threads + beside + KEEP * self.columns

    @property
    def slots(self) -> int:
        """Elements of a thread in shared memory."""
        return (self.each * GROUPS - self.registers) * self.rows


def form_of(row: int, columns: int, blocks: int, target: Target) -> SlabForm | None:
    """The form of slabs of so many rows and columns over clusters of `blocks`; None if there is
    none."""
    chunks = power_above(-(-row // CHUNK))
    if blocks > min(KEEP, target.cluster_blocks):
        return None
    each = max(chunks * columns * (KEEP // blocks) // target.max_block_threads, 1)
    rows = min(-(-row // LANES), ROWS)
    form = SlabForm(columns, blocks, each, chunks // each, rows)
    usable = form.threads % target.warp_size == 0 and form.threads <= target.max_block_threads
    return form if usable and each <= chunks else None


def group_form(row: int, needed: int, met: int, target: Target) -> SlabForm | None:
    """The form of slabs of so many rows over groups of blocks, `needed` and `met` bytes for an
    element of the row and of what meets; None if there is none."""
    shares = power_above(-(-row // (CHUNK * GROUP_PARTS)))
    if (
        KEEP * shares > target.group_blocks
        or target.max_block_threads < GROUP_COLUMNS * GROUP_PARTS * 2
    ):
        return None
    room = (target.shared_bytes + BLOCK_BYTES) // GROUP_BLOCKS - BLOCK_BYTES
    for registers in range(MOST_REGISTERS + 1):
        form = SlabForm(
            *(GROUP_COLUMNS, KEEP * shares, 1, GROUP_PARTS), grouped=True, registers=registers
        )
        if form.slots * form.threads * needed + form.met * met <= room:
            return form
    return None


def with_registers(form: SlabForm, slabs: int, needed: int, met: int, target: Target) -> SlabForm:
    """A form with as many lanes in registers as let a device hold more of the slabs at once, if it
    does not surely hold all."""

    def held(form: SlabForm) -> int:
        shared = form.slots * form.threads * needed + form.met * met + BLOCK_BYTES
        room = target.shared_bytes + BLOCK_BYTES
        return min(room // shared, HELD_THREADS // form.threads)

    if form.each > 1 or form.rows < ROWS or slabs * form.blocks <= held(form) * target.group_blocks:
        return form
    return max((replace(form, registers=k) for k in range(MOST_REGISTERS + 1)), key=held)


class SlabBlocks:
    """The loops of one program over columns. loops: over the kept positions, the last of them over
    neighbours in memory; row: elements of a column. `form` is None where a slab fits nowhere, or
    nothing is read twice."""

    def __init__(
        self,
        simplify: Simplifier,
        loops: Sequence[Loop],
        core: Body,
        row_buffers: Sequence[Buffer],
        row: int,
        target: Target,
    ) -> None:
        self.simplify = simplify
        self.loops = loops
        self.row = row
        self.position = simplify.variable("p", row)
        self.parts: list[Stmt | Region] = [
            Region(s, self.position, simplify) if isinstance(s, (Reduce, For)) else s for s in core
        ]
        planes = held_planes(self.parts, row_buffers, self.position, simplify)
        self.form: SlabForm | None = None
        if planes is not None:
            self._planes, self._held, self._filled = planes.planes, planes.held, planes.filled
            self.form = self._choose(target)
        self._shared: dict[tuple[str, int, int], Buffer] = {}
        self._meetings = 0

    # --- what is held -----------------------------------------------------------------------------

    def _choose(self, target: Target) -> SlabForm | None:
        """The widest slab that fits, in the smallest blocks, over the smallest cluster; cut further
        while there are too few blocks."""
        nbytes = [b.dtype.itemsize for b in self._planes]
        alone = len(nbytes) == 1 and nbytes[0] <= 4
        met = meeting_bytes([p for p in self.parts if isinstance(p, Region)])
        beside = self.loops[-1].extent
        outer = prod(x.extent for x in self.loops[:-1])
        found: list[SlabForm] = []
        for segment in SEGMENTS:
            columns = min(segment // max(nbytes), MOST_COLUMNS)
            for room in ROOMS:
                for blocks in CLUSTERS:
                    form = form_of(self.row, columns, blocks, target)
                    if form is None:
                        continue
                    needed = form.slots * form.threads * sum(nbytes) + form.met * met
                    if needed <= min(room, target.shared_bytes):
                        found.append(form)
        if not found and alone and beside >= GROUP_COLUMNS:
            return group_form(self.row, sum(nbytes), met, target)
        if not found:
            return None
        busy = [f for f in found if -(-beside // f.columns) * f.blocks * outer >= BUSY_BLOCKS]
        form = busy[0] if busy else found[-1]
        slabs = -(-beside // form.columns) * outer
        return with_registers(form, slabs, sum(nbytes), met, target) if alone else form

    def _place(self, body: Body, position: Expr, slot: Expr) -> Body:
        """Statements over the canonical position at `position`, what is held read and stored in
        this thread's `slot`."""
        slots: dict[Var, Expr] = {self.position: position}
        stand_in: dict[int, Var] = {}

        def rule(e: Expr) -> Expr:
            if isinstance(e, Load) and len(e.index) == 1:
                plane = self._held.get((id(e.buffer), id(e.index[0])))
                if plane is not None:
                    if plane not in stand_in:
                        stand_in[plane] = Var("held", e.dtype)
                        slots[stand_in[plane]] = Load(*self._where(plane, slot))
                    return stand_in[plane]
            return e

        found = Rewriter(expr=rule).body(body)
        moved = Rewriter(variables=slots).body(found)
        out: list[Stmt] = []
        for old, s in zip(body, moved, strict=True):
            if isinstance(old, Store) and isinstance(s, Store):
                plane = self._held.get((id(old.buffer), id(old.index[0])))
                s = Store(*self._where(plane, slot), s.value) if plane is not None else s
            out.append(s)
        return renamed(tuple(out))

    def _where(self, plane: int, slot: Expr) -> tuple[Buffer, tuple[Expr]]:
        """Where this thread has the element of a slot."""
        form = self.form
        assert form is not None
        if form.registers and self.simplify.linear(slot).constant >= form.slots:
            return self._registers[plane], (slot - form.slots,)
        return self._slabs[plane], (slot * form.threads + self._thread,)

    # --- the kernel -------------------------------------------------------------------------------

    def body(self) -> list[Stmt]:
        """The kernel."""
        form = self.form
        assert form is not None
        size = form.slots * form.threads
        self._slabs = [
            Buffer(f"slab{k}", b.dtype, (size,), Space.SHARED) for k, b in enumerate(self._planes)
        ]
        self._registers = [
            Buffer(f"held{k}", b.dtype, (form.registers * form.rows,), Space.REGISTER)
            for k, b in enumerate(self._planes)
            if form.registers
        ]
        block, rank, thread = Var("block"), Var("rank"), Var("thread")
        self._block, self._thread, self._rank = block, thread, rank
        self._column, self._lane = Var("c"), Var("lane")
        self._first = Var("first")
        inner: list[Stmt] = [*self._bound(block, rank, thread), *self._fill()]
        regions = [p for p in self.parts if isinstance(p, Region)]
        alone = thread < form.columns
        if form.blocks > 1:
            alone = alone & rank.equal(0)
        if self._ragged:
            alone = alone & self._inside
        waiting: list[Region] = []
        for part in self.parts:
            if isinstance(part, Let):
                inner.append(part)
            elif not isinstance(part, Region):
                inner.append(If(alone, (part,)))
            elif part.monoid:
                inner += self._reduced(part, waiting)
                waiting = []
            elif self._fills(part) and self._next_reduces(regions, part):
                waiting.append(part)
            else:
                inner += self._walked(part)
        if form.blocks > 1 and not form.grouped:
            # A block stays while others read what it left.
            inner.append(Barrier("cluster"))
        whole: Body = tuple(inner)
        for b in self._registers:
            whole = (Alloc(b, whole),)
        whole = (For(thread, form.threads, Kind.THREAD, whole),)
        shared = list(self._shared.values())
        for b in (*self._slabs, *(b for b in shared if b.space is Space.SHARED)):
            whole = (Alloc(b, whole),)
        if form.blocks > 1:
            kind = Kind.GROUP if form.grouped else Kind.CLUSTER
            whole = (For(rank, form.blocks, kind, whole),)
        for b in (b for b in shared if b.space is Space.CLUSTER):
            whole = (Alloc(b, whole),)
        return [For(block, self._count, Kind.GRID, whole)]

    @property
    def _count(self) -> int:
        """Slabs."""
        assert self.form is not None
        slabs = -(-self.loops[-1].extent // self.form.columns)
        return slabs * prod(x.extent for x in self.loops[:-1])

    @property
    def scratch(self) -> list[Buffer]:
        """Memory in which the blocks of a group meet."""
        return [b for b in self._shared.values() if b.space is Space.GLOBAL]

    def _bound(self, block: Var, rank: Expr, thread: Var) -> list[Stmt]:
        """Bindings of the kept positions, and of this thread's column, lane and first chunk."""
        form = self.form
        assert form is not None
        *outer, inner = self.loops
        slabs = -(-inner.extent // form.columns)
        beside = form.columns * form.lanes
        body: list[Stmt] = []
        number: Expr = block
        if outer:
            number = apply("quotient", block, const(slabs))
            for loop in reversed(outer[1:]):
                body.append(Let(loop.var, apply("remainder", number, const(loop.extent))))
                number = apply("quotient", number, const(loop.extent))
            body.append(Let(outer[0].var, number))
            number = apply("remainder", block, const(slabs))
        place = number * form.columns + apply("remainder", thread, const(form.columns))
        self._ragged = inner.extent % form.columns != 0
        if self._ragged:
            beyond = Var("column")
            body.append(Let(beyond, place))
            self._inside = beyond < inner.extent
            place = minimum(beyond, inner.extent - 1)
        body.append(Let(inner.var, place))
        body.append(Let(self._column, apply("remainder", thread, const(form.columns))))
        lane = apply("remainder", apply("quotient", thread, const(form.columns)), const(form.lanes))
        chunk = apply("quotient", thread, const(beside)) * form.each
        if form.shares > 1:
            chunk = chunk + apply("quotient", rank, const(KEEP)) * (form.parts * form.each)
            rank = apply("remainder", rank, const(KEEP))
        if form.blocks > 1:
            lane = rank * form.lanes + lane
        body.append(Let(self._lane, lane))
        body.append(Let(self._first, chunk * CHUNK + self._lane))
        return body

    def _start(self, group: Expr) -> Expr:
        """The position of the first element of a group of lanes, of GROUPS for each chunk."""
        assert self.form is not None
        if self.form.each == 1:
            return self._first + group * KEEP
        chunk = apply("quotient", group, const(GROUPS))
        return self._first + group * KEEP + chunk * (CHUNK - GROUPS * KEEP)

    def _clamped(self, position: Expr) -> Expr:
        """A position of the row; the last one for what is beyond."""
        return minimum(position, self.row - 1) if self.row % CHUNK else position

    def _fill(self) -> list[Stmt]:
        """Loads what is held, many elements ahead."""
        form = self.form
        assert form is not None
        ahead = AHEAD if not form.registers else form.registers

        def some(node: Load, plane: int, step: Expr) -> Body:
            loads: list[Stmt] = []
            stores: list[Stmt] = []
            for k in range(ahead * form.rows):
                group = step * ahead + k // form.rows
                position = self._clamped(self._start(group) + k % form.rows * LANES)
                element = Let(Var("x", node.dtype), node)
                (moved,) = renamed(Rewriter(variables={self.position: position}).body((element,)))
                assert isinstance(moved, Let)
                loads.append(moved)
                slot = step * (ahead * form.rows) + k
                stores.append(Store(*self._where(plane, slot), moved.var))
            return (*loads, *stores)

        body: list[Stmt] = []
        for node, plane in self._filled:
            step = Var("step")
            count = (form.each * GROUPS - form.registers) // ahead
            body.append(For(step, self._reached(count), Kind.SERIAL, some(node, plane, step)))
            if form.registers:
                last = Var("last")
                inner = some(node, plane, const(count))
                body.append(For(last, self._reached(1), Kind.SERIAL, inner))
        return body

    def _reached(self, count: int) -> int | Expr:
        """`count` where the row reaches the chunks of this thread, else 0."""
        chunks = -(-self.row // CHUNK)
        if chunks == power_above(chunks):
            return count
        return select(self._first < self.row, const(count), const(0))

    def _fills(self, region: Region) -> bool:
        """Whether a loop over the row leaves its values in the slab only."""
        return all(
            isinstance(s, Store) and (id(s.buffer), id(s.index[0])) in self._held
            for s in region.body
        )

    @staticmethod
    def _next_reduces(regions: Sequence[Region], region: Region) -> bool:
        """Whether the next region is a reduction, or one that waits for it."""
        number = next(k for k, r in enumerate(regions) if r is region)
        return number + 1 < len(regions) and bool(regions[number + 1].monoid)

    def _walked(self, region: Region) -> list[Stmt]:
        """A loop over the row that stores."""
        form = self.form
        assert form is not None
        together = TOGETHER if form.rows % TOGETHER == 0 else 1

        def lane(group: Expr) -> Body:
            start = Var("start")
            body: list[Stmt] = [Let(start, self._start(group))]
            for j in range(0, form.rows, together):
                row = Var("row")
                position: Expr = start + (j + row) * LANES
                inner = self._place(region.body, position, group * form.rows + (j + row))
                if self.row % CHUNK:
                    inner = (If(position < self.row, inner),)
                step: Stmt = For(row, together, Kind.VECTOR, inner)
                body.append(If(self._inside, (step,)) if self._ragged else step)
            return tuple(body)

        group = Var("group")
        count = form.each * GROUPS - form.registers
        found: list[Stmt] = [For(group, self._reached(count), Kind.SERIAL, lane(group))]
        if form.registers:
            last = Var("last")
            rest = [s for k in range(form.registers) for s in lane(const(count + k))]
            found.append(For(last, self._reached(1), Kind.SERIAL, tuple(rest)))
        return found

    # --- reductions -------------------------------------------------------------------------------

    def _reduced(self, region: Region, before: Sequence[Region]) -> list[Stmt]:
        """Binds the results of a reduction in every thread. before: loops over the row that fill
        what it reads, done along with it."""
        form = self.form
        assert form is not None
        reduction = ThreadReduction([r.dtype for r in region.results], region.monoid)

        def rows(group: Expr) -> tuple[list[Stmt], Components]:
            start = Var("start")
            body, total = reduction.fold(
                form.rows,
                lambda j: self._element(
                    reduction, region, before, start + j * LANES, group * form.rows + j
                ),
                Kind.UNROLL,
            )
            return [Let(start, self._start(group)), *body], total

        levels = [GROUPS << k for k in reversed(range(form.each.bit_length() - 1))]

        def whole(_: Expr) -> tuple[list[Stmt], Components]:
            if not form.registers:
                return reduction.nested([*levels, 1, 2, 4], const(0), rows)
            inner: list[Stmt] = []
            lanes: list[Components] = []
            for k in range(GROUPS):
                body, total = rows(const(k))
                inner += body
                lanes.append(total)
            return inner, reduction.halves(lanes)

        body, total = reduction.fold(self._reached(1), whole)
        self._meetings += 1
        beside = form.columns * form.lanes
        if form.parts > 1:
            local = self._piece("part", reduction, (form.threads,))
            body += [Store(b, (self._thread,), x) for b, x in zip(local, total, strict=True)]
            body.append(Barrier("block"))
            joined: list[Stmt] = []
            found: list[Components] = []
            for k in range(form.parts):
                lets, names = reduction.bind(
                    tuple(Load(b, (self._thread + k * beside,)) for b in local), "part"
                )
                joined += lets
                found.append(names)
            body += self._left(reduction, joined, reduction.tree(found))
        else:
            body += self._left(reduction, [], total)
        return [*body, *self._gathered(reduction, region)]

    def _element(
        self,
        reduction: ThreadReduction,
        region: Region,
        before: Sequence[Region],
        position: Expr,
        slot: Expr,
    ) -> tuple[list[Stmt], Components]:
        """What a reduction takes of one element."""
        at = Var("at")
        body: list[Stmt] = [Let(at, self._clamped(position))]
        for filling in before:
            body += self._place(filling.body, at, slot)
        names = reduction.names("value")
        lets = tuple(Let(n, v) for n, v in zip(names, region.values, strict=True))
        placed = self._place(lets, at, slot)
        body += placed
        values: Components = tuple(s.var for s in placed if isinstance(s, Let))
        if self.row % CHUNK:
            values = reduction.pick(position < self.row, values)
        return body, values

    def _piece(self, name: str, reduction: ThreadReduction, shape: tuple[int, ...]) -> list[Buffer]:
        """Memory in which a reduction meets, two pieces in turn: what one wrote is read before all
        meet at the next, and only after that the one after the next writes there."""
        found = []
        space = Space.CLUSTER if name == "whole" else Space.SHARED
        role = "local"
        if name == "whole" and self.form is not None and self.form.grouped:
            shape, space, role = (self._count * prod(shape),), Space.GLOBAL, "inout"
        for k, t in enumerate(reduction.types):
            key = (f"{name}{k}{t}", self._meetings % 2, prod(shape))
            if key not in self._shared:
                label = f"{name}{len(self._shared)}"
                self._shared[key] = Buffer(label, t, shape, space, role=role)
            found.append(self._shared[key])
        return found

    def _left(
        self, reduction: ThreadReduction, before: Sequence[Stmt], total: Components
    ) -> list[Stmt]:
        """Leaves the total of each column and kept lane of the block where all find it."""
        form = self.form
        assert form is not None
        beside = form.columns * form.lanes
        if form.blocks > 1:
            whole = self._piece("whole", reduction, (form.blocks, beside))
            index = self._left_at(self._rank, self._thread)
        else:
            whole = self._piece("lanes", reduction, (KEEP * form.columns,))
            index = (self._thread,)
        body = (*before, *(Store(b, index, x) for b, x in zip(whole, total, strict=True)))
        return list(body) if beside == form.threads else [If(self._thread < beside, body)]

    def _left_at(self, rank: Expr, number: Expr) -> tuple[Expr, ...]:
        """Where a block leaves what its cluster or group is to find."""
        form = self.form
        assert form is not None
        if not form.grouped:
            return rank, number
        return ((self._block * form.blocks + rank) * (form.columns * form.lanes) + number,)

    def _gathered(self, reduction: ThreadReduction, region: Region) -> list[Stmt]:
        """Gathers the kept lanes from the blocks of the cluster or group, and joins them."""
        form = self.form
        assert form is not None
        scope = "group" if form.grouped else "cluster"
        body: list[Stmt] = [Barrier(scope if form.blocks > 1 else "block")]
        lanes = self._piece("lanes", reduction, (KEEP * form.columns,))
        if form.blocks > 1:
            whole = self._piece("whole", reduction, (form.blocks, form.columns * form.lanes))
            count = KEEP * form.columns
            step = Var("step")
            number: Expr = step * form.threads + self._thread
            beside = form.columns * form.lanes
            rank = apply("quotient", number, const(beside))
            within = apply("remainder", number, const(beside))
            inner: list[Stmt] = []
            shares: list[Components] = []
            for k in range(form.shares):
                place = self._left_at(rank + k * KEEP, within)
                lets, names = reduction.bind(tuple(Load(b, place) for b in whole), "lane")
                inner += lets
                shares.append(names)
            total = reduction.tree(shares)
            inner += [Store(b, (number,), x) for b, x in zip(lanes, total, strict=True)]
            steps = -(-count // form.threads)
            if count % form.threads:
                inner = [If(number < count, tuple(inner))]
            body.append(For(step, steps, Kind.SERIAL, tuple(inner)))
            body.append(Barrier("block"))
        kept: list[Components] = []
        for k in range(KEEP):
            at = self._column + k * form.columns
            lets, names = reduction.bind(tuple(Load(b, (at,)) for b in lanes), "kept")
            body += lets
            kept.append(names)
        total = reduction.halves(kept)
        return [*body, *(Let(r, v) for r, v in zip(region.results, total, strict=True))]
