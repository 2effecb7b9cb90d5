"""One row: its lanes in a documented or a free order, and the trees that fold lanes to one."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.contracts.reduction.order import Order
from benchmarks.contracts.reduction.writer import Writer, trailing_ones, tree


def pair(w: Writer, a: str, b: str, lanes: int, kind: str) -> str:
    """One level of the lane tree on two vectors, each holding width/lanes values of `lanes`."""
    left: list[int] = []
    right: list[int] = []
    for group in range(0, 2 * w.width, lanes):
        if kind == "halves":
            left += range(group, group + lanes // 2)
            right += range(group + lanes // 2, group + lanes)
        else:
            left += range(group, group + lanes, 2)
            right += range(group + 1, group + lanes, 2)
    return w.binary("fadd", w.shuffle(a, b, left), w.shuffle(a, b, right))


def fold_pieces(w: Writer, pieces: list[str | None], keep: int, kind: str) -> list[str | None]:
    """The lane tree over whole vectors, until `keep` vectors are left."""
    while len(pieces) > keep:
        half = len(pieces) // 2
        if kind == "halves":
            pieces = [w.add(a, b) for a, b in zip(pieces[:half], pieces[half:], strict=True)]
        else:
            full = [p or w.splat(-0.0) for p in pieces]
            # a vector of 2 * width lanes folds to one of width: the same shuffle as for two rows
            pieces = [pair(w, full[2 * i], full[2 * i + 1], w.width, kind) for i in range(half)]
    return pieces


def finish(w: Writer, v: str, lanes: int, kind: str) -> str:
    """The lane tree of one vector down to one lane, lane 0; the other lanes hold anything."""
    while lanes > 1:
        if kind == "halves":
            moved = [(i + lanes // 2) % w.width for i in range(w.width)]
            v = w.binary("fadd", v, w.shuffle(v, "poison", moved))
        else:
            v = pair(w, v, v, w.width, kind)
        lanes //= 2
    return v


def merge_rows(w: Writer, rows: list[Callable[[], str]], kind: str) -> str:
    """Lane sums of width rows in one vector, in row order: two shuffles and an add per pair."""

    def merged(first: int, size: int) -> str:
        if size == 1:
            return rows[first]()
        a, b = merged(first, size // 2), merged(first + size // 2, size // 2)
        return pair(w, a, b, 2 * w.width // size, kind)

    return merged(0, w.width)


Element = Callable[[Writer, "str | int", int], str]


def plain(base: str) -> Element:
    """An element function that reads the row at `base`."""
    return lambda w, offset, present: w.load(w.at(base, offset), present)


def row_lanes(w: Writer, n: int, order: Order, element: Element, *, group: int) -> list[str | None]:
    """The chunk tree over one row of n elements: `keep` lanes as vectors (one if keep < width).

    `group` chunks are folded in registers; groups meet on a stack in L1 by a binary counter.
    """
    pieces = order.lanes // w.width
    kept = max(1, order.keep // w.width)
    # Sweep every lane of a chunk before the next chunk. Half the lanes at a time, or the folds
    # written out so that LLVM reorders the loads, costs up to 3x when the data is in memory.

    def chunk(base: str | int, size: int) -> list[str | None]:
        # A partial chunk loops too: written out, two passes over one row share their loads, and
        # LLVM spills the row.
        looping = size // order.lanes if size >= 2 * order.lanes else 0
        acc = looped(base, looping) if looping else [None] * pieces
        folded = straight(base, size, looping * order.lanes, acc)
        if order.keep < order.lanes:
            folded = fold_pieces(w, folded, kept, order.tree)
        if order.keep < w.width:
            assert folded[0] is not None
            folded = [finish(w, folded[0], w.width, order.tree)]
        return folded

    def straight(base: str | int, size: int, done: int, acc: list[str | None]) -> list[str | None]:
        for fold in range(done, size, order.lanes):
            for p in range(pieces):
                start = fold + p * w.width
                if start < size:
                    acc[p] = w.add(acc[p], element(w, w.sum(base, start), size - start))
        return acc

    def looped(base: str | int, folds: int) -> list[str | None]:
        slots = [w.alloca(w.vector) for _ in range(pieces)]
        for slot in slots:
            w.store(w.splat(-0.0), slot)
        with w.loop(0, folds * order.lanes, order.lanes) as j:
            for p, slot in enumerate(slots):
                value = element(w, w.sum(w.sum(base, j), p * w.width), w.width)
                w.store(w.binary("fadd", w.load(slot), value), slot)
        return [w.load(slot) for slot in slots]

    sizes = [order.chunk] * (n // order.chunk) + ([n % order.chunk] if n % order.chunk else [])
    whole = n // (group * order.chunk)
    rest = sizes[whole * group :]

    def chunks(start: str | int, sizes: list[int]) -> list[str | None]:
        return tree(w, [chunk(w.sum(start, i * order.chunk), s) for i, s in enumerate(sizes)])

    if whole <= 1:
        return chunks(0, sizes)
    nodes = whole + bool(rest)
    stack = w.alloca(w.vector, pieces * nodes.bit_length())

    def push(index: str | int, v: list[str | None]) -> None:
        """Carry `v` up the binary counter; the slot is the number of trailing ones of index."""
        slots = [w.alloca(w.vector) for _ in v]
        for slot, part in zip(slots, v, strict=True):
            w.store(part or w.splat(-0.0), slot)
        ones = trailing_ones(w, index)
        with w.loop(0, ones) as level:
            for p, slot in enumerate(slots):
                held = w.load(w.at(stack, w.sum(w.mul(level, pieces), p), w.vector))
                w.store(w.binary("fadd", held, w.load(slot)), slot)
        for p, slot in enumerate(slots):
            w.store(w.load(slot), w.at(stack, w.sum(w.mul(ones, pieces), p), w.vector))

    with w.loop(0, whole) as i:
        base = w.mul(i, group * order.chunk)
        push(i, chunks(base, [order.chunk] * group))
    if rest:
        push(whole, chunks(whole * group * order.chunk, rest))
    result: list[str | None] = [None] * (pieces if order.keep == order.lanes else kept)
    for level in range(nodes.bit_length()):
        if nodes >> level & 1:
            held = [w.load(w.at(stack, level * pieces + p, w.vector)) for p in range(len(result))]
            result = [w.add(h, r) for h, r in zip(held, result, strict=True)]
    return result


def free_lanes(w: Writer, n: int, element: Element, accumulators: int) -> list[str | None]:
    """The unconstrained schedule: `accumulators` vectors, each one running sum."""
    step = accumulators * w.width
    whole = n // step * step
    if whole <= 4 * step:
        acc: list[str | None] = [None] * accumulators
        whole = 0
    else:
        slots = [w.alloca(w.vector) for _ in range(accumulators)]
        for slot in slots:
            w.store(w.splat(-0.0), slot)
        with w.loop(0, whole, step) as i:
            for a, slot in enumerate(slots):
                value = element(w, w.sum(i, a * w.width), w.width)
                w.store(w.binary("fadd", w.load(slot), value), slot)
        acc = [w.load(slot) for slot in slots]
    for start in range(whole, n, w.width):
        a = start // w.width % accumulators
        acc[a] = w.add(acc[a], element(w, start, n - start))
    return acc


def lane_sums(
    w: Writer, n: int, order: Order | None, element: Element, *, group: int
) -> tuple[str, int, str]:
    """(vector, lanes still to be summed, tree) of one row; order None is free."""
    if order is None:
        acc = fold_pieces(w, free_lanes(w, n, element, group), 1, "halves")
        assert acc[0] is not None
        return acc[0], w.width, "halves"
    parts = row_lanes(w, n, order, element, group=group)
    parts = fold_pieces(w, parts, 1, order.tree)
    assert parts[0] is not None
    return parts[0], min(order.keep, w.width), order.tree
