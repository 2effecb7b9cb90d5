"""Row programs for blocks of threads: a warp per chunk of the documented order (`row_chunks`).

Takes the regions of a row program (reductions, loops over the row, stores of one element) whose
rows are contiguous, and returns grid, warp and thread loops: a block for each row, or for several
short ones; of few long rows, blocks that share a row and a launch that joins what they give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.ir.expr import Expr, Load, Var, apply, const
from pyc.ir.loops import (
    Alloc,
    Barrier,
    Body,
    Buffer,
    For,
    If,
    Kind,
    Let,
    Stmt,
    Store,
)
from pyc.ir.order import KEEP
from pyc.ir.visit import renamed
from pyc.passes.reduction_blocks import Components, ThreadReduction, power_above
from pyc.passes.row_chunks import WARP, WARPS, RowChunks, surrounded
from pyc.passes.row_regions import Region

SPLIT_WARPS = 8
"""Warps of a block of a long reduction."""
SPLIT_CHUNKS = 16
"""Chunks of one of these warps at most."""
SPLIT_BLOCKS = 2048
"""Blocks of a long reduction from which a warp takes more chunks."""
FEW_ROWS = 264
"""Long rows fewer than this are cut into blocks."""


class RowBlocks(RowChunks):
    """The loops of one row program."""

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
        whole = surrounded(self.registers, whole)
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

    def _store(self, region: Region, first: Expr, thread: Var) -> list[Stmt]:
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
        self, region: Region, reduction: ThreadReduction, first: Expr, thread: Var
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
