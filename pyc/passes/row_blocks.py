"""Row programs for blocks of threads: a warp per chunk of the documented order.

Takes the regions of a row program (reductions, loops over the row, stores of one element) whose
rows are contiguous, and returns grid, warp and thread loops. Lane l = (q * 32 + t) * V + v of a
chunk's 128 belongs to thread t of the warp, which reads V neighbouring elements at once: the halves
step is a combination of two registers, or a `Shuffle` where the distance lies within t. Chunks of a
row belong to up to 32 warps, each with an aligned power of two of them; their kept lanes meet in
shared memory, where every warp joins them again, so that all threads know the result.

Rows of up to 32 chunks stay in registers between regions: what `lower` keeps in a row buffer, and
inputs that several regions read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.frozen import replace
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Shuffle, Var, apply, const, minimum, postorder
from pyc.ir.loops import (
    Alloc,
    Barrier,
    Body,
    Buffer,
    Extent,
    For,
    If,
    Kind,
    Let,
    Reduce,
    Space,
    Stmt,
    Store,
    expressions,
)
from pyc.ir.order import CHUNK, KEEP, LANES
from pyc.ir.visit import Rewriter, renamed
from pyc.passes.index import Simplifier
from pyc.passes.reduction_blocks import ROWS, Components, ThreadReduction, power_above

WARP = 32
WARPS = 32
"""Warps of a block at most."""
SHORT_ROWS = 8
"""Rows of a block where a row is one chunk."""
PER_ROW = LANES // WARP
"""Elements of one thread in a row of LANES."""
ROW_REGISTERS = 64
"""Registers of a thread that may hold a row (32 where a block has more than 16 warps)."""
SPLIT_WARPS = 8
"""Warps of a block of a long reduction."""
SPLIT_CHUNKS = 16
"""Chunks of one of these warps at most."""
SPLIT_BLOCKS = 2048
"""Blocks of a long reduction from which a warp takes more chunks."""
FEW_ROWS = 264
"""Long rows fewer than this are cut into blocks."""


class _Region:
    """A reduction or a row loop over one canonical position of the row."""

    def __init__(self, statement: Reduce | For, position: Var, simplify: Simplifier) -> None:
        self.statement = statement
        binding: dict[Var, Expr] = {}
        if isinstance(statement, Reduce):
            domain: list[tuple[Var, Extent]] = list(statement.domain)
            self.results: tuple[Var, ...] = statement.results
            self.monoid = statement.monoid
            inner: Body = tuple(
                Let(r, v) for r, v in zip(statement.results, statement.values, strict=True)
            )
        else:
            found, inner = _nest(statement)
            domain = list(found)
            self.results = ()
            self.monoid = ""
        rest: Expr = position
        for var, extent in reversed(domain[1:]):
            assert isinstance(extent, int)
            binding[var] = simplify(apply("remainder", rest, const(extent)))
            rest = simplify(apply("quotient", rest, const(extent)))
        if domain:
            binding[domain[0][0]] = rest
        rewriter = Rewriter(variables=binding, index=lambda _, at: tuple(simplify(e) for e in at))
        self.body = rewriter.body(inner)

    @property
    def values(self) -> Components:
        """What a reduction reduces."""
        return tuple(s.value for s in self.body if isinstance(s, Let))

    def loads(self) -> list[Load]:
        """Every load of the region."""
        roots = [e for s in self.body for e in expressions(s)]
        return [n for n in postorder(roots) if isinstance(n, Load)]


def _nest(loop: For) -> tuple[list[tuple[Var, int]], Body]:
    domain: list[tuple[Var, int]] = []
    body: Body = (loop,)
    while len(body) == 1 and isinstance(body[0], For):
        (inner,) = body
        assert isinstance(inner, For) and isinstance(inner.extent, int)
        domain.append((inner.var, inner.extent))
        body = inner.body
    return domain, body


class RowBlocks:
    """The loops of one row program. row: elements of a row; kept: rows; width: elements of the
    widest access. `fits`: whether its row buffers can live in registers."""

    def __init__(
        self,
        simplify: Simplifier,
        core: Body,
        row_buffers: Sequence[Buffer],
        row: int,
        kept: int,
        width: int,
    ) -> None:
        self.simplify = simplify
        self.row = row
        self.kept = kept
        self.position = simplify.variable("p", row)
        self.parts: list[Stmt | _Region] = [
            _Region(s, self.position, simplify) if isinstance(s, (Reduce, For)) else s for s in core
        ]
        self.vector = min(width, PER_ROW)
        while row % self.vector:
            self.vector //= 2
        self.chunks = -(-row // CHUNK)
        self.each = power_above(-(-self.chunks // WARPS))
        self.warps = -(-self.chunks // self.each)
        self.covered = self.warps * self.each
        self.rows = min(SHORT_ROWS, power_above(kept)) if self.chunks == 1 else 1
        self.held: dict[tuple[int, int], Buffer] = {}
        self.registers: list[Buffer] = []
        self.fits = self._keep(row_buffers)
        self._shared: dict[tuple[int, int, DType, int], Buffer] = {}
        self._meetings = 0

    @property
    def regions(self) -> list[_Region]:
        """The parts that walk the row."""
        return [p for p in self.parts if isinstance(p, _Region)]

    # --- what stays in registers ------------------------------------------------------------------

    def _keep(self, row_buffers: Sequence[Buffer]) -> bool:
        """Chooses register buffers: row buffers (always), and inputs read by several regions."""
        loads = [
            {(n.buffer, id(n.index[0])): n for n in r.loads() if len(n.index) == 1}
            for r in self.regions
        ]
        at = id(self.simplify(self.position))
        size = self.each * ROWS * PER_ROW
        for b in row_buffers:
            touched = [n for found in loads for n in found.values() if n.buffer is b]
            stored = [
                s for r in self.regions for s in r.body if isinstance(s, Store) and s.buffer is b
            ]
            here = all(id(n.index[0]) == at for n in touched)
            if not here or any(id(s.index[0]) != at for s in stored) or self.each > 1:
                return False
            self._hold(b, at, size)
        budget = ROW_REGISTERS if self.warps * self.rows <= 16 else ROW_REGISTERS // 2
        budget -= sum(size * max(b.dtype.itemsize // 4, 1) for b in self.registers)
        self.inputs: list[Load] = []
        seen: dict[tuple[Buffer, int], int] = {}
        for found in loads:
            for key, n in found.items():
                seen[key] = seen.get(key, 0) + 1
                moves = any(x is self.position for x in postorder(n.index))
                cost = size * max(n.dtype.itemsize // 4, 1)
                wanted = seen[key] == 2 and moves and n.buffer.role == "in" and self.each == 1
                if wanted and cost <= budget:
                    budget -= cost
                    self._hold(n.buffer, key[1], size)
                    self.inputs.append(n)
        return True

    def _hold(self, buffer: Buffer, address: int, size: int) -> None:
        held = Buffer(f"held{len(self.registers)}", buffer.dtype, (size,), Space.REGISTER)
        self.registers.append(held)
        self.held[(id(buffer), address)] = held

    def _placed(self, held_ready: bool) -> Callable[[Body, Expr, Expr], Body]:
        """A function that puts statements over the canonical position at (position, slot)."""

        def place(body: Body, position: Expr, slot: Expr) -> Body:
            slots: dict[Var, Expr] = {self.position: position}
            stand_in: dict[int, Var] = {}

            def rule(e: Expr) -> Expr:
                if isinstance(e, Load) and held_ready and len(e.index) == 1:
                    held = self.held.get((id(e.buffer), id(e.index[0])))
                    if held is not None:
                        if id(held) not in stand_in:
                            stand_in[id(held)] = Var(held.name, held.dtype)
                            slots[stand_in[id(held)]] = Load(held, (slot,))
                        return stand_in[id(held)]
                return e

            found = Rewriter(expr=rule).body(body)
            moved = Rewriter(variables=slots).body(found)
            out: list[Stmt] = []
            for old, s in zip(body, moved, strict=True):
                if isinstance(old, Store) and isinstance(s, Store):
                    held = self.held.get((id(old.buffer), id(old.index[0])))
                    s = Store(held, (slot,), s.value) if held is not None else s
                out.append(s)
            return tuple(out)

        return place

    # --- walking a row ----------------------------------------------------------------------------

    def _walk(
        self,
        chunk: Expr,
        thread: Expr,
        each: Callable[[Expr, Expr, Expr], Body],
        slot: int = 0,
    ) -> list[Stmt]:
        """each(position, slot, lane number within the thread) for this thread's elements of a
        chunk, in the order of the sequence; elements beyond the row are left out."""
        known = self.chunks == 1
        rows = min(ROWS, -(-self.row // LANES)) if known else ROWS
        ragged = self.row % CHUNK != 0

        def pieces(guarded: bool) -> list[Stmt]:
            body: list[Stmt] = []
            for j in range(rows):
                for q in range(PER_ROW // self.vector):
                    body += self._piece(chunk, thread, each, slot, j, q, guarded)
            return body

        if known:
            return pieces(ragged)
        start = chunk * CHUNK
        if not ragged:
            if self.chunks == self.covered:
                return pieces(False)
            return [If(start < self.row, tuple(pieces(False)))]
        return [If(start + CHUNK <= self.row, tuple(pieces(False)), tuple(pieces(True)))]

    def _piece(
        self,
        chunk: Expr,
        thread: Expr,
        each: Callable[[Expr, Expr, Expr], Body],
        slot: int,
        j: int,
        q: int,
        guarded: bool,
    ) -> list[Stmt]:
        first = chunk * CHUNK + thread * self.vector + (j * LANES + q * WARP * self.vector)
        at = slot + j * PER_ROW + q * self.vector
        if self.vector == 1:
            body = each(first, const(at), const(q))
        else:
            v = Var("v")
            inner = each(first + v, v + at, v + q * self.vector)
            body = (For(v, self.vector, Kind.VECTOR, inner),)
        last = j * LANES + (q + 1) * WARP * self.vector
        if guarded and not (self.chunks == 1 and last <= self.row):
            return [If(first < self.row, body)]
        return list(body)

    # --- one chunk --------------------------------------------------------------------------------

    def _chunk(
        self, region: _Region, reduction: ThreadReduction, chunk: Expr, thread: Var, slot: int
    ) -> tuple[list[Stmt], list[Components], Callable[[Body], Body]]:
        """The kept lanes of a chunk that this thread holds, one per v: lane (t mod 16/V) * V + v.
        The last result puts the accumulators around the statements."""
        place = self._placed(True)
        sums = [
            Buffer(f"sum{k}", t, (PER_ROW,), Space.REGISTER) for k, t in enumerate(reduction.types)
        ]

        def each(position: Expr, at: Expr, lane: Expr) -> Body:
            elements = [Var("value", v.dtype) for v in region.values]
            lets = tuple(Let(e, v) for e, v in zip(elements, region.values, strict=True))
            bound = place(lets, position, at)
            before = tuple(Load(b, (lane,)) for b in sums)
            total = reduction.monoid.combine(before, tuple(elements))
            names = [Var("sum", t) for t in reduction.types]
            new = tuple(Let(n, e) for n, e in zip(names, total, strict=True))
            return (*bound, *new, *(Store(b, (lane,), n) for b, n in zip(sums, names, strict=True)))

        body: list[Stmt] = [
            Store(b, (const(k),), e)
            for k in range(PER_ROW)
            for b, e in zip(sums, reduction.neutral, strict=True)
        ]
        body += self._walk(chunk, thread, each, slot)
        lanes: list[Components] = []
        for k in range(PER_ROW):
            lets, names = reduction.bind(tuple(Load(b, (const(k),)) for b in sums), "lane")
            body += lets
            lanes.append(names)
        distance = LANES // 2
        while distance >= KEEP:
            lanes = self._half(body, reduction, lanes, distance, thread)
            distance //= 2
        return body, lanes, lambda inner: _around(sums, inner)

    def _half(
        self,
        body: list[Stmt],
        reduction: ThreadReduction,
        lanes: list[Components],
        distance: int,
        thread: Var,
    ) -> list[Components]:
        """One halves step over what a thread holds: lane q * V + v at place (q, v)."""
        width = self.vector
        if distance >= WARP * width:
            half = distance // WARP
            pairs = [reduction.monoid.combine(lanes[k], lanes[k + half]) for k in range(half)]
        elif distance >= width:
            apart = distance // width
            pairs = [
                reduction.monoid.combine(x, tuple(Shuffle(c, thread, apart) for c in x))
                for x in lanes
            ]
        else:
            pairs = [
                reduction.monoid.combine(lanes[k], lanes[k + distance]) for k in range(distance)
            ]
        result: list[Components] = []
        for values in pairs:
            lets, names = reduction.bind(values, "half")
            body += lets
            result.append(names)
        return result

    # --- all chunks of a warp, of a row -----------------------------------------------------------

    def _kept(
        self, region: _Region, reduction: ThreadReduction, first: Expr, each: int, thread: Var
    ) -> tuple[list[Stmt], list[Components], Callable[[Body], Body]]:
        """The kept lanes over `each` (a power of two) chunks from `first` on."""
        if each == 1:
            return self._chunk(region, reduction, first, thread, 0)
        wrap: list[Callable[[Body], Body]] = []
        count = self.vector if self.vector > 1 else 1
        several = _Several(reduction, count)

        def leaf(number: Expr) -> tuple[list[Stmt], Components]:
            body, lanes, around = self._chunk(region, reduction, number, thread, 0)
            wrap.append(around)
            return body, tuple(x for lane in lanes for x in lane)

        levels = [1 << k for k in reversed(range(each.bit_length() - 1))]
        reached = None if self.chunks == self.covered else self._reached
        body, total = several.nested(levels, first, leaf, reached)
        size = len(reduction.types)
        lanes = [total[k * size : (k + 1) * size] for k in range(count)]

        def around(inner: Body) -> Body:
            for w in wrap:
                inner = w(inner)
            return inner

        return body, lanes, around

    def _reached(self, chunk: Expr) -> Expr:
        """Whether the row has this chunk."""
        return chunk < self.chunks

    def _finish(
        self,
        reduction: ThreadReduction,
        results: Sequence[Var],
        lanes: list[Components],
        thread: Var,
    ) -> list[Stmt]:
        """Binds `results` in every thread that holds kept lanes as `_chunk` gives them."""
        body: list[Stmt] = []
        distance = KEEP // 2
        while distance:
            lanes = self._half(body, reduction, lanes, distance, thread)
            distance //= 2
        return [*body, *(Let(r, v) for r, v in zip(results, lanes[0], strict=True))]

    def _to_memory(
        self, lanes: list[Components], thread: Var, buffers: Sequence[Buffer], start: Expr
    ) -> Stmt:
        """Stores the kept lanes of a warp at `start`."""
        stores: list[Stmt] = []
        for v, values in enumerate(lanes):
            at = start + thread * self.vector + v
            stores += [Store(b, (at,), x) for b, x in zip(buffers, values, strict=True)]
        return If(thread < KEEP // self.vector, tuple(stores))

    def _share(self, reduction: ThreadReduction, size: int) -> list[Buffer]:
        """Memory of the block in which a reduction's parts meet, once.

        Reductions take two pieces in turn: what one wrote is read before all threads meet at the
        next one, and only after that the one after the next writes there.
        """
        self._meetings += 1
        found: list[Buffer] = []
        for k, t in enumerate(reduction.types):
            key = (self._meetings % 2, k, t, size)
            if key not in self._shared:
                name = f"shared{len(self._shared)}"
                self._shared[key] = Buffer(name, t, (size,), Space.SHARED)
            found.append(self._shared[key])
        return found

    def _joined(
        self,
        reduction: ThreadReduction,
        results: Sequence[Var],
        buffers: Sequence[Buffer],
        count: int,
        thread: Var,
    ) -> list[Stmt]:
        """Binds `results` in every thread to the reduction of `count` vectors of kept lanes: half a
        warp reads each half of them, the halves step does the rest."""
        body, total = self._together(reduction, buffers, count, thread)
        for distance in (8, 4, 2, 1):
            other = tuple(Shuffle(x, thread, distance) for x in total)
            lets, total = reduction.bind(reduction.monoid.combine(total, other), "half")
            body += lets
        return [*body, *(Let(r, v) for r, v in zip(results, total, strict=True))]

    def _together(
        self, reduction: ThreadReduction, buffers: Sequence[Buffer], count: int, thread: Var
    ) -> tuple[list[Stmt], Components]:
        """Lane (thread mod KEEP) of the pairwise tree over `count` vectors in shared memory."""
        half = max(power_above(count) // 2, 1)
        lane = apply("remainder", thread, const(KEEP))
        side = apply("quotient", thread, const(KEEP)) if count > 1 else const(0)
        body: list[Stmt] = []
        loaded: list[Components] = []
        for k in range(half):
            number = side * half + k
            inside = number
            if half + k >= count > 1:
                inside = minimum(number, count - 1)
            found: Components = tuple(Load(b, (inside * KEEP + lane,)) for b in buffers)
            if half + k >= count > 1:
                found = reduction.pick(number < count, found)
            lets, names = reduction.bind(found, "part")
            body += lets
            loaded.append(names)
        total = reduction.tree(loaded)
        if count > 1:
            lets, total = reduction.bind(total, "side")
            body += lets
            total = reduction.monoid.combine(total, tuple(Shuffle(x, thread, KEEP) for x in total))
        lets, total = reduction.bind(total, "lane")
        return [*body, *lets], total

    # --- kernels ----------------------------------------------------------------------------------

    def body(self, place: Var, binding: Sequence[Stmt]) -> list[Stmt]:
        """The kernel: `place` numbers the rows, `binding` binds the kept variables by it."""
        block, warp, thread = Var("block"), Var("warp"), Var("thread")
        first = const(0) if self.chunks == 1 else warp * self.each
        inner: list[Stmt] = list(binding)
        for n in self.inputs:
            held = self.held[(id(n.buffer), id(n.index[0]))]
            inner += self._fill(n, held, first, thread)
        wraps: list[Callable[[Body], Body]] = []
        for part in self.parts:
            if not isinstance(part, _Region):
                once: Stmt = part
                if not isinstance(part, Let):
                    alone = thread.equal(0)
                    if self.warps > 1:
                        alone = alone & warp.equal(0)
                    once = If(alone, (part,))
                inner.append(once)
            elif part.monoid:
                reduction = ThreadReduction([r.dtype for r in part.results], part.monoid)
                body, lanes, around = self._kept(part, reduction, first, self.each, thread)
                wraps.append(around)
                inner += body
                if self.warps == 1:
                    inner += self._finish(reduction, part.results, lanes, thread)
                    continue
                shared = self._share(reduction, self.warps * KEEP)
                inner.append(self._to_memory(lanes, thread, shared, warp * KEEP))
                inner.append(Barrier("block"))
                inner += self._joined(reduction, part.results, shared, self.warps, thread)
            else:
                inner += self._store(part, first, thread)
        whole: Body = tuple(inner)
        for w in wraps:
            whole = w(whole)
        whole = _around(self.registers, whole)
        number = block if self.rows == 1 else block * self.rows + warp
        if self.kept % self.rows:
            whole = (If(place < self.kept, whole),)
        whole = (Let(place, number), *whole)
        return self._launch(
            block, -(-self.kept // self.rows), warp, self.warps * self.rows, thread, whole
        )

    def _launch(
        self, block: Var, blocks: int, warp: Var, warps: int, thread: Var, body: Body
    ) -> list[Stmt]:
        inner: Body = (For(warp, warps, Kind.WARP, (For(thread, WARP, Kind.THREAD, body),)),)
        for b in reversed(self._shared.values()):
            inner = (Alloc(b, inner),)
        return [For(block, blocks, Kind.GRID, inner)]

    def _fill(self, node: Load, held: Buffer, chunk: Expr, thread: Var) -> list[Stmt]:
        """Loads an input's part of the row into registers."""
        place = self._placed(False)

        def each(position: Expr, at: Expr, lane: Expr) -> Body:
            (let,) = place((Let(Var("x", node.dtype), node),), position, at)
            assert isinstance(let, Let)
            return (Store(held, (at,), let.value),)

        return self._walk(chunk, thread, each)

    def _store(self, region: _Region, first: Expr, thread: Var) -> list[Stmt]:
        """A loop over the row that stores."""
        place = self._placed(True)

        def each(position: Expr, at: Expr, lane: Expr) -> Body:
            return renamed(place(region.body, position, at))

        if self.each == 1:
            return self._walk(first, thread, each)
        step = Var("step")
        return [For(step, self.each, Kind.SERIAL, tuple(self._walk(first + step, thread, each)))]

    # --- long reductions --------------------------------------------------------------------------

    @property
    def split_each(self) -> int:
        """Chunks of one warp of a split reduction: by the row alone."""
        each = 1
        while each < SPLIT_CHUNKS and -(-self.chunks // (SPLIT_WARPS * each)) > SPLIT_BLOCKS // 2:
            each *= 2
        return each

    @property
    def blocks(self) -> int:
        """Blocks of a split reduction."""
        return -(-self.chunks // (SPLIT_WARPS * self.split_each))

    @property
    def worth_splitting(self) -> bool:
        """Whether there are too few long rows to have a block each."""
        return self.chunks > WARPS and self.kept < FEW_ROWS

    def partial(
        self, place: Var, binding: Sequence[Stmt], scratch: Sequence[Sequence[Buffer]]
    ) -> list[Stmt]:
        """The first stage: block (row, number) stores KEEP lanes of its chunks in `scratch`."""
        block, warp, thread = Var("block"), Var("warp"), Var("thread")
        number = Var("number")
        inner: list[Stmt] = [
            Let(place, apply("quotient", block, const(self.blocks))),
            Let(number, apply("remainder", block, const(self.blocks))),
            *binding,
        ]
        first = (number * SPLIT_WARPS + warp) * self.split_each
        wraps: list[Callable[[Body], Body]] = []
        for region, held in zip(self.regions, scratch, strict=True):
            reduction = ThreadReduction([r.dtype for r in region.results], region.monoid)
            body, lanes, around = self._split_kept(region, reduction, first, thread)
            wraps.append(around)
            inner += body
            shared = self._share(reduction, SPLIT_WARPS * KEEP)
            inner.append(self._to_memory(lanes, thread, shared, warp * KEEP))
            inner.append(Barrier("block"))
            joined, total = self._together(reduction, shared, SPLIT_WARPS, thread)
            stores = tuple(
                Store(b, (block * KEEP + thread,), x) for b, x in zip(held, total, strict=True)
            )
            inner += [*joined, If(warp.equal(0) & (thread < KEEP), stores)]
        whole: Body = tuple(inner)
        for w in wraps:
            whole = w(whole)
        return self._launch(block, self.kept * self.blocks, warp, SPLIT_WARPS, thread, whole)

    def _split_kept(
        self, region: _Region, reduction: ThreadReduction, first: Expr, thread: Var
    ) -> tuple[list[Stmt], list[Components], Callable[[Body], Body]]:
        self.covered = self.split_each * SPLIT_WARPS * self.blocks
        return self._kept(region, reduction, first, self.split_each, thread)

    def join(
        self,
        place: Var,
        binding: Sequence[Stmt],
        scratch: Sequence[Sequence[Buffer]],
        after: Body,
    ) -> list[Stmt]:
        """The second stage: a block per row joins its `blocks` vectors of KEEP lanes."""
        self._shared = {}
        block, warp, thread = Var("block"), Var("warp"), Var("thread")
        groups = min(power_above(self.blocks), 2 * WARPS)
        warps = max(groups // 2, 1)
        size = -(-power_above(self.blocks) // groups)
        lane = apply("remainder", thread, const(KEEP))
        group = warp * 2 + apply("quotient", thread, const(KEEP))
        inner: list[Stmt] = [Let(place, block), *binding]
        for region, held in zip(self.regions, scratch, strict=True):
            reduction = ThreadReduction([r.dtype for r in region.results], region.monoid)

            def part(number: Expr, held: Sequence[Buffer] = held) -> Components:
                return tuple(Load(b, ((block * self.blocks + number) * KEEP + lane,)) for b in held)

            body, total = reduction.parts(part, group * size, size, self.blocks)
            lets, total = reduction.bind(total, "part")
            inner += [*body, *lets]
            shared = self._share(reduction, max(groups, 2) * KEEP)
            inner += [
                Store(b, (group * KEEP + lane,), x) for b, x in zip(shared, total, strict=True)
            ]
            inner.append(Barrier("block"))
            inner += self._joined(reduction, region.results, shared, groups, thread)
        for s in after:
            alone = thread.equal(0) & warp.equal(0)
            inner.append(s if isinstance(s, Let) else If(alone, (s,)))
        return self._launch(block, self.kept, warp, warps, thread, tuple(inner))


class _Several(ThreadReduction):
    """`count` reductions side by side, as one over all their components."""

    def __init__(self, one: ThreadReduction, count: int) -> None:
        super().__init__(one.types, one.monoid.name)
        size = len(one.types)
        self.types = one.types * count
        self.neutral = one.neutral * count

        def combine(a: Components, b: Components) -> Components:
            out: list[Expr] = []
            for k in range(0, size * count, size):
                out += one.monoid.combine(a[k : k + size], b[k : k + size])
            return tuple(out)

        self.monoid = replace(one.monoid, combine=combine)


def _around(buffers: Sequence[Buffer], body: Body) -> Body:
    """`body` with local buffers."""
    for b in reversed(buffers):
        body = (Alloc(b, body),)
    return body
