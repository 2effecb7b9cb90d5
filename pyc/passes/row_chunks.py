"""Chunks of rows in the threads of a warp: what they hold, how they walk, how a reduction meets.

Lane l = (q * 32 + t) * V + v of a chunk's 128 belongs to thread t of the warp, which reads V
neighbouring elements at once: the halves step is a combination of two registers, or a `Shuffle`
where the distance lies within t. Chunks of a row belong to up to 32 warps, each with an aligned
power of two of them; their kept lanes meet in shared memory, where every warp joins them again, so
that all threads know the result.

Rows of up to 32 chunks stay in registers between regions: what `lower` keeps in a row buffer, and
inputs that several regions read.

A row of up to 128 elements may belong to a team of T threads of a warp, beside others of theirs:
lane l = (q * T + t) * V + v then. Lanes beyond the row's power of two are neutral and left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.frozen import replace
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Shuffle, Var, apply, const, minimum
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
from pyc.ir.visit import Rewriter
from pyc.passes.index import Simplifier
from pyc.passes.reduction_blocks import ROWS, Components, ThreadReduction, power_above
from pyc.passes.row_regions import Region, known_ahead

WARP = 32
WARPS = 32
"""Warps of a block at most."""
SHORT_ROWS = 8
"""Rows of a block where a row is one chunk."""
PER_ROW = LANES // WARP
"""Elements of one thread in a row of LANES."""
ROW_REGISTERS = 64
"""Registers of a thread that may hold a row (32 where a block has more than 16 warps)."""


class RowChunks:
    """The chunks of the rows of one program. row: elements of a row; kept: rows; width: elements
    of the widest access. `fits`: whether its row buffers can live in registers."""

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
        self.parts: list[Stmt | Region] = [
            Region(s, self.position, simplify) if isinstance(s, (Reduce, For)) else s for s in core
        ]
        self.vector = min(width, PER_ROW)
        while row % self.vector:
            self.vector //= 2
        self.chunks = -(-row // CHUNK)
        self.each = power_above(-(-self.chunks // WARPS))
        self.warps = -(-self.chunks // self.each)
        self.covered = self.warps * self.each
        self.rows = min(SHORT_ROWS, power_above(kept)) if self.chunks == 1 else 1
        self.team, self.per = WARP, PER_ROW
        """Threads of a row of LANES, and elements of each."""
        self.held: dict[tuple[int, int], Buffer] = {}
        self.registers: list[Buffer] = []
        self.fits = self._keep(row_buffers)
        self._shared: dict[tuple[int, int, DType, int], Buffer] = {}
        self._meetings = 0

    @property
    def regions(self) -> list[Region]:
        """The parts that walk the row."""
        return [p for p in self.parts if isinstance(p, Region)]

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
        ahead = known_ahead(self.parts, self.position)
        seen: dict[tuple[Buffer, int], int] = {}
        for found in loads:
            for key, n in found.items():
                seen[key] = seen.get(key, 0) + 1
                cost = size * max(n.dtype.itemsize // 4, 1)
                if seen[key] == 2 and self.each == 1 and cost <= budget and ahead(n):
                    budget -= cost
                    self._hold(n.buffer, key[1], size)
                    self.inputs.append(n)
        return True

    def _hold(self, buffer: Buffer, address: int, size: int) -> None:
        held = Buffer(f"held{len(self.registers)}", buffer.dtype, (size,), Space.REGISTER)
        self.registers.append(held)
        self.held[(id(buffer), address)] = held

    def _where(self, key: tuple[int, int], slot: Expr) -> tuple[Buffer, Expr] | None:
        """Where the element in a thread's slot is held of the buffer and address of a key."""
        held = self.held.get(key)
        return (held, slot) if held is not None else None

    def _placed(self, held_ready: bool) -> Callable[[Body, Expr, Expr], Body]:
        """A function that puts statements over the canonical position at (position, slot)."""

        def place(body: Body, position: Expr, slot: Expr) -> Body:
            slots: dict[Var, Expr] = {self.position: position}
            stand_in: dict[int, Var] = {}

            def rule(e: Expr) -> Expr:
                if isinstance(e, Load) and held_ready and len(e.index) == 1:
                    found = self._where((id(e.buffer), id(e.index[0])), slot)
                    if found is not None:
                        held, at = found
                        if id(held) not in stand_in:
                            stand_in[id(held)] = Var(held.name, held.dtype)
                            slots[stand_in[id(held)]] = Load(held, (at,))
                        return stand_in[id(held)]
                return e

            kept = Rewriter(expr=rule).body(body)
            moved = Rewriter(variables=slots).body(kept)
            out: list[Stmt] = []
            for old, s in zip(body, moved, strict=True):
                if isinstance(old, Store) and isinstance(s, Store):
                    held = self._where((id(old.buffer), id(old.index[0])), slot)
                    s = Store(held[0], (held[1],), s.value) if held is not None else s
                out.append(s)
            return tuple(out)

        return place

    # --- walking a row ----------------------------------------------------------------------------

    @property
    def _is_one_chunk(self) -> bool:
        """Whether a row is one chunk, walked by one warp."""
        return self.chunks == 1 and self.covered == 1

    def _walk(
        self,
        chunk: Expr,
        thread: Expr,
        each: Callable[[Expr, Expr, Expr], Body],
        slot: int = 0,
        part: range = range(ROWS),
    ) -> list[Stmt]:
        """each(position, slot, lane number within the thread) for this thread's elements of a
        chunk, in the order of the sequence; elements beyond the row are left out. part: of the
        chunk's rows of LANES."""
        known = self._is_one_chunk
        rows = min(ROWS, -(-self.row // LANES)) if known else ROWS
        ragged = self.row % CHUNK != 0

        def pieces(guarded: bool) -> list[Stmt]:
            body: list[Stmt] = []
            for j in part:
                if j >= rows:
                    break
                for q in range(self.per // self.vector):
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
        place = self._within(thread) * self.vector
        first = chunk * CHUNK + place + (j * LANES + q * self.team * self.vector)
        at = slot + j * self.per + q * self.vector
        if self.vector == 1:
            body = each(first, const(at), const(q))
        else:
            v = Var("v")
            inner = each(first + v, v + at, v + q * self.vector)
            body = (For(v, self.vector, Kind.VECTOR, inner),)
        last = j * LANES + (q + 1) * self.team * self.vector
        if guarded and not (self._is_one_chunk and last <= self.row):
            return [If(first < self.row, body)]
        return list(body)

    def _within(self, thread: Expr) -> Expr:
        """The number of a warp's thread within its team."""
        return thread if self.team == WARP else apply("remainder", thread, const(self.team))

    # --- one chunk --------------------------------------------------------------------------------

    def _chunk(
        self, region: Region, reduction: ThreadReduction, chunk: Expr, thread: Var, slot: int
    ) -> tuple[list[Stmt], list[Components], Callable[[Body], Body]]:
        """The kept lanes of a chunk that this thread holds, one per v: lane (t mod 16/V) * V + v.
        The last result puts the accumulators around the statements."""
        place = self._placed(True)
        sums = [
            Buffer(f"sum{k}", t, (self.per,), Space.REGISTER) for k, t in enumerate(reduction.types)
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
            for k in range(self.per)
            for b, e in zip(sums, reduction.neutral, strict=True)
        ]
        body += self._walk(chunk, thread, each, slot)
        lanes: list[Components] = []
        for k in range(self.per):
            lets, names = reduction.bind(tuple(Load(b, (const(k),)) for b in sums), "lane")
            body += lets
            lanes.append(names)
        distance = self.team * self.per // 2
        while distance >= KEEP:
            lanes = self._half(body, reduction, lanes, distance, thread)
            distance //= 2
        return body, lanes, lambda inner: surrounded(sums, inner)

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
        if distance >= self.team * width:
            half = distance // self.team
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
        self, region: Region, reduction: ThreadReduction, first: Expr, each: int, thread: Var
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
        distance = min(KEEP, self.team * self.per) // 2
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

    def _found(
        self,
        reduction: ThreadReduction,
        results: Sequence[Var],
        left: Callable[[Expr, Expr], Components],
        count: int,
        warp: Var,
        warps: int,
        thread: Var,
    ) -> list[Stmt]:
        """Binds `results` in every thread of a block, from what `count` blocks left: left(number,
        lane) for each kept lane."""
        groups = 2 * warps
        size = max(power_above(count) // groups, 1)
        lane = apply("remainder", thread, const(KEEP))
        group = warp * 2 + apply("quotient", thread, const(KEEP))

        body, total = reduction.parts(lambda number: left(number, lane), group * size, size, count)
        lets, total = reduction.bind(total, "part")
        shared = self._share(reduction, groups * KEEP)
        at = (group * KEEP + lane,)
        body += [*lets, *(Store(b, at, x) for b, x in zip(shared, total, strict=True))]
        body.append(Barrier("block"))
        return [*body, *self._joined(reduction, results, shared, groups, thread)]

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
        return [*body, *self._halved(reduction, results, total, thread)]

    def _halved(
        self,
        reduction: ThreadReduction,
        results: Sequence[Var],
        total: Components,
        thread: Var,
    ) -> list[Stmt]:
        """Binds `results` to the total of the kept lanes; a thread has (thread mod KEEP)."""
        body: list[Stmt] = []
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


def surrounded(buffers: Sequence[Buffer], body: Body) -> Body:
    """`body` with local buffers."""
    for b in reversed(buffers):
        body = (Alloc(b, body),)
    return body
