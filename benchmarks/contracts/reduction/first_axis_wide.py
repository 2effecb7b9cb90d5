"""Kernels that sum along the first axis with the loop over a wide tile of columns innermost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.contracts.reduction.columns import (
    SUBTREE,
    Read,
    Slots,
    Vectors,
    add_vectors,
    each_tile,
    halves_of,
    left_fold,
)
from benchmarks.contracts.reduction.order import Order
from benchmarks.contracts.reduction.writer import Writer, trailing_ones, tree


def sum_first_wide(
    w: Writer, rows: int, columns: int, stride: int, tile: int, order: Order | None, at_once: int
) -> str:
    """Text of: out[c] = sum x[:, c], with the loop over a wide tile of columns innermost.

    Each inner loop reads `at_once` * 8 rows as forward streams of a whole tile, which is what
    memory and its prefetchers want. tile counts vectors. order None is free: 8 rows at a time are
    added to running sums in L1.
    """

    def one(base: str | int, vectors: int, last: int) -> None:
        step = at_once if order is None else 2

        def across(write: Callable[[str | int, int], None]) -> None:
            """`write(vector, present)` for each vector of the tile."""
            clean = vectors if last == w.width else vectors - 1
            with w.loop(0, clean // step * step, step) as v:
                for u in range(step):
                    write(w.sum(v, u), w.width)
            for v in range(clean // step * step, vectors):
                write(v, w.width if v < clean else last)

        def read_at(vector: str | int, present: int) -> Read:
            column = w.sum(base, w.mul(vector, w.width))

            def read(row: str | int) -> Vectors:
                return [w.load(w.at("%x", w.sum(w.mul(row, stride), column)), present)]

            return read

        def out(vector: str | int, value: Vectors | None, present: int) -> None:
            assert value is not None and value[0] is not None
            column = w.sum(base, w.mul(vector, w.width))
            w.store(value[0], w.at("%out", column), present)

        if order is None:
            free_rows(w, rows, vectors, across, read_at, out)
        elif order.keep < order.lanes:
            wide_kept(w, rows, vectors, across, read_at, out, order, at_once)
        else:
            wide_chunks(w, rows, vectors, across, read_at, out, order, at_once)

    each_tile(w, columns, tile, one)
    return w.text()


Across = Callable[[Callable[["str | int", int], None]], None]
ReadAt = Callable[["str | int", int], Read]
Out = Callable[["str | int", "Vectors | None", int], None]


def free_rows(
    w: Writer, rows: int, vectors: int, across: Across, read_at: ReadAt, out: Out
) -> None:
    """Free: eight rows at a time, summed in registers and added to a running sum in L1."""
    held = Slots(w, 1, max(2, vectors))
    first = rows % 8 or min(8, rows)

    def start(v: str | int, present: int) -> None:
        held.put(left_fold(w, read_at(v, present), 0, first, 1), v)

    across(start)
    with w.loop(first, rows, 8) as r:

        def more(v: str | int, present: int) -> None:
            read = read_at(v, present)
            rows8 = tree(w, [read(w.sum(r, u)) for u in range(8)])
            held.put(add_vectors(w, held.get(v), rows8), v)

        across(more)
    across(lambda v, present: out(v, held.get(v), present))


def wide_chunks(
    w: Writer,
    rows: int,
    vectors: int,
    across: Across,
    read_at: ReadAt,
    out: Out,
    order: Order,
    at_once: int,
) -> None:
    """Lanes l, l + 16, ... of every chunk for l = 0, 1, ...: a stack [level][8][tile] for each l.

    The eight lanes then meet in registers; 16 such sums per column remain until the end.
    """
    assert order.tree == "halves" and order.keep == order.lanes
    near, lanes = order.lanes // SUBTREE, order.lanes
    whole, rest = divmod(rows, order.chunk)
    nodes = whole + bool(rest)
    full, part = divmod(rest, lanes)
    cut = part % near
    held = Slots(w, 1, near * max(2, vectors))
    stack = Slots(w, 1, SUBTREE * vectors * max(2, nodes.bit_length()))

    def place(level: str | int, i: int, v: str | int) -> str | int:
        return w.sum(w.mul(level, SUBTREE * vectors), w.sum(i * vectors, v))

    def chunk(node: str | int, base: str | int, counts: list[int]) -> None:
        first = w.sum(w.mul(node, order.chunk), base)
        top = trailing_ones(w, node)
        for group in range(0, SUBTREE, at_once):

            def fold(v: str | int, present: int, group: int = group) -> None:
                for i in range(group, group + at_once):
                    read = read_at(v, present)
                    value = left_fold(w, read, w.sum(first, i * near), counts[i], lanes)
                    stack.put(value, place(top, i, v))

            across(fold)
        with w.loop(0, top) as level:

            def carry(v: str | int, _: int) -> None:
                for i in range(SUBTREE):
                    below = stack.get(place(level, i, v))
                    at = place(top, i, v)
                    stack.put(add_vectors(w, below, stack.get(at)), at)

            across(carry)

    for start, stop in ((0, cut), (cut, near)):
        if start == stop:
            continue
        counts = [full + (start + near * i < part) for i in range(SUBTREE)]
        with w.loop(start, stop) as base:
            if whole:
                with w.loop(0, whole) as node:
                    chunk(node, base, [order.folds] * SUBTREE)
            if rest:
                chunk(whole, base, counts)

            def meet(v: str | int, _: int, base: str = base) -> None:
                values: list[Vectors | None] = []
                for i in range(SUBTREE):
                    total: Vectors | None = None
                    for level in range(nodes.bit_length()):
                        if nodes >> level & 1:
                            total = add_vectors(w, stack.get(place(level, i, v)), total)
                    values.append(total)
                held.put(halves_of(w, values), w.sum(w.mul(base, vectors), v))

            across(meet)

    def finish_columns(v: str | int, present: int) -> None:
        sums = [held.get(w.sum(i * vectors, v)) for i in range(near)]
        out(v, halves_of(w, sums), present)

    across(finish_columns)


def wide_kept(
    w: Writer,
    rows: int,
    vectors: int,
    across: Across,
    read_at: ReadAt,
    out: Out,
    order: Order,
    at_once: int,
) -> None:
    """For "keep16": chunk by chunk, `at_once` * 8 forward streams of a whole tile of columns.

    at_once is 1, 2 or 8 lanes (8 for at most 128 rows: a lane is then one row). The 16 kept lanes
    go to the stack [level][16][tile].
    """
    assert order.keep * SUBTREE == order.lanes and order.tree == "halves"
    keep, lanes = order.keep, order.lanes
    whole, rest = divmod(rows, order.chunk)
    nodes = whole + bool(rest)
    stack = Slots(w, 1, keep * vectors * max(2, nodes.bit_length()))
    passes = SUBTREE // at_once
    parts = Slots(w, 1, passes * max(2, vectors))

    def chunk(node: str | int, size: int) -> None:
        full, part = divmod(size, lanes)
        first = w.mul(node, order.chunk)
        ones = trailing_ones(w, node)
        top = w.mul(ones, keep * vectors)
        cut = part % keep
        for start, stop in ((0, cut), (cut, keep)):
            if start == stop:
                continue
            with w.loop(start, stop) as b:
                row = w.sum(first, b)
                line = w.sum(top, w.mul(b, vectors))
                for i in range(passes):

                    def fold(
                        v: str | int,
                        present: int,
                        i: int = i,
                        row: str | int = row,
                        line: str | int = line,
                        start: int = start,
                    ) -> None:
                        two: list[Vectors | None] = [
                            left_fold(
                                w,
                                read_at(v, present),
                                w.sum(row, keep * lane),
                                full + (start + keep * lane < part),
                                lanes,
                            )
                            for lane in range(i, SUBTREE, passes)
                        ]
                        value = halves_of(w, two)
                        if i < passes - 1:
                            parts.put(value, w.sum(v, i * vectors))
                            return
                        sums: list[Vectors | None] = [
                            parts.get(w.sum(v, k * vectors)) for k in range(passes - 1)
                        ]
                        stack.put(halves_of(w, [*sums, value]), w.sum(line, v))

                    across(fold)
        with w.loop(0, ones) as level, w.loop(0, keep) as b:
            line = w.mul(b, vectors)
            below, above = w.sum(w.mul(level, keep * vectors), line), w.sum(top, line)

            def carry(v: str | int, _: int, below: Any = below, above: Any = above) -> None:
                held, now = stack.get(w.sum(below, v)), stack.get(w.sum(above, v))
                stack.put(add_vectors(w, held, now), w.sum(above, v))

            across(carry)

    if whole:
        with w.loop(0, whole) as node:
            chunk(node, order.chunk)
    if rest:
        chunk(whole, rest)

    def finish_columns(v: str | int, present: int) -> None:
        sums: list[Vectors | None] = []
        for b in range(keep):
            total: Vectors | None = None
            for level in range(nodes.bit_length()):
                if nodes >> level & 1:
                    at = w.sum(v, (level * keep + b) * vectors)
                    total = add_vectors(w, stack.get(at), total)
            sums.append(total)
        out(v, halves_of(w, sums), present)

    across(finish_columns)
