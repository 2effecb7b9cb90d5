"""Row programs for blocks of threads: a warp per chunk of the documented order (`row_chunks`).

Takes the regions of a row program (reductions, loops over the row, stores of one element) whose
rows are contiguous, and returns grid, warp and thread loops: a block for each row, or for several
short ones; of few long rows, blocks that share a row and a launch that joins what they give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.frozen import frozen, replace
from pyc.ir import dtype as dt
from pyc.ir.expr import Expr, Load, Var, apply, const
from pyc.ir.loops import (
    Alloc,
    Barrier,
    Body,
    Buffer,
    For,
    If,
    Kind,
    Last,
    Let,
    Reduce,
    Stmt,
    Store,
)
from pyc.ir.order import KEEP, LANES
from pyc.ir.visit import Rewriter, renamed
from pyc.passes.reduction_blocks import Components, ThreadReduction, power_above
from pyc.passes.row_chunks import WARP, WARPS, RowChunks, surrounded
from pyc.passes.row_regions import Region

SPLIT_WARPS = 8
"""Warps of a block of a long reduction."""
SPLIT_CHUNKS = 16
"""Chunks of one of these warps at most."""
SPLIT_BLOCKS = 2048
"""Blocks of a long reduction from which a warp takes more chunks."""
FEW_CHUNKS, BUSY_BLOCKS = 4, 256
"""Chunks that a warp takes as long as there are so many blocks."""
TEAM_ELEMENTS = 8
"""Elements of a short row that a thread has at most, where others of its warp have other rows."""
BUSY_WARPS = 132 * 16
"""Warps that short rows keep at least."""
FEW_ROWS = 264
"""Long rows fewer than this are cut into blocks."""
JOINED_BLOCKS = 256
"""Blocks of a row whose parts every block of the next launch may join for itself."""


@frozen()
class Left:
    """What a launch of a split reduction left in memory: the reductions, where their parts are, and
    what follows once for each row."""

    reduces: tuple[Reduce, ...]
    scratch: tuple[tuple[Buffer, ...], ...]
    after: Body


def known_results(body: Body, left: Left) -> Body:
    """Statements that find the results of what was left at hand, where they read them back."""
    stores = [s for s in left.after if isinstance(s, Store) and isinstance(s.value, Var)]
    found = {s.buffer: s.value for s in stores}

    def rule(e: Expr) -> Expr:
        value = found.get(e.buffer) if isinstance(e, Load) else None
        return e if value is None else value

    return Rewriter(expr=rule).body(body)


class RowBlocks(RowChunks):
    """The loops of one row program."""

    def form_teams(self) -> None:
        """Lets several short rows share a warp, if the warps that are left keep a device busy:
        fewer steps across threads for each row, and no threads beyond its end."""
        if self.row > LANES:
            return
        teams, lanes = 1, power_above(self.row)
        while (
            2 * teams * lanes <= WARP * TEAM_ELEMENTS
            and 2 * teams * BUSY_WARPS <= self.kept
            and self.kept % (2 * teams) == 0
        ):
            teams *= 2
        if teams > 1:
            self.team = WARP // teams
            self.per = max(lanes // self.team, self.vector)
            self.rows = min(self.rows, power_above(self.kept // teams))

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
            if not isinstance(part, Region):
                once: Stmt = part
                if not isinstance(part, Let):
                    alone = self._within(thread).equal(0)
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
                inner += self._store(part, first, thread, self.each)
        whole: Body = tuple(inner)
        for w in wraps:
            whole = w(whole)
        whole = surrounded(self.registers, whole)
        # Rows, or groups of them that share a warp.
        teams = WARP // self.team
        groups = self.kept // teams
        group = block if self.rows == 1 else block * self.rows + warp
        row = group if teams == 1 else group * teams + apply("quotient", thread, const(self.team))
        whole = (Let(place, row), *whole)
        if groups % self.rows:
            whole = (If(group < groups, whole),)
        return self._launch(
            block, -(-groups // self.rows), warp, self.warps * self.rows, thread, whole
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

    def _store(self, region: Region, first: Expr, thread: Var, count: int) -> list[Stmt]:
        """A loop over the row that stores, of so many chunks."""
        place = self._placed(True)

        def each(position: Expr, at: Expr, lane: Expr) -> Body:
            return renamed(place(region.body, position, at))

        if count == 1:
            return self._walk(first, thread, each)
        step = Var("step")
        return [For(step, count, Kind.SERIAL, tuple(self._walk(first + step, thread, each)))]

    # --- long reductions --------------------------------------------------------------------------

    @property
    def split_each(self) -> int:
        """Chunks of one warp of a split reduction: several where there are blocks enough."""
        each = 1
        while each < FEW_CHUNKS and self.kept * self._blocks_of(2 * each) >= BUSY_BLOCKS:
            each *= 2
        while each < SPLIT_CHUNKS and self._blocks_of(each) > SPLIT_BLOCKS // 2:
            each *= 2
        return each

    def _blocks_of(self, each: int) -> int:
        """Blocks of a row whose warps have so many chunks."""
        return -(-self.chunks // (SPLIT_WARPS * each))

    @property
    def blocks(self) -> int:
        """Blocks of a split reduction."""
        return self._blocks_of(self.split_each)

    @property
    def worth_splitting(self) -> bool:
        """Whether there are too few long rows to have a block each."""
        return self.chunks > WARPS and self.kept < FEW_ROWS

    @property
    def joins_cheaply(self) -> bool:
        """Whether every block of the next launch may join what this one leaves, in place of a
        launch that does it once."""
        return self.blocks <= JOINED_BLOCKS

    def partial(
        self,
        place: Var,
        binding: Sequence[Stmt],
        scratch: Sequence[Sequence[Buffer]],
        before: Left | None = None,
        *,
        turned: bool = False,
    ) -> list[Stmt]:
        """The first stage: block (row, number) stores KEEP lanes of its chunks in `scratch`.
        before: what the launch before left, joined here first; turned: the last chunks first."""
        start, block, warp, thread = Var("start"), Var("block"), Var("warp"), Var("thread")
        count = self.kept * self.blocks
        inner, first = self._share_of(place, binding, before, block, warp, thread)
        inner += self._left_by(block, first, scratch, warp, thread)
        bound = Let(block, count - 1 - start if turned else start)
        return self._launch(start, count, warp, SPLIT_WARPS, thread, (bound, *inner))

    def joined_by_last(self, place: Var, binding: Sequence[Stmt], left: Left) -> list[Stmt]:
        """All in one launch: the blocks of a row leave what `partial` does, and the one that comes
        last joins it."""
        row, number, warp, thread = Var("group"), Var("number"), Var("warp"), Var("thread")
        block, last = Var("block"), Var("last", dt.b1)
        self.covered = self.split_each * SPLIT_WARPS * self.blocks
        inner: list[Stmt] = [Let(place, row), Let(block, row * self.blocks + number), *binding]
        first = (number * SPLIT_WARPS + warp) * self.split_each
        inner += self._left_by(block, first, left.scratch, warp, thread)
        joined = self._met(left, row, warp, SPLIT_WARPS, thread)
        alone = thread.equal(0) & warp.equal(0)
        joined += [s if isinstance(s, Let) else If(alone, (s,)) for s in left.after]
        inner += [Last(last), If(last, tuple(joined))]
        blocks = self._launch(number, self.blocks, warp, SPLIT_WARPS, thread, tuple(inner))
        group = (replace(s, kind=Kind.GROUP) for s in blocks if isinstance(s, For))
        return [For(row, self.kept, Kind.GRID, tuple(group))]

    def _left_by(
        self,
        block: Expr,
        first: Expr,
        scratch: Sequence[Sequence[Buffer]],
        warp: Var,
        thread: Var,
    ) -> list[Stmt]:
        """What a block stores in `scratch` of its chunks, those of a warp from `first` on."""
        inner: list[Stmt] = []
        wraps: list[Callable[[Body], Body]] = []
        for region, held in zip(self.regions, scratch, strict=True):
            reduction = ThreadReduction([r.dtype for r in region.results], region.monoid)
            body, lanes, around = self._kept(region, reduction, first, self.split_each, thread)
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
        return list(whole)

    def spread(self, place: Var, binding: Sequence[Stmt], before: Left) -> list[Stmt]:
        """A stage that stores rows: block (row, number) the chunks that it has in `partial`, after
        it has joined what the launch before left."""
        block, warp, thread = Var("block"), Var("warp"), Var("thread")
        inner, first = self._share_of(place, binding, before, block, warp, thread)
        for region in self.regions:
            inner += self._store(region, first, thread, self.split_each)
        return self._launch(block, self.kept * self.blocks, warp, SPLIT_WARPS, thread, tuple(inner))

    def _share_of(
        self,
        place: Var,
        binding: Sequence[Stmt],
        before: Left | None,
        block: Var,
        warp: Var,
        thread: Var,
    ) -> tuple[list[Stmt], Expr]:
        """Bindings of a block that shares its row, and the first chunk of a warp."""
        number = Var("number")
        inner: list[Stmt] = [
            Let(place, apply("quotient", block, const(self.blocks))),
            Let(number, apply("remainder", block, const(self.blocks))),
            *binding,
        ]
        self.covered = self.split_each * SPLIT_WARPS * self.blocks
        if before is not None:
            inner += self._met(before, place, warp, SPLIT_WARPS, thread)
            alone = thread.equal(0) & warp.equal(0) & number.equal(0)
            inner += [s if isinstance(s, Let) else If(alone, (s,)) for s in before.after]
        return inner, (number * SPLIT_WARPS + warp) * self.split_each

    def join(self, place: Var, binding: Sequence[Stmt], before: Left) -> list[Stmt]:
        """The second stage: a block per row joins its `blocks` vectors of KEEP lanes."""
        self._shared = {}
        block, warp, thread = Var("block"), Var("warp"), Var("thread")
        warps = max(min(power_above(self.blocks), 2 * WARPS) // 2, 1)
        inner: list[Stmt] = [Let(place, block), *binding]
        inner += self._met(before, block, warp, warps, thread)
        for s in before.after:
            alone = thread.equal(0) & warp.equal(0)
            inner.append(s if isinstance(s, Let) else If(alone, (s,)))
        return self._launch(block, self.kept, warp, warps, thread, tuple(inner))

    def _met(self, before: Left, row: Expr, warp: Var, warps: int, thread: Var) -> list[Stmt]:
        """Binds the results of reductions in every thread of a block, from what blocks left."""
        inner: list[Stmt] = []
        for s, held in zip(before.reduces, before.scratch, strict=True):
            reduction = ThreadReduction([r.dtype for r in s.results], s.monoid)

            def left(number: Expr, lane: Expr, held: Sequence[Buffer] = held) -> Components:
                return tuple(Load(b, ((row * self.blocks + number) * KEEP + lane,)) for b in held)

            inner += self._found(reduction, s.results, left, self.blocks, warp, warps, thread)
        return inner
