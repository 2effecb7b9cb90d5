"""Vectors of neighbouring columns: their slots in memory, their folds and their stack of chunks."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.contracts.reduction.writer import Writer, trailing_ones

Vectors = list["str | None"]
Read = Callable[["str | int"], Vectors]


def add_vectors(w: Writer, a: Vectors | None, b: Vectors | None) -> Vectors | None:
    """a + b vector by vector, where None is the identity."""
    if a is None or b is None:
        return b if a is None else a
    return [w.add(p, q) for p, q in zip(a, b, strict=True)]


class Slots:
    """`count` tiles of vectors in memory, L1 by intent; one slot is a named register instead."""

    def __init__(self, w: Writer, vectors: int, count: int = 1) -> None:
        self.w, self.vectors = w, vectors
        self.bases = (
            [w.alloca(w.vector) for _ in range(vectors)]
            if count == 1
            else [w.alloca(w.vector, vectors * count)]
        )

    def place(self, index: str | int, t: int) -> str:
        if len(self.bases) == self.vectors and index == 0:
            return self.bases[t]
        offset = self.w.sum(self.w.mul(index, self.vectors), t)
        return self.w.at(self.bases[0], offset, self.w.vector)

    def get(self, index: str | int = 0) -> Vectors:
        return [self.w.load(self.place(index, t)) for t in range(self.vectors)]

    def put(self, value: Vectors | None, index: str | int = 0) -> None:
        for t in range(self.vectors):
            part = value[t] if value else self.w.splat(-0.0)
            assert part is not None
            self.w.store(part, self.place(index, t))


def halves_of(w: Writer, values: list[Vectors | None]) -> Vectors | None:
    """The tree of halves over a power of two of values."""
    while len(values) > 1:
        half = len(values) // 2
        values = [add_vectors(w, values[i], values[i + half]) for i in range(half)]
    return values[0]


def left_fold(w: Writer, read: Read, base: str | int, count: int, stride: int) -> Vectors | None:
    """The left fold of `count` rows, `stride` apart."""
    total: Vectors | None = None
    for j in range(count):
        total = add_vectors(w, total, read(w.sum(base, j * stride)))
    return total


SUBTREE = 8
"""Lanes of the chunk summed in registers: l, l + 16, ..., l + 112."""


def chunk_stack(
    w: Writer, stack: Slots, index: str | int, value: Vectors, lane: str | int, lanes: int
) -> None:
    """Carry one lane's chunk sum up the binary counter; stack slots are [level][lane]."""
    carried = Slots(w, len(value))
    carried.put(value)
    ones = trailing_ones(w, index)
    with w.loop(0, ones) as level:
        held = stack.get(w.sum(w.mul(level, lanes), lane))
        carried.put(add_vectors(w, held, carried.get()))
    stack.put(carried.get(), w.sum(w.mul(ones, lanes), lane))


def unstack(w: Writer, stack: Slots, nodes: int, lane: str | int, lanes: int) -> Vectors:
    """One lane's total over `nodes` chunks, from the stack."""
    total: Vectors | None = None
    for level in range(nodes.bit_length()):
        if nodes >> level & 1:
            total = add_vectors(w, stack.get(w.sum(lane, level * lanes)), total)
    assert total is not None
    return total


def each_tile(
    w: Writer, columns: int, tile: int, one: Callable[[str | int, int, int], None]
) -> None:
    """`one(base, vectors, present)` for each tile of `tile` vectors; the last has what is left,
    with `present` lanes in its last vector."""
    step = tile * w.width
    whole = columns // step * step
    if whole:
        with w.loop(0, whole, step) as base:
            one(base, tile, w.width)
    if left := columns - whole:
        one(whole, -(-left // w.width), (left - 1) % w.width + 1)
