"""Kernels that sum along the last axis, and over a whole array."""

from __future__ import annotations

from benchmarks.contracts.reduction.lanes import (
    finish,
    free_lanes,
    lane_sums,
    merge_rows,
    plain,
    row_lanes,
)
from benchmarks.contracts.reduction.order import Order
from benchmarks.contracts.reduction.writer import Writer


def sum_last(w: Writer, n: int, order: Order | None, group: int) -> str:
    """Text of: out[r] = sum x[r, :] for r < count, rows of n. One vector of rows at a time."""

    def row(index: str | int) -> tuple[str, int, str]:
        base = w.at("%x", w.mul(index, n))
        return lane_sums(w, n, order, plain(base), group=group)

    if n == 1:
        with w.loop(0, "%count", w.width) as r:
            w.store(w.load(w.at("%x", r)), w.at("%out", r))
        return w.text()
    if n < w.width // 2:
        with w.loop(0, "%count", w.width) as r:
            w.store(tiny_rows(w, n, order, w.at("%x", w.mul(r, n))), w.at("%out", r))
        return w.text()

    blocks = w.let(f"and i64 %count, {-w.width}")
    if order is not None and order.keep < w.width:
        blocks = "0"  # the rows are already single lanes, nothing to merge
    with w.loop(0, blocks, w.width) as r:
        if n <= 8 * w.width:
            kind = "halves" if order is None else order.tree
            rows = [lambda i=i: row(w.sum(r, i))[0] for i in range(w.width)]
            merged = merge_rows(w, rows, kind)
        else:
            held = w.alloca(w.vector, w.width)
            with w.loop(0, w.width) as i:
                v, _, kind = row(w.sum(r, i))
                w.store(v, w.at(held, i, w.vector))
            rows = [lambda i=i: w.load(w.at(held, i, w.vector)) for i in range(w.width)]
            merged = merge_rows(w, rows, kind)
        w.store(merged, w.at("%out", r))
    with w.loop(blocks, "%count") as r:
        v = finish(w, *row(r))
        lane = w.let(f"extractelement {w.vector} {v}, i32 0")
        w.do(f"store {w.element} {lane}, ptr {w.at('%out', r)}")
    return w.text()


def tiny_rows(w: Writer, n: int, order: Order | None, base: str) -> str:
    """Sums of width rows of n < width/2 elements: n loads, then one shuffle chain per column."""
    loaded = [w.load(w.at(base, i * w.width)) for i in range(n)]
    columns: list[str | None] = []
    for k in range(n):
        v, have = loaded[0], 0
        for i in range(1, n):
            # lanes already gathered stay in place, lanes of vector i come from its own positions
            lanes = []
            for r in range(w.width):
                source, position = divmod(r * n + k, w.width)
                kept = r if have else position
                lanes.append(w.width + position if source == i else kept)
            v, have = w.shuffle(v, loaded[i], lanes), 1
        columns.append(v)
    if order is None:
        total = columns[0]
        for column in columns[1:]:
            total = w.add(total, column)
    else:
        size = 1 << (n - 1).bit_length()
        level = columns + [None] * (size - n)
        while len(level) > 1:
            half = len(level) // 2
            if order.tree == "halves":
                level = [w.add(level[i], level[i + half]) for i in range(half)]
            else:
                level = [w.add(level[2 * i], level[2 * i + 1]) for i in range(half)]
        total = level[0]
    assert total is not None
    return total


def sum_part(w: Writer, n: int, order: Order | None, group: int) -> str:
    """Text of: out[0..lanes) = the lane vector of x[0..n), for one aligned subtree."""
    if order is None:
        parts = free_lanes(w, n, plain("%x"), group)
    else:
        parts = row_lanes(w, n, order, plain("%x"), group=group)
    for p, part in enumerate(parts):
        assert part is not None
        w.store(part, w.at("%out", p * w.width))
    return w.text()
