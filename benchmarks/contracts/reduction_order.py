"""The cost of a documented reduction order against a free one, as a table of time ratios.

Takes nothing but this machine; writes LLVM IR text, compiles it with llvmlite, checks every
kernel against a NumPy model of its order, then times documented and free kernels in turns.

An order is five facts (`Order`). The sequence x[0..n) is cut into chunks of `chunk` elements.
Inside a chunk, lane l is the left fold of x[chunk * c + lanes * j + l] over j. The lane tree then
folds the chunk to `keep` lanes. Chunk vectors meet in the pairwise tree by chunk number (an odd
one is promoted unchanged), and the same lane tree finishes from `keep` lanes to one. Missing
elements are -0.0, the exact identity of float addition, so they may also be skipped.

Invariant: a documented kernel's bytes equal `model(x, order)` for each width and loop nest.
"""

import argparse
import ctypes
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as ll
import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Order:
    """One documented order; `tree` is "halves" (i += i + L/2) or "adjacent" (2i + (2i + 1))."""

    name: str
    lanes: int = 128
    chunk: int = 1024
    keep: int = 128
    tree: str = "halves"

    @property
    def folds(self) -> int:
        """Elements in each lane's left fold in a full chunk."""
        return self.chunk // self.lanes


DOCUMENTED = Order("documented")
ALTERNATIVES = (
    Order("chunk512", chunk=512),
    Order("chunk2048", chunk=2048),
    Order("chunk4096", chunk=4096),
    Order("lanes64", lanes=64, keep=64),
    Order("keep16", keep=16),
    Order("keep1", keep=1),
    Order("adjacent", tree="adjacent"),
    Order("adjacent-keep1", keep=1, tree="adjacent"),
)


