"""Lines of Fourier transforms on blocks of threads: a butterfly a thread, work in shared memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.frozen import replace
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Var, apply, const, minimum
from pyc.ir.fourier import COLUMNS
from pyc.ir.loops import Alloc, Barrier, Body, Buffer, For, If, Kind, Let, Space, Stmt
from pyc.ir.op import Complex
from pyc.ir.target import Target
from pyc.kernels.fourier_lines import (
    Group,
    Pass,
    Place,
    Where,
    behind,
    butterfly_of,
    once,
    product_of,
    sum_of,
)
from pyc.kernels.sequence import Call

BLOCK_ELEMENTS = 2048
"""Elements of short lines that a block of threads shares."""
BLOCK_BYTES = 1 << 16
"""Of the work buffers of a block at most, where fewer lines at once do."""
THREADS = 256
"""Of a block at most."""


def _banks(dtype: DType) -> int:
    """Numbers that lie in all banks of shared memory."""
    return 128 // dtype.itemsize


def _padded(start: Callable[[Expr], Expr], apart: int, banks: int) -> Where:
    """Places with a gap after each row of banks, so that numbers eight or 64 apart, which threads
    side by side store, are in different banks."""
    shift = banks.bit_length() - 1
    first = once(lambda x: x + (x >> shift))

    def place(at: Expr, distance: int) -> Expr:
        further = distance * apart
        if further % banks == 0:
            return behind(first(start(at)), further + further // banks)
        return first(behind(start(at), further))

    return place


_Store = Callable[[Expr, int, Complex], Body]


def _within(condition: Expr, store: _Store) -> _Store:
    """The statement, where a condition holds."""
    return lambda at, distance, x: (If(condition, store(at, distance, x)),)


class _Block(Group):
    """A group that a block of threads does: neighbouring columns, or whole lines."""

    def launch(self) -> Call:
        """The launch of all groups."""
        work, n = self.work, self.work.n
        rows = work.columns == 1
        extent = work.outer if rows else work.columns
        groups = -(-extent // self.count)
        total = groups if rows else work.outer * groups
        threads = min(-(-n * self.count // self.stages[0].radix // 32) * 32, THREADS)
        block, thread = Var("block"), Var("thread")
        outer, first = Var("outer"), Var("first")
        buffers = self.buffers(Space.SHARED, len(self.stages) - 1, _banks(self.dtype))
        body: list[Stmt] = [
            Let(outer, const(0) if rows else apply("quotient", block, const(groups))),
            Let(first, (block - outer * groups) * self.count),
        ]
        for number in range(len(self.stages)):
            if number:
                body.append(Barrier("block"))
            body += self._stage(number, buffers, (outer, first), thread, threads, extent)
        inner: Body = (For(thread, max(threads, 32), Kind.THREAD, tuple(body)),)
        for buffer in buffers:
            inner = (Alloc(buffer, inner),)
        return self.call("fft_lines", (For(block, total, Kind.GRID, inner),))

    def _stage(
        self,
        number: int,
        buffers: Sequence[Buffer],
        at: tuple[Expr, Expr],
        thread: Expr,
        threads: int,
        extent: int,
    ) -> Body:
        """A stage, its butterflies spread over the threads."""
        stage, table = self.stages[number], self.tables[number]
        (outer, first), n, rows = at, self.work.n, self.work.columns == 1
        each = n // stage.radix
        total = each * self.count
        item, lane, p, q, step = Var("item"), Var("lane"), Var("p"), Var("q"), Var("step")
        mine = Var("butterfly")
        ragged = extent % self.count != 0
        column = minimum(first + lane, extent - 1) - first if ragged else lane
        line = Place(first + column, const(0), const(0)) if rows else Place(outer, first, column)

        memory = self.memory(line)
        if ragged:
            inside = _within(first + lane < extent, memory.store)
            memory = replace(memory, store=inside)
        start = once(lambda at: lane * n + at if rows else sum_of(product_of(at, self.count), lane))
        place = _padded(start, 1 if rows else self.count, _banks(self.dtype))
        lines = self.lines(buffers, place, memory)
        inner, size = (lane, self.count) if not rows else (mine, each)
        outside = mine if not rows else lane
        body: Body = (
            Let(outside, apply("quotient", item, const(size))),
            Let(inner, item - outside * size),
            Let(p, apply("quotient", mine, const(stage.s))),
            Let(q, mine - p * stage.s),
            *butterfly_of(stage, table, p, q, lines[number], lines[number + 1]),
        )
        steps = -(-total // threads)
        if total % threads or threads % 32:
            body = (If(item < total, body),)
        body = (Let(item, step * threads + thread), *body)
        return (For(step, steps, Kind.SERIAL, body),)


def on_blocks(work: Pass, target: Target) -> list[Call]:
    """The launches of a pass, on a target with blocks."""
    itemsize = work.dtype.itemsize
    if work.columns == 1:
        count = min(max(BLOCK_ELEMENTS // work.n, 1), work.outer)
    else:
        # With the places that are left free.
        count, line = COLUMNS, 4 * work.n * (itemsize + 1)
        while (count > 4 and line * count > BLOCK_BYTES) or line * count > target.shared_bytes:
            count //= 2
    return [_Block(work, 0, count).launch()]
