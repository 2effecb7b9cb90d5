"""Kernels that sum along the first axis, a tile of columns in registers; a function a loop nest."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.contracts.reduction.columns import (
    SUBTREE,
    Read,
    Slots,
    Vectors,
    add_vectors,
    chunk_stack,
    each_tile,
    halves_of,
    left_fold,
    unstack,
)
from benchmarks.contracts.reduction.order import Order
from benchmarks.contracts.reduction.writer import Writer, trailing_ones, tree


def sum_first(
    w: Writer, rows: int, columns: int, stride: int, nest: str, tile: int, order: Order | None
) -> str:
    """Text of: out[c] = sum x[:, c] for c < columns, rows of `stride` elements, by one loop nest.

    Columns go in tiles of `tile` vectors; the last tile has what is left.
    """

    def one(base: str | int, vectors: int, last: int) -> None:
        present = [w.width] * (vectors - 1) + [last]
        write = FIRST_AXIS_NESTS[nest]

        def read(row: str | int) -> list[str | None]:
            at = w.sum(w.mul(row, stride), base)
            return [w.load(w.at("%x", w.sum(at, t * w.width)), p) for t, p in enumerate(present)]

        total = write(w, rows, vectors, read, order)
        for t, p in enumerate(present):
            value = total[t]
            assert value is not None
            w.store(value, w.at("%out", w.sum(base, t * w.width)), p)

    each_tile(w, columns, tile, one)
    return w.text()


def free_sweep(w: Writer, rows: int, vectors: int, read: Read, _: Order | None) -> Vectors:
    """Free: running sums of a tile in registers, enough rows at a time to hide the add latency."""
    unroll = min(rows, max(1, 8 // vectors))
    slots = [Slots(w, vectors) for _ in range(unroll)]
    for slot in slots:
        slot.put(None)
    whole = rows // unroll * unroll
    with w.loop(0, whole, unroll) as r:
        for u, slot in enumerate(slots):
            slot.put(add_vectors(w, slot.get(), read(w.sum(r, u))))
    total: Vectors | None = None
    for slot in slots:
        total = add_vectors(w, total, slot.get())
    for r in range(whole, rows):
        total = add_vectors(w, total, read(r))
    assert total is not None
    return total


def few_rows(w: Writer, rows: int, vectors: int, read: Read, order: Order | None) -> Vectors:
    """One chunk: l < 16 in natural order, the lanes l + 16 i as a static tree, then 16 sums."""
    assert order is not None and order.tree == "halves" and rows <= order.chunk
    near = order.lanes // SUBTREE
    full, part = divmod(rows, order.lanes)

    def lane(base: str | int, lane_low: int, i: int) -> Vectors | None:
        """Lane base + near * i, where every base of this loop has the same row count."""
        count = full + (lane_low + near * i < part)
        return left_fold(w, read, w.sum(base, near * i), count, order.lanes)

    if rows <= near:
        values: list[Vectors | None] = [read(r) if r < rows else None for r in range(near)]
        total = halves_of(w, values)
        assert total is not None
        return total
    held = Slots(w, vectors, near)
    cut = part % near  # below the cut a lane has one row more in the subtree's boundary lane
    for start, stop in ((0, cut), (cut, near)):
        if start == stop:
            continue
        with w.loop(start, stop) as base:
            held.put(halves_of(w, [lane(base, start, i) for i in range(SUBTREE)]), base)
    total = halves_of(w, [held.get(i) for i in range(near)])
    assert total is not None
    return total


def close_lanes(w: Writer, order: Order, vectors: int, lane: Read) -> Vectors:
    """The tree of halves over all lanes, eight of them at a time in registers."""
    near = order.lanes // SUBTREE
    held = Slots(w, vectors, near)
    with w.loop(0, near) as base:
        held.put(halves_of(w, [lane(w.sum(base, near * i)) for i in range(SUBTREE)]), base)
    total = halves_of(w, [held.get(i) for i in range(near)])
    assert total is not None
    return total


RUN = 4  # lanes whose left folds advance together


def fold_lanes(
    w: Writer,
    read: Read,
    base: str | int,
    start: int,
    stop: int,
    count: int,
    lanes: int,
    into: Slots,
    offset: str | int,
) -> None:
    """Left folds of `count` rows for each lane from start to stop, into slots offset + lane.

    Row by row over RUN neighbouring lanes, so memory sees runs of RUN rows; 4, 8 and 16 measure
    the same.
    """
    most = start + (stop - start) // RUN * RUN
    with w.loop(start, most, RUN) as lane:
        run: list[Vectors | None] = [None] * RUN
        for j in range(count):
            for u in range(RUN):
                row = read(w.sum(base, w.sum(lane, u + j * lanes)))
                run[u] = add_vectors(w, run[u], row)
        for u, value in enumerate(run):
            into.put(value, w.sum(offset, w.sum(lane, u)))
    with w.loop(most, stop) as lane:
        value = left_fold(w, read, w.sum(base, lane), count, lanes)
        into.put(value, w.sum(offset, lane))


def lane_sweep(w: Writer, rows: int, vectors: int, read: Read, order: Order | None) -> Vectors:
    """Chunk by chunk, lanes in natural order, for rows of a few vectors.

    A lane's left fold goes straight to the free level of the stack [level][128][tile]; the levels
    below are added to it in whole sweeps, so no lane has a loop or a branch of its own.
    """
    assert order is not None
    lanes = order.lanes
    whole, rest = divmod(rows, order.chunk)
    nodes = whole + bool(rest)
    stack = Slots(w, vectors, lanes * max(2, nodes.bit_length()))

    def chunk(node: str | int, size: int) -> None:
        full, part = divmod(size, lanes)
        base = w.mul(node, order.chunk)
        top = w.mul(trailing_ones(w, node), lanes)

        for start, stop, count in ((0, part, full + 1), (part, lanes, full)):
            fold_lanes(w, read, base, start, stop, count, lanes, stack, top)
        with w.loop(0, trailing_ones(w, node)) as level:
            below = w.mul(level, lanes)

            with w.loop(0, lanes) as lane:
                at = w.sum(top, lane)
                stack.put(add_vectors(w, stack.get(w.sum(below, lane)), stack.get(at)), at)

    if whole:
        with w.loop(0, whole) as node:
            chunk(node, order.chunk)
    if rest:
        chunk(whole, rest)
    return close_lanes(w, order, vectors, lambda lane: unstack(w, stack, nodes, lane, lanes))


def kept_sweep(w: Writer, rows: int, vectors: int, read: Read, order: Order | None) -> Vectors:
    """For "keep16" and rows of a few vectors: a chunk's 128 folds to L1, then its 16 kept lanes.

    Only those go to the stack [level][16][tile].
    """
    assert order is not None and order.keep * SUBTREE == order.lanes and order.tree == "halves"
    keep, lanes = order.keep, order.lanes
    whole, rest = divmod(rows, order.chunk)
    nodes = whole + bool(rest)
    stack = Slots(w, vectors, keep * max(2, nodes.bit_length()))
    folds = Slots(w, vectors, lanes)

    def chunk(node: str | int, size: int) -> None:
        full, part = divmod(size, lanes)
        first = w.mul(node, order.chunk)
        top = w.mul(trailing_ones(w, node), keep)
        for start, stop, count in ((0, part, full + 1), (part, lanes, full)):
            fold_lanes(w, read, first, start, stop, count, lanes, folds, 0)
        with w.loop(0, keep) as b:
            values: list[Vectors | None] = [folds.get(w.sum(b, i * keep)) for i in range(SUBTREE)]
            stack.put(halves_of(w, values), w.sum(top, b))
        with w.loop(0, trailing_ones(w, node)) as level, w.loop(0, keep) as b:
            held = stack.get(w.sum(w.mul(level, keep), b))
            stack.put(add_vectors(w, held, stack.get(w.sum(top, b))), w.sum(top, b))

    if whole:
        with w.loop(0, whole) as node:
            chunk(node, order.chunk)
    if rest:
        chunk(whole, rest)
    total = halves_of(w, [unstack(w, stack, nodes, b, keep) for b in range(keep)])
    assert total is not None
    return total


def bit_reversed(w: Writer, rows: int, vectors: int, read: Read, order: Order | None) -> Vectors:
    """Lanes outermost in bit-reversed order, chunks inside; both trees on stacks of one tile."""
    assert order is not None and order.tree == "halves"
    lanes, bits = order.lanes, order.lanes.bit_length() - 1
    whole, rest = divmod(rows, order.chunk)
    nodes = whole + bool(rest)
    chunks = Slots(w, vectors, max(2, nodes.bit_length()))
    outer = Slots(w, vectors, bits + 2)
    full, part = divmod(rest, lanes)
    with w.loop(0, lanes) as i:
        turned = w.let(f"call i64 @llvm.bitreverse.i64(i64 {i})")
        lane = w.let(f"lshr i64 {turned}, {64 - bits}")
        if whole:
            with w.loop(0, whole) as node:
                base = w.sum(w.mul(node, order.chunk), lane)
                folded = left_fold(w, read, base, order.folds, lanes)
                assert folded is not None
                chunk_stack(w, chunks, node, folded, 0, 1)
        if rest:
            base = w.sum(whole * order.chunk, lane)
            last = Slots(w, vectors)
            last.put(left_fold(w, read, base, full, lanes))
            extra = w.let(f"icmp slt i64 {lane}, {part}")
            with w.loop(0, w.let(f"zext i1 {extra} to i64")):
                last.put(add_vectors(w, last.get(), read(w.sum(base, full * lanes))))
            chunk_stack(w, chunks, whole, last.get(), 0, 1)
        chunk_stack(w, outer, i, unstack(w, chunks, nodes, 0, 1), 0, 1)
    return outer.get(bits)


def small_stack(w: Writer, rows: int, vectors: int, read: Read, order: Order | None) -> Vectors:
    """For "adjacent-keep1": lanes in natural order, lane and chunk trees on stacks of one tile."""
    assert order is not None and order.tree == "adjacent" and order.keep == 1
    lanes, bits = order.lanes, order.lanes.bit_length() - 1
    whole, rest = divmod(rows, order.chunk)
    nodes = whole + bool(rest)
    inner = Slots(w, vectors, bits + 2)
    chunks = Slots(w, vectors, max(2, nodes.bit_length()))

    def lane_at(base: str | int, size: int, low: int, step: int) -> Vectors:
        full, part = divmod(size, lanes)
        sums = [
            left_fold(w, read, w.sum(base, s), full + (low + s < part), lanes)
            or [w.splat(-0.0)] * vectors
            for s in range(step)
        ]
        return tree(w, sums)

    if whole:
        with w.loop(0, whole) as node:
            with w.loop(0, lanes // 4) as lane:
                base = w.sum(w.mul(node, order.chunk), w.mul(lane, 4))
                chunk_stack(w, inner, lane, lane_at(base, order.chunk, 0, 4), 0, 1)
            chunk_stack(w, chunks, node, inner.get(bits - 2), 0, 1)
    if rest:
        cut = rest % lanes
        for start, stop in ((0, cut), (cut, lanes)):
            with w.loop(start, stop) as lane:
                base = w.sum(lane, whole * order.chunk)
                chunk_stack(w, inner, lane, lane_at(base, rest, start, 1), 0, 1)
        chunk_stack(w, chunks, whole, inner.get(bits), 0, 1)
    return unstack(w, chunks, nodes, 0, 1)


FIRST_AXIS_NESTS: dict[str, Callable[..., Vectors]] = {
    "free": free_sweep,
    "bit-reversed": bit_reversed,
    "few-rows": few_rows,
    "lane-sweep": lane_sweep,
    "kept-sweep": kept_sweep,
    "small-stack": small_stack,
}