def model(x: Array, order: Order) -> Array:
    """Sums over the last axis of `x` in the documented order, by plain NumPy.

    x: (rows, n) -> (rows,)
    """
    rows, n = x.shape
    chunks = max(1, -(-n // order.chunk))
    padded = np.full((rows, chunks * order.chunk), -0.0, x.dtype)
    padded[:, :n] = x
    cut = padded.reshape(rows, chunks, order.folds, order.lanes)
    v = cut[:, :, 0]
    for j in range(1, order.folds):
        v = v + cut[:, :, j]
    v = lane_tree_model(v, order.keep, order.tree)
    while v.shape[1] > 1:
        even = v.shape[1] // 2 * 2
        v = np.concatenate([v[:, 0:even:2] + v[:, 1:even:2], v[:, even:]], axis=1)
    return lane_tree_model(v[:, 0], 1, order.tree)[:, 0]


def lane_tree_model(v: Array, keep: int, tree: str) -> Array:
    """The lane tree over the last axis of `v` until `keep` lanes are left."""
    while (width := v.shape[-1]) > keep:
        if tree == "halves":
            v = v[..., : width // 2] + v[..., width // 2 :]
        else:
            v = v[..., 0::2] + v[..., 1::2]
    return v


# ---- a writer of LLVM text ---------------------------------------------------------------------

INTRINSICS = """
declare {v} @llvm.masked.load.{m}.p0(ptr, i32, <{w} x i1>, {v})
declare void @llvm.masked.store.{m}.p0({v}, ptr, i32, <{w} x i1>)
declare {v} @llvm.fma.{m}({v}, {v}, {v})
declare {v} @llvm.sqrt.{m}({v})
declare {v} @llvm.maximum.{m}({v}, {v})
declare {v} @llvm.roundeven.{m}({v})
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.bitreverse.i64(i64)
"""


class Writer:
    """The text of one function `void name(ptr x, ptr out, i64 count)`.

    Loop-carried values live in allocas; the O2 pipeline turns them into registers.
    """

    def __init__(self, dtype: str, bits: int) -> None:
        """dtype: "float32" or "float64"; bits: the vector width, 256 or 512."""
        self.dtype = dtype
        self.element = "float" if dtype == "float32" else "double"
        self.size = 4 if dtype == "float32" else 8
        self.bits = bits
        self.width = bits // 8 // self.size
        self.vector = f"<{self.width} x {self.element}>"
        self.mangled = f"v{self.width}f{8 * self.size}"
        self.head: list[str] = []
        self.body: list[str] = []
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def let(self, text: str) -> str:
        name = "%" + self.fresh()
        self.body.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.body.append("  " + text)

    def alloca(self, kind: str, count: int = 1) -> str:
        name = "%" + self.fresh()
        self.head.append(f"  {name} = alloca {kind}, i32 {count}, align 64")
        return name

    def splat(self, value: float) -> str:
        bits = np.float64(np.float32(value) if self.size == 4 else value).view(np.uint64)
        return f"splat ({self.element} 0x{int(bits):016X})"

    def at(self, base: str, offset: str | int, kind: str | None = None) -> str:
        if offset == 0:
            return base
        return self.let(f"getelementptr {kind or self.element}, ptr {base}, i64 {offset}")

    def mul(self, a: str | int, b: int) -> str | int:
        return a * b if isinstance(a, int) else self.let(f"mul i64 {a}, {b}")

    def sum(self, a: str | int, b: str | int) -> str | int:
        if a == 0:
            return b
        if b == 0:
            return a
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        return self.let(f"add i64 {a}, {b}")

    def mask(self, present: int) -> str:
        bits = ", ".join(f"i1 {int(i < present)}" for i in range(self.width))
        return f"<{self.width} x i1> <{bits}>"

    def load(self, pointer: str, present: int | None = None) -> str:
        """A vector at `pointer`; lanes from `present` on are -0.0 and are not read."""
        if present is None or present >= self.width:
            return self.let(f"load {self.vector}, ptr {pointer}, align {self.size}")
        return self.let(
            f"call {self.vector} @llvm.masked.load.{self.mangled}.p0(ptr {pointer}, i32 {self.size}"
            f", {self.mask(present)}, {self.vector} {self.splat(-0.0)})"
        )

    def store(self, value: str, pointer: str, present: int | None = None) -> None:
        if present is None or present >= self.width:
            self.do(f"store {self.vector} {value}, ptr {pointer}, align {self.size}")
            return
        self.do(
            f"call void @llvm.masked.store.{self.mangled}.p0({self.vector} {value}, ptr {pointer}"
            f", i32 {self.size}, {self.mask(present)})"
        )

    def binary(self, op: str, a: str, b: str) -> str:
        return self.let(f"{op} {self.vector} {a}, {b}")

    def add(self, a: str | None, b: str | None) -> str | None:
        """a + b, where None is the identity."""
        if a is None or b is None:
            return b if a is None else a
        return self.binary("fadd", a, b)

    def call(self, name: str, *args: str) -> str:
        actual = ", ".join(f"{self.vector} {a}" for a in args)
        return self.let(f"call {self.vector} @llvm.{name}.{self.mangled}({actual})")

    def shuffle(self, a: str, b: str, lanes: list[int]) -> str:
        chosen = ", ".join(f"i32 {i}" for i in lanes)
        return self.let(
            f"shufflevector {self.vector} {a}, {self.vector} {b}, <{len(lanes)} x i32> <{chosen}>"
        )

    def broadcast(self, v: str) -> str:
        return self.shuffle(v, "poison", [0] * self.width)

    @contextmanager
    def loop(self, start: str | int, stop: str | int, step: int = 1) -> Iterator[str]:
        slot = self.alloca("i64")
        test, inside, after = self.fresh(), self.fresh(), self.fresh()
        self.do(f"store i64 {start}, ptr {slot}")
        self.do(f"br label %{test}")
        self.body.append(f"{test}:")
        i = self.let(f"load i64, ptr {slot}")
        more = self.let(f"icmp slt i64 {i}, {stop}")
        self.do(f"br i1 {more}, label %{inside}, label %{after}")
        self.body.append(f"{inside}:")
        yield i
        self.do(f"store i64 {self.let(f'add i64 {i}, {step}')}, ptr {slot}")
        self.do(f"br label %{test}")
        self.body.append(f"{after}:")

    def text(self) -> str:
        width = f'"prefer-vector-width"="{self.bits}" "min-legal-vector-width"="{self.bits}"'
        lines = [
            f"define void @k(ptr noalias %x, ptr noalias %out, i64 %count) nounwind {width} {{",
            "entry:",
            *self.head,
            *self.body,
            "  ret void",
            "}",
        ]
        declared = INTRINSICS.format(v=self.vector, m=self.mangled, w=self.width)
        return "\n".join(lines) + declared


def tree(w: Writer, nodes: list[list[str | None]]) -> list[str | None]:
    """The pairwise tree over `nodes`, lane by lane, an odd one promoted."""
    while len(nodes) > 1:
        paired = [
            [w.add(a, b) for a, b in zip(nodes[i], nodes[i + 1], strict=True)]
            for i in range(0, len(nodes) - 1, 2)
        ]
        nodes = paired + (nodes[-1:] if len(nodes) % 2 else [])
    return nodes[0]


# ---- lane trees --------------------------------------------------------------------------------


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


# ---- one row -----------------------------------------------------------------------------------

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
        count = w.let(f"xor i64 {index}, -1")
        ones = w.let(f"call i64 @llvm.cttz.i64(i64 {count}, i1 false)")
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


# ---- kernels: last axis ------------------------------------------------------------------------


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


# ---- kernels: first axis -----------------------------------------------------------------------


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

    step = tile * w.width
    whole = columns // step * step
    if whole:
        with w.loop(0, whole, step) as base:
            one(base, tile, w.width)
    if left := columns - whole:
        one(whole, -(-left // w.width), (left - 1) % w.width + 1)
    return w.text()


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


def left_fold(w: Writer, read: Read, base: str | int, count: int, stride: int) -> Vectors | None:
    """The left fold of `count` rows, `stride` apart."""
    total: Vectors | None = None
    for j in range(count):
        total = add_vectors(w, total, read(w.sum(base, j * stride)))
    return total


SUBTREE = 8  # lanes of the chunk summed in registers: l, l + 16, ..., l + 112


def lanes_in_registers(
    w: Writer, rows: int, vectors: int, read: Read, order: Order | None
) -> Vectors:
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


def chunk_stack(
    w: Writer, stack: Slots, index: str | int, value: Vectors, lane: str | int, lanes: int
) -> None:
    """Carry one lane's chunk sum up the binary counter; stack slots are [level][lane]."""
    carried = Slots(w, len(value))
    carried.put(value)
    inverse = w.let(f"xor i64 {index}, -1")
    ones = w.let(f"call i64 @llvm.cttz.i64(i64 {inverse}, i1 false)")
    with w.loop(0, ones) as level:
        held = stack.get(w.sum(w.mul(level, lanes), lane))
        carried.put(add_vectors(w, held, carried.get()))
    stack.put(carried.get(), w.sum(w.mul(ones, lanes), lane))


def trailing_ones(w: Writer, index: str | int) -> str:
    inverse = w.let(f"xor i64 {index}, -1")
    return w.let(f"call i64 @llvm.cttz.i64(i64 {inverse}, i1 false)")


def unstack(w: Writer, stack: Slots, nodes: int, lane: str | int, lanes: int) -> Vectors:
    """One lane's total over `nodes` chunks, from the stack."""
    total: Vectors | None = None
    for level in range(nodes.bit_length()):
        if nodes >> level & 1:
            total = add_vectors(w, stack.get(w.sum(lane, level * lanes)), total)
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


def few_rows(w: Writer, rows: int, vectors: int, read: Read, order: Order | None) -> Vectors:
    """One chunk in registers: see `lanes_in_registers`."""
    return lanes_in_registers(w, rows, vectors, read, order)


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


def row_order(w: Writer, rows: int, vectors: int, read: Read, order: Order | None) -> Vectors:
    """Natural row order: each row is added to its lane of an accumulator [128][tile] in L1."""
    assert order is not None
    lanes = order.lanes
    whole, rest = divmod(rows, order.chunk)
    nodes = whole + bool(rest)
    stack = Slots(w, vectors, lanes * max(2, nodes.bit_length()))
    now = Slots(w, vectors, lanes)

    def chunk(node: str | int, size: int) -> None:
        base = w.mul(node, order.chunk)
        with w.loop(0, lanes) as lane:
            now.put(None, lane)
        for start in range(0, size, lanes):
            with w.loop(0, min(lanes, size - start)) as lane:
                row = read(w.sum(w.sum(base, start), lane))
                now.put(add_vectors(w, now.get(lane), row), lane)
        with w.loop(0, lanes) as lane:
            chunk_stack(w, stack, node, now.get(lane), lane, lanes)

    if whole:
        with w.loop(0, whole) as node:
            chunk(node, order.chunk)
    if rest:
        chunk(whole, rest)
    return close_lanes(w, order, vectors, lambda lane: unstack(w, stack, nodes, lane, lanes))


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
    "row-order": row_order,
    "few-rows": few_rows,
    "lane-sweep": lane_sweep,
    "kept-sweep": kept_sweep,
    "small-stack": small_stack,
}


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

    step = tile * w.width
    whole = columns // step * step
    if whole:
        with w.loop(0, whole, step) as base:
            one(base, tile, w.width)
    if left := columns - whole:
        one(whole, -(-left // w.width), (left - 1) % w.width + 1)
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


# ---- kernels: rows of softmax and layer norm ---------------------------------------------------

EXP = (1.0, 1.0, 0.5, 0.16666657, 0.041665796, 0.008333336, 0.0013981999)


def exp(w: Writer, x: str) -> str:
    """exp(x) for float32 x in [-87, 0]: 8 fused steps and a shift of the exponent."""
    x = w.call("maximum", x, w.splat(-87.0))
    k = w.call("roundeven", w.binary("fmul", x, w.splat(1.44269504)))
    r = w.call("fma", k, w.splat(-0.693359375), x)
    r = w.call("fma", k, w.splat(2.12194440e-4), r)
    p = w.splat(EXP[-1])
    for c in reversed(EXP[:-1]):
        p = w.call("fma", p, r, w.splat(c))
    whole = f"<{w.width} x i32>"
    shift = w.let(f"shl {whole} {w.let(f'fptosi {w.vector} {k} to {whole}')}, splat (i32 23)")
    raised = w.let(f"add {whole} {w.let(f'bitcast {w.vector} {p} to {whole}')}, {shift}")
    return w.let(f"bitcast {whole} {raised} to {w.vector}")


def each(w: Writer, n: int, unroll: int, write: Callable[[str | int, int], None]) -> None:
    """`write(offset, present)` for each vector of a row."""
    step = unroll * w.width
    whole = n // step * step
    with w.loop(0, whole, step) as i:
        for u in range(unroll):
            write(w.sum(i, u * w.width), w.width)
    for start in range(whole, n, w.width):
        write(start, n - start)


def softmax(w: Writer, n: int, order: Order | None, group: int) -> str:
    """Text of softmax over `count` rows of n: max, exp and sum, scale."""
    with w.loop(0, "%count") as r:
        x, out = w.at("%x", w.mul(r, n)), w.at("%out", w.mul(r, n))
        tops = [w.alloca(w.vector) for _ in range(4)]
        first = w.broadcast(w.load(x, 1))
        for top in tops:
            w.store(first, top)
        step = 4 * w.width
        with w.loop(0, n // step * step, step) as i:
            for u, top in enumerate(tops):
                v = w.load(w.at(x, w.sum(i, u * w.width)))
                w.store(w.call("maximum", w.load(top), v), top)
        best = w.load(tops[0])
        for top in tops[1:]:
            best = w.call("maximum", best, w.load(top))
        for start in range(n // step * step, n, w.width):
            # the last vector is read back over elements already seen: max has no order
            best = w.call("maximum", best, w.load(w.at(x, min(start, n - w.width))))
        lanes = w.width
        while lanes > 1:
            lanes //= 2
            moved = [(i + lanes) % w.width for i in range(w.width)]
            best = w.call("maximum", best, w.shuffle(best, "poison", moved))

        def element(w: Writer, offset: str | int, present: int) -> str:
            e = exp(w, w.binary("fsub", w.load(w.at(x, offset), present), best))
            w.store(e, w.at(out, offset), present)
            return masked(w, e, present)

        total = finish(w, *lane_sums(w, n, order, element, group=group))
        scale = w.broadcast(w.binary("fdiv", w.splat(1.0), total))
        each(
            w,
            n,
            4,
            lambda offset, present: w.store(
                w.binary("fmul", w.load(w.at(out, offset), present), scale),
                w.at(out, offset),
                present,
            ),
        )
    return w.text()


def masked(w: Writer, v: str, present: int) -> str:
    """v with the lanes from `present` on set to -0.0."""
    if present >= w.width:
        return v
    return w.let(f"select {w.mask(present)}, {w.vector} {v}, {w.vector} {w.splat(-0.0)}")


def layer_norm(w: Writer, n: int, order: Order | None, group: int) -> str:
    """Text of (x - mean) * (1 / sqrt(var + 1e-5)) over `count` rows of n, two-pass variance."""
    with w.loop(0, "%count") as r:
        x, out = w.at("%x", w.mul(r, n)), w.at("%out", w.mul(r, n))
        total = finish(w, *lane_sums(w, n, order, plain(x), group=group))
        mean = w.broadcast(w.binary("fdiv", total, w.splat(n)))

        def element(w: Writer, offset: str | int, present: int) -> str:
            d = w.binary("fsub", w.load(w.at(x, offset), present), mean)
            return masked(w, w.binary("fmul", d, d), present)

        total = finish(w, *lane_sums(w, n, order, element, group=group))
        var = w.binary("fadd", w.binary("fdiv", total, w.splat(n)), w.splat(1e-5))
        scale = w.broadcast(w.binary("fdiv", w.splat(1.0), w.call("sqrt", var)))
        each(
            w,
            n,
            4,
            lambda offset, present: w.store(
                w.binary("fmul", w.binary("fsub", w.load(w.at(x, offset), present), mean), scale),
                w.at(out, offset),
                present,
            ),
        )
    return w.text()


def layer_norm_model(x: Array, order: Order) -> Array:
    """What the documented `layer_norm` kernel must give, bit for bit."""
    n = x.dtype.type(x.shape[1])
    one = x.dtype.type(1)
    d = x - (model(x, order) / n)[:, None]
    var = model(d * d, order) / n + x.dtype.type(1e-5)
    return d * (one / np.sqrt(var))[:, None]


# ---- compiling and timing ----------------------------------------------------------------------

Kernel = Callable[[int, int, int], None]


def cpu_name(features: dict[str, bool]) -> str:
    """An LLVM cpu name that the features allow; the host's own name is masked in many guests."""
    if features.get("amx-bf16") and features.get("avx512fp16"):
        return "sapphirerapids"
    if features.get("avx512bf16") and features.get("sse4a"):
        return "znver4"
    return "x86-64-v4" if features.get("avx512vl") else "x86-64-v3"


class Compiler:
    """Machine code from text, by O2 without its loop passes, loaded by ORC; one copy per text."""

    def __init__(self) -> None:
        ll.initialize_native_target()
        ll.initialize_native_asmprinter()
        features = ll.get_host_cpu_features()
        self.cpu = cpu_name(dict(features))
        self.machine = ll.Target.from_default_triple().create_target_machine(
            cpu=self.cpu, features=features.flatten(), opt=2, jit=True
        )
        self.jit = ll.create_lljit_compiler(self.machine)
        self.loaded: dict[str, Kernel] = {}
        self.trackers: list[Any] = []

    def optimised(self, text: str) -> ll.ModuleRef:
        module = ll.parse_assembly(text)
        module.triple = self.machine.triple
        module.data_layout = str(self.machine.target_data)
        module.verify()
        options = ll.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = options.loop_unrolling = options.loop_interleaving = False
        builder = ll.create_pass_builder(self.machine, options)
        builder.getModulePassManager().run(module, builder)
        return module

    def assembly(self, text: str) -> str:
        return self.machine.emit_assembly(self.optimised(text))

    def __call__(self, text: str) -> Kernel:
        if text not in self.loaded:
            code = self.machine.emit_object(self.optimised(text))
            library = ll.JITLibraryBuilder().add_object_img(code).export_symbol("k")
            tracker = library.link(self.jit, f"k{len(self.loaded)}")
            self.trackers.append(tracker)
            kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
            self.loaded[text] = kind(tracker["k"])
        return self.loaded[text]


Call = Callable[[], None]


def seconds(call: Call, times: int) -> float:
    start = time.perf_counter_ns()
    for _ in range(times):
        call()
    return (time.perf_counter_ns() - start) * 1e-9 / times


@dataclass(frozen=True)
class Ratio:
    """Time of a documented kernel over that of the free kernel, taken in turns."""

    median: float
    low: float
    high: float
    free_us: float
    documented_us: float


def compare(free: Call, documented: Call, budget: float) -> Ratio:
    """Ratios of neighbouring timings for about `budget` seconds; low and high are quartiles."""
    free(), documented()
    once = min(seconds(free, 1) for _ in range(3))
    times = max(1, int(400e-6 / once))
    pairs = min(101, max(9, int(budget / (2.2 * times * once))))
    a, b = [], []
    for i in range(pairs):
        if i % 2:
            a.append(seconds(free, times))
            b.append(seconds(documented, times))
        else:
            b.append(seconds(documented, times))
            a.append(seconds(free, times))
    ratios = sorted(y / x for x, y in zip(a, b, strict=True))
    return Ratio(
        statistics.median(ratios),
        ratios[pairs // 4],
        ratios[3 * pairs // 4],
        statistics.median(a) * 1e6,
        statistics.median(b) * 1e6,
    )


# ---- checks ------------------------------------------------------------------------------------


def ran(kernel: Kernel, x: Array, shape: tuple[int, ...], count: int) -> Array:
    out = np.full(shape, np.nan, x.dtype)
    kernel(x.ctypes.data, out.ctypes.data, count)
    return out


def check(compiler: Compiler) -> int:
    """How many kernels gave the model's bytes; raises AssertionError naming one that did not."""
    random = np.random.default_rng(0)
    checked = 0

    def same(got: Array, want: Array, *what: object) -> None:
        nonlocal checked
        assert got.tobytes() == want.tobytes(), f"bits differ from the model: {what}"
        checked += 1

    for dtype in ("float32", "float64"):
        for n in (1, 3, 16, 100, 128, 1000, 1024, 5000, 11000):
            x = random.standard_normal((35 if n >= 16 else 64, n)).astype(dtype)
            for order in (DOCUMENTED, *ALTERNATIVES):
                want = model(x, order)
                for bits in (512, 256):
                    for group in (1, 4):
                        kernel = compiler(sum_last(Writer(dtype, bits), n, order, group))
                        same(ran(kernel, x, want.shape, len(x)), want, dtype, n, order, bits)
    for rows in (1, 3, 16, 100, 128, 1000, 1024, 3500):
        x = random.standard_normal((rows, 100)).astype("float32")
        for order in FIRST_AXIS_ORDERS:
            want = model(np.ascontiguousarray(x.T), order)
            for name, text in first_axis_kernels("float32", rows, 100, 100, order).items():
                same(ran(compiler(text), x, want.shape, 0), want, rows, order, name)
    for n in (128, 1000, 4096, 32768):
        x = random.standard_normal((9, n)).astype("float32")
        exact = np.exp((x - x.max(1, keepdims=True)).astype("float64"))
        exact /= exact.sum(1, keepdims=True)
        for order in ROW_ORDERS:
            first = None
            for bits in (512, 256):
                for group in (1, 2):
                    kernel = compiler(layer_norm(Writer("float32", bits), n, order, group))
                    same(ran(kernel, x, x.shape, 9), layer_norm_model(x, order), n, order, bits)
                    got = ran(
                        compiler(softmax(Writer("float32", bits), n, order, group)), x, x.shape, 9
                    )
                    assert np.abs(got / exact - 1).max() < 1e-5
                    first = got if first is None else first
                    same(got, first, "softmax", n, order, bits, group)
    return checked


# ---- the cases ---------------------------------------------------------------------------------

KEEP16 = next(order for order in ALTERNATIVES if order.name == "keep16")
ADJACENT = next(order for order in ALTERNATIVES if order.name == "adjacent-keep1")
FIRST_AXIS_ORDERS = (DOCUMENTED, KEEP16, ADJACENT)
ROW_ORDERS = (DOCUMENTED, KEEP16)
LENGTHS = (1, 3, 16, 100, 128, 1000, 1024, 4096, 65536, 1 << 20)
COLUMNS = (16, 1000, 4096)


def last_axis_kernels(dtype: str, n: int, order: Order | None) -> dict[str, str]:
    """Kernel texts by name: both widths, and accumulators (free) or chunks in registers."""
    groups = (4, 8) if order is None else (1, 2, 4) if n >= 2 * order.chunk else (1,)
    return {
        f"{bits}/{group}": sum_last(Writer(dtype, bits), n, order, group)
        for bits in (512, 256)
        for group in groups
    }


def first_axis_kernels(
    dtype: str, rows: int, columns: int, stride: int, order: Order | None
) -> dict[str, str]:
    """Kernel texts by name: the loop nests worth trying for this shape, 512 bits."""
    if order == DOCUMENTED and rows <= order.chunk:
        # in one chunk DOCUMENTED and KEEP16 are the same tree, and all nests serve both
        order = KEEP16
    narrow: tuple[str, ...]
    wide: list[tuple[int, int]] = []
    vectors = -(-columns * (4 if dtype == "float32" else 8) // 64)
    if order is None:
        narrow, wide = ("free",), [(64, 1), (64, 2), (256, 1), (256, 2)]
    elif order.keep == 1:
        narrow = ("small-stack",)
    elif order.keep < order.lanes:
        narrow = ("kept-sweep",) if rows > 16 else ()
        wide = [(tile, at_once) for tile in (16, 64, 256) for at_once in (1, 2)]
    else:
        narrow = ("lane-sweep", "bit-reversed") if rows > 16 else ()
        wide = [(tile, at_once) for tile in (16, 64, 256) for at_once in (1, 2)]
    if order is not None and order.keep > 1 and rows <= order.chunk:
        narrow = ("few-rows", *narrow)  # one chunk: all these orders are one tree
        if rows <= order.lanes:
            wide = [(tile, 8) for tile in (16, 64, 256)]
    if vectors < 8 or rows <= 16:
        wide = []
    tiles = (1, 2) if vectors < 8 else (4, 8, 16)
    texts = {
        f"{nest}/{tile}": sum_first(Writer(dtype, 512), rows, columns, stride, nest, tile, order)
        for nest in narrow
        for tile in tiles
        if not (nest in ("lane-sweep", "kept-sweep", "bit-reversed") and tile == 8)
    }
    for tile, at_once in wide:
        text = sum_first_wide(Writer(dtype, 512), rows, columns, stride, tile, order, at_once)
        texts[f"wide/{tile}/{at_once}"] = text
    return texts


def row_kernels(program: Any, n: int, order: Order | None) -> dict[str, str]:
    groups = (4, 8) if order is None else (1, 2)
    return {
        f"{bits}/{group}": program(Writer("float32", bits), n, order, group)
        for bits in (512, 256)
        for group in groups
    }


@dataclass(frozen=True)
class Record:
    """One line of the table."""

    program: str
    dtype: str
    shape: str
    megabytes: float
    threads: int
    order: str
    free_kernel: str
    kernel: str
    ratio: Ratio

    def line(self) -> str:
        r = self.ratio
        rate = self.megabytes * 1e3 / r.free_us if r.free_us else 0
        return (
            f"{self.program:10} {self.dtype:8} {self.shape:>15} {self.megabytes:8.2f} "
            f"{self.threads} {self.order:15} {r.median:5.2f} [{r.low:4.2f}, {r.high:4.2f}] "
            f"{r.free_us:9.1f} {rate:6.1f}  {self.free_kernel} -> {self.kernel}"
        )


class Bench:
    """The compiler, the arrays and the records so far."""

    def __init__(self, compiler: Compiler, megabytes: int, budget: float) -> None:
        self.compiler = compiler
        self.budget = budget
        values = np.random.default_rng(1).standard_normal(1 << 20).astype("float32")
        self.x = {
            "float32": np.resize(values, megabytes << 18),
            "float64": np.resize(values.astype("float64"), megabytes << 17),
        }
        self.out = np.zeros(megabytes << 20, np.uint8)
        self.pool = ThreadPoolExecutor(1)
        self.records: list[Record] = []

    def call(self, text: str, dtype: str, count: int, split: tuple[int, int] | None) -> Call:
        """A call of the kernel; split (x bytes, out bytes) runs a second share at those offsets."""
        kernel, x, out = self.compiler(text), self.x[dtype].ctypes.data, self.out.ctypes.data
        if split is None:
            return lambda: kernel(x, out, count)
        x2, out2 = x + split[0], out + split[1]

        def both() -> None:
            other = self.pool.submit(kernel, x2, out2, count)
            kernel(x, out, count)
            other.result()

        return both

    def best(
        self, texts: dict[str, str], dtype: str, count: int, split: tuple[int, int] | None
    ) -> tuple[str, Call]:
        """The fastest kernel and its name, by the least of a few interleaved timings."""
        calls = {name: self.call(text, dtype, count, split) for name, text in texts.items()}
        least: dict[str, float] = {}
        for name, call in calls.items():
            call()
            least[name] = seconds(call, 1)
        times = max(1, int(150e-6 / min(least.values())))
        for _ in range(5 if min(least.values()) < 2e-3 else 3):
            for name, call in calls.items():
                if least[name] < 3 * min(least.values()):
                    least[name] = min(least[name], seconds(call, times))
        name = min(least, key=lambda name: least[name])
        return name, calls[name]

    def add(
        self,
        program: str,
        dtype: str,
        shape: str,
        size: int,
        texts: dict[str, dict[str, str]],
        count: int,
        split: tuple[int, int] | None = None,
    ) -> None:
        """Record each order of `texts` against texts["free"]."""
        free_name, free = self.best(texts["free"], dtype, count, split)
        for order, kernels in texts.items():
            if order == "free":
                continue
            name, call = self.best(kernels, dtype, count, split)
            ratio = compare(free, call, self.budget)
            threads = 1 if split is None else 2
            record = Record(
                program, dtype, shape, size / 1e6, threads, order, free_name, name, ratio
            )
            self.records.append(record)
            print(record.line(), flush=True)


def last_axis(bench: Bench, totals: dict[str, list[int]], lengths: tuple[int, ...]) -> None:
    for dtype, sizes in totals.items():
        item = np.dtype(dtype).itemsize
        for n in lengths:
            others = ALTERNATIVES if n in (4096, 65536) and dtype == "float32" else (KEEP16,)
            orders = (DOCUMENTED, *others) if n > 128 else (DOCUMENTED,)
            texts = {"free": last_axis_kernels(dtype, n, None)}
            texts |= {order.name: last_axis_kernels(dtype, n, order) for order in orders}
            for total in sizes:
                rows = total // n if n >= 16 else total // n // 32 * 32
                if not rows:
                    continue
                shape, size = f"{rows}x{n}", rows * n * item
                bench.add("sum last", dtype, shape, size, texts, rows)
                if size > 1e8 and rows > 1:
                    two = {
                        order: texts[order]
                        for order in texts
                        if order in ("free", "documented", "keep16")
                    }
                    half = rows // 2
                    split = (half * n * item, half * item)
                    bench.add("sum last", dtype, shape, size, two, half, split)


def first_axis(bench: Bench, shapes: list[tuple[str, int, int]]) -> None:
    for dtype, rows, columns in shapes:
        item = np.dtype(dtype).itemsize
        size = rows * columns * item
        orders = FIRST_AXIS_ORDERS if rows > 1024 else (DOCUMENTED, ADJACENT)
        texts = {"free": first_axis_kernels(dtype, rows, columns, columns, None)}
        texts |= {o.name: first_axis_kernels(dtype, rows, columns, columns, o) for o in orders}
        bench.add("sum first", dtype, f"{rows}x{columns}", size, texts, 0)
        if size > 1e8 and columns > 16:
            half = columns // 2
            texts = {"free": first_axis_kernels(dtype, rows, half, columns, None)}
            texts |= {o.name: first_axis_kernels(dtype, rows, half, columns, o) for o in orders}
            split = (half * item, half * item)
            bench.add("sum first", dtype, f"{rows}x{columns}", size, texts, 0, split)


def all_elements(bench: Bench, sizes: list[int]) -> None:
    """The lane vector of the whole array, or of two aligned halves; the last tree is not timed."""
    for n in sizes:
        for split in (None, (n // 2 * 4, 4096)):
            if split and n < 1 << 22:
                continue
            share = n if split is None else n // 2
            texts: dict[str, dict[str, str]] = {}
            for order in (None, DOCUMENTED, KEEP16):
                texts[order.name if order else "free"] = {
                    f"{bits}/{group}": sum_part(Writer("float32", bits), share, order, group)
                    for bits in (512, 256)
                    for group in ((4, 8) if order is None else (1, 2, 4))
                }
            bench.add("sum all", "float32", str(n), n * 4, texts, 0, split)


def row_programs(bench: Bench, totals: list[int], lengths: tuple[int, ...]) -> None:
    for name, program in (("softmax", softmax), ("layer norm", layer_norm)):
        for n in lengths:
            texts = {"free": row_kernels(program, n, None)}
            texts |= {order.name: row_kernels(program, n, order) for order in ROW_ORDERS}
            for total in totals:
                rows = total // n
                bench.add(name, "float32", f"{rows}x{n}", rows * n * 4, texts, rows)
                if total > 1 << 24:
                    half, at = rows // 2, rows // 2 * n * 4
                    bench.add(name, "float32", f"{rows}x{n}", rows * n * 4, texts, half, (at, at))


def machine(compiler: Compiler) -> dict[str, Any]:
    """What the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    caches = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (
            (index / part).read_text().strip() for part in ("level", "type", "size")
        )
        caches[f"L{level} {kind}"] = size
    return {
        "cpu": facts.get("model name"),
        "family": facts.get("cpu family"),
        "model": facts.get("model"),
        "cpus": facts.get("siblings"),
        "caches": caches,
        "llvm cpu": compiler.cpu,
        "llvm": list(ll.llvm_version_info),
        "llvmlite": llvmlite.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few shapes, no memory-bound sizes")
    parser.add_argument("--json", metavar="OUT", type=Path, help="also write the records here")
    options = parser.parse_args()
    compiler = Compiler()
    print(f"{check(compiler)} kernels equal their model in every bit", flush=True)
    bench = Bench(compiler, 16 if options.quick else 256, 0.05 if options.quick else 0.2)
    print(
        f"{'program':10} {'dtype':8} {'shape':>15} {'MB':>8} T {'order':15} ratio "
        f"{'quartiles':>12} {'free us':>9} {'GB/s':>6}  kernels"
    )
    if options.quick:
        last_axis(bench, {"float32": [1 << 20]}, (16, 1000, 4096))
        first_axis(bench, [("float32", 1024, 16), ("float32", 1024, 1000)])
        all_elements(bench, [1 << 20])
        row_programs(bench, [1 << 18], (1000,))
    else:
        small, large = 1 << 20, 1 << 26
        shapes = [
            ("float32", rows, columns)
            for columns in COLUMNS
            for rows in (1, 3, 16, 100, 128, 1000, 1024, 4096, 16384, 65536)
            if rows * columns <= large
        ]
        shapes += [("float64", rows, 1000) for rows in (100, 1024, 4096)]
        shapes.append(("float32", 1 << 22, 16))
        last_axis(
            bench, {"float32": [1 << 17, small, large], "float64": [small, large // 2]}, LENGTHS
        )
        first_axis(bench, shapes)
        all_elements(bench, [small, large])
        row_programs(bench, [1 << 18, large], (128, 1000, 4096, 32768))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        text = {"machine": machine(compiler), "records": [asdict(r) for r in bench.records]}
        options.json.write_text(json.dumps(text, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
