"""Sorting few long rows by tasks on a CPU: the radix sort of `ir/ops/sort.py`, chunk by chunk.

It sorts what `sort_parts` and `sort_places` do not sort by vectors.

A row is cut into chunks, in number by its length alone. Byte by byte of the keys, lowest first:

    move     each task adds up the counts of the chunks, which say where its elements of each value
             go, moves them there in their order, and counts by chunk and value of the next byte
             what it moved                                                               (parallel)
    add up   the counts of all tasks for each chunk                                      (parallel)

What comes before an element is all of lower values, and those of its own value in chunks before: so
each pass is stable, and the result is that of one task, bit for bit. The first launch counts the
lowest byte, and finds in which bits the keys differ; a pair of bytes that would move nothing is
left out: its launches end at once. The number of a byte is read from memory, so that all passes are
the same few kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

import numpy as np

from pyc.forks import load
from pyc.frozen import frozen, replace
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Const, Expr, Load, Var, apply, const, minimum, select
from pyc.ir.loops import (
    Accumulate,
    Alloc,
    Body,
    Buffer,
    Carry,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Space,
    Stmt,
    Store,
)
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.sequence import Call, LaunchSequence

CHUNK = 1 << 14
"""Elements of a task at least, a power of two: some 30 us a pass on one core."""
LEAST = 1 << 18
"""Elements of a row from which it is cut: by one thread the launches take 1.04 to 1.16 of the time
of the kernel that does a row by itself, and they take twice as long to compile (30 ms more)."""
MOST_CHUNKS = 32
"""Chunks of a row at most: each task adds up the counts of all."""
FEW_ROWS = 8
"""Rows fewer than this are cut into chunks; more are tasks."""
BUCKETS = 256
"""Values of a byte."""
PITCH = 272
"""Counts from one chunk to the next in a task's own: at a power of two the number of a count would
be one instruction, which takes as long as six."""


@frozen()
class _Line:
    """Elements of all rows, with their places in them if these are kept."""

    values: Buffer
    places: Buffer | None = None

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return (self.values,) if self.places is None else (self.values, self.places)


class _Chunk:
    """The variables of a task: its number among all, its row, its number in the row, and how many
    elements it has."""

    def __init__(self) -> None:
        self.task, self.row, self.number = Var("task"), Var("row"), Var("number")
        self.count = Var("count")


_Body = Callable[[Sequence[Buffer], Sequence[Buffer]], Body]
"""Statements over buffers that are read and buffers that may be written."""


class _Sorter:
    """The kernels that sort the rows of `x`. chunk: elements of a task, a power of two; width:
    lanes of a vector of counts.

    counts: of each chunk, by the value of the byte that is moved next; matrix: the same of what
    each task moved there; bits: those in which keys of a chunk differ from the row's first; steps:
    for each byte of a row the one that is moved after it, and -1 where it is not moved itself.
    """

    def __init__(self, x: ArrayType, chunk: int, width: int, *, descending: bool) -> None:
        self.dtype, self.rows, self.length = x.dtype, prod(x.shape[:-1]), x.shape[-1]
        self.chunk, self.chunks = chunk, -(-self.length // chunk)
        self.width, self.descending = width, descending
        self.digits = x.dtype.itemsize
        self.key_type = dt.unsigned_of(8 * self.digits)
        self.narrow = dt.i32 if self.length < 1 << 31 else dt.i64
        tasks = self.rows * self.chunks
        self.counts = self._scratch("counts", (tasks, BUCKETS))
        self.matrix = self._scratch("matrix", (tasks, self.chunks * PITCH))
        self.bits = self._scratch("bits", (tasks,), self.key_type)
        self.steps = self._scratch("steps", (self.rows, self.digits), dt.i64)
        self._kernels: dict[tuple[str, ...], Kernel] = {}

    def _scratch(self, name: str, shape: tuple[int, ...], dtype: DType | None = None) -> Buffer:
        return Buffer(name, dtype or self.narrow, shape, role="inout", alignment=64)

    def line(self, name: str, *, places: bool) -> _Line:
        """Scratch memory for all elements."""
        shape = (self.rows, self.length)
        found = self._scratch(f"{name}_places", shape) if places else None
        return _Line(self._scratch(f"{name}_values", shape, self.dtype), found)

    # --- parts ---

    def _key(self, value: Expr) -> Expr:
        key: Expr = load("pyc.ir.ops.sort").sort_key(value, self.descending)
        return key

    def _factor(self, digit: Expr) -> Expr:
        """What a key is multiplied by so that byte `digit` is its highest: a shift by a number of
        bits that is not known would be several instructions."""
        bits = self.key_type.bits
        return Const(1, self.key_type) << (const(bits - 8) - digit * 8).cast(self.key_type)

    def _digit(self, key: Expr, factor: Expr) -> Expr:
        """A byte of a key, by its factor."""
        return ((key * factor) >> (self.key_type.bits - 8)).cast(dt.i64)

    def _local(self, name: str, size: int = BUCKETS) -> Buffer:
        return Buffer(name, self.narrow, (size,), Space.STACK, alignment=64)

    def _tasks(self, at: _Chunk, body: Body) -> Body:
        """`body` for each chunk."""
        lets: list[Stmt] = [Let(at.row, const(0)), Let(at.number, at.task)]
        if self.rows > 1:
            lets = [
                Let(at.row, apply("quotient", at.task, const(self.chunks))),
                Let(at.number, apply("remainder", at.task, const(self.chunks))),
            ]
        rest = const(self.length) - at.number * self.chunk
        lets.append(Let(at.count, minimum(const(self.chunk), rest)))
        return (For(at.task, self.rows * self.chunks, Kind.PARALLEL, (*lets, *body)),)

    def _each(self, statement: Callable[[Expr], Stmt], size: int = BUCKETS) -> Stmt:
        """A statement for each value of a byte, or each of `size` numbers, in vectors."""
        vector, lane = Var("vector"), Var("lane")
        inner = For(lane, self.width, Kind.VECTOR, (statement(vector * self.width + lane),))
        return For(vector, size // self.width, Kind.SERIAL, (inner,))

    def _call(
        self, name: str, given: Sequence[Buffer], made: Sequence[Buffer], body: _Body
    ) -> Call:
        """A call of the kernel `name` over buffers that it reads and buffers that it may write; one
        kernel does for all that are of the same types. body: of the kernel's own buffers."""
        key = (name, *(b.dtype.name for b in (*given, *made)))
        if key not in self._kernels:
            reads = [replace(b, role="in") for b in given]
            writes = [replace(b, role="inout") for b in made]
            self._kernels[key] = Kernel(name, (*reads, *writes), body(reads, writes))
        return Call(self._kernels[key], (*given, *made))

    # --- kernels ---

    def count(self, x: Buffer) -> Call:
        """Counts the lowest byte of each chunk, and finds the bits in which keys differ."""
        return self._call("sort_counts", (x,), (self.counts, self.bits), self._count)

    def _count(self, given: Sequence[Buffer], made: Sequence[Buffer]) -> Body:
        (x,), (counts, bits) = given, made
        at, own, i = _Chunk(), self._local("own"), Var("i")
        first, key, before, found = (Var(n, self.key_type) for n in ("first", "key", "b", "found"))
        zero, one = Const(0, self.narrow), Const(1, self.narrow)
        counted = (
            Let(key, self._key(Load(x, (at.row, at.number * self.chunk + i)))),
            Accumulate(own, ((key & (BUCKETS - 1)).cast(dt.i64),), one, "add"),
        )
        differing = Carry(before, Const(0, self.key_type), before | (key ^ first), found)
        body = (
            self._each(lambda b: Store(own, (b,), zero)),
            Let(first, self._key(Load(x, (at.row, const(0))))),
            For(i, at.count, Kind.SERIAL, counted, (differing,)),
            Store(bits, (at.task,), found),
            self._each(lambda b: Store(counts, (at.task, b), Load(own, (b,)))),
        )
        return self._tasks(at, (Alloc(own, body),))

    def find_steps(self) -> Call:
        """Finds which bytes are moved: not a pair in which no keys of the row differ, but for the
        first, which takes what is sorted."""
        return self._call("sort_steps", (self.bits,), (self.steps,), self._find_steps)

    def _find_steps(self, given: Sequence[Buffer], made: Sequence[Buffer]) -> Body:
        (bits,), (steps,) = given, made
        row, chunk = Var("row"), Var("chunk")
        before, all_bits = Var("before", self.key_type), Var("all", self.key_type)
        here = before | Load(bits, (row * self.chunks + chunk,))
        carry = Carry(before, Const(0, self.key_type), here, all_bits)
        body: list[Stmt] = [For(chunk, self.chunks, Kind.SERIAL, (), (carry,))]
        following: Expr = const(0)
        for digit in reversed(range(self.digits)):
            first = digit % 2 == 0 and self.digits > 1
            step = const(digit + 1) if first else following
            moves: Expr | None = None
            if digit >= 2:
                pair = (all_bits >> (digit // 2 * 16)) & ((1 << 16) - 1)
                moves = pair.differs(Const(0, self.key_type))
            if moves is not None and first:
                following = select(moves, const(digit), following)
            value = step if moves is None else select(moves, step, const(-1))
            body.append(Store(steps, (row, const(digit)), value))
        return (For(row, self.rows, Kind.SERIAL, tuple(body)),)

    def _if_moved(self, at: _Chunk, digit: Var, number: Buffer, steps: Buffer, body: Body) -> Body:
        """The tasks that do `body` if byte `digit`, whose number is in memory, is moved."""
        moved = If(Load(steps, (at.row, digit)) >= 0, body)
        return self._tasks(at, (Let(digit, Load(number, (const(0),))), moved))

    def add_up(self, digit: Buffer) -> Call:
        """Adds up for each chunk what all tasks moved there."""
        given = (digit, self.steps, self.matrix)
        return self._call("sort_sums", given, (self.counts,), self._add_up)

    def _add_up(self, given: Sequence[Buffer], made: Sequence[Buffer]) -> Body:
        (number, steps, matrix), (counts,) = given, made
        at, own, task = _Chunk(), self._local("own"), Var("from")
        zero = Const(0, self.narrow)

        def added(b: Expr) -> Stmt:
            moved = Load(matrix, (at.row * self.chunks + task, at.number * PITCH + b))
            return Store(own, (b,), Load(own, (b,)) + moved)

        body = (
            self._each(lambda b: Store(own, (b,), zero)),
            For(task, self.chunks, Kind.SERIAL, (self._each(added),)),
            self._each(lambda b: Store(counts, (at.task, b), Load(own, (b,)))),
        )
        return self._if_moved(at, Var("digit"), number, steps, (Alloc(own, body),))

    def move(self, source: _Line, target: _Line, digit: Buffer, *, last: bool) -> Call:
        """Moves each element behind all of lower values, and those of its own that came before;
        counts the byte that is moved next, unless it is the last."""
        given = (digit, self.steps, self.counts, *source.buffers)
        made = target.buffers if last else (*target.buffers, self.matrix)
        name = "sort_last" if last else "sort_pass"
        return self._call(name, given, made, partial(self._move, len(target.buffers)))

    def _move(self, targets: int, given: Sequence[Buffer], made: Sequence[Buffer]) -> Body:
        number, steps, counts, *sources = given
        at, digit, b = _Chunk(), Var("digit"), Var("b")
        starts, totals = self._local("starts"), self._local("totals")
        first, zero = at.row * self.chunks, Const(0, self.narrow)
        before, behind, own = Var("before"), Var("behind"), Var("own", self.narrow)
        lower, total = Var("lower", self.narrow), Var("total", self.narrow)

        def added(into: Buffer, chunk: Expr) -> Body:
            def sum_of(b: Expr) -> Stmt:
                return Store(into, (b,), Load(into, (b,)) + Load(counts, (chunk, b)))

            return (self._each(sum_of),)

        following = Carry(lower, zero, lower + Load(totals, (b,)), total)
        start = (Let(own, Load(starts, (b,))), Store(starts, (b,), lower + own))
        begun = (
            self._each(lambda b: Store(starts, (b,), zero)),
            For(before, at.number, Kind.SERIAL, added(starts, first + before)),
            self._each(lambda b: Store(totals, (b,), Load(starts, (b,)))),
            For(
                behind,
                const(self.chunks) - at.number,
                Kind.SERIAL,
                added(totals, first + at.number + behind),
            ),
            For(b, BUCKETS, Kind.SERIAL, start, (following,)),
        )
        moved = self._local("moved", self.chunks * PITCH)
        factor, step = Var("factor", self.key_type), Var("step", self.key_type)
        counting: tuple[Buffer, Expr] | None = (moved, step) if made[targets:] else None
        body: Body = (
            *begun,
            Let(factor, self._factor(digit)),
            self._moved(at, factor, sources, starts, made[:targets], counting),
        )
        for matrix in made[targets:]:
            size = self.chunks * PITCH
            body = (
                Let(step, self._factor(Load(steps, (at.row, digit)))),
                self._each(partial(_cleared, moved), size),
                *body,
                self._each(partial(_copied, matrix, at.task, moved), size),
            )
            body = (Alloc(moved, body),)
        inside = (Alloc(starts, (Alloc(totals, body),)),)
        return self._if_moved(at, digit, number, steps, inside)

    def _moved(
        self,
        at: _Chunk,
        factor: Expr,
        sources: Sequence[Buffer],
        starts: Buffer,
        targets: Sequence[Buffer],
        counting: tuple[Buffer, Expr] | None,
    ) -> Stmt:
        """Moves the elements of a chunk by the byte of a factor, and their places.

        counting: counts of what is moved, by chunk and value of a byte, and the byte's factor
        """
        i, value, key = Var("i"), Var("value", self.dtype), Var("key", self.key_type)
        bucket, to = Var("bucket"), Var("to", self.narrow)
        here = at.number * self.chunk + i
        goes = to.cast(dt.i64)
        body: list[Stmt] = [
            Let(value, Load(sources[0], (at.row, here))),
            Let(key, self._key(value)),
            Let(bucket, self._digit(key, factor)),
            Let(to, Load(starts, (bucket,))),
            Store(starts, (bucket,), to + 1),
            Store(targets[0], (at.row, goes), value),
        ]
        for target in targets[1:]:
            place = Load(sources[1], (at.row, here)) if sources[1:] else here
            body.append(Store(target, (at.row, goes), place.cast(target.dtype)))
        if counting is not None:
            moved, step = counting
            chunk = goes >> (self.chunk.bit_length() - 1)
            place = chunk * PITCH + self._digit(key, step)
            body.append(Accumulate(moved, (place,), Const(1, self.narrow), "add"))
        return For(i, at.count, Kind.SERIAL, tuple(body))


def _cleared(buffer: Buffer, k: Expr) -> Stmt:
    return Store(buffer, (k,), Const(0, buffer.dtype))


def _copied(target: Buffer, task: Expr, source: Buffer, k: Expr) -> Stmt:
    return Store(target, (task, k), Load(source, (k,)))


def sort_tasks(
    op: str, types: tuple[ArrayType, ...], target: Target, *, descending: bool
) -> LaunchSequence | None:
    """The launches of `sort` or `argsort`; None: rows are short, or enough to be tasks."""
    (x,) = types
    rows, length = prod(x.shape[:-1]), x.shape[-1]
    if rows >= FEW_ROWS or length < LEAST or not rows:
        return None
    places = op == "argsort"
    chunk = CHUNK
    while chunk * MOST_CHUNKS < length:
        chunk *= 2
    sorter = _Sorter(x, chunk, min(target.lanes(4), BUCKETS), descending=descending)
    shape = (rows, length)
    source = _Line(Buffer("x", x.dtype, shape, role="in"))
    result = Buffer("out", dt.i64 if places else x.dtype, shape, role="inout")
    first = _Line(result)
    if places:
        first = _Line(sorter.line("first", places=False).values, result)
    second = sorter.line("second", places=places)
    digits = [Buffer(f"digit{k}", dt.i64, (1,), role="in") for k in range(sorter.digits)]
    calls = [sorter.count(source.values), sorter.find_steps()]
    now, last = source, sorter.digits - 1
    for k, digit in enumerate(digits):
        to = first if k % 2 or not last else second
        if k:
            calls.append(sorter.add_up(digit))
        calls.append(sorter.move(now, to, digit, last=k == last))
        now = to
    tables = tuple((b, np.array([k], np.int64)) for k, b in enumerate(digits))
    return LaunchSequence((source.values, result), tuple(calls), tables)
